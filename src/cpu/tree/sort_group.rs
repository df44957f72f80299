//! The last divisions of the [order](super::order) of the leaves: 512 boxes become 64 leaves.
//!
//! A counting sort of quantised centers divides the boxes. A box on the wrong side of a division is close to it, and
//! queries stay exact.

use glam::Vec3A;

use super::node::WIDTH;

/// Boxes of a group.
pub const GROUP: usize = PART * WIDTH;
/// Boxes of a node of leaves.
const PART: usize = WIDTH * WIDTH;
/// The least extent whose inverse, times 2¹⁶, is finite.
const LEAST_EXTENT: f32 = 2e-34;

/// A box to sort.
#[repr(align(16))]
#[derive(Clone, Copy, Debug, Default)]
pub struct Item {
    /// The center. A coordinate that is not finite is +infinity, so such boxes follow the others.
    pub center: [f32; 3],
    pub id: u32,
}

/// The quantised center of a box, in 1/65,535 of the largest extent of the group; and its place in the group.
type Key = [u16; 4];

/// Lists the boxes of a group in the order of the leaves.
pub fn sort(items: &[Item; GROUP], ids: &mut [u32; GROUP]) {
    let [low, high] = bounds(items.iter().copied());
    let scale = Vec3A::splat(f32::from(u16::MAX)) / (high - low).max_element().max(LEAST_EXTENT);
    let last = (high - low) * scale;
    // The low bits of the sum are the rounded number.
    let rounded = |x: Vec3A| (x + Vec3A::splat((1u32 << 23) as f32)).to_array().map(|x| x.to_bits() as u16);
    let mut keys = [Key::default(); GROUP];
    for (place, (key, item)) in keys.iter_mut().zip(items).enumerate() {
        let [x, y, z] = rounded(((Vec3A::from_array(item.center) - low) * scale).min(last));
        *key = [x, y, z, place as u16];
    }
    divide::<GROUP, 256>(&mut keys, [[0; 3], rounded(last)]);
    for part in keys.as_chunks_mut::<PART>().0 {
        let (mut low, mut high) = ([u16::MAX; 3], [0; 3]);
        for key in part.iter() {
            for k in 0..3 {
                (low[k], high[k]) = (low[k].min(key[k]), high[k].max(key[k]));
            }
        }
        divide::<PART, 64>(part, [low, high]);
    }
    for (id, [_, _, _, place]) in ids.iter_mut().zip(keys) {
        *id = items[usize::from(place) % GROUP].id;
    }
}

/// Returns the bounds of the finite centers.
#[inline]
pub fn bounds(items: impl Iterator<Item = Item>) -> [Vec3A; 2] {
    items.fold([Vec3A::MAX, Vec3A::MIN], |[low, high], item| {
        let center = Vec3A::from_array(item.center);
        [low.min(center), high.max(Vec3A::select(center.cmplt(Vec3A::INFINITY), center, high))]
    })
}

/// Returns the axis of the largest number.
#[inline]
pub fn longest(extent: &[f32; 3]) -> usize {
    let k = usize::from(extent[1] > extent[0]);
    if extent[2] > extent[k] { 2 } else { k }
}

/// Divides boxes with centers from `low` to `high` in halves three times, into eight parts.
#[inline(never)]
fn divide<const COUNT: usize, const BINS: usize>(keys: &mut [Key; COUNT], [low, high]: [[u16; 3]; 2]) {
    let width = |k: usize| u32::from(high[k]) - u32::from(low[k]) + 1;
    let mut extent = [0, 1, 2].map(|k| width(k) as f32);
    let (mut other, mut sorted) = ([Key::default(); COUNT], None);
    let (mut from, mut to, mut is_other) = (&mut *keys, &mut other, false);
    for turn in 0..3 {
        let k = longest(&extent);
        extent[k] *= 0.5;
        if sorted == Some(k) {
            continue;
        }
        let scale = (((BINS >> turn) << 16) - 1) as u32 / width(k);
        let (low, bin) = (low[k], |x: u16, low: u16| (u32::from(x - low) * scale) >> 16);
        // A function per axis is faster.
        match k {
            0 => sort_parts::<COUNT, BINS>(from, to, turn, |[x, ..]| bin(*x, low)),
            1 => sort_parts::<COUNT, BINS>(from, to, turn, |[_, y, ..]| bin(*y, low)),
            _ => sort_parts::<COUNT, BINS>(from, to, turn, |[_, _, z, _]| bin(*z, low)),
        }
        std::mem::swap(&mut from, &mut to);
        (sorted, is_other) = (Some(k), !is_other);
    }
    if is_other {
        *keys = other;
    }
}

/// Sorts each of 2^`turn` parts by the bin of its keys. All parts together have `BINS` bins.
#[inline(never)]
fn sort_parts<const COUNT: usize, const BINS: usize>(
    from: &[Key; COUNT],
    to: &mut [Key; COUNT],
    turn: u32,
    bin: impl Fn(&Key) -> u32,
) {
    let (part_len, own_bins) = (COUNT >> turn, BINS >> turn);
    let mut bins = [0u16; COUNT];
    for (part, (bins, keys)) in bins.chunks_exact_mut(part_len).zip(from.chunks_exact(part_len)).enumerate() {
        for (own, key) in bins.iter_mut().zip(keys) {
            *own = (part * own_bins) as u16 + bin(key) as u16;
        }
    }
    let mut starts = [0u16; BINS];
    for &bin in &bins {
        starts[usize::from(bin) % BINS] += 1;
    }
    let mut running = 0;
    for start in &mut starts {
        running += std::mem::replace(start, running);
    }
    for (&bin, key) in bins.iter().zip(from) {
        let start = &mut starts[usize::from(bin) % BINS];
        to[usize::from(*start) % COUNT] = *key;
        *start += 1;
    }
}
