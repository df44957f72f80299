//! Recorded steps at a cost that follows what moves: the pairs of grown boxes are kept on the GPU from step to step.

use super::BroadPhase;
use super::record::BoxCount;
use crate::Error;
use crate::epoch::buffers::{EpochBuffers, EpochRoom};
use crate::epoch::{EpochKernels, Inputs};
use crate::filters::device::FilterSet;
use crate::filters::lists::Switches;
use crate::gpu::Gpu;
use crate::gpu::given::{bind, bind_boxes};
use crate::gpu::kernel::Pass;
use crate::gpu::timing::Timer;
use crate::memory::Call;
use crate::pairs::SearchInput;

/// The fewest boxes that an epoch is worth: with fewer, a GPU waits for dispatches longer than a search takes.
const FEWEST: u32 = 1 << 15;

/// The epoch of recorded steps.
#[derive(Debug, Default)]
pub(super) struct RecordedEpoch {
    /// For the filters in use.
    kernels: Option<EpochKernels>,
    buffers: Option<(EpochRoom, EpochBuffers)>,
    /// How often the filters have changed.
    changes: u32,
    /// The fewest boxes that an epoch is begun for, in place of [`FEWEST`].
    fewest: Option<u32>,
}

impl RecordedEpoch {
    /// Makes a place for an epoch of other boxes, begun for as few.
    pub fn anew(&self) -> Self {
        Self { fewest: self.fewest, ..Self::default() }
    }

    /// Takes note of other filters, and forgets the kernels, which depend on them.
    pub fn forget_kernels(&mut self) {
        self.kernels = None;
        self.changes = self.changes.wrapping_add(1);
    }

    /// Takes note of other values in the filters, which what was recorded and is submitted later finds too.
    pub fn filters_changed(&mut self, gpu: &Gpu) {
        self.changes = self.changes.wrapping_add(1);
        if let Some((_, buffers)) = &self.buffers {
            buffers.end(gpu);
        }
    }

    /// Gives the buffers up.
    pub fn release(&mut self) {
        self.buffers = None;
    }

    /// Lists the buffers with the bytes that the device gave them.
    pub fn made(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.buffers.iter().flat_map(|(_, buffers)| buffers.made())
    }
}

impl BroadPhase {
    /// Begins epochs of recorded steps with this many boxes and more.
    pub(crate) fn begin_epochs_from(&mut self, fewest: u32) {
        self.epoch.fewest = Some(fewest);
    }

    /// Returns what is known of the epoch of recorded steps, on the GPU.
    pub(crate) fn epoch_buffer(&self) -> Option<wgpu::Buffer> {
        self.epoch.buffers.as_ref().map(|(_, buffers)| buffers.epoch.raw().clone())
    }

    /// Makes room for an epoch of the boxes of this call, as far as `left` bytes have room for it, and compiles the kernels.
    /// Returns whether there is one to come: it is worth it, and can be had.
    ///
    /// # Errors
    /// [`Error::Gpu`] where the driver rejects a kernel; [`Error::DeviceLost`]; [`Error::OutOfMemory`].
    pub(super) fn make_room_for_epoch(&mut self, call: &Call, left: Option<u64>) -> Result<bool, Error> {
        let Self { core, filters, epoch, .. } = self;
        let is_worth_it = call.box_count >= epoch.fewest.unwrap_or(FEWEST) && !call.tests_all_pairs;
        // Pairs that are included are written whatever the boxes are.
        if !is_worth_it || !filters.filters().include.is_empty() {
            epoch.release();
            return Ok(false);
        }
        let list = &core.workspace.made()?.pairs.list;
        let wanted = EpochRoom { slots: call.box_count.into(), pairs: list.capacity.into() };
        let has_room = |room: &EpochRoom| room.slots >= wanted.slots && room.pairs >= wanted.pairs;
        if !epoch.buffers.as_ref().is_some_and(|(room, _)| has_room(room)) {
            let now = epoch.buffers.take().map_or_else(EpochRoom::default, |(room, _)| room);
            let room = EpochRoom { slots: wanted.slots.max(now.slots), pairs: wanted.pairs.max(now.pairs) };
            if left.is_some_and(|left| EpochBuffers::bytes(&room) > left) {
                return Ok(false);
            }
            // Without the memory, all boxes are searched in every step.
            epoch.buffers = EpochBuffers::empty(&core.gpu, &room).ok().map(|buffers| (room, buffers));
        }
        let switches = || Switches::of(filters.filters());
        epoch.kernels.get_or_insert_with(|| EpochKernels::new(&core.gpu, &switches())).compile()?;
        Ok(epoch.buffers.is_some())
    }

    /// Records what [`record_search`](Self::record_search) records, at a cost that follows what moves, where there is
    /// [room](Self::make_room_for_epoch).
    pub(super) fn record_epoch(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        call: &Call,
        boxes: wgpu::BufferSlice<'_>,
        box_count: BoxCount<'_>,
        timer: Option<&Timer>,
    ) -> Result<(), Error> {
        let Self { core, filters, epoch, .. } = self;
        let (Some(kernels), Some((room, buffers))) = (&epoch.kernels, &epoch.buffers) else {
            return Err(Error::NothingRecorded);
        };
        // From here on the last recording is no longer there, even where this one fails.
        core.workspace.forget_results();
        filters.upload(&core.gpu, call.box_count as usize, false)?;
        let filters: &FilterSet = filters;
        let Some(boxes) = bind_boxes(boxes, call.box_count) else { return Err(Error::NothingRecorded) };
        let scopes = core.gpu.open_scopes();
        let given = core.params(call)?;
        let params = match box_count {
            BoxCount::Stored { count, .. } if let Some(count) = bind(count, size_of::<u32>() as u64) => {
                core.pipeline.record_count(encoder, &given, count, &buffers.step_params)?;
                &buffers.step_params
            }
            _ => &given,
        };
        let vertices_per_pair = core.options.vertices_per_pair;
        let list = core.workspace.made()?.pairs.list.clone();
        let version = epoch.changes.saturating_add(1);
        let epoch_params = &kernels.params(call.box_count, version, room, &list, vertices_per_pair)?;
        let search =
            SearchInput { box_count: call.box_count, tests_all_pairs: false, params, boxes, filters, is_prepared: false };
        buffers.record_clear(encoder);

        let mut pass = Pass::begin_timed(&core.gpu, encoder, timer);
        let boxes = core.pipeline.record_prepare(&mut pass, &search);
        let inputs =
            Inputs { params, epoch_params, boxes: boxes.clone(), filters: &filters.lists, buffers, list: &list };
        kernels.record_choice(&mut pass, call.box_count, &inputs);
        pass.finish()?;
        drop(pass);
        core.record_counted(encoder, call, buffers.grown_count.all(), buffers.searched.all(), true, filters, timer)?;
        let mut pass = Pass::begin_timed(&core.gpu, encoder, timer);
        kernels.record_keep(&mut pass, &inputs);
        pass.finish()?;
        drop(pass);
        core.record_counted(encoder, call, buffers.direct_count.all(), boxes, true, filters, timer)?;
        let mut pass = Pass::begin_timed(&core.gpu, encoder, timer);
        kernels.record_list(&mut pass, &inputs);
        pass.finish()?;
        drop(pass);
        if let Some(results) = &mut core.workspace.made_mut()?.results {
            results.params = Some(params.clone());
        }
        scopes.close("epoch").inspect_err(|_| core.workspace.forget_results())
    }
}
