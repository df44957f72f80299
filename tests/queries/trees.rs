//! Trees of every shape of scene: built, refitted, and asked in bulk on any number of threads.

use broadsweep::{Aabb, Answers, Error, Hit, Lists, NearestQuery, cpu};
use laboratory::scenes::Kind;
use laboratory::scenes::queries::{RayKind, cubes, points};

use super::oracle;

/// A tree's answers to queries that are made for a scene.
#[derive(Debug, PartialEq)]
struct All {
    nearest: Answers<Hit>,
    all: Lists<Hit>,
    touching: Lists<u32>,
    near: Lists<broadsweep::Near>,
}

fn ask(tree: &cpu::Tree, boxes: &[Aabb], count: usize) -> All {
    let rays: Vec<_> = RayKind::ALL.iter().flat_map(|kind| kind.generate(count, 7, boxes)).collect();
    All {
        nearest: tree.nearest_hits(&rays).unwrap(),
        all: tree.all_hits(&rays).unwrap(),
        touching: tree.overlaps(&cubes(count, 7, boxes, 20.0)).unwrap(),
        near: tree.nearest(&points(count, 7, boxes), 3).unwrap(),
    }
}

/// Checks the answers to a few queries with exact arithmetic.
fn assert_exact(found: &All, boxes: &[Aabb], count: usize, what: &str) {
    let rays: Vec<_> = RayKind::ALL.iter().flat_map(|kind| kind.generate(count, 7, boxes)).collect();
    for (i, ray) in rays.iter().enumerate() {
        let mut expected = oracle::hits(ray, boxes, |_| true);
        assert_eq!(found.nearest.answers[i], expected.first().copied().unwrap_or(Hit::MISS), "{what}, {ray:?}");
        expected.sort_by_key(|hit| hit.index);
        assert_eq!(found.all.of(i), expected, "{what}, {ray:?}");
    }
    for (i, query) in points(count, 7, boxes).iter().enumerate() {
        let expected = oracle::near(query, boxes, |_| true);
        assert_eq!(found.near.of(i), &expected[..expected.len().min(3)], "{what}, {query:?}");
    }
    for (i, cube) in cubes(count, 7, boxes, 20.0).iter().enumerate() {
        let expected: Vec<u32> = (0..).zip(boxes).filter(|(_, aabb)| cube.overlaps(aabb)).map(|(i, _)| i).collect();
        assert_eq!(found.touching.of(i), expected, "{what}, {cube:?}");
    }
}

#[test]
fn every_kind_of_scene_answers_exactly() {
    for kind in Kind::ALL {
        for n in [300, 2_000] {
            let boxes = kind.generate(n, 3);
            let mut tree = cpu::Tree::new();
            let report = tree.build(&boxes).unwrap();
            assert_eq!(report.box_count as usize, n);
            let invalid: Vec<u32> = (0..).zip(&boxes).filter(|(_, aabb)| !aabb.is_valid()).map(|(i, _)| i).collect();
            assert_eq!(report.invalid_count as usize, invalid.len());
            assert_eq!(report.first_invalid, invalid[..invalid.len().min(broadsweep::Report::INVALID_LISTED)]);
            assert_exact(&ask(&tree, &boxes, 6), &boxes, 6, &format!("{kind}:{n}"));
        }
    }
}

#[test]
fn any_number_of_threads_and_any_order_of_queries_answer_the_same() {
    let boxes = Kind::Clusters.generate(20_000, 1);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let mut tree = cpu::Tree::new();
            tree.build(&boxes).unwrap();
            ask(&tree, &boxes, 3_000)
        })
    };
    let one = with(1);
    assert!(one == with(2) && one == with(7));
    // A batch that is large enough to be sorted, and one query after the other.
    let mut tree = cpu::Tree::new();
    tree.build(&boxes).unwrap();
    let rays = RayKind::Incoherent.generate(3_000, 7, &boxes);
    let all = tree.nearest_hits(&rays).unwrap();
    for (ray, hit) in rays.iter().zip(&all.answers) {
        assert_eq!(tree.nearest_hits(&[*ray]).unwrap().answers, [*hit]);
    }
}

#[test]
fn a_tree_that_is_refitted_a_hundred_times_answers_exactly() {
    let n = 1_000;
    let first = Kind::Brownian.generate_step(n, 1, 0);
    let mut tree = cpu::Tree::new();
    tree.build(&first).unwrap();
    let mut growth = 1.0;
    for step in 1..=100 {
        let boxes = Kind::Brownian.generate_step(n, 1, step);
        let report = tree.refit(&boxes).unwrap();
        assert_eq!(report.box_count as usize, n);
        growth = report.growth;
        if step % 10 == 0 {
            assert_exact(&ask(&tree, &boxes, 4), &boxes, 4, &format!("step {step}"));
        }
    }
    assert!(growth > 1.0, "boxes that moved apart need larger nodes: {growth}");
    let last = Kind::Brownian.generate_step(n, 1, 100);
    let refitted = ask(&tree, &last, 50);
    assert_eq!(tree.build(&last).unwrap().growth, 1.0);
    assert_eq!(refitted, ask(&tree, &last, 50));
}

#[test]
fn boxes_may_become_invalid_and_valid_and_unbounded_between_refits() {
    let mut boxes = Kind::Uniform.generate(200, 1);
    let mut tree = cpu::Tree::new();
    tree.build(&boxes).unwrap();
    boxes[3].min[1] = f32::NAN;
    boxes[70] = Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]);
    boxes[71] = Aabb::new([1e38; 3], [3e38; 3]);
    let report = tree.refit(&boxes).unwrap();
    assert_eq!((report.invalid_count, &report.first_invalid[..]), (1, &[3][..]));
    assert_exact(&ask(&tree, &boxes, 5), &boxes, 5, "changed");
    let boxes = Kind::Uniform.generate(200, 1);
    assert_eq!(tree.refit(&boxes).unwrap().invalid_count, 0);
    assert_exact(&ask(&tree, &boxes, 5), &boxes, 5, "changed back");
    assert_eq!(tree.refit(&boxes[1..]).unwrap_err(), Error::OtherTree { built: 200, box_count: 199 });
}

#[test]
fn a_tree_of_nothing_answers_nothing() {
    let mut tree = cpu::Tree::new();
    for _ in 0..2 {
        let found = ask(&tree, &[], 4);
        assert_eq!(found.all.offsets, [0; 13]);
        assert!(found.nearest.answers.iter().all(|hit| *hit == Hit::MISS));
        assert!(tree.nearest(&[NearestQuery::new([0.0; 3])], 2).unwrap().answers.is_empty());
        tree.build(&[]).unwrap();
    }
    tree.build(&[Aabb::new([f32::NAN; 3], [0.0; 3])]).unwrap();
    assert_eq!(tree.nearest(&[NearestQuery::new([0.0; 3])], 2).unwrap().report.answer_count, 0);
}

#[test]
fn real_scenes_answer_exactly() {
    for name in ["cloth-ball.faces", "cloth-funnel.edges"] {
        let path = format!("{}/../shared/data/{name}.npy", env!("CARGO_MANIFEST_DIR"));
        // They may stand beside the project.
        let Ok(boxes) = laboratory::scenes::npy::read_boxes(std::path::Path::new(&path)) else { continue };
        let mut tree = cpu::Tree::new();
        tree.build(&boxes).unwrap();
        assert_exact(&ask(&tree, &boxes, 3), &boxes, 3, name);
    }
}
