//! Mirror of `sweep`: the path through all candidates, and the exact test of each.

use std::ops::Range;

use crate::base::constants::*;
use crate::{Aabb, Pair};

/// Counts the quads of each entry in the path: the quads of four consecutive ranks that hold a candidate, but at least
/// one.
pub fn count(ends: &[u32]) -> Vec<u32> {
    let quads = |(rank, &end): (usize, &u32)| ((end - 1) / 4).max((rank as u32 + 1) / 4) - (rank as u32 + 1) / 4 + 1;
    ends.iter().enumerate().map(quads).collect()
}

/// Returns the count of quads before each entry, and at the end the length of the path.
pub fn scan(quads: &[u32]) -> Vec<u64> {
    let mut offsets = Vec::with_capacity(quads.len() + 1);
    let mut running = 0;
    for &quads in quads {
        offsets.push(running);
        running += u64::from(quads);
    }
    offsets.push(running);
    offsets
}

/// Returns whether the boxes of two entries of one cell may overlap across the sweep axis, and whether this cell would
/// report them; see `sweep_walk.wgsl`.
pub fn survives(a: u32, b: u32) -> bool {
    const FIRST: u32 = FRACTION_LAST | FRACTION_LAST << 16;
    let begins_before = (b >> 8 & FIRST | FOOTPRINT_FIRST) - (a & FIRST);
    let ends_after = (a >> 8 & FIRST | FOOTPRINT_FIRST) - (b & FIRST);
    begins_before & ends_after & (a | b) & FOOTPRINT_FIRST == FOOTPRINT_FIRST
}

/// Returns whether the boxes of two surviving entries are proven to overlap across the sweep axis; see
/// `sweep_walk.wgsl`.
pub fn is_proven(a: u32, b: u32) -> bool {
    let [u0, u1, v0, v1] = a.to_le_bytes().map(|byte| u32::from(byte) & FRACTION_LAST);
    let [other_u0, other_u1, other_v0, other_v1] = b.to_le_bytes().map(|byte| u32::from(byte) & FRACTION_LAST);
    let is_enough = |begin: u32, end: u32| end >= begin + PROVEN_FRACTIONS;
    a & b & FOOTPRINT_PLAIN != 0
        && is_enough(u0, other_u1)
        && is_enough(other_u0, u1)
        && is_enough(v0, other_v1)
        && is_enough(other_v0, v1)
}

/// Appends the pairs among the candidates of the entries `ranks`, in the order of the path.
pub fn test(
    boxes: &[Aabb],
    entries: &[u32],
    footprints: &[u32],
    ends: &[u32],
    ranks: Range<usize>,
    pairs: &mut Vec<Pair>,
) {
    for rank in ranks {
        let own = footprints[rank];
        let a = entries[rank] & ENTRY_BOX;
        let others = rank + 1..ends[rank] as usize;
        for (&footprint, &entry) in footprints[others.clone()].iter().zip(&entries[others]) {
            let b = entry & ENTRY_BOX;
            if survives(own, footprint) && boxes[a as usize].overlaps(&boxes[b as usize]) {
                pairs.push(Pair::new(a, b));
            }
        }
    }
}
