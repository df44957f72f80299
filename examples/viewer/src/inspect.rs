//! Reads buffers back, for tests.

use broadsweep::{Gpu, wgpu};

use crate::offscreen::COLOR;

/// Reads a buffer back. Blocks until all submissions are finished.
///
/// # Panics
/// If the device is lost.
pub fn read<T: bytemuck::Pod>(gpu: &Gpu, buffer: &wgpu::Buffer) -> Vec<T> {
    let device = gpu.device();
    let back = device.create_buffer(&wgpu::BufferDescriptor {
        label: Some("back"),
        size: buffer.size(),
        usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    let mut encoder = device.create_command_encoder(&Default::default());
    encoder.copy_buffer_to_buffer(buffer, 0, &back, 0, buffer.size());
    gpu.queue().submit([encoder.finish()]);
    back.map_async(wgpu::MapMode::Read, .., |_| {});
    device.poll(wgpu::PollType::wait_indefinitely()).expect("a device that is there");
    let view = back.get_mapped_range(..).expect("a buffer that is mapped");
    bytemuck::pod_collect_to_vec(&view)
}

/// Creates a texture to draw to.
pub fn texture(device: &wgpu::Device, [width, height]: [u32; 2]) -> wgpu::Texture {
    device.create_texture(&wgpu::TextureDescriptor {
        label: Some("texture"),
        size: wgpu::Extent3d { width, height, depth_or_array_layers: 1 },
        mip_level_count: 1,
        sample_count: 1,
        dimension: wgpu::TextureDimension::D2,
        format: COLOR,
        usage: wgpu::TextureUsages::RENDER_ATTACHMENT,
        view_formats: &[],
    })
}
