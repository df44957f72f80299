//! Casts that leave out the boxes that they touch at the start.

use broadsweep::query::{Batch, BoxCast, CapsuleCast, Cast, QueryFilters, SphereCast};
use broadsweep::{Aabb, Hit, Ray};

use super::both::Both;
use super::cases;
use super::numbers::{Like, Numbers};
use super::oracle::{self, Moving};

fn skipping() -> QueryFilters {
    QueryFilters::default().with_skips_separating(true)
}

fn bits(hits: &[Hit]) -> Vec<(u32, u32)> {
    hits.iter().map(|hit| (hit.index, hit.t.to_bits())).collect()
}

/// Compares casts with exact arithmetic, and counts the hits at the start and the others.
fn check<C: Cast + Moving + std::fmt::Debug>(
    scenes: u64,
    count: usize,
    make: impl Fn(&mut Numbers, &[Aabb], Like) -> C,
) -> [usize; 2] {
    let (filters, mut counts) = (skipping(), [0, 0]);
    cases::each(scenes, |what, like, boxes, numbers| {
        let casts: Vec<C> = (0..count).map(|_| make(numbers, boxes, like)).collect();
        let mut tree = Both::new();
        tree.build(boxes).unwrap();
        let batch = Batch::new(&casts[..]).with_filters(&filters);
        let nearest = tree.nearest_hits(batch).unwrap();
        let (any, all) = (tree.any_hits(batch).unwrap(), tree.all_hits(batch).unwrap());
        let first = tree.first_hits(batch, 3).unwrap();
        for (i, cast) in casts.iter().enumerate() {
            let what = format!("{what}, {cast:?}");
            let at_start = |j: usize| oracle::touches_at_start(cast, &boxes[j]);
            counts[0] += (0..boxes.len()).filter(|&j| at_start(j)).count();
            let mut expected = oracle::hits(cast, boxes, |j| !at_start(j));
            counts[1] += expected.len();
            let best = expected.first().copied().unwrap_or(Hit::MISS);
            assert_eq!(bits(&[nearest.answers[i]]), bits(&[best]), "{what}");
            assert_eq!(any.answers[i], !expected.is_empty(), "{what}");
            assert_eq!(bits(&first[i]), bits(&expected[..expected.len().min(3)]), "{what}");
            expected.sort_by_key(|hit| hit.index);
            assert_eq!(bits(&all[i]), bits(&expected), "{what}");
        }
    });
    counts
}

#[test]
fn what_a_few_casts_touch_at_the_start_is_no_hit() {
    let of_rays = check(4, 40, |numbers, boxes, like| numbers.ray(boxes, like));
    let of_boxes = check(4, 40, |numbers, boxes, like| numbers.cast(boxes, like));
    assert!(of_rays.into_iter().chain(of_boxes).all(|count| count > 50), "{of_rays:?}, {of_boxes:?}");
}

#[test]
#[ignore = "long"]
fn what_many_casts_touch_at_the_start_is_no_hit() {
    let of_rays = check(16, 72, |numbers, boxes, like| numbers.ray(boxes, like));
    let of_boxes = check(16, 72, |numbers, boxes, like| numbers.cast(boxes, like));
    assert!(of_rays.into_iter().chain(of_boxes).all(|count| count > 1_000), "{of_rays:?}, {of_boxes:?}");
}

#[test]
fn what_stands_on_several_tiles_can_leave_all_of_them() {
    // Four tiles that touch, one that is penetrated, a wall, and one that is a hair away.
    let tile = |x: f32, z: f32| Aabb::new([x, 0.0, z], [x + 1.0, 1.0, z + 1.0]);
    let mut boxes = vec![tile(0.0, 0.0), tile(1.0, 0.0), tile(0.0, 1.0), tile(1.0, 1.0)];
    boxes.push(Aabb::new([0.9, 1.5, 0.9], [1.1, 3.0, 1.1]));
    boxes.push(Aabb::new([3.0, 0.0, 0.0], [4.0, 9.0, 2.0]));
    boxes.push(Aabb::new([0.5, f32::from_bits(3.0f32.to_bits() + 1), 0.5], [1.5, 4.0, 1.5]));
    let mut tree = Both::new();
    tree.build(&boxes).unwrap();
    let stand = Aabb::new([0.5, 1.0, 0.5], [1.5, 3.0, 1.5]);
    let cast = |direction| BoxCast { aabb: stand, direction, limit: f32::INFINITY };
    let casts = [cast([1.0, 0.0, 0.0]), cast([0.0, 1.0, 0.0]), cast([0.0, -1.0, 0.0]), cast([0.0; 3])];
    let filters = skipping();
    let hits = tree.nearest_hits(Batch::new(&casts).with_filters(&filters)).unwrap();
    assert_eq!(bits(&hits.answers[..1]), [(5, 1.5f32.to_bits())]);
    // The hair is less than any answered time can show, and it is a hit.
    assert_eq!(hits.answers[1].index, 6);
    assert!(hits.answers[1].t > 0.0 && hits.answers[1].t < 1e-6);
    assert_eq!(bits(&hits.answers[2..]), bits(&[Hit::MISS; 2]));
    assert_eq!(hits.report.answer_count, 2);
    // Without the option each of them is stuck.
    assert!(tree.nearest_hits(&casts).unwrap().answers.iter().all(|hit| (hit.index, hit.t) == (0, 0.0)));
}

#[test]
fn what_is_round_leaves_what_it_touches_itself() {
    // The bounding box touches the first one too, which only the capsule comes near to.
    let inside = Aabb::new([-0.5; 3], [-0.4; 3]);
    let boxes = [Aabb::new([0.9; 3], [2.0; 3]), Aabb::new([5.0, -1.0, -1.0], [6.0, 1.0, 1.0]), inside];
    let mut tree = Both::new();
    tree.build(&boxes).unwrap();
    let (center, radius, direction, limit) = ([0.0; 3], 1.0, [1.0, 0.0, 0.0], f32::INFINITY);
    let filters = skipping();
    let spheres = [SphereCast { center, radius, direction, limit }];
    let capsules = [CapsuleCast { from: center, to: [0.0, 0.5, 0.0], radius, direction, limit }];
    let hit = Hit { index: 1, t: 4.0 };
    assert_eq!(tree.nearest_hits(Batch::new(&spheres).with_filters(&filters)).unwrap().answers, [hit]);
    let hits = tree.all_hits(Batch::new(&capsules).with_filters(&filters)).unwrap();
    // A corner that is 0.4 and 0.9 beside the way.
    let expected = 0.9 - (1.0 - 0.4f32.powi(2) - 0.9f32.powi(2)).sqrt();
    assert!(hits[0][0].index == 0 && (hits[0][0].t - expected).abs() < 1e-5, "{:?}", &hits[0]);
    assert_eq!(hits[0][1..], [hit]);
    for casts in [tree.nearest_hits(&spheres).unwrap(), tree.nearest_hits(&capsules).unwrap()] {
        assert_eq!(casts.answers, [Hit { index: 2, t: 0.0 }]);
    }
}

#[test]
fn invalid_casts_stay_invalid_and_other_queries_have_no_start() {
    let boxes = [Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]), Aabb::new([f32::NAN; 3], [1.0; 3])];
    let mut tree = Both::new();
    tree.build(&boxes).unwrap();
    let filters = skipping();
    let rays = [Ray::new([0.0; 3], [1.0; 3]), Ray::new([f32::NAN; 3], [1.0; 3])];
    let hits = tree.all_hits(Batch::new(&rays).with_filters(&filters)).unwrap();
    assert_eq!((hits.answers.len(), hits.report.invalid_count, &hits.report.first_invalid[..]), (0, 1, &[1][..]));
    assert_eq!(tree.overlaps(Batch::new(&[[0.0; 3]]).with_filters(&filters)).unwrap().answers, [0]);
}
