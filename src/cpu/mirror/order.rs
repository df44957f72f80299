//! Mirror of `order`: pairs row by row, in order within each row.

use crate::Pair;
use crate::base::constants::{ORDER_ROWS, ORDER_TILE};

/// Lists the elements of all rows as (row, other box): one per pair, or two per pair if `ways` is 2.
fn elements(pairs: &[Pair], ways: u32) -> impl Iterator<Item = (u32, u32)> {
    pairs.iter().flat_map(move |pair| [(pair.a, pair.b), (pair.b, pair.a)].into_iter().take(ways as usize))
}

/// Writes the element count of row i to `offsets[i + 1]`. `offsets` must have `rows + 1` zeros.
pub fn count(pairs: &[Pair], ways: u32, offsets: &mut [u32]) {
    for (row, _) in elements(pairs, ways) {
        offsets[row as usize + 1] += 1;
    }
}

/// Returns the sums of sizes of `ORDER_ROWS` rows each.
pub fn sums(offsets: &[u32]) -> Vec<u32> {
    offsets[1..].chunks(ORDER_ROWS as usize).map(|sizes| sizes.iter().sum()).collect()
}

/// Replaces the sizes of rows by their starts. Returns the row of the first element of each tile.
pub fn rows(offsets: &mut [u32]) -> Vec<u32> {
    let (mut begin, mut tile_rows) = (0, Vec::new());
    for (row, offset) in offsets[1..].iter_mut().enumerate() {
        let behind = begin + *offset;
        tile_rows.extend((begin.div_ceil(ORDER_TILE)..behind.div_ceil(ORDER_TILE)).map(|_| row as u32));
        *offset = begin;
        begin = behind;
    }
    tile_rows
}

/// Writes the other boxes into rows. Replaces the start of row i, at place i + 1, by its end.
pub fn scatter(pairs: &[Pair], ways: u32, offsets: &mut [u32], others: &mut [u32]) {
    for (row, other) in elements(pairs, ways) {
        let place = &mut offsets[row as usize + 1];
        others[*place as usize] = other;
        *place += 1;
    }
}

/// Sorts each row.
pub fn sort(offsets: &[u32], others: &mut [u32]) {
    for ends in offsets.windows(2) {
        others[ends[0] as usize..ends[1] as usize].sort_unstable();
    }
}

/// Sorts pairs in place.
pub fn canonical(pairs: &mut [Pair]) {
    pairs.sort_unstable();
}
