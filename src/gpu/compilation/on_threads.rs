//! Compiling on other threads.

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

/// Kernels that are being compiled ahead of the calls that need them, on other threads; in browsers, by the browser.
/// [`BroadPhase::compile_ahead`](crate::BroadPhase::compile_ahead),
/// [`Recorder::compile_ahead`](crate::Recorder::compile_ahead) and [`Tree::compile_ahead`](crate::Tree::compile_ahead) start one.
///
/// There are three ways to use it: check in each frame whether it [is finished](Self::is_finished), and draw its
/// [progress](Self::progress) until then; `.await` it as a future; or [wait](Self::wait).
///
/// A call that needs a kernel which is being compiled waits for it, and compiles those whose turn has not come. Dropping
/// the compilation gives up on those, and **blocks** for those that are being compiled, since a program that ends
/// meanwhile would pull the driver out from under them. Those threads are rayon's: the only one of a pool cannot wait for a
/// compilation, as it would wait for itself.
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
    /// The waker of the task that awaits the end.
    waker: Mutex<Option<Waker>>,
    /// The result, until it is returned; `None` if a thread panicked.
    result: Mutex<Option<Result<(), Error>>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Signals the end, even if a thread panics.
struct End(Arc<Shared>);

impl Drop for End {
    fn drop(&mut self) {
        self.0.is_finished.store(true, Ordering::Release);
        // Nobody is woken, nor any waker dropped, with the lock held: either may come back here.
        let waker = lock(&self.0.waker).take();
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl Compilation {
    /// Compiles the kernels that `list` returns on other threads, where `list` runs too. If no thread can be
    /// started, nothing is compiled ahead.
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

    /// Returns `true` if all kernels are compiled, or one of them was rejected.
    pub fn is_finished(&self) -> bool {
        self.thread.is_none() || self.shared.is_finished.load(Ordering::Acquire)
    }

    /// Returns the number of compiled kernels and of all kernels.
    pub fn progress(&self) -> CompilationProgress {
        CompilationProgress {
            compiled: self.shared.compiled.load(Ordering::Relaxed),
            kernels: self.shared.kernels.load(Ordering::Relaxed),
        }
    }

    /// Waits until all kernels are compiled. **Blocks**; a browser cannot wait: there all other kernels are requested
    /// at once, and the first call that needs one waits on the device. If no thread could be started, nothing is compiled
    /// yet, and the call that needs a kernel compiles it.
    ///
    /// # Errors
    /// [`Error::Gpu`] if the driver rejects a kernel; [`Error::DeviceLost`], [`Error::OutOfMemory`].
    pub fn wait(mut self) -> Result<(), Error> {
        self.join();
        self.result()
    }

    /// Waits for the thread, and propagates its panic.
    fn join(&mut self) {
        if let Some(thread) = self.thread.take() {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic));
        }
    }

    /// Returns the result of the thread, once.
    fn result(&self) -> Result<(), Error> {
        lock(&self.shared.result).take().unwrap_or(Ok(()))
    }
}

/// Returns what [`wait`](Compilation::wait) returns, and blocks no thread.
impl Future for Compilation {
    type Output = Result<(), Error>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let waker = context.waker().clone();
        let before = lock(&self.shared.waker).replace(waker);
        drop(before);
        // It may have ended before the waker was there.
        if !self.is_finished() {
            return Poll::Pending;
        }
        let result = lock(&self.shared.result).take();
        match result {
            // The thread has nothing more to do; this may be it, where a waker polls.
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
            // Callers that need the result call `wait`.
            drop(thread.join());
        }
    }
}
