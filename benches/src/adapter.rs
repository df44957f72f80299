//! GPU adapters and the system in words.

use std::fs;

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

/// Returns the name and version of the system; on others than Linux, the name alone.
pub fn system() -> String {
    linux().unwrap_or_else(|| std::env::consts::OS.to_owned())
}

fn linux() -> Option<String> {
    let release = fs::read_to_string("/etc/os-release").ok()?;
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?.trim_matches('"');
    let kernel = fs::read_to_string("/proc/sys/kernel/osrelease").ok()?;
    Some(format!("{name}, Linux {}", kernel.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_wgpu_is_that_of_the_lock_file() {
        let lock = fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../Cargo.lock")).unwrap();
        let entries: Vec<&str> = lock.split("name = \"wgpu\"\n").skip(1).collect();
        assert_eq!(entries.len(), 1);
        assert!(entries[0].starts_with(&format!("version = \"{WGPU_VERSION}\"\n")), "the constant is {WGPU_VERSION}");
    }
}
