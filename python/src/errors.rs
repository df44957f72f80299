//! The library's errors as exceptions, with the library's text.

use broadsweep::Error;
use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyMemoryError, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(broadsweep, GpuError, PyRuntimeError, "A GPU that is not there, was lost, or refused something.");
create_exception!(
    broadsweep,
    CandidateLimitError,
    PyValueError,
    "More candidates to test than `candidate_limit` allows: the boxes overlap too much to list their pairs."
);

/// Converts an error to its exception.
pub fn exception(error: &Error) -> PyErr {
    let text = in_python_terms(error);
    match error {
        Error::NoAdapter { .. }
        | Error::NoDevice { .. }
        | Error::DeviceTooSmall { .. }
        | Error::DeviceLost { .. }
        | Error::Gpu { .. } => GpuError::new_err(text),
        Error::TooManyBoxes { .. }
        | Error::OverBudget { .. }
        | Error::ListTooLong { .. }
        | Error::TooManyQueries { .. }
        | Error::TooManyImages { .. }
        | Error::OutOfMemory { .. } => PyMemoryError::new_err(text),
        Error::TooManyCandidates { .. } => CandidateLimitError::new_err(text),
        Error::BadOption { .. }
        | Error::BadCell { .. }
        | Error::BadPoints { .. }
        | Error::FilterLength { .. }
        | Error::QueryFilterLength { .. }
        | Error::OtherTree { .. }
        | Error::FiltersChanged
        | Error::NotBuilt
        | Error::TooManyHalfSpaces { .. }
        | Error::BadFilter { .. }
        | Error::BadStep { .. }
        | Error::NoId { .. }
        | Error::BadBuffer { .. } => PyValueError::new_err(text),
        _ => PyRuntimeError::new_err(text),
    }
}

/// Returns the text of an error, with items of Rust replaced by those of Python.
fn in_python_terms(error: &Error) -> String {
    const TERMS: [(&str, &str); 10] = [
        ("`half_spaces", "`half_space"),
        ("`broadsweep::cpu::find_pairs` needs no GPU", "device=\"cpu\" needs none"),
        ("Create a new device and new engines, and call again", "Create a new `BroadPhase` or `Tree`, and call again"),
        ("`BroadPhase::stream_pairs`", "`BroadPhase.stream`"),
        ("`BroadPhase::find_pairs`", "`BroadPhase.find_pairs`"),
        ("`Options::memory_budget`", "`memory_budget`"),
        ("`Options::candidate_limit`", "`candidate_limit`"),
        ("CellSize::Fixed", "cell_size"),
        ("Request the device with `Gpu::required_limits()`", "Choose another device"),
        ("SortVariant::", ""),
    ];
    TERMS.iter().fold(error.to_string(), |text, (rust, python)| text.replace(rust, python))
}

/// Creates the exception for a panic, which is a fault of this package.
pub fn panicked(payload: &(dyn std::any::Any + Send)) -> PyErr {
    let message = payload.downcast_ref::<&str>().map(ToString::to_string);
    let message = message.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_default();
    PyException::new_err(format!("broadsweep failed: {message}. This is a fault of the package; please report it"))
}
