//! The scenes that move, for two hundred steps.

use broadsweep::internals::steps::begin_epochs_from;
use broadsweep::{Aabb, BroadPhase, Events, Options, Pair, cpu};
use laboratory::scenes::{Kind, Motion};

use crate::common::{ALL_PAIRS, CANONICAL, broad_phase, least_budget, on_gpu};
use crate::oracle::{Frame, Oracle};

const MOVING: [Kind; 4] = [Kind::Sediment, Kind::Brownian, Kind::FreeFall, Kind::Gravity];

/// Creates a step of a scene.
type Make = Box<dyn Fn(u32) -> Vec<Aabb>>;

/// The kinds of scenes that move, and the motions.
fn scenes(n: usize) -> Vec<(String, Make)> {
    let kind =
        |kind: Kind| -> (String, Make) { (kind.to_string(), Box::new(move |step| kind.generate_step(n, 1, step))) };
    let motion = |motion: Motion| -> (String, Make) {
        (motion.to_string(), Box::new(move |step| motion.boxes(n, 4.0 * Motion::DENSITY, 1, step)))
    };
    MOVING.map(kind).into_iter().chain(Motion::ALL.map(motion)).collect()
}

fn pairs_from_nothing(boxes: &[Aabb]) -> Vec<Pair> {
    cpu::find_pairs(boxes, &CANONICAL).unwrap().pairs
}

#[test]
#[ignore = "long"]
fn every_moving_scene_has_the_events_of_searches_from_nothing_on_the_cpu() {
    let mut ways = [0; 3];
    for (name, make) in scenes(1100) {
        let mut engine = cpu::BroadPhase::new(Options::default()).unwrap();
        let mut oracle = Oracle::default();
        for number in 0..200 {
            let frame = Frame::of(make(number));
            let events = engine.find_events(frame.step()).unwrap();
            let work = events.report.work;
            ways[0] += u32::from(!work.searched);
            ways[1] += u32::from(work.began_epoch);
            ways[2] += u32::from(work.left_padding_count > 0);
            oracle.check_pairs(&frame, pairs_from_nothing(&frame.boxes), events, &format!("{name}, step {number}"));
        }
    }
    assert!(ways.iter().all(|count| *count > 30), "{ways:?}");
}

#[test]
fn every_moving_scene_has_the_same_events_on_the_gpu() {
    let mut engine = broad_phase(CANONICAL);
    // Every other one: the engine does the same in all of them, and a driver in software takes its time.
    for (name, make) in scenes(400).into_iter().step_by(2) {
        engine.forget_steps();
        compare_with_cpu(&mut engine, [0, 50, 100].into_iter(), &name, &make);
    }
}

/// Tests that take minutes on a software driver: `scripts/test.sh --long`.
mod at_length {
    use super::*;

    #[test]
    #[ignore = "takes minutes on a software driver"]
    fn every_moving_scene_has_the_same_events_in_all_its_steps_on_the_gpu() {
        for (name, make) in scenes(1100) {
            for options in [ALL_PAIRS, CANONICAL] {
                let mut engine = broad_phase(options);
                engine.forget_steps();
                engine.reserve(1100, 20_000).unwrap();
                compare_with_cpu(&mut engine, 0..200, &name, &make);
            }
        }
    }
}

/// Compares the events of steps with those of the CPU engine.
fn compare_with_cpu(engine: &mut BroadPhase, steps: impl Iterator<Item = u32>, name: &str, make: &Make) {
    let mut on_cpu = cpu::BroadPhase::new(Options::default()).unwrap();
    begin_epochs_from(&mut on_cpu, 100);
    for number in steps {
        let boxes = make(number);
        let mut expected: Events = on_cpu.find_events(&boxes).unwrap().clone();
        let found = engine.find_events(&boxes).unwrap();
        expected.report.work = found.report.work;
        assert!(*found == expected, "{name}, step {number}");
    }
}

#[test]
fn events_are_the_same_whatever_memory_a_gpu_has() {
    let steps: Vec<Vec<Aabb>> = (0..3).map(|step| Motion::Brisk.boxes(3000, 2.0, 1, step)).collect();
    let least = least_budget(&steps[0], CANONICAL.order);
    let expected = run(&steps, 1);
    // From lists in many pieces to one piece.
    for budget in [least, least + least / 8, 1 << 30] {
        let mut engine = broad_phase(CANONICAL.with_memory_budget(Some(budget)));
        engine.forget_steps();
        for (boxes, expected) in steps.iter().zip(&expected) {
            let found = engine.find_events(boxes).unwrap();
            let same = found.pairs == expected.pairs && found.before == expected.before;
            let same = same && found.created == expected.created && found.lost == expected.lost;
            assert!(same && found.persisting == expected.persisting, "{budget} bytes");
        }
    }
}

/// Runs steps with so many threads.
fn run(steps: &[Vec<Aabb>], threads: usize) -> Vec<Events> {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
    pool.install(|| {
        let mut engine = cpu::BroadPhase::new(Options::default()).unwrap();
        steps.iter().map(|boxes| engine.find_events(boxes).unwrap().clone()).collect()
    })
}

#[test]
#[ignore = "long"]
fn long_lists_are_right_in_any_number_of_threads() {
    for motion in [Motion::Few, Motion::Bullets, Motion::Asleep, Motion::Teleports, Motion::Jumps] {
        // More pairs than one thread takes at a time, of boxes that stay and of those that leave.
        let steps: Vec<Vec<Aabb>> = (0..10).map(|step| motion.boxes(30_000, Motion::DENSITY, 1, 3 * step)).collect();
        let one = run(&steps, 1);
        assert!(one == run(&steps, 3), "{motion}");
        let mut oracle = Oracle::default();
        for (number, (boxes, events)) in steps.iter().zip(&one).enumerate() {
            let frame = Frame::of(boxes.clone());
            oracle.check_pairs(&frame, pairs_from_nothing(boxes), events, &format!("{motion}, step {number}"));
        }
        let report = &one[9].report;
        assert!(report.created_count > 0 && report.lost_count > 0 && report.pair_count > 3 << 14, "{report:?}");
        let has_left = report.work.left_padding_in_epoch > 0 && report.work.cached_pair_count > 3 << 14;
        assert!(has_left || matches!(motion, Motion::Asleep | Motion::Jumps), "{motion}: {report:?}");
    }
    let boxes = Motion::Few.boxes(30_000, Motion::DENSITY, 1, 27);
    assert!(pairs_from_nothing(&boxes) == on_gpu(&boxes, CANONICAL).pairs);
}

/// Large boxes that lie apart, and small boxes in a lattice whose gaps are as wide as the boxes. None overlap, but all
/// would if each was padded by a fraction of a large edge.
fn mixed(n: usize, step: u32) -> Vec<Aabb> {
    let jitter = 1e-5 * (step % 3) as f32;
    (0..n)
        .map(|i| {
            let (at, edge) = if i % 20 < 11 { (10.0 + 2.0 * i as f32, 1.0) } else { (-0.002 * i as f32, 0.001) };
            let low = at + jitter;
            Aabb::new([low, 0.0, 0.0], [low + edge, edge, edge])
        })
        .collect()
}

#[test]
fn small_boxes_beside_large_ones_do_not_let_an_epoch_cache_the_square_of_them() {
    let mut engine = cpu::BroadPhase::new(Options::default()).unwrap();
    let mut oracle = Oracle::default();
    let n = 20_000;
    for number in 0..8 {
        let frame = Frame::of(mixed(n, number));
        let events = engine.find_events(frame.step()).unwrap();
        assert!(events.report.work.cached_pair_count <= 20 * n as u64, "{:?}", events.report);
        oracle.check_pairs(&frame, pairs_from_nothing(&frame.boxes), events, &format!("step {number}"));
    }
    assert!(engine.memory_bytes() < 2000 * n as u64, "{} bytes", engine.memory_bytes());
}
