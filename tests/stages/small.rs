//! `small`: every box against every other, and any window of the list.

use std::sync::LazyLock;

use broadsweep::internals::brute_force;
use broadsweep::internals::constants::*;
use broadsweep::internals::layout::{Counts, PairArguments, PairHeader, Params, Window, dispatch_size};
use broadsweep::internals::mirror;
use broadsweep::internals::mirror::small::Columns;
use broadsweep::internals::pairs::small::Small;
use broadsweep::internals::pairs::sweep::Hits;
use broadsweep::{Aabb, Pair};
use proptest::prelude::*;

use crate::emit::poisoned_list;
use crate::grid::searched;
use crate::inputs::{Random, SPECIAL, any_box, lattice, mixed};
use crate::*;

static SMALL: LazyLock<Small> = LazyLock::new(|| Small::new(gpu()));

/// The results of the mirror, in the layout of the kernels.
struct Expected<'a> {
    boxes: &'a [Aabb],
    words: Vec<u32>,
    block_hits: Vec<u32>,
    pairs: Vec<Pair>,
    counts: Counts,
}

impl<'a> Expected<'a> {
    fn new(boxes: &'a [Aabb]) -> Self {
        let n = boxes.len();
        let blocks = n.div_ceil(256);
        let columns = Columns::new(boxes);
        let (mut words, mut block_hits, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
        for block in 0..blocks {
            let rows: Vec<Vec<u32>> = (256 * block..256 * (block + 1))
                .map(|a| if a < n { mirror::small::test(&columns, a as u32) } else { vec![0; n.div_ceil(32)] })
                .collect();
            for (a, row) in rows.iter().enumerate().take(n - 256 * block) {
                mirror::small::emit(row, (256 * block + a) as u32, &mut pairs);
            }
            let word = |row: &Vec<u32>, k: usize| row.get(k).copied().unwrap_or(0);
            for line in 8 * block..8 * blocks {
                words.extend(rows.iter().map(|row| word(row, line)));
            }
            for group in rows.chunks(32) {
                for tile in block..blocks {
                    let hits = |row| (8 * tile..8 * tile + 8).map(|k| word(row, k).count_ones()).sum::<u32>();
                    block_hits.push(group.iter().map(hits).sum());
                }
            }
        }
        assert_eq!(pairs, brute_force::find_pairs(boxes));
        assert_eq!(mirror::emit::count(&words), pairs.len() as u64);
        let (invalid_count, listed) = mirror::small::invalid(boxes);
        let mut first_invalid = [[0; 4]; INVALID_LISTED as usize];
        first_invalid.iter_mut().zip(&listed).for_each(|(place, &index)| place[0] = index);
        let counts = Counts {
            invalid_count,
            first_invalid,
            candidate_low: (n * n.saturating_sub(1) / 2) as u32,
            pair_low: pairs.len() as u32,
            ..nothing_counted()
        };
        Self { boxes, words, block_hits, pairs, counts }
    }

    fn params(&self) -> Buffer<Params> {
        uniform(Params { box_count: self.boxes.len() as u32, vertices_per_pair: 24, ..Params::zeroed() })
    }

    fn check_test(&self) {
        let (params, boxes) = (self.params(), upload(self.boxes));
        let hits = Hits {
            hit_words: poisoned(self.words.len()),
            block_hits: poisoned(self.block_hits.len()),
            ..crate::path::no_hits()
        };
        run(|pass| SMALL.record_test(pass, &searched(&params, &boxes, no_filters()), &hits));
        assert_eq!(written(&hits.block_hits), self.block_hits, "{} boxes", self.boxes.len());
        assert!(written(&hits.hit_words) == self.words, "hit bits of {} boxes differ", self.boxes.len());
    }

    /// Returns one window of the list: its pairs, and their header.
    fn check_window(&self, first: u64, capacity: u32) {
        let (params, boxes) = (self.params(), upload(self.boxes));
        let hits =
            Hits { hit_words: upload(&self.words), block_hits: upload(&self.block_hits), ..crate::path::no_hits() };
        let [first_low, first_high] = halves(first);
        let window = uniform(Window { first_low, first_high, capacity, unused: 0 });
        // A list that is as long as the window may be, but not longer than there can be pairs in it.
        let total = self.pairs.len() as u64;
        let (list, counts) = (poisoned_list(u64::from(capacity).min(total) as u32), poisoned(1));
        let searched = searched(&params, &boxes, no_filters());
        run(|pass| SMALL.record_emit(pass, &searched, &window, &hits, &counts, &list));

        let what = format!("{} boxes, from {first} on, {capacity}", self.boxes.len());
        let left = total.saturating_sub(first);
        let number = left.min(u64::from(capacity)) as u32;
        let mut pairs = written(&list.pairs);
        let beyond = pairs.split_off(number as usize);
        assert!(beyond.iter().all(is_poison), "{what}: pairs are written behind the end of the list");
        let start = first.min(total) as usize;
        assert!(pairs == self.pairs[start..start + number as usize], "{what}: other pairs");
        assert_eq!(written(&counts), [Counts { written: number, ..self.counts }], "{what}");
        let expected = PairHeader {
            count: total as u32,
            count_high: 0,
            capacity,
            overflow: if left > u64::from(capacity) { OVERFLOW_PAIRS } else { 0 },
            written: number,
            unused: [0; 3],
        };
        assert_eq!(written(&list.header), [expected], "{what}");
        let dispatch = dispatch_size(number.div_ceil(256));
        let draw_list = [24 * number.min(u32::MAX / 24), 1, 0, 0];
        let expected = PairArguments { dispatch, unused: 0, draw: [24, number, 0, 0], draw_list };
        assert_eq!(written(&list.arguments), [expected], "{what}");
    }
}

fn check(boxes: &[Aabb]) {
    let found = Expected::new(boxes);
    found.check_test();
    found.check_window(0, found.pairs.len() as u32 + 10);
}

/// Returns zeros, except for the fields that the stage does not write.
fn nothing_counted() -> Counts {
    Counts { first_block: u32::MAX, unused: u32::MAX, ..Counts::zeroed() }
}

#[test]
#[ignore = "long"]
fn every_two_boxes_are_tested_as_the_mirror_does() {
    for n in SIZES.into_iter().chain([2, 31, 32, 33, 511, 512, 513, 1023, 1025]) {
        check(&lattice(n, u64::from(n)));
        check(&mixed(n, u64::from(n)));
    }
}

#[test]
fn boxes_of_every_special_number_are_told_apart() {
    // Every interval of special numbers, right way round or not, on one axis at a time.
    let mut boxes = Vec::new();
    for axis in 0..3 {
        for low in SPECIAL {
            for high in SPECIAL {
                let mut aabb = Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]);
                (aabb.min[axis], aabb.max[axis]) = (low, high);
                boxes.push(aabb);
            }
        }
    }
    assert!(boxes.len() > 3 * 255);
    check(&boxes);
}

#[test]
fn boxes_that_all_overlap_are_all_pairs() {
    for n in [1, 2, 255, 256, 257, 800] {
        let boxes = vec![Aabb::new([-0.0; 3], [0.0; 3]); n];
        assert_eq!(Expected::new(&boxes).pairs.len(), n * (n - 1) / 2);
        check(&boxes);
    }
}

#[test]
fn a_box_overlaps_none_of_those_that_fill_the_last_tile() {
    // The largest box there is, and one that reaches into what lies beyond every number.
    for n in [1, 2, 31, 255, 257] {
        check(&vec![Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]); n]);
        check(&vec![Aabb::new([f32::INFINITY; 3], [f32::INFINITY; 3]); n]);
    }
}

#[test]
fn invalid_boxes_are_counted_and_the_first_are_listed() {
    for (n, invalid) in
        [(1, vec![0]), (300, vec![299]), (2000, (3..2000).step_by(211).collect()), (600, (0..600).collect())]
    {
        let mut boxes = lattice(n, 1);
        for &i in &invalid {
            let aabb: &mut Aabb = &mut boxes[i];
            if i % 2 == 0 { aabb.max[i % 3] = f32::NAN } else { aabb.min[i % 3] = f32::INFINITY }
        }
        assert_eq!(mirror::small::invalid(&boxes).0 as usize, invalid.len());
        check(&boxes);
    }
}

#[test]
fn a_window_cut_anywhere_has_its_pairs_and_the_exact_counts() {
    let boxes = lattice(700, 3);
    let found = Expected::new(&boxes);
    let total = found.pairs.len() as u64;
    assert!(total > 5000);
    for first in [0, 1, 255, 256, 257, total / 2, total - 1, total, total + 1, u64::from(u32::MAX), 1 << 32, 1 << 40] {
        // Behind the last pair, all capacities are alike.
        let capacities = [0, u32::MAX, 1, 256, 1000, total as u32];
        for &capacity in &capacities[..if first < total { 6 } else { 2 }] {
            found.check_window(first, capacity);
        }
    }
}

#[test]
fn windows_of_one_length_together_are_the_list() {
    let boxes = mixed(1300, 4);
    let found = Expected::new(&boxes);
    for capacity in [997, 4096] {
        for first in (0..found.pairs.len() as u64 + u64::from(capacity)).step_by(capacity as usize) {
            found.check_window(first, capacity);
        }
    }
}

#[test]
fn the_most_boxes_that_are_ever_tested_like_this_fit() {
    // Far apart but for neighbours: the mirror of the words would be 64 MiB, the pairs are known.
    let n = SMALL_MOST;
    let boxes: Vec<_> = (0..n).map(|i| Aabb::new([i as f32, 0.0, 0.0], [i as f32 + 1.0, 1.0, 1.0])).collect();
    let pairs: Vec<_> = (1..n).map(|b| Pair { a: b - 1, b }).collect();
    let tiles = 128 * 129 / 2;
    let params = uniform(Params { box_count: n, ..Params::zeroed() });
    let window = uniform(Window { first_low: 0, first_high: 0, capacity: n, unused: 0 });
    let hits = Hits { hit_words: poisoned(tiles * 8 * 256), block_hits: poisoned(tiles * 8), ..crate::path::no_hits() };
    let (boxes, list, counts) = (upload(&boxes), poisoned_list(pairs.len() as u32), poisoned(1));
    let searched = searched(&params, &boxes, no_filters());
    run(|pass| {
        SMALL.record_test(pass, &searched, &hits);
        SMALL.record_emit(pass, &searched, &window, &hits, &counts, &list);
    });
    assert!(written(&list.pairs) == pairs);
    let expected = Counts { candidate_low: n * (n - 1) / 2, pair_low: n - 1, written: n - 1, ..nothing_counted() };
    assert_eq!(written(&counts), [expected]);
    assert!(!written(&hits.hit_words).contains(&u32::MAX) && !written(&hits.block_hits).contains(&u32::MAX));
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn any_boxes_are_tested_as_the_mirror_does(boxes in prop::collection::vec(any_box(), 0..400)) {
        check(&boxes);
    }

    #[test]
    fn any_window_has_its_pairs(n in 0..900u32, from in 0.0..1.1f64, part in 0.0..1.1f64, seed: u64) {
        let boxes = lattice(n, Random::new(seed).next());
        let found = Expected::new(&boxes);
        let total = found.pairs.len() as f64;
        found.check_window((total * from) as u64, (total * part) as u32);
    }
}
