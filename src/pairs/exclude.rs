//! The stage `exclude`: sorts the excluded pairs of an external buffer, and lists them by box for the tests of a
//! search.

use crate::Error;
use crate::base::layout::ExcludeChange;
use crate::filters::device::FilterSet;
use crate::gpu::Gpu;
use crate::gpu::buffers::Constants;
use crate::gpu::kernel::{Kernel, Pass, Source, source};
use crate::grid::sort::Sort;

/// The source of `exclude_split`.
pub const SPLIT: Source = source!("pairs/exclude_split");
/// The source of `exclude_rows`.
pub const ROWS: Source = source!("pairs/exclude_rows");
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: &[Source] = &[SPLIT, ROWS];

/// The kernels of the stage `exclude`.
#[derive(Debug)]
pub struct Exclude {
    gpu: Gpu,
    split: Kernel,
    rows: Kernel,
    changes: Constants<ExcludeChange>,
}

impl Exclude {
    /// Looks up the kernels of the stage.
    pub fn new(gpu: &Gpu) -> Self {
        let [split, rows] = [SPLIT, ROWS].map(|source| Kernel::new(gpu, &source));
        Self { gpu: gpu.clone(), split, rows, changes: Constants::new("exclude_change") }
    }

    /// Returns the kernels that the stage dispatches.
    pub fn kernels(&self) -> [&Kernel; 2] {
        [&self.split, &self.rows]
    }

    /// Records commands that replace the excluded pairs of `filters` by `external` pairs. The filters must be uploaded,
    /// with capacity for these pairs. `count` has the pair count; `None` means the capacity. Without pairs, `external`
    /// is not read.
    ///
    /// # Errors
    /// [`Error::NothingRecorded`] if the filters have no capacity for external pairs; [`Error::OutOfMemory`].
    pub fn record(
        &self,
        pass: &mut Pass,
        sort: &Sort,
        filters: &FilterSet,
        change: ExcludeChange,
        external: Option<wgpu::BindingResource>,
        count: Option<wgpu::BindingResource>,
    ) -> Result<(), Error> {
        let (scratch, included) = filters.excluding()?;
        let uniform = self.changes.get(&self.gpu, change)?;
        let counts = &scratch.counts;
        let own = vec![
            ("change", uniform.all()),
            ("count", count.unwrap_or_else(|| included.all())),
            ("external_pairs", external.unwrap_or_else(|| included.all())),
            ("included", included.all()),
            ("words", filters.lists.words.all()),
        ];
        let most = change.at_most.saturating_add(change.include_count);
        let buffers = [own, scratch.bound()].concat();
        self.split.dispatch(pass, most.div_ceil(256).max(1), &buffers);
        let bits = u32::BITS - change.box_count.leading_zeros();
        let by_b = sort.record_pairs(pass, counts, most, scratch.lists(), bits);
        let by_a = sort.record_pairs(pass, counts, most, by_b.swapped(), bits);
        let rows = most.max(change.box_count + 1).div_ceil(256);
        self.rows.dispatch(pass, rows, &[by_a.bound(), buffers].concat());
        Ok(())
    }
}
