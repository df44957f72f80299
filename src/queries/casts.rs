//! Moving shapes: rays, boxes, spheres and capsules.

#[cfg(feature = "gpu")]
use std::borrow::Cow;

use bytemuck::{Pod, Zeroable};
#[cfg(feature = "gpu")]
use rayon::prelude::*;

use super::Path;
use super::{ball_bounds, is_finite};
use crate::Aabb;

/// A ray, or a segment: the points `origin + t direction` with `0 <= t <= limit`, in real numbers. 28 bytes.
///
/// The direction need not be of unit length: `t` counts in its lengths. A direction of zeros is a point. A ray hits a box
/// that shares a point with it, and the `t` of a hit is the least of these points: 0 where the origin is in the box.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ray {
    /// Where the ray begins; finite.
    pub origin: [f32; 3],
    /// Where the ray goes; finite.
    pub direction: [f32; 3],
    /// The largest `t`: at least zero; infinity for a ray without an end.
    pub limit: f32,
}

impl Ray {
    /// Creates a ray without an end.
    pub fn new(origin: impl Into<[f32; 3]>, direction: impl Into<[f32; 3]>) -> Self {
        Self { origin: origin.into(), direction: direction.into(), limit: f32::INFINITY }
    }

    /// Creates a segment: `t` is at most `limit`.
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
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BoxCast {
    /// The box where it begins; valid.
    pub aabb: Aabb,
    /// Where the box goes; finite.
    pub direction: [f32; 3],
    /// The largest `t`: at least zero; infinity for no end.
    pub limit: f32,
}

/// A sphere that moves: all points at most `radius` from `center + t direction`, with `0 <= t <= limit`. 32 bytes.
///
/// The cast shape is the box that bounds the sphere, rounded outward, and no farther than `f32::MAX`: as a [`Sphere`](crate::Sphere), it touches
/// no box that is at infinity, whatever its radius. Among all hits, no box that the sphere touches is missed,
/// and the `t` of a hit is never after the sphere touches. The nearest hit and the first k are those of the bounding box: a
/// box that is too many takes a place. A box that is reported is, at that time, at most `√3 radius` from the center, but for
/// rounding. How many are too many is measured in benches/results.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SphereCast {
    /// The middle of the sphere where it begins; finite.
    pub center: [f32; 3],
    /// The radius; at least zero.
    pub radius: f32,
    /// Where the sphere goes; finite.
    pub direction: [f32; 3],
    /// The largest `t`: at least zero; infinity for no end.
    pub limit: f32,
}

/// A capsule that moves: all points at most `radius` from a segment, which moves by `t direction`, with `0 <= t <= limit`.
/// 44 bytes.
///
/// The cast shape is the box that bounds the capsule, rounded outward, with the same consequences as for a [`SphereCast`]. A
/// box that is reported is, at that time, at most `√3 radius` and half of the length of the segment from the segment, but for
/// rounding; at most `√3 radius` where the segment is along an axis, as of an upright character.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CapsuleCast {
    /// One end of the segment where it begins; finite.
    pub from: [f32; 3],
    /// The other end; finite. It may be the same.
    pub to: [f32; 3],
    /// The radius; at least zero.
    pub radius: f32,
    /// Where the capsule goes; finite.
    pub direction: [f32; 3],
    /// The largest `t`: at least zero; infinity for no end.
    pub limit: f32,
}

impl SphereCast {
    /// Returns the cast of the box that bounds the sphere; one without a meaning where the sphere has none.
    pub fn bounds(&self) -> BoxCast {
        let Self { center, radius, direction, limit } = *self;
        CapsuleCast { from: center, to: center, radius, direction, limit }.bounds()
    }
}

impl CapsuleCast {
    /// Returns the cast of the box that bounds the capsule; one without a meaning where the capsule has none.
    pub fn bounds(&self) -> BoxCast {
        let Self { from, to, radius, direction, limit } = *self;
        let is_valid = is_finite(&from) && is_finite(&to) && radius >= 0.0;
        let [a, b] = [from, to].map(|end| ball_bounds(end, radius));
        let both = Aabb {
            min: std::array::from_fn(|k| a.min[k].min(b.min[k])),
            max: std::array::from_fn(|k| a.max[k].max(b.max[k])),
        };
        let aabb = if is_valid { both } else { Aabb { min: [f32::NAN; 3], max: [f32::NAN; 3] } };
        BoxCast { aabb, direction, limit }
    }
}

/// Something that moves along a line: a [`Ray`], a [`BoxCast`], a [`SphereCast`] or a [`CapsuleCast`].
///
/// The trait is sealed: other crates cannot implement it.
pub trait Cast: Copy + Send + Sync + sealed::SealedCast + super::Start {}

impl Cast for Ray {}
impl Cast for BoxCast {}
impl Cast for SphereCast {}
impl Cast for CapsuleCast {}

pub(crate) mod sealed {
    #[cfg(feature = "gpu")]
    use std::borrow::Cow;

    use super::Path;

    pub trait SealedCast {
        /// How many numbers a path has.
        #[cfg(feature = "gpu")]
        const U32_COUNT: usize;
        /// Returns the path; none where a number has no meaning.
        fn path(&self) -> Option<Path>;
        /// Returns all numbers of some paths in a row, in bits.
        #[cfg(feature = "gpu")]
        fn words(casts: &[Self]) -> Cow<'_, [u32]>
        where
            Self: Sized;
    }
}

impl sealed::SealedCast for Ray {
    #[cfg(feature = "gpu")]
    const U32_COUNT: usize = size_of::<Self>() / size_of::<u32>();

    #[inline]
    fn path(&self) -> Option<Path> {
        let Self { origin, direction, limit } = *self;
        let is_valid = is_finite(&origin) && is_finite(&direction) && limit >= 0.0;
        is_valid.then(|| Path::new(origin, origin, direction, limit))
    }

    #[cfg(feature = "gpu")]
    fn words(casts: &[Self]) -> Cow<'_, [u32]> {
        Cow::Borrowed(bytemuck::cast_slice(casts))
    }
}

impl sealed::SealedCast for BoxCast {
    #[cfg(feature = "gpu")]
    const U32_COUNT: usize = size_of::<Self>() / size_of::<u32>();

    #[inline]
    fn path(&self) -> Option<Path> {
        let Self { aabb, direction, limit } = *self;
        let is_valid = aabb.is_valid() && is_finite(&direction) && limit >= 0.0;
        is_valid.then(|| Path::new(aabb.min, aabb.max, direction, limit))
    }

    #[cfg(feature = "gpu")]
    fn words(casts: &[Self]) -> Cow<'_, [u32]> {
        Cow::Borrowed(bytemuck::cast_slice(casts))
    }
}

/// Casts what moves as the box that bounds it.
macro_rules! by_bounds {
    ($cast:ty) => {
        impl sealed::SealedCast for $cast {
            #[cfg(feature = "gpu")]
            const U32_COUNT: usize = BoxCast::U32_COUNT;

            #[inline]
            fn path(&self) -> Option<Path> {
                self.bounds().path()
            }

            #[cfg(feature = "gpu")]
            fn words(casts: &[Self]) -> Cow<'_, [u32]> {
                let words = casts.par_iter().with_min_len(1 << 10);
                Cow::Owned(
                    words.flat_map_iter(|cast| bytemuck::cast::<_, [u32; BoxCast::U32_COUNT]>(cast.bounds())).collect(),
                )
            }
        }
    };
}

by_bounds!(SphereCast);
by_bounds!(CapsuleCast);
