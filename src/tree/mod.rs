//! The tree of boxes on the GPU: [`Tree`].
//!
//! | file | does |
//! |---|---|
//! | `build` | the stage `tree`: the order of the leaves along a curve, and the bounds of all nodes |
//! | `query` | the stage `query`: what a batch of queries meets |
//! | `pack` | turns queries into words |
//! | `ask` | a batch on its way: which part of it a submission takes, and what comes back |

mod ask;
pub mod build;
mod pack;
pub mod query;

use std::collections::HashMap;

use self::ask::{Memory, Recording};
use self::build::{Build, TreeBuffers, TreeRoom};
use self::query::Query;
use crate::constants::INVALID_LISTED;
use crate::filters::device::FilterSet;
use crate::filters::prepare::Prepare;
use crate::gpu::Gpu;
use crate::gpu::buffers::{Buffer, Constants};
use crate::gpu::kernel::Pass;
use crate::gpu::limits::check_rows;
use crate::gpu::readback::Readback;
use crate::gpu::table::{Row, STORAGE};
use crate::grid::sort::Sort;
use crate::grid::sort_variant;
use crate::layout::{Cube, Params, QueryParams, TreeShape, TreeSummary, Window};
use crate::{Aabb, Answers, Attribute, Batch, Cast, Error, Filters, Hit, Lists, Near, NearestQuery, Shape, TreeReport};

/// A tree of boxes on a GPU, which is built once and asked many times: what a ray hits, what touches a shape, what is
/// nearest. [`cpu::Tree`](crate::cpu::Tree) is the same on the CPU; [`QueryEngine`](crate::QueryEngine) is what both have in
/// common. The answers are those of the CPU, bit for bit, on every adapter.
///
/// The boxes lie in the order of a Hilbert curve, eight to a leaf; nodes have eight children in a row and no pointers.
/// Queries look at nodes in `f32`, and decide what that leaves in doubt in integers, without rounding. They are asked in the
/// order of the curve too. A query keeps a word for each level, so that nothing can overflow; lists of answers are counted
/// before they are written, and come in as many pieces as the device's limits need.
///
/// The tree takes some 60 bytes of GPU memory for each box ([`memory_plan`](Self::memory_plan)), and queries some 50 beside
/// their answers.
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
    windows: Constants<Window>,
    /// The buffers, and what they have room for.
    made: Option<(TreeRoom, TreeBuffers)>,
    /// The boxes as they came.
    boxes: Option<Buffer<Aabb>>,
    built: Option<Built>,
    memory: Memory,
    report: TreeReport,
}

/// A tree that lies in the buffers.
#[derive(Clone, Debug)]
struct Built {
    room: TreeRoom,
    shape: Buffer<TreeShape>,
    /// The boxes in the order of the leaves.
    ids: Buffer<u32>,
    cube: Cube,
    surface: f32,
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
    /// Makes a tree of no boxes on this device, without filters. Nothing is compiled: a kernel is compiled by the first call
    /// on the device that needs it.
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
            windows: Constants::new("window"),
            made: None,
            boxes: None,
            built: None,
            memory: Memory::default(),
            report: TreeReport::default(),
        })
    }

    /// Returns the device.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    // ---- filters ----

    /// Sets what boxes say beside their bounds; as [`cpu::Tree::set_filters`](crate::cpu::Tree::set_filters).
    ///
    /// # Errors
    /// As there, and [`Error::DeviceLost`].
    pub fn set_filters(&mut self, filters: Filters) -> Result<(), Error> {
        filters.check_for_queries()?;
        let mut set = FilterSet::new(&self.gpu, filters)?;
        let (old, new) = (self.filters.filters(), set.filters());
        let stays = old.world == new.world && old.margin == new.margin;
        if stays && let Some(built) = &self.built {
            let box_count = built.room.boxes as usize;
            set.fit(box_count)?;
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
    /// As there, and [`Error::OutOfMemory`], [`Error::DeviceLost`], [`Error::Gpu`].
    pub fn change_filters(&mut self, first: usize, values: Attribute<'_>) -> Result<(), Error> {
        let changed = self.filters.change(&self.gpu, first, values);
        let is_refused = matches!(changed, Err(Error::BadFilter { .. }));
        if !is_refused && matches!(values, Attribute::World(_) | Attribute::Margin(_)) {
            self.clear();
        }
        changed
    }

    /// Empties the tree. Its memory stays for the next build.
    fn clear(&mut self) {
        self.built = None;
        self.worlds.clear();
        self.report = TreeReport::default();
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
        tree + boxes + filters + self.memory.bytes()
    }

    fn room(&self, box_count: usize) -> TreeRoom {
        let has_worlds = self.filters().world.iter().any(|&world| world != Filters::GLOBAL);
        let worlds = if has_worlds { u64::from(self.filters.checked().world_count()) } else { 0 };
        TreeRoom { boxes: box_count as u64, worlds }
    }

    // ---- building ----

    /// Builds the tree of these boxes. Queries answer with their indices. **Blocks** until it is built.
    ///
    /// # Errors
    /// [`Error::FilterLength`] and [`Error::BadFilter`] where the filters do not fit the boxes; [`Error::TooManyBoxes`] where
    /// one binding of the device has no room for the tree; [`Error::OutOfMemory`], [`Error::DeviceLost`], [`Error::Gpu`]. The
    /// tree is empty then.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn build(&mut self, boxes: &[Aabb]) -> Result<&TreeReport, Error> {
        block_on(self.build_waiting(boxes, Waiting::Blocking))?;
        Ok(&self.report)
    }

    /// Builds the tree as [`build`](Self::build) does, without blocking the thread.
    ///
    /// # Errors
    /// As there.
    pub async fn build_async(&mut self, boxes: &[Aabb]) -> Result<&TreeReport, Error> {
        self.build_waiting(boxes, Waiting::Polling).await?;
        Ok(&self.report)
    }

    /// Fits the tree to boxes that have moved; as [`cpu::Tree::refit`](crate::cpu::Tree::refit). **Blocks**.
    ///
    /// # Errors
    /// As there, and [`Error::OutOfMemory`], [`Error::DeviceLost`], [`Error::Gpu`], after which the tree is empty.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn refit(&mut self, boxes: &[Aabb]) -> Result<&TreeReport, Error> {
        block_on(self.refit_waiting(boxes, Waiting::Blocking))?;
        Ok(&self.report)
    }

    /// Fits the tree as [`refit`](Self::refit) does, without blocking the thread.
    ///
    /// # Errors
    /// As there.
    pub async fn refit_async(&mut self, boxes: &[Aabb]) -> Result<&TreeReport, Error> {
        self.refit_waiting(boxes, Waiting::Polling).await?;
        Ok(&self.report)
    }

    /// Returns the report on the last build or refit.
    pub fn report(&self) -> &TreeReport {
        &self.report
    }

    async fn build_waiting(&mut self, boxes: &[Aabb], waiting: Waiting) -> Result<(), Error> {
        self.clear();
        self.filters.fit(boxes.len())?;
        self.memory_plan(boxes.len())?;
        let room = self.room(boxes.len());
        if room.boxes == 0 {
            self.report = TreeReport { growth: 1.0, bytes: self.memory_bytes(), ..TreeReport::default() };
            return Ok(());
        }
        if room.worlds > 0 {
            let filters = self.filters.filters();
            self.worlds = filters.world.iter().copied().zip(self.filters.checked().worlds().iter().copied()).collect();
            self.worlds.remove(&Filters::GLOBAL);
        }
        self.make_room(room)?;
        self.filters.upload(&self.gpu, boxes.len(), false)?;
        let shape = self.shapes.get(&self.gpu, room.shape())?;
        let (ids, readback) = self.submit_build(room, &shape, boxes)?;
        let (summary, cube) = summary_of(&ask::wait(&self.gpu, readback, waiting).await?)?;
        self.built = Some(Built { room, shape, ids, cube, surface: summary.surface });
        self.report_on(&summary);
        Ok(())
    }

    /// Submits a build, and begins to read its summary.
    fn submit_build(
        &mut self,
        room: TreeRoom,
        shape: &Buffer<TreeShape>,
        boxes: &[Aabb],
    ) -> Result<(Buffer<u32>, Readback), Error> {
        let sort = Sort::with_variant(&self.gpu, sort_variant(&self.gpu)?)?;
        let Some((_, tree)) = &self.made else { return Err(Error::NothingSubmitted) };
        let mut recording = Recording::begin(&self.gpu);
        tree.write_sizes(&self.gpu, room.boxes as u32);
        let mut pass = Pass::begin(&self.gpu, &mut recording.encoder);
        let searched = self.record_prepared(&mut pass, boxes)?;
        let filters = &self.filters.lists;
        let ids = self.build.record_order(&mut pass, &sort, room, shape, searched.all(), filters, tree);
        self.build.record_bounds(&self.gpu, &mut pass, room, shape, searched.all(), &ids, tree)?;
        pass.finish()?;
        drop(pass);
        Ok((ids, self.read_summary(recording)?))
    }

    async fn refit_waiting(&mut self, boxes: &[Aabb], waiting: Waiting) -> Result<(), Error> {
        let built_of = self.built.as_ref().map_or(0, |built| built.room.boxes);
        if boxes.len() as u64 != built_of {
            return Err(Error::OtherTree { built: built_of, box_count: boxes.len() as u64 });
        }
        self.filters.fit(boxes.len())?;
        self.filters.upload(&self.gpu, boxes.len(), false)?;
        // Until the end there is no tree.
        let Some(built) = self.built.take() else { return Ok(()) };
        self.report = TreeReport::default();
        let readback = self.submit_refit(&built, boxes)?;
        let (summary, _) = summary_of(&ask::wait(&self.gpu, readback, waiting).await?)?;
        self.built = Some(built);
        self.report_on(&summary);
        Ok(())
    }

    /// Submits a refit, and begins to read its summary.
    fn submit_refit(&mut self, built: &Built, boxes: &[Aabb]) -> Result<Readback, Error> {
        let Some((_, tree)) = &self.made else { return Err(Error::NothingSubmitted) };
        let mut recording = Recording::begin(&self.gpu);
        let mut pass = Pass::begin(&self.gpu, &mut recording.encoder);
        let searched = self.record_prepared(&mut pass, boxes)?;
        let Built { room, shape, ids, .. } = built;
        self.build.record_bounds(&self.gpu, &mut pass, *room, shape, searched.all(), ids, tree)?;
        pass.finish()?;
        drop(pass);
        self.read_summary(recording)
    }

    /// Makes the buffers of a tree, unless there is room already.
    fn make_room(&mut self, room: TreeRoom) -> Result<(), Error> {
        let covers =
            |made: &TreeRoom| made.boxes >= room.boxes && made.worlds >= room.worlds && made.boxes / 4 <= room.boxes;
        if self.made.as_ref().is_some_and(|(made, _)| covers(made)) {
            return Ok(());
        }
        // The old buffers go first: old and new at once might not fit.
        self.made = None;
        self.boxes = None;
        let (tree, boxes) =
            (TreeBuffers::new(&self.gpu, &room)?, Buffer::new(&self.gpu, "boxes", room.boxes, STORAGE)?);
        (self.made, self.boxes) = (Some((room, tree)), Some(boxes));
        Ok(())
    }

    /// Uploads boxes and records what filters do to them, and returns the buffer that has them as they are searched.
    fn record_prepared(&self, pass: &mut Pass, boxes: &[Aabb]) -> Result<Buffer<Aabb>, Error> {
        let Some(own) = &self.boxes else { return Err(Error::NothingSubmitted) };
        own.write(&self.gpu, boxes);
        let Some(buffers) = self.filters.preparation() else { return Ok(own.clone()) };
        let box_count = boxes.len() as u32;
        let params = self.prepare_params.get(&self.gpu, Params { box_count, ..bytemuck::Zeroable::zeroed() })?;
        let prepared = &buffers.prepared_boxes;
        self.prepare.record(pass, box_count, &params, own.all(), &buffers.margins, &buffers.half_space_bits, prepared);
        Ok(prepared.clone())
    }

    /// Submits what was recorded, and begins to read the summary of the tree.
    fn read_summary(&mut self, mut recording: Recording) -> Result<Readback, Error> {
        let Some((_, tree)) = &self.made else { return Err(Error::NothingSubmitted) };
        let (of_summary, of_cube) = (size_of::<TreeSummary>() as u64, size_of::<Cube>() as u64);
        let staging = self.memory.staging(&self.gpu, of_summary + of_cube)?;
        recording.encoder.copy_buffer_to_buffer(tree.summary.raw(), 0, &staging, 0, of_summary);
        recording.encoder.copy_buffer_to_buffer(tree.cube.raw(), 0, &staging, of_summary, of_cube);
        recording.read(&self.gpu, &staging, of_summary + of_cube)
    }

    fn report_on(&mut self, summary: &TreeSummary) {
        let Some(built) = &self.built else { return };
        let (before, now) = (f64::from(built.surface), f64::from(summary.surface));
        let listed = summary.invalid_count.min(INVALID_LISTED) as usize;
        self.report = TreeReport {
            box_count: built.room.boxes as u32,
            invalid_count: summary.invalid_count,
            first_invalid: summary.first_invalid[..listed].iter().map(|first| first[0]).collect(),
            growth: if before > 0.0 || now > 0.0 { now / before } else { 1.0 },
            bytes: 0,
        };
        self.report.bytes = self.memory_bytes();
    }
}

/// Returns what the host reads of a tree.
fn summary_of(readback: &Readback) -> Result<(TreeSummary, Cube), Error> {
    Ok((readback.value(0)?, readback.value(size_of::<TreeSummary>() as u64)?))
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
                /// [`Error::QueryFilterLength`], [`Error::OutOfMemory`], [`Error::DeviceLost`], [`Error::Gpu`].
                #[cfg(not(target_arch = "wasm32"))]
                pub fn $name<'a, $($generics)*>(&mut self, $($arg: $kind),*) -> Result<$answer, Error> {
                    block_on(self.$call($($arg.into()),*, Waiting::Blocking))
                }

                #[doc = concat!("Answers as [`", stringify!($name), "`](Self::", stringify!($name), ") does, without blocking the thread.")]
                ///
                /// # Errors
                /// As there.
                pub async fn $later<'a, $($generics)*>(&mut self, $($arg: $kind),*) -> Result<$answer, Error> {
                    self.$call($($arg.into()),*, Waiting::Polling).await
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
