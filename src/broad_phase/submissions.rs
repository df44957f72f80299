//! Searches in flight: submitted now, read back in a later call.

use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use super::BroadPhase;
use crate::{Aabb, Error, Events, Overlaps, Step};

/// The calls of a [`BroadPhase`] that do not block: a search is submitted, and its result is read back by a later call.
/// [`BroadPhase::submissions`] returns it.
///
/// [`BroadPhase::SUBMISSIONS_IN_FLIGHT`] searches may be in flight, so that the GPU has work while the host uses the pairs. Results come in the
/// order of submission. A search and a step are not in flight together.
///
/// The second submission uses boxes and a staging buffer of its own (24 bytes per box and 8 per pair of the list), allocated the first time,
/// beside the [`MemoryPlan`](crate::MemoryPlan) but within the budget. A submission with many more pairs than the one before is searched twice
/// if another was submitted after it, or was refused for lack of memory; the result is the same.
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
    /// Uploads `boxes` and starts the search for their pairs. Does not block, after the kernels are compiled
    /// ([`BroadPhase::compile_ahead`]). [`try_take`](Self::try_take) or [`take`](Self::take) returns the result.
    ///
    /// # Errors
    /// [`Error::Busy`] if as many submissions are in flight already, if the memory budget or the device has no memory for another
    /// one, or while a list is read back in several pieces: take a result first, and submit again. [`Error::TooManyBoxes`] or
    /// [`Error::OverBudget`] for more boxes than one pass holds; [`BroadPhase::find_pairs`] accepts them. [`Error::OutOfMemory`],
    /// [`Error::DeviceLost`], [`Error::Gpu`]. Searches in flight are not affected.
    pub fn submit(self, boxes: &[Aabb]) -> Result<(), Error> {
        if !self.engine.stepping.is_empty() {
            return Err(Error::Busy);
        }
        self.engine.submit_boxes(boxes, false)
    }

    /// Returns the result of the oldest [`submit`](Self::submit) that was not taken, or `None` if it is not complete. Does not block. The answer
    /// remains until the readback of the next result begins; [`BroadPhase::take_overlaps`] moves it out.
    ///
    /// A long result needs several calls: each reads a piece back, and requests the next one. In canonical order the pieces of a list longer
    /// than one binding (16.7 million pairs with WebGPU's default) are merged here, on the CPU, which takes half as much memory again, or more
    /// time if that memory is not available.
    ///
    /// # Errors
    /// [`Error::NothingSubmitted`]; as [`BroadPhase::find_pairs`] after its search began. An error takes the place of one result, and the next
    /// one can still be taken; with the device all are lost.
    pub fn try_take(self) -> Result<Option<&'b Overlaps>, Error> {
        match self.engine.poll_take_pairs(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => result.map(|()| Some(self.engine.last_overlaps())),
            Poll::Pending => Ok(None),
        }
    }

    /// Waits for the result of the oldest [`submit`](Self::submit) that was not taken, without blocking the thread.
    ///
    /// Outside browsers a device makes progress only when it is polled: each poll of this future polls the device, and requests another poll,
    /// so that it keeps an executor busy. Dropping the future loses nothing; the result can still be taken.
    ///
    /// # Errors
    /// As [`try_take`](Self::try_take).
    pub async fn take(self) -> Result<&'b Overlaps, Error> {
        self.engine.poll_until_ready(BroadPhase::poll_take_pairs).await?;
        Ok(self.engine.last_overlaps())
    }

    /// Uploads the boxes of a step and starts the search for their pairs, as [`submit`](Self::submit) does. Does not block.
    /// [`try_take_events`](Self::try_take_events) or [`take_events`](Self::take_events) returns the events. The identities of the step are copied.
    ///
    /// Each step is compared with the one that was submitted before it, or, if that one was refused, with the last one that was not.
    ///
    /// # Errors
    /// As [`submit`](Self::submit); [`Error::Busy`] also while a result of [`submit`](Self::submit) is to be taken; [`Error::BadStep`]. Steps in
    /// flight are not affected.
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

    /// Returns the events of the oldest [`submit_events`](Self::submit_events) that were not taken, or `None` if they are not complete. Does not
    /// block, except for the time of the comparison. They remain until the next ones are taken.
    ///
    /// # Errors
    /// As [`try_take`](Self::try_take). [`Error::BadStep`] if a step [refers](crate::Identity::Was) to the boxes of one that was refused. An error
    /// takes the place of one step, which does not count.
    pub fn try_take_events(self) -> Result<Option<&'b Events>, Error> {
        match self.engine.poll_take_events(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => result.map(|()| Some(self.engine.events())),
            Poll::Pending => Ok(None),
        }
    }

    /// Waits for the events of the oldest [`submit_events`](Self::submit_events) that were not taken, without blocking the thread, as
    /// [`take`](Self::take) does.
    ///
    /// # Errors
    /// As [`try_take_events`](Self::try_take_events).
    pub async fn take_events(self) -> Result<&'b Events, Error> {
        self.engine.poll_until_ready(BroadPhase::poll_take_events).await?;
        Ok(self.engine.events())
    }
}
