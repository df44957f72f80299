//! Leases of an engine.
//!
//! A call leases the engine and returns it when it ends, also if the caller no longer waits: after Ctrl-C the work
//! continues to its end on its thread. Another call waits for it, and can be interrupted meanwhile. A stream leases
//! the engine until it is exhausted or closed. A call meanwhile would wait for ever, so it raises an error.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::errors::GpuError;
use crate::running::PATIENCE;

/// An engine that is leased to one call at a time.
pub struct Leasable<T>(Arc<Shared<T>>);

struct Shared<T> {
    slot: Mutex<Slot<T>>,
    returned: Condvar,
    /// The process that created the engine.
    process: u32,
    /// True if the engine is on a device, which a forked process does not have.
    is_on_gpu: bool,
}

enum Slot<T> {
    Idle(Box<T>),
    Leased,
    /// The stream with this number has the engine.
    Streaming(u64),
}

/// A leased engine. It returns when this is dropped.
pub struct Lease<T> {
    value: Option<Box<T>>,
    shared: Arc<Shared<T>>,
}

impl<T: Send> Leasable<T> {
    /// Wraps an engine.
    pub fn new(value: T, is_on_gpu: bool) -> Self {
        let slot = Mutex::new(Slot::Idle(Box::new(value)));
        Self(Arc::new(Shared { slot, returned: Condvar::new(), process: std::process::id(), is_on_gpu }))
    }

    /// Leases the engine; waits while another call has it.
    pub fn lease(&self, py: Python<'_>) -> PyResult<Lease<T>> {
        self.acquire(py, || Slot::Leased)
    }

    /// Leases the engine to a stream. Other calls raise an error until it ends.
    pub fn lease_to_stream(&self, py: Python<'_>) -> PyResult<(Lease<T>, Streaming<T>)> {
        static STREAMS: AtomicU64 = AtomicU64::new(0);
        let number = STREAMS.fetch_add(1, Ordering::Relaxed);
        let lease = self.acquire(py, || Slot::Streaming(number))?;
        Ok((lease, Streaming { shared: Arc::clone(&self.0), number }))
    }

    fn acquire(&self, py: Python<'_>, next: impl Fn() -> Slot<T>) -> PyResult<Lease<T>> {
        let shared = &self.0;
        let is_forked = shared.process != std::process::id();
        if shared.is_on_gpu && is_forked {
            let text =
                "the GPU of this engine belongs to the process that was forked. Create the engine after the fork";
            return Err(GpuError::new_err(text));
        }
        loop {
            let mut slot = shared.slot();
            match std::mem::replace(&mut *slot, next()) {
                Slot::Idle(value) => return Ok(Lease { value: Some(value), shared: Arc::clone(shared) }),
                busy if is_forked => {
                    *slot = busy;
                    let text =
                        "this engine was at work when the process was forked, and its work runs there. Create another";
                    return Err(PyRuntimeError::new_err(text));
                }
                Slot::Streaming(number) => {
                    *slot = Slot::Streaming(number);
                    let text = "a stream of this engine is open: exhaust it or close() it first";
                    return Err(PyRuntimeError::new_err(text));
                }
                Slot::Leased => {
                    *slot = Slot::Leased;
                    drop(slot);
                    py.detach(|| {
                        let slot = shared.slot();
                        // It may have returned meanwhile.
                        if matches!(*slot, Slot::Leased) {
                            drop(shared.returned.wait_timeout(slot, PATIENCE));
                        }
                    });
                    py.check_signals()?;
                }
            }
        }
    }
}

/// Stands for a stream that has an engine.
pub struct Streaming<T> {
    shared: Arc<Shared<T>>,
    number: u64,
}

impl<T> Streaming<T> {
    /// Marks that no further piece is requested. Other calls now wait until the engine returns, soon or already.
    pub fn end(&self) {
        let mut slot = self.shared.slot();
        // The engine may be with a later stream already.
        if matches!(*slot, Slot::Streaming(number) if number == self.number) {
            *slot = Slot::Leased;
        }
    }
}

impl<T> Shared<T> {
    fn slot(&self) -> MutexGuard<'_, Slot<T>> {
        self.slot.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T> std::ops::Deref for Lease<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.value.as_deref().expect("only the drop removes it")
    }
}

impl<T> std::ops::DerefMut for Lease<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_deref_mut().expect("only the drop removes it")
    }
}

impl<T> Drop for Lease<T> {
    fn drop(&mut self) {
        if let Some(value) = self.value.take() {
            *self.shared.slot() = Slot::Idle(value);
            self.shared.returned.notify_all();
        }
    }
}
