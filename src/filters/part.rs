//! Selects the filters of some of the boxes, for slabs.

use super::table::picked;
use super::{CheckedFilters, Filters, HalfSpace};
use crate::Pair;

impl CheckedFilters {
    /// Returns the filters of the boxes with these ascending indices. The boxes must be prepared already, so there are
    /// no margins. Included pairs become excluded pairs, since they are reported once, after all slabs.
    pub fn part(&self, indices: &[u32]) -> Filters {
        let all = self.filters();
        let place = |index: u32| indices.binary_search(&index).ok().map(|place| place as u32);
        let mut exclude = Vec::new();
        for (place_a, &a) in (0..).zip(indices) {
            let others = self.listed().of(a).iter();
            exclude.extend(others.filter_map(|&b| Some(Pair { a: place_a, b: place(b)? })));
        }
        let half_spaces = self.half_spaces().iter();
        let half_spaces = half_spaces.filter_map(|h| Some(HalfSpace { index: place(h.index)?, ..*h })).collect();
        let mut part = Filters { rule: all.rule, exclude, half_spaces, owner: all.owner, ..all.picked(indices) };
        // Use the padded spheres, since the part has no margins.
        part.sphere = picked(self.spheres(), indices);
        if self.part_numbers_bodies() {
            part.body = indices.to_vec();
        }
        part
    }

    /// Returns `true` if a part needs a list of bodies that the whole does not have. This is the case if the body of a
    /// box is its index. The part then lists the indices in the whole input.
    pub fn part_numbers_bodies(&self) -> bool {
        self.filters().body.is_empty() && !self.filters().parent.is_empty()
    }
}
