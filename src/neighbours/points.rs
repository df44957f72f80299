//! The points of a search.

use super::coordinate::Coordinate;
use crate::{Error, Filters};

/// The most targets. Numbers of targets are stored as bits of a positive `f32`.
pub const MOST_TARGETS: u64 = 0x7e00_0000;

/// Points with their radii and worlds, borrowed for one search. A slice, an array or a `Vec` of positions converts to
/// it.
///
/// A point with a coordinate that is NaN or infinite has no neighbours and is counted in
/// [`NeighbourPairs::invalid_count`](super::NeighbourPairs::invalid_count).
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct PointSet<'a, T = f32> {
    /// The positions.
    pub positions: &'a [[T; 3]],
    /// The radius of each point, finite and ≥ 0; empty for radii of 0. Two points are a pair if their distance is at
    /// most the sum of both radii and [`NeighbourOptions::radius`](super::NeighbourOptions::radius).
    pub radii: &'a [T],
    /// The world of each point, below 2³² − 1; empty for one world. Points of different worlds are never a pair.
    pub worlds: &'a [u32],
}

impl<'a, T> PointSet<'a, T> {
    /// Creates a set of points without radii, in one world.
    pub const fn new(positions: &'a [[T; 3]]) -> Self {
        Self { positions, radii: &[], worlds: &[] }
    }

    /// Returns the same points with a radius each.
    #[must_use]
    pub const fn with_radii(mut self, radii: &'a [T]) -> Self {
        self.radii = radii;
        self
    }

    /// Returns the same points with a world each.
    #[must_use]
    pub const fn with_worlds(mut self, worlds: &'a [u32]) -> Self {
        self.worlds = worlds;
        self
    }
}

impl<'a, T> From<&'a [[T; 3]]> for PointSet<'a, T> {
    fn from(positions: &'a [[T; 3]]) -> Self {
        Self::new(positions)
    }
}

impl<'a, T, const N: usize> From<&'a [[T; 3]; N]> for PointSet<'a, T> {
    fn from(positions: &'a [[T; 3]; N]) -> Self {
        Self::new(positions)
    }
}

impl<'a, T> From<&'a Vec<[T; 3]>> for PointSet<'a, T> {
    fn from(positions: &'a Vec<[T; 3]>) -> Self {
        Self::new(positions)
    }
}

impl<T: Coordinate> PointSet<'_, T> {
    /// Returns the position of a point, if it is finite.
    #[inline]
    pub(crate) fn finite(&self, index: usize) -> Option<[f64; 3]> {
        let position = self.position(index);
        position.iter().all(|x| x.is_finite()).then_some(position)
    }

    /// Returns the position of a point.
    #[inline]
    pub(crate) fn position(&self, index: usize) -> [f64; 3] {
        self.positions[index].map(Into::into)
    }

    /// Returns the radius of a point.
    #[inline]
    pub(crate) fn radius(&self, index: usize) -> f64 {
        self.radii.get(index).map_or(0.0, |&radius| radius.into())
    }

    /// Returns the world of a point.
    #[inline]
    pub(crate) fn world(&self, index: usize) -> u32 {
        self.worlds.get(index).copied().unwrap_or_default()
    }

    /// Checks the lengths and values of the lists.
    ///
    /// # Errors
    /// [`Error::BadPoints`].
    pub(crate) fn check(&self) -> Result<(), Error> {
        let count = self.positions.len();
        if count as u64 > MOST_TARGETS {
            let problem = format!("has {count} points, and the most is {MOST_TARGETS}");
            return Err(Error::BadPoints { list: "positions", problem });
        }
        for (list, length) in [("radii", self.radii.len()), ("worlds", self.worlds.len())] {
            if length != 0 && length != count {
                let problem =
                    format!("has {length} elements, and there are {count} points. It must have one for each, or none");
                return Err(Error::BadPoints { list, problem });
            }
        }
        let is_radius = |&radius: &T| Into::<f64>::into(radius) >= 0.0 && Into::<f64>::into(radius).is_finite();
        if let Some(index) = self.radii.iter().position(|radius| !is_radius(radius)) {
            let problem = format!("has {} at index {index}; a radius must be finite and at least 0", self.radii[index]);
            return Err(Error::BadPoints { list: "radii", problem });
        }
        if let Some(index) = self.worlds.iter().position(|&world| world == Filters::GLOBAL) {
            let problem =
                format!("has {} at index {index}; a point must be in one world, below that number", Filters::GLOBAL);
            return Err(Error::BadPoints { list: "worlds", problem });
        }
        Ok(())
    }
}
