//! The way of one query through the tree.

use super::levels::Levels;
use super::node::{Known, Node, WIDTH};
use crate::Aabb;

/// Nodes that wait at most: two of each of two ranges in the beginning, and seven more for each level that a walk goes
/// down. 2³² boxes have eleven levels.
const MOST_WAITING: usize = 4 + (WIDTH - 1) * 11;

/// The visitor of a query.
pub trait Visitor {
    /// The type of what is known of a child before it is looked at: how near it is, or who wants to look at it.
    type Known: Known;
    /// Returns whether the nearest children are looked at first.
    const IS_ORDERED: bool;

    /// Returns a bit for each child that the query has to look at, and what is known of each child. `known` is known of the
    /// node.
    fn look(&self, node: &Node, known: Self::Known) -> (u32, [Self::Known; WIDTH]);

    /// Returns whether what is no nearer than this does not matter any more.
    #[inline(always)]
    fn is_beyond(&self, _: Self::Known) -> bool {
        false
    }

    /// Takes a box that the query may answer.
    fn take(&mut self, id: u32, aabb: &Aabb);

    /// Takes the boxes of a leaf that the query has to look at: those with a bit. `known` is known of the leaf, `of_boxes` of
    /// its boxes.
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

/// A node that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting<K> {
    known: K,
    node: u32,
    level: u32,
}

/// Holds the nodes that wait, from one query to the next.
#[derive(Debug)]
pub struct Stack<K>([Waiting<K>; MOST_WAITING]);

impl<K: Known> Default for Stack<K> {
    fn default() -> Self {
        Self([Waiting { known: K::FIRST, node: 0, level: 0 }; MOST_WAITING])
    }
}

/// Shows a visitor the boxes in some ranges of the leaves, as far as it looks at them.
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

/// Returns a bit for each child of a node that is no child before the range or behind it.
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
    // The lowest level that has the range in at most two nodes.
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
            // The nearest comes last, to be taken first.
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
