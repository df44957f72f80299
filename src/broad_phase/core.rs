//! Recording and submitting searches. A submission copies its counts and as many pairs as are expected into a staging
//! buffer that it has to itself; [`collect`](super::collect) brings counts and pairs to the host.

use std::sync::Arc;

use super::flight::{Flight, Kept, Mapping, Submission};
use super::record::BoxCount;
use super::step_epoch::{Brought, FEWEST, StepEpoch};
use crate::constants::INVALID_LISTED;
use crate::filters::device::FilterSet;
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::Pass;
use crate::gpu::table::{CONSTANT, SIZES};
use crate::gpu::timing::Timer;
use crate::layout::{Counts, Epoch, Frame, Params};
use crate::memory::{Call, EPOCH_OFFSET, FRAME_OFFSET, Results, SUMMARY_BYTES, Staging, Workspace};
use crate::pairs::{Pipeline, SearchInput};
use crate::{Aabb, Error, Options, Pair, PairOrder, Step};

/// The most pairs of grown boxes, for each box, that are kept of submitted steps, whose list grows by itself.
const MOST_KEPT: u64 = 32;

/// A step, and what is kept from one to the next.
pub(super) type StepToKeep<'a> = (&'a mut StepEpoch, &'a Step<'a>);

/// All parts of a broad phase but the filters, since each slab has filters of its own.
#[derive(Debug)]
pub(super) struct Core {
    pub gpu: Gpu,
    pub options: Options,
    pub pipeline: Pipeline,
    pub workspace: Workspace,
    pub flight: Flight,
    /// For searches whose number of boxes lies in a buffer.
    pub counted: Option<Counted>,
}

/// The boxes of a search.
struct Input<'a> {
    boxes: wgpu::BindingResource<'a>,
    /// Whether they come with their margins.
    is_prepared: bool,
    block_sizes: Option<&'a Buffer<[u32; 3]>>,
}

/// What a search reads whose number of boxes lies in a buffer. Each recording writes it before it reads it.
#[derive(Clone, Debug)]
pub(super) struct Counted {
    params: Buffer<Params>,
    /// The sizes of dispatches for blocks of boxes.
    pub block_sizes: Buffer<[u32; 3]>,
}

impl Core {
    /// Decides what a call for this many boxes does.
    pub fn decide(&self, box_count: usize, filters: &FilterSet) -> Result<Call, Error> {
        Call::decide(box_count, &self.options, &self.gpu, self.workspace.limits(), filters)
    }

    pub fn encoder(&self) -> wgpu::CommandEncoder {
        self.gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("broadsweep") })
    }

    pub fn params(&self, call: &Call) -> Result<Buffer<Params>, Error> {
        self.pipeline.params(call.params(&self.workspace.made()?.plan))
    }

    /// Returns the parameters of the search whose results lie in the buffers.
    pub fn params_of_results(&self, call: &Call) -> Result<Buffer<Params>, Error> {
        let results = self.workspace.made()?.results.as_ref();
        results.and_then(|results| results.params.clone()).map_or_else(|| self.params(call), Ok)
    }

    /// Records the search that was decided, and notes whose results will lie in the buffers: the results of the
    /// submission with this number, or of a recording.
    pub fn record_flow(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        call: &Call,
        boxes: wgpu::BindingResource<'_>,
        filters: &FilterSet,
        submission: Option<u64>,
        timer: Option<&Timer>,
    ) -> Result<(), Error> {
        let params = self.params(call)?;
        let input = Input { boxes, is_prepared: false, block_sizes: None };
        self.record_with(encoder, call, &params, input, filters, submission, timer)
    }

    /// Returns what a search reads whose number of boxes lies in a buffer.
    pub fn counted(&mut self) -> Result<Counted, Error> {
        if let Some(counted) = &self.counted {
            return Ok(counted.clone());
        }
        let params = Buffer::new(&self.gpu, "params", 1, CONSTANT)?;
        let block_sizes = Buffer::new(&self.gpu, "block_sizes", 1, SIZES)?;
        Ok(self.counted.insert(Counted { params, block_sizes }).clone())
    }

    /// Records the search that was decided for the number of boxes that `count` begins with, at most that of the call.
    /// `is_prepared` says whether the boxes come with their margins.
    #[allow(clippy::too_many_arguments)] // what it reads, then what it notes
    pub fn record_counted(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        call: &Call,
        count: wgpu::BindingResource<'_>,
        boxes: wgpu::BindingResource<'_>,
        is_prepared: bool,
        filters: &FilterSet,
        timer: Option<&Timer>,
    ) -> Result<(), Error> {
        let given = self.params(call)?;
        let Counted { params, block_sizes } = self.counted()?;
        self.pipeline.record_count(encoder, &given, count, &params, &block_sizes)?;
        let input = Input { boxes, is_prepared, block_sizes: Some(&block_sizes) };
        self.record_with(encoder, call, &params, input, filters, None, timer)?;
        if let Some(results) = &mut self.workspace.made_mut()?.results {
            results.params = Some(params);
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)] // what it reads, then what it notes
    fn record_with(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        call: &Call,
        params: &Buffer<Params>,
        input: Input<'_>,
        filters: &FilterSet,
        submission: Option<u64>,
        timer: Option<&Timer>,
    ) -> Result<(), Error> {
        filters.check_uploaded(call.box_count as usize)?;
        let Call { box_count, tests_all_pairs, .. } = *call;
        let Input { boxes, is_prepared, block_sizes } = input;
        let search = SearchInput { box_count, block_sizes, tests_all_pairs, params, boxes, is_prepared, filters };
        let made = self.workspace.made_mut()?;
        made.results = None;
        let build = self.pipeline.record_flow(encoder, &search, &mut made.grid, &made.pairs, timer)?;
        made.results =
            Some(Results { call: call.clone(), submission, build, has_list: true, has_windows: true, params: None });
        Ok(())
    }

    /// Records the writing of the pairs from number `first` on of the search whose results lie in the buffers.
    pub fn record_emit(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        call: &Call,
        boxes: wgpu::BindingResource<'_>,
        filters: &FilterSet,
        first: u64,
    ) -> Result<(), Error> {
        filters.check_uploaded(call.box_count as usize)?;
        let made = self.workspace.made()?;
        let params = &self.params_of_results(call)?;
        let Call { box_count, tests_all_pairs, .. } = *call;
        let search =
            SearchInput { box_count, block_sizes: None, tests_all_pairs, params, boxes, is_prepared: false, filters };
        let mut pass = Pass::begin(&self.gpu, encoder);
        self.pipeline.record_emit(&mut pass, &search, &made.grid, &made.pairs, first)?;
        pass.finish()
    }

    // ---- submitting ----

    /// Uploads the boxes, which must fit the filters, and starts the search that was decided; of a step, at a cost that follows
    /// what moves, where its `epoch` is worth it.
    pub fn submit(
        &mut self,
        boxes: &[Aabb],
        call: Call,
        filters: &mut FilterSet,
        step: Option<StepToKeep<'_>>,
    ) -> Result<(), Error> {
        let is_step = step.is_some();
        let step = self.step_to_keep(step, &call, filters);
        if filters.check_uploaded(boxes.len()).is_err() {
            // Even if this call fails, it may have replaced the filters that the last results rest on.
            self.workspace.forget_results();
        }
        let in_flight: Vec<&Call> = self.flight.queue.iter().map(|other| &other.call).collect();
        self.workspace.ensure_beside(&in_flight, &call, &self.options, filters)?;
        filters.upload(&self.gpu, boxes.len(), !in_flight.is_empty())?;
        let own = self.workspace.lend_boxes(&self.options, filters)?.ok_or(Error::Busy)?;
        let staging = self.workspace.lend_staging(&self.options, filters)?.ok_or(Error::Busy)?;
        let number = self.flight.next_number();
        let mut step = self.make_room_for_step(step, &call, filters)?;

        let scopes = self.gpu.open_scopes();
        let mut encoder = self.encoder();
        let mut kept = None;
        match &mut step {
            Some((epoch, step)) => {
                let brought = epoch.record_upload(&self.gpu, filters, &mut encoder, step, &own.boxes)?;
                let count = BoxCount::Known(call.box_count);
                let recorded = epoch.record(self, filters, &mut encoder, &call, own.boxes.all(), count, None);
                recorded.inspect_err(|_| self.workspace.forget_results())?;
                kept = Some(self.note_step(brought, number)?);
            }
            None => {
                own.boxes.write(&self.gpu, boxes);
                self.record_flow(&mut encoder, &call, own.boxes.all(), filters, Some(number), None)?;
            }
        }
        let epoch = step.map(|(epoch, _)| epoch);
        let copied =
            self.record_summary(&mut encoder, &call, &staging, epoch.as_ref().and_then(|epoch| epoch.state()))?;
        let bytes = SUMMARY_BYTES + u64::from(copied) * size_of::<Pair>() as u64;
        let mut summary = Mapping::submit(&self.gpu, encoder, staging, bytes);
        if let Err(error) = scopes.close_with("submission", &mut summary.readback) {
            self.workspace.forget_results();
            epoch.into_iter().for_each(StepEpoch::forget);
            return Err(error);
        }
        let filters = Arc::clone(filters.checked());
        let submission = Submission { number, call, boxes: own, summary, filters, own: None, is_step, copied, kept };
        self.flight.queue.push_back(submission);
        Ok(())
    }

    /// Returns the step if it is one whose pairs may be kept, and wishes for a list with room for those of grown boxes, which are up to
    /// 1.9 times as many as those of the last step.
    fn step_to_keep<'a>(
        &mut self,
        step: Option<StepToKeep<'a>>,
        call: &Call,
        filters: &FilterSet,
    ) -> Option<StepToKeep<'a>> {
        // The lists of an epoch are in canonical order. What is kept has no part in a plan that a budget limits.
        let may_keep = self.options.order == PairOrder::Canonical && self.options.memory_budget.is_none();
        let (epoch, step) = step?;
        if !(may_keep && epoch.is_worth_it(call)) {
            epoch.forget_input();
            return None;
        }
        let Some((pairs, box_count)) = self.flight.last_step else { return Some((epoch, step)) };
        let has = self.workspace.made().map_or(0, |made| u64::from(made.plan.pair_capacity));
        let is_alike = box_count / 2 <= call.box_count && filters.filters().include.is_empty();
        if is_alike && has < 2 * pairs && 2 * pairs <= MOST_KEPT * u64::from(box_count) {
            // Somewhat more, since what is kept is lost where the list grows.
            self.workspace.hope_for_pairs(2 * pairs + pairs / 2);
        }
        Some((epoch, step))
    }

    /// Returns the step if there is room for what is kept, and for as many pairs as the last step had.
    fn make_room_for_step<'a>(
        &self,
        step: Option<StepToKeep<'a>>,
        call: &Call,
        filters: &FilterSet,
    ) -> Result<Option<StepToKeep<'a>>, Error> {
        let Some((epoch, step)) = step else { return Ok(None) };
        let capacity = u64::from(self.workspace.made()?.plan.pair_capacity);
        if self.flight.last_step.is_some_and(|(pairs, _)| pairs > capacity) {
            // A list in pieces is one of windows, which an epoch has none of.
            epoch.forget_input();
            return Ok(None);
        }
        let most = MOST_KEPT * u64::from(call.box_count.max(FEWEST));
        if epoch.make_room(self, filters, call, most, None)? {
            return Ok(Some((epoch, step)));
        }
        epoch.forget_input();
        Ok(None)
    }

    /// Notes whose results will lie in the list, of which no windows can be written; and what the host knows of the step.
    fn note_step(&mut self, brought: Brought, number: u64) -> Result<Kept, Error> {
        let made = self.workspace.made_mut()?;
        if let Some(results) = &mut made.results {
            (results.submission, results.has_windows) = (Some(number), false);
        }
        let Brought { invalid: mut first_invalid, rests_on_last } = brought;
        let invalid_count = first_invalid.len() as u32;
        first_invalid.truncate(INVALID_LISTED as usize);
        Ok(Kept { invalid_count, first_invalid, capacity: made.plan.pair_capacity, rests_on_last, is_void: false })
    }

    /// Records the copying of the counts and of as many pairs as are expected, and returns how many those are.
    pub fn record_summary(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        call: &Call,
        staging: &Staging,
        epoch: Option<&Buffer<Epoch>>,
    ) -> Result<u32, Error> {
        let made = self.workspace.made()?;
        let (counts, frame) = (&made.grid.summary.counts, &made.grid.summary.frame);
        let (counts_bytes, frame_bytes) = (size_of::<Counts>() as u64, size_of::<Frame>() as u64);
        encoder.copy_buffer_to_buffer(counts.raw(), 0, staging.raw(), 0, counts_bytes);
        encoder.copy_buffer_to_buffer(frame.raw(), 0, staging.raw(), FRAME_OFFSET, frame_bytes);
        if let Some(epoch) = epoch {
            encoder.copy_buffer_to_buffer(epoch.raw(), 0, staging.raw(), EPOCH_OFFSET, size_of::<Epoch>() as u64);
        }
        let expected = self.flight.expected_pairs(call.box_count);
        let copied = expected.min(u64::from(made.plan.pair_capacity.min(staging.capacity)));
        if copied > 0 {
            let bytes = copied * size_of::<Pair>() as u64;
            encoder.copy_buffer_to_buffer(made.pairs.list.list.pairs.raw(), 0, staging.raw(), SUMMARY_BYTES, bytes);
        }
        Ok(copied as u32)
    }

    /// Makes room for this call and what was wished for, while nothing is in flight.
    pub fn ensure(&mut self, call: &Call, filters: &mut FilterSet) -> Result<(), Error> {
        self.workspace.ensure(call, &self.options, filters, false)
    }
}
