//! Queries that go through the tree together, compared with single queries and with the CPU engine.

use broadsweep::internals::brute_queries;
use broadsweep::query::{Batch, NearestQuery, QueryFilters};
use broadsweep::{Aabb, Filters, Ray, Tree, cpu};
use laboratory::scenes::Kind;
use laboratory::scenes::queries::{RayKind, beams};

use super::both::Both;
use crate::common::GPU;

#[test]
#[ignore = "long"]
fn rays_that_go_together_are_answered_alike() {
    let (mut tree, mut on_cpu) = (Tree::new(&GPU).unwrap(), cpu::Tree::new());
    // Rays do not stay together: the plates lie side by side.
    let plate = |i: usize| {
        let low = [i % 40, i / 40].map(|at| at as f32);
        Aabb::new([low[0], low[1], 0.0], [low[0] + 0.9, low[1] + 0.9, 0.1])
    };
    let plates: Vec<Aabb> = (0..1_600).map(plate).collect();
    let with_giant = [&Kind::Uniform.generate(600, 3)[..], &[Aabb::new([1e30; 3], [f32::INFINITY; 3])]].concat();
    let scenes = Kind::ALL.iter().map(|kind| (kind.name(), kind.generate(600, 3)));
    for (name, boxes) in scenes.chain([("plates", plates), ("one giant", with_giant)]) {
        on_cpu.build(&boxes).unwrap();
        tree.build(&boxes).unwrap();
        for has_odd in [false, true] {
            let mut rays = beams(24, &boxes, has_odd);
            // The last ones are alone.
            rays.truncate(rays.len() - 3);
            assert_eq!(tree.nearest_hits(&rays).unwrap(), on_cpu.nearest_hits(&rays).unwrap(), "{name}");
        }
    }
}

#[test]
fn rays_that_go_together_to_corners_and_edges_of_many_boxes_hit_the_one_with_the_least_index() {
    let (mut tree, mut on_cpu) = (Tree::new(&GPU).unwrap(), cpu::Tree::new());
    // A wall of cubes that touch each other; and all that is exact in the mirror, where the wall is behind.
    for side in [1.0, -1.0] {
        let cube = |i: usize| {
            let at = [0, i * 7 % 1_600 % 40, i * 7 % 1_600 / 40].map(|x| x as f32 * side);
            Aabb::new(at.map(|x| x.min(x + side)), at.map(|x| x.max(x + side)))
        };
        let cubes: Vec<Aabb> = (0..1_600).map(cube).collect();
        on_cpu.build(&cubes).unwrap();
        tree.build(&cubes).unwrap();
        // Corners, and middles of edges and faces, each hit at time 1. In `f32` the time is a bit less: 2041 times its
        // inverse is not 1.
        let ray = |i: usize| {
            let to = [0.0, 0.5 * (i % 81) as f32, 0.5 * (i / 81) as f32].map(|x| x * side);
            let origin = [-2041.0, 11.25, 13.75].map(|x| x * side);
            Ray::new(origin, std::array::from_fn(|k| to[k] - origin[k]))
        };
        let rays: Vec<Ray> = (0..81 * 81).map(ray).collect();
        let hits = tree.nearest_hits(&rays).unwrap();
        assert!(hits.answers.iter().all(|hit| hit.t == 1.0));
        assert_eq!(hits, on_cpu.nearest_hits(&rays).unwrap());
    }
}

#[test]
fn rays_that_go_through_the_tree_together_hit_what_each_hits_alone() {
    let mut boxes = Kind::Uniform.generate(3_000, 2);
    // Several first boxes at once, and unbounded ones.
    boxes[..40].fill(Aabb::new([0.0; 3], [1.0, 1.0, 0.0]));
    boxes[41].max = [f32::INFINITY; 3];
    boxes[42].min = [f32::NEG_INFINITY; 3];
    boxes[43].min[0] = f32::NAN;
    let world = (0..3_000).map(|i| if i % 5 == 4 { Filters::GLOBAL } else { i % 5 }).collect();
    let mut tree = Both::new();
    for filters in [Filters::default(), Filters::default().with_world(world)] {
        tree.set_filters(filters).unwrap();
        tree.build(&boxes).unwrap();
        let mut rays = RayKind::Camera.generate(90_000, 1, &boxes);
        for (i, ray) in rays.iter_mut().enumerate() {
            ray.limit = [f32::INFINITY, 1.7, 0.0, -0.0, 2.0, f32::MAX, 1.2, f32::INFINITY][i % 8];
        }
        // Some come from within.
        for ray in &mut rays[10_000..20_000] {
            ray.origin = [0.7, 0.3, 0.8];
            ray.direction = ray.direction.map(|d| d * 0.1);
        }
        let world: Vec<u32> = (0..90_000).map(|i| i / 500 % 7).collect();
        let of_queries = QueryFilters::default().with_world(world);
        let together = tree.nearest_hits(Batch::new(&rays[..]).with_filters(&of_queries)).unwrap();
        for (i, ray) in rays.iter().enumerate() {
            let of_queries = QueryFilters::default().with_world(vec![of_queries.world[i]]);
            let alone = tree.cpu.nearest_hits(Batch::new(&[*ray][..]).with_filters(&of_queries)).unwrap();
            assert_eq!(together.answers[i], alone.answers[0], "{ray:?}");
        }
        assert!((9_000..81_000).contains(&together.report.answer_count), "{:?}", together.report);
    }
}

#[test]
fn rays_near_many_boxes_have_the_answers_of_the_cpu() {
    // A plane that all of them nearly touch, and walls that some of them hit far away.
    let plate = |i: usize, j: usize| Aabb::new([i as f32, j as f32, 0.0], [i as f32 + 0.9, j as f32 + 0.9, 0.1]);
    let mut boxes: Vec<Aabb> = (0..200).flat_map(|i| (0..200).map(move |j| plate(i, j))).collect();
    boxes.extend((0..200).map(|j| Aabb::new([201.0, j as f32, 0.0], [202.0, j as f32 + 0.5, 1.0])));
    let mut tree = Both::new();
    tree.build(&boxes).unwrap();
    let ray = |i: usize| {
        let height = [0.2, 0.100_01, 1.0, 0.15, 3.0, 0.12, 0.11, 0.6][i % 8];
        Ray::new([-1.0, i as f32 * 0.1, height], [1.0, 0.02, -0.0004 * (i % 3 + 1) as f32])
    };
    let rays: Vec<Ray> = (0..1_600).map(ray).collect();
    let together = tree.nearest_hits(&rays).unwrap();
    for (ray, hit) in rays.iter().zip(&together.answers) {
        assert_eq!(*hit, tree.cpu.nearest_hits(&[*ray]).unwrap().answers[0], "{ray:?}");
    }
    let far = together.answers.iter().filter(|hit| hit.index >= 40_000 && hit.is_hit()).count();
    assert!((100..1_500).contains(&far) && together.report.answer_count > 1_000, "{far} of {:?}", together.report);
}

/// Points on a path through dense boxes, sparse boxes and a lattice: the predicted gathering distance is too short in
/// some places and too far in others.
#[test]
#[ignore = "long"]
fn points_that_go_through_the_tree_together_find_what_each_finds_alone() {
    let lattice = |i: usize| [i % 12, i / 12 % 12, i / 144].map(|x| 3.0 + 0.25 * x as f32);
    let mut boxes = Kind::Uniform.generate(3_000, 2);
    boxes.extend((0..12 * 12 * 12).map(|i| Aabb::new(lattice(i), lattice(i).map(|x| x + 0.125))));
    boxes.extend((0..40).map(|i| Aabb::new([-20.0 * i as f32; 3], [1.0 - 20.0 * i as f32; 3])));
    // Several boxes at one place, unbounded ones, and one that is invalid.
    boxes[..40].fill(Aabb::new([0.5; 3], [0.5, 0.5, 0.75]));
    boxes[41].max = [f32::INFINITY; 3];
    boxes[43].min[0] = f32::NAN;
    let n = boxes.len() as u32;
    let step = |i: usize| 1e-3 * i as f32;
    let way = |i: usize| match i / 1_000 {
        0 => [step(i), 0.5 * step(i), 1.0 - step(i)],
        1 => [3.0 + 3.0 * step(i - 1_000), 4.0 + step(i % 10), 4.125 + step(i % 7)],
        2 => [0.5, 0.5, 0.5 + step((i - 2_000) / 100)],
        _ => [3.0 - 600.0 * step(i - 3_000); 3],
    };
    let mut points: Vec<NearestQuery> = (0..4_000).map(|i| NearestQuery::new(way(i))).collect();
    for (i, query) in points.iter_mut().enumerate() {
        query.radius = [f32::INFINITY, f32::INFINITY, 0.125, f32::MAX, 0.0, 2.0][i / 60 % 6];
    }
    (points[17].point[1], points[600].radius) = (f32::NAN, -1.0);
    let world = (0..n).map(|i| if i % 5 == 4 { Filters::GLOBAL } else { i % 5 }).collect();
    let of_points = QueryFilters::default().with_world((0..4_000).map(|i| i / 50 % 7).collect());
    let mut tree = cpu::Tree::new();
    for filters in [Filters::default(), Filters::default().with_world(world)] {
        tree.set_filters(filters).unwrap();
        for scale in [1.0, 1e25] {
            let scaled = |x: [f32; 3]| x.map(|x| x * scale);
            let boxes: Vec<Aabb> = boxes.iter().map(|aabb| Aabb::new(scaled(aabb.min), scaled(aabb.max))).collect();
            let scaled =
                |query: &NearestQuery| NearestQuery { point: scaled(query.point), radius: query.radius * scale };
            let points: Vec<NearestQuery> = points.iter().map(scaled).collect();
            tree.build(&boxes).unwrap();
            for k in [1, 4, 10, 65, 300, n as usize + 1] {
                let points = if k > 100 { &points[..1_500] } else { &points };
                let of_queries = QueryFilters::default().with_world(of_points.world[..points.len()].to_vec());
                let together = tree.nearest(Batch::new(points).with_filters(&of_queries), k).unwrap();
                assert_eq!(together.report.invalid_count, 2);
                for (i, query) in points.iter().enumerate() {
                    let of_queries = QueryFilters::default().with_world(vec![of_queries.world[i]]);
                    let alone = tree.nearest(Batch::new(&[*query][..]).with_filters(&of_queries), k).unwrap();
                    assert_eq!(&together[i], alone.answers, "{k}: {query:?}");
                }
            }
        }
    }
}

/// Boxes whose order `f32` cannot decide, and boxes that all contain the points: only exact comparisons and indices put
/// them in order.
#[test]
fn points_that_go_together_find_the_nearest_of_boxes_that_seem_equally_near() {
    let mut points: Vec<_> = (0..24).map(|i| NearestQuery::new([1e8, (i % 5) as f32, 0.5])).collect();
    points.extend((0..24).map(|i| NearestQuery::new([0.5, 0.02 * i as f32, 0.5])));
    let mut tree = cpu::Tree::new();
    // Few enough that all are gathered for the far points, and, of the last, for those within.
    for (n, wanted) in [(12, &[1, 3, 10, 30][..]), (150, &[10, 64, 100, 400]), (3_000, &[1, 64, 250, 1_000, 7_000])] {
        let mut boxes = Kind::Uniform.generate(n, 2);
        let reach = |i: usize| 2.0 + (i * 7 % n) as f32 / 1_000.0;
        boxes.extend((0..n).map(|i| Aabb::new([-reach(i); 3], [reach(i); 3])));
        tree.build(&boxes).unwrap();
        for &k in wanted {
            let found = tree.nearest(&points, k).unwrap();
            let expected = brute_queries::nearest((&points).into(), &boxes, &Filters::default(), k).unwrap();
            assert!(found.offsets == expected.offsets && found.answers == expected.answers, "{k} of {n}");
        }
    }
}
