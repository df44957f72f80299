//! Giants against all boxes.

use std::mem::offset_of;

use super::sweep::Hits;
use crate::Error;
use crate::filters::lists::{FilterLists, Uses};
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::{Kernel, Pass, Source, source};
use crate::grid::bin::Bins;
use crate::layout::{Counts, Dispatches, Frame, Params};

/// The source of `giants_test`.
pub const TEST: Source = source!(
    "pairs/giants_test",
    "pairs/giants_walk",
    "shared/boxes",
    "filters/filters",
    "filters/half_space",
    "filters/float_parts"
);

/// The kernels of the stage `giants`.
#[derive(Debug)]
pub struct Giants {
    test: Kernel,
}

impl Giants {
    /// Compiles the stage for filters with these uses.
    ///
    /// # Errors
    /// [`Error::Gpu`] where the driver rejects a kernel.
    pub fn new(gpu: &Gpu, uses: Uses) -> Result<Self, Error> {
        Ok(Self { test: Kernel::specialised(gpu, &TEST, &uses.switches())? })
    }

    /// Compiles the kernels that depend on the filters now, unless they are compiled already.
    ///
    /// # Errors
    /// [`Error::Gpu`] where the driver rejects a kernel.
    pub fn compile(&self, gpu: &Gpu) -> Result<(), Error> {
        self.test.compile(gpu)
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
        self.test.dispatch_indirect(pass, dispatches.raw(), offset_of!(Dispatches, giants_test), &buffers);
    }
}
