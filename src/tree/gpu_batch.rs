//! Queries in buffers of the caller, and answers that stay on the device.

use bytemuck::{Pod, Zeroable};
use std::marker::PhantomData;

use super::query::{Derived, Listed, QueryBuffers, filter_u32_count};
use crate::base::constants::{STATUS_ANSWERED, STATUS_INVALID, STATUS_UNFINISHED};
use crate::gpu::external::bytes;
use crate::{Aabb, BoxCast, Capsule, CapsuleCast, Cast, GpuPairs, NearestQuery, OrientedBox, Ray, Sphere, SphereCast};

/// A type of queries in a buffer of the device, with the layout of host memory: [`Ray`], [`BoxCast`], [`SphereCast`],
/// [`CapsuleCast`], `[f32; 3]` (a point), [`Aabb`], [`Sphere`], [`Capsule`], [`OrientedBox`], [`NearestQuery`] or
/// [`GpuConvex`]. A [`SphereCast`] or [`CapsuleCast`] takes 68 bytes of scratch memory.
///
/// The trait is sealed: other crates cannot implement it.
pub trait GpuQuery: Pod + sealed::SealedGpuQuery {}

/// A shape in a buffer of the device: `[f32; 3]` (a point), [`Aabb`], [`Sphere`], [`Capsule`], [`OrientedBox`] or
/// [`GpuConvex`].
///
/// A kernel first converts capsules and oriented boxes to half-spaces, with 160 and 416 bytes of scratch memory each.
/// Each box within the bounds of a shape is tested against all half-spaces of the shape. So an oriented box may need
/// [more rounds](GpuBatch::with_rounds) than the default. This happens if its bounds touch about fifty thousand boxes
/// on a GPU, or a thousand boxes on a software adapter.
///
/// The trait is sealed: other crates cannot implement it.
pub trait GpuShape: GpuQuery + sealed::SealedGpuShape {}

mod sealed {
    use crate::tree::query::{Derived, Listed};

    pub trait SealedGpuQuery {
        /// The kernel that converts these queries, if there is one.
        const DERIVED: Option<Derived>;
    }

    pub trait SealedGpuShape {
        /// The kind of query that finds the boxes that these shapes touch.
        const LISTED: Listed = Listed::Touch;
    }
}

/// A convex shape in a buffer of the device, such as the view of a camera: the intersection of bounds and half-spaces.
/// Size: 32 bytes. The half-spaces of all shapes follow the last shape ([`GpuBatch::with_half_spaces`]).
///
/// Each box that shares a point with the shape is reported. A box is reported if it touches the bounds and each
/// half-space; both tests are exact, as for a [`Convex`](crate::Convex). The shape is invalid if it has more than
/// [`Convex::MOST_ON_GPU`](crate::Convex::MOST_ON_GPU) half-spaces, if its range ends beyond the list of half-spaces,
/// or if a half-space is not finite or has a zero normal.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct GpuConvex {
    /// Bounds of the shape; from minus infinity to infinity if there are none.
    pub bounds: Aabb,
    /// The index of its first half-space.
    pub first: u32,
    /// The count of its half-spaces.
    pub count: u32,
}

macro_rules! gpu_queries {
    ($derived:expr; $($query:ty),*) => {
        $(
            impl sealed::SealedGpuQuery for $query {
                const DERIVED: Option<Derived> = $derived;
            }
            impl GpuQuery for $query {}
        )*
    };
}

gpu_queries!(None; Ray, BoxCast, [f32; 3], Aabb, Sphere, NearestQuery, GpuConvex);
gpu_queries!(Some(Derived::Moving); SphereCast, CapsuleCast);
gpu_queries!(Some(Derived::Capsules); Capsule);
gpu_queries!(Some(Derived::Turned); OrientedBox);

impl sealed::SealedGpuShape for [f32; 3] {}
impl sealed::SealedGpuShape for Aabb {}
impl sealed::SealedGpuShape for Capsule {}
impl sealed::SealedGpuShape for OrientedBox {}
impl sealed::SealedGpuShape for GpuConvex {}
impl sealed::SealedGpuShape for Sphere {
    const LISTED: Listed = Listed::Sphere;
}
impl<S: GpuQuery + sealed::SealedGpuShape> GpuShape for S {}

/// A batch of queries of one kind in a buffer of the caller, for the calls of [`TreeRecorder`](crate::TreeRecorder).
#[derive(Clone, Copy, Debug)]
pub struct GpuBatch<'a, Q> {
    pub(super) queries: wgpu::BufferSlice<'a>,
    pub(super) query_count: u32,
    pub(super) query_filters: Option<wgpu::BufferSlice<'a>>,
    pub(super) has_spheres: bool,
    pub(super) is_in_order: bool,
    pub(super) skips_separating: bool,
    pub(super) rounds: Option<u32>,
    pub(super) half_space_count: u32,
    pub(super) vertices_per_pair: u32,
    kind: PhantomData<Q>,
}

impl<'a, Q: GpuQuery> GpuBatch<'a, Q> {
    /// Creates a batch of the first `query_count` queries in `queries`. `queries` is a slice of a buffer of the device
    /// with `BufferUsages::STORAGE`. The queries lie one after the other, little-endian, as `bytemuck` casts a slice of
    /// `Q`.
    pub fn new(queries: wgpu::BufferSlice<'a>, query_count: u32) -> Self {
        Self {
            queries,
            query_count,
            query_filters: None,
            has_spheres: false,
            is_in_order: false,
            skips_separating: false,
            rounds: None,
            half_space_count: 0,
            vertices_per_pair: 24,
            kind: PhantomData,
        }
    }

    /// Returns the bytes of the queries and of the half-spaces after them; 0 without queries.
    pub(super) fn bytes(&self) -> u64 {
        let parts = if self.query_count == 0 { 0 } else { self.half_space_count };
        bytes::<Q>(self.query_count) + bytes::<[f32; 4]>(parts)
    }

    /// Returns the bytes of the query filters and of the spheres after them.
    pub(super) fn filter_bytes(&self) -> u64 {
        4 * u64::from(self.query_count) * filter_u32_count(true, self.has_spheres)
    }

    /// Describes the content of the slice, for errors.
    pub(super) fn content(&self) -> String {
        match self.half_space_count {
            0 => format!("{} queries", self.query_count),
            count => format!("{} queries and {count} half-spaces", self.query_count),
        }
    }

    /// Adds filters: a [`QueryFilter`](crate::QueryFilter) for each query, in a buffer with `BufferUsages::STORAGE`.
    #[must_use]
    pub fn with_filters(self, query_filters: wgpu::BufferSlice<'a>) -> Self {
        Self { query_filters: Some(query_filters), has_spheres: false, ..self }
    }

    /// Adds filters and spheres, in one slice: first the filters, then a sphere per query. A sphere is `[f32; 4]`,
    /// centre and radius, as in [`QueryFilters::sphere`](crate::QueryFilters::sphere). An invalid sphere has no points:
    /// if boxes have spheres, its query meets no box.
    #[must_use]
    pub fn with_filters_and_spheres(self, query_filters: wgpu::BufferSlice<'a>) -> Self {
        Self { query_filters: Some(query_filters), has_spheres: true, ..self }
    }

    /// Declares that most queries start near the previous query, such as the rays of a camera. Then queries are not
    /// sorted. This changes the time, not the answers.
    #[must_use]
    pub fn in_order(self) -> Self {
        Self { is_in_order: true, ..self }
    }

    /// Sets the count of rounds recorded after the first round: at least 1. Default: 4 on a GPU, 16 on a software
    /// adapter.
    ///
    /// In a round, a query takes up to 2¹⁸ steps on a GPU. On a software adapter it takes up to a few thousand steps,
    /// since drivers end longer loops. A cast of a round shape takes about a hundred steps per box that its bounding
    /// box touches. Queries other than casts need a second round if `f32` leaves a box undecided. An unneeded round
    /// costs two nearly empty dispatches. For lists, each round is recorded twice: to count the answers, and to write
    /// them. A query that is unfinished after all rounds
    /// has no answers. It is marked and counted ([`QueryHeader::unfinished`](crate::QueryHeader::unfinished)). Record
    /// it again with more rounds, or query from host memory.
    #[must_use]
    pub fn with_rounds(self, rounds: u32) -> Self {
        Self { rounds: Some(rounds), ..self }
    }
}

impl<C: Cast + GpuQuery> GpuBatch<'_, C> {
    /// Skips boxes that a cast touches at the start and separates from, like
    /// [`QueryFilters::skips_separating`](crate::QueryFilters::skips_separating).
    #[must_use]
    pub fn skipping_separating(self) -> Self {
        Self { skips_separating: true, ..self }
    }
}

impl<S: GpuShape> GpuBatch<'_, S> {
    /// Sets the vertices per pair in the draw arguments of [`record_overlaps`](crate::TreeRecorder::record_overlaps)
    /// and of all lists of [`record_overlap_events`](crate::TreeRecorder::record_overlap_events). Default: 24, the
    /// twelve edges of a box as lines.
    #[must_use]
    pub fn with_vertices_per_pair(self, vertices_per_pair: u32) -> Self {
        Self { vertices_per_pair, ..self }
    }
}

impl GpuBatch<'_, GpuConvex> {
    /// Adds `count` half-spaces, which follow the last shape in the same slice. A half-space is `[f32; 4]`: an outward
    /// normal and an offset, for the points `x` with `normal · x <= offset`. Shapes may share half-spaces.
    #[must_use]
    pub fn with_half_spaces(self, count: u32) -> Self {
        Self { half_space_count: count, ..self }
    }
}

/// A row of answers per query, in GPU buffers. The buffers are borrowed as in [`GpuPairs`], may be longer than the
/// answers, and can be used as storage and to copy from.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GpuAnswers<'a> {
    /// The answers, in the order of the queries: `[query_count * k]` [`Hit`](crate::Hit)s or [`Near`](crate::Near)s,
    /// with index 2³² − 1 and infinity for missing answers. For
    /// [`record_any_hits`](crate::TreeRecorder::record_any_hits): `[query_count]` `u32`, 1 if the query hits a box,
    /// otherwise 0.
    pub answers: &'a wgpu::Buffer,
    /// `[query_count]` `u32`: [`ANSWERED`](Self::ANSWERED), [`INVALID`](Self::INVALID) or
    /// [`UNFINISHED`](Self::UNFINISHED).
    pub status: &'a wgpu::Buffer,
    /// A [`QueryHeader`](crate::QueryHeader).
    pub header: &'a wgpu::Buffer,
}

impl<'a> GpuAnswers<'a> {
    /// Returns the results in the buffers of a batch.
    pub(super) fn of(buffers: &'a QueryBuffers, answers: &'a wgpu::Buffer) -> Self {
        let QueryBuffers { status, header, .. } = buffers;
        Self { answers, status: status.raw(), header: header.raw() }
    }
}

impl GpuAnswers<'_> {
    /// Marks a query that has all its answers.
    pub const ANSWERED: u32 = STATUS_ANSWERED;
    /// Marks a query with a NaN or another invalid number.
    pub const INVALID: u32 = STATUS_INVALID;
    /// Marks a query that the recorded rounds did not finish.
    pub const UNFINISHED: u32 = STATUS_UNFINISHED;
}

/// A list of answers per query, in GPU buffers, one list after the other. The buffers can be used as in [`GpuAnswers`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GpuLists<'a> {
    /// `[query_count + 1]` the begin of each query's list among all answers, and the end of the last list. Each is a
    /// 64-bit number, little-endian; in WGSL `array<vec2<u32>>`, the lower half first.
    pub offsets: &'a wgpu::Buffer,
    /// `[capacity]` answers; the first [`QueryHeader::written`](crate::QueryHeader::written) are valid.
    /// [`Hit`](crate::Hit)s for casts, otherwise [`Pair`](crate::Pair)s of query and box. Ascending by query, then by
    /// box.
    pub answers: &'a wgpu::Buffer,
    /// The same as [`GpuAnswers::status`].
    pub status: &'a wgpu::Buffer,
    /// A [`QueryHeader`](crate::QueryHeader).
    pub header: &'a wgpu::Buffer,
    /// The arguments of an indirect dispatch and of indirect draws of the written answers, like
    /// [`GpuPairs::arguments`](crate::GpuPairs::arguments).
    pub arguments: &'a wgpu::Buffer,
    /// The capacity for answers.
    pub capacity: u32,
}

impl<'a> GpuLists<'a> {
    /// Returns the results in the buffers of a batch.
    pub(super) fn of(buffers: &'a QueryBuffers, capacity: u32) -> Self {
        Self {
            offsets: buffers.ends.raw(),
            answers: buffers.pairs.raw(),
            status: buffers.status.raw(),
            header: buffers.header.raw(),
            arguments: buffers.arguments.raw(),
            capacity,
        }
    }

    /// Returns the buffers of [`record_overlaps`](crate::TreeRecorder::record_overlaps) as pairs (query, box), in
    /// canonical order. The header is a [`QueryHeader`](crate::QueryHeader), whose first five fields are the fields of
    /// a [`PairHeader`](crate::PairHeader). Do not use this for answers of
    /// [`record_all_hits`](crate::TreeRecorder::record_all_hits), which are [`Hit`](crate::Hit)s.
    pub fn pairs(self) -> GpuPairs<'a> {
        let Self { answers, header, arguments, capacity, .. } = self;
        GpuPairs { pairs: answers, header, arguments, capacity }
    }
}
