//! Decides exactly when a moving box first touches another box.

use std::cmp::Ordering;

use super::is_finite;
use super::round::{Round, Touch};
use crate::base::exact::{RELATIVE_ERROR, product, round_down_with, sign_of_sum};
use crate::{Aabb, HalfSpace};

/// A moving box: the points `x + t direction`, with `low <= x <= high` and `0 <= t <= limit`. A moving point is a ray.
/// The direction must be finite, and the limit at least zero.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    /// Lower corner at `t = 0`.
    pub low: [f32; 3],
    /// Upper corner at `t = 0`.
    pub high: [f32; 3],
    /// The displacement per unit of `t`.
    pub direction: [f32; 3],
    /// The largest `t`, which may be infinite.
    pub limit: f32,
    /// True if all corners are finite.
    is_finite: bool,
    /// True if the path skips boxes that it touches at `t = 0` and separates from.
    skips_separating: bool,
    /// The round shape that the box bounds, if there is one. The path hits only boxes that this shape touches.
    round: Option<Round>,
    /// True if the box is the whole space, which touches every half-space at the start.
    is_everywhere: bool,
}

/// The first time at which a moving box touches another box.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The time, with a relative error below half of `RELATIVE_ERROR`; 0 only if it is exactly 0. For a round shape,
    /// the time plus its slack (see `PADDING`).
    pub approximate: f64,
    /// The box that is touched.
    aabb: Aabb,
}

/// A time at which a face of the moving box is in the plane of another box's face:
/// `(plane - origin) / |direction[axis]|`.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Crossing {
    plane: f32,
    origin: f32,
    axis: usize,
}

/// The two faces of another box along one axis: the face that a moving box must reach, and the face that it must not
/// have passed. For each face: its plane, and the coordinate of the moving box to compare with it. If the box moves
/// down, all numbers are negated.
#[derive(Clone, Copy, Debug)]
struct Gate {
    reach: (f32, f32),
    leave: (f32, f32),
}

impl Path {
    /// A point that does not move.
    pub const STILL: Self = Self {
        low: [0.0; 3],
        high: [0.0; 3],
        direction: [0.0; 3],
        limit: 0.0,
        is_finite: true,
        skips_separating: false,
        round: None,
        is_everywhere: false,
    };

    /// Creates a path of the box from `low` to `high`.
    #[inline]
    pub fn new(low: [f32; 3], high: [f32; 3], direction: [f32; 3], limit: f32) -> Self {
        let is_finite = is_finite(&low) && is_finite(&high);
        Self { low, high, direction, limit, is_finite, skips_separating: false, round: None, is_everywhere: false }
    }

    /// Sets whether the path skips boxes that it touches at `t = 0` and separates from.
    #[inline]
    pub fn skipping_separating(self, skips_separating: bool) -> Self {
        Self { skips_separating, ..self }
    }

    /// Sets the round shape that the box bounds.
    #[inline]
    pub fn with_round(self, round: Option<Round>) -> Self {
        Self { round, ..self }
    }

    /// Sets whether the box is the whole space.
    #[inline]
    pub fn everywhere(self, is_everywhere: bool) -> Self {
        Self { is_everywhere, ..self }
    }

    /// Returns whether the box is the whole space.
    pub fn is_everywhere(&self) -> bool {
        self.is_everywhere
    }

    /// Returns whether the shape is round. Times of round shapes are compared by their reported values.
    pub fn is_round(&self) -> bool {
        self.round.is_some()
    }

    /// Returns the inverse of the direction along an axis, rounded; infinite if the component is zero.
    #[inline]
    pub fn inverse(&self, k: usize) -> f64 {
        1.0 / f64::from(self.direction[k])
    }

    /// Returns when the moving box first touches a box; `None` if it does not touch the box, or skips it.
    #[inline]
    pub fn enter(&self, aabb: &Aabb) -> Option<Entry> {
        if let Some(round) = &self.round {
            return self.enter_round(round, aabb);
        }
        // Only a box that is touched at the start has the time 0.
        self.reach(aabb).filter(|entry| !self.skips_separating || entry.approximate > 0.0 || !self.separates(aabb))
    }

    #[cold]
    fn enter_round(&self, round: &Round, aabb: &Aabb) -> Option<Entry> {
        let bounds = self.reach(aabb)?;
        let start = Touch { t: self.time_of_bounds(&bounds), is_at_start: bounds.approximate == 0.0, separates: None };
        let touch = round.enter(aabb, &self.direction, self.limit, start)?;
        let separates = || touch.separates.unwrap_or_else(|| self.separates(aabb));
        let is_left_out = self.skips_separating && touch.is_at_start && separates();
        (!is_left_out).then(|| Entry { approximate: padded(touch.t), aabb: *aabb })
    }

    /// Returns whether the path separates from a box that it touches at `t = 0`. It does if it moves away from a face
    /// of least penetration, or along this face. Penetrations are compared exactly.
    #[cold]
    fn separates(&self, aabb: &Aabb) -> bool {
        let (mut least, mut is_away): (Option<Depth>, bool) = (None, true);
        for (k, d) in self.direction.into_iter().enumerate() {
            let faces = [(d >= 0.0, aabb.max[k], self.low[k]), (d <= 0.0, self.high[k], aabb.min[k])];
            for (is_face_away, upper, lower) in faces {
                let Some(depth) = Depth::new(upper, lower) else { continue };
                let order = least.map_or(Ordering::Less, |least| depth.compare(&least));
                if order.is_lt() || (order.is_eq() && is_face_away) {
                    (least, is_away) = (Some(depth), is_face_away);
                }
            }
        }
        is_away
    }

    /// Returns when the path first touches a half-space, rounded down; `None` if the path does not touch it, or skips
    /// it. `start` is the first touch of the path's bounds.
    pub fn enter_half_space(&self, half_space: &HalfSpace, start: Touch) -> Option<f32> {
        let touch = match &self.round {
            Some(round) => round.enter_half_space(half_space, &self.direction, self.limit, start)?,
            None => start,
        };
        let separates = || {
            let [x, y, z] = [0, 1, 2].map(|k| product(half_space.normal[k], self.direction[k]));
            sign_of_sum([x, y, z]).is_ge()
        };
        let is_left_out = self.skips_separating && touch.is_at_start && separates();
        (!is_left_out).then_some(touch.t)
    }

    #[inline]
    fn reach(&self, aabb: &Aabb) -> Option<Entry> {
        if !self.is_finite {
            return self.enter_exactly(aabb);
        }
        if !aabb.is_valid() {
            return None;
        }
        let (mut latest, mut soonest) = (0.0f64, f64::from(self.limit));
        for k in 0..3 {
            if self.direction[k] == 0.0 {
                if !self.touches_along(k, aabb) {
                    return None;
                }
                continue;
            }
            let Gate { reach, leave } = self.gate(k, aabb);
            if leave.0 < leave.1 {
                return None;
            }
            let inverse = 1.0 / f64::from(self.direction[k].abs());
            let time = |(plane, origin): (f32, f32)| (f64::from(plane) - f64::from(origin)) * inverse;
            latest = latest.max(time(reach));
            soonest = soonest.min(time(leave));
        }
        // Signs are exact, so a time of 0 is exact.
        if latest == 0.0 || latest < soonest * (1.0 - RELATIVE_ERROR) {
            Some(Entry { approximate: latest, aabb: *aabb })
        } else if soonest < latest * (1.0 - RELATIVE_ERROR) {
            None
        } else {
            self.enter_exactly(aabb)
        }
    }

    #[cold]
    fn enter_exactly(&self, aabb: &Aabb) -> Option<Entry> {
        let touches = aabb.is_valid() && (0..3).all(|k| self.direction[k] != 0.0 || self.touches_along(k, aabb));
        let gates = || (0..3).filter(|&k| self.direction[k] != 0.0).map(|k| (k, self.gate(k, aabb)));
        if !touches || !gates().all(|(_, gate)| gate.opens() && gate.leave.0 >= gate.leave.1) {
            return None;
        }
        let Some(latest) = self.latest(aabb) else {
            return Some(Entry { approximate: 0.0, aabb: *aabb });
        };
        if self.limit.is_finite() && self.compare_number(&latest, self.limit).is_gt() {
            return None;
        }
        for (axis, Gate { leave: (plane, origin), .. }) in gates() {
            let is_finite = plane.is_finite() && origin.is_finite();
            if is_finite && self.compare(&latest, &Crossing { plane, origin, axis }).is_gt() {
                return None;
            }
        }
        let Crossing { plane, origin, axis } = latest;
        let approximate = (f64::from(plane) - f64::from(origin)) / f64::from(self.direction[axis].abs());
        Some(Entry { approximate, aabb: *aabb })
    }

    /// Returns the last plane that the moving box must reach to touch a box; `None` if they touch at the start.
    fn latest(&self, aabb: &Aabb) -> Option<Crossing> {
        let gates = (0..3).filter(|&k| self.direction[k] != 0.0).map(|k| (k, self.gate(k, aabb).reach));
        // A plane at infinity is behind the box, or is never reached.
        let ahead = gates.filter(|(_, (plane, origin))| plane > origin && plane.is_finite() && origin.is_finite());
        ahead.map(|(axis, (plane, origin))| Crossing { plane, origin, axis }).max_by(|a, b| self.compare(a, b))
    }

    /// Returns whether the boxes touch along an axis at the start.
    fn touches_along(&self, k: usize, aabb: &Aabb) -> bool {
        aabb.min[k] <= self.high[k] && self.low[k] <= aabb.max[k]
    }

    #[inline]
    fn gate(&self, k: usize, aabb: &Aabb) -> Gate {
        // Two masks, set if the path moves down: all bits, and the sign bit. Both are zero if it moves up. No branch,
        // since adjacent paths may have any directions.
        let is_up = self.direction[k] > 0.0;
        let (down, sign) = (u32::from(is_up).wrapping_sub(1), u32::from(!is_up) << 31);
        let pick =
            |if_up: f32, if_down: f32| f32::from_bits((if_down.to_bits() & down | if_up.to_bits() & !down) ^ sign);
        Gate {
            reach: (pick(aabb.min[k], aabb.max[k]), pick(self.high[k], self.low[k])),
            leave: (pick(aabb.max[k], aabb.min[k]), pick(self.low[k], self.high[k])),
        }
    }

    /// Compares two times of one path, exactly.
    #[inline]
    pub fn compare_entries(&self, a: &Entry, b: &Entry) -> Ordering {
        if self.is_round() {
            return a.approximate.total_cmp(&b.approximate);
        }
        sure_order(a.approximate, b.approximate).unwrap_or_else(|| match (self.latest(&a.aabb), self.latest(&b.aabb)) {
            // Boxes on a grid often have faces in the same plane.
            (Some(a), Some(b)) if a == b => Ordering::Equal,
            (Some(a), Some(b)) => self.compare(&a, &b),
            (a, b) => a.is_some().cmp(&b.is_some()),
        })
    }

    /// Rounds a time down to `f32`.
    #[inline]
    pub fn time(&self, entry: &Entry) -> f32 {
        if self.is_round() { unpadded(entry.approximate) } else { self.time_of_bounds(entry) }
    }

    #[inline]
    fn time_of_bounds(&self, entry: &Entry) -> f32 {
        let is_at_most = |t| self.latest(&entry.aabb).is_some_and(|latest| self.compare_number(&latest, t).is_ge());
        round_down_with(entry.approximate, is_at_most)
    }

    /// Returns the exact time at which the moving box first touches a box: two numbers, and the divisor of their exact
    /// sum. `None` if they touch at the start. The moving box must touch the box.
    pub fn exact_time(&self, aabb: &Aabb) -> Option<([f64; 2], f64)> {
        let Crossing { plane, origin, axis } = self.latest(aabb)?;
        Some(([f64::from(plane), -f64::from(origin)], f64::from(self.direction[axis].abs())))
    }

    fn compare(&self, a: &Crossing, b: &Crossing) -> Ordering {
        let (of_a, of_b) = (self.direction[a.axis].abs(), self.direction[b.axis].abs());
        sign_of_sum([
            product(a.plane, of_b),
            -product(a.origin, of_b),
            -product(b.plane, of_a),
            product(b.origin, of_a),
        ])
    }

    /// Compares a time with a finite number.
    fn compare_number(&self, a: &Crossing, t: f32) -> Ordering {
        let moved = product(self.direction[a.axis].abs(), t);
        sign_of_sum([f64::from(a.plane), -f64::from(a.origin), -moved])
    }
}

/// The penetration of two boxes along an axis: the exact difference of two finite numbers, at least 0.
#[derive(Clone, Copy, Debug)]
struct Depth([f64; 2]);

impl Depth {
    /// Returns the difference of an upper and a lower bound; `None` if it is infinite.
    fn new(upper: f32, lower: f32) -> Option<Self> {
        if upper == lower {
            return Some(Self([0.0; 2]));
        }
        (upper.is_finite() && lower.is_finite()).then(|| Self([upper.into(), lower.into()]))
    }

    fn compare(&self, other: &Self) -> Ordering {
        let (Self([a, b]), Self([c, d])) = (self, other);
        sign_of_sum([*a, -b, -c, *d])
    }
}

impl Gate {
    /// Returns whether the coordinate reaches the plane at some time: it is at or beyond the plane at the start, or
    /// both are finite.
    fn opens(&self) -> bool {
        let (plane, origin) = self.reach;
        plane <= origin || plane.is_finite() && origin.is_finite()
    }
}

/// The slack of times of round shapes: relative, and absolute.
const PADDING: (f64, f64) = (1.0 / (1u64 << 20) as f64, 2.0 * f32::MIN_POSITIVE as f64);

/// Returns a limit for pruning after a hit of a round shape at time `t`. Limits have the same order as the times. A box
/// whose bounds are reached after the limit cannot be hit at `t` or earlier. The walk must find every hit
/// whose time equals `t`, since the index decides among them.
fn padded(t: f32) -> f64 {
    f64::from(t) * (1.0 + PADDING.0) + PADDING.1
}

fn unpadded(number: f64) -> f32 {
    ((number - PADDING.1) / (1.0 + PADDING.0)) as f32
}

/// Compares two numbers with relative errors of half of [`RELATIVE_ERROR`]; `None` if the errors leave the order
/// undecided. A number 0 is exact.
#[inline]
pub fn sure_order(a: f64, b: f64) -> Option<Ordering> {
    let error = RELATIVE_ERROR * a.max(b);
    if a < b - error {
        Some(Ordering::Less)
    } else if a > b + error {
        Some(Ordering::Greater)
    } else if error == 0.0 {
        Some(Ordering::Equal)
    } else {
        None
    }
}
