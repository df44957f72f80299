//! [`IdPair`]: a pair of 64-bit ids of the caller.

use bytemuck::{Pod, Zeroable};
use rayon::prelude::*;

use crate::{Error, Pair};

/// The fewest pairs per thread.
const CHUNK: usize = 1 << 14;

/// A pair of overlapping boxes, as two 64-bit ids of the caller with `a <= b`: 16 bytes. Ids have the same meaning in
/// every call. The indices of a [`Pair`] are valid only in one call, such as one [tile](crate::Filters::owner) or one
/// step.
///
/// Id pairs are ordered by `a`, then by `b`. This is their canonical order.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct IdPair {
    /// The smaller id.
    pub a: u64,
    /// The larger id. It equals `a` if two overlapping boxes have the same id.
    pub b: u64,
}

impl IdPair {
    /// Creates the pair of two ids, in either order.
    pub const fn new(i: u64, j: u64) -> Self {
        if i < j { Self { a: i, b: j } } else { Self { a: j, b: i } }
    }

    /// Appends `pairs` to a list, in their order, with ids in place of indices: box `i` has the id `ids[i]`. Call it
    /// for each piece of a streamed list ([`stream_pairs`](crate::Engine::stream_pairs)).
    ///
    /// Ids can have any values in any order. Two boxes with the same id give a pair of this id with itself. Do not use
    /// this function for pairs [between two sets](crate::Engine::find_pairs_between), whose indices refer to two lists.
    ///
    /// # Errors
    /// [`Error::NoId`] for the first pair with an index that has no id; [`Error::ListTooLong`] if there is no memory.
    /// After an error the list is unchanged.
    ///
    /// ```
    /// use broadsweep::{IdPair, Pair};
    ///
    /// let mut list = Vec::new();
    /// IdPair::append(&[Pair { a: 0, b: 1 }, Pair { a: 0, b: 2 }], &[7, 1 << 40, 3], &mut list)?;
    /// assert_eq!(list, [IdPair { a: 7, b: 1 << 40 }, IdPair { a: 3, b: 7 }]);
    /// # Ok::<(), broadsweep::Error>(())
    /// ```
    pub fn append(pairs: &[Pair], ids: &[u64], list: &mut Vec<Self>) -> Result<(), Error> {
        let without = |pair: &Pair| pair.a.max(pair.b) as usize >= ids.len();
        if let Some(pair) = pairs.par_iter().with_min_len(CHUNK).find_first(|pair| without(pair)) {
            let index = pair.a.max(pair.b);
            return Err(Error::NoId { index, id_count: ids.len() as u64 });
        }
        let pair_count = list.len() as u64 + pairs.len() as u64;
        let required = pair_count.saturating_mul(size_of::<Self>() as u64);
        list.try_reserve(pairs.len()).map_err(|_| Error::ListTooLong { pair_count, required })?;
        let by_id = |pair: &Pair| Self::new(ids[pair.a as usize], ids[pair.b as usize]);
        list.par_extend(pairs.par_iter().with_min_len(CHUNK).map(by_id));
        Ok(())
    }

    /// Sorts a list into canonical order, in place, on all cores of the CPU. The concatenated lists of all tiles,
    /// sorted, are the list of the whole scene.
    pub fn sort(list: &mut [Self]) {
        list.par_sort_unstable();
    }
}

impl From<IdPair> for [u64; 2] {
    fn from(pair: IdPair) -> Self {
        [pair.a, pair.b]
    }
}

impl From<IdPair> for (u64, u64) {
    fn from(pair: IdPair) -> Self {
        (pair.a, pair.b)
    }
}
