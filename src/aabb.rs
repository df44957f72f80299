//! What goes in and what comes out: [`Aabb`] and [`Pair`].

use bytemuck::{Pod, Zeroable};
use glam::Vec3;

/// An axis-aligned box in single precision: 24 bytes, `min` then `max`, laid out as in the GPU buffer.
///
/// The box is closed: its faces, edges and corners belong to it, so two boxes that only touch overlap.
/// Bounds may be infinite. A box with a NaN in it, or with `min > max` on an axis, is *invalid*:
/// it overlaps nothing, and [`Report`](crate::Report) names it.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Aabb {
    /// Lower corner `[x, y, z]`.
    pub min: [f32; 3],
    /// Upper corner `[x, y, z]`.
    pub max: [f32; 3],
}

impl Aabb {
    /// A box from its lower and upper corner, taken as they are.
    pub const fn new(min: [f32; 3], max: [f32; 3]) -> Self {
        Self { min, max }
    }

    /// The smallest single-precision box that holds a double-precision one: each bound is rounded outward.
    ///
    /// Boxes that overlap in double precision therefore still overlap. A bound beyond the range of `f32`
    /// becomes infinite on the outer side and the largest finite number on the inner side; NaN stays NaN.
    pub fn from_f64_outward(min: [f64; 3], max: [f64; 3]) -> Self {
        Self { min: min.map(round_down), max: max.map(round_up) }
    }

    /// Whether the box can overlap anything: no NaN, and `min <= max` on every axis.
    pub fn is_valid(&self) -> bool {
        (0..3).all(|k| self.min[k] <= self.max[k])
    }

    /// The closed overlap test that defines the answer of this crate.
    ///
    /// Exact in `f32`: touching counts, `-0` equals `0`, and an invalid box overlaps nothing, not even itself.
    pub fn overlaps(&self, other: &Self) -> bool {
        self.is_valid()
            && other.is_valid()
            && (0..3).all(|k| self.min[k] <= other.max[k] && other.min[k] <= self.max[k])
    }
}

impl From<([f32; 3], [f32; 3])> for Aabb {
    fn from((min, max): ([f32; 3], [f32; 3])) -> Self {
        Self { min, max }
    }
}

impl From<Aabb> for ([f32; 3], [f32; 3]) {
    fn from(aabb: Aabb) -> Self {
        (aabb.min, aabb.max)
    }
}

impl From<(Vec3, Vec3)> for Aabb {
    fn from((min, max): (Vec3, Vec3)) -> Self {
        Self { min: min.to_array(), max: max.to_array() }
    }
}

impl From<Aabb> for (Vec3, Vec3) {
    fn from(aabb: Aabb) -> Self {
        (Vec3::from_array(aabb.min), Vec3::from_array(aabb.max))
    }
}

/// The largest `f32` that is at most `value`.
fn round_down(value: f64) -> f32 {
    let nearest = value as f32;
    if f64::from(nearest) > value { nearest.next_down() } else { nearest }
}

/// The smallest `f32` that is at least `value`.
fn round_up(value: f64) -> f32 {
    -round_down(-value)
}

/// Two boxes that overlap, by their indices in the input, `a < b`: 8 bytes.
///
/// Pairs order by `(a, b)`, which is the canonical order of a list.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
pub struct Pair {
    /// The smaller index.
    pub a: u32,
    /// The larger index.
    pub b: u32,
}

impl Pair {
    /// The pair of two different indices, in either order.
    pub const fn new(i: u32, j: u32) -> Self {
        if i < j { Self { a: i, b: j } } else { Self { a: j, b: i } }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn double_bounds_are_rounded_outward() {
        let aabb = Aabb::from_f64_outward([0.1, -0.1, 1e300], [0.1, -0.1, 1e300]);
        for k in 0..2 {
            assert!(f64::from(aabb.min[k]) <= [0.1, -0.1][k]);
            assert!(f64::from(aabb.max[k]) >= [0.1, -0.1][k]);
            assert_eq!(aabb.min[k].next_up(), aabb.max[k]);
        }
        assert_eq!((aabb.min[2], aabb.max[2]), (f32::MAX, f32::INFINITY));
        let exact = Aabb::from_f64_outward([0.5, -0.0, f64::NEG_INFINITY], [0.5, 2.0, f64::INFINITY]);
        assert_eq!(exact.min, [0.5, 0.0, f32::NEG_INFINITY]);
        assert_eq!(exact.max, [0.5, 2.0, f32::INFINITY]);
        assert!(Aabb::from_f64_outward([f64::NAN; 3], [0.0; 3]).min[0].is_nan());
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
        let (min, max): (Vec3, Vec3) = Aabb::from((Vec3::ZERO, Vec3::ONE)).into();
        assert_eq!((min, max), (Vec3::ZERO, Vec3::ONE));
        let arrays: ([f32; 3], [f32; 3]) = Aabb::from(([0.0; 3], [1.0; 3])).into();
        assert_eq!(arrays, ([0.0; 3], [1.0; 3]));
    }
}
