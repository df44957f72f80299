//! Two trees that follow a scene from frame to frame: one for boxes at rest, one for boxes that move.

use super::{AabbTree, LeafId, Moved};
use crate::baselines::{Baseline, BaselineError, Work};
use crate::{Aabb, Pair};

/// Frames that a box has to be as it is before it goes to the tree of those at rest. Fewer, and a box that rests for
/// a moment goes to and fro; more, and the moving tree is larger than it need be.
const FRAMES_TO_REST: u32 = 8;

/// The tree is built anew when this many leaves for each of its own were inserted one by one: the order in which
/// boxes come makes a tree worse than the median does, and rebuilding costs about as much as inserting half of them.
const INSERTIONS_PER_REBUILD: u64 = 2;

/// A box, and where it is.
#[derive(Clone, Copy, Debug)]
struct Body {
    aabb: Aabb,
    /// None if the box is invalid.
    leaf: Option<(Part, LeafId)>,
    /// Frames that it has been as it is.
    frames_at_rest: u32,
    is_active: bool,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Part {
    Resting,
    Moving,
}

/// A tree of boxes at rest, a tree of boxes that move, and the boxes that moved in this frame.
///
/// In the first frame, all boxes are put into the tree at rest, by [`AabbTree::build`], which is joined with itself.
/// From then on, what is at rest costs no search: **only boxes that moved since the frame before look for others**, in
/// both trees, and pairs between two that did not move are kept as they are.
///
/// [`Work::updates`] counts leaves that went into a tree, rotations, and the leaves of a tree that was built anew.
#[derive(Debug, Default)]
pub struct DynamicTrees {
    pub(super) resting: AabbTree,
    pub(super) moving: AabbTree,
    bodies: Vec<Body>,
    /// Boxes that moved in this frame.
    active: Vec<u32>,
    pairs: Vec<Pair>,
    /// Insertions into each tree since it was built.
    insertions: [u64; 2],
}

impl DynamicTrees {
    fn tree(&mut self, part: Part) -> &mut AabbTree {
        match part {
            Part::Resting => &mut self.resting,
            Part::Moving => &mut self.moving,
        }
    }

    /// The first frame. Returns how many boxes were tested.
    fn start(&mut self, boxes: &[Aabb]) -> u64 {
        let (resting, leaves) = AabbTree::build(boxes);
        let body = |(aabb, leaf): (&Aabb, Option<LeafId>)| Body {
            aabb: *aabb,
            leaf: leaf.map(|leaf| (Part::Resting, leaf)),
            frames_at_rest: 0,
            is_active: false,
        };
        let bodies = boxes.iter().zip(leaves).map(body).collect();
        *self = Self { resting, bodies, ..Self::default() };
        self.resting.pairs(|a, b| self.pairs.push(Pair::new(a, b)))
    }

    /// Brings the trees up to date and lists what moved. Returns how many leaves were put into a tree.
    fn follow(&mut self, boxes: &[Aabb]) -> u64 {
        self.active.clear();
        let mut inserted = 0;
        for (i, aabb) in (0..).zip(boxes) {
            let Body { aabb: before, leaf, frames_at_rest, .. } = self.bodies[i as usize];
            // A NaN is not equal to itself: such a box is taken for one that moves, and is in no tree.
            let is_active = *aabb != before;
            let body = &mut self.bodies[i as usize];
            body.aabb = *aabb;
            body.is_active = is_active;
            body.frames_at_rest = if is_active { 0 } else { frames_at_rest.saturating_add(1) };
            if is_active {
                self.active.push(i);
                let motion =
                    std::array::from_fn(|k| (aabb.min[k] - before.min[k] + (aabb.max[k] - before.max[k])) / 2.0);
                inserted += self.move_box(i, leaf, motion);
            } else if let Some((Part::Moving, leaf)) = leaf
                && frames_at_rest >= FRAMES_TO_REST
            {
                self.moving.remove(leaf);
                self.bodies[i as usize].leaf = self.resting.insert(*aabb, i).map(|leaf| (Part::Resting, leaf));
                self.insertions[Part::Resting as usize] += 1;
                inserted += 1;
            }
        }
        inserted
    }

    /// A box that moved, whose leaf was this. Returns how many leaves were put into a tree.
    fn move_box(&mut self, i: u32, leaf: Option<(Part, LeafId)>, motion: [f32; 3]) -> u64 {
        let aabb = self.bodies[i as usize].aabb;
        if let Some((Part::Moving, leaf)) = leaf
            && aabb.is_valid()
        {
            let was_inserted = self.moving.update(leaf, aabb, motion) == Moved::Reinserted;
            self.insertions[Part::Moving as usize] += u64::from(was_inserted);
            return u64::from(was_inserted);
        }
        if let Some((part, leaf)) = leaf {
            self.tree(part).remove(leaf);
        }
        let leaf = self.moving.insert_moving(aabb, motion, i).map(|leaf| (Part::Moving, leaf));
        self.bodies[i as usize].leaf = leaf;
        self.insertions[Part::Moving as usize] += u64::from(leaf.is_some());
        u64::from(leaf.is_some())
    }

    /// Builds a tree anew that was changed much. Returns how many leaves it has then.
    fn rebuild(&mut self, part: Part) -> u64 {
        let leaf_count = self.tree(part).len() as u64;
        if self.insertions[part as usize] <= INSERTIONS_PER_REBUILD * leaf_count {
            return 0;
        }
        self.insertions[part as usize] = 0;
        self.tree(part).rebuild();
        leaf_count
    }

    /// Replaces the pairs of all boxes that moved. Returns how many boxes were tested.
    fn search(&mut self) -> u64 {
        let Self { resting, moving, bodies, active, pairs, .. } = self;
        let is_active = |i: u32| bodies[i as usize].is_active;
        pairs.retain(|pair| !is_active(pair.a) && !is_active(pair.b));
        let mut tested = 0;
        for &i in active.iter() {
            let aabb = bodies[i as usize].aabb;
            tested += resting.query(&aabb, |j| pairs.push(Pair::new(i, j)));
            // Two boxes that moved find each other twice, and a box finds itself.
            tested += moving.query(&aabb, |j| {
                if i < j || !is_active(j) {
                    pairs.push(Pair::new(i, j));
                }
            });
        }
        tested
    }
}

impl Baseline for DynamicTrees {
    fn find_pairs(&mut self, boxes: &[Aabb], pairs: &mut Vec<Pair>) -> Result<Work, BaselineError> {
        let mut work = Work::default();
        if self.bodies.len() != boxes.len() {
            work.candidates = self.start(boxes);
        } else {
            let rotations = self.resting.rotations() + self.moving.rotations();
            work.updates = self.follow(boxes) + self.rebuild(Part::Resting) + self.rebuild(Part::Moving);
            work.updates += self.resting.rotations() + self.moving.rotations() - rotations;
            work.candidates = self.search();
        }
        work.bytes = self.resting.bytes()
            + self.moving.bytes()
            + (self.bodies.capacity() * size_of::<Body>()
                + self.active.capacity() * size_of::<u32>()
                + self.pairs.capacity() * size_of::<Pair>()) as u64;
        pairs.clear();
        pairs.extend_from_slice(&self.pairs);
        Ok(work)
    }
}
