//! A uniform grid that rays walk through, cell by cell: the partition of space that a tree of boxes is compared with.
//!
//! Sources: Amanatides and Woo 1987, "A fast voxel traversal algorithm for ray tracing", for the walk; Cleary and
//! Wyvill 1988, "Analysis of an algorithm for fast ray tracing using uniform space subdivision", for a count of cells
//! proportional to the count of boxes; Amanatides and Woo for testing a box once although it is in several cells, here
//! by a small table of recently tested boxes.
//!
//! Cells share only the boxes that reach into several, and come in the order of the ray: **nothing behind the first hit
//! is visited**. This is the claimed advantage of partitions of space over trees of boxes.
//!
//! * Two axes or one are cut where the scene is flat or a line. Where large boxes would fill the grid with entries, its
//!   cells are larger. Boxes that are unbounded or in very many cells are in no cell, and every ray tests them.
//! * **The answers are those of a loop over all boxes** with the arithmetic of [`slabs`](super::slabs). The path
//!   through the cells rounds in its own way. So a box is also in the cells that it almost touches, and a ray from so
//!   far away that this is not enough tests all boxes.

use std::ops::ControlFlow;

use super::slabs::{Hit, Slabs};
use broadsweep::{Aabb, Ray};

/// Cells for each box. More means fewer tests and more steps.
const CELLS_PER_BOX: f64 = 1.0;
/// The most cells of a grid, 4 bytes each.
const MOST_CELLS: f64 = 6.7e7;
/// The most cells that a box is in; one that would be in more is tested by every ray.
const MOST_CELLS_OF_BOX: u64 = 1 << 12;
/// The most entries for each box, on average, before cells are made larger.
const MOST_ENTRIES_PER_BOX: u64 = 16;
/// How far from a cell a box may be and be in it, in cells: far more than the walk rounds by.
const SLACK: f64 = 1e-6;
/// Cells from the origin of a ray to the grid, above which the walk may round by more than the slack.
const MOST_CELLS_AWAY: f64 = 1e8;
/// Boxes that are remembered as tested; a power of two.
const REMEMBERED: usize = 32;
/// No box.
const NONE: u32 = u32::MAX;

/// Where cells are: `counts` cells along each axis, from `low` on.
#[derive(Clone, Copy, Debug, Default)]
struct Cells {
    low: [f64; 3],
    /// The lengths of a cell's edges.
    edges: [f64; 3],
    counts: [u32; 3],
}

impl Cells {
    /// Divides a box into about this many cells, as much like cubes as it goes.
    fn new(bounds: &Aabb, count: f64) -> Self {
        let extent: [f64; 3] = std::array::from_fn(|k| f64::from(bounds.max[k]) - f64::from(bounds.min[k]));
        let mut is_cut = extent.map(|length| length > 0.0);
        let mut edge = 0.0;
        // An axis along which there is less than a cell is not cut, and the others are cut more.
        while is_cut.contains(&true) {
            let lengths = (0..3).filter(|&k| is_cut[k]).map(|k| extent[k]);
            let axes = lengths.clone().count() as f64;
            edge = lengths.map(|length| length.powf(1.0 / axes)).product::<f64>() / count.powf(1.0 / axes);
            let stays: [bool; 3] = std::array::from_fn(|k| is_cut[k] && extent[k] >= edge);
            if stays == is_cut {
                break;
            }
            is_cut = stays;
        }
        let counts: [u32; 3] = std::array::from_fn(|k| if is_cut[k] { (extent[k] / edge).ceil() as u32 } else { 1 });
        // A flat grid has a thickness all the same.
        let length = |k: usize| if extent[k] > 0.0 { extent[k] } else { 1.0 };
        let edges = std::array::from_fn(|k| length(k) / f64::from(counts[k]));
        Self { low: bounds.min.map(f64::from), edges, counts }
    }

    /// Returns the cell of a place along an axis, the first or last one for places outside.
    fn at(&self, k: usize, place: f64) -> u32 {
        // Negative numbers become 0.
        (place as u32).min(self.counts[k] - 1)
    }

    /// Returns the first and the last cell that a box is in along an axis.
    fn range(&self, k: usize, aabb: &Aabb) -> [u32; 2] {
        let place = |x: f32| (f64::from(x) - self.low[k]) / self.edges[k];
        [self.at(k, place(aabb.min[k]) - SLACK), self.at(k, place(aabb.max[k]) + SLACK)]
    }

    /// Counts the cells that a box is in.
    fn count_of(&self, aabb: &Aabb) -> u64 {
        (0..3).map(|k| self.range(k, aabb)).map(|[first, last]| u64::from(last - first + 1)).product()
    }

    /// Visits the cells that a box is in.
    fn each_of(&self, aabb: &Aabb, mut visit: impl FnMut(usize)) {
        let [x, y, z] = [0, 1, 2].map(|k| self.range(k, aabb));
        for z in z[0]..=z[1] {
            for y in y[0]..=y[1] {
                (x[0]..=x[1]).for_each(|x| visit(self.number([x, y, z])));
            }
        }
    }

    fn number(&self, [x, y, z]: [u32; 3]) -> usize {
        let [width, height, _] = self.counts.map(|count| count as usize);
        (z as usize * height + y as usize) * width + x as usize
    }

    fn count(&self) -> usize {
        self.counts.iter().map(|&count| count as usize).product()
    }
}

/// A uniform grid of boxes.
///
/// ```
/// use broadsweep::{Aabb, Ray};
/// use laboratory::baselines::ray_grid::RayGrid;
///
/// let unit = |x: f32| Aabb::new([x, 0.0, 0.0], [x + 1.0, 1.0, 1.0]);
/// let grid = RayGrid::build(&[unit(3.0), unit(6.0)]);
/// let ray = Ray::new([0.0, 0.5, 0.5], [2.0, 0.0, 0.0]);
/// let hit = grid.nearest_hit(&ray).unwrap();
/// assert_eq!((hit.index, hit.t), (0, 1.5));
/// assert_eq!(grid.all_hits(&ray).len(), 2);
/// ```
#[derive(Clone, Debug, Default)]
pub struct RayGrid {
    boxes: Vec<Aabb>,
    /// Bounds of all boxes that are in cells; invalid where there is none.
    bounds: Option<Aabb>,
    cells: Cells,
    /// `[cells + 1]` where the boxes of each cell begin.
    starts: Vec<u32>,
    /// The boxes of all cells, ascending in each.
    entries: Vec<u32>,
    /// The boxes that are in no cell.
    giants: Vec<u32>,
}

impl RayGrid {
    /// Builds the grid of all valid boxes, which are named by their indices.
    pub fn build(boxes: &[Aabb]) -> Self {
        Self::with_cells(boxes, CELLS_PER_BOX)
    }

    /// Builds a grid of about this many cells for each box.
    fn with_cells(boxes: &[Aabb], cells_per_box: f64) -> Self {
        let is_bounded = |aabb: &Aabb| aabb.min.iter().chain(&aabb.max).all(|x| x.is_finite());
        let valid = || (0..).zip(boxes).filter(|(_, aabb)| aabb.is_valid());
        let bounded: Vec<u32> = valid().filter(|(_, aabb)| is_bounded(aabb)).map(|(id, _)| id).collect();
        let giants = valid().filter(|(_, aabb)| !is_bounded(aabb)).map(|(id, _)| id).collect();
        let mut grid = Self { boxes: boxes.to_vec(), giants, ..Self::default() };
        let of = |&id: &u32| &boxes[id as usize];
        let Some(bounds) = bounded.iter().map(of).copied().reduce(|a, b| super::aabb_tree::union(&a, &b)) else {
            return grid;
        };
        let mut count = (cells_per_box * bounded.len() as f64).clamp(1.0, MOST_CELLS);
        let most = MOST_ENTRIES_PER_BOX * bounded.len() as u64;
        loop {
            grid.cells = Cells::new(&bounds, count);
            let counts = bounded.iter().map(|id| grid.cells.count_of(of(id)));
            if count <= 1.0 || counts.filter(|&count| count <= MOST_CELLS_OF_BOX).sum::<u64>() <= most {
                break;
            }
            count /= 8.0;
        }
        let (inside, giants): (Vec<u32>, Vec<u32>) =
            bounded.iter().partition(|id| grid.cells.count_of(of(id)) <= MOST_CELLS_OF_BOX);
        grid.bounds = Some(bounds);
        grid.giants.extend(giants);
        grid.fill(&inside);
        grid
    }

    /// Puts these boxes into their cells.
    fn fill(&mut self, ids: &[u32]) {
        let Self { boxes, cells, starts, entries, .. } = self;
        starts.resize(cells.count() + 1, 0);
        for &id in ids {
            cells.each_of(&boxes[id as usize], |cell| starts[cell + 1] += 1);
        }
        for cell in 1..starts.len() {
            starts[cell] += starts[cell - 1];
        }
        entries.resize(starts.last().map_or(0, |&end| end as usize), 0);
        let mut next = starts.clone();
        for &id in ids {
            cells.each_of(&boxes[id as usize], |cell| {
                entries[next[cell] as usize] = id;
                next[cell] += 1;
            });
        }
    }

    /// Counts the bytes of memory held, without the boxes.
    pub fn bytes(&self) -> u64 {
        ((self.starts.capacity() + self.entries.capacity() + self.giants.capacity()) * size_of::<u32>()) as u64
    }

    /// Finds the first box that a ray hits: by `t`, then by index.
    pub fn nearest_hit(&self, ray: &Ray) -> Option<Hit> {
        let slabs = Slabs::new(ray)?;
        let mut best: Option<Hit> = None;
        self.walk(&slabs, |ids, end, tested| {
            for &id in ids {
                if tested.is_new(id)
                    && let Some(t) = slabs.entry(&self.boxes[id as usize])
                {
                    let hit = Hit { index: id, t };
                    best = Some(hit).filter(|hit| best.is_none_or(|best| hit.is_before(&best))).or(best);
                }
            }
            // All boxes that are entered before this cell ends are in this cell or in one before.
            if best.is_some_and(|best| best.t < end) { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        best
    }

    /// Finds all boxes that a ray hits, ascending by index.
    pub fn all_hits(&self, ray: &Ray) -> Vec<Hit> {
        let Some(slabs) = Slabs::new(ray) else { return Vec::new() };
        let mut hits = Vec::new();
        self.walk(&slabs, |ids, _, tested| {
            let hit = |&index: &u32| Some(Hit { index, t: slabs.entry(&self.boxes[index as usize])? });
            hits.extend(ids.iter().filter(|&&id| tested.is_new(id)).filter_map(hit));
            ControlFlow::Continue(())
        });
        // A box whose test is no longer remembered is tested again, so it may be listed twice.
        hits.sort_unstable_by_key(|hit| hit.index);
        hits.dedup_by_key(|hit| hit.index);
        hits
    }

    /// Finds whether a ray hits a box.
    pub fn any_hit(&self, ray: &Ray) -> bool {
        let Some(slabs) = Slabs::new(ray) else { return false };
        let mut is_hit = false;
        self.walk(&slabs, |ids, _, tested| {
            let hits = |&id: &u32| tested.is_new(id) && slabs.entry(&self.boxes[id as usize]).is_some();
            is_hit = ids.iter().any(hits);
            if is_hit { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        is_hit
    }

    /// Visits the boxes that are in no cell, and then those of each cell that a ray passes through, in the order of the
    /// ray, each time with the `t` at which the cell ends, until it is told to break off.
    #[inline(always)]
    fn walk(&self, ray: &Slabs, mut visit: impl FnMut(&[u32], f64, &mut Tested) -> ControlFlow<()>) {
        let mut tested = Tested([NONE; REMEMBERED]);
        let inside = self.bounds.and_then(|bounds| ray.entry(&bounds));
        // A hit before the grid leaves nothing else to be found.
        if visit(&self.giants, inside.unwrap_or(f64::INFINITY), &mut tested).is_break() {
            return;
        }
        let Some(start) = inside else { return };
        let Cells { low, edges, counts } = self.cells;
        let is_far = (0..3).any(|k| {
            let away = (ray.origin[k] - low[k]).abs() + (start * ray.direction[k]).abs();
            away / edges[k] > MOST_CELLS_AWAY
        });
        if is_far {
            for id in (0..).zip(&self.boxes).filter(|(_, aabb)| aabb.is_valid()).map(|(id, _)| id) {
                // Nothing comes after these, and each of them has to be looked at.
                if visit(&[id], f64::NEG_INFINITY, &mut tested).is_break() {
                    return;
                }
            }
            return;
        }
        // From here on, the origin of coordinates is the corner of the grid.
        let origin: [f64; 3] = std::array::from_fn(|k| ray.origin[k] - low[k]);
        let mut cell: [u32; 3] =
            std::array::from_fn(|k| self.cells.at(k, (origin[k] + start * ray.direction[k]) / edges[k]));
        // When the ray leaves its cell along an axis.
        let leave = |k: usize, cell: u32| match ray.inverse[k] {
            0.0 => f64::INFINITY,
            inverse => (f64::from(cell + u32::from(inverse > 0.0)) * edges[k] - origin[k]) * inverse,
        };
        let mut ends: [f64; 3] = std::array::from_fn(|k| leave(k, cell[k]));
        loop {
            let xy = usize::from(ends[1] < ends[0]);
            let k = if ends[2] < ends[xy] { 2 } else { xy };
            let number = self.cells.number(cell);
            let [first, last] = [self.starts[number], self.starts[number + 1]].map(|at| at as usize);
            if first < last && visit(&self.entries[first..last], ends[k], &mut tested).is_break() || ends[k] > ray.limit
            {
                return;
            }
            // Out of the grid, or on for ever in this cell.
            let is_last = if ray.inverse[k] > 0.0 { cell[k] + 1 == counts[k] } else { cell[k] == 0 };
            if is_last || ends[k] == f64::INFINITY {
                return;
            }
            cell[k] = if ray.inverse[k] > 0.0 { cell[k] + 1 } else { cell[k] - 1 };
            ends[k] = leave(k, cell[k]);
        }
    }
}

/// The boxes that a ray tested lately.
struct Tested([u32; REMEMBERED]);

impl Tested {
    /// Returns whether a box is not known to be tested, and remembers it.
    #[inline]
    fn is_new(&mut self, id: u32) -> bool {
        std::mem::replace(&mut self.0[id as usize % REMEMBERED], id) != id
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::baselines::slabs::loops;
    use crate::scenes::Kind;
    use crate::scenes::queries::RayKind;

    /// Checks all three questions against these hits.
    fn check(grid: &RayGrid, ray: &Ray, hits: &[Hit], what: &str) {
        assert_eq!(grid.nearest_hit(ray), loops::first(hits), "{what}: {ray:?}");
        assert_eq!(grid.any_hit(ray), !hits.is_empty(), "{what}: {ray:?}");
        assert_eq!(grid.all_hits(ray), hits, "{what}: {ray:?}");
    }

    #[test]
    fn rays_of_every_kind_through_every_scene_hit_what_a_loop_hits() {
        for kind in Kind::ALL {
            let boxes = kind.generate(700, 3);
            let grids = [0.01, 1.0, 30.0].map(|cells| RayGrid::with_cells(&boxes, cells));
            let mut hit_count = 0;
            for rays in RayKind::ALL {
                for ray in rays.generate(100, 5, &boxes) {
                    let hits = loops::all_hits(&boxes, &ray);
                    hit_count += hits.len();
                    grids.iter().for_each(|grid| check(grid, &ray, &hits, kind.name()));
                }
            }
            // From box to box, where a scene is so thin that rays from anywhere miss it.
            let valid: Vec<&Aabb> = boxes.iter().filter(|aabb| aabb.is_valid()).collect();
            for (i, from) in valid.iter().enumerate().take(100) {
                let to = valid[(7 * i + 3) % valid.len()];
                let along: [f32; 3] =
                    std::array::from_fn(|k| if (i >> k) & 1 == 0 { 0.0 } else { to.max[k] - from.min[k] });
                for ray in [Ray::new(from.min, along), Ray::segment(from.max, [0.0, 0.0, -1.0], 0.5)] {
                    let hits = loops::all_hits(&boxes, &ray);
                    hit_count += hits.len();
                    grids.iter().for_each(|grid| check(grid, &ray, &hits, kind.name()));
                }
            }
            assert!(hit_count > 0, "{kind}");
        }
    }

    #[test]
    fn a_ray_from_far_away_and_one_along_the_faces_of_cells_miss_nothing() {
        // Ten boxes along each axis, from integer to integer; every second face of theirs is one of the cells.
        let boxes = Kind::Touching.generate(1000, 1);
        let grid = RayGrid::build(&boxes);
        assert_eq!((grid.cells.counts, grid.cells.edges), ([5; 3], [2.0; 3]));
        let rays = [
            Ray::new([-1e15, 4.0, 4.0], [1.0, 0.0, 0.0]),
            Ray::new([-5.0, 4.0, 4.0], [1.0, 0.0, 0.0]),
            Ray::new([4.0; 3], [0.0, 0.0, -4.0]),
            Ray::new([-1.0; 3], [1.0; 3]),
            Ray::segment([-1.0, 3.0, 4.0], [0.5, 0.0, 0.0], 2.0),
            Ray::segment([4.0; 3], [0.0; 3], 1.0),
        ];
        for ray in rays {
            let hits = loops::all_hits(&boxes, &ray);
            assert!(hits.len() >= 4, "{ray:?}");
            check(&grid, &ray, &hits, "touching");
        }
    }

    #[test]
    fn what_lies_behind_the_first_hit_is_not_looked_at() {
        let boxes = Kind::Uniform.generate(20_000, 1);
        let grid = RayGrid::build(&boxes);
        let count = |is_first: bool| {
            let mut cells = 0u32;
            for ray in RayKind::Incoherent.generate(200, 1, &boxes) {
                let slabs = Slabs::new(&ray).unwrap();
                let first = grid.nearest_hit(&ray).map_or(f64::INFINITY, |hit| hit.t);
                grid.walk(&slabs, |_, end, _| {
                    cells += 1;
                    if is_first && first < end { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
                });
            }
            cells
        };
        let [first, all] = [true, false].map(count);
        assert!(first * 5 < all, "{first} of {all} cells");
    }

    #[test]
    fn boxes_that_are_large_or_endless_are_in_no_cell_and_are_hit() {
        let mut boxes = Kind::ThousandGiants.generate(20_000, 1);
        boxes.extend(Kind::Infinite.generate(100, 1));
        let grid = RayGrid::build(&boxes);
        assert!(grid.giants.len() > 3 && grid.entries.len() <= 16 * boxes.len(), "{}", grid.giants.len());
        for ray in RayKind::Incoherent.generate(50, 1, &boxes) {
            check(&grid, &ray, &loops::all_hits(&boxes, &ray), "giants");
        }
    }

    /// Creates integers so small that boxes touch, coincide and have no extent all the time.
    fn whole() -> impl Strategy<Value = f32> {
        (-4i8..=4).prop_map(f32::from)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(400))]

        #[test]
        fn where_nothing_rounds_the_hits_are_those_of_the_library(
            corners in prop::collection::vec((prop::array::uniform3(whole()), prop::array::uniform3(whole())), 0..60),
            origin in prop::array::uniform3(whole()),
            direction in prop::array::uniform3(prop::sample::select(vec![0.0f32, 0.5, -0.5, 1.0, -1.0, 2.0, -4.0])),
            limit in prop::sample::select(vec![0.0, 0.5, 1.0, 3.0, f32::INFINITY]),
            cells in prop::sample::select(vec![0.1, 1.0, 8.0, 27.0]),
        ) {
            let boxes: Vec<Aabb> = corners.into_iter().map(|(a, b)| Aabb::from_points([a, b])).collect();
            let ray = Ray::segment(origin, direction, limit);
            check(&RayGrid::with_cells(&boxes, cells), &ray, &loops::exact_hits(&boxes, &ray), "integers");
        }
    }
}
