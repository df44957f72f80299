//! parry3d's `Bvh`: a binary tree in single precision, built by surface area in bins, joined with itself.
//!
//! Its test is ours: closed, on the input numbers, so its pairs are ours too, with unbounded boxes as with others.
//!
//! From frame to frame its leaves are updated, a part of the tree is rebuilt and the rest is refitted, as its
//! documentation says and rapier does. All pairs are then found anew; rapier's own list of changes is
//! [`rapier`](super::rapier). Where a box turns valid or invalid, the tree is built anew.

use parry3d::bounding_volume::Aabb as Bounds;
use parry3d::partitioning::{Bvh, BvhBuildStrategy, BvhWorkspace};

use crate::baselines::{Baseline, BaselineError, Work};
use crate::{Aabb, Pair};

/// A tree, and the boxes that are in it.
#[derive(Default)]
pub struct Parry {
    tree: Bvh,
    workspace: BvhWorkspace,
    /// The index of the box of each leaf. Leaves are numbered without gaps, which a tree of one or two wants.
    ids: Vec<u32>,
    box_count: usize,
}

impl Baseline for Parry {
    fn find_pairs(&mut self, boxes: &[Aabb], pairs: &mut Vec<Pair>) -> Result<Work, BaselineError> {
        pairs.clear();
        let leaves = || super::valid(boxes).map(|(_, aabb)| Bounds::new(aabb.min.into(), aabb.max.into()));
        let is_next =
            self.box_count == boxes.len() && super::valid(boxes).map(|(id, _)| id).eq(self.ids.iter().copied());
        if is_next {
            for (leaf, bounds) in (0..).zip(leaves()) {
                self.tree.insert_or_update_partially(bounds, leaf, 0.0);
            }
            self.tree.optimize_incremental(&mut self.workspace);
            self.tree.refit(&mut self.workspace);
        } else {
            self.box_count = boxes.len();
            self.ids.clear();
            self.ids.extend(super::valid(boxes).map(|(id, _)| id));
            self.tree = Bvh::from_iter(BvhBuildStrategy::Binned, leaves().enumerate());
        }
        let ids = &self.ids;
        let mut push = |a: u32, b: u32| pairs.push(Pair::new(ids[a as usize], ids[b as usize]));
        self.tree.traverse_bvtt_single_tree::<false>(&mut self.workspace, &mut push);
        Ok(Work { bytes: self.tree.total_memory_size() as u64, ..Work::default() })
    }
}
