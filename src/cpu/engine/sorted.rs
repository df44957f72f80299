//! The entries in the order of the sweep, and the sweep.

use std::ops::Range;

use glam::{Vec3, Vec4};
use rayon::prelude::*;

use super::box_of;
use super::chunks::Placed;
use super::pair_filter::PairFilter;
use super::task_lists::TaskLists;
use crate::base::constants::{ENTRY_BOX, ENTRY_FIRST_U, ENTRY_FIRST_V};
use crate::base::layout::Frame;
use crate::base::reserve::reserve;
use crate::cpu::mirror::rank;
use crate::{Aabb, Error, Pair};

/// The ranks that a thread gathers at a time.
const CHUNK: usize = 1 << 11;
/// The ranks whose boxes are fetched at a time.
const BLOCK: usize = 64;
/// The most candidates and ranks of one task, not counting candidates of its last rank. This is enough work for a
/// thread, and the list still fits a second-level cache.
const TASK: u64 = 1 << 15;
/// The candidates that are tested at a time. The list has capacity for all of them.
const BATCH: usize = 1 << 10;

/// The corners of a box, with flags of an entry's cell as fourth coordinates. A cell reports a pair if it is the first
/// cell of one of the boxes along u, and of one of the boxes along v. The flags are chosen so that the overlap test of
/// the fourth coordinate holds exactly then.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(32))]
struct Corners {
    /// The fourth coordinate is 0 if the cell is the first of the box along v, otherwise 1.
    min: Vec4,
    /// The fourth coordinate is 1 if the cell is the first of the box along u, otherwise 0.
    max: Vec4,
}

impl Corners {
    fn new(aabb: &Aabb, entry: u32) -> Self {
        // No branch, since it would be mispredicted.
        let is = |flag| f32::from(u8::from(entry & flag != 0));
        let min = Vec3::from(aabb.min).extend(1.0 - is(ENTRY_FIRST_V));
        Self { min, max: Vec3::from(aabb.max).extend(is(ENTRY_FIRST_U)) }
    }

    /// Exchanges the flags along u and v. Then [`meets`](Self::meets) compares the flags along u of both entries, and
    /// the flags along v of both.
    fn turned(self) -> Self {
        let Self { min, max } = self;
        Self { min: min.with_w(1.0 - max.w), max: max.with_w(1.0 - min.w) }
    }

    /// Returns whether the boxes of two entries of the same cell overlap, and this cell reports the pair. `other` must
    /// be [turned](Self::turned).
    #[inline(always)]
    fn meets(&self, other: &Self) -> bool {
        (self.min.cmple(other.max) & other.min.cmple(self.max)).all()
    }
}

/// The data of each entry for the sweep, by rank, so that candidates are adjacent in memory.
#[derive(Debug, Default)]
pub struct Sorted {
    /// `[entry_count]` first rank after the last candidate.
    ends: Vec<u32>,
    /// `[entry_count]` box and flags.
    entries: Vec<u32>,
    /// `[entry_count]`
    corners: Vec<Corners>,
    /// Candidate count of each chunk.
    candidates: Vec<u64>,
}

impl Sorted {
    /// Gathers the data of all sorted entries, and returns the count of their candidates.
    pub fn gather(&mut self, sorted: &[u64], placed: &[Placed], frame: &Frame) -> u64 {
        self.ends.resize(sorted.len(), 0);
        self.entries.resize(sorted.len(), 0);
        self.corners.resize(sorted.len(), Corners::default());
        self.candidates.resize(sorted.len().div_ceil(CHUNK), 0);
        let mask = (1 << frame.position_bits) - 1;
        let ends = self.ends.par_chunks_mut(CHUNK).zip(self.entries.par_chunks_mut(CHUNK));
        let all = ends.zip(self.corners.par_chunks_mut(CHUNK).zip(&mut self.candidates)).enumerate();
        all.for_each(|(chunk, ((ends, entries), (corners, candidates)))| {
            *candidates = 0;
            let places = ends.chunks_mut(BLOCK).zip(entries.chunks_mut(BLOCK)).zip(corners.chunks_mut(BLOCK));
            for (((ends, entries), corners), first) in places.zip((chunk * CHUNK..).step_by(BLOCK)) {
                // Boxes are scattered in memory. Issue all loads first, so that the processor runs them at the same
                // time.
                let mut loaded = [Placed::default(); BLOCK];
                for (loaded, &sorted) in loaded.iter_mut().zip(&sorted[first..]) {
                    *loaded = placed[box_of(sorted) as usize];
                }
                let places = ends.iter_mut().zip(entries).zip(corners);
                for (((end, entry), corners), (loaded, &sorted)) in places.zip(loaded.iter().zip(&sorted[first..])) {
                    (*end, *entry) = (loaded.end, sorted as u32);
                    *corners = Corners::new(&loaded.aabb, *entry);
                }
                for (end, at) in ends.iter_mut().zip(first..) {
                    let end_key = (sorted[at] >> 32) as u32 & !mask | *end;
                    let reach = rank::reach(&sorted[at..], |&entry| (entry >> 32) as u32 <= end_key);
                    *end = (at + reach) as u32;
                    *candidates += reach as u64 - 1;
                }
            }
        });
        self.candidates.iter().sum()
    }

    /// Appends the pairs among the candidates, by rank.
    pub fn sweep(&self, filter: impl PairFilter, lists: &mut TaskLists, pairs: &mut Vec<Pair>) -> Result<(), Error> {
        let mut next = 0;
        let tasks = std::iter::from_fn(|| {
            let (first, mut candidates) = (next, 0);
            while next < self.ends.len() && candidates + (next - first) as u64 <= TASK {
                candidates += u64::from(self.ends[next]) - next as u64 - 1;
                next += 1;
            }
            (first < next).then_some((first, next))
        });
        lists.fill(tasks, pairs, |&(first, last), list| self.test(first..last, filter, list))
    }

    /// Appends the pairs among the candidates of `ranks` to an empty list.
    fn test(&self, ranks: Range<usize>, filter: impl PairFilter, list: &mut Vec<Pair>) -> Result<(), Error> {
        // The count of written pairs, and of pairs that passed the filter.
        let (mut found, mut retained) = (0, 0);
        for rank in ranks {
            let (corners, own) = (self.corners[rank].turned(), self.entries[rank]);
            // Test candidates in batches, since an entry may have many candidates and few pairs.
            for first in (rank + 1..self.ends[rank] as usize).step_by(BATCH) {
                let others = first..(self.ends[rank] as usize).min(first + BATCH);
                if list.len() < found + others.len() {
                    found = filter.retain_crossing(list, retained, found);
                    retained = found;
                    reserve(list, 2 * BATCH as u64)?;
                    list.resize(found + 2 * BATCH, Pair { a: 0, b: 0 });
                }
                let out = &mut list[..];
                for (other, &entry) in self.corners[others.clone()].iter().zip(&self.entries[others]) {
                    // No branch, since it would be mispredicted: always write the two boxes, but count them only if
                    // they are a pair.
                    if let Some(place) = out.get_mut(found) {
                        *place = Pair::new(own & ENTRY_BOX, entry & ENTRY_BOX);
                    }
                    found += usize::from(other.meets(&corners) & filter.crosses(own, entry));
                }
            }
        }
        let found = filter.retain_crossing(list, retained, found);
        list.truncate(found);
        Ok(())
    }

    /// Returns the bytes of allocated memory.
    pub fn bytes(&self) -> usize {
        let per_entry = 2 * size_of::<u32>() + size_of::<Corners>();
        self.ends.capacity() * per_entry + self.candidates.capacity() * size_of::<u64>()
    }
}
