//! Tests shapes against boxes: points, boxes, spheres, oriented boxes, capsules and other convex shapes.
//!
//! All shapes except points, boxes and spheres are tested as intersections of half-spaces. A box counts as touching
//! such a shape if it touches each half-space and the bounds of the shape. All touching boxes are reported, since a
//! common point lies in all half-spaces. A box may be reported in excess: it can reach into each half-space, but not
//! into their intersection. Half-spaces are tested exactly, so all engines give the same answers.

use bytemuck::{Pod, Zeroable};

use super::{Distance, ball_bounds, is_finite, within_numbers};
use crate::base::constants::{FLAT_BITS, ROUNDING_BITS, SOLID_ROUNDING_BITS, TURNED_PARTS};
use crate::base::exact::{round_down, round_up};
use crate::filters::{WHOLE_SPACE, reaches_into};
use crate::{Aabb, HalfSpace};

/// A closed ball. It touches a box if the squared distance of the centre is at most the squared radius, decided
/// exactly. 16 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Sphere {
    /// The centre; finite.
    pub center: [f32; 3],
    /// The radius, at least zero. A ball of infinite radius touches every box except boxes at infinity.
    pub radius: f32,
}

/// A query for the boxes nearest to a point. 16 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct NearestQuery {
    /// The point; finite.
    pub point: [f32; 3],
    /// The largest distance of a box; at least zero, infinity for no limit.
    pub radius: f32,
}

impl NearestQuery {
    /// Creates a query without a limit of distance.
    pub fn new(point: impl Into<[f32; 3]>) -> Self {
        Self { point: point.into(), radius: f32::INFINITY }
    }

    /// Returns whether all numbers are valid.
    pub(crate) fn is_valid(&self) -> bool {
        is_finite(&self.point) && self.radius >= 0.0
    }

    /// Returns the square of the radius, exactly.
    pub(crate) fn radius_square(&self) -> f64 {
        f64::from(self.radius) * f64::from(self.radius)
    }
}

/// A turned box: the points `x` with `|axis · (x - center)| <= half` for each of three axes. 60 bytes.
///
/// Each box that shares a finite point with the turned box is reported. All 15 separating axes of two boxes are tested.
/// So boxes are reported in excess only by rounding, which moves planes outward by about 10⁻⁷ of their distance from
/// the origin. If the axes are coplanar up to about a thousandth, only the six faces are tested.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct OrientedBox {
    /// The centre; finite.
    pub center: [f32; 3],
    /// Half of the length along each axis; finite, at least zero.
    pub half: [f32; 3],
    /// The axes, of unit length up to rounding; finite, not zero. They need not be orthogonal.
    pub axes: [[f32; 3]; 3],
}

/// A capsule: all points at most `radius` from the segment between two points. 28 bytes.
///
/// Each box that shares a finite point with the capsule is reported. A reported box is at most `√3 radius` from the
/// segment, up to rounding. A box is reported in excess only if one of its edges or corners is near the
/// capsule, since half-spaces do not follow the round surface.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Capsule {
    /// One end of the segment; finite.
    pub from: [f32; 3],
    /// The other end; finite. It may be the same.
    pub to: [f32; 3],
    /// The radius; finite, at least zero.
    pub radius: f32,
}

/// The intersection of half-spaces, such as the view of a camera. Each is a normal `n` and an offset `d`, for the
/// points `x` with `n · x <= d`. Without half-spaces it is the whole space.
///
/// Each box that shares a point with the shape is reported. A box is reported if it touches each half-space; this test
/// is exact. Near an edge or a corner of the shape, a reported box may lie outside. The distance of its centre from the
/// shape is at most `h / sin(a / 2)`. Here `h` is half of the diagonal of the box, and `a` is the angle of the edge. At
/// a corner, `a` is the angle of the widest round cone that fits into the corner. To reduce the excess, add six
/// half-spaces for the bounds of the shape along the axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Convex<'a> {
    /// Normals, pointing outward, and offsets; all finite, and no normal zero.
    pub half_spaces: &'a [[f32; 4]],
}

impl Convex<'_> {
    /// The most half-spaces of a shape that queries a tree on the GPU, since drivers limit the work of one dispatch.
    /// [`cpu::Tree`](crate::cpu::Tree) has no limit.
    pub const MOST_ON_GPU: usize = crate::base::constants::MOST_PARTS as usize;
}

/// A shape of an overlap query: a point `[f32; 3]`, an [`Aabb`], a [`Sphere`], an [`OrientedBox`], a [`Capsule`] or a
/// [`Convex`].
///
/// The trait is sealed: other crates cannot implement it.
pub trait Shape: Copy + Send + Sync + sealed::SealedShape + super::Start {}

impl Shape for [f32; 3] {}
impl Shape for Aabb {}
impl Shape for Sphere {}
impl Shape for OrientedBox {}
impl Shape for Capsule {}
impl Shape for Convex<'_> {}

pub(crate) mod sealed {
    use super::{Aabb, HalfSpace};

    /// A prepared shape, with the values that many tests share.
    pub trait Region {
        /// True if inner nodes are tested too. A touching box lies in a touching node.
        const PRUNES: bool = false;
        /// Returns a box that contains the shape.
        fn bounds(&self) -> Aabb;
        /// Returns whether the shape touches a valid box that touches its bounds.
        fn touches(&self, aabb: &Aabb) -> bool;
        /// Calls the closure with normal and offset of each half-space of the shape.
        #[cfg(feature = "gpu")]
        fn each_half_space(&self, _each: impl FnMut([f32; 4])) {}
    }

    pub trait SealedShape {
        /// The prepared shape.
        type Region: Region;
        /// Prepares the shape; `None` if a number is invalid.
        fn region(&self) -> Option<Self::Region>;
        /// Returns whether the shape, which must be valid, touches a half-space.
        fn touches_half_space(&self, half_space: &HalfSpace) -> bool;
        /// Returns the bits of all numbers of the shapes; `None` for shapes of half-spaces.
        #[cfg(feature = "gpu")]
        fn words(_shapes: &[Self]) -> Option<&[u32]>
        where
            Self: Sized,
        {
            None
        }
    }
}

use sealed::Region;

impl Region for Aabb {
    fn bounds(&self) -> Aabb {
        *self
    }

    #[inline]
    fn touches(&self, _: &Aabb) -> bool {
        true
    }
}

impl sealed::SealedShape for [f32; 3] {
    type Region = Aabb;

    fn region(&self) -> Option<Aabb> {
        Aabb::new(*self, *self).region()
    }

    fn touches_half_space(&self, half_space: &HalfSpace) -> bool {
        half_space.touches(&Aabb::new(*self, *self))
    }

    #[cfg(feature = "gpu")]
    fn words(shapes: &[Self]) -> Option<&[u32]> {
        Some(bytemuck::cast_slice(shapes))
    }
}

impl sealed::SealedShape for Aabb {
    type Region = Self;

    fn region(&self) -> Option<Self> {
        self.is_valid().then_some(*self)
    }

    fn touches_half_space(&self, half_space: &HalfSpace) -> bool {
        half_space.touches(self)
    }

    #[cfg(feature = "gpu")]
    fn words(shapes: &[Self]) -> Option<&[u32]> {
        Some(bytemuck::cast_slice(shapes))
    }
}

impl Region for Sphere {
    fn bounds(&self) -> Aabb {
        Aabb::from_sphere(self.center, self.radius)
    }

    #[inline]
    fn touches(&self, aabb: &Aabb) -> bool {
        let distance = Distance::between(&self.center, aabb);
        distance.is_some_and(|distance| distance.compare_radius(self.radius, &self.center).is_le())
    }
}

impl sealed::SealedShape for Sphere {
    type Region = Self;

    fn region(&self) -> Option<Self> {
        (is_finite(&self.center) && self.radius >= 0.0).then_some(*self)
    }

    fn touches_half_space(&self, half_space: &HalfSpace) -> bool {
        half_space.is_within(&self.center, self.radius)
    }

    #[cfg(feature = "gpu")]
    fn words(shapes: &[Self]) -> Option<&[u32]> {
        Some(bytemuck::cast_slice(shapes))
    }
}

/// The most half-spaces of an oriented box: two along each of three normals and nine edges.
const MOST: usize = TURNED_PARTS as usize;

/// An upper bound of a dozen roundings to `f64`, relative to the sum of the magnitudes of the terms.
const ROUNDING: f64 = 1.0 / (1u64 << ROUNDING_BITS) as f64;

/// The same for values derived from the arms of an oriented box, which are less accurate.
const SOLID_ROUNDING: f64 = 1.0 / (1u64 << SOLID_ROUNDING_BITS) as f64;

/// The square of the smallest volume of three unit axes for which arms are used.
const FLAT: f64 = 1.0 / (1u64 << FLAT_BITS) as f64;

/// A shape as bounds and half-spaces.
#[derive(Clone, Copy, Debug)]
pub struct Cut {
    bounds: Aabb,
    half_spaces: [([f32; 3], f32); MOST],
    count: usize,
}

impl Cut {
    fn new(bounds: Aabb) -> Self {
        Self { bounds, half_spaces: [([0.0; 3], 0.0); MOST], count: 0 }
    }

    /// Adds the half-spaces of a normal and of its opposite, with these offsets, whose error is at most `slack`.
    fn add(&mut self, normal: [f32; 3], offsets: [f64; 2], slack: f64) {
        for (normal, offset) in [normal, normal.map(|x| -x)].into_iter().zip(offsets) {
            let offset = round_up(offset + slack);
            // A half-space with an infinite offset or a zero normal excludes nothing.
            if offset.is_finite() && normal.iter().any(|&n| n != 0.0) {
                self.half_spaces[self.count] = (normal, offset);
                self.count += 1;
            }
        }
    }
}

impl Region for Cut {
    const PRUNES: bool = true;

    fn bounds(&self) -> Aabb {
        self.bounds
    }

    #[inline]
    fn touches(&self, aabb: &Aabb) -> bool {
        self.half_spaces[..self.count].iter().all(|(normal, offset)| reaches_into(normal, *offset, aabb))
    }

    #[cfg(feature = "gpu")]
    fn each_half_space(&self, mut each: impl FnMut([f32; 4])) {
        self.half_spaces[..self.count].iter().for_each(|&([x, y, z], offset)| each([x, y, z, offset]));
    }
}

impl Region for Convex<'_> {
    const PRUNES: bool = true;

    fn bounds(&self) -> Aabb {
        WHOLE_SPACE
    }

    #[inline]
    fn touches(&self, aabb: &Aabb) -> bool {
        self.half_spaces.iter().all(|&[x, y, z, offset]| reaches_into(&[x, y, z], offset, aabb))
    }

    #[cfg(feature = "gpu")]
    fn each_half_space(&self, each: impl FnMut([f32; 4])) {
        self.half_spaces.iter().copied().for_each(each);
    }
}

impl<'a> sealed::SealedShape for Convex<'a> {
    type Region = Self;

    fn region(&self) -> Option<Self> {
        let is_valid = |&[x, y, z, offset]: &[f32; 4]| HalfSpace { index: 0, normal: [x, y, z], offset }.is_valid();
        self.half_spaces.iter().all(is_valid).then_some(*self)
    }

    fn touches_half_space(&self, half_space: &HalfSpace) -> bool {
        self.half_spaces.iter().all(|row| half_space.meets_half_space(row))
    }
}

fn dot(a: [f64; 3], b: [f64; 3]) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: [f64; 3], b: [f64; 3]) -> [f64; 3] {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

/// Divides a nonzero vector by its largest component.
fn direction(vector: [f64; 3]) -> [f32; 3] {
    let largest = vector.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
    vector.map(|x| (x / largest) as f32)
}

/// Returns the cross products of the coordinate axes with a vector. They have its components, so nothing is rounded.
fn edges([x, y, z]: [f32; 3]) -> [[f32; 3]; 3] {
    [[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]]
}

impl sealed::SealedShape for OrientedBox {
    type Region = Cut;

    fn region(&self) -> Option<Cut> {
        let is_axis = |axis: &[f32; 3]| is_finite(axis) && axis.iter().any(|&x| x != 0.0);
        let is_half = |half: &f32| *half >= 0.0 && half.is_finite();
        if !(is_finite(&self.center) && self.half.iter().all(is_half) && self.axes.iter().all(is_axis)) {
            return None;
        }
        let (center, half) = (self.center.map(f64::from), self.half.map(f64::from));
        let (arms, is_solid) = self.arms();
        let reaches = [0, 1, 2].map(|k| reach(&arms, &half, k));
        let mut bounds = WHOLE_SPACE;
        if is_solid {
            for (k, center) in center.into_iter().enumerate() {
                let slack = (center.abs() + reaches[k]) * SOLID_ROUNDING;
                bounds.min[k] = round_down(center - reaches[k] - slack);
                bounds.max[k] = round_up(center + reaches[k] + slack);
            }
        }
        let (mut cut, sizes) = (Cut::new(within_numbers(bounds)), center.map(f64::abs));
        for (axis, half) in self.axes.into_iter().zip(half) {
            let wide = axis.map(f64::from);
            let (middle, size) = (dot(wide, center), dot(wide.map(f64::abs), sizes) + half);
            cut.add(axis, [half + middle, half - middle], size * ROUNDING);
        }
        for edge in arms.into_iter().filter(|_| is_solid) {
            // The direction of an edge may be rounded, since any direction is safe.
            for normal in edges(direction(edge)) {
                let wide = normal.map(f64::from);
                let middle = dot(wide, center);
                let across = (0..3).fold(0.0, |across, arm| across + dot(wide, arms[arm]).abs() * half[arm]);
                let size = dot(wide.map(f64::abs), sizes) + dot(wide.map(f64::abs), reaches);
                cut.add(normal, [across + middle, across - middle], size * SOLID_ROUNDING);
            }
        }
        Some(cut)
    }

    fn touches_half_space(&self, half_space: &HalfSpace) -> bool {
        let (arms, is_solid) = self.arms();
        let (center, half, normal) =
            (self.center.map(f64::from), self.half.map(f64::from), half_space.normal.map(f64::from));
        let sizes = normal.map(f64::abs);
        let across = (0..3).fold(0.0, |across, arm| across + dot(normal, arms[arm]).abs() * half[arm]);
        let size = dot(sizes, center.map(f64::abs)) + dot(sizes, [0, 1, 2].map(|k| reach(&arms, &half, k)));
        let offset = f64::from(half_space.offset);
        let above = dot(normal, center) - across - offset;
        // If the axes are nearly coplanar, the arms are not accurate, so no half-space is excluded.
        !is_solid || above <= (size + offset.abs()) * SOLID_ROUNDING
    }
}

impl OrientedBox {
    /// Returns the arms, the vectors from the centre to the faces, and whether they are accurate. The corners are
    /// `center ± half[0] arms[0] ± half[1] arms[1] ± half[2] arms[2]`. If the axes are nearly coplanar, the arms are
    /// not accurate.
    fn arms(&self) -> ([[f64; 3]; 3], bool) {
        let axes = self.axes.map(|axis| axis.map(f64::from));
        let faces = [cross(axes[1], axes[2]), cross(axes[2], axes[0]), cross(axes[0], axes[1])];
        let volume = dot(axes[0], faces[0]);
        let least = axes.iter().fold(FLAT, |least, &axis| least * dot(axis, axis));
        (faces.map(|face| face.map(|x| x / volume)), volume * volume > least)
    }
}

/// Returns the extent of the arms along a coordinate axis.
fn reach(arms: &[[f64; 3]; 3], half: &[f64; 3], k: usize) -> f64 {
    (0..3).fold(0.0, |reach, arm| reach + arms[arm][k].abs() * half[arm])
}

impl sealed::SealedShape for Capsule {
    type Region = Cut;

    fn region(&self) -> Option<Cut> {
        let Self { from, to, radius } = *self;
        if !(is_finite(&from) && is_finite(&to) && radius >= 0.0 && radius.is_finite()) {
            return None;
        }
        let ends = [ball_bounds(from, radius), ball_bounds(to, radius)];
        let mut cut = Cut::new(Aabb {
            min: [0, 1, 2].map(|k| ends[0].min[k].min(ends[1].min[k])),
            max: [0, 1, 2].map(|k| ends[0].max[k].max(ends[1].max[k])),
        });
        let (a, b) = (from.map(f64::from), to.map(f64::from));
        let along: [f64; 3] = [0, 1, 2].map(|k| b[k] - a[k]);
        if along == [0.0; 3] {
            return Some(cut);
        }
        let thick = f64::from(radius);
        let sizes = [0, 1, 2].map(|k| a[k].abs().max(b[k].abs()) + thick);
        // Any directions are safe. The first is the rounded direction of the capsule. Each of the others is
        // perpendicular to the first and to an edge of boxes.
        let along = direction(along);
        let [x, y, z] = edges(along);
        for normal in [along, x, y, z] {
            let wide = normal.map(f64::from);
            let (one, other, reach) = (dot(wide, a), dot(wide, b), thick * dot(wide, wide).sqrt());
            let slack = dot(wide.map(f64::abs), sizes) * ROUNDING;
            cut.add(normal, [one.max(other) + reach, reach - one.min(other)], slack);
        }
        Some(cut)
    }

    fn touches_half_space(&self, half_space: &HalfSpace) -> bool {
        [self.from, self.to].iter().any(|end| half_space.is_within(end, self.radius))
    }
}
