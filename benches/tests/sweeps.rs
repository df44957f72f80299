//! Sweeps and prunings on boxes that nobody thought of, with every parameter.

use broadsweep::internals::brute_force;
use broadsweep::{Aabb, Pair};
use laboratory::baselines::mbp::Mbp;
use laboratory::baselines::mj_broadphase::MjBroadphase;
use laboratory::baselines::mj_sap::{Axis, MjSap};
use laboratory::baselines::pruning::Pruning;
use laboratory::baselines::{Baseline, Work};
use proptest::prelude::*;
use proptest::sample::select;

/// Numbers of every kind, and few enough that bounds often coincide.
const COORDINATES: [f32; 16] = [
    f32::NEG_INFINITY,
    f32::MIN,
    -2.0,
    -1.0,
    -0.3,
    -f32::from_bits(1),
    -0.0,
    0.0,
    f32::from_bits(1),
    0.1,
    1.0,
    1.0 + f32::EPSILON,
    2.0,
    f32::MAX,
    f32::INFINITY,
    f32::NAN,
];

/// Creates any box at all, one in ten with corners that are not put in order.
fn any_box() -> impl Strategy<Value = Aabb> {
    let coordinate = prop_oneof![1 => -3.0f32..3.0, 4 => select(&COORDINATES[2..13]), 1 => select(&COORDINATES[..])];
    (prop::array::uniform6(coordinate), 0..10u32).prop_map(|(c, order)| {
        let axes = [0, 1, 2].map(|k| if order == 0 || c[k] <= c[k + 3] { (c[k], c[k + 3]) } else { (c[k + 3], c[k]) });
        Aabb::new(axes.map(|axis| axis.0), axes.map(|axis| axis.1))
    })
}

/// Creates a few of [`any_box`], or many small boxes among those.
fn any_boxes() -> impl Strategy<Value = Vec<Aabb>> {
    let small = (prop::array::uniform3(-3.0f32..3.0), prop::array::uniform3(0.0f32..0.3))
        .prop_map(|(min, edges)| Aabb::new(min, std::array::from_fn(|k| min[k] + edges[k])));
    prop_oneof![
        prop::collection::vec(any_box(), 0..40),
        prop::collection::vec(prop_oneof![8 => small, 1 => any_box()], 0..300),
    ]
}

fn assert_finds(baseline: &mut dyn Baseline, boxes: &[Aabb], expected: &[Pair]) -> Work {
    let mut pairs = Vec::new();
    let work = baseline.find_pairs(boxes, &mut pairs).unwrap();
    pairs.sort_unstable();
    assert_eq!(pairs, expected);
    assert!(work.candidates >= expected.len() as u64, "{work:?}");
    work
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_boxes_have_the_pairs_of_brute_force(
        steps in prop::collection::vec(any_boxes(), 1..3),
        region_boxes in 0..30usize,
        max_depth in prop_oneof![0..30u32, Just(u32::MAX)],
    ) {
        let mut along = Axis::ALL.map(|axis| MjSap::new(axis, MjSap::MAX_PAIRS));
        let (mut mj_broadphase, mut pruning) = (MjBroadphase::default(), Pruning::default());
        let mut mbp = Mbp::new(region_boxes, max_depth);
        for boxes in &steps {
            let expected = brute_force::find_pairs(boxes);
            for mj_sap in &mut along {
                assert_finds(mj_sap, boxes, &expected);
            }
            assert_finds(&mut mj_broadphase, boxes, &expected);
            assert_finds(&mut pruning, boxes, &expected);
            let work = assert_finds(&mut mbp, boxes, &expected);
            let n = boxes.len() as u64;
            prop_assert!(work.candidates <= n * n.saturating_sub(1) / 2, "{work:?}");
        }
    }

    #[test]
    fn candidates_of_any_boxes_are_ascending_and_have_every_pair(boxes in any_boxes()) {
        let mut mj_broadphase = MjBroadphase::default();
        let candidates = mj_broadphase.candidates(&boxes).unwrap();
        prop_assert!(candidates.is_sorted_by(|a, b| a < b));
        for Pair { a, b } in brute_force::find_pairs(&boxes) {
            prop_assert!(candidates.binary_search(&((a << 16) + b)).is_ok(), "({a}, {b}) is lost");
        }
    }
}
