//! The machine that a benchmark runs on, and the versions of the program.

use std::collections::BTreeMap;
use std::fs;
use std::thread::available_parallelism;

use broadsweep::Gpu;

use super::results::Machine;
use crate::adapter;

/// Describes this machine, and the adapter where one takes part.
pub fn machine(gpu: Option<&Gpu>) -> Machine {
    let info = gpu.map(Gpu::adapter_info);
    Machine {
        cpu: cpu().unwrap_or_else(|| "unknown".to_owned()),
        cores: available_parallelism().map_or(1, usize::from),
        system: adapter::system() + ", " + std::env::consts::ARCH,
        driver: info.as_ref().map(|info| format!("{} {}", info.driver, info.driver_info).trim().to_owned()),
        adapter: info.as_ref().map(adapter::line),
    }
}

/// Returns the name of the processor, as Linux and Windows have it.
fn cpu() -> Option<String> {
    let from_linux = fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    from_linux.or_else(|| std::env::var("PROCESSOR_IDENTIFIER").ok())
}

/// Returns the versions of this program, and of the libraries that find pairs or drive the GPU for it.
pub fn versions() -> BTreeMap<String, String> {
    let own = [("broadsweep", env!("CARGO_PKG_VERSION")), ("wgpu", adapter::WGPU_VERSION)];
    #[cfg_attr(not(feature = "peers"), expect(unused_mut))]
    let mut versions = BTreeMap::from(own.map(|(name, version)| (name.to_owned(), version.to_owned())));
    #[cfg(feature = "peers")]
    versions.extend(crate::peers::ALL.iter().map(|peer| (peer.library.to_owned(), peer.version.to_owned())));
    versions
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_of_wgpu_is_known() {
        let versions = versions();
        assert!(versions["wgpu"].starts_with(|c: char| c.is_ascii_digit()), "{versions:?}");
        assert!(machine(None).cores > 0);
    }
}
