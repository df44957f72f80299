//! GPU adapters in words.

use broadsweep::wgpu::{AdapterInfo, DeviceType};

/// The version of wgpu in the workspace's lock file, which a test compares. wgpu itself has no constant for it.
pub const WGPU_VERSION: &str = "30.0.1";

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_wgpu_is_that_of_the_lock_file() {
        let lock = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock")).unwrap();
        let entries: Vec<&str> = lock.split("name = \"wgpu\"\n").skip(1).collect();
        assert_eq!(entries.len(), 1);
        assert!(entries[0].starts_with(&format!("version = \"{WGPU_VERSION}\"\n")), "the constant is {WGPU_VERSION}");
    }
}
