//! Recorded steps whose filters change, on the host or on the device.

use broadsweep::filter::{Attribute, HalfSpace};
use broadsweep::record::{GpuAttribute, GpuCount};
use broadsweep::{Aabb, Filters, Recorder, cpu};
use laboratory::scenes::Motion;

use crate::common::device::{encoder, upload};
use crate::common::{CANONICAL, recorder};
use crate::oracle::{Frame, Oracle};
use crate::recorded::{CopiedEvents, Left, Uploaded, canonical, run, run_copied};

const N: usize = 3000;

/// Creates an engine of its own with these filters, and capacity for the pairs of all steps.
fn engine(filters: &Filters) -> Recorder {
    let mut engine = recorder(CANONICAL);
    engine.set_filters(filters.clone()).unwrap();
    engine.reserve(N, 60_000).unwrap();
    engine
}

#[test]
fn filters_that_change_before_a_step_is_submitted_are_those_of_the_step() {
    let filters = Filters::default().with_group(vec![1; N]);
    let mut frame = Frame { filters, ..Frame::of(Motion::Still.boxes(N, 0.9, 1, 0)) };
    let mut engine = engine(&frame.filters);
    let mut oracle = Oracle::default();
    for number in 0..9 {
        let uploaded = Uploaded::new(&frame);
        let mut encoder = encoder();
        let left = uploaded.record(&mut engine, &mut encoder).unwrap();
        let left = CopiedEvents::of(&mut encoder, &left);
        if number % 3 == 2 {
            // None of these meets any.
            let first = 100 * number;
            frame.filters.group[first..first + 50].fill(0);
            engine.change_filters(first, Attribute::Group(&frame.filters.group[first..first + 50])).unwrap();
        }
        let Left { mut events, .. } = run_copied(encoder, &left);
        events.report.box_count = N as u32;
        oracle.check(&frame, &events, &format!("step {number}"));
    }
}

#[test]
fn filters_that_change_on_the_device_are_those_of_the_steps_behind_them() {
    let filters = Filters::default().with_group(vec![1; N]).with_sleeping(vec![false; N]).with_margin(vec![0.0; N]);
    let mut frame = Frame { filters, ..Frame::of(Motion::Still.boxes(N, 0.9, 1, 0)) };
    let mut engine = engine(&frame.filters);
    let mut oracle = Oracle::default();
    for number in 0..16 {
        let mut recorded = encoder();
        let range = 150 * number..150 * number + 77;
        let of = range.start as u32..range.end as u32;
        match number % 8 {
            // None of these meets any.
            3 => {
                frame.filters.group[range.clone()].fill(0);
                let values = upload(&frame.filters.group[range]);
                engine.record_filters(&mut recorded, of, GpuAttribute::Group(values.slice(..))).unwrap();
            }
            5 => {
                frame.filters.sleeping[range.clone()].fill(true);
                let values = upload(&[1u32; 77]);
                engine.record_filters(&mut recorded, of, GpuAttribute::Sleeping(values.slice(..))).unwrap();
            }
            7 => {
                frame.filters.margin[range.clone()].fill(0.5);
                let values = upload(&frame.filters.margin[range]);
                engine.record_filters(&mut recorded, of, GpuAttribute::Margin(values.slice(..))).unwrap();
            }
            _ => {}
        }
        let left = Uploaded::new(&frame).record(&mut engine, &mut recorded).unwrap();
        let Left { mut events, .. } = run(recorded, &left);
        events.report.box_count = N as u32;
        oracle.check(&frame, &events, &format!("step {number}"));
    }
}

#[test]
#[ignore = "long"]
fn worlds_half_spaces_and_pairs_of_the_device_are_those_of_the_steps_behind_them() {
    let plane = |offset: f32| HalfSpace { index: 7, normal: [0.0, 1.0, 0.0], offset };
    let filters =
        Filters::default().with_world(vec![4; N]).with_half_spaces(vec![plane(-1e30)]).with_exclude_at_most(20_000);
    let mut frame = Frame { filters, ..Frame::of(Motion::Slow.boxes(N, 0.9, 1, 0)) };
    let mut engine = engine(&frame.filters);
    let mut pairs = canonical(&frame.boxes);
    pairs.truncate(20_000);
    let mut oracle = Oracle::default();
    let mut lost_step = false;
    for number in 0..24u32 {
        frame.boxes = Motion::Slow.boxes(N, 0.9, 1, number / 2);
        let mut recorded = encoder();
        match number % 12 {
            3 => {
                // Half of them leave for a world that the host does not know.
                let world = 5 + number;
                frame.filters.world[..N / 2].fill(world);
                let values = upload(&vec![world; N / 2]);
                engine.record_filters(&mut recorded, 0..N as u32 / 2, GpuAttribute::World(values.slice(..))).unwrap();
            }
            6 => {
                frame.filters.half_spaces = vec![plane(0.3 * number as f32)];
                let planes = upload(&[[0.0f32, 1.0, 0.0, 0.3 * number as f32]]);
                engine.record_half_spaces(&mut recorded, N as u32, 0..1, planes.slice(..)).unwrap();
            }
            9 | 11 => {
                let count = pairs.len() as u32 / (number % 12 - 7);
                frame.filters.exclude = pairs[..count as usize].to_vec();
                let (list, count) = (upload(&pairs), upload(&[count]));
                let count = GpuCount::Stored { count: count.slice(..), at_most: pairs.len() as u32 };
                engine.record_exclude(&mut recorded, N as u32, list.slice(..), count).unwrap();
            }
            // A list that is too long: a step that does not count.
            10 => {
                let (list, count) = (upload(&pairs), upload(&[u32::MAX]));
                let count = GpuCount::Stored { count: count.slice(..), at_most: 9 };
                engine.record_exclude(&mut recorded, N as u32, list.slice(..), count).unwrap();
                lost_step = true;
            }
            _ => {}
        }
        let left = Uploaded::new(&frame).record(&mut engine, &mut recorded).unwrap();
        let Left { mut events, headers } = run(recorded, &left);
        if std::mem::take(&mut lost_step) {
            assert_eq!(headers.map(|header| (header.overflow, header.count)), [(6, 0); 4]);
            continue;
        }
        events.report.box_count = N as u32;
        oracle.check(&frame, &events, &format!("step {number}"));
    }
}

#[test]
fn filters_that_change_are_those_of_a_step_whose_engine_went_on_before_it_was_submitted() {
    let boxes = Motion::Still.boxes(N, 0.9, 1, 0);
    let goes_on: [fn(&mut Recorder, &[Aabb]); 4] = [
        |_, _| {},
        |engine, _| engine.forget_steps(),
        |engine, _| engine.set_options(CANONICAL.with_memory_budget(Some(1 << 30))).unwrap(),
        |engine, boxes| {
            let step = Uploaded::new(&Frame::of(boxes.to_vec()));
            step.record(engine, &mut encoder()).unwrap();
        },
    ];
    for (number, go_on) in goes_on.into_iter().enumerate() {
        let mut filters = Filters::default().with_group(vec![1; N]);
        let mut engine = engine(&filters);
        let step = Uploaded::new(&Frame::of(boxes.clone()));
        let mut recorded = encoder();
        let left = step.record(&mut engine, &mut recorded).unwrap();
        let left = CopiedEvents::of(&mut recorded, &left);
        go_on(&mut engine, &boxes);
        filters.group[..500].fill(0);
        engine.change_filters(0, Attribute::Group(&filters.group[..500])).unwrap();
        let found = run_copied(recorded, &left).events.pairs;
        let mut expected = cpu::BroadPhase::new(CANONICAL).unwrap();
        expected.set_filters(filters).unwrap();
        assert!(found == expected.find_pairs(&boxes).unwrap().pairs, "gone on in way {number}");
    }
}
