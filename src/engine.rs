//! [`Engine`] and [`QueryEngine`]: what both engines have in common.

#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
use crate::BroadPhase;
use crate::{
    Aabb, Answers, Attribute, Batch, Cast, Error, EventPiece, Events, Filters, Hit, Lists, Near, NearestQuery, Options,
    Overlaps, Pair, Report, Shape, Step, StepReport, TreeReport, cpu,
};

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

    /// Finds every pair of a box of `first` and a box of `second` that overlap and that the filters keep, each once. Of a
    /// pair, `a` is an index in `first`, and `b` one in `second`. The engine on a GPU sweeps both sets at once, that on the CPU
    /// mostly asks a tree of one with the boxes of the other ([`Report::asked_tree`](crate::Report::asked_tree)).
    ///
    /// # Errors
    /// The errors of the engine's own method. After an error, the engine can be used as before.
    fn find_pairs_between(&mut self, first: &[Aabb], second: &[Aabb]) -> Result<&Overlaps, Error>;

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

    /// Finds what began and what ended since the last step: the pairs of these boxes, compared with those of the last call.
    ///
    /// # Errors
    /// The errors of the engine's own method. A step that was refused does not count as the last one.
    fn find_events<'a>(&mut self, step: impl Into<Step<'a>>) -> Result<&Events, Error>
    where
        Self: Sized;

    /// Hands what began and what ended since the last streamed step to `each`, piece by piece: lists of any length.
    ///
    /// # Errors
    /// The errors of the engine's own method, and those of `each`. Such a step does not count as the last one.
    fn stream_events<'a, E: From<Error>>(
        &mut self,
        step: impl Into<Step<'a>>,
        each: impl FnMut(&StepReport, EventPiece<'_>) -> Result<(), E>,
    ) -> Result<StepReport, E>
    where
        Self: Sized;

    /// Returns the events of the last step.
    fn events(&self) -> &Events;

    /// Forgets all steps: in the next one, every pair is created.
    fn forget_steps(&mut self);

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

            fn find_pairs_between(&mut self, first: &[Aabb], second: &[Aabb]) -> Result<&Overlaps, Error> {
                self.find_pairs_between(first, second)
            }

            fn stream_pairs<E: From<Error>>(
                &mut self,
                boxes: &[Aabb],
                each: impl FnMut(&Report, &[Pair]) -> Result<(), E>,
            ) -> Result<Report, E> {
                self.stream_pairs(boxes, each)
            }

            fn find_events<'a>(&mut self, step: impl Into<Step<'a>>) -> Result<&Events, Error> {
                <$type>::find_events(self, step)
            }

            fn stream_events<'a, E: From<Error>>(
                &mut self,
                step: impl Into<Step<'a>>,
                each: impl FnMut(&StepReport, EventPiece<'_>) -> Result<(), E>,
            ) -> Result<StepReport, E> {
                <$type>::stream_events(self, step, each)
            }

            fn events(&self) -> &Events {
                self.events()
            }

            fn forget_steps(&mut self) {
                self.forget_steps();
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

/// A tree that answers queries: [`Tree`](crate::Tree) on a GPU, where a thread may block, or [`cpu::Tree`]. Both take the same
/// filters and queries and answer the same, bit for bit; each of them says what a call costs and refuses.
///
/// ```
/// use broadsweep::{Aabb, Error, QueryEngine, Ray, cpu};
///
/// fn first_hit(tree: &mut impl QueryEngine, boxes: &[Aabb], ray: Ray) -> Result<Option<u32>, Error> {
///     tree.build(boxes)?;
///     let hit = tree.nearest_hits(&[ray])?.answers[0];
///     Ok(hit.is_hit().then_some(hit.index))
/// }
///
/// let mut tree = cpu::Tree::new(); // or Tree::new(&gpu)?
/// let boxes = [Aabb::new([1.0; 3], [2.0; 3])];
/// assert_eq!(first_hit(&mut tree, &boxes, Ray::new([0.0; 3], [1.0; 3]))?, Some(0));
/// # Ok::<(), Error>(())
/// ```
pub trait QueryEngine {
    /// Returns the filters in use.
    fn filters(&self) -> &Filters;

    /// Sets what boxes say beside their bounds.
    ///
    /// # Errors
    /// [`Error::BadFilter`], [`Error::FilterLength`], [`Error::OutOfMemory`]; the filters stay as they were.
    fn set_filters(&mut self, filters: Filters) -> Result<(), Error>;

    /// Changes one list of the filters from box `first` on.
    ///
    /// # Errors
    /// [`Error::BadFilter`]; nothing is changed then.
    fn change_filters(&mut self, first: usize, values: Attribute<'_>) -> Result<(), Error>;

    /// Builds the tree of these boxes. Queries answer with their indices.
    ///
    /// # Errors
    /// The errors of the engine's own method; the tree is empty then.
    fn build(&mut self, boxes: &[Aabb]) -> Result<&TreeReport, Error>;

    /// Fits the tree to boxes that have moved: the same number of them in the same order.
    ///
    /// # Errors
    /// [`Error::OtherTree`], after which the tree stays as it is; and the errors of the engine's own method.
    fn refit(&mut self, boxes: &[Aabb]) -> Result<&TreeReport, Error>;

    /// Returns the report on the last build or refit.
    fn report(&self) -> &TreeReport;

    /// Finds the first box that each path hits: by `t`, then by index.
    ///
    /// # Errors
    /// The errors of the engine's own method.
    fn nearest_hits<'a, C: Cast + 'a>(&mut self, casts: impl Into<Batch<'a, C>>) -> Result<Answers<Hit>, Error>;

    /// Finds the first `k` boxes that each path hits: by `t`, then by index.
    ///
    /// # Errors
    /// The errors of the engine's own method.
    fn first_hits<'a, C: Cast + 'a>(&mut self, casts: impl Into<Batch<'a, C>>, k: usize) -> Result<Lists<Hit>, Error>;

    /// Finds whether each path hits a box.
    ///
    /// # Errors
    /// The errors of the engine's own method.
    fn any_hits<'a, C: Cast + 'a>(&mut self, casts: impl Into<Batch<'a, C>>) -> Result<Answers<bool>, Error>;

    /// Finds all boxes that each path hits, ascending by index.
    ///
    /// # Errors
    /// The errors of the engine's own method.
    fn all_hits<'a, C: Cast + 'a>(&mut self, casts: impl Into<Batch<'a, C>>) -> Result<Lists<Hit>, Error>;

    /// Finds all boxes that each shape touches, ascending by index.
    ///
    /// # Errors
    /// The errors of the engine's own method.
    fn overlaps<'a, S: Shape + 'a>(&mut self, shapes: impl Into<Batch<'a, S>>) -> Result<Lists<u32>, Error>;

    /// Finds the `k` boxes that are nearest to each point: by distance, then by index.
    ///
    /// # Errors
    /// The errors of the engine's own method.
    fn nearest<'a>(&mut self, points: impl Into<Batch<'a, NearestQuery>>, k: usize) -> Result<Lists<Near>, Error>;
}

/// Implements [`QueryEngine`] by the methods of the same names.
macro_rules! query_engine {
    ($type:ty) => {
        impl QueryEngine for $type {
            fn filters(&self) -> &Filters {
                self.filters()
            }

            fn set_filters(&mut self, filters: Filters) -> Result<(), Error> {
                self.set_filters(filters)
            }

            fn change_filters(&mut self, first: usize, values: Attribute<'_>) -> Result<(), Error> {
                self.change_filters(first, values)
            }

            fn build(&mut self, boxes: &[Aabb]) -> Result<&TreeReport, Error> {
                self.build(boxes)
            }

            fn refit(&mut self, boxes: &[Aabb]) -> Result<&TreeReport, Error> {
                self.refit(boxes)
            }

            fn report(&self) -> &TreeReport {
                self.report()
            }

            fn nearest_hits<'a, C: Cast + 'a>(
                &mut self,
                casts: impl Into<Batch<'a, C>>,
            ) -> Result<Answers<Hit>, Error> {
                <$type>::nearest_hits(self, casts)
            }

            fn first_hits<'a, C: Cast + 'a>(
                &mut self,
                casts: impl Into<Batch<'a, C>>,
                k: usize,
            ) -> Result<Lists<Hit>, Error> {
                <$type>::first_hits(self, casts, k)
            }

            fn any_hits<'a, C: Cast + 'a>(&mut self, casts: impl Into<Batch<'a, C>>) -> Result<Answers<bool>, Error> {
                <$type>::any_hits(self, casts)
            }

            fn all_hits<'a, C: Cast + 'a>(&mut self, casts: impl Into<Batch<'a, C>>) -> Result<Lists<Hit>, Error> {
                <$type>::all_hits(self, casts)
            }

            fn overlaps<'a, S: Shape + 'a>(&mut self, shapes: impl Into<Batch<'a, S>>) -> Result<Lists<u32>, Error> {
                <$type>::overlaps(self, shapes)
            }

            fn nearest<'a>(
                &mut self,
                points: impl Into<Batch<'a, NearestQuery>>,
                k: usize,
            ) -> Result<Lists<Near>, Error> {
                <$type>::nearest(self, points, k)
            }
        }
    };
}

#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
query_engine!(crate::Tree);
query_engine!(cpu::Tree);
