//! The engine for machines without a GPU, the mirrors of the stages on plain slices by which it is read and tested, and
//! the oracle.
//!
//! - [`BroadPhase`] is the engine: the flow on all cores, with memory that it keeps from call to call; [`find_pairs`]
//!   is a single call of it. The engine has the options and the answer of the GPU, and the report of the GPU as well,
//!   except for what rounding decides; see [`Report`](crate::Report).
//! - Each kernel has a mirror: one file for each stage, one function for each kernel. A mirror has the result of its
//!   kernel, not its schedule: [`mirror::sweep::test`] gives the pairs themselves, so the kernels that only write what
//!   `sweep_test` found have none. [`mirror::reference`] chains the mirrors on one thread.
//! - [`brute_force`] is the oracle.

pub mod brute_force;
mod call;
mod engine;
pub mod mirror;

pub use engine::BroadPhase;

use crate::{Aabb, Error, Options, Overlaps};

/// Finds every pair of `boxes` that overlaps, each once, on all cores of the CPU.
///
/// `options.memory_budget` concerns GPU memory and is not looked at. Up to `options.all_pairs_up_to` boxes, every two
/// boxes are tested, as on the GPU. A program that calls more than once keeps a [`BroadPhase`].
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
