//! A margin of grown boxes that the caller chose: pairs are kept however fast boxes move.

use broadsweep::internals::steps::{begin_epochs_from, begin_epochs_on_gpu_from};
use broadsweep::{BroadPhase, Engine, Error, Options, StepWork, cpu};
use laboratory::scenes::Motion;

use crate::common::{CANONICAL, GPU};
use crate::oracle::{Frame, Oracle};
use crate::recorded::record;

const BOXES: usize = 5000;
const STEPS: u32 = 10;

fn frame(number: u32) -> Frame {
    Frame::of(Motion::Brisk.boxes(BOXES, 0.9, 1, number))
}

/// Counts the steps that began an epoch, and those in which not all boxes were searched.
fn counts(works: &[StepWork]) -> [usize; 2] {
    let count = |is: fn(&StepWork) -> bool| works.iter().filter(|work| is(work)).count();
    [count(|work| work.began_epoch), count(|work| !work.searched)]
}

fn found(engine: &mut impl Engine, margin: Option<f32>) -> [usize; 2] {
    engine.set_options(Options { step_margin: margin, ..CANONICAL }).unwrap();
    engine.forget_steps();
    let mut oracle = Oracle::default();
    let run = |number| {
        let (frame, what) = (frame(number), format!("step {number}, {margin:?}"));
        let events = engine.find_events(&frame.boxes).unwrap();
        oracle.check(&frame, events, &what);
        events.report.work
    };
    counts(&(0..STEPS).map(run).collect::<Vec<_>>())
}

#[test]
fn pairs_of_fast_boxes_are_kept_with_a_margin_that_is_as_large() {
    let mut on_cpu = cpu::BroadPhase::new(CANONICAL).unwrap();
    begin_epochs_from(&mut on_cpu, 8);
    let mut on_gpu = BroadPhase::new(&GPU, CANONICAL).unwrap();
    begin_epochs_on_gpu_from(&mut on_gpu, 1);
    on_gpu.reserve(BOXES, 200_000).unwrap();
    for (margin, has_epochs) in [(None, false), (Some(0.4), true), (Some(f32::MIN_POSITIVE / 4.0), false)] {
        for (engine, [began, kept]) in [("cpu", found(&mut on_cpu, margin)), ("gpu", found(&mut on_gpu, margin))] {
            println!("{engine}, {margin:?}: {began}, {kept}");
            // One that no box stays within is as good as none.
            assert_eq!(
                (began > 0 && kept as u32 >= STEPS / 3, kept > 0),
                (has_epochs, has_epochs),
                "{margin:?}: {began}, {kept}"
            );
        }
    }
    on_gpu.set_options(Options { step_margin: Some(0.4), ..CANONICAL }).unwrap();
    let mut oracle = Oracle::default();
    let recorded = |number| {
        let events = record(&mut on_gpu, &frame(number)).unwrap();
        oracle.check(&frame(number), &events, &format!("recorded step {number}"));
        on_gpu.last_work().expect("it has run")
    };
    let [began, kept] = counts(&(0..STEPS).map(recorded).collect::<Vec<_>>());
    assert!(began > 0 && kept as u32 >= STEPS / 3, "{began}, {kept}");
}

/// Where a margin had no room, a smaller one has some.
#[test]
fn another_margin_is_tried_anew() {
    let mut engine = BroadPhase::new(&GPU, CANONICAL).unwrap();
    begin_epochs_on_gpu_from(&mut engine, 1);
    engine.reserve(BOXES, 150_000).unwrap();
    let mut oracle = Oracle::default();
    let mut works = |engine: &mut BroadPhase, margin: f32, steps: std::ops::Range<u32>| -> Vec<StepWork> {
        engine.set_options(Options { step_margin: Some(margin), ..CANONICAL }).unwrap();
        let run = |number| {
            let events = record(engine, &frame(number)).unwrap();
            oracle.check(&frame(number), &events, &format!("step {number}, {margin}"));
            engine.last_work().expect("it has run")
        };
        steps.map(run).collect()
    };
    assert_eq!(counts(&works(&mut engine, 30.0, 0..5)), [0, 0], "each with all others");
    let [began, kept] = counts(&works(&mut engine, 0.4, 5..15));
    assert!(began > 0 && kept >= 3, "{began}, {kept}");
}

#[test]
fn a_margin_that_is_none_is_refused() {
    for margin in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let options = Options { step_margin: Some(margin), ..CANONICAL };
        let refused = [cpu::BroadPhase::new(options).err(), BroadPhase::new(&GPU, options).err()];
        for error in refused {
            assert!(matches!(error, Some(Error::BadOption { option: "step_margin", .. })), "{error:?}");
        }
    }
}
