//! Reads results back without blocking.

use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};

use bytemuck::Pod;

use super::Gpu;
use crate::{Cause, Error};

/// A read-back: the mapping of a staging buffer. It lasts until the host has read the bytes.
#[derive(Debug)]
pub struct Readback {
    gpu: Gpu,
    buffer: wgpu::Buffer,
    bytes: u64,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    result: Option<Result<(), wgpu::BufferAsyncError>>,
    waker: Option<Waker>,
    /// The errors, if any, of the submission that computes the bytes.
    #[cfg(target_arch = "wasm32")]
    errors: Option<Errors>,
}

#[cfg(target_arch = "wasm32")]
struct Errors(std::pin::Pin<Box<dyn Future<Output = Result<(), Error>>>>);

#[cfg(target_arch = "wasm32")]
impl std::fmt::Debug for Errors {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Errors")
    }
}

impl Readback {
    /// Allocates a staging buffer of `bytes` bytes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`] if there is no memory for it.
    pub fn staging(gpu: &Gpu, label: &str, bytes: u64) -> Result<wgpu::Buffer, Error> {
        let scopes = gpu.open_scopes();
        let buffer = gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: bytes,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        scopes.close_allocation(label, bytes)?;
        Ok(buffer)
    }

    /// Begins to map the first `bytes` bytes, after all earlier submissions. `bytes` must be a positive multiple of 8.
    pub fn begin(gpu: &Gpu, buffer: &wgpu::Buffer, bytes: u64) -> Self {
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        buffer.map_async(wgpu::MapMode::Read, ..bytes, move |result| {
            let mut state = shared.lock().unwrap_or_else(PoisonError::into_inner);
            state.result = Some(result);
            if let Some(waker) = state.waker.take() {
                waker.wake();
            }
        });
        Self { gpu: gpu.clone(), buffer: buffer.clone(), bytes, state }
    }

    /// Sets the `errors` of the submission that computes the bytes. The results are ready only after the errors are
    /// known.
    #[cfg(target_arch = "wasm32")]
    pub(super) fn expect_errors(&mut self, errors: impl Future<Output = Result<(), Error>> + 'static) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.errors = Some(Errors(Box::pin(errors)));
    }

    /// Returns `Ready` if the bytes are mapped. Otherwise wakes `context` later.
    pub fn poll(&self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        #[cfg(target_arch = "wasm32")]
        if let Some(Errors(errors)) = &mut state.errors {
            let Poll::Ready(result) = errors.as_mut().poll(context) else {
                return Poll::Pending;
            };
            state.errors = None;
            if result.is_err() {
                return Poll::Ready(result);
            }
        }
        match &state.result {
            Some(Ok(())) => Poll::Ready(Ok(())),
            Some(Err(error)) => {
                let cause = Cause::of(error.clone());
                Poll::Ready(Err(self.gpu.lost(&format!("mapping a result failed: {error}"), Some(cause))))
            }
            None => {
                state.waker = Some(context.waker().clone());
                Poll::Pending
            }
        }
    }

    /// Returns the value at `offset` bytes. The bytes must be mapped.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] if they are not mapped.
    pub fn value<T: Pod>(&self, offset: u64) -> Result<T, Error> {
        self.read(offset, 1, |values| values[0])
    }

    /// Calls `read` with the `count` values at `offset` bytes, without a copy, and returns its result. The bytes must
    /// be mapped.
    ///
    /// # Errors
    /// [`Error::DeviceLost`] if they are not mapped.
    pub fn read<T: Pod, R>(&self, offset: u64, count: usize, read: impl FnOnce(&[T]) -> R) -> Result<R, Error> {
        let end = offset + (count * size_of::<T>()) as u64;
        if end > self.bytes {
            return Err(self.gpu.lost("a result is shorter than it should be", None));
        }
        let view = self
            .buffer
            .get_mapped_range(..self.bytes)
            .map_err(|error| self.gpu.lost(&format!("a result cannot be read: {error}"), Some(Cause::of(error))))?;
        let bytes = &view[offset as usize..end as usize];
        Ok(match bytemuck::try_cast_slice(bytes) {
            Ok(values) => read(values),
            // The mapping is not aligned for the values, so copy them. No known driver causes this.
            Err(_) => read(&bytemuck::pod_collect_to_vec(bytes)),
        })
    }
}

impl Drop for Readback {
    /// Unmaps the staging buffer, so that commands can copy to it. If the device is lost, the error is ignored.
    fn drop(&mut self) {
        let scope = self.gpu.device().push_error_scope(wgpu::ErrorFilter::Validation);
        self.buffer.unmap();
        drop(scope.pop());
    }
}
