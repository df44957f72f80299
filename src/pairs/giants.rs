//! Giants against all boxes.

use std::mem::offset_of;

use super::sweep::Hits;
use crate::filters::lists::{FilterLists, Switches, filtered};
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::{Kernel, Pass, Source, source};
use crate::grid::bin::Bins;
use crate::layout::{Counts, Dispatches, Frame, Params};

/// The source of `giants_near`.
pub const NEAR: Source = source!("pairs/giants_near", "shared/boxes");
/// The source of `giants_test`.
pub const TEST: Source = filtered!("pairs/giants_test", "pairs/giants_walk", "shared/boxes");
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: &[Source] = &[NEAR, TEST];

/// The kernels of the stage `giants`.
#[derive(Debug)]
pub struct Giants {
    near: Kernel,
    test: Kernel,
}

impl Giants {
    /// Looks up the kernels of the stage for filters with these switches.
    pub fn new(gpu: &Gpu, switches: &Switches) -> Self {
        Self { near: Kernel::new(gpu, &NEAR), test: Kernel::specialised(gpu, &TEST, switches.names()) }
    }

    /// Returns the kernels that the stage dispatches.
    pub fn kernels(&self) -> [&Kernel; 2] {
        [&self.near, &self.test]
    }

    /// Records the exact tests of all `giants`.
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
        giants: &Buffer<u32>,
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
            ("giants", giants.all()),
            ("hit_words", hits.hit_words.all()),
            ("block_hits", hits.block_hits.all()),
        ];
        self.near.dispatch_indirect(pass, dispatches.raw(), offset_of!(Dispatches, giants_near), &buffers);
        self.test.dispatch_indirect(pass, dispatches.raw(), offset_of!(Dispatches, giants_test), &buffers);
    }
}
