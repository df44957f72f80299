//! bvh's tree: built by surface area in buckets, then queried for the boxes that overlap each box.
//!
//! Its test is ours: closed, on the input numbers, so its pairs are ours too. It has no join of a tree with itself;
//! every box is a query, and finds each of its pairs, and itself. Half of that is dropped, as any user has to.
//!
//! Coordinates beyond [`MOST`] are refused. It squares edges and multiplies by the number of boxes in single
//! precision. Where that overflows, its nodes stay empty and pairs are lost without a word: of 5,000 cubes in a world
//! of 1e18, all. Where differences overflow as well, as they do among unbounded boxes, it panics.
//!
//! A tree is built anew for each step, on one thread like everything here. It has a way to update one, which pays
//! where few boxes move; where all do, its documentation says to build anew.

use bvh::aabb::{Aabb as Bounds, Bounded};
use bvh::bounding_hierarchy::BHShape;

use crate::baselines::list::PairList;
use crate::baselines::{Baseline, BaselineError, Work};
use broadsweep::{Aabb, Pair};

/// The largest coordinate: the squares of twice as much, times six, times the number of boxes, do not overflow.
pub const MOST: f32 = 1e14;

/// Nothing is kept from step to step.
pub struct Bvh;

/// A box as the tree wants it.
pub(crate) struct Shape {
    bounds: Bounds<f32, 3>,
    /// The index of the box.
    pub id: u32,
    node: usize,
}

impl Bounded<f32, 3> for Shape {
    fn aabb(&self) -> Bounds<f32, 3> {
        self.bounds
    }
}

impl BHShape<f32, 3> for Shape {
    fn set_bh_node_index(&mut self, node: usize) {
        self.node = node;
    }

    fn bh_node_index(&self) -> usize {
        self.node
    }
}

/// Creates shapes of all valid boxes.
pub(crate) fn shapes(boxes: &[Aabb]) -> Vec<Shape> {
    let shape =
        |(id, aabb): (u32, &Aabb)| Shape { bounds: Bounds::with_bounds(aabb.min.into(), aabb.max.into()), id, node: 0 };
    super::valid(boxes).map(shape).collect()
}

/// Refuses boxes that are too far away.
pub(crate) fn refuse_too_far(boxes: &[Aabb]) -> Result<(), BaselineError> {
    super::refuse_beyond(MOST, boxes, "bvh", "squares of edges overflow, and it loses pairs or panics")
}

impl Baseline for Bvh {
    fn find_pairs(&mut self, boxes: &[Aabb], pairs: &mut Vec<Pair>) -> Result<Work, BaselineError> {
        pairs.clear();
        refuse_too_far(boxes)?;
        let mut shapes = shapes(boxes);
        let tree = bvh::bvh::Bvh::build(&mut shapes);
        let mut list = PairList::new(pairs);
        for own in &shapes {
            let others = tree.traverse(&own.bounds, &shapes);
            list.extend(others.iter().filter(|other| own.id < other.id).map(|other| Pair { a: own.id, b: other.id }));
        }
        list.finish("bvh")?;
        Ok(Work::default())
    }
}
