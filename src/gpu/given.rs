//! Boxes in a buffer of the caller's.

use std::num::NonZeroU64;

use super::Gpu;
use crate::{Aabb, Error};

/// Checks that a slice has room for this many boxes and can be bound.
///
/// # Errors
/// [`Error::BadBuffer`].
pub fn check_boxes(gpu: &Gpu, boxes: wgpu::BufferSlice<'_>, box_count: u32) -> Result<(), Error> {
    let (required, has) = (u64::from(box_count) * size_of::<Aabb>() as u64, boxes.size());
    let alignment = u64::from(gpu.device().limits().min_storage_buffer_offset_alignment);
    let problem = if box_count == 0 {
        return Ok(());
    } else if has < required {
        format!("holds {has} bytes, and {box_count} boxes take {required}")
    } else if !boxes.buffer().usage().contains(wgpu::BufferUsages::STORAGE) {
        "was made without BufferUsages::STORAGE".to_owned()
    } else if !boxes.offset().is_multiple_of(alignment) {
        let offset = boxes.offset();
        format!("is used from byte {offset} on, and the device binds storage at multiples of {alignment}")
    } else {
        return Ok(());
    };
    Err(Error::BadBuffer { problem })
}

/// Binds the first `box_count` boxes of a slice; `None` where there is nothing to bind.
pub fn bind_boxes(boxes: wgpu::BufferSlice<'_>, box_count: u32) -> Option<wgpu::BindingResource<'_>> {
    let size = NonZeroU64::new(u64::from(box_count) * size_of::<Aabb>() as u64)?;
    let (buffer, offset) = (boxes.buffer(), boxes.offset());
    Some(wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer, offset, size: Some(size) }))
}
