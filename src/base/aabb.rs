//! The input and the output: [`Aabb`] and [`Pair`].

use bytemuck::{Pod, Zeroable};

use crate::base::exact::{round_down, round_up, two_sum};

/// An axis-aligned box in single precision: 24 bytes, `min` then `max`, laid out as in the GPU buffer.
///
/// The box is closed: its faces, edges and corners belong to it, so two boxes that only touch overlap. Bounds may be
/// infinite. A box with a NaN, or with `min > max` on an axis, is *invalid*: it overlaps nothing, and
/// [`Report`](crate::Report) lists it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Aabb {
    /// Lower corner `[x, y, z]`.
    pub min: [f32; 3],
    /// Upper corner `[x, y, z]`.
    pub max: [f32; 3],
}

impl Aabb {
    /// Creates a box from its lower and upper corner, without a check.
    pub const fn new(min: [f32; 3], max: [f32; 3]) -> Self {
        Self { min, max }
    }

    /// Creates the smallest `f32` box that contains an `f64` box: each bound is rounded outward.
    ///
    /// So boxes that overlap in double precision still overlap. A bound beyond the range of `f32` is rounded outward
    /// too: to infinity, or to the largest finite number. NaN stays NaN.
    pub fn from_f64(min: impl Into<[f64; 3]>, max: impl Into<[f64; 3]>) -> Self {
        Self { min: min.into().map(round_down), max: max.into().map(round_up) }
    }

    /// Creates the smallest box that contains all points. The box is invalid if there are no points, or if a point has
    /// a NaN.
    pub fn from_points<P: Into<[f32; 3]>>(points: impl IntoIterator<Item = P>) -> Self {
        let empty = Self { min: [f32::INFINITY; 3], max: [f32::NEG_INFINITY; 3] };
        points.into_iter().map(Into::into).fold(empty, |mut aabb, point| {
            for (k, x) in point.into_iter().enumerate() {
                // `f32::min` would ignore a NaN.
                let is_nan = x.is_nan() || aabb.min[k].is_nan();
                aabb.min[k] = if is_nan { f32::NAN } else { aabb.min[k].min(x) };
                aabb.max[k] = if is_nan { f32::NAN } else { aabb.max[k].max(x) };
            }
            aabb
        })
    }

    /// Creates the smallest box that contains all points at most `half` away from `center` along each axis. Bounds are
    /// the exact sums, rounded outward. A negative `half` gives an invalid box.
    pub fn from_center_half(center: impl Into<[f32; 3]>, half: impl Into<[f32; 3]>) -> Self {
        let (center, half) = (center.into(), half.into());
        Self {
            min: std::array::from_fn(|k| -sum_rounded_up(-center[k], half[k])),
            max: std::array::from_fn(|k| sum_rounded_up(center[k], half[k])),
        }
    }

    /// Creates the smallest box that contains a sphere, rounded outward. A negative radius gives an invalid box.
    pub fn from_sphere(center: impl Into<[f32; 3]>, radius: f32) -> Self {
        Self::from_center_half(center, [radius; 3])
    }

    /// Returns `true` if the box is valid: it has no NaN, and `min <= max` on every axis. An invalid box overlaps
    /// nothing.
    #[inline]
    pub fn is_valid(&self) -> bool {
        (0..3).all(|k| self.min[k] <= self.max[k])
    }

    /// Tests two closed boxes for overlap: the test that defines the pairs of this crate.
    ///
    /// The test is exact in `f32`. Boxes that touch overlap, `-0` equals `0`, and an invalid box overlaps nothing, not
    /// even itself.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.is_valid()
            && other.is_valid()
            && (0..3).all(|k| self.min[k] <= other.max[k] && other.min[k] <= self.max[k])
    }
}

/// Converts two corners of any type that converts to `[f32; 3]`, such as the vectors of any version of glam, nalgebra
/// or mint.
impl<A: Into<[f32; 3]>, B: Into<[f32; 3]>> From<(A, B)> for Aabb {
    fn from((min, max): (A, B)) -> Self {
        Self { min: min.into(), max: max.into() }
    }
}

/// Converts a box to its two corners, each of any type that `[f32; 3]` converts to.
impl<A: From<[f32; 3]>, B: From<[f32; 3]>> From<Aabb> for (A, B) {
    fn from(aabb: Aabb) -> Self {
        (aabb.min.into(), aabb.max.into())
    }
}

/// Returns the smallest `f32` that is at least the exact sum. If one number is not finite, returns the IEEE 754 sum.
pub(crate) fn sum_rounded_up(bound: f32, margin: f32) -> f32 {
    if !bound.is_finite() || !margin.is_finite() {
        return bound + margin;
    }
    double_sum_rounded_up(f64::from(bound), f64::from(margin))
}

/// Returns the smallest `f32` that is at least the exact sum of two `f64`, or infinity.
pub(crate) fn double_sum_rounded_up(a: f64, b: f64) -> f32 {
    let (sum, lost) = two_sum(a, b);
    let nearest = sum as f32;
    let is_below = f64::from(nearest) < sum || f64::from(nearest) == sum && lost > 0.0;
    if is_below { nearest.next_up() } else { nearest }
}

/// A pair of boxes that overlap, by their indices in the input, `a < b`: 8 bytes. In a pair
/// [between two sets](crate::Engine::find_pairs_between), `a` is an index in the first set and `b` an index in the
/// second.
///
/// Pairs are ordered by `a`, then by `b`. This is the canonical order of a list.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Pair {
    /// The smaller index.
    pub a: u32,
    /// The larger index.
    pub b: u32,
}

impl Pair {
    /// Creates the pair of two different indices, in either order.
    pub const fn new(i: u32, j: u32) -> Self {
        if i < j { Self { a: i, b: j } } else { Self { a: j, b: i } }
    }
}

impl From<Pair> for [u32; 2] {
    fn from(pair: Pair) -> Self {
        [pair.a, pair.b]
    }
}

impl From<Pair> for (u32, u32) {
    fn from(pair: Pair) -> Self {
        (pair.a, pair.b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn double_bounds_are_rounded_outward() {
        let aabb = Aabb::from_f64([0.1, -0.1, 1e300], [0.1, -0.1, 1e300]);
        for k in 0..2 {
            assert!(f64::from(aabb.min[k]) <= [0.1, -0.1][k]);
            assert!(f64::from(aabb.max[k]) >= [0.1, -0.1][k]);
            assert_eq!(aabb.min[k].next_up(), aabb.max[k]);
        }
        assert_eq!((aabb.min[2], aabb.max[2]), (f32::MAX, f32::INFINITY));
        let exact = Aabb::from_f64([0.5, -0.0, f64::NEG_INFINITY], [0.5, 2.0, f64::INFINITY]);
        assert_eq!(exact.min, [0.5, 0.0, f32::NEG_INFINITY]);
        assert_eq!(exact.max, [0.5, 2.0, f32::INFINITY]);
        assert!(Aabb::from_f64([f64::NAN; 3], [0.0; 3]).min[0].is_nan());
    }

    #[test]
    fn touching_boxes_overlap_and_invalid_ones_never_do() {
        let a = Aabb::new([0.0; 3], [1.0; 3]);
        let corner = Aabb::new([1.0; 3], [2.0; 3]);
        let inverted = Aabb::new([0.0; 3], [1.0, -1.0, 1.0]);
        assert!(a.overlaps(&corner));
        assert!(Aabb::new([-0.0; 3], [-0.0; 3]).overlaps(&Aabb::new([0.0; 3], [0.0; 3])));
        assert!(!a.overlaps(&inverted) && !inverted.overlaps(&inverted));
    }

    #[test]
    fn corners_convert_both_ways() {
        use glam::Vec3;
        let (min, max): (Vec3, Vec3) = Aabb::from((Vec3::ZERO, Vec3::ONE)).into();
        assert_eq!((min, max), (Vec3::ZERO, Vec3::ONE));
        let arrays: ([f32; 3], [f32; 3]) = Aabb::from(([0.0; 3], [1.0; 3])).into();
        assert_eq!(arrays, ([0.0; 3], [1.0; 3]));
        assert_eq!(Aabb::from((Vec3::ZERO, [1.0; 3])), Aabb::new([0.0; 3], [1.0; 3]));
    }

    #[test]
    fn a_box_around_points_holds_them_and_swallows_no_nan() {
        let aabb = Aabb::from_points([[1.0, 5.0, -1.0], [0.0, 6.0, -2.0]]);
        assert_eq!(aabb, Aabb::new([0.0, 5.0, -2.0], [1.0, 6.0, -1.0]));
        assert!(!Aabb::from_points::<[f32; 3]>([]).is_valid());
        for points in [[[f32::NAN, 0.0, 0.0], [0.0; 3]], [[0.0; 3], [f32::NAN, 0.0, 0.0]]] {
            assert!(!Aabb::from_points(points).is_valid());
        }
    }

    #[test]
    fn centers_and_radii_are_rounded_outward() {
        assert_eq!(Aabb::from_sphere([1.0, 2.0, 3.0], 0.5), Aabb::new([0.5, 1.5, 2.5], [1.5, 2.5, 3.5]));
        let tiny = Aabb::from_center_half([1.0; 3], [1e-40; 3]);
        assert_eq!((tiny.min[0], tiny.max[0]), (1f32.next_down(), 1f32.next_up()));
        assert!(!Aabb::from_sphere([0.0; 3], -1.0).is_valid() && !Aabb::from_sphere([0.0; 3], f32::NAN).is_valid());
        let endless = Aabb::from_sphere([0.0; 3], f32::INFINITY);
        assert_eq!(endless, Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]));
    }
}
