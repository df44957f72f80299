//! USSCD: uniform cells of the optimal size, and sweep and prune inside each.
//!
//! Space is cut into equal cubic cells, each with the trees of [`scd`](super::scd). In each step boxes leave cells,
//! enter cells and change places within them; then every cell is visited and swept. A pair that shares several
//! cells is reported in one: the one whose coordinates are the larger ones of the two boxes' first cells.
//!
//! # The size of a cell
//! `N` objects lie evenly with density `δ`, and those within `w`, the largest edge, of a cell's faces may change
//! cells. A cell of edge `l` then has `δ l³` objects to sweep and `6 w l² δ` to update, each at the logarithm
//! of their number, and all cells together cost `F(l) = N (1 + 6 w / l) log₂(δ l³)`. So
//! `F'(l) = 3 N / (l² ln 2) · G(l)` with `G(l) = l + 6 w − 6 w ln l − 2 w ln δ`. (The paper has `log₂` in `G`, which
//! is not the derivative.) `G` is least at `l = 6 w`. If it is not negative there, `F` only grows, and the
//! smallest cell is best, which is `l = 2 w`. Otherwise `F` has a minimum where `G` passes zero for the second
//! time, beyond `6 w`. With `x = l / w` and `Λ = ln(δ w³)`, `G / w = x + 6 − 6 ln x − 2 Λ`, and the second case
//! begins at `Λ = 6 − 3 ln 6 ≈ 0.62`, where nearly two objects lie in each `w³`. Between there and `Λ ≈ 1.1` the
//! minimum is a local one, and `F(2 w)` is lower by a tenth or less; the paper takes the minimum all the same.
//!
//! Where cells of `2 w` hold less than one object each, the logarithm is negative and `F` says nothing about cost: the
//! cost of an empty cell is not in it. This is why USSCD loses ground in sparse space.
//!
//! # Where this departs from the paper
//! The paper's space and objects are given beforehand. Here bounds, `w` and `δ` are those of the boxes that are
//! bounded. The grid is kept as long as it fits the boxes, roughly: until the best cell is half as large again or the
//! like, or the boxes have left its bounds by a tenth. Whatever lies outside is in the outermost cells. Boxes without
//! bounds are in many cells: there are only so many cells that in a new grid all such boxes together are in no more
//! than `8 n + 4096`. There are at most 2²⁴ cells, and 8 bytes for each; where the formula requests more, cells are
//! larger.
//!
//! Source: Li, Lu and He 2003, "USSCD: A Fast Collision Detection Algorithm Based on Uniform Spatial Subdivision".

use super::endpoints::{ABSENT, check_count};
use super::list::PairList;
use super::scd::Trees;
use super::{Baseline, BaselineError, Work};
use broadsweep::{Aabb, Pair};

/// The most cells of a grid. Each takes 8 bytes and is visited in every step.
pub const MOST_CELLS: u32 = 1 << 24;

/// Uniform cells of the optimal size, and sweep and prune inside each.
///
/// [`Work::updates`] counts how often a box left, entered or changed its place in a cell; [`Work::candidates`] the
/// pairs that overlap on the axis that was walked in a cell, in each cell that they share.
#[derive(Debug, Default)]
pub struct Usscd {
    grid: Grid,
    /// The trees of each cell that has boxes.
    cells: Vec<Option<Box<Trees>>>,
    /// The boxes that the cells know, and the cells that each is in.
    seen: Vec<(Aabb, Range)>,
    active: Vec<(u32, Aabb)>,
}

impl Baseline for Usscd {
    fn find_pairs(&mut self, boxes: &[Aabb], pairs: &mut Vec<Pair>) -> Result<Work, BaselineError> {
        pairs.clear();
        if self.seen.len() != boxes.len() {
            *self = Self::default();
            check_count("usscd", boxes)?;
        }
        let best = Grid::best(boxes);
        if self.cells.is_empty() || !self.grid.fits(&best) {
            self.grid = best;
            self.cells.clear();
            self.cells.resize_with(self.grid.cell_count(), || None);
            self.seen.clear();
            self.seen.resize(boxes.len(), (ABSENT, Range::NONE));
        }
        let updates = self.update(boxes);
        let mut list = PairList::new(pairs);
        let work = self.sweep(boxes, &mut list);
        list.finish("usscd")?;
        Ok(Work { updates, ..work })
    }
}

impl Usscd {
    /// Moves boxes out of cells, into cells and within cells. Returns how often.
    ///
    /// The paper goes cell by cell, and this method box by box: the operations on the trees are the same.
    fn update(&mut self, boxes: &[Aabb]) -> u64 {
        let mut updates = 0;
        for ((id, seen), new) in (0..).zip(&mut self.seen).zip(boxes) {
            let (old, was_in) = *seen;
            if old == *new {
                continue;
            }
            let is_in = if new.is_valid() { self.grid.range(new) } else { Range::NONE };
            for at in was_in.cells().chain(is_in.cells().filter(|&at| !was_in.contains(at))) {
                let cell = &mut self.cells[self.grid.index(at)];
                let trees = cell.get_or_insert_default();
                let before = if was_in.contains(at) { &old } else { &ABSENT };
                let after = if is_in.contains(at) { new } else { &ABSENT };
                updates += u64::from(trees.replace(id, before, after) > 0);
                if trees.len() == 0 {
                    *cell = None;
                }
            }
            *seen = (*new, is_in);
        }
        updates
    }

    /// Visits every cell for its pairs.
    fn sweep(&mut self, boxes: &[Aabb], pairs: &mut PairList) -> Work {
        let mut work = Work::default();
        for (index, cell) in self.cells.iter().enumerate() {
            let Some(trees) = cell else {
                continue;
            };
            work.bytes += size_of::<Trees>() as u64 + trees.bytes();
            if trees.len() < 2 {
                continue;
            }
            work.candidates += trees.sweep(boxes, &mut self.active, |i, j| {
                let (a, b) = (self.seen[i as usize].1.first, self.seen[j as usize].1.first);
                if self.grid.index([0, 1, 2].map(|k| a[k].max(b[k]))) == index {
                    pairs.push(Pair::new(i, j));
                }
            });
        }
        work.bytes += (self.cells.capacity() * size_of::<Option<Box<Trees>>>()
            + self.seen.capacity() * size_of::<(Aabb, Range)>()
            + self.active.capacity() * size_of::<(u32, Aabb)>()) as u64;
        work
    }
}

/// The cells from `first` up to before `end`, on each axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Range {
    first: [u32; 3],
    end: [u32; 3],
}

impl Range {
    const NONE: Self = Self { first: [0; 3], end: [0; 3] };

    fn contains(&self, at: [u32; 3]) -> bool {
        (0..3).all(|k| (self.first[k]..self.end[k]).contains(&at[k]))
    }

    fn cells(self) -> impl Iterator<Item = [u32; 3]> {
        let [xs, ys, zs] = [0, 1, 2].map(|k| self.first[k]..self.end[k]);
        zs.flat_map(move |z| {
            let xs = xs.clone();
            ys.clone().flat_map(move |y| xs.clone().map(move |x| [x, y, z]))
        })
    }
}

/// Cubic cells over the bounds of the boxes that have bounds. In double precision no edge of the bounds overflows, and
/// no denormal is lost.
#[derive(Clone, Copy, Debug, Default)]
struct Grid {
    low: [f64; 3],
    high: [f64; 3],
    /// Edge of a cell.
    edge: f64,
    /// Cells on each axis, at least one.
    counts: [u32; 3],
}

impl Grid {
    /// Returns the grid of the best cells for these boxes.
    fn best(boxes: &[Aabb]) -> Self {
        let (mut low, mut high) = ([f64::INFINITY; 3], [f64::NEG_INFINITY; 3]);
        let (mut widest, mut bounded_count, mut unbounded_count) = (0.0f64, 0u32, 0u64);
        for aabb in boxes.iter().filter(|aabb| aabb.is_valid()) {
            let (min, max) = (aabb.min.map(f64::from), aabb.max.map(f64::from));
            if !min.iter().chain(&max).all(|x| x.is_finite()) {
                unbounded_count += 1;
                continue;
            }
            bounded_count += 1;
            for k in 0..3 {
                low[k] = low[k].min(min[k]);
                high[k] = high[k].max(max[k]);
                widest = widest.max(max[k] - min[k]);
            }
        }
        if bounded_count == 0 {
            (low, high) = ([0.0; 3], [0.0; 3]);
        }
        let extents = [0, 1, 2].map(|k| high[k] - low[k]);
        // The paper's space is a cube. Where the space is thinner than a box, it counts as a layer of one box.
        let log_density = f64::from(bounded_count).ln()
            + extents
                .iter()
                .map(|extent| if widest > 0.0 { (widest / extent.max(widest)).ln() } else { 0.0 })
                .sum::<f64>();
        let most = match unbounded_count {
            0 => u64::from(MOST_CELLS),
            count => u64::from(MOST_CELLS).min((8 * boxes.len() as u64 + 4096) / count),
        };

        let longest = extents.iter().fold(0.0, |a: f64, &b| a.max(b));
        let mut edge = (widest * cell_edge(log_density)).max(longest / f64::from(MOST_CELLS));
        if edge == 0.0 {
            // All boxes are one point.
            edge = 1.0;
        }
        loop {
            let counts = extents.map(|extent| (extent / edge).ceil().max(1.0));
            if counts.iter().product::<f64>() <= most as f64 {
                return Self { low, high, edge, counts: counts.map(|count| count as u32) };
            }
            edge *= 1.1;
        }
    }

    /// Returns whether this grid is still good enough for boxes for which `best` is best. The pairs are right in any
    /// case.
    fn fits(&self, best: &Self) -> bool {
        let ratio = best.edge / self.edge;
        (0.6..1.5).contains(&ratio)
            && (0..3).all(|k| {
                let extent = self.high[k] - self.low[k];
                let slack = (0.1 * extent).max(self.edge);
                let grows = best.low[k] < self.low[k] - slack || best.high[k] > self.high[k] + slack;
                let shrinks = best.high[k] - best.low[k] < 0.5 * extent - self.edge;
                !grows && !shrinks
            })
    }

    fn cell_count(&self) -> usize {
        self.counts.iter().map(|&count| count as usize).product()
    }

    /// Returns the cells that a valid box is in; outside the grid, the outermost cells. The function is monotone, so
    /// that boxes that overlap share a cell.
    fn range(&self, aabb: &Aabb) -> Range {
        let coordinate = |x: f32, k: usize| {
            // Saturates, at 0 too.
            let cell = ((f64::from(x) - self.low[k]) / self.edge).floor() as u32;
            cell.min(self.counts[k] - 1)
        };
        let axes = [0, 1, 2];
        Range { first: axes.map(|k| coordinate(aabb.min[k], k)), end: axes.map(|k| coordinate(aabb.max[k], k) + 1) }
    }

    fn index(&self, at: [u32; 3]) -> usize {
        let [x, y, z] = at.map(|x| x as usize);
        (z * self.counts[1] as usize + y) * self.counts[0] as usize + x
    }
}

/// Returns the paper's edge of a cell in units of the largest edge `w`, from `Λ = ln(δ w³)`.
fn cell_edge(log_density: f64) -> f64 {
    // G(6) / 2
    if 6.0 - 3.0 * 6f64.ln() - log_density >= 0.0 {
        return 2.0;
    }
    // Newton's method from above: G is convex and grows there, so the sequence falls until rounding stops it.
    let mut x = 40.0 + 8.0 * log_density;
    loop {
        let next = x - (x + 6.0 - 6.0 * x.ln() - 2.0 * log_density) / (1.0 - 6.0 / x);
        // Also where 6 is all but reached, and the slope is 0.
        if !(6.0 < next && next < x) {
            return x;
        }
        x = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenes::Kind;
    use broadsweep::internals::brute_force;

    /// Returns the paper's cost per object, for cells of `x` largest edges.
    fn cost(x: f64, log_density: f64) -> f64 {
        (1.0 + 6.0 / x) * (3.0 * x.ln() + log_density) / 2f64.ln()
    }

    #[test]
    fn a_sparse_space_has_cells_of_twice_the_largest_edge() {
        for log_density in [f64::NEG_INFINITY, -30.0, -1.0, 0.0, 0.6] {
            assert_eq!(cell_edge(log_density), 2.0);
            // The cost only grows with the cell.
            let costs: Vec<_> = (20..1000).map(|x| cost(f64::from(x) / 10.0, log_density.max(-30.0))).collect();
            assert!(costs.is_sorted(), "{log_density}");
        }
    }

    #[test]
    fn a_dense_space_has_cells_of_least_cost() {
        for log_density in [0.63, 0.7, 1.0, 1.1, 2.0, 4.0, 8.0, 20.0] {
            let best = cell_edge(log_density);
            assert!(best >= 6.0);
            for step in 1..1000 {
                let ratio = 1.0 + f64::from(step) / 100.0;
                assert!(cost(best * ratio, log_density) > cost(best, log_density), "{log_density} {ratio}");
                let less = best / ratio;
                // Below lies the maximum, and beyond it the costs fall again: the minimum is a local one.
                if less >= 6.0 || log_density >= 1.2 && less >= 2.0 {
                    assert!(cost(less, log_density) > cost(best, log_density), "{log_density} {ratio}");
                }
            }
            let other = f64::from(broadsweep::internals::mirror::frame::usscd_cell(log_density as f32));
            assert!((best / other - 1.0).abs() < 1e-2, "{log_density}: {best} {other}");
        }
        // As far as the note above goes: how much lower twice the largest edge is.
        for (log_density, part) in [(0.63, 0.90), (1.0, 0.97), (1.1, 1.0), (1.2, 1.01)] {
            let ratio = cost(2.0, log_density) / cost(cell_edge(log_density), log_density);
            assert!((ratio - part).abs() < 0.02, "{log_density} {ratio}");
        }
    }

    #[test]
    fn both_sizes_are_chosen_for_boxes() {
        let cube = |n: u32, side: f64, edge: f32| {
            let lattice = |i: u32| [i % 10, i / 10 % 10, i / 100].map(|x| x as f32 / 9.0 * (side as f32 - edge));
            (0..n).map(|i| Aabb::new(lattice(i), lattice(i).map(|x| x + edge))).collect::<Vec<_>>()
        };
        let sparse = Grid::best(&cube(1000, 20.0, 1.0));
        assert_eq!((sparse.edge, sparse.counts), (2.0, [10; 3]));
        // 1000 boxes of volume 1 in a volume of 64.
        let dense = Grid::best(&cube(1000, 4.0, 1.0));
        assert!((dense.edge - cell_edge((1000.0f64 / 64.0).ln())).abs() < 1e-5);
        assert!(dense.edge > 10.0);
    }

    #[test]
    fn boxes_leave_enter_and_change_places() {
        let (mut usscd, mut pairs) = (Usscd::default(), Vec::new());
        // Two at the ends, so that the grid has ten cells of edge 2 on x, and one that moves.
        let at = |x: f32| Aabb::new([x, 0.0, 0.0], [x + 1.0, 1.0, 1.0]);
        let mut step = |x| usscd.find_pairs(&[at(0.0), at(19.0), at(x)], &mut pairs).unwrap().updates;
        assert_eq!(step(4.25), 3);
        assert_eq!(step(4.25), 0);
        // Within its cell; across a border; out of the first cell.
        assert_eq!([4.5, 5.5, 6.5].map(&mut step), [1, 2, 2]);
        // Beyond the bounds by no more than the grid is kept for, and beyond that: all enter a new grid, the second
        // box two cells of it, because its end at 20 touches the next.
        assert_eq!([20.5, 40.0].map(&mut step), [2, 4]);
        assert_eq!(usscd.grid.high[0], 41.0);
    }

    #[test]
    fn a_space_without_end_has_a_bounded_number_of_cells() {
        // The best cell for points is a point.
        let cell_count = Grid::best(&Kind::Points.generate(500, 1)).cell_count();
        assert!(cell_count > MOST_CELLS as usize / 2 && cell_count <= MOST_CELLS as usize, "{cell_count}");
        let mut boxes = Kind::TwoClusters.generate(500, 1);
        boxes.extend(Kind::Infinite.generate(3, 1));
        let expected = brute_force::find_pairs(&boxes);
        let (mut usscd, mut pairs) = (Usscd::default(), Vec::new());
        let work = usscd.find_pairs(&boxes, &mut pairs).unwrap();
        pairs.sort_unstable();
        assert_eq!(pairs, expected);
        assert!(work.updates < 20_000 && work.bytes < 10_000_000, "{work:?}");
    }
}
