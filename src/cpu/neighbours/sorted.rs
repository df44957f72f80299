//! Places sorted by cell, with a list per coordinate.

use std::ops::Range;

use rayon::prelude::*;

use super::grid::{Cell, Grid, SortScratch};
use super::lanes::{LANES, Lane, Limits, float_as_number, number_as_float};

/// Places sorted by cell, with their numbers: 16 bytes each in `f32`.
#[derive(Debug, Default)]
pub struct SortedPlaces<L> {
    /// The nonempty cells, and an end marker.
    pub cells: Vec<Cell>,
    /// Coordinates, with padding at the end for a test of [`LANES`].
    coordinates: [Vec<L>; 3],
    /// Numbers, as [`number_as_float`] stores them.
    numbers: Vec<f32>,
}

impl<L: Lane> SortedPlaces<L> {
    /// Sorts the places of some numbers; `source` returns place and world of a number.
    pub fn fill(
        &mut self,
        (grid, limits): (&Grid, &Limits),
        numbers: impl Iterator<Item = u32>,
        source: impl Fn(u32) -> ([f64; 3], u32) + Sync,
        (scratch, order): (&mut SortScratch, &mut Vec<u32>),
    ) {
        let keys = numbers.map(|number| {
            let (place, world) = source(number);
            (grid.key(&place, world), number)
        });
        scratch.sort(grid, keys, order, &mut self.cells);
        let padded = order.len() + LANES;
        self.coordinates.iter_mut().for_each(|list| list.resize(padded, L::default()));
        self.numbers.resize(padded, 0.0);
        let [x, y, z] = &mut self.coordinates;
        (order.par_iter().zip(&mut self.numbers)).zip(x.par_iter_mut().zip(y).zip(z)).with_min_len(1 << 12).for_each(
            |((&number, stored), ((x, y), z))| {
                [*x, *y, *z] = L::store(&source(number).0, limits);
                *stored = number_as_float(number);
            },
        );
    }

    /// Divides the cells into ranges of at least `least` places.
    pub fn chunks(&self, least: u32) -> Vec<Range<usize>> {
        let (mut ranges, mut first) = (vec![], 0);
        for (k, cell) in self.cells.iter().enumerate().skip(1) {
            if cell.start - self.cells[first].start >= least || k + 1 == self.cells.len() {
                ranges.push(first..k);
                first = k;
            }
        }
        ranges
    }

    /// Returns a place.
    #[inline]
    pub fn place(&self, at: usize) -> [L; 3] {
        [0, 1, 2].map(|k| self.coordinates[k][at])
    }

    /// Returns the number of a place.
    #[inline]
    pub fn number(&self, at: usize) -> u32 {
        float_as_number(self.numbers[at])
    }

    /// Returns the places of a range, in groups of [`LANES`]. The last group may extend beyond the range.
    #[inline]
    pub fn places(&self, range: &Range<usize>) -> [&[[L; LANES]]; 3] {
        [0, 1, 2].map(|k| parts(&self.coordinates[k], range))
    }

    /// Returns the numbers of a range, in the same groups.
    #[inline]
    pub fn numbers(&self, range: &Range<usize>) -> &[[f32; LANES]] {
        parts(&self.numbers, range)
    }
}

#[inline]
fn parts<'a, T>(list: &'a [T], range: &Range<usize>) -> &'a [[T; LANES]] {
    list[range.start..range.start + range.len().next_multiple_of(LANES)].as_chunks().0
}
