//! `prepare`: padded boxes, rounded outward, and half-spaces as the whole space.

use std::collections::{HashMap, HashSet};
use std::sync::LazyLock;

use broadsweep::Aabb;
use broadsweep::internals::constants::BIN_BLOCK;
use broadsweep::internals::filters::ValueFormat;
use broadsweep::internals::filters::device::FilterBuffers;
use broadsweep::internals::filters::prepare::Prepare;
use broadsweep::internals::layout::{FilterChange, Params, dispatch_size};
use broadsweep::internals::mirror;
use proptest::prelude::*;

use crate::filter_cases::bound_and_margin;
use crate::inputs::{Random, SPECIAL, mixed};
use crate::*;

static PREPARE: LazyLock<Prepare> = LazyLock::new(|| Prepare::new(gpu()));

/// Groups what boxes are prepared with, and so many of them that nobody has written.
fn filter_buffers(margins: Buffer<f32>, half_space_bits: Buffer<u32>, n: usize) -> FilterBuffers {
    let (world_cells, included) = (upload(&[]), upload(&[]));
    FilterBuffers { world_cells, included, margins, half_space_bits, prepared_boxes: poisoned(n) }
}

fn check(boxes: &[Aabb], margins: &[f32], half_space_bits: &[u32]) {
    let n = boxes.len() as u32;
    let params = uniform(Params { box_count: n, ..Params::zeroed() });
    let (input, margins_in, bits) = (upload(boxes), upload(margins), upload(half_space_bits));
    let filters = filter_buffers(margins_in, bits, boxes.len());
    run(|pass| PREPARE.record(pass, n, &params, input.all(), &filters));
    let expected = mirror::prepare::boxes(boxes, margins, half_space_bits);
    for (i, (found, expected)) in written(&filters.prepared_boxes).iter().zip(&expected).enumerate() {
        let bounds = |aabb: &Aabb| [aabb.min, aabb.max].concat();
        // Zeros are equal whatever their signs, and NaNs whatever their other bits.
        let is_same = |(a, b): (f32, f32)| a == b || a.is_nan() && b.is_nan();
        let are_same = bounds(found).into_iter().zip(bounds(expected)).all(is_same);
        assert!(are_same, "{found:?} instead of {expected:?} of {:?} by {:?}", boxes[i], margins.get(i));
    }
}

/// Groups bounds and margins as boxes have them: six bounds, one margin for all, which is that of one of them.
fn any_boxes(n: u32, seed: u64) -> (Vec<Aabb>, Vec<f32>) {
    let mut random = Random::new(seed);
    (0..n)
        .map(|_| {
            let (bound, margin) = bound_and_margin(&mut || random.next());
            let mut bounds = [0.0; 6].map(|_| bound_and_margin(&mut || random.next()).0);
            bounds[random.below(6) as usize] = bound;
            bounds[random.below(6) as usize] = -bound;
            let [a, b, c, d, e, f] = bounds;
            (Aabb::new([a, b, c], [d, e, f]), margin)
        })
        .unzip()
}

#[test]
fn boxes_of_every_number_are_the_mirrors_with_margins_and_half_spaces_and_without() {
    let mut random = Random::new(3);
    for n in SIZES {
        let boxes = mixed(n, 3);
        let margins: Vec<f32> = (0..n).map(|_| random.between(0.0, 2.0)).collect();
        let bits: Vec<u32> = (0..n.div_ceil(32)).map(|_| (random.next() & random.next()) as u32).collect();
        check(&boxes, &margins, &bits);
        check(&boxes, &margins, &[]);
        check(&boxes, &[], &bits);
        check(&boxes, &[], &[]);
        check(&boxes, &margins, &vec![u32::MAX; bits.len()]);
    }
}

#[test]
fn every_special_bound_grows_by_every_special_margin_as_on_the_host() {
    let numbers = || {
        let near = |x: f32| [x, x.next_up(), x.next_down()];
        let powers =
            (-149..128).map(|power| if power < -126 { f32::from_bits(1 << (power + 149)) } else { 2f32.powi(power) });
        SPECIAL.into_iter().chain(powers).flat_map(near)
    };
    let margins: Vec<f32> = numbers().filter(|x| *x >= 0.0 && x.is_finite()).collect();
    let bounds: Vec<f32> = numbers().chain(numbers().map(|x| -x)).collect();
    let mut padded = (Vec::new(), Vec::new());
    for triple in bounds.chunks(3) {
        let bounds: [f32; 3] = std::array::from_fn(|k| triple.get(k).copied().unwrap_or(1.0));
        for &margin in &margins {
            padded.0.push(Aabb::new(bounds, bounds));
            padded.1.push(margin);
        }
    }
    check(&padded.0, &padded.1, &[]);
}

#[test]
fn workgroups_beyond_one_row_of_a_dispatch_write_nothing_behind_the_end() {
    // No adapter in software binds as many boxes as fill a row.
    let boxes = mixed(257, 5);
    let params = uniform(Params { box_count: 257, ..Params::zeroed() });
    let (input, filters) = (upload(&boxes), filter_buffers(upload(&[]), upload(&[]), 257));
    run(|pass| PREPARE.record(pass, 65_536 * 256 + 1, &params, input.all(), &filters));
    assert!(
        bytemuck::cast_slice::<Aabb, u32>(&written(&filters.prepared_boxes))
            == bytemuck::cast_slice::<Aabb, u32>(&boxes)
    );
}

proptest! {
    #![proptest_config(cases(16))]

    #[test]
    fn any_bounds_grow_by_any_margins_as_on_the_host(n in 0..20_000u32, seed: u64) {
        let (boxes, margins) = any_boxes(n, seed);
        check(&boxes, &margins, &[]);
    }
}

#[test]
fn a_number_of_boxes_is_taken_as_by_the_mirror() {
    let given =
        Params { box_count: 600, axis: 3, cell_size: 0.5, include_count: 7, tile_capacity: 9, ..Params::zeroed() };
    for (n, is_refused) in [0, 1, 599, 600, 601, u32::MAX].into_iter().flat_map(|n| [(n, false), (n, true)]) {
        let (given_now, count, params) = (uniform(given), upload(&[n, 5]), poisoned::<Params>(1));
        let (sizes, refused) = (poisoned::<[u32; 3]>(1), upload(&[u32::from(is_refused)]));
        let check = |count: Option<_>, n: Option<u32>| {
            run(|pass| PREPARE.record_count(pass, &given_now, count, &refused, &params, &sizes));
            let taken = n.unwrap_or(600);
            let taken = if taken > 600 || is_refused { 0 } else { taken };
            assert_eq!(written(&sizes), [dispatch_size(taken.div_ceil(BIN_BLOCK).max(1))]);
            assert_eq!(written(&params), [mirror::prepare::count(given, n, is_refused)]);
        };
        check(Some(count.all()), Some(n));
        check(None, None);
    }
}

/// Checks new values of `count` boxes from box `first` on, in a list that begins at word `place`.
fn check_filter(place: u32, first: u32, count: u32, format: ValueFormat, random: &mut Random) {
    let boxes = first + count + random.below(70);
    let words = place + if format == ValueFormat::Flags { boxes.div_ceil(32) } else { boxes };
    let mut words: Vec<u32> = (0..words.max(1)).map(|_| random.next() as u32).collect();
    let given: Vec<u32> = (0..count)
        .map(|_| match format {
            ValueFormat::Margins => SPECIAL[random.below(SPECIAL.len() as u32) as usize].to_bits(),
            _ => random.next() as u32 & (random.next() as u32 % 3).wrapping_neg(),
        })
        .collect();
    let change = FilterChange { place, first, count, world_count: 0, format: 0, radius: 0 };
    let (words_now, given_now) = (guarded(&words), upload(&given));
    run(|pass| {
        PREPARE.record_filter(gpu(), pass, format, change, given_now.all(), &words_now).unwrap();
    });
    mirror::prepare::filter(&mut words, place as usize, first as usize, &given, format);
    assert!(written(&words_now) == words, "{count} boxes from {first} on, {format:?} at {place}");
}

#[test]
fn new_values_of_lists_are_put_as_by_the_mirror() {
    let mut random = Random::new(47);
    for format in [ValueFormat::U32, ValueFormat::Flags, ValueFormat::Margins] {
        for n in SIZES.into_iter().filter(|n| *n > 0) {
            for first in [0, 1, 31, 32, 33, 1000] {
                check_filter(random.below(50), first, n, format, &mut random);
            }
        }
    }
}

#[test]
fn numbers_of_worlds_are_put_as_by_the_mirror_and_no_two_are_equal() {
    let mut random = Random::new(61);
    for (known, beyond) in [(0, 0), (1, 0), (1, 1), (2, 1), (7, 7), (40, 13), (300, 300), (300, 0), (257, 100)] {
        // Ids below their number, and ids that are not.
        let mut ids: Vec<u32> = (0..known).collect();
        for k in 0..beyond {
            let place = random.below(ids.len() as u32) as usize;
            ids[place] = [u32::MAX - 1 - k, known + 3 * k][place % 2];
        }
        ids.sort_unstable();
        ids.dedup();
        let mut numbers: Vec<u32> = (0..ids.len() as u32).collect();
        for i in 0..numbers.len() {
            let other = random.below(numbers.len() as u32) as usize;
            numbers.swap(i, other);
        }
        let world_ids: Vec<[u32; 2]> = ids.iter().copied().zip(numbers).map(|(id, number)| [id, number]).collect();
        let mut given: Vec<u32> = (0..known + 5).chain(ids).chain([u32::MAX]).collect();
        given.extend((0..300).map(|_| random.next() as u32));
        for (place, first) in [(0, 0), (3, 70)] {
            let count = given.len() as u32;
            let change =
                FilterChange { place, first, count, world_count: world_ids.len() as u32, format: 0, radius: 0 };
            let words: Vec<u32> = (0..place + first + count + 9).map(|_| random.next() as u32).collect();
            let words_now = guarded(&words);
            let (given_now, ids_now) = (upload(&given), upload(&world_ids));
            run(|pass| {
                PREPARE.record_worlds(gpu(), pass, change, given_now.all(), &ids_now, &words_now).unwrap();
            });
            let mut expected = words;
            mirror::prepare::worlds(&mut expected, place as usize, first as usize, &given, &world_ids);
            let found = written(&words_now);
            assert!(found == expected, "{count} ids, {known} known");
            // Different worlds have different numbers.
            let of_given = &found[(place + first) as usize..][..given.len()];
            let number_of: HashMap<u32, u32> = given.iter().copied().zip(of_given.iter().copied()).collect();
            assert_eq!(number_of.len(), number_of.values().collect::<HashSet<_>>().len());
            assert!(number_of.iter().all(|(id, number)| (*id == u32::MAX) == (*number == u32::MAX)));
        }
    }
}

#[test]
fn half_spaces_are_put_as_by_the_mirror() {
    let mut random = Random::new(67);
    for n in SIZES.into_iter().filter(|n| *n > 0) {
        for (place, first) in [(0, 0), (5, 0), (2, 33)] {
            let mut number = || match random.below(4) {
                0 => SPECIAL[random.below(SPECIAL.len() as u32) as usize],
                _ => f32::from_bits(random.next() as u32),
            };
            let given: Vec<[f32; 4]> = (0..n).map(|_| std::array::from_fn(|_| number())).collect();
            let words: Vec<u32> = (0..place + 4 * (first + n) + 3).map(|_| random.next() as u32).collect();
            let change = FilterChange { place, first, count: n, world_count: 0, format: 0, radius: 0 };
            let (words_now, given_now) = (guarded(&words), upload(&given));
            run(|pass| {
                PREPARE.record_planes(gpu(), pass, change, given_now.all(), &words_now).unwrap();
            });
            let mut expected = words;
            mirror::prepare::planes(&mut expected, place as usize, first as usize, &given);
            assert!(written(&words_now) == expected, "{n} half-spaces from number {first} on");
        }
    }
}

#[test]
fn points_have_the_boxes_and_spheres_of_the_mirror() {
    let mut random = Random::new(69);
    for n in SIZES.into_iter().filter(|n| *n > 0) {
        for (place, radius) in [(0, None), (5, Some(0.0)), (2, Some(1.5)), (1, Some(f32::from_bits(3)))] {
            let mut number = || match random.below(4) {
                0 => SPECIAL[random.below(SPECIAL.len() as u32) as usize],
                _ => f32::from_bits(random.next() as u32),
            };
            let given: Vec<[f32; 4]> = (0..n).map(|_| std::array::from_fn(|_| number())).collect();
            let words: Vec<u32> = (0..place + 4 * n + 3).map(|_| random.next() as u32).collect();
            let bits = radius.unwrap_or(f32::NAN).to_bits();
            let change = FilterChange { place, first: 0, count: n, world_count: 0, format: 0, radius: bits };
            let (words_now, given_now, boxes) = (guarded(&words), upload(&given), poisoned::<Aabb>(n as usize));
            run(|pass| {
                PREPARE.record_points(gpu(), pass, change, given_now.all(), &boxes, &words_now).unwrap();
            });
            let mut expected = words;
            let expected_boxes = mirror::prepare::points(&mut expected, place as usize, &given, radius);
            assert!(written(&words_now) == expected, "{n} spheres from place {place} on");
            for (i, (found, expected)) in written(&boxes).iter().zip(&expected_boxes).enumerate() {
                let is_same = found == expected || !found.is_valid() && !expected.is_valid();
                assert!(is_same, "{found:?} instead of {expected:?} of {:?}, {radius:?}", given[i]);
            }
        }
    }
}

#[test]
fn spheres_are_put_as_by_the_mirror() {
    let mut random = Random::new(68);
    for n in SIZES.into_iter().filter(|n| *n > 0) {
        for (place, first, has_margins) in [(0, 0, false), (5, 0, true), (2, 33, true)] {
            let mut number = || match random.below(4) {
                0 => SPECIAL[random.below(SPECIAL.len() as u32) as usize],
                _ => f32::from_bits(random.next() as u32),
            };
            let given: Vec<[f32; 4]> = (0..n).map(|_| std::array::from_fn(|_| number())).collect();
            let margins = (0..first + n).map(|_| number().abs()).map(|m| if m.is_finite() { m } else { 1.0 });
            let margins: Vec<f32> = if has_margins { margins.collect() } else { Vec::new() };
            let words: Vec<u32> = (0..place + 4 * (first + n) + 3).map(|_| random.next() as u32).collect();
            let change = FilterChange { place, first, count: n, world_count: 0, format: 0, radius: 0 };
            let (words_now, given_now) = (guarded(&words), upload(&given));
            let margins_now = upload(if has_margins { &margins } else { &[0.0] });
            run(|pass| {
                PREPARE.record_spheres(gpu(), pass, change, given_now.all(), &margins_now, &words_now).unwrap();
            });
            let mut expected = words;
            mirror::prepare::spheres(&mut expected, place as usize, first as usize, &given, &margins);
            assert!(written(&words_now) == expected, "{n} spheres from number {first} on");
        }
    }
}
