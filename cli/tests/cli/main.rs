//! The built binary, from its arguments to its files and exit codes.

mod bench;
mod commands;
mod mujoco;
mod npz;
mod place;
mod usscd;
mod worlds;
