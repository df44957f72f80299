//! The values of lists by box, and their format on the GPU.

use std::borrow::Cow;
use std::ops::Range;

use crate::base::constants::{FORMAT_FLAGS, FORMAT_MARGINS, FORMAT_SPHERES, FORMAT_U32};

/// A list by box that tests read.
#[derive(Clone, Copy, Debug)]
pub struct Tested<'a> {
    /// The name of the field of [`Filters`](crate::Filters).
    pub list: &'static str,
    /// The values, one per box; empty if the list is empty.
    pub values: Values<'a>,
}

/// The format of the values of a list by box on the GPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum ValueFormat {
    /// One `u32` per value.
    U32 = FORMAT_U32,
    /// One bit per value, 32 to a `u32`, the first value in the lowest bit.
    Flags = FORMAT_FLAGS,
    /// One `u32` per value: the bits of an `f32` that is finite and not negative.
    Margins = FORMAT_MARGINS,
    /// Four `u32` per value: the bits of a centre and a radius.
    Spheres = FORMAT_SPHERES,
}

/// A type of values of lists by box.
#[cfg(feature = "gpu")]
pub(super) trait Element {
    /// The format of the values on the GPU.
    const FORMAT: ValueFormat;
}

#[cfg(feature = "gpu")]
impl Element for u32 {
    const FORMAT: ValueFormat = ValueFormat::U32;
}

#[cfg(feature = "gpu")]
impl Element for bool {
    const FORMAT: ValueFormat = ValueFormat::Flags;
}

#[cfg(feature = "gpu")]
impl Element for f32 {
    const FORMAT: ValueFormat = ValueFormat::Margins;
}

#[cfg(feature = "gpu")]
impl Element for [f32; 4] {
    const FORMAT: ValueFormat = ValueFormat::Spheres;
}

/// The values of a list by box.
#[derive(Clone, Copy, Debug)]
pub enum Values<'a> {
    /// One `u32` per value.
    U32(&'a [u32]),
    /// Four `u32` per value.
    Quads(&'a [[u32; 4]]),
    /// One bit per value, 32 to a `u32`, the first value in the lowest bit.
    Bits(&'a [bool]),
}

impl<'a> From<&'a [u32]> for Values<'a> {
    fn from(values: &'a [u32]) -> Self {
        Self::U32(values)
    }
}

impl<'a> From<&'a [f32]> for Values<'a> {
    fn from(values: &'a [f32]) -> Self {
        Self::U32(bytemuck::cast_slice(values))
    }
}

impl<'a> From<&'a [[f32; 4]]> for Values<'a> {
    fn from(values: &'a [[f32; 4]]) -> Self {
        Self::Quads(bytemuck::cast_slice(values))
    }
}

impl<'a> From<&'a [bool]> for Values<'a> {
    fn from(values: &'a [bool]) -> Self {
        Self::Bits(values)
    }
}

impl<'a> Values<'a> {
    /// Returns the count of boxes with a value.
    pub fn len(self) -> usize {
        match self {
            Self::U32(values) => values.len(),
            Self::Quads(values) => values.len(),
            Self::Bits(values) => values.len(),
        }
    }

    /// Returns whether no box has a value.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Returns the u32 count of the values of this many boxes.
    pub fn u32_count(self, box_count: u64) -> u64 {
        match self {
            Self::U32(_) => box_count,
            Self::Quads(_) => box_count.saturating_mul(4),
            Self::Bits(_) => box_count.div_ceil(32),
        }
    }

    /// Returns the whole list as u32 words.
    pub fn words(self) -> Cow<'a, [u32]> {
        self.words_in(0..self.len()).1
    }

    /// Returns the u32 words that contain the values of these boxes, and the index of the first such word.
    pub fn words_in(self, boxes: Range<usize>) -> (usize, Cow<'a, [u32]>) {
        match self {
            Self::U32(values) => (boxes.start, values.get(boxes).unwrap_or_default().into()),
            Self::Quads(values) => {
                (4 * boxes.start, bytemuck::cast_slice(values.get(boxes).unwrap_or_default()).into())
            }
            Self::Bits(values) => {
                let first = boxes.start / 32;
                let end = boxes.end.next_multiple_of(32).min(values.len());
                (first, bits(values.get(first * 32..end).unwrap_or_default()).into())
            }
        }
    }
}

/// Packs 32 flags per `u32`, the first flag in the lowest bit.
fn bits(flags: &[bool]) -> Vec<u32> {
    let word = |flags: &[bool]| flags.iter().rev().fold(0, |word, &flag| word << 1 | u32::from(flag));
    flags.chunks(32).map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_words_of_some_boxes_match_the_whole_list() {
        let flags: Vec<bool> = (0..100).map(|i| i % 3 == 0).collect();
        let numbers: Vec<u32> = (0..100).collect();
        for values in [Values::from(&flags[..]), Values::from(&numbers[..])] {
            let all = values.words();
            assert_eq!(all.len() as u64, values.u32_count(100));
            for boxes in [0..100, 0..0, 100..100, 31..33, 63..64, 64..65, 99..100] {
                let (first, words) = values.words_in(boxes.clone());
                assert_eq!(all[first..first + words.len()], *words, "{boxes:?}");
                let of = |i: usize| if matches!(values, Values::Bits(_)) { i / 32 } else { i };
                assert!(boxes.clone().all(|i| (first..first + words.len()).contains(&of(i))), "{boxes:?}");
            }
        }
        assert_eq!(*Values::from(&[true, false, true][..]).words(), [0b101]);
        assert_eq!(*Values::from(&[1.0f32][..]).words(), [1.0f32.to_bits()]);
    }
}
