//! The ways of a loop of calls: results that are taken later, and pairs that stay on the GPU.

use std::mem::offset_of;

use crate::common::*;
use broadsweep::cpu;
use broadsweep::filter::Attribute;
use broadsweep::internals::brute_force;
use broadsweep::record::{GpuPairs, PairArguments, PairHeader};
use broadsweep::{Aabb, BroadPhase, Error, Filters, Gpu, Options, Overlaps, Pair, PairOrder, Recorder, wgpu};
use laboratory::scenes::Kind;
use wgpu::BufferUsages as U;

#[test]
fn a_submitted_result_is_there_after_polling() {
    // So many boxes that the search takes longer than the first poll. If this thread had to wait for a core, the test
    // tries again.
    let boxes = Kind::Uniform.generate(100_000, 1);
    let expected = cpu::find_pairs(&boxes, &CANONICAL).unwrap().pairs;
    let mut broad_phase = broad_phase(CANONICAL);
    let mut polls = 0u64;
    for _ in 0..10 {
        broad_phase.submissions().submit(&boxes).unwrap();
        let overlaps = loop {
            if let Some(overlaps) = broad_phase.submissions().try_take().unwrap() {
                break overlaps;
            }
            polls += 1;
        };
        assert_pairs(&overlaps.pairs, &expected, "polled");
        if polls > 0 {
            return;
        }
    }
    panic!("every first look came after the result: does submit block?");
}

#[test]
fn a_submitted_result_can_be_awaited() {
    let boxes = Kind::Clusters.generate(3000, 1);
    let mut broad_phase = broad_phase(CANONICAL);
    broad_phase.submissions().submit(&boxes).unwrap();
    let overlaps = pollster::block_on(broad_phase.submissions().take()).unwrap().clone();
    assert_pairs(&overlaps.pairs, &brute_force::find_pairs(&boxes), "awaited");
}

#[test]
fn a_dropped_future_loses_nothing() {
    let boxes = Kind::Uniform.generate(2000, 1);
    let mut broad_phase = broad_phase(CANONICAL);
    broad_phase.submissions().submit(&boxes).unwrap();
    {
        let mut future = std::pin::pin!(broad_phase.submissions().take());
        let mut context = std::task::Context::from_waker(std::task::Waker::noop());
        let _ = std::future::Future::poll(future.as_mut(), &mut context);
    }
    match pollster::block_on(broad_phase.submissions().take()) {
        Ok(overlaps) => assert_pairs(&overlaps.pairs, &brute_force::find_pairs(&boxes), "dropped"),
        // The one poll may have had it.
        Err(error) => assert_eq!(error, Error::NothingSubmitted),
    }
}

#[test]
fn two_submissions_at_a_time() {
    let boxes = Kind::Uniform.generate(500, 1);
    let more = Kind::Uniform.generate(600, 2);
    let mut broad_phase = broad_phase(CANONICAL);
    assert_eq!(broad_phase.submissions().try_take().unwrap_err(), Error::NothingSubmitted);
    broad_phase.submissions().submit(&boxes).unwrap();
    broad_phase.submissions().submit(&more).unwrap();
    for _ in 0..2 {
        assert_eq!(broad_phase.find_pairs(&boxes).unwrap_err(), Error::Busy);
        assert_eq!(broad_phase.reserve(10, 10).unwrap_err(), Error::Busy);
        assert_eq!(broad_phase.set_options(Options::default()).unwrap_err(), Error::Busy);
        if broad_phase.submissions().submit(&boxes) == Err(Error::Busy) {
            let first = pollster::block_on(broad_phase.submissions().take()).unwrap().clone();
            assert_pairs(&first.pairs, &brute_force::find_pairs(&boxes), "first");
            assert_eq!(first.report.box_count, 500);
        }
    }
    for expected in [&more, &boxes] {
        let next = pollster::block_on(broad_phase.submissions().take()).unwrap().clone();
        assert_pairs(&next.pairs, &brute_force::find_pairs(expected), "next");
    }
    assert_eq!(broad_phase.submissions().try_take().unwrap_err(), Error::NothingSubmitted);
    assert!(broad_phase.find_pairs(&boxes).is_ok());
}

/// Submits every scene as early as it can be, and takes the results when it must, or when `eager`.
fn run_through(broad_phase: &mut BroadPhase, scenes: &[Vec<Aabb>], eager: impl Fn(usize) -> bool) -> Vec<Overlaps> {
    let mut results = Vec::new();
    let budget = broad_phase.options().memory_budget.unwrap_or(u64::MAX);
    let take = |broad_phase: &mut BroadPhase, results: &mut Vec<Overlaps>| {
        let overlaps = pollster::block_on(broad_phase.submissions().take()).unwrap().clone();
        assert!(overlaps.report.gpu_bytes <= budget, "{} of {budget}", overlaps.report.gpu_bytes);
        results.push(overlaps);
    };
    for (i, boxes) in scenes.iter().enumerate() {
        while let Err(error) = broad_phase.submissions().submit(boxes) {
            assert_eq!(error, Error::Busy);
            take(broad_phase, &mut results);
        }
        if eager(i) {
            let _ = broad_phase.submissions().try_take().unwrap().map(|overlaps| results.push(overlaps.clone()));
        }
    }
    while results.len() < scenes.len() {
        take(broad_phase, &mut results);
    }
    results
}

/// Creates scenes, many of which have far more pairs, or boxes, than the one before.
fn leaps() -> Vec<Vec<Aabb>> {
    let identical = |n| vec![Aabb::new([0.0; 3], [1.0; 3]); n];
    vec![
        Kind::Uniform.generate(10, 1),
        Kind::Uniform.generate(3000, 2),
        identical(300),
        Vec::new(),
        identical(350),
        identical(2),
        Kind::Clusters.generate(1500, 3),
        identical(600),
        identical(650),
        Kind::Uniform.generate(1, 4),
        Kind::Infinite.generate(800, 5),
        Kind::Uniform.generate(6000, 6),
    ]
}

#[test]
#[ignore = "long"]
fn submissions_in_flight_come_out_in_their_order_and_exact() {
    let scenes = leaps();
    for order in [PairOrder::Sweep, PairOrder::Canonical] {
        let options = CANONICAL.with_order(order);
        let mut alone = BroadPhase::new(&GPU, options).unwrap();
        let alone: Vec<Overlaps> = scenes.iter().map(|boxes| alone.find_pairs(boxes).unwrap().clone()).collect();
        for every in [1, 3] {
            let mut broad_phase = BroadPhase::new(&GPU, options).unwrap();
            let results = run_through(&mut broad_phase, &scenes, |i| i % every == every - 1);
            for ((overlaps, boxes), alone) in results.into_iter().zip(&scenes).zip(&alone) {
                assert_eq!(overlaps.report.box_count as usize, boxes.len());
                assert_pairs(&overlaps.pairs, &alone.pairs, "beside others");
                let mut sorted = overlaps.pairs;
                sorted.sort_unstable();
                assert_pairs(&sorted, &brute_force::find_pairs(boxes), "exact");
            }
        }
    }
}

#[test]
#[ignore = "long"]
fn submissions_in_flight_keep_to_the_budget() {
    let scenes: Vec<_> = leaps().into_iter().filter(|boxes| boxes.len() < 5000).collect();
    let largest = scenes.iter().max_by_key(|boxes| boxes.len()).unwrap();
    for order in [PairOrder::Sweep, PairOrder::Canonical] {
        let least = least_budget(largest, order);
        for more in [0, 300_000] {
            let options = CANONICAL.with_order(order).with_memory_budget(Some(least + more));
            let mut broad_phase = BroadPhase::new(&GPU, options).unwrap();
            for (overlaps, boxes) in run_through(&mut broad_phase, &scenes, |_| false).into_iter().zip(&scenes) {
                let mut sorted = overlaps.pairs;
                sorted.sort_unstable();
                assert_pairs(&sorted, &brute_force::find_pairs(boxes), "within a budget");
            }
        }
    }
}

#[test]
fn a_budget_too_small_for_a_second_submission_returns_busy() {
    let boxes = Kind::Uniform.generate(3000, 1);
    let options = CANONICAL.with_memory_budget(Some(least_budget(&boxes, PairOrder::Canonical)));
    let mut broad_phase = BroadPhase::new(&GPU, options).unwrap();
    for _ in 0..2 {
        broad_phase.submissions().submit(&boxes).unwrap();
        assert_eq!(broad_phase.submissions().submit(&boxes).unwrap_err(), Error::Busy);
        let overlaps = pollster::block_on(broad_phase.submissions().take()).unwrap().clone();
        assert_pairs(&overlaps.pairs, &brute_force::find_pairs(&boxes), "one at a time");
    }
}

#[test]
fn nothing_is_consumed_of_a_list_that_is_still_read_back() {
    let boxes = Kind::Identical.generate(600, 1);
    let expected = brute_force::find_pairs(&boxes);
    for order in [PairOrder::Sweep, PairOrder::Canonical] {
        let options = CANONICAL.with_order(order).with_memory_budget(Some(least_budget(&boxes, order)));
        let mut broad_phase = BroadPhase::new(&GPU, options).unwrap();
        let before = broad_phase.find_pairs(&boxes[..100]).unwrap().clone();
        broad_phase.submissions().submit(&boxes).unwrap();
        assert_eq!(*broad_phase.last_overlaps(), before, "the last answer stays until the next is read back");
        let (mut looks, mut found) = (0, None);
        while found.is_none() {
            found = broad_phase.submissions().try_take().unwrap().cloned();
            if found.is_none() && *broad_phase.last_overlaps() != before {
                looks += 1;
                assert_eq!(*broad_phase.last_overlaps(), Overlaps::default());
                assert_eq!(broad_phase.take_overlaps(), Overlaps::default());
            }
        }
        assert!(looks > 0, "the test needs to look while a list is read back");
        let mut found = found.unwrap();
        assert_eq!(found.report.pair_count, expected.len() as u64);
        if order == PairOrder::Sweep {
            found.pairs.sort_unstable();
        }
        assert_pairs(&found.pairs, &expected, "in pieces");
    }
}

#[test]
#[ignore = "long"]
fn a_submission_that_fails_leaves_the_next_one() {
    let dense = vec![Aabb::new([0.0; 3], [1.0; 3]); 300];
    let boxes = Kind::Uniform.generate(500, 1);
    let mut broad_phase = broad_phase(CANONICAL.with_candidate_limit(20_000));
    broad_phase.submissions().submit(&dense).unwrap();
    broad_phase.submissions().submit(&boxes).unwrap();
    let error = pollster::block_on(broad_phase.submissions().take()).unwrap_err();
    assert!(matches!(error, Error::TooManyCandidates { .. }), "{error}");
    let overlaps = pollster::block_on(broad_phase.submissions().take()).unwrap().clone();
    assert_pairs(&overlaps.pairs, &brute_force::find_pairs(&boxes), "the next");
    // One that is refused leaves the one in flight.
    broad_phase.submissions().submit(&boxes).unwrap();
    let too_many = vec![boxes[0]; (1 << 25) + 1];
    assert!(matches!(broad_phase.submissions().submit(&too_many), Err(Error::TooManyBoxes { .. })));
    let overlaps = pollster::block_on(broad_phase.submissions().take()).unwrap().clone();
    assert_pairs(&overlaps.pairs, &brute_force::find_pairs(&boxes), "the one before");
}

#[test]
fn results_that_were_never_taken_do_not_outlive_their_broad_phase() {
    let mut broad_phase = BroadPhase::new(&GPU, CANONICAL).unwrap();
    broad_phase.submissions().submit(&Kind::Uniform.generate(500, 1)).unwrap();
    broad_phase.submissions().submit(&Kind::Uniform.generate(5000, 1)).unwrap();
    drop(broad_phase);
}

// ---- on the GPU ----

pub fn upload<T: bytemuck::Pod>(values: &[T], usage: U) -> wgpu::Buffer {
    let buffer = GPU.device().create_buffer(&wgpu::BufferDescriptor {
        label: Some("values of the caller"),
        size: (size_of_val(values) as u64).max(24),
        usage: usage | U::COPY_DST,
        mapped_at_creation: false,
    });
    GPU.queue().write_buffer(&buffer, 0, bytes_of(values));
    buffer
}

fn bytes_of<T: bytemuck::Pod>(values: &[T]) -> &[u8] {
    bytemuck::cast_slice(values)
}

pub fn encoder() -> wgpu::CommandEncoder {
    GPU.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
}

/// Runs what was recorded, and reads header and list.
pub fn run(encoder: wgpu::CommandEncoder, left: GpuPairs) -> (PairHeader, Vec<Pair>) {
    let (header, _, pairs) = run_with_arguments(encoder, left);
    (header, pairs)
}

/// Runs what was recorded, and reads header, arguments and list.
pub fn run_with_arguments(encoder: wgpu::CommandEncoder, left: GpuPairs) -> (PairHeader, PairArguments, Vec<Pair>) {
    let [header, arguments, pairs] = read(encoder, [left.header, left.arguments, left.pairs]);
    let header: PairHeader = bytemuck::pod_read_unaligned(&header);
    let list: Vec<Pair> = bytemuck::pod_collect_to_vec(&pairs);
    (header, bytemuck::pod_read_unaligned(&arguments), list[..header.written as usize].to_vec())
}

/// Runs what was recorded, and reads buffers.
pub fn read<const N: usize>(mut encoder: wgpu::CommandEncoder, buffers: [&wgpu::Buffer; N]) -> [Vec<u8>; N] {
    let copies = buffers.map(|from| {
        let to = GPU.device().create_buffer(&wgpu::BufferDescriptor {
            label: Some("copy"),
            size: from.size(),
            usage: U::MAP_READ | U::COPY_DST,
            mapped_at_creation: false,
        });
        encoder.copy_buffer_to_buffer(from, 0, &to, 0, from.size());
        to
    });
    wait_for(&GPU, encoder);
    for buffer in &copies {
        buffer.map_async(wgpu::MapMode::Read, .., |result| result.unwrap());
    }
    GPU.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
    copies.map(|buffer| buffer.get_mapped_range(..).unwrap().to_vec())
}

#[test]
fn pairs_stay_on_the_gpu_with_their_header() {
    let boxes = Kind::Infinite.generate(3000, 4);
    let expected = brute_force::find_pairs(&boxes);
    let buffer = upload(&boxes, U::STORAGE);
    for options in [CANONICAL, ALL_PAIRS] {
        let mut recorder = recorder(options.with_vertices_per_pair(36));
        let mut encoder = encoder();
        let left = recorder.record(&mut encoder, buffer.slice(..), 3000).unwrap();
        let capacity = left.capacity;
        let (header, arguments, pairs) = run_with_arguments(encoder, left);
        let count = expected.len() as u32;
        assert_pairs(&pairs, &expected, "left on the GPU");
        assert_eq!((header.count, header.count_high, header.written, header.overflow), (count, 0, count, 0));
        assert_eq!(header.capacity, capacity);
        assert_eq!(arguments.dispatch, [count.div_ceil(256), 1, 1]);
        assert_eq!(arguments.draw, [36, count, 0, 0]);
        assert_eq!(arguments.draw_list, [36 * count, 1, 0, 0]);
    }
    assert_eq!(GpuPairs::DISPATCH_OFFSET, offset_of!(PairArguments, dispatch) as u64);
    assert_eq!(GpuPairs::DRAW_OFFSET, offset_of!(PairArguments, draw) as u64);
    assert_eq!(GpuPairs::DRAW_LIST_OFFSET, offset_of!(PairArguments, draw_list) as u64);
}

#[test]
fn a_list_that_is_too_short_reports_it_and_can_be_emitted_again() {
    let boxes = vec![Aabb::new([0.0; 3], [1.0; 3]); 300];
    let expected = brute_force::find_pairs(&boxes);
    let count = expected.len() as u32;
    let buffer = upload(&boxes, U::STORAGE);
    for options in [CANONICAL, SWEEP, ALL_PAIRS, ALL_PAIRS.with_order(PairOrder::Sweep)] {
        let mut recorder = Recorder::new(&GPU, options).unwrap();
        let mut first_encoder = encoder();
        let left = recorder.record(&mut first_encoder, buffer.slice(..), 300).unwrap();
        let capacity = left.capacity;
        assert!(capacity < count, "the test needs a short list");
        let (header, arguments, mut pairs) = run_with_arguments(first_encoder, left);
        assert_eq!((header.count, header.written, header.overflow), (count, capacity, 1));
        assert_eq!(arguments.draw[1], capacity);
        // The rest in pieces of the same length.
        while (pairs.len() as u32) < count {
            let mut encoder = encoder();
            let left = recorder.record_window(&mut encoder, buffer.slice(..), 300, pairs.len() as u64, 0).unwrap();
            let (header, piece) = run(encoder, left);
            assert_eq!(header.overflow, u32::from(pairs.len() + piece.len() < count as usize));
            assert_eq!(header.count, count);
            pairs.extend(piece);
        }
        pairs.sort_unstable();
        assert_pairs(&pairs, &expected, "in pieces");
        // Nothing is beyond the end, also where the end of the window is beyond 2^64.
        for first in [count.into(), 1 << 40, u64::MAX - 1000, u64::MAX] {
            let mut encoder = encoder();
            let left = recorder.record_window(&mut encoder, buffer.slice(..), 300, first, 0).unwrap();
            let (header, piece) = run(encoder, left);
            assert_eq!((header.count, header.written, header.overflow, piece.len()), (count, 0, 0, 0), "{first}");
        }
        // The whole into a longer list.
        let mut again = encoder();
        let left = recorder.record_window(&mut again, buffer.slice(..), 300, 0, count).unwrap();
        assert!(left.capacity >= count);
        let (header, mut pairs) = run(again, left);
        assert_eq!((header.count, header.written, header.overflow), (count, count, 0));
        pairs.sort_unstable();
        assert_pairs(&pairs, &expected, "longer");
    }
}

#[test]
fn a_candidate_limit_shows_in_the_header() {
    let boxes = vec![Aabb::new([0.0; 3], [1.0; 3]); 300];
    let buffer = upload(&boxes, U::STORAGE);
    let mut recorder = recorder(CANONICAL.with_candidate_limit(100));
    let mut encoder = encoder();
    let left = recorder.record(&mut encoder, buffer.slice(..), 300).unwrap();
    let (header, pairs) = run(encoder, left);
    assert_eq!((header.count, header.overflow, header.written, pairs.len()), (0, 2, 0, 0));
}

/// Included pairs alone are no answer, and a list that is too short for them is not what is wrong.
#[test]
fn a_refused_recording_has_no_pairs_not_even_included_ones() {
    let boxes = vec![Aabb::new([0.0; 3], [1.0; 3]); 300];
    let buffer = upload(&boxes, U::STORAGE);
    for included in [1, 299] {
        let mut recorder = Recorder::new(&GPU, CANONICAL.with_candidate_limit(100)).unwrap();
        let include = (1..=included).map(|b| Pair { a: 0, b }).collect();
        recorder.set_filters(Filters::default().with_include(include)).unwrap();
        let mut encoder = encoder();
        let left = recorder.record(&mut encoder, buffer.slice(..), 300).unwrap();
        let (header, arguments, pairs) = run_with_arguments(encoder, left);
        assert_eq!((header.count, header.overflow, header.written, pairs.len()), (0, 2, 0, 0));
        assert_eq!((arguments.dispatch[0], arguments.draw[1]), (0, 0));
    }
}

#[test]
fn several_recordings_in_one_encoder_follow_each_other() {
    let first = Kind::Uniform.generate(2000, 1);
    let second = Kind::Pile.generate(700, 2);
    let (buffer_a, buffer_b) = (upload(&first, U::STORAGE), upload(&second, U::STORAGE));
    // The whole flow twice, each in one way, every two boxes twice.
    for all_pairs_up_to in [0, 700, 2000].map(Some) {
        let mut recorder = recorder(CANONICAL.with_all_pairs_up_to(all_pairs_up_to));
        recorder.reserve(2000, 20_000).unwrap();
        for (buffer, n, other, m, boxes) in
            [(&buffer_a, 2000, &buffer_b, 700, &second), (&buffer_b, 700, &buffer_a, 2000, &first)]
        {
            let mut encoder = encoder();
            recorder.record(&mut encoder, buffer.slice(..), n).unwrap();
            let left = recorder.record(&mut encoder, other.slice(..), m).unwrap();
            let (_, pairs) = run(encoder, left);
            assert_pairs(&pairs, &brute_force::find_pairs(boxes), "second of two");
        }
    }
}

/// Checks a window that begins at this number, in canonical order: pairs are numbered in the order in which they are
/// found, and sorted within the window.
fn assert_all_but(first: usize, found: &[Pair], expected: &[Pair]) {
    assert_eq!(found.len(), expected.len() - first);
    assert!(found.is_sorted() && found.iter().all(|pair| expected.binary_search(pair).is_ok()));
}

#[test]
fn boxes_are_taken_from_where_the_slice_begins() {
    let boxes = Kind::Pile.generate(700, 3);
    let expected = brute_force::find_pairs(&boxes);
    // Other boxes before those.
    let all = [vec![Aabb::new([0.0; 3], [1.0; 3]); 32], boxes].concat();
    let (buffer, first) = (upload(&all, U::STORAGE), 32 * size_of::<Aabb>() as u64);
    for options in [CANONICAL, ALL_PAIRS] {
        let mut recorder = recorder(options);
        recorder.reserve(700, expected.len() as u32).unwrap();
        let mut recorded = encoder();
        let left = recorder.record(&mut recorded, buffer.slice(first..), 700).unwrap();
        assert_pairs(&run(recorded, left).1, &expected, "from an offset");
        let mut again = encoder();
        let left = recorder.record_window(&mut again, buffer.slice(first..), 700, 5, 0).unwrap();
        assert_all_but(5, &run(again, left).1, &expected);

        for (slice, wrong) in [(buffer.slice(first + 24..), "multiples of"), (buffer.slice(..first), "holds 768 bytes")]
        {
            let error = recorder.record(&mut encoder(), slice, 600).unwrap_err();
            assert!(
                matches!(&error, Error::BadBuffer { buffer: "box", problem } if problem.contains(wrong)),
                "{error}"
            );
        }
    }
}

#[test]
fn no_boxes_and_empty_buffers_can_be_recorded() {
    let buffer = upload::<Aabb>(&[], U::STORAGE);
    for options in [CANONICAL, ALL_PAIRS] {
        let mut recorder = recorder(options);
        let mut encoder = encoder();
        let left = recorder.record(&mut encoder, buffer.slice(..), 0).unwrap();
        let (header, pairs) = run(encoder, left);
        assert_eq!((header.count, header.written, header.overflow, pairs.len()), (0, 0, 0, 0));
    }
}

#[test]
fn a_window_is_emitted_as_its_recording_decided_whatever_the_options_are_now() {
    let boxes = Kind::Pile.generate(300, 1);
    let expected = brute_force::find_pairs(&boxes);
    let buffer = upload(&boxes, U::STORAGE);
    for (options, others) in [(CANONICAL, ALL_PAIRS), (ALL_PAIRS, CANONICAL)] {
        let mut recorder = Recorder::new(&GPU, options).unwrap();
        recorder.reserve(300, expected.len() as u32).unwrap();
        let mut first = encoder();
        recorder.record(&mut first, buffer.slice(..), 300).unwrap();
        GPU.queue().submit([first.finish()]);
        // Other ways to search, another limit: none of them can be applied to what was found already.
        recorder.set_options(others.with_candidate_limit(1)).unwrap();
        let mut again = encoder();
        let left = recorder.record_window(&mut again, buffer.slice(..), 300, 3, 0).unwrap();
        let (header, pairs) = run(again, left);
        assert_eq!((header.count as usize, header.overflow), (expected.len(), 0));
        assert_all_but(3, &pairs, &expected);
        // In another order there is another list.
        recorder.set_options(options.with_order(PairOrder::Sweep)).unwrap();
        let error = recorder.record_window(&mut encoder(), buffer.slice(..), 300, 0, 0).unwrap_err();
        assert_eq!(error, Error::NothingRecorded);
    }
}

#[test]
fn a_box_buffer_that_cannot_be_used_is_refused() {
    let boxes = Kind::Uniform.generate(10, 1);
    let mut recorder = recorder(CANONICAL);
    let mut encoder = encoder();
    let small = upload(&boxes, U::STORAGE);
    assert!(matches!(recorder.record(&mut encoder, small.slice(..), 11), Err(Error::BadBuffer { .. })));
    let no_storage = upload(&boxes, U::VERTEX);
    assert!(matches!(recorder.record(&mut encoder, no_storage.slice(..), 10), Err(Error::BadBuffer { .. })));
}

#[test]
fn boxes_at_the_start_of_any_buffer_can_be_recorded() {
    let boxes = Kind::Uniform.generate(10, 1);
    let expected = brute_force::find_pairs(&boxes);
    // Larger than one binding may be, and of a size that is no multiple of four.
    for size in [200 << 20, 242] {
        let buffer = GPU.device().create_buffer(&wgpu::BufferDescriptor {
            label: Some("arena"),
            size,
            usage: U::STORAGE | U::COPY_DST,
            mapped_at_creation: false,
        });
        GPU.queue().write_buffer(&buffer, 0, bytes_of(&boxes));
        let mut recorder = recorder(CANONICAL);
        let mut encoder = encoder();
        let left = recorder.record(&mut encoder, buffer.slice(..), 10).unwrap();
        let (_, pairs) = run(encoder, left);
        assert_pairs(&pairs, &expected, "arena");
    }
}

#[test]
fn a_buffer_of_another_device_is_a_typed_error() {
    // Of one instance: wgpu numbers the buffers of each, and may take a buffer of one for a buffer of the other.
    let [own, other] = two_devices(Gpu::required_limits());
    let gpu = Gpu::from_device(own.0, own.1).unwrap();
    let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let foreign = other.0.create_buffer(&wgpu::BufferDescriptor {
        label: Some("foreign"),
        size: 240,
        usage: U::STORAGE,
        mapped_at_creation: false,
    });
    let mut recorder = Recorder::new(&gpu, CANONICAL).unwrap();
    let error = recorder.record(&mut encoder, foreign.slice(..), 10).unwrap_err();
    assert!(matches!(error, Error::BadBuffer { .. }), "{error}");
    assert!(error.to_string().contains("another device"), "{error}");
}

#[test]
fn nothing_is_emitted_again_from_buffers_that_hold_something_else() {
    let boxes = Kind::Uniform.generate(300, 1);
    let buffer = upload(&boxes, U::STORAGE);
    let mut recorder = Recorder::new(&GPU, CANONICAL).unwrap();
    let again = |recorder: &mut Recorder, n| recorder.record_window(&mut encoder(), buffer.slice(..), n, 0, 0).err();
    assert_eq!(again(&mut recorder, 300), Some(Error::NothingRecorded));
    let record = |recorder: &mut Recorder| {
        let mut encoder = encoder();
        recorder.record(&mut encoder, buffer.slice(..), 300).unwrap();
        GPU.queue().submit([encoder.finish()]);
    };
    record(&mut recorder);
    assert_eq!(again(&mut recorder, 300), None);
    assert_eq!(again(&mut recorder, 299), Some(Error::NothingRecorded));
    // A longer list leaves the pairs valid; capacity for more boxes, or other filters, do not.
    recorder.reserve(300, 100_000).unwrap();
    assert_eq!(again(&mut recorder, 300), None);
    recorder.reserve(5000, 0).unwrap();
    assert_eq!(again(&mut recorder, 300), Some(Error::NothingRecorded));
    record(&mut recorder);
    recorder.set_filters(Filters::default()).unwrap();
    assert_eq!(again(&mut recorder, 300), Some(Error::NothingRecorded));
}

#[test]
fn a_smaller_scene_keeps_the_buffers_of_a_larger_one_under_a_budget() {
    let options = Options::default().with_memory_budget(Some(30 << 20));
    let mut recorder = Recorder::new(&GPU, options).unwrap();
    let buffer = upload(&Kind::Uniform.generate(126_000, 1), U::STORAGE);
    let mut header_of = |n| recorder.record(&mut encoder(), buffer.slice(..), n).unwrap().header.clone();
    let first = header_of(126_000);
    for n in [125_500, 100_000, 5, 126_000] {
        assert!(header_of(n) == first, "{n} boxes were given other buffers");
    }
}

// ---- a device that goes away ----

#[test]
fn a_lost_device_is_a_typed_error_and_never_a_hang() {
    let boxes = Kind::Uniform.generate(1000, 1);
    let own = || Gpu::headless().unwrap();
    let of_the_caller = || device_with(Gpu::required_limits());
    for make in [&own as &dyn Fn() -> Gpu, &of_the_caller] {
        // Before the call.
        let gpu = make();
        let mut broad_phase = BroadPhase::new(&gpu, CANONICAL).unwrap();
        broad_phase.find_pairs(&boxes).unwrap();
        gpu.device().destroy();
        let error = broad_phase.find_pairs(&boxes).unwrap_err();
        assert!(matches!(error, Error::DeviceLost { .. }), "{error}");
        let error = BroadPhase::new(&gpu, CANONICAL).and_then(|mut new| new.find_pairs(&boxes).cloned()).unwrap_err();
        assert!(matches!(error, Error::DeviceLost { .. }), "{error}");

        // Before filters are uploaded, which nobody hears of until they are used.
        let changed = broad_phase
            .set_filters(Filters::default().with_group(vec![1; boxes.len()]))
            .and_then(|()| broad_phase.find_pairs(&boxes).map(drop))
            .and_then(|()| broad_phase.change_filters(3, Attribute::Group(&[2])));
        assert!(matches!(changed, Err(Error::DeviceLost { .. })), "{changed:?}");
        let _ = broad_phase.set_filters(Filters::default());

        // Before memory is reserved, which a device that is gone seems to have.
        for (boxes, pairs) in [(1000, 10), (100_000, 1 << 20)] {
            let error = broad_phase.reserve(boxes, pairs).unwrap_err();
            assert!(matches!(error, Error::DeviceLost { .. }), "{error}");
            assert!(!error.to_string().contains('\n'), "{error}");
        }

        // Before a recording.
        let gpu = make();
        let mut recorder = Recorder::new(&gpu, CANONICAL).unwrap();
        let buffer = gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: Some("boxes"),
            size: 240,
            usage: U::STORAGE,
            mapped_at_creation: false,
        });
        recorder.reserve(10, 10).unwrap();
        let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        gpu.device().destroy();
        let error = recorder.record(&mut encoder, buffer.slice(..), 10).unwrap_err();
        assert!(matches!(error, Error::DeviceLost { .. }), "{error}");

        // While a result is on its way.
        let gpu = make();
        let mut broad_phase = BroadPhase::new(&gpu, CANONICAL).unwrap();
        broad_phase.submissions().submit(&boxes).unwrap();
        broad_phase.submissions().submit(&boxes).unwrap();
        gpu.device().destroy();
        for _ in 0..2 {
            let result = pollster::block_on(broad_phase.submissions().take());
            let is_typed = matches!(result, Ok(_) | Err(Error::DeviceLost { .. } | Error::NothingSubmitted));
            assert!(is_typed, "{result:?}");
        }
        assert!(matches!(broad_phase.find_pairs(&boxes), Err(Error::DeviceLost { .. })));
    }
}
