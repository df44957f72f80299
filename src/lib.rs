//! Every overlapping pair among millions of axis-aligned boxes, on the GPU.
//!
//! Boxes go in, 24 bytes each, from host memory or from a GPU buffer; every pair of boxes that overlap comes out
//! once, in host memory or in a GPU buffer. Between them run WGSL kernels through [`wgpu`], on any adapter with
//! compute shaders. **The set of pairs is that of the double loop over the input, bit for bit**, whatever the
//! boxes, the adapter and the options: nothing is lost when a buffer is full, and touching counts.
//!
//! ```no_run
//! use broadsweep::{Aabb, BroadPhase, Gpu, Options, Pair};
//!
//! # fn main() -> Result<(), broadsweep::Error> {
//! let gpu = Gpu::headless()?;
//! let mut broad_phase = BroadPhase::new(&gpu, Options::default())?;
//! let boxes = [Aabb::new([0.0; 3], [1.0; 3]), Aabb::new([1.0; 3], [2.0; 3]), Aabb::new([3.0; 3], [4.0; 3])];
//! assert_eq!(broad_phase.find_pairs(&boxes)?.pairs, [Pair { a: 0, b: 1 }]);
//! # Ok(())
//! # }
//! ```
//!
//! # The flow
//! | stage | what it does |
//! |---|---|
//! | [`prepare`](stages::prepare) | boxes with margins and half-spaces as they are searched, where there are any |
//! | [`pca`](stages::pca) | two reductions over the finite boxes: bounds, then sums of centroids, of their products and of edges |
//! | [`frame`](stages::frame) | eigenvectors of the covariance, the sweep axis, the cell size, the sort key |
//! | [`bin`](stages::bin) | the cells of each box in the plane across the sweep axis, and an entry for each of them |
//! | [`sort`](stages::sort) | a radix sort of the entries by cell and start |
//! | [`rank`](stages::rank) | where each entry's interval ends among the sorted starts |
//! | [`sweep`](stages::sweep) | the exact test of every two entries of a cell whose intervals meet, evenly divided; and the [`Filters`] for those that pass |
//! | [`giants`](stages::giants) | boxes that are unbounded or in too many cells, against all boxes |
//! | [`emit`](stages::emit) | the compacted pairs, any range of them, as often as asked |
//! | [`order`](stages::order) | the pairs sorted by `(a, b)`, where asked for |
//! | [`small`](stages::small) | in place of all these, where boxes are few: every box against every other |
//!
//! [`BroadPhase`] is the flow on one screen. Each stage is a file in [`stages`] with its kernels in `shaders/` and
//! its mirror on plain slices in [`cpu`]; [`cpu::BroadPhase`] is the same flow on all cores, for machines without a GPU,
//! and [`cpu::brute_force`] is what both are compared with.
//!
//! # Which pairs are wanted
//! [`Filters`] say it by groups, bodies, worlds, and lists of pairs, and hold what boxes are not: margins and half-spaces.
//! They are given once ([`BroadPhase::set_filters`], [`cpu::BroadPhase::set_filters`]) and applied where pairs are found.
//!
//! # What any input gets
//! A box with a NaN, or with `min > max`, pairs with nothing and is named in the [`Report`]. Infinite bounds are
//! exact. −0 equals 0, denormals are told apart, boxes without extent are boxes. What does not fit is refused
//! before any work with an [`Error`] that names what was asked and what there is.

#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod aabb;
mod broad_phase;
pub mod constants;
pub mod cpu;
mod error;
mod filters;
pub mod gpu;
mod memory;
mod merge;
mod options;
pub mod stages;
mod workspace;

pub use aabb::{Aabb, Pair};
pub use broad_phase::{BroadPhase, GpuPairs};
pub use error::Error;
pub use filters::{Attribute, ByWorld, Filters, HalfSpace, Rule};
pub use gpu::Gpu;
pub use memory::MemoryPlan;
pub use options::{CellSize, Options, Overlaps, PairOrder, Report, SweepAxis};
pub use stages::layout::PairHeader;
pub use stages::sort::SortVariant;

pub use glam;
pub use wgpu;

/// What the tests, the laboratory and the binary need of the inside. Not for others: it changes without notice.
#[doc(hidden)]
pub mod internals {
    pub use crate::{constants, cpu, gpu, stages};
}

/// What the README shows compiles and holds.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
