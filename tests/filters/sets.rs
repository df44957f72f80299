//! The join of two sets, on both engines: against a plain double loop over the two.

use broadsweep::{Aabb, BroadPhase, Engine, Error, Filters, Options, Pair, PairOrder, cpu};
use laboratory::scenes::Kind;

use super::inputs::some_pairs;
use crate::common::*;

/// Finds the pairs of two sets, ascending.
fn plainly(first: &[Aabb], second: &[Aabb]) -> Vec<Pair> {
    let is_valid = |aabb: &Aabb| (0..3).all(|k| aabb.min[k] <= aabb.max[k]);
    let meet = |a: &Aabb, b: &Aabb| (0..3).all(|k| a.min[k] <= b.max[k] && b.min[k] <= a.max[k]);
    let mut pairs = Vec::new();
    for (a, one) in (0..).zip(first).filter(|(_, aabb)| is_valid(aabb)) {
        for (b, other) in (0..).zip(second).filter(|(_, aabb)| is_valid(aabb)) {
            if meet(one, other) {
                pairs.push(Pair { a, b });
            }
        }
    }
    pairs
}

/// Calls `each` with both engines, with these options.
fn both(options: Options, mut each: impl FnMut(&mut dyn FnMut(&[Aabb], &[Aabb]) -> Result<Vec<Pair>, Error>, &str)) {
    let mut gpu = BroadPhase::new(&GPU, options).unwrap();
    let mut cpu = cpu::BroadPhase::new(options).unwrap();
    each(&mut |first, second| gpu.find_pairs_between(first, second).map(|found| found.pairs.clone()), "GPU");
    each(&mut |first, second| cpu.find_pairs_between(first, second).map(|found| found.pairs.clone()), "CPU");
}

#[test]
#[ignore = "long"]
fn the_pairs_between_two_sets_are_those_of_the_double_loop() {
    for (number, options) in [SWEEP, CANONICAL, ALL_PAIRS].into_iter().enumerate() {
        both(options, |find, engine| {
            for (kind, seed) in Kind::ALL.iter().zip(1..) {
                let boxes = kind.generate(700, seed);
                // Sets one within the other, of all sizes, and one box that is in both; every second one in each kind.
                for cut in [0, 13, 350, 700].into_iter().skip((number + seed as usize) % 2).step_by(2) {
                    let (first, second) = (&boxes[..cut], &boxes[cut.saturating_sub(1)..]);
                    let found = find(first, second).unwrap();
                    let what = format!("{engine}, {}, {cut} boxes and {}", kind.name(), second.len());
                    let expected = plainly(first, second);
                    assert_pairs(&sorted(&found), &expected, &what);
                    if options.order == PairOrder::Canonical {
                        assert!(found.is_sorted(), "{what}");
                    }
                }
            }
        });
    }
}

#[test]
fn hard_boxes_are_joined_alike() {
    let mut random = Random(3);
    let numbers = [0.0, -0.0, 1.0, 2.0, 1e30, -1e30, f32::MAX, f32::INFINITY, f32::NEG_INFINITY, f32::NAN, 1e-40];
    let mut make = |n: usize| {
        let mut corner = || [(); 3].map(|()| numbers[random.below(numbers.len())]);
        (0..n).map(|_| Aabb::new(corner(), corner())).collect::<Vec<_>>()
    };
    let (first, second) = (make(3000), make(1500));
    let expected = plainly(&first, &second);
    assert!(expected.len() > 1000);
    for options in [SWEEP, ALL_PAIRS] {
        both(options, |find, engine| assert_pairs(&sorted(&find(&first, &second).unwrap()), &expected, engine));
    }
}

/// Filters are of one input, the first set before the second, and are the same after the call.
#[test]
fn the_other_filters_hold_between_two_sets() {
    let (first, second) = (Kind::Uniform.generate(900, 1), Kind::Uniform.generate(1300, 2));
    let boxes = [&first[..], &second[..]].concat();
    let mut random = Random(9);
    let crossing = |pairs: Vec<Pair>| pairs.into_iter().filter(|p| (p.a < 900) != (p.b < 900)).collect::<Vec<_>>();
    let filters = Filters::default()
        .with_body((0..2200).map(|i| i % 700).collect())
        .with_margin(vec![0.01; 2200])
        .with_exclude(some_pairs(&mut random, 2200, 9000))
        .with_include(crossing(some_pairs(&mut random, 2200, 300)));
    let join = filters.clone().with_second((0..2200).map(|i| i >= 900).collect());
    let expected: Vec<Pair> =
        super::rule::find_pairs(&boxes, &join).into_iter().map(|pair| Pair { a: pair.a, b: pair.b - 900 }).collect();
    let alone = super::rule::find_pairs(&boxes, &filters);

    fn check(engine: &mut impl Engine, sets: [&[Aabb]; 3], filters: &Filters, expected: [&[Pair]; 2]) {
        let [first, second, all] = sets;
        engine.set_filters(filters.clone()).unwrap();
        for _ in 0..2 {
            assert_pairs(&sorted(&engine.find_pairs_between(first, second).unwrap().pairs), expected[0], "between");
            assert_eq!(engine.filters(), filters);
            assert_pairs(&sorted(&engine.find_pairs(all).unwrap().pairs), expected[1], "among all");
        }
        // Filters for other numbers of boxes are refused, and are the same afterwards.
        let refused = engine.find_pairs_between(first, &second[1..]);
        assert!(matches!(refused, Err(Error::FilterLength { .. } | Error::BadFilter { .. })), "{refused:?}");
        assert!(engine.last_overlaps().pairs.is_empty());
        assert_eq!(engine.filters(), filters);
        assert_pairs(&sorted(&engine.find_pairs_between(first, second).unwrap().pairs), expected[0], "once more");

        let within = Filters::default().with_include(vec![Pair::new(0, 2000), Pair::new(3, 899)]);
        engine.set_filters(within).unwrap();
        let refused = engine.find_pairs_between(first, second);
        let Err(Error::BadFilter { list: "include", index: Some(1), problem }) = refused else { panic!("{refused:?}") };
        assert_eq!(problem, "is (3, 899); the two boxes must be in different sets");
        assert!(engine.last_overlaps().pairs.is_empty());
    }
    let sets = [&first[..], &second, &boxes];
    check(&mut BroadPhase::new(&GPU, SWEEP).unwrap(), sets, &filters, [&expected, &alone]);
    check(&mut cpu::BroadPhase::new(SWEEP).unwrap(), sets, &filters, [&expected, &alone]);
}

#[test]
#[ignore = "long"]
fn sets_that_do_not_fit_are_joined_slab_by_slab() {
    let (first, second) = (Kind::Uniform.generate(4000, 4), Kind::Uniform.generate(6000, 5));
    let expected = plainly(&first, &second);
    let part = least_budget(&first[..2000], PairOrder::Canonical);
    let mut broad_phase = BroadPhase::new(&GPU, CANONICAL.with_memory_budget(Some(part))).unwrap();
    let found = broad_phase.find_pairs_between(&first, &second).unwrap();
    assert!(found.report.passes > 2, "{:?}", found.report);
    assert_pairs(&found.pairs, &expected, "slabs");
}

#[test]
fn a_join_is_not_found_while_a_result_is_to_be_taken() {
    let boxes = Kind::Uniform.generate(100, 1);
    let mut broad_phase = BroadPhase::new(&GPU, SWEEP).unwrap();
    broad_phase.submissions().submit(&boxes).unwrap();
    assert!(matches!(broad_phase.find_pairs_between(&boxes, &boxes), Err(Error::Busy)));
    assert_eq!(broad_phase.filters(), &Filters::default());
    let found = pollster::block_on(broad_phase.submissions().take()).unwrap().pairs.len();
    assert_eq!(broad_phase.find_pairs_between(&boxes, &boxes).unwrap().pairs.len(), 2 * found + 100);
}

/// A list of the caller's own, of another number of boxes, comes back after a join and after one that is refused.
#[test]
fn sets_of_the_caller_are_the_same_after_a_join() {
    let boxes = Kind::Uniform.generate(3000, 1);
    let (first, second) = boxes.split_at(500);
    let own = Filters::default().with_second((0..700).map(|i| i % 3 == 0).collect());
    let alone = super::rule::find_pairs(&boxes[..700], &own);

    fn check(engine: &mut impl Engine, own: &Filters, boxes: &[Aabb], [between, alone]: [&[Pair]; 2]) {
        engine.set_filters(own.clone()).unwrap();
        let (first, second) = boxes.split_at(500);
        for _ in 0..2 {
            assert_pairs(&sorted(&engine.find_pairs_between(first, second).unwrap().pairs), between, "between");
            assert_eq!(engine.filters(), own);
            assert_pairs(&sorted(&engine.find_pairs(&boxes[..700]).unwrap().pairs), alone, "with sets of its own");
            // They are of 700 boxes.
            assert!(matches!(engine.find_pairs(boxes), Err(Error::FilterLength { list: "second", .. })));
        }
        let refused = SWEEP.with_candidate_limit(1);
        engine.set_options(refused).unwrap();
        assert!(matches!(engine.find_pairs_between(first, second), Err(Error::TooManyCandidates { .. })));
        assert_eq!(engine.filters(), own);
        engine.set_options(SWEEP).unwrap();
        assert_pairs(&sorted(&engine.find_pairs(&boxes[..700]).unwrap().pairs), alone, "after a refusal");
    }
    let expected = [&plainly(first, second)[..], &alone];
    check(&mut BroadPhase::new(&GPU, SWEEP).unwrap(), &own, &boxes, expected);
    check(&mut cpu::BroadPhase::new(SWEEP).unwrap(), &own, &boxes, expected);
}

/// Boxes without an end are put into the cells of their world, and are of their set there.
#[test]
fn boxes_without_an_end_are_of_their_set_in_their_world() {
    let mut boxes = Kind::Uniform.generate(2000, 6);
    for aabb in boxes.iter_mut().step_by(50) {
        aabb.max[1] = f32::INFINITY;
    }
    let filters = Filters::default().with_world((0..2000).map(|i| i % 4).collect());
    let (first, second) = boxes.split_at(900);
    let join = filters.clone().with_second((0..2000).map(|i| i >= 900).collect());
    let expected: Vec<Pair> =
        super::rule::find_pairs(&boxes, &join).into_iter().map(|pair| Pair { a: pair.a, b: pair.b - 900 }).collect();
    assert!(expected.len() > 300, "{}", expected.len());
    let mut gpu = BroadPhase::new(&GPU, SWEEP).unwrap();
    gpu.set_filters(filters.clone()).unwrap();
    assert_pairs(&sorted(&gpu.find_pairs_between(first, second).unwrap().pairs), &expected, "GPU");
    let mut cpu = cpu::BroadPhase::new(SWEEP).unwrap();
    cpu.set_filters(filters).unwrap();
    assert_pairs(&sorted(&cpu.find_pairs_between(first, second).unwrap().pairs), &expected, "CPU");
}
