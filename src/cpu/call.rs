//! Checks and parameters of a call, for engine, tree and reference.

use crate::base::constants::*;
use crate::base::layout::Params;
use crate::filters::CheckedFilters;
use crate::{Error, Options};

/// Returns the box count, or an error if it exceeds the most entries of a grid.
///
/// # Errors
/// [`Error::TooManyBoxes`].
pub(crate) fn checked_count(box_count: usize) -> Result<u32, Error> {
    count_at_most(box_count, MAX_ENTRIES, "entries", "the limit of 2^25 entries, at 4 bytes each,")
}

/// Returns the box count, or an error if it exceeds `most`. `buffer` names a list of 4 bytes per box in the error.
///
/// # Errors
/// [`Error::TooManyBoxes`].
pub(crate) fn count_at_most(
    box_count: usize,
    most: u32,
    buffer: &'static str,
    limit: &'static str,
) -> Result<u32, Error> {
    let (box_count, most) = (box_count as u64, u64::from(most));
    if box_count <= most {
        return Ok(box_count as u32);
    }
    Err(Error::TooManyBoxes { box_count, buffer, required: box_count * 4, limit, available: most * 4, max_boxes: most })
}

/// Returns the parameters of the stages for this many boxes.
pub(crate) fn params(box_count: u32, options: &Options, filters: &CheckedFilters) -> Params {
    let (cell_mode, cell_size) = options.cell_size.code();
    Params {
        box_count,
        entry_capacity: (4 * box_count + 1024).min(MAX_ENTRIES),
        axis: options.axis.code(),
        cell_mode,
        cell_size,
        world_count: filters.world_count(),
        include_count: filters.include().len() as u32,
        key_bits: key_bits(box_count, filters.world_count()),
        ..bytemuck::Zeroable::zeroed()
    }
}
