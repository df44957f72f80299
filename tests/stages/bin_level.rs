//! The choice of a level in `bin_scatter`, with counts per block that no boxes would give.

use broadsweep::internals::constants::*;
use broadsweep::internals::grid::bin::Bins;
use broadsweep::internals::grid::{BoxBuffers, GridSummary};
use broadsweep::internals::layout::{Counts, Frame, Params, dispatch_size, packed_cells};
use broadsweep::internals::mirror;
use broadsweep::internals::mirror::bin::Totals;
use proptest::prelude::*;

use crate::grid::{BIN, searched, summary};
use crate::inputs::Random;
use crate::*;

pub type Block = [u32; BIN_COUNTS as usize];

/// Adds up the counts of the blocks of each group.
pub fn grouped(blocks: &[Block]) -> Vec<Block> {
    let sum = |group: &[Block]| std::array::from_fn(|k| group.iter().map(|block| block[k]).sum());
    blocks.chunks(BIN_GROUP as usize).map(sum).collect()
}

/// Returns what `bin_count` leaves: the counts of groups, then those of blocks.
pub fn bin_words(blocks: &[Block]) -> Vec<u32> {
    [grouped(blocks).as_flattened(), blocks.as_flattened()].concat()
}

/// Creates the counts of so many blocks as they are before they are counted.
pub fn uncounted_bins(blocks: usize) -> Buffer<u32> {
    let mut words = vec![0; blocks.div_ceil(BIN_GROUP as usize) * BIN_COUNTS as usize];
    words.resize(words.len() + blocks * BIN_COUNTS as usize, poison());
    guarded(&words)
}

/// Returns how many tiles giants have, how many of those a block has, and how many blocks there are.
pub fn giant_division(entry_count: u32, giant_count: u32) -> [u32; 3] {
    let rows = u64::from(entry_count.div_ceil(GIANT_ROW) + giant_count.div_ceil(GIANT_ROW));
    let tiles = u64::from(giant_count.div_ceil(GIANT_GROUP)) * rows.div_ceil(256);
    let tiles = u32::try_from(tiles).unwrap();
    let each = (0..32).map(|k| 1 << k).find(|&each| tiles.div_ceil(each) <= MOST_GIANT_BLOCKS).unwrap();
    [tiles, each, tiles.div_ceil(each)]
}

/// Checks the choice of a level and the counts at this level; returns the level. The boxes are invalid, whatever the
/// counts are, so that no entry is written.
fn check(box_count: u32, blocks: &[Block], entry_capacity: u32) -> u32 {
    assert_eq!(blocks.len(), box_count.div_ceil(BIN_BLOCK) as usize);
    let params = Params { box_count, entry_capacity, ..at_any_limit() };
    let params = uniform(params);
    let invalid = packed_cells(mirror::bin::CELLS_OF_INVALID, 0);
    let bins = Bins {
        cells: upload(&vec![invalid; box_count as usize]),
        box_ends: poisoned(0),
        block_counts: upload(&bin_words(blocks)),
    };
    let counts = guarded(&[poison::<Counts>()]);
    let [keys, entries, giants] = [(); 3].map(|()| poisoned::<u32>(0));
    let frame = uniform(Frame { giant_cells: 64, ..Frame::zeroed() });
    let (summary, boxes) = (GridSummary { frame, ..summary(&counts) }, upload(&[]));
    let searched = BoxBuffers { box_count, ..searched(&params, &boxes, no_filters()) };
    let lists = (keys.all(), entries.all());
    run(|pass| BIN.record_scatter(pass, &searched, &summary, &bins, lists, giants.all()));
    for untouched in [&keys, &entries, &giants] {
        written(untouched);
    }

    let total = |i: u32| blocks.iter().map(|block| u64::from(block[i as usize])).sum::<u64>();
    let totals = Totals {
        entries: std::array::from_fn(|level| total(level as u32)),
        giants: std::array::from_fn(|level| total(LEVELS + level as u32) as u32),
        invalid: total(2 * LEVELS) as u32,
    };
    let level = mirror::bin::level(&totals, box_count, entry_capacity);
    let found = written::<Counts>(&counts)[0];
    let entry_count = u32::try_from(totals.entries[level as usize]).unwrap();
    let giant_count = totals.giants[level as usize];
    let [giant_tiles, giant_tiles_per_block, giant_blocks] = giant_division(entry_count, giant_count);
    assert_eq!(written(&summary.giant_sizes), [dispatch_size(1 + giant_blocks)]);
    let expected = Counts {
        level,
        entry_count,
        giant_count,
        invalid_count: totals.invalid,
        giant_tiles,
        giant_tiles_per_block,
        giant_blocks,
        first_invalid: found.first_invalid,
        ..poison()
    };
    assert_eq!(found, expected);
    level
}

/// Parameters of a search without a limit of candidates.
pub fn at_any_limit() -> Params {
    Params { candidate_limit_low: u32::MAX, candidate_limit_high: u32::MAX, ..Params::zeroed() }
}

#[test]
fn giants_with_more_candidates_than_the_limit_have_no_tiles() {
    // 2,000 giants at the last level, and as many candidates for each as there are boxes.
    let box_count = 5 * BIN_BLOCK;
    let mut blocks = vec![[0; BIN_COUNTS as usize]; 5];
    blocks[3][LEVELS as usize..][..LEVELS as usize].fill(2000);
    let limit = 2000 * u64::from(box_count);
    for (limit, tiles) in [(limit, 125), (limit - 1, 0), (0, 0)] {
        let [candidate_limit_low, candidate_limit_high] = halves(limit);
        let params = uniform(Params { box_count, candidate_limit_low, candidate_limit_high, ..Params::zeroed() });
        let invalid = packed_cells(mirror::bin::CELLS_OF_INVALID, 0);
        let bins = Bins {
            cells: upload(&vec![invalid; box_count as usize]),
            box_ends: poisoned(0),
            block_counts: upload(&bin_words(&blocks)),
        };
        let counts = guarded(&[poison::<Counts>()]);
        let [keys, entries, giants] = [(); 3].map(|()| poisoned::<u32>(0));
        let frame = uniform(Frame { giant_cells: 64, ..Frame::zeroed() });
        let (summary, boxes) = (GridSummary { frame, ..summary(&counts) }, upload(&[]));
        let searched = BoxBuffers { box_count, ..searched(&params, &boxes, no_filters()) };
        let lists = (keys.all(), entries.all());
        run(|pass| BIN.record_scatter(pass, &searched, &summary, &bins, lists, giants.all()));
        let found = written::<Counts>(&counts)[0];
        assert_eq!((found.giant_count, found.giant_tiles, found.giant_blocks), (2000, tiles, tiles));
        assert_eq!(written(&summary.giant_sizes), [dispatch_size(1 + tiles)]);
    }
}

/// Counts as they could be: entries fall and giants fall as the grid grows coarser.
fn random_blocks(box_count: u32, most: u32, seed: u64) -> Vec<Block> {
    let mut random = Random::new(seed);
    (0..box_count.div_ceil(BIN_BLOCK))
        .map(|_| {
            let mut block = [0; BIN_COUNTS as usize];
            let (mut entries, mut giants) = (random.below(most), random.below(512));
            for level in 0..LEVELS as usize {
                block[level] = entries;
                block[LEVELS as usize + level] = giants;
                entries = entries / 2 + random.below(3);
                giants /= 2;
            }
            block[2 * LEVELS as usize] = random.below(512);
            block
        })
        .collect()
}

#[test]
fn the_entries_of_the_level_fit_at_every_capacity() {
    for n in SIZES.into_iter().chain([1024 * 63, 1024 * 64, 1024 * 64 + 1, 1024 * 200]) {
        let blocks = random_blocks(n, 100, u64::from(n));
        let total = |level: u32| blocks.iter().map(|block| block[level as usize]).sum::<u32>();
        for capacity in (0..LEVELS).flat_map(|level| [total(level), total(level).saturating_sub(1)]).chain([0]) {
            let level = check(n, &blocks, capacity);
            assert!(level == LEVELS - 1 || total(level) <= capacity);
        }
    }
}

#[test]
fn cells_are_merged_where_giants_would_cost_more_than_entries() {
    let n = 1024 * 1000;
    let mut blocks = vec![[0; BIN_COUNTS as usize]; 1000];
    for block in &mut blocks {
        block[..LEVELS as usize].fill(1500); // a box and a half for each, at every level
    }
    assert_eq!(check(n, &blocks, 1 << 24), 0);
    // 100 giants cost about as much as the entries, 20,000 two hundred times as much.
    for (giants, expected) in [(100, 0), (20_000, 2)] {
        blocks[7][LEVELS as usize..][..2].fill(giants);
        assert_eq!(check(n, &blocks, 1 << 24), expected);
    }
    // Giants at every level are no reason to merge.
    blocks[7][LEVELS as usize..][..LEVELS as usize].fill(20_000);
    assert_eq!(check(n, &blocks, 1 << 24), 0);
}

#[test]
fn every_level_can_be_the_one() {
    // Entries: 9, 8, ..., 2; so a capacity of 9 - k forces level k.
    let mut block = [0; BIN_COUNTS as usize];
    for k in 0..LEVELS {
        block[k as usize] = 9 - k;
        block[(LEVELS + k) as usize] = 20 + k;
    }
    for k in 0..LEVELS {
        assert_eq!(check(1, &[block], 9 - k), k);
    }
}

#[test]
fn a_total_past_32_bits_does_not_pass_for_a_small_one() {
    // The totals of levels 0 to 4 slightly exceed 2³², or twice that, but no single group does. One invocation adds up
    // some groups; different invocations add up others.
    let n = 1024 * 64 * 70;
    let mut blocks = vec![[1; BIN_COUNTS as usize]; 64 * 70];
    let group = |k: usize| 64 * k;
    for (level, groups) in
        [vec![0, 1, 2, 3], vec![5, 37, 69, 6], vec![31, 32, 33, 34], (8..16).collect(), vec![66, 67, 68, 69]]
            .into_iter()
            .enumerate()
    {
        for k in groups {
            blocks[group(k)][level] = 1 << 30;
        }
    }
    // A total of 2³² - 1 stands for all that are larger, so that is no capacity.
    for capacity in [64 * 70, 5000, 1 << 24, u32::MAX - 1] {
        assert_eq!(check(n, &blocks, capacity), 5);
    }
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn any_counts_are_scanned_as_by_the_mirror(
        n in 0..300_000u32,
        most in 1..5000u32,
        seed: u64,
        capacity in prop_oneof![0..1000u32, 0..10_000_000u32],
    ) {
        check(n, &random_blocks(n, most, seed), capacity);
    }
}
