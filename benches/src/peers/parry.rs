//! parry3d's `Bvh`: a binary tree in single precision, built by surface area in bins, joined with itself.
//!
//! Its test is ours: closed, on the input numbers, so its pairs are ours too, with unbounded boxes as with others.
//!
//! There are two of it. [`Parry`] builds a tree for each step. [`ParryRefit`] keeps one: leaves are updated, a part
//! of the tree is rebuilt and the rest refitted, as its documentation says and rapier does. That is faster by far
//! where little moves, and slower by far where boxes move by more than their own size in a step. All pairs are found
//! anew by both; rapier's own list of changes is [`rapier`](super::rapier).

use parry3d::bounding_volume::Aabb as Bounds;
use parry3d::partitioning::{Bvh, BvhBuildStrategy, BvhWorkspace};

use crate::baselines::list::PairList;
use crate::baselines::{Baseline, BaselineError, Work};
use broadsweep::{Aabb, Pair};

/// Builds a tree for each step.
#[derive(Default)]
pub struct Parry {
    tree: Bvh,
    workspace: BvhWorkspace,
    /// The index of the box of each leaf. Leaves are numbered without gaps, which a tree of one or two wants.
    ids: Vec<u32>,
}

/// Keeps its tree, and builds it anew only where a box turned valid or invalid, or their number changed.
#[derive(Default)]
pub struct ParryRefit {
    inner: Parry,
    box_count: usize,
}

/// Returns the bounds of all valid boxes.
pub(crate) fn leaves(boxes: &[Aabb]) -> impl Iterator<Item = Bounds> {
    super::valid(boxes).map(|(_, aabb)| Bounds::new(aabb.min.into(), aabb.max.into()))
}

impl Parry {
    fn build(&mut self, boxes: &[Aabb]) {
        self.ids.clear();
        self.ids.extend(super::valid(boxes).map(|(id, _)| id));
        self.tree = Bvh::from_iter(BvhBuildStrategy::Binned, leaves(boxes).enumerate());
    }

    fn refit(&mut self, boxes: &[Aabb]) {
        for (leaf, bounds) in (0..).zip(leaves(boxes)) {
            self.tree.insert_or_update_partially(bounds, leaf, 0.0);
        }
        self.tree.optimize_incremental(&mut self.workspace);
        self.tree.refit(&mut self.workspace);
    }

    fn join(&mut self, pairs: &mut Vec<Pair>) -> Result<Work, BaselineError> {
        pairs.clear();
        let mut list = PairList::new(pairs);
        let mut push = |a: u32, b: u32| list.push(Pair::new(self.ids[a as usize], self.ids[b as usize]));
        self.tree.traverse_bvtt_single_tree::<false>(&mut self.workspace, &mut push);
        list.finish("parry")?;
        Ok(Work { bytes: self.tree.total_memory_size() as u64, ..Work::default() })
    }
}

impl Baseline for Parry {
    fn find_pairs(&mut self, boxes: &[Aabb], pairs: &mut Vec<Pair>) -> Result<Work, BaselineError> {
        self.build(boxes);
        self.join(pairs)
    }
}

impl Baseline for ParryRefit {
    fn find_pairs(&mut self, boxes: &[Aabb], pairs: &mut Vec<Pair>) -> Result<Work, BaselineError> {
        let ids = super::valid(boxes).map(|(id, _)| id);
        if self.box_count == boxes.len() && ids.eq(self.inner.ids.iter().copied()) {
            self.inner.refit(boxes);
        } else {
            self.box_count = boxes.len();
            self.inner.build(boxes);
        }
        self.inner.join(pairs)
    }
}
