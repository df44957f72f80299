//! Finds neighbours of points on a GPU: [`Neighbours`]. Points become spheres in `f32`, rounded outward, with their
//! boxes. The pairs of the broad phase are candidates. The host decides each candidate exactly, from the caller's
//! numbers.

use rayon::prelude::*;

use super::BroadPhase;
use crate::base::reserve::reserve;
use crate::filters::{NO_SPHERE, padded, sphere_from_f64};
use crate::gpu::Gpu;
use crate::neighbours::rows::{ChunkRows, RowPlaces};
use crate::neighbours::search::{Search, Targets};
use crate::neighbours::{Coordinate, NeighbourOptions, NeighbourPairs, PointSet};
use crate::{Aabb, Error, Filters, Options, Pair, PairOrder};

/// Finds neighbours of points on a GPU, with points and pairs in host memory. Reuse the value, since it reuses its
/// memory.
///
/// The calls are the same as in [`cpu::Neighbours`](crate::cpu::Neighbours), and return the same bytes. The GPU
/// searches in `f32`, rounded outward, and the host decides each candidate. Two points that are so close,
/// relative to the size of the scene, that they round to the same `f32` position are candidates of each other. So small
/// clusters in a large `f64` scene take longer than on the CPU.
///
/// A [`Recorder`](crate::Recorder) reads points from a GPU buffer and writes pairs to a GPU buffer.
///
/// ```no_run
/// use broadsweep::neighbour::{NeighbourOptions, PeriodicCell};
/// use broadsweep::{Gpu, Neighbours, Pair};
///
/// # fn main() -> Result<(), broadsweep::Error> {
/// let cell = PeriodicCell::orthorhombic([10.0, 10.0, 10.0]);
/// let options = NeighbourOptions::new(1.0).with_cell(Some(cell));
/// let mut neighbours = Neighbours::new(&Gpu::headless()?, options)?;
/// let found = neighbours.find(&[[0.25, 5.0, 5.0], [9.75, 5.0, 5.0]])?;
/// assert_eq!((found.pairs[0], found.shifts[0]), (Pair { a: 0, b: 1 }, [-1, 0, 0]));
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Neighbours<T = f32> {
    broad_phase: BroadPhase,
    options: NeighbourOptions<T>,
    found: NeighbourPairs<T>,
    targets: Targets,
    boxes: Vec<Aabb>,
    hits: Vec<Hit>,
    chunks: Vec<ChunkRows>,
    rows: RowPlaces,
}

/// A query, and a target within its radius.
type Hit = (u32, u32);

/// The count of targets at which a chunk of rows is full.
const CHUNK: usize = 1 << 16;

impl<T: Coordinate> Neighbours<T> {
    /// Creates a search on this device with these options. Allocates and compiles nothing.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`].
    pub fn new(gpu: &Gpu, options: NeighbourOptions<T>) -> Result<Self, Error> {
        Ok(Self {
            broad_phase: BroadPhase::new(gpu, Options::new().with_order(PairOrder::Canonical))?,
            options,
            found: NeighbourPairs::default(),
            targets: Targets::default(),
            boxes: Vec::new(),
            hits: Vec::new(),
            chunks: Vec::new(),
            rows: RowPlaces::default(),
        })
    }

    /// Returns the options.
    pub fn options(&self) -> &NeighbourOptions<T> {
        &self.options
    }

    /// Replaces the options, from the next call on.
    pub fn set_options(&mut self, options: NeighbourOptions<T>) {
        self.options = options;
    }

    /// Returns the result of the last call; empty before the first call and after an error.
    pub fn found(&self) -> &NeighbourPairs<T> {
        &self.found
    }

    /// Moves the result of the last call out; empty after an error.
    pub fn take(&mut self) -> NeighbourPairs<T> {
        std::mem::take(&mut self.found)
    }

    /// Finds the pairs within one set of points. **Blocks** until the result is complete.
    ///
    /// # Errors
    /// The errors of [`cpu::Neighbours::find`](crate::cpu::Neighbours::find) and of
    /// [`BroadPhase::find_pairs`](crate::BroadPhase::find_pairs).
    pub fn find<'a>(&mut self, points: impl Into<PointSet<'a, T>>) -> Result<&NeighbourPairs<T>, Error> {
        self.search(None, points.into())
    }

    /// Finds the pairs of a query and a point. Points have periodic images; queries have none. **Blocks** until the
    /// result is complete.
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
        let Self { broad_phase, options, found, targets, boxes, hits, chunks, rows } = self;
        found.clear();
        let search = &targets.fill(options, queries, points)?;
        broad_phase.set_filters(filters(search, boxes)?)?;
        hits.clear();
        broad_phase.stream_pairs(boxes, |_, piece| {
            reserve(hits, 2 * piece.len() as u64)?;
            hits.par_extend(piece.par_iter().flat_map_iter(|pair| hits_of(search, *pair)));
            Ok::<(), Error>(())
        })?;
        // Hits from pairs in canonical order are already sorted, unless there are images or both directions are listed.
        hits.par_sort_unstable();
        fill_chunks(hits, chunks);
        found.invalid_count = search.invalid_count();
        rows.write(search, chunks, found).inspect_err(|_| found.clear())?;
        Ok(found)
    }
}

/// Lists the boxes of a search: all targets, then all queries if these are a separate set. Returns the filters of the
/// search.
///
/// # Errors
/// [`Error::OutOfMemory`], [`Error::ListTooLong`].
fn filters<T: Coordinate>(search: &Search<'_, T>, boxes: &mut Vec<Aabb>) -> Result<Filters, Error> {
    let (target_count, images) = (search.images.count(), search.images);
    let query_count = if search.is_within_one { 0 } else { search.queries.set.positions.len() as u32 };
    let frame = Frame::new(search);
    let of_target = |k: u32| {
        let target = images.target(k);
        let (point, _) = images.owner(target);
        frame.sphere(&search.target(target).0, search.points.set.radius(point as usize))
    };
    let of_query = |query: u32| frame.sphere(&search.query(query).0, search.queries.set.radius(query as usize));
    let count = u64::from(target_count) + u64::from(query_count);
    let mut spheres = Vec::new();
    boxes.clear();
    reserve(&mut spheres, count)?;
    reserve(boxes, count)?;
    let targets = (0..target_count).into_par_iter().map(of_target);
    targets.chain((0..query_count).into_par_iter().map(of_query)).unzip_into_vecs(boxes, &mut spheres);
    let mut filters = Filters::default().with_sphere(spheres);
    if !(search.points.set.worlds.is_empty() && search.queries.set.worlds.is_empty()) {
        let worlds = images.targets().map(|target| search.target(target).1);
        filters.world = worlds.chain((0..query_count).map(|query| search.query(query).1)).collect();
    }
    if !search.is_within_one {
        filters.second = (0..target_count + query_count).map(|index| index >= target_count).collect();
    } else if !images.is_identity() {
        // Two images must not be a pair. So mark all images as fixed, since two fixed boxes are never a pair.
        filters.fixed = images.targets().map(|target| images.own(images.owner(target).0) != target).collect();
    }
    Ok(filters)
}

/// Decides exactly whether the points of a pair of boxes are neighbours. Returns the hits: none, one, or one per
/// direction.
fn hits_of<T: Coordinate>(search: &Search<'_, T>, pair: Pair) -> impl Iterator<Item = Hit> {
    let images = search.images;
    let hits = if search.is_within_one {
        let [a, b] = [pair.a, pair.b].map(|k| images.target(k));
        [(a, b), (b, a)].map(|(own, target)| {
            let (query, _) = images.owner(own);
            (images.own(query) == own).then_some((query, target))
        })
    } else {
        [Some((pair.b - images.count(), images.target(pair.a))), None]
    };
    hits.into_iter().flatten().filter(|&(query, target)| {
        let excluded = search.exclusion(query);
        target >= excluded.first && !excluded.removed.contains(&target) && search.is_within(query, target)
    })
}

/// Divides sorted hits into chunks of rows.
fn fill_chunks(hits: &[Hit], chunks: &mut Vec<ChunkRows>) {
    chunks.clear();
    for row in hits.chunk_by(|a, b| a.0 == b.0) {
        if chunks.last().is_none_or(|chunk| chunk.targets.len() >= CHUNK) {
            chunks.push(ChunkRows::default());
        }
        if let Some(chunk) = chunks.last_mut() {
            chunk.rows.push((row[0].0, row.len() as u32));
            chunk.targets.extend(row.iter().map(|hit| hit.1));
        }
    }
}

/// The transform from the caller's coordinates to `f32`.
#[derive(Clone, Copy, Debug)]
struct Frame {
    /// The middle of the scene along each axis; 0 if the middle is near 0, so that small coordinates keep their
    /// precision.
    center: [f64; 3],
    /// Factor from the caller's units to `f32`: a power of two, so that no square of a coordinate or radius overflows.
    scale: f64,
    /// Half of the radius of the options, scaled, plus the error of coordinates.
    radius: f64,
}

/// Scaled numbers are below 2 to this power. Kernels that compare spheres in `f32` need numbers below 2⁶⁰. The
/// remaining factor of 2⁴ covers sums, and coordinates that are not centred.
const MOST_SCALED: i32 = 56;
/// An upper bound of the relative error of a radius in `f64`.
const RADIUS_ERROR: f64 = 1.0 / (1u64 << 48) as f64;
/// An upper bound of the error of scaled numbers by underflow. It is less than the smallest `f32`.
const UNDERFLOW: f64 = 1e-300;

impl Frame {
    fn new<T: Coordinate>(search: &Search<'_, T>) -> Self {
        let bounds = search.bounds();
        let mut largest = search.radius.max(search.queries.largest_radius()).max(search.points.largest_radius());
        let center = std::array::from_fn(|k| {
            let [low, high] = [0.5 * bounds[0][k], 0.5 * bounds[1][k]];
            let (middle, half) = (low + high, high - low);
            let is_near = middle.abs() <= 4.0 * half;
            largest = largest.max(if is_near { middle.abs() + half } else { half });
            if is_near { 0.0 } else { middle }
        });
        // The exponent of the largest number; 0 and subnormal numbers have the least exponent.
        let exponent = (largest.to_bits() >> 52 & 0x7ff) as i32 - 1023;
        let scale = f64::from_bits((((MOST_SCALED - exponent).min(1023) + 1023) as u64) << 52);
        let error: f64 = search.errors.iter().sum();
        Self { center, scale, radius: 0.5 * search.radius * scale + error * scale }
    }

    /// Returns the box and the sphere of a point in `f32`, rounded outward. A point that is not finite has an invalid
    /// box.
    fn sphere(&self, place: &[f64; 3], radius: f64) -> (Aabb, [f32; 4]) {
        if !place.iter().all(|x| x.is_finite()) {
            return (Aabb::new([f32::NAN; 3], [f32::NAN; 3]), NO_SPHERE);
        }
        let scaled: [f64; 3] = std::array::from_fn(|k| (place[k] - self.center[k]) * self.scale);
        // This sum bounds the rounding error: half a unit in the last place of each coordinate.
        let rounding = scaled.iter().map(|x| x.abs()).sum::<f64>() * f64::EPSILON;
        let radius = (radius * self.scale + self.radius + rounding) * (1.0 + RADIUS_ERROR) + UNDERFLOW;
        let sphere @ [x, y, z, radius] = sphere_from_f64(scaled, radius);
        (padded(&Aabb::new([x, y, z], [x, y, z]), radius), sphere)
    }
}
