//! What a device's limits allow, whatever the budget.

use super::slots::SUMMARY_BYTES;
use crate::constants::*;
use crate::gpu::table::Row;
use crate::layout::Stretch;
use crate::{Aabb, Error, Pair};

/// Refuses more boxes than the device's limits or the number of an entry allow.
///
/// # Errors
/// [`Error::TooManyBoxes`].
pub(super) fn check_boxes(boxes: u64, limits: &wgpu::Limits) -> Result<(), Error> {
    let binding = largest_binding(limits);
    let max_boxes = (binding / size_of::<Aabb>() as u64).min(most_entries(limits));
    if boxes <= max_boxes {
        return Ok(());
    }
    // Either the boxes themselves are too many bytes, or one entry for each of them.
    let (buffer, each) = if boxes.saturating_mul(24) > binding {
        ("boxes", size_of::<Aabb>() as u64)
    } else {
        ("stretches", size_of::<Stretch>() as u64)
    };
    let required = boxes.saturating_mul(each);
    let (limit, available) = if required > binding {
        limit_name(limits)
    } else {
        ("the number of entries, times their 8 bytes,", u64::from(MAX_ENTRIES) * 8)
    };
    Err(Error::TooManyBoxes { box_count: boxes, buffer, required, limit, available, max_boxes })
}

/// Refuses filters of which a list is longer than one binding.
///
/// # Errors
/// [`Error::TooManyBoxes`]; [`Error::BadFilter`] for the included pairs.
pub(super) fn check_filters(boxes: u64, limits: &wgpu::Limits, filters: &[Row]) -> Result<(), Error> {
    let (limit, available) = limit_name(limits);
    let Some(&(buffer, required)) = filters.iter().find(|(_, bytes)| *bytes > available) else {
        return Ok(());
    };
    if buffer == "included" {
        // Fewer boxes would not help.
        let most = available / size_of::<Pair>() as u64;
        let problem = format!("is one too many: {limit} of {available} has room for {most}");
        return Err(Error::BadFilter { list: "include", index: most, problem });
    }
    // Lists of pairs aside, each box takes the same number of words.
    let max_boxes = (u128::from(boxes) * u128::from(available) / u128::from(required)) as u64;
    Err(Error::TooManyBoxes { box_count: boxes, buffer, required, limit, available, max_boxes })
}

/// Returns the most entries whose stretches one binding holds, two of them together.
pub(super) fn most_entries(limits: &wgpu::Limits) -> u64 {
    u64::from(MAX_ENTRIES).min(largest_binding(limits) / (2 * size_of::<Stretch>() as u64) * 2)
}

/// Returns the most bytes that one binding of a storage buffer may have.
pub(super) fn largest_binding(limits: &wgpu::Limits) -> u64 {
    limit_name(limits).1
}

/// Returns the limit that ends a storage buffer first, by name, and its bytes.
fn limit_name(limits: &wgpu::Limits) -> (&'static str, u64) {
    let binding = limits.max_storage_buffer_binding_size;
    if binding <= limits.max_buffer_size {
        ("max_storage_buffer_binding_size", binding)
    } else {
        ("max_buffer_size", limits.max_buffer_size)
    }
}

/// Returns the most pairs in one binding, and in a staging buffer behind the summary; counted in 32 bits too.
pub(super) fn longest_list(limits: &wgpu::Limits) -> u64 {
    let bytes = largest_binding(limits).min(limits.max_buffer_size - SUMMARY_BYTES);
    (bytes / size_of::<Pair>() as u64).min(u64::from(MAX_GROUPS_X) * 65_535)
}
