//! Events from step to step on the CPU.
//!
//! | file | does |
//! |---|---|
//! | `epoch` | finds the pairs of a step at a cost that follows what moves |
//! | `speed` | how fast boxes move, of a sample |
//! | `motion` | what each box did since the last step |
//! | `padded_pairs` | the pairs of grown boxes, tested again where a box moved |
//! | `rows` | which of these pairs each box is in |
//! | `escaped` | the boxes that left their grown boxes |
//! | `changes` | what changed, where few boxes moved |
//!
//! What the pairs of two steps have in common is found by [`Steps`](crate::events::steps::Steps), for both engines.

mod changes;
mod epoch;
mod escaped;
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
    /// The pairs of the step that is being found.
    pairs: Vec<Pair>,
    /// Boxes of the last step, if the epoch and the list of the last step are of the same step.
    in_step: Option<usize>,
}

impl StepState {
    /// Takes note of other filters.
    pub fn filters_changed(&mut self) {
        self.epoch.end(SearchReason::FiltersChanged);
    }

    /// Takes note of a change of one list of the filters.
    pub fn list_changed(&mut self, first: usize, values: &Attribute<'_>) {
        match values {
            // Sleeping does not matter to pairs, but to which of them are listed as persisting.
            Attribute::Sleeping(_) => self.steps.awake_changed(),
            // Margins move boxes, of which the caller need not say so.
            Attribute::Margin(_) => self.in_step = None,
            // Worlds are numbered anew.
            Attribute::World(_) => self.epoch.end(SearchReason::FiltersChanged),
            _ => self.epoch.refilter(first, values.list().1),
        }
    }

    /// Counts the bytes held.
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
        // They are as they were before anything of the caller's runs.
        self.hand_over(each)
    }
}

impl BroadPhase {
    /// Finds what began and what ended since the last step: the pairs of these boxes, compared with those of the last call. In the
    /// first step every pair is created. The events stay until the next step; [`overlaps`](Self::overlaps) is empty afterwards.
    ///
    /// The time follows what moves. Where few boxes move, only their pairs are looked at, and the list is changed in place; to find them
    /// takes a look at every box, unless the step [says](Step::moved) which they are. Where all move by little, their pairs are kept
    /// from step to step and only looked through; where they jump, all boxes are searched as in [`find_pairs`](Self::find_pairs). The
    /// lists are the same bytes either way. [`StepWork`](crate::StepWork) says what was done. Beside what a search keeps, that takes
    /// some 60 bytes for each box, as many again once some leave their grown boxes, and some 70 for each pair.
    ///
    /// Between two steps anything may change: boxes, their number and [identity](crate::Identity), filters, options. Other
    /// [`sleeping`](crate::Filters::sleeping) flags cost nothing; to [change another list](Self::change_filters) costs as if those
    /// boxes had jumped, and worlds, or all [filters](Self::set_filters), as if all had.
    ///
    /// # Errors
    /// As [`find_pairs`](Self::find_pairs); [`Error::BadStep`]. A step that was refused does not count as the last one.
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

    /// Hands what began and what ended since the last streamed step to `each`: the call that on a GPU gives events of any length in
    /// bounded memory. On the CPU the pairs of a step are in host memory anyway: they come in one piece, and those that are lost in another.
    ///
    /// No list is kept from step to step, but the boxes with their filters, and both steps are searched: [`find_events`](Self::find_events) is
    /// faster wherever its lists fit. What the two calls know of steps is apart.
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
    /// As [`find_events`](Self::find_events); and those of `each`. Such a step does not count as the last one.
    pub fn stream_events<'a, E: From<Error>>(
        &mut self,
        step: impl Into<Step<'a>>,
        each: impl FnMut(&StepReport, EventPiece<'_>) -> Result<(), E>,
    ) -> Result<StepReport, E> {
        stream(self, &step.into(), each)
    }

    /// Returns the events of the last step. After a step that was refused they are empty, and the pairs are those of the last
    /// step that was not.
    pub fn events(&self) -> &Events {
        &self.step_state.steps.events
    }

    /// Forgets all steps: in the next one, every pair is created.
    pub fn forget_steps(&mut self) {
        let fewest = self.step_state.epoch.fewest;
        self.step_state = StepState::default();
        self.step_state.epoch.fewest = fewest;
        self.streamed = Streamed::default();
    }

    /// Begins epochs with this many boxes and more.
    pub(crate) fn begin_epochs_from(&mut self, fewest: u32) {
        self.step_state.epoch.fewest = Some(fewest);
    }

    fn advance(&mut self, step: &Step<'_>) -> Result<(), Error> {
        let may_stay = self.step_state.in_step.take() == Some(step.boxes.len());
        self.filters.fit(step.boxes.len())?;
        let box_count = call::checked_count(step.boxes.len())?;
        self.step_state.steps.check(&step.said())?;
        step.check_moved()?;
        // Included pairs are merged with the list, and who owns a pair is asked of all in it.
        let may_change = may_stay
            && self.filters.filters().owner.is_none()
            && self.filters.include().is_empty()
            && self.step_state.steps.may_change(&step.said());
        // As if nobody slept, and whatever region owns the pairs: what is kept are the pairs of all.
        let sleeping = self.filters.set_sleeping(Vec::new());
        let owner = self.filters.set_owner(None);
        let may = (may_stay, may_change);
        let found = if step.boxes.len() <= motion::ALONE {
            // Only a search is worth entering the pool.
            self.find_step(step, box_count, may, owner)
        } else {
            // The pool is entered once, and not once for each stage.
            rayon::join(|| self.find_step(step, box_count, may, owner), || ()).0
        };
        self.filters.set_sleeping(sleeping);
        self.filters.set_owner(owner);
        let (report, found) = found?;
        let StepState { steps, pairs, epoch, in_step } = &mut self.step_state;
        match found {
            StepOutcome::Same => steps.stay(&step.said(), self.filters.filters(), report)?,
            StepOutcome::Changed => {
                let PairChanges { created, lost, .. } = &mut epoch.changes;
                steps.change(&step.said(), self.filters.filters(), (created, lost), report)?;
            }
            StepOutcome::Listed => steps.advance(&step.said(), self.filters.filters(), pairs, report)?,
        }
        *in_step = Some(step.boxes.len());
        Ok(())
    }

    /// Finds the pairs of a step, or what changed.
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
            call::reserve(pairs, filters.include().len() as u64)?;
            order::merge(pairs, filters.include());
        }
        Ok(found)
    }
}
