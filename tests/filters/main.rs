//! Filters: what both engines find with them, against a plain double loop with the same rule.

#[path = "../common/mod.rs"]
mod common;

mod changes;
mod each;
mod engines;
mod errors;
mod frames;
mod inputs;
mod lists;
mod memory;
mod rule;
mod worlds;
