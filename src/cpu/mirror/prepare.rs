//! Mirror of `prepare`: filters, parameters and boxes from values in buffers.

use std::collections::HashMap;

use crate::Aabb;
use crate::base::constants::{BEYOND_BOXES, BEYOND_FILTERS};
use crate::base::layout::Params;
use crate::filters::{HalfSpace, ValueFormat, WHOLE_SPACE, padded, padded_sphere};

/// Returns the parameters of a search of `count` boxes; of no boxes if filters were refused. `max_params` has the
/// largest allowed count.
pub fn count(max_params: Params, count: Option<u32>, is_refused: bool) -> Params {
    let count = count.unwrap_or(max_params.box_count);
    if is_refused {
        Params { box_count: 0, is_beyond: BEYOND_FILTERS, ..max_params }
    } else if count > max_params.box_count {
        Params { box_count: 0, is_beyond: BEYOND_BOXES, ..max_params }
    } else {
        Params { box_count: count, ..max_params }
    }
}

/// Writes the numbers of external worlds to their list, from box `first` on. `world_ids` has the numbers that the host
/// assigned, from 0 on.
pub fn worlds(words: &mut [u32], place: usize, first: usize, external: &[u32], world_ids: &[[u32; 2]]) {
    let numbers: HashMap<u32, u32> = world_ids.iter().map(|&[id, number]| (id, number)).collect();
    let count = numbers.len() as u32;
    // Known worlds have numbers below `count`. An unknown world has its id as number, unless the id is below `count`.
    // Then it gets a free number of at least `count`: the id of a known world. No box has this id as number, since
    // boxes of known worlds have a number below `count`.
    let occupied = (0..count).filter(|id| !numbers.contains_key(id));
    let mut free: Vec<u32> = numbers.keys().copied().filter(|id| *id >= count).collect();
    free.sort_unstable();
    let swapped: HashMap<u32, u32> = occupied.zip(free).collect();
    for (word, id) in words[place + first..].iter_mut().zip(external) {
        *word = numbers.get(id).or(swapped.get(id)).copied().unwrap_or(*id);
    }
}

/// Copies external half-spaces to their list, from index `first` on. An invalid half-space becomes an empty half-space.
pub fn planes(words: &mut [u32], place: usize, first: usize, external: &[[f32; 4]]) {
    for (word, &[x, y, z, offset]) in words[place + 4 * first..].chunks_mut(4).zip(external) {
        let half_space = HalfSpace { index: 0, normal: [x, y, z], offset };
        let empty = HalfSpace { index: 0, normal: [0.0; 3], offset: -1.0 };
        word.copy_from_slice(&if half_space.is_valid() { half_space } else { empty }.bits());
    }
}

/// Copies external spheres to their list, from box `first` on, padded by the margins of the boxes. An invalid sphere
/// becomes a sphere without points.
pub fn spheres(words: &mut [u32], place: usize, first: usize, external: &[[f32; 4]], margins: &[f32]) {
    for ((i, word), &sphere) in (first..).zip(words[place + 4 * first..].chunks_mut(4)).zip(external) {
        let is_valid = sphere[..3].iter().all(|c| c.is_finite()) && sphere[3] >= 0.0;
        let [x, y, z, radius] = padded_sphere(sphere, margins.get(i).copied().unwrap_or(0.0));
        let radius = if is_valid { radius } else { f32::NAN };
        word.copy_from_slice(&[x, y, z, radius].map(f32::to_bits));
    }
}

/// Returns the boxes of points, and writes their spheres to a list. Without `radius`, each point has its own radius.
pub fn points(words: &mut [u32], place: usize, points: &[[f32; 4]], radius: Option<f32>) -> Vec<Aabb> {
    let words = words[place..].chunks_mut(4);
    let of_point = |(word, &[x, y, z, own]): (&mut [u32], &[f32; 4])| {
        let radius = radius.unwrap_or(own);
        word.copy_from_slice(&[x, y, z, radius.abs()].map(f32::to_bits));
        let is_valid = [x, y, z, radius].iter().all(|c| c.is_finite()) && radius >= 0.0;
        if is_valid {
            padded(&Aabb::new([x, y, z], [x, y, z]), radius)
        } else {
            Aabb::new([f32::NAN; 3], [f32::NAN; 3])
        }
    };
    words.zip(points).map(of_point).collect()
}

/// Copies external values to a list by box, from box `first` on. Flags are bits, 32 to a u32, from index `place` on.
pub fn filter(words: &mut [u32], place: usize, first: usize, external: &[u32], format: ValueFormat) {
    for (i, &value) in (first..).zip(external) {
        let margin = f32::from_bits(value);
        let is_margin = margin >= 0.0 && margin.is_finite();
        match format {
            ValueFormat::U32 | ValueFormat::Spheres => words[place + i] = value,
            ValueFormat::Margins if value == (-0f32).to_bits() => words[place + i] = 0,
            ValueFormat::Margins => words[place + i] = if is_margin { value } else { f32::NAN.to_bits() },
            ValueFormat::Flags if value != 0 => words[place + i / 32] |= 1 << (i % 32),
            ValueFormat::Flags => words[place + i / 32] &= !(1 << (i % 32)),
        }
    }
}

/// Returns the boxes padded by their margins, or the whole space if the bit of a box is set. Values beyond the end
/// of `margins` or `half_space_bits` count as zero.
pub fn boxes(boxes: &[Aabb], margins: &[f32], half_space_bits: &[u32]) -> Vec<Aabb> {
    let is_half_space = |i: usize| half_space_bits.get(i / 32).is_some_and(|word| word >> (i % 32) & 1 != 0);
    let prepared = |(i, aabb): (usize, &Aabb)| match margins.get(i) {
        _ if is_half_space(i) => WHOLE_SPACE,
        Some(&margin) => padded(aabb, margin),
        None => *aabb,
    };
    boxes.iter().enumerate().map(prepared).collect()
}
