//! Tests giants against all boxes. Few giants are tested against each box, in blocks of boxes that fit a first-level
//! cache. Many finite giants form a tree, which all boxes query. Many unbounded giants (infinite boxes, half-spaces)
//! query a tree of all boxes instead. In a tree of unbounded giants, every node would be unbounded.
//!
//! Many finite giants occur with worlds. A global box would be in the cells of every world, so it is always a giant.

use super::pair_filter::PairFilter;
use super::task_lists::TaskLists;
use crate::base::reserve::reserve;
use crate::cpu::tree::join::{Join, Set};
use crate::{Aabb, Error, Pair};

/// The boxes that a thread tests against all giants at a time.
const BOXES: usize = 1 << 9;
/// Boxes that query a tree at a time. Then filters remove the rejected pairs of these boxes.
const GROUP: usize = 1 << 3;
/// The fewest giants that form a tree. With fewer giants, building and querying a tree takes longer than separate
/// tests.
const FEWEST_IN_A_TREE: usize = 24;

/// The fewest unbounded giants that query a tree of all boxes.
const FEWEST_QUERIES: usize = 16;

/// The giants of a search, and the memory of the search for their pairs.
#[derive(Debug, Default)]
pub struct GiantSearch {
    /// All giants, ascending.
    pub ids: Vec<u32>,
    /// Giants that are tested against each box.
    alone: Vec<u32>,
    /// Giants in the tree, and their boxes.
    in_tree: Vec<u32>,
    boxes: Vec<Aabb>,
    /// Unbounded giants, including half-spaces, that query a tree of all boxes.
    unbounded: Vec<u32>,
    join: Join,
}

impl GiantSearch {
    /// Appends the pairs of giants.
    pub fn test(
        &mut self,
        boxes: &[Aabb],
        is_giant: impl Fn(u32) -> bool + Sync,
        filter: impl PairFilter,
        lists: &mut TaskLists,
        pairs: &mut Vec<Pair>,
    ) -> Result<(), Error> {
        self.divide(boxes, filter);
        let reported = Reported { is_giant, filter };
        self.test_alone(boxes, &reported, lists, pairs)?;
        self.query_tree_of_giants(boxes, &reported, lists, pairs)?;
        self.query_tree_of_all(boxes, &reported, lists, pairs)
    }

    fn test_alone(
        &self,
        boxes: &[Aabb],
        reported: &Reported<impl Fn(u32) -> bool + Sync, impl PairFilter>,
        lists: &mut TaskLists,
        pairs: &mut Vec<Pair>,
    ) -> Result<(), Error> {
        if self.alone.is_empty() {
            return Ok(());
        }
        lists.fill((0..boxes.len()).step_by(BOXES), pairs, |&first, list| {
            for &giant in &self.alone {
                reserve(list, BOXES as u64)?;
                let (own, before, half_space) = (&boxes[giant as usize], list.len(), reported.filter.half_space(giant));
                for (aabb, i) in boxes[first..boxes.len().min(first + BOXES)].iter().zip(first as u32..) {
                    let meets = half_space.map_or_else(|| own.overlaps(aabb), |half_space| half_space.touches(aabb));
                    if meets && reported.is_reported(giant, i) {
                        list.push(Pair::new(giant, i));
                    }
                }
                reported.filter.retain_last(list, before);
            }
            Ok(())
        })
    }

    fn query_tree_of_giants(
        &mut self,
        boxes: &[Aabb],
        reported: &Reported<impl Fn(u32) -> bool + Sync, impl PairFilter>,
        lists: &mut TaskLists,
        pairs: &mut Vec<Pair>,
    ) -> Result<(), Error> {
        if self.in_tree.is_empty() {
            return Ok(());
        }
        let Self { in_tree, boxes: of_tree, join, .. } = self;
        let queries = Set { boxes, worlds: &[] };
        join.build(Set { boxes: of_tree, worlds: &[] }, queries);
        lists.fill((0..boxes.len()).step_by(BOXES), pairs, |&first, list| {
            let last = boxes.len().min(first + BOXES);
            for turn in (first..last).step_by(GROUP) {
                let before = list.len();
                let turns = turn..last.min(turn + GROUP);
                join.list(queries, turns, |i, of_tree| Pair { a: in_tree[of_tree as usize], b: i }, list)?;
                reported.retain_last(list, before);
            }
            Ok(())
        })
    }

    fn query_tree_of_all(
        &mut self,
        boxes: &[Aabb],
        reported: &Reported<impl Fn(u32) -> bool + Sync, impl PairFilter>,
        lists: &mut TaskLists,
        pairs: &mut Vec<Pair>,
    ) -> Result<(), Error> {
        let Self { unbounded, join, .. } = self;
        if unbounded.is_empty() {
            return Ok(());
        }
        join.plant(Set { boxes, worlds: &[] });
        lists.fill(unbounded.iter().copied(), pairs, |&giant, list| {
            let (pair, retain) =
                (|i| Pair { a: giant, b: i }, |list: &mut Vec<Pair>, from| reported.retain_last(list, from));
            match reported.filter.half_space(giant) {
                Some(half_space) => join.list_touching(half_space, pair, retain, list),
                None => join.list_touching(&boxes[giant as usize], pair, retain, list),
            }
        })
    }

    /// Divides the giants: some form a tree, some query a tree, and some do neither.
    fn divide(&mut self, boxes: &[Aabb], filter: impl PairFilter) {
        let Self { ids, alone, in_tree, boxes: of_tree, unbounded, .. } = self;
        for list in [&mut *alone, in_tree, unbounded] {
            list.clear();
        }
        let is_finite = |aabb: &Aabb| aabb.min.iter().chain(&aabb.max).all(|bound| bound.is_finite());
        for &giant in &*ids {
            let is_bounded = is_finite(&boxes[giant as usize]) && filter.half_space(giant).is_none();
            (if is_bounded { &mut *in_tree } else { &mut *unbounded }).push(giant);
        }
        if in_tree.len() < FEWEST_IN_A_TREE {
            alone.append(in_tree);
        }
        if unbounded.len() < FEWEST_QUERIES {
            alone.append(unbounded);
        }
        alone.sort_unstable();
        of_tree.clear();
        of_tree.extend(in_tree.iter().map(|giant| boxes[*giant as usize]));
    }

    /// Returns the bytes of allocated memory.
    pub fn bytes(&self) -> usize {
        let ids = [&self.ids, &self.alone, &self.in_tree, &self.unbounded];
        let ids = ids.map(Vec::capacity).iter().sum::<usize>() * size_of::<u32>();
        ids + self.boxes.capacity() * size_of::<Aabb>() + self.join.bytes()
    }
}

/// Decides which pairs of giants are reported.
struct Reported<G, K> {
    is_giant: G,
    filter: K,
}

impl<G: Fn(u32) -> bool, K: PairFilter> Reported<G, K> {
    /// Returns whether the pair of `giant` and box `i` is reported here. A pair of two giants is reported once, by the
    /// giant with the smaller index.
    fn is_reported(&self, giant: u32, i: u32) -> bool {
        i > giant || i < giant && !(self.is_giant)(i)
    }

    /// Removes the pairs from index `from` on that are not reported. In the input, `a` is the giant; in the result,
    /// `a < b`.
    fn retain_last(&self, list: &mut Vec<Pair>, from: usize) {
        let mut end = from;
        for at in from..list.len() {
            let Pair { a: giant, b: i } = list[at];
            list[end] = Pair::new(giant, i);
            end += usize::from(self.is_reported(giant, i));
        }
        list.truncate(end);
        self.filter.retain_last(list, from);
    }
}
