//! Generated sequences of steps in which anything changes.

use std::ops::Range;

use broadsweep::internals::steps::begin_epochs_from;
use broadsweep::{Aabb, BroadPhase, Engine, Error, Events, Filters, Options, PairOrder, Step, cpu};

use crate::common::{Random, broad_phase, recorder};
use crate::generated::{Draw, Drawn, Sequence, Stepped};
use crate::oracle::{Frame, Oracle};
use crate::recorded::record;

/// The steps of a sequence.
const STEPS: usize = 20;

/// Counts of what the steps of sequences did, so that a test can show that it tested something.
#[derive(Debug, Default)]
pub struct Seen {
    pub created: u64,
    pub lost: u64,
    pub persisting: u64,
    pub cached: u64,
    pub left_padding: u64,
    pub began: u64,
    pub edited: u64,
    pub other_options: u64,
}

fn run(engine: &mut (impl Engine + Stepped), seeds: Range<u64>, draw: Draw) -> Seen {
    let base = *engine.options();
    run_with(engine, base, seeds, 0, draw, |engine, _, step| engine.find_events(step).cloned())
}

/// Lists the boxes that differ from the last step, and some others, some of them twice. Of the boxes beyond the last
/// step, it lists none.
pub fn moved_since(last: &[Aabb], boxes: &[Aabb], random: &mut Random) -> Vec<u32> {
    let bits = |aabb: &Aabb| bytemuck::cast::<Aabb, [u32; 6]>(*aabb);
    let is_moved = |(_, (now, then)): &(u32, (&Aabb, &Aabb))| bits(now) != bits(then);
    let mut moved: Vec<u32> = (0..).zip(boxes.iter().zip(last)).filter(is_moved).map(|(i, _)| i).collect();
    for _ in 0..random.below(4) {
        if !boxes.is_empty() {
            moved.push(random.below(boxes.len()) as u32);
        }
        moved.extend(moved.first().copied());
    }
    let third = moved.len() / 3;
    moved.rotate_left(third);
    moved
}

pub fn run_with<E: Stepped>(
    engine: &mut E,
    base: Options,
    seeds: Range<u64>,
    least: usize,
    draw: Draw,
    mut find: impl FnMut(&mut E, &Frame, Step) -> Result<Events, Error>,
) -> Seen {
    let mut seen = Seen::default();
    for seed in seeds {
        engine.forget_steps();
        engine.set_options(base).unwrap();
        engine.set_filters(Filters::default()).unwrap();
        let mut sequence = Sequence::new(seed, least, draw);
        let mut oracle = Oracle::default();
        let (mut last, mut random) = (Vec::new(), Random(seed));
        for number in 0..STEPS {
            let is_refiltered = number == 0 || sequence.advance();
            sequence.apply_filters(engine, is_refiltered);
            seen.other_options += u64::from(sequence.change_options(engine, &base));
            let step = sequence.frame.step();
            let changes_only = seed % 5 == 4 || seed % 5 == 3 && random.below(4) > 0;
            let step = if changes_only { step.changes_only() } else { step };
            let moved = moved_since(&last, &sequence.frame.boxes, &mut random);
            let step = if seed % 3 > 0 { step.moved(&moved) } else { step };
            last.clone_from(&sequence.frame.boxes);
            let events = find(engine, &sequence.frame, step).unwrap_or_else(|error| panic!("{seed}/{number}: {error}"));
            let what = format!("sequence {seed}, step {number}, {:?}", events.report);
            oracle.check(&sequence.frame, &events, &what);
            let report = &events.report;
            seen.created += report.created_count;
            seen.lost += report.lost_count;
            seen.persisting += events.persisting.len() as u64;
            seen.cached += u64::from(!report.work.searched);
            seen.left_padding += u64::from(report.work.left_padding_count);
            seen.began += u64::from(report.work.began_epoch);
            seen.edited += u64::from(report.work.edited);
        }
    }
    engine.set_options(base).unwrap();
    engine.set_filters(Filters::default()).unwrap();
    seen
}

#[test]
fn a_thousand_sequences_have_the_right_events_on_the_cpu() {
    let mut engine = cpu::BroadPhase::new(Options::default()).unwrap();
    begin_epochs_from(&mut engine, 8);
    let seen = run(&mut engine, 0..1000, Drawn::any);
    println!("{seen:?}");
    let Seen { created, lost, persisting, cached, left_padding, began, edited, other_options } = seen;
    assert!(
        created.min(lost).min(persisting) > 100_000
            && cached > 2000
            && left_padding > 500
            && began > 500
            && edited > 50
    );
    assert!(other_options > 2000);
}

#[test]
fn sequences_that_are_swept_have_the_right_events_on_the_cpu() {
    let options = Options::default().with_all_pairs_up_to(Some(0)).with_order(PairOrder::Sweep);
    let mut engine = cpu::BroadPhase::new(options).unwrap();
    begin_epochs_from(&mut engine, 1);
    run(&mut engine, 1000..1300, Drawn::any);
}

#[test]
fn sequences_have_the_right_events_on_the_gpu() {
    for (options, seeds) in [
        (Options::default(), 0..24),
        (Options::default().with_all_pairs_up_to(Some(0)), 24..27),
        (Options::default().with_all_pairs_up_to(Some(0)).with_order(PairOrder::Canonical), 27..30),
    ] {
        run(&mut *broad_phase(options), seeds, Drawn::few);
    }
}

/// Tests that take minutes on a software driver: `scripts/test.sh --long`.
mod at_length {
    use super::*;

    #[test]
    #[ignore = "takes minutes on a software driver"]
    fn a_thousand_sequences_have_the_right_events_on_the_gpu() {
        for (options, seeds) in [
            (Options::default(), 2000..2500),
            (Options::default().with_all_pairs_up_to(Some(0)), 2500..2600),
            (Options::default().with_all_pairs_up_to(Some(0)).with_order(PairOrder::Canonical), 2600..2700),
        ] {
            run(&mut *broad_phase(options), seeds, Drawn::any);
        }
        let few = Options::default().with_order(PairOrder::Canonical);
        run_with(&mut recorder(few), few, 2700..2900, 0, Drawn::any, |engine, frame, _| record(engine, frame));
        let swept = few.with_all_pairs_up_to(Some(0));
        run_with(&mut recorder(swept), swept, 2900..3000, 300, Drawn::any, |engine, frame, _| record(engine, frame));
        let find = |engine: &mut BroadPhase, _: &Frame, step: Step| engine.find_events(step).cloned();
        run_with(&mut *broad_phase(swept), swept, 3000..3050, 300, Drawn::any, find);
    }
}

#[test]
fn sequences_that_are_recorded_have_the_right_events() {
    let few = Options::default().with_order(PairOrder::Canonical);
    let swept = few.with_all_pairs_up_to(Some(0));
    for (options, seeds, least) in [(few, 0..12, 0), (swept, 320..326, 300)] {
        let mut engine = recorder(options);
        engine.reserve(400, 100_000).unwrap();
        let seen = run_with(&mut engine, options, seeds, least, Drawn::few, |engine, frame, _| record(engine, frame));
        assert!(seen.created.min(seen.lost).min(seen.persisting) > 100, "{seen:?}");
    }
}
