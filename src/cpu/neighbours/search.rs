//! One search: its points, queries and images, and the decision of a pair.

use super::images::{Images, Placed};
use super::scan::{Decide, Exclusion};
use crate::neighbours::displacement::{Displacement, Reach};
use crate::neighbours::{Coordinate, NeighbourOptions};

/// A search of the neighbours of queries among points.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a, T> {
    pub options: &'a NeighbourOptions<T>,
    pub queries: Placed<'a, T>,
    pub points: Placed<'a, T>,
    pub images: &'a Images,
    /// True if queries and points are one set.
    pub is_within_one: bool,
    pub radius: f64,
}

impl<T: Coordinate> Search<'_, T> {
    /// Returns the displacement from a query to a target, and the point of the target.
    #[inline]
    pub fn displacement(&self, query: u32, target: u32) -> (Displacement<'_>, u32) {
        let (point, shift) = self.point_and_shift(query, target);
        let displacement = Displacement {
            from: self.queries.set.position(query as usize),
            to: self.points.set.position(point as usize),
            shift,
            cell: &self.points.lattice.vectors,
        };
        (displacement, point)
    }

    /// Returns the point of a target, and its shift in a pair with a query.
    #[inline]
    pub fn point_and_shift(&self, query: u32, target: u32) -> (u32, [i32; 3]) {
        let (point, image) = self.images.owner(target);
        let (own, other) = (self.queries.wrap(query as usize), self.points.wrap(point as usize));
        (point, std::array::from_fn(|k| image[k] + other[k] - own[k]))
    }

    /// Returns the place of a target, rounded, and its world.
    #[inline]
    pub fn target(&self, target: u32) -> ([f64; 3], u32) {
        let (point, image) = self.images.owner(target);
        let wrap = self.points.wrap(point as usize);
        let shift = std::array::from_fn(|k| image[k] + wrap[k]);
        let place = self.points.lattice.moved(&self.points.set.position(point as usize), shift);
        (place, self.points.set.world(point as usize))
    }

    /// Returns the place of a query, rounded, and its world.
    #[inline]
    pub fn query(&self, query: u32) -> ([f64; 3], u32) {
        let query = query as usize;
        let place = self.queries.lattice.moved(&self.queries.set.position(query), self.queries.wrap(query));
        (place, self.queries.set.world(query))
    }

    /// Returns the places of all queries and targets that are finite.
    pub fn places(&self) -> Vec<[f64; 3]> {
        self.each_place().collect()
    }

    /// Returns the bounds of all places.
    pub fn bounds(&self) -> [[f64; 3]; 2] {
        let mut bounds = [[f64::INFINITY; 3], [f64::NEG_INFINITY; 3]];
        for place in self.each_place() {
            for k in 0..3 {
                bounds[0][k] = bounds[0][k].min(place[k]);
                bounds[1][k] = bounds[1][k].max(place[k]);
            }
        }
        if bounds[0][0] <= bounds[1][0] { bounds } else { [[0.0; 3]; 2] }
    }

    /// Returns the largest number of a world.
    pub fn last_world(&self) -> u32 {
        self.queries.set.worlds.iter().chain(self.points.set.worlds).copied().max().unwrap_or_default()
    }

    fn each_place(&self) -> impl Iterator<Item = [f64; 3]> {
        let queries = self.finite_queries().take(if self.is_within_one { 0 } else { usize::MAX });
        queries.map(|query| self.query(query).0).chain(self.finite_targets().map(|target| self.target(target).0))
    }

    /// Lists the targets with finite coordinates.
    pub fn finite_targets(&self) -> impl Iterator<Item = u32> {
        let is_finite = |target: &u32| self.points.set.finite(self.images.owner(*target).0 as usize).is_some();
        self.images.targets().filter(is_finite)
    }

    /// Lists the queries with finite coordinates.
    pub fn finite_queries(&self) -> impl Iterator<Item = u32> {
        let count = self.queries.set.positions.len() as u32;
        (0..count).filter(|query| self.queries.set.finite(*query as usize).is_some())
    }
}

impl<T: Coordinate> Decide for Search<'_, T> {
    #[inline]
    fn exclusion(&self, query: u32) -> Exclusion {
        if !self.is_within_one {
            return Exclusion { first: 0, removed: 0..0 };
        }
        let own = self.images.own(query);
        let excluded = if self.options.self_images { own..own + 1 } else { self.images.of_point(query) };
        if self.options.both_directions {
            Exclusion { first: 0, removed: excluded }
        } else {
            Exclusion { first: excluded.end, removed: 0..0 }
        }
    }

    fn is_within(&self, query: u32, target: u32) -> bool {
        let (displacement, point) = self.displacement(query, target);
        let radii = [self.queries.set.radius(query as usize), self.points.set.radius(point as usize)];
        displacement.is_within(&Reach([self.radius, radii[0], radii[1]]))
    }
}
