//! Pairs split by world: [`ByWorld`].

use super::Filters;
use crate::{Error, Overlaps, Pair};

/// The pairs of one call grouped by world, and the box count of each world: [`Overlaps::by_world`].
///
/// A pair belongs to [the world of its boxes](Filters::world_of). If one box is global, the pair belongs to the world
/// of the other box. If both are global, it belongs to [`Filters::GLOBAL`]. An included pair across two worlds belongs
/// to the world of its box `a`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct ByWorld {
    /// The worlds that occur in [`Filters::world`], `[world_count]`, ascending, including worlds without a pair.
    /// [`Filters::GLOBAL`] is the last, if it occurs.
    pub worlds: Vec<u32>,
    /// The box count of each world, `[world_count]`. A global box counts for [`Filters::GLOBAL`] only.
    pub box_counts: Vec<u32>,
    /// The index of the first pair of each world, and the pair count at the end, `[world_count + 1]`.
    pub offsets: Vec<usize>,
    /// The pairs, `[pair_count]`, world by world; within a world, in the order of the search.
    pub pairs: Vec<Pair>,
}

impl ByWorld {
    /// Returns the pairs of one world, or none if the world does not occur. Cost: a binary search.
    pub fn of(&self, world: u32) -> &[Pair] {
        self.worlds.binary_search(&world).map_or(&[], |slot| self.of_slot(slot))
    }

    /// Iterates over the worlds, ascending, each with its pairs.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[Pair])> {
        self.worlds.iter().enumerate().map(|(slot, &world)| (world, self.of_slot(slot)))
    }

    /// Returns the pairs of the world at this index of `worlds`.
    fn of_slot(&self, slot: usize) -> &[Pair] {
        match self.offsets.get(slot..).unwrap_or_default() {
            &[first, end, ..] => self.pairs.get(first..end).unwrap_or_default(),
            _ => &[],
        }
    }
}

impl Overlaps {
    /// Splits the pairs by the worlds of the filters that the search used. Without worlds, all boxes and pairs are
    /// in [`Filters::GLOBAL`].
    ///
    /// Cost: a stable counting sort on one thread. Time grows with the pairs, and with the boxes times the logarithm of
    /// the world count. The call allocates a second list of the same length.
    ///
    /// Do not use this method for pairs [between two sets](crate::Engine::find_pairs_between): their indices refer to
    /// two lists, not to [`Filters::world`]. Instead, search all boxes as one list, with
    /// [`Filters::second`](crate::Filters::second).
    ///
    /// # Errors
    /// [`Error::FilterLength`] if [`Filters::world`] has another length than the box count; [`Error::ListTooLong`] if
    /// there is no memory for the pairs.
    ///
    /// ```
    /// use broadsweep::{Aabb, Filters, Options, Pair, cpu};
    ///
    /// // Two worlds in the same place, of two boxes each, and the floor of both.
    /// let boxes = [Aabb::new([0.0; 3], [1.0; 3]); 5];
    /// let filters = Filters::default().with_world(vec![7, 3, 7, 3, Filters::GLOBAL]);
    /// let mut broad_phase = cpu::BroadPhase::new(Options::default())?;
    /// broad_phase.set_filters(filters)?;
    /// broad_phase.find_pairs(&boxes)?;
    /// let by_world = broad_phase.last_overlaps().by_world(broad_phase.filters())?;
    /// assert_eq!(by_world.worlds, [3, 7, Filters::GLOBAL]);
    /// assert_eq!(by_world.box_counts, [2, 2, 1]);
    /// assert_eq!(by_world.of(3), [Pair::new(1, 3), Pair::new(1, 4), Pair::new(3, 4)]);
    /// # Ok::<(), broadsweep::Error>(())
    /// ```
    pub fn by_world(&self, filters: &Filters) -> Result<ByWorld, Error> {
        if filters.world.is_empty() {
            return self.of_one_world();
        }
        // The caller can change the pairs, so they may have indices beyond the box count of the report.
        let named = self.pairs.iter().map(|pair| u64::from(pair.a.max(pair.b)) + 1).max().unwrap_or(0);
        let (length, box_count) = (filters.world.len() as u64, named.max(u64::from(self.report.box_count)));
        if length != box_count {
            return Err(Error::FilterLength { list: "world", length, box_count });
        }
        let mut sorted = filters.world.clone();
        sorted.sort_unstable();
        let runs = || sorted.chunk_by(|a, b| a == b);
        let worlds: Vec<u32> = runs().map(|run| run[0]).collect();
        let box_counts = runs().map(|run| run.len() as u32).collect();

        // The index of each box's world in `worlds`.
        let slots: Vec<usize> = filters.world.iter().map(|world| worlds.partition_point(|w| w < world)).collect();
        let slot = |pair: &Pair| slots[filters.placed(*pair)];
        let mut offsets = vec![0; worlds.len() + 1];
        for pair in &self.pairs {
            offsets[slot(pair) + 1] += 1;
        }
        for slot in 0..worlds.len() {
            offsets[slot + 1] += offsets[slot];
        }
        let mut next = offsets.clone();
        let mut pairs = self.reserved_pairs()?;
        pairs.resize(self.pairs.len(), Pair { a: 0, b: 0 });
        for pair in &self.pairs {
            let place = &mut next[slot(pair)];
            pairs[*place] = *pair;
            *place += 1;
        }
        Ok(ByWorld { worlds, box_counts, offsets, pairs })
    }

    /// Returns all pairs in the global world.
    fn of_one_world(&self) -> Result<ByWorld, Error> {
        let mut pairs = self.reserved_pairs()?;
        pairs.extend_from_slice(&self.pairs);
        let (worlds, box_counts) = (vec![Filters::GLOBAL], vec![self.report.box_count]);
        Ok(ByWorld { worlds, box_counts, offsets: vec![0, pairs.len()], pairs })
    }

    /// Creates an empty list with capacity for all pairs. Returns an error if memory is exhausted, instead of an abort.
    fn reserved_pairs(&self) -> Result<Vec<Pair>, Error> {
        let mut pairs = Vec::new();
        pairs.try_reserve_exact(self.pairs.len()).map_err(|_| Error::list_too_long(self.pairs.len() as u64))?;
        Ok(pairs)
    }
}
