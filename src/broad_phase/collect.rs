//! Reads the pairs of a submission back.
//!
//! If all pairs were copied with the counts, one round trip reads them. The rest of a longer list is read piece by
//! piece. `emit` writes a piece to the list on the GPU. Then a command copies the piece to a staging buffer. If the GPU
//! has run another search since the submission, the search is repeated with the leased boxes of the submission.

use std::sync::Arc;
use std::task::{Context, Poll, ready};

use super::core::Core;
use super::flight::{Collection, Mapping, Piece, Submission};
use crate::base::constants::INVALID_LISTED;
use crate::base::layout::{Counts, Frame, wide};
use crate::filters::device::FilterSet;
use crate::memory::{Call, FRAME_OFFSET, Lease, PIECES_AT_ONCE, SUMMARY_BYTES, Staging};
use crate::{Error, Pair, Report};

/// The next action to read back the pairs that were not copied with the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Next {
    /// All pairs were copied.
    Done,
    /// The pairs are in the list.
    CopyRest,
    /// The list must be written again: piece by piece, or at once if it can grow.
    EmitAgain,
    /// The GPU has run another search since the submission, so the search must run again.
    SearchAgain,
}

/// Returns the next action for a list of `count` pairs: the GPU has written the first `written`, and the host has read
/// the first `copied`. `are_results_there` is `true` if the results are still on the GPU.
fn next(count: u64, written: u64, copied: u64, are_results_there: bool) -> Next {
    if copied == count {
        Next::Done
    } else if !are_results_there {
        Next::SearchAgain
    } else if written == count {
        Next::CopyRest
    } else {
        Next::EmitAgain
    }
}

impl Core {
    /// Passes to `each` the pieces of the front submission that the host has read, and requests further pieces. Returns
    /// `Ready` after the last piece. The list grows to at most `longest` pairs.
    pub fn poll_pieces<E: From<Error>>(
        &mut self,
        filters: &mut FilterSet,
        context: &mut Context<'_>,
        longest: u64,
        each: &mut impl FnMut(&Report, &[Pair]) -> Result<(), E>,
    ) -> Poll<Result<Report, E>> {
        loop {
            ready!(self.poll_awaited(context))?;
            // Take the collection, so that a later error or panic drops it.
            let collection = match self.flight.collection.take() {
                Some(collection) => match deliver(collection, each)? {
                    Delivered::All(report) => return Poll::Ready(Ok(report)),
                    Delivered::Part(collection) => collection,
                },
                None => self.begin_collection(filters, longest)?,
            };
            let collection = self.request_pieces(collection, filters)?;
            self.flight.collection = Some(collection);
        }
    }

    /// Returns `Ready` if the front readback is complete.
    fn poll_awaited(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        // Ignore an error of the poll: the state of the mapping shows it.
        let _ = self.gpu.device().poll(wgpu::PollType::Poll);
        let Some(awaited) = self.flight.awaited() else {
            return Poll::Ready(Err(Error::NothingSubmitted));
        };
        let read_back = awaited.readback.poll(context);
        match &read_back {
            Poll::Pending if self.gpu.is_lost() => {
                self.flight.clear();
                return Poll::Ready(Err(self.gpu.lost("", None)));
            }
            Poll::Ready(Err(_)) => {
                if self.flight.collection.take().is_none() {
                    self.flight.queue.pop_front();
                }
                // In a browser, exhausted memory makes buffers invalid, so they may be the cause of the error.
                self.workspace.release();
            }
            _ => {}
        }
        read_back
    }

    /// Reads the counts of the front submission, and prepares the readback of the pairs that were not copied with them.
    fn begin_collection(&mut self, filters: &mut FilterSet, longest: u64) -> Result<Collection, Error> {
        let submission = self.flight.queue.pop_front().ok_or(Error::NothingSubmitted)?;
        let (report, written) = self.found(&submission)?;
        let Submission { number, call, boxes, summary, filters: filters_then, copied } = submission;
        let count = report.pair_count;
        self.flight.last = Some((count, call.box_count));
        let copied = copied.min(written).into();
        let written = u64::from(written);
        let mut action = next(count, written, copied, self.workspace.holds(number));
        if action == Next::EmitAgain && !filters.are_those(&filters_then) {
            // The results on the GPU depend on filters that were replaced.
            self.workspace.forget_results();
            action = Next::SearchAgain;
        }
        let mut collection = Collection {
            number,
            call,
            boxes,
            filters: filters_then,
            own: None,
            report,
            window: 0..written,
            requested: copied,
            delivered: 0,
            pieces: [Piece { mapping: summary, offset: SUMMARY_BYTES, length: copied }].into(),
            free: Vec::new(),
        };
        match action {
            Next::Done | Next::CopyRest => {}
            Next::EmitAgain => {
                // The length of pieces changes, and in canonical order the pairs of a piece depend on its length.
                collection.start_again();
                self.lengthen_list(&mut collection, filters, longest)?;
            }
            Next::SearchAgain => {
                collection.start_again();
                collection.window = 0..0;
                let mut own = self.own_filters(&mut collection, filters)?;
                let filters = own.as_deref_mut().unwrap_or(&mut *filters);
                // The submission is still in flight, although `Flight` does not list it. So retain its filters.
                self.workspace.ensure(&collection.call, &self.options, filters, true)?;
                filters.upload(&self.gpu, collection.call.box_count as usize, true)?;
                if written != count {
                    self.lengthen_list(&mut collection, filters, longest)?;
                }
                collection.own = own;
            }
        }
        if action != Next::Done {
            self.lease_stagings(&mut collection, filters)?;
        }
        collection.report.gpu_bytes = self.workspace.held_bytes() + filters.held_bytes();
        Ok(collection)
    }

    /// Returns the report from the summary, and the pair count of the list.
    ///
    /// # Errors
    /// [`Error::TooManyCandidates`]; [`Error::DeviceLost`].
    fn found(&mut self, submission: &Submission) -> Result<(Report, u32), Error> {
        let Submission { call, summary, .. } = submission;
        let counts: Counts = summary.readback.value(0)?;
        let frame: Frame = summary.readback.value(FRAME_OFFSET)?;
        let report = report(call, &counts, &frame);
        if counts.refused != 0 {
            let (candidate_count, limit) = (report.candidate_count, call.candidate_limit);
            return Err(Error::TooManyCandidates { candidate_count, limit });
        }
        self.workspace.note_counts(&counts);
        Ok((report, counts.written))
    }

    /// Returns separate filters for the collection if the shared filters have changed since the submission: the filters
    /// of that time, uploaded again.
    fn own_filters(
        &mut self,
        collection: &mut Collection,
        filters: &FilterSet,
    ) -> Result<Option<Box<FilterSet>>, Error> {
        let own = collection.own.take();
        if own.is_some() || filters.are_those(&collection.filters) {
            return Ok(own);
        }
        let mut own = FilterSet::of(&self.gpu, Arc::clone(&collection.filters))?;
        own.upload(&self.gpu, collection.call.box_count as usize, true)?;
        // The results depend on filter buffers that were replaced.
        self.workspace.forget_results();
        Ok(Some(Box::new(own)))
    }

    /// Ensures that the list has capacity for the pairs of the collection, or for `longest`, if memory allows it.
    fn lengthen_list(&mut self, collection: &mut Collection, filters: &FilterSet, longest: u64) -> Result<(), Error> {
        // Request more than this call needs, for the next call.
        let count = collection.report.pair_count;
        let requested = count.saturating_add(count / 8).min(longest);
        match self.workspace.lengthen_list(requested, &self.options, filters) {
            Ok(false) => return Ok(()),
            Ok(true) => self.workspace.request_pairs(requested),
            Err(Error::OutOfMemory { .. }) if self.workspace.shared().is_ok() => {} // use more pieces
            Err(error) => return Err(error),
        }
        collection.window = 0..0;
        if !self.workspace.holds(collection.number) {
            // The replaced list had the results of a later submission.
            self.workspace.forget_results();
        }
        Ok(())
    }

    /// Leases staging buffers for the collection: two if the list has more than one piece and the budget allows it.
    fn lease_stagings(&mut self, collection: &mut Collection, filters: &FilterSet) -> Result<(), Error> {
        let capacity = u64::from(self.workspace.shared()?.plan.pair_capacity);
        let staging_count = if collection.report.pair_count > capacity { PIECES_AT_ONCE } else { 1 };
        while collection.free.len() + collection.pieces.len() < staging_count
            && let Some(staging) = self.workspace.lease_staging(&self.options, filters)?
        {
            collection.free.push(staging);
        }
        Ok(())
    }

    /// Requests further pieces: one per free staging buffer.
    fn request_pieces(&mut self, mut collection: Collection, filters: &FilterSet) -> Result<Collection, Error> {
        while collection.requested < collection.report.pair_count
            && let Some(staging) = collection.free.pop()
        {
            self.request_piece(&mut collection, staging, filters)?;
        }
        Ok(collection)
    }

    /// Requests the next pairs of the list.
    fn request_piece(
        &mut self,
        collection: &mut Collection,
        staging: Lease<Staging>,
        filters: &FilterSet,
    ) -> Result<(), Error> {
        let first = collection.requested;
        let mut encoder = self.encoder();
        let is_there = self.workspace.holds(collection.number) && collection.window.contains(&first);
        let own = if is_there { None } else { self.own_filters(collection, filters)? };
        let scopes = self.gpu.open_scopes();
        if !is_there {
            self.record_again(&mut encoder, collection, own.as_deref().unwrap_or(filters))?;
            collection.own = own;
        }
        let window = &collection.window;
        let length = (window.end - first).min(u64::from(staging.capacity));
        let bytes = length * size_of::<Pair>() as u64;
        let from = (first - window.start) * size_of::<Pair>() as u64;
        let pairs = self.workspace.shared()?.pairs.list.list.pairs.raw();
        encoder.copy_buffer_to_buffer(pairs, from, staging.raw(), 0, bytes);
        let mut mapping = Mapping::begin(&self.gpu, encoder, staging, bytes);
        if let Err(error) = scopes.close_with("read-back", &mut mapping.readback) {
            self.workspace.forget_results();
            return Err(error);
        }
        collection.pieces.push_back(Piece { mapping, offset: 0, length });
        collection.requested += length;
        Ok(())
    }

    /// Records the commands that write the next pairs of the collection into the list.
    fn record_again(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        collection: &mut Collection,
        filters: &FilterSet,
    ) -> Result<(), Error> {
        let Collection { number, call, boxes, report, window, requested, .. } = collection;
        let (first, pair_count) = (*requested, report.pair_count);
        let capacity = u64::from(self.workspace.shared()?.plan.pair_capacity);
        if !self.workspace.holds(*number) {
            // Another search has run since the submission, so repeat it.
            self.record_flow(encoder, call, boxes.boxes.all(), filters, Some(*number), None)?;
            *window = 0..pair_count.min(capacity);
        }
        if !window.contains(&first) {
            self.record_window(encoder, call, boxes.boxes.all(), filters, first, None)?;
            *window = first..pair_count.min(first + capacity);
        }
        Ok(())
    }

    // ---- waiting ----

    /// Blocks until the next readback is complete.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn wait(&mut self) -> Result<(), Error> {
        let awaited = self.flight.awaited().ok_or(Error::NothingSubmitted)?;
        let submission_index = Some(awaited.submission.clone());
        let waited = self.gpu.device().poll(wgpu::PollType::Wait { submission_index, timeout: None });
        // After a wait, all mappings are complete. An error of the wait means a lost device.
        waited.map(|_| ()).map_err(|error| self.gpu.lost(&error.to_string(), Some(crate::Cause::of(error))))
    }

    /// Passes all pieces of the front submission to `each`. Blocks.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn wait_for_pieces<E: From<Error>>(
        &mut self,
        filters: &mut FilterSet,
        longest: u64,
        mut each: impl FnMut(&Report, &[Pair]) -> Result<(), E>,
    ) -> Result<Report, E> {
        loop {
            let waited = self.wait();
            let mut context = Context::from_waker(std::task::Waker::noop());
            if let Poll::Ready(result) = self.poll_pieces(filters, &mut context, longest, &mut each) {
                return result;
            }
            if let Err(error) = waited {
                // Nothing more can be read back.
                self.flight.clear();
                return Err(error.into());
            }
        }
    }
}

/// The result of [`deliver`](Core::deliver).
#[expect(clippy::large_enum_variant)] // moved once, never stored
enum Delivered {
    All(Report),
    Part(Collection),
}

/// Passes the front piece to `each`.
fn deliver<E: From<Error>>(
    mut collection: Collection,
    each: &mut impl FnMut(&Report, &[Pair]) -> Result<(), E>,
) -> Result<Delivered, E> {
    let Piece { mapping, offset, length } = collection.pieces.pop_front().ok_or(Error::NothingSubmitted)?;
    mapping.readback.read(offset, length as usize, |pairs| each(&collection.report, pairs))??;
    let Mapping { readback, staging, .. } = mapping;
    drop(readback); // frees the staging buffer for another piece
    collection.free.push(staging);
    collection.delivered += length;
    if collection.delivered == collection.report.pair_count {
        return Ok(Delivered::All(collection.report));
    }
    Ok(Delivered::Part(collection))
}

/// Creates the report from the counts and the frame.
pub(crate) fn report(call: &Call, counts: &Counts, frame: &Frame) -> Report {
    let listed = counts.invalid_count.min(INVALID_LISTED) as usize;
    let report = if call.tests_all_pairs {
        Report::of_all_pairs(call.box_count)
    } else {
        Report::of_sweep(frame, counts.level, call.box_count)
    };
    Report {
        invalid_count: counts.invalid_count,
        first_invalid: counts.first_invalid[..listed].iter().map(|listed| listed[0]).collect(),
        giant_count: counts.giant_count,
        entry_count: counts.entry_count,
        candidate_count: wide(counts.candidate_low, counts.candidate_high),
        pair_count: wide(counts.pair_low, counts.pair_high),
        all_pairs_up_to: call.all_pairs_up_to,
        ..report
    }
}

#[cfg(test)]
mod tests {
    use super::{Next, next};

    #[test]
    fn the_next_action_follows_from_what_was_read_back_and_what_is_on_the_device() {
        for (count, written, copied, is_there, expected) in [
            (0, 0, 0, true, Next::Done),
            (0, 0, 0, false, Next::Done),
            (9, 9, 9, false, Next::Done),
            (9, 9, 4, true, Next::CopyRest),
            (9, 9, 4, false, Next::SearchAgain),
            (9, 5, 5, true, Next::EmitAgain),
            (9, 5, 4, true, Next::EmitAgain),
            (9, 5, 5, false, Next::SearchAgain),
        ] {
            assert_eq!(next(count, written, copied, is_there), expected, "{count} {written} {copied} {is_there}");
        }
    }
}
