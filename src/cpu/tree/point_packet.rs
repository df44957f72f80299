//! Finds the boxes nearest to several adjacent points. The boxes around all points are gathered at once, in any order,
//! and each point ranks the gathered boxes.
//!
//! The distance within which boxes are gathered is a guess, from the distances of earlier points. If a point finds the
//! requested count of boxes within this distance, its answers are complete, whatever the guess. Otherwise it walks the
//! tree alone. Answers equal the answers of separate walks.

use super::levels::Levels;
use super::node::{Center, Node, ORDINARY, Real, WIDTH};
use super::pauses::Pauses;
use super::visit::Ranking;
use super::walk::{Stack, Visitor, walk};
use crate::Aabb;
use crate::base::exact::RELATIVE_ERROR;
use crate::queries::{Distance, NearestQuery};

/// Points of a packet.
pub const POINTS: usize = 4;

/// The squared factor by which the guess exceeds the distance of earlier points.
const FARTHER: f64 = 1.5;
/// The largest extent of a packet's points along each axis, in multiples of the distance within which boxes are
/// gathered.
const WIDE: f64 = 8.0;
/// The most gathered boxes: this many, plus [`MOST_EACH`] times the count that each point requests.
const MOST: usize = 64;
const MOST_EACH: usize = 24;
/// The most gathered boxes for any request; each takes 85 bytes.
const MOST_OF_ALL: usize = 1 << 16;
/// If more points of a packet than this walk the tree alone, gathering did not save time.
const MISSING: usize = 1;

/// The boxes around the points of a packet.
#[derive(Debug, Default)]
pub struct Around {
    /// The boxes, side by side; after the last one, boxes without points.
    nodes: Vec<Node>,
    ids: Vec<u32>,
    /// All boxes within this squared distance of each point are gathered.
    reach: f64,
    /// Keys of boxes that may be among the nearest to one point: the squared distance in the upper half, the place in
    /// the lower half.
    keys: Vec<u64>,
    /// Pauses in which packets gather no boxes.
    pauses: Pauses,
}

impl Around {
    /// Gathers the boxes around points, and returns whether it did. It does not if the points are far apart, if there
    /// are too many boxes, or during a pause. Each point requests `most` boxes.
    /// `guess` is the squared distance within which earlier points found theirs.
    pub fn gather(
        &mut self,
        (levels, ids): (&Levels, &[u32]),
        ranges: &[[u32; 2]],
        points: impl Iterator<Item = [f32; 3]>,
        (guess, most): (f64, usize),
        stack: &mut Stack<f32>,
    ) -> bool {
        if self.pauses.is_pause() || guess <= 0.0 {
            return false;
        }
        self.reach = FARTHER * guess;
        let Some(center) = near_each_other(points, WIDE * self.reach.sqrt()) else { return false };
        self.nodes.clear();
        self.ids.clear();
        let capacity = MOST_EACH.saturating_mul(most).saturating_add(MOST).min(MOST_OF_ALL);
        let mut gathering = Gathering { center, limit: f32::limit(self.reach), capacity, around: self };
        walk(levels, ids, ranges, stack, &mut gathering);
        let has_all = !gathering.is_done();
        if !has_all {
            self.pauses.begin();
        }
        has_all
    }

    /// Ranks the requested count of gathered boxes. Returns `true` if these are the nearest of all boxes. Otherwise,
    /// if `ranking` is full, its last box bounds the distance of the answers.
    pub fn rank(&mut self, query: &NearestQuery, ranking: &mut Ranking<Distance>) -> bool {
        let (point, most, radius_square) = (&query.point, ranking.most(), query.radius_square());
        self.list_near(point, f32::limit(self.reach.min(radius_square)));
        if self.keys.len() > most {
            // Distances are rounded, so a box beyond the requested count may be nearer. Include boxes within the
            // rounding error.
            let farthest = square_of(*self.keys.select_nth_unstable(most - 1).1);
            let limit = f32::limit(f64::from(f32::limit(f64::from(farthest))));
            self.keys.retain(|&key| square_of(key) <= limit);
        }
        // Sort by rounded distance first, which saves exact comparisons.
        self.keys.sort_unstable();
        ranking.clear();
        for &key in &self.keys {
            let place = key as u32 as usize;
            if let Some(distance) = Distance::between(point, &self.nodes[place / WIDTH].get(place % WIDTH))
                && distance.compare_radius(query.radius, point).is_le()
            {
                ranking.push(distance, self.ids[place]);
            }
        }
        ranking.order(|a, b| a.compare(b, point), |distance| distance.approximate);
        radius_square <= self.reach || ranking.last().is_some_and(|last| last * (1.0 + RELATIVE_ERROR) <= self.reach)
    }

    /// Lists the keys of the boxes whose squared distance to a point may be at most `limit`.
    fn list_near(&mut self, point: &[f32; 3], limit: f32) {
        let center = Center::<f32>::new(point);
        self.keys.clear();
        for (number, node) in self.nodes.iter().enumerate() {
            let (mut bits, squares) = center.around(node, limit);
            while bits != 0 {
                let child = bits.trailing_zeros() as usize % WIDTH;
                bits &= bits - 1;
                // Nonnegative numbers have the order of their bits.
                self.keys.push(u64::from(squares[child].to_bits()) << 32 | (number * WIDTH + child) as u64);
            }
        }
    }

    /// Decides whether to gather for the next packets. `missing` is the count of points of a packet that walked the
    /// tree alone.
    pub fn judge(&mut self, missing: usize) {
        if missing > MISSING {
            self.pauses.begin();
        } else {
            self.pauses.forget();
        }
    }
}

/// Returns the squared distance in a key.
fn square_of(key: u64) -> f32 {
    f32::from_bits((key >> 32) as u32)
}

/// Returns the bounds of points; `None` if they extend farther than `wide` along an axis, or if `f32` does not suffice.
fn near_each_other(points: impl Iterator<Item = [f32; 3]>, wide: f64) -> Option<Center<f32>> {
    let (mut low, mut high) = ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
    for point in points {
        for k in 0..3 {
            (low[k], high[k]) = (low[k].min(point[k]), high[k].max(point[k]));
        }
    }
    let is_ordinary = |k: usize| low[k] >= -ORDINARY && high[k] <= ORDINARY;
    let is_near = |k: usize| f64::from(high[k]) - f64::from(low[k]) <= wide;
    (0..3).all(|k| is_ordinary(k) && is_near(k)).then(|| Center::between(low, high))
}

/// A visitor that gathers all boxes that may be near some points.
struct Gathering<'a> {
    center: Center<f32>,
    limit: f32,
    capacity: usize,
    around: &'a mut Around,
}

impl Visitor for Gathering<'_> {
    type Known = f32;
    const IS_ORDERED: bool = false;

    #[inline(always)]
    fn look(&self, node: &Node, _: f32) -> (u32, [f32; WIDTH]) {
        self.center.around(node, self.limit)
    }

    #[inline(always)]
    fn take_leaf(&mut self, leaf: &Node, _: f32, mut bits: u32, _: &[f32; WIDTH], ids: &[u32]) {
        let Around { nodes, ids: gathered, .. } = &mut *self.around;
        while bits != 0 {
            let child = bits.trailing_zeros() as usize % WIDTH;
            bits &= bits - 1;
            let place = gathered.len();
            if place.is_multiple_of(WIDTH) {
                nodes.push(Node::EMPTY);
            }
            for (to, from) in nodes[place / WIDTH].faces.iter_mut().zip(&leaf.faces) {
                to[place % WIDTH] = from[child];
            }
            gathered.push(ids[child]);
        }
    }

    fn take(&mut self, _: u32, _: &Aabb) {}

    fn is_done(&self) -> bool {
        self.around.ids.len() > self.capacity
    }
}

#[cfg(test)]
mod tests {
    use super::super::Tree;
    use super::*;
    use crate::Filters;

    /// Gathers around two points of a lattice of boxes, one apart.
    fn gather(around: &mut Around, tree: &Tree, apart: f32, guess: f64, most: usize) -> bool {
        let points = [[5.0; 3], [5.0, 5.0 + apart, 5.0]].into_iter();
        let ranges = tree.worlds.of(Filters::GLOBAL);
        around.gather((&tree.levels, &tree.ids), &ranges, points, (guess, most), &mut Stack::default())
    }

    fn lattice() -> Tree {
        let point = |i: usize| [i % 16, i / 16 % 16, i / 256].map(|x| x as f32);
        let boxes: Vec<Aabb> = (0..16 * 16 * 16).map(|i| Aabb::new(point(i), point(i))).collect();
        let mut tree = Tree::new();
        tree.build(&boxes).unwrap();
        tree
    }

    #[test]
    fn all_boxes_within_reach_of_points_are_gathered() {
        let (mut around, tree) = (Around::default(), lattice());
        assert!(gather(&mut around, &tree, 1.0, 1.0, 3));
        // The boxes at most √1.5 away from the segment between both points: the boxes at the points, and their
        // neighbours.
        let mut gathered = around.ids.clone();
        gathered.sort_unstable();
        let place = |x: usize, y: usize, z: usize| (x + 16 * y + 256 * z) as u32;
        let mut expected: Vec<u32> = [4, 5, 6, 7].map(|y| place(5, y, 5)).into();
        expected.extend([5, 6].iter().flat_map(|&y| [place(4, y, 5), place(6, y, 5), place(5, y, 4), place(5, y, 6)]));
        expected.sort_unstable();
        assert_eq!(gathered, expected);
        let mut ranking = Ranking::new(3);
        assert!(around.rank(&NearestQuery::new([5.0, 5.0, 5.0]), &mut ranking));
        let nearest: Vec<u32> = ranking.first.iter().map(|(_, id)| *id).collect();
        assert_eq!(nearest, [place(5, 5, 5), place(5, 5, 4), place(5, 4, 5)]);
        // The query requests more boxes than are gathered around its point.
        assert!(!around.rank(&NearestQuery::new([5.0; 3]), &mut Ranking::new(8)));
        assert!(around.rank(&NearestQuery { point: [5.0; 3], radius: 1.0 }, &mut Ranking::new(8)));
    }

    #[test]
    fn nothing_is_gathered_where_it_does_not_pay() {
        let (mut around, tree) = (Around::default(), lattice());
        assert!(!gather(&mut around, &tree, 1.0, 0.0, 3), "no guess");
        assert!(!gather(&mut around, &tree, 10.0, 1.0, 3), "too far apart");
        assert!(!gather(&mut around, &tree, f32::INFINITY, f64::INFINITY, 3), "no ordinary numbers");
        assert!(gather(&mut around, &tree, 1.0, f64::INFINITY, 1 << 10));
        assert_eq!(around.ids.len(), 1 << 12);
        for pause in [1, 2, 4, 8, 16, 32, 64, 64] {
            assert!(!gather(&mut around, &tree, 1.0, 1e3, 3), "too many");
            assert!((0..pause).all(|_| !gather(&mut around, &tree, 1.0, 1.0, 3)), "{pause}");
        }
        assert!(gather(&mut around, &tree, 1.0, 1.0, 3));
        around.judge(MISSING);
        assert!(gather(&mut around, &tree, 1.0, 1.0, 3));
        around.judge(MISSING + 1);
        assert!(!gather(&mut around, &tree, 1.0, 1.0, 3));
        assert!(gather(&mut around, &tree, 1.0, 1.0, 3));
    }
}
