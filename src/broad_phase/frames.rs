//! Pairs to the host: what [`BroadPhase`] submits, and how the results come back.
//!
//! A submission copies its counts and as many pairs as are expected into a staging buffer that the frame has to
//! itself. Where no more pairs were found than that, one round trip brings all of them. The rest of a longer list is
//! collected piece by piece, each written into the list on the GPU (`emit` gives any range of it) and copied from
//! there. If the GPU has gone on to another frame by then, the search is run once more for the frame's boxes, which
//! it has to itself too.

use std::collections::VecDeque;
use std::mem::take;
use std::ops::Range;
use std::task::{Context, Poll, Waker, ready};

use super::{BroadPhase, Contents, sum};
use crate::constants::INVALID_LISTED;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::Pass;
use crate::gpu::readback::Readback;
use crate::memory::{SUMMARY_BYTES, boxes_bytes, staging_bytes};
use crate::merge::merge_runs;
use crate::stages::layout::{Counts, Frame, wide};
use crate::workspace::Staging;
use crate::{Aabb, Error, Overlaps, Pair, PairOrder, Report, SweepAxis};

/// Staging buffers of one frame: while the host reads a piece of a long list, the GPU writes the next.
const PIECES_AT_ONCE: usize = 2;
/// Pairs in a piece of a streamed list, unless the list is longer anyway: 32 MiB. Fewer, and what each piece costs in
/// submissions shows; more take memory and gain nothing.
#[cfg(not(target_arch = "wasm32"))]
pub(super) const STREAMED_PIECE: u64 = 1 << 22;
/// Most pairs that the first submission copies before it is known whether there are as many: 8 MiB.
const FIRST_COPY: u64 = 1 << 20;
/// Pairs that any submission copies, if there is room.
const LEAST_COPY: u64 = 64;

/// What was submitted and has not been taken.
#[derive(Debug, Default)]
pub(super) struct Frames {
    /// In the order of submission.
    queue: VecDeque<InFlight>,
    /// The list of the frame before those, where the first copy did not hold all of it.
    collection: Option<Collection>,
    /// The part of that list that has arrived, for [`BroadPhase::take`].
    taken: Taken,
    /// Pairs and boxes of the last frame whose counts arrived.
    last: Option<(u64, u32)>,
    /// Submissions so far.
    submitted: u64,
}

/// A frame whose counts are on their way.
#[derive(Debug)]
struct InFlight {
    number: u64,
    box_count: u32,
    boxes: Buffer<Aabb>,
    summary: Mapping,
    /// Pairs that were copied behind the summary.
    copied: u32,
}

/// A staging buffer that is being mapped.
#[derive(Debug)]
struct Mapping {
    readback: Readback,
    staging: Staging,
    #[cfg(not(target_arch = "wasm32"))]
    submission: wgpu::SubmissionIndex,
}

/// A list whose first piece has arrived.
#[derive(Debug)]
struct Collection {
    number: u64,
    boxes: Buffer<Aabb>,
    report: Report,
    /// The numbers of those pairs that lie in the list on the GPU.
    window: Range<u64>,
    /// Pairs that were handed over, and those that were asked for as well.
    delivered: u64,
    asked: u64,
    /// In the order of the list.
    pieces: VecDeque<Piece>,
    free: Vec<Staging>,
}

#[derive(Debug)]
struct Piece {
    mapping: Mapping,
    /// In bytes.
    offset: u64,
    /// In pairs.
    length: u64,
}

/// A list that grows by pieces.
#[derive(Debug, Default)]
struct Taken {
    pairs: Vec<Pair>,
    pieces: u32,
}

impl Frames {
    fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.collection.is_none()
    }

    fn clear(&mut self) {
        self.queue.clear();
        self.collection = None;
        self.taken = Taken::default();
    }

    /// Buffers of boxes that are in use.
    pub(super) fn boxes(&self) -> impl Iterator<Item = &Buffer<Aabb>> {
        let collected = self.collection.iter().map(|collection| &collection.boxes);
        self.queue.iter().map(|frame| &frame.boxes).chain(collected)
    }

    /// Staging buffers that are in use.
    pub(super) fn stagings(&self) -> impl Iterator<Item = &Staging> {
        let collected = self.collection.iter().flat_map(|collection| {
            collection.free.iter().chain(collection.pieces.iter().map(|piece| &piece.mapping.staging))
        });
        self.queued_stagings().chain(collected)
    }

    /// Those of frames whose counts have not arrived.
    pub(super) fn queued_stagings(&self) -> impl Iterator<Item = &Staging> {
        self.queue.iter().map(|frame| &frame.summary.staging)
    }

    /// What has to arrive next.
    fn awaited(&self) -> Option<&Mapping> {
        match &self.collection {
            Some(collection) => collection.pieces.front().map(|piece| &piece.mapping),
            None => self.queue.front().map(|frame| &frame.summary),
        }
    }

    /// How many pairs of `box_count` boxes to copy along with the counts. It decides about time only.
    fn expected_pairs(&self, box_count: u32) -> u64 {
        let n = u64::from(box_count);
        let expected = match self.last {
            // As many for each box as in the last frame, and an eighth more.
            Some((pairs, boxes)) => {
                let scaled = u128::from(pairs) * u128::from(n) / u128::from(boxes.max(1));
                u64::try_from(scaled + scaled / 8).unwrap_or(u64::MAX)
            }
            None => (4 * n).min(FIRST_COPY),
        };
        expected.max(LEAST_COPY).min(n * n.saturating_sub(1) / 2)
    }
}

impl Taken {
    fn append(&mut self, report: &Report, piece: &[Pair]) -> Result<(), Error> {
        if self.pieces == 0 {
            let required = report.pair_count.saturating_mul(size_of::<Pair>() as u64);
            usize::try_from(report.pair_count)
                .ok()
                .and_then(|count| self.pairs.try_reserve_exact(count).ok())
                .ok_or(Error::ListTooLong { pair_count: report.pair_count, required })?;
        }
        self.pairs.extend_from_slice(piece);
        self.pieces += 1;
        Ok(())
    }
}

impl Collection {
    /// Forgets what was copied along with the counts, and unless it `is_there`, what was left in the list.
    fn start_again(&mut self, is_there: bool) {
        self.free.extend(self.pieces.drain(..).map(|piece| piece.mapping.staging));
        self.asked = 0;
        if !is_there {
            self.window = 0..0;
        }
    }
}

impl BroadPhase {
    /// Every pair of `boxes` that overlaps, each once. **Blocks** until the result is there.
    ///
    /// Up to 2³² − 2 boxes: where there are more than the device's limits or the memory budget have room for (see
    /// [`memory_plan`](Self::memory_plan)), the scene is cut into slabs along an axis, each is searched in a pass of
    /// its own, and a pair is reported by one of them. Boxes that reach into several slabs are searched in each; those
    /// of one slab are copied on the host. In the order of the sweep the pairs come slab by slab; in canonical order
    /// those of all slabs are merged on the CPU. [`Report::passes`] tells how many there were.
    ///
    /// # Errors
    /// Before any work: [`Error::TooManyBoxes`], [`Error::OverBudget`] where one pass does not hold the boxes and no
    /// axis can be cut so that each slab fits (boxes that all begin at one point, or reach through the whole scene),
    /// [`Error::Busy`]. Later:
    /// [`Error::TooManyCandidates`], [`Error::ListTooLong`], [`Error::OutOfMemory`], [`Error::DeviceLost`],
    /// [`Error::Gpu`]. After any of them the `BroadPhase` can be used again, unless the device is lost.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn find_pairs(&mut self, boxes: &[Aabb]) -> Result<Overlaps, Error> {
        self.check_idle()?;
        self.begin(boxes.len())?;
        if let Some(scene) = self.slabs(boxes)? {
            return self.find_in_slabs(&scene);
        }
        self.submit_pass(boxes)?;
        loop {
            let waited = self.wait();
            if let Some(overlaps) = self.try_take()? {
                return Ok(overlaps);
            }
            self.give_up_on(waited)?;
        }
    }

    /// Hands every pair of `boxes` that overlaps, each once, to `each`, piece by piece: lists of any length in
    /// bounded memory. **Blocks** until the last piece was handed over.
    ///
    /// `each` is called at least once, with an empty piece where there are no pairs, and sees the whole [`Report`]
    /// every time: `pair_count` is known before the first pair is stored. An error that it returns ends the search
    /// and is returned.
    ///
    /// The pieces lie in two staging buffers in turn, mapped, so that the host takes no memory for them beyond what
    /// the driver does; the GPU writes a piece while the one before is read. A piece has at most 4,194,304 pairs
    /// (32 MiB), or as many as the list has room for after calls that needed a longer one, or fewer where one binding
    /// or the [memory budget](crate::Options::memory_budget) ends.
    ///
    /// The order is that of the sweep, over all pieces. In canonical order, each piece is ascending in itself, and so
    /// are all of them together where the list has room for them (its length is up to [`reserve`](Self::reserve));
    /// longer lists are ascending runs, to be merged.
    ///
    /// More boxes than fit take several passes, as in [`find_pairs`](Self::find_pairs), and slabs follow each other;
    /// in canonical order they are runs too. So that `pair_count` is known before the first pair, all passes are made
    /// twice then, which takes twice as long: the first time the pairs are counted and not handed over.
    ///
    /// ```no_run
    /// # use broadsweep::{Aabb, BroadPhase};
    /// # fn count(broad_phase: &mut BroadPhase, boxes: &[Aabb]) -> Result<(), Box<dyn std::error::Error>> {
    /// use std::io::Write;
    ///
    /// let mut file = std::io::BufWriter::new(std::fs::File::create("pairs.txt")?);
    /// broad_phase.stream_pairs(boxes, |report, piece| -> Result<(), Box<dyn std::error::Error>> {
    ///     for pair in piece {
    ///         writeln!(file, "{} {} (of {})", pair.a, pair.b, report.pair_count)?;
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// As [`find_pairs`](Self::find_pairs), except [`Error::ListTooLong`]; and those of `each`.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn stream_pairs<E: From<Error>>(
        &mut self,
        boxes: &[Aabb],
        each: impl FnMut(&Report, &[Pair]) -> Result<(), E>,
    ) -> Result<Report, E> {
        self.check_idle()?;
        self.begin(boxes.len())?;
        match self.slabs(boxes)? {
            Some(scene) => self.stream_slabs(&scene, each),
            None => self.stream_pass(boxes, each),
        }
    }

    /// [`stream_pairs`](Self::stream_pairs) of boxes that fit.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn stream_pass<E: From<Error>>(
        &mut self,
        boxes: &[Aabb],
        mut each: impl FnMut(&Report, &[Pair]) -> Result<(), E>,
    ) -> Result<Report, E> {
        self.submit_pass(boxes)?;
        loop {
            let waited = self.wait();
            let mut context = Context::from_waker(Waker::noop());
            if let Poll::Ready(result) = self.poll_pieces(&mut context, STREAMED_PIECE, &mut each) {
                return result;
            }
            self.give_up_on(waited)?;
        }
    }

    /// Most submissions whose results have not been taken.
    pub const FRAMES_IN_FLIGHT: usize = 2;

    /// Uploads `boxes` and starts to look for their pairs. Does not block. The result is for
    /// [`try_take`](Self::try_take) or [`take`](Self::take), in the order of submission.
    ///
    /// A second frame may be submitted before the first is taken
    /// ([`FRAMES_IN_FLIGHT`](Self::FRAMES_IN_FLIGHT)), so that the GPU has work while the host uses the pairs. It
    /// takes boxes and a staging buffer of its own (24 bytes per box and 8 per pair of the list), allocated the first
    /// time, beside the [`MemoryPlan`](crate::MemoryPlan) but within the budget. A frame with many more pairs than
    /// the one before is searched twice if another was submitted after it; the result is the same.
    ///
    /// # Errors
    /// [`Error::Busy`] where as many frames are in flight already, where the memory budget or the device has no room
    /// for another beside them, or while a list is taken that comes in several pieces: take a result first, and
    /// submit again. [`Error::TooManyBoxes`] or [`Error::OverBudget`] for more boxes than one pass holds, which
    /// [`find_pairs`](Self::find_pairs) takes; [`Error::OutOfMemory`], [`Error::DeviceLost`], [`Error::Gpu`]. Frames in
    /// flight stay so.
    pub fn submit(&mut self, boxes: &[Aabb]) -> Result<(), Error> {
        if self.frames.collection.is_some() || self.frames.queue.len() >= Self::FRAMES_IN_FLIGHT {
            return Err(Error::Busy);
        }
        self.begin(boxes.len())?;
        self.submit_pass(boxes)
    }

    /// [`submit`](Self::submit) with the filters as they are.
    fn submit_pass(&mut self, boxes: &[Aabb]) -> Result<(), Error> {
        self.forget_frame();
        self.ensure_buffers_beside_frames(boxes.len())?;
        self.upload_filters(boxes.len())?;
        let own = self.unused_boxes()?.ok_or(Error::Busy)?;
        let staging = self.unused_staging()?.ok_or(Error::Busy)?;
        self.contents = Contents::Nothing;
        let scopes = self.gpu.open_scopes();
        let box_count = boxes.len() as u32;
        own.write(&self.gpu, boxes);
        let mut encoder = self.encoder();
        self.record_flow(&mut encoder, own.all(), box_count, None)?;
        let buffers = self.allocated()?;
        let expected = self.frames.expected_pairs(box_count);
        let copied = expected.min(u64::from(buffers.plan.pair_capacity.min(staging.capacity)));
        let copied_bytes = copied * size_of::<Pair>() as u64;
        let (counts_bytes, frame_bytes) = (size_of::<Counts>() as u64, size_of::<Frame>() as u64);
        encoder.copy_buffer_to_buffer(buffers.counts.raw(), 0, &staging.buffer, 0, counts_bytes);
        encoder.copy_buffer_to_buffer(buffers.frame.raw(), 0, &staging.buffer, counts_bytes, frame_bytes);
        if copied > 0 {
            encoder.copy_buffer_to_buffer(buffers.list.pairs.raw(), 0, &staging.buffer, SUMMARY_BYTES, copied_bytes);
        }
        let mut summary = self.submit_and_map(encoder, staging, SUMMARY_BYTES + copied_bytes);
        scopes.close_with("submission", &mut summary.readback)?;
        self.frames.submitted += 1;
        let number = self.frames.submitted;
        self.contents = Contents::Frame(number);
        self.frames.queue.push_back(InFlight { number, box_count, boxes: own, summary, copied: copied as u32 });
        Ok(())
    }

    /// The result of the oldest [`submit`](Self::submit) that was not taken if it is there, `None` if not yet. Does
    /// not block.
    ///
    /// A long result needs several calls: what has arrived is taken in, and the next piece is asked for. In canonical
    /// order the pieces of a list longer than one binding (16.7 million pairs with WebGPU's default) are merged
    /// here, on the CPU, which takes half as much memory again, or more time where that cannot be had.
    ///
    /// # Errors
    /// [`Error::NothingSubmitted`]; as [`find_pairs`](Self::find_pairs) later than any work. An error takes the place
    /// of one result, and the next is still to be taken; but with the device all are lost.
    pub fn try_take(&mut self) -> Result<Option<Overlaps>, Error> {
        match self.poll_take(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => result.map(Some),
            Poll::Pending => Ok(None),
        }
    }

    /// Waits for the result of the oldest [`submit`](Self::submit) that was not taken, without blocking the thread.
    ///
    /// Outside browsers a device makes progress only when it is polled: this does so each time it is polled
    /// itself, and asks to be polled again, so that it needs no help but keeps an executor busy. Dropping the
    /// future loses nothing; the result can still be taken.
    ///
    /// # Errors
    /// As [`try_take`](Self::try_take).
    pub async fn take(&mut self) -> Result<Overlaps, Error> {
        std::future::poll_fn(|context| {
            let result = self.poll_take(context);
            #[cfg(not(target_arch = "wasm32"))]
            if result.is_pending() {
                context.waker().wake_by_ref();
            }
            result
        })
        .await
    }

    /// That nothing is in flight.
    pub(super) fn check_idle(&self) -> Result<(), Error> {
        if self.frames.is_empty() { Ok(()) } else { Err(Error::Busy) }
    }

    fn poll_take(&mut self, context: &mut Context<'_>) -> Poll<Result<Overlaps, Error>> {
        let mut taken = take(&mut self.frames.taken);
        let polled = self.poll_pieces(context, u64::MAX, &mut |report, piece| taken.append(report, piece));
        let Poll::Ready(result) = polled else {
            self.frames.taken = taken;
            return Poll::Pending;
        };
        let report = result?;
        let Taken { mut pairs, pieces } = taken;
        if self.options.order == PairOrder::Canonical && pieces > 1 {
            merge_runs(&mut pairs);
        }
        Poll::Ready(Ok(Overlaps { pairs, report }))
    }

    /// Hands over what has arrived of the front frame, and asks for the rest; ready when all was handed over. A list
    /// that has to grow grows to `longest` pairs at most.
    fn poll_pieces<E: From<Error>>(
        &mut self,
        context: &mut Context<'_>,
        longest: u64,
        each: &mut impl FnMut(&Report, &[Pair]) -> Result<(), E>,
    ) -> Poll<Result<Report, E>> {
        loop {
            ready!(self.poll_awaited(context))?;
            let Some(collection) = self.frames.collection.take() else {
                let begun = self.begin_collection(longest);
                if begun.is_err() {
                    self.frames.collection = None;
                }
                begun?;
                continue;
            };
            // Whatever fails from here on, or panics, drops the collection.
            if let Some(report) = self.deliver(collection, each)? {
                return Poll::Ready(Ok(report));
            }
        }
    }

    /// Whether the front of what is on its way has arrived.
    fn poll_awaited(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        // An error that is found here is shown by the state of what is being mapped.
        let _ = self.gpu.device().poll(wgpu::PollType::Poll);
        let Some(awaited) = self.frames.awaited() else {
            return Poll::Ready(Err(Error::NothingSubmitted));
        };
        let arrived = awaited.readback.poll(context);
        match &arrived {
            Poll::Pending if self.gpu.is_lost() => {
                self.frames.clear();
                return Poll::Ready(Err(self.gpu.lost("")));
            }
            Poll::Ready(Err(_)) => {
                if self.frames.collection.take().is_none() {
                    self.frames.queue.pop_front();
                }
                // In a browser they may be what is wrong: invalid from want of memory.
                self.release();
            }
            _ => {}
        }
        arrived
    }

    /// The counts of the front frame have arrived, and perhaps all of its pairs; if not, the others are asked for.
    fn begin_collection(&mut self, longest: u64) -> Result<(), Error> {
        let Some(InFlight { number, box_count, boxes, summary, copied }) = self.frames.queue.pop_front() else {
            return Err(Error::NothingSubmitted);
        };
        let counts: Counts = summary.readback.value(0)?;
        let frame: Frame = summary.readback.value(size_of::<Counts>() as u64)?;
        let report = report(box_count, &counts, (!self.tests_all_pairs(box_count)).then_some(&frame));
        if counts.refused != 0 {
            return Err(Error::TooManyCandidates {
                candidate_count: report.candidate_count,
                limit: self.options.effective_candidate_limit(),
            });
        }
        let count = report.pair_count;
        self.wishes.tiles = self.wishes.tiles.max(u64::from(counts.sweep_tiles));
        self.wishes.giant_tiles = self.wishes.giant_tiles.max(u64::from(counts.giant_tiles));
        self.frames.last = Some((count, box_count));

        let copied = u64::from(copied.min(counts.written));
        let mut collection = Collection {
            number,
            boxes,
            report,
            window: 0..u64::from(counts.written),
            asked: copied,
            delivered: 0,
            pieces: [Piece { mapping: summary, offset: SUMMARY_BYTES, length: copied }].into(),
            free: Vec::new(),
        };
        let is_there = self.contents == Contents::Frame(number);
        let is_whole = collection.window.end == count;
        let is_done = copied == count;
        let is_usable = is_done || is_there && is_whole;
        if !is_usable {
            // The list will be laid out in other pieces, and in canonical order those hold other pairs.
            collection.start_again(is_there);
        }
        self.frames.collection = Some(collection);
        if !is_done {
            if !is_there {
                self.ensure_buffers(box_count as usize)?;
            }
            if !is_whole {
                self.lengthen_list_for(count, longest)?;
            }
            self.take_stagings(count)?;
        }
        let gpu_bytes = self.held_bytes();
        if let Some(collection) = &mut self.frames.collection {
            collection.report.gpu_bytes = gpu_bytes;
        }
        self.ask_for_pieces()
    }

    /// Makes the list hold `count` pairs, but not more than `longest`, if that can be had.
    fn lengthen_list_for(&mut self, count: u64, longest: u64) -> Result<(), Error> {
        // Somewhat more than this call needs, for the next.
        let wish = count.saturating_add(count / 8).min(longest);
        let Some(plan) = self.longer_list(wish)? else {
            return Ok(());
        };
        if let Some(collection) = &mut self.frames.collection {
            if self.contents != Contents::Frame(collection.number) {
                // The list of a later frame, which goes now.
                self.contents = Contents::Nothing;
            }
            collection.window = 0..0;
            collection.free.clear();
        }
        match self.replace_list(plan) {
            Ok(()) => self.wishes.pairs = self.wishes.pairs.max(wish),
            Err(Error::OutOfMemory { .. }) if self.buffers.is_some() => {} // more pieces, then
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Gives the collection two staging buffers, if there is room and it is in more than one piece.
    fn take_stagings(&mut self, count: u64) -> Result<(), Error> {
        let capacity = u64::from(self.allocated()?.plan.pair_capacity);
        let wanted = if count > capacity { PIECES_AT_ONCE } else { 1 };
        while let Some(collection) = &self.frames.collection
            && collection.free.len() + collection.pieces.len() < wanted
        {
            let Some(staging) = self.unused_staging()? else {
                break;
            };
            if let Some(collection) = &mut self.frames.collection {
                collection.free.push(staging);
            }
        }
        Ok(())
    }

    /// Asks for as many further pieces as there are staging buffers free.
    fn ask_for_pieces(&mut self) -> Result<(), Error> {
        let Some(mut collection) = self.frames.collection.take() else {
            return Ok(());
        };
        while collection.asked < collection.report.pair_count
            && let Some(staging) = collection.free.pop()
        {
            self.ask_for_piece(&mut collection, staging)?;
        }
        self.frames.collection = Some(collection);
        Ok(())
    }

    /// Asks for the pairs after those that were asked for.
    fn ask_for_piece(&mut self, collection: &mut Collection, staging: Staging) -> Result<(), Error> {
        let Report { box_count, pair_count, .. } = collection.report;
        let first = collection.asked;
        let scopes = self.gpu.open_scopes();
        let mut encoder = self.encoder();
        let capacity = u64::from(self.allocated()?.plan.pair_capacity);
        if self.contents != Contents::Frame(collection.number) {
            // Another frame was searched since.
            self.contents = Contents::Nothing;
            self.record_flow(&mut encoder, collection.boxes.all(), box_count, None)?;
            collection.window = 0..pair_count.min(capacity);
        }
        if !collection.window.contains(&first) {
            let params = &self.params(box_count)?;
            let mut pass = Pass::begin(&self.gpu, &mut encoder);
            self.record_emit(&mut pass, params, collection.boxes.all(), box_count, first)?;
            pass.finish()?;
            drop(pass);
            collection.window = first..pair_count.min(first + capacity);
        }
        let length = (collection.window.end - first).min(u64::from(staging.capacity));
        let bytes = length * size_of::<Pair>() as u64;
        let from = (first - collection.window.start) * size_of::<Pair>() as u64;
        encoder.copy_buffer_to_buffer(self.allocated()?.list.pairs.raw(), from, &staging.buffer, 0, bytes);
        let mut mapping = self.submit_and_map(encoder, staging, bytes);
        scopes.close_with("read-back", &mut mapping.readback)?;
        self.contents = Contents::Frame(collection.number);
        collection.pieces.push_back(Piece { mapping, offset: 0, length });
        collection.asked += length;
        Ok(())
    }

    /// Hands over the piece that has arrived, and asks for another; the report after the last.
    fn deliver<E: From<Error>>(
        &mut self,
        mut collection: Collection,
        each: &mut impl FnMut(&Report, &[Pair]) -> Result<(), E>,
    ) -> Result<Option<Report>, E> {
        let Some(Piece { mapping, offset, length }) = collection.pieces.pop_front() else {
            return Err(Error::NothingSubmitted.into());
        };
        mapping.readback.read(offset, length as usize, |pairs| each(&collection.report, pairs))??;
        let Mapping { readback, staging, .. } = mapping;
        drop(readback); // the staging buffer is free for another piece
        collection.free.push(staging);
        collection.delivered += length;
        if collection.delivered == collection.report.pair_count {
            return Ok(Some(collection.report));
        }
        self.frames.collection = Some(collection);
        self.ask_for_pieces()?;
        Ok(None)
    }

    fn submit_and_map(&self, encoder: wgpu::CommandEncoder, staging: Staging, bytes: u64) -> Mapping {
        let _submission = self.gpu.queue().submit([encoder.finish()]);
        Mapping {
            readback: Readback::begin(&self.gpu, &staging.buffer, bytes),
            staging,
            #[cfg(not(target_arch = "wasm32"))]
            submission: _submission,
        }
    }

    /// Blocks until what is awaited next has arrived.
    #[cfg(not(target_arch = "wasm32"))]
    fn wait(&mut self) -> Result<(), Error> {
        let Some(awaited) = self.frames.awaited() else {
            return Err(Error::NothingSubmitted);
        };
        let submission_index = Some(awaited.submission.clone());
        let waited = self.gpu.device().poll(wgpu::PollType::Wait { submission_index, timeout: None });
        // After a wait, whatever was to be mapped is mapped; a device that fails to do so is gone.
        waited.map(|_| ()).map_err(|error| self.gpu.lost(&error.to_string()))
    }

    /// What a frame left is no longer to be relied on: the buffers may change.
    fn forget_frame(&mut self) {
        if matches!(self.contents, Contents::Frame(_)) {
            self.contents = Contents::Nothing;
        }
    }

    /// Makes room for `box_count` boxes while frames are in flight, which may have to be searched again.
    fn ensure_buffers_beside_frames(&mut self, box_count: usize) -> Result<(), Error> {
        let Some(plan) = self.missing_room(box_count)? else {
            return self.lengthen_list(self.wishes.pairs);
        };
        let mut others = 0;
        for frame in &self.frames.queue {
            let own = self.plan(frame.box_count as usize)?;
            if !plan.covers(&own, &self.options) {
                return Err(Error::Busy);
            }
            others += boxes_bytes(frame.boxes.len() as u32) + staging_bytes(frame.summary.staging.capacity);
        }
        // Alone it has room.
        let filters = if self.frames.is_empty() {
            sum(&self.filter_bytes(box_count))
        } else {
            self.coming_filter_bytes(box_count)
        };
        if !self.is_affordable(plan.total().saturating_add(others + filters)) {
            return Err(Error::Busy);
        }
        self.allocate(plan, box_count)
    }

    /// A buffer for boxes that no frame holds, made if there is room for it.
    fn unused_boxes(&mut self) -> Result<Option<Buffer<Aabb>>, Error> {
        let buffers = self.allocated()?;
        let is_used = |boxes: &&Buffer<Aabb>| self.frames.boxes().any(|used| used == *boxes);
        if let Some(unused) = buffers.boxes.iter().find(|boxes| !is_used(boxes)) {
            return Ok(Some(unused.clone()));
        }
        let box_count = buffers.plan.box_count;
        if buffers.boxes.len() >= Self::FRAMES_IN_FLIGHT || !self.has_room(boxes_bytes(box_count)) {
            return Ok(None);
        }
        let made = optional(Buffer::storage(&self.gpu, "boxes", u64::from(box_count)))?;
        if let (Some(boxes), Some(buffers)) = (&made, &mut self.buffers) {
            buffers.boxes.push(boxes.clone());
        }
        Ok(made)
    }

    /// Nothing will arrive any more if waiting failed.
    #[cfg(not(target_arch = "wasm32"))]
    fn give_up_on(&mut self, waited: Result<(), Error>) -> Result<(), Error> {
        if waited.is_err() {
            self.frames.clear();
        }
        waited
    }

    /// A staging buffer that no frame holds, made if there is room for it.
    fn unused_staging(&mut self) -> Result<Option<Staging>, Error> {
        let buffers = self.allocated()?;
        let is_used = |staging: &&Staging| self.frames.stagings().any(|used| used == *staging);
        if let Some(unused) = buffers.stagings.iter().find(|staging| !is_used(staging)) {
            return Ok(Some(unused.clone()));
        }
        let capacity = buffers.plan.pair_capacity;
        if buffers.stagings.len() >= PIECES_AT_ONCE || !self.has_room(staging_bytes(capacity)) {
            return Ok(None);
        }
        let made = optional(Staging::new(&self.gpu, capacity))?;
        if let (Some(staging), Some(buffers)) = (&made, &mut self.buffers) {
            buffers.stagings.push(staging.clone());
        }
        Ok(made)
    }
}

/// `None` where there was no memory for it.
fn optional<T>(made: Result<T, Error>) -> Result<Option<T>, Error> {
    match made {
        Ok(made) => Ok(Some(made)),
        Err(Error::OutOfMemory { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// What the kernels counted and chose, for the caller; without a frame, where all pairs were tested.
fn report(box_count: u32, counts: &Counts, frame: Option<&Frame>) -> Report {
    let listed = counts.invalid_count.min(INVALID_LISTED) as usize;
    Report {
        box_count,
        invalid_count: counts.invalid_count,
        first_invalid: counts.first_invalid[..listed].iter().map(|listed| listed[0]).collect(),
        giant_count: counts.giant_count,
        entry_count: counts.entry_count,
        candidate_count: wide(counts.candidate_low, counts.candidate_high),
        pair_count: wide(counts.pair_low, counts.pair_high),
        axis: frame.map_or(SweepAxis::Auto, |frame| SweepAxis::from_code(frame.axis)),
        direction: frame.map_or([0.0; 3], |frame| frame.sweep),
        cell_size: frame.map_or(f32::INFINITY, |frame| frame.cell_size_at(counts.level)),
        passes: 1,
        gpu_bytes: 0,
    }
}
