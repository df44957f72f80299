//! The difference of the pairs of two engines, and what the pairs in it have in common.

use std::fmt::Write as _;

use broadsweep::{Aabb, Pair};

use super::results::Difference;

/// A few units in the last place of a coordinate, over several operations.
const ROUNDING: f64 = 1e-6;

/// Finds how `found` differs from `expected`; both are sorted for that.
pub fn difference(boxes: &[Aabb], found: &mut [Pair], expected: &mut [Pair]) -> Difference {
    found.sort_unstable();
    expected.sort_unstable();
    let (mut missing, mut extra, mut repeated) = (Vec::new(), Vec::new(), 0);
    let (mut i, mut j) = (0, 0);
    while i < found.len() || j < expected.len() {
        match (found.get(i), expected.get(j)) {
            (Some(pair), _) if i > 0 && *pair == found[i - 1] => {
                repeated += 1;
                i += 1;
            }
            (Some(pair), Some(other)) if pair == other => {
                i += 1;
                j += 1;
            }
            (Some(pair), Some(other)) if pair < other => {
                extra.push(*pair);
                i += 1;
            }
            (Some(pair), None) => {
                extra.push(*pair);
                i += 1;
            }
            (_, Some(other)) => {
                missing.push(*other);
                j += 1;
            }
            (None, None) => break,
        }
    }
    Difference {
        calls: 1,
        missing: missing.len() as u64,
        extra: extra.len() as u64,
        repeated,
        why: explain(boxes, &missing, &extra),
    }
}

/// Says what the pairs have in common, as far as the boxes tell.
fn explain(boxes: &[Aabb], missing: &[Pair], extra: &[Pair]) -> String {
    let mut reasons = Vec::new();
    for (pairs, verb) in [(missing, "missing"), (extra, "extra")] {
        let mut counts = [0u64; 5];
        let mut widest: f64 = 0.0;
        for pair in pairs {
            let cause = Cause::of(boxes, *pair);
            counts[cause as usize] += 1;
            if let Cause::Apart = cause
                && let [Some(a), Some(b)] = [pair.a, pair.b].map(|i| boxes.get(i as usize))
            {
                widest = widest.max(gap(a, b) / edge(a).max(edge(b)));
            }
        }
        for (cause, count) in Cause::ALL.into_iter().zip(counts).filter(|(_, count)| *count > 0) {
            let mut reason = format!("{} {verb}: {}", crate::text::count(count), cause.text());
            if cause == Cause::Apart && widest.is_finite() && widest > 0.0 {
                let _ = write!(reason, ", by up to {:.2e} of their larger edge", widest);
            }
            reasons.push(reason);
        }
    }
    reasons.join("; ")
}

#[derive(Clone, Copy, PartialEq)]
enum Cause {
    Invalid,
    Unbounded,
    Touching,
    Rounding,
    Apart,
}

impl Cause {
    const ALL: [Self; 5] = [Self::Invalid, Self::Unbounded, Self::Touching, Self::Rounding, Self::Apart];

    fn of(boxes: &[Aabb], pair: Pair) -> Self {
        let [Some(a), Some(b)] = [pair.a, pair.b].map(|i| boxes.get(i as usize)) else {
            return Self::Invalid;
        };
        let bounds = || a.min.iter().chain(&a.max).chain(&b.min).chain(&b.max);
        let size = bounds().fold(0.0, |most: f64, x| most.max(f64::from(x.abs())));
        match gap(a, b) {
            _ if !a.is_valid() || !b.is_valid() => Self::Invalid,
            _ if bounds().any(|x| x.is_infinite()) => Self::Unbounded,
            0.0 => Self::Touching,
            gap if gap.abs() <= ROUNDING * size => Self::Rounding,
            _ => Self::Apart,
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::Invalid => "with an invalid box",
            Self::Unbounded => "with an unbounded box",
            Self::Touching => "touch exactly",
            Self::Rounding => "within rounding of touching",
            Self::Apart => "further from touching than rounding explains (a margin, or boxes of an earlier step)",
        }
    }
}

/// Returns how far apart two boxes are on the axis where they are furthest apart; negative where they overlap on all.
fn gap(a: &Aabb, b: &Aabb) -> f64 {
    let apart = |k: usize| {
        let [a_min, a_max, b_min, b_max] = [a.min[k], a.max[k], b.min[k], b.max[k]].map(f64::from);
        f64::max(a_min - b_max, b_min - a_max)
    };
    (0..3).map(apart).fold(f64::NEG_INFINITY, f64::max)
}

fn edge(aabb: &Aabb) -> f64 {
    (0..3).map(|k| f64::from(aabb.max[k]) - f64::from(aabb.min[k])).fold(0.0, f64::max)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(list: &[(u32, u32)]) -> Vec<Pair> {
        list.iter().map(|&(a, b)| Pair { a, b }).collect()
    }

    #[test]
    fn every_difference_is_counted_and_explained() {
        let cube = |at: f32, edge: f32| Aabb::new([at; 3], [at + edge; 3]);
        let boxes = [
            cube(0.0, 1.0),
            cube(1.0, 1.0),
            cube(1.000_000_1, 1.0),
            cube(3.0, 1.0),
            Aabb::new([f32::NAN; 3], [1.0; 3]),
            Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]),
        ];
        let mut expected = pairs(&[(0, 1), (0, 5), (1, 2)]);
        let mut found = pairs(&[(1, 2), (0, 3), (1, 2), (0, 2), (0, 4)]);
        let difference = difference(&boxes, &mut found, &mut expected);
        assert_eq!((difference.missing, difference.extra, difference.repeated), (2, 3, 1));
        for part in [
            "1 missing: touch exactly",
            "1 missing: with an unbounded box",
            "1 extra: within rounding",
            "1 extra: with an invalid box",
            "1 extra: further from touching than rounding explains (a margin, or boxes of an earlier step), by up to 2.00e0",
        ] {
            assert!(difference.why.contains(part), "{part}: {}", difference.why);
        }
    }
}
