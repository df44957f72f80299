//! Finds events from step to step. The GPU finds the pairs of a step, and the host compares them with the pairs of the
//! last step.

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
    /// Finds the pairs of these boxes, and compares them with the pairs of the last successful call of this method.
    /// Calls of other methods in between do not matter. In the first step every pair is created. The events remain
    /// until the next step. [`last_overlaps`](Self::last_overlaps) is empty afterwards. **Blocks** until the pairs are
    /// complete.
    ///
    /// Cost: each step uploads and searches all boxes, and reads all pairs back. The host compares the pairs; in the
    /// order of the sweep, it sorts them first. [`Recorder::record_events`](crate::Recorder::record_events) compares
    /// them on the GPU. [`Step::moved`] and [`Options::step_margin`](crate::Options::step_margin) are checked but not
    /// used; they are hints for the CPU engine.
    ///
    /// # Errors
    /// The errors of [`find_pairs`](Self::find_pairs); [`Error::BadStep`]. After an error, the last step is still the
    /// last successful step.
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
            // If the device was lost, all submissions were dropped. So drop their steps too.
            self.stepping.clear();
        }
        let checked = self.steps.check(&step.spec());
        Poll::Ready(self.compare(found.and(checked), &step.spec(), &filters))
    }

    /// Returns the events of the last step. After a step that failed with an error other than [`Error::Busy`], the
    /// events are empty, and the pairs are the pairs of the last successful step.
    pub fn events(&self) -> &Events {
        &self.steps.events
    }

    /// Compares the pairs of a step with the pairs of the last step, if the search succeeded.
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
