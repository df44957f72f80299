//! Finds events from step to step: the pairs that are created, lost or persist.
//!
//! `find_events` of an engine takes a [`Step`](crate::Step), the current boxes, and returns the
//! [`Events`](crate::Events) since the last step. If boxes are inserted, removed or reordered between steps,
//! [`Identity`] maps each box to its old index. `stream_events` returns long lists in [pieces](EventPiece).
//! [`Recorder::record_events`](crate::Recorder::record_events) writes the lists to buffers of the device.
//!
//! [`Slots`] is a list of boxes with insertion and removal: each box has a [`Handle`], [filter values](BoxFilter), and
//! a slot with a constant index.
//!
//! Errors: [`Error::BadStep`](crate::Error::BadStep) if the identities do not fit the boxes. After an error, the last
//! step is still the last successful step. Cost: on the CPU, time grows with the count of moved boxes; on a GPU, each
//! step is a search. [`StepReport`] has the work of each step, and the [reason](SearchReason) if all boxes were
//! searched.
//!
//! ```
//! use broadsweep::{Aabb, Error, Options, Pair, cpu};
//!
//! # fn main() -> Result<(), Error> {
//! let mut engine = cpu::BroadPhase::new(Options::default())?;
//! let mut boxes = [Aabb::new([0.0; 3], [1.0; 3]), Aabb::new([0.5; 3], [2.0; 3])];
//! assert_eq!(engine.find_events(&boxes)?.created, [Pair { a: 0, b: 1 }]);
//! boxes[1] = Aabb::new([5.0; 3], [6.0; 3]);
//! assert_eq!(engine.find_events(&boxes)?.lost, [Pair { a: 0, b: 1 }]);
//! # Ok(())
//! # }
//! ```

pub use crate::engine::HasFilters;
pub use crate::events::{EventPiece, Identity, Places, SearchReason, StepReport, StepWork};
pub use crate::filters::BoxFilter;
pub use crate::slots::{Handle, Slots};
