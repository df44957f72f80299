//! Finds points within a radius of each other, also in a periodic cell.
//!
//! [`cpu::find_neighbours`](crate::cpu::find_neighbours) is the short form. [`cpu::Neighbours`](crate::cpu::Neighbours)
//! has [`NeighbourOptions`], and reuses its memory. `Neighbours` at the root of the crate has the same calls on a GPU,
//! and returns the same bytes.
//!
//! | call | pairs |
//! |---|---|
//! | [`find`](crate::cpu::Neighbours::find) | of points of one set, each once or in both directions |
//! | [`find_between`](crate::cpu::Neighbours::find_between) | of a query and a point |
//! | `Recorder::record` with `record::GpuInput` | of points or spheres in a GPU buffer, each once |
//! | `Recorder::record_neighbours` | the same pairs, in both directions |
//!
//! # Which pairs
//! Points i and j are a pair with shift S if |x_j + S·cell − x_i| ≤ radius + r_i + r_j. The comparison of the caller's
//! numbers, `f32` or `f64`, is exact: without rounding, overflow or underflow. S counts lattice vectors, the rows of
//! [`PeriodicCell::vectors`]; without a cell it is 0. A point and its own images (S is not 0) are pairs only if
//! [`self_images`](NeighbourOptions::self_images) is set. Pairs ascend by (i, j, S).
//!
//! Coordinates, radii and cell have the same unit. Points need not lie in the cell; shifts refer to the unwrapped
//! coordinates. The radius may exceed the cell; then a pair of points is listed once per image within the radius.
//! Directions that are not periodic have a shift of 0, and their lattice vectors are ignored.
//!
//! [`PointSet`] adds a radius and a world per point. Worlds are for many small systems in one call: points of different
//! worlds are never a pair. All worlds have the same cell.
//!
//! # Results
//! [`NeighbourPairs`] has the pairs and the begin of the pairs of each i. If requested, it also has vectors and
//! squared distances (the exact square, rounded down). The bytes do not depend on the thread count.
//!
//! # Errors
//! No pair is lost without an error. A point with a NaN or an infinite coordinate has no neighbours, and is counted.
//!
//! - [`BadOption`](crate::Error::BadOption): the radius is negative or not finite.
//! - [`BadPoints`](crate::Error::BadPoints): a list has another length, a radius or a world is invalid, or a point is
//!   more than 2²⁹ cells from the origin.
//! - [`BadCell`](crate::Error::BadCell): the periodic vectors are linearly dependent or not finite.
//! - [`TooManyImages`](crate::Error::TooManyImages): there are more than 2²⁷ images or 2²⁴ shifts within the radius, or
//!   the product of the point count and the shift count exceeds 2.1·10⁹. For this product, the shift count is rounded
//!   up to a power of two. The most points are 66 million with 27 shifts, and 16 million with 125.
//! - [`ListTooLong`](crate::Error::ListTooLong): there is no memory for the pairs.
//!
//! # Cost
//! On the CPU, time grows with the count of points, images and pairs, for any distribution of points. But a single
//! large radius among many small radii makes the search slow, since the largest reach determines the size of all search
//! cells. Memory per point: 36 bytes, 20 more with a periodic cell, and 12 more if some point is not in the cell; 24
//! per image. Memory per pair: 12 bytes, 12 more for the shift, 12 or 24 for the vector, 4 or 8 for the squared
//! distance.
//!
//! On a GPU, each point and image takes 40 bytes more on the host. The device needs the memory of a search of boxes
//! with spheres. If points are so close, relative to the size of the scene, that they round to the same `f32`
//! position, all their pairs are candidates. The time is quadratic in the count of such points.
//!
//! ```
//! use broadsweep::neighbour::{NeighbourOptions, PeriodicCell, PointSet};
//! use broadsweep::{Error, Pair, cpu};
//!
//! # fn main() -> Result<(), Error> {
//! // Two atoms in a body-centred cubic cell: each has 8 neighbours, all of them images of the other one.
//! let atoms = [[0.0, 0.0, 0.0], [1.435, 1.435, 1.435]];
//! let cell = PeriodicCell::orthorhombic([2.87, 2.87, 2.87]);
//! let options = NeighbourOptions::new(2.5).with_cell(Some(cell)).with_both_directions(true).with_squared_distances(true);
//! let mut neighbours = cpu::Neighbours::<f64>::new(options);
//! let found = neighbours.find(&atoms)?;
//! assert_eq!((found.row(0), found.row(1)), (0..8, 8..16));
//! assert_eq!((found.pairs[0], found.shifts[0]), (Pair { a: 0, b: 1 }, [-1, -1, -1]));
//!
//! // The same atoms as two systems of their own.
//! neighbours.set_options(NeighbourOptions::new(2.5));
//! assert!(neighbours.find(PointSet::new(&atoms).with_worlds(&[0, 1]))?.pairs.is_empty());
//! # Ok(())
//! # }
//! ```

pub use crate::neighbours::{Coordinate, NeighbourOptions, NeighbourPairs, PeriodicCell, PointSet};
