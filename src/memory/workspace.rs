//! The GPU memory of one [`BroadPhase`](crate::BroadPhase) or [`Recorder`](crate::Recorder), allocated as a
//! [`MemoryPlan`] specifies.

use super::plan::RequestedCapacity;
use super::pool::{Lease, Pool};
use super::submission_buffers::{Staging, SubmissionBoxes, box_bytes, staging_bytes};
use super::{Call, MemoryPlan};
use crate::base::layout::{Counts, Params};
use crate::filters::device::{FilterSet, sum};
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::table::Row;
use crate::grid::{Grid, GridBuild};
use crate::pairs::PairBuffers;
use crate::pairs::neighbours::{NeighbourBuffers, NeighbourCapacity};
use crate::{Error, Options};

/// The GPU memory of one engine.
#[derive(Debug)]
pub(crate) struct Workspace {
    pub(super) gpu: Gpu,
    pub(super) limits: wgpu::Limits,
    pub(super) shared: Option<SharedBuffers>,
    pub(super) boxes: Pool<SubmissionBoxes>,
    pub(super) stagings: Pool<Staging>,
    requested: RequestedCapacity,
}

/// The buffers that all submissions share.
#[derive(Debug)]
pub(crate) struct SharedBuffers {
    pub plan: MemoryPlan,
    pub grid: Grid,
    pub pairs: PairBuffers,
    /// The buffers of pairs by box, if requested.
    pub neighbours: Option<NeighbourBuffers>,
    /// The results in the buffers, once the recorded commands have run.
    pub results: Option<Results>,
}

/// The results of a search.
#[derive(Debug)]
pub(crate) struct Results {
    pub call: Call,
    /// The number of the submission; `None` for a recording.
    pub submission: Option<u64>,
    /// The build of the grid that the results depend on, if any.
    pub build: Option<GridBuild>,
    /// `true` if the list has the pairs of the results; `false` after a longer list replaced it.
    pub has_list: bool,
    /// `true` if further windows of the list can be written.
    pub has_windows: bool,
    /// The parameters, if kernels compute them.
    pub params: Option<Buffer<Params>>,
}

/// The most submissions in flight. Each leases a buffer of boxes.
pub(crate) const MOST_IN_FLIGHT: usize = 2;
/// The most staging buffers: while the host reads a piece of a long list, the GPU writes the next piece.
pub(crate) const PIECES_AT_ONCE: usize = 2;

impl SharedBuffers {
    /// Returns the results, unless the grid has another build.
    pub fn results(&self) -> Option<&Results> {
        let results = self.results.as_ref()?;
        results.build.is_none_or(|build| self.grid.holds(build)).then_some(results)
    }

    /// Returns `true` if the buffers have the results of this submission.
    pub fn holds(&self, submission: u64) -> bool {
        self.results().is_some_and(|results| results.submission == Some(submission))
    }
}

impl Workspace {
    /// Creates a workspace without any memory.
    pub fn new(gpu: &Gpu) -> Self {
        let (boxes, stagings) = (Pool::default(), Pool::default());
        let limits = gpu.device().limits();
        Self { gpu: gpu.clone(), limits, shared: None, boxes, stagings, requested: RequestedCapacity::default() }
    }

    /// Returns the device's limits.
    pub fn limits(&self) -> &wgpu::Limits {
        &self.limits
    }

    /// Returns the shared buffers.
    ///
    /// # Errors
    /// [`Error::NothingSubmitted`] if there are none.
    pub fn shared(&self) -> Result<&SharedBuffers, Error> {
        self.shared.as_ref().ok_or(Error::NothingSubmitted)
    }

    /// Returns the shared buffers.
    ///
    /// # Errors
    /// [`Error::NothingSubmitted`] if there are none.
    pub fn shared_mut(&mut self) -> Result<&mut SharedBuffers, Error> {
        self.shared.as_mut().ok_or(Error::NothingSubmitted)
    }

    /// Returns `true` if the buffers have the results of this submission.
    pub fn holds(&self, submission: u64) -> bool {
        self.shared.as_ref().is_some_and(|shared| shared.holds(submission))
    }

    /// Marks the buffers as without results.
    pub fn forget_results(&mut self) {
        if let Some(shared) = &mut self.shared {
            shared.results = None;
        }
    }

    // ---- requests of earlier calls ----

    /// Requests the tiles of this search for the next plan.
    pub fn note_counts(&mut self, counts: &Counts) {
        self.requested.tiles = self.requested.tiles.max(u64::from(counts.sweep_tiles));
    }

    /// Requests a list of this many pairs.
    pub fn request_pairs(&mut self, pairs: u64) {
        self.requested.pairs = self.requested.pairs.max(pairs);
    }

    // ---- plan and allocation ----

    /// Creates the plan for this many boxes and the requested capacity.
    ///
    /// # Errors
    /// [`Error::TooManyBoxes`], [`Error::OverBudget`].
    pub fn plan(&self, box_count: usize, options: &Options, filters: &FilterSet) -> Result<MemoryPlan, Error> {
        MemoryPlan::with_request(box_count, options, &self.limits, self.requested, filters.rows(box_count))
    }

    /// Returns the plan for this call and the requested capacity: usually the plan of the call.
    fn plan_of(&self, call: &Call, options: &Options, filters: &FilterSet) -> Result<MemoryPlan, Error> {
        if self.requested.fit(&call.plan) {
            return Ok(call.plan.clone());
        }
        self.plan(call.box_count as usize, options, filters)
    }

    /// Ensures the buffers for this call and the requested capacity. If filters do not fit in addition to the plan,
    /// they are unloaded, unless a submission `is_in_flight`.
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
                    // Drop the requests of earlier calls, since they are optional.
                    self.requested.pairs = 0;
                    Ok(())
                }
                lengthened => lengthened.map(|_| ()),
            },
            Some(plan) => self.allocate(plan, call, options, filters, is_in_flight),
        }
    }

    /// Ensures the buffers for this call. Retains the buffers of the calls `in_flight`, since the searches of these
    /// calls may be repeated.
    ///
    /// # Errors
    /// The errors of [`ensure`](Self::ensure); [`Error::Busy`] if the call does not fit in addition to the buffers in
    /// flight.
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
                // A submission in flight must not read the rest of its pairs from a replaced list.
                self.forget_results();
            }
            return match lengthened {
                Err(Error::OutOfMemory { .. }) if self.shared.is_some() => {
                    // Drop the requests of earlier calls, since they are optional.
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
            // The upload releases the uploaded filters first.
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

    /// Returns the plan to allocate for this call, if the buffers are too small.
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
        // An earlier, longer list may use memory that the filters now need.
        let held = self.held_bytes() + filters.coming_bytes(box_count);
        if shared.plan.covers(&plan, options) && is_affordable(options, held) {
            return Ok(None);
        }
        // Never shrink, and grow by more than requested. So a scene that grows a little with every call does not
        // allocate in every call.
        let now = shared.plan.box_count as usize;
        let ample = if box_count > now { box_count.max(now.saturating_mul(5) / 4) } else { now };
        let ample = self.plan(ample, options, filters).ok().filter(|ample| ample.covers(&plan, options));
        Ok(Some(ample.unwrap_or(plan)))
    }

    /// Replaces the buffers by the buffers of `plan`. The plan must be large enough for this call.
    fn allocate(
        &mut self,
        plan: MemoryPlan,
        call: &Call,
        options: &Options,
        filters: &mut FilterSet,
        is_in_flight: bool,
    ) -> Result<(), Error> {
        // Release the old buffers first, since old and new buffers together may exceed the memory. Release the filters
        // too, unless a submission may be searched again with them, or the host cannot upload them again.
        self.release();
        if options.memory_budget.is_some() && !is_in_flight && filters.check_on_host().is_ok() {
            filters.unload(&self.gpu)?;
        }
        match self.create(plan, options) {
            Err(Error::OutOfMemory { .. }) if self.requested != RequestedCapacity::default() => {
                // Drop the requests of earlier calls, since they are optional.
                self.requested = RequestedCapacity::default();
                self.ensure(call, options, filters, is_in_flight)
            }
            created => created,
        }
    }

    fn create(&mut self, plan: MemoryPlan, options: &Options) -> Result<(), Error> {
        let grid = Grid::new(&self.gpu, &plan.grid_capacity())?;
        let pairs = PairBuffers::new(&self.gpu, &plan.search_capacity(), &plan.list_capacity(), options.order)?;
        let boxes = SubmissionBoxes::new(&self.gpu, &plan.box_count.into())?;
        let staging = Staging::new(&self.gpu, plan.pair_capacity)?;
        self.boxes.add(boxes);
        self.stagings.add(staging);
        self.shared = Some(SharedBuffers { plan, grid, pairs, neighbours: None, results: None });
        Ok(())
    }

    /// Releases the memory and the results.
    pub fn release(&mut self) {
        self.shared = None;
        self.boxes.clear();
        self.stagings.clear();
    }

    /// Releases the memory and the requests of earlier calls.
    pub fn reset(&mut self) {
        self.release();
        self.requested = RequestedCapacity::default();
    }

    /// Ensures the buffers for the pairs by box. They exist until the shared buffers are released.
    ///
    /// # Errors
    /// [`Error::OverBudget`], [`Error::OutOfMemory`]; [`Error::NothingRecorded`] if there are no shared buffers.
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

    /// Checks that the budget and the device allow the buffers for this many points. The filters must be uploaded.
    ///
    /// # Errors
    /// [`Error::OverBudget`], [`Error::TooManyBoxes`].
    pub fn check_points(&self, options: &Options, filters: &FilterSet, point_count: u32) -> Result<(), Error> {
        let bytes = filters.missing_point_bytes(&self.gpu, point_count)?;
        if bytes == 0 || self.is_affordable_beside(bytes, options, filters) {
            return Ok(());
        }
        let required = (self.held_bytes() + filters.held_bytes()).saturating_add(bytes);
        Err(Error::OverBudget {
            box_count: point_count.into(),
            required,
            budget: options.memory_budget.unwrap_or(u64::MAX),
        })
    }

    // ---- buffers that submissions lease ----

    /// Returns any buffer of boxes, to bind in a pass without boxes.
    ///
    /// # Errors
    /// [`Error::NothingSubmitted`] if there is none.
    pub fn any_boxes(&self) -> Result<&SubmissionBoxes, Error> {
        self.boxes.any().ok_or(Error::NothingSubmitted)
    }

    /// Leases a buffer for boxes. Allocates one if none is free and the budget allows it; otherwise returns `None`.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], [`Error::Gpu`].
    pub fn lease_boxes(
        &mut self,
        options: &Options,
        filters: &FilterSet,
    ) -> Result<Option<Lease<SubmissionBoxes>>, Error> {
        let box_count = self.shared()?.plan.box_count.into();
        let is_affordable = self.is_affordable_beside(SubmissionBoxes::bytes(&box_count), options, filters);
        if self.boxes.lease().is_none()
            && self.boxes.len() < MOST_IN_FLIGHT
            && is_affordable
            && let Some(boxes) = optional(SubmissionBoxes::new(&self.gpu, &box_count))?
        {
            self.boxes.add(boxes);
        }
        Ok(self.boxes.lease())
    }

    /// Leases a staging buffer. Allocates one if none is free and the budget allows it; otherwise returns `None`.
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

    /// Returns the bytes of allocated GPU memory, without the filters.
    pub fn held_bytes(&self) -> u64 {
        let shared_bytes = self.shared.as_ref().map_or(0, |shared| shared.plan.shared_bytes());
        let neighbours = self.shared.as_ref().and_then(|shared| shared.neighbours.as_ref());
        let neighbours = neighbours.map_or(0, |neighbours| neighbours.allocated().map(|(_, bytes)| bytes).sum::<u64>());
        shared_bytes + neighbours + self.boxes.bytes(box_bytes) + self.stagings.bytes(staging_bytes)
    }

    /// Lists the buffers with their allocated bytes.
    pub fn allocated_rows(&self) -> Vec<Row> {
        let mut rows = Vec::new();
        if let Some(shared) = &self.shared {
            rows.extend(shared.grid.allocated().chain(shared.pairs.allocated()));
            rows.extend(shared.neighbours.iter().flat_map(NeighbourBuffers::allocated));
        }
        self.boxes.each(|boxes| rows.extend(boxes.allocated()));
        self.stagings.each(|staging| rows.extend(staging.allocated()));
        rows
    }

    /// Returns `true` if the budget allows `bytes` bytes in addition to the allocated bytes.
    fn is_affordable_beside(&self, bytes: u64, options: &Options, filters: &FilterSet) -> bool {
        is_affordable(options, (self.held_bytes() + filters.held_bytes()).saturating_add(bytes))
    }
}

/// Returns `true` if the budget allows this many bytes in total.
fn is_affordable(options: &Options, bytes: u64) -> bool {
    bytes <= options.memory_budget.unwrap_or(u64::MAX)
}

/// Converts [`Error::OutOfMemory`] to `Ok(None)`.
fn optional<T>(allocated: Result<T, Error>) -> Result<Option<T>, Error> {
    match allocated {
        Ok(value) => Ok(Some(value)),
        Err(Error::OutOfMemory { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}
