//! What once went wrong, as small as it can be shown.

use crate::common::*;
use broadsweep::internals::brute_force;
use broadsweep::scenes::Kind;
use broadsweep::{CellSize, Options};

/// The last quantum of a segment of more than 24 bits rounded up to the first of the next, so that positions did
/// not ascend and pairs were lost. An oblique scene in one cell has keys of 30 position bits.
#[test]
fn positions_of_more_than_24_bits_per_segment_ascend() {
    let boxes = Kind::Diagonal.generate(700, 7);
    let expected = brute_force::find_pairs(&boxes);
    assert_finds(&boxes, &expected, Options { cell_size: CellSize::Fixed(1e20), ..CANONICAL });
}

/// Key bits followed the bounds of the scene, and one box around everything took those of the positions: twice
/// the candidates for a million other boxes.
#[test]
fn one_box_around_everything_adds_no_more_than_its_own_candidates() {
    let boxes = Kind::Uniform.generate(50_000, 1);
    let mut around = boxes.clone();
    around.push(broadsweep::Aabb::new([-3.0; 3], [4.0; 3]));
    let without = on_gpu(&boxes, CANONICAL).report;
    let with = on_gpu(&around, CANONICAL).report;
    let own = u64::from(with.entry_count) + 50_000;
    assert!(with.candidate_count < without.candidate_count * 11 / 10 + own, "{with:?} instead of {without:?}");
}

/// Cells along a line use few of the ids that a plane of cells has; the position needs the bits.
#[test]
fn an_oblique_rod_has_few_candidates_per_pair() {
    let report = on_gpu(&Kind::Diagonal.generate(100_000, 1), CANONICAL).report;
    assert!(report.candidate_count < 6 * (100_000 + report.pair_count), "{report:?}");
}
