//! A renderer's use: its own device, boxes that are in a GPU buffer already, and pairs that stay there. A compute
//! shader of the renderer marks every box that touches another, as many workgroups as the engine's arguments say.
//! `cargo run --example stay_on_gpu`

use broadsweep::record::GpuPairs;
use broadsweep::{Aabb, Error, Gpu, Options, Recorder, wgpu, wgsl};
use wgpu::util::DeviceExt;

const MARK: &str = "
@group(0) @binding(0) var<storage, read> header: PairHeader;
@group(0) @binding(1) var<storage, read> pairs: array<Pair>;
@group(0) @binding(2) var<storage, read_write> touched: array<atomic<u32>>;

@compute @workgroup_size(256)
fn mark(@builtin(global_invocation_id) id: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>) {
    let i = id.x + id.y * groups.x * 256u;
    if i < header.written {
        atomicStore(&touched[pairs[i].a], 1u);
        atomicStore(&touched[pairs[i].b], 1u);
    }
}";

fn main() -> Result<(), Error> {
    // Stands for the device that a renderer has anyway: `Gpu::from_device(device, queue)`.
    let gpu = Gpu::headless()?;
    let device = gpu.device();
    // Cubes that fill the unit cube evenly: multiples of three irrational numbers.
    let cube = |i: u32| {
        let at = [0.819_172_5, 0.671_043_6, 0.549_700_5].map(|step: f64| (f64::from(i) * step).fract() as f32);
        Aabb::new(at, at.map(|x| x + 0.04))
    };
    let scene: Vec<Aabb> = (0..5_000).map(cube).collect();
    let n = scene.len() as u32;
    let storage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
    let boxes = device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
        label: Some("boxes"),
        contents: bytemuck::cast_slice(&scene),
        usage: storage,
    });
    let touched = device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
        label: Some("touched"),
        contents: bytemuck::cast_slice(&vec![0u32; scene.len()]),
        usage: storage,
    });
    let pipeline = marking(device);

    let mut recorder = Recorder::new(&gpu, Options::default())?;
    let mut encoder = device.create_command_encoder(&Default::default());
    // One encoder, one submission: the pairs, then the pass that uses them.
    let left = recorder.record(&mut encoder, boxes.slice(..), n)?;
    let entry = |binding, buffer: &'_ wgpu::Buffer| (binding, buffer.clone());
    let bound = [entry(0, left.header), entry(1, left.pairs), entry(2, &touched)];
    let bind_group = device.create_bind_group(&wgpu::BindGroupDescriptor {
        label: Some("mark"),
        layout: &pipeline.get_bind_group_layout(0),
        entries: &bound
            .iter()
            .map(|(binding, buffer)| wgpu::BindGroupEntry { binding: *binding, resource: buffer.as_entire_binding() })
            .collect::<Vec<_>>(),
    });
    let mut pass = encoder.begin_compute_pass(&Default::default());
    pass.set_pipeline(&pipeline);
    pass.set_bind_group(0, &bind_group, &[]);
    pass.dispatch_workgroups_indirect(left.arguments, GpuPairs::DISPATCH_OFFSET);
    drop(pass);

    // A renderer would draw now. Here the marks are read back to be counted.
    let marks = read_back(&gpu, encoder, &touched)?;
    println!("{} of {n} boxes touch another", marks.iter().filter(|&&mark| mark == 1).count());
    Ok(())
}

/// Compiles the kernel that marks.
fn marking(device: &wgpu::Device) -> wgpu::ComputePipeline {
    let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
        label: Some("mark"),
        source: wgpu::ShaderSource::Wgsl([wgsl::PAIR, wgsl::PAIR_HEADER, MARK].concat().into()),
    });
    device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
        label: Some("mark"),
        layout: None,
        module: &module,
        entry_point: Some("mark"),
        compilation_options: Default::default(),
        cache: None,
    })
}

/// Submits what was recorded, and brings a buffer to the host.
fn read_back(gpu: &Gpu, mut encoder: wgpu::CommandEncoder, buffer: &wgpu::Buffer) -> Result<Vec<u32>, Error> {
    let back = gpu.device().create_buffer(&wgpu::BufferDescriptor {
        label: Some("back"),
        size: buffer.size(),
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    encoder.copy_buffer_to_buffer(buffer, 0, &back, 0, buffer.size());
    gpu.queue().submit([encoder.finish()]);
    back.map_async(wgpu::MapMode::Read, .., |_| {});
    let failed = |message: String| Error::Gpu { label: "stay_on_gpu".into(), message, cause: None };
    gpu.device().poll(wgpu::PollType::wait_indefinitely()).map_err(|error| failed(error.to_string()))?;
    let view = back.get_mapped_range(..).map_err(|error| failed(error.to_string()))?;
    Ok(bytemuck::pod_collect_to_vec(&view))
}
