//! More boxes than fit at once: the same pairs as if they did, each once, in as many passes as it takes.

use crate::common::*;
use broadsweep::cpu;
use broadsweep::internals::brute_force;
use broadsweep::{Aabb, BroadPhase, Error, Gpu, Options, Pair, PairOrder, Report, SweepAxis, wgpu};
use laboratory::scenes::Kind;

/// Returns options whose budget fits this many boxes and no more.
fn options_for(n: usize, order: PairOrder) -> Options {
    CANONICAL.with_order(order).with_memory_budget(Some(least_budget(&vec![Aabb::new([0.0; 3], [1.0; 3]); n], order)))
}

/// Checks both calls that block, in both orders, against brute force, with capacity for `most` boxes.
fn assert_exact_in_slabs(boxes: &[Aabb], most: usize, what: &str) -> Report {
    let expected = brute_force::find_pairs(boxes);
    let sweep = on_gpu(boxes, options_for(most, PairOrder::Sweep));
    let canonical = on_gpu(boxes, options_for(most, PairOrder::Canonical));
    assert_pairs(&canonical.pairs, &expected, what);
    let (streamed, report) = streamed(boxes, options_for(most, PairOrder::Sweep));
    assert_pairs(&streamed, &sweep.pairs, what);
    assert_eq!(report, sweep.report);
    assert_pairs(&sorted(&sweep.pairs), &expected, what);
    for report in [&report, &canonical.report] {
        assert_eq!((report.box_count as usize, report.pair_count), (boxes.len(), expected.len() as u64), "{what}");
        let invalid: Vec<u32> = (0..boxes.len() as u32).filter(|&i| !boxes[i as usize].is_valid()).collect();
        assert_eq!(report.invalid_count as usize, invalid.len(), "{what}");
        assert_eq!(report.first_invalid, invalid[..invalid.len().min(Report::INVALID_LISTED)], "{what}");
    }
    assert!(report.gpu_bytes <= options_for(most, PairOrder::Sweep).memory_budget.unwrap());
    report
}

/// Collects all pieces. Checks that a piece is empty only if there are no pairs, and that each piece comes with the
/// report of the whole, or of all pieces so far.
fn streamed(boxes: &[Aabb], options: Options) -> (Vec<Pair>, Report) {
    let (mut pairs, mut reports) = (Vec::new(), Vec::new());
    let each = |report: &Report, piece: &[Pair]| -> Result<(), Error> {
        assert_eq!(piece.is_empty(), report.pair_count == 0);
        pairs.extend_from_slice(piece);
        assert!(report.passes == 1 || report.pair_count == pairs.len() as u64, "{report:?}");
        reports.push(report.clone());
        Ok(())
    };
    let report = broad_phase(options).stream_pairs(boxes, each).unwrap();
    assert!(reports.iter().all(|one| (one.passes, one.box_count) == (report.passes, report.box_count)));
    assert!(report.passes > 1 || reports.iter().all(|one| *one == report));
    assert!(reports.is_sorted_by_key(|one| (one.pair_count, one.candidate_count)));
    assert_eq!(reports.last().unwrap().pair_count, report.pair_count);
    (pairs, report)
}

fn small_device() -> Gpu {
    device_with(wgpu::Limits { max_storage_buffer_binding_size: 4 << 20, ..Gpu::required_limits() })
}

#[test]
#[ignore = "long"]
fn scenes_of_every_kind_are_exact_in_several_passes() {
    for kind in Kind::ALL {
        let boxes = kind.generate(3000, 3);
        let most = boxes.len() * 2 / 5;
        let valid = boxes.iter().filter(|aabb| aabb.is_valid()).count();
        if kind == Kind::Identical {
            let result = broad_phase(options_for(most, PairOrder::Sweep)).find_pairs(&boxes).cloned();
            assert!(matches!(result, Err(Error::OverBudget { .. })), "{result:?}");
            continue;
        }
        let report = assert_exact_in_slabs(&boxes, most, kind.name());
        assert!(report.passes >= 3.min(valid.div_ceil(most) as u32), "{}: {} passes", kind.name(), report.passes);
    }
}

#[test]
fn boxes_that_touch_at_a_cut_are_a_pair() {
    // All bounds are integers, and so are the cuts: every one has boxes that end there and boxes that begin there.
    let at = |i: usize| [i % 14, i / 14 % 14, i / 196].map(|k| k as f32 - 7.0);
    let boxes: Vec<Aabb> = (0..14 * 14 * 14).map(at).map(|min| Aabb::new(min, min.map(|m| m + 1.0))).collect();
    let report = assert_exact_in_slabs(&boxes, 1000, "touching boxes");
    assert!(report.passes > 2);
    // Points, most of them in the same places, at zeros of both signs.
    let point = |i: usize| [[-1.0, -0.0, 0.0, 1.0][i % 4], (i % 3) as f32, (i / 12 % 50) as f32];
    let points: Vec<Aabb> = (0..3000).map(point).map(|p| Aabb::new(p, p)).collect();
    assert!(assert_exact_in_slabs(&points, 1300, "points").passes > 2);
}

#[test]
fn boxes_in_every_slab_pair_once() {
    let mut boxes = Kind::Uniform.generate(3000, 4);
    for i in (0..3000).step_by(100) {
        boxes[i] = match i / 100 % 4 {
            0 => Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]),
            1 => Aabb::new([f32::MIN; 3], [f32::MAX; 3]),
            2 => Aabb::new([f32::INFINITY; 3], [f32::INFINITY; 3]),
            _ => Aabb::new([f32::NEG_INFINITY, 0.0, 0.0], [0.5; 3]),
        };
        boxes[i + 7].max[i % 3] = f32::NAN;
        boxes[i + 9].min[i % 3] = f32::INFINITY;
    }
    let report = assert_exact_in_slabs(&boxes, 1000, "boxes in every slab");
    assert!(report.passes > 2 && report.invalid_count >= 59);
}

#[test]
fn boxes_without_pairs_or_without_meaning_take_one_empty_piece() {
    let apart: Vec<Aabb> = (0..3000).map(|i| Aabb::new([2.0 * i as f32; 3], [2.0 * i as f32 + 1.0; 3])).collect();
    assert!(assert_exact_in_slabs(&apart, 1000, "apart").passes > 2);
    let invalid = vec![Aabb::new([f32::NAN; 3], [1.0; 3]); 3000];
    assert_eq!(assert_exact_in_slabs(&invalid, 1000, "invalid").passes, 1);
}

#[test]
fn a_few_valid_boxes_among_many_are_not_reported_as_every_box_against_every_other() {
    let mut boxes = vec![Aabb::new([f32::NAN; 3], [1.0; 3]); 3000];
    boxes.splice(1000..1100, Kind::Pile.generate(100, 1));
    let options = options_for(1000, PairOrder::Canonical).with_all_pairs_up_to(Some(u32::MAX));
    let found = on_gpu(&boxes, options);
    assert_pairs(&found.pairs, &brute_force::find_pairs(&boxes), "few");
    let report = found.report;
    assert_eq!((report.passes, report.entry_count, report.tested_all_pairs), (1, 0, false), "{report:?}");
    assert_ne!(report.axis, SweepAxis::Auto);
}

#[test]
fn what_cannot_be_cut_is_refused_before_any_work() {
    let boxes = vec![Aabb::new([0.0; 3], [1.0; 3]); 3000];
    let options = options_for(1000, PairOrder::Sweep);
    let refused = broad_phase(options).memory_plan(3000).unwrap_err();
    assert_eq!(broad_phase(options).find_pairs(&boxes).unwrap_err(), refused);
    let streamed = broad_phase(options).stream_pairs(&boxes, |_, _| -> Result<(), Error> { panic!("a piece came") });
    assert_eq!(streamed.unwrap_err(), refused);
    // The calls that do not block refuse it.
    let boxes = Kind::Uniform.generate(3000, 1);
    assert_eq!(broad_phase(options).submissions().submit(&boxes).unwrap_err(), refused);
    // The limit on candidates holds for each pass.
    let passed = on_gpu(&boxes, options).report;
    let limited =
        |candidate_limit| broad_phase(options.with_candidate_limit(candidate_limit)).find_pairs(&boxes).cloned();
    assert!(limited(passed.candidate_count - 1).is_ok() && passed.passes > 2);
    assert!(matches!(limited(10), Err(Error::TooManyCandidates { .. })));
}

#[test]
fn a_callback_may_stop_in_any_pass_and_the_next_call_is_exact() {
    let boxes = Kind::Uniform.generate(3000, 1);
    let options = options_for(1000, PairOrder::Canonical);
    let expected = brute_force::find_pairs(&boxes);
    for stop in 1..4 {
        let mut calls = 0;
        let mut each = |_: &Report, _: &[Pair]| {
            calls += 1;
            if calls == stop { Err(Error::Busy) } else { Ok(()) }
        };
        assert_eq!(broad_phase(options).stream_pairs(&boxes, &mut each).unwrap_err(), Error::Busy);
        assert_pairs(&on_gpu(&boxes, options).pairs, &expected, "after a stop");
    }
}

#[test]
#[ignore = "long"]
fn more_boxes_than_a_binding_holds_are_found_in_slabs() {
    let gpu = small_device();
    for (kind, n) in [(Kind::Uniform, 400_000), (Kind::Touching, 180_000)] {
        let boxes = kind.generate(n, 1);
        let expected = sorted(&cpu::find_pairs(&boxes, &Options::default()).unwrap().pairs);
        let mut broad_phase = BroadPhase::new(&gpu, Options::default()).unwrap();
        assert!(matches!(broad_phase.memory_plan(boxes.len()), Err(Error::TooManyBoxes { .. })));
        assert!(matches!(broad_phase.submissions().submit(&boxes), Err(Error::TooManyBoxes { .. })));
        let found = broad_phase.find_pairs(&boxes).unwrap().clone();
        assert!((2..=5).contains(&found.report.passes), "{:?}", found.report);
        // Again, with what the first call left: the same bytes.
        let again = broad_phase.find_pairs(&boxes).unwrap().clone();
        assert_eq!((again.pairs == found.pairs, again.report.passes), (true, found.report.passes));
        assert_pairs(&sorted(&found.pairs), &expected, kind.name());
        broad_phase.set_options(CANONICAL).unwrap();
        assert_pairs(&broad_phase.find_pairs(&boxes).unwrap().pairs, &expected, "canonical");
    }
    let identical = vec![Aabb::new([0.0; 3], [1.0; 3]); 174_763];
    let refused = BroadPhase::new(&gpu, CANONICAL).unwrap().find_pairs(&identical).unwrap_err();
    assert!(matches!(refused, Error::TooManyBoxes { max_boxes: 174_762, .. }), "{refused}");
}

/// Tests that take minutes on a software driver: `scripts/test.sh --long`.
mod at_length {
    use super::*;

    #[test]
    #[ignore = "takes minutes on a software driver"]
    fn ten_million_boxes_are_found_within_webgpus_default_limits() {
        let gpu = device_with(Gpu::required_limits());
        let boxes = Kind::Uniform.generate(10_000_000, 1);
        let mut broad_phase = BroadPhase::new(&gpu, Options::default()).unwrap();
        let start = std::time::Instant::now();
        let found = broad_phase.find_pairs(&boxes).unwrap().clone();
        println!("{:.1?}, {:?}", start.elapsed(), found.report);
        let start = std::time::Instant::now();
        let mut count = 0;
        let each = |report: &Report, piece: &[Pair]| -> Result<(), Error> {
            count += piece.len();
            assert_eq!(report.pair_count, count as u64);
            Ok(())
        };
        broad_phase.stream_pairs(&boxes, each).unwrap();
        println!("streamed in {:.1?}", start.elapsed());
        assert_eq!(count, found.pairs.len());
        let start = std::time::Instant::now();
        let expected = cpu::find_pairs(&boxes, &Options::default()).unwrap().pairs;
        println!("on the CPU {:.1?}", start.elapsed());
        assert_pairs(&sorted(&found.pairs), &sorted(&expected), "ten million");
    }
}
