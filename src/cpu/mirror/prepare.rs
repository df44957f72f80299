//! Mirror of `prepare`.

use crate::Aabb;
use crate::filters::Kept;
use crate::filters::{WHOLE_SPACE, grown};
use crate::layout::Params;

/// Returns the parameters of a search of `count` boxes, where `given` has the most that there may be.
pub fn count(given: Params, count: u32) -> Params {
    if count > given.box_count {
        return Params { box_count: 0, is_beyond: 1, ..given };
    }
    Params { box_count: count, ..given }
}

/// Puts other values in a list by box from box `first` on. Flags are bits, 32 to a word, which begin at word `place`.
pub fn filter(words: &mut [u32], place: usize, first: usize, given: &[u32], kept: Kept) {
    for (i, &value) in (first..).zip(given) {
        let margin = f32::from_bits(value);
        let is_margin = margin >= 0.0 && margin.is_finite();
        match kept {
            Kept::Words => words[place + i] = value,
            Kept::Margins if value == (-0f32).to_bits() => words[place + i] = 0,
            Kept::Margins => words[place + i] = if is_margin { value } else { f32::NAN.to_bits() },
            Kept::Flags if value != 0 => words[place + i / 32] |= 1 << (i % 32),
            Kept::Flags => words[place + i / 32] &= !(1 << (i % 32)),
        }
    }
}

/// Returns the boxes grown by their margins, and the whole space where the bit of one is set. What lies beyond the end
/// of `margins` or `half_space_bits` counts as zero.
pub fn boxes(boxes: &[Aabb], margins: &[f32], half_space_bits: &[u32]) -> Vec<Aabb> {
    let is_half_space = |i: usize| half_space_bits.get(i / 32).is_some_and(|word| word >> (i % 32) & 1 != 0);
    let prepared = |(i, aabb): (usize, &Aabb)| match margins.get(i) {
        _ if is_half_space(i) => WHOLE_SPACE,
        Some(&margin) => grown(aabb, margin),
        None => *aabb,
    };
    boxes.iter().enumerate().map(prepared).collect()
}
