//! Submits searches. A submission copies its counts and its first pairs to a leased staging buffer. The pair count of
//! the last search determines how many pairs are copied. [`collect`](super::collect) reads counts and pairs back.

use std::sync::Arc;

use super::core::Core;
use super::flight::{Mapping, Submission};
use crate::base::layout::{Counts, Frame};
use crate::filters::device::FilterSet;
use crate::gpu::scopes::Scopes;
use crate::memory::{Call, FRAME_OFFSET, Lease, SUMMARY_BYTES, Staging};
use crate::{Aabb, Error, Pair};

impl Core {
    /// Uploads the boxes and starts the search of this call. The boxes must fit the filters.
    pub fn submit_search(&mut self, boxes: &[Aabb], call: Call, filters: &mut FilterSet) -> Result<(), Error> {
        if filters.check_uploaded(boxes.len()).is_err() {
            // The last results depend on filters that even a failing call may replace.
            self.workspace.forget_results();
        }
        let in_flight: Vec<&Call> = self.flight.queue.iter().map(|other| &other.call).collect();
        self.workspace.ensure_beside(&in_flight, &call, &self.options, filters)?;
        filters.upload(&self.gpu, boxes.len(), !in_flight.is_empty())?;
        let own = self.workspace.lease_boxes(&self.options, filters)?.ok_or(Error::Busy)?;
        let staging = self.workspace.lease_staging(&self.options, filters)?.ok_or(Error::Busy)?;
        let number = self.flight.next_number();

        let scopes = self.gpu.open_scopes();
        own.boxes.write(&self.gpu, boxes);
        let mut encoder = self.encoder();
        self.record_flow(&mut encoder, &call, own.boxes.all(), filters, Some(number), None)?;
        let (summary, copied) = self.send(scopes, encoder, &call, staging)?;
        let filters = Arc::clone(filters.checked());
        self.flight.queue.push_back(Submission { number, call, boxes: own, summary, filters, copied });
        Ok(())
    }

    /// Submits a recorded search, and begins to read back its counts and the expected pairs. Returns the count of
    /// expected pairs. After an error, the buffers have no results.
    fn send(
        &mut self,
        scopes: Scopes,
        mut encoder: wgpu::CommandEncoder,
        call: &Call,
        staging: Lease<Staging>,
    ) -> Result<(Mapping, u32), Error> {
        let copied = self.record_summary(&mut encoder, call, &staging)?;
        let bytes = SUMMARY_BYTES + u64::from(copied) * size_of::<Pair>() as u64;
        let mut summary = Mapping::begin(&self.gpu, encoder, staging, bytes);
        let closed = scopes.close_with("submission", &mut summary.readback);
        closed.inspect_err(|_| self.workspace.forget_results())?;
        Ok((summary, copied))
    }

    /// Records the copy of the counts and of the expected pairs. Returns the count of expected pairs.
    fn record_summary(&self, encoder: &mut wgpu::CommandEncoder, call: &Call, staging: &Staging) -> Result<u32, Error> {
        let shared = self.workspace.shared()?;
        let (counts, frame) = (&shared.grid.summary.counts, &shared.grid.summary.frame);
        let (counts_bytes, frame_bytes) = (size_of::<Counts>() as u64, size_of::<Frame>() as u64);
        encoder.copy_buffer_to_buffer(counts.raw(), 0, staging.raw(), 0, counts_bytes);
        encoder.copy_buffer_to_buffer(frame.raw(), 0, staging.raw(), FRAME_OFFSET, frame_bytes);
        let expected = self.flight.expected_pairs(call.box_count);
        let copied = expected.min(u64::from(shared.plan.pair_capacity.min(staging.capacity)));
        if copied > 0 {
            let bytes = copied * size_of::<Pair>() as u64;
            encoder.copy_buffer_to_buffer(shared.pairs.list.list.pairs.raw(), 0, staging.raw(), SUMMARY_BYTES, bytes);
        }
        Ok(copied as u32)
    }
}
