//! The scenes that move, for two hundred steps.

use broadsweep::internals::steps::begin_epochs_from;
use broadsweep::{Aabb, Events, Options, Pair, cpu};
use laboratory::scenes::{Kind, Particles, particles};

use crate::common::{CANONICAL, broad_phase, on_gpu};
use crate::oracle::{Frame, Oracle};

const MOVING: [Kind; 4] = [Kind::Sediment, Kind::Brownian, Kind::FreeFall, Kind::Gravity];

/// Makes a step of a scene.
type Make = Box<dyn Fn(u32) -> Vec<Aabb>>;

/// Scenes that move in ways of their own: little, a few of many, falling asleep, bullets, jumps.
fn scenes(n: usize) -> Vec<(String, Make)> {
    let kind =
        |kind: Kind| -> (String, Make) { (kind.to_string(), Box::new(move |step| kind.generate_step(n, 1, step))) };
    let mut scenes: Vec<(String, Make)> = MOVING.map(kind).into();
    let side = (n as f64 / 2.0).cbrt();
    for (name, speed, few) in [("slow", 0.01, 1), ("fast", 0.5, 1), ("few", 0.02, 100), ("bullets", 10.0, 50)] {
        let space = Particles { side, diameter: 1.0, speed };
        let make = move |step| {
            let (mut boxes, moved) = (particles(n, 1, 0, space), particles(n, 1, step, space));
            boxes.iter_mut().zip(moved).step_by(few).for_each(|(aabb, moved)| *aabb = moved);
            boxes
        };
        scenes.push((name.to_owned(), Box::new(make)));
    }
    // In turns: at rest, and all boxes in other places at once.
    let space = Particles { side, diameter: 1.0, speed: 3.0 };
    scenes.push(("jumps".to_owned(), Box::new(move |step| particles(n, 1, step / 7, space))));
    scenes
}

fn pairs_from_nothing(boxes: &[Aabb]) -> Vec<Pair> {
    cpu::find_pairs(boxes, &CANONICAL).unwrap().pairs
}

#[test]
fn every_moving_scene_has_the_events_of_searches_from_nothing_on_the_cpu() {
    let mut ways = [0; 3];
    for (name, make) in scenes(1500) {
        let mut engine = cpu::BroadPhase::new(Options::default()).unwrap();
        let mut oracle = Oracle::default();
        for number in 0..200 {
            let frame = Frame::of(make(number));
            let events = engine.find_events(frame.step()).unwrap();
            let work = events.report.work;
            ways[0] += u32::from(!work.searched);
            ways[1] += u32::from(work.began_epoch);
            ways[2] += u32::from(work.escaped_count > 0);
            oracle.check_pairs(&frame, pairs_from_nothing(&frame.boxes), events, &format!("{name}, step {number}"));
        }
    }
    assert!(ways.iter().all(|count| *count > 30), "{ways:?}");
}

#[test]
fn every_moving_scene_has_the_same_events_on_the_gpu() {
    for (name, make) in scenes(700) {
        let mut on_cpu = cpu::BroadPhase::new(Options::default()).unwrap();
        begin_epochs_from(&mut on_cpu, 100);
        let mut engine = broad_phase(CANONICAL);
        engine.forget_steps();
        for number in 0..10 {
            let boxes = make(20 * number);
            let mut expected: Events = on_cpu.find_events(&boxes).unwrap().clone();
            let found = engine.find_events(&boxes).unwrap();
            expected.report.work = found.report.work;
            assert!(*found == expected, "{name}, step {number}");
        }
    }
}

#[test]
fn pairs_in_any_number_of_threads_are_the_same() {
    let steps: Vec<Vec<Aabb>> = (0..12).map(|step| Kind::FreeFall.generate_step(30_000, 1, 60 + step)).collect();
    let run = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut engine = cpu::BroadPhase::new(Options::default()).unwrap();
            steps.iter().map(|boxes| engine.find_events(boxes).unwrap().clone()).collect::<Vec<Events>>()
        })
    };
    let one = run(1);
    assert!(one == run(3));
    let last = one.last().unwrap();
    assert!(!last.created.is_empty() && !last.lost.is_empty() && !last.persisting.is_empty());
    assert!(last.pairs == on_gpu(steps.last().unwrap(), CANONICAL).pairs);
}
