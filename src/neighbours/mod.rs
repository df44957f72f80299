//! Neighbours of points: what a search takes and returns, and the exact decision of a pair. Shared by all engines.

pub mod accumulator;
pub mod coordinate;
pub mod displacement;
pub mod lattice;
pub mod options;
pub mod pairs;
pub mod points;

pub use coordinate::Coordinate;
pub use lattice::Lattice;
pub use options::{NeighbourOptions, PeriodicCell};
pub use pairs::NeighbourPairs;
pub use points::PointSet;
