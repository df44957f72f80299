//! [`Engine`] and [`QueryEngine`], which both engines implement, and [`AnyEngine`] and [`AnyTree`], which are either of them.

use crate::{
    Aabb, Answers, Attribute, Batch, Cast, Error, EventPiece, Events, Filters, Hit, Lists, Near, NearestQuery, Options,
    Overlaps, Pair, Report, Shape, Step, StepReport, TreeReport, cpu,
};
#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
use crate::{BroadPhase, Tree};

mod sealed {
    /// Cannot be named outside of the crate, so that engines gain methods without a break.
    pub trait SealedEngine {}
    /// As [`SealedEngine`].
    pub trait SealedFilters {}
}

/// Declares a trait, implements it for a type on the GPU and one on the CPU by their methods of the same names, and declares a type that
/// is either of them.
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
            /// The type of the root of the crate, on a GPU.
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
    /// An engine that finds pairs: [`BroadPhase`](crate::BroadPhase) on a GPU, where a thread may block, or
    /// [`cpu::BroadPhase`]. Both take the same options and filters and find the same pairs. Each documents the cost and errors of a
    /// call. The trait is sealed: other crates cannot implement it.
    ///
    /// `dyn Engine` has all calls except `stream_pairs` and `stream_events`. [`AnyEngine`] chooses at run time and has all.
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

        /// Sets other options, from the next call on.
        ///
        /// # Errors
        /// [`Error::BadOption`], [`Error::Busy`]; the options stay as they were.
        fn set_options(self: &mut Self, options: Options) -> Result<(), Error>;

        /// Returns the filters in use.
        fn filters(self: &Self) -> &Filters;

        /// Sets the filters, from the next call on.
        ///
        /// # Errors
        /// [`Error::BadFilter`], [`Error::Busy`], [`Error::OutOfMemory`]; the filters stay as they were.
        fn set_filters(self: &mut Self, filters: Filters) -> Result<(), Error>;

        /// Changes one list of the filters from box `first` on.
        ///
        /// # Errors
        /// [`Error::BadFilter`], [`Error::Busy`]: nothing is changed. [`Error::OutOfMemory`], [`Error::DeviceLost`], [`Error::Gpu`] of the
        /// engine on a GPU: the list is changed, and the next call uploads it.
        fn change_filters(self: &mut Self, first: usize, values: Attribute<'_>) -> Result<(), Error>;

        /// Finds every pair of `boxes` that overlaps and that the filters accept, each once. The answer stays until the next
        /// call.
        ///
        /// # Errors
        /// The errors of the engine's own method. After an error the last answer is empty, and the engine can be used as before,
        /// unless the device is lost.
        fn find_pairs(self: &mut Self, boxes: &[Aabb]) -> Result<&Overlaps, Error>;

        /// Finds every pair of a box of `first` and a box of `second` that overlap and that the filters accept, each once. In a
        /// pair, `a` is an index in `first`, and `b` one in `second`. The engine on a GPU sweeps both sets at once. The CPU engine
        /// mostly queries a tree of one set with the boxes of the other ([`Report::tree_join`](crate::Report::tree_join)).
        ///
        /// # Errors
        /// The errors of the engine's own method. After an error the last answer is empty, and the engine can be used as before,
        /// unless the device is lost.
        fn find_pairs_between(self: &mut Self, first: &[Aabb], second: &[Aabb]) -> Result<&Overlaps, Error>;

        /// Passes every pair that [`find_pairs`](Self::find_pairs) finds to `each`, piece by piece, and returns the whole report.
        ///
        /// # Errors
        /// The errors of the engine's own method, and those of `each`.
        fn stream_pairs[E: From<Error>](
            self: &mut Self,
            boxes: &[Aabb],
            each: impl FnMut(&Report, &[Pair]) -> Result<(), E>
        ) -> Result<Report, E> where Self: Sized;

        /// Finds the pairs of these boxes, and compares them with those of the last `find_events` that succeeded; other calls in between
        /// do not matter.
        ///
        /// # Errors
        /// The errors of the engine's own method. A refused step does not count as the last one.
        fn find_events(self: &mut Self, step: Step<'_>) -> Result<&Events, Error>;

        /// Passes the events since the last streamed step to `each`, piece by piece: lists of any length.
        ///
        /// # Errors
        /// The errors of the engine's own method, and those of `each`. Such a step does not count as the last one.
        fn stream_events['a, E: From<Error>](
            self: &mut Self,
            step: impl Into<Step<'a>>,
            each: impl FnMut(&StepReport, EventPiece<'_>) -> Result<(), E>
        ) -> Result<StepReport, E> where Self: Sized;

        /// Returns the events of the last step.
        fn events(self: &Self) -> &Events;

        /// Forgets all steps: in the next one, every pair is created.
        fn forget_steps(self: &mut Self);

        /// Counts the allocated bytes on the device of the engine.
        fn memory_bytes(self: &Self) -> u64;

        /// Returns the last answer. Before the first answer, and after an error, it is empty: no pairs of no boxes.
        fn last_overlaps(self: &Self) -> &Overlaps;

        /// Moves the last answer out, without a copy.
        fn take_overlaps(self: &mut Self) -> Overlaps;
    }

    /// An engine that is chosen at run time. It has all calls of [`Engine`], also those that `dyn Engine` cannot have. `Gpu` exists with the
    /// feature `gpu`, outside of browsers. Only [`BroadPhase`](crate::BroadPhase) has calls that do not block.
    /// `use broadsweep::Engine;` imports its calls, and [`auto`](Self::auto) chooses for the machine.
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
    /// A tree that answers queries: [`Tree`](crate::Tree) on a GPU, where a thread may block, or [`cpu::Tree`]. Both
    /// take the same filters and queries and answer the same, bit for bit; each of them documents the cost and the
    /// errors of a call. The calls take `&mut self`, since a GPU writes queries and answers into buffers of the tree; those of
    /// [`cpu::Tree`] itself take `&self`. The trait is not for `dyn`: [`AnyTree`] chooses at run time. It is sealed: other
    /// crates cannot implement it.
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

        /// Sets the filters.
        ///
        /// # Errors
        /// [`Error::BadFilter`], [`Error::FilterLength`], [`Error::OutOfMemory`]; the filters stay as they were.
        fn set_filters(self: &mut Self, filters: Filters) -> Result<(), Error>;

        /// Changes one list of the filters from box `first` on.
        ///
        /// # Errors
        /// [`Error::BadFilter`]; nothing is changed then.
        fn change_filters(self: &mut Self, first: usize, values: Attribute<'_>) -> Result<(), Error>;

        /// Builds the tree of these boxes. Queries answer with their indices.
        ///
        /// # Errors
        /// The errors of the engine's own method; the tree is not built then.
        fn build(self: &mut Self, boxes: &[Aabb]) -> Result<&TreeReport, Error>;

        /// Fits the tree to boxes that have moved: the same number of them in the same order.
        ///
        /// # Errors
        /// [`Error::NotBuilt`], and [`Error::OtherTree`] for another number of boxes, which leave the tree unchanged; and the errors of the engine's own method.
        fn refit(self: &mut Self, boxes: &[Aabb]) -> Result<&TreeReport, Error>;

        /// Returns the report on the last build or refit.
        fn report(self: &Self) -> &TreeReport;

        /// Counts the allocated bytes on the device of the engine.
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

    /// A tree that is chosen at run time, with all calls of [`QueryEngine`]: `use broadsweep::QueryEngine;`. [`auto`](Self::auto) chooses for the
    /// machine.
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

/// Opens a GPU, unless none suits: there is only a software driver, no device, or one with limits that are too small.
#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
fn hardware_gpu() -> Result<Option<crate::Gpu>, Error> {
    match crate::Gpu::headless() {
        Ok(gpu) if gpu.adapter_info().device_type == wgpu::DeviceType::Cpu => Ok(None),
        Err(Error::NoAdapter { .. } | Error::NoDevice { .. } | Error::DeviceTooSmall { .. }) => Ok(None),
        gpu => gpu.map(Some),
    }
}

impl AnyEngine {
    /// Creates the engine on a GPU, or on the CPU if no GPU suits: no adapter but software drivers, no device, or limits that are too
    /// small.
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
    /// Creates the tree on a GPU, or on the CPU if no GPU suits: no adapter but software drivers, no device, or limits that are too
    /// small.
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

    /// Returns whether the tree lies on a GPU.
    pub fn is_gpu(&self) -> bool {
        !matches!(self, Self::Cpu(_))
    }
}

/// An engine, a recorder or a tree, for [`Slots::update_filters`](crate::step::Slots::update_filters).
///
/// The trait is sealed: other crates cannot implement it.
pub trait HasFilters: sealed::SealedFilters {
    /// Changes the lists by box to those of `lists`, and nothing else.
    ///
    /// # Errors
    /// Those of the methods `change_filters` and `set_filters` of the type.
    fn update_lists(&mut self, lists: &Filters) -> Result<(), Error>;
}

/// Returns what to change; `None` where all filters have to be set, since a list has another length.
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
