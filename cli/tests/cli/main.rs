//! The built binary, from its arguments to its files and exit codes.

mod bench;
mod commands;
mod memory;
mod mujoco;
mod npz;
mod output;
mod place;
mod usscd;
mod worlds;
