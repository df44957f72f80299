//! Where each interval ends among the sorted starts, and the path that follows from it.

use super::sweep::Path;
use crate::constants::PATH_SECTION;
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::{Kernel, Pass, Source, source};
use crate::layout::{Counts, Frame};

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

    /// Records the finding of the path from sorted `keys` and `entries`, of which there are at most `capacity`, behind
    /// [`Path::record_clear`].
    #[allow(clippy::too_many_arguments)] // what it reads, then what it writes
    pub fn record(
        &self,
        pass: &mut Pass,
        capacity: u32,
        frame: &Buffer<Frame>,
        counts: &Buffer<Counts>,
        keys: &Buffer<u32>,
        entries: &Buffer<u32>,
        box_ends: &Buffer<[u32; 2]>,
        path: &Path,
    ) {
        let buffers = [
            ("frame", frame.all()),
            ("counts", counts.all()),
            ("keys", keys.all()),
            ("key_quads", keys.all()),
            ("entries", entries.all()),
            ("box_ends", box_ends.all()),
            ("stretches", path.stretches.all()),
            ("footprints", path.footprints.all()),
            ("path_bases", path.path_bases.all()),
        ];
        self.ends.dispatch(pass, capacity.div_ceil(PATH_SECTION), &buffers);
    }
}
