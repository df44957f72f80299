//! Plans a batch of queries on the device, and records its kernels.
//!
//! Two modules execute a batch in the same phases. `host` reads back after each round. `recorder` records a fixed count
//! of rounds into the encoder of the caller.
//!
//! | phase | first answers, in rows | all answers, in lists |
//! |---|---|---|
//! | start | queries derived from others, order, filters of queries | the same |
//! | find | rounds that fill rows of answers | rounds that count answers and retain short lists |
//! | offsets | – | the begin of the list of each query |
//! | emit | – | rounds that write the long lists of a window |
//! | finish | the answers in the rows | short lists, canonical order and times |

use bytemuck::Zeroable;

use super::Tree;
use super::build::{TreeBuffers, TreeCapacity};
use super::query::{
    Derived, Listed, Query, QueryBuffers, QueryCapacity, QueryInput, Ranked, RoundParams, u32_count_of,
};
use crate::base::constants::{
    QUERY_ANY, QUERY_EMITS, QUERY_FILTERS, QUERY_GROUPS, QUERY_LISTS, QUERY_NEXT_ROW, QUERY_RESUMED, QUERY_SHARED,
    QUERY_SKIPS_SEPARATING,
};
use crate::base::layout::{QueryParams, TreeShape, Window};
use crate::filters::lists::FilterLists;
use crate::gpu::Gpu;
use crate::gpu::buffers::{Buffer, Constants};
use crate::gpu::kernel::Pass;
use crate::grid::sort::Sort;
use crate::grid::sort_variant;
use crate::{Error, QueryFilter};

/// Queries are sorted if there are at least this many queries and this many boxes.
const SORTED: u64 = 1 << 10;
/// The most loop turns of a query in one dispatch, and the count of dispatches recorded ahead to resume queries.
/// Drivers end dispatches that take seconds.
const BUDGET: (u32, u32) = (1 << 18, 4);
/// The values of `BUDGET` for software adapters. Mesa's drivers end the loops of 8 or 16 invocations after 65,535 turns
/// in total, without an error. In addition to the budget, the last node and the sort of a row of 64 answers may take
/// 800 turns. They take 1,700 if all boxes are undecided. A test of a round shape against a box takes up to 850 turns,
/// so a dispatch of round shapes may stop at every box.
const BUDGET_IN_SOFTWARE: (u32, u32) = (2_000, 16);

/// The largest query count of a batch in which several invocations share a query. It is a little more than a GPU
/// processes at once. On an H100, sharing multiplies the time of lists by 0.4 to 0.6 for 1,000 queries, by 0.5 to 1.0
/// for 10,000, and by 0.5 to 2 for 100,000.
const MOST_SHARED: u32 = 1 << 14;

/// Returns the most turns of loops of a query in one dispatch on this device, and the rounds recorded after the first.
pub(super) fn budget(gpu: &Gpu) -> (u32, u32) {
    let (turns, rounds) = if gpu.is_software() { BUDGET_IN_SOFTWARE } else { BUDGET };
    (gpu.turns().unwrap_or(turns), rounds)
}

/// The answers that a batch requests.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted {
    /// The first answers of each query, up to this many.
    Rows(Ranked, u32),
    /// For each path, whether it hits a box.
    Any,
    /// All answers.
    Lists(Listed),
}

impl Wanted {
    /// Returns the most answers of a query.
    fn most(self) -> u32 {
        match self {
            Self::Rows(_, k) => k,
            Self::Any => 1,
            Self::Lists(_) => u32::MAX,
        }
    }

    /// Returns the capacity for the answers to this many queries, before they are counted.
    pub fn capacity(self, queries: u64) -> QueryCapacity {
        let capacity = QueryCapacity { queries, ..QueryCapacity::default() };
        match self {
            Self::Rows(_, k) => QueryCapacity { ranked: queries, rows: queries * u64::from(k), ..capacity },
            Self::Any => QueryCapacity { lists: queries, ..capacity },
            Self::Lists(_) => QueryCapacity { lists: queries, short: queries, ..capacity },
        }
    }
}

/// A batch before its memory is allocated.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchPlan {
    pub wanted: Wanted,
    pub query_count: u32,
    /// The u32 count of a query.
    pub stride: u32,
    /// The begin of the half-spaces, after the queries, in u32.
    pub half_space_first: u32,
    pub half_space_count: u32,
    /// True if queries have filters.
    pub has_filters: bool,
    /// True if the filters of queries have groups, masks, bodies, spheres or boxes to ignore.
    pub has_groups: bool,
    /// True if queries have spheres, and boxes have spheres.
    pub has_spheres: bool,
    /// True if casts skip boxes that they touch at the start and separate from.
    pub skips_separating: bool,
    /// True if most queries start near the previous query.
    pub is_in_order: bool,
    /// Rounds recorded per phase; 0 if the host reads back after each round.
    pub round_count: u32,
    pub vertices_per_pair: u32,
}

impl BatchPlan {
    /// Returns the flags `QUERY_*` that all dispatches share.
    fn flags(&self) -> u32 {
        let is_listed = matches!(self.wanted, Wanted::Lists(_));
        let flags = [
            (is_listed, QUERY_LISTS),
            (is_listed && self.query_count <= MOST_SHARED, QUERY_SHARED),
            (matches!(self.wanted, Wanted::Any) && self.round_count > 0, QUERY_ANY),
            (self.has_filters, QUERY_FILTERS),
            (self.has_groups, QUERY_GROUPS),
            (self.skips_separating, QUERY_SKIPS_SEPARATING),
        ];
        flags.iter().filter(|(is_on, _)| *is_on).fold(0, |all, (_, flag)| all | flag)
    }
}

/// The part of a phase that a dispatch executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// Ranks the first answers, or counts all answers.
    Find,
    /// Ranks the answers after the last row.
    NextRow,
    /// Writes the lists that were not retained.
    Emit,
}

impl Phase {
    fn flag(self) -> u32 {
        match self {
            Self::Find => 0,
            Self::NextRow => QUERY_NEXT_ROW,
            Self::Emit => QUERY_EMITS,
        }
    }
}

/// The tree that a batch queries.
#[derive(Clone, Debug)]
pub(super) struct QueriedTree {
    pub capacity: TreeCapacity,
    buffers: TreeBuffers,
    shape: Buffer<TreeShape>,
}

/// Queries and their filters in buffers of the caller. A batch without such buffers reads its own buffers.
#[derive(Clone, Debug, Default)]
pub(super) struct External<'a> {
    pub queries: Option<wgpu::BindingResource<'a>>,
    pub filters: Option<wgpu::BindingResource<'a>>,
    /// The kernel that derives queries from `queries`, and its parameters.
    pub derived: Option<(Derived, RoundParams)>,
    /// The ids of worlds, if `filters` has ids that a kernel replaces by indices.
    pub worlds: Option<Buffer<[u32; 2]>>,
}

/// A batch with its memory.
#[derive(Debug)]
pub(super) struct DeviceBatch<'a> {
    pub plan: BatchPlan,
    pub tree: QueriedTree,
    pub buffers: QueryBuffers,
    pub external: External<'a>,
    /// The parameters that all dispatches share.
    pub params: QueryParams,
    sort: Option<Sort>,
    order: Buffer<u32>,
}

impl<'a> DeviceBatch<'a> {
    /// Returns the parameters of a dispatch: for the pending queries if it resumes queries, otherwise for all queries.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn round_params(
        &self,
        gpu: &Gpu,
        constants: &mut Constants<QueryParams>,
        phase: Phase,
        round: u32,
        pending: Option<u32>,
    ) -> Result<RoundParams, Error> {
        let flags = self.params.flags | phase.flag() | if pending.is_some() { QUERY_RESUMED } else { 0 };
        let query_count = pending.unwrap_or(self.plan.query_count);
        let host = QueryParams { flags, query_count, round, ..self.params };
        Ok(RoundParams { host, device: constants.get(gpu, host)? })
    }

    /// Returns the count of answers per list that are retained while answers are counted.
    pub fn retained_count(&self) -> u32 {
        self.params.retained_count
    }

    /// Returns whether queries are sorted before they run.
    pub fn is_sorted(&self) -> bool {
        self.sort.is_some()
    }

    /// Returns the buffers of kernels. `pending` lists the queries of a resumed dispatch.
    pub fn input<'b>(
        &'b self,
        filters: &'b FilterLists,
        params: &'b RoundParams,
        window: &'b Buffer<Window>,
        pending: Option<&'b Buffer<u32>>,
    ) -> QueryInput<'b> {
        let Self { tree, buffers, external, .. } = self;
        let queries = external.queries.clone().filter(|_| external.derived.is_none());
        let query_filters = external.filters.clone().filter(|_| external.worlds.is_none());
        QueryInput {
            shape: &tree.shape,
            tree: &tree.buffers,
            box_count: tree.capacity.boxes as u32,
            filters,
            params,
            queries: queries.unwrap_or_else(|| buffers.queries.all()),
            query_filters: query_filters.unwrap_or_else(|| buffers.query_filters.all()),
            order: pending.unwrap_or(&self.order),
            window,
            buffers,
        }
    }

    /// Records the start of a batch: the derived queries, the order of the queries, and their filters.
    pub fn record_start(
        &mut self,
        pass: &mut Pass,
        query: &Query,
        filters: &FilterLists,
        params: &RoundParams,
        window: &Buffer<Window>,
    ) {
        let External { queries, filters: given_filters, derived, worlds } = self.external.clone();
        if let (Some((derived, params)), Some(given)) = (derived, queries) {
            query.record_derived(pass, derived, &params, given, &self.buffers);
        }
        let input = self.input(filters, params, window, None);
        let order = query.record_order(pass, self.sort.as_ref(), &input);
        if let (Some(worlds), Some(given)) = (worlds, given_filters) {
            query.record_worlds(pass, &worlds, given, &input);
        }
        self.order = order;
    }

    /// Records a round of a phase.
    pub fn record_round(&self, pass: &mut Pass, query: &Query, input: &QueryInput) {
        match self.plan.wanted {
            Wanted::Rows(ranked, _) => query.record_rows(pass, ranked, input),
            Wanted::Any => query.record_walk(pass, Listed::Cross, input),
            Wanted::Lists(listed) => query.record_walk(pass, listed, input),
        }
    }

    /// Records the writing of answers: in rows, or in the window. `is_sorted` is `true` if some lists were not
    /// retained, so that answers must be sorted.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn record_finish(
        &self,
        pass: &mut Pass,
        query: &Query,
        input: &QueryInput,
        is_sorted: bool,
    ) -> Result<(), Error> {
        match self.plan.wanted {
            Wanted::Rows(ranked, _) => query.record_ranked(pass, ranked, input),
            Wanted::Any => {}
            Wanted::Lists(listed) => query.record_lists(pass, listed, is_sorted, input)?,
        }
        Ok(())
    }
}

impl Tree {
    /// Begins a batch in `buffers` of this capacity, and uploads the filters of the boxes, unless they are on the
    /// device.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`], [`Error::Gpu`].
    pub(super) fn begin_batch<'a>(
        &mut self,
        plan: BatchPlan,
        capacity: QueryCapacity,
        buffers: QueryBuffers,
        external: External<'a>,
    ) -> Result<DeviceBatch<'a>, Error> {
        let tree = self.queried()?;
        if let Some(built) = &self.built {
            self.filters.upload(&self.gpu, built.capacity.boxes as usize, false)?;
        }
        let plan = BatchPlan { has_groups: plan.has_groups || self.filters.filters().has_groups(), ..plan };
        let params = QueryParams {
            query_count: plan.query_count,
            u32_count: plan.stride,
            most: plan.wanted.most(),
            parts: plan.half_space_first,
            part_count: plan.half_space_count,
            budget: budget(&self.gpu).0,
            rule: self.filters.filters().rule.code(),
            flags: plan.flags(),
            retained_count: capacity.retained_count(),
            round_count: plan.round_count,
            vertices_per_pair: plan.vertices_per_pair,
            spheres: if plan.has_spheres { u32_count_of::<QueryFilter>() * plan.query_count } else { 0 },
            ..QueryParams::zeroed()
        };
        let sort = Sort::with_variant(&self.gpu, sort_variant(&self.gpu)?)?;
        let is_sorted = u64::from(plan.query_count).min(tree.capacity.boxes) >= SORTED && !plan.is_in_order;
        let order = buffers.values.clone();
        Ok(DeviceBatch { plan, tree, buffers, external, params, sort: is_sorted.then_some(sort), order })
    }

    /// Returns whether boxes have spheres.
    pub(super) fn has_spheres(&self) -> bool {
        !self.filters().sphere.is_empty()
    }

    /// Returns the queried tree. For a tree without boxes, this is a tree of one box that no query meets.
    fn queried(&mut self) -> Result<QueriedTree, Error> {
        if let (Some(built), Some((_, buffers))) = (&self.built, &self.allocated) {
            return Ok(QueriedTree { capacity: built.capacity, buffers: buffers.clone(), shape: built.shape.clone() });
        }
        let capacity = TreeCapacity { boxes: 1, worlds: 0 };
        let shape = self.shapes.get(&self.gpu, capacity.shape())?;
        if let Some(buffers) = &self.empty {
            return Ok(QueriedTree { capacity, buffers: buffers.clone(), shape });
        }
        let buffers = TreeBuffers::new(&self.gpu, &capacity)?;
        // A node and a box with reversed infinite bounds.
        let (none, below) = (f32::INFINITY.to_bits(), f32::NEG_INFINITY.to_bits());
        let node = [[0, 0, 0, 0x01_0101], [!0, !0, 0, 0], [!0, !0, 0, 0], [!0, !0, 0, 0]];
        let boxes = [[none, none, none, below, below, below]; 2];
        let scopes = self.gpu.open_scopes();
        buffers.nodes.write(&self.gpu, &node);
        let first = u64::from(capacity.shape().first_box);
        buffers.nodes.write_at(&self.gpu, first, bytemuck::cast_slice(&boxes));
        scopes.close("queries")?;
        Ok(QueriedTree { capacity, buffers: self.empty.insert(buffers).clone(), shape })
    }
}
