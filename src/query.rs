//! Queries a tree: finds the boxes that a ray hits, the boxes that touch a shape, or the boxes nearest to a point.
//!
//! [`Tree`](crate::Tree) is the tree on a GPU, [`cpu::Tree`](crate::cpu::Tree) the tree on the CPU;
//! [`QueryEngine`](crate::QueryEngine) has the calls of both, and [`AnyTree`](crate::AnyTree) chooses at run time.
//! [`TreeRecorder`](crate::TreeRecorder) reads queries from buffers of the device, and writes answers to buffers of the
//! device ([`record`](crate::record)).
//!
//! | call | queries | answers |
//! |---|---|---|
//! | `nearest_hits` | [`Ray`](crate::Ray), [`BoxCast`], [`SphereCast`], [`CapsuleCast`] | one [`Hit`](crate::Hit) each |
//! | `first_hits`, `all_hits` | the same | a list of hits each |
//! | `any_hits` | the same | one `bool` each |
//! | `overlaps` | a point `[f32; 3]`, [`Aabb`](crate::Aabb), [`Sphere`], [`Capsule`], [`OrientedBox`], [`Convex`] | a list of indices each |
//! | `nearest` | [`NearestQuery`] | a list of [`Near`] each |
//!
//! Coordinates and distances are in the units of the boxes; a hit is at `origin + t * direction`. A slice of queries is
//! a batch; [`Batch::with_filters`] adds groups, bodies and worlds of the queries. A query with a NaN has no answers
//! and is counted in the [`QueryReport`]. Cost: each query walks from the root to the boxes that it finds. A GPU is
//! faster than the CPU from a few thousand queries per batch on.
//!
//! ```
//! use broadsweep::filter::GroupRule;
//! use broadsweep::query::{Batch, QueryFilters, Sphere};
//! use broadsweep::{Aabb, Error, Filters, QueryEngine, Ray, cpu};
//!
//! # fn main() -> Result<(), Error> {
//! let mut tree = cpu::Tree::new(); // or Tree::new(&gpu)?
//! tree.set_filters(Filters::default().with_group(vec![1, 2]))?;
//! tree.build(&[Aabb::new([1.0; 3], [2.0; 3]), Aabb::new([4.0; 3], [5.0; 3])])?;
//!
//! let rays = [Ray::new([0.0; 3], [1.0; 3])];
//! assert_eq!(tree.nearest_hits(&rays)?[0].index, 0);
//! // The ray tests only boxes of group 2.
//! let filters = QueryFilters::meeting(vec![2], GroupRule::Any);
//! assert_eq!(tree.nearest_hits(Batch::new(&rays).with_filters(&filters))?[0].index, 1);
//!
//! let touched = tree.overlaps(&[Sphere { center: [3.0; 3], radius: 2.0 }])?;
//! assert_eq!(touched[0], [0, 1]);
//! # Ok(())
//! # }
//! ```

pub use crate::queries::{
    Batch, BoxCast, Capsule, CapsuleCast, Cast, Convex, Near, NearestQuery, OrientedBox, QueryFilter, QueryFilters,
    QueryReport, Shape, Sphere, SphereCast, TreeReport,
};
#[cfg(feature = "gpu")]
pub use crate::tree::{AsyncTree, QueryLoad, Question, TreeBoxes};
