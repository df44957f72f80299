//! Moving round shapes, compared with exact arithmetic: no box is missed, no time is too late, and almost no hit is
//! extra.

use broadsweep::filter::HalfSpace;
use broadsweep::internals::casts::{Path, Round};
use broadsweep::query::{CapsuleCast, SphereCast};
use broadsweep::{Aabb, AnyTree, Filters, Hit, QueryEngine, Tree, cpu};
use laboratory::scenes::Kind;
use num_bigint::BigInt;

use super::cases;
use super::numbers::{Like, Numbers};
use super::oracle::whole;
use crate::common::GPU;

// ---- exact arithmetic ----

/// The squared distance of a moving capsule from a box, in units of 2⁻²⁹⁸. It is a function of the time, in units of
/// 2⁻¹⁴⁹, and of the place along the segment. It is convex, and quadratic in each piece between the planes of faces.
struct Apart {
    from: [BigInt; 3],
    along: [BigInt; 3],
    direction: [BigInt; 3],
    /// The faces along each axis that are finite, and whether each is the upper one.
    faces: Vec<(usize, BigInt, bool)>,
    radius_square: BigInt,
}

/// The equation `x time + y place = z`.
type Line = [BigInt; 3];

/// Returns where two lines meet, as numbers that are divided by a third, which is positive.
fn meet([a, b, c]: &Line, [d, e, f]: &Line) -> Option<[BigInt; 3]> {
    let under = a * e - b * d;
    let point = [c * e - b * f, a * f - c * d];
    let [x, y] = if under < BigInt::ZERO { point.map(|x| -x) } else { point };
    (under != BigInt::ZERO).then(|| [x, y, if under < BigInt::ZERO { -under } else { under }])
}

impl Apart {
    fn new(cast: &CapsuleCast, aabb: &Aabb) -> Self {
        let [from, to, direction] = [cast.from, cast.to, cast.direction].map(|vector| vector.map(whole));
        let along = std::array::from_fn(|k| &to[k] - &from[k]);
        let of = |k: usize| [(k, aabb.min[k], false), (k, aabb.max[k], true)];
        let finite = (0..3).flat_map(of).filter(|(_, plane, _)| plane.is_finite());
        let faces = finite.map(|(k, plane, is_upper)| (k, whole(plane), is_upper)).collect();
        Self { from, along, direction, faces, radius_square: whole(cast.radius).pow(2) }
    }

    /// Returns the squared distance at a point less the squared radius, times the square of the divisor of the point.
    /// Times are integers in units of 2⁻¹⁴⁹, and so is the distance along an axis in a time of one.
    fn value(&self, [time, place, under]: &[BigInt; 3]) -> BigInt {
        let mut sum: BigInt = -&self.radius_square * under * under;
        sum <<= 298;
        for (k, plane, is_upper) in &self.faces {
            let scaled = ((&self.from[*k] - plane) * under + &self.along[*k] * place) << 149;
            let apart = scaled + &self.direction[*k] * time;
            if (apart > BigInt::ZERO) == *is_upper && apart != BigInt::ZERO {
                sum += &apart * &apart;
            }
        }
        sum
    }

    /// Lists the points where the distance may be least: intersections of the lines that bound the pieces, the least points
    /// along these lines, and the least points of the pieces.
    fn candidates(&self, limit: f32) -> Vec<[BigInt; 3]> {
        let (zero, one) = (BigInt::ZERO, BigInt::from(1));
        let mut lines: Vec<Line> = vec![[one.clone(), zero.clone(), zero.clone()]];
        if limit.is_finite() {
            lines.push([one.clone(), zero.clone(), whole(limit)]);
        }
        // Times are 2¹⁴⁹ times as large here.
        let scaled = |x: &BigInt| x.clone() << 149;
        for place in [&zero, &one] {
            lines.push([zero.clone(), one.clone(), place.clone()]);
        }
        for (k, plane, _) in &self.faces {
            let line = [self.direction[*k].clone(), scaled(&self.along[*k]), scaled(&(plane - &self.from[*k]))];
            if self.along[*k] != zero || self.direction[*k] != zero {
                lines.push(line);
            }
        }
        let mut points = Vec::new();
        for (i, line) in lines.iter().enumerate() {
            points.extend(lines[..i].iter().filter_map(|other| meet(line, other)));
        }
        for state in 0..27u32 {
            let side = |k: usize| state / 3u32.pow(k as u32) % 3;
            let is_of = |(k, _, is_upper): &&(usize, BigInt, bool)| side(*k) == 1 + u32::from(*is_upper);
            let active: Vec<_> = self.faces.iter().filter(is_of).collect();
            // Where the derivative along a direction in time and place is zero.
            let level = |time: &BigInt, place: &BigInt| {
                let mut line = [zero.clone(), zero.clone(), zero.clone()];
                for (k, plane, _) in &active {
                    let along = scaled(&self.along[*k]);
                    let factor = time * &self.direction[*k] + place * &along;
                    line[0] += &factor * &self.direction[*k];
                    line[1] += &factor * along;
                    line[2] += factor * scaled(&(plane - &self.from[*k]));
                }
                line
            };
            points.extend(meet(&level(&one, &zero), &level(&zero, &one)));
            points.extend(lines.iter().filter_map(|line| meet(line, &level(&-&line[1], &line[0]))));
        }
        points.retain(|[time, place, under]| {
            let is_early = !limit.is_finite() || *time <= whole(limit) * under;
            *time >= zero && is_early && *place >= zero && place <= under
        });
        points
    }

    /// Returns whether the shape touches the box by a time.
    fn touches_by(&self, limit: f32) -> bool {
        self.candidates(limit).iter().any(|point| self.value(point) <= BigInt::ZERO)
    }

    /// Returns whether the shape touches the box before a time.
    fn touches_before(&self, t: f32) -> bool {
        t > 0.0
            && self.candidates(t).iter().any(|point| {
                let value = self.value(point);
                value < BigInt::ZERO || value == BigInt::ZERO && point[0] < whole(t) * &point[2]
            })
    }
}

// ---- comparison ----

#[derive(Debug, Default)]
struct Counts {
    bounds: usize,
    hits: usize,
    too_many: usize,
    later: usize,
    early: usize,
    at_start: usize,
    /// The hits in `at_start` that do not touch at the start, up to rounding.
    not_at_start: usize,
}

/// Returns the same with a radius that is longer by 10⁻⁷ of the largest number: a shape that touches at the start, but
/// for rounding, touches.
fn padded(cast: &CapsuleCast, aabb: &Aabb) -> Apart {
    let numbers = [aabb.min, aabb.max, cast.from, cast.to].into_iter().flatten().filter(|x| x.is_finite());
    let largest = numbers.fold(cast.radius, |largest, x| largest.max(x.abs()));
    let radius: BigInt = whole(cast.radius) + whole(largest) / 10_000_000 + 1;
    Apart { radius_square: radius.pow(2), ..Apart::new(cast, aabb) }
}

/// Compares when a capsule touches boxes with exact arithmetic.
fn check(cast: &CapsuleCast, boxes: &[Aabb], counts: &mut Counts) {
    let bounds = cast.bounds();
    let is_number = |end: [f32; 3]| {
        let Aabb { min, max } = Aabb::from_sphere(end, cast.radius);
        min.iter().chain(&max).all(|x| x.is_finite())
    };
    if !(is_number(cast.from) && is_number(cast.to)) {
        // It is all of space.
        return;
    }
    let bounds = Path::new(bounds.aabb.min, bounds.aabb.max, bounds.direction, bounds.limit);
    let path = bounds.with_round(Round::new(cast.from, cast.to, cast.radius));
    for aabb in boxes {
        let Some(entry) = bounds.enter(aabb) else {
            let is_at_infinity = (0..3).any(|k| aabb.min[k] == f32::INFINITY || aabb.max[k] == f32::NEG_INFINITY);
            let is_missed = aabb.is_valid() && !is_at_infinity && Apart::new(cast, aabb).touches_by(cast.limit);
            assert!(path.enter(aabb).is_none() && !is_missed, "{cast:?} misses {aabb:?}");
            continue;
        };
        counts.bounds += 1;
        let apart = Apart::new(cast, aabb);
        let Some(touch) = path.enter(aabb) else {
            assert!(!apart.touches_by(cast.limit), "{cast:?} misses {aabb:?}");
            continue;
        };
        counts.hits += 1;
        let t = path.time(&touch);
        assert!(!apart.touches_before(t), "{cast:?} hits {aabb:?} too late, at {t}");
        assert!(t >= bounds.time(&entry) || t < f32::MIN_POSITIVE, "{cast:?} hits {aabb:?} before its bounds, at {t}");
        counts.later += usize::from(t > bounds.time(&entry));
        let is_late = path.skipping_separating(true).enter(aabb).is_some();
        assert!(is_late || t == 0.0);
        counts.not_at_start += usize::from(!is_late && !padded(cast, aabb).touches_by(0.0));
        counts.at_start += usize::from(!is_late);
        if !apart.touches_by(cast.limit) {
            counts.too_many += 1;
        } else if !apart.touches_by((t * (1.0 + 1e-5) + f32::MIN_POSITIVE).min(f32::MAX)) {
            counts.early += 1;
        }
    }
}

/// Creates a capsule, a ball now and then, of about the size of boxes, that begins near one of them.
fn capsule(numbers: &mut Numbers, boxes: &[Aabb], i: usize) -> CapsuleCast {
    let near = |numbers: &mut Numbers| {
        let aabb = boxes[numbers.below(boxes.len() as u64) as usize];
        let size = (0..3).fold(0.0f32, |size, k| size.max(aabb.max[k] - aabb.min[k]));
        let at = |k: usize, number: f32| aabb.min[k] + size * number;
        let offsets = [(); 3].map(|()| numbers.finite(Like::Usual));
        ([at(0, offsets[0]), at(1, offsets[1]), at(2, offsets[2])], size)
    };
    let (from, size) = near(numbers);
    let vector = [(); 3].map(|()| size * numbers.finite(Like::Usual));
    let to = match i % 4 {
        0 | 1 => from,
        2 => [from[0], from[1], from[2] + size * numbers.finite(Like::Usual).abs()],
        _ => std::array::from_fn(|k| from[k] + 0.5 * vector[k]),
    };
    let direction = [(); 3].map(|()| size * numbers.finite(Like::Usual));
    let direction = if i.is_multiple_of(5) { [direction[0], 0.0, 0.0] } else { direction };
    let limit = if i.is_multiple_of(3) { f32::INFINITY } else { numbers.finite(Like::Usual).abs() };
    CapsuleCast { from, to, radius: 0.5 * size * numbers.finite(Like::Usual).abs(), direction, limit }
}

/// Checks this many hits in each of five scenes.
fn check_scenes(hits: usize) {
    for kind in [Kind::Uniform, Kind::Clusters, Kind::City, Kind::Pile, Kind::Touching] {
        let (boxes, mut numbers, mut counts) = (kind.generate(300, 7), Numbers::new(11), Counts::default());
        for i in 0.. {
            check(&capsule(&mut numbers, &boxes, i), &boxes, &mut counts);
            if counts.hits >= hits {
                break;
            }
        }
        println!("{}: {counts:?}", kind.name());
        assert!(1_000 * counts.too_many < counts.hits, "{}: {counts:?}", kind.name());
        assert!(1_000 * counts.early < counts.hits && counts.not_at_start == 0, "{}: {counts:?}", kind.name());
        assert!(counts.bounds > hits + hits / 20 && counts.later > hits / 10, "nothing was tried: {counts:?}");
    }
}

#[test]
fn of_a_few_round_hits_in_scenes_none_is_too_many() {
    check_scenes(250);
}

mod at_length {
    #[test]
    #[ignore = "takes minutes"]
    fn of_round_hits_in_scenes_less_than_one_in_a_thousand_is_none() {
        super::check_scenes(3_000);
    }
}

/// Checks capsules of any numbers, and boxes that share coordinates with them.
fn check_numbers(scenes: u64, each: usize) -> Counts {
    let mut counts = Counts::default();
    cases::each(scenes, |_, like, boxes, numbers| {
        for i in 0..each {
            let (sphere, moving) = (numbers.sphere(boxes, like), numbers.cast(boxes, like));
            let to = if i % 2 == 0 { sphere.center } else { numbers.origin(boxes, like) };
            let radius = [sphere.radius, sphere.radius, 0.0, f32::from_bits(sphere.radius.to_bits() / 2)][i % 4];
            let (direction, limit) = (moving.direction, moving.limit);
            let cast = CapsuleCast { from: sphere.center, to, radius, direction, limit };
            let is_valid = radius.is_finite() && radius >= 0.0 && limit >= 0.0;
            if is_valid && cast.from.iter().chain(&to).chain(&direction).all(|x| x.is_finite()) {
                check(&cast, boxes, &mut counts);
            }
        }
    });
    counts
}

#[test]
fn a_few_round_shapes_of_any_numbers_touch_what_they_touch_in_time() {
    let counts = check_numbers(6, 12);
    assert_eq!(counts.not_at_start, 0, "{counts:?}");
    assert!(counts.hits > 200 && counts.at_start > 50 && counts.later > 20, "{counts:?}");
}

#[test]
#[ignore = "long"]
fn round_shapes_of_any_numbers_touch_what_they_touch_in_time() {
    let counts = check_numbers(15, 120);
    println!("{counts:?}");
    // Capsules that are too long for the place along them to be known.
    assert!(1_000 * counts.not_at_start < counts.at_start, "{counts:?}");
    assert!(counts.hits > 10_000 && counts.at_start > 1_000 && counts.later > 1_000, "{counts:?}");
}

#[test]
fn a_ball_grazes_an_edge_and_a_corner_to_the_last_bit() {
    let aabb = [Aabb::new([0.0; 3], [1.0; 3])];
    // Past the edge at a distance of 5, as 3 and 4; and past a corner at a distance of 7, as 2, 3 and 6.
    let edge = |radius: f32| ([-50.0, 4.0, 5.0], [1.0, 0.0, 0.0], radius);
    let corner = |radius: f32| ([3.0 - 12.0, 4.0 + 8.0, 7.0], [3.0, -2.0, 0.0], radius);
    for ((center, direction, radius), is_hit) in [
        (edge(5.0), true),
        (edge(5.0f32.next_down()), false),
        (edge(5.0f32.next_up()), true),
        (corner(7.0), true),
        (corner(7.0f32.next_down()), false),
    ] {
        let cast = CapsuleCast { from: center, to: center, radius, direction, limit: f32::INFINITY };
        let mut counts = Counts::default();
        check(&cast, &aabb, &mut counts);
        assert_eq!((counts.hits, counts.too_many), (usize::from(is_hit), 0), "{cast:?}: {counts:?}");
    }
}

#[test]
fn a_ball_that_meets_a_face_does_so_when_its_bounds_do() {
    let aabb = Aabb::new([2.0, -1.0, -1.0], [3.0, 1.0, 1.0]);
    let path = Path::new([-0.5; 3], [0.5; 3], [1.0, 0.0, 0.0], 1.5).with_round(Round::new([0.0; 3], [0.0; 3], 0.5));
    let entry = path.enter(&aabb).expect("it is in the way");
    assert_eq!(path.time(&entry), 1.5);
}

#[test]
fn what_is_no_round_shape_moves_as_its_bounds() {
    assert!(Round::new([1.0; 3], [1.0; 3], 0.0).is_none());
    assert!(Round::new([1.0; 3], [2.0; 3], f32::INFINITY).is_none());
    assert!(Round::new([1.0; 3], [2.0; 3], 0.0).is_some());
}

#[test]
fn a_sphere_that_reaches_beyond_numbers_misses_nothing() {
    let boxes =
        [Aabb::new([-3.4e38, 3.2e38, 0.0], [-3.4e38, 3.2e38, 0.0]), Aabb::new([f32::INFINITY; 3], [f32::INFINITY; 3])];
    // No point of the moving shapes that f32 can represent is in the half-space.
    let beyond = HalfSpace { index: 2, normal: [0.5, 0.0, 0.0], offset: -2.5e38 };
    let boxes = [boxes[0], boxes[1], Aabb::new([f32::NAN; 3], [f32::NAN; 3])];
    let casts = [[1e38, 1e38, 0.0], [0.0, 1.0, 0.0], [-1e38, 0.0, 0.0]].map(|direction| SphereCast {
        center: [-3e38, 0.0, 0.0],
        radius: 3e38,
        direction,
        limit: f32::INFINITY,
    });
    let expected = [Hit { index: 0, t: 0.0 }, Hit { index: 2, t: 0.0 }];
    let filters = Filters::default().with_half_spaces(vec![beyond]);
    let mut trees = [AnyTree::from(cpu::Tree::new()), AnyTree::from(Tree::new(&GPU).unwrap())];
    for tree in &mut trees {
        tree.set_filters(filters.clone()).unwrap();
        tree.build(&boxes).unwrap();
        let all = tree.all_hits(&casts).unwrap();
        assert!(all.iter().all(|hits| hits == expected), "{all:?}");
    }
    let endless = SphereCast { radius: f32::INFINITY, ..casts[1] };
    assert_eq!(
        trees.each_mut().map(|tree| tree.all_hits(&[endless]).unwrap()[0].to_vec()),
        [expected; 2].map(Vec::from)
    );
}
