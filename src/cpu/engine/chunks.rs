//! The stages that process one box at a time: statistics, cells, entries. Threads process boxes in chunks.

use rayon::prelude::*;

use crate::Aabb;
use crate::base::constants::*;
use crate::base::layout::{BoundsPartial, Frame};
use crate::cpu::mirror::bin::{self, Totals};
use crate::cpu::mirror::pca;
use crate::filters::CheckedFilters;

/// The bit of an entry whose box is in the second set. On a GPU, the same bit is `ENTRY_LAST_U`, which the CPU engine
/// does not need.
pub const ENTRY_SECOND: u32 = ENTRY_LAST_U;

/// Bounds and counts of the boxes of one chunk.
#[derive(Clone, Copy, Debug)]
struct ChunkTotals {
    bounds: BoundsPartial,
    totals: Totals,
}

impl Default for ChunkTotals {
    fn default() -> Self {
        let bounds = BoundsPartial { ordinary: pca::NO_BOUNDS, finite: pca::NO_BOUNDS };
        Self { bounds, totals: Totals::default() }
    }
}

/// A box and its quantised interval, in one cache line, since the sweep loads boxes in random order.
#[derive(Clone, Copy, Debug)]
#[repr(align(32))]
pub struct Placed {
    pub aabb: Aabb,
    /// The quantised start on the sweep axis, below the bits of the box's world.
    start: u32,
    /// The quantised end.
    pub end: u32,
}

impl Default for Placed {
    fn default() -> Self {
        Self { aabb: Aabb::new([0.0; 3], [0.0; 3]), start: 0, end: 0 }
    }
}

/// The cells and intervals of boxes in the grid.
#[derive(Debug, Default)]
pub struct Chunks {
    chunks: Vec<ChunkTotals>,
    /// `[world_count]` the range of cells of each world.
    world_cells: Vec<[u32; 4]>,
    /// `[box_count]` first and last cell (u, v, u, v).
    pub cells: Vec<[i32; 4]>,
    /// `[box_count]`
    pub placed: Vec<Placed>,
}

impl Chunks {
    /// Finds the bounds of all boxes.
    pub fn bounds(&mut self, boxes: &[Aabb]) -> BoundsPartial {
        self.chunks.clear();
        self.chunks.resize(boxes.len().div_ceil(CHUNK), ChunkTotals::default());
        let chunks = self.chunks.par_iter_mut().zip(boxes.par_chunks(CHUNK));
        chunks.for_each(|(chunk, boxes)| chunk.bounds = pca::bounds(boxes));
        self.chunks.iter().fold(ChunkTotals::default().bounds, |total, chunk| BoundsPartial {
            ordinary: pca::united(total.ordinary, chunk.bounds.ordinary),
            finite: pca::united(total.finite, chunk.bounds.finite),
        })
    }

    /// Computes the cells and intervals of all boxes. Returns the counts over all boxes, and the level of coarsening.
    pub fn count(
        &mut self,
        boxes: &[Aabb],
        filters: &CheckedFilters,
        frame: &Frame,
        entry_capacity: u32,
    ) -> (Totals, u32) {
        let worlds = filters.worlds();
        self.cells.resize(boxes.len(), [0; 4]);
        self.placed.resize(boxes.len(), Placed::default());
        self.chunks
            .par_iter_mut()
            .zip(boxes.par_chunks(CHUNK).enumerate())
            .zip(self.cells.par_chunks_mut(CHUNK).zip(self.placed.par_chunks_mut(CHUNK)))
            .for_each(|((chunk, (number, boxes)), (cells, placed))| {
                let worlds = worlds.chunks(CHUNK).nth(number).unwrap_or_default();
                let mut places = cells.iter_mut().zip(placed);
                chunk.totals = bin::place_all(boxes, worlds, &[], frame, |&aabb, cells, [start, end, ..]| {
                    if let Some(place) = places.next() {
                        (*place.0, *place.1) = (cells, Placed { aabb, start, end });
                    }
                });
            });
        if frame.outside_count > 0 {
            self.put_into_worlds(worlds, filters.world_count(), frame);
        }
        let all = |chunks: &[ChunkTotals]| chunks.iter().fold(Totals::default(), |all, own| all.united(&own.totals));
        let totals = all(&self.chunks);
        let box_count = boxes.len() as u32;
        if totals.is_finest(box_count, entry_capacity) {
            return (totals, 0);
        }
        let chunks = self.chunks.par_iter_mut().zip(self.cells.par_chunks(CHUNK));
        chunks.for_each(|(chunk, cells)| chunk.totals.count_coarser(cells, frame));
        let totals = all(&self.chunks);
        (totals, bin::level(&totals, box_count, entry_capacity))
    }

    /// Sets the cells of unbounded boxes to the cells of their world, if they have a world. The cells of other boxes
    /// must be computed already.
    fn put_into_worlds(&mut self, worlds: &[u32], world_count: u32, frame: &Frame) {
        let Self { chunks, cells, placed, world_cells } = self;
        let is_outside = |cells: [i32; 4], world: u32| cells == bin::CELLS_OF_UNBOUNDED && world != WORLD_GLOBAL;
        if !cells.iter().zip(worlds).any(|(&own, &world)| is_outside(own, world)) {
            return;
        }
        world_cells.clear();
        world_cells.resize(world_count as usize, [0; 4]);
        for (&own, &world) in cells.iter().zip(worlds) {
            if bin::is_binned(own) {
                bin::widen(&mut world_cells[world as usize], own);
            }
        }
        for (i, ((own, placed), &world)) in cells.iter_mut().zip(placed).zip(worlds).enumerate() {
            if is_outside(*own, world) {
                (*own, [placed.start, placed.end, ..]) = bin::in_world(frame, world_cells[world as usize], world);
                chunks[i / CHUNK].totals.binned(*own, frame);
            }
        }
    }

    /// Lists the entries of all boxes at a level, by box and then by rows of cells. Each number has a key in its upper
    /// half. Its lower half has the box, flags of the cell, and the set of the box. `second` has a flag per box, or is
    /// empty.
    pub fn scatter(&mut self, frame: &Frame, level: u32, second: &[bool], entries: &mut Vec<u64>) {
        let entry_count: u64 = self.chunks.iter().map(|chunk| chunk.totals.entries[level as usize]).sum();
        entries.resize(entry_count as usize, 0);
        let scatter = Scatter { frame, level, second };
        scatter.halves(&self.chunks, 0, &self.cells, &self.placed, entries);
    }

    /// Lists the giants and the first invalid boxes, ascending.
    pub fn list(&self, frame: &Frame, level: u32, giants: &mut Vec<u32>, first_invalid: &mut Vec<u32>) {
        giants.clear();
        for ((chunk, cells), first) in self.chunks.iter().zip(self.cells.chunks(CHUNK)).zip((0..).step_by(CHUNK)) {
            if chunk.totals.giants[level as usize] > 0 {
                giants
                    .extend((first..).zip(cells).filter(|(_, own)| bin::is_giant(**own, level, frame)).map(|(i, _)| i));
            }
            if chunk.totals.invalid > 0 {
                let invalid = (first..).zip(cells).filter(|(_, own)| **own == bin::CELLS_OF_INVALID).map(|(i, _)| i);
                first_invalid.extend(invalid.take(INVALID_LISTED as usize - first_invalid.len()));
            }
        }
    }

    /// Returns the bytes of allocated memory.
    pub fn bytes(&self) -> usize {
        self.chunks.capacity() * size_of::<ChunkTotals>()
            + self.placed.capacity() * size_of::<Placed>()
            + (self.cells.capacity() + self.world_cells.capacity()) * 16
    }
}

/// Writes the entries of some chunks into the part of the list that belongs to these chunks.
struct Scatter<'a> {
    frame: &'a Frame,
    level: u32,
    second: &'a [bool],
}

impl Scatter<'_> {
    /// Processes the two halves of the chunks in parallel, recursively, each with its half of the lists.
    fn halves(&self, chunks: &[ChunkTotals], first: u32, cells: &[[i32; 4]], placed: &[Placed], out: &mut [u64]) {
        if chunks.len() <= 1 {
            return self.one(first, cells, placed, out);
        }
        let (left, right) = chunks.split_at(chunks.len() / 2);
        let boxes = left.len() * CHUNK;
        let entries: u64 = left.iter().map(|chunk| chunk.totals.entries[self.level as usize]).sum();
        let cells = cells.split_at(boxes);
        let placed = placed.split_at(boxes);
        let out = out.split_at_mut(entries as usize);
        rayon::join(
            || self.halves(left, first, cells.0, placed.0, out.0),
            || self.halves(right, first + boxes as u32, cells.1, placed.1, out.1),
        );
    }

    fn one(&self, first: u32, cells: &[[i32; 4]], placed: &[Placed], out: &mut [u64]) {
        let mut next = 0;
        for ((&own, placed), index) in cells.iter().zip(placed).zip(first..) {
            if !bin::is_binned(own) || bin::is_giant(own, self.level, self.frame) {
                continue;
            }
            let set = if self.second.get(index as usize) == Some(&true) { ENTRY_SECOND } else { 0 };
            let own @ [u0, v0, u1, v1] = bin::coarse(own, self.level);
            let entry_at = |u, v| {
                let (key, entry) = bin::entry_of(own, [u, v], index, placed.start, self.frame);
                u64::from(key) << 32 | u64::from(entry | set)
            };
            let [columns, rows] = [u1 - u0, v1 - v0].map(|more| 1 + more as usize);
            if columns <= 2
                && rows <= 2
                && let Some(four) = out.get_mut(next..next + 4)
            {
                // The ends of loops would be mispredicted, so write four entries. If the box has fewer, the next box
                // overwrites the others.
                four[0] = entry_at(u0, v0);
                four[1] = entry_at(u1, v0);
                four[columns] = entry_at(u0, v1);
                four[columns + rows - 1] = entry_at(u1, v1);
                next += columns * rows;
                continue;
            }
            for v in v0..=v1 {
                for u in u0..=u1 {
                    out[next] = entry_at(u, v);
                    next += 1;
                }
            }
        }
    }
}
