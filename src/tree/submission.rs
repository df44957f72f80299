//! Submits work whose results the host reads back, and waits for them.

use std::task::Poll;

use crate::Error;
use crate::gpu::Gpu;
use crate::gpu::readback::Readback;
use crate::gpu::scopes::Scopes;

/// How a call waits for the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Waiting {
    /// The thread blocks.
    #[cfg(not(target_arch = "wasm32"))]
    Blocking,
    /// The future is polled.
    Polling,
}

/// A command encoder with open error scopes. Without scopes, `wgpu` ends the program after a device loss.
pub(super) struct Recording {
    pub encoder: wgpu::CommandEncoder,
    scopes: Scopes,
}

impl Recording {
    /// Begins to record.
    pub fn begin(gpu: &Gpu) -> Self {
        let scopes = gpu.open_scopes();
        let label = Some("broadsweep");
        Self { encoder: gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor { label }), scopes }
    }

    /// Submits the recorded commands.
    ///
    /// # Errors
    /// [`Error::DeviceLost`], [`Error::OutOfMemory`], [`Error::Gpu`].
    pub fn submit(self, gpu: &Gpu) -> Result<(), Error> {
        gpu.queue().submit([self.encoder.finish()]);
        self.scopes.close("queries")
    }

    /// Submits the recorded commands, and begins to read the first `bytes` bytes of a staging buffer back.
    ///
    /// # Errors
    /// The errors of [`submit`](Self::submit).
    pub fn read(self, gpu: &Gpu, staging: &wgpu::Buffer, bytes: u64) -> Result<Readback, Error> {
        gpu.queue().submit([self.encoder.finish()]);
        let mut readback = Readback::begin(gpu, staging, bytes.next_multiple_of(8));
        self.scopes.close_with("queries", &mut readback)?;
        Ok(readback)
    }
}

/// Waits until the readback is complete.
///
/// # Errors
/// [`Error::DeviceLost`], [`Error::OutOfMemory`], [`Error::Gpu`].
pub(super) async fn wait(gpu: &Gpu, readback: Readback, waiting: Waiting) -> Result<Readback, Error> {
    #[cfg(not(target_arch = "wasm32"))]
    if waiting == Waiting::Blocking {
        gpu.device()
            .poll(wgpu::PollType::wait_indefinitely())
            .map_err(|error| gpu.lost(&error.to_string(), Some(crate::Cause::of(error))))?;
    }
    std::future::poll_fn(|context| {
        if waiting == Waiting::Polling {
            // Outside browsers a device makes progress only when it is polled.
            let _ = gpu.device().poll(wgpu::PollType::Poll);
        }
        match readback.poll(context) {
            Poll::Pending if gpu.is_lost() => Poll::Ready(Err(gpu.lost("", None))),
            Poll::Pending => {
                #[cfg(not(target_arch = "wasm32"))]
                context.waker().wake_by_ref();
                Poll::Pending
            }
            ready => ready,
        }
    })
    .await?;
    Ok(readback)
}
