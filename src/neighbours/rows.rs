//! Writes the pairs in the order of queries. A *row* is the list of targets of one query. Chunks hold rows in the order
//! of cells.

use bytemuck::Zeroable;

use super::search::Search;
use super::{Coordinate, NeighbourOptions, NeighbourPairs};
use crate::base::reserve::resize;
use crate::{Error, Pair};

/// The rows that one thread writes at a time.
const TASK: usize = 1 << 12;

/// The rows of a chunk of queries.
#[derive(Debug, Default)]
pub struct ChunkRows {
    /// The queries, with the target count of each query.
    pub rows: Vec<(u32, u32)>,
    /// The targets, row by row.
    pub targets: Vec<u32>,
}

/// The place of each query's row.
#[derive(Debug, Default)]
pub struct RowPlaces {
    /// Chunk and first target of each query.
    places: Vec<(u32, u64)>,
}

impl RowPlaces {
    /// Counts the rows, and writes their pairs.
    ///
    /// # Errors
    /// [`Error::ListTooLong`].
    pub fn write<T: Coordinate>(
        &mut self,
        search: &Search<'_, T>,
        chunks: &[ChunkRows],
        found: &mut NeighbourPairs<T>,
    ) -> Result<(), Error> {
        let query_count = search.queries.set.positions.len();
        self.places.clear();
        self.places.resize(query_count, (0, 0));
        found.offsets.clear();
        found.offsets.resize(query_count + 1, 0);
        for (chunk, number) in chunks.iter().zip(0..) {
            let mut start = 0;
            for &(query, count) in &chunk.rows {
                self.places[query as usize] = (number, start);
                found.offsets[query as usize] = u64::from(count);
                start += u64::from(count);
            }
        }
        let mut total = 0;
        for offset in &mut found.offsets {
            total += std::mem::replace(offset, total);
        }
        let options = search.options;
        let pair_count = usize::try_from(total).map_err(|_| Error::list_too_long(total))?;
        let length = |is_requested: bool| if is_requested { pair_count } else { 0 };
        resize(&mut found.pairs, pair_count, Pair::zeroed())?;
        resize(&mut found.shifts, length(options.cell.is_some()), [0; 3])?;
        resize(&mut found.vectors, length(options.vectors), Zeroable::zeroed())?;
        resize(&mut found.squared_distances, length(options.squared_distances), T::zeroed())?;
        let lists = Lists {
            pairs: &mut found.pairs,
            shifts: &mut found.shifts,
            vectors: &mut found.vectors,
            squares: &mut found.squared_distances,
        };
        let writer = Writer { search, chunks, places: &self.places, offsets: &found.offsets };
        writer.write(0, query_count, lists);
        Ok(())
    }
}

/// Parts of the lists of pairs. Lists that were not requested are empty.
struct Lists<'a, T> {
    pairs: &'a mut [Pair],
    shifts: &'a mut [[i32; 3]],
    vectors: &'a mut [[T; 3]],
    squares: &'a mut [T],
}

impl<'a, T> Lists<'a, T> {
    fn split(self, at: usize) -> (Self, Self) {
        let pairs = self.pairs.split_at_mut(at);
        let shifts = self.shifts.split_at_mut(at.min(self.shifts.len()));
        let vectors = self.vectors.split_at_mut(at.min(self.vectors.len()));
        let squares = self.squares.split_at_mut(at.min(self.squares.len()));
        (
            Lists { pairs: pairs.0, shifts: shifts.0, vectors: vectors.0, squares: squares.0 },
            Lists { pairs: pairs.1, shifts: shifts.1, vectors: vectors.1, squares: squares.1 },
        )
    }
}

/// Writes rows.
struct Writer<'a, T> {
    search: &'a Search<'a, T>,
    chunks: &'a [ChunkRows],
    places: &'a [(u32, u64)],
    offsets: &'a [u64],
}

impl<T: Coordinate> Writer<'_, T> {
    /// Writes the rows of some queries, both halves in parallel.
    fn write(&self, first: usize, end: usize, lists: Lists<'_, T>) {
        if end - first <= TASK {
            return self.write_rows(first, end, lists);
        }
        let middle = first.midpoint(end);
        let (left, right) = lists.split((self.offsets[middle] - self.offsets[first]) as usize);
        rayon::join(|| self.write(first, middle, left), || self.write(middle, end, right));
    }

    fn write_rows(&self, first: usize, end: usize, lists: Lists<'_, T>) {
        let NeighbourOptions { vectors, squared_distances, .. } = *self.search.options;
        let mut at = 0;
        for query in first..end {
            let count = (self.offsets[query + 1] - self.offsets[query]) as usize;
            let (chunk, start) = self.places[query];
            let targets =
                self.chunks.get(chunk as usize).map_or(&[][..], |chunk| &chunk.targets[start as usize..][..count]);
            let row = at..at + count;
            at += count;
            let (pairs, shifts) =
                (&mut lists.pairs[row.clone()], lists.shifts.get_mut(row.clone()).unwrap_or_default());
            if self.search.images.is_identity() {
                for (pair, &target) in pairs.iter_mut().zip(targets) {
                    *pair = Pair { a: query as u32, b: target };
                }
                // A cell that repeats along no direction.
                shifts.fill([0; 3]);
            } else {
                for ((pair, shift), &target) in pairs.iter_mut().zip(shifts).zip(targets) {
                    let (point, of_pair) = self.search.point_and_shift(query as u32, target);
                    *pair = Pair { a: query as u32, b: point };
                    *shift = of_pair;
                }
            }
            if !(vectors || squared_distances) {
                continue;
            }
            for (at, &target) in row.zip(targets) {
                let (displacement, _) = self.search.displacement(query as u32, target);
                if let Some(vector) = lists.vectors.get_mut(at) {
                    *vector = displacement.vector();
                }
                if let Some(square) = lists.squares.get_mut(at) {
                    *square = displacement.square_at_most();
                }
            }
        }
    }
}
