//! Mirror of `exclude`: excluded pairs by box.

use crate::Pair;

/// Splits the excluded pairs, then the included pairs, into larger and smaller indices. Both are `box_count` for an
/// invalid pair.
pub fn split(external: &[Pair], included: &[Pair], box_count: u32) -> (Vec<u32>, Vec<u32>) {
    let ordered = |pair: &Pair| match Pair::new(pair.a, pair.b) {
        Pair { a, b } if a < b && b < box_count => (b, a),
        _ => (box_count, box_count),
    };
    external.iter().chain(included).map(ordered).unzip()
}

/// Returns the count of pairs with a smaller `a` than each box, and the pair count at the end.
pub fn rows(a: &[u32], box_count: u32) -> Vec<u32> {
    (0..=box_count).map(|row| a.iter().filter(|&&a| a < row).count() as u32).collect()
}
