//! [`Recorder`]: searches with boxes and pairs on the device. [`pairs`] records searches, [`steps`] events,
//! [`neighbours`] pairs by box, [`filters`] changes of filters. [`readbacks`] reads statistics back.

mod filters;
mod input;
mod neighbours;
mod pairs;
mod readbacks;
mod steps;

pub use input::GpuInput;
pub use neighbours::GpuNeighbours;
pub use pairs::GpuCount;
pub use readbacks::RecordingStatistics;

use std::mem::replace;
use std::sync::Mutex;

use self::readbacks::{Readbacks, unlocked};
use crate::broad_phase::FilterOwner;
use crate::broad_phase::core::Core;
use crate::filters::device::FilterSet;
use crate::filters::lists::SearchKind;
use crate::gpu::Gpu;
use crate::gpu::compilation::Compilation;
use crate::memory::{Call, MemoryPlan};
use crate::pairs::events::EventKernels;
use crate::pairs::recorded::RecordedSteps;
use crate::{Attribute, Error, Filters, Options};

/// Records searches into the caller's command encoders. Boxes or [points](crate::record::GpuInput) come from buffers of
/// the device, and pairs stay on the device. Reuse the recorder: its kernels are compiled once, and its buffers grow
/// only if necessary.
///
/// - [`record`](Self::record) writes a list of pairs, with a header and the arguments of indirect calls.
///   [`record_window`](Self::record_window) writes the rest of a list that was too short.
///   [`record_neighbours`](Self::record_neighbours) writes the same pairs by box.
/// - [`record_events`](Self::record_events) writes the pairs that are created, lost or persisting since the last
///   recorded step.
/// - [`record_filters`](Self::record_filters), [`record_half_spaces`](Self::record_half_spaces) and
///   [`record_exclude`](Self::record_exclude) read filters from buffers of the device.
///
/// The host does not wait for results: [`statistics`](Self::statistics) returns the pair count some frames later. A
/// call blocks if it compiles kernels (see [`compile_ahead`](Self::compile_ahead)), allocates, or needs larger buffers
/// for events. Recordings and `statistics` poll the device, so callbacks of the program may run in them.
///
/// If a list was too short, a later recording allocates a list for 1.5 times the counted pairs. The limits are the
/// largest binding of the device and the [memory budget](Options::memory_budget). Set a budget to use
/// [windows](Self::record_window) of a short list instead.
///
/// The next recording overwrites the lists, so the lists borrow the recorder. Record all commands that read a list
/// before the next recording, and submit in the order of recording. For more boxes than fit one pass, use
/// [`BroadPhase`](crate::BroadPhase). A recorder and a broad phase on one device have separate buffers, but share
/// kernels.
#[derive(Debug)]
pub struct Recorder {
    /// The core. The budget in its options is the part for searches.
    core: Core,
    options: Options,
    filters: FilterSet,
    steps: RecordedSteps,
    readbacks: Mutex<Readbacks>,
}

impl Recorder {
    /// Creates a recorder on this device. It allocates no memory for boxes and compiles nothing. The first call on the
    /// device that needs a kernel compiles it, unless it was compiled [ahead](Self::compile_ahead).
    ///
    /// # Errors
    /// [`Error::BadOption`], [`Error::OutOfMemory`], [`Error::DeviceLost`].
    pub fn new(gpu: &Gpu, options: Options) -> Result<Self, Error> {
        let core = Core::new(gpu, options)?;
        let filters = FilterSet::new(gpu, Filters::default())?;
        Ok(Self {
            options: core.options,
            core,
            filters,
            steps: RecordedSteps::default(),
            readbacks: Mutex::new(Readbacks::default()),
        })
    }

    /// Returns the options in use.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Replaces the options, from the next recording on. The memory is released if the pair order or the budget
    /// changes. If the events of [steps](Self::record_events) do not fit a smaller budget, the steps are forgotten.
    ///
    /// # Errors
    /// [`Error::BadOption`]; the options do not change.
    pub fn set_options(&mut self, options: Options) -> Result<(), Error> {
        let options = options.checked(self.core.gpu.all_pairs_up_to())?;
        let before = replace(&mut self.options, options);
        self.core.options = Options { memory_budget: self.core.options.memory_budget, ..options };
        if (options.order, options.memory_budget) != (before.order, before.memory_budget) {
            self.core.workspace.reset();
        }
        if let Some(budget) = options.memory_budget {
            self.steps.release_above(budget / 2);
        }
        self.apply_budget(self.steps.is_in_use());
        Ok(())
    }

    /// Replaces the filters, which exclude or include pairs, from the next recording on; see
    /// [`BroadPhase::set_filters`](crate::BroadPhase::set_filters).
    ///
    /// # Errors
    /// [`Error::BadFilter`] if a value is invalid, whatever the boxes are; [`Error::OutOfMemory`],
    /// [`Error::DeviceLost`]. After an error the filters are unchanged. Each recording checks whether the filters fit
    /// its boxes: [`Filters::check`].
    pub fn set_filters(&mut self, filters: Filters) -> Result<(), Error> {
        self.core.replace_filters(&mut self.filters, filters)
    }

    /// Returns the filters in use. They include changes by the host, but not changes by
    /// [`record_filters`](Self::record_filters), [`record_half_spaces`](Self::record_half_spaces) and
    /// [`record_exclude`](Self::record_exclude).
    pub fn filters(&self) -> &Filters {
        self.filters.filters()
    }

    /// Replaces the values of one list of the filters from box `first` on. Uploads only these values, or the whole list
    /// for worlds. A recorded search that is submitted later reads the changed list.
    ///
    /// # Errors
    /// [`Error::BadFilter`] if the list is empty or too short, or was changed on the device
    /// ([`record_filters`](Self::record_filters)), or a margin is negative or not finite; then the list is unchanged.
    /// After [`Error::OutOfMemory`], [`Error::DeviceLost`] or [`Error::Gpu`] it is changed, and the next recording
    /// uploads it.
    pub fn change_filters(&mut self, first: usize, values: Attribute<'_>) -> Result<(), Error> {
        self.core.change_filters(&mut self.filters, first, values)
    }

    /// Forgets the last step, and releases the memory of events. In the next step, every pair is created.
    pub fn forget_steps(&mut self) {
        self.steps = RecordedSteps::default();
        self.apply_budget(false);
    }

    /// Predicts the GPU memory of a search of `box_count` boxes, with the [filters](Self::set_filters) in use.
    /// Allocates nothing.
    ///
    /// # Errors
    /// [`Error::TooManyBoxes`], [`Error::OverBudget`] if the boxes do not fit one pass.
    pub fn memory_plan(&self, box_count: usize) -> Result<MemoryPlan, Error> {
        self.core.workspace.plan(box_count, &self.core.options, &self.filters)
    }

    /// Returns the device.
    pub fn gpu(&self) -> &Gpu {
        &self.core.gpu
    }

    /// Lists the GPU buffers by name, with their allocated bytes.
    #[doc(hidden)]
    pub fn buffers(&self) -> Vec<(&'static str, u64)> {
        let mut rows = self.core.workspace.allocated_rows();
        rows.extend(self.filters.allocated());
        rows.extend(self.steps.allocated());
        rows
    }

    /// Allocates memory for `box_count` boxes and a list of `pair_capacity` pairs, and compiles the kernels. Limits and
    /// budget can shorten the list. Without this call, the first recording allocates and compiles. The list of the last
    /// [`record`](Self::record) is discarded.
    ///
    /// # Errors
    /// [`Error::TooManyBoxes`], [`Error::OverBudget`], [`Error::OutOfMemory`], [`Error::Gpu`], [`Error::DeviceLost`].
    pub fn reserve(&mut self, box_count: usize, pair_capacity: u32) -> Result<(), Error> {
        self.core.reserve(&mut self.filters, box_count, pair_capacity)
    }

    /// Starts to compile the kernels that [`record`](Self::record) and [`record_events`](Self::record_events) need for
    /// `box_count` boxes, and returns at once, as [`BroadPhase::compile_ahead`](crate::BroadPhase::compile_ahead) does.
    pub fn compile_ahead(&self, box_count: usize) -> Compilation {
        let comparison = EventKernels::new(&self.core.gpu).kernels().to_vec();
        self.core.compile_ahead(&self.filters, box_count, comparison)
    }

    /// Ensures capacity for a recording. If an earlier list was too short, the new list gets 1.5 times its pair count.
    fn ensure_capacity(&mut self, box_count: u32, kind: SearchKind) -> Result<Call, Error> {
        // Ignore an error of the poll: the next call that can fail returns it.
        let _ = self.core.gpu.device().poll(wgpu::PollType::Poll);
        let missed = unlocked(&mut self.readbacks).take_missed_pairs();
        let capacity = self.core.workspace.shared().map_or(0, |shared| shared.plan.pair_capacity);
        if missed > capacity.into() {
            self.core.workspace.request_pairs(missed.saturating_add(missed / 2));
        }
        self.core.ensure_capacity(&mut self.filters, box_count as usize, 0, kind)
    }
}

impl<'a> From<&'a mut Recorder> for FilterOwner<'a> {
    fn from(owner: &'a mut Recorder) -> Self {
        Self { core: &mut owner.core, filters: &mut owner.filters }
    }
}
