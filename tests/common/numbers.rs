//! Boxes and queries of random numbers of every size. They share coordinates, so that faces, edges and corners meet.

use broadsweep::internals::constants::USUAL_BITS;
use broadsweep::query::{BoxCast, NearestQuery, Sphere};
use broadsweep::{Aabb, Ray};

/// The largest number that queries take for a usual one.
const USUAL: f32 = f32::from_bits(USUAL_BITS);

/// Numbers without an order.
pub struct Numbers(u64);

/// The kind of numbers of a case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Like {
    /// Small whole numbers: everything touches.
    Whole,
    /// Fractions with all bits, near each other.
    Usual,
    /// Sizes from denormal to enormous.
    Any,
    /// Of either kind, and infinite ones.
    Infinite,
    /// Small whole numbers, and infinite bounds.
    HalfOpen,
}

impl Like {
    pub const ALL: [Self; 5] = [Self::Whole, Self::Usual, Self::Any, Self::Infinite, Self::HalfOpen];
}

impl Numbers {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub fn below(&mut self, n: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) % n
    }

    /// Returns a finite number.
    pub fn finite(&mut self, like: Like) -> f32 {
        match like {
            Like::Whole | Like::HalfOpen => self.below(9) as f32 - 4.0,
            Like::Usual => (self.below(1 << 24) as f32 / (1 << 23) as f32 - 1.0) * 4.0,
            Like::Any | Like::Infinite => match self.below(8) {
                0 => 0.0,
                1 => -0.0,
                2 => [f32::MAX, f32::MIN, f32::MIN_POSITIVE, 1e-45, -1e-45, USUAL][self.below(6) as usize],
                3 => self.finite(Like::Whole),
                4 => self.finite(Like::Usual),
                5 => self.finite(Like::Usual) * [1e30, 1e36][self.below(2) as usize],
                _ => {
                    let bits = self.below(1 << 32) as u32;
                    let x = f32::from_bits(bits);
                    if x.is_finite() { x } else { f32::from_bits(bits & 0x807f_ffff) }
                }
            },
        }
    }

    /// Returns a bound, which may be infinite.
    pub fn bound(&mut self, like: Like) -> f32 {
        if matches!(like, Like::Infinite | Like::HalfOpen) && self.below(4) == 0 {
            return [f32::INFINITY, f32::NEG_INFINITY][self.below(2) as usize];
        }
        self.finite(like)
    }

    fn point(&mut self, like: Like) -> [f32; 3] {
        std::array::from_fn(|_| self.finite(like))
    }

    /// Returns a valid box; now and then one without volume.
    pub fn aabb(&mut self, like: Like) -> Aabb {
        let mut aabb = Aabb::new([0.0; 3], [0.0; 3]);
        for k in 0..3 {
            let (a, b) = (self.bound(like), self.bound(like));
            let b = match self.below(4) {
                0 => a,
                1 if like == Like::Usual => a + 0.25 * self.finite(like).abs(),
                _ => b,
            };
            (aabb.min[k], aabb.max[k]) = (a.min(b), a.max(b));
        }
        aabb
    }

    /// Returns boxes; now and then an invalid one.
    pub fn boxes(&mut self, n: usize, like: Like) -> Vec<Aabb> {
        let one = |_| {
            let mut aabb = self.aabb(like);
            match self.below(40) {
                0 => aabb.min[self.below(3) as usize] = f32::NAN,
                1 => (aabb.min, aabb.max) = ([1.0; 3], [0.0; 3]),
                _ => {}
            }
            aabb
        };
        (0..n).map(one).collect()
    }

    /// Returns a coordinate of one of the boxes, or another.
    fn coordinate(&mut self, boxes: &[Aabb], k: usize, like: Like) -> f32 {
        if boxes.is_empty() || self.below(2) == 0 {
            return self.finite(like);
        }
        let aabb = boxes[self.below(boxes.len() as u64) as usize];
        let x = if self.below(2) == 0 { aabb.min[k] } else { aabb.max[k] };
        if x.is_finite() { x } else { self.finite(like) }
    }

    pub fn origin(&mut self, boxes: &[Aabb], like: Like) -> [f32; 3] {
        std::array::from_fn(|k| self.coordinate(boxes, k, like))
    }

    fn direction(&mut self, like: Like) -> [f32; 3] {
        let mut direction = self.point(like);
        for d in &mut direction {
            if self.below(4) == 0 {
                *d = 0.0;
            }
        }
        if self.below(3) == 0 { direction.map(f32::signum) } else { direction }
    }

    fn limit(&mut self, like: Like) -> f32 {
        match self.below(4) {
            0 => 0.0,
            1 => self.finite(like).abs(),
            2 => 1.0,
            _ => f32::INFINITY,
        }
    }

    pub fn ray(&mut self, boxes: &[Aabb], like: Like) -> Ray {
        let (origin, mut direction) = (self.origin(boxes, like), self.direction(like));
        // Toward a corner, where several faces are crossed at once.
        if self.below(3) == 0 {
            let to = self.origin(boxes, like);
            let toward: [f32; 3] = std::array::from_fn(|k| to[k] - origin[k]);
            if toward.iter().all(|d| d.is_finite()) {
                direction = toward;
            }
        }
        Ray { origin, direction, limit: self.limit(like) }
    }

    pub fn cast(&mut self, boxes: &[Aabb], like: Like) -> BoxCast {
        let (a, b) = (self.origin(boxes, like), self.origin(boxes, like));
        let aabb = if self.below(2) == 0 { self.aabb(like) } else { Aabb::from_points([a, b]) };
        BoxCast { aabb, direction: self.direction(like), limit: self.limit(like) }
    }

    pub fn sphere(&mut self, boxes: &[Aabb], like: Like) -> Sphere {
        Sphere { center: self.origin(boxes, like), radius: self.limit(like) }
    }

    pub fn nearest(&mut self, boxes: &[Aabb], like: Like) -> NearestQuery {
        NearestQuery { point: self.origin(boxes, like), radius: self.limit(like) }
    }

    /// Returns a box to query with, which often has the bounds of others.
    pub fn region(&mut self, boxes: &[Aabb], like: Like) -> Aabb {
        let own = self.aabb(like);
        let mut region = Aabb::from_points([self.origin(boxes, like), self.origin(boxes, like)]);
        if self.below(2) == 0 {
            for k in 0..3 {
                (region.min[k], region.max[k]) = (own.min[k].min(region.min[k]), own.max[k].max(region.max[k]));
            }
        }
        region
    }
}
