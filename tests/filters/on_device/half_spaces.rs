//! Half-spaces that lie in buffers of the device.

use std::ops::Range;

use broadsweep::filter::HalfSpace;
use broadsweep::{Aabb, Filters};
use laboratory::scenes::Kind;

use super::{given, pairs_behind, pairs_of, refused};
use crate::common::device::{encoder, upload};
use crate::common::{ALL_PAIRS, CANONICAL, Random, SWEEP, assert_pairs, recorder};
use crate::rule;

#[test]
fn half_spaces_of_the_device_are_those_that_are_searched_next() {
    let n = 700;
    let boxes = Kind::Clusters.generate(n, 4);
    let buffer = upload(&boxes);
    let [nan, inf] = [f32::NAN, f32::INFINITY];
    // Some that are none come in between.
    let bad = [[0.0, -0.0, 0.0, 5.0], [nan, 1.0, 0.0, 0.0], [1.0, inf, 0.0, 0.0], [1.0, 0.0, 0.0, -inf], [0.0; 4]];
    for options in [SWEEP, CANONICAL, ALL_PAIRS] {
        // Not in the order of their boxes; more than a few, and a few.
        for count in [3, 40] {
            let mut random = Random(5);
            let half_spaces: Vec<HalfSpace> = (0..count)
                .map(|k| HalfSpace { index: (k * 37 + 300) as u32 % n as u32, normal: [0.0, 1.0, 0.0], offset: -1e9 })
                .collect();
            let mut sorted = half_spaces.clone();
            sorted.sort_by_key(|half_space| half_space.index);
            let mut recorder = recorder(options);
            recorder.set_filters(Filters::default().with_half_spaces(half_spaces)).unwrap();
            recorder.reserve(n, 1 << 17).unwrap();
            let mut is_there = vec![true; count];
            for (first, end) in [(0, count), (1, 3), (count - 1, count), (2, 2), (0, count / 2)] {
                let mut number = || (random.below(2001) as f32 - 1000.0) / 500.0;
                let mut planes = Vec::new();
                for k in first..end {
                    let mut plane = [number(), number(), number(), 3.0 * number()];
                    let is_bad = k % 4 == 1;
                    if is_bad {
                        plane = bad[k / 4 % bad.len()];
                    }
                    is_there[k] = !is_bad;
                    (sorted[k].normal, sorted[k].offset) = ([plane[0], plane[1], plane[2]], plane[3]);
                    planes.extend(plane.map(f32::to_bits));
                }
                let planes = given(&planes);
                let mut encoder = encoder();
                let which = first as u32..end as u32;
                recorder.record_half_spaces(&mut encoder, n as u32, which, planes.slice(256..)).unwrap();
                let pairs = pairs_behind(encoder, &mut recorder, &buffer, n);
                // A half-space that meets nothing stands for a box that pairs with nothing.
                let shown = sorted.iter().zip(&is_there).filter(|(_, is_there)| **is_there);
                let shown: Vec<HalfSpace> = shown.map(|(half_space, _)| *half_space).collect();
                let mut left_out = boxes.clone();
                for (k, half_space) in sorted.iter().enumerate() {
                    if !is_there[k] {
                        left_out[half_space.index as usize] = Aabb::new([nan; 3], [nan; 3]);
                    }
                }
                let same = Filters::default().with_half_spaces(shown);
                assert_pairs(&pairs, &rule::find_pairs(&left_out, &same), &format!("{first}..{end} of {count}"));
            }
        }
    }
}

#[test]
fn half_spaces_that_are_not_there_are_refused() {
    let half_space = |index| HalfSpace { index, normal: [0.0, 1.0, 0.0], offset: 0.0 };
    let mut recorder = recorder(CANONICAL);
    recorder.set_filters(Filters::default().with_half_spaces(vec![half_space(9), half_space(3)])).unwrap();
    let planes = given(&[0; 400]);
    for (box_count, which, first) in
        [(300, 0..3, 256), (300, 2..3, 256), (300, Range { start: 1, end: 0 }, 256), (9, 0..1, 256), (300, 0..2, 4)]
    {
        let result = recorder.record_half_spaces(&mut encoder(), box_count, which.clone(), planes.slice(first..));
        assert_eq!(refused(result), "half_spaces", "{which:?} of {box_count}");
    }
    assert_eq!(refused(recorder.record_half_spaces(&mut encoder(), 300, 0..2, planes.slice(1840..))), "half_spaces");
    assert_eq!(recorder.record_half_spaces(&mut encoder(), 300, 1..1, planes.slice(4..)), Ok(()));
    // Nothing has changed.
    let boxes = Kind::Uniform.generate(300, 1);
    let expected = rule::find_pairs(&boxes, recorder.filters());
    assert_pairs(&pairs_of(&mut recorder, &boxes), &expected, "after refusals");
}
