//! Mirror of `events`: compares the list of a step with the list of the last step.

use crate::Pair;
use crate::base::constants::{EVENT_CREATED, EVENT_TILE};

/// Returns two lists. The first has the place of each pair in the list of the last step, or `EVENT_CREATED`. The second
/// has a bit per pair of the last list: set if the pair was found. `name` returns the index of a box in the last step,
/// if it existed. In a join, the second box of a pair keeps its index.
pub fn find(
    pairs: &[Pair],
    last_pairs: &[Pair],
    is_join: bool,
    name: impl Fn(u32) -> Option<u32>,
) -> (Vec<u32>, Vec<u32>) {
    let mut found = vec![0; last_pairs.len().div_ceil(32)];
    let mut place_of = |pair: &Pair| {
        let a = name(pair.a)?;
        let named = if is_join { Pair { a, b: pair.b } } else { Pair::new(a, name(pair.b)?) };
        let place = last_pairs.binary_search(&named).ok()?;
        found[place / 32] |= 1 << (place % 32);
        Some(place as u32)
    };
    let before = pairs.iter().map(|pair| place_of(pair).unwrap_or(EVENT_CREATED)).collect();
    (before, found)
}

/// Returns two lists of one bit per pair of a step: whether the pair is created, and whether it persists and is not at
/// rest. Also counts both kinds per tile, and the found pairs of the last list per tile.
pub fn marks(
    pairs: &[Pair],
    before: &[u32],
    found: &[u32],
    rests: impl Fn(u32) -> bool,
) -> ([Vec<u32>; 2], Vec<[u32; 3]>) {
    let mut bits = [(); 2].map(|()| vec![0; pairs.len().div_ceil(32)]);
    let mut tiles = vec![[0; 3]; pairs.len().max(32 * found.len()).div_ceil(EVENT_TILE as usize)];
    for (i, (pair, &place)) in pairs.iter().zip(before).enumerate() {
        for (k, is) in class_of(place, pair, &rests).into_iter().enumerate() {
            bits[k][i / 32] |= u32::from(is) << (i % 32);
            tiles[i / EVENT_TILE as usize][k] += u32::from(is);
        }
    }
    for (word, bits) in found.iter().enumerate() {
        tiles[32 * word / EVENT_TILE as usize][2] += bits.count_ones();
    }
    (bits, tiles)
}

/// Lists the created pairs, and the persisting pairs that are not at rest.
pub fn list(pairs: &[Pair], before: &[u32], rests: impl Fn(u32) -> bool) -> (Vec<Pair>, Vec<Pair>) {
    let of = |kind: usize| {
        let pairs = pairs.iter().zip(before);
        pairs.filter(|(pair, place)| class_of(**place, pair, &rests)[kind]).map(|(pair, _)| *pair).collect()
    };
    (of(0), of(1))
}

/// Lists the pairs of the last step that are lost.
pub fn lost(last_pairs: &[Pair], found: &[u32]) -> Vec<Pair> {
    last_pairs.iter().zip(0..).filter(|(_, place)| !is_found(found, *place)).map(|(pair, _)| *pair).collect()
}

/// Returns whether a pair is created, and whether it persists and is not at rest.
fn class_of(place: u32, pair: &Pair, rests: impl Fn(u32) -> bool) -> [bool; 2] {
    let is_created = place == EVENT_CREATED;
    [is_created, !(is_created || rests(pair.a) && rests(pair.b))]
}

fn is_found(found: &[u32], place: u32) -> bool {
    found[place as usize / 32] >> (place % 32) & 1 != 0
}
