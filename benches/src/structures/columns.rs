//! The sorted columns, as the search for pairs has them: a grid across the sweep axis, and in each column its boxes in the
//! order in which they begin along that axis.
//!
//! A ray walks through the columns that it crosses (Amanatides and Woo 1987, "A fast voxel traversal algorithm for ray
//! tracing"), a shape takes those that it touches, a point takes them ring by ring around its own. In a column a query looks
//! at what may lie in its interval of the sweep axis, from where it begins outward; how far back a box may begin is bounded
//! by the longest box of the column. Where a ray has hit, or a point has found, the interval shrinks.

use broadsweep::Aabb;

use super::search::{Search, Target};
use super::{BOX_BYTES, Structure, center, valid};
use crate::baselines::aabb_tree::union;
use crate::baselines::slabs::Slabs;

/// The edge of a column in mean edges of the boxes across the sweep axis: what the search for pairs chooses for equal boxes.
const EDGES: f64 = 2.5;
/// How far from a column a box may be and be in it, in edges of the column: far more than queries round by.
const SLACK: f64 = 1e-6;
/// The same along the sweep axis, as a part of the coordinates.
const SWEEP_SLACK: f64 = 1e-9;
/// Bytes of a column: where its entries begin and end, and its longest box.
const COLUMN_BYTES: u64 = 12;
/// Bytes of where an entry begins, as a binary search reads it.
const STEP_BYTES: u64 = 4;
/// Steps of a binary search that find what they read in the cache line of the step before: 16 starts fill one.
const CACHED_STEPS: u64 = 3;

/// Boxes in sorted columns.
#[derive(Clone, Debug, Default)]
pub struct Columns {
    sweep: usize,
    /// The two axes across the sweep axis.
    plane: [usize; 2],
    low: [f64; 2],
    edge: f64,
    counts: [i64; 2],
    /// `[columns + 1]` where the entries of each column begin.
    starts: Vec<u32>,
    /// `[columns]` the length of the longest box of each along the sweep axis.
    longest: Vec<f64>,
    /// The boxes of all columns, those of each by where they begin.
    entries: Vec<(Aabb, u32)>,
    /// The bounds of the boxes that are in columns.
    bounds: Option<Aabb>,
    /// Boxes in so many columns that every query tests them instead.
    giants: Vec<(Aabb, u32)>,
}

impl Columns {
    /// Sorts the valid boxes into columns.
    pub fn build(boxes: &[Aabb]) -> Self {
        let ids: Vec<u32> = valid(boxes).collect();
        if ids.is_empty() {
            return Self::default();
        }
        let mut columns = Self::choose(boxes, &ids);
        let most = (ids.len() / 16).clamp(64, 4096);
        let mut placed: Vec<(usize, (Aabb, u32))> = Vec::new();
        for (aabb, id) in ids.iter().map(|&id| (boxes[id as usize], id)) {
            let before = placed.len();
            columns.each_of(&aabb, |column| placed.push((column, (aabb, id))));
            if placed.len() - before > most {
                placed.truncate(before);
                columns.giants.push((aabb, id));
            } else {
                columns.bounds = Some(columns.bounds.map_or(aabb, |bounds| union(&bounds, &aabb)));
            }
        }
        let sweep = columns.sweep;
        placed.sort_by(|(a, (x, _)), (b, (y, _))| a.cmp(b).then(x.min[sweep].total_cmp(&y.min[sweep])));
        let column_count = (columns.counts[0] * columns.counts[1]) as usize;
        let start = |column: usize| placed.partition_point(|&(own, _)| own < column) as u32;
        columns.starts = (0..=column_count).map(start).collect();
        columns.longest = vec![0.0; column_count];
        for (column, (aabb, _)) in &placed {
            let length = f64::from(aabb.max[sweep]) - f64::from(aabb.min[sweep]);
            columns.longest[*column] = columns.longest[*column].max(length);
        }
        columns.entries = placed.into_iter().map(|(_, entry)| entry).collect();
        columns
    }

    /// Chooses the axis along which boxes are spread widest, and columns of a few boxes' width: no more than two for each box.
    fn choose(boxes: &[Aabb], ids: &[u32]) -> Self {
        let count = ids.len() as f64;
        let mean = |of: &dyn Fn(&Aabb) -> f64| ids.iter().map(|&id| of(&boxes[id as usize])).sum::<f64>() / count;
        let spread: [f64; 3] = std::array::from_fn(|k| {
            let middle = mean(&|aabb| center(aabb)[k]);
            mean(&|aabb| (center(aabb)[k] - middle).powi(2))
        });
        let sweep = (0..3).max_by(|&a, &b| spread[a].total_cmp(&spread[b])).unwrap_or(0);
        let plane = [(sweep + 1) % 3, (sweep + 2) % 3];
        let across =
            |aabb: &Aabb| plane.map(|k| f64::from(aabb.max[k]) - f64::from(aabb.min[k])).iter().sum::<f64>() / 2.0;
        let along = |k: usize| ids.iter().map(move |&id| center(&boxes[id as usize])[k]);
        let low = plane.map(|k| along(k).fold(f64::INFINITY, f64::min));
        let extent = [0, 1].map(|i| along(plane[i]).fold(low[i], f64::max) - low[i]);
        let mut edge = (EDGES * mean(&across)).max(1e-30);
        let counts = |edge: f64| extent.map(|length| (length / edge) as i64 + 1);
        while counts(edge).map(|count| count as f64).iter().product::<f64>() > 2.0 * count + 64.0 {
            edge *= 1.25;
        }
        Self { sweep, plane, low, edge, counts: counts(edge), ..Self::default() }
    }

    /// Returns the column of a place across the sweep axis; the first or the last one for places outside.
    fn at(&self, i: usize, place: f64) -> i64 {
        (((place - self.low[i]) / self.edge) as i64).clamp(0, self.counts[i] - 1)
    }

    fn each_of(&self, aabb: &Aabb, mut visit: impl FnMut(usize)) {
        let slack = SLACK * self.edge;
        let [u, v] = [0, 1].map(|i| {
            let k = self.plane[i];
            self.at(i, f64::from(aabb.min[k]) - slack)..=self.at(i, f64::from(aabb.max[k]) + slack)
        });
        for u in u {
            v.clone().for_each(|v| visit(self.number([u, v])));
        }
    }

    fn number(&self, [u, v]: [i64; 2]) -> usize {
        (u * self.counts[1] + v) as usize
    }

    /// Tests the boxes of a column that may lie in an interval of the sweep axis, which may shrink on the way, from a place
    /// within it outward.
    fn scan(&self, search: &mut Search, column: usize, from: f64, interval: impl Fn(&Search) -> [f64; 2]) {
        let [first, end] = [column, column + 1].map(|at| self.starts[at] as usize);
        // Steps of the binary search, and the two entries that end the scan. The last steps are within one cache line.
        let step_count = u64::from(usize::BITS - (end - first).leading_zeros());
        search.fetch(COLUMN_BYTES + STEP_BYTES * (step_count + 2));
        search.counts.fetches += step_count.saturating_sub(CACHED_STEPS);
        let start = |at: usize| f64::from(self.entries[at].0.min[self.sweep]);
        let mut up =
            first + self.entries[first..end].partition_point(|(aabb, _)| f64::from(aabb.min[self.sweep]) <= from);
        let mut down = up;
        loop {
            let [low, high] = interval(search);
            let goes_up = up < end && start(up) <= high;
            let goes_down = down > first && start(down - 1) >= low - self.longest[column];
            if goes_down {
                down -= 1;
                take(search, &self.entries[down]);
            }
            if goes_up {
                take(search, &self.entries[up]);
                up += 1;
            }
            if !goes_up && !goes_down {
                return;
            }
        }
    }

    fn search_ray(&self, search: &mut Search, ray: &Slabs, bounds: &Aabb) {
        let Some(mut begin) = ray.entry(bounds) else { return };
        let sweep = self.sweep;
        let along = |t: f64| {
            let way = if ray.direction[sweep] == 0.0 { 0.0 } else { ray.direction[sweep] * t };
            (ray.origin[sweep] + way, SWEEP_SLACK * (ray.origin[sweep].abs() + way.abs()))
        };
        // Where the ray is beyond all boxes.
        let beyond = match ray.inverse[sweep] {
            0.0 => f64::INFINITY,
            inverse => {
                let face = if inverse > 0.0 { bounds.max[sweep] } else { bounds.min[sweep] };
                (f64::from(face) - ray.origin[sweep]) * inverse * (1.0 + SWEEP_SLACK)
            }
        };
        let end = beyond.max(begin).min(ray.limit);
        let mut column: [i64; 2] = std::array::from_fn(|i| {
            let k = self.plane[i];
            self.at(i, ray.origin[k] + begin * ray.direction[k])
        });
        // When the ray leaves a column across an axis. Beyond the first and the last one there are none to leave for.
        let leave = |i: usize, column: i64| match ray.inverse[self.plane[i]] {
            inverse if inverse > 0.0 && column + 1 < self.counts[i] || inverse < 0.0 && column > 0 => {
                let face = self.low[i] + (column + i64::from(inverse > 0.0)) as f64 * self.edge;
                (face - ray.origin[self.plane[i]]) * inverse
            }
            _ => f64::INFINITY,
        };
        loop {
            let leaves = [leave(0, column[0]), leave(1, column[1])];
            let i = usize::from(leaves[1] < leaves[0]);
            let interval = |search: &Search| {
                let (a, slack_a) = along(begin);
                let (b, slack_b) = along(leaves[i].min(end).min(search.limit()));
                let slack = slack_a + slack_b;
                [a.min(b) - slack, a.max(b) + slack]
            };
            self.scan(search, self.number(column), along(begin).0, interval);
            if leaves[i] > end.min(search.limit()) || leaves[i] == f64::INFINITY {
                return;
            }
            begin = begin.max(leaves[i]);
            column[i] += if ray.inverse[self.plane[i]] > 0.0 { 1 } else { -1 };
        }
    }

    fn search_point(&self, search: &mut Search, point: &[f64; 3]) {
        let center: [i64; 2] = std::array::from_fn(|i| self.at(i, point[self.plane[i]]));
        for ring in 0..self.counts[0].max(self.counts[1]) {
            if ring > 0 && ((ring - 1) as f64 * self.edge).powi(2) > search.limit() {
                return;
            }
            let [u, v] = [0, 1].map(|i| (center[i] - ring).max(0)..=(center[i] + ring).min(self.counts[i] - 1));
            for column in u.flat_map(|u| v.clone().map(move |v| [u, v])) {
                if (0..2).any(|i| column[i].abs_diff(center[i]) == ring as u64) {
                    self.search_column(search, column, point);
                }
            }
        }
    }

    fn search_column(&self, search: &mut Search, column: [i64; 2], point: &[f64; 3]) {
        let [u, v] = std::array::from_fn(|i| {
            // The first column and the last one have all that is outside.
            let is_first = column[i] == 0;
            let is_last = column[i] + 1 == self.counts[i];
            let low = if is_first { f64::NEG_INFINITY } else { self.low[i] + column[i] as f64 * self.edge };
            let high = if is_last { f64::INFINITY } else { self.low[i] + (column[i] + 1) as f64 * self.edge };
            let place = point[self.plane[i]];
            ((low - place).max(place - high) - SLACK * self.edge).max(0.0)
        });
        let across = u * u + v * v;
        if across > search.limit() {
            return;
        }
        let place = point[self.sweep];
        self.scan(search, self.number(column), place, |search| {
            let reach = (search.limit() - across).max(0.0).sqrt();
            let slack = SWEEP_SLACK * (place.abs() + reach);
            [place - reach - slack, place + reach + slack]
        });
    }
}

fn take(search: &mut Search, (aabb, id): &(Aabb, u32)) {
    search.counts.bytes += BOX_BYTES;
    if let Some(near) = search.test(aabb) {
        search.take(near, *id);
    }
}

impl Structure for Columns {
    fn search(&self, search: &mut Search) {
        self.giants.iter().for_each(|giant| take(search, giant));
        let Some(bounds) = &self.bounds else { return };
        search.fetch(BOX_BYTES);
        if search.test(bounds).is_none() {
            return;
        }
        match search.target {
            Target::Ray(ray) => self.search_ray(search, &ray, bounds),
            Target::Point(point) => self.search_point(search, &point),
            Target::Shape(shape) => self.each_of(&shape, |column| {
                let [low, high] = [shape.min, shape.max].map(|corner| f64::from(corner[self.sweep]));
                self.scan(search, column, low, |_| [low, high]);
            }),
        }
    }

    fn height(&self) -> Option<u32> {
        None
    }

    fn bytes(&self) -> u64 {
        let box_count = (self.entries.len() + self.giants.len()) as u64;
        self.longest.len() as u64 * COLUMN_BYTES + box_count * (BOX_BYTES + 4)
    }
}
