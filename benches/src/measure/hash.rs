//! Hashes of sets of pairs.

use broadsweep::Pair;

/// Returns a hash of a set of pairs that does not depend on their order, nor on the machine or the compiler.
pub fn hash(pairs: &[Pair]) -> u64 {
    // Mixed well, so that sums of different sets differ.
    let sum = |sum: u64, pair: &Pair| sum.wrapping_add(mix(u64::from(pair.a) << 32 | u64::from(pair.b)));
    pairs.iter().fold(pairs.len() as u64, sum)
}

/// Returns a hash of a list of hashes, in their order: from the hash of `all` before, and the `next`.
pub fn fold(all: u64, next: u64) -> u64 {
    mix(all).wrapping_add(next)
}

/// Mixes bits as splitmix64 does.
fn mix(x: u64) -> u64 {
    let mut x = x.wrapping_add(0x9e37_79b9_7f4a_7c15);
    x = (x ^ x >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    x = (x ^ x >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    x ^ x >> 31
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(list: &[(u32, u32)]) -> Vec<Pair> {
        list.iter().map(|&(a, b)| Pair { a, b }).collect()
    }

    #[test]
    fn the_hash_is_that_of_a_set() {
        let [one, other, less] = [&[(0, 1), (2, 3)][..], &[(2, 3), (0, 1)], &[(0, 1)]].map(|list| hash(&pairs(list)));
        assert_eq!(one, other);
        assert_ne!(one, less);
        assert_ne!(hash(&pairs(&[(0, 3), (1, 2)])), hash(&pairs(&[(0, 2), (1, 3)])));
        assert_ne!(hash(&pairs(&[(0, 1), (0, 1)])), less);
        assert_ne!(fold(one, less), fold(less, one));
    }
}
