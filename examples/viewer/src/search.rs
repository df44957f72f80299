//! The broad phase of each frame: the calls of the library, and the values that it reads back without a stall.

use broadsweep::device::{Compilation, CompilationProgress, KernelTime};
use broadsweep::record::{GpuEvents, GpuIdentity, GpuPairs, PairHeader};
use broadsweep::{Error, Gpu, Options, Recorder, Report, wgpu};

use crate::scene::Scene;
use crate::settings::Settings;

/// The most boxes that the first frames test each against each.
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
    /// How far the kernels of the first frame are compiled, where not all are.
    pub compilation: Option<CompilationProgress>,
}

impl ReadBack {
    /// Returns how many pairs there were.
    pub fn pair_count(&self) -> Option<u64> {
        self.header.map(|header| (u64::from(header.count_high) << 32) + u64::from(header.count))
    }
}

/// The broad phase of a scene.
///
/// The first frames of a small scene test each box against each, which takes two kernels; the others are compiled meanwhile.
pub struct Search {
    recorder: Recorder,
    options: Options,
    box_count: u32,
    /// Kernels that a frame needs and that are not compiled yet.
    compilation: Option<Compilation>,
    /// Kernels that replace those of the first frames.
    later: Later,
}

/// The kernels that replace those of the first frames.
enum Later {
    /// Not requested: those of the first frames come first.
    Waiting,
    /// Not compiled yet.
    Compiling(Compilation),
    /// In use.
    Used,
}

impl Search {
    /// Prepares to search a scene, and starts to compile kernels.
    ///
    /// # Errors
    /// Those of the library.
    pub fn new(gpu: &Gpu, scene: &Scene, settings: &Settings) -> Result<Self, Error> {
        let (options, box_count) = (settings.options(), scene.box_count());
        let is_small = box_count <= START_BOXES;
        let first = if is_small { options.with_all_pairs_up_to(Some(START_BOXES)) } else { options };
        let mut recorder = Recorder::new(gpu, first)?;
        recorder.set_filters(scene.filters.clone())?;
        let compilation = Some(recorder.compile_ahead(box_count as usize));
        let later = if is_small { Later::Waiting } else { Later::Used };
        Ok(Self { recorder, options, box_count, compilation, later })
    }

    /// Starts to compile what the frames need.
    fn compile(&mut self) {
        self.later = Later::Used;
        self.compilation = Some(self.recorder.compile_ahead(self.box_count as usize));
    }

    /// Starts to compile the kernels that replace those of the first frames.
    fn compile_later(&self) -> Result<Compilation, Error> {
        let mut recorder = Recorder::new(self.recorder.gpu(), self.options)?;
        recorder.set_filters(self.recorder.filters().clone())?;
        Ok(recorder.compile_ahead(self.box_count as usize))
    }

    /// Goes over to another scene.
    ///
    /// # Errors
    /// Those of the library.
    pub fn change_scene(&mut self, scene: &Scene) -> Result<(), Error> {
        self.recorder.forget_steps();
        self.recorder.set_options(self.options)?;
        self.recorder.set_filters(scene.filters.clone())?;
        self.box_count = scene.box_count();
        self.compile();
        Ok(())
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
        self.compile();
        Ok(())
    }

    /// Returns whether all kernels of a frame are compiled; makes room once they are, so that no frame has to wait for more.
    ///
    /// # Errors
    /// Those of the library.
    pub fn is_ready(&mut self, pairs_per_box: u32) -> Result<bool, Error> {
        if let Some(compilation) = self.compilation.take_if(|compilation| compilation.is_finished()) {
            compilation.wait()?;
            self.make_room(pairs_per_box)?;
            return Ok(true);
        }
        if self.compilation.is_some() {
            return Ok(false);
        }
        match &self.later {
            // Not before the first pairs are shown: a browser compiles and runs one after the other.
            Later::Waiting if self.recorder.statistics().header.is_some() => {
                self.later = Later::Compiling(self.compile_later()?);
            }
            Later::Compiling(compilation) if compilation.is_finished() => self.use_later(pairs_per_box)?,
            _ => {}
        }
        Ok(true)
    }

    /// Returns whether kernels are being compiled, those of the first frames or others.
    #[cfg(target_arch = "wasm32")]
    pub fn is_compiling(&self) -> bool {
        self.compilation.is_some() || !matches!(self.later, Later::Used)
    }

    /// Goes over from the kernels of the first frames to the others, which are compiled.
    fn use_later(&mut self, pairs_per_box: u32) -> Result<(), Error> {
        if let Later::Compiling(compilation) = std::mem::replace(&mut self.later, Later::Used) {
            compilation.wait()?;
        }
        self.recorder.set_options(self.options)?;
        self.make_room(pairs_per_box)
    }

    /// Waits until all kernels are compiled, and makes room.
    ///
    /// # Errors
    /// Those of the library.
    pub async fn ready(&mut self, pairs_per_box: u32) -> Result<(), Error> {
        let compilation = match (std::mem::replace(&mut self.later, Later::Used), self.compilation.take()) {
            (Later::Used, None) => return Ok(()),
            (Later::Used, Some(compilation)) | (Later::Compiling(compilation), _) => compilation,
            (Later::Waiting, _) => self.compile_later()?,
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
            compilation: self.compilation.as_ref().map(Compilation::progress),
        }
    }

    /// Counts the bytes of device memory that the library holds.
    pub fn bytes(&self) -> u64 {
        self.recorder.statistics().memory_bytes
    }
}
