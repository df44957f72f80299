//! The input of a recorded search: boxes, points or spheres.

use crate::Error;
use crate::filters::lists::SearchKind;
use crate::gpu::Gpu;
use crate::gpu::external::{bind, bind_boxes, bytes, check, check_boxes};

/// The input of a recorded search, in a buffer of the device with `BufferUsages::STORAGE`. A slice converts to boxes.
///
/// Points and spheres have 16 bytes each. The device computes their boxes, rounded outward, and decides each candidate
/// exactly, so every adapter finds the same pairs. A point or sphere with a non-finite number or a negative radius has
/// no pairs. Memory: 40 bytes per point, not part of the [`MemoryPlan`](crate::device::MemoryPlan) but within the
/// memory budget. The first recording of points allocates this memory and compiles the kernels for spheres: `reserve`
/// and `compile_ahead` prepare searches of boxes only.
///
/// [`Filters`](crate::Filters) apply to points as to boxes. An owner region uses the boxes of the points. Filters with
/// shapes are refused: margins, half-spaces and spheres.
///
/// ```no_run
/// # use broadsweep::record::{GpuInput, GpuNeighbours};
/// # use broadsweep::{Recorder, Error, wgpu};
/// # fn frame<'a>(
/// #     recorder: &'a mut Recorder, encoder: &mut wgpu::CommandEncoder, points: &wgpu::Buffer, point_count: u32,
/// # ) -> Result<GpuNeighbours<'a>, Error> {
/// // The pairs of points whose distance is at most 2.5, each once; then the neighbours of each point.
/// let input = GpuInput::Points { points: points.slice(..), distance: 2.5 };
/// recorder.record(encoder, input, point_count)?;
/// recorder.record_neighbours(encoder)
/// # }
/// ```
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum GpuInput<'a> {
    /// Boxes of 24 bytes, as [`Aabb`](crate::Aabb).
    Boxes(wgpu::BufferSlice<'a>),
    /// Points: x, y and z as `f32`, and 4 ignored bytes, for example a mass.
    Points {
        /// The points.
        points: wgpu::BufferSlice<'a>,
        /// The largest distance of a pair, inclusive: finite and ≥ 0, in the units of the points. Half of the distance
        /// must be exact in `f32`, which is the case from 2⁻¹²⁵ on.
        distance: f32,
    },
    /// Spheres: centre and radius, four `f32` each. Two spheres are a pair if they have a point in common; spheres that
    /// touch are a pair.
    Spheres(wgpu::BufferSlice<'a>),
}

impl<'a> From<wgpu::BufferSlice<'a>> for GpuInput<'a> {
    fn from(boxes: wgpu::BufferSlice<'a>) -> Self {
        Self::Boxes(boxes)
    }
}

/// Points to record, with their common radius; `None` if each has its own radius.
pub(super) type BoundPoints<'a> = (wgpu::BindingResource<'a>, Option<f32>);

impl<'a> GpuInput<'a> {
    /// Returns the kind of a search with this input.
    pub(super) fn kind(self) -> SearchKind {
        match self {
            Self::Boxes(_) => SearchKind::Boxes,
            Self::Points { .. } | Self::Spheres(_) => SearchKind::Points,
        }
    }

    /// Checks the distance, and that the buffer has at least `count` elements and can be bound.
    ///
    /// # Errors
    /// [`Error::BadBuffer`], [`Error::BadOption`].
    pub(super) fn check(self, gpu: &Gpu, count: u32) -> Result<(), Error> {
        match self {
            Self::Boxes(boxes) => check_boxes(gpu, boxes, count),
            Self::Points { points, distance } => {
                check(gpu, points, bytes::<[f32; 4]>(count), "point", || format!("{count} points"))?;
                let is_valid = distance >= 0.0 && distance.is_finite() && 2.0 * (0.5 * distance) == distance;
                let expected = "finite and at least 0, and half of it exact in f32";
                let error = || Error::BadOption { option: "distance", value: distance.to_string(), expected };
                is_valid.then_some(()).ok_or_else(error)
            }
            Self::Spheres(spheres) => {
                check(gpu, spheres, bytes::<[f32; 4]>(count), "sphere", || format!("{count} spheres"))
            }
        }
    }

    /// Returns the first `count` points or spheres, to bind; `None` for boxes and for an empty range.
    pub(super) fn points(self, count: u32) -> Option<BoundPoints<'a>> {
        let (points, radius) = match self {
            Self::Boxes(_) => return None,
            // Each point has half of the distance as radius. `abs` removes the sign of -0, since the kernel reads a
            // negative common radius as no common radius.
            Self::Points { points, distance } => (points, Some(0.5 * distance.abs())),
            Self::Spheres(spheres) => (spheres, None),
        };
        Some((bind(points, bytes::<[f32; 4]>(count))?, radius))
    }

    /// Returns the first `count` boxes, to bind; `None` for points and for an empty range.
    pub(super) fn boxes(self, count: u32) -> Option<wgpu::BindingResource<'a>> {
        match self {
            Self::Boxes(boxes) => bind_boxes(boxes, count),
            Self::Points { .. } | Self::Spheres(_) => None,
        }
    }
}
