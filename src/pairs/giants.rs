//! The stage `giants`: tests giants against all boxes, and divides the sweep among workgroups.

use super::sweep::{Hits, Path};
use crate::filters::lists::{FilteredKernel, PairTests, filtered};
use crate::gpu::Gpu;
use crate::gpu::kernel::{Kernel, Pass, Source};
use crate::grid::{BoxBuffers, Entries, GridSummary};

/// The source of `giants_test`.
pub const TEST: Source = filtered!(
    "pairs/giants_test",
    "pairs/giants_walk",
    "pairs/path_totals",
    "pairs/hit_count",
    "shared/boxes",
    "shared/scan"
);
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: &[Source] = &[TEST];

/// The kernels of the stage `giants`.
#[derive(Debug)]
pub struct GiantsStage {
    test: FilteredKernel,
}

impl GiantsStage {
    /// Looks up the kernels of the stage.
    pub fn new(gpu: &Gpu) -> Self {
        Self { test: FilteredKernel::new(gpu, &TEST) }
    }

    /// Returns the kernels that the stage dispatches, with these tests.
    pub fn kernels(&self, tests: PairTests) -> [&Kernel; 1] {
        [self.test.of(tests)]
    }

    /// Records `giants_test`: tests all giants exactly, and divides the path. The giant sizes of `summary` specify the
    /// workgroups. Reads the boxes, their filters, the entries and giants. Changes `path` and the counts of `summary`.
    /// Writes `hits` and the dispatches of `summary`.
    pub fn record(
        &self,
        pass: &mut Pass,
        searched: &BoxBuffers<'_>,
        summary: &GridSummary,
        sorted: &Entries,
        path: &Path,
        hits: &Hits,
    ) {
        let own = vec![("counts", summary.counts.all()), ("dispatches", summary.dispatches.all())];
        let buffers = [own, searched.bound(), sorted.bound(), path.bound(), hits.bound()].concat();
        self.test.of(searched.filters.tests).dispatch_indirect(pass, summary.giant_sizes.raw(), 0, &buffers);
    }
}
