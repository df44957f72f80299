//! Measures the GPU time of each dispatch, on adapters with timestamps.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use super::Gpu;
use super::readback::Readback;
use crate::Error;

/// The device features that [`Timer`] needs: timestamps between the dispatches of one pass.
pub const FEATURES: wgpu::Features = wgpu::Features::TIMESTAMP_QUERY
    .union(wgpu::Features::TIMESTAMP_QUERY_INSIDE_ENCODERS)
    .union(wgpu::Features::TIMESTAMP_QUERY_INSIDE_PASSES);

/// The most timestamps of one pass. Further dispatches are not timed.
const MOST: u32 = 512;

/// The GPU time of the dispatches of one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelTime {
    /// The kernel's name, as in `shaders/` and in a profiler.
    pub kernel: &'static str,
    /// The count of its dispatches, including empty ones.
    pub dispatches: u32,
    /// The total time of these dispatches. The time of a dispatch is from the end of the previous dispatch to its own
    /// end.
    pub time: Duration,
}

impl KernelTime {
    /// Creates the time of one kernel.
    pub const fn new(kernel: &'static str, dispatches: u32, time: Duration) -> Self {
        Self { kernel, dispatches, time }
    }
}

/// A timer, which writes a timestamp after each dispatch of a pass. Dispatches run one after the other, since each
/// reads the output of an earlier one. So the difference of two timestamps is the time of the later dispatch.
#[derive(Debug)]
pub struct Timer {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    staging: wgpu::Buffer,
    /// Nanoseconds per tick.
    period: f64,
    labels: Mutex<Vec<&'static str>>,
}

/// The label of the beginning of a pass.
pub(super) const START: &str = "start";

impl Timer {
    /// Creates a timer; returns `None` if the device was requested without [`FEATURES`].
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(gpu: &Gpu) -> Result<Option<Self>, Error> {
        if !gpu.device().features().contains(FEATURES) {
            return Ok(None);
        }
        let bytes = 8 * u64::from(MOST);
        let scopes = gpu.open_scopes();
        let queries = gpu.device().create_query_set(&wgpu::QuerySetDescriptor {
            label: Some("timestamps"),
            ty: wgpu::QueryType::Timestamp,
            count: MOST,
        });
        let resolved = gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: Some("timestamps"),
            size: bytes,
            usage: wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC,
            mapped_at_creation: false,
        });
        scopes.close_allocation("timestamps", bytes)?;
        let staging = Readback::staging(gpu, "timestamps", bytes)?;
        let period = f64::from(gpu.queue().get_timestamp_period());
        Ok(Some(Self { queries, resolved, staging, period, labels: Mutex::default() }))
    }

    fn labels(&self) -> MutexGuard<'_, Vec<&'static str>> {
        self.labels.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Discards all timestamps. Call it before other passes are timed.
    pub fn restart(&self) {
        self.labels().clear();
    }

    /// Returns the staging buffer of the timestamps.
    pub fn staging(&self) -> &wgpu::Buffer {
        &self.staging
    }

    /// Returns the size of the timestamps, in bytes.
    pub fn bytes(&self) -> u64 {
        8 * self.labels().len() as u64
    }

    /// Records a timestamp after the last recorded dispatch, of kernel `label`.
    pub(super) fn mark(&self, pass: &mut wgpu::ComputePass, label: &'static str) {
        let mut labels = self.labels();
        if labels.len() < MOST as usize {
            pass.write_timestamp(&self.queries, labels.len() as u32);
            labels.push(label);
        }
    }

    /// Records the copy of the timestamps to the staging buffer. Record it after the pass.
    pub fn resolve(&self, encoder: &mut wgpu::CommandEncoder) {
        let count = self.labels().len() as u32;
        encoder.resolve_query_set(&self.queries, 0..count, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.staging, 0, 8 * u64::from(count));
    }

    /// Reads the time of each kernel, in the order of the first dispatches. The recorded commands must be submitted to
    /// the GPU of the timer. **Blocks.**
    ///
    /// # Errors
    /// [`Error::DeviceLost`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn read(&self, gpu: &Gpu) -> Result<Vec<KernelTime>, Error> {
        let count = self.labels().len();
        let readback = Readback::begin(gpu, &self.staging, 8 * count as u64);
        let waited = gpu.device().poll(wgpu::PollType::wait_indefinitely());
        waited.map_err(|error| gpu.lost(&error.to_string(), Some(crate::Cause::of(error))))?;
        Ok(self.times(&readback.read(0, count, <[u64]>::to_vec)?))
    }

    /// Returns the time of each kernel from these timestamps, in the order of the first dispatches.
    pub fn times(&self, stamps: &[u64]) -> Vec<KernelTime> {
        let labels = self.labels();
        let mut times: Vec<KernelTime> = Vec::new();
        let dispatches = labels.iter().skip(1).zip(stamps.windows(2));
        for (&kernel, stamps) in dispatches.filter(|(kernel, _)| **kernel != START) {
            let time = Duration::from_nanos((stamps[1].saturating_sub(stamps[0]) as f64 * self.period) as u64);
            match times.iter_mut().find(|row| row.kernel == kernel) {
                Some(row) => {
                    row.dispatches += 1;
                    row.time += time;
                }
                None => times.push(KernelTime { kernel, dispatches: 1, time }),
            }
        }
        times
    }
}
