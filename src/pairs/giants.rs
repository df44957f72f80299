//! Giants against all boxes: a few against each, many against those near their bounds.

use std::mem::offset_of;

use super::sweep::Hits;
use crate::filters::lists::{FilterLists, Switches, filtered};
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::{Kernel, Pass, Source};
use crate::grid::Entries;
use crate::grid::bin::Bins;
use crate::layout::{Counts, Dispatches, Frame, Params};

/// The source of `giants_test`.
pub const TEST: Source = filtered!("pairs/giants_test", "pairs/giants_walk", "pairs/giants_block", "shared/boxes");
/// The source of `giants_rows`.
pub const ROWS: Source =
    filtered!("pairs/giants_rows", "pairs/giants_near", "pairs/rows_of_boxes", "pairs/row_bounds", "shared/boxes");
/// The source of `giants_join`.
pub const JOIN: Source = filtered!(
    "pairs/giants_join",
    "pairs/joined_walk",
    "pairs/giants_block",
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
    test: Kernel,
    rows: Kernel,
    join: Kernel,
}

impl Giants {
    /// Looks up the kernels of the stage for filters with these switches.
    pub fn new(gpu: &Gpu, switches: &Switches) -> Self {
        let filtered = |source| Kernel::specialised(gpu, source, switches.names());
        let rows = Kernel::specialised(gpu, &ROWS, switches.half_space_names());
        Self { test: filtered(&TEST), rows, join: filtered(&JOIN) }
    }

    /// Returns the kernels that the stage dispatches.
    pub fn kernels(&self) -> [&Kernel; 3] {
        [&self.test, &self.rows, &self.join]
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
        let buffers = [
            ("params", params.all()),
            ("boxes", boxes),
            ("filter_layout", filters.layout.all()),
            ("filters", filters.words.all()),
            ("counts", counts.all()),
            ("frame", frame.all()),
            ("cells", bins.cells.all()),
            ("entries", sorted.entries.all()),
            ("giants", sorted.giants.all()),
            ("row_bounds", sorted.row_bounds().all()),
            ("hit_words", hits.hit_words.all()),
            ("block_hits", hits.block_hits.all()),
        ];
        self.test.dispatch_indirect(pass, dispatches.raw(), offset_of!(Dispatches, giants_test), &buffers);
        self.rows.dispatch_indirect(pass, dispatches.raw(), offset_of!(Dispatches, giants_rows), &buffers);
        self.join.dispatch_indirect(pass, dispatches.raw(), offset_of!(Dispatches, giants_join), &buffers);
    }
}
