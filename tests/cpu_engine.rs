//! The engine on the CPU against the mirrors that it is another shape of, and what it keeps from call to call.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use broadsweep::cpu;
use broadsweep::filter::HalfSpace;
use broadsweep::internals::constants::CHUNK;
use broadsweep::internals::join::{self, Way};
use broadsweep::internals::{brute_force, mirror::reference};
use broadsweep::{Aabb, CellSize, Error, Filters, Options, Overlaps, Pair, PairOrder, Step, SweepAxis};
use laboratory::scenes::{Kind, Motion};

/// Counts what all threads of this process allocate.
struct Counting;

static ALLOCATED: AtomicU64 = AtomicU64::new(0);

unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATED.fetch_add(layout.size() as u64, Ordering::Relaxed);
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        ALLOCATED.fetch_add(size as u64, Ordering::Relaxed);
        unsafe { System.realloc(place, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Tests of one process run at once, and one of them counts what all allocate.
static ALONE: std::sync::RwLock<()> = std::sync::RwLock::new(());

fn shared() -> std::sync::RwLockReadGuard<'static, ()> {
    ALONE.read().unwrap_or_else(|poisoned| poisoned.into_inner())
}

/// Always swept, in canonical order.
fn swept() -> Options {
    Options::default().with_all_pairs_up_to(Some(0)).with_order(PairOrder::Canonical)
}

/// Checks for the same report, and the same pairs.
fn assert_like_reference(engine: &mut cpu::BroadPhase, boxes: &[Aabb], what: &str) {
    let mut expected = reference::find_pairs(boxes, engine.options()).unwrap();
    let mut found = engine.find_pairs(boxes).unwrap().clone();
    expected.pairs.sort_unstable();
    if engine.options().order == PairOrder::Sweep {
        found.pairs.sort_unstable();
    }
    assert_eq!(found.report, expected.report, "{what}");
    assert_eq!(found.pairs.len(), expected.pairs.len(), "{what}");
    assert!(found.pairs == expected.pairs, "{what}");
}

#[test]
fn every_scene_gets_the_report_and_the_pairs_of_the_mirrors() {
    let _shared = shared();
    // One engine for all: memory of a larger scene must not leak into a smaller one.
    let mut engine = cpu::BroadPhase::new(swept()).unwrap();
    for n in [0, 1, 2, 257, 4567, 1234, 33] {
        for kind in Kind::ALL {
            let boxes = kind.generate(n, 1);
            assert_like_reference(&mut engine, &boxes, &format!("{kind}:{n}"));
            if n < 2000 {
                let found = engine.find_pairs(&boxes).unwrap().clone();
                assert_eq!(found.pairs, brute_force::find_pairs(&boxes), "{kind}:{n}");
            }
        }
    }
}

#[test]
fn every_option_gets_the_report_and_the_pairs_of_the_mirrors() {
    let _shared = shared();
    let scenes = [Kind::Uniform, Kind::Diagonal, Kind::Clusters, Kind::ThousandGiants, Kind::Invalid, Kind::Spread];
    for kind in scenes {
        let boxes = kind.generate(5_000, 3);
        for axis in [SweepAxis::Auto, SweepAxis::Principal, SweepAxis::X, SweepAxis::Y, SweepAxis::Z] {
            for cell_size in [CellSize::Auto, CellSize::Usscd, CellSize::Fixed(1e-4), CellSize::Fixed(1e4)] {
                let order = if axis == SweepAxis::Auto { PairOrder::Sweep } else { PairOrder::Canonical };
                let options = swept().with_axis(axis).with_cell_size(cell_size).with_order(order);
                let mut engine = cpu::BroadPhase::new(options).unwrap();
                assert_like_reference(&mut engine, &boxes, &format!("{kind} {options:?}"));
            }
        }
    }
}

/// Creates boxes with many giants, and with more invalid boxes than a report lists, in every chunk of a thread.
fn with_giants_and_invalid(n: usize) -> Vec<Aabb> {
    let mut boxes = Kind::Uniform.generate(n, 1);
    boxes.iter_mut().step_by(97).for_each(|aabb| aabb.max = [f32::INFINITY; 3]);
    boxes.iter_mut().skip(500).step_by(1500).for_each(|aabb| aabb.min[1] = f32::NAN);
    boxes
}

#[test]
fn giants_and_invalid_boxes_of_several_chunks_are_those_of_the_mirrors() {
    let _shared = shared();
    let mut engine = cpu::BroadPhase::new(swept()).unwrap();
    for n in [10_000, 2 * CHUNK + 1, 2 * CHUNK, 2 * CHUNK - 1] {
        let boxes = with_giants_and_invalid(n);
        assert_like_reference(&mut engine, &boxes, &format!("{n} boxes"));
        let report = &engine.find_pairs(&boxes).unwrap().report.clone();
        assert_eq!(report.giant_count as usize, n.div_ceil(97));
        assert_eq!(report.invalid_count as usize, (n - 500).div_ceil(1500));
    }
}

#[test]
fn memory_follows_the_pairs_and_not_the_candidates() {
    let _shared = shared();
    // Thin boxes of the whole length, above and below which all others lie: many candidates, and no pair.
    let mut boxes: Vec<Aabb> =
        (0..50_000).map(|i| Aabb::new([i as f32, 0.0, 0.0], [i as f32 + 0.5, 1.0, 1.0])).collect();
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut engine = cpu::BroadPhase::new(swept()).unwrap();
        let found = engine.find_pairs(&boxes).unwrap().clone();
        assert_eq!(found.pairs, []);
        held.push(engine.memory_bytes());
        boxes.extend((0..64).map(|i| Aabb::new([0.0, 2.0 + i as f32, 0.0], [50_000.0, 2.5 + i as f32, 1.0])));
    }
    assert!(held[1] < held[0] + (4 << 20), "{held:?}");
}

#[test]
fn few_boxes_are_tested_each_against_each() {
    let _shared = shared();
    let mut engine = cpu::BroadPhase::new(Options::default()).unwrap();
    for n in [0, 1, 31, 32, 33, 1000, 1024, 1025] {
        for kind in [Kind::Uniform, Kind::Invalid, Kind::Identical] {
            let boxes = kind.generate(n, 1);
            assert_like_reference(&mut engine, &boxes, &format!("{kind}:{n}"));
            assert_eq!(engine.find_pairs(&boxes).unwrap().report.tested_all_pairs, n <= 1024);
        }
    }
    engine.set_options(Options::default().with_all_pairs_up_to(Some(u32::MAX))).unwrap();
    assert_like_reference(&mut engine, &Kind::Uniform.generate(32_768, 1), "as many as there may be");
}

#[test]
#[ignore = "long"]
fn any_number_of_threads_gives_the_same_pairs_in_the_same_order() {
    let _shared = shared();
    let scenes =
        [Kind::Uniform.generate(60_000, 1), with_giants_and_invalid(20_000), Kind::Identical.generate(3000, 1)];
    for (number, boxes) in scenes.iter().enumerate() {
        for order in [PairOrder::Sweep, PairOrder::Canonical] {
            let with = |threads| -> Overlaps {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
                pool.install(|| cpu::find_pairs(boxes, &Options::default().with_order(order))).unwrap()
            };
            let one = with(1);
            for threads in [2, 3, 8] {
                assert!(with(threads) == one, "scene {number}, {order:?}, {threads} threads");
            }
        }
    }
}

/// Returns the steps of a motion, forward and backward, so that they repeat without a jump. Each step has the boxes
/// that moved since the previous step.
fn cycle(motion: Motion) -> Vec<(Vec<Aabb>, Vec<u32>)> {
    let steps = (0..6).chain((1..5).rev());
    let steps: Vec<Vec<Aabb>> = steps.map(|step| motion.boxes(10_000, Motion::DENSITY, 1, step)).collect();
    let before = steps.iter().cycle().skip(steps.len() - 1);
    let moved = |(now, then): (&Vec<Aabb>, &Vec<Aabb>)| -> Vec<u32> {
        (0..now.len()).filter(|&i| now[i] != then[i]).map(|i| i as u32).collect()
    };
    let moved: Vec<_> = steps.iter().zip(before).map(moved).collect();
    steps.into_iter().zip(moved).collect()
}

#[test]
#[ignore = "long"]
fn a_warm_step_allocates_nothing_that_grows() {
    let _alone = ALONE.write().unwrap_or_else(|poisoned| poisoned.into_inner());
    let sleeping: Vec<bool> = (0..10_000).map(|i| i % 3 == 0).collect();
    for motion in [Motion::Still, Motion::Few, Motion::Slow, Motion::Bullets, Motion::Jumps] {
        let steps = cycle(motion);
        for (sleeping, is_told) in [(&sleeping[..], false), (&[], false), (&[], true)] {
            let mut engine = cpu::BroadPhase::new(Options::default()).unwrap();
            engine.set_filters(Filters::default().with_sleeping(sleeping.to_vec())).unwrap();
            let mut find = |(boxes, moved): &(Vec<Aabb>, Vec<u32>)| {
                let step = Step::new(boxes);
                let step = if is_told { step.moved(moved) } else { step };
                engine.find_events(step).unwrap().created.len()
            };
            for step in steps.iter().cycle().take(12 * steps.len()) {
                find(step);
            }
            let before = ALLOCATED.load(Ordering::Relaxed);
            let events = steps.iter().map(&mut find).sum::<usize>();
            let allocated = ALLOCATED.load(Ordering::Relaxed) - before;
            assert!(allocated < 16 << 10, "{motion}, {}, {is_told}: {allocated} bytes in a cycle", sleeping.len());
            assert_eq!(events > 0, motion != Motion::Still, "{motion}");
        }
    }
}

#[test]
#[ignore = "long"]
fn a_warm_engine_allocates_nothing() {
    let _alone = ALONE.write().unwrap_or_else(|poisoned| poisoned.into_inner());
    let uniform = Kind::Uniform.generate(30_000, 1);
    let hard = with_giants_and_invalid(30_000);
    let none = Filters::default();
    let filters = Filters::default()
        .with_group(vec![1; 30_000])
        .with_world((0..30_000).map(|i| i % 3).collect())
        .with_margin(vec![1e-4; 30_000])
        .with_exclude((1..10_000).map(|i| Pair::new(i, 2 * i)).collect())
        .with_include((1..10_000).map(|i| Pair::new(i, 3 * i)).collect())
        .with_half_spaces(vec![HalfSpace { index: 5, normal: [0.1, 0.2, 1.0], offset: 0.3 }]);
    let all_pairs = Options::default().with_all_pairs_up_to(Some(u32::MAX));
    for (boxes, filters, options) in [
        (&uniform, &none, swept()),
        (&uniform, &none, swept().with_order(PairOrder::Sweep)),
        (&uniform, &none, all_pairs),
        (&hard, &none, swept()),
        (&uniform, &filters, swept()),
        (&uniform, &filters, all_pairs),
        (&hard, &filters, swept()),
    ] {
        let mut engine = cpu::BroadPhase::new(options).unwrap();
        engine.set_filters(filters.clone()).unwrap();
        engine.find_pairs(boxes).unwrap();
        engine.find_pairs(boxes).unwrap();
        let (before, held) = (ALLOCATED.load(Ordering::Relaxed), engine.memory_bytes());
        for _ in 0..5 {
            engine.find_pairs(boxes).unwrap();
        }
        let allocated = ALLOCATED.load(Ordering::Relaxed) - before;
        assert_eq!(engine.memory_bytes(), held);
        // The queues of the thread pool, and a list of eight invalid boxes.
        assert!(allocated < 16 << 10, "{options:?}: {allocated} bytes in five calls");
        assert!(held > 30_000 * 8, "{options:?}: {held} bytes");
    }
}

#[test]
#[ignore = "long"]
fn a_warm_join_allocates_nothing() {
    let _alone = ALONE.write().unwrap_or_else(|poisoned| poisoned.into_inner());
    let uniform = Kind::Uniform.generate(130_000, 1);
    // Many boxes are identical, so halves divide equal centers.
    let points: Vec<Aabb> = Kind::Points.generate(13_000, 1).into_iter().flat_map(|aabb| [aabb; 10]).collect();
    let far = Kind::TwoClusters.generate(130_000, 1);
    let hard = with_giants_and_invalid(130_000);
    let none = Filters::default();
    let filters = Filters::default()
        .with_group(vec![1; 130_000])
        .with_world((0..130_000).map(|i| i % 3).collect())
        .with_margin(vec![1e-4; 130_000])
        .with_exclude((1..10_000).map(|i| Pair::new(i, 2 * i)).collect())
        .with_include((1..10_000).map(|i| Pair::new(i, 60_000 + i)).collect());
    for (number, (boxes, filters)) in
        [(&uniform, &none), (&points, &none), (&far, &none), (&hard, &none), (&uniform, &filters)]
            .into_iter()
            .enumerate()
    {
        for way in [Way::AsOneInput, Way::TreeOfFirst, Way::TreeOfSecond] {
            let mut engine = cpu::BroadPhase::new(swept()).unwrap();
            engine.set_filters(filters.clone()).unwrap();
            let (first, second) = boxes.split_at(60_000);
            join::by(&mut engine, way, first, second).unwrap();
            join::by(&mut engine, way, first, second).unwrap();
            let (before, held) = (ALLOCATED.load(Ordering::Relaxed), engine.memory_bytes());
            for _ in 0..2 {
                join::by(&mut engine, way, first, second).unwrap();
            }
            let allocated = ALLOCATED.load(Ordering::Relaxed) - before;
            assert_eq!(engine.memory_bytes(), held);
            assert!(allocated < 16 << 10, "scene {number}, {way:?}: {allocated} bytes in two calls");
            assert!(held > 130_000 * 8, "scene {number}, {way:?}: {held} bytes");
        }
    }
}

#[test]
fn a_refusal_leaves_an_engine_as_good_as_new() {
    let _shared = shared();
    let boxes = Kind::Uniform.generate(10_000, 1);
    let options = swept().with_candidate_limit(10);
    let mut engine = cpu::BroadPhase::new(options).unwrap();
    assert!(matches!(engine.find_pairs(&boxes), Err(Error::TooManyCandidates { limit: 10, .. })));
    let engine_after = |mut engine: cpu::BroadPhase| {
        let _ = engine.find_pairs(&boxes);
        engine.take_overlaps()
    };
    let empty = engine_after(cpu::BroadPhase::new(options).unwrap());
    assert_eq!((empty.pairs.len(), empty.report.box_count, empty.report.pair_count), (0, 0, 0));
    assert_eq!(engine.find_pairs(&boxes), reference::find_pairs(&boxes, &options).as_ref().map_err(Clone::clone));
    let bad = swept().with_cell_size(CellSize::Fixed(-1.0));
    assert!(matches!(engine.set_options(bad), Err(Error::BadOption { .. })));
    engine.set_options(swept()).unwrap();
    assert_like_reference(&mut engine, &boxes, "after refusals");
}
