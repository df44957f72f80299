//! `sweep`: the path, its division, and the exact tests on it.

use std::sync::LazyLock;

use broadsweep::internals::constants::*;
use broadsweep::internals::filters::lists::FilterLists;
use broadsweep::internals::grid::GridSummary;
use broadsweep::internals::layout::{Counts, Dispatches, Params, Run, dispatch_size};
use broadsweep::internals::mirror;
use broadsweep::internals::pairs::giants::GiantsStage;
use broadsweep::internals::pairs::sweep::{Hits, Path, Sweep};
use broadsweep::{Aabb, Filters, Pair};
use proptest::prelude::*;

use crate::grid::{searched, sorted, summary};
use crate::inputs::{Random, lattice};
use crate::*;

static SWEEP: LazyLock<Sweep> = LazyLock::new(|| Sweep::new(gpu()));
static GIANTS: LazyLock<GiantsStage> = LazyLock::new(|| GiantsStage::new(gpu()));

/// Invocations that look at a tile: runs, or words.
pub const TILE_WORDS: usize = 256;

/// Entries in their sorted order, with their footprints and the ends of their intervals, and boxes.
pub struct Scene {
    pub boxes: Vec<Aabb>,
    pub entries: Vec<u32>,
    pub footprints: Vec<u32>,
    pub ends: Vec<u32>,
    /// How many of the last candidates of each entry may begin after it ends.
    pub unproven: Vec<u32>,
    /// Quads of the path before each entry, and of all.
    pub offsets: Vec<u64>,
}

/// Creates any footprint.
fn random_footprint(random: &mut Random) -> u32 {
    random.next() as u32 & (0x7f7f_7f7f | FOOTPRINT_FIRST | FOOTPRINT_OF_BOX)
}

/// The quads and candidates of a section, or a group of sections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sums {
    pub quads: u64,
    pub candidates: u64,
}

/// Returns how many groups of sections so many entries have.
fn path_groups(entry_count: u32) -> u32 {
    entry_count.div_ceil(PATH_SECTION).div_ceil(PATH_GROUP)
}

impl Scene {
    /// Creates `n` entries of random boxes with random footprints, and up to `reach` candidates each.
    pub fn random(n: u32, reach: u32, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let boxes = lattice(n / 2 + 2, seed);
        let entries = (0..n).map(|_| random.below(n / 2 + 2) | random.below(16) << 28).collect();
        let footprints = (0..n)
            .map(|_| {
                // Half of them in the whole of the cell and first in it, so that many a candidate survives.
                let all = u32::from_le_bytes([0x80, 0x7f, 0x80, 0x7f]) | (random.below(2) * FOOTPRINT_PLAIN);
                if random.below(2) == 0 { all } else { random_footprint(&mut random) }
            })
            .collect();
        let ends: Vec<u32> = (0..n).map(|rank| (rank + 1 + random.below(reach + 1)).min(n)).collect();
        // Some have only proven candidates, some none.
        let of_rank = |(rank, &end): (usize, &u32)| match random.below(4) {
            0 => ALL_UNPROVEN,
            1 => 0,
            _ => random.below(end - rank as u32).min(ALL_UNPROVEN - 1),
        };
        let unproven = ends.iter().enumerate().map(of_rank).collect();
        Self { unproven, ..Self::new(boxes, entries, footprints, ends) }
    }

    pub fn new(boxes: Vec<Aabb>, entries: Vec<u32>, footprints: Vec<u32>, ends: Vec<u32>) -> Self {
        let (unproven, offsets) = (vec![0; ends.len()], mirror::sweep::scan(&mirror::sweep::count(&ends)));
        Self { boxes, entries, footprints, ends, unproven, offsets }
    }

    /// Creates the same scene with the candidates up to other ends.
    pub fn with_ends(self, ends: Vec<u32>) -> Self {
        Self::new(self.boxes, self.entries, self.footprints, ends)
    }

    pub fn length(&self) -> u64 {
        self.offsets[self.entries.len()]
    }

    pub fn tiles(&self) -> u32 {
        self.length().div_ceil(u64::from(TILE_QUADS)) as u32
    }

    /// Returns the output of `rank_ends`. The loaded words behind the last entry have any value.
    pub fn stretches(&self) -> Vec<u32> {
        let ends =
            self.ends.iter().zip(&self.unproven).map(|(&end, &unproven)| mirror::rank::packed_end(end, unproven));
        let mut words: Vec<u32> = ends.collect();
        words.resize(words.len().next_multiple_of(ENTRY_STRIDE as usize), poison());
        words
    }

    /// Quads and candidates of each section.
    pub fn sections(&self) -> Vec<Sums> {
        let (n, section) = (self.entries.len(), PATH_SECTION as usize);
        let sum = |first: usize| {
            let ranks = first..(first + section).min(n);
            let candidates = ranks.clone().map(|rank| u64::from(self.ends[rank]) - rank as u64 - 1).sum();
            Sums { quads: self.offsets[ranks.end] - self.offsets[ranks.start], candidates }
        };
        (0..n).step_by(section).map(sum).collect()
    }

    /// Returns the output of `rank_ends` for the path: quads and candidates of groups of sections, quads of sections,
    /// then quads before every `ENTRY_STRIDE`-th entry within its section.
    pub fn bases(&self) -> Vec<[u32; 2]> {
        let (n, section) = (self.entries.len(), PATH_SECTION as usize);
        let sections = self.sections();
        let quads = |own: &Sums| own.quads;
        let of_group =
            |group: &[Sums]| [sum_words(group.iter().map(quads)), sum_words(group.iter().map(|own| own.candidates))];
        let of_groups = sections.chunks(PATH_GROUP as usize).flat_map(of_group);
        let of_entry = |rank: usize| self.offsets[rank] - self.offsets[rank / section * section];
        let of_entries = (0..n).step_by(ENTRY_STRIDE as usize).map(of_entry);
        of_groups.chain(sections.iter().map(quads).chain(of_entries).map(halves)).collect()
    }

    /// Returns what `giants_test` leaves of it: quads before each group in place of its own.
    pub fn divided_bases(&self) -> Vec<[u32; 2]> {
        let mut bases = self.bases();
        let firsts = self.offsets.iter().step_by((PATH_SECTION * PATH_GROUP) as usize);
        for (k, &before) in firsts.enumerate().take(path_groups(self.entries.len() as u32) as usize) {
            bases[2 * k] = halves(before);
        }
        bases
    }

    /// Creates the path as an input. Behind the last footprint, in the quad that is loaded nevertheless, there is
    /// anything.
    pub fn path(&self) -> Path {
        let mut footprints = self.footprints.clone();
        footprints.resize((footprints.len() + 1).next_multiple_of(4), u32::from_le_bytes([0x80, 0x7f, 0x80, 0x7f]));
        Path {
            stretches: upload(&self.stretches()),
            footprints: upload(&footprints),
            path_bases: upload(&self.divided_bases()),
        }
    }

    /// Returns what each run finds, in whole tiles: quad after quad of the path, candidate after candidate of a quad.
    pub fn runs(&self) -> Vec<Run> {
        let mut runs = vec![Run::zeroed(); self.tiles() as usize * TILE_WORDS];
        let mut at = 0;
        for (rank, quads) in mirror::sweep::count(&self.ends).into_iter().enumerate() {
            for nth in 0..quads {
                let (run, k) = (&mut runs[at / RUN_QUADS as usize], at as u32 % RUN_QUADS);
                let quad = (rank as u32 + 1) / 4 + nth;
                if k == 0 {
                    (run.first_rank, run.first_quad) = (rank as u32, quad);
                } else if nth == 0 {
                    run.turns |= 1 << k;
                }
                for j in 0..4 {
                    let other = quad * 4 + j;
                    let is_candidate = other > rank as u32 && other < self.ends[rank];
                    if is_candidate && self.is_pair(rank, other as usize) {
                        run.hits |= 1 << (4 * k + j);
                    }
                }
                at += 1;
            }
        }
        assert_eq!(at as u64, self.length());
        runs
    }

    /// Returns whether a candidate is a hit: a proven one is not looked up, so that here, where boxes and footprints
    /// have nothing to do with each other, the boxes of a hit need not overlap.
    fn is_pair(&self, rank: usize, other: usize) -> bool {
        let box_of = |rank: usize| &self.boxes[(self.entries[rank] & ENTRY_BOX) as usize];
        let [own, others] = [rank, other].map(|rank| self.footprints[rank]);
        let unproven = self.unproven[rank];
        let begins_before = unproven != ALL_UNPROVEN && (other as u32) < self.ends[rank] - unproven;
        let is_proven = begins_before && mirror::sweep::is_proven(own, others);
        mirror::sweep::survives(own, others) && (is_proven || box_of(rank).overlaps(box_of(other)))
    }

    /// Returns the pairs in the order of the path.
    pub fn pairs(&self) -> Vec<Pair> {
        let mut pairs = Vec::new();
        for rank in 0..self.entries.len() {
            for other in rank + 1..self.ends[rank] as usize {
                if self.is_pair(rank, other) {
                    pairs.push(Pair::new(self.entries[rank] & ENTRY_BOX, self.entries[other] & ENTRY_BOX));
                }
            }
        }
        pairs
    }
}

/// The words that stand for runs in memory, tile by tile.
pub fn words_of(runs: &[Run]) -> Vec<u32> {
    runs.chunks(TILE_WORDS).flat_map(Run::tile_words).collect()
}

/// Hits of each block of tiles.
pub fn hits_of_runs(runs: &[Run], tiles_per_block: u32) -> Vec<u32> {
    let hits_of = |block: &[Run]| block.iter().map(|run| run.hits.count_ones()).sum();
    runs.chunks(tiles_per_block as usize * TILE_WORDS).map(hits_of).collect()
}

/// Returns the two words to which these numbers are added: the low 16 bits, and those above.
pub fn sum_words(numbers: impl Iterator<Item = u64>) -> [u32; 2] {
    numbers.fold([0, 0], |[low, high], number| [low + (number as u32 & 0xffff), high + (number >> 16) as u32])
}

/// Puts the pairs of blocks behind their sums.
pub fn block_words(block_hits: &[u32]) -> Vec<u32> {
    let mut words = vec![0; 2 * HIT_SUMS as usize];
    for (sum, blocks) in words.chunks_mut(2).zip(block_hits.chunks(SUM_BLOCKS as usize)) {
        sum.copy_from_slice(&sum_words(blocks.iter().map(|&hits| u64::from(hits))));
    }
    words.extend(block_hits);
    words
}

/// Creates the pairs of so many blocks as they are before they are counted.
pub fn uncounted(blocks: u32) -> Buffer<u32> {
    let mut words = block_words(&[]);
    words.resize(words.len() + blocks as usize, poison());
    guarded(&words)
}

/// Returns the words of blocks that are counted behind so many others, of which none was counted.
fn counted_behind(others: u32, block_hits: &[u32]) -> Vec<u32> {
    let mut words = block_words(&[vec![0; others as usize], block_hits.to_vec()].concat());
    words[2 * HIT_SUMS as usize..][..others as usize].fill(poison());
    words
}

/// Creates hits for kernels that read and write none of them.
pub fn no_hits() -> Hits {
    Hits { runs: poisoned(0), hit_words: poisoned(0), block_hits: poisoned(0) }
}

// ---- the look at footprints ----

/// Returns whether, along one axis, the boxes may meet, and the cell is the first of one of them.
fn survives_along(a: [u8; 2], b: [u8; 2]) -> bool {
    let [from_a, to_a, from_b, to_b] = [a[0], a[1], b[0], b[1]].map(|byte| byte & 0x7f);
    from_a <= to_b && from_b <= to_a && (a[0] | b[0]) & 0x80 != 0
}

/// Returns what `is_proven` should return, computed without tricks.
fn is_proven_plainly(a: u32, b: u32) -> bool {
    let ends = |footprint: u32| footprint.to_le_bytes().map(|byte| i32::from(byte & 0x7f));
    let is_enough = |from: i32, to: i32| to - from >= PROVEN_FRACTIONS as i32;
    let along = |k: usize| is_enough(ends(a)[k], ends(b)[k + 1]) && is_enough(ends(b)[k], ends(a)[k + 1]);
    (a >> 15) & (b >> 15) & 1 == 1 && along(0) && along(2)
}

/// Returns what `survives` should return, computed without tricks.
fn survives_plainly(a: u32, b: u32) -> bool {
    let ([a0, a1, a2, a3], [b0, b1, b2, b3]) = (a.to_le_bytes(), b.to_le_bytes());
    survives_along([a0, a1], [b0, b1]) && survives_along([a2, a3], [b2, b3])
}

/// Checks two footprints that differ in what one comparison sees: all values of `from` against all values of `to`, the
/// other bytes random; both boxes in both roles, along u and along v.
fn couples(seed: u64) -> Vec<[u32; 2]> {
    let mut random = Random::new(seed);
    let mut couples = Vec::new();
    for from in 0..128 {
        for to in 0..128 {
            for axis in 0..2 {
                // The other axis is no obstacle, half of the time.
                let [mut a, mut b] = [0; 2].map(|_| random_footprint(&mut random).to_le_bytes());
                if random.below(2) == 0 {
                    (a[2 - 2 * axis], a[3 - 2 * axis]) = (0x80, 0x7f);
                    (b[2 - 2 * axis], b[3 - 2 * axis]) = (0, 0x7f);
                }
                a[2 * axis] = a[2 * axis] & 0x80 | from;
                b[2 * axis + 1] = to;
                if random.below(2) == 0 {
                    a[2 * axis + 1] = 0x7f;
                    b[2 * axis] &= 0x80;
                }
                let plain = [(); 2].map(|()| if random.below(4) > 0 { FOOTPRINT_PLAIN } else { 0 });
                let couple = [0, 1].map(|k| u32::from_le_bytes([a, b][k]) & !FOOTPRINT_PLAIN | plain[k]);
                couples.push(if random.below(2) == 0 { couple } else { [couple[1], couple[0]] });
            }
        }
    }
    couples
}

#[test]
fn the_mirror_lets_footprints_pass_that_meet_along_both_axes_in_a_first_cell_of_both() {
    let (mut passed, mut proven) = (0, 0);
    for seed in 0..40 {
        for [a, b] in couples(seed) {
            assert_eq!(mirror::sweep::survives(a, b), survives_plainly(a, b), "{a:08x} and {b:08x}");
            assert_eq!(mirror::sweep::is_proven(a, b), is_proven_plainly(a, b), "{a:08x} and {b:08x}");
            passed += u32::from(survives_plainly(a, b));
            proven += u32::from(is_proven_plainly(a, b));
        }
    }
    assert!(passed > 100_000 && proven > 10_000);
}

#[test]
fn the_kernel_lets_footprints_pass_that_meet_along_both_axes_in_a_first_cell_of_both() {
    for seed in 0..4 {
        let couples = couples(seed);
        let n = 2 * couples.len() as u32;
        // All at one place: what survives is a hit. Each couple is one entry and its only candidate.
        let boxes = vec![Aabb::new([0.0; 3], [0.0; 3]); 2];
        let entries = (0..n).map(|rank| rank % 2).collect();
        let ends = (0..n).map(|rank| rank / 2 * 2 + 2).collect();
        let scene = Scene::new(boxes, entries, couples.as_flattened().to_vec(), ends);
        let passed = couples.iter().filter(|[a, b]| survives_plainly(*a, *b)).count();
        assert_eq!(scene.pairs().len(), passed);
        check_test(&scene, 1, scene.tiles());
    }
}

#[test]
fn the_kernel_does_not_look_up_proven_couples_and_no_others() {
    for seed in 0..4 {
        let couples = couples(seed);
        let n = 2 * couples.len() as u32;
        // Boxes that do not overlap: proven candidates are hits nevertheless.
        let boxes = vec![Aabb::new([0.0; 3], [0.0; 3]), Aabb::new([1.0; 3], [1.0; 3])];
        let entries = (0..n).map(|rank| rank % 2).collect();
        let ends = (0..n).map(|rank| rank / 2 * 2 + 2).collect();
        let mut scene = Scene::new(boxes, entries, couples.as_flattened().to_vec(), ends);
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
    let boxes = vec![Aabb::new([0.0; 3], [1.0; 3]), Aabb::new([1.0; 3], [2.0; 3])];
    let footprints: Vec<u32> = flags.iter().flat_map(|a| flags.iter().flat_map(move |b| [*a, *b])).collect();
    let entries = (0..32).map(|rank| rank % 2).collect();
    let ends = (0..32).map(|rank| rank / 2 * 2 + 2).collect();
    let scene = Scene::new(boxes, entries, footprints, ends);
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

fn check_test(scene: &Scene, tiles_per_block: u32, tile_capacity: u32) {
    check_filtered_test(no_filters(), scene, &scene.runs(), tiles_per_block, tile_capacity);
}

fn check_filtered_test(filters: &FilterLists, scene: &Scene, runs: &[Run], tiles_per_block: u32, tile_capacity: u32) {
    let n = scene.entries.len() as u32;
    let tiles = scene.tiles();
    let blocks = tiles.div_ceil(tiles_per_block);
    let params = uniform(Params { box_count: scene.boxes.len() as u32, tile_capacity, ..Params::zeroed() });
    let counts = Counts {
        entry_count: n,
        sweep_tiles: tiles,
        sweep_tiles_per_block: tiles_per_block,
        sweep_blocks: blocks,
        path_low: scene.length() as u32,
        giant_blocks: 3,
        ..Counts::zeroed()
    };
    let counts = counted(counts);
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
    let counts = counted(Counts {
        entry_count: scene.entries.len() as u32,
        sweep_tiles: tiles,
        sweep_tiles_per_block: 1,
        sweep_blocks: tiles,
        path_low: scene.length() as u32,
        ..Counts::zeroed()
    });
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
