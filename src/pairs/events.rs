//! The stage `events`: finds created and lost pairs. It compares the list of a step with the list of the last step,
//! both in canonical order.

use crate::base::constants::{EVENT_GENERATIONS, EVENT_GROUP, EVENT_TILE, EVENT_TOTALS};
use crate::base::layout::{PairArguments, PairHeader, Params, StepParams};
use crate::filters::lists::FilterLists;
use crate::filters::rows;
use crate::gpu::Gpu;
use crate::gpu::buffers::{Buffer, Constants};
use crate::gpu::kernel::{self, Kernel, Pass, Source, source};
use crate::gpu::table::{Row, SIZES, STORAGE, buffer_table};
use crate::{Error, Pair};

/// The source of `events_find`.
pub const FIND: Source = source!(
    "pairs/events_find", "pairs/event_step", "pairs/event_marks", "pairs/pair_order", "filters/by_box";
    rows::WGSL
);
/// The source of `events_list`.
pub const LIST: Source = source!("pairs/events_list", "pairs/event_step", "pairs/event_marks", "shared/scan");
/// The source of `events_store`.
pub const STORE: Source = source!("pairs/events_store");
/// The source of `events_headers`.
pub const HEADERS: Source = source!("pairs/events_headers");
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: [Source; 4] = [FIND, LIST, STORE, HEADERS];

/// Returns the u32 count of `event_marks` for lists of this many pairs.
pub fn mark_words(pairs: u64) -> u64 {
    let tiles = pairs.div_ceil(EVENT_TILE.into());
    u64::from(EVENT_TOTALS) + 3 * (pairs.div_ceil(32) + tiles + tiles.div_ceil(EVENT_GROUP.into()))
}

/// The kernels of the stage `events`.
#[derive(Debug)]
pub struct EventKernels {
    gpu: Gpu,
    /// The kernels of [`KERNELS`].
    kernels: [Kernel; 4],
    params: Constants<StepParams>,
}

/// The pairs of a step, to compare with the pairs of the last step.
#[derive(Debug)]
pub struct Compared<'a> {
    /// The parameters of the search, including the box count.
    pub params: &'a Buffer<Params>,
    /// The pairs, in canonical order.
    pub pairs: &'a Buffer<Pair>,
    /// The [`PairHeader`] of the pairs, or a [`QueryHeader`](crate::QueryHeader), which begins with the same fields.
    pub header: wgpu::BindingResource<'a>,
    /// `true` if the second box of each pair belongs to a set that does not change from step to step.
    pub is_join: bool,
    /// The filters that determine pairs at rest.
    pub filters: &'a FilterLists,
}

/// The capacity of events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventCapacity {
    /// Pairs of a step.
    pub pairs: u64,
    /// Boxes that have generations.
    pub generations: u64,
}

buffer_table! {
    /// The events of a step.
    pub struct EventLists(capacity: EventCapacity) {
        /// `[pairs]` the place of each pair of the step in the list of the last step, or `EVENT_CREATED`.
        before: [u32; capacity.pairs], STORAGE;
        /// `[pairs]` the created pairs.
        created: [Pair; capacity.pairs], STORAGE | wgpu::BufferUsages::VERTEX;
        /// `[pairs]` the lost pairs of the last step.
        lost: [Pair; capacity.pairs], STORAGE | wgpu::BufferUsages::VERTEX;
        /// `[pairs]` the persisting pairs that are not at rest.
        persisting: [Pair; capacity.pairs], STORAGE | wgpu::BufferUsages::VERTEX;
        /// The count of created pairs.
        created_header: [PairHeader; 1], STORAGE;
        /// The count of lost pairs.
        lost_header: [PairHeader; 1], STORAGE;
        /// The count of persisting pairs that are not at rest.
        persisting_header: [PairHeader; 1], STORAGE;
        /// Arguments of indirect calls for the created pairs.
        created_arguments: [PairArguments; 1], SIZES;
        /// Arguments of indirect calls for the lost pairs.
        lost_arguments: [PairArguments; 1], SIZES;
        /// Arguments of indirect calls for the persisting pairs that are not at rest.
        persisting_arguments: [PairArguments; 1], SIZES;
        /// Bits that mark the events among the pairs of both lists, and the counts of these bits: see
        /// `event_marks.wgsl`.
        event_marks: [u32; mark_words(capacity.pairs)], STORAGE;
    }
}

buffer_table! {
    /// The data of the last step that the comparison reads.
    pub struct LastStep(capacity: EventCapacity) {
        /// `[pairs]` the pairs of the last step, in canonical order.
        last_pairs: [Pair; capacity.pairs], STORAGE;
        /// The count of these pairs; the box count of the last step that had generations; then these generations.
        last_step: [u32; u64::from(EVENT_GENERATIONS) + capacity.generations], STORAGE;
    }
}

/// The buffers of events.
#[derive(Debug)]
pub struct EventBuffers {
    /// The capacity of events.
    pub capacity: EventCapacity,
    /// The events.
    pub lists: EventLists,
    /// The data of the last step.
    pub last: LastStep,
}

impl EventBuffers {
    /// Allocates the buffers, without a last step.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`].
    pub fn new(gpu: &Gpu, capacity: EventCapacity) -> Result<Self, Error> {
        let last = LastStep::new(gpu, &capacity)?;
        let scopes = gpu.open_scopes();
        last.last_step.write(gpu, &[0; EVENT_GENERATIONS as usize]);
        scopes.close("events")?;
        Self::with_last(gpu, capacity, last)
    }

    /// Allocates the lists, with the data of the last step.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn with_last(gpu: &Gpu, capacity: EventCapacity, last: LastStep) -> Result<Self, Error> {
        Ok(Self { capacity, lists: EventLists::new(gpu, &capacity)?, last })
    }

    /// Returns the bytes of this capacity.
    pub fn bytes(capacity: &EventCapacity) -> u64 {
        EventLists::bytes(capacity).saturating_add(LastStep::bytes(capacity))
    }

    /// Lists the buffers with their allocated bytes.
    pub fn allocated(&self) -> impl Iterator<Item = Row> {
        self.lists.allocated().chain(self.last.allocated())
    }

    /// Records the clearing of the marks before the pass of a step.
    pub fn record_clear(&self, encoder: &mut wgpu::CommandEncoder) {
        encoder.clear_buffer(self.lists.event_marks.raw(), 0, None);
    }

    /// Records a copy of the last step from smaller buffers.
    pub fn record_move(&self, encoder: &mut wgpu::CommandEncoder, last: &LastStep) {
        let own = &self.last;
        let buffers = [(last.last_pairs.raw(), own.last_pairs.raw()), (last.last_step.raw(), own.last_step.raw())];
        for (from, to) in buffers {
            encoder.copy_buffer_to_buffer(from, 0, to, 0, from.size());
        }
    }
}

impl EventCapacity {
    /// Returns the bytes of the data of the last step.
    pub fn last_bytes(&self) -> u64 {
        LastStep::bytes(self)
    }
}

impl EventKernels {
    /// Looks up the kernels of the stage.
    pub fn new(gpu: &Gpu) -> Self {
        Self {
            gpu: gpu.clone(),
            kernels: KERNELS.map(|source| Kernel::new(gpu, &source)),
            params: Constants::new("step_params"),
        }
    }

    /// Compiles the kernels of the stage that are not compiled yet.
    ///
    /// # Errors
    /// [`Error::Gpu`] if the driver rejects a kernel; [`Error::DeviceLost`]; [`Error::OutOfMemory`].
    pub fn compile(&self) -> Result<(), Error> {
        kernel::compile(&self.gpu, &self.kernels.each_ref())
    }

    /// Returns the kernels of the stage.
    pub fn kernels(&self) -> &[Kernel] {
        &self.kernels
    }

    /// Records the comparison of the pairs of a step with the pairs of the last step, then stores the step as the last
    /// one. The pairs must be in canonical order. `naming` is a `NAMING_*`. `names` has a number per box; with
    /// `NAMING_INDEX` it can be any buffer. `event_marks` must be [cleared](EventBuffers::record_clear). The capacity
    /// must cover all pairs of the list and all generations.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn record(
        &self,
        pass: &mut Pass,
        vertices_per_pair: u32,
        step: Compared<'_>,
        (naming, names): (u32, wgpu::BindingResource<'_>),
        buffers: &EventBuffers,
    ) -> Result<(), Error> {
        let Compared { params, pairs, header, is_join, filters } = step;
        let EventBuffers { capacity, lists, last } = buffers;
        let pair_capacity = capacity.pairs as u32;
        let own = StepParams { capacity: pair_capacity, naming, vertices_per_pair, is_join: is_join.into() };
        let step_params = &self.params.get(&self.gpu, own)?;
        let own = [
            ("params", params.all()),
            ("step_params", step_params.all()),
            ("pairs", pairs.all()),
            ("header", header),
            ("names", names),
        ];
        let all = [own.into(), filters.bound(), lists.bound(), last.bound()].concat();
        // Dispatch for the capacity. Workgroups after the last pair end at once.
        let tiles = pair_capacity.div_ceil(EVENT_TILE).max(1);
        let stored_tiles = tiles.max((capacity.generations as u32).div_ceil(EVENT_TILE));
        let [find, list, store, headers] = &self.kernels;
        find.dispatch(pass, tiles, &all);
        list.dispatch(pass, tiles, &all);
        store.dispatch(pass, stored_tiles, &all);
        headers.dispatch(pass, 1, &all);
        Ok(())
    }
}
