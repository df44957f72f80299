//! The pairs of a step at a cost that follows what moves: the stage `epoch`, on the GPU.
//!
//! An epoch begins with a search of boxes that are grown outward, whose pairs are kept. As long as a box stays within its grown
//! box, its pairs are among those, and only tested again. A box that leaves is grown anew where it is, and searched together with
//! the boxes that it may meet: those in cells that it marks. The kept pairs of boxes that left are replaced by those found. So the
//! kept pairs are always those of all grown boxes, and the pairs of a step are those of them that overlap now. When many leave at
//! once, or boxes move too fast, boxes are searched as they are. Every choice is made on the device.
//!
//! | file | does |
//! |---|---|
//! | `buffers` | what is kept from step to step |
//! | `kernels` | the kernels of the stage, in the order in which they run |
//!
//! Sources: those of the epochs of the CPU engine (`cpu/engine/steps/epoch.rs`).

pub mod buffers;
mod kernels;

pub use self::kernels::{
    APART, BEGIN, BETWEEN, CHECK, COUNT, DECIDE, EpochKernels, GATHER, GROW, HEADER, Inputs, JOIN, KERNELS, LIST, LOOK,
    MARK, MERGE, PART, PLACE, PUT, SCAN, SELECT, TAKE, TALLY, TEST, TURN,
};
