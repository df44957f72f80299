//! The tree of boxes on the GPU: [`Tree`].
//!
//! | file | does |
//! |---|---|
//! | `ahead` | compiles before the first call |
//! | `make` | builds and refits, of boxes of the host or of the device |
//! | `build` | the stage `tree`: the order of the leaves along a curve, and the bounds of all nodes |
//! | `query` | the stage `query`: what a batch of queries meets |
//! | `pack` | turns queries into words |
//! | `ask` | a batch on its way: which part of it a submission takes, and what comes back |
//! | `on_device` | batches in buffers of the caller's, and answers that stay on the device |
//! | `plan` | how much memory a batch takes |
//! | `record` | such a batch, recorded in rounds |

mod ahead;
mod ask;
pub mod build;
mod events;
mod make;
mod on_device;
mod pack;
mod plan;
pub mod query;
mod record;

use std::collections::HashMap;

use self::ask::Memory;
use self::build::{Build, TreeBuffers, TreeRoom};
use self::events::Steps;
pub use self::on_device::{GpuAnswers, GpuBatch, GpuConvex, GpuLists, GpuQuery, GpuShape};
pub use self::plan::QueryLoad;
use self::query::Query;
pub use self::query::Question;
use crate::filters::device::FilterSet;
use crate::filters::prepare::Prepare;
use crate::gpu::Gpu;
use crate::gpu::buffers::{Buffer, Constants};
use crate::gpu::limits::check_rows;
use crate::gpu::table::Row;
use crate::layout::{Cube, Params, QueryParams, TreeShape, Window};
use crate::queries::{HalfSpaces, Surface};
use crate::{
    Aabb, Answers, Attribute, Batch, Cast, Error, FilterOwner, Filters, Hit, Lists, Near, NearestQuery, Shape,
    TreeReport,
};

/// A tree of boxes on a GPU, which is built once and asked many times: what a ray hits, what touches a shape, what is
/// nearest. [`cpu::Tree`](crate::cpu::Tree) is the same on the CPU; [`QueryEngine`](crate::QueryEngine) is what both have in
/// common. The answers are those of the CPU, bit for bit, on every adapter.
///
/// The boxes lie in the order of a Hilbert curve, eight to a leaf; nodes have eight children in a row and no pointers.
/// Queries look at nodes in `f32`, and decide what that leaves in doubt in integers, without rounding. They are asked in the
/// order of the curve too. A query keeps a word for each level, so that nothing can overflow; lists of answers are counted
/// before they are written, and come in as many pieces as the device's limits need.
///
/// The tree takes some 60 bytes of GPU memory for each box, beside the box itself ([`memory_plan`](Self::memory_plan)), and
/// queries some 50 beside their answers, 180 where these are lists ([`query_memory_plan`](Self::query_memory_plan)).
///
/// ```no_run
/// use broadsweep::{Aabb, Gpu, Ray, Tree};
///
/// # fn main() -> Result<(), broadsweep::Error> {
/// let gpu = Gpu::headless()?;
/// let mut tree = Tree::new(&gpu)?;
/// tree.build(&[Aabb::new([1.0; 3], [2.0; 3]), Aabb::new([4.0; 3], [5.0; 3])])?;
/// let hits = tree.nearest_hits(&[Ray::new([0.0; 3], [1.0; 3])])?;
/// assert_eq!((hits.answers[0].index, hits.answers[0].t), (0, 1.0));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Tree {
    gpu: Gpu,
    filters: FilterSet,
    /// The number of each world, where there are any.
    worlds: HashMap<u32, u32>,
    prepare: Prepare,
    build: Build,
    query: Query,
    prepare_params: Constants<Params>,
    shapes: Constants<TreeShape>,
    params: Constants<QueryParams>,
    /// Those of rounds that are recorded ahead.
    round_params: Constants<QueryParams>,
    windows: Constants<Window>,
    /// The buffers, and what they have room for.
    made: Option<(TreeRoom, TreeBuffers)>,
    /// The boxes as they came.
    boxes: Option<Buffer<Aabb>>,
    built: Option<Built>,
    /// Whether it is built, of no boxes too.
    is_built: bool,
    memory: Memory,
    /// The memory of queries that are recorded, which those of the host leave alone.
    recorded: Memory,
    /// The steps that are recorded, once there are some.
    steps: Option<Steps>,
    /// What is asked where there are no boxes.
    empty: Option<TreeBuffers>,
    /// The numbers of worlds on the device, once they were asked for.
    world_ids: Option<Buffer<[u32; 2]>>,
    report: TreeReport,
}

/// A tree that lies in the buffers.
#[derive(Clone, Debug)]
struct Built {
    room: TreeRoom,
    shape: Buffer<TreeShape>,
    cube: Cube,
    surface: Surface,
}

/// How a call waits for the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Waiting {
    /// The thread sleeps.
    #[cfg(not(target_arch = "wasm32"))]
    Blocking,
    /// The future is polled.
    Polling,
}

/// Runs a call to its end, of which nothing pends.
#[cfg(not(target_arch = "wasm32"))]
fn block_on<T>(call: impl Future<Output = T>) -> T {
    pollster::block_on(call)
}

impl Tree {
    /// Makes a tree on this device that is not built, without filters. Nothing is compiled: a kernel is compiled by the first call
    /// on the device that needs it, or [ahead](Self::compile_ahead).
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`].
    pub fn new(gpu: &Gpu) -> Result<Self, Error> {
        Ok(Self {
            gpu: gpu.clone(),
            filters: FilterSet::new(gpu, Filters::default())?,
            worlds: HashMap::new(),
            prepare: Prepare::new(gpu),
            build: Build::new(gpu),
            query: Query::new(gpu),
            prepare_params: Constants::new("params"),
            shapes: Constants::new("tree"),
            params: Constants::new("query"),
            round_params: Constants::keeping("query", record::KEPT_ROUNDS),
            windows: Constants::new("window"),
            made: None,
            boxes: None,
            built: None,
            is_built: false,
            memory: Memory::default(),
            recorded: Memory::default(),
            steps: None,
            empty: None,
            world_ids: None,
            report: TreeReport::default(),
        })
    }

    /// Returns the device.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    // ---- filters ----

    /// Sets what boxes say beside their bounds; as [`cpu::Tree::set_filters`](crate::cpu::Tree::set_filters), but that no pairs
    /// are expected ([`Filters::exclude_at_most`] becomes 0).
    ///
    /// # Errors
    /// As there, and [`Error::DeviceLost`].
    pub fn set_filters(&mut self, filters: Filters) -> Result<(), Error> {
        filters.check_for_queries()?;
        filters.check_values()?;
        // Queries look at no lists of pairs.
        self.take_filters(FilterSet::new(&self.gpu, Filters { exclude_at_most: 0, ..filters })?)
    }

    /// Shares the filters of a [`BroadPhase`](crate::BroadPhase) or a [`Recorder`](crate::Recorder), for `box_count` boxes, with their lists
    /// on the device: nothing is uploaded that is there already, where both have the same [`Gpu`] or clones of it. The values that
    /// [`record_filters`](crate::Recorder::record_filters) put in place of the host's are shared too: submit those before any call that
    /// does not record. On another device all are uploaded, which the host has to know.
    ///
    /// Once the groups, masks, bodies, parents, worlds or margins of the owner are changed, or set anew, every call that builds,
    /// refits, asks or records is [`Error::FiltersChanged`] until the tree takes them again; what was recorded before asks with the lists as they are when it is
    /// submitted. To change a list of the owner copies all of them once on the host, as long as a tree has them.
    /// [`change_filters`](Self::change_filters) and [`set_filters`](Self::set_filters) of the tree give it filters of its own.
    /// The tree stays where worlds and margins were not changed since it took them, or were never those of the device and are as before. A tree on the
    /// CPU takes `broad_phase.filters().clone()`.
    ///
    /// The lists count to the memory of the owner as long as it has them. With a memory budget, or where it searches in slabs, it may upload them
    /// anew; then the tree keeps what it took, and counts it. A budget has to have room for a search of all boxes at once beside the filters.
    ///
    /// ```no_run
    /// # use broadsweep::{Aabb, BroadPhase, Error, Filters, Gpu, Options, Ray, Tree};
    /// # fn load() -> (Vec<Aabb>, Filters, Vec<Ray>) { Default::default() }
    /// # fn main() -> Result<(), Error> {
    /// let gpu = Gpu::headless()?;
    /// let (boxes, filters, rays) = load();
    /// let mut broad_phase = BroadPhase::new(&gpu, Options::default())?;
    /// let mut tree = Tree::new(&gpu)?;
    /// broad_phase.set_filters(filters)?;
    /// let pairs = broad_phase.find_pairs(&boxes)?;
    /// tree.share_filters(&mut broad_phase, boxes.len())?;
    /// tree.build(&boxes)?;
    /// let hits = tree.nearest_hits(&rays)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::FilterLength`] where they do not fit the boxes, or those of a tree that stays; [`Error::BadFilter`] for an owner
    /// region, worlds and, beside half-spaces, any list but margins that the device alone knows, and any other of these lists that another device alone knows; [`Error::TooManyBoxes`]; with a memory budget
    /// the errors of [`BroadPhase::reserve`](crate::BroadPhase::reserve); [`Error::OutOfMemory`], [`Error::DeviceLost`]. The old filters then stay.
    pub fn share_filters<'a>(&mut self, owner: impl Into<FilterOwner<'a>>, box_count: usize) -> Result<(), Error> {
        let set = owner.into().share(&self.gpu, box_count)?;
        self.take_filters(set)
    }

    fn take_filters(&mut self, mut set: FilterSet) -> Result<(), Error> {
        let stays = self.filters.make_nodes_of(&set);
        if stays && let Some(built) = &self.built {
            let box_count = built.room.boxes as usize;
            set.fit_for_queries(box_count)?;
            set.upload(&self.gpu, box_count, false)?;
        }
        self.filters = set;
        if !stays {
            self.clear();
        }
        Ok(())
    }

    /// Returns the filters in use.
    pub fn filters(&self) -> &Filters {
        self.filters.filters()
    }

    /// Changes one list of the filters from box `first` on; as
    /// [`cpu::Tree::change_filters`](crate::cpu::Tree::change_filters).
    ///
    /// # Errors
    /// As there; [`Error::FiltersChanged`] and [`Error::BadFilter`] where filters are [shared](Self::share_filters), and were changed there, or
    /// the device alone knows some; [`Error::OutOfMemory`], [`Error::DeviceLost`], [`Error::Gpu`].
    pub fn change_filters(&mut self, first: usize, values: Attribute<'_>) -> Result<(), Error> {
        let changed = self.filters.change(&self.gpu, first, values);
        let is_refused = matches!(changed, Err(Error::BadFilter { .. } | Error::FiltersChanged));
        if !is_refused && matches!(values, Attribute::World(_) | Attribute::Margin(_)) {
            self.clear();
        }
        changed
    }

    /// Empties the tree. Its memory stays for the next build.
    fn clear(&mut self) {
        self.built = None;
        self.is_built = false;
        self.worlds.clear();
        self.world_ids = None;
        self.report = TreeReport::default();
    }

    /// Refuses a tree that is not built.
    fn check_built(&self) -> Result<(), Error> {
        if self.is_built { Ok(()) } else { Err(Error::NotBuilt) }
    }

    /// Refuses to record for a device that is gone: it takes commands and makes buffers without a complaint.
    fn check_device(&self) -> Result<(), Error> {
        if self.gpu.is_lost_on_trial() { Err(self.gpu.lost("nothing can be recorded")) } else { Ok(()) }
    }

    // ---- memory ----

    /// Lists the buffers that a tree of this many boxes has, by name, with their bytes: those of the tree, of the boxes as
    /// they came, and of the filters there are.
    ///
    /// # Errors
    /// [`Error::TooManyBoxes`] where a buffer is longer than one binding of the device.
    pub fn memory_plan(&self, box_count: usize) -> Result<Vec<Row>, Error> {
        let room = self.room(box_count);
        let rows: Vec<Row> = TreeBuffers::rows(&room)
            .chain([("boxes", Buffer::<Aabb>::bytes(room.boxes))])
            .chain(self.filters.rows(box_count))
            .collect();
        check_rows(room.boxes, &self.gpu.device().limits(), &rows)?;
        Ok(rows)
    }

    /// Counts the bytes of GPU memory that are held.
    pub fn memory_bytes(&self) -> u64 {
        let tree = self.made.as_ref().map_or(0, |(_, buffers)| buffers.made().map(|(_, bytes)| bytes).sum());
        let boxes = self.boxes.as_ref().map_or(0, |boxes| boxes.raw().size());
        let filters: u64 = self.filters.made().iter().map(|(_, bytes)| bytes).sum();
        let of_none: u64 = self.empty.iter().flat_map(TreeBuffers::made).map(|(_, bytes)| bytes).sum();
        let worlds = self.world_ids.as_ref().map_or(0, |ids| ids.raw().size());
        let steps = self.steps.as_ref().map_or(0, Steps::bytes);
        tree + boxes + filters + of_none + worlds + steps + self.memory.bytes() + self.recorded.bytes()
    }

    fn room(&self, box_count: usize) -> TreeRoom {
        let has_worlds = self.filters().world.iter().any(|&world| world != Filters::GLOBAL);
        let worlds = if has_worlds { u64::from(self.filters.checked().world_count()) } else { 0 };
        TreeRoom { boxes: box_count as u64, worlds }
    }
}

/// Declares the calls that ask: each blocks, and has a twin that does not.
macro_rules! questions {
    ($($(#[$doc:meta])* $name:ident, $later:ident: [$($generics:tt)*]($($arg:ident: $kind:ty),*) -> $answer:ty, $call:ident;)*) => {
        impl Tree {
            $(
                $(#[$doc])*
                ///
                /// **Blocks** until the answers are there.
                ///
                /// # Errors
                /// [`Error::NotBuilt`], [`Error::QueryFilterLength`], [`Error::FiltersChanged`], [`Error::OutOfMemory`],
                /// [`Error::DeviceLost`], [`Error::Gpu`]; [`Error::BadOption`] where a `k` is 0.
                #[cfg(not(target_arch = "wasm32"))]
                pub fn $name<'a, $($generics)*>(&mut self, $($arg: $kind),*) -> Result<$answer, Error> {
                    self.filters.check_taken()?;
                    self.check_built()?;
                    $(let $arg = $arg.into();)*
                    let mut answers = block_on(self.$call($($arg),*, Waiting::Blocking))?;
                    HalfSpaces(self.filters.checked()).$name($($arg),*, &mut answers)?;
                    self.filters.check_taken().map(|()| answers)
                }

                #[doc = concat!("Answers as [`", stringify!($name), "`](Self::", stringify!($name), ") does, without blocking the thread.")]
                ///
                /// # Errors
                /// As there.
                pub async fn $later<'a, $($generics)*>(&mut self, $($arg: $kind),*) -> Result<$answer, Error> {
                    self.filters.check_taken()?;
                    self.check_built()?;
                    $(let $arg = $arg.into();)*
                    let mut answers = self.$call($($arg),*, Waiting::Polling).await?;
                    HalfSpaces(self.filters.checked()).$name($($arg),*, &mut answers)?;
                    // Another thread, or this one meanwhile, may have changed them.
                    self.filters.check_taken().map(|()| answers)
                }
            )*
        }
    };
}

questions! {
    /// Finds the first box that each path hits: by `t`, then by index.
    nearest_hits, nearest_hits_async: [C: Cast + 'a](casts: impl Into<Batch<'a, C>>) -> Answers<Hit>, ask_nearest_hits;
    /// Finds the first `k` boxes that each path hits: by `t`, then by index. A path goes through the tree once for each 64 of
    /// them.
    first_hits, first_hits_async: [C: Cast + 'a](casts: impl Into<Batch<'a, C>>, k: usize) -> Lists<Hit>, ask_first_hits;
    /// Finds whether each path hits a box.
    any_hits, any_hits_async: [C: Cast + 'a](casts: impl Into<Batch<'a, C>>) -> Answers<bool>, ask_any_hits;
    /// Finds all boxes that each path hits, ascending by index.
    all_hits, all_hits_async: [C: Cast + 'a](casts: impl Into<Batch<'a, C>>) -> Lists<Hit>, ask_all_hits;
    /// Finds all boxes that each shape touches, ascending by index; which of them may be too many, the shape's own page says.
    /// Shapes of more than [`Convex::MOST_ON_GPU`](crate::Convex::MOST_ON_GPU) half-spaces are refused
    /// ([`Error::TooManyHalfSpaces`]).
    overlaps, overlaps_async: [S: Shape + 'a](shapes: impl Into<Batch<'a, S>>) -> Lists<u32>, ask_overlaps;
    /// Finds the `k` boxes that are nearest to each point: by distance, then by index. A box that a point is in is at no
    /// distance. A query goes through the tree once for each 64 boxes.
    nearest, nearest_async: [](points: impl Into<Batch<'a, NearestQuery>>, k: usize) -> Lists<Near>, ask_nearest;
}
