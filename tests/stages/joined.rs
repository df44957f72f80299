//! `emit_joined`: the list of giants that were joined with rows of boxes.

use std::sync::LazyLock;

use broadsweep::Pair;
use broadsweep::internals::filters::lists::Switches;
use broadsweep::internals::grid::Entries;
use broadsweep::internals::layout::{Counts, Params};
use broadsweep::internals::mirror;
use broadsweep::internals::pairs::emit::Emit;
use broadsweep::internals::pairs::sweep::Hits;

use crate::emit::{offsets_of, window};
use crate::giants::{Scene, packed_joined, row_words};
use crate::sweep::TILE_WORDS;
use crate::*;

static EMIT: LazyLock<Emit> = LazyLock::new(|| Emit::new(gpu(), &Switches::default()));

/// What `giants_join` leaves of a scene, with room for the hits of some tiles, and how its tiles are divided.
struct Found<'a> {
    scene: &'a Scene,
    tiles_per_block: u32,
    /// Pairs that come before those of giants.
    before: u64,
    room: u32,
    pairs: Vec<Pair>,
    words: Vec<u32>,
    block_hits: Vec<u32>,
}

impl<'a> Found<'a> {
    fn new(scene: &'a Scene, tiles_per_block: u32, before: u64, room: u32) -> Self {
        let joined = scene.joined();
        let kept = room as usize * TILE_WORDS;
        let mut words = packed_joined(&joined);
        words.truncate(kept);
        // What had no room is poison, in case it is read all the same.
        words.resize(kept, poison());
        words.extend(scene.near_tiles());
        words.truncate(kept + room as usize);
        let blocks = joined.chunks(TILE_WORDS * tiles_per_block as usize);
        let block_hits = blocks.map(|block| block.iter().map(|own| own.pairs.len() as u32).sum()).collect();
        Self { scene, tiles_per_block, before, room, pairs: mirror::emit::joined(&joined), words, block_hits }
    }

    fn counts(&self) -> Counts {
        Counts {
            entry_count: self.scene.entries.len() as u32,
            giant_count: self.scene.giants.len() as u32,
            giant_tiles: self.scene.joined_tiles(),
            giant_tiles_per_block: self.tiles_per_block,
            giant_blocks: self.block_hits.len() as u32,
            ..Counts::zeroed()
        }
    }

    fn hits(&self) -> Hits {
        let offsets: Vec<_> = offsets_of(&self.block_hits).into_iter().map(|at| halves(self.before + at)).collect();
        Hits {
            runs: poisoned(0),
            run_offsets: poisoned(0),
            hit_words: guarded(&self.words),
            block_hits: poisoned(0),
            hit_offsets: upload(&offsets),
        }
    }

    /// Checks the pairs of each window, whose capacities repeat.
    fn check(&self, capacities: &[u32]) {
        let box_count = self.scene.boxes.len() as u32;
        let params = uniform(Params { box_count, giant_tile_capacity: self.room, ..Params::zeroed() });
        let sizes = dispatches(|sizes| sizes.giants_join = in_columns(self.block_hits.len() as u32 + 2));
        let (counts, hits, frame) = (counted(self.counts()), self.hits(), uniform(crate::giants::frame()));
        let sorted = Entries { other_keys: upload(&row_words(&self.scene.rows())), ..self.scene.sorted() };
        let (boxes, bins) = (upload(&self.scene.boxes), self.scene.bins());
        let path = crate::sweep::Scene::new(vec![], vec![], vec![], vec![]).path();
        let mut first = self.before;
        let mut left = &self.pairs[..];
        for &capacity in capacities.iter().cycle() {
            let (window, list) = (uniform(window(first, capacity)), poisoned(capacity as usize));
            let (filters, boxes) = (no_filters(), boxes.all());
            run(|pass| {
                EMIT.record_pairs(
                    pass, &params, &window, boxes, filters, &counts, &sizes, &frame, &bins, &sorted, &path, &hits,
                    &list,
                );
            });
            let found: Vec<Pair> = written(&list);
            let (expected, behind) = left.split_at(left.len().min(capacity as usize));
            assert!(found[..expected.len()] == *expected, "pairs of {} giants differ", self.scene.giants.len());
            assert!(found[expected.len()..].iter().all(is_poison), "pairs are written behind the end of the list");
            left = behind;
            first += u64::from(capacity);
            if left.is_empty() {
                break;
            }
        }
        assert!(written(&hits.hit_words) == self.words);
    }
}

#[test]
fn pairs_of_joined_giants_are_those_of_the_mirror() {
    for (n, rarity) in [(1, 1), (257, 9), (1234, 100), (9000, 300)] {
        let scene = Scene::random(n, rarity, 0, 7);
        let tiles = scene.joined_tiles();
        for (tiles_per_block, before, room) in [(1, 0, tiles), (3, 1 << 33, tiles + 5), (2, 5, tiles / 2), (1, 0, 0)] {
            let found = Found::new(&scene, tiles_per_block, before, room);
            let pairs = found.pairs.len() as u32;
            found.check(&[pairs + 10]);
            found.check(&[pairs / 3 + 1, pairs / 7 + 1, 1]);
        }
    }
}
