//! [`Steps`]: the list of the last step, and its comparison with the list of the next step.

use std::mem::{swap, take};

use super::compare::Comparison;
use super::edit::Edit;
use super::names::Names;
use super::places::Places;
use super::step::StepSpec;
use super::{Events, Identity, StepReport};
use crate::base::reserve::{reserve_length, resize};
use crate::{Error, Filters, Pair};

/// The state of earlier steps that the next step needs.
#[derive(Debug, Default)]
pub struct Steps {
    /// The last result. Its pairs are the pairs of the last step.
    pub events: Events,
    /// Boxes of the last step.
    box_count: u32,
    /// The generations of the last step with generations.
    generations: Vec<u32>,
    comparison: Comparison,
    names: Names,
    /// Scratch memory.
    is_named: Vec<bool>,
    edit: Edit,
    /// True if the last two steps had the same pairs, so that `before` and `persisting` are filled already.
    is_settled: bool,
}

impl Steps {
    /// Returns the box count of the last step.
    #[cfg(feature = "gpu")]
    pub fn box_count(&self) -> u32 {
        self.box_count
    }

    /// Checks the identity of a step.
    ///
    /// # Errors
    /// [`Error::BadStep`].
    pub fn check(&mut self, step: &StepSpec<'_>) -> Result<(), Error> {
        self.check_after(step, self.box_count)
    }

    /// Checks the identity of a step, after a step of `last` boxes.
    ///
    /// # Errors
    /// [`Error::BadStep`].
    pub fn check_after(&mut self, step: &StepSpec<'_>, last: u32) -> Result<(), Error> {
        step.check(last, &mut self.is_named)
    }

    /// Compares the pairs of a [checked](Self::check) step with the pairs of the last step, and stores them as the last
    /// step. `report` has the work of the search. After an error the last step is unchanged, and the caller must call
    /// [`fail`](Self::fail).
    ///
    /// # Errors
    /// [`Error::ListTooLong`].
    pub fn advance(
        &mut self,
        step: &StepSpec<'_>,
        filters: &Filters,
        pairs: &mut Vec<Pair>,
        report: StepReport,
    ) -> Result<(), Error> {
        self.is_settled = false;
        self.compare(step, filters, Some(pairs))?;
        swap(&mut self.events.pairs, pairs);
        self.finish(step, report);
        Ok(())
    }

    /// Advances by a step with the same boxes and pairs as the last step.
    ///
    /// # Errors
    /// [`Error::ListTooLong`].
    pub fn advance_unchanged(
        &mut self,
        step: &StepSpec<'_>,
        filters: &Filters,
        report: StepReport,
    ) -> Result<(), Error> {
        if Names::matter(step, &self.generations) {
            self.is_settled = false;
            self.compare(step, filters, None)?;
            self.finish(step, report);
        } else if step.lists_persisting && self.is_settled {
            self.events.created.clear();
            self.events.lost.clear();
            self.finish(step, report);
        } else {
            let mut changes = (take(&mut self.events.created), take(&mut self.events.lost));
            changes.0.clear();
            changes.1.clear();
            self.change(step, filters, (&mut changes.0, &mut changes.1), report)?;
            self.is_settled = step.lists_persisting;
        }
        Ok(())
    }

    /// Returns whether created and lost pairs suffice to advance by a step.
    pub fn may_change(&self, step: &StepSpec<'_>) -> bool {
        !Names::matter(step, &self.generations)
    }

    /// Marks the persisting pairs as outdated, since sleeping or fixed flags changed.
    pub fn awake_changed(&mut self) {
        self.is_settled = false;
    }

    /// Advances by a step whose pairs are the pairs of the last step, plus `created`, minus `lost`, if [these
    /// suffice](Self::may_change). Swaps both lists with the lists of the last step.
    ///
    /// # Errors
    /// [`Error::ListTooLong`].
    pub fn change(
        &mut self,
        step: &StepSpec<'_>,
        filters: &Filters,
        (created, lost): (&mut Vec<Pair>, &mut Vec<Pair>),
        report: StepReport,
    ) -> Result<(), Error> {
        self.is_settled = false;
        let events = &mut self.events;
        if step.lists_persisting {
            // Allocate the memory before the list is changed, so that an error leaves the list unchanged.
            let after = events.pairs.len() + created.len() - lost.len();
            reserve_length(&mut events.before.words, after)?;
            reserve_length(&mut events.persisting, after)?;
            self.edit.reserve(after)?;
        }
        self.edit.apply(&mut events.pairs, created, lost)?;
        if step.lists_persisting {
            let is_listed = (!filters.all_awake()).then(|| is_any_awake(filters));
            self.edit.list_stayed(&events.pairs, &mut events.before.words, &mut events.persisting, is_listed)?;
        } else {
            events.before.words.clear();
            events.persisting.clear();
        }
        swap(&mut events.created, created);
        swap(&mut events.lost, lost);
        self.finish(step, report);
        Ok(())
    }

    /// Stores the report and identity of a step, after its events.
    fn finish(&mut self, step: &StepSpec<'_>, report: StepReport) {
        let events = &mut self.events;
        let [pair_count, created_count, lost_count] =
            [&events.pairs, &events.created, &events.lost].map(|list| list.len() as u64);
        let persisting_count = pair_count - created_count;
        events.report = StepReport { pair_count, created_count, lost_count, persisting_count, ..report };
        if let Identity::Generations(generations) = step.identity {
            self.generations.clear();
            self.generations.extend_from_slice(generations);
        }
        self.box_count = step.box_count as u32;
    }

    /// Clears the events of a failed step, and retains the pairs of the last step.
    pub fn fail(&mut self) {
        self.is_settled = false;
        let Events { before, created, lost, persisting, report, .. } = &mut self.events;
        before.words.clear();
        created.clear();
        lost.clear();
        persisting.clear();
        *report = StepReport::default();
    }

    /// Returns the bytes of allocated memory.
    pub fn bytes(&self) -> usize {
        let Self { events, generations, comparison, names, is_named, edit, .. } = self;
        let lists = [&events.pairs, &events.created, &events.lost, &events.persisting];
        lists.iter().map(|list| list.capacity() * size_of::<Pair>()).sum::<usize>()
            + events.before.words.capacity() * size_of::<u64>()
            + generations.capacity() * size_of::<u32>()
            + is_named.capacity()
            + comparison.bytes()
            + names.bytes()
            + edit.bytes()
    }

    /// Compares the pairs of a step with the pairs of the last step. `None` for `now` means equal pairs.
    fn compare(&mut self, step: &StepSpec<'_>, filters: &Filters, now: Option<&[Pair]>) -> Result<(), Error> {
        let Self { events, comparison, names, generations, box_count, is_named, .. } = self;
        let then = take(&mut events.pairs);
        let now = now.unwrap_or(&then);
        let (all_awake, is_any_awake) = (filters.all_awake(), is_any_awake(filters));
        let persists = step.lists_persisting.then_some(|pair: Pair| all_awake || is_any_awake(pair));
        let mut run = || {
            if !Names::matter(step, generations) {
                comparison.find(now, &then)?;
                comparison.list(now, &then, events, persists)?;
            } else {
                names.name(step, generations, *box_count, &then)?;
                comparison.find(now, &names.pairs)?;
                comparison.list(now, &names.pairs, events, persists)?;
                // Lost pairs have their old indices, and include pairs of removed boxes.
                name_before(comparison, names);
                list_lost(comparison, &then, is_named, &mut events.lost)?;
            }
            events.before.words.clear();
            if step.lists_persisting {
                swap(&mut events.before.words, &mut comparison.before);
            }
            Ok(())
        };
        let result = run();
        events.pairs = then;
        result
    }
}

/// Returns the rule for listed persisting pairs: at least one box is awake.
fn is_any_awake(filters: &Filters) -> impl Fn(Pair) -> bool + Sync + '_ {
    move |pair| !filters.rests(pair.a) || !filters.rests(pair.b)
}

/// Replaces places among the renamed pairs by places in the last list.
fn name_before(comparison: &mut Comparison, names: &Names) {
    for place in comparison.before.iter_mut().filter(|place| **place != Places::CREATED) {
        *place = names.place(*place);
    }
}

/// Lists the pairs of the last step that this step does not have.
fn list_lost(
    comparison: &Comparison,
    then: &[Pair],
    is_found: &mut Vec<bool>,
    lost: &mut Vec<Pair>,
) -> Result<(), Error> {
    is_found.clear();
    resize(is_found, then.len(), false)?;
    for &place in comparison.before.iter().filter(|place| **place != Places::CREATED) {
        is_found[place as usize] = true;
    }
    let count = is_found.iter().filter(|is_found| !**is_found).count();
    lost.clear();
    lost.try_reserve(count).map_err(|_| Error::list_too_long(count as u64))?;
    lost.extend(then.iter().zip(&*is_found).filter(|(_, is_found)| !**is_found).map(|(pair, _)| *pair));
    Ok(())
}
