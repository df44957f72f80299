//! `giants_near` and `giants_test`.

use std::sync::LazyLock;

use broadsweep::Aabb;
use broadsweep::internals::constants::*;
use broadsweep::internals::filters::lists::Switches;
use broadsweep::internals::grid::bin::Bins;
use broadsweep::internals::layout::{Counts, Frame, Params, dispatch_size};
use broadsweep::internals::mirror;
use broadsweep::internals::pairs::giants::Giants;
use broadsweep::internals::pairs::sweep::Hits;
use proptest::prelude::*;

use crate::bin_count::packed;
use crate::bin_scatter::{SPAN, random_cells};
use crate::inputs::{Random, lattice, ordinary};
use crate::sweep::{TILE_WORDS, hits_of_blocks, no_hits};
use crate::*;

static GIANTS: LazyLock<Giants> = LazyLock::new(|| Giants::new(gpu(), &Switches::default()));

/// Boxes with cells, at a level of coarsening.
pub struct Scene {
    pub boxes: Vec<Aabb>,
    pub cells: Vec<[i32; 4]>,
    pub level: u32,
    pub giants: Vec<u32>,
}

/// Returns a frame in which a box in more than 64 cells is a giant.
pub fn frame() -> Frame {
    Frame { giant_cells: 64, max_span: [SPAN; 2], ..Frame::zeroed() }
}

impl Scene {
    /// Boxes of which a few (one in `rarity`, about) are giants, unbounded or invalid.
    pub fn random(n: u32, rarity: u32, level: u32, seed: u64) -> Self {
        let cells = random_cells(n, 5, rarity, seed);
        let mut boxes = lattice(n, seed);
        let mut random = Random::new(seed);
        for (aabb, cells) in boxes.iter_mut().zip(&cells) {
            let k = random.below(3) as usize;
            match *cells {
                mirror::bin::CELLS_OF_INVALID => aabb.max[k] = f32::NAN,
                mirror::bin::CELLS_OF_UNBOUNDED => aabb.max[k] = f32::INFINITY,
                _ => {}
            }
        }
        let giants = mirror::bin::scatter(&cells, &mut vec![[0; 4]; n as usize], &frame(), level).giants;
        Self { boxes, cells, level, giants }
    }

    pub fn tiles(&self) -> u32 {
        self.giants.len() as u32 * (self.boxes.len() as u32).div_ceil(HIT_TILE)
    }

    /// Returns the hits of the mirror in tiles.
    pub fn words(&self) -> Vec<u32> {
        let of = |&giant: &u32| mirror::giants::test(&self.boxes, &self.cells, &frame(), self.level, giant);
        self.in_tiles(self.giants.iter().map(of))
    }

    /// Returns which boxes are near each group of giants, in tiles; nothing where there are too few giants.
    pub fn near_words(&self) -> Vec<u32> {
        let group = GIANT_GROUP as usize;
        let grouped = if self.giants.len() < group { &[] } else { &self.giants[..] };
        self.in_tiles(grouped.chunks(group).map(|giants| mirror::giants::near(&self.boxes, giants)))
    }

    /// Puts bits by box in tiles, where bit k of invocation i is box 256 k + i.
    fn in_tiles(&self, all: impl Iterator<Item = Vec<u32>>) -> Vec<u32> {
        let mut words = Vec::new();
        for by_box in all {
            let is_hit = |i: usize| by_box.get(i / 32).is_some_and(|word| word >> (i % 32) & 1 == 1);
            for tile in 0..self.boxes.len().div_ceil(HIT_TILE as usize) {
                for local in 0..TILE_WORDS {
                    let first = tile * HIT_TILE as usize + local;
                    words.push((0..32).map(|bit| u32::from(is_hit(first + 256 * bit)) << bit).sum());
                }
            }
        }
        words
    }

    pub fn bins(&self) -> Bins {
        let (cells, _) = packed(&self.cells, &vec![[0; 4]; self.cells.len()]);
        Bins { cells: upload(&cells), box_ends: poisoned(0), block_counts: poisoned(0), bin_offsets: poisoned(0) }
    }
}

/// Checks that the hits of each block come behind those of `sweep_blocks` blocks of the sweep, which stay untouched.
fn check(scene: &Scene, tiles_per_block: u32, sweep_blocks: u32, giant_tile_capacity: u32) {
    let tiles = scene.tiles();
    let blocks = tiles.div_ceil(tiles_per_block);
    let params = uniform(Params { box_count: scene.boxes.len() as u32, giant_tile_capacity, ..Params::zeroed() });
    let counts = upload(&[Counts {
        level: scene.level,
        giant_count: scene.giants.len() as u32,
        sweep_tiles: 2 * BLOCK_TILES * sweep_blocks,
        sweep_tiles_per_group: 2,
        sweep_tiles_per_block: 2 * BLOCK_TILES,
        sweep_blocks,
        giant_tiles: tiles,
        giant_tiles_per_block: tiles_per_block,
        giant_blocks: blocks,
        ..Counts::zeroed()
    }]);
    let frame = upload(&[frame()]);
    let (boxes, bins, giants) = (upload(&scene.boxes), scene.bins(), upload(&scene.giants));

    let words = scene.words();
    let mut block_hits = vec![u32::MAX; sweep_blocks as usize];
    block_hits.extend(hits_of_blocks(&words, tiles_per_block));
    let near_tiles = (scene.near_words().len() / TILE_WORDS) as u32;
    let near_tiles = near_tiles.min(giant_tile_capacity / NEAR_SHARE);
    let near = &scene.near_words()[..near_tiles as usize * TILE_WORDS];
    let mut bits = vec![0u32; scene.boxes.len().div_ceil(32)];
    for (i, _) in scene.boxes.iter().enumerate().filter(|(_, aabb)| aabb.is_valid()) {
        bits[i / 32] |= 1 << (i % 32);
    }
    let valid = scene.in_tiles(std::iter::once(bits));
    let kept = &words[..(giant_tile_capacity.min(tiles) as usize * TILE_WORDS)];
    for size in [dispatch_size(blocks), in_columns(blocks)] {
        // Some workgroups too many, as in dispatches of more than one row.
        let surplus = if near_tiles == 0 { 0 } else { 3 };
        let near_size = if size[0] > 1 { dispatch_size(near_tiles) } else { in_columns(near_tiles + surplus) };
        let sizes = dispatches(|sizes| (sizes.giants_test, sizes.giants_near) = (size, near_size));
        let hits = Hits {
            hit_words: poisoned(giant_tile_capacity as usize * TILE_WORDS + near.len()),
            block_hits: poisoned(block_hits.len()),
            ..no_hits()
        };
        run(|pass| {
            GIANTS.record(pass, &params, boxes.all(), no_filters(), &counts, &sizes, &frame, &bins, &giants, &hits)
        });
        let found_words = written(&hits.hit_words);
        // Those that are invalid may be near or not.
        let found = found_words[giant_tile_capacity as usize * TILE_WORDS..]
            .iter()
            .zip(valid.iter().cycle())
            .map(|(near, valid)| near & valid);
        assert!(found.eq(near.iter().copied()), "boxes near {} giants differ", scene.giants.len());
        assert_eq!(written(&hits.block_hits), block_hits);
        assert!(found_words[..kept.len()] == *kept, "hit bits of {} giants differ", scene.giants.len());
    }
}

#[test]
fn hits_of_giants_are_those_of_the_mirror() {
    for n in SIZES.into_iter().chain([8191, 8192, 8193, 20_000]) {
        let scene = Scene::random(n, n / 30 + 1, 0, u64::from(n));
        for tiles_per_block in [1, 3] {
            check(&scene, tiles_per_block, 0, scene.tiles());
        }
    }
}

#[test]
fn boxes_far_from_a_group_of_giants_are_not_near() {
    let n = 9000u32;
    // In a row, so that giants that follow each other lie side by side.
    let mut boxes = ordinary(n, 3);
    boxes.sort_by(|a, b| a.min[0].total_cmp(&b.min[0]));
    let cells: Vec<[i32; 4]> =
        (0..n as i32).map(|i| if i % 10 == 0 { [0, 0, SPAN as i32, SPAN as i32] } else { [i, 0, i, 0] }).collect();
    let giants = mirror::bin::scatter(&cells, &mut vec![[0; 4]; n as usize], &frame(), 0).giants;
    assert_eq!(giants.len(), 900);
    let scene = Scene { boxes, cells, level: 0, giants };
    let near = mirror::emit::scan(&scene.near_words());
    assert!(near > 0 && near < u64::from(n) * 900 / 32 / 4, "{near} are near");
    check(&scene, 3, 1, scene.tiles());
    check(&scene, 2, 0, scene.tiles() / 3);
}

#[test]
fn coarser_cells_have_fewer_giants() {
    let mut giants = Vec::new();
    for level in 0..LEVELS {
        let scene = Scene::random(1234, 3, level, 6);
        check(&scene, 1, 0, scene.tiles());
        giants.push(scene.giants.len());
    }
    // At the coarsest level only those without bounds are left.
    assert!(giants[0] > 2 * giants[7] && giants[7] > 0, "{giants:?}");
}

#[test]
fn hits_of_giants_lie_behind_those_of_the_sweep() {
    let scene = Scene::random(9000, 200, 0, 1);
    assert!(scene.tiles() > 8);
    for sweep_blocks in [1, 3, 300] {
        check(&scene, 2, sweep_blocks, scene.tiles());
    }
}

#[test]
fn hits_of_tiles_of_giants_without_room_are_counted_all_the_same() {
    let scene = Scene::random(9000, 200, 0, 1);
    for capacity in [0, 1, 5, 6, scene.tiles() - 1, scene.tiles(), scene.tiles() + 9] {
        check(&scene, 2, 3, capacity);
    }
}

#[test]
fn boxes_that_are_all_giants_meet_each_other_once() {
    let n = 300u32;
    let boxes = vec![Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]); n as usize];
    let cells = vec![mirror::bin::CELLS_OF_UNBOUNDED; n as usize];
    let scene = Scene { boxes, cells, level: 3, giants: (0..n).collect() };
    assert_eq!(mirror::emit::scan(&scene.words()), u64::from(n * (n - 1) / 2));
    check(&scene, 1, 0, scene.tiles());
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    fn hits_of_any_giants_are_those_of_the_mirror(
        n in 0..3000u32,
        rarity in 1..100u32,
        level in 0..LEVELS,
        tiles_per_block in 1..4u32,
        seed: u64,
    ) {
        // Not more giants than are soon tested.
        let scene = Scene::random(n, rarity.max(n / 100), level, seed);
        check(&scene, tiles_per_block, 1, scene.tiles());
    }
}
