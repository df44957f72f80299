//! Headers and times of recordings, which arrive by themselves.

use crate::common::*;
use crate::submissions::{encoder, run, upload};
use broadsweep::internals::brute_force;
use broadsweep::wgpu::{self, BufferUsages as U};
use broadsweep::{Aabb, BroadPhase, Gpu, GpuIdentity, PairHeader};
use laboratory::scenes::Kind;

/// Submits and waits until all has run.
fn wait(encoder: wgpu::CommandEncoder) {
    GPU.queue().submit([encoder.finish()]);
    GPU.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
}

fn count(header: Option<PairHeader>) -> Option<(u32, u32)> {
    header.map(|header| (header.count, header.overflow))
}

#[test]
fn the_header_of_the_latest_recording_arrives_by_itself() {
    let mut broad_phase = BroadPhase::new(&GPU, CANONICAL).unwrap();
    let scenes: Vec<(wgpu::Buffer, u32)> = (0..7)
        .map(|seed| {
            let boxes = Kind::Uniform.generate(500, seed);
            (upload(&boxes, U::STORAGE), brute_force::find_pairs(&boxes).len() as u32)
        })
        .collect();
    assert_eq!(broad_phase.last_recorded(), None);
    // One that is never submitted is never told of, however many there are.
    for _ in 0..20 {
        broad_phase.record(&mut encoder(), scenes[6].0.slice(..), 500).unwrap();
    }
    assert_eq!(broad_phase.last_recorded(), None);
    for (buffer, pair_count) in &scenes {
        let mut recorded = encoder();
        broad_phase.record(&mut recorded, buffer.slice(..), 500).unwrap();
        wait(recorded);
        assert_eq!(count(broad_phase.last_recorded()), Some((*pair_count, 0)));
        assert_eq!(count(broad_phase.last_recorded()), Some((*pair_count, 0)));
    }
    // Many, not looked at in between: each takes in what has arrived.
    for (buffer, _) in &scenes {
        let mut recorded = encoder();
        broad_phase.record(&mut recorded, buffer.slice(..), 500).unwrap();
        wait(recorded);
    }
    assert_eq!(count(broad_phase.last_recorded()), Some((scenes[6].1, 0)));
    // Two in one encoder.
    let mut recorded = encoder();
    for (buffer, _) in &scenes[..2] {
        broad_phase.record(&mut recorded, buffer.slice(..), 500).unwrap();
    }
    wait(recorded);
    assert_eq!(count(broad_phase.last_recorded()), Some((scenes[1].1, 0)));
}

#[test]
fn a_program_that_looks_at_headers_gets_a_list_that_is_long_enough() {
    let boxes = vec![Aabb::new([0.0; 3], [1.0; 3]); 300];
    let expected = brute_force::find_pairs(&boxes);
    let pair_count = expected.len() as u32;
    let buffer = upload(&boxes, U::STORAGE);
    let mut broad_phase = BroadPhase::new(&GPU, CANONICAL).unwrap();
    let step = |broad_phase: &mut BroadPhase| {
        let mut recorded = encoder();
        let left = broad_phase.record(&mut recorded, buffer.slice(..), 300).unwrap();
        run(recorded, left)
    };
    assert_eq!(step(&mut broad_phase).0.overflow, 1);
    assert_eq!(count(broad_phase.last_recorded()), Some((pair_count, 1)));
    let (header, pairs) = step(&mut broad_phase);
    assert_eq!((header.overflow, pairs.len()), (0, expected.len()));
    assert_eq!(count(broad_phase.last_recorded()), Some((pair_count, 0)));
}

#[test]
fn a_list_that_was_too_short_is_longer_whatever_was_recorded_after_it() {
    let together = upload(&vec![Aabb::new([0.0; 3], [1.0; 3]); 300], U::STORAGE);
    let apart = upload(&Kind::Uniform.generate(10, 1), U::STORAGE);
    let mut broad_phase = BroadPhase::new(&GPU, CANONICAL).unwrap();
    for frame in 0..2 {
        let mut recorded = encoder();
        let first = broad_phase.record(&mut recorded, together.slice(..), 300).unwrap();
        broad_phase.record(&mut recorded, apart.slice(..), 10).unwrap();
        assert_eq!(first.capacity >= 300 * 299 / 2, frame == 1);
        wait(recorded);
        assert_eq!(broad_phase.last_recorded().unwrap().overflow, 0);
    }
}

/// Records a search on a device of its own.
fn recorded_on(gpu: &Gpu) -> (BroadPhase, wgpu::Buffer, wgpu::CommandEncoder) {
    let mut broad_phase = BroadPhase::new(gpu, CANONICAL).unwrap();
    let boxes = gpu.device().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 24 * 100,
        usage: U::STORAGE,
        mapped_at_creation: false,
    });
    let mut recorded = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    broad_phase.record(&mut recorded, boxes.slice(..), 100).unwrap();
    (broad_phase, boxes, recorded)
}

#[test]
fn commands_that_are_refused_are_not_told_of() {
    let gpu = device_with(Gpu::required_limits());
    gpu.device().on_uncaptured_error(std::sync::Arc::new(|_| ()));
    let (mut broad_phase, boxes, recorded) = recorded_on(&gpu);
    boxes.destroy();
    gpu.queue().submit([recorded.finish()]);
    gpu.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
    assert_eq!(broad_phase.last_recorded(), None);
}

#[test]
fn a_lost_device_is_asked_for_headers_without_harm() {
    let gpu = device_with(broadsweep::Gpu::required_limits());
    let (mut broad_phase, _boxes, recorded) = recorded_on(&gpu);
    gpu.queue().submit([recorded.finish()]);
    gpu.device().destroy();
    for _ in 0..3 {
        let header = broad_phase.last_recorded();
        assert!(header.is_none_or(|header| header.count <= 4950), "{header:?}");
    }
}

#[test]
fn the_times_of_a_recording_arrive_where_they_are_wanted() {
    let boxes = Kind::Uniform.generate(3000, 1);
    let buffer = upload(&boxes, U::STORAGE);
    let mut broad_phase = BroadPhase::new(&GPU, CANONICAL).unwrap();
    let step = |broad_phase: &mut BroadPhase| {
        let mut recorded = encoder();
        broad_phase.record_events(&mut recorded, buffer.slice(..), 3000, GpuIdentity::Index).unwrap();
        wait(recorded);
        broad_phase.last_times()
    };
    assert_eq!(step(&mut broad_phase), None);
    if !broad_phase.time_recordings(true) {
        assert!(!GPU.device().features().contains(Gpu::TIMING_FEATURES));
        assert_eq!(step(&mut broad_phase), None);
        return;
    }
    for _ in 0..6 {
        let times = step(&mut broad_phase).expect("times");
        let of = |kernel: &str| times.iter().find(|row| row.kernel == kernel).expect("a kernel that ran");
        assert_eq!(
            (of("sweep_test").dispatches, of("events_find").dispatches, of("events_keep").dispatches),
            (1, 1, 1)
        );
        assert!(of("sweep_test").time.as_nanos() > 0 && !times.iter().any(|row| row.kernel == "start"), "{times:?}");
    }
    // Those that are not timed do not change them.
    let before = broad_phase.last_times();
    broad_phase.time_recordings(false);
    assert_eq!(step(&mut broad_phase), before);
}
