//! The oracle: the closed test on every two boxes.

use crate::{Aabb, Pair};

/// Every overlapping pair, ascending, by `n (n - 1) / 2` tests. This is what the answer means.
pub fn find_pairs(boxes: &[Aabb]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (a, box_a) in boxes.iter().enumerate() {
        for (b, box_b) in boxes.iter().enumerate().skip(a + 1) {
            if box_a.overlaps(box_b) {
                pairs.push(Pair { a: a as u32, b: b as u32 });
            }
        }
    }
    pairs
}
