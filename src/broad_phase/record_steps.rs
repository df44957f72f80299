//! Events that stay on the GPU: the pairs of a recorded step are compared there with those of the last one.

use std::mem::replace;

use super::BroadPhase;
use super::arrived::Timed;
use super::record::{GpuCount, GpuPairs};
use crate::constants::EVENT_CREATED;
use crate::gpu::timing::Timer;
use crate::memory::Call;
use crate::pairs::events::{Compared, EventBuffers, EventRoom};
use crate::pairs::recorded::check_identity;
use crate::{Error, PairOrder};

/// Events that were left on the GPU by [`BroadPhase::record_events`] or
/// [`Tree::record_overlap_events`](crate::Tree::record_overlap_events). The buffers are handles: they are cloned in no time, and
/// stay the same until the engine allocates others. All lists are in canonical order.
///
/// A step that could not be compared does not count: the next one is compared with the step before. The lists of its
/// events are empty then, and [`PairHeader::overflow`](crate::PairHeader::overflow) of each says why.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GpuEvents {
    /// All pairs of the step.
    pub pairs: GpuPairs,
    /// `[pairs]` the place of each pair in the list of the last step, a `u32`; or [`CREATED`](Self::CREATED). What a solver
    /// starts from lies there. The buffer can be used as storage and to copy from.
    pub before: wgpu::Buffer,
    /// The pairs that the last step did not have.
    pub created: GpuPairs,
    /// The pairs of the last step that this one does not have, by the indices that their boxes had there.
    pub lost: GpuPairs,
    /// The pairs of both steps, but for those of two boxes that [sleep](crate::Filters::sleeping) or are
    /// [fixed](crate::Filters::fixed).
    pub persisting: GpuPairs,
}

impl GpuEvents {
    /// Stands for the place of a pair that the last step did not have.
    pub const CREATED: u32 = EVENT_CREATED;
}

/// Says which box of the last recorded step each box of a recorded step is, with what lies in buffers of the device, made with
/// `BufferUsages::STORAGE`.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum GpuIdentity<'a> {
    /// The one with the same index. Boxes beyond the last step's are new; those beyond this step's are gone.
    #[default]
    Index,
    /// `[box_count]` numbers, a `u32` each: the box with the same index, if the number is the same as in the last step that
    /// had such numbers, or if that step had none for it; otherwise the box is a new one in the place of one that is gone.
    Generations(wgpu::BufferSlice<'a>),
    /// `[box_count]` indices, a `u32` each: the box with this index in the last step, no two the same; or
    /// [`Step::NEW`](crate::Step::NEW), as is any index that the last step did not have. Boxes of the last step that are not
    /// named are gone. Where two boxes are named the same, the step is refused on the device if it shows: if a
    /// pair of the last step would be two of this one.
    Was(wgpu::BufferSlice<'a>),
}

/// Room for events that is always there, however small the budget.
const LEAST_EVENTS: u64 = 1024;

impl BroadPhase {
    /// Records into `encoder` what [`record`](Self::record) records, and the comparison of its pairs with those of the last
    /// step: which began, which ended, which persist. In the first step every pair is created. Nothing is submitted or read
    /// back, and nothing blocks once the kernels that it needs are compiled, those of events by the first call with each kind of `identity`, or
    /// [ahead](Self::compile_events_ahead). What is found is as if nobody slept, so that falling asleep loses no pair.
    ///
    /// The last step is the last one that was submitted and counted. A step whose pairs did not fit the list
    /// ([`reserve`](Self::reserve)), or were too many to test, does not: its events are empty, their headers say so, and the
    /// next step is compared with the one before. Recorded steps and those of [`find_events`](Self::find_events) know
    /// nothing of each other.
    ///
    /// Events take 37 bytes of GPU memory for each pair that the list has room for, and 4 for each box, beside the
    /// [`MemoryPlan`](crate::MemoryPlan). [`forget_steps`](Self::forget_steps) gives them back. With a memory budget, half of it is
    /// for events from the first recorded step on, and other calls know of the other half alone. Where that has less room
    /// than the list, a step with more pairs does not count. On the GPU a pair takes some 60 bytes of traffic beyond that of the search.
    ///
    /// Where a step needs larger buffers than the one before (a longer list, more boxes), this waits until what was
    /// submitted has run, once. With room [reserved](Self::reserve) for all, that does not happen. A consumer looks at
    /// the header of an event list first: after a step that does not count, [`before`](GpuEvents::before) has what it had.
    ///
    /// ```no_run
    /// # use broadsweep::{BroadPhase, Error, GpuIdentity, wgpu};
    /// # fn frame(
    /// #     broad_phase: &mut BroadPhase, device: &wgpu::Device, queue: &wgpu::Queue, boxes: &wgpu::Buffer, box_count: u32,
    /// #     contacts: &wgpu::ComputePipeline, group_of: impl Fn(&wgpu::Buffer, &wgpu::Buffer) -> wgpu::BindGroup,
    /// # ) -> Result<(), Error> {
    /// let mut encoder = device.create_command_encoder(&Default::default());
    /// let events = broad_phase.record_events(&mut encoder, boxes.slice(..), box_count, GpuIdentity::Index)?;
    /// let mut pass = encoder.begin_compute_pass(&Default::default());
    /// pass.set_pipeline(contacts);
    /// pass.set_bind_group(0, &group_of(&events.created.pairs, &events.created.header), &[]);
    /// pass.dispatch_workgroups_indirect(&events.created.arguments, broadsweep::GpuPairs::DISPATCH_OFFSET);
    /// drop(pass);
    /// queue.submit([encoder.finish()]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`record`](Self::record); [`Error::BadOption`] where the order of pairs is not
    /// [canonical](crate::PairOrder::Canonical); [`Error::BadBuffer`] for numbers of `identity` too; [`Error::Busy`] also where
    /// larger buffers are needed while a step that was recorded is not submitted (in a browser, has not run). A
    /// step that was refused does not count as the last one. After [`Error::OutOfMemory`], where not even the old buffers
    /// can be had back, the last step is forgotten.
    pub fn record_events<'a>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        boxes: wgpu::BufferSlice<'_>,
        box_count: impl Into<GpuCount<'a>>,
        identity: GpuIdentity<'_>,
    ) -> Result<GpuEvents, Error> {
        let given = box_count.into();
        let box_count = given.at_most();
        if self.options.order != PairOrder::Canonical {
            let value = format!("{:?}", self.options.order);
            let expected = "PairOrder::Canonical where events are recorded";
            return Err(Error::BadOption { option: "order", value, expected });
        }
        self.core.flight.check_idle()?;
        check_identity(&self.core.gpu, identity, box_count)?;
        self.check_given(boxes, given)?;
        let call = self.make_room_for_events(box_count)?;
        let lent = self.arrived.lend_timer(&self.core.gpu, Timed::Search)?;
        let timer = lent.as_ref().map(|lent| &lent.arrival);
        let recorded = self.record_search(encoder, &call, boxes, given, timer);
        let compared = recorded.and_then(|()| self.record_comparison(encoder, box_count, identity, timer));
        if let Err(error) = compared {
            self.core.workspace.forget_results();
            return Err(error);
        }
        if let Some(results) = &mut self.core.workspace.made_mut()?.results {
            // A window would overwrite the pairs of the step.
            results.has_windows = false;
        }
        self.arrived.record_times(encoder, Timed::Search, lent);
        let left = self.recorded.events(self.gpu_pairs()?)?;
        self.arrived.record_header(&self.core.gpu, encoder, &left.pairs.header, Some(&left.created.header));
        self.arrived.record_report(&self.core, encoder)?;
        Ok(left)
    }

    /// Records the comparison of the list that was recorded with the one before.
    fn record_comparison(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        box_count: u32,
        identity: GpuIdentity<'_>,
        timer: Option<&Timer>,
    ) -> Result<(), Error> {
        let Self { core, filters, recorded, .. } = self;
        let made = core.workspace.made()?;
        let call = &made.results.as_ref().ok_or(Error::NothingRecorded)?.call;
        let params = &core.params_of_results(call)?;
        let list = &made.pairs.list.list;
        let step = Compared { pairs: &list.pairs, header: list.header.all(), is_join: false };
        let vertices_per_pair = core.options.vertices_per_pair;
        let identity = (identity, box_count);
        recorded.record(&core.gpu, encoder, timer, params, vertices_per_pair, step, &filters.lists, identity)
    }

    /// Makes room for a search and its events, compiles the kernels of both, and returns what the search does.
    fn make_room_for_events(&mut self, box_count: u32) -> Result<Call, Error> {
        if !self.recorded.is_in_use() {
            self.apply_budget(true);
        }
        let made = self.make_room(box_count as usize, 0, true);
        let made = made.map_err(|error| match (error, self.options.memory_budget) {
            // The search has half of the budget.
            (Error::OverBudget { box_count, required, .. }, Some(budget)) => {
                Error::OverBudget { box_count, required: required.saturating_mul(2), budget }
            }
            (error, _) => error,
        });
        let made = made.and_then(|call| self.make_event_buffers().map(|()| call));
        if !self.recorded.is_in_use() {
            self.apply_budget(false);
        }
        made
    }

    /// Makes room for the events of as many pairs and boxes as there is room for, or as many as half of the budget has room for.
    fn make_event_buffers(&mut self) -> Result<(), Error> {
        let Self { core, recorded, .. } = self;
        recorded.compile(&core.gpu)?;
        let plan = &core.workspace.made()?.plan;
        let wanted = EventRoom { pairs: plan.pair_capacity.into(), generations: plan.box_count.into() };
        let now = recorded.room();
        let mut room =
            EventRoom { pairs: wanted.pairs.max(now.pairs), generations: wanted.generations.max(now.generations) };
        if let Some(budget) = self.options.memory_budget
            && !recorded.has_room(&wanted)
        {
            // The last step is in both until it has been moved.
            let moved = if recorded.is_in_use() { now.last_bytes() } else { 0 };
            let left = (budget / 2).saturating_sub(moved);
            while EventBuffers::bytes(&room) > left && room.pairs > now.pairs.max(LEAST_EVENTS) {
                room.pairs = (room.pairs - room.pairs / 8).max(now.pairs.max(LEAST_EVENTS));
            }
            if recorded.has_room(&room) {
                return Ok(());
            }
            let bytes = EventBuffers::bytes(&room);
            if bytes > left {
                let required = 2 * bytes.saturating_add(budget / 2 - left);
                return Err(Error::OverBudget { box_count: wanted.generations, required, budget });
            }
        }
        recorded.ensure(&core.gpu, room)
    }

    /// Leaves to searches the budget, or half of it where steps are recorded. The memory is given back where it is another one.
    pub(super) fn apply_budget(&mut self, has_events: bool) {
        let budget = self.options.memory_budget.map(|budget| if has_events { budget / 2 } else { budget });
        if replace(&mut self.core.options.memory_budget, budget) != budget {
            self.core.workspace.release();
        }
    }
}
