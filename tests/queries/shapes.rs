//! Oriented boxes, capsules and convex shapes: no box is missed, and those that are too many are near.

use broadsweep::Aabb;
use broadsweep::query::{Capsule, Convex, OrientedBox};

use super::both::Both;
use super::cases;
use super::numbers::{Like, Numbers};
use super::oracle::{self, HalfSpace};

/// Counts of boxes and of queries: a tree of three levels, and many queries of few boxes, since all are compared with
/// all.
const SCENES: [(usize, usize); 2] = [(400, 200), (60, 9_880)];

type Vector = [f64; 3];

fn dot(a: Vector, b: Vector) -> f64 {
    (0..3).map(|k| a[k] * b[k]).sum()
}

fn cross(a: Vector, b: Vector) -> Vector {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn unit(a: Vector) -> Vector {
    a.map(|x| x / dot(a, a).sqrt())
}

fn scene(box_count: usize) -> (Vec<Aabb>, Both) {
    let boxes = cases::long_boxes(box_count);
    let mut tree = Both::new();
    tree.build(&boxes).unwrap();
    (boxes, tree)
}

fn random(numbers: &mut Numbers) -> Vector {
    [(); 3].map(|()| f64::from(numbers.finite(Like::Usual)))
}

/// Returns the gap between two boxes along the axis that separates them best, negative if they overlap, and the
/// direction along this axis from the first to the second.
fn gap(turned: &OrientedBox, aabb: &Aabb) -> (f64, Vector) {
    let wide = |x: [f32; 3]| x.map(f64::from);
    let (axes, half, center) = (turned.axes.map(wide), wide(turned.half), wide(turned.center));
    let (min, max) = (wide(aabb.min), wide(aabb.max));
    let basis = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let mut directions = [axes.to_vec(), basis.to_vec()].concat();
    directions.extend(axes.iter().flat_map(|&a| basis.map(|b| cross(a, b))).filter(|n| dot(*n, *n) > 1e-6).map(unit));
    let apart = |n: Vector| {
        let own: f64 = (0..3).map(|k| dot(n, axes[k]).abs() * half[k]).sum();
        let low: f64 = (0..3).map(|k| if n[k] == 0.0 { 0.0 } else { (n[k] * min[k]).min(n[k] * max[k]) }).sum();
        let high: f64 = (0..3).map(|k| if n[k] == 0.0 { 0.0 } else { (n[k] * min[k]).max(n[k] * max[k]) }).sum();
        let (above, below) = (low - dot(n, center) - own, dot(n, center) - own - high);
        if above > below { (above, n) } else { (below, n.map(|x| -x)) }
    };
    let farther = |a: (f64, Vector), b: (f64, Vector)| if b.0 > a.0 { b } else { a };
    directions.into_iter().map(apart).fold((f64::NEG_INFINITY, [0.0; 3]), farther)
}

fn turned_boxes(n: usize) -> Vec<OrientedBox> {
    let mut numbers = Numbers::new(1);
    let turned = |i| {
        let a = unit(random(&mut numbers));
        let b = unit(cross(a, random(&mut numbers)));
        let mut axes = [a, b, cross(a, b)];
        if i % 10 == 0 {
            axes = [[0.0, 1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]];
        }
        let narrow = |x: Vector| x.map(|x| x as f32);
        let half = narrow(random(&mut numbers)).map(|x| if i % 7 == 0 { 0.0 } else { x.abs() / 2.0 });
        OrientedBox { center: narrow(random(&mut numbers)), half, axes: axes.map(narrow) }
    };
    (0..n).map(turned).collect()
}

#[test]
#[ignore = "long"]
fn oriented_boxes_touch_what_no_axis_parts_from_them() {
    SCENES.into_iter().for_each(check_oriented_boxes);
}

fn check_oriented_boxes((box_count, query_count): (usize, usize)) {
    let (boxes, tree) = scene(box_count);
    let turned = turned_boxes(query_count);
    let lists = tree.overlaps(&turned).unwrap();
    let (mut touching, mut apart) = (0, 0);
    for (turned, found) in turned.iter().zip(lists.iter()) {
        for (j, aabb) in (0..).zip(&boxes).filter(|(_, aabb)| aabb.is_valid()) {
            let (gap, _) = gap(turned, aabb);
            let is_found = found.contains(&j);
            assert!(is_found || gap > -1e-5, "box {j}, {gap} inside, is missed by {turned:?}");
            assert!(!is_found || gap < 1e-5, "box {j}, {gap} away, is too many for {turned:?}");
            touching += usize::from(is_found);
            apart += usize::from(!is_found);
        }
        assert!(found.contains(&17) && !found.contains(&18));
    }
    assert!(touching > 1000 && apart > 1000, "{touching} and {apart}");
}

#[test]
fn no_box_is_missed_that_an_oriented_box_touches_but_for_a_rounding() {
    let turned = turned_boxes(600);
    let mut numbers = Numbers::new(7);
    // Each is moved to where it about touches its own query.
    let beside = |turned: &OrientedBox| {
        let aabb = numbers.aabb(Like::Usual);
        let (gap, way) = gap(turned, &aabb);
        let moved = |bounds: [f32; 3]| std::array::from_fn(|k| (f64::from(bounds[k]) - gap * way[k]) as f32);
        Aabb::new(moved(aabb.min), moved(aabb.max))
    };
    let boxes: Vec<Aabb> = turned.iter().map(beside).collect();
    let mut tree = Both::new();
    tree.build(&boxes).unwrap();
    let lists = tree.overlaps(&turned).unwrap();
    let (mut touching, mut apart) = (0, 0);
    for (i, (turned, found)) in (0..).zip(turned.iter().zip(lists.iter())) {
        let aabb = &boxes[i as usize];
        if oracle::share_a_point(HalfSpace::of_turned(turned), aabb) {
            assert!(found.contains(&i), "{aabb:?} is missed by {turned:?}");
            touching += 1;
        } else {
            apart += 1;
        }
    }
    assert!(touching > 100 && apart > 100, "{touching} and {apart}");
}

/// Returns how far a segment is from a box.
fn distance(capsule: &Capsule, aabb: &Aabb) -> f64 {
    let at = |t: f64| {
        let along = |k: usize| {
            let x = f64::from(capsule.from[k]) * (1.0 - t) + f64::from(capsule.to[k]) * t;
            (f64::from(aabb.min[k]) - x).max(x - f64::from(aabb.max[k])).max(0.0)
        };
        dot([along(0), along(1), along(2)], [along(0), along(1), along(2)]).sqrt()
    };
    // A convex function.
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..100 {
        let (a, b) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if at(a) < at(b) { high = b } else { low = a }
    }
    at(low)
}

#[test]
#[ignore = "long"]
fn capsules_miss_no_box_and_report_none_that_is_farther_than_they_say() {
    SCENES.into_iter().for_each(check_capsules);
}

fn check_capsules((box_count, query_count): (usize, usize)) {
    let (boxes, tree) = scene(box_count);
    let mut numbers = Numbers::new(2);
    let capsules: Vec<Capsule> = (0..query_count)
        .map(|i| {
            let narrow = |x: Vector| x.map(|x| x as f32);
            let (from, to) = (narrow(random(&mut numbers)), narrow(random(&mut numbers)));
            Capsule { from, to: if i % 9 == 0 { from } else { to }, radius: 0.3 * (i % 5) as f32 }
        })
        .collect();
    let lists = tree.overlaps(&capsules).unwrap();
    let (mut touching, mut too_many) = (0, 0);
    for (capsule, found) in capsules.iter().zip(lists.iter()) {
        let radius = f64::from(capsule.radius);
        for (j, aabb) in (0..).zip(&boxes).filter(|(_, aabb)| aabb.is_valid()) {
            let distance = distance(capsule, aabb);
            let is_found = found.contains(&j);
            assert!(is_found || distance > radius - 1e-5, "box {j}, {distance} away, is missed by {capsule:?}");
            assert!(!is_found || distance < 3f64.sqrt() * radius + 1e-5, "box {j}, {distance} away, {capsule:?}");
            touching += usize::from(is_found);
            too_many += usize::from(is_found && distance > radius + 1e-5);
        }
    }
    println!("{too_many} of {touching} boxes are too many");
    assert!(touching > 1000 && too_many * 20 < touching, "{too_many} of {touching}");
}

/// Returns whether a capsule touches a box, both of small whole numbers; and whether it only just does.
fn touches_whole(capsule: &Capsule, aabb: &Aabb) -> (bool, bool) {
    let whole = |x: [f32; 3]| x.map(|x| x as i64);
    let (from, min, max) = (whole(capsule.from), whole(aabb.min), whole(aabb.max));
    let way: [i64; 3] = std::array::from_fn(|k| capsule.to[k] as i64 - from[k]);
    // The squared distance is a parabola in each part of the segment that is beside, above or below the box along the
    // same axes. It is least at an end of the segment, at an end of a part, or at the lowest point of a parabola.
    let mut places = vec![(0, 1), (1, 1)];
    places.extend((0..3).flat_map(|k| [(min[k] - from[k], way[k]), (max[k] - from[k], way[k])]));
    for sides in 0..27 {
        let face = |k: usize| [None, Some(min[k]), Some(max[k])][sides / [1, 3, 9][k] % 3];
        let sum = |of: &dyn Fn(usize, i64) -> i64| (0..3).filter_map(|k| face(k).map(|face| of(k, face))).sum();
        places.push((sum(&|k, face| way[k] * (face - from[k])), sum(&|k, _| way[k] * way[k])));
    }
    let places = places.into_iter().map(|(over, under)| if under < 0 { (-over, -under) } else { (over, under) });
    let difference = |(over, under): (i64, i64)| {
        let beyond = |k: usize| {
            let x = from[k] * under + way[k] * over;
            (min[k] * under - x).max(x - max[k] * under).max(0)
        };
        let reach = capsule.radius as i64 * under;
        (0..3).map(|k| beyond(k) * beyond(k)).sum::<i64>() - reach * reach
    };
    let differences: Vec<i64> =
        places.filter(|&(over, under)| under > 0 && (0..=under).contains(&over)).map(difference).collect();
    (differences.iter().any(|&x| x <= 0), differences.iter().all(|&x| x >= 0) && differences.contains(&0))
}

#[test]
fn no_box_is_missed_that_a_capsule_only_just_touches() {
    let mut numbers = Numbers::new(8);
    let boxes: Vec<Aabb> = (0..200).map(|_| numbers.aabb(Like::Whole)).collect();
    let mut point = || [(); 3].map(|()| numbers.finite(Like::Whole));
    let capsules: Vec<Capsule> =
        (0..400).map(|i| Capsule { from: point(), to: point(), radius: (i % 4) as f32 }).collect();
    let mut tree = Both::new();
    tree.build(&boxes).unwrap();
    let (mut touching, mut just_touching) = (0, 0);
    for (capsule, found) in capsules.iter().zip(tree.overlaps(&capsules).unwrap().iter()) {
        for (j, aabb) in (0..).zip(&boxes) {
            let (touches, only_just) = touches_whole(capsule, aabb);
            assert!(!touches || found.contains(&j), "{aabb:?} is missed by {capsule:?}");
            touching += usize::from(touches);
            just_touching += usize::from(only_just);
        }
    }
    assert!(touching > 10_000 && just_touching > 1_000, "{touching}, {just_touching}");
}

/// Returns what a camera at a point sees, as far as this, where it is half as wide; and the box that bounds it.
fn frustum(numbers: &mut Numbers, far: f64) -> ([[f32; 4]; 6], Aabb) {
    let (eye, ahead) = (random(numbers), unit(random(numbers)));
    let right = unit(cross(ahead, random(numbers)));
    let up = cross(ahead, right);
    let side = |way: Vector, sign: f64| {
        let normal: Vector = std::array::from_fn(|k| sign * way[k] - ahead[k] / 4.0);
        (normal, dot(normal, eye))
    };
    let near = (ahead.map(|x| -x), -dot(ahead, eye) - far / 100.0);
    let sides = [side(right, 1.0), side(right, -1.0), side(up, 1.0), side(up, -1.0)];
    let rows = [sides[0], sides[1], sides[2], sides[3], near, (ahead, dot(ahead, eye) + far)];
    let corner = |depth: f64, a: f64, b: f64| -> Vector {
        std::array::from_fn(|k| eye[k] + depth * (ahead[k] + (a * right[k] + b * up[k]) / 4.0))
    };
    let ends = [(-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0)];
    let corners: Vec<Vector> =
        [far / 100.0, far].into_iter().flat_map(|depth| ends.map(|(a, b)| corner(depth, a, b))).collect();
    let least =
        |k: usize, sign: f64| corners.iter().map(|corner| sign * corner[k]).fold(f64::INFINITY, f64::min) - 1e-5;
    let bounds = Aabb::new([0, 1, 2].map(|k| least(k, 1.0) as f32), [0, 1, 2].map(|k| -least(k, -1.0) as f32));
    (rows.map(|(n, offset)| [n[0], n[1], n[2], offset].map(|x| x as f32)), bounds)
}

#[test]
#[ignore = "long"]
fn of_what_a_camera_sees_few_boxes_are_too_many() {
    let boxes = cases::wide_boxes(3_000);
    let mut tree = Both::new();
    tree.build(&boxes).unwrap();
    // How far they see, whether the shape is bounded along the axes, and how many percent may be too many.
    for (far, is_bounded, most) in [(1.0, false, 40), (1.0, true, 15), (4.0, false, 20), (4.0, true, 10)] {
        let mut numbers = Numbers::new(9);
        let shapes: Vec<_> = (0..40).map(|_| frustum(&mut numbers, far)).collect();
        let rows: Vec<Vec<[f32; 4]>> = shapes
            .iter()
            .map(|(rows, bounds)| {
                rows.iter().copied().chain(oracle::rows_of(bounds).into_iter().filter(|_| is_bounded)).collect()
            })
            .collect();
        let shapes: Vec<Convex> = rows.iter().map(|half_spaces| Convex { half_spaces }).collect();
        let lists = tree.overlaps(&shapes).unwrap();
        let (mut answers, mut too_many) = (0, 0);
        for (rows, found) in rows.iter().zip(lists.iter()) {
            for &j in found {
                answers += 1;
                let half_spaces = rows.iter().map(HalfSpace::of_row).collect();
                too_many += usize::from(!oracle::share_a_point(half_spaces, &boxes[j as usize]));
            }
        }
        println!("as far as {far}, bounded {is_bounded}: {too_many} of {answers} boxes are too many");
        assert!(answers > 200 && too_many * 100 < answers * most, "{too_many} of {answers}");
    }
}

#[test]
#[ignore = "long"]
fn convex_shapes_touch_what_reaches_into_each_half_space() {
    SCENES.into_iter().for_each(check_convex_shapes);
}

fn check_convex_shapes((box_count, query_count): (usize, usize)) {
    let (boxes, tree) = scene(box_count);
    let mut numbers = Numbers::new(3);
    let rows: Vec<Vec<[f32; 4]>> = (0..query_count)
        .map(|i| {
            let row = |_| {
                let [x, y, z] = random(&mut numbers).map(|x| x as f32);
                let normal = [[x, y, z], [x.signum(), 0.0, 0.0]][i % 2];
                [normal[0], normal[1], normal[2], numbers.finite(Like::Whole)]
            };
            (0..i % 8).map(row).collect()
        })
        .collect();
    let shapes: Vec<Convex> = rows.iter().map(|half_spaces| Convex { half_spaces }).collect();
    let lists = tree.overlaps(&shapes).unwrap();
    for (rows, found) in rows.iter().zip(lists.iter()) {
        let touches = |aabb: &Aabb| aabb.is_valid() && rows.iter().all(|row| oracle::reaches_into(row, aabb));
        let expected: Vec<u32> = (0..).zip(&boxes).filter(|(_, aabb)| touches(aabb)).map(|(i, _)| i).collect();
        assert_eq!(found, expected, "{rows:?}");
    }
    assert!(lists.report.answer_count > 1000);
}

#[test]
fn shapes_without_meaning_are_reported() {
    let (_, tree) = scene(400);
    let nan = f32::NAN;
    let axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]];
    let good = OrientedBox { center: [0.0; 3], half: [1.0; 3], axes };
    let turned = [
        good,
        OrientedBox { half: [1.0, -1.0, 1.0], ..good },
        OrientedBox { center: [nan; 3], ..good },
        OrientedBox { axes: [axes[0], [0.0; 3], axes[2]], ..good },
        OrientedBox { axes: [axes[0], [nan; 3], axes[2]], ..good },
        // Flat axes have no inside, and no bounds: what they touch is what touches their planes.
        OrientedBox { axes: [axes[0], axes[1], axes[1]], ..good },
    ];
    let lists = tree.overlaps(&turned).unwrap();
    assert_eq!(lists.report.first_invalid, [1, 2, 3, 4]);
    assert!(!lists[0].is_empty() && lists[5].len() >= lists[0].len());
    let capsules =
        [Capsule { from: [0.0; 3], to: [nan; 3], radius: 1.0 }, Capsule { from: [0.0; 3], to: [0.0; 3], radius: -1.0 }];
    assert_eq!(tree.overlaps(&capsules).unwrap().report.invalid_count, 2);
    let rows = [[0.0, 0.0, 0.0, 1.0], [nan, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, f32::INFINITY]];
    let shapes = [0, 1, 2].map(|i| Convex { half_spaces: &rows[i..=i] });
    assert_eq!(tree.overlaps(&shapes).unwrap().report.invalid_count, 3);
}

#[test]
fn enormous_shapes_miss_nothing() {
    let (boxes, tree) = scene(400);
    let all = boxes.iter().filter(|aabb| aabb.is_valid()).count();
    let turned = [
        OrientedBox { center: [3e38, 0.0, 0.0], half: [f32::MAX; 3], axes: cases::TURNED },
        OrientedBox { center: [0.0; 3], half: [1e30; 3], axes: cases::TURNED.map(|axis| axis.map(|x| x * 1e-30)) },
    ];
    assert!(tree.overlaps(&turned).unwrap().iter().all(|row| row.len() == all));
    let capsule = Capsule { from: [-3e38; 3], to: [3e38; 3], radius: f32::MAX };
    assert_eq!(tree.overlaps(&[capsule]).unwrap()[0].len(), all);
}
