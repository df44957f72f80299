//! Buffers of the caller's.

use std::num::NonZeroU64;

use super::Gpu;
use crate::{Aabb, Error};

/// Checks that a slice has room for this many boxes and can be bound.
///
/// # Errors
/// [`Error::BadBuffer`].
pub fn check_boxes(gpu: &Gpu, boxes: wgpu::BufferSlice<'_>, box_count: u32) -> Result<(), Error> {
    check::<Aabb>(gpu, boxes, box_count, "box", "boxes")
}

/// Binds the first `box_count` boxes of a slice; `None` where there is nothing to bind.
pub fn bind_boxes(boxes: wgpu::BufferSlice<'_>, box_count: u32) -> Option<wgpu::BindingResource<'_>> {
    bind::<Aabb>(boxes, box_count)
}

/// Checks that a slice has room for `count` elements of type `T`, which messages call so, and can be bound.
///
/// # Errors
/// [`Error::BadBuffer`].
pub fn check<T>(
    gpu: &Gpu,
    slice: wgpu::BufferSlice<'_>,
    count: u32,
    buffer: &'static str,
    elements: &str,
) -> Result<(), Error> {
    let (required, has) = (bytes::<T>(count), slice.size());
    let alignment = u64::from(gpu.device().limits().min_storage_buffer_offset_alignment);
    let problem = if count == 0 {
        return Ok(());
    } else if has < required {
        format!("holds {has} bytes, and {count} {elements} take {required}")
    } else if !slice.buffer().usage().contains(wgpu::BufferUsages::STORAGE) {
        "was made without BufferUsages::STORAGE".to_owned()
    } else if !slice.offset().is_multiple_of(alignment) {
        let offset = slice.offset();
        format!("is used from byte {offset} on, and the device binds storage at multiples of {alignment}")
    } else {
        return Ok(());
    };
    Err(Error::BadBuffer { buffer, problem })
}

/// Binds the first `count` elements of a slice; `None` where there is nothing to bind.
pub fn bind<T>(slice: wgpu::BufferSlice<'_>, count: u32) -> Option<wgpu::BindingResource<'_>> {
    let size = NonZeroU64::new(bytes::<T>(count))?;
    let (buffer, offset) = (slice.buffer(), slice.offset());
    Some(wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset, size: Some(size) }))
}

fn bytes<T>(count: u32) -> u64 {
    u64::from(count) * size_of::<T>() as u64
}
