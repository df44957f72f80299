//! Mirror of `epoch`: which boxes left their grown boxes, which are searched with them, and what becomes of the pairs.

use crate::constants::*;
use crate::filters::grown;
use crate::layout::{Epoch, EpochParams};
use crate::{Aabb, Pair};

/// A slot without a box.
const NO_BOX: Aabb = Aabb::new([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
/// What stands for a box that is not there among those that come.
const NO_INPUT: Aabb = Aabb::new([f32::NAN; 3], [f32::NAN; 3]);
/// The most cells that a box is looked up in, and the exponent of the number of cells to either side of the origin.
const MOST_CELLS: u64 = 64;
const CELL_EXPONENTS: u32 = 28;

/// Puts boxes that moved in their places: of each its index, and the bits of its bounds.
pub fn put(moved: &[(u32, Aabb)], boxes: &mut [Aabb]) {
    for (i, aabb) in moved {
        boxes[*i as usize] = *aabb;
    }
}

/// Finds the boxes that moved, and those that left their grown boxes, or soon will where that counts in this step, and grows these
/// where they are. Returns what boxes did, 32 in a word of bits: moved, left, gone, 0.
pub fn check(boxes: &[Aabb], last: &mut [Aabb], fat: &mut [Aabb], epoch: &Epoch) -> Vec<[u32; 4]> {
    let mut moves = vec![[0; 4]; fat.len().div_ceil(32)];
    for (i, (last, fat)) in last.iter_mut().zip(fat).enumerate() {
        let (own, bit) = (&mut moves[i / 32], 1 << (i % 32));
        match boxes.get(i) {
            Some(now) => note_moved(now, last, fat, epoch, boxes.len(), own, bit),
            None if bits(fat) != bits(&NO_BOX) => {
                (*last, *fat) = (NO_INPUT, NO_BOX);
                own[0] |= bit;
                own[2] |= bit;
            }
            None => {}
        }
    }
    moves
}

/// Finds the same of boxes of which it is known that no others moved, of so many.
pub fn look(
    moved: &[(u32, Aabb)],
    box_count: usize,
    last: &mut [Aabb],
    fat: &mut [Aabb],
    epoch: &Epoch,
) -> Vec<[u32; 4]> {
    let mut moves = vec![[0; 4]; fat.len().div_ceil(32)];
    for (i, now) in moved {
        let (i, own, bit) = (*i as usize, &mut moves[*i as usize / 32], 1 << (i % 32));
        note_moved(now, &mut last[i], &mut fat[i], epoch, box_count, own, bit);
    }
    moves
}

/// Takes note of a box if it moved, and grows it anew where it leaves its grown box.
fn note_moved(
    now: &Aabb,
    last: &mut Aabb,
    fat: &mut Aabb,
    epoch: &Epoch,
    box_count: usize,
    moves: &mut [u32; 4],
    bit: u32,
) {
    if bits(now) == bits(last) {
        return;
    }
    let is_early = epoch.age % EPOCH_PERIOD == 1 && epoch.moved <= box_count as u32 / EPOCH_MOST_EARLY;
    let then = std::mem::replace(last, *now);
    moves[0] |= bit;
    let is_within = (0..3).all(|k| fat.min[k] <= now.min[k] && now.max[k] <= fat.max[k]);
    if now.is_valid() && (!is_within || is_early && is_finite(now) && leaves_soon(now, &then, fat)) {
        *fat = grown(now, margin(escape_margin(epoch.edge)));
        moves[1] |= bit;
    }
}

fn bits(aabb: &Aabb) -> [u32; 6] {
    bytemuck::cast(*aabb)
}

/// Adds what boxes did to what they did before. Returns the counts of each tile of slots: of boxes that left, that have left, that moved.
pub fn tally(moves: &[[u32; 4]], states: &mut [[u32; 4]]) -> Vec<[u32; 4]> {
    let mut tiles = vec![[0; 4]; (32 * states.len()).div_ceil(EPOCH_TILE as usize)];
    for (word, ([moved, left, gone, _], state)) in moves.iter().zip(states).enumerate() {
        let all = state[2] | left | gone;
        *state = [*moved, *left, all, moved | all];
        let tile = &mut tiles[32 * word / EPOCH_TILE as usize];
        tile.iter_mut().zip([*left, all, *moved]).for_each(|(count, bits)| *count += bits.count_ones());
    }
    tiles
}

/// Decides what a step does, of slots whose first are these boxes, with filters whose values have not
/// changed; and takes them into the sample. `counts` says how many of them left their grown boxes in this step, since the epoch began, and moved.
pub fn decide(boxes: &[Aabb], params: &EpochParams, counts: [u32; 3], sample: &mut [Aabb], last: &Epoch) -> Epoch {
    let EpochParams { slots, version, margin: chosen, .. } = *params;
    let mut edges = [0; 256];
    let mut speeds = [0; 256];
    for (k, then) in sample.iter_mut().enumerate() {
        let place = (u64::from((k as u32).wrapping_mul(0x9e37_79b9)) * u64::from(slots)) >> 32;
        let now = boxes.get(place as usize).copied().unwrap_or(NO_INPUT);
        if is_finite(&now) {
            edges[exponent_of((0..3).map(|axis| now.max[axis] - now.min[axis]))] += 1;
            if last.sampled == slots && is_finite(then) {
                let low = (0..3).map(|axis| (now.min[axis] - then.min[axis]).abs());
                let high = (0..3).map(|axis| (now.max[axis] - then.max[axis]).abs());
                speeds[exponent_of(low.chain(high))] += 1;
            }
        }
        *then = now;
    }
    let edge_count: u32 = edges.iter().sum();
    let speed_count: u32 = speeds.iter().sum();
    let edge = first_beyond(&edges, edge_count / 2).unwrap_or(0);
    let slow = speed_count - speed_count / EPOCH_FAST;
    let speed = slow.checked_sub(1).and_then(|most| first_beyond(&speeds, most));
    // The caller may know how fast boxes are; but not whether there is room.
    let is_slow =
        chosen != 0 && last.is_tight == 0 || speed.is_some_and(|speed| speed == 0 || speed + EPOCH_SLOW <= edge);
    let [escaped, left, moved] = counts;
    let own = Epoch { sampled: slots, escaped, left, moved, found: 0, fresh: 0, rest: 0, ..*last };
    let is_known = own.version == version && own.slots == slots;
    if is_known && escaped <= boxes.len() as u32 / EPOCH_MOST_ESCAPED && left <= slots / EPOCH_MOST_LEFT {
        let mode = if escaped == 0 { EPOCH_STAY } else { EPOCH_PART };
        return Epoch { mode, age: own.age + 1, ..own };
    }
    let (mut wait, mut next_wait) = (own.wait, own.next_wait);
    if is_known {
        next_wait = if own.age < EPOCH_YOUNG { longer_wait(own.next_wait) } else { 0 };
        wait = next_wait;
    }
    let own = Epoch { next_wait, wait, kept: 0, apart: 0, ..own };
    if wait > 0 || !is_slow {
        return Epoch { mode: EPOCH_NONE, version: 0, wait: wait.saturating_sub(1), ..own };
    }
    // Where there was no room for larger ones, boxes are grown by the least.
    let margin = match (own.is_tight, chosen) {
        (1, _) => first_margin(edge, 0),
        (_, 0) => first_margin(edge, speed.unwrap_or(0)),
        (_, chosen) => chosen,
    };
    Epoch { mode: EPOCH_BEGIN, version, slots, age: 0, edge, margin, ..own }
}

/// Marks the cells of the boxes that escaped: a bit for each hash, and a word that is 1 if one may meet boxes anywhere.
pub fn mark(fat: &[Aabb], states: &[[u32; 4]], edge: u32, cell_mask: u32, world: impl Fn(u32) -> u32) -> Vec<u32> {
    let anywhere = cell_mask as usize / 32 + 1;
    let mut marks = vec![0; anywhere + 1];
    for (i, fat) in (0..).zip(fat).filter(|(i, _)| is(states, *i, 1)) {
        match cells(fat, edge, cell_mask, world(i)) {
            None => marks[anywhere] = 1,
            Some(bits) => bits.into_iter().for_each(|bit| marks[bit as usize / 32] |= 1 << (bit % 32)),
        }
    }
    marks
}

/// Grows boxes as an epoch begins, in so many slots: all of them are searched.
pub fn grow(boxes: &[Aabb], slots: usize, exponent: u32) -> Vec<Aabb> {
    let grow = |aabb: &Aabb| if aabb.is_valid() { grown(aabb, margin(exponent)) } else { NO_BOX };
    let mut fat: Vec<Aabb> = boxes.iter().map(grow).collect();
    fat.resize(slots, NO_BOX);
    fat
}

/// Tells which boxes are searched while an epoch goes on: those that escaped, and those in marked cells.
pub fn select(fat: &[Aabb], states: &[[u32; 4]], marks: &[u32], edge: u32, world: impl Fn(u32) -> u32) -> Vec<bool> {
    let cell_mask = 32 * (marks.len() as u32 - 1) - 1;
    let is_marked = |bit: &u32| marks[*bit as usize / 32] >> (bit % 32) & 1 != 0;
    let select = |(i, fat): (u32, &Aabb)| {
        let may_meet = is(states, i, 1)
            || marks.last() == Some(&1)
            || cells(fat, edge, cell_mask, world(i)).is_none_or(|bits| bits.iter().any(is_marked));
        fat.is_valid() && may_meet
    };
    (0..).zip(fat).map(select).collect()
}

/// Returns the boxes that are searched, one behind the other, and the slot of each.
pub fn gather(fat: &[Aabb], is_searched: &[bool]) -> (Vec<Aabb>, Vec<u32>) {
    let ids = (0..).zip(is_searched).filter(|(_, is_searched)| **is_searched).map(|(i, _)| i);
    ids.map(|i: u32| (fat[i as usize], i)).unzip()
}

/// Returns pairs of boxes that lie one behind the other as pairs of slots.
pub fn of_slots(pairs: &[Pair], ids: &[u32]) -> Vec<Pair> {
    pairs.iter().map(|pair| Pair { a: ids[pair.a as usize], b: ids[pair.b as usize] }).collect()
}

/// Tells which pairs have a box that escaped in this step (`is_fresh`), or which have none.
pub fn part(pairs: &[Pair], states: &[[u32; 4]], is_fresh: bool) -> Vec<bool> {
    pairs.iter().map(|pair| (is(states, pair.a, 1) || is(states, pair.b, 1)) == is_fresh).collect()
}

/// Lists the pairs that stay.
pub fn list(pairs: &[Pair], stays: &[bool]) -> Vec<Pair> {
    pairs.iter().zip(stays).filter(|(_, stays)| **stays).map(|(pair, _)| *pair).collect()
}

/// Merges two ascending lists.
pub fn merge(rest: &[Pair], fresh: &[Pair]) -> Vec<Pair> {
    let mut merged = [rest, fresh].concat();
    merged.sort_unstable();
    merged
}

/// Tells how many pairs of a step come before each 32 that are kept, within their tile: of those that stay, and of `apart`, and how many
/// of these come between them; and counts both for each tile. `between` counts the pairs of `apart` by the 32 that they come before.
pub fn count(stays: &[u32], between: &[u32]) -> (Vec<[u32; 4]>, Vec<[u32; 2]>) {
    let mut counts = vec![[0; 2]; stays.len().div_ceil(32)];
    let rank = |(word, (stays, between)): (usize, (&u32, &u32))| {
        let [stayed, came] = &mut counts[word / 32];
        let rank = [*stayed, *came, *between, 0];
        *stayed += stays.count_ones();
        *came += between;
        rank
    };
    let ranks = stays.iter().zip(between).enumerate().map(rank).collect();
    (ranks, counts)
}

/// Counts how many pairs of `apart` come before a pair of each 32 that are kept, and not before one of the 32 in front of them.
pub fn between(kept: &[Pair], apart: &[Pair]) -> Vec<u32> {
    let mut between = vec![0; 32 * kept.len().div_ceil(EVENT_TILE as usize)];
    let places = apart.iter().map(|pair| kept.partition_point(|kept| kept < pair));
    places.filter(|place| *place < kept.len()).for_each(|place| between[place / 32] += 1);
    between
}

/// Tells which pairs overlap as the boxes are now, of those that are kept: they did or did not in the last step (`last`), and have no
/// box that left; all are tested where the epoch begins.
pub fn test(pairs: &[Pair], boxes: &[Aabb], last: &[bool], states: &[[u32; 4]], begins: bool) -> Vec<bool> {
    let either = |pair: &Pair, what: usize| is(states, pair.a, what) || is(states, pair.b, what);
    let test = |(pair, last): (&Pair, &bool)| match either(pair, 2) {
        true => false,
        false if begins || either(pair, 0) => meet(pair, boxes),
        false => *last,
    };
    pairs.iter().zip(last).map(test).collect()
}

/// Tells which pairs overlap as the boxes are now, of those of boxes that left.
pub fn apart(pairs: &[Pair], boxes: &[Aabb]) -> Vec<bool> {
    pairs.iter().map(|pair| meet(pair, boxes)).collect()
}

fn meet(pair: &Pair, boxes: &[Aabb]) -> bool {
    let of = |i: u32| boxes.get(i as usize).filter(|aabb| aabb.is_valid());
    of(pair.a).zip(of(pair.b)).is_some_and(|(a, b)| a.overlaps(b))
}

fn is_finite(aabb: &Aabb) -> bool {
    aabb.is_valid() && aabb.min.iter().chain(&aabb.max).all(|bound| bound.is_finite())
}

/// Tells whether a box that goes on as it did leaves its grown box soon.
fn leaves_soon(now: &Aabb, then: &Aabb, fat: &Aabb) -> bool {
    let exponent = |length: f32| length.to_bits() >> 23 & 0xff;
    let exponents = |of: [[f32; 3]; 4]| {
        let [a, b, c, d] = of;
        (0..3).flat_map(move |k| [exponent(a[k] - b[k]), exponent(c[k] - d[k])]).collect::<Vec<_>>()
    };
    let way = exponents([now.min, then.min, now.max, then.max]);
    let gap = exponents([now.min, fat.min, fat.max, now.max]);
    gap.into_iter().min() < way.into_iter().max().map(|way| way + EPOCH_SOON)
}

/// Tells whether a box did this: moved, left in this step, or since the epoch began.
fn is(states: &[[u32; 4]], i: u32, what: usize) -> bool {
    states[i as usize / 32][what] >> (i % 32) & 1 != 0
}

fn margin(exponent: u32) -> f32 {
    f32::from_bits(exponent << 23 | 0x40_0000)
}

fn escape_margin(edge: u32) -> u32 {
    edge.max(3) - 2
}

fn first_margin(edge: u32, speed: u32) -> u32 {
    let usual = edge.max(5);
    (speed + 3).clamp(usual - 4, usual - 3)
}

fn longer_wait(last: u32) -> u32 {
    (2 * last).clamp(1, EPOCH_LONGEST_WAIT)
}

/// Returns the exponent of the largest of some lengths.
fn exponent_of(lengths: impl Iterator<Item = f32>) -> usize {
    lengths.fold(0.0, f32::max).to_bits() as usize >> 23 & 0xff
}

/// Returns the first exponent by which the sum of the counts passes `most`.
fn first_beyond(counts: &[u32; 256], most: u32) -> Option<u32> {
    let mut sum = 0;
    let passes = |count: &u32| {
        sum += count;
        sum > most
    };
    counts.iter().position(passes).map(|exponent| exponent as u32)
}

/// Returns the bits of the cells of a box; `None` where it may meet boxes anywhere.
fn cells(fat: &Aabb, edge: u32, cell_mask: u32, world: u32) -> Option<Vec<u32>> {
    if !fat.is_valid() {
        return Some(Vec::new());
    }
    let exponent = edge.clamp(1, 250) + 1;
    let reach = |bound: &f32| bound.to_bits() >> 23 & 0xff;
    let is_far = fat.min.iter().chain(&fat.max).any(|bound| reach(bound) >= (exponent + CELL_EXPONENTS).min(255));
    if is_far || world == WORLD_GLOBAL {
        return None;
    }
    let size = 2f64.powi(exponent as i32 - 127);
    let cell = |bound: f32| (f64::from(bound) / size).floor() as i64;
    let (first, last) = (fat.min.map(cell), fat.max.map(cell));
    let spans: [u64; 3] = std::array::from_fn(|k| (last[k] - first[k] + 1) as u64);
    if spans.iter().any(|span| *span > MOST_CELLS) || spans.iter().product::<u64>() > MOST_CELLS {
        return None;
    }
    let mut bits = Vec::new();
    for z in first[2]..=last[2] {
        for y in first[1]..=last[1] {
            for x in first[0]..=last[0] {
                bits.push(hash([x, y, z].map(|cell| cell as u32), world) & cell_mask);
            }
        }
    }
    Some(bits)
}

fn hash([x, y, z]: [u32; 3], world: u32) -> u32 {
    let mixed = x.wrapping_mul(0x9e37_79b1) ^ y.wrapping_mul(0x85eb_ca77) ^ z.wrapping_mul(0xc2b2_ae3d);
    let mut hash = mixed ^ world.wrapping_mul(0x27d4_eb2f);
    hash = (hash ^ hash >> 15).wrapping_mul(0x2c1b_3c6d);
    hash = (hash ^ hash >> 12).wrapping_mul(0x297a_2d39);
    hash ^ hash >> 15
}
