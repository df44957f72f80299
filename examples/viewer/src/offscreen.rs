//! Frames without a window, into a file.

use std::collections::VecDeque;
use std::fs::File;
use std::io::BufWriter;
use std::path::PathBuf;
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use broadsweep::{Gpu, wgpu};

use crate::clock::PARTS;
use crate::picture::{Format, Target};
use crate::trace::{Trace, Track};
use crate::viewer::Viewer;

/// The pixel format of PNG files.
pub const COLOR: wgpu::TextureFormat = wgpu::TextureFormat::Rgba8UnormSrgb;

/// The most frames that are submitted and not finished. More would only use memory.
const AHEAD: usize = 3;

/// A rendering without a window.
#[derive(Clone, Debug)]
pub struct Shot {
    /// The file.
    pub out: PathBuf,
    /// The width and height in pixels.
    pub size: [u32; 2],
    /// The frame count.
    pub frames: u32,
    /// Frames between two pictures of an animation. `None` writes the last frame as the only picture.
    pub every: Option<u32>,
    /// The angle by which the camera turns around the scene in each frame, in radians.
    pub turn: f32,
    /// True if the panel is painted too.
    pub has_panel: bool,
}

/// Measurements of a rendering.
#[derive(Clone, Copy, Debug, Default)]
pub struct Measured {
    /// The box count.
    pub box_count: u32,
    /// The pair count of the last frame.
    pub pair_count: u64,
    /// Mean milliseconds per frame, over all frames.
    pub frame: f64,
    /// Mean milliseconds in which the host records a frame.
    pub recording: f64,
    /// Mean milliseconds in which the host submits a frame. A software driver may run the frame in this time.
    pub submitting: f64,
    /// Mean milliseconds of each of the [parts](crate::clock::PARTS) on the device; zeros without timestamps.
    pub parts: [f64; PARTS.len()],
    /// Bytes of device memory that the library holds.
    pub bytes: u64,
    /// Resident bytes of the process after half of the frames, and after all; 0 if the system does not report them.
    pub resident: [u64; 2],
}

/// A texture that is drawn to, and read back.
struct Canvas {
    texture: wgpu::Texture,
    view: wgpu::TextureView,
    back: wgpu::Buffer,
    size: [u32; 2],
    /// Bytes from row to row in `back`.
    pitch: u32,
}

impl Canvas {
    fn new(device: &wgpu::Device, size: [u32; 2]) -> Self {
        let [width, height] = size;
        let texture = device.create_texture(&wgpu::TextureDescriptor {
            label: Some("canvas"),
            size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
            mip_level_count: 1,
            sample_count: 1,
            dimension: wgpu::TextureDimension::D2,
            format: COLOR,
            usage: wgpu::TextureUsages::RENDER_ATTACHMENT | wgpu::TextureUsages::COPY_SRC,
            view_formats: &[],
        });
        let pitch = (4 * width).next_multiple_of(wgpu::COPY_BYTES_PER_ROW_ALIGNMENT);
        let back = device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("canvas"),
            size: u64::from(pitch) * u64::from(height),
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        Self { view: texture.create_view(&Default::default()), texture, back, size, pitch }
    }

    /// Reads the pixels back, row by row. Blocks until all submitted frames are finished.
    fn read(&self, gpu: &Gpu) -> Result<Vec<u8>> {
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(self.pitch), rows_per_image: None };
        let to = wgpu::TexelCopyBufferInfo { buffer: &self.back, layout };
        encoder.copy_texture_to_buffer(self.texture.as_image_copy(), to, self.texture.size());
        gpu.queue().submit([encoder.finish()]);
        self.back.map_async(wgpu::MapMode::Read, .., |_| {});
        gpu.device().poll(wgpu::PollType::wait_indefinitely())?;
        let view = self.back.get_mapped_range(..)?;
        let row = 4 * self.size[0] as usize;
        let pixels = view.chunks(self.pitch as usize).flat_map(|line| &line[..row]).copied().collect();
        drop(view);
        self.back.unmap();
        Ok(pixels)
    }
}

/// A PNG file with one picture or an animation.
struct Film {
    writer: png::Writer<BufWriter<File>>,
}

impl Film {
    fn create(shot: &Shot) -> Result<Self> {
        let context = || format!("{}: cannot be written", shot.out.display());
        let file = BufWriter::new(File::create(&shot.out).with_context(context)?);
        let mut encoder = png::Encoder::new(file, shot.size[0], shot.size[1]);
        encoder.set_color(png::ColorType::Rgb);
        encoder.set_depth(png::BitDepth::Eight);
        encoder.set_source_srgb(png::SrgbRenderingIntent::Perceptual);
        encoder.set_compression(png::Compression::High);
        if let Some(every) = shot.every {
            encoder.set_animated(shot.frames.div_ceil(every), 0)?;
            // The speed of the scene, if the program that shows the file can follow.
            encoder.set_frame_delay(every as u16, 60)?;
        }
        Ok(Self { writer: encoder.write_header()? })
    }

    fn add(&mut self, pixels: &[u8]) -> Result<()> {
        let opaque: Vec<u8> = pixels.chunks(4).flat_map(|pixel| &pixel[..3]).copied().collect();
        Ok(self.writer.write_image_data(&opaque)?)
    }
}

/// Frames that are recorded one after the other.
struct Frames<'a> {
    gpu: Gpu,
    viewer: &'a mut Viewer,
    shot: &'a Shot,
    trace: &'a Trace,
    canvas: Canvas,
    on_their_way: VecDeque<wgpu::SubmissionIndex>,
    #[cfg(feature = "window")]
    panel: Option<crate::panel::Panel>,
    /// The start of the timed frames, and their count.
    start: Instant,
    count: u32,
    /// Milliseconds of all timed frames.
    recording: f64,
    submitting: f64,
}

impl<'a> Frames<'a> {
    fn new(viewer: &'a mut Viewer, shot: &'a Shot, trace: &'a Trace) -> Result<Self> {
        ensure!(cfg!(feature = "window") || !shot.has_panel, "a panel is painted by builds with the feature `window`");
        let gpu = viewer.gpu().clone();
        Ok(Self {
            canvas: Canvas::new(gpu.device(), shot.size),
            #[cfg(feature = "window")]
            panel: shot.has_panel.then(|| crate::panel::Panel::new(gpu.device(), COLOR)),
            gpu,
            viewer,
            shot,
            trace,
            on_their_way: VecDeque::new(),
            start: Instant::now(),
            count: 0,
            recording: 0.0,
            submitting: 0.0,
        })
    }

    /// Waits for all submitted frames, and starts the timing.
    fn start(&mut self) -> Result<()> {
        self.gpu.device().poll(wgpu::PollType::wait_indefinitely())?;
        self.viewer.parts();
        (self.start, self.count, self.recording, self.submitting) = (Instant::now(), 0, 0.0, 0.0);
        Ok(())
    }

    /// Returns the mean milliseconds per timed frame.
    fn mean(&self, milliseconds: f64) -> f64 {
        milliseconds / f64::from(self.count.max(1))
    }

    /// Waits while [`AHEAD`] frames are submitted and not finished, then records and submits the next one.
    fn next(&mut self) -> Result<()> {
        let Self { gpu, trace, .. } = &*self;
        let (gpu, trace) = (gpu.clone(), *trace);
        if self.on_their_way.len() == AHEAD {
            let begin = trace.now();
            let submission_index = self.on_their_way.pop_front();
            gpu.device().poll(wgpu::PollType::Wait { submission_index, timeout: None })?;
            trace.note(Track::Waiting, "wait for the third frame before", begin);
        }
        let begin = trace.now();
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        let target = Target { view: &self.canvas.view, size: self.shot.size };
        self.viewer.record(&mut encoder, &target)?;
        #[cfg(feature = "window")]
        self.record_panel(&mut encoder);
        let submitted = trace.now();
        trace.note(Track::Host, "record", begin);
        self.on_their_way.push_back(gpu.queue().submit([encoder.finish()]));
        trace.note(Track::Host, "submit", submitted);
        let on_device = trace.clone();
        gpu.queue().on_submitted_work_done(move || on_device.note(Track::Device, "frame", submitted));
        self.recording += 1e-3 * (submitted - begin);
        self.submitting += 1e-3 * (trace.now() - submitted);
        self.count += 1;
        self.viewer.camera.turn(glam::Vec2::new(-self.shot.turn, 0.0));
        Ok(())
    }

    #[cfg(feature = "window")]
    fn record_panel(&mut self, encoder: &mut wgpu::CommandEncoder) {
        let pace = crate::overlay::Pace {
            frame: self.mean(self.start.elapsed().as_secs_f64()),
            recording: 1e-3 * self.mean(self.recording),
        };
        if let Some(panel) = &mut self.panel {
            let points = egui::vec2(self.shot.size[0] as f32, self.shot.size[1] as f32);
            let screen = egui::Rect::from_min_size(egui::Pos2::ZERO, points);
            let time = Some(f64::from(self.count) / 60.0);
            let input = egui::RawInput { screen_rect: Some(screen), time, ..Default::default() };
            let target = Target { view: &self.canvas.view, size: self.shot.size };
            panel.record(encoder, &target, input, self.viewer, pace);
        }
    }
}

/// Runs the frames, and writes the file.
///
/// # Errors
/// Errors of the viewer, the device and the file.
pub fn run(viewer: &mut Viewer, shot: &Shot, trace: &Trace) -> Result<Measured> {
    pollster::block_on(viewer.ready())?;
    let mut frames = Frames::new(viewer, shot, trace)?;
    let mut film = Film::create(shot)?;
    // The first frame creates resources that later ones reuse. It is not timed.
    frames.next()?;
    frames.start()?;
    let mut resident = [0; 2];
    for frame in 0..shot.frames {
        frames.next()?;
        if frame == shot.frames / 2 {
            resident[0] = resident_bytes();
        }
        if shot.every.is_some_and(|every| frame % every == 0) {
            film.add(&frames.canvas.read(&frames.gpu)?)?;
        }
    }
    frames.gpu.device().poll(wgpu::PollType::wait_indefinitely())?;
    let frame = frames.mean(1e3 * frames.start.elapsed().as_secs_f64());
    resident[1] = resident_bytes();
    if shot.every.is_none() {
        film.add(&frames.canvas.read(&frames.gpu)?)?;
    }
    film.writer.finish()?;
    let (recording, submitting) = (frames.mean(frames.recording), frames.mean(frames.submitting));
    let pair_count = viewer.poll().pair_count().unwrap_or(0);
    let parts = viewer.parts().unwrap_or_default();
    let (box_count, bytes) = (viewer.box_count(), viewer.bytes());
    Ok(Measured { box_count, pair_count, frame, recording, submitting, parts, bytes, resident })
}

/// Returns the pixel format, with the requested samples or the default of this device.
pub fn format(gpu: &Gpu, samples: Option<u32>) -> Format {
    Format { color: COLOR, samples: samples.unwrap_or_else(|| crate::device::samples(gpu)) }
}

/// Returns the resident bytes of this process; 0 if the system does not report them.
fn resident_bytes() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
    1024 * kilobytes.unwrap_or(0)
}
