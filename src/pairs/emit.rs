//! The stage `emit`: writes the compacted list of pairs, or any range of it.

use std::mem::offset_of;

use super::PairBuffers;
use super::sweep::Hits;
use crate::Pair;
use crate::base::layout::{Counts, Dispatches, Params, Window};
use crate::filters::lists::{FilteredKernel, PairTests, filtered};
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::{Kernel, Pass, Source, source};
use crate::grid::{BoxBuffers, Entries, GridSummary};

/// The source of `emit_sweep`.
pub const SWEEP: Source =
    source!("pairs/emit_sweep", "pairs/emit_header", "pairs/emit_window", "pairs/hit_sums", "shared/scan");
/// The source of `emit_again`.
pub const AGAIN: Source = filtered!(
    "pairs/emit_again",
    "pairs/giants_list",
    "pairs/giants_walk",
    "pairs/sweep_walk",
    "pairs/path",
    "shared/boxes",
    "pairs/emit_window",
    "pairs/hit_sums",
    "shared/scan"
);
/// The source of `emit_range`.
pub const RANGE: Source = source!("pairs/emit_range", "shared/scan");
/// The source of `emit_include`.
pub const INCLUDE: Source = source!("pairs/emit_include", "pairs/emit_window");
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: &[Source] = &[RANGE, SWEEP, AGAIN, INCLUDE];

/// The kernels of the stage `emit`.
#[derive(Debug)]
pub struct Emit {
    range: Kernel,
    sweep: Kernel,
    again: FilteredKernel,
    include: Kernel,
}

impl Emit {
    /// Looks up the kernels of the stage.
    pub fn new(gpu: &Gpu) -> Self {
        Self {
            range: Kernel::new(gpu, &RANGE),
            sweep: Kernel::new(gpu, &SWEEP),
            again: FilteredKernel::new(gpu, &AGAIN),
            include: Kernel::new(gpu, &INCLUDE),
        }
    }

    /// Returns the kernels that write the windows of a list, with these tests, and the kernel that writes included
    /// pairs.
    pub fn kernels(&self, tests: PairTests) -> ([&Kernel; 3], &Kernel) {
        ([&self.range, &self.sweep, self.again.of(tests)], &self.include)
    }

    /// Records `emit_include`: writes the included pairs in the window, after all other pairs. `params` has the count
    /// of included pairs.
    pub fn record_include(
        &self,
        pass: &mut Pass,
        params: &Buffer<Params>,
        window: &Buffer<Window>,
        counts: &Buffer<Counts>,
        included: &Buffer<Pair>,
        pairs: &Buffer<Pair>,
    ) {
        let buffers = [
            ("params", params.all()),
            ("window", window.all()),
            ("counts", counts.all()),
            ("included", included.all()),
            ("pairs", pairs.all()),
        ];
        self.include.dispatch(pass, (included.len() as u32).div_ceil(256), &buffers);
    }

    /// Records `emit_range`: finds the blocks that have pairs in `window`. Record it before
    /// [`record_pairs`](Self::record_pairs) of each window, except the first window of the search.
    pub fn record_range(
        &self,
        pass: &mut Pass,
        params: &Buffer<Params>,
        window: &Buffer<Window>,
        hits: &Hits,
        counts: &Buffer<Counts>,
        dispatches: &Buffer<Dispatches>,
    ) {
        let buffers = [
            ("params", params.all()),
            ("window", window.all()),
            ("block_hits", hits.block_hits.all()),
            ("counts", counts.all()),
            ("dispatches", dispatches.all()),
        ];
        self.range.dispatch(pass, 1, &buffers);
    }

    /// Records `emit_sweep` and `emit_again`: writes the pairs in `window` to the list, and the counts of pairs to
    /// `summary`. Reads the boxes, their filters, the entries and giants, the path and the hits. The dispatches of
    /// `summary` specify the workgroups.
    pub fn record_pairs(
        &self,
        pass: &mut Pass,
        searched: &BoxBuffers<'_>,
        window: &Buffer<Window>,
        summary: &GridSummary,
        sorted: &Entries,
        PairBuffers { path, hits, list }: &PairBuffers,
    ) {
        let own = vec![("window", window.all()), ("counts", summary.counts.all())];
        let tables = [searched.bound(), sorted.bound(), path.bound(), hits.bound(), list.list.bound()];
        let (buffers, dispatches) = ([own, tables.concat()].concat(), &summary.dispatches);
        self.sweep.dispatch_indirect(pass, dispatches.raw(), offset_of!(Dispatches, emit_sweep), &buffers);
        let again = self.again.of(searched.filters.tests);
        again.dispatch_indirect(pass, dispatches.raw(), offset_of!(Dispatches, emit_again), &buffers);
    }
}
