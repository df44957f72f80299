//! [`BroadPhase`]: boxes and pairs in host memory. [`setup`] has options, filters and memory, [`core`] records searches, [`submit`]
//! submits them, [`collect`] reads pairs back, `stream_events` streams events, `slabs` searches more boxes than fit.

pub(crate) mod collect;
pub(crate) mod core;
#[cfg(not(target_arch = "wasm32"))]
mod cuts;
mod find;
mod flight;
mod merge;
#[cfg(not(target_arch = "wasm32"))]
mod neighbours;
mod partial;
mod setup;
#[cfg(not(target_arch = "wasm32"))]
pub mod slabs;
mod steps;
#[cfg(not(target_arch = "wasm32"))]
mod stream_events;
mod submissions;
mod submit;

#[cfg(not(target_arch = "wasm32"))]
pub use neighbours::Neighbours;
pub use setup::FilterOwner;
pub use submissions::Submissions;

use std::collections::VecDeque;
use std::sync::Arc;

use self::core::Core;
use self::partial::PartialAnswer;
use crate::events::OwnedStepSpec;
use crate::events::steps::Steps;
use crate::events::stream::Streamed;
use crate::filters::CheckedFilters;
use crate::filters::device::FilterSet;
#[cfg(not(target_arch = "wasm32"))]
use crate::filters::sets::TwoSets;
use crate::gpu::Gpu;
use crate::gpu::compilation::Compilation;
use crate::memory::{MOST_IN_FLIGHT, MemoryPlan};
use crate::{Attribute, Error, Filters, Options, Overlaps};

/// The engine that finds all overlapping pairs of boxes on a GPU. Keep one across calls: its kernels are compiled once,
/// and its buffers are reused and grow when they have to.
///
/// There are four ways to use it, all with the same flow:
/// - [`find_pairs`](Self::find_pairs) blocks and returns the pairs;
/// - [`stream_pairs`](Self::stream_pairs) blocks and hands over the pairs piece by piece, however many there are;
/// - [`submissions`](Self::submissions) has calls that do not block;
/// - [`find_events`](Self::find_events), [`stream_events`](Self::stream_events) and [`Submissions::submit_events`] return the pairs that began and
///   ended since the last step.
///
/// A [`Recorder`](crate::Recorder) takes boxes from a GPU buffer and leaves the pairs in one, in the caller's encoder.
///
/// [`set_filters`](Self::set_filters) specifies the reported pairs, for all of them. A call whose boxes do not fit the
/// filters is refused with [`Error::FilterLength`] or [`Error::BadFilter`] before any work.
///
/// More than half a megabyte of boxes or pairs in host memory is copied by the threads of the `rayon` pool that a call comes
/// from, as [`Tree`](crate::Tree) does with queries and answers: do not hold a lock that other tasks of that pool wait for.
///
/// Memory and work grow with boxes, entries and candidates; [`MemoryPlan`] predicts the memory. The two ways that block
/// accept more boxes than fit the device or the budget, in several passes; the others refuse them.
///
/// [`cpu::BroadPhase`](crate::cpu::BroadPhase) has the same calls on the CPU; [`Engine`](crate::Engine) is the trait of both
/// engines.
#[derive(Debug)]
pub struct BroadPhase {
    core: Core,
    filters: FilterSet,
    /// The last answer.
    found: Overlaps,
    partial: PartialAnswer,
    /// The last two sets that were joined.
    #[cfg(not(target_arch = "wasm32"))]
    sets: TwoSets,
    /// The data for the comparison with the next step.
    steps: Steps,
    /// The last streamed step.
    streamed: Streamed,
    /// The parameters of the steps in flight, and their filters.
    stepping: VecDeque<(OwnedStepSpec, Arc<CheckedFilters>)>,
}

impl BroadPhase {
    /// The most submissions whose results have not been taken.
    pub const SUBMISSIONS_IN_FLIGHT: usize = MOST_IN_FLIGHT;

    /// Creates an engine on this device. No memory is allocated for boxes yet, and nothing is compiled: a kernel is compiled
    /// by the first call on the device that needs it, or [ahead](Self::compile_ahead). A kernel that a driver rejects is an [`Error::Gpu`] of
    /// that call.
    ///
    /// # Errors
    /// [`Error::BadOption`], [`Error::OutOfMemory`], [`Error::DeviceLost`].
    pub fn new(gpu: &Gpu, options: Options) -> Result<Self, Error> {
        Ok(Self {
            core: Core::new(gpu, options)?,
            filters: FilterSet::new(gpu, Filters::default())?,
            found: Overlaps::default(),
            partial: PartialAnswer::default(),
            #[cfg(not(target_arch = "wasm32"))]
            sets: TwoSets::default(),
            steps: Steps::default(),
            streamed: Streamed::default(),
            stepping: VecDeque::new(),
        })
    }

    /// Returns the options in use.
    pub fn options(&self) -> &Options {
        &self.core.options
    }

    /// Sets other options, from the next call on. The kernels stay; the memory is released if it was laid out for
    /// another order or budget.
    ///
    /// # Errors
    /// [`Error::BadOption`], [`Error::Busy`]; the options do not change.
    pub fn set_options(&mut self, options: Options) -> Result<(), Error> {
        let options = options.checked(self.core.gpu.all_pairs_up_to())?;
        self.core.flight.check_idle()?;
        let before = std::mem::replace(&mut self.core.options, options);
        if (options.order, options.memory_budget) != (before.order, before.memory_budget) {
            self.core.workspace.reset();
        }
        Ok(())
    }

    // ---- filters ----

    /// Sets the filters, which exclude or include pairs, from the next call on, until they are replaced;
    /// `Filters::default()` reports every pair of boxes that overlap.
    ///
    /// The filters are uploaded once, by the next call. Kernels that test pairs have a second form that reads filters, which the first
    /// call on the device with any filters compiles.
    ///
    /// # Errors
    /// [`Error::BadFilter`] for what has no meaning with any boxes; [`Error::Busy`] while a result is to be taken, with a
    /// [memory budget](Options::memory_budget); [`Error::OutOfMemory`], [`Error::DeviceLost`]. The filters do not change.
    /// Each call checks whether the filters fit its boxes: [`Filters::check`].
    pub fn set_filters(&mut self, filters: Filters) -> Result<(), Error> {
        self.core.replace_filters(&mut self.filters, filters)?;
        self.streamed.filters_changed();
        Ok(())
    }

    /// Returns the filters in use.
    pub fn filters(&self) -> &Filters {
        self.filters.filters()
    }

    /// Changes one list of the filters from box `first` on, and uploads no more than that (of the worlds, all): for
    /// changes from call to call, such as sleeping flags.
    ///
    /// # Errors
    /// [`Error::BadFilter`] if the list is shorter, or not in use, or a margin is negative or not finite;
    /// [`Error::Busy`] while a result is to be taken, with a [memory budget](Options::memory_budget): nothing is changed then.
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`], [`Error::Gpu`]: the list is changed, and the next call uploads it.
    pub fn change_filters(&mut self, first: usize, values: Attribute<'_>) -> Result<(), Error> {
        let changed = self.core.change_filters(&mut self.filters, first, values);
        if !matches!(values, Attribute::Sleeping(_)) {
            self.streamed.filters_changed();
        }
        changed
    }

    // ---- steps ----

    /// Forgets all steps, found and streamed: in the next one, every pair is created.
    pub fn forget_steps(&mut self) {
        self.steps = Steps::default();
        self.streamed = Streamed::default();
    }

    // ---- memory ----

    /// Predicts the GPU memory that `box_count` boxes would take on this device, with the [filters](Self::set_filters).
    ///
    /// # Errors
    /// [`Error::TooManyBoxes`], [`Error::OverBudget`] if the boxes do not fit one pass.
    /// [`find_pairs`](Self::find_pairs) and [`stream_pairs`](Self::stream_pairs) then take several passes; any other
    /// call returns this error.
    pub fn memory_plan(&self, box_count: usize) -> Result<MemoryPlan, Error> {
        self.core.workspace.plan(box_count, &self.core.options, &self.filters)
    }

    /// Returns the bytes of allocated GPU memory: buffers of searches and of filters.
    pub fn memory_bytes(&self) -> u64 {
        self.buffers().iter().map(|(_, bytes)| bytes).sum()
    }

    /// Lists the GPU buffers by name, with their allocated bytes.
    #[doc(hidden)]
    pub fn buffers(&self) -> Vec<(&'static str, u64)> {
        let mut rows = self.core.workspace.allocated_rows();
        rows.extend(self.filters.allocated());
        rows
    }

    /// Allocates for `box_count` boxes and a list of `pair_capacity` pairs (as far as limits and budget allow), and
    /// compiles kernels, now rather than in the first call that needs them.
    ///
    /// # Errors
    /// [`Error::TooManyBoxes`], [`Error::OverBudget`], [`Error::OutOfMemory`], [`Error::Busy`], [`Error::Gpu`],
    /// [`Error::DeviceLost`].
    pub fn reserve(&mut self, box_count: usize, pair_capacity: u32) -> Result<(), Error> {
        self.core.reserve(&mut self.filters, box_count, pair_capacity)
    }

    /// Starts to compile the kernels that a call for `box_count` boxes needs with the filters and options there are, and returns at once:
    /// other threads compile, or the browser does. Each kernel is compiled once on a device. Calls in the meantime wait for the kernels
    /// that they need. [`Compilation`] reports progress, and can wait.
    ///
    /// ```no_run
    /// # use broadsweep::{Aabb, BroadPhase, Error};
    /// # fn load() -> Vec<Aabb> { Vec::new() }
    /// # fn run(broad_phase: &mut BroadPhase) -> Result<(), Error> {
    /// let compilation = broad_phase.compile_ahead(100_000);
    /// let boxes = load();
    /// compilation.wait()?; // or compilation.await, or check is_finished() and progress() in each frame
    /// broad_phase.find_pairs(&boxes)?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn compile_ahead(&self, box_count: usize) -> Compilation {
        self.core.compile_ahead(&self.filters, box_count, Vec::new())
    }
}

impl<'a> From<&'a mut BroadPhase> for FilterOwner<'a> {
    fn from(owner: &'a mut BroadPhase) -> Self {
        Self { core: &mut owner.core, filters: &mut owner.filters }
    }
}
