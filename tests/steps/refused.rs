//! Steps that are refused do not count.

use broadsweep::{Aabb, Engine, Error, Filters, Pair, Step, cpu};
use laboratory::scenes::{Kind, Motion};

use crate::common::{CANONICAL, broad_phase};
use crate::oracle::{Frame, Oracle};

fn cube(x: f32) -> Aabb {
    Aabb::new([x, 0.0, 0.0], [x + 1.0, 1.0, 1.0])
}

fn is_bad(error: &Error, name: &str, words: &str) -> bool {
    matches!(error, Error::BadStep { list, problem } if *list == name && problem.contains(words))
}

/// Checks that after refusals the next step is compared with the last one that was not refused.
fn check(engine: &mut impl Engine) {
    let boxes = [cube(0.0), cube(0.5), cube(5.0)];
    engine.find_events(Step::from(&boxes)).unwrap();
    let moved = [cube(0.0), cube(4.5), cube(5.0)];
    let refused = engine.find_events(Step::new(&moved).with_generations(&[0])).unwrap_err();
    assert!(is_bad(&refused, "generations", "has 1 elements, and there are 3 boxes"), "{refused}");
    assert!(engine.events().created.is_empty() && engine.events().lost.is_empty());
    for (was, words) in [
        (&[0, 1][..], "has 2 elements"),
        (&[0, 1, 3], "has 3 for box 2, and the last step had 3 boxes"),
        (&[2, 0, 2], "has 2 for box 2, and for another box too"),
    ] {
        let refused = engine.find_events(Step::new(&moved).rebased(was)).unwrap_err();
        assert!(is_bad(&refused, "was", words), "{refused}");
    }
    engine.set_filters(Filters::default().with_group(vec![1; 2])).unwrap();
    assert!(matches!(engine.find_events(Step::from(&moved)), Err(Error::FilterLength { .. })));
    engine.set_filters(Filters::default()).unwrap();
    let events = engine.find_events(Step::from(&moved)).unwrap();
    assert_eq!((&events.created[..], &events.lost[..]), (&[Pair::new(1, 2)][..], &[Pair::new(0, 1)][..]));

    // A search that is refused, in a scene that is swept.
    let first = Kind::Brownian.generate_step(3000, 1, 10);
    let next = Kind::Brownian.generate_step(3000, 1, 11);
    engine.find_events(Step::from(&first)).unwrap();
    let options = *engine.options();
    engine.set_options(options.with_candidate_limit(10)).unwrap();
    assert!(matches!(engine.find_events(Step::from(&next)), Err(Error::TooManyCandidates { .. })));
    engine.set_options(options).unwrap();
    let pairs = engine.events().pairs.clone();
    let events = engine.find_events(Step::from(&next)).unwrap().clone();
    assert_eq!(events.report.persisting_count + events.report.lost_count, pairs.len() as u64);
    // Other calls between two steps do not count either.
    engine.find_pairs(&first).unwrap();
    engine.find_pairs_between(&first[..10], &next[..10]).unwrap();
    let again = engine.find_events(Step::from(&next)).unwrap();
    assert_eq!((again.created.len(), again.lost.len(), &again.pairs), (0, 0, &events.pairs));
    engine.forget_steps();
}

#[test]
fn a_step_that_is_refused_in_an_epoch_does_not_count_and_one_that_takes_too_many_tests_is() {
    let make = |step| Motion::Slow.boxes(3000, 2.0, 1, step);
    let mut engine = cpu::BroadPhase::new(CANONICAL).unwrap();
    let mut oracle = Oracle::default();
    let mut check = |engine: &mut cpu::BroadPhase, boxes: Vec<Aabb>, what: &str| {
        let pairs = cpu::find_pairs(&boxes, &CANONICAL).unwrap().pairs;
        let frame = Frame::of(boxes);
        let events = engine.find_events(frame.step()).unwrap();
        oracle.check_pairs(&frame, pairs, events, what);
        events.report.work
    };
    for step in 0..4 {
        check(&mut engine, make(step), "before");
    }
    assert!(!engine.events().report.work.searched);
    // Cached pairs are tested too.
    engine.set_options(CANONICAL.with_candidate_limit(100)).unwrap();
    assert!(matches!(engine.find_events(&make(4)), Err(Error::TooManyCandidates { .. })));
    assert!(engine.events().created.is_empty() && !engine.events().pairs.is_empty());
    engine.set_options(CANONICAL).unwrap();
    // The step that was refused, again.
    for step in 4..12 {
        check(&mut engine, make(step), "after");
    }
    assert!(!engine.events().report.work.searched);
    // Many boxes in one place.
    let mut heap = make(11);
    heap.iter_mut().step_by(10).for_each(|aabb| *aabb = Aabb::new([0.0; 3], [1.0; 3]));
    engine.set_options(CANONICAL.with_candidate_limit(30_000)).unwrap();
    assert!(matches!(engine.find_events(&heap), Err(Error::TooManyCandidates { .. })));
    engine.set_options(CANONICAL).unwrap();
    check(&mut engine, heap, "at last");
}

#[test]
fn refused_steps_do_not_count_on_the_cpu() {
    check(&mut cpu::BroadPhase::new(CANONICAL).unwrap());
}

#[test]
fn refused_steps_do_not_count_on_the_gpu() {
    check(&mut *broad_phase(CANONICAL));
}
