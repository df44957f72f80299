//! The stage `frame`: chooses the sweep axis, the cells and the sort key.

use crate::base::layout::{BoundsPartial, Frame, Params};
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::{Kernel, Pass, Source, source};

/// The source of `frame_choose`.
pub const CHOOSE: Source = source!(
    "grid/frame_choose",
    "grid/frame_eigen",
    "grid/frame_sample",
    "grid/frame_sort",
    "grid/pca_reduce",
    "shared/boxes"
);
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: &[Source] = &[CHOOSE];

/// The kernels of the stage `frame`.
#[derive(Debug)]
pub struct FrameStage {
    choose: Kernel,
}

impl FrameStage {
    /// Looks up the kernels of the stage.
    pub fn new(gpu: &Gpu) -> Self {
        Self { choose: Kernel::new(gpu, &CHOOSE) }
    }

    /// Returns the kernels that the stage dispatches.
    pub fn kernels(&self) -> [&Kernel; 1] {
        [&self.choose]
    }

    /// Records the choice of the frame, from the bounds and a sample of the boxes.
    pub fn record(
        &self,
        pass: &mut Pass,
        params: &Buffer<Params>,
        boxes: wgpu::BindingResource,
        bounds: &Buffer<BoundsPartial>,
        frame: &Buffer<Frame>,
    ) {
        let buffers = [("params", params.all()), ("boxes", boxes), ("bounds", bounds.all()), ("frame", frame.all())];
        self.choose.dispatch(pass, 1, &buffers);
    }
}
