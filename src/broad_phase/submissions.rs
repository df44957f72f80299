//! Searches in flight: one call submits, a later call reads the result back.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::BroadPhase;
use crate::{Aabb, Error, Events, Overlaps, Step};

/// The calls of a [`BroadPhase`] that do not block. One call submits a search, and a later call reads its result back.
/// [`BroadPhase::submissions`] returns this value.
///
/// Up to [`BroadPhase::SUBMISSIONS_IN_FLIGHT`] searches may be in flight, so that the GPU searches while the host uses
/// pairs. Results come in the order of submission. Searches and steps cannot be in flight together.
///
/// The second submission in flight needs its own box buffer and staging buffer: 24 bytes per box, and 8 per pair of the
/// list. These buffers are allocated when first needed. They are not part of the [`MemoryPlan`](crate::MemoryPlan), but
/// count against the budget. A submission with many more pairs than the previous one may be searched a second time when
/// its result is taken. The result is the same.
///
/// ```no_run
/// # fn frame(broad_phase: &mut broadsweep::BroadPhase, boxes: &[broadsweep::Aabb]) -> Result<(), broadsweep::Error> {
/// broad_phase.submissions().submit(boxes)?;
/// // ... work of the program ...
/// while broad_phase.submissions().try_take()?.is_none() {
///     std::thread::yield_now();
/// }
/// println!("{} pairs", broad_phase.last_overlaps().pairs.len());
/// # Ok(())
/// # }
/// ```
#[derive(Debug)]
pub struct Submissions<'b> {
    engine: &'b mut BroadPhase,
}

impl BroadPhase {
    /// Returns the calls that do not block.
    pub fn submissions(&mut self) -> Submissions<'_> {
        Submissions { engine: self }
    }
}

impl<'b> Submissions<'b> {
    /// Uploads `boxes` and starts the search for their pairs. Does not block if the kernels are
    /// [compiled](BroadPhase::compile_ahead). [`try_take`](Self::try_take) or [`take`](Self::take) returns the result.
    ///
    /// # Errors
    /// [`Error::Busy`] if [`BroadPhase::SUBMISSIONS_IN_FLIGHT`] submissions are in flight, if the memory budget or the
    /// device has no memory for another submission, or while a list is read back in several pieces. Then take a result,
    /// and submit again. [`Error::TooManyBoxes`] or [`Error::OverBudget`] if the boxes do not fit one pass;
    /// [`BroadPhase::find_pairs`] accepts such boxes. [`Error::OutOfMemory`], [`Error::DeviceLost`], [`Error::Gpu`].
    /// Searches in flight are not affected.
    pub fn submit(self, boxes: &[Aabb]) -> Result<(), Error> {
        if !self.engine.stepping.is_empty() {
            return Err(Error::Busy);
        }
        self.engine.submit_boxes(boxes, false)
    }

    /// Returns the result of the oldest pending [`submit`](Self::submit), or `None` if it is not complete. Does not
    /// block. The result remains until the readback of the next result begins; [`BroadPhase::take_overlaps`] moves it
    /// out.
    ///
    /// A long result needs several calls: each call reads one piece back, and requests the next piece. In canonical
    /// order, this call merges the pieces of a list that is longer than one binding (16.7 million pairs with WebGPU's
    /// default limits). The merge needs memory for half of the pairs; it takes longer if this memory is not available.
    ///
    /// # Errors
    /// [`Error::NothingSubmitted`]; the errors of [`BroadPhase::find_pairs`] that occur after its search has begun. An
    /// error replaces one result; the next result can still be taken. After [`Error::DeviceLost`], all results are
    /// lost.
    pub fn try_take(self) -> Result<Option<&'b Overlaps>, Error> {
        match self.engine.poll_take_pairs(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => result.map(|()| Some(self.engine.last_overlaps())),
            Poll::Pending => Ok(None),
        }
    }

    /// Waits for the result of the oldest pending [`submit`](Self::submit), without blocking the thread.
    ///
    /// Outside browsers, a device makes progress only when it is polled. Each poll of this future polls the device and
    /// requests another poll, so the executor is busy. After the future is dropped, the result can still be taken.
    ///
    /// # Errors
    /// The errors of [`try_take`](Self::try_take).
    pub async fn take(self) -> Result<&'b Overlaps, Error> {
        self.engine.poll_until_ready(BroadPhase::poll_take_pairs).await?;
        Ok(self.engine.last_overlaps())
    }

    /// Uploads the boxes of a step and starts the search for their pairs. Does not block if the kernels are compiled.
    /// [`try_take_events`](Self::try_take_events) or [`take_events`](Self::take_events) returns the events. The
    /// identities of the step are copied.
    ///
    /// Each step is compared with the submitted step before it. Steps that fail are skipped.
    ///
    /// # Errors
    /// The errors of [`submit`](Self::submit); [`Error::Busy`] also while a result of [`submit`](Self::submit) is
    /// pending; [`Error::BadStep`]. Steps in flight are not affected.
    pub fn submit_events<'a>(self, step: impl Into<Step<'a>>) -> Result<(), Error> {
        let (step, engine) = (step.into(), self.engine);
        if engine.stepping.is_empty() {
            engine.core.flight.check_idle()?;
        }
        engine.check_can_submit()?;
        let last = engine.stepping.back().map_or(engine.steps.box_count(), |(step, _)| step.spec().box_count as u32);
        engine.steps.check_after(&step.spec(), last)?;
        step.check_moved()?;
        engine.submit_boxes(step.boxes, true)?;
        engine.stepping.push_back((step.spec().into(), Arc::clone(engine.filters.checked())));
        Ok(())
    }

    /// Returns the events of the oldest pending [`submit_events`](Self::submit_events), or `None` if they are not
    /// complete. Does not block, except to compare the lists on the host. The events remain until the next events are
    /// taken.
    ///
    /// # Errors
    /// The errors of [`try_take`](Self::try_take). [`Error::BadStep`] if a step [refers](crate::Identity::Was) to the
    /// boxes of a step that failed. After an error, later steps are not compared with this step.
    pub fn try_take_events(self) -> Result<Option<&'b Events>, Error> {
        match self.engine.poll_take_events(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => result.map(|()| Some(self.engine.events())),
            Poll::Pending => Ok(None),
        }
    }

    /// Waits for the events of the oldest pending [`submit_events`](Self::submit_events), without blocking the thread.
    /// The executor is busy, as with [`take`](Self::take).
    ///
    /// # Errors
    /// The errors of [`try_take_events`](Self::try_take_events).
    pub async fn take_events(self) -> Result<&'b Events, Error> {
        self.engine.poll_until_ready(BroadPhase::poll_take_events).await?;
        Ok(self.engine.events())
    }
}
