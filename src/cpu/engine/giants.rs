//! All giants against all boxes, a few boxes at a time, which then stay in a first-level cache.

use super::keep::Keep;
use super::task_lists::TaskLists;
use crate::cpu::call::make_room;
use crate::{Aabb, Error, Pair};

/// The number of boxes against which a thread tests all giants at a time.
const BOXES: usize = 1 << 9;

/// Appends the pairs of giants.
pub fn test(
    boxes: &[Aabb],
    giants: &[u32],
    is_giant: impl Fn(u32) -> bool + Sync,
    keep: impl Keep,
    lists: &mut TaskLists,
    pairs: &mut Vec<Pair>,
) -> Result<(), Error> {
    if giants.is_empty() {
        return Ok(());
    }
    lists.fill((0..boxes.len()).step_by(BOXES), pairs, |&first, list| {
        for &giant in giants {
            make_room(list, BOXES as u64)?;
            let (own, before, half_space) = (&boxes[giant as usize], list.len(), keep.half_space(giant));
            for (aabb, i) in boxes[first..boxes.len().min(first + BOXES)].iter().zip(first as u32..) {
                // A pair of two giants is reported once: from the smaller index.
                let meets = half_space.map_or_else(|| own.overlaps(aabb), |half_space| half_space.touches(aabb));
                if meets && (i > giant || i < giant && !is_giant(i)) {
                    list.push(Pair::new(giant, i));
                }
            }
            keep.retain_last(list, before);
        }
        Ok(())
    })
}
