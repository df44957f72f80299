//! Finds every overlapping pair among millions of axis-aligned boxes, on the GPU or on all cores of a CPU.
//!
//! Boxes go in, 24 bytes each, from host memory or from a GPU buffer; every pair of boxes that overlap comes out
//! once, in host memory or in a GPU buffer. Between them run WGSL kernels through [wgpu](https://docs.rs/wgpu), on any adapter with
//! compute shaders. **The set of pairs is that of the double loop over the input, bit for bit**, whatever the
//! boxes, the adapter and the options. Boxes that touch overlap. A list that is too short is never cut without notice.
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
//! # Guides
//! | task | module |
//! |---|---|
//! | query a tree with rays, shapes and points | [`query`] |
//! | choose which pairs are wanted | [`filter`] |
//! | follow pairs from step to step | [`step`] |
//! | find points within a radius, also in a periodic cell | [`neighbour`] |
//! | leave boxes and pairs in GPU buffers | [`record`](mod@record) |
//! | share a device, compile ahead, plan memory | [`device`] |
//! | read the buffers in WGSL | [`wgsl`] |
//! | do without a GPU, or check a result | [`cpu`] |
//!
//! # Two engines
//! [`BroadPhase`] is the engine on a GPU, [`cpu::BroadPhase`] the engine on all cores of a CPU. Both sweep the same grid; the CPU engine
//! also uses trees, and caches pairs from step to step. A [`Recorder`] takes boxes from a GPU buffer and leaves the pairs in one, in the caller's command
//! encoder. [`Engine`] is what both engines have in common: the same options, filters and pairs. The GPU engine is
//! behind the feature `gpu`, which is on by default; a program that wants the CPU engine alone, and not to compile
//! wgpu, turns it off.
//!
//! ARCHITECTURE.md, docs/exactness.md and docs/decisions.md of the repository explain how the crate works, why nothing is
//! lost, and what was measured.
//!
//! # Filters
//! [`Filters`] select pairs by groups, bodies, worlds, and lists of pairs, and add properties that boxes do not have: margins and
//! half-spaces. Filters are set once ([`BroadPhase::set_filters`], [`cpu::BroadPhase::set_filters`]) and applied
//! where pairs are found.
//!
//! # Features
//! | feature | default | adds |
//! |---|---|---|
//! | `gpu` | yes | the engine on a GPU, with wgpu |
//! | `serde` | no | `Serialize` and `Deserialize` for boxes, pairs, queries, options, filters, answers and reports |
//!
//! Fields that a stored option, filter or report lacks get their default. Unknown options and filters are an error. Reports and bounds may be
//! infinite, which JSON cannot express: use a format that can, such as postcard or RON.
//!
//! # Any input
//! A box with a NaN, or with `min > max`, pairs with nothing and is named in the [`Report`]. Infinite bounds are exact.
//! −0 equals 0, denormals are distinguished, boxes without volume are boxes. A call that does not fit is refused before
//! any work with an [`Error`] that names the request and the limit.

#![forbid(unsafe_code)]
#![warn(missing_debug_implementations, missing_docs)]

mod base;
#[cfg(feature = "gpu")]
mod broad_phase;
pub mod cpu;
#[cfg(feature = "gpu")]
pub mod device;
mod engine;
mod events;
pub mod filter;
mod filters;
#[cfg(feature = "gpu")]
mod gpu;
#[cfg(feature = "gpu")]
mod grid;
#[doc(hidden)]
pub mod internals;
#[cfg(feature = "gpu")]
mod kernels;
#[cfg(feature = "gpu")]
mod memory;
pub mod neighbour;
mod neighbours;
#[cfg(feature = "gpu")]
mod pairs;
mod queries;
pub mod query;
#[cfg(feature = "gpu")]
pub mod record;
#[cfg(feature = "gpu")]
mod recorder;
mod slots;
pub mod step;
#[cfg(feature = "gpu")]
mod tree;
#[cfg(feature = "gpu")]
pub mod wgsl;

pub use base::aabb::{Aabb, Pair};
pub use base::error::{Cause, Error};
pub use base::id_pair::IdPair;
pub use base::options::{CellSize, Options, PairOrder, SweepAxis};
pub use base::report::{Overlaps, Report};
#[cfg(all(feature = "gpu", not(target_arch = "wasm32")))]
pub use broad_phase::Neighbours;
pub use engine::{AnyEngine, AnyTree, Engine, QueryEngine};
pub use events::{Events, Step};
pub use filters::Filters;
pub use queries::{Answers, Hit, Lists, Ray};
#[cfg(feature = "gpu")]
pub use {
    broad_phase::{BroadPhase, Submissions},
    gpu::Gpu,
    recorder::Recorder,
    tree::{Tree, TreeRecorder},
    wgpu,
};

// Inside the crate, items of the modules for callers have a short path too.
#[cfg(feature = "gpu")]
pub(crate) use {device::*, record::*};
pub(crate) use {filter::*, query::*, step::*};

/// Tests that the Rust code of the README and of the guide compiles and holds.
#[cfg(all(doctest, feature = "gpu"))]
mod documents {
    macro_rules! documents {
        ($($name:ident: $path:literal,)*) => { $(#[doc = include_str!($path)] struct $name;)* };
    }
    documents! {
        Readme: "../README.md",
        Engines: "../docs/guide/src/engines.md",
        Events: "../docs/guide/src/events.md",
        Filters: "../docs/guide/src/filters.md",
        GettingStarted: "../docs/guide/src/getting-started.md",
        Migrating: "../docs/guide/src/migrating.md",
        Neighbours: "../docs/guide/src/neighbours.md",
        Queries: "../docs/guide/src/queries.md",
        Renderer: "../docs/guide/src/renderer.md",
        StaticWorlds: "../docs/guide/src/static-worlds.md",
        Worlds: "../docs/guide/src/worlds.md",
    }
}
