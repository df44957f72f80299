//! Steps that are submitted, and events that are taken later.

use broadsweep::filter::Attribute;
use broadsweep::{Aabb, BroadPhase, Error, Events, Filters, Gpu, Options, Pair, PairOrder, Step, cpu, wgpu};
use laboratory::scenes::{Kind, Motion};

use crate::common::{CANONICAL, GPU, broad_phase, device_with};
use crate::oracle::{Frame, Oracle};
use crate::recorded::canonical;

pub fn wait(engine: &mut BroadPhase) -> Result<Events, Error> {
    loop {
        if let Some(events) = engine.submissions().try_take_events()? {
            return Ok(events.clone());
        }
    }
}

fn same(found: &Events, expected: &Events, what: &str) {
    assert_eq!(found.report.created_count, expected.report.created_count, "{what}");
    let mut expected = expected.clone();
    expected.report.work = found.report.work;
    assert!(*found == expected, "{what}: {:?} instead of {:?}", found.report, expected.report);
}

#[test]
fn steps_in_flight_have_the_events_of_steps_that_are_waited_for() {
    let n = 3000;
    for order in [PairOrder::Canonical, PairOrder::Sweep] {
        let mut engine = broad_phase(CANONICAL.with_order(order));
        engine.forget_steps();
        let mut expected = cpu::BroadPhase::new(Options::default()).unwrap();
        let boxes: Vec<Vec<Aabb>> = (0..6).map(|step| Motion::Brisk.boxes(n, 2.0, 1, step)).collect();
        let turned: Vec<u32> = (0..n as u32).map(|i| (i + 7) % n as u32).collect();
        let reused: Vec<u32> = (0..n as u32).map(|i| u32::from(i % 40 == 3)).collect();
        let step = |number: usize| match number {
            2 => Step::new(&boxes[2][..2500]),
            3 => Step::new(&boxes[3]).with_generations(&reused),
            4 => Step::new(&boxes[4]).rebased(&turned),
            _ => Step::new(&boxes[number]),
        };
        let sleeping: Vec<bool> = (0..n).map(|i| i % 2 == 0).collect();
        engine.submissions().submit_events(step(0)).unwrap();
        for number in 0..6 {
            if number < 5 {
                // Two in flight.
                engine.submissions().submit_events(step(number + 1)).unwrap();
                assert_eq!(engine.submissions().submit_events(step(0)).unwrap_err(), Error::Busy);
            }
            same(&wait(&mut engine).unwrap(), expected.find_events(step(number)).unwrap(), &format!("step {number}"));
        }
        assert_eq!(engine.submissions().try_take_events().unwrap_err(), Error::NothingSubmitted);
        // Blocking steps continue the sequence of submitted steps. Sleeping flags are ignored.
        let filters = Filters::default().with_sleeping(sleeping);
        engine.set_filters(filters.clone()).unwrap();
        expected.set_filters(filters).unwrap();
        engine.submissions().submit_events(step(0)).unwrap();
        let found = pollster::block_on(engine.submissions().take_events()).unwrap().clone();
        same(&found, expected.find_events(step(0)).unwrap(), "asleep");
        same(engine.find_events(step(1)).unwrap(), expected.find_events(step(1)).unwrap(), "found");
        engine.set_filters(Filters::default()).unwrap();
    }
}

#[test]
fn a_step_that_fails_in_flight_does_not_count() {
    let together = vec![Aabb::new([0.0; 3], [1.0; 3]); 3000];
    let boxes: Vec<Vec<Aabb>> = (0..3).map(|step| Motion::Brisk.boxes(2500, 0.5, 1, step)).collect();
    let options = CANONICAL.with_candidate_limit(100_000);
    let mut engine = broad_phase(options);
    engine.forget_steps();
    let mut expected = cpu::BroadPhase::new(Options::default()).unwrap();
    engine.submissions().submit_events(&boxes[0]).unwrap();
    engine.submissions().submit_events(&together).unwrap();
    same(&wait(&mut engine).unwrap(), expected.find_events(&boxes[0]).unwrap(), "first");
    // It follows one that will have failed.
    engine.submissions().submit_events(&boxes[1]).unwrap();
    assert!(matches!(wait(&mut engine), Err(Error::TooManyCandidates { .. })));
    assert!(engine.events().created.is_empty() && !engine.events().pairs.is_empty());
    same(&wait(&mut engine).unwrap(), expected.find_events(&boxes[1]).unwrap(), "third");
    // The boxes are checked against the step that they follow, and then against the step that they are compared with.
    engine.submissions().submit_events(&together).unwrap();
    let was: Vec<u32> = (500..3000).collect();
    let error = engine.submissions().submit_events(Step::new(&boxes[2]).rebased(&[3000; 2500])).unwrap_err();
    assert!(matches!(error, Error::BadStep { list: "was", .. }), "{error}");
    engine.submissions().submit_events(Step::new(&boxes[2]).rebased(&was)).unwrap();
    assert!(matches!(wait(&mut engine), Err(Error::TooManyCandidates { .. })));
    let error = wait(&mut engine).unwrap_err();
    assert!(matches!(error, Error::BadStep { list: "was", .. }), "{error}");
    assert_eq!(wait(&mut engine).unwrap_err(), Error::NothingSubmitted);
    same(engine.find_events(&boxes[2]).unwrap(), expected.find_events(&boxes[2]).unwrap(), "last");
}

#[test]
fn steps_and_searches_in_flight_do_not_mix() {
    let boxes = Motion::Brisk.boxes(500, 0.5, 1, 0);
    let mut engine = BroadPhase::new(&GPU, CANONICAL).unwrap();
    engine.submissions().submit(&boxes).unwrap();
    assert_eq!(engine.submissions().submit_events(&boxes).unwrap_err(), Error::Busy);
    assert_eq!(engine.submissions().try_take_events().unwrap_err(), Error::NothingSubmitted);
    while engine.submissions().try_take().unwrap().is_none() {}
    let pairs = engine.last_overlaps().pairs.clone();
    engine.submissions().submit_events(&boxes).unwrap();
    assert_eq!(engine.submissions().submit(&boxes).unwrap_err(), Error::Busy);
    assert_eq!(engine.find_events(&boxes).unwrap_err(), Error::Busy);
    assert_eq!(engine.submissions().try_take().unwrap_err(), Error::NothingSubmitted);
    assert_eq!(wait(&mut engine).unwrap().created, pairs);
    let gpu = device_with(Gpu::required_limits());
    let mut lost = BroadPhase::new(&gpu, CANONICAL).unwrap();
    lost.submissions().submit_events(&boxes).unwrap();
    gpu.device().destroy();
    let first = wait(&mut lost).map(|events| events.created);
    assert!(matches!(first, Err(Error::DeviceLost { .. })) || first == Ok(pairs), "{first:?}");
    assert_eq!(lost.submissions().try_take_events().unwrap_err(), Error::NothingSubmitted);
}

/// Boxes of a crowd.
const CROWDED: usize = 3000;

/// Creates steps of boxes that are far apart, except for the boxes at two places. In the last steps more boxes come to
/// one place: more pairs than the capacity.
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

/// Checks the capacity for the pairs of all steps but those in which the second place is full.
fn check_capacity(engine: &BroadPhase) {
    let capacity = engine.memory_plan(CROWDED).unwrap().pair_capacity as usize;
    assert!((canonical(&crowd(4)).len()..canonical(&crowd(5)).len()).contains(&capacity), "{capacity}");
}

/// Checks the events of boxes alone against searches from nothing.
fn check(oracle: &mut Oracle, boxes: &[Aabb], events: &Events, what: &str) {
    oracle.check_pairs(&Frame::of(boxes.to_vec()), canonical(boxes), events, what);
}

#[test]
fn steps_whose_pairs_do_not_fit_are_whole_once_the_list_is_longer() {
    for in_flight in [false, true] {
        let mut engine = BroadPhase::new(&GPU, CANONICAL).unwrap();
        let mut oracle = Oracle::default();
        for number in 3..5 {
            check(&mut oracle, &crowd(number), engine.find_events(&crowd(number)).unwrap(), "apart");
        }
        check_capacity(&engine);
        if in_flight {
            engine.submissions().submit_events(&crowd(5)).unwrap();
            engine.submissions().submit_events(&crowd(4)).unwrap();
            check(&mut oracle, &crowd(5), &wait(&mut engine).unwrap(), "in flight");
            check(&mut oracle, &crowd(4), &wait(&mut engine).unwrap(), "behind");
        } else {
            check(&mut oracle, &crowd(5), engine.find_events(&crowd(5)).unwrap(), "waited for");
        }
        check(&mut oracle, &crowd(5), engine.find_events(&crowd(5)).unwrap(), "at last");
    }
}

#[test]
#[ignore = "long"]
fn steps_with_lists_in_pieces_have_the_right_events() {
    let limits = wgpu::Limits { max_storage_buffer_binding_size: 4 << 20, ..Gpu::required_limits() };
    let mut engine = BroadPhase::new(&device_with(limits), CANONICAL).unwrap();
    let boxes = Kind::Identical.generate(1200, 1);
    let mut oracle = Oracle::default();
    for number in 0..3 {
        check(&mut oracle, &boxes[number..], engine.find_events(&boxes[number..]).unwrap(), "in pieces");
    }
    check(&mut oracle, &boxes[..300], engine.find_events(&boxes[..300]).unwrap(), "whole");
}

#[test]
fn a_step_that_is_searched_again_has_the_filters_of_its_time() {
    let mut engine = BroadPhase::new(&GPU, CANONICAL).unwrap();
    // As if nobody slept; and nobody of the first crowd meets another one of it.
    let asleep = vec![true; CROWDED];
    let mut filters = Filters::default().with_group(vec![1; CROWDED]).with_sleeping(asleep);
    engine.set_filters(filters.clone()).unwrap();
    engine.find_events(&crowd(4)).unwrap();
    check_capacity(&engine);
    engine.submissions().submit_events(&crowd(5)).unwrap();
    engine.change_filters(0, Attribute::Group(&[0; 100])).unwrap();
    engine.submissions().submit_events(&crowd(4)).unwrap();
    // And another kernel in use.
    filters.group[..100].fill(0);
    filters.sleeping = Vec::new();
    engine.set_filters(filters.with_body((0..CROWDED as u32).collect())).unwrap();
    let first = wait(&mut engine).unwrap();
    assert!(first.pairs == canonical(&crowd(5)), "{:?}", first.report);
    let second = wait(&mut engine).unwrap();
    let meet = |pair: &Pair| pair.b >= 100;
    let expected: Vec<Pair> = canonical(&crowd(4)).into_iter().filter(meet).collect();
    assert!(second.pairs == expected && expected.len() > 1500, "{:?}", second.report);
    assert_eq!(engine.find_events(&crowd(4)).unwrap().pairs, expected);
}
