//! The boxes nearest to several points that lie near each other: those around all of them are gathered at once, in any order, and
//! each point ranks what was gathered.
//!
//! How far to gather is a guess, by how far the points before had to look. A point that finds as many boxes as it requests no
//! farther than that has found the nearest, whatever the guess was; another one goes through the tree by itself. Answers are
//! those of each point alone.

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

/// How much farther is looked than the points before had to, squared.
const FARTHER: f64 = 1.5;
/// How far apart the points of a packet may lie, along each axis, in multiples of how far is looked.
const WIDE: f64 = 8.0;
/// Boxes that are gathered at most: this many, and [`MOST_EACH`] times as many as each point requests.
const MOST: usize = 64;
const MOST_EACH: usize = 24;
/// Boxes that are gathered at most, however many are requested: they take 85 bytes each.
const MOST_OF_ALL: usize = 1 << 16;
/// Points of a packet that may go through the tree by themselves before to gather costs more than it saves.
const MISSING: usize = 1;

/// Holds the boxes around the points of a packet.
#[derive(Debug, Default)]
pub struct Around {
    /// The boxes, side by side; after the last one, boxes without points.
    nodes: Vec<Node>,
    ids: Vec<u32>,
    /// All boxes within this distance of a point are here; squared.
    reach: f64,
    /// The places of boxes that may be among the nearest to one point, below their squared distances.
    keys: Vec<u64>,
    /// Packets for which nothing is gathered.
    pauses: Pauses,
}

impl Around {
    /// Gathers the boxes around points, and returns whether it did: not where the points lie far apart, nor where there are too
    /// many boxes, nor for a while after it did not pay. The points before had to look as far as the square root of `guess`, for
    /// `most` boxes each.
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

    /// Ranks the nearest of the gathered boxes, as many as are requested. Returns whether they are the nearest of all; where there
    /// may be others, the last one bounds them, if there are so many.
    pub fn rank(&mut self, query: &NearestQuery, ranking: &mut Ranking<Distance>) -> bool {
        let (point, most, radius_square) = (&query.point, ranking.most(), query.radius_square());
        self.list_near(point, f32::limit(self.reach.min(radius_square)));
        if self.keys.len() > most {
            // Each of as many boxes as are requested may be somewhat farther than it seems, and another one nearer.
            let farthest = square_of(*self.keys.select_nth_unstable(most - 1).1);
            let limit = f32::limit(f64::from(f32::limit(f64::from(farthest))));
            self.keys.retain(|&key| square_of(key) <= limit);
        }
        // Nearly in order, there is less left to compare exactly.
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

    /// Lists the places of the boxes whose squared distance to a point may be at most `limit`, below about what it is.
    fn list_near(&mut self, point: &[f32; 3], limit: f32) {
        let center = Center::<f32>::new(point);
        self.keys.clear();
        for (number, node) in self.nodes.iter().enumerate() {
            let (mut bits, squares) = center.around(node, limit);
            while bits != 0 {
                let child = bits.trailing_zeros() as usize % WIDTH;
                bits &= bits - 1;
                // Numbers that are not negative are in the order of their bits.
                self.keys.push(u64::from(squares[child].to_bits()) << 32 | (number * WIDTH + child) as u64);
            }
        }
    }

    /// Decides whether to go on gathering, after so many points of a packet went through the tree by themselves.
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

/// Returns where points are, if they are no farther apart than this along each axis, and ordinary numbers.
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

/// Gathers all boxes that may be near some points.
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
        // The square root of 1.5 away from one of two points, or from what is between them: those and their neighbours.
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
        // More than there are within reach of it.
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
