//! Pairs to exclude that lie in buffers of the device.

use broadsweep::record::GpuCount;
use broadsweep::{Aabb, Error, Filters, Pair, wgpu};
use laboratory::scenes::Kind;
use wgpu::BufferUsages as U;

use super::{given, pairs_of, refused};
use crate::common::device::{cloned, encoder, run, run_cloned, upload, upload_behind};
use crate::common::{ALL_PAIRS, CANONICAL, GPU, Random, SWEEP, assert_pairs, recorder, sorted};
use crate::inputs::some_pairs;
use crate::rule;

/// Lists pairs as a kernel of the caller may: those of `exclude` in any order, some twice, and entries that are no pair
/// of these boxes.
fn listed(random: &mut Random, exclude: &[Pair], n: usize) -> Vec<u32> {
    let mut words = Vec::new();
    for pair in exclude {
        for _ in 0..1 + random.below(5) / 4 {
            words.push(if random.below(2) == 0 { [pair.a, pair.b] } else { [pair.b, pair.a] });
        }
        if random.below(8) == 0 {
            let (any, beyond) = (random.below(n) as u32, [n as u32, u32::MAX][random.below(2)]);
            words.push([[any, any], [any, beyond], [beyond, any], [beyond, beyond]][random.below(4)]);
        }
    }
    for i in 0..words.len() {
        let other = random.below(words.len());
        words.swap(i, other);
    }
    words.concat()
}

#[test]
fn pairs_to_exclude_may_come_from_the_device() {
    let n = 900;
    let boxes = Kind::Clusters.generate(n, 5);
    let buffer = upload(&boxes);
    let mut random = Random(9);
    let all_pairs = rule::find_pairs(&boxes, &Filters::default());
    for options in [SWEEP, CANONICAL, ALL_PAIRS] {
        for include in [vec![], some_pairs(&mut random, n, 300)] {
            let at_most = 3 * all_pairs.len() as u32;
            let host = all_pairs.iter().step_by(3).copied().collect();
            let mut same =
                Filters::default().with_exclude(host).with_exclude_at_most(at_most).with_include(include.clone());
            let mut recorder = recorder(options);
            recorder.set_filters(same.clone()).unwrap();
            assert_pairs(&pairs_of(&mut recorder, &boxes), &rule::find_pairs(&boxes, &same), "the host's");
            recorder.reserve(n, 1 << 17).unwrap();
            // Half of all, one, none, all, some.
            for (round, step) in [2, all_pairs.len(), 0, 1, 7].into_iter().enumerate() {
                same.exclude = if step == 0 { Vec::new() } else { all_pairs.iter().step_by(step).copied().collect() };
                let words = listed(&mut random, &same.exclude, n);
                let (pairs, own_count) = (given(&words), words.len() as u32 / 2);
                let stored = given(&[own_count, 7]);
                let mut encoder = encoder();
                let count = match round % 2 {
                    0 => GpuCount::Known(own_count),
                    _ => GpuCount::Stored { count: stored.slice(256..), at_most: own_count },
                };
                recorder.record_exclude(&mut encoder, n as u32, pairs.slice(256..), count).unwrap();
                let left = recorder.record(&mut encoder, buffer.slice(..), n as u32).unwrap();
                let (header, pairs) = run(encoder, left);
                assert_eq!(header.overflow, 0);
                assert_pairs(&sorted(&pairs), &rule::find_pairs(&boxes, &same), &format!("every {step}th is excluded"));
            }
            recorder.set_filters(same.with_exclude(vec![])).unwrap();
            let expected = rule::find_pairs(&boxes, recorder.filters());
            assert_pairs(&pairs_of(&mut recorder, &boxes), &expected, "set anew");
        }
    }
}

#[test]
fn excluded_pairs_beyond_the_capacity_are_reported_and_nothing_is_wrong() {
    let n = 900;
    let boxes = Kind::Clusters.generate(n, 5);
    let (buffer, number) = (upload(&boxes), upload(&[Aabb::new([f32::from_bits(800); 3], [0.0; 3])]));
    let pairs = given(&[5; 2000]);
    for options in [SWEEP, CANONICAL, ALL_PAIRS] {
        let mut recorder = recorder(options);
        recorder.set_filters(Filters::default().with_exclude_at_most(1000)).unwrap();
        recorder.reserve(n, 1 << 17).unwrap();
        for (count, is_beyond) in [(900, false), (901, true), (u32::MAX, true), (0, false)] {
            let stored = given(&[count]);
            // A search that is recorded before the list, and submitted behind it.
            let mut earlier = encoder();
            let left = cloned(recorder.record(&mut earlier, buffer.slice(..), n as u32).unwrap());
            let mut commands = encoder();
            let count = GpuCount::Stored { count: stored.slice(256..), at_most: 900 };
            recorder.record_exclude(&mut commands, n as u32, pairs.slice(256..), count).unwrap();
            GPU.queue().submit([commands.finish()]);
            let (header, _, found) = run_cloned(earlier, &left);
            let expected = if is_beyond { Vec::new() } else { rule::find_pairs(&boxes, &Filters::default()) };
            assert_eq!((header.overflow, header.count), (if is_beyond { 6 } else { 0 }, expected.len() as u32));
            assert_pairs(&sorted(&found), &expected, "of a known number");
            let mut commands = encoder();
            let box_count = GpuCount::Stored { count: number.slice(..), at_most: n as u32 };
            let left = recorder.record(&mut commands, buffer.slice(..), box_count).unwrap();
            let (header, found) = run(commands, left);
            let expected = if is_beyond { Vec::new() } else { rule::find_pairs(&boxes[..800], &Filters::default()) };
            assert_eq!((header.overflow, header.count), (if is_beyond { 6 } else { 0 }, expected.len() as u32));
            assert_pairs(&sorted(&found), &expected, "of a number in a buffer");
            // A list of known length fits.
            let mut commands = encoder();
            recorder.record_exclude(&mut commands, n as u32, pairs.slice(256..), 7).unwrap();
            let left = recorder.record(&mut commands, buffer.slice(..), n as u32).unwrap();
            assert_pairs(&sorted(&run(commands, left).1), &rule::find_pairs(&boxes, &Filters::default()), "of a list");
        }
    }
}

#[test]
fn pairs_to_exclude_that_cannot_come_are_refused() {
    let pairs = given(&[1; 40]);
    let constant = upload_behind(256, &[0; 400], U::UNIFORM);
    let boxes = Kind::Uniform.generate(300, 1);
    let all_pairs = rule::find_pairs(&boxes, &Filters::default());
    let recorder = &mut recorder(CANONICAL);
    let mut exclude = |filters: &Filters, pairs: wgpu::BufferSlice<'_>, count: GpuCount<'_>| {
        recorder.set_filters(filters.clone()).unwrap();
        let result = recorder.record_exclude(&mut encoder(), 300, pairs, count);
        if filters.fixed.is_empty() && filters.exclude_at_most < 100 && result.is_err() {
            assert_pairs(&pairs_of(recorder, &boxes), &all_pairs, "nothing is excluded");
        }
        result
    };
    let own = || pairs.slice(256..);
    let ten_pairs = Filters::default().with_exclude_at_most(10);
    assert_eq!(refused(exclude(&Filters::default(), own(), 1.into())), "exclude");
    assert_eq!(refused(exclude(&Filters::default(), own(), 0.into())), "exclude");
    assert_eq!(refused(exclude(&ten_pairs, own(), 11.into())), "exclude");
    assert_eq!(refused(exclude(&ten_pairs, pairs.slice(344..), 10.into())), "exclude");
    assert_eq!(refused(exclude(&ten_pairs, pairs.slice(4..), 10.into())), "exclude");
    assert_eq!(refused(exclude(&ten_pairs, constant.slice(..), 10.into())), "exclude");
    let no_number = GpuCount::Stored { count: constant.slice(..), at_most: 5 };
    assert_eq!(refused(exclude(&ten_pairs, own(), no_number)), "exclude count");
    let fixed = ten_pairs.clone().with_fixed(vec![true; 299]);
    let length = exclude(&fixed, own(), 10.into());
    assert!(matches!(length, Err(Error::FilterLength { list: "fixed", length: 299, box_count: 300 })), "{length:?}");
    // Nothing is excluded, by nothing.
    assert_eq!(exclude(&ten_pairs, pairs.slice(4..4), 0.into()), Ok(()));
    assert_eq!(exclude(&ten_pairs, own(), 10.into()), Ok(()));
    // The largest allowed count, and more.
    let most = Filters::default().with_exclude_at_most(1 << 24);
    assert_eq!(exclude(&most, own(), 10.into()), Ok(()));
    for room in [(1 << 24) + 1, u32::MAX] {
        let filters = Filters::default().with_exclude_at_most(room);
        assert_eq!(refused(recorder.set_filters(filters)), "exclude_at_most");
    }
}
