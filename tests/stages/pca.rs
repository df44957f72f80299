//! `pca`: bounds, which are exact, and moments, which are not.

use std::sync::LazyLock;

use broadsweep::Aabb;
use broadsweep::internals::constants::{FLOAT_MAX, MOMENT_BOXES};
use broadsweep::internals::grid::pca::{Pca, groups, moment_groups};
use broadsweep::internals::layout::{BoundsPartial, Moments, Params};
use broadsweep::internals::mirror;
use laboratory::scenes::Kind;
use proptest::prelude::*;

use crate::inputs::{any_box, mixed, ordinary};
use crate::*;

static PCA: LazyLock<Pca> = LazyLock::new(|| Pca::new(gpu()));

/// Returns the kernels' results, combined.
fn statistics(boxes: &[Aabb]) -> (BoundsPartial, Moments) {
    let params = uniform(Params { box_count: boxes.len() as u32, ..Params::zeroed() });
    let input = upload(boxes);
    let n = boxes.len() as u32;
    let bounds = poisoned(groups(n) as usize);
    let moments = poisoned(moment_groups(n) as usize);
    run(|pass| PCA.record(pass, n, &params, input.all(), &bounds, &moments));
    let nothing = BoundsPartial { ordinary: mirror::pca::NO_BOUNDS, finite: mirror::pca::NO_BOUNDS };
    let bounds = written(&bounds).into_iter().fold(nothing, |a, b: BoundsPartial| BoundsPartial {
        ordinary: mirror::pca::united(a.ordinary, b.ordinary),
        finite: mirror::pca::united(a.finite, b.finite),
    });
    (bounds, sum(&written(&moments)))
}

/// Adds partial moments in double precision.
fn sum(partial: &[Moments]) -> Moments {
    let add = |field: fn(&Moments) -> [f32; 3]| {
        [0, 1, 2].map(|k| partial.iter().map(|moments| f64::from(field(moments)[k])).sum::<f64>() as f32)
    };
    Moments {
        sum: add(|moments| moments.sum),
        count: partial.iter().map(|moments| moments.count).sum(),
        squares: add(|moments| moments.squares),
        products: add(|moments| moments.products),
        edge_sum: add(|moments| moments.edge_sum),
        edge_max: [0, 1, 2].map(|k| partial.iter().fold(0.0, |most: f32, moments| most.max(moments.edge_max[k]))),
        ..Moments::zeroed()
    }
}

/// Bounds and counts are equal. A sum may be off by 10⁻⁵ of what it could be at most (Cauchy and Schwarz), since
/// an invocation adds up few terms one after another and the rest is a tree; and each centroid by 2⁻²¹, since a
/// driver may sum the bounds and the middle in another order, and scaled coordinates reach 4.
fn check(boxes: &[Aabb]) {
    let (bounds, moments) = statistics(boxes);
    let expected_bounds = mirror::pca::bounds(boxes);
    assert_eq!(bounds, expected_bounds);
    let expected = mirror::pca::moments(boxes, &expected_bounds);
    assert_eq!(moments.count, expected.count);
    assert_eq!(moments.edge_max, expected.edge_max);
    let close = |name: &str, found: f32, wanted: f32, tolerance: f32| {
        assert!((found - wanted).abs() <= tolerance + 1e-30, "{name}: {found} instead of {wanted}, {tolerance}");
    };
    let n = expected.count;
    let error = 2f32.powi(-21);
    for k in 0..3 {
        // The largest sum of centroids with these squares, and the error of each times the other.
        let spread = |k: usize| expected.squares[k % 3].sqrt();
        let crossed = |j: usize, k: usize| error * n.sqrt() * (spread(j) + spread(k)) + n * error * error;
        close("sum", moments.sum[k], expected.sum[k], 1e-5 * n.sqrt() * spread(k) + n * error);
        let squares = expected.squares[k];
        close("squares", moments.squares[k], squares, 1e-5 * squares + crossed(k, k));
        let product = spread(k) * spread(k + 1);
        close("products", moments.products[k], expected.products[k], 1e-5 * product + crossed(k, k + 1));
        close("edge_sum", moments.edge_sum[k], expected.edge_sum[k], 1e-5 * expected.edge_sum[k]);
    }
}

#[test]
fn statistics_of_ordinary_boxes_are_those_of_the_mirror() {
    // Above 256 groups of 128, every invocation takes several boxes.
    for n in SIZES.into_iter().chain([256 * 128, 256 * 128 + 1]) {
        check(&ordinary(n, u64::from(n)));
    }
}

#[test]
fn centroids_and_edges_of_many_boxes_are_those_of_the_sample() {
    // From the last number of boxes that are all added up; what is added up shows in the number of those that count, and
    // in which is the largest.
    for n in [0, 1, 3, 4, 5, 4464, 234_465].map(|more| MOMENT_BOXES + more) {
        check(&ordinary(n, u64::from(n)));
        check(&mixed(n, u64::from(n)));
    }
}

#[test]
fn the_sample_has_four_boxes_from_each_share_of_the_boxes_anywhere_in_it() {
    let shares = MOMENT_BOXES / 4;
    for n in [MOMENT_BOXES + 1, MOMENT_BOXES + 3, 3 * MOMENT_BOXES, 1_000_003, 1 << 25, u32::MAX] {
        let fours = n / 4;
        let mut places = [0u32; 8];
        for share in 0..shares {
            let first = mirror::pca::sampled_four(share, n);
            assert!(first.is_multiple_of(4) && first / 4 < fours, "four {share} of {n} boxes begins at {first}");
            // Where the share begins and ends, in fours of boxes: it may begin or end within one.
            let edge = |share: u32| u64::from(share) * u64::from(fours) / u64::from(shares);
            let is_within = (edge(share)..=edge(share + 1)).contains(&u64::from(first / 4));
            assert!(is_within, "four {share} of {n} boxes begins at {first}");
            let at = (u64::from(first / 4) * u64::from(shares) * 8 / u64::from(fours)) as u32;
            places[at.saturating_sub(8 * share).min(7) as usize] += 1;
        }
        // Where a share has hundreds of boxes: about as many in each eighth of it.
        if n > 100 * MOMENT_BOXES {
            let is_even = places.iter().all(|count| count.abs_diff(shares / 8) < shares / 100);
            assert!(is_even, "{places:?} of {n} boxes");
        }
    }
}

#[test]
fn a_sample_of_boxes_in_rows_has_the_variance_of_all() {
    // Boxes whose place repeats with any period: what is sampled is none of one phase only.
    for period in [2, 3, 4, 7, 8, 16, 61, 64, 256, 1000, 4096] {
        let n = 4 * MOMENT_BOXES + 12;
        let boxes: Vec<_> = (0..n).map(|i| (i % period) as f32).map(|x| Aabb::new([x; 3], [x + 1.0; 3])).collect();
        let moments = mirror::pca::moments(&boxes, &mirror::pca::bounds(&boxes));
        let count = moments.count;
        assert_eq!(count as u32, MOMENT_BOXES);
        let variance = moments.squares[0] / count - (moments.sum[0] / count).powi(2);
        let scale = mirror::pca::scene_scale(&mirror::pca::bounds(&boxes)).scale;
        let all = ((period * period - 1) as f32 / 12.0) * scale * scale;
        assert!((variance / all - 1.0).abs() < 0.02, "{variance} instead of {all}: period {period}");
    }
}

#[test]
fn boxes_that_are_invalid_unbounded_or_far_out_do_not_spoil_the_statistics() {
    for n in SIZES.into_iter().chain([40_000]) {
        check(&mixed(n, u64::from(n)));
    }
}

#[test]
fn nothing_has_no_bounds_and_no_moments() {
    let invalid = [
        Aabb::new([f32::NAN; 3], [1.0; 3]),
        Aabb::new([0.0; 3], [1.0, -1.0, 1.0]),
        Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]),
    ];
    for boxes in [vec![], invalid.repeat(100)] {
        let (bounds, moments) = statistics(&boxes);
        assert_eq!(bounds, BoundsPartial { ordinary: mirror::pca::NO_BOUNDS, finite: mirror::pca::NO_BOUNDS });
        assert_eq!(moments, Moments::zeroed());
    }
}

#[test]
fn the_largest_floats_count_where_most_boxes_have_them() {
    let mut boxes = vec![Aabb::new([-FLOAT_MAX; 3], [FLOAT_MAX; 3]); 3];
    boxes.extend(ordinary(2, 1));
    check(&boxes);
    boxes.extend(ordinary(2, 2));
    check(&boxes);
}

#[test]
fn a_far_box_in_the_share_of_any_workgroup_decides_the_scale() {
    // In the first share beyond those of eight invocations that unite bounds, and of 128.
    for (n, far) in [(18_000, 8 * 128 + 5), (300_000, 140 * 128 + 5)] {
        let mut boxes = ordinary(n, 1);
        boxes[far] = Aabb::new([-300.0; 3], [900.0; 3]);
        check(&boxes);
    }
}

#[test]
fn statistics_of_every_scene_are_those_of_the_mirror() {
    // A driver may take a denormal for zero, so the scene that is made of them has other bounds.
    for kind in Kind::ALL.into_iter().filter(|&kind| kind != Kind::Denormal) {
        check(&kind.generate(1234, 5));
    }
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn statistics_of_any_boxes_are_those_of_the_mirror(boxes in prop::collection::vec(any_box(), 0..600)) {
        check(&boxes);
    }
}
