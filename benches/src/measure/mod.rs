//! The parts that all measurements share: a call and its time, medians, hashes of pairs, the kernels' times, CSV.

pub mod contestant;
pub mod csv;
pub mod hash;
pub mod kernels;
pub mod time;
