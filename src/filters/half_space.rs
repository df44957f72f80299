//! Half-spaces, tested exactly.

use crate::Aabb;

/// A half-space in place of a box: the points `x` with `normal · x <= offset`, so that the normal points out of it, as
/// that of a floor points up. It is closed, and need not be axis-aligned.
///
/// It meets the boxes of which at least one point lies in it, which is decided for the corner that lies deepest,
/// exactly: the numbers are taken as they are, and nothing is rounded. Two half-spaces never pair. The normal need not be
/// of unit length, since rounding it would move the half-space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HalfSpace {
    /// The box that stands for it. It is filtered as any other box; its bounds and its margin are not looked at.
    pub index: u32,
    /// Finite, not zero.
    pub normal: [f32; 3],
    /// How far along the normal it reaches, times the normal's length; finite.
    pub offset: f32,
}

impl HalfSpace {
    /// Whether the numbers are finite and the normal is not zero.
    pub fn is_valid(&self) -> bool {
        self.normal.iter().all(|n| n.is_finite()) && self.normal.iter().any(|&n| n != 0.0) && self.offset.is_finite()
    }

    /// The bits of normal and offset.
    pub(crate) fn bits(&self) -> [u32; 4] {
        let [x, y, z] = self.normal;
        [x, y, z, self.offset].map(f32::to_bits)
    }

    /// Whether a point of the box lies in it, exactly. An invalid box has none.
    ///
    /// A coordinate along which the normal is zero does not matter, even if it is infinite; where the deepest corner is
    /// infinitely far inside along one coordinate and outside along another, it counts as inside.
    pub fn touches(&self, aabb: &Aabb) -> bool {
        if !aabb.is_valid() {
            return false;
        }
        let corner = |k: usize| if self.normal[k] > 0.0 { aabb.min[k] } else { aabb.max[k] };
        // A product of two f32 is exact in f64: 48 bits, and an exponent far within its range.
        let product = |k: usize| match self.normal[k] {
            0.0 => 0.0,
            n => f64::from(n) * f64::from(corner(k)),
        };
        let products = [product(0), product(1), product(2)];
        if products.iter().any(|p| p.is_infinite()) {
            return products.contains(&f64::NEG_INFINITY);
        }
        let terms = [products[0], products[1], products[2], -f64::from(self.offset)];
        let (sum, magnitude) = terms.iter().fold((0.0, 0.0), |(sum, all), term| (sum + term, all + term.abs()));
        // Three sums round by 2^-53 of the magnitude each: beyond that the sign is right.
        if f64::abs(sum) > 1e-15 * magnitude { sum < 0.0 } else { sum_is_at_most_zero(terms) }
    }
}

/// Whether the exact sum of finite numbers is at most zero. The running sum is an expansion of numbers that do not overlap,
/// of ascending magnitude, whose last one that is not zero has the sign of the whole (Shewchuk 1997).
fn sum_is_at_most_zero(terms: [f64; 4]) -> bool {
    let mut expansion = [0.0; 4];
    for (count, term) in terms.into_iter().enumerate() {
        let mut carry = term;
        for part in &mut expansion[..count] {
            let sum = carry + *part;
            let part_in_sum = sum - carry;
            *part = (carry - (sum - part_in_sum)) + (*part - part_in_sum);
            carry = sum;
        }
        expansion[count] = carry;
    }
    expansion.into_iter().rev().find(|&part| part != 0.0).is_none_or(|part| part < 0.0)
}
