//! What the laboratory compares broadsweep with, against brute force.

mod baselines;
mod frames;
#[cfg(feature = "peers")]
mod peers;
mod sweeps;
