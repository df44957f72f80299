//! The stage `neighbours`: lists the pairs by box, as neighbours of each box.

use super::list::PairList;
use super::order::{OrderBuffers, OrderCapacity, OrderStage};
use crate::Error;
use crate::base::layout::{Counts, PairHeader};
use crate::gpu::Gpu;
use crate::gpu::kernel::{self, Kernel, Pass, Source, source};
use crate::gpu::table::{CONSTANT, Row, STORAGE, buffer_table};

/// The source of `neighbours_begin`.
pub const BEGIN: Source = source!("pairs/neighbours_begin");
/// The kernel of the stage, in addition to the kernels of [`order`](super::order).
pub const KERNELS: &[Source] = &[BEGIN];

/// The kernels of the stage `neighbours`.
#[derive(Debug)]
pub struct Neighbours {
    gpu: Gpu,
    begin: Kernel,
}

/// The capacity of neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeighbourCapacity {
    /// Boxes.
    pub boxes: u64,
    /// Pairs, each with two neighbours.
    pub pairs: u64,
}

buffer_table! {
    /// The neighbours of boxes.
    pub struct NeighbourLists(capacity: NeighbourCapacity) {
        /// `[2 * pairs]` neighbours, box by box.
        neighbours: [u32; 2 * capacity.pairs], STORAGE;
        /// The count of neighbours.
        header as "neighbour_header": [PairHeader; 1], STORAGE;
        /// The pair count, for the sort.
        counts as "neighbour_counts": [Counts; 1], CONSTANT;
    }
}

/// The neighbours of boxes, and the offset of each box's list.
#[derive(Clone, Debug)]
pub struct NeighbourBuffers {
    /// The neighbours.
    pub lists: NeighbourLists,
    /// A row for each box.
    pub rows: OrderBuffers,
}

impl NeighbourCapacity {
    fn of_rows(&self) -> OrderCapacity {
        OrderCapacity { rows: self.boxes, elements: 2 * self.pairs }
    }
}

impl NeighbourBuffers {
    /// Allocates the buffers.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(gpu: &Gpu, capacity: &NeighbourCapacity) -> Result<Self, Error> {
        Ok(Self { lists: NeighbourLists::new(gpu, capacity)?, rows: OrderBuffers::new(gpu, &capacity.of_rows())? })
    }

    /// Sums the bytes of the buffers.
    pub fn bytes(capacity: &NeighbourCapacity) -> u64 {
        NeighbourLists::bytes(capacity).saturating_add(OrderBuffers::bytes(&capacity.of_rows()))
    }

    /// Lists the buffers with their allocated bytes.
    pub fn allocated(&self) -> impl Iterator<Item = Row> {
        self.lists.allocated().chain(self.rows.allocated())
    }

    /// Returns `true` if the buffers have at least this capacity.
    pub fn has_capacity(&self, capacity: &NeighbourCapacity) -> bool {
        self.rows.offsets.len() > capacity.boxes && self.lists.neighbours.len() >= 2 * capacity.pairs
    }
}

impl Neighbours {
    /// Looks up the kernels of the stage.
    pub fn new(gpu: &Gpu) -> Self {
        Self { gpu: gpu.clone(), begin: Kernel::new(gpu, &BEGIN) }
    }

    /// Compiles the kernels of the stage and of `order` that are not compiled yet.
    ///
    /// # Errors
    /// [`Error::Gpu`] if the driver rejects a kernel; [`Error::DeviceLost`]; [`Error::OutOfMemory`].
    pub fn compile(&self, order: &OrderStage) -> Result<(), Error> {
        let kernels: Vec<&Kernel> = [&self.begin].into_iter().chain(order.kernels()).collect();
        kernel::compile(&self.gpu, &kernels)
    }

    /// Records the listing of the neighbours of at most `box_count` boxes from a list of pairs. Record it after
    /// [`OrderBuffers::record_clear`]. The buffers must have capacity for all pairs of the list.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn record(
        &self,
        pass: &mut Pass,
        box_count: u32,
        list: &PairList,
        order: &OrderStage,
        buffers: &NeighbourBuffers,
    ) -> Result<(), Error> {
        let NeighbourBuffers { lists, rows } = buffers;
        let all = [vec![("list_header", list.list.header.all())], lists.bound()].concat();
        self.begin.dispatch(pass, 1, &all);
        order.record_neighbours(pass, box_count, &lists.counts, rows, &list.list.pairs, &lists.neighbours)
    }
}
