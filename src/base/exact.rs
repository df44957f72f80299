//! Compares sums of products of `f32` without rounding.
//!
//! A product of two `f32` is exact in `f64`: it has 48 bits, and a magnitude between 2⁻²⁹⁸ and 2²⁵⁶. So a comparison
//! needs the exact sign of a sum of a few `f64`.

use std::cmp::Ordering;

/// If two rounded positive numbers differ by more than this fraction, 18 times 2⁻⁵³, the exact numbers have the same
/// order. Each number is rounded to `f64` about five times.
pub const RELATIVE_ERROR: f64 = 2e-15;

/// Compares the exact sum of finite numbers with zero. The running sum is an expansion: numbers of ascending magnitude
/// that do not overlap. The last nonzero one has the sign of the sum (Shewchuk 1997).
#[cold]
pub fn sign_of_sum<const N: usize>(mut terms: [f64; N]) -> Ordering {
    sign_of_terms(&mut terms)
}

/// Returns the same as [`sign_of_sum`], and replaces the terms by their expansion.
pub fn sign_of_terms(terms: &mut [f64]) -> Ordering {
    expand(terms);
    let leading = terms.iter().rev().find(|&&part| part != 0.0);
    leading.map_or(Ordering::Equal, |&part| if part < 0.0 { Ordering::Less } else { Ordering::Greater })
}

/// Returns the sum of finite numbers with a relative error below 2⁻⁵¹; 0 only if the exact sum is 0.
#[inline]
pub fn sum_of<const N: usize>(mut terms: [f64; N]) -> f64 {
    // Add the parts, which do not overlap, from the smallest on.
    expand(&mut terms);
    terms.into_iter().sum()
}

/// Replaces numbers by numbers of ascending magnitude that do not overlap, with the same sum.
fn expand(terms: &mut [f64]) {
    for count in 1..terms.len() {
        let (expansion, rest) = terms.split_at_mut(count);
        let carry = &mut rest[0];
        for part in expansion {
            (*carry, *part) = two_sum(*carry, *part);
        }
    }
}

/// Returns the rounded sum and its exact rounding error (Knuth).
#[inline]
pub fn two_sum(a: f64, b: f64) -> (f64, f64) {
    let sum = a + b;
    let b_in_sum = sum - a;
    (sum, (a - (sum - b_in_sum)) + (b - b_in_sum))
}

/// Returns the exact product of two finite numbers.
#[inline]
pub fn product(a: f32, b: f32) -> f64 {
    f64::from(a) * f64::from(b)
}

/// Returns the rounded product of two finite numbers, and its exact rounding error. The product must not overflow, and
/// the error must be 0 or at least 2⁻¹⁰⁷⁴ in magnitude.
#[inline]
pub fn two_product(a: f64, b: f64) -> [f64; 2] {
    let product = a * b;
    [product, a.mul_add(b, -product)]
}

/// Returns the largest `f32` that is at most `value`.
#[inline]
pub fn round_down(value: f64) -> f32 {
    let nearest = value as f32;
    if f64::from(nearest) > value { nearest.next_down() } else { nearest }
}

/// Returns the smallest `f32` that is at least `value`.
#[inline]
pub fn round_up(value: f64) -> f32 {
    -round_down(-value)
}

/// Rounds a number down to `f32`. `approximate` has a relative error below [`RELATIVE_ERROR`]. `is_at_most` decides
/// exactly whether an `f32` is at most the number; it is called only if the error matters.
#[inline]
pub fn round_down_with(approximate: f64, is_at_most: impl FnOnce(f32) -> bool) -> f32 {
    let error = approximate.abs() * RELATIVE_ERROR;
    let (low, high) = (round_down(approximate - error), round_down(approximate + error));
    if low == high || is_at_most(high) { high } else { low }
}
