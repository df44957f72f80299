//! SortBuffers of pairs: excluded, included, both, and very many of them.

use std::collections::HashSet;

use broadsweep::filter::HalfSpace;
use broadsweep::{Aabb, Filters, Options, Pair, cpu};
use laboratory::scenes::Kind;

use crate::common::{ALL_PAIRS, CANONICAL, Random, SWEEP, assert_pairs};
use crate::engines::{WAYS, assert_filtered, assert_overlaps, on_both};
use crate::inputs::{exclude, some_pairs};
use crate::rule;

fn pair(a: u32, b: u32) -> Pair {
    Pair { a, b }
}

#[test]
#[ignore = "long"]
fn included_pairs_come_once_for_any_boxes_and_other_lists() {
    let unit = |x: f32| Aabb::new([x, 0.0, 0.0], [x + 1.0, 1.0, 1.0]);
    // Two that overlap, one far away, one that is no number, one inverted, a half-space that reaches none, the world.
    let nowhere = Aabb::new([1.0; 3], [-1.0; 3]);
    let world = Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]);
    let boxes = [unit(0.0), unit(0.5), unit(1e9), Aabb::new([f32::NAN; 3], [1.0; 3]), nowhere, nowhere, world];
    let every: Vec<Pair> = (0..7).flat_map(|a| (0..7).filter(move |&b| b != a).map(move |b| pair(a, b))).collect();
    let half_spaces = vec![HalfSpace { index: 5, normal: [0.0, 1.0, 0.0], offset: -1e9 }];
    let refusing = Filters::default()
        .with_group(vec![0; 7])
        .with_body(vec![1; 7])
        .with_parent(vec![1; 7])
        .with_fixed(vec![true; 7])
        .with_sleeping(vec![true; 7])
        .with_second(vec![true; 7])
        .with_world((0..7).collect())
        .with_exclude(every.clone())
        .with_half_spaces(half_spaces);
    assert_filtered(&boxes, &refusing, &WAYS, "nothing is left");
    assert!(rule::find_pairs(&boxes, &refusing).is_empty());
    for included in &every {
        let filters = refusing.clone().with_include(vec![*included]);
        assert_filtered(&boxes, &filters, &WAYS, &format!("{included:?}"));
    }
    // All of them, each from both sides.
    let filters = refusing.with_include(every);
    assert_filtered(&boxes, &filters, &WAYS, "every pair from both sides");
    assert_eq!(rule::find_pairs(&boxes, &filters).len(), 21);
}

#[test]
#[ignore = "long"]
fn pairs_in_both_lists_are_included() {
    for kind in [Kind::Uniform, Kind::Identical, Kind::Invalid, Kind::Infinite, Kind::Touching] {
        let boxes = kind.generate(400, 2);
        let mut random = Random(2);
        let exclude = exclude(&mut random, &boxes);
        let include =
            exclude.iter().filter(|_| random.below(3) == 0).map(|pair| Pair { a: pair.b, b: pair.a }).collect();
        assert_filtered(&boxes, &Filters::default().with_exclude(exclude).with_include(include), &WAYS, kind.name());
    }
}

#[test]
fn all_pairs_excluded_leave_none_and_all_pairs_included_are_all() {
    let n = 120;
    let every: Vec<Pair> = (0..n).flat_map(|a| (a + 1..n).rev().map(move |b| pair(b, a))).collect();
    for kind in [Kind::Identical, Kind::Points, Kind::Invalid] {
        let boxes = kind.generate(n as usize, 2);
        let filters = Filters::default().with_exclude(every.clone());
        assert_filtered(&boxes, &filters, &WAYS, "all excluded");
        let filters = filters.with_include(every.clone());
        assert_filtered(&boxes, &filters, &WAYS, "all included");
    }
}

#[test]
fn a_box_in_thousands_of_listed_pairs_is_as_any_other() {
    // The floor under everything, excluded with nearly all, and a box in every second pair of another list.
    let mut boxes = Kind::Uniform.generate(3000, 1);
    boxes[1500] = Aabb::new([-1.0; 3], [2.0, 0.5, 2.0]);
    let exclude = (0..3000).filter(|i| i % 17 > 0 && *i != 1500).map(|i| pair(1500, i)).collect();
    let include = (0..3000).filter(|i| i % 2 == 0 && *i != 7).map(|i| pair(i, 7)).collect();
    assert_filtered(
        &boxes,
        &Filters::default().with_exclude(exclude).with_include(include),
        &WAYS,
        "a box in many pairs",
    );
}

/// Returns the pairs by the same rule where a double loop would take minutes: what overlaps, without the excluded and
/// with the included.
fn listed(overlapping: &[Pair], filters: &Filters) -> Vec<Pair> {
    let set = |pairs: &[Pair]| pairs.iter().map(|pair| Pair::new(pair.a, pair.b)).collect::<HashSet<Pair>>();
    let exclude = set(&filters.exclude);
    let mut expected: HashSet<Pair> = overlapping.iter().filter(|pair| !exclude.contains(pair)).copied().collect();
    expected.extend(set(&filters.include));
    let mut expected: Vec<Pair> = expected.into_iter().collect();
    expected.sort_unstable();
    expected
}

#[test]
#[ignore = "long"]
fn a_million_excluded_and_half_a_million_included_pairs_are_exact() {
    let boxes = Kind::Uniform.generate(100_000, 1);
    let overlapping = cpu::find_pairs(&boxes, &Options::default()).unwrap().pairs;
    let mut random = Random(4);
    let any = some_pairs(&mut random, boxes.len(), 1_000_000);
    // Two thirds of what overlaps, and as many others as it takes.
    let mut exclude: Vec<Pair> = overlapping.iter().filter(|_| random.below(3) > 0).copied().collect();
    exclude.extend(&any[..1_000_000 - exclude.len()]);
    let mut include = any[any.len() - 400_000..].to_vec();
    include.extend(overlapping.iter().step_by(4).take(100_000).map(|pair| Pair { a: pair.b, b: pair.a }));
    let only_exclude = Filters::default().with_exclude(exclude.clone());
    let only_include = Filters::default().with_include(include.clone());
    let both = Filters::default().with_exclude(exclude).with_include(include);
    assert!(both.exclude.len() >= 1_000_000 && both.include.len() >= 490_000);
    for (filters, options) in [(only_exclude, CANONICAL), (only_include, CANONICAL), (both, SWEEP)] {
        let expected = listed(&overlapping, &filters);
        on_both(options, |engine| {
            engine.set_filters(filters.clone()).unwrap();
            let found = engine.find_pairs(&boxes).unwrap().clone();
            assert_overlaps(found, &boxes, &Filters::default(), options.order, &expected, engine.name());
        });
    }
}

#[test]
fn more_included_pairs_than_boxes_have_pairs_are_exact() {
    // A list that is long in itself: nothing overlaps, and one call has it all, in every way and after an empty one.
    let boxes: Vec<Aabb> = (0..2000).map(|i| Aabb::new([i as f32 * 2.0; 3], [i as f32 * 2.0 + 1.0; 3])).collect();
    let include = some_pairs(&mut Random(1), boxes.len(), 300_000);
    let filters = Filters::default().with_include(include);
    let expected = listed(&[], &filters);
    for options in [CANONICAL, ALL_PAIRS] {
        on_both(options, |engine| {
            assert!(engine.find_pairs(&boxes).unwrap().pairs.is_empty());
            engine.set_filters(filters.clone()).unwrap();
            assert_pairs(&engine.find_pairs(&boxes).unwrap().pairs, &expected, engine.name());
        });
    }
}
