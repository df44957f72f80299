//! `sweep`: the path, its division, and the exact tests on it.

use std::sync::LazyLock;

use broadsweep::constants::*;
use broadsweep::stages::layout::{Counts, Dispatches, Params, Step, dispatch_size};
use broadsweep::stages::sweep::{Hits, Path, Sweep};
use broadsweep::{Aabb, cpu};
use proptest::prelude::*;

use crate::inputs::{Random, lattice};
use crate::*;

static SWEEP: LazyLock<Sweep> = LazyLock::new(|| Sweep::new(gpu()).unwrap());

/// Words of a tile.
pub const TILE_WORDS: usize = 256;

/// Entries in their sorted order, with the ends of their intervals, and boxes.
pub struct Scene {
    pub boxes: Vec<Aabb>,
    pub entries: Vec<u32>,
    pub ends: Vec<u32>,
    /// Items of the path before each entry, and of all.
    pub offsets: Vec<u64>,
}

impl Scene {
    /// `n` entries of random boxes in random cells, with up to `reach` candidates each.
    pub fn random(n: u32, reach: u32, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let boxes = lattice(n / 2 + 2, seed);
        let flags = [0, ENTRY_FIRST_U, ENTRY_FIRST_V, ENTRY_FIRST_U | ENTRY_FIRST_V];
        let entries = (0..n).map(|_| random.below(n / 2 + 2) | flags[random.below(4) as usize]).collect();
        let ends = (0..n).map(|rank| (rank + 1 + random.below(reach + 1)).min(n)).collect();
        Self::new(boxes, entries, ends)
    }

    pub fn new(boxes: Vec<Aabb>, entries: Vec<u32>, ends: Vec<u32>) -> Self {
        let offsets = cpu::sweep::scan(&cpu::sweep::count(&ends));
        Self { boxes, entries, ends, offsets }
    }

    pub fn length(&self) -> u64 {
        self.offsets[self.entries.len()]
    }

    pub fn tiles(&self) -> u32 {
        self.length().div_ceil(u64::from(HIT_TILE)) as u32
    }

    pub fn steps(&self) -> Vec<Step> {
        let block = PATH_BLOCK as usize;
        let offset = |rank: usize| (self.offsets[rank] - self.offsets[rank / block * block]) as u32;
        self.ends.iter().enumerate().map(|(rank, &end)| Step { offset: offset(rank), end }).collect()
    }

    pub fn sums(&self) -> Vec<u32> {
        self.bases().windows(2).map(|bases| bases[1][0].wrapping_sub(bases[0][0])).collect()
    }

    pub fn bases(&self) -> Vec<[u32; 2]> {
        let mut bases: Vec<_> =
            self.offsets[..self.entries.len()].iter().step_by(PATH_BLOCK as usize).map(|&base| halves(base)).collect();
        bases.push(halves(self.length()));
        bases
    }

    /// The path as an input.
    pub fn path(&self) -> Path {
        Path { steps: upload(&self.steps()), sums: poisoned(0), bases: upload(&self.bases()) }
    }

    /// The hits of the mirror, in whole tiles.
    pub fn words(&self) -> Vec<u32> {
        let mut words = cpu::sweep::test(&self.boxes, &self.entries, &self.offsets, 0..self.length());
        words.resize(self.tiles() as usize * TILE_WORDS, 0);
        words
    }
}

/// Hits of each block of tiles.
pub fn hits_of_blocks(words: &[u32], tiles_per_block: u32) -> Vec<u32> {
    words.chunks(tiles_per_block as usize * TILE_WORDS).map(|words| cpu::emit::scan(words) as u32).collect()
}

// ---- sweep_count ----

fn check_count(scene: &Scene) {
    let n = scene.entries.len() as u32;
    let counts = upload(&[Counts { entry_count: n, ..Counts::zeroed() }]);
    let ends = upload(&scene.ends);
    let groups = n.div_ceil(PATH_BLOCK);
    for size in [dispatch_size(groups), in_columns(groups)] {
        let sizes = dispatches(|sizes| sizes.sweep_count = size);
        let path = Path { steps: poisoned(n as usize), sums: poisoned(groups as usize), bases: poisoned(0) };
        run(|pass| SWEEP.record_count(pass, &counts, &sizes, &ends, &path));
        assert_eq!(written(&path.steps), scene.steps());
        assert_eq!(written(&path.sums), scene.sums());
    }
}

#[test]
fn the_path_is_that_of_the_mirror() {
    for n in SIZES.into_iter().chain([63, 64, 65, 511, 512, 513, 20_000]) {
        for reach in [0, 1, 40, n] {
            check_count(&Scene::random(n, reach, u64::from(n)));
        }
    }
}

#[test]
fn more_blocks_than_a_dispatch_has_columns_are_counted() {
    // 65,536 workgroups, the last with a single entry.
    let n = MAX_GROUPS_X * PATH_BLOCK + 1;
    let ends: Vec<u32> = (0..n).map(|rank| (rank + 1 + rank % 7).min(n)).collect();
    let counts = upload(&[Counts { entry_count: n, ..Counts::zeroed() }]);
    let groups = n.div_ceil(PATH_BLOCK);
    assert_eq!(dispatch_size(groups), [65_535, 2, 1]);
    let sizes = dispatches(|sizes| sizes.sweep_count = dispatch_size(groups));
    // The steps alone have no guard: with one they would exceed the 128 MiB of a binding.
    let steps = Buffer::storage(gpu(), "steps", u64::from(n)).unwrap();
    let path = Path { steps, sums: poisoned(groups as usize), bases: poisoned(0) };
    let ends_input = upload(&ends);
    run(|pass| SWEEP.record_count(pass, &counts, &sizes, &ends_input, &path));
    let sums = written(&path.sums);
    let mut offset = 0;
    for (rank, step) in download(&path.steps).into_iter().enumerate() {
        if rank % PATH_BLOCK as usize == 0 {
            offset = 0;
        }
        assert!(step == Step { offset, end: ends[rank] }, "{step:?} at rank {rank} instead of {offset}");
        offset += ends[rank] - rank as u32;
        if rank % PATH_BLOCK as usize == PATH_BLOCK as usize - 1 || rank == n as usize - 1 {
            assert_eq!(sums[rank / PATH_BLOCK as usize], offset);
        }
    }
}

// ---- sweep_scan ----

struct Division {
    box_count: u32,
    entry_count: u32,
    giant_count: u32,
    candidate_limit: u64,
}

/// The smallest power of two that leaves at most HIT_BLOCKS blocks.
fn tiles_per_block(tiles: u32) -> u32 {
    (0..32).map(|k| 1 << k).find(|&per_block| tiles.div_ceil(per_block) <= HIT_BLOCKS).unwrap()
}

fn check_scan(division: &Division, sums: &[u32]) -> Counts {
    let &Division { box_count, entry_count, giant_count, candidate_limit } = division;
    assert_eq!(sums.len(), entry_count.div_ceil(PATH_BLOCK) as usize);
    let [candidate_limit_low, candidate_limit_high] = halves(candidate_limit);
    let params = uniform(Params { box_count, candidate_limit_low, candidate_limit_high, ..Params::zeroed() });
    let given = Counts { entry_count, giant_count, ..poison() };
    let counts = guarded(&[given]);
    let path = Path { steps: poisoned(0), sums: upload(sums), bases: poisoned(sums.len() + 1) };
    let dispatches = poisoned(1);
    run(|pass| SWEEP.record_scan(pass, &params, &counts, &dispatches, &path));

    let offsets = cpu::sweep::scan(sums);
    assert_eq!(written(&path.bases), offsets.iter().map(|&offset| halves(offset)).collect::<Vec<_>>());
    let length = offsets[sums.len()];
    let candidates = length - u64::from(entry_count) + u64::from(giant_count) * u64::from(box_count);
    let refused = candidates > candidate_limit;
    let tile = u64::from(HIT_TILE);
    let kept = |tiles: u64| if refused { 0 } else { u32::try_from(tiles).unwrap() };
    let sweep_tiles = kept(length.div_ceil(tile));
    let giant_tiles = kept(u64::from(giant_count) * u64::from(box_count).div_ceil(tile));
    let expected = Counts {
        candidate_low: candidates as u32,
        candidate_high: (candidates >> 32) as u32,
        refused: u32::from(refused),
        sweep_tiles,
        sweep_tiles_per_block: tiles_per_block(sweep_tiles),
        sweep_blocks: sweep_tiles.div_ceil(tiles_per_block(sweep_tiles)),
        giant_tiles,
        giant_tiles_per_block: tiles_per_block(giant_tiles),
        giant_blocks: giant_tiles.div_ceil(tiles_per_block(giant_tiles)),
        ..given
    };
    assert_eq!(written(&counts), [expected]);
    let expected_sizes = Dispatches {
        sweep_test: dispatch_size(expected.sweep_blocks),
        giants_test: dispatch_size(expected.giant_blocks),
        ..poison()
    };
    assert_eq!(written::<Dispatches>(&dispatches), [expected_sizes]);
    expected
}

/// Sums of blocks, at least one item for each of `entry_count` entries.
fn random_sums(entry_count: u32, most: u64, seed: u64) -> Vec<u32> {
    let mut random = Random::new(seed);
    let blocks = entry_count.div_ceil(PATH_BLOCK);
    (0..blocks)
        .map(|block| {
            let entries = (entry_count - block * PATH_BLOCK).min(PATH_BLOCK);
            (u64::from(entries) + random.next() % most).min(u64::from(u32::MAX)) as u32
        })
        .collect()
}

#[test]
fn the_path_is_divided_as_by_the_mirror() {
    for n in SIZES.into_iter().chain([256 * 255, 256 * 256, 256 * 256 + 1, 1 << 20]) {
        for giant_count in [0, 1, 77] {
            let division = Division { box_count: n.max(77), entry_count: n, giant_count, candidate_limit: 1 << 44 };
            check_scan(&division, &random_sums(n, 10_000, u64::from(n)));
        }
    }
}

#[test]
fn a_path_of_more_than_32_bits_is_counted_exactly() {
    let entry_count = MAX_ENTRIES;
    let division = Division { box_count: 1 << 24, entry_count, giant_count: 3, candidate_limit: 1 << 48 };
    let counts = check_scan(&division, &random_sums(entry_count, 1 << 28, 1));
    assert!(counts.candidate_high > 0 && counts.sweep_tiles_per_block > 1);
    // The longest of all, 2⁴⁸: more than the host allows, and refused without overflow.
    let longest = vec![u32::MAX; (entry_count / PATH_BLOCK) as usize];
    let division = Division { candidate_limit: 1 << 44, ..division };
    assert_eq!(check_scan(&division, &longest).refused, 1);
}

#[test]
fn tests_of_giants_past_32_bits_are_counted_exactly() {
    let division = Division { box_count: 1 << 22, entry_count: 0, giant_count: 1 << 22, candidate_limit: 1 << 44 };
    let counts = check_scan(&division, &[]);
    // One workgroup too many for 2^15 tiles each.
    assert_eq!((counts.giant_tiles, counts.giant_tiles_per_block), (1 << 31, 1 << 16));
    let one_more = Division { box_count: (1 << 22) + 1, ..division };
    assert_eq!(check_scan(&one_more, &[]).refused, 1);
}

#[test]
fn candidates_are_refused_from_one_above_the_limit() {
    for (sum, giant_count) in [(1000, 0), (u32::MAX, 0), (1000, 5), (u32::MAX, 200)] {
        let candidates = 4 * (u64::from(sum) - 256) + 300 * giant_count;
        for (limit, refused) in [(candidates, 0), (candidates - 1, 1), (0, 1), (1 << 44, 0)] {
            let division =
                Division { box_count: 300, entry_count: 1024, giant_count: giant_count as u32, candidate_limit: limit };
            assert_eq!(check_scan(&division, &[sum; 4]).refused, refused);
        }
    }
}

// ---- sweep_test ----

fn check_test(scene: &Scene, tiles_per_block: u32, hit_tile_capacity: u32) {
    let n = scene.entries.len() as u32;
    let tiles = scene.tiles();
    let blocks = tiles.div_ceil(tiles_per_block);
    let params = uniform(Params { box_count: scene.boxes.len() as u32, hit_tile_capacity, ..Params::zeroed() });
    let counts = upload(&[Counts {
        entry_count: n,
        sweep_tiles: tiles,
        sweep_tiles_per_block: tiles_per_block,
        sweep_blocks: blocks,
        ..Counts::zeroed()
    }]);
    let (boxes, entries, path) = (upload(&scene.boxes), upload(&scene.entries), scene.path());
    let mut kept = scene.words();
    let block_hits = hits_of_blocks(&kept, tiles_per_block);
    kept.truncate(hit_tile_capacity as usize * TILE_WORDS);
    for size in [dispatch_size(blocks), in_columns(blocks)] {
        let sizes = dispatches(|sizes| sizes.sweep_test = size);
        let hits =
            Hits { words: poisoned(kept.len()), block_hits: poisoned(blocks as usize), block_offsets: poisoned(0) };
        run(|pass| SWEEP.record_test(pass, &params, boxes.all(), &counts, &sizes, &entries, &path, &hits));
        assert_eq!(written(&hits.block_hits), block_hits);
        assert!(written(&hits.words) == kept, "hit bits of {n} entries differ");
    }
}

#[test]
fn hits_are_those_of_the_mirror() {
    for n in SIZES {
        for reach in [0, 3, 100] {
            let scene = Scene::random(n, reach, u64::from(n));
            for tiles_per_block in [1, 2, 3] {
                check_test(&scene, tiles_per_block, scene.tiles());
            }
        }
    }
}

#[test]
fn hits_of_tiles_without_room_are_counted_all_the_same() {
    let scene = Scene::random(3000, 60, 8);
    assert!(scene.tiles() > 8);
    for capacity in [0, 1, 5, scene.tiles() - 1, scene.tiles() + 9] {
        check_test(&scene, 2, capacity);
    }
}

#[test]
fn entries_that_all_meet_and_entries_that_never_do_are_walked_alike() {
    let n = 1500;
    let random = Scene::random(n, 0, 4);
    let all = Scene::new(random.boxes, random.entries, vec![n; n as usize]);
    assert_eq!(all.length(), 1500 * 1501 / 2);
    check_test(&all, 1, all.tiles());
    check_test(&all, 16, all.tiles());
    // One with all the others, among loners: the path has pieces of a single entry and pieces of many.
    let mut ends: Vec<u32> = (1..=n).collect();
    ends[300] = n;
    check_test(&Scene::new(all.boxes, all.entries, ends), 1, 1);
}

#[test]
fn a_pair_is_reported_only_by_entries_that_together_are_first_along_both() {
    let flags = [0, ENTRY_FIRST_U, ENTRY_FIRST_V, ENTRY_FIRST_U | ENTRY_FIRST_V];
    let boxes = vec![Aabb::new([0.0; 3], [1.0; 3]), Aabb::new([1.0; 3], [2.0; 3])];
    let entries: Vec<u32> = flags.iter().flat_map(|a| flags.iter().flat_map(move |b| [*a, 1 | b])).collect();
    let ends = (0..32u32).map(|rank| rank / 2 * 2 + 2).collect();
    let scene = Scene::new(boxes, entries, ends);
    let owned = cpu::emit::scan(&scene.words());
    assert_eq!(owned, 9);
    check_test(&scene, 1, 1);
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn hits_of_any_entries_are_those_of_the_mirror(
        n in 0..2500u32,
        reach in 0..60u32,
        seed: u64,
        tiles_per_block in 1..5u32,
        capacity in 0..12u32,
    ) {
        let scene = Scene::random(n, reach, seed);
        check_count(&scene);
        check_test(&scene, tiles_per_block, capacity.min(scene.tiles()));
    }

    #[test]
    fn any_path_is_divided_as_by_the_mirror(
        entry_count in 0..2_000_000u32,
        most in prop_oneof![1..1000u64, 1..1u64 << 32],
        box_count in 1..10_000_000u32,
        giant_count in 0..1000u32,
        limit_bits in 0..45u32,
        seed: u64,
    ) {
        let candidate_limit = 1 << limit_bits;
        let division = Division { box_count, entry_count, giant_count, candidate_limit };
        check_scan(&division, &random_sums(entry_count, most, seed));
    }
}
