//! Events from step to step: the pairs of a step are found on the GPU, and compared with those of the last step on the host.

use std::sync::Arc;
use std::task::{Context, Poll, Waker, ready};

use rayon::prelude::*;

use super::BroadPhase;
use crate::events::Said;
use crate::filters::CheckedFilters;
use crate::{Error, Events, PairOrder, Step, StepReport};

impl BroadPhase {
    /// Finds what began and what ended since the last step: the pairs of these boxes, compared with those of the last call. In the
    /// first step every pair is created. The events stay until the next step; [`overlaps`](Self::overlaps) is empty afterwards.
    /// **Blocks** until the pairs are there.
    ///
    /// All boxes are uploaded and searched in every step, and all pairs come to the host, which compares them; in the order of the sweep
    /// they are sorted there first. [`Recorder::record_events`](crate::Recorder::record_events) compares on the GPU. [`Step::moved`] and
    /// [`Options::step_margin`](crate::Options::step_margin) are checked and otherwise not used: hints for the CPU engine.
    ///
    /// # Errors
    /// As [`find_pairs`](Self::find_pairs); [`Error::BadStep`]. A step that was refused does not count as the last one.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn find_events<'a>(&mut self, step: impl Into<Step<'a>>) -> Result<&Events, Error> {
        let step = step.into();
        self.core.flight.check_idle()?;
        self.found.clear();
        self.steps.fail();
        self.filters.fit(step.boxes.len())?;
        self.steps.check(&step.said())?;
        step.check_moved()?;
        let found = self.find(step.boxes, true);
        let filters = Arc::clone(self.filters.checked());
        self.compare(found, &step.said(), &filters)?;
        Ok(&self.steps.events)
    }

    /// Uploads the boxes of a step and starts to look for their pairs, as [`submit`](Self::submit) does. Does not block. The events
    /// are for [`try_take_events`](Self::try_take_events) or [`take_events`](Self::take_events), in the order of submission; what
    /// the step says of identity is copied until then.
    ///
    /// Each step is compared with the one that was submitted before it; or, where that one turned out to be refused, with the
    /// last one that was not.
    ///
    /// # Errors
    /// As [`submit`](Self::submit): [`Error::Busy`] too while a result of [`submit`](Self::submit) is to be taken.
    /// [`Error::BadStep`]. What is in flight stays so.
    pub fn submit_events<'a>(&mut self, step: impl Into<Step<'a>>) -> Result<(), Error> {
        let step = step.into();
        if self.stepping.is_empty() {
            self.core.flight.check_idle()?;
        }
        self.check_room_in_flight()?;
        let last = self.stepping.back().map_or(self.steps.box_count(), |(step, _)| step.said().box_count as u32);
        self.steps.check_after(&step.said(), last)?;
        step.check_moved()?;
        self.submit_boxes(step.boxes, true)?;
        self.stepping.push_back((step.said().into(), Arc::clone(self.filters.checked())));
        Ok(())
    }

    /// Takes the events of the oldest [`submit_events`](Self::submit_events) that were not taken if they are there; returns `None`
    /// if not yet. Does not block, but for the time that the comparison takes. They stay until the next ones are taken.
    ///
    /// # Errors
    /// As [`try_take`](Self::try_take). [`Error::BadStep`] where a step [says](crate::Identity::Was) which boxes were where in one
    /// that was refused. An error takes the place of one step, which does not count.
    pub fn try_take_events(&mut self) -> Result<Option<&Events>, Error> {
        match self.poll_take_events(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(result) => result.map(|()| Some(&self.steps.events)),
            Poll::Pending => Ok(None),
        }
    }

    /// Waits for the events of the oldest [`submit_events`](Self::submit_events) that were not taken, without blocking the thread,
    /// as [`take`](Self::take) does.
    ///
    /// # Errors
    /// As [`try_take_events`](Self::try_take_events).
    pub async fn take_events(&mut self) -> Result<&Events, Error> {
        self.poll_until_ready(Self::poll_take_events).await?;
        Ok(&self.steps.events)
    }

    fn poll_take_events(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if self.stepping.is_empty() {
            return Poll::Ready(Err(Error::NothingSubmitted));
        }
        let found = ready!(self.poll_take(context));
        let Some((step, filters)) = self.stepping.pop_front() else {
            return Poll::Ready(Err(Error::NothingSubmitted));
        };
        if self.core.flight.is_empty() {
            // With the device all are lost.
            self.stepping.clear();
        }
        let checked = self.steps.check(&step.said());
        Poll::Ready(self.compare(found.and(checked), &step.said(), &filters))
    }

    /// Returns the events of the last step. After a step that was refused, other than with [`Error::Busy`], they are empty, and the
    /// pairs are those of the last step that was not.
    pub fn events(&self) -> &Events {
        &self.steps.events
    }

    /// Compares the pairs of a step, if they were found, with those of the last one.
    fn compare(&mut self, found: Result<(), Error>, step: &Said<'_>, filters: &CheckedFilters) -> Result<(), Error> {
        let compared = found.and_then(|()| {
            let Self { steps, found, core, .. } = self;
            if core.options.order != PairOrder::Canonical && !found.report.tested_all_pairs() {
                found.pairs.par_sort_unstable();
            }
            let report = StepReport::of_search(&mut found.report);
            steps.advance(step, filters.filters(), &mut found.pairs, report)
        });
        self.found.clear();
        compared.inspect_err(|_| self.steps.fail())
    }
}
