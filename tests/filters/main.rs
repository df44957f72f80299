//! Filters: what both engines find with them, against a plain double loop with the same rule.

#[path = "../common/mod.rs"]
mod common;

#[path = "../common/filter_cases.rs"]
mod filter_cases;

#[path = "../common/touching.rs"]
mod touching;

mod arithmetic;
mod changes;
mod cpu_engine;
mod each;
mod engines;
mod errors;
mod inputs;
mod joins;
mod lists;
mod memory;
mod on_device;
mod owner;
mod rule;
mod sets;
mod spheres;
mod submissions;
mod worlds;
