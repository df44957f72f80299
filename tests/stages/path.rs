//! Entries in their sorted order, the path through their candidates, and the hits on it: inputs of stages.

use broadsweep::internals::constants::*;
use broadsweep::internals::layout::Run;
use broadsweep::internals::mirror;
use broadsweep::internals::pairs::sweep::{Hits, Path};
use broadsweep::{Aabb, Pair};

use crate::footprints::random_footprint;
use crate::inputs::{Random, lattice};
use crate::*;

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

/// The quads and candidates of a section, or a group of sections.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sums {
    pub quads: u64,
    pub candidates: u64,
}

/// Returns how many groups of sections so many entries have.
pub fn path_groups(entry_count: u32) -> u32 {
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

/// Creates the path of no entries.
pub fn no_path() -> Path {
    Scene::new(vec![], vec![], vec![], vec![]).path()
}

/// Creates hits for kernels that read and write none of them.
pub fn no_hits() -> Hits {
    Hits { runs: poisoned(0), hit_words: poisoned(0), block_hits: poisoned(0) }
}
