//! What every measurement has in common: a call and its time, medians, hashes of pairs, the kernels' times, CSV.

pub mod contestant;
pub mod csv;
pub mod hash;
pub mod kernels;
pub mod time;
