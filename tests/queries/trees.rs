//! Trees of every kind of scene: built, refitted, and queried on both engines.

use broadsweep::query::{BoxCast, NearestQuery, OrientedBox, Sphere};
use broadsweep::{Aabb, Answers, Error, Gpu, Hit, Lists, Ray, Tree, cpu};
use laboratory::scenes::Kind;
use laboratory::scenes::queries::{RayKind, cubes, points};

use super::both::Both;
use super::cases::{TURNED, rays};
use super::oracle;
use crate::common::GPU;

/// A tree's answers to queries that are generated for a scene.
#[derive(Debug, PartialEq)]
struct All {
    nearest: Answers<Hit>,
    all: Lists<Hit>,
    touching: Lists<u32>,
    near: Lists<broadsweep::query::Near>,
}

fn answers_of(tree: &Both, boxes: &[Aabb], count: usize) -> All {
    let rays = rays(count, boxes);
    All {
        nearest: tree.nearest_hits(&rays).unwrap(),
        all: tree.all_hits(&rays).unwrap(),
        touching: tree.overlaps(&cubes(count, 7, boxes, 20.0)).unwrap(),
        near: tree.nearest(&points(count, 7, boxes), 3).unwrap(),
    }
}

/// Checks the answers to a few queries with exact arithmetic.
fn assert_exact(found: &All, boxes: &[Aabb], count: usize, what: &str) {
    let rays = rays(count, boxes);
    for (i, ray) in rays.iter().enumerate() {
        let mut expected = oracle::hits(ray, boxes, |_| true);
        assert_eq!(found.nearest.answers[i], expected.first().copied().unwrap_or(Hit::MISS), "{what}, {ray:?}");
        expected.sort_by_key(|hit| hit.index);
        assert_eq!(&found.all[i], expected, "{what}, {ray:?}");
    }
    for (i, query) in points(count, 7, boxes).iter().enumerate() {
        let expected = oracle::near(query, boxes, |_| true);
        assert_eq!(&found.near[i], &expected[..expected.len().min(3)], "{what}, {query:?}");
    }
    for (i, cube) in cubes(count, 7, boxes, 20.0).iter().enumerate() {
        let expected: Vec<u32> = (0..).zip(boxes).filter(|(_, aabb)| cube.overlaps(aabb)).map(|(i, _)| i).collect();
        assert_eq!(&found.touching[i], expected, "{what}, {cube:?}");
    }
}

#[test]
fn every_kind_of_scene_answers_exactly() {
    for kind in Kind::ALL {
        let boxes = kind.generate(700, 3);
        let mut tree = Both::new();
        let report = tree.build(&boxes).unwrap();
        assert_eq!(report.box_count, 700);
        let invalid: Vec<u32> = (0..).zip(&boxes).filter(|(_, aabb)| !aabb.is_valid()).map(|(i, _)| i).collect();
        assert_eq!(report.invalid_count as usize, invalid.len());
        assert_eq!(report.first_invalid, invalid[..invalid.len().min(broadsweep::Report::INVALID_LISTED)]);
        assert_exact(&answers_of(&tree, &boxes, 6), &boxes, 6, kind.name());
    }
}

#[test]
fn giants_answer_exactly_whether_they_fit_a_leaf_or_not() {
    for giant_count in [1, 8, 9] {
        let mut boxes = Kind::Uniform.generate(700, 3);
        for i in 0..giant_count {
            let high = [[1e3, 1e3, 0.5], [1e3, f32::INFINITY, 1e3], [0.5, 1e3, 1e3]][i % 3];
            boxes[70 * i + 5] = Aabb::new([-1e3; 3], high);
        }
        let mut tree = Both::new();
        tree.build(&boxes).unwrap();
        assert_exact(&answers_of(&tree, &boxes, 6), &boxes, 6, &format!("{giant_count} giants"));
        // Giants become small, and small boxes become giants.
        boxes.rotate_left(1);
        tree.refit(&boxes).unwrap();
        assert_exact(&answers_of(&tree, &boxes, 6), &boxes, 6, &format!("{giant_count} giants, refitted"));
    }
}

#[test]
#[ignore = "long"]
fn real_scenes_answer_exactly() {
    for name in ["cloth-ball.faces", "cloth-funnel.edges"] {
        let path = format!("{}/../shared/data/{name}.npy", env!("CARGO_MANIFEST_DIR"));
        // They may stand beside the project.
        let Ok(boxes) = laboratory::scenes::npy::read_boxes(std::path::Path::new(&path)) else { continue };
        let mut tree = Both::new();
        tree.build(&boxes).unwrap();
        assert_exact(&answers_of(&tree, &boxes, 5), &boxes, 5, name);
        let cubes = cubes(5, 7, &boxes, 40.0);
        let ball = |cube: &Aabb| Sphere { center: cube.min, radius: cube.max[0] - cube.min[0] };
        let balls: Vec<Sphere> = cubes.iter().map(ball).collect();
        for (ball, found) in balls.iter().zip(tree.overlaps(&balls).unwrap().iter()) {
            let touching = (0..).zip(&boxes).filter(|(_, aabb)| oracle::touches(ball, aabb));
            assert!(touching.map(|(i, _)| i).eq(found.iter().copied()), "{name}, {ball:?}");
        }
        let rays = RayKind::Incoherent.generate(5, 7, &boxes);
        let moving = |(&aabb, ray): (&Aabb, &Ray)| BoxCast { aabb, direction: ray.direction, limit: ray.limit };
        let casts: Vec<BoxCast> = cubes.iter().zip(&rays).map(moving).collect();
        for (cast, found) in casts.iter().zip(tree.nearest_hits(&casts).unwrap().answers) {
            let expected = oracle::hits(cast, &boxes, |_| true).first().copied().unwrap_or(Hit::MISS);
            assert_eq!(found, expected, "{name}, {cast:?}");
        }
    }
}

#[test]
fn trees_answer_the_same_in_any_number_of_dispatches() {
    assert_same_as_on_the_cpu(&GPU, &Kind::ALL);
    // So few turns that most queries take several dispatches, and some take dozens.
    for (turns, kinds) in [(60, [Kind::Clusters, Kind::Touching]), (400, [Kind::Identical, Kind::Uniform])] {
        assert_same_as_on_the_cpu(&GPU.clone().with_turns(turns), &kinds);
    }
}

/// Compares a tree on this device with one on the CPU.
fn assert_same_as_on_the_cpu(gpu: &Gpu, kinds: &[Kind]) {
    let (mut tree, mut on_cpu) = (Tree::new(gpu).unwrap(), cpu::Tree::new());
    for kind in kinds {
        let boxes = kind.generate(300, 3);
        let mut rays = rays(20, &boxes);
        // Rays that touch corners and faces are undecided in `f32`.
        rays.extend(boxes.iter().take(20).map(|aabb| Ray::new(aabb.min, aabb.max)));
        let some = || boxes.iter().take(20);
        let balls: Vec<Sphere> = some().map(|aabb| Sphere { center: aabb.min, radius: 1.5 }).collect();
        let turned = |aabb: &Aabb| OrientedBox { center: aabb.min, half: [2.0, 1.0, 0.5], axes: TURNED };
        let turned: Vec<OrientedBox> = some().map(turned).collect();
        let (regions, near) = (cubes(20, 7, &boxes, 20.0), points(20, 7, &boxes));
        on_cpu.build(&boxes).unwrap();
        tree.build(&boxes).unwrap();
        assert_eq!(tree.nearest_hits(&rays).unwrap(), on_cpu.nearest_hits(&rays).unwrap(), "{kind}");
        assert_eq!(tree.first_hits(&rays, 5).unwrap(), on_cpu.first_hits(&rays, 5).unwrap(), "{kind}");
        assert_eq!(tree.any_hits(&rays).unwrap(), on_cpu.any_hits(&rays).unwrap(), "{kind}");
        assert_eq!(tree.all_hits(&rays).unwrap(), on_cpu.all_hits(&rays).unwrap(), "{kind}");
        assert_eq!(tree.overlaps(&regions).unwrap(), on_cpu.overlaps(&regions).unwrap(), "{kind}");
        assert_eq!(tree.overlaps(&balls).unwrap(), on_cpu.overlaps(&balls).unwrap(), "{kind}");
        assert_eq!(tree.overlaps(&turned).unwrap(), on_cpu.overlaps(&turned).unwrap(), "{kind}");
        assert_eq!(tree.nearest(&near, 7).unwrap(), on_cpu.nearest(&near, 7).unwrap(), "{kind}");
    }
}

#[test]
#[ignore = "long"]
fn any_number_of_threads_and_any_order_of_queries_answer_the_same() {
    let boxes = Kind::Clusters.generate(20_000, 1);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut tree = Both::new();
            tree.build(&boxes).unwrap();
            answers_of(&tree, &boxes, 1_500)
        })
    };
    let one = with(1);
    assert!(one == with(2) && one == with(7));
    // A batch that is large enough to be sorted, and one query after the other.
    let mut tree = Both::new();
    tree.build(&boxes).unwrap();
    let mut rays = RayKind::Incoherent.generate(3_000, 7, &boxes);
    rays[17].limit = f32::NAN;
    rays[2_500].limit = -1.0;
    let (nearest, all) = (tree.nearest_hits(&rays).unwrap(), tree.all_hits(&rays).unwrap());
    let cubes = cubes(3_000, 7, &boxes, 20.0);
    let touching = tree.overlaps(&cubes).unwrap();
    let points = points(3_000, 7, &boxes);
    let near = [1, 5, 100].map(|k| (k, tree.nearest(&points, k).unwrap()));
    assert_eq!((nearest.report.invalid_count, &all.report.first_invalid[..]), (2, &[17, 2_500][..]));
    for i in 0..3_000 {
        // One submission for each query takes its time.
        let own = if i % 250 == 0 { Some(&tree) } else { None };
        macro_rules! alone {
            ($name:ident($($arg:expr),*)) => {
                own.map_or_else(|| tree.cpu.$name($($arg),*), |both| both.$name($($arg),*)).unwrap()
            };
        }
        assert_eq!(alone!(nearest_hits(&rays[i..=i])).answers, [nearest.answers[i]]);
        assert_eq!(alone!(all_hits(&rays[i..=i])).answers, &all[i]);
        assert_eq!(alone!(overlaps(&cubes[i..=i])).answers, &touching[i]);
        for (k, near) in &near {
            assert_eq!(alone!(nearest(&points[i..=i], *k)).answers, &near[i]);
        }
    }
}

#[test]
#[ignore = "long"]
fn a_tree_that_is_refitted_a_hundred_times_answers_exactly() {
    let n = 1_000;
    let first = Kind::Brownian.generate_step(n, 1, 0);
    let mut tree = Both::new();
    tree.build(&first).unwrap();
    let mut growth = 1.0;
    for step in 1..=100 {
        let boxes = Kind::Brownian.generate_step(n, 1, step);
        let report = tree.refit(&boxes).unwrap();
        assert_eq!(report.box_count as usize, n);
        growth = report.growth;
        if step % 10 == 0 {
            assert_exact(&answers_of(&tree, &boxes, 4), &boxes, 4, &format!("step {step}"));
        }
    }
    assert!(growth > 1.0, "boxes that moved apart need larger nodes: {growth}");
    let last = Kind::Brownian.generate_step(n, 1, 100);
    let refitted = answers_of(&tree, &last, 50);
    assert_eq!(tree.build(&last).unwrap().growth, 1.0);
    assert_eq!(refitted, answers_of(&tree, &last, 50));
}

#[test]
fn boxes_may_become_invalid_and_valid_and_unbounded_between_refits() {
    let mut boxes = Kind::Uniform.generate(200, 1);
    let mut tree = Both::new();
    tree.build(&boxes).unwrap();
    boxes[3].min[1] = f32::NAN;
    boxes[70] = Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]);
    boxes[71] = Aabb::new([1e38; 3], [3e38; 3]);
    let report = tree.refit(&boxes).unwrap();
    assert_eq!((report.invalid_count, &report.first_invalid[..]), (1, &[3][..]));
    assert_exact(&answers_of(&tree, &boxes, 5), &boxes, 5, "changed");
    let boxes = Kind::Uniform.generate(200, 1);
    assert_eq!(tree.refit(&boxes).unwrap().invalid_count, 0);
    assert_exact(&answers_of(&tree, &boxes, 5), &boxes, 5, "changed back");
    assert_eq!(tree.refit(&boxes[1..]).unwrap_err(), Error::OtherTree { built: 200, box_count: 199 });
}

#[test]
fn what_becomes_vast_lets_a_tree_grow_to_infinity_on_both_engines() {
    let inf = f32::INFINITY;
    let with = |boxes: &[Aabb], vast: &[(usize, Aabb)]| {
        let mut boxes = boxes.to_vec();
        vast.iter().for_each(|&(i, aabb)| boxes[i] = aabb);
        boxes
    };
    let ground = Aabb::new([-inf, -inf, -1.0], [inf, inf, 0.0]);
    let enormous = Aabb::new([-1e30; 3], [1e30; 3]);
    for n in [1, 3, 8, 9, 300, 700] {
        let boxes = Kind::Uniform.generate(n, 1);
        let mut tree = Both::new();
        let growth = |tree: &mut Both, boxes: &[Aabb]| {
            let growth = tree.refit(boxes).unwrap().growth;
            let of_gpu = tree.gpu.get_mut().report().growth;
            assert_eq!(growth.is_infinite(), of_gpu.is_infinite(), "{n} boxes: {growth}, {of_gpu}");
            if n <= 8 && growth.is_finite() {
                assert!((growth - of_gpu).abs() <= 1e-3 * growth, "{n} boxes: {growth}, {of_gpu}");
            }
            growth
        };
        tree.build(&boxes).unwrap();
        let wider: Vec<Aabb> = boxes.iter().map(|aabb| Aabb::new(aabb.min, aabb.max.map(|x| x + 4.0))).collect();
        assert!(growth(&mut tree, &wider) > 1.0, "{n} boxes");
        for vast in [ground, enormous] {
            assert_eq!(growth(&mut tree, &with(&boxes, &[(0, vast)])), f64::INFINITY, "{n} boxes");
        }
        assert_eq!(growth(&mut tree, &boxes), 1.0);
        // One that was there when the tree was built is not another one.
        tree.build(&with(&boxes, &[(0, ground)])).unwrap();
        assert_eq!(growth(&mut tree, &with(&boxes, &[(0, enormous)])), 1.0);
        if n > 8 {
            assert!(growth(&mut tree, &with(&wider, &[(0, ground)])) > 1.0);
            assert_eq!(growth(&mut tree, &with(&boxes, &[(0, ground), (5, ground)])), f64::INFINITY);
        }
        assert!(growth(&mut tree, &boxes).is_finite() || n <= 8, "{n} boxes");
    }
}

#[test]
fn boxes_that_part_from_one_point_say_that_a_build_would_pay() {
    let mut tree = Both::new();
    assert_eq!(tree.build(&[Aabb::new([1.0; 3], [1.0; 3]); 100]).unwrap().growth, 1.0);
    assert_eq!(tree.refit(&Kind::Uniform.generate(100, 1)).unwrap().growth, f64::INFINITY);
}

#[test]
fn a_tree_of_many_boxes_is_refitted_with_any_number_of_threads() {
    let boxes = Kind::Uniform.generate(140_000, 3);
    let moved: Vec<Aabb> = (0..)
        .zip(&boxes)
        .map(|(i, aabb)| {
            // Each its own way, of at most a half along each axis.
            let way = [31, 57, 83].map(|step| (i * step % 101) as f32 / 101.0 - 0.5);
            let to = |corner: [f32; 3]| std::array::from_fn(|k| corner[k] + way[k]);
            Aabb::new(to(aabb.min), to(aabb.max))
        })
        .collect();
    let rays = RayKind::Incoherent.generate(200, 7, &moved);
    let points: Vec<NearestQuery> = rays.iter().map(|ray| NearestQuery::new(ray.origin)).collect();
    let mut built = cpu::Tree::new();
    built.build(&moved).unwrap();
    let expected = (built.all_hits(&rays).unwrap(), built.nearest(&points, 3).unwrap());
    for threads in [1, 3, 9] {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        let mut tree = cpu::Tree::new();
        pool.install(|| {
            for turn in 0..2 {
                tree.build(&boxes).unwrap();
                tree.refit(&moved).unwrap();
                tree.refit(&boxes).unwrap();
                tree.refit(&moved).unwrap();
                let found = (tree.all_hits(&rays).unwrap(), tree.nearest(&points, 3).unwrap());
                assert!(found == expected, "{threads} threads, turn {turn}");
                // Few boxes in between.
                tree.build(&boxes[..1000]).unwrap();
                tree.refit(&moved[..1000]).unwrap();
            }
        });
    }
}

#[test]
fn a_tree_of_nothing_answers_nothing() {
    let mut tree = Both::new();
    tree.build(&[]).unwrap();
    let found = answers_of(&tree, &[], 4);
    assert_eq!(found.all.offsets, [0; 13]);
    assert!(found.nearest.answers.iter().all(|hit| *hit == Hit::MISS));
    assert!(tree.nearest(&[NearestQuery::new([0.0; 3])], 2).unwrap().answers.is_empty());
    tree.build(&[Aabb::new([f32::NAN; 3], [0.0; 3])]).unwrap();
    assert_eq!(tree.nearest(&[NearestQuery::new([0.0; 3])], 2).unwrap().report.answer_count, 0);
}
