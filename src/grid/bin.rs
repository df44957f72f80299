//! The stage `bin`: finds the cells of each box, counts its entries, then writes them.

use super::box_buffers::BoxBuffers;
use super::{GridCapacity, GridSummary};
use crate::base::constants::{BIN_BLOCK, BIN_COUNTS, BIN_GROUP};
use crate::base::layout::Frame;
use crate::filters::lists::{FilteredKernel, PairTests};
use crate::filters::rows;
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::{Kernel, Pass, Source, source};
use crate::gpu::table::{STORAGE, buffer_table};

/// The source of `bin_worlds`.
pub const WORLDS: Source = source!("grid/bin_worlds", "shared/boxes", "grid/cells", "filters/by_box"; rows::WGSL);
/// The source of `bin_count`.
pub const COUNT: Source = source!(
    "grid/bin_count", "shared/boxes", "shared/box_quads", "grid/cells", "filters/by_box";
    rows::WGSL
);
/// The source of `bin_scatter`.
pub const SCATTER: Source = source!("grid/bin_scatter", "grid/bin_level", "grid/bin_giants", "shared/scan");
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: &[Source] = &[WORLDS, COUNT, SCATTER];

/// The kernels of the stage `bin`.
#[derive(Debug)]
pub struct Bin {
    worlds: Kernel,
    count: FilteredKernel,
    scatter: Kernel,
}

buffer_table! {
    /// The buffers that [`Bin::record_count`] and [`Bin::record_scatter`] fill per box and per block of boxes.
    pub struct Bins(capacity: GridCapacity) {
        /// `[box_count]` first and last cell (u, v, u, v), or a marker for a box without cells. The quantised start on
        /// the sweep axis, with the bits of the world above it. Format:
        /// [`packed_cells`](crate::base::layout::packed_cells).
        cells: [[u32; 4]; capacity.boxes], STORAGE;
        /// `[box_count]` quantised end on the sweep axis, and the footprint in the first and last cells.
        box_ends: [[u32; 2]; capacity.boxes], STORAGE;
        /// `[groups * BIN_COUNTS]` sums over each `BIN_GROUP` blocks, initially zero: entries and giants at each level
        /// of coarsening, and invalid boxes. Then `[blocks * BIN_COUNTS]` the same counts of each block.
        block_counts: [u32; (bin_groups(capacity.boxes) + capacity.boxes.div_ceil(u64::from(BIN_BLOCK))) * u64::from(BIN_COUNTS)], STORAGE;
    }
}

/// Returns the count of groups of blocks for this box count.
fn bin_groups(boxes: u64) -> u64 {
    boxes.div_ceil(u64::from(BIN_BLOCK * BIN_GROUP))
}

impl Bins {
    /// Records the clearing of the sums to which `bin_count` adds. `boxes` is an upper limit of the box count.
    pub fn record_clear(&self, encoder: &mut wgpu::CommandEncoder, boxes: u32) {
        let bytes = bin_groups(u64::from(boxes)) * u64::from(4 * BIN_COUNTS);
        encoder.clear_buffer(self.block_counts.raw(), 0, Some(bytes));
    }
}

impl Bin {
    /// Looks up the kernels of the stage.
    pub fn new(gpu: &Gpu) -> Self {
        Self {
            worlds: Kernel::new(gpu, &WORLDS),
            count: FilteredKernel::new(gpu, &COUNT),
            scatter: Kernel::new(gpu, &SCATTER),
        }
    }

    /// Returns the kernels of each search with these tests, and the additional kernel of a search with worlds.
    pub fn kernels(&self, tests: PairTests) -> ([&Kernel; 2], &Kernel) {
        ([self.count.of(tests.min(PairTests::Lists)), &self.scatter], &self.worlds)
    }

    /// Records `bin_worlds`: finds the range of cells of each world. `world_cells` must be zero.
    pub fn record_worlds(
        &self,
        pass: &mut Pass,
        searched: &BoxBuffers<'_>,
        frame: &Buffer<Frame>,
        world_cells: &Buffer<[u32; 4]>,
    ) {
        let own = vec![("frame", frame.all()), ("world_cells", world_cells.all())];
        self.worlds.dispatch(pass, searched.box_count.div_ceil(256), &[own, searched.bound()].concat());
    }

    /// Records `bin_count`: computes the cells and the interval of each box, and counts entries. Record it after
    /// [`Bins::record_clear`]. The kernel reads `world_cells` if the filters have worlds.
    pub fn record_count(
        &self,
        pass: &mut Pass,
        searched: &BoxBuffers<'_>,
        frame: &Buffer<Frame>,
        world_cells: &Buffer<[u32; 4]>,
        bins: &Bins,
    ) {
        let own =
            vec![("box_quads", searched.boxes.clone()), ("frame", frame.all()), ("world_cells", world_cells.all())];
        let buffers = [own, searched.bound(), bins.bound()].concat();
        let count = self.count.of(searched.filters.tests.min(PairTests::Lists));
        match searched.block_sizes {
            Some(sizes) => count.dispatch_indirect(pass, sizes.raw(), 0, &buffers),
            None => count.dispatch(pass, searched.box_count.div_ceil(BIN_BLOCK), &buffers),
        }
    }

    /// Records `bin_scatter`: chooses the level of coarsening, and writes the entries with their keys to the first
    /// lists of the sort. It also lists the giants and the first invalid boxes. Reads the box count and the parameters
    /// of `searched`, and the frame of `summary`. Writes the counts and the giant sizes of `summary`.
    pub fn record_scatter(
        &self,
        pass: &mut Pass,
        searched: &BoxBuffers<'_>,
        summary: &GridSummary,
        bins: &Bins,
        (keys, entries): (wgpu::BindingResource, wgpu::BindingResource),
        giants: wgpu::BindingResource,
    ) {
        let own = vec![("params", searched.params.all()), ("keys", keys), ("entries", entries), ("giants", giants)];
        let buffers = [own, summary.bound(), bins.bound()].concat();
        match searched.block_sizes {
            Some(sizes) => self.scatter.dispatch_indirect(pass, sizes.raw(), 0, &buffers),
            // At least one workgroup, which writes the counts of an empty grid.
            None => self.scatter.dispatch(pass, searched.box_count.div_ceil(BIN_BLOCK).max(1), &buffers),
        }
    }
}
