//! Shows frames in a window, or in the canvas of a page, and handles keys and mouse.

use std::cell::RefCell;
use std::fmt::{self, Display, Formatter};
use std::future::Future;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Context, Result, bail};
use broadsweep::device::CompilationProgress;
use broadsweep::{Aabb, CellSize, Gpu, wgpu};
use glam::Vec2;
use web_time::Instant;
use winit::application::ApplicationHandler;
use winit::dpi::{PhysicalPosition, PhysicalSize};
use winit::event::{ElementState, KeyEvent, MouseButton, MouseScrollDelta, WindowEvent};
use winit::event_loop::{ActiveEventLoop, EventLoop};
use winit::keyboard::{Key, NamedKey};
use winit::window::{Window, WindowAttributes, WindowId};

use crate::camera::Camera;
use crate::device;
use crate::error::Error;
use crate::overlay::{AXES, Pace, grouped};
use crate::panel::Panel;
use crate::picture::{Format, Target};
use crate::scene::Kind;
use crate::settings::{BOXES, Lines, Settings};
use crate::viewer::Viewer;

/// The most pixels that the pointer moves during a click.
const CLICK: f64 = 4.0;
/// The time between two checks for a visible window.
#[cfg(not(target_arch = "wasm32"))]
const UNSEEN: std::time::Duration = std::time::Duration::from_millis(15);
/// Seconds between two pictures while the first kernels are being compiled.
#[cfg(target_arch = "wasm32")]
const STILL: f64 = 1.0;
/// The most devices that may be lost in a row without a frame in between.
const MOST_LOST: u32 = 3;

/// The state of the frames.
#[derive(Clone, Debug, PartialEq)]
pub enum Status {
    /// Kernels are being compiled, and no box moves.
    Compiling(CompilationProgress),
    /// Frames are shown.
    Running {
        /// The box count.
        box_count: u32,
        /// The pair count, once it was read back.
        pair_count: Option<u64>,
        /// Milliseconds per frame.
        frame: f64,
    },
    /// The frames ended, for this reason.
    Failed(String),
}

impl Display for Status {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compiling(CompilationProgress { compiled, kernels, .. }) => {
                write!(f, "compiling, {compiled} of {kernels} kernels")
            }
            Self::Running { box_count, pair_count, frame } => {
                let pairs = pair_count.map_or("…".to_owned(), grouped);
                write!(f, "{} boxes, {pairs} pairs, {frame:.1} ms", grouped((*box_count).into()))
            }
            Self::Failed(reason) => f.write_str(reason),
        }
    }
}

/// Receives the state of the frames.
type Tell = Box<dyn Fn(&Window, &Status)>;

/// The arguments of a window or canvas.
#[derive(Clone)]
pub struct Start {
    /// The initial settings.
    pub settings: Settings,
    /// The boxes of [`Kind::Mesh`].
    pub mesh: Vec<Aabb>,
    /// The size of a window. The page determines the size of a canvas.
    pub size: [u32; 2],
    /// A part of the adapter's name; `None` for the system's preferred adapter.
    pub adapter: Option<String>,
}

/// The state that needs a device.
struct Open {
    surface: wgpu::Surface<'static>,
    configuration: wgpu::SurfaceConfiguration,
    viewer: Viewer,
    panel: Panel,
    input: egui_winit::State,
    is_lost: Arc<AtomicBool>,
    /// The first error of the device that is not yet handled.
    rejected: Arc<Mutex<Option<String>>>,
    /// Count of submitted frames that are not finished.
    #[cfg(target_arch = "wasm32")]
    on_their_way: Arc<std::sync::atomic::AtomicU32>,
    /// The time of the last frame.
    #[cfg(target_arch = "wasm32")]
    drawn: Option<Instant>,
}

/// A button that is down.
struct Press {
    button: MouseButton,
    at: PhysicalPosition<f64>,
    is_drag: bool,
}

struct App {
    start: Start,
    camera: Option<Camera>,
    #[cfg(target_arch = "wasm32")]
    canvas: web_sys::HtmlCanvasElement,
    window: Option<Arc<Window>>,
    open: Option<Open>,
    /// The result of the last request for a device.
    opened: Rc<RefCell<Option<Result<Open>>>>,
    tell: Tell,
    pointer: PhysicalPosition<f64>,
    press: Option<Press>,
    has_panel: bool,
    pace: Pace,
    last_frame: Option<Instant>,
    titled: Option<Instant>,
    lost_in_a_row: u32,
    failure: Option<anyhow::Error>,
}

/// Opens the window, and returns when it is closed.
///
/// # Errors
/// The reason why there is no window or device.
#[cfg(not(target_arch = "wasm32"))]
pub fn run(start: Start) -> Result<()> {
    let events = EventLoop::new().context("there is no display for a window; --offscreen OUT.png needs none")?;
    let tell = |window: &Window, status: &Status| window.set_title(&format!("broadsweep: {status}"));
    let mut app = App::new(start, Box::new(tell));
    events.run_app(&mut app)?;
    app.failure.map_or(Ok(()), Err)
}

/// Shows frames in a canvas, and reports their state up to four times per second.
///
/// # Errors
/// The reason why there are no frames.
#[cfg(target_arch = "wasm32")]
pub fn spawn(canvas: web_sys::HtmlCanvasElement, start: Start, tell: impl Fn(&Status) + 'static) -> Result<()> {
    use winit::platform::web::EventLoopExtWebSys;
    let app = App::new(start, canvas, Box::new(move |_: &Window, status: &Status| tell(status)));
    EventLoop::new()?.spawn_app(app);
    Ok(())
}

impl Open {
    /// Requests a device that can show frames in a window, and puts the scene there.
    async fn new(window: Arc<Window>, start: Start, camera: Option<Camera>) -> Result<Self> {
        let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
        let surface = instance.create_surface(Arc::clone(&window))?;
        let adapter = adapter(&instance, &surface, start.adapter.as_deref()).await?;
        let gpu = device::request(&adapter).await.map_err(anyhow::Error::msg)?;
        let is_lost = Arc::new(AtomicBool::new(false));
        let lost = Arc::clone(&is_lost);
        gpu.device().set_device_lost_callback(move |reason, message| {
            eprintln!("the device is lost: {reason:?}: {message}");
            lost.store(true, Ordering::Relaxed);
        });
        let rejected = Arc::<Mutex<Option<String>>>::default();
        let first = Arc::clone(&rejected);
        // Without a handler, the first error outside of an error scope would end the program.
        gpu.device().on_uncaptured_error(Arc::new(move |error: wgpu::Error| {
            first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(error.to_string());
        }));
        let size = window.inner_size();
        let mut configuration = surface
            .get_default_config(&adapter, size.width.max(1), size.height.max(1))
            .context("the adapter cannot show anything in this window")?;
        let formats = surface.get_capabilities(&adapter).formats;
        configuration.format = formats.iter().copied().find(wgpu::TextureFormat::is_srgb).unwrap_or(formats[0]);
        // Shaders compute in linear colours. A canvas has no sRGB format, but its view can have one.
        let color = configuration.format.add_srgb_suffix();
        if color != configuration.format {
            configuration.view_formats.push(color);
        }
        surface.configure(gpu.device(), &configuration);
        let format = Format { color, samples: device::samples(&gpu) };
        let mut viewer = Viewer::new(&gpu, format, start.settings, start.mesh)?;
        if let Some(camera) = camera {
            viewer.camera = camera;
        }
        let panel = Panel::new(gpu.device(), color);
        let input = egui_winit::State::new(
            panel.context.clone(),
            egui::ViewportId::ROOT,
            &window,
            Some(window.scale_factor() as f32),
            None,
            Some(gpu.device().limits().max_texture_dimension_2d as usize),
        );
        Ok(Self {
            surface,
            configuration,
            viewer,
            panel,
            input,
            is_lost,
            rejected,
            #[cfg(target_arch = "wasm32")]
            on_their_way: Arc::default(),
            #[cfg(target_arch = "wasm32")]
            drawn: None,
        })
    }

    fn gpu(&self) -> &Gpu {
        self.viewer.gpu()
    }

    fn resize(&mut self, size: PhysicalSize<u32>) {
        // A minimised window has no size, and is not drawn.
        if size.width > 0 && size.height > 0 {
            let most = self.gpu().device().limits().max_texture_dimension_2d;
            (self.configuration.width, self.configuration.height) = (size.width.min(most), size.height.min(most));
            self.surface.configure(self.viewer.gpu().device(), &self.configuration);
        }
    }

    /// Draws a frame if the window is visible. Returns the seconds of recording and submitting it.
    fn draw(&mut self, window: &Window, has_panel: bool, pace: Pace) -> Result<Option<f64>, Error> {
        let size = window.inner_size();
        if size.width == 0 || size.height == 0 {
            return Ok(None);
        }
        #[cfg(target_arch = "wasm32")]
        {
            // A canvas does not wait for frames, and queued frames delay compilation.
            let is_ready = self.viewer.is_ready()?;
            let most = if self.viewer.is_compiling() { 1 } else { 2 };
            let is_soon = !is_ready && self.drawn.is_some_and(|drawn| drawn.elapsed().as_secs_f64() < STILL);
            if is_soon || self.on_their_way.load(Ordering::Relaxed) >= most {
                return Ok(None);
            }
            self.drawn = Some(Instant::now());
        }
        use wgpu::CurrentSurfaceTexture as Current;
        let frame = match self.surface.get_current_texture() {
            Current::Success(frame) | Current::Suboptimal(frame) => frame,
            Current::Timeout | Current::Occluded => return Ok(None),
            Current::Outdated | Current::Lost | Current::Validation => {
                // The device may be lost, which only a poll reports.
                let _ = self.gpu().device().poll(wgpu::PollType::Poll);
                if !self.is_lost.load(Ordering::Relaxed) {
                    self.surface.configure(self.viewer.gpu().device(), &self.configuration);
                }
                return Ok(None);
            }
        };
        let start = Instant::now();
        let format = Some(self.viewer.format().color);
        let view = frame.texture.create_view(&wgpu::TextureViewDescriptor { format, ..Default::default() });
        let target = Target { view: &view, size: [self.configuration.width, self.configuration.height] };
        let mut encoder = self.gpu().device().create_command_encoder(&Default::default());
        if self.viewer.record(&mut encoder, &target)? {
            // After the first frame, whose kernels come first.
            #[cfg(not(target_arch = "wasm32"))]
            self.viewer.prepare_picking();
        }
        if has_panel {
            let input = self.input.take_egui_input(window);
            let output = self.panel.record(&mut encoder, &target, input, &mut self.viewer, pace);
            self.input.handle_platform_output(window, output);
        }
        self.gpu().queue().submit([encoder.finish()]);
        #[cfg(target_arch = "wasm32")]
        {
            let on_their_way = Arc::clone(&self.on_their_way);
            on_their_way.fetch_add(1, Ordering::Relaxed);
            self.gpu().queue().on_submitted_work_done(move || _ = on_their_way.fetch_sub(1, Ordering::Relaxed));
        }
        let rejected = self.rejected.lock().unwrap_or_else(PoisonError::into_inner).take();
        // A lost device rejects all calls. Another device is requested then.
        if let Some(error) = rejected.filter(|_| !self.is_lost.load(Ordering::Relaxed)) {
            return Err(Error::Device(error));
        }
        let recording = start.elapsed().as_secs_f64();
        window.pre_present_notify();
        self.gpu().queue().present(frame);
        Ok(Some(recording))
    }
}

/// Runs a future: blocks until it completes, or in a browser runs it in the event loop.
fn go_on(work: impl Future<Output = ()> + 'static) {
    #[cfg(target_arch = "wasm32")]
    wasm_bindgen_futures::spawn_local(work);
    #[cfg(not(target_arch = "wasm32"))]
    pollster::block_on(work);
}

/// Requests the adapter whose name contains `name`; without a name, the system's preferred adapter for the surface.
async fn adapter(
    instance: &wgpu::Instance,
    surface: &wgpu::Surface<'static>,
    name: Option<&str>,
) -> Result<wgpu::Adapter> {
    let Some(name) = name else {
        let options = wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            compatible_surface: Some(surface),
            ..Default::default()
        };
        return instance.request_adapter(&options).await.context("no adapter can show anything in this window");
    };
    for adapter in instance.enumerate_adapters(wgpu::Backends::all()).await {
        let is_named = adapter.get_info().name.to_lowercase().contains(&name.to_lowercase());
        if is_named && adapter.is_surface_supported(surface) {
            return Ok(adapter);
        }
    }
    bail!("no adapter that can show anything in this window has a name that contains '{name}'")
}

impl App {
    fn new(start: Start, #[cfg(target_arch = "wasm32")] canvas: web_sys::HtmlCanvasElement, tell: Tell) -> Self {
        Self {
            start,
            camera: None,
            #[cfg(target_arch = "wasm32")]
            canvas,
            window: None,
            open: None,
            opened: Rc::default(),
            tell,
            pointer: PhysicalPosition::default(),
            press: None,
            has_panel: true,
            pace: Pace::default(),
            last_frame: None,
            titled: None,
            lost_in_a_row: 0,
            failure: None,
        }
    }

    /// Returns the attributes of the window.
    fn attributes(&self) -> WindowAttributes {
        let attributes = Window::default_attributes().with_title("broadsweep");
        #[cfg(target_arch = "wasm32")]
        {
            use winit::platform::web::WindowAttributesExtWebSys;
            attributes.with_canvas(Some(self.canvas.clone()))
        }
        #[cfg(not(target_arch = "wasm32"))]
        {
            let [width, height] = self.start.size;
            attributes.with_inner_size(PhysicalSize::new(width, height))
        }
    }

    /// Ends the program with an error.
    fn fail(&mut self, events: &ActiveEventLoop, error: anyhow::Error) {
        if let Some(window) = &self.window {
            (self.tell)(window, &Status::Failed(format!("{error:#}")));
        }
        self.failure = Some(error);
        events.exit();
    }

    /// Converts a position in the window to the viewer's coordinates, from -1 to 1 to the right and upward.
    fn in_picture(&self, at: PhysicalPosition<f64>) -> Vec2 {
        let size = self.window.as_ref().map_or(PhysicalSize::new(1, 1), |window| window.inner_size());
        let part = |x: f64, whole: u32| (2.0 * x / f64::from(whole.max(1)) - 1.0) as f32;
        Vec2::new(part(at.x, size.width), -part(at.y, size.height))
    }

    /// Requests a device. Drops an earlier one.
    fn open(&mut self, events: &ActiveEventLoop) {
        let Some(window) = self.window.clone() else { return };
        // A window has at most one surface.
        self.open = None;
        let opened = Rc::clone(&self.opened);
        let opening = Open::new(Arc::clone(&window), self.start.clone(), self.camera);
        go_on(async move {
            *opened.borrow_mut() = Some(opening.await);
            window.request_redraw();
        });
        self.take_opened(events);
    }

    /// Uses the requested device, if it is ready.
    fn take_opened(&mut self, events: &ActiveEventLoop) {
        let opened = self.opened.borrow_mut().take();
        match (opened, &self.window) {
            (Some(Ok(mut open)), Some(window)) => {
                // The size may have changed meanwhile.
                open.resize(window.inner_size());
                self.open = Some(open);
            }
            (Some(Err(error)), _) => self.fail(events, error),
            _ => {}
        }
    }

    fn draw(&mut self, events: &ActiveEventLoop) {
        self.take_opened(events);
        let (Some(window), Some(open)) = (self.window.clone(), &mut self.open) else { return };
        let drawn = open.draw(&window, self.has_panel, self.pace);
        let is_lost = open.is_lost.load(Ordering::Relaxed);
        match drawn {
            _ if is_lost => self.open_again(events),
            Err(error) if error.is_loss() => self.open_again(events),
            Err(error) => self.refuse(events, error),
            Ok(Some(recording)) => {
                self.lost_in_a_row = 0;
                self.pace_of(recording);
                self.title();
            }
            Ok(None) => {
                self.title();
                // A hidden window does not wait for the screen. A browser limits the rate itself.
                #[cfg(not(target_arch = "wasm32"))]
                std::thread::sleep(UNSEEN);
            }
        }
        window.request_redraw();
    }

    /// Restores the earlier settings, or ends the program if they have not changed.
    fn refuse(&mut self, events: &ActiveEventLoop, error: Error) {
        let Some(open) = &mut self.open else { return };
        if let Err(error) = open.viewer.refuse(error) {
            self.fail(events, error.into());
        }
    }

    /// Requests another device, with the same settings and camera.
    fn open_again(&mut self, events: &ActiveEventLoop) {
        self.lost_in_a_row += 1;
        if let Some(open) = &self.open {
            (self.start.settings, self.camera) = (open.viewer.settings, Some(open.viewer.camera));
        }
        if self.lost_in_a_row > MOST_LOST {
            self.fail(events, anyhow::anyhow!("one device after the other is lost"));
            return;
        }
        self.open(events);
    }

    fn pace_of(&mut self, recording: f64) {
        let now = Instant::now();
        let smooth = |old: &mut f64, new: f64| *old = if *old == 0.0 { new } else { *old + 0.1 * (new - *old) };
        smooth(&mut self.pace.recording, recording);
        if let Some(last) = self.last_frame.replace(now) {
            smooth(&mut self.pace.frame, (now - last).as_secs_f64());
        }
    }

    /// Reports the state of the frames, at most four times per second.
    fn title(&mut self) {
        let (Some(window), Some(open)) = (&self.window, &self.open) else { return };
        if self.titled.is_some_and(|titled| titled.elapsed().as_secs_f64() < 0.25) {
            return;
        }
        self.titled = Some(Instant::now());
        let (viewer, read_back) = (&open.viewer, open.viewer.read_back());
        let status = match read_back.compilation {
            Some(progress) => Status::Compiling(progress),
            None => Status::Running {
                box_count: viewer.box_count(),
                pair_count: read_back.pair_count(),
                frame: 1e3 * self.pace.frame,
            },
        };
        (self.tell)(window, &status);
    }

    fn key(&mut self, events: &ActiveEventLoop, key: &Key) {
        let Some(open) = &mut self.open else { return };
        let viewer = &mut open.viewer;
        let settings = &mut viewer.settings;
        match key.as_ref() {
            Key::Named(NamedKey::Escape) => events.exit(),
            Key::Named(NamedKey::Space) => settings.is_paused = !settings.is_paused,
            // Simulates a driver that resets the device.
            Key::Named(NamedKey::F9) => open.gpu().device().destroy(),
            Key::Character(".") => viewer.step(),
            Key::Character("k") => viewer.kick(),
            Key::Character("h") => self.has_panel = !self.has_panel,
            Key::Character("e") => settings.has_events = !settings.has_events,
            Key::Character("g") => settings.has_grid = !settings.has_grid,
            Key::Character("t") => settings.is_timed = !settings.is_timed,
            Key::Character("s") => settings.sphere = if settings.sphere.is_some() { None } else { Some(2.0) },
            Key::Character("l") => {
                settings.lines = match settings.lines {
                    Lines::None => Lines::New,
                    Lines::New => Lines::All,
                    Lines::All => Lines::None,
                }
            }
            Key::Character("a") => {
                let now = AXES.iter().position(|(_, axis)| *axis == settings.axis).unwrap_or(0);
                settings.axis = AXES[(now + 1) % AXES.len()].1;
            }
            Key::Character("c") => settings.cell_size = CellSize::Auto,
            Key::Character("[") => scale_cells(viewer, 0.8),
            Key::Character("]") => scale_cells(viewer, 1.25),
            Key::Character("+" | "=") => settings.box_count = settings.box_count.saturating_mul(2).min(*BOXES.end()),
            Key::Character("-") => settings.box_count = (settings.box_count / 2).max(100),
            Key::Character("r") => {
                if let Err(error) = viewer.restart() {
                    self.refuse(events, error);
                }
            }
            Key::Character(number @ ("1" | "2" | "3" | "4" | "5")) => {
                let (_, kind) = Kind::NAMED[usize::from(number.as_bytes()[0] - b'1')];
                if kind != Kind::Mesh || viewer.has_mesh() {
                    viewer.settings.kind = kind;
                }
            }
            _ => {}
        }
    }

    fn button(&mut self, state: ElementState, button: MouseButton) {
        if state == ElementState::Pressed {
            self.press = Some(Press { button, at: self.pointer, is_drag: false });
        } else if let Some(press) = self.press.take()
            && !press.is_drag
            && press.button == MouseButton::Left
        {
            let at = self.in_picture(self.pointer);
            if let Some(open) = &mut self.open {
                open.viewer.point_at(Some(at));
            }
        }
    }

    fn moved(&mut self, to: PhysicalPosition<f64>) {
        let from = std::mem::replace(&mut self.pointer, to);
        let at = self.in_picture(to);
        let Some(open) = &mut self.open else { return };
        let Some(press) = &mut self.press else {
            if open.viewer.settings.sphere.is_some() {
                open.viewer.point_at(Some(at));
            }
            return;
        };
        press.is_drag |= (to.x - press.at.x).hypot(to.y - press.at.y) > CLICK;
        if !press.is_drag {
            return;
        }
        let height = f64::from(open.configuration.height);
        let by = Vec2::new(((to.x - from.x) / height) as f32, ((to.y - from.y) / height) as f32);
        if press.button == MouseButton::Left {
            open.viewer.camera.turn(3.0 * by);
        } else {
            open.viewer.camera.pan(by);
        }
    }

    fn scrolled(&mut self, delta: MouseScrollDelta) {
        let lines = match delta {
            MouseScrollDelta::LineDelta(_, lines) => lines,
            MouseScrollDelta::PixelDelta(by) => by.y as f32 / 40.0,
        };
        if let Some(open) = &mut self.open {
            open.viewer.camera.zoom(0.9f32.powf(lines));
        }
    }
}

/// Scales the cells.
fn scale_cells(viewer: &mut Viewer, factor: f32) {
    let now = match viewer.settings.cell_size {
        CellSize::Fixed(edge) => edge,
        _ => viewer.read_back().report.as_ref().map_or(1.0, |report| report.cell_size),
    };
    let edge = if now.is_finite() { now } else { 1.0 };
    viewer.settings.cell_size = CellSize::Fixed((factor * edge).clamp(1e-3, 1e4));
}

impl ApplicationHandler for App {
    fn resumed(&mut self, events: &ActiveEventLoop) {
        if self.window.is_none() {
            match events.create_window(self.attributes()) {
                Ok(window) => self.window = Some(Arc::new(window)),
                Err(error) => return self.fail(events, anyhow::Error::new(error).context("there is no window")),
            }
        }
        self.open(events);
        if let Some(window) = &self.window {
            window.request_redraw();
        }
    }

    fn suspended(&mut self, _: &ActiveEventLoop) {
        // The surface is gone. The device is requested again with it.
        if let Some(open) = self.open.take() {
            (self.start.settings, self.camera) = (open.viewer.settings, Some(open.viewer.camera));
        }
    }

    fn window_event(&mut self, events: &ActiveEventLoop, _: WindowId, event: WindowEvent) {
        let is_drawing = matches!(event, WindowEvent::RedrawRequested);
        if let (Some(window), Some(open)) = (&self.window, &mut self.open)
            && !is_drawing
            && self.has_panel
        {
            let is_taken = open.input.on_window_event(window, &event).consumed;
            let is_over = open.panel.context.egui_wants_pointer_input();
            // A drag that began in the picture continues over the panel.
            let is_pointer = matches!(event, WindowEvent::MouseInput { .. } | WindowEvent::MouseWheel { .. });
            if self.press.is_none() && (is_taken || is_pointer && is_over) {
                return;
            }
        }
        match event {
            WindowEvent::CloseRequested => events.exit(),
            WindowEvent::Resized(size) => {
                if let Some(open) = &mut self.open {
                    open.resize(size);
                }
            }
            WindowEvent::RedrawRequested => self.draw(events),
            WindowEvent::KeyboardInput {
                event: KeyEvent { logical_key, state: ElementState::Pressed, repeat, .. },
                ..
            // A held key repeats only where repetition is useful.
            } if !repeat || matches!(logical_key.as_ref(), Key::Character("." | "[" | "]")) => {
                self.key(events, &logical_key);
            }
            WindowEvent::MouseInput { state, button, .. } => self.button(state, button),
            WindowEvent::CursorMoved { position, .. } => self.moved(position),
            WindowEvent::MouseWheel { delta, .. } => self.scrolled(delta),
            _ => {}
        }
    }
}
