//! The search of one chunk of queries: cells near each cell, and the targets in reach of each query.

use std::ops::Range;

use glam::Vec4;

use super::grid::{Cell, Grid, ROWS};
use super::lanes::{LANES, Lane, LaneLimits, Limits, from_number, number_as_float};
use super::sorted::SortedPlaces;
use crate::neighbours::Coordinate;
use crate::neighbours::rows::ChunkRows;
use crate::neighbours::search::Search;

/// A search of queries among targets.
#[derive(Clone, Copy, Debug)]
pub struct Scan<'a, L, T> {
    pub grid: &'a Grid,
    pub queries: &'a SortedPlaces<L>,
    pub targets: &'a SortedPlaces<L>,
    pub limits: &'a Limits,
    pub search: &'a Search<'a, T>,
}

/// Memory for the places of targets in reach. Capacity for all targets of a query is ensured before the tests.
#[derive(Default)]
struct Hits {
    places: Vec<u32>,
    count: usize,
    has_undecided: bool,
}

/// The positions of the set bits of each [`LANES`]-bit number, ascending.
const POSITIONS: [[u32; LANES]; 1 << LANES] = {
    let mut table = [[0; LANES]; 1 << LANES];
    let mut bits = 0;
    while bits < 1 << LANES {
        let (mut count, mut lane) = (0, 0);
        while lane < LANES {
            if bits >> lane & 1 != 0 {
                table[bits][count] = lane as u32;
                count += 1;
            }
            lane += 1;
        }
        bits += 1;
    }
    table
};
/// The count of set bits of each number. Baseline x86-64 has no instruction for it.
const COUNTS: [u8; 1 << LANES] = {
    let mut table = [0; 1 << LANES];
    let mut bits = 0;
    while bits < 1 << LANES {
        table[bits] = (bits as u32).count_ones() as u8;
        bits += 1;
    }
    table
};

impl<L: Lane, T: Coordinate> Scan<'_, L, T> {
    /// Finds the targets of the queries in some cells.
    pub fn run(&self, cells: Range<usize>, found: &mut ChunkRows) {
        found.rows.clear();
        found.targets.clear();
        let limits = LaneLimits::from(self.limits);
        let (mut hits, mut ranges) = (Hits::default(), Vec::with_capacity(ROWS));
        let mut cursors = [None; ROWS];
        for pair in self.queries.cells[cells.start..cells.end + 1].windows(2) {
            self.ranges(pair[0].key, &mut cursors, &mut ranges);
            for at in pair[0].start as usize..pair[1].start as usize {
                self.query(at, &ranges, &limits, &mut hits);
                self.finish(at, &limits, &mut hits, found);
            }
        }
    }

    /// Lists the targets near a cell. A cursor per row holds the last range of the row.
    fn ranges(&self, key: u64, cursors: &mut [Option<[usize; 2]>; ROWS], ranges: &mut Vec<Range<usize>>) {
        let cells = &self.targets.cells[..];
        ranges.clear();
        self.grid.rows(key, |row, first, last| {
            let [start, end] = match cursors[row] {
                Some([start, end]) => [advance(cells, start, first), advance(cells, end, last + 1)],
                None => [first, last + 1].map(|key| cells.partition_point(|cell| cell.key < key)),
            };
            cursors[row] = Some([start, end]);
            let range = cells[start].start as usize..cells[end].start as usize;
            match ranges.last_mut() {
                Some(last) if last.end == range.start => last.end = range.end,
                _ if range.is_empty() => {}
                _ => ranges.push(range),
            }
        });
    }

    /// Tests a query against ranges of targets.
    #[inline]
    fn query(&self, at: usize, ranges: &[Range<usize>], limits: &LaneLimits, hits: &mut Hits) {
        let place = self.queries.place(at);
        let first = Vec4::splat(number_as_float(self.search.exclusion(self.queries.number(at)).first));
        hits.begin(ranges.iter().map(|range| range.len() + LANES).sum());
        let (mut count, mut undecided) = (0, 0);
        for range in ranges {
            let [x, y, z] = self.targets.places(range);
            let numbers = self.targets.numbers(range);
            let mut start = range.start as u32;
            let mut left = range.len();
            for (((x, y), z), numbers) in x.iter().zip(y).zip(z).zip(numbers) {
                let [mut within, new] = L::test(&place, [x, y, z], limits);
                within &= from_number(numbers, first);
                if left < LANES {
                    within &= (1 << left) - 1;
                }
                undecided |= within & new;
                let positions = POSITIONS[within as usize % POSITIONS.len()].map(|position| position + start);
                if let Some(places) = hits.places[count..].first_chunk_mut() {
                    *places = positions;
                }
                count += usize::from(COUNTS[within as usize % COUNTS.len()]);
                start += LANES as u32;
                left = left.saturating_sub(LANES);
            }
        }
        (hits.count, hits.has_undecided) = (count, undecided != 0);
    }

    /// Decides the undecided targets, and lists the targets of a query in ascending order.
    fn finish(&self, at: usize, limits: &LaneLimits, hits: &mut Hits, found: &mut ChunkRows) {
        let query = self.queries.number(at);
        let start = found.targets.len();
        let places = &hits.places[..hits.count];
        let numbers = places.iter().map(|&place| self.targets.number(place as usize));
        found.targets.extend(numbers);
        let mut count = hits.count;
        if hits.has_undecided {
            count = self.decide_each(at, limits, places, &mut found.targets[start..]);
        }
        let removed = self.search.exclusion(query).removed;
        if !removed.is_empty() {
            let row = &mut found.targets[start..start + count];
            count = retain(row, |_, target| !removed.contains(&target));
        }
        found.targets.truncate(start + count);
        sort_row(&mut found.targets[start..]);
        found.rows.push((query, count as u32));
    }

    #[cold]
    fn decide_each(&self, at: usize, limits: &LaneLimits, places: &[u32], row: &mut [u32]) -> usize {
        let (query, own) = (self.queries.number(at), self.queries.place(at));
        retain(row, |k, target| {
            let decided = L::decide(&own, &self.targets.place(places[k] as usize), limits);
            decided.unwrap_or_else(|| self.search.is_within(query, target))
        })
    }
}

impl Hits {
    fn begin(&mut self, most: usize) {
        if self.places.len() < most {
            self.places.resize(most, 0);
        }
    }
}

/// Moves the elements that satisfy a condition to the front, and returns their count.
fn retain(row: &mut [u32], mut keeps: impl FnMut(usize, u32) -> bool) -> usize {
    let mut count = 0;
    for k in 0..row.len() {
        let target = row[k];
        row[count] = target;
        count += usize::from(keeps(k, target));
    }
    count
}

/// Returns the first cell from `from` on whose key is at least `key`. The last cell has the largest key of all.
#[inline]
fn advance(cells: &[Cell], from: usize, key: u64) -> usize {
    for (step, cell) in cells[from..].iter().take(8).enumerate() {
        if cell.key >= key {
            return from + step;
        }
    }
    let mut step = 8;
    while from + step < cells.len() && cells[from + step].key < key {
        step *= 2;
    }
    let (start, end) = (from + step / 2, cells.len().min(from + step + 1));
    start + cells[start..end].partition_point(|cell| cell.key < key)
}

/// The longest row that is sorted by counts: the place of an element is the count of smaller elements. This method has
/// no data-dependent branches.
const RANKED: usize = 64;
/// Elements per comparison.
const RANK_STEP: usize = 8;

/// Sorts distinct numbers below 2³¹.
fn sort_row(row: &mut [u32]) {
    if row.len() > RANKED {
        return row.sort_unstable();
    }
    let mut padded = [i32::MAX; RANKED];
    for (padded, &number) in padded.iter_mut().zip(row.iter()) {
        *padded = number as i32;
    }
    let used = &padded[..row.len().next_multiple_of(RANK_STEP)];
    for &number in &padded[..row.len()] {
        let mut smaller = [0i32; RANK_STEP];
        for part in used.as_chunks::<RANK_STEP>().0 {
            for (smaller, other) in smaller.iter_mut().zip(part) {
                *smaller += i32::from(*other < number);
            }
        }
        row[smaller.iter().sum::<i32>() as usize] = number as u32;
    }
}
