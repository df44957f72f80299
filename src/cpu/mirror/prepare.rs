//! Mirror of `prepare`.

use crate::Aabb;
use crate::filters::{WHOLE_SPACE, grown};
use crate::layout::Params;

/// Returns the parameters of a search of `count` boxes, where `given` has the most that there may be.
pub fn count(given: Params, count: u32) -> Params {
    if count > given.box_count {
        return Params { box_count: 0, is_beyond: 1, ..given };
    }
    Params { box_count: count, ..given }
}

/// Returns the boxes grown by their margins, and the whole space where the bit of one is set. What lies beyond the end
/// of `margins` or `half_space_bits` counts as zero.
pub fn boxes(boxes: &[Aabb], margins: &[f32], half_space_bits: &[u32]) -> Vec<Aabb> {
    let is_half_space = |i: usize| half_space_bits.get(i / 32).is_some_and(|word| word >> (i % 32) & 1 != 0);
    let prepared = |(i, aabb): (usize, &Aabb)| match margins.get(i) {
        _ if is_half_space(i) => WHOLE_SPACE,
        Some(&margin) => grown(aabb, margin),
        None => *aabb,
    };
    boxes.iter().enumerate().map(prepared).collect()
}
