//! Records searches and queries into the caller's command encoder: boxes, queries and answers stay in GPU buffers.
//!
//! [`Recorder`](crate::Recorder) records steps, and searches for pairs of boxes, points or spheres ([`GpuInput`]).
//! [`TreeRecorder`](crate::TreeRecorder) records builds, refits and queries of a tree. Each call returns references to
//! buffers: [`GpuPairs`], [`GpuEvents`], [`GpuNeighbours`], [`GpuAnswers`], [`GpuLists`]. Nothing is submitted or read
//! back. The next recording overwrites the buffers. The compiler checks that no result is used after the next
//! recording, but it cannot check cloned buffers.
//!
//! Counts are in headers ([`PairHeader`], [`QueryHeader`]). The count is exact even if a list is too short.
//! [`PairArguments`] are the arguments of an indirect dispatch and of indirect draws over a list.
//! [`Recorder::statistics`](crate::Recorder::statistics) returns the results that have reached the host, usually some
//! frames later. [`wgsl`](crate::wgsl) has the declarations of these structures for kernels of the caller.
//!
//! Units and layout: a box has 24 bytes as [`Aabb`](crate::Aabb), a point or a sphere 16, a pair 8 as
//! [`Pair`](crate::Pair), little-endian. Errors: [`Error::BadBuffer`](crate::Error::BadBuffer) names the buffer and the
//! rule. Cost: 15 dispatches for a search (23 with the portable sort), 2 for up to
//! [`Options::all_pairs_up_to`](crate::Options::all_pairs_up_to) boxes.
//!
//! ```no_run
//! use broadsweep::record::GpuPairs;
//! use broadsweep::{Error, Recorder, wgpu};
//!
//! /// Draws the pairs of boxes in a buffer, with `Options::vertices_per_pair` vertices for each pair.
//! fn record<'a>(
//!     recorder: &mut Recorder, // with Options::vertices_per_pair of the shader
//!     encoder: &mut wgpu::CommandEncoder,
//!     (boxes, box_count): (&wgpu::Buffer, u32),
//!     descriptor: &wgpu::RenderPassDescriptor<'a>,
//! ) -> Result<(), Error> {
//!     let pairs = recorder.record(encoder, boxes.slice(..), box_count)?;
//!     let mut pass = encoder.begin_render_pass(descriptor);
//!     // ... set a pipeline that reads `pairs.pairs` by instance index ...
//!     pass.draw_indirect(pairs.arguments, GpuPairs::DRAW_OFFSET);
//!     Ok(())
//! }
//! ```

pub use crate::base::layout::{PairArguments, PairHeader, QueryHeader};
pub use crate::filters::GpuAttribute;
pub use crate::pairs::{GpuEvents, GpuIdentity, GpuPairs};
pub use crate::recorder::{GpuCount, GpuInput, GpuNeighbours, RecordingStatistics};
pub use crate::tree::{GpuAnswers, GpuBatch, GpuConvex, GpuLists, GpuQuery, GpuShape};
