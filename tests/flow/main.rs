//! The whole flow on the GPU, and both engines against each other and against brute force. One test binary: kernels
//! take seconds to compile on some adapters, and all its tests share a device.

#[path = "../common/mod.rs"]
mod common;

mod broad_phase;
mod capacity;
mod counted;
mod determinism;
mod headers;
mod neighbours;
mod points;
mod recorder;
mod regressions;
mod slabs;
mod sort_variants;
mod startup;
mod streams;
mod submissions;
