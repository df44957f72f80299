//! Cells of each box, and its entries: count, scan, scatter.

use std::mem::offset_of;

use super::GridRoom;
use super::sort::Sort;
use crate::constants::{BIN_BLOCK, BIN_COUNTS};
use crate::filters::lists::{FilterLists, FilteredKernel, filtered};
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::{Kernel, Pass, Source, source};
use crate::gpu::table::{STORAGE, buffer_table};
use crate::layout::{Counts, Dispatches, Frame, Params};

/// The source of `bin_worlds`.
pub const WORLDS: Source = filtered!("grid/bin_worlds", "shared/boxes", "grid/cells");
/// The source of `bin_count`.
pub const COUNT: Source = filtered!("grid/bin_count", "shared/boxes", "shared/box_quads", "grid/cells");
/// The source of `bin_scan`.
pub const SCAN: Source = source!("grid/bin_scan", "shared/scan");
/// The source of `bin_scatter`.
pub const SCATTER: Source = source!("grid/bin_scatter", "shared/scan");
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: &[Source] = &[WORLDS, COUNT, SCAN, SCATTER];

/// The kernels of the stage `bin`.
#[derive(Debug)]
pub struct Bin {
    worlds: Kernel,
    count: FilteredKernel,
    scan: Kernel,
    scatter: Kernel,
}

buffer_table! {
    /// The buffers that [`Bin::record_count`] and [`Bin::record_scatter`] fill per box and per block of boxes.
    pub struct Bins(room: GridRoom) {
        /// `[box_count]` first and last cell (u, v, u, v), or a marker where there is none, and the quantised start on
        /// the sweep axis with the bits that tell the world apart above: [`packed_cells`](crate::layout::packed_cells).
        cells: [[u32; 4]; room.boxes], STORAGE;
        /// `[box_count]` quantised end on the sweep axis, and footprint in the first and last cells.
        box_ends: [[u32; 2]; room.boxes], STORAGE;
        /// `[blocks * BIN_COUNTS]` entries and giants at each level of coarsening, invalid boxes.
        block_counts: [u32; room.boxes.div_ceil(u64::from(BIN_BLOCK)) * u64::from(BIN_COUNTS)], STORAGE;
        /// `[blocks]` entries, giants, invalid boxes before the block.
        bin_offsets: [[u32; 4]; room.boxes.div_ceil(u64::from(BIN_BLOCK))], STORAGE;
    }
}

impl Bin {
    /// Looks up the kernels of the stage.
    pub fn new(gpu: &Gpu) -> Self {
        Self {
            worlds: Kernel::new(gpu, &WORLDS),
            count: FilteredKernel::new(gpu, &COUNT),
            scan: Kernel::new(gpu, &SCAN),
            scatter: Kernel::new(gpu, &SCATTER),
        }
    }

    /// Returns the kernels that the stage always dispatches, where filters are tested or not, and the one that it dispatches where there
    /// are worlds.
    pub fn kernels(&self, are_tested: bool) -> ([&Kernel; 3], &Kernel) {
        ([self.count.of(are_tested), &self.scan, &self.scatter], &self.worlds)
    }

    /// Records the search for the cells that the boxes of each world are in. `world_cells` has zeros before.
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
        let own = vec![
            ("params", params.all()),
            ("boxes", boxes),
            ("frame", frame.all()),
            ("world_cells", world_cells.all()),
        ];
        self.worlds.dispatch(pass, box_count.div_ceil(256), &[own, filters.bound()].concat());
    }

    /// Records the finding of cells, intervals and counts of `box_count` boxes, or of as many blocks of them as `block_sizes` says. The
    /// kernel reads `world_cells` where
    /// the filters have worlds.
    #[allow(clippy::too_many_arguments)] // what it reads, then what it writes
    pub fn record_count(
        &self,
        pass: &mut Pass,
        box_count: u32,
        block_sizes: Option<&Buffer<[u32; 3]>>,
        params: &Buffer<Params>,
        boxes: wgpu::BindingResource,
        filters: &FilterLists,
        frame: &Buffer<Frame>,
        world_cells: &Buffer<[u32; 4]>,
        bins: &Bins,
    ) {
        let own = [
            ("params", params.all()),
            ("boxes", boxes.clone()),
            ("box_quads", boxes),
            ("frame", frame.all()),
            ("world_cells", world_cells.all()),
        ];
        let buffers = [own.into(), filters.bound(), bins.bound()].concat();
        let count = self.count.of(filters.are_tested);
        match block_sizes {
            Some(sizes) => count.dispatch_indirect(pass, sizes.raw(), 0, &buffers),
            None => count.dispatch(pass, box_count.div_ceil(BIN_BLOCK), &buffers),
        }
    }

    /// Records the choice of the level of coarsening, of the places where each block's entries go, and of the steps that
    /// `sort` takes.
    #[allow(clippy::too_many_arguments)] // what it reads, then what it writes
    pub fn record_scan(
        &self,
        pass: &mut Pass,
        params: &Buffer<Params>,
        frame: &Buffer<Frame>,
        bins: &Bins,
        sort: &Sort,
        counts: &Buffer<Counts>,
        dispatches: &Buffer<Dispatches>,
    ) {
        let own = vec![
            ("params", params.all()),
            ("sort_pass", sort.a_pass()),
            ("frame", frame.all()),
            ("counts", counts.all()),
            ("dispatches", dispatches.all()),
        ];
        self.scan.dispatch(pass, 1, &[own, bins.bound()].concat());
    }

    /// Records the writing of entries with their keys, of giants, and of the first invalid boxes. Keys and entries go
    /// to the first of `starts` where the sort takes an even number of steps, to the second where it takes an odd one:
    /// `bin_scan` has left one of the two dispatches empty.
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
            let own = vec![
                ("params", params.all()),
                ("frame", frame.all()),
                ("counts", counts.all()),
                ("keys", keys.all()),
                ("entries", entries.all()),
                ("giants", giants.all()),
            ];
            let offset = offset_of!(Dispatches, bin_scatter) + parity * size_of::<[u32; 3]>();
            self.scatter.dispatch_indirect(pass, dispatches.raw(), offset, &[own, bins.bound()].concat());
        }
    }
}
