//! The exact distance of a point from a box.

use std::cmp::Ordering;

use super::path::sure_order;
use crate::Aabb;
use crate::base::exact::{product, round_down_with, sign_of_sum};

/// The squared distance from a point to a box. Compared distances must be from the same point.
#[derive(Clone, Copy, Debug)]
pub struct Distance {
    /// The square, with a relative error below half of [`RELATIVE_ERROR`](crate::base::exact::RELATIVE_ERROR); 0 only
    /// if the exact square is 0.
    pub approximate: f64,
    aabb: Aabb,
}

impl Distance {
    /// Returns the distance of a finite point from a box; `None` if the box is invalid or infinitely far.
    #[inline]
    pub fn between(point: &[f32; 3], aabb: &Aabb) -> Option<Self> {
        if !aabb.is_valid() {
            return None;
        }
        let along = |k: usize| {
            let [min, max, at] = [aabb.min[k], aabb.max[k], point[k]].map(f64::from);
            (min - at).max(at - max).max(0.0)
        };
        let [x, y, z] = [along(0), along(1), along(2)];
        let approximate = x * x + y * y + z * z;
        (approximate < f64::INFINITY).then_some(Self { approximate, aabb: *aabb })
    }

    /// Compares the squares of two distances, exactly.
    #[inline]
    pub fn compare(&self, other: &Self, point: &[f32; 3]) -> Ordering {
        sure_order(self.approximate, other.approximate).unwrap_or_else(|| {
            // Boxes on a grid have many equal distances, which `f64` represents exactly.
            if let (Some(own), Some(other)) = (self.exact_square(point), other.exact_square(point)) {
                return own.total_cmp(&other);
            }
            let (own, others) = (self.terms(point), other.terms(point).map(|term| -term));
            let mut terms = [0.0; 18];
            terms[..9].copy_from_slice(&own);
            terms[9..].copy_from_slice(&others);
            sign_of_sum(terms)
        })
    }

    /// Compares the squared distance with a squared radius, which may be infinite.
    #[inline]
    pub fn compare_radius(&self, radius: f32, point: &[f32; 3]) -> Ordering {
        if radius.is_infinite() {
            return Ordering::Less;
        }
        self.compare_number(product(radius, radius), point)
    }

    /// Rounds the square down to `f32`.
    #[inline]
    pub fn square(&self, point: &[f32; 3]) -> f32 {
        round_down_with(self.approximate, |number| self.compare_number(f64::from(number), point).is_ge())
    }

    /// Compares the square with a finite number, exactly.
    #[inline]
    fn compare_number(&self, number: f64, point: &[f32; 3]) -> Ordering {
        sure_order(self.approximate, number).unwrap_or_else(|| {
            let mut terms = [-number; 10];
            terms[..9].copy_from_slice(&self.terms(point));
            sign_of_sum(terms)
        })
    }

    /// Returns the square; `None` unless `f64` represents it and all intermediate results exactly.
    fn exact_square(&self, point: &[f32; 3]) -> Option<f64> {
        let mut sum = 0.0;
        for k in 0..3 {
            let (end, at) = self.end(k, point);
            let along = f64::from(end) - f64::from(at);
            // If the difference is exact and is an `f32`, `f64` represents its square exactly.
            let is_exact = along + f64::from(at) == f64::from(end) && f64::from(end) - along == f64::from(at);
            let is_short = is_exact && f64::from(along as f32) == along;
            let next = sum + along * along;
            if !is_short || next - sum != along * along || next - along * along != sum {
                return None;
            }
            sum = next;
        }
        Some(sum)
    }

    /// Returns two numbers whose difference is the distance along an axis.
    fn end(&self, k: usize, point: &[f32; 3]) -> (f32, f32) {
        let (min, max, at) = (self.aabb.min[k], self.aabb.max[k], point[k]);
        if min > at {
            (min, at)
        } else if max < at {
            (max, at)
        } else {
            (0.0, 0.0)
        }
    }

    /// Returns numbers whose exact sum is the square: `(a - b)²` is `a² - 2ab + b²`, exact products of `f32`.
    pub fn terms(&self, point: &[f32; 3]) -> [f64; 9] {
        let of = |k: usize| {
            let (end, at) = self.end(k, point);
            [product(end, end), -2.0 * product(end, at), product(at, at)]
        };
        let ([a, b, c], [d, e, f], [g, h, i]) = (of(0), of(1), of(2));
        [a, b, c, d, e, f, g, h, i]
    }
}
