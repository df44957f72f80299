//! `bin_scan`, with counts per block that no boxes would give.

use broadsweep::internals::constants::*;
use broadsweep::internals::grid::bin::Bins;
use broadsweep::internals::grid::sort::Sort;
use broadsweep::internals::layout::{Counts, Dispatches, Frame, Params, dispatch_size};
use broadsweep::internals::mirror;
use broadsweep::internals::mirror::bin::Totals;
use proptest::prelude::*;

use crate::bin_count::BIN;
use crate::inputs::Random;
use crate::sort::SORTS;
use crate::*;

type Block = [u32; BIN_COUNTS as usize];

/// Checks the scan before every variant of the sort; returns the level.
fn check(box_count: u32, blocks: &[Block], entry_capacity: u32, key_bits: u32) -> u32 {
    let levels: Vec<u32> =
        SORTS.iter().map(|sort| check_before(sort, box_count, blocks, entry_capacity, key_bits)).collect();
    assert!(levels.iter().all(|level| *level == levels[0]), "{levels:?}");
    levels[0]
}

fn check_before(sort: &Sort, box_count: u32, blocks: &[Block], entry_capacity: u32, key_bits: u32) -> u32 {
    assert_eq!(blocks.len(), box_count.div_ceil(BIN_BLOCK) as usize);
    let params = uniform(Params { box_count, entry_capacity, ..Params::zeroed() });
    let frame = upload(&[Frame { key_bits, ..Frame::zeroed() }]);
    let bins = Bins {
        cells: poisoned(0),
        box_ends: poisoned(0),
        block_counts: upload(blocks.as_flattened()),
        bin_offsets: poisoned(blocks.len()),
    };
    let counts = poisoned(1);
    let dispatches = poisoned(1);
    run(|pass| BIN.record_scan(pass, &params, &frame, &bins, sort, &counts, &dispatches));

    let total = |i: u32| blocks.iter().map(|block| u64::from(block[i as usize])).sum::<u64>();
    let totals = Totals {
        entries: std::array::from_fn(|level| total(level as u32)),
        giants: std::array::from_fn(|level| total(LEVELS + level as u32) as u32),
        invalid: total(2 * LEVELS) as u32,
    };
    let level = mirror::bin::scan(&totals, box_count, entry_capacity);
    let entry_count = u32::try_from(totals.entries[level as usize]).unwrap();
    let step_bits = sort.digit_bits().max(STEP_BITS);
    let steps = key_bits.div_ceil(step_bits) as usize;
    let expected = Counts {
        level,
        entry_count,
        giant_count: totals.giants[level as usize],
        invalid_count: totals.invalid,
        key_bits: steps as u32 * step_bits,
        ..poison()
    };
    assert_eq!(written::<Counts>(&counts), [expected]);

    let mut before = [0; 4];
    let mut offsets = Vec::new();
    for block in blocks {
        offsets.push(before);
        before[0] += block[level as usize];
        before[1] += block[(LEVELS + level) as usize];
        before[2] += block[2 * LEVELS as usize];
    }
    assert_eq!(written(&bins.bin_offsets), offsets);

    let scatter = dispatch_size(box_count.div_ceil(BIN_BLOCK));
    let expected = Dispatches {
        bin_scatter: std::array::from_fn(|odd| if steps % 2 == odd { scatter } else { [0; 3] }),
        entries: dispatch_size(entry_count.div_ceil(256)),
        ..poison()
    };
    assert_eq!(written::<Dispatches>(&dispatches), [expected]);
    level
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
    for n in SIZES.into_iter().chain([1024 * 255, 1024 * 256, 1024 * 256 + 1, 1 << 24]) {
        let blocks = random_blocks(n, 100, u64::from(n));
        let total = |level: u32| blocks.iter().map(|block| block[level as usize]).sum::<u32>();
        for capacity in (0..LEVELS).flat_map(|level| [total(level), total(level).saturating_sub(1)]).chain([0]) {
            let level = check(n, &blocks, capacity, 32);
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
    assert_eq!(check(n, &blocks, 1 << 24, 24), 0);
    // 100 giants cost about as much as the entries, 20,000 two hundred times as much.
    for (giants, expected) in [(100, 0), (20_000, 2)] {
        blocks[7][LEVELS as usize..][..2].fill(giants);
        assert_eq!(check(n, &blocks, 1 << 24, 24), expected);
    }
    // Those that are giants at every level are no reason to merge.
    blocks[7][LEVELS as usize..][..LEVELS as usize].fill(20_000);
    assert_eq!(check(n, &blocks, 1 << 24, 24), 0);
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
        assert_eq!(check(1, &[block], 9 - k, 8 * (k % 4 + 1)), k);
    }
}

#[test]
fn a_total_past_32_bits_does_not_pass_for_a_small_one() {
    // Each level but the last three sums to a multiple of 2³² and a little, at different places of the sum.
    let n = 1024 * 300;
    let mut blocks = vec![[1; BIN_COUNTS as usize]; 300];
    for block in blocks.iter_mut().take(16) {
        block[0] = 1 << 28;
    }
    blocks[5][1] = u32::MAX;
    blocks[261][1] = u32::MAX; // with block 5 in one invocation
    blocks[255][2] = u32::MAX;
    blocks[256][2] = u32::MAX;
    blocks[299][3] = u32::MAX;
    blocks[0][4] = 1 << 31;
    blocks[1][4] = 1 << 31;
    // A total of 2³² - 1 stands for all that are larger, so that is no capacity.
    for capacity in [300, 400, 1 << 24, u32::MAX - 1] {
        assert_eq!(check(n, &blocks, capacity, 16), 5);
    }
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn any_counts_are_scanned_as_by_the_mirror(
        n in 0..2_000_000u32,
        most in 1..5000u32,
        seed: u64,
        capacity in prop_oneof![0..1000u32, 0..10_000_000u32],
        key_bits in prop::sample::select(vec![8u32, 16, 24, THREE_PASS_BITS, 32]),
    ) {
        check(n, &random_blocks(n, most, seed), capacity, key_bits);
    }
}
