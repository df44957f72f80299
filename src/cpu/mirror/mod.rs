//! The stages on plain slices: one file and one function for each kernel.

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
