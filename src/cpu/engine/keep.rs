//! The choice of which pairs that overlap are reported. The loops are compiled for each case, so that the choice costs
//! nothing where all pairs are reported.

use crate::filters::CheckedFilters;
use crate::{Aabb, HalfSpace, Pair};

/// Decides which pairs of boxes that overlap are reported.
pub trait Keep: Copy + Sync {
    /// Moves the pairs of `pairs[from..to]` that are kept to the front, in their order, and returns where they end.
    fn retain(self, pairs: &mut [Pair], from: usize, to: usize) -> usize;

    /// Keeps only the wanted pairs of `list` from number `from` on.
    fn retain_last(self, list: &mut Vec<Pair>, from: usize) {
        let to = list.len();
        let end = self.retain(list, from, to);
        list.truncate(end);
    }

    /// Returns the half-space that a box stands for, if any: as a box it overlaps every other, but few boxes may touch
    /// the half-space.
    fn half_space(&self, index: u32) -> Option<&HalfSpace>;
}

/// Keeps every pair.
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

/// Keeps the pairs that the filters want.
#[derive(Clone, Copy)]
pub struct Filtered<'a> {
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
