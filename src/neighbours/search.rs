//! One search: its points, queries and images, and the decision of a pair.

use std::ops::Range;

use super::displacement::{Displacement, Reach};
use super::images::{Images, Placed, wrap};
use super::{Coordinate, Lattice, NeighbourOptions, PointSet};
use crate::Error;

/// The lists of a search that are needed before its pairs: points in their cell, and their images. The next search
/// reuses their memory.
#[derive(Debug, Default)]
pub struct Targets {
    lattice: Lattice,
    query_wraps: Vec<[i32; 3]>,
    point_wraps: Vec<[i32; 3]>,
    images: Images,
}

impl Targets {
    /// Checks the options and the sets of a search, and lists its targets. Without `queries`, it is a search within the
    /// points.
    ///
    /// # Errors
    /// [`Error::BadOption`], [`Error::BadPoints`], [`Error::BadCell`], [`Error::TooManyImages`],
    /// [`Error::ListTooLong`].
    pub fn fill<'a, T: Coordinate>(
        &'a mut self,
        options: &'a NeighbourOptions<T>,
        queries: Option<PointSet<'a, T>>,
        points: PointSet<'a, T>,
    ) -> Result<Search<'a, T>, Error> {
        let radius = options.checked_radius()?;
        if let Some(queries) = &queries {
            queries.check()?;
        }
        points.check()?;
        let Self { lattice, query_wraps, point_wraps, images } = self;
        *lattice = options.cell.as_ref().map(Lattice::new).transpose()?.unwrap_or_default();
        query_wraps.clear();
        point_wraps.clear();
        if lattice.rank() > 0 {
            wrap(&points, "positions", lattice, point_wraps)?;
            if let Some(queries) = &queries {
                wrap(queries, "positions", lattice, query_wraps)?;
            }
        }
        let points = Placed { set: points, wraps: point_wraps, lattice };
        let is_within_one = queries.is_none();
        let queries = queries.map_or(points, |set| Placed { set, wraps: query_wraps, lattice });
        let reach = radius + queries.largest_radius() + points.largest_radius();
        let errors = images.fill(&queries, &points, reach)?;
        Ok(Search { options, queries, points, images, is_within_one, radius, reach, errors })
    }
}

/// The targets that a query excludes.
#[derive(Clone, Debug)]
pub struct Exclusion {
    /// The first target that is not excluded.
    pub first: u32,
    /// Excluded targets from `first` on.
    pub removed: Range<u32>,
}

/// A search of the neighbours of queries among points.
#[derive(Clone, Copy, Debug)]
pub struct Search<'a, T> {
    pub options: &'a NeighbourOptions<T>,
    pub queries: Placed<'a, T>,
    pub points: Placed<'a, T>,
    pub images: &'a Images,
    /// True if queries and points are one set.
    pub is_within_one: bool,
    /// The radius of the options.
    pub radius: f64,
    /// The largest distance of a pair, radii of points included.
    pub reach: f64,
    /// A bound of the error of coordinates along each axis.
    pub errors: [f64; 3],
}

impl<T: Coordinate> Search<'_, T> {
    /// Returns the count of points that are not finite.
    pub fn invalid_count(&self) -> u64 {
        let invalid = |placed: &Placed<'_, T>| placed.set.positions.len() as u64 - placed.finite_count();
        invalid(&self.points) + if self.is_within_one { 0 } else { invalid(&self.queries) }
    }

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

    /// Returns the targets that a query excludes.
    #[inline]
    pub fn exclusion(&self, query: u32) -> Exclusion {
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

    /// Returns whether a target is in reach of a query, exactly.
    pub fn is_within(&self, query: u32, target: u32) -> bool {
        let (displacement, point) = self.displacement(query, target);
        let radii = [self.queries.set.radius(query as usize), self.points.set.radius(point as usize)];
        displacement.is_within(&Reach([self.radius, radii[0], radii[1]]))
    }
}
