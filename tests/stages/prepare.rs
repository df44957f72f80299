//! `prepare`: grown boxes, rounded outward, and half-spaces as the whole space.

use std::sync::LazyLock;

use broadsweep::Aabb;
use broadsweep::internals::constants::BIN_BLOCK;
use broadsweep::internals::filters::Kept;
use broadsweep::internals::filters::prepare::Prepare;
use broadsweep::internals::layout::{FilterChange, Params, dispatch_size};
use broadsweep::internals::mirror;
use proptest::prelude::*;

use crate::filter_cases::bound_and_margin;
use crate::inputs::{Random, SPECIAL, mixed};
use crate::*;

static PREPARE: LazyLock<Prepare> = LazyLock::new(|| Prepare::new(gpu()));

fn check(boxes: &[Aabb], margins: &[f32], half_space_bits: &[u32]) {
    let n = boxes.len() as u32;
    let params = uniform(Params { box_count: n, ..Params::zeroed() });
    let (input, margins_in, bits) = (upload(boxes), upload(margins), upload(half_space_bits));
    let prepared = poisoned(boxes.len());
    run(|pass| PREPARE.record(pass, n, &params, input.all(), &margins_in, &bits, &prepared));
    let expected = mirror::prepare::boxes(boxes, margins, half_space_bits);
    for (i, (found, expected)) in written(&prepared).iter().zip(&expected).enumerate() {
        let bounds = |aabb: &Aabb| [aabb.min, aabb.max].concat();
        // Zeros are equal whatever their signs, and NaNs whatever else they say.
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
    let mut grown = (Vec::new(), Vec::new());
    for triple in bounds.chunks(3) {
        let bounds: [f32; 3] = std::array::from_fn(|k| triple.get(k).copied().unwrap_or(1.0));
        for &margin in &margins {
            grown.0.push(Aabb::new(bounds, bounds));
            grown.1.push(margin);
        }
    }
    check(&grown.0, &grown.1, &[]);
}

#[test]
fn workgroups_beyond_one_row_of_a_dispatch_write_nothing_behind_the_end() {
    // No adapter in software binds as many boxes as fill a row.
    let boxes = mixed(257, 5);
    let params = uniform(Params { box_count: 257, ..Params::zeroed() });
    let (input, margins, bits, prepared) = (upload(&boxes), upload(&[]), upload(&[]), poisoned(257));
    run(|pass| PREPARE.record(pass, 65_536 * 256 + 1, &params, input.all(), &margins, &bits, &prepared));
    assert!(bytemuck::cast_slice::<Aabb, u32>(&written(&prepared)) == bytemuck::cast_slice::<Aabb, u32>(&boxes));
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
        Params { box_count: 600, axis: 3, cell_size: 0.5, include_count: 7, sweep_groups: 9, ..Params::zeroed() };
    for n in [0, 1, 599, 600, 601, u32::MAX] {
        let (given_now, count, params) = (uniform(given), upload(&[n, 5]), poisoned::<Params>(1));
        let sizes = poisoned::<[u32; 3]>(1);
        run(|pass| PREPARE.record_count(pass, &given_now, count.all(), &params, &sizes));
        let taken = if n > 600 { 0 } else { n };
        assert_eq!(written(&sizes), [dispatch_size(taken.div_ceil(BIN_BLOCK))]);
        assert_eq!(written(&params), [mirror::prepare::count(given, n)]);
    }
}

/// Checks new values of `count` boxes from box `first` on, in a list that begins at word `place`.
fn check_filter(place: u32, first: u32, count: u32, kept: Kept, random: &mut Random) {
    let boxes = first + count + random.below(70);
    let words = place + if kept == Kept::Flags { boxes.div_ceil(32) } else { boxes };
    let mut words: Vec<u32> = (0..words.max(1)).map(|_| random.next() as u32).collect();
    let given: Vec<u32> = (0..count)
        .map(|_| match kept {
            Kept::Margins => SPECIAL[random.below(SPECIAL.len() as u32) as usize].to_bits(),
            _ => random.next() as u32 & (random.next() as u32 % 3).wrapping_neg(),
        })
        .collect();
    for is_free in [0, 1] {
        let change = FilterChange { place, first, count, is_free };
        let (words_now, changes, given_now) = (guarded(&words), guarded(&[5u32, 9]), upload(&given));
        run(|pass| {
            PREPARE.record_filter(gpu(), pass, kept, change, given_now.all(), &words_now, &changes).unwrap();
        });
        let mut expected = words.clone();
        mirror::prepare::filter(&mut expected, place as usize, first as usize, &given, kept);
        assert!(written(&words_now) == expected, "{count} boxes from {first} on, {kept:?} at {place}");
        assert_eq!(written(&changes), [5, 10 - is_free]);
        words = expected;
    }
}

#[test]
fn new_values_of_lists_are_put_as_by_the_mirror() {
    let mut random = Random::new(47);
    for kept in [Kept::Words, Kept::Flags, Kept::Margins] {
        for n in SIZES.into_iter().filter(|n| *n > 0) {
            for first in [0, 1, 31, 32, 33, 1000] {
                check_filter(random.below(50), first, n, kept, &mut random);
            }
        }
    }
}
