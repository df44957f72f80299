//! The list of the last step, which that of a step is compared with: [`Steps`].

use std::mem::{swap, take};

use super::compare::{Comparison, reserve, resize};
use super::edit::Edit;
use super::names::Names;
use super::step::StepSpec;
use super::{Events, Identity, StepReport};
use crate::{Error, Filters, Pair};

/// The steps so far, as far as the next one depends on them.
#[derive(Debug, Default)]
pub struct Steps {
    /// What was found last. Its pairs are those of the last step.
    pub events: Events,
    /// Boxes of the last step.
    box_count: u32,
    /// Of the last step that had some.
    generations: Vec<u32>,
    comparison: Comparison,
    names: Names,
    /// A place to write.
    is_named: Vec<bool>,
    edit: Edit,
    /// Whether every pair of the last step persists from the step before, at the same place, and both lists say so.
    is_settled: bool,
}

impl Steps {
    /// Returns the number of boxes of the last step.
    #[cfg(feature = "gpu")]
    pub fn box_count(&self) -> u32 {
        self.box_count
    }

    /// Checks what a step says of identity.
    ///
    /// # Errors
    /// [`Error::BadStep`].
    pub fn check(&mut self, step: &StepSpec<'_>) -> Result<(), Error> {
        self.check_after(step, self.box_count)
    }

    /// Checks what a step says of identity, after a step of `last` boxes.
    ///
    /// # Errors
    /// [`Error::BadStep`].
    pub fn check_after(&mut self, step: &StepSpec<'_>, last: u32) -> Result<(), Error> {
        step.check(last, &mut self.is_named)
    }

    /// Compares the pairs of a step, which was [checked](Self::check), with those of the last one, and takes their place. `report`
    /// says how they were found. After an error the last step stays the last one, and the caller says [so](Self::fail).
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

    /// Advances by a step whose boxes and pairs are those of the last one.
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

    /// Returns whether the pairs that were created and lost are enough for a step.
    pub fn may_change(&self, step: &StepSpec<'_>) -> bool {
        !Names::matter(step, &self.generations)
    }

    /// Takes note of it that other boxes sleep.
    pub fn awake_changed(&mut self) {
        self.is_settled = false;
    }

    /// Advances by a step [for which they are enough](Self::may_change), and whose list is that of the last one but for these: what was
    /// created and what was lost. The lists of the last step come back.
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
            // What has no room is known before the list is another one.
            let after = events.pairs.len() + created.len() - lost.len();
            reserve(&mut events.before, after)?;
            reserve(&mut events.persisting, after)?;
            self.edit.reserve(after)?;
        }
        self.edit.apply(&mut events.pairs, created, lost)?;
        if step.lists_persisting {
            let is_listed = (!filters.all_awake()).then(|| is_any_awake(filters));
            self.edit.list_stayed(&events.pairs, &mut events.before, &mut events.persisting, is_listed)?;
        } else {
            events.before.clear();
            events.persisting.clear();
        }
        swap(&mut events.created, created);
        swap(&mut events.lost, lost);
        self.finish(step, report);
        Ok(())
    }

    /// Takes note of a step whose events are there.
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

    /// Leaves no events but the pairs of the last step, as after a step that was refused.
    pub fn fail(&mut self) {
        self.is_settled = false;
        let Events { before, created, lost, persisting, report, .. } = &mut self.events;
        before.clear();
        created.clear();
        lost.clear();
        persisting.clear();
        *report = StepReport::default();
    }

    /// Counts the bytes held.
    pub fn bytes(&self) -> usize {
        let Self { events, generations, comparison, names, is_named, edit, .. } = self;
        let lists = [&events.pairs, &events.created, &events.lost, &events.persisting];
        lists.iter().map(|list| list.capacity() * size_of::<Pair>()).sum::<usize>()
            + events.before.capacity() * size_of::<u64>()
            + generations.capacity() * size_of::<u32>()
            + is_named.capacity()
            + comparison.bytes()
            + names.bytes()
            + edit.bytes()
    }

    /// Compares the pairs of a step with those of the last one; without any, they are the same.
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
                // By their old names, and those of boxes that are gone among them.
                name_before(comparison, names);
                list_lost(comparison, &then, is_named, &mut events.lost)?;
            }
            events.before.clear();
            if step.lists_persisting {
                swap(&mut events.before, &mut comparison.before);
            }
            Ok(())
        };
        let result = run();
        events.pairs = then;
        result
    }
}

/// Returns the rule of what is listed of persisting pairs: one of the two boxes is awake.
fn is_any_awake(filters: &Filters) -> impl Fn(Pair) -> bool + Sync + '_ {
    move |pair| !filters.rests(pair.a) || !filters.rests(pair.b)
}

/// Puts places in the last list in place of those among the pairs that were named anew.
fn name_before(comparison: &mut Comparison, names: &Names) {
    for place in comparison.before.iter_mut().filter(|place| **place != Events::CREATED) {
        *place = names.place(*place);
    }
}

/// Lists the pairs of the last step that were not found.
fn list_lost(
    comparison: &Comparison,
    then: &[Pair],
    is_found: &mut Vec<bool>,
    lost: &mut Vec<Pair>,
) -> Result<(), Error> {
    is_found.clear();
    resize(is_found, then.len(), false)?;
    for &place in comparison.before.iter().filter(|place| **place != Events::CREATED) {
        is_found[place as usize] = true;
    }
    let count = is_found.iter().filter(|is_found| !**is_found).count();
    lost.clear();
    lost.try_reserve(count).map_err(|_| Error::list_too_long(count as u64))?;
    lost.extend(then.iter().zip(&*is_found).filter(|(_, is_found)| !**is_found).map(|(pair, _)| *pair));
    Ok(())
}
