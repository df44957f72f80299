//! The exact test of spheres.

use super::HalfSpace;
use crate::Error;
use crate::base::aabb::{double_sum_rounded_up, sum_rounded_up};
use crate::base::exact::{RELATIVE_ERROR, product, sign_of_sum, two_product};

/// The element for no sphere: an infinite radius.
pub(crate) const NO_SPHERE: [f32; 4] = [0.0, 0.0, 0.0, f32::INFINITY];

/// Checks spheres of a list. The first of `spheres` has index `first` in the list.
///
/// # Errors
/// [`Error::BadFilter`] for a centre that is not finite, or a radius that is negative or NaN.
pub(crate) fn check_spheres(list: &'static str, first: usize, spheres: &[[f32; 4]]) -> Result<(), Error> {
    let is_valid = |[x, y, z, radius]: &[f32; 4]| [x, y, z].iter().all(|c| c.is_finite()) && *radius >= 0.0;
    match spheres.iter().position(|sphere| !is_valid(sphere)) {
        None => Ok(()),
        Some(at) => {
            let [x, y, z, radius] = spheres[at];
            let problem = format!(
                "is centre ({x}, {y}, {z}) and radius {radius}; the centre must be finite, and the radius at least zero, or infinity for no sphere"
            );
            Err(Error::BadFilter { list, index: Some(first.saturating_add(at) as u64), problem })
        }
    }
}

/// Rounds a sphere outward, to an element of [`Filters::sphere`](crate::Filters::sphere) that contains it. Spheres that
/// touch still touch.
///
/// The centre becomes the nearest `f32`. The radius grows by the distance that the centre moves. The new radius is the
/// smallest `f32` that is at least `radius` plus this distance, or the next larger `f32`. Values that are exact in
/// `f32` do not change. A centre beyond the range of `f32` becomes infinite, and a negative radius stays negative;
/// filters refuse both.
///
/// ```
/// use broadsweep::filter::sphere_from_f64;
///
/// assert_eq!(sphere_from_f64([1.0, 2.0, 3.0], 0.5), [1.0, 2.0, 3.0, 0.5]);
/// let [x, _, _, radius] = sphere_from_f64([0.1, 0.0, 0.0], 1.0);
/// assert!(f64::from(radius) - 1.0 >= f64::from(x) - 0.1);
/// ```
pub fn sphere_from_f64(center: [f64; 3], radius: f64) -> [f32; 4] {
    let [x, y, z] = center.map(|c| c as f32);
    if radius.is_nan() || radius < 0.0 {
        // Round down, so that the radius stays negative.
        return [x, y, z, -double_sum_rounded_up(-radius, 0.0)];
    }
    // The differences are exact: each has fewer bits than its coordinate.
    let moved = [f64::from(x) - center[0], f64::from(y) - center[1], f64::from(z) - center[2]];
    if moved == [0.0; 3] {
        return [x, y, z, double_sum_rounded_up(radius, 0.0)];
    }
    // An upper bound of the distance: the factor covers all roundings, and the addend covers underflow of the squares.
    let distance = (moved[0] * moved[0] + moved[1] * moved[1] + moved[2] * moved[2]).sqrt();
    let distance = distance * (1.0 + DISTANCE_ERROR) + UNDERFLOW_ERROR;
    [x, y, z, double_sum_rounded_up(radius, distance)]
}

/// An upper bound of the relative error of a distance in `f64`: 2⁻⁵⁰. The error of five roundings, halved by the square
/// root, is less than 2⁻⁵¹.
const DISTANCE_ERROR: f64 = 1.0 / (1u64 << 50) as f64;
/// An upper bound of the error of a distance by underflow of its squares, which is below 2⁻⁵³⁶. The bound is smaller
/// than any positive `f32`, but a positive `f64`.
const UNDERFLOW_ERROR: f64 = 1e-120;

/// Pads a sphere by a margin, rounded up.
pub(crate) fn padded_sphere([x, y, z, radius]: [f32; 4], margin: f32) -> [f32; 4] {
    [x, y, z, sum_rounded_up(radius, margin)]
}

/// Returns whether two spheres have a point in common, exactly. A sphere with a NaN radius has no points; one with an
/// infinite radius has all points.
pub(crate) fn spheres_touch(a: &[f32; 4], b: &[f32; 4]) -> bool {
    let (radius_a, radius_b) = (a[3], b[3]);
    if radius_a.is_nan() || radius_b.is_nan() || radius_a.is_infinite() || radius_b.is_infinite() {
        return !radius_a.is_nan() && !radius_b.is_nan();
    }
    let along = |k: usize| f64::from(a[k]) - f64::from(b[k]);
    let [x, y, z] = [along(0), along(1), along(2)];
    let distance = x * x + y * y + z * z;
    let reach = f64::from(radius_a) + f64::from(radius_b);
    let reach = reach * reach;
    if f64::abs(distance - reach) > RELATIVE_ERROR * distance.max(reach) {
        return distance < reach;
    }
    sign_of_sum(sphere_terms(a, b)).is_le()
}

/// Returns numbers whose exact sum is `|c_a - c_b|² - (r_a + r_b)²`, for finite spheres.
fn sphere_terms(a: &[f32; 4], b: &[f32; 4]) -> [f64; 12] {
    std::array::from_fn(|term| {
        let (k, part) = (term / 3, term % 3);
        let square = [product(a[k], a[k]), 2.0 * product(a[k], b[k]), product(b[k], b[k])][part];
        if k == 3 || part == 1 { -square } else { square }
    })
}

impl HalfSpace {
    /// Returns whether a point of a sphere lies in the half-space, exactly. This is so if the height of the centre
    /// above the plane is at most the radius. NaN and infinite radii mean the same as in [`spheres_touch`].
    pub(crate) fn touches_sphere(&self, sphere: &[f32; 4]) -> bool {
        let [x, y, z, radius] = *sphere;
        if radius.is_nan() || radius.is_infinite() {
            return radius.is_infinite();
        }
        let [n_x, n_y, n_z] = self.normal;
        // The sum of these terms is the height of the centre above the plane, times the normal's length.
        let height = [product(n_x, x), product(n_y, y), product(n_z, z), -f64::from(self.offset)];
        let (sum, magnitude) = height.iter().fold((0.0, 0.0), |(sum, all), term| (sum + term, all + term.abs()));
        let reach = f64::from(radius) * (product(n_x, n_x) + product(n_y, n_y) + product(n_z, n_z)).sqrt();
        let error = RELATIVE_ERROR * (magnitude + reach);
        if f64::abs(sum - reach) > error {
            return sum < reach;
        }
        sign_of_sum(height).is_le() || sign_of_sum(self.reach_terms(&height, radius)).is_le()
    }

    /// Returns numbers whose exact sum is `h² - (radius |normal|)²`, where `h` is the sum of `height`. Each product of
    /// two terms is the exact sum of two `f64`.
    fn reach_terms(&self, height: &[f64; 4], radius: f32) -> [f64; 26] {
        const PLACES: [(usize, usize); 10] =
            [(0, 0), (0, 1), (0, 2), (0, 3), (1, 1), (1, 2), (1, 3), (2, 2), (2, 3), (3, 3)];
        let mut terms = [0.0; 26];
        for (to, (i, j)) in terms.chunks_exact_mut(2).zip(PLACES) {
            let factor = if i == j { 1.0 } else { 2.0 };
            to.copy_from_slice(&two_product(factor * height[i], height[j]));
        }
        for (to, n) in terms[20..].chunks_exact_mut(2).zip(self.normal) {
            to.copy_from_slice(&two_product(-product(radius, radius), product(n, n)));
        }
        terms
    }
}
