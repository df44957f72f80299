//! The boxes that have left their padded boxes since the epoch began. Each gets a new padded box, and queries two
//! trees: a tree of the boxes that stayed, and a tree of the boxes that left.

use std::sync::atomic::{AtomicU64, Ordering};

use super::motion::{FRESH, LEFT_PADDING, Motion, Searched};
use super::padded_pairs::Tests;
use crate::base::reserve::reserve;
use crate::cpu::engine::order;
use crate::cpu::engine::pair_filter::{Filtered, PairFilter};
use crate::cpu::engine::task_lists::TaskLists;
use crate::cpu::tree::join::{Join, Set};
use crate::{Aabb, Error, Pair};

/// Boxes with which a thread queries a tree at a time.
const TASK: usize = 1 << 9;
/// Boxes that query a tree before the test count is compared with its limit. The value is the same for every thread
/// count, so that the decision is the same too.
const ROUND: usize = 1 << 12;

/// A subset of the boxes, as input of a tree.
#[derive(Debug, Default)]
struct BoxSubset {
    ids: Vec<u32>,
    boxes: Vec<Aabb>,
    worlds: Vec<u32>,
}

impl BoxSubset {
    /// Fills the subset with the padded boxes of `ids`, and with their worlds.
    fn fill(&mut self, padded_boxes: &[Aabb], worlds: &[u32]) {
        self.boxes.clear();
        self.boxes.extend(self.ids.iter().map(|&id| padded_boxes[id as usize]));
        self.worlds.clear();
        if !worlds.is_empty() {
            // The world of removed boxes does not matter, since their boxes are invalid.
            self.worlds.extend(self.ids.iter().map(|&id| worlds.get(id as usize).copied().unwrap_or(0)));
        }
    }

    fn set(&self) -> Set<'_> {
        Set { boxes: &self.boxes, worlds: &self.worlds }
    }
}

/// The boxes that have left, and their pairs.
#[derive(Debug, Default)]
pub struct LeftPadding {
    /// All boxes that have left since the epoch began.
    members: BoxSubset,
    /// Boxes that left in this step.
    fresh: BoxSubset,
    /// Boxes of `fresh` that had not left before.
    new: Vec<u32>,
    /// The pairs of padded boxes with at least one box that has left, ascending.
    pairs: Vec<Pair>,
    /// Pairs of `pairs` that overlap in this step.
    pub now: Vec<Pair>,
    /// Pairs of `pairs` that overlapped at the previous test.
    pub then: Vec<Pair>,
    /// A tree of all padded boxes, built when the first box left, in which boxes that have left are skipped. And a tree
    /// of the boxes that have left.
    stayed_tree: Join,
    left_tree: Join,
    has_tree: bool,
    found: Vec<Pair>,
    other: Vec<Pair>,
}

impl LeftPadding {
    /// Begins an epoch: no box has left.
    pub fn begin(&mut self) {
        self.members.ids.clear();
        self.pairs.clear();
        self.now.clear();
        self.then.clear();
        self.has_tree = false;
    }

    /// Returns the count of boxes that have left.
    pub fn count(&self) -> usize {
        self.members.ids.len()
    }

    /// Adds the boxes that left in this step: pads them by `margin`, and finds their pairs. Returns `false` if this
    /// would take more than `limit` tests; then the pairs are incomplete.
    ///
    /// # Errors
    /// [`Error::ListTooLong`].
    pub fn add(
        &mut self,
        motion: &Motion,
        step: Searched<'_>,
        padded_boxes: &mut [Aabb],
        margin: f32,
        lists: &mut TaskLists,
        limit: u64,
    ) -> Result<bool, Error> {
        let Searched { box_count, filters, .. } = step;
        motion.list_fresh(&mut self.fresh.ids);
        if self.fresh.ids.is_empty() {
            return Ok(true);
        }
        self.build_trees(&motion.boxes, filters.worlds(), padded_boxes, margin);
        self.found.clear();
        let Self { stayed_tree, left_tree, fresh, members, found, .. } = self;
        let states = &motion.states;
        // A pair is (querying box, box of the tree).
        let own = |query: u32| fresh.ids[query as usize];
        let of_stayed = |query: u32, id: u32| Pair { a: own(query), b: id };
        let of_left = |query: u32, at: u32| Pair { a: own(query), b: members.ids[at as usize] };
        let Some(more) = query_tree(stayed_tree, fresh.set(), &of_stayed, lists, found, limit)? else {
            return Ok(false);
        };
        let stayed_count = found.len();
        if query_tree(left_tree, fresh.set(), &of_left, lists, found, more)?.is_none() {
            return Ok(false);
        }
        let is_new = |at: usize, pair: Pair| {
            let of_other = states[pair.b as usize];
            if at < stayed_count {
                // Skip boxes that have left, since this tree has their old padded boxes.
                of_other & LEFT_PADDING == 0 && pair.b < box_count
            } else {
                // Two boxes that left in this step find each other twice, so retain only one of the two pairs.
                of_other & FRESH == 0 && pair.b < box_count || pair.a < pair.b
            }
        };
        let mut count = 0;
        for at in 0..found.len() {
            let pair = found[at];
            found[count] = Pair::new(pair.a, pair.b);
            count += usize::from(is_new(at, pair));
        }
        found.truncate(count);
        if !filters.passes_all() {
            Filtered::new(filters, &*padded_boxes).retain_last(found, 0);
        }
        order::canonical(found, &mut self.other, box_count);
        self.pairs.retain(|pair| (states[pair.a as usize] | states[pair.b as usize]) & FRESH == 0);
        reserve(&mut self.pairs, self.found.len() as u64)?;
        order::merge(&mut self.pairs, &self.found);
        Ok(true)
    }

    /// Pads the boxes that left in this step, and builds both trees. The tree of the boxes that stayed is built once
    /// per epoch.
    fn build_trees(&mut self, boxes: &[Aabb], worlds: &[u32], padded_boxes: &mut [Aabb], margin: f32) {
        if !self.has_tree {
            self.stayed_tree.plant(Set { boxes: padded_boxes, worlds });
            self.has_tree = true;
        }
        for &id in &self.fresh.ids {
            padded_boxes[id as usize] = padded(&boxes[id as usize], margin);
        }
        self.add_members();
        self.fresh.fill(padded_boxes, worlds);
        self.members.fill(padded_boxes, worlds);
        self.left_tree.plant(self.members.set());
    }

    /// Merges the boxes that left in this step into the ascending list of all boxes that left.
    fn add_members(&mut self) {
        let Self { members: BoxSubset { ids: members, .. }, fresh: BoxSubset { ids: fresh, .. }, new, .. } = self;
        let mut later = &members[..];
        new.clear();
        new.extend(fresh.iter().filter(|id| {
            later = &later[later.partition_point(|member| member < id)..];
            later.first() != Some(id)
        }));
        order::merge(members, new);
    }

    /// Tests which pairs of padded boxes overlap in this step.
    ///
    /// # Errors
    /// [`Error::ListTooLong`].
    pub fn test(&mut self, tests: Tests<'_>) -> Result<(), Error> {
        std::mem::swap(&mut self.now, &mut self.then);
        self.now.clear();
        reserve(&mut self.now, self.pairs.len() as u64)?;
        self.now.extend(self.pairs.iter().copied().filter(|&pair| tests.meet(pair)));
        Ok(())
    }

    /// Counts the pairs of padded boxes.
    pub fn pair_count(&self) -> usize {
        self.pairs.len()
    }

    /// Returns the bytes of allocated memory.
    pub fn bytes(&self) -> usize {
        let parts = [&self.members, &self.fresh].map(|part| {
            (part.ids.capacity() + part.worlds.capacity() + self.new.capacity()) * size_of::<u32>()
                + part.boxes.capacity() * size_of::<Aabb>()
        });
        let lists = [&self.pairs, &self.now, &self.then, &self.found, &self.other]
            .map(|list| list.capacity() * size_of::<Pair>());
        parts.iter().chain(&lists).sum::<usize>() + self.stayed_tree.bytes() + self.left_tree.bytes()
    }
}

/// Queries a tree with some boxes, and returns the limit minus the tests; `None` if the tests exceed the limit.
fn query_tree(
    tree: &mut Join,
    queries: Set<'_>,
    pair: &(impl Fn(u32, u32) -> Pair + Sync),
    lists: &mut TaskLists,
    found: &mut Vec<Pair>,
    limit: u64,
) -> Result<Option<u64>, Error> {
    tree.line_up(queries);
    let tree = &*tree;
    let tests = AtomicU64::new(0);
    let query = |&(first, end): &(usize, usize), list: &mut Vec<Pair>| {
        let counts = tree.list(queries, first..end, pair, list)?;
        tests.fetch_add(counts.tests, Ordering::Relaxed);
        Ok(())
    };
    let count = queries.boxes.len();
    for round in (0..count).step_by(ROUND) {
        let end = count.min(round + ROUND);
        lists.fill((round..end).step_by(TASK).map(|first| (first, end.min(first + TASK))), found, query)?;
        if tests.load(Ordering::Relaxed) > limit {
            return Ok(None);
        }
    }
    Ok(Some(limit - tests.into_inner()))
}

/// Returns a box that is larger by this margin on each side, up to rounding.
pub fn padded(aabb: &Aabb, margin: f32) -> Aabb {
    Aabb { min: aabb.min.map(|bound| bound - margin), max: aabb.max.map(|bound| bound + margin) }
}
