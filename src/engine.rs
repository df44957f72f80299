//! [`Engine`]: what both engines have in common.

#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
use crate::BroadPhase;
use crate::{Aabb, Attribute, Error, Filters, Options, Overlaps, Pair, Report, cpu};

/// An engine that finds pairs: [`BroadPhase`](crate::BroadPhase) on a GPU, where a thread may block, or
/// [`cpu::BroadPhase`]. Both take the same options and filters and find the same pairs; each of them says what a call
/// costs and refuses.
///
/// ```
/// use broadsweep::{Aabb, Engine, Error, Options, cpu};
///
/// fn count(engine: &mut impl Engine, boxes: &[Aabb]) -> Result<u64, Error> {
///     Ok(engine.find_pairs(boxes)?.report.pair_count)
/// }
///
/// let mut engine = cpu::BroadPhase::new(Options::default())?; // or BroadPhase::new(&gpu, …)
/// assert_eq!(count(&mut engine, &[Aabb::new([0.0; 3], [1.0; 3]); 3])?, 3);
/// # Ok::<(), Error>(())
/// ```
pub trait Engine {
    /// Returns the options in use.
    fn options(&self) -> &Options;

    /// Sets other options, from the next call on.
    ///
    /// # Errors
    /// [`Error::BadOption`], [`Error::Busy`]; the options stay as they were.
    fn set_options(&mut self, options: Options) -> Result<(), Error>;

    /// Returns the filters in use.
    fn filters(&self) -> &Filters;

    /// Sets which pairs are not wanted, or always are, from the next call on.
    ///
    /// # Errors
    /// [`Error::BadFilter`], [`Error::Busy`], [`Error::OutOfMemory`]; the filters stay as they were.
    fn set_filters(&mut self, filters: Filters) -> Result<(), Error>;

    /// Changes one list of the filters from box `first` on.
    ///
    /// # Errors
    /// [`Error::BadFilter`], [`Error::Busy`]; nothing is changed then.
    fn change_filters(&mut self, first: usize, values: Attribute<'_>) -> Result<(), Error>;

    /// Finds every pair of `boxes` that overlaps and that the filters keep, each once. The answer stays until the next
    /// call.
    ///
    /// # Errors
    /// The errors of the engine's own method. After an error, the engine can be used as before.
    fn find_pairs(&mut self, boxes: &[Aabb]) -> Result<&Overlaps, Error>;

    /// Hands every pair that [`find_pairs`](Self::find_pairs) finds to `each`, piece by piece, and returns the report
    /// that each piece came with.
    ///
    /// # Errors
    /// The errors of the engine's own method, and those of `each`.
    fn stream_pairs<E: From<Error>>(
        &mut self,
        boxes: &[Aabb],
        each: impl FnMut(&Report, &[Pair]) -> Result<(), E>,
    ) -> Result<Report, E>
    where
        Self: Sized;

    /// Returns the last answer. Before the first answer, and after an error, it is empty: no pairs of no boxes.
    fn overlaps(&self) -> &Overlaps;

    /// Moves the last answer out, without a copy.
    fn take_overlaps(&mut self) -> Overlaps;
}

/// Implements [`Engine`] by the methods of the same names.
macro_rules! engine {
    ($type:ty) => {
        impl Engine for $type {
            fn options(&self) -> &Options {
                self.options()
            }

            fn set_options(&mut self, options: Options) -> Result<(), Error> {
                self.set_options(options)
            }

            fn filters(&self) -> &Filters {
                self.filters()
            }

            fn set_filters(&mut self, filters: Filters) -> Result<(), Error> {
                self.set_filters(filters)
            }

            fn change_filters(&mut self, first: usize, values: Attribute<'_>) -> Result<(), Error> {
                self.change_filters(first, values)
            }

            fn find_pairs(&mut self, boxes: &[Aabb]) -> Result<&Overlaps, Error> {
                self.find_pairs(boxes)
            }

            fn stream_pairs<E: From<Error>>(
                &mut self,
                boxes: &[Aabb],
                each: impl FnMut(&Report, &[Pair]) -> Result<(), E>,
            ) -> Result<Report, E> {
                self.stream_pairs(boxes, each)
            }

            fn overlaps(&self) -> &Overlaps {
                self.overlaps()
            }

            fn take_overlaps(&mut self) -> Overlaps {
                self.take_overlaps()
            }
        }
    };
}

#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
engine!(BroadPhase);
engine!(cpu::BroadPhase);
