//! The tree of boxes on the GPU: [`Tree`] has queries in host memory, [`TreeRecorder`] on the device.
//!
//! | file | does |
//! |---|---|
//! | `ahead` | compiles kernels before the first call |
//! | `construct` | builds and refits a tree |
//! | `build` | the stage `tree`: the order of the leaves along a curve, and the bounds of all nodes |
//! | `question` | the kinds of queries |
//! | `query` | the stage `query`: finds the boxes that a batch of queries meets |
//! | `query_sources`, `query_buffers` | the kernels of the stage `query`; the buffers of a batch |
//! | `batch` | the plan of a batch, and the recording of its phases |
//! | `calls`, `host` | queries from host memory: the calls, and their execution with a readback after each round |
//! | `half_spaces` | merges half-spaces into answers from host memory, and reads boxes back to order both |
//! | `recorder` | queries in buffers of the caller, with a fixed count of recorded rounds |
//! | `gpu_batch` | the types of queries and answers in buffers |
//! | `steps` | events of moving shapes in a static world |
//! | `pack` | converts queries to `u32` |
//! | `load`, `query_memory` | the predicted memory of a batch; the cached buffers |
//! | `submission` | submits commands, and waits for results that the host reads |

mod ahead;
mod batch;
pub mod build;
mod calls;
mod construct;
mod gpu_batch;
mod half_spaces;
mod host;
mod load;
mod pack;
pub mod query;
mod query_buffers;
mod query_memory;
mod query_sources;
mod question;
mod recorder;
mod steps;
mod submission;

use std::collections::HashMap;

use self::build::{Build, TreeBuffers, TreeCapacity};
pub use self::construct::TreeBoxes;
pub use self::gpu_batch::{GpuAnswers, GpuBatch, GpuConvex, GpuLists, GpuQuery, GpuShape};
pub use self::load::{QueryLoad, TreeMemoryPlan};
use self::query::Query;
use self::query_memory::QueryMemory;
pub use self::question::Question;
pub use self::recorder::TreeRecorder;
use self::submission::Waiting;
use crate::base::layout::{Cube, Params, QueryParams, TreeShape, Window};
use crate::filters::device::FilterSet;
use crate::filters::prepare::Prepare;
use crate::gpu::Gpu;
use crate::gpu::buffers::{Buffer, Constants};
use crate::gpu::limits::check_rows;
use crate::gpu::table::Row;
use crate::queries::Surface;
use crate::{Aabb, Attribute, Error, FilterOwner, Filters, TreeReport};

/// A tree of boxes on a GPU for many queries. It finds the boxes that a ray hits, the boxes that touch a shape, or the
/// boxes nearest to a point. Calls **block**; [`asynchronous`](Self::asynchronous) has the same calls as futures, and
/// [`TreeRecorder`] records queries whose answers stay on the device. [`cpu::Tree`](crate::cpu::Tree) is the tree on
/// the CPU; [`QueryEngine`](crate::QueryEngine) is the trait of both. Answers equal the answers of the CPU, bit for
/// bit, on every adapter.
///
/// The boxes are in the order of a Hilbert curve, eight per leaf. A node has eight consecutive children and no
/// pointers. Queries test nodes in `f32`, and decide undecided cases exactly, in integers. Queries are sorted along the
/// curve too. Lists of answers are counted before they are written. They are read back in pieces if the limits of the
/// device require it.
///
/// GPU memory: about 60 bytes per box, in addition to the box ([`memory_plan`](Self::memory_plan)). A query needs about
/// 50 bytes, or 180 for lists, in addition to its answers ([`query_memory_plan`](Self::query_memory_plan)). If a
/// half-space and a box have the same rounded time or distance in ordered answers, the host reads the boxes back. The
/// host does so at most once per build or refit; if the build or refit was recorded, for every batch with such a
/// tie. Cost: 24 bytes of host memory per box, and 28 bytes of GPU memory during the readback.
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
    /// The index of each world, if there are worlds.
    worlds: HashMap<u32, u32>,
    prepare: Prepare,
    build: Build,
    query: Query,
    prepare_params: Constants<Params>,
    shapes: Constants<TreeShape>,
    params: Constants<QueryParams>,
    windows: Constants<Window>,
    /// The buffers, and their capacity.
    allocated: Option<(TreeCapacity, TreeBuffers)>,
    /// The buffer of uploaded boxes.
    boxes: Option<Buffer<Aabb>>,
    built: Option<Built>,
    /// True if the tree was built without boxes; then `built` is `None`.
    is_built_of_none: bool,
    /// The memory of queries from the host.
    memory: QueryMemory,
    /// The tree that queries use if there are no boxes.
    empty: Option<TreeBuffers>,
    /// The ids and indices of worlds on the device, after a recording that needs them.
    world_ids: Option<Buffer<[u32; 2]>>,
    /// `[box_count]` the prepared boxes, once they were needed to order half-spaces among them; otherwise empty.
    boxes_on_host: Vec<Aabb>,
    /// True if the last build or refit was recorded, so that the host does not know when it runs.
    is_recorded: bool,
    report: TreeReport,
}

/// A tree in the buffers.
#[derive(Clone, Debug)]
struct Built {
    capacity: TreeCapacity,
    shape: Buffer<TreeShape>,
    cube: Cube,
    surface: Surface,
}

/// The calls of a [`Tree`] that wait for the device, as futures. Answers and errors are the same.
/// [`Tree::asynchronous`] returns this value. Outside browsers, each poll of a future polls the device and requests
/// another poll, so the executor is busy. If a future of `build` or `refit` is dropped, the tree is not built.
///
/// ```no_run
/// # async fn cast(tree: &mut broadsweep::Tree, rays: &[broadsweep::Ray]) -> Result<(), broadsweep::Error> {
/// let hits = tree.asynchronous().nearest_hits(rays).await?;
/// println!("{} rays hit", hits.report.answer_count);
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct AsyncTree<'t> {
    tree: &'t mut Tree,
    waiting: Waiting,
}

impl Tree {
    /// Creates a tree on this device. It has no filters and is not built. This call compiles nothing: the first call on
    /// the device that needs a kernel compiles it, unless it was compiled [ahead](Self::compile_ahead).
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
            allocated: None,
            boxes: None,
            built: None,
            is_built_of_none: false,
            memory: QueryMemory::default(),
            empty: None,
            world_ids: None,
            boxes_on_host: Vec::new(),
            is_recorded: false,
            report: TreeReport::default(),
        })
    }

    /// Returns the device.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Returns the calls of the tree that wait for the device as futures, for programs that must not block, for example
    /// in a browser.
    pub fn asynchronous(&mut self) -> AsyncTree<'_> {
        AsyncTree { tree: self, waiting: Waiting::Polling }
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn blocking(&mut self) -> AsyncTree<'_> {
        AsyncTree { tree: self, waiting: Waiting::Blocking }
    }

    // ---- filters ----

    /// Replaces the filters of the boxes, like [`cpu::Tree::set_filters`](crate::cpu::Tree::set_filters), but with
    /// [`Filters::exclude_at_most`] set to 0.
    ///
    /// # Errors
    /// The errors of [`cpu::Tree::set_filters`](crate::cpu::Tree::set_filters), and [`Error::DeviceLost`].
    pub fn set_filters(&mut self, filters: Filters) -> Result<(), Error> {
        filters.check_for_queries()?;
        filters.check_values()?;
        // Queries read no lists of pairs.
        self.use_filters(FilterSet::new(&self.gpu, Filters { exclude_at_most: 0, ..filters })?)
    }

    /// Shares the filters of a [`BroadPhase`](crate::BroadPhase) or a [`Recorder`](crate::Recorder), for `box_count`
    /// boxes. On the same [`Gpu`] or a clone of it, tree and owner read the same lists on the device, including values
    /// set by [`record_filters`](crate::Recorder::record_filters). Submit these recordings before any call that does
    /// not record. On another device, all lists are uploaded, so the host must have their values.
    ///
    /// The owner can change its groups, masks, bodies, parents, spheres, worlds or margins. Then each call that builds,
    /// refits, queries or records returns [`Error::FiltersChanged`] until `share_filters` is called again. Earlier
    /// recordings use the lists at the time of submission. While a tree shares the filters, a change of a list by the
    /// owner copies all lists once on the host. [`change_filters`](Self::change_filters) and
    /// [`set_filters`](Self::set_filters) of the tree replace the shared filters. The tree needs no rebuild if worlds
    /// and margins are unchanged and never came from the device. For a tree on the CPU, use
    /// `broad_phase.filters().clone()`.
    ///
    /// While the owner has the lists, they count as memory of the owner. With a memory budget, or to search in slabs,
    /// the owner may upload its lists again. Then the tree retains the old lists, which count as memory of the tree. A
    /// budget must suffice for the filters and a search of all boxes in one pass.
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
    /// [`Error::FilterLength`] if the lists do not fit the boxes. [`Error::BadFilter`] for an owner region. The same
    /// error if these values exist only on the device of the owner: worlds; any list, if the tree is on another device;
    /// any list except margins and spheres, if there are half-spaces. [`Error::TooManyBoxes`]; with a memory budget
    /// the errors of [`BroadPhase::reserve`](crate::BroadPhase::reserve); [`Error::OutOfMemory`],
    /// [`Error::DeviceLost`]. After an error the filters are unchanged.
    pub fn share_filters<'a>(&mut self, owner: impl Into<FilterOwner<'a>>, box_count: usize) -> Result<(), Error> {
        let set = owner.into().share(&self.gpu, box_count)?;
        self.use_filters(set)
    }

    fn use_filters(&mut self, mut set: FilterSet) -> Result<(), Error> {
        let stays = self.filters.build_same_nodes(&set);
        if stays && let Some(built) = &self.built {
            let box_count = built.capacity.boxes as usize;
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

    /// Replaces values of one list of the filters, from box `first` on, like
    /// [`cpu::Tree::change_filters`](crate::cpu::Tree::change_filters).
    ///
    /// # Errors
    /// The errors of [`cpu::Tree::change_filters`](crate::cpu::Tree::change_filters); [`Error::FiltersChanged`] if
    /// filters are [shared](Self::share_filters) and the owner changed them; [`Error::BadFilter`] if some shared values
    /// exist only on the device; [`Error::OutOfMemory`], [`Error::DeviceLost`], [`Error::Gpu`].
    pub fn change_filters(&mut self, first: usize, values: Attribute<'_>) -> Result<(), Error> {
        let changed = self.filters.change(&self.gpu, first, values);
        let is_refused = matches!(changed, Err(Error::BadFilter { .. } | Error::FiltersChanged));
        if !is_refused && matches!(values, Attribute::World(_) | Attribute::Margin(_)) {
            self.clear();
        }
        changed
    }

    /// Empties the tree, and retains its memory for the next build.
    fn clear(&mut self) {
        self.built = None;
        self.is_built_of_none = false;
        self.worlds.clear();
        self.world_ids = None;
        self.boxes_on_host = Vec::new();
        self.is_recorded = false;
        self.report = TreeReport::default();
    }

    /// Returns an error if the tree is not built.
    fn check_built(&self) -> Result<(), Error> {
        if self.built.is_some() || self.is_built_of_none { Ok(()) } else { Err(Error::NotBuilt) }
    }

    // ---- memory ----

    /// Lists the buffers for a tree of this many boxes by name, with their bytes. These are buffers of the tree, of
    /// uploaded boxes, and of the filters in use.
    ///
    /// # Errors
    /// [`Error::TooManyBoxes`] if a buffer exceeds one binding of the device.
    pub fn memory_plan(&self, box_count: usize) -> Result<TreeMemoryPlan, Error> {
        let capacity = self.capacity(box_count);
        let rows: Vec<Row> = TreeBuffers::rows(&capacity)
            .chain([("boxes", Buffer::<Aabb>::bytes(capacity.boxes))])
            .chain(self.filters.rows(box_count))
            .collect();
        check_rows(capacity.boxes, &self.gpu.device().limits(), &rows)?;
        Ok(TreeMemoryPlan { buffers: rows })
    }

    /// Returns the bytes of allocated GPU memory.
    pub fn memory_bytes(&self) -> u64 {
        let tree = self.allocated.as_ref().map_or(0, |(_, buffers)| buffers.allocated().map(|(_, bytes)| bytes).sum());
        let boxes = self.boxes.as_ref().map_or(0, |boxes| boxes.raw().size());
        let filters: u64 = self.filters.allocated().iter().map(|(_, bytes)| bytes).sum();
        let of_none: u64 = self.empty.iter().flat_map(TreeBuffers::allocated).map(|(_, bytes)| bytes).sum();
        let worlds = self.world_ids.as_ref().map_or(0, |ids| ids.raw().size());
        tree + boxes + filters + of_none + worlds + self.memory.bytes()
    }

    fn capacity(&self, box_count: usize) -> TreeCapacity {
        let has_worlds = self.filters().world.iter().any(|&world| world != Filters::GLOBAL);
        let worlds = if has_worlds { u64::from(self.filters.checked().world_count()) } else { 0 };
        TreeCapacity { boxes: box_count as u64, worlds }
    }
}
