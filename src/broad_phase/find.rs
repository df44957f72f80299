//! Pairs in host memory: blocking calls, and the parts of calls that do not block.

use std::mem::take;
use std::task::{Context, Poll};

use super::BroadPhase;
#[cfg(not(target_arch = "wasm32"))]
use super::flight::STREAMED_PIECE;
use super::partial::PartialAnswer;
#[cfg(not(target_arch = "wasm32"))]
use super::slabs::Passes;
#[cfg(not(target_arch = "wasm32"))]
use crate::Pair;
#[cfg(not(target_arch = "wasm32"))]
use crate::filters::sets::{TwoSets, number_second};
use crate::{Aabb, Error, Overlaps, Report};

impl BroadPhase {
    /// Finds each overlapping pair of `boxes` once. **Blocks** until the result is complete. The result remains until
    /// the next call; [`take_overlaps`](Self::take_overlaps) moves it out.
    ///
    /// There can be up to 2³² − 2 boxes. If they exceed the device's limits or the memory budget (see
    /// [`memory_plan`](Self::memory_plan)), the scene is cut into slabs along an axis. Each slab is searched in a
    /// separate pass. Each pair is still reported once. A box that reaches into several slabs is searched in each of
    /// them. The host copies the boxes of a slab. In the order of the sweep, pairs come slab by slab; in canonical
    /// order, the CPU merges the pairs of all slabs. [`Report::passes`] has the count of passes.
    ///
    /// # Errors
    /// Before any work: [`Error::Busy`]; [`Error::TooManyBoxes`] or [`Error::OverBudget`] if the boxes do not fit one
    /// pass and cannot be cut into slabs. This error occurs if too many boxes begin at one point or reach through the
    /// whole scene. Later: [`Error::TooManyCandidates`], [`Error::ListTooLong`], [`Error::OutOfMemory`],
    /// [`Error::DeviceLost`], [`Error::Gpu`]. An error discards the last result. The engine can be used again, unless
    /// the device is lost.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn find_pairs(&mut self, boxes: &[Aabb]) -> Result<&Overlaps, Error> {
        self.find(boxes, false)?;
        Ok(&self.found)
    }

    /// Finds the pairs of boxes. In a step, sleeping flags are ignored.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn find(&mut self, boxes: &[Aabb], is_step: bool) -> Result<(), Error> {
        let passes = self.begin(boxes, is_step)?;
        let Self { core, filters, found, partial, .. } = self;
        partial.begin(found);
        let result = match passes {
            Passes::Slabs(scene) => core.search_slabs(&scene, filters, &mut |_, piece| partial.append_slab(piece)),
            Passes::One(call) => core
                .submit_search(boxes, call, filters)
                .and_then(|()| core.wait_for_pieces(filters, u64::MAX, |report, piece| partial.append(report, piece))),
        };
        self.finish(result)
    }

    /// Finds each overlapping pair of a box of `first` and a box of `second` once: the join of two sets. In a
    /// [`Pair`](crate::Pair), `a` is an index in `first`, and `b` an index in `second`. In
    /// [canonical order](crate::PairOrder::Canonical) the pairs are sorted by `a`, then by `b`. **Blocks** until the
    /// result is complete.
    ///
    /// For the filters and the report, the input is one list: the boxes of `first`, then the boxes of `second`.
    /// [`Filters::second`](crate::Filters::second) is replaced during the call. Cost: a search of all boxes together.
    /// Candidates within one set are rejected before their bounds are loaded, but count towards the
    /// [limit](crate::Options::candidate_limit).
    ///
    /// This call and the next call upload the filters again; with a memory budget, they also reallocate all buffers. To
    /// avoid this, set [`Filters::second`](crate::Filters::second) and pass all boxes to
    /// [`find_pairs`](Self::find_pairs) as one list. This also works with [`stream_pairs`](Self::stream_pairs), and
    /// with a [`Recorder`](crate::Recorder), which leaves the pairs on the GPU. If one set is much smaller than the
    /// other, a [`Tree`](crate::Tree) of the larger set is faster.
    ///
    /// # Errors
    /// The errors of [`find_pairs`](Self::find_pairs); [`Error::BadFilter`] if [`include`](crate::Filters::include) has
    /// a pair within one of the sets.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn find_pairs_between(&mut self, first: &[Aabb], second: &[Aabb]) -> Result<&Overlaps, Error> {
        self.core.flight.check_idle()?;
        self.found.clear();
        let mut sets = take(&mut self.sets);
        let result = self.find_joined(first, second, &mut sets);
        self.sets = sets;
        if let Err(error) = result {
            self.found = Overlaps::default();
            return Err(error);
        }
        number_second(&mut self.found.pairs, first.len());
        Ok(&self.found)
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn find_joined(&mut self, first: &[Aabb], second: &[Aabb], sets: &mut TwoSets) -> Result<(), Error> {
        sets.fill(first, second, self.filters.filters())?;
        let TwoSets { boxes, second, .. } = sets;
        let swapped = self.filters.swap_second(&self.core.gpu, second);
        self.core.filters_replaced();
        let found = swapped.and_then(|()| self.find_pairs(boxes).map(|_| ()));
        let restored = self.filters.swap_second(&self.core.gpu, second);
        self.core.filters_replaced();
        found.and(restored)
    }

    /// Passes each overlapping pair of `boxes` to `each` once, piece by piece, in bounded memory. **Blocks** until the
    /// last call of `each` returns.
    ///
    /// `each` is called at least once, with an empty piece if there are no pairs. In one pass
    /// ([`passes`](Report::passes) is 1), every call gets the complete [`Report`], so `pair_count` is known from the
    /// first piece on. If `each` returns an error, the search ends and returns this error.
    ///
    /// Pieces lie in two mapped staging buffers: the GPU writes one while the host reads the other. A piece has up to
    /// 4,194,304 pairs (32 MiB). The limit is larger if earlier calls allocated a longer list, and smaller if the
    /// largest binding or the [memory budget](crate::Options::memory_budget) requires it.
    ///
    /// With [`PairOrder::Sweep`](crate::PairOrder::Sweep), all pieces together are in the order of the sweep. In
    /// canonical order, each piece is ascending. All pieces together are ascending if the list has capacity for all
    /// pairs (see [`reserve`](Self::reserve)). Otherwise the caller must merge the pieces.
    ///
    /// Boxes that do not fit one pass take several passes, one per slab, as in [`find_pairs`](Self::find_pairs). In
    /// canonical order, each slab yields one or more ascending pieces. `pair_count` then counts the pairs so far,
    /// including the piece, and the other counts include the slabs so far. The returned report is complete.
    ///
    /// ```no_run
    /// # use broadsweep::{Aabb, BroadPhase};
    /// # fn count(broad_phase: &mut BroadPhase, boxes: &[Aabb]) -> Result<(), Box<dyn std::error::Error>> {
    /// use std::io::Write;
    ///
    /// let mut file = std::io::BufWriter::new(std::fs::File::create("pairs.txt")?);
    /// broad_phase.stream_pairs(boxes, |report, piece| -> Result<(), Box<dyn std::error::Error>> {
    ///     for pair in piece {
    ///         writeln!(file, "{} {} (of {})", pair.a, pair.b, report.pair_count)?;
    ///     }
    ///     Ok(())
    /// })?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The errors of [`find_pairs`](Self::find_pairs), except [`Error::ListTooLong`], and the errors of `each`. With
    /// several passes, an error can come after pieces of earlier passes. The call stores no result.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn stream_pairs<E: From<Error>>(
        &mut self,
        boxes: &[Aabb],
        each: impl FnMut(&Report, &[Pair]) -> Result<(), E>,
    ) -> Result<Report, E> {
        self.stream(boxes, false, each)
    }

    /// Streams the pairs of boxes. In a step, sleeping flags are ignored.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn stream<E: From<Error>>(
        &mut self,
        boxes: &[Aabb],
        is_step: bool,
        mut each: impl FnMut(&Report, &[Pair]) -> Result<(), E>,
    ) -> Result<Report, E> {
        let passes = self.begin(boxes, is_step)?;
        let Self { core, filters, .. } = self;
        match passes {
            Passes::Slabs(scene) => {
                let report = core.search_slabs(&scene, filters, &mut each)?;
                if report.pair_count == 0 { each(&report, &[]).map(|()| report) } else { Ok(report) }
            }
            Passes::One(call) => {
                core.submit_search(boxes, call, filters)?;
                core.wait_for_pieces(filters, STREAMED_PIECE, each)
            }
        }
    }

    /// Checks that another submission is allowed.
    ///
    /// # Errors
    /// [`Error::Busy`].
    pub(super) fn check_can_submit(&self) -> Result<(), Error> {
        let flight = &self.core.flight;
        let can_submit = flight.collection.is_none() && flight.queue.len() < Self::SUBMISSIONS_IN_FLIGHT;
        if can_submit { Ok(()) } else { Err(Error::Busy) }
    }

    /// Submits boxes. In a step, sleeping flags are ignored.
    pub(super) fn submit_boxes(&mut self, boxes: &[Aabb], is_step: bool) -> Result<(), Error> {
        self.check_can_submit()?;
        let Self { core, filters, .. } = self;
        filters.fit(boxes.len())?;
        let call = core.decide(boxes.len(), filters, is_step.into())?;
        core.submit_search(boxes, call, filters)
    }

    /// Waits without blocking the thread until `poll` has a result.
    pub(super) async fn poll_until_ready(
        &mut self,
        poll: fn(&mut Self, &mut Context<'_>) -> Poll<Result<(), Error>>,
    ) -> Result<(), Error> {
        std::future::poll_fn(|context| {
            let result = poll(self, context);
            #[cfg(not(target_arch = "wasm32"))]
            if result.is_pending() {
                context.waker().wake_by_ref();
            }
            result
        })
        .await
    }

    /// Returns the last result. It is empty before the first result, after an error, and while the next result is read
    /// back in several pieces.
    pub fn last_overlaps(&self) -> &Overlaps {
        &self.found
    }

    /// Moves the last result out, without a copy. The next result allocates memory again. Returns an empty result if
    /// [`last_overlaps`](Self::last_overlaps) does. Pieces of the next result that are already read back are retained.
    pub fn take_overlaps(&mut self) -> Overlaps {
        take(&mut self.found)
    }

    pub(super) fn poll_take_pairs(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        // If steps are in flight, only `take_events` returns results.
        if self.stepping.is_empty() { self.poll_take(context) } else { Poll::Ready(Err(Error::NothingSubmitted)) }
    }

    pub(super) fn poll_take(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let Self { core, filters, found, partial, .. } = self;
        if core.flight.collection.is_none() {
            // A call that panicked may have left pieces.
            *partial = PartialAnswer::default();
        }
        let polled = core.poll_pieces(filters, context, u64::MAX, &mut |report, piece| {
            if partial.is_empty() {
                partial.begin(found);
            }
            partial.append(report, piece)
        });
        match polled {
            // Nothing was submitted, so retain the last result.
            Poll::Ready(Err(Error::NothingSubmitted)) => Poll::Ready(Err(Error::NothingSubmitted)),
            polled => polled.map(|result| self.finish(result)),
        }
    }

    /// Begins a blocking call: clears the last result, and decides on the passes.
    #[cfg(not(target_arch = "wasm32"))]
    fn begin<'a>(&mut self, boxes: &'a [Aabb], is_step: bool) -> Result<Passes<'a>, Error> {
        self.core.flight.check_idle()?;
        self.found.clear();
        self.filters.fit(boxes.len())?;
        self.core.passes(boxes, &self.filters, is_step)
    }

    /// Stores the pieces as the result, or an empty result after an error.
    fn finish(&mut self, result: Result<Report, Error>) -> Result<(), Error> {
        match result {
            Ok(report) => {
                self.found = self.partial.finish(report, self.core.options.order);
                Ok(())
            }
            Err(error) => {
                // Discard the pieces, and release the memory of long lists.
                (self.found, self.partial) = (Overlaps::default(), PartialAnswer::default());
                Err(error)
            }
        }
    }
}
