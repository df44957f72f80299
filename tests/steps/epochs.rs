//! Recorded steps whose pairs are kept on the GPU from step to step, against searches from nothing.

use broadsweep::internals::constants::{EPOCH_BEGIN, EPOCH_NONE, EPOCH_PART, EPOCH_STAY};
use broadsweep::internals::layout::Epoch;
use broadsweep::internals::steps::{begin_epochs_on_gpu_from, epoch_on_gpu};
use broadsweep::wgpu;
use broadsweep::{Aabb, Attribute, BroadPhase, Filters, GpuAttribute, GpuCount, GpuIdentity, HalfSpace, Options, cpu};
use laboratory::scenes::Motion;

use crate::common::{CANONICAL, broad_phase, least_budget};
use crate::oracle::{Frame, Oracle};
use crate::recorded::{Copied, Left, Uploaded, canonical, encoder, leave, record, run, upload};
use crate::sequences::{Drawn, run_with};

/// Runs steps with epochs of any number of boxes, and then without again.
pub fn with_epochs<T>(engine: &mut BroadPhase, run: impl FnOnce(&mut BroadPhase) -> T) -> T {
    engine.forget_steps();
    begin_epochs_on_gpu_from(engine, 1);
    let result = run(engine);
    begin_epochs_on_gpu_from(engine, u32::MAX);
    result
}

/// Reads what is known of the epoch.
fn epoch(engine: &BroadPhase) -> Epoch {
    let buffer = epoch_on_gpu(engine).expect("there is an epoch");
    let mut encoder = encoder(engine);
    let copied = Copied::of(engine, &mut encoder, &buffer);
    engine.gpu().queue().submit([encoder.finish()]);
    copied.0.map_async(wgpu::MapMode::Read, .., |result| result.unwrap());
    engine.gpu().device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
    copied.read()[0]
}

/// Runs steps, compares them with searches from nothing, and returns what each did.
fn modes(engine: &mut BroadPhase, steps: impl IntoIterator<Item = Frame>, what: &str) -> Vec<u32> {
    let mut oracle = Oracle::default();
    let mut own = cpu::BroadPhase::new(CANONICAL).unwrap();
    let mut modes = Vec::new();
    for (number, frame) in steps.into_iter().enumerate() {
        let events = record(engine, &frame).unwrap();
        let epoch = epoch(engine);
        own.set_filters(Filters { sleeping: Vec::new(), ..frame.filters.clone() }).unwrap();
        let expected = own.find_pairs(&frame.boxes).unwrap().pairs.clone();
        oracle.check_pairs(&frame, expected, &events, &format!("{what}, step {number}, {epoch:?}"));
        let work = engine.last_work().expect("it has run");
        let searched = [EPOCH_NONE, EPOCH_BEGIN].contains(&epoch.mode);
        assert_eq!((work.searched, work.began_epoch), (searched, epoch.mode == EPOCH_BEGIN), "{what}, step {number}");
        if !searched {
            let counts = [work.moved_count, work.escaped_count, work.escaped_in_epoch];
            assert_eq!(counts, [epoch.moved, epoch.escaped, epoch.left], "{what}, step {number}");
            assert_eq!(work.kept_pair_count, u64::from(epoch.kept) + u64::from(epoch.apart), "{what}, step {number}");
        }
        modes.push(epoch.mode);
    }
    modes
}

fn count(modes: &[u32], mode: u32) -> usize {
    modes.iter().filter(|own| **own == mode).count()
}

#[test]
fn moving_scenes_are_kept_from_step_to_step() {
    let mut engine = broad_phase(CANONICAL);
    // Room for the pairs of grown boxes.
    engine.reserve(5000, 40_000).unwrap();
    for motion in Motion::ALL {
        let steps = (0..12).map(|number| Frame::of(motion.boxes(5000, 0.9, 1, number)));
        let modes = with_epochs(&mut engine, |engine| modes(engine, steps, &motion.to_string()));
        println!("{motion}: {modes:?}");
        assert_eq!(modes[0], EPOCH_NONE, "{motion}: nothing is known of any speed");
        let [none, begin, part, stay] =
            [EPOCH_NONE, EPOCH_BEGIN, EPOCH_PART, EPOCH_STAY].map(|mode| count(&modes, mode));
        match motion {
            Motion::Still => assert_eq!((none, begin, stay), (1, 1, 10)),
            Motion::Few | Motion::Teleports | Motion::Bullets => {
                assert!(begin == 1 && part > 0 && none == 1, "{motion}: {modes:?}");
            }
            Motion::Some => assert!(begin > 1 && part > 0 && stay > 4, "{motion}: {modes:?}"),
            Motion::Brisk | Motion::Fast | Motion::Jumps => assert_eq!(none, 12, "{motion}: {modes:?}"),
            Motion::Slow | Motion::Asleep => assert!(begin > 0 && stay > 4, "{motion}: {modes:?}"),
        }
    }
}

#[test]
fn sequences_in_which_anything_changes_have_the_right_events_in_epochs() {
    let mut engine = broad_phase(CANONICAL);
    engine.reserve(400, 100_000).unwrap();
    let mut seen = [0; 4];
    with_epochs(&mut engine, |engine| {
        run_with(engine, 320..331, 300, Drawn::few, |engine, frame, _| {
            let events = record(engine, frame);
            // With included pairs or an owner region, or without boxes, there is none.
            if !frame.boxes.is_empty() && frame.filters.include.is_empty() && frame.filters.owner.is_none() {
                seen[epoch(engine).mode as usize] += 1;
            }
            events
        })
    });
    println!("{seen:?}");
    assert!(seen.iter().all(|count| *count > 3), "none, begun, in part, stays: {seen:?}");
}

#[test]
fn the_number_of_boxes_may_change_in_an_epoch() {
    let at_most = 4000;
    let mut engine = broad_phase(CANONICAL);
    engine.reserve(at_most, 40_000).unwrap();
    let mut oracle = Oracle::default();
    let mut modes = Vec::new();
    with_epochs(&mut engine, |engine| {
        for (number, n) in
            [3990, 3990, 3900, 3990, 4000, 3950, 0, 3950, 4001, 3960, 3960, 3970, 3970].into_iter().enumerate()
        {
            let frame = Frame::of(Motion::Few.boxes(at_most, 0.9, 1, number as u32)[..at_most.min(n)].to_vec());
            // Behind them is what is left of others.
            let mut all = frame.boxes.clone();
            all.resize(at_most, Aabb::new([-1e30; 3], [1e30; 3]));
            let (boxes, count) = (upload(engine, &all), upload(engine, &[n as u32]));
            let mut encoder = encoder(engine);
            let count = GpuCount::Stored { count: count.slice(..), at_most: at_most as u32 };
            let left = engine.record_events(&mut encoder, boxes.slice(..), count, GpuIdentity::Index).unwrap();
            let Left { mut events, headers } = run(engine, encoder, &left);
            let epoch = epoch(engine);
            modes.push(epoch.mode);
            if n > at_most {
                assert_eq!(headers.map(|header| (header.overflow, header.count)), [(5, 0); 4]);
                continue;
            }
            events.report.box_count = n as u32;
            oracle.check_pairs(&frame, canonical(&frame.boxes), &events, &format!("step {number}, {epoch:?}"));
        }
    });
    let [none, begin, part] = [EPOCH_NONE, EPOCH_BEGIN, EPOCH_PART].map(|mode| count(&modes, mode));
    assert!(none == 5 && begin == 2 && part > 3, "{modes:?}");
}

/// Boxes that stay, but for one in `rarity`, which are somewhere else in every step.
pub fn some_elsewhere(still: &[Aabb], rarity: usize, number: usize) -> Vec<Aabb> {
    let elsewhere = |i: usize| still[(i * 7 + number * 31) % still.len()];
    let boxes = still.iter().enumerate();
    boxes.map(|(i, aabb)| if i % rarity == 3 { elsewhere(i) } else { *aabb }).collect()
}

#[test]
fn boxes_of_worlds_in_one_place_are_searched_with_those_of_their_world_alone() {
    let one = Motion::Still.boxes(60, 0.9, 1, 0);
    let n = 60 * 64;
    let still: Vec<Aabb> = (0..n).map(|i| one[i % 60]).collect();
    let world: Vec<u32> = (0..n as u32).map(|i| if i == 77 { Filters::GLOBAL } else { i / 60 }).collect();
    let filters = Filters { world, ..Filters::default() };
    let mut engine = broad_phase(CANONICAL);
    engine.set_filters(filters.clone()).unwrap();
    engine.reserve(n, 60_000).unwrap();
    with_epochs(&mut engine, |engine| {
        let mut oracle = Oracle::default();
        for number in 0..6 {
            // Those of the first world.
            let mut boxes = still.clone();
            boxes[..60].copy_from_slice(&some_elsewhere(&one, 10, number));
            let frame = Frame { filters: filters.clone(), ..Frame::of(boxes) };
            let events = record(engine, &frame).unwrap();
            let epoch = epoch(engine);
            oracle.check(&frame, &events, &format!("step {number}, {epoch:?}"));
            if number > 1 {
                assert!(epoch.mode == EPOCH_PART && epoch.escaped > 0, "{epoch:?}");
                assert!(epoch.found < 8 * (60 * 5), "pairs of other worlds were searched too: {epoch:?}");
            }
        }
    });
    engine.set_filters(Filters::default()).unwrap();
}

#[test]
fn vast_boxes_that_move_meet_all_that_they_touch() {
    let still = Motion::Still.boxes(3000, 0.9, 1, 0);
    let all = [Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]), Aabb::new([-1e30; 3], [1e30, 3.0, 1e30])];
    let steps = (0..8).map(|number| {
        let mut boxes = some_elsewhere(&still, 500, number);
        // A plate that goes up, one that is there every other time, and one of no size at the far end.
        let height = number as f32;
        boxes.extend([
            Aabb::new([-100.0, height, -100.0], [100.0, height + 0.1, 100.0]),
            if number % 2 == 0 { all[0] } else { Aabb::new([f32::NAN; 3], [0.0; 3]) },
            if number % 3 == 0 { all[1] } else { Aabb::new([3e38; 3], [f32::MAX; 3]) },
        ]);
        Frame::of(boxes)
    });
    let mut engine = broad_phase(CANONICAL);
    engine.reserve(3003, 60_000).unwrap();
    let modes = with_epochs(&mut engine, |engine| modes(engine, steps, "plates"));
    assert!(count(&modes, EPOCH_PART) > 4, "{modes:?}");
}

#[test]
fn boxes_of_every_size_are_kept_too() {
    // Each a quarter larger than the one before, over 26 powers of two, about zero and on either side of it.
    let still: Vec<Aabb> = (0..2500)
        .map(|i| {
            let edge = 1.25f32.powi(i % 80 - 40);
            let at = [i % 13 - 6, i % 7 - 3, i % 5 - 2].map(|x| x as f32 * edge);
            Aabb::new(at, at.map(|x| x + edge))
        })
        .collect();
    let steps = (0..7).map(|number| Frame::of(some_elsewhere(&still, 100, number)));
    let mut engine = broad_phase(CANONICAL);
    engine.reserve(2500, 3_000_000).unwrap();
    let modes = with_epochs(&mut engine, |engine| modes(engine, steps, "sizes"));
    assert!(count(&modes, EPOCH_PART) > 3, "{modes:?}");
}

#[test]
fn without_room_for_the_pairs_of_grown_boxes_all_are_searched() {
    let engine = broad_phase(CANONICAL);
    let n = 30_000;
    let frame = Frame::of(Motion::Still.boxes(n, 1.0, 1, 0));
    let pair_count = canonical(&frame.boxes).len();
    // A list that is just long enough.
    let mut own = BroadPhase::new(engine.gpu(), CANONICAL).unwrap();
    assert!(pair_count > 3 * n && pair_count < 4 * n, "{pair_count}: the default has room for four pairs per box");
    let modes = with_epochs(&mut own, |own| modes(own, vec![frame.clone(); 8], "short"));
    assert_eq!(count(&modes, EPOCH_NONE), 8, "{modes:?}");
    // And one that has room, until boxes come together.
    let mut own = BroadPhase::new(engine.gpu(), CANONICAL).unwrap();
    own.reserve(n, 7 * n as u32).unwrap();
    with_epochs(&mut own, |engine| {
        for number in 0..8 {
            let mut boxes = frame.boxes.clone();
            if number == 4 || number == 6 {
                boxes[..800].fill(frame.boxes[0]);
            }
            let Left { headers, .. } = leave(engine, &Frame::of(boxes.clone())).unwrap();
            let expected = canonical(&boxes).len() as u32;
            let is_whole = number != 4 && number != 6;
            assert_eq!(headers[0].count, expected, "step {number}, {:?}", epoch(engine));
            assert_eq!(headers.map(|header| header.overflow), [u32::from(!is_whole); 4], "step {number}");
        }
    });
}

#[test]
fn a_step_of_an_epoch_that_is_not_submitted_changes_nothing() {
    let mut engine = broad_phase(CANONICAL);
    engine.reserve(3000, 30_000).unwrap();
    let still = Motion::Still.boxes(3000, 0.9, 1, 0);
    with_epochs(&mut engine, |engine| {
        let mut oracle = Oracle::default();
        for number in 0..8 {
            if number > 1 {
                let other = Frame::of(some_elsewhere(&still, 60, 100 + number));
                let uploaded = Uploaded::new(engine, &other);
                uploaded.record(engine, &mut encoder(engine)).unwrap();
            }
            let frame = Frame::of(some_elsewhere(&still, 120, number));
            let events = record(engine, &frame).unwrap();
            oracle.check_pairs(&frame, canonical(&frame.boxes), &events, &format!("step {number}"));
        }
        assert_eq!(epoch(engine).mode, EPOCH_PART);
    });
}

#[test]
fn filters_that_change_before_a_step_of_an_epoch_is_submitted_are_those_of_the_step() {
    let boxes = Motion::Still.boxes(3000, 0.9, 1, 0);
    let with = |group: Vec<u32>| Frame { filters: Filters { group, ..Filters::default() }, ..Frame::of(boxes.clone()) };
    let mut frame = with(vec![1; 3000]);
    let mut engine = broad_phase(CANONICAL);
    engine.set_filters(frame.filters.clone()).unwrap();
    engine.reserve(3000, 30_000).unwrap();
    with_epochs(&mut engine, |engine| {
        let mut oracle = Oracle::default();
        for number in 0..9 {
            let uploaded = Uploaded::new(engine, &frame);
            let mut encoder = encoder(engine);
            let left = uploaded.record(engine, &mut encoder).unwrap();
            // None of these meets any.
            let first = 100 * number;
            frame.filters.group[first..first + 50].fill(0);
            frame.filters.mask = Vec::new();
            if number % 3 == 2 {
                engine.change_filters(first, Attribute::Group(&frame.filters.group[first..first + 50])).unwrap();
            } else {
                frame.filters.group[first..first + 50].fill(1);
            }
            let Left { mut events, .. } = run(engine, encoder, &left);
            events.report.box_count = 3000;
            oracle.check(&frame, &events, &format!("step {number}, {:?}", epoch(engine)));
        }
    });
    engine.set_filters(Filters::default()).unwrap();
}

#[test]
fn filters_that_change_on_the_device_are_those_of_the_steps_behind_them() {
    let n = 3000;
    let boxes = Motion::Still.boxes(n, 0.9, 1, 0);
    let filters = Filters { group: vec![1; n], sleeping: vec![false; n], margin: vec![0.0; n], ..Filters::default() };
    let mut frame = Frame { filters, ..Frame::of(boxes) };
    let mut engine = BroadPhase::new(broad_phase(CANONICAL).gpu(), CANONICAL).unwrap();
    engine.set_filters(frame.filters.clone()).unwrap();
    engine.reserve(n, 60_000).unwrap();
    begin_epochs_on_gpu_from(&mut engine, 1);
    let (mut oracle, mut modes) = (Oracle::default(), Vec::new());
    for number in 0..16 {
        let mut recorded = encoder(&engine);
        let range = 150 * number..150 * number + 77;
        let of = range.start as u32..range.end as u32;
        match number % 8 {
            // None of these meets any.
            3 => {
                frame.filters.group[range.clone()].fill(0);
                let values = upload(&engine, &frame.filters.group[range]);
                engine.record_filters(&mut recorded, of, GpuAttribute::Group(values.slice(..))).unwrap();
            }
            5 => {
                frame.filters.sleeping[range.clone()].fill(true);
                let values = upload(&engine, &[1u32; 77]);
                engine.record_filters(&mut recorded, of, GpuAttribute::Sleeping(values.slice(..))).unwrap();
            }
            7 => {
                frame.filters.margin[range.clone()].fill(0.5);
                let values = upload(&engine, &frame.filters.margin[range]);
                engine.record_filters(&mut recorded, of, GpuAttribute::Margin(values.slice(..))).unwrap();
            }
            _ => {}
        }
        let left = Uploaded::new(&engine, &frame).record(&mut engine, &mut recorded).unwrap();
        let Left { mut events, .. } = run(&engine, recorded, &left);
        events.report.box_count = n as u32;
        oracle.check(&frame, &events, &format!("step {number}, {:?}", epoch(&engine)));
        modes.push(epoch(&engine).mode);
    }
    // Other groups end it, and flags of sleep and margins of few boxes do not.
    assert_eq!((modes[2], modes[3], modes[5]), (EPOCH_STAY, EPOCH_BEGIN, EPOCH_STAY), "{modes:?}");
    assert_eq!(modes[7], EPOCH_PART, "{modes:?}");
}

#[test]
fn worlds_half_spaces_and_pairs_of_the_device_are_those_of_the_steps_behind_them() {
    let n = 3000;
    let boxes = Motion::Slow.boxes(n, 0.9, 1, 0);
    let plane = |offset: f32| HalfSpace { index: 7, normal: [0.0, 1.0, 0.0], offset };
    let filters =
        Filters { world: vec![4; n], half_spaces: vec![plane(-1e30)], exclude_at_most: 20_000, ..Filters::default() };
    let mut frame = Frame { filters, ..Frame::of(boxes) };
    let mut engine = BroadPhase::new(broad_phase(CANONICAL).gpu(), CANONICAL).unwrap();
    engine.set_filters(frame.filters.clone()).unwrap();
    engine.reserve(n, 60_000).unwrap();
    begin_epochs_on_gpu_from(&mut engine, 1);
    let mut pairs = canonical(&frame.boxes);
    pairs.truncate(20_000);
    let (mut oracle, mut modes) = (Oracle::default(), Vec::new());
    let mut lost_step = false;
    for number in 0..24u32 {
        frame.boxes = Motion::Slow.boxes(n, 0.9, 1, number / 2);
        let mut recorded = encoder(&engine);
        match number % 12 {
            3 => {
                // Half of them leave for a world that the host does not know.
                let world = 5 + number;
                frame.filters.world[..n / 2].fill(world);
                let values = upload(&engine, &vec![world; n / 2]);
                engine.record_filters(&mut recorded, 0..n as u32 / 2, GpuAttribute::World(values.slice(..))).unwrap();
            }
            6 => {
                frame.filters.half_spaces = vec![plane(0.3 * number as f32)];
                let planes = upload(&engine, &[[0.0f32, 1.0, 0.0, 0.3 * number as f32]]);
                engine.record_half_spaces(&mut recorded, n as u32, 0..1, planes.slice(..)).unwrap();
            }
            9 | 11 => {
                let count = pairs.len() as u32 / (number % 12 - 7);
                frame.filters.exclude = pairs[..count as usize].to_vec();
                let (list, count) = (upload(&engine, &pairs), upload(&engine, &[count]));
                let count = GpuCount::Stored { count: count.slice(..), at_most: pairs.len() as u32 };
                engine.record_exclude(&mut recorded, n as u32, list.slice(..), count).unwrap();
            }
            // A list that is too long: a step that does not count.
            10 => {
                let (list, count) = (upload(&engine, &pairs), upload(&engine, &[u32::MAX]));
                let count = GpuCount::Stored { count: count.slice(..), at_most: 9 };
                engine.record_exclude(&mut recorded, n as u32, list.slice(..), count).unwrap();
                lost_step = true;
            }
            _ => {}
        }
        let left = Uploaded::new(&engine, &frame).record(&mut engine, &mut recorded).unwrap();
        let Left { mut events, headers } = run(&engine, recorded, &left);
        if std::mem::take(&mut lost_step) {
            assert_eq!(headers.map(|header| (header.overflow, header.count)), [(6, 0); 4]);
            continue;
        }
        events.report.box_count = n as u32;
        oracle.check(&frame, &events, &format!("step {number}, {:?}", epoch(&engine)));
        modes.push(epoch(&engine).mode);
    }
    let kept = count(&modes, EPOCH_STAY) + count(&modes, EPOCH_PART);
    assert!(kept > 5 && count(&modes, EPOCH_BEGIN) > 3, "{modes:?}");
}

#[test]
fn filters_that_change_are_those_of_a_step_whose_epoch_was_given_up_before_it_was_submitted() {
    let n = 3000;
    let boxes = Motion::Still.boxes(n, 0.9, 1, 0);
    let gives_up: [fn(&mut BroadPhase, &[Aabb]); 4] = [
        |_, _| {},
        |engine, _| engine.forget_steps(),
        |engine, _| engine.set_options(Options { memory_budget: Some(1 << 30), ..CANONICAL }).unwrap(),
        |engine, boxes| {
            // Too few to be worth one.
            begin_epochs_on_gpu_from(engine, 5000);
            let step = Uploaded::new(engine, &Frame::of(boxes.to_vec()));
            step.record(engine, &mut encoder(engine)).unwrap();
        },
    ];
    for (number, give_up) in gives_up.into_iter().enumerate() {
        let mut filters = Filters { group: vec![1; n], ..Filters::default() };
        let mut engine = BroadPhase::new(broad_phase(CANONICAL).gpu(), CANONICAL).unwrap();
        begin_epochs_on_gpu_from(&mut engine, 1);
        engine.set_filters(filters.clone()).unwrap();
        engine.reserve(n, 30_000).unwrap();
        for _ in 0..4 {
            leave(&mut engine, &Frame::of(boxes.clone())).unwrap();
        }
        assert_eq!(epoch(&engine).mode, EPOCH_STAY);
        let step = Uploaded::new(&engine, &Frame::of(boxes.clone()));
        let mut recorded = encoder(&engine);
        let left = step.record(&mut engine, &mut recorded).unwrap();
        give_up(&mut engine, &boxes);
        filters.group[..500].fill(0);
        engine.change_filters(0, Attribute::Group(&filters.group[..500])).unwrap();
        let found = run(&engine, recorded, &left).events.pairs;
        let mut expected = cpu::BroadPhase::new(CANONICAL).unwrap();
        expected.set_filters(filters).unwrap();
        assert!(found == expected.find_pairs(&boxes).unwrap().pairs, "given up in way {number}");
    }
}

#[test]
fn a_scene_that_grows_does_not_allocate_its_epoch_in_every_step() {
    let mut engine = BroadPhase::new(broad_phase(CANONICAL).gpu(), CANONICAL).unwrap();
    begin_epochs_on_gpu_from(&mut engine, 1);
    engine.reserve(2000, 30_000).unwrap();
    let mut buffers = Vec::new();
    for n in 1000..1020 {
        leave(&mut engine, &Frame::of(Motion::Still.boxes(n, 0.9, 1, 0))).unwrap();
        buffers.push(epoch_on_gpu(&engine).unwrap());
    }
    buffers.dedup();
    assert_eq!(buffers.len(), 1);
}

#[test]
fn epochs_keep_within_the_memory_budget_and_give_way_to_events() {
    let still = Motion::Still.boxes(3000, 0.9, 1, 0);
    let frame = Frame::of(still.clone());
    let pairs = canonical(&still);
    let mut seen = [0; 2];
    let least = least_budget(&Motion::Still.boxes(9000, 0.9, 1, 0), CANONICAL.order);
    for budget in [2 * least + 400_000, 3 * least, 4 * least, 5 * least, 6 * least, 40 * least] {
        let options = Options { memory_budget: Some(budget), ..CANONICAL };
        let mut engine = BroadPhase::new(broad_phase(CANONICAL).gpu(), options).unwrap();
        begin_epochs_on_gpu_from(&mut engine, 1);
        for boxes in [3000, 3000, 3400, 3800, 9000] {
            engine.reserve(boxes, 400_000).unwrap();
            let Left { events, headers } = leave(&mut engine, &frame).unwrap();
            let held: u64 = engine.buffers().iter().map(|(_, bytes)| bytes).sum();
            assert!(held <= budget, "{held} of {budget}: {:?}", engine.buffers());
            // Events may have room for less.
            assert!(headers[1].overflow != 0 || events.pairs == pairs);
            seen[usize::from(epoch_on_gpu(&engine).is_some())] += 1;
        }
    }
    assert!(seen.iter().all(|count| *count > 2), "with none and with one: {seen:?}");
}

#[test]
fn very_large_and_very_small_boxes_are_kept() {
    for scale in [1e-37f32, 1e-33, 1e-20, 1e20, 1e30, 1e33] {
        let still: Vec<Aabb> = Motion::Still
            .boxes(600, 0.9, 1, 0)
            .into_iter()
            .map(|aabb| Aabb::new(aabb.min.map(|x| x * scale), aabb.max.map(|x| x * scale)))
            .collect();
        let steps = (0..6).map(|number| {
            let mut boxes = some_elsewhere(&still, 90, number);
            let infinite = if number % 2 == 0 { f32::INFINITY } else { f32::MAX };
            boxes.extend([
                Aabb::new([-infinite, 0.0, 0.0], [infinite, scale, scale]),
                Aabb::new([infinite; 3], [infinite; 3]),
                Aabb::new([-0.0; 3], [0.0; 3]),
                Aabb::new([f32::from_bits(1); 3], [f32::from_bits(9); 3]),
            ]);
            Frame::of(boxes)
        });
        let mut engine = broad_phase(CANONICAL);
        engine.reserve(604, 20_000).unwrap();
        let modes = with_epochs(&mut engine, |engine| modes(engine, steps, &format!("{scale}")));
        assert!(count(&modes, EPOCH_PART) > 2, "{scale}: {modes:?}");
    }
}
