//! Opens the GPU of a measurement, and handles its interruption.

use anyhow::{Context, Result, ensure};
use broadsweep::Gpu;
use laboratory::bench::stop::stop;
use laboratory::engine::Engine;

use crate::engine::headless;
use crate::progress::Progress;
use crate::say;

/// The exit status of an interrupted process: 128 + SIGINT.
pub const STOPPED: u8 = 130;

/// Opens the GPU if it is among the engines. Where they are not `named`, a machine without one goes on without it.
pub fn open_gpu(engines: &mut Vec<Engine>, named: bool, adapter: Option<&str>) -> Result<Option<Gpu>> {
    if !engines.contains(&Engine::Gpu) {
        ensure!(adapter.is_none(), "--adapter selects a GPU, and --engines has no gpu");
        return Ok(None);
    }
    let _progress = Progress::start("looking for a GPU".to_owned());
    let gpu = headless(adapter).with_context(|| match adapter {
        Some(name) => format!("--adapter {name}"),
        None => "--engines gpu".to_owned(),
    });
    match gpu {
        Ok(gpu) => Ok(Some(gpu)),
        Err(error) if !named && adapter.is_none() => {
            say(&format!("note: without the GPU: {:#}", error.root_cause()));
            engines.retain(|engine| *engine != Engine::Gpu);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Makes Ctrl-C end the measurement after the run that it is in, and a second Ctrl-C at once.
pub fn stop_on_ctrl_c() -> Result<()> {
    let set = ctrlc::set_handler(|| {
        if stop() {
            std::process::exit(STOPPED.into());
        }
        say("stopping after this run; once more to stop at once");
    });
    Ok(set?)
}
