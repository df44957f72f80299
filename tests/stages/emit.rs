//! `emit`: the number of pairs, and any window of their list.

use std::sync::LazyLock;

use broadsweep::constants::*;
use broadsweep::stages::emit::Emit;
use broadsweep::stages::layout::{Counts, Dispatches, PairHeader, Params, Window, dispatch_size};
use broadsweep::stages::sweep::Hits;
use broadsweep::{Pair, cpu};
use proptest::prelude::*;

use crate::inputs::Random;
use crate::sweep::{TILE_WORDS, hits_of_blocks};
use crate::*;

static EMIT: LazyLock<Emit> = LazyLock::new(|| Emit::new(gpu()).unwrap());

fn window(first: u64, capacity: u32) -> Window {
    let [first_low, first_high] = halves(first);
    Window { first_low, first_high, capacity, unused: 0 }
}

/// Pairs before each block, and all of them.
fn offsets_of(block_hits: &[u32]) -> Vec<u64> {
    let mut offsets = vec![0];
    for &hits in block_hits {
        offsets.push(offsets[offsets.len() - 1] + u64::from(hits));
    }
    offsets
}

// ---- emit_scan ----

fn check_scan(block_hits: &[u32], sweep_blocks: u32, first: u64, capacity: u32, refused: u32) {
    let giant_blocks = block_hits.len() as u32 - sweep_blocks;
    let given = Counts { sweep_blocks, giant_blocks, refused, ..poison() };
    let params = uniform(Params { vertices_per_pair: 24, ..Params::zeroed() });
    let window = uniform(window(first, capacity));
    let counts = guarded(&[given]);
    let (sizes, header) = (poisoned(1), poisoned(1));
    let hits =
        Hits { words: poisoned(0), block_hits: upload(block_hits), block_offsets: poisoned(block_hits.len() + 1) };
    run(|pass| EMIT.record_scan(pass, &params, &window, &counts, &sizes, &hits, &header));

    let offsets = offsets_of(block_hits);
    let total = offsets[block_hits.len()];
    assert_eq!(written(&hits.block_offsets), offsets.into_iter().map(halves).collect::<Vec<_>>());
    let left = total.saturating_sub(first);
    let number = left.min(u64::from(capacity)) as u32;
    let [pair_low, pair_high] = halves(total);
    assert_eq!(written(&counts), [Counts { pair_low, pair_high, written: number, ..given }]);
    let overflow = if left > u64::from(capacity) { OVERFLOW_PAIRS } else { 0 };
    let expected = PairHeader {
        count: pair_low,
        count_high: pair_high,
        capacity,
        overflow: overflow | if refused == 1 { OVERFLOW_CANDIDATES } else { 0 },
        written: number,
        dispatch: dispatch_size(number.div_ceil(256)),
        draw: [24, number, 0, 0],
    };
    assert_eq!(written::<PairHeader>(&header), [expected]);
    let expected = Dispatches {
        sort_pairs: dispatch_size(number.div_ceil(SORT_TILE)),
        order: dispatch_size(number.div_ceil(256)),
        ..poison()
    };
    assert_eq!(written::<Dispatches>(&sizes), [expected]);
}

fn random_hits(blocks: u32, most: u64, seed: u64) -> Vec<u32> {
    let mut random = Random::new(seed);
    (0..blocks).map(|_| (random.next() % most) as u32).collect()
}

#[test]
fn pairs_are_counted_and_the_window_is_cut_as_it_should() {
    for blocks in SIZES.into_iter().chain([70_000]) {
        let block_hits = random_hits(blocks, 8192, u64::from(blocks));
        let total: u64 = block_hits.iter().map(|&hits| u64::from(hits)).sum();
        for first in [0, 1, total / 2, total.saturating_sub(1), total, total + 1, 1 << 40] {
            for capacity in [0, 1, 1000, total as u32, u32::MAX] {
                check_scan(&block_hits, blocks / 3, first, capacity, 0);
            }
        }
    }
}

#[test]
fn a_list_of_more_than_32_bits_is_counted_exactly() {
    let block_hits = random_hits(2 * HIT_BLOCKS, 1 << 28, 3);
    let total: u64 = block_hits.iter().map(|&hits| u64::from(hits)).sum();
    assert!(total > 1 << 40);
    for first in [0, u64::from(u32::MAX), 1 << 32, (1 << 32) + 5, total - (1 << 32), total - 7, total, total + 1] {
        for capacity in [1, 7, 8, 1 << 24, u32::MAX] {
            check_scan(&block_hits, HIT_BLOCKS, first, capacity, 0);
        }
    }
}

#[test]
fn refused_candidates_are_flagged_in_the_header() {
    check_scan(&[], 0, 0, 10, 1);
    check_scan(&[20], 1, 0, 10, 1);
}

// ---- emit_sweep and emit_giants ----

/// What the earlier stages leave, and the list that follows from it.
struct Found {
    sweep: crate::sweep::Scene,
    giants: crate::giants::Scene,
    tiles_per_block: u32,
    words: Vec<u32>,
    pairs: Vec<Pair>,
}

impl Found {
    /// `n` entries of the sweep, and giants among `n` boxes.
    fn random(n: u32, reach: u32, rarity: u32, tiles_per_block: u32, seed: u64) -> Self {
        let mut sweep = crate::sweep::Scene::random(n, reach, seed);
        let giants = crate::giants::Scene::random(n, rarity, 0, seed);
        // Both look at the same boxes. Those of the sweep are the valid ones.
        let valid: Vec<u32> = (0..n).filter(|&i| giants.boxes[i as usize].is_valid()).collect();
        for entry in &mut sweep.entries {
            let at = (*entry & ENTRY_BOX) as usize;
            *entry = *entry & !ENTRY_BOX | valid.get(at % valid.len().max(1)).copied().unwrap_or(0);
        }
        sweep.boxes.clone_from(&giants.boxes);
        if valid.is_empty() {
            sweep = crate::sweep::Scene::new(giants.boxes.clone(), vec![], vec![]);
        }

        let sweep_words = sweep.words();
        let mut pairs = Vec::new();
        cpu::emit::sweep(&sweep_words, &sweep.entries, &sweep.offsets, 0..sweep.length(), &mut pairs);
        assert_eq!(cpu::emit::scan(&sweep_words), pairs.len() as u64);
        for &giant in &giants.giants {
            let mut own = Vec::new();
            let hits = cpu::giants::test(&giants.boxes, &giants.cells, &crate::giants::frame(), 0, giant);
            cpu::emit::giants(&hits, giant, &mut own);
            // Tile by tile, and in it by invocations, of which each has every 256th box.
            own.sort_by_key(|pair| {
                let other = if pair.a == giant { pair.b } else { pair.a };
                (other / HIT_TILE, other % 256, other)
            });
            pairs.extend(own);
        }
        let words = [sweep_words, giants.words()].concat();
        assert_eq!(cpu::emit::scan(&words), pairs.len() as u64);
        Self { sweep, giants, tiles_per_block, words, pairs }
    }

    /// The pairs of each window, whose capacities repeat, with room for the hits of some tiles only.
    fn check(&self, capacities: &[u32], hit_tile_capacity: u32, columns: bool) {
        let n = self.giants.boxes.len() as u32;
        let (sweep_tiles, giant_tiles) = (self.sweep.tiles(), self.giants.tiles());
        let (sweep_words, giant_words) = self.words.split_at(sweep_tiles as usize * TILE_WORDS);
        let sweep_hits = hits_of_blocks(sweep_words, self.tiles_per_block);
        let giant_hits = hits_of_blocks(giant_words, self.tiles_per_block);
        let counts = upload(&[Counts {
            entry_count: self.sweep.entries.len() as u32,
            giant_count: self.giants.giants.len() as u32,
            sweep_tiles,
            sweep_tiles_per_block: self.tiles_per_block,
            sweep_blocks: sweep_hits.len() as u32,
            giant_tiles,
            giant_tiles_per_block: self.tiles_per_block,
            giant_blocks: giant_hits.len() as u32,
            ..Counts::zeroed()
        }]);
        let params = uniform(Params { box_count: n, hit_tile_capacity, ..Params::zeroed() });
        let size = |groups| if columns { in_columns(groups) } else { dispatch_size(groups) };
        let sizes = dispatches(|sizes| {
            sizes.sweep_test = size(sweep_hits.len() as u32);
            sizes.giants_test = size(giant_hits.len() as u32);
        });
        let frame = upload(&[crate::giants::frame()]);
        // A word that had no room is poison, in case it is read all the same.
        let mut words = self.words.clone();
        words.truncate(hit_tile_capacity as usize * TILE_WORDS);
        let block_hits = [sweep_hits, giant_hits].concat();
        let offsets: Vec<_> = offsets_of(&block_hits).into_iter().map(halves).collect();
        let hits = Hits { words: guarded(&words), block_hits: poisoned(0), block_offsets: upload(&offsets) };
        let (boxes, bins, path) = (upload(&self.giants.boxes), self.giants.bins(), self.sweep.path());
        let (entries, giants) = (upload(&self.sweep.entries), upload(&self.giants.giants));

        let mut first = 0;
        let mut all = Vec::new();
        for &capacity in capacities.iter().cycle() {
            let window = uniform(window(first, capacity));
            let list = poisoned(capacity as usize);
            run(|pass| {
                EMIT.record_pairs(
                    pass,
                    &params,
                    &window,
                    boxes.all(),
                    &counts,
                    &sizes,
                    &frame,
                    &bins,
                    &entries,
                    &path,
                    &giants,
                    &hits,
                    &list,
                );
            });
            let mut pairs: Vec<Pair> = written(&list);
            let left = (self.pairs.len() as u64).saturating_sub(first);
            let beyond = pairs.split_off(left.min(u64::from(capacity)) as usize);
            assert!(beyond.iter().all(is_poison), "pairs are written behind the end of the list");
            all.extend(pairs);
            first += u64::from(capacity);
            if first > self.pairs.len() as u64 {
                break;
            }
        }
        assert_eq!(all.len(), self.pairs.len());
        assert!(all == self.pairs, "the windows together are not the list");
        assert!(written(&hits.words) == words);
    }
}

#[test]
fn the_list_is_that_of_the_mirror() {
    for n in SIZES {
        for tiles_per_block in [1, 3] {
            let found = Found::random(n, 70, n / 10 + 1, tiles_per_block, u64::from(n) + 5);
            let tiles = found.sweep.tiles() + found.giants.tiles();
            for columns in [false, true] {
                found.check(&[found.pairs.len() as u32 + 10], tiles, columns);
            }
        }
    }
}

#[test]
fn windows_of_any_size_together_are_the_list() {
    let found = Found::random(1234, 50, 100, 2, 3);
    let tiles = found.sweep.tiles() + found.giants.tiles();
    assert!(found.sweep.tiles() > 3 && found.giants.tiles() > 3 && found.pairs.len() > 2000);
    for capacities in [&[1000][..], &[1, 500], &[333, 7, 2000], &[found.pairs.len() as u32]] {
        found.check(capacities, tiles, false);
    }
}

#[test]
fn hit_bits_that_had_no_room_are_found_again() {
    let found = Found::random(1234, 50, 100, 3, 4);
    let (sweep, giants) = (found.sweep.tiles(), found.giants.tiles());
    for capacity in [0, 1, sweep - 1, sweep, sweep + 1, sweep + giants - 1] {
        found.check(&[1 << 20], capacity, false);
        found.check(&[1700], capacity, true);
    }
}

#[test]
fn giants_that_look_at_several_tiles_of_boxes_list_them_all() {
    let found = Found::random(20_000, 3, 2000, 2, 5);
    let tiles = found.sweep.tiles() + found.giants.tiles();
    assert!(found.giants.giants.len() > 3);
    found.check(&[found.pairs.len() as u32], tiles, false);
    found.check(&[found.pairs.len() as u32 / 3 + 1], 0, false);
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn any_block_hits_are_scanned(
        blocks in 0..3000u32,
        most in prop_oneof![1..10_000u64, 1..1u64 << 32],
        sweep_part in 0.0..=1.0f64,
        first in prop_oneof![0..100_000u64, any::<u64>()],
        capacity: u32,
        seed: u64,
    ) {
        let sweep_blocks = (f64::from(blocks) * sweep_part) as u32;
        check_scan(&random_hits(blocks, most, seed), sweep_blocks, first, capacity, 0);
    }

    #[test]
    fn any_windows_together_are_the_list(
        n in 0..1500u32,
        reach in 0..40u32,
        tiles_per_block in 1..4u32,
        parts in prop::collection::vec(0.05..1.0f64, 1..4),
        room in 0.0..=1.0f64,
        seed: u64,
    ) {
        let found = Found::random(n, reach, n / 20 + 1, tiles_per_block, seed);
        let tiles = found.sweep.tiles() + found.giants.tiles();
        let capacities: Vec<_> = parts.iter().map(|part| (found.pairs.len() as f64 * part) as u32 + 1).collect();
        found.check(&capacities, (f64::from(tiles) * room) as u32, false);
    }
}
