//! The whole flow: [`BroadPhase`].

use std::num::NonZeroU64;
use std::task::{Context, Poll, Waker};

use crate::constants::*;
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::Pass;
use crate::gpu::readback::Readback;
#[cfg(not(target_arch = "wasm32"))]
use crate::gpu::timing::KernelTime;
use crate::gpu::timing::Timer;
use crate::memory::{MemoryPlan, Wishes};
use crate::stages::bin::Bin;
use crate::stages::emit::Emit;
use crate::stages::frame::FrameStage;
use crate::stages::giants::Giants;
use crate::stages::layout::*;
use crate::stages::order::Order;
use crate::stages::pca::Pca;
use crate::stages::rank::Rank;
use crate::stages::small::Small;
use crate::stages::sort::{Sort, SortVariant};
use crate::stages::sweep::Sweep;
use crate::workspace::{Buffers, PairList};
use crate::{Aabb, Error, Options, Overlaps, Pair, PairOrder, Report, SweepAxis};

/// Finds all overlapping pairs of boxes on a GPU. Keep one across frames: its kernels are compiled once, and its
/// buffers are reused and grow when they have to.
///
/// Three ways to use it, of the same flow:
/// - [`find_pairs`](Self::find_pairs) blocks and returns the pairs;
/// - [`submit`](Self::submit), then [`try_take`](Self::try_take) or [`take`](Self::take), do not block;
/// - [`record`](Self::record) takes boxes from a GPU buffer and leaves the pairs in one, in the caller's encoder.
///
/// Memory and work grow with boxes, entries and candidates; [`MemoryPlan`] predicts the memory.
#[derive(Debug)]
pub struct BroadPhase {
    gpu: Gpu,
    options: Options,
    stages: Stages,
    buffers: Option<Buffers>,
    wishes: Wishes,
    in_flight: Option<InFlight>,
    /// Boxes of the recording whose results lie in the buffers.
    recorded: Option<u32>,
}

/// The kernels of all stages.
#[derive(Debug)]
struct Stages {
    pca: Pca,
    frame: FrameStage,
    bin: Bin,
    sort: Sort,
    rank: Rank,
    sweep: Sweep,
    giants: Giants,
    emit: Emit,
    order: Order,
    small: Small,
}

/// Pairs that were left on the GPU by [`BroadPhase::record`].
#[derive(Clone, Copy, Debug)]
pub struct GpuPairs<'a> {
    /// `[capacity]` pairs `(a, b)`, two `u32` each, of which the first [`PairHeader::written`] are there.
    /// Usable as storage, as vertex (instance) buffer and to copy from.
    pub pairs: &'a wgpu::Buffer,
    /// A [`PairHeader`]. Usable as storage, for indirect dispatches and draws, and to copy from.
    pub header: &'a wgpu::Buffer,
    /// Pairs that fit.
    pub capacity: u32,
}

impl GpuPairs<'_> {
    /// Where the arguments of an indirect dispatch lie in the header.
    pub const DISPATCH_OFFSET: u64 = std::mem::offset_of!(PairHeader, dispatch) as u64;
    /// Where the arguments of an indirect draw lie in the header.
    pub const DRAW_OFFSET: u64 = std::mem::offset_of!(PairHeader, draw) as u64;
}

/// A submission whose result has not been taken.
#[derive(Debug)]
enum InFlight {
    /// The counts are on their way.
    Summary { box_count: u32, summary: Readback },
    /// A piece of the list is on its way.
    Piece { report: Report, pairs: Vec<Pair>, piece: Readback, length: u32 },
}

impl BroadPhase {
    /// Compiles the kernels, unless another `BroadPhase` of this [`Gpu`] has; no memory is taken for boxes yet.
    ///
    /// # Errors
    /// [`Error::BadOption`]; [`Error::Gpu`] where the driver rejects a kernel; [`Error::DeviceLost`].
    pub fn new(gpu: &Gpu, options: Options) -> Result<Self, Error> {
        options.check()?;
        Ok(Self {
            gpu: gpu.clone(),
            options,
            stages: Stages {
                pca: Pca::new(gpu)?,
                frame: FrameStage::new(gpu)?,
                bin: Bin::new(gpu)?,
                sort: Sort::new(gpu)?,
                rank: Rank::new(gpu)?,
                sweep: Sweep::new(gpu)?,
                giants: Giants::new(gpu)?,
                emit: Emit::new(gpu)?,
                order: Order::new(gpu)?,
                small: Small::new(gpu)?,
            },
            buffers: None,
            wishes: Wishes::default(),
            in_flight: None,
            recorded: None,
        })
    }

    /// The options it was made with.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Other options from the next call on. The kernels stay; the memory is given back where it was laid out
    /// for another order or budget.
    ///
    /// # Errors
    /// [`Error::BadOption`], [`Error::Busy`]; the options stay as they were.
    pub fn set_options(&mut self, options: Options) -> Result<(), Error> {
        options.check()?;
        if self.in_flight.is_some() {
            return Err(Error::Busy);
        }
        if (options.order, options.memory_budget) != (self.options.order, self.options.memory_budget) {
            self.release();
            self.wishes = Wishes::default();
        }
        let before = self.recorded.is_some_and(|n| self.tests_all_pairs(n));
        self.options = options;
        // What one flow has left is nothing that the other could list.
        self.recorded = self.recorded.filter(|&n| self.tests_all_pairs(n) == before);
        Ok(())
    }

    /// The device it runs on.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// How it sorts: what [`Gpu::sort_variant`] said when it was made.
    pub fn sort_variant(&self) -> SortVariant {
        self.stages.sort.variant()
    }

    /// The GPU memory that `box_count` boxes would take on this device.
    ///
    /// # Errors
    /// [`Error::TooManyBoxes`], [`Error::OverBudget`]: what a call with so many boxes would return.
    pub fn memory_plan(&self, box_count: usize) -> Result<MemoryPlan, Error> {
        MemoryPlan::with_wishes(box_count, &self.options, &self.gpu.device().limits(), self.wishes)
    }

    // ---- pairs to the host ----

    /// Every pair of `boxes` that overlaps, each once. **Blocks** until the result is there.
    ///
    /// # Errors
    /// Before any work: [`Error::TooManyBoxes`], [`Error::OverBudget`], [`Error::Busy`]. Later:
    /// [`Error::TooManyCandidates`], [`Error::ListTooLong`], [`Error::OutOfMemory`], [`Error::DeviceLost`],
    /// [`Error::Gpu`]. After any of them the `BroadPhase` can be used again, unless the device is lost.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn find_pairs(&mut self, boxes: &[Aabb]) -> Result<Overlaps, Error> {
        self.submit(boxes)?;
        loop {
            let waited = self.gpu.device().poll(wgpu::PollType::wait_indefinitely());
            if let Some(overlaps) = self.try_take()? {
                return Ok(overlaps);
            }
            // After a wait, whatever was to be mapped is mapped; a device that fails to do so is gone.
            if let Err(error) = waited {
                self.in_flight = None;
                return Err(self.gpu.lost(&error.to_string()));
            }
        }
    }

    /// Uploads `boxes` and starts to look for their pairs. Does not block. The result is for
    /// [`try_take`](Self::try_take) or [`take`](Self::take).
    ///
    /// # Errors
    /// As [`find_pairs`](Self::find_pairs) before any work; [`Error::OutOfMemory`], [`Error::DeviceLost`],
    /// [`Error::Gpu`].
    pub fn submit(&mut self, boxes: &[Aabb]) -> Result<(), Error> {
        if self.in_flight.is_some() {
            return Err(Error::Busy);
        }
        self.ensure_buffers(boxes.len())?;
        self.recorded = None;
        let scopes = self.gpu.open_scopes();
        let box_count = boxes.len() as u32;
        let buffers = self.allocated()?;
        buffers.boxes.write(&self.gpu, boxes);
        let mut encoder = self.encoder();
        self.record_flow(&mut encoder, buffers.boxes.all(), box_count, None)?;
        let summary = &buffers.summary;
        let counts_size = size_of::<Counts>() as u64;
        let frame_size = size_of::<Frame>() as u64;
        encoder.copy_buffer_to_buffer(buffers.counts.raw(), 0, summary, 0, counts_size);
        encoder.copy_buffer_to_buffer(buffers.frame.raw(), 0, summary, counts_size, frame_size);
        self.gpu.queue().submit([encoder.finish()]);
        let mut summary = Readback::begin(&self.gpu, summary, counts_size + frame_size);
        scopes.close_with("submission", &mut summary)?;
        self.in_flight = Some(InFlight::Summary { box_count, summary });
        Ok(())
    }

    /// The result of the last [`submit`](Self::submit) if it is there, `None` if not yet. Does not block.
    ///
    /// A long result needs several calls: what has arrived is taken in, and the next piece is asked for. In canonical
    /// order the pieces of a list longer than one binding (16.7 million pairs with WebGPU's default) are sorted
    /// together here, on the CPU.
    ///
    /// # Errors
    /// [`Error::NothingSubmitted`]; as [`find_pairs`](Self::find_pairs) later than any work.
    pub fn try_take(&mut self) -> Result<Option<Overlaps>, Error> {
        match self.poll_take(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => result.map(Some),
            Poll::Pending => Ok(None),
        }
    }

    /// Waits for the result of the last [`submit`](Self::submit) without blocking the thread.
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

    fn poll_take(&mut self, context: &mut Context<'_>) -> Poll<Result<Overlaps, Error>> {
        loop {
            // An error that is found here is shown by the state of what is being mapped.
            let _ = self.gpu.device().poll(wgpu::PollType::Poll);
            let arrived = match &self.in_flight {
                None => return Poll::Ready(Err(Error::NothingSubmitted)),
                Some(InFlight::Summary { summary, .. }) => summary.poll(context),
                Some(InFlight::Piece { piece, .. }) => piece.poll(context),
            };
            let step = match (arrived, self.in_flight.take()) {
                (Poll::Pending, in_flight) if !self.gpu.is_lost() => {
                    self.in_flight = in_flight;
                    return Poll::Pending;
                }
                (Poll::Pending, _) => Err(self.gpu.lost("")),
                (Poll::Ready(Err(error)), _) => {
                    // In a browser they may be what is wrong: invalid from want of memory.
                    self.release();
                    Err(error)
                }
                (Poll::Ready(Ok(())), Some(InFlight::Summary { box_count, summary })) => {
                    self.take_summary(box_count, &summary)
                }
                (Poll::Ready(Ok(())), Some(InFlight::Piece { report, pairs, piece, length })) => {
                    self.take_piece(report, pairs, piece, length)
                }
                (_, None) => Err(Error::NothingSubmitted),
            };
            match step {
                Ok(Step::Next(in_flight)) => self.in_flight = Some(in_flight),
                Ok(Step::Done(overlaps)) => return Poll::Ready(Ok(overlaps)),
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
    }

    /// The counts have arrived: ask for the pairs.
    fn take_summary(&mut self, box_count: u32, summary: &Readback) -> Result<Step, Error> {
        let counts: Counts = summary.value(0)?;
        let frame: Frame = summary.value(size_of::<Counts>() as u64)?;
        let mut report = report(box_count, &counts, (!self.tests_all_pairs(box_count)).then_some(&frame));
        if counts.refused != 0 {
            return Err(Error::TooManyCandidates {
                candidate_count: report.candidate_count,
                limit: self.options.effective_candidate_limit(),
            });
        }
        self.wishes.tiles = self.wishes.tiles.max(u64::from(counts.sweep_tiles));
        self.wishes.giant_tiles = self.wishes.giant_tiles.max(u64::from(counts.giant_tiles));
        let emitted = u64::from(counts.written) == report.pair_count;
        if !emitted {
            // Somewhat more than this call needs, for the next.
            let wish = report.pair_count.saturating_add(report.pair_count / 8);
            match self.lengthen_list(wish) {
                Ok(()) => self.wishes.pairs = self.wishes.pairs.max(wish),
                Err(Error::OutOfMemory { .. }) => {} // more pieces, then
                Err(error) => return Err(error),
            }
        }
        report.gpu_bytes = self.allocated()?.plan.total();

        let required = report.pair_count.saturating_mul(size_of::<Pair>() as u64);
        let mut pairs = Vec::new();
        usize::try_from(report.pair_count)
            .ok()
            .and_then(|count| pairs.try_reserve_exact(count).ok())
            .ok_or(Error::ListTooLong { pair_count: report.pair_count, required })?;
        if report.pair_count == 0 {
            return Ok(Step::Done(Overlaps { pairs, report }));
        }
        self.ask_for_piece(report, pairs, emitted)
    }

    /// A piece of the list has arrived: keep it, and ask for the next.
    fn take_piece(
        &mut self,
        report: Report,
        mut pairs: Vec<Pair>,
        piece: Readback,
        length: u32,
    ) -> Result<Step, Error> {
        piece.append_to(&mut pairs, length as usize)?;
        drop(piece); // the staging buffer is free for the next
        if (pairs.len() as u64) < report.pair_count {
            return self.ask_for_piece(report, pairs, false);
        }
        if self.options.order == PairOrder::Canonical && pairs.len() > length as usize {
            // Each piece is sorted in itself. In place: room for a copy may not be had.
            pairs.sort_unstable();
        }
        Ok(Step::Done(Overlaps { pairs, report }))
    }

    /// Asks for the pairs after those that are there, which lie in the list already if they were `emitted`.
    fn ask_for_piece(&self, report: Report, pairs: Vec<Pair>, emitted: bool) -> Result<Step, Error> {
        let buffers = self.allocated()?;
        let scopes = self.gpu.open_scopes();
        let mut encoder = self.encoder();
        let first = pairs.len() as u64;
        let length = (report.pair_count - first).min(u64::from(buffers.plan.pair_capacity)) as u32;
        if !emitted {
            let params = &self.params(report.box_count)?;
            let mut pass = Pass::begin(&self.gpu, &mut encoder);
            self.record_emit(&mut pass, params, buffers.boxes.all(), report.box_count, first)?;
            pass.finish()?;
            drop(pass);
        }
        let bytes = u64::from(length) * size_of::<Pair>() as u64;
        let staging = &buffers.list.staging;
        encoder.copy_buffer_to_buffer(buffers.list.pairs.raw(), 0, staging, 0, bytes);
        self.gpu.queue().submit([encoder.finish()]);
        let mut piece = Readback::begin(&self.gpu, staging, bytes);
        scopes.close_with("read-back", &mut piece)?;
        Ok(Step::Next(InFlight::Piece { report, pairs, piece, length }))
    }

    // ---- pairs on the GPU ----

    /// Makes room for `box_count` boxes and a list of `pair_capacity` pairs (as far as limits and budget allow)
    /// now rather than in the call that needs it. A list that [`record`](Self::record) left is no longer there.
    ///
    /// # Errors
    /// [`Error::TooManyBoxes`], [`Error::OverBudget`], [`Error::OutOfMemory`], [`Error::Busy`].
    pub fn reserve(&mut self, box_count: usize, pair_capacity: u32) -> Result<(), Error> {
        if self.in_flight.is_some() {
            return Err(Error::Busy);
        }
        self.wishes.pairs = self.wishes.pairs.max(u64::from(pair_capacity));
        self.ensure_buffers(box_count)
    }

    /// Records into `encoder` the search for the pairs of `box_count` boxes of 24 bytes (as [`Aabb`]) at the
    /// start of `boxes`. Nothing is submitted or read back, and nothing blocks.
    ///
    /// The list has room for what [`reserve`](Self::reserve) asked for, or for four pairs per box. Where that is
    /// too little the header says so, with the exact number; [`record_again`](Self::record_again) then gives
    /// the rest, or the whole into a longer list.
    ///
    /// Buffers are shared by all recordings of one `BroadPhase`: submit in the order of recording, and use a
    /// list before the next one is submitted.
    ///
    /// # Errors
    /// [`Error::BadBuffer`], and as [`reserve`](Self::reserve).
    pub fn record(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        boxes: &wgpu::Buffer,
        box_count: u32,
    ) -> Result<GpuPairs<'_>, Error> {
        check_box_buffer(boxes, box_count)?;
        self.reserve(box_count as usize, 0)?;
        self.recorded = None;
        let scopes = self.gpu.open_scopes();
        self.record_flow(encoder, self.bind_boxes(boxes, box_count)?, box_count, None)?;
        scopes.close("recording")?;
        self.recorded = Some(box_count);
        self.gpu_pairs()
    }

    /// Records into `encoder` the writing of another part of the list of the last [`record`](Self::record):
    /// pairs number `first` and following, `pair_capacity` of them if that is more than the list holds now.
    /// `boxes` and `box_count` are those of the recording. In canonical order each part is sorted in itself.
    ///
    /// # Errors
    /// As [`record`](Self::record), and [`Error::NothingRecorded`] where the results of the last recording are no
    /// longer there: after [`submit`](Self::submit), or [`reserve`](Self::reserve) for more boxes.
    pub fn record_again(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        boxes: &wgpu::Buffer,
        box_count: u32,
        first: u64,
        pair_capacity: u32,
    ) -> Result<GpuPairs<'_>, Error> {
        check_box_buffer(boxes, box_count)?;
        if self.in_flight.is_some() {
            return Err(Error::Busy);
        }
        if self.recorded != Some(box_count) {
            return Err(Error::NothingRecorded);
        }
        self.lengthen_list(u64::from(pair_capacity))?;
        let scopes = self.gpu.open_scopes();
        let params = &self.params(box_count)?;
        let mut pass = Pass::begin(&self.gpu, encoder);
        self.record_emit(&mut pass, params, self.bind_boxes(boxes, box_count)?, box_count, first)?;
        pass.finish()?;
        drop(pass);
        scopes.close("recording")?;
        self.gpu_pairs()
    }

    /// The first `box_count` boxes of a buffer of the caller's.
    fn bind_boxes<'a>(&'a self, boxes: &'a wgpu::Buffer, box_count: u32) -> Result<wgpu::BindingResource<'a>, Error> {
        let bytes = u64::from(box_count) * size_of::<Aabb>() as u64;
        match NonZeroU64::new(bytes) {
            // Nothing to bind, and a binding needs something.
            None => Ok(self.allocated()?.boxes.all()),
            size => Ok(wgpu::BindingResource::Buffer(wgpu::BufferBinding { buffer: boxes, offset: 0, size })),
        }
    }

    fn gpu_pairs(&self) -> Result<GpuPairs<'_>, Error> {
        let buffers = self.allocated()?;
        Ok(GpuPairs {
            pairs: buffers.list.pairs.raw(),
            header: buffers.list.header.raw(),
            capacity: buffers.plan.pair_capacity,
        })
    }

    // ---- time ----

    /// Finds the pairs of `boxes`, keeps them on the GPU, and tells what each kernel took there. **Blocks.**
    /// `None` where the device has no timestamps between dispatches ([`timing::FEATURES`](crate::gpu::timing::FEATURES), which
    /// [`Gpu::request`] asks for where the adapter has them).
    ///
    /// The first call includes what a driver compiles late: measure a second one.
    ///
    /// # Errors
    /// As [`find_pairs`](Self::find_pairs) before any work; [`Error::DeviceLost`], [`Error::Gpu`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn time_kernels(&mut self, boxes: &[Aabb]) -> Result<Option<Vec<KernelTime>>, Error> {
        if self.in_flight.is_some() {
            return Err(Error::Busy);
        }
        let Some(timer) = Timer::new(&self.gpu)? else {
            return Ok(None);
        };
        self.ensure_buffers(boxes.len())?;
        self.recorded = None;
        let scopes = self.gpu.open_scopes();
        let buffers = self.allocated()?;
        buffers.boxes.write(&self.gpu, boxes);
        let mut encoder = self.encoder();
        self.record_flow(&mut encoder, buffers.boxes.all(), boxes.len() as u32, Some(&timer))?;
        timer.resolve(&mut encoder);
        self.gpu.queue().submit([encoder.finish()]);
        scopes.close("timed submission")?;
        timer.read().map(Some)
    }

    // ---- the flow ----

    /// All stages in their order, or the one for few boxes, and the first pairs of the list.
    fn record_flow(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        boxes: wgpu::BindingResource,
        n: u32,
        timer: Option<&Timer>,
    ) -> Result<(), Error> {
        let Buffers { bounds, moments, frame, counts, dispatches, bins, giants, entries, path, hits, .. } =
            self.allocated()?;
        let params = &self.params(n)?;
        let s = &self.stages;
        if self.tests_all_pairs(n) {
            let pass = &mut Pass::begin_timed(&self.gpu, encoder, timer);
            s.small.record_test(pass, n, params, boxes.clone(), hits);
            self.record_emit(pass, params, boxes, n, 0)?;
            return pass.finish();
        }
        encoder.clear_buffer(counts.raw(), 0, None);
        encoder.clear_buffer(hits.block_hits.raw(), 0, None);
        let pass = &mut Pass::begin_timed(&self.gpu, encoder, timer);

        s.pca.record(pass, n, params, boxes.clone(), bounds, moments);
        s.frame.record(pass, params, boxes.clone(), bounds, moments, frame);
        s.bin.record_count(pass, n, params, boxes.clone(), frame, bins);
        s.bin.record_scan(pass, params, frame, bins, counts, dispatches);
        s.bin.record_scatter(pass, params, frame, bins, counts, dispatches, s.sort.starts(entries), giants);
        s.sort.record_entries(pass, counts, dispatches, entries);
        let (keys, entries) = (&entries.keys, &entries.values);
        s.rank.record(pass, frame, counts, dispatches, keys, entries, &bins.positions, path);
        s.sweep.record_count(pass, counts, dispatches, path);
        s.sweep.record_scan(pass, params, counts, dispatches, path);
        s.sweep.record_test(pass, params, boxes.clone(), counts, dispatches, entries, path, hits);
        s.emit.record_place(pass, params, counts, dispatches, hits);
        s.giants.record(pass, params, boxes.clone(), counts, dispatches, frame, bins, giants, hits);
        self.record_emit(pass, params, boxes, n, 0)?;
        pass.finish()
    }

    /// The pairs from number `first` on, as many as the list holds.
    fn record_emit(
        &self,
        pass: &mut Pass,
        params: &Buffer<Params>,
        boxes: wgpu::BindingResource,
        n: u32,
        first: u64,
    ) -> Result<(), Error> {
        let Buffers { plan, frame, counts, dispatches, bins, giants, entries, path, hits, list, .. } =
            self.allocated()?;
        let window = Window {
            first_low: first as u32,
            first_high: (first >> 32) as u32,
            capacity: plan.pair_capacity,
            unused: 0,
        };
        let window = &Buffer::uniform(&self.gpu, "window", &[window])?;
        let s = &self.stages;
        if self.tests_all_pairs(n) {
            s.small.record_emit(pass, n, params, window, boxes, hits, counts, &list.pairs, &list.header);
            return Ok(());
        }
        s.emit.record_scan(pass, params, window, counts, dispatches, hits, &list.header);
        s.emit.record_pairs(
            pass,
            params,
            window,
            boxes,
            counts,
            dispatches,
            frame,
            bins,
            &entries.values,
            path,
            giants,
            hits,
            &list.pairs,
        );
        if let Some(lists) = &list.sort_lists {
            s.order.record(pass, &s.sort, n, counts, dispatches, lists, &list.pairs);
        }
        Ok(())
    }

    /// Whether this many boxes are few. What earlier calls needed has no say: the order of the pairs depends on it.
    fn tests_all_pairs(&self, n: u32) -> bool {
        MemoryPlan::new(n as usize, &self.options, &self.gpu.device().limits()).is_ok_and(|plan| plan.all_pairs)
    }

    // ---- memory ----

    fn allocated(&self) -> Result<&Buffers, Error> {
        self.buffers.as_ref().ok_or(Error::NothingSubmitted)
    }

    fn encoder(&self) -> wgpu::CommandEncoder {
        self.gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("broadsweep") })
    }

    fn params(&self, box_count: u32) -> Result<Buffer<Params>, Error> {
        let plan = &self.allocated()?.plan;
        let limit = self.options.effective_candidate_limit();
        // What a plan for these boxes has, not what larger scenes before have left: the same boxes give the same
        // bytes whatever came before.
        let own = MemoryPlan::new(box_count as usize, &self.options, &self.gpu.device().limits())?;
        let (cell_mode, cell_size) = self.options.cell_size.code();
        let params = Params {
            box_count,
            entry_capacity: own.entry_capacity.min(plan.entry_capacity),
            giant_tile_capacity: plan.giant_tile_capacity,
            axis: self.options.axis.code(),
            cell_mode,
            cell_size,
            candidate_limit_low: limit as u32,
            candidate_limit_high: (limit >> 32) as u32,
            vertices_per_pair: self.options.vertices_per_pair,
            tile_capacity: plan.tile_capacity,
            unused_a: 0,
            unused_b: 0,
        };
        Buffer::uniform(&self.gpu, "params", &[params])
    }

    /// Makes room for `box_count` boxes and what was wished for.
    fn ensure_buffers(&mut self, box_count: usize) -> Result<(), Error> {
        let mut plan = self.memory_plan(box_count)?;
        if let Some(buffers) = &self.buffers {
            if buffers.plan.covers(&plan, &self.options) {
                return self.lengthen_list(self.wishes.pairs);
            }
            // Never less than now; and a scene that grows a little every frame must not allocate every frame.
            let now = buffers.plan.box_count as usize;
            let ample = if box_count > now { box_count.max(now.saturating_mul(5) / 4) } else { now };
            plan = self.memory_plan(ample).ok().filter(|ample| ample.covers(&plan, &self.options)).unwrap_or(plan);
        }
        // The old ones go first: both at once might not fit.
        self.release();
        let made = Buffers::new(&self.gpu, plan, self.options.order);
        if matches!(made, Err(Error::OutOfMemory { .. })) && self.wishes != Wishes::default() {
            // What earlier calls needed is a wish, not a need.
            self.wishes = Wishes::default();
            return self.ensure_buffers(box_count);
        }
        self.buffers = Some(made?);
        Ok(())
    }

    /// Gives the memory back, and with it what was recorded.
    fn release(&mut self) {
        self.buffers = None;
        self.recorded = None;
    }

    /// Makes room for `wish` pairs, or as many as there may be; everything else stays as it is.
    fn lengthen_list(&mut self, wish: u64) -> Result<(), Error> {
        let limits = self.gpu.device().limits();
        let Some(buffers) = &mut self.buffers else {
            return Err(Error::NothingSubmitted);
        };
        let plan = buffers.plan.with_longer_list(wish, &self.options, &limits);
        if plan.pair_capacity > buffers.plan.pair_capacity {
            // The old list goes first, or both together might exceed the budget.
            buffers.list = PairList::new(&self.gpu, 1, self.options.order)?;
            match PairList::new(&self.gpu, plan.pair_capacity, self.options.order) {
                Ok(list) => {
                    buffers.list = list;
                    buffers.plan = plan;
                }
                Err(error) => {
                    buffers.list = PairList::new(&self.gpu, buffers.plan.pair_capacity, self.options.order)?;
                    return Err(error);
                }
            }
        }
        Ok(())
    }
}

/// What follows from a result that has arrived.
enum Step {
    Next(InFlight),
    Done(Overlaps),
}

fn check_box_buffer(boxes: &wgpu::Buffer, box_count: u32) -> Result<(), Error> {
    let required = u64::from(box_count) * size_of::<Aabb>() as u64;
    if boxes.size() < required {
        return Err(Error::BadBuffer {
            problem: format!("holds {} bytes, and {box_count} boxes take {required}", boxes.size()),
        });
    }
    if box_count > 0 && !boxes.usage().contains(wgpu::BufferUsages::STORAGE) {
        return Err(Error::BadBuffer { problem: "was made without BufferUsages::STORAGE".to_owned() });
    }
    Ok(())
}

/// What the kernels counted and chose, for the caller; without a frame, where all pairs were tested.
fn report(box_count: u32, counts: &Counts, frame: Option<&Frame>) -> Report {
    let listed = counts.invalid_count.min(INVALID_LISTED) as usize;
    Report {
        box_count,
        invalid_count: counts.invalid_count,
        first_invalid: counts.first_invalid[..listed].to_vec(),
        giant_count: counts.giant_count,
        entry_count: counts.entry_count,
        candidate_count: wide(counts.candidate_low, counts.candidate_high),
        pair_count: wide(counts.pair_low, counts.pair_high),
        axis: frame.map_or(SweepAxis::Auto, |frame| SweepAxis::from_code(frame.axis)),
        direction: frame.map_or([0.0; 3], |frame| frame.sweep),
        cell_size: frame.map_or(f32::INFINITY, |frame| frame.cell_size_at(counts.level)),
        gpu_bytes: 0,
    }
}
