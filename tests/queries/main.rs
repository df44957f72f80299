//! Queries of trees against what they are defined to answer, in exact arithmetic.

mod cases;
mod exact;
mod filters;
mod oracle;
mod shapes;
mod trees;
