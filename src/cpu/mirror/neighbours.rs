//! Mirror of `neighbours`: the pairs by box.

use crate::Pair;

/// Counts the neighbours of all boxes before each of so many boxes, and the pairs (a, b) with an a before; and of all.
pub fn rows(pairs: &[Pair], box_count: u32) -> (Vec<u32>, Vec<u32>) {
    let below = |i: u32, of: fn(&Pair) -> u32| pairs.iter().filter(|pair| of(pair) < i).count() as u32;
    (0..=box_count).map(|i| (below(i, |pair| pair.a) + below(i, |pair| pair.b), below(i, |pair| pair.a))).unzip()
}

/// Lists the neighbours of each of so many boxes, ascending, one box after the other.
pub fn place(pairs: &[Pair], box_count: u32) -> Vec<u32> {
    let mut rows = vec![Vec::new(); box_count as usize];
    for pair in pairs {
        rows[pair.a as usize].push(pair.b);
        rows[pair.b as usize].push(pair.a);
    }
    rows.iter_mut().for_each(|row| row.sort_unstable());
    rows.concat()
}
