//! Mirror of `order`: pairs sorted by `(a, b)`.

use super::sort::sort;
use crate::Pair;

/// Takes pairs apart: keys b, values a.
pub fn split(pairs: &[Pair]) -> (Vec<u32>, Vec<u32>) {
    pairs.iter().map(|pair| (pair.b, pair.a)).unzip()
}

/// Puts sorted pairs together again: keys a, values b.
pub fn join(keys: &[u32], values: &[u32], pairs: &mut [Pair]) {
    for (pair, (&a, &b)) in pairs.iter_mut().zip(keys.iter().zip(values)) {
        *pair = Pair { a, b };
    }
}

/// Sorts by b, then stably by a.
pub fn canonical(pairs: &mut [Pair], box_count: u32) {
    let bits = u32::BITS - box_count.leading_zeros();
    let (mut b, mut a) = split(pairs);
    sort(&mut b, &mut a, bits);
    sort(&mut a, &mut b, bits);
    join(&a, &b, pairs);
}
