//! Trees of every shape of scene: built, refitted, and queried in bulk on any number of threads.

use std::collections::HashSet;

use broadsweep::internals::brute_queries;
use broadsweep::query::{
    Batch, BoxCast, Convex, NearestQuery, OrientedBox, QueryFilters, QueryLoad, Question, Sphere, SphereCast,
    TreeReport,
};
use broadsweep::{
    Aabb, Answers, AnyEngine, AnyTree, Engine, Error, Filters, Gpu, Hit, Lists, Options, QueryEngine, Ray, Tree, cpu,
    wgpu,
};
use laboratory::scenes::Kind;
use laboratory::scenes::queries::{RayKind, beams, cubes, points};

use super::both::{Both, GPU};
use super::oracle;

/// A tree's answers to queries that are generated for a scene.
#[derive(Debug, PartialEq)]
struct All {
    nearest: Answers<Hit>,
    all: Lists<Hit>,
    touching: Lists<u32>,
    near: Lists<broadsweep::query::Near>,
}

fn answers_of(tree: &Both, boxes: &[Aabb], count: usize) -> All {
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
fn trees_answer_the_same_in_any_number_of_dispatches() {
    assert_same_as_on_the_cpu(&GPU, &Kind::ALL);
    // So few turns that most queries take several dispatches, and some take dozens.
    for (turns, kinds) in [(60, [Kind::Clusters, Kind::Touching]), (400, [Kind::Identical, Kind::Uniform])] {
        assert_same_as_on_the_cpu(&GPU.clone().with_turns(turns), &kinds);
    }
}

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

/// Compares a tree on this device with one on the CPU.
fn assert_same_as_on_the_cpu(gpu: &Gpu, kinds: &[Kind]) {
    let (mut tree, mut on_cpu) = (Tree::new(gpu).unwrap(), cpu::Tree::new());
    for kind in kinds {
        let boxes = kind.generate(300, 3);
        let mut rays: Vec<Ray> = RayKind::ALL.iter().flat_map(|kind| kind.generate(20, 7, &boxes)).collect();
        // Rays that touch corners and faces are undecided in `f32`.
        rays.extend(boxes.iter().take(20).map(|aabb| Ray::new(aabb.min, aabb.max)));
        let some = || boxes.iter().take(20);
        let balls: Vec<Sphere> = some().map(|aabb| Sphere { center: aabb.min, radius: 1.5 }).collect();
        // A third of a turn about z, and then some.
        let axes = [[0.6, 0.8, 0.0], [-0.8, 0.6, 0.0], [0.0, 0.0, 1.0]];
        let turned = |aabb: &Aabb| OrientedBox { center: aabb.min, half: [2.0, 1.0, 0.5], axes };
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

#[test]
fn any_number_of_answers_may_be_requested() {
    let boxes = Kind::Uniform.generate(300, 2);
    let points: Vec<_> = (0..20).map(|i| NearestQuery::new([0.1 * i as f32; 3])).collect();
    let rays = RayKind::Incoherent.generate(20, 7, &boxes);
    let mut tree = cpu::Tree::new();
    tree.build(&boxes).unwrap();
    let (near, hits) = (tree.nearest(&points, 300).unwrap(), tree.first_hits(&rays, 300).unwrap());
    assert_eq!(near.answers.len(), 6_000);
    for k in [301, usize::MAX / 2 + 1, usize::MAX / 2 + 2, usize::MAX] {
        assert!(tree.nearest(&points, k).unwrap() == near && tree.first_hits(&rays, k).unwrap() == hits, "{k}");
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

#[test]
fn a_tree_that_is_not_built_and_no_answers_to_rank_are_refused() {
    let mut tree = Both::new();
    let (rays, points) = ([Ray::new([0.0; 3], [1.0; 3])], [NearestQuery::new([0.0; 3])]);
    assert_eq!(tree.nearest_hits(&rays).unwrap_err(), Error::NotBuilt);
    assert_eq!(tree.first_hits(&rays, 0).unwrap_err(), Error::NotBuilt);
    assert_eq!(tree.any_hits(&rays).unwrap_err(), Error::NotBuilt);
    assert_eq!(tree.all_hits(&rays).unwrap_err(), Error::NotBuilt);
    assert_eq!(tree.overlaps(&[[0.0; 3]]).unwrap_err(), Error::NotBuilt);
    assert_eq!(tree.nearest(&points, 1).unwrap_err(), Error::NotBuilt);
    assert_eq!(tree.refit(&[]).unwrap_err(), Error::NotBuilt);
    assert_eq!(tree.refit(&[Aabb::new([1.0; 3], [2.0; 3])]).unwrap_err(), Error::NotBuilt);
    let expected = Error::BadOption { option: "k", value: "0".to_owned(), expected: "at least 1" };
    for boxes in [&[][..], &[Aabb::new([1.0; 3], [2.0; 3])]] {
        tree.build(boxes).unwrap();
        assert_eq!(tree.refit(boxes).unwrap().box_count as usize, boxes.len());
        assert_eq!(tree.first_hits(&rays, 0).unwrap_err(), expected);
        assert_eq!(tree.nearest(&points, 0).unwrap_err(), expected);
        assert_eq!(tree.nearest(&points, 1).unwrap().answers.len(), boxes.len());
    }
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
    let adapter =
        pollster::block_on(wgpu::Instance::default().request_adapter(&wgpu::RequestAdapterOptions::default()));
    let descriptor = wgpu::DeviceDescriptor { required_limits: limits, ..Default::default() };
    let (device, queue) = pollster::block_on(adapter.unwrap().request_device(&descriptor)).unwrap();
    let gpu = Gpu::from_device(device, queue).unwrap();
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

#[test]
#[ignore = "long"]
fn a_long_list_comes_in_windows_and_a_long_row_in_parts() {
    // Every box is an answer: the lists are longer than a query may write in one dispatch, and all than one window.
    let boxes = [Aabb::new([0.0; 3], [1.0; 3]); 30_000];
    let mut tree = Both::new();
    tree.build(&boxes).unwrap();
    let lists = tree.overlaps(&[[0.5; 3]; 290]).unwrap();
    assert!(lists.iter().all(|row| row.iter().copied().eq(0..30_000)));
    let hits = tree.all_hits(&[Ray::new([-1.0, 0.5, 0.5], [1.0, 0.0, 0.0]); 3]).unwrap();
    assert!(hits.iter().all(|row| row.iter().map(|hit| (hit.index, hit.t)).eq((0..30_000).map(|i| (i, 1.0)))));
    let near = tree.nearest(&[NearestQuery::new([2.0; 3])], 300).unwrap();
    assert!(near[0].iter().map(|near| (near.index, near.squared_distance)).eq((0..300).map(|i| (i, 3.0))));
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
    // Few threads plan the way of boxes with the build, many with the first refit.
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
                // Few boxes in between, which are loaded from where they lie.
                tree.build(&boxes[..1000]).unwrap();
                tree.refit(&moved[..1000]).unwrap();
            }
        });
    }
}

#[test]
fn the_gpu_refuses_shapes_of_too_many_half_spaces() {
    let mut tree = Both::new();
    tree.build(&[Aabb::new([0.0; 3], [1.0; 3])]).unwrap();
    let parts = [[1.0, 0.0, 0.0, 2.0]; Convex::MOST_ON_GPU + 1];
    let shapes = [Convex { half_spaces: &parts[1..] }, Convex { half_spaces: &parts }];
    assert_eq!(&tree.overlaps(&shapes[..1]).unwrap()[0], [0]);
    let refused = tree.gpu.get_mut().overlaps(&shapes).unwrap_err();
    assert_eq!(refused, Error::TooManyHalfSpaces { index: 1, count: 65, most: 64 });
    assert_eq!(&tree.cpu.overlaps(&shapes).unwrap()[1], [0]);
}

#[test]
fn calls_that_do_not_block_answer_the_same() {
    let boxes = Kind::Clusters.generate(2_000, 3);
    let moved: Vec<Aabb> = boxes.iter().map(|aabb| Aabb::new(aabb.min, aabb.max.map(|x| x + 0.01))).collect();
    let mut tree = Both::new();
    tree.cpu.build(&boxes).unwrap();
    let (rays, points) = (RayKind::Incoherent.generate(2_000, 7, &boxes), points(50, 7, &boxes));
    let same = |cpu: &cpu::Tree, gpu: &mut Tree| {
        let cubes = cubes(50, 7, &boxes, 10.0);
        assert_eq!(
            pollster::block_on(gpu.asynchronous().nearest_hits(&rays)).unwrap(),
            cpu.nearest_hits(&rays).unwrap()
        );
        assert_eq!(
            pollster::block_on(gpu.asynchronous().first_hits(&rays, 3)).unwrap(),
            cpu.first_hits(&rays, 3).unwrap()
        );
        assert_eq!(pollster::block_on(gpu.asynchronous().any_hits(&rays)).unwrap(), cpu.any_hits(&rays).unwrap());
        assert_eq!(pollster::block_on(gpu.asynchronous().all_hits(&rays)).unwrap(), cpu.all_hits(&rays).unwrap());
        assert_eq!(pollster::block_on(gpu.asynchronous().overlaps(&cubes)).unwrap(), cpu.overlaps(&cubes).unwrap());
        assert_eq!(
            pollster::block_on(gpu.asynchronous().nearest(&points, 3)).unwrap(),
            cpu.nearest(&points, 3).unwrap()
        );
    };
    let gpu = tree.gpu.get_mut();
    pollster::block_on(gpu.asynchronous().build(&boxes)).unwrap();
    same(&tree.cpu, gpu);
    pollster::block_on(gpu.asynchronous().refit(&moved)).unwrap();
    tree.cpu.refit(&moved).unwrap();
    same(&tree.cpu, gpu);
    // And of boxes that lie on the device.
    let (before, after) = [&boxes, &moved].map(|boxes| buffer_of(&GPU, boxes, wgpu::BufferUsages::STORAGE)).into();
    pollster::block_on(gpu.asynchronous().build((before.slice(256..), 2_000))).unwrap();
    pollster::block_on(gpu.asynchronous().refit((after.slice(256..), 2_000))).unwrap();
    same(&tree.cpu, gpu);
}

#[test]
fn radii_that_are_larger_than_any_usual_number_are_compared() {
    let boxes = [Aabb::new([1.1e18, 0.0, 0.0], [1.1e18, 0.0, 0.0]), Aabb::new([0.0; 3], [1.0; 3])];
    let mut tree = Both::new();
    tree.build(&boxes).unwrap();
    for (radius, expected) in [(1.2e18, &[1][..]), (2.1e18, &[1]), (2.3e18, &[0, 1]), (1e19, &[0, 1])] {
        let center = [-1.1e18, 0.0, 0.0];
        assert_eq!(&tree.overlaps(&[Sphere { center, radius }]).unwrap()[0], expected, "{radius}");
        let near = tree.nearest(&[NearestQuery { point: center, radius }], 5).unwrap();
        assert_eq!(near.answers.len(), expected.len(), "{radius}");
    }
}

/// Rows of boxes that are equally near, nearly equally near, or all contain the point. The rows are longer than one
/// dispatch in software can write, and longer than one row of top-k slots.
#[test]
#[ignore = "long"]
fn first_answers_of_any_number_come_in_order() {
    let lattice = |step: f32| {
        let point = move |i: usize| [i % 16, i / 16 % 16, i / 256].map(|x| x as f32 * step);
        (0..16 * 16 * 16).map(move |i| Aabb::new(point(i), point(i).map(|x| x + step / 2.0))).collect::<Vec<_>>()
    };
    // Nested boxes: each point is in hundreds of them, and no two of these begin at one place along any ray.
    let nested = (0..3_000).map(|i| {
        let reach = 8.0 + (i * 7 % 3_000) as f32 / 1_000.0;
        Aabb::new([-reach; 3], [reach; 3])
    });
    let mut same = vec![Aabb::new([3.0; 3], [4.0; 3]); 300];
    same.extend(Kind::Uniform.generate(3_000, 3));
    let mut nearly = lattice(1.0);
    for (i, aabb) in nearly.iter_mut().enumerate() {
        aabb.max[i % 3] = f32::from_bits(aabb.max[i % 3].to_bits() + (i % 5) as u32);
    }
    let scenes = [lattice(1.0), lattice(0.1), nearly, nested.collect(), same, Kind::Uniform.generate(20_000, 1)];
    for (number, boxes) in scenes.iter().enumerate() {
        let mut tree = Both::new();
        tree.build(boxes).unwrap();
        let mut queried = points(30, 7, boxes);
        queried.extend((0..24).map(|i| NearestQuery::new([(i % 16) as f32 + 0.25, 7.5, (i / 2) as f32])));
        let mut rays = RayKind::Incoherent.generate(30, 7, boxes);
        rays.extend((0..24).map(|i| Ray::new([-20.0, (i % 16) as f32 + 0.5, 7.25], [1.0, 0.0, (i / 16) as f32])));
        for k in [2, 63, 64, 150] {
            let near = tree.nearest(&queried, k).unwrap();
            let first = tree.first_hits(&rays, k).unwrap();
            assert!(near.answers.len() == queried.len() * k.min(boxes.len()), "scene {number}: {k}");
            assert!(
                near.iter().all(|row| row.windows(2).all(|pair| pair[0].squared_distance <= pair[1].squared_distance))
            );
            assert!(first.iter().all(|row| row.windows(2).all(|pair| pair[0].t <= pair[1].t)), "scene {number}: {k}");
        }
    }
}

/// Boxes whose order is a heap as far as `f32` can prove. Each is farther than its parent by more than an error bound,
/// so the deeper the heap, the farther the last box is from the first.
#[test]
#[ignore = "long"]
fn no_answer_is_lost_where_each_comparison_is_undecided() {
    let farther = |i: usize| [1, 2, 5, 6, 13, 14, 29, 30, 61, 62].iter().position(|&at| at == i).map_or(0, |s| s + 1);
    for step in 1..40 {
        let ulp = |i: usize, of: f32| (step * farther(i)) as f32 * of;
        let (by_hits, by_distance): (Vec<Aabb>, Vec<Aabb>) = (0..64)
            .map(|i| {
                let (t, a) = (1.0 + ulp(i, f32::EPSILON), 0.99 + ulp(i, f32::EPSILON / 2.0));
                (Aabb::new([t, -1.0, -1.0], [3.0 - t, 1.0, 1.0]), Aabb::new([a, -1.0, -1.0], [1.985 - a, 1.0, 1.0]))
            })
            .unzip();
        let mut tree = Both::new();
        for k in [31, 63, 64] {
            tree.build(&by_hits).unwrap();
            let found = tree.first_hits(&[Ray::new([0.0; 3], [1.0, 0.0, 0.0])], k).unwrap();
            assert_eq!(found.answers.len(), k, "hits, by {step}");
            tree.build(&by_distance).unwrap();
            assert_eq!(tree.nearest(&[NearestQuery::new([0.0; 3])], k).unwrap().answers.len(), k, "nearest, by {step}");
        }
    }
}

#[test]
fn a_query_that_looks_at_many_nodes_and_no_leaf_misses_nothing() {
    // Eight small boxes at each point of a lattice, and one between two of its layers.
    let point = |i: usize| [i % 32, i / 32 % 32, i / 1024].map(|x| x as f32);
    let mut boxes: Vec<Aabb> =
        (0..32 * 32 * 32).flat_map(|i| [Aabb::new(point(i), point(i).map(|x| x + 0.01)); 8]).collect();
    boxes.push(Aabb::new([31.0, 31.0, 15.5], [31.0, 31.0, 15.5]));
    let mut parts = vec![[1.0, 0.0, 0.0, 100.0]; 62];
    parts.extend([[0.0, 0.0, 1.0, 15.5], [0.0, 0.0, -1.0, -15.5]]);
    let mut tree = Both::new();
    tree.build(&boxes).unwrap();
    let found = tree.overlaps(&[Convex { half_spaces: &parts }; 9]).unwrap();
    assert!(found.iter().all(|row| row == [32 * 32 * 32 * 8]));
}

#[test]
fn a_lost_device_is_an_error_of_every_call() {
    let gpu = Gpu::headless().unwrap();
    let boxes = Kind::Uniform.generate(2_000, 1);
    let mut tree = Tree::new(&gpu).unwrap();
    tree.build(&boxes).unwrap();
    let (rays, points) = (RayKind::Incoherent.generate(2_000, 7, &boxes), points(20, 7, &boxes));
    tree.nearest_hits(&rays).unwrap();
    gpu.device().destroy();
    let lost = |result: Result<(), Error>| assert!(matches!(result, Err(Error::DeviceLost { .. })), "{result:?}");
    lost(tree.nearest_hits(&rays).map(drop));
    lost(tree.first_hits(&rays, 3).map(drop));
    lost(tree.any_hits(&rays).map(drop));
    lost(tree.all_hits(&rays).map(drop));
    lost(tree.overlaps(&boxes[..10]).map(drop));
    lost(tree.nearest(&points, 100).map(drop));
    lost(tree.refit(&boxes).map(drop));
    lost(tree.build(&boxes).map(drop));
    lost(tree.build(&boxes[..3]).map(drop));
}

#[test]
fn calls_that_do_not_block_may_wait_on_any_thread() {
    fn is_send(_: &impl Send) {}
    let boxes = Kind::Uniform.generate(10, 1);
    let mut tree = Both::new();
    let gpu = tree.gpu.get_mut();
    is_send(&gpu.asynchronous().build(&boxes));
    is_send(&gpu.asynchronous().overlaps(&boxes));
}

/// Returns a buffer with these boxes from byte 256 on.
fn buffer_of(gpu: &Gpu, boxes: &[Aabb], usage: wgpu::BufferUsages) -> wgpu::Buffer {
    let size = 256 + boxes.len() as u64 * 24;
    let descriptor = wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: true };
    let buffer = gpu.device().create_buffer(&descriptor);
    buffer.slice(..).get_mapped_range_mut().unwrap().slice(256..).copy_from_slice(bytemuck::cast_slice(boxes));
    buffer.unmap();
    buffer
}

#[test]
#[ignore = "long"]
fn a_tree_of_boxes_on_the_device_is_that_of_the_same_boxes_on_the_host() {
    let gpu = GPU.clone();
    let usage = wgpu::BufferUsages::STORAGE;
    let (mut from_host, mut from_device) = (Tree::new(&gpu).unwrap(), Tree::new(&gpu).unwrap());
    for n in [1, 9, 3000] {
        let mut boxes = Kind::Uniform.generate(n, 3);
        boxes[n / 2].min[1] = f32::NAN;
        let plain = Filters::default();
        let margins = Filters::default()
            .with_margin(vec![0.02; n])
            .with_world((0..n as u32).map(|i| if i % 7 == 0 { Filters::GLOBAL } else { i % 3 }).collect());
        for filters in [plain, margins] {
            from_host.set_filters(filters.clone()).unwrap();
            from_device.set_filters(filters).unwrap();
            let mut moved = boxes.clone();
            for step in 0..2 {
                let on_device = buffer_of(&gpu, &moved, usage);
                let (slice, count) = (on_device.slice(256..), n as u32);
                let reports = if step == 0 {
                    [from_host.build(&moved).unwrap(), from_device.build((slice, count)).unwrap()]
                } else {
                    [from_host.refit(&moved).unwrap(), from_device.refit((slice, count)).unwrap()]
                };
                let without_bytes = reports.map(|report| {
                    let TreeReport { box_count, invalid_count, first_invalid, growth, .. } = report.clone();
                    (box_count, invalid_count, first_invalid, growth)
                });
                assert_eq!(without_bytes[0], without_bytes[1]);
                let queried = cubes(200, 1, &boxes, 5.0);
                assert_eq!(from_host.overlaps(&queried[..]).unwrap(), from_device.overlaps(&queried[..]).unwrap());
                let points = points(200, 2, &boxes);
                assert_eq!(from_host.nearest(&points, 3).unwrap(), from_device.nearest(&points, 3).unwrap());
                for aabb in &mut moved {
                    *aabb = Aabb::new(aabb.min.map(|x| x + 0.25), aabb.max.map(|x| x + 0.25));
                }
            }
        }
    }
    // A tree built of one may be refitted to the other, and the buffer may be one that pairs are found in.
    let boxes = Kind::Uniform.generate(3000, 5);
    let on_device = buffer_of(&gpu, &boxes, usage);
    for tree in [&mut from_host, &mut from_device] {
        tree.set_filters(Filters::default()).unwrap();
    }
    from_host.build(&boxes).unwrap();
    from_host.refit((on_device.slice(256..), 3000)).unwrap();
    from_device.build((on_device.slice(256..), 3000)).unwrap();
    from_device.refit(&boxes).unwrap();
    let queried = cubes(200, 1, &boxes, 5.0);
    assert_eq!(from_host.overlaps(&queried[..]).unwrap(), from_device.overlaps(&queried[..]).unwrap());
}

#[test]
fn a_buffer_that_cannot_be_a_tree_is_refused() {
    let gpu = GPU.clone();
    let boxes = Kind::Uniform.generate(20, 5);
    let good = buffer_of(&gpu, &boxes, wgpu::BufferUsages::STORAGE);
    let no_storage = buffer_of(&gpu, &boxes, wgpu::BufferUsages::VERTEX);
    let mut tree = Tree::new(&gpu).unwrap();
    for (slice, problem) in [
        (good.slice(256..), "holds 480 bytes, and 21 boxes take 504"),
        (good.slice(4..), "is used from byte 4 on"),
        (no_storage.slice(..), "was created without BufferUsages::STORAGE"),
    ] {
        let count = if problem.starts_with("holds") { 21 } else { 20 };
        tree.build(&boxes).unwrap();
        // A refit that is refused leaves the tree as it is, a build does not.
        if count == 20 {
            let refused = tree.refit((slice, count));
            assert!(
                matches!(&refused, Err(Error::BadBuffer { problem: found, .. }) if found.contains(problem)),
                "{refused:?}"
            );
            assert_eq!(tree.report().box_count, 20);
        }
        let refused = tree.build((slice, count));
        assert!(
            matches!(&refused, Err(Error::BadBuffer { problem: found, .. }) if found.contains(problem)),
            "{refused:?}"
        );
        assert_eq!(tree.report().box_count, 0);
    }
    assert!(matches!(tree.refit((good.slice(256..), 20)), Err(Error::NotBuilt)));
    assert_eq!(tree.build((good.slice(..), 0)).unwrap().box_count, 0);
}

#[test]
fn boxes_that_are_all_equally_near_come_by_index() {
    // All points with integer coordinates on a sphere: no two have the same squares, and only exact sums show that all
    // distances are equal.
    let square = 60_014;
    let points = (-244..=244).rev().flat_map(|x| (-244..=244).rev().map(move |y| (x, y)));
    let boxes: Vec<Aabb> = points
        .filter_map(|(x, y)| {
            let rest = square - x * x - y * y;
            let z = f64::from(rest.max(0)).sqrt() as i32;
            (rest >= 0 && z * z == rest).then_some((x, y, z))
        })
        .flat_map(|(x, y, z)| if z == 0 { vec![[x, y, 0]] } else { vec![[x, y, z], [x, y, -z]] })
        .map(|point| Aabb::new(point.map(|x| x as f32), point.map(|x| x as f32)))
        .collect();
    assert_eq!(boxes.len(), 4464);
    // Queries that run together have boxes in different parts of the tree. The boxes of each query have smaller indices
    // than those of the query before.
    let n = 16;
    let part = |i: usize| 7 - i * 8 / boxes.len();
    let of_boxes = Filters::default().with_group((0..boxes.len()).map(|i| 1 << part(i)).collect());
    let filters = QueryFilters::default().with_mask((0..n).map(|j| 1 << (j % 8)).collect());
    let of_boxes = of_boxes.with_rule(broadsweep::filter::GroupRule::Both);
    let queries = vec![NearestQuery::new([0.0; 3]); n];
    let batch = Batch::new(&queries).with_filters(&filters);
    let mut tree = Tree::new(&GPU).unwrap();
    tree.set_filters(of_boxes).unwrap();
    tree.build(&boxes).unwrap();
    for k in [1, 64, 100] {
        let found = tree.nearest(batch, k).unwrap();
        for (j, row) in found.iter().enumerate() {
            let own = (0..).zip(&boxes).map(|(i, _)| i).filter(|&i| part(i as usize) == j % 8).take(k);
            assert_eq!(row.iter().map(|near| near.index).collect::<Vec<u32>>(), own.collect::<Vec<u32>>(), "{k}, {j}");
            assert!(row.iter().all(|near| near.squared_distance == square as f32));
        }
    }
}

#[test]
fn a_tree_that_is_chosen_at_run_time_answers_as_its_own_type_does() {
    let boxes = Kind::Uniform.generate(300, 1);
    let rays = RayKind::Incoherent.generate(40, 1, &boxes);
    let mut own = cpu::Tree::new();
    own.build(&boxes).unwrap();
    let expected = (own.nearest_hits(&rays).unwrap(), own.overlaps(&boxes).unwrap());
    for mut tree in [AnyTree::from(Tree::new(&GPU).unwrap()), cpu::Tree::new().into()] {
        tree.build(&boxes).unwrap();
        assert_eq!((tree.nearest_hits(&rays).unwrap(), tree.overlaps(&boxes).unwrap()), expected);
        let (hits, touching) = &expected;
        assert_eq!(hits.into_iter().len(), 40);
        assert_eq!((touching.len(), touching.iter().len(), touching.is_empty()), (300, 300, false));
        // Each box touches itself.
        assert!(touching.into_iter().enumerate().all(|(i, list)| list.contains(&(i as u32)) && list == &touching[i]));
        assert_eq!(hits[3].index, hits.answers[3].index);
        tree.set_filters(Filters::default().with_group(vec![0; 300]).with_mask(vec![0; 300])).unwrap();
        assert_eq!(tree.filters().group.len(), 300);
    }
}

#[test]
fn the_engine_of_a_machine_is_on_its_gpu_unless_that_is_a_software_driver() {
    let is_gpu = GPU.adapter_info().device_type != wgpu::DeviceType::Cpu;
    let boxes = [Aabb::new([0.0; 3], [1.0; 3]); 3];
    let mut engine = AnyEngine::auto(Options::default()).unwrap();
    assert_eq!((engine.is_gpu(), engine.find_pairs(&boxes).unwrap().pairs.len()), (is_gpu, 3));
    let mut tree = AnyTree::auto().unwrap();
    tree.build(&boxes).unwrap();
    assert_eq!((tree.is_gpu(), tree.overlaps(&boxes).unwrap().answers.len()), (is_gpu, 9));
    let bad = Options::default().with_step_margin(Some(-1.0));
    assert!(matches!(AnyEngine::auto(bad), Err(Error::BadOption { .. })));
}
