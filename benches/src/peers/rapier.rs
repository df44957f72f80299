//! rapier3d's broad phase: parry's tree with leaves that are updated, and events for the pairs that come and go.
//!
//! The broad phase gets boxes by `BroadPhaseBvh::set_aabb`, as in rapier's own pipeline, and not shapes: the box that
//! it makes of a shape is the centre ± half the edges, rounded, with a distance of prediction around it. The colliders
//! that it needs are there, but nothing looks at their shape; they are made in the first step with this many boxes, and
//! kept where all else starts anew, since its users have them anyway. The pairs are kept from its events, as its users
//! do.
//!
//! It is used **without its margins**. Its leaves are larger than their boxes, by 4 hundredths of what it takes for a
//! unit of length, which would be 4 cm in a world of metres: fewer updates, and pairs that do not overlap, in any
//! number. That unit is therefore the smallest normal number here, and the margin vanishes in the rounding of any
//! coordinate but a denormal. It cannot be zero: that switches the events off. **What remains**: a box that only
//! shrank, or moved within the box that the tree has, is not updated, so in steps after the first there can be pairs
//! too many; among denormal coordinates, too.
//!
//! Like parry's tree where that is kept, its own is at its best where little moves. Where boxes fly by more than their
//! size in each step, it grows worse from step to step.
//!
//! The engine leaves boxes out that are not finite, so those are refused here; and so are coordinates beyond
//! [`MOST`], where products of edges overflow to NaN, the tree becomes a list, and its recursion as deep as that is
//! long.

use rapier3d::prelude::{
    Aabb as Bounds, ActiveCollisionTypes, BroadPhaseBvh, BroadPhasePairEvent, ColliderBuilder, ColliderHandle,
    ColliderPair, ColliderSet, IntegrationParameters, RigidBodySet, SharedShape,
};

use crate::baselines::{Baseline, BaselineError, Changes, Work};
use broadsweep::{Aabb, Pair};

/// The largest coordinate: the cube of twice as much is still a number in single precision.
pub const MOST: f32 = 1e12;

/// A broad phase with colliders, and the pairs that its events have left.
#[derive(Default)]
pub struct Rapier {
    broad_phase: BroadPhaseBvh,
    /// The colliders, as many as there ever were valid boxes. The box that each stands for changes with the valid
    /// boxes.
    colliders: ColliderSet,
    handles: Vec<ColliderHandle>,
    /// The index of the box of each collider that is in use.
    ids: Vec<u32>,
    box_count: usize,
    events: Vec<BroadPhasePairEvent>,
    /// Pairs that began and that ended in this step.
    began: Vec<Pair>,
    ended: Vec<Pair>,
    pairs: Vec<Pair>,
}

impl Rapier {
    /// Creates a collider for each of these boxes, of which nothing is known yet.
    fn start(&mut self, boxes: &[Aabb]) {
        self.broad_phase = BroadPhaseBvh::default();
        self.pairs.clear();
        self.box_count = boxes.len();
        self.ids.clear();
        self.ids.extend(super::valid(boxes).map(|(id, _)| id));
        let shape = SharedShape::ball(0.5);
        while self.handles.len() < self.ids.len() {
            // A collider without a body is a fixed one, and two of those are usually not of interest.
            let collider = ColliderBuilder::new(shape.clone()).active_collision_types(ActiveCollisionTypes::all());
            self.handles.push(self.colliders.insert(collider));
        }
    }

    fn pair(&self, pair: &ColliderPair) -> Pair {
        // Colliders are numbered from 0 where none is removed.
        let id = |handle: ColliderHandle| self.ids[handle.into_raw_parts().0 as usize];
        Pair::new(id(pair.collider1), id(pair.collider2))
    }
}

impl Baseline for Rapier {
    fn find_pairs(&mut self, boxes: &[Aabb], pairs: &mut Vec<Pair>) -> Result<Work, BaselineError> {
        pairs.clear();
        let reason = "products of three edges overflow, and the tree becomes a list";
        super::refuse_beyond(MOST, boxes, "rapier", reason).inspect_err(|_| self.start(&[]))?;
        if self.box_count != boxes.len() || super::valid(boxes).map(|(id, _)| id).ne(self.ids.iter().copied()) {
            self.start(boxes);
        }
        let parameters = IntegrationParameters { length_unit: f32::MIN_POSITIVE, ..Default::default() };
        for (handle, (_, aabb)) in self.handles.iter().zip(super::valid(boxes)) {
            self.broad_phase.set_aabb(&parameters, *handle, Bounds::new(aabb.min.into(), aabb.max.into()));
        }
        self.events.clear();
        let bodies = RigidBodySet::new();
        self.broad_phase.update(&parameters, &self.colliders, &bodies, &[], &[], &mut self.events);

        let events = std::mem::take(&mut self.events);
        self.began.clear();
        self.ended.clear();
        // Its own list of events is longer, and ends the process where there is no memory for it.
        for event in &events {
            match event {
                BroadPhasePairEvent::AddPair(pair) => self.began.push(self.pair(pair)),
                BroadPhasePairEvent::DeletePair(pair) => self.ended.push(self.pair(pair)),
            }
        }
        self.events = events;
        self.ended.sort_unstable();
        self.pairs.retain(|pair| self.ended.binary_search(pair).is_err());
        self.pairs.extend_from_slice(&self.began);
        pairs.extend_from_slice(&self.pairs);
        Ok(Work { updates: self.events.len() as u64, ..Work::default() })
    }

    fn events(&self) -> Option<Changes<'_>> {
        Some(Changes { created: &self.began, lost: &self.ended })
    }
}
