//! Records a frame.

use broadsweep::{Aabb, Gpu, wgpu};
use glam::Vec2;

use crate::camera::Camera;
use crate::clock::Clock;
use crate::error::Error;
use crate::globals::Globals;
use crate::grid;
use crate::picture::{Drawn, Format, Picture, Target};
use crate::pointer::Pointer;
use crate::scene::Scene;
use crate::search::{ReadBack, Search};
use crate::settings::{Lines, Settings};
use crate::simulation::Simulation;
use crate::touch::Touch;
#[cfg(not(target_arch = "wasm32"))]
use crate::warm::Warm;

/// Scene seconds between two frames, the same on all machines.
pub const STEP: f32 = 1.0 / 60.0;
/// The upward speed of a throw, in units per second.
const KICK: f32 = 9.0;
/// The pair count above which the lines of all pairs become fainter.
const FULL: f32 = 4_000.0;

/// The state of one scene.
struct Stage {
    scene: Scene,
    simulation: Simulation,
    touch: Touch,
    pointer: Pointer,
    /// The scene's frames and seconds.
    frame: u32,
    time: f32,
    /// True if the next frame has an earlier one to compare with.
    has_last: bool,
}

/// A scene on a device, its search, and its picture.
pub struct Viewer {
    gpu: Gpu,
    /// Settings, which take effect in the next frame.
    pub settings: Settings,
    /// The camera.
    pub camera: Camera,
    /// The pointer in the picture, from -1 to 1 to the right and upward.
    pointer_at: Option<Vec2>,
    /// True if the next frame picks the box under the pointer.
    is_picking: bool,
    /// The boxes of [`Kind::Mesh`](crate::scene::Kind::Mesh).
    mesh: Vec<Aabb>,
    stage: Stage,
    search: Search,
    picture: Picture,
    globals: wgpu::Buffer,
    /// The settings in use.
    applied: Settings,
    /// The settings of the last recorded frame.
    good: Settings,
    refused: Option<Error>,
    /// Requests for the next frame.
    is_kicked: bool,
    is_stepped: bool,
    read_back: ReadBack,
    /// `None` if the device has no timestamps.
    clock: Option<Clock>,
    /// The compilation of the kernels of a pick. It starts after the kernels of frames are compiled.
    #[cfg(not(target_arch = "wasm32"))]
    warm: Option<Warm>,
}

impl Stage {
    fn new(gpu: &Gpu, settings: &Settings, mesh: &[Aabb]) -> Result<Self, Error> {
        Error::check(gpu.device(), settings.box_count)?;
        let scene = Scene::new(settings.kind, settings.box_count, mesh);
        Error::check(gpu.device(), scene.box_count())?;
        Error::with_memory(gpu.device(), scene.box_count(), || {
            let (simulation, touch) =
                (Simulation::new(gpu.device(), &scene), Touch::new(gpu.device(), scene.box_count()));
            let pointer = Pointer::new(gpu, &scene)?;
            Ok(Self { simulation, touch, pointer, scene, frame: 0, time: 0.0, has_last: false })
        })
    }
}

impl Viewer {
    /// Puts a scene on the device, and starts to compile the kernels of its search.
    ///
    /// # Errors
    /// [`Error`].
    pub fn new(gpu: &Gpu, format: Format, settings: Settings, mesh: Vec<Aabb>) -> Result<Self, Error> {
        let stage = Stage::new(gpu, &settings, &mesh)?;
        let globals = gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: Some("globals"),
            size: size_of::<Globals>() as u64,
            usage: wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let search = Search::new(gpu, &stage.scene, &settings)?;
        Ok(Self {
            read_back: search.read_back(),
            search,
            camera: stage.scene.look.into(),
            picture: Picture::new(gpu.device(), format),
            gpu: gpu.clone(),
            applied: settings,
            good: settings,
            refused: None,
            pointer_at: None,
            is_picking: false,
            settings,
            mesh,
            stage,
            globals,
            is_kicked: false,
            is_stepped: false,
            clock: Clock::new(gpu.device(), gpu.queue()),
            #[cfg(not(target_arch = "wasm32"))]
            warm: None,
        })
    }

    /// Counts the boxes.
    pub fn box_count(&self) -> u32 {
        self.stage.scene.box_count()
    }

    /// Returns the pixel format.
    pub fn format(&self) -> Format {
        self.picture.format()
    }

    /// Returns whether there is a mesh.
    pub fn has_mesh(&self) -> bool {
        !self.mesh.is_empty()
    }

    /// Returns the values that the last [`poll`](Self::poll) read back.
    pub fn read_back(&self) -> &ReadBack {
        &self.read_back
    }

    /// Returns the frames and seconds since the scene began.
    pub fn age(&self) -> (u32, f32) {
        (self.stage.frame, self.stage.time)
    }

    /// Counts the bytes of device memory that the library holds.
    pub fn bytes(&self) -> u64 {
        self.search.bytes() + self.stage.pointer.bytes()
    }

    /// Returns the device.
    pub fn gpu(&self) -> &Gpu {
        &self.gpu
    }

    /// Returns the mean milliseconds of each of the [parts](crate::clock::PARTS) of the frames that were read back
    /// since the last call.
    pub fn parts(&mut self) -> Option<[f64; crate::clock::PARTS.len()]> {
        self.clock.as_mut().and_then(Clock::means)
    }

    /// Returns the buffer of boxes.
    pub fn boxes(&self) -> &wgpu::Buffer {
        &self.stage.simulation.boxes
    }

    /// Returns the buffer of the picked box. It begins with two u32: the index of the box, and its world.
    pub fn pointed(&self) -> &wgpu::Buffer {
        &self.stage.pointer.pointed
    }

    /// Returns the latest values that were read back, of an earlier frame.
    pub fn poll(&mut self) -> &ReadBack {
        self.read_back = self.search.read_back();
        &self.read_back
    }

    /// Points at a position of the picture, from -1 to 1 to the right and upward. The first box there is picked, and
    /// the sphere moves there.
    pub fn point_at(&mut self, at: Option<Vec2>) {
        self.pointer_at = at;
        self.is_picking = at.is_some();
    }

    /// Restores the last settings that worked, after an error of changed settings.
    ///
    /// # Errors
    /// The same error, if the settings have not changed since they worked.
    pub fn refuse(&mut self, error: Error) -> Result<(), Error> {
        if self.good == self.settings {
            return Err(error);
        }
        self.refused = Some(error);
        self.settings = self.good;
        Ok(())
    }

    /// Returns the reason for refusing the last change of settings, if it was refused.
    pub fn refused(&self) -> Option<&Error> {
        self.refused.as_ref()
    }

    /// Throws the boxes up.
    pub fn kick(&mut self) {
        self.is_kicked = true;
    }

    /// Moves the boxes by one frame while paused.
    pub fn step(&mut self) {
        self.is_stepped = true;
    }

    /// Restarts the scene.
    ///
    /// # Errors
    /// [`Error`].
    pub fn restart(&mut self) -> Result<(), Error> {
        self.stage = Stage::new(&self.gpu, &self.settings, &self.mesh)?;
        Ok(self.search.change_scene(&self.stage.scene)?)
    }

    /// Applies changed settings.
    fn apply(&mut self) -> Result<(), Error> {
        let (last, now) = (self.applied, self.settings);
        self.applied = now;
        if last.options() != now.options() {
            self.search.change_options(&now)?;
            self.stage.has_last &= now.has_events;
        }
        if (last.kind, last.box_count) != (now.kind, now.box_count) {
            self.restart()?;
            if last.kind != now.kind {
                self.camera = self.stage.scene.look.into();
            }
        }
        Ok(())
    }

    /// Completes when all kernels are compiled and their memory is allocated.
    ///
    /// # Errors
    /// [`Error`].
    pub async fn ready(&mut self) -> Result<(), Error> {
        self.apply()?;
        self.search.ready(self.stage.scene.pairs_per_box).await?;
        #[cfg(not(target_arch = "wasm32"))]
        if self.pointer_at.is_some() {
            self.prepare_picking().wait();
        }
        Ok(())
    }

    /// Starts to compile the kernels of a pick. A browser compiles them in its own process.
    #[cfg(not(target_arch = "wasm32"))]
    pub(crate) fn prepare_picking(&mut self) -> &mut Warm {
        self.warm.get_or_insert_with(|| Warm::start(&self.gpu))
    }

    /// Returns whether a pick would not wait for a compiler.
    fn can_pick(&self) -> bool {
        #[cfg(not(target_arch = "wasm32"))]
        return self.warm.as_ref().is_none_or(|warm| warm.is_ready(&self.stage.scene));
        #[cfg(target_arch = "wasm32")]
        true
    }

    /// Returns whether a frame can be searched: its kernels are compiled, and their memory is allocated.
    ///
    /// # Errors
    /// [`Error`].
    pub fn is_ready(&mut self) -> Result<bool, Error> {
        self.apply()?;
        let is_ready = self.search.is_ready(self.stage.scene.pairs_per_box)?;
        self.read_back = self.search.read_back();
        Ok(is_ready)
    }

    /// Returns whether kernels are being compiled, for the first frames or for later ones.
    #[cfg(target_arch = "wasm32")]
    pub(crate) fn is_compiling(&self) -> bool {
        self.search.is_compiling()
    }

    /// Records a frame: moves the boxes, finds their pairs, and draws both. Does not wait for the device. While
    /// kernels are being compiled, the boxes do not move. Returns whether they moved.
    ///
    /// # Errors
    /// [`Error`].
    pub fn record(&mut self, encoder: &mut wgpu::CommandEncoder, target: &Target<'_>) -> Result<bool, Error> {
        let is_ready = self.is_ready()?;
        let can_pick = is_ready && self.can_pick();
        let moves = is_ready && (!self.settings.is_paused || self.is_stepped);
        self.write_globals(target, moves);
        self.write_grid();
        let Self { settings, stage, search, picture, globals, clock, .. } = self;
        mark(clock, Clock::begin, encoder);
        stage.simulation.record(encoder, globals);
        mark(clock, Clock::mark, encoder);
        let mut found = None;
        if is_ready {
            let left = search.record(encoder, &stage.simulation.boxes, settings)?;
            mark(clock, Clock::mark, encoder);
            stage.touch.record_pairs(encoder, &left.pairs, &stage.simulation);
            if let Some(events) = &left.events {
                stage.touch.record_events(encoder, events, globals);
            }
            found = Some(left);
            stage.frame += 1;
            stage.has_last = settings.has_events;
        }
        let has_sphere = settings.sphere.is_some() && self.pointer_at.is_some();
        if can_pick && (has_sphere || std::mem::take(&mut self.is_picking)) {
            stage.pointer.record(encoder, &stage.simulation, globals, has_sphere)?;
        }
        // Settings work once their memory is allocated.
        if is_ready && self.good != *settings {
            (self.good, self.refused) = (*settings, None);
        }
        if is_ready {
            mark(clock, Clock::mark, encoder);
        }
        let drawn = Drawn {
            simulation: &stage.simulation,
            touch: &stage.touch,
            pointer: &stage.pointer,
            pairs: found.as_ref().filter(|_| settings.lines != Lines::None),
            globals,
            box_count: stage.scene.box_count(),
        };
        picture.record(encoder, target, &drawn);
        if is_ready {
            mark(clock, Clock::mark, encoder);
            mark(clock, Clock::end, encoder);
        }
        Ok(moves)
    }

    /// Uploads the lines of the grid of the last report.
    fn write_grid(&mut self) {
        let Self { settings, stage, picture, read_back, .. } = self;
        let ends = match &read_back.report {
            Some(report) if settings.has_grid => grid::lines(report, self.camera.target, 2.0 * stage.scene.extent),
            _ => Vec::new(),
        };
        picture.set_grid(self.gpu.queue(), &ends);
    }

    /// Uploads the uniforms of this frame.
    fn write_globals(&mut self, target: &Target<'_>, moves: bool) {
        let step = if moves { STEP * self.settings.speed } else { 0.0 };
        let Self { settings, stage, camera, .. } = self;
        stage.time += step;
        let aspect = target.size[0] as f32 / target.size[1] as f32;
        let kick = if moves && std::mem::take(&mut self.is_kicked) { KICK } else { 0.0 };
        self.is_stepped &= !moves;
        let pair_count = self.read_back.header.map_or(0, |header| header.count);
        let globals = Globals {
            clip_from_world: camera.clip_from_world(aspect).to_cols_array(),
            eye: camera.eye().to_array(),
            time: stage.time,
            ray: camera.ray(self.pointer_at.unwrap_or_default(), aspect).to_array(),
            radius: settings.sphere.unwrap_or(0.0),
            box_count: stage.scene.box_count(),
            frame: stage.frame + 1,
            columns: stage.scene.columns,
            spacing: stage.scene.spacing,
            step,
            extent: stage.scene.extent,
            kick,
            opacity: (FULL / pair_count.max(1) as f32).clamp(0.04, 0.8),
            has_ages: settings.has_events.into(),
            draws_old: (settings.lines == Lines::All || !settings.has_events).into(),
            world_count: stage.scene.world_count(),
            is_first: (!stage.has_last).into(),
        };
        self.gpu.queue().write_buffer(&self.globals, 0, bytemuck::bytes_of(&globals));
    }
}

/// Records a call of the clock, if there is one.
fn mark(
    clock: &mut Option<Clock>,
    what: impl FnOnce(&mut Clock, &mut wgpu::CommandEncoder),
    encoder: &mut wgpu::CommandEncoder,
) {
    if let Some(clock) = clock {
        what(clock, encoder);
    }
}
