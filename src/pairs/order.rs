//! Canonical order: the pairs sorted by `(a, b)`, with the radix sort of [`crate::grid::sort`].

use crate::Pair;
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::{Kernel, Pass, Source, source};
use crate::grid::sort::{Sort, SortBuffers};
use crate::layout::Counts;

/// The source of `order_split`.
pub const SPLIT: Source = source!("pairs/order_split");
/// The source of `order_join`.
pub const JOIN: Source = source!("pairs/order_join");
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: &[Source] = &[SPLIT, JOIN];

/// The kernels of the stage `order`.
#[derive(Debug)]
pub struct Order {
    split: Kernel,
    join: Kernel,
}

impl Order {
    /// Looks up the kernels of the stage.
    pub fn new(gpu: &Gpu) -> Self {
        Self { split: Kernel::new(gpu, &SPLIT), join: Kernel::new(gpu, &JOIN) }
    }

    /// Returns the kernels that the stage dispatches.
    pub fn kernels(&self) -> [&Kernel; 2] {
        [&self.split, &self.join]
    }

    /// Records the sort of the written pairs of `box_count` boxes in place: by b, then stably by a.
    #[allow(clippy::too_many_arguments)]
    pub fn record(
        &self,
        pass: &mut Pass,
        sort: &Sort,
        box_count: u32,
        counts: &Buffer<Counts>,
        lists: SortBuffers,
        pairs: &Buffer<Pair>,
    ) {
        let bits = u32::BITS - box_count.leading_zeros();
        // As many as there is room for: workgroups behind the last pair end at once.
        let capacity = pairs.len() as u32;
        let own = [("counts", counts.all()), ("pairs", pairs.all())];
        self.split.dispatch(pass, capacity.div_ceil(256), &[lists.bound(), own.to_vec()].concat());
        let by_b = sort.record_pairs(pass, counts, capacity, lists, bits);
        let by_a = sort.record_pairs(pass, counts, capacity, by_b.swapped(), bits);
        self.join.dispatch(pass, capacity.div_ceil(256), &[by_a.bound(), own.to_vec()].concat());
    }
}
