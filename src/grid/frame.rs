//! The sweep axis, the grid and the sort key.

use crate::Error;
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::{Kernel, Pass, Source, source};
use crate::layout::{BoundsPartial, Frame, Moments, Params};

/// The source of `frame_choose`.
pub const CHOOSE: Source = source!("grid/frame_choose", "grid/pca_reduce", "shared/boxes");

/// The kernels of the stage `frame`.
#[derive(Debug)]
pub struct FrameStage {
    choose: Kernel,
}

impl FrameStage {
    /// Compiles the stage.
    ///
    /// # Errors
    /// [`Error::Gpu`] where the driver rejects a kernel.
    pub fn new(gpu: &Gpu) -> Result<Self, Error> {
        Ok(Self { choose: Kernel::new(gpu, &CHOOSE)? })
    }

    /// Records the choice of the frame, from the statistics and a sample of the boxes.
    pub fn record(
        &self,
        pass: &mut Pass,
        params: &Buffer<Params>,
        boxes: wgpu::BindingResource,
        bounds: &Buffer<BoundsPartial>,
        moments: &Buffer<Moments>,
        frame: &Buffer<Frame>,
    ) {
        let buffers = [
            ("params", params.all()),
            ("boxes", boxes),
            ("bounds", bounds.all()),
            ("moments", moments.all()),
            ("frame", frame.all()),
        ];
        self.choose.dispatch(pass, 1, &buffers);
    }
}
