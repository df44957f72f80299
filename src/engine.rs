//! The traits of both engines, [`Engine`] and [`QueryEngine`], and the enums that choose an engine at run time,
//! [`AnyEngine`] and [`AnyTree`].

use crate::{
    Aabb, Answers, Attribute, Batch, Cast, Error, EventPiece, Events, Filters, Hit, Lists, Near, NearestQuery, Options,
    Overlaps, Pair, Report, Shape, Step, StepReport, TreeReport, cpu,
};
#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
use crate::{BroadPhase, Tree};

mod sealed {
    /// Seals the traits, so that new methods are no breaking change.
    pub trait SealedEngine {}
    /// Seals the trait [`HasFilters`](super::HasFilters), so that new methods are no breaking change.
    pub trait SealedFilters {}
}

/// Declares a trait, and implements it for a GPU type and a CPU type by their methods of the same names. Also declares
/// an enum of both types.
macro_rules! by_methods {
    (
        $(#[$of_trait:meta])*
        pub trait $trait:ident for $on_gpu:ty, $on_cpu:ty {
            $(
                $(#[$doc:meta])*
                fn $name:ident $([$($generic:tt)*])? ($self:ident: $own:ty $(, $arg:ident: $kind:ty)*) $(-> $answer:ty)?
                $(where $who:ty: $bound:path)?;
            )*
        }
        $(#[$of_any:meta])*
        pub enum $any:ident;
    ) => {
        $(#[$of_trait])*
        pub trait $trait: sealed::SealedEngine {
            $(
                $(#[$doc])*
                fn $name $(<$($generic)*>)? ($self: $own $(, $arg: $kind)*) $(-> $answer)? $(where $who: $bound)?;
            )*
        }

        #[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
        impl sealed::SealedEngine for $on_gpu {}
        #[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
        impl $trait for $on_gpu {
            $(fn $name $(<$($generic)*>)? ($self: $own $(, $arg: $kind)*) $(-> $answer)? {
                <$on_gpu>::$name($self $(, $arg)*)
            })*
        }

        impl sealed::SealedEngine for $on_cpu {}
        impl $trait for $on_cpu {
            $(fn $name $(<$($generic)*>)? ($self: $own $(, $arg: $kind)*) $(-> $answer)? {
                <$on_cpu>::$name($self $(, $arg)*)
            })*
        }

        $(#[$of_any])*
        #[derive(Debug)]
        #[non_exhaustive]
        #[allow(clippy::large_enum_variant)] // a program has one or two, and does not move them
        pub enum $any {
            /// On a GPU.
            #[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
            Gpu($on_gpu),
            /// On all cores of the CPU.
            Cpu($on_cpu),
        }

        #[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
        impl From<$on_gpu> for $any {
            fn from(engine: $on_gpu) -> Self {
                Self::Gpu(engine)
            }
        }

        impl From<$on_cpu> for $any {
            fn from(engine: $on_cpu) -> Self {
                Self::Cpu(engine)
            }
        }

        impl sealed::SealedEngine for $any {}
        impl $trait for $any {
            $(fn $name $(<$($generic)*>)? ($self: $own $(, $arg: $kind)*) $(-> $answer)? {
                match $self {
                    #[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
                    Self::Gpu(engine) => <$on_gpu>::$name(engine $(, $arg)*),
                    Self::Cpu(engine) => <$on_cpu>::$name(engine $(, $arg)*),
                }
            })*
        }
    };
}

by_methods! {
    /// An engine that finds pairs: [`BroadPhase`](crate::BroadPhase) on a GPU, outside of browsers, or
    /// [`cpu::BroadPhase`]. Both have the same options and filters, and find the same pairs. The methods of these types
    /// document cost and errors. The trait is sealed: other crates cannot implement it.
    ///
    /// `dyn Engine` has all calls except `stream_pairs` and `stream_events`. [`AnyEngine`] has all calls, and chooses
    /// the engine at run time.
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
    pub trait Engine for BroadPhase, cpu::BroadPhase {
        /// Returns the options in use.
        fn options(self: &Self) -> &Options;

        /// Replaces the options, from the next call on.
        ///
        /// # Errors
        /// [`Error::BadOption`], [`Error::Busy`]; the options are unchanged.
        fn set_options(self: &mut Self, options: Options) -> Result<(), Error>;

        /// Returns the filters in use.
        fn filters(self: &Self) -> &Filters;

        /// Replaces the filters, from the next call on.
        ///
        /// # Errors
        /// [`Error::BadFilter`], [`Error::Busy`], [`Error::OutOfMemory`]; the filters are unchanged.
        fn set_filters(self: &mut Self, filters: Filters) -> Result<(), Error>;

        /// Replaces values of one list of the filters, from box `first` on.
        ///
        /// # Errors
        /// After [`Error::BadFilter`] or [`Error::Busy`], the list is unchanged. After [`Error::OutOfMemory`],
        /// [`Error::DeviceLost`] or [`Error::Gpu`] of the GPU engine, the list is changed, and the next call uploads
        /// it.
        fn change_filters(self: &mut Self, first: usize, values: Attribute<'_>) -> Result<(), Error>;

        /// Finds each overlapping pair of `boxes` that the filters accept, once. The result remains until the next
        /// call.
        ///
        /// # Errors
        /// The errors of the engine's own method. After an error the last result is empty, and the engine can be used
        /// again, unless the device is lost.
        fn find_pairs(self: &mut Self, boxes: &[Aabb]) -> Result<&Overlaps, Error>;

        /// Finds each overlapping pair of a box of `first` and a box of `second` that the filters accept, once. In a
        /// pair, `a` is an index in `first`, and `b` an index in `second`. The GPU engine sweeps both sets together.
        /// The CPU engine mostly queries a tree of one set with the boxes of the other
        /// ([`Report::tree_join`](crate::Report::tree_join)).
        ///
        /// # Errors
        /// The errors of the engine's own method. After an error the last result is empty, and the engine can be used
        /// again, unless the device is lost.
        fn find_pairs_between(self: &mut Self, first: &[Aabb], second: &[Aabb]) -> Result<&Overlaps, Error>;

        /// Passes every pair that [`find_pairs`](Self::find_pairs) finds to `each`, piece by piece, and returns the
        /// complete report.
        ///
        /// # Errors
        /// The errors of the engine's own method, and of `each`.
        fn stream_pairs[E: From<Error>](
            self: &mut Self,
            boxes: &[Aabb],
            each: impl FnMut(&Report, &[Pair]) -> Result<(), E>
        ) -> Result<Report, E> where Self: Sized;

        /// Finds the pairs of these boxes, and compares them with the pairs of the last successful `find_events`. Other
        /// calls in between do not matter.
        ///
        /// # Errors
        /// The errors of the engine's own method. After an error, the last step is still the last successful step.
        fn find_events(self: &mut Self, step: Step<'_>) -> Result<&Events, Error>;

        /// Passes the events since the last streamed step to `each`, piece by piece, in bounded memory.
        ///
        /// # Errors
        /// The errors of the engine's own method, and of `each`. After an error, the last step is still the last
        /// successful step.
        fn stream_events['a, E: From<Error>](
            self: &mut Self,
            step: impl Into<Step<'a>>,
            each: impl FnMut(&StepReport, EventPiece<'_>) -> Result<(), E>
        ) -> Result<StepReport, E> where Self: Sized;

        /// Returns the events of the last step.
        fn events(self: &Self) -> &Events;

        /// Forgets all steps. In the next step, every pair is created.
        fn forget_steps(self: &mut Self);

        /// Returns the allocated bytes on the device of the engine.
        fn memory_bytes(self: &Self) -> u64;

        /// Returns the last result; empty before the first result and after an error.
        fn last_overlaps(self: &Self) -> &Overlaps;

        /// Moves the last result out, without a copy.
        fn take_overlaps(self: &mut Self) -> Overlaps;
    }

    /// An engine that is chosen at run time, with all calls of [`Engine`]. `Gpu` exists with the feature `gpu`, outside
    /// browsers. Only [`BroadPhase`](crate::BroadPhase) has calls that do not block. [`auto`](Self::auto) chooses the
    /// engine for the machine. Import the calls with `use broadsweep::Engine;`.
    ///
    /// ```no_run
    /// use broadsweep::{AnyEngine, BroadPhase, Engine, Error, Gpu, Options, Step, cpu};
    ///
    /// # fn engine(wants_gpu: bool) -> Result<AnyEngine, Error> {
    /// let mut engine: AnyEngine = match wants_gpu {
    ///     true => BroadPhase::new(&Gpu::headless()?, Options::default())?.into(),
    ///     false => cpu::BroadPhase::new(Options::default())?.into(),
    /// };
    /// let events = engine.find_events(Step::new(&[]))?;
    /// # Ok(engine)
    /// # }
    /// ```
    pub enum AnyEngine;
}

by_methods! {
    /// A tree that answers queries: [`Tree`](crate::Tree) on a GPU, outside of browsers, or [`cpu::Tree`]. Both
    /// have the same filters and queries, and return the same answers, bit for bit. The methods of these types document
    /// cost and errors. The calls take `&mut self`, since a GPU writes to buffers of the tree; the methods of
    /// [`cpu::Tree`] take `&self`. There is no `dyn QueryEngine`; [`AnyTree`] chooses at run time. The trait is sealed:
    /// other crates cannot implement it.
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
    pub trait QueryEngine for Tree, cpu::Tree {
        /// Returns the filters in use.
        fn filters(self: &Self) -> &Filters;

        /// Replaces the filters.
        ///
        /// # Errors
        /// [`Error::BadFilter`], [`Error::FilterLength`], [`Error::OutOfMemory`]; the filters are unchanged.
        fn set_filters(self: &mut Self, filters: Filters) -> Result<(), Error>;

        /// Replaces values of one list of the filters, from box `first` on.
        ///
        /// # Errors
        /// [`Error::BadFilter`]; then nothing is changed.
        fn change_filters(self: &mut Self, first: usize, values: Attribute<'_>) -> Result<(), Error>;

        /// Builds the tree of these boxes. Answers have the indices of these boxes.
        ///
        /// # Errors
        /// The errors of the engine's own method; after an error the tree is not built.
        fn build(self: &mut Self, boxes: &[Aabb]) -> Result<&TreeReport, Error>;

        /// Fits the tree to moved boxes: the same count, in the same order.
        ///
        /// # Errors
        /// [`Error::NotBuilt`]; [`Error::OtherTree`] for another box count, which leaves the tree unchanged; the errors
        /// of the engine's own method.
        fn refit(self: &mut Self, boxes: &[Aabb]) -> Result<&TreeReport, Error>;

        /// Returns the report of the last build or refit.
        fn report(self: &Self) -> &TreeReport;

        /// Returns the allocated bytes on the device of the tree.
        fn memory_bytes(self: &Self) -> u64;

        /// Finds the first box that each path hits: by `t`, then by index.
        ///
        /// # Errors
        /// The errors of the engine's own method.
        fn nearest_hits['a, C: Cast + 'a](self: &mut Self, casts: impl Into<Batch<'a, C>>) -> Result<Answers<Hit>, Error>;

        /// Finds the first `k` boxes that each path hits: by `t`, then by index.
        ///
        /// # Errors
        /// The errors of the engine's own method.
        fn first_hits['a, C: Cast + 'a](self: &mut Self, casts: impl Into<Batch<'a, C>>, k: usize) -> Result<Lists<Hit>, Error>;

        /// Finds whether each path hits a box.
        ///
        /// # Errors
        /// The errors of the engine's own method.
        fn any_hits['a, C: Cast + 'a](self: &mut Self, casts: impl Into<Batch<'a, C>>) -> Result<Answers<bool>, Error>;

        /// Finds all boxes that each path hits, ascending by index.
        ///
        /// # Errors
        /// The errors of the engine's own method.
        fn all_hits['a, C: Cast + 'a](self: &mut Self, casts: impl Into<Batch<'a, C>>) -> Result<Lists<Hit>, Error>;

        /// Finds all boxes that each shape touches, ascending by index.
        ///
        /// # Errors
        /// The errors of the engine's own method.
        fn overlaps['a, S: Shape + 'a](self: &mut Self, shapes: impl Into<Batch<'a, S>>) -> Result<Lists<u32>, Error>;

        /// Finds the `k` boxes that are nearest to each point: by distance, then by index.
        ///
        /// # Errors
        /// The errors of the engine's own method.
        fn nearest['a](self: &mut Self, points: impl Into<Batch<'a, NearestQuery>>, k: usize) -> Result<Lists<Near>, Error>;
    }

    /// A tree that is chosen at run time, with all calls of [`QueryEngine`]. [`auto`](Self::auto) chooses the tree for
    /// the machine. Import the calls with `use broadsweep::QueryEngine;`.
    ///
    /// ```
    /// use broadsweep::{Aabb, AnyTree, Error, QueryEngine, Ray, cpu};
    ///
    /// let mut tree = AnyTree::from(cpu::Tree::new()); // or Tree::new(&gpu)?
    /// tree.build(&[Aabb::new([1.0; 3], [2.0; 3])])?;
    /// assert_eq!(tree.nearest_hits(&[Ray::new([0.0; 3], [1.0; 3])])?[0].index, 0);
    /// # Ok::<(), Error>(())
    /// ```
    pub enum AnyTree;
}

/// Opens a GPU. Returns `None` if no GPU is suitable. No GPU is suitable if there are only software drivers, there is
/// no device, or its limits are too small.
#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
fn hardware_gpu() -> Result<Option<crate::Gpu>, Error> {
    match crate::Gpu::headless() {
        Ok(gpu) if gpu.adapter_info().device_type == wgpu::DeviceType::Cpu => Ok(None),
        Err(Error::NoAdapter { .. } | Error::NoDevice { .. } | Error::DeviceTooSmall { .. }) => Ok(None),
        gpu => gpu.map(Some),
    }
}

impl AnyEngine {
    /// Creates the engine on a GPU, or on the CPU if no GPU is suitable. No GPU is suitable if there are only software
    /// drivers, there is no device, or its limits are too small.
    ///
    /// # Errors
    /// [`Error::BadOption`], [`Error::OutOfMemory`], [`Error::DeviceLost`].
    pub fn auto(options: Options) -> Result<Self, Error> {
        #[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
        if let Some(gpu) = hardware_gpu()? {
            return BroadPhase::new(&gpu, options).map(Self::from);
        }
        cpu::BroadPhase::new(options).map(Self::from)
    }

    /// Returns whether the engine runs on a GPU.
    pub fn is_gpu(&self) -> bool {
        !matches!(self, Self::Cpu(_))
    }
}

impl AnyTree {
    /// Creates the tree on a GPU, or on the CPU if no GPU is suitable. No GPU is suitable if there are only software
    /// drivers, there is no device, or its limits are too small.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`].
    pub fn auto() -> Result<Self, Error> {
        #[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
        if let Some(gpu) = hardware_gpu()? {
            return Tree::new(&gpu).map(Self::from);
        }
        Ok(cpu::Tree::new().into())
    }

    /// Returns whether the tree is on a GPU.
    pub fn is_gpu(&self) -> bool {
        !matches!(self, Self::Cpu(_))
    }
}

/// An engine, a recorder or a tree, for [`Slots::update_filters`](crate::step::Slots::update_filters).
///
/// The trait is sealed: other crates cannot implement it.
pub trait HasFilters: sealed::SealedFilters {
    /// Replaces each per-box list of the filters with the list of the same name in `lists`. Changes nothing else.
    ///
    /// # Errors
    /// The errors of the methods `change_filters` and `set_filters` of the type.
    fn update_lists(&mut self, lists: &Filters) -> Result<(), Error>;
}

/// Returns the changes from `old` to `lists`. Returns `None` if a list has another length, since all filters must be
/// replaced then.
fn changes<'a>(lists: &'a Filters, old: &Filters) -> Option<Vec<(usize, Attribute<'a>)>> {
    (lists.lengths() == old.lengths()).then(|| lists.changes_since(old))
}

macro_rules! has_filters {
    ([$($generic:tt)*] $type:ty) => {
        impl<$($generic)*> sealed::SealedFilters for $type {}

        impl<$($generic)*> HasFilters for $type {
            fn update_lists(&mut self, lists: &Filters) -> Result<(), Error> {
                match changes(lists, self.filters()) {
                    Some(changes) => changes.into_iter().try_for_each(|(first, values)| self.change_filters(first, values)),
                    None => self.set_filters(lists.with_others_of(self.filters())),
                }
            }
        }
    };
}
has_filters!([E: Engine + ?Sized] E);
has_filters!([] cpu::Tree);
has_filters!([] AnyTree);
#[cfg(feature = "gpu")]
has_filters!([] crate::Tree);
#[cfg(feature = "gpu")]
has_filters!([] crate::Recorder);
#[cfg(all(feature = "gpu", target_arch = "wasm32"))]
has_filters!([] crate::BroadPhase);
