//! Errors of the graphics API as values. Without a scope, `wgpu` ends the program on the first one.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

use super::Gpu;
use crate::Error;

/// Scopes that collect the errors of one stretch of calls.
pub struct Scopes {
    gpu: Gpu,
    // Closed in this order, the reverse of that in which they were opened.
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

    /// Ends the stretch of calls.
    ///
    /// In a browser errors come later than this and are not seen here; what was made wrongly then fails where
    /// it is used.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], or [`Error::Gpu`] with `label` and what the API said.
    pub fn close(self, label: &str) -> Result<(), Error> {
        self.close_allocation(label, 0)
    }

    /// The same where `bytes` bytes were allocated.
    ///
    /// # Errors
    /// Also [`Error::OutOfMemory`].
    pub fn close_allocation(self, label: &str, bytes: u64) -> Result<(), Error> {
        let memory = now(self.memory.pop());
        let validation = now(self.validation.pop());
        let internal = now(self.internal.pop());
        if memory.is_some() {
            return Err(Error::OutOfMemory { buffer: label.to_owned(), bytes });
        }
        let Some(error) = validation.or(internal) else {
            return Ok(());
        };
        if self.gpu.is_lost_on_trial() {
            return Err(self.gpu.lost(&error.to_string()));
        }
        Err(Error::Gpu { label: label.to_owned(), message: error.to_string() })
    }
}

/// What a scope collected. Outside browsers it is there at once.
fn now(error: impl Future<Output = Option<wgpu::Error>>) -> Option<wgpu::Error> {
    match pin!(error).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(error) => error,
        Poll::Pending => None,
    }
}
