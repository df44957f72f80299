//! Two sets of boxes as one scene, whose pairs are the join of the sets.

use rayon::prelude::*;

use super::Filters;
use crate::{Aabb, Error, Pair};

/// The fewest pairs per thread.
const CHUNK: usize = 1 << 14;

/// Two sets of boxes, one after the other, in reused memory.
#[derive(Debug, Default)]
pub struct TwoSets {
    /// The boxes of the first set, then the boxes of the second.
    pub boxes: Vec<Aabb>,
    /// For each box: whether it is in the second set.
    pub second: Vec<bool>,
}

impl TwoSets {
    /// Checks that the filters include no pair within one of two sets with this many boxes.
    ///
    /// # Errors
    /// [`Error::BadFilter`].
    pub fn check(first: usize, second: usize, filters: &Filters) -> Result<(), Error> {
        let is_within = |pair: &Pair| {
            let (a, b) = (pair.a as usize, pair.b as usize);
            (a < first) == (b < first) && a.max(b) < first + second
        };
        let Some(at) = filters.include.iter().position(is_within) else { return Ok(()) };
        let Pair { a, b } = filters.include[at];
        let problem = format!("is ({a}, {b}); the two boxes must be in different sets");
        Err(Error::BadFilter { list: "include", index: Some(at as u64), problem })
    }

    /// Copies the boxes of two sets, and checks that the filters include no pair within a set.
    ///
    /// # Errors
    /// [`Error::BadFilter`]; [`Error::OutOfMemory`].
    pub fn fill(&mut self, first: &[Aabb], second: &[Aabb], filters: &Filters) -> Result<(), Error> {
        Self::check(first.len(), second.len(), filters)?;
        let box_count = first.len() + second.len();
        self.boxes.clear();
        self.second.clear();
        let bytes = box_count as u64 * (size_of::<Aabb>() + size_of::<bool>()) as u64;
        let out_of_memory = |_| Error::OutOfMemory { buffer: "two sets of boxes".to_owned(), bytes };
        self.boxes.try_reserve(box_count).map_err(out_of_memory)?;
        self.second.try_reserve(box_count).map_err(out_of_memory)?;
        self.boxes.extend_from_slice(first);
        self.boxes.extend_from_slice(second);
        self.second.resize(first.len(), false);
        self.second.resize(box_count, true);
        Ok(())
    }

    /// Returns the bytes of allocated memory.
    pub fn bytes(&self) -> usize {
        self.boxes.capacity() * size_of::<Aabb>() + self.second.capacity()
    }
}

/// Changes the second index of each pair to an index in the second set. `first` is the box count of the first set.
pub fn number_second(pairs: &mut [Pair], first: usize) {
    let first = first as u32;
    pairs.par_iter_mut().with_min_len(CHUNK).for_each(|pair| pair.b -= first);
}
