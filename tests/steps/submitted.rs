//! Steps that are submitted, and events that are taken later.

use broadsweep::{Aabb, BroadPhase, Error, Events, Filters, Options, PairOrder, Step, cpu};
use laboratory::scenes::Motion;

use crate::common::{CANONICAL, GPU, broad_phase};

pub fn wait(engine: &mut BroadPhase) -> Result<Events, Error> {
    loop {
        if let Some(events) = engine.try_take_events()? {
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
        let mut engine = broad_phase(Options { order, ..CANONICAL });
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
        engine.submit_events(step(0)).unwrap();
        for number in 0..6 {
            if number < 5 {
                // Two in flight.
                engine.submit_events(step(number + 1)).unwrap();
                assert_eq!(engine.submit_events(step(0)).unwrap_err(), Error::Busy);
            }
            same(&wait(&mut engine).unwrap(), expected.find_events(step(number)).unwrap(), &format!("step {number}"));
        }
        assert_eq!(engine.try_take_events().unwrap_err(), Error::NothingSubmitted);
        // Those that are waited for follow those that were submitted, and go on from them. As if nobody slept.
        let filters = Filters { sleeping, ..Filters::default() };
        engine.set_filters(filters.clone()).unwrap();
        expected.set_filters(filters).unwrap();
        engine.submit_events(step(0)).unwrap();
        let found = pollster::block_on(engine.take_events()).unwrap().clone();
        same(&found, expected.find_events(step(0)).unwrap(), "asleep");
        same(engine.find_events(step(1)).unwrap(), expected.find_events(step(1)).unwrap(), "found");
        engine.set_filters(Filters::default()).unwrap();
    }
}

#[test]
fn a_step_that_fails_in_flight_does_not_count() {
    let together = vec![Aabb::new([0.0; 3], [1.0; 3]); 3000];
    let boxes: Vec<Vec<Aabb>> = (0..3).map(|step| Motion::Brisk.boxes(2500, 0.5, 1, step)).collect();
    let options = Options { candidate_limit: 100_000, ..CANONICAL };
    let mut engine = broad_phase(options);
    engine.forget_steps();
    let mut expected = cpu::BroadPhase::new(Options::default()).unwrap();
    engine.submit_events(&boxes[0]).unwrap();
    engine.submit_events(&together).unwrap();
    same(&wait(&mut engine).unwrap(), expected.find_events(&boxes[0]).unwrap(), "first");
    // It follows one that will have failed.
    engine.submit_events(&boxes[1]).unwrap();
    assert!(matches!(wait(&mut engine), Err(Error::TooManyCandidates { .. })));
    assert!(engine.events().created.is_empty() && !engine.events().pairs.is_empty());
    same(&wait(&mut engine).unwrap(), expected.find_events(&boxes[1]).unwrap(), "third");
    // What is said of its boxes is checked against the step that it follows, and then against the one that it is compared with.
    engine.submit_events(&together).unwrap();
    let was: Vec<u32> = (500..3000).collect();
    let error = engine.submit_events(Step::new(&boxes[2]).rebased(&[3000; 2500])).unwrap_err();
    assert!(matches!(error, Error::BadStep { list: "was", .. }), "{error}");
    engine.submit_events(Step::new(&boxes[2]).rebased(&was)).unwrap();
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
    engine.submit(&boxes).unwrap();
    assert_eq!(engine.submit_events(&boxes).unwrap_err(), Error::Busy);
    assert_eq!(engine.try_take_events().unwrap_err(), Error::NothingSubmitted);
    while engine.try_take().unwrap().is_none() {}
    let pairs = engine.overlaps().pairs.clone();
    engine.submit_events(&boxes).unwrap();
    assert_eq!(engine.submit(&boxes).unwrap_err(), Error::Busy);
    assert_eq!(engine.find_events(&boxes).unwrap_err(), Error::Busy);
    assert_eq!(engine.try_take().unwrap_err(), Error::NothingSubmitted);
    assert_eq!(wait(&mut engine).unwrap().created, pairs);
    let gpu = crate::common::device_with(broadsweep::Gpu::required_limits());
    let mut lost = BroadPhase::new(&gpu, CANONICAL).unwrap();
    lost.submit_events(&boxes).unwrap();
    gpu.device().destroy();
    let first = wait(&mut lost).map(|events| events.created);
    assert!(matches!(first, Err(Error::DeviceLost { .. })) || first == Ok(pairs), "{first:?}");
    assert_eq!(lost.try_take_events().unwrap_err(), Error::NothingSubmitted);
}
