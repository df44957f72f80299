//! The pairs by box: the neighbours of each, from the list in canonical order, which is sorted once more, by b.

use super::list::PairList;
use super::order;
use crate::Error;
use crate::gpu::Gpu;
use crate::gpu::kernel::{self, Kernel, Pass, Source, source};
use crate::gpu::table::{CONSTANT, STORAGE, buffer_table};
use crate::grid::sort::Sort;
use crate::layout::{Counts, PairHeader};

/// The source of `neighbours_begin`.
pub const BEGIN: Source = source!("pairs/neighbours_begin");
/// The source of `neighbours_rows`.
pub const ROWS: Source = source!("pairs/neighbours_rows");
/// The source of `neighbours_place`.
pub const PLACE: Source = source!("pairs/neighbours_place");
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: &[Source] = &[BEGIN, ROWS, PLACE];

/// The kernels of the stage `neighbours`.
#[derive(Debug)]
pub struct Neighbours {
    gpu: Gpu,
    begin: Kernel,
    split: Kernel,
    rows: Kernel,
    place: Kernel,
}

/// How much there is room for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeighbourRoom {
    /// Boxes.
    pub boxes: u64,
    /// Pairs, each of which makes two neighbours.
    pub pairs: u64,
}

buffer_table! {
    /// The neighbours of boxes.
    pub struct NeighbourBuffers(room: NeighbourRoom) {
        /// `[boxes + 1]` where the neighbours of each box begin.
        offsets: [u32; room.boxes + 1], STORAGE;
        /// `[boxes + 1]` how many pairs (a, b) have an a before.
        pairs_from: [u32; room.boxes + 1], STORAGE;
        /// `[2 * pairs]`.
        neighbours: [u32; 2 * room.pairs], STORAGE;
        /// How many neighbours there are.
        header as "neighbour_header": [PairHeader; 1], STORAGE;
        /// For the sort: how many pairs there are.
        counts as "neighbour_counts": [Counts; 1], CONSTANT;
    }
}

impl NeighbourBuffers {
    /// Returns whether there is as much room.
    pub fn has_room(&self, room: &NeighbourRoom) -> bool {
        self.offsets.len() > room.boxes && self.neighbours.len() >= 2 * room.pairs
    }
}

impl Neighbours {
    /// Looks up the kernels of the stage.
    pub fn new(gpu: &Gpu) -> Self {
        let [begin, split, rows, place] = [BEGIN, order::SPLIT, ROWS, PLACE].map(|source| Kernel::new(gpu, &source));
        Self { gpu: gpu.clone(), begin, split, rows, place }
    }

    /// Compiles the kernels of the stage, as far as they are not yet.
    ///
    /// # Errors
    /// [`Error::Gpu`] where the driver rejects a kernel; [`Error::DeviceLost`]; [`Error::OutOfMemory`].
    pub fn compile(&self) -> Result<(), Error> {
        kernel::compile(&self.gpu, &[&self.begin, &self.split, &self.rows, &self.place])
    }

    /// Records the listing of the neighbours of at most `box_count` boxes, from their pairs in canonical order. There is room
    /// for as many pairs as the list has room for.
    ///
    /// # Errors
    /// [`Error::NothingRecorded`] where the list is not in canonical order.
    pub fn record(
        &self,
        pass: &mut Pass,
        box_count: u32,
        list: &PairList,
        sort: &Sort,
        buffers: &NeighbourBuffers,
    ) -> Result<(), Error> {
        let scratch = list.sort_buffers().ok_or(Error::NothingRecorded)?;
        let own = [("list_header", list.list.header.all()), ("pairs", list.list.pairs.all())];
        let all = [own.into(), buffers.bound()].concat();
        self.begin.dispatch(pass, 1, &all);
        let of_pairs = list.capacity.div_ceil(256);
        self.split.dispatch(pass, of_pairs, &[scratch.bound(), all.clone()].concat());
        // Equal b keep their order, by a.
        let bits = u32::BITS - box_count.leading_zeros();
        let by_b = sort.record_pairs(pass, &buffers.counts, list.capacity, scratch, bits);
        let placed = [by_b.bound(), all].concat();
        let rows = (buffers.offsets.len() as u32).div_ceil(256);
        self.rows.dispatch(pass, rows, &placed);
        self.place.dispatch(pass, of_pairs, &placed);
        Ok(())
    }
}
