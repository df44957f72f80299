//! SortBuffers piece by piece: all of it, each pair once, whatever the length, the memory and what the callback does.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::common::*;
use broadsweep::internals::brute_force;
use broadsweep::{Aabb, BroadPhase, Error, Gpu, Options, Pair, PairOrder, wgpu};
use laboratory::scenes::Kind;

fn identical(n: usize) -> Vec<Aabb> {
    vec![Aabb::new([0.0; 3], [1.0; 3]); n]
}

/// All pairs of `n` boxes that all overlap, struck off one by one.
struct Matrix {
    n: u64,
    seen: Vec<u64>,
    count: u64,
}

impl Matrix {
    fn new(n: u64) -> Self {
        Self { n, seen: vec![0; (n * n).div_ceil(64) as usize], count: 0 }
    }

    fn strike(&mut self, pairs: &[Pair]) {
        for &Pair { a, b } in pairs {
            assert!(a < b && u64::from(b) < self.n, "no pair: {a}, {b}");
            let at = u64::from(a) * self.n + u64::from(b);
            let (word, bit) = (&mut self.seen[at as usize / 64], 1 << (at % 64));
            assert!(*word & bit == 0, "{a}, {b} came twice");
            *word |= bit;
        }
        self.count += pairs.len() as u64;
    }

    /// Checks that pairs are distinct, all valid, and as many as there are: all of them.
    fn assert_full(&self) {
        assert_eq!(self.count, self.n * (self.n - 1) / 2);
    }
}

/// Streams the pairs of `n` identical boxes, and gives the number of pieces and the longest.
fn strike_all(broad_phase: &mut BroadPhase, n: usize) -> (usize, usize) {
    let mut matrix = Matrix::new(n as u64);
    let (mut pieces, mut longest) = (0, 0);
    let report = broad_phase
        .stream_pairs(&identical(n), |report, piece| -> Result<(), Error> {
            assert_eq!(report.pair_count, matrix.n * (matrix.n - 1) / 2);
            matrix.strike(piece);
            (pieces, longest) = (pieces + 1, longest.max(piece.len()));
            Ok(())
        })
        .unwrap();
    matrix.assert_full();
    if let Some(budget) = broad_phase.options().memory_budget {
        assert!(report.gpu_bytes <= budget, "{} bytes, and the budget is {budget}", report.gpu_bytes);
    }
    (pieces, longest)
}

fn streamed(broad_phase: &mut BroadPhase, boxes: &[Aabb]) -> Vec<Vec<Pair>> {
    let mut pieces = Vec::new();
    let mut each = |_: &_, piece: &[Pair]| -> Result<(), Error> {
        pieces.push(piece.to_vec());
        Ok(())
    };
    let report = broad_phase.stream_pairs(boxes, &mut each).unwrap();
    assert_eq!(report.pair_count, pieces.iter().map(|piece| piece.len() as u64).sum::<u64>());
    pieces
}

#[test]
fn every_pair_passes_through_the_least_memory_once() {
    for order in [PairOrder::Sweep, PairOrder::Canonical] {
        let least = least_budget(&identical(600), order);
        let options = CANONICAL.with_order(order).with_memory_budget(Some(least));
        let mut broad_phase = BroadPhase::new(&GPU, options).unwrap();
        let (pieces, longest) = strike_all(&mut broad_phase, 600);
        assert_eq!(longest, 4096);
        assert_eq!(pieces, 179_700_usize.div_ceil(4096));
    }
}

#[test]
fn twelve_million_pairs_pass_through_two_staging_buffers_each_once() {
    let options = Options::default().with_memory_budget(Some(24 << 20));
    let (pieces, longest) = strike_all(&mut BroadPhase::new(&GPU, options).unwrap(), 5000);
    assert!(pieces > 10 && longest < 1 << 20, "{pieces} pieces, the longest has {longest} pairs");
}

#[test]
fn a_list_that_an_earlier_call_lengthened_serves_the_next() {
    for order in [PairOrder::Sweep, PairOrder::Canonical] {
        let options = CANONICAL.with_order(order).with_memory_budget(Some(3 << 20));
        let mut broad_phase = BroadPhase::new(&GPU, options).unwrap();
        for _ in 0..2 {
            let (pieces, _) = strike_all(&mut broad_phase, 1000);
            assert!(pieces > 3, "{pieces} pieces");
        }
    }
}

/// Tests that take minutes on a software driver: `scripts/test.sh --long`.
mod at_length {
    use super::*;

    #[test]
    #[ignore = "takes a minute or more on a software driver"]
    fn two_hundred_million_pairs_pass_through_half_a_gibibyte_each_once() {
        for order in [PairOrder::Sweep, PairOrder::Canonical] {
            let options = CANONICAL.with_order(order).with_memory_budget(Some(512 << 20));
            let mut broad_phase = BroadPhase::new(&GPU, options).unwrap();
            let start = std::time::Instant::now();
            let (pieces, longest) = strike_all(&mut broad_phase, 20_000);
            println!("{order:?}: {pieces} pieces of up to {longest} pairs in {:.1?}", start.elapsed());
            assert!(longest <= 1 << 22);
        }
    }
}

#[test]
fn the_pieces_together_are_the_list_in_the_order_of_the_sweep() {
    for (kind, n) in [(Kind::Clusters, 2000), (Kind::Infinite, 1000), (Kind::Uniform, 4000), (Kind::Identical, 300)] {
        let boxes = kind.generate(n, 2);
        let whole = BroadPhase::new(&GPU, Options::default()).unwrap().find_pairs(&boxes).unwrap().pairs.clone();
        let least = least_budget(&boxes, PairOrder::Sweep);
        for budget in [Some(least), Some(least + (2 << 20)), None] {
            let options = Options::default().with_memory_budget(budget);
            let mut broad_phase = BroadPhase::new(&GPU, options).unwrap();
            // A budget may coarsen the grid, and with it change the order: compared with itself then.
            let whole =
                if budget.is_some() { broad_phase.find_pairs(&boxes).unwrap().pairs.clone() } else { whole.clone() };
            assert_pairs(&streamed(&mut broad_phase, &boxes).concat(), &whole, kind.name());
            assert_pairs(&streamed(&mut broad_phase, &boxes).concat(), &whole, "again");
        }
    }
}

#[test]
fn in_canonical_order_the_pieces_are_ascending_runs() {
    // In an order that is not that of the sweep.
    let boxes: Vec<Aabb> = (0..400).map(|i| Aabb::new([(i * 171 % 400) as f32, 0.0, 0.0], [400.0, 1.0, 1.0])).collect();
    let expected = brute_force::find_pairs(&boxes);
    let least = least_budget(&boxes, PairOrder::Canonical);
    for budget in [Some(least), Some(least + (1 << 20)), None] {
        let options = CANONICAL.with_memory_budget(budget);
        let mut broad_phase = BroadPhase::new(&GPU, options).unwrap();
        for _ in 0..2 {
            let pieces = streamed(&mut broad_phase, &boxes);
            assert!(pieces.iter().all(|piece| piece.is_sorted()));
            let mut all = pieces.concat();
            assert_eq!(all.is_sorted(), budget.is_none(), "if the list holds all of them");
            all.sort_unstable();
            assert_pairs(&all, &expected, "runs");
            assert_pairs(&broad_phase.find_pairs(&boxes).unwrap().pairs, &expected, "merged");
        }
    }
}

#[test]
fn the_callback_hears_of_a_scene_without_pairs() {
    for n in [0, 1, 2] {
        let boxes: Vec<Aabb> = (0..n).map(|i| Aabb::new([2.0 * i as f32; 3], [2.0 * i as f32 + 1.0; 3])).collect();
        let mut calls = Vec::new();
        let each = |report: &broadsweep::Report, piece: &[Pair]| -> Result<(), Error> {
            calls.push((report.box_count, report.pair_count, piece.len()));
            Ok(())
        };
        let report = broad_phase(CANONICAL).stream_pairs(&boxes, each).unwrap();
        assert_eq!((calls, report.pair_count), (vec![(n, 0, 0)], 0));
    }
}

#[derive(Debug, PartialEq)]
enum Stop {
    Enough(usize),
    Engine(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Engine(error)
    }
}

#[test]
fn a_callback_may_stop_at_any_piece_and_the_next_call_is_exact() {
    let boxes = identical(400);
    let expected = brute_force::find_pairs(&boxes);
    let least = least_budget(&boxes, PairOrder::Canonical);
    for budget in [least, least + 400_000] {
        let mut broad_phase = BroadPhase::new(&GPU, CANONICAL.with_memory_budget(Some(budget))).unwrap();
        for stop in [1, 2, 4] {
            let mut calls = 0;
            let stopped = broad_phase.stream_pairs(&boxes, |_, _| {
                calls += 1;
                if calls == stop { Err(Stop::Enough(calls)) } else { Ok(()) }
            });
            assert_eq!(stopped.unwrap_err(), Stop::Enough(stop));
            assert_eq!(broad_phase.submissions().try_take().unwrap_err(), Error::NothingSubmitted);
            assert_pairs(&broad_phase.find_pairs(&boxes).unwrap().pairs, &expected, "after a stop");
        }
    }
}

#[test]
fn a_callback_that_panics_leaves_nothing_half_done() {
    let boxes = identical(700);
    let least = least_budget(&boxes, PairOrder::Canonical);
    let mut broad_phase = BroadPhase::new(&GPU, CANONICAL.with_memory_budget(Some(least))).unwrap();
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        let mut calls = 0;
        let _ = broad_phase.stream_pairs(&boxes, |_, _| -> Result<(), Error> {
            calls += 1;
            assert!(calls < 3, "enough");
            Ok(())
        });
    }));
    assert!(panicked.is_err());
    assert_eq!(streamed(&mut broad_phase, &boxes).concat().len(), 700 * 699 / 2);
}

#[test]
fn what_is_refused_is_refused_before_the_first_piece() {
    let boxes = identical(700);
    let refused = CANONICAL.with_candidate_limit(1000);
    let result = broad_phase(refused).stream_pairs(&boxes, |_, _| -> Result<(), Error> { panic!("a piece came") });
    assert!(matches!(result, Err(Error::TooManyCandidates { .. })), "{result:?}");
    let refused = CANONICAL.with_memory_budget(Some(1000));
    let result = broad_phase(refused).stream_pairs(&boxes, |_, _| -> Result<(), Error> { panic!("a piece came") });
    assert!(matches!(result, Err(Error::OverBudget { .. })), "{result:?}");
    let mut busy = broad_phase(CANONICAL);
    busy.submissions().submit(&boxes).unwrap();
    let result = busy.stream_pairs(&boxes, |_, _| -> Result<(), Error> { panic!("a piece came") });
    assert_eq!(result.unwrap_err(), Error::Busy);
    assert!(busy.submissions().try_take().is_ok());
}

#[test]
#[ignore = "long"]
fn a_device_that_is_lost_between_pieces_is_a_typed_error() {
    let own = || Gpu::headless().unwrap();
    let of_the_caller = || device_with(Gpu::required_limits());
    for make in [&own as &dyn Fn() -> Gpu, &of_the_caller] {
        let gpu = make();
        let least = least_budget(&identical(700), PairOrder::Canonical);
        let mut broad_phase = BroadPhase::new(&gpu, CANONICAL.with_memory_budget(Some(least))).unwrap();
        let result = broad_phase.stream_pairs(&identical(700), |_, _| -> Result<(), Error> {
            gpu.device().destroy();
            Ok(())
        });
        assert!(matches!(result, Err(Error::DeviceLost { .. })), "{result:?}");
    }
}

// ---- the first copy ----

/// Returns whether the result is there after the GPU was waited for once.
fn comes_at_once(gpu: &Gpu, broad_phase: &mut BroadPhase, boxes: &[Aabb]) -> bool {
    broad_phase.submissions().submit(boxes).unwrap();
    gpu.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
    let mut at_once = true;
    let found = loop {
        match broad_phase.submissions().try_take().unwrap() {
            Some(overlaps) => break overlaps.pairs.clone(),
            None => at_once = false,
        }
    };
    assert_pairs(&found, &brute_force::find_pairs(boxes), "taken");
    at_once
}

#[test]
fn a_submission_like_the_last_comes_in_one_round_trip() {
    // A device of its own: on a shared one another thread may be about to report a mapped buffer.
    let gpu = Gpu::headless().unwrap();
    let mut broad_phase = BroadPhase::new(&gpu, CANONICAL).unwrap();
    // A first one too, where it has no more than four pairs a box.
    assert!(comes_at_once(&gpu, &mut broad_phase, &Kind::Uniform.generate(3000, 1)));
    // Ten times as many pairs need a second trip, and the next such submission does not.
    let pile = Kind::Identical.generate(400, 1);
    assert!(!comes_at_once(&gpu, &mut broad_phase, &pile));
    assert!(comes_at_once(&gpu, &mut broad_phase, &pile));
    // A few pairs more are expected.
    assert!(comes_at_once(&gpu, &mut broad_phase, &Kind::Identical.generate(410, 1)));
}

#[test]
#[ignore = "long"]
fn no_scene_depends_on_the_one_before() {
    let scenes = [
        Kind::Uniform.generate(10, 1),
        Kind::Uniform.generate(4000, 2),
        Vec::new(),
        identical(500),
        identical(2),
        Kind::Clusters.generate(1500, 3),
        Kind::Uniform.generate(1, 4),
        identical(600),
        Kind::Uniform.generate(6000, 5),
    ];
    for order in [PairOrder::Sweep, PairOrder::Canonical] {
        let options = CANONICAL.with_order(order);
        let mut reused = BroadPhase::new(&GPU, options).unwrap();
        for boxes in scenes.iter().chain(scenes.iter().rev()) {
            let fresh = BroadPhase::new(&GPU, options).unwrap().find_pairs(boxes).unwrap().clone();
            let found = reused.find_pairs(boxes).unwrap().clone();
            assert_pairs(&found.pairs, &fresh.pairs, "after others");
            assert_eq!(found.report.pair_count, fresh.pairs.len() as u64);
            assert_pairs(&sorted(&found.pairs), &brute_force::find_pairs(boxes), "exact");
        }
    }
}
