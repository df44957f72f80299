//! Casts: rays, and boxes, spheres and capsules that move along a line.

#[cfg(feature = "gpu")]
use std::borrow::Cow;

use bytemuck::{Pod, Zeroable};
#[cfg(feature = "gpu")]
use rayon::prelude::*;

use super::{Path, Round, ball_bounds, is_finite};
use crate::Aabb;
#[cfg(feature = "gpu")]
use crate::base::constants::ROUND_CAST_U32_COUNT;

/// A ray, or a segment: the points `origin + t direction` with `0 <= t <= limit`, in real numbers. 28 bytes.
///
/// The direction can have any length, which is the unit of `t`; with a zero direction, the ray is a point. A ray hits a
/// box if they have a point in common. The `t` of the hit is the least `t` of these points: 0 if the box contains the
/// origin.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Ray {
    /// The start of the ray; finite.
    pub origin: [f32; 3],
    /// The direction of the ray; finite.
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

/// A moving box: the boxes `aabb + t direction` with `0 <= t <= limit`, in real numbers. 40 bytes.
///
/// The cast hits a box if one of these boxes has a point in common with it. The `t` of the hit is the least such `t`: 0
/// if the boxes touch at the start. Bounds may be infinite; they are compared as in the overlap test of pairs.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct BoxCast {
    /// The box at the start; valid.
    pub aabb: Aabb,
    /// The displacement per unit of `t`; finite.
    pub direction: [f32; 3],
    /// The largest `t`: at least zero; infinity for no end.
    pub limit: f32,
}

/// A moving sphere: all points at most `radius` from `center + t direction`, with `0 <= t <= limit`. 32 bytes.
///
/// All touched boxes are reported, and `t` is never after the first touch. Rounding is on the safe side: the distance
/// of a reported box from the sphere may be 10⁻⁹ of the sizes involved. `t` is rounded down; if the sphere only grazes
/// a box, `t` may be too early by 10⁻⁵ of its value. A `t` below `f32::MIN_POSITIVE` is 0. Hits are ordered by the
/// reported `t`, then by index. Every engine returns the same bits. benches/results/queries.md counts the false hits.
///
/// The sphere touches no box at infinity. With a radius of 0, it hits the same boxes as a [`Ray`]. With an infinite
/// radius, or if it reaches beyond `f32::MAX`, it hits every box that is not at infinity, at `t = 0`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SphereCast {
    /// The centre of the sphere at the start; finite.
    pub center: [f32; 3],
    /// The radius; at least zero.
    pub radius: f32,
    /// The displacement per unit of `t`; finite.
    pub direction: [f32; 3],
    /// The largest `t`: at least zero; infinity for no end.
    pub limit: f32,
}

/// A moving capsule: all points at most `radius` from a segment, which moves by `t direction`, with `0 <= t <= limit`.
/// 44 bytes.
///
/// The guarantees of a [`SphereCast`] hold, with one exception. A capsule that misses a box may still be reported if
/// the length of the capsule is millions of times the distance. A capsule with equal ends is a `SphereCast`.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct CapsuleCast {
    /// One end of the segment at the start; finite.
    pub from: [f32; 3],
    /// The other end; finite. It may be the same.
    pub to: [f32; 3],
    /// The radius; at least zero.
    pub radius: f32,
    /// The displacement per unit of `t`; finite.
    pub direction: [f32; 3],
    /// The largest `t`: at least zero; infinity for no end.
    pub limit: f32,
}

impl SphereCast {
    /// Returns the cast of the sphere's bounding box; an invalid cast if the sphere is invalid.
    pub fn bounds(&self) -> BoxCast {
        self.capsule().bounds()
    }

    fn capsule(&self) -> CapsuleCast {
        let Self { center, radius, direction, limit } = *self;
        CapsuleCast { from: center, to: center, radius, direction, limit }.capsule()
    }
}

impl CapsuleCast {
    /// Returns the cast of the capsule's bounding box; an invalid cast if the capsule is invalid.
    pub fn bounds(&self) -> BoxCast {
        let Self { from, to, radius, direction, limit } = self.capsule();
        let [a, b] = [from, to].map(|end| ball_bounds(end, radius));
        let both = Aabb {
            min: std::array::from_fn(|k| a.min[k].min(b.min[k])),
            max: std::array::from_fn(|k| a.max[k].max(b.max[k])),
        };
        let aabb = if self.is_valid() { both } else { Aabb { min: [f32::NAN; 3], max: [f32::NAN; 3] } };
        BoxCast { aabb, direction, limit }
    }

    fn is_valid(&self) -> bool {
        is_finite(&self.from) && is_finite(&self.to) && self.radius >= 0.0
    }

    /// Returns the same cast; with an infinite radius if the bounds are not finite. With a finite radius, the clamped
    /// bounds would not contain the capsule while it moves.
    fn capsule(&self) -> Self {
        let is_number = |end: [f32; 3]| {
            let Aabb { min, max } = Aabb::from_sphere(end, self.radius);
            is_finite(&min) && is_finite(&max)
        };
        let is_cut = self.is_valid() && !(is_number(self.from) && is_number(self.to));
        Self { radius: if is_cut { f32::INFINITY } else { self.radius }, ..*self }
    }
}

/// A cast: a [`Ray`], a [`BoxCast`], a [`SphereCast`] or a [`CapsuleCast`].
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
        /// The u32 count of a packed path.
        #[cfg(feature = "gpu")]
        const U32_COUNT: usize;
        /// Returns the path; `None` if a number is invalid.
        fn path(&self) -> Option<Path>;
        /// Returns the bits of all numbers of these paths.
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

/// The words of a moving round shape: the cast of its bounds, and the shape. No query has more words.
#[cfg(feature = "gpu")]
#[repr(C)]
#[derive(Clone, Copy, Pod, Zeroable)]
pub(crate) struct RoundWords {
    bounds: BoxCast,
    from: [f32; 3],
    to: [f32; 3],
    radius: f32,
}

/// Implements `Cast` for a sphere or a capsule, with its bounding box.
macro_rules! round_cast {
    ($cast:ty) => {
        impl sealed::SealedCast for $cast {
            #[cfg(feature = "gpu")]
            const U32_COUNT: usize = ROUND_CAST_U32_COUNT as usize;

            #[inline]
            fn path(&self) -> Option<Path> {
                let capsule = self.capsule();
                let round = Round::new(capsule.from, capsule.to, capsule.radius);
                Some(capsule.bounds().path()?.with_round(round).everywhere(capsule.radius == f32::INFINITY))
            }

            #[cfg(feature = "gpu")]
            fn words(casts: &[Self]) -> Cow<'_, [u32]> {
                let words = |cast: &Self| {
                    let capsule = cast.capsule();
                    let CapsuleCast { from, to, radius, .. } = capsule;
                    let words = RoundWords { bounds: capsule.bounds(), from, to, radius };
                    bytemuck::cast::<_, [u32; ROUND_CAST_U32_COUNT as usize]>(words)
                };
                Cow::Owned(casts.par_iter().with_min_len(1 << 10).flat_map_iter(words).collect())
            }
        }
    };
}

round_cast!(SphereCast);
round_cast!(CapsuleCast);
