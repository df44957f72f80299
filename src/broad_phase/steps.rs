//! Events from step to step: the pairs of a step are found on the GPU, and compared with those of the last step on the host.

#[cfg(not(target_arch = "wasm32"))]
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rayon::prelude::*;

use super::BroadPhase;
#[cfg(not(target_arch = "wasm32"))]
use crate::Step;
use crate::events::StepSpec;
use crate::filters::CheckedFilters;
use crate::{Error, Events, PairOrder, StepReport};

impl BroadPhase {
    /// Finds the pairs of these boxes, and compares them with those of the last call of this method that succeeded; other calls in between do not
    /// matter. In the
    /// first step every pair is created. The events stay until the next step; [`last_overlaps`](Self::last_overlaps) is empty afterwards.
    /// **Blocks** until the pairs are complete.
    ///
    /// All boxes are uploaded and searched in every step, and all pairs are read back to the host, which compares them; in the order of the sweep
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
        self.steps.check(&step.spec())?;
        step.check_moved()?;
        let found = self.find(step.boxes, true);
        let filters = Arc::clone(self.filters.checked());
        self.compare(found, &step.spec(), &filters)?;
        Ok(&self.steps.events)
    }

    pub(super) fn poll_take_events(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        if self.stepping.is_empty() {
            return Poll::Ready(Err(Error::NothingSubmitted));
        }
        let found = ready!(self.poll_take(context));
        let Some((step, filters)) = self.stepping.pop_front() else {
            return Poll::Ready(Err(Error::NothingSubmitted));
        };
        if self.core.flight.is_empty() {
            // If the device is lost, all steps are lost.
            self.stepping.clear();
        }
        let checked = self.steps.check(&step.spec());
        Poll::Ready(self.compare(found.and(checked), &step.spec(), &filters))
    }

    /// Returns the events of the last step. After a step that was refused, other than with [`Error::Busy`], they are empty, and the
    /// pairs are those of the last step that was not.
    pub fn events(&self) -> &Events {
        &self.steps.events
    }

    /// Compares the pairs of a step, if they were found, with those of the last one.
    fn compare(
        &mut self,
        found: Result<(), Error>,
        step: &StepSpec<'_>,
        filters: &CheckedFilters,
    ) -> Result<(), Error> {
        let compared = found.and_then(|()| {
            let Self { steps, found, core, .. } = self;
            if core.options.order != PairOrder::Canonical && !found.report.tested_all_pairs {
                found.pairs.par_sort_unstable();
            }
            let report = StepReport::of_search(&mut found.report);
            steps.advance(step, filters.filters(), &mut found.pairs, report)
        });
        self.found.clear();
        compared.inspect_err(|_| self.steps.fail())
    }
}
