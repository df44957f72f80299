//! SCD: sweep and prune on three axes, sorted by balanced trees.
//!
//! The boxes' endpoints on x, y and z are kept in a balanced tree each. From step to step the endpoints that moved
//! are taken out and put in again, `O(log n)` each, however far they went; then the trees are walked in order for
//! the pairs that overlap on all three axes. There is no grid, so what a walk finds grows with the square of the
//! number of boxes in a space of fixed extent.
//!
//! Source: Li, Lu and He 2003, "USSCD: A Fast Collision Detection Algorithm Based on Uniform Spatial Subdivision",
//! which compares its grid with this, the same without one. Its trees are AVL trees; here they are the standard
//! library's B-trees, balanced too and of the same order of cost. The paper does not say how SCD intersects the
//! overlaps of three axes; here the axis with fewest overlaps is walked, and its overlaps are compared on the other two
//! axes.

use std::collections::BTreeSet;

use super::endpoints::{ABSENT, Endpoint, check_count, sweep};
use super::list::PairList;
use super::{Baseline, BaselineError, Work};
use broadsweep::{Aabb, Pair};

/// Sweep and prune on three axes, sorted by balanced trees.
///
/// [`Work::updates`] counts endpoints that were put in or taken out, [`Work::candidates`] the pairs that overlap on
/// the axis that was walked. [`Work::bytes`] is an estimate: the standard library does not say what a tree holds.
#[derive(Debug, Default)]
pub struct Scd {
    /// The boxes that the trees know.
    seen: Vec<Aabb>,
    trees: Trees,
    active: Vec<(u32, Aabb)>,
}

impl Baseline for Scd {
    fn find_pairs(&mut self, boxes: &[Aabb], pairs: &mut Vec<Pair>) -> Result<Work, BaselineError> {
        pairs.clear();
        if self.seen.len() != boxes.len() {
            *self = Self::default();
            check_count("scd", boxes)?;
            self.seen.resize(boxes.len(), ABSENT);
        }
        let mut work = Work::default();
        for ((id, old), new) in (0..).zip(&mut self.seen).zip(boxes) {
            work.updates += self.trees.replace(id, old, new);
            *old = *new;
        }
        let mut list = PairList::new(pairs);
        work.candidates = self.trees.sweep(boxes, &mut self.active, |i, j| list.push(Pair::new(i, j)));
        list.finish("scd")?;
        work.bytes = self.trees.bytes()
            + (self.seen.capacity() * size_of::<Aabb>() + self.active.capacity() * size_of::<(u32, Aabb)>()) as u64;
        Ok(work)
    }
}

/// The endpoints of some boxes on x, y and z, sorted.
#[derive(Debug, Default)]
pub(super) struct Trees {
    axes: [BTreeSet<Endpoint>; 3],
}

impl Trees {
    /// Takes the endpoints of `old` out and puts those of `new` in, where they differ; invalid boxes have none. Returns
    /// the number of endpoints put in or taken out.
    pub fn replace(&mut self, id: u32, old: &Aabb, new: &Aabb) -> u64 {
        let (was, is) = (old.is_valid(), new.is_valid());
        if !was && !is {
            return 0;
        }
        let mut changes = 0;
        for (axis, tree) in self.axes.iter_mut().enumerate() {
            let (old, new) = (Endpoint::interval(old, axis, id), Endpoint::interval(new, axis, id));
            for (old, new) in old.into_iter().zip(new) {
                if was && is && old == new {
                    continue;
                }
                if was {
                    tree.remove(&old);
                    changes += 1;
                }
                if is {
                    tree.insert(new);
                    changes += 1;
                }
            }
        }
        changes
    }

    /// Counts the boxes.
    pub fn len(&self) -> usize {
        self.axes[0].len() / 2
    }

    /// Walks the trees as [`sweep`] walks lists.
    pub fn sweep(&self, boxes: &[Aabb], active: &mut Vec<(u32, Aabb)>, found: impl FnMut(u32, u32)) -> u64 {
        sweep(self.axes.each_ref().map(|tree| || tree.iter()), boxes, active, found)
    }

    /// Estimates the bytes that the trees hold: nodes with room for 11 endpoints, three quarters full.
    pub fn bytes(&self) -> u64 {
        /// Eleven endpoints, the way to the parent, and two counts.
        const NODE: u64 = 11 * 8 + 16;
        self.axes.iter().map(|tree| (tree.len() as u64).div_ceil(8) * NODE).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenes::Kind;

    #[test]
    fn only_what_moved_is_sorted_again() {
        let (mut scd, mut pairs) = (Scd::default(), Vec::new());
        let mut boxes = Kind::Uniform.generate(100, 1);
        assert_eq!(scd.find_pairs(&boxes, &mut pairs).unwrap().updates, 600);
        assert_eq!(scd.find_pairs(&boxes, &mut pairs).unwrap().updates, 0);
        // One endpoint out and in.
        boxes[7].max[1] += 0.5;
        assert_eq!(scd.find_pairs(&boxes, &mut pairs).unwrap().updates, 2);
        boxes[8].min[0] = f32::NAN;
        assert_eq!(scd.find_pairs(&boxes, &mut pairs).unwrap().updates, 6);
        boxes[8].min[1] = f32::NAN;
        assert_eq!(scd.find_pairs(&boxes, &mut pairs).unwrap().updates, 0);
    }
}
