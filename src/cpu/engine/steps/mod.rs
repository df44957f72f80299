//! Finds events from step to step on the CPU.
//!
//! | file | does |
//! |---|---|
//! | `epoch` | finds the pairs of a step at a cost that grows with the moved boxes |
//! | `speed` | the speeds of a sample of boxes |
//! | `motion` | the movement of each box since the last step |
//! | `padded_pairs` | the pairs of padded boxes, tested again if a box moved |
//! | `rows` | the pairs of padded boxes, by box |
//! | `left_padding` | the boxes that left their padded boxes |
//! | `changes` | changes of the list, if few boxes moved |
//!
//! [`Steps`](crate::events::steps::Steps) compares the pairs of two steps, for both engines.

mod changes;
mod epoch;
mod left_padding;
mod motion;
mod padded_pairs;
mod rows;
mod speed;

use std::mem::replace;
use std::sync::Arc;

use self::changes::PairChanges;
use self::epoch::{Epoch, StepOutcome};
use self::motion::Searched;
use super::{BroadPhase, order};
use crate::base::reserve::reserve;
use crate::cpu::call;
use crate::events::steps::Steps;
use crate::events::stream::{Source, Streamed, stream};
use crate::filters::CheckedFilters;
use crate::{
    Aabb, Attribute, Error, EventPiece, Events, Options, Pair, PairOrder, Report, SearchReason, Step, StepReport,
};

/// The state of the engine from step to step.
#[derive(Debug, Default)]
pub struct StepState {
    steps: Steps,
    epoch: Epoch,
    /// The pairs of the current step.
    pairs: Vec<Pair>,
    /// The box count of the last step, if the epoch and the list of pairs belong to the same step.
    in_step: Option<usize>,
}

impl StepState {
    /// Ends the epoch, since the filters were replaced.
    pub fn filters_changed(&mut self) {
        self.epoch.end(SearchReason::FiltersChanged);
    }

    /// Marks the boxes of a change of one list of the filters.
    pub fn list_changed(&mut self, first: usize, values: &Attribute<'_>, has_spheres: bool) {
        match values {
            // Sleeping flags change no pairs, only the list of persisting pairs.
            Attribute::Sleeping(_) => self.steps.awake_changed(),
            // A change of margins moves boxes, and the caller need not list these boxes as moved.
            Attribute::Margin(margins) => {
                self.in_step = None;
                if has_spheres {
                    self.epoch.refilter(first, margins.len());
                }
            }
            // All worlds are numbered again.
            Attribute::World(_) => self.epoch.end(SearchReason::FiltersChanged),
            _ => self.epoch.refilter(first, values.list().1),
        }
    }

    /// Returns the bytes of allocated memory.
    pub fn bytes(&self) -> usize {
        self.epoch.bytes() + self.steps.bytes() + self.pairs.capacity() * size_of::<Pair>()
    }
}

impl Source for BroadPhase {
    fn fitted(&mut self, box_count: usize) -> Result<&CheckedFilters, Error> {
        self.filters.fit(box_count)?;
        Ok(&self.filters)
    }

    fn options_in_use(&self) -> &Options {
        &self.options
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
        let own = others.map(|others| replace(&mut self.filters, CheckedFilters::clone(others)));
        let sleeping = self.filters.set_sleeping(Vec::new());
        let order = self.options.order;
        let own_options = replace(&mut self.options, Options { order, ..*options });
        let found = self.find_pairs(boxes).map(|_| ());
        self.options = own_options;
        self.filters.set_sleeping(sleeping);
        if let Some(own) = own {
            self.filters = own;
        }
        found?;
        // Options and filters are restored before the caller's closure runs.
        self.hand_over(each)
    }
}

impl BroadPhase {
    /// Finds the pairs of these boxes, and compares them with the pairs of the last successful call of this method.
    /// Calls of other methods in between do not matter. In the first step, every pair is created. The events remain
    /// until the next step. [`last_overlaps`](Self::last_overlaps) is empty afterwards.
    ///
    /// Time grows with the moved boxes. If few boxes move, only their pairs are tested, and the list is changed in
    /// place. Every box is compared to find the moved boxes, unless the step [lists them](Step::moved). If all boxes
    /// move a little, the engine caches the pairs of padded boxes from step to step, and only tests these pairs. If
    /// boxes jump, all boxes are searched as in [`find_pairs`](Self::find_pairs). The lists are the same bytes in each
    /// case. [`StepWork`](crate::StepWork) reports the work. Memory in addition to a search: about 60 bytes per box, 60
    /// more per box once boxes leave their padded boxes, and about 70 per pair.
    ///
    /// Between two steps, anything may change: boxes, their count and [identity](crate::Identity), filters, options. A
    /// change of [`sleeping`](crate::Filters::sleeping) flags costs nothing. A
    /// [change of another list](Self::change_filters) costs as much as a jump of the changed boxes. A change of worlds
    /// or of all [filters](Self::set_filters) costs as much as a jump of all boxes.
    ///
    /// # Errors
    /// The errors of [`find_pairs`](Self::find_pairs); [`Error::BadStep`]. After an error, the last step is still the
    /// last successful step.
    pub fn find_events<'a>(&mut self, step: impl Into<Step<'a>>) -> Result<&Events, Error> {
        let step = step.into();
        self.search.clear();
        if let Err(error) = self.advance(&step) {
            self.step_state.steps.fail();
            return Err(self.search.refuse(error));
        }
        self.search.clear();
        Ok(&self.step_state.steps.events)
    }

    /// Passes the events since the last streamed step to `each`. On a GPU this call streams events of any length in
    /// bounded memory. On the CPU, all pairs of a step are in host memory, so the pairs are one piece, and the lost
    /// pairs another.
    ///
    /// The engine stores only the boxes and filters of the last streamed step, and searches both steps. So
    /// [`find_events`](Self::find_events) is faster if its lists fit. Streamed steps and steps of
    /// [`find_events`](Self::find_events) are separate sequences.
    ///
    /// ```
    /// use broadsweep::{Aabb, Error, Options, cpu};
    ///
    /// let cube = |x: f32| Aabb::new([x, 0.0, 0.0], [x + 1.0, 1.0, 1.0]);
    /// let mut engine = cpu::BroadPhase::new(Options::default())?;
    /// let steps = [[cube(0.0), cube(0.5), cube(9.0)], [cube(0.0), cube(5.0), cube(-0.5)]];
    /// for boxes in &steps {
    ///     let report = engine.stream_events(boxes, |_, piece| -> Result<(), Error> {
    ///         println!("began: {:?}, ended: {:?}", piece.created, piece.lost);
    ///         Ok(())
    ///     })?;
    ///     assert_eq!(report.created_count, 1);
    /// }
    /// # Ok::<(), Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`find_events`](Self::find_events) and of `each`. After an error, the last step is still the last
    /// successful step.
    pub fn stream_events<'a, E: From<Error>>(
        &mut self,
        step: impl Into<Step<'a>>,
        each: impl FnMut(&StepReport, EventPiece<'_>) -> Result<(), E>,
    ) -> Result<StepReport, E> {
        stream(self, &step.into(), each)
    }

    /// Returns the events of the last step. After an error, the events are empty, and the pairs are the pairs of the
    /// last successful step.
    pub fn events(&self) -> &Events {
        &self.step_state.steps.events
    }

    /// Forgets all steps. In the next step, every pair is created.
    pub fn forget_steps(&mut self) {
        let fewest = self.step_state.epoch.fewest;
        self.step_state = StepState::default();
        self.step_state.epoch.fewest = fewest;
        self.streamed = Streamed::default();
    }

    /// Sets the fewest boxes of an epoch.
    pub(crate) fn begin_epochs_from(&mut self, fewest: u32) {
        self.step_state.epoch.fewest = Some(fewest);
    }

    fn advance(&mut self, step: &Step<'_>) -> Result<(), Error> {
        let may_stay = self.step_state.in_step.take() == Some(step.boxes.len());
        self.filters.fit(step.boxes.len())?;
        let box_count = call::checked_count(step.boxes.len())?;
        self.step_state.steps.check(&step.spec())?;
        step.check_moved()?;
        // With included pairs or an owner region, changes do not suffice. Included pairs are merged into the whole
        // list, and each pair of the list is tested against the region.
        let may_change = may_stay
            && self.filters.filters().owner.is_none()
            && self.filters.include().is_empty()
            && self.step_state.steps.may_change(&step.spec());
        // Search without sleeping flags and owner region, since the cache must have all pairs.
        let sleeping = self.filters.set_sleeping(Vec::new());
        let owner = self.filters.set_owner(None);
        let may = (may_stay, may_change);
        let found = if step.boxes.len() <= motion::ALONE {
            // Only a search enters the pool.
            self.find_step(step, box_count, may, owner)
        } else {
            // Enter the pool once, and not once per stage.
            rayon::join(|| self.find_step(step, box_count, may, owner), || ()).0
        };
        self.filters.set_sleeping(sleeping);
        self.filters.set_owner(owner);
        let (report, found) = found?;
        let StepState { steps, pairs, epoch, in_step } = &mut self.step_state;
        match found {
            StepOutcome::Same => steps.advance_unchanged(&step.spec(), self.filters.filters(), report)?,
            StepOutcome::Changed => {
                let PairChanges { created, lost, .. } = &mut epoch.changes;
                steps.change(&step.spec(), self.filters.filters(), (created, lost), report)?;
            }
            StepOutcome::Listed => steps.advance(&step.spec(), self.filters.filters(), pairs, report)?,
        }
        *in_step = Some(step.boxes.len());
        Ok(())
    }

    /// Finds the pairs of a step, or the changes.
    fn find_step(
        &mut self,
        step: &Step<'_>,
        box_count: u32,
        (may_stay, may_change): (bool, bool),
        owner: Option<Aabb>,
    ) -> Result<(StepReport, StepOutcome), Error> {
        let Self { options, filters, prepared, search, step_state: StepState { epoch, pairs, .. }, .. } = self;
        let boxes = filters.filters().prepared_boxes(step.boxes, prepared);
        let moved = step.moved.filter(|_| may_stay);
        let options = &Options { order: PairOrder::Canonical, ..*options };
        let step = Searched { boxes, box_count, options, may_stay, may_change, moved, filters };
        let found = epoch.find(step, search, pairs)?;
        if found.1 == StepOutcome::Listed {
            if let Some(region) = owner {
                pairs.retain(|pair| region.owns(&boxes[pair.a as usize], &boxes[pair.b as usize]));
            }
            reserve(pairs, filters.include().len() as u64)?;
            order::merge(pairs, filters.include());
        }
        Ok(found)
    }
}
