//! Mirror of `emit`: pairs from hit bits.

use std::ops::Range;

use super::sweep::walk;
use crate::Pair;
use crate::constants::ENTRY_BOX;

/// Pairs in these words.
pub fn scan(words: &[u32]) -> u64 {
    words.iter().map(|word| u64::from(word.count_ones())).sum()
}

/// Appends the pairs that `sweep::test` found in `range` of the path.
pub fn sweep(words: &[u32], entries: &[u32], offsets: &[u64], range: Range<u64>, pairs: &mut Vec<Pair>) {
    for (bit, (a, b)) in walk(offsets, range).enumerate() {
        if words[bit / 32] >> (bit % 32) & 1 == 1 {
            pairs.push(Pair::new(entries[a] & ENTRY_BOX, entries[b] & ENTRY_BOX));
        }
    }
}

/// Appends the pairs that `giants::test` found for one giant.
pub fn giants(words: &[u32], giant: u32, pairs: &mut Vec<Pair>) {
    for (k, &word) in words.iter().enumerate() {
        let mut left = word;
        while left != 0 {
            pairs.push(Pair::new(giant, 32 * k as u32 + left.trailing_zeros()));
            left &= left - 1;
        }
    }
}
