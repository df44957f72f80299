//! The stage `pca`: reduces the boxes to their bounds.

use crate::base::constants::{PCA_BLOCK, PCA_GROUPS};
use crate::base::layout::{BoundsPartial, Params};
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::{Kernel, Pass, Source, source};

/// The source of `pca_bounds`.
pub const BOUNDS: Source = source!("grid/pca_bounds", "grid/pca_reduce", "shared/boxes", "shared/box_quads");
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: &[Source] = &[BOUNDS];

/// Returns the count of workgroups of `pca_bounds` for `box_count` boxes. Each writes one partial result.
pub fn groups(box_count: u32) -> u32 {
    box_count.div_ceil(PCA_BLOCK).clamp(1, PCA_GROUPS)
}

/// The kernels of the stage `pca`.
#[derive(Debug)]
pub struct Pca {
    bounds: Kernel,
}

impl Pca {
    /// Looks up the kernels of the stage.
    pub fn new(gpu: &Gpu) -> Self {
        Self { bounds: Kernel::new(gpu, &BOUNDS) }
    }

    /// Returns the kernels that the stage dispatches.
    pub fn kernels(&self) -> [&Kernel; 1] {
        [&self.bounds]
    }

    /// Records the reduction over `box_count` boxes.
    pub fn record(
        &self,
        pass: &mut Pass,
        box_count: u32,
        params: &Buffer<Params>,
        boxes: wgpu::BindingResource,
        bounds: &Buffer<BoundsPartial>,
    ) {
        let buffers =
            [("params", params.all()), ("boxes", boxes.clone()), ("box_quads", boxes), ("bounds", bounds.all())];
        self.bounds.dispatch(pass, groups(box_count), &buffers);
    }
}
