//! [`TreeRecorder`]: queries in buffers of the caller, with answers that stay on the GPU.
//!
//! The host reads nothing back, so it does not know the pending queries. So a fixed count of rounds is recorded. A
//! round resumes the pending queries of the previous round. Without pending queries, it has no workgroups.

use super::batch::{BatchPlan, DeviceBatch, External, Phase, Wanted, budget};
use super::build::sort_counts;
use super::query::{Derived, Listed, QueryBuffers, QueryCapacity, Ranked, RoundParams, filter_u32_count, u32_count_of};
use super::query_memory::QueryMemory;
use super::{GpuAnswers, GpuBatch, GpuLists, GpuQuery, GpuShape, Tree};
use crate::base::constants::ROW;
use crate::base::layout::{QueryParams, Round, Window};
use crate::filters::lists::FilterLists;
use crate::gpu::buffers::{Buffer, Constants};
use crate::gpu::external::{bind, check};
use crate::gpu::kernel::Pass;
use crate::gpu::limits::limit_name;
use crate::gpu::table::CONSTANT;
use crate::pairs::recorded::RecordedSteps;
use crate::{Cast, Error, NearestQuery};

/// The most rounds after the first.
const MOST_ROUNDS: u32 = 4096;
/// The most parameters of rounds cached for the next recording.
const CACHED_ROUNDS: usize = 128;

/// Records queries of a [`Tree`], with queries and answers in buffers of the device. Each call records into an encoder
/// of the caller, and returns the buffers of the answers. Nothing is submitted or read back. The first call of a kind
/// blocks while kernels compile, unless [`Tree::compile_ahead`] compiled them. Answers equal the answers of [`Tree`],
/// bit for bit.
///
/// All recordings share the returned buffers, so the buffers borrow the recorder. Record the commands that read these
/// buffers before the next `record_*` call, and submit them before the commands of that call. After a build without
/// boxes, queries have no answers; before any build, calls return [`Error::NotBuilt`]. A tree with half-spaces is
/// refused; query it from host memory.
///
/// [`tree`](Self::tree) and [`tree_mut`](Self::tree_mut) return the tree: `recorder.tree_mut().set_filters(..)`
/// replaces its filters, and `recorder.tree_mut().nearest_hits(..)` queries it from host memory. Submit all recordings
/// before a build or refit other than [`record_build`](Self::record_build) and [`record_refit`](Self::record_refit).
/// Also submit them before a change of the filters, even if the owner of [shared](Tree::share_filters) filters changes
/// them.
///
/// ```no_run
/// use broadsweep::record::{GpuAnswers, GpuBatch};
/// use broadsweep::{Error, Ray, TreeRecorder, wgpu};
///
/// /// Fits a tree to boxes that have moved, and queries it with rays, all in buffers.
/// fn cast<'a>(
///     tree: &'a mut TreeRecorder,
///     encoder: &mut wgpu::CommandEncoder,
///     (boxes, box_count): (&wgpu::Buffer, u32),
///     (rays, ray_count): (&wgpu::Buffer, u32),
/// ) -> Result<GpuAnswers<'a>, Error> {
///     tree.record_refit(encoder, boxes.slice(..), box_count)?;
///     tree.record_nearest_hits(encoder, GpuBatch::<Ray>::new(rays.slice(..), ray_count))
/// }
/// ```
#[derive(Debug)]
pub struct TreeRecorder {
    pub(super) tree: Tree,
    pub(super) memory: QueryMemory,
    round_params: Constants<QueryParams>,
    /// The steps, after the first was recorded.
    pub(super) steps: Option<Steps>,
}

/// The recorded steps. No box sleeps or is fixed in their filters.
#[derive(Debug)]
pub(super) struct Steps {
    pub recorded: RecordedSteps,
    pub filters: FilterLists,
}

impl Steps {
    /// Counts the bytes of GPU memory.
    fn bytes(&self) -> u64 {
        self.recorded.allocated().iter().map(|(_, bytes)| bytes).sum()
    }
}

impl From<Tree> for TreeRecorder {
    fn from(tree: Tree) -> Self {
        let round_params = Constants::with_capacity("query", CACHED_ROUNDS);
        Self { tree, memory: QueryMemory::default(), round_params, steps: None }
    }
}

impl From<TreeRecorder> for Tree {
    /// Returns the tree. Submit all recordings first.
    fn from(recorder: TreeRecorder) -> Self {
        recorder.tree
    }
}

impl TreeRecorder {
    /// Creates a recorder of a tree that is not built, without filters. `TreeRecorder::from` wraps an existing tree.
    ///
    /// # Errors
    /// The errors of [`Tree::new`].
    pub fn new(gpu: &crate::Gpu) -> Result<Self, Error> {
        Tree::new(gpu).map(Self::from)
    }

    /// Returns the tree.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// Returns the tree, to build it, to query it from host memory or to replace its filters. Submit all recordings
    /// first.
    pub fn tree_mut(&mut self) -> &mut Tree {
        &mut self.tree
    }

    /// Returns the bytes of allocated GPU memory: of the tree, of recorded queries and of steps.
    pub fn memory_bytes(&self) -> u64 {
        self.tree.memory_bytes() + self.memory.bytes() + self.steps.as_ref().map_or(0, Steps::bytes)
    }

    /// Records a search for the first box that each path hits: by `t`, then by index. `answers` has a
    /// [`Hit`](crate::Hit) for each query.
    ///
    /// # Errors
    /// [`Error::BadBuffer`] if a slice is too short for the queries, starts at an offset that is not a multiple of the
    /// device's `min_storage_buffer_offset_alignment`, or cannot be bound as storage; [`Error::TooManyQueries`];
    /// [`Error::BadOption`] for 0 or too many rounds; [`Error::BadFilter`] for half-spaces; [`Error::NotBuilt`],
    /// [`Error::FiltersChanged`], [`Error::OutOfMemory`], [`Error::DeviceLost`], [`Error::Gpu`].
    pub fn record_nearest_hits<C: Cast + GpuQuery>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        batch: GpuBatch<'_, C>,
    ) -> Result<GpuAnswers<'_>, Error> {
        self.record_rows(encoder, batch, Ranked::Hits, 1)
    }

    /// Records a search for the first `k` boxes that each path hits: by `t`, then by index. `answers` has `k`
    /// [`Hit`](crate::Hit)s for each query.
    ///
    /// # Errors
    /// The errors of [`record_nearest_hits`](Self::record_nearest_hits); [`Error::BadOption`] if `k` is not between 1
    /// and 64.
    pub fn record_first_hits<C: Cast + GpuQuery>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        batch: GpuBatch<'_, C>,
        k: u32,
    ) -> Result<GpuAnswers<'_>, Error> {
        self.record_rows(encoder, batch, Ranked::Hits, k)
    }

    /// Records a search for the `k` boxes that are nearest to each point: by distance, then by index. `answers` has `k`
    /// [`Near`](crate::Near)s for each query.
    ///
    /// # Errors
    /// The errors of [`record_first_hits`](Self::record_first_hits).
    pub fn record_nearest(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        batch: GpuBatch<'_, NearestQuery>,
        k: u32,
    ) -> Result<GpuAnswers<'_>, Error> {
        self.record_rows(encoder, batch, Ranked::Near, k)
    }

    /// Records a test whether each path hits a box. `answers` has a `u32` per query, 1 or 0.
    ///
    /// # Errors
    /// The errors of [`record_nearest_hits`](Self::record_nearest_hits).
    pub fn record_any_hits<C: Cast + GpuQuery>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        batch: GpuBatch<'_, C>,
    ) -> Result<GpuAnswers<'_>, Error> {
        let buffers = self.record_batch(encoder, batch, Wanted::Any, Window::new(0, 0))?;
        Ok(GpuAnswers::of(buffers, buffers.ends.raw()))
    }

    /// Records a search for all boxes that each path hits, ascending by index. It writes a window of the list of all
    /// answers: up to `capacity` answers from index `first` on. The header has the exact count of all answers.
    ///
    /// # Errors
    /// The errors of [`record_nearest_hits`](Self::record_nearest_hits).
    pub fn record_all_hits<C: Cast + GpuQuery>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        batch: GpuBatch<'_, C>,
        first: u64,
        capacity: u32,
    ) -> Result<GpuLists<'_>, Error> {
        let window = Window::new(first, capacity);
        let buffers = self.record_batch(encoder, batch, Wanted::Lists(Listed::Cross), window)?;
        Ok(GpuLists::of(buffers, capacity))
    }

    /// Records a search for all boxes that each shape touches, ascending by index. A shape is a point, box, sphere,
    /// capsule, oriented box or convex shape. Like [`record_all_hits`](Self::record_all_hits), it writes a window of
    /// the list.
    ///
    /// # Errors
    /// The errors of [`record_nearest_hits`](Self::record_nearest_hits).
    pub fn record_overlaps<S: GpuShape>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        batch: GpuBatch<'_, S>,
        first: u64,
        capacity: u32,
    ) -> Result<GpuLists<'_>, Error> {
        Ok(GpuLists::of(self.record_overlap_lists(encoder, batch, Window::new(first, capacity))?, capacity))
    }

    /// Records the same as [`record_overlaps`](Self::record_overlaps), but returns the buffers of the batch.
    pub(super) fn record_overlap_lists<S: GpuShape>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        batch: GpuBatch<'_, S>,
        window: Window,
    ) -> Result<&QueryBuffers, Error> {
        self.record_batch(encoder, batch, Wanted::Lists(S::LISTED), window)
    }

    fn record_rows<Q: GpuQuery>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        batch: GpuBatch<'_, Q>,
        ranked: Ranked,
        k: u32,
    ) -> Result<GpuAnswers<'_>, Error> {
        if !(1..=ROW).contains(&k) {
            return Err(Error::BadOption { option: "k", value: k.to_string(), expected: "between 1 and 64" });
        }
        let buffers = self.record_batch(encoder, batch, Wanted::Rows(ranked, k), Window::new(0, 0))?;
        Ok(GpuAnswers::of(buffers, buffers.answers.raw()))
    }

    fn record_batch<Q: GpuQuery>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        batch: GpuBatch<'_, Q>,
        wanted: Wanted,
        window: Window,
    ) -> Result<&QueryBuffers, Error> {
        let mut batch = self.begin(batch, wanted, window)?;
        let rounds = self.rounds(&batch)?;
        let Tree { gpu, filters, windows, query, .. } = &mut self.tree;
        let window = windows.get(gpu, window)?;
        let scopes = gpu.open_scopes();
        record_clear(gpu, encoder, &batch, rounds.len())?;
        let mut pass = Pass::begin(gpu, encoder);
        let [first, ..] = &rounds[..] else { return Err(Error::NothingRecorded) };
        batch.record_start(&mut pass, query, &filters.lists, first, &window);
        let round_count = batch.plan.round_count as usize;
        for (i, params) in rounds.iter().enumerate() {
            let input = batch.input(&filters.lists, params, &window, None);
            if i == round_count {
                query.record_offsets(&mut pass, &batch.input(&filters.lists, first, &window, None));
            }
            batch.record_round(&mut pass, query, &input);
            query.record_pending(&mut pass, !matches!(wanted, Wanted::Rows(..)), &input);
        }
        let input = batch.input(&filters.lists, first, &window, None);
        batch.record_finish(&mut pass, query, &input, true)?;
        query.record_ends(&mut pass, &input);
        pass.finish()?;
        drop(pass);
        scopes.close("recording")?;
        self.memory.buffers().ok_or(Error::NothingRecorded)
    }

    /// Checks a batch and allocates its buffers.
    fn begin<'a, Q: GpuQuery>(
        &mut self,
        batch: GpuBatch<'a, Q>,
        wanted: Wanted,
        window: Window,
    ) -> Result<DeviceBatch<'a>, Error> {
        let (plan, tree) = (plan_of(&self.tree, &batch, wanted)?, &mut self.tree);
        tree.check_device()?;
        tree.filters.check_source()?;
        tree.check_built()?;
        tree.filters.check_no_half_spaces()?;
        let has_worlds = plan.has_filters && tree.built.as_ref().is_some_and(|built| built.capacity.worlds > 0);
        let needed = self.capacity(&batch, &plan, window, has_worlds)?;
        let tree = &mut self.tree;
        let (capacity, buffers) = self.memory.ensure_capacity(&tree.gpu, needed)?;
        let worlds = if has_worlds { Some(tree.world_ids()?) } else { None };
        let external = External {
            queries: bind(batch.queries, batch.bytes()),
            filters: batch.query_filters.and_then(|query_filters| bind(query_filters, batch.filter_bytes())),
            derived: None,
            worlds,
        };
        let mut prepared = tree.begin_batch(plan, capacity, buffers, external)?;
        if let Some(derived) = Q::DERIVED {
            let host = QueryParams { u32_count: u32_count_of::<Q>(), ..prepared.params };
            let device = self.round_params.get(&tree.gpu, host)?;
            prepared.external.derived = Some((derived, RoundParams { host, device }));
        }
        Ok(prepared)
    }

    /// Returns the parameters of all rounds, phase by phase.
    fn rounds(&mut self, batch: &DeviceBatch<'_>) -> Result<Vec<RoundParams>, Error> {
        let phases: &[_] =
            if matches!(batch.plan.wanted, Wanted::Lists(_)) { &[Phase::Find, Phase::Emit] } else { &[Phase::Find] };
        let (count, queries) = (batch.plan.round_count, batch.plan.query_count);
        let rounds =
            (0u32..).zip(phases).flat_map(|(i, &phase)| (0..count).map(move |round| (phase, i * count, round)));
        rounds
            .map(|(phase, first, round)| {
                let pending = (round > 0).then_some(queries);
                batch.round_params(&self.tree.gpu, &mut self.round_params, phase, first + round, pending)
            })
            .collect()
    }

    /// Returns the capacity that a batch needs.
    fn capacity<Q: GpuQuery>(
        &self,
        batch: &GpuBatch<'_, Q>,
        plan: &BatchPlan,
        window: Window,
        has_worlds: bool,
    ) -> Result<QueryCapacity, Error> {
        let queries = u64::from(plan.query_count);
        let phases = if matches!(plan.wanted, Wanted::Lists(_)) { 2 } else { 1 };
        let needed = plan.wanted.capacity(queries);
        let needed = QueryCapacity {
            u32_count: Q::DERIVED.map_or(0, |derived| queries * u64::from(derived.u32_count() + 4 * derived.parts())),
            query_filters: queries * filter_u32_count(has_worlds, plan.has_spheres),
            // With more lists, no list is retained, and each query walks twice.
            short: if queries <= self.tree.most_retained() as u64 { needed.short } else { 0 },
            pairs: window.capacity.into(),
            stays: queries,
            rounds: u64::from(phases * plan.round_count),
            ..needed
        };
        let (limit, available) = limit_name(&self.tree.gpu.device().limits());
        let given = [("queries", batch.bytes()), ("query_filters", batch.filter_bytes())];
        let given = given.into_iter().take(if plan.has_filters { 2 } else { 1 });
        match given.chain(QueryBuffers::rows(&needed)).find(|(_, bytes)| *bytes > available) {
            Some((buffer, required)) => {
                Err(Error::TooManyQueries { query_count: queries, buffer, required, limit, available })
            }
            None => Ok(needed),
        }
    }
}

/// Checks a batch of the caller, and returns its plan.
fn plan_of<Q: GpuQuery>(tree: &Tree, batch: &GpuBatch<'_, Q>, wanted: Wanted) -> Result<BatchPlan, Error> {
    let query_count = batch.query_count;
    check(&tree.gpu, batch.queries, batch.bytes(), "query", || batch.content())?;
    if let Some(query_filters) = batch.query_filters {
        check(&tree.gpu, query_filters, batch.filter_bytes(), "query filter", || match batch.has_spheres {
            false => format!("{query_count} query filters"),
            true => format!("{query_count} query filters and their spheres"),
        })?;
    }
    let rounds = batch.rounds.unwrap_or(budget(&tree.gpu).1);
    if !(1..=MOST_ROUNDS).contains(&rounds) {
        let expected = "between 1 and 4096";
        return Err(Error::BadOption { option: "rounds", value: rounds.to_string(), expected });
    }
    let stride = Q::DERIVED.map_or(u32_count_of::<Q>(), Derived::u32_count);
    Ok(BatchPlan {
        wanted,
        query_count,
        stride,
        half_space_first: query_count * stride,
        half_space_count: Q::DERIVED.map_or(batch.half_space_count, |derived| query_count * derived.parts()),
        has_filters: batch.query_filters.is_some(),
        has_groups: batch.query_filters.is_some(),
        has_spheres: batch.has_spheres && tree.has_spheres(),
        skips_separating: batch.skips_separating,
        is_in_order: batch.is_in_order,
        round_count: rounds + 1,
        vertices_per_pair: batch.vertices_per_pair,
    })
}

/// Records the clearing of sums and of the counts of pending queries.
fn record_clear(
    gpu: &crate::Gpu,
    encoder: &mut wgpu::CommandEncoder,
    batch: &DeviceBatch<'_>,
    round_count: usize,
) -> Result<(), Error> {
    let buffers = &batch.buffers;
    encoder.clear_buffer(buffers.rounds.raw(), 0, Some((round_count * size_of::<Round>()) as u64));
    buffers.record_clear(encoder);
    if batch.is_sorted() {
        buffers.query_counts.record_write(gpu, encoder, &[sort_counts(batch.plan.query_count)])?;
    }
    Ok(())
}

impl Tree {
    /// Returns an error if the device is lost: a lost device accepts commands and creates buffers without an error.
    pub(super) fn check_device(&self) -> Result<(), Error> {
        if self.gpu.is_lost_on_trial() { Err(self.gpu.lost("nothing can be recorded", None)) } else { Ok(()) }
    }

    /// Returns the ids of all worlds with their indices, ascending by id.
    fn world_ids(&mut self) -> Result<Buffer<[u32; 2]>, Error> {
        if let Some(ids) = &self.world_ids {
            return Ok(ids.clone());
        }
        let mut ids: Vec<[u32; 2]> = self.worlds.iter().map(|(&id, &number)| [id, number]).collect();
        ids.sort_unstable();
        Ok(self.world_ids.insert(Buffer::of(&self.gpu, "world_ids", &ids, CONSTANT)?).clone())
    }
}
