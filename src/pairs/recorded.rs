//! Recorded steps: the buffers that compare a list with the list of the last step. They grow on demand and retain the
//! last list.

use std::sync::Arc;

use super::events::{Compared, EventBuffers, EventCapacity, EventKernels};
use super::handles::{GpuEvents, GpuIdentity, GpuPairs};
use crate::base::constants::{NAMING_GENERATIONS, NAMING_INDEX, NAMING_WAS};
use crate::base::layout::{PairArguments, PairHeader};
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::external::{bind, bytes, check};
use crate::gpu::kernel::Pass;
use crate::gpu::timing::Timer;
use crate::{Cause, Error, Pair};

/// The kernels and buffers of recorded steps.
#[derive(Debug, Default)]
pub(crate) struct RecordedSteps {
    kernels: Option<EventKernels>,
    buffers: Option<EventBuffers>,
    /// The commands of each recorded step hold a clone until they have run or are dropped. So the reference count shows
    /// whether steps are pending.
    pending: Arc<()>,
}

impl RecordedSteps {
    /// Returns `true` if the buffers have at least this capacity.
    pub fn has_capacity(&self, capacity: &EventCapacity) -> bool {
        let has = |has: &EventCapacity| has.pairs >= capacity.pairs && has.generations >= capacity.generations;
        self.buffers.as_ref().is_some_and(|buffers| has(&buffers.capacity))
    }

    /// Returns the bytes of GPU memory of the buffers.
    fn bytes(&self) -> u64 {
        self.buffers.as_ref().map_or(0, |buffers| EventBuffers::bytes(&buffers.capacity))
    }

    /// Returns `true` if there are buffers of recorded steps.
    pub fn is_in_use(&self) -> bool {
        self.buffers.is_some()
    }

    /// Releases the buffers if they have more than `bytes` bytes.
    pub fn release_above(&mut self, bytes: u64) {
        if self.bytes() > bytes {
            self.buffers = None;
        }
    }

    /// Lists the buffers with their allocated bytes.
    pub fn allocated(&self) -> Vec<(&'static str, u64)> {
        self.buffers.iter().flat_map(EventBuffers::allocated).collect()
    }

    /// Waits until the commands of all steps that were recorded have run or are dropped.
    ///
    /// # Errors
    /// [`Error::NotSubmitted`] if some were not submitted; in a browser also if they have not run;
    /// [`Error::DeviceLost`].
    fn settle(&self, gpu: &Gpu) -> Result<(), Error> {
        if Arc::strong_count(&self.pending) > 1 {
            #[cfg(not(target_arch = "wasm32"))]
            let polled = gpu.device().poll(wgpu::PollType::wait_indefinitely());
            #[cfg(target_arch = "wasm32")]
            let polled = gpu.device().poll(wgpu::PollType::Poll);
            polled.map_err(|error| gpu.lost(&error.to_string(), Some(Cause::of(error))))?;
        }
        if Arc::strong_count(&self.pending) > 1 { Err(Error::NotSubmitted) } else { Ok(()) }
    }

    /// Compiles the kernels of steps that are not compiled yet.
    ///
    /// # Errors
    /// The errors of [`EventKernels::compile`].
    pub fn compile(&mut self, gpu: &Gpu) -> Result<(), Error> {
        self.kernels.get_or_insert_with(|| EventKernels::new(gpu)).compile()
    }

    /// Returns the capacity.
    pub fn capacity(&self) -> EventCapacity {
        self.buffers.as_ref().map(|buffers| buffers.capacity).unwrap_or_default()
    }

    /// Ensures this capacity, and retains the last step. **Blocks** until submitted steps have run if buffers have to
    /// grow.
    ///
    /// # Errors
    /// The errors of [`Recorder::record_events`](crate::Recorder::record_events) for larger buffers.
    pub fn ensure(&mut self, gpu: &Gpu, capacity: EventCapacity) -> Result<(), Error> {
        if self.has_capacity(&capacity) {
            return Ok(());
        }
        self.settle(gpu)?;
        let Some(smaller) = self.buffers.take() else {
            self.buffers = Some(EventBuffers::new(gpu, capacity)?);
            return Ok(());
        };
        let EventBuffers { capacity: now, lists, last } = smaller;
        // First release the buffers that the next step does not read, since old and new buffers together may exceed the
        // memory.
        drop(lists);
        let larger = match EventBuffers::new(gpu, capacity) {
            Ok(larger) => larger,
            Err(error) => {
                // Retain the last step, if lists of the old capacity can be allocated.
                self.buffers = EventBuffers::with_last(gpu, now, last).ok();
                return Err(error);
            }
        };
        // Copy in a separate submission: in the caller's encoder, the last step would be lost if the caller never
        // submits it.
        let scopes = gpu.open_scopes();
        let mut encoder =
            gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some(gpu.label()) });
        larger.record_move(&mut encoder, &last);
        gpu.queue().submit([encoder.finish()]);
        self.buffers = Some(larger);
        scopes.close("events")
    }

    /// Records the comparison of a list with the list of the last step. The buffer of the identity has `box_count`
    /// numbers.
    ///
    /// # Errors
    /// [`Error::NothingRecorded`] before [`ensure`](Self::ensure); [`Error::OutOfMemory`].
    pub fn record(
        &self,
        gpu: &Gpu,
        encoder: &mut wgpu::CommandEncoder,
        timer: Option<&Timer>,
        vertices_per_pair: u32,
        step: Compared<'_>,
        (identity, box_count): (GpuIdentity<'_>, u32),
    ) -> Result<(), Error> {
        let (Some(kernels), Some(buffers)) = (&self.kernels, &self.buffers) else {
            return Err(Error::NothingRecorded);
        };
        let (naming, numbers) = match identity {
            GpuIdentity::Index => (NAMING_INDEX, None),
            GpuIdentity::Generations(numbers) => (NAMING_GENERATIONS, bind(numbers, bytes::<u32>(box_count))),
            GpuIdentity::Was(numbers) => (NAMING_WAS, bind(numbers, bytes::<u32>(box_count))),
        };
        // Without numbers or boxes, the kernels do not read `names`, so any buffer can be bound.
        let names = numbers.unwrap_or_else(|| step.pairs.all());
        let scopes = gpu.open_scopes();
        buffers.record_clear(encoder);
        let mut pass = Pass::begin_timed(gpu, encoder, timer);
        kernels.record(&mut pass, vertices_per_pair, step, (naming, names), buffers)?;
        pass.finish()?;
        drop(pass);
        let pending = Arc::clone(&self.pending);
        encoder.on_submitted_work_done(move || drop(pending));
        scopes.close("events")
    }

    /// Returns the events of these pairs.
    ///
    /// # Errors
    /// [`Error::NothingRecorded`].
    pub fn events<'a>(&'a self, pairs: GpuPairs<'a>) -> Result<GpuEvents<'a>, Error> {
        let Some(EventBuffers { lists, capacity, .. }) = &self.buffers else {
            return Err(Error::NothingRecorded);
        };
        let list =
            |pairs: &'a Buffer<Pair>, header: &'a Buffer<PairHeader>, arguments: &'a Buffer<PairArguments>| GpuPairs {
                pairs: pairs.raw(),
                header: header.raw(),
                arguments: arguments.raw(),
                capacity: capacity.pairs as u32,
            };
        Ok(GpuEvents {
            pairs,
            before: lists.before.raw(),
            created: list(&lists.created, &lists.created_header, &lists.created_arguments),
            lost: list(&lists.lost, &lists.lost_header, &lists.lost_arguments),
            persisting: list(&lists.persisting, &lists.persisting_header, &lists.persisting_arguments),
        })
    }
}

/// Checks that the buffer of an identity has a number for each box.
///
/// # Errors
/// [`Error::BadBuffer`].
pub fn check_identity(gpu: &Gpu, identity: GpuIdentity<'_>, box_count: u32) -> Result<(), Error> {
    let (buffer, numbers) = match identity {
        GpuIdentity::Index => return Ok(()),
        GpuIdentity::Generations(numbers) => ("generations", numbers),
        GpuIdentity::Was(numbers) => ("was", numbers),
    };
    check(gpu, numbers, bytes::<u32>(box_count), buffer, || format!("the numbers of {box_count} boxes"))
}
