//! Searches whose number of boxes lies in a buffer.

use crate::common::device::{encoder, run, run_with_arguments, upload, upload_behind};
use crate::common::*;
use broadsweep::filter::HalfSpace;
use broadsweep::internals::brute_force;
use broadsweep::record::GpuCount;
use broadsweep::wgpu::BufferUsages as U;
use broadsweep::{Aabb, Error, Filters, Pair, PairOrder};
use laboratory::scenes::Kind;

/// Boxes behind those that are there: each would overlap all others.
fn with_others(boxes: &[Aabb], at_most: usize) -> Vec<Aabb> {
    let mut all = boxes.to_vec();
    all.resize(at_most, Aabb::new([-1e30; 3], [1e30; 3]));
    all
}

#[test]
fn boxes_behind_the_number_in_the_buffer_are_not_there() {
    for options in [CANONICAL, ALL_PAIRS.with_order(PairOrder::Canonical)] {
        let mut recorder = recorder(options);
        for at_most in [1500, 2049] {
            for n in [0, 1, 2, 255, 256, 257, 1025, at_most - 1, at_most] {
                for kind in [Kind::Uniform, Kind::Infinite] {
                    let boxes = kind.generate(n, 3);
                    let buffer = upload(&with_others(&boxes, at_most));
                    let count = upload(&[[n as u32, 7]]);
                    let mut encoder = encoder();
                    let count = GpuCount::Stored { count: count.slice(..), at_most: at_most as u32 };
                    let left = recorder.record(&mut encoder, buffer.slice(..), count).unwrap();
                    let (header, pairs) = run(encoder, left);
                    let expected = brute_force::find_pairs(&boxes);
                    assert_pairs(&pairs, &expected, &format!("{n} of {at_most}, {}", kind.name()));
                    assert_eq!((header.count as usize, header.overflow), (expected.len(), 0));
                }
            }
        }
    }
}

#[test]
fn filters_have_lists_for_the_most_boxes_that_there_may_be() {
    let (n, at_most) = (700, 1000);
    let boxes = Kind::Clusters.generate(n, 3);
    let all = Filters::default()
        .with_group((0..at_most).map(|i| 1 << (i % 3)).collect())
        .with_mask((0..at_most).map(|i| 7 ^ (1 << (i % 2))).collect())
        .with_world((0..at_most).map(|i| [Filters::GLOBAL, 1, 2, 3][i % 4]).collect())
        .with_margin((0..at_most).map(|i| (i % 3) as f32 * 0.01).collect())
        .with_sleeping((0..at_most).map(|i| i % 4 == 0).collect())
        .with_exclude(vec![Pair::new(0, 1), Pair::new(3, 999)])
        .with_half_spaces(vec![HalfSpace { index: 9, normal: [0.0, 0.0, 1.0], offset: 0.2 }]);
    let there = Filters::default()
        .with_group(all.group[..n].to_vec())
        .with_mask(all.mask[..n].to_vec())
        .with_world(all.world[..n].to_vec())
        .with_margin(all.margin[..n].to_vec())
        .with_sleeping(all.sleeping[..n].to_vec())
        .with_exclude(vec![Pair::new(0, 1)])
        .with_half_spaces(all.half_spaces.clone());
    let expected = brute_force::find_filtered_pairs(&boxes, &there);
    let buffer = upload(&with_others(&boxes, at_most));
    let stored = upload(&[n as u32]);
    for options in [CANONICAL, ALL_PAIRS.with_order(PairOrder::Canonical)] {
        let mut recorder = recorder(options);
        recorder.set_filters(all.clone()).unwrap();
        let count = || GpuCount::Stored { count: stored.slice(..), at_most: at_most as u32 };
        let mut recorded = encoder();
        let left = recorder.record(&mut recorded, buffer.slice(..), count()).unwrap();
        assert_pairs(&run(recorded, left).1, &expected, "filtered");
        // The host cannot check that the boxes of an included pair exist.
        recorder.set_filters(all.clone().with_include(vec![Pair::new(1, 2)])).unwrap();
        let error = recorder.record(&mut encoder(), buffer.slice(..), count()).unwrap_err();
        assert!(matches!(error, Error::BadFilter { list: "include", index: None, .. }), "{error}");
        recorder.set_filters(Filters::default()).unwrap();
    }
}

#[test]
fn a_number_that_is_too_large_is_refused_on_the_device_and_a_buffer_that_cannot_be_read_before() {
    let boxes = Kind::Uniform.generate(600, 3);
    let buffer = upload(&boxes);
    for options in [CANONICAL, ALL_PAIRS.with_order(PairOrder::Canonical)] {
        let mut recorder = recorder(options);
        for n in [601, u32::MAX] {
            let stored = upload(&[n]);
            let mut encoder = encoder();
            let count = GpuCount::Stored { count: stored.slice(..), at_most: 600 };
            let left = recorder.record(&mut encoder, buffer.slice(..), count).unwrap();
            let (header, arguments, pairs) = run_with_arguments(encoder, left);
            assert_eq!((header.count, header.written, header.overflow, pairs.len()), (0, 0, 5, 0));
            assert_eq!((arguments.dispatch[0], arguments.draw[1]), (0, 0));
        }
        for (stored, words) in [
            (upload_behind(0, &[7u32; 2], U::COPY_SRC), "was created without BufferUsages::STORAGE"),
            (upload(&[7u32; 200]), "is used from byte 4 on"),
        ] {
            let first = if words.starts_with("is") { 4 } else { 0 };
            let count = GpuCount::Stored { count: stored.slice(first..), at_most: 600 };
            let error = recorder.record(&mut encoder(), buffer.slice(..), count).unwrap_err();
            let Error::BadBuffer { buffer, problem } = &error else { panic!("{error}") };
            assert!(*buffer == "box count" && problem.contains(words), "{error}");
        }
        // The recorder is as it was.
        let mut recorded = encoder();
        let left = recorder.record(&mut recorded, buffer.slice(..), 600).unwrap();
        assert_pairs(&run(recorded, left).1, &brute_force::find_pairs(&boxes), "after");
    }
}

#[test]
fn a_list_that_is_too_short_has_windows_and_searches_in_one_submission_have_numbers_of_their_own() {
    let boxes = vec![Aabb::new([0.0; 3], [1.0; 3]); 300];
    let buffer = upload(&boxes);
    let counts = [upload(&[200u32]), upload(&[300u32])];
    for options in [CANONICAL, ALL_PAIRS.with_order(PairOrder::Canonical)] {
        let mut recorder = recorder(options);
        let mut recorded = encoder();
        for count in &counts {
            let count = GpuCount::Stored { count: count.slice(..), at_most: 300 };
            recorder.record(&mut recorded, buffer.slice(..), count).unwrap();
        }
        // The whole list of the second one.
        let pair_count = 300 * 299 / 2;
        let left = recorder.record_window(&mut recorded, buffer.slice(..), 300, 0, pair_count).unwrap();
        let (header, pairs) = run(recorded, left);
        assert_eq!((header.count, header.overflow), (pair_count, 0));
        assert_pairs(&pairs, &brute_force::find_pairs(&boxes), "whole");
    }
}
