//! Streams events piece by piece, by two searches in bounded memory. The host tests each pair against the boxes of the
//! other step.

use std::mem::replace;
use std::sync::Arc;

use super::BroadPhase;
use crate::events::stream::{Source, Streamed, stream};
use crate::filters::CheckedFilters;
use crate::filters::device::FilterSet;
use crate::{Aabb, Error, EventPiece, Options, Pair, Report, Step, StepReport};

impl BroadPhase {
    /// Passes the events since the last streamed step to `each`, piece by piece, in bounded memory. **Blocks** until
    /// the last call of `each` returns.
    ///
    /// The host retains boxes and filters from step to step, but no list of pairs. The call streams the pairs of this
    /// step, as [`stream_pairs`](Self::stream_pairs) does, and finds the created and persisting pairs among them. Then
    /// it streams the pairs of the last step to find the lost pairs, unless nothing changed. So a step costs up to two
    /// streams. [`find_events`](Self::find_events) is faster if its lists fit, and also returns the place of each pair
    /// in the last list.
    ///
    /// `each` is called at least once, with a report. The box counts of each report are complete.
    /// [`pair_count`](StepReport::pair_count) is complete if the boxes take one pass; with several passes it counts the
    /// pairs so far. The counts of events include only events so far. If the step
    /// [counts events first](Step::counts_first), which costs a third stream, all counts are complete. The returned
    /// report has all counts. If `each` returns an error, the call ends and returns this error.
    ///
    /// Streamed steps and steps of [`find_events`](Self::find_events) are two independent sequences. If filters other
    /// than [`sleeping`](crate::Filters::sleeping) changed since the last step, filters are uploaded twice. The call
    /// uploads the old filters to search the last step, and then the new filters again.
    ///
    /// # Errors
    /// The errors of [`stream_pairs`](Self::stream_pairs) for either step, the errors of `each`, and
    /// [`Error::BadStep`]. After an error, the last step is still the last successful step. If the last step exceeds a
    /// reduced [budget](crate::Options::memory_budget), every step fails until [`forget_steps`](Self::forget_steps).
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
        /// Restores options and filters when it is dropped, even if `each` panics.
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
            // Old and new filters together may exceed the budget.
            engine.filters.unload(&engine.core.gpu)?;
        }
        swapped.2 = Some(replace(&mut engine.filters, others));
        swapped.0.core.filters_replaced();
        swapped.0.stream(boxes, true, each)
    }
}
