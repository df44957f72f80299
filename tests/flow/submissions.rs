//! Results that are taken after their call: submissions in flight, and devices that are lost.

use broadsweep::cpu;
use broadsweep::filter::Attribute;
use broadsweep::internals::brute_force;
use broadsweep::{Aabb, BroadPhase, Error, Filters, Gpu, Options, Overlaps, PairOrder, Recorder, wgpu};
use laboratory::scenes::Kind;
use wgpu::BufferUsages as U;

use crate::common::*;

#[test]
fn a_submitted_result_is_there_after_polling() {
    // There are so many boxes that the search takes longer than the first poll. If this thread had to wait for a core,
    // the test tries again.
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
                assert_pairs(&sorted(&overlaps.pairs), &brute_force::find_pairs(boxes), "exact");
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
                assert_pairs(&sorted(&overlaps.pairs), &brute_force::find_pairs(boxes), "within a budget");
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
