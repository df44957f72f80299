//! Times and squared distances as quotients, compared without rounding.

use std::cmp::Ordering;

use crate::base::exact::{sign_of_terms, two_product};

/// The most terms of the numerator: two for each of the ten products in the square of a sum of four.
const OVER: usize = 20;
/// The most terms of the denominator: the squares of the three components of a vector.
const UNDER: usize = 3;

/// A nonnegative quotient of two exact sums. The denominator is positive.
///
/// The terms are products of up to four `f32` in the numerator, and two in the denominator. So each product of two
/// terms is at least 2⁻⁸⁹⁴ and below 2⁷⁶⁸, and is the sum of two `f64`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fraction {
    over: [f64; OVER],
    under: [f64; UNDER],
}

impl Fraction {
    pub const ZERO: Self = Self { over: [0.0; OVER], under: [1.0, 0.0, 0.0] };

    /// Creates a quotient of two sums.
    pub fn new(over: &[f64], under: &[f64]) -> Self {
        let mut fraction = Self { over: [0.0; OVER], under: [0.0; UNDER] };
        fraction.over[..over.len()].copy_from_slice(over);
        fraction.under[..under.len()].copy_from_slice(under);
        fraction
    }

    /// Compares two numbers, exactly.
    pub fn compare(&self, other: &Self) -> Ordering {
        if self == other {
            return Ordering::Equal;
        }
        let terms = |a: &Self, b: &Self, sign: f64| {
            let is_some = |term: &f64| *term != 0.0;
            let unders: Vec<f64> = b.under.into_iter().filter(is_some).map(|under| sign * under).collect();
            let overs = a.over.into_iter().filter(is_some);
            overs.flat_map(|over| unders.iter().flat_map(move |&under| two_product(over, under))).collect::<Vec<_>>()
        };
        sign_of_terms(&mut [terms(self, other, 1.0), terms(other, self, -1.0)].concat())
    }
}
