//! The queries of a tree: which boxes overlap a given box, which overlap each other, and which a ray meets first.

use super::geometry::overlap;
use super::{AabbTree, NONE};
use broadsweep::Aabb;

/// A half-line: `origin + t * direction` for `t >= 0`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ray {
    /// The point where the ray starts.
    pub origin: [f32; 3],
    /// The direction of the ray, of any length; all zero for a point.
    pub direction: [f32; 3],
}

impl Ray {
    /// Returns the least `t` at which the ray is in a valid box, 0 if the ray starts in the box. Boxes are closed, so
    /// touching counts.
    ///
    /// Returns `None` if the ray misses the box, and for a ray with a number that is not finite. The computation is in
    /// double precision, and each operation is monotone in the bounds: a ray meets what contains a box no later than
    /// the box.
    pub fn entry(&self, aabb: &Aabb) -> Option<f64> {
        let mut enter = 0.0f64;
        let mut leave = f64::INFINITY;
        for k in 0..3 {
            let [origin, direction] = [self.origin[k], self.direction[k]];
            if !origin.is_finite() || !direction.is_finite() {
                return None;
            }
            if direction == 0.0 {
                // The ray is parallel to the slab: it is always inside, or never.
                if origin < aabb.min[k] || aabb.max[k] < origin {
                    return None;
                }
                continue;
            }
            let at = |x: f32| (f64::from(x) - f64::from(origin)) / f64::from(direction);
            let [near, far] =
                if direction > 0.0 { [aabb.min[k], aabb.max[k]] } else { [aabb.max[k], aabb.min[k]] }.map(at);
            enter = enter.max(near);
            leave = leave.min(far);
        }
        // A box at infinity is never reached.
        (enter <= leave && enter.is_finite()).then_some(enter)
    }
}

/// The box that a ray meets.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// The box.
    pub data: u32,
    /// The `t` where the ray meets the box, in lengths of the direction.
    pub distance: f64,
}

impl AabbTree {
    /// Visits every box that overlaps this one, in no particular order, and returns how many tests that took, those of
    /// nodes among them.
    pub fn query(&self, aabb: &Aabb, mut visit: impl FnMut(u32)) -> u64 {
        let mut tested = 0;
        if self.root == NONE || !aabb.is_valid() {
            return tested;
        }
        let mut open = Vec::with_capacity(self.height() as usize + 1);
        open.push(self.root);
        while let Some(at) = open.pop() {
            let node = self.node(at);
            tested += 1;
            if !overlap(&node.bounds, aabb) {
                continue;
            }
            if !node.is_leaf() {
                open.extend(node.children);
                continue;
            }
            tested += 1;
            let leaf = self.leaf_of(node);
            if overlap(&leaf.exact, aabb) {
                visit(leaf.data);
            }
        }
        tested
    }

    /// Visits every two boxes that overlap, once, in no particular order, and returns how many tests that took, those
    /// of nodes among them.
    ///
    /// The tree is joined with itself: two nodes are opened only where their bounds overlap.
    pub fn pairs(&self, mut visit: impl FnMut(u32, u32)) -> u64 {
        let mut tested = 0;
        if self.root == NONE {
            return tested;
        }
        let mut open = vec![(self.root, self.root)];
        while let Some((a, b)) = open.pop() {
            let [one, other] = [self.node(a), self.node(b)];
            if a == b {
                if let [left, right] = one.children
                    && !one.is_leaf()
                {
                    open.extend([(left, left), (right, right), (left, right)]);
                }
                continue;
            }
            tested += 1;
            if overlap(&one.bounds, &other.bounds) {
                if one.height == 0 && other.height == 0 {
                    tested += 1;
                    let [one, other] = [one, other].map(|node| self.leaf_of(node));
                    if overlap(&one.exact, &other.exact) {
                        visit(one.data, other.data);
                    }
                } else if one.height >= other.height {
                    open.extend(one.children.map(|child| (child, b)));
                } else {
                    open.extend(other.children.map(|child| (a, child)));
                }
            }
        }
        tested
    }

    /// Finds the first box that a ray meets no later than `most`; of several at the same distance, the one of the least
    /// `data`.
    ///
    /// The nearer child is opened first, and no child that is farther than what was found.
    pub fn ray_cast(&self, ray: &Ray, most: f64) -> Option<Hit> {
        let mut best: Option<Hit> = None;
        let is_worse = |distance: f64, best: &Option<Hit>| distance > best.map_or(most, |hit| hit.distance);
        let mut open = Vec::with_capacity(self.height() as usize + 1);
        if self.root != NONE {
            open.extend(ray.entry(&self.node(self.root).bounds).map(|distance| (distance, self.root)));
        }
        while let Some((distance, at)) = open.pop() {
            if is_worse(distance, &best) {
                continue;
            }
            let node = self.node(at);
            if node.is_leaf() {
                let leaf = self.leaf_of(node);
                if let Some(distance) = ray.entry(&leaf.exact)
                    && !is_worse(distance, &best)
                    && best.is_none_or(|hit| distance < hit.distance || leaf.data < hit.data)
                {
                    best = Some(Hit { data: leaf.data, distance });
                }
                continue;
            }
            let [a, b] = node.children.map(|child| ray.entry(&self.node(child).bounds).map(|t| (t, child)));
            // What is pushed last is opened first.
            let a_is_nearer = a.zip(b).is_some_and(|(a, b)| a.0 < b.0);
            let [far, near] = if a_is_nearer { [b, a] } else { [a, b] };
            open.extend([far, near].into_iter().flatten());
        }
        best
    }
}
