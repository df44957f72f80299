//! Mirror of `rank`: where each interval ends among the sorted starts.

use crate::constants::ENTRY_BOX;
use crate::stages::layout::Frame;

/// For each rank the first rank above it whose cell is another or whose start is after the end.
pub fn ends(frame: &Frame, keys: &[u32], entries: &[u32], positions: &[[u32; 2]]) -> Vec<u32> {
    let mask = (1 << frame.position_bits) - 1;
    (0..keys.len())
        .map(|rank| {
            let end_key = keys[rank] & !mask | positions[(entries[rank] & ENTRY_BOX) as usize][1];
            (rank + keys[rank..].partition_point(|&key| key <= end_key)) as u32
        })
        .collect()
}
