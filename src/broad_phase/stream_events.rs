//! Events in pieces: two searches in bounded memory, whose pairs are looked up on the host.

use std::mem::replace;
use std::sync::Arc;

use super::BroadPhase;
use crate::events::stream::{Source, Streamed, stream};
use crate::filters::CheckedFilters;
use crate::filters::device::FilterSet;
use crate::{Aabb, Error, EventPiece, Options, Pair, Report, Step, StepReport};

impl BroadPhase {
    /// Passes the events since the last streamed step to `each`, piece by piece: events of any length in bounded
    /// memory. **Blocks** until the last piece was passed on.
    ///
    /// The host retains the boxes with their filters from step to step, but no list. Both steps are streamed, as
    /// [`stream_pairs`](Self::stream_pairs) does it: first this one, whose pairs come with those among them that are created and that
    /// persist, then the last one, for what is lost. If nothing changed, the last one is omitted. So a step needs up to two streams;
    /// [`find_events`](Self::find_events) is faster if its lists fit, and returns the place of each pair in the last list.
    ///
    /// `each` is called at least once. In the report that it sees, boxes are those of the whole step from the first
    /// piece on. So is [`pair_count`](StepReport::pair_count), unless the boxes take several passes; then it counts the
    /// pairs so far. Events are counted so far. If the step [counts them first](Step::counts_first), which needs a
    /// third stream, all counts are complete. The returned report has all counts. An error that `each` returns ends the
    /// call and is returned.
    ///
    /// Streamed steps and found steps are two independent sequences. If filters other than
    /// [`sleeping`](crate::Filters::sleeping) have changed since the last step, the old ones are uploaded for its search, and then the new ones
    /// again.
    ///
    /// # Errors
    /// As [`stream_pairs`](Self::stream_pairs), of either step, and those of `each`; [`Error::BadStep`]. Such a step does not count as the last
    /// one. If the last step does not fit a [budget](crate::Options::memory_budget) that is smaller now, every step fails until
    /// [`forget_steps`](Self::forget_steps).
    pub fn stream_events<'a, E: From<Error>>(
        &mut self,
        step: impl Into<Step<'a>>,
        each: impl FnMut(&StepReport, EventPiece<'_>) -> Result<(), E>,
    ) -> Result<StepReport, E> {
        self.core.flight.check_idle()?;
        stream(self, &step.into(), each)
    }
}

impl Source for BroadPhase {
    fn fitted(&mut self, box_count: usize) -> Result<&CheckedFilters, Error> {
        self.filters.fit(box_count)?;
        Ok(self.filters.checked())
    }

    fn options_in_use(&self) -> &Options {
        &self.core.options
    }

    fn streamed(&mut self) -> &mut Streamed {
        &mut self.streamed
    }

    fn stream_awake<E: From<Error>>(
        &mut self,
        boxes: &[Aabb],
        others: Option<&Arc<CheckedFilters>>,
        options: &Options,
        each: impl FnMut(&Report, &[Pair]) -> Result<(), E>,
    ) -> Result<Report, E> {
        /// Puts options and filters back, even where `each` panics.
        struct Others<'a>(&'a mut BroadPhase, Options, Option<FilterSet>);
        impl Drop for Others<'_> {
            fn drop(&mut self) {
                self.0.core.options = self.1;
                if let Some(own) = self.2.take() {
                    self.0.filters = own;
                    self.0.core.filters_replaced();
                }
            }
        }
        let Options { order, memory_budget, .. } = self.core.options;
        let own = replace(&mut self.core.options, Options { order, memory_budget, ..*options });
        let mut swapped = Others(self, own, None);
        let Some(others) = others else {
            return swapped.0.stream(boxes, true, each);
        };
        let engine = &mut *swapped.0;
        let others = FilterSet::of(&engine.core.gpu, Arc::clone(others))?;
        if engine.core.options.memory_budget.is_some() {
            // Both may not fit.
            engine.filters.unload(&engine.core.gpu)?;
        }
        swapped.2 = Some(replace(&mut engine.filters, others));
        swapped.0.core.filters_replaced();
        swapped.0.stream(boxes, true, each)
    }
}
