//! Filters that change from call to call: the next call is the first with the new ones.

use std::ops::Range;

use broadsweep::filter::{Attribute, HalfSpace};
use broadsweep::{Aabb, Filters, Overlaps};
use laboratory::scenes::Kind;

use crate::common::{ALL_PAIRS, CANONICAL, Random, SWEEP, assert_pairs, without_memory};
use crate::engines::{Engine, assert_finds, on_both};
use crate::inputs::{ALONE, BY_BOX, ByBox, all};
use crate::rule;

/// Calls of an engine, each after one change, which `same` gets too.
struct Calls<'a> {
    engine: &'a mut dyn Engine,
    boxes: Vec<Aabb>,
    same: Filters,
}

impl Calls<'_> {
    fn set(&mut self, filters: Filters, what: &str) {
        self.engine.set_filters(filters.clone()).unwrap();
        self.same = filters;
        self.check(what);
    }

    /// Changes a range of a list to the values of other filters.
    fn change(&mut self, list: &ByBox, other: &Filters, range: Range<usize>) {
        self.engine.change_filters(range.start, (list.change)(other, range.clone())).unwrap();
        (list.copy)(&mut self.same, other, range.clone());
        self.check(&format!("{} of {range:?}", list.list));
    }

    fn check(&mut self, what: &str) {
        assert_eq!(*self.engine.filters(), self.same, "{}", self.engine.name());
        let expected = rule::find_pairs(&self.boxes, &self.same);
        assert_finds(self.engine, &self.boxes, &self.same, CANONICAL.order, &expected, what);
    }
}

#[test]
#[ignore = "long"]
fn changes_of_every_list_in_ranges_are_in_the_next_call() {
    for options in [CANONICAL, ALL_PAIRS] {
        on_both(options, |engine| {
            let boxes = Kind::Clusters.generate(600, 5);
            let n = boxes.len();
            let mut random = Random(5);
            let mut calls = Calls { engine, same: Filters::default(), boxes };
            let first = all(&mut random, &calls.boxes);
            calls.set(first, "first");
            for round in 0..4 {
                let other = all(&mut random, &calls.boxes);
                let (mut start, mut end) = (random.below(n + 1), random.below(n + 1));
                if start > end {
                    (start, end) = (end, start);
                }
                // The whole, none behind the last, one box, and any range.
                let range = [0..n, n..n, n - 1..n, start..end][round].clone();
                for list in BY_BOX {
                    calls.change(list, &other, range.clone());
                }
            }
        });
    }
}

#[test]
fn several_changes_before_a_call_are_all_in_it() {
    on_both(CANONICAL, |engine| {
        let boxes = Kind::Uniform.generate(500, 5);
        let mut same = all(&mut Random(9), &boxes);
        engine.set_filters(same.clone()).unwrap();
        for i in (0..500).step_by(3) {
            engine.change_filters(i, Attribute::World(&[i as u32 % 2])).unwrap();
            engine.change_filters(i, Attribute::Sleeping(&[true])).unwrap();
            engine.change_filters(499 - i, Attribute::Sleeping(&[false])).unwrap();
            engine.change_filters(i, Attribute::Margin(&[0.125])).unwrap();
            (same.world[i], same.sleeping[i], same.margin[i]) = (i as u32 % 2, true, 0.125);
            same.sleeping[499 - i] = false;
        }
        assert_finds(engine, &boxes, &same, CANONICAL.order, &rule::find_pairs(&boxes, &same), "many changes");
    });
}

#[test]
#[ignore = "long"]
fn filters_replace_each_other_and_leave_nothing_behind() {
    for options in [CANONICAL, SWEEP, ALL_PAIRS] {
        on_both(options, |engine| {
            let boxes = Kind::Spread.generate(500, 5);
            let plain = |engine: &mut dyn Engine| {
                let Overlaps { pairs, report, .. } = engine.find_pairs(&boxes).unwrap();
                // Memory may have grown.
                (pairs, without_memory(&report))
            };
            let (unfiltered, report) = plain(engine);
            for (i, (name, make)) in ALONE.iter().enumerate() {
                let filters = make(&mut Random(i as u64), &boxes);
                engine.set_filters(filters.clone()).unwrap();
                let expected = rule::find_pairs(&boxes, &filters);
                assert_finds(engine, &boxes, &filters, options.order, &expected, name);
                // Every second one is taken away first; the others are replaced by the next.
                if i % 2 == 0 {
                    engine.set_filters(Filters::default()).unwrap();
                    let again = plain(engine);
                    assert_pairs(&again.0, &unfiltered, &format!("{}, after {name}", engine.name()));
                    assert_eq!(again.1, report, "{}, after {name}", engine.name());
                }
            }
        });
    }
}

#[test]
fn the_number_of_boxes_may_change_with_their_filters() {
    on_both(CANONICAL, |engine| {
        for (i, n) in [10, 3000, 0, 257, 1, 1500, 2].into_iter().enumerate() {
            let boxes = Kind::Uniform.generate(n, n as u64);
            let filters = all(&mut Random(i as u64), &boxes);
            engine.set_filters(filters.clone()).unwrap();
            let expected = rule::find_pairs(&boxes, &filters);
            assert_finds(engine, &boxes, &filters, CANONICAL.order, &expected, &format!("{n} boxes"));
            // SortBuffers of pairs are of any number of boxes that has these indices.
            let boxes = [&boxes[..], &Kind::Uniform.generate(300, 9)].concat();
            let lists = Filters::default().with_exclude(filters.exclude).with_include(filters.include);
            engine.set_filters(lists.clone()).unwrap();
            let expected = rule::find_pairs(&boxes, &lists);
            assert_finds(engine, &boxes, &lists, CANONICAL.order, &expected, &format!("{n} boxes and 300"));
        }
    });
}

#[test]
fn filters_that_fit_any_number_of_boxes_are_there_for_all_of_them() {
    on_both(CANONICAL, |engine| {
        let boxes = Kind::Uniform.generate(3000, 4);
        // Some that boxes of the first call touch, and boxes of all others.
        let half_spaces = [[0.3, 1.0, 0.1], [-1.0, 0.2, 0.0]];
        let half_spaces = (0..).step_by(7).zip(half_spaces);
        let half_spaces = half_spaces.map(|(index, normal)| HalfSpace { index, normal, offset: 0.1 }).collect();
        let filters = Filters::default().with_half_spaces(half_spaces);
        engine.set_filters(filters.clone()).unwrap();
        for n in [40, 1500, 20, 3000] {
            let expected = rule::find_pairs(&boxes[..n], &filters);
            assert_finds(engine, &boxes[..n], &filters, CANONICAL.order, &expected, &format!("{n} boxes"));
        }
    });
}

#[test]
#[ignore = "long"]
fn the_same_filters_give_the_same_bytes_whatever_came_before() {
    for options in [SWEEP, ALL_PAIRS] {
        on_both(options, |engine| {
            let boxes = Kind::Pile.generate(2000, 5);
            let filters = all(&mut Random(3), &boxes);
            engine.set_filters(filters.clone()).unwrap();
            let first = engine.find_pairs(&boxes).unwrap().pairs.clone();
            for seed in 0..3 {
                let others = Kind::Clusters.generate(2500, seed);
                engine.set_filters(all(&mut Random(seed), &others)).unwrap();
                engine.find_pairs(&others).unwrap();
                engine.set_filters(filters.clone()).unwrap();
                assert_pairs(&engine.find_pairs(&boxes).unwrap().pairs, &first, engine.name());
            }
        });
    }
}
