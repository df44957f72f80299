//! Queries in buffers of the caller's, and answers that stay on the device.

use bytemuck::{Pod, Zeroable};
use std::marker::PhantomData;

use super::query::{Derived, Listed, QueryBuffers, filter_u32_count};
use crate::base::constants::{STATUS_ANSWERED, STATUS_INVALID, STATUS_UNFINISHED};
use crate::gpu::external::bytes;
use crate::{Aabb, BoxCast, Capsule, CapsuleCast, Cast, GpuPairs, NearestQuery, OrientedBox, Ray, Sphere, SphereCast};

/// A query that lies in a buffer of the device as it does in host memory: [`Ray`], [`BoxCast`], [`SphereCast`], [`CapsuleCast`],
/// `[f32; 3]` (a point), [`Aabb`], [`Sphere`], [`Capsule`], [`OrientedBox`] and [`NearestQuery`]; and [`GpuConvex`]. A round shape that
/// moves takes 68 bytes of scratch memory, for its bounding box and itself.
///
/// The trait is sealed: other crates cannot implement it.
pub trait GpuQuery: Pod + sealed::SealedGpuQuery {}

/// A shape in a buffer of the device: `[f32; 3]` (a point), [`Aabb`], [`Sphere`], [`Capsule`], [`OrientedBox`] or [`GpuConvex`].
///
/// Capsules and oriented boxes are cut out of half-spaces first, with the numbers of the host: that takes 160 and 416 bytes of scratch
/// memory for each. Each box within their bounds takes steps for all of them. So in software, where rounds are short, a turned box
/// whose bounds touch a thousand boxes needs [more](GpuBatch::with_rounds) than are recorded without a word; on a GPU one that touches
/// some fifty thousand does.
///
/// The trait is sealed: other crates cannot implement it.
pub trait GpuShape: GpuQuery + sealed::SealedGpuShape {}

mod sealed {
    use crate::tree::query::{Derived, Listed};

    pub trait SealedGpuQuery {
        /// The kind of the queries, if a kernel derives others from them.
        const DERIVED: Option<Derived>;
    }

    pub trait SealedGpuShape {
        /// The queries that find the boxes that such shapes touch.
        const LISTED: Listed = Listed::Touch;
    }
}

/// The intersection of bounds and some half-spaces, in a buffer of the device: a convex shape such as the view of a camera. 32 bytes.
/// The half-spaces of all shapes lie behind the last of them ([`GpuBatch::with_half_spaces`]).
///
/// No box that shares a point with it is missed. A box is reported that touches the bounds and each half-space, without rounding, as
/// for a [`Convex`](crate::Convex). A shape with more than [`Convex::MOST_ON_GPU`](crate::Convex::MOST_ON_GPU) half-spaces, with some
/// that are not there, or with one whose numbers are not finite or whose normal is zero, is invalid.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct GpuConvex {
    /// A box that is not left; from minus infinity to infinity for none.
    pub bounds: Aabb,
    /// The number of its first half-space.
    pub first: u32,
    /// How many it has.
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
    /// Creates a batch of `query_count` queries at the start of `queries`, a buffer of the device or a part of one, created with
    /// `BufferUsages::STORAGE`: one after the other, little-endian, as `bytemuck` casts a slice of `Q`.
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

    /// Counts the bytes of the queries, and of the half-spaces behind them; none without queries.
    pub(super) fn bytes(&self) -> u64 {
        let parts = if self.query_count == 0 { 0 } else { self.half_space_count };
        bytes::<Q>(self.query_count) + bytes::<[f32; 4]>(parts)
    }

    /// Counts the bytes of the filters of the queries, and of the spheres behind them.
    pub(super) fn filter_bytes(&self) -> u64 {
        4 * u64::from(self.query_count) * filter_u32_count(true, self.has_spheres)
    }

    /// Names what lies in the slice.
    pub(super) fn content(&self) -> String {
        match self.half_space_count {
            0 => format!("{} queries", self.query_count),
            count => format!("{} queries and {count} half-spaces", self.query_count),
        }
    }

    /// Adds filters: a [`QueryFilter`](crate::QueryFilter) for each query, in a buffer of the same kind.
    #[must_use]
    pub fn with_filters(self, query_filters: wgpu::BufferSlice<'a>) -> Self {
        Self { query_filters: Some(query_filters), has_spheres: false, ..self }
    }

    /// Adds filters, and behind the last of them in the same slice a sphere for each query: `[f32; 4]`, centre and radius, as an element of
    /// [`QueryFilters::sphere`](crate::QueryFilters::sphere). A sphere that has no meaning has no points: where boxes have spheres, its query
    /// meets no box.
    #[must_use]
    pub fn with_filters_and_spheres(self, query_filters: wgpu::BufferSlice<'a>) -> Self {
        Self { query_filters: Some(query_filters), has_spheres: true, ..self }
    }

    /// Declares that most queries start near the one before, as rays of a camera do. They are not sorted then. This changes the time, not the
    /// answers.
    #[must_use]
    pub fn in_order(self) -> Self {
        Self { is_in_order: true, ..self }
    }

    /// Sets how many rounds are recorded beside the first: at least 1. Default: 4 on a GPU, 16 in software.
    ///
    /// A round takes a query up to 2¹⁸ steps further on a GPU, and some thousand in software, where drivers end longer loops.
    /// A round shape that moves takes some hundred steps for each box that its bounding box touches.
    /// Queries that `f32` leaves undecided need a round beside the first, except paths. A round that is not needed takes two dispatches
    /// that do next to nothing; lists take each round twice. A query that is not done in all of them has no answers, is marked,
    /// and is counted ([`QueryHeader::unfinished`](crate::QueryHeader::unfinished)): record it again with more rounds, or query it
    /// from host memory.
    #[must_use]
    pub fn with_rounds(self, rounds: u32) -> Self {
        Self { rounds: Some(rounds), ..self }
    }
}

impl<C: Cast + GpuQuery> GpuBatch<'_, C> {
    /// Leaves out the boxes that a cast touches at its start and separates from, as [`QueryFilters::skips_separating`](crate::QueryFilters::skips_separating) does.
    #[must_use]
    pub fn skipping_separating(self) -> Self {
        Self { skips_separating: true, ..self }
    }
}

impl<S: GpuShape> GpuBatch<'_, S> {
    /// Sets the vertices per pair in the draw arguments of [`record_overlaps`](crate::TreeRecorder::record_overlaps) and of all lists of
    /// [`record_overlap_events`](crate::TreeRecorder::record_overlap_events). Default: 24, the twelve edges of a box as lines.
    #[must_use]
    pub fn with_vertices_per_pair(self, vertices_per_pair: u32) -> Self {
        Self { vertices_per_pair, ..self }
    }
}

impl GpuBatch<'_, GpuConvex> {
    /// Adds `count` half-spaces, which lie behind the last shape in the same slice: `[f32; 4]` each, a normal that points outward and
    /// an offset, for the points `x` with `normal · x <= offset`. Shapes may share them.
    #[must_use]
    pub fn with_half_spaces(self, count: u32) -> Self {
        Self { half_space_count: count, ..self }
    }
}

/// One row of answers to each query, left on the GPU. The buffers are borrowed as those of [`GpuPairs`], may be longer than the answers, and can be
/// used as storage and to copy from.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GpuAnswers<'a> {
    /// The answers to each query, in the order of the queries: `[query_count * k]` [`Hit`](crate::Hit)s or
    /// [`Near`](crate::Near)s, of which those that are not there have index 2³² − 1 and are at infinity; or `[query_count]` words,
    /// 1 where the query hits a box and 0 where it does not.
    pub answers: &'a wgpu::Buffer,
    /// `[query_count]` words: [`ANSWERED`](Self::ANSWERED), [`INVALID`](Self::INVALID) or [`UNFINISHED`](Self::UNFINISHED).
    pub status: &'a wgpu::Buffer,
    /// A [`QueryHeader`](crate::QueryHeader).
    pub header: &'a wgpu::Buffer,
}

impl<'a> GpuAnswers<'a> {
    /// Returns buffers of a batch.
    pub(super) fn of(buffers: &'a QueryBuffers, answers: &'a wgpu::Buffer) -> Self {
        let QueryBuffers { status, header, .. } = buffers;
        Self { answers, status: status.raw(), header: header.raw() }
    }
}

impl GpuAnswers<'_> {
    /// Marks a query that has all its answers.
    pub const ANSWERED: u32 = STATUS_ANSWERED;
    /// Marks a query with a NaN or another number that has no meaning.
    pub const INVALID: u32 = STATUS_INVALID;
    /// Marks a query that was not done in the rounds that were recorded.
    pub const UNFINISHED: u32 = STATUS_UNFINISHED;
}

/// A list of answers to each query, left on the GPU: rows that lie one after the other. The buffers are as those of
/// [`GpuAnswers`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GpuLists<'a> {
    /// `[query_count + 1]` where the list of each query begins among all answers, and where the last one ends: 64 bits each,
    /// little-endian; in WGSL `array<vec2<u32>>`, the lower half first.
    pub offsets: &'a wgpu::Buffer,
    /// `[capacity]` answers, at most `capacity` of them can be copied, of which the first
    /// [`QueryHeader::written`](crate::QueryHeader::written) are there: [`Hit`](crate::Hit)s if paths were queried, and
    /// else [`Pair`](crate::Pair)s of query and box. Ascending by query, then by box.
    pub answers: &'a wgpu::Buffer,
    /// As [`GpuAnswers::status`].
    pub status: &'a wgpu::Buffer,
    /// A [`QueryHeader`](crate::QueryHeader).
    pub header: &'a wgpu::Buffer,
    /// The arguments of an indirect dispatch and of indirect draws of the answers that are written, as
    /// [`GpuPairs::arguments`](crate::GpuPairs::arguments).
    pub arguments: &'a wgpu::Buffer,
    /// The answers that fit.
    pub capacity: u32,
}

impl<'a> GpuLists<'a> {
    /// Returns buffers of a batch.
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

    /// Returns the buffers of [`record_overlaps`](crate::TreeRecorder::record_overlaps) as pairs (query, box), in canonical order. The header is a [`QueryHeader`](crate::QueryHeader), whose first five fields are those of
    /// [`PairHeader`](crate::PairHeader). Answers of [`record_all_hits`](crate::TreeRecorder::record_all_hits) are no pairs, but
    /// [`Hit`](crate::Hit)s.
    pub fn pairs(self) -> GpuPairs<'a> {
        let Self { answers, header, arguments, capacity, .. } = self;
        GpuPairs { pairs: answers, header, arguments, capacity }
    }
}
