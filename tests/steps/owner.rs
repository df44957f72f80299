//! Events of the pairs that a region owns, as boxes move through its faces.

use broadsweep::internals::steps::begin_epochs_from;
use broadsweep::{Aabb, BroadPhase, Engine, Filters, cpu};
use laboratory::scenes::Motion;

use crate::common::{CANONICAL, GPU};
use crate::oracle::{Frame, Oracle};

/// Returns a tile of space, from one to the other along the first axis.
fn tile(from: f32, to: f32) -> Aabb {
    let whole = [f32::NEG_INFINITY; 3];
    let mut tile = Aabb::new(whole, [f32::INFINITY; 3]);
    (tile.min[0], tile.max[0]) = (from, to);
    tile
}

/// Returns where this part of the boxes of the first step begins further down.
fn cut(motion: Motion, n: usize, part: f32) -> f32 {
    let mut lows: Vec<f32> = motion.boxes(n, 0.9, 1, 0).iter().map(|aabb| aabb.min[0]).collect();
    lows.sort_unstable_by(f32::total_cmp);
    lows[(n as f32 * part) as usize]
}

/// Runs steps in which the region is another now and then, and returns how many were not searched from nothing.
fn check(engine: &mut impl Engine, name: &str) -> usize {
    let mut cached = 0;
    for motion in [Motion::Still, Motion::Few, Motion::Slow, Motion::Teleports] {
        engine.forget_steps();
        let mut oracle = Oracle::default();
        let (mut created, mut lost) = (0, 0);
        for number in 0..16u32 {
            let boxes = motion.boxes(1200, 0.9, 1, number);
            // The region moves though the boxes may stay; or is gone for a while.
            let cut = |part| cut(motion, 1200, part);
            let owner = match number {
                0..5 => Some(tile(f32::NEG_INFINITY, cut(0.4))),
                5..9 => Some(tile(cut(0.2), cut(0.7))),
                9..12 => None,
                _ => Some(tile(cut(0.5), f32::INFINITY)),
            };
            let mut frame = Frame::of(boxes);
            frame.filters = Filters::default().with_owner(owner).with_margin(vec![0.004; 1200]);
            if *engine.filters() != frame.filters {
                engine.set_filters(frame.filters.clone()).unwrap();
            }
            let events = engine.find_events(frame.step()).unwrap();
            oracle.check(&frame, events, &format!("{name}, {motion}, step {number}"));
            cached += usize::from(!events.report.work.searched);
            created += events.created.len();
            lost += events.lost.len();
        }
        assert!(created > 1000 && lost > 300, "{name}, {motion}: {created} and {lost}");
    }
    engine.set_filters(Filters::default()).unwrap();
    cached
}

#[test]
#[ignore = "long"]
fn pairs_begin_and_end_where_their_corners_come_into_a_region_and_leave_it() {
    let mut on_cpu = cpu::BroadPhase::new(CANONICAL).unwrap();
    begin_epochs_from(&mut on_cpu, 1);
    let cached = check(&mut on_cpu, "CPU");
    assert!(cached > 20, "{cached} steps of the CPU engine were cached");
    let mut on_gpu = BroadPhase::new(&GPU, CANONICAL).unwrap();
    let cached = check(&mut on_gpu, "GPU");
    assert_eq!(cached, 0, "steps on a GPU are searches");
}

#[test]
fn what_one_tile_loses_to_another_persists_in_the_whole() {
    let mut engines = [(); 3].map(|()| cpu::BroadPhase::new(CANONICAL).unwrap());
    let middle = cut(Motion::Slow, 1500, 0.5);
    let tiles = [tile(f32::NEG_INFINITY, middle), tile(middle, f32::INFINITY)];
    for (engine, tile) in engines.iter_mut().zip(tiles) {
        engine.set_filters(Filters::default().with_owner(Some(tile))).unwrap();
    }
    let mut handed_on = 0;
    for number in 0..12 {
        let boxes = Motion::Slow.boxes(1500, 0.9, 1, number);
        let [left, right, whole] = engines.each_mut().map(|engine| engine.find_events(&boxes).unwrap());
        let mut both = [&left.pairs[..], &right.pairs].concat();
        both.sort_unstable();
        assert!(both == whole.pairs, "step {number}");
        let passed = left.lost.iter().filter(|pair| right.created.contains(pair)).count();
        assert!(left.lost.iter().all(|pair| right.created.contains(pair) || whole.lost.contains(pair)));
        handed_on += passed;
    }
    assert!(handed_on > 0);
}
