//! Tests the algorithms with which the laboratory compares broadsweep, against brute force.

mod baselines;
#[cfg(feature = "peers")]
mod peers;
mod steps;
mod sweeps;
