//! `bin_scatter`, with cells of every kind.

use broadsweep::internals::constants::*;
use broadsweep::internals::grid::bin::Bins;
use broadsweep::internals::grid::{BoxBuffers, GridSummary};
use broadsweep::internals::layout::{Counts, Frame, Params};
use broadsweep::internals::mirror;
use proptest::prelude::*;

use crate::bin_count::{ends_of, packed};
use crate::bin_level::{at_any_limit, bin_words, giant_division};
use crate::grid::{BIN, searched, summary};
use crate::inputs::Random;
use crate::*;

/// The most cells of a box along u or v in these tests.
pub const SPAN: u32 = 512;

/// Cells of boxes, a `rarity`th of them giants, unbounded or invalid, the others at most `widest` cells wide.
pub fn random_cells(n: u32, widest: u32, rarity: u32, seed: u64) -> Vec<[i32; 4]> {
    let mut random = Random::new(seed);
    (0..n)
        .map(|_| {
            let corner = [0; 2].map(|_| random.below(5000) as i32 - 2500);
            let span = |random: &mut Random, widest: u32| [0; 2].map(|_| random.below(widest) as i32);
            let [du, dv] = match random.below(4 * rarity) {
                0 => return mirror::bin::CELLS_OF_INVALID,
                1 => return mirror::bin::CELLS_OF_UNBOUNDED,
                2 => span(&mut random, 1 << 16),
                3 => [random.below(2 * SPAN) as i32, 0],
                _ => span(&mut random, widest),
            };
            [corner[0], corner[1], corner[0] + du, corner[1] + dv]
        })
        .collect()
}

/// Creates any footprint of a box.
fn any_footprint(random: &mut Random) -> u32 {
    random.next() as u32 & (0x7f7f_7f7f | FOOTPRINT_OF_BOX)
}

fn check(cells: &[[i32; 4]], frame: &Frame, level: u32) -> mirror::bin::Entries {
    let n = cells.len() as u32;
    let mut random = Random::new(u64::from(n) + 1);
    let positions: Vec<_> = cells
        .iter()
        .map(|_| [random.below(1 << frame.position_bits), random.below(1 << 20), any_footprint(&mut random), 0])
        .collect();
    let mut merged = positions.clone();
    let expected = mirror::bin::scatter(cells, &mut merged, frame, level);
    let params = at_level(n, level);
    let bins = bins(cells, &positions, level, frame);
    let frame = uniform(*frame);
    let counts = guarded(&[poison::<Counts>()]);
    let keys = poisoned::<u32>(expected.keys.len());
    let entries = poisoned::<u32>(expected.entries.len());
    let giants = poisoned::<u32>(expected.giants.len());
    let (summary, boxes) = (GridSummary { frame, ..summary(&counts) }, upload(&[]));
    let searched = BoxBuffers { box_count: n, ..searched(&params, &boxes, no_filters()) };
    let lists = (keys.all(), entries.all());
    run(|pass| BIN.record_scatter(pass, &searched, &summary, &bins, lists, giants.all()));
    assert_eq!(written(&bins.box_ends), ends_of(&merged));
    assert_eq!(written(&keys), expected.keys);
    assert_eq!(written(&entries), expected.entries);
    assert_eq!(written(&giants), expected.giants);
    let mut counted = poison::<Counts>();
    let is_invalid = |own: &&[i32; 4]| **own == mirror::bin::CELLS_OF_INVALID;
    counted.level = if n > 0 { level } else { 0 };
    counted.entry_count = expected.entries.len() as u32;
    counted.giant_count = expected.giants.len() as u32;
    counted.invalid_count = cells.iter().filter(is_invalid).count() as u32;
    [counted.giant_tiles, counted.giant_tiles_per_block, counted.giant_blocks] =
        giant_division(counted.entry_count, counted.giant_count);
    let places = counted.first_invalid.iter_mut().zip(&expected.first_invalid);
    places.for_each(|(place, &index)| *place = [index, 0, 0, 0]);
    assert_eq!(written(&counts), [counted]);
    expected
}

/// Parameters with which the level is this one, where the counts are those of [`bins`].
fn at_level(box_count: u32, level: u32) -> Buffer<Params> {
    uniform(Params { box_count, entry_capacity: if level < LEVELS - 1 { MAX_ENTRIES } else { 0 }, ..at_any_limit() })
}

/// Creates the output of `bin_count` for these cells. The counts of all other levels exceed the capacity.
fn bins(cells: &[[i32; 4]], positions: &[[u32; 4]], level: u32, frame: &Frame) -> Bins {
    let mut blocks = vec![[0; BIN_COUNTS as usize]; cells.len().div_ceil(BIN_BLOCK as usize)];
    for (block, cells) in blocks.iter_mut().zip(cells.chunks(BIN_BLOCK as usize)) {
        block[..LEVELS as usize].fill(MAX_ENTRIES + 1);
        block[level as usize] = 0;
        for &own in cells {
            if mirror::bin::is_giant(own, level, frame) {
                block[(LEVELS + level) as usize] += 1;
            } else if mirror::bin::is_binned(own) {
                block[level as usize] += mirror::bin::cell_count(own, level, frame);
            } else {
                block[2 * LEVELS as usize] += 1;
            }
        }
    }
    let (cells, ends) = packed(cells, positions);
    Bins { cells: upload(&cells), box_ends: guarded(&ends), block_counts: upload(&bin_words(&blocks)) }
}

fn frame(cell_bits: [u32; 2], position_bits: u32, giant_cells: u32) -> Frame {
    let key_bits = cell_bits[0] + cell_bits[1] + position_bits;
    Frame { cell_bits, max_span: [SPAN; 2], position_bits, key_bits, giant_cells, ..Frame::zeroed() }
}

#[test]
fn entries_and_giants_are_those_of_the_mirror_at_every_level() {
    for n in SIZES.into_iter().chain([1023, 1024, 1025, 5000]) {
        let cells = random_cells(n, 6, 20, u64::from(n));
        for level in 0..LEVELS {
            check(&cells, &frame([10, 10], 12, 64), level);
        }
    }
}

#[test]
#[ignore = "long"]
fn entries_of_more_blocks_than_a_group_follow_each_other() {
    let n = (2 * BIN_GROUP + 3) * BIN_BLOCK + 5;
    let cells = random_cells(n, 3, 20, 9);
    for level in [0, 3] {
        check(&cells, &frame([10, 10], 12, 64), level);
    }
}

#[test]
fn key_widths_that_differ_between_u_and_v_are_distinguished() {
    let cells = random_cells(1234, 6, 20, 5);
    for (bits, position_bits) in [([1, 1], 6), ([1, 10], 21), ([10, 1], 13), ([3, 8], 5), ([10, 10], 12)] {
        check(&cells, &frame(bits, position_bits, 64), 0);
    }
}

#[test]
fn a_block_without_entries_and_one_of_boxes_in_thousands_of_cells_are_written_alike() {
    let empty = [mirror::bin::CELLS_OF_INVALID; BIN_BLOCK as usize];
    let wide = [[-3, -3, 60, 60]; 150]; // 64 by 64 cells
    let row = [[5, 7, 516, 7], [9, -1000, 9, -489]]; // 512, the widest; 513 would be a giant
    let cells = [&empty[..], &wide, &empty, &row, &wide, &empty].concat();
    let expected = check(&cells, &frame([10, 10], 12, MAX_CELLS), 0);
    assert_eq!(expected.entries.len(), 300 * 4096 + 2 * 512);
    assert!(expected.giants.is_empty());
    assert_eq!(expected.first_invalid, [0, 1, 2, 3, 4, 5, 6, 7]);
}

#[test]
#[ignore = "long"]
fn a_block_of_boxes_in_as_many_cells_as_may_be_has_all_entries() {
    // 16,384 for each invocation: more turns than Mesa's drivers in software allow, if each took a search by a loop.
    let cells = vec![[-3, -3, 60, 60]; BIN_BLOCK as usize];
    let expected = check(&cells, &frame([10, 10], 12, MAX_CELLS), 0);
    assert_eq!(expected.entries.len() as u32, BIN_BLOCK * MAX_CELLS);
}

#[test]
fn boxes_of_which_all_are_giants_or_all_invalid_have_no_entries() {
    for cells in
        [mirror::bin::CELLS_OF_INVALID, mirror::bin::CELLS_OF_UNBOUNDED, [0, 0, 512, 0], [-9, 0, 0, CELL_REACH]]
    {
        for n in [1, 3, 8, 9, 1234] {
            let expected = check(&vec![cells; n], &frame([10, 10], 12, MAX_CELLS), 0);
            assert!(expected.entries.is_empty());
            assert_eq!(expected.giants.len() + n * usize::from(cells == mirror::bin::CELLS_OF_INVALID), n);
        }
    }
}

/// Returns where in its cell, of a side of 2^shift cells, a coordinate lies: in steps of a fraction of a merged cell.
fn merged_plainly(cell: i32, fraction: u32, shift: u32) -> (i64, u32) {
    let steps = i64::from(cell) * 128 + i64::from(fraction);
    let side = 128 << shift;
    (steps.div_euclid(side), (steps.rem_euclid(side) * 128 / side) as u32)
}

#[test]
fn footprints_in_merged_cells_are_the_same_places_in_larger_steps() {
    let mut random = Random::new(3);
    let mut cells = random_cells(5000, 6, 1 << 20, 3);
    // As far out as cells go, and next to where merged cells begin.
    let edges = [-CELL_REACH, -257, -256, -255, -65, -64, -1, 0, 1, 63, 64, 255, 256, CELL_REACH - 1];
    cells.extend(edges.iter().flat_map(|&u| edges.map(|v| [u, v, u + 1, v + 1])));
    let positions: Vec<_> = cells.iter().map(|_| [0, 0, any_footprint(&mut random), 0]).collect();
    let (_, ends_in) = packed(&cells, &positions);
    for level in 0..LEVELS {
        let host = frame([10, 10], 12, 64);
        let bins = bins(&cells, &positions, level, &host);
        let (n, most) = (cells.len() as u32, 64 * cells.len());
        let (params, frame, counts) = (at_level(n, level), uniform(host), guarded(&[poison::<Counts>()]));
        let [keys, entries, giants] = [(); 3].map(|()| poisoned::<u32>(most));
        let (summary, boxes) = (GridSummary { frame, ..summary(&counts) }, upload(&[]));
        let searched = BoxBuffers { box_count: n, ..searched(&params, &boxes, no_filters()) };
        let lists = (keys.all(), entries.all());
        run(|pass| BIN.record_scatter(pass, &searched, &summary, &bins, lists, giants.all()));
        let shift = LEVEL_SHIFTS[level as usize];
        for ((own, before), after) in cells.iter().zip(&ends_in).zip(written(&bins.box_ends)) {
            if !mirror::bin::is_binned(*own) || mirror::bin::is_giant(*own, level, &host) {
                assert_eq!(after, *before);
                continue;
            }
            // In one cell for all, no box is plain.
            let flag = before[1] & if shift < 32 { FOOTPRINT_OF_BOX } else { FOOTPRINT_SECOND };
            assert_eq!(after[1] & !0x7f7f_7f7f, flag);
            let bytes = |footprint: u32| (footprint & 0x7f7f_7f7f).to_le_bytes().map(u32::from);
            let [before, found] = [before[1], after[1]].map(bytes);
            let coarse = mirror::bin::coarse(*own, level);
            // Bytes are first u, last u, first v, last v; cells first u, first v, last u, last v.
            for (byte, corner) in [(0, 0), (1, 2), (2, 1), (3, 3)] {
                let expected = if shift < 32 {
                    merged_plainly(own[corner], before[byte], shift)
                } else {
                    (0, if corner < 2 { 0 } else { 127 })
                };
                assert_eq!((i64::from(coarse[corner]), found[byte]), expected, "{own:?} at level {level}");
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn entries_of_any_cells_are_those_of_the_mirror(
        n in 0..4000u32,
        widest in 1..16u32,
        rarity in 1..50u32,
        seed: u64,
        level in 0..LEVELS,
        giant_cells in 64..=256u32,
    ) {
        check(&random_cells(n, widest, rarity, seed), &frame([7, 9], 16, giant_cells), level);
    }
}
