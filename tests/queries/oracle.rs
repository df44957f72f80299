//! The answers as they are defined, in integers of any length: every `f32` is a whole number of 2⁻¹⁴⁹.

use std::cmp::Ordering;

use broadsweep::filter;
use broadsweep::query::{BoxCast, Near, NearestQuery, OrientedBox, Sphere};
use broadsweep::{Aabb, Hit, Ray};
use num_bigint::BigInt;

/// Returns a finite number in units of 2⁻¹⁴⁹.
pub fn whole(x: f32) -> BigInt {
    assert!(x.is_finite());
    let bits = x.to_bits();
    let (exponent, mantissa) = (bits >> 23 & 0xff, bits & 0x7f_ffff);
    let size = if exponent == 0 { BigInt::from(mantissa) } else { BigInt::from(mantissa | 1 << 23) << (exponent - 1) };
    if x.is_sign_negative() { -size } else { size }
}

/// Returns whether two spheres have a point in common.
pub fn spheres_touch(a: &[f32; 4], b: &[f32; 4]) -> bool {
    if a[3].is_infinite() || b[3].is_infinite() {
        return true;
    }
    let along = (0..3).map(|k| whole(a[k]) - whole(b[k]));
    let reach = whole(a[3]) + whole(b[3]);
    along.map(|d| &d * &d).sum::<BigInt>() <= &reach * &reach
}

/// Returns `normal · point - offset`, in units of 2⁻²⁹⁸; coordinates along which the normal is zero do not matter.
pub fn above(half_space: &filter::HalfSpace, point: [f32; 3]) -> BigInt {
    let axes = (0..3).filter(|&k| half_space.normal[k] != 0.0);
    axes.map(|k| whole(half_space.normal[k]) * whole(point[k])).sum::<BigInt>() - (whole(half_space.offset) << 149)
}

pub fn square_of_normal(half_space: &filter::HalfSpace) -> BigInt {
    half_space.normal.iter().map(|&n| whole(n) * whole(n)).sum()
}

/// Tells whether a point is no farther than a radius.
pub fn is_near_half_space(half_space: &filter::HalfSpace, point: [f32; 3], radius: f32) -> bool {
    let above = above(half_space, point);
    let is_near = |radius: f32| &above * &above <= whole(radius) * whole(radius) * square_of_normal(half_space);
    above <= BigInt::ZERO || radius.is_infinite() || is_near(radius)
}

/// A fraction; the denominator is positive.
#[derive(Clone, Debug)]
pub struct Fraction(BigInt, BigInt);

impl Fraction {
    pub fn new(over: BigInt, under: BigInt) -> Self {
        if under < BigInt::ZERO { Self(-over, -under) } else { Self(over, under) }
    }

    pub fn of(x: f32) -> Self {
        Self(whole(x), BigInt::from(1) << 149)
    }

    pub fn compare(&self, other: &Self) -> Ordering {
        (&self.0 * &other.1).cmp(&(&other.0 * &self.1))
    }

    /// Rounds a number that is not negative down, by bisection over all `f32`.
    pub fn rounded_down(&self) -> f32 {
        let (mut low, mut high) = (0, f32::INFINITY.to_bits());
        while high - low > 1 {
            let middle = low + (high - low) / 2;
            if Self::of(f32::from_bits(middle)).compare(self).is_le() { low = middle } else { high = middle }
        }
        f32::from_bits(low)
    }
}

/// Returns the least `t` from 0 to `limit` with `low + t direction` and `high + t direction` around or within the box:
/// on each axis `box.min <= high + t d` and `low + t d <= box.max`, in extended real numbers.
fn enter(low: [f32; 3], high: [f32; 3], direction: [f32; 3], limit: f32, aabb: &Aabb) -> Option<Fraction> {
    if !aabb.is_valid() {
        return None;
    }
    let mut least = vec![Fraction::of(0.0)];
    let mut most = Vec::new();
    if limit.is_finite() {
        most.push(Fraction::of(limit));
    }
    for k in 0..3 {
        // `small <= large + t d`, and then `small <= large + t d` with all signs changed.
        for (small, large, d) in [(aabb.min[k], high[k], direction[k]), (-aabb.max[k], -low[k], -direction[k])] {
            if small.is_infinite() || large.is_infinite() || d == 0.0 {
                if small > large {
                    return None;
                }
            } else {
                let t = Fraction::new(whole(small) - whole(large), whole(d));
                if d > 0.0 { least.push(t) } else { most.push(t) }
            }
        }
    }
    let first = least.into_iter().max_by(Fraction::compare)?;
    most.iter().all(|last| first.compare(last).is_le()).then_some(first)
}

/// A moving shape, as the oracle takes it.
pub trait Moving {
    /// Lower and upper corner, direction and limit.
    fn parts(&self) -> ([f32; 3], [f32; 3], [f32; 3], f32);
}

impl Moving for Ray {
    fn parts(&self) -> ([f32; 3], [f32; 3], [f32; 3], f32) {
        (self.origin, self.origin, self.direction, self.limit)
    }
}

impl Moving for BoxCast {
    fn parts(&self) -> ([f32; 3], [f32; 3], [f32; 3], f32) {
        (self.aabb.min, self.aabb.max, self.direction, self.limit)
    }
}

/// Returns whether what moves touches a box before it moves.
pub fn touches_at_start(cast: &impl Moving, aabb: &Aabb) -> bool {
    let (low, high, _, _) = cast.parts();
    aabb.is_valid() && (0..3).all(|k| aabb.min[k] <= high[k] && low[k] <= aabb.max[k])
}

/// Returns whether a moving shape separates from a box that it touches at the start: it moves away from, or along, the
/// face through which the shortest shift ends the overlap.
pub fn separates(cast: &impl Moving, aabb: &Aabb) -> bool {
    let (low, high, direction, _) = cast.parts();
    let depth = |upper: f32, lower: f32| {
        let is_finite = upper.is_finite() && lower.is_finite();
        if upper == lower { Some(BigInt::ZERO) } else { is_finite.then(|| whole(upper) - whole(lower)) }
    };
    let of_axis = |k: usize| {
        let d = direction[k];
        [(d, depth(aabb.max[k], low[k])), (-d, depth(high[k], aabb.min[k]))]
    };
    let faces: Vec<(f32, Option<BigInt>)> = (0..3).flat_map(of_axis).collect();
    let least = faces.iter().filter_map(|(_, depth)| depth.as_ref()).min();
    faces.iter().any(|(speed, depth)| depth.as_ref() == least && *speed >= 0.0)
}

/// Orders what is found by its number, and then by index.
pub fn in_order(a: &(Fraction, u32), b: &(Fraction, u32)) -> Ordering {
    a.0.compare(&b.0).then(a.1.cmp(&b.1))
}

/// Finds all boxes of `among` that are hit, and when; ascending by index.
pub fn times(cast: &impl Moving, boxes: &[Aabb], among: impl Fn(usize) -> bool) -> Vec<(Fraction, u32)> {
    let (low, high, direction, limit) = cast.parts();
    let hit = |(i, aabb): (usize, &Aabb)| {
        let t = enter(low, high, direction, limit, aabb).filter(|_| among(i))?;
        Some((t, i as u32))
    };
    boxes.iter().enumerate().filter_map(hit).collect()
}

/// Finds all boxes of `among` that are hit, by `t` and then by index.
pub fn hits(cast: &impl Moving, boxes: &[Aabb], among: impl Fn(usize) -> bool) -> Vec<Hit> {
    let mut all = times(cast, boxes, among);
    all.sort_by(in_order);
    all.into_iter().map(|(t, index)| Hit { index, t: t.rounded_down() }).collect()
}

/// Returns the square of the distance, in units of 2⁻²⁹⁸; none of a box that is invalid or infinitely far.
fn square(point: [f32; 3], aabb: &Aabb) -> Option<BigInt> {
    let mut sum = BigInt::ZERO;
    for (k, x) in point.into_iter().enumerate() {
        let apart = if aabb.min[k] > x {
            (aabb.min[k], x)
        } else if aabb.max[k] < x {
            (x, aabb.max[k])
        } else {
            continue;
        };
        if !apart.0.is_finite() || !apart.1.is_finite() {
            return None;
        }
        let along = whole(apart.0) - whole(apart.1);
        sum += &along * &along;
    }
    aabb.is_valid().then_some(sum)
}

fn is_within(square: &BigInt, radius: f32) -> bool {
    radius.is_infinite() || *square <= whole(radius) * whole(radius)
}

/// Returns whether a sphere touches a box.
pub fn touches(sphere: &Sphere, aabb: &Aabb) -> bool {
    square(sphere.center, aabb).is_some_and(|square| is_within(&square, sphere.radius))
}

/// Returns whether a box has a point with `normal · point <= offset`, for `[normal, offset]`: its deepest corner. A box
/// that is unbounded along an axis with a component of the normal has arbitrarily deep points.
pub fn reaches_into(&[x, y, z, offset]: &[f32; 4], aabb: &Aabb) -> bool {
    let normal = [x, y, z];
    let deepest = |k: usize| if normal[k] > 0.0 { aabb.min[k] } else { aabb.max[k] };
    let axes = || (0..3).filter(|&k| normal[k] != 0.0);
    let is_endless = |k: usize| deepest(k) == if normal[k] > 0.0 { f32::NEG_INFINITY } else { f32::INFINITY };
    if axes().any(is_endless) {
        return true;
    }
    if axes().any(|k| deepest(k).is_infinite()) {
        return false;
    }
    axes().map(|k| whole(normal[k]) * whole(deepest(k))).sum::<BigInt>() <= whole(offset) << 149
}

/// The points `x` with `normal · x <= offset`, in whole numbers.
pub struct HalfSpace {
    normal: [BigInt; 3],
    offset: BigInt,
}

impl HalfSpace {
    /// Returns the half-space of a normal and an offset in units of 2⁻²⁹⁸.
    fn new(normal: [f32; 3], offset: BigInt) -> Self {
        let normal = normal.map(|x| whole(x) << 149);
        let shared = normal.iter().chain([&offset]).filter_map(BigInt::trailing_zeros).min().unwrap_or(0);
        Self { normal: normal.map(|x| x >> shared), offset: offset >> shared }
    }

    /// Returns the half-space of a row of a convex shape.
    pub fn of_row(&[x, y, z, offset]: &[f32; 4]) -> Self {
        Self::new([x, y, z], whole(offset) << 149)
    }

    /// Returns the six half-spaces of a turned box.
    pub fn of_turned(turned: &OrientedBox) -> Vec<Self> {
        let face = |axis: [f32; 3], half: f32| {
            let center: BigInt = (0..3).map(|k| whole(axis[k]) * whole(turned.center[k])).sum();
            Self::new(axis, center + (whole(half) << 149))
        };
        let axes = || turned.axes.into_iter().zip(turned.half);
        axes().flat_map(|(axis, half)| [face(axis, half), face(axis.map(|x| -x), half)]).collect()
    }
}

/// Returns the six half-spaces of a box, as rows of a convex shape.
pub fn rows_of(aabb: &Aabb) -> [[f32; 4]; 6] {
    let row = |k: usize, sign: f32, offset: f32| {
        let mut row = [0.0, 0.0, 0.0, offset];
        row[k] = sign;
        row
    };
    std::array::from_fn(|i| if i < 3 { row(i, 1.0, aabb.max[i]) } else { row(i - 3, -1.0, -aabb.min[i - 3]) })
}

fn dot(a: &[BigInt; 3], b: &[BigInt; 3]) -> BigInt {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

fn cross(a: &[BigInt; 3], b: &[BigInt; 3]) -> [BigInt; 3] {
    [(1, 2), (2, 0), (0, 1)].map(|(j, k)| &a[j] * &b[k] - &a[k] * &b[j])
}

/// Returns whether half-spaces and a finite box have a point in common: then some three of their planes meet in one.
pub fn share_a_point(half_spaces: Vec<HalfSpace>, aabb: &Aabb) -> bool {
    let all: Vec<_> = half_spaces.into_iter().chain(rows_of(aabb).iter().map(HalfSpace::of_row)).collect();
    let n = all.len();
    let meet_within = |[a, b, c]: [&HalfSpace; 3]| {
        let sides = [cross(&b.normal, &c.normal), cross(&c.normal, &a.normal), cross(&a.normal, &b.normal)];
        let mut under = dot(&a.normal, &sides[0]);
        let sum = |k: usize| &a.offset * &sides[0][k] + &b.offset * &sides[1][k] + &c.offset * &sides[2][k];
        let mut point = [0, 1, 2].map(sum);
        if under < BigInt::ZERO {
            (under, point) = (-under, point.map(|x| -x));
        }
        under != BigInt::ZERO && all.iter().all(|other| dot(&other.normal, &point) <= &other.offset * &under)
    };
    let triples = (0..n).flat_map(|a| (a + 1..n).flat_map(move |b| (b + 1..n).map(move |c| [a, b, c])));
    triples.map(|three| three.map(|k| &all[k])).any(meet_within)
}

/// Finds all boxes of `among` within reach, and the squares of their distances; ascending by index.
pub fn squares(query: &NearestQuery, boxes: &[Aabb], among: impl Fn(usize) -> bool) -> Vec<(Fraction, u32)> {
    let unit: BigInt = BigInt::from(1) << 298;
    let near = |(i, aabb): (usize, &Aabb)| {
        let square = square(query.point, aabb).filter(|square| among(i) && is_within(square, query.radius))?;
        Some((Fraction(square, unit.clone()), i as u32))
    };
    boxes.iter().enumerate().filter_map(near).collect()
}

/// Finds all boxes of `among` within reach, by distance and then by index.
pub fn near(query: &NearestQuery, boxes: &[Aabb], among: impl Fn(usize) -> bool) -> Vec<Near> {
    let mut all = squares(query, boxes, among);
    all.sort_by(in_order);
    all.into_iter().map(|(square, index)| Near { index, squared_distance: square.rounded_down() }).collect()
}
