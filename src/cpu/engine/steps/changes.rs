//! The changes of the list of pairs since the last step, collected without reading the list.

use crate::base::reserve::{push, reserve};
use crate::{Error, Pair};

/// The created pairs, which only this step has, and the lost pairs, which only the last step has.
#[derive(Debug, Default)]
pub struct PairChanges {
    /// Ascending after [`settle`](Self::settle).
    pub created: Vec<Pair>,
    pub lost: Vec<Pair>,
    /// Unsettled changes: a pair may be in both lists.
    raw_created: Vec<Pair>,
    raw_lost: Vec<Pair>,
}

impl PairChanges {
    /// Forgets all changes.
    pub fn clear(&mut self) {
        for list in [&mut self.created, &mut self.lost, &mut self.raw_created, &mut self.raw_lost] {
            list.clear();
        }
    }

    /// Adds a pair whose overlap has changed.
    ///
    /// # Errors
    /// [`Error::ListTooLong`].
    pub fn push(&mut self, pair: Pair, overlaps: bool) -> Result<(), Error> {
        push(if overlaps { &mut self.raw_created } else { &mut self.raw_lost }, pair)
    }

    /// Adds the changes from one ascending list to another.
    ///
    /// # Errors
    /// [`Error::ListTooLong`].
    pub fn add(&mut self, then: &[Pair], now: &[Pair]) -> Result<(), Error> {
        compare(then, now, &mut self.raw_lost, &mut self.raw_created)
    }

    /// Lists created and lost pairs. Omits pairs that are in both raw lists. A box of such a pair left its padding, so
    /// the pair moved from one list of the epoch to the other.
    ///
    /// # Errors
    /// [`Error::ListTooLong`].
    pub fn settle(&mut self) -> Result<(), Error> {
        let Self { created, lost, raw_created, raw_lost } = self;
        raw_created.sort_unstable();
        raw_lost.sort_unstable();
        compare(raw_lost, raw_created, lost, created)
    }

    /// Returns the bytes of allocated memory.
    pub fn bytes(&self) -> usize {
        let lists = [&self.created, &self.lost, &self.raw_created, &self.raw_lost];
        lists.iter().map(|list| list.capacity() * size_of::<Pair>()).sum()
    }
}

/// Compares two ascending lists. Appends to `only_a` the pairs that are only in `a`, and to `only_b` the pairs that are
/// only in `b`.
fn compare(mut a: &[Pair], b: &[Pair], only_a: &mut Vec<Pair>, only_b: &mut Vec<Pair>) -> Result<(), Error> {
    reserve(only_a, a.len() as u64)?;
    reserve(only_b, b.len() as u64)?;
    for &pair in b {
        let before = a.iter().take_while(|&&other| other < pair).count();
        only_a.extend_from_slice(&a[..before]);
        a = &a[before..];
        match a.split_first() {
            Some((&other, rest)) if other == pair => a = rest,
            _ => only_b.push(pair),
        }
    }
    only_a.extend_from_slice(a);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pairs_in_both_lists_did_not_change() {
        let pairs = |numbers: &[u32]| numbers.iter().map(|&b| Pair { a: 0, b }).collect::<Vec<_>>();
        let lists: [[&[u32]; 4]; 6] = [
            [&[], &[], &[], &[]],
            [&[2, 1], &[], &[1, 2], &[]],
            [&[], &[5, 3], &[], &[3, 5]],
            [&[4, 1, 3], &[3, 2, 1], &[4], &[2]],
            [&[1, 2], &[2, 1], &[], &[]],
            [&[9, 1], &[5, 7, 1, 8], &[9], &[5, 7, 8]],
        ];
        for [created, lost, is_created, is_lost] in lists {
            let mut changes =
                PairChanges { raw_created: pairs(created), raw_lost: pairs(lost), ..PairChanges::default() };
            changes.settle().unwrap();
            assert_eq!([changes.created, changes.lost], [pairs(is_created), pairs(is_lost)]);
        }
    }
}
