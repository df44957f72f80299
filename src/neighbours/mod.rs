//! Neighbours of points: the input and result of a search, its targets, and the exact decision of a pair; shared by
//! both engines.

pub mod accumulator;
pub mod coordinate;
pub mod displacement;
pub mod images;
pub mod lattice;
pub mod options;
pub mod pairs;
pub mod points;
pub mod rows;
pub mod search;

pub use coordinate::Coordinate;
pub use lattice::Lattice;
pub use options::{NeighbourOptions, PeriodicCell};
pub use pairs::NeighbourPairs;
pub use points::PointSet;
