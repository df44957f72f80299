//! The list of pairs on the GPU.

use super::handles::GpuPairs;
use super::order::{OrderBuffers, OrderCapacity};
use crate::base::layout::{PairArguments, PairHeader};
use crate::gpu::Gpu;
use crate::gpu::table::{Row, SIZES, STORAGE, buffer_table};
use crate::{Error, Pair, PairOrder};

buffer_table! {
    /// A list of pairs, with its header and arguments for a consumer on the GPU.
    pub struct List(capacity: u64) {
        /// `[capacity]` pairs (a, b), a < b.
        pairs: [Pair; *capacity], STORAGE | wgpu::BufferUsages::VERTEX;
        /// The header: the pair count.
        header: [PairHeader; 1], STORAGE;
        /// Arguments of an indirect dispatch and of indirect draws. They have a separate buffer, since a pass cannot
        /// bind a buffer as storage and dispatch by it.
        arguments: [PairArguments; 1], SIZES;
    }
}

/// The capacity of a list.
#[derive(Clone, Copy, Debug)]
pub struct ListCapacity {
    /// Boxes, each with a row in canonical order.
    pub boxes: u64,
    /// Pairs.
    pub pairs: u64,
}

impl ListCapacity {
    fn of_rows(&self) -> OrderCapacity {
        OrderCapacity { rows: self.boxes, elements: self.pairs }
    }
}

/// A list of pairs on the GPU, in the requested order. A clone is the same list.
#[derive(Clone, Debug)]
pub struct PairList {
    /// The list.
    pub list: List,
    /// The buffers of the sort into canonical order, if requested.
    rows: Option<OrderBuffers>,
    /// The capacity, in pairs.
    pub capacity: u32,
}

impl PairList {
    /// Allocates a list of this capacity.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(gpu: &Gpu, capacity: &ListCapacity, order: PairOrder) -> Result<Self, Error> {
        let rows = match order {
            PairOrder::Sweep => None,
            PairOrder::Canonical => Some(OrderBuffers::new(gpu, &capacity.of_rows())?),
        };
        Ok(Self { list: List::new(gpu, &capacity.pairs)?, rows, capacity: capacity.pairs as u32 })
    }

    /// Returns the buffers that the caller may use.
    pub fn borrowed(&self) -> GpuPairs<'_> {
        let List { pairs, header, arguments } = &self.list;
        GpuPairs { pairs: pairs.raw(), header: header.raw(), arguments: arguments.raw(), capacity: self.capacity }
    }

    /// Returns the order of the list.
    pub fn order(&self) -> PairOrder {
        if self.rows.is_some() { PairOrder::Canonical } else { PairOrder::Sweep }
    }

    /// Returns the buffers of the sort into canonical order; `None` in the order of the sweep.
    pub fn row_buffers(&self) -> Option<&OrderBuffers> {
        self.rows.as_ref()
    }

    /// Records the clearing of the counts of the order, before the compute pass in which pairs are written.
    pub fn record_clear(&self, encoder: &mut wgpu::CommandEncoder) {
        if let Some(rows) = &self.rows {
            rows.record_clear(encoder);
        }
    }

    /// Lists the buffers of a list with their bytes for this capacity.
    pub fn rows(capacity: &ListCapacity, order: PairOrder) -> impl Iterator<Item = Row> + use<> {
        let rows = (order == PairOrder::Canonical).then(|| OrderBuffers::rows(&capacity.of_rows()));
        List::rows(&capacity.pairs).chain(rows.into_iter().flatten())
    }

    /// Lists the buffers of the list with their allocated bytes.
    pub fn allocated(&self) -> impl Iterator<Item = Row> {
        self.list.allocated().chain(self.rows.iter().flat_map(OrderBuffers::allocated))
    }
}
