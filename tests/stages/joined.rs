//! `emit_again`: the list of the pairs of giants.

use broadsweep::Pair;
use broadsweep::internals::filters::lists::FilterLists;
use broadsweep::internals::grid::GridSummary;
use broadsweep::internals::layout::{Counts, Params};
use broadsweep::internals::mirror;
use broadsweep::internals::pairs::emit::Emit;
use broadsweep::internals::pairs::sweep::Hits;

use crate::emit::{pair_buffers, poisoned_list, window};
use crate::giants::{Scene, hits_of_joined, on_ground};
use crate::grid::{searched, summary};
use crate::path::{TILE_WORDS, block_words, no_hits, no_path};
use crate::*;

/// Checks the pairs of each window, whose capacities repeat.
fn check(scene: &Scene, tiles_per_block: u32, capacities: &[u32]) {
    let joined = scene.joined();
    let pairs = mirror::emit::joined(&joined);
    let block_hits = hits_of_joined(&joined, tiles_per_block);
    let filters = &scene.filters();
    let emit = Emit::new(gpu());
    let (box_count, entry_capacity) = (scene.boxes.len() as u32, scene.entries.len() as u32);
    let params = uniform(Params { box_count, entry_capacity, ..Params::zeroed() });
    let sizes = dispatches(|sizes| sizes.emit_again = in_columns(block_hits.len() as u32 + 2));
    let counts = counted(Counts {
        entry_count: scene.entries.len() as u32,
        giant_count: scene.giants.len() as u32,
        giant_tiles: (joined.len() / TILE_WORDS) as u32,
        giant_tiles_per_block: tiles_per_block,
        giant_blocks: block_hits.len() as u32,
        ..Counts::zeroed()
    });
    let hits = Hits { block_hits: upload(&block_words(&block_hits)), ..no_hits() };
    let (boxes, sorted) = (upload(&scene.boxes), scene.sorted());
    let lists = FilterLists::of(gpu(), filters, scene.boxes.len()).unwrap();
    let path = no_path();
    let summary = GridSummary { dispatches: sizes, ..summary(&counts) };
    let searched = searched(&params, &boxes, &lists);
    let (mut first, mut left) = (0, &pairs[..]);
    for &capacity in capacities.iter().cycle() {
        let (window, list) = (uniform(window(first, capacity)), poisoned_list(capacity));
        let buffers = pair_buffers(path.clone(), hits.clone(), &list);
        run(|pass| emit.record_pairs(pass, &searched, &window, &summary, &sorted, &buffers));
        let found: Vec<Pair> = written(&list.pairs);
        let (expected, behind) = left.split_at(left.len().min(capacity as usize));
        assert!(found[..expected.len()] == *expected, "pairs of {} giants differ", scene.giants.len());
        assert!(found[expected.len()..].iter().all(is_poison), "pairs are written behind the end of the list");
        left = behind;
        first += u64::from(capacity);
        if left.is_empty() {
            break;
        }
    }
}

/// Checks the list where tiles are divided in several ways.
fn check_list(scene: &Scene) {
    let pairs = mirror::emit::joined(&scene.joined()).len() as u32;
    for tiles_per_block in [1, 2, 3] {
        check(scene, tiles_per_block, &[pairs + 10]);
        check(scene, tiles_per_block, &[pairs / 3 + 1, pairs / 7 + 1, 1]);
    }
}

#[test]
fn pairs_of_a_few_joined_giants_are_those_of_the_mirror() {
    for scene in [Scene::random(1, 1, 0, 7), Scene::random(257, 9, 0, 7), on_ground(5, 300, 7).in_worlds(4, 3)] {
        check_list(&scene);
    }
}

#[test]
#[ignore = "long"]
fn pairs_of_joined_giants_are_those_of_the_mirror() {
    for (n, rarity) in [(1, 1), (257, 9), (1234, 100), (9000, 300)] {
        let scene = Scene::random(n, rarity, 0, 7);
        check_list(&scene);
    }
}

#[test]
#[ignore = "long"]
fn pairs_of_common_ground_are_those_of_the_mirror() {
    for (pieces, n) in [(1, 1), (5, 300), (77, 1500), (1100, 700)] {
        let scene = on_ground(pieces, n, 7).in_worlds(4, 3);
        check_list(&scene);
    }
}
