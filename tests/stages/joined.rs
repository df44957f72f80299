//! `emit_joined`: the list of giants that were joined with rows of boxes.

use broadsweep::Pair;
use broadsweep::internals::constants::SUM_BLOCKS;
use broadsweep::internals::filters::lists::FilterLists;
use broadsweep::internals::grid::Entries;
use broadsweep::internals::layout::{Counts, Params};
use broadsweep::internals::mirror;
use broadsweep::internals::pairs::emit::Emit;
use broadsweep::internals::pairs::sweep::Hits;

use crate::emit::{poisoned_list, window};
use crate::giants::{Scene, on_ground, packed_joined, row_words};
use crate::sweep::{TILE_WORDS, block_words};
use crate::*;

/// What `giants_join` leaves of a scene, with room for the hits of some tiles, and how its tiles are divided.
struct Found<'a> {
    scene: &'a Scene,
    tiles_per_block: u32,
    /// Pairs that come before those of giants.
    before: u64,
    room: u32,
    tiles: u32,
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
        let tiles = (joined.len() / TILE_WORDS) as u32;
        let pairs = mirror::emit::joined(&joined);
        Self { scene, tiles_per_block, before, room, tiles, pairs, words, block_hits }
    }

    fn counts(&self) -> Counts {
        Counts {
            entry_count: self.scene.entries.len() as u32,
            giant_count: self.scene.giants.len() as u32,
            sweep_blocks: SUM_BLOCKS,
            giant_tiles: self.tiles,
            giant_tiles_per_block: self.tiles_per_block,
            giant_blocks: self.block_hits.len() as u32,
            ..Counts::zeroed()
        }
    }

    fn hits(&self) -> Hits {
        // The blocks of the sweep have a sum, which is all that is read of them.
        let mut words = block_words(&[vec![0; SUM_BLOCKS as usize], self.block_hits.clone()].concat());
        words[..2].copy_from_slice(&halves(self.before));
        Hits { runs: poisoned(0), hit_words: guarded(&self.words), block_hits: upload(&words) }
    }

    /// Checks the pairs of each window, whose capacities repeat.
    fn check(&self, capacities: &[u32]) {
        let filters = &self.scene.filters();
        let emit = Emit::new(gpu());
        let box_count = self.scene.boxes.len() as u32;
        let params = uniform(Params { box_count, giant_tile_capacity: self.room, ..Params::zeroed() });
        let blocks = in_columns(self.block_hits.len() as u32 + 2);
        let sizes = dispatches(|sizes| sizes.giants_join = blocks);
        let (counts, hits, frame) = (counted(self.counts()), self.hits(), uniform(crate::giants::frame()));
        let sorted = Entries { other_keys: upload(&row_words(&self.scene.rows())), ..self.scene.sorted() };
        let (boxes, bins) = (upload(&self.scene.boxes), self.scene.bins());
        let lists = FilterLists::of(gpu(), filters, self.scene.boxes.len()).unwrap();
        let path = crate::sweep::Scene::new(vec![], vec![], vec![], vec![]).path();
        let mut first = self.before;
        let mut left = &self.pairs[..];
        for &capacity in capacities.iter().cycle() {
            let (window, list) = (uniform(window(first, capacity)), poisoned_list(capacity));
            let boxes = boxes.all();
            run(|pass| {
                emit.record_pairs(
                    pass, &params, &window, boxes, &lists, &counts, &sizes, &frame, &bins, &sorted, &path, &hits, &list,
                );
            });
            let found: Vec<Pair> = written(&list.pairs);
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
fn pairs_of_a_few_joined_giants_are_those_of_the_mirror() {
    for scene in [Scene::random(1, 1, 0, 7), Scene::random(257, 9, 0, 7), on_ground(5, 300, 7).in_worlds(4, 3)] {
        check_list(&scene, scene.joined_tiles());
    }
}

#[test]
#[ignore = "long"]
fn pairs_of_joined_giants_are_those_of_the_mirror() {
    for (n, rarity) in [(1, 1), (257, 9), (1234, 100), (9000, 300)] {
        let scene = Scene::random(n, rarity, 0, 7);
        check_list(&scene, scene.joined_tiles());
    }
}

/// Checks the list where tiles are divided in several ways, and have room or not.
fn check_list(scene: &Scene, tiles: u32) {
    for (tiles_per_block, before, room) in
        [(1, 0, tiles), (3, 1 << 33, tiles + 5), (2, 5, tiles / 2), (3, 0, tiles - 1), (1, 0, 0)]
    {
        let found = Found::new(scene, tiles_per_block, before, room);
        assert_eq!(found.tiles, tiles);
        let pairs = found.pairs.len() as u32;
        found.check(&[pairs + 10]);
        found.check(&[pairs / 3 + 1, pairs / 7 + 1, 1]);
    }
}

#[test]
#[ignore = "long"]
fn pairs_of_common_ground_are_those_of_the_mirror() {
    for (pieces, n) in [(1, 1), (5, 300), (77, 1500), (1100, 700)] {
        let scene = on_ground(pieces, n, 7).in_worlds(4, 3);
        check_list(&scene, scene.joined_tiles());
    }
}
