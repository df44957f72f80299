//! Finds every overlapping pair among millions of axis-aligned boxes, on the GPU or on all cores of a CPU.
//!
//! The input is boxes of 24 bytes each, in host memory or in a GPU buffer. The output is each overlapping pair once, in
//! host memory or in a GPU buffer. On a GPU, WGSL kernels run through [wgpu](https://docs.rs/wgpu), on any adapter with
//! compute shaders. **The set of pairs equals the result of a double loop over the input, bit for bit**, for all boxes,
//! adapters and options. Boxes that touch overlap. No list is cut without notice.
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
//! | select the reported pairs | [`filter`] |
//! | follow pairs from step to step | [`step`] |
//! | find points within a radius, also in a periodic cell | [`neighbour`] |
//! | keep boxes and pairs in GPU buffers | [`record`](mod@record) |
//! | share a device, compile ahead, plan memory | [`device`] |
//! | read the buffers in WGSL | [`wgsl`] |
//! | search without a GPU, or check a result | [`cpu`] |
//!
//! # Two engines
//! [`BroadPhase`] is the engine on a GPU, [`cpu::BroadPhase`] the engine on all cores of a CPU. Both sweep the same
//! grid; the CPU engine also uses trees, and caches pairs from step to step. A [`Recorder`] records searches into the
//! caller's command encoder, from a GPU buffer of boxes to a GPU buffer of pairs. [`Engine`] is the trait of both
//! engines, with the same options, filters and pairs. The GPU engine needs the feature `gpu`, which is on by default.
//! To use only the CPU engine, and not compile wgpu, turn this feature off.
//!
//! ARCHITECTURE.md, docs/exactness.md and docs/decisions.md of the repository explain how the crate works, why no pair
//! is lost, and the measurements behind each decision.
//!
//! # Filters
//! [`Filters`] select pairs by groups, bodies, worlds, and lists of pairs, and add margins, spheres and half-spaces to
//! boxes. Filters are set once ([`BroadPhase::set_filters`], [`cpu::BroadPhase::set_filters`]) and applied during the
//! search.
//!
//! # Features
//! | feature | default | adds |
//! |---|---|---|
//! | `gpu` | yes | the engine on a GPU, with wgpu |
//! | `serde` | no | `Serialize` and `Deserialize` for boxes, pairs, queries, options, filters, answers and reports |
//!
//! Missing fields of options, filters and reports get their defaults. Unknown options and filters are an error. Reports
//! and bounds may have infinite values, which JSON does not support; use a format that does, such as postcard or RON.
//!
//! # Any input
//! A box with a NaN, or with `min > max`, overlaps nothing and is listed in the [`Report`]. Infinite bounds are exact.
//! −0 equals 0, denormals are not treated as 0, and boxes without volume are valid. A call that does not fit returns an
//! [`Error`] with the request and the limit, before any work.

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

// Inside the crate, items of the public modules have a short path too.
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
