//! The program: a window, or a picture.

use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use broadsweep::wgpu;
use broadsweep_viewer::clock::PARTS;
use broadsweep_viewer::npy::read_boxes;
use broadsweep_viewer::scene::Kind;
use broadsweep_viewer::settings::{BOXES, Lines, Settings};
use broadsweep_viewer::trace::Trace;
use broadsweep_viewer::viewer::Viewer;
use broadsweep_viewer::{device, offscreen};
use clap::Parser;

/// Simulates boxes, finds their pairs on the GPU, and draws both.
#[derive(Parser)]
struct Arguments {
    /// pile, clusters, city, robots, or a file of boxes: NAME.npy, (n, 6) or (n, 2, 3)
    #[arg(default_value = "pile")]
    scene: String,
    /// Approximate box count
    #[arg(long, value_name = "N", value_parser = boxes())]
    n: Option<u32>,
    /// Pairs to draw as lines: none, new or all
    #[arg(long, default_value = "new")]
    lines: String,
    /// Find pairs only, without created and lost pairs
    #[arg(long)]
    no_events: bool,
    /// Draw the axis and the columns of the grid
    #[arg(long)]
    grid: bool,
    /// Mark the boxes that touch a sphere of this radius around the box in the middle of the picture
    #[arg(long, value_name = "RADIUS")]
    sphere: Option<f32>,
    /// Part of the adapter's name; default: the system's preferred adapter
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,
    /// Do not time kernels
    #[arg(long)]
    no_times: bool,
    /// Factor on the size of the scene in the picture
    #[arg(long, default_value_t = 1.0, value_name = "FACTOR", requires = "offscreen")]
    zoom: f32,
    /// Render without a window, into this file
    #[arg(long, value_name = "OUT.png")]
    offscreen: Option<PathBuf>,
    /// Frame count of --offscreen
    #[arg(long, default_value_t = 60, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), requires = "offscreen")]
    frames: u32,
    /// Width and height of the picture, or initial size of the window
    #[arg(long, default_value = "1280x800", value_name = "WxH")]
    size: String,
    /// Write an animation with every K-th frame
    #[arg(long, value_name = "K", value_parser = clap::value_parser!(u32).range(1..=65_535), requires = "offscreen")]
    every: Option<u32>,
    /// Turn the camera around the scene, in degrees per frame
    #[arg(long, default_value_t = 0.0, value_name = "DEGREES", requires = "offscreen")]
    turn: f32,
    /// Samples per pixel: 1, or 4 for smooth edges
    #[arg(long, value_parser = ["1", "4"], requires = "offscreen")]
    samples: Option<String>,
    /// Paint the panel into the picture
    #[arg(long, requires = "offscreen")]
    panel: bool,
    /// Write a trace of the frames for chrome://tracing or Perfetto
    #[arg(long, value_name = "OUT.json", requires = "offscreen")]
    trace: Option<PathBuf>,
    /// Print the measurements as JSON
    #[arg(long, requires = "offscreen")]
    json: bool,
}

/// Returns the parser of `--n`.
fn boxes() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(i64::from(*BOXES.start())..=i64::from(*BOXES.end()))
}

fn size(text: &str) -> Result<[u32; 2]> {
    let (width, height) = text.split_once('x').with_context(|| format!("--size {text}: not like 1280x800"))?;
    let number = |text: &str| match text.parse::<u32>() {
        Ok(pixels @ 16..=8192) => Ok(pixels),
        _ => bail!("--size: {text} is not between 16 and 8192"),
    };
    Ok([number(width)?, number(height)?])
}

impl Arguments {
    fn settings(&self) -> Result<(Settings, Vec<broadsweep::Aabb>)> {
        let named = Kind::NAMED.iter().find(|(name, kind)| *name == self.scene && *kind != Kind::Mesh);
        let (kind, mesh) = match named {
            Some((_, kind)) => (*kind, Vec::new()),
            None if self.scene.ends_with(".npy") => (Kind::Mesh, read_boxes(&self.scene)?),
            None => {
                bail!("{}: no scene; there are pile, clusters, city, robots, and files that end in .npy", self.scene)
            }
        };
        let lines = match self.lines.as_str() {
            "none" => Lines::None,
            "new" => Lines::New,
            "all" => Lines::All,
            other => bail!("--lines {other}: not none, new or all"),
        };
        if kind == Kind::Mesh && mesh.len() < 2 {
            bail!("{}: fewer than two boxes", self.scene);
        }
        let default = Settings::default();
        let settings = Settings {
            kind,
            box_count: if kind == Kind::Mesh { mesh.len() as u32 } else { self.n.unwrap_or(default.box_count) },
            has_events: !self.no_events,
            has_grid: self.grid,
            sphere: self.sphere,
            is_timed: !self.no_times,
            lines,
            ..default
        };
        Ok((settings, mesh))
    }

    fn samples(&self) -> Option<u32> {
        self.samples.as_ref().and_then(|samples| samples.parse().ok())
    }
}

/// Returns the first adapter whose name contains `name`; without a name, the system's preferred adapter.
fn adapter(instance: &wgpu::Instance, name: Option<&str>) -> Result<wgpu::Adapter> {
    let Some(name) = name else {
        let options = wgpu::RequestAdapterOptions {
            power_preference: wgpu::PowerPreference::HighPerformance,
            ..Default::default()
        };
        return pollster::block_on(instance.request_adapter(&options)).context("there is no adapter");
    };
    let adapters = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all()));
    let is_named = |adapter: &wgpu::Adapter| adapter.get_info().name.to_lowercase().contains(&name.to_lowercase());
    adapters.into_iter().find(is_named).with_context(|| format!("no adapter's name contains '{name}'"))
}

fn render(arguments: &Arguments, out: PathBuf) -> Result<()> {
    let (settings, mesh) = arguments.settings()?;
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle_from_env());
    let adapter = adapter(&instance, arguments.adapter.as_deref())?;
    let gpu = pollster::block_on(device::request(&adapter)).map_err(anyhow::Error::msg)?;
    let mut viewer = Viewer::new(&gpu, offscreen::format(&gpu, arguments.samples()), settings, mesh)?;
    viewer.camera.zoom(arguments.zoom);
    if settings.sphere.is_some() {
        viewer.point_at(Some(glam::Vec2::ZERO));
    }
    let shot = offscreen::Shot {
        out,
        size: size(&arguments.size)?,
        frames: arguments.frames,
        every: arguments.every,
        turn: arguments.turn.to_radians(),
        has_panel: arguments.panel,
    };
    let trace = if arguments.trace.is_some() { Trace::default() } else { Trace::off() };
    let measured = offscreen::run(&mut viewer, &shot, &trace)?;
    if let Some(path) = &arguments.trace {
        let file = std::fs::File::create(path).with_context(|| format!("{}: cannot be written", path.display()))?;
        trace.write(std::io::BufWriter::new(file))?;
    }
    print(&measured, &adapter.get_info().name, &shot, arguments.json);
    Ok(())
}

/// Prints the measurements.
fn print(measured: &offscreen::Measured, adapter: &str, shot: &offscreen::Shot, is_json: bool) {
    let offscreen::Measured { box_count, pair_count, frame, recording, submitting, parts, bytes, resident } = measured;
    if is_json {
        let adapter = adapter.replace(['"', '\\'], "'");
        let parts: Vec<String> = PARTS.iter().zip(parts).map(|(name, ms)| format!(r#""{name}":{ms:.3}"#)).collect();
        println!(
            r#"{{"adapter":"{adapter}","boxes":{box_count},"pairs":{pair_count},"frame_ms":{frame:.3},"recording_ms":{recording:.3},"submitting_ms":{submitting:.3},"parts_ms":{{{}}},"device_bytes":{bytes},"resident_bytes":[{},{}]}}"#,
            parts.join(","),
            resident[0],
            resident[1]
        );
        return;
    }
    println!("{box_count} boxes, {pair_count} pairs on {adapter}: {}", shot.out.display());
    println!("a frame {frame:.2} ms; recorded in {recording:.2} ms, submitted in {submitting:.2} ms");
    let parts: Vec<String> = PARTS.iter().zip(parts).map(|(name, ms)| format!("{name} {ms:.2} ms")).collect();
    println!("on the device: {}", parts.join(", "));
}

fn main() -> Result<()> {
    let arguments = Arguments::parse();
    if let Some(out) = arguments.offscreen.clone() {
        return render(&arguments, out);
    }
    #[cfg(feature = "window")]
    {
        let (settings, mesh) = arguments.settings()?;
        let (size, adapter) = (size(&arguments.size)?, arguments.adapter);
        broadsweep_viewer::window::run(broadsweep_viewer::window::Start { settings, mesh, size, adapter })
    }
    #[cfg(not(feature = "window"))]
    bail!("windows are not in this build: it takes the feature `window`, or --offscreen OUT.png")
}
