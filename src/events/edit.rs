//! An ascending list of pairs, changed in place: what stays moves in whole stretches.

use crate::{Error, Pair};

/// A stretch of the list that stays as it is.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    start: usize,
    end: usize,
    /// Where it goes.
    to: usize,
}

/// Changes lists, in memory that is kept.
#[derive(Debug, Default)]
pub struct Edit {
    stretches: Vec<Stretch>,
}

impl Edit {
    /// Adds the pairs of `created`, which are not in the list, and takes out those of `lost`, which are. All three are ascending.
    ///
    /// # Errors
    /// [`Error::ListTooLong`]; the list is as it was.
    pub fn apply(&mut self, pairs: &mut Vec<Pair>, created: &[Pair], lost: &[Pair]) -> Result<(), Error> {
        let before = pairs.len();
        let after = before + created.len() - lost.len();
        let too_long = |_| Error::list_too_long(after as u64);
        pairs.try_reserve(after.saturating_sub(before)).map_err(too_long)?;
        self.stretches.clear();
        self.stretches.try_reserve(created.len() + lost.len() + 1).map_err(too_long)?;
        self.cut(pairs, created, lost);

        pairs.resize(before.max(after), Pair { a: 0, b: 0 });
        // A stretch that goes down never reaches into one before it that stays or goes up, nor the other way round: between the two
        // lies what was created.
        let down = self.stretches.iter().filter(|stretch| stretch.to < stretch.start);
        down.for_each(|stretch| pairs.copy_within(stretch.start..stretch.end, stretch.to));
        let up = self.stretches.iter().rev().filter(|stretch| stretch.to > stretch.start);
        up.for_each(|stretch| pairs.copy_within(stretch.start..stretch.end, stretch.to));
        pairs.truncate(after);
        // Created pairs fill what is between.
        let mut created = created;
        let mut next = 0;
        let end = Stretch { start: before, end: before, to: after };
        for stretch in self.stretches.iter().chain([&end]) {
            let (own, others) = created.split_at(stretch.to - next);
            pairs[next..stretch.to].copy_from_slice(own);
            created = others;
            next = stretch.to + stretch.end - stretch.start;
        }
        Ok(())
    }

    /// Cuts the list where pairs come or go.
    fn cut(&mut self, pairs: &[Pair], created: &[Pair], lost: &[Pair]) {
        let (mut created, mut lost) = (created.iter().peekable(), lost.iter().peekable());
        let (mut start, mut to) = (0, 0);
        loop {
            let comes = match (created.peek(), lost.peek()) {
                (None, None) => break,
                (Some(new), Some(old)) => new < old,
                (new, _) => new.is_some(),
            };
            let Some(&pair) = (if comes { created.next() } else { lost.next() }) else { break };
            let end = start + place_of(&pairs[start..], pair);
            self.stretches.push(Stretch { start, end, to });
            to += end - start + usize::from(comes);
            start = end + usize::from(!comes);
        }
        self.stretches.push(Stretch { start, end: pairs.len(), to });
    }

    /// Counts the bytes held.
    pub fn bytes(&self) -> usize {
        self.stretches.capacity() * size_of::<Stretch>()
    }
}

/// Returns how many pairs come before this one. What is looked for is mostly near: the step doubles until it is passed.
fn place_of(pairs: &[Pair], pair: Pair) -> usize {
    let mut step = 1;
    while pairs.get(step).is_some_and(|other| *other < pair) {
        step *= 2;
    }
    let first = step / 2;
    let end = pairs.len().min(step + 1);
    first + pairs[first..end].partition_point(|other| *other < pair)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn lists_are_those_that_are_made_anew() {
        let mut state = 1u64;
        let mut below = |n: u64| {
            state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(0x1405_7b7e_f767_814f);
            (state >> 33) % n
        };
        let mut edit = Edit::default();
        for round in 0..3000 {
            let most = [0, 1, 3, 20, 300][round % 5];
            let universe = 2 * most + 1;
            let pair = |number: u64| Pair { a: (number / 7) as u32, b: (number % 7) as u32 };
            let mut then = BTreeSet::new();
            for _ in 0..below(most + 1) {
                then.insert(pair(below(universe)));
            }
            let (mut created, mut lost) = (BTreeSet::new(), BTreeSet::new());
            for _ in 0..below([1, 4, most + 2][round % 3]) {
                let other = pair(below(universe));
                if then.contains(&other) {
                    lost.insert(other)
                } else {
                    created.insert(other)
                };
            }
            let list = |set: &BTreeSet<Pair>| set.iter().copied().collect::<Vec<_>>();
            let mut pairs = list(&then);
            edit.apply(&mut pairs, &list(&created), &list(&lost)).unwrap();
            let now: Vec<Pair> =
                then.difference(&lost).chain(&created).copied().collect::<BTreeSet<_>>().into_iter().collect();
            assert_eq!(pairs, now, "{then:?} without {lost:?} with {created:?}");
        }
    }
}
