//! [`BroadPhase`]: boxes and pairs in host memory. [`setup`] has options, filters and memory. [`core`](self::core)
//! records searches, [`submit`] submits them, and [`collect`] reads pairs back. `stream_events` streams events. `slabs`
//! searches more boxes than fit.

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

/// The engine that finds all overlapping pairs of boxes on a GPU. Reuse the engine: its kernels are compiled once, and
/// its buffers grow only if necessary.
///
/// There are four kinds of calls, all with the same flow:
/// - [`find_pairs`](Self::find_pairs) blocks and returns the pairs;
/// - [`stream_pairs`](Self::stream_pairs) blocks and passes the pairs to a callback piece by piece, even if they exceed
///   host memory;
/// - [`submissions`](Self::submissions) has the calls that do not block;
/// - [`find_events`](Self::find_events), [`stream_events`](Self::stream_events) and [`Submissions::submit_events`]
///   return the pairs that began and ended since the last step.
///
/// A [`Recorder`](crate::Recorder) records the same search into the caller's encoder, from a GPU buffer of boxes to a
/// GPU buffer of pairs.
///
/// [`set_filters`](Self::set_filters) selects the reported pairs, for all calls. If the boxes do not fit the filters, a
/// call returns [`Error::FilterLength`] or [`Error::BadFilter`] before any upload.
///
/// The threads of the caller's `rayon` pool copy boxes and pairs of more than half a megabyte. [`Tree`](crate::Tree)
/// copies queries and answers in the same way. So do not hold a lock during a call if other tasks of this pool wait for
/// the lock.
///
/// Memory and time grow with boxes, entries and candidates; [`MemoryPlan`] predicts the memory. Boxes may exceed the
/// device's limits or the budget: blocking calls then search in several passes, and other calls return an error.
///
/// [`cpu::BroadPhase`](crate::cpu::BroadPhase) has the same calls on the CPU; [`Engine`](crate::Engine) is the trait of
/// both engines.
#[derive(Debug)]
pub struct BroadPhase {
    core: Core,
    filters: FilterSet,
    /// The result of the last search.
    found: Overlaps,
    partial: PartialAnswer,
    /// The last two joined sets.
    #[cfg(not(target_arch = "wasm32"))]
    sets: TwoSets,
    /// The last step, for the comparison with the next step.
    steps: Steps,
    /// The last streamed step.
    streamed: Streamed,
    /// The specifications of the steps in flight, and their filters.
    stepping: VecDeque<(OwnedStepSpec, Arc<CheckedFilters>)>,
}

impl BroadPhase {
    /// The most submissions in flight: submissions whose results have not been taken.
    pub const SUBMISSIONS_IN_FLIGHT: usize = MOST_IN_FLIGHT;

    /// Creates an engine on this device. It allocates no memory for boxes and compiles nothing. The first call on the
    /// device that needs a kernel compiles it, unless it was compiled [ahead](Self::compile_ahead). If the driver
    /// rejects the kernel, the call returns [`Error::Gpu`].
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

    /// Replaces the options, from the next call on. The compiled kernels are retained. The memory is released if the
    /// pair order or the budget changes.
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

    /// Replaces the filters, which exclude or include pairs, from the next call on. `Filters::default()` reports every
    /// overlapping pair.
    ///
    /// The next call uploads the filters once. Kernels that test pairs have a second form with filters. The first call
    /// with filters on a device compiles this form.
    ///
    /// # Errors
    /// [`Error::BadFilter`] if a value is invalid, whatever the boxes are; [`Error::Busy`] if there is a [memory
    /// budget](Options::memory_budget) and a result was not taken; [`Error::OutOfMemory`], [`Error::DeviceLost`]. After
    /// an error the filters are unchanged. Each call checks whether the filters fit its boxes: [`Filters::check`].
    pub fn set_filters(&mut self, filters: Filters) -> Result<(), Error> {
        self.core.replace_filters(&mut self.filters, filters)?;
        self.streamed.filters_changed();
        Ok(())
    }

    /// Returns the filters in use.
    pub fn filters(&self) -> &Filters {
        self.filters.filters()
    }

    /// Replaces the values of one list of the filters from box `first` on. The call uploads only these values, or the
    /// whole list for worlds. Use it for values that change from call to call, such as sleeping flags.
    ///
    /// # Errors
    /// [`Error::BadFilter`] if the list is empty or too short, or a margin is negative or not finite; [`Error::Busy`]
    /// if there is a [memory budget](Options::memory_budget) and a result was not taken. After these two errors the
    /// list is unchanged. After [`Error::OutOfMemory`], [`Error::DeviceLost`] or [`Error::Gpu`] it is changed, and the
    /// next call uploads it.
    pub fn change_filters(&mut self, first: usize, values: Attribute<'_>) -> Result<(), Error> {
        let changed = self.core.change_filters(&mut self.filters, first, values);
        if !matches!(values, Attribute::Sleeping(_)) {
            self.streamed.filters_changed();
        }
        changed
    }

    // ---- steps ----

    /// Forgets the last step of [`find_events`](Self::find_events), and the last streamed step. In the next step, every
    /// pair is created.
    pub fn forget_steps(&mut self) {
        self.steps = Steps::default();
        self.streamed = Streamed::default();
    }

    // ---- memory ----

    /// Predicts the GPU memory of a search of `box_count` boxes on this device, with the current
    /// [filters](Self::set_filters). Allocates nothing.
    ///
    /// # Errors
    /// [`Error::TooManyBoxes`], [`Error::OverBudget`] if the boxes do not fit one pass.
    /// [`find_pairs`](Self::find_pairs) and [`stream_pairs`](Self::stream_pairs) then search in several passes; any
    /// other call returns this error.
    pub fn memory_plan(&self, box_count: usize) -> Result<MemoryPlan, Error> {
        self.core.workspace.plan(box_count, &self.core.options, &self.filters)
    }

    /// Returns the bytes of allocated GPU memory: all buffers of searches and filters.
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

    /// Allocates memory for `box_count` boxes and a list of `pair_capacity` pairs, and compiles the kernels. Limits and
    /// budget can shorten the list. Without this call, the first search allocates and compiles.
    ///
    /// # Errors
    /// [`Error::TooManyBoxes`], [`Error::OverBudget`], [`Error::OutOfMemory`], [`Error::Busy`], [`Error::Gpu`],
    /// [`Error::DeviceLost`].
    pub fn reserve(&mut self, box_count: usize, pair_capacity: u32) -> Result<(), Error> {
        self.core.reserve(&mut self.filters, box_count, pair_capacity)
    }

    /// Starts to compile the kernels for calls with `box_count` boxes and the current filters and options, and returns
    /// at once. Other threads, or the browser, compile the kernels. Each kernel is compiled once per device. A call
    /// waits for the kernels that it needs. The returned [`Compilation`] reports progress, and can wait.
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
