//! Checks the limits of a device, which apply in addition to any budget.

use super::submission_buffers::SUMMARY_BYTES;
use crate::base::constants::*;
use crate::gpu::limits::{check_rows, largest_binding, limit_name};
use crate::gpu::table::Row;
use crate::{Aabb, Error, Pair};

/// Bytes of an entry in one list of entries.
const WORD_BYTES: u64 = 4;

/// Returns an error if there are more boxes than the device's limits or the bits of an entry's box index allow.
///
/// # Errors
/// [`Error::TooManyBoxes`].
pub(super) fn check_boxes(boxes: u64, limits: &wgpu::Limits) -> Result<(), Error> {
    let binding = largest_binding(limits);
    let max_boxes = (binding / size_of::<Aabb>() as u64).min(most_entries(limits));
    if boxes <= max_boxes {
        return Ok(());
    }
    // Either the boxes exceed a limit, or a list of one entry per box does.
    let bytes = boxes.saturating_mul(size_of::<Aabb>() as u64);
    let (buffer, required, (limit, available)) = if bytes > binding {
        ("boxes", bytes, limit_name(limits))
    } else {
        let most = ("the limit of 2^25 entries, at 4 bytes each,", u64::from(MAX_ENTRIES) * WORD_BYTES);
        ("entries", boxes.saturating_mul(WORD_BYTES), most)
    };
    Err(Error::TooManyBoxes { box_count: boxes, buffer, required, limit, available, max_boxes })
}

/// Returns an error if a list of the filters is longer than the largest binding.
///
/// # Errors
/// [`Error::TooManyBoxes`]; [`Error::BadFilter`] for the included pairs.
pub(super) fn check_filters(boxes: u64, limits: &wgpu::Limits, filters: &[Row]) -> Result<(), Error> {
    let (limit, available) = limit_name(limits);
    match filters.iter().find(|(_, bytes)| *bytes > available) {
        Some(("included", _)) => {
            // The error names the list instead of the most boxes, since fewer boxes do not help.
            let most = available / size_of::<Pair>() as u64;
            let problem = format!("is one too many; {limit} = {available} has capacity for {most}");
            Err(Error::BadFilter { list: "include", index: Some(most), problem })
        }
        _ => check_rows(boxes, limits, filters),
    }
}

/// Returns the most entries for which each list of entries, with its rounded-up length, fits one binding.
pub(super) fn most_entries(limits: &wgpu::Limits) -> u64 {
    u64::from(MAX_ENTRIES).min((largest_binding(limits) / WORD_BYTES).saturating_sub(ENTRY_STRIDE.into()))
}

/// Returns the most pairs of a list. The list must fit one binding, and a staging buffer after the summary. The pair
/// count must fit 32 bits.
pub(super) fn longest_list(limits: &wgpu::Limits) -> u64 {
    let bytes = largest_binding(limits).min(limits.max_buffer_size - SUMMARY_BYTES);
    (bytes / size_of::<Pair>() as u64).min(u64::from(MAX_GROUPS_X) * 65_535)
}
