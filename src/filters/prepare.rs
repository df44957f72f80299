//! The boxes as they are searched, where margins or half-spaces change them, and how many there are.

use crate::Aabb;
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::{Kernel, Pass, Source, source};
use crate::layout::Params;

/// The source of `prepare_boxes`.
pub const BOXES: Source = source!("filters/prepare_boxes", "filters/grow", "shared/boxes", "shared/float_parts");
/// The source of `prepare_count`.
pub const COUNT: Source = source!("filters/prepare_count");
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: &[Source] = &[COUNT, BOXES];

/// The kernels of the stage.
#[derive(Debug)]
pub struct Prepare {
    count: Kernel,
    boxes: Kernel,
}

impl Prepare {
    /// Looks up the kernels of the stage.
    pub fn new(gpu: &Gpu) -> Self {
        Self { count: Kernel::new(gpu, &COUNT), boxes: Kernel::new(gpu, &BOXES) }
    }

    /// Records the making of `params` out of those that are `given`, with the number of boxes that `count` begins with, and of the
    /// sizes of dispatches for so many blocks of boxes.
    pub fn record_count(
        &self,
        pass: &mut Pass,
        given: &Buffer<Params>,
        count: wgpu::BindingResource,
        params: &Buffer<Params>,
        block_sizes: &Buffer<[u32; 3]>,
    ) {
        let sizes = ("block_sizes", block_sizes.all());
        let buffers = [("given", given.all()), ("count", count), ("params", params.all()), sizes];
        self.count.dispatch(pass, 1, &buffers);
    }

    /// Returns the kernels that the stage dispatches for boxes that are not searched as they come.
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
