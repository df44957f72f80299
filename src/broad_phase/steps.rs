//! Events from step to step: the pairs of a step are found on the GPU, and compared with those of the last step on the host.

use rayon::prelude::*;

use super::BroadPhase;
use crate::{Error, Events, PairOrder, Step, StepReport};

impl BroadPhase {
    /// Finds what began and what ended since the last step: the pairs of these boxes, compared with those of the last call. In the
    /// first step every pair is created. The events stay until the next step; [`overlaps`](Self::overlaps) is empty afterwards.
    /// **Blocks** until the pairs are there.
    ///
    /// All boxes are uploaded and searched in every step, and all pairs come to the host, which compares them; in the order of the
    /// sweep they are sorted there first. [`record_events`](Self::record_events) compares on the GPU.
    ///
    /// # Errors
    /// As [`find_pairs`](Self::find_pairs); [`Error::BadStep`]. A step that was refused does not count as the last one.
    pub fn find_events<'a>(&mut self, step: impl Into<Step<'a>>) -> Result<&Events, Error> {
        let step = step.into();
        self.core.flight.check_idle()?;
        self.found.clear();
        self.steps.fail();
        self.filters.fit(step.boxes.len())?;
        self.steps.check(&step)?;
        let found = self.as_if_awake(|broad_phase| broad_phase.find_pairs(step.boxes).map(|_| ()));
        let compared = found.and_then(|()| self.compare(&step));
        self.found.clear();
        compared.inspect_err(|_| self.steps.fail())?;
        Ok(&self.steps.events)
    }

    /// Returns the events of the last step. After a step that was refused, other than with [`Error::Busy`], they are empty, and the
    /// pairs are those of the last step that was not.
    pub fn events(&self) -> &Events {
        &self.steps.events
    }

    fn compare(&mut self, step: &Step<'_>) -> Result<(), Error> {
        let Self { steps, found, filters, core, .. } = self;
        if core.options.order != PairOrder::Canonical && !found.report.tested_all_pairs() {
            found.pairs.par_sort_unstable();
        }
        let report = StepReport::of_search(&mut found.report);
        steps.advance(step, filters.filters(), &mut found.pairs, report)
    }
}
