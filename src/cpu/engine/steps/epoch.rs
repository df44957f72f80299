//! The pairs of a step at a cost that follows what moves: [`Epoch`].
//!
//! An epoch begins with a search of boxes that are grown outward, whose pairs are kept. As long as a box stays within its grown
//! box, its pairs are among those, and only where a box moved is a pair tested again. A box that leaves is grown again where it
//! is, and asks trees for its pairs. So a pair of a step is found in one of two lists, and in one only: in that of the epoch where
//! neither box has left since it began, otherwise in that of those that left. Both end with the exact test, so that the list is
//! that of a search from nothing.
//!
//! When many have left, or boxes move too fast for an epoch to be worth its search, boxes are searched from nothing. Every choice
//! here follows from the boxes, and none from the clock.
//!
//! Sources: grown boxes, Box2D and Bullet (dynamic trees); neighbour lists with a skin, Verlet 1967, "Computer Experiments on
//! Classical Fluids".

use rayon::prelude::*;

use super::changes::PairChanges;
use super::escaped::{Escaped, grown};
use super::motion::{self, Motion, NO_BOX, Searched, Tally};
use super::padded_pairs::{PaddedPairs, Tests};
use super::speed::{SPEEDS, Sample, Speeds};
use crate::cpu::engine::ALONE;
use crate::cpu::engine::search::Search;
use crate::{Aabb, Error, Options, Pair, SearchReason, StepReport, StepWork};

/// The fewest boxes that an epoch is worth.
const FEWEST: u32 = 1 << 10;
/// An epoch ends when more than this part of its boxes has left.
const MOST_ESCAPED: usize = 8;
/// What the slower of all but this part of the boxes do decides on the margin.
const FAST: u32 = 16;
/// If more than this part of the boxes moved, all pairs are tested, in a loop that foresees nothing.
const MANY: u32 = 4;
/// If no more than this part of the boxes moved, only their pairs are looked at, once the epoch is this old; of so many boxes that
/// several threads share the work, a smaller part. With a higher part it takes longer than to look through all pairs.
const FEW: u32 = 8;
const FEW_OF_MANY: u32 = 24;
const LEAST_AGE: u32 = 2;
/// Where the caller tells of no more than this part of the boxes that they moved, their speeds are known: few exceed any.
const HARDLY_ANY: usize = 4 * FAST as usize;
/// The fastest speed, in usual edges a step, at which an epoch begins; as a power of a half.
const FASTEST: usize = 5;
/// The margin in usual edges: at least this, at most that, and this many steps of the speed.
const LEAST_MARGIN: f32 = 0.05;
const MOST_MARGIN: f32 = 0.25;
const MARGIN_STEPS: f32 = 8.0;
/// An epoch that ends before this many steps was not worth its search.
const YOUNG: u32 = 4;
/// An epoch that has gone on for so many steps was worth its search.
const OLD: u32 = 8;
/// An epoch keeps at most this many times what the last search tested, and so many pairs for each box besides.
const MORE: u64 = 4;
const MORE_PER_BOX: u64 = 8;
/// With a margin that the caller chose, an epoch keeps so many pairs for each box if that is more, and its search tests so many boxes for
/// each of these pairs.
const MOST_IF_CHOSEN: u64 = 16;
const TESTS_IF_CHOSEN: u64 = 8;
/// The most steps until the next epoch after several that were not.
const LONGEST_WAIT: u32 = 64;

/// What is kept from step to step.
#[derive(Debug, Default)]
pub struct Epoch {
    sample: Sample,
    motion: Motion,
    padded_pairs: PaddedPairs,
    escaped: Escaped,
    /// What changed since the last step, where that alone was looked for.
    pub changes: PairChanges,
    /// The grown boxes; empty where there is no epoch.
    fat: Vec<Aabb>,
    margin: f32,
    /// Steps since the epoch began.
    age: u32,
    /// Steps until the next epoch may begin, and what to wait for after one that ends young.
    wait: u32,
    next_wait: u32,
    /// The most pairs that an epoch may keep, and tests that it may take: some times what the last search took.
    most: u64,
    /// The most of both of this epoch.
    limit: u64,
    /// The fewest boxes that an epoch is begun for, in place of [`FEWEST`].
    pub fewest: Option<u32>,
    /// Why there is no epoch; none where there is one, or has been no step.
    reason: Option<SearchReason>,
}

/// How the pairs of a step were found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    /// They are listed.
    Listed,
    /// They are those of the last step.
    Same,
    /// They are those of the last step with [`Epoch::changes`].
    Changed,
}

impl Epoch {
    /// Ends the epoch, where there is one: all boxes are searched in the next step.
    pub fn end(&mut self, reason: SearchReason) {
        if !self.fat.is_empty() {
            self.reason = Some(reason);
        }
        self.fat.clear();
    }

    /// Notes that the filters have changed for some boxes.
    pub fn refilter(&mut self, first: usize, count: usize) {
        self.motion.refilter(first, count);
    }

    /// Finds the pairs of a step, ascending, without the included ones.
    ///
    /// # Errors
    /// Those of a search. Nothing is known of any box then.
    pub fn find(
        &mut self,
        step: Searched<'_>,
        search: &mut Search,
        pairs: &mut Vec<Pair>,
    ) -> Result<(StepReport, StepOutcome), Error> {
        let found = self.try_find(step, search, pairs);
        if found.is_err() {
            let Self { wait, next_wait, most, fewest, .. } = *self;
            *self = Self { wait, next_wait, most, fewest, ..Self::default() };
        }
        found
    }

    fn try_find(
        &mut self,
        step: Searched<'_>,
        search: &mut Search,
        pairs: &mut Vec<Pair>,
    ) -> Result<(StepReport, StepOutcome), Error> {
        if step.box_count < self.fewest.unwrap_or(FEWEST) {
            self.fat.clear();
            self.sample.forget();
            self.reason = Some(SearchReason::FewBoxes);
            return search_alone(step, search, pairs, SearchReason::FewBoxes)
                .map(|report| (report, StepOutcome::Listed));
        }
        let hardly_any = step.moved.is_some_and(|moved| moved.len() <= step.boxes.len() / HARDLY_ANY);
        let speeds = if hardly_any && !self.fat.is_empty() {
            self.sample.skip();
            None
        } else {
            Some(self.sample.speeds(step.boxes, &self.motion.boxes))
        };
        if !self.fat.is_empty() {
            let tally = match step.moved {
                Some(moved) => self.motion.observe_moved(step.boxes, &self.fat, moved),
                None => self.motion.observe(step.boxes, &mut self.fat),
            };
            let goes_on = self.goes_on(&tally, step.box_count);
            if goes_on && self.take_escaped(step, search)? {
                self.age = self.age.saturating_add(1);
                let found = if step.may_stay && tally.moved == 0 && tally.fresh == 0 {
                    StepOutcome::Same
                } else if self.change(step, &tally, search)? {
                    StepOutcome::Changed
                } else {
                    self.list(step, tally.moved > step.box_count / MANY, pairs)?;
                    StepOutcome::Listed
                };
                let work = StepWork {
                    moved_count: tally.moved,
                    escaped_count: tally.fresh,
                    edited: found == StepOutcome::Changed,
                    ..self.work()
                };
                return Ok((StepReport { work, ..self.motion.report(step.box_count, &tally) }, found));
            }
            self.end(if goes_on { SearchReason::TooManyPairs } else { SearchReason::ManyEscaped });
        }
        let speeds = speeds.unwrap_or_else(|| Speeds::of_few(step.boxes));
        let report = self.search_anew(&speeds, step, search, pairs)?;
        Ok((report, StepOutcome::Listed))
    }

    /// Searches all boxes, and begins an epoch if that is worth it.
    fn search_anew(
        &mut self,
        speeds: &Speeds,
        step: Searched<'_>,
        search: &mut Search,
        pairs: &mut Vec<Pair>,
    ) -> Result<StepReport, Error> {
        if self.reason == Some(SearchReason::FewBoxes) {
            self.reason = Some(SearchReason::BoxCountChanged);
        }
        let begins = self.begins(speeds, step, search)?;
        let reason = *self.reason.get_or_insert(SearchReason::FirstStep);
        if begins {
            let tally = self.motion.begin(step.boxes);
            self.list(step, true, pairs)?;
            let work = StepWork { searched: true, reason: Some(reason), began_epoch: true, ..self.work() };
            return Ok(StepReport { work, ..self.motion.report(step.box_count, &tally) });
        }
        let report = search_alone(step, search, pairs, reason)?;
        let tested = search.found.report.candidate_count.max(pairs.len() as u64);
        self.most = MORE * tested + MORE_PER_BOX * u64::from(step.box_count);
        Ok(report)
    }

    /// Returns what is kept.
    fn work(&self) -> StepWork {
        StepWork {
            escaped_in_epoch: self.escaped.count() as u32,
            kept_pair_count: (self.padded_pairs.pairs.len() + self.escaped.pair_count()) as u64,
            ..StepWork::default()
        }
    }

    /// Lists the pairs that are kept and overlap in this step.
    fn list(&mut self, step: Searched<'_>, moved_many: bool, pairs: &mut Vec<Pair>) -> Result<(), Error> {
        let tests = Tests { boxes: &self.motion.boxes, filters: step.filters };
        self.padded_pairs.test(tests, &self.motion.states, moved_many);
        self.escaped.test(tests)?;
        self.padded_pairs.list(&self.escaped.now, pairs)
    }

    /// Finds what changed, where few boxes moved. Returns whether it did.
    fn change(&mut self, step: Searched<'_>, tally: &Tally, search: &mut Search) -> Result<bool, Error> {
        let part = if step.boxes.len() <= motion::ALONE { FEW } else { FEW_OF_MANY };
        let is_worth_it = self.age >= LEAST_AGE && tally.moved + tally.fresh <= step.box_count / part;
        if !step.may_change || !is_worth_it {
            return Ok(false);
        }
        let Self { motion, padded_pairs, escaped, changes, .. } = self;
        changes.clear();
        motion.list_moved();
        let tests = Tests { boxes: &motion.boxes, filters: step.filters };
        if !padded_pairs.change(tests, &motion.states, &motion.moved, &mut search.lists, changes)? {
            return Ok(false);
        }
        escaped.test(tests)?;
        changes.add(&escaped.then, &escaped.now)?;
        changes.settle()?;
        Ok(true)
    }

    /// Takes in the boxes that left their grown boxes in this step. Returns whether all that is kept takes no more tests than it may.
    fn take_escaped(&mut self, step: Searched<'_>, search: &mut Search) -> Result<bool, Error> {
        let Self { motion, escaped, fat, margin, padded_pairs, limit, .. } = self;
        let limit = step.options.effective_candidate_limit().min(*limit);
        let Some(left) = limit.checked_sub(padded_pairs.pairs.len() as u64) else { return Ok(false) };
        let is_whole = escaped.take(motion, step, fat, *margin, &mut search.lists, left)?;
        Ok(is_whole && escaped.pair_count() as u64 <= left)
    }

    /// Returns whether the epoch goes on.
    fn goes_on(&mut self, tally: &Tally, box_count: u32) -> bool {
        let few_left = (self.escaped.count() + tally.fresh as usize) * MOST_ESCAPED <= box_count as usize;
        // The first of many that move alike: the others follow, and a tree for the few steps till then is not worth it.
        let others_follow =
            tally.fresh > 0 && self.escaped.count() == 0 && self.age >= OLD && tally.moved > box_count / MANY;
        // What is gone is looked at as long as the epoch goes on.
        let most_are_there = self.motion.boxes.len() <= 2 * box_count as usize;
        if few_left && !others_follow && most_are_there {
            return true;
        }
        // Each that ends young makes the next one wait longer, and one that did not makes up for them.
        self.next_wait = if self.age < YOUNG { self.longer_wait() } else { 0 };
        self.wait = self.next_wait;
        false
    }

    fn longer_wait(&self) -> u32 {
        (2 * self.next_wait).clamp(1, LONGEST_WAIT)
    }

    /// Begins an epoch, if boxes move so slowly that it is worth it, and returns whether it did.
    fn begins(&mut self, speeds: &Speeds, step: Searched<'_>, search: &mut Search) -> Result<bool, Error> {
        if self.wait > 0 {
            self.wait -= 1;
            return Ok(false);
        }
        let Some(margin) = step.options.step_margin.or_else(|| margin(speeds)) else {
            self.reason = Some(match self.reason {
                _ if speeds.are_known => SearchReason::TooFast,
                None => SearchReason::FirstStep,
                Some(_) => SearchReason::BoxCountChanged,
            });
            return Ok(false);
        };
        self.margin = margin;
        self.age = 0;
        fill_grown(step.boxes, self.margin, &mut self.fat);
        // Small boxes between large ones may have many times as many neighbours once they are grown.
        let is_chosen = step.options.step_margin.is_some();
        let most = if is_chosen { self.most.max(MOST_IF_CHOSEN * u64::from(step.box_count)) } else { self.most };
        let tests = if is_chosen { TESTS_IF_CHOSEN * most } else { most };
        let limit = step.options.effective_candidate_limit().min(tests);
        let options = &Options { candidate_limit: limit, ..*step.options };
        let found = search_all(Searched { options, ..step }, &self.fat, search);
        let is_worth_it = found.is_ok() && search.found.pairs.len() as u64 <= most;
        if is_worth_it {
            self.limit = most;
            self.escaped.begin();
            self.padded_pairs.begin(&mut search.found.pairs)?;
            return Ok(true);
        }
        self.end(SearchReason::TooManyPairs);
        self.next_wait = self.longer_wait();
        self.wait = self.next_wait;
        match found {
            Ok(()) | Err(Error::TooManyCandidates { .. }) => {}
            // There is more room without.
            Err(Error::ListTooLong { .. }) => {
                *search = Search::default();
                (self.fat, self.padded_pairs, self.escaped) = Default::default();
            }
            Err(other) => return Err(other),
        }
        Ok(false)
    }

    /// Counts the bytes held.
    pub fn bytes(&self) -> usize {
        self.motion.bytes()
            + self.padded_pairs.bytes()
            + self.escaped.bytes()
            + self.changes.bytes()
            + self.fat.capacity() * size_of::<Aabb>()
    }
}

/// Returns the margin of an epoch, unless boxes move too fast.
fn margin(speeds: &Speeds) -> Option<f32> {
    // The smallest of the speeds that few boxes reach.
    let mut faster = 0;
    let is_reached_by_few = |k: &usize| {
        faster += speeds.counts[*k];
        faster <= speeds.count / FAST
    };
    let slowest = (0..SPEEDS).take_while(is_reached_by_few).last()?;
    let edges = (MARGIN_STEPS / (1 << slowest) as f32).clamp(LEAST_MARGIN, MOST_MARGIN);
    (slowest >= FASTEST).then_some(edges * speeds.edge)
}

/// Grows all boxes.
fn fill_grown(boxes: &[Aabb], margin: f32, fat: &mut Vec<Aabb>) {
    const CHUNK: usize = 1 << 12;
    fat.resize(boxes.len(), NO_BOX);
    fat.par_chunks_mut(CHUNK).zip(boxes.par_chunks(CHUNK)).for_each(|(fat, boxes)| {
        fat.iter_mut().zip(boxes).for_each(|(fat, aabb)| *fat = grown(aabb, margin));
    });
}

/// Searches boxes in place of those of the step.
fn search_all(step: Searched<'_>, boxes: &[Aabb], search: &mut Search) -> Result<(), Error> {
    let Searched { box_count, options, filters, .. } = step;
    search.clear();
    let mut run = || search.run(boxes, box_count, options, filters);
    // The pool is entered once, and not once for each stage.
    if box_count <= ALONE { run() } else { rayon::join(run, || ()).0 }
}

/// Finds the pairs of a step by a search of its boxes alone.
fn search_alone(
    step: Searched<'_>,
    search: &mut Search,
    pairs: &mut Vec<Pair>,
    reason: SearchReason,
) -> Result<StepReport, Error> {
    search_all(step, step.boxes, search)?;
    std::mem::swap(pairs, &mut search.found.pairs);
    Ok(StepReport {
        work: StepWork { reason: Some(reason), ..StepWork::SEARCHED },
        ..StepReport::of_search(&mut search.found.report)
    })
}
