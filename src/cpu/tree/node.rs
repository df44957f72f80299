//! Eight boxes in one node, and tests of a query against all eight at once.

use glam::{DVec4, Vec4};

use crate::Aabb;
use crate::queries::Path;

/// Children of a node.
pub const WIDTH: usize = 8;

/// The bounds of eight children, coordinate by coordinate. A missing child has the bounds of no points.
#[repr(C, align(64))]
#[derive(Clone, Copy, Debug)]
pub struct Node {
    /// Lower corners, then upper corners.
    pub faces: [[f32; WIDTH]; 6],
}

impl Node {
    /// Has no children.
    pub const EMPTY: Self = {
        let (low, high) = ([f32::INFINITY; WIDTH], [f32::NEG_INFINITY; WIDTH]);
        Self { faces: [low, low, low, high, high, high] }
    };

    /// Sets the bounds of a child. An invalid box has no points.
    pub fn set(&mut self, child: usize, aabb: &Aabb) {
        let is_valid = aabb.is_valid();
        for k in 0..3 {
            self.faces[k][child] = if is_valid { aabb.min[k] } else { f32::INFINITY };
            self.faces[k + 3][child] = if is_valid { aabb.max[k] } else { f32::NEG_INFINITY };
        }
    }

    /// Returns the bounds of one child.
    #[inline]
    pub fn get(&self, child: usize) -> Aabb {
        Aabb {
            min: std::array::from_fn(|k| self.faces[k][child % WIDTH]),
            max: std::array::from_fn(|k| self.faces[k + 3][child % WIDTH]),
        }
    }

    /// Returns the bounds of all children.
    #[inline]
    pub fn bounds(&self) -> Aabb {
        let halves = |face: usize| [0, 1].map(|half| f32::load(&self.faces[face], half));
        let least = |[a, b]: [Vec4; 2]| a.min(b).min_element();
        let most = |[a, b]: [Vec4; 2]| a.max(b).max_element();
        Aabb { min: std::array::from_fn(|k| least(halves(k))), max: std::array::from_fn(|k| most(halves(k + 3))) }
    }

    /// Returns the largest absolute coordinate; infinity if a child is missing.
    #[inline]
    pub fn largest(&self) -> f32 {
        let largest = |[a, b]: [Vec4; 2]| a.abs().max(b.abs());
        let halves = |face: &[f32; WIDTH]| [0, 1].map(|half| f32::load(face, half));
        self.faces.iter().fold(Vec4::ZERO, |all, face| all.max(largest(halves(face)))).max_element()
    }

    /// Returns a bit for each child that touches a box, exactly.
    #[inline]
    pub fn touching(&self, aabb: &Aabb) -> u32 {
        let half = |i: usize| {
            let four = |numbers: &[f32; WIDTH]| Vec4::from_slice(&numbers[4 * i..4 * i + 4]);
            let mut bits = 15;
            for k in 0..3 {
                let (low, high) = (Vec4::splat(aabb.min[k]), Vec4::splat(aabb.max[k]));
                bits &= (four(&self.faces[k]).cmple(high) & low.cmple(four(&self.faces[k + 3]))).bitmask();
            }
            bits
        };
        half(0) | half(1) << 4
    }
}

/// The value that is known of a node before its visit.
pub trait Known: Copy + PartialOrd {
    /// The value for the nodes with which a walk begins.
    const FIRST: Self;
}

impl Known for f32 {
    const FIRST: Self = 0.0;
}

impl Known for f64 {
    const FIRST: Self = 0.0;
}

/// The numbers for pruning. They are rounded, but always to the safe side.
///
/// `f32` suffices if no number is beyond [`ORDINARY`]: then nothing overflows, and the error by underflow is less than
/// [`TINY`](Self::TINY). `f64` suffices for all `f32`.
pub trait Real: Known + Send + Sync + std::fmt::Debug {
    /// Four numbers.
    type Four: Copy + std::fmt::Debug;
    /// An upper bound of the relative rounding error of a time or a squared distance.
    const SLACK: f64;
    /// An upper bound of the error by underflow.
    const TINY: f64;
    /// A time or distance beyond all others.
    const END: Self;
    /// Zero.
    const ZERO: Self;

    /// Converts a number, to the nearest.
    fn nearest(number: f64) -> Self;
    /// Converts a number upward, with a margin for the errors of the numbers with which it is compared.
    fn limit(number: f64) -> Self;
    /// Loads four children.
    fn load(numbers: &[f32; WIDTH], half: usize) -> Self::Four;
    /// Repeats a number.
    fn splat(self) -> Self::Four;
    /// Returns `a - b`.
    fn difference(a: Self::Four, b: Self::Four) -> Self::Four;
    /// Returns `a * b`.
    fn product(a: Self::Four, b: Self::Four) -> Self::Four;
    /// Returns the larger number of each lane.
    fn larger(a: Self::Four, b: Self::Four) -> Self::Four;
    /// Returns the smaller number of each lane.
    fn smaller(a: Self::Four, b: Self::Four) -> Self::Four;
    /// Returns `a + b * b`.
    fn plus_square(a: Self::Four, b: Self::Four) -> Self::Four;
    /// Returns `a`, increased by a margin for its errors.
    fn slackened(a: Self::Four) -> Self::Four;
    /// Returns a bit per lane: set if `a <= b`.
    fn at_most(a: Self::Four, b: Self::Four) -> u32;
    /// Returns the four numbers.
    fn array(a: Self::Four) -> [Self; 4];
}

/// 2⁶⁰: the largest coordinate, direction and inverse of a direction for which `f32` suffices.
pub const ORDINARY: f32 = (1u64 << 60) as f32;

macro_rules! real {
    ($real:ty, $four:ty, slack: $slack:expr, tiny: $tiny:expr, end: $end:expr, load: $load:expr) => {
        impl Real for $real {
            type Four = $four;
            const SLACK: f64 = $slack;
            const TINY: f64 = $tiny;
            const END: Self = $end;
            const ZERO: Self = 0.0;

            fn nearest(number: f64) -> Self {
                number as $real
            }

            fn limit(number: f64) -> Self {
                // The conversion rounds to nearest; its error is far below the slack.
                ((number * (1.0 + Self::SLACK) + Self::TINY) as $real).min(Self::END)
            }

            #[inline(always)]
            fn load(numbers: &[f32; WIDTH], half: usize) -> $four {
                $load(Vec4::from_slice(&numbers[4 * half..4 * half + 4]))
            }

            #[inline(always)]
            fn splat(self) -> $four {
                <$four>::splat(self)
            }

            #[inline(always)]
            fn difference(a: $four, b: $four) -> $four {
                a - b
            }

            #[inline(always)]
            fn product(a: $four, b: $four) -> $four {
                a * b
            }

            #[inline(always)]
            fn larger(a: $four, b: $four) -> $four {
                a.max(b)
            }

            #[inline(always)]
            fn smaller(a: $four, b: $four) -> $four {
                a.min(b)
            }

            #[inline(always)]
            fn plus_square(a: $four, b: $four) -> $four {
                a + b * b
            }

            #[inline(always)]
            fn slackened(a: $four) -> $four {
                a * (1.0 + Self::SLACK as $real) + <$four>::splat(Self::TINY as $real)
            }

            #[inline(always)]
            fn at_most(a: $four, b: $four) -> u32 {
                a.cmple(b).bitmask()
            }

            #[inline(always)]
            fn array(a: $four) -> [Self; 4] {
                a.into()
            }
        }
    };
}
// The slack is 2⁻²⁰, and `tiny` is 2⁻¹⁴⁰. `end` is so far below infinity that slack does not overflow it.
real!(f32, Vec4, slack: 9.5367431640625e-7, tiny: 7.2e-43, end: 1.7e38, load: |four: Vec4| four);
real!(f64, DVec4, slack: 1e-14, tiny: 0.0, end: f64::INFINITY, load: |four: Vec4| four.as_dvec4());

/// Computes a bit and a number for each child, four children at a time.
#[inline(always)]
pub fn both_halves<F: Copy>(half: impl Fn(usize) -> (u32, [F; 4])) -> (u32, [F; WIDTH]) {
    let ((low_bits, [a, b, c, d]), (high_bits, [e, f, g, h])) = (half(0), half(1));
    (low_bits | high_bits << 4, [a, b, c, d, e, f, g, h])
}

/// A path, prepared for tests of nodes.
#[derive(Clone, Copy, Debug)]
pub struct Sight<F: Real> {
    axes: [SightAxis<F>; 3],
    /// A bit per axis without motion, and the bounds of the path along these axes. If the path moves along an axis but
    /// has an infinite bound there, the bit is set too, and both bounds are infinite.
    still: u32,
    low: [f32; 3],
    high: [f32; 3],
}

/// The motion of a path along an axis. The path touches a child from the time when coordinate `reach` is at face
/// `first` to the time when coordinate `leave` is at face `last`. `inverse` is the inverse of the speed. Along an axis
/// without motion, no face is reached or left.
#[derive(Clone, Copy, Debug)]
struct SightAxis<F: Real> {
    first: usize,
    last: usize,
    reach: F::Four,
    leave: F::Four,
    inverse: F::Four,
}

impl<F: Real> Sight<F> {
    /// Prepares a path for tests of nodes.
    #[inline(always)]
    pub fn new(path: &Path) -> Self {
        let (x, y, z) = (Self::axis(path, 0), Self::axis(path, 1), Self::axis(path, 2));
        let mut sight = Self { axes: [x, y, z], still: 0, low: path.low, high: path.high };
        for k in 0..3 {
            let is_infinite = path.low[k].is_infinite() || path.high[k].is_infinite();
            sight.still |= u32::from(path.direction[k] == 0.0 || is_infinite) << k;
            if is_infinite && path.direction[k] != 0.0 {
                // Differences of infinities are NaN, so this axis must exclude nothing.
                (sight.low[k], sight.high[k]) = (f32::NEG_INFINITY, f32::INFINITY);
            }
        }
        sight
    }

    #[inline(always)]
    fn axis(path: &Path, k: usize) -> SightAxis<F> {
        // All ones if the path moves down. No branch, since adjacent rays may have any directions.
        let down = ((path.direction[k].to_bits() as i32) >> 31) as u32;
        let pick = |if_down: f32, if_up: f32| {
            let number = f32::from_bits(if_down.to_bits() & down | if_up.to_bits() & !down);
            F::nearest(f64::from(number))
        };
        let (first, last) = (k + (3 & down as usize), k + (3 & !down as usize));
        let (reach, leave) = (pick(path.low[k], path.high[k]), pick(path.high[k], path.low[k]));
        let [reach, leave, inverse] = [reach.splat(), leave.splat(), F::nearest(path.inverse(k)).splat()];
        SightAxis { first, last, reach, leave, inverse }
    }

    /// Returns a bit per child that the path may touch by the time `limit`, and the approximate times.
    #[inline(always)]
    pub fn through(&self, node: &Node, limit: F) -> (u32, [F; WIDTH]) {
        if self.still == 0 { self.through_by::<false>(node, limit) } else { self.through_by::<true>(node, limit) }
    }

    #[inline(always)]
    fn through_by<const IS_STILL: bool>(&self, node: &Node, limit: F) -> (u32, [F; WIDTH]) {
        both_halves(|i| {
            let (mut near, mut far, mut bits) = (F::ZERO.splat(), limit.splat(), 15);
            for (k, axis) in self.axes.iter().enumerate() {
                if IS_STILL && self.still >> k & 1 == 1 {
                    let four = |face: usize| Vec4::from_slice(&node.faces[face][4 * i..4 * i + 4]);
                    let is_below = four(k).cmple(Vec4::splat(self.high[k]));
                    bits &= (is_below & Vec4::splat(self.low[k]).cmple(four(k + 3))).bitmask();
                    continue;
                }
                let (first, last) = (&node.faces[axis.first % 6], &node.faces[axis.last % 6]);
                near = F::larger(F::product(F::difference(F::load(first, i), axis.reach), axis.inverse), near);
                far = F::smaller(F::product(F::difference(F::load(last, i), axis.leave), axis.inverse), far);
            }
            (bits & F::at_most(near, F::slackened(far)), F::array(near))
        })
    }
}

/// Returns `true` if `f32` suffices for tests with this path.
#[inline]
pub fn is_ordinary(path: &Path) -> bool {
    let is_ordinary = |k: usize| {
        let speed = path.direction[k].abs();
        let is_speed = (speed == 0.0) | (1.0 / ORDINARY..=ORDINARY).contains(&speed);
        is_speed & (path.low[k].abs() <= ORDINARY) & (path.high[k].abs() <= ORDINARY)
    };
    is_ordinary(0) & is_ordinary(1) & is_ordinary(2)
}

/// A point, or the bounds of several points, prepared for tests of nodes.
#[derive(Clone, Copy, Debug)]
pub struct Center<F: Real> {
    low: [F; 3],
    high: [F; 3],
}

impl<F: Real> Center<F> {
    /// Prepares a point for tests of nodes.
    pub fn new(point: &[f32; 3]) -> Self {
        let [x, y, z] = *point;
        let point = [F::nearest(f64::from(x)), F::nearest(f64::from(y)), F::nearest(f64::from(z))];
        Self { low: point, high: point }
    }

    /// Returns a bit per child whose squared distance may be at most `limit`, and the approximate squared distances.
    #[inline(always)]
    pub fn around(&self, node: &Node, limit: F) -> (u32, [F; WIDTH]) {
        let zero = F::ZERO.splat();
        both_halves(|i| {
            let mut square = zero;
            for k in 0..3 {
                let below = F::difference(F::load(&node.faces[k], i), self.high[k].splat());
                let above = F::difference(self.low[k].splat(), F::load(&node.faces[k + 3], i));
                square = F::plus_square(square, F::larger(F::larger(below, above), zero));
            }
            (F::at_most(square, limit.splat()), F::array(square))
        })
    }
}

impl Center<f32> {
    /// Prepares the bounds of points for tests of nodes.
    pub fn between(low: [f32; 3], high: [f32; 3]) -> Self {
        Self { low, high }
    }
}
