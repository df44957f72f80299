//! Checked filters with tables for lookups, for both engines: [`CheckedFilters`].

use std::collections::{HashMap, HashSet};

use super::listed::{ListedPairs, ascending};
use super::rows::TESTED_LISTS;
use super::values::{Tested, Values};
use super::{Attribute, Filters, HalfSpace, padded_sphere};
use crate::{Aabb, Error, Pair};

/// Checked filters, with the tables that engines read: listed pairs by box, and worlds by number. Valid for every box
/// count that [`fit`](Self::fit) accepts.
#[derive(Clone, Debug, Default)]
pub struct CheckedFilters {
    filters: Filters,
    /// The included pairs, ascending, each once.
    include: Vec<Pair>,
    /// The excluded and the included pairs, ascending, each once. The search finds none of them; included pairs are
    /// added later.
    listed_pairs: Vec<Pair>,
    /// The pairs of `listed_pairs`, by box.
    listed: ListedPairs,
    /// By box: the number of its world, below `world_count`, or [`Filters::GLOBAL`]; 0 if all are global. Empty
    /// without worlds.
    worlds: Vec<u32>,
    world_count: u32,
    /// By box: its sphere, padded by its margin. Empty without spheres.
    spheres: Vec<[f32; 4]>,
    /// The half-spaces, ascending by index.
    half_spaces: Vec<HalfSpace>,
    /// A bit per box, up to the last box of `half_spaces`: set if the box stands for a half-space.
    half_space_bits: Vec<u32>,
    /// True if `listed` and `half_space_bits` are filled.
    is_laid_out: bool,
    /// The least box count that is larger than every index of the lists.
    least_boxes: u64,
}

impl CheckedFilters {
    /// Checks filters, sorts their lists of pairs and numbers their worlds.
    ///
    /// # Errors
    /// [`Error::BadFilter`] for values that are invalid, whatever the boxes are; [`Error::OutOfMemory`] for lists of
    /// pairs.
    pub fn new(filters: Filters) -> Result<Self, Error> {
        filters.check_values()?;
        let include = ascending(&[&filters.include])?;
        let listed_pairs = ascending(&[&filters.exclude, &filters.include])?;
        let mut half_spaces = filters.half_spaces.clone();
        half_spaces.sort_unstable_by_key(|half_space| half_space.index);
        let listed = listed_pairs.iter().map(|pair| pair.b);
        let largest = listed.chain(half_spaces.last().map(|half_space| half_space.index)).max();
        let least_boxes = largest.map_or(0, |index| u64::from(index) + 1);
        let mut checked = Self { filters, include, listed_pairs, half_spaces, least_boxes, ..Self::default() };
        checked.number_worlds();
        checked.pad_spheres();
        Ok(checked)
    }

    /// Returns the filters of the caller, with later changes.
    pub fn filters(&self) -> &Filters {
        &self.filters
    }

    /// Checks that the filters fit this many boxes. Cost: constant time, since values are checked already. The first
    /// call also fills the tables by box. The length of a table is the largest index in the lists, and only this
    /// check limits that index.
    ///
    /// # Errors
    /// The errors of [`Filters::check`]; [`Error::OutOfMemory`].
    pub fn fit(&mut self, box_count: usize) -> Result<(), Error> {
        if !self.fits(box_count)? {
            self.listed = ListedPairs::new(&self.listed_pairs)?;
            let words = self.half_spaces.last().map_or(0, |half_space| half_space.index as usize / 32 + 1);
            self.half_space_bits = vec![0; words];
            for half_space in &self.half_spaces {
                self.half_space_bits[half_space.index as usize / 32] |= 1 << (half_space.index % 32);
            }
            self.is_laid_out = true;
        }
        Ok(())
    }

    /// Checks that the filters fit this many boxes, and returns whether the tables by box are filled.
    ///
    /// # Errors
    /// The errors of [`Filters::check`].
    pub fn fits(&self, box_count: usize) -> Result<bool, Error> {
        if (box_count as u64) < self.least_boxes || self.filters.check_lengths(box_count).is_err() {
            self.filters.check(box_count)?;
        }
        Ok(self.is_laid_out)
    }

    /// Returns whether a search reports every overlapping pair of prepared boxes.
    pub fn passes_all(&self) -> bool {
        let no_list = self.filters.tested().iter().all(|tested| tested.values.is_empty());
        no_list && self.decides_by_lists()
    }

    /// Returns `true` if `second` is the only filter.
    pub fn has_only_sets(&self) -> bool {
        let fits_sets = |tested: &Tested<'_>| tested.values.is_empty() == (tested.list != "second");
        self.filters.tested().iter().all(fits_sets) && self.decides_by_lists()
    }

    /// Returns `true` if lists by box are the only filters.
    fn decides_by_lists(&self) -> bool {
        self.listed.others.is_empty() && self.half_spaces.is_empty() && self.filters.owner.is_none()
    }

    /// Replaces the values from box `first` on by `values`.
    ///
    /// # Errors
    /// The errors of [`Filters::change`].
    pub fn change(&mut self, first: usize, values: Attribute<'_>) -> Result<(), Error> {
        self.filters.change(first, values)?;
        match values {
            Attribute::World(_) => self.number_worlds(),
            Attribute::Sphere(_) | Attribute::Margin(_) => self.pad_spheres(),
            _ => {}
        }
        Ok(())
    }

    /// Replaces the list `second`, and returns the previous list.
    pub fn set_second(&mut self, second: Vec<bool>) -> Vec<bool> {
        std::mem::replace(&mut self.filters.second, second)
    }

    /// Replaces the list `sleeping`, and returns the previous list.
    pub fn set_sleeping(&mut self, sleeping: Vec<bool>) -> Vec<bool> {
        std::mem::replace(&mut self.filters.sleeping, sleeping)
    }

    /// Sets the region that owns the reported pairs, and returns the previous region.
    pub fn set_owner(&mut self, owner: Option<Aabb>) -> Option<Aabb> {
        std::mem::replace(&mut self.filters.owner, owner)
    }

    /// Numbers the worlds from zero, in the order of a hash of their ids. Adjacent worlds often have consecutive ids.
    /// The key of a cell combines position and world number, so without the hash, keys would collide.
    fn number_worlds(&mut self) {
        let ids: HashSet<u32> = self.filters.world.iter().copied().filter(|&id| id != Filters::GLOBAL).collect();
        let mut ids: Vec<u32> = ids.into_iter().collect();
        ids.sort_unstable_by_key(|&id| hash(id));
        self.world_count = ids.len() as u32;
        if ids.is_empty() {
            // A global box is usually treated as a giant. If all boxes are global, they are searched as one world
            // instead.
            self.worlds = vec![0; self.filters.world.len()];
            self.world_count = u32::from(!self.worlds.is_empty());
            return;
        }
        let numbers: HashMap<u32, u32> = ids.into_iter().zip(0..).collect();
        let number = |id| numbers.get(id).copied().unwrap_or(Filters::GLOBAL);
        self.worlds = self.filters.world.iter().map(number).collect();
    }

    /// Returns the included pairs, ascending, each once.
    pub fn include(&self) -> &[Pair] {
        &self.include
    }

    /// Returns the excluded and included pairs by box, after [`fit`](Self::fit) has accepted a box count.
    pub fn listed(&self) -> &ListedPairs {
        &self.listed
    }

    /// Returns the u32 counts of the rows and of the larger indices of [`listed`](Self::listed) for `box_count` boxes.
    /// The counts include capacity for pairs that replace `exclude` on the device.
    pub fn listed_u32_counts(&self, box_count: u64) -> [u64; 2] {
        let rows = self.listed_pairs.last().map_or(0, |last| u64::from(last.a) + 2);
        let others = self.listed_pairs.len() as u64;
        match self.filters.exclude_at_most {
            0 => [rows, others],
            at_most => {
                [rows.max(box_count.saturating_add(1)), others.max(u64::from(at_most) + self.include.len() as u64)]
            }
        }
    }

    /// Returns the number of each box's world, below [`world_count`](Self::world_count), or [`Filters::GLOBAL`]; empty
    /// without worlds.
    pub fn worlds(&self) -> &[u32] {
        &self.worlds
    }

    /// Returns the count of worlds, without the global world; 1 if all boxes are global.
    pub fn world_count(&self) -> u32 {
        self.world_count
    }

    /// Lists worlds and their numbers, ascending by world, without the global world.
    #[cfg(feature = "gpu")]
    pub fn world_ids(&self) -> Vec<[u32; 2]> {
        let numbered = self.filters.world.iter().zip(&self.worlds).filter(|(id, _)| **id != Filters::GLOBAL);
        let mut ids: Vec<[u32; 2]> = numbered.map(|(&id, &number)| [id, number]).collect();
        ids.sort_unstable();
        ids.dedup();
        ids
    }

    /// Returns whether the same boxes stand for half-spaces in `other`.
    pub fn has_half_spaces_of(&self, other: &Self) -> bool {
        let indices =
            |filters: &Self| filters.half_spaces.iter().map(|half_space| half_space.index).collect::<Vec<_>>();
        indices(self) == indices(other)
    }

    /// Pads the spheres by their margins.
    fn pad_spheres(&mut self) {
        self.spheres.clone_from(&self.filters.sphere);
        for (sphere, &margin) in self.spheres.iter_mut().zip(&self.filters.margin) {
            *sphere = padded_sphere(*sphere, margin);
        }
        // Change a radius of -0 to 0, since kernels compare bits.
        self.spheres.iter_mut().for_each(|sphere| sphere[3] += 0.0);
    }

    /// Returns the spheres of all boxes, padded by their margins; empty without spheres.
    pub fn spheres(&self) -> &[[f32; 4]] {
        &self.spheres
    }

    /// Returns the half-spaces, ascending by index.
    pub fn half_spaces(&self) -> &[HalfSpace] {
        &self.half_spaces
    }

    /// Returns `[box_count]` bits, 32 to a word: set for boxes that stand for half-spaces. Empty without half-spaces.
    pub fn half_space_bits(&self, box_count: usize) -> Vec<u32> {
        let mut words = self.half_space_bits.clone();
        words.resize(if words.is_empty() { 0 } else { box_count.div_ceil(32) }, 0);
        words
    }

    /// Returns the half-space that a box stands for.
    pub fn half_space(&self, index: u32) -> Option<&HalfSpace> {
        // Most boxes return here.
        if self.half_space_bits.get(index as usize / 32)? >> (index % 32) & 1 == 0 {
            return None;
        }
        let at = self.half_spaces.binary_search_by_key(&index, |half_space| half_space.index).ok()?;
        Some(&self.half_spaces[at])
    }

    /// Returns the lists by box in the form that tests read: worlds by number, spheres padded.
    pub(super) fn tested(&self) -> [Tested<'_>; TESTED_LISTS] {
        self.filters.tested().map(|tested| match tested.list {
            "world" => Tested { values: Values::U32(&self.worlds), ..tested },
            "sphere" => Tested { values: (&self.spheres[..]).into(), ..tested },
            _ => tested,
        })
    }
}

/// Hashes an id with a bijection.
fn hash(id: u32) -> u32 {
    let id = (id ^ id >> 16).wrapping_mul(0x7feb_352d);
    let id = (id ^ id >> 15).wrapping_mul(0x846c_a68b);
    id ^ id >> 16
}
