//! Decides when a moving sphere or capsule first touches a box. The time is never too late, and has the same bits on
//! every engine.
//!
//! A normal and the box's farthest corner along it define a plane that bounds the box. The shape touches the box no
//! sooner than this plane. So every plane gives a lower bound of the time. If the shape is above a plane and moves away
//! from it, it misses the box. The next plane is the plane between the nearest points at the current bound: Newton's
//! method for the distance, which is convex in time. Source: van den Bergen 2004, Ray casting against general convex
//! objects.
//!
//! All numbers are `f64`. Each sum, product, quotient and root is rounded to nearest separately.
//! shaders/tree/double.wgsl has the same operations in integers, and shaders/tree/round.wgsl is the twin of this file.
//!
//! Errors are relative to the magnitudes of the terms. A capsule that misses a box may count as touching if the length
//! of the capsule is millions of times the distance. Then `f64` does not resolve the nearest place on the segment, or
//! the limited count of comparisons does not find this place.

use crate::base::constants::{
    ROUND_ALL_PLACES, ROUND_GAP_BITS, ROUND_PLACE_BITS, ROUND_PLACES, ROUND_PLANES, ROUND_QUOTIENT_BITS,
    ROUND_SMALL_BITS, ROUND_SPEED_BITS, ROUND_TIME_BITS,
};
use crate::base::exact::round_down;
use crate::{Aabb, HalfSpace};

const GAP_ERROR: f64 = half_to(ROUND_GAP_BITS);
const SPEED_ERROR: f64 = half_to(ROUND_SPEED_BITS);
/// The factor that rounds a quotient down.
const DOWN: f64 = 1.0 - half_to(ROUND_QUOTIENT_BITS);
const SAME_TIME: f64 = half_to(ROUND_TIME_BITS);
const SAME_PLACE: f64 = half_to(ROUND_PLACE_BITS);
const SMALL: f64 = half_to(ROUND_SMALL_BITS);

/// Returns 2 to the minus `bits`.
const fn half_to(bits: u32) -> f64 {
    1.0 / (1u128 << bits) as f64
}

/// A ball or a capsule: all points at most `radius` from a segment. All numbers are finite.
#[derive(Clone, Copy, Debug)]
pub struct Round {
    /// One end of the segment at the start.
    pub from: [f32; 3],
    /// The other end.
    pub to: [f32; 3],
    /// The radius.
    pub radius: f32,
}

/// The time of a first touch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Touch {
    /// A time not after the first touch: a normal number, or 0.
    pub t: f32,
    /// True if the shape touches at `t = 0`, up to rounding.
    pub is_at_start: bool,
    /// True if the shape does not approach the nearest point of the box at the start. `None` if its segment is inside
    /// the box, or if this was not computed.
    pub separates: Option<bool>,
}

/// A moving shape, in `f64`.
struct Moving {
    from: [f64; 3],
    /// The vector from the first end to the other.
    along: [f64; 3],
    to: [f64; 3],
    radius: f64,
    direction: [f64; 3],
}

/// The height of a shape above a plane at the start, and its speed away from the plane. Both are multiplied by the
/// length of the normal.
struct Approach {
    /// The height of the nearest point of the segment, and the magnitude of its terms.
    above: f64,
    size: f64,
    /// The speed upward, and the magnitude of its terms.
    speed: f64,
    speeds: f64,
    square_of_normal: f64,
}

/// The conclusion from a plane.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    /// The shape does not touch before this time.
    Time(f64),
    /// The shape never touches the box.
    Never,
    /// No conclusion: the shape may be at the plane.
    None,
}

impl Round {
    /// Creates a capsule, or a ball if both ends are equal. Returns `None` for a point or the whole space, which equal
    /// their bounds. The ends must be finite, and the radius at least zero.
    pub fn new(from: [f32; 3], to: [f32; 3], radius: f32) -> Option<Self> {
        let is_round = radius.is_finite() && (radius > 0.0 || from != to);
        is_round.then_some(Self { from, to, radius })
    }

    /// Returns when the shape first touches a valid box; `None` if this is after `limit`. `start` is the first touch of
    /// the shape's bounds.
    pub fn enter(&self, aabb: &Aabb, direction: &[f32; 3], limit: f32, start: Touch) -> Option<Touch> {
        let (moving, limit) = (Moving::new(self, direction), f64::from(limit));
        let (mut t, mut places) = (f64::from(start.t), ROUND_ALL_PLACES);
        let mut separates = None;
        for _ in 0..ROUND_PLANES {
            let Some(normal) = normal(&moving.nearest(aabb, t, &mut places)) else { break };
            let approach = moving.approach(&normal, &support(aabb, &normal));
            separates = Some(approach.speed >= 0.0);
            match moving.bound(&approach, t) {
                Bound::Never => return None,
                Bound::Time(time) if time > limit => return None,
                Bound::Time(time) if time > t => {
                    let is_same = time - t <= time * SAME_TIME;
                    t = time;
                    if is_same {
                        break;
                    }
                }
                _ => break,
            }
        }
        Some(Touch { separates, ..start.later(t) })
    }

    /// Returns when the shape first touches a half-space; `None` if this is after `limit`. `start` is the first touch
    /// of the shape's bounds.
    pub fn enter_half_space(
        &self,
        half_space: &HalfSpace,
        direction: &[f32; 3],
        limit: f32,
        start: Touch,
    ) -> Option<Touch> {
        let moving = Moving::new(self, direction);
        let mut approach = moving.approach(&half_space.normal.map(f64::from), &[0.0; 3]);
        let offset = f64::from(half_space.offset);
        (approach.above, approach.size) = (approach.above - offset, approach.size + offset.abs());
        match moving.bound(&approach, 0.0) {
            Bound::Never => None,
            Bound::Time(time) if time > f64::from(limit) => None,
            Bound::Time(time) => Some(start.later(time)),
            Bound::None => Some(start.later(0.0)),
        }
    }
}

impl Touch {
    /// Returns this touch, with a time of at least `time`.
    fn later(self, time: f64) -> Self {
        let t = round_down(time).max(self.t);
        Self { t: if t < f32::MIN_POSITIVE { 0.0 } else { t }, is_at_start: self.is_at_start && time <= 0.0, ..self }
    }
}

impl Moving {
    fn new(&Round { from, to, radius }: &Round, direction: &[f32; 3]) -> Self {
        let (from, to) = (from.map(f64::from), to.map(f64::from));
        let along = [to[0] - from[0], to[1] - from[1], to[2] - from[2]];
        Self { from, along, to, radius: f64::from(radius), direction: direction.map(f64::from) }
    }

    /// Returns the signed distance along axis `k` from the box to a place on the segment at a time: negative before the
    /// box, 0 within it.
    fn apart(&self, aabb: &Aabb, k: usize, t: f64, place: f64) -> f64 {
        let at = (self.from[k] + t * self.direction[k]) + place * self.along[k];
        let (min, max) = (f64::from(aabb.min[k]), f64::from(aabb.max[k]));
        if at < min {
            at - min
        } else if max < at {
            at - max
        } else {
            0.0
        }
    }

    /// Returns the signed distance along each axis from the box to the nearest place on the segment, at a time. There,
    /// the derivative of the squared distance, which ascends and is piecewise linear, changes its sign. Compares at
    /// most `places` places, and subtracts their count from `places`.
    fn nearest(&self, aabb: &Aabb, t: f64, places: &mut u32) -> [f64; 3] {
        let (mut low, mut high, mut place) = (0.0, 1.0, 0.0);
        let mut turn = 0;
        loop {
            let apart = [0, 1, 2].map(|k| self.apart(aabb, k, t, place));
            let (mut slope, mut curve) = (0.0, 0.0);
            for k in (0..3).filter(|&k| apart[k] != 0.0) {
                slope += self.along[k] * apart[k];
                curve += self.along[k] * self.along[k];
            }
            let is_least = slope == 0.0 || (turn == 0 && slope > 0.0) || (turn == 1 && slope < 0.0);
            if is_least || turn == ROUND_PLACES || *places == 0 {
                return apart;
            }
            *places -= 1;
            if turn == 0 {
                place = 1.0;
            } else {
                if slope > 0.0 {
                    high = place;
                } else {
                    low = place;
                }
                let step = slope / curve;
                if step.abs() <= SAME_PLACE {
                    return apart;
                }
                let next = place - step;
                place = if low < next && next < high { next } else { 0.5 * (low + high) };
            }
            turn += 1;
        }
    }

    /// Returns the approach of the shape to the plane through a point with a normal.
    fn approach(&self, normal: &[f64; 3], point: &[f64; 3]) -> Approach {
        let (mut above, mut sizes) = ([0.0; 2], [0.0f64; 2]);
        let (mut speed, mut speeds, mut square) = (0.0, 0.0, 0.0);
        for k in (0..3).filter(|&k| normal[k] != 0.0) {
            for (end, at) in [self.from[k], self.to[k]].into_iter().enumerate() {
                let term = normal[k] * (at - point[k]);
                above[end] += term;
                sizes[end] += term.abs();
            }
            let term = normal[k] * self.direction[k];
            speed += term;
            speeds += term.abs();
            square += normal[k] * normal[k];
        }
        let above = if above[1] < above[0] { above[1] } else { above[0] };
        let size = if sizes[0] < sizes[1] { sizes[1] } else { sizes[0] };
        Approach { above, size, speed, speeds, square_of_normal: square }
    }

    /// Returns the conclusion from an approach, for a shape that does not touch before `t`. All errors are on the safe
    /// side.
    fn bound(&self, approach: &Approach, t: f64) -> Bound {
        let reach = self.radius * approach.square_of_normal.sqrt();
        let size = approach.size + reach;
        let gap = (approach.above - reach) - size * GAP_ERROR;
        let closing = approach.speeds * SPEED_ERROR - approach.speed;
        if closing > 0.0 {
            return if gap > 0.0 { Bound::Time(gap / closing * DOWN) } else { Bound::None };
        }
        // The shape moves away from the plane. It misses the box if it is above the plane at `t` or at the start.
        let away = -closing * t;
        let is_above = gap > 0.0 || gap + away > (size + away) * GAP_ERROR;
        if is_above { Bound::Never } else { Bound::None }
    }
}

/// Returns the direction from a box to a place, from their distances along each axis; `None` if the place is in the
/// box. The largest component is between one and two.
fn normal(apart: &[f64; 3]) -> Option<[f64; 3]> {
    let largest = apart.iter().fold(0.0f64, |largest, x| largest.max(x.abs()));
    if largest == 0.0 {
        return None;
    }
    // The power of two that scales the largest component to between one and two.
    let scale = f64::from_bits((2046 - (largest.to_bits() >> 52)) << 52);
    Some(apart.map(|x| x * scale).map(|x| if x.abs() < SMALL { 0.0 } else { x }))
}

/// Returns the farthest point of a box along a normal. A coordinate along which the normal is zero is any number.
fn support(aabb: &Aabb, normal: &[f64; 3]) -> [f64; 3] {
    std::array::from_fn(|k| f64::from(if normal[k] < 0.0 { aabb.min[k] } else { aabb.max[k] }))
}
