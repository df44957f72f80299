//! Queries against the library's loops over all boxes, which do not round, on numbers with which nothing rounds here.

use proptest::prelude::*;

use super::*;
use crate::baselines::slabs::loops;
use broadsweep::internals::brute_queries;
use broadsweep::query::{Convex, Sphere};
use broadsweep::{Filters, Ray};

const INVALID: Aabb = Aabb::new([f32::NAN; 3], [f32::NAN; 3]);

/// Makes integers so small that boxes touch, coincide and have no extent all the time.
fn whole() -> impl Strategy<Value = f32> {
    (-4i8..=4).prop_map(f32::from)
}

fn whole_box() -> impl Strategy<Value = Aabb> {
    let corner = || prop::array::uniform3(whole());
    (corner(), corner()).prop_map(|(a, b)| Aabb::from_points([a, b]))
}

fn whole_ray() -> impl Strategy<Value = Ray> {
    let direction = prop::sample::select(vec![0.0f32, 0.0, 0.5, -0.5, 1.0, -1.0, 2.0, -4.0]);
    let limit = prop::sample::select(vec![0.0, 0.5, 1.0, 3.0, f32::INFINITY]);
    (prop::array::uniform3(whole()), prop::array::uniform3(direction), limit)
        .prop_map(|(origin, direction, limit)| Ray::segment(origin, direction, limit))
}

fn whole_sphere() -> impl Strategy<Value = Sphere> {
    let radius = prop::sample::select(vec![0.0, 1.0, 2.0, 3.0, 5.0, f32::INFINITY]);
    (prop::array::uniform3(whole()), radius).prop_map(|(center, radius)| Sphere { center, radius })
}

/// Makes a tree of these boxes: some are inserted and some built, then each box of `moves` goes where it is to go, or
/// goes away. Returns the tree and the boxes as they then are, those that are gone as invalid ones.
fn followed(mut boxes: Vec<Aabb>, built: usize, moves: &[(usize, Option<Aabb>)]) -> (AabbTree, Vec<Aabb>) {
    let built = built.min(boxes.len());
    let (mut tree, mut leaves) = AabbTree::build(&boxes[..built]);
    leaves.extend((built..).zip(&boxes[built..]).map(|(data, aabb)| tree.insert(*aabb, data as u32)));
    for &(at, to) in moves {
        let Some(at) = at.checked_rem(boxes.len()) else { continue };
        let Some(leaf) = leaves[at] else { continue };
        match to {
            Some(to) => {
                let motion = [0, 1, 2].map(|k| to.min[k] - boxes[at].min[k]);
                assert_ne!(tree.update(leaf, to, motion), Moved::Refused);
                boxes[at] = to;
            }
            None => {
                assert!(tree.remove(leaf));
                (boxes[at], leaves[at]) = (INVALID, None);
            }
        }
    }
    (tree, boxes)
}

/// Returns what the library's loop finds.
fn touching<S: broadsweep::query::Shape>(boxes: &[Aabb], shape: S) -> Vec<u32> {
    brute_queries::overlaps([shape].as_slice().into(), boxes, &Filters::default()).unwrap().answers
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn after_moves_and_removals_every_query_answers_as_the_library_does(
        boxes in prop::collection::vec(prop_oneof![9 => whole_box(), 1 => Just(INVALID)], 0..60),
        built in 0usize..60,
        moves in prop::collection::vec((any::<usize>(), prop::option::weighted(0.7, whole_box())), 0..40),
        rays in prop::collection::vec(whole_ray(), 4),
        spheres in prop::collection::vec(whole_sphere(), 4),
        asked in prop::collection::vec(prop_oneof![9 => whole_box(), 1 => Just(INVALID)], 4),
        planes in prop::collection::vec(prop::array::uniform4(whole()), 0..5),
    ) {
        let (tree, boxes) = followed(boxes, built, &moves);
        for ray in &rays {
            let hits = loops::exact_hits(&boxes, ray);
            prop_assert_eq!(tree.nearest_hit(ray), loops::first(&hits), "{:?}", ray);
            prop_assert_eq!(tree.any_hit(ray), !hits.is_empty());
            prop_assert_eq!(tree.all_hits(ray), hits);
        }
        for sphere in &spheres {
            prop_assert_eq!(tree.overlaps(sphere), touching(&boxes, *sphere), "{:?}", sphere);
        }
        for asked in &asked {
            prop_assert_eq!(tree.overlaps(asked), touching(&boxes, *asked));
        }
        // A normal of zeros has no meaning, and the shape then touches nothing.
        let convex = Convex { half_spaces: &planes };
        prop_assert_eq!(tree.overlaps(&convex), touching(&boxes, convex));
    }
}

#[test]
fn a_shape_without_a_meaning_touches_nothing_and_one_without_an_end_all() {
    let boxes = [Aabb::new([0.0; 3], [1.0; 3]), Aabb::new([f32::INFINITY; 3], [f32::INFINITY; 3])];
    let (tree, _) = AabbTree::build(&boxes);
    let sphere = |x, radius| Sphere { center: [x, 0.0, 0.0], radius };
    for bad in [sphere(f32::NAN, 1.0), sphere(f32::INFINITY, 1.0), sphere(0.0, -1.0), sphere(0.0, f32::NAN)] {
        assert_eq!(tree.overlaps(&bad), [0u32; 0], "{bad:?}");
    }
    // A box that is at infinity itself is farther than any radius.
    assert_eq!(tree.overlaps(&sphere(1e30, f32::INFINITY)), [0]);
    assert_eq!(tree.overlaps(&Convex { half_spaces: &[] }), [0, 1]);
    assert_eq!(tree.overlaps(&Convex { half_spaces: &[[0.0, 0.0, 0.0, 1.0]] }), [0u32; 0]);
    for ray in [Ray::new([f32::NAN; 3], [1.0; 3]), Ray::segment([0.0; 3], [1.0; 3], -1.0)] {
        assert_eq!((tree.nearest_hit(&ray), tree.any_hit(&ray), tree.all_hits(&ray).len()), (None, false, 0));
    }
    assert!(AabbTree::default().nearest_hit(&Ray::new([0.0; 3], [1.0; 3])).is_none());
}

#[test]
fn of_identical_boxes_the_first_is_hit_first_and_all_are_found() {
    let boxes = [Aabb::new([1.0; 3], [2.0; 3]); 100];
    for tree in [AabbTree::build(&boxes).0, followed(boxes.to_vec(), 0, &[]).0] {
        let ray = Ray::new([0.0; 3], [2.0; 3]);
        assert_eq!(tree.nearest_hit(&ray).map(|hit| (hit.index, hit.t)), Some((0, 0.5)));
        let everyone: Vec<u32> = (0..100).collect();
        assert_eq!(tree.all_hits(&ray).iter().map(|hit| hit.index).collect::<Vec<_>>(), everyone);
        // They touch in a corner.
        assert_eq!(tree.overlaps(&Aabb::new([0.0; 3], [1.0; 3])), everyone);
        assert_eq!(tree.overlaps(&Sphere { center: [1.0, 1.0, -1.0], radius: 2.0 }), everyone);
    }
}
