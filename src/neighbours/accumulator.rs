//! Computes the exact sign of a sum of products of `f64` and integers, for all exponents.
//!
//! The sum is a fixed-point number that covers all products, a superaccumulator (Kulisch and Miranker 1986). It has
//! digits of 32 bits in words of 64 bits, so that carries are handled once, at the end.

use std::cmp::Ordering;

/// A number `±digits · 2^exponent` of at most 96 bits: a finite `f64` times an `i32`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Term {
    digits: [u32; 3],
    exponent: i32,
    is_negative: bool,
}

impl Term {
    /// Returns the exact product of a finite number and an integer.
    pub fn new(value: f64, factor: i32) -> Self {
        let bits = value.to_bits();
        let (stored, fraction) = ((bits >> 52 & 0x7ff) as i32, bits & ((1 << 52) - 1));
        let (mantissa, exponent) = if stored == 0 { (fraction, -1074) } else { (fraction | 1 << 52, stored - 1075) };
        let product = u128::from(mantissa) * u128::from(factor.unsigned_abs());
        let digits = [product as u32, (product >> 32) as u32, (product >> 64) as u32];
        Self { digits, exponent, is_negative: value.is_sign_negative() != (factor < 0) }
    }

    fn is_zero(&self) -> bool {
        self.digits == [0; 3]
    }
}

/// Digits of 32 bits: products lie between 2⁻²¹⁴⁸ and 2²¹¹⁰, and there are fewer than 2¹⁶ products. Four digits are
/// spare.
const DIGITS: usize = (2148 + 2110 + 16) / 32 + 4;
/// The exponent of the lowest bit.
const LOWEST: i32 = -2 * 1074;

/// A sum of products.
#[derive(Clone, Debug)]
pub struct Accumulator {
    digits: [i64; DIGITS],
    /// The digits that are not zero are in this range.
    used: (usize, usize),
}

impl Accumulator {
    /// Returns a sum of 0.
    pub fn new() -> Self {
        Self { digits: [0; DIGITS], used: (DIGITS, 0) }
    }

    /// Adds the square of the sum of some terms, or subtracts it.
    pub fn add_square(&mut self, terms: &[Term], is_negative: bool) {
        for (count, a) in terms.iter().enumerate() {
            self.add_product(a, a, is_negative);
            for b in &terms[..count] {
                self.add_product(a, b, is_negative);
                self.add_product(a, b, is_negative);
            }
        }
    }

    /// Adds a product, or subtracts it.
    pub fn add_product(&mut self, a: &Term, b: &Term, is_negative: bool) {
        if a.is_zero() || b.is_zero() {
            return;
        }
        let is_negative = is_negative != (a.is_negative != b.is_negative);
        let place = (a.exponent + b.exponent - LOWEST) as usize;
        let (first, shift) = (place / 32, place % 32);
        for (p, &own) in a.digits.iter().enumerate() {
            for (q, &other) in b.digits.iter().enumerate() {
                let mut product = u128::from(u64::from(own) * u64::from(other)) << shift;
                let mut digit = first + p + q;
                while product != 0 {
                    let part = i64::from(product as u32);
                    self.digits[digit] += if is_negative { -part } else { part };
                    product >>= 32;
                    digit += 1;
                }
                self.used = (self.used.0.min(first), self.used.1.max(digit));
            }
        }
    }

    /// Compares the sum with 0.
    pub fn sign(&self) -> Ordering {
        let (mut carry, mut is_zero) = (0, true);
        for digit in &self.digits[self.used.0.min(self.used.1)..self.used.1] {
            let sum = digit + carry;
            is_zero &= sum as u32 == 0;
            carry = sum >> 32;
        }
        match carry {
            0 if is_zero => Ordering::Equal,
            0.. => Ordering::Greater,
            _ => Ordering::Less,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sign_is_that_of_the_exact_sum_at_all_exponents() {
        let numbers = [f64::MAX, f64::MIN_POSITIVE, f64::from_bits(1), 1.0, 3.0, 1.0 + f64::EPSILON];
        for a in numbers {
            for b in numbers {
                for factor in [1, -1, i32::MAX, i32::MIN] {
                    let mut sum = Accumulator::new();
                    let (a, b) = (Term::new(a, factor), Term::new(b, 1));
                    sum.add_product(&a, &b, false);
                    let expected = if factor < 0 { Ordering::Less } else { Ordering::Greater };
                    assert_eq!(sum.sign(), expected);
                    // The other products cancel, so the smallest product decides the sign.
                    let tiny = Term::new(f64::from_bits(1), 1);
                    sum.add_product(&tiny, &tiny, true);
                    sum.add_product(&b, &a, true);
                    assert_eq!(sum.sign(), Ordering::Less);
                    sum.add_product(&tiny, &tiny, false);
                    assert_eq!(sum.sign(), Ordering::Equal);
                }
            }
        }
    }

    #[test]
    fn a_square_of_a_sum_is_complete() {
        let terms = [3.0, -5.0, 0.5].map(|value| Term::new(value, 1));
        let mut sum = Accumulator::new();
        sum.add_square(&terms, false);
        sum.add_product(&Term::new(2.25, 1), &Term::new(1.0, 1), true);
        assert_eq!(sum.sign(), Ordering::Equal);
        assert_eq!(Accumulator::new().sign(), Ordering::Equal);
    }
}
