//! The broad phase of each frame: the calls of the library, and the values that it reads back without a stall.

use broadsweep::device::{Compilation, CompilationProgress, KernelTime};
use broadsweep::record::{GpuEvents, GpuIdentity, GpuPairs, PairHeader};
use broadsweep::{Error, Gpu, Recorder, Report, wgpu};

use crate::scene::Scene;
use crate::settings::Settings;

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
    /// How far kernels are compiled, where not all are.
    pub compilation: Option<CompilationProgress>,
}

impl ReadBack {
    /// Returns how many pairs there were.
    pub fn pair_count(&self) -> Option<u64> {
        self.header.map(|header| (u64::from(header.count_high) << 32) + u64::from(header.count))
    }
}

/// The broad phase of a scene.
pub struct Search {
    recorder: Recorder,
    box_count: u32,
    has_events: bool,
    /// Kernels that are not compiled yet.
    compilation: Option<Compilation>,
}

impl Search {
    /// Prepares to search a scene, and starts to compile kernels.
    ///
    /// # Errors
    /// Those of the library.
    pub fn new(gpu: &Gpu, scene: &Scene, settings: &Settings) -> Result<Self, Error> {
        let mut recorder = Recorder::new(gpu, settings.options())?;
        recorder.set_filters(scene.filters.clone())?;
        let (box_count, has_events) = (scene.box_count(), settings.has_events);
        let mut search = Self { recorder, box_count, has_events, compilation: None };
        search.compile();
        Ok(search)
    }

    /// Starts to compile what the frames need.
    fn compile(&mut self) {
        self.compilation = Some(self.recorder.compile_ahead(self.box_count as usize));
    }

    /// Goes over to another scene.
    ///
    /// # Errors
    /// Those of the library.
    pub fn change_scene(&mut self, scene: &Scene) -> Result<(), Error> {
        self.recorder.forget_steps();
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
        self.has_events = settings.has_events;
        self.compile();
        Ok(())
    }

    /// Returns whether all kernels are compiled; makes room once they are, so that no frame has to wait for more.
    ///
    /// # Errors
    /// Those of the library.
    pub fn is_ready(&mut self, pairs_per_box: u32) -> Result<bool, Error> {
        let Some(compilation) = self.compilation.take_if(|compilation| compilation.is_finished()) else {
            return Ok(self.compilation.is_none());
        };
        compilation.wait()?;
        self.make_room(pairs_per_box)?;
        Ok(true)
    }

    /// Waits until all kernels are compiled, and makes room.
    ///
    /// # Errors
    /// Those of the library.
    pub async fn ready(&mut self, pairs_per_box: u32) -> Result<(), Error> {
        if let Some(compilation) = self.compilation.take() {
            compilation.await?;
            self.make_room(pairs_per_box)?;
        }
        Ok(())
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
