//! Boxes grown by a margin, rounded outward.

use crate::Aabb;

/// The box grown by `margin` on each side: the smallest in `f32` that holds the exact one.
pub(crate) fn grown(aabb: &Aabb, margin: f32) -> Aabb {
    Aabb {
        min: aabb.min.map(|bound| -sum_rounded_up(-bound, margin)),
        max: aabb.max.map(|bound| sum_rounded_up(bound, margin)),
    }
}

/// The smallest `f32` that is at least the exact sum; `margin` is finite.
fn sum_rounded_up(bound: f32, margin: f32) -> f32 {
    if !bound.is_finite() {
        return bound;
    }
    let (a, b) = (f64::from(bound), f64::from(margin));
    let sum = a + b;
    // What rounding to f64 lost, exactly (Knuth's two-sum).
    let b_in_sum = sum - a;
    let lost = (a - (sum - b_in_sum)) + (b - b_in_sum);
    let nearest = sum as f32;
    let is_below = f64::from(nearest) < sum || f64::from(nearest) == sum && lost > 0.0;
    if is_below { nearest.next_up() } else { nearest }
}
