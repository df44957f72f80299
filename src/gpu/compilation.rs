//! Compiling ahead, without blocking.

use crate::Error;
#[cfg(not(target_arch = "wasm32"))]
use {
    std::panic::resume_unwind,
    std::sync::Arc,
    std::sync::atomic::{AtomicBool, Ordering},
    std::thread::{Builder, JoinHandle},
};

/// Kernels that are being compiled on other threads:
/// [`BroadPhase::compile_ahead`](crate::BroadPhase::compile_ahead).
///
/// A call that needs a kernel which is being compiled waits for it, and compiles those whose turn has not come. Dropping
/// the compilation gives up on those, and **blocks** for those that are being compiled, since a program that ends
/// meanwhile would pull the driver out from under them.
#[derive(Debug)]
#[must_use = "dropping it gives up on kernels whose turn has not come"]
pub struct Compilation {
    #[cfg(not(target_arch = "wasm32"))]
    thread: Option<JoinHandle<Result<(), Error>>>,
    #[cfg(not(target_arch = "wasm32"))]
    is_cancelled: Arc<AtomicBool>,
    #[cfg(target_arch = "wasm32")]
    result: Result<(), Error>,
}

#[cfg(not(target_arch = "wasm32"))]
impl Compilation {
    /// Runs `compile` on another thread; it is told whether to give up. Where there is no other thread to be had, nothing
    /// is compiled ahead.
    pub(crate) fn start(compile: impl FnOnce(&AtomicBool) -> Result<(), Error> + Send + 'static) -> Self {
        let is_cancelled = Arc::new(AtomicBool::new(false));
        let shared = Arc::clone(&is_cancelled);
        let thread = Builder::new().name("broadsweep kernels".to_owned()).spawn(move || compile(&shared)).ok();
        Self { thread, is_cancelled }
    }

    /// Returns whether all kernels are compiled, or one of them was rejected.
    pub fn is_finished(&self) -> bool {
        self.thread.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// Waits until all kernels are compiled. **Blocks**, but in browsers. Where there was no thread to be had, nothing is compiled
    /// yet, and the call that needs a kernel compiles it.
    ///
    /// # Errors
    /// [`Error::Gpu`] where the driver rejects a kernel; [`Error::DeviceLost`], [`Error::OutOfMemory`].
    pub fn wait(mut self) -> Result<(), Error> {
        self.join()
    }

    fn join(&mut self) -> Result<(), Error> {
        self.thread.take().map_or(Ok(()), |thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    }
}

#[cfg(not(target_arch = "wasm32"))]
impl Drop for Compilation {
    fn drop(&mut self) {
        self.is_cancelled.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            // Whoever wants to know waits.
            drop(thread.join());
        }
    }
}

/// A browser compiles on its own threads: what is asked for there is under way when the call returns.
#[cfg(target_arch = "wasm32")]
#[expect(missing_docs)]
impl Compilation {
    pub(crate) fn done(result: Result<(), Error>) -> Self {
        Self { result }
    }

    pub fn is_finished(&self) -> bool {
        true
    }

    pub fn wait(self) -> Result<(), Error> {
        self.result
    }
}
