//! Headers and times of recordings, which are read back by themselves.

use crate::common::device::{encoder, run, upload};
use crate::common::*;
use broadsweep::device::KernelTime;
use broadsweep::internals::brute_force;
use broadsweep::record::{GpuCount, GpuIdentity, PairHeader};
use broadsweep::wgpu::{self, BufferUsages as U};
use broadsweep::{Aabb, BroadPhase, CellSize, Gpu, Recorder, SweepAxis};
use laboratory::scenes::Kind;

fn count(header: Option<PairHeader>) -> Option<(u32, u32)> {
    header.map(|header| (header.count, header.overflow))
}

#[test]
fn the_header_of_the_latest_recording_is_read_back_by_itself() {
    let mut recorder = Recorder::new(&GPU, CANONICAL).unwrap();
    let scenes: Vec<(wgpu::Buffer, u32)> = (0..7)
        .map(|seed| {
            let boxes = Kind::Uniform.generate(500, seed);
            (upload(&boxes), brute_force::find_pairs(&boxes).len() as u32)
        })
        .collect();
    assert_eq!(recorder.statistics().header, None);
    // A recording that is never submitted is never reported, however many there are.
    for _ in 0..20 {
        recorder.record(&mut encoder(), scenes[6].0.slice(..), 500).unwrap();
    }
    assert_eq!(recorder.statistics().header, None);
    for (buffer, pair_count) in &scenes {
        let mut recorded = encoder();
        recorder.record(&mut recorded, buffer.slice(..), 500).unwrap();
        wait_for(&GPU, recorded);
        assert_eq!(count(recorder.statistics().header), Some((*pair_count, 0)));
        assert_eq!(count(recorder.statistics().header), Some((*pair_count, 0)));
    }
    // Many, not looked at in between: each takes in what was read back.
    for (buffer, _) in &scenes {
        let mut recorded = encoder();
        recorder.record(&mut recorded, buffer.slice(..), 500).unwrap();
        wait_for(&GPU, recorded);
    }
    assert_eq!(count(recorder.statistics().header), Some((scenes[6].1, 0)));
    // Two in one encoder.
    let mut recorded = encoder();
    for (buffer, _) in &scenes[..2] {
        recorder.record(&mut recorded, buffer.slice(..), 500).unwrap();
    }
    wait_for(&GPU, recorded);
    assert_eq!(count(recorder.statistics().header), Some((scenes[1].1, 0)));
}

#[test]
fn the_report_of_the_latest_recording_is_that_of_a_call() {
    let options = CANONICAL.with_all_pairs_up_to(Some(100));
    let mut recorder = Recorder::new(&GPU, options).unwrap();
    assert_eq!(recorder.statistics().report, None);
    // Never submitted, never reported.
    let boxes = upload(&Kind::Uniform.generate(500, 1));
    recorder.record(&mut encoder(), boxes.slice(..), 500).unwrap();
    assert_eq!(recorder.statistics().report, None);
    for (kind, n) in [(Kind::Uniform, 3000), (Kind::Clusters, 90), (Kind::City, 2000), (Kind::Infinite, 700)] {
        let mut boxes = kind.generate(n, 3);
        boxes[7].min[1] = f32::NAN;
        let expected = BroadPhase::new(&GPU, options).unwrap().find_pairs(&boxes).unwrap().report.clone();
        // A count of boxes in a buffer, and capacity for more.
        let longer = [boxes.as_slice(), &[Aabb::new([0.0; 3], [1.0; 3]); 50]].concat();
        let (boxes, number) = (upload(&longer), upload(&[n as u32]));
        let stored = GpuCount::Stored { count: number.slice(..), at_most: n as u32 };
        for count in [GpuCount::Known(n as u32), stored] {
            let mut recorded = encoder();
            recorder.record(&mut recorded, boxes.slice(..), count).unwrap();
            wait_for(&GPU, recorded);
            let report = recorder.statistics().report.unwrap();
            assert_eq!(without_memory(&report), without_memory(&expected), "{kind:?}, {count:?}");
            assert!(report.gpu_bytes > 0 && recorder.statistics().memory_bytes >= report.gpu_bytes);
        }
        let stored = GpuCount::Stored { count: number.slice(..), at_most: n as u32 + 50 };
        let mut recorded = encoder();
        recorder.record(&mut recorded, boxes.slice(..), stored).unwrap();
        wait_for(&GPU, recorded);
        let report = recorder.statistics().report.unwrap();
        assert_eq!((report.box_count, report.pair_count), (n as u32, expected.pair_count), "{kind:?}");
        // A step is a search too.
        let mut recorded = encoder();
        recorder.record_events(&mut recorded, boxes.slice(..), stored, GpuIdentity::Index).unwrap();
        wait_for(&GPU, recorded);
        assert_eq!(without_memory(&recorder.statistics().report.unwrap()), without_memory(&report), "{kind:?}");
    }
}

#[test]
fn directions_and_corner_of_a_report_say_where_the_cells_are() {
    for axis in [SweepAxis::X, SweepAxis::Y, SweepAxis::Z, SweepAxis::Principal] {
        let boxes = Kind::Uniform.generate(5000, 1);
        let report = on_gpu(&boxes, SWEEP.with_axis(axis).with_cell_size(CellSize::Fixed(7.0))).report;
        let [u, v] = report.across;
        let dot = |a: [f32; 3], b: [f32; 3]| (0..3).map(|k| a[k] * b[k]).sum::<f32>();
        for (a, b, expected) in
            [(u, u, 1.0), (v, v, 1.0), (u, v, 0.0), (u, report.direction, 0.0), (v, report.direction, 0.0)]
        {
            assert!((dot(a, b) - expected).abs() < 1e-5, "{axis:?}: {report:?}");
        }
        // The count of incidences is that of the cells of all boxes, computed here from the report.
        let cell = |point: [f32; 3], k: usize| {
            ((dot(point, report.across[k]) - report.corner[k]) / report.cell_size).floor() as i64
        };
        if axis != SweepAxis::Principal {
            let entries = boxes.iter().map(|aabb| {
                let cells = |k| {
                    let ends = [cell(aabb.min, k), cell(aabb.max, k)];
                    (ends[1] - ends[0]).unsigned_abs() + 1
                };
                cells(0) * cells(1)
            });
            let entries = entries.sum::<u64>();
            let apart = entries.abs_diff(u64::from(report.entry_count));
            assert!(report.giant_count == 0 && apart <= entries / 1000, "{axis:?}: {entries}, {report:?}");
        }
    }
}

#[test]
fn a_list_that_was_too_short_is_longer_by_half_in_the_next_recording() {
    let boxes = vec![Aabb::new([0.0; 3], [1.0; 3]); 300];
    let expected = brute_force::find_pairs(&boxes);
    let pair_count = expected.len() as u32;
    let buffer = upload(&boxes);
    // Statistics change nothing: neither where nobody reads them, nor where somebody does.
    for reads in [0, 1, 3] {
        let mut recorder = recorder(CANONICAL);
        let step = |recorder: &mut Recorder| {
            let mut recorded = encoder();
            let left = recorder.record(&mut recorded, buffer.slice(..), 300).unwrap();
            let capacity = left.capacity;
            let (header, pairs) = run(recorded, left);
            (header.overflow, pairs.len(), capacity)
        };
        assert_eq!(step(&mut recorder).0, 1);
        for _ in 0..reads {
            assert_eq!(count(recorder.statistics().header), Some((pair_count, 1)));
        }
        let (overflow, written, capacity) = step(&mut recorder);
        assert_eq!((overflow, written), (0, expected.len()), "{reads}");
        assert!(capacity >= pair_count + pair_count / 2, "{capacity} for {pair_count} pairs");
        assert_eq!(step(&mut recorder), (0, expected.len(), capacity), "a list that is long enough stays");
        assert_eq!(count(recorder.statistics().header), Some((pair_count, 0)));
    }
}

#[test]
fn headers_that_are_late_do_not_lengthen_a_list_that_is_long_enough() {
    let mut recorder = recorder(CANONICAL);
    let scenes = [300, 310, 320].map(|n| (n, upload(&vec![Aabb::new([0.0; 3], [1.0; 3]); n])));
    // Three lists that are too short, on their way together.
    let mut recorded = encoder();
    for (n, boxes) in &scenes {
        recorder.record(&mut recorded, boxes.slice(..), *n as u32).unwrap();
    }
    wait_for(&GPU, recorded);
    // The program reserves a longer list itself, which stays.
    recorder.reserve(320, 320 * 319 / 2).unwrap();
    let (n, boxes) = &scenes[2];
    let mut capacities = Vec::new();
    for _ in 0..3 {
        let mut recorded = encoder();
        let left = recorder.record(&mut recorded, boxes.slice(..), *n as u32).unwrap();
        capacities.push(left.capacity);
        assert_eq!(run(recorded, left).0.overflow, 0);
    }
    capacities.dedup();
    assert!(capacities.len() == 1 && capacities[0] < 320 * 319 * 3 / 4, "{capacities:?}");
}

#[test]
fn a_scene_whose_pairs_grow_slowly_gets_few_longer_lists() {
    let mut recorder = recorder(CANONICAL);
    let (mut capacities, mut short) = (Vec::new(), 0);
    for step in 0..24 {
        // From 19,900 to 44,850 pairs, where a list has capacity for four pairs of each box.
        let n = 200 + 4 * step;
        let buffer = upload(&vec![Aabb::new([0.0; 3], [1.0; 3]); n]);
        let mut recorded = encoder();
        let left = recorder.record_events(&mut recorded, buffer.slice(..), n as u32, GpuIdentity::Index).unwrap();
        capacities.push(left.pairs.capacity);
        let (header, _) = run(recorded, left.pairs);
        assert_eq!(header.count as usize, n * (n - 1) / 2);
        short += header.overflow;
    }
    capacities.dedup();
    // The first list, the one that is longer by half, and one that is longer by half again.
    assert!(short <= 2 && capacities.len() <= 3, "{short} of 24 lists were too short; capacities {capacities:?}");
}

#[test]
fn a_list_that_was_too_short_is_longer_whatever_was_recorded_after_it() {
    let together = upload(&vec![Aabb::new([0.0; 3], [1.0; 3]); 300]);
    let apart = upload(&Kind::Uniform.generate(10, 1));
    let mut recorder = Recorder::new(&GPU, CANONICAL).unwrap();
    for frame in 0..2 {
        let mut recorded = encoder();
        let capacity = recorder.record(&mut recorded, together.slice(..), 300).unwrap().capacity;
        recorder.record(&mut recorded, apart.slice(..), 10).unwrap();
        assert_eq!(capacity >= 300 * 299 / 2, frame == 1);
        wait_for(&GPU, recorded);
        assert_eq!(recorder.statistics().header.unwrap().overflow, 0);
    }
}

/// Records a search on a device of its own.
fn recorded_on(gpu: &Gpu) -> (Recorder, wgpu::Buffer, wgpu::CommandEncoder) {
    let mut recorder = Recorder::new(gpu, CANONICAL).unwrap();
    let boxes = gpu.device().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 24 * 100,
        usage: U::STORAGE,
        mapped_at_creation: false,
    });
    let mut recorded = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    recorder.record(&mut recorded, boxes.slice(..), 100).unwrap();
    (recorder, boxes, recorded)
}

#[test]
fn commands_that_are_refused_are_not_told_of() {
    let gpu = device_with(Gpu::required_limits());
    gpu.device().on_uncaptured_error(std::sync::Arc::new(|_| ()));
    let (recorder, boxes, recorded) = recorded_on(&gpu);
    boxes.destroy();
    gpu.queue().submit([recorded.finish()]);
    gpu.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
    assert_eq!((recorder.statistics().header, recorder.statistics().report), (None, None));
}

#[test]
fn headers_of_a_lost_device_are_polled_without_harm() {
    let gpu = device_with(broadsweep::Gpu::required_limits());
    let (recorder, _boxes, recorded) = recorded_on(&gpu);
    gpu.queue().submit([recorded.finish()]);
    gpu.device().destroy();
    for _ in 0..3 {
        let header = recorder.statistics().header;
        assert!(header.is_none_or(|header| header.count <= 4950), "{header:?}");
    }
}

#[test]
fn the_times_of_a_recording_are_read_back_on_request() {
    let boxes = Kind::Uniform.generate(3000, 1);
    let buffer = upload(&boxes);
    let mut recorder = Recorder::new(&GPU, CANONICAL).unwrap();
    let step = |recorder: &mut Recorder| {
        let mut recorded = encoder();
        recorder.record_events(&mut recorded, buffer.slice(..), 3000, GpuIdentity::Index).unwrap();
        wait_for(&GPU, recorded);
        recorder.statistics().times
    };
    assert_eq!(step(&mut recorder), None);
    if !recorder.time_recordings(true) {
        assert!(!GPU.device().features().contains(Gpu::TIMING_FEATURES));
        assert_eq!(step(&mut recorder), None);
        return;
    }
    for _ in 0..6 {
        let times = step(&mut recorder).expect("times");
        let of = |kernel: &str| times.iter().find(|row| row.kernel == kernel).expect("a kernel that ran");
        assert_eq!(
            (of("sweep_test").dispatches, of("events_find").dispatches, of("events_store").dispatches),
            (1, 1, 1)
        );
        assert!(of("sweep_test").time.as_nanos() > 0 && !times.iter().any(|row| row.kernel == "start"), "{times:?}");
    }
    // Stages behind a search have times of their own.
    assert_eq!((recorder.statistics().window_times, recorder.statistics().neighbour_times), (None, None));
    for _ in 0..6 {
        let mut recorded = encoder();
        recorder.record(&mut recorded, buffer.slice(..), 3000).unwrap();
        recorder.record_window(&mut recorded, buffer.slice(..), 3000, 100, 0).unwrap();
        recorder.record_neighbours(&mut recorded).unwrap();
        wait_for(&GPU, recorded);
        let ran = |times: Option<Vec<KernelTime>>| {
            let times = times.expect("times");
            assert!(times.iter().any(|row| row.time.as_nanos() > 0), "{times:?}");
            move |kernel: &str| times.iter().any(|row| row.kernel == kernel)
        };
        let (search, window) = (ran(recorder.statistics().times), ran(recorder.statistics().window_times));
        let neighbours = ran(recorder.statistics().neighbour_times);
        assert!(search("sweep_test") && search("emit_sweep") && !search("neighbours_begin"));
        assert!(window("emit_sweep") && !window("sweep_test"));
        assert!(neighbours("neighbours_begin") && !neighbours("emit_sweep"));
    }
    // Recordings without timing do not change the times.
    let before = recorder.statistics().times;
    recorder.time_recordings(false);
    assert_eq!(step(&mut recorder), before);
}
