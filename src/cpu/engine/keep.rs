//! Which of the pairs that overlap are reported. The loops are compiled for each case: where all pairs are reported,
//! nothing is asked.

use crate::filters::CheckedFilters;
use crate::{Aabb, HalfSpace, Pair};

/// Decides which pairs that overlap are reported.
pub trait Keep: Copy + Sync {
    /// Moves the pairs of `pairs[from..to]` that are reported to the front of that range, in their order, and returns where
    /// they end.
    fn retain(self, pairs: &mut [Pair], from: usize, to: usize) -> usize;

    /// Removes from a list the pairs from number `from` on that are not reported.
    fn retain_last(self, list: &mut Vec<Pair>, from: usize) {
        let to = list.len();
        let end = self.retain(list, from, to);
        list.truncate(end);
    }

    /// Returns the half-space that a box stands for: every box overlaps that box, and few may touch the half-space.
    fn half_space(&self, index: u32) -> Option<&HalfSpace>;
}

/// Reports every pair.
#[derive(Clone, Copy)]
pub struct All;

impl Keep for All {
    fn retain(self, _: &mut [Pair], _: usize, to: usize) -> usize {
        to
    }

    fn half_space(&self, _: u32) -> Option<&HalfSpace> {
        None
    }
}

/// Reports the pairs that filters keep.
#[derive(Clone, Copy)]
pub struct Filtered<'a> {
    /// The filters.
    pub filters: &'a CheckedFilters,
    /// The boxes as they are searched.
    pub boxes: &'a [Aabb],
}

impl Keep for Filtered<'_> {
    fn retain(self, pairs: &mut [Pair], from: usize, to: usize) -> usize {
        let mut end = from;
        for at in from..to {
            let pair = pairs[at];
            pairs[end] = pair;
            end += usize::from(self.filters.keeps(self.boxes, pair.a, pair.b));
        }
        end
    }

    fn half_space(&self, index: u32) -> Option<&HalfSpace> {
        self.filters.half_space(index)
    }
}
