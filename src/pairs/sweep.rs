//! The stage `sweep`: tests all candidates on the path exactly.

use std::mem::offset_of;

use crate::base::constants::{
    ENTRY_STRIDE, GIANT_GROUP, GIANT_ROW, HIT_SUMS, MOST_BLOCKS, MOST_GIANT_BLOCKS, PATH_GROUP, PATH_SECTION,
    RUN_U32_COUNT, TILE_QUADS,
};
use crate::base::layout::Dispatches;
use crate::filters::lists::{FilteredKernel, PairTests, filtered};
use crate::gpu::Gpu;
use crate::gpu::kernel::{Kernel, Pass, Source};
use crate::gpu::table::{STORAGE, buffer_table};
use crate::grid::{BoxBuffers, Entries, GridSummary};

/// The source of `sweep_test`.
pub const TEST: Source =
    filtered!("pairs/sweep_test", "pairs/sweep_walk", "pairs/path", "pairs/hit_count", "shared/boxes", "shared/scan");
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: &[Source] = &[TEST];

/// The kernels of the stage `sweep`.
#[derive(Debug)]
pub struct Sweep {
    test: FilteredKernel,
}

/// The capacity of a search.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchCapacity {
    /// Entries of the grid.
    pub entries: u64,
    /// Tiles of the sweep whose results are retained.
    pub tiles: u64,
    /// Tiles of the stage `small`.
    pub all_pairs_tiles: u64,
}

impl SearchCapacity {
    /// Returns the length of the counts in `block_hits`: the most blocks of the sweep and of giants together, or the
    /// counts of `small`.
    fn blocks(&self) -> u64 {
        // In the worst case, all later entries are candidates of each entry. Four candidates are a quad, and an entry
        // may have two more quads.
        let quads = self.entries * self.entries / 8 + 2 * self.entries;
        let sweep_tiles = quads.div_ceil(u64::from(TILE_QUADS));
        let rows = 2 * self.entries.div_ceil(u64::from(GIANT_ROW));
        let giant_tiles = self.entries.div_ceil(u64::from(GIANT_GROUP)) * rows.div_ceil(256);
        let found = sweep_tiles.min(u64::from(MOST_BLOCKS)) + giant_tiles.min(u64::from(MOST_GIANT_BLOCKS));
        found.max(self.all_pairs_tiles)
    }
}

buffer_table! {
    /// The path of the sweep: for each entry the quads that hold its candidates.
    pub struct Path(capacity: SearchCapacity) {
        /// `[entry_count]` the end of the candidates of each entry; zeros after the last entry, up to a multiple of
        /// `ENTRY_STRIDE`.
        stretches: [u32; capacity.entries.next_multiple_of(u64::from(ENTRY_STRIDE))], STORAGE;
        /// `[entry_count]` the footprint of each entry: begin and end of the box in the cell. One more element, rounded
        /// up to whole quads.
        footprints: [u32; (capacity.entries + 1).next_multiple_of(4)], STORAGE;
        /// Three tables of 64-bit numbers, as (low, high). `[groups]` quads and candidates of each group of sections,
        /// initially zero. `[sections]` quads of each section. `[entry_count / ENTRY_STRIDE]` quads before every
        /// `ENTRY_STRIDE`-th entry within its section.
        path_bases: [[u32; 2]; 2 * path_groups(capacity.entries)
            + capacity.entries.div_ceil(u64::from(PATH_SECTION))
            + capacity.entries.div_ceil(u64::from(ENTRY_STRIDE))], STORAGE;
    }
}

/// Returns the count of groups of sections for this entry count.
fn path_groups(entries: u64) -> u64 {
    entries.div_ceil(u64::from(PATH_SECTION * PATH_GROUP))
}

impl Path {
    /// Records the clearing of the sums to which `rank_ends` adds. `capacity` is an upper limit of the entry count.
    pub fn record_clear(&self, encoder: &mut wgpu::CommandEncoder, capacity: u32) {
        encoder.clear_buffer(self.path_bases.raw(), 0, Some(16 * path_groups(u64::from(capacity))));
    }
}

buffer_table! {
    /// The results of the exact tests of `sweep` and `giants`, or of `small`.
    pub struct Hits(capacity: SearchCapacity) {
        /// `[tiles * RUN_U32_COUNT * 256]` the results of the runs of `sweep`, up to the capacity. A tile has the first
        /// words of all its runs, then the second words, then the third words.
        runs: [u32; capacity.tiles * 256 * u64::from(RUN_U32_COUNT)], STORAGE;
        /// `[tiles * 256]` a bit per test of `small`.
        hit_words: [u32; capacity.all_pairs_tiles * 256], STORAGE;
        /// `[HIT_SUMS]` sums as (low, high), initially zero; then `[giant_blocks + sweep_blocks]` the pair count of
        /// each block of tiles. With `small`, its pair counts instead.
        block_hits: [u32; u64::from(2 * HIT_SUMS) + capacity.blocks()], STORAGE;
    }
}

impl Hits {
    /// Records the clearing of the sums that the tests add to.
    pub fn record_clear(&self, encoder: &mut wgpu::CommandEncoder) {
        encoder.clear_buffer(self.block_hits.raw(), 0, Some(u64::from(8 * HIT_SUMS)));
    }
}

impl Sweep {
    /// Looks up the kernels of the stage.
    pub fn new(gpu: &Gpu) -> Self {
        Self { test: FilteredKernel::new(gpu, &TEST) }
    }

    /// Returns the kernels that the stage dispatches, with these tests.
    pub fn kernels(&self, tests: PairTests) -> [&Kernel; 1] {
        [self.test.of(tests)]
    }

    /// Records `sweep_test`: tests all candidates exactly. The dispatches of `summary` specify the workgroups. Reads
    /// the counts of `summary`, the boxes, their filters, the sorted entries and the path. Writes `hits`.
    pub fn record_test(
        &self,
        pass: &mut Pass,
        searched: &BoxBuffers<'_>,
        summary: &GridSummary,
        sorted: &Entries,
        path: &Path,
        hits: &Hits,
    ) {
        let own = vec![("counts", summary.counts.all())];
        let buffers = [own, searched.bound(), sorted.bound(), path.bound(), hits.bound()].concat();
        let test = self.test.of(searched.filters.tests);
        test.dispatch_indirect(pass, summary.dispatches.raw(), offset_of!(Dispatches, sweep_test), &buffers);
    }
}
