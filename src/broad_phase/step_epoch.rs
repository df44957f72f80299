//! Steps at a cost that follows what moves: the pairs of grown boxes are kept on the GPU from step to step.

use super::BroadPhase;
use super::core::Core;
use super::record::BoxCount;
use crate::Error;
use crate::epoch::buffers::{EpochBuffers, EpochRoom};
use crate::epoch::{EpochKernels, Inputs};
use crate::filters::device::FilterSet;
use crate::filters::lists::Switches;
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::given::{bind, bind_boxes};
use crate::gpu::kernel::Pass;
use crate::gpu::timing::Timer;
use crate::layout::{Epoch, Params};
use crate::memory::Call;
use crate::pairs::SearchInput;

/// The fewest boxes that an epoch is worth: with fewer, a GPU waits for dispatches longer than a search takes.
pub(super) const FEWEST: u32 = 1 << 15;

/// The epoch of steps, recorded or submitted.
#[derive(Debug, Default)]
pub(super) struct StepEpoch {
    /// For the filters in use.
    kernels: Option<EpochKernels>,
    buffers: Option<(EpochRoom, EpochBuffers)>,
    /// There was no memory for this much.
    refused: Option<EpochRoom>,
    /// The lists of the last step, and how often there were others.
    lists: Option<Buffer<u32>>,
    version: u32,
    /// How often values in the filters have changed, on the GPU too: there once and for all, so that whatever was recorded with it and
    /// is submitted later finds the number of then.
    changes: u32,
    changes_there: Option<Buffer<u32>>,
    /// The fewest boxes that an epoch is begun for, in place of [`FEWEST`].
    fewest: Option<u32>,
}

impl StepEpoch {
    /// Gives the buffers up, and tries again to have them where there was no memory for them.
    pub fn forget(&mut self) {
        (self.buffers, self.refused) = (None, None);
    }

    /// Forgets the kernels, which depend on the filters.
    pub fn forget_kernels(&mut self) {
        self.kernels = None;
    }

    /// Takes note of other values in the filters, which what was recorded and is submitted later finds too.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`].
    pub fn filters_changed(&mut self, gpu: &Gpu) -> Result<(), Error> {
        let Some(there) = &self.changes_there else { return Ok(()) };
        self.changes = self.changes.wrapping_add(1);
        let scopes = gpu.open_scopes();
        there.write(gpu, &[self.changes]);
        scopes.close("filters")
    }

    /// Returns the number of the buffers that filters are in.
    fn version_of(&mut self, lists: &Buffer<u32>) -> u32 {
        if self.lists.as_ref() != Some(lists) {
            self.lists = Some(lists.clone());
            // Zero stands for none.
            self.version = self.version.wrapping_add(1).max(1);
        }
        self.version
    }

    /// Lists the buffers with the bytes that the device gave them.
    pub fn made(&self) -> impl Iterator<Item = (&'static str, u64)> {
        self.buffers.iter().flat_map(|(_, buffers)| buffers.made())
    }

    /// Returns what is known of the epoch, on the GPU.
    pub fn state(&self) -> Option<&Buffer<Epoch>> {
        self.buffers.as_ref().map(|(_, buffers)| &buffers.epoch)
    }

    /// Makes room for an epoch of the boxes of this call, with `most` pairs at most and as far as `left` bytes have room for it, and
    /// compiles the kernels.
    /// Returns whether there is one to come: it is worth it, and can be had.
    ///
    /// # Errors
    /// [`Error::Gpu`] where the driver rejects a kernel; [`Error::DeviceLost`]; [`Error::OutOfMemory`].
    pub fn make_room(
        &mut self,
        core: &Core,
        filters: &FilterSet,
        call: &Call,
        most: u64,
        left: Option<u64>,
    ) -> Result<bool, Error> {
        // Pairs that are included are written whatever the boxes are.
        if !self.is_worth_it(call) || !filters.filters().include.is_empty() {
            self.forget();
            return Ok(false);
        }
        let made = core.workspace.made()?;
        // Of boxes as many as the search has room for, so that a scene may grow.
        let pairs = u64::from(made.pairs.list.capacity).min(most);
        let wanted = EpochRoom { slots: made.plan.box_count.into(), pairs };
        let fits = |room: &EpochRoom| left.is_none_or(|left| EpochBuffers::bytes(room) <= left);
        let has = |room: &EpochRoom| room.slots >= wanted.slots && room.pairs >= wanted.pairs;
        if !self.buffers.as_ref().is_some_and(|(room, _)| has(room) && fits(room)) {
            let now = self.buffers.take().map_or_else(EpochRoom::default, |(room, _)| room);
            let larger = EpochRoom { slots: wanted.slots.max(now.slots), pairs: wanted.pairs.max(now.pairs) };
            let room = if fits(&larger) { larger } else { wanted };
            if !fits(&room) || self.refused == Some(room) {
                return Ok(false);
            }
            // Without the memory, all boxes are searched in every step.
            self.buffers = EpochBuffers::empty(&core.gpu, &room).ok().map(|buffers| (room, buffers));
            self.refused = self.buffers.is_none().then_some(room);
        }
        if self.changes_there.is_none() {
            let there = Buffer::storage(&core.gpu, "filter_changes", 1)?;
            let scopes = core.gpu.open_scopes();
            there.write(&core.gpu, &[self.changes]);
            scopes.close("filter_changes")?;
            self.changes_there = Some(there);
        }
        let switches = || Switches::of(filters.filters());
        self.kernels.get_or_insert_with(|| EpochKernels::new(&core.gpu, &switches())).compile()?;
        Ok(self.buffers.is_some())
    }

    /// Returns whether a step has boxes enough for an epoch.
    pub fn is_worth_it(&self, call: &Call) -> bool {
        call.box_count >= self.fewest.unwrap_or(FEWEST) && !call.tests_all_pairs
    }

    /// Records a step for which there is [room](Self::make_room), with filters that are uploaded. What it leaves in the list are
    /// the pairs that a search would leave. After an error there is no epoch.
    #[allow(clippy::too_many_arguments)] // what it reads, then what it notes
    pub fn record(
        &mut self,
        core: &mut Core,
        filters: &FilterSet,
        encoder: &mut wgpu::CommandEncoder,
        call: &Call,
        boxes: wgpu::BindingResource<'_>,
        box_count: BoxCount<'_>,
        timer: Option<&Timer>,
    ) -> Result<(), Error> {
        let recorded = self.try_record(core, filters, encoder, call, boxes, box_count, timer);
        if recorded.is_err() {
            // Half of a step may be recorded, and be submitted: what it leaves is of no use.
            self.forget();
        }
        recorded
    }

    #[allow(clippy::too_many_arguments)] // those of `record`
    fn try_record(
        &mut self,
        core: &mut Core,
        filters: &FilterSet,
        encoder: &mut wgpu::CommandEncoder,
        call: &Call,
        boxes: wgpu::BindingResource<'_>,
        box_count: BoxCount<'_>,
        timer: Option<&Timer>,
    ) -> Result<(), Error> {
        let version = self.version_of(&filters.lists.words);
        let (Some(kernels), Some((room, buffers)), Some(filter_changes)) =
            (&self.kernels, &self.buffers, &self.changes_there)
        else {
            return Err(Error::NothingRecorded);
        };
        let params = &record_params(core, encoder, call, box_count, buffers)?;
        let list = core.workspace.made()?.pairs.list.clone();
        let epoch_params = &kernels.params(slots(call, room), version, room, &list, core.options.vertices_per_pair)?;
        let search = SearchInput {
            box_count: call.box_count,
            block_sizes: None,
            tests_all_pairs: false,
            params,
            boxes,
            filters,
            is_prepared: false,
        };
        buffers.record_clear(encoder);

        let mut pass = Pass::begin_timed(&core.gpu, encoder, timer);
        let boxes = core.pipeline.record_prepare(&mut pass, &search);
        let inputs = Inputs {
            params,
            epoch_params,
            boxes: boxes.clone(),
            filters: &filters.lists,
            filter_changes,
            buffers,
            list: &list,
        };
        kernels.record_choice(&mut pass, &inputs);
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
        Ok(())
    }
}

impl BroadPhase {
    /// Begins epochs of steps on the GPU with this many boxes and more.
    pub(crate) fn begin_epochs_from(&mut self, fewest: u32) {
        self.epoch.fewest = Some(fewest);
    }

    /// Returns what is known of the epoch, on the GPU.
    pub(crate) fn epoch_buffer(&self) -> Option<wgpu::Buffer> {
        self.epoch.buffers.as_ref().map(|(_, buffers)| buffers.epoch.raw().clone())
    }

    /// Records what [`record_search`](Self::record_search) records, at a cost that follows what moves, where there is
    /// [room](StepEpoch::make_room).
    pub(super) fn record_epoch(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        call: &Call,
        boxes: wgpu::BufferSlice<'_>,
        box_count: BoxCount<'_>,
        timer: Option<&Timer>,
    ) -> Result<(), Error> {
        let Self { core, filters, epoch, .. } = self;
        // From here on the last recording is no longer there, even where this one fails.
        core.workspace.forget_results();
        filters.upload(&core.gpu, call.box_count as usize, false)?;
        let Some(boxes) = bind_boxes(boxes, call.box_count) else { return Err(Error::NothingRecorded) };
        let scopes = core.gpu.open_scopes();
        epoch.record(core, filters, encoder, call, boxes, box_count, timer)?;
        scopes.close("epoch").inspect_err(|_| {
            core.workspace.forget_results();
            epoch.forget();
        })
    }
}

/// Returns how many slots an epoch has for the boxes of this call: somewhat more, in order that it goes on as boxes come and go.
fn slots(call: &Call, room: &EpochRoom) -> u32 {
    let step = (call.box_count.next_power_of_two() / 16).max(1);
    u64::from(call.box_count.next_multiple_of(step)).min(room.slots) as u32
}

/// Returns the parameters of a step, with the number of its boxes; where that lies in a buffer, records the making of them.
fn record_params(
    core: &mut Core,
    encoder: &mut wgpu::CommandEncoder,
    call: &Call,
    box_count: BoxCount<'_>,
    buffers: &EpochBuffers,
) -> Result<Buffer<Params>, Error> {
    let given = core.params(call)?;
    match box_count {
        BoxCount::Stored { count, .. } if let Some(count) = bind(count, size_of::<u32>() as u64) => {
            // The sizes are those of a search, and written anew for each.
            let block_sizes = core.counted()?.block_sizes;
            core.pipeline.record_count(encoder, &given, count, &buffers.step_params, &block_sizes)?;
            Ok(buffers.step_params.clone())
        }
        _ => Ok(given),
    }
}
