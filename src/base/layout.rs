//! The structures that pass between stages: twins of the structures in `shaders/shared/common.wgsl`.
//! `tests/contract.rs` compares both. In WGSL, a vector of three is aligned to sixteen bytes; the number after it fills
//! the last four.

use bytemuck::{Pod, Zeroable};

use crate::base::constants::*;

/// The layout of a structure that has the same name in WGSL.
#[derive(Clone, Copy, Debug)]
pub struct Twin {
    /// The name of the structure.
    pub name: &'static str,
    /// Its bytes.
    pub size: usize,
    /// The names of its fields, with their offsets in bytes.
    pub fields: &'static [(&'static str, usize)],
}

/// Declares structures with the layout of C, and lists them in [`TWINS`].
macro_rules! twins {
    ($(
        $(#[$meta:meta])*
        pub struct $name:ident { $($(#[$field_meta:meta])* pub $field:ident: $kind:ty,)* }
    )*) => {
        $(
            $(#[$meta])*
            #[repr(C)]
            #[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
            pub struct $name { $($(#[$field_meta])* pub $field: $kind,)* }
        )*

        /// The layouts of all structures of this file.
        pub const TWINS: &[Twin] = &[$(Twin {
            name: stringify!($name),
            size: size_of::<$name>(),
            fields: &[$((stringify!($field), std::mem::offset_of!($name, $field))),*],
        }),*];
    };
}

twins! {
    /// The parameters that the host decides for one call.
    #[allow(missing_docs)] // common.wgsl explains each field
    pub struct Params {
        pub box_count: u32,
        pub entry_capacity: u32,
        pub axis: u32,
        pub cell_mode: u32,
        pub cell_size: f32,
        pub candidate_limit_low: u32,
        pub candidate_limit_high: u32,
        pub vertices_per_pair: u32,
        pub tile_capacity: u32,
        pub world_count: u32,
        pub include_count: u32,
        pub is_beyond: u32,
        pub key_bits: u32,
    }

    /// The range of pairs that `emit` writes.
    #[allow(missing_docs)]
    pub struct Window {
        pub first_low: u32,
        pub first_high: u32,
        pub capacity: u32,
        pub unused: u32,
    }

    /// One radix pass.
    #[allow(missing_docs)]
    pub struct SortPass {
        pub shift: u32,
        pub of_pairs: u32,
        pub digit_bits: u32,
        pub unused: u32,
    }

    /// Rows of pairs: for canonical order, a row for each first box; for neighbours, a row for each box.
    #[allow(missing_docs)]
    pub struct OrderParams {
        pub row_count: u32,
        pub column_count: u32,
        pub ways: u32,
        pub unused: u32,
    }

    /// Bounds of the boxes that enter the statistics.
    #[allow(missing_docs)]
    pub struct Bounds {
        pub min: [f32; 3],
        pub count: u32,
        pub max: [f32; 3],
        pub unused: u32,
    }

    /// A workgroup's share of the bounds.
    #[allow(missing_docs)]
    pub struct BoundsPartial {
        pub ordinary: Bounds,
        pub finite: Bounds,
    }

    /// Directions, grid and sort key.
    #[allow(missing_docs)]
    pub struct Frame {
        pub sweep: [f32; 3],
        pub scale: f32,
        pub plane_u: [f32; 3],
        pub limit: f32,
        pub plane_v: [f32; 3],
        pub inverse_cell: f32,
        pub origin: [f32; 2],
        pub plane_slop: f32,
        pub sweep_slop: f32,
        pub cell_min: [i32; 2],
        pub cell_max: [i32; 2],
        pub cell_bits: [u32; 2],
        pub max_span: [u32; 2],
        pub position_bits: u32,
        pub key_bits: u32,
        pub giant_cells: u32,
        pub axis: u32,
        pub cell_size: f32,
        pub outside_count: u32,
        pub tile_bits: [u32; 2],
        /// Positions on the sweep axis are quantised, segment by segment. The start of each segment, and its quanta
        /// (steps) per unit length.
        pub knots: [[f32; 2]; KNOT_COUNT as usize],
    }

    /// The counts of the stages.
    #[allow(missing_docs)]
    pub struct Counts {
        pub level: u32,
        pub entry_count: u32,
        pub giant_count: u32,
        pub invalid_count: u32,
        pub first_invalid: [[u32; 4]; INVALID_LISTED as usize],
        pub candidate_low: u32,
        pub candidate_high: u32,
        pub refused: u32,
        pub path_low: u32,
        pub path_high: u32,
        pub sweep_tiles: u32,
        pub sweep_tiles_per_block: u32,
        pub sweep_blocks: u32,
        pub giant_tiles: u32,
        pub giant_tiles_per_block: u32,
        pub giant_blocks: u32,
        pub pair_low: u32,
        pub pair_high: u32,
        pub written: u32,
        pub first_block: u32,
        pub unused: u32,
    }

    /// The result of a run of `sweep_test`. In memory, it is packed into [`Run::words`].
    #[allow(missing_docs)]
    pub struct Run {
        pub hits: u32,
        pub first_rank: u32,
        pub first_quad: u32,
        pub turns: u32,
    }

    /// Indirect dispatch sizes.
    #[allow(missing_docs)]
    pub struct Dispatches {
        pub sweep_test: [u32; 3],
        pub emit_sweep: [u32; 3],
        pub emit_again: [u32; 3],
    }

    /// The header of a list of pairs that stays on the GPU; every field is a little-endian `u32`.
    #[derive(Eq)]
    pub struct PairHeader {
        /// The count of all pairs, lower half, including pairs that do not fit.
        pub count: u32,
        /// The count of all pairs, upper half.
        pub count_high: u32,
        /// The capacity of the list, in pairs.
        pub capacity: u32,
        /// The state of the list, as a code:
        /// - 0: all pairs fit.
        /// - 1: the list is too short. `count` is exact, and the list has the first `written` pairs.
        /// - 2: there are more candidates than `Options::candidate_limit`.
        /// - 5: there are more boxes than their [capacity](crate::GpuCount::Stored).
        /// - 6: there are more excluded pairs than their [capacity](crate::Recorder::record_exclude).
        ///
        /// With codes 2, 5 and 6, nothing was tested, and both pair counts are 0.
        ///
        /// In a header of [events](crate::GpuEvents), any code except 0 means that the step is discarded. Both pair
        /// counts are 0, and the next step is not compared with this step. There, 3 means that a query of a tree is
        /// unfinished, and 4 that two boxes have the same index in the last step.
        pub overflow: u32,
        /// Pairs in the list.
        pub written: u32,
        #[allow(missing_docs)]
        pub unused: [u32; 3],
    }

    /// Arguments for indirect calls that accompany a list of pairs; every field is a little-endian `u32`.
    #[derive(Eq)]
    pub struct PairArguments {
        /// Indirect dispatch in x and y: workgroups of 256 invocations that cover the list.
        pub dispatch: [u32; 3],
        #[allow(missing_docs)]
        pub unused: u32,
        /// Indirect draw of one instance per pair in the list: `Options::vertices_per_pair`, the pair count, 0, 0.
        pub draw: [u32; 4],
        /// Indirect draw of one instance: the count of the vertices of all pairs (at most 2³² − 1), 1, 0, 0. It is
        /// faster than `draw` if a pair has few vertices, since short instances leave most of a GPU idle.
        pub draw_list: [u32; 4],
    }

    /// The parameters of a step.
    #[allow(missing_docs)]
    pub struct StepParams {
        pub capacity: u32,
        pub naming: u32,
        pub vertices_per_pair: u32,
        pub is_join: u32,
    }

    /// The places of the nodes of a tree.
    #[derive(Eq)]
    #[allow(missing_docs)]
    pub struct TreeShape {
        pub box_count: u32,
        pub level_count: u32,
        pub world_count: u32,
        pub first_id: u32,
        pub first_box: u32,
        pub unused_a: u32,
        pub unused_b: u32,
        pub unused_c: u32,
        pub first_nodes: [[u32; 4]; 3],
    }

    /// The parameters of one dispatch of a kernel that prepares filters or points.
    #[allow(missing_docs)]
    pub struct FilterChange {
        pub place: u32,
        pub first: u32,
        pub count: u32,
        pub world_count: u32,
        pub format: u32,
        pub radius: u32,
    }

    /// The places and capacities of excluded pairs from a buffer.
    #[allow(missing_docs)]
    pub struct ExcludeChange {
        pub rows: u32,
        pub others: u32,
        pub box_count: u32,
        pub at_most: u32,
        pub include_count: u32,
        pub is_stored: u32,
    }

    /// The cube that the curve of a tree fills.
    #[allow(missing_docs)]
    pub struct Cube {
        pub low: [f32; 3],
        pub scale: f32,
    }

    /// The summary of a tree, for the host.
    #[allow(missing_docs)]
    pub struct TreeSummary {
        pub invalid_count: u32,
        pub surface: f32,
        pub vast_count: u32,
        pub unused: u32,
        pub first_invalid: [[u32; 4]; INVALID_LISTED as usize],
    }

    /// The parameters of a batch of queries.
    #[allow(missing_docs)]
    pub struct QueryParams {
        pub query_count: u32,
        pub u32_count: u32,
        pub most: u32,
        pub parts: u32,
        pub budget: u32,
        pub flags: u32,
        pub rule: u32,
        pub round: u32,
        pub round_count: u32,
        pub part_count: u32,
        pub retained_count: u32,
        pub vertices_per_pair: u32,
        pub spheres: u32,
    }

    /// The state that a dispatch of queries passes to the next.
    #[allow(missing_docs)]
    pub struct Round {
        pub size: [u32; 3],
        pub pending: u32,
        pub invalid: u32,
        pub unused_a: u32,
        pub unused_b: u32,
        pub unused_c: u32,
    }

    /// The header of answers that stay on the GPU; every field is a little-endian `u32`.
    #[derive(Eq)]
    pub struct QueryHeader {
        /// The count of answers of all finished queries, lower half, including answers that do not fit. If `k`
        /// answers are requested, this is the count of queries times `k`, misses included. For nearest hits and any
        /// hits, `k` is 1.
        pub count: u32,
        /// The count of answers of all finished queries, upper half.
        pub count_high: u32,
        /// The capacity of the list, in answers.
        pub capacity: u32,
        /// The state of the list, as a code:
        /// - 0: no overflow.
        /// - 1: not all answers are in the list. `count` is exact, and the list has `written` answers.
        /// - 3: the recorded rounds did not suffice to write the answers. `count` is exact, and `written` is 0.
        pub overflow: u32,
        /// Answers in the list.
        pub written: u32,
        /// Queries that the recorded rounds did not finish. They have no answers, and are marked in
        /// [`GpuAnswers::status`](crate::GpuAnswers::status).
        pub unfinished: u32,
        /// Queries with a NaN or another invalid value. They have no answers, and are marked in
        /// [`GpuAnswers::status`](crate::GpuAnswers::status) too.
        pub invalid: u32,
        #[allow(missing_docs)]
        pub unused: u32,
    }
}

/// Packs the cells of a box and the start of its interval into words: the twin of `packed_cells` in WGSL.
pub fn packed_cells(cells: [i32; 4], start: u32) -> [u32; 4] {
    let above = |k: usize| (cells[k] as u32) << 8 | (cells[3] as u32 >> (8 * k) & 0xff);
    [above(0), above(1), above(2), start]
}

/// Unpacks the cells from the result of [`packed_cells`].
pub fn cells_from(words: [u32; 4]) -> [i32; 4] {
    let last_v = (words[0] & 0xff) << 8 | (words[1] & 0xff) << 16 | words[2] << 24;
    [words[0], words[1], words[2], last_v].map(|word| word as i32 >> 8)
}

impl Run {
    /// Packs the run into its words. A tile of the buffer `runs` has the first words of all its runs, then the second
    /// words, then the third.
    pub fn words(&self) -> [u32; RUN_U32_COUNT as usize] {
        [self.hits, self.first_quad, self.first_rank | self.turns >> 1 << RANK_BITS]
    }

    /// Packs the runs of a tile: the first words of all runs, then the second words, then the third.
    pub fn tile_words(runs: &[Self]) -> impl Iterator<Item = u32> {
        (0..RUN_U32_COUNT as usize).flat_map(|k| runs.iter().map(move |run| run.words()[k]))
    }
}

impl Frame {
    /// Returns a corner of the cells along u and v, in input units, as the nearest `f32`.
    pub fn corner(&self) -> [f32; 2] {
        self.origin.map(|at| ((f64::from(at) / f64::from(self.scale)) as f32).clamp(f32::MIN, f32::MAX))
    }

    /// Returns the edge of a cell at a level of coarsening, in input units. It is infinite if there is a single cell,
    /// and otherwise the nearest positive, finite `f32`.
    pub fn cell_size_at(&self, level: u32) -> f32 {
        match LEVEL_SHIFTS[level.min(LEVELS - 1) as usize] {
            shift @ 0..32 => {
                let size = f64::from(self.cell_size) / f64::from(self.scale) * (1u64 << shift) as f64;
                (size as f32).clamp(f32::from_bits(1), f32::MAX)
            }
            _ => f32::INFINITY,
        }
    }
}

/// Returns a two-dimensional dispatch size for `groups` workgroups: the twin of `dispatch_size` in WGSL.
pub fn dispatch_size(groups: u32) -> [u32; 3] {
    let x = groups.min(MAX_GROUPS_X);
    [x, if x > 0 { groups.div_ceil(x) } else { 1 }, 1]
}

/// Returns the most sections of a sort of up to `n` keys.
pub fn sort_sections(n: u64) -> u64 {
    n.div_ceil(u64::from(SORT_TILE)).min(u64::from(SORT_SECTIONS))
}

/// Returns the u32 count of histograms for a sort of `n` elements: one per section and digit.
pub fn histogram_u32_count(n: u64) -> u64 {
    u64::from(BALLOT_RADIX) * sort_sections(n)
}

/// Returns the u32 count of sums for a sort of `n` elements: one per pass, group of sections and digit.
pub fn digit_sum_u32_count(n: u64) -> u64 {
    u64::from(SORT_PASSES * BALLOT_RADIX) * sort_sections(n).div_ceil(u64::from(SECTION_GROUP)).max(1)
}

/// Combines the halves of a 64-bit count.
pub fn wide(low: u32, high: u32) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}
impl Window {
    /// Returns the window of `capacity` answers from index `first` on.
    pub fn new(first: u64, capacity: u32) -> Self {
        Self { first_low: first as u32, first_high: (first >> 32) as u32, capacity, unused: 0 }
    }
}
