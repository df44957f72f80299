//! A ray and a box: where the one enters the other, by the slabs between opposite faces.
//!
//! Source: Kay and Kajiya 1986, "Ray tracing complex scenes". What a ray has to be divided by is inverted once for all
//! boxes, as ray tracers do it.
//!
//! **The arithmetic is plain double precision, and rounds.** A difference, a product and an inverse round, so the
//! result is uncertain for a ray that passes a corner by less than about 10⁻¹⁶ of its distance. Each operation is
//! monotone in the bounds, so a ray enters a container of a box no later than the box: an algorithm that skips boxes by
//! their containers answers as a loop over all boxes does. Where coordinates are small integers and directions are
//! powers of two or zero, nothing rounds, and the answers are those of the library.

use broadsweep::{Aabb, Ray};

/// The box that a ray hits, and when.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hit {
    /// The index of the box, or what else the caller calls it.
    pub index: u32,
    /// The least `t` at which the ray is in the box, in lengths of the direction; 0 if the ray starts in the box.
    pub t: f64,
}

impl Hit {
    /// Returns whether this hit comes before another: by `t`, then by index.
    pub fn is_before(&self, other: &Self) -> bool {
        self.t < other.t || self.t == other.t && self.index < other.index
    }
}

/// A ray, prepared for many boxes.
#[derive(Clone, Copy, Debug)]
pub struct Slabs {
    /// The point where the ray starts.
    pub origin: [f64; 3],
    /// The direction of the ray.
    pub direction: [f64; 3],
    /// The inverse of the direction, rounded; 0 on an axis along which the ray does not move.
    pub inverse: [f64; 3],
    /// The largest `t`.
    pub limit: f64,
}

impl Slabs {
    /// Prepares a ray. Returns `None` if a number has no meaning: a NaN, an infinite origin or direction, or a negative
    /// limit.
    pub fn new(ray: &Ray) -> Option<Self> {
        let numbers = ray.origin.iter().chain(&ray.direction);
        if !numbers.clone().all(|x| x.is_finite()) || ray.limit.is_nan() || ray.limit < 0.0 {
            return None;
        }
        let direction = ray.direction.map(f64::from);
        let inverse = direction.map(|d| if d == 0.0 { 0.0 } else { 1.0 / d });
        Some(Self { origin: ray.origin.map(f64::from), direction, inverse, limit: ray.limit.into() })
    }

    /// Returns the least `t` at which the ray is in a valid box, 0 if the ray starts in the box, and `None` if the ray
    /// misses it. Boxes are closed, so touching counts. A box at infinity is never reached.
    #[inline]
    pub fn entry(&self, aabb: &Aabb) -> Option<f64> {
        let (mut enter, mut leave) = (0.0f64, self.limit);
        for k in 0..3 {
            let [min, max] = [aabb.min[k], aabb.max[k]].map(|x| f64::from(x) - self.origin[k]);
            let inverse = self.inverse[k];
            if inverse == 0.0 {
                // The ray is parallel to the slab: it is always inside, or never.
                if min > 0.0 || max < 0.0 {
                    return None;
                }
                continue;
            }
            let [near, far] = if inverse > 0.0 { [min, max] } else { [max, min] };
            enter = enter.max(near * inverse);
            leave = leave.min(far * inverse);
        }
        (enter <= leave && enter < f64::INFINITY).then_some(enter)
    }
}

/// The same answers by a loop over all boxes, and by the library's own loop, for the tests of what skips boxes.
#[cfg(test)]
pub(super) mod loops {
    use super::{Hit, Slabs};
    use broadsweep::internals::brute_queries;
    use broadsweep::{Aabb, Filters, Ray};

    /// Returns all hits of a ray, ascending by index, with the arithmetic of [`Slabs`].
    pub fn all_hits(boxes: &[Aabb], ray: &Ray) -> Vec<Hit> {
        let Some(slabs) = Slabs::new(ray) else { return Vec::new() };
        let valid = (0..).zip(boxes).filter(|(_, aabb)| aabb.is_valid());
        valid.filter_map(|(index, aabb)| Some(Hit { index, t: slabs.entry(aabb)? })).collect()
    }

    /// Returns the first of some hits.
    pub fn first(hits: &[Hit]) -> Option<Hit> {
        hits.iter().copied().reduce(|best, hit| if hit.is_before(&best) { hit } else { best })
    }

    /// Returns all hits of a ray, ascending by index, as the library's loop in exact arithmetic finds them.
    pub fn exact_hits(boxes: &[Aabb], ray: &Ray) -> Vec<Hit> {
        let found = brute_queries::all_hits([*ray].as_slice().into(), boxes, &Filters::default()).unwrap();
        found.answers.iter().map(|hit| Hit { index: hit.index, t: hit.t.into() }).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ray_meets_what_it_touches_and_what_it_starts_in() {
        let unit = Aabb::new([0.0; 3], [1.0; 3]);
        let enter = |origin, direction, aabb: &Aabb| Slabs::new(&Ray::new(origin, direction))?.entry(aabb);
        let entry = |origin: [f32; 3], direction: [f32; 3]| enter(origin, direction, &unit);
        assert_eq!(entry([-1.0, 0.5, 0.5], [2.0, 0.0, 0.0]), Some(0.5));
        assert_eq!(entry([0.5; 3], [1.0, 0.0, 0.0]), Some(0.0));
        assert_eq!(entry([0.5; 3], [0.0; 3]), Some(0.0));
        assert_eq!(entry([2.0; 3], [0.0; 3]), None);
        assert_eq!(entry([2.0, 0.5, 0.5], [1.0, 0.0, 0.0]), None);
        assert_eq!(entry([1.0, 0.5, 0.5], [1.0, 0.0, 0.0]), Some(0.0));
        // Along a face, an edge, and through a corner.
        assert_eq!(entry([-1.0, 1.0, 0.5], [1.0, 0.0, 0.0]), Some(1.0));
        assert_eq!(entry([-1.0, 1.0, 1.0], [1.0, -0.0, 0.0]), Some(1.0));
        assert_eq!(entry([-1.0, 2.0, 0.5], [1.0, -1.0, 0.0]), Some(1.0));
        assert_eq!(entry([-1.0, 1.0f32.next_up(), 0.5], [1.0, 0.0, 0.0]), None);
        let world = Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]);
        assert_eq!(enter([5.0; 3], [0.0, 1.0, 0.0], &world), Some(0.0));
        let wall = Aabb::new([3.0, f32::NEG_INFINITY, 0.0], [f32::INFINITY; 3]);
        assert_eq!(enter([0.0; 3], [1.0; 3], &wall), Some(3.0));
        let far = Aabb::new([f32::INFINITY, 0.0, 0.0], [f32::INFINITY, 1.0, 1.0]);
        assert_eq!(enter([0.0; 3], [1.0, 0.0, 0.0], &far), None);
        for bad in [f32::NAN, f32::INFINITY] {
            assert_eq!(entry([bad; 3], [1.0; 3]), None);
            assert_eq!(entry([0.0; 3], [bad, 0.0, 0.0]), None);
        }
    }

    #[test]
    fn a_ray_ends_at_its_limit_and_not_before() {
        let unit = Aabb::new([0.0; 3], [1.0; 3]);
        let entry = |limit| Slabs::new(&Ray::segment([-1.0, 0.5, 0.5], [2.0, 0.0, 0.0], limit))?.entry(&unit);
        assert_eq!([0.0, 0.5f32.next_down(), 0.5, 7.0].map(entry), [None, None, Some(0.5), Some(0.5)]);
        assert_eq!([-1.0, f32::NAN].map(entry), [None; 2]);
    }
}
