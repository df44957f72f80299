//! Queries of trees: answers compared with their definition in exact arithmetic, and between the two engines.

mod both;
mod cases;
mod exact;
mod filters;
mod half_space_order;
mod half_spaces;
#[path = "../common/numbers.rs"]
mod numbers;
mod oracle;
mod recorded;
mod round;
mod rounded;
mod shapes;
mod shared;
mod spheres;
mod start;
mod static_worlds;
#[path = "../common/touching.rs"]
mod touching;
mod trees;
