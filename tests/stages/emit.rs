//! `emit`: the number of pairs, and any window of their list.

use std::sync::LazyLock;

use broadsweep::internals::constants::*;
use broadsweep::internals::grid::GridSummary;
use broadsweep::internals::layout::{
    Counts, Dispatches, PairArguments, PairHeader, Params, Run, Window, dispatch_size,
};
use broadsweep::internals::mirror;
use broadsweep::internals::pairs::PairBuffers;
use broadsweep::internals::pairs::emit::Emit;
use broadsweep::internals::pairs::list::{List, ListCapacity, PairList};
use broadsweep::internals::pairs::sweep::{Hits, Path};
use broadsweep::{Aabb, Pair, PairOrder};
use proptest::prelude::*;

use crate::giants::hits_of_joined;
use crate::grid::{searched, summary};
use crate::inputs::Random;
use crate::path::{TILE_WORDS, block_words, hits_of_runs, no_hits, no_path, words_of};
use crate::*;

static EMIT: LazyLock<Emit> = LazyLock::new(|| Emit::new(gpu()));
pub fn window(first: u64, capacity: u32) -> Window {
    let [first_low, first_high] = halves(first);
    Window { first_low, first_high, capacity, unused: 0 }
}

/// Creates a list that nobody has written.
pub fn poisoned_list(capacity: u32) -> List {
    List { pairs: poisoned(capacity as usize), header: poisoned(1), arguments: poisoned(1) }
}

/// Groups the buffers of a search with this list.
pub fn pair_buffers(path: Path, hits: Hits, list: &List) -> PairBuffers {
    let mut pairs = PairList::new(gpu(), &ListCapacity { boxes: 0, pairs: 0 }, PairOrder::Sweep).unwrap();
    pairs.list = list.clone();
    PairBuffers { path, hits, list: pairs }
}

// ---- how many pairs there are ----

/// Checks what the first workgroup of `emit_sweep` writes, where no tile was retained.
fn check_counts(block_hits: &[u32], sweep_blocks: u32, first: u64, capacity: u32, refused: u32) {
    let giant_blocks = block_hits.len() as u32 - sweep_blocks;
    let given = Counts { sweep_blocks, giant_blocks, refused, ..Counts::zeroed() };
    let params = uniform(Params { vertices_per_pair: 24, ..Params::zeroed() });
    let window = uniform(window(first, capacity));
    let counts = counted(given);
    let list = poisoned_list(0);
    let hits = Hits { block_hits: upload(&block_words(block_hits)), ..no_hits() };
    let sizes = dispatches(|sizes| sizes.emit_sweep = [1; 3]);
    let giants = crate::giants::Scene::new(vec![], vec![], 0);
    let path = no_path();
    let boxes = upload::<Aabb>(&[]);
    let (summary, pairs) = (GridSummary { dispatches: sizes, ..summary(&counts) }, pair_buffers(path, hits, &list));
    let searched = searched(&params, &boxes, no_filters());
    run(|pass| EMIT.record_pairs(pass, &searched, &window, &summary, &giants.sorted(), &pairs));
    assert_eq!(written(&list.pairs), []);

    // A search that was refused has no pairs.
    let total = if refused == 1 { 0 } else { block_hits.iter().map(|&hits| u64::from(hits)).sum() };
    let left = total.saturating_sub(first);
    let number = left.min(u64::from(capacity)) as u32;
    let [pair_low, pair_high] = halves(total);
    assert_eq!(download(&counts), [Counts { pair_low, pair_high, written: number, ..given }]);
    let overflow = if left > u64::from(capacity) { OVERFLOW_PAIRS } else { 0 };
    let expected = PairHeader {
        count: pair_low,
        count_high: pair_high,
        capacity,
        overflow: if refused == 1 { OVERFLOW_CANDIDATES } else { overflow },
        written: number,
        unused: [0; 3],
    };
    assert_eq!(written(&list.header), [expected]);
    let dispatch = dispatch_size(number.div_ceil(256));
    let draw_list = [24 * number.min(u32::MAX / 24), 1, 0, 0];
    let expected = PairArguments { dispatch, unused: 0, draw: [24, number, 0, 0], draw_list };
    assert_eq!(written(&list.arguments), [expected]);
}

fn random_hits(blocks: u32, most: u64, seed: u64) -> Vec<u32> {
    let mut random = Random::new(seed);
    (0..blocks).map(|_| (random.next() % most) as u32).collect()
}

#[test]
#[ignore = "long"]
fn pairs_are_counted_and_the_window_is_cut_as_it_should() {
    for blocks in SIZES.into_iter().chain([70_000]) {
        let block_hits = random_hits(blocks, 8192, u64::from(blocks));
        let total: u64 = block_hits.iter().map(|&hits| u64::from(hits)).sum();
        for first in [0, 1, total / 2, total.saturating_sub(1), total, total + 1, 1 << 40] {
            for capacity in [0, 1, 1000, total as u32, u32::MAX] {
                check_counts(&block_hits, blocks / 3, first, capacity, 0);
            }
        }
    }
}

#[test]
fn a_list_of_more_than_32_bits_is_counted_exactly() {
    let block_hits = random_hits(2 * MOST_BLOCKS, 1 << 28, 3);
    let total: u64 = block_hits.iter().map(|&hits| u64::from(hits)).sum();
    assert!(total > 1 << 40);
    for first in [0, u64::from(u32::MAX), 1 << 32, (1 << 32) + 5, total - (1 << 32), total - 7, total, total + 1] {
        for capacity in [1, 7, 8, 1 << 24, u32::MAX] {
            check_counts(&block_hits, MOST_BLOCKS, first, capacity, 0);
        }
    }
}

#[test]
fn refused_candidates_are_flagged_in_the_header() {
    check_counts(&[], 0, 0, 10, 1);
    check_counts(&[20], 1, 0, 10, 1);
}

// ---- emit_range ----

/// Checks the blocks of a window, if all tiles were retained or none.
fn check_range(block_hits: &[u32], sweep_blocks: u32, first: u64, capacity: u32) {
    let blocks = block_hits.len() as u32;
    let giant_blocks = blocks - sweep_blocks;
    let hits = Hits { block_hits: upload(&block_words(block_hits)), ..no_hits() };
    let window = uniform(window(first, capacity));
    for (tile_capacity, refused) in [(sweep_blocks, 0), (0, 0), (sweep_blocks, 1)] {
        let params = uniform(Params { tile_capacity, ..Params::zeroed() });
        let given = Counts { sweep_tiles: sweep_blocks, sweep_blocks, giant_blocks, refused, ..Counts::zeroed() };
        let (counts, sizes) = (counted(given), dispatches(|sizes| sizes.sweep_test = [7; 3]));
        run(|pass| EMIT.record_range(pass, &params, &window, &hits, &counts, &sizes));
        let again_end = match (refused, tile_capacity) {
            (1, _) => 0,
            (_, 0) => blocks,
            _ => giant_blocks,
        };
        let [first_block, swept, again] = mirror::emit::range(block_hits, giant_blocks, again_end, first, capacity);
        assert_eq!(download(&counts), [Counts { first_block, ..given }], "{first} {capacity}");
        let expected =
            Dispatches { sweep_test: [7; 3], emit_sweep: dispatch_size(swept), emit_again: dispatch_size(again) };
        assert_eq!(download(&sizes)[0], expected, "{first} {capacity} {refused} {tile_capacity}");
    }
}

#[test]
fn blocks_of_a_window_are_those_of_the_mirror() {
    for (blocks, most) in
        [(0, 1), (1, 9), (255, 9000), (256, 2), (257, 3), (3000, 9000), (70_000, 3), (150_000, 1 << 28)]
    {
        // Some blocks in a row have no pairs, at the beginning too.
        let mut block_hits = random_hits(blocks, most, u64::from(blocks));
        block_hits.iter_mut().enumerate().filter(|(i, _)| i % 1000 < 300).for_each(|(_, hits)| *hits = 0);
        let total: u64 = block_hits.iter().map(|&hits| u64::from(hits)).sum();
        for first in [0, 1, total / 3, total.saturating_sub(1), total, total + 1, 1 << 40, u64::MAX - 999, u64::MAX] {
            for capacity in [0, 1, 1000, u32::MAX] {
                check_range(&block_hits, blocks / 3, first, capacity);
            }
        }
    }
}

// ---- emit_sweep and emit_again ----

/// The output of the earlier stages, and the list that follows from it.
struct Expected {
    sweep: crate::path::Scene,
    giants: crate::giants::Scene,
    tiles_per_block: u32,
    runs: Vec<Run>,
    joined: Vec<mirror::giants::Joined>,
    pairs: Vec<Pair>,
}

impl Expected {
    /// Creates `n` entries of the sweep, and giants among `n` boxes.
    fn random(n: u32, reach: u32, rarity: u32, tiles_per_block: u32, seed: u64) -> Self {
        let mut sweep = crate::path::Scene::random(n, reach, seed);
        let giants = crate::giants::Scene::random(n, rarity, 0, seed);
        // Both look at the same boxes. Those of the sweep are the valid ones that are no giants.
        let has_entries = |&i: &u32| giants.boxes[i as usize].is_valid() && giants.giants.binary_search(&i).is_err();
        let valid: Vec<u32> = (0..n).filter(has_entries).collect();
        for entry in &mut sweep.entries {
            let at = (*entry & ENTRY_BOX) as usize;
            *entry = *entry & !ENTRY_BOX | valid.get(at % valid.len().max(1)).copied().unwrap_or(0);
        }
        sweep.boxes.clone_from(&giants.boxes);
        if valid.is_empty() {
            sweep = crate::path::Scene::new(giants.boxes.clone(), vec![], vec![], vec![]);
        }
        Self::new(sweep, giants, tiles_per_block)
    }

    /// Creates entries of boxes that are those of the giants too.
    fn new(sweep: crate::path::Scene, mut giants: crate::giants::Scene, tiles_per_block: u32) -> Self {
        let (swept, runs) = (sweep.pairs(), sweep.runs());
        assert_eq!(runs.iter().map(|run| run.hits.count_ones() as usize).sum::<usize>(), swept.len());
        giants.entries.clone_from(&sweep.entries);
        let joined = giants.joined();
        let pairs = [mirror::emit::joined(&joined), swept].concat();
        Self { sweep, giants, tiles_per_block, runs, joined, pairs }
    }

    /// Checks the pairs of each window, with repeated capacities and capacity for the hits of some tiles only. With
    /// `columns`, all blocks are dispatched for each window, and some more; otherwise the blocks that `emit_range`
    /// finds.
    fn check(&self, capacities: &[u32], tile_capacity: u32, columns: bool) {
        let n = self.giants.boxes.len() as u32;
        let (sweep_tiles, tiles_per_block) = (self.sweep.tiles(), self.tiles_per_block);
        let sweep_hits = hits_of_runs(&self.runs, tiles_per_block);
        let giant_hits = hits_of_joined(&self.joined, tiles_per_block);
        let (sweep_blocks, giant_blocks) = (sweep_hits.len() as u32, giant_hits.len() as u32);
        let counts = counted(Counts {
            entry_count: self.sweep.entries.len() as u32,
            giant_count: self.giants.giants.len() as u32,
            sweep_tiles,
            sweep_tiles_per_block: tiles_per_block,
            sweep_blocks,
            path_low: self.sweep.length() as u32,
            giant_tiles: (self.joined.len() / TILE_WORDS) as u32,
            giant_tiles_per_block: tiles_per_block,
            giant_blocks,
            ..Counts::zeroed()
        });
        let entry_capacity = self.giants.entries.len() as u32;
        let params = uniform(Params { box_count: n, tile_capacity, entry_capacity, ..Params::zeroed() });
        let size = |groups| if columns { in_columns(groups) } else { dispatch_size(groups) };
        let sizes = dispatches(|sizes| {
            sizes.emit_sweep = size(sweep_blocks.max(1));
            sizes.emit_again = size(giant_blocks + if sweep_tiles <= tile_capacity { 0 } else { sweep_blocks });
        });
        let runs = &self.runs[..self.runs.len().min(tile_capacity as usize * TILE_WORDS)];
        let hits = Hits {
            runs: guarded(&words_of(runs)),
            block_hits: upload(&block_words(&[giant_hits, sweep_hits].concat())),
            ..no_hits()
        };
        let (boxes, sorted, path) = (upload(&self.giants.boxes), self.giants.sorted(), self.sweep.path());
        let summary = GridSummary { dispatches: sizes.clone(), ..summary(&counts) };
        let searched = searched(&params, &boxes, no_filters());

        let mut first = 0;
        let mut all = Vec::new();
        for &capacity in capacities.iter().cycle() {
            let window = uniform(window(first, capacity));
            let list = poisoned_list(capacity);
            let buffers = pair_buffers(path.clone(), hits.clone(), &list);
            run(|pass| {
                if first > 0 && !columns {
                    EMIT.record_range(pass, &params, &window, &hits, &counts, &sizes);
                }
                EMIT.record_pairs(pass, &searched, &window, &summary, &sorted, &buffers);
            });
            let mut pairs: Vec<Pair> = written(&list.pairs);
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
        if let Some(at) = (0..all.len()).find(|&at| all[at] != self.pairs[at]) {
            panic!("pair {at} of {} is {:?} instead of {:?}", all.len(), all[at], self.pairs[at]);
        }
        assert!(written(&hits.runs) == words_of(runs));
    }
}

#[test]
fn the_list_is_that_of_the_mirror() {
    for n in SIZES {
        for tiles_per_block in [1, 3] {
            let found = Expected::random(n, 70, n / 10 + 1, tiles_per_block, u64::from(n) + 5);
            for columns in [false, true] {
                found.check(&[found.pairs.len() as u32 + 10], found.sweep.tiles(), columns);
            }
        }
    }
}

#[test]
#[ignore = "long"]
fn windows_of_any_size_together_are_the_list() {
    let found = Expected::random(1234, 400, 100, 1, 3);
    assert!(found.sweep.tiles() > 16 && found.giants.giants.len() > 3 && found.pairs.len() > 2000);
    for capacities in [&[1000][..], &[1, 500], &[333, 7, 2000], &[found.pairs.len() as u32]] {
        found.check(capacities, found.sweep.tiles(), false);
    }
}

#[test]
fn a_window_is_cut_at_every_pair_of_a_run() {
    // 41 entries at one place: eight quads full of pairs.
    let n = 41;
    let boxes = vec![Aabb::new([0.0; 3], [0.0; 3]); n as usize];
    let footprints = vec![u32::from_le_bytes([0x80, 0x7f, 0x80, 0x7f]); n as usize];
    let sweep = crate::path::Scene::new(boxes.clone(), (0..n).collect(), footprints, vec![n; n as usize]);
    let cells = vec![[0; 4]; n as usize];
    let giants = crate::giants::Scene::new(boxes, cells, 0);
    let found = Expected::new(sweep, giants, 1);
    assert_eq!(found.pairs.len(), 41 * 40 / 2);
    for tile_capacity in [0, 1] {
        for capacity in (1..40).step_by(3) {
            found.check(&[capacity, 29, 1, 500], tile_capacity, false);
        }
    }
}

#[test]
#[ignore = "long"]
fn hits_beyond_the_capacity_are_found_again() {
    for tiles_per_block in [1, 2] {
        let found = Expected::random(1234, 400, 100, tiles_per_block, 4);
        let tiles = found.sweep.tiles();
        assert!(tiles > 16 && found.giants.giants.len() > 3);
        let all = found.pairs.len() as u32 + 1;
        let of_giants = mirror::emit::joined(&found.joined).len() as u32;
        for capacity in [0, 1, 7, 8, 9, tiles - 1, tiles, tiles + 1] {
            found.check(&[all], capacity, false);
            // Cut inside the retained runs, at their end, and inside the others.
            let retained = &found.runs[..tiles.min(capacity) as usize * TILE_WORDS];
            let retained_pairs = of_giants + retained.iter().map(|run| run.hits.count_ones()).sum::<u32>();
            found.check(&[(retained_pairs / 2).max(1), all], capacity, true);
            found.check(&[retained_pairs.max(1), 3, all], capacity, false);
            found.check(&[retained_pairs + 100, all], capacity, true);
        }
    }
}

#[test]
fn giants_that_look_at_several_tiles_of_boxes_list_them_all() {
    let found = Expected::random(20_000, 3, 2000, 2, 5);
    assert!(found.giants.giants.len() > 3);
    found.check(&[found.pairs.len() as u32], found.sweep.tiles(), false);
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
        check_counts(&random_hits(blocks, most, seed), sweep_blocks, first, capacity, 0);
    }

    #[test]
    fn any_windows_together_are_the_list(
        n in 0..1500u32,
        reach in 0..160u32,
        tiles_per_block in 1..4u32,
        parts in prop::collection::vec(0.05..1.0f64, 1..4),
        tile_capacity in 0.0..=1.1f64,
        seed: u64,
    ) {
        let found = Expected::random(n, reach, n / 20 + 1, tiles_per_block, seed);
        let tile_capacity = (f64::from(found.sweep.tiles()) * tile_capacity) as u32;
        let capacities: Vec<_> = parts.iter().map(|part| (found.pairs.len() as f64 * part) as u32 + 1).collect();
        found.check(&capacities, tile_capacity, false);
    }
}
