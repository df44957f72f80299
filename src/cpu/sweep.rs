//! Mirror of `sweep`: the path through all candidates, and the exact test of each.

use std::ops::Range;

use crate::Aabb;
use crate::constants::*;

/// Items of the path that each entry contributes: itself and its candidates.
pub fn count(ends: &[u32]) -> Vec<u32> {
    ends.iter().enumerate().map(|(rank, end)| end - rank as u32).collect()
}

/// Items before each entry, and behind them the length of the path.
pub fn scan(items: &[u32]) -> Vec<u64> {
    let mut offsets = Vec::with_capacity(items.len() + 1);
    let mut running = 0;
    for &items in items {
        offsets.push(running);
        running += u64::from(items);
    }
    offsets.push(running);
    offsets
}

/// The items `range` of the path: for each the ranks of the two entries, equal for an entry's own item.
pub fn walk(offsets: &[u64], range: Range<u64>) -> impl Iterator<Item = (usize, usize)> + '_ {
    // The last entry that starts at or before the item; every entry has an item of its own.
    let mut rank = offsets.partition_point(|&offset| offset <= range.start).saturating_sub(1);
    range.map(move |at| {
        if at == offsets[rank + 1] {
            rank += 1;
        }
        (rank, rank + (at - offsets[rank]) as usize)
    })
}

/// A bit per item of `range`, which starts at a multiple of 32: set where the item is a candidate and its pair
/// overlaps and belongs to this cell.
pub fn test(boxes: &[Aabb], entries: &[u32], offsets: &[u64], range: Range<u64>) -> Vec<u32> {
    let mut words = vec![0; (range.end - range.start).div_ceil(32) as usize];
    for (bit, (a, b)) in walk(offsets, range).enumerate() {
        if a != b && owns_pair(entries[a], entries[b]) && overlap(boxes, entries[a], entries[b]) {
            words[bit / 32] |= 1 << (bit % 32);
        }
    }
    words
}

/// Whether the pair of two entries of one cell is reported there; see `sweep_walk.wgsl`.
fn owns_pair(entry_a: u32, entry_b: u32) -> bool {
    (entry_a | entry_b) & (ENTRY_FIRST_U | ENTRY_FIRST_V) == ENTRY_FIRST_U | ENTRY_FIRST_V
}

fn overlap(boxes: &[Aabb], entry_a: u32, entry_b: u32) -> bool {
    boxes[(entry_a & ENTRY_BOX) as usize].overlaps(&boxes[(entry_b & ENTRY_BOX) as usize])
}
