//! What moves: rays and boxes.

use bytemuck::{Pod, Zeroable};

use super::Path;
use super::is_finite;
use crate::Aabb;

/// A ray, or a segment: the points `origin + t direction` with `0 <= t <= limit`, in real numbers. 28 bytes.
///
/// The direction need not be of unit length: `t` counts in its lengths. A direction of zeros is a point. A ray hits a box
/// that shares a point with it, and the `t` of a hit is the least of these points: 0 where the origin is in the box.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Ray {
    /// Where the ray begins; finite.
    pub origin: [f32; 3],
    /// Where the ray goes; finite.
    pub direction: [f32; 3],
    /// The largest `t`: at least zero; infinity for a ray without an end.
    pub limit: f32,
}

impl Ray {
    /// Makes a ray without an end.
    pub fn new(origin: impl Into<[f32; 3]>, direction: impl Into<[f32; 3]>) -> Self {
        Self { origin: origin.into(), direction: direction.into(), limit: f32::INFINITY }
    }

    /// Makes a segment: `t` is at most `limit`.
    pub fn segment(origin: impl Into<[f32; 3]>, direction: impl Into<[f32; 3]>, limit: f32) -> Self {
        Self { limit, ..Self::new(origin, direction) }
    }
}

/// A box that moves: the boxes `aabb + t direction` with `0 <= t <= limit`, in real numbers. 40 bytes.
///
/// It hits a box that shares a point with one of them, and the `t` of a hit is the least of these: 0 where the two touch
/// at `t = 0`. Bounds may be infinite, and touch as those of pairs do.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct BoxCast {
    /// The box where it begins; valid.
    pub aabb: Aabb,
    /// Where the box goes; finite.
    pub direction: [f32; 3],
    /// The largest `t`: at least zero; infinity for no end.
    pub limit: f32,
}

/// Something that moves along a line: a [`Ray`] or a [`BoxCast`].
pub trait Cast: Copy + Send + Sync + sealed::Cast + super::Start {}

impl Cast for Ray {}
impl Cast for BoxCast {}

pub(crate) mod sealed {
    use super::Path;

    pub trait Cast {
        /// Returns the path; none where a number has no meaning.
        fn path(&self) -> Option<Path>;
        /// Returns all numbers of some paths in a row, in bits.
        #[cfg(feature = "gpu")]
        fn words(casts: &[Self]) -> &[u32]
        where
            Self: Sized;
    }
}

impl sealed::Cast for Ray {
    #[inline]
    fn path(&self) -> Option<Path> {
        let Self { origin, direction, limit } = *self;
        let is_valid = is_finite(&origin) && is_finite(&direction) && limit >= 0.0;
        is_valid.then(|| Path::new(origin, origin, direction, limit))
    }

    #[cfg(feature = "gpu")]
    fn words(casts: &[Self]) -> &[u32] {
        bytemuck::cast_slice(casts)
    }
}

impl sealed::Cast for BoxCast {
    #[inline]
    fn path(&self) -> Option<Path> {
        let Self { aabb, direction, limit } = *self;
        let is_valid = aabb.is_valid() && is_finite(&direction) && limit >= 0.0;
        is_valid.then(|| Path::new(aabb.min, aabb.max, direction, limit))
    }

    #[cfg(feature = "gpu")]
    fn words(casts: &[Self]) -> &[u32] {
        bytemuck::cast_slice(casts)
    }
}
