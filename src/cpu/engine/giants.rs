//! Giants against all boxes. A few of them, and those without an end, are tested against each, a few boxes at a time, which then stay
//! in a first-level cache. Many are put in a tree, which all boxes ask.
//!
//! Many are what worlds have in common: a global box is in the cells of every world, and so a giant, however small it is.

use super::keep::Keep;
use super::task_lists::TaskLists;
use crate::cpu::call::make_room;
use crate::cpu::tree::join::{Join, Set};
use crate::{Aabb, Error, Pair};

/// The number of boxes against which a thread tests all giants at a time.
const BOXES: usize = 1 << 9;
/// The number of boxes that ask a tree before those of their pairs that nobody wants are dropped.
const GROUP: usize = 1 << 3;
/// The fewest giants that are put in a tree: with fewer, to build it and to ask it takes longer.
const FEWEST_IN_A_TREE: usize = 24;

/// The giants of a search, with the memory that it takes to find their pairs.
#[derive(Debug, Default)]
pub struct Giants {
    /// All of them, ascending.
    pub ids: Vec<u32>,
    /// Those that are tested against each box.
    alone: Vec<u32>,
    /// Those that are in the tree, and their boxes.
    in_tree: Vec<u32>,
    boxes: Vec<Aabb>,
    join: Join,
}

impl Giants {
    /// Appends the pairs of giants.
    pub fn test(
        &mut self,
        boxes: &[Aabb],
        is_giant: impl Fn(u32) -> bool + Sync,
        keep: impl Keep,
        lists: &mut TaskLists,
        pairs: &mut Vec<Pair>,
    ) -> Result<(), Error> {
        self.divide(boxes, keep);
        // A pair of two giants is reported once: from the smaller index.
        let is_reported = |giant: u32, i: u32| i > giant || i < giant && !is_giant(i);
        if !self.alone.is_empty() {
            lists.fill((0..boxes.len()).step_by(BOXES), pairs, |&first, list| {
                for &giant in &self.alone {
                    make_room(list, BOXES as u64)?;
                    let (own, before, half_space) = (&boxes[giant as usize], list.len(), keep.half_space(giant));
                    for (aabb, i) in boxes[first..boxes.len().min(first + BOXES)].iter().zip(first as u32..) {
                        let meets =
                            half_space.map_or_else(|| own.overlaps(aabb), |half_space| half_space.touches(aabb));
                        if meets && is_reported(giant, i) {
                            list.push(Pair::new(giant, i));
                        }
                    }
                    keep.retain_last(list, before);
                }
                Ok(())
            })?;
        }
        if self.in_tree.is_empty() {
            return Ok(());
        }
        let Self { in_tree, boxes: of_tree, join, .. } = self;
        let asking = Set { boxes, worlds: &[] };
        join.build(Set { boxes: of_tree, worlds: &[] }, asking);
        lists.fill((0..boxes.len()).step_by(BOXES), pairs, |&first, list| {
            let last = boxes.len().min(first + BOXES);
            for turn in (first..last).step_by(GROUP) {
                let before = list.len();
                let turns = turn..last.min(turn + GROUP);
                join.list(asking, turns, |i, of_tree| Pair { a: in_tree[of_tree as usize], b: i }, list)?;
                let mut end = before;
                for at in before..list.len() {
                    let Pair { a: giant, b: i } = list[at];
                    list[end] = Pair::new(giant, i);
                    end += usize::from(is_reported(giant, i));
                }
                list.truncate(end);
                keep.retain_last(list, before);
            }
            Ok(())
        })
    }

    /// Decides which giants are put in a tree.
    fn divide(&mut self, boxes: &[Aabb], keep: impl Keep) {
        let Self { ids, alone, in_tree, boxes: of_tree, .. } = self;
        alone.clear();
        in_tree.clear();
        of_tree.clear();
        let has_end = |aabb: &Aabb| aabb.min.iter().chain(&aabb.max).all(|bound| bound.is_finite());
        for &giant in &*ids {
            let own = &boxes[giant as usize];
            let goes_in = has_end(own) && keep.half_space(giant).is_none();
            (if goes_in { &mut *in_tree } else { &mut *alone }).push(giant);
        }
        if in_tree.len() < FEWEST_IN_A_TREE {
            alone.clone_from(ids);
            in_tree.clear();
        }
        of_tree.extend(in_tree.iter().map(|giant| boxes[*giant as usize]));
    }

    /// Counts the bytes held.
    pub fn bytes(&self) -> usize {
        let ids = (self.ids.capacity() + self.alone.capacity() + self.in_tree.capacity()) * size_of::<u32>();
        ids + self.boxes.capacity() * size_of::<Aabb>() + self.join.bytes()
    }
}
