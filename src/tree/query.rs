//! The stage `query`: finds the boxes of a tree that a batch of queries meets.

pub use super::query_buffers::{QueryBuffers, QueryCapacity, filter_u32_count};
pub use super::query_sources::*;

use super::build::TreeBuffers;
use super::question::Question;
use crate::Error;
use crate::base::constants::{
    PLACE_BITS, QUERY_ANY, QUERY_EMITS, QUERY_LISTS, QUERY_NEXT_ROW, QUERY_RESUMED, QUERY_SHARED,
    QUERY_SKIPS_SEPARATING, ROUND_CAST_U32_COUNT, SHARERS, SORTERS, WALKERS,
};
use crate::base::layout::{QueryParams, Round, TreeShape, Window};
use crate::filters::lists::FilterLists;
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::{Kernel, Pass, Source};
use crate::gpu::table::Bound;
use crate::grid::sort::Sort;
use crate::pairs::order::OrderStage;

/// Kinds of queries that list all boxes they meet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// Rays and moving shapes.
    Cross,
    /// Points, boxes and convex shapes.
    Touch,
    /// Spheres.
    Sphere,
}

/// Kinds of queries that rank the first boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranked {
    /// Rays and moving shapes.
    Hits,
    /// Points.
    Near,
}

/// The kernels of the stage `query`.
#[derive(Debug)]
pub struct Query {
    gpu: Gpu,
    canonical: OrderStage,
}

/// The parameters of one dispatch, on the host and on the device.
#[derive(Clone, Debug)]
pub struct RoundParams {
    /// The parameters on the host.
    pub host: QueryParams,
    /// The parameters on the device.
    pub device: Buffer<QueryParams>,
}

impl RoundParams {
    /// Returns whether the parameters have one of these flags.
    fn has(&self, flags: u32) -> bool {
        self.host.flags & flags != 0
    }

    /// Returns `true` if undecided boxes are decided in the same dispatch, not in another dispatch. This is so for
    /// shapes of half-spaces, which are always decided in integers; for resumed queries; and for further rows, whose
    /// answers are compared with the last box of the previous row.
    fn decides(&self) -> bool {
        self.host.part_count > 0 || self.has(QUERY_RESUMED | QUERY_NEXT_ROW)
    }

    /// Returns whether the queries are round shapes that move.
    fn moves_round(&self) -> bool {
        self.host.u32_count == ROUND_CAST_U32_COUNT
    }

    /// Returns whether queries and boxes have spheres.
    fn has_spheres(&self) -> bool {
        self.host.spheres > 0
    }
}

/// The buffers that the kernels of a batch read and write.
#[derive(Clone, Debug)]
pub struct QueryInput<'a> {
    /// The shape of the tree.
    pub shape: &'a Buffer<TreeShape>,
    /// The tree.
    pub tree: &'a TreeBuffers,
    /// Boxes of the tree.
    pub box_count: u32,
    /// The filters of the boxes.
    pub filters: &'a FilterLists,
    /// The parameters of the dispatch.
    pub params: &'a RoundParams,
    /// The queries, as bits of `f32`.
    pub queries: wgpu::BindingResource<'a>,
    /// The filters of the queries.
    pub query_filters: wgpu::BindingResource<'a>,
    /// `[query_count]` the order in which queries run.
    pub order: &'a Buffer<u32>,
    /// The window of the list of answers.
    pub window: &'a Buffer<Window>,
    /// The buffers of the batch.
    pub buffers: &'a QueryBuffers,
}

impl QueryInput<'_> {
    fn query_count(&self) -> u32 {
        self.params.host.query_count
    }

    /// Lists the buffers that kernels of the batch bind: the input, then the buffers of the batch.
    fn bound(&self) -> Bound<'_> {
        let own = vec![
            ("tree", self.shape.all()),
            ("query", self.params.device.all()),
            ("nodes", self.tree.nodes.all()),
            ("places", self.tree.places.all()),
            ("ranges", self.tree.ranges.all()),
            ("queries", self.queries.clone()),
            ("query_filters", self.query_filters.clone()),
            ("order", self.order.all()),
            ("window", self.window.all()),
        ];
        [own, self.filters.bound(), self.buffers.bound()].concat()
    }

    /// Dispatches a kernel that walks the tree. In recorded rounds, the count of pending queries of the previous round
    /// determines the size of the dispatch.
    fn walk(&self, pass: &mut Pass, kernel: &Kernel, bound: &[(&str, wgpu::BindingResource)]) {
        let QueryParams { query_count, round, round_count, .. } = self.params.host;
        if round_count > 0 && self.params.has(QUERY_RESUMED) {
            let arguments = (round as usize - 1) * size_of::<Round>();
            kernel.dispatch_indirect(pass, self.buffers.rounds.raw(), arguments, bound);
        } else {
            let of_group = if self.params.has(QUERY_SHARED) { WALKERS / SHARERS } else { WALKERS };
            kernel.dispatch(pass, query_count.div_ceil(of_group), bound);
        }
    }
}

impl Query {
    /// Looks up the kernels of the stage.
    pub fn new(gpu: &Gpu) -> Self {
        Self { gpu: gpu.clone(), canonical: OrderStage::new(gpu) }
    }

    fn kernel(&self, source: &Source) -> Kernel {
        Kernel::new(&self.gpu, source)
    }

    /// Lists the kernels that answer a question.
    pub fn kernels(&self, question: Question) -> Vec<Kernel> {
        let lists = |source| [false, true].map(|decides| self.walker(source, [(decides, "IS_EXACT")])).to_vec();
        let (mut kernels, others) = match question {
            Question::NearestHits | Question::FirstHits => (vec![self.kernel(&FIRST)], Some(&HITS)),
            Question::AnyHits => (vec![self.kernel(&CROSS)], None),
            Question::AllHits => (vec![self.kernel(&CROSS)], Some(&TIMES)),
            Question::Overlaps => (lists(&TOUCH), None),
            Question::SphereOverlaps => (lists(&SPHERE), None),
            Question::Nearest => {
                let rankers = [(false, true), (false, false), (true, false)];
                let ranker =
                    |(decides, is_single)| self.walker(&NEAR, [(decides, "IS_EXACT"), (is_single, "IS_SINGLE")]);
                (rankers.map(ranker).to_vec(), Some(&SQUARES))
            }
        };
        kernels.extend([&ORDER].into_iter().chain(others).map(|source| self.kernel(source)));
        if matches!(question, Question::AllHits | Question::Overlaps | Question::SphereOverlaps) {
            kernels.extend([PLACE, OFFSET, SHORT].map(|source| self.kernel(&source)));
            kernels.extend(self.canonical.kernels().iter().cloned());
        }
        kernels
    }

    /// Looks up a kernel with the switches that are on.
    fn walker<const N: usize>(&self, source: &Source, switches: [(bool, &'static str); N]) -> Kernel {
        let on: Vec<_> = switches.into_iter().filter(|(is_on, _)| *is_on).map(|(_, name)| name).collect();
        Kernel::specialised(&self.gpu, source, &on)
    }

    /// Looks up a kernel that computes answers for paths. Round shapes have a separate pipeline, since their 64-bit
    /// numbers need many registers and take long to compile.
    fn paths(&self, source: &Source, params: &RoundParams) -> Kernel {
        self.walker(source, [(params.moves_round(), "IS_ROUND")])
    }

    /// Looks up a kernel that walks along paths. Boxes on paths are always decided at once.
    fn path_walker(&self, source: &Source, params: &RoundParams) -> Kernel {
        let switches = [
            (params.moves_round(), "IS_ROUND"),
            (params.has_spheres(), "HAS_SPHERES"),
            (params.has(QUERY_SKIPS_SEPARATING), "SKIPS_SEPARATING"),
        ];
        self.walker(source, switches)
    }

    /// Looks up the kernel that ranks the nearest boxes.
    fn nearest(&self, params: &RoundParams) -> Kernel {
        let decides = params.decides();
        let is_single = !decides && params.host.most == 1;
        let switches = [(decides, "IS_EXACT"), (is_single, "IS_SINGLE"), (params.has_spheres(), "HAS_SPHERES")];
        self.walker(&NEAR, switches)
    }

    /// Looks up a kernel that lists the boxes that regions touch.
    fn regions(&self, source: &Source, params: &RoundParams) -> Kernel {
        self.walker(source, [(params.decides(), "IS_EXACT"), (params.has_spheres(), "HAS_SPHERES")])
    }

    /// Records a kernel that converts queries. The parameters have the u32 count of a query in `external_queries`.
    pub fn record_derived(
        &self,
        pass: &mut Pass,
        derived: Derived,
        params: &RoundParams,
        external: wgpu::BindingResource,
        buffers: &QueryBuffers,
    ) {
        let bound =
            [("query", params.device.all()), ("external_queries", external), ("queries", buffers.queries.all())];
        self.kernel(derived.source()).dispatch(pass, params.host.query_count.div_ceil(WALKERS), &bound);
    }

    /// Records the order of the queries: along the curve with a `sort`, otherwise by index. Returns the buffer of the
    /// order.
    pub fn record_order(&self, pass: &mut Pass, sort: Option<&Sort>, input: &QueryInput) -> Buffer<u32> {
        let (query_count, lists) = (input.query_count(), input.buffers.sort_buffers());
        let own = vec![
            ("query", input.params.device.all()),
            ("cube", input.tree.cube.all()),
            ("queries", input.queries.clone()),
        ];
        self.kernel(&ORDER).dispatch(pass, query_count.div_ceil(256), &[own, lists.bound()].concat());
        match sort {
            Some(sort) => sort.record_pairs(pass, &input.buffers.query_counts, query_count, lists, PLACE_BITS).values,
            None => lists.values,
        }
    }

    /// Records a copy of the caller's query filters, with the index of each world in place of its id.
    pub fn record_worlds(
        &self,
        pass: &mut Pass,
        worlds: &Buffer<[u32; 2]>,
        external: wgpu::BindingResource,
        input: &QueryInput,
    ) {
        let bound = [vec![("external_filters", external), ("worlds", worlds.all())], input.bound()].concat();
        self.kernel(&WORLD_IDS).dispatch(pass, input.query_count().div_ceil(256), &bound);
    }

    /// Records the ranking of first answers, for all queries or for the pending queries.
    pub fn record_rows(&self, pass: &mut Pass, ranked: Ranked, input: &QueryInput) {
        let kernel = match ranked {
            Ranked::Hits => self.path_walker(&FIRST, input.params),
            Ranked::Near => self.nearest(input.params),
        };
        input.walk(pass, &kernel, &input.bound());
    }

    /// Records the answers of complete rows.
    pub fn record_ranked(&self, pass: &mut Pass, ranked: Ranked, input: &QueryInput) {
        let kernel = match ranked {
            Ranked::Hits => self.paths(&HITS, input.params),
            Ranked::Near => self.kernel(&SQUARES),
        };
        kernel.dispatch(pass, (input.query_count() * input.params.host.most).div_ceil(256), &input.bound());
    }

    /// Records a kernel that counts all boxes that queries meet. With `QUERY_EMITS`, it writes the lists that were not
    /// retained instead, as far as they lie in the window. The parameters select all queries or the pending queries.
    pub fn record_walk(&self, pass: &mut Pass, listed: Listed, input: &QueryInput) {
        let QueryBuffers { pairs, retained_answers, .. } = input.buffers;
        let pairs = if input.params.has(QUERY_EMITS) { pairs.all() } else { retained_answers.all() };
        let bound = [vec![("pairs", pairs)], input.bound()].concat();
        let kernel = match listed {
            Listed::Cross => self.path_walker(&CROSS, input.params),
            Listed::Touch => self.regions(&TOUCH, input.params),
            Listed::Sphere => self.regions(&SPHERE, input.params),
        };
        input.walk(pass, &kernel, &bound);
    }

    /// Records the count of pending queries after the last dispatch, for rows or for lists.
    pub fn record_pending(&self, pass: &mut Pass, is_listed: bool, input: &QueryInput) {
        let QueryBuffers { offsets, states, .. } = input.buffers;
        let states = if is_listed { offsets.all() } else { states.all() };
        let bound = [vec![("states", states)], input.bound()].concat();
        self.kernel(&PENDING).dispatch(pass, input.query_count().div_ceil(256), &bound);
    }

    /// Records the begin of each query's list.
    pub fn record_offsets(&self, pass: &mut Pass, input: &QueryInput) {
        let (blocks, bound) = (input.query_count().div_ceil(256), input.bound());
        self.kernel(&PLACE).dispatch(pass, blocks, &bound);
        self.kernel(&OFFSET).dispatch(pass, blocks.max(1), &bound);
    }

    /// Records the writing of the retained short lists into the window. If `is_sorted`, it then records the sort of all
    /// answers into canonical order. For paths, it also records the times at which they touch the boxes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn record_lists(
        &self,
        pass: &mut Pass,
        listed: Listed,
        is_sorted: bool,
        input: &QueryInput,
    ) -> Result<(), Error> {
        let (buffers, bound) = (input.buffers, input.bound());
        self.kernel(&SHORT).dispatch(pass, (input.query_count() * SORTERS).div_ceil(256), &bound);
        if is_sorted {
            let shape = (input.query_count(), input.box_count);
            let (counts, order) = (&buffers.answer_counts, buffers.answer_order());
            self.canonical.record_pairs(pass, shape, counts, &order, &buffers.pairs)?;
        }
        if listed == Listed::Cross {
            // Workgroups after the last answer end at once.
            self.paths(&TIMES, input.params).dispatch(pass, (buffers.pairs.len() as u32).div_ceil(256), &bound);
        }
        Ok(())
    }

    /// Records status, header and arguments of answers that stay on the device.
    pub fn record_ends(&self, pass: &mut Pass, input: &QueryInput) {
        let query_count = input.query_count();
        let words = match input.params.host.flags & (QUERY_ANY | QUERY_LISTS) {
            0 => 1,
            QUERY_ANY => query_count,
            _ => 2 * (query_count + 1),
        };
        self.kernel(&ENDS).dispatch(pass, words.div_ceil(256).max(1), &input.bound());
    }
}
