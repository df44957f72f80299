//! Returns errors of the graphics API as values. Without a scope, `wgpu` ends the program on the first error.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::Gpu;
use super::readback::Readback;
use crate::{Cause, Error};

/// Error scopes that collect the errors of a sequence of calls.
#[allow(missing_debug_implementations)] // wgpu's guards do not implement Debug
pub struct Scopes {
    gpu: Gpu,
    // Scopes must be closed in the order of these fields, the reverse of the order of opening.
    memory: wgpu::ErrorScopeGuard,
    validation: wgpu::ErrorScopeGuard,
    internal: wgpu::ErrorScopeGuard,
}

impl Scopes {
    pub(super) fn open(gpu: &Gpu) -> Self {
        let device = gpu.device();
        let internal = device.push_error_scope(wgpu::ErrorFilter::Internal);
        let validation = device.push_error_scope(wgpu::ErrorFilter::Validation);
        let memory = device.push_error_scope(wgpu::ErrorFilter::OutOfMemory);
        Self { gpu: gpu.clone(), memory, validation, internal }
    }

    /// Ends the sequence of calls, and returns its error, if any.
    ///
    /// A browser reports errors later, not here. Each submission that uses a resource that was not created is invalid;
    /// [`close_with`](Self::close_with) reports this.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], or [`Error::Gpu`] with `label` and the message of the API.
    pub fn close(self, label: &str) -> Result<(), Error> {
        self.close_allocation(label, 0)
    }

    /// Ends a sequence of calls that allocated `bytes` bytes.
    ///
    /// # Errors
    /// The errors of [`close`](Self::close), and [`Error::OutOfMemory`].
    pub fn close_allocation(self, label: &str, bytes: u64) -> Result<(), Error> {
        let memory = now(self.memory.pop());
        let validation = now(self.validation.pop());
        let internal = now(self.internal.pop());
        verdict(&self.gpu, label, bytes, memory, validation.or(internal))
    }

    /// Ends a sequence of calls and returns `true` if memory was exhausted. Other errors are dropped.
    pub(super) fn ran_out_of_memory(self) -> bool {
        let [memory, ..] = [self.memory, self.validation, self.internal].map(|scope| now(scope.pop()));
        memory.is_some()
    }

    /// Ends a sequence of calls that contains the submission whose results `readback` reads. [`Readback::poll`] returns
    /// errors that are known only later, instead of results.
    ///
    /// # Errors
    /// The errors of [`close`](Self::close).
    #[cfg(not(target_arch = "wasm32"))]
    pub fn close_with(self, label: &'static str, _: &mut Readback) -> Result<(), Error> {
        self.close(label)
    }

    #[cfg(target_arch = "wasm32")]
    #[expect(missing_docs)]
    pub fn close_with(self, label: &'static str, readback: &mut Readback) -> Result<(), Error> {
        readback.expect_errors(self.close_later(label));
        Ok(())
    }

    /// Ends the sequence of calls at once, and returns a future of its error. In a browser, the future completes after
    /// the calls have run in the GPU process.
    #[cfg(target_arch = "wasm32")]
    pub fn close_later(self, label: &'static str) -> impl Future<Output = Result<(), Error>> + 'static {
        let (memory, validation, internal) = (self.memory.pop(), self.validation.pop(), self.internal.pop());
        let gpu = self.gpu;
        async move {
            let (memory, validation, internal) = (memory.await, validation.await, internal.await);
            verdict(&gpu, label, 0, memory, validation.or(internal))
        }
    }
}

/// Converts the errors of the scopes to an [`Error`].
fn verdict(
    gpu: &Gpu,
    label: &str,
    bytes: u64,
    memory: Option<wgpu::Error>,
    other: Option<wgpu::Error>,
) -> Result<(), Error> {
    if memory.is_some() || other.is_some() {
        // A cached bind group may be invalid, and must not be reused.
        gpu.bind_groups().forget();
    }
    if memory.is_some() {
        return Err(Error::OutOfMemory { buffer: label.to_owned(), bytes });
    }
    let Some(error) = other else {
        return Ok(());
    };
    // Join the lines of the message.
    let message = error.to_string().split_whitespace().collect::<Vec<_>>().join(" ");
    if gpu.is_lost_on_trial() {
        return Err(gpu.lost(&message, Some(Cause::of(error))));
    }
    if message.contains("doesn't match") && message.contains("Device") {
        // wgpu reports a buffer of another device only by this message.
        let problem = format!("belongs to another device: {message}");
        return Err(Error::BadBuffer { buffer: "caller's", problem });
    }
    Err(Error::Gpu { label: label.to_owned(), message, cause: Some(Cause::of(error)) })
}

/// Returns the error that a scope collected. Outside browsers, the future is always ready.
fn now(error: impl Future<Output = Option<wgpu::Error>>) -> Option<wgpu::Error> {
    match pin!(error).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(error) => error,
        Poll::Pending => None,
    }
}
