//! What the laboratory compares broadsweep with, against brute force.

mod baselines;
#[cfg(feature = "peers")]
mod peers;
mod steps;
mod sweeps;
