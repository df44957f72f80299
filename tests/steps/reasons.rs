//! Why all boxes of a step were searched.

use broadsweep::filter::Attribute;
use broadsweep::step::SearchReason as Reason;
use broadsweep::{Aabb, BroadPhase, Engine, Filters, Options, Step, cpu};

use crate::common::GPU;

/// Boxes in a row, each of which meets the next.
fn row(count: usize) -> Vec<Aabb> {
    (0..count).map(|i| Aabb::new([0.75 * i as f32, 0.0, 0.0], [0.75 * i as f32 + 1.0, 1.0, 1.0])).collect()
}

/// Moves every so many boxes along z.
fn shift(boxes: &mut [Aabb], every: usize, way: f32) {
    for aabb in boxes.iter_mut().step_by(every) {
        aabb.min[2] += way;
        aabb.max[2] += way;
    }
}

fn engine(options: Options) -> cpu::BroadPhase {
    cpu::BroadPhase::new(options).unwrap()
}

/// Returns why all boxes of a step were searched, and whether its pairs are cached.
fn step(engine: &mut impl Engine, boxes: &[Aabb]) -> (Option<Reason>, bool) {
    let work = engine.find_events(Step::from(boxes)).unwrap().report.work;
    assert_eq!(work.searched, work.reason.is_some());
    (work.reason, work.began_epoch || !work.searched)
}

const CACHED: (Option<Reason>, bool) = (None, true);

fn searched(reason: Reason) -> (Option<Reason>, bool) {
    (Some(reason), false)
}

fn began(reason: Reason) -> (Option<Reason>, bool) {
    (Some(reason), true)
}

#[test]
fn the_first_step_and_those_of_other_or_few_boxes_say_that_they_are_that() {
    let mut engine = engine(Options::default());
    assert_eq!(step(&mut engine, &row(2000)), searched(Reason::FirstStep));
    assert_eq!(step(&mut engine, &row(2000)), began(Reason::FirstStep));
    assert_eq!(step(&mut engine, &row(2000)), CACHED);
    assert_eq!(step(&mut engine, &row(1000)), searched(Reason::FewBoxes));
    for count in [2000, 2001] {
        assert_eq!(step(&mut engine, &row(count)), searched(Reason::BoxCountChanged));
    }
    assert_eq!(step(&mut engine, &row(2001)), began(Reason::BoxCountChanged));
    engine.forget_steps();
    assert_eq!(step(&mut engine, &row(2001)), searched(Reason::FirstStep));
    engine.set_options(Options::default().with_candidate_limit(1)).unwrap();
    assert!(engine.find_events(&row(2001)).is_err());
    engine.set_options(Options::default()).unwrap();
    assert_eq!(step(&mut engine, &row(2001)), searched(Reason::FirstStep));
}

#[test]
fn where_a_tenth_of_the_boxes_falls_freely_they_are_too_fast_unless_a_margin_is_set() {
    let mut boxes = row(2000);
    let mut engine = engine(Options::default());
    step(&mut engine, &boxes);
    for _ in 0..3 {
        shift(&mut boxes, 10, -0.05);
        assert_eq!(step(&mut engine, &boxes), searched(Reason::TooFast));
    }
    engine.set_options(Options::default().with_step_margin(Some(0.5))).unwrap();
    shift(&mut boxes, 10, -0.05);
    assert_eq!(step(&mut engine, &boxes), began(Reason::TooFast));
    for _ in 0..3 {
        shift(&mut boxes, 10, -0.05);
        assert_eq!(step(&mut engine, &boxes), CACHED);
    }
}

#[test]
fn filters_that_are_set_end_an_epoch_and_those_that_are_changed_do_not() {
    let boxes = row(2000);
    let mut engine = engine(Options::default());
    let filters = Filters::default().with_group(vec![1; 2000]).with_world(vec![0; 2000]);
    engine.set_filters(filters.clone()).unwrap();
    assert_eq!([0; 3].map(|_| step(&mut engine, &boxes))[2], CACHED);
    engine.change_filters(7, Attribute::Group(&[2])).unwrap();
    assert_eq!(step(&mut engine, &boxes), CACHED);
    engine.change_filters(7, Attribute::World(&[2])).unwrap();
    assert_eq!(step(&mut engine, &boxes), began(Reason::FiltersChanged));
    assert_eq!(step(&mut engine, &boxes), CACHED);
    engine.set_filters(filters).unwrap();
    assert_eq!(step(&mut engine, &boxes), began(Reason::FiltersChanged));
}

#[test]
fn an_epoch_ends_where_many_boxes_leave_or_padded_boxes_have_too_many_pairs() {
    let mut boxes = row(2000);
    let mut slow = engine(Options::default().with_step_margin(Some(0.25)));
    assert_eq!(step(&mut slow, &boxes), began(Reason::FirstStep));
    shift(&mut boxes, 4, 3.0);
    assert_eq!(step(&mut slow, &boxes), searched(Reason::ManyLeftPadding));
    assert_eq!(step(&mut slow, &boxes), began(Reason::ManyLeftPadding));
    let mut wide = engine(Options::default().with_step_margin(Some(500.0)));
    for _ in 0..3 {
        assert_eq!(step(&mut wide, &boxes), searched(Reason::TooManyPairs));
    }
}

#[test]
fn every_step_of_a_gpu_and_of_a_stream_is_a_search() {
    let boxes = row(70);
    let mut on_gpu = BroadPhase::new(&GPU, Options::default()).unwrap();
    for _ in 0..2 {
        assert_eq!(step(&mut on_gpu, &boxes), searched(Reason::Always));
    }
    let mut streamed = engine(Options::default());
    let report = streamed.stream_events(&boxes, |_, _| Ok::<_, broadsweep::Error>(())).unwrap();
    assert_eq!(report.work.reason.map(Reason::name), Some("always"));
}
