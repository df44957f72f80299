//! Filters overlapping pairs. Loops are compiled for each kind of filter, so that without filters no filter is called.

use super::chunks::ENTRY_SECOND;
use crate::filters::{CheckedFilters, SearchedBoxes};
use crate::{HalfSpace, Pair};

/// Decides which pairs that overlap are reported.
pub trait PairFilter: Copy + Sync {
    /// Moves the reported pairs of `pairs[from..to]` to the front of this range, in their order. Returns the end of the
    /// reported pairs.
    fn retain(self, pairs: &mut [Pair], from: usize, to: usize) -> usize;

    /// Does the same as [`retain`](Self::retain) for pairs that all [cross](Self::crosses).
    fn retain_crossing(self, pairs: &mut [Pair], from: usize, to: usize) -> usize {
        self.retain(pairs, from, to)
    }

    /// Removes the pairs from index `from` on that are not reported.
    fn retain_last(self, list: &mut Vec<Pair>, from: usize) {
        let to = list.len();
        let end = self.retain(list, from, to);
        list.truncate(end);
    }

    /// Returns whether the boxes of two entries may be a pair. With two sets, the boxes must be in different sets. With
    /// one set, this is always `true`.
    fn crosses(&self, a: u32, b: u32) -> bool;

    /// Returns the half-space that a box stands for. Every box overlaps that box, but few may touch the half-space.
    fn half_space(&self, index: u32) -> Option<&HalfSpace>;
}

/// Reports every pair.
#[derive(Clone, Copy)]
pub struct All;

impl PairFilter for All {
    fn retain(self, _: &mut [Pair], _: usize, to: usize) -> usize {
        to
    }

    #[inline(always)]
    fn crosses(&self, _: u32, _: u32) -> bool {
        true
    }

    fn half_space(&self, _: u32) -> Option<&HalfSpace> {
        None
    }
}

/// Reports the pairs that filters accept.
#[derive(Clone, Copy)]
pub struct Filtered<'a> {
    /// The filters.
    pub filters: &'a CheckedFilters,
    /// The boxes as they are searched.
    pub boxes: SearchedBoxes<'a>,
    /// `ENTRY_SECOND` if there is one set, so that every pair crosses; 0 if there are two sets.
    one_set: u32,
    /// True if `second` is the only filter.
    has_only_sets: bool,
}

impl<'a> Filtered<'a> {
    /// Reports the pairs of these boxes that the filters accept.
    pub fn new(filters: &'a CheckedFilters, boxes: impl Into<SearchedBoxes<'a>>) -> Self {
        let one_set = if filters.filters().second.is_empty() { ENTRY_SECOND } else { 0 };
        Self { filters, boxes: boxes.into(), one_set, has_only_sets: filters.has_only_sets() }
    }
}

impl PairFilter for Filtered<'_> {
    fn retain(self, pairs: &mut [Pair], from: usize, to: usize) -> usize {
        let mut end = from;
        for at in from..to {
            let pair = pairs[at];
            pairs[end] = pair;
            end += usize::from(self.filters.passes(self.boxes, pair.a, pair.b));
        }
        end
    }

    fn retain_crossing(self, pairs: &mut [Pair], from: usize, to: usize) -> usize {
        // Skip lookups by box, which would take as long as the rest of the sweep.
        if self.has_only_sets { to } else { self.retain(pairs, from, to) }
    }

    #[inline(always)]
    fn crosses(&self, a: u32, b: u32) -> bool {
        (a ^ b | self.one_set) & ENTRY_SECOND != 0
    }

    fn half_space(&self, index: u32) -> Option<&HalfSpace> {
        self.filters.half_space(index)
    }
}
