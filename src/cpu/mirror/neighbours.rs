//! Mirror of `neighbours`: the pairs by box.

use super::order;
use crate::Pair;

/// Returns the offset of each box's neighbours, with the total at the end, and the neighbours: box by box, ascending.
pub fn neighbours(pairs: &[Pair], box_count: u32) -> (Vec<u32>, Vec<u32>) {
    let (mut offsets, mut neighbours) = (vec![0; box_count as usize + 1], vec![0; 2 * pairs.len()]);
    order::count(pairs, 2, &mut offsets);
    order::rows(&mut offsets);
    order::scatter(pairs, 2, &mut offsets, &mut neighbours);
    order::sort(&offsets, &mut neighbours);
    (offsets, neighbours)
}
