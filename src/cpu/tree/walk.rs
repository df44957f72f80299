//! Walks one query through the tree.

use super::levels::Levels;
use super::node::{Known, Node, WIDTH};
use crate::Aabb;

/// The most waiting nodes: two for each of two ranges at the start, and seven more per level. 2³² boxes have eleven
/// levels.
const MOST_WAITING: usize = 4 + (WIDTH - 1) * 11;

/// The visitor of a query.
pub trait Visitor {
    /// The value that is known of a child before its visit: its distance, or the boxes of a group that must visit it.
    type Known: Known;
    /// True if the nearest children are visited first.
    const IS_ORDERED: bool;

    /// Returns a bit per child that the query must visit, and the known value of each child. `known` is the value of
    /// the node.
    fn look(&self, node: &Node, known: Self::Known) -> (u32, [Self::Known; WIDTH]);

    /// Returns `true` if nodes with this known value, or a later one, are not needed.
    #[inline(always)]
    fn is_beyond(&self, _: Self::Known) -> bool {
        false
    }

    /// Processes a box that may be an answer.
    fn take(&mut self, id: u32, aabb: &Aabb);

    /// Processes the boxes of a leaf whose bit is set. `known` is the value of the leaf, `of_boxes` the values of its
    /// boxes.
    #[inline(always)]
    fn take_leaf(
        &mut self,
        leaf: &Node,
        _known: Self::Known,
        mut bits: u32,
        of_boxes: &[Self::Known; WIDTH],
        ids: &[u32],
    ) {
        while bits != 0 && !self.is_done() {
            let child = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            if !Self::IS_ORDERED || !self.is_beyond(of_boxes[child % WIDTH]) {
                self.take(ids[child], &leaf.get(child));
            }
        }
    }

    /// Returns whether the query is answered.
    #[inline(always)]
    fn is_done(&self) -> bool {
        false
    }
}

/// A waiting node.
#[derive(Clone, Copy, Debug)]
struct Waiting<K> {
    known: K,
    node: u32,
    level: u32,
}

/// The stack of waiting nodes, reused from query to query.
#[derive(Debug)]
pub struct Stack<K>([Waiting<K>; MOST_WAITING]);

impl<K: Known> Default for Stack<K> {
    fn default() -> Self {
        Self([Waiting { known: K::FIRST, node: 0, level: 0 }; MOST_WAITING])
    }
}

/// Walks a visitor through the nodes and boxes in some ranges of leaves.
#[inline(always)]
pub fn walk<V: Visitor>(
    levels: &Levels,
    ids: &[u32],
    ranges: &[[u32; 2]],
    stack: &mut Stack<V::Known>,
    visitor: &mut V,
) {
    for &range in ranges {
        walk_range(levels, ids, range, stack, visitor);
    }
}

/// Returns a bit per child of a node: set if the child overlaps the range.
#[inline(always)]
fn children_between(first_child: u32, from: u32, to: u32) -> u32 {
    let mut bits = u32::MAX;
    if from > first_child {
        bits &= u32::MAX << (from - first_child).min(31);
    }
    if to < first_child + WIDTH as u32 - 1 {
        bits &= (2 << (to - first_child)) - 1;
    }
    bits
}

#[inline(always)]
fn walk_range<V: Visitor>(
    levels: &Levels,
    ids: &[u32],
    [start, end]: [u32; 2],
    Stack(waiting): &mut Stack<V::Known>,
    visitor: &mut V,
) {
    if start == end || visitor.is_done() {
        return;
    }
    let last = end - 1;
    // Find the lowest level on which at most two nodes cover the range.
    let shift = |position: u32, level: u32| (u64::from(position) >> (3 * level)) as u32;
    let mut level = (u32::BITS - (start ^ last).leading_zeros()).div_ceil(3);
    while level > 0 && shift(last, level) - shift(start, level) <= 1 {
        level -= 1;
    }
    let mut count = 0;
    for node in (shift(start, level + 1)..=shift(last, level + 1)).rev() {
        waiting[count] = Waiting { known: V::Known::FIRST, node, level };
        count += 1;
    }
    while count > 0 {
        count -= 1;
        let Waiting { known, node, level } = waiting[count];
        if V::IS_ORDERED && visitor.is_beyond(known) {
            continue;
        }
        let bounds = &levels.levels[level as usize][node as usize];
        let (mut bits, of_children) = visitor.look(bounds, known);
        let first_child = WIDTH as u32 * node;
        bits &= children_between(first_child, shift(start, level), shift(last, level));
        if level == 0 {
            visitor.take_leaf(bounds, known, bits, &of_children, &ids[first_child as usize..]);
            if visitor.is_done() {
                return;
            }
            continue;
        }
        let before = count;
        while bits != 0 {
            let child = bits.trailing_zeros();
            bits &= bits - 1;
            let own =
                Waiting { known: of_children[child as usize % WIDTH], node: first_child + child, level: level - 1 };
            // Push the nearest child last, so that it is popped first.
            let mut at = count;
            while V::IS_ORDERED && at > before && waiting[at - 1].known < own.known {
                waiting[at] = waiting[at - 1];
                at -= 1;
            }
            waiting[at] = own;
            count += 1;
        }
    }
}
