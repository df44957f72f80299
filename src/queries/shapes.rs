//! What touches a box or not: points, boxes and spheres.

use bytemuck::{Pod, Zeroable};

use super::{Distance, is_finite};
use crate::Aabb;

/// A closed ball: it touches a box whose squared distance from the centre is at most the radius squared, without rounding.
/// 16 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Sphere {
    /// The centre; finite.
    pub center: [f32; 3],
    /// The radius: at least zero. An infinite one touches every box but those that are at infinity themselves.
    pub radius: f32,
}

/// A point whose nearest boxes are asked for. 16 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct NearestQuery {
    /// The point; finite.
    pub point: [f32; 3],
    /// How far a box may be; at least zero, infinity for any distance.
    pub radius: f32,
}

impl NearestQuery {
    /// Asks for the nearest boxes, however far they are.
    pub fn new(point: impl Into<[f32; 3]>) -> Self {
        Self { point: point.into(), radius: f32::INFINITY }
    }

    /// Returns whether all numbers have a meaning.
    pub(crate) fn is_valid(&self) -> bool {
        is_finite(&self.point) && self.radius >= 0.0
    }
}

/// Something that touches a box or not: a point `[f32; 3]`, an [`Aabb`] or a [`Sphere`].
pub trait Shape: Copy + Send + Sync + sealed::Shape + super::Start {}

impl Shape for [f32; 3] {}
impl Shape for Aabb {}
impl Shape for Sphere {}

pub(crate) mod sealed {
    use super::Aabb;

    pub trait Shape {
        /// Returns whether all numbers have a meaning.
        fn has_meaning(&self) -> bool;
        /// Returns a box that holds the shape: boxes that do not touch it are not touched by the shape.
        fn bounds(&self) -> Aabb;
        /// Returns whether a box that touches the bounds touches the shape, exactly.
        fn touches(&self, aabb: &Aabb) -> bool;
    }
}

impl sealed::Shape for [f32; 3] {
    fn has_meaning(&self) -> bool {
        self.iter().all(|x| !x.is_nan())
    }

    fn bounds(&self) -> Aabb {
        Aabb::new(*self, *self)
    }

    fn touches(&self, _: &Aabb) -> bool {
        true
    }
}

impl sealed::Shape for Aabb {
    fn has_meaning(&self) -> bool {
        self.is_valid()
    }

    fn bounds(&self) -> Aabb {
        *self
    }

    fn touches(&self, _: &Aabb) -> bool {
        true
    }
}

impl sealed::Shape for Sphere {
    fn has_meaning(&self) -> bool {
        is_finite(&self.center) && self.radius >= 0.0
    }

    fn bounds(&self) -> Aabb {
        Aabb::from_sphere(self.center, self.radius)
    }

    fn touches(&self, aabb: &Aabb) -> bool {
        Distance::between(&self.center, aabb)
            .is_some_and(|distance| distance.compare_radius(self.radius, &self.center).is_le())
    }
}
