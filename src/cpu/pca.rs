//! Mirror of `pca`: bounds, then sums over centroids and edges.

use crate::Aabb;
use crate::constants::*;
use crate::stages::layout::{Bounds, BoundsPartial, Moments};

/// Bounds of nothing.
pub const NO_BOUNDS: Bounds = Bounds { min: [FLOAT_MAX; 3], count: 0, max: [-FLOAT_MAX; 3], unused: 0 };

/// Bounds of both.
pub fn united(a: Bounds, b: Bounds) -> Bounds {
    Bounds {
        min: std::array::from_fn(|k| a.min[k].min(b.min[k])),
        count: a.count + b.count,
        max: std::array::from_fn(|k| a.max[k].max(b.max[k])),
        unused: 0,
    }
}

/// Bounds of the finite boxes, and of those of ordinary magnitude among them.
pub fn bounds(boxes: &[Aabb]) -> BoundsPartial {
    let mut total = BoundsPartial { ordinary: NO_BOUNDS, finite: NO_BOUNDS };
    for aabb in boxes.iter().filter(|aabb| counts_within(aabb, FLOAT_MAX)) {
        let own = Bounds { min: aabb.min, count: 1, max: aabb.max, unused: 0 };
        total.finite = united(total.finite, own);
        if counts_within(aabb, ORDINARY_MAX) {
            total.ordinary = united(total.ordinary, own);
        }
    }
    total
}

/// Whether a box counts for the statistics: valid, and no coordinate beyond `limit`.
pub fn counts_within(aabb: &Aabb, limit: f32) -> bool {
    aabb.is_valid() && aabb.min.iter().chain(&aabb.max).all(|x| x.abs() <= limit)
}

/// The magnitude of a scene.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Bounds in scaled units.
    pub low: [f32; 3],
    /// Bounds in scaled units.
    pub high: [f32; 3],
    /// In input units: boxes beyond it do not count.
    pub limit: f32,
    /// A power of two; the largest bound becomes 1 to 2, or to 4 above 2¹²⁷.
    pub scale: f32,
    /// Boxes that count.
    pub count: u32,
}

/// The magnitude of the scene with these bounds.
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

/// Sums of centroids (shifted to the middle of the bounds), of their products and of edges, in scaled units.
pub fn moments(boxes: &[Aabb], bounds: &BoundsPartial) -> Moments {
    let scene = scene_scale(bounds);
    let mut total: Moments = bytemuck::Zeroable::zeroed();
    // Sums in double precision: a mirror of the result, not of the order of a reduction.
    let mut sums = [[0f64; 3]; 4];
    for aabb in boxes.iter().filter(|aabb| counts_within(aabb, scene.limit)) {
        let low = aabb.min.map(|x| x * scene.scale);
        let high = aabb.max.map(|x| x * scene.scale);
        let d: [f32; 3] = std::array::from_fn(|k| {
            let middle = 0.5 * scene.low[k] + 0.5 * scene.high[k];
            (0.5 * low[k] + 0.5 * high[k]) - middle
        });
        total.count += 1.0;
        for k in 0..3 {
            let edge = high[k] - low[k];
            sums[0][k] += f64::from(d[k]);
            sums[1][k] += f64::from(d[k] * d[k]);
            sums[2][k] += f64::from(d[k] * d[(k + 1) % 3]);
            sums[3][k] += f64::from(edge);
            total.edge_max[k] = total.edge_max[k].max(edge);
        }
    }
    let [sum, squares, products, edge_sum] = sums.map(|sum| sum.map(|x| x as f32));
    Moments { sum, squares, products, edge_sum, ..total }
}
