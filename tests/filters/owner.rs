//! Owner regions: a scene cut into tiles, each of which is given the boxes that touch it and nothing else.

use std::collections::HashMap;

use broadsweep::filter::HalfSpace;
use broadsweep::{Aabb, BroadPhase, Engine, Error, Filters, IdPair, Pair, PairOrder, Recorder, cpu};
use laboratory::scenes::Kind;
use proptest::prelude::*;

use crate::common::device::{encoder, run, upload};
use crate::common::{ALL_PAIRS, CANONICAL, GPU, Random, SWEEP, assert_pairs};
use crate::engines::{cpu, gpu};
use crate::inputs::{margins, some_pairs, worlds};
use crate::rule;

const WHOLE: Aabb = Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]);

/// Bounds that go wrong, where tiles are cut and boxes begin.
const BOUNDS: [f32; 14] = [
    f32::NEG_INFINITY,
    f32::MIN,
    -1e30,
    -1.0,
    -1e-38,
    -1e-45,
    -0.0,
    0.0,
    1e-45,
    1e-38,
    1.0,
    1.0 + f32::EPSILON,
    f32::MAX,
    f32::INFINITY,
];

/// Cuts space into tiles that share faces. Cuts lie where boxes begin or end, or anywhere else. Some tiles are flat.
fn tiles(random: &mut Random, boxes: &[Aabb], most_cuts: usize) -> Vec<Aabb> {
    let mut tiles = vec![WHOLE];
    for k in 0..3 {
        let mut cuts: Vec<f32> = (0..random.below(most_cuts + 1))
            .map(|_| {
                let aabb = boxes.get(random.below(boxes.len().max(1))).unwrap_or(&WHOLE);
                [aabb.min[k], aabb.min[k], aabb.max[k], BOUNDS[random.below(BOUNDS.len())]][random.below(4)]
            })
            .filter(|cut| !cut.is_nan())
            .collect();
        cuts.sort_unstable_by(f32::total_cmp);
        let from = [f32::NEG_INFINITY].into_iter().chain(cuts.iter().copied());
        let faces: Vec<(f32, f32)> = from.zip(cuts.iter().copied().chain([f32::INFINITY])).collect();
        let cut = |tile: &Aabb, &(from, to): &(f32, f32)| {
            let mut tile = *tile;
            (tile.min[k], tile.max[k]) = (from, to);
            tile
        };
        tiles = tiles.iter().flat_map(|tile| faces.iter().map(move |faces| cut(tile, faces))).collect();
    }
    tiles
}

/// Boxes of every kind that goes wrong, and usual ones among them.
fn adversarial(random: &mut Random, n: usize) -> Vec<Aabb> {
    let usual = Kind::Uniform.generate(n.max(1), 1);
    let mut some_box = |i: usize| {
        let mut one = || BOUNDS[random.below(BOUNDS.len())];
        let mut aabb = usual[i];
        for k in 0..3 {
            let (a, b) = (one(), one());
            (aabb.min[k], aabb.max[k]) = if a <= b { (a, b) } else { (b, a) };
        }
        match random.below(12) {
            0 => aabb.min[random.below(3)] = f32::NAN,
            1 => std::mem::swap(&mut aabb.min, &mut aabb.max),
            2 => aabb.max = aabb.min,
            3..8 => aabb = usual[i],
            _ => {}
        }
        aabb
    };
    (0..n).map(&mut some_box).collect()
}

/// Returns the filters of some boxes alone, without lists of pairs.
fn part(filters: &Filters, ids: &[usize]) -> Filters {
    fn of<T: Copy>(list: &[T], ids: &[usize]) -> Vec<T> {
        if list.is_empty() { Vec::new() } else { ids.iter().map(|&id| list[id]).collect() }
    }
    let place = |index: u32| ids.iter().position(|&id| id == index as usize).map(|place| place as u32);
    let half_spaces = filters.half_spaces.iter();
    Filters::default()
        .with_body(of(&filters.body, ids))
        .with_fixed(of(&filters.fixed, ids))
        .with_world(of(&filters.world, ids))
        .with_margin(of(&filters.margin, ids))
        .with_half_spaces(half_spaces.filter_map(|h| Some(HalfSpace { index: place(h.index)?, ..*h })).collect())
}

/// Counts how many tiles report each pair of ids. Each tile gets the boxes that touch it, in its own order.
fn pairs_of_tiles(
    engine: &mut impl Engine,
    (boxes, filters, id): (&[Aabb], &Filters, &dyn Fn(usize) -> u64),
    tiles: &[Aabb],
    random: &mut Random,
) -> HashMap<IdPair, u32> {
    let mut searched = rule::padded(boxes, filters);
    filters.half_spaces.iter().for_each(|half_space| searched[half_space.index as usize] = WHOLE);
    let mut all = Vec::new();
    for tile in tiles {
        let mut inside: Vec<usize> = (0..boxes.len()).filter(|&i| searched[i].overlaps(tile)).collect();
        for i in (1..inside.len()).rev() {
            inside.swap(i, random.below(i + 1));
        }
        let own: Vec<Aabb> = inside.iter().map(|&i| boxes[i]).collect();
        let ids: Vec<u64> = inside.iter().map(|&i| id(i)).collect();
        engine.set_filters(part(filters, &inside).with_owner(Some(*tile))).unwrap();
        let found = engine.find_pairs(&own).unwrap();
        assert_eq!(found.report.pair_count, found.pairs.len() as u64);
        IdPair::append(&found.pairs, &ids, &mut all).unwrap();
    }
    let mut counts = HashMap::new();
    all.into_iter().for_each(|pair| *counts.entry(pair).or_insert(0) += 1);
    counts
}

/// Checks that separate tiles find the pairs of the double loop over all boxes, each pair once; and that a tile finds
/// the pairs that it owns if it gets all boxes.
fn assert_tiled(engine: &mut impl Engine, scene: (&[Aabb], &Filters), tiles: &[Aabb], random: &mut Random, what: &str) {
    let (boxes, filters) = scene;
    let ids: Vec<u64> = (0..boxes.len() as u64).map(|i| (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect();
    let expected = rule::find_pairs(boxes, filters);
    let found = pairs_of_tiles(engine, (boxes, filters, &|i| ids[i]), tiles, random);
    for pair in &expected {
        let (a, b) = (ids[pair.a as usize], ids[pair.b as usize]);
        let count = found.get(&IdPair::new(a, b)).copied().unwrap_or(0);
        assert_eq!(count, 1, "{what}: {pair:?} of {:?} in {tiles:?}", [pair.a, pair.b].map(|i| boxes[i as usize]));
    }
    assert_eq!(found.len(), expected.len(), "{what}");
    for owner in tiles.iter().take(2).map(|tile| Some(*tile)) {
        let filters = filters.clone().with_owner(owner);
        engine.set_filters(filters.clone()).unwrap();
        assert_pairs(&engine.find_pairs(boxes).unwrap().pairs, &rule::find_pairs(boxes, &filters), what);
    }
    engine.set_filters(Filters::default()).unwrap();
}

/// Creates filters that depend on where boxes are, or reach over tiles.
fn filters(random: &mut Random, boxes: &[Aabb]) -> Filters {
    let n = boxes.len();
    let mut filters = Filters::default();
    if random.below(3) == 0 {
        filters.margin = margins(random, boxes);
    }
    if random.below(3) == 0 && n > 0 {
        filters.half_spaces = crate::inputs::half_spaces(random, boxes);
    }
    if random.below(4) == 0 && n > 0 {
        filters.world = worlds(random, boxes, true);
    }
    if random.below(4) == 0 {
        filters.body = (0..n as u32).map(|i| i / 2).collect();
        filters.fixed = (0..n).map(|i| i % 3 == 0).collect();
    }
    filters
}

#[test]
#[ignore = "long"]
fn tiles_find_every_pair_once_on_scenes_of_every_kind() {
    for (i, kind) in Kind::ALL.into_iter().enumerate() {
        let random = &mut Random(i as u64);
        let boxes = kind.generate(300, 5);
        for options in [CANONICAL, ALL_PAIRS] {
            let filters = filters(random, &boxes);
            let tiles = tiles(random, &boxes, 2);
            assert_tiled(&mut *cpu(options), (&boxes, &filters), &tiles, random, kind.name());
            assert_tiled(&mut *gpu(options), (&boxes, &filters), &tiles, random, kind.name());
        }
    }
}

#[test]
#[ignore = "long"]
fn larger_scenes_in_tiles_are_exact() {
    let random = &mut Random(4);
    for kind in [Kind::Uniform, Kind::Pile, Kind::Infinite] {
        let boxes = kind.generate(3000, 2);
        let tiles = tiles(random, &boxes, 2);
        for filters in [Filters::default(), filters(random, &boxes)] {
            assert_tiled(&mut *cpu(CANONICAL), (&boxes, &filters), &tiles, random, kind.name());
            assert_tiled(&mut *gpu(CANONICAL), (&boxes, &filters), &tiles, random, kind.name());
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    #[ignore = "long"]
    fn tiles_that_nobody_thought_of_find_every_pair_once(seed: u64, n in 0..60usize, tests_all_pairs: bool) {
        let random = &mut Random(seed);
        let boxes = adversarial(random, n);
        let filters = filters(random, &boxes);
        let tiles = tiles(random, &boxes, 3);
        let options = if tests_all_pairs { ALL_PAIRS } else { CANONICAL };
        assert_tiled(&mut *cpu(options), (&boxes, &filters), &tiles, random, "CPU");
        // Each tile is a call, which takes a while.
        let some = &tiles[..tiles.len().min(8)];
        for tile in some {
            let filters = filters.clone().with_owner(Some(*tile));
            let mut gpu = gpu(options);
            gpu.set_filters(filters.clone()).unwrap();
            assert_pairs(&gpu.find_pairs(&boxes).unwrap().pairs, &rule::find_pairs(&boxes, &filters), "GPU");
        }
    }
}

#[test]
fn tiles_join_two_sets() {
    fn check(engine: &mut impl Engine, name: &str) {
        let random = &mut Random(8);
        for (kind, cut) in [(Kind::Uniform, 500), (Kind::Infinite, 300), (Kind::Clusters, 20), (Kind::Touching, 480)] {
            let boxes = kind.generate(500 + cut, 3);
            let margin = if cut == 300 { margins(random, &boxes) } else { Vec::new() };
            let (first, second) = boxes.split_at(cut);
            let of_sets = (0..boxes.len()).map(|i| i >= cut).collect();
            let all = rule::find_pairs(&boxes, &Filters::default().with_second(of_sets).with_margin(margin.clone()));
            let mut found = Vec::new();
            for tile in tiles(random, &boxes, 2) {
                engine.set_filters(Filters::default().with_owner(Some(tile)).with_margin(margin.clone())).unwrap();
                let pairs = &engine.find_pairs_between(first, second).unwrap().pairs;
                found.extend(pairs.iter().map(|pair| Pair { a: pair.a, b: pair.b + cut as u32 }));
            }
            found.sort_unstable();
            assert_pairs(&found, &all, &format!("{name}, {}", kind.name()));
        }
    }
    for options in [SWEEP, ALL_PAIRS] {
        check(&mut cpu::BroadPhase::new(options).unwrap(), "CPU");
        check(&mut BroadPhase::new(&GPU, options).unwrap(), "GPU");
    }
}

#[test]
fn pieces_and_slabs_of_a_tile_have_ids() {
    let boxes = Kind::Uniform.generate(3000, 9);
    let ids: Vec<u64> = (0..3000).map(|i| (1 << 50) - 7 * i).collect();
    let mut tile = WHOLE;
    (tile.min[0], tile.max[1]) = (0.3, 0.7);
    let filters = Filters::default().with_owner(Some(tile));
    let mut expected = Vec::new();
    IdPair::append(&rule::find_pairs(&boxes, &filters), &ids, &mut expected).unwrap();
    IdPair::sort(&mut expected);
    assert!(expected.is_sorted() && expected.iter().all(|pair| pair.a < pair.b) && expected.len() > 300);
    for most in [1000, 3000] {
        let mut engine = gpu(CANONICAL);
        engine.set_filters(filters.clone()).unwrap();
        engine.set_options(SWEEP.with_memory_budget(Some(0))).unwrap();
        let Err(Error::OverBudget { required, .. }) = engine.memory_plan(most) else { panic!("no budget is enough") };
        engine.set_options(SWEEP.with_memory_budget(Some(required))).unwrap();
        let mut found = Vec::new();
        let report = engine.stream_pairs(&boxes, |_, piece| IdPair::append(piece, &ids, &mut found)).unwrap();
        assert_eq!(report.passes > 1, most == 1000);
        IdPair::sort(&mut found);
        assert!(found == expected, "{} pairs in place of {}", found.len(), expected.len());
    }
}

#[test]
#[ignore = "long"]
fn included_pairs_are_reported_by_all_and_excluded_ones_by_none() {
    let boxes = Kind::Uniform.generate(500, 4);
    let random = &mut Random(2);
    let lists =
        Filters::default().with_include(some_pairs(random, 500, 90)).with_exclude(some_pairs(random, 500, 9000));
    for tile in tiles(random, &boxes, 2) {
        for options in [CANONICAL, ALL_PAIRS] {
            let filters = lists.clone().with_owner(Some(tile));
            let expected = rule::find_pairs(&boxes, &filters);
            assert!(lists.include.iter().all(|pair| expected.contains(&Pair::new(pair.a, pair.b))));
            let mut on_gpu = gpu(options);
            on_gpu.set_filters(filters.clone()).unwrap();
            assert_pairs(&on_gpu.find_pairs(&boxes).unwrap().pairs, &expected, "GPU");
            let mut on_cpu = cpu(options);
            on_cpu.set_filters(filters).unwrap();
            assert_pairs(&on_cpu.find_pairs(&boxes).unwrap().pairs, &expected, "CPU");
        }
    }
}

#[test]
fn ids_that_are_missing_are_named_and_the_list_stays() {
    let pairs = [Pair { a: 0, b: 1 }, Pair { a: 1, b: 3 }, Pair { a: 0, b: 9 }];
    let mut list = vec![IdPair::new(5, 4)];
    let refused = IdPair::append(&pairs, &[7, 8, 9], &mut list).unwrap_err();
    assert_eq!(refused, Error::NoId { index: 3, id_count: 3 });
    assert!(refused.to_string().contains("box 3") && refused.to_string().contains("3 ids"), "{refused}");
    assert_eq!(list, [IdPair { a: 4, b: 5 }]);
    assert_eq!(IdPair::append(&pairs[..1], &[], &mut list).unwrap_err(), Error::NoId { index: 1, id_count: 0 });
    IdPair::append(&[], &[], &mut list).unwrap();
    // Equal ids, and the largest.
    IdPair::append(&pairs[..2], &[3, u64::MAX, 0, u64::MAX], &mut list).unwrap();
    let same = IdPair { a: u64::MAX, b: u64::MAX };
    assert_eq!(list, [IdPair { a: 4, b: 5 }, IdPair { a: 3, b: u64::MAX }, same]);
    // Long lists, by any number of threads, keep their order.
    let ids: Vec<u64> = (0..5000u64).map(|i| (i * i) ^ 0xfff).collect();
    let pairs: Vec<Pair> = (0..100_000).map(|i| Pair { a: i % 4999, b: 4999 }).collect();
    let mut long = list.clone();
    IdPair::append(&pairs, &ids, &mut long).unwrap();
    let expected = pairs.iter().map(|pair| IdPair::new(ids[pair.a as usize], ids[pair.b as usize]));
    assert!(long.into_iter().eq(list.into_iter().chain(expected)));
    assert_eq!(bytemuck::bytes_of(&same).len(), 16);
}

/// The lists of tiles, sorted together, are the list of the whole in canonical order.
#[test]
fn lists_of_tiles_sorted_are_the_list_of_the_whole() {
    let boxes = Kind::Clusters.generate(2000, 6);
    let ids: Vec<u64> = (0..2000).collect();
    let mut engine = cpu::BroadPhase::new(CANONICAL.with_order(PairOrder::Sweep)).unwrap();
    let mut found = Vec::new();
    for tile in tiles(&mut Random(3), &boxes, 3) {
        engine.set_filters(Filters::default().with_owner(Some(tile))).unwrap();
        IdPair::append(&engine.find_pairs(&boxes).unwrap().pairs, &ids, &mut found).unwrap();
    }
    IdPair::sort(&mut found);
    let whole = rule::find_pairs(&boxes, &Filters::default());
    let whole = whole.iter().map(|pair| IdPair { a: pair.a.into(), b: pair.b.into() });
    assert!(found.into_iter().eq(whole));
}

#[test]
fn a_recorded_list_of_a_region_comes_in_windows() {
    let boxes = Kind::Uniform.generate(1500, 4);
    let buffer = upload(&boxes);
    for options in [SWEEP, ALL_PAIRS] {
        let mut engine = Recorder::new(&GPU, options).unwrap();
        for tile in tiles(&mut Random(6), &boxes, 1) {
            let filters = Filters::default().with_owner(Some(tile));
            let expected = rule::find_pairs(&boxes, &filters);
            engine.set_filters(filters).unwrap();
            let mut recorded = encoder();
            let left = engine.record(&mut recorded, buffer.slice(..), 1500).unwrap();
            let (header, _) = run(recorded, left);
            assert_eq!((u64::from(header.count), header.count_high), (expected.len() as u64, 0));
            let mut found = Vec::new();
            for first in (0..expected.len() as u64).step_by(700) {
                let mut again = encoder();
                let left = engine.record_window(&mut again, buffer.slice(..), 1500, first, 700).unwrap();
                // The capacity may exceed the requested one.
                found.extend(run(again, left).1.into_iter().take(700));
            }
            found.sort_unstable();
            assert_pairs(&found, &expected, "in windows");
        }
    }
}
