//! `rank_ends`.

use std::sync::LazyLock;

use broadsweep::constants::*;
use broadsweep::cpu;
use broadsweep::stages::layout::{Counts, Frame, dispatch_size};
use broadsweep::stages::rank::Rank;
use proptest::prelude::*;

use crate::inputs::Random;
use crate::*;

static RANK: LazyLock<Rank> = LazyLock::new(|| Rank::new(gpu()).unwrap());

/// The number of ranks of each entry up to its end.
fn check(keys: &[u32], entries: &[u32], positions: &[[u32; 2]], position_bits: u32) -> Vec<u32> {
    let n = keys.len() as u32;
    let host = Frame { position_bits, key_bits: 32, ..Frame::zeroed() };
    let expected = cpu::rank::ends(&host, keys, entries, positions);
    let frame = upload(&[host]);
    let counts = upload(&[Counts { entry_count: n, ..Counts::zeroed() }]);
    let (keys, entries, positions) = (upload(keys), upload(entries), upload(positions));
    for size in [dispatch_size(n.div_ceil(256)), in_columns(n.div_ceil(256))] {
        let sizes = dispatches(|sizes| sizes.rank = size);
        let ends = poisoned(n as usize);
        run(|pass| RANK.record(pass, &frame, &counts, &sizes, &keys, &entries, &positions, &ends));
        assert_eq!(written(&ends), expected);
    }
    expected
}

/// Sorted keys in about `cells` cells, and boxes whose intervals are up to `longest` quanta long.
fn check_random(n: u32, cells: u32, longest: u32, position_bits: u32, seed: u64) {
    let mut random = Random::new(seed);
    let last = u32::MAX >> (32 - position_bits);
    let mut keyed: Vec<(u32, u32)> = Vec::new();
    let mut positions = Vec::new();
    for i in 0..n {
        let start = random.below(last) + random.below(2);
        let length = random.below(longest);
        positions.push([start, start.saturating_add(length).min(last)]);
        let cell = random.below(cells) & (u32::MAX >> position_bits);
        let flags = [0, ENTRY_FIRST_U, ENTRY_FIRST_V, ENTRY_FIRST_U | ENTRY_FIRST_V][random.below(4) as usize];
        keyed.push((cell << position_bits | start, i | flags));
    }
    keyed.sort_by_key(|entry| entry.0);
    let (keys, entries): (Vec<u32>, Vec<u32>) = keyed.into_iter().unzip();
    check(&keys, &entries, &positions, position_bits);
}

#[test]
fn ends_are_those_of_the_mirror() {
    for n in SIZES {
        for (cells, longest, position_bits) in [(1, 10, 16), (50, 1000, 12), (1000, 5, 5), (7, 1 << 20, 24)] {
            check_random(n, cells, longest, position_bits, u64::from(n));
        }
    }
    check_random(100_000, 300, 200, 16, 1);
}

#[test]
fn a_start_equal_to_the_end_is_not_after_it_and_the_next_one_is() {
    // Starts 5, 7, 7, 8 of a cell; the first interval ends at 7.
    let positions = [[5, 7], [7, 7], [7, 8], [8, 20]];
    let ends = check(&[5, 7, 7, 8], &[0, 1, 2, 3], &positions, 8);
    assert_eq!(ends, [3, 3, 4, 4]);
}

#[test]
fn an_interval_ends_with_its_cell() {
    let positions = [[5, 200], [6, 255], [7, 255]];
    let ends = check(&[0x105, 0x106, 0x107, 0x200, 0x201], &[0, 1, 2, 0, 0], &positions, 8);
    assert_eq!(ends, [3, 3, 3, 5, 5]);
}

#[test]
fn the_largest_keys_of_all_do_not_overflow() {
    for n in [1, 2, 255, 256, 257, 1234] {
        let ends = check(&vec![u32::MAX; n], &vec![0; n], &[[u32::MAX >> 8; 2]], 24);
        assert!(ends.iter().all(|&end| end == n as u32));
    }
}

#[test]
fn one_entry_that_reaches_all_others_finds_the_last() {
    for n in [2, 3, 4, 5, 31, 32, 33, 1023, 1024, 1025, 60_000] {
        let keys: Vec<u32> = (0..n).collect();
        let mut positions: Vec<_> = keys.iter().map(|&start| [start; 2]).collect();
        for end in [0, 1, n / 2, n - 2, n - 1, n] {
            positions[0][1] = end;
            let ends = check(&keys, &keys, &positions, 16);
            assert_eq!(ends[0], (end + 1).min(n));
        }
    }
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn ends_of_any_entries_are_those_of_the_mirror(
        n in 0..3000u32,
        cells in 1..400u32,
        longest in 1..5000u32,
        position_bits in 5..31u32,
        seed: u64,
    ) {
        check_random(n, cells, longest, position_bits, seed);
    }
}
