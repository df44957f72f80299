//! Follow steps: the pairs that are created, lost and persist from one step to the next.
//!
//! `find_events` of an engine takes a [`Step`](crate::Step), the boxes of now, and returns [`Events`](crate::Events) since the step before. If
//! boxes are inserted, removed or reordered between steps, [`Identity`] maps each box to its old index. `stream_events` hands lists that do not fit
//! over in [pieces](EventPiece); [`Recorder::record_events`](crate::Recorder::record_events) leaves the lists on the device.
//!
//! [`Slots`] handles boxes that come and go: each box has a [`Handle`], [filter values](BoxFilter), and a slot whose index it keeps.
//!
//! Errors: [`Error::BadStep`](crate::Error::BadStep) if the identities do not fit the boxes; the refused step does not count. Cost: on the CPU,
//! time grows with the boxes that moved, on a GPU a step is a search; [`StepReport`] has the work of each step, and the
//! [reason](SearchReason) why all boxes were searched.
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
