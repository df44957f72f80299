//! The size limits of a buffer.

use super::table::Row;
use crate::Error;

/// The most bytes of a binding, even if a device reports a larger limit. Sizes in Metal kernels and offsets in Vulkan
/// have 32 bits. With this limit, trees have at most `WAITING_LEVELS` levels above their leaves.
pub const MOST_BINDING: u64 = u32::MAX as u64;

/// Returns the most bytes that one binding of a storage buffer may have.
pub fn largest_binding(limits: &wgpu::Limits) -> u64 {
    limit_name(limits).1
}

/// Returns the name and the bytes of the tightest limit of a storage buffer.
pub fn limit_name(limits: &wgpu::Limits) -> (&'static str, u64) {
    let binding = limits.max_storage_buffer_binding_size.min(MOST_BINDING);
    if binding <= limits.max_buffer_size {
        ("max_storage_buffer_binding_size", binding)
    } else {
        ("max_buffer_size", limits.max_buffer_size)
    }
}

/// Returns an error if a buffer exceeds the largest binding. The error estimates the most boxes, assuming equal bytes
/// per box.
///
/// # Errors
/// [`Error::TooManyBoxes`].
pub fn check_rows(boxes: u64, limits: &wgpu::Limits, rows: &[Row]) -> Result<(), Error> {
    let (limit, available) = limit_name(limits);
    let Some(&(buffer, required)) = rows.iter().find(|(_, bytes)| *bytes > available) else {
        return Ok(());
    };
    let max_boxes = (u128::from(boxes) * u128::from(available) / u128::from(required)) as u64;
    Err(Error::TooManyBoxes { box_count: boxes, buffer, required, limit, available, max_boxes })
}
