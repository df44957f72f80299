//! The way of one query through the tree.

use super::levels::Levels;
use super::node::{Node, Real, WIDTH};
use crate::Aabb;

/// Nodes that wait at most: two of each of two ranges in the beginning, and seven more for each level that a walk goes
/// down. 2³² boxes have eleven levels.
const MOST_WAITING: usize = 4 + (WIDTH - 1) * 11;

/// What a query does on its way.
pub trait Visitor {
    /// The type of what orders children: the time at which a path reaches them, or their squared distance.
    type Real: Real;
    /// Says whether the nearest children are looked at first.
    const IS_ORDERED: bool;

    /// Returns a bit for each child that the query has to look at, and how near each child is, rounded.
    fn look(&self, node: &Node) -> (u32, [Self::Real; WIDTH]);

    /// Returns whether what is no nearer than this does not matter any more.
    #[inline(always)]
    fn is_beyond(&self, _: Self::Real) -> bool {
        false
    }

    /// Takes a box that the query may answer.
    fn take(&mut self, id: u32, aabb: &Aabb);

    /// Takes the boxes of a leaf that the query has to look at: those with a bit.
    #[inline(always)]
    fn take_leaf(&mut self, leaf: &Node, mut bits: u32, nears: &[Self::Real; WIDTH], ids: &[u32]) {
        while bits != 0 && !self.is_done() {
            let child = bits.trailing_zeros() as usize;
            bits &= bits - 1;
            if !Self::IS_ORDERED || !self.is_beyond(nears[child % WIDTH]) {
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
struct Waiting<F> {
    near: F,
    node: u32,
    level: u32,
}

/// Holds the nodes that wait, from one query to the next.
#[derive(Debug)]
pub struct Stack<F>([Waiting<F>; MOST_WAITING]);

impl<F: Real> Default for Stack<F> {
    fn default() -> Self {
        Self([Waiting { near: F::ZERO, node: 0, level: 0 }; MOST_WAITING])
    }
}

/// Shows a visitor the boxes in some ranges of the leaves, as far as it looks at them.
#[inline(always)]
pub fn walk<V: Visitor>(
    levels: &Levels,
    ids: &[u32],
    ranges: &[[u32; 2]],
    stack: &mut Stack<V::Real>,
    visitor: &mut V,
) {
    for &range in ranges {
        walk_range(levels, ids, range, stack, visitor);
    }
}

#[inline(always)]
fn walk_range<V: Visitor>(
    levels: &Levels,
    ids: &[u32],
    [start, end]: [u32; 2],
    Stack(waiting): &mut Stack<V::Real>,
    visitor: &mut V,
) {
    if start == end || visitor.is_done() {
        return;
    }
    let last = end - 1;
    // The lowest level that has the range in at most two nodes.
    let shift = |position: u32, level: u32| (u64::from(position) >> (3 * level)) as u32;
    let mut level = 0;
    while shift(last, level + 1) - shift(start, level + 1) > 1 {
        level += 1;
    }
    let mut count = 0;
    for node in (shift(start, level + 1)..=shift(last, level + 1)).rev() {
        waiting[count] = Waiting { near: V::Real::ZERO, node, level };
        count += 1;
    }
    while count > 0 {
        count -= 1;
        let Waiting { near, node, level } = waiting[count];
        if V::IS_ORDERED && visitor.is_beyond(near) {
            continue;
        }
        let bounds = &levels.levels[level as usize][node as usize];
        let (mut bits, nears) = visitor.look(bounds);
        // Children before the range and behind it.
        let first_child = WIDTH as u32 * node;
        let (from, to) = (shift(start, level), shift(last, level));
        if from > first_child {
            bits &= u32::MAX << (from - first_child).min(31);
        }
        if to < first_child + WIDTH as u32 - 1 {
            bits &= (2 << (to - first_child)) - 1;
        }
        if level == 0 {
            visitor.take_leaf(bounds, bits, &nears, &ids[first_child as usize..]);
            if visitor.is_done() {
                return;
            }
            continue;
        }
        let before = count;
        while bits != 0 {
            let child = bits.trailing_zeros();
            bits &= bits - 1;
            let own = Waiting { near: nears[child as usize % WIDTH], node: first_child + child, level: level - 1 };
            // The nearest comes last, to be taken first.
            let mut at = count;
            while V::IS_ORDERED && at > before && waiting[at - 1].near < own.near {
                waiting[at] = waiting[at - 1];
                at -= 1;
            }
            waiting[at] = own;
            count += 1;
        }
    }
}
