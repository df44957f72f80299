//! Mirror of `emit`: pairs from hit bits.

use super::giants::Joined;
use crate::Pair;

/// Counts the pairs in these words.
pub fn count(words: &[u32]) -> u64 {
    words.iter().map(|word| u64::from(word.count_ones())).sum()
}

/// Appends the pairs of a giant from the bits that `giants::test` found for it.
pub fn giants(words: &[u32], giant: u32, pairs: &mut Vec<Pair>) {
    for (k, &word) in words.iter().enumerate() {
        let mut left = word;
        while left != 0 {
            pairs.push(Pair::new(giant, 32 * k as u32 + left.trailing_zeros()));
            left &= left - 1;
        }
    }
}

/// Returns the pairs of giants that were joined with rows.
pub fn joined(all: &[Joined]) -> Vec<Pair> {
    all.iter().flat_map(|joined| &joined.pairs).copied().collect()
}
