//! Events in pieces, by both engines: the parts of lists of any length.

use std::panic::{AssertUnwindSafe, catch_unwind};

use broadsweep::filter::HalfSpace;
use broadsweep::{
    Aabb, BroadPhase, CellSize, Engine, Error, Events, Filters, Options, Pair, PairOrder, Step, SweepAxis, cpu,
};
use laboratory::scenes::Motion;

use crate::common::{CANONICAL, GPU, Random, broad_phase, least_budget};
use crate::generated::{Draw, Drawn, Stepped};
use crate::oracle::{Frame, Oracle};
use crate::sequences::run_with;

/// The pieces of a step together, sorted, and the count of pieces.
fn streamed<'a>(engine: &mut impl Engine, step: impl Into<Step<'a>>) -> Result<(Events, usize), Error> {
    let mut events = Events::default();
    let (mut calls, mut first, mut counted, mut pair_count) = (0, None, None, None);
    let step = step.into();
    let report = engine.stream_events(step, |report, piece| {
        calls += 1;
        let whole = (report.box_count, report.first_invalid.clone());
        assert_eq!(*first.get_or_insert(whole.clone()), whole, "known from the first piece on");
        events.pairs.extend_from_slice(piece.pairs);
        let so_far = events.pairs.len() as u64;
        assert!(report.pair_count >= so_far);
        // Whole from the first piece on, or so far where there are several passes.
        assert!(*pair_count.get_or_insert(report.pair_count) == report.pair_count || report.pair_count == so_far);
        events.created.extend_from_slice(piece.created);
        events.persisting.extend_from_slice(piece.persisting);
        events.lost.extend_from_slice(piece.lost);
        if step.counts_first {
            counted.get_or_insert(report.clone());
        } else {
            assert_eq!(report.created_count, events.created.len() as u64);
            assert_eq!(report.lost_count, events.lost.len() as u64);
        }
        assert!(calls == 1 || !piece.pairs.is_empty() || !piece.lost.is_empty());
        Ok::<(), Error>(())
    })?;
    assert!(calls > 0);
    assert!(counted.is_none_or(|counted| counted == report), "counted first");
    assert_eq!(report.created_count, events.created.len() as u64);
    assert_eq!(report.lost_count, events.lost.len() as u64);
    assert_eq!(report.created_count + report.persisting_count, report.pair_count);
    for list in [&mut events.pairs, &mut events.created, &mut events.persisting, &mut events.lost] {
        list.sort_unstable();
    }
    events.report = report;
    Ok((events, calls))
}

/// Compares streams with searches from nothing, and their persisting pairs with those of the CPU engine.
fn check(engine: &mut (impl Engine + Stepped), seeds: std::ops::Range<u64>, draw: Draw) {
    let mut number = 0;
    let base = *engine.options();
    let seen = run_with(engine, base, seeds.clone(), 0, draw, |engine, _, step| {
        number += 1;
        let step = if number % 3 == 0 { step.counts_first() } else { step };
        streamed(engine, step).map(|(events, _)| events)
    });
    let mut own = cpu::BroadPhase::new(base).unwrap();
    let found = run_with(&mut own, base, seeds, 0, draw, |engine, _, step| engine.find_events(step).cloned());
    assert!(seen.persisting == found.persisting && seen.created == found.created && seen.lost == found.lost);
    assert!(seen.created.min(seen.lost).min(seen.persisting) > 100, "{seen:?}");
}

#[test]
fn sequences_that_are_streamed_have_the_right_events_on_the_cpu() {
    check(&mut cpu::BroadPhase::new(Options::default()).unwrap(), 5000..5600, Drawn::any);
}

/// Tests that take minutes on a software driver: `scripts/test.sh --long`.
mod at_length {
    use super::*;

    #[test]
    #[ignore = "takes minutes on a software driver"]
    fn more_sequences_that_are_streamed_have_the_right_events_on_the_gpu() {
        check(&mut *broad_phase(Options::default()), 5620..5660, Drawn::any);
        check(&mut *broad_phase(CANONICAL.with_all_pairs_up_to(Some(0))), 5660..5680, Drawn::any);
    }
}

#[test]
#[ignore = "long"]
fn sequences_that_are_streamed_have_the_right_events_on_the_gpu() {
    check(&mut *broad_phase(Options::default()), 5600..5616, Drawn::few);
    check(&mut *broad_phase(CANONICAL.with_all_pairs_up_to(Some(0))), 5616..5620, Drawn::few);
}

/// Boxes that all overlap, but for those that are elsewhere: more pairs than the budget allows.
fn crowd(n: usize, random: &mut Random) -> Vec<Aabb> {
    let place = |_| {
        let x = if random.below(10) == 0 { 5.0 } else { 0.0 };
        Aabb::new([x, 0.0, 0.0], [x + 1.0, 1.0, 1.0])
    };
    (0..n).map(place).collect()
}

#[test]
fn events_that_fit_no_list_come_in_pieces() {
    let mut random = Random(1);
    let n = 400;
    let options = |order, budget| Options::default().with_order(order).with_memory_budget(Some(budget));
    for order in [PairOrder::Sweep, PairOrder::Canonical] {
        let least = least_budget(&crowd(n, &mut random), order);
        let mut engine = BroadPhase::new(&GPU, options(order, least + 40_000)).unwrap();
        let mut oracle = Oracle::default();
        for number in 0..4 {
            let mut frame = Frame::of(crowd(n, &mut random));
            if number == 2 {
                // The first of them are searched with the filters that they had.
                frame.filters =
                    Filters::default().with_group((0..n).map(|i| 1 << (i % 3)).collect()).with_mask(vec![5; n]);
                engine.set_filters(frame.filters.clone()).unwrap();
            } else if number == 3 {
                engine.set_filters(Filters::default()).unwrap();
            }
            let step = Step::new(&frame.boxes);
            let step = if number % 2 == 1 { step.counts_first() } else { step };
            let (events, pieces) = streamed(&mut engine, step).unwrap();
            oracle.check(&frame, &events, &format!("step {number}, {order:?}"));
            assert!(pieces > 5 && engine.memory_bytes() <= least + 40_000, "{pieces} pieces");
        }
    }
}

#[test]
fn events_of_more_boxes_than_fit_come_slab_by_slab() {
    let (n, density) = (3000, 0.9);
    let frame = |number| Frame::of(Motion::Fast.boxes(n, density, 1, number));
    let budget = least_budget(&frame(0).boxes[..n / 3], PairOrder::Sweep);
    let mut engine = BroadPhase::new(&GPU, Options::default().with_memory_budget(Some(budget))).unwrap();
    assert!(engine.memory_plan(n).is_err());
    let mut oracle = Oracle::default();
    for number in 0..4 {
        let frame = frame(number);
        let step = Step::new(&frame.boxes);
        let (events, _) = streamed(&mut engine, if number % 2 == 0 { step.counts_first() } else { step }).unwrap();
        oracle.check(&frame, &events, &format!("step {number}"));
        assert!(events.created.len() > 100 && (number == 0 || events.lost.len() > 100));
    }
}

/// A step that no longer fits the options does not affect the step before.
fn tightens(engine: &mut impl Engine) {
    let together = vec![Aabb::new([0.0; 3], [1.0; 3]); 300];
    let few = CANONICAL.with_candidate_limit(10);
    assert_eq!(streamed(engine, &together).unwrap().0.created.len(), 300 * 299 / 2);
    engine.set_options(few).unwrap();
    assert!(matches!(streamed(engine, &together[..9]), Err(Error::TooManyCandidates { .. })));
    let (events, _) = streamed(engine, &together[..3]).unwrap();
    assert_eq!((events.pairs.len(), events.lost.len()), (3, 300 * 299 / 2 - 3));
    let refused = streamed(engine, &together[..9]);
    assert!(matches!(refused, Err(Error::TooManyCandidates { .. })), "the limit is what it was");

    // Boxes that are swept along the wrong axis have more candidates than they may.
    let row: Vec<Aabb> =
        (0..300).map(|i| 2.0 * i as f32).map(|y| Aabb::new([0.0, y, 0.0], [1.0, y + 1.0, 1.0])).collect();
    let along = |axis| CANONICAL.with_axis(axis).with_cell_size(CellSize::Fixed(1e6)).with_candidate_limit(1000);
    engine.forget_steps();
    engine.set_options(along(SweepAxis::Y)).unwrap();
    assert!(streamed(engine, &row).unwrap().0.pairs.is_empty());
    engine.set_options(along(SweepAxis::X)).unwrap();
    assert!(
        matches!(streamed(engine, &row), Err(Error::TooManyCandidates { .. })),
        "what was searched is too much now"
    );
    assert_eq!(streamed(engine, &together[..3]).unwrap().0.created.len(), 3);
    assert_eq!(*engine.options(), along(SweepAxis::X));
}

#[test]
fn a_step_may_be_larger_than_the_next_one_may() {
    tightens(&mut cpu::BroadPhase::new(CANONICAL).unwrap());
    tightens(&mut BroadPhase::new(&GPU, CANONICAL).unwrap());
}

fn panics(engine: &mut impl Engine) {
    let cube = |x: f32| Aabb::new([x, 0.0, 0.0], [x + 1.0, 1.0, 1.0]);
    let boxes = [cube(0.0), cube(0.5), cube(0.7)];
    let steps = [vec![1, 1, 1], vec![1, 2, 1]].map(|world| Filters::default().with_world(world));
    for (filters, panics_at) in [(&steps[0], 9), (&steps[1], 2), (&steps[1], 1), (&steps[0], 1)] {
        engine.set_filters(filters.clone()).unwrap();
        let mut calls = 0;
        let panicked = catch_unwind(AssertUnwindSafe(|| {
            engine.stream_events(&boxes[..], |_, _| {
                calls += 1;
                assert!(calls < panics_at, "this one is meant to come");
                Ok::<(), Error>(())
            })
        }));
        assert_eq!((panicked.is_err(), engine.filters()), (panics_at < 9, filters));
        // Nothing is half done: the next step is right, with all of its pairs created or against the last one.
        let mut oracle = Oracle::default();
        let frame = Frame { filters: filters.clone(), ..Frame::of(boxes.to_vec()) };
        engine.forget_steps();
        oracle.check(&frame, &streamed(engine, &boxes).unwrap().0, "after a panic");
        oracle.check(&frame, &streamed(engine, &boxes).unwrap().0, "and again");
    }
    // And without a word of it, too.
    let unlike = catch_unwind(AssertUnwindSafe(|| {
        engine.stream_events(&boxes[..], |_, _| -> Result<(), Error> { panic!("this one is meant to come") })
    }));
    assert!(unlike.is_err());
    // The step before it is still the last one.
    let two = [boxes[0], boxes[1], Aabb::new([f32::NAN; 3], [0.0; 3])];
    let events = streamed(engine, &two).unwrap().0;
    assert!(events.created.is_empty() && events.persisting == [Pair::new(0, 1)], "{events:?}");
    assert_eq!(events.lost, [Pair::new(0, 2), Pair::new(1, 2)]);
}

#[test]
fn a_callback_that_panics_leaves_filters_and_steps_in_order() {
    panics(&mut cpu::BroadPhase::new(Options::default()).unwrap());
    panics(&mut BroadPhase::new(&GPU, Options::default()).unwrap());
}

fn stops(engine: &mut impl Engine) {
    let cube = |x: f32| Aabb::new([x, 0.0, 0.0], [x + 1.0, 1.0, 1.0]);
    let steps = [[cube(0.0), cube(0.5), cube(9.0)], [cube(0.0), cube(5.0), cube(-0.5)]];
    assert_eq!(streamed(engine, &steps[0]).unwrap().0.created.len(), 1);
    let (mut is_stopped, floor) = (0, HalfSpace { index: 2, normal: [0.0, 1.0, 0.0], offset: -9.0 });
    for stop in [1, 2] {
        engine.set_filters(Filters::default().with_half_spaces(vec![floor])).unwrap();
        let mut calls = 0;
        // The second piece is what is lost, found with filters that are no longer in use.
        let stopped = engine.stream_events(&steps[1], |_, _| {
            calls += 1;
            if calls == stop { Err(Error::Busy) } else { Ok(()) }
        });
        is_stopped += usize::from(stopped == Err(Error::Busy));
        assert_eq!(engine.filters().half_spaces, [floor]);
        engine.set_filters(Filters::default()).unwrap();
        // A stopped or refused step does not count.
        for refused in [
            engine.stream_events(Step::new(&steps[1]).moved(&[7]), |_, _| Ok(())),
            engine.stream_events(Step::new(&steps[1]).rebased(&[0, 0, 1]), |_, _| Ok(())),
        ] {
            assert!(matches!(refused, Err(Error::BadStep { .. })), "{refused:?}");
        }
    }
    assert_eq!(is_stopped, 2);
    // Found events are independent of streamed ones.
    assert_eq!(engine.find_events(Step::from(&steps[1])).unwrap().created.len(), 1);
    let (events, calls) = streamed(engine, Step::new(&steps[1]).counts_first()).unwrap();
    assert_eq!((events.created.len(), events.lost.len(), calls), (1, 1, 2));
    // Where nothing changed, nothing is searched twice.
    assert_eq!(streamed(engine, &steps[1]).unwrap().1, 1);
    engine.forget_steps();
    assert_eq!(streamed(engine, &steps[1]).unwrap().0.created.len(), 1);
    assert_eq!(streamed(engine, &steps[0][..0]).unwrap().0.lost.len(), 1);
}

#[test]
fn a_stream_that_is_stopped_does_not_count() {
    stops(&mut cpu::BroadPhase::new(Options::default()).unwrap());
    stops(&mut BroadPhase::new(&GPU, Options::default()).unwrap());
}
