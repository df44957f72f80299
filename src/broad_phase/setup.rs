//! Sets options and filters, and ensures memory. Shared by [`BroadPhase`](crate::BroadPhase) and
//! [`Recorder`](crate::Recorder).

use super::core::Core;
use crate::filters::device::FilterSet;
use crate::filters::lists::SearchKind;
use crate::gpu::Gpu;
use crate::gpu::compilation::Compilation;
use crate::gpu::kernel::Kernel;
use crate::gpu::limits::check_rows;
use crate::memory::{Call, Workspace};
use crate::pairs::{Needs, Pipeline};
use crate::{Attribute, Error, Filters, Options};

impl Core {
    /// Creates the core and the filters of an engine with these options.
    ///
    /// # Errors
    /// [`Error::BadOption`].
    pub fn new(gpu: &Gpu, options: Options) -> Result<Self, Error> {
        let options = options.checked(gpu.all_pairs_up_to())?;
        let (workspace, flight) = (Workspace::new(gpu), Default::default());
        Ok(Self { gpu: gpu.clone(), options, pipeline: Pipeline::new(gpu), workspace, flight, counted: None })
    }

    /// Replaces the filters.
    ///
    /// # Errors
    /// [`Error::BadFilter`], [`Error::Busy`], [`Error::OutOfMemory`]; the filters do not change.
    pub fn replace_filters(&mut self, filters: &mut FilterSet, others: Filters) -> Result<(), Error> {
        self.check_filters_may_change()?;
        let others = FilterSet::new(&self.gpu, others)?;
        filters.note_others();
        *filters = others;
        self.filters_replaced();
        Ok(())
    }

    /// Discards the results that depend on replaced filters.
    pub fn filters_replaced(&mut self) {
        if self.flight.is_empty() {
            // Submissions in flight retain their filters.
            self.workspace.forget_results();
        }
        if self.options.memory_budget.is_some() {
            // Filters and buffers together may exceed the budget.
            self.workspace.release();
        }
    }

    /// Changes one list of the filters from box `first` on.
    ///
    /// # Errors
    /// The errors of [`BroadPhase::change_filters`](crate::BroadPhase::change_filters).
    pub fn change_filters(
        &mut self,
        filters: &mut FilterSet,
        first: usize,
        values: Attribute<'_>,
    ) -> Result<(), Error> {
        self.check_filters_may_change()?;
        let changed = filters.change(&self.gpu, first, values);
        if !matches!(changed, Err(Error::BadFilter { .. })) && self.flight.is_empty() {
            self.workspace.forget_results();
        }
        changed
    }

    /// Checks that the filters may change: with a budget, nothing may be in flight, since the budget does not include
    /// older filters.
    ///
    /// # Errors
    /// [`Error::Busy`].
    fn check_filters_may_change(&self) -> Result<(), Error> {
        if self.options.memory_budget.is_some() { self.flight.check_idle() } else { Ok(()) }
    }

    /// Returns the filters for the queries of a tree of `box_count` boxes on `gpu`. If `gpu` is a clone of the [`Gpu`]
    /// of these filters, the returned filters share the buffers of these filters.
    fn share_filters(&mut self, filters: &mut FilterSet, gpu: &Gpu, box_count: usize) -> Result<FilterSet, Error> {
        filters.filters().check_for_queries()?;
        filters.fit_for_queries(box_count)?;
        if !gpu.is_clone_of(&self.gpu) {
            let copied = filters.copied(gpu)?;
            copied.check_on_host()?;
            return Ok(copied);
        }
        check_rows(box_count as u64, &gpu.device().limits(), &filters.rows(box_count))?;
        if self.options.memory_budget.is_some() && filters.check_uploaded(box_count).is_err() {
            // Allocate the search buffers too, since the budget is checked for filters and search buffers together.
            self.ensure_capacity(filters, box_count, 0, SearchKind::Boxes)?;
        }
        filters.upload(gpu, box_count, !self.flight.is_empty())?;
        filters.share(gpu, box_count)
    }

    /// Ensures capacity, compiles the kernels, and returns the decision for this many boxes or points.
    ///
    /// # Errors
    /// The errors of [`BroadPhase::reserve`](crate::BroadPhase::reserve).
    pub fn ensure_capacity(
        &mut self,
        filters: &mut FilterSet,
        box_count: usize,
        pair_capacity: u32,
        kind: SearchKind,
    ) -> Result<Call, Error> {
        self.flight.check_idle()?;
        let call = self.decide(box_count, filters, kind)?;
        self.workspace.request_pairs(pair_capacity.into());
        self.ensure(&call, filters)?;
        self.pipeline.compile(Needs::of(call.tests_all_pairs, kind, filters, self.options.order))?;
        Ok(call)
    }

    /// Ensures capacity, compiles the kernels, and checks that the device is not lost. Use it only in calls that may
    /// block.
    ///
    /// # Errors
    /// The errors of [`BroadPhase::reserve`](crate::BroadPhase::reserve).
    pub fn reserve(&mut self, filters: &mut FilterSet, box_count: usize, pair_capacity: u32) -> Result<(), Error> {
        self.ensure_capacity(filters, box_count, pair_capacity, SearchKind::Boxes)?;
        if self.gpu.is_lost_on_trial() {
            // wgpu creates buffers on a lost device without an error.
            return Err(self.gpu.lost("nothing can be allocated", None));
        }
        Ok(())
    }

    /// Returns the properties of a call with this many boxes that determine its kernels.
    fn needs(&self, filters: &FilterSet, box_count: usize, kind: SearchKind) -> Needs {
        let call = self.decide(box_count, filters, kind);
        let tests_all_pairs = call.is_ok_and(|call| call.tests_all_pairs);
        Needs::of(tests_all_pairs, kind, filters, self.options.order)
    }

    /// Starts to compile the kernels that a search or a step with this many boxes needs, and then the kernels in
    /// `others`.
    pub fn compile_ahead(&self, filters: &FilterSet, box_count: usize, others: Vec<Kernel>) -> Compilation {
        let [search, step] = [SearchKind::Boxes, SearchKind::Step].map(|kind| self.needs(filters, box_count, kind));
        // A second pipeline shares the kernels, which belong to the device.
        let pipeline = Pipeline::new(&self.gpu);
        Compilation::start(&self.gpu, move || {
            let mut kernels: Vec<Kernel> = pipeline.kernels(search)?.into_iter().cloned().collect();
            if step != search {
                kernels.extend(pipeline.kernels(step)?.into_iter().cloned());
            }
            kernels.extend(others);
            Ok(kernels)
        })
    }
}

/// The owner of filters that a tree can share: `&mut` [`BroadPhase`](crate::BroadPhase) or `&mut`
/// [`Recorder`](crate::Recorder), for [`Tree::share_filters`](crate::Tree::share_filters).
#[derive(Debug)]
pub struct FilterOwner<'a> {
    pub(crate) core: &'a mut Core,
    pub(crate) filters: &'a mut FilterSet,
}

impl FilterOwner<'_> {
    /// Returns the filters for the queries of a tree of `box_count` boxes on `gpu`. If `gpu` is a clone of the [`Gpu`]
    /// of these filters, the returned filters share the buffers of these filters.
    ///
    /// # Errors
    /// The errors of [`Filters::check`] and of [`Filters::check_for_queries`]; with a memory budget, the errors of
    /// [`BroadPhase::reserve`](crate::BroadPhase::reserve); [`Error::TooManyBoxes`], [`Error::OutOfMemory`],
    /// [`Error::DeviceLost`].
    pub(crate) fn share(self, gpu: &Gpu, box_count: usize) -> Result<FilterSet, Error> {
        self.core.share_filters(self.filters, gpu, box_count)
    }
}
