//! The cube that the curve of queries fills.

use super::hilbert;
use super::node::ORDINARY;
use crate::Aabb;
use crate::cpu::mirror::pca::counts_within;

/// Centers of the sample that locates most boxes.
const SAMPLE: usize = 1 << 10;
/// The margin on each side of most centers, in units of their extent. The cube covers further centers of the sample
/// only up to this margin.
const MARGIN: f64 = 8.0;

/// A cube. Points beyond the cube are moved to its surface.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cube {
    low: [f64; 3],
    scale: f64,
}

impl Cube {
    /// Chooses a cube around most centers of ordinary boxes, so that a few distant boxes do not force all others to the
    /// same place.
    pub fn around(boxes: &[Aabb]) -> Self {
        let centers: Vec<[f32; 3]> =
            sample(boxes, SAMPLE).filter(|aabb| counts_within(aabb, ORDINARY)).map(center).collect();
        let mut low = [0.0; 3];
        let mut extent = 0.0f64;
        for (k, low) in low.iter_mut().enumerate() {
            let mut along: Vec<f32> = centers.iter().map(|center| center[k]).collect();
            if along.is_empty() {
                return Self::default();
            }
            along.sort_unstable_by(f32::total_cmp);
            let (first, last) = (along[along.len() / 64], along[along.len() - 1 - along.len() / 64]);
            let [first, last] = [first, last].map(f64::from);
            let margin = MARGIN * (last - first);
            let (first, last) =
                (f64::from(along[0]).max(first - margin), f64::from(along[along.len() - 1]).min(last + margin));
            *low = first;
            extent = extent.max(last - first);
        }
        // Add a border around the sample.
        let cells = f64::from(1u32 << hilbert::LEVELS);
        let border = extent / 64.0;
        Self { low: low.map(|x| x - border), scale: if extent > 0.0 { cells / (extent + 2.0 * border) } else { 0.0 } }
    }

    /// Returns the place of a point along the curve.
    #[inline]
    pub fn place(&self, [x, y, z]: [f64; 3]) -> u32 {
        let last = f64::from((1u32 << hilbert::LEVELS) - 1);
        let coordinate = |x: f64, low: f64| ((x - low) * self.scale).clamp(0.0, last) as u32;
        hilbert::place([coordinate(x, self.low[0]), coordinate(y, self.low[1]), coordinate(z, self.low[2])])
    }
}

/// Returns a sample of at most `most` elements from the whole list. The spacing is irregular, since kinds of boxes may
/// alternate.
pub fn sample<T>(all: &[T], most: usize) -> impl Iterator<Item = &T> {
    let step = all.len().div_ceil(most).max(1);
    all.chunks(step).enumerate().map(|(i, some)| &some[i.wrapping_mul(0x9e37_79b1) / 64 % some.len()])
}

/// Returns the center of a box. A coordinate that is not finite is +infinity.
#[inline]
pub fn center(aabb: &Aabb) -> [f32; 3] {
    std::array::from_fn(|k| {
        let center = 0.5 * aabb.min[k] + 0.5 * aabb.max[k];
        if center.abs() <= f32::MAX { center } else { f32::INFINITY }
    })
}
