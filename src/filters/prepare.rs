//! The boxes as they are searched, where margins or half-spaces change them.

use crate::Aabb;
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::{Kernel, Pass, Source, source};
use crate::layout::Params;

/// The source of `prepare_boxes`.
pub const BOXES: Source = source!("filters/prepare_boxes", "shared/boxes", "shared/float_parts");
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: &[Source] = &[BOXES];

/// The kernel of the stage.
#[derive(Debug)]
pub struct Prepare {
    boxes: Kernel,
}

impl Prepare {
    /// Looks up the kernels of the stage.
    pub fn new(gpu: &Gpu) -> Self {
        Self { boxes: Kernel::new(gpu, &BOXES) }
    }

    /// Returns the kernels that the stage dispatches.
    pub fn kernels(&self) -> [&Kernel; 1] {
        [&self.boxes]
    }

    /// Records the preparing of the first `n` boxes: they are grown by their `margins`, and the whole space stands in place
    /// of those whose bit is set. `params` has the same number. What lies beyond the end of `margins` or `half_space_bits`
    /// counts as zero: where there are none, a buffer of any length that holds zeros stands for them.
    #[allow(clippy::too_many_arguments)] // what it reads, then what it writes
    pub fn record(
        &self,
        pass: &mut Pass,
        n: u32,
        params: &Buffer<Params>,
        boxes: wgpu::BindingResource,
        margins: &Buffer<f32>,
        half_space_bits: &Buffer<u32>,
        prepared: &Buffer<Aabb>,
    ) {
        let buffers = [
            ("params", params.all()),
            ("boxes", boxes),
            ("margins", margins.all()),
            ("half_space_bits", half_space_bits.all()),
            ("prepared", prepared.all()),
        ];
        self.boxes.dispatch(pass, n.div_ceil(256), &buffers);
    }
}
