//! The whole flow against brute force: every kind of scene, every kind of bad box, boxes that only touch.

use crate::common::*;
use broadsweep::internals::brute_force;
use broadsweep::{Aabb, AnyEngine, BroadPhase, CellSize, Engine, Error, Filters, Overlaps, Step, SweepAxis, cpu};
use laboratory::scenes::Kind;

#[test]
fn no_box_one_box_and_two_boxes_work() {
    let unit = Aabb::new([0.0; 3], [1.0; 3]);
    assert_exact(&[]);
    assert_exact(&[unit]);
    assert_exact(&[unit, unit]);
    assert_exact(&[unit, Aabb::new([5.0; 3], [6.0; 3])]);
    assert_exact(&[Aabb::new([f32::NAN; 3], [1.0; 3])]);
    assert_exact(&[Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3])]);
}

#[test]
fn sizes_around_the_workgroup_are_exact() {
    for n in [3, 63, 64, 65, 255, 256, 257, 511, 513, 1023, 1024, 1025, 1234] {
        let boxes = Kind::Uniform.generate(n, n as u64);
        for options in [CANONICAL, ALL_PAIRS] {
            assert_finds(&boxes, &brute_force::find_pairs(&boxes), options);
        }
    }
}

#[test]
fn every_kind_of_scene_is_exact_on_every_axis_and_cell_size() {
    for kind in Kind::ALL {
        let boxes = kind.generate(700, 7);
        println!("{}", kind.name());
        assert_exact(&boxes);
    }
}

#[test]
#[ignore = "long"]
fn larger_scenes_are_exact() {
    for kind in Kind::ALL {
        let n = if kind == Kind::Identical { 1500 } else { 4500 };
        let boxes = kind.generate(n, 3);
        println!("{}", kind.name());
        let expected = brute_force::find_pairs(&boxes);
        for axis in [SweepAxis::Auto, SweepAxis::Principal] {
            assert_finds(&boxes, &expected, CANONICAL.with_axis(axis));
        }
        assert_finds(&boxes, &expected, ALL_PAIRS);
    }
}

/// Boxes whose bounds come from a few numbers, so that faces, edges and corners coincide all the time.
fn touching(random: &mut Random, n: usize, numbers: &[f32]) -> Vec<Aabb> {
    let corner = |random: &mut Random| -> [f32; 3] { std::array::from_fn(|_| numbers[random.below(numbers.len())]) };
    (0..n)
        .map(|_| {
            let (a, b) = (corner(random), corner(random));
            Aabb::new(std::array::from_fn(|k| a[k].min(b[k])), std::array::from_fn(|k| a[k].max(b[k])))
        })
        .collect()
}

#[test]
#[ignore = "long"]
fn boxes_that_touch_at_random_magnitudes_are_pairs() {
    let mut random = Random(1);
    for round in 0..40 {
        // Magnitudes from denormal to nearly the largest, and their neighbours one unit in the last place away.
        let mut numbers = vec![0.0, -0.0];
        let spread = [2, 8, 40, 250][round % 4];
        let centre = random.below(254 - spread.min(253)) as u32;
        for _ in 0..12 {
            let exponent = (centre + random.below(spread) as u32).min(254);
            let x = f32::from_bits(exponent << 23 | (random.bits() as u32 & 0x7f_ffff));
            let x = if random.below(2) == 0 { x } else { -x };
            numbers.extend([x, x.next_up(), x.next_down()]);
        }
        numbers.retain(|x| x.is_finite());
        let boxes = touching(&mut random, 300, &numbers);
        let expected = brute_force::find_pairs(&boxes);
        for axis in [SweepAxis::Auto, SweepAxis::Principal] {
            assert_finds(&boxes, &expected, CANONICAL.with_axis(axis));
        }
        assert_finds(&boxes, &expected, ALL_PAIRS);
    }
}

#[test]
#[ignore = "long"]
fn small_boxes_that_touch_at_corners_are_pairs_on_oblique_axes() {
    // A lattice turned into a rod along (1, 1, 1), offset so that every coordinate rounds.
    let mut random = Random(5);
    for scale in [1.0f32, 1e-20, 1e20, 3e37] {
        let mut boxes = Vec::new();
        for i in 0..400 {
            let at: [f32; 3] = std::array::from_fn(|_| (i as f32 + random.below(3) as f32) * 0.1 * scale);
            boxes.push(Aabb::new(at, at.map(|x| x + 0.1 * scale)));
        }
        let corners: Vec<f32> = boxes.iter().flat_map(|b| b.max).collect();
        for _ in 0..400 {
            let min: [f32; 3] = std::array::from_fn(|_| corners[random.below(60)]);
            boxes.push(Aabb::new(min, min.map(|x| x + 0.05 * scale)));
        }
        assert_exact(&boxes);
    }
}

#[test]
fn denormal_boxes_are_told_apart() {
    let tiny = f32::from_bits(1);
    let step = |k: u32| f32::from_bits(k);
    let mut boxes: Vec<Aabb> =
        (0..200).map(|k| Aabb::new([step(3 * k), 0.0, 0.0], [step(3 * k + 1), tiny, tiny])).collect();
    boxes.extend((0..200).map(|k| Aabb::new([-0.0, step(k), 0.0], [0.0, step(k), tiny])));
    boxes.extend((0..100).map(|k| Aabb::new([-step(k + 1), -tiny, -tiny], [-step(k), -0.0, -0.0])));
    assert_exact(&boxes);
    // Among boxes of ordinary size they all lie in one place.
    boxes.extend(Kind::Uniform.generate(300, 1));
    assert_exact(&boxes);
}

#[test]
fn an_invalid_box_is_reported_and_never_pairs() {
    let mut boxes = Kind::Uniform.generate(2000, 2);
    let expected_before = brute_force::find_pairs(&boxes).len();
    let bad = [5, 17, 255, 256, 1023, 1024, 1500, 1700, 1800, 1999];
    for (nth, &i) in bad.iter().enumerate() {
        match nth % 5 {
            0 => boxes[i].min[nth % 3] = f32::NAN,
            1 => boxes[i].max[nth % 3] = -f32::NAN,
            2 => boxes[i].min[0] = 2.0,
            3 => (boxes[i].min[1], boxes[i].max[1]) = (f32::INFINITY, f32::NEG_INFINITY),
            _ => (boxes[i].min, boxes[i].max) = ([f32::from_bits(0x7f80_0001); 3], [f32::INFINITY; 3]),
        }
    }
    let expected = brute_force::find_pairs(&boxes);
    assert!(expected.len() < expected_before);
    let report = on_gpu(&boxes, CANONICAL).report;
    assert_eq!(report.invalid_count, 10);
    assert_eq!(report.first_invalid, [5, 17, 255, 256, 1023, 1024, 1500, 1700]);
    for options in [CANONICAL, ALL_PAIRS] {
        assert_finds(&boxes, &expected, options);
    }
}

#[test]
fn a_scene_of_nothing_but_invalid_boxes_has_no_pairs() {
    let boxes = vec![Aabb::new([1.0; 3], [0.0; 3]); 3000];
    let report = on_gpu(&boxes, CANONICAL).report;
    assert_eq!((report.invalid_count, report.pair_count, report.entry_count), (3000, 0, 0));
    assert_eq!(report.first_invalid, [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
fn unbounded_boxes_are_giants_and_exact() {
    let inf = f32::INFINITY;
    let mut boxes = Kind::Uniform.generate(1500, 4);
    let floor = Aabb::new([-inf, -inf, -inf], [inf, 0.3, inf]);
    let column = Aabb::new([0.4, -inf, 0.4], [0.6, inf, 0.6]);
    let world = Aabb::new([-inf; 3], [inf; 3]);
    let far_away = Aabb::new([inf; 3], [inf; 3]);
    boxes.splice(3..3, [floor, column, world, far_away, Aabb::new([-inf; 3], [-inf; 3])]);
    boxes.extend([world, floor, Aabb::new([0.5; 3], [inf; 3])]);
    assert_eq!(on_gpu(&boxes, CANONICAL).report.giant_count, 8);
    assert_exact(&boxes);
    // Nothing else: no statistics at all.
    assert_exact(&[world, floor, column, far_away, world]);
}

#[test]
#[ignore = "long"]
fn sentinels_as_large_as_floats_go_do_not_spoil_the_grid() {
    for sentinel in [f32::MAX, 1e38, 1e30, 1e20] {
        let mut boxes = Kind::Uniform.generate(20_000, 4);
        let plain = on_gpu(&boxes, CANONICAL).report;
        boxes[77] = Aabb::new([-sentinel; 3], [sentinel; 3]);
        boxes[78] = Aabb::new([sentinel; 3], [sentinel; 3]);
        boxes[79] = Aabb::new([-sentinel, 0.0, 0.0], [-0.5 * sentinel, 1.0, 1.0]);
        let report = on_gpu(&boxes, CANONICAL).report;
        assert!(report.candidate_count < 2 * plain.candidate_count + 100_000, "{sentinel}: {report:?} was {plain:?}");
        let sample: Vec<Aabb> = boxes[..2000].to_vec();
        assert_exact(&sample);
    }
}

#[test]
fn scenes_of_nothing_but_giants_and_of_a_single_cell_are_exact() {
    // Each box is unbounded along one axis or two, so that none has a cell, and many meet.
    let mut boxes = Kind::Uniform.generate(700, 2);
    for (i, aabb) in boxes.iter_mut().enumerate() {
        for k in [i % 3, i / 3 % 3] {
            (aabb.min[k], aabb.max[k]) = (f32::NEG_INFINITY, f32::INFINITY);
        }
    }
    assert_finds(&boxes, &brute_force::find_pairs(&boxes), CANONICAL);
    let report = on_gpu(&boxes, CANONICAL).report;
    assert_eq!((report.giant_count, report.entry_count), (700, 0));
    for n in [1, 2, 255, 256, 257, 3000] {
        let boxes = Kind::Uniform.generate(n, 3);
        let options = CANONICAL.with_cell_size(CellSize::Fixed(1e20));
        assert_finds(&boxes, &brute_force::find_pairs(&boxes), options);
        let report = on_gpu(&boxes, options).report;
        assert_eq!((report.giant_count, report.entry_count), (0, n as u32));
    }
}

#[test]
fn two_distant_clusters_do_not_ruin_each_other() {
    let single = on_gpu(&Kind::Uniform.generate(20_000, 4), CANONICAL).report;
    let report = on_gpu(&Kind::TwoClusters.generate(20_000, 4), CANONICAL).report;
    let cost = |report: &broadsweep::Report| {
        report.candidate_count as f64 / (f64::from(report.box_count) + report.pair_count as f64)
    };
    assert!(cost(&report) < 3.0 * cost(&single), "{report:?} against {single:?}");
}

#[test]
#[ignore = "long"]
fn identical_boxes_are_all_pairs() {
    let boxes = vec![Aabb::new([0.25; 3], [0.5; 3]); 3000];
    let overlaps = on_gpu(&boxes, CANONICAL);
    assert_eq!(overlaps.report.pair_count, 3000 * 2999 / 2);
    assert_pairs(&overlaps.pairs, &brute_force::find_pairs(&boxes), "identical");
    // Zero extent, in one point.
    let points = vec![Aabb::new([1e7, -0.0, 1e-40], [1e7, 0.0, 1e-40]); 500];
    assert_exact(&points);
}

#[test]
fn boxes_in_many_cells_and_in_few_are_exact_together() {
    // Plates, rods and specks: some become giants, some have thousands of entries.
    let mut random = Random(9);
    let mut boxes = Vec::new();
    for i in 0..3000 {
        let min: [f32; 3] = std::array::from_fn(|_| random.unit());
        let edge = match i % 50 {
            0 => [1.0, 0.001, 1.0],
            1 => [0.001, 1.0, 0.001],
            2 => [0.3, 0.3, 0.3],
            _ => [0.004; 3],
        };
        boxes.push(Aabb::new(min, std::array::from_fn(|k| min[k] + edge[k])));
    }
    let expected = brute_force::find_pairs(&boxes);
    for axis in AXES {
        for cell_size in [CellSize::Auto, CellSize::Fixed(0.002), CellSize::Fixed(0.0003)] {
            assert_finds(&boxes, &expected, CANONICAL.with_axis(axis).with_cell_size(cell_size));
        }
    }
}

#[test]
fn cells_without_bounds_repeat_without_repeating_pairs() {
    // Far more cells than the key has ids for: boxes of different cells meet under one id.
    let mut random = Random(11);
    let mut boxes = Vec::new();
    for _ in 0..2000 {
        let cell: [f32; 3] = std::array::from_fn(|_| (random.below(5) as f32 - 2.0) * 1024.0);
        let min: [f32; 3] = std::array::from_fn(|k| cell[k] + random.unit() * 4.0);
        let edge = 0.2 + random.unit() * 2.0;
        boxes.push(Aabb::new(min, min.map(|x| x + edge)));
    }
    // Some that span half the ids, and reach from one repetition into the next.
    for k in 0..30 {
        let at = k as f32 * 16.0 - 512.0;
        boxes.push(Aabb::new([at, at, 0.0], [at + 500.0, at + 2.0, 3.0]));
        boxes.push(Aabb::new([at, 0.0, at], [at + 1.0, 510.0, at + 2.0]));
    }
    let expected = brute_force::find_pairs(&boxes);
    for axis in AXES {
        for cell_size in [CellSize::Auto, CellSize::Fixed(1.0), CellSize::Fixed(0.5)] {
            assert_finds(&boxes, &expected, CANONICAL.with_axis(axis).with_cell_size(cell_size));
        }
    }
}

#[test]
fn a_tiny_cell_is_coarsened_until_the_entries_fit() {
    let boxes = Kind::Uniform.generate(3000, 1);
    let expected = brute_force::find_pairs(&boxes);
    for edge in [1e-30, 1e-6, 1e-4, 1e-2] {
        let options = CANONICAL.with_cell_size(CellSize::Fixed(edge));
        let report = on_gpu(&boxes, options).report;
        assert!(report.entry_count <= 4 * 3000 + 1024, "{report:?}");
        assert_finds(&boxes, &expected, options);
    }
}

#[test]
fn sweep_order_has_the_same_pairs_as_canonical_order() {
    for kind in [Kind::Uniform, Kind::Infinite, Kind::Clusters] {
        let boxes = kind.generate(5000, 8);
        let mut sweep = on_gpu(&boxes, SWEEP).pairs;
        let mut cpu = broadsweep::cpu::find_pairs(&boxes, &SWEEP).unwrap().pairs.clone();
        sweep.sort_unstable();
        cpu.sort_unstable();
        assert_pairs(&sweep, &on_gpu(&boxes, CANONICAL).pairs, kind.name());
        assert_pairs(&cpu, &sweep, kind.name());
    }
}

/// The promises of both engines about the last answer, in the words of their trait.
fn check_answers(engine: &mut impl Engine) {
    let boxes = Kind::Pile.generate(300, 1);
    let expected = brute_force::find_pairs(&boxes);
    assert_eq!(*engine.last_overlaps(), Overlaps::default());
    engine.find_pairs(&boxes).unwrap();
    assert_pairs(&engine.last_overlaps().pairs, &expected, "the last answer");
    // A list that is streamed is nobody's answer.
    let mut streamed = Vec::new();
    let report = engine.stream_pairs(&boxes, |_, piece| -> Result<(), Error> {
        streamed.extend_from_slice(piece);
        Ok(())
    });
    assert_eq!(report.unwrap().pair_count, expected.len() as u64);
    assert_pairs(&streamed, &expected, "streamed");
    assert_eq!(*engine.last_overlaps(), Overlaps::default());
    // Nor is what was there before a call that is refused.
    for filters in [Filters::default().with_group(vec![1]), Filters::default()] {
        engine.find_pairs(&boxes).unwrap();
        engine.set_filters(filters).unwrap();
        if engine.find_pairs(&boxes).is_err() {
            assert_eq!(*engine.last_overlaps(), Overlaps::default());
        }
        engine.set_filters(Filters::default()).unwrap();
    }
    assert!(engine.find_pairs(&boxes).is_ok());
    assert_pairs(&engine.take_overlaps().pairs, &expected, "taken");
    assert_eq!(*engine.last_overlaps(), Overlaps::default());
}

#[test]
fn both_engines_keep_the_last_answer_until_the_next_call() {
    check_answers(&mut BroadPhase::new(&GPU, CANONICAL).unwrap());
    check_answers(&mut cpu::BroadPhase::new(CANONICAL).unwrap());
    // A later `take` leaves it too, and polling for a result that nobody requested does not remove it.
    let mut broad_phase = BroadPhase::new(&GPU, CANONICAL).unwrap();
    let found = broad_phase.find_pairs(&Kind::Pile.generate(300, 1)).unwrap().clone();
    assert_eq!(broad_phase.submissions().try_take().unwrap_err(), Error::NothingSubmitted);
    assert_eq!(*broad_phase.last_overlaps(), found);
}

#[test]
fn a_boxed_engine_finds_the_same_events() {
    let boxes = Kind::Uniform.generate(400, 1);
    let expected = brute_force::find_pairs(&boxes);
    let engines: [Box<dyn Engine>; 2] =
        [Box::new(BroadPhase::new(&GPU, CANONICAL).unwrap()), Box::new(cpu::BroadPhase::new(CANONICAL).unwrap())];
    for mut engine in engines {
        assert_eq!(engine.find_events(Step::from(&boxes)).unwrap().created, expected);
        assert_eq!(engine.find_events(Step::from(&boxes)).unwrap().persisting, expected);
        assert!(engine.find_events(Step::from(&boxes[..0])).unwrap().persisting.is_empty());
    }
}

#[test]
fn an_engine_that_is_chosen_at_run_time_finds_what_its_own_type_finds() {
    let boxes = Kind::Uniform.generate(400, 1);
    let expected = brute_force::find_pairs(&boxes);
    let engines: [AnyEngine; 2] =
        [BroadPhase::new(&GPU, CANONICAL).unwrap().into(), cpu::BroadPhase::new(CANONICAL).unwrap().into()];
    for mut engine in engines {
        assert_eq!(engine.find_pairs(&boxes).unwrap().pairs, expected);
        assert_eq!(engine.find_events(Step::from(&boxes)).unwrap().created, expected);
        let events = engine.find_events(Step::from(&boxes[..300])).unwrap().clone();
        assert!(!events.lost.is_empty() && &events == engine.events());
        let mut pairs = Vec::new();
        let report = engine.stream_pairs(&boxes, |_, piece| -> Result<(), Error> {
            pairs.extend_from_slice(piece);
            Ok(())
        });
        assert_eq!((report.unwrap().pair_count, pairs), (expected.len() as u64, expected.clone()));
        assert!(engine.memory_bytes() > 0);
        engine.set_filters(Filters::default().with_body(vec![7; 400])).unwrap();
        // As an object too.
        let engine: &mut dyn Engine = &mut engine;
        assert_eq!(engine.find_pairs(&boxes).unwrap().pairs, []);
    }
}
