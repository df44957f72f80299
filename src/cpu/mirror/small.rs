//! Mirror of `small`: every box against every other box.

use glam::Vec4;

use crate::base::constants::INVALID_LISTED;
use crate::{Aabb, Pair};

/// Boxes as columns of bounds, 32 boxes together, so that one box is tested against many at once. An invalid box is all
/// NaN, which overlaps nothing. The last 32 boxes are filled up with NaN too.
#[derive(Debug, Default)]
pub struct Columns(Vec<[[Vec4; 8]; 6]>);

impl Columns {
    /// Creates the columns of these boxes.
    pub fn new(boxes: &[Aabb]) -> Self {
        let mut columns = Self::default();
        columns.fill(boxes);
        columns
    }

    /// Replaces the boxes, in the same memory.
    pub fn fill(&mut self, boxes: &[Aabb]) {
        self.0.clear();
        self.0.resize(boxes.len().div_ceil(32), [[Vec4::NAN; 8]; 6]);
        for (i, b) in boxes.iter().enumerate().filter(|(_, b)| b.is_valid()) {
            for k in 0..3 {
                self.0[i / 32][k][i % 32 / 4][i % 4] = b.min[k];
                self.0[i / 32][3 + k][i % 32 / 4][i % 4] = b.max[k];
            }
        }
    }

    /// Returns the size in bytes.
    pub fn bytes(&self) -> usize {
        self.0.capacity() * size_of::<[[Vec4; 8]; 6]>()
    }
}

/// Returns a bit per box: set if the box overlaps box `a` and has a larger index.
pub fn test(columns: &Columns, a: u32) -> Vec<u32> {
    let mut words = vec![0; columns.0.len()];
    test_into(columns, a, &mut words);
    words
}

/// Writes the result of [`test()`] to `words`: one u32 per 32 boxes, all zero before.
pub fn test_into(columns: &Columns, a: u32, words: &mut [u32]) {
    let (at, bit) = (a as usize / 32, a as usize % 32);
    let [min_x, min_y, min_z, max_x, max_y, max_z] = columns.0[at].map(|bounds| Vec4::splat(bounds[bit / 4][bit % 4]));
    for (word, [low_x, low_y, low_z, high_x, high_y, high_z]) in words.iter_mut().zip(&columns.0).skip(at) {
        for k in 0..8 {
            // Four boxes at a time, without branches.
            let starts = low_x[k].cmple(max_x) & low_y[k].cmple(max_y) & low_z[k].cmple(max_z);
            let ends = min_x.cmple(high_x[k]) & min_y.cmple(high_y[k]) & min_z.cmple(high_z[k]);
            *word |= (starts & ends).bitmask() << (4 * k);
        }
    }
    // Clear the bits of the box itself and of the boxes before it in its word.
    words[at] &= (u32::MAX - 1) << bit;
}

/// Appends the pairs that `test` found for box `a`, ascending.
pub fn emit(words: &[u32], a: u32, pairs: &mut Vec<Pair>) {
    super::emit::giants(words, a, pairs);
}

/// Counts the invalid boxes, and lists the first of them.
pub fn invalid(boxes: &[Aabb]) -> (u32, Vec<u32>) {
    let invalid = || (0..).zip(boxes).filter(|(_, b)| !b.is_valid()).map(|(i, _)| i);
    (invalid().count() as u32, invalid().take(INVALID_LISTED as usize).collect())
}
