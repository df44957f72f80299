//! Mirror of `giants`: one giant against all boxes.

use super::bin::is_giant;
use crate::Aabb;
use crate::layout::Frame;

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
