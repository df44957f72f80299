//! `sweep`: the path, its division, and the exact tests on it.

use std::sync::LazyLock;

use broadsweep::internals::constants::*;
use broadsweep::internals::filters::lists::FilterLists;
use broadsweep::internals::grid::GridSummary;
use broadsweep::internals::layout::{Counts, Dispatches, Params, Run, dispatch_size};
use broadsweep::internals::mirror;
use broadsweep::internals::pairs::giants::GiantsStage;
use broadsweep::internals::pairs::sweep::{Hits, Path, Sweep};
use broadsweep::{Aabb, Filters};
use proptest::prelude::*;

use crate::footprints::{couples, is_proven_plainly, survives_plainly};
use crate::grid::{searched, sorted, summary};
use crate::inputs::Random;
use crate::path::{
    Scene, Sums, TILE_WORDS, block_words, hits_of_runs, no_hits, path_groups, sum_words, uncounted, words_of,
};
use crate::*;

static SWEEP: LazyLock<Sweep> = LazyLock::new(|| Sweep::new(gpu()));

static GIANTS: LazyLock<GiantsStage> = LazyLock::new(|| GiantsStage::new(gpu()));

/// Returns the words of blocks that are counted behind so many others, of which none was counted.
fn counted_behind(others: u32, block_hits: &[u32]) -> Vec<u32> {
    let mut words = block_words(&[vec![0; others as usize], block_hits.to_vec()].concat());
    words[2 * HIT_SUMS as usize..][..others as usize].fill(poison());
    words
}

// ---- the look at footprints ----

/// Creates a scene of two boxes: each couple of footprints is an entry and its only candidate.
fn scene_of(boxes: [Aabb; 2], couples: &[[u32; 2]]) -> Scene {
    let n = 2 * couples.len() as u32;
    let ends = (0..n).map(|rank| rank / 2 * 2 + 2).collect();
    Scene::new(boxes.to_vec(), (0..n).map(|rank| rank % 2).collect(), couples.as_flattened().to_vec(), ends)
}

#[test]
fn the_kernel_lets_footprints_pass_that_meet_along_both_axes_in_a_first_cell_of_both() {
    for seed in 0..4 {
        let couples = couples(seed);
        // All at one place: survivors are hits.
        let scene = scene_of([Aabb::new([0.0; 3], [0.0; 3]); 2], &couples);
        let passed = couples.iter().filter(|[a, b]| survives_plainly(*a, *b)).count();
        assert_eq!(scene.pairs().len(), passed);
        check_test(&scene, 1, scene.tiles());
    }
}

#[test]
fn the_kernel_does_not_look_up_proven_couples_and_no_others() {
    for seed in 0..4 {
        let couples = couples(seed);
        // Boxes that do not overlap: proven candidates are hits nevertheless.
        let mut scene = scene_of([0.0, 1.0].map(|x| Aabb::new([x; 3], [x; 3])), &couples);
        let proven = couples.iter().filter(|[a, b]| survives_plainly(*a, *b) && is_proven_plainly(*a, *b)).count();
        assert!(proven > 200);
        for (unproven, hits) in [(0, proven), (1, 0), (ALL_UNPROVEN, 0)] {
            scene.unproven.fill(unproven);
            assert_eq!(scene.pairs().len(), hits);
            check_test(&scene, 1, scene.tiles());
        }
    }
}

#[test]
fn a_pair_is_reported_only_by_entries_that_together_are_first_along_both() {
    let all = u32::from_le_bytes([0, 0x7f, 0, 0x7f]);
    let flags = [0, 0x80, 0x80_0000, 0x80_0080].map(|flags| all | flags);
    let couples: Vec<[u32; 2]> = flags.iter().flat_map(|&a| flags.map(|b| [a, b])).collect();
    let scene = scene_of([0.0, 1.0].map(|x| Aabb::new([x; 3], [x + 1.0; 3])), &couples);
    assert_eq!(scene.pairs().len(), 9);
    check_test(&scene, 1, 1);
}

// ---- how the path is divided ----

struct Division {
    box_count: u32,
    entry_count: u32,
    giant_count: u32,
    tile_capacity: u32,
    candidate_limit: u64,
}

/// Returns as few times two of `least` as leave at most MOST_BLOCKS blocks.
fn tiles_of_block(tiles: u32, least: u32) -> u32 {
    (0..32).map(|k| least << k).find(|&each| tiles.div_ceil(each) <= MOST_BLOCKS).unwrap()
}

/// Returns the most tiles of a block, up to 16, that leave as many workgroups as are wanted.
fn least_of_sweep(tiles: u32) -> u32 {
    [16, 8, 4, 2].into_iter().find(|&each| tiles / each >= SWEEP_GROUPS).unwrap_or(1)
}

impl Division {
    fn params(&self) -> Params {
        let [candidate_limit_low, candidate_limit_high] = halves(self.candidate_limit);
        Params {
            box_count: self.box_count,
            candidate_limit_low,
            candidate_limit_high,
            tile_capacity: self.tile_capacity,
            ..Params::zeroed()
        }
    }
}

fn check_division(division: &Division, sums: &[Sums]) -> Counts {
    let &Division { box_count, entry_count, giant_count, tile_capacity, candidate_limit } = division;
    assert_eq!(sums.len() as u32, path_groups(entry_count));
    let params = uniform(division.params());
    let given = Counts { entry_count, giant_count, giant_blocks: 5, ..poison() };
    let counts = guarded(&[given]);
    let words = |number| sum_words(std::iter::once(number));
    let bases: Vec<_> = sums.iter().flat_map(|sums| [sums.quads, sums.candidates]).map(words).collect();
    let path = Path { stretches: poisoned(0), footprints: poisoned(0), path_bases: guarded(&bases) };
    let summary = GridSummary { giant_sizes: guarded(&[[1; 3]]), ..summary(&counts) };
    let (boxes, hits) = (upload::<Aabb>(&[]), no_hits());
    let searched = searched(&params, &boxes, no_filters());
    run(|pass| GIANTS.record(pass, &searched, &summary, &sorted(&[], &[]), &path, &hits));

    let mut length = 0;
    for (sums, found) in sums.iter().zip(written(&path.path_bases).chunks(2)) {
        assert_eq!(found, [halves(length), words(sums.candidates)]);
        length += sums.quads;
    }
    let swept: u64 = sums.iter().map(|sums| sums.candidates).sum();
    let candidates = swept + u64::from(giant_count) * u64::from(box_count);
    let refused = candidates > candidate_limit;
    let sweep_tiles = if refused { 0 } else { u32::try_from(length.div_ceil(u64::from(TILE_QUADS))).unwrap() };
    let per_block = tiles_of_block(sweep_tiles, least_of_sweep(sweep_tiles));
    let expected = Counts {
        candidate_low: candidates as u32,
        candidate_high: (candidates >> 32) as u32,
        refused: u32::from(refused),
        path_low: length as u32,
        path_high: (length >> 32) as u32,
        sweep_tiles,
        sweep_tiles_per_block: per_block,
        sweep_blocks: sweep_tiles.div_ceil(per_block),
        first_block: 0,
        ..given
    };
    assert_eq!(written(&counts), [expected]);
    let expected_sizes = Dispatches {
        sweep_test: dispatch_size(expected.sweep_blocks),
        emit_sweep: dispatch_size(expected.sweep_blocks.max(1)),
        emit_again: dispatch_size(match () {
            () if refused => 0,
            () if sweep_tiles <= tile_capacity => 5,
            () => 5 + expected.sweep_blocks,
        }),
    };
    assert_eq!(written::<Dispatches>(&summary.dispatches), [expected_sizes]);
    expected
}

/// Creates sums of groups of sections: at least one quad for each of `entry_count` entries, and up to four candidates
/// for each quad.
fn random_sums(entry_count: u32, most: u64, seed: u64) -> Vec<Sums> {
    let mut random = Random::new(seed);
    let length = PATH_SECTION * PATH_GROUP;
    (0..path_groups(entry_count))
        .map(|group| {
            let entries = (entry_count - group * length).min(length);
            let quads = u64::from(entries) + random.next() % most;
            Sums { quads, candidates: random.next() % (4 * quads) }
        })
        .collect()
}

#[test]
fn the_path_is_divided_as_by_the_mirror() {
    // Up to more groups than invocations.
    let length = PATH_SECTION * PATH_GROUP;
    for n in SIZES.into_iter().chain([length - 1, length, length + 1, 255 * length, 256 * length, 256 * length + 1]) {
        for giant_count in [0, 1, 1999] {
            for tile_capacity in [0, 3, 1 << 20] {
                let (box_count, candidate_limit, entry_count) = (n.max(1999), 1 << 44, n);
                let division = Division { box_count, entry_count, giant_count, tile_capacity, candidate_limit };
                check_division(&division, &random_sums(n, 100_000, u64::from(n)));
            }
        }
    }
}

#[test]
fn a_block_has_twice_the_tiles_from_one_more_than_there_may_be() {
    let division = Division {
        box_count: 1,
        entry_count: 2 * PATH_SECTION * PATH_GROUP,
        giant_count: 0,
        tile_capacity: 1 << 20,
        candidate_limit: 1 << 44,
    };
    for (tiles, per_block) in [
        (1, 1),
        (2 * SWEEP_GROUPS - 1, 1),
        (2 * SWEEP_GROUPS, 2),
        (4 * SWEEP_GROUPS, 4),
        (8 * SWEEP_GROUPS - 1, 4),
        (8 * SWEEP_GROUPS, 8),
        (16 * MOST_BLOCKS, 16),
        (16 * MOST_BLOCKS + 1, 32),
        (1 << 26, 2048),
    ] {
        let quads = u64::from(TILE_QUADS);
        for length in [u64::from(tiles) * quads, u64::from(tiles - 1) * quads + 1] {
            let candidates = u64::from(u32::MAX);
            let first = Sums { quads: length / 2, candidates };
            let counts = check_division(&division, &[first, Sums { quads: length - first.quads, candidates: 0 }]);
            assert_eq!((counts.sweep_tiles, counts.sweep_tiles_per_block), (tiles, per_block));
        }
    }
}

#[test]
fn a_path_of_more_than_32_bits_is_counted_exactly() {
    let division = Division {
        box_count: 1 << 24,
        entry_count: MAX_ENTRIES,
        giant_count: 3,
        tile_capacity: u32::MAX / 256,
        candidate_limit: 1 << 48,
    };
    let counts = check_division(&division, &random_sums(MAX_ENTRIES, 1 << 33, 1));
    assert!(counts.candidate_high > 0 && counts.sweep_tiles_per_block > MOST_BLOCK_TILES);
    // The longest of all: more than the host allows, and refused without overflow.
    let most = Sums { quads: 1 << 37, candidates: 1 << 40 };
    let longest = vec![most; path_groups(MAX_ENTRIES) as usize];
    let division = Division { candidate_limit: 1 << 44, ..division };
    assert_eq!(check_division(&division, &longest).refused, 1);
}

#[test]
fn candidates_are_refused_from_one_above_the_limit() {
    for (sum, giant_count) in [(1000, 0), (u32::MAX, 0), (1000, 5), (u32::MAX, 200)] {
        let candidates = 4 * u64::from(sum) + 300 * u64::from(giant_count);
        for (candidate_limit, refused) in [(candidates, 0), (candidates - 1, 1), (0, 1), (1 << 44, 0)] {
            let division = Division {
                box_count: 300,
                entry_count: 4 * PATH_SECTION * PATH_GROUP,
                giant_count,
                tile_capacity: 16,
                candidate_limit,
            };
            let sums = Sums { quads: u64::from(sum / 4 + 200), candidates: u64::from(sum) };
            assert_eq!(check_division(&division, &[sums; 4]).refused, refused);
        }
    }
}

// ---- sweep_test ----

fn counts_of(scene: &Scene, tiles_per_block: u32) -> Counts {
    Counts {
        entry_count: scene.entries.len() as u32,
        sweep_tiles: scene.tiles(),
        sweep_tiles_per_block: tiles_per_block,
        sweep_blocks: scene.tiles().div_ceil(tiles_per_block),
        path_low: scene.length() as u32,
        ..Counts::zeroed()
    }
}

fn check_test(scene: &Scene, tiles_per_block: u32, tile_capacity: u32) {
    check_filtered_test(no_filters(), scene, &scene.runs(), tiles_per_block, tile_capacity);
}

fn check_filtered_test(filters: &FilterLists, scene: &Scene, runs: &[Run], tiles_per_block: u32, tile_capacity: u32) {
    let n = scene.entries.len() as u32;
    let blocks = scene.tiles().div_ceil(tiles_per_block);
    let params = uniform(Params { box_count: scene.boxes.len() as u32, tile_capacity, ..Params::zeroed() });
    let counts = counted(Counts { giant_blocks: 3, ..counts_of(scene, tiles_per_block) });
    let (boxes, sorted, path) = (upload(&scene.boxes), sorted(&[], &scene.entries), scene.path());
    let retained = &runs[..runs.len().min(tile_capacity as usize * TILE_WORDS)];
    for size in [dispatch_size(blocks), in_columns(blocks)] {
        let sizes = dispatches(|sizes| sizes.sweep_test = size);
        let runs_out = poisoned(retained.len() * RUN_U32_COUNT as usize);
        let hits = Hits { runs: runs_out, block_hits: uncounted(3 + blocks), ..no_hits() };
        let summary = GridSummary { dispatches: sizes, ..summary(&counts) };
        run(|pass| SWEEP.record_test(pass, &searched(&params, &boxes, filters), &summary, &sorted, &path, &hits));
        assert_eq!(written(&hits.block_hits), counted_behind(3, &hits_of_runs(runs, tiles_per_block)));
        for (i, (found, expected)) in written(&hits.runs).iter().zip(words_of(retained)).enumerate() {
            assert!(*found == expected, "word {i} of {n} entries: {found:x} instead of {expected:x}");
        }
    }
}

#[test]
fn hits_are_those_of_the_mirror() {
    for n in SIZES {
        for reach in [0, 3, 100] {
            let scene = Scene::random(n, reach, u64::from(n));
            let hits = hits_of_runs(&scene.runs(), u32::MAX >> 10);
            assert_eq!(hits.iter().sum::<u32>() as usize, scene.pairs().len());
            for tiles_per_block in [1, 2, 3] {
                check_test(&scene, tiles_per_block, scene.tiles());
            }
        }
    }
}

/// Lists of boxes have other sets than footprints, so that the test shows which of them is read.
#[test]
fn entries_of_one_set_are_no_hits() {
    let mut random = Random::new(77);
    for n in [1, 300, 2500] {
        let scene = Scene::random(n, 100, u64::from(n));
        let second: Vec<bool> = scene.boxes.iter().map(|_| random.below(4) == 0).collect();
        let filters = Filters::default().with_second(second);
        let lists = FilterLists::of(gpu(), &filters, scene.boxes.len()).unwrap();
        let mut runs = scene.runs();
        let (mut before, mut after) = (0, 0);
        for run in &mut runs {
            let (mut rank, mut quad) = (run.first_rank as usize, run.first_quad as usize);
            for k in 0..RUN_QUADS as usize {
                if k > 0 && run.turns >> k & 1 == 1 {
                    rank += 1;
                    quad = (rank + 1) / 4;
                }
                for bit in (0..4).filter(|j| run.hits >> (4 * k + j) & 1 == 1).map(|j| 4 * k + j).collect::<Vec<_>>() {
                    let other = 4 * quad + bit % 4;
                    let [a, b] = [rank, other].map(|rank| (scene.entries[rank] & ENTRY_BOX) as usize);
                    let crosses = (scene.footprints[rank] ^ scene.footprints[other]) & FOOTPRINT_SECOND != 0;
                    before += 1;
                    if crosses && filters.second[a] != filters.second[b] {
                        after += 1;
                    } else {
                        run.hits &= !(1 << bit);
                    }
                }
                quad += 1;
            }
        }
        assert!(n < 300 || 0 < after && after < before / 2, "{after} of {before}");
        check_filtered_test(&lists, &scene, &runs, 1, scene.tiles());
    }
}

#[test]
fn sums_of_pairs_go_on_beyond_32_bits() {
    let scene = Scene::random(3000, 60, 8);
    let tiles = scene.tiles();
    let found: u32 = hits_of_runs(&scene.runs(), tiles).iter().sum();
    let params = uniform(Params { box_count: scene.boxes.len() as u32, ..Params::zeroed() });
    let (boxes, sorted, path) = (upload(&scene.boxes), sorted(&[], &scene.entries), scene.path());
    let counts = counted(counts_of(&scene, 1));
    for before in [(1 << 32) - 1, (7 << 32) - u64::from(found), (7 << 32) - u64::from(found) / 2, (1 << 47) + 0xffff] {
        let mut words = written(&uncounted(3 + tiles));
        words[..2].copy_from_slice(&sum_words(std::iter::once(before)));
        let hits = Hits { block_hits: guarded(&words), ..no_hits() };
        let sizes = dispatches(|sizes| sizes.sweep_test = dispatch_size(tiles));
        let (summary, searched) =
            (GridSummary { dispatches: sizes, ..summary(&counts) }, searched(&params, &boxes, no_filters()));
        run(|pass| SWEEP.record_test(pass, &searched, &summary, &sorted, &path, &hits));
        let [low, high] = [0, 1].map(|k| u64::from(written(&hits.block_hits)[k]));
        assert_eq!(low + (high << 16), before + u64::from(found));
    }
}

#[test]
fn hits_of_tiles_beyond_the_capacity_are_counted() {
    let scene = Scene::random(6000, 60, 8);
    assert!(scene.tiles() > 20);
    for tiles_per_block in [1, 2] {
        for capacity in [0, 1, 5, 8, 16, 17, scene.tiles() - 1, scene.tiles(), scene.tiles() + 9] {
            check_test(&scene, tiles_per_block, capacity);
        }
    }
}

#[test]
fn entries_that_all_meet_and_entries_that_never_do_are_walked_alike() {
    let n = 1500;
    let all = Scene::random(n, 0, 4).with_ends(vec![n; n as usize]);
    assert!(all.length() > 1500 * 1500 / 8);
    check_test(&all, 1, all.tiles());
    check_test(&all, 16, all.tiles());
    // One with all the others, among loners: the path has pieces of a single entry and pieces of many.
    let mut ends: Vec<u32> = (1..=n).collect();
    ends[300] = n;
    check_test(&all.with_ends(ends), 1, 1);
}

#[test]
fn runs_begin_in_the_middle_of_an_entry_with_thousands_of_quads() {
    // Entries of one quad, then one of a quarter of 9000, and so on: at every distance from a run's beginning.
    let n = 9000;
    for first in 0..9 {
        let mut ends: Vec<u32> = (1..=n).collect();
        for rank in [first, first + 1, first + 40, 255, 256, 257, n - 2 - first] {
            ends[rank as usize] = n - first;
        }
        let scene = Scene::random(n, 0, 4).with_ends(ends);
        assert!(mirror::sweep::count(&scene.ends)[256] > 2000);
        check_test(&scene, 1, scene.tiles());
    }
}

#[test]
fn candidates_begin_and_end_anywhere_in_a_quad() {
    // Everything that can be a hit is one: only the edges of the candidates are left to differ.
    let n = 4 * 200;
    let boxes = vec![Aabb::new([0.0; 3], [0.0; 3]); n as usize];
    let footprints = vec![u32::from_le_bytes([0x80, 0x7f, 0x80, 0x7f]); n as usize];
    for longest in [1, 2, 3, 4, 5, 9, 40] {
        // Every length at every place modulo four.
        let ends = (0..n).map(|rank| (rank + 1 + rank / 4 % longest).min(n)).collect();
        let scene = Scene::new(boxes.clone(), (0..n).collect(), footprints.clone(), ends);
        assert_eq!(scene.pairs().len(), scene.sections().iter().map(|sums| sums.candidates as usize).sum::<usize>());
        check_test(&scene, 1, scene.tiles());
    }
}

#[test]
fn the_path_ends_anywhere_in_a_run() {
    for n in 1..40 {
        for reach in [0, n] {
            let scene = Scene::random(n, reach, u64::from(n));
            check_test(&scene, 1, scene.tiles());
        }
    }
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn hits_of_any_entries_are_those_of_the_mirror(
        n in 0..2500u32,
        reach in 0..60u32,
        seed: u64,
        tiles_per_block in 1..5u32,
        capacity in 0..30u32,
    ) {
        let scene = Scene::random(n, reach, seed);
        check_test(&scene, tiles_per_block, capacity);
    }

    #[test]
    fn any_path_is_divided_as_by_the_mirror(
        entry_count in 0..2_000_000u32,
        most in prop_oneof![1..1000u64, 1..1u64 << 30],
        box_count in 1..10_000_000u32,
        giant_count in 0..1000u32,
        tile_capacity in 0..1_000_000u32,
        limit_bits in 0..45u32,
        seed: u64,
    ) {
        let division = Division {
            box_count,
            entry_count,
            giant_count,
            tile_capacity,
            candidate_limit: 1 << limit_bits,
        };
        check_division(&division, &random_sums(entry_count, most, seed));
    }
}
