//! Steps at a cost that follows what moves: the pairs of grown boxes are kept on the GPU from step to step.

use std::mem::replace;
use std::sync::Arc;

use super::BroadPhase;
use super::core::{Core, Counted};
use super::record::GpuCount;
use crate::epoch::buffers::{EpochBuffers, EpochRoom, StepBoxes, most_moved};
use crate::epoch::{EpochKernels, Inputs};
use crate::filters::device::FilterSet;
use crate::filters::lists::Switches;
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::given::bind_boxes;
use crate::gpu::kernel::Pass;
use crate::gpu::timing::Timer;
use crate::layout::{Epoch, Params};
use crate::memory::Call;
use crate::pairs::SearchInput;
use crate::{Aabb, Error, Filters, Step};

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
    /// The slots of the last step.
    slots: u32,
    /// How often the host has changed values in the filters; on the GPU with a second number, of what commands there have changed. There
    /// once and for all, so that whatever was recorded with it and is submitted later finds the numbers of then.
    changes: u32,
    changes_there: Option<Buffer<u32>>,
    /// The boxes of the last step, where the caller says what moves.
    input: Option<StepInput>,
    /// How many steps were recorded.
    recorded: u64,
    /// Held by the commands of each step that the caller submits, until they are dropped or have run.
    on_the_way: Arc<()>,
    /// The fewest boxes that an epoch is begun for, in place of [`FEWEST`].
    fewest: Option<u32>,
}

impl StepEpoch {
    /// Gives the buffers up, and tries again to have them where there was no memory for them.
    pub fn forget(&mut self) {
        (self.buffers, self.refused, self.input) = (None, None, None);
    }

    /// Forgets where the boxes of the last step were, of which the next one could say what moved.
    pub fn forget_input(&mut self) {
        if let Some(input) = &mut self.input {
            input.box_count = None;
        }
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

    /// Returns how often values in the filters have changed, on the GPU: by the host, and by commands of the device.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`].
    pub fn changes(&mut self, gpu: &Gpu) -> Result<Buffer<u32>, Error> {
        if let Some(there) = &self.changes_there {
            return Ok(there.clone());
        }
        let there = Buffer::storage(gpu, "filter_changes", 2)?;
        let scopes = gpu.open_scopes();
        there.write(gpu, &[self.changes, 0]);
        scopes.close("filter_changes")?;
        Ok(self.changes_there.insert(there).clone())
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

    /// Returns how many slots an epoch has for the boxes of this call, in buffers with room for so many: somewhat more, and as many as
    /// in the last step where that goes, in order that it goes on as boxes come and go.
    fn slots_for(&mut self, call: &Call, room: u64) -> u32 {
        let (boxes, slots) = (u64::from(call.box_count), u64::from(self.slots));
        if boxes > slots || slots > room.min(boxes + boxes / 4) {
            let step = (boxes.next_power_of_two() / 16).max(1);
            self.slots = (boxes.next_multiple_of(step) + step).min(room).max(boxes) as u32;
        }
        self.slots
    }

    /// Lists the buffers with the bytes that the device gave them.
    pub fn made(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let of_input = self.input.iter().flat_map(|input| input.buffers.made());
        self.buffers.iter().flat_map(|(_, buffers)| buffers.made()).chain(of_input)
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
        if !self.is_worth_it(call) || !lets_pairs_be_kept(filters.filters()) {
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
        self.changes(&core.gpu)?;
        let switches = || Switches::of(filters.filters());
        self.kernels.get_or_insert_with(|| EpochKernels::new(&core.gpu, &switches())).compile()?;
        Ok(self.buffers.is_some())
    }

    /// Returns whether a step has boxes enough for an epoch.
    pub fn is_worth_it(&self, call: &Call) -> bool {
        call.box_count >= self.fewest.unwrap_or(FEWEST) && !call.tests_all_pairs
    }

    /// Records the bringing of the boxes of a step to `to`; of those alone that moved, where the step says which these are.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::Gpu`]; [`Error::NothingRecorded`] where there is no [room](Self::make_room).
    pub fn record_upload(
        &mut self,
        gpu: &Gpu,
        filters: &FilterSet,
        encoder: &mut wgpu::CommandEncoder,
        step: &Step<'_>,
        to: &Buffer<Aabb>,
    ) -> Result<Brought, Error> {
        let boxes = step.boxes;
        if step.moved.is_none() && self.input.is_none() {
            to.write(gpu, boxes);
            return Ok(Brought::all(filters.invalid(boxes)));
        }
        let (Some((room, _)), Some(kernels)) = (&self.buffers, &self.kernels) else {
            return Err(Error::NothingRecorded);
        };
        if self.input.as_ref().is_none_or(|input| input.slots < boxes.len() as u64) {
            self.input = StepInput::new(gpu, room.slots).ok();
        }
        let Some(input) = &mut self.input else {
            // Without the memory, all boxes are uploaded in every step.
            to.write(gpu, boxes);
            return Ok(Brought::all(filters.invalid(boxes)));
        };
        let bytes = size_of_val(boxes) as u64;
        let own_boxes = input.buffers.own_boxes.raw().clone();
        let is_known = input.box_count.replace(boxes.len()) == Some(boxes.len());
        let moved = step.moved.filter(|moved| is_known && moved.len() as u64 <= most_moved(input.slots));
        // What is kept knows the boxes of the step that ran last, whoever recorded it, as they are searched. Commands that are still on the way
        // may run in between.
        let is_alone = Arc::strong_count(&self.on_the_way) == 1;
        let own = is_alone.then_some(self.recorded + 1);
        let is_last = replace(&mut input.recorded, own) == Some(self.recorded);
        let knows_last = is_last && is_alone && filters.filters().leaves_boxes();
        let mut looked = None;
        match moved {
            Some(moved) => {
                let count = input.list(boxes, moved);
                looked = knows_last.then(|| (input.buffers.moved_boxes.clone(), count));
                input.buffers.moved_boxes.write(gpu, &input.words);
                let mut pass = Pass::begin(gpu, encoder);
                kernels.record_put(&mut pass, count, &input.buffers);
                pass.finish()?;
                drop(pass);
                encoder.copy_buffer_to_buffer(&own_boxes, 0, to.raw(), 0, bytes);
            }
            None => {
                to.write(gpu, boxes);
                encoder.copy_buffer_to_buffer(to.raw(), 0, &own_boxes, 0, bytes);
                input.invalid = None;
            }
        }
        Ok(Brought { invalid: input.list_invalid(boxes, filters), rests_on_last: moved.is_some(), moved: looked })
    }

    /// Records a step for which there is [room](Self::make_room), with filters that are uploaded. What it leaves in the list are
    /// the pairs that a search would leave. After an error half of a step may be recorded, and what it leaves is of no use: the caller
    /// [forgets](Self::forget) the epoch.
    #[allow(clippy::too_many_arguments)] // what it reads, then what it notes
    pub fn record(
        &mut self,
        core: &mut Core,
        filters: &FilterSet,
        encoder: &mut wgpu::CommandEncoder,
        call: &Call,
        boxes: wgpu::BindingResource<'_>,
        box_count: GpuCount<'_>,
        moved: Option<(&Buffer<u32>, u32)>,
        timer: Option<&Timer>,
    ) -> Result<(), Error> {
        self.recorded += 1;
        let version = self.version_of(&filters.lists.words);
        let slots = self.slots_for(call, self.buffers.as_ref().map_or(0, |(room, _)| room.slots));
        let (Some(kernels), Some((room, buffers)), Some(filter_changes)) =
            (&self.kernels, &self.buffers, &self.changes_there)
        else {
            return Err(Error::NothingRecorded);
        };
        let params = &record_params(core, filters, encoder, call, box_count, buffers)?;
        let list = core.workspace.made()?.pairs.list.clone();
        let epoch_params = &kernels.params(slots, version, room, &list, &core.options)?;
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
        kernels.record_choice(&mut pass, &inputs, moved);
        pass.finish()?;
        drop(pass);
        core.record_counted(
            encoder,
            call,
            Some(buffers.grown_count.all()),
            buffers.searched.all(),
            true,
            filters,
            timer,
        )?;
        let mut pass = Pass::begin_timed(&core.gpu, encoder, timer);
        kernels.record_keep(&mut pass, &inputs);
        pass.finish()?;
        drop(pass);
        core.record_counted(encoder, call, Some(buffers.direct_count.all()), boxes, true, filters, timer)?;
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

/// Returns whether there can be epochs with these filters. Pairs that are included are written whatever the boxes are; and a grown
/// box begins elsewhere than the box, so that another region may own its pairs.
pub(super) fn lets_pairs_be_kept(filters: &Filters) -> bool {
    filters.include.is_empty() && filters.owner.is_none()
}

/// Boxes that were brought to the device.
#[derive(Debug)]
pub(super) struct Brought {
    /// The invalid ones, ascending.
    pub invalid: Vec<u32>,
    /// Whether they are those of the last step but for some.
    pub rests_on_last: bool,
    /// The boxes that may have moved since the step that was recorded before, with their number, if none but these may have.
    pub moved: Option<(Buffer<u32>, u32)>,
}

impl Brought {
    /// Brings all boxes.
    fn all(invalid: Vec<u32>) -> Self {
        Self { invalid, rests_on_last: false, moved: None }
    }
}

/// The boxes of the last step that was submitted.
#[derive(Debug)]
struct StepInput {
    slots: u64,
    buffers: StepBoxes,
    /// How many there are; `None` where others may be the last ones.
    box_count: Option<usize>,
    /// The number of the recorded step that they are of; `None` where others may run behind it that were recorded before.
    recorded: Option<u64>,
    /// The invalid ones, ascending; `None` where that is not known, or filters change boxes.
    invalid: Option<Vec<u32>>,
    /// The boxes that moved, ascending, each once; and as they are uploaded.
    moved: Vec<u32>,
    words: Vec<u32>,
}

impl StepInput {
    fn new(gpu: &Gpu, slots: u64) -> Result<Self, Error> {
        let buffers = StepBoxes::new(gpu, &slots)?;
        Ok(Self {
            slots,
            buffers,
            box_count: None,
            recorded: None,
            invalid: None,
            moved: Vec::new(),
            words: Vec::new(),
        })
    }

    /// Lists boxes that moved as they are uploaded, and returns how many they are.
    fn list(&mut self, boxes: &[Aabb], moved: &[u32]) -> u32 {
        let Self { moved: own, words, .. } = self;
        own.clear();
        own.extend_from_slice(moved);
        own.sort_unstable();
        own.dedup();
        let count = own.len() as u32;
        words.clear();
        words.push(count);
        for &i in &*own {
            words.push(i);
            words.extend(bytemuck::cast::<Aabb, [u32; 6]>(boxes[i as usize]));
        }
        count
    }

    /// Lists the invalid boxes.
    fn list_invalid(&mut self, boxes: &[Aabb], filters: &FilterSet) -> Vec<u32> {
        if !filters.filters().leaves_boxes() {
            self.invalid = None;
            return filters.invalid(boxes);
        }
        let Self { invalid, moved, .. } = self;
        let invalid = invalid.take().map(|mut invalid| {
            invalid.retain(|i| moved.binary_search(i).is_err());
            invalid.extend(moved.iter().filter(|i| !boxes[**i as usize].is_valid()));
            invalid.sort_unstable();
            invalid
        });
        self.invalid.insert(invalid.unwrap_or_else(|| filters.invalid(boxes))).clone()
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
        box_count: GpuCount<'_>,
        timer: Option<&Timer>,
    ) -> Result<(), Error> {
        let Self { core, filters, epoch, .. } = self;
        // From here on the last recording is no longer there, even where this one fails.
        core.workspace.forget_results();
        filters.upload(&core.gpu, call.box_count as usize, false)?;
        let Some(boxes) = bind_boxes(boxes, call.box_count) else { return Err(Error::NothingRecorded) };
        let scopes = core.gpu.open_scopes();
        let recorded = epoch.record(core, filters, encoder, call, boxes, box_count, None, timer);
        let on_the_way = Arc::clone(&epoch.on_the_way);
        encoder.on_submitted_work_done(move || drop(on_the_way));
        recorded.and_then(|()| scopes.close("epoch")).inspect_err(|_| {
            core.workspace.forget_results();
            epoch.forget();
        })
    }
}

/// Returns the parameters of a step, with the number of its boxes; where that lies in a buffer, or filters may have been refused, records
/// the making of them.
fn record_params(
    core: &mut Core,
    filters: &FilterSet,
    encoder: &mut wgpu::CommandEncoder,
    call: &Call,
    box_count: GpuCount<'_>,
    buffers: &EpochBuffers,
) -> Result<Buffer<Params>, Error> {
    let given = core.params(call)?;
    let stored = box_count.stored();
    if stored.is_none() && filters.refused().is_none() {
        return Ok(given);
    }
    // The sizes are those of a search, and written anew for each.
    let Counted { block_sizes, none_refused, .. } = core.counted()?;
    let refused = filters.refused().unwrap_or(&none_refused);
    core.pipeline.record_count(encoder, &given, stored, refused, &buffers.step_params, &block_sizes)?;
    Ok(buffers.step_params.clone())
}
