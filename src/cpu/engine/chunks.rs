//! The stages that process one box at a time: statistics, cells, entries. Threads process boxes in chunks.

use rayon::prelude::*;

use crate::Aabb;
use crate::base::constants::*;
use crate::base::layout::{BoundsPartial, Frame};
use crate::cpu::mirror::bin::{self, Totals};
use crate::cpu::mirror::pca;
use crate::filters::CheckedFilters;

/// Holds bounds and counts over the boxes of one chunk.
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

/// Holds the cells and positions of boxes in the grid.
#[derive(Debug, Default)]
pub struct Chunks {
    chunks: Vec<ChunkTotals>,
    /// `[world_count]` the range of cells of each world.
    world_cells: Vec<[u32; 4]>,
    /// `[box_count]` first and last cell (u, v, u, v).
    pub cells: Vec<[i32; 4]>,
    /// `[box_count]` (start, end, footprint, 0), the bits of its world above the start.
    pub positions: Vec<[u32; 4]>,
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

    /// Finds cells and positions of all boxes, and returns the counts over all of them.
    pub fn count(&mut self, boxes: &[Aabb], filters: &CheckedFilters, frame: &Frame) -> Totals {
        let (worlds, second) = (filters.worlds(), &filters.filters().second[..]);
        self.cells.resize(boxes.len(), [0; 4]);
        self.positions.resize(boxes.len(), [0; 4]);
        self.chunks
            .par_iter_mut()
            .zip(boxes.par_chunks(CHUNK).enumerate())
            .zip(self.cells.par_chunks_mut(CHUNK).zip(self.positions.par_chunks_mut(CHUNK)))
            .for_each(|((chunk, (number, boxes)), (cells, positions))| {
                let worlds = worlds.chunks(CHUNK).nth(number).unwrap_or_default();
                chunk.totals = bin::count(boxes, worlds, &[], frame, cells, positions);
                bin::mark_sets(second.chunks(CHUNK).nth(number).unwrap_or_default(), positions);
            });
        if frame.outside_count > 0 {
            self.put_into_worlds(worlds, filters.world_count(), frame);
        }
        self.chunks.iter().fold(Totals::default(), |total, chunk| total.united(&chunk.totals))
    }

    /// Sets the cells of boxes without cells to the cells of their world, if they have a world. The mirror does so for all boxes
    /// at once; here the cells of the other boxes exist already.
    fn put_into_worlds(&mut self, worlds: &[u32], world_count: u32, frame: &Frame) {
        let Self { chunks, cells, positions, world_cells, .. } = self;
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
        let boxes = cells.iter_mut().zip(positions).zip(worlds).enumerate();
        for (i, ((own, position), &world)) in boxes {
            if is_outside(*own, world) {
                let set = position[2] & FOOTPRINT_SECOND;
                (*own, *position) = bin::in_world(frame, world_cells[world as usize], world);
                position[2] |= set;
                chunks[i / CHUNK].totals.binned(*own, frame);
            }
        }
    }

    /// Lists the entries of all boxes at a level, key and entry in one number, ordered by box and then by rows of
    /// cells.
    pub fn scatter(&mut self, frame: &Frame, level: u32, entries: &mut Vec<u64>) {
        let entry_count: u64 = self.chunks.iter().map(|chunk| chunk.totals.entries[level as usize]).sum();
        entries.resize(entry_count as usize, 0);
        let scatter = Scatter { frame, level };
        scatter.halves(&self.chunks, 0, &self.cells, &mut self.positions, entries);
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

    /// Counts the bytes held.
    pub fn bytes(&self) -> usize {
        self.chunks.capacity() * size_of::<ChunkTotals>()
            + (self.cells.capacity() + self.positions.capacity() + self.world_cells.capacity()) * 16
    }
}

/// Writes the entries of some chunks into the part of the list that belongs to these chunks.
struct Scatter<'a> {
    frame: &'a Frame,
    level: u32,
}

impl Scatter<'_> {
    /// Processes the two halves of the chunks in parallel, recursively, each with its half of the lists.
    fn halves(
        &self,
        chunks: &[ChunkTotals],
        first: u32,
        cells: &[[i32; 4]],
        positions: &mut [[u32; 4]],
        out: &mut [u64],
    ) {
        if chunks.len() <= 1 {
            return self.one(first, cells, positions, out);
        }
        let (left, right) = chunks.split_at(chunks.len() / 2);
        let boxes = left.len() * CHUNK;
        let entries: u64 = left.iter().map(|chunk| chunk.totals.entries[self.level as usize]).sum();
        let cells = cells.split_at(boxes);
        let positions = positions.split_at_mut(boxes);
        let out = out.split_at_mut(entries as usize);
        rayon::join(
            || self.halves(left, first, cells.0, positions.0, out.0),
            || self.halves(right, first + boxes as u32, cells.1, positions.1, out.1),
        );
    }

    fn one(&self, first: u32, cells: &[[i32; 4]], positions: &mut [[u32; 4]], out: &mut [u64]) {
        let mut places = out.iter_mut();
        for ((&own, position), index) in cells.iter().zip(positions).zip(first..) {
            if !bin::is_binned(own) || bin::is_giant(own, self.level, self.frame) {
                continue;
            }
            position[2] = bin::merged_footprint(own, position[2], self.level);
            bin::for_each_entry(own, index, position[0], self.frame, self.level, |key, entry| {
                if let Some(place) = places.next() {
                    *place = u64::from(key) << 32 | u64::from(entry);
                }
            });
        }
    }
}
