//! The entries in the order of the sweep, and the sweep.

use std::ops::Range;

use glam::Vec3A;
use rayon::prelude::*;

use super::box_of;
use super::pair_filter::PairFilter;
use super::task_lists::TaskLists;
use crate::base::layout::Frame;
use crate::base::reserve::reserve;
use crate::cpu::mirror::{rank, sweep};
use crate::{Aabb, Error, Pair};

/// The ranks that a thread gathers at a time.
const CHUNK: usize = 1 << 11;
/// The ranks whose boxes are fetched at a time.
const BLOCK: usize = 64;
/// The most candidates and ranks of one task, except for the candidates of its last rank. They are enough for a thread, and few
/// enough that the list stays in a second-level cache.
const TASK: u64 = 1 << 15;
/// The candidates that are tested at a time. The list has capacity for all of them.
const BATCH: usize = 1 << 10;

/// Holds the part of each entry that the sweep needs, by rank, so that candidates are neighbours in memory.
#[derive(Debug, Default)]
pub struct Sorted {
    /// `[entry_count]` first rank after the last candidate.
    ends: Vec<u32>,
    /// `[entry_count]` the footprint of the box in its cell.
    footprints: Vec<u32>,
    /// `[entry_count]` corners of the box.
    corners: Vec<[Vec3A; 2]>,
    /// Candidates in each chunk.
    candidates: Vec<u64>,
}

impl Sorted {
    /// Looks up all sorted entries, and returns the count of their candidates.
    pub fn gather(&mut self, boxes: &[Aabb], entries: &[u64], positions: &[[u32; 4]], frame: &Frame) -> u64 {
        self.ends.resize(entries.len(), 0);
        self.footprints.resize(entries.len(), 0);
        self.corners.resize(entries.len(), [Vec3A::ZERO; 2]);
        self.candidates.resize(entries.len().div_ceil(CHUNK), 0);
        let mask = (1 << frame.position_bits) - 1;
        let ends = self.ends.par_chunks_mut(CHUNK).zip(self.footprints.par_chunks_mut(CHUNK));
        let all = ends.zip(self.corners.par_chunks_mut(CHUNK).zip(&mut self.candidates)).enumerate();
        all.for_each(|(chunk, ((ends, footprints), (corners, candidates)))| {
            *candidates = 0;
            let places = ends.chunks_mut(BLOCK).zip(footprints.chunks_mut(BLOCK)).zip(corners.chunks_mut(BLOCK));
            for (((ends, footprints), corners), first) in places.zip((chunk * CHUNK..).step_by(BLOCK)) {
                // Boxes lie anywhere in memory: all loads first, so that many of them run at the same time.
                for ((end, footprint), (corners, &entry)) in
                    ends.iter_mut().zip(&mut *footprints).zip(corners.iter_mut().zip(&entries[first..]))
                {
                    let index = box_of(entry) as usize;
                    [_, *end, *footprint, _] = positions[index];
                    *corners = [boxes[index].min.into(), boxes[index].max.into()];
                }
                for ((end, footprint), at) in ends.iter_mut().zip(footprints).zip(first..) {
                    let end_key = (entries[at] >> 32) as u32 & !mask | *end;
                    let reach = rank::reach(&entries[at..], |&entry| (entry >> 32) as u32 <= end_key);
                    *end = (at + reach) as u32;
                    *footprint = rank::footprint(entries[at] as u32, *footprint);
                    *candidates += reach as u64 - 1;
                }
            }
        });
        self.candidates.iter().sum()
    }

    /// Appends the pairs among the candidates, by rank.
    pub fn sweep(
        &self,
        entries: &[u64],
        filter: impl PairFilter,
        lists: &mut TaskLists,
        pairs: &mut Vec<Pair>,
    ) -> Result<(), Error> {
        let mut next = 0;
        let tasks = std::iter::from_fn(|| {
            let (first, mut candidates) = (next, 0);
            while next < self.ends.len() && candidates + (next - first) as u64 <= TASK {
                candidates += u64::from(self.ends[next]) - next as u64 - 1;
                next += 1;
            }
            (first < next).then_some((first, next))
        });
        lists.fill(tasks, pairs, |&(first, last), list| self.test(entries, first..last, filter, list))
    }

    /// Appends the pairs among the candidates of `ranks` to an empty list.
    fn test(
        &self,
        entries: &[u64],
        ranks: Range<usize>,
        filter: impl PairFilter,
        list: &mut Vec<Pair>,
    ) -> Result<(), Error> {
        // Written pairs, and the count of those that passed the filter.
        let (mut found, mut retained) = (0, 0);
        for rank in ranks {
            let (own, [min, max], a) = (self.footprints[rank], self.corners[rank], box_of(entries[rank]));
            // An entry may have as many candidates as there are entries, and few pairs.
            for first in (rank + 1..self.ends[rank] as usize).step_by(BATCH) {
                let others = first..(self.ends[rank] as usize).min(first + BATCH);
                if list.len() < found + others.len() {
                    found = filter.retain_crossing(list, retained, found);
                    retained = found;
                    reserve(list, 2 * BATCH as u64)?;
                    list.resize(found + 2 * BATCH, Pair { a: 0, b: 0 });
                }
                let out = &mut list[..];
                let footprints = &self.footprints[others.clone()];
                for ((&footprint, &[other_min, other_max]), &entry) in
                    footprints.iter().zip(&self.corners[others.clone()]).zip(&entries[others])
                {
                    // No branch, since it would be mispredicted: two boxes are always written, and counted if they
                    // are a pair.
                    let meets = (min.cmple(other_max) & other_min.cmple(max)).all();
                    if let Some(place) = out.get_mut(found) {
                        *place = Pair::new(a, box_of(entry));
                    }
                    found += usize::from(meets & sweep::survives(own, footprint) & filter.crosses(own, footprint));
                }
            }
        }
        let found = filter.retain_crossing(list, retained, found);
        list.truncate(found);
        Ok(())
    }

    /// Counts the bytes held.
    pub fn bytes(&self) -> usize {
        let per_entry = 2 * size_of::<u32>() + size_of::<[Vec3A; 2]>();
        self.ends.capacity() * per_entry + self.candidates.capacity() * size_of::<u64>()
    }
}
