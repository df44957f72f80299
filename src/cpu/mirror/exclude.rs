//! Mirror of `exclude`.

use crate::Pair;

/// Takes pairs apart that are to be excluded, and behind them the included ones: larger indices, and smaller ones. In place of what is no
/// pair of boxes there is `box_count`.
pub fn split(given: &[Pair], included: &[Pair], box_count: u32) -> (Vec<u32>, Vec<u32>) {
    let ordered = |pair: &Pair| match Pair::new(pair.a, pair.b) {
        Pair { a, b } if a < b && b < box_count => (b, a),
        _ => (box_count, box_count),
    };
    given.iter().chain(included).map(ordered).unzip()
}

/// Returns how many of the pairs have a smaller `a` than each box has, and behind the last one.
pub fn rows(a: &[u32], box_count: u32) -> Vec<u32> {
    (0..=box_count).map(|row| a.iter().filter(|&&a| a < row).count() as u32).collect()
}
