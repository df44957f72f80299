//! The buffers of a batch of queries.

use crate::base::constants::{ORDER_ROWS, ORDER_TILE, QUERY_GROUP, RETAINED_ANSWERS};
use crate::base::layout::{Counts, PairArguments, QueryHeader, Round};
use crate::gpu::Gpu;
use crate::gpu::sort_buffers::SortBuffers;
use crate::gpu::table::{CONSTANT, SIZES, STORAGE, buffer_table};
use crate::grid::sort::{digit_sum_u32_count, histogram_u32_count};
use crate::pairs::order::OrderBuffers;
use crate::{Error, Pair, QueryFilter};

/// The capacities of the buffers of a batch.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueryCapacity {
    /// Queries.
    pub queries: u64,
    /// The u32 count of all queries and their half-spaces.
    pub u32_count: u64,
    /// The u32 count of the filters and spheres of queries.
    pub query_filters: u64,
    /// Queries whose answers are ranked.
    pub ranked: u64,
    /// Answers in rows: `ranked` times the length of a row.
    pub rows: u64,
    /// Queries whose answers are listed.
    pub lists: u64,
    /// Lists whose first answers are retained while answers are counted: all lists or none.
    pub short: u64,
    /// Answers in a window of the list.
    pub pairs: u64,
    /// Queries whose answers stay on the device.
    pub stays: u64,
    /// Recorded rounds.
    pub rounds: u64,
}

impl QueryCapacity {
    /// Returns the larger capacity for each buffer.
    #[must_use]
    pub fn max(&self, other: &Self) -> Self {
        Self {
            queries: self.queries.max(other.queries),
            u32_count: self.u32_count.max(other.u32_count),
            query_filters: self.query_filters.max(other.query_filters),
            ranked: self.ranked.max(other.ranked),
            rows: self.rows.max(other.rows),
            lists: self.lists.max(other.lists),
            short: self.short.max(other.short),
            pairs: self.pairs.max(other.pairs),
            stays: self.stays.max(other.stays),
            rounds: self.rounds.max(other.rounds),
        }
    }

    /// Returns the count of blocks of queries whose answers are listed.
    fn blocks(&self) -> u64 {
        self.lists.div_ceil(256)
    }

    /// Returns the count of answers per list that are retained while answers are counted.
    pub fn retained_count(&self) -> u32 {
        if self.short > 0 { RETAINED_ANSWERS } else { 0 }
    }
}

/// Returns the u32 count of the filters of a query, with its sphere.
pub const fn filter_u32_count(has_filters: bool, has_spheres: bool) -> u64 {
    let bytes = match (has_filters, has_spheres) {
        (false, _) => 0,
        (true, false) => size_of::<QueryFilter>(),
        (true, true) => size_of::<QueryFilter>() + size_of::<[f32; 4]>(),
    };
    (bytes / size_of::<u32>()) as u64
}

buffer_table! {
    /// The buffers of a batch of queries.
    pub struct QueryBuffers(capacity: QueryCapacity) {
        /// `[query_count * u32_count]` the queries; then their half-spaces.
        queries: [u32; capacity.u32_count], STORAGE;
        /// `[query_count * 5]` the filters of queries; then `[query_count * 4]` their spheres.
        query_filters: [u32; capacity.query_filters], STORAGE;
        /// `[query_count * most]` the places of the first answers of each query.
        rows as "answer_rows": [[u32; 2]; capacity.rows], STORAGE;
        /// `[query_count * most]` the first answers of each query.
        answers as "ranked_answers": [[u32; 2]; capacity.rows], STORAGE;
        /// `[query_count]` the state of each query for the next dispatch.
        states as "query_states": [[u32; 4]; capacity.ranked], STORAGE;
        /// `[query_count + 1]` the begin of each query's list, and its state for the next dispatch.
        offsets as "answer_offsets": [[u32; 4]; capacity.lists + 1], STORAGE;
        /// Answer counts of each group of blocks of queries, and of each block: see `query_place.wgsl`.
        blocks as "answer_blocks": [[u32; 3]; capacity.blocks() + capacity.blocks().div_ceil(QUERY_GROUP.into())], STORAGE;
        /// `[query_count * RETAINED_ANSWERS / 2]` the first answers of each list.
        retained_answers: [[u32; 2]; capacity.short * u64::from(RETAINED_ANSWERS / 2)], STORAGE;
        /// `[capacity]` the answers in the window.
        pairs as "answers": [Pair; capacity.pairs], STORAGE | wgpu::BufferUsages::VERTEX;
        /// The pending queries of each round.
        rounds as "query_rounds": [Round; capacity.rounds], SIZES;
        /// `[query_count]` whether each query is answered.
        status as "query_status": [u32; capacity.stays], STORAGE;
        /// `[query_count + 1]` the begin of each query's list, for callers; or `[query_count]` whether it met a box.
        ends as "answer_ends": [[u32; 2]; capacity.stays + 1], STORAGE;
        /// The header of the answers.
        header as "answer_header": [QueryHeader; 1], STORAGE;
        /// The arguments of a dispatch and of draws of the answers.
        arguments as "answer_arguments": [PairArguments; 1], SIZES;
        /// The counts that the sort of queries reads.
        query_counts: [Counts; 1], CONSTANT;
        /// The counts that the sort of answers reads.
        answer_counts: [Counts; 1], CONSTANT;
        /// Scratch of the sort of queries: places along the curve.
        keys as "query_keys": [u32; capacity.queries], STORAGE;
        /// `[query_count]` the order in which queries are answered.
        values as "query_values": [u32; capacity.queries], STORAGE;
        /// Scratch.
        other_keys as "query_other_keys": [u32; capacity.queries], STORAGE;
        /// Scratch.
        other_values as "query_other_values": [u32; capacity.queries], STORAGE;
        /// `[query_count]` the pending queries.
        rest as "query_pending_list": [u32; capacity.queries], STORAGE;
        /// Scratch.
        histograms as "query_histograms": [u32; histogram_u32_count(capacity.queries)], STORAGE;
        /// Sums of the sort of queries.
        digit_sums as "query_digit_sums": [u32; digit_sum_u32_count(capacity.queries)], STORAGE;
        /// For the canonical order of answers: the begin of each query's row.
        answer_offsets as "answer_order_offsets": [u32; capacity.lists + 1], STORAGE;
        /// Sums of the sizes of rows.
        answer_row_sums as "answer_order_row_sums": [u32; capacity.lists.div_ceil(ORDER_ROWS.into())], STORAGE;
        /// The row of the first answer of each tile.
        answer_tile_rows as "answer_order_tile_rows": [u32; capacity.pairs.div_ceil(ORDER_TILE.into())], STORAGE;
        /// The boxes of answers, row by row.
        answer_others as "answer_order_others": [u32; capacity.pairs], STORAGE;
    }
}

impl QueryBuffers {
    pub(super) fn sort_buffers(&self) -> SortBuffers {
        let Self { keys, values, other_keys, other_values, histograms, digit_sums, .. } = self;
        SortBuffers::of([keys, values, other_keys, other_values, histograms, digit_sums])
    }

    /// Returns the same buffers with a longer list of answers.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn with_answer_capacity(&self, gpu: &Gpu, answers: u64) -> Result<Self, Error> {
        let other = Self::new(gpu, &QueryCapacity { pairs: answers, ..QueryCapacity::default() })?;
        Ok(Self {
            pairs: other.pairs,
            answer_tile_rows: other.answer_tile_rows,
            answer_others: other.answer_others,
            ..self.clone()
        })
    }

    /// Returns the rows of answers, one for each query.
    pub(super) fn answer_order(&self) -> OrderBuffers {
        let Self { answer_offsets, answer_row_sums, answer_tile_rows, answer_others, .. } = self;
        let [offsets, row_sums, tile_rows, others] =
            [answer_offsets, answer_row_sums, answer_tile_rows, answer_others].map(Clone::clone);
        OrderBuffers { offsets, row_sums, tile_rows, others }
    }

    /// Records the clearing of sums, before the compute pass.
    pub fn record_clear(&self, encoder: &mut wgpu::CommandEncoder) {
        self.sort_buffers().record_clear(encoder);
        self.answer_order().record_clear(encoder);
        encoder.clear_buffer(self.blocks.raw(), 0, None);
    }
}
