//! The count of answers and their order: long lists, first hits and nearest boxes.

use broadsweep::query::{Batch, Convex, NearestQuery, QueryFilters, Sphere};
use broadsweep::{Aabb, Filters, Ray, Tree, cpu};
use laboratory::scenes::Kind;
use laboratory::scenes::queries::{RayKind, points};

use super::both::Both;
use crate::common::GPU;

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
