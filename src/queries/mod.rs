//! The queries of a tree, such as [`Ray`], [`BoxCast`] and [`Sphere`]; a [`Batch`] of queries; and the answers.
//!
//! | file | has |
//! |---|---|
//! | `path` | the exact time when a moving box first touches another |
//! | `casts` | moving shapes: rays, boxes, spheres and capsules |
//! | `round` | the time when a moving sphere or capsule touches a box, never too late |
//! | `distance` | the exact distance of a point from a box |
//! | `fraction` | times and squared distances of boxes and half-spaces, compared exactly |
//! | `half_spaces` | the half-spaces that queries meet, exactly, merged into the answers of a tree |
//! | `start`, `starts` | the place where a query enters the scene, which determines the order of queries |
//! | `shapes` | shapes of overlap queries: points, boxes, spheres, oriented boxes, capsules, convex shapes |
//! | `batch` | a batch of queries of one kind, with filters |
//! | `answers` | hits, lists and the report that comes with them |

mod answers;
mod batch;
mod casts;
mod distance;
mod fraction;
mod half_spaces;
mod path;
mod round;
mod shapes;
mod start;
mod starts;

pub use answers::{Answers, Hit, Lists, Near, QueryReport, TreeReport};
pub(crate) use answers::{Surface, check_k, reserve};
pub use batch::{Batch, QueryFilter, QueryFilters};
pub use casts::{BoxCast, CapsuleCast, Cast, Ray, SphereCast};
pub(crate) use distance::Distance;
pub(crate) use half_spaces::HalfSpaces;
pub use path::{Entry, Path};
pub use round::Round;
pub(crate) use shapes::sealed::Region;
pub use shapes::{Capsule, Convex, NearestQuery, OrientedBox, Shape, Sphere};
pub(crate) use start::{Start, is_in_order};

use crate::Aabb;

/// Returns the bounds of a ball, rounded outward and clamped to finite numbers, since no ball touches a box at
/// infinity.
pub(crate) fn ball_bounds(center: [f32; 3], radius: f32) -> Aabb {
    within_numbers(Aabb::from_sphere(center, radius))
}

/// Clamps bounds, which must not be NaN, to finite numbers.
pub(crate) fn within_numbers(Aabb { min, max }: Aabb) -> Aabb {
    Aabb { min: min.map(|x| x.max(f32::MIN)), max: max.map(|x| x.min(f32::MAX)) }
}

/// Returns whether all three numbers are finite.
#[inline]
pub(crate) fn is_finite([x, y, z]: &[f32; 3]) -> bool {
    x.is_finite() & y.is_finite() & z.is_finite()
}
