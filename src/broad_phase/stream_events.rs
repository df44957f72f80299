//! Events in pieces: two searches in bounded memory, whose pairs are looked up on the host.

use std::mem::{replace, take};
use std::sync::Arc;

use super::BroadPhase;
use crate::events::stream::Source;
use crate::filters::CheckedFilters;
use crate::filters::device::FilterSet;
use crate::{Aabb, Error, EventPiece, Pair, Report, Step, StepReport};

impl BroadPhase {
    /// Hands what began and what ended since the last streamed step to `each`, piece by piece: events of any length in bounded
    /// memory. **Blocks** until the last piece was handed over.
    ///
    /// No list is kept from step to step, but the boxes with their filters, on the host. Both steps are searched, as
    /// [`stream_pairs`](Self::stream_pairs) does it: first this one, whose pairs come with those among them that are created and that
    /// persist, then the last one, for what is lost. Where nothing changed, the second search is left out. So a step takes up to two searches;
    /// [`find_events`](Self::find_events) is faster wherever its lists fit. The order is that of [`stream_pairs`](Self::stream_pairs), with which each of
    /// the two is handed over.
    ///
    /// `each` is called at least once. In the report that it sees, boxes and [`pair_count`](StepReport::pair_count) are those of the
    /// whole step from the first piece on; events are counted so far. The returned report has all counts. An error that `each` returns ends
    /// the call and is returned.
    ///
    /// What this call knows of steps, and what found and recorded steps know, is apart. Where filters have changed since the last step, the
    /// old ones are uploaded for the second search, and the new ones after it; searches that were recorded then have to be recorded again.
    ///
    /// # Errors
    /// As [`stream_pairs`](Self::stream_pairs), and those of `each`; [`Error::BadStep`]. Such a step does not count as the last one.
    pub fn stream_events<'a, E: From<Error>>(
        &mut self,
        step: impl Into<Step<'a>>,
        each: impl FnMut(&StepReport, EventPiece<'_>) -> Result<(), E>,
    ) -> Result<StepReport, E> {
        self.core.flight.check_idle()?;
        let mut streamed = take(&mut self.streamed);
        let result = streamed.run(self, &step.into(), each);
        self.streamed = streamed;
        result
    }
}

impl Source for BroadPhase {
    fn fitted(&mut self, box_count: usize) -> Result<&CheckedFilters, Error> {
        self.filters.fit(box_count)?;
        Ok(self.filters.checked())
    }

    fn stream_awake<E: From<Error>>(
        &mut self,
        boxes: &[Aabb],
        others: Option<&Arc<CheckedFilters>>,
        each: impl FnMut(&Report, &[Pair]) -> Result<(), E>,
    ) -> Result<Report, E> {
        /// Puts the filters back, even where `each` panics.
        struct Others<'a>(&'a mut BroadPhase, Option<FilterSet>);
        impl Drop for Others<'_> {
            fn drop(&mut self) {
                if let Some(own) = self.1.take() {
                    self.0.filters = own;
                    self.0.take_filters();
                }
            }
        }
        let Some(others) = others else {
            return self.as_if_awake(|broad_phase| broad_phase.stream_pairs(boxes, each));
        };
        let others = FilterSet::of(&self.core.gpu, Arc::clone(others))?;
        if self.options.memory_budget.is_some() {
            // There may not be room for both.
            self.filters.unload(&self.core.gpu)?;
        }
        let own = replace(&mut self.filters, others);
        let others = Others(self, Some(own));
        others.0.take_filters();
        others.0.stream_pairs(boxes, each)
    }
}
