//! Queries of trees: answers compared with their definition in exact arithmetic, and between the two engines.

mod answers;
mod both;
mod calls;
mod cases;
#[path = "../common/mod.rs"]
mod common;
mod exact;
mod filters;
mod half_space_order;
mod half_spaces;
mod memory;
#[path = "../common/numbers.rs"]
mod numbers;
mod oracle;
mod ranked;
mod recorded;
mod recorded_errors;
mod recorded_lists;
mod round;
mod rounded;
mod shapes;
mod shared;
mod spheres;
mod start;
mod static_worlds;
mod together;
#[path = "../common/touching.rs"]
mod touching;
mod trees;
