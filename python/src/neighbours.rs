//! Neighbours of points.

use broadsweep::neighbour::{Coordinate, NeighbourOptions, NeighbourPairs, PeriodicCell, PointSet};
use broadsweep::{Neighbours, cpu};
use bytemuck::Pod;
use numpy::{Element, PyArray1, PyArray2, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;

use crate::arrays::{copy, list, one_column, pairs, rows, three_columns};
use crate::devices::Device;
use crate::errors::exception;
use crate::running::{self, SHORT};

/// Points of a call: positions, radii and worlds.
type Points<'py, T> = (PyReadonlyArray2<'py, T>, Option<PyReadonlyArray1<'py, T>>, Option<PyReadonlyArray1<'py, u32>>);

/// The options of a call.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Search<T> {
    radius: T,
    cell: Option<[[T; 3]; 3]>,
    periodic: [bool; 3],
    both_directions: bool,
    self_images: bool,
    vectors: bool,
    squared_distances: bool,
}

/// The answer: pairs, offsets, shifts, vectors, squared distances, and how many points are not finite.
type Found<'py, T> = (
    Bound<'py, PyArray2<u32>>,
    Bound<'py, PyArray1<u64>>,
    Bound<'py, PyArray2<i32>>,
    Bound<'py, PyArray2<T>>,
    Bound<'py, PyArray1<T>>,
    u64,
);

/// Points, copied, so that Ctrl-C can abandon the call.
struct OwnPoints<T> {
    positions: Vec<[T; 3]>,
    radii: Vec<T>,
    worlds: Vec<u32>,
}

/// Finds neighbours of points in single precision: within `sets[0]`, or between it and `sets[1]`.
#[pyfunction]
pub fn find_neighbours_f32<'py>(
    py: Python<'py>,
    sets: Vec<Points<'py, f32>>,
    search: Search<f32>,
    device: &str,
    threads: Option<usize>,
) -> PyResult<Found<'py, f32>> {
    find(py, &sets, search, device, threads)
}

/// Finds neighbours of points in double precision, as [`find_neighbours_f32`].
#[pyfunction]
pub fn find_neighbours_f64<'py>(
    py: Python<'py>,
    sets: Vec<Points<'py, f64>>,
    search: Search<f64>,
    device: &str,
    threads: Option<usize>,
) -> PyResult<Found<'py, f64>> {
    find(py, &sets, search, device, threads)
}

/// Finds the neighbours of one set, or between two, and returns what is found.
macro_rules! found_by {
    ($engine:expr, $sets:expr) => {{
        let mut engine = $engine;
        match $sets {
            [queries, points] => engine.find_between(queries, points).map(drop)?,
            one => one.iter().try_for_each(|points| engine.find(points).map(drop))?,
        }
        Ok(engine.take())
    }};
}

fn find<'py, T: Coordinate + Element + Pod>(
    py: Python<'py>,
    sets: &[Points<'py, T>],
    search: Search<T>,
    device: &str,
    threads: Option<usize>,
) -> PyResult<Found<'py, T>> {
    let sets = sets.iter().map(OwnPoints::new).collect::<PyResult<Vec<_>>>()?;
    // The host decides each pair, also for a GPU, which nobody has seen to be faster.
    let device = Device::named(py, if device == "auto" { "cpu" } else { device })?;
    let options = search.options();
    let pool = running::pool(threads)?;
    let count: usize = sets.iter().map(|set| set.positions.len()).sum();
    let call = move || {
        pool.install(|| match device {
            Device::Cpu(_) => found_by!(cpu::Neighbours::new(options), &sets[..]),
            Device::Gpu(gpu) => found_by!(Neighbours::new(&gpu, options)?, &sets[..]),
        })
    };
    let found = if count <= SHORT { running::run(py, call) } else { running::run_apart(py, call) }?;
    answer(py, found)
}

fn answer<T: Element>(py: Python<'_>, found: NeighbourPairs<T>) -> PyResult<Found<'_, T>> {
    Ok((
        pairs(py, found.pairs)?,
        one_column(py, found.offsets),
        three_columns(py, found.shifts)?,
        three_columns(py, found.vectors)?,
        one_column(py, found.squared_distances),
        found.invalid_count,
    ))
}

impl<T: Coordinate> Search<T> {
    fn options(&self) -> NeighbourOptions<T> {
        let cell = self.cell.map(|vectors| PeriodicCell::new(vectors).with_periodic(self.periodic));
        NeighbourOptions::new(self.radius)
            .with_cell(cell)
            .with_both_directions(self.both_directions)
            .with_self_images(self.self_images)
            .with_vectors(self.vectors)
            .with_squared_distances(self.squared_distances)
    }
}

impl<T: Coordinate + Element + Pod> OwnPoints<T> {
    fn new((positions, radii, worlds): &Points<'_, T>) -> PyResult<Self> {
        let positions: &[[T; 3]] = bytemuck::cast_slice(rows(positions, 3)?);
        let positions = copy(positions, "the points").map_err(|error| exception(&error))?;
        Ok(Self { positions, radii: list(radii.as_ref())?, worlds: list(worlds.as_ref())? })
    }
}

impl<'a, T> From<&'a OwnPoints<T>> for PointSet<'a, T> {
    fn from(own: &'a OwnPoints<T>) -> Self {
        Self::new(&own.positions).with_radii(&own.radii).with_worlds(&own.worlds)
    }
}
