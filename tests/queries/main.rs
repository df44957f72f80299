//! Queries of trees against what they are defined to answer, in exact arithmetic, and of the two engines against each other.

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
