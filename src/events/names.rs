//! Renames the pairs of the last list to the indices of this step.

use rayon::prelude::*;

use super::Identity;
use super::step::StepSpec;
use crate::base::reserve::resize;
use crate::{Error, Pair};

/// The index of a removed box.
pub const REMOVED: u32 = u32::MAX;

/// A renamed pair, and its place in the last list.
type Named = (Pair, u64);

/// Returns the index of box `i` in the last step. For a new box, it returns [`REMOVED`] or an index beyond the last
/// step.
pub fn was(step: &StepSpec<'_>, generations: &[u32], i: u32) -> u32 {
    let at = i as usize;
    match step.identity {
        Identity::Index => i,
        Identity::Generations(own) => match generations.get(at) {
            Some(then) if own[at] != *then => REMOVED,
            _ => i,
        },
        Identity::Was(was) => was[at],
    }
}

/// Finds the index in this step of each of the `last` boxes of the last step, or [`REMOVED`].
pub fn rename(step: &StepSpec<'_>, generations: &[u32], last: u32, is: &mut Vec<u32>) {
    is.clear();
    is.resize(last as usize, REMOVED);
    for i in 0..step.box_count as u32 {
        if let Some(is) = is.get_mut(was(step, generations, i) as usize) {
            *is = i;
        }
    }
}

/// The pairs of the last step whose boxes still exist, with the indices of this step.
#[derive(Debug, Default)]
pub struct Names {
    /// `[boxes of the last step]` the index in this step, or `REMOVED`.
    is: Vec<u32>,
    named: Vec<Named>,
    /// The renamed pairs, ascending.
    pub pairs: Vec<Pair>,
}

impl Names {
    /// Returns whether boxes of the last step may have other indices in this step, or be removed.
    pub fn matter(step: &StepSpec<'_>, generations: &[u32]) -> bool {
        match step.identity {
            Identity::Index => false,
            Identity::Generations(own) => own.iter().zip(generations).any(|(now, then)| now != then),
            Identity::Was(was) => was.iter().zip(0..).any(|(&was, i)| was != i),
        }
    }

    /// Renames the pairs of the last step, which had `last` boxes.
    ///
    /// # Errors
    /// [`Error::ListTooLong`].
    pub fn name(&mut self, step: &StepSpec<'_>, generations: &[u32], last: u32, then: &[Pair]) -> Result<(), Error> {
        rename(step, generations, last, &mut self.is);
        let name = |(pair, place): (&Pair, u64)| {
            let [a, b] = [pair.a, pair.b].map(|i| self.is[i as usize]);
            (a != REMOVED && b != REMOVED).then_some((Pair::new(a, b), place))
        };
        self.named.clear();
        self.named.try_reserve(then.len()).map_err(|_| Error::list_too_long(then.len() as u64))?;
        self.named.extend(then.iter().zip(0..).filter_map(name));
        if !self.named.is_sorted() {
            self.named.par_sort_unstable();
        }
        resize(&mut self.pairs, self.named.len(), Pair { a: 0, b: 0 })?;
        self.pairs.iter_mut().zip(&self.named).for_each(|(to, (pair, _))| *to = *pair);
        Ok(())
    }

    /// Returns the bytes of allocated memory.
    pub fn bytes(&self) -> usize {
        self.is.capacity() * size_of::<u32>()
            + self.named.capacity() * size_of::<Named>()
            + self.pairs.capacity() * size_of::<Pair>()
    }

    /// Returns the place in the last list of renamed pair `at`.
    pub fn place(&self, at: u64) -> u64 {
        self.named[at as usize].1
    }
}
