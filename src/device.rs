//! The device: a [`Gpu`](crate::Gpu) holds it, and engines and trees share it. This module also compiles kernels ahead
//! of the first call, times kernels, and plans memory.
//!
//! [`Gpu::headless`](crate::Gpu::headless) opens a device, [`Gpu::from_device`](crate::Gpu::from_device) uses the
//! device of a renderer. Clones share kernels, which are compiled once. `compile_ahead` of an engine returns a
//! [`Compilation`]: start it, load the scene, then wait. [`MemoryPlan`] lists every buffer of a search with its bytes
//! before anything is allocated.
//!
//! ```no_run
//! use broadsweep::{BroadPhase, Error, Gpu, Options};
//!
//! # fn main() -> Result<(), Error> {
//! let gpu = Gpu::headless()?;
//! let broad_phase = BroadPhase::new(&gpu, Options::default())?;
//! let compilation = broad_phase.compile_ahead(100_000);
//! println!("{} bytes for 100,000 boxes", broad_phase.memory_plan(100_000)?.total());
//! compilation.wait()?;
//! # Ok(())
//! # }
//! ```

pub use crate::gpu::compilation::{Compilation, CompilationProgress};
pub use crate::gpu::timing::KernelTime;
pub use crate::gpu::{DispatchCount, SortVariant};
pub use crate::memory::MemoryPlan;
pub use crate::tree::TreeMemoryPlan;
