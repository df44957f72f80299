//! Pairs to exclude that lie in a buffer of the caller's: sorted, and listed by box as the tests of pairs look them up.

use std::mem::offset_of;

use crate::Error;
use crate::filters::device::{ExcludeBuffers, FilterSet};
use crate::gpu::Gpu;
use crate::gpu::buffers::Constants;
use crate::gpu::kernel::{Kernel, Pass, Source, source};
use crate::grid::sort::{Sort, SortBuffers, written_tiles};
use crate::layout::{Dispatches, ExcludeChange};

/// The source of `exclude_begin`.
pub const BEGIN: Source = source!("pairs/exclude_begin", "pairs/begin_sort");
/// The source of `exclude_take`.
pub const TAKE: Source = source!("pairs/exclude_take");
/// The source of `exclude_rows`.
pub const ROWS: Source = source!("pairs/exclude_rows");
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: &[Source] = &[BEGIN, TAKE, ROWS];

/// The kernels of the stage `exclude`.
#[derive(Debug)]
pub struct Exclude {
    begin: Kernel,
    take: Kernel,
    rows: Kernel,
    changes: Constants<ExcludeChange>,
}

impl Exclude {
    /// Looks up the kernels of the stage.
    pub fn new(gpu: &Gpu) -> Self {
        let [begin, take, rows] = [BEGIN, TAKE, ROWS].map(|source| Kernel::new(gpu, &source));
        Self { begin, take, rows, changes: Constants::new("exclude_change") }
    }

    /// Returns the kernels that the stage dispatches.
    pub fn kernels(&self) -> [&Kernel; 3] {
        [&self.begin, &self.take, &self.rows]
    }

    /// Records the putting of `given` pairs in place of those that `filters` exclude, which are uploaded and have room for them. `count`
    /// is where their number lies; `None` where they are as many as there is room for. Nothing of `given` is read where there are none.
    ///
    /// # Errors
    /// [`Error::NothingRecorded`] where the filters have no room for pairs to come; [`Error::OutOfMemory`].
    #[allow(clippy::too_many_arguments)] // what it reads, then what it writes
    pub fn record(
        &self,
        gpu: &Gpu,
        pass: &mut Pass,
        sort: &Sort,
        filters: &FilterSet,
        change: ExcludeChange,
        given: Option<wgpu::BindingResource>,
        count: Option<wgpu::BindingResource>,
    ) -> Result<(), Error> {
        let (scratch, included) = filters.excluding()?;
        let ExcludeBuffers { refused, .. } = scratch;
        let uniform = self.changes.get(gpu, change)?;
        let (counts, dispatches) = (&scratch.counts, &scratch.dispatches);
        let begin = [
            ("change", uniform.all()),
            ("count", count.unwrap_or_else(|| included.all())),
            ("counts", counts.all()),
            ("dispatches", dispatches.all()),
            ("refused", refused.all()),
        ];
        self.begin.dispatch(pass, 1, &begin);
        let lists = SortBuffers {
            keys: scratch.keys.clone(),
            values: scratch.values.clone(),
            other_keys: scratch.other_keys.clone(),
            other_values: scratch.other_values.clone(),
            histograms: scratch.histograms.clone(),
        };
        let take = [
            ("change", uniform.all()),
            ("counts", counts.all()),
            ("given", given.unwrap_or_else(|| included.all())),
            ("included", included.all()),
            ("keys", lists.keys.all()),
            ("values", lists.values.all()),
        ];
        self.take.dispatch_indirect(pass, dispatches.raw(), offset_of!(Dispatches, order), &take);
        let bits = u32::BITS - change.box_count.leading_zeros();
        let by_b = sort.record_pairs(pass, counts, written_tiles(dispatches), &lists, bits);
        let by_a = sort.record_pairs(pass, counts, written_tiles(dispatches), &by_b.swapped(), bits);
        let rows = [
            ("change", uniform.all()),
            ("counts", counts.all()),
            ("keys", by_a.keys.all()),
            ("values", by_a.values.all()),
            ("words", filters.lists.words.all()),
        ];
        let most = (change.box_count + 1).max(change.at_most.saturating_add(change.include_count));
        self.rows.dispatch(pass, most.div_ceil(256), &rows);
        Ok(())
    }
}
