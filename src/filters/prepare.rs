//! Kernels that prepare a search: they pad boxes, set the box count, and copy filters from external buffers.

use super::device::FilterBuffers;
use super::values::ValueFormat;
use crate::base::layout::{FilterChange, Params};
use crate::gpu::Gpu;
use crate::gpu::buffers::{Buffer, Constants};
use crate::gpu::kernel::{Kernel, Pass, Source, source};
use crate::{Aabb, Error};

/// The source of `prepare_boxes`.
pub const BOXES: Source =
    source!("filters/prepare_boxes", "shared/boxes", "shared/sum_rounded_up", "shared/float_parts");
/// The source of `prepare_count`.
pub const COUNT: Source = source!("filters/prepare_count");
/// The source of `prepare_worlds`.
pub const WORLDS: Source = source!("filters/prepare_worlds");
/// The source of `prepare_planes`.
pub const PLANES: Source = source!("filters/prepare_planes");
/// The source of `prepare_spheres`.
pub const SPHERES: Source = source!("filters/prepare_spheres", "shared/sum_rounded_up", "shared/float_parts");
/// The source of `prepare_points`.
pub const POINTS: Source = source!("filters/prepare_points", "shared/sum_rounded_up", "shared/float_parts");
/// The source of `prepare_filter`.
pub const FILTER: Source = source!("filters/prepare_filter");
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: &[Source] = &[FILTER, WORLDS, PLANES, SPHERES, POINTS, COUNT, BOXES];

/// The kernels of the stage.
#[derive(Debug)]
pub struct Prepare {
    count: Kernel,
    boxes: Kernel,
    filter: Kernel,
    worlds: Kernel,
    planes: Kernel,
    spheres: Kernel,
    points: Kernel,
    changes: Constants<FilterChange>,
}

impl Prepare {
    /// Looks up the kernels of the stage.
    pub fn new(gpu: &Gpu) -> Self {
        Self {
            count: Kernel::new(gpu, &COUNT),
            boxes: Kernel::new(gpu, &BOXES),
            filter: Kernel::new(gpu, &FILTER),
            worlds: Kernel::new(gpu, &WORLDS),
            planes: Kernel::new(gpu, &PLANES),
            spheres: Kernel::new(gpu, &SPHERES),
            points: Kernel::new(gpu, &POINTS),
            changes: Constants::new("filter_change"),
        }
    }

    /// Records `prepare_count`: writes `params` and the dispatch sizes for blocks of boxes. `params` becomes
    /// `max_params`. If there is a `count`, its first number becomes the box count. The box count becomes 0 if this
    /// number exceeds the box count of `max_params`, or if the device refused a list of excluded pairs that
    /// exceeds its capacity (`refused`).
    pub fn record_count(
        &self,
        pass: &mut Pass,
        max_params: &Buffer<Params>,
        count: Option<wgpu::BindingResource>,
        refused: &Buffer<u32>,
        params: &Buffer<Params>,
        block_sizes: &Buffer<[u32; 3]>,
    ) {
        let buffers = [
            ("max_params", max_params.all()),
            // The box count is the first field of the parameters.
            ("count", count.unwrap_or_else(|| max_params.all())),
            ("refused", refused.all()),
            ("params", params.all()),
            ("block_sizes", block_sizes.all()),
        ];
        self.count.dispatch(pass, 1, &buffers);
    }

    /// Records the copy of `external` values to a list by box in `words`. The first call on the device compiles the
    /// kernel.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn record_filter<T: bytemuck::Pod>(
        &self,
        gpu: &Gpu,
        pass: &mut Pass,
        format: ValueFormat,
        change: FilterChange,
        external: wgpu::BindingResource,
        words: &Buffer<T>,
    ) -> Result<(), Error> {
        let FilterChange { first, count, .. } = change;
        let changed_u32_count =
            if format == ValueFormat::Flags { (first + count).div_ceil(32) - first / 32 } else { count };
        let change = FilterChange { format: format as u32, ..change };
        let buffers = [("new_values", external), ("words", words.all())];
        self.record_change(gpu, pass, &self.filter, changed_u32_count, change, &buffers)
    }

    /// Records the copy of the numbers of `external` worlds to their list, like [`record_filter`](Self::record_filter).
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn record_worlds(
        &self,
        gpu: &Gpu,
        pass: &mut Pass,
        change: FilterChange,
        external: wgpu::BindingResource,
        world_ids: &Buffer<[u32; 2]>,
        words: &Buffer<u32>,
    ) -> Result<(), Error> {
        let ids = ("world_ids", world_ids.all());
        let buffers = [("new_values", external), ids, ("words", words.all())];
        self.record_change(gpu, pass, &self.worlds, change.count, change, &buffers)
    }

    /// Records the copy of `external` half-spaces to their list, like [`record_filter`](Self::record_filter).
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn record_planes(
        &self,
        gpu: &Gpu,
        pass: &mut Pass,
        change: FilterChange,
        external: wgpu::BindingResource,
        words: &Buffer<u32>,
    ) -> Result<(), Error> {
        let buffers = [("new_values", external), ("words", words.all())];
        self.record_change(gpu, pass, &self.planes, change.count, change, &buffers)
    }

    /// Records the copy of `external` spheres to their list, padded by `margins`, like
    /// [`record_filter`](Self::record_filter). Margins beyond the end count as zero.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn record_spheres(
        &self,
        gpu: &Gpu,
        pass: &mut Pass,
        change: FilterChange,
        external: wgpu::BindingResource,
        margins: &Buffer<f32>,
        words: &Buffer<u32>,
    ) -> Result<(), Error> {
        let buffers = [("new_values", external), ("margins", margins.all()), ("words", words.all())];
        self.record_change(gpu, pass, &self.spheres, change.count, change, &buffers)
    }

    /// Records `prepare_points`: computes the boxes and the spheres of `external` points. The first call on the device
    /// compiles the kernel.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn record_points(
        &self,
        gpu: &Gpu,
        pass: &mut Pass,
        change: FilterChange,
        external: wgpu::BindingResource,
        boxes: &Buffer<Aabb>,
        words: &Buffer<u32>,
    ) -> Result<(), Error> {
        let buffers = [("points", external), ("boxes", boxes.all()), ("words", words.all())];
        self.record_change(gpu, pass, &self.points, change.count, change, &buffers)
    }

    /// Records the dispatch of a kernel with this many invocations, which applies `change`.
    fn record_change(
        &self,
        gpu: &Gpu,
        pass: &mut Pass,
        kernel: &Kernel,
        invocations: u32,
        change: FilterChange,
        buffers: &[(&str, wgpu::BindingResource<'_>)],
    ) -> Result<(), Error> {
        let change = self.changes.get(gpu, change)?;
        kernel.dispatch(pass, invocations.div_ceil(256), &[&[("change", change.all())], buffers].concat());
        Ok(())
    }

    /// Returns the kernels that the stage dispatches if filters change the boxes.
    pub fn kernels(&self) -> [&Kernel; 1] {
        [&self.boxes]
    }

    /// Returns `prepare_count`. It runs if the box count is in a buffer, or if the device may refuse filters.
    pub fn count_kernel(&self) -> &Kernel {
        &self.count
    }

    /// Records `prepare_boxes`: writes the first `n` boxes, prepared, to `prepared_boxes` of `filters`. The boxes are
    /// padded by `margins`. The whole space replaces boxes whose bit in `half_space_bits` is set. `params` must have
    /// the same box count. Values after the end of either list count as zero, so a buffer of zeros stands for an absent
    /// list.
    pub fn record(
        &self,
        pass: &mut Pass,
        n: u32,
        params: &Buffer<Params>,
        boxes: wgpu::BindingResource,
        filters: &FilterBuffers,
    ) {
        let buffers = [
            ("params", params.all()),
            ("boxes", boxes),
            ("margins", filters.margins.all()),
            ("half_space_bits", filters.half_space_bits.all()),
            ("prepared", filters.prepared_boxes.all()),
        ];
        self.boxes.dispatch(pass, n.div_ceil(256), &buffers);
    }
}
