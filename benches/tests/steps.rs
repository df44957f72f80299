//! Every algorithm of the literature over steps of moving boxes, each step against brute force.

use broadsweep::internals::brute_force;
use broadsweep::{Aabb, Pair};
use laboratory::baselines::{self, Baseline};
use laboratory::scenes::Kind;
use proptest::prelude::*;

/// Checks that each algorithm, which sees all steps in this order, finds the pairs of each.
fn check(what: &str, steps: &[Vec<Aabb>]) {
    let expected: Vec<_> = steps.iter().map(|boxes| brute_force::find_pairs(boxes)).collect();
    for listing in baselines::ALL {
        let mut baseline = listing.make();
        for (step, (boxes, expected)) in steps.iter().zip(&expected).enumerate() {
            let pairs = sorted_pairs(&mut *baseline, boxes);
            // Thousands of pairs in a message help nobody.
            assert!(pairs == *expected, "{} in step {step} of {what}: {} pairs", listing.name, pairs.len());
        }
    }
}

fn sorted_pairs(baseline: &mut dyn Baseline, boxes: &[Aabb]) -> Vec<Pair> {
    // The call replaces earlier pairs in the list.
    let mut pairs = vec![Pair { a: u32::MAX, b: u32::MAX }; 3];
    baseline.find_pairs(boxes, &mut pairs).unwrap();
    pairs.sort_unstable();
    pairs
}

#[test]
fn every_scene_that_moves() {
    for kind in Kind::ALL.into_iter().filter(|kind| kind.moves()) {
        for start in [0, kind.usual_step()] {
            let steps: Vec<_> = (start..start + 12).map(|step| kind.generate_step(500, 1, step)).collect();
            check(&format!("{kind} from step {start}"), &steps);
        }
    }
}

#[test]
fn boxes_at_rest() {
    let boxes = Kind::Uniform.generate(300, 1);
    check("a scene at rest", &[boxes.clone(), boxes.clone(), boxes]);
}

#[test]
fn boxes_that_are_elsewhere_in_every_step() {
    let steps: Vec<_> = (0..6).map(|seed| Kind::Uniform.generate(300, seed)).collect();
    check("teleports", &steps);
}

#[test]
fn steps_of_every_kind_one_after_another() {
    // Bounds, sizes and densities change by any factor, and boxes become invalid, infinite and denormal.
    let steps: Vec<_> = Kind::ALL.iter().chain(Kind::ALL.iter().rev()).map(|kind| kind.generate(200, 1)).collect();
    check("all kinds", &steps);
}

#[test]
fn boxes_that_are_invalid_or_infinite_for_a_while() {
    let steps: Vec<_> = (0..24)
        .map(|step: u32| {
            let mut boxes = Kind::Brownian.generate_step(200, 1, step);
            for (i, aabb) in (0u32..).zip(&mut boxes) {
                let k = (i % 3) as usize;
                match (i + step / 3) % 16 {
                    0 => *aabb = Aabb::new([f32::NAN; 3], [f32::NAN; 3]),
                    1 => aabb.max[k] = f32::NAN,
                    2 => (aabb.min[k], aabb.max[k]) = (aabb.max[k], aabb.min[k]),
                    3 => aabb.max[k] = f32::INFINITY,
                    4 if i % 5 == 0 => *aabb = Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]),
                    5 => aabb.max = aabb.min,
                    _ => {}
                }
            }
            boxes
        })
        .collect();
    check("boxes that come and go", &steps);
}

#[test]
fn all_boxes_become_invalid_and_come_back() {
    let boxes = Kind::Clusters.generate(200, 1);
    let nothing = vec![Aabb::new([1.0; 3], [0.0; 3]); 200];
    check("nothing in between", &[boxes.clone(), nothing.clone(), boxes.clone(), nothing, boxes]);
}

#[test]
fn numbers_of_boxes_that_change() {
    let steps: Vec<_> = [0, 1, 100, 101, 300, 2, 2, 0, 0, 50].map(|n| Kind::Brownian.generate_step(n, 1, 9)).into();
    check("more and fewer boxes", &steps);
}

#[test]
fn space_that_grows_and_shrinks_with_its_boxes_in_it() {
    let steps: Vec<_> = (0..20)
        .map(|step| {
            // 1.5 to the power of 0 to 9 and back.
            let factor = (0..i32::min(step, 19 - step)).fold(1.0f32, |factor, _| 1.5 * factor);
            let boxes = Kind::Uniform.generate(200, 1);
            let scaled = boxes.iter().map(|aabb| {
                let min = aabb.min.map(|x| factor * x);
                Aabb::new(min, [0, 1, 2].map(|k| min[k] + (aabb.max[k] - aabb.min[k])))
            });
            scaled.collect()
        })
        .collect();
    check("an expanding space", &steps);
}

/// Coordinates that often meet, among them those that do not compare like other numbers.
fn coordinate() -> impl Strategy<Value = f32> {
    prop_oneof![
        8 => (-6i8..6).prop_map(|x| f32::from(x) / 2.0),
        1 => prop::sample::select(vec![f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -0.0, f32::MAX, f32::MIN, 1e-45]),
    ]
}

/// Creates boxes that are mostly valid, unless there is a NaN.
fn a_box() -> impl Strategy<Value = Aabb> {
    let corner = || [coordinate(), coordinate(), coordinate()];
    (corner(), corner(), prop::bool::weighted(0.9)).prop_map(|(a, b, is_sorted)| {
        let is_swapped = |k: usize| is_sorted && a[k] > b[k];
        let pick =
            |first: [f32; 3], second: [f32; 3]| [0, 1, 2].map(|k| if is_swapped(k) { second[k] } else { first[k] });
        Aabb::new(pick(a, b), pick(b, a))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_steps(
        start in prop::collection::vec(a_box(), 1..24),
        changes in prop::collection::vec(prop::collection::vec((any::<prop::sample::Index>(), a_box()), 0..6), 1..8),
    ) {
        let mut steps = vec![start];
        for change in changes {
            let mut next = steps[steps.len() - 1].clone();
            for (at, aabb) in change {
                let at = at.index(next.len());
                next[at] = aabb;
            }
            steps.push(next);
        }
        check("any steps", &steps);
    }
}
