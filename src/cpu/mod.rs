//! Finds pairs and answers queries on all cores of the CPU, with the options, filters, pairs and answers of the GPU
//! engine.
//!
//! [`BroadPhase`] finds pairs and events, and reuses its memory from call to call. [`find_pairs`] creates an engine for
//! a single call. [`Tree`] answers [queries](crate::query). [`brute_force`] has the plain loops, to check a result.
//! [`Engine`](crate::Engine) and [`QueryEngine`](crate::QueryEngine) are the calls that both engines share.
//!
//! Units: any, but the same for all boxes. Results have the units of the input. Reports equal the reports of a GPU,
//! except for rounding and for joins of two sets; see [`Report`](crate::Report).
//!
//! Errors: [`Error::TooManyBoxes`] beyond 2²⁵ boxes, [`Error::TooManyCandidates`], [`Error::BadOption`],
//! [`Error::FilterLength`] and [`Error::BadFilter`]. If memory is exhausted: [`Error::ListTooLong`] or
//! [`Error::OutOfMemory`], not an abort. After an error, the engine can be used again.
//!
//! Cost: a call blocks, and uses the threads of the caller's [`rayon`](https://docs.rs/rayon) pool. A call that needs
//! no more memory than earlier calls allocates no lists. The cost of a [step](crate::step) grows with the count of
//! moved boxes. [`Options::memory_budget`] is ignored.
//!
//! ```
//! use broadsweep::{Aabb, Error, Options, Pair, cpu};
//!
//! # fn main() -> Result<(), Error> {
//! let mut engine = cpu::BroadPhase::new(Options::default())?;
//! let mut boxes = [Aabb::new([0.0; 3], [1.0; 3]), Aabb::new([1.0; 3], [2.0; 3])];
//! assert_eq!(engine.find_pairs(&boxes)?.pairs, [Pair { a: 0, b: 1 }]);
//! boxes[1] = Aabb::new([3.0; 3], [4.0; 3]);
//! assert!(engine.find_pairs(&boxes)?.pairs.is_empty()); // in the same memory
//! # Ok(())
//! # }
//! ```

// engine/ has the engine. mirror/ has a file per stage and a function per kernel, which returns the result of the
// kernel. Kernels that only write the hits of `sweep_test` share its mirror. mirror/reference chains the mirrors on one
// thread, for readers and tests. brute_pairs and brute_queries are the oracles; brute_force publishes them.
pub mod brute_force;
pub(crate) mod brute_pairs;
pub(crate) mod brute_queries;
pub(crate) mod call;
pub(crate) mod engine;
pub(crate) mod mirror;
mod neighbours;
mod radix;
mod tree;

pub use engine::BroadPhase;
pub use neighbours::{Neighbours, find_neighbours};
pub use tree::Tree;

use crate::{Aabb, Error, Options, Overlaps};

/// Finds each overlapping pair of `boxes` once, on all cores of the CPU.
///
/// `options.memory_budget` concerns GPU memory and is ignored. Up to `options.all_pairs_up_to` boxes (1,024 if `None`),
/// every box is tested against every other box, as on the GPU. For more than one call, reuse a [`BroadPhase`].
///
/// # Errors
/// [`Error::BadOption`], [`Error::TooManyBoxes`] beyond 2²⁵ boxes, [`Error::TooManyCandidates`],
/// [`Error::ListTooLong`].
///
/// ```
/// use broadsweep::{Aabb, Options, Pair, cpu};
///
/// let boxes = [Aabb::new([0.0; 3], [1.0; 3]), Aabb::new([1.0; 3], [2.0; 3]), Aabb::new([3.0; 3], [4.0; 3])];
/// let overlaps = cpu::find_pairs(&boxes, &Options::default()).unwrap();
/// assert_eq!(overlaps.pairs, [Pair { a: 0, b: 1 }]);
/// ```
pub fn find_pairs(boxes: &[Aabb], options: &Options) -> Result<Overlaps, Error> {
    let mut broad_phase = BroadPhase::new(*options)?;
    broad_phase.find_pairs(boxes)?;
    Ok(broad_phase.take_overlaps())
}
