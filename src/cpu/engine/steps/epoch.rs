//! Finds the pairs of a step at a cost that grows with the moved boxes: [`Epoch`].
//!
//! An epoch begins with a search of padded boxes, whose pairs are cached. While a box stays within its padded box, its
//! pairs are among the cached pairs. A cached pair is tested again only if one of its boxes moved. A box that leaves
//! its padded box gets a new padded box, and queries trees for its pairs. So each pair of a step is in exactly one of
//! two lists. If neither box has left its padding since the epoch began, the pair is in the list of the epoch.
//! Otherwise it is in the list of the boxes that left. Both lists are tested exactly, so the result equals a new
//! search.
//!
//! If many boxes have left, or if boxes move too fast for an epoch to save time, all boxes are searched. These
//! decisions depend only on the boxes, never on the clock.
//!
//! Sources: padded boxes, Box2D and Bullet (dynamic trees); neighbour lists with a skin, Verlet 1967, "Computer
//! Experiments on Classical Fluids".

use rayon::prelude::*;

use super::changes::PairChanges;
use super::left_padding::{LeftPadding, padded};
use super::motion::{self, Motion, NO_BOX, Searched, Tally};
use super::padded_pairs::{PaddedPairs, Tests};
use super::speed::{SPEEDS, Sample, Speeds};
use crate::cpu::engine::ALONE;
use crate::cpu::engine::search::Search;
use crate::{Aabb, Error, Options, Pair, SearchReason, StepReport, StepWork};

/// The fewest boxes of an epoch.
const FEWEST: u32 = 1 << 10;
/// An epoch ends when more than one in this many boxes has left its padding.
const MOST_LEFT_PADDING: usize = 8;
/// The margin ignores the speeds of the fastest boxes: one in this many boxes.
const FAST: u32 = 16;
/// If more than one in this many boxes moved, all pairs are tested, in a loop without branches.
const MANY: u32 = 4;
/// If at most one in this many boxes moved, and the epoch is at least `LEAST_AGE` steps old, only the pairs of moved
/// boxes are tested. If several threads share the work, `FEW_OF_MANY` applies instead. With more moved boxes, a test of
/// all pairs is faster.
const FEW: u32 = 8;
const FEW_OF_MANY: u32 = 24;
const LEAST_AGE: u32 = 2;
/// If the caller lists at most one in this many boxes as moved, speeds need no sample, since most boxes rest.
const HARDLY_ANY: usize = 4 * FAST as usize;
/// The largest speed at which an epoch begins is 2 to the power of −`FASTEST`, in usual edges per step.
const FASTEST: usize = 5;
/// The least and the largest margin, in usual edges. Between them, the margin is the distance that a box moves in
/// `MARGIN_STEPS` steps.
const LEAST_MARGIN: f32 = 0.05;
const MOST_MARGIN: f32 = 0.25;
const MARGIN_STEPS: f32 = 8.0;
/// An epoch with fewer steps did not save time.
const YOUNG: u32 = 4;
/// An epoch with this many steps saved time.
const OLD: u32 = 8;
/// The most pairs that an epoch caches: `MORE` times the count of tests of the last search, plus `MORE_PER_BOX` per
/// box.
const MORE: u64 = 4;
const MORE_PER_BOX: u64 = 8;
/// If the caller chose the margin, an epoch may cache `MOST_IF_CHOSEN` pairs per box, even if the usual limit is lower.
/// For each pair that it may cache, its search may make `TESTS_IF_CHOSEN` tests.
const MOST_IF_CHOSEN: u64 = 16;
const TESTS_IF_CHOSEN: u64 = 8;
/// The most steps to wait after epochs that did not save time.
const LONGEST_WAIT: u32 = 64;

/// The state from step to step.
#[derive(Debug, Default)]
pub struct Epoch {
    sample: Sample,
    motion: Motion,
    padded_pairs: PaddedPairs,
    left_padding: LeftPadding,
    /// The changes since the last step, if only changes were searched.
    pub changes: PairChanges,
    /// The padded boxes; empty if there is no epoch.
    padded_boxes: Vec<Aabb>,
    margin: f32,
    /// Steps since the epoch began.
    age: u32,
    /// Steps until the next epoch may begin.
    wait: u32,
    /// The length of the last wait; 0 after an epoch that did not end young. The next wait is twice as long if the next
    /// epoch ends young.
    last_wait: u32,
    /// The most cached pairs and tests of an epoch, derived from the tests of the last search. A chosen margin allows
    /// more.
    most: u64,
    /// The limit of cached pairs and tests in this epoch.
    limit: u64,
    /// The fewest boxes of an epoch; `None` means [`FEWEST`].
    pub fewest: Option<u32>,
    /// The reason why there is no epoch; `None` if there is an epoch, or before the first step.
    reason: Option<SearchReason>,
}

/// The form in which the pairs of a step are returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepOutcome {
    /// The pairs are listed.
    Listed,
    /// The pairs equal the pairs of the last step.
    Same,
    /// The pairs equal the pairs of the last step after [`Epoch::changes`].
    Changed,
}

impl Epoch {
    /// Ends the epoch, if there is one: all boxes are searched in the next step.
    pub fn end(&mut self, reason: SearchReason) {
        if !self.padded_boxes.is_empty() {
            self.reason = Some(reason);
        }
        self.padded_boxes.clear();
    }

    /// Marks boxes whose filters have changed.
    pub fn refilter(&mut self, first: usize, count: usize) {
        self.motion.refilter(first, count);
    }

    /// Finds the pairs of a step, ascending, without the included pairs.
    ///
    /// # Errors
    /// The errors of a search. An error clears the epoch and the last boxes.
    pub fn find(
        &mut self,
        step: Searched<'_>,
        search: &mut Search,
        pairs: &mut Vec<Pair>,
    ) -> Result<(StepReport, StepOutcome), Error> {
        let found = self.try_find(step, search, pairs);
        if found.is_err() {
            let Self { wait, last_wait, most, fewest, .. } = *self;
            *self = Self { wait, last_wait, most, fewest, ..Self::default() };
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
            self.padded_boxes.clear();
            self.sample.forget();
            self.reason = Some(SearchReason::FewBoxes);
            return search_alone(step, search, pairs, SearchReason::FewBoxes)
                .map(|report| (report, StepOutcome::Listed));
        }
        let hardly_any = step.moved.is_some_and(|moved| moved.len() <= step.boxes.len() / HARDLY_ANY);
        let speeds = if hardly_any && !self.padded_boxes.is_empty() {
            self.sample.skip();
            None
        } else {
            Some(self.sample.speeds(step.boxes, &self.motion.boxes))
        };
        if !self.padded_boxes.is_empty() {
            let tally = match step.moved {
                Some(moved) => self.motion.observe_moved(step.boxes, &self.padded_boxes, moved),
                None => self.motion.observe(step.boxes, &mut self.padded_boxes),
            };
            let goes_on = self.continues(&tally, step.box_count);
            if goes_on && self.add_left_padding(step, search)? {
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
                    left_padding_count: tally.fresh,
                    edited: found == StepOutcome::Changed,
                    ..self.work()
                };
                return Ok((StepReport { work, ..self.motion.report(step.box_count, &tally) }, found));
            }
            self.end(if goes_on { SearchReason::TooManyPairs } else { SearchReason::ManyLeftPadding });
        }
        let speeds = speeds.unwrap_or_else(|| Speeds::of_few(step.boxes));
        let report = self.search_anew(&speeds, step, search, pairs)?;
        Ok((report, StepOutcome::Listed))
    }

    /// Searches all boxes, and begins an epoch if it is likely to save time.
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

    /// Returns the counts of cached pairs and boxes.
    fn work(&self) -> StepWork {
        StepWork {
            left_padding_in_epoch: self.left_padding.count() as u32,
            cached_pair_count: (self.padded_pairs.pairs.len() + self.left_padding.pair_count()) as u64,
            ..StepWork::default()
        }
    }

    /// Lists the cached pairs that overlap in this step.
    fn list(&mut self, step: Searched<'_>, moved_many: bool, pairs: &mut Vec<Pair>) -> Result<(), Error> {
        let tests = Tests { boxes: &self.motion.boxes, filters: step.filters };
        self.padded_pairs.test(tests, &self.motion.states, moved_many);
        self.left_padding.test(tests)?;
        self.padded_pairs.list(&self.left_padding.now, pairs)
    }

    /// Finds the changes if few boxes moved. Returns whether it did.
    fn change(&mut self, step: Searched<'_>, tally: &Tally, search: &mut Search) -> Result<bool, Error> {
        let part = if step.boxes.len() <= motion::ALONE { FEW } else { FEW_OF_MANY };
        let is_worth_it = self.age >= LEAST_AGE && tally.moved + tally.fresh <= step.box_count / part;
        if !step.may_change || !is_worth_it {
            return Ok(false);
        }
        let Self { motion, padded_pairs, left_padding, changes, .. } = self;
        changes.clear();
        motion.list_moved();
        let tests = Tests { boxes: &motion.boxes, filters: step.filters };
        if !padded_pairs.change(tests, &motion.states, &motion.moved, &mut search.lists, changes)? {
            return Ok(false);
        }
        left_padding.test(tests)?;
        changes.add(&left_padding.then, &left_padding.now)?;
        changes.settle()?;
        Ok(true)
    }

    /// Adds the boxes that left their padded boxes in this step. Returns whether tests and cached pairs stay within the
    /// limit.
    fn add_left_padding(&mut self, step: Searched<'_>, search: &mut Search) -> Result<bool, Error> {
        let Self { motion, left_padding, padded_boxes, margin, padded_pairs, limit, .. } = self;
        let limit = step.options.effective_candidate_limit().min(*limit);
        let Some(remaining) = limit.checked_sub(padded_pairs.pairs.len() as u64) else { return Ok(false) };
        let is_whole = left_padding.add(motion, step, padded_boxes, *margin, &mut search.lists, remaining)?;
        Ok(is_whole && left_padding.pair_count() as u64 <= remaining)
    }

    /// Returns whether the epoch continues.
    fn continues(&mut self, tally: &Tally, box_count: u32) -> bool {
        let few_left_padding =
            (self.left_padding.count() + tally.fresh as usize) * MOST_LEFT_PADDING <= box_count as usize;
        // If many boxes move alike and the first of them leave their padding, the others follow soon. Then a tree of
        // the first boxes would serve only a few steps, and would save no time.
        let others_follow =
            tally.fresh > 0 && self.left_padding.count() == 0 && self.age >= OLD && tally.moved > box_count / MANY;
        // End the epoch if most boxes were removed, since removed boxes are processed too.
        let most_are_present = self.motion.boxes.len() <= 2 * box_count as usize;
        if few_left_padding && !others_follow && most_are_present {
            return true;
        }
        // Each epoch that ends young lengthens the next wait. An older epoch resets it.
        self.last_wait = if self.age < YOUNG { self.longer_wait() } else { 0 };
        self.wait = self.last_wait;
        false
    }

    fn longer_wait(&self) -> u32 {
        (2 * self.last_wait).clamp(1, LONGEST_WAIT)
    }

    /// Begins an epoch, if boxes move slowly enough, and returns whether it did.
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
        fill_padded(step.boxes, self.margin, &mut self.padded_boxes);
        // If small boxes lie between large boxes, padding may give them many more pairs.
        let is_chosen = step.options.step_margin.is_some();
        let most = if is_chosen { self.most.max(MOST_IF_CHOSEN * u64::from(step.box_count)) } else { self.most };
        let tests = if is_chosen { TESTS_IF_CHOSEN * most } else { most };
        let limit = step.options.effective_candidate_limit().min(tests);
        let options = &Options { candidate_limit: limit, ..*step.options };
        let found = search_all(Searched { options, ..step }, &self.padded_boxes, search);
        let is_worth_it = found.is_ok() && search.found.pairs.len() as u64 <= most;
        if is_worth_it {
            self.limit = most;
            self.left_padding.begin();
            self.padded_pairs.begin(&mut search.found.pairs)?;
            return Ok(true);
        }
        self.end(SearchReason::TooManyPairs);
        self.last_wait = self.longer_wait();
        self.wait = self.last_wait;
        match found {
            Ok(()) | Err(Error::TooManyCandidates { .. }) => {}
            // Without an epoch, less memory is needed, so search without one.
            Err(Error::ListTooLong { .. }) => {
                *search = Search::default();
                (self.padded_boxes, self.padded_pairs, self.left_padding) = Default::default();
            }
            Err(other) => return Err(other),
        }
        Ok(false)
    }

    /// Returns the bytes of allocated memory.
    pub fn bytes(&self) -> usize {
        self.motion.bytes()
            + self.padded_pairs.bytes()
            + self.left_padding.bytes()
            + self.changes.bytes()
            + self.padded_boxes.capacity() * size_of::<Aabb>()
    }
}

/// Returns the margin of an epoch; `None` if boxes move too fast.
fn margin(speeds: &Speeds) -> Option<f32> {
    // Find the smallest speed that only few boxes exceed.
    let mut faster = 0;
    let is_reached_by_few = |k: &usize| {
        faster += speeds.counts[*k];
        faster <= speeds.count / FAST
    };
    let slowest = (0..SPEEDS).take_while(is_reached_by_few).last()?;
    let edges = (MARGIN_STEPS / (1 << slowest) as f32).clamp(LEAST_MARGIN, MOST_MARGIN);
    (slowest >= FASTEST).then_some(edges * speeds.edge)
}

/// Pads all boxes.
fn fill_padded(boxes: &[Aabb], margin: f32, padded_boxes: &mut Vec<Aabb>) {
    const CHUNK: usize = 1 << 12;
    padded_boxes.resize(boxes.len(), NO_BOX);
    padded_boxes.par_chunks_mut(CHUNK).zip(boxes.par_chunks(CHUNK)).for_each(|(to, from)| {
        to.iter_mut().zip(from).for_each(|(to, aabb)| *to = padded(aabb, margin));
    });
}

/// Searches `boxes` in place of the boxes of the step.
fn search_all(step: Searched<'_>, boxes: &[Aabb], search: &mut Search) -> Result<(), Error> {
    let Searched { box_count, options, filters, .. } = step;
    search.clear();
    let mut run = || search.run(boxes, box_count, options, filters);
    // Enter the pool once, and not once per stage.
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
