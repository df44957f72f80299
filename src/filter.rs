//! Selects the reported pairs by groups, bodies, worlds and lists of pairs, and adds margins, spheres and half-spaces
//! to boxes.
//!
//! [`Filters`](crate::Filters) has a list for each kind of filter, with one element per box. An empty list is not used
//! and costs nothing. Every engine and tree has `set_filters`, `filters`, and `change_filters`, which replaces values
//! of one list (an [`Attribute`]). Margins and half-spaces change the boxes before the search. Worlds separate the
//! boxes during the search. All other filters decide after the exact test. A rejected pair is never written. `include`
//! overrules all filters. [`FilterOwner`] shares the filters of an engine with a tree
//! ([`Tree::share_filters`](crate::Tree::share_filters)).
//!
//! If boxes are added and removed, [`Slots`](crate::step::Slots) maintains the lists, with a
//! [`BoxFilter`](crate::step::BoxFilter) per box.
//!
//! Errors: [`Error::FilterLength`](crate::Error::FilterLength) if the length of a list differs from the box count,
//! [`Error::BadFilter`](crate::Error::BadFilter) with list, index and value if a value is invalid. Each list takes
//! memory on the device, per box: 4 bytes for numbers, a bit for flags, 24 bytes for margins or half-spaces, 16 for
//! spheres. The test of a found pair reads the lists in use.
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
