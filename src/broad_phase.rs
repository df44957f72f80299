//! The whole flow: [`BroadPhase`]. How its results come to the host is in [`frames`], more boxes than fit in [`slabs`].

mod filtering;
mod frames;
#[cfg(not(target_arch = "wasm32"))]
mod slabs;

use std::num::NonZeroU64;

use crate::filters::Compiled;
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::Pass;
#[cfg(not(target_arch = "wasm32"))]
use crate::gpu::timing::KernelTime;
use crate::gpu::timing::Timer;
use crate::memory::{MemoryPlan, Wishes, boxes_bytes, staging_bytes};
use crate::stages::bin::Bin;
use crate::stages::emit::Emit;
use crate::stages::filter::Uses;
use crate::stages::frame::FrameStage;
use crate::stages::giants::Giants;
use crate::stages::layout::*;
use crate::stages::order::Order;
use crate::stages::pca::Pca;
use crate::stages::prepare::Prepare;
use crate::stages::rank::Rank;
use crate::stages::small::Small;
use crate::stages::sort::{Sort, SortVariant};
use crate::stages::sweep::Sweep;
use crate::workspace::{Buffers, PairList, Staging};
use crate::{Aabb, Error, Options};
use filtering::{Filtering, Shapes};
use frames::Frames;

pub(crate) use filtering::{FilterBytes, sum};

/// Finds all overlapping pairs of boxes on a GPU. Keep one across frames: its kernels are compiled once, and its
/// buffers are reused and grow when they have to.
///
/// Four ways to use it, of the same flow:
/// - [`find_pairs`](Self::find_pairs) blocks and returns the pairs;
/// - [`stream_pairs`](Self::stream_pairs) blocks and hands over the pairs piece by piece, however many there are;
/// - [`submit`](Self::submit), then [`try_take`](Self::try_take) or [`take`](Self::take), do not block;
/// - [`record`](Self::record) takes boxes from a GPU buffer and leaves the pairs in one, in the caller's encoder.
///
/// [`set_filters`](Self::set_filters) says which pairs are wanted, for all four. A call whose boxes the filters do not fit
/// is refused with [`Error::FilterLength`] or [`Error::BadFilter`] before any work.
///
/// Memory and work grow with boxes, entries and candidates; [`MemoryPlan`] predicts the memory. The two that block take
/// more boxes than the device or the budget has room for, in several passes; the others refuse them.
#[derive(Debug)]
pub struct BroadPhase {
    gpu: Gpu,
    options: Options,
    stages: Stages,
    buffers: Option<Buffers>,
    wishes: Wishes,
    frames: Frames,
    contents: Contents,
    filtering: Filtering,
    /// Those of the whole scene while one of its slabs is searched.
    whole_filtering: Option<Filtering>,
}

/// Whose results lie in the buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Contents {
    /// Nobody's.
    Nothing,
    /// Those of the recording with so many boxes.
    Recording(u32),
    /// Those of the submission with this number.
    Frame(u64),
}

/// The kernels of all stages.
#[derive(Debug)]
struct Stages {
    prepare: Prepare,
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

impl Stages {
    /// For filters that need this.
    fn new(gpu: &Gpu, uses: Uses) -> Result<Self, Error> {
        Ok(Self {
            prepare: Prepare::new(gpu)?,
            pca: Pca::new(gpu)?,
            frame: FrameStage::new(gpu)?,
            bin: Bin::new(gpu, uses)?,
            sort: Sort::new(gpu)?,
            rank: Rank::new(gpu)?,
            sweep: Sweep::new(gpu, uses)?,
            giants: Giants::new(gpu, uses)?,
            emit: Emit::new(gpu, uses)?,
            order: Order::new(gpu)?,
            small: Small::new(gpu, uses)?,
        })
    }

    /// Compiles now what depends on the filters: that for few boxes, or all of the others.
    fn compile(&self, gpu: &Gpu, tests_all_pairs: bool) -> Result<(), Error> {
        if tests_all_pairs {
            return self.small.compile(gpu);
        }
        self.bin.compile(gpu)?;
        self.sweep.compile(gpu)?;
        self.giants.compile(gpu)?;
        self.emit.compile(gpu)
    }
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

impl BroadPhase {
    /// Compiles the kernels, unless another `BroadPhase` of this [`Gpu`] has; no memory is taken for boxes yet.
    ///
    /// # Errors
    /// [`Error::BadOption`]; [`Error::Gpu`] where the driver rejects a kernel; [`Error::DeviceLost`];
    /// [`Error::OutOfMemory`] where there is no room for the trial of the sort.
    pub fn new(gpu: &Gpu, options: Options) -> Result<Self, Error> {
        options.check()?;
        Ok(Self {
            gpu: gpu.clone(),
            options,
            stages: Stages::new(gpu, Uses::default())?,
            buffers: None,
            wishes: Wishes::default(),
            frames: Frames::default(),
            contents: Contents::Nothing,
            filtering: Filtering::new(gpu, Compiled::default())?,
            whole_filtering: None,
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
        self.check_idle()?;
        if (options.order, options.memory_budget) != (self.options.order, self.options.memory_budget) {
            self.release();
            self.wishes = Wishes::default();
        }
        let flow = |this: &Self| match this.contents {
            Contents::Recording(n) => this.tests_all_pairs(n),
            _ => false,
        };
        let before = flow(self);
        self.options = options;
        if flow(self) != before {
            // What one flow has left is nothing that the other could list.
            self.contents = Contents::Nothing;
        }
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

    /// The GPU memory that `box_count` boxes would take on this device, with the [filters](Self::set_filters).
    ///
    /// # Errors
    /// [`Error::TooManyBoxes`], [`Error::OverBudget`]: what one pass cannot hold. [`find_pairs`](Self::find_pairs) and
    /// [`stream_pairs`](Self::stream_pairs) take several then; any other call returns this error.
    pub fn memory_plan(&self, box_count: usize) -> Result<MemoryPlan, Error> {
        // Not those of a slab, where its search ended in a panic of the caller's.
        let filtering = self.whole_filtering.as_ref().unwrap_or(&self.filtering);
        let filters = Filtering::bytes_for(&filtering.compiled, box_count);
        let limits = self.gpu.device().limits();
        let mut plan = MemoryPlan::with_wishes(box_count, &self.options, &limits, self.wishes, &filters)?;
        plan.buffers.extend(filters.into_iter().filter(|(_, bytes)| *bytes > 0));
        Ok(plan)
    }

    // ---- pairs on the GPU ----

    /// Makes room for `box_count` boxes and a list of `pair_capacity` pairs (as far as limits and budget allow), and
    /// [compiles](Self::compile) kernels, now rather than in the call that needs it. A list that
    /// [`record`](Self::record) left is no longer there.
    ///
    /// # Errors
    /// [`Error::TooManyBoxes`], [`Error::OverBudget`], [`Error::OutOfMemory`], [`Error::Busy`], [`Error::Gpu`].
    pub fn reserve(&mut self, box_count: usize, pair_capacity: u32) -> Result<(), Error> {
        self.check_idle()?;
        self.restore_filters();
        self.wishes.pairs = self.wishes.pairs.max(u64::from(pair_capacity));
        self.ensure_buffers(box_count)?;
        self.compile(box_count)
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
    /// [`Error::BadBuffer`], and as [`reserve`](Self::reserve): more boxes than fit are for
    /// [`find_pairs`](Self::find_pairs).
    pub fn record(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        boxes: &wgpu::Buffer,
        box_count: u32,
    ) -> Result<GpuPairs<'_>, Error> {
        check_box_buffer(boxes, box_count)?;
        self.begin(box_count as usize)?;
        self.reserve(box_count as usize, 0)?;
        self.upload_filters(box_count as usize)?;
        self.contents = Contents::Nothing;
        let scopes = self.gpu.open_scopes();
        self.record_flow(encoder, self.bind_boxes(boxes, box_count)?, box_count, None)?;
        scopes.close("recording")?;
        self.contents = Contents::Recording(box_count);
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
        self.check_idle()?;
        if self.contents != Contents::Recording(box_count) {
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
            None => Ok(self.allocated()?.own_boxes()?.all()),
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
    /// `None` where the device has no timestamps between dispatches
    /// ([`timing::FEATURES`](crate::gpu::timing::FEATURES), which [`Gpu::request`] asks for where the adapter has them).
    ///
    /// The first call includes what a driver compiles late: measure a second one. A scene with more candidates than
    /// `Options::candidate_limit` is timed up to the point where they are refused.
    ///
    /// # Errors
    /// As [`reserve`](Self::reserve); [`Error::DeviceLost`], [`Error::Gpu`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn time_kernels(&mut self, boxes: &[Aabb]) -> Result<Option<Vec<KernelTime>>, Error> {
        self.check_idle()?;
        let Some(timer) = Timer::new(&self.gpu)? else {
            return Ok(None);
        };
        self.begin(boxes.len())?;
        self.ensure_buffers(boxes.len())?;
        self.upload_filters(boxes.len())?;
        self.contents = Contents::Nothing;
        let scopes = self.gpu.open_scopes();
        let own = self.allocated()?.own_boxes()?;
        own.write(&self.gpu, boxes);
        let mut encoder = self.encoder();
        self.record_flow(&mut encoder, own.all(), boxes.len() as u32, Some(&timer))?;
        timer.resolve(&mut encoder);
        self.gpu.queue().submit([encoder.finish()]);
        scopes.close("timed submission")?;
        timer.read(&self.gpu).map(Some)
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
        let Filtering { lists: filters, included, world_cells, .. } = &self.filtering;
        let has_worlds = self.filtering.compiled.world_count() > 0;
        if self.tests_all_pairs(n) {
            let pass = &mut Pass::begin_timed(&self.gpu, encoder, timer);
            let boxes = self.record_prepare(pass, n, params, boxes);
            s.small.record_test(pass, n, params, boxes.clone(), filters, hits);
            if let Some(included) = included {
                s.small.record_include(pass, params, included, hits);
            }
            self.record_emit(pass, params, boxes, n, 0)?;
            return pass.finish();
        }
        encoder.clear_buffer(counts.raw(), 0, None);
        encoder.clear_buffer(hits.block_hits.raw(), 0, None);
        if has_worlds {
            encoder.clear_buffer(world_cells.raw(), 0, None);
        }
        let pass = &mut Pass::begin_timed(&self.gpu, encoder, timer);

        let boxes = self.record_prepare(pass, n, params, boxes);
        s.pca.record(pass, n, params, boxes.clone(), bounds, moments);
        s.frame.record(pass, params, boxes.clone(), bounds, moments, frame);
        if has_worlds {
            s.bin.record_worlds(pass, n, params, boxes.clone(), filters, frame, world_cells);
        }
        s.bin.record_count(pass, n, params, boxes.clone(), filters, frame, world_cells, bins);
        s.bin.record_scan(pass, params, frame, bins, counts, dispatches);
        s.bin.record_scatter(pass, params, frame, bins, counts, dispatches, s.sort.starts(entries), giants);
        s.sort.record_entries(pass, counts, dispatches, entries);
        let (keys, entries) = (&entries.keys, &entries.values);
        s.rank.record(pass, frame, counts, dispatches, keys, entries, &bins.positions, path);
        s.sweep.record_count(pass, counts, dispatches, path);
        s.sweep.record_scan(pass, params, counts, dispatches, path);
        s.sweep.record_test(pass, params, boxes.clone(), filters, counts, dispatches, entries, path, hits);
        s.emit.record_place(pass, params, counts, dispatches, hits);
        s.giants.record(pass, params, boxes.clone(), filters, counts, dispatches, frame, bins, giants, hits);
        self.record_emit(pass, params, boxes, n, 0)?;
        pass.finish()
    }

    /// The boxes as they are searched: as they are, or with margins and half-spaces.
    fn record_prepare<'a>(
        &'a self,
        pass: &mut Pass,
        n: u32,
        params: &Buffer<Params>,
        boxes: wgpu::BindingResource<'a>,
    ) -> wgpu::BindingResource<'a> {
        if let Some(Shapes { margins, half_space_bits, prepared }) = &self.filtering.shapes {
            self.stages.prepare.record(pass, n, params, boxes.clone(), margins, half_space_bits, prepared);
        }
        self.searched(boxes)
    }

    /// Where those lie once they were recorded.
    fn searched<'a>(&'a self, boxes: wgpu::BindingResource<'a>) -> wgpu::BindingResource<'a> {
        self.filtering.shapes.as_ref().map_or(boxes, |shapes| shapes.prepared.all())
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
        let boxes = self.searched(boxes);
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
            &self.filtering.lists,
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
        if let Some(included) = &self.filtering.included {
            s.emit.record_include(pass, params, window, counts, included, &list.pairs);
        }
        if let Some(lists) = &list.sort_lists {
            s.order.record(pass, &s.sort, n, counts, dispatches, lists, &list.pairs);
        }
        Ok(())
    }

    /// Whether this many boxes are few. What earlier calls needed has no say: the order of the pairs depends on it.
    fn tests_all_pairs(&self, n: u32) -> bool {
        // Only few boxes need a plan to tell.
        self.options.tests_all_pairs(n) && self.lone_plan(n as usize).is_ok_and(|plan| plan.all_pairs)
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
        let own = self.lone_plan(box_count as usize)?;
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
            world_count: self.filtering.compiled.world_count(),
            include_count: self.filtering.compiled.include().len() as u32,
        };
        Buffer::uniform(&self.gpu, "params", &[params])
    }

    /// The buffers for `box_count` boxes and what was wished for, those of the filters aside.
    fn plan(&self, box_count: usize) -> Result<MemoryPlan, Error> {
        let limits = self.gpu.device().limits();
        MemoryPlan::with_wishes(box_count, &self.options, &limits, self.wishes, &self.filter_bytes(box_count))
    }

    /// What it would be if these boxes were the first: it does not depend on earlier calls.
    fn lone_plan(&self, box_count: usize) -> Result<MemoryPlan, Error> {
        let limits = self.gpu.device().limits();
        let none = Wishes::default();
        MemoryPlan::with_wishes(box_count, &self.options, &limits, none, &self.filter_bytes(box_count))
    }

    /// Makes room for `box_count` boxes and what was wished for.
    fn ensure_buffers(&mut self, box_count: usize) -> Result<(), Error> {
        match self.missing_room(box_count)? {
            None => self.lengthen_list(self.wishes.pairs),
            Some(plan) => self.allocate(plan, box_count),
        }
    }

    /// The plan to allocate for `box_count` boxes, if what there is does not do.
    fn missing_room(&self, box_count: usize) -> Result<Option<MemoryPlan>, Error> {
        let plan = self.plan(box_count)?;
        let Some(buffers) = &self.buffers else {
            return Ok(Some(plan));
        };
        // The list may have grown into the room that filters need now: of more boxes, or uploaded again.
        let held = self.held_bytes() - self.held_filter_bytes();
        if buffers.plan.covers(&plan, &self.options) && self.is_affordable(held + self.coming_filter_bytes(box_count)) {
            return Ok(None);
        }
        // Never less than now; and a scene that grows a little every frame must not allocate every frame.
        let now = buffers.plan.box_count as usize;
        let ample = if box_count > now { box_count.max(now.saturating_mul(5) / 4) } else { now };
        let ample = self.plan(ample).ok().filter(|ample| ample.covers(&plan, &self.options));
        Ok(Some(ample.unwrap_or(plan)))
    }

    /// Replaces the buffers by those of `plan`, which is for at least `box_count` boxes.
    fn allocate(&mut self, plan: MemoryPlan, box_count: usize) -> Result<(), Error> {
        // The old ones go first: both at once might not fit. So do filters, of which there may be more than now have room,
        // unless a frame is to be searched again with them.
        self.release();
        if self.options.memory_budget.is_some() && self.check_idle().is_ok() {
            self.filtering.unload(&self.gpu)?;
        }
        let made = Buffers::new(&self.gpu, plan, self.options.order);
        if matches!(made, Err(Error::OutOfMemory { .. })) && self.wishes != Wishes::default() {
            // What earlier calls needed is a wish, not a need.
            self.wishes = Wishes::default();
            return self.ensure_buffers(box_count);
        }
        self.buffers = Some(made?);
        Ok(())
    }

    /// Gives the memory back, and with it what was found.
    fn release(&mut self) {
        self.buffers = None;
        self.contents = Contents::Nothing;
    }

    /// Makes room for `wish` pairs, or as many as there may be; everything else stays as it is.
    fn lengthen_list(&mut self, wish: u64) -> Result<(), Error> {
        match self.longer_list(wish)? {
            Some(plan) => self.replace_list(plan),
            None => Ok(()),
        }
    }

    /// The plan with room for `wish` pairs, or as many as there may be, if that is more than there is.
    fn longer_list(&self, wish: u64) -> Result<Option<MemoryPlan>, Error> {
        let now = &self.allocated()?.plan;
        if wish <= u64::from(now.pair_capacity) {
            return Ok(None);
        }
        // Staging buffers that no other frame holds are replaced along with the list.
        let boxes = self.all_boxes().iter().map(|boxes| boxes_bytes(boxes.len() as u32)).sum::<u64>();
        let stagings = self.frames.queued_stagings().map(|staging| staging_bytes(staging.capacity)).sum::<u64>();
        let others = boxes - boxes_bytes(now.box_count) + stagings + self.coming_filter_bytes(now.box_count as usize);
        let plan = now.with_longer_list(wish, others, &self.options, &self.gpu.device().limits());
        Ok((plan.pair_capacity > now.pair_capacity).then_some(plan))
    }

    /// Replaces the list by the longer one of `plan`. What else was found stays.
    fn replace_list(&mut self, plan: MemoryPlan) -> Result<(), Error> {
        let order = self.options.order;
        let Some(mut buffers) = self.buffers.take() else {
            return Err(Error::NothingSubmitted);
        };
        // The old list goes first, or both together might exceed the budget. If not even that can be had back,
        // nothing is kept.
        let contents = std::mem::replace(&mut self.contents, Contents::Nothing);
        buffers.list = PairList::new(&self.gpu, 1, order)?;
        buffers.stagings.clear();
        let make = |capacity| Ok((PairList::new(&self.gpu, capacity, order)?, Staging::new(&self.gpu, capacity)?));
        let made: Result<_, Error> = make(plan.pair_capacity);
        let result = made.as_ref().map(|_| ()).map_err(Clone::clone);
        let (list, staging) = match made {
            Ok(made) => {
                buffers.plan = plan;
                made
            }
            Err(_) => make(buffers.plan.pair_capacity)?,
        };
        buffers.list = list;
        buffers.stagings = vec![staging];
        self.buffers = Some(buffers);
        self.contents = contents;
        result
    }

    // ---- what frames hold for themselves ----

    /// Every buffer of boxes there is, each once.
    fn all_boxes(&self) -> Vec<&Buffer<Aabb>> {
        let own = self.buffers.iter().flat_map(|buffers| &buffers.boxes);
        distinct(own.chain(self.frames.boxes()))
    }

    /// Every staging buffer there is, each once.
    fn all_stagings(&self) -> Vec<&Staging> {
        let own = self.buffers.iter().flat_map(|buffers| &buffers.stagings);
        distinct(own.chain(self.frames.stagings()))
    }

    /// Bytes of GPU memory held.
    fn held_bytes(&self) -> u64 {
        let shared = self.buffers.as_ref().map_or(0, |buffers| buffers.plan.total() - buffers.plan.frame_bytes());
        let boxes = self.all_boxes().iter().map(|boxes| boxes_bytes(boxes.len() as u32)).sum::<u64>();
        let stagings = self.all_stagings().iter().map(|staging| staging_bytes(staging.capacity)).sum::<u64>();
        shared + boxes + stagings + self.held_filter_bytes()
    }

    /// Whether the budget allows `bytes` more than there are.
    fn has_room(&self, bytes: u64) -> bool {
        self.is_affordable(self.held_bytes().saturating_add(bytes))
    }

    /// Whether the budget allows as much in all.
    fn is_affordable(&self, bytes: u64) -> bool {
        bytes <= self.options.memory_budget.unwrap_or(u64::MAX)
    }
}

fn distinct<'a, T: PartialEq>(items: impl Iterator<Item = &'a T>) -> Vec<&'a T> {
    let mut found: Vec<&T> = Vec::new();
    for item in items {
        if !found.contains(&item) {
            found.push(item);
        }
    }
    found
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
