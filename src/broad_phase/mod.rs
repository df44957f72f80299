//! [`BroadPhase`]: what a program calls. It holds the kernels ([`Pipeline`]), the memory ([`Workspace`]), what is in
//! flight and the filters, and does nothing itself: [`submit`] submits, [`collect`] brings pairs to the host, [`record`]
//! leaves pairs on the GPU, [`record_steps`] events, [`record_neighbours`] pairs by box, `stream_events` hands events over in
//! pieces, [`slabs`] takes more boxes than fit.

mod arrived;
mod arriving;
mod collect;
mod core;
#[cfg(not(target_arch = "wasm32"))]
mod cuts;
mod find;
mod flight;
mod merge;
mod record;
mod record_filters;
mod record_neighbours;
mod record_steps;
#[cfg(not(target_arch = "wasm32"))]
pub mod slabs;
mod steps;
#[cfg(not(target_arch = "wasm32"))]
mod stream_events;
mod submit;

pub use record::{GpuCount, GpuPairs};
pub use record_neighbours::GpuNeighbours;
pub use record_steps::{GpuEvents, GpuIdentity};

use std::collections::VecDeque;
use std::sync::Arc;

use self::arrived::Arrived;
use self::arriving::Arriving;
use self::core::Core;
use crate::events::OwnSaid;
use crate::events::steps::Steps;
use crate::events::stream::Streamed;
use crate::filters::CheckedFilters;
use crate::filters::device::FilterSet;
#[cfg(not(target_arch = "wasm32"))]
use crate::filters::sets::TwoSets;
use crate::gpu::compilation::Compilation;
use crate::gpu::kernel::Kernel;
use crate::gpu::limits::check_rows;
use crate::gpu::{Gpu, SortVariant};
use crate::grid::sort_variant;
use crate::memory::{Call, MOST_IN_FLIGHT, MemoryPlan, Workspace};
use crate::pairs::events::EventKernels;
use crate::pairs::recorded::RecordedSteps;
use crate::pairs::{Needs, Pipeline};
#[cfg(not(target_arch = "wasm32"))]
use crate::{Aabb, KernelTime, gpu::timing::Timer};
use crate::{Attribute, Error, Filters, Options, Overlaps};

/// The engine that finds all overlapping pairs of boxes on a GPU. Keep one across calls: its kernels are compiled once,
/// and its buffers are reused and grow when they have to.
///
/// There are five ways to use it, all with the same flow:
/// - [`find_pairs`](Self::find_pairs) blocks and returns the pairs;
/// - [`stream_pairs`](Self::stream_pairs) blocks and hands over the pairs piece by piece, however many there are;
/// - [`submit`](Self::submit), then [`try_take`](Self::try_take) or [`take`](Self::take), do not block;
/// - [`record`](Self::record) takes boxes from a GPU buffer and leaves the pairs in one, in the caller's encoder;
/// - [`find_events`](Self::find_events), [`stream_events`](Self::stream_events) and [`record_events`](Self::record_events) tell what
///   began and what ended since the last step.
///
/// [`set_filters`](Self::set_filters) says which pairs are wanted, for all of them. A call whose boxes the filters do not
/// fit is refused with [`Error::FilterLength`] or [`Error::BadFilter`] before any work.
///
/// More than half a megabyte of boxes or pairs in host memory is copied by the threads of the `rayon` pool that a call is made
/// from, as [`Tree`](crate::Tree) does with queries and answers: hold no lock meanwhile that other tasks of that pool wait for.
///
/// Memory and work grow with boxes, entries and candidates; [`MemoryPlan`] predicts the memory. The two ways that block
/// take more boxes than the device or the budget has room for, in several passes; the others refuse them.
///
/// [`cpu::BroadPhase`](crate::cpu::BroadPhase) has the same calls on the CPU; [`Engine`](crate::Engine) is what both
/// engines have in common.
#[derive(Debug)]
pub struct BroadPhase {
    /// Its options have the budget that recorded events leave.
    core: Core,
    options: Options,
    filters: FilterSet,
    recorded: RecordedSteps,
    arrived: Arrived,
    /// The last answer.
    found: Overlaps,
    arriving: Arriving,
    /// The last two sets that were joined.
    #[cfg(not(target_arch = "wasm32"))]
    sets: TwoSets,
    /// What the next step is compared with.
    steps: Steps,
    /// The last streamed step.
    streamed: Streamed,
    /// What is said of the steps that are in flight, and their filters.
    stepping: VecDeque<(OwnSaid, Arc<CheckedFilters>)>,
}

impl BroadPhase {
    /// The most submissions whose results have not been taken.
    pub const SUBMISSIONS_IN_FLIGHT: usize = MOST_IN_FLIGHT;

    /// Makes an engine on this device. No memory is taken for boxes yet, and nothing is compiled: a kernel is compiled
    /// by the first call on the device that needs it, or when it is asked for ([`compile_ahead`](Self::compile_ahead),
    /// [`compile`](Self::compile), [`reserve`](Self::reserve)). A kernel that a driver rejects is an [`Error::Gpu`] of
    /// that call.
    ///
    /// # Errors
    /// [`Error::BadOption`], [`Error::OutOfMemory`], [`Error::DeviceLost`].
    pub fn new(gpu: &Gpu, options: Options) -> Result<Self, Error> {
        let options = options.checked(gpu.all_pairs_up_to())?;
        let pipeline = Pipeline::new(gpu);
        let (workspace, flight) = (Workspace::new(gpu), Default::default());
        Ok(Self {
            core: Core { gpu: gpu.clone(), options, pipeline, workspace, flight, counted: None },
            options,
            filters: FilterSet::new(gpu, Filters::default())?,
            recorded: RecordedSteps::default(),
            arrived: Arrived::default(),
            found: Overlaps::default(),
            arriving: Arriving::default(),
            #[cfg(not(target_arch = "wasm32"))]
            sets: TwoSets::default(),
            steps: Steps::default(),
            streamed: Streamed::default(),
            stepping: VecDeque::new(),
        })
    }

    /// Returns the options in use.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Sets other options, from the next call on. The kernels stay; the memory is given back where it was laid out for
    /// another order or budget. Where a smaller budget has no room for the events of [recorded](Self::record_events) steps, those are
    /// forgotten.
    ///
    /// # Errors
    /// [`Error::BadOption`], [`Error::Busy`]; the options stay as they were.
    pub fn set_options(&mut self, options: Options) -> Result<(), Error> {
        let options = options.checked(self.core.gpu.all_pairs_up_to())?;
        self.core.flight.check_idle()?;
        let before = std::mem::replace(&mut self.options, options);
        self.core.options = Options { memory_budget: self.core.options.memory_budget, ..options };
        if (options.order, options.memory_budget) != (before.order, before.memory_budget) {
            self.core.workspace.reset();
        }
        if let Some(budget) = options.memory_budget {
            self.recorded.keep_within(budget / 2);
        }
        self.apply_budget(self.recorded.is_in_use());
        Ok(())
    }

    /// Returns the device.
    pub fn gpu(&self) -> &Gpu {
        &self.core.gpu
    }

    /// Returns the variant of the sort: the one asked for with [`Gpu::with_sort`], or the one that is best on the
    /// device. Where nothing was sorted there yet and the device has subgroups, a trial finds out which is best, which
    /// **blocks**.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], and [`Error::OutOfMemory`] where there is no room for the trial.
    pub fn sort_variant(&self) -> Result<SortVariant, Error> {
        sort_variant(&self.core.gpu)
    }

    // ---- filters ----

    /// Sets which pairs are not wanted, or always are, from the next call on, until they are replaced;
    /// `Filters::default()` wants every pair of boxes that overlap.
    ///
    /// The filters are uploaded once, by the next call. Kernels that test pairs have a second form that reads filters, which the first
    /// call on the device with any filters compiles.
    ///
    /// # Errors
    /// [`Error::BadFilter`] for what has no meaning with any boxes; [`Error::Busy`] while a result is to be taken, with a
    /// [memory budget](Options::memory_budget); [`Error::OutOfMemory`], [`Error::DeviceLost`]. The filters stay as they were.
    /// Each call checks whether the filters fit its boxes: [`Filters::check`].
    pub fn set_filters(&mut self, filters: Filters) -> Result<(), Error> {
        self.check_filters_may_change()?;
        let filters = FilterSet::new(&self.core.gpu, filters)?;
        self.filters.note_others();
        self.filters = filters;
        self.take_filters();
        self.streamed.filters_changed();
        Ok(())
    }

    /// Takes other filters into use.
    fn take_filters(&mut self) {
        if self.core.flight.is_empty() {
            // What is in flight knows its filters.
            self.core.workspace.forget_results();
        }
        if self.core.options.memory_budget.is_some() {
            // The buffers may leave no room for them.
            self.core.workspace.release();
        }
    }

    /// Returns the filters in use, as the host set and changed them: not the values that [`record_filters`](Self::record_filters),
    /// [`record_half_spaces`](Self::record_half_spaces) and [`record_exclude`](Self::record_exclude) put in their place.
    pub fn filters(&self) -> &Filters {
        self.filters.filters()
    }

    /// Changes one list of the filters from box `first` on, and uploads no more than that (of the worlds, all): for
    /// what sleeps and wakes, or leaves and enters, from call to call. A search that was [recorded](Self::record) and
    /// is submitted later finds the list as it is at that time.
    ///
    /// # Errors
    /// [`Error::BadFilter`] where the list is shorter, or not in use, or was changed on the device
    /// ([`record_filters`](Self::record_filters)), or a margin is negative or not finite;
    /// [`Error::Busy`] while a result is to be taken, with a [memory budget](Options::memory_budget): nothing is changed then.
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`], [`Error::Gpu`]: the list is changed, and the next call uploads it.
    pub fn change_filters(&mut self, first: usize, values: Attribute<'_>) -> Result<(), Error> {
        self.check_filters_may_change()?;
        let changed = self.filters.change(&self.core.gpu, first, values);
        if !matches!(values, Attribute::Sleeping(_)) {
            self.streamed.filters_changed();
        }
        if !matches!(changed, Err(Error::BadFilter { .. })) && self.core.flight.is_empty() {
            self.core.workspace.forget_results();
        }
        changed
    }

    /// Returns the filters for the queries of a tree of this many boxes on a device: with their buffers, if it is the same [`Gpu`].
    ///
    /// # Errors
    /// The errors of [`Filters::check`] and of [`Filters::check_for_queries`]; those of [`reserve`](Self::reserve) with a memory budget;
    /// [`Error::TooManyBoxes`], [`Error::OutOfMemory`], [`Error::DeviceLost`].
    pub(crate) fn share_filters(&mut self, gpu: &Gpu, box_count: usize) -> Result<FilterSet, Error> {
        self.filters.filters().check_for_queries()?;
        self.filters.fit_for_queries(box_count)?;
        if !gpu.is_clone_of(&self.core.gpu) {
            let copied = self.filters.copied(gpu)?;
            copied.check_on_host()?;
            return Ok(copied);
        }
        check_rows(box_count as u64, &gpu.device().limits(), &self.filters.rows(box_count))?;
        if self.options.memory_budget.is_some() && self.filters.check_uploaded(box_count).is_err() {
            // As for a change that is recorded: a budget has room for them beside the buffers of a search alone.
            self.make_room(box_count, 0, false)?;
        }
        self.filters.upload(gpu, box_count, !self.core.flight.is_empty())?;
        self.filters.share(gpu, box_count)
    }

    /// Checks that the filters may change: a budget has no room for those of submissions in flight.
    ///
    /// # Errors
    /// [`Error::Busy`].
    fn check_filters_may_change(&self) -> Result<(), Error> {
        if self.options.memory_budget.is_some() { self.core.flight.check_idle() } else { Ok(()) }
    }

    // ---- steps ----

    /// Forgets all steps, found, streamed and recorded: in the next one, every pair is created. The memory of recorded
    /// events is given back.
    pub fn forget_steps(&mut self) {
        self.steps = Steps::default();
        self.streamed = Streamed::default();
        self.recorded = RecordedSteps::default();
        self.apply_budget(false);
    }

    // ---- memory ----

    /// Predicts the GPU memory that `box_count` boxes would take on this device, with the [filters](Self::set_filters).
    ///
    /// # Errors
    /// [`Error::TooManyBoxes`], [`Error::OverBudget`] where one pass cannot hold the boxes.
    /// [`find_pairs`](Self::find_pairs) and [`stream_pairs`](Self::stream_pairs) then take several passes; any other
    /// call returns this error.
    pub fn memory_plan(&self, box_count: usize) -> Result<MemoryPlan, Error> {
        self.core.workspace.plan(box_count, &self.core.options, &self.filters)
    }

    /// Counts the bytes of GPU memory that are held: buffers of searches, of filters and of steps.
    pub fn memory_bytes(&self) -> u64 {
        self.buffers().iter().map(|(_, bytes)| bytes).sum()
    }

    /// Lists the GPU buffers that there are now, by name, with the bytes that the device gave each of them.
    #[doc(hidden)]
    pub fn buffers(&self) -> Vec<(&'static str, u64)> {
        let mut rows = self.core.workspace.rows_made();
        rows.extend(self.filters.made());
        rows.extend(self.recorded.made());
        rows
    }

    /// Makes room for `box_count` boxes and a list of `pair_capacity` pairs (as far as limits and budget allow), and
    /// [compiles](Self::compile) kernels, now rather than in the call that needs it. A list that
    /// [`record`](Self::record) left is no longer there.
    ///
    /// # Errors
    /// [`Error::TooManyBoxes`], [`Error::OverBudget`], [`Error::OutOfMemory`], [`Error::Busy`], [`Error::Gpu`],
    /// [`Error::DeviceLost`].
    pub fn reserve(&mut self, box_count: usize, pair_capacity: u32) -> Result<(), Error> {
        self.make_room(box_count, pair_capacity, false)?;
        if self.core.gpu.is_lost_on_trial() {
            // Buffers of a device that is gone are made without a complaint.
            return Err(self.core.gpu.lost("nothing can be allocated"));
        }
        Ok(())
    }

    /// Ensures capacity, compiles the kernels, and returns the decision for this many boxes. In a step, sleeping flags are
    /// ignored.
    fn make_room(&mut self, box_count: usize, pair_capacity: u32, is_step: bool) -> Result<Call, Error> {
        self.core.flight.check_idle()?;
        let call = self.core.decide(box_count, &self.filters, is_step)?;
        self.core.workspace.wish_for_pairs(pair_capacity.into());
        self.core.ensure(&call, &mut self.filters)?;
        let needs = Needs::of(call.tests_all_pairs, is_step, &self.filters, self.core.options.order);
        self.core.pipeline.compile(needs)?;
        Ok(call)
    }

    /// Compiles the kernels that a call for `box_count` boxes needs with the filters and options there are, now rather than
    /// in that call, several at once where there are several cores. **Blocks**. Each kernel is compiled once on a device.
    ///
    /// # Errors
    /// [`Error::Gpu`] where the driver rejects a kernel; [`Error::DeviceLost`]; [`Error::OutOfMemory`] where there is no
    /// room for the trial of the sort.
    pub fn compile(&self, box_count: usize) -> Result<(), Error> {
        self.core.pipeline.compile(self.needs(box_count, false))
    }

    /// Starts to compile the same kernels as [`compile`](Self::compile), and returns at once: other threads compile, or the
    /// browser does. Calls that are made meanwhile wait for what they need. [`Compilation`] tells how far it is.
    ///
    /// ```no_run
    /// # use broadsweep::{Aabb, BroadPhase, Error};
    /// # fn load() -> Vec<Aabb> { Vec::new() }
    /// # fn run(broad_phase: &mut BroadPhase) -> Result<(), Error> {
    /// let compilation = broad_phase.compile_ahead(100_000);
    /// let boxes = load();
    /// compilation.wait()?; // or compilation.await, or a look at is_finished() and progress() in each frame
    /// broad_phase.find_pairs(&boxes)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn compile_ahead(&self, box_count: usize) -> Compilation {
        self.compile_with(self.needs(box_count, false), Vec::new())
    }

    /// Starts to compile what [steps](Self::record_events) of `box_count` boxes need, in the way of
    /// [`compile_ahead`](Self::compile_ahead): the search, and the comparison with the last step.
    pub fn compile_events_ahead(&self, box_count: usize) -> Compilation {
        let others = EventKernels::new(&self.core.gpu).kernels().to_vec();
        self.compile_with(self.needs(box_count, true), others)
    }

    /// Starts to compile the kernels that a search needs, and others behind them.
    fn compile_with(&self, needs: Needs, others: Vec<Kernel>) -> Compilation {
        // Another pipeline of the same kernels: those belong to the device.
        let pipeline = Pipeline::new(&self.core.gpu);
        Compilation::start(&self.core.gpu, move || {
            Ok(pipeline.kernels(needs)?.into_iter().cloned().chain(others).collect())
        })
    }

    fn needs(&self, box_count: usize, is_step: bool) -> Needs {
        let call = self.core.decide(box_count, &self.filters, is_step);
        let tests_all_pairs = call.is_ok_and(|call| call.tests_all_pairs);
        Needs::of(tests_all_pairs, is_step, &self.filters, self.core.options.order)
    }

    // ---- time ----

    /// Finds the pairs of `boxes`, keeps them on the GPU, and returns the time that each kernel took there. **Blocks.**
    /// Returns `None` where the device has no timestamps between dispatches ([`Gpu::TIMING_FEATURES`], which
    /// [`Gpu::request`] asks for where the adapter has them).
    ///
    /// The first call includes what a driver compiles late: measure a second one. A scene with more candidates than
    /// `Options::candidate_limit` is timed up to the point where they are refused.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve).
    #[cfg(not(target_arch = "wasm32"))]
    pub fn time_kernels(&mut self, boxes: &[Aabb]) -> Result<Option<Vec<KernelTime>>, Error> {
        let Self { core, filters, .. } = self;
        core.flight.check_idle()?;
        let Some(timer) = Timer::new(&core.gpu)? else {
            return Ok(None);
        };
        filters.fit(boxes.len())?;
        let call = core.decide(boxes.len(), filters, false)?;
        core.workspace.forget_results();
        core.ensure(&call, filters)?;
        filters.upload(&core.gpu, boxes.len(), false)?;
        let slot = core.workspace.lend_boxes(&core.options, filters)?.ok_or(Error::Busy)?;
        let scopes = core.gpu.open_scopes();
        slot.boxes.write(&core.gpu, boxes);
        let mut encoder = core.encoder();
        core.record_flow(&mut encoder, &call, slot.boxes.all(), filters, None, Some(&timer))?;
        core.workspace.forget_results();
        timer.resolve(&mut encoder);
        core.gpu.queue().submit([encoder.finish()]);
        scopes.close("timed submission")?;
        timer.read(&core.gpu).map(Some)
    }
}
