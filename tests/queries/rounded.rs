//! Spheres and capsules that move: no box is missed, no hit is too late, and each hit touches.

use broadsweep::query::{BoxCast, Capsule, CapsuleCast, Cast, OrientedBox, Sphere, SphereCast};
use broadsweep::{Aabb, Hit, Ray, Tree, cpu};

use super::both::Both;
use super::cases::{self, sphere_of};
use super::numbers::{Like, Numbers};
use crate::common::GPU;

/// Scenes of each kind of numbers, and queries of each.
const SCENES: u64 = 16;
const QUERIES: usize = 72;

type Vector = [f64; 3];

/// Returns where the least value of a convex function from `low` to `high` is, but for 10⁻⁷ of the way between them.
fn least(mut low: f64, mut high: f64, value: impl Fn(f64) -> f64) -> f64 {
    for _ in 0..40 {
        let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if value(a) <= value(b) { high = b } else { low = a }
    }
    0.5 * (low + high)
}

fn distance(point: Vector, aabb: &Aabb) -> f64 {
    let apart = |k: usize| (f64::from(aabb.min[k]) - point[k]).max(point[k] - f64::from(aabb.max[k])).max(0.0);
    (0..3).map(|k| apart(k).powi(2)).sum::<f64>().sqrt()
}

fn between(a: [f32; 3], b: [f32; 3], s: f64, moved: Vector) -> Vector {
    std::array::from_fn(|k| f64::from(a[k]) + s * (f64::from(b[k]) - f64::from(a[k])) + moved[k])
}

/// Checks the hits of a capsule.
fn check_capsule(cast: &CapsuleCast, boxes: &[Aabb], found: &[(u32, f32)]) {
    let &CapsuleCast { from, to, radius, direction, limit } = cast;
    let (radius, limit) = (f64::from(radius), f64::from(limit).min(100.0));
    let apart = |t: f64, aabb: &Aabb| {
        let moved = direction.map(|d| t * f64::from(d));
        let along = |s: f64| distance(between(from, to, s, moved), aabb);
        if from == to { along(0.0) } else { along(least(0.0, 1.0, along)) }
    };
    for (i, aabb) in (0..).zip(boxes) {
        if !aabb.is_valid() {
            assert!(found.iter().all(|hit| hit.0 != i));
            continue;
        }
        let hit = found.iter().find(|hit| hit.0 == i);
        if hit.is_none() && is_far_along_an_axis(cast, limit, aabb) {
            continue;
        }
        let gap = |t: f64| apart(t, aabb) - radius;
        let nearest = least(0.0, limit, gap);
        if gap(nearest) < -1e-4 {
            let (_, t) = hit.unwrap_or_else(|| panic!("{cast:?} misses box {i}: {aabb:?}"));
            let (mut before, mut after) = (0.0, nearest);
            for _ in 0..60 {
                let middle = 0.5 * (before + after);
                if gap(middle) <= 0.0 { after = middle } else { before = middle }
            }
            assert!(f64::from(*t) <= after + 1e-5, "{cast:?} hits {aabb:?} at {t}, and touches it at {after}");
        }
        if let Some((_, t)) = hit {
            let apart = apart(f64::from(*t), aabb);
            assert!(apart <= radius + 1e-4, "{cast:?} at {t} is {apart} from {aabb:?}");
        }
    }
}

/// Returns whether a capsule is farther than its radius from a box along one axis on its whole way: a fast test before
/// the exact one.
fn is_far_along_an_axis(cast: &CapsuleCast, limit: f64, aabb: &Aabb) -> bool {
    (0..3).any(|k| {
        let moved = limit * f64::from(cast.direction[k]);
        let ends = [cast.from[k], cast.to[k]].map(f64::from);
        let low = ends[0].min(ends[1]) + moved.min(0.0);
        let high = ends[0].max(ends[1]) + moved.max(0.0);
        (f64::from(aabb.min[k]) - high).max(low - f64::from(aabb.max[k])) > f64::from(cast.radius)
    })
}

fn vector(numbers: &mut Numbers) -> [f32; 3] {
    [(); 3].map(|()| numbers.finite(Like::Usual))
}

#[test]
fn what_a_few_spheres_and_capsules_touch_on_their_way_is_found_in_time() {
    check_capsules(300, 180);
}

#[test]
#[ignore = "long"]
fn what_spheres_and_capsules_touch_on_their_way_is_found_in_time() {
    check_capsules(24, 5_100);
}

fn check_capsules(box_count: usize, cast_count: usize) {
    let boxes = cases::long_boxes(box_count);
    let mut tree = Both::new();
    tree.build(&boxes).unwrap();
    let mut numbers = Numbers::new(8);
    let mut capsules: Vec<CapsuleCast> = (0..cast_count)
        .map(|i| {
            let from = vector(&mut numbers);
            let to = match i % 3 {
                0 => from,
                1 => [from[0], from[1], from[2] + 1.5],
                _ => vector(&mut numbers),
            };
            let (radius, direction) = (0.2 * numbers.finite(Like::Usual).abs(), vector(&mut numbers));
            CapsuleCast { from, to, radius, direction, limit: if i % 2 == 0 { f32::INFINITY } else { 1.0 } }
        })
        .collect();
    capsules[3].radius = 0.0;
    capsules[4].direction = [0.0; 3];
    let hits = tree.all_hits(&capsules).unwrap();
    let bounds: Vec<BoxCast> = capsules.iter().map(CapsuleCast::bounds).collect();
    let bounds = tree.all_hits(&bounds).unwrap();
    let mut counts = [[0, 0]; 3];
    for (i, cast) in capsules.iter().enumerate() {
        let found: Vec<(u32, f32)> = hits[i].iter().map(|hit| (hit.index, hit.t)).collect();
        check_capsule(cast, &boxes, &found);
        counts[i % 3][0] += bounds[i].len();
        counts[i % 3][1] += found.len();
    }
    for (kind, [bounds, hits]) in ["spheres", "upright", "any"].into_iter().zip(counts) {
        println!("{kind}: of {bounds} boxes that the bounds hit, the shape hits {hits}");
        assert!(500 < hits && hits < bounds, "{kind}: {hits} of {bounds}");
    }
    // A sphere is a capsule of one point.
    let spheres: Vec<SphereCast> = capsules.iter().map(sphere_of).collect();
    let points: Vec<CapsuleCast> = capsules.iter().map(|cast| CapsuleCast { to: cast.from, ..*cast }).collect();
    assert_eq!(tree.all_hits(&spheres).unwrap(), tree.all_hits(&points).unwrap());
    // More than a row has, where there are so many boxes.
    let (first, all) = (tree.first_hits(&capsules, 70).unwrap(), tree.all_hits(&capsules).unwrap());
    assert!(first.iter().zip(all.iter()).all(|(first, all)| first.len() == all.len().min(70)));
    assert_eq!(first.iter().any(|hits| hits.len() > 64), box_count > 64);
}

/// Returns bounds of numbers; all of space where others are finite and those are not.
fn within_numbers(Aabb { min, max }: Aabb) -> Aabb {
    let is_valid = min.iter().all(|x| *x < f32::INFINITY) && max.iter().all(|x| *x > f32::NEG_INFINITY);
    let is_number = min.iter().chain(&max).all(|x| x.is_finite());
    if is_number || !is_valid { Aabb::new(min, max) } else { Aabb::new([f32::MIN; 3], [f32::MAX; 3]) }
}

/// Compares the hits of round shapes with those of their bounds, and the first ones with all.
fn check_bounds<C: Cast + std::fmt::Debug>(
    make: impl Fn(&mut Numbers, &[Aabb], Like) -> C,
    bounds: impl Fn(&C) -> BoxCast,
) {
    let (mut answered, mut left_out, mut later) = (0, 0, 0);
    cases::each(SCENES, |what, like, boxes, numbers| {
        let casts: Vec<C> = (0..QUERIES).map(|_| make(numbers, boxes, like)).collect();
        let boxed: Vec<BoxCast> = casts.iter().map(&bounds).collect();
        let mut tree = Both::new();
        tree.build(boxes).unwrap();
        let (all, boxed) = (tree.all_hits(&casts).unwrap(), tree.cpu.all_hits(&boxed).unwrap());
        let (nearest, first) = (tree.nearest_hits(&casts).unwrap(), tree.first_hits(&casts, 3).unwrap());
        let any = tree.any_hits(&casts).unwrap();
        assert_eq!(all.report.first_invalid, boxed.report.first_invalid, "{what}");
        for i in 0..casts.len() {
            let what = format!("{what}, {:?}", casts[i]);
            for hit in &all[i] {
                let of_bounds = boxed[i].iter().find(|other| other.index == hit.index).expect("bounds are larger");
                assert!(hit.t >= of_bounds.t || hit.t == 0.0 && of_bounds.t < f32::MIN_POSITIVE, "{what}");
                later += usize::from(hit.t > of_bounds.t);
            }
            answered += all[i].len();
            left_out += boxed[i].len() - all[i].len();
            let mut in_order = all[i].to_vec();
            in_order.sort_by(|a, b| a.t.total_cmp(&b.t).then(a.index.cmp(&b.index)));
            assert_eq!(any.answers[i], !in_order.is_empty(), "{what}");
            assert_eq!(nearest.answers[i], *in_order.first().unwrap_or(&Hit::MISS), "{what}");
            assert_eq!(first[i], in_order[..in_order.len().min(3)], "{what}");
        }
    });
    let counts = [answered, left_out, later];
    assert!(counts.into_iter().all(|count| count > 200), "{counts:?}");
}

/// Returns a radius that makes a shape round.
fn radius(sphere: &Sphere) -> f32 {
    let is_round = sphere.radius > 0.0 && sphere.radius.is_finite();
    if is_round { sphere.radius } else { 0.5 }
}

#[test]
#[ignore = "long"]
fn spheres_of_any_numbers_hit_in_order_what_their_bounding_boxes_hit_no_later() {
    let make = |numbers: &mut Numbers, boxes: &[Aabb], like| {
        let (sphere, moving) = (numbers.sphere(boxes, like), numbers.cast(boxes, like));
        let (direction, limit) = (moving.direction, moving.limit);
        SphereCast { center: sphere.center, radius: radius(&sphere), direction, limit }
    };
    check_bounds(make, |cast| {
        let aabb = within_numbers(Aabb::from_sphere(cast.center, cast.radius));
        BoxCast { aabb, direction: cast.direction, limit: cast.limit }
    });
}

#[test]
#[ignore = "long"]
fn capsules_of_any_numbers_hit_in_order_what_their_bounding_boxes_hit_no_later() {
    let make = |numbers: &mut Numbers, boxes: &[Aabb], like| {
        let (sphere, moving) = (numbers.sphere(boxes, like), numbers.cast(boxes, like));
        let (to, direction, limit) = (numbers.origin(boxes, like), moving.direction, moving.limit);
        CapsuleCast { from: sphere.center, to, radius: radius(&sphere), direction, limit }
    };
    check_bounds(make, |cast| {
        let [a, b] = [cast.from, cast.to].map(|end| Aabb::from_sphere(end, cast.radius));
        let aabb = within_numbers(Aabb::from_points([a.min, a.max, b.min, b.max]));
        BoxCast { aabb, direction: cast.direction, limit: cast.limit }
    });
}

#[test]
fn what_has_no_radius_or_an_infinite_one_moves_as_its_bounds() {
    let boxes = cases::long_boxes(300);
    let mut tree = Both::new();
    tree.build(&boxes).unwrap();
    let mut numbers = Numbers::new(21);
    let rays: Vec<Ray> = (0..40).map(|_| Ray::new(vector(&mut numbers), vector(&mut numbers))).collect();
    let sphere = |radius: f32| {
        let of = |ray: &Ray| SphereCast { center: ray.origin, radius, direction: ray.direction, limit: ray.limit };
        rays.iter().map(of).collect::<Vec<_>>()
    };
    let (points, all) = (sphere(-0.0), sphere(f32::INFINITY));
    assert_eq!(tree.all_hits(&points).unwrap(), tree.cpu.all_hits(&rays).unwrap());
    assert_eq!(tree.first_hits(&points, 5).unwrap(), tree.cpu.first_hits(&rays, 5).unwrap());
    let found = tree.all_hits(&all).unwrap();
    assert!(found.iter().all(|hits| hits.len() == 299 && hits.iter().all(|hit| hit.t == 0.0)));
}

#[test]
fn a_query_of_round_shapes_that_takes_many_dispatches_has_the_same_answers() {
    let boxes = cases::long_boxes(300);
    let mut numbers = Numbers::new(22);
    let mut one = || {
        let (from, to, direction) = (vector(&mut numbers), vector(&mut numbers), vector(&mut numbers));
        CapsuleCast { from, to, radius: 0.3, direction, limit: f32::INFINITY }
    };
    let casts: Vec<CapsuleCast> = (0..60).map(|_| one()).collect();
    let mut on_cpu = cpu::Tree::new();
    on_cpu.build(&boxes).unwrap();
    // One box of a query in each dispatch, and a few.
    for turns in [1, 150] {
        let mut tree = Tree::new(&GPU.clone().with_turns(turns)).unwrap();
        tree.build(&boxes).unwrap();
        let (some, few) = (&casts[..20], &casts[..3]);
        let casts = if turns == 1 { few } else { some };
        assert_eq!(tree.all_hits(casts).unwrap(), on_cpu.all_hits(casts).unwrap());
        assert_eq!(tree.nearest_hits(casts).unwrap(), on_cpu.nearest_hits(casts).unwrap());
        assert_eq!(tree.first_hits(casts, 70).unwrap(), on_cpu.first_hits(casts, 70).unwrap());
    }
}

#[test]
fn nothing_round_or_turned_touches_a_box_at_infinity() {
    let (inf, most, limit) = (f32::INFINITY, f32::MAX, f32::INFINITY);
    let boxes = [
        Aabb::new([inf, -1.0, -1.0], [inf, 1.0, 1.0]),
        Aabb::new([inf; 3], [inf; 3]),
        Aabb::new([-inf; 3], [-inf, inf, inf]),
        // The next two boxes have finite points.
        Aabb::new([most, -1.0, -1.0], [inf, 1.0, 1.0]),
        Aabb::new([-inf; 3], [inf; 3]),
    ];
    let mut tree = Both::new();
    tree.build(&boxes).unwrap();
    let far = [most, 0.0, 0.0];
    for (radius, direction) in [(1.0, [1.0, 0.0, 0.0]), (most, [0.0; 3]), (most, [1.0; 3])] {
        assert_eq!(&tree.overlaps(&[Sphere { center: far, radius }]).unwrap()[0], [3, 4]);
        assert_eq!(&tree.overlaps(&[Capsule { from: far, to: far, radius }]).unwrap()[0], [3, 4]);
        assert_eq!(&tree.overlaps(&[Capsule { from: far, to: [0.0; 3], radius }]).unwrap()[0], [3, 4]);
        let ball = SphereCast { center: far, radius, direction, limit };
        let found = tree.all_hits(&[ball, SphereCast { radius: inf, ..ball }]).unwrap();
        assert!(found.iter().all(|hits| hits.iter().map(|hit| (hit.index, hit.t)).eq([(3, 0.0), (4, 0.0)])));
        let capsule = CapsuleCast { from: far, to: [0.0; 3], radius, direction, limit };
        assert_eq!(tree.nearest_hits(&[capsule]).unwrap()[0].index, 3);
        assert_eq!(tree.all_hits(&[capsule]).unwrap().answers.len(), 2);
    }
    let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let flat = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 1.0, 0.0]];
    let turned = [axes, flat].map(|axes| OrientedBox { center: far, half: [most; 3], axes });
    assert!(tree.overlaps(&turned).unwrap().iter().all(|found| found == [3, 4]));
}

#[test]
fn what_moves_and_has_no_meaning_hits_nothing() {
    let mut tree = Both::new();
    tree.build(&cases::long_boxes(300)).unwrap();
    let good = CapsuleCast { from: [0.0; 3], to: [1.0; 3], radius: 0.5, direction: [1.0; 3], limit: 1.0 };
    let nan = f32::NAN;
    let casts = [
        CapsuleCast { from: [0.0, nan, 0.0], ..good },
        CapsuleCast { to: [0.0, f32::INFINITY, 0.0], ..good },
        CapsuleCast { radius: -1.0, ..good },
        CapsuleCast { radius: nan, ..good },
        CapsuleCast { direction: [f32::INFINITY, 0.0, 0.0], ..good },
        CapsuleCast { limit: nan, ..good },
        good,
        CapsuleCast { radius: f32::INFINITY, ..good },
    ];
    let found = tree.all_hits(&casts).unwrap();
    assert_eq!((found.report.invalid_count, &found.report.first_invalid[..]), (6, &[0, 1, 2, 3, 4, 5][..]));
    assert!((0..6).all(|i| found[i].is_empty()) && !found[6].is_empty());
    // All but the one that is invalid itself.
    assert_eq!(found[7].len(), 299);
}
