//! Records events that stay on the GPU. The device compares the pairs of a recorded step with the pairs of the last
//! step.

use super::pairs::GpuCount;
use super::readbacks::{Timed, unlocked};
use super::{GpuInput, Recorder};
use crate::filters::lists::SearchKind;
use crate::gpu::timing::Timer;
use crate::memory::Call;
use crate::pairs::events::{Compared, EventBuffers, EventCapacity};
use crate::pairs::recorded::check_identity;
use crate::{Error, GpuEvents, GpuIdentity, PairOrder};
use std::mem::replace;

/// The least capacity for events, with any budget.
const LEAST_EVENTS: u64 = 1024;

impl Recorder {
    /// Records into `encoder` the commands of [`record`](Self::record), and the comparison of the pairs with the pairs
    /// of the last step. The results are the created, lost and persisting pairs. In the first step, every pair is
    /// created. Sleeping flags are ignored: no pair is lost when its boxes fall asleep. Nothing is read back. The first
    /// call compiles kernels, unless they were compiled [ahead](Self::compile_ahead).
    ///
    /// A step is discarded if its pairs do not fit the list (see [`reserve`](Self::reserve)), or if the search has more
    /// candidates than [`Options::candidate_limit`](crate::Options::candidate_limit). Then its lists of events are
    /// empty, and their headers have the reason. The next step is compared with the last submitted step that was not
    /// discarded.
    ///
    /// Memory: 37 bytes per pair of the list's capacity and 4 per box, not part of the
    /// [`MemoryPlan`](crate::MemoryPlan). [`forget_steps`](Self::forget_steps) releases this memory. From the first
    /// recorded step on, events have half of a memory budget, and other calls the other half. If the capacity for
    /// events is smaller than the list, a step with more pairs than this capacity is discarded. Cost: about 60 bytes of
    /// traffic per pair, in addition to the search.
    ///
    /// A step with a longer list or more boxes than the last step needs larger event buffers. Such a step **blocks**
    /// until submitted work completes. While an earlier step is not submitted, a step with a longer list uses the old
    /// event buffers. To avoid both, call [`reserve`](Self::reserve) for the largest frame. Read the header of an event
    /// list first: after a discarded step, [`before`](GpuEvents::before) has its old content.
    ///
    /// ```no_run
    /// # use broadsweep::record::GpuIdentity;
    /// # use broadsweep::{Error, Recorder, wgpu};
    /// # fn frame(
    /// #     recorder: &mut Recorder, device: &wgpu::Device, queue: &wgpu::Queue, boxes: &wgpu::Buffer, box_count: u32,
    /// #     contacts: &wgpu::ComputePipeline, group_of: impl Fn(&wgpu::Buffer, &wgpu::Buffer) -> wgpu::BindGroup,
    /// # ) -> Result<(), Error> {
    /// let mut encoder = device.create_command_encoder(&Default::default());
    /// let events = recorder.record_events(&mut encoder, boxes.slice(..), box_count, GpuIdentity::Index)?;
    /// let mut pass = encoder.begin_compute_pass(&Default::default());
    /// pass.set_pipeline(contacts);
    /// pass.set_bind_group(0, &group_of(events.created.pairs, events.created.header), &[]);
    /// pass.dispatch_workgroups_indirect(events.created.arguments, broadsweep::record::GpuPairs::DISPATCH_OFFSET);
    /// drop(pass);
    /// queue.submit([encoder.finish()]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`record`](Self::record); [`Error::BadOption`] if the order of pairs is not
    /// [canonical](crate::PairOrder::Canonical); [`Error::BadBuffer`] also for the buffer of `identity`;
    /// [`Error::NotSubmitted`] if more boxes need larger buffers while a recorded step is not submitted (in a browser:
    /// has not run). After an error, the last step is still the last successful step. After [`Error::OutOfMemory`], if
    /// the old buffers cannot be allocated again, the last step is forgotten.
    pub fn record_events<'a>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        boxes: wgpu::BufferSlice<'_>,
        box_count: impl Into<GpuCount<'a>>,
        identity: GpuIdentity<'_>,
    ) -> Result<GpuEvents<'_>, Error> {
        let count = box_count.into();
        let box_count = count.at_most();
        if self.options.order != PairOrder::Canonical {
            let value = format!("{:?}", self.options.order);
            let expected = "PairOrder::Canonical if events are recorded";
            return Err(Error::BadOption { option: "order", value, expected });
        }
        check_identity(&self.core.gpu, identity, box_count)?;
        let boxes = GpuInput::Boxes(boxes);
        self.check_external(boxes, count)?;
        let call = self.ensure_event_capacity(box_count)?;
        let readbacks = unlocked(&mut self.readbacks);
        let leased = readbacks.lease_timer(&self.core.gpu, Timed::Search)?;
        let timer = leased.as_ref().map(|leased| &leased.copy);
        let recorded = self.record_search(encoder, &call, boxes, count, timer);
        let compared = recorded.and_then(|()| self.record_comparison(encoder, box_count, identity, timer));
        if let Err(error) = compared {
            self.core.workspace.forget_results();
            return Err(error);
        }
        if let Some(results) = &mut self.core.workspace.shared_mut()?.results {
            // Forbid windows, since a window overwrites the pairs of the step.
            results.has_windows = false;
        }
        let Self { core, steps, readbacks, .. } = self;
        let readbacks = unlocked(readbacks);
        let events = steps.events(core.workspace.shared()?.pairs.list.borrowed())?;
        readbacks.record_times(encoder, Timed::Search, leased);
        readbacks.record_header(&core.gpu, encoder, events.pairs.header, Some(events.created.header));
        readbacks.record_report(core, encoder)?;
        Ok(events)
    }

    /// Records the comparison of the recorded list with the list of the last step.
    fn record_comparison(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        box_count: u32,
        identity: GpuIdentity<'_>,
        timer: Option<&Timer>,
    ) -> Result<(), Error> {
        let Self { core, filters, steps, .. } = self;
        let shared = core.workspace.shared()?;
        let call = &shared.results.as_ref().ok_or(Error::NothingRecorded)?.call;
        let params = &core.params_of_results(call)?;
        let list = &shared.pairs.list.list;
        let (pairs, header) = (&list.pairs, list.header.all());
        let step = Compared { params, pairs, header, is_join: false, filters: &filters.lists };
        let vertices_per_pair = core.options.vertices_per_pair;
        let identity = (identity, box_count);
        steps.record(&core.gpu, encoder, timer, vertices_per_pair, step, identity)
    }

    /// Ensures the buffers for a search and its events, compiles the kernels of both, and returns the call.
    fn ensure_event_capacity(&mut self, box_count: u32) -> Result<Call, Error> {
        if !self.steps.is_in_use() {
            self.apply_budget(true);
        }
        let ensured = self.ensure_capacity(box_count, SearchKind::Step);
        let ensured = ensured.map_err(|error| match (error, self.options.memory_budget) {
            // The search has half of the budget, so report the whole budget and twice the required bytes.
            (Error::OverBudget { box_count, required, .. }, Some(budget)) => {
                Error::OverBudget { box_count, required: required.saturating_mul(2), budget }
            }
            (error, _) => error,
        });
        let ensured = ensured.and_then(|call| self.ensure_event_buffers().map(|()| call));
        if !self.steps.is_in_use() {
            self.apply_budget(false);
        }
        ensured
    }

    /// Ensures event buffers for the capacity of the list and for the boxes, or for the most pairs that half of the
    /// budget allows.
    fn ensure_event_buffers(&mut self) -> Result<(), Error> {
        let Self { core, steps, .. } = self;
        steps.compile(&core.gpu)?;
        let plan = &core.workspace.shared()?.plan;
        let requested = EventCapacity { pairs: plan.pair_capacity.into(), generations: plan.box_count.into() };
        let now = steps.capacity();
        let mut capacity = EventCapacity {
            pairs: requested.pairs.max(now.pairs),
            generations: requested.generations.max(now.generations),
        };
        if let Some(budget) = self.options.memory_budget
            && !steps.has_capacity(&requested)
        {
            // Until the last step is copied, old and new buffers exist.
            let moved = if steps.is_in_use() { now.last_bytes() } else { 0 };
            let available = (budget / 2).saturating_sub(moved);
            while EventBuffers::bytes(&capacity) > available && capacity.pairs > now.pairs.max(LEAST_EVENTS) {
                capacity.pairs = (capacity.pairs - capacity.pairs / 8).max(now.pairs.max(LEAST_EVENTS));
            }
            if steps.has_capacity(&capacity) {
                return Ok(());
            }
            let bytes = EventBuffers::bytes(&capacity);
            if bytes > available {
                let required = 2 * bytes.saturating_add(budget / 2 - available);
                return Err(Error::OverBudget { box_count: requested.generations, required, budget });
            }
        }
        match steps.ensure(&core.gpu, capacity) {
            // An earlier step was not submitted. If only the list is longer, this step is recorded anyway. The device
            // discards it if its pairs exceed the capacity for events.
            Err(Error::NotSubmitted) if now.generations >= requested.generations => Ok(()),
            ensured => ensured,
        }
    }

    /// Sets the budget of searches: the whole budget, or half if steps are recorded. The memory is released if the
    /// budget of searches changed.
    pub(super) fn apply_budget(&mut self, has_events: bool) {
        let budget = self.options.memory_budget.map(|budget| if has_events { budget / 2 } else { budget });
        if replace(&mut self.core.options.memory_budget, budget) != budget {
            self.core.workspace.release();
        }
    }
}
