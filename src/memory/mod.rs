//! GPU memory: the [plan](MemoryPlan) of a call, and the [allocated buffers](Workspace).

mod call;
mod lengthen;
mod limits;
mod plan;
mod pool;
mod submission_buffers;
mod workspace;

pub(crate) use call::Call;
pub use plan::MemoryPlan;
pub(crate) use pool::Lease;
pub(crate) use submission_buffers::{FRAME_OFFSET, SUMMARY_BYTES, Staging, SubmissionBoxes};
pub(crate) use workspace::{MOST_IN_FLIGHT, PIECES_AT_ONCE, Results, Workspace};
