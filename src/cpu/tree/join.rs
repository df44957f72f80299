//! Joins two sets: the boxes of one set query a tree of the other set, eight boxes at a time.
//!
//! Boxes that query together are adjacent in the order of the leaves, so they mostly visit the same nodes. At each
//! node, a bit per box marks the boxes that must visit the node. Each marked box is tested against the eight children
//! at once. The count of tests is the same as if each box queried alone, with an eighth of the unpredictable branches.
//! The walks of distant boxes separate at the top of the tree.

use std::ops::Range;

use super::levels::Levels;
use super::node::{Known, Node, WIDTH};
use super::order::Order;
use super::walk::{Stack, Visitor, walk};
use super::worlds::Worlds;
use crate::base::reserve::reserve;
use crate::{Aabb, Error, Filters, HalfSpace, Pair};

/// The most boxes whose tree fits a first-level cache, whatever the order of the queries.
pub const FEW: usize = 1 << 8;

/// The boxes of one of the sets, valid or not.
#[derive(Clone, Copy, Debug)]
pub struct Set<'a> {
    /// `[box_count]` the boxes.
    pub boxes: &'a [Aabb],
    /// `[box_count]` the number of each box's world, or [`Filters::GLOBAL`]; empty without worlds.
    pub worlds: &'a [u32],
}

/// Counts the work of a range of querying boxes.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counts {
    /// Tests of a querying box against a box of the tree.
    pub tests: u64,
    /// Invalid boxes among the querying boxes.
    pub invalid: u64,
}

/// A tree of one set, and the order of the querying boxes of the other set. Memory is reused from join to join.
#[derive(Debug, Default)]
pub struct Join {
    order: Order,
    /// The boxes of the tree, in the order of the leaves.
    ids: Vec<u32>,
    levels: Levels,
    worlds: Worlds,
    /// The querying boxes, in the order of querying.
    queries: Vec<u32>,
}

impl Join {
    /// Builds a tree of `target`, and puts the boxes of `source` in order.
    pub fn build(&mut self, target: Set<'_>, source: Set<'_>) {
        self.plant(target);
        self.line_up(source);
    }

    /// Builds a tree of boxes, for any number of queries. [`line_up`](Self::line_up) sets the querying boxes.
    pub fn plant(&mut self, target: Set<'_>) {
        let Self { order, ids, levels, worlds, .. } = self;
        let has_giants = order.sort(target.boxes, target.worlds, ids);
        levels.fill(target.boxes, ids, has_giants);
        worlds.find(ids, target.worlds, has_giants);
    }

    /// Sorts the querying boxes into the order of querying.
    pub fn line_up(&mut self, source: Set<'_>) {
        let Self { order, ids, queries, .. } = self;
        if ids.len() <= FEW && source.worlds.is_empty() {
            queries.clear();
            queries.extend(0..source.boxes.len() as u32);
        } else {
            order.sort(source.boxes, source.worlds, queries);
        }
    }

    /// Returns whether a box of the tree is invalid.
    pub fn has_invalid(&self) -> bool {
        self.levels.has_invalid
    }

    /// Appends the pairs of the querying boxes of these turns. `pair` creates a pair from a querying box and a box of
    /// the tree.
    ///
    /// # Errors
    /// [`Error::ListTooLong`].
    pub fn list(
        &self,
        source: Set<'_>,
        turns: Range<usize>,
        pair: impl Fn(u32, u32) -> Pair,
        out: &mut Vec<Pair>,
    ) -> Result<Counts, Error> {
        let world = |&id: &u32| source.worlds.get(id as usize).copied().unwrap_or(Filters::GLOBAL);
        let (mut stack, mut counts) = (Stack::default(), Counts::default());
        for of_world in self.queries[turns].chunk_by(|a, b| world(a) == world(b)) {
            let ranges = self.worlds.of(world(&of_world[0]));
            for ids in of_world.chunks(WIDTH) {
                let group = QueryGroup::new(ids, source.boxes);
                counts.invalid += ids.len() as u64 - u64::from(group.valid.count_ones());
                let mut listing = Listing { group, pair: &pair, out, tests: 0, result: Ok(()) };
                walk(&self.levels, &self.ids, &ranges, &mut stack, &mut listing);
                counts.tests += listing.tests;
                listing.result?;
            }
        }
        Ok(counts)
    }

    /// Appends a pair for each box of the tree, in any world, that the shape `what` touches. `pair` creates the pair
    /// from the box. From time to time, `retain` gets the list and an index, and removes the rejected pairs from this
    /// index on.
    ///
    /// # Errors
    /// [`Error::ListTooLong`].
    pub fn list_touching(
        &self,
        what: &impl Touch,
        pair: impl Fn(u32) -> Pair,
        retain: impl Fn(&mut Vec<Pair>, usize),
        out: &mut Vec<Pair>,
    ) -> Result<(), Error> {
        let retained = out.len();
        let mut touching = Touching { what, pair, retain, out, retained, result: Ok(()) };
        walk(&self.levels, &self.ids, &self.worlds.of(Filters::GLOBAL), &mut Stack::default(), &mut touching);
        touching.retain_last();
        touching.result
    }

    /// Returns the bytes of allocated memory.
    pub fn bytes(&self) -> usize {
        let ids = (self.ids.capacity() + self.queries.capacity()) * size_of::<u32>();
        ids + self.order.bytes() + self.levels.bytes() + self.worlds.bytes()
    }
}

/// Boxes that query the tree together, at most eight.
struct QueryGroup {
    boxes: [Aabb; WIDTH],
    ids: [u32; WIDTH],
    /// A bit per box: set if the box is valid.
    valid: u8,
    /// True if a box is the whole space, which touches even the bounds of missing children.
    has_whole: bool,
}

impl QueryGroup {
    fn new(ids: &[u32], boxes: &[Aabb]) -> Self {
        let nothing = Aabb::new([0.0; 3], [0.0; 3]);
        let mut group = Self { boxes: [nothing; WIDTH], ids: [0; WIDTH], valid: 0, has_whole: false };
        for (at, &id) in ids.iter().enumerate().take(WIDTH) {
            let aabb = boxes[id as usize];
            let is_whole = |k: usize| aabb.min[k] == f32::NEG_INFINITY && aabb.max[k] == f32::INFINITY;
            group.has_whole |= is_whole(0) && is_whole(1) && is_whole(2);
            group.valid |= u8::from(aabb.is_valid()) << at;
            (group.boxes[at], group.ids[at]) = (aabb, id);
        }
        group
    }
}

/// The boxes of a group that visit a node, a bit per box.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
struct Wanted(u8);

impl Known for Wanted {
    const FIRST: Self = Self(u8::MAX);
}

/// Lists the pairs of a group.
struct Listing<'a, P> {
    group: QueryGroup,
    pair: P,
    out: &'a mut Vec<Pair>,
    tests: u64,
    result: Result<(), Error>,
}

impl<P: Fn(u32, u32) -> Pair> Visitor for Listing<'_, P> {
    type Known = Wanted;
    const IS_ORDERED: bool = false;

    #[inline(always)]
    fn look(&self, node: &Node, Wanted(wanted): Wanted) -> (u32, [Wanted; WIDTH]) {
        let (mut rows, mut any) = (0, 0);
        let mut pending = wanted & self.group.valid;
        while pending != 0 {
            let at = pending.trailing_zeros();
            pending &= pending - 1;
            let row = node.touching(&self.group.boxes[at as usize % WIDTH]);
            any |= row;
            rows |= u64::from(row) << (WIDTH as u32 * at);
        }
        (any, transposed(rows).to_le_bytes().map(Wanted))
    }

    #[inline(always)]
    fn take_leaf(&mut self, leaf: &Node, Wanted(wanted): Wanted, bits: u32, of_boxes: &[Wanted; WIDTH], ids: &[u32]) {
        const MOST: usize = WIDTH * WIDTH;
        self.tests += u64::from((wanted & self.group.valid).count_ones()) * ids.len().min(WIDTH) as u64;
        if self.out.capacity() - self.out.len() < MOST {
            self.result = reserve(self.out, MOST as u64);
            if self.result.is_err() {
                return;
            }
        }
        // List all pairs of the leaf in one loop, so that only the end of the loop is unpredictable.
        let mut pairs = u64::from_le_bytes(of_boxes.map(|Wanted(own)| own)) & spread(bits);
        while pairs != 0 {
            let at = pairs.trailing_zeros() as usize;
            pairs &= pairs - 1;
            let (child, query) = (at / WIDTH, at % WIDTH);
            if !self.group.has_whole || leaf.get(child).is_valid() {
                self.out.push((self.pair)(self.group.ids[query], ids[child]));
            }
        }
    }

    fn take(&mut self, _: u32, _: &Aabb) {}

    #[inline(always)]
    fn is_done(&self) -> bool {
        self.result.is_err()
    }
}

/// Nothing is known of a node before its visit.
#[derive(Clone, Copy, Debug, PartialEq, PartialOrd)]
struct Nothing;

impl Known for Nothing {
    const FIRST: Self = Self;
}

/// A shape with an exact test against boxes. A shape that touches a box must also touch every box that
/// contains this box.
pub trait Touch {
    /// Returns a bit per child of a node: set if the shape touches it. The bit of a missing child may be set.
    fn touching(&self, node: &Node) -> u32;
}

impl Touch for Aabb {
    #[inline(always)]
    fn touching(&self, node: &Node) -> u32 {
        node.touching(self)
    }
}

impl Touch for HalfSpace {
    fn touching(&self, node: &Node) -> u32 {
        let bit = |child: usize| u32::from(self.touches(&node.get(child))) << child;
        (0..WIDTH).map(bit).sum()
    }
}

/// Lists the boxes of a tree that touch a shape.
struct Touching<'a, T, P, R> {
    what: &'a T,
    pair: P,
    retain: R,
    out: &'a mut Vec<Pair>,
    /// Pairs before this place have passed `retain`.
    retained: usize,
    result: Result<(), Error>,
}

impl<T, P, R: Fn(&mut Vec<Pair>, usize)> Touching<'_, T, P, R> {
    fn retain_last(&mut self) {
        (self.retain)(self.out, self.retained);
        self.retained = self.out.len();
    }
}

impl<T: Touch, P: Fn(u32) -> Pair, R: Fn(&mut Vec<Pair>, usize)> Visitor for Touching<'_, T, P, R> {
    type Known = Nothing;
    const IS_ORDERED: bool = false;

    #[inline(always)]
    fn look(&self, node: &Node, _: Nothing) -> (u32, [Nothing; WIDTH]) {
        (self.what.touching(node), [Nothing; WIDTH])
    }

    #[inline(always)]
    fn take(&mut self, id: u32, aabb: &Aabb) {
        /// Pairs that fit a first-level cache.
        const MOST: usize = 1 << 11;
        if !aabb.is_valid() {
            return;
        }
        if self.out.len() - self.retained == MOST {
            self.retain_last();
        }
        if self.out.len() == self.out.capacity() {
            self.result = reserve(self.out, MOST as u64);
        }
        if self.result.is_ok() {
            self.out.push((self.pair)(id));
        }
    }

    fn is_done(&self) -> bool {
        self.result.is_err()
    }
}

/// Returns eight bytes: byte k is all ones if bit k is set.
#[inline(always)]
fn spread(bits: u32) -> u64 {
    let marked = u64::from(bits).wrapping_mul(0x0101_0101_0101_0101) & 0x8040_2010_0804_0201;
    let one = marked.wrapping_add(0x007f_7f7f_7f7f_7f7f) | marked;
    (one >> 7 & 0x0101_0101_0101_0101) * 0xff
}

/// Swaps rows and columns of eight rows of eight bits. Source: Warren 2013, Hacker's Delight, 7-3.
#[inline(always)]
fn transposed(mut bits: u64) -> u64 {
    for (shift, mask) in [(7, 0x00aa_00aa_00aa_00aa), (14, 0x0000_cccc_0000_cccc), (28, 0x0000_0000_f0f0_f0f0)] {
        let swapped = (bits ^ bits >> shift) & mask;
        bits ^= swapped ^ swapped << shift;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_spread_and_rows_become_columns() {
        for bits in 0..256u32 {
            let bytes = spread(bits).to_le_bytes();
            assert!((0..8).all(|k| bytes[k] == if bits >> k & 1 == 1 { 255 } else { 0 }), "{bits:b}: {bytes:?}");
        }
        for at in 0..64 {
            assert_eq!(transposed(1 << at), 1 << (at % 8 * 8 + at / 8));
        }
    }
}
