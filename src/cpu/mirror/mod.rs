//! The stages on plain slices: a file per stage, a function per kernel.

pub mod bin;
pub mod emit;
pub mod events;
pub mod exclude;
pub mod frame;
pub mod giants;
pub mod neighbours;
pub mod order;
pub mod pca;
pub mod prepare;
pub mod query;
pub mod rank;
pub mod reference;
pub mod small;
pub mod sort;
pub mod sweep;
pub mod tree;
