//! GPU adapters in words.

use broadsweep::wgpu::{AdapterInfo, DeviceType};

/// Describes an adapter in one line.
pub fn line(adapter: &AdapterInfo) -> String {
    format!("{} ({}, {})", adapter.name, kind(adapter), adapter.backend)
}

/// Says what kind of adapter it is.
pub fn kind(adapter: &AdapterInfo) -> &'static str {
    match adapter.device_type {
        DeviceType::DiscreteGpu => "discrete GPU",
        DeviceType::IntegratedGpu => "integrated GPU",
        DeviceType::VirtualGpu => "virtual GPU",
        DeviceType::Cpu => "software",
        DeviceType::Other => "unknown type",
    }
}
