//! Pairs in canonical order.

use rayon::prelude::*;

use crate::Pair;
use crate::cpu::radix::{PARTS, partition};

/// The longest list that is sorted with another of its length; a longer one is sorted where it is.
const LONG: usize = 1 << 24;
/// The shortest list that is worth dealing out.
const SHORT: usize = 1 << 12;

/// Sorts pairs of `box_count` boxes by `(a, b)`. `other` is a place to write; where there is no memory for it, the
/// pairs are sorted where they are, which takes longer.
pub fn canonical(pairs: &mut Vec<Pair>, other: &mut Vec<Pair>, box_count: u32) {
    let key = |pair: &Pair| u64::from(pair.a) << 32 | u64::from(pair.b);
    let is_dealt_out = (SHORT..=LONG).contains(&pairs.len());
    let more = pairs.len().saturating_sub(other.len());
    if !is_dealt_out || other.try_reserve(more).is_err() {
        return pairs.par_sort_unstable_by_key(key);
    }
    other.resize(pairs.len(), Pair { a: 0, b: 0 });
    let shift = (32 - box_count.leading_zeros()).saturating_sub(PARTS.ilog2());
    let starts = partition(pairs, other, |pair| (pair.a >> shift) as usize);
    each_part(&starts, other, &key);
    std::mem::swap(pairs, other);
}

/// Merges `others` into `pairs`, which has room for them. Both are ascending, and nothing is in both.
pub fn merge<T: Copy + PartialOrd>(pairs: &mut Vec<T>, mut others: &[T]) {
    let mut left = pairs.len();
    pairs.extend_from_slice(others);
    // From the end down: what is overwritten has been moved.
    while let Some((&other, rest)) = others.split_last() {
        let place = left + rest.len();
        if left > 0 && pairs[left - 1] > other {
            left -= 1;
            pairs[place] = pairs[left];
        } else {
            pairs[place] = other;
            others = rest;
        }
    }
}

fn each_part(starts: &[usize], pairs: &mut [Pair], key: &(impl Fn(&Pair) -> u64 + Sync)) {
    if starts.len() == 2 {
        return pairs.par_sort_unstable_by_key(key);
    }
    let middle = starts.len() / 2;
    let (left, right) = pairs.split_at_mut(starts[middle] - starts[0]);
    rayon::join(|| each_part(&starts[..=middle], left, key), || each_part(&starts[middle..], right, key));
}
