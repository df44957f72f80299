//! A static world: a million boxes that stay, ten thousand that move among them, all in buffers of the device. The
//! boxes that stay are in a `TreeRecorder`, which is built once; each frame records the pairs of the movers among
//! themselves and with the boxes that stay, and what began and ended since the last frame, into the renderer's encoder.
//! `cargo run --release --example static_world [STATIC BOXES] [MOVERS]`

use std::time::Instant;

use broadsweep::record::{GpuBatch, GpuEvents, GpuIdentity, PairHeader};
use broadsweep::{Aabb, Error, Gpu, Options, PairOrder, Recorder, TreeRecorder, wgpu};
use wgpu::util::DeviceExt;

const FRAMES: u32 = 8;

/// Moves each box by a step of its own. A renderer's simulation would do it.
const MOVE: &str = "
@group(0) @binding(0) var<storage, read_write> boxes: array<f32>;

@compute @workgroup_size(64)
fn move_boxes(@builtin(global_invocation_id) id: vec3<u32>) {
    let i = id.x;
    if 6u * i < arrayLength(&boxes) {
        let by = 0.0002 * (vec3<f32>(f32(i % 7u), f32(i % 11u), f32(i % 13u)) - vec3<f32>(3.0, 5.0, 6.0));
        for (var k = 0u; k < 6u; k += 1u) {
            boxes[6u * i + k] += by[k % 3u];
        }
    }
}";

fn main() -> Result<(), Error> {
    let mut counts = std::env::args().skip(1).map(|count| count.parse().expect("a number of boxes"));
    let (statics, movers): (u32, u32) = (counts.next().unwrap_or(1_000_000), counts.next().unwrap_or(10_000));
    // Stands for the device of a renderer: `Gpu::from_device(device, queue)`.
    let gpu = Gpu::headless()?;
    let static_boxes = upload(&gpu, &cubes(statics, statics, 1.0));
    // A crowd: as dense as the boxes that stay.
    let extent = (f64::from(movers) / f64::from(statics.max(1))).cbrt();
    let moving_boxes = upload(&gpu, &cubes(movers, statics, extent));
    let simulation = Simulation::new(&gpu, &moving_boxes, movers);

    let mut tree = TreeRecorder::new(&gpu)?;
    let start = Instant::now();
    tree.tree_mut().build((static_boxes.slice(..), statics))?;
    println!("a tree of {statics} boxes that stay: {:.1} ms", 1e3 * start.elapsed().as_secs_f64());
    let mut recorder = Recorder::new(&gpu, Options::default().with_order(PairOrder::Canonical))?;
    recorder.reserve(movers as usize, 8 * movers)?;

    for frame in 0..FRAMES {
        let start = Instant::now();
        let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        simulation.record(&mut encoder);
        let among = recorder.record_events(&mut encoder, moving_boxes.slice(..), movers, GpuIdentity::Index)?;
        let batch = GpuBatch::<Aabb>::new(moving_boxes.slice(..), movers);
        let with = tree.record_overlap_events(&mut encoder, batch, 16 * movers, GpuIdentity::Index)?;
        // A renderer would use the lists now, in the same encoder: `with.created.pairs` and `with.created.arguments`.
        // Here their headers are read back, to print the counts.
        let counts = read_back(&gpu, encoder, &[&among, &with])?;
        let ms = 1e3 * start.elapsed().as_secs_f64();
        let [among, with] = counts.map(|[all, created, lost]| format!("{all} pairs, {created} created, {lost} lost"));
        println!(
            "frame {frame}: movers among themselves {among}; with the static world {with}; {ms:.1} ms with the reading back"
        );
    }
    Ok(())
}

/// Cubes with their lower corners in a cube of edge `extent`. Each overlaps about four of `of` such cubes in the unit
/// cube.
fn cubes(count: u32, of: u32, extent: f64) -> Vec<Aabb> {
    let edge = (0.5 / f64::from(of)).cbrt() as f32;
    let cube = |i: u32| {
        // Multiples of three irrational numbers fill the cube evenly.
        let at = [0.819_172_513_396, 0.671_043_606_703, 0.549_700_477_901]
            .map(|step: f64| (extent * (f64::from(i) * step).fract()) as f32);
        Aabb::new(at, at.map(|x| x + edge))
    };
    (0..count).map(cube).collect()
}

fn upload(gpu: &Gpu, boxes: &[Aabb]) -> wgpu::Buffer {
    gpu.device().create_buffer_init(&wgpu::util::BufferInitDescriptor {
        label: Some("boxes"),
        contents: bytemuck::cast_slice(boxes),
        usage: wgpu::BufferUsages::STORAGE,
    })
}

/// Moves the boxes on the device.
struct Simulation {
    pipeline: wgpu::ComputePipeline,
    bound: wgpu::BindGroup,
    groups: u32,
}

impl Simulation {
    fn new(gpu: &Gpu, boxes: &wgpu::Buffer, count: u32) -> Self {
        let device = gpu.device();
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label: Some("move"),
            source: wgpu::ShaderSource::Wgsl(MOVE.into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label: Some("move"),
            layout: None,
            module: &module,
            entry_point: Some("move_boxes"),
            compilation_options: Default::default(),
            cache: None,
        });
        let bound = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label: Some("move"),
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[wgpu::BindGroupEntry { binding: 0, resource: boxes.as_entire_binding() }],
        });
        Self { pipeline, bound, groups: count.div_ceil(64) }
    }

    fn record(&self, encoder: &mut wgpu::CommandEncoder) {
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&self.pipeline);
        pass.set_bind_group(0, &self.bound, &[]);
        pass.dispatch_workgroups(self.groups, 1, 1);
    }
}

/// Submits the frame, and reads the counts of all, created and lost pairs of these events back.
fn read_back<const N: usize>(
    gpu: &Gpu,
    mut encoder: wgpu::CommandEncoder,
    events: &[&GpuEvents; N],
) -> Result<[[u32; 3]; N], Error> {
    let header = size_of::<PairHeader>() as u64;
    let back = gpu.device().create_buffer(&wgpu::BufferDescriptor {
        label: Some("back"),
        size: 3 * N as u64 * header,
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let lists = events.iter().flat_map(|events| [&events.pairs, &events.created, &events.lost]);
    for (k, list) in (0..).zip(lists) {
        encoder.copy_buffer_to_buffer(list.header, 0, &back, k * header, header);
    }
    gpu.queue().submit([encoder.finish()]);
    back.map_async(wgpu::MapMode::Read, .., |_| {});
    let failed = |message: String| Error::Gpu { label: "static_world".into(), message, cause: None };
    gpu.device().poll(wgpu::PollType::wait_indefinitely()).map_err(|error| failed(error.to_string()))?;
    let view = back.get_mapped_range(..).map_err(|error| failed(error.to_string()))?;
    let headers: Vec<PairHeader> = bytemuck::pod_collect_to_vec(&view);
    if let Some(short) = headers.iter().find(|header| header.overflow != 0) {
        return Err(failed(format!("a list has room for {} of {} pairs", short.capacity, short.count)));
    }
    Ok(std::array::from_fn(|n| std::array::from_fn(|k| headers[3 * n + k].count)))
}
