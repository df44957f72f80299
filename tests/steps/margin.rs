//! A margin of the caller for padded boxes: pairs are cached at any speed of the boxes.

use broadsweep::internals::steps::begin_epochs_from;
use broadsweep::step::StepWork;
use broadsweep::{BroadPhase, Engine, Error, Step, cpu};
use laboratory::scenes::Motion;

use crate::common::{CANONICAL, GPU, recorder};
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
    engine.set_options(CANONICAL.with_step_margin(margin)).unwrap();
    engine.forget_steps();
    let mut oracle = Oracle::default();
    let run = |number| {
        let (frame, what) = (frame(number), format!("step {number}, {margin:?}"));
        let events = engine.find_events(Step::from(&frame.boxes)).unwrap();
        oracle.check(&frame, events, &what);
        events.report.work
    };
    counts(&(0..STEPS).map(run).collect::<Vec<_>>())
}

#[test]
#[ignore = "long"]
fn pairs_of_fast_boxes_are_cached_with_a_margin_that_is_as_large() {
    let mut engine = cpu::BroadPhase::new(CANONICAL).unwrap();
    begin_epochs_from(&mut engine, 8);
    for (margin, has_epochs) in [(None, false), (Some(0.4), true), (Some(f32::MIN_POSITIVE / 4.0), false)] {
        let [began, cached] = found(&mut engine, margin);
        println!("{margin:?}: {began}, {cached}");
        // One that no box stays within is as good as none.
        assert_eq!(
            (began > 0 && cached as u32 >= STEPS / 3, cached > 0),
            (has_epochs, has_epochs),
            "{margin:?}: {began}, {cached}"
        );
    }
}

#[test]
#[ignore = "long"]
fn a_margin_changes_nothing_on_a_gpu() {
    let mut engine = BroadPhase::new(&GPU, CANONICAL).unwrap();
    for margin in [None, Some(0.4), Some(30.0)] {
        assert_eq!(found(&mut engine, margin), [0, 0], "{margin:?}: steps are searches");
        let mut recorder = recorder(CANONICAL.with_step_margin(margin));
        let mut oracle = Oracle::default();
        for number in 0..3 {
            let events = record(&mut recorder, &frame(number)).unwrap();
            oracle.check(&frame(number), &events, &format!("recorded step {number}, {margin:?}"));
        }
    }
}

#[test]
fn a_margin_that_is_none_is_refused() {
    for margin in [0.0, -1.0, f32::NAN, f32::INFINITY] {
        let options = CANONICAL.with_step_margin(Some(margin));
        let refused = [cpu::BroadPhase::new(options).err(), BroadPhase::new(&GPU, options).err()];
        for error in refused {
            assert!(matches!(error, Some(Error::BadOption { option: "step_margin", .. })), "{error:?}");
        }
    }
}
