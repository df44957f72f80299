//! Boxes grown by a margin, rounded outward.

use crate::Aabb;
use crate::aabb::sum_rounded_up;

/// Grows a box by `margin` on each side: returns the smallest in `f32` that holds the exact one.
pub(crate) fn grown(aabb: &Aabb, margin: f32) -> Aabb {
    Aabb {
        min: aabb.min.map(|bound| -sum_rounded_up(-bound, margin)),
        max: aabb.max.map(|bound| sum_rounded_up(bound, margin)),
    }
}
