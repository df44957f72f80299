//! The stage `rank`: finds the end of each entry's interval among the sorted starts, and the path of the sweep.

use super::sweep::Path;
use crate::base::constants::PATH_SECTION;
use crate::gpu::Gpu;
use crate::gpu::kernel::{Kernel, Pass, Source, source};
use crate::grid::bin::Bins;
use crate::grid::{Entries, GridSummary};

/// The source of `rank_ends`.
pub const ENDS: Source = source!("pairs/rank_ends", "pairs/path", "shared/scan");
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: &[Source] = &[ENDS];

/// The kernels of the stage `rank`.
#[derive(Debug)]
pub struct Rank {
    ends: Kernel,
}

impl Rank {
    /// Looks up the kernels of the stage.
    pub fn new(gpu: &Gpu) -> Self {
        Self { ends: Kernel::new(gpu, &ENDS) }
    }

    /// Returns the kernels that the stage dispatches.
    pub fn kernels(&self) -> [&Kernel; 1] {
        [&self.ends]
    }

    /// Records `rank_ends`: computes the path from the sorted entries, at most `capacity`. Record it after
    /// [`Path::record_clear`]. Reads the frame and the counts of `summary`, and the ends of boxes in `bins`. Writes
    /// `path`.
    pub fn record(
        &self,
        pass: &mut Pass,
        capacity: u32,
        summary: &GridSummary,
        bins: &Bins,
        sorted: &Entries,
        path: &Path,
    ) {
        let own = [
            ("frame", summary.frame.all()),
            ("counts", summary.counts.all()),
            ("box_ends", bins.box_ends.all()),
            ("key_quads", sorted.keys.all()),
        ];
        let buffers = [own.into(), sorted.bound(), path.bound()].concat();
        self.ends.dispatch(pass, capacity.div_ceil(PATH_SECTION), &buffers);
    }
}
