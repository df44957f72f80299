//! Steps that are submitted whose pairs are kept on the GPU from step to step, against searches from nothing.

use broadsweep::internals::steps::{begin_epochs_on_gpu_from, epoch_on_gpu};
use broadsweep::{Aabb, Attribute, BroadPhase, Error, Events, Filters, Gpu, Options, Pair, PairOrder, StepWork, wgpu};
use laboratory::scenes::{Kind, Motion};

use crate::common::{CANONICAL, broad_phase, device_with};
use crate::epochs::{some_elsewhere, with_epochs};
use crate::oracle::{Frame, Oracle};
use crate::recorded::{canonical, record};
use crate::sequences::{Drawn, run_with};
use crate::submitted::wait;

/// Checks the events of boxes alone against searches from nothing, and keeps what was done.
#[derive(Default)]
struct Checked {
    oracle: Oracle,
    works: Vec<StepWork>,
}

impl Checked {
    fn check(&mut self, boxes: &[Aabb], events: &Events, what: &str) {
        let work = events.report.work;
        let what = format!("{what}, step {}, {work:?}", self.works.len());
        self.oracle.check_pairs(&Frame::of(boxes.to_vec()), canonical(boxes), events, &what);
        self.works.push(work);
    }

    fn find(&mut self, engine: &mut BroadPhase, boxes: &[Aabb], what: &str) {
        let events = engine.find_events(boxes).unwrap();
        self.check(boxes, events, what);
    }

    /// Counts the steps in which all boxes were searched as they are, an epoch began, and boxes left or none did.
    fn counts(&self) -> [usize; 4] {
        let of = |is: fn(&StepWork) -> bool| self.works.iter().filter(|work| is(work)).count();
        [
            of(|work| work.searched && !work.began_epoch),
            of(|work| work.began_epoch),
            of(|work| !work.searched && work.escaped_count > 0),
            of(|work| !work.searched && work.escaped_count == 0),
        ]
    }
}

/// Makes an engine of its own, which keeps the pairs of any number of boxes.
fn engine(options: Options) -> BroadPhase {
    let mut engine = BroadPhase::new(broad_phase(options).gpu(), options).unwrap();
    begin_epochs_on_gpu_from(&mut engine, 1);
    engine
}

#[test]
fn moving_scenes_that_are_submitted_are_kept_from_step_to_step() {
    let mut engine = broad_phase(CANONICAL);
    engine.reserve(4000, 30_000).unwrap();
    for motion in Motion::ALL {
        let mut checked = Checked::default();
        with_epochs(&mut engine, |engine| {
            for number in 0..10 {
                checked.find(engine, &motion.boxes(4000, 0.9, 1, number), &motion.to_string());
            }
        });
        let [searched, begun, left, stayed] = checked.counts();
        let works = checked.works;
        match motion {
            Motion::Still => assert_eq!((searched, begun, left, stayed), (1, 1, 0, 8), "{works:?}"),
            Motion::Few | Motion::Teleports | Motion::Bullets => {
                assert!(searched == 1 && begun == 1 && left > 0, "{motion}: {works:?}");
                let last = works[9];
                assert!(last.moved_count > 0 && last.moved_count < 400, "{motion}: {last:?}");
                assert!(
                    last.escaped_in_epoch >= last.escaped_count && last.kept_pair_count > 4000,
                    "{motion}: {last:?}"
                );
            }
            Motion::Brisk | Motion::Fast | Motion::Jumps => assert_eq!(searched, 10, "{motion}: {works:?}"),
            Motion::Some | Motion::Slow | Motion::Asleep => assert!(stayed > 3, "{motion}: {works:?}"),
        }
    }
}

#[test]
fn sequences_in_which_anything_changes_are_kept_from_step_to_step() {
    let mut engine = broad_phase(CANONICAL);
    engine.reserve(400, 100_000).unwrap();
    let seen = with_epochs(&mut engine, |engine| {
        run_with(engine, 320..328, 300, Drawn::few, |engine, _, step| engine.find_events(step).cloned())
    });
    println!("{seen:?}");
    assert!(seen.kept > 10 && seen.escaped > 10 && seen.began > 5, "{seen:?}");
}

#[test]
fn steps_in_flight_follow_one_epoch() {
    let mut engine = engine(CANONICAL);
    let still = Motion::Still.boxes(3000, 0.9, 1, 0);
    let steps: Vec<Vec<Aabb>> = (0..14)
        .map(|number| match number {
            // All are elsewhere, and fewer are.
            6 => still.iter().rev().copied().collect(),
            10 => still[..2970].to_vec(),
            _ => some_elsewhere(&still, 120, number),
        })
        .collect();
    let mut checked = Checked::default();
    engine.submit_events(&steps[0]).unwrap();
    for number in 0..steps.len() {
        if let Some(next) = steps.get(number + 1) {
            engine.submit_events(next).unwrap();
        }
        checked.check(&steps[number], &wait(&mut engine).unwrap(), "in flight");
    }
    let [_, begun, left, _] = checked.counts();
    assert!(begun > 0 && left > 3, "{:?}", checked.works);
}

/// Boxes of a crowd.
const CROWDED: usize = 3000;

/// Makes steps of boxes that are far apart, but for those in two places; in the last steps some more come to one of them, fewer than
/// an epoch ends for: more pairs than there is room for.
fn crowd(number: usize) -> Vec<Aabb> {
    let at = |i: usize| [i % 15, i / 15 % 15, i / 225].map(|x| 3.0 * x as f32);
    let second = if number < 5 { 160 } else { 253 };
    let place = |i: usize| match i {
        0..100 => [1.0; 3],
        i if i < second => [31.0; 3],
        i => at(i),
    };
    (0..CROWDED).map(|i| Aabb::new(place(i), place(i).map(|x| x + 1.0))).collect()
}

#[test]
fn lists_that_are_too_short_for_the_pairs_of_a_step_are_found_anew() {
    for in_flight in [false, true] {
        let mut engine = engine(CANONICAL);
        let mut checked = Checked::default();
        for number in 0..5 {
            checked.find(&mut engine, &crowd(number), "apart");
        }
        assert_eq!(checked.counts(), [1, 1, 0, 3]);
        let capacity = engine.memory_plan(CROWDED).unwrap().pair_capacity;
        assert!(canonical(&crowd(5)).len() > capacity as usize && canonical(&crowd(4)).len() < capacity as usize / 2);
        if in_flight {
            engine.submit_events(&crowd(5)).unwrap();
            engine.submit_events(&crowd(4)).unwrap();
            checked.check(&crowd(5), &wait(&mut engine).unwrap(), "in flight");
            checked.check(&crowd(4), &wait(&mut engine).unwrap(), "behind");
        } else {
            checked.find(&mut engine, &crowd(5), "waited for");
        }
        assert!(checked.works[5].searched && !checked.works[5].began_epoch, "{:?}", checked.works[5]);
        checked.find(&mut engine, &crowd(5), "at last");
    }
}

#[test]
fn steps_with_lists_in_pieces_are_not_kept() {
    let limits = wgpu::Limits { max_storage_buffer_binding_size: 4 << 20, ..Gpu::required_limits() };
    let mut engine = BroadPhase::new(&device_with(limits), CANONICAL).unwrap();
    begin_epochs_on_gpu_from(&mut engine, 1);
    let boxes = Kind::Identical.generate(1200, 1);
    let mut checked = Checked::default();
    for number in 0..5 {
        checked.find(&mut engine, &boxes[number..], "in pieces");
    }
    assert!(checked.works.iter().all(|work| work.searched && !work.began_epoch), "{:?}", checked.works);
    // Fewer are.
    for _ in 0..4 {
        checked.find(&mut engine, &boxes[..300], "whole");
    }
    assert!(!checked.works[8].searched, "{:?}", checked.works);
}

#[test]
fn a_step_that_is_searched_anew_has_the_filters_of_its_time() {
    let mut engine = engine(CANONICAL);
    // As if nobody slept; and nobody of the first crowd meets another one of it.
    let asleep = vec![true; CROWDED];
    let mut filters = Filters { group: vec![1; CROWDED], sleeping: asleep, ..Filters::default() };
    engine.set_filters(filters.clone()).unwrap();
    for number in 0..5 {
        engine.find_events(&crowd(number)).unwrap();
    }
    assert!(!engine.events().report.work.searched);
    engine.submit_events(&crowd(5)).unwrap();
    engine.change_filters(0, Attribute::Group(&[0; 100])).unwrap();
    engine.submit_events(&crowd(4)).unwrap();
    // And another kernel in use.
    filters.group[..100].fill(0);
    filters.sleeping = Vec::new();
    engine.set_filters(Filters { body: (0..CROWDED as u32).collect(), ..filters }).unwrap();
    let first = wait(&mut engine).unwrap();
    assert!(first.report.work.searched && first.pairs == canonical(&crowd(5)), "{:?}", first.report);
    let second = wait(&mut engine).unwrap();
    let meet = |pair: &Pair| pair.b >= 100;
    let expected: Vec<Pair> = canonical(&crowd(4)).into_iter().filter(meet).collect();
    assert!(second.pairs == expected && expected.len() > 1500, "{:?}", second.report);
    assert_eq!(engine.find_events(&crowd(4)).unwrap().pairs, expected);
}

#[test]
fn a_step_that_is_searched_anew_may_be_refused_then_and_does_not_count() {
    let mut refused = 0;
    for limit in [13_000, 14_000, 15_000] {
        let mut engine = engine(Options { candidate_limit: limit, ..CANONICAL });
        let mut checked = Checked::default();
        for number in 0..8 {
            let boxes = crowd(number);
            match engine.find_events(&boxes).cloned() {
                Ok(events) => checked.check(&boxes, &events, &format!("at most {limit}")),
                Err(Error::TooManyCandidates { .. }) => refused += 1,
                Err(error) => panic!("{error}"),
            }
        }
        assert_eq!(checked.works.len(), 5, "{limit}");
    }
    assert_eq!(refused, 9);
}

#[test]
fn boxes_that_go_are_not_looked_for_and_an_epoch_goes_on_as_some_come_and_go() {
    let still = Motion::Still.boxes(4200, 0.9, 1, 0);
    let mut engine = engine(CANONICAL);
    engine.reserve(4200, 40_000).unwrap();
    let mut checked = Checked::default();
    for n in (4080..4100).rev() {
        checked.find(&mut engine, &still[..n], "going");
        let work = checked.works.last().unwrap();
        assert_eq!(work.escaped_count, 0, "{work:?}");
    }
    assert_eq!(checked.counts()[..2], [1, 1], "{:?}", checked.works);
    // A number on either side of a power of two.
    for n in [4095, 4096, 4097, 4095, 4098, 4096, 4110, 4090] {
        checked.find(&mut engine, &still[..n], "going and coming");
    }
    assert_eq!(checked.counts()[..2], [1, 1], "{:?}", checked.works);
}

#[test]
fn steps_that_are_recorded_and_steps_that_are_submitted_take_turns_in_one_epoch() {
    let mut engine = broad_phase(CANONICAL);
    engine.reserve(3000, 40_000).unwrap();
    let still = Motion::Still.boxes(3000, 0.9, 1, 0);
    let (mut checked, mut of_recorded) = (Checked::default(), Oracle::default());
    with_epochs(&mut engine, |engine| {
        for number in 0..12 {
            let frame = Frame::of(some_elsewhere(&still, 120, number));
            if number % 3 == 1 {
                let events = record(engine, &frame).unwrap();
                of_recorded.check_pairs(&frame, canonical(&frame.boxes), &events, &format!("recorded, step {number}"));
            } else {
                checked.find(engine, &frame.boxes, "submitted");
            }
        }
    });
    let [_, begun, left, _] = checked.counts();
    assert!(begun + left > 5, "{:?}", checked.works);
}

#[test]
fn nothing_is_kept_with_a_budget_or_in_the_order_of_the_sweep() {
    let still = Motion::Still.boxes(3000, 0.9, 1, 0);
    let budget = Options { memory_budget: Some(1 << 28), ..CANONICAL };
    for options in [budget, Options { order: PairOrder::Sweep, ..CANONICAL }] {
        let mut engine = engine(options);
        let mut checked = Checked::default();
        for _ in 0..4 {
            checked.find(&mut engine, &still, "not kept");
        }
        assert_eq!(checked.counts(), [4, 0, 0, 0]);
        assert!(epoch_on_gpu(&engine).is_none());
    }
    let mut engine = engine(CANONICAL);
    for _ in 0..4 {
        engine.find_events(&still).unwrap();
    }
    assert!(!engine.events().report.work.searched && epoch_on_gpu(&engine).is_some());
    engine.forget_steps();
    assert!(epoch_on_gpu(&engine).is_none());
}
