//! The exact test of half-spaces.

use crate::Aabb;
use crate::base::exact::{RELATIVE_ERROR, product, sign_of_sum};

/// The whole space: it replaces a box that stands for a half-space.
pub(crate) const WHOLE_SPACE: Aabb = Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]);

/// A half-space in place of a box: the points `x` with `normal · x <= offset`. It is closed and can have any direction.
/// The normal points out of it: the normal of a floor points up.
///
/// A half-space is a pair with each box that has a point in the half-space. The deepest corner of the box decides,
/// exactly. Two half-spaces are never a pair. The normal can have any length: normalisation would round the normal,
/// which moves the half-space.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct HalfSpace {
    /// The index of the box that stands for the half-space. Filters apply to it as to any box; its bounds and its
    /// margin are ignored.
    pub index: u32,
    /// The normal, which points out of the half-space; finite, not zero.
    pub normal: [f32; 3],
    /// The signed distance of the plane from the origin along the normal, times the normal's length; finite.
    pub offset: f32,
}

impl HalfSpace {
    /// Returns whether the numbers are finite and the normal is not zero.
    pub fn is_valid(&self) -> bool {
        self.normal.iter().all(|n| n.is_finite()) && self.normal.iter().any(|&n| n != 0.0) && self.offset.is_finite()
    }

    /// Returns the bits of normal and offset.
    pub(crate) fn bits(&self) -> [u32; 4] {
        let [x, y, z] = self.normal;
        [x, y, z, self.offset].map(f32::to_bits)
    }

    /// Returns whether a point of the box lies in the half-space, exactly. An invalid box has no points.
    ///
    /// Along an axis on which the normal is zero, the coordinate is ignored, even if it is infinite. If the deepest
    /// corner is infinitely far inside along one coordinate and outside along another, it counts as inside.
    pub fn touches(&self, aabb: &Aabb) -> bool {
        reaches_into(&self.normal, self.offset, aabb)
    }
}

/// Returns whether a point of the box lies in `normal · x <= offset`, exactly, as in [`HalfSpace::touches`].
pub(crate) fn reaches_into(normal: &[f32; 3], offset: f32, aabb: &Aabb) -> bool {
    if !aabb.is_valid() {
        return false;
    }
    let corner = |k: usize| if normal[k] > 0.0 { aabb.min[k] } else { aabb.max[k] };
    let along = |k: usize| match normal[k] {
        0.0 => 0.0,
        n => product(n, corner(k)),
    };
    let products = [along(0), along(1), along(2)];
    if products.iter().any(|p| p.is_infinite()) {
        return products.contains(&f64::NEG_INFINITY);
    }
    let terms = [products[0], products[1], products[2], -f64::from(offset)];
    let (sum, magnitude) = terms.iter().fold((0.0, 0.0), |(sum, all), term| (sum + term, all + term.abs()));
    // Each of three sums rounds by at most 2^-53 of the magnitude. If the sum exceeds the total error, its sign is
    // right.
    if f64::abs(sum) > RELATIVE_ERROR * magnitude { sum < 0.0 } else { sign_of_sum(terms).is_le() }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Decides as `touches`, in integers: each number is an integer times 2^-30.
    fn touches_in_integers(normal: [f32; 3], point: [f32; 3], offset: f32) -> bool {
        let scaled = |x: f32| (f64::from(x) * f64::from(1 << 30)) as i128;
        (0..3).map(|k| scaled(normal[k]) * scaled(point[k])).sum::<i128>() <= scaled(offset) << 30
    }

    #[test]
    fn sums_too_near_to_zero_for_double_precision_have_the_sign_of_exact_integers() {
        let mut state = 1u32;
        let mut below = |n: usize| {
            state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
            (state >> 16) as usize % n
        };
        let mut number = || {
            let whole = [0, 1, 3, (1 << 24) - 1, 1 << 24][below(5)] as f32;
            let sign = [-1.0, 1.0][below(2)];
            sign * whole / [1.0, 1024.0, 1_048_576.0, 1_073_741_824.0][below(4)]
        };
        let mut close = 0;
        for _ in 0..200_000 {
            let [nx, ny, nz, x, y, z] = std::array::from_fn(|_| number());
            // Terms that cancel, except for the last one.
            for (normal, point, offset) in
                [([nx, ny, nz], [x, y, z], 0.0), ([nx, -nx, nz], [x, x, z], 0.0), ([1.0, ny, nz], [x, y, z], x)]
            {
                let half_space = HalfSpace { index: 0, normal, offset };
                let expected = touches_in_integers(normal, point, offset);
                assert_eq!(half_space.touches(&Aabb::new(point, point)), expected, "{half_space:?} {point:?}");
                let products = (0..3).map(|k| f64::from(normal[k]) * f64::from(point[k]));
                close += usize::from((products.sum::<f64>() - f64::from(offset) <= 0.0) != expected);
            }
        }
        assert!(close > 100, "{close} sums have the wrong sign in double precision");
    }
}
