//! CPU.
pub mod brute_force;
