//! Predictions of what each kernel takes on GPUs that have not been measured.
//!
//! [`cost`] says what a call costs: operations, accesses to memory and round trips, counted by an interpreter of the
//! kernels. [`gpu`] says what a GPU does in a second, as ranges. [`predict()`] makes a range of times of both. The
//! sources of the assumptions are in `docs/model.md`; a measurement corrects them.

pub mod cost;
pub mod gpu;
mod predict;

pub use predict::{Call, Predicted, floor, predict, predict_kernel};
