//! Mirror of `rank`: the end of each interval among the sorted starts, and the data of each entry for the sweep.

use crate::base::constants::*;
use crate::base::layout::Frame;

/// Finds for each rank the first higher rank whose entry is in another cell, or starts after the box of this rank ends.
pub fn ends(frame: &Frame, keys: &[u32], entries: &[u32], positions: &[[u32; 4]]) -> Vec<u32> {
    let mask = (1 << frame.position_bits) - 1;
    (0..keys.len())
        .map(|rank| {
            let end_key = keys[rank] & !mask | positions[(entries[rank] & ENTRY_BOX) as usize][1];
            (rank + reach(&keys[rank..], |&key| key <= end_key)) as u32
        })
        .collect()
}

/// Returns for each rank the count of unproven candidates, which are the last ones by rank. Since keys are rounded,
/// these candidates may begin after the box ends. [`ALL_UNPROVEN`] means that all candidates are unproven.
pub fn unproven(frame: &Frame, keys: &[u32], entries: &[u32], positions: &[[u32; 4]], ends: &[u32]) -> Vec<u32> {
    let mask = (1 << frame.position_bits) - 1;
    let of_rank = |rank: usize| {
        let Some(last_proven) = positions[(entries[rank] & ENTRY_BOX) as usize][1].checked_sub(PROVEN_QUANTA) else {
            return ALL_UNPROVEN;
        };
        let candidates = &keys[rank + 1..ends[rank] as usize];
        let proven = candidates.partition_point(|&key| key <= (keys[rank] & !mask | last_proven));
        ALL_UNPROVEN.min((candidates.len() - proven) as u32)
    };
    (0..keys.len()).map(of_rank).collect()
}

/// Packs the end of an entry's candidates and the count of unproven candidates, as a word of `stretches`.
pub fn packed_end(end: u32, unproven: u32) -> u32 {
    end | unproven << END_BITS
}

/// Returns the count of elements of `sorted` before the first element that is not `within`. Element 0 must be `within`.
/// The search doubles its step, so its cost depends only on the result.
pub fn reach<T>(sorted: &[T], within: impl Fn(&T) -> bool) -> usize {
    let mut reach = 1;
    while reach < sorted.len() && within(&sorted[reach]) {
        reach *= 2;
    }
    sorted[..sorted.len().min(reach)].partition_point(within)
}

/// Returns the footprint of each rank's box in its cell.
pub fn footprints(entries: &[u32], positions: &[[u32; 4]]) -> Vec<u32> {
    entries.iter().map(|&entry| footprint(entry, positions[(entry & ENTRY_BOX) as usize][2])).collect()
}

/// Returns the footprint of an entry, from the footprint of its box.
pub fn footprint(entry: u32, of_box: u32) -> u32 {
    let [u0, u1, v0, v1] = of_box.to_le_bytes().map(u32::from);
    let is = |flag| entry & flag != 0;
    // In the first cell of a box, the footprint begins where the box begins. In later cells, it begins at the lower
    // border of the cell. In the last cell, it ends where the box ends. In earlier cells, it ends at the upper border.
    let from = |flag, fraction| if is(flag) { fraction | 1 << FRACTION_BITS } else { 0 };
    let to = |flag, fraction| if is(flag) { fraction } else { FRACTION_LAST };
    let own = super::bin::footprint_of([
        from(ENTRY_FIRST_U, u0),
        from(ENTRY_FIRST_V, v0),
        to(ENTRY_LAST_U, u1 & FRACTION_LAST),
        to(ENTRY_LAST_V, v1),
    ]);
    own | of_box & FOOTPRINT_OF_BOX
}
