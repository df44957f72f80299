//! Events that stay on the GPU: the pairs of a recorded step are compared there with those of the last one.

use std::mem::replace;

use super::BroadPhase;
use super::record::{BoxCount, GpuPairs};
use crate::constants::EVENT_CREATED;
use crate::filters::lists::Switches;
use crate::gpu::buffers::Buffer;
use crate::gpu::given::{bind, bytes, check};
use crate::gpu::kernel::Pass;
use crate::gpu::timing::Timer;
use crate::layout::{PairArguments, PairHeader};
use crate::pairs::Pipeline;
use crate::pairs::events::{EventBuffers, EventKernels, EventRoom, Naming};
use crate::{Error, Pair, PairOrder};

/// Events that were left on the GPU by [`BroadPhase::record_events`]. The buffers are handles: they are cloned in no time, and
/// stay the same until the engine allocates others. All lists are in canonical order.
///
/// A step that could not be compared does not count: the next one is compared with the step before. The lists of its
/// events are empty then, and [`PairHeader::overflow`] of each says why.
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
    /// had such numbers; otherwise the box is a new one in the place of one that is gone.
    Generations(wgpu::BufferSlice<'a>),
    /// `[box_count]` indices, a `u32` each: the box with this index in the last step, no two the same; or
    /// [`Step::NEW`](crate::Step::NEW), as is any index that the last step did not have. Boxes of the last step that are not
    /// named are gone. Where two boxes are named the same, the step is refused on the device if it shows: if a
    /// pair of the last step would be two of this one.
    Was(wgpu::BufferSlice<'a>),
}

/// Room for events that is always there, however small the budget.
const LEAST_EVENTS: u64 = 1024;

/// What recorded steps have to themselves.
#[derive(Debug, Default)]
pub(super) struct RecordedSteps {
    /// For the filters in use.
    kernels: Option<EventKernels>,
    buffers: Option<EventBuffers>,
}

impl RecordedSteps {
    /// Forgets the kernels, which depend on the filters.
    pub fn forget_kernels(&mut self) {
        self.kernels = None;
    }

    /// Returns whether the buffers have this much room.
    fn has_room(&self, room: &EventRoom) -> bool {
        let has = |has: &EventRoom| has.pairs >= room.pairs && has.generations >= room.generations;
        self.buffers.as_ref().is_some_and(|buffers| has(&buffers.room))
    }

    /// Counts the bytes of GPU memory that the buffers take.
    pub fn bytes(&self) -> u64 {
        self.buffers.as_ref().map_or(0, |buffers| EventBuffers::bytes(&buffers.room))
    }

    /// Lists the buffers with the bytes that the device gave them.
    pub fn made(&self) -> Vec<(&'static str, u64)> {
        self.buffers.iter().flat_map(EventBuffers::made).collect()
    }
}

impl BroadPhase {
    /// Records into `encoder` what [`record`](Self::record) records, and the comparison of its pairs with those of the last
    /// step: which began, which ended, which persist. In the first step every pair is created. Nothing is submitted or read
    /// back, and nothing blocks once the kernels that it needs are compiled. What is found is as if nobody slept, so that
    /// falling asleep loses no pair.
    ///
    /// The last step is the last one that was submitted and counted. A step whose pairs did not fit the list
    /// ([`reserve`](Self::reserve)), or were too many to test, does not: its events are empty, their headers say so, and the
    /// next step is compared with the one before. Recorded steps and those of [`find_events`](Self::find_events) know
    /// nothing of each other.
    ///
    /// Events take 37 bytes of GPU memory for each pair that the list has room for, beside the
    /// [`MemoryPlan`](crate::MemoryPlan) but within the memory budget; [`forget_steps`](Self::forget_steps) gives them back. On
    /// the GPU a pair takes some 50 bytes of traffic beyond that of the search. Where a call needs larger
    /// buffers than the one before (more boxes, or after [`reserve`](Self::reserve)), what was recorded must have been
    /// submitted.
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
    /// [canonical](crate::PairOrder::Canonical); [`Error::BadBuffer`] for numbers of `identity` too. A step that was refused
    /// does not count as the last one.
    pub fn record_events<'a>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        boxes: wgpu::BufferSlice<'_>,
        box_count: impl Into<BoxCount<'a>>,
        identity: GpuIdentity<'_>,
    ) -> Result<GpuEvents, Error> {
        let given = box_count.into();
        let box_count = given.at_most();
        if self.options.order != PairOrder::Canonical {
            let (option, expected) = ("order", "PairOrder::Canonical where events are recorded");
            return Err(Error::BadOption { option, value: format!("{:?}", self.options.order), expected });
        }
        self.core.flight.check_idle()?;
        let (buffer, numbers) = match identity {
            GpuIdentity::Index => ("", None),
            GpuIdentity::Generations(numbers) => ("generations", Some(numbers)),
            GpuIdentity::Was(numbers) => ("was", Some(numbers)),
        };
        if let Some(numbers) = numbers {
            let content = || format!("the numbers of {box_count} boxes");
            check(&self.core.gpu, numbers, bytes::<u32>(box_count), buffer, content)?;
        }
        self.check_given(boxes, given)?;
        let has_generations = matches!(identity, GpuIdentity::Generations(_));
        self.make_room_for_events(box_count, has_generations)?;
        let lent = self.arrived.lend_timer(&self.core.gpu)?;
        let timer = lent.as_ref().map(|lent| &lent.arrival);
        let recorded = self.as_if_awake(|broad_phase| broad_phase.record_search(encoder, boxes, given, timer));
        let compared = recorded.and_then(|()| self.record_comparison(encoder, box_count, identity, timer));
        if let Err(error) = compared {
            self.core.workspace.forget_results();
            return Err(error);
        }
        if let Some(results) = &mut self.core.workspace.made_mut()?.results {
            // They would be written by kernels that know who sleeps.
            results.has_windows = false;
        }
        self.arrived.record_times(encoder, lent);
        self.gpu_events()
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
        let (Some(kernels), Some(buffers)) = (&recorded.kernels, &recorded.buffers) else {
            return Err(Error::NothingRecorded);
        };
        let bind = |numbers| bind(numbers, bytes::<u32>(box_count));
        // Without boxes there is nothing to bind, and nothing is read.
        let naming = match identity {
            GpuIdentity::Index => Naming::Index,
            GpuIdentity::Generations(numbers) => bind(numbers).map_or(Naming::Index, Naming::Generations),
            GpuIdentity::Was(numbers) => bind(numbers).map_or(Naming::Index, Naming::Was),
        };
        let made = core.workspace.made()?;
        let call = &made.results.as_ref().ok_or(Error::NothingRecorded)?.call;
        let params = &core.params_of_results(call)?;
        let scopes = core.gpu.open_scopes();
        buffers.record_clear(encoder);
        let mut pass = Pass::begin_timed(&core.gpu, encoder, timer);
        let vertices_per_pair = core.options.vertices_per_pair;
        kernels.record(&mut pass, params, vertices_per_pair, &made.pairs.list, &filters.lists, naming, buffers)?;
        pass.finish()?;
        drop(pass);
        scopes.close("events")
    }

    /// Makes room for a search and its events, and compiles the kernels of both.
    fn make_room_for_events(&mut self, box_count: u32, has_generations: bool) -> Result<(), Error> {
        self.as_if_awake(|broad_phase| broad_phase.make_room(box_count as usize, 0))?;
        let Self { core, filters, recorded, .. } = self;
        let switches = || Switches::of(filters.filters());
        recorded.kernels.get_or_insert_with(|| EventKernels::new(&core.gpu, &switches())).compile()?;
        let now = recorded.buffers.as_ref().map(|buffers| buffers.room).unwrap_or_default();
        let pairs = u64::from(core.workspace.made()?.plan.pair_capacity);
        let generations = now.generations.max(if has_generations { box_count.into() } else { 0 });
        let room = match self.options.memory_budget {
            None => EventRoom { pairs: pairs.max(now.pairs), generations },
            Some(budget) => self.affordable_events(box_count, budget, EventRoom { pairs, generations })?,
        };
        if self.recorded.has_room(&room) {
            return Ok(());
        }
        let larger = EventBuffers::new(&self.core.gpu, room)?;
        if let Some(smaller) = &self.recorded.buffers {
            // At once: the encoder may never be submitted, and the last step would be forgotten.
            let gpu = &self.core.gpu;
            let scopes = gpu.open_scopes();
            let mut encoder = self.core.encoder();
            smaller.record_move(&mut encoder, &larger);
            gpu.queue().submit([encoder.finish()]);
            scopes.close("events")?;
        }
        self.recorded.buffers = Some(larger);
        if self.apply_budget() {
            self.as_if_awake(|broad_phase| broad_phase.make_room(box_count as usize, 0))?;
        }
        Ok(())
    }

    /// Returns the room for events that leaves the search enough of the budget: what there is, or else as much as is
    /// `wanted`, or half of it, or a quarter.
    fn affordable_events(&self, box_count: u32, budget: u64, wanted: EventRoom) -> Result<EventRoom, Error> {
        let held = self.recorded.bytes();
        if let Some(buffers) = &self.recorded.buffers
            && buffers.room.generations >= wanted.generations
        {
            return Ok(buffers.room);
        }
        let mut room = wanted;
        if let Some(buffers) = &self.recorded.buffers {
            room.pairs = buffers.room.pairs;
        }
        loop {
            let bytes = EventBuffers::bytes(&room).saturating_add(held);
            let options = crate::Options { memory_budget: Some(budget.saturating_sub(bytes)), ..self.options };
            match self.core.workspace.plan(box_count as usize, &options, &self.filters) {
                Ok(_) => return Ok(room),
                Err(Error::OverBudget { box_count, required, .. }) if room.pairs <= LEAST_EVENTS || held > 0 => {
                    return Err(Error::OverBudget { box_count, required: required.saturating_add(bytes), budget });
                }
                Err(Error::OverBudget { .. }) => room.pairs = (room.pairs / 2).max(LEAST_EVENTS),
                Err(error) => return Err(error),
            }
        }
    }

    /// Leaves to searches what events do not take of the budget. Returns whether it is another budget now.
    pub(super) fn apply_budget(&mut self) -> bool {
        let bytes = self.recorded.bytes();
        let budget = self.options.memory_budget.map(|budget| budget.saturating_sub(bytes));
        let before = replace(&mut self.core.options.memory_budget, budget);
        if budget != before {
            self.core.workspace.reset();
        }
        budget != before
    }

    /// Lets `search` run with kernels that take no notice of who sleeps.
    pub(super) fn as_if_awake<T>(&mut self, search: impl FnOnce(&mut Self) -> T) -> T {
        let filters = self.filters.filters();
        if filters.sleeping.is_empty() {
            return search(self);
        }
        let awake = self.awake.take();
        let awake = awake.unwrap_or_else(|| Pipeline::new(&self.core.gpu, &Switches::as_if_awake(filters)));
        let own = replace(&mut self.core.pipeline, awake);
        let result = search(self);
        self.awake = Some(replace(&mut self.core.pipeline, own));
        result
    }

    fn gpu_events(&self) -> Result<GpuEvents, Error> {
        let Some(EventBuffers { lists, room, .. }) = &self.recorded.buffers else {
            return Err(Error::NothingRecorded);
        };
        let list = |pairs: &Buffer<Pair>, header: &Buffer<PairHeader>, arguments: &Buffer<PairArguments>| GpuPairs {
            pairs: pairs.raw().clone(),
            header: header.raw().clone(),
            arguments: arguments.raw().clone(),
            capacity: room.pairs as u32,
        };
        Ok(GpuEvents {
            pairs: self.gpu_pairs()?,
            before: lists.before.raw().clone(),
            created: list(&lists.created, &lists.created_header, &lists.created_arguments),
            lost: list(&lists.lost, &lists.lost_header, &lists.lost_arguments),
            persisting: list(&lists.persisting, &lists.persisting_header, &lists.persisting_arguments),
        })
    }
}
