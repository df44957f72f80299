//! Decides whether an owner region owns a pair.

use crate::Aabb;

impl Aabb {
    /// Returns whether this box, as an [owner region](crate::Filters::owner), owns the pair of two valid boxes. It owns
    /// the pair if the lower corner of the intersection of the boxes lies in the region.
    ///
    /// On each axis, the corner is the larger `min` of the two boxes. The corner lies in the region if
    /// `min <= corner < max` on each axis. A region that ends at infinity also contains corners at infinity, unless it
    /// begins at infinity too.
    #[inline]
    pub fn owns(&self, a: &Self, b: &Self) -> bool {
        // No branches, since a CPU mispredicts them near the faces of the region.
        (0..3).fold(true, |owns, k| {
            let corner = if a.min[k] > b.min[k] { a.min[k] } else { b.min[k] };
            let (low, high) = (self.min[k], self.max[k]);
            let has_infinity = (high == f32::INFINITY) & (low < high);
            owns & (low <= corner) & ((corner < high) | has_infinity)
        })
    }
}

/// Returns the bounds of an owner region as integers with the order of `f32`, `min` then `max`. The region contains
/// corners with `min <= corner < max`. If the region contains corners at infinity, `max` is beyond infinity.
#[cfg(feature = "gpu")]
pub(super) fn ordered_bounds(region: &Aabb) -> [u32; 6] {
    let bound = |k: usize| {
        let (low, high) = (ordered(region.min[k]), ordered(region.max[k]));
        let has_infinity = region.max[k] == f32::INFINITY && low < high;
        (low, if has_infinity { i32::MAX } else { high })
    };
    let [x, y, z] = [0, 1, 2].map(bound);
    [x.0, y.0, z.0, x.1, y.1, z.1].map(|bound| bound as u32)
}

/// Returns an integer with the order of `f32`, for numbers other than NaN: the twin of `ordered` in WGSL. Both zeros
/// are 0.
#[cfg(feature = "gpu")]
fn ordered(number: f32) -> i32 {
    let magnitude = (number.to_bits() & 0x7fff_ffff) as i32;
    if number.is_sign_negative() { -magnitude } else { magnitude }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOUNDS: [f32; 10] =
        [f32::NEG_INFINITY, f32::MIN, -1.0, -1e-40, -0.0, 0.0, 1e-40, 1.0, f32::MAX, f32::INFINITY];

    fn line(min: f32, max: f32) -> Aabb {
        Aabb::new([f32::NEG_INFINITY, min, f32::NEG_INFINITY], [f32::INFINITY, max, f32::INFINITY])
    }

    #[test]
    fn regions_that_partition_a_line_own_every_pair_once() {
        for cut in BOUNDS {
            for other in BOUNDS.into_iter().filter(|&other| other >= cut) {
                let regions = [(f32::NEG_INFINITY, cut), (cut, other), (other, f32::INFINITY)].map(|(a, b)| line(a, b));
                for a in BOUNDS {
                    for b in BOUNDS {
                        let owners =
                            regions.iter().filter(|r| r.owns(&line(a, f32::INFINITY), &line(b, f32::INFINITY)));
                        assert_eq!(owners.count(), 1, "{a} and {b}, cut at {cut} and {other}");
                    }
                }
            }
        }
    }

    #[test]
    fn a_region_has_its_lower_faces_and_not_its_upper_ones() {
        let cube = |min: f32| Aabb::new([min; 3], [9.0; 3]);
        let region = Aabb::new([0.0; 3], [1.0; 3]);
        assert!(region.owns(&cube(-3.0), &cube(0.0)) && region.owns(&cube(-0.0), &cube(-5.0)));
        assert!(!region.owns(&cube(0.5), &cube(1.0)) && !region.owns(&cube(-3.0), &cube(-1e-45)));
        let flat = Aabb::new([0.0; 3], [1.0, 0.0, 1.0]);
        assert!(!flat.owns(&cube(0.0), &cube(0.0)));
    }

    #[test]
    #[cfg(feature = "gpu")]
    fn integers_decide_as_floats_do() {
        for low in BOUNDS {
            for high in BOUNDS.into_iter().filter(|&high| low <= high) {
                let region = line(low, high);
                let [_, from, _, _, to, _] = ordered_bounds(&region).map(|bound| bound as i32);
                for at in BOUNDS {
                    let owns = region.owns(&line(at, f32::INFINITY), &line(f32::NEG_INFINITY, f32::INFINITY));
                    assert_eq!((from..to).contains(&ordered(at)), owns, "{at} in {low} to {high}");
                }
            }
        }
    }
}
