//! Mirror of `order`: pairs sorted by `(a, b)`.

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

/// Sorts pairs in place, with the result of a sort by b and then stably by a, since pairs are distinct: lists of keys
/// and values would take three times the memory of the pairs.
pub fn canonical(pairs: &mut [Pair]) {
    pairs.sort_unstable();
}
