//! A stable parallel radix sort that starts with the leading digit.
//!
//! The leading digit divides a list into parts that fit a cache. One thread sorts each part. So the sort passes over
//! memory twice; a sort from the last digit needs three or four passes.

use std::slice::IterMut;

use rayon::prelude::*;

/// The parts of one [`partition`].
pub const PARTS: usize = 1 << PART_BITS;
const PART_BITS: u32 = 8;
/// The most threads per partition. Each has a write position per part on the stack, 42 KiB in all.
const MOST_CHUNKS: usize = 8;
/// The fewest items per thread.
const CHUNK_MIN: usize = 1 << 14;
/// The most bits of a digit within a part. A part has two digits, so that the histograms of both digits and the items
/// fit a first-level cache.
pub const DIGIT_BITS: u32 = (32 - PART_BITS) / 2;
/// Up to this many items, a comparison sort is faster. The comparison sort needs only the stack as memory.
const FEW: usize = 256;

/// Copies `from` to `to`, sorted stably by `part_of`. Returns the start of each part, and the end of the last part.
pub fn partition<T: Copy + Send + Sync>(
    from: &[T],
    to: &mut [T],
    part_of: impl Fn(&T) -> usize + Sync,
) -> [usize; PARTS + 1] {
    let chunk_count = (from.len() / CHUNK_MIN).clamp(1, MOST_CHUNKS.min(2 * rayon::current_num_threads()));
    let chunk_len = from.len().div_ceil(chunk_count).max(1);
    let mut counts = [[0u32; PARTS]; MOST_CHUNKS];
    counts.par_iter_mut().zip(from.par_chunks(chunk_len)).for_each(|(counts, chunk)| {
        for item in chunk {
            counts[part_of(item)] += 1;
        }
    });
    let mut starts = [0; PARTS + 1];
    let mut places: [[IterMut<T>; PARTS]; MOST_CHUNKS] =
        std::array::from_fn(|_| std::array::from_fn(|_| IterMut::default()));
    let (len, mut rest) = (to.len(), to);
    for part in 0..PARTS {
        starts[part] = len - rest.len();
        for chunk in 0..chunk_count {
            let (own, after) = rest.split_at_mut(counts[chunk][part] as usize);
            places[chunk][part] = own.iter_mut();
            rest = after;
        }
    }
    starts[PARTS] = len - rest.len();
    places.par_iter_mut().zip(from.par_chunks(chunk_len)).for_each(|(places, chunk)| {
        for item in chunk {
            if let Some(place) = places[part_of(item)].next() {
                *place = *item;
            }
        }
    });
    starts
}

/// Sorts by the low `bits` of the upper 32 bits. `other` is scratch memory.
pub fn sort(items: &mut Vec<u64>, other: &mut Vec<u64>, bits: u32) {
    other.resize(items.len(), 0);
    sort_slices(items, other, bits);
    std::mem::swap(items, other);
}

/// Sorts `items` into `other`.
fn sort_slices(items: &mut [u64], other: &mut [u64], bits: u32) {
    let shift = 32 + bits.saturating_sub(PART_BITS);
    let starts = partition(items, other, |item| (item >> shift) as usize % PARTS);
    // A waiting thread may start another part on top of its stack. To bound the stack, only large parts, which are few,
    // are partitioned again.
    let large = (items.len() / 4).max(8 * CHUNK_MIN);
    let bits = bits.saturating_sub(PART_BITS);
    each_part(&starts, items, other, &|items, other| sort_part(items, other, bits, large));
}

/// Calls `each` with each nonempty part of two lists, on all threads. `starts` is the result of [`partition`].
pub fn each_part<T: Send>(
    starts: &[usize],
    one: &mut [T],
    other: &mut [T],
    each: &(impl Fn(&mut [T], &mut [T]) + Sync),
) {
    if one.is_empty() {
        return;
    }
    if starts.len() == 2 {
        return each(one, other);
    }
    let middle = starts.len() / 2;
    let at = starts[middle] - starts[0];
    let (one, other) = (one.split_at_mut(at), other.split_at_mut(at));
    rayon::join(
        || each_part(&starts[..=middle], one.0, other.0, each),
        || each_part(&starts[middle..], one.1, other.1, each),
    );
}

/// Sorts `other` by the low `bits` of the upper 32 bits.
fn sort_part(items: &mut [u64], other: &mut [u64], bits: u32, large: usize) {
    if other.len() <= FEW {
        other.sort_by_key(|item| item >> 32);
    } else if bits > PART_BITS && other.len() > large {
        // All threads sort a part that has a large share of the items.
        sort_slices(other, items, bits);
        other
            .par_chunks_mut(CHUNK_MIN)
            .zip(items.par_chunks(CHUNK_MIN))
            .for_each(|(to, from)| to.copy_from_slice(from));
    } else {
        let low_bits = bits / 2;
        pass(other, items, low_bits, |item| item >> 32);
        pass(items, other, bits - low_bits, |item| item >> (32 + low_bits));
    }
}

/// Runs one pass of a sort from the last digit: copies `from` to `to`, stably sorted by the low `bits` bits of `key`.
/// `bits` is at most [`DIGIT_BITS`].
#[inline(always)]
pub fn pass<T: Copy>(from: &[T], to: &mut [T], bits: u32, key: impl Fn(&T) -> u64) {
    let mut offsets = [0u32; 1 << DIGIT_BITS];
    let mask = (1 << bits) - 1;
    let digit = |item: &T| key(item) as usize & mask;
    for item in from {
        offsets[digit(item)] += 1;
    }
    let mut running = 0;
    for offset in &mut offsets[..=mask] {
        running += std::mem::replace(offset, running);
    }
    for item in from {
        let offset = &mut offsets[digit(item)];
        to[*offset as usize] = *item;
        *offset += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu;

    #[test]
    fn any_keys_sort_stably() {
        for n in [0, 1, 2, FEW, FEW + 1, CHUNK_MIN - 1, 3 * CHUNK_MIN + 1, 20 * CHUNK_MIN] {
            for bits in [1, 8, 9, 24, 31, 32] {
                // Distributions: uniform, few values, one value except for one item.
                for (mask, crowd) in [(u32::MAX, 0), (0x0700_0300, 0), (u32::MAX, 0xfeed_beef)] {
                    let key = |i: u32| if crowd > 0 && i != 7 { crowd } else { i.wrapping_mul(2_654_435_769) & mask };
                    let keep = u32::MAX >> (32 - bits);
                    let mut keys: Vec<u32> = (0..n as u32).map(|i| key(i) & keep).collect();
                    let mut values: Vec<u32> = (0..n as u32).collect();
                    let mut items: Vec<u64> =
                        keys.iter().zip(&values).map(|(&k, &v)| u64::from(k) << 32 | u64::from(v)).collect();
                    sort(&mut items, &mut Vec::new(), bits);
                    cpu::mirror::sort::sort(&mut keys, &mut values, bits);
                    let expected = keys.iter().zip(&values).map(|(&k, &v)| u64::from(k) << 32 | u64::from(v));
                    assert!(items.into_iter().eq(expected), "{n} keys of {bits} bits, {mask:x}, {crowd:x}");
                }
            }
        }
    }
}
