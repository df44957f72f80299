//! Changes an ascending list of pairs in place. Retained pairs move in whole stretches.

use std::ops::Range;

use rayon::prelude::*;

use super::compare::list_some;
use super::places::Places;
use crate::base::reserve::{reserve_length, resize};
use crate::{Error, Pair};

/// Pairs that a thread lists at a time.
const PART: usize = 1 << 15;

/// A stretch of the list that is retained.
#[derive(Clone, Copy, Debug)]
struct Stretch {
    start: usize,
    end: usize,
    /// The new start of the stretch.
    to: usize,
    /// The pairs of earlier stretches.
    earlier: usize,
}

impl Stretch {
    fn len(&self) -> usize {
        self.end - self.start
    }

    /// Intersects the stretch, moved to place `to`, with a part of the list: `length` places from `first` on. Returns
    /// the range of the intersection in the part, and the count of pairs of the stretch before this range. Returns
    /// `None` if the stretch begins after the part.
    fn within(&self, to: usize, first: usize, length: usize) -> Option<(Range<usize>, usize)> {
        let (low, high) = (first.max(to), (first + length).min(to + self.len()));
        (to < first + length).then(|| (low - first..high.max(low) - first, low - to))
    }
}

/// Changes lists, in reused memory.
#[derive(Debug, Default)]
pub struct Edit {
    stretches: Vec<Stretch>,
    /// `[part]` the count of listed pairs in each part.
    counts: Vec<usize>,
}

impl Edit {
    /// Reserves scratch memory for lists of this length, so that only [`apply`](Self::apply) can fail.
    ///
    /// # Errors
    /// [`Error::ListTooLong`].
    pub fn reserve(&mut self, length: usize) -> Result<(), Error> {
        reserve_length(&mut self.counts, length.div_ceil(PART))
    }

    /// Adds the pairs `created` to the list, and removes the pairs `lost`. The list must have all lost pairs and no
    /// created pair. All three lists are ascending.
    ///
    /// # Errors
    /// [`Error::ListTooLong`]; the list is unchanged.
    pub fn apply(&mut self, pairs: &mut Vec<Pair>, created: &[Pair], lost: &[Pair]) -> Result<(), Error> {
        let before = pairs.len();
        let after = before + created.len() - lost.len();
        let too_long = |_| Error::list_too_long(after as u64);
        pairs.try_reserve(after.saturating_sub(before)).map_err(too_long)?;
        self.stretches.clear();
        self.stretches.try_reserve(created.len() + lost.len() + 1).map_err(too_long)?;
        self.cut(pairs, created, lost);

        pairs.resize(before.max(after), Pair { a: 0, b: 0 });
        // New places ascend and are distinct. Stretches that move down are moved first. They overwrite no stretch that
        // stays or moves up: it ends, at its old place, no later than at its new one, so before the new start of every
        // later stretch.
        let down = self.stretches.iter().filter(|stretch| stretch.to < stretch.start);
        down.for_each(|stretch| pairs.copy_within(stretch.start..stretch.end, stretch.to));
        let up = self.stretches.iter().rev().filter(|stretch| stretch.to > stretch.start);
        up.for_each(|stretch| pairs.copy_within(stretch.start..stretch.end, stretch.to));
        pairs.truncate(after);
        // Created pairs fill the gaps.
        let mut created = created;
        let mut next = 0;
        let ends = self.stretches.iter().map(|stretch| (stretch.to, stretch.len())).chain([(after, 0)]);
        for (to, length) in ends {
            let (own, others) = created.split_at(to - next);
            pairs[next..to].copy_from_slice(own);
            created = others;
            next = to + length;
        }
        Ok(())
    }

    /// Lists the place of each pair before the change, and the retained pairs for which `is_listed` returns true;
    /// without `is_listed`, all retained pairs. `pairs` is the changed list.
    ///
    /// # Errors
    /// [`Error::ListTooLong`].
    pub fn list_stayed(
        &mut self,
        pairs: &[Pair],
        before: &mut Vec<u64>,
        stayed: &mut Vec<Pair>,
        is_listed: Option<impl Fn(Pair) -> bool + Sync>,
    ) -> Result<(), Error> {
        resize(before, pairs.len(), Places::CREATED)?;
        let name = |(part, before): (usize, &mut [u64])| self.name(part * PART, before);
        each_part(before, name);
        if let Some(is_listed) = is_listed {
            return self.list_some(pairs, before, stayed, &|pair, place| place != Places::CREATED && is_listed(pair));
        }
        let count = self.stretches.last().map_or(0, |last| last.earlier + last.len());
        resize(stayed, count, Pair { a: 0, b: 0 })?;
        let copy = |(part, stayed): (usize, &mut [Pair])| self.copy(part * PART, pairs, stayed);
        each_part(stayed, copy);
        Ok(())
    }

    /// Writes the old places of the pairs from `first` on.
    fn name(&self, first: usize, before: &mut [u64]) {
        before.fill(Places::CREATED);
        for stretch in self.from(first, |stretch| stretch.to) {
            let Some((range, skipped)) = stretch.within(stretch.to, first, before.len()) else { break };
            before[range].iter_mut().zip((stretch.start + skipped) as u64..).for_each(|(place, k)| *place = k);
        }
    }

    /// Copies retained pairs. `first` is the index of the first copied pair in the list of all retained pairs.
    fn copy(&self, first: usize, pairs: &[Pair], stayed: &mut [Pair]) {
        for stretch in self.from(first, |stretch| stretch.earlier) {
            let Some((range, skipped)) = stretch.within(stretch.earlier, first, stayed.len()) else { break };
            let start = stretch.to + skipped;
            let length = range.len();
            stayed[range].copy_from_slice(&pairs[start..start + length]);
        }
    }

    /// Returns the stretches from the first one that ends after `first`.
    fn from(&self, first: usize, place: fn(&Stretch) -> usize) -> &[Stretch] {
        let stretches = &self.stretches[..];
        &stretches[stretches.partition_point(|stretch| place(stretch) + stretch.len() <= first)..]
    }

    /// Lists the pairs for which `is_listed` returns true. Counts the pairs of each part first, to know where each part
    /// writes.
    fn list_some(
        &mut self,
        pairs: &[Pair],
        before: &[u64],
        to: &mut Vec<Pair>,
        is_listed: &(impl Fn(Pair, u64) -> bool + Sync),
    ) -> Result<(), Error> {
        resize(&mut self.counts, pairs.len().div_ceil(PART), 0)?;
        let count = |(part, count): (usize, &mut usize)| {
            let part = part * PART..pairs.len().min((part + 1) * PART);
            let both = pairs[part.clone()].iter().zip(&before[part]);
            *count = both.map(|(&pair, &place)| usize::from(is_listed(pair, place))).sum();
        };
        match &mut self.counts[..] {
            [alone] => count((0, alone)),
            counts => counts.par_iter_mut().enumerate().for_each(count),
        }
        resize(to, self.counts.iter().sum(), Pair { a: 0, b: 0 })?;
        write_parts(&self.counts, pairs, before, to, is_listed);
        Ok(())
    }

    /// Cuts the list into stretches at created and lost pairs.
    fn cut(&mut self, pairs: &[Pair], created: &[Pair], lost: &[Pair]) {
        let (mut created, mut lost) = (created.iter().peekable(), lost.iter().peekable());
        let (mut start, mut to, mut earlier) = (0, 0, 0);
        loop {
            let is_created = match (created.peek(), lost.peek()) {
                (None, None) => break,
                (Some(new), Some(old)) => new < old,
                (new, _) => new.is_some(),
            };
            let Some(&pair) = (if is_created { created.next() } else { lost.next() }) else { break };
            let end = start + place_of(&pairs[start..], pair);
            self.stretches.push(Stretch { start, end, to, earlier });
            earlier += end - start;
            to += end - start + usize::from(is_created);
            start = end + usize::from(!is_created);
        }
        self.stretches.push(Stretch { start, end: pairs.len(), to, earlier });
    }

    /// Returns the bytes of allocated memory.
    pub fn bytes(&self) -> usize {
        self.stretches.capacity() * size_of::<Stretch>() + self.counts.capacity() * size_of::<usize>()
    }
}

/// Runs a closure for each part of a list, on all threads if there are several.
fn each_part<T: Send>(list: &mut [T], run: impl Fn((usize, &mut [T])) + Sync + Send) {
    if list.len() <= PART {
        // One thread finishes before another would wake up.
        list.chunks_mut(PART).enumerate().for_each(run);
    } else {
        list.par_chunks_mut(PART).enumerate().for_each(run);
    }
}

/// Writes the listed pairs of all parts, in parallel. `counts` has the count of each part.
fn write_parts(
    counts: &[usize],
    pairs: &[Pair],
    before: &[u64],
    to: &mut [Pair],
    is_listed: &(impl Fn(Pair, u64) -> bool + Sync),
) {
    if counts.len() > 1 {
        let (first, last) = counts.split_at(counts.len() / 2);
        let middle = first.len() * PART;
        let (to, to_last) = to.split_at_mut(first.iter().sum());
        rayon::join(
            || write_parts(first, &pairs[..middle], &before[..middle], to, is_listed),
            || write_parts(last, &pairs[middle..], &before[middle..], to_last, is_listed),
        );
        return;
    }
    list_some(pairs, before, to, is_listed);
}

/// Returns the count of pairs before this one. The place is mostly near, so the search doubles its step until it passes
/// the pair.
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

    /// No rule, so all retained pairs are listed.
    const ALL: Option<fn(Pair) -> bool> = None;

    fn place_in(then: &BTreeSet<Pair>, pair: &Pair) -> u64 {
        if then.contains(pair) { then.range(..pair).count() as u64 } else { Places::CREATED }
    }

    #[test]
    fn lists_of_several_parts_match_new_lists() {
        // Pairs come and go at the borders of parts, and elsewhere.
        let n = 3 * PART as u32 + 77;
        let pair = |b: u32| Pair { a: 0, b };
        let then: Vec<Pair> = (0..n).map(|i| pair(2 * i)).collect();
        for lost_every in [1, 2, 5, 1000, n] {
            let is_lost = |i: &u32| i.is_multiple_of(lost_every) || i % PART as u32 <= 1;
            let lost: Vec<Pair> = (0..n).filter(is_lost).map(|i| pair(2 * i)).collect();
            let created: Vec<Pair> =
                (0..n).filter(|i| i % 777 == 5 || i % PART as u32 > PART as u32 - 3).map(|i| pair(2 * i + 1)).collect();
            let mut pairs = then.clone();
            let mut edit = Edit::default();
            edit.apply(&mut pairs, &created, &lost).unwrap();
            let (mut before, mut stayed) = (Vec::new(), Vec::new());
            edit.list_stayed(&pairs, &mut before, &mut stayed, ALL).unwrap();
            let retained: Vec<Pair> = (0..n).filter(|i| !is_lost(i)).map(|i| pair(2 * i)).collect();
            let mut now = [&retained[..], &created].concat();
            now.sort_unstable();
            let place = |pair: &Pair| if pair.b.is_multiple_of(2) { u64::from(pair.b / 2) } else { Places::CREATED };
            assert!(
                pairs == now && stayed == retained && before == now.iter().map(place).collect::<Vec<_>>(),
                "{lost_every}"
            );
            let is_listed = |pair: Pair| !(pair.b / 2).is_multiple_of(3);
            edit.list_stayed(&pairs, &mut before, &mut stayed, Some(is_listed)).unwrap();
            let listed: Vec<Pair> = retained.into_iter().filter(|pair| is_listed(*pair)).collect();
            assert!(stayed == listed && before == now.iter().map(place).collect::<Vec<_>>(), "{lost_every}");
        }
    }

    #[test]
    fn lists_match_new_lists() {
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

            let (mut before, mut stayed) = (vec![7; 3], vec![pair(3); 5]);
            edit.list_stayed(&pairs, &mut before, &mut stayed, ALL).unwrap();
            let places: Vec<u64> = now.iter().map(|pair| place_in(&then, pair)).collect();
            assert_eq!(before, places, "{then:?} without {lost:?} with {created:?}");
            assert_eq!(stayed, then.difference(&lost).copied().collect::<Vec<_>>());
            edit.list_stayed(&pairs, &mut before, &mut stayed, Some(|pair: Pair| pair.b != 3)).unwrap();
            assert_eq!(before, places, "{then:?} without {lost:?} with {created:?}");
            assert_eq!(stayed, then.difference(&lost).copied().filter(|pair| pair.b != 3).collect::<Vec<_>>());
        }
    }
}
