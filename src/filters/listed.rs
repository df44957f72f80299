//! Excluded and included pairs by box.

use crate::{Error, Pair};

/// The excluded and included pairs by their smaller index. The search finds none of them; included pairs are added
/// later.
#[derive(Clone, Debug, Default)]
pub struct ListedPairs {
    /// The start of each box's pairs in `others`, up to the last box that is the smaller index of a pair. Then the end
    /// of the pairs of this last box.
    pub rows: Vec<u32>,
    /// The larger indices, ascending within a row.
    pub others: Vec<u32>,
}

impl ListedPairs {
    /// Sorts ascending pairs into rows.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(super) fn new(pairs: &[Pair]) -> Result<Self, Error> {
        let Some(last) = pairs.last() else {
            return Ok(Self::default());
        };
        let mut rows = with_capacity(last.a as usize + 2)?;
        rows.resize(last.a as usize + 2, 0);
        for pair in pairs {
            rows[pair.a as usize + 1] += 1;
        }
        for row in 1..rows.len() {
            rows[row] += rows[row - 1];
        }
        let mut others = with_capacity(pairs.len())?;
        others.extend(pairs.iter().map(|pair| pair.b));
        Ok(Self { rows, others })
    }

    /// Returns the larger indices of the pairs with this smaller index.
    #[inline]
    pub fn of(&self, a: u32) -> &[u32] {
        match self.rows.get(a as usize..) {
            Some(&[start, end, ..]) => &self.others[start as usize..end as usize],
            _ => &[],
        }
    }

    /// Returns whether the pair is listed.
    #[inline]
    pub(super) fn contains(&self, pair: Pair) -> bool {
        self.of(pair.a).binary_search(&pair.b).is_ok()
    }
}

/// Merges lists into one ascending list of pairs with `a < b`, each once.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub(super) fn ascending(lists: &[&[Pair]]) -> Result<Vec<Pair>, Error> {
    let mut pairs = with_capacity(lists.iter().map(|list| list.len()).sum())?;
    for list in lists {
        pairs.extend(list.iter().map(|pair| Pair::new(pair.a, pair.b)));
    }
    pairs.sort_unstable();
    pairs.dedup();
    Ok(pairs)
}

/// Creates an empty list with capacity for `length` elements. Callers can pass lists of any length, so exhausted memory
/// is an error instead of an abort.
fn with_capacity<T>(length: usize) -> Result<Vec<T>, Error> {
    let mut list = Vec::new();
    let bytes = (length as u64).saturating_mul(size_of::<T>() as u64);
    let out_of_memory = |_| Error::OutOfMemory { buffer: "lists of pairs on the host".to_owned(), bytes };
    list.try_reserve_exact(length).map_err(out_of_memory)?;
    Ok(list)
}
