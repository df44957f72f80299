//! The join of two sets on the CPU, by a tree of either and as one input, which all have to find the same.

use broadsweep::filter::HalfSpace;
use broadsweep::internals::join::{self, Way};
use broadsweep::{Aabb, CellSize, Error, Filters, Options, Overlaps, Pair, PairOrder, SweepAxis, cpu};
use laboratory::scenes::Kind;

use super::inputs::{ALONE, all, some_pairs};
use super::rule;
use crate::common::{CANONICAL, Random, SWEEP};

const WAYS: [Way; 3] = [Way::AsOneInput, Way::TreeOfFirst, Way::TreeOfSecond];
const TREES: [Way; 2] = [Way::TreeOfFirst, Way::TreeOfSecond];

/// Creates boxes of a kind, some of which touch all others or none.
fn boxes(random: &mut Random, kind: Kind, n: usize) -> Vec<Aabb> {
    let (nan, inf) = (f32::NAN, f32::INFINITY);
    let mut boxes = kind.generate(n, 1);
    for aabb in &mut boxes {
        let others = [
            Aabb::new([-inf; 3], [inf; 3]),
            Aabb::new([-inf; 3], [inf, 0.5, inf]),
            Aabb::new([inf; 3], [-inf; 3]),
            Aabb::new([inf; 3], [inf; 3]),
            Aabb::new([0.0, nan, 0.0], [1.0; 3]),
            Aabb::new([0.0; 3], [1.0, -1e-45, 1.0]),
            Aabb::new([-0.0; 3], [0.0; 3]),
        ];
        // Of forty boxes one.
        if let Some(other) = others.get(random.below(40 * others.len())) {
            *aabb = *other;
        }
    }
    boxes
}

/// Keeps what a join by a tree takes: included pairs of a box of each set, and no half-spaces.
fn for_trees(mut filters: Filters, first: usize) -> Filters {
    let crosses = |pair: &Pair| (pair.a.min(pair.b) as usize) < first && (pair.a.max(pair.b) as usize) >= first;
    filters.include.retain(crosses);
    filters.with_half_spaces(Vec::new()).with_second(vec![true; 3])
}

/// Finds the pairs of a join, numbered in their sets, ascending, with the rule written down.
fn plainly(boxes: &[Aabb], first: usize, filters: &Filters) -> Vec<Pair> {
    let second = (0..boxes.len()).map(|i| i >= first).collect();
    let numbered = |pair: Pair| Pair { a: pair.a, b: pair.b - first as u32 };
    rule::find_pairs(boxes, &filters.clone().with_second(second)).into_iter().map(numbered).collect()
}

fn with_threads<T: Send>(threads: usize, run: impl FnOnce() -> T + Send) -> T {
    rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap().install(run)
}

/// Checks an answer, all of whose pairs are known.
fn assert_join(found: &Overlaps, expected: &[Pair], order: PairOrder, way: Way, what: &str) {
    let mut pairs = found.pairs.clone();
    if order == PairOrder::Sweep {
        pairs.sort_unstable();
    }
    assert!(pairs == expected, "{what}: {} pairs in place of {}", pairs.len(), expected.len());
    let report = &found.report;
    assert_eq!(report.pair_count, expected.len() as u64, "{what}");
    assert_eq!((report.tree_join, report.tested_all_pairs), (way != Way::AsOneInput, false), "{what}");
    if report.tree_join {
        assert_eq!((report.axis, report.direction, report.cell_size), (SweepAxis::Auto, [0.0; 3], f32::INFINITY));
        assert_eq!((report.entry_count, report.giant_count, report.passes), (0, 0, 1));
    }
}

#[test]
#[ignore = "long"]
fn every_way_to_join_finds_the_pairs_that_every_filter_leaves() {
    let mut random = Random(11);
    let mut engine = cpu::BroadPhase::new(SWEEP).unwrap();
    let mut found_count = 0;
    let sizes = [(0, 0), (0, 9), (1, 1), (9, 1), (64, 65), (7, 300), (300, 8), (280, 130)];
    for (number, kind) in Kind::ALL.into_iter().enumerate() {
        for (first, second) in sizes {
            let boxes = boxes(&mut random, kind, first + second);
            let mut cases: Vec<(&str, Filters)> = vec![("all", all(&mut random, &boxes))];
            for turn in 0..4 {
                let (name, make) = ALONE[(4 * number + turn) % ALONE.len()];
                cases.push((name, make(&mut random, &boxes)));
            }
            for (name, filters) in cases {
                let filters = for_trees(filters, first);
                let expected = plainly(&boxes, first, &filters);
                let invalid = rule::invalid(&boxes, &filters);
                found_count += expected.len();
                engine.set_filters(filters.clone()).unwrap();
                for (way, options) in WAYS.iter().flat_map(|&way| [(way, SWEEP), (way, CANONICAL)]) {
                    engine.set_options(options).unwrap();
                    let (one, other) = boxes.split_at(first);
                    let found = join::by(&mut engine, way, one, other).unwrap();
                    let what = format!("{kind}:{first}+{second}, {name}, {way:?}, {:?}", options.order);
                    assert_join(found, &expected, options.order, way, &what);
                    assert_eq!(found.report.box_count as usize, boxes.len());
                    assert_eq!(found.report.invalid_count as usize, invalid.len(), "{what}");
                    assert_eq!(found.report.first_invalid, invalid[..invalid.len().min(8)], "{what}");
                    assert_eq!(engine.filters(), &filters, "{what}");
                }
            }
        }
    }
    assert!(found_count > 100_000, "{found_count}");
}

#[test]
#[ignore = "long"]
fn any_number_of_threads_joins_in_the_same_order() {
    let mut random = Random(12);
    let mut boxes = boxes(&mut random, Kind::Uniform, 60_000);
    // Few that touch all others: the list would be long.
    let unbounded = boxes.iter_mut().filter(|aabb| aabb.min[0].is_infinite());
    unbounded.skip(20).for_each(|aabb| aabb.min[0] = f32::NAN);
    let worlds = (0..60_000).map(|_| [0, 1, 2, Filters::GLOBAL][random.below(4)]).collect();
    let crossing = |pairs: Vec<Pair>| pairs.into_iter().filter(|p| (p.a < 20_000) != (p.b < 20_000)).collect();
    let include: Vec<Pair> = crossing(some_pairs(&mut random, 60_000, 300));
    let cases = [
        Filters::default(),
        Filters::default().with_body((0..60_000).map(|i| i % 7).collect()).with_include(include),
        Filters::default().with_world(worlds).with_margin(vec![1e-3; 60_000]),
    ];
    for (number, filters) in cases.iter().enumerate() {
        for cut in [20_000, 59_900] {
            let (first, second) = boxes.split_at(cut);
            let filters = for_trees(filters.clone(), cut);
            let find = |threads, way, options| -> Overlaps {
                with_threads(threads, || {
                    let mut engine = cpu::BroadPhase::new(options).unwrap();
                    engine.set_filters(filters.clone()).unwrap();
                    join::by(&mut engine, way, first, second).unwrap().clone()
                })
            };
            let expected = find(2, Way::AsOneInput, CANONICAL).pairs;
            assert!(expected.len() > 500);
            let included: Vec<Pair> = {
                let mut pairs: Vec<Pair> = filters.include.iter().map(|pair| Pair::new(pair.a, pair.b)).collect();
                pairs.sort_unstable();
                pairs.dedup();
                pairs.into_iter().map(|pair| Pair { a: pair.a, b: pair.b - cut as u32 }).collect()
            };
            for (way, options) in TREES.iter().flat_map(|&way| [(way, SWEEP), (way, CANONICAL)]) {
                let what = format!("filters {number}, {cut} boxes, {way:?}, {:?}", options.order);
                let one = find(1, way, options);
                assert_join(&one, &expected, options.order, way, &what);
                assert!(options.order == PairOrder::Canonical || one.pairs.ends_with(&included), "{what}");
                for threads in [2, 5] {
                    assert!(find(threads, way, options) == one, "{what}, {threads} threads");
                }
            }
        }
    }
}

#[test]
fn a_tree_join_is_chosen_unless_something_prevents_it() {
    let boxes = Kind::Uniform.generate(6_000, 1);
    let mut engine = cpu::BroadPhase::new(Options::default()).unwrap();
    for (cut, way) in [
        (5_000, Way::TreeOfFirst),
        (3_000, Way::TreeOfSecond),
        (300, Way::TreeOfSecond),
        (256, Way::TreeOfFirst),
        (0, Way::TreeOfFirst),
        (5_743, Way::TreeOfFirst),
        (5_744, Way::TreeOfSecond),
    ] {
        let (first, second) = boxes.split_at(cut);
        let chosen = engine.find_pairs_between(first, second).unwrap().clone();
        assert!(chosen == *join::by(&mut engine, way, first, second).unwrap(), "{cut}");
        assert!(chosen.report.tree_join && !chosen.report.tested_all_pairs, "{:?}", chosen.report);
    }
    let (first, second) = boxes.split_at(256);
    engine.set_filters(Filters::default().with_world(vec![3; 6_000])).unwrap();
    let chosen = engine.find_pairs_between(first, second).unwrap().clone();
    assert!(chosen == *join::by(&mut engine, Way::TreeOfSecond, first, second).unwrap());
    engine.set_filters(Filters::default()).unwrap();
    let (first, second) = boxes.split_at(1_000);
    let mut queried = |options: Options, first: &[Aabb], second: &[Aabb]| {
        engine.set_options(options).unwrap();
        let report = engine.find_pairs_between(first, second).unwrap().report.clone();
        (report.tree_join, report.tested_all_pairs)
    };
    let default = Options::default();
    assert_eq!(queried(default, first, &second[..24]), (false, true));
    assert_eq!(queried(default, first, &second[..25]), (true, false));
    assert_eq!(queried(default.with_axis(SweepAxis::X), first, second), (false, false));
    assert_eq!(queried(default.with_cell_size(CellSize::Fixed(0.1)), first, second), (false, false));
    let half_space = HalfSpace { index: 2_000, normal: [0.0, 0.0, 1.0], offset: 0.2 };
    let filters = Filters::default().with_half_spaces(vec![half_space]);
    engine.set_filters(filters.clone()).unwrap();
    let expected = plainly(&boxes, 1_000, &filters);
    engine.set_options(CANONICAL).unwrap();
    assert_join(
        engine.find_pairs_between(first, second).unwrap(),
        &expected,
        PairOrder::Canonical,
        Way::AsOneInput,
        "",
    );
}

#[test]
fn tests_are_counted_box_by_box() {
    let mut boxes = Kind::Identical.generate(1_000, 1);
    let mut engine = cpu::BroadPhase::new(SWEEP).unwrap();
    let (first, second) = boxes.split_at(301);
    for way in TREES {
        assert_eq!(join::by(&mut engine, way, first, second).unwrap().report.candidate_count, 301 * 699);
    }
    boxes[7].min[0] = f32::NAN;
    let (first, second) = boxes.split_at(301);
    // It queries nothing; in a leaf it is tested as all others.
    for (way, count) in [(Way::TreeOfFirst, 301 * 699), (Way::TreeOfSecond, 300 * 699)] {
        let report = &join::by(&mut engine, way, first, second).unwrap().report;
        assert_eq!(
            (report.candidate_count, report.pair_count, &report.first_invalid[..]),
            (count, 300 * 699, &[7][..])
        );
    }
}

#[test]
fn a_tree_join_stops_at_the_limit() {
    let boxes = Kind::Uniform.generate(70_000, 1);
    let (first, second) = boxes.split_at(30_000);
    for way in TREES {
        let mut engine = cpu::BroadPhase::new(SWEEP).unwrap();
        let whole = join::by(&mut engine, way, first, second).unwrap().clone();
        let count = whole.report.candidate_count;
        // Leaves hold the box that touches, and seven others at most; few boxes come to more than a dozen leaves.
        assert!((whole.report.pair_count..100 * 70_000).contains(&count), "{count}");
        engine.set_options(SWEEP.with_candidate_limit(count)).unwrap();
        assert_eq!(join::by(&mut engine, way, first, second), Ok(&whole));
        engine.set_options(SWEEP.with_candidate_limit(count - 1)).unwrap();
        let refused = Error::TooManyCandidates { candidate_count: count, limit: count - 1 };
        assert_eq!(join::by(&mut engine, way, first, second), Err(refused));
        assert_eq!(engine.last_overlaps(), cpu::BroadPhase::new(SWEEP).unwrap().last_overlaps());
        // Long before the end, and by any number of threads at the same box.
        engine.set_options(SWEEP.with_candidate_limit(5)).unwrap();
        let Err(early) = join::by(&mut engine, way, first, second) else { panic!("5 tests are not enough") };
        let Error::TooManyCandidates { candidate_count, limit: 5 } = early else { panic!("{early}") };
        assert!(candidate_count < count * 3 / 4, "{candidate_count} of {count}");
        for threads in [1, 3] {
            let again = with_threads(threads, || join::by(&mut engine, way, first, second).cloned());
            assert_eq!(again.as_ref(), Err(&early));
        }
        engine.set_options(SWEEP).unwrap();
        assert_eq!(join::by(&mut engine, way, first, second), Ok(&whole));
    }
}
