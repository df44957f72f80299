//! Mirror of `giants`: one giant against all boxes, and groups of giants against rows of boxes.

use super::bin::is_giant;
use crate::base::constants::*;
use crate::base::layout::Frame;
use crate::{Aabb, Filters, HalfSpace, Pair};

/// Returns a bit per box: set if the box overlaps `giant` and is not a giant with a smaller index. Such a giant finds
/// the pair itself.
pub fn test(boxes: &[Aabb], cells: &[[i32; 4]], frame: &Frame, level: u32, giant: u32) -> Vec<u32> {
    let mut words = vec![0; boxes.len().div_ceil(32)];
    let giant_box = &boxes[giant as usize];
    for (i, aabb) in boxes.iter().enumerate() {
        let is_candidate = i as u32 > giant || !is_giant(cells[i], level, frame);
        if is_candidate && i as u32 != giant && giant_box.overlaps(aabb) {
            words[i / 32] |= 1 << (i % 32);
        }
    }
    words
}

/// A row: boxes that are near each other.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The boxes.
    pub items: Vec<u32>,
    /// True if these boxes are giants.
    pub are_giants: bool,
    /// The bounds of the boxes; `None` if there are no boxes.
    pub bounds: Option<Aabb>,
}

impl Row {
    fn new(boxes: &[Aabb], items: Vec<u32>, are_giants: bool) -> Self {
        let bounds = bounds(items.iter().map(|i| boxes[*i as usize]));
        Self { items, are_giants, bounds }
    }
}

/// Returns the bounds of boxes. All boxes must be valid.
fn bounds(boxes: impl Iterator<Item = Aabb>) -> Option<Aabb> {
    boxes.reduce(|a, b| Aabb {
        min: std::array::from_fn(|k| a.min[k].min(b.min[k])),
        max: std::array::from_fn(|k| a.max[k].max(b.max[k])),
    })
}

/// Returns the rows. Each row of GIANT_ROW entries has the boxes whose first entry it contains. Rows of giants follow.
pub fn rows(boxes: &[Aabb], entries: &[u32], giants: &[u32]) -> Vec<Row> {
    let first = ENTRY_FIRST_U | ENTRY_FIRST_V;
    let of_entries = entries.chunks(GIANT_ROW as usize).map(|row| {
        let items = row.iter().filter(|entry| *entry & first == first).map(|entry| entry & ENTRY_BOX);
        Row::new(boxes, items.collect(), false)
    });
    let of_giants = giants.chunks(GIANT_ROW as usize).map(|row| Row::new(boxes, row.to_vec(), true));
    of_entries.chain(of_giants).collect()
}

/// Giants that are tested together.
#[derive(Clone, Copy, Debug)]
pub struct Giants<'a> {
    /// All boxes; a box that stands for a half-space is the whole space.
    pub boxes: &'a [Aabb],
    /// The worlds of the boxes, if there are any.
    pub worlds: &'a [u32],
    /// The giants, ascending.
    pub ids: &'a [u32],
    /// The half-spaces, by their boxes.
    pub half_spaces: &'a [HalfSpace],
}

impl Giants<'_> {
    fn half_space(&self, i: u32) -> Option<&HalfSpace> {
        self.half_spaces.iter().find(|half_space| half_space.index == i)
    }

    fn meets(&self, giant: u32, bounds: &Aabb) -> bool {
        let overlaps = || self.boxes[giant as usize].overlaps(bounds);
        self.half_space(giant).map_or_else(overlaps, |half_space| half_space.touches(bounds))
    }

    /// Returns a bit per giant of a group: set if it meets these bounds.
    fn near(&self, group: &[u32], bounds: Option<Aabb>) -> u32 {
        let is_near = |giant: u32| bounds.is_some_and(|bounds| self.meets(giant, &bounds));
        group.iter().enumerate().map(|(k, &giant)| u32::from(is_near(giant)) << k).sum()
    }

    fn are_pair(&self, giant: u32, i: u32, is_giant: bool) -> bool {
        let are_half_spaces = self.half_space(giant).is_some() && self.half_space(i).is_some();
        let is_candidate = (!is_giant || giant < i) && !are_half_spaces && self.share_a_world(giant, i);
        is_candidate && self.meets(giant, &self.boxes[i as usize]) && self.meets(i, &self.boxes[giant as usize])
    }

    fn share_a_world(&self, a: u32, b: u32) -> bool {
        let [a, b] = [a, b].map(|i| self.worlds.get(i as usize).copied().unwrap_or(Filters::GLOBAL));
        a == b || a == Filters::GLOBAL || b == Filters::GLOBAL
    }
}

/// The result of an invocation in a tile.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Joined {
    /// A bit per giant of the group: set if it meets the bounds of the row.
    pub near: u32,
    /// The pairs, by boxes and then by giants.
    pub pairs: Vec<Pair>,
}

/// Tests groups of GIANT_GROUP giants against rows: for each group, tiles of 256 rows. The last tile is filled up with
/// empty rows.
pub fn join(giants: Giants, rows: &[Row]) -> Vec<Joined> {
    let mut joined = Vec::new();
    for group in giants.ids.chunks(GIANT_GROUP as usize) {
        for row in rows {
            let mut own = Joined { near: giants.near(group, row.bounds), pairs: Vec::new() };
            for &i in row.items.iter().filter(|_| own.near != 0) {
                let met = group.iter().filter(|&&giant| giants.are_pair(giant, i, row.are_giants));
                own.pairs.extend(met.map(|&giant| Pair::new(giant, i)));
            }
            joined.push(own);
        }
        joined.resize(joined.len().next_multiple_of(256), Joined::default());
    }
    joined
}
