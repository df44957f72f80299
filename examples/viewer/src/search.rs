//! The broad phase of each frame: the calls of the library, and the values that it reads back without a stall.

use broadsweep::device::{Compilation, CompilationProgress, KernelTime};
use broadsweep::record::{GpuEvents, GpuIdentity, GpuPairs, PairHeader};
use broadsweep::{Error, Gpu, Options, Recorder, Report, wgpu};

use crate::scene::Scene;
use crate::settings::Settings;

/// The most boxes that frames test each against each while the kernels of a sweep are compiled.
const START_BOXES: u32 = 1 << 13;

/// What was left on the device by the search of a frame.
pub struct Found<'a> {
    /// All pairs.
    pub pairs: GpuPairs<'a>,
    /// Created and lost pairs, if requested.
    pub events: Option<GpuEvents<'a>>,
}

/// What is known on the host of a frame some frames ago.
#[derive(Clone, Debug, Default)]
pub struct ReadBack {
    /// How many pairs there were.
    pub header: Option<PairHeader>,
    /// How they were found; of searches without events.
    pub report: Option<Report>,
    /// How long each kernel took.
    pub times: Vec<KernelTime>,
    /// How far the kernels are compiled that the next frame waits for.
    pub compilation: Option<CompilationProgress>,
    /// Why frames go on testing each box against each, where the kernels of the sweep cannot be used.
    pub failure: Option<Error>,
}

impl ReadBack {
    /// Returns how many pairs there were.
    pub fn pair_count(&self) -> Option<u64> {
        self.header.map(|header| (u64::from(header.count_high) << 32) + u64::from(header.count))
    }
}

/// The broad phase of a scene.
///
/// The frames of a small scene test each box against each until the kernels of the sweep are compiled. That takes few kernels, which
/// are usually compiled when scene or options change.
pub struct Search {
    recorder: Recorder,
    options: Options,
    box_count: u32,
    start: Start,
    sweep: Sweep,
}

/// The kernels that test each box against each.
enum Start {
    /// There are too many boxes for them.
    TooManyBoxes,
    /// Not compiled yet.
    Compiling(Compilation),
    /// Compiled.
    Ready,
}

/// The kernels of the requested options.
enum Sweep {
    /// Not requested: the first pairs come first, and kernels of an earlier request.
    Waiting(Option<Compilation>),
    /// Not compiled yet.
    Compiling(Compilation),
    /// In use.
    Used,
    /// Not usable, for this reason: frames go on with those that test each box against each.
    Failed(Error),
}

impl Search {
    /// Prepares to search a scene, and starts to compile kernels.
    ///
    /// # Errors
    /// Those of the library.
    pub fn new(gpu: &Gpu, scene: &Scene, settings: &Settings) -> Result<Self, Error> {
        let (options, box_count) = (settings.options(), scene.box_count());
        let mut recorder = Recorder::new(gpu, options)?;
        recorder.set_filters(scene.filters.clone())?;
        let (start, sweep) = (Start::TooManyBoxes, Sweep::Waiting(None));
        let mut search = Self { recorder, options, box_count, start, sweep };
        search.begin()?;
        Ok(search)
    }

    /// Starts to compile what the frames need.
    fn begin(&mut self) -> Result<(), Error> {
        let is_small = self.box_count <= START_BOXES;
        self.recorder.set_options(self.start_options())?;
        let earlier = match std::mem::replace(&mut self.sweep, Sweep::Used) {
            Sweep::Compiling(compilation) | Sweep::Waiting(Some(compilation)) => Some(compilation),
            _ => None,
        };
        self.start = if is_small { Start::Compiling(self.compile_ahead()) } else { Start::TooManyBoxes };
        self.sweep = match earlier {
            None if !is_small => Sweep::Compiling(self.compile_ahead()),
            // To drop it now would wait for the kernel that is being compiled.
            earlier => Sweep::Waiting(earlier),
        };
        Ok(())
    }

    /// Returns the options until the kernels of the sweep are compiled.
    fn start_options(&self) -> Options {
        let Self { options, box_count, .. } = *self;
        if box_count <= START_BOXES { options.with_all_pairs_up_to(Some(START_BOXES)) } else { options }
    }

    fn compile_ahead(&self) -> Compilation {
        self.recorder.compile_ahead(self.box_count as usize)
    }

    /// Goes over to another scene.
    ///
    /// # Errors
    /// Those of the library.
    pub fn change_scene(&mut self, scene: &Scene) -> Result<(), Error> {
        self.recorder.forget_steps();
        self.recorder.set_filters(scene.filters.clone())?;
        self.box_count = scene.box_count();
        self.begin()
    }

    /// Goes over to other options.
    ///
    /// # Errors
    /// Those of the library.
    pub fn change_options(&mut self, settings: &Settings) -> Result<(), Error> {
        if !settings.has_events {
            self.recorder.forget_steps();
        }
        self.recorder.set_options(settings.options())?;
        self.options = settings.options();
        self.begin()
    }

    /// Returns whether the kernels of a frame are compiled; makes room once they are, so that no frame has to wait for more.
    ///
    /// # Errors
    /// Those of the library.
    pub fn is_ready(&mut self, pairs_per_box: u32) -> Result<bool, Error> {
        // First: where all are compiled, the others are not needed.
        match self.advance(pairs_per_box) {
            Err(error) if self.can_do_without(&error) => self.fall_back(error)?,
            advanced => advanced?,
        }
        if matches!(self.sweep, Sweep::Used) {
            return Ok(true);
        }
        if let Start::Compiling(compilation) = &self.start
            && compilation.is_finished()
            && let Start::Compiling(compilation) = std::mem::replace(&mut self.start, Start::Ready)
        {
            compilation.wait()?;
            self.make_room(pairs_per_box)?;
        }
        Ok(matches!(self.start, Start::Ready))
    }

    /// Requests the kernels of the sweep when it is their turn, and goes over to them once they are compiled.
    fn advance(&mut self, pairs_per_box: u32) -> Result<(), Error> {
        if let Sweep::Waiting(earlier) = &self.sweep
            && earlier.as_ref().is_none_or(Compilation::is_finished)
            // Not before the first pairs are shown: a browser compiles and runs one after the other.
            && (matches!(self.start, Start::TooManyBoxes) || self.recorder.statistics().header.is_some())
        {
            self.sweep = Sweep::Compiling(self.request()?);
        }
        if let Sweep::Compiling(compilation) = &self.sweep
            && compilation.is_finished()
            && let Sweep::Compiling(compilation) = std::mem::replace(&mut self.sweep, Sweep::Used)
        {
            compilation.wait()?;
            self.recorder.set_options(self.options)?;
            self.make_room(pairs_per_box)?;
        }
        Ok(())
    }

    /// Starts to compile the kernels of the sweep, and leaves the recorder with those that it has.
    fn request(&mut self) -> Result<Compilation, Error> {
        self.recorder.set_options(self.options)?;
        let compilation = self.compile_ahead();
        self.recorder.set_options(self.start_options())?;
        Ok(compilation)
    }

    /// Returns whether frames can go on without the sweep after this error.
    fn can_do_without(&self, error: &Error) -> bool {
        !matches!(error, Error::DeviceLost { .. }) && !matches!(self.start, Start::TooManyBoxes)
    }

    /// Goes back to testing each box against each.
    fn fall_back(&mut self, error: Error) -> Result<(), Error> {
        self.sweep = Sweep::Failed(error);
        self.recorder.set_options(self.start_options())
    }

    /// Returns whether kernels are being compiled.
    #[cfg(target_arch = "wasm32")]
    pub fn is_compiling(&self) -> bool {
        match self.sweep {
            Sweep::Waiting(_) | Sweep::Compiling(_) => true,
            Sweep::Used => false,
            Sweep::Failed(_) => matches!(self.start, Start::Compiling(_)),
        }
    }

    /// Waits until all kernels are compiled, and makes room.
    ///
    /// # Errors
    /// Those of the library.
    pub async fn ready(&mut self, pairs_per_box: u32) -> Result<(), Error> {
        let compilation = match std::mem::replace(&mut self.sweep, Sweep::Used) {
            Sweep::Used => return Ok(()),
            Sweep::Compiling(compilation) => compilation,
            Sweep::Waiting(_) | Sweep::Failed(_) => self.request()?,
        };
        compilation.await?;
        self.recorder.set_options(self.options)?;
        self.make_room(pairs_per_box)
    }

    fn make_room(&mut self, pairs_per_box: u32) -> Result<(), Error> {
        self.recorder.reserve(self.box_count as usize, self.box_count.saturating_mul(pairs_per_box))
    }

    /// Records the search of a frame.
    ///
    /// # Errors
    /// Those of the library.
    pub fn record(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        boxes: &wgpu::Buffer,
        settings: &Settings,
    ) -> Result<Found<'_>, Error> {
        self.recorder.time_recordings(settings.is_timed);
        if settings.has_events {
            let events = self.recorder.record_events(encoder, boxes.slice(..), self.box_count, GpuIdentity::Index)?;
            Ok(Found { pairs: events.pairs, events: Some(events) })
        } else {
            let pairs = self.recorder.record(encoder, boxes.slice(..), self.box_count)?;
            Ok(Found { pairs, events: None })
        }
    }

    /// Returns what is known of a frame some frames ago. Does not wait.
    pub fn read_back(&self) -> ReadBack {
        let statistics = self.recorder.statistics();
        ReadBack {
            header: statistics.header,
            report: statistics.report,
            times: statistics.times.unwrap_or_default(),
            compilation: self.awaited().map(Compilation::progress),
            failure: if let Sweep::Failed(error) = &self.sweep { Some(error.clone()) } else { None },
        }
    }

    /// Returns what the next frame waits for.
    fn awaited(&self) -> Option<&Compilation> {
        match (&self.start, &self.sweep) {
            (_, Sweep::Used) | (Start::Ready, _) => None,
            (Start::Compiling(compilation), _) | (Start::TooManyBoxes, Sweep::Compiling(compilation)) => {
                Some(compilation)
            }
            (Start::TooManyBoxes, Sweep::Waiting(earlier)) => earlier.as_ref(),
            (Start::TooManyBoxes, Sweep::Failed(_)) => None,
        }
    }

    /// Counts the bytes of device memory that the library holds.
    pub fn bytes(&self) -> u64 {
        self.recorder.statistics().memory_bytes
    }
}
