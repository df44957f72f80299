//! Each kind of query, with boxes and queries that meet in faces, edges and corners, and with numbers of every size.

use broadsweep::query::{Batch, Cast, Near};
use broadsweep::{Aabb, Hit, Lists};

use super::both::Both;
use super::cases;
use super::numbers::{Like, Numbers};
use super::oracle::{self, Moving};

/// Scenes of each kind of numbers, and queries of each.
const SCENES: u64 = 16;
const QUERIES: usize = 72;

fn tree(boxes: &[Aabb]) -> Both {
    let mut tree = Both::new();
    tree.build(boxes).unwrap();
    tree
}

/// Hits in a form that distinguishes −0 from 0.
fn bits(hits: &[Hit]) -> Vec<(u32, u32)> {
    hits.iter().map(|hit| (hit.index, hit.t.to_bits())).collect()
}

fn near_bits(near: &[Near]) -> Vec<(u32, u32)> {
    near.iter().map(|near| (near.index, near.squared_distance.to_bits())).collect()
}

fn check_casts<C: Cast + Moving + std::fmt::Debug>(make: impl Fn(&mut Numbers, &[Aabb], Like) -> C) {
    let (mut queried, mut answered) = (0, 0);
    cases::each(SCENES, |what, like, boxes, numbers| {
        let casts: Vec<C> = (0..QUERIES).map(|_| make(numbers, boxes, like)).collect();
        let tree = tree(boxes);
        let nearest = tree.nearest_hits(&casts).unwrap();
        let any = tree.any_hits(&casts).unwrap();
        let all = tree.all_hits(&casts).unwrap();
        let first: Lists<Hit> = tree.first_hits(&casts, 3).unwrap();
        for (i, cast) in casts.iter().enumerate() {
            let what = format!("{what}, {cast:?}");
            let mut expected = oracle::hits(cast, boxes, |_| true);
            let best = expected.first().copied().unwrap_or(Hit::MISS);
            assert_eq!(bits(&[nearest.answers[i]]), bits(&[best]), "{what}");
            assert_eq!(any.answers[i], !expected.is_empty(), "{what}");
            assert_eq!(bits(&first[i]), bits(&expected[..expected.len().min(3)]), "{what}");
            answered += expected.len();
            expected.sort_by_key(|hit| hit.index);
            assert_eq!(bits(&all[i]), bits(&expected), "{what}");
        }
        assert_eq!(nearest.report.query_count, QUERIES as u64);
        assert_eq!(nearest.report.invalid_count, 0);
        assert_eq!(nearest.report.answer_count, any.answers.iter().filter(|&&hit| hit).count() as u64);
        assert_eq!(all.report.answer_count, all.answers.len() as u64);
        queried += QUERIES;
    });
    assert!(queried > 5_000 && answered > queried / 2, "{queried} queries, {answered} answers");
}

#[test]
#[ignore = "long"]
fn rays_hit_at_the_times_of_exact_arithmetic() {
    check_casts(|numbers, boxes, like| numbers.ray(boxes, like));
}

#[test]
#[ignore = "long"]
fn moving_boxes_hit_at_the_times_of_exact_arithmetic() {
    check_casts(|numbers, boxes, like| numbers.cast(boxes, like));
}

#[test]
#[ignore = "long"]
fn points_and_boxes_touch_what_pairs_would() {
    let mut queried = 0;
    cases::each(SCENES, |what, like, boxes, numbers| {
        let tree = tree(boxes);
        let points: Vec<[f32; 3]> = (0..QUERIES).map(|_| numbers.origin(boxes, like)).collect();
        let regions: Vec<Aabb> = (0..QUERIES).map(|_| numbers.region(boxes, like)).collect();
        let (of_points, of_regions) = (tree.overlaps(&points).unwrap(), tree.overlaps(&regions).unwrap());
        let touching = |region: &Aabb| -> Vec<u32> {
            (0..).zip(boxes).filter(|(_, aabb)| region.overlaps(aabb)).map(|(i, _)| i).collect()
        };
        for i in 0..QUERIES {
            let point = Aabb::new(points[i], points[i]);
            assert_eq!(&of_points[i], touching(&point), "{what}, {point:?}");
            assert_eq!(&of_regions[i], touching(&regions[i]), "{what}, {:?}", regions[i]);
        }
        queried += QUERIES;
    });
    assert!(queried > 5_000, "{queried} queries");
}

#[test]
#[ignore = "long"]
fn infinite_points_and_boxes_touch_what_pairs_would() {
    let (inf, all) = (f32::INFINITY, Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]));
    let boxes = [all, Aabb::new([inf; 3], [inf; 3]), Aabb::new([0.0; 3], [1.0; 3]), Aabb::new([0.0; 3], [inf; 3])];
    let tree = tree(&boxes);
    let queried = [all, Aabb::new([inf; 3], [inf; 3]), Aabb::new([f32::MAX; 3], [inf; 3])];
    let lists = tree.overlaps(&queried).unwrap();
    for (i, region) in queried.iter().enumerate() {
        let expected: Vec<u32> = (0..4).filter(|&j| region.overlaps(&boxes[j as usize])).collect();
        assert_eq!(&lists[i], expected, "{region:?}");
    }
    assert_eq!(&tree.overlaps(&[[inf; 3]]).unwrap()[0], [0, 1, 3]);
}

#[test]
#[ignore = "long"]
fn spheres_touch_the_boxes_of_exact_arithmetic() {
    let (mut queried, mut answered) = (0, 0);
    cases::each(SCENES, |what, like, boxes, numbers| {
        let tree = tree(boxes);
        let spheres: Vec<_> = (0..QUERIES).map(|_| numbers.sphere(boxes, like)).collect();
        let lists = tree.overlaps(&spheres).unwrap();
        for (i, sphere) in spheres.iter().enumerate() {
            let touching = (0..).zip(boxes).filter(|(_, aabb)| oracle::touches(sphere, aabb));
            let expected: Vec<u32> = touching.map(|(i, _)| i).collect();
            assert_eq!(&lists[i], expected, "{what}, {sphere:?}");
            answered += expected.len();
        }
        queried += QUERIES;
    });
    assert!(queried > 5_000 && answered > queried / 2, "{queried} queries, {answered} answers");
}

#[test]
#[ignore = "long"]
fn the_nearest_boxes_are_those_of_exact_arithmetic() {
    let (mut queried, mut answered) = (0, 0);
    cases::each(SCENES, |what, like, boxes, numbers| {
        let tree = tree(boxes);
        let queries: Vec<_> = (0..QUERIES).map(|_| numbers.nearest(boxes, like)).collect();
        for k in if queried % (4 * QUERIES) == 0 { [1, 5, 1000] } else { [1, 5, 12] } {
            let lists = tree.nearest(&queries, k).unwrap();
            for (i, query) in queries.iter().enumerate() {
                let expected = oracle::near(query, boxes, |_| true);
                let first = &expected[..expected.len().min(k)];
                assert_eq!(near_bits(&lists[i]), near_bits(first), "{what}, {k} of {query:?}");
                answered += first.len();
            }
        }
        queried += QUERIES;
    });
    assert!(queried > 5_000 && answered > queried / 2, "{queried} queries, {answered} answers");
}

#[test]
fn queries_without_meaning_are_reported_and_answer_nothing() {
    use broadsweep::Ray;
    use broadsweep::query::{BoxCast, NearestQuery, QueryFilters, Sphere};
    let tree = tree(&[Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]); 3]);
    let good = Ray::new([0.0; 3], [1.0; 3]);
    let bad = [
        Ray { origin: [0.0, f32::NAN, 0.0], ..good },
        Ray { direction: [f32::NAN, 0.0, 0.0], ..good },
        Ray { direction: [f32::INFINITY, 0.0, 0.0], ..good },
        Ray { origin: [f32::INFINITY; 3], ..good },
        Ray { limit: -1.0, ..good },
        Ray { limit: f32::NAN, ..good },
    ];
    let mut rays = vec![good];
    rays.extend(bad);
    rays.push(Ray { limit: -0.0, ..good });
    let hits = tree.nearest_hits(&rays).unwrap();
    assert!(hits.answers[1..7].iter().all(|hit| *hit == Hit::MISS));
    assert_eq!((hits.answers[0].index, hits.answers[7].index), (0, 0));
    assert_eq!((hits.report.invalid_count, &hits.report.first_invalid[..]), (6, &[1, 2, 3, 4, 5, 6][..]));
    let all = tree.all_hits(&rays).unwrap();
    assert_eq!((all[0].len(), all[3].len(), all.report.invalid_count), (3, 0, 6));
    assert_eq!(tree.any_hits(&rays).unwrap().report.invalid_count, 6);
    let spheres = [Sphere { center: [0.0; 3], radius: -1.0 }, Sphere { center: [f32::NAN; 3], radius: 1.0 }];
    let touching = tree.overlaps(&spheres).unwrap();
    assert_eq!((touching.offsets, touching.report.invalid_count), (vec![0, 0, 0], 2));
    let regions = [Aabb::new([1.0; 3], [0.0; 3]), Aabb::new([f32::NAN; 3], [0.0; 3])];
    assert_eq!(tree.overlaps(&regions).unwrap().report.first_invalid, [0, 1]);
    assert_eq!(tree.overlaps(&[[0.0, 0.0, f32::NAN]]).unwrap().report.invalid_count, 1);
    let casts = regions.map(|aabb| BoxCast { aabb, direction: [0.0; 3], limit: 1.0 });
    assert_eq!(tree.nearest_hits(&casts).unwrap().report.invalid_count, 2);
    let points = [NearestQuery { point: [0.0; 3], radius: f32::NAN }, NearestQuery::new([f32::INFINITY; 3])];
    assert_eq!(tree.nearest(&points, 1).unwrap().report.invalid_count, 2);
    // Many of them, in an order of their own.
    let many: Vec<Ray> = (0..5000).map(|i| if i % 100 == 7 { bad[0] } else { good }).collect();
    let boxes = vec![Aabb::new([0.0; 3], [1.0; 3]); 50];
    let mut tree = Both::new();
    tree.build(&boxes).unwrap();
    let report = tree.nearest_hits(Batch::new(&many).with_filters(QueryFilters::NONE)).unwrap().report;
    assert_eq!((report.invalid_count, &report.first_invalid[..2]), (50, &[7, 107][..]));
}
