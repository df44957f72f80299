//! Filters on the CPU engine: against the double loop with the same filters, and against the mirrors.

use std::collections::BTreeSet;

use crate::common::{ALL_PAIRS, CANONICAL, Random, SWEEP, sorted};
use crate::inputs::{ALONE, BY_BOX, ByBox, all, some_pairs};
use broadsweep::cpu;
use broadsweep::filter::{Attribute, HalfSpace};
use broadsweep::internals::constants::CHUNK;
use broadsweep::internals::{brute_force, mirror::reference};
use broadsweep::{Aabb, Error, Filters, Options, Overlaps, Pair, PairOrder};
use laboratory::scenes::Kind;

/// Returns each filter alone, and all at once.
fn each_and_all(boxes: &[Aabb], random: &mut Random) -> Vec<(&'static str, Filters)> {
    let mut list: Vec<_> = ALONE.iter().map(|(name, make)| (*name, make(random, boxes))).collect();
    list.push(("all", all(random, boxes)));
    list
}

fn with_threads<T: Send>(threads: usize, run: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run)
}

/// Checks the pairs against those of the oracle, in the order that the options promise, and the report against that of
/// the mirrors.
fn assert_finds(engine: &mut cpu::BroadPhase, boxes: &[Aabb], expected: &[Pair], options: Options, what: &str) {
    engine.set_options(options).unwrap();
    let filters = engine.filters().clone();
    let found = engine.find_pairs(boxes).unwrap_or_else(|error| panic!("{what}: {error}"));
    let mirrors = reference::find_filtered_pairs(boxes, &filters, &options).unwrap();
    assert_eq!(found.report, mirrors.report, "{what}");
    assert_eq!(found.report.pair_count, expected.len() as u64, "{what}");
    assert!(sorted(&mirrors.pairs) == expected, "{what}: the mirrors");
    if options.order == PairOrder::Canonical || found.report.tested_all_pairs {
        assert!(found.pairs == expected && mirrors.pairs == expected, "{what}: the engine");
        return;
    }
    assert!(sorted(&found.pairs) == expected, "{what}: the engine");
    let mut included: Vec<Pair> = filters.include.iter().map(|pair| Pair::new(pair.a, pair.b)).collect();
    included.sort_unstable();
    included.dedup();
    for pairs in [&found.pairs, &mirrors.pairs] {
        assert!(pairs.ends_with(&included), "{what}: included pairs come last");
    }
}

#[test]
#[ignore = "long"]
fn every_filter_alone_and_all_together_are_exact_in_every_scene() {
    let mut random = Random(5);
    // One engine for all: nothing of the filters before may stay.
    let mut engine = cpu::BroadPhase::new(CANONICAL).unwrap();
    let mut matters = BTreeSet::new();
    for kind in Kind::ALL {
        for n in [0, 1, 2, 33, 270] {
            let boxes = kind.generate(n, 1);
            let unfiltered = brute_force::find_pairs(&boxes);
            for (name, filters) in each_and_all(&boxes, &mut random) {
                let expected = brute_force::find_filtered_pairs(&boxes, &filters);
                if expected != unfiltered && expected.len() > filters.include.len() {
                    matters.insert(name);
                }
                engine.set_filters(filters).unwrap();
                for options in [CANONICAL, SWEEP, ALL_PAIRS, ALL_PAIRS.with_order(PairOrder::Sweep)] {
                    assert_finds(&mut engine, &boxes, &expected, options, &format!("{kind}:{n}, {name}, {options:?}"));
                }
            }
            engine.set_filters(Filters::default()).unwrap();
            assert_finds(&mut engine, &boxes, &unfiltered, CANONICAL, "without filters again");
        }
    }
    // No filter, and nothing but global boxes, change no answer.
    assert_eq!(matters.len(), ALONE.len() + 1 - 2, "{matters:?} change the answer");
}

/// Creates more boxes than a thread takes at a time, with bad boxes among them.
fn several_chunks() -> Vec<Aabb> {
    let mut boxes = Kind::Uniform.generate(2 * CHUNK + 1, 1);
    boxes.iter_mut().step_by(997).for_each(|aabb| aabb.max = [f32::INFINITY; 3]);
    boxes.iter_mut().skip(500).step_by(1500).for_each(|aabb| aabb.min[1] = f32::NAN);
    boxes
}

#[test]
fn any_number_of_threads_finds_the_same_filtered_pairs_in_the_same_order() {
    let boxes = several_chunks();
    for (name, filters) in each_and_all(&boxes, &mut Random(6)) {
        let margins = filters.margin.iter().map(|margin| margin.min(1e-3)).collect();
        let filters = filters.with_margin(margins);
        let expected = sorted(&reference::find_filtered_pairs(&boxes, &filters, &CANONICAL).unwrap().pairs);
        for options in [CANONICAL, SWEEP, ALL_PAIRS] {
            let find = |threads| -> Overlaps {
                with_threads(threads, || {
                    let mut engine = cpu::BroadPhase::new(options).unwrap();
                    engine.set_filters(filters.clone()).unwrap();
                    engine.find_pairs(&boxes).unwrap().clone()
                })
            };
            let (one, two) = (find(1), find(2));
            assert!(one == two, "{name}, {options:?}");
            assert!(sorted(&one.pairs) == expected, "{name}, {options:?}");
        }
    }
}

#[test]
fn changed_ranges_count_from_the_next_call_on() {
    let boxes = Kind::Uniform.generate(500, 1);
    let random = &mut Random(7);
    let (_, filters) = each_and_all(&boxes, random).pop().unwrap();
    let mut engine = cpu::BroadPhase::new(CANONICAL).unwrap();
    engine.set_filters(filters.clone()).unwrap();
    engine.find_pairs(&boxes).unwrap();
    let mut expected = filters;
    let other = all(random, &boxes);
    for range in [0..500, 0..0, 500..500, 17..117, 499..500] {
        for ByBox { list, change, copy, .. } in BY_BOX {
            engine.change_filters(range.start, change(&other, range.clone())).unwrap();
            copy(&mut expected, &other, range.clone());
            assert_eq!(engine.filters(), &expected);
            let pairs = brute_force::find_filtered_pairs(&boxes, &expected);
            for options in [CANONICAL, ALL_PAIRS] {
                assert_finds(&mut engine, &boxes, &pairs, options, &format!("{list} of {range:?}"));
            }
        }
    }
}

#[test]
fn a_change_beyond_a_list_is_refused_and_changes_nothing() {
    let boxes = Kind::Uniform.generate(10, 1);
    let filters = Filters::default().with_group(vec![1; 10]).with_margin(vec![0.5; 10]);
    let mut engine = cpu::BroadPhase::new(CANONICAL).unwrap();
    engine.set_filters(filters.clone()).unwrap();
    let refused = |list, index, error| match error {
        Err(Error::BadFilter { list: l, index: i, .. }) => assert_eq!((l, i), (list, index)),
        other => panic!("{other:?}"),
    };
    refused("group", Some(9), engine.change_filters(9, Attribute::Group(&[2, 2])));
    refused("group", Some(usize::MAX as u64), engine.change_filters(usize::MAX, Attribute::Group(&[2, 2])));
    refused("world", None, engine.change_filters(0, Attribute::World(&[0])));
    refused("margin", Some(4), engine.change_filters(3, Attribute::Margin(&[0.0, f32::NAN])));
    refused("margin", Some(3), engine.change_filters(3, Attribute::Margin(&[-1.0])));
    assert_eq!(engine.filters(), &filters);
    let expected = brute_force::find_filtered_pairs(&boxes, &filters);
    assert_finds(&mut engine, &boxes, &expected, CANONICAL, "after refusals");
}

#[test]
fn filters_of_other_boxes_are_refused_by_the_call_and_the_first_that_is_wrong_is_named() {
    let boxes = Kind::Uniform.generate(600, 1);
    let two = Pair { a: 0, b: 1 };
    let half_space = |index| HalfSpace { index, normal: [0.0, 0.0, 1.0], offset: 0.0 };
    let length = |list, length| Error::FilterLength { list, length, box_count: 600 };
    let bad = |list, index, problem: &str| Error::BadFilter { list, index: Some(index), problem: problem.to_owned() };
    let cases = [
        (Filters::default().with_group(vec![1; 599]), length("group", 599)),
        (Filters::default().with_sleeping(vec![true; 601]).with_world(vec![0; 1]), length("sleeping", 601)),
        (Filters::default().with_margin(vec![0.0; 1]), length("margin", 1)),
        (
            Filters::default().with_exclude(vec![two, Pair { a: 600, b: 3 }, Pair { a: 3, b: 700 }]),
            bad("exclude", 1, "is (600, 3), and there are 600 boxes; indices must be smaller"),
        ),
        (
            Filters::default().with_include(vec![two, two, Pair { a: 3, b: u32::MAX }]),
            bad("include", 2, "is (3, 4294967295), and there are 600 boxes; indices must be smaller"),
        ),
        (
            Filters::default().with_half_spaces(vec![half_space(599), half_space(600)]),
            bad("half_spaces", 1, "is of box 600, and there are 600 boxes; its index must be smaller"),
        ),
    ];
    for options in [CANONICAL, ALL_PAIRS] {
        let mut engine = cpu::BroadPhase::new(options).unwrap();
        for (filters, error) in &cases {
            engine.set_filters(filters.clone()).unwrap();
            assert_eq!(engine.find_pairs(&boxes), Err(error.clone()));
            assert_eq!(reference::find_filtered_pairs(&boxes, filters, &options), Err(error.clone()));
            engine.set_filters(Filters::default()).unwrap();
            assert_finds(&mut engine, &boxes, &brute_force::find_pairs(&boxes), options, "after a refusal");
        }
    }
}

#[test]
fn filters_without_a_meaning_are_refused_at_once_and_the_old_ones_stay() {
    let boxes = Kind::Uniform.generate(600, 1);
    let old = Filters::default().with_exclude(vec![brute_force::find_pairs(&boxes)[0]]);
    let mut engine = cpu::BroadPhase::new(CANONICAL).unwrap();
    engine.set_filters(old.clone()).unwrap();
    let margin = |value| Filters::default().with_margin(vec![0.0, 1.0, value, -2.0]);
    let half_space = |index, normal, offset| HalfSpace { index, normal, offset };
    let up = [0.0, 0.0, 1.0];
    let half_spaces = |bad| Filters::default().with_half_spaces(vec![half_space(3, up, 0.0), bad]);
    let itself = vec![Pair { a: 0, b: 1 }, Pair { a: 5, b: 5 }];
    for (filters, wrong) in [
        (margin(-1e-30), ("margin", 2)),
        (margin(f32::NAN), ("margin", 2)),
        (margin(f32::INFINITY), ("margin", 2)),
        (half_spaces(half_space(3, up, 1.0)), ("half_spaces", 1)),
        (half_spaces(half_space(4, [0.0, -0.0, 0.0], 1.0)), ("half_spaces", 1)),
        (half_spaces(half_space(4, [0.0, f32::NAN, 1.0], 1.0)), ("half_spaces", 1)),
        (half_spaces(half_space(4, up, f32::INFINITY)), ("half_spaces", 1)),
        (Filters::default().with_exclude(itself.clone()), ("exclude", 1)),
        (Filters::default().with_include(itself), ("include", 1)),
    ] {
        match engine.set_filters(filters) {
            Err(Error::BadFilter { list, index, .. }) => assert_eq!((list, index), (wrong.0, Some(wrong.1))),
            other => panic!("{wrong:?}: {other:?}"),
        }
        assert_eq!(engine.filters(), &old);
        let expected = brute_force::find_filtered_pairs(&boxes, &old);
        assert_finds(&mut engine, &boxes, &expected, CANONICAL, "after a refusal");
    }
}

#[test]
fn invalid_boxes_are_counted_as_they_are_searched() {
    let nan = Aabb::new([f32::NAN; 3], [1.0; 3]);
    // A margin turns the second the right way round; a half-space stands where the third is.
    let boxes = [nan, Aabb::new([1.0; 3], [0.5; 3]), nan, Aabb::new([0.0; 3], [1.0; 3])];
    let half_space = HalfSpace { index: 2, normal: [0.0, 0.0, 1.0], offset: 0.0 };
    let filters = Filters::default().with_margin(vec![1.0; 4]).with_half_spaces(vec![half_space]);
    for options in [CANONICAL, ALL_PAIRS] {
        let mut engine = cpu::BroadPhase::new(options).unwrap();
        engine.set_filters(filters.clone()).unwrap();
        let Overlaps { pairs, report, .. } = engine.find_pairs(&boxes).unwrap().clone();
        assert_eq!((report.invalid_count, report.first_invalid), (1, vec![0]));
        assert_eq!(pairs, [Pair::new(1, 2), Pair::new(1, 3), Pair::new(2, 3)]);
    }
}

/// Picks the pairs of worlds, one world after the other.
fn assert_splits(overlaps: &Overlaps, filters: &Filters) {
    let by_world = overlaps.by_world(filters).unwrap();
    assert!(by_world.worlds.is_sorted_by(|a, b| a < b));
    assert_eq!(by_world.offsets.len(), by_world.worlds.len() + 1);
    assert_eq!(by_world.pairs.len(), overlaps.pairs.len());
    for (slot, (world, pairs)) in by_world.iter().enumerate() {
        let expected: Vec<Pair> = overlaps
            .pairs
            .iter()
            .copied()
            .filter(|&pair| filters.world_of(pair).unwrap_or(Filters::GLOBAL) == world)
            .collect();
        assert_eq!(pairs, expected, "world {world}");
        assert_eq!(by_world.of(world), expected);
        let boxes = filters.world.iter().filter(|&&of_box| of_box == world).count();
        assert!(boxes > 0 && boxes == by_world.box_counts[slot] as usize, "world {world}");
    }
}

#[test]
fn pairs_are_split_by_world_in_the_order_in_which_they_were_found() {
    let mut random = Random(8);
    for kind in [Kind::Uniform, Kind::Identical, Kind::Infinite, Kind::Spread] {
        let boxes = kind.generate(700, 1);
        // Some worlds of one box, some of many, numbers anywhere.
        let number = |random: &mut Random| {
            let most = 1 + random.below(60);
            random.below(most) as u32 * 71_000_003
        };
        let world = boxes.iter().map(|_| number(&mut random)).collect();
        let mut world: Vec<u32> = world;
        world.iter_mut().filter(|_| random.below(4) == 0).for_each(|world| *world = Filters::GLOBAL);
        let filters = Filters::default().with_world(world).with_include(some_pairs(&mut random, boxes.len(), 100));
        let mut engine = cpu::BroadPhase::new(SWEEP).unwrap();
        engine.set_filters(filters.clone()).unwrap();
        let found = engine.find_pairs(&boxes).unwrap();
        assert_splits(found, &filters);
        assert_eq!(found.by_world(&filters).unwrap().of(1), []);
        let no_worlds = found.by_world(&Filters::default()).unwrap();
        assert_eq!((no_worlds.worlds, no_worlds.box_counts), (vec![Filters::GLOBAL], vec![700]));
        assert_eq!((no_worlds.offsets, &no_worlds.pairs), (vec![0, found.pairs.len()], &found.pairs));
    }
}

#[test]
fn worlds_of_another_number_of_boxes_split_nothing() {
    let overlaps = cpu::find_pairs(&[Aabb::new([0.0; 3], [1.0; 3]); 4], &Options::default()).unwrap();
    for length in [1, 3, 5] {
        let filters = Filters::default().with_world(vec![0; length]);
        let error = Error::FilterLength { list: "world", length: length as u64, box_count: 4 };
        assert_eq!(overlaps.by_world(&filters), Err(error));
    }
    // A list that has more than its report.
    let mut report = overlaps.report;
    report.box_count = 2;
    let filters = Filters::default().with_world(vec![0; 2]);
    let error = Error::FilterLength { list: "world", length: 2, box_count: 4 };
    assert_eq!(Overlaps::new(overlaps.pairs, report).by_world(&filters), Err(error));
}
