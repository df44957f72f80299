//! Shapes that query a tree.

use broadsweep::Aabb;
use broadsweep::filter::HalfSpace;
use broadsweep::query::{Convex, Sphere};

/// A shape that touches a box or not.
///
/// A shape that touches a box touches whatever contains the box, also as its test rounds: that is what lets a search
/// leave a node out.
pub trait Probe {
    /// Returns whether all numbers have a meaning; without one, the shape touches nothing.
    fn is_valid(&self) -> bool;

    /// Returns whether a valid shape and a valid box have a point in common; both are closed.
    fn touches(&self, aabb: &Aabb) -> bool;
}

/// Two boxes are compared and never rounded.
impl Probe for Aabb {
    fn is_valid(&self) -> bool {
        Self::is_valid(self)
    }

    fn touches(&self, aabb: &Aabb) -> bool {
        super::geometry::overlap(self, aabb)
    }
}

/// The squared distance is computed in double precision, where the sum of three squares rounds. The result is uncertain
/// for a ball that passes a corner by less than about 10⁻¹⁶ of its radius.
impl Probe for Sphere {
    fn is_valid(&self) -> bool {
        self.center.iter().all(|x| x.is_finite()) && self.radius >= 0.0
    }

    fn touches(&self, aabb: &Aabb) -> bool {
        let along = |k: usize| {
            let [min, max, at] = [aabb.min[k], aabb.max[k], self.center[k]].map(f64::from);
            (min - at).max(at - max).max(0.0)
        };
        let [x, y, z] = [0, 1, 2].map(along);
        let (square, radius) = (x * x + y * y + z * z, f64::from(self.radius));
        square <= radius * radius && square < f64::INFINITY
    }
}

/// Each half-space is tested by the library, which does not round; a box that touches each of them may still be outside
/// near an edge, as the library has it too.
impl Probe for Convex<'_> {
    fn is_valid(&self) -> bool {
        half_spaces(self).all(|half_space| half_space.is_valid())
    }

    fn touches(&self, aabb: &Aabb) -> bool {
        half_spaces(self).all(|half_space| half_space.touches(aabb))
    }
}

fn half_spaces(convex: &Convex) -> impl Iterator<Item = HalfSpace> {
    convex.half_spaces.iter().map(|&[x, y, z, offset]| HalfSpace { index: 0, normal: [x, y, z], offset })
}
