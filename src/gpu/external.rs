//! Checks and binds external buffers, which belong to the caller.

use std::num::NonZeroU64;

use super::Gpu;
use crate::{Aabb, Error};

/// Checks that a slice has at least the bytes of `box_count` boxes and can be bound.
///
/// # Errors
/// [`Error::BadBuffer`].
pub fn check_boxes(gpu: &Gpu, boxes: wgpu::BufferSlice<'_>, box_count: u32) -> Result<(), Error> {
    check(gpu, boxes, bytes::<Aabb>(box_count), "box", || format!("{box_count} boxes"))
}

/// Returns the first `box_count` boxes of a slice, to bind; `None` if there are no boxes.
pub fn bind_boxes(boxes: wgpu::BufferSlice<'_>, box_count: u32) -> Option<wgpu::BindingResource<'_>> {
    bind(boxes, bytes::<Aabb>(box_count))
}

/// Checks that a slice has at least this many bytes and can be bound. `content` names the bytes in messages.
///
/// # Errors
/// [`Error::BadBuffer`].
pub fn check(
    gpu: &Gpu,
    slice: wgpu::BufferSlice<'_>,
    required: u64,
    buffer: &'static str,
    content: impl FnOnce() -> String,
) -> Result<(), Error> {
    let has = slice.size();
    let alignment = u64::from(gpu.device().limits().min_storage_buffer_offset_alignment);
    let problem = if required == 0 {
        return Ok(());
    } else if has < required {
        format!("holds {has} bytes, and {} take {required}", content())
    } else if !slice.buffer().usage().contains(wgpu::BufferUsages::STORAGE) {
        "was created without BufferUsages::STORAGE".to_owned()
    } else if !slice.offset().is_multiple_of(alignment) {
        let offset = slice.offset();
        format!("is used from byte {offset} on, and the device binds storage at multiples of {alignment}")
    } else {
        return Ok(());
    };
    Err(Error::BadBuffer { buffer, problem })
}

/// Returns the first `bytes` bytes of a slice, to bind; `None` if there are no bytes.
pub fn bind(slice: wgpu::BufferSlice<'_>, bytes: u64) -> Option<wgpu::BindingResource<'_>> {
    let size = NonZeroU64::new(bytes)?;
    let (buffer, offset) = (slice.buffer(), slice.offset());
    Some(wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset, size: Some(size) }))
}

/// Returns the size in bytes of `count` elements.
pub fn bytes<T>(count: u32) -> u64 {
    u64::from(count) * size_of::<T>() as u64
}
