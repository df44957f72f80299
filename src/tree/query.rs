//! The stage `query`: what a batch of queries meets in a tree.

use crate::constants::{
    CAPSULE_PARTS, KEPT_ANSWERS, ORDER_ROWS, ORDER_TILE, PLACE_BITS, QUERY_ANY, QUERY_EMITS, QUERY_FILTERS,
    QUERY_GROUP, QUERY_GROUPS, QUERY_LISTS, QUERY_NEXT_ROW, QUERY_RESUMED, QUERY_SHARED, QUERY_SKIPS_START,
    REGION_WORDS, SHARERS, SORTERS, TURNED_PARTS, WALKERS,
};
use crate::filters::lists::FilterLists;
use crate::filters::rows;
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::{Kernel, Pass, Source, source};
use crate::gpu::sort_buffers::SortBuffers;
use crate::gpu::table::{Bound, CONSTANT, SIZES, STORAGE, buffer_table};
use crate::grid::sort::{Sort, digit_sum_words, histogram_words};
use crate::layout::{Counts, Cube, PairArguments, QueryHeader, QueryParams, Round, TreeShape, Window};
use crate::pairs::order::{Order, OrderBuffers};
use crate::{BoxCast, Error, Pair};

use super::build::TreeBuffers;

/// The source of `query_order`.
pub const ORDER: Source = source!("tree/query_order", "tree/curve");
/// The source of `query_first`.
pub const FIRST: Source = source!(
    "tree/query_first", "tree/rows", "tree/waiting", "tree/walk", "tree/asker", "tree/path", "tree/path_sight",
    "tree/places", "tree/node", "tree/tree", "tree/curve", "shared/exact_sum", "shared/float_parts";
    rows::WGSL
);
/// The source of `query_near`.
pub const NEAR: Source = source!(
    "tree/query_near", "tree/rows", "tree/waiting", "tree/walk", "tree/asker", "tree/distance", "tree/distance_sight",
    "tree/places", "tree/node", "tree/tree", "tree/curve", "tree/long_sum", "shared/float_parts";
    rows::WGSL
);
/// The source of `query_hits`.
pub const HITS: Source = source!(
    "tree/query_hits",
    "tree/ranked",
    "tree/path",
    "tree/path_time",
    "tree/round_down",
    "tree/places",
    "tree/node",
    "tree/curve",
    "shared/exact_sum",
    "shared/float_parts"
);
/// The source of `query_squares`.
pub const SQUARES: Source = source!(
    "tree/query_squares",
    "tree/ranked",
    "tree/distance",
    "tree/round_down",
    "tree/places",
    "tree/node",
    "tree/curve",
    "tree/long_sum",
    "shared/float_parts"
);
/// The source of `query_cross`.
pub const CROSS: Source = source!(
    "tree/query_cross", "tree/lists", "tree/walk", "tree/asker", "tree/path", "tree/path_sight", "tree/places",
    "tree/node", "tree/tree", "tree/curve", "shared/exact_sum", "shared/float_parts";
    rows::WGSL
);
/// The source of `query_touch`.
pub const TOUCH: Source = source!(
    "tree/query_touch", "tree/lists", "tree/walk", "tree/asker", "tree/places", "tree/node", "tree/tree",
    "filters/half_space", "shared/exact_sum", "shared/float_parts";
    rows::WGSL
);
/// The source of `query_sphere`.
pub const SPHERE: Source = source!(
    "tree/query_sphere", "tree/lists", "tree/walk", "tree/asker", "tree/distance", "tree/distance_sight",
    "tree/places", "tree/node", "tree/tree", "tree/curve", "tree/long_sum", "shared/float_parts";
    rows::WGSL
);
/// The source of `query_place`.
pub const PLACE: Source = source!("tree/query_place", "shared/scan");
/// The source of `query_offset`.
pub const OFFSET: Source = source!("tree/query_offset", "shared/scan");
/// The source of `query_short`.
pub const SHORT: Source = source!("tree/query_short");
/// The source of `query_askers`.
pub const ASKERS: Source = source!("tree/query_askers");
/// The source of `query_moving`.
pub const MOVING: Source = source!("tree/query_moving", "tree/ball", "tree/double");
/// The source of `query_capsule`.
pub const CAPSULE: Source = source!("tree/query_capsule", "tree/cut", "tree/ball", "tree/double");
/// The source of `query_turned`.
pub const TURNED: Source = source!("tree/query_turned", "tree/cut", "tree/double");
/// The source of `query_left`.
pub const LEFT: Source = source!("tree/query_left");
/// The source of `query_ends`.
pub const ENDS: Source = source!("tree/query_ends");
/// The source of `query_times`.
pub const TIMES: Source = source!(
    "tree/query_times",
    "tree/path",
    "tree/path_time",
    "tree/round_down",
    "tree/places",
    "tree/node",
    "tree/curve",
    "shared/exact_sum",
    "shared/float_parts"
);
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: &[Source] = &[
    MOVING, CAPSULE, TURNED, ORDER, ASKERS, FIRST, HITS, NEAR, SQUARES, CROSS, TOUCH, SPHERE, LEFT, PLACE, OFFSET,
    SHORT, TIMES, ENDS,
];

/// Counts the words of a query.
pub fn words_of<Q>() -> u32 {
    (size_of::<Q>() / size_of::<u32>()) as u32
}

/// A kind of queries of which kernels make others, which are asked in their place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Made {
    /// Spheres and capsules that move: boxes that move.
    Moving,
    /// Capsules: bounds and half-spaces.
    Capsules,
    /// Boxes that are turned: bounds and half-spaces.
    Turned,
}

impl Made {
    /// Returns how many numbers a query has that is made.
    pub fn words(self) -> u32 {
        if self == Self::Moving { words_of::<BoxCast>() } else { REGION_WORDS }
    }

    /// Returns how many half-spaces a query has room for that is made.
    pub fn parts(self) -> u32 {
        match self {
            Self::Moving => 0,
            Self::Capsules => CAPSULE_PARTS,
            Self::Turned => TURNED_PARTS,
        }
    }

    fn source(self) -> &'static Source {
        match self {
            Self::Moving => &MOVING,
            Self::Capsules => &CAPSULE,
            Self::Turned => &TURNED,
        }
    }
}

/// The most queries that are shared: some more than a GPU follows at once. On an H100, lists of 10,000 queries take 0.5 to 1.0 of the
/// time where they are shared, and those of a thousand 0.4 to 0.6; of 100,000, 0.5 to 2 times.
const MOST_SHARED: u32 = 1 << 14;

/// Returns what kernels are told of a batch of which so many answers are looked for: `QUERY_*`.
pub(super) fn flags_of(query_count: u32, most: u32, has_filters: bool, has_groups: bool, skips_start: bool) -> u32 {
    let is_listed = most == u32::MAX;
    let flags = [
        (is_listed, QUERY_LISTS),
        (is_listed && query_count <= MOST_SHARED, QUERY_SHARED),
        (has_filters, QUERY_FILTERS),
        (has_groups, QUERY_GROUPS),
        (skips_start, QUERY_SKIPS_START),
    ];
    flags.iter().filter(|(is_on, _)| *is_on).fold(0, |all, (_, flag)| all | flag)
}

/// What is asked for all boxes that it meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Listed {
    /// Paths.
    Cross,
    /// Points, boxes and convex shapes.
    Touch,
    /// Spheres.
    Sphere,
}

/// What is asked for the first boxes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ranked {
    /// Paths.
    Hits,
    /// Points.
    Near,
}

/// Says what a [`Tree`](super::Tree) will be asked, for [`Tree::compile_ahead`](super::Tree::compile_ahead).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Question {
    /// [`Tree::nearest_hits`](super::Tree::nearest_hits).
    NearestHits,
    /// [`Tree::first_hits`](super::Tree::first_hits).
    FirstHits,
    /// [`Tree::any_hits`](super::Tree::any_hits).
    AnyHits,
    /// [`Tree::all_hits`](super::Tree::all_hits).
    AllHits,
    /// [`Tree::overlaps`](super::Tree::overlaps) of any shapes but spheres.
    Overlaps,
    /// [`Tree::overlaps`](super::Tree::overlaps) of spheres.
    SphereOverlaps,
    /// [`Tree::nearest`](super::Tree::nearest).
    Nearest,
}

impl Question {
    /// Every question.
    pub const ALL: [Self; 7] = [
        Self::NearestHits,
        Self::FirstHits,
        Self::AnyHits,
        Self::AllHits,
        Self::Overlaps,
        Self::SphereOverlaps,
        Self::Nearest,
    ];
}

/// The kernels of the stage `query`.
#[derive(Debug)]
pub struct Query {
    gpu: Gpu,
    canonical: Order,
}

/// How much a batch of queries takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueryRoom {
    /// Queries.
    pub queries: u64,
    /// Words of all queries, and of their half-spaces.
    pub words: u64,
    /// Queries that say more than their shapes.
    pub askers: u64,
    /// Queries whose answers are ranked.
    pub ranked: u64,
    /// Answers in rows: these queries times the answers that are asked for at a time.
    pub rows: u64,
    /// Queries whose answers are listed.
    pub lists: u64,
    /// Queries whose first answers are kept while they are counted: all of those, or none.
    pub short: u64,
    /// Answers in a list.
    pub pairs: u64,
    /// Queries whose answers stay on the device.
    pub stays: u64,
    /// Rounds that are recorded one after the other.
    pub rounds: u64,
}

impl QueryRoom {
    /// Returns the room for so many queries with rows of `width` answers.
    pub fn of_rows(queries: usize, width: usize) -> Self {
        Self { ranked: queries as u64, rows: queries as u64 * width as u64, ..Self::default() }
    }

    /// Returns the room for so many queries that are asked whether they meet anything.
    pub fn of_any(queries: usize) -> Self {
        Self { lists: queries as u64, ..Self::default() }
    }

    /// Returns the room for so many queries with lists of answers, before these are counted.
    pub fn of_lists(queries: usize) -> Self {
        Self { lists: queries as u64, short: queries as u64, ..Self::default() }
    }

    /// Returns the blocks of queries whose answers are listed.
    fn blocks(&self) -> u64 {
        self.lists.div_ceil(256)
    }

    /// Returns how many answers of each list are kept while they are counted.
    pub fn kept(&self) -> u32 {
        if self.short > 0 { KEPT_ANSWERS } else { 0 }
    }
}

buffer_table! {
    /// The buffers of a batch of queries.
    pub struct QueryBuffers(room: QueryRoom) {
        /// `[query_count * words]` the queries, and the half-spaces behind them.
        queries as "asked_queries": [u32; room.words], STORAGE;
        /// `[query_count * 5]` what queries say beside their shapes.
        askers: [u32; 5 * room.askers], STORAGE;
        /// `[query_count * most]` the places of the first answers of each query.
        rows as "answer_rows": [[u32; 2]; room.rows], STORAGE;
        /// `[query_count * most]` these answers.
        answers as "ranked_answers": [[u32; 2]; room.rows], STORAGE;
        /// `[query_count]` what queries leave for the next dispatch.
        states as "query_states": [[u32; 4]; room.ranked], STORAGE;
        /// `[query_count + 1]` where the list of each query begins, and what it leaves for the next dispatch.
        offsets as "answer_offsets": [[u32; 4]; room.lists + 1], STORAGE;
        /// Answers of each group of blocks of queries, and of each block: see `query_place.wgsl`.
        blocks as "answer_blocks": [[u32; 3]; room.blocks() + room.blocks().div_ceil(QUERY_GROUP.into())], STORAGE;
        /// `[query_count * KEPT_ANSWERS / 2]` the first answers of each list.
        kept as "kept_answers": [[u32; 2]; room.short * u64::from(KEPT_ANSWERS / 2)], STORAGE;
        /// `[capacity]` the answers in the window.
        pairs as "answers": [Pair; room.pairs], STORAGE | wgpu::BufferUsages::VERTEX;
        /// What each round leaves to the next.
        rounds as "query_rounds": [Round; room.rounds], SIZES;
        /// `[query_count]` whether each query is answered.
        status as "query_status": [u32; room.stays], STORAGE;
        /// `[query_count + 1]` where the list of each query begins, as callers read it; or `[query_count]` whether it met a box.
        ends as "answer_ends": [[u32; 2]; room.stays + 1], STORAGE;
        /// What accompanies the answers.
        header as "answer_header": [QueryHeader; 1], STORAGE;
        /// The arguments of a dispatch and of draws of the answers.
        arguments as "answer_arguments": [PairArguments; 1], SIZES;
        /// What the sort of queries is told.
        query_counts: [Counts; 1], CONSTANT;
        /// What the sort of answers is told.
        answer_counts: [Counts; 1], CONSTANT;
        /// Scratch of the sort of queries: places along the curve.
        keys as "query_keys": [u32; room.queries], STORAGE;
        /// `[query_count]` the order in which queries are asked.
        values as "query_values": [u32; room.queries], STORAGE;
        /// Scratch.
        other_keys as "query_other_keys": [u32; room.queries], STORAGE;
        /// Scratch.
        other_values as "query_other_values": [u32; room.queries], STORAGE;
        /// `[query_count]` the queries that a dispatch has left to the next.
        rest as "query_rest": [u32; room.queries], STORAGE;
        /// Scratch.
        histograms as "query_histograms": [u32; histogram_words(room.queries)], STORAGE;
        /// Sums of the sort of queries.
        digit_sums as "query_digit_sums": [u32; digit_sum_words(room.queries)], STORAGE;
        /// For the canonical order of answers: where the row of each query begins.
        answer_offsets as "answer_order_offsets": [u32; room.lists + 1], STORAGE;
        /// Sums of the sizes of rows.
        answer_row_sums as "answer_order_row_sums": [u32; room.lists.div_ceil(ORDER_ROWS.into())], STORAGE;
        /// The row of the first answer of each tile.
        answer_tile_rows as "answer_order_tile_rows": [u32; room.pairs.div_ceil(ORDER_TILE.into())], STORAGE;
        /// The boxes of answers, row by row.
        answer_others as "answer_order_others": [u32; room.pairs], STORAGE;
    }
}

impl QueryBuffers {
    fn query_lists(&self) -> SortBuffers {
        let Self { keys, values, other_keys, other_values, histograms, digit_sums, .. } = self;
        SortBuffers::of([keys, values, other_keys, other_values, histograms, digit_sums])
    }

    /// Returns the same buffers with room for more answers.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn with_room_for_answers(&self, gpu: &Gpu, answers: u64) -> Result<Self, Error> {
        let other = Self::new(gpu, &QueryRoom { pairs: answers, ..QueryRoom::default() })?;
        Ok(Self {
            pairs: other.pairs,
            answer_tile_rows: other.answer_tile_rows,
            answer_others: other.answer_others,
            ..self.clone()
        })
    }

    /// Returns the rows of answers, one for each query.
    fn answer_order(&self) -> OrderBuffers {
        let Self { answer_offsets, answer_row_sums, answer_tile_rows, answer_others, .. } = self;
        let [offsets, row_sums, tile_rows, others] =
            [answer_offsets, answer_row_sums, answer_tile_rows, answer_others].map(Clone::clone);
        OrderBuffers { offsets, row_sums, tile_rows, others }
    }

    /// Records the clearing of what kernels add to, before their compute pass.
    pub fn record_clear(&self, encoder: &mut wgpu::CommandEncoder) {
        self.query_lists().record_clear(encoder);
        self.answer_order().record_clear(encoder);
        encoder.clear_buffer(self.blocks.raw(), 0, None);
    }
}

/// What all kernels of a batch read.
#[derive(Clone, Debug)]
pub struct BatchInput<'a> {
    /// The shape of the tree.
    pub shape: &'a Buffer<TreeShape>,
    /// The tree.
    pub tree: &'a TreeBuffers,
    /// What the boxes say.
    pub filters: &'a FilterLists,
    /// The parameters.
    pub said: QueryParams,
    /// The same on the device.
    pub params: &'a Buffer<QueryParams>,
    /// The queries, in bits.
    pub queries: wgpu::BindingResource<'a>,
    /// What they say beside their shapes.
    pub askers: wgpu::BindingResource<'a>,
    /// The queries in the order in which they are asked.
    pub order: &'a Buffer<u32>,
}

impl BatchInput<'_> {
    /// Lists what kernels of the batch bind: the input, then the buffers of the batch.
    fn bound<'a>(&'a self, buffers: &'a QueryBuffers) -> Bound<'a> {
        let own = vec![
            ("tree", self.shape.all()),
            ("query", self.params.all()),
            ("nodes", self.tree.nodes.all()),
            ("places", self.tree.places.all()),
            ("ranges", self.tree.ranges.all()),
            ("queries", self.queries.clone()),
            ("askers", self.askers.clone()),
            ("order", self.order.all()),
        ];
        [own, self.filters.bound(), buffers.bound()].concat()
    }

    /// Returns whether the parameters have one of these flags.
    fn has(&self, flags: u32) -> bool {
        self.said.flags & flags != 0
    }

    /// Returns whether what `f32` leaves in doubt is decided at once, and not in another dispatch. Half-spaces are decided in integers
    /// anyway, and what comes behind the last row has to be compared with its last box.
    fn decides(&self) -> bool {
        self.said.part_count > 0 || self.has(QUERY_RESUMED | QUERY_NEXT_ROW)
    }

    /// Dispatches a kernel that walks: for what the round before has left, where rounds are recorded one after the other.
    fn walk(&self, pass: &mut Pass, kernel: &Kernel, buffers: &QueryBuffers, bound: &[(&str, wgpu::BindingResource)]) {
        let QueryParams { query_count, round, round_count, .. } = self.said;
        if round_count > 0 && self.has(QUERY_RESUMED) {
            kernel.dispatch_indirect(pass, buffers.rounds.raw(), (round as usize - 1) * size_of::<Round>(), bound);
        } else {
            let of_group = if self.has(QUERY_SHARED) { WALKERS / SHARERS } else { WALKERS };
            kernel.dispatch(pass, query_count.div_ceil(of_group), bound);
        }
    }
}

impl Query {
    /// Looks up the kernels of the stage.
    pub fn new(gpu: &Gpu) -> Self {
        Self { gpu: gpu.clone(), canonical: Order::new(gpu) }
    }

    fn kernel(&self, source: &Source) -> Kernel {
        Kernel::new(&self.gpu, source)
    }

    /// Lists the kernels that answer a question.
    pub fn kernels(&self, question: Question) -> Vec<Kernel> {
        let lists = |listed| [false, true].map(|decides| self.lister(listed, decides)).to_vec();
        let (mut kernels, others) = match question {
            Question::NearestHits | Question::FirstHits => (vec![self.ranker(Ranked::Hits, true, false)], Some(&HITS)),
            Question::AnyHits => (vec![self.lister(Listed::Cross, true)], None),
            Question::AllHits => (vec![self.lister(Listed::Cross, true)], Some(&TIMES)),
            Question::Overlaps => (lists(Listed::Touch), None),
            Question::SphereOverlaps => (lists(Listed::Sphere), None),
            Question::Nearest => {
                let ranker = |decides, is_single| self.ranker(Ranked::Near, decides, is_single);
                (vec![ranker(false, true), ranker(false, false), ranker(true, false)], Some(&SQUARES))
            }
        };
        kernels.extend([&ORDER].into_iter().chain(others).map(|source| self.kernel(source)));
        if matches!(question, Question::AllHits | Question::Overlaps | Question::SphereOverlaps) {
            kernels.extend([PLACE, OFFSET, SHORT].map(|source| self.kernel(&source)));
            kernels.extend(self.canonical.kernels().iter().cloned());
        }
        kernels
    }

    /// Looks up a kernel that ranks. Paths are always decided at once.
    fn ranker(&self, ranked: Ranked, decides: bool, is_single: bool) -> Kernel {
        match ranked {
            Ranked::Hits => self.kernel(&FIRST),
            Ranked::Near if decides => Kernel::specialised(&self.gpu, &NEAR, &["IS_EXACT"]),
            Ranked::Near if is_single => Kernel::specialised(&self.gpu, &NEAR, &["IS_SINGLE"]),
            Ranked::Near => self.kernel(&NEAR),
        }
    }

    /// Looks up a kernel that lists. Paths are always decided at once.
    fn lister(&self, listed: Listed, decides: bool) -> Kernel {
        let switches: &[_] = if decides { &["IS_EXACT"] } else { &[] };
        match listed {
            Listed::Cross => self.kernel(&CROSS),
            Listed::Touch => Kernel::specialised(&self.gpu, &TOUCH, switches),
            Listed::Sphere => Kernel::specialised(&self.gpu, &SPHERE, switches),
        }
    }

    /// Records queries that are made of others. The parameters say how many words those have that are given.
    pub fn record_made(
        &self,
        pass: &mut Pass,
        made: Made,
        query_count: u32,
        params: &Buffer<QueryParams>,
        given: wgpu::BindingResource,
        buffers: &QueryBuffers,
    ) {
        let bound = [("query", params.all()), ("given", given), ("queries", buffers.queries.all())];
        self.kernel(made.source()).dispatch(pass, query_count.div_ceil(WALKERS), &bound);
    }

    /// Records the order in which queries are asked, and returns the buffer that it will lie in: along the curve where they
    /// are sorted, and else as they come.
    #[allow(clippy::too_many_arguments)]
    pub fn record_order(
        &self,
        pass: &mut Pass,
        sort: Option<&Sort>,
        query_count: u32,
        params: &Buffer<QueryParams>,
        cube: &Buffer<Cube>,
        queries: wgpu::BindingResource,
        buffers: &QueryBuffers,
    ) -> Buffer<u32> {
        let lists = buffers.query_lists();
        let own = vec![("query", params.all()), ("cube", cube.all()), ("queries", queries)];
        self.kernel(&ORDER).dispatch(pass, query_count.div_ceil(256), &[own, lists.bound()].concat());
        match sort {
            Some(sort) => sort.record_pairs(pass, &buffers.query_counts, query_count, lists, PLACE_BITS).values,
            None => lists.values,
        }
    }

    /// Records the ranking of the first answers, or of what the last dispatch left.
    pub fn record_rows(&self, pass: &mut Pass, ranked: Ranked, batch: &BatchInput, buffers: &QueryBuffers) {
        let kernel = self.ranker(ranked, batch.decides(), batch.said.most == 1);
        batch.walk(pass, &kernel, buffers, &batch.bound(buffers));
    }

    /// Records the answers in rows that are complete.
    pub fn record_ranked(&self, pass: &mut Pass, ranked: Ranked, batch: &BatchInput, buffers: &QueryBuffers) {
        let kernel = self.kernel(if ranked == Ranked::Hits { &HITS } else { &SQUARES });
        kernel.dispatch(pass, (batch.said.query_count * batch.said.most).div_ceil(256), &batch.bound(buffers));
    }

    /// Records the sums of what was counted.
    pub fn record_offsets(&self, pass: &mut Pass, batch: &BatchInput, window: &Buffer<Window>, buffers: &QueryBuffers) {
        let blocks = batch.said.query_count.div_ceil(256);
        let bound = [vec![("window", window.all())], batch.bound(buffers)].concat();
        self.kernel(&PLACE).dispatch(pass, blocks, &bound);
        self.kernel(&OFFSET).dispatch(pass, blocks.max(1), &bound);
    }

    /// Records the writing of the lists that were kept, in order; of none, where none are.
    pub fn record_short(&self, pass: &mut Pass, batch: &BatchInput, window: &Buffer<Window>, buffers: &QueryBuffers) {
        let bound = [vec![("window", window.all())], batch.bound(buffers)].concat();
        self.kernel(&SHORT).dispatch(pass, (batch.said.query_count * SORTERS).div_ceil(256), &bound);
    }

    /// Records the canonical order of the answers that were written, if `is_sorted`, and when paths touch them.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    #[allow(clippy::too_many_arguments)] // what it reads, then what it changes
    pub fn record_answers(
        &self,
        pass: &mut Pass,
        is_sorted: bool,
        listed: Listed,
        batch: &BatchInput,
        window: &Buffer<Window>,
        box_count: u32,
        buffers: &QueryBuffers,
    ) -> Result<(), Error> {
        if is_sorted {
            let shape = (batch.said.query_count, box_count);
            self.canonical.record_pairs(
                pass,
                shape,
                &buffers.answer_counts,
                &buffers.answer_order(),
                &buffers.pairs,
            )?;
        }
        if listed == Listed::Cross {
            let bound = [vec![("window", window.all())], batch.bound(buffers)].concat();
            // Workgroups behind the last answer end at once.
            self.kernel(&TIMES).dispatch(pass, (buffers.pairs.len() as u32).div_ceil(256), &bound);
        }
        Ok(())
    }

    /// Records the counting of all boxes that queries meet, or where `QUERY_EMITS` the writing of those in a window whose lists were not
    /// kept; of what the last dispatch left, where the parameters say so.
    pub fn record_walk(
        &self,
        pass: &mut Pass,
        listed: Listed,
        batch: &BatchInput,
        window: &Buffer<Window>,
        buffers: &QueryBuffers,
    ) {
        let pairs = if batch.has(QUERY_EMITS) { buffers.pairs.all() } else { buffers.kept.all() };
        let bound = [vec![("window", window.all()), ("pairs", pairs)], batch.bound(buffers)].concat();
        batch.walk(pass, &self.lister(listed, batch.decides()), buffers, &bound);
    }

    /// Records what queries that the caller has in a buffer say beside their shapes, with the numbers of their worlds.
    pub fn record_askers(
        &self,
        pass: &mut Pass,
        batch: &BatchInput,
        worlds: &Buffer<[u32; 2]>,
        given: wgpu::BindingResource,
        buffers: &QueryBuffers,
    ) {
        let bound = [vec![("given", given), ("worlds", worlds.all())], batch.bound(buffers)].concat();
        self.kernel(&ASKERS).dispatch(pass, batch.said.query_count.div_ceil(256), &bound);
    }

    /// Records how many queries the last dispatch has left, of those that rank or of those that list.
    pub fn record_left(&self, pass: &mut Pass, batch: &BatchInput, is_listed: bool, buffers: &QueryBuffers) {
        let states = if is_listed { buffers.offsets.all() } else { buffers.states.all() };
        let bound = [vec![("states", states)], batch.bound(buffers)].concat();
        self.kernel(&LEFT).dispatch(pass, batch.said.query_count.div_ceil(256), &bound);
    }

    /// Records what accompanies answers that stay on the device.
    pub fn record_ends(&self, pass: &mut Pass, batch: &BatchInput, window: &Buffer<Window>, buffers: &QueryBuffers) {
        let bound = [vec![("window", window.all())], batch.bound(buffers)].concat();
        let words = match batch.said.flags & (QUERY_ANY | QUERY_LISTS) {
            0 => 1,
            QUERY_ANY => batch.said.query_count,
            _ => 2 * (batch.said.query_count + 1),
        };
        self.kernel(&ENDS).dispatch(pass, words.div_ceil(256).max(1), &bound);
    }
}
