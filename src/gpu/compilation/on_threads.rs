//! Compiles kernels on other threads.

use std::future::Future;
use std::panic::resume_unwind;
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::thread::{Builder, JoinHandle};

use super::CompilationProgress;
use crate::Error;
use crate::gpu::Gpu;
use crate::gpu::kernel::{Kernel, compile_until};

/// Compiles kernels ahead of the calls that need them, on other threads; in browsers, the browser compiles.
/// [`BroadPhase::compile_ahead`](crate::BroadPhase::compile_ahead),
/// [`Recorder::compile_ahead`](crate::Recorder::compile_ahead) and [`Tree::compile_ahead`](crate::Tree::compile_ahead)
/// start a compilation.
///
/// Use it in one of three ways: check in each frame whether it [is finished](Self::is_finished), and draw its
/// [progress](Self::progress); `.await` it as a future; or [wait](Self::wait).
///
/// If a call needs a kernel whose compilation is running, the call waits. If the compilation has not begun, the call
/// compiles the kernel itself. Dropping a `Compilation` cancels compilations that have not begun. It **blocks** until
/// running compilations end, since drivers crash if the program ends during a compilation. Threads of the `rayon` pool
/// compile the kernels. So do not wait on a thread of a pool with only one thread: the wait would never end.
#[derive(Debug)]
#[must_use = "dropping it gives up on kernels whose turn has not come"]
pub struct Compilation {
    thread: Option<JoinHandle<()>>,
    shared: Arc<Shared>,
}

/// The state that the threads share.
#[derive(Debug, Default)]
struct Shared {
    is_cancelled: AtomicBool,
    is_finished: AtomicBool,
    compiled: AtomicUsize,
    kernels: AtomicUsize,
    /// The waker of the task that awaits the compilation.
    waker: Mutex<Option<Waker>>,
    /// The result. `None` before the end, after the result was returned, or if the thread panicked.
    result: Mutex<Option<Result<(), Error>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Signals the end of the compilation when it is dropped, also by a panic.
struct End(Arc<Shared>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.is_finished.store(true, Ordering::Release);
        // Wake and drop the waker after the lock is released, since both can call back into this code.
        let waker = lock(&self.0.waker).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Compilation {
    /// Starts a thread that calls `list` and compiles the returned kernels. If no thread can be started, nothing is
    /// compiled ahead.
    pub(crate) fn start(gpu: &Gpu, list: impl FnOnce() -> Result<Vec<Kernel>, Error> + Send + 'static) -> Self {
        let shared = Arc::new(Shared::default());
        let (end, gpu) = (End(Arc::clone(&shared)), gpu.clone());
        let compile = move || {
            let shared = &end.0;
            let result = list().and_then(|kernels| {
                shared.kernels.store(kernels.len(), Ordering::Relaxed);
                let kernels: Vec<_> = kernels.iter().collect();
                let count = || _ = shared.compiled.fetch_add(1, Ordering::Relaxed);
                compile_until(&gpu, &kernels, || shared.is_cancelled.load(Ordering::Relaxed), count)
            });
            *lock(&shared.result) = Some(result);
        };
        let thread = Builder::new().name("broadsweep kernels".to_owned()).spawn(compile).ok();
        Self { thread, shared }
    }

    /// Returns `true` if all kernels are compiled, or if a kernel was rejected.
    pub fn is_finished(&self) -> bool {
        self.thread.is_none() || self.shared.is_finished.load(Ordering::Acquire)
    }

    /// Returns the count of compiled kernels and of all kernels.
    pub fn progress(&self) -> CompilationProgress {
        CompilationProgress {
            compiled: self.shared.compiled.load(Ordering::Relaxed),
            kernels: self.shared.kernels.load(Ordering::Relaxed),
        }
    }

    /// Waits until all kernels are compiled. **Blocks**, except in a browser. In a browser, this call only requests all
    /// remaining kernels. The first call that needs a kernel then waits on the device. If no thread could be started,
    /// nothing is compiled ahead.
    ///
    /// # Errors
    /// [`Error::Gpu`] if the driver rejects a kernel; [`Error::DeviceLost`], [`Error::OutOfMemory`].
    pub fn wait(mut self) -> Result<(), Error> {
        self.join();
        self.result()
    }

    /// Waits for the end of the thread, and propagates its panic.
    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
    }

    /// Returns the result of the thread; `Ok` if it was returned before.
    fn result(&self) -> Result<(), Error> {
        lock(&self.shared.result).take().unwrap_or(Ok(()))
    }
}

/// Completes with the result of [`wait`](Compilation::wait), without blocking a thread.
impl Future for Compilation {
    type Output = Result<(), Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let waker = context.waker().clone();
        let before = lock(&self.shared.waker).replace(waker);
        drop(before);
        // Check only now: if the thread ended before the waker was set, nothing wakes the task.
        if !self.is_finished() {
            return Poll::Pending;
        }
        let result = lock(&self.shared.result).take();
        match result {
            // The compilation has ended. Do not join the thread: a waker may poll this future on that thread.
            Some(result) => {
                self.thread = None;
                Poll::Ready(result)
            }
            None => {
                self.join();
                Poll::Ready(Ok(()))
            }
        }
    }
}

impl Drop for Compilation {
    fn drop(&mut self) {
        self.shared.is_cancelled.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Ignore the result and a panic. Callers that need the result call `wait`.
            drop(thread.join());
        }
    }
}
