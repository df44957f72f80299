//! Mirror of `sort`: a stable radix sort with `RADIX_BITS` bits per pass. The order does not depend on the bits per
//! pass, so both variants have this mirror.

use crate::base::constants::*;

/// Counts how often each digit of `digit_bits` bits occurs.
pub fn count(keys: &[u32], shift: u32, digit_bits: u32) -> Vec<u32> {
    let mut histogram = vec![0; 1 << digit_bits];
    for key in keys {
        histogram[digit(*key, shift, digit_bits)] += 1;
    }
    histogram
}

/// Moves each key and its value to the place of its digit. `histogram` has the count of each digit. Equal digits keep
/// their order.
pub fn scatter(
    shift: u32,
    histogram: &[u32],
    keys_in: &[u32],
    values_in: &[u32],
    keys_out: &mut [u32],
    values_out: &mut [u32],
) {
    let digit_bits = histogram.len().ilog2();
    let mut places: Vec<u32> = (0..histogram.len()).map(|digit| histogram[..digit].iter().sum()).collect();
    for (key, value) in keys_in.iter().zip(values_in) {
        let place = &mut places[digit(*key, shift, digit_bits)];
        keys_out[*place as usize] = *key;
        values_out[*place as usize] = *value;
        *place += 1;
    }
}

pub use scatter as ballot;

/// Sorts by the low `bits` bits, with one pass per digit of `RADIX_BITS` bits.
pub fn sort(keys: &mut Vec<u32>, values: &mut Vec<u32>, bits: u32) {
    let mut other_keys = vec![0; keys.len()];
    let mut other_values = vec![0; values.len()];
    for pass in 0..bits.div_ceil(RADIX_BITS) {
        let shift = pass * RADIX_BITS;
        let histogram = count(keys, shift, RADIX_BITS);
        scatter(shift, &histogram, keys, values, &mut other_keys, &mut other_values);
        std::mem::swap(keys, &mut other_keys);
        std::mem::swap(values, &mut other_values);
    }
}

fn digit(key: u32, shift: u32, digit_bits: u32) -> usize {
    (key >> shift & ((1 << digit_bits) - 1)) as usize
}
