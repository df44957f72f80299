//! Reads results of recordings back without a stall. After its own commands, each recording copies its header, the data
//! of its report and, if requested, the times of its kernels. The copies are mapped after the caller submits the
//! commands.

use std::mem::{offset_of, take};
use std::sync::{Arc, Mutex, PoisonError};

use super::Recorder;
use crate::base::constants::OVERFLOW_PAIRS;
use crate::base::layout::{Counts, Frame, PairHeader, Params, wide};
use crate::broad_phase::collect::report;
use crate::broad_phase::core::Core;
use crate::gpu::Gpu;
use crate::gpu::readback::Readback;
use crate::gpu::timing::Timer;
use crate::memory::{Call, FRAME_OFFSET};
use crate::{Error, KernelTime, Report};

/// The most pending recordings. Further recordings are not read back.
const MOST: usize = 4;

/// A copy of some data of a recording, for the host.
pub(super) trait StagedCopy {
    /// The type of the value that the host reads.
    type Value;
    /// Returns the staging buffer of the copy.
    fn staging(&self) -> &wgpu::Buffer;
    /// Returns the count of copied bytes.
    fn bytes(&self) -> u64;
    /// Converts the copied bytes to the value; `None` if the commands were refused.
    fn value(&self, bytes: &[u8]) -> Option<Self::Value>;
    /// Returns the pair count of a list that was too short, otherwise 0.
    fn missed_pairs(_: &Self::Value) -> u64 {
        0
    }
}

/// The copy of a header.
#[derive(Debug)]
pub(super) struct HeaderCopy(wgpu::Buffer);

impl HeaderCopy {
    const BYTES: u64 = size_of::<PairHeader>() as u64;

    fn new(gpu: &Gpu) -> Result<Self, Error> {
        Readback::staging(gpu, "header of a recording", Self::BYTES).map(Self)
    }
}

impl StagedCopy for HeaderCopy {
    type Value = PairHeader;

    fn staging(&self) -> &wgpu::Buffer {
        &self.0
    }

    fn bytes(&self) -> u64 {
        Self::BYTES
    }

    fn value(&self, bytes: &[u8]) -> Option<PairHeader> {
        let header: PairHeader = bytemuck::pod_read_unaligned(bytes);
        // Refused commands copy nothing.
        (header.capacity > 0).then_some(header)
    }

    fn missed_pairs(header: &PairHeader) -> u64 {
        if header.overflow == OVERFLOW_PAIRS { wide(header.count, header.count_high) } else { 0 }
    }
}

/// The copy of the data for the report on a search.
#[derive(Debug)]
pub(super) struct ReportCopy {
    staging: wgpu::Buffer,
    /// The call, and `true` if the box count was in a buffer. Then the box count of the call is its upper limit.
    call: Option<(Call, bool)>,
}

impl ReportCopy {
    /// The offset of the header of the pairs, after counts and frame.
    const HEADER: u64 = FRAME_OFFSET + size_of::<Frame>() as u64;
    /// The offset of the box count.
    const BOX_COUNT: u64 = Self::HEADER + size_of::<PairHeader>() as u64;
    const BYTES: u64 = Self::BOX_COUNT + size_of::<u32>() as u64;

    fn new(gpu: &Gpu) -> Result<Self, Error> {
        Ok(Self { staging: Readback::staging(gpu, "report of a recording", Self::BYTES)?, call: None })
    }
}

impl StagedCopy for ReportCopy {
    type Value = Report;

    fn staging(&self) -> &wgpu::Buffer {
        &self.staging
    }

    fn bytes(&self) -> u64 {
        Self::BYTES
    }

    fn value(&self, bytes: &[u8]) -> Option<Report> {
        let (counts, rest) = bytes.split_at(size_of::<Counts>());
        let (frame, rest) = rest.split_at(size_of::<Frame>());
        let (header, box_count) = rest.split_at(size_of::<PairHeader>());
        let (counts, frame): (Counts, Frame) =
            (bytemuck::pod_read_unaligned(counts), bytemuck::pod_read_unaligned(frame));
        let (header, box_count): (PairHeader, u32) =
            (bytemuck::pod_read_unaligned(header), bytemuck::pod_read_unaligned(box_count));
        let (call, is_stored) = self.call.as_ref()?;
        let box_count = if *is_stored { box_count } else { call.box_count };
        // Refused commands copy nothing.
        (header.capacity > 0).then(|| Report { box_count, ..report(call, &counts, &frame) })
    }
}

impl StagedCopy for Timer {
    type Value = Vec<KernelTime>;

    fn staging(&self) -> &wgpu::Buffer {
        Self::staging(self)
    }

    fn bytes(&self) -> u64 {
        Self::bytes(self)
    }

    fn value(&self, bytes: &[u8]) -> Option<Vec<KernelTime>> {
        Some(self.times(&bytemuck::pod_collect_to_vec(bytes)))
    }
}

/// The pending copies of one kind, and the latest value.
#[derive(Debug)]
pub(super) struct CopyQueue<C: StagedCopy> {
    slots: Vec<Slot<C>>,
    recordings: u64,
    /// The latest value, and the number of its recording.
    latest: Option<(u64, C::Value)>,
    /// The most pairs of a list that was too short, since the last [`Readbacks::take_missed_pairs`].
    missed_pairs: u64,
}

#[derive(Debug)]
struct Slot<C> {
    /// `None` while it is leased.
    copy: Option<C>,
    state: Arc<Mutex<State>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Free,
    /// The recording with this number has recorded its copy, and has not run yet.
    Recorded(u64),
    /// The recording with this number has run, and the staging buffer is mapped.
    Mapped(u64),
}

/// Frees a slot if the commands of a recording are dropped, or the mapping fails.
struct Ticket {
    state: Arc<Mutex<State>>,
    number: u64,
}

/// A slot leased to a recording.
pub(super) struct SlotLease<C> {
    slot: usize,
    pub copy: C,
}

/// Sets the state to `to` if it is `from`.
fn advance(state: &Mutex<State>, from: State, to: State) {
    let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
    if *state == from {
        *state = to;
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // The slot may belong to a later recording, which has another number.
        advance(&self.state, State::Recorded(self.number), State::Free);
    }
}

impl<C> Slot<C> {
    fn state(&self) -> State {
        *self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<C: StagedCopy> Default for CopyQueue<C> {
    fn default() -> Self {
        Self { slots: Vec::new(), recordings: 0, latest: None, missed_pairs: 0 }
    }
}

impl<C: StagedCopy> CopyQueue<C> {
    /// Leases a slot to the next recording. If no slot is free and there are fewer than `MOST`, `create` creates one.
    /// Returns `None` without a free slot, or if `create` returns `None`.
    ///
    /// # Errors
    /// The errors of `create`.
    pub fn lease(&mut self, create: impl FnOnce() -> Result<Option<C>, Error>) -> Result<Option<SlotLease<C>>, Error> {
        self.recordings += 1;
        self.read_mapped();
        let free = self.slots.iter().position(|slot| slot.state() == State::Free);
        let slot = free.unwrap_or(self.slots.len());
        if slot == MOST {
            return Ok(None);
        }
        let cached = self.slots.get_mut(slot).and_then(|slot| slot.copy.take());
        let copy = cached.map_or_else(create, |cached| Ok(Some(cached)))?;
        if slot == self.slots.len() && copy.is_some() {
            self.slots.push(Slot { copy: None, state: Arc::new(Mutex::new(State::Free)) });
        }
        Ok(copy.map(|copy| SlotLease { slot, copy }))
    }

    /// Ends the lease of a slot whose copy was recorded. Its staging buffer is mapped after the commands have run.
    pub fn record(&mut self, encoder: &wgpu::CommandEncoder, leased: SlotLease<C>) {
        let (slot, number) = (&mut self.slots[leased.slot], self.recordings);
        let ticket = Ticket { state: Arc::clone(&slot.state), number };
        advance(&slot.state, State::Free, State::Recorded(number));
        let copy = slot.copy.insert(leased.copy);
        encoder.map_buffer_on_submit(copy.staging(), wgpu::MapMode::Read, ..copy.bytes(), move |result| {
            if result.is_ok() {
                advance(&ticket.state, State::Recorded(number), State::Mapped(number));
            }
        });
    }

    /// Reads all mapped copies.
    fn read_mapped(&mut self) {
        for slot in &self.slots {
            let (State::Mapped(number), Some(copy)) = (slot.state(), &slot.copy) else { continue };
            let view = copy.staging().get_mapped_range(..copy.bytes()).ok();
            if let Some(value) = view.and_then(|view| copy.value(&view)) {
                self.missed_pairs = self.missed_pairs.max(C::missed_pairs(&value));
                if self.latest.as_ref().is_none_or(|(latest, _)| *latest < number) {
                    self.latest = Some((number, value));
                }
            }
            copy.staging().unmap();
            advance(&slot.state, State::Mapped(number), State::Free);
        }
    }

    /// Reads all mapped copies, and returns the latest value.
    pub fn latest(&mut self) -> Option<&C::Value> {
        self.read_mapped();
        self.latest.as_ref().map(|(_, value)| value)
    }
}

/// The kinds of timed recordings.
#[derive(Clone, Copy, Debug)]
pub(super) enum Timed {
    Search,
    Window,
    Neighbours,
}

/// Returns the value in the mutex, even if another thread panicked.
pub(super) fn unlocked(readbacks: &mut Mutex<Readbacks>) -> &mut Readbacks {
    readbacks.get_mut().unwrap_or_else(PoisonError::into_inner)
}

/// The readbacks of recordings.
#[derive(Debug, Default)]
pub(super) struct Readbacks {
    headers: CopyQueue<HeaderCopy>,
    reports: CopyQueue<ReportCopy>,
    /// The timers, a queue per [kind](Timed) of recording.
    times: [CopyQueue<Timer>; 3],
    /// `true` if times are requested.
    is_timed: bool,
}

impl Readbacks {
    /// Records the copy of a header. The field `overflow` is copied from the header `of_events`, if there is one.
    pub fn record_header(
        &mut self,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
        header: &wgpu::Buffer,
        of_events: Option<&wgpu::Buffer>,
    ) {
        const OVERFLOW: u64 = offset_of!(PairHeader, overflow) as u64;
        // If memory for the copy is exhausted, do not read this recording back.
        if let Ok(Some(leased)) = self.headers.lease(|| HeaderCopy::new(gpu).map(Some)) {
            let staging = leased.copy.staging();
            encoder.copy_buffer_to_buffer(header, 0, staging, 0, HeaderCopy::BYTES);
            if let Some(of_events) = of_events {
                encoder.copy_buffer_to_buffer(of_events, OVERFLOW, staging, OVERFLOW, size_of::<u32>() as u64);
            }
            self.headers.record(encoder, leased);
        }
    }

    /// Records the copy of the data for the report on the last recorded search.
    ///
    /// # Errors
    /// [`Error::NothingRecorded`].
    pub fn record_report(&mut self, core: &Core, encoder: &mut wgpu::CommandEncoder) -> Result<(), Error> {
        let shared = core.workspace.shared()?;
        let results = shared.results.as_ref().ok_or(Error::NothingRecorded)?;
        // If memory for the copy is exhausted, do not read this recording back.
        let Ok(Some(mut leased)) = self.reports.lease(|| ReportCopy::new(&core.gpu).map(Some)) else { return Ok(()) };
        leased.copy.call = Some((results.call.clone(), results.params.is_some()));
        let staging = leased.copy.staging();
        let (counts, frame) = (&shared.grid.summary.counts, &shared.grid.summary.frame);
        let mut copy = |from: &wgpu::Buffer, to, bytes: usize| {
            encoder.copy_buffer_to_buffer(from, 0, staging, to, bytes as u64);
        };
        copy(counts.raw(), 0, size_of::<Counts>());
        copy(frame.raw(), FRAME_OFFSET, size_of::<Frame>());
        copy(shared.pairs.list.list.header.raw(), ReportCopy::HEADER, size_of::<PairHeader>());
        if let Some(params) = &results.params {
            const { assert!(offset_of!(Params, box_count) == 0) };
            copy(params.raw(), ReportCopy::BOX_COUNT, size_of::<u32>());
        }
        self.reports.record(encoder, leased);
        Ok(())
    }

    /// Leases a timer to a recording, if times are requested and the device supports them.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn lease_timer(&mut self, gpu: &Gpu, timed: Timed) -> Result<Option<SlotLease<Timer>>, Error> {
        if !self.is_timed {
            return Ok(None);
        }
        let leased = self.times[timed as usize].lease(|| Timer::new(gpu))?;
        if let Some(leased) = &leased {
            leased.copy.restart();
        }
        Ok(leased)
    }

    /// Records the copy of the measured times.
    pub fn record_times(&mut self, encoder: &mut wgpu::CommandEncoder, timed: Timed, leased: Option<SlotLease<Timer>>) {
        if let Some(leased) = leased {
            leased.copy.resolve(encoder);
            self.times[timed as usize].record(encoder, leased);
        }
    }

    /// Returns the largest pair count of lists that were too short, among recordings that have run since the last call.
    pub fn take_missed_pairs(&mut self) -> u64 {
        self.headers.read_mapped();
        take(&mut self.headers.missed_pairs)
    }

    fn latest_times(&mut self, timed: Timed) -> Option<Vec<KernelTime>> {
        self.times[timed as usize].latest().cloned()
    }
}

impl Recorder {
    /// Returns the latest results that the host has read, usually some frames after their submission. Polls the device
    /// without blocking, so callbacks of the program may run.
    ///
    /// Results have no frame number. The results of a submission are available once the device was polled after its
    /// completion. If more than four recordings are pending, some results are omitted.
    ///
    /// ```no_run
    /// # fn title(recorder: &broadsweep::Recorder) -> String {
    /// match recorder.statistics().header {
    ///     Some(header) if header.overflow == 0 => format!("{} pairs", header.count),
    ///     _ => "counting".to_owned(),
    /// }
    /// # }
    /// ```
    pub fn statistics(&self) -> RecordingStatistics {
        // Ignore an error of the poll: the next call that can fail returns it.
        let _ = self.core.gpu.device().poll(wgpu::PollType::Poll);
        let gpu_bytes = self.core.workspace.held_bytes() + self.filters.held_bytes();
        let mut readbacks = self.readbacks.lock().unwrap_or_else(PoisonError::into_inner);
        RecordingStatistics {
            memory_bytes: self.buffers().iter().map(|(_, bytes)| bytes).sum(),
            header: readbacks.headers.latest().copied(),
            report: readbacks.reports.latest().map(|report| Report { gpu_bytes, ..report.clone() }),
            times: readbacks.latest_times(Timed::Search),
            window_times: readbacks.latest_times(Timed::Window),
            neighbour_times: readbacks.latest_times(Timed::Neighbours),
        }
    }

    /// Enables or disables the timing of kernels in the next recordings, for [`statistics`](Self::statistics). Returns
    /// `true` if the device supports timing ([`Gpu::TIMING_FEATURES`]). Cost: some microseconds per dispatch.
    pub fn time_recordings(&mut self, is_timed: bool) -> bool {
        let can = self.core.gpu.device().features().contains(Gpu::TIMING_FEATURES);
        unlocked(&mut self.readbacks).is_timed = is_timed && can;
        can
    }
}

/// Results of the latest recordings that the host has read, returned by [`Recorder::statistics`]. A field is `None`
/// before the first recording of its kind has run.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct RecordingStatistics {
    /// The bytes of allocated GPU memory: buffers of searches, of filters and of steps.
    pub memory_bytes: u64,
    /// The header of the latest [`record`](Recorder::record) or [`record_events`](Recorder::record_events). After
    /// [`record_events`](Recorder::record_events), `overflow` is not 0 if any list of the step did not fit.
    pub header: Option<PairHeader>,
    /// The report of the latest [`record`](Recorder::record) or [`record_events`](Recorder::record_events): axis and
    /// cells, candidates and giants.
    pub report: Option<Report>,
    /// The time of each kernel in the latest [timed](Recorder::time_recordings) [`record`](Recorder::record) or
    /// [`record_events`](Recorder::record_events).
    pub times: Option<Vec<KernelTime>>,
    /// The time of each kernel in the latest timed [`record_window`](Recorder::record_window).
    pub window_times: Option<Vec<KernelTime>>,
    /// The time of each kernel in the latest timed [`record_neighbours`](Recorder::record_neighbours).
    pub neighbour_times: Option<Vec<KernelTime>>,
}
