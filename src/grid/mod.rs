//! The grid: boxes sorted into columns along the sweep axis. [`Grid`] is its memory, [`GridKernels`] builds it.
//!
//! A consumer reads the grid to find boxes that are near each other. The search for pairs is the only consumer so far.
//! Consumers do not depend on each other. Data derived from a build are valid while the grid
//! [has that build](Grid::holds).

pub mod bin;
mod box_buffers;
pub mod frame;
pub mod pca;
pub mod sort;
mod sort_trial;

pub use box_buffers::BoxBuffers;
pub use sort_trial::{choose, sort_variant};

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::Error;
use crate::base::constants::*;
use crate::base::layout::{BoundsPartial, Counts, Dispatches, Frame};
use crate::filters::device::FilterSet;
use crate::filters::lists::PairTests;
use crate::gpu::Gpu;
use crate::gpu::kernel::{Kernel, Pass};
use crate::gpu::sort_buffers::SortBuffers;
use crate::gpu::table::{CONSTANT, Row, SIZES, STORAGE, buffer_table};
use bin::{Bin, Bins};
use frame::FrameStage;
use pca::Pca;
use sort::Sort;

/// The capacity of a grid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridCapacity {
    /// Boxes.
    pub boxes: u64,
    /// Entries: (box, cell) incidences. The grid is coarsened until its entries fit.
    pub entries: u64,
}

/// A grid on the GPU, and its current build.
#[derive(Debug)]
pub struct Grid {
    /// The statistics over all boxes, and the frame and the counts that follow from them.
    pub summary: GridSummary,
    /// The cells and the interval of each box, and the counts of each block of boxes.
    pub bins: Bins,
    /// The entries, and the giants, which have no entries.
    pub entries: Entries,
    build: Option<GridBuild>,
}

/// The id of a build, unique among all builds of all [`Grid`]s.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridBuild(u64);

static BUILDS: AtomicU64 = AtomicU64::new(0);

buffer_table! {
    /// The statistics over all boxes, and the frame and the counts that follow from them.
    pub struct GridSummary(_capacity: GridCapacity) {
        /// The partial bounds of each workgroup of `pca_bounds`.
        bounds: [BoundsPartial; u64::from(PCA_GROUPS)], STORAGE;
        /// The axes, the cell size and the sort key.
        frame: [Frame; 1], CONSTANT;
        /// The counts of all stages, including the stages of pairs.
        counts: [Counts; 1], CONSTANT;
        /// Sizes of indirect dispatches of the stages that find pairs.
        dispatches: [Dispatches; 1], SIZES;
        /// The dispatch size of `giants_test`. It is separate from `dispatches`, which `giants_test` itself writes.
        giant_sizes: [[u32; 3]; 1], SIZES;
    }
}

buffer_table! {
    /// The entries, sorted by cell and start, and the giants.
    pub struct Entries(capacity: GridCapacity) {
        /// `[entry_count]` the key of each entry: cell and start; ascending.
        keys: [u32; capacity.entries], STORAGE;
        /// `[entry_count]` box and flags of each entry, in the order of the keys; entries with equal keys ascend by
        /// box. After the capacity for entries: `[giant_count]` giants, ascending.
        entries: [u32; first_giant(capacity.entries) + capacity.boxes.max(1)], STORAGE;
        /// Scratch of the sort.
        other_keys: [u32; capacity.entries], STORAGE;
        /// Scratch of the sort.
        other_entries: [u32; capacity.entries], STORAGE;
        /// Scratch of the sort.
        histograms: [u32; sort::histogram_u32_count(capacity.entries)], STORAGE;
        /// Sums of the sort, initially zero.
        digit_sums: [u32; sort::digit_sum_u32_count(capacity.entries)], STORAGE;
    }
}

impl Grid {
    /// Allocates the memory of a grid.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(gpu: &Gpu, capacity: &GridCapacity) -> Result<Self, Error> {
        let (summary, bins) = (GridSummary::new(gpu, capacity)?, Bins::new(gpu, capacity)?);
        Ok(Self { summary, bins, entries: Entries::new(gpu, capacity)?, build: None })
    }

    /// Lists the buffers of a grid with their bytes for this capacity.
    pub fn rows(capacity: &GridCapacity) -> impl Iterator<Item = Row> + use<> {
        GridSummary::rows(capacity).chain(Bins::rows(capacity)).chain(Entries::rows(capacity))
    }

    /// Lists the buffers of the grid with their allocated bytes.
    pub fn allocated(&self) -> impl Iterator<Item = Row> {
        self.summary.allocated().chain(self.bins.allocated()).chain(self.entries.allocated())
    }

    /// Returns `true` if `build` is the last recorded build of this grid, and no later command has overwritten it.
    pub fn holds(&self, build: GridBuild) -> bool {
        self.build == Some(build)
    }

    /// Marks the grid as without a build. Call this before recording other commands that write to the buffers of the
    /// grid.
    pub fn forget(&mut self) {
        self.build = None;
    }

    /// Records the clearing of the buffers that the kernels add to, before the pass of
    /// [`record_build`](Self::record_build).
    pub fn record_clear(&self, encoder: &mut wgpu::CommandEncoder, box_count: u32, filters: &FilterSet) {
        encoder.clear_buffer(self.summary.counts.raw(), 0, None);
        self.bins.record_clear(encoder, box_count);
        self.entries.sort_buffers().record_clear(encoder);
        if filters.checked().world_count() > 0 {
            encoder.clear_buffer(filters.world_cells().raw(), 0, None);
        }
    }

    /// Records the build of the grid of these boxes, which replaces the earlier build. `entry_capacity` and `key_bits`
    /// must equal the values in the parameters. The lists of `searched` must belong to `filters`.
    ///
    /// # Errors
    /// The errors of [`GridKernels::sort`].
    pub fn record_build(
        &mut self,
        pass: &mut Pass,
        kernels: &GridKernels,
        searched: &BoxBuffers<'_>,
        entry_capacity: u32,
        key_bits: u32,
        filters: &FilterSet,
    ) -> Result<GridBuild, Error> {
        self.forget();
        let GridKernels { pca, frame: choice, bin, .. } = kernels;
        let sort = kernels.sort()?;
        let GridSummary { bounds, frame, counts, .. } = &self.summary;
        let world_cells = filters.world_cells();
        let sorted = &self.entries.sort_buffers();
        let BoxBuffers { box_count, params, boxes, .. } = searched;

        pca.record(pass, *box_count, params, boxes.clone(), bounds);
        choice.record(pass, params, boxes.clone(), bounds, frame);
        if filters.checked().world_count() > 0 {
            bin.record_worlds(pass, searched, frame, world_cells);
        }
        bin.record_count(pass, searched, frame, world_cells, &self.bins);
        let first_giant = first_giant(entry_capacity.into());
        let (keys, entries) = sort.start(sorted, key_bits);
        let (lists, giants) = ((keys.all(), entries.up_to(first_giant)), self.entries.entries.from(first_giant));
        bin.record_scatter(pass, searched, &self.summary, &self.bins, lists, giants);
        sort.record_entries(pass, counts, entry_capacity, sorted, key_bits);
        let build = GridBuild(BUILDS.fetch_add(1, Ordering::Relaxed));
        self.build = Some(build);
        Ok(build)
    }
}

/// Returns the index of the first giant in `entries`, after the capacity for entries. It is not 0, since an empty range
/// cannot be bound.
fn first_giant(entry_capacity: u64) -> u64 {
    entry_capacity.max(1).next_multiple_of(ENTRY_ALIGNMENT.into())
}

impl Entries {
    /// Returns keys and entries as the buffers of the sort.
    fn sort_buffers(&self) -> SortBuffers {
        let Self { keys, entries, other_keys, other_entries, histograms, digit_sums, .. } = self;
        SortBuffers::of([keys, entries, other_keys, other_entries, histograms, digit_sums])
    }
}

/// The kernels that build a grid.
#[derive(Debug)]
pub struct GridKernels {
    gpu: Gpu,
    pca: Pca,
    frame: FrameStage,
    bin: Bin,
    sort: OnceLock<Sort>,
}

impl GridKernels {
    /// Looks up the kernels.
    pub fn new(gpu: &Gpu) -> Self {
        let (pca, frame, bin) = (Pca::new(gpu), FrameStage::new(gpu), Bin::new(gpu));
        Self { gpu: gpu.clone(), pca, frame, bin, sort: OnceLock::new() }
    }

    /// Returns the sort, which the stages that find pairs share. The first call on a device with subgroups **blocks**
    /// for a trial.
    ///
    /// # Errors
    /// The errors of [`sort_variant`]; [`Error::OutOfMemory`].
    pub fn sort(&self) -> Result<&Sort, Error> {
        if let Some(sort) = self.sort.get() {
            return Ok(sort);
        }
        let sort = Sort::with_variant(&self.gpu, sort_variant(&self.gpu)?)?;
        Ok(self.sort.get_or_init(|| sort))
    }

    /// Returns the kernels that the build of a grid dispatches, with these tests and worlds.
    ///
    /// # Errors
    /// The errors of [`sort`](Self::sort).
    pub fn kernels(&self, tests: PairTests, has_worlds: bool) -> Result<Vec<&Kernel>, Error> {
        let (bin, worlds) = self.bin.kernels(tests);
        let mut kernels = [&self.pca.kernels()[..], &self.frame.kernels(), &bin, &self.sort()?.kernels()].concat();
        kernels.extend(has_worlds.then_some(worlds));
        Ok(kernels)
    }
}
