//! The broad phase of each frame: the calls of the library, and the values that it reads back without a stall.

use broadsweep::device::{Compilation, CompilationProgress, KernelTime};
use broadsweep::record::{GpuEvents, GpuIdentity, GpuPairs, PairHeader};
use broadsweep::{Error, Gpu, Options, Recorder, Report, wgpu};

use crate::scene::Scene;
use crate::settings::Settings;

/// The most boxes for which frames test all pairs while the kernels of a sweep are being compiled.
const START_BOXES: u32 = 1 << 13;

/// The result of a search, in buffers on the device.
pub struct Found<'a> {
    /// All pairs.
    pub pairs: GpuPairs<'a>,
    /// Created and lost pairs, if requested.
    pub events: Option<GpuEvents<'a>>,
}

/// Values of an earlier frame that were read back.
#[derive(Clone, Debug, Default)]
pub struct ReadBack {
    /// The header of the list, with the pair count.
    pub header: Option<PairHeader>,
    /// The report of the search.
    pub report: Option<Report>,
    /// The time of each kernel.
    pub times: Vec<KernelTime>,
    /// The progress of the kernels that the next frame waits for.
    pub compilation: Option<CompilationProgress>,
    /// The reason why frames test all pairs, if the sweep cannot be used.
    pub failure: Option<Error>,
}

impl ReadBack {
    /// Returns the pair count.
    pub fn pair_count(&self) -> Option<u64> {
        self.header.map(|header| (u64::from(header.count_high) << 32) + u64::from(header.count))
    }
}

/// The broad phase of a scene.
///
/// The frames of a small scene test all pairs until the kernels of the sweep are compiled. That needs few kernels,
/// which are usually compiled when scene or options change.
pub struct Search {
    recorder: Recorder,
    options: Options,
    box_count: u32,
    start: Start,
    sweep: Sweep,
}

/// The kernels that test all pairs.
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
    /// Not requested until the first pairs are shown and an earlier request is finished.
    Waiting(Option<Compilation>),
    /// Not compiled yet.
    Compiling(Compilation),
    /// In use.
    Used,
    /// Not usable, for this reason. Frames continue to test all pairs.
    Failed(Error),
}

impl Search {
    /// Prepares to search a scene, and starts to compile kernels.
    ///
    /// # Errors
    /// Errors of the library.
    pub fn new(gpu: &Gpu, scene: &Scene, settings: &Settings) -> Result<Self, Error> {
        let (options, box_count) = (settings.options(), scene.box_count());
        let mut recorder = Recorder::new(gpu, options)?;
        recorder.set_filters(scene.filters.clone())?;
        let (start, sweep) = (Start::TooManyBoxes, Sweep::Waiting(None));
        let mut search = Self { recorder, options, box_count, start, sweep };
        search.begin()?;
        Ok(search)
    }

    /// Starts to compile the kernels of the first frames.
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
            // Dropping it would block until the kernel in progress is compiled.
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

    /// Changes the scene.
    ///
    /// # Errors
    /// Errors of the library.
    pub fn change_scene(&mut self, scene: &Scene) -> Result<(), Error> {
        self.recorder.forget_steps();
        self.recorder.set_filters(scene.filters.clone())?;
        self.box_count = scene.box_count();
        self.begin()
    }

    /// Changes the options.
    ///
    /// # Errors
    /// Errors of the library.
    pub fn change_options(&mut self, settings: &Settings) -> Result<(), Error> {
        if !settings.has_events {
            self.recorder.forget_steps();
        }
        self.recorder.set_options(settings.options())?;
        self.options = settings.options();
        self.begin()
    }

    /// Returns whether the kernels of a frame are compiled. Then also allocates their memory, so that no frame
    /// reallocates.
    ///
    /// # Errors
    /// Errors of the library.
    pub fn is_ready(&mut self, pairs_per_box: u32) -> Result<bool, Error> {
        // Once the sweep is compiled, the kernels for all pairs are not needed.
        let advanced = self.advance(pairs_per_box);
        self.fall_back(advanced)?;
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

    /// Requests the kernels of the sweep when it is their turn, and uses the sweep once they are compiled.
    fn advance(&mut self, pairs_per_box: u32) -> Result<(), Error> {
        if let Sweep::Waiting(earlier) = &self.sweep
            && earlier.as_ref().is_none_or(Compilation::is_finished)
            // After the first pairs are shown, since a browser does not compile and run at the same time.
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

    /// Starts to compile the kernels of the sweep, without using them.
    fn request(&mut self) -> Result<Compilation, Error> {
        self.recorder.set_options(self.options)?;
        let compilation = self.compile_ahead();
        self.recorder.set_options(self.start_options())?;
        Ok(compilation)
    }

    /// Tests all pairs from now on, if the sweep failed and the scene is small.
    fn fall_back(&mut self, sweep: Result<(), Error>) -> Result<(), Error> {
        match sweep {
            Err(error) if !matches!(error, Error::DeviceLost { .. }) && self.box_count <= START_BOXES => {
                self.sweep = Sweep::Failed(error);
                self.recorder.set_options(self.start_options())
            }
            other => other,
        }
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

    /// Completes when all kernels are compiled and their memory is allocated.
    ///
    /// # Errors
    /// Errors of the library.
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
    /// Errors of the library.
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

    /// Returns values of an earlier frame. Does not wait.
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

    /// Returns the compilation that the next frame waits for.
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

#[cfg(test)]
mod tests {
    use wgpu::util::DeviceExt;

    use super::*;
    use crate::device;
    use crate::globals::Globals;
    use crate::simulation::Simulation;

    fn until_ready(search: &mut Search, scene: &Scene) {
        while !search.is_ready(scene.pairs_per_box).unwrap() {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
    }

    #[test]
    fn frames_of_small_scenes_test_all_pairs_after_the_sweep_failed() {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
        let adapter = pollster::block_on(instance.request_adapter(&Default::default())).expect("an adapter");
        let gpu = pollster::block_on(device::request(&adapter)).unwrap();
        let settings = Settings { box_count: 3000, has_events: false, ..Settings::default() };
        let scene = Scene::new(settings.kind, settings.box_count, &[]);
        let mut simulation = Simulation::new(gpu.device(), &scene);
        let globals = Globals { box_count: scene.box_count(), extent: scene.extent, ..bytemuck::Zeroable::zeroed() };
        let globals = gpu.device().create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: Some("globals"),
            contents: bytemuck::bytes_of(&globals),
            usage: wgpu::BufferUsages::UNIFORM,
        });
        let mut search = Search::new(&gpu, &scene, &settings).unwrap();
        let mut find = |search: &mut Search| {
            let mut encoder = gpu.device().create_command_encoder(&Default::default());
            simulation.record(&mut encoder, &globals);
            search.record(&mut encoder, &simulation.boxes, &settings).unwrap();
            gpu.queue().submit([encoder.finish()]);
            gpu.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
            let report = search.read_back().report.unwrap();
            (report.tested_all_pairs, report.pair_count)
        };
        pollster::block_on(search.ready(scene.pairs_per_box)).unwrap();
        let (tested_all_pairs, pair_count) = find(&mut search);
        assert!(!tested_all_pairs && (500..20_000).contains(&pair_count), "{pair_count}");

        let failure = Error::OutOfMemory { buffer: "pairs".to_owned(), bytes: 1 };
        search.fall_back(Err(failure.clone())).unwrap();
        until_ready(&mut search, &scene);
        assert_eq!(find(&mut search), (true, pair_count));
        assert_eq!(search.read_back().failure, Some(failure.clone()));

        search.change_options(&settings).unwrap();
        assert_eq!(search.read_back().failure, None);
        until_ready(&mut search, &scene);
        pollster::block_on(search.ready(scene.pairs_per_box)).unwrap();
        assert_eq!(find(&mut search), (false, pair_count));

        search.change_scene(&Scene::new(settings.kind, 2 * START_BOXES, &[])).unwrap();
        assert_eq!(search.fall_back(Err(failure.clone())), Err(failure), "a large scene needs the sweep");
    }
}
