//! Margins and half-spaces on the CPU against integers of any length, which round nothing.

use broadsweep::Aabb;
use broadsweep::filter::HalfSpace;
use broadsweep::internals::mirror;
use num_bigint::BigInt;

use crate::filter_cases::{bound_and_margin, half_space_and_box};

const CASES: usize = 200_000;

/// Draws the next number of SplitMix64.
pub fn random(mut state: u64) -> impl FnMut() -> u64 {
    move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// Returns a finite number times 2^149, of which every f32 is a whole multiple.
pub fn scaled(value: f32) -> BigInt {
    let bits = value.to_bits();
    let (exponent, fraction) = (bits >> 23 & 0xff, bits & 0x7f_ffff);
    assert!(exponent != 255, "{value}");
    let whole = if exponent == 0 { fraction } else { fraction | 1 << 23 };
    let magnitude = BigInt::from(whole) << (exponent.max(1) - 1);
    if value.is_sign_negative() { -magnitude } else { magnitude }
}

/// Returns whether `found` is the smallest f32 that is at least `exact`.
fn is_next_above(found: f32, exact: &BigInt) -> bool {
    if found == f32::INFINITY {
        return *exact > scaled(f32::MAX);
    }
    let below = found.next_down();
    scaled(found) >= *exact && (below == f32::NEG_INFINITY || scaled(below) < *exact)
}

fn check_margin(bound: f32, margin: f32) {
    let padded = mirror::prepare::boxes(&[Aabb::new([bound; 3], [bound; 3])], &[margin], &[])[0];
    for k in 0..3 {
        let (low, high) = (padded.min[k], padded.max[k]);
        if bound.is_finite() {
            assert!(is_next_above(high, &(scaled(bound) + scaled(margin))), "{bound:e} + {margin:e} is {high:e}");
            assert!(is_next_above(-low, &(scaled(margin) - scaled(bound))), "{bound:e} - {margin:e} is {low:e}");
        } else {
            assert!([low, high].iter().all(|x| *x == bound || x.is_nan() && bound.is_nan()), "{bound} ± {margin:e}");
        }
    }
}

#[test]
fn a_padded_box_is_the_smallest_that_contains_the_exact_one() {
    let mut bits = random(1);
    let mut rounded = 0;
    for _ in 0..CASES {
        let (bound, margin) = bound_and_margin(&mut bits);
        check_margin(bound, margin);
        rounded += usize::from(bound.is_finite() && f64::from(bound + margin) != f64::from(bound) + f64::from(margin));
    }
    assert!(rounded > CASES / 10 && rounded < CASES * 9 / 10, "{rounded} of {CASES} cases are rounded");
}

/// A number, or one beyond all.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Extended {
    MinusInfinity,
    Finite(BigInt),
    Infinity,
}

/// Returns the exact product times 2^298; zero times infinity is zero.
fn product(a: f32, b: f32) -> Extended {
    if b.is_finite() || a == 0.0 {
        let b = if a == 0.0 { 0.0 } else { b };
        Extended::Finite(scaled(a) * scaled(b))
    } else if (a > 0.0) == (b > 0.0) {
        Extended::Infinity
    } else {
        Extended::MinusInfinity
    }
}

/// Decides by the least of both products along each coordinate; also returns how far the corner is above the plane,
/// times 2^298, where it is finite.
fn touches(half_space: &HalfSpace, aabb: &Aabb) -> (bool, Option<BigInt>) {
    let least = [0, 1, 2].map(|k| {
        let n = half_space.normal[k];
        product(n, aabb.min[k]).min(product(n, aabb.max[k]))
    });
    if least.contains(&Extended::MinusInfinity) {
        return (true, None);
    }
    let mut height: BigInt = -scaled(half_space.offset) << 149;
    for product in least {
        let Extended::Finite(product) = product else {
            return (false, None);
        };
        height += product;
    }
    (height <= BigInt::ZERO, Some(height))
}

#[test]
fn a_half_space_touches_the_boxes_whose_deepest_corner_is_exactly_in_it() {
    let mut bits = random(2);
    let (mut inside, mut on, mut near, mut outside, mut infinite) = (0, 0, 0, 0, 0);
    for _ in 0..CASES {
        let (half_space, aabb) = half_space_and_box(&mut bits);
        let (expected, height) = touches(&half_space, &aabb);
        assert_eq!(half_space.touches(&aabb), expected, "{half_space:?} and {aabb:?}");
        assert!(aabb.is_valid(), "{aabb:?}");
        match height {
            None => infinite += 1,
            Some(height) if height == BigInt::ZERO => on += 1,
            // Where f64 would already be wrong, or about to be.
            Some(height) if height.bits() + 50 < scaled(half_space.offset).bits() + 149 => near += 1,
            Some(_) if expected => inside += 1,
            Some(_) => outside += 1,
        }
    }
    for (kind, count) in [("inside", inside), ("on", on), ("near", near), ("outside", outside), ("infinite", infinite)]
    {
        assert!(count > CASES / 100, "only {count} of {CASES} cases are {kind}");
    }
}

#[test]
fn an_invalid_box_touches_no_half_space() {
    let half_space = HalfSpace { index: 0, normal: [0.0, 0.0, 1.0], offset: f32::MAX };
    for k in 0..3 {
        let mut aabb = Aabb::new([0.0; 3], [1.0; 3]);
        assert!(half_space.touches(&aabb));
        aabb.min[k] = f32::NAN;
        assert!(!half_space.touches(&aabb));
        aabb.min[k] = 2.0;
        assert!(!half_space.touches(&aabb));
    }
}

#[test]
fn a_half_space_is_valid_if_its_numbers_are_finite_and_its_normal_is_not_zero() {
    let valid = |normal, offset| HalfSpace { index: 0, normal, offset }.is_valid();
    let tiny = f32::from_bits(1);
    for offset in [0.0, -0.0, tiny, f32::MAX, f32::MIN] {
        for k in 0..3 {
            for n in [tiny, -tiny, 1.0, f32::MAX, f32::MIN, f32::MIN_POSITIVE] {
                for zero in [0.0, -0.0] {
                    let mut normal = [zero; 3];
                    assert!(!valid(normal, offset), "{normal:?}, {offset}");
                    normal[k] = n;
                    assert!(valid(normal, offset), "{normal:?}, {offset}");
                    for beyond in [f32::NAN, -f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
                        assert!(!valid(normal, beyond), "{normal:?}, {beyond}");
                        let mut other = normal;
                        other[(k + 1) % 3] = beyond;
                        assert!(!valid(other, offset), "{other:?}, {offset}");
                    }
                }
            }
        }
    }
}
