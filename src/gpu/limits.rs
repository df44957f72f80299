//! What one buffer of a device may hold.

use super::table::Row;
use crate::Error;

/// The most bytes of a binding whatever a device says: what Metal's kernels are told of its size has 32 bits, and so have offsets in
/// Vulkan's. Trees rest on it too: they have no more levels above their leaves than `WAITING_LEVELS` says.
pub const MOST_BINDING: u64 = u32::MAX as u64;

/// Returns the most bytes that one binding of a storage buffer may have.
pub fn largest_binding(limits: &wgpu::Limits) -> u64 {
    limit_name(limits).1
}

/// Returns the limit that ends a storage buffer first, by name, and its bytes.
pub fn limit_name(limits: &wgpu::Limits) -> (&'static str, u64) {
    let binding = limits.max_storage_buffer_binding_size.min(MOST_BINDING);
    if binding <= limits.max_buffer_size {
        ("max_storage_buffer_binding_size", binding)
    } else {
        ("max_buffer_size", limits.max_buffer_size)
    }
}

/// Refuses buffers of which one is longer than a binding. Lists of pairs aside, each box takes as much of it.
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
