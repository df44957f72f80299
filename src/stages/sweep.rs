//! The sweep: the path through all candidates, and the exact test of each.

use std::mem::offset_of;

use super::filter::{FilterLists, Uses};
use super::layout::{Counts, Dispatches, Params, Run, Step};
use crate::Error;
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::{Kernel, Pass, Source, source};

/// `sweep_count`.
pub const COUNT: Source = source!("sweep_count", "scan");
/// `sweep_scan`.
pub const SCAN: Source = source!("sweep_scan", "scan");
/// `sweep_test`.
pub const TEST: Source = source!("sweep_test", "sweep_walk", "boxes", "filters", "half_space", "float_parts");

/// The stage.
#[derive(Debug)]
pub struct Sweep {
    count: Kernel,
    scan: Kernel,
    test: Kernel,
}

/// The path of the sweep: for each entry the quads that hold its candidates.
#[derive(Debug)]
pub struct Path {
    /// `[entry_count]` where each entry stands within its block, and its end.
    pub steps: Buffer<Step>,
    /// `[entry_count]`, and room for one more and whole quads: where in its cell the box begins and ends.
    pub extents: Buffer<u32>,
    /// `[blocks]` quads and candidates in the block.
    pub sums: Buffer<[u32; 2]>,
    /// `[blocks + 1]` quads before the block, low and high half; the last is the length of the path.
    pub bases: Buffer<[u32; 2]>,
}

/// What the exact tests of `sweep` and `giants` found.
#[derive(Debug)]
pub struct Hits {
    /// `[tiles * 256]` what each run of `sweep` found, as far as there is room.
    pub runs: Buffer<Run>,
    /// `[tiles * 256]` pairs before the run within its block of tiles.
    pub run_offsets: Buffer<u32>,
    /// `[tiles * 256]` a bit per test of `giants`, as far as there is room; or of `small`.
    pub words: Buffer<u32>,
    /// `[sweep_blocks + giant_blocks]` pairs found by each block of tiles, zero before `sweep_test`; or the counts of
    /// `small_test`.
    pub block_hits: Buffer<u32>,
    /// `[sweep_blocks + giant_blocks + 1]` pairs before each block, low and high half.
    pub block_offsets: Buffer<[u32; 2]>,
}

impl Sweep {
    /// Compiles the stage for filters that need this.
    ///
    /// # Errors
    /// [`Error::Gpu`] where the driver rejects a kernel.
    pub fn new(gpu: &Gpu, uses: Uses) -> Result<Self, Error> {
        Ok(Self {
            count: Kernel::new(gpu, &COUNT)?,
            scan: Kernel::new(gpu, &SCAN)?,
            test: Kernel::specialised(gpu, &TEST, &uses.switches())?,
        })
    }

    /// Compiles now what depends on the filters, if it is not yet.
    ///
    /// # Errors
    /// [`Error::Gpu`] where the driver rejects a kernel.
    pub fn compile(&self, gpu: &Gpu) -> Result<(), Error> {
        self.test.compile(gpu)
    }

    /// Where on the path each entry stands.
    pub fn record_count(&self, pass: &mut Pass, counts: &Buffer<Counts>, dispatches: &Buffer<Dispatches>, path: &Path) {
        let buffers = [("counts", counts.all()), ("steps", path.steps.all()), ("path_sums", path.sums.all())];
        self.count.dispatch_indirect(pass, dispatches.raw(), offset_of!(Dispatches, sweep_count), &buffers);
    }

    /// How many candidates there are, and how their tests and those of the giants are divided.
    pub fn record_scan(
        &self,
        pass: &mut Pass,
        params: &Buffer<Params>,
        counts: &Buffer<Counts>,
        dispatches: &Buffer<Dispatches>,
        path: &Path,
    ) {
        let buffers = [
            ("params", params.all()),
            ("counts", counts.all()),
            ("path_sums", path.sums.all()),
            ("path_bases", path.bases.all()),
            ("dispatches", dispatches.all()),
        ];
        self.scan.dispatch(pass, 1, &buffers);
    }

    /// The exact tests.
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
        let buffers = [
            ("params", params.all()),
            ("boxes", boxes),
            ("filter_layout", filters.layout.all()),
            ("filters", filters.words.all()),
            ("counts", counts.all()),
            ("entries", entries.all()),
            ("steps", path.steps.all()),
            ("extents", path.extents.all()),
            ("path_bases", path.bases.all()),
            ("runs", hits.runs.all()),
            ("block_hits", hits.block_hits.all()),
        ];
        self.test.dispatch_indirect(pass, dispatches.raw(), offset_of!(Dispatches, sweep_test), &buffers);
    }
}
