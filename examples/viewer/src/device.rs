//! The program's own device, which the library shares.

use broadsweep::{Gpu, wgpu};

/// Requests a device on an adapter, with what the library makes use of: room for large scenes, timestamps, subgroups.
///
/// # Errors
/// Why there is none, in a sentence.
pub async fn request(adapter: &wgpu::Adapter) -> Result<Gpu, String> {
    let has = adapter.limits();
    let required_limits = wgpu::Limits {
        max_buffer_size: has.max_buffer_size,
        max_storage_buffer_binding_size: has.max_storage_buffer_binding_size,
        max_texture_dimension_2d: has.max_texture_dimension_2d,
        ..Gpu::required_limits()
    };
    let wanted = Gpu::TIMING_FEATURES | Gpu::SUBGROUP_FEATURES;
    let (device, queue) = adapter
        .request_device(&wgpu::DeviceDescriptor {
            label: Some("viewer"),
            required_features: adapter.features() & wanted,
            required_limits,
            ..Default::default()
        })
        .await
        .map_err(|error| format!("{} gives no device: {error}", adapter.get_info().name))?;
    Gpu::from_device(device, queue).map_err(|error| error.to_string())
}

/// Returns how many samples each pixel has: smooth edges cost a driver in software too much.
pub fn samples(gpu: &Gpu) -> u32 {
    if gpu.adapter_info().device_type == wgpu::DeviceType::Cpu { 1 } else { 4 }
}
