//! The built binary, from its arguments to its files and exit codes.

mod arrays;
#[cfg(feature = "bench")]
mod bench;
#[cfg(feature = "bench")]
mod bench_frames;
#[cfg(feature = "bench")]
mod bench_queries;
mod commands;
mod doctor;
mod engines;
mod frames;
mod join;
mod memory;
mod mujoco;
#[cfg(not(feature = "bench"))]
mod no_bench;
mod npz;
mod output;
#[cfg_attr(not(feature = "bench"), allow(dead_code, reason = "the tests of the benchmark use more of it"))]
mod place;
mod queries;
#[cfg(feature = "bench")]
mod usscd;
#[cfg(feature = "bench")]
mod worlds;
