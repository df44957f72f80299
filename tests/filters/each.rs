//! Each filter alone, and all together: on scenes of every kind, and on boxes and values that nobody thought of.

use broadsweep::filter::{GroupRule, HalfSpace};
use broadsweep::{Aabb, CellSize, Filters, Pair};
use laboratory::scenes::Kind;
use proptest::prelude::*;
use proptest::sample::select;

use crate::common::{AXES, CANONICAL, Random};
use crate::engines::{WAYS, assert_filtered};
use crate::inputs::{ALONE, BY_BOX, ByBox, all};

#[test]
#[ignore = "long"]
fn each_filter_alone_is_exact_on_scenes_of_every_kind() {
    for (i, kind) in Kind::ALL.into_iter().enumerate() {
        let boxes = kind.generate(300, 7);
        // Every filter with every third kind; all filters together with every kind are tested below.
        for (j, (name, make)) in ALONE.iter().enumerate().filter(|(j, _)| (i + j) % 3 == 0) {
            let filters = make(&mut Random(i as u64 * 100 + j as u64), &boxes);
            // The whole flow and every box against every other, in the one order or in the other.
            let ways = [WAYS[i / 2 % 2], WAYS[2 + i / 2 % 2]];
            assert_filtered(&boxes, &filters, &ways, &format!("{name}: {}", kind.name()));
        }
    }
}

#[test]
#[ignore = "long"]
fn all_filters_together_are_exact_on_scenes_of_every_kind() {
    for (i, kind) in Kind::ALL.into_iter().enumerate() {
        let boxes = kind.generate(500, 3);
        let filters = all(&mut Random(i as u64), &boxes);
        assert_filtered(&boxes, &filters, &[WAYS[i % 4], WAYS[(i + 1) % 4]], kind.name());
        let axis = AXES[i % AXES.len()];
        let cell_size = [CellSize::Usscd, CellSize::Fixed(1e-3), CellSize::Fixed(1.0), CellSize::Fixed(1e20)][i % 4];
        assert_filtered(&boxes, &filters, &[CANONICAL.with_axis(axis).with_cell_size(cell_size)], kind.name());
    }
}

#[test]
#[ignore = "long"]
fn larger_scenes_are_exact() {
    for (i, kind) in [Kind::Uniform, Kind::Clusters, Kind::Pile, Kind::City, Kind::Invalid].into_iter().enumerate() {
        let boxes = kind.generate(3000, 3);
        let filters = all(&mut Random(100 + i as u64), &boxes);
        assert_filtered(&boxes, &filters, &WAYS, kind.name());
        let filters = filters.with_margin(Vec::new()).with_half_spaces(Vec::new());
        assert_filtered(&boxes, &filters, &WAYS[..1], kind.name());
    }
}

#[test]
fn no_box_one_box_and_two_boxes_work() {
    let unit = Aabb::new([0.0; 3], [1.0; 3]);
    let far = Aabb::new([5.0; 3], [6.0; 3]);
    let bad = Aabb::new([f32::NAN; 3], [1.0; 3]);
    let scenes: [&[Aabb]; 7] = [&[], &[unit], &[bad], &[unit, unit], &[unit, far], &[unit, bad], &[bad, bad]];
    for boxes in scenes {
        for (i, (name, make)) in ALONE.iter().enumerate() {
            let ways = [WAYS[i % 2], WAYS[2 + i / 2 % 2]];
            assert_filtered(boxes, &make(&mut Random(1), boxes), &ways, &format!("{name}: {boxes:?}"));
        }
        for seed in 0..2 {
            assert_filtered(boxes, &all(&mut Random(seed), boxes), &WAYS, &format!("all: {boxes:?}"));
        }
    }
    // Nothing but half-spaces, and pairs of them that are requested.
    let half_space = |index| HalfSpace { index, normal: [0.0, 1.0, 0.0], offset: 0.0 };
    let half_spaces = vec![half_space(1), half_space(0)];
    let filters = Filters::default().with_half_spaces(half_spaces);
    assert_filtered(&[bad, unit], &filters, &WAYS, "half-spaces");
    let filters = filters.with_include(vec![Pair { a: 1, b: 0 }]);
    assert_filtered(&[bad, unit], &filters, &WAYS, "included half-spaces");
}

#[test]
fn sizes_around_the_workgroup_are_exact() {
    for n in [3, 31, 32, 33, 63, 64, 65, 255, 256, 257, 511, 513, 1023, 1024, 1025] {
        let boxes = Kind::Uniform.generate(n, n as u64);
        assert_filtered(&boxes, &all(&mut Random(n as u64), &boxes), &WAYS, &format!("{n} boxes"));
    }
}

/// Bounds that go wrong: not numbers, infinite, denormal, the largest, next to each other, and zeros of both signs.
const BOUNDS: [f32; 15] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    2.0,
    1.0 + f32::EPSILON,
    1e-45,
    -1e-45,
    1e-38,
    1e30,
    -1e30,
    f32::MAX,
    f32::INFINITY,
    f32::NEG_INFINITY,
    f32::NAN,
];

prop_compose! {
    /// Creates mostly a box, now and then none.
    fn adversarial_box()(
        corners in prop::array::uniform3((select(&BOUNDS[..]), select(&BOUNDS[..]))),
        as_it_is in prop::bool::weighted(0.1),
    ) -> Aabb {
        let corner = |lower: bool| corners.map(|(a, b)| if as_it_is || (a <= b) == lower { a } else { b });
        Aabb { min: corner(true), max: if as_it_is { corners.map(|(_, b)| b) } else { corner(false) } }
    }
}

fn pairs(n: usize) -> impl Strategy<Value = Vec<Pair>> {
    let pair = (0..n.max(2) as u32, 0..n.max(2) as u32).prop_map(|(a, b)| Pair { a, b });
    prop::collection::vec(pair, 0..12)
        .prop_map(move |pairs| pairs.into_iter().filter(|pair| n > 1 && pair.a != pair.b).collect())
}

fn half_spaces(n: usize) -> impl Strategy<Value = Vec<HalfSpace>> {
    let numbers = || select(&[0.0, -0.0, 1.0, -1.0, 0.1, 1e-45, 1e30, f32::MAX, f32::MIN][..]);
    let half_space = (0..n.max(1) as u32, prop::array::uniform3(numbers()), numbers());
    prop::collection::vec(half_space, 0..4).prop_map(move |all| {
        let mut found: Vec<HalfSpace> = Vec::new();
        for (index, normal, offset) in all {
            let half_space = HalfSpace { index, normal, offset };
            if n > 0 && half_space.is_valid() && found.iter().all(|other| other.index != index) {
                found.push(half_space);
            }
        }
        found
    })
}

fn scene_and_filters() -> impl Strategy<Value = (Vec<Aabb>, Filters)> {
    prop::collection::vec(adversarial_box(), 0..24).prop_flat_map(|boxes| {
        let n = boxes.len();
        // Any of the lists by box.
        let by_box = (prop::array::uniform::<_, { BY_BOX.len() }>(prop::bool::ANY), any::<u64>(), prop::bool::ANY);
        (Just(boxes), by_box, pairs(n), pairs(n), half_spaces(n)).prop_map(
            |(boxes, (is_filled, seed, is_any), exclude, include, half_spaces)| {
                let rule = if is_any { GroupRule::Any } else { GroupRule::Both };
                let mut filters = Filters::default()
                    .with_rule(rule)
                    .with_exclude(exclude)
                    .with_include(include)
                    .with_half_spaces(half_spaces);
                let mut random = Random(seed);
                for (ByBox { fill, .. }, is_filled) in BY_BOX.iter().zip(is_filled) {
                    if is_filled {
                        fill(&mut filters, &mut random, &boxes);
                    }
                }
                (boxes, filters)
            },
        )
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn filters_that_nobody_thought_of_are_exact((boxes, filters) in scene_and_filters(), way in 0..2usize) {
        assert_filtered(&boxes, &filters, &[WAYS[way], WAYS[2 + way]], "adversarial");
    }
}
