//! Compares two ascending lists of pairs on all threads.
//!
//! The list of this step is cut into parts. The last list is cut at the same pairs. The parts are processed separately,
//! twice: first to count their events, then to write them. The counts give the place at which each part writes.

use rayon::prelude::*;

use super::places::Places;
use crate::base::reserve::resize;
use crate::{Error, Events, Pair};

/// Pairs of this step that a thread compares at a time.
const PART: usize = 1 << 14;
/// Pairs that are compared at once: runs of this length are mostly unchanged.
const BLOCK: usize = 16;

/// Ranges of this step's pairs and of the last step's pairs between the same bounds.
#[derive(Clone, Copy, Debug, Default)]
struct RangePair {
    now: [usize; 2],
    then: [usize; 2],
    created: usize,
    lost: usize,
    /// Pairs of both steps that are listed as persisting.
    persisting: usize,
}

/// Compares lists, in reused memory.
#[derive(Debug, Default)]
pub struct Comparison {
    parts: Vec<RangePair>,
    /// `[now]` the place of each pair in the last list, or [`Places::CREATED`].
    pub before: Vec<u64>,
}

/// The output of a part.
struct Lists<'a> {
    created: &'a mut [Pair],
    lost: &'a mut [Pair],
    persisting: &'a mut [Pair],
}

impl Comparison {
    /// Finds the place of each of `now` in `then`. Both are ascending.
    ///
    /// # Errors
    /// [`Error::ListTooLong`].
    pub fn find(&mut self, now: &[Pair], then: &[Pair]) -> Result<(), Error> {
        resize(&mut self.before, now.len(), Places::CREATED)?;
        self.parts.clear();
        let mut next = 0;
        for first in (0..now.len().max(1)).step_by(PART) {
            let end = now.len().min(first + PART);
            // The last part includes all later pairs of `then`.
            let then_end = match now.get(end) {
                Some(pair) => next + then[next..].partition_point(|other| other < pair),
                None => then.len(),
            };
            self.parts.push(RangePair { now: [first, end], then: [next, then_end], ..RangePair::default() });
            next = then_end;
        }
        let count = |(part, before): (&mut RangePair, &mut [u64])| part.find(now, then, before);
        match &mut self.parts[..] {
            // A single part wakes no other thread.
            [part] => count((part, &mut self.before)),
            parts => parts.par_iter_mut().zip(self.before.par_chunks_mut(PART)).for_each(count),
        }
        Ok(())
    }

    /// Lists the created and lost pairs, and the persisting pairs for which `persists` returns true. Without
    /// `persists`, no persisting pair is listed.
    ///
    /// # Errors
    /// [`Error::ListTooLong`].
    pub fn list(
        &mut self,
        now: &[Pair],
        then: &[Pair],
        events: &mut Events,
        persists: Option<impl Fn(Pair) -> bool + Sync>,
    ) -> Result<(), Error> {
        let Self { parts, before } = self;
        if let Some(persists) = &persists {
            let count = |part: &mut RangePair| {
                let [first, end] = part.now;
                let both = now[first..end].iter().zip(&before[first..end]);
                let listed = both.filter(|&(&pair, &place)| place != Places::CREATED && persists(pair));
                part.persisting = listed.count();
            };
            each(parts, count);
        }
        let sum = |of: fn(&RangePair) -> usize| parts.iter().map(of).sum::<usize>();
        let none = Pair { a: 0, b: 0 };
        resize(&mut events.created, sum(|part| part.created), none)?;
        resize(&mut events.lost, sum(|part| part.lost), none)?;
        resize(&mut events.persisting, sum(|part| part.persisting), none)?;
        let lists = Lists { created: &mut events.created, lost: &mut events.lost, persisting: &mut events.persisting };
        let persists = |pair| persists.as_ref().is_some_and(|persists| persists(pair));
        halves(parts, lists, &|part, lists| part.write(now, then, before, &persists, lists));
        Ok(())
    }

    /// Returns the bytes of allocated memory.
    pub fn bytes(&self) -> usize {
        self.parts.capacity() * size_of::<RangePair>() + self.before.capacity() * size_of::<u64>()
    }
}

/// Runs a closure for each part, on all threads if there are several.
fn each(parts: &mut [RangePair], run: impl Fn(&mut RangePair) + Sync + Send) {
    match parts {
        [part] => run(part),
        parts => parts.par_iter_mut().for_each(run),
    }
}

/// Splits the parts and all lists into halves, recursively, and writes them in parallel.
fn halves(parts: &[RangePair], lists: Lists<'_>, write: &(impl Fn(&RangePair, Lists<'_>) + Sync)) {
    if let [part] = parts {
        return write(part, lists);
    }
    let (left, right) = parts.split_at(parts.len() / 2);
    let sum = |of: fn(&RangePair) -> usize| left.iter().map(of).sum::<usize>();
    let created = lists.created.split_at_mut(sum(|part| part.created));
    let lost = lists.lost.split_at_mut(sum(|part| part.lost));
    let persisting = lists.persisting.split_at_mut(sum(|part| part.persisting));
    let [left_lists, right_lists] = [
        Lists { created: created.0, lost: lost.0, persisting: persisting.0 },
        Lists { created: created.1, lost: lost.1, persisting: persisting.1 },
    ];
    rayon::join(|| halves(left, left_lists, write), || halves(right, right_lists, write));
}

/// The merge of a range of this step's pairs with the same range of the last step.
struct Merge<'a> {
    now: &'a [Pair],
    then: &'a [Pair],
    /// `[now]` the places in the last list.
    before: &'a mut [u64],
    /// The place of the first element of `then` in the last list.
    first: usize,
    /// Processed pairs of `now` and of `then`, and pairs in both.
    i: usize,
    j: usize,
    met: usize,
}

impl<'a> Merge<'a> {
    fn new(now: &'a [Pair], then: &'a [Pair], before: &'a mut [u64], first: usize) -> Self {
        Self { now, then, before, first, i: 0, j: 0, met: 0 }
    }

    #[inline(always)]
    fn is_over(&self) -> bool {
        self.i >= self.now.len() || self.j >= self.then.len()
    }

    /// Skips a block if both lists have the same block. Returns whether it did.
    #[inline(always)]
    fn skip_equal(&mut self) -> bool {
        let (i, j) = (self.i, self.j);
        let blocks = self.now.get(i..i + BLOCK).zip(self.then.get(j..j + BLOCK));
        let bits = bytemuck::cast_slice::<Pair, u32>;
        if blocks.is_none_or(|(now, then)| bits(now) != bits(then)) {
            return false;
        }
        self.before[i..i + BLOCK].iter_mut().zip((self.first + j) as u64..).for_each(|(place, k)| *place = k);
        (self.i, self.j, self.met) = (i + BLOCK, j + BLOCK, self.met + BLOCK);
        true
    }

    /// Advances by a pair in one of the lists, or in both. It has no branches, since they would be mispredicted.
    #[inline(always)]
    fn step(&mut self) {
        let (a, b) = (key(self.now[self.i]), key(self.then[self.j]));
        self.before[self.i] = if a == b { (self.first + self.j) as u64 } else { Places::CREATED };
        self.met += usize::from(a == b);
        self.i += usize::from(a <= b);
        self.j += usize::from(b <= a);
    }

    /// Merges to the end, and returns the count of pairs in both lists.
    fn finish(mut self) -> usize {
        while !self.is_over() {
            if !self.skip_equal() {
                self.step();
            }
        }
        self.before[self.i..].fill(Places::CREATED);
        self.met
    }
}

impl RangePair {
    /// Finds the place of each of `now` in `then`, and counts the events.
    fn find(&mut self, now: &[Pair], then: &[Pair], before: &mut [u64]) {
        let (now, then) = (&now[self.now[0]..self.now[1]], &then[self.then[0]..self.then[1]]);
        // Each step of a merge waits for the previous step. So two interleaved merges take hardly longer than one.
        let middle = now.len() / 2;
        let at = now.get(middle).map_or(then.len(), |pair| then.partition_point(|other| other < pair));
        let (before, after) = before.split_at_mut(middle);
        let mut left = Merge::new(&now[..middle], &then[..at], before, self.then[0]);
        let mut right = Merge::new(&now[middle..], &then[at..], after, self.then[0] + at);
        while !left.is_over() && !right.is_over() {
            if left.skip_equal() | right.skip_equal() {
                continue;
            }
            for _ in 0..BLOCK {
                if left.is_over() || right.is_over() {
                    break;
                }
                left.step();
                right.step();
            }
        }
        let met = left.finish() + right.finish();
        (self.created, self.lost) = (now.len() - met, then.len() - met);
    }

    /// Writes the pairs of this part.
    fn write(&self, now: &[Pair], then: &[Pair], before: &[u64], persists: &impl Fn(Pair) -> bool, lists: Lists<'_>) {
        let [first, end] = self.now;
        let (now, before) = (&now[first..end], &before[first..end]);
        if lists.persisting.len() == now.len() {
            lists.persisting.copy_from_slice(now);
        } else if !lists.persisting.is_empty() {
            list_some(now, before, lists.persisting, |pair, place| (place != Places::CREATED) & persists(pair));
        }
        if self.created == 0 && self.lost == 0 {
            return;
        }
        let (mut created, mut lost) = (lists.created.iter_mut(), lists.lost.iter_mut());
        let mut next = self.then[0];
        for (pairs, places) in now.chunks(BLOCK).zip(before.chunks(BLOCK)) {
            let follow = places.iter().zip(next as u64..).fold(true, |follow, (place, k)| follow & (*place == k));
            if follow {
                next += places.len();
                continue;
            }
            for (&pair, &place) in pairs.iter().zip(places) {
                if place == Places::CREATED {
                    if let Some(to) = created.next() {
                        *to = pair;
                    }
                } else {
                    // The pairs of the last list between two places are lost.
                    let place = place as usize;
                    then[next..place].iter().zip(lost.by_ref()).for_each(|(&pair, to)| *to = pair);
                    next = place + 1;
                }
            }
        }
        then[next..self.then[1]].iter().zip(lost).for_each(|(&pair, to)| *to = pair);
    }
}

/// Lists the pairs for which `is_listed` returns true. `to` must have exactly one element for each of these pairs.
pub fn list_some(pairs: &[Pair], before: &[u64], to: &mut [Pair], is_listed: impl Fn(Pair, u64) -> bool) {
    let mut count = 0;
    for (&pair, &place) in pairs.iter().zip(before) {
        // No branch, since it would be mispredicted: always write the pair, but count it only if it is listed.
        if let Some(to) = to.get_mut(count) {
            *to = pair;
        }
        count += usize::from(is_listed(pair, place));
    }
}

/// Returns a pair as a number with the same order.
#[inline(always)]
fn key(pair: Pair) -> u64 {
    u64::from(pair.a) << 32 | u64::from(pair.b)
}
