//! Oriented boxes, capsules and convex shapes: no box is missed, and those that are too many are near.

use broadsweep::{Aabb, Capsule, Convex, OrientedBox};

use super::both::Both;
use super::cases;
use super::numbers::{Like, Numbers};
use super::oracle;

/// How many boxes are asked how many queries: a tree of three levels, and many queries of few boxes, since all are compared with all.
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

/// Returns how far two boxes are apart along the axis that shows it best: negative where they overlap.
fn gap(turned: &OrientedBox, aabb: &Aabb) -> f64 {
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
        (low - dot(n, center) - own).max(dot(n, center) - own - high)
    };
    directions.into_iter().map(apart).fold(f64::NEG_INFINITY, f64::max)
}

#[test]
fn oriented_boxes_touch_what_no_axis_parts_from_them() {
    SCENES.into_iter().for_each(check_oriented_boxes);
}

fn check_oriented_boxes((box_count, query_count): (usize, usize)) {
    let (boxes, tree) = scene(box_count);
    let mut numbers = Numbers::new(1);
    let turned: Vec<OrientedBox> = (0..query_count)
        .map(|i| {
            let a = unit(random(&mut numbers));
            let b = unit(cross(a, random(&mut numbers)));
            let mut axes = [a, b, cross(a, b)];
            if i % 10 == 0 {
                axes = [[0.0, 1.0, 0.0], [0.0, 0.0, -1.0], [1.0, 0.0, 0.0]];
            }
            let narrow = |x: Vector| x.map(|x| x as f32);
            let half = narrow(random(&mut numbers)).map(|x| if i % 7 == 0 { 0.0 } else { x.abs() / 2.0 });
            OrientedBox { center: narrow(random(&mut numbers)), half, axes: axes.map(narrow) }
        })
        .collect();
    let lists = tree.overlaps(&turned).unwrap();
    let (mut touching, mut apart) = (0, 0);
    for (turned, found) in turned.iter().zip(lists.rows()) {
        for (j, aabb) in (0..).zip(&boxes).filter(|(_, aabb)| aabb.is_valid()) {
            let gap = gap(turned, aabb);
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
    for (capsule, found) in capsules.iter().zip(lists.rows()) {
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

#[test]
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
    for (rows, found) in rows.iter().zip(lists.rows()) {
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
    assert!(!lists.of(0).is_empty() && lists.of(5).len() >= lists.of(0).len());
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
    let axes = [[0.6, 0.8, 0.0], [-0.8, 0.6, 0.0], [0.0, 0.0, 1.0]];
    let turned = [
        OrientedBox { center: [3e38, 0.0, 0.0], half: [f32::MAX; 3], axes },
        OrientedBox { center: [0.0; 3], half: [1e30; 3], axes: axes.map(|axis| axis.map(|x| x * 1e-30)) },
    ];
    assert!(tree.overlaps(&turned).unwrap().rows().all(|row| row.len() == all));
    let capsule = Capsule { from: [-3e38; 3], to: [3e38; 3], radius: f32::MAX };
    assert_eq!(tree.overlaps(&[capsule]).unwrap().of(0).len(), all);
}
