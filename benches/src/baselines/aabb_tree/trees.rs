//! Two trees that follow a scene from step to step: one for boxes at rest, one for boxes that move.

use super::{AabbTree, LeafId, MOST_BOXES};
use crate::baselines::list::PairList;
use crate::baselines::{Baseline, BaselineError, Work};
use broadsweep::{Aabb, Pair};

/// Steps that a box has to stay as it is before it goes to the tree of boxes at rest. With fewer, a box that rests for
/// a moment goes to and fro; with more, the moving tree is larger than it need be.
const STEPS_TO_REST: u32 = 8;

/// Boxes of the moving tree for each that moved, up to which the tree is joined with itself rather than searched for
/// each of them: a join takes as long as searches for a quarter of the boxes.
const BOXES_PER_SEARCH: usize = 4;

/// A box, and where it is.
#[derive(Clone, Copy, Debug)]
struct Body {
    aabb: Aabb,
    /// `None` if the box is invalid.
    leaf: Option<(TreeKind, LeafId)>,
    /// Steps for which the box has stayed as it is, while it is in the moving tree.
    steps_at_rest: u32,
    is_active: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum TreeKind {
    Resting,
    Moving,
}

/// A tree of boxes at rest, a tree of boxes that move, and the boxes that moved in this step.
///
/// In the first step, all boxes are put into the tree at rest, by [`AabbTree::build`], which is joined with itself.
/// From then on, what is at rest costs no search: **only boxes that moved since the step before look for others**, in
/// both trees, and pairs between two that did not move are kept as they are.
///
/// A tree that many boxes come to, or move in, is built anew. [`Work::updates`] counts leaves that were put into a
/// tree, by insertion or building, and rotations.
#[derive(Debug, Default)]
pub struct DynamicTrees {
    pub(super) resting: AabbTree,
    pub(super) moving: AabbTree,
    bodies: Vec<Body>,
    /// Boxes that moved in this step.
    active: Vec<u32>,
    pairs: Vec<Pair>,
}

impl DynamicTrees {
    /// Brings trees and pairs up to date.
    fn update(&mut self, boxes: &[Aabb]) -> Result<Work, BaselineError> {
        let mut work = Work::default();
        if self.bodies.len() != boxes.len() {
            work.candidates = self.start(boxes)?;
        } else {
            let rotations = self.resting.rotations() + self.moving.rotations();
            work.updates = self.follow(boxes);
            work.updates += self.resting.rotations() + self.moving.rotations() - rotations;
            work.candidates = self.search()?;
        }
        Ok(work)
    }

    /// Begins with the first step. Returns how many boxes were tested.
    fn start(&mut self, boxes: &[Aabb]) -> Result<u64, BaselineError> {
        let (resting, leaves) = AabbTree::build(boxes);
        let body = |(aabb, leaf): (&Aabb, Option<LeafId>)| Body {
            aabb: *aabb,
            leaf: leaf.map(|leaf| (TreeKind::Resting, leaf)),
            steps_at_rest: 0,
            is_active: false,
        };
        let bodies = boxes.iter().zip(leaves).map(body).collect();
        *self = Self { resting, bodies, ..Self::default() };
        let mut list = PairList::new(&mut self.pairs);
        let tested = self.resting.pairs(|a, b| list.push(Pair::new(a, b)));
        list.finish(NAME)?;
        Ok(tested)
    }

    /// Brings the trees up to date and lists what moved. Returns how many leaves were put into a tree.
    fn follow(&mut self, boxes: &[Aabb]) -> u64 {
        self.active.clear();
        for (i, (aabb, body)) in (0..).zip(boxes.iter().zip(&mut self.bodies)) {
            let before = std::mem::replace(&mut body.aabb, *aabb);
            // A NaN is not equal to itself: such a box is taken for one that moves, and is in no tree.
            body.is_active = *aabb != before;
            if body.is_active {
                self.active.push(i);
                body.steps_at_rest = 0;
                let shift = |k: usize| (aabb.min[k] - before.min[k] + (aabb.max[k] - before.max[k])) / 2.0;
                let motion = std::array::from_fn(shift);
                match body.leaf {
                    Some((TreeKind::Moving, leaf)) if aabb.is_valid() => self.moving.update_later(leaf, *aabb, motion),
                    leaf => {
                        match leaf {
                            Some((TreeKind::Resting, leaf)) => self.resting.remove(leaf),
                            Some((TreeKind::Moving, leaf)) => self.moving.remove(leaf),
                            None => false,
                        };
                        let leaf = self.moving.insert_moving_later(*aabb, motion, i);
                        body.leaf = leaf.map(|leaf| (TreeKind::Moving, leaf));
                    }
                }
            } else if let Some((TreeKind::Moving, leaf)) = body.leaf {
                body.steps_at_rest += 1;
                if body.steps_at_rest > STEPS_TO_REST {
                    self.moving.remove(leaf);
                    body.leaf = self.resting.insert_later(*aabb, i).map(|leaf| (TreeKind::Resting, leaf));
                }
            }
        }
        self.moving.settle() + self.resting.settle()
    }

    /// Replaces the pairs of all boxes that moved. Returns how many boxes were tested.
    fn search(&mut self) -> Result<u64, BaselineError> {
        let Self { resting, moving, bodies, active, pairs, .. } = self;
        let is_active = |i: u32| bodies[i as usize].is_active;
        pairs.retain(|pair| !is_active(pair.a) && !is_active(pair.b));
        let mut pairs = PairList::new(pairs);
        let mut tested = 0;
        let joins = active.len() * BOXES_PER_SEARCH > moving.len();
        if joins {
            tested += moving.pairs(|i, j| {
                if is_active(i) || is_active(j) {
                    pairs.push(Pair::new(i, j));
                }
            });
        }
        for &i in active.iter() {
            let aabb = bodies[i as usize].aabb;
            tested += resting.query(&aabb, |j| pairs.push(Pair::new(i, j)));
            if !joins {
                // Two boxes that moved find each other twice, and a box finds itself.
                tested += moving.query(&aabb, |j| {
                    if i < j || !is_active(j) {
                        pairs.push(Pair::new(i, j));
                    }
                });
            }
        }
        pairs.finish(NAME)?;
        Ok(tested)
    }
}

const NAME: &str = "aabb_tree";

impl Baseline for DynamicTrees {
    fn find_pairs(&mut self, boxes: &[Aabb], pairs: &mut Vec<Pair>) -> Result<Work, BaselineError> {
        if boxes.len() > MOST_BOXES {
            *self = Self::default();
            return Err(BaselineError::TooManyBoxes {
                algorithm: NAME,
                box_count: boxes.len() as u64,
                most: MOST_BOXES as u64,
                reason: "it has two nodes for each, named by 32 bits",
            });
        }
        pairs.clear();
        let mut work = self.update(boxes).inspect_err(|_| *self = Self::default())?;
        work.bytes = self.resting.bytes()
            + self.moving.bytes()
            + (self.bodies.capacity() * size_of::<Body>()
                + self.active.capacity() * size_of::<u32>()
                + self.pairs.capacity() * size_of::<Pair>()) as u64;
        let mut list = PairList::new(pairs);
        list.extend(self.pairs.iter().copied());
        list.finish(NAME)?;
        Ok(work)
    }
}
