//! Filters in a loop of calls: results that are taken later, boxes and pairs that stay on the GPU.

use std::collections::VecDeque;

use broadsweep::filter::{Attribute, HalfSpace};
use broadsweep::{Aabb, BroadPhase, CellSize, Error, Filters, Gpu, Pair, PairOrder, SweepAxis, wgpu};
use laboratory::scenes::Kind;

use crate::common::device::{encoder, read, run, upload};
use crate::common::{ALL_PAIRS, CANONICAL, GPU, Random, SWEEP, assert_pairs, device_with, recorder};
use crate::engines::{WAYS, assert_overlaps, gpu};
use crate::inputs::{all, some_pairs};
use crate::rule;

#[test]
fn submissions_are_searched_with_the_filters_of_their_time() {
    for options in WAYS {
        let mut broad_phase = gpu(options);
        for seed in 0..4 {
            let boxes = Kind::Clusters.generate(900, seed);
            let filters = all(&mut Random(seed), &boxes);
            broad_phase.set_filters(filters.clone()).unwrap();
            broad_phase.submissions().submit(&boxes).unwrap();
            let found = pollster::block_on(broad_phase.submissions().take()).unwrap().clone();
            let expected = rule::find_pairs(&boxes, &filters);
            assert_overlaps(found, &boxes, &filters, options.order, &expected, "submitted");
        }
    }
}

#[test]
#[ignore = "long"]
fn filters_may_change_while_submissions_are_in_flight() {
    let boxes = Kind::Clusters.generate(900, 1);
    // Lists that leap, so that most of them are not whole as they come, and are found again.
    let together = Kind::Identical.generate(700, 1);
    for options in WAYS.into_iter().chain([ALL_PAIRS]) {
        let mut broad_phase = BroadPhase::new(&GPU, options).unwrap();
        let mut random = Random(7);
        let mut filters;
        let mut in_flight = VecDeque::new();
        for number in 0..14 {
            let boxes = if number % 3 == 2 { &together } else { &boxes };
            match number % 4 {
                0 => filters = Filters::default(),
                1 => filters = all(&mut random, boxes),
                _ => filters = Filters::default().with_group(vec![1; boxes.len()]),
            }
            broad_phase.set_filters(filters.clone()).unwrap();
            while broad_phase.submissions().submit(boxes).is_err() {
                take(&mut broad_phase, &mut in_flight, options.order);
            }
            in_flight.push_back((boxes, filters.clone()));
            if !filters.group.is_empty() {
                // Later changes do not affect it.
                let values: Vec<u32> = (0..boxes.len() as u32 / 2).map(|i| i % 2).collect();
                filters.group[5..5 + values.len()].copy_from_slice(&values);
                broad_phase.change_filters(5, Attribute::Group(&values)).unwrap();
                if broad_phase.submissions().submit(boxes).is_ok() {
                    in_flight.push_back((boxes, filters.clone()));
                }
            }
        }
        while !in_flight.is_empty() {
            take(&mut broad_phase, &mut in_flight, options.order);
        }
    }
}

/// Takes the oldest result, and checks it against the filters of its time.
fn take(broad_phase: &mut BroadPhase, in_flight: &mut VecDeque<(&Vec<Aabb>, Filters)>, order: PairOrder) {
    let (boxes, filters) = in_flight.pop_front().unwrap();
    let found = pollster::block_on(broad_phase.submissions().take()).unwrap().clone();
    let expected = rule::find_pairs(boxes, &filters);
    assert_overlaps(found, boxes, &filters, order, &expected, "in flight");
}

#[test]
#[ignore = "long"]
fn filters_may_change_while_a_list_is_read_back_in_pieces() {
    let limits = wgpu::Limits { max_storage_buffer_binding_size: 4 << 20, ..Gpu::required_limits() };
    let boxes = Kind::Identical.generate(2600, 1);
    for order in [PairOrder::Sweep, PairOrder::Canonical] {
        let mut broad_phase = BroadPhase::new(&device_with(limits.clone()), SWEEP.with_order(order)).unwrap();
        let mut filters = Filters::default().with_world((0..2600).map(|i| i / 2000).collect());
        broad_phase.set_filters(filters.clone()).unwrap();
        let expected = rule::find_pairs(&boxes, &filters);
        broad_phase.submissions().submit(&boxes).unwrap();
        let mut polls = 0;
        let found = loop {
            if let Some(found) = broad_phase.submissions().try_take().unwrap() {
                break found.clone();
            }
            // Another one each time that something may have been read back.
            if polls % 512 == 0 {
                filters.world.rotate_left(7);
                broad_phase.change_filters(0, Attribute::World(&filters.world)).unwrap();
            }
            polls += 1;
        };
        let then = Filters::default().with_world((0..2600).map(|i| i / 2000).collect());
        assert_overlaps(found, &boxes, &then, order, &expected, "in pieces");
        assert!(expected.len() > 3 * (1 << 19), "{polls}: the list has one piece");
    }
}

#[test]
fn steps_in_flight_use_the_sleeping_flags_of_their_submission() {
    let boxes = Kind::Uniform.generate(1500, 1);
    let mut broad_phase = BroadPhase::new(&GPU, CANONICAL).unwrap();
    let asleep = |from: usize| (0..1500).map(|i| i >= from).collect::<Vec<bool>>();
    broad_phase.set_filters(Filters::default().with_sleeping(asleep(1500))).unwrap();
    broad_phase.submissions().submit_events(&boxes).unwrap();
    broad_phase.submissions().submit_events(&boxes).unwrap();
    // All fall asleep behind them.
    broad_phase.change_filters(0, Attribute::Sleeping(&asleep(0))).unwrap();
    let first = pollster::block_on(broad_phase.submissions().take_events()).unwrap().clone();
    let second = pollster::block_on(broad_phase.submissions().take_events()).unwrap().clone();
    assert!(first.created.len() > 100);
    assert_eq!(second.persisting, first.created);
    let third = broad_phase.find_events(&boxes).unwrap();
    assert!(third.persisting.is_empty() && third.pairs == first.created);
}

#[test]
fn with_a_budget_filters_cannot_change_while_a_submission_is_in_flight() {
    for options in [CANONICAL, ALL_PAIRS] {
        let boxes = Kind::Uniform.generate(1500, 1);
        let filters = all(&mut Random(1), &boxes);
        let mut broad_phase = gpu(options.with_memory_budget(Some(1 << 26)));
        broad_phase.set_filters(filters.clone()).unwrap();
        for _ in 0..2 {
            broad_phase.submissions().submit(&boxes).unwrap();
            let second = broad_phase.submissions().submit(&boxes);
            assert!(matches!(second, Ok(()) | Err(Error::Busy)), "{second:?}");
            let busy = broad_phase.set_filters(Filters::default());
            assert_eq!(busy.unwrap_err(), Error::Busy);
            assert_eq!(broad_phase.change_filters(0, Attribute::World(&[5])).unwrap_err(), Error::Busy);
            assert_eq!(broad_phase.change_filters(0, Attribute::World(&[])).unwrap_err(), Error::Busy);
            assert_eq!(*broad_phase.filters(), filters);
            let expected = rule::find_pairs(&boxes, &filters);
            for _ in 0..1 + u32::from(second.is_ok()) {
                let found = pollster::block_on(broad_phase.submissions().take()).unwrap().clone();
                assert_overlaps(found, &boxes, &filters, PairOrder::Canonical, &expected, "in flight");
            }
        }
        broad_phase.set_filters(Filters::default()).unwrap();
        let expected = rule::find_pairs(&boxes, &Filters::default());
        assert_pairs(&broad_phase.find_pairs(&boxes).unwrap().pairs, &expected, "without filters");
    }
}

#[test]
fn submissions_in_flight_with_leaps_in_length_are_exact() {
    // SortBuffers by box are of one number of boxes; pairs of lists fit any, and leaps need their lists again.
    let filters = Filters::default().with_exclude(some_pairs(&mut Random(1), 300, 20_000)).with_include(some_pairs(
        &mut Random(2),
        300,
        5000,
    ));
    let scenes: Vec<Vec<Aabb>> =
        [(Kind::Uniform, 300), (Kind::Identical, 400), (Kind::Uniform, 2000), (Kind::Identical, 600)]
            .into_iter()
            .chain([(Kind::Touching, 300), (Kind::Identical, 350)])
            .map(|(kind, n)| kind.generate(n, 1))
            .collect();
    let mut broad_phase = gpu(CANONICAL);
    broad_phase.set_filters(filters.clone()).unwrap();
    let mut results = Vec::new();
    for boxes in &scenes {
        while let Err(error) = broad_phase.submissions().submit(boxes) {
            assert_eq!(error, Error::Busy);
            results.push(pollster::block_on(broad_phase.submissions().take()).unwrap().clone());
        }
    }
    while results.len() < scenes.len() {
        results.push(pollster::block_on(broad_phase.submissions().take()).unwrap().clone());
    }
    for (found, boxes) in results.into_iter().zip(&scenes) {
        let expected = rule::find_pairs(boxes, &filters);
        assert_overlaps(found, boxes, &filters, PairOrder::Canonical, &expected, "beside others");
    }
}

#[test]
fn a_submission_with_wrong_filters_is_refused_and_leaves_the_one_in_flight() {
    let boxes = Kind::Uniform.generate(500, 1);
    let filters = all(&mut Random(1), &boxes);
    let mut broad_phase = gpu(CANONICAL);
    broad_phase.set_filters(filters.clone()).unwrap();
    broad_phase.submissions().submit(&boxes).unwrap();
    let refused = broad_phase.submissions().submit(&boxes[..499]).unwrap_err();
    assert!(matches!(refused, Error::FilterLength { length: 500, box_count: 499, .. }), "{refused}");
    let found = pollster::block_on(broad_phase.submissions().take()).unwrap().clone();
    let expected = rule::find_pairs(&boxes, &filters);
    assert_overlaps(found, &boxes, &filters, PairOrder::Canonical, &expected, "the one before");
}

// ---- on the GPU ----

#[test]
fn a_submission_that_is_refused_leaves_the_one_before_exact() {
    // List and runs are too short, so boxes are tested again after the refusal. Boxes with half-spaces are prepared in
    // a buffer that the refused submission, with more boxes, needs longer. Only the exact test distinguishes the two
    // stacks.
    let at = |x: f32, y: f32| Aabb::new([x, y, 0.0], [x + 1.0, y + 1.0, 1.0]);
    let boxes: Vec<Aabb> = (0..900).map(|i| at(0.0, if i % 2 == 0 { 0.0 } else { 5.0 })).collect();
    let half_space = HalfSpace { index: 0, normal: [0.0, 0.0, 1.0], offset: -1.0 };
    let filters = Filters::default().with_half_spaces(vec![half_space]);
    let expected = rule::find_pairs(&boxes[..800], &filters);
    for options in WAYS {
        let options = options.with_axis(SweepAxis::X).with_cell_size(CellSize::Fixed(1e6));
        let mut broad_phase = BroadPhase::new(&GPU, options).unwrap();
        broad_phase.set_filters(filters.clone()).unwrap();
        let memory_budget = Some(broad_phase.memory_plan(900).unwrap().total());
        broad_phase.set_options(options.with_memory_budget(memory_budget)).unwrap();
        broad_phase.reserve(900, 0).unwrap();
        broad_phase.submissions().submit(&boxes[..800]).unwrap();
        assert_eq!(broad_phase.submissions().submit(&boxes), Err(Error::Busy), "the test needs a refusal");
        let mut found = pollster::block_on(broad_phase.submissions().take()).unwrap().clone();
        found.pairs.sort_unstable();
        assert_pairs(&found.pairs, &expected, "before a refusal");
    }
}

#[test]
fn boxes_on_the_gpu_are_filtered_and_stay_as_they_are() {
    for options in WAYS {
        let mut recorder = recorder(options);
        for seed in 0..3 {
            let boxes = Kind::Infinite.generate(1200, seed);
            let buffer = upload(&boxes);
            let filters = all(&mut Random(seed), &boxes);
            let expected = rule::find_pairs(&boxes, &filters);
            recorder.set_filters(filters).unwrap();
            recorder.reserve(1200, expected.len() as u32).unwrap();
            let mut encoder = encoder();
            let left = recorder.record(&mut encoder, buffer.slice(..), 1200).unwrap();
            let (header, mut pairs) = run(encoder, left);
            if options.order == PairOrder::Sweep {
                pairs.sort_unstable();
            }
            assert_pairs(&pairs, &expected, "left on the GPU");
            let count = expected.len() as u32;
            assert_eq!((header.count, header.count_high, header.written, header.overflow), (count, 0, count, 0));
            // Margins and half-spaces are the engine's; the caller's buffer is read only.
            let [after] = read::<u32, 1>(self::encoder(), [&buffer]);
            assert!(after == bytemuck::cast_slice::<Aabb, u32>(&boxes), "boxes were written to");
        }
    }
}

#[test]
fn a_filtered_list_that_is_too_short_can_be_emitted_again() {
    let boxes = Kind::Identical.generate(300, 1);
    let buffer = upload(&boxes);
    let filters = Filters::default()
        .with_world((0..300).map(|i| i % 2).collect())
        .with_exclude(some_pairs(&mut Random(1), 300, 2000))
        .with_include(some_pairs(&mut Random(2), 300, 9000));
    let expected = rule::find_pairs(&boxes, &filters);
    let count = expected.len() as u32;
    for options in WAYS {
        let mut recorder = recorder(options);
        recorder.set_filters(filters.clone()).unwrap();
        let mut first = encoder();
        let left = recorder.record(&mut first, buffer.slice(..), 300).unwrap();
        let capacity = left.capacity;
        let (header, mut pairs) = run(first, left);
        assert!(capacity < count, "the test needs a short list");
        assert_eq!((header.count, header.written, header.overflow), (count, capacity, 1));
        while (pairs.len() as u32) < count {
            let mut again = encoder();
            let left = recorder.record_window(&mut again, buffer.slice(..), 300, pairs.len() as u64, 0).unwrap();
            let (header, piece) = run(again, left);
            assert_eq!((header.count, header.overflow), (count, u32::from(pairs.len() + piece.len() < count as usize)));
            assert!(!piece.is_empty());
            pairs.extend(piece);
        }
        pairs.sort_unstable();
        assert_pairs(&pairs, &expected, "in pieces");
        let mut again = encoder();
        let left = recorder.record_window(&mut again, buffer.slice(..), 300, 0, count).unwrap();
        let (header, mut pairs) = run(again, left);
        assert_eq!((header.count, header.written, header.overflow), (count, count, 0));
        pairs.sort_unstable();
        assert_pairs(&pairs, &expected, "in a longer list");
    }
}

#[test]
fn what_was_recorded_with_other_filters_is_not_emitted_again() {
    let boxes = Kind::Uniform.generate(500, 1);
    let buffer = upload(&boxes);
    let mut recorder = recorder(SWEEP);
    let mut first = encoder();
    recorder.record(&mut first, buffer.slice(..), 500).unwrap();
    GPU.queue().submit([first.finish()]);
    recorder.set_filters(Filters::default().with_body(vec![1; 500])).unwrap();
    let mut again = encoder();
    // A refusal, or the list of the filters there are now; never one of both.
    match recorder.record_window(&mut again, buffer.slice(..), 500, 0, 0) {
        Err(error) => assert_eq!(error, Error::NothingRecorded),
        Ok(left) => assert_eq!(run(again, left).1, []),
    }
    // Nor where they were changed since.
    let mut first = encoder();
    recorder.record(&mut first, buffer.slice(..), 500).unwrap();
    GPU.queue().submit([first.finish()]);
    recorder.change_filters(0, Attribute::Body(&[2])).unwrap();
    let again = recorder.record_window(&mut encoder(), buffer.slice(..), 500, 0, 0).map(|_| ());
    assert_eq!(again, Err(Error::NothingRecorded));
}

#[test]
fn a_change_that_is_refused_leaves_what_was_recorded() {
    let boxes = Kind::Uniform.generate(500, 1);
    let buffer = upload(&boxes);
    let filters = Filters::default().with_sleeping(vec![false; 500]);
    let expected = rule::find_pairs(&boxes, &filters);
    let mut recorder = recorder(CANONICAL);
    recorder.set_filters(filters).unwrap();
    let mut first = encoder();
    recorder.record(&mut first, buffer.slice(..), 500).unwrap();
    GPU.queue().submit([first.finish()]);
    assert!(recorder.change_filters(0, Attribute::Group(&[1])).is_err());
    assert!(recorder.change_filters(500, Attribute::Sleeping(&[true])).is_err());
    let mut again = encoder();
    let left = recorder.record_window(&mut again, buffer.slice(..), 500, 0, expected.len() as u32).unwrap();
    assert_pairs(&run(again, left).1, &expected, "after a refusal");
}

#[test]
fn wrong_filters_are_refused_when_recording() {
    let boxes = Kind::Uniform.generate(500, 1);
    let buffer = upload(&boxes);
    let mut recorder = recorder(CANONICAL.with_order(PairOrder::Sweep));
    recorder.set_filters(Filters::default().with_margin(vec![0.0; 501])).unwrap();
    let refused = recorder.record(&mut encoder(), buffer.slice(..), 500).unwrap_err();
    assert!(matches!(refused, Error::FilterLength { list: "margin", length: 501, box_count: 500 }), "{refused}");
    recorder.set_filters(Filters::default().with_include(vec![Pair { a: 0, b: 500 }])).unwrap();
    let refused = recorder.record(&mut encoder(), buffer.slice(..), 500).unwrap_err();
    assert!(matches!(refused, Error::BadFilter { list: "include", index: Some(0), .. }), "{refused}");
    recorder.set_filters(Filters::default()).unwrap();
    assert!(recorder.record(&mut encoder(), buffer.slice(..), 500).is_ok());
}
