//! The kernels of the stage `query`.

use crate::base::constants::{CAPSULE_PARTS, REGION_U32_COUNT, ROUND_CAST_U32_COUNT, TURNED_PARTS};
use crate::filters::rows;
use crate::gpu::kernel::{Source, source};

/// The source of `query_order`.
pub const ORDER: Source = source!("tree/query_order", "tree/curve");
/// The source of `query_first`.
pub const FIRST: Source = source!(
    "tree/query_first", "tree/rows", "tree/waiting", "tree/walk", "tree/query_filter", "filters/sphere_touch", "tree/path",
    "tree/path_sight", "tree/round_shape", "tree/round", "tree/round_sight", "tree/path_time", "tree/round_down", "tree/double",
    "tree/places", "tree/node", "tree/tree", "tree/curve", "shared/exact_sum", "shared/long_add", "shared/float_parts";
    rows::WGSL
);
/// The source of `query_near`.
pub const NEAR: Source = source!(
    "tree/query_near", "tree/rows", "tree/waiting", "tree/walk", "tree/query_filter", "filters/sphere_touch", "tree/distance",
    "tree/distance_sight", "tree/not_round", "tree/places", "tree/node", "tree/tree", "tree/curve", "tree/long_sum", "shared/long_add",
    "shared/float_parts";
    rows::WGSL
);
/// The source of `query_hits`.
pub const HITS: Source = source!(
    "tree/query_hits",
    "tree/ranked",
    "tree/path",
    "tree/round_shape",
    "tree/path_time",
    "tree/round_down",
    "tree/double",
    "tree/places",
    "tree/node",
    "tree/curve",
    "shared/exact_sum",
    "shared/float_parts"
);
/// The source of `query_squares`.
pub const SQUARES: Source = source!(
    "tree/query_squares",
    "tree/ranked",
    "tree/distance",
    "tree/round_down",
    "tree/places",
    "tree/node",
    "tree/curve",
    "tree/long_sum",
    "shared/long_add",
    "shared/float_parts"
);
/// The source of `query_cross`.
pub const CROSS: Source = source!(
    "tree/query_cross", "tree/lists", "tree/walk", "tree/query_filter", "filters/sphere_touch", "tree/path", "tree/path_sight",
    "tree/round_shape", "tree/round", "tree/round_sight", "tree/path_time", "tree/round_down", "tree/double", "tree/places",
    "tree/node", "tree/tree", "tree/curve", "shared/exact_sum", "shared/long_add", "shared/float_parts";
    rows::WGSL
);
/// The source of `query_touch`.
pub const TOUCH: Source = source!(
    "tree/query_touch", "tree/lists", "tree/walk", "tree/query_filter", "filters/sphere_touch", "tree/not_round", "tree/places",
    "tree/node", "tree/tree", "filters/half_space", "shared/exact_sum", "shared/long_add", "shared/float_parts";
    rows::WGSL
);
/// The source of `query_sphere`.
pub const SPHERE: Source = source!(
    "tree/query_sphere", "tree/lists", "tree/walk", "tree/query_filter", "filters/sphere_touch", "tree/distance",
    "tree/distance_sight", "tree/not_round", "tree/places", "tree/node", "tree/tree", "tree/curve", "tree/long_sum", "shared/long_add",
    "shared/float_parts";
    rows::WGSL
);
/// The source of `query_place`.
pub const PLACE: Source = source!("tree/query_place", "shared/scan");
/// The source of `query_offset`.
pub const OFFSET: Source = source!("tree/query_offset", "shared/scan");
/// The source of `query_short`.
pub const SHORT: Source = source!("tree/query_short");
/// The source of `query_worlds`.
pub const WORLD_IDS: Source = source!("tree/query_worlds");
/// The source of `query_moving`.
pub const MOVING: Source = source!("tree/query_moving", "tree/ball", "tree/double");
/// The source of `query_capsule`.
pub const CAPSULE: Source = source!("tree/query_capsule", "tree/cut", "tree/ball", "tree/double");
/// The source of `query_turned`.
pub const TURNED: Source = source!("tree/query_turned", "tree/cut", "tree/double");
/// The source of `query_pending`.
pub const PENDING: Source = source!("tree/query_pending");
/// The source of `query_ends`.
pub const ENDS: Source = source!("tree/query_ends");
/// The source of `query_times`.
pub const TIMES: Source = source!(
    "tree/query_times",
    "tree/path",
    "tree/round_shape",
    "tree/round",
    "tree/path_time",
    "tree/round_down",
    "tree/double",
    "tree/places",
    "tree/node",
    "tree/curve",
    "shared/exact_sum",
    "shared/float_parts"
);
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: &[Source] = &[
    MOVING, CAPSULE, TURNED, ORDER, WORLD_IDS, FIRST, HITS, NEAR, SQUARES, CROSS, TOUCH, SPHERE, PENDING, PLACE,
    OFFSET, SHORT, TIMES, ENDS,
];
/// Returns the u32 count of a query.
pub fn u32_count_of<Q>() -> u32 {
    (size_of::<Q>() / size_of::<u32>()) as u32
}

/// A kind of queries that a kernel converts before they run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Derived {
    /// Casts of spheres and capsules: bounds are added.
    Moving,
    /// Capsules: converted to bounds and half-spaces.
    Capsules,
    /// Turned boxes: converted to bounds and half-spaces.
    Turned,
}

impl Derived {
    /// Returns the u32 count of a derived query.
    pub fn u32_count(self) -> u32 {
        if self == Self::Moving { ROUND_CAST_U32_COUNT } else { REGION_U32_COUNT }
    }

    /// Returns the count of half-spaces of a derived query.
    pub fn parts(self) -> u32 {
        match self {
            Self::Moving => 0,
            Self::Capsules => CAPSULE_PARTS,
            Self::Turned => TURNED_PARTS,
        }
    }

    pub(super) fn source(self) -> &'static Source {
        match self {
            Self::Moving => &MOVING,
            Self::Capsules => &CAPSULE,
            Self::Turned => &TURNED,
        }
    }
}
