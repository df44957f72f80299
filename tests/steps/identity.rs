//! Boxes that are renamed, and slots that are used again.

use broadsweep::filter::Attribute;
use broadsweep::step::Places;
use broadsweep::{Aabb, Filters, Options, Pair, Step, cpu};
use laboratory::scenes::Motion;

use crate::common::CANONICAL;
use crate::oracle::{Frame, Oracle};

fn cube(x: f32) -> Aabb {
    Aabb::new([x, 0.0, 0.0], [x + 1.0, 1.0, 1.0])
}

fn engine() -> cpu::BroadPhase {
    cpu::BroadPhase::new(Options::default()).unwrap()
}

#[test]
fn a_slot_that_is_used_again_loses_its_pairs_and_creates_them() {
    let (mut engine, boxes) = (engine(), [cube(0.0), cube(0.5), cube(0.75)]);
    engine.find_events(Step::new(&boxes).with_generations(&[0, 0, 0])).unwrap();
    let events = engine.find_events(Step::new(&boxes).with_generations(&[0, 1, 0])).unwrap();
    let of_slot = [Pair::new(0, 1), Pair::new(1, 2)];
    assert_eq!((&events.created[..], &events.lost[..]), (&of_slot[..], &of_slot[..]));
    assert_eq!(events.persisting, [Pair::new(0, 2)]);
    assert_eq!(events.before, Places::from_iter([None, Some(1), None]));
    // The same number again: the same box. A step without numbers does not touch them.
    for step in [Step::new(&boxes).with_generations(&[0, 1, 0]), Step::new(&boxes)] {
        let events = engine.find_events(step).unwrap();
        assert!(events.created.is_empty() && events.lost.is_empty());
    }
    let events = engine.find_events(Step::new(&boxes).with_generations(&[7, 1, 0])).unwrap();
    assert_eq!(events.lost, [Pair::new(0, 1), Pair::new(0, 2)]);
}

#[test]
fn boxes_that_are_moved_in_the_array_keep_their_pairs_and_those_that_are_gone_lose_theirs_by_their_old_names() {
    let mut engine = engine();
    engine.find_events(&[cube(0.0), cube(0.5), cube(0.75), cube(9.0)]).unwrap();
    // Box 1 was removed by putting the last one in its place, and a new one follows.
    let boxes = [cube(0.0), cube(9.0), cube(0.75), cube(9.5)];
    let events = engine.find_events(Step::new(&boxes).rebased(&[0, 3, 2, Step::NEW])).unwrap();
    assert_eq!(events.pairs, [Pair::new(0, 2), Pair::new(1, 3)]);
    assert_eq!(events.before, Places::from_iter([Some(1), None]));
    assert_eq!(events.created, [Pair::new(1, 3)]);
    assert_eq!(events.lost, [Pair::new(0, 1), Pair::new(1, 2)]);
    // Backwards.
    let boxes = [cube(9.5), cube(0.75), cube(9.0), cube(0.0)];
    let events = engine.find_events(Step::new(&boxes).rebased(&[3, 2, 1, 0])).unwrap();
    assert_eq!(events.pairs, [Pair::new(0, 2), Pair::new(1, 3)]);
    assert_eq!(events.before, Places::from_iter([Some(1), Some(0)]));
    assert!(events.created.is_empty() && events.lost.is_empty());
}

#[test]
fn falling_asleep_and_waking_create_and_lose_nothing_and_rest_is_not_listed() {
    let (mut engine, boxes) = (engine(), [cube(0.0), cube(0.5), cube(0.75)]);
    let all = [Pair::new(0, 1), Pair::new(0, 2), Pair::new(1, 2)];
    let mut list = |sleeping: [bool; 3], fixed: [bool; 3]| {
        let filters = Filters::default().with_sleeping(sleeping.to_vec()).with_fixed(fixed.to_vec());
        engine.set_filters(filters).unwrap();
        let events = engine.find_events(&boxes).unwrap();
        assert_eq!(events.pairs, all);
        let report = &events.report;
        assert_eq!((report.lost_count, report.created_count + report.persisting_count), (0, 3));
        events.persisting.clone()
    };
    assert!(list([false; 3], [false; 3]).is_empty());
    assert_eq!(list([true, false, true], [false; 3]), [all[0], all[2]]);
    assert!(list([true; 3], [false; 3]).is_empty());
    // Boxes that sleep on the fixed ground rest.
    assert_eq!(list([true, false, false], [false, true, false]), [all[1], all[2]]);
    assert_eq!(list([false; 3], [false; 3]), all);
    // The filters are as they were set.
    assert_eq!(engine.filters().sleeping, [false; 3]);
}

#[test]
fn a_step_of_changes_alone_lists_no_pairs_that_persist() {
    let (mut engine, boxes) = (engine(), [cube(0.0), cube(0.5)]);
    engine.find_events(Step::new(&boxes).changes_only()).unwrap();
    let events = engine.find_events(Step::new(&boxes).changes_only()).unwrap();
    assert!(events.persisting.is_empty() && events.before.is_empty());
    assert_eq!((events.report.persisting_count, events.pairs.len()), (1, 1));
    assert_eq!(engine.find_events(&boxes).unwrap().before, Places::from_iter([Some(0)]));
    engine.forget_steps();
    assert_eq!(engine.find_events(&boxes).unwrap().created.len(), 1);
}

#[test]
fn worlds_that_are_numbered_again_in_an_epoch_are_queried_by_their_new_numbers() {
    let n = 2000;
    let mut engine = cpu::BroadPhase::new(CANONICAL).unwrap();
    let mut oracle = Oracle::default();
    let mut frame = Frame::of(Motion::Few.boxes(n, 8.0, 1, 0));
    frame.filters.world = (0..n as u32).map(|i| i % 5).collect();
    engine.set_filters(frame.filters.clone()).unwrap();
    let mut left_padding = 0;
    for number in 0..24 {
        // Some boxes leave in every step.
        for i in (number..n).step_by(300) {
            frame.boxes[i] = frame.boxes[(i + 7 * number + 1) % n];
        }
        if number % 6 == 5 {
            let (first, end) = (70 * number, 70 * number + 20);
            for (i, world) in (first..).zip(&mut frame.filters.world[first..end]) {
                *world = [(100 + number + i) as u32, 2, Filters::GLOBAL][i % 3];
            }
            engine.change_filters(first, Attribute::World(&frame.filters.world[first..end])).unwrap();
        }
        let events = engine.find_events(frame.step()).unwrap();
        left_padding += events.report.work.left_padding_count;
        oracle.check(&frame, events, &format!("step {number}"));
    }
    assert!(left_padding > 50, "{left_padding}");
}
