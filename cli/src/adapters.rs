//! `broadsweep adapters`, and how adapters are described.

use std::fmt::Write as _;

use anyhow::Result;
use broadsweep::wgpu::AdapterInfo;
use broadsweep::{Error, Gpu};
use laboratory::adapter::kind;
use serde_json::{Value, json};

use crate::output::print;

/// List the GPU adapters of this machine; fails if there is none
#[derive(clap::Args)]
pub struct Args {
    /// Print one JSON array
    #[arg(long)]
    json: bool,
}

/// Runs `broadsweep adapters`.
pub fn run(args: &Args) -> Result<()> {
    let adapters = Gpu::adapters();
    if args.json {
        print(&format!("{}\n", Value::from_iter(adapters.iter().map(json))))?;
    } else {
        let mut list = String::new();
        for adapter in &adapters {
            writeln!(list, "{}", lines(adapter))?;
        }
        print(&list)?;
    }
    if adapters.is_empty() {
        let reason = "neither Vulkan, Metal nor Direct3D 12 lists one".to_owned();
        return Err(Error::NoAdapter { reason, cause: None }.into());
    }
    Ok(())
}

/// Describes an adapter in lines, the last one without its end.
pub fn lines(adapter: &AdapterInfo) -> String {
    let driver = format!("{} {}", adapter.driver, adapter.driver_info);
    let (kind, driver) = (kind(adapter), or_unknown(driver.trim()));
    format!("{}\n  type     {kind}\n  backend  {}\n  driver   {driver}", adapter.name, adapter.backend)
}

/// Describes an adapter as JSON.
pub fn json(adapter: &AdapterInfo) -> Value {
    json!({
        "name": adapter.name,
        "type": kind(adapter),
        "backend": adapter.backend.to_string(),
        "driver": adapter.driver,
        "driver_info": adapter.driver_info,
    })
}

fn or_unknown(driver: &str) -> &str {
    if driver.is_empty() { "unknown" } else { driver }
}
