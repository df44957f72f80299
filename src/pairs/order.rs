//! The stage `order`: sorts pairs into canonical order. There is a row of pairs for each first box, and each row is
//! sorted. The stage also lists the neighbours of boxes, in a row for each box.

use crate::base::constants::{ORDER_ROWS, ORDER_TILE};
use crate::base::layout::{Counts, OrderParams};
use crate::gpu::Gpu;
use crate::gpu::buffers::{Buffer, Constants};
use crate::gpu::kernel::{Kernel, Pass, Source, source};
use crate::gpu::table::{STORAGE, buffer_table};
use crate::{Error, Pair};

/// The source of `order_count`.
pub const COUNT: Source = source!("pairs/order_count", "pairs/order_runs");
/// The source of `order_sums`.
pub const SUMS: Source = source!("pairs/order_sums", "shared/scan");
/// The source of `order_rows`.
pub const ROWS: Source = source!("pairs/order_rows", "shared/scan");
/// The source of `order_scatter`.
pub const SCATTER: Source = source!("pairs/order_scatter", "pairs/order_runs");
/// The source of `order_sort`.
pub const SORT: Source = source!("pairs/order_sort", "shared/scan");
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: [Source; 5] = [COUNT, SUMS, ROWS, SCATTER, SORT];

/// The kernels of the stage `order`.
#[derive(Debug)]
pub struct OrderStage {
    gpu: Gpu,
    /// The kernels of [`KERNELS`].
    kernels: [Kernel; 5],
    params: Constants<OrderParams>,
}

/// The capacity of the rows and the scratch.
#[derive(Clone, Copy, Debug)]
pub struct OrderCapacity {
    /// Rows.
    pub rows: u64,
    /// Elements of all rows: one per pair, or two per pair for neighbours.
    pub elements: u64,
}

buffer_table! {
    /// Rows, and the scratch of their sort.
    pub struct OrderBuffers(capacity: OrderCapacity) {
        /// `[rows + 1]` the begin of each row, and the end of the last row. Initially zero: see
        /// [`record_clear`](Self::record_clear).
        offsets as "order_offsets": [u32; capacity.rows + 1], STORAGE;
        /// Sums of the sizes of rows.
        row_sums as "order_row_sums": [u32; capacity.rows.div_ceil(ORDER_ROWS.into())], STORAGE;
        /// The row of the first element of each tile.
        tile_rows as "order_tile_rows": [u32; capacity.elements.div_ceil(ORDER_TILE.into())], STORAGE;
        /// `[elements]` scratch: elements row by row, in any order within a row.
        others as "order_others": [u32; capacity.elements], STORAGE;
    }
}

impl OrderBuffers {
    /// Records the clearing of the counts of the stage, before the compute pass of the stage.
    pub fn record_clear(&self, encoder: &mut wgpu::CommandEncoder) {
        encoder.clear_buffer(self.offsets.raw(), 0, None);
    }
}

impl OrderStage {
    /// Looks up the kernels of the stage.
    pub fn new(gpu: &Gpu) -> Self {
        Self {
            gpu: gpu.clone(),
            kernels: KERNELS.map(|source| Kernel::new(gpu, &source)),
            params: Constants::new("order_params"),
        }
    }

    /// Returns the kernels that the stage dispatches.
    pub fn kernels(&self) -> &[Kernel; 5] {
        &self.kernels
    }

    /// Records the sort of the written pairs in place. Record it after [`OrderBuffers::record_clear`]. Pairs must be
    /// distinct. First boxes must be below `row_count`, second boxes below `column_count`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn record_pairs(
        &self,
        pass: &mut Pass,
        (row_count, column_count): (u32, u32),
        counts: &Buffer<Counts>,
        buffers: &OrderBuffers,
        pairs: &Buffer<Pair>,
    ) -> Result<(), Error> {
        let params = OrderParams { row_count, column_count, ways: 1, unused: 0 };
        self.record(pass, params, counts, buffers, pairs, pairs.all())
    }

    /// Records the listing of neighbours: a row for each box, with the other boxes of its written pairs, ascending.
    /// Record it after [`OrderBuffers::record_clear`].
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn record_neighbours(
        &self,
        pass: &mut Pass,
        box_count: u32,
        counts: &Buffer<Counts>,
        buffers: &OrderBuffers,
        pairs: &Buffer<Pair>,
        neighbours: &Buffer<u32>,
    ) -> Result<(), Error> {
        let params = OrderParams { row_count: box_count, column_count: box_count, ways: 2, unused: 0 };
        self.record(pass, params, counts, buffers, pairs, neighbours.all())
    }

    fn record(
        &self,
        pass: &mut Pass,
        params: OrderParams,
        counts: &Buffer<Counts>,
        buffers: &OrderBuffers,
        pairs: &Buffer<Pair>,
        in_order: wgpu::BindingResource,
    ) -> Result<(), Error> {
        let order = self.params.get(&self.gpu, params)?;
        let own = [("order", order.all()), ("counts", counts.all()), ("pairs", pairs.all()), ("in_order", in_order)];
        let all = [own.into(), buffers.bound()].concat();
        // Dispatch for the capacity. Workgroups after the last pair end at once.
        let capacity = pairs.len() as u32;
        let of_pairs = capacity.div_ceil(4 * 256);
        let of_rows = params.row_count.div_ceil(ORDER_ROWS);
        let of_elements = (params.ways * capacity).div_ceil(ORDER_TILE);
        let [count, sums, rows, scatter, sort] = &self.kernels;
        count.dispatch(pass, of_pairs, &all);
        sums.dispatch(pass, of_rows, &all);
        rows.dispatch(pass, of_rows, &all);
        scatter.dispatch(pass, of_pairs, &all);
        sort.dispatch(pass, of_elements, &all);
        Ok(())
    }
}
