//! The queries of a tree of boxes, and its answers: [`Ray`], [`BoxCast`], [`Sphere`], [`Batch`] and their answers.
//!
//! | file | has |
//! |---|---|
//! | `path` | a box that moves along a line: where it first touches another, exactly |
//! | `casts` | what moves: rays, boxes, spheres and capsules |
//! | `round` | spheres and capsules that move: when they touch a box, never too late |
//! | `distance` | how far a point is from a box, exactly |
//! | `fraction` | times and squared distances of both, compared exactly |
//! | `half_spaces` | the half-spaces that queries meet, exactly, merged into the answers of a tree |
//! | `start`, `starts` | where a query comes to the scene: in which order queries are answered |
//! | `shapes` | what touches or not: points, boxes, spheres, oriented boxes, capsules, convex shapes |
//! | `batch` | many queries of one kind, and their filters |
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

/// Returns the bounds of a ball among finite numbers, rounded outward. They end at the largest number, for every radius: no ball touches a
/// box whose points are all at infinity.
pub(crate) fn ball_bounds(center: [f32; 3], radius: f32) -> Aabb {
    within_numbers(Aabb::from_sphere(center, radius))
}

/// Cuts bounds, which are no NaN, to finite numbers.
pub(crate) fn within_numbers(Aabb { min, max }: Aabb) -> Aabb {
    Aabb { min: min.map(|x| x.max(f32::MIN)), max: max.map(|x| x.min(f32::MAX)) }
}

/// Returns whether all three numbers are finite.
#[inline]
pub(crate) fn is_finite([x, y, z]: &[f32; 3]) -> bool {
    x.is_finite() & y.is_finite() & z.is_finite()
}
