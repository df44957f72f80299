//! The result of a search.

use super::coordinate::Coordinate;
use crate::Pair;

/// The pairs of a neighbour search, in ascending order of (i, j, S). Lists by pair have the same length and order; a
/// list that was not requested is empty.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct NeighbourPairs<T = f32> {
    /// The pairs: `a` is i, `b` is j. In a search between two sets, `a` is an index in the queries and `b` an index in
    /// the points.
    pub pairs: Vec<Pair>,
    /// The begin of the pairs of each i, and the pair count at the end.
    pub offsets: Vec<u64>,
    /// The shift S of each pair: the image of j is at x_j + S·cell. Empty without a cell.
    pub shifts: Vec<[i32; 3]>,
    /// The vector x_j + S·cell − x_i of each pair; the error of a component is at most one unit in its last place.
    pub vectors: Vec<[T; 3]>,
    /// The squared distance of each pair: the exact square, rounded down.
    pub squared_distances: Vec<T>,
    /// The count of points with a NaN or infinite coordinate, in both sets. They have no neighbours.
    pub invalid_count: u64,
}

impl<T: Coordinate> NeighbourPairs<T> {
    /// Returns the range of the pairs of point `index` in the lists; empty if there is no such point.
    pub fn row(&self, index: usize) -> std::ops::Range<usize> {
        match self.offsets.get(index..).unwrap_or_default() {
            [start, end, ..] => *start as usize..*end as usize,
            _ => 0..0,
        }
    }

    /// Removes all pairs, and retains the memory.
    pub(crate) fn clear(&mut self) {
        self.pairs.clear();
        self.offsets.clear();
        self.shifts.clear();
        self.vectors.clear();
        self.squared_distances.clear();
        self.invalid_count = 0;
    }
}
