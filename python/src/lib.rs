//! The module `broadsweep._native`, which `broadsweep/*.py` wrap.
//!
//! | file | does |
//! |---|---|
//! | `arrays` | boxes and queries from arrays of NumPy, and lists of pairs to such, without a copy |
//! | `devices` | which device a name stands for, and the devices that are open |
//! | `errors` | the library's errors as exceptions |
//! | `filters` | filters from the lists of a call |
//! | `host` | an engine or a tree, called with what arrays hold |
//! | `lending` | who has an engine while it works |
//! | `neighbours` | neighbours of points |
//! | `running` | calls in a pool of threads that can be interrupted |
//! | `either` | the broad phase of either engine |
//! | `engine` | the calls of the broad phase |
//! | `stream` | a list that comes in pieces |
//! | `tree` | the tree on either engine |
//! | `reports` | what reports hold |
//!
//! All arguments have their final type and lie in C order. This module checks that again: wrong arrays would be read as
//! other boxes.

#![forbid(unsafe_code)]

mod arrays;
mod devices;
mod engine;
mod errors;
mod filters;
mod host;
mod lease;
mod neighbours;
mod reports;
mod running;
mod stream;
mod tree;

use pyo3::prelude::*;

/// Makes the module.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("GpuError", module.py().get_type::<errors::GpuError>())?;
    module.add("CandidateLimitError", module.py().get_type::<errors::CandidateLimitError>())?;
    module.add_class::<engine::Engine>()?;
    module.add_class::<reports::Report>()?;
    module.add_class::<reports::StepReport>()?;
    module.add_class::<reports::TreeReport>()?;
    module.add_class::<reports::QueryReport>()?;
    module.add_class::<stream::Pieces>()?;
    module.add_class::<tree::Tree>()?;
    module.add_function(wrap_pyfunction!(arrays::id_pairs, module)?)?;
    module.add_function(wrap_pyfunction!(arrays::round_outward, module)?)?;
    module.add_function(wrap_pyfunction!(arrays::round_spheres, module)?)?;
    module.add_function(wrap_pyfunction!(neighbours::find_neighbours_f32, module)?)?;
    module.add_function(wrap_pyfunction!(neighbours::find_neighbours_f64, module)?)?;
    module.add_function(wrap_pyfunction!(devices::adapters, module)?)
}
