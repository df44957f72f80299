//! The pairs of padded boxes. In each step, a pair is tested again only if a box moved.

use rayon::prelude::*;

use super::changes::PairChanges;
use super::motion::{LEFT_PADDING, MOVED, NO_BOX};
use super::rows::{Rows, Second};
use crate::base::reserve::{push, reserve};
use crate::cpu::engine::task_lists::TaskLists;
use crate::filters::CheckedFilters;
use crate::{Aabb, Error, Pair};

/// Pairs that a thread tests at a time.
const CHUNK: usize = 1 << 14;
/// Pairs whose boxes are fetched at a time.
const BLOCK: usize = 32;
/// Boxes whose pairs a thread tests at a time.
const TASK: usize = 1 << 9;

/// Tests boxes as they are searched in this step.
#[derive(Clone, Copy, Debug)]
pub struct Tests<'a> {
    pub boxes: &'a [Aabb],
    pub filters: &'a CheckedFilters,
}

impl Tests<'_> {
    /// Returns whether the boxes of a pair overlap, and whether their half-spaces or spheres, if any, have a point in
    /// common. The other filters were applied to the pairs of padded boxes.
    #[inline]
    pub fn meet(&self, pair: Pair) -> bool {
        let Pair { a, b } = pair;
        self.boxes[a as usize].overlaps(&self.boxes[b as usize]) && self.filters.shapes_meet(self.boxes.into(), a, b)
    }

    /// Tests the pairs with a moved box, and returns the count of pairs that overlap.
    fn few(&self, pairs: &[Pair], states: &[u8], are: &mut [u8]) -> usize {
        let mut count = 0;
        for (pair, is) in pairs.iter().zip(are) {
            let state = states[pair.a as usize] | states[pair.b as usize];
            if state != 0 {
                *is = if state & LEFT_PADDING != 0 { 0 } else { u8::from(self.meet(*pair)) };
            }
            count += usize::from(*is);
        }
        count
    }

    /// Tests all pairs, and returns the count of pairs that overlap.
    fn many(&self, pairs: &[Pair], states: &[u8], are: &mut [u8]) -> usize {
        let has_half_spaces = !self.filters.half_spaces().is_empty();
        let mut count = 0;
        let mut others = [NO_BOX; BLOCK];
        let mut stayed = [0; BLOCK];
        for (pairs, are) in pairs.chunks(BLOCK).zip(are.chunks_mut(BLOCK)) {
            // Boxes are scattered in memory. Issue all loads first, so that the processor runs them at the same time.
            for ((other, stayed), pair) in others.iter_mut().zip(&mut stayed).zip(pairs) {
                *other = self.boxes[pair.b as usize];
                *stayed = (states[pair.a as usize] | states[pair.b as usize]) & LEFT_PADDING ^ LEFT_PADDING;
            }
            for ((is, pair), (other, stayed)) in are.iter_mut().zip(pairs).zip(others.iter().zip(&stayed)) {
                // No branch, since it would be mispredicted.
                *is = u8::from(overlap(&self.boxes[pair.a as usize], other) & (*stayed != 0));
                if has_half_spaces && *is != 0 {
                    *is = u8::from(self.filters.shapes_meet(self.boxes.into(), pair.a, pair.b));
                }
                count += usize::from(*is);
            }
        }
        count
    }
}

/// Returns the same as [`Aabb::overlaps`], without a branch.
#[inline(always)]
fn overlap(a: &Aabb, b: &Aabb) -> bool {
    (0..3).fold(true, |all, k| {
        let (low, high) = ([a.min[k], b.min[k]], [a.max[k], b.max[k]]);
        all & (low[0] <= high[0]) & (low[0] <= high[1]) & (low[1] <= high[0]) & (low[1] <= high[1])
    })
}

/// The pairs of the padded boxes at the beginning of the epoch.
#[derive(Debug, Default)]
pub struct PaddedPairs {
    /// The pairs, ascending.
    pub pairs: Vec<Pair>,
    /// `[pair_count]` 1 if the pair overlapped at its last test, otherwise 0.
    are: Vec<u8>,
    /// `[chunk]` the count of its pairs that overlap in this step, and the count of `others` that [`list`](Self::list)
    /// merges with them.
    counts: Vec<[usize; 2]>,
    /// The pairs by box, filled on demand.
    rows: Rows,
    /// Pairs whose overlap has changed.
    changed: Vec<Pair>,
}

impl PaddedPairs {
    /// Begins an epoch with these pairs. All pairs count as not overlapping until they are tested.
    ///
    /// # Errors
    /// [`Error::ListTooLong`].
    pub fn begin(&mut self, pairs: &mut Vec<Pair>) -> Result<(), Error> {
        std::mem::swap(&mut self.pairs, pairs);
        self.rows.clear();
        self.are.clear();
        self.are.try_reserve(self.pairs.len()).map_err(|_| Error::list_too_long(self.pairs.len() as u64))?;
        self.are.resize(self.pairs.len(), 0);
        Ok(())
    }

    /// Tests the pairs with a moved box, or all pairs if `moved_many`. Pairs of boxes that left their padding do not
    /// count.
    pub fn test(&mut self, tests: Tests<'_>, states: &[u8], moved_many: bool) {
        self.counts.clear();
        self.counts.resize(self.pairs.len().div_ceil(CHUNK), [0; 2]);
        let test = |((pairs, are), count): ((&[Pair], &mut [u8]), &mut [usize; 2])| {
            count[0] = if moved_many { tests.many(pairs, states, are) } else { tests.few(pairs, states, are) };
        };
        if self.pairs.len() <= CHUNK {
            self.pairs.chunks(CHUNK).zip(self.are.chunks_mut(CHUNK)).zip(&mut self.counts).for_each(test);
        } else {
            let chunks = self.pairs.par_chunks(CHUNK).zip(self.are.par_chunks_mut(CHUNK));
            chunks.zip(&mut self.counts).for_each(test);
        }
    }

    /// Tests only the pairs of `moved`, and adds changed pairs to `changes`. `moved` must have all boxes that moved or
    /// left, ascending. Returns `false` if there are too many pairs for rows.
    ///
    /// # Errors
    /// [`Error::ListTooLong`].
    pub fn change(
        &mut self,
        tests: Tests<'_>,
        states: &[u8],
        moved: &[u32],
        lists: &mut TaskLists,
        changes: &mut PairChanges,
    ) -> Result<bool, Error> {
        let Self { pairs, are, rows, changed, .. } = self;
        if !rows.is_filled() {
            rows.fill(pairs, states.len())?;
        }
        if !rows.is_filled() {
            return Ok(false);
        }
        changed.clear();
        let has_half_spaces = !tests.filters.half_spaces().is_empty();
        let task = |&(first, end): &(usize, usize), list: &mut Vec<Pair>| {
            for &id in &moved[first..end] {
                let aabb = &tests.boxes[id as usize];
                let state = states[id as usize];
                // Branch on a change of the overlap, which is rare: a branch on the overlap would be mispredicted.
                let has_changed = |other: u32, number: usize, pair: Pair| {
                    let stayed = (state | states[other as usize]) & LEFT_PADDING == 0;
                    let mut is = overlap(aabb, &tests.boxes[other as usize]) & stayed;
                    if has_half_spaces && is {
                        is = tests.filters.shapes_meet(tests.boxes.into(), pair.a, pair.b);
                    }
                    u8::from(is) != are[number]
                };
                let row = rows.of_first(id);
                for (number, &pair) in row.clone().zip(&pairs[row]) {
                    if has_changed(pair.b, number, pair) {
                        push(list, pair)?;
                    }
                }
                for &Second { first, number } in rows.of_second(id) {
                    let pair = Pair { a: first, b: id };
                    // If both boxes moved, the pair was tested for the first box.
                    if has_changed(first, number as usize, pair) && states[first as usize] & MOVED == 0 {
                        push(list, pair)?;
                    }
                }
            }
            Ok(())
        };
        lists.fill(
            (0..moved.len()).step_by(TASK).map(|first| (first, moved.len().min(first + TASK))),
            changed,
            task,
        )?;
        for &pair in &*changed {
            let row = rows.of_first(pair.a);
            let number = row.start + pairs[row].partition_point(|other| other < &pair);
            are[number] ^= 1;
            changes.push(pair, are[number] == 1)?;
        }
        Ok(true)
    }

    /// Lists the pairs that overlap, merged with `others`. Both are ascending, and no pair is in both.
    ///
    /// # Errors
    /// [`Error::ListTooLong`].
    pub fn list(&mut self, others: &[Pair], to: &mut Vec<Pair>) -> Result<(), Error> {
        let mut next = 0;
        let mut length = 0;
        for (count, end) in self.counts.iter_mut().zip((CHUNK..).step_by(CHUNK)) {
            let others_end = match self.pairs.get(end) {
                Some(pair) => next + others[next..].partition_point(|other| other < pair),
                None => others.len(),
            };
            count[1] = others_end - next;
            next = others_end;
            length += count[0] + count[1];
        }
        if self.pairs.is_empty() {
            length = others.len();
        }
        reserve(to, length.saturating_sub(to.len()) as u64)?;
        to.resize(length, Pair { a: 0, b: 0 });
        if self.pairs.is_empty() {
            to.copy_from_slice(others);
        } else {
            halves(&self.counts, &self.pairs, &self.are, others, to);
        }
        Ok(())
    }

    /// Returns the bytes of allocated memory.
    pub fn bytes(&self) -> usize {
        self.pairs.capacity() * size_of::<Pair>()
            + self.are.capacity()
            + self.counts.capacity() * size_of::<[usize; 2]>()
            + self.changed.capacity() * size_of::<Pair>()
            + self.rows.bytes()
    }
}

/// Writes the two halves of the chunks in parallel, recursively, each with its part of all lists.
fn halves(counts: &[[usize; 2]], pairs: &[Pair], are: &[u8], others: &[Pair], to: &mut [Pair]) {
    if counts.len() <= 1 {
        return one(pairs, are, others, to);
    }
    let (left, right) = counts.split_at(counts.len() / 2);
    let other_count = left.iter().map(|count| count[1]).sum::<usize>();
    let count = left.iter().map(|count| count[0]).sum::<usize>() + other_count;
    let pairs = pairs.split_at(left.len() * CHUNK);
    let are = are.split_at(left.len() * CHUNK);
    let others = others.split_at(other_count);
    let to = to.split_at_mut(count);
    rayon::join(|| halves(left, pairs.0, are.0, others.0, to.0), || halves(right, pairs.1, are.1, others.1, to.1));
}

fn one(pairs: &[Pair], are: &[u8], mut others: &[Pair], to: &mut [Pair]) {
    if to.len() == pairs.len() && others.is_empty() {
        return to.copy_from_slice(pairs);
    }
    let mut count = 0;
    for (&pair, &is) in pairs.iter().zip(are) {
        while let Some((&other, rest)) = others.split_first()
            && other < pair
        {
            to[count] = other;
            count += 1;
            others = rest;
        }
        // No branch, since it would be mispredicted: always write the pair, but count it only if it overlaps.
        if let Some(place) = to.get_mut(count) {
            *place = pair;
        }
        count += usize::from(is);
    }
    to[count..].copy_from_slice(others);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_are_merged_in_order_at_every_border_of_chunks() {
        let pair = |b: usize| Pair { a: 0, b: b as u32 + 1 };
        for length in [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 7] {
            // Every second pair is in `others`. Of the rest, every fifth does not overlap.
            let (others, all): (Vec<Pair>, Vec<Pair>) = (0..length).map(pair).partition(|pair| pair.b % 2 == 0);
            let are: Vec<u8> = all.iter().map(|pair| u8::from(pair.b % 5 != 0)).collect();
            let overlapping = all.iter().zip(&are).filter(|(_, is)| **is == 1).map(|(pair, _)| *pair);
            let mut expected: Vec<Pair> = others.iter().copied().chain(overlapping).collect();
            expected.sort_unstable();
            let count = |are: &[u8]| [are.iter().map(|is| usize::from(*is)).sum(), 0];
            let counts = are.chunks(CHUNK).map(count).collect();
            let mut padded = PaddedPairs { counts, pairs: all, are, ..PaddedPairs::default() };
            let mut list = vec![Pair { a: 9, b: 9 }; 5];
            padded.list(&others, &mut list).unwrap();
            assert!(list == expected, "{length}");
        }
    }
}
