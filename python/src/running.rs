//! Calls in a pool of threads that can be interrupted.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::Builder;
use std::time::Duration;

use broadsweep::Error;
use pyo3::exceptions::{PyMemoryError, PyValueError};
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::devices::refusal;
use crate::errors::panicked;

/// The wait of a thread between two checks for Ctrl-C.
pub const PATIENCE: Duration = Duration::from_millis(20);

/// The most boxes or queries with which a call stays on the thread that called, where nothing interrupts it: starting
/// another takes some 20 µs, and that many boxes a few ms, unless nearly all of them overlap.
pub const SHORT: usize = 1 << 15;

/// The most threads of a pool. More than a machine has cores only take turns; thousands take a second to start.
const MOST_THREADS: usize = 1024;

/// The process that created a pool, the requested thread count, and the pool.
type Pool = (u32, Option<usize>, Arc<ThreadPool>);

static POOLS: Mutex<Vec<Pool>> = Mutex::new(Vec::new());

fn pools() -> MutexGuard<'static, Vec<Pool>> {
    POOLS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Abandons the pools to the call that still runs in one of them. Others would have to wait for it: they get new pools.
fn leave_pools() {
    let process = std::process::id();
    pools().retain(|pool| pool.0 != process);
}

/// Returns the pool with this thread count: the requested one, or `RAYON_NUM_THREADS`, or the cores of the
/// machine. A forked process creates a new pool, since threads are not forked.
pub fn pool(threads: Option<usize>) -> PyResult<Arc<ThreadPool>> {
    if let Some(threads) = threads.filter(|threads| !(1..=MOST_THREADS).contains(threads)) {
        return Err(PyValueError::new_err(format!("threads is {threads}; it must be from 1 to {MOST_THREADS}")));
    }
    let process = std::process::id();
    let mut pools = pools();
    if let Some((_, _, pool)) = pools.iter().find(|pool| (pool.0, pool.1) == (process, threads)) {
        return Ok(Arc::clone(pool));
    }
    let name = |i| format!("broadsweep {i}");
    let built = ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).thread_name(name).build();
    let pool = Arc::new(built.map_err(|error| PyMemoryError::new_err(format!("no threads: {error}")))?);
    // Pools of the parent of a fork are never dropped: a drop would wait for their threads.
    pools.push((process, threads, Arc::clone(&pool)));
    Ok(pool)
}

/// Runs a short call on this thread, without the lock of the interpreter.
pub fn run<T: Send>(py: Python<'_>, call: impl FnOnce() -> Result<T, Error> + Send) -> PyResult<T> {
    answer(py.detach(|| catch_unwind(AssertUnwindSafe(call))))
}

/// Runs a long call on a thread of its own, and waits for it without the lock of the interpreter. On Ctrl-C,
/// the exception is raised at once, and the call continues to its end without a result.
pub fn run_apart<T: Send + 'static>(
    py: Python<'_>,
    call: impl FnOnce() -> Result<T, Error> + Send + 'static,
) -> PyResult<T> {
    let (sender, mut receiver) = channel();
    let work = move || {
        // The receiver may be gone.
        let _ = sender.send(catch_unwind(AssertUnwindSafe(call)));
    };
    let started = Builder::new().name("broadsweep call".to_owned()).spawn(work);
    started.map_err(|error| PyMemoryError::new_err(format!("no thread for the call: {error}")))?;
    match wait(py, &mut receiver).inspect_err(|_| leave_pools())? {
        Some(result) => answer(result),
        None => Err(panicked(&"a thread ended")),
    }
}

/// Waits for a message of a thread, without the lock of the interpreter; `None` if the thread ended.
pub fn wait<T: Send>(py: Python<'_>, receiver: &mut Receiver<T>) -> PyResult<Option<T>> {
    loop {
        let receiver = &mut *receiver;
        let received = py.detach(move || receiver.recv_timeout(PATIENCE));
        match received {
            Ok(value) => return Ok(Some(value)),
            Err(RecvTimeoutError::Disconnected) => return Ok(None),
            Err(RecvTimeoutError::Timeout) => py.check_signals()?,
        }
    }
}

fn answer<T>(result: std::thread::Result<Result<T, Error>>) -> PyResult<T> {
    match result {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(refusal(&error)),
        Err(payload) => Err(panicked(payload.as_ref())),
    }
}
