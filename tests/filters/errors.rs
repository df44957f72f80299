//! Filters that are wrong: a typed error names the first thing wrong, and the engine goes on.

use broadsweep::filter::{Attribute, HalfSpace};
use broadsweep::{Aabb, Error, Filters, Pair};
use laboratory::scenes::Kind;

use crate::common::{ALL_PAIRS, CANONICAL, Random};
use crate::engines::{Engine, assert_finds, on_both};
use crate::inputs::{BY_BOX, ByBox, all};
use crate::rule;

const N: usize = 300;

/// Returns the list and the place that an error names.
fn named(error: Error) -> (&'static str, u64) {
    match error {
        Error::BadFilter { list, index, problem } => {
            assert!(!problem.is_empty());
            (list, index.expect("one value of a list is invalid"))
        }
        Error::FilterLength { list, length, box_count } => {
            assert_eq!(box_count, N as u64);
            (list, length)
        }
        other => panic!("not an error of filters: {other}"),
    }
}

fn assert_goes_on(engine: &mut dyn Engine, boxes: &[Aabb], filters: &Filters) {
    assert_eq!(engine.filters(), filters);
    let expected = rule::find_pairs(boxes, filters);
    assert_finds(engine, boxes, filters, CANONICAL.order, &expected, "after an error");
}

#[test]
fn values_without_a_meaning_are_refused_and_the_filters_before_stay() {
    let half_space = |index, normal, offset| HalfSpace { index, normal, offset };
    let good = half_space(1, [0.0, 1.0, 0.0], 0.5);
    let pair = |a, b| Pair { a, b };
    let mut wrong = Vec::new();
    for margin in [-1.0, -f32::MIN_POSITIVE, f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
        let list = vec![0.0, 1.0, margin, f32::NAN];
        wrong.push((("margin", 2), Filters::default().with_margin(list)));
    }
    let pairs = vec![pair(0, 1), pair(2, 1), pair(4, 4), pair(5, 5)];
    wrong.push((("exclude", 2), Filters::default().with_exclude(pairs.clone())));
    wrong.push((("include", 2), Filters::default().with_include(pairs)));
    for half_space in [
        half_space(2, [0.0, -0.0, 0.0], 1.0),
        half_space(2, [0.0, f32::NAN, 1.0], 1.0),
        half_space(2, [0.0, 1.0, f32::INFINITY], 1.0),
        half_space(2, [0.0, 1.0, 0.0], f32::NAN),
        half_space(2, [0.0, 1.0, 0.0], f32::NEG_INFINITY),
        good,
    ] {
        let half_spaces = vec![good, half_space, half_space];
        wrong.push((("half_spaces", 1), Filters::default().with_half_spaces(half_spaces)));
    }
    for (k, from, to) in [(0, f32::NAN, 1.0), (1, 0.0, f32::NAN), (2, 1.0, 1f32.next_down()), (1, 1e-45, -0.0)] {
        let mut region = Aabb::new([0.0; 3], [f32::INFINITY; 3]);
        (region.min[k], region.max[k]) = (from, to);
        wrong.push((("owner", k as u64), Filters::default().with_owner(Some(region))));
    }
    on_both(CANONICAL, |engine| {
        let boxes = Kind::Uniform.generate(N, 1);
        let filters = all(&mut Random(1), &boxes);
        engine.set_filters(filters.clone()).unwrap();
        for (expected, filters) in &wrong {
            assert_eq!(named(engine.set_filters(filters.clone()).unwrap_err()), *expected, "{}", engine.name());
        }
        assert_goes_on(engine, &boxes, &filters);
    });
}

#[test]
fn lists_of_other_boxes_are_refused_by_each_call() {
    for options in [CANONICAL, ALL_PAIRS] {
        on_both(options, |engine| {
            let boxes = Kind::Uniform.generate(N, 1);
            for n in [1, N - 1, N + 1, 2 * N] {
                for ByBox { list, fill, .. } in BY_BOX {
                    let others = Kind::Uniform.generate(n, 2);
                    let mut filters = Filters::default();
                    fill(&mut filters, &mut Random(n as u64), &others);
                    engine.set_filters(filters.clone()).unwrap();
                    for _ in 0..2 {
                        assert_eq!(named(engine.find_pairs(&boxes).unwrap_err()), (*list, n as u64));
                    }
                    // The filters are as they were, and right for as many boxes.
                    assert_goes_on(engine, &others, &filters);
                }
            }
            // The first in the order of the fields.
            let filters = Filters::default().with_world(vec![1; 5]).with_mask(vec![1; 7]).with_margin(vec![0.0; 9]);
            engine.set_filters(filters).unwrap();
            assert_eq!(named(engine.find_pairs(&boxes).unwrap_err()), ("mask", 7));
            assert!(matches!(engine.find_pairs(&[]).unwrap_err(), Error::FilterLength { list: "mask", .. }));
        });
    }
}

#[test]
fn indices_beyond_the_boxes_are_refused_by_each_call_and_the_first_is_named() {
    let (n, max) = (N as u32, u32::MAX);
    let pair = |a, b| Pair { a, b };
    let half_space = |index| HalfSpace { index, normal: [1.0, 0.0, 0.0], offset: 0.5 };
    for bad in [pair(0, n), pair(n, 0), pair(n, n + 1), pair(max, 0), pair(n + 1, max)] {
        let pairs = vec![pair(0, 1), pair(n - 1, 0), bad, pair(0, max)];
        let half_spaces = vec![half_space(0), half_space(n - 1), half_space(bad.a.max(bad.b)), half_space(n + 7)];
        on_both(CANONICAL, |engine| {
            let boxes = Kind::Uniform.generate(N, 1);
            for (list, filters) in [
                ("exclude", Filters::default().with_exclude(pairs.clone())),
                ("include", Filters::default().with_include(pairs.clone())),
                ("half_spaces", Filters::default().with_half_spaces(half_spaces.clone())),
            ] {
                engine.set_filters(filters).unwrap();
                for _ in 0..2 {
                    assert_eq!(named(engine.find_pairs(&boxes).unwrap_err()), (list, 2), "{}", engine.name());
                }
                engine.set_filters(Filters::default()).unwrap();
                assert_goes_on(engine, &boxes, &Filters::default());
            }
        });
    }
}

#[test]
fn changes_beyond_a_list_are_refused_and_change_nothing() {
    on_both(CANONICAL, |engine| {
        let boxes = Kind::Uniform.generate(N, 1);
        // Without lists there is nothing to change.
        let error = engine.change_filters(0, Attribute::Group(&[1])).unwrap_err();
        assert_eq!(error.to_string(), "`group` is empty, so it cannot change; set it with `set_filters` first");
        let filters = all(&mut Random(1), &boxes);
        engine.set_filters(filters.clone()).unwrap();
        for first in [N - 1, N, N + 1, usize::MAX - 1, usize::MAX] {
            let mut refused = |values: Attribute<'_>| named(engine.change_filters(first, values).unwrap_err());
            for ByBox { list, change, .. } in BY_BOX {
                assert_eq!(refused(change(&filters, 0..2)), (*list, first as u64));
            }
            // Wrong in two ways: one of them is reported.
            assert_eq!(refused(Attribute::Margin(&[1.0, -1.0])).0, "margin");
        }
        for bad in [-1.0, f32::NAN, f32::INFINITY] {
            let error = engine.change_filters(7, Attribute::Margin(&[1.0, 2.0, bad, bad])).unwrap_err();
            assert_eq!(named(error), ("margin", 9));
        }
        assert_goes_on(engine, &boxes, &filters);
    });
}
