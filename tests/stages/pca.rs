//! `pca`: the bounds of the boxes.

use std::sync::LazyLock;

use broadsweep::Aabb;
use broadsweep::internals::constants::FLOAT_MAX;
use broadsweep::internals::grid::pca::{Pca, groups};
use broadsweep::internals::layout::{BoundsPartial, Params};
use broadsweep::internals::mirror;
use laboratory::scenes::Kind;
use proptest::prelude::*;

use crate::inputs::{any_box, mixed, ordinary};
use crate::*;

static PCA: LazyLock<Pca> = LazyLock::new(|| Pca::new(gpu()));

/// Checks the kernel's results, combined.
fn check(boxes: &[Aabb]) {
    let params = uniform(Params { box_count: boxes.len() as u32, ..Params::zeroed() });
    let input = upload(boxes);
    let n = boxes.len() as u32;
    let bounds = poisoned(groups(n) as usize);
    run(|pass| PCA.record(pass, n, &params, input.all(), &bounds));
    let nothing = BoundsPartial { ordinary: mirror::pca::NO_BOUNDS, finite: mirror::pca::NO_BOUNDS };
    let bounds = written(&bounds).into_iter().fold(nothing, |a, b: BoundsPartial| BoundsPartial {
        ordinary: mirror::pca::united(a.ordinary, b.ordinary),
        finite: mirror::pca::united(a.finite, b.finite),
    });
    assert_eq!(bounds, mirror::pca::bounds(boxes));
}

#[test]
fn bounds_of_ordinary_boxes_are_those_of_the_mirror() {
    // Above 256 groups of 128, every invocation takes several boxes.
    for n in SIZES.into_iter().chain([256 * 128, 256 * 128 + 1]) {
        check(&ordinary(n, u64::from(n)));
    }
}

#[test]
fn boxes_that_are_invalid_unbounded_or_far_out_do_not_spoil_the_bounds() {
    for n in SIZES.into_iter().chain([40_000]) {
        check(&mixed(n, u64::from(n)));
    }
}

#[test]
fn nothing_has_no_bounds() {
    let invalid = [
        Aabb::new([f32::NAN; 3], [1.0; 3]),
        Aabb::new([0.0; 3], [1.0, -1.0, 1.0]),
        Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]),
    ];
    for boxes in [vec![], invalid.repeat(100)] {
        let nothing = BoundsPartial { ordinary: mirror::pca::NO_BOUNDS, finite: mirror::pca::NO_BOUNDS };
        assert_eq!(mirror::pca::bounds(&boxes), nothing);
        check(&boxes);
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
fn a_far_box_in_the_share_of_any_workgroup_counts() {
    // In the first share beyond those of eight invocations that unite bounds, and of 128.
    for (n, far) in [(18_000, 8 * 128 + 5), (300_000, 140 * 128 + 5)] {
        let mut boxes = ordinary(n, 1);
        boxes[far] = Aabb::new([-300.0; 3], [900.0; 3]);
        check(&boxes);
    }
}

#[test]
fn bounds_of_every_scene_are_those_of_the_mirror() {
    // A driver may take a denormal for zero, so a scene of them has other bounds.
    for kind in Kind::ALL.into_iter().filter(|&kind| kind != Kind::Denormal) {
        check(&kind.generate(1234, 5));
    }
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn bounds_of_any_boxes_are_those_of_the_mirror(boxes in prop::collection::vec(any_box(), 0..600)) {
        check(&boxes);
    }
}
