//! The displacement x_j + S·cell − x_i of a pair, with exact decisions.
//!
//! A decision tries three tiers in turn: `f64` with an error bound; pairs of `f64` whose sum is the number
//! (double-double); a superaccumulator, which is exact.

use super::accumulator::{Accumulator, Term};
use super::coordinate::Coordinate;
use crate::base::exact::two_sum;

/// Half a unit in the last place of 1.
const HALF_ULP: f64 = f64::EPSILON / 2.0;
/// A bound of relative errors of the double-double tier: 2⁻⁹⁶. There are fewer than 64 roundings of about 2⁻¹⁰⁶ each.
const DOUBLE_ERROR: f64 = 1.0 / (1u128 << 96) as f64;
/// The numbers for which products of the double-double tier neither overflow nor lose bits that matter: 2⁻⁴⁰⁰ to 2⁴⁰⁰.
const DOUBLE_RANGE: std::ops::Range<f64> = 3.9e-121..2.5e120;

/// A number as the sum of a leading and a small trailing part, with a bound of the error. It is exact if the bound is
/// 0.
#[derive(Clone, Copy, Debug, Default)]
struct Double {
    high: f64,
    low: f64,
    error: f64,
}

/// The displacement of a pair.
#[derive(Clone, Copy, Debug)]
pub struct Displacement<'a> {
    /// x_i.
    pub from: [f64; 3],
    /// x_j.
    pub to: [f64; 3],
    /// S.
    pub shift: [i32; 3],
    /// The lattice vectors.
    pub cell: &'a [[f64; 3]; 3],
}

/// The largest distance of a pair: the exact sum of three radii.
#[derive(Clone, Copy, Debug)]
pub struct Reach(pub [f64; 3]);

impl Displacement<'_> {
    /// Returns whether the distance is at most `reach`.
    #[inline]
    pub fn is_within(&self, reach: &Reach) -> bool {
        let (square, error) = self.square();
        let radius = reach.0[0] + reach.0[1] + reach.0[2];
        let limit = radius * radius;
        let error = error + 8.0 * HALF_ULP * limit + f64::MIN_POSITIVE;
        // The comparison is false for NaN and infinity too, so these are decided exactly.
        if (square - limit).abs() > error { square < limit } else { self.is_within_exact(reach) }
    }

    /// Returns the square of the distance, and a bound of its error.
    #[inline]
    fn square(&self) -> (f64, f64) {
        let (mut square, mut error) = (0.0, 0.0);
        for k in 0..3 {
            let mut along = self.to[k] - self.from[k];
            let mut along_error = HALF_ULP * along.abs();
            if self.shift != [0; 3] {
                let mut magnitude = self.to[k].abs() + self.from[k].abs();
                for (factor, vector) in self.shift.iter().zip(self.cell) {
                    let product = f64::from(*factor) * vector[k];
                    along += product;
                    magnitude += product.abs();
                }
                along_error = 8.0 * HALF_ULP * magnitude;
            }
            square += along * along;
            error += (2.0 * along.abs() + along_error) * along_error;
        }
        (square, 1.01 * error + 8.0 * HALF_ULP * square)
    }

    #[cold]
    fn is_within_exact(&self, reach: &Reach) -> bool {
        if let (Some(square), Some(limit)) = (self.double_square(), reach.double_square()) {
            let difference = (square.high - limit.high) + (square.low - limit.low);
            let error = square.error + limit.error;
            if error == 0.0 && square.high != limit.high {
                return square.high < limit.high;
            }
            if error == 0.0 || difference.abs() > 2.0 * error + 4.0 * f64::EPSILON * difference.abs() {
                return difference <= 0.0;
            }
        }
        let mut sum = self.exact_square();
        sum.add_square(&reach.0.map(|radius| Term::new(radius, 1)), true);
        sum.sign().is_le()
    }

    /// Returns the vector, each component within a unit in its last place.
    pub fn vector<T: Coordinate>(&self) -> [T; 3] {
        std::array::from_fn(|k| {
            if self.shift == [0; 3] {
                return T::nearest(self.to[k] - self.from[k]);
            }
            let along = self.along(k);
            if along.error > HALF_ULP * along.high.abs() || !along.high.is_finite() {
                return self.exact_component(k);
            }
            T::nearest(along.high)
        })
    }

    /// Returns the square of the distance, rounded down.
    pub fn square_at_most<T: Coordinate>(&self) -> T {
        let (approximate, error) = self.square();
        let (low, high) = (T::at_most(approximate - error), T::at_most(approximate + error));
        if low == high {
            return low;
        }
        if let Some(square) = self.double_square() {
            let error = 2.0 * square.error;
            let [low, high] = [-error, error].map(|error| {
                let low = square.low + error;
                T::at_most(if low < 0.0 { square.high.next_down() } else { square.high })
            });
            if low == high {
                return low;
            }
        }
        self.exact_square_at_most()
    }

    /// Finds the square by comparisons with exact numbers.
    #[cold]
    fn exact_square_at_most<T: Coordinate>(&self) -> T {
        let is_at_most = |number: f64| {
            let mut sum = self.exact_square();
            sum.add_product(&Term::new(number, 1), &Term::new(1.0, 1), true);
            sum.sign().is_ge()
        };
        T::at_most(largest(0.0, f64::MAX, is_at_most))
    }

    /// Finds a component by comparisons with exact numbers, rounded down.
    #[cold]
    fn exact_component<T: Coordinate>(&self, k: usize) -> T {
        let is_at_most = |number: f64| {
            let mut sum = Accumulator::new();
            for term in self.terms(k) {
                sum.add_product(&term, &Term::new(1.0, 1), false);
            }
            sum.add_product(&Term::new(number, 1), &Term::new(1.0, 1), true);
            sum.sign().is_ge()
        };
        T::nearest(largest(f64::MIN, f64::MAX, is_at_most))
    }

    /// Returns the terms of a component.
    fn terms(&self, k: usize) -> [Term; 5] {
        let product = |m: usize| Term::new(self.cell[m][k], self.shift[m]);
        [Term::new(self.to[k], 1), Term::new(self.from[k], -1), product(0), product(1), product(2)]
    }

    /// Returns the exact square.
    fn exact_square(&self) -> Accumulator {
        let mut sum = Accumulator::new();
        (0..3).for_each(|k| sum.add_square(&self.terms(k), false));
        sum
    }

    /// Returns a component in two parts.
    fn along(&self, k: usize) -> Double {
        let (mut high, mut low) = two_sum(self.to[k], -self.from[k]);
        let mut magnitude = self.to[k].abs() + self.from[k].abs();
        let mut error = 0.0;
        for (&factor, vector) in self.shift.iter().zip(self.cell).filter(|(factor, _)| **factor != 0) {
            let (product, product_low) = two_product(f64::from(factor), vector[k]);
            let (sum, sum_low) = two_sum(high, product);
            magnitude += product.abs();
            if product != 0.0 && !DOUBLE_RANGE.contains(&product.abs()) {
                error = f64::INFINITY;
            } else if [low, product_low, sum_low].iter().filter(|part| **part != 0.0).count() > 1 {
                error += DOUBLE_ERROR * magnitude;
            }
            (high, low) = (sum, low + (product_low + sum_low));
        }
        (high, low) = two_sum(high, low);
        Double { high, low, error }
    }

    /// Returns the square in two parts; `None` if a number is outside the range of exact products.
    fn double_square(&self) -> Option<Double> {
        let parts = [self.along(0), self.along(1), self.along(2)];
        let mut sum = Double::default();
        for part in &parts {
            if part.high != 0.0 && !DOUBLE_RANGE.contains(&part.high.abs()) || part.error == f64::INFINITY {
                return None;
            }
            sum = sum.plus_square_of(part);
        }
        (sum.high, sum.low) = two_sum(sum.high, sum.low);
        Some(sum)
    }
}

impl Reach {
    /// Returns the square in two parts; `None` if a number is outside the range of exact products.
    fn double_square(&self) -> Option<Double> {
        let (sum, low) = two_sum(self.0[0], self.0[1]);
        let (high, low_2) = two_sum(sum, self.0[2]);
        let error = if low == 0.0 || low_2 == 0.0 { 0.0 } else { DOUBLE_ERROR * high };
        let (high, low) = two_sum(high, low + low_2);
        if high != 0.0 && !DOUBLE_RANGE.contains(&high) {
            return None;
        }
        let mut square = Double::default().plus_square_of(&Double { high, low, error });
        (square.high, square.low) = two_sum(square.high, square.low);
        Some(square)
    }
}

impl Double {
    /// Adds the square of a number.
    fn plus_square_of(&self, part: &Double) -> Self {
        let (product, product_low) = two_product(part.high, part.high);
        let (high, sum_low) = two_sum(self.high, product);
        let cross = 2.0 * part.high * part.low + part.low * part.low;
        // The result is exact if no sum of trailing parts rounds.
        let trailing = [self.low, product_low, sum_low, cross].iter().filter(|low| **low != 0.0).count();
        let is_exact = self.error == 0.0 && part.error == 0.0 && part.low == 0.0 && trailing <= 1;
        let error = self.error + (2.1 * part.high.abs() + part.error) * part.error + DOUBLE_ERROR * (high + product);
        let low = self.low + (product_low + sum_low + cross);
        Self { high, low, error: if is_exact { 0.0 } else { error } }
    }
}

/// Returns the largest finite number of a range that satisfies a monotone condition.
fn largest(first: f64, last: f64, is_at_most: impl Fn(f64) -> bool) -> f64 {
    // Map finite numbers to integers in the same order.
    let rank = |x: f64| (x.to_bits() as i64) ^ ((x.to_bits() as i64 >> 63) as u64 >> 1) as i64;
    let number = |rank: i64| f64::from_bits((rank ^ ((rank >> 63) as u64 >> 1) as i64) as u64);
    let (mut low, mut high) = (rank(first), rank(last));
    while low < high {
        let middle = ((i128::from(low) + i128::from(high) + 1) >> 1) as i64;
        if is_at_most(number(middle)) { low = middle } else { high = middle - 1 }
    }
    number(low)
}

/// Returns the rounded product, and the rounding error (Dekker), for numbers whose product neither overflows nor
/// underflows. It does not use `mul_add`, since this is a slow function call if the target processor may lack the
/// instruction. Speed matters here, since every vector of a periodic pair needs this function.
#[inline]
fn two_product(a: f64, b: f64) -> (f64, f64) {
    // Two halves of 26 bits, the sign of the lower one included (Veltkamp).
    let split = |x: f64| {
        let scaled = 134_217_729.0 * x;
        let high = scaled - (scaled - x);
        (high, x - high)
    };
    let (product, (a_high, a_low), (b_high, b_low)) = (a * b, split(a), split(b));
    (product, ((a_high * b_high - product) + a_high * b_low + a_low * b_high) + a_low * b_low)
}
