//! Mirror of `pca`: the bounds of the boxes, and the magnitude of the scene.

use glam::Vec3A;

use crate::Aabb;
use crate::base::constants::*;
use crate::base::layout::{Bounds, BoundsPartial};

/// The bounds of no boxes.
pub const NO_BOUNDS: Bounds = Bounds { min: [FLOAT_MAX; 3], count: 0, max: [-FLOAT_MAX; 3], unused: 0 };

/// Returns the common bounds of two sets of boxes.
pub fn united(a: Bounds, b: Bounds) -> Bounds {
    Bounds {
        min: std::array::from_fn(|k| a.min[k].min(b.min[k])),
        count: a.count + b.count,
        max: std::array::from_fn(|k| a.max[k].max(b.max[k])),
        unused: 0,
    }
}

/// Finds the bounds of the finite boxes, and the bounds of the finite boxes of ordinary magnitude.
pub fn bounds(boxes: &[Aabb]) -> BoundsPartial {
    let within = |limit: f32| {
        let (mut low, mut high, mut count) = (Vec3A::splat(FLOAT_MAX), Vec3A::splat(-FLOAT_MAX), 0);
        for aabb in boxes.iter().filter(|aabb| counts_within(aabb, limit)) {
            (low, high, count) = (low.min(aabb.min.into()), high.max(aabb.max.into()), count + 1);
        }
        Bounds { min: low.into(), count, max: high.into(), unused: 0 }
    };
    let ordinary = within(ORDINARY_MAX);
    let finite = if ordinary.count as usize == boxes.len() { ordinary } else { within(FLOAT_MAX) };
    BoundsPartial { ordinary, finite }
}

/// Returns `true` if a box enters the statistics: it is valid, and no coordinate is beyond `limit`.
#[inline(always)] // called per box
pub fn counts_within(aabb: &Aabb, limit: f32) -> bool {
    let (low, high) = (Vec3A::from(aabb.min), Vec3A::from(aabb.max));
    (low.cmple(high) & low.abs().max(high.abs()).cmple(Vec3A::splat(limit))).all()
}

/// The magnitude of a scene.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Bounds in scaled units.
    pub low: [f32; 3],
    /// Bounds in scaled units.
    pub high: [f32; 3],
    /// The largest coordinate of boxes that enter the statistics, in input units.
    pub limit: f32,
    /// A power of two. It scales the largest bound into the range from 1 to 2, or from 2 to 4 if this bound is 2¹²⁷ or
    /// more.
    pub scale: f32,
    /// Count of boxes that enter the statistics.
    pub count: u32,
}

/// Returns the magnitude of a scene with these bounds.
pub fn scene_scale(bounds: &BoundsPartial) -> Scale {
    let (mut used, mut limit) = (bounds.ordinary, ORDINARY_MAX);
    if bounds.ordinary.count < bounds.finite.count - bounds.ordinary.count {
        (used, limit) = (bounds.finite, FLOAT_MAX);
    }
    if used.count == 0 {
        return Scale { low: [0.0; 3], high: [0.0; 3], limit, scale: 1.0, count: 0 };
    }
    let magnitude = used.min.iter().chain(&used.max).fold(0.0f32, |largest, x| largest.max(x.abs()));
    let exponent = (magnitude.to_bits() >> 23).clamp(1, 253);
    let scale = f32::from_bits((254 - exponent) << 23);
    Scale { low: used.min.map(|x| x * scale), high: used.max.map(|x| x * scale), limit, scale, count: used.count }
}
