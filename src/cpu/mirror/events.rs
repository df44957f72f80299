//! Mirror of `events`: the list of a step compared with the one before.

use crate::Pair;
use crate::constants::{EVENT_BLOCK, EVENT_CREATED, EVENT_SPAN};

/// Finds where in the list of the last step the pairs of each span begin; and behind them, where it ends.
pub fn ends(pairs: &[Pair], last_pairs: &[Pair]) -> Vec<u32> {
    let begin = |span: &[Pair]| last_pairs.partition_point(|last| *last < span[0]) as u32;
    pairs.chunks(EVENT_SPAN as usize).map(begin).chain([last_pairs.len() as u32]).collect()
}

/// Finds the place of each pair in the list of the last step, or `EVENT_CREATED`, and which pairs of that list were found, as
/// bits. `name` returns the index that a box had, if it was there. In a join, the second box of a pair is of a set that stays.
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

/// Tells of each 32 pairs of both lists which are created, persist and are not at rest, and are lost, as bits, and how many of each
/// come before them within their tile; and counts those of each tile.
pub fn count(
    pairs: &[Pair],
    before: &[u32],
    last_count: u32,
    found: &[u32],
    rests: impl Fn(u32) -> bool,
) -> (Vec<[[u32; 4]; 2]>, Vec<[u32; 4]>) {
    let length = (pairs.len() as u32).max(last_count);
    let mut words = vec![[[0; 4]; 2]; length.div_ceil(32) as usize];
    for (i, (pair, &place)) in pairs.iter().zip(before).enumerate() {
        let [created, persisting] = class_of(place, pair, &rests);
        words[i / 32][0][0] |= u32::from(created) << (i % 32);
        words[i / 32][0][1] |= u32::from(persisting) << (i % 32);
    }
    for place in (0..last_count).filter(|place| !is_found(found, *place)) {
        words[place as usize / 32][0][2] |= 1 << (place % 32);
    }
    let mut counts = vec![[0; 4]; length.div_ceil(EVENT_BLOCK) as usize];
    for (words, count) in words.chunks_mut(EVENT_BLOCK as usize / 32).zip(&mut counts) {
        for [bits, ranks] in words {
            *ranks = *count;
            count.iter_mut().zip(bits).for_each(|(count, bits)| *count += bits.count_ones());
        }
    }
    (words, counts)
}

/// Sums the counts of the tiles before each tile, and of all.
pub fn scan(tiles: &[[u32; 4]]) -> (Vec<[u32; 4]>, [u32; 4]) {
    let mut running = [0; 4];
    let before = tiles.iter().map(|tile| {
        let before = running;
        running.iter_mut().zip(tile).for_each(|(sum, count)| *sum += count);
        before
    });
    (before.collect(), running)
}

/// Lists the pairs that are created, and those that persist and are not at rest.
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

/// Tells whether a pair is created, and whether it persists and is not at rest.
fn class_of(place: u32, pair: &Pair, rests: impl Fn(u32) -> bool) -> [bool; 2] {
    let is_created = place == EVENT_CREATED;
    [is_created, !(is_created || rests(pair.a) && rests(pair.b))]
}

fn is_found(found: &[u32], place: u32) -> bool {
    found[place as usize / 32] >> (place % 32) & 1 != 0
}
