//! The sweep: the path through all candidates, and the exact test of each.

use std::mem::offset_of;

use crate::constants::{ENTRY_STRIDE, HIT_SUMS, HIT_TILE, MOST_BLOCKS, PATH_SECTION, RUN_WORDS, TILE_QUADS};
use crate::filters::lists::{FilterLists, FilteredKernel, filtered};
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::{Kernel, Pass, Source, source};
use crate::gpu::table::{STORAGE, buffer_table};
use crate::layout::{Counts, Dispatches, Params};

/// The source of `sweep_count`.
pub const COUNT: Source = source!("pairs/sweep_count", "shared/scan");
/// The source of `sweep_scan`.
pub const SCAN: Source = source!("pairs/sweep_scan", "shared/scan");
/// The source of `sweep_test`.
pub const TEST: Source = filtered!("pairs/sweep_test", "pairs/sweep_walk", "pairs/hit_count", "shared/boxes");
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: &[Source] = &[COUNT, SCAN, TEST];

/// The kernels of the stage `sweep`.
#[derive(Debug)]
pub struct Sweep {
    count: Kernel,
    scan: Kernel,
    test: FilteredKernel,
}

/// The room that a search has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchRoom {
    /// Entries of the grid.
    pub entries: u64,
    /// Tiles of the sweep whose runs are kept.
    pub tiles: u64,
    /// Tiles of tests, of giants or of `small`, whose bits are kept.
    pub giant_tiles: u64,
}

impl SearchRoom {
    /// Returns the most blocks of tiles that there can be, of the sweep and of giants together, and at least as many as
    /// `small` has counts.
    fn blocks(&self) -> u64 {
        // Where each entry has all later ones as candidates: a quarter of a quad for each, and up to two quads beyond those.
        let quads = self.entries * self.entries / 8 + 2 * self.entries;
        let sweep_tiles = quads.div_ceil(u64::from(TILE_QUADS));
        let giant_tiles = self.entries * self.entries.div_ceil(u64::from(HIT_TILE));
        let most = |blocks: u64| blocks.min(u64::from(MOST_BLOCKS));
        let found = most(sweep_tiles) + most(giant_tiles);
        found.max(self.giant_tiles.min(2 * u64::from(MOST_BLOCKS)))
    }
}

buffer_table! {
    /// The path of the sweep: for each entry the quads that hold its candidates.
    pub struct Path(room: SearchRoom) {
        /// `[entry_count]`, zeros up to a multiple of ENTRY_STRIDE: where the candidates of each entry end.
        stretches: [u32; room.entries.next_multiple_of(u64::from(ENTRY_STRIDE))], STORAGE;
        /// `[entry_count]`, and room for one more and whole quads: where in its cell the box begins and ends.
        footprints: [u32; (room.entries + 1).next_multiple_of(4)], STORAGE;
        /// `[sections]` quads and candidates in the section, each low and high half.
        path_sums: [[u32; 4]; room.entries.div_ceil(u64::from(PATH_SECTION))], STORAGE;
        /// `[sections + 1]` quads before the section, low and high half; the last is the length of the path. Behind them
        /// `[entry_count / ENTRY_STRIDE]` quads before every `ENTRY_STRIDE`-th entry within its section.
        path_bases: [[u32; 2]; room.entries.div_ceil(u64::from(PATH_SECTION)) + 1
            + room.entries.div_ceil(u64::from(ENTRY_STRIDE))], STORAGE;
    }
}

buffer_table! {
    /// The results of the exact tests of `sweep` and `giants`, or of `small`.
    pub struct Hits(room: SearchRoom) {
        /// `[tiles * RUN_WORDS * 256]` what each run of `sweep` found, as far as there is room: the first words of all
        /// runs of a tile, then the second ones, then the third ones.
        runs: [u32; room.tiles * 256 * u64::from(RUN_WORDS)], STORAGE;
        /// `[tiles * 256]` a bit per test of `giants_test`, as far as there is room, or of `small`; or what each invocation of
        /// `giants_join` found, and behind those `[tiles]`: the giants that may meet boxes of each.
        hit_words: [u32; room.giant_tiles * 257], STORAGE;
        /// `[HIT_SUMS]` sums, low and high half, zero before `sweep_test`; behind them `[sweep_blocks + giant_blocks]` pairs of each
        /// block of tiles. Or the counts of `small_test`.
        block_hits: [u32; u64::from(2 * HIT_SUMS) + room.blocks()], STORAGE;
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
        Self { count: Kernel::new(gpu, &COUNT), scan: Kernel::new(gpu, &SCAN), test: FilteredKernel::new(gpu, &TEST) }
    }

    /// Returns the kernels that the stage dispatches, where filters are tested or not.
    pub fn kernels(&self, are_tested: bool) -> [&Kernel; 3] {
        [&self.count, &self.scan, self.test.of(are_tested)]
    }

    /// Records the finding of the places that at most `capacity` entries have on the path.
    pub fn record_count(&self, pass: &mut Pass, counts: &Buffer<Counts>, capacity: u32, path: &Path) {
        let buffers = [vec![("counts", counts.all())], path.bound()].concat();
        self.count.dispatch(pass, capacity.div_ceil(PATH_SECTION), &buffers);
    }

    /// Records the counting of the candidates, and the division of their tests and of the tests of giants among
    /// workgroups.
    pub fn record_scan(
        &self,
        pass: &mut Pass,
        params: &Buffer<Params>,
        counts: &Buffer<Counts>,
        dispatches: &Buffer<Dispatches>,
        path: &Path,
    ) {
        let own = [("params", params.all()), ("counts", counts.all()), ("dispatches", dispatches.all())];
        let buffers = [own.into(), path.bound()].concat();
        self.scan.dispatch(pass, 1, &buffers);
    }

    /// Records the exact tests.
    #[allow(clippy::too_many_arguments)] // what it reads, then what it writes
    pub fn record_test(
        &self,
        pass: &mut Pass,
        params: &Buffer<Params>,
        boxes: wgpu::BindingResource,
        filters: &FilterLists,
        counts: &Buffer<Counts>,
        dispatches: &Buffer<Dispatches>,
        entries: &Buffer<u32>,
        path: &Path,
        hits: &Hits,
    ) {
        let own = [("params", params.all()), ("boxes", boxes), ("counts", counts.all()), ("entries", entries.all())];
        let buffers = [own.into(), filters.bound(), path.bound(), hits.bound()].concat();
        let test = self.test.of(filters.are_tested);
        test.dispatch_indirect(pass, dispatches.raw(), offset_of!(Dispatches, sweep_test), &buffers);
    }
}
