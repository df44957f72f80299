//! The memory of trees and queries, compared with the memory plan.

use std::collections::HashSet;

use broadsweep::query::{Batch, BoxCast, Convex, QueryFilters, QueryLoad, Question, Sphere, SphereCast};
use broadsweep::{Aabb, Filters, Gpu, Ray, Tree, wgpu};
use laboratory::scenes::Kind;
use laboratory::scenes::queries::{RayKind, cubes, points};

use super::both::Both;
use crate::common::GPU;
use crate::common::device_with;

#[test]
fn the_memory_of_a_tree_is_what_was_planned() {
    for (n, has_worlds) in [(0, false), (1, false), (9, true), (5_000, false), (70_001, true)] {
        let boxes = Kind::Uniform.generate(n, 1);
        let mut tree = Both::new();
        if has_worlds {
            let world = (0..n as u32).map(|i| i % 3).collect();
            tree.set_filters(Filters::default().with_world(world).with_margin(vec![0.5; n])).unwrap();
        }
        let planned: u64 = tree.gpu.borrow().memory_plan(n).unwrap().total();
        tree.build(&boxes).unwrap();
        // A staging buffer of 64 KiB holds the report.
        let held = if n == 0 { 0 } else { planned + (1 << 16) };
        assert_eq!(tree.gpu.borrow().memory_bytes(), held, "{n} boxes");
    }
}

/// Builds a tree, queries it, and checks that it holds the memory planned for the queries that [`QueryLoad`] describes.
fn assert_planned(gpu: &Gpu, boxes: &[Aabb], load: impl FnOnce(&mut Tree) -> QueryLoad) {
    let mut tree = Tree::new(gpu).unwrap();
    tree.build(boxes).unwrap();
    let load = load(&mut tree);
    let planned = tree.query_memory_plan(&load);
    assert!(planned.total() > 0, "{load:?}");
    let names: HashSet<_> = planned.buffers().iter().map(|(name, _)| name).collect();
    assert_eq!(names.len(), planned.buffers().len(), "{planned:?}");
    let of_tree = tree.memory_plan(boxes.len()).unwrap().total();
    assert_eq!(tree.memory_bytes(), of_tree + planned.total(), "{load:?}");
}

#[test]
#[ignore = "long"]
fn the_memory_of_ranked_queries_is_what_was_planned() {
    let boxes = Kind::Uniform.generate(5_000, 1);
    let rays = RayKind::Incoherent.generate(2_000, 7, &boxes);
    let moving: Vec<BoxCast> = rays
        .iter()
        .map(|ray| BoxCast { aabb: Aabb::new(ray.origin, ray.origin), direction: ray.direction, limit: 1.0 })
        .collect();
    let points = points(400, 7, &boxes);
    let filters = QueryFilters::default().with_ignore((0..2_000).collect());
    let all = |question, count| QueryLoad::new(question, count);
    let check = |load: &dyn Fn(&mut Tree) -> QueryLoad| assert_planned(&GPU, &boxes, load);
    check(&|tree| {
        tree.nearest_hits(&rays).unwrap();
        all(Question::NearestHits, 2_000)
    });
    check(&|tree| {
        tree.nearest_hits(Batch::new(&rays[..]).with_filters(&filters)).unwrap();
        all(Question::NearestHits, 2_000).with_filters()
    });
    for k in [1, 10, 100] {
        check(&|tree| {
            tree.first_hits(&moving, k).unwrap();
            all(Question::FirstHits, 2_000).of_moving().with_answers(k as u64)
        });
        check(&|tree| {
            tree.nearest(&points, k).unwrap();
            all(Question::Nearest, 400).with_answers(k as u64)
        });
    }
    check(&|tree| {
        tree.any_hits(&moving).unwrap();
        all(Question::AnyHits, 2_000).of_moving()
    });
    // More answers than there are boxes.
    for k in [5_001, 1 << 40, usize::MAX] {
        check(&|tree| {
            tree.nearest(&points[..3], k).unwrap();
            all(Question::Nearest, 3).with_answers(k as u64)
        });
    }
    let tree = Tree::new(&GPU).unwrap();
    for question in Question::ALL {
        // Sizes that nobody has.
        let load = all(question, usize::MAX).with_u32_count(usize::MAX).with_answers(u64::MAX).with_filters();
        assert!(!tree.query_memory_plan(&load).buffers().is_empty());
        assert!(tree.query_memory_plan(&all(question, 0)).buffers().is_empty(), "{question:?}");
    }
}

#[test]
fn the_memory_of_lists_is_what_was_planned() {
    let boxes = Kind::Uniform.generate(5_000, 1);
    let rays = RayKind::Incoherent.generate(2_000, 7, &boxes);
    let points = points(400, 7, &boxes);
    let cubes = cubes(200, 7, &boxes, 50.0);
    let spheres: Vec<Sphere> = points.iter().map(|point| Sphere { center: point.point, radius: 1.0 }).collect();
    let slabs = [[1.0, 0.0, 0.0, 20.0], [-1.0, 0.0, 0.0, -10.0]];
    let convex = vec![Convex { half_spaces: &slabs }; 7];
    let all = |question, count| QueryLoad::new(question, count);
    let check = |load: &dyn Fn(&mut Tree) -> QueryLoad| assert_planned(&GPU, &boxes, load);
    check(&|tree| {
        let answers = tree.all_hits(&rays).unwrap().answers.len() as u64;
        assert!(answers > 5_000, "{answers}");
        all(Question::AllHits, 2_000).with_answers(answers)
    });
    check(&|tree| {
        let ball = |ray: &Ray| SphereCast { center: ray.origin, radius: 0.5, direction: ray.direction, limit: 1.0 };
        let answers = tree.all_hits(&rays.iter().map(ball).collect::<Vec<_>>()).unwrap().answers.len() as u64;
        all(Question::AllHits, 2_000).of_moving_round().with_answers(answers)
    });
    check(&|tree| {
        let answers = tree.overlaps(&cubes).unwrap().answers.len() as u64;
        all(Question::Overlaps, 200).with_answers(answers)
    });
    check(&|tree| {
        let answers = tree.overlaps(&[points[0].point; 3]).unwrap().answers.len() as u64;
        all(Question::Overlaps, 3).with_u32_count(3).with_answers(answers)
    });
    check(&|tree| {
        let answers = tree.overlaps(&spheres).unwrap().answers.len() as u64;
        all(Question::SphereOverlaps, 400).with_answers(answers)
    });
    check(&|tree| {
        let answers = tree.overlaps(&convex).unwrap().answers.len() as u64;
        all(Question::Overlaps, 7).with_u32_count(8 + 4 * 2).with_answers(answers)
    });
}

#[test]
#[ignore = "long"]
fn the_memory_of_queries_in_parts_is_what_was_planned() {
    let boxes = Kind::Uniform.generate(2_000, 1);
    let rays = RayKind::Incoherent.generate(40_000, 7, &boxes);
    // A binding holds a fifth of the rows, and most of the lists that are retained.
    let limits = wgpu::Limits { max_storage_buffer_binding_size: 1 << 22, ..Gpu::required_limits() };
    let gpu = device_with(limits);
    assert_planned(&gpu, &boxes, |tree| {
        tree.first_hits(&rays, 64).unwrap();
        QueryLoad::new(Question::FirstHits, 40_000).with_answers(64)
    });
    // Parts have different numbers of answers, and fewer than all together.
    let mut tree = Tree::new(&gpu).unwrap();
    tree.build(&boxes).unwrap();
    let answers = tree.all_hits(&rays).unwrap().answers.len() as u64;
    let planned = tree.query_memory_plan(&QueryLoad::new(Question::AllHits, 40_000).with_answers(answers));
    let held = tree.memory_bytes() - tree.memory_plan(2_000).unwrap().total();
    assert!(held <= planned.total() && 2 * held > planned.total(), "{held}, {planned:?}");
}
