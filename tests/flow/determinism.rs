//! The same bytes every time.

use crate::common::*;
use broadsweep::{BroadPhase, CellSize, Options, PairOrder, SweepAxis, cpu};
use laboratory::scenes::Kind;

#[test]
fn repeated_runs_give_the_same_bytes_in_sweep_order() {
    for kind in [Kind::Uniform, Kind::Clusters, Kind::Diagonal, Kind::Infinite, Kind::Invalid, Kind::Touching] {
        for axis in [SweepAxis::Auto, SweepAxis::Principal] {
            let options = SWEEP.with_axis(axis);
            let boxes = kind.generate(2000, 1);
            let mut broad_phase = broad_phase(options);
            let first = broad_phase.find_pairs(&boxes).unwrap().clone();
            for _ in 0..2 {
                // Another scene in between leaves other things in the buffers.
                broad_phase.find_pairs(&Kind::Spread.generate(1500, 9)).unwrap();
                let again = broad_phase.find_pairs(&boxes).unwrap().clone();
                assert_pairs(&again.pairs, &first.pairs, kind.name());
                // Memory may have grown for the other scene.
                assert_eq!(without_memory(&again.report), without_memory(&first.report));
            }
        }
    }
}

#[test]
fn a_new_broad_phase_gives_the_same_bytes_as_a_used_one() {
    let boxes = Kind::Pile.generate(3000, 5);
    for options in [SWEEP, ALL_PAIRS] {
        let used = on_gpu(&boxes, options);
        let fresh = BroadPhase::new(&GPU, options).unwrap().find_pairs(&boxes).unwrap().clone();
        assert_pairs(&fresh.pairs, &used.pairs, "fresh");
    }
}

#[test]
#[ignore = "long"]
fn canonical_order_is_the_same_bytes_for_every_axis_cell_size_and_engine() {
    for kind in [Kind::Uniform, Kind::Spread, Kind::Pile, Kind::Infinite, Kind::Huge, Kind::Denormal] {
        let boxes = kind.generate(3000, 2);
        let expected = on_gpu(&boxes, CANONICAL).pairs;
        assert!(expected.is_sorted() && expected.windows(2).all(|two| two[0] != two[1]));
        let sizes = [CellSize::Auto, CellSize::Usscd, CellSize::Fixed(0.07)];
        for (axis, cell_size) in AXES.into_iter().zip(sizes.into_iter().cycle()) {
            let options = CANONICAL.with_axis(axis).with_cell_size(cell_size);
            assert_pairs(&on_gpu(&boxes, options).pairs, &expected, kind.name());
            assert_pairs(&cpu::find_pairs(&boxes, &options).unwrap().pairs, &expected, kind.name());
        }
    }
}

#[test]
fn canonical_order_does_not_depend_on_the_length_of_the_pieces() {
    let boxes = Kind::Touching.generate(6000, 3);
    let whole = on_gpu(&boxes, CANONICAL);
    assert!(whole.report.pair_count > 20_000);
    let least = least_budget(&boxes, PairOrder::Canonical);
    let pieces = on_gpu(&boxes, CANONICAL.with_memory_budget(Some(least)));
    assert!(pieces.report.gpu_bytes <= least);
    assert_pairs(&pieces.pairs, &whole.pairs, "in pieces");
}

/// The first call has no capacity for the hits of its tests, and finds them again for the list; the second call has it.
#[test]
fn pairs_found_again_are_the_same_bytes_as_retained_pairs() {
    let boxes = Kind::Uniform.generate(6000, 6);
    // A cell as large as the scene: far more candidates than there are for most scenes of this many boxes.
    let options = Options::default().with_cell_size(CellSize::Fixed(100.0));
    let mut broad_phase = BroadPhase::new(&GPU, options).unwrap();
    let little = broad_phase.memory_plan(boxes.len()).unwrap().tile_capacity;
    let found_again = broad_phase.find_pairs(&boxes).unwrap().clone();
    let ample = broad_phase.memory_plan(boxes.len()).unwrap().tile_capacity;
    assert!(ample > 2 * little, "{ample} tiles instead of {little}");
    let second = broad_phase.find_pairs(&boxes).unwrap().clone();
    assert_pairs(&second.pairs, &found_again.pairs, "retained");
    assert!(second.report.gpu_bytes > found_again.report.gpu_bytes);
}

/// Enough giants that the capacity for entries decides how far cells are merged: it must be that of this scene, not
/// what a larger one before has left.
#[test]
fn the_order_does_not_depend_on_larger_scenes_before() {
    let mut boxes = Kind::Uniform.generate(3000, 1);
    for aabb in boxes.iter_mut().step_by(30) {
        (aabb.min[0], aabb.max[0]) = (f32::NEG_INFINITY, f32::INFINITY);
    }
    for memory_budget in [None, Some(16 << 20)] {
        for edge in [0.025, 0.03, 0.035, 0.04, 0.05] {
            let options = SWEEP.with_cell_size(CellSize::Fixed(edge)).with_memory_budget(memory_budget);
            let mut broad_phase = BroadPhase::new(&GPU, options).unwrap();
            let first = broad_phase.find_pairs(&boxes).unwrap().clone();
            broad_phase.find_pairs(&Kind::Uniform.generate(10_000, 1)).unwrap();
            let again = broad_phase.find_pairs(&boxes).unwrap().clone();
            assert_pairs(&again.pairs, &first.pairs, &format!("{edge}"));
            assert_eq!(again.report.entry_count, first.report.entry_count);
        }
    }
}

/// Under a budget a larger scene has fewer bits for tests than a small one needs, and leaves buffers behind.
#[test]
fn whether_all_pairs_are_tested_does_not_depend_on_scenes_before() {
    let boxes = Kind::Pile.generate(3000, 1);
    let large = Kind::Uniform.generate(12_000, 1);
    let least = least_budget(&large, PairOrder::Sweep);
    let mut outcomes = Vec::new();
    for memory_budget in [None, Some(least), Some(least + (400 << 10)), Some(least * 3 / 2)] {
        let options = SWEEP.with_memory_budget(memory_budget).with_all_pairs_up_to(Some(3000));
        let mut broad_phase = BroadPhase::new(&GPU, options).unwrap();
        let first = broad_phase.find_pairs(&boxes).unwrap().clone();
        for _ in 0..2 {
            broad_phase.find_pairs(&large).unwrap();
            let again = broad_phase.find_pairs(&boxes).unwrap().clone();
            assert_eq!(again.report.tested_all_pairs, first.report.tested_all_pairs);
            assert_pairs(&again.pairs, &first.pairs, &format!("{memory_budget:?}"));
        }
        outcomes.push(first.report.tested_all_pairs);
    }
    assert!(outcomes[0] && outcomes[3], "{outcomes:?}");
}
