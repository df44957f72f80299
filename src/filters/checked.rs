//! What both engines look up: lists of pairs by box, worlds by number.

use std::collections::{HashMap, HashSet};

use super::{Attribute, Filters, HalfSpace};
use crate::{Aabb, Error, Pair};

/// Filters, checked and in the shape that engines want. It holds for any number of boxes that
/// [`check`](Self::check) accepts.
#[derive(Clone, Debug, Default)]
pub struct CheckedFilters {
    filters: Filters,
    /// Ascending, each once.
    include: Vec<Pair>,
    /// The excluded and the included pairs, ascending, each once: those that a search never reports by itself.
    listed_pairs: Vec<Pair>,
    /// The same by box.
    listed: Listed,
    /// By box: the number of its world, from 0 to `world_count`, or [`Filters::GLOBAL`]; 0 where all are global. Empty
    /// without worlds.
    worlds: Vec<u32>,
    world_count: u32,
    /// Ascending by index.
    half_spaces: Vec<HalfSpace>,
    /// By box, a bit each, up to the last of `half_spaces`: whether it stands for one.
    half_space_bits: Vec<u32>,
    /// Whether `listed` and `half_space_bits` are there.
    is_laid_out: bool,
    /// So many boxes the indices of all lists need.
    least_boxes: u64,
}

/// Pairs by their smaller index.
#[derive(Clone, Debug, Default)]
pub struct Listed {
    /// Where the pairs of each box begin in `others`, and behind the last where they end; no further than the largest
    /// such box.
    pub rows: Vec<u32>,
    /// The larger indices, ascending within a row.
    pub others: Vec<u32>,
}

impl CheckedFilters {
    /// # Errors
    /// [`Error::BadFilter`] for what is wrong whatever the boxes are; [`Error::OutOfMemory`] for lists of pairs.
    pub fn new(filters: Filters) -> Result<Self, Error> {
        filters.check_values()?;
        let include = ascending(&[&filters.include])?;
        let both = ascending(&[&filters.exclude, &filters.include])?;
        let mut half_spaces = filters.half_spaces.clone();
        half_spaces.sort_unstable_by_key(|half_space| half_space.index);
        let largest = both.iter().map(|pair| pair.b).chain(half_spaces.last().map(|half_space| half_space.index)).max();
        let least_boxes = largest.map_or(0, |index| u64::from(index) + 1);
        let lists = Self { include, listed_pairs: both, half_spaces, ..Self::default() };
        let mut compiled = Self { least_boxes, filters, ..lists };
        compiled.number_worlds();
        Ok(compiled)
    }

    /// What it was made from, and changed to since.
    pub fn filters(&self) -> &Filters {
        &self.filters
    }

    /// That they fit so many boxes: [`Filters::check`], but in no time where they do, since values were checked when they
    /// came. Lists by box are made here at first: before, an index could be any, and the list as long.
    pub fn fit(&mut self, box_count: usize) -> Result<(), Error> {
        if (box_count as u64) < self.least_boxes || self.filters.check_lengths(box_count).is_err() {
            return self.filters.check(box_count);
        }
        if !self.is_laid_out {
            self.listed = Listed::new(&self.listed_pairs)?;
            let words = self.half_spaces.last().map_or(0, |half_space| half_space.index as usize / 32 + 1);
            self.half_space_bits = vec![0; words];
            for half_space in &self.half_spaces {
                self.half_space_bits[half_space.index as usize / 32] |= 1 << (half_space.index % 32);
            }
            self.is_laid_out = true;
        }
        Ok(())
    }

    /// Whether a search reports every two boxes that overlap once [prepared](Filters::prepare).
    pub fn keeps_all(&self) -> bool {
        let no_list = self.filters.lengths().iter().all(|&(list, length)| length == 0 || list == "margin");
        no_list && self.listed.others.is_empty() && self.half_spaces.is_empty()
    }

    /// See [`Filters::change`].
    pub fn change(&mut self, first: usize, values: Attribute<'_>) -> Result<(), Error> {
        self.filters.change(first, values)?;
        if matches!(values, Attribute::World(_)) {
            self.number_worlds();
        }
        Ok(())
    }

    /// Numbers the worlds from zero. Those that are neighbours in space often have numbers that follow each other, and
    /// both would go into the key of a cell: so they are numbered in the order of a hash.
    fn number_worlds(&mut self) {
        let ids: HashSet<u32> = self.filters.world.iter().copied().filter(|&id| id != Filters::GLOBAL).collect();
        let mut ids: Vec<u32> = ids.into_iter().collect();
        ids.sort_unstable_by_key(|&id| hash(id));
        self.world_count = ids.len() as u32;
        if ids.is_empty() {
            // Global boxes alone are as those of one world, and need not be tested against all others.
            self.worlds = vec![0; self.filters.world.len()];
            self.world_count = u32::from(!self.worlds.is_empty());
            return;
        }
        let numbers: HashMap<u32, u32> = ids.into_iter().zip(0..).collect();
        let number = |id| numbers.get(id).copied().unwrap_or(Filters::GLOBAL);
        self.worlds = self.filters.world.iter().map(number).collect();
    }

    pub fn include(&self) -> &[Pair] {
        &self.include
    }

    pub fn listed(&self) -> &Listed {
        &self.listed
    }

    /// Words that [`listed`](Self::listed) has or will have.
    pub fn listed_words(&self) -> u64 {
        self.listed_pairs.last().map_or(0, |last| u64::from(last.a) + 2) + self.listed_pairs.len() as u64
    }

    pub fn worlds(&self) -> &[u32] {
        &self.worlds
    }

    pub fn world_count(&self) -> u32 {
        self.world_count
    }

    pub fn half_spaces(&self) -> &[HalfSpace] {
        &self.half_spaces
    }

    /// `[box_count]` bits, 32 to a word: set for boxes that stand for half-spaces. Empty where there are none.
    pub fn half_space_bits(&self, box_count: usize) -> Vec<u32> {
        let mut words = self.half_space_bits.clone();
        words.resize(if words.is_empty() { 0 } else { box_count.div_ceil(32) }, 0);
        words
    }

    /// Whether a search reports the pair of two boxes that overlap once [prepared](Filters::prepare).
    pub fn keeps(&self, boxes: &[Aabb], a: u32, b: u32) -> bool {
        self.filters.keeps(a, b) && !self.listed.contains(Pair::new(a, b)) && self.half_spaces_meet(boxes, a, b)
    }

    /// Whether the boxes meet where one of them stands for a half-space.
    fn half_spaces_meet(&self, boxes: &[Aabb], a: u32, b: u32) -> bool {
        if self.half_spaces.is_empty() {
            return true;
        }
        match (self.half_space(a), self.half_space(b)) {
            (None, None) => true,
            (Some(half_space), None) => half_space.touches(&boxes[b as usize]),
            (None, Some(half_space)) => half_space.touches(&boxes[a as usize]),
            (Some(_), Some(_)) => false,
        }
    }

    /// The one that a box stands for.
    pub fn half_space(&self, index: u32) -> Option<&HalfSpace> {
        // Next to no box is one.
        if self.half_space_bits.get(index as usize / 32)? >> (index % 32) & 1 == 0 {
            return None;
        }
        let at = self.half_spaces.binary_search_by_key(&index, |half_space| half_space.index).ok()?;
        Some(&self.half_spaces[at])
    }
}

impl Listed {
    /// Of ascending pairs.
    fn new(pairs: &[Pair]) -> Result<Self, Error> {
        let Some(last) = pairs.last() else {
            return Ok(Self::default());
        };
        let mut rows = with_room(last.a as usize + 2)?;
        rows.resize(last.a as usize + 2, 0);
        for pair in pairs {
            rows[pair.a as usize + 1] += 1;
        }
        for row in 1..rows.len() {
            rows[row] += rows[row - 1];
        }
        let mut others = with_room(pairs.len())?;
        others.extend(pairs.iter().map(|pair| pair.b));
        Ok(Self { rows, others })
    }

    /// The larger indices of the pairs whose smaller one this is.
    pub fn of(&self, a: u32) -> &[u32] {
        match self.rows.get(a as usize..) {
            Some(&[start, end, ..]) => &self.others[start as usize..end as usize],
            _ => &[],
        }
    }

    fn contains(&self, pair: Pair) -> bool {
        self.of(pair.a).binary_search(&pair.b).is_ok()
    }
}

/// The pairs of all lists with `a < b`, ascending, each once.
fn ascending(lists: &[&[Pair]]) -> Result<Vec<Pair>, Error> {
    let mut pairs = with_room(lists.iter().map(|list| list.len()).sum())?;
    for list in lists {
        pairs.extend(list.iter().map(|pair| Pair::new(pair.a, pair.b)));
    }
    pairs.sort_unstable();
    pairs.dedup();
    Ok(pairs)
}

/// A list for so many elements, or an error instead of an abort: there may be as many as anybody likes.
fn with_room<T>(length: usize) -> Result<Vec<T>, Error> {
    let mut list = Vec::new();
    let bytes = (length as u64).saturating_mul(size_of::<T>() as u64);
    let no_room = |_| Error::OutOfMemory { buffer: "lists of pairs on the host".to_owned(), bytes };
    list.try_reserve_exact(length).map_err(no_room)?;
    Ok(list)
}

/// A bijection that leaves no order.
fn hash(id: u32) -> u32 {
    let id = (id ^ id >> 16).wrapping_mul(0x7feb_352d);
    let id = (id ^ id >> 15).wrapping_mul(0x846c_a68b);
    id ^ id >> 16
}
