//! The stage `small`: tests every box against every other box of a small scene, in two dispatches instead of all other
//! stages.

use super::list::List;
use super::sweep::Hits;
use crate::Pair;
use crate::base::constants::*;
use crate::base::layout::{Counts, Params, Window};
use crate::filters::lists::{FilteredKernel, PairTests, filtered};
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::{Kernel, Pass, Source, source};
use crate::grid::BoxBuffers;

/// The source of `small_test`.
pub const TEST: Source = filtered!("pairs/small_test", "pairs/small_tiles", "shared/boxes");
/// The source of `small_include`.
pub const INCLUDE: Source = source!("pairs/small_include", "pairs/small_tiles");
/// The source of `small_emit`.
pub const EMIT: Source = source!(
    "pairs/small_emit",
    "pairs/small_tiles",
    "shared/boxes",
    "pairs/emit_window",
    "pairs/emit_header",
    "shared/scan"
);
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: &[Source] = &[TEST, INCLUDE, EMIT];

/// The kernels of the stage `small`.
#[derive(Debug)]
pub struct Small {
    test: FilteredKernel,
    include: Kernel,
    emit: Kernel,
}

impl Small {
    /// Looks up the kernels of the stage.
    pub fn new(gpu: &Gpu) -> Self {
        Self {
            test: FilteredKernel::new(gpu, &TEST),
            include: Kernel::new(gpu, &INCLUDE),
            emit: Kernel::new(gpu, &EMIT),
        }
    }

    /// Returns the kernels of each search with these tests, and the additional kernel of a search with included pairs.
    pub fn kernels(&self, tests: PairTests) -> ([&Kernel; 2], &Kernel) {
        ([self.test.of(tests), &self.emit], &self.include)
    }

    /// Records `small_test`: tests all pairs of boxes exactly. There are at most `SMALL_MOST` boxes.
    pub fn record_test(&self, pass: &mut Pass, searched: &BoxBuffers<'_>, hits: &Hits) {
        let buffers = [searched.bound(), hits.bound()].concat();
        self.test.of(searched.filters.tests).dispatch(pass, small_tiles(searched.box_count), &buffers);
    }

    /// Records `small_include`: adds the included pairs to the results of the tests. `params` has the count of included
    /// pairs.
    pub fn record_include(&self, pass: &mut Pass, params: &Buffer<Params>, included: &Buffer<Pair>, hits: &Hits) {
        let buffers = [vec![("params", params.all()), ("included", included.all())], hits.bound()].concat();
        self.include.dispatch(pass, (included.len() as u32).div_ceil(256), &buffers);
    }

    /// Records `small_emit`: writes the pairs in the window to `list`, and all counts. Reads the boxes and `hits`.
    pub fn record_emit(
        &self,
        pass: &mut Pass,
        searched: &BoxBuffers<'_>,
        window: &Buffer<Window>,
        hits: &Hits,
        counts: &Buffer<Counts>,
        list: &List,
    ) {
        let own = vec![("window", window.all()), ("counts", counts.all())];
        let buffers = [own, searched.bound(), hits.bound(), list.bound()].concat();
        self.emit.dispatch(pass, 1 + searched.box_count.div_ceil(SMALL_ROWS), &buffers);
    }
}
