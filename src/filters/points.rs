//! The buffers of recorded searches of points. Each point becomes a box and a sphere.

use super::lists::FilterLists;
use crate::Aabb;
use crate::gpu::table::{STORAGE, buffer_table};

/// The capacity for points.
#[derive(Clone, Copy, Debug)]
pub struct PointCapacity {
    /// Points.
    pub points: u64,
    /// The u32 count of the lists of the filters.
    pub filter_u32_count: u64,
}

buffer_table! {
    /// The buffers of a search of points.
    pub struct PointBuffers(capacity: PointCapacity) {
        /// `[points]` the boxes of the points.
        boxes as "point_boxes": [Aabb; capacity.points], STORAGE;
        /// The lists of the filters, then `[4 * points]` the spheres.
        words as "point_filters": [u32; capacity.filter_u32_count + 4 * capacity.points], STORAGE;
    }
}

/// The boxes and lists of a search of points.
#[derive(Clone, Debug)]
pub struct PointLists {
    /// The lists of the filters, with the spheres of the points.
    pub lists: FilterLists,
    /// The buffers of the search.
    pub buffers: PointBuffers,
    /// The capacity of the buffers.
    pub capacity: PointCapacity,
}
