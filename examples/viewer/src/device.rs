//! The device of the program. The library uses it too.

use broadsweep::{Gpu, wgpu};

/// Requests a device with the adapter's limits for buffers, and with timestamps and subgroups if the adapter has them.
///
/// # Errors
/// The reason why there is no device.
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

/// Returns the default samples per pixel: 4, or 1 on software adapters, where smooth edges take too long.
pub fn samples(gpu: &Gpu) -> u32 {
    if gpu.adapter_info().device_type == wgpu::DeviceType::Cpu { 1 } else { 4 }
}
