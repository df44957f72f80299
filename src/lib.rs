//! broadsweep
#![forbid(unsafe_code)]
#![warn(missing_docs)]

mod aabb;
mod broad_phase;
pub mod constants;
pub mod cpu;
mod error;
pub mod gpu;
mod memory;
mod options;
pub mod scenes;
pub mod stages;

pub use aabb::{Aabb, Pair};
pub use broad_phase::{BroadPhase, GpuPairs};
pub use error::Error;
pub use gpu::Gpu;
pub use memory::MemoryPlan;
pub use options::{CellSize, Options, Overlaps, PairOrder, Report, SweepAxis};
pub use stages::layout::PairHeader;

pub use glam;
pub use wgpu;
