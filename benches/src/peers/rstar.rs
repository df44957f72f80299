//! rstar's R*-tree, loaded in bulk and joined with itself.
//!
//! Its test is ours: closed, on the input numbers, so its pairs are ours too, with unbounded boxes as with others.
//! Its join of two trees gives each pair of one tree with itself twice, and each box with itself; those are dropped,
//! as any user of it has to.
//!
//! A tree is built anew for each step. It can insert and remove, but one by one, which for boxes that all move is
//! slower than loading them in bulk.

use rstar::primitives::{GeomWithData, Rectangle};
use rstar::{AABB as Envelope, RTree};

use crate::baselines::list::PairList;
use crate::baselines::{Baseline, BaselineError, Work};
use broadsweep::{Aabb, Pair};

/// Nothing is kept from step to step.
pub struct Rstar;

/// A tree of boxes with their indices.
pub(crate) type Loaded = RTree<GeomWithData<Rectangle<[f32; 3]>, u32>>;

/// Loads all valid boxes in bulk.
pub(crate) fn load(boxes: &[Aabb]) -> Loaded {
    let leaf = |(id, aabb): (u32, &Aabb)| {
        GeomWithData::new(Rectangle::from_aabb(Envelope::from_corners(aabb.min, aabb.max)), id)
    };
    RTree::bulk_load(super::valid(boxes).map(leaf).collect())
}

impl Baseline for Rstar {
    fn find_pairs(&mut self, boxes: &[Aabb], pairs: &mut Vec<Pair>) -> Result<Work, BaselineError> {
        pairs.clear();
        let tree = load(boxes);
        let found = tree.intersection_candidates_with_other_tree(&tree);
        let mut list = PairList::new(pairs);
        list.extend(found.filter(|(a, b)| a.data < b.data).map(|(a, b)| Pair { a: a.data, b: b.data }));
        list.finish("rstar")?;
        Ok(Work::default())
    }
}
