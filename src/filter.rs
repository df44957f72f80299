//! Choose which pairs are wanted: groups, bodies, worlds, and lists of pairs; and give boxes margins or half-spaces.
//!
//! [`Filters`](crate::Filters) holds all of it, a list for each kind with one element per box; an empty list is not used and costs nothing.
//! Every engine and tree has `set_filters`, `filters` and `change_filters` (one list from a box on, an [`Attribute`]). Margins and
//! half-spaces change the boxes before the search, and worlds separate them in it. All other filters decide after the exact test. A pair that is
//! not wanted is never written; `include` overrules all filters. [`FilterOwner`] shares the filters of an engine with a tree
//! ([`Tree::share_filters`](crate::Tree::share_filters)).
//!
//! Where boxes come and go, [`Slots`](crate::step::Slots) keeps the lists as long as the boxes, with a
//! [`BoxFilter`](crate::step::BoxFilter) for each.
//!
//! Errors: [`Error::FilterLength`](crate::Error::FilterLength) if a list has another length than the boxes,
//! [`Error::BadFilter`](crate::Error::BadFilter) with list, index and value if a value has no meaning. Cost per box on the
//! device: 4 bytes for each list of numbers, a bit for each list of flags, 24 bytes for margins or half-spaces, 16 for spheres; and reads for
//! each pair found.
//!
//! ```
//! use broadsweep::filter::Attribute;
//! use broadsweep::{Aabb, Error, Filters, Options, cpu};
//!
//! # fn main() -> Result<(), Error> {
//! let boxes = [Aabb::new([0.0; 3], [1.0; 3]); 3];
//! let mut engine = cpu::BroadPhase::new(Options::default())?;
//! // Boxes 0 and 1 belong to one body; box 2 is fixed.
//! engine.set_filters(Filters::default().with_body(vec![7, 7, 8]).with_fixed(vec![false, false, true]))?;
//! assert_eq!(engine.find_pairs(&boxes)?.pairs.len(), 2);
//! engine.change_filters(1, Attribute::Body(&[9]))?;
//! assert_eq!(engine.find_pairs(&boxes)?.pairs.len(), 3);
//! # Ok(())
//! # }
//! ```

#[cfg(feature = "gpu")]
pub use crate::broad_phase::FilterOwner;
pub use crate::filters::{Attribute, ByWorld, GroupRule, HalfSpace, pairs_that_share_a_vertex, sphere_from_f64};
