//! Maps names to devices, and holds the open devices.

use std::sync::{Mutex, MutexGuard, PoisonError};

use broadsweep::wgpu::{AdapterInfo, DeviceType};
use broadsweep::{Error, Gpu};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::exception;

/// Where an engine runs.
pub enum Device {
    /// On the CPU, and why, if nobody requested that.
    Cpu(Option<String>),
    /// On a GPU.
    Gpu(Gpu),
}

/// A device that is open, the process that opened it, and the name that it was requested by. A device keeps the kernels
/// that were compiled for it, so that the next engine on it need not compile them again.
type Open = (u32, Option<String>, Gpu);

static OPEN: Mutex<Vec<Open>> = Mutex::new(Vec::new());

fn open_devices() -> MutexGuard<'static, Vec<Open>> {
    OPEN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Turns an error of a call into its exception. After a lost device, forgets all open devices, so that the next engine
/// requests a new one.
pub fn refusal(error: &Error) -> PyErr {
    if matches!(error, Error::DeviceLost { .. }) {
        forget();
    }
    exception(error)
}

fn forget() {
    // A forked process cannot close the devices of its parent.
    let process = std::process::id();
    open_devices().retain(|(opener, _, _)| *opener != process);
}

fn open(name: Option<&str>) -> Result<Gpu, Error> {
    let process = std::process::id();
    let is_it = |open: &&Open| open.0 == process && open.1.as_deref() == name;
    if let Some((_, _, gpu)) = open_devices().iter().find(is_it) {
        return Ok(gpu.clone());
    }
    let gpu = match name {
        Some(name) => Gpu::headless_named(name)?,
        None => Gpu::headless()?,
    };
    open_devices().push((process, name.map(str::to_owned), gpu.clone()));
    Ok(gpu)
}

impl Device {
    /// Opens the device that a name stands for: `"cpu"`, `"gpu"`, `"auto"`, or part of the name of an adapter.
    pub fn named(py: Python<'_>, name: &str) -> PyResult<Self> {
        match name {
            "cpu" => Ok(Self::Cpu(None)),
            "" => Err(PyValueError::new_err(
                "device is empty; it must be \"auto\", \"cpu\", \"gpu\" or an adapter's name",
            )),
            "auto" => Ok(py.detach(preferred)),
            _ => {
                let name = (name != "gpu").then(|| name.to_owned());
                py.detach(move || open(name.as_deref())).map(Self::Gpu).map_err(|error| exception(&error))
            }
        }
    }

    /// Returns what Python is told of it.
    pub fn place(&self) -> Place {
        match self {
            Self::Cpu(reason) => Place { reason: reason.clone(), adapter: None },
            Self::Gpu(gpu) => {
                let info = gpu.adapter_info();
                let kind = kind(&info);
                Place { reason: None, adapter: Some((info.name, kind)) }
            }
        }
    }
}

/// The description of an engine's device for Python.
pub struct Place {
    /// Why it is the CPU, if nobody requested that.
    pub reason: Option<String>,
    /// The name and the type of the adapter.
    pub adapter: Option<(String, &'static str)>,
}

/// Opens the GPU, if there is a real one. Where there is none, that is found out once in a process.
fn preferred() -> Device {
    static WITHOUT: Mutex<Option<(u32, String)>> = Mutex::new(None);
    let process = std::process::id();
    let mut without = WITHOUT.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, reason)) = without.as_ref().filter(|(finder, _)| *finder == process) {
        return Device::Cpu(Some(reason.clone()));
    }
    let reason = match open(None) {
        Ok(gpu) if gpu.adapter_info().device_type != DeviceType::Cpu => return Device::Gpu(gpu),
        Ok(gpu) => format!("{} is a driver in software", gpu.adapter_info().name),
        Err(Error::NoAdapter { .. }) => "no GPU was found".to_owned(),
        Err(Error::NoDevice { adapter, reason, .. }) => format!("{adapter} refused a device: {reason}"),
        Err(other) => other.to_string(),
    };
    *without = Some((process, reason.clone()));
    Device::Cpu(Some(reason))
}

/// Says what kind of adapter it is.
fn kind(adapter: &AdapterInfo) -> &'static str {
    match adapter.device_type {
        DeviceType::DiscreteGpu => "discrete GPU",
        DeviceType::IntegratedGpu => "integrated GPU",
        DeviceType::VirtualGpu => "virtual GPU",
        DeviceType::Cpu => "software",
        DeviceType::Other => "unknown",
    }
}

/// Lists the adapters of this machine: name, type, backend and driver of each.
#[pyfunction]
pub fn adapters(py: Python<'_>) -> PyResult<Vec<Bound<'_, PyDict>>> {
    let found = py.detach(Gpu::adapters);
    let describe = |adapter: &AdapterInfo| {
        let dict = PyDict::new(py);
        dict.set_item("name", &adapter.name)?;
        dict.set_item("type", kind(adapter))?;
        dict.set_item("backend", adapter.backend.to_string())?;
        dict.set_item("driver", format!("{} {}", adapter.driver, adapter.driver_info).trim())?;
        Ok(dict)
    };
    found.iter().map(describe).collect()
}
