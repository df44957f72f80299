//! Events by their definition: the pairs of two steps by brute force, and the differences of the two sets.

use std::collections::{BTreeMap, HashSet};

use broadsweep::internals::brute_force;
use broadsweep::step::{Identity, Places};
use broadsweep::{Aabb, Events, Filters, Pair, Step};

/// The step that the next one is compared with.
#[derive(Default)]
pub struct Oracle {
    pairs: Vec<Pair>,
    box_count: usize,
    generations: Vec<u32>,
}

/// A step, with what it owns.
#[derive(Clone, Default)]
pub struct Frame {
    pub boxes: Vec<Aabb>,
    pub filters: Filters,
    pub generations: Option<Vec<u32>>,
    pub was: Option<Vec<u32>>,
}

impl Frame {
    /// Creates a step of boxes alone.
    pub fn of(boxes: Vec<Aabb>) -> Self {
        Self { boxes, ..Self::default() }
    }

    /// Returns the step as an engine takes it.
    pub fn step(&self) -> Step<'_> {
        let step = Step::new(&self.boxes);
        match (&self.generations, &self.was) {
            (Some(generations), _) => step.with_generations(generations),
            (None, Some(was)) => step.rebased(was),
            (None, None) => step,
        }
    }
}

impl Oracle {
    /// Checks the events of a step.
    pub fn check(&mut self, frame: &Frame, events: &Events, what: &str) {
        let awake = frame.filters.clone().with_sleeping(Vec::new());
        self.check_pairs(frame, brute_force::find_filtered_pairs(&frame.boxes, &awake), events, what);
    }

    /// Checks the events of a step whose pairs are known.
    pub fn check_pairs(&mut self, frame: &Frame, pairs: Vec<Pair>, events: &Events, what: &str) {
        let step = frame.step();
        let was = |i: u32| match step.identity {
            Identity::Generations(own) if self.generations.get(i as usize).is_some_and(|g| *g != own[i as usize]) => {
                None
            }
            Identity::Was(was) => Some(was[i as usize]).filter(|was| *was != Step::NEW),
            _ => Some(i).filter(|i| (*i as usize) < self.box_count),
        };
        let then: BTreeMap<Pair, u64> = self.pairs.iter().copied().zip(0..).collect();
        let before: Places = pairs
            .iter()
            .map(|pair| {
                let place = was(pair.a).zip(was(pair.b)).and_then(|(a, b)| then.get(&Pair::new(a, b)));
                place.copied()
            })
            .collect();
        let with_before = || pairs.iter().copied().zip(before.iter());
        let created: Vec<Pair> = with_before().filter(|(_, at)| at.is_none()).map(|(pair, _)| pair).collect();
        let mut lost = then;
        let found: HashSet<u64> = before.iter().flatten().collect();
        lost.retain(|_, place| !found.contains(place));
        let lost: Vec<Pair> = lost.into_keys().collect();
        let is = |list: &[bool], i: u32| !list.is_empty() && list[i as usize];
        let rests = |i: u32| is(&frame.filters.sleeping, i) || is(&frame.filters.fixed, i);
        let persisting: Vec<Pair> = with_before()
            .filter(|(pair, at)| at.is_some() && !(rests(pair.a) && rests(pair.b)))
            .map(|(pair, _)| pair)
            .collect();

        assert!(events.pairs == pairs, "{what}: pairs: {:?} instead of {pairs:?}", events.pairs);
        assert!(events.created == created, "{what}: created: {:?} instead of {created:?}", events.created);
        assert!(events.lost == lost, "{what}: lost: {:?} instead of {lost:?}", events.lost);
        if !events.before.is_empty() || pairs.is_empty() {
            assert!(events.before == before, "{what}: before: {:?} instead of {before:?}", events.before);
        }
        if !events.before.is_empty() || !events.persisting.is_empty() {
            assert!(events.persisting == persisting, "{what}: persisting");
        }
        let report = &events.report;
        let invalid: Vec<u32> = invalid(frame);
        assert_eq!(report.box_count as usize, frame.boxes.len(), "{what}");
        assert_eq!(report.invalid_count as usize, invalid.len(), "{what}: invalid");
        assert!(invalid.starts_with(&report.first_invalid), "{what}: {:?}", report.first_invalid);
        assert_eq!(report.pair_count, pairs.len() as u64, "{what}");
        assert_eq!(report.created_count, created.len() as u64, "{what}");
        assert_eq!(report.lost_count, lost.len() as u64, "{what}");
        assert_eq!(report.persisting_count, (pairs.len() - created.len()) as u64, "{what}");

        self.pairs = pairs;
        self.box_count = frame.boxes.len();
        if let Some(generations) = &frame.generations {
            self.generations.clone_from(generations);
        }
    }
}

/// Lists the invalid boxes as they are searched.
pub fn invalid(frame: &Frame) -> Vec<u32> {
    let stands_for_half_space = |i: u32| frame.filters.half_spaces.iter().any(|h| h.index == i);
    let boxes = (0..).zip(&frame.boxes);
    boxes
        .filter(|&(i, aabb)| {
            let margin = frame.filters.margin.get(i as usize).copied().unwrap_or(0.0);
            let padded = Aabb {
                min: aabb.min.map(|x| (f64::from(x) - f64::from(margin)) as f32),
                max: aabb.max.map(|x| (f64::from(x) + f64::from(margin)) as f32),
            };
            !padded.is_valid() && !stands_for_half_space(i)
        })
        .map(|(i, _)| i)
        .collect()
}
