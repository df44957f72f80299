//! Lists and sets of pairs that end in an error where there is no memory for them, and not the process.

use std::collections::HashSet;

use super::BaselineError;
use broadsweep::Pair;

/// Appends pairs to a list until there is no memory for more. From there on the list is empty, and pairs are counted.
pub(crate) struct PairList<'a> {
    pairs: &'a mut Vec<Pair>,
    /// The number of all pairs found, once there was no memory.
    lost: u64,
}

impl<'a> PairList<'a> {
    /// Appends to what `pairs` has.
    pub fn new(pairs: &'a mut Vec<Pair>) -> Self {
        Self { pairs, lost: 0 }
    }

    /// Appends a pair; takes no longer than a `Vec` does.
    #[inline]
    pub fn push(&mut self, pair: Pair) {
        if self.pairs.len() < self.pairs.capacity() || self.grows() {
            self.pairs.push(pair);
        }
    }

    /// Appends all of `pairs`.
    pub fn extend(&mut self, pairs: impl IntoIterator<Item = Pair>) {
        pairs.into_iter().for_each(|pair| self.push(pair));
    }

    #[cold]
    fn grows(&mut self) -> bool {
        if self.lost == 0 && self.pairs.try_reserve(1).is_ok() {
            return true;
        }
        self.lost += self.pairs.len() as u64 + 1;
        // Others may need the memory.
        *self.pairs = Vec::new();
        false
    }

    /// Ends the list.
    ///
    /// # Errors
    /// [`BaselineError::ListTooLong`] if it was too long.
    pub fn finish(self, algorithm: &'static str) -> Result<(), BaselineError> {
        match self.lost {
            0 => Ok(()),
            pair_count => Err(BaselineError::ListTooLong { algorithm, pair_count }),
        }
    }
}

/// Keeps each pair once, until there is no memory for more. From there on the set is empty.
#[derive(Debug, Default)]
pub(super) struct PairSet {
    pairs: HashSet<Pair>,
    /// Pairs that the set had, and insertions after that, once there was no memory.
    lost: u64,
}

impl PairSet {
    /// Inserts a pair; returns whether it is new.
    #[inline]
    pub fn insert(&mut self, pair: Pair) -> bool {
        (self.pairs.len() < self.pairs.capacity() || self.grows()) && self.pairs.insert(pair)
    }

    #[cold]
    fn grows(&mut self) -> bool {
        if self.lost == 0 && self.pairs.try_reserve(1).is_ok() {
            return true;
        }
        self.lost += self.pairs.len() as u64 + 1;
        self.pairs = HashSet::new();
        false
    }

    /// Takes a pair away.
    pub fn remove(&mut self, pair: Pair) {
        self.pairs.remove(&pair);
    }

    /// Keeps the pairs that are `wanted`.
    pub fn retain(&mut self, wanted: impl Fn(&Pair) -> bool) {
        self.pairs.retain(wanted);
    }

    /// Empties the set; its memory stays.
    pub fn clear(&mut self) {
        self.pairs.clear();
        self.lost = 0;
    }

    /// Gives the pairs, in any order.
    pub fn iter(&self) -> impl Iterator<Item = Pair> {
        self.pairs.iter().copied()
    }

    /// Counts the bytes held: in a set of the standard library an eighth of the slots stays free, and each slot has a
    /// byte beside it.
    pub fn bytes(&self) -> usize {
        self.pairs.capacity() * 8 / 7 * (size_of::<Pair>() + 1)
    }

    /// Checks that there was memory for all pairs.
    ///
    /// # Errors
    /// [`BaselineError::ListTooLong`] if there was not.
    pub fn check(&self, algorithm: &'static str) -> Result<(), BaselineError> {
        match self.lost {
            0 => Ok(()),
            pair_count => Err(BaselineError::ListTooLong { algorithm, pair_count }),
        }
    }
}
