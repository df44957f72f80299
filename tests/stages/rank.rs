//! `rank_ends`.

use std::sync::LazyLock;

use broadsweep::internals::constants::*;
use broadsweep::internals::grid::GridSummary;
use broadsweep::internals::grid::bin::Bins;
use broadsweep::internals::layout::{Counts, Frame, dispatch_size};
use broadsweep::internals::mirror;
use broadsweep::internals::pairs::rank::Rank;
use broadsweep::internals::pairs::sweep::Path;
use proptest::prelude::*;

use crate::bin_count::ends_of;
use crate::grid::{sorted, summary};
use crate::inputs::Random;
use crate::path::Scene;
use crate::*;

static RANK: LazyLock<Rank> = LazyLock::new(|| Rank::new(gpu()));

/// Creates a frame with this many bits of position.
fn frame(position_bits: u32) -> Frame {
    Frame { position_bits, key_bits: 32, ..Frame::zeroed() }
}

/// Positions with any footprints.
fn with_footprints(intervals: &[[u32; 2]]) -> Vec<[u32; 4]> {
    let mut random = Random::new(intervals.len() as u64);
    intervals
        .iter()
        .map(|&[start, end]| [start, end, random.next() as u32 & (0x7f7f_7f7f | FOOTPRINT_OF_BOX), 0])
        .collect()
}

/// Returns what the kernel should write of entries that end there.
fn stretches(frame: &Frame, keys: &[u32], entries: &[u32], positions: &[[u32; 4]], ends: &[u32]) -> Vec<u32> {
    let unproven = mirror::rank::unproven(frame, keys, entries, positions, ends);
    let packed = ends.iter().zip(unproven).map(|(&end, unproven)| mirror::rank::packed_end(end, unproven));
    let mut words: Vec<u32> = packed.collect();
    words.resize(words.len().next_multiple_of(ENTRY_STRIDE as usize), 0);
    words
}

/// Returns the path of entries that end there.
fn path_of(ends: &[u32]) -> Scene {
    Scene::new(vec![], vec![0; ends.len()], vec![0; ends.len()], ends.to_vec())
}

/// Creates the path of so many entries as it is before it is counted.
fn uncounted_path(n: u32, len: usize) -> Buffer<[u32; 2]> {
    let mut words = vec![poison(); len];
    words[..2 * n.div_ceil(PATH_SECTION).div_ceil(PATH_GROUP) as usize].fill([0; 2]);
    guarded(&words)
}

/// Groups the ends of boxes with cells that nobody has written.
fn with_ends(box_ends: &[[u32; 2]]) -> Bins {
    Bins { cells: poisoned(0), box_ends: upload(box_ends), block_counts: poisoned(0) }
}

/// Returns the ranks where the entries end, after a look at all that the kernel writes.
fn check(keys: &[u32], entries: &[u32], positions: &[[u32; 4]], position_bits: u32) -> Vec<u32> {
    let n = keys.len() as u32;
    let ends = mirror::rank::ends(&frame(position_bits), keys, entries, positions);
    let stretches = stretches(&frame(position_bits), keys, entries, positions, &ends);
    let footprints = mirror::rank::footprints(entries, positions);
    let path_bases = path_of(&ends).bases();
    let frame = uniform(frame(position_bits));
    let counts = counted(Counts { entry_count: n, ..Counts::zeroed() });
    let (summary, bins) = (GridSummary { frame, ..summary(&counts) }, with_ends(&ends_of(positions)));
    let sorted = sorted(keys, entries);
    // More workgroups than there are entries for do nothing.
    for capacity in [n, 2 * n + 10_000] {
        let path = Path {
            stretches: poisoned(stretches.len()),
            footprints: poisoned(n as usize),
            path_bases: uncounted_path(n, path_bases.len()),
        };
        run(|pass| RANK.record(pass, capacity, &summary, &bins, &sorted, &path));
        assert_eq!(written(&path.stretches), stretches);
        assert_eq!(written(&path.path_bases), path_bases);
        assert_eq!(written(&path.footprints), footprints);
    }
    ends
}

/// Creates sorted keys in about `cells` cells, and boxes whose intervals are up to `longest` quanta long.
fn check_random(n: u32, cells: u32, longest: u32, position_bits: u32, seed: u64) {
    let mut random = Random::new(seed);
    let last = u32::MAX >> (32 - position_bits);
    let mut keyed: Vec<(u32, u32)> = Vec::new();
    let mut intervals = Vec::new();
    for i in 0..n {
        let start = random.below(last) + random.below(2);
        let length = random.below(longest);
        intervals.push([start, start.saturating_add(length).min(last)]);
        let cell = random.below(cells) & (u32::MAX >> position_bits);
        keyed.push((cell << position_bits | start, i | random.below(16) << 28));
    }
    keyed.sort_by_key(|entry| entry.0);
    let (keys, entries): (Vec<u32>, Vec<u32>) = keyed.into_iter().unzip();
    check(&keys, &entries, &with_footprints(&intervals), position_bits);
}

#[test]
fn ends_and_footprints_are_those_of_the_mirror() {
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
    let positions = with_footprints(&[[5, 7], [7, 7], [7, 8], [8, 20]]);
    let ends = check(&[5, 7, 7, 8], &[0, 1, 2, 3], &positions, 8);
    assert_eq!(ends, [3, 3, 4, 4]);
}

#[test]
fn a_start_equal_to_the_end_is_found_where_the_search_stops_doubling() {
    // The search looks at ranks 4, 8, 16 and so on, or at quads, and then at 4, 8 and so on behind them. The start that
    // equals the end is anywhere there, and the next one after it.
    for stop in (1..90).chain([128, 256, 1024]) {
        let keys: Vec<u32> = (0..2000).map(|rank| if rank <= stop { rank } else { rank + 1 }).collect();
        let mut positions = with_footprints(&keys.iter().map(|&start| [start; 2]).collect::<Vec<_>>());
        let before = stop.min(4);
        (0..before).for_each(|rank| positions[rank as usize][1] = stop);
        let ends = check(&keys, &(0..2000).collect::<Vec<_>>(), &positions, 16);
        (0..before).for_each(|rank| assert_eq!(ends[rank as usize], stop + 1));
    }
}

#[test]
fn an_interval_ends_with_its_cell() {
    let positions = with_footprints(&[[5, 200], [6, 255], [7, 255]]);
    let ends = check(&[0x105, 0x106, 0x107, 0x200, 0x201], &[0, 1, 2, 0, 0], &positions, 8);
    assert_eq!(ends, [3, 3, 3, 5, 5]);
}

#[test]
fn the_largest_keys_of_all_do_not_overflow() {
    for n in [1, 2, 255, 256, 257, 1234] {
        let ends = check(&vec![u32::MAX; n], &vec![0; n], &with_footprints(&[[u32::MAX >> 8; 2]]), 24);
        assert!(ends.iter().all(|&end| end == n as u32));
    }
}

#[test]
fn one_entry_that_reaches_all_others_finds_the_last() {
    for n in [2, 3, 4, 5, 31, 32, 33, 1023, 1024, 1025, 60_000] {
        let keys: Vec<u32> = (0..n).collect();
        let mut positions = with_footprints(&keys.iter().map(|&start| [start; 2]).collect::<Vec<_>>());
        for end in [0, 1, n / 2, n - 2, n - 1, n] {
            positions[0][1] = end;
            let ends = check(&keys, &keys, &positions, 16);
            assert_eq!(ends[0], (end + 1).min(n));
        }
    }
}

#[test]
fn a_box_goes_on_beyond_cells_that_are_not_its_first_or_last() {
    // Bytes: first u, last u, first v, last v.
    let positions = [[3, 3, u32::from_le_bytes([10, 20, 30, 40]), 0]];
    let flags = [ENTRY_FIRST_U, ENTRY_LAST_U, ENTRY_FIRST_V, ENTRY_LAST_V];
    let entries: Vec<u32> = (0..16)
        .map(|set| flags.iter().enumerate().map(|(k, flag)| if set >> k & 1 == 1 { *flag } else { 0 }).sum())
        .collect();
    check(&[3; 16], &entries, &positions, 8);
    let footprints = mirror::rank::footprints(&entries, &positions);
    for (set, footprint) in footprints.into_iter().enumerate() {
        let is = |k: usize| set >> k & 1 == 1;
        let expected = [
            if is(0) { 0x80 | 10 } else { 0 },
            if is(1) { 20 } else { 127 },
            if is(2) { 0x80 | 30 } else { 0 },
            if is(3) { 40 } else { 127 },
        ];
        assert_eq!(footprint.to_le_bytes(), expected);
    }
}

#[test]
fn candidates_that_may_begin_after_the_end_are_counted() {
    let unproven = |keys: &[u32], intervals: &[[u32; 2]]| {
        let n = keys.len() as u32;
        let (entries, positions) = ((0..n).collect::<Vec<_>>(), with_footprints(intervals));
        let ends = check(keys, &entries, &positions, 16);
        mirror::rank::unproven(&frame(16), keys, &entries, &positions, &ends)
    };
    // An interval from 10 to 100: starts up to 95 are proven.
    let keys = [10, 50, 94, 95, 96, 97, 100, 100, 101];
    let mut intervals = keys.map(|start| [start, start]);
    intervals[0][1] = 100;
    assert_eq!(unproven(&keys, &intervals)[0], 4);
    // An interval that ends before the fifth quantum proves nothing.
    for end in [0, PROVEN_QUANTA - 1, PROVEN_QUANTA] {
        let found = unproven(&[0, 0, 0], &[[0, end], [0, 0], [0, 0]])[0];
        assert_eq!(found, if end < PROVEN_QUANTA { ALL_UNPROVEN } else { 0 }, "{end}");
    }
    // The largest count that fits, and one more or less.
    for more in [ALL_UNPROVEN - 1, ALL_UNPROVEN, ALL_UNPROVEN + 1, 1000] {
        let keys: Vec<u32> = [7, 8].into_iter().chain((0..more).map(|_| 1000)).collect();
        let intervals: Vec<_> = keys.iter().map(|&start| [start, 1000]).collect();
        assert_eq!(unproven(&keys, &intervals)[0], more.min(ALL_UNPROVEN));
    }
}

#[test]
#[ignore = "long"]
fn more_workgroups_than_a_dispatch_has_columns_find_every_end() {
    // 65,536 workgroups, the last with a single entry; 512 cells of 65,536 starts, the same boxes in each.
    let n = MAX_GROUPS_X * PATH_SECTION + 1;
    assert_eq!(dispatch_size(n.div_ceil(PATH_SECTION)), [65_535, 2, 1]);
    let keys: Vec<u32> = (0..n).collect();
    let positions = with_footprints(&(0..1 << 16).map(|i| [i, (i + i % 7).min(0xffff)]).collect::<Vec<_>>());
    let entries: Vec<u32> = keys.iter().map(|rank| (rank % (1 << 16)) | ((rank % 16) << 28)).collect();
    let counts = counted(Counts { entry_count: n, ..Counts::zeroed() });
    let (sorted, bins) = (sorted(&keys, &entries), with_ends(&ends_of(&positions)));
    let summary = GridSummary { frame: uniform(frame(16)), ..summary(&counts) };
    let ends = mirror::rank::ends(&frame(16), &keys, &entries, &positions);
    let expected = stretches(&frame(16), &keys, &entries, &positions, &ends);
    let bases = path_of(&ends).bases();
    let path = Path {
        stretches: poisoned(n.next_multiple_of(ENTRY_STRIDE) as usize),
        footprints: poisoned(n as usize),
        path_bases: uncounted_path(n, bases.len()),
    };
    run(|pass| RANK.record(pass, n, &summary, &bins, &sorted, &path));
    for (rank, (end, expected)) in written(&path.stretches).iter().zip(&expected).enumerate() {
        assert!(end == expected, "{end:x} at rank {rank} instead of {expected:x}");
    }
    assert!(written(&path.footprints) == mirror::rank::footprints(&entries, &positions));
    assert!(written(&path.path_bases) == bases);
}

#[test]
#[ignore = "long"]
fn candidates_of_a_section_are_counted_beyond_32_bits() {
    // All entries begin at one place of one cell, so that each has all those behind it as candidates.
    let n = 9_000_000;
    let ends = vec![n; n as usize];
    let bases = path_of(&ends).bases();
    assert!(u64::from(PATH_SECTION) * u64::from(n - PATH_SECTION) > 1 << 32);
    let path = Path {
        stretches: poisoned(n.next_multiple_of(ENTRY_STRIDE) as usize),
        footprints: poisoned(n as usize),
        path_bases: uncounted_path(n, bases.len()),
    };
    let counts = counted(Counts { entry_count: n, ..Counts::zeroed() });
    let sorted = sorted(&vec![7; n as usize], &vec![0; n as usize]);
    let bins = with_ends(&ends_of(&with_footprints(&[[7, 9]])));
    let summary = GridSummary { frame: uniform(frame(16)), ..summary(&counts) };
    run(|pass| RANK.record(pass, n, &summary, &bins, &sorted, &path));
    assert!(written(&path.path_bases) == bases);
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
