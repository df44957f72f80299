//! Mirror of `pca`: bounds, then sums over centroids and edges.

use crate::Aabb;
use crate::constants::*;
use crate::layout::{Bounds, BoundsPartial, Moments};

/// Stands for the bounds of nothing.
pub const NO_BOUNDS: Bounds = Bounds { min: [FLOAT_MAX; 3], count: 0, max: [-FLOAT_MAX; 3], unused: 0 };

/// Returns the bounds of two sets of boxes together.
pub fn united(a: Bounds, b: Bounds) -> Bounds {
    Bounds {
        min: std::array::from_fn(|k| a.min[k].min(b.min[k])),
        count: a.count + b.count,
        max: std::array::from_fn(|k| a.max[k].max(b.max[k])),
        unused: 0,
    }
}

/// Finds the bounds of the finite boxes, and of those of ordinary magnitude among them.
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

/// Tells whether a box counts for the statistics: valid, and no coordinate beyond `limit`.
pub fn counts_within(aabb: &Aabb, limit: f32) -> bool {
    aabb.is_valid() && aabb.min.iter().chain(&aabb.max).all(|x| x.abs() <= limit)
}

/// Holds the magnitude of a scene.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Scale {
    /// Bounds in scaled units.
    pub low: [f32; 3],
    /// Bounds in scaled units.
    pub high: [f32; 3],
    /// The largest coordinate of boxes that count, in input units.
    pub limit: f32,
    /// A power of two; the largest bound becomes 1 to 2, or to 4 above 2¹²⁷.
    pub scale: f32,
    /// Boxes that count.
    pub count: u32,
}

/// Finds the magnitude of the scene with these bounds.
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

/// The number of boxes whose sums are added up before they are added to other sums, so that any number of threads
/// rounds alike.
pub const CHUNK: usize = 1 << 11;

/// Holds sums in double precision: a mirror of the result, not of the order of a reduction.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Sums {
    sums: [[f64; 3]; 4],
    edge_max: [f32; 3],
    count: u32,
}

impl Sums {
    /// Adds up these boxes.
    pub fn of(boxes: &[Aabb], scene: &Scale) -> Self {
        let mut total = Self::default();
        let middle: [f32; 3] = std::array::from_fn(|k| 0.5 * scene.low[k] + 0.5 * scene.high[k]);
        for aabb in boxes.iter().filter(|aabb| counts_within(aabb, scene.limit)) {
            let low = aabb.min.map(|x| x * scene.scale);
            let high = aabb.max.map(|x| x * scene.scale);
            let d: [f32; 3] = std::array::from_fn(|k| (0.5 * low[k] + 0.5 * high[k]) - middle[k]);
            total.count += 1;
            for k in 0..3 {
                let edge = high[k] - low[k];
                total.sums[0][k] += f64::from(d[k]);
                total.sums[1][k] += f64::from(d[k] * d[k]);
                total.sums[2][k] += f64::from(d[k] * d[(k + 1) % 3]);
                total.sums[3][k] += f64::from(edge);
                total.edge_max[k] = total.edge_max[k].max(edge);
            }
        }
        total
    }

    /// Returns the sums of two sets of boxes together.
    pub fn united(self, other: &Self) -> Self {
        Self {
            sums: std::array::from_fn(|i| std::array::from_fn(|k| self.sums[i][k] + other.sums[i][k])),
            edge_max: std::array::from_fn(|k| self.edge_max[k].max(other.edge_max[k])),
            count: self.count + other.count,
        }
    }

    /// Returns the sums as the kernel has them.
    pub fn moments(&self) -> Moments {
        let [sum, squares, products, edge_sum] = self.sums.map(|sum| sum.map(|x| x as f32));
        let (edge_max, count) = (self.edge_max, self.count as f32);
        Moments { sum, squares, products, edge_sum, edge_max, count, ..bytemuck::Zeroable::zeroed() }
    }
}

/// Returns the first box of four number `four` of the sample of more than [`MOMENT_BOXES`] boxes; see `pca_moments.wgsl`.
pub fn sampled_four(four: u32, box_count: u32) -> u32 {
    let within = (four + 1).wrapping_mul(GOLDEN) >> MOMENT_FOURS_BITS;
    let at = four << (32 - MOMENT_FOURS_BITS) | within;
    ((u64::from(at) * u64::from(box_count / 4)) >> 32) as u32 * 4
}

/// Returns the boxes that moments are of: all of them, or a sample, which is put into `room`.
pub fn sample<'a>(boxes: &'a [Aabb], room: &'a mut Vec<Aabb>) -> &'a [Aabb] {
    if boxes.len() <= MOMENT_BOXES as usize {
        return boxes;
    }
    let first_of = |four| sampled_four(four, boxes.len() as u32) as usize;
    room.clear();
    room.extend((0..MOMENT_BOXES / 4).map(first_of).flat_map(|first| &boxes[first..first + 4]));
    room
}

/// Adds up centroids (shifted to the middle of the bounds), their products and edges, in scaled units.
pub fn moments(boxes: &[Aabb], bounds: &BoundsPartial) -> Moments {
    let scene = scene_scale(bounds);
    let mut room = Vec::new();
    let chunks = sample(boxes, &mut room).chunks(CHUNK).map(|chunk| Sums::of(chunk, &scene));
    chunks.fold(Sums::default(), |total, chunk| total.united(&chunk)).moments()
}
