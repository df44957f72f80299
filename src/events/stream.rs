//! [`Streamed`]: finds the events of a step in pieces.
//!
//! It stores the boxes and filters of the last step, but no list of pairs. A pair of this step is in the last step if
//! its boxes overlapped then, and if the filters of that step accept the pair. A pair of the last step is lost if the
//! same test fails in this step. So two searches find all events: a search of the boxes of this step, and a search of
//! the boxes of the last step. The test of a pair takes constant time.

use std::mem::{swap, take};
use std::sync::Arc;

use rayon::prelude::*;

use super::names::{Names, REMOVED, rename, was};
use super::{Identity, StepReport};
use crate::base::reserve::reserve_length;
use crate::filters::CheckedFilters;
use crate::{Aabb, Error, Options, Pair, Report, Step};

/// The most pairs that one thread looks up alone.
const ALONE: usize = 1 << 14;

/// A piece of the events of a step, from [`stream_events`](crate::BroadPhase::stream_events). The lists have the order
/// in which the engine streams pairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EventPiece<'a> {
    /// Pairs of this step.
    pub pairs: &'a [Pair],
    /// The pairs of `pairs` that are not in the last step.
    pub created: &'a [Pair],
    /// The pairs of `pairs` that are also in the last step, with at least one awake box. Empty if the step requests
    /// [changes only](Step::changes_only).
    pub persisting: &'a [Pair],
    /// Pairs of the last step that are not in this step, with the box indices of the last step.
    pub lost: &'a [Pair],
}

/// The calls that a stream needs of an engine.
pub trait Source {
    /// Checks that the filters in use fit this many boxes, and returns them.
    ///
    /// # Errors
    /// The errors of [`Filters::check`](crate::Filters::check).
    fn fitted(&mut self, box_count: usize) -> Result<&CheckedFilters, Error>;

    /// Returns the options in use.
    fn options_in_use(&self) -> &Options;

    /// Returns the state of streamed steps.
    fn streamed(&mut self) -> &mut Streamed;

    /// Streams the pairs of boxes without sleeping flags. If `others` is not `None`, it replaces the filters in use.
    /// `options` replaces the options in use, except for order and budget.
    ///
    /// # Errors
    /// The errors of a search, and of `each`.
    fn stream_awake<E: From<Error>>(
        &mut self,
        boxes: &[Aabb],
        others: Option<&Arc<CheckedFilters>>,
        options: &Options,
        each: impl FnMut(&Report, &[Pair]) -> Result<(), E>,
    ) -> Result<Report, E>;
}

/// Streams the events of a step. After an error, or a panic of `each`, the last step is unchanged.
///
/// # Errors
/// [`Error::BadStep`]; the errors of filters, of searches, and of `each`.
pub fn stream<S: Source, E: From<Error>>(
    source: &mut S,
    step: &Step<'_>,
    each: impl FnMut(&StepReport, EventPiece<'_>) -> Result<(), E>,
) -> Result<StepReport, E> {
    /// Returns the state to the source when it is dropped, even if `each` panics.
    struct Lease<'a, S: Source> {
        source: &'a mut S,
        streamed: Streamed,
    }
    impl<S: Source> Drop for Lease<'_, S> {
        fn drop(&mut self) {
            *self.source.streamed() = take(&mut self.streamed);
        }
    }
    let streamed = take(source.streamed());
    let mut lease = Lease { source, streamed };
    let Lease { source, streamed } = &mut lease;
    streamed.run(*source, step, each)
}

/// The boxes and filters of a step. With these, the test whether two boxes are a pair needs no search.
#[derive(Debug, Default)]
struct Shown {
    boxes: Vec<Aabb>,
    /// The prepared boxes, if the filters change boxes.
    prepared: Vec<Aabb>,
    /// The filters without sleeping flags.
    filters: Arc<CheckedFilters>,
    options: Options,
}

impl Shown {
    fn show(&mut self, boxes: &[Aabb], filters: Arc<CheckedFilters>) -> Result<(), Error> {
        self.boxes.clear();
        reserve_length(&mut self.boxes, boxes.len())?;
        self.boxes.extend_from_slice(boxes);
        self.filters = filters;
        self.prepared.clear();
        self.filters.filters().prepared_boxes(&self.boxes, &mut self.prepared);
        Ok(())
    }

    /// Returns whether the step has this pair.
    fn has(&self, pair: Pair) -> bool {
        let boxes = if self.prepared.is_empty() { &self.boxes[..] } else { &self.prepared };
        let overlap = || boxes[pair.a as usize].overlaps(&boxes[pair.b as usize]);
        let is_included = || self.filters.include().binary_search(&pair).is_ok();
        overlap() && self.filters.passes(boxes.into(), pair.a, pair.b) || is_included()
    }

    fn bytes(&self) -> usize {
        (self.boxes.capacity() + self.prepared.capacity()) * size_of::<Aabb>()
    }
}

/// The last streamed step, and scratch memory.
#[derive(Debug, Default)]
pub struct Streamed {
    last: Shown,
    now: Shown,
    /// The generations of the last step with generations.
    generations: Vec<u32>,
    /// True if the filters have not changed since the last step.
    has_same_filters: bool,
    /// Pairs of the last step.
    last_count: u64,
    is_named: Vec<bool>,
    /// `[box_count]` the index in the last step, and `[boxes of the last step]` the index in this step; or `REMOVED`.
    was: Vec<u32>,
    is: Vec<u32>,
    /// `[box_count]` whether a box sleeps or is fixed; empty if none does.
    rests: Vec<bool>,
    /// For each pair of a piece: whether the pair is also in the other step.
    is_in_other: Vec<bool>,
    lists: [Vec<Pair>; 2],
}

impl Streamed {
    /// Notes that the filters have changed. Sleeping flags need no note.
    pub fn filters_changed(&mut self) {
        self.has_same_filters = false;
    }

    /// Streams the events of a step.
    fn run<E: From<Error>>(
        &mut self,
        source: &mut impl Source,
        step: &Step<'_>,
        mut each: impl FnMut(&StepReport, EventPiece<'_>) -> Result<(), E>,
    ) -> Result<StepReport, E> {
        self.prepare(source, step)?;
        let counted = if step.counts_first { Some(self.count(source, step)?) } else { None };
        let mut report = StepReport::default();
        let Self { last, now, was, rests, is_in_other, lists: [list, others], .. } = self;
        source.stream_awake(step.boxes, None, &now.options, |found, pairs| {
            if report.box_count == 0 {
                report = StepReport::of_search(&mut found.clone());
                if let Some([created, persisting, lost]) = counted {
                    (report.created_count, report.persisting_count, report.lost_count) = (created, persisting, lost);
                }
            }
            // In several passes, the count increases with each piece.
            report.pair_count = counted.map_or(found.pair_count, |[created, persisting, _]| created + persisting);
            look_up(pairs, was, last, is_in_other);
            part(pairs, is_in_other, [list, others])?;
            if counted.is_none() {
                report.created_count += others.len() as u64;
                report.persisting_count += list.len() as u64;
            }
            if !step.lists_persisting {
                list.clear();
            } else if !rests.is_empty() {
                list.retain(|pair| !rests[pair.a as usize] || !rests[pair.b as usize]);
            }
            each(&report, EventPiece { pairs, created: others, persisting: list, lost: &[] })
        })?;
        if !self.last.boxes.is_empty() && !self.stays(step) {
            let Self { last, now, is, is_in_other, lists: [list, others], has_same_filters, .. } = self;
            let filters = (!*has_same_filters).then_some(&last.filters);
            // Use the options of the last step, since new options might refuse its boxes.
            source.stream_awake(&last.boxes, filters, &last.options, |_, pairs| {
                look_up(pairs, is, now, is_in_other);
                part(pairs, is_in_other, [list, others])?;
                report.lost_count += if counted.is_none() { others.len() as u64 } else { 0 };
                let piece = EventPiece { lost: others, ..EventPiece::default() };
                if others.is_empty() { Ok(()) } else { each(&report, piece) }
            })?;
        }
        swap(&mut self.last, &mut self.now);
        self.has_same_filters = true;
        self.last_count = report.pair_count;
        if let Identity::Generations(generations) = step.identity {
            self.generations.clear();
            self.generations.extend_from_slice(generations);
        }
        Ok(report)
    }

    /// Counts the created, persisting and lost pairs of a prepared step.
    fn count<E: From<Error>>(&mut self, source: &mut impl Source, step: &Step<'_>) -> Result<[u64; 3], E> {
        let Self { last, now, was, is_in_other, last_count, .. } = self;
        let (mut count, mut persisting) = (0, 0);
        source.stream_awake(step.boxes, None, &now.options, |_, pairs| {
            look_up(pairs, was, last, is_in_other);
            count += pairs.len() as u64;
            persisting += is_in_other.iter().filter(|is| **is).count() as u64;
            Ok::<_, E>(())
        })?;
        // Each persisting pair is one pair of the last step.
        Ok([count - persisting, persisting, *last_count - persisting])
    }

    /// Checks a step, and prepares the lookup of pairs.
    fn prepare(&mut self, source: &mut impl Source, step: &Step<'_>) -> Result<(), Error> {
        let filters = source.fitted(step.boxes.len())?;
        let (spec, last_count) = (step.spec(), self.last.boxes.len() as u32);
        spec.check(last_count, &mut self.is_named)?;
        step.check_moved()?;
        self.rests.clear();
        if !filters.filters().all_awake() {
            self.rests.extend((0..step.boxes.len() as u32).map(|i| filters.filters().rests(i)));
        }
        let filters = if self.has_same_filters {
            Arc::clone(&self.last.filters)
        } else {
            let mut filters = filters.clone();
            filters.set_sleeping(Vec::new());
            Arc::new(filters)
        };
        self.now.show(step.boxes, filters)?;
        self.now.options = *source.options_in_use();
        rename(&spec, &self.generations, last_count, &mut self.is);
        let was = (0..step.boxes.len() as u32).map(|i| was(&spec, &self.generations, i));
        self.was.clear();
        self.was.extend(was.map(|was| if was < last_count { was } else { REMOVED }));
        Ok(())
    }

    /// Returns `true` if the step equals the last step.
    fn stays(&self, step: &Step<'_>) -> bool {
        let bits = bytemuck::cast_slice::<Aabb, u32>;
        let is_same = self.has_same_filters && !Names::matter(&step.spec(), &self.generations);
        is_same && bits(&self.last.boxes) == bits(&self.now.boxes)
    }

    /// Returns the bytes of allocated memory.
    pub fn bytes(&self) -> usize {
        let Self { last, now, generations, is_named, was, is, rests, is_in_other, lists, .. } = self;
        let words = [generations, was, is].map(Vec::capacity).iter().sum::<usize>() * size_of::<u32>();
        let flags = [is_named, rests, is_in_other].map(Vec::capacity).iter().sum::<usize>();
        let pairs = lists.iter().map(Vec::capacity).sum::<usize>() * size_of::<Pair>();
        last.bytes() + now.bytes() + words + flags + pairs
    }
}

/// Tests for each pair whether another step has the same pair. `names` has the box indices of the other step.
fn look_up(pairs: &[Pair], names: &[u32], other: &Shown, is_in_other: &mut Vec<bool>) {
    let look = |pair: &Pair| {
        let [a, b] = [pair.a, pair.b].map(|i| names[i as usize]);
        a != REMOVED && b != REMOVED && other.has(Pair::new(a, b))
    };
    if pairs.len() <= ALONE {
        is_in_other.clear();
        is_in_other.extend(pairs.iter().map(look));
    } else {
        pairs.par_iter().map(look).collect_into_vec(is_in_other);
    }
}

/// Lists the pairs that are in the other step, and the rest.
fn part(pairs: &[Pair], is_in_other: &[bool], lists: [&mut Vec<Pair>; 2]) -> Result<(), Error> {
    let in_other_count = is_in_other.iter().filter(|is| **is).count();
    for ((list, wanted), count) in
        lists.into_iter().zip([true, false]).zip([in_other_count, pairs.len() - in_other_count])
    {
        list.clear();
        reserve_length(list, count)?;
        list.extend(pairs.iter().zip(is_in_other).filter(|(_, is)| **is == wanted).map(|(pair, _)| *pair));
    }
    Ok(())
}
