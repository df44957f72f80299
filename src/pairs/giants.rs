//! Giants against all boxes: a few against each, many against those near their bounds.

use std::mem::offset_of;

use super::sweep::Hits;
use crate::filters::lists::{FilterLists, FilteredKernel, filtered};
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::{Kernel, Pass, Source};
use crate::grid::Entries;
use crate::grid::bin::Bins;
use crate::layout::{Counts, Dispatches, Frame, Params};

/// The source of `giants_test`.
pub const TEST: Source =
    filtered!("pairs/giants_test", "pairs/giants_walk", "pairs/giants_block", "pairs/hit_count", "shared/boxes");
/// The source of `giants_rows`.
pub const ROWS: Source =
    filtered!("pairs/giants_rows", "pairs/giants_near", "pairs/rows_of_boxes", "pairs/row_bounds", "shared/boxes");
/// The source of `giants_join`.
pub const JOIN: Source = filtered!(
    "pairs/giants_join",
    "pairs/joined_walk",
    "pairs/giants_block",
    "pairs/hit_count",
    "pairs/giants_near",
    "pairs/rows_of_boxes",
    "pairs/row_bounds",
    "shared/boxes"
);
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: &[Source] = &[TEST, ROWS, JOIN];

/// The kernels of the stage `giants`.
#[derive(Debug)]
pub struct Giants {
    test: FilteredKernel,
    rows: FilteredKernel,
    join: FilteredKernel,
}

impl Giants {
    /// Looks up the kernels of the stage.
    pub fn new(gpu: &Gpu) -> Self {
        let [test, rows, join] = [&TEST, &ROWS, &JOIN].map(|source| FilteredKernel::new(gpu, source));
        Self { test, rows, join }
    }

    /// Returns the kernels that the stage dispatches, where filters are tested or not.
    pub fn kernels(&self, are_tested: bool) -> [&Kernel; 3] {
        [&self.test, &self.rows, &self.join].map(|kernel| kernel.of(are_tested))
    }

    /// Records the exact tests of all giants among the entries, by one way or another.
    #[allow(clippy::too_many_arguments)] // what it reads, then what it writes
    pub fn record(
        &self,
        pass: &mut Pass,
        params: &Buffer<Params>,
        boxes: wgpu::BindingResource,
        filters: &FilterLists,
        counts: &Buffer<Counts>,
        dispatches: &Buffer<Dispatches>,
        frame: &Buffer<Frame>,
        bins: &Bins,
        sorted: &Entries,
        hits: &Hits,
    ) {
        let own = [
            ("params", params.all()),
            ("boxes", boxes),
            ("counts", counts.all()),
            ("frame", frame.all()),
            ("row_bounds", sorted.row_bounds().all()),
        ];
        let buffers = [own.into(), filters.bound(), bins.bound(), sorted.bound(), hits.bound()].concat();
        for (kernel, size) in [
            (&self.test, offset_of!(Dispatches, giants_test)),
            (&self.rows, offset_of!(Dispatches, giants_rows)),
            (&self.join, offset_of!(Dispatches, giants_join)),
        ] {
            kernel.of(filters.are_tested).dispatch_indirect(pass, dispatches.raw(), size, &buffers);
        }
    }
}
