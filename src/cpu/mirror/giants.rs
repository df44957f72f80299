//! Mirror of `giants`: one giant against all boxes.

use super::bin::is_giant;
use crate::Aabb;
use crate::layout::Frame;

/// Returns a bit per box: set where it meets the bounds of some giants.
pub fn near(boxes: &[Aabb], giants: &[u32]) -> Vec<u32> {
    let own = giants.iter().map(|giant| &boxes[*giant as usize]);
    let bounds = own.copied().reduce(|a, b| Aabb {
        min: std::array::from_fn(|k| a.min[k].min(b.min[k])),
        max: std::array::from_fn(|k| a.max[k].max(b.max[k])),
    });
    let mut words = vec![0; boxes.len().div_ceil(32)];
    for (i, _) in boxes.iter().enumerate().filter(|(_, aabb)| bounds.is_some_and(|bounds| bounds.overlaps(aabb))) {
        words[i / 32] |= 1 << (i % 32);
    }
    words
}

/// Returns a bit per box: set where the box overlaps `giant` and is not a giant with a smaller index, with which the
/// pair is found from there.
pub fn test(boxes: &[Aabb], cells: &[[i32; 4]], frame: &Frame, level: u32, giant: u32) -> Vec<u32> {
    let mut words = vec![0; boxes.len().div_ceil(32)];
    let giant_box = &boxes[giant as usize];
    for (i, aabb) in boxes.iter().enumerate() {
        let is_candidate = i as u32 > giant || !is_giant(cells[i], level, frame);
        if is_candidate && i as u32 != giant && giant_box.overlaps(aabb) {
            words[i / 32] |= 1 << (i % 32);
        }
    }
    words
}
