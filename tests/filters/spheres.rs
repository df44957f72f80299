//! Spheres of boxes on both engines, against integers of any length.

use broadsweep::filter::{Attribute, HalfSpace, sphere_from_f64};
use broadsweep::internals::filters::CheckedFilters;
use broadsweep::{Aabb, Error, Filters};
use num_bigint::BigInt;

use crate::arithmetic::random;
use crate::common::CANONICAL;
use crate::engines::{WAYS, assert_filtered, on_both};
use crate::rule;
use crate::touching::{number, touching};

const CASES: usize = 200_000;
const EVERYWHERE: Aabb = Aabb::new([f32::MIN; 3], [f32::MAX; 3]);

#[test]
fn spheres_meet_if_the_exact_distance_is_at_most_the_sum_of_the_radii() {
    let mut bits = random(3);
    let (mut counts, mut wrong) = ([[0; 2]; 2], 0);
    for _ in 0..CASES {
        let (a, b, half_space) = touching(&mut bits);
        let mut check = |filters: Filters, expected: bool, kind: usize| {
            let mut filters = CheckedFilters::new(filters).unwrap();
            filters.fit(2).unwrap();
            assert_eq!(
                filters.shapes_meet((&[EVERYWHERE; 2][..]).into(), 0, 1),
                expected,
                "{a:?} {b:?} {half_space:?}"
            );
            counts[kind][usize::from(expected)] += 1;
        };
        let filters = Filters::default().with_sphere(vec![a, b]);
        let expected = rule::spheres_touch(a, b);
        let along = |k: usize| f64::from(a[k]) - f64::from(b[k]);
        let reach = f64::from(a[3]) + f64::from(b[3]);
        wrong +=
            usize::from((along(0) * along(0) + along(1) * along(1) + along(2) * along(2) <= reach * reach) != expected);
        check(filters.clone(), expected, 0);
        let filters = filters.with_half_spaces(vec![half_space]);
        check(filters, half_space.touches(&EVERYWHERE) && rule::is_sphere_touched(&half_space, a), 1);
    }
    assert!(counts.as_flattened().iter().all(|&count| count > CASES / 20), "{counts:?}");
    assert!(wrong > CASES / 1000, "f64 is wrong in {wrong} cases only");
}

#[test]
fn spheres_that_touch_to_the_last_bit_pair_on_both_engines() {
    let mut bits = random(4);
    for round in 0..8 {
        let mut spheres = Vec::new();
        let mut half_spaces = Vec::new();
        for i in 0..60 {
            let (a, b, half_space) = touching(&mut bits);
            spheres.extend([a, b, [0.0; 4]]);
            half_spaces.extend((round % 2 == 1 && i % 6 == 0).then_some(HalfSpace { index: 3 * i + 2, ..half_space }));
        }
        let boxes = vec![EVERYWHERE; spheres.len()];
        let filters = Filters::default().with_sphere(spheres).with_half_spaces(half_spaces);
        assert_filtered(&boxes, &filters, &[WAYS[round % 4]], "spheres");
    }
}

#[test]
fn a_margin_pads_the_sphere() {
    on_both(CANONICAL, |engine| {
        let spheres = vec![[0.0, 0.0, 0.0, 1.0], [3.0, 0.0, 0.0, 1.0]];
        engine.set_filters(Filters::default().with_sphere(spheres).with_margin(vec![0.5, 0.25])).unwrap();
        let boxes = [EVERYWHERE; 2];
        let count = |engine: &mut dyn crate::engines::Engine| engine.find_pairs(&boxes).unwrap().pairs.len();
        assert_eq!(count(engine), 0);
        engine.change_filters(1, Attribute::Margin(&[0.5])).unwrap();
        assert_eq!(count(engine), 1);
        engine.change_filters(0, Attribute::Sphere(&[[-0.001, 0.0, 0.0, 1.0]])).unwrap();
        assert_eq!(count(engine), 0);
    });
}

#[test]
fn a_radius_of_minus_zero_is_one_of_zero() {
    on_both(CANONICAL, |engine| {
        let spheres = vec![[1.0, 0.0, 0.0, -0.0], [1.0, -0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]];
        engine.set_filters(Filters::default().with_sphere(spheres)).unwrap();
        assert_eq!(engine.find_pairs(&[EVERYWHERE; 3]).unwrap().pairs.len(), 3);
    });
}

#[test]
fn a_sphere_without_a_meaning_is_refused() {
    for sphere in
        [[f32::NAN, 0.0, 0.0, 1.0], [0.0, f32::INFINITY, 0.0, 1.0], [0.0, 0.0, 0.0, -1.0], [0.0, 0.0, 0.0, f32::NAN]]
    {
        on_both(CANONICAL, |engine| {
            let good = [0.0, 0.0, 0.0, f32::INFINITY];
            let refused = engine.set_filters(Filters::default().with_sphere(vec![good, sphere]));
            assert!(matches!(refused, Err(Error::BadFilter { list: "sphere", index: Some(1), .. })), "{refused:?}");
            engine.set_filters(Filters::default().with_sphere(vec![good; 3])).unwrap();
            let refused = engine.change_filters(1, Attribute::Sphere(&[good, sphere]));
            assert!(matches!(refused, Err(Error::BadFilter { list: "sphere", index: Some(2), .. })), "{refused:?}");
        });
    }
}

/// Returns a finite number times 2¹⁰⁷⁴, of which every `f64` is a whole multiple.
fn whole(value: f64) -> BigInt {
    let exponent = (value.to_bits() >> 52 & 0x7ff).max(1);
    let hidden = u64::from(value.to_bits() >> 52 & 0x7ff > 0) << 52;
    let magnitude = BigInt::from(value.to_bits() & ((1 << 52) - 1) | hidden) << (exponent - 1);
    if value.is_sign_negative() { -magnitude } else { magnitude }
}

/// Generates a number within the range of `f32`: with any exponent that an `f64` has there, near an `f32`, near one, or
/// a half step from an `f32`.
fn double(bits: &mut impl FnMut() -> u64) -> f64 {
    let sign = if bits().is_multiple_of(2) { 1.0 } else { -1.0 };
    let about_one = f64::from_bits(bits() >> 12 | 0x3ff << 52);
    sign * match bits() % 6 {
        0 => about_one * f64::powi(2.0, (bits() % 1150) as i32 - 1023),
        1 => f64::from(number(bits).abs()) * (1.0 + f64::powi(2.0, -(24 + (bits() % 29) as i32))),
        2 => about_one,
        3 => f64::from(number(bits).abs()),
        4 => f64::from((bits() % 33) as f32) + f64::powi(2.0, -((bits() % 1000) as i32)),
        _ => 0.0,
    }
}

#[test]
fn a_rounded_sphere_holds_the_sphere_and_is_at_most_one_step_too_large() {
    let mut bits = random(5);
    let (mut unchanged, mut rounded, mut larger) = (0, 0, 0);
    for _ in 0..CASES {
        let center = [(); 3].map(|()| double(&mut bits));
        let radius = double(&mut bits).abs();
        let [x, y, z, length] = sphere_from_f64(center, radius);
        for (single, double) in [x, y, z].into_iter().zip(center) {
            assert_eq!(single, double as f32);
        }
        if !length.is_finite() || [x, y, z].iter().any(|c| !c.is_finite()) {
            continue;
        }
        let moved = [x, y, z].into_iter().zip(center).map(|(single, double)| whole(f64::from(single)) - whole(double));
        let moved: BigInt = moved.map(|d| &d * &d).sum();
        let holds = |length: f32| {
            let longer = whole(f64::from(length)) - whole(radius);
            longer >= BigInt::ZERO && &longer * &longer >= moved
        };
        assert!(holds(length), "{center:?} {radius}");
        assert!(length == 0.0 || !holds(length.next_down().next_down()), "{center:?} {radius}");
        unchanged += usize::from(moved == BigInt::ZERO && f64::from(length) == radius);
        rounded += usize::from(moved > BigInt::ZERO);
        larger += usize::from(length > 0.0 && holds(length.next_down()));
    }
    assert!(unchanged > 100 && rounded > CASES / 2, "{unchanged} {rounded}");
    // Sums that are an `f32`, with a distance that is rounded up.
    assert!(larger > 0 && larger < CASES / 20, "{larger} radii are not the smallest");
}

#[test]
fn a_double_that_no_sphere_can_have_is_refused_after_rounding_too() {
    for (center, radius) in
        [([0.0; 3], -1e-300), ([0.0; 3], f64::NAN), ([f64::NAN, 0.0, 0.0], 1.0), ([0.0, -1e300, 0.0], f64::INFINITY)]
    {
        let filters = Filters::default().with_sphere(vec![sphere_from_f64(center, radius)]);
        let refused = filters.check(1);
        assert!(matches!(refused, Err(Error::BadFilter { list: "sphere", index: Some(0), .. })), "{refused:?}");
    }
    assert_eq!(sphere_from_f64([0.1, 0.0, 0.0], 1e300), [0.1, 0.0, 0.0, f32::INFINITY]);
}
