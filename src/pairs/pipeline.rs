//! The flow of a search: its stages in order.

use super::PairBuffers;
use super::emit::Emit;
use super::exclude::Exclude;
use super::giants::GiantsStage;
use super::list::PairList;
use super::neighbours::{NeighbourBuffers, Neighbours};
use super::order::OrderStage;
use super::rank::Rank;
use super::small::Small;
use super::sweep::Sweep;
use crate::base::layout::{ExcludeChange, Params, Window};
use crate::filters::device::FilterSet;
use crate::filters::lists::{PairTests, SearchKind};
use crate::filters::prepare::Prepare;
use crate::gpu::Gpu;
use crate::gpu::buffers::{Buffer, Constants};
use crate::gpu::kernel::{self, Kernel, Pass};
use crate::gpu::timing::Timer;
use crate::grid::{BoxBuffers, Grid, GridBuild, GridKernels, GridSummary};
use crate::{Error, PairOrder};

/// The kernels of all stages.
#[derive(Debug)]
pub struct Pipeline {
    gpu: Gpu,
    prepare: Prepare,
    grid: GridKernels,
    rank: Rank,
    sweep: Sweep,
    giants: GiantsStage,
    emit: Emit,
    order: OrderStage,
    small: Small,
    neighbours: Neighbours,
    exclude: Exclude,
    params: Constants<Params>,
    windows: Constants<Window>,
}

/// The input of a search.
#[derive(Debug)]
pub struct SearchInput<'a> {
    /// The box count, or an upper limit if `block_sizes` is set.
    pub box_count: u32,
    /// Dispatch sizes for the actual blocks of boxes, if the box count is in a buffer.
    pub block_sizes: Option<&'a Buffer<[u32; 3]>>,
    /// The most entries.
    pub entry_capacity: u32,
    /// The bits of a sort key.
    pub key_bits: u32,
    /// `true` if every box is tested against every other box, without a sweep.
    pub tests_all_pairs: bool,
    /// The kind of the input.
    pub kind: SearchKind,
    /// The parameters of the kernels.
    pub params: &'a Buffer<Params>,
    /// The boxes before preparation.
    pub boxes: wgpu::BindingResource<'a>,
    /// The filters, uploaded.
    pub filters: &'a FilterSet,
}

impl SearchInput<'_> {
    /// Returns the buffers of the search, with the prepared boxes.
    fn searched(&self) -> BoxBuffers<'_> {
        let SearchInput { box_count, block_sizes, params, filters, .. } = *self;
        let boxes = filters.preparation().map_or(self.boxes.clone(), |buffers| buffers.prepared_boxes.all());
        BoxBuffers { box_count, block_sizes, params, boxes, filters: filters.lists_of(self.kind) }
    }
}

/// The properties of a search that determine its kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Needs {
    tests_all_pairs: bool,
    tests: PairTests,
    prepares_boxes: bool,
    has_worlds: bool,
    includes_pairs: bool,
    sorts_pairs: bool,
    reads_excluded: bool,
}

impl Needs {
    /// Returns the needs of a search with these filters and this order.
    pub fn of(tests_all_pairs: bool, kind: SearchKind, filters: &FilterSet, order: PairOrder) -> Self {
        let checked = filters.checked();
        Self {
            tests_all_pairs,
            tests: filters.filters().pair_tests(kind),
            prepares_boxes: !filters.filters().leaves_boxes(),
            has_worlds: checked.world_count() > 0,
            includes_pairs: !checked.include().is_empty(),
            sorts_pairs: order == PairOrder::Canonical,
            reads_excluded: filters.filters().exclude_at_most > 0,
        }
    }
}

impl Pipeline {
    /// Looks up the kernels of all stages. Each is compiled on first use.
    pub fn new(gpu: &Gpu) -> Self {
        Self {
            gpu: gpu.clone(),
            prepare: Prepare::new(gpu),
            grid: GridKernels::new(gpu),
            rank: Rank::new(gpu),
            sweep: Sweep::new(gpu),
            giants: GiantsStage::new(gpu),
            emit: Emit::new(gpu),
            order: OrderStage::new(gpu),
            small: Small::new(gpu),
            neighbours: Neighbours::new(gpu),
            exclude: Exclude::new(gpu),
            params: Constants::new("params"),
            windows: Constants::new("window"),
        }
    }

    /// Compiles the kernels of a search that are not compiled yet.
    ///
    /// # Errors
    /// [`Error::Gpu`] if the driver rejects a kernel; [`Error::DeviceLost`]; [`Error::OutOfMemory`] if there is no
    /// memory for the trial of the sort.
    pub fn compile(&self, needs: Needs) -> Result<(), Error> {
        kernel::compile(&self.gpu, &self.kernels(needs)?)
    }

    /// Lists the kernels that a search needs. The first sort on a device with subgroups **blocks** for the trial of the
    /// sort.
    ///
    /// # Errors
    /// The errors of the trial.
    pub fn kernels(&self, needs: Needs) -> Result<Vec<&Kernel>, Error> {
        let prepare = self.prepare.kernels();
        let mut kernels = if needs.prepares_boxes { prepare.to_vec() } else { Vec::new() };
        if needs.reads_excluded {
            kernels.extend(self.exclude.kernels().into_iter().chain(self.grid.sort()?.kernels()));
            kernels.push(self.prepare.count_kernel());
        }
        if needs.tests_all_pairs {
            let (small, include) = self.small.kernels(needs.tests);
            kernels.extend(small);
            kernels.extend(needs.includes_pairs.then_some(include));
            return Ok(kernels);
        }
        let (emit, include) = self.emit.kernels(needs.tests);
        kernels.extend(self.grid.kernels(needs.tests, needs.has_worlds)?);
        kernels.extend(self.rank.kernels());
        kernels.extend(self.sweep.kernels(needs.tests));
        kernels.extend(self.giants.kernels(needs.tests));
        kernels.extend(emit);
        kernels.extend(needs.includes_pairs.then_some(include));
        kernels.extend(self.order.kernels().iter().filter(|_| needs.sorts_pairs));
        Ok(kernels)
    }

    /// Returns a uniform buffer with these parameters.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn params(&self, params: Params) -> Result<Buffer<Params>, Error> {
        self.params.get(&self.gpu, params)
    }

    /// Records `prepare_count`: writes `params` and the dispatch sizes for blocks of boxes. `params` becomes a copy of
    /// `call_params`. If there is a `count`, its first number replaces the box count of the copy. The box count is 0
    /// if the device refused filters (`refused`).
    ///
    /// # Errors
    /// [`Error::Gpu`] if the kernel is rejected; [`Error::OutOfMemory`].
    pub fn record_count(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        call_params: &Buffer<Params>,
        count: Option<wgpu::BindingResource<'_>>,
        refused: &Buffer<u32>,
        params: &Buffer<Params>,
        block_sizes: &Buffer<[u32; 3]>,
    ) -> Result<(), Error> {
        let pass = &mut Pass::begin(&self.gpu, encoder);
        self.prepare.record_count(pass, call_params, count, refused, params, block_sizes);
        pass.finish()
    }

    /// Records commands that replace the excluded pairs of `filters` by external pairs: [`Exclude::record`].
    ///
    /// # Errors
    /// The errors of [`Exclude::record`]; [`Error::Gpu`] if a kernel is rejected; [`Error::DeviceLost`].
    pub fn record_exclude(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        filters: &FilterSet,
        change: ExcludeChange,
        external: Option<wgpu::BindingResource<'_>>,
        count: Option<wgpu::BindingResource<'_>>,
    ) -> Result<(), Error> {
        let scopes = self.gpu.open_scopes();
        filters.excluding()?.0.lists().record_clear(encoder);
        let mut pass = Pass::begin(&self.gpu, encoder);
        let sort = self.grid.sort()?;
        self.exclude.record(&mut pass, sort, filters, change, external, count)?;
        pass.finish()?;
        drop(pass);
        scopes.close("filters")
    }

    /// Returns the kernels that prepare boxes and filters.
    pub fn prepare(&self) -> &Prepare {
        &self.prepare
    }

    /// Records a search: all stages in order, or the stage `small`, and the writing of the first window of the list.
    /// Returns the build of the grid that the results depend on, if any.
    ///
    /// # Errors
    /// [`Error::Gpu`] if a kernel is rejected or lacks one of its buffers; [`Error::OutOfMemory`].
    pub fn record_flow(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        search: &SearchInput<'_>,
        grid: &mut Grid,
        pairs: &PairBuffers,
        timer: Option<&Timer>,
    ) -> Result<Option<GridBuild>, Error> {
        let SearchInput { box_count: n, params, filters, entry_capacity, key_bits, .. } = *search;
        let (PairBuffers { path, hits, .. }, searched) = (pairs, &search.searched());
        // Compile all missing kernels at once, before the first dispatch.
        self.compile(Needs::of(search.tests_all_pairs, search.kind, filters, pairs.list.order()))?;
        if search.tests_all_pairs {
            // This search overwrites the counts of the grid.
            grid.forget();
            let pass = &mut Pass::begin_timed(&self.gpu, encoder, timer);
            self.record_prepare(pass, search);
            self.small.record_test(pass, searched, hits);
            if let Some(included) = filters.included() {
                self.small.record_include(pass, params, included, hits);
            }
            self.record_emit(pass, search, grid, pairs, &self.window(0, pairs.list.capacity)?)?;
            return pass.finish().map(|()| None);
        }
        grid.record_clear(encoder, n, filters);
        pairs.list.record_clear(encoder);
        path.record_clear(encoder, entry_capacity);
        hits.record_clear(encoder);
        let pass = &mut Pass::begin_timed(&self.gpu, encoder, timer);

        self.record_prepare(pass, search);
        let build = grid.record_build(pass, &self.grid, searched, entry_capacity, key_bits, filters)?;
        let (summary, bins, sorted) = (&grid.summary, &grid.bins, &grid.entries);
        self.rank.record(pass, entry_capacity, summary, bins, sorted, path);
        self.giants.record(pass, searched, summary, sorted, path, hits);
        self.sweep.record_test(pass, searched, summary, sorted, path, hits);
        self.record_emit(pass, search, grid, pairs, &self.window(0, pairs.list.capacity)?)?;
        pass.finish().map(|()| Some(build))
    }

    /// Records the preparation of the boxes, if the filters change them.
    fn record_prepare(&self, pass: &mut Pass, search: &SearchInput<'_>) {
        if let Some(buffers) = search.filters.preparation() {
            self.prepare.record(pass, search.box_count, search.params, search.boxes.clone(), buffers);
        }
    }

    /// Records the writing of a further window of a recorded search: the pairs from index `first` on, up to the
    /// capacity of the list. Record it after [`PairList::record_clear`].
    ///
    /// # Errors
    /// [`Error::Gpu`] if a kernel is rejected; [`Error::OutOfMemory`].
    pub fn record_window(
        &self,
        pass: &mut Pass,
        search: &SearchInput<'_>,
        grid: &Grid,
        pairs: &PairBuffers,
        first: u64,
    ) -> Result<(), Error> {
        let window = &self.window(first, pairs.list.capacity)?;
        if !search.tests_all_pairs {
            let GridSummary { counts, dispatches, .. } = &grid.summary;
            self.emit.record_range(pass, search.params, window, &pairs.hits, counts, dispatches);
        }
        self.record_emit(pass, search, grid, pairs, window)
    }

    /// Records the writing of the pairs of the first window, or of the window of the last [`Emit::record_range`].
    fn record_emit(
        &self,
        pass: &mut Pass,
        search: &SearchInput<'_>,
        grid: &Grid,
        pairs: &PairBuffers,
        window: &Buffer<Window>,
    ) -> Result<(), Error> {
        let SearchInput { box_count: n, params, filters, .. } = *search;
        let (Grid { summary, entries: sorted, .. }, searched) = (grid, &search.searched());
        let (counts, list) = (&summary.counts, &pairs.list);
        if search.tests_all_pairs {
            self.small.record_emit(pass, searched, window, &pairs.hits, counts, &list.list);
            return Ok(());
        }
        self.emit.record_pairs(pass, searched, window, summary, sorted, pairs);
        if let Some(included) = filters.included() {
            self.emit.record_include(pass, params, window, counts, included, &list.list.pairs);
        }
        match list.row_buffers() {
            Some(rows) => self.order.record_pairs(pass, (n, n), counts, rows, &list.list.pairs),
            None => Ok(()),
        }
    }

    /// Records the listing of neighbours: the pairs by box.
    ///
    /// # Errors
    /// [`Error::Gpu`] if a kernel is rejected; [`Error::DeviceLost`]; [`Error::OutOfMemory`].
    pub fn record_neighbours(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        box_count: u32,
        list: &PairList,
        buffers: &NeighbourBuffers,
        timer: Option<&Timer>,
    ) -> Result<(), Error> {
        self.neighbours.compile(&self.order)?;
        buffers.rows.record_clear(encoder);
        let pass = &mut Pass::begin_timed(&self.gpu, encoder, timer);
        self.neighbours.record(pass, box_count, list, &self.order, buffers)?;
        pass.finish()
    }

    fn window(&self, first: u64, capacity: u32) -> Result<Buffer<Window>, Error> {
        let window = Window::new(first, capacity);
        self.windows.get(&self.gpu, window)
    }
}
