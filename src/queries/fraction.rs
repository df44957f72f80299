//! Times and squared distances as quotients, compared without rounding.

use std::cmp::Ordering;

use crate::base::exact::{sign_of_terms, two_product};

/// The most numbers above and below the line: those of the square of four, and of a product of two vectors.
const OVER: usize = 20;
const UNDER: usize = 3;

/// A number that is not negative: the exact sum of some numbers, divided by the exact sum of others, which is positive.
///
/// The numbers are sums of products of `f32`: four in the former, two in the latter. So each product of two of them is at least 2⁻⁸⁹⁴ and
/// below 2⁷⁶⁸, and is two `f64`.
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
