//! The GPU memory of one [`BroadPhase`](crate::BroadPhase) or [`Recorder`](crate::Recorder), allocated after a [`MemoryPlan`].

use super::plan::RequestedCapacity;
use super::pool::{Lease, Pool};
use super::slots::{BoxSlot, Staging, box_bytes, staging_bytes};
use super::{Call, MemoryPlan};
use crate::filters::device::{FilterSet, sum};
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::table::Row;
use crate::grid::{Grid, GridBuild};
use crate::layout::{Counts, Params};
use crate::pairs::PairBuffers;
use crate::pairs::neighbours::{NeighbourBuffers, NeighbourCapacity};
use crate::{Error, Options};

/// The GPU memory of one broad phase.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(super) gpu: Gpu,
    pub(super) limits: wgpu::Limits,
    pub(super) shared: Option<SharedBuffers>,
    pub(super) boxes: Pool<BoxSlot>,
    pub(super) stagings: Pool<Staging>,
    requested: RequestedCapacity,
}

/// The buffers that all submissions share.
#[derive(Debug)]
pub(crate) struct SharedBuffers {
    pub plan: MemoryPlan,
    pub grid: Grid,
    pub pairs: PairBuffers,
    /// The pairs by box, where they were asked for.
    pub neighbours: Option<NeighbourBuffers>,
    /// The results that lie in the buffers, once what was recorded has run.
    pub results: Option<Results>,
}

/// The results of a search.
#[derive(Debug)]
pub(crate) struct Results {
    pub call: Call,
    /// The number of the submission; `None` for a recording.
    pub submission: Option<u64>,
    /// The build of the grid that they rest on, if any.
    pub build: Option<GridBuild>,
    /// Whether the list has pairs of theirs: not after it was replaced by a longer one.
    pub has_list: bool,
    /// Whether windows of the list can be written.
    pub has_windows: bool,
    /// The parameters, where kernels have made them.
    pub params: Option<Buffer<Params>>,
}

/// Submissions that are in flight at once, each with boxes of its own.
pub(crate) const MOST_IN_FLIGHT: usize = 2;
/// Staging buffers: while the host reads a piece of a long list, the GPU writes the next.
pub(crate) const PIECES_AT_ONCE: usize = 2;

impl SharedBuffers {
    /// Returns the results that lie there, unless the grid under them has gone.
    pub fn results(&self) -> Option<&Results> {
        let results = self.results.as_ref()?;
        results.build.is_none_or(|build| self.grid.holds(build)).then_some(results)
    }

    /// Returns whether the results of this submission lie there.
    pub fn holds(&self, submission: u64) -> bool {
        self.results().is_some_and(|results| results.submission == Some(submission))
    }
}

impl Workspace {
    /// Makes a workspace without any memory.
    pub fn new(gpu: &Gpu) -> Self {
        let (boxes, stagings) = (Pool::default(), Pool::default());
        let limits = gpu.device().limits();
        Self { gpu: gpu.clone(), limits, shared: None, boxes, stagings, requested: RequestedCapacity::default() }
    }

    /// Returns the device's limits.
    pub fn limits(&self) -> &wgpu::Limits {
        &self.limits
    }

    /// Returns the buffers that are there.
    ///
    /// # Errors
    /// [`Error::NothingSubmitted`] where there are none.
    pub fn shared(&self) -> Result<&SharedBuffers, Error> {
        self.shared.as_ref().ok_or(Error::NothingSubmitted)
    }

    /// Returns the buffers that are there.
    ///
    /// # Errors
    /// [`Error::NothingSubmitted`] where there are none.
    pub fn shared_mut(&mut self) -> Result<&mut SharedBuffers, Error> {
        self.shared.as_mut().ok_or(Error::NothingSubmitted)
    }

    /// Returns whether the results of this submission lie in the buffers.
    pub fn holds(&self, submission: u64) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.holds(submission))
    }

    /// Forgets whose results lie in the buffers.
    pub fn forget_results(&mut self) {
        if let Some(shared) = &mut self.shared {
            shared.results = None;
        }
    }

    // ---- what earlier calls needed ----

    /// Notes what a search needed, for the next plan.
    pub fn note_counts(&mut self, counts: &Counts) {
        self.requested.tiles = self.requested.tiles.max(u64::from(counts.sweep_tiles));
    }

    /// RequestedCapacity for a list of this many pairs.
    pub fn request_pairs(&mut self, pairs: u64) {
        self.requested.pairs = self.requested.pairs.max(pairs);
    }

    // ---- the plan and what there is ----

    /// Lays out the plan for this many boxes and what was wished for.
    ///
    /// # Errors
    /// [`Error::TooManyBoxes`], [`Error::OverBudget`].
    pub fn plan(&self, box_count: usize, options: &Options, filters: &FilterSet) -> Result<MemoryPlan, Error> {
        MemoryPlan::with_request(box_count, options, &self.limits, self.requested, filters.rows(box_count))
    }

    /// Returns the plan for this call and what was wished for: mostly the one that the call was decided with.
    fn plan_of(&self, call: &Call, options: &Options, filters: &FilterSet) -> Result<MemoryPlan, Error> {
        if self.requested.fit(&call.plan) {
            return Ok(call.plan.clone());
        }
        self.plan(call.box_count as usize, options, filters)
    }

    /// Makes room for this call and what was wished for. Where nothing `is_in_flight`, filters that the plan leaves no
    /// room for are unloaded.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn ensure(
        &mut self,
        call: &Call,
        options: &Options,
        filters: &mut FilterSet,
        is_in_flight: bool,
    ) -> Result<(), Error> {
        match self.missing_capacity(call, options, filters)? {
            None => match self.lengthen_list(self.requested.pairs, options, filters) {
                Err(Error::OutOfMemory { .. }) if self.shared.is_some() => {
                    // What earlier calls needed is a wish, not a need.
                    self.requested.pairs = 0;
                    Ok(())
                }
                lengthened => lengthened.map(|_| ()),
            },
            Some(plan) => self.allocate(plan, call, options, filters, is_in_flight),
        }
    }

    /// Makes room for this call beside those that are `in_flight`, which may have to be searched again.
    ///
    /// # Errors
    /// The errors of [`ensure`](Self::ensure); [`Error::Busy`] where there is no room beside them.
    pub fn ensure_beside(
        &mut self,
        in_flight: &[&Call],
        call: &Call,
        options: &Options,
        filters: &mut FilterSet,
    ) -> Result<(), Error> {
        let Some(plan) = self.missing_capacity(call, options, filters)? else {
            let lengthened = self.lengthen_list(self.requested.pairs, options, filters);
            if lengthened != Ok(false) {
                // A submission in flight would copy the rest of its pairs from the list that is gone.
                self.forget_results();
            }
            return match lengthened {
                Err(Error::OutOfMemory { .. }) if self.shared.is_some() => {
                    // What earlier calls needed is a wish, not a need.
                    self.requested.pairs = 0;
                    Ok(())
                }
                lengthened => lengthened.map(|_| ()),
            };
        };
        for other in in_flight {
            if !plan.covers(&self.plan_of(other, options, filters)?, options) {
                return Err(Error::Busy);
            }
        }
        let box_count = call.box_count as usize;
        let filter_bytes = if in_flight.is_empty() {
            // The filters that are there go first.
            sum(&filters.rows(box_count))
        } else {
            filters.coming_bytes(box_count)
        };
        let others = self.boxes.leased_bytes(box_bytes) + self.stagings.leased_bytes(staging_bytes);
        if !is_affordable(options, plan.own_bytes().saturating_add(others + filter_bytes)) {
            return Err(Error::Busy);
        }
        self.allocate(plan, call, options, filters, !in_flight.is_empty())
    }

    /// Returns the plan to allocate for this call, if the buffers that are there are too small.
    fn missing_capacity(
        &self,
        call: &Call,
        options: &Options,
        filters: &FilterSet,
    ) -> Result<Option<MemoryPlan>, Error> {
        let (plan, box_count) = (self.plan_of(call, options, filters)?, call.box_count as usize);
        let Some(shared) = &self.shared else {
            return Ok(Some(plan));
        };
        // The list may have grown into the room that filters need now: of more boxes, or uploaded again.
        let held = self.held_bytes() + filters.coming_bytes(box_count);
        if shared.plan.covers(&plan, options) && is_affordable(options, held) {
            return Ok(None);
        }
        // Never less than now; and a scene that grows a little with every call must not allocate in every call.
        let now = shared.plan.box_count as usize;
        let ample = if box_count > now { box_count.max(now.saturating_mul(5) / 4) } else { now };
        let ample = self.plan(ample, options, filters).ok().filter(|ample| ample.covers(&plan, options));
        Ok(Some(ample.unwrap_or(plan)))
    }

    /// Replaces the buffers by those of `plan`, which is large enough for this call.
    fn allocate(
        &mut self,
        plan: MemoryPlan,
        call: &Call,
        options: &Options,
        filters: &mut FilterSet,
        is_in_flight: bool,
    ) -> Result<(), Error> {
        // The old buffers go first: old and new at once might not fit. The filters go as well, since there may be more
        // of them than now have room, unless a submission is to be searched again with them, or the host could not upload them again.
        self.release();
        if options.memory_budget.is_some() && !is_in_flight && filters.check_on_host().is_ok() {
            filters.unload(&self.gpu)?;
        }
        match self.create(plan, options) {
            Err(Error::OutOfMemory { .. }) if self.requested != RequestedCapacity::default() => {
                // What earlier calls needed is a wish, not a need.
                self.requested = RequestedCapacity::default();
                self.ensure(call, options, filters, is_in_flight)
            }
            created => created,
        }
    }

    fn create(&mut self, plan: MemoryPlan, options: &Options) -> Result<(), Error> {
        let grid = Grid::new(&self.gpu, &plan.grid_capacity())?;
        let pairs = PairBuffers::new(&self.gpu, &plan.search_capacity(), &plan.list_capacity(), options.order)?;
        let boxes = BoxSlot::new(&self.gpu, &plan.box_count.into())?;
        let staging = Staging::new(&self.gpu, plan.pair_capacity)?;
        self.boxes.add(boxes);
        self.stagings.add(staging);
        self.shared = Some(SharedBuffers { plan, grid, pairs, neighbours: None, results: None });
        Ok(())
    }

    /// Gives the memory back, and with it what was found.
    pub fn release(&mut self) {
        self.shared = None;
        self.boxes.clear();
        self.stagings.clear();
    }

    /// Gives the memory back, and forgets what earlier calls needed.
    pub fn reset(&mut self) {
        self.release();
        self.requested = RequestedCapacity::default();
    }

    /// Makes room for the pairs by box, as long as there is the rest.
    ///
    /// # Errors
    /// [`Error::OverBudget`], [`Error::OutOfMemory`]; [`Error::NothingRecorded`] where there is nothing.
    pub fn ensure_neighbours(&mut self, options: &Options, filters: &FilterSet) -> Result<(), Error> {
        let shared = self.shared.as_mut().ok_or(Error::NothingRecorded)?;
        let (boxes, pairs) = (shared.plan.box_count.into(), shared.plan.pair_capacity.into());
        let capacity = NeighbourCapacity { boxes, pairs };
        if shared.neighbours.as_ref().is_some_and(|neighbours| neighbours.has_capacity(&capacity)) {
            return Ok(());
        }
        shared.neighbours = None;
        let bytes = NeighbourBuffers::bytes(&capacity);
        if !self.is_affordable_beside(bytes, options, filters) {
            let required = (self.held_bytes() + filters.held_bytes()).saturating_add(bytes);
            let budget = options.memory_budget.unwrap_or(u64::MAX);
            return Err(Error::OverBudget { box_count: boxes, required, budget });
        }
        let neighbours = NeighbourBuffers::new(&self.gpu, &capacity)?;
        self.shared_mut()?.neighbours = Some(neighbours);
        Ok(())
    }

    // ---- what submissions have to themselves ----

    /// Returns a buffer of boxes, for a pass without boxes of its own to bind.
    ///
    /// # Errors
    /// [`Error::NothingSubmitted`] where there is none.
    pub fn any_boxes(&self) -> Result<&BoxSlot, Error> {
        self.boxes.any().ok_or(Error::NothingSubmitted)
    }

    /// Lends a buffer for boxes, made if there is room for it; `None` where there is not.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], [`Error::Gpu`].
    pub fn lease_boxes(&mut self, options: &Options, filters: &FilterSet) -> Result<Option<Lease<BoxSlot>>, Error> {
        let box_count = self.shared()?.plan.box_count.into();
        let is_affordable = self.is_affordable_beside(BoxSlot::bytes(&box_count), options, filters);
        if self.boxes.lease().is_none()
            && self.boxes.len() < MOST_IN_FLIGHT
            && is_affordable
            && let Some(slot) = optional(BoxSlot::new(&self.gpu, &box_count))?
        {
            self.boxes.add(slot);
        }
        Ok(self.boxes.lease())
    }

    /// Lends a staging buffer, made if there is room for it; `None` where there is not.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], [`Error::Gpu`].
    pub fn lease_staging(&mut self, options: &Options, filters: &FilterSet) -> Result<Option<Lease<Staging>>, Error> {
        let capacity = self.shared()?.plan.pair_capacity;
        let is_affordable = self.is_affordable_beside(Staging::bytes(capacity), options, filters);
        if self.stagings.lease().is_none()
            && self.stagings.len() < PIECES_AT_ONCE
            && is_affordable
            && let Some(staging) = optional(Staging::new(&self.gpu, capacity))?
        {
            self.stagings.add(staging);
        }
        Ok(self.stagings.lease())
    }

    // ---- bytes ----

    /// Returns the bytes of GPU memory held, those of the filters aside.
    pub fn held_bytes(&self) -> u64 {
        let shared_bytes = self.shared.as_ref().map_or(0, |shared| shared.plan.shared_bytes());
        let neighbours = self.shared.as_ref().and_then(|shared| shared.neighbours.as_ref());
        let neighbours = neighbours.map_or(0, |neighbours| neighbours.allocated().map(|(_, bytes)| bytes).sum::<u64>());
        shared_bytes + neighbours + self.boxes.bytes(box_bytes) + self.stagings.bytes(staging_bytes)
    }

    /// Lists the buffers that are there, with the bytes that the device gave them.
    pub fn allocated_rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        if let Some(shared) = &self.shared {
            rows.extend(shared.grid.allocated().chain(shared.pairs.allocated()));
            rows.extend(shared.neighbours.iter().flat_map(NeighbourBuffers::allocated));
        }
        self.boxes.each(|slot| rows.extend(slot.allocated()));
        self.stagings.each(|staging| rows.extend(staging.allocated()));
        rows
    }

    /// Returns whether the budget allows `bytes` more than there are.
    fn is_affordable_beside(&self, bytes: u64, options: &Options, filters: &FilterSet) -> bool {
        is_affordable(options, (self.held_bytes() + filters.held_bytes()).saturating_add(bytes))
    }
}

/// Returns whether the budget allows this many bytes in all.
fn is_affordable(options: &Options, bytes: u64) -> bool {
    bytes <= options.memory_budget.unwrap_or(u64::MAX)
}

/// Returns `None` where there was no memory for it.
fn optional<T>(allocated: Result<T, Error>) -> Result<Option<T>, Error> {
    match allocated {
        Ok(value) => Ok(Some(value)),
        Err(Error::OutOfMemory { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
