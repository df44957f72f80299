//! Giants against all boxes, and how the sweep is divided.

use super::sweep::{Hits, Path};
use crate::filters::lists::{FilterLists, FilteredKernel, filtered};
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::{Kernel, Pass, Source};
use crate::grid::Entries;
use crate::layout::{Counts, Dispatches, Params};

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
pub struct Giants {
    test: FilteredKernel,
}

impl Giants {
    /// Looks up the kernels of the stage.
    pub fn new(gpu: &Gpu) -> Self {
        Self { test: FilteredKernel::new(gpu, &TEST) }
    }

    /// Returns the kernels that the stage dispatches, where filters are tested or not.
    pub fn kernels(&self, are_tested: bool) -> [&Kernel; 1] {
        [self.test.of(are_tested)]
    }

    /// Records the exact tests of all giants, as often as `giant_sizes` says, and the division of the path.
    #[allow(clippy::too_many_arguments)] // what it reads, then what it writes
    pub fn record(
        &self,
        pass: &mut Pass,
        params: &Buffer<Params>,
        boxes: wgpu::BindingResource,
        filters: &FilterLists,
        counts: &Buffer<Counts>,
        giant_sizes: &Buffer<[u32; 3]>,
        dispatches: &Buffer<Dispatches>,
        sorted: &Entries,
        path: &Path,
        hits: &Hits,
    ) {
        let own =
            [("params", params.all()), ("boxes", boxes), ("counts", counts.all()), ("dispatches", dispatches.all())];
        let buffers = [own.into(), filters.bound(), sorted.bound(), path.bound(), hits.bound()].concat();
        self.test.of(filters.are_tested).dispatch_indirect(pass, giant_sizes.raw(), 0, &buffers);
    }
}
