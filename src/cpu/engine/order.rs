//! Sorts pairs into canonical order.

use rayon::prelude::*;

use crate::Pair;
use crate::cpu::radix::{DIGIT_BITS, PARTS, each_part, partition, pass};

/// The longest list that is sorted with scratch memory of the same length. Longer lists are sorted in place.
const LONG: usize = 1 << 24;
/// The shortest list that is partitioned.
const SHORT: usize = 1 << 12;
/// The most pairs of a part that are sorted by comparisons.
const FEW: usize = 256;

/// Sorts pairs of `box_count` boxes by `(a, b)`. `other` is scratch memory; if it cannot be allocated, the
/// pairs are sorted in place, which takes longer.
pub fn canonical(pairs: &mut [Pair], other: &mut Vec<Pair>, box_count: u32) {
    let is_dealt_out = (SHORT..=LONG).contains(&pairs.len());
    let more = pairs.len().saturating_sub(other.len());
    if !is_dealt_out || other.try_reserve(more).is_err() {
        return pairs.par_sort_unstable_by_key(key);
    }
    other.resize(pairs.len(), Pair { a: 0, b: 0 });
    let index_bits = 32 - box_count.leading_zeros();
    let low_bits = index_bits.saturating_sub(PARTS.ilog2());
    let starts = partition(pairs, other, |pair| (pair.a >> low_bits) as usize);
    each_part(&starts, other, pairs, &|from, to| sort_part(from, to, index_bits, low_bits));
}

#[inline(always)]
fn key(pair: &Pair) -> u64 {
    u64::from(pair.a) << 32 | u64::from(pair.b)
}

/// Merges `others` into `pairs`, which must have the capacity. Both are ascending, and no element is in both.
pub fn merge<T: Copy + PartialOrd>(pairs: &mut Vec<T>, mut others: &[T]) {
    let mut remaining = pairs.len();
    pairs.extend_from_slice(others);
    // Merge from the end, so that overwritten elements are already moved.
    while let Some((&other, rest)) = others.split_last() {
        let place = remaining + rest.len();
        if remaining > 0 && pairs[remaining - 1] > other {
            remaining -= 1;
            pairs[place] = pairs[remaining];
        } else {
            pairs[place] = other;
            others = rest;
        }
    }
}

/// Copies the pairs of a part, sorted, to `to`. The sort begins with the last digit. In a part, `a` differs only in the
/// low bits.
fn sort_part<'a>(mut from: &'a mut [Pair], mut to: &'a mut [Pair], index_bits: u32, low_bits: u32) {
    if from.len() <= FEW {
        to.copy_from_slice(from);
        return to.sort_unstable_by_key(key);
    }
    let bits = index_bits + low_bits;
    // An odd number of passes ends in `to`.
    let passes = if bits <= 3 * DIGIT_BITS { 3 } else { 5 };
    let digit_bits = bits.div_ceil(passes);
    for shift in (0..passes).map(|pass| pass * digit_bits) {
        pass(from, to, digit_bits, |pair| (u64::from(pair.a) << index_bits | u64::from(pair.b)) >> shift);
        std::mem::swap(&mut from, &mut to);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_pairs_are_sorted() {
        let mut state = 1u64;
        let mut random = || {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as u32
        };
        for count in [0, 1, SHORT - 1, SHORT, 5 * SHORT, 300_000] {
            for box_count in [2, 200, 257, 5000, 1 << 20, 1 << 25, u32::MAX] {
                // First boxes: any box; one of few boxes; one box, except for a sixteenth of the pairs.
                for (most_a, shared) in [(box_count, 0), (box_count.min(7), 0), (box_count, 15)] {
                    let mut pairs: Vec<Pair> = (0..count)
                        .map(|i| Pair {
                            a: if i & shared == 0 { random() % most_a } else { most_a / 2 },
                            b: random() % box_count,
                        })
                        .collect();
                    let mut expected = pairs.clone();
                    expected.sort_unstable();
                    canonical(&mut pairs, &mut Vec::new(), box_count);
                    assert!(pairs == expected, "{count} pairs of {box_count} boxes, {most_a}, {shared}");
                }
            }
        }
    }
}
