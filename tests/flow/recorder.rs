//! Recorded searches: boxes and pairs that stay on the GPU.

use std::mem::offset_of;

use broadsweep::internals::brute_force;
use broadsweep::record::{GpuPairs, PairArguments};
use broadsweep::{Aabb, Error, Filters, Gpu, Options, Pair, PairOrder, Recorder, wgpu};
use laboratory::scenes::Kind;
use wgpu::BufferUsages as U;

use crate::common::device::{encoder, run, run_with_arguments, upload, upload_behind};
use crate::common::*;

#[test]
fn pairs_stay_on_the_gpu_with_their_header() {
    let boxes = Kind::Infinite.generate(3000, 4);
    let expected = brute_force::find_pairs(&boxes);
    let buffer = upload(&boxes);
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
    let buffer = upload(&boxes);
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
        assert_pairs(&sorted(&pairs), &expected, "in pieces");
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
        let (header, pairs) = run(again, left);
        assert_eq!((header.count, header.written, header.overflow), (count, count, 0));
        assert_pairs(&sorted(&pairs), &expected, "longer");
    }
}

/// Included pairs alone are no answer, and a list that is too short for them is not what is wrong.
#[test]
fn a_refused_recording_has_no_pairs_not_even_included_ones() {
    let boxes = vec![Aabb::new([0.0; 3], [1.0; 3]); 300];
    let buffer = upload(&boxes);
    for included in [0, 1, 299] {
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
    let (buffer_a, buffer_b) = (upload(&first), upload(&second));
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
    let (buffer, first) = (upload(&all), 32 * size_of::<Aabb>() as u64);
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
    let buffer = upload::<Aabb>(&[]);
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
    let buffer = upload(&boxes);
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
    let small = upload(&boxes);
    assert!(matches!(recorder.record(&mut encoder, small.slice(..), 11), Err(Error::BadBuffer { .. })));
    let no_storage = upload_behind(0, &boxes, U::VERTEX);
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
        GPU.queue().write_buffer(&buffer, 0, bytemuck::cast_slice(&boxes));
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
    let buffer = upload(&boxes);
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
    let buffer = upload(&Kind::Uniform.generate(126_000, 1));
    let mut header_of = |n| recorder.record(&mut encoder(), buffer.slice(..), n).unwrap().header.clone();
    let first = header_of(126_000);
    for n in [125_500, 100_000, 5, 126_000] {
        assert!(header_of(n) == first, "{n} boxes were given other buffers");
    }
}
