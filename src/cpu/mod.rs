//! The engine for machines without a GPU: the same method on all cores, with the same options, filters and pairs.
//!
//! [`BroadPhase`] reuses its memory from call to call; [`find_pairs`] is one call of it. Its report equals the GPU's, except for
//! rounding, and for joins of two sets, which a GPU sweeps; see [`Report`](crate::Report).

// engine/ is that engine. mirror/ has a file for each stage and a function for each kernel, with the result of the kernel and
// not its schedule; the kernels that only write what `sweep_test` found have none. mirror/reference chains them on one
// thread, for readers and for the tests of both engines. brute_force is the oracle.
pub(crate) mod brute_force;
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

/// Finds every pair of `boxes` that overlaps, each once, on all cores of the CPU.
///
/// `options.memory_budget` concerns GPU memory and is ignored. Up to `options.all_pairs_up_to` boxes (1,024 if `None`),
/// every two boxes are tested, as on the GPU. A program that calls more than once should reuse a [`BroadPhase`].
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
