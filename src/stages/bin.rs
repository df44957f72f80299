//! Cells of each box, and its entries: count, scan, scatter.

use std::mem::offset_of;

use super::filter::{FilterLists, Uses};
use super::layout::{Counts, Dispatches, Frame, Params};
use crate::Error;
use crate::constants::BIN_BLOCK;
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::{Kernel, Pass, Source, source};

/// `bin_worlds`.
pub const WORLDS: Source = source!("bin_worlds", "boxes", "cells", "filters", "half_space", "float_parts");
/// `bin_count`.
pub const COUNT: Source = source!("bin_count", "boxes", "cells", "filters", "half_space", "float_parts");
/// `bin_scan`.
pub const SCAN: Source = source!("bin_scan", "scan");
/// `bin_scatter`.
pub const SCATTER: Source = source!("bin_scatter", "scan");

/// The stage.
#[derive(Debug)]
pub struct Bin {
    worlds: Kernel,
    count: Kernel,
    scan: Kernel,
    scatter: Kernel,
}

/// What [`Bin::record_count`] and [`Bin::record_scatter`] keep per box and per block of boxes.
#[derive(Debug)]
pub struct Bins {
    /// `[box_count]` first and last cell (u, v, u, v), or a marker where there is none.
    pub cells: Buffer<[i32; 4]>,
    /// `[box_count]` quantised (start, end) on the sweep axis, extent in the first and last cells, 0; above
    /// the start, the bits that tell its world apart.
    pub positions: Buffer<[u32; 4]>,
    /// `[blocks * BIN_COUNTS]` entries and giants at each level of coarsening, invalid boxes.
    pub block_counts: Buffer<u32>,
    /// `[blocks]` entries, giants, invalid boxes before the block.
    pub block_offsets: Buffer<[u32; 4]>,
}

impl Bin {
    /// Compiles the stage for filters that need this.
    ///
    /// # Errors
    /// [`Error::Gpu`] where the driver rejects a kernel.
    pub fn new(gpu: &Gpu, uses: Uses) -> Result<Self, Error> {
        Ok(Self {
            worlds: Kernel::specialised(gpu, &WORLDS, &uses.world_switches())?,
            count: Kernel::specialised(gpu, &COUNT, &uses.world_switches())?,
            scan: Kernel::new(gpu, &SCAN)?,
            scatter: Kernel::new(gpu, &SCATTER)?,
        })
    }

    /// Compiles now what depends on the filters, if it is not yet.
    ///
    /// # Errors
    /// [`Error::Gpu`] where the driver rejects a kernel.
    pub fn compile(&self, gpu: &Gpu) -> Result<(), Error> {
        self.worlds.compile(gpu)?;
        self.count.compile(gpu)
    }

    /// The cells that the boxes of each world are in. `world_cells` has zeros before.
    #[allow(clippy::too_many_arguments)] // what it reads, then what it writes
    pub fn record_worlds(
        &self,
        pass: &mut Pass,
        box_count: u32,
        params: &Buffer<Params>,
        boxes: wgpu::BindingResource,
        filters: &FilterLists,
        frame: &Buffer<Frame>,
        world_cells: &Buffer<[u32; 4]>,
    ) {
        let buffers = [
            ("params", params.all()),
            ("boxes", boxes),
            ("filter_layout", filters.layout.all()),
            ("filters", filters.words.all()),
            ("frame", frame.all()),
            ("world_cells", world_cells.all()),
        ];
        self.worlds.dispatch(pass, box_count.div_ceil(256), &buffers);
    }

    /// Cells, positions and counts of `box_count` boxes. `world_cells` is looked at where the filters have worlds.
    #[allow(clippy::too_many_arguments)] // what it reads, then what it writes
    pub fn record_count(
        &self,
        pass: &mut Pass,
        box_count: u32,
        params: &Buffer<Params>,
        boxes: wgpu::BindingResource,
        filters: &FilterLists,
        frame: &Buffer<Frame>,
        world_cells: &Buffer<[u32; 4]>,
        bins: &Bins,
    ) {
        let buffers = [
            ("params", params.all()),
            ("boxes", boxes),
            ("filter_layout", filters.layout.all()),
            ("filters", filters.words.all()),
            ("frame", frame.all()),
            ("world_cells", world_cells.all()),
            ("cells", bins.cells.all()),
            ("positions", bins.positions.all()),
            ("block_counts", bins.block_counts.all()),
        ];
        self.count.dispatch(pass, box_count.div_ceil(BIN_BLOCK), &buffers);
    }

    /// How coarse, and where each block's entries go.
    pub fn record_scan(
        &self,
        pass: &mut Pass,
        params: &Buffer<Params>,
        frame: &Buffer<Frame>,
        bins: &Bins,
        counts: &Buffer<Counts>,
        dispatches: &Buffer<Dispatches>,
    ) {
        let buffers = [
            ("params", params.all()),
            ("frame", frame.all()),
            ("block_counts", bins.block_counts.all()),
            ("block_offsets", bins.block_offsets.all()),
            ("counts", counts.all()),
            ("dispatches", dispatches.all()),
        ];
        self.scan.dispatch(pass, 1, &buffers);
    }

    /// Entries with their keys, giants, and the first invalid boxes. Keys and entries go to the first of `starts` where
    /// the sort takes an even number of steps, to the second where it takes an odd one: `bin_scan` has left one of the
    /// two dispatches empty.
    #[allow(clippy::too_many_arguments)] // what it reads, then what it writes
    pub fn record_scatter(
        &self,
        pass: &mut Pass,
        params: &Buffer<Params>,
        frame: &Buffer<Frame>,
        bins: &Bins,
        counts: &Buffer<Counts>,
        dispatches: &Buffer<Dispatches>,
        starts: [(&Buffer<u32>, &Buffer<u32>); 2],
        giants: &Buffer<u32>,
    ) {
        for (parity, (keys, entries)) in starts.into_iter().enumerate() {
            let buffers = [
                ("params", params.all()),
                ("frame", frame.all()),
                ("counts", counts.all()),
                ("cells", bins.cells.all()),
                ("positions", bins.positions.all()),
                ("block_offsets", bins.block_offsets.all()),
                ("keys", keys.all()),
                ("entries", entries.all()),
                ("giants", giants.all()),
            ];
            let offset = offset_of!(Dispatches, bin_scatter) + parity * size_of::<[u32; 3]>();
            self.scatter.dispatch_indirect(pass, dispatches.raw(), offset, &buffers);
        }
    }
}
