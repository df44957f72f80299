//! Neighbours of points on all cores: sorts targets into cells, tests four targets at a time, and sorts each row.
//!
//! Coordinates are rounded, with error bounds. Pairs within the error bounds are decided exactly, from the caller's
//! numbers.

mod grid;
mod lanes;
mod scan;
mod sorted;

use rayon::prelude::*;

use crate::Error;
use crate::neighbours::rows::{ChunkRows, RowPlaces};
use crate::neighbours::search::{Search, Targets};
use crate::neighbours::{Coordinate, NeighbourOptions, NeighbourPairs, PointSet};
use grid::{Grid, SortScratch};
use lanes::{Lane, Limits};
use scan::Scan;
use sorted::SortedPlaces;

/// Queries per task of a thread.
const CHUNK: u32 = 1 << 12;

/// Finds each pair of points whose distance is at most `radius` once, on all cores of the CPU.
///
/// For more than one call, periodic cells, vectors or distances, use [`Neighbours`].
///
/// # Errors
/// The errors of [`Neighbours::find`].
///
/// ```
/// use broadsweep::{Pair, cpu};
///
/// let points = [[0.0, 0.0, 0.0], [3.0, 4.0, 0.0], [9.0, 9.0, 9.0]];
/// let found = cpu::find_neighbours(&points, 5.0_f32)?;
/// assert_eq!(found.pairs, [Pair { a: 0, b: 1 }]);
/// # Ok::<(), broadsweep::Error>(())
/// ```
pub fn find_neighbours<T: Coordinate>(points: &[[T; 3]], radius: T) -> Result<NeighbourPairs<T>, Error> {
    let mut neighbours = Neighbours::new(NeighbourOptions::new(radius));
    neighbours.find(points)?;
    Ok(neighbours.take())
}

/// Finds neighbours of points on the CPU. Reuse the value, since it reuses its memory.
///
/// ```
/// use broadsweep::neighbour::{NeighbourOptions, PeriodicCell};
/// use broadsweep::{Pair, cpu};
///
/// let cell = PeriodicCell::orthorhombic([10.0, 10.0, 10.0]);
/// let options = NeighbourOptions::new(1.0).with_cell(Some(cell)).with_vectors(true);
/// let mut neighbours = cpu::Neighbours::new(options);
/// let found = neighbours.find(&[[0.25, 5.0, 5.0], [9.75, 5.0, 5.0]])?;
/// assert_eq!(found.pairs, [Pair { a: 0, b: 1 }]);
/// assert_eq!((found.shifts[0], found.vectors[0]), ([-1, 0, 0], [-0.5, 0.0, 0.0]));
/// # Ok::<(), broadsweep::Error>(())
/// ```
#[derive(Debug)]
pub struct Neighbours<T = f32> {
    options: NeighbourOptions<T>,
    found: NeighbourPairs<T>,
    targets: Targets,
    scan: ScanMemory,
}

/// Memory of the search in cells.
#[derive(Debug, Default)]
struct ScanMemory {
    scratch: SortScratch,
    order: Vec<u32>,
    single: [SortedPlaces<f32>; 2],
    double: [SortedPlaces<f64>; 2],
    chunks: Vec<ChunkRows>,
    rows: RowPlaces,
}

impl<T: Coordinate> Neighbours<T> {
    /// Creates a search with these options.
    pub fn new(options: NeighbourOptions<T>) -> Self {
        Self { options, found: NeighbourPairs::default(), targets: Targets::default(), scan: ScanMemory::default() }
    }

    /// Returns the options.
    pub fn options(&self) -> &NeighbourOptions<T> {
        &self.options
    }

    /// Replaces the options, from the next call on.
    pub fn set_options(&mut self, options: NeighbourOptions<T>) {
        self.options = options;
    }

    /// Returns the result of the last call; empty after an error.
    pub fn found(&self) -> &NeighbourPairs<T> {
        &self.found
    }

    /// Moves the result of the last call out; empty after an error.
    pub fn take(&mut self) -> NeighbourPairs<T> {
        std::mem::take(&mut self.found)
    }

    /// Finds the pairs within one set of points.
    ///
    /// # Errors
    /// [`Error::BadOption`] if the radius is negative or not finite; [`Error::BadPoints`] if a list of the set has
    /// another length or an invalid value, or if a point is more than 2²⁹ cells from the origin; [`Error::BadCell`];
    /// [`Error::TooManyImages`]; [`Error::ListTooLong`].
    pub fn find<'a>(&mut self, points: impl Into<PointSet<'a, T>>) -> Result<&NeighbourPairs<T>, Error> {
        self.search(None, points.into())
    }

    /// Finds the pairs of a query and a point. Points have periodic images; queries have none.
    ///
    /// # Errors
    /// The errors of [`find`](Self::find).
    pub fn find_between<'a>(
        &mut self,
        queries: impl Into<PointSet<'a, T>>,
        points: impl Into<PointSet<'a, T>>,
    ) -> Result<&NeighbourPairs<T>, Error> {
        self.search(Some(queries.into()), points.into())
    }

    fn search(
        &mut self,
        queries: Option<PointSet<'_, T>>,
        points: PointSet<'_, T>,
    ) -> Result<&NeighbourPairs<T>, Error> {
        let Self { options, found, targets, scan } = self;
        found.clear();
        let search = targets.fill(options, queries, points)?;
        found.invalid_count = search.invalid_count();
        scan.find(&search, found).inspect_err(|_| found.clear())?;
        Ok(found)
    }
}

impl ScanMemory {
    /// Finds the pairs by cells.
    fn find<T: Coordinate>(&mut self, search: &Search<'_, T>, found: &mut NeighbourPairs<T>) -> Result<(), Error> {
        let Search { reach, ref errors, .. } = *search;
        let bounds = search.bounds();
        let mut limits = Limits::new(reach, &bounds, errors);
        if reach > search.radius {
            limits = limits.of_radii();
        }
        let wide = errors.iter().fold(reach, |wide, error| wide.max(reach + 2.0 * error));
        let grid = Grid::new(&bounds, wide, search.last_world(), || search.places());
        if limits.is_single {
            run(search, &grid, &limits, &mut self.single, (&mut self.scratch, &mut self.order), &mut self.chunks);
        } else {
            run(search, &grid, &limits, &mut self.double, (&mut self.scratch, &mut self.order), &mut self.chunks);
        }
        self.rows.write(search, &self.chunks, found)
    }
}

/// Sorts targets and queries into cells, and lists the targets of each query.
fn run<T: Coordinate, L: Lane>(
    search: &Search<'_, T>,
    grid: &Grid,
    limits: &Limits,
    [targets, queries]: &mut [SortedPlaces<L>; 2],
    (scratch, order): (&mut SortScratch, &mut Vec<u32>),
    chunks: &mut Vec<ChunkRows>,
) {
    targets.fill((grid, limits), search.finite_targets(), |target| search.target(target), (scratch, order));
    let queries = if search.is_within_one && search.images.is_identity() {
        &*targets
    } else {
        queries.fill((grid, limits), search.finite_queries(), |query| search.query(query), (scratch, order));
        &*queries
    };
    let scan = Scan { grid, queries, targets, limits, search };
    let ranges = queries.chunks(CHUNK);
    chunks.resize_with(ranges.len(), ChunkRows::default);
    chunks.par_iter_mut().zip(ranges).for_each(|(chunk, cells)| scan.run(cells, chunk));
}
