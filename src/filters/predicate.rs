//! Decides whether the filters accept a pair of overlapping boxes: the twin of `passes` in
//! `shaders/filters/filters.wgsl`.

use super::{CheckedFilters, Filters, GroupRule, HalfSpace, spheres_touch};
use crate::{Aabb, Pair};

impl Filters {
    /// Returns whether the lists by box accept the pair of boxes `a` and `b`. The lists of pairs, spheres and the boxes
    /// themselves are ignored.
    ///
    /// # Panics
    /// If a list is not empty, and `a` or `b` is beyond its end.
    pub(crate) fn passes(&self, a: u32, b: u32) -> bool {
        let (i, j) = (a as usize, b as usize);
        let group = |i: usize| if self.group.is_empty() { u32::MAX } else { self.group[i] };
        let mask = |i: usize| if self.mask.is_empty() { u32::MAX } else { self.mask[i] };
        let (a_meets, b_meets) = (mask(i) & group(j) != 0, mask(j) & group(i) != 0);
        // No branches, since they are mispredicted.
        let by_group = match self.rule {
            GroupRule::Any => a_meets | b_meets,
            GroupRule::Both => a_meets & b_meets,
        };
        let body = |i: usize| if self.body.is_empty() { i as u32 } else { self.body[i] };
        let is_child = |i: usize, j: usize| {
            !self.parent.is_empty() && (self.parent[i] != Self::NO_PARENT) & (self.parent[i] == body(j))
        };
        let by_body = (body(i) != body(j)) & !is_child(i, j) & !is_child(j, i);
        let both = |list: &[bool]| !list.is_empty() && list[i] & list[j];
        let by_world = self.world.is_empty()
            || (self.world[i] == self.world[j]) | (self.world[i] == Self::GLOBAL) | (self.world[j] == Self::GLOBAL);
        let by_set = self.second.is_empty() || self.second[i] != self.second[j];
        by_set & by_group & by_body & !both(&self.fixed) & !both(&self.sleeping) & by_world
    }

    /// Returns `true` if no box sleeps or is fixed.
    pub(crate) fn all_awake(&self) -> bool {
        self.sleeping.is_empty() && self.fixed.is_empty()
    }

    /// Returns whether a box sleeps or is fixed.
    pub(crate) fn rests(&self, index: u32) -> bool {
        let is = |list: &[bool]| list.get(index as usize).is_some_and(|is| *is);
        is(&self.sleeping) || is(&self.fixed)
    }

    /// Returns the world of a pair: the world of its boxes, or of the box that is not global. `None` if both boxes are
    /// global or there are no worlds. An included pair across two worlds belongs to the world of its box `a`.
    ///
    /// # Panics
    /// If `world` is not empty, and an index of the pair is beyond its end.
    pub fn world_of(&self, pair: Pair) -> Option<u32> {
        if self.world.is_empty() {
            return None;
        }
        let world = self.world[self.placed(pair)];
        (world != Self::GLOBAL).then_some(world)
    }

    /// Returns the index of the box that determines the world of the pair. There must be worlds.
    pub(super) fn placed(&self, pair: Pair) -> usize {
        let (a, b) = (pair.a as usize, pair.b as usize);
        if self.world[a] == Self::GLOBAL { b } else { a }
    }
}

/// The prepared boxes of a search: one list, or two lists whose indices are consecutive.
#[derive(Clone, Copy, Debug)]
pub struct SearchedBoxes<'a> {
    first: &'a [Aabb],
    others: &'a [Aabb],
}

impl<'a> SearchedBoxes<'a> {
    /// Wraps the boxes of two sets. The indices of the second set follow the indices of the first.
    pub fn of_sets(first: &'a [Aabb], others: &'a [Aabb]) -> Self {
        Self { first, others }
    }

    /// Returns the box with this index.
    #[inline]
    fn of(&self, index: u32) -> &'a Aabb {
        let index = index as usize;
        self.first.get(index).unwrap_or_else(|| &self.others[index - self.first.len()])
    }
}

impl<'a> From<&'a [Aabb]> for SearchedBoxes<'a> {
    fn from(boxes: &'a [Aabb]) -> Self {
        Self { first: boxes, others: &[] }
    }
}

impl CheckedFilters {
    /// Returns whether a search reports this pair of overlapping prepared boxes.
    pub fn passes(&self, boxes: SearchedBoxes<'_>, a: u32, b: u32) -> bool {
        let is_owned = || self.filters().owner.is_none_or(|region| region.owns(boxes.of(a), boxes.of(b)));
        let is_listed = || self.listed().contains(Pair::new(a, b));
        self.filters().passes(a, b) && is_owned() && !is_listed() && self.shapes_meet(boxes, a, b)
    }

    /// Returns whether `sphere` has a point in common with the sphere or half-space of box `index`; `true` if the box
    /// has neither.
    pub fn touches_sphere(&self, index: u32, sphere: &[f32; 4]) -> bool {
        match self.half_space(index) {
            Some(half_space) => half_space.touches_sphere(sphere),
            None => self.spheres().get(index as usize).is_none_or(|own| spheres_touch(own, sphere)),
        }
    }

    /// Returns whether the half-spaces or spheres of two overlapping boxes have a point in common; `true` if neither
    /// box has any.
    pub fn shapes_meet(&self, boxes: SearchedBoxes<'_>, a: u32, b: u32) -> bool {
        let meets = |half_space: &HalfSpace, i: u32| {
            let sphere = self.spheres().get(i as usize);
            half_space.touches(boxes.of(i)) && sphere.is_none_or(|sphere| half_space.touches_sphere(sphere))
        };
        match (self.half_space(a), self.half_space(b)) {
            (None, None) if self.spheres().is_empty() => true,
            (None, None) => spheres_touch(&self.spheres()[a as usize], &self.spheres()[b as usize]),
            (Some(half_space), None) => meets(half_space, b),
            (None, Some(half_space)) => meets(half_space, a),
            (Some(_), Some(_)) => false,
        }
    }
}
