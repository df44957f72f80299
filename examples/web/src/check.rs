//! Compares the results of the GPU engine in this browser with the results of the CPU engine for the same boxes.

use broadsweep::{Aabb, BroadPhase, Error, Events, Gpu, Options, PairOrder, Ray, Step, Tree, cpu, wgpu};
use broadsweep_viewer::device;
use broadsweep_viewer::picture::{Format, Target};
use broadsweep_viewer::scene::{Kind, Scene};
use broadsweep_viewer::settings::Settings;
use broadsweep_viewer::viewer::Viewer;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

use crate::{js_error, now};

/// The size of the picture, which is not shown.
const SIZE: [u32; 2] = [64, 40];
const FORMAT: Format = Format { color: wgpu::TextureFormat::Rgba8Unorm, samples: 1 };
/// Frames with moving boxes, then frames at rest: the pair count is read back some frames later.
const MOVING: u32 = 8;
const STILL: u32 = 6;

/// Compares the engines on known scenes: recorded frames, submitted searches, events, rays, an unfinished
/// compilation, and a lost device.
/// `tell` receives a line for each comparison. Returns the count of comparisons.
///
/// # Errors
/// The first difference, with both counts.
#[wasm_bindgen]
pub async fn check(tell: js_sys::Function) -> Result<u32, JsValue> {
    let mut count = 0;
    let mut say = |what: &str, engines: Result<EngineTimes, String>| {
        let EngineTimes { number, of, milliseconds } =
            engines.map_err(|error| js_error(&format!("{what}: {error}")))?;
        count += 1;
        let [gpu, cpu] = milliseconds.map(|ms| format!("{ms:.1} ms"));
        let line = format!("{what}: {number} {of}, GPU {gpu}, CPU {cpu}");
        tell.call1(&JsValue::NULL, &line.into()).map(|_| ())
    };
    let gpu = device().await.map_err(|error| js_error(&error))?;
    let mut boxes = Vec::new();
    for (kind, box_count) in [(Kind::Pile, 3000), (Kind::Clusters, 20_000), (Kind::City, 3000), (Kind::Robots, 4000)] {
        let name = kind.name();
        for has_events in [false, true] {
            let settings = Settings { kind, box_count, has_events, ..Settings::default() };
            let what = if has_events { "recorded events" } else { "recorded" };
            say(&format!("{name}, {what}"), frames(&gpu, settings, &mut boxes).await)?;
        }
        let scene = Scene::new(kind, box_count, &[]);
        say(&format!("{name}, submitted"), submitted(&gpu, &scene, &boxes).await)?;
        say(&format!("{name}, submitted events"), submitted_events(&gpu, &scene, &boxes).await)?;
        say(&format!("{name}, rays"), rays(&gpu, &boxes).await)?;
    }
    say("an unfinished compilation", unfinished(&boxes[..1000]).await)?;
    say("a device that is lost", lost(&boxes).await)?;
    Ok(count)
}

/// The result of a comparison.
struct EngineTimes {
    number: u64,
    of: &'static str,
    /// The times of the warm GPU engine and of the CPU engine.
    milliseconds: [f64; 2],
}

impl EngineTimes {
    /// Compares the results of the engines.
    fn same<T: PartialEq>(
        gpu: &T,
        cpu: &T,
        numbers: [usize; 2],
        of: &'static str,
        ms: [f64; 2],
    ) -> Result<Self, String> {
        let [on_gpu, on_cpu] = numbers;
        if gpu == cpu {
            return Ok(Self { number: on_gpu as u64, of, milliseconds: ms });
        }
        Err(format!("the engines differ: {on_gpu} {of} on the GPU, {on_cpu} on the CPU"))
    }
}

/// Requests a new device.
async fn device() -> Result<Gpu, String> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let adapter = instance.request_adapter(&Default::default()).await.map_err(|error| error.to_string())?;
    device::request(&adapter).await
}

fn text(error: impl ToString) -> String {
    error.to_string()
}

/// Records frames as the viewer does, and compares the pair count of the last frame. Writes its boxes to `boxes`.
async fn frames(gpu: &Gpu, settings: Settings, boxes: &mut Vec<Aabb>) -> Result<EngineTimes, String> {
    let mut viewer = Viewer::new(gpu, FORMAT, settings, Vec::new()).map_err(text)?;
    viewer.ready().await.map_err(text)?;
    let texture = gpu.device().create_texture(&wgpu::TextureDescriptor {
        label: Some("unseen"),
        size: wgpu::Extent3d { width: SIZE[0], height: SIZE[1], depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: FORMAT.color,
        usage: wgpu::TextureUsages::RENDER_ATTACHMENT,
        view_formats: &[],
    });
    let view = texture.create_view(&Default::default());
    let mut taken = 0.0;
    for frame in 0..MOVING + STILL {
        viewer.settings.is_paused = frame >= MOVING;
        let start = now();
        let mut encoder = gpu.device().create_command_encoder(&Default::default());
        viewer.record(&mut encoder, &Target { view: &view, size: SIZE }).map_err(text)?;
        gpu.queue().submit([encoder.finish()]);
        // Waits for the frame, unlike a loop that shows frames.
        *boxes = read(gpu, viewer.boxes()).await?;
        taken = now() - start;
    }
    let on_gpu = viewer.poll().pair_count().ok_or("no count has arrived")? as usize;
    let scene = Scene::new(settings.kind, settings.box_count, &[]);
    let (on_cpu, ms) = on_cpu(&scene, boxes)?;
    EngineTimes::same(&on_gpu, &on_cpu.len(), [on_gpu, on_cpu.len()], "pairs", [taken, ms])
}

/// Finds the pairs on the CPU, with the milliseconds of a warm search.
fn on_cpu(scene: &Scene, boxes: &[Aabb]) -> Result<(Vec<broadsweep::Pair>, f64), String> {
    let mut engine = cpu::BroadPhase::new(canonical()).map_err(text)?;
    engine.set_filters(scene.filters.clone()).map_err(text)?;
    engine.find_pairs(boxes).map_err(text)?;
    let start = now();
    let pairs = engine.find_pairs(boxes).map_err(text)?.pairs.clone();
    Ok((pairs, now() - start))
}

fn canonical() -> Options {
    Options::default().with_order(PairOrder::Canonical)
}

async fn engine(gpu: &Gpu, scene: &Scene) -> Result<BroadPhase, Error> {
    let mut engine = BroadPhase::new(gpu, canonical())?;
    engine.set_filters(scene.filters.clone())?;
    engine.compile_ahead(scene.bodies.len()).await?;
    Ok(engine)
}

/// Submits two searches and takes both.
async fn submitted(gpu: &Gpu, scene: &Scene, boxes: &[Aabb]) -> Result<EngineTimes, String> {
    let mut engine = engine(gpu, scene).await.map_err(text)?;
    let mut taken = 0.0;
    for _ in 0..2 {
        let start = now();
        engine.submissions().submit(boxes).map_err(text)?;
        engine.submissions().submit(boxes).map_err(text)?;
        for _ in 0..2 {
            engine.submissions().take().await.map_err(text)?;
        }
        taken = 0.5 * (now() - start);
    }
    let (on_cpu, ms) = on_cpu(scene, boxes)?;
    let on_gpu = &engine.last_overlaps().pairs;
    EngineTimes::same(on_gpu, &on_cpu, [on_gpu.len(), on_cpu.len()], "pairs", [taken, ms])
}

/// Compares created and lost pairs after each tenth box has moved away.
async fn submitted_events(gpu: &Gpu, scene: &Scene, boxes: &[Aabb]) -> Result<EngineTimes, String> {
    let mut moved = boxes.to_vec();
    for aabb in moved.iter_mut().step_by(10) {
        (aabb.min[2], aabb.max[2]) = (aabb.min[2] + 1e4, aabb.max[2] + 1e4);
    }
    let mut on_gpu = engine(gpu, scene).await.map_err(text)?;
    let mut on_cpu = cpu::BroadPhase::new(canonical()).map_err(text)?;
    on_cpu.set_filters(scene.filters.clone()).map_err(text)?;
    let lists = |events: &Events| [events.created.clone(), events.lost.clone(), events.persisting.clone()];
    let (mut found, mut ms) = ([Default::default(), Default::default()], [0.0; 2]);
    for step in [boxes, &moved, boxes] {
        let start = now();
        on_gpu.submissions().submit_events(Step::from(step)).map_err(text)?;
        found[0] = lists(on_gpu.submissions().take_events().await.map_err(text)?);
        let between = now();
        found[1] = lists(on_cpu.find_events(step).map_err(text)?);
        ms = [between - start, now() - between];
    }
    let count = |lists: &[Vec<broadsweep::Pair>; 3]| lists[0].len() + lists[1].len();
    EngineTimes::same(&found[0], &found[1], [count(&found[0]), count(&found[1])], "events", ms)
}

/// Compares hits of rays that run from above each hundredth box to another box.
async fn rays(gpu: &Gpu, boxes: &[Aabb]) -> Result<EngineTimes, String> {
    let middle = |aabb: &Aabb| [0, 1, 2].map(|k| 0.5 * (aabb.min[k] + aabb.max[k]));
    let ends = boxes.iter().zip(boxes.iter().rev()).step_by(100);
    // The origins are above all boxes, so that no ray begins in a box.
    let rays: Vec<Ray> = ends
        .map(|(a, b)| {
            let (from, to) = (middle(a), middle(b));
            let from = [from[0], from[1], from[2] + 500.0];
            Ray::new(from, [0, 1, 2].map(|k| to[k] - from[k]))
        })
        .collect();
    let mut on_gpu = Tree::new(gpu).map_err(text)?;
    on_gpu.asynchronous().build(boxes).await.map_err(text)?;
    on_gpu.asynchronous().nearest_hits(&rays[..]).await.map_err(text)?;
    let start = now();
    let from_gpu = on_gpu.asynchronous().nearest_hits(&rays[..]).await.map_err(text)?.answers;
    let between = now();
    let mut on_cpu = cpu::Tree::new();
    on_cpu.build(boxes).map_err(text)?;
    let built = now();
    let from_cpu = on_cpu.nearest_hits(&rays[..]).map_err(text)?.answers;
    let hits = |answers: &[broadsweep::Hit]| answers.iter().filter(|hit| hit.index != u32::MAX).count();
    let numbers = [hits(&from_gpu), hits(&from_cpu)];
    if numbers[0] == 0 {
        return Err("no ray hits anything".to_owned());
    }
    EngineTimes::same(&from_gpu, &from_cpu, numbers, "hits", [between - start, now() - built])
}

/// Drops a compilation while the browser compiles a kernel, ends another with a wait, and searches.
async fn unfinished(boxes: &[Aabb]) -> Result<EngineTimes, String> {
    let gpu = device().await?;
    let mut on_gpu = BroadPhase::new(&gpu, canonical()).map_err(text)?;
    let dropped = on_gpu.compile_ahead(boxes.len());
    if dropped.is_finished() || !gpu.compiled_kernels().is_empty() {
        return Err("a kernel counts as compiled before the browser accepts it".to_owned());
    }
    drop(dropped);
    let ended = on_gpu.compile_ahead(boxes.len());
    if ended.is_finished() {
        return Err("the dropped compilation left no kernel to compile".to_owned());
    }
    let kernels = ended.progress().kernels;
    ended.wait().map_err(text)?;
    if gpu.compiled_kernels().len() != kernels {
        return Err(format!("{} of {kernels} kernels are compiled after a wait", gpu.compiled_kernels().len()));
    }
    let start = now();
    on_gpu.submissions().submit(boxes).map_err(text)?;
    on_gpu.submissions().take().await.map_err(text)?;
    let between = now();
    let mut on_cpu = cpu::BroadPhase::new(canonical()).map_err(text)?;
    let from_cpu = &on_cpu.find_pairs(boxes).map_err(text)?.pairs;
    let ms = [between - start, now() - between];
    let from_gpu = &on_gpu.last_overlaps().pairs;
    EngineTimes::same(from_gpu, from_cpu, [from_gpu.len(), from_cpu.len()], "pairs", ms)
}

/// Destroys a device during a search, and expects [`Error::DeviceLost`].
async fn lost(boxes: &[Aabb]) -> Result<EngineTimes, String> {
    let gpu = device().await?;
    let mut engine = BroadPhase::new(&gpu, canonical()).map_err(text)?;
    engine.submissions().submit(boxes).map_err(text)?;
    engine.submissions().take().await.map_err(text)?;
    gpu.device().destroy();
    let submitted = engine.submissions().submit(boxes);
    let result = match submitted {
        Ok(()) => engine.submissions().take().await.map(|_| ()),
        Err(error) => Err(error),
    };
    match result {
        Err(Error::DeviceLost { .. }) => Ok(EngineTimes { number: 1, of: "error DeviceLost", milliseconds: [0.0; 2] }),
        Err(other) => Err(format!("another error: {other}")),
        Ok(()) => Err("nobody noticed".to_owned()),
    }
}

/// Reads a buffer back.
async fn read<T: bytemuck::Pod>(gpu: &Gpu, buffer: &wgpu::Buffer) -> Result<Vec<T>, String> {
    let back = gpu.device().create_buffer(&wgpu::BufferDescriptor {
        label: Some("back"),
        size: buffer.size(),
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    encoder.copy_buffer_to_buffer(buffer, 0, &back, 0, buffer.size());
    gpu.queue().submit([encoder.finish()]);
    let mapped = js_sys::Promise::new(&mut |resolve, reject| {
        back.map_async(wgpu::MapMode::Read, .., move |result| {
            let then = if result.is_ok() { &resolve } else { &reject };
            _ = then.call0(&JsValue::NULL);
        });
    });
    JsFuture::from(mapped).await.map_err(|_| "a buffer could not be read")?;
    let view = back.get_mapped_range(..).map_err(text)?;
    Ok(bytemuck::pod_collect_to_vec(&view))
}
