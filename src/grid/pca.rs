//! Statistics of the boxes by reduction: bounds, then sums of centroids, of their products and of edges.

use crate::constants::{MOMENT_BLOCK, MOMENT_BOXES, PCA_BLOCK, PCA_GROUPS};
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::{Kernel, Pass, Source, source};
use crate::layout::{BoundsPartial, Moments, Params};

/// The source of `pca_bounds`.
pub const BOUNDS: Source = source!("grid/pca_bounds", "grid/pca_reduce", "shared/boxes", "shared/box_quads");
/// The source of `pca_moments`.
pub const MOMENTS: Source = source!("grid/pca_moments", "grid/pca_reduce", "shared/boxes", "shared/box_quads");
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: &[Source] = &[BOUNDS, MOMENTS];

/// Returns the number of workgroups of `pca_bounds`, and of partial results, for `box_count` boxes.
pub fn groups(box_count: u32) -> u32 {
    box_count.div_ceil(PCA_BLOCK).clamp(1, PCA_GROUPS)
}

/// Returns the number of workgroups of `pca_moments`, and of partial results, for `box_count` boxes.
pub fn moment_groups(box_count: u32) -> u32 {
    box_count.min(MOMENT_BOXES).div_ceil(MOMENT_BLOCK).max(1)
}

/// The kernels of the stage `pca`.
#[derive(Debug)]
pub struct Pca {
    bounds: Kernel,
    moments: Kernel,
}

impl Pca {
    /// Looks up the kernels of the stage.
    pub fn new(gpu: &Gpu) -> Self {
        Self { bounds: Kernel::new(gpu, &BOUNDS), moments: Kernel::new(gpu, &MOMENTS) }
    }

    /// Returns the kernels that the stage dispatches.
    pub fn kernels(&self) -> [&Kernel; 2] {
        [&self.bounds, &self.moments]
    }

    /// Records both reductions, over `box_count` boxes.
    pub fn record(
        &self,
        pass: &mut Pass,
        box_count: u32,
        params: &Buffer<Params>,
        boxes: wgpu::BindingResource,
        bounds: &Buffer<BoundsPartial>,
        moments: &Buffer<Moments>,
    ) {
        let buffers = [
            ("params", params.all()),
            ("boxes", boxes.clone()),
            ("box_quads", boxes),
            ("bounds", bounds.all()),
            ("moments", moments.all()),
        ];
        self.bounds.dispatch(pass, groups(box_count), &buffers);
        self.moments.dispatch(pass, moment_groups(box_count), &buffers);
    }
}
