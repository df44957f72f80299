//! Find points within a radius of each other, also in a periodic cell.
//!
//! [`cpu::find_neighbours`](crate::cpu::find_neighbours) is the short form. [`cpu::Neighbours`](crate::cpu::Neighbours) reuses its memory from
//! call to call and takes [`NeighbourOptions`]. `Neighbours` at the root of the crate has the same calls on a GPU, and returns the same bytes.
//!
//! | call | pairs |
//! |---|---|
//! | [`find`](crate::cpu::Neighbours::find) | of points of one set, each once or in both directions |
//! | [`find_between`](crate::cpu::Neighbours::find_between) | of a query and a point |
//! | `Recorder::record` with `record::GpuInput` | of points or spheres in a GPU buffer, each once, left on the device; `record_neighbours` lists both directions |
//!
//! # Which pairs
//! Points i and j are a pair with shift S if |x_j + S·cell − x_i| ≤ radius + r_i + r_j. The numbers are those of the caller, `f32` or `f64`, and
//! the comparison is exact: without rounding, overflow or underflow. S counts lattice vectors, the rows of [`PeriodicCell::vectors`]; without a
//! cell it is 0. A point is a pair with its own image only if S is not 0, and only if [`self_images`](NeighbourOptions::self_images) is
//! set. Pairs ascend by (i, j, S).
//!
//! Coordinates, radii and cell have the same unit. Points need not lie in the cell: shifts belong to the coordinates as they are. The radius may
//! exceed the cell; a pair of points is then listed once for each image in reach. Directions that are not periodic have a shift of 0, and their
//! lattice vectors are ignored.
//!
//! [`PointSet`] adds to points a radius each, and a world each, for many small systems in one call: points of different worlds are no pairs.
//! All worlds have one cell.
//!
//! # Results
//! [`NeighbourPairs`] holds pairs and the place where those of each i begin; if requested, also vectors, and squared distances, which are exact
//! and rounded down. The number of threads changes no bit of them.
//!
//! # Errors
//! No pair is lost in silence. [`BadOption`](crate::Error::BadOption) is a radius that is negative or not finite;
//! [`BadPoints`](crate::Error::BadPoints) a list of another length, a bad radius or world, or a point more than 2²⁹ cells from the origin;
//! [`BadCell`](crate::Error::BadCell) a cell whose periodic vectors are linearly dependent or not finite;
//! [`TooManyImages`](crate::Error::TooManyImages) a radius that reaches more than 2²⁷ images or 2²⁴ shifts, or points times shifts, rounded up to a
//! power of two, above 2.1·10⁹: 66 million points with 27 shifts, 16 million with 125;
//! [`ListTooLong`](crate::Error::ListTooLong) more pairs than memory. A point with a NaN or an infinite coordinate has no neighbours and is
//! counted.
//!
//! # Cost
//! On the CPU, time grows with the number of points, images and pairs, wherever the points lie. Radii of points are an exception: cells have the size
//! of the largest reach, so that one large radius among many small ones makes the search slow. Memory: 36 bytes per point, 20 more with a periodic
//! cell, 12 more if some point is not in it, 24 per image, and 12 per pair; 12 more per pair for its shift, 12 or 24 for its vector, 4 or 8 for its
//! squared distance.
//!
//! On a GPU, points and images take 40 bytes more on the host, and the memory of a search of boxes with spheres on the device. Points that `f32`
//! cannot distinguish, relative to the extent of the scene, are all candidates of each other there: the search is then quadratic in them.
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
