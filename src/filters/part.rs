//! The filters of some of the boxes, for slabs.

use super::{CheckedFilters, Filters, HalfSpace};
use crate::Pair;

impl CheckedFilters {
    /// The filters of some of the boxes, with ascending indices, which are prepared already. What is included is left
    /// out as if it were excluded.
    pub fn part(&self, indices: &[u32]) -> Filters {
        let all = self.filters();
        let place = |index: u32| indices.binary_search(&index).ok().map(|place| place as u32);
        let mut exclude = Vec::new();
        for (place_a, &a) in (0..).zip(indices) {
            let others = self.listed().of(a).iter();
            exclude.extend(others.filter_map(|&b| Some(Pair { a: place_a, b: place(b)? })));
        }
        let half_spaces = self.half_spaces().iter();
        Filters {
            rule: all.rule,
            group: part(&all.group, indices),
            mask: part(&all.mask, indices),
            body: self.part_of_bodies(indices),
            parent: part(&all.parent, indices),
            fixed: part(&all.fixed, indices),
            sleeping: part(&all.sleeping, indices),
            world: part(&all.world, indices),
            margin: Vec::new(),
            exclude,
            include: Vec::new(),
            half_spaces: half_spaces.filter_map(|h| Some(HalfSpace { index: place(h.index)?, ..*h })).collect(),
        }
    }

    /// Where boxes are bodies by their index, that is the one in the whole input.
    fn part_of_bodies(&self, indices: &[u32]) -> Vec<u32> {
        if self.filters().body.is_empty() && !self.filters().parent.is_empty() {
            return indices.to_vec();
        }
        part(&self.filters().body, indices)
    }
}

/// The elements with these indices, of a list that is in use.
fn part<T: Copy>(list: &[T], indices: &[u32]) -> Vec<T> {
    let indices = if list.is_empty() { &[] } else { indices };
    indices.iter().map(|&index| list[index as usize]).collect()
}
