//! Pairs in canonical order.

use rayon::prelude::*;

use crate::Pair;
use crate::cpu::radix::{PARTS, partition};

/// The longest list that is sorted with scratch memory of its length. A longer one is sorted in place.
const LONG: usize = 1 << 24;
/// The shortest list that is partitioned.
const SHORT: usize = 1 << 12;
/// A part with more pairs than this is sorted on all threads, if it has more than a quarter of all pairs.
const LARGE: usize = 1 << 17;

/// The bits of the digit by which a part is partitioned further: its histogram fits a first-level cache.
const DIGIT_BITS: u32 = 12;
/// The most pairs of a part that are sorted by comparisons alone.
const FEW: usize = 256;
/// The most pairs of one digit that are sorted by insertion: mostly there are a few, of one box.
const FEWEST: usize = 24;

/// Sorts pairs of `box_count` boxes by `(a, b)`. `other` is scratch memory; if it cannot be allocated, the
/// pairs are sorted in place, which takes longer.
pub fn canonical(pairs: &mut [Pair], other: &mut Vec<Pair>, box_count: u32) {
    let is_dealt_out = (SHORT..=LONG).contains(&pairs.len());
    let more = pairs.len().saturating_sub(other.len());
    if !is_dealt_out || other.try_reserve(more).is_err() {
        return pairs.par_sort_unstable_by_key(key);
    }
    other.resize(pairs.len(), Pair { a: 0, b: 0 });
    let shift = (32 - box_count.leading_zeros()).saturating_sub(PARTS.ilog2());
    let starts = partition(pairs, other, |pair| (pair.a >> shift) as usize);
    // One thread sorts a part, unless it has most of all pairs.
    let large = (pairs.len() / 4).max(LARGE);
    each_part(&starts, other, pairs, shift, large);
}

#[inline(always)]
fn key(pair: &Pair) -> u64 {
    u64::from(pair.a) << 32 | u64::from(pair.b)
}

/// Merges `others` into `pairs`, which must have the capacity. Both are ascending, and no element is in both.
pub fn merge<T: Copy + PartialOrd>(pairs: &mut Vec<T>, mut others: &[T]) {
    let mut remaining = pairs.len();
    pairs.extend_from_slice(others);
    // From the end down: overwritten elements are already moved.
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

/// Sorts `from` into `to`, with the two halves of the parts in parallel, recursively.
fn each_part(starts: &[usize], from: &mut [Pair], to: &mut [Pair], shift: u32, large: usize) {
    if starts.len() == 2 {
        return sort_part(from, to, shift, large);
    }
    let middle = starts.len() / 2;
    let at = starts[middle] - starts[0];
    let (from, to) = (from.split_at_mut(at), to.split_at_mut(at));
    rayon::join(
        || each_part(&starts[..=middle], from.0, to.0, shift, large),
        || each_part(&starts[middle..], from.1, to.1, shift, large),
    );
}

/// Sorts `from` into `to`: pairs whose `a` differ only in the last `shift` bits.
fn sort_part(from: &mut [Pair], to: &mut [Pair], shift: u32, large: usize) {
    if from.len() <= FEW || from.len() > large {
        to.copy_from_slice(from);
        return match to.len() <= FEW {
            true => to.sort_unstable_by_key(key),
            false => to.par_sort_unstable_by_key(key),
        };
    }
    let bits = shift.min(DIGIT_BITS);
    let digit = |pair: &Pair| (pair.a >> (shift - bits)) as usize & ((1 << bits) - 1);
    let mut ends = [0u32; 1 << DIGIT_BITS];
    let ends = &mut ends[..1 << bits];
    from.iter().for_each(|pair| ends[digit(pair)] += 1);
    let mut running = 0;
    for end in &mut *ends {
        running += std::mem::replace(end, running);
    }
    for pair in from {
        let place = &mut ends[digit(pair)];
        to[*place as usize] = *pair;
        *place += 1;
    }
    let mut first = 0;
    for &end in &*ends {
        sort_few(&mut to[first..end as usize]);
        first = end as usize;
    }
}

fn sort_few(pairs: &mut [Pair]) {
    if pairs.len() > FEWEST {
        return pairs.sort_unstable_by_key(key);
    }
    for i in 1..pairs.len() {
        let (pair, mut place) = (pairs[i], i);
        while place > 0 && pairs[place - 1] > pair {
            pairs[place] = pairs[place - 1];
            place -= 1;
        }
        pairs[place] = pair;
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
                // All kinds of crowds: everywhere, few boxes, one box but for some.
                for (most_a, shared) in [(box_count, 0), (box_count.min(7), 0), (box_count, 15)] {
                    let mut pairs: Vec<Pair> = (0..count)
                        .map(|i| Pair { a: if i & shared == 0 { random() % most_a } else { most_a / 2 }, b: random() })
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
