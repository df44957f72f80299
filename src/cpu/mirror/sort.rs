//! Mirror of `sort`: a stable radix sort, four bits a pass. More bits a pass give the same order, so all variants have
//! this mirror.

use crate::constants::*;

/// Counts how often each digit occurs.
pub fn count(keys: &[u32], shift: u32) -> [u32; RADIX as usize] {
    let mut histogram = [0; RADIX as usize];
    for key in keys {
        histogram[digit(*key, shift)] += 1;
    }
    histogram
}

/// Returns where the keys of each digit go.
pub fn scan(histogram: &mut [u32; RADIX as usize]) {
    let mut running = 0;
    for count in histogram {
        running += std::mem::replace(count, running);
    }
}

/// Moves each key and its value to the place of its digit; equal digits keep their order.
pub fn scatter(
    shift: u32,
    offsets: &mut [u32; RADIX as usize],
    keys_in: &[u32],
    values_in: &[u32],
    keys_out: &mut [u32],
    values_out: &mut [u32],
) {
    for (key, value) in keys_in.iter().zip(values_in) {
        let place = &mut offsets[digit(*key, shift)];
        keys_out[*place as usize] = *key;
        values_out[*place as usize] = *value;
        *place += 1;
    }
}

pub use scatter as ballot;

/// Sorts by the low `bits`, in as many passes as they need.
pub fn sort(keys: &mut Vec<u32>, values: &mut Vec<u32>, bits: u32) {
    let mut other_keys = vec![0; keys.len()];
    let mut other_values = vec![0; values.len()];
    for pass in 0..bits.div_ceil(RADIX_BITS) {
        let shift = pass * RADIX_BITS;
        let mut offsets = count(keys, shift);
        scan(&mut offsets);
        scatter(shift, &mut offsets, keys, values, &mut other_keys, &mut other_values);
        std::mem::swap(keys, &mut other_keys);
        std::mem::swap(values, &mut other_values);
    }
}

fn digit(key: u32, shift: u32) -> usize {
    (key >> shift & (RADIX - 1)) as usize
}
