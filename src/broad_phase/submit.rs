//! Submitting searches. A submission copies its counts and as many pairs as are expected into a staging buffer that it has to
//! itself; [`collect`](super::collect) brings counts and pairs to the host.

use std::sync::Arc;

use super::core::Core;
use super::flight::{Kept, Mapping, Submission};
use super::record::GpuCount;
use super::step_epoch::{Brought, FEWEST, StepEpoch, lets_pairs_be_kept};
use crate::constants::INVALID_LISTED;
use crate::filters::device::FilterSet;
use crate::gpu::buffers::Buffer;
use crate::gpu::scopes::Scopes;
use crate::layout::{Counts, Epoch, Frame};
use crate::memory::{Call, EPOCH_OFFSET, FRAME_OFFSET, Lease, SUMMARY_BYTES, Staging};
use crate::{Aabb, Error, Pair, PairOrder, Step};

/// The most pairs of grown boxes, for each box, that are kept of submitted steps, whose list grows by itself.
const MOST_KEPT: u64 = 32;

/// A step, and what is kept from one to the next.
pub(super) type StepToKeep<'a> = (&'a mut StepEpoch, &'a Step<'a>);

impl Core {
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
                let count = GpuCount::Known(call.box_count);
                let moved = brought.moved.as_ref().map(|(boxes, count)| (boxes, *count));
                let recorded = epoch.record(self, filters, &mut encoder, &call, own.boxes.all(), count, moved, None);
                recorded.inspect_err(|_| {
                    self.workspace.forget_results();
                    epoch.forget();
                })?;
                kept = Some(self.note_step(brought, number)?);
            }
            None => {
                own.boxes.write(&self.gpu, boxes);
                self.record_flow(&mut encoder, &call, own.boxes.all(), filters, Some(number), None)?;
            }
        }
        let epoch = step.map(|(epoch, _)| epoch);
        let state = epoch.as_ref().and_then(|epoch| epoch.state());
        let sent = self.send(scopes, encoder, &call, staging, state);
        let (summary, copied) = sent.inspect_err(|_| epoch.into_iter().for_each(StepEpoch::forget))?;
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
        let is_alike = box_count / 2 <= call.box_count && lets_pairs_be_kept(filters.filters());
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
        let Brought { invalid: mut first_invalid, rests_on_last, .. } = brought;
        let invalid_count = first_invalid.len() as u32;
        first_invalid.truncate(INVALID_LISTED as usize);
        Ok(Kept { invalid_count, first_invalid, capacity: made.plan.pair_capacity, rests_on_last, is_void: false })
    }

    /// Submits a search that was recorded, and begins to bring its counts and as many pairs as are expected. Returns how many those
    /// are. After an error no results lie in the buffers.
    pub fn send(
        &mut self,
        scopes: Scopes,
        mut encoder: wgpu::CommandEncoder,
        call: &Call,
        staging: Lease<Staging>,
        epoch: Option<&Buffer<Epoch>>,
    ) -> Result<(Mapping, u32), Error> {
        let copied = self.record_summary(&mut encoder, call, &staging, epoch)?;
        let bytes = SUMMARY_BYTES + u64::from(copied) * size_of::<Pair>() as u64;
        let mut summary = Mapping::submit(&self.gpu, encoder, staging, bytes);
        let closed = scopes.close_with("submission", &mut summary.readback);
        closed.inspect_err(|_| self.workspace.forget_results())?;
        Ok((summary, copied))
    }

    /// Records the copying of the counts and of as many pairs as are expected, and returns how many those are.
    fn record_summary(
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
}
