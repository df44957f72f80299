//! Draws the overlap of each pair of boxes on a renderer's own device: pairs are recorded from a box buffer and drawn
//! by an indirect draw in the same encoder. A double loop checks the number of pairs and each texel of the picture.
//!
//! `cargo run --example draw_pairs`

use broadsweep::record::{GpuPairs, PairHeader};
use broadsweep::wgpu::{self, BufferUsages, TextureUsages, util::DeviceExt};
use broadsweep::{Aabb, Gpu, Options, Recorder, wgsl};

const SIZE: u32 = 256; // texels along an edge, a byte each: a copy to a buffer needs rows of 256 bytes
const SHADER: &str = "
@group(0) @binding(0) var<storage, read> boxes: array<Aabb>;
@vertex fn corner(@location(0) pair: vec2<u32>, @builtin(vertex_index) v: u32) -> @builtin(position) vec4<f32> {
    let a = boxes[pair.x];
    let b = boxes[pair.y];
    let lower = max(vec2(a.min[0], a.min[1]), vec2(b.min[0], b.min[1]));
    let upper = min(vec2(a.max[0], a.max[1]), vec2(b.max[0], b.max[1]));
    let texel = select(lower, upper, vec2(v == 1u || v == 3u || v == 4u, v == 2u || v == 4u || v == 5u));
    return vec4(texel.x / 128.0 - 1.0, 1.0 - texel.y / 128.0, 0.0, 1.0);
}
@fragment fn white() -> @location(0) vec4<f32> { return vec4(1.0); }";

/// Generates boxes with whole numbers.
fn boxes() -> Vec<Aabb> {
    let number = |i: usize, below: usize| (i * i * 7919 / 64 % below) as f32;
    let corner = |i: usize| [number(6 * i, 230), number(6 * i + 1, 230), number(6 * i + 2, 100)];
    (0..500)
        .map(|i| (corner(i), [3, 4, 5].map(|k| number(6 * i + k, 25))))
        .map(|(min, size)| Aabb::new(min, [0, 1, 2].map(|axis| min[axis] + size[axis])))
        .collect()
}

/// Creates the texture to draw into.
fn target(device: &wgpu::Device) -> wgpu::Texture {
    let size = wgpu::Extent3d { width: SIZE, height: SIZE, depth_or_array_layers: 1 };
    let (format, usage) = (wgpu::TextureFormat::R8Unorm, TextureUsages::RENDER_ATTACHMENT | TextureUsages::COPY_SRC);
    let (dimension, mip_level_count, sample_count) = (wgpu::TextureDimension::D2, 1, 1);
    let target = wgpu::TextureDescriptor {
        label: None,
        size,
        mip_level_count,
        sample_count,
        dimension,
        format,
        usage,
        view_formats: &[],
    };
    device.create_texture(&target)
}

/// Creates a pipeline that draws two triangles for each pair.
fn pipeline(device: &wgpu::Device, format: wgpu::TextureFormat) -> wgpu::RenderPipeline {
    let source = wgpu::ShaderSource::Wgsl([wgsl::AABB, SHADER].concat().into());
    let module = &device.create_shader_module(wgpu::ShaderModuleDescriptor { label: None, source });
    let (step_mode, attributes) = (wgpu::VertexStepMode::Instance, &wgpu::vertex_attr_array![0 => Uint32x2]);
    let buffers = &[Some(wgpu::VertexBufferLayout { array_stride: 8, step_mode, attributes })];
    let (targets, compilation_options) = (&[Some(format.into())], Default::default());
    device.create_render_pipeline(&wgpu::RenderPipelineDescriptor {
        label: None,
        layout: None,
        vertex: wgpu::VertexState { module, entry_point: None, compilation_options: Default::default(), buffers },
        primitive: Default::default(),
        depth_stencil: None,
        multisample: Default::default(),
        fragment: Some(wgpu::FragmentState { module, entry_point: None, compilation_options, targets }),
        multiview_mask: None,
        cache: None,
    })
}

/// Counts the pairs, and marks the texels that they cover.
fn double_loop(boxes: &[Aabb]) -> (u32, Vec<u8>) {
    let (mut count, mut expected) = (0, vec![0u8; (SIZE * SIZE) as usize]);
    for (i, a) in boxes.iter().enumerate() {
        for b in boxes[..i].iter().filter(|b| a.overlaps(b)) {
            count += 1;
            let [x, y] =
                [0, 1].map(|axis| a.min[axis].max(b.min[axis]) as usize..a.max[axis].min(b.max[axis]) as usize);
            y.for_each(|row| expected[row * SIZE as usize..][x.clone()].fill(255));
        }
    }
    (count, expected)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    // The renderer: an instance without validation of indirect calls, a device, a target, a pipeline, and boxes with
    // whole coordinates.
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle_from_env();
    descriptor.flags.remove(wgpu::InstanceFlags::VALIDATION_INDIRECT_CALL);
    let adapter = pollster::block_on(wgpu::Instance::new(descriptor).request_adapter(&Default::default()))?;
    let (device, queue) = pollster::block_on(adapter.request_device(&Default::default()))?;
    let boxes = boxes();
    let (contents, usage) = (bytemuck::cast_slice(&boxes), BufferUsages::STORAGE);
    let box_buffer = device.create_buffer_init(&wgpu::util::BufferInitDescriptor { label: None, contents, usage });
    let target = target(&device);
    let pipeline = pipeline(&device, target.format());
    let (layout, entries) = (
        &pipeline.get_bind_group_layout(0),
        &[wgpu::BindGroupEntry { binding: 0, resource: box_buffer.as_entire_binding() }],
    );
    let group = device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries });

    // A frame: the search, the picture and two copies, in one encoder.
    let gpu = Gpu::from_device(device.clone(), queue.clone())?;
    let mut recorder = Recorder::new(&gpu, Options::default().with_vertices_per_pair(6))?; // two triangles
    let mut encoder = device.create_command_encoder(&Default::default());
    let pairs = recorder.record(&mut encoder, box_buffer.slice(..), boxes.len() as u32)?;
    let (view, ops) = (&target.create_view(&Default::default()), Default::default()); // clears to 0
    let color = Some(wgpu::RenderPassColorAttachment { view, depth_slice: None, resolve_target: None, ops });
    let mut pass =
        encoder.begin_render_pass(&wgpu::RenderPassDescriptor { color_attachments: &[color], ..Default::default() });
    pass.set_pipeline(&pipeline);
    pass.set_bind_group(0, &group, &[]);
    pass.set_vertex_buffer(0, pairs.pairs.slice(..));
    pass.draw_indirect(pairs.arguments, GpuPairs::DRAW_OFFSET);
    drop(pass);
    let (texels, header_bytes) = (u64::from(SIZE * SIZE), size_of::<PairHeader>() as u64);
    let (total, usage) = (texels + header_bytes, BufferUsages::COPY_DST | BufferUsages::MAP_READ);
    let read_back =
        device.create_buffer(&wgpu::BufferDescriptor { label: None, size: total, usage, mapped_at_creation: false });
    let layout = wgpu::TexelCopyBufferLayout { offset: 0, bytes_per_row: Some(SIZE), rows_per_image: None };
    encoder.copy_texture_to_buffer(
        target.as_image_copy(),
        wgpu::TexelCopyBufferInfo { buffer: &read_back, layout },
        target.size(),
    );
    encoder.copy_buffer_to_buffer(pairs.header, 0, &read_back, texels, header_bytes);
    queue.submit([encoder.finish()]);
    read_back.map_async(wgpu::MapMode::Read, .., |result| result.unwrap());
    device.poll(wgpu::PollType::wait_indefinitely())?;
    let bytes = read_back.get_mapped_range(..)?;
    let (picture, header) = bytes.split_at(texels as usize);
    let header: PairHeader = bytemuck::pod_read_unaligned(header);

    let (count, expected) = double_loop(&boxes);
    println!(
        "{} boxes, {count} pairs, {} texels drawn",
        boxes.len(),
        expected.iter().filter(|&&texel| texel > 0).count()
    );
    assert_eq!((header.count, header.written, header.overflow), (count, count, 0));
    assert!(picture == expected && picture.contains(&255));
    Ok(())
}
