//! `giants_test`; `giants_rows` and `giants_join`.

use std::sync::LazyLock;

use broadsweep::internals::constants::*;
use broadsweep::internals::filters::lists::FilterLists;
use broadsweep::internals::grid::Entries;
use broadsweep::internals::grid::bin::Bins;
use broadsweep::internals::layout::{Counts, Frame, Params, dispatch_size};
use broadsweep::internals::mirror;
use broadsweep::internals::pairs::giants::Giants;
use broadsweep::internals::pairs::sweep::Hits;
use broadsweep::{Aabb, Filters, HalfSpace};
use proptest::prelude::*;

use crate::bin_count::packed;
use crate::bin_scatter::{SPAN, random_cells};
use crate::inputs::{Random, lattice, ordinary};
use crate::sweep::{TILE_WORDS, block_words, hits_of_blocks, no_hits, uncounted};
use crate::*;

static GIANTS: LazyLock<Giants> = LazyLock::new(|| Giants::new(gpu()));

/// Boxes with cells, at a level of coarsening.
#[derive(Clone)]
pub struct Scene {
    pub boxes: Vec<Aabb>,
    pub cells: Vec<[i32; 4]>,
    pub level: u32,
    pub giants: Vec<u32>,
    pub entries: Vec<u32>,
    pub half_spaces: Vec<HalfSpace>,
    pub worlds: Vec<u32>,
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
        Self::new(boxes, cells, level)
    }

    /// Makes the entries and the giants of boxes with cells.
    pub fn new(boxes: Vec<Aabb>, cells: Vec<[i32; 4]>, level: u32) -> Self {
        let mirror::bin::Entries { giants, entries, .. } =
            mirror::bin::scatter(&cells, &mut vec![[0; 4]; boxes.len()], &frame(), level);
        Self { boxes, cells, level, giants, entries, half_spaces: Vec::new(), worlds: Vec::new() }
    }

    /// Makes the entries and the giants as inputs, with room for the bounds of rows.
    pub fn sorted(&self) -> Entries {
        let row_bounds = poisoned(self.rows().len() * 6);
        Entries {
            giants: upload(&self.giants),
            keys: poisoned(0),
            entries: upload(&self.entries),
            other_keys: row_bounds,
            other_entries: poisoned(0),
            histograms: poisoned(0),
            digit_sums: poisoned(0),
        }
    }

    pub fn rows(&self) -> Vec<mirror::giants::Row> {
        mirror::giants::rows(&self.boxes, &self.entries, &self.giants)
    }

    /// Returns what groups of giants and rows have in common, in tiles.
    pub fn joined(&self) -> Vec<mirror::giants::Joined> {
        mirror::giants::join(self.many(), &self.rows())
    }

    /// Returns which giants may meet boxes of each tile.
    pub fn near_tiles(&self) -> Vec<u32> {
        mirror::giants::near_tiles(self.many(), &self.rows())
    }

    fn many(&self) -> mirror::giants::Giants<'_> {
        let Self { boxes, worlds, giants: ids, half_spaces, .. } = self;
        mirror::giants::Giants { boxes, worlds, ids, half_spaces }
    }

    /// Puts each box in a world of this many, and one of eight in all.
    pub fn in_worlds(self, worlds: u32, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let world = |_| if random.below(8) == 0 { Filters::GLOBAL } else { random.below(worlds) };
        Self { worlds: (0..self.boxes.len()).map(world).collect(), ..self }
    }

    pub fn filters(&self) -> Filters {
        Filters { world: self.worlds.clone(), half_spaces: self.half_spaces.clone(), ..Filters::default() }
    }

    pub fn tiles(&self) -> u32 {
        self.giants.len() as u32 * (self.boxes.len() as u32).div_ceil(HIT_TILE)
    }

    pub fn joined_tiles(&self) -> u32 {
        self.giants.len().div_ceil(GIANT_GROUP as usize) as u32 * self.rows().len().div_ceil(256) as u32
    }

    /// Returns the hits of the mirror in tiles.
    pub fn words(&self) -> Vec<u32> {
        let of = |&giant: &u32| mirror::giants::test(&self.boxes, &self.cells, &frame(), self.level, giant);
        self.in_tiles(self.giants.iter().map(of))
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
        Bins { cells: upload(&cells), box_ends: poisoned(0), block_counts: poisoned(0), group_counts: poisoned(0) }
    }
}

/// Checks that the hits of each block come behind those of `sweep_blocks` blocks of the sweep, which stay untouched.
fn check(scene: &Scene, tiles_per_block: u32, sweep_blocks: u32, giant_tile_capacity: u32) {
    let tiles = scene.tiles();
    let blocks = tiles.div_ceil(tiles_per_block);
    let params = uniform(Params { box_count: scene.boxes.len() as u32, giant_tile_capacity, ..Params::zeroed() });
    let counts = counted(Counts {
        level: scene.level,
        giant_count: scene.giants.len() as u32,
        sweep_tiles: 2 * sweep_blocks,
        sweep_tiles_per_block: 2,
        sweep_blocks,
        giant_tiles: tiles,
        giant_tiles_per_block: tiles_per_block,
        giant_blocks: blocks,
        ..Counts::zeroed()
    });
    let frame = upload(&[frame()]);
    let (boxes, bins, sorted) = (upload(&scene.boxes), scene.bins(), scene.sorted());

    let words = scene.words();
    let expected_hits = counted_behind(sweep_blocks, &hits_of_blocks(&words, tiles_per_block));
    let kept = &words[..(giant_tile_capacity.min(tiles) as usize * TILE_WORDS)];
    for size in [dispatch_size(blocks), in_columns(blocks)] {
        let sizes = dispatches(|sizes| sizes.giants_test = size);
        let hits = Hits {
            hit_words: poisoned(giant_tile_capacity as usize * TILE_WORDS),
            block_hits: uncounted(sweep_blocks + blocks),
            ..no_hits()
        };
        run(|pass| {
            GIANTS.record(pass, &params, boxes.all(), no_filters(), &counts, &sizes, &frame, &bins, &sorted, &hits)
        });
        assert_eq!(written(&hits.block_hits), expected_hits);
        assert!(written(&hits.hit_words)[..kept.len()] == *kept, "hit bits of {} giants differ", scene.giants.len());
    }
}

/// Returns the words of blocks of giants that are counted behind so many of the sweep, of which none was counted.
fn counted_behind(sweep_blocks: u32, block_hits: &[u32]) -> Vec<u32> {
    let mut words = block_words(&[vec![0; sweep_blocks as usize], block_hits.to_vec()].concat());
    words[2 * HIT_SUMS as usize..][..sweep_blocks as usize].fill(poison());
    words
}

/// Packs what was found as an invocation of `giants_join` does.
pub fn packed_joined(joined: &[mirror::giants::Joined]) -> Vec<u32> {
    joined.iter().map(|own| (own.pairs.len() as u32) << GIANT_GROUP | own.near).collect()
}

/// Returns the bounds of rows as `giants_rows` leaves them.
pub fn row_words(rows: &[mirror::giants::Row]) -> Vec<u32> {
    rows.iter().flat_map(|row| bound_words(row.bounds)).collect()
}

/// Returns bounds as integers that compare as the numbers do, or those of nothing.
fn bound_words(bounds: Option<Aabb>) -> [u32; 6] {
    let ordered = |number: f32| {
        let bits = number.to_bits() as i32;
        if bits < 0 { i32::MIN.wrapping_sub(bits) } else { bits }
    };
    let words = bounds.map_or([[i32::MAX; 3], [i32::MIN; 3]], |own| [own.min.map(ordered), own.max.map(ordered)]);
    bytemuck::cast(words)
}

/// Checks that giants are joined with rows as by the mirror, and counted behind `sweep_blocks` blocks of the sweep.
fn check_join(scene: &Scene, tiles_per_block: u32, sweep_blocks: u32, giant_tile_capacity: u32) {
    let (rows, joined, near_tiles) = (scene.rows(), scene.joined(), scene.near_tiles());
    let tiles = (joined.len() / TILE_WORDS) as u32;
    let blocks = tiles.div_ceil(tiles_per_block);
    let params = uniform(Params { box_count: scene.boxes.len() as u32, giant_tile_capacity, ..Params::zeroed() });
    let counts = counted(Counts {
        level: scene.level,
        entry_count: scene.entries.len() as u32,
        giant_count: scene.giants.len() as u32,
        sweep_blocks,
        giant_tiles: tiles,
        giant_tiles_per_block: tiles_per_block,
        giant_blocks: blocks,
        ..Counts::zeroed()
    });
    let (boxes, bins, frame) = (upload(&scene.boxes), scene.bins(), upload(&[frame()]));
    let words = packed_joined(&joined);
    let per_block = joined.chunks(TILE_WORDS * tiles_per_block as usize);
    let hits_of = |block: &[mirror::giants::Joined]| block.iter().map(|own| own.pairs.len() as u32).sum::<u32>();
    let block_hits = counted_behind(sweep_blocks, &per_block.map(hits_of).collect::<Vec<_>>());
    let kept = giant_tile_capacity.min(tiles) as usize;
    let filters = scene.filters();
    let lists = FilterLists::of(gpu(), &filters, scene.boxes.len()).unwrap();
    for columns in [false, true] {
        let size = |groups: u32| if columns { in_columns(groups + 3) } else { dispatch_size(groups) };
        let sizes = dispatches(|sizes| {
            sizes.giants_rows = size((rows.len() as u32).div_ceil(256));
            sizes.giants_join = size(blocks);
        });
        let sorted = scene.sorted();
        let hits = Hits {
            hit_words: poisoned(giant_tile_capacity as usize * (TILE_WORDS + 1)),
            block_hits: uncounted(sweep_blocks + blocks),
            ..no_hits()
        };
        run(|pass| GIANTS.record(pass, &params, boxes.all(), &lists, &counts, &sizes, &frame, &bins, &sorted, &hits));
        assert!(written(sorted.row_bounds()) == row_words(&rows), "bounds for {} giants differ", scene.giants.len());
        assert_eq!(written(&hits.block_hits), block_hits);
        let found = written(&hits.hit_words);
        let (found, near) = found.split_at(giant_tile_capacity as usize * TILE_WORDS);
        assert_eq!(near[..kept], near_tiles[..kept]);
        assert!(found[..kept * TILE_WORDS] == words[..kept * TILE_WORDS], "{} giants differ", scene.giants.len());
    }
}

#[test]
#[ignore = "long"]
fn hits_of_giants_are_those_of_the_mirror() {
    for n in SIZES.into_iter().chain([8191, 8192, 8193, 20_000]) {
        let scene = Scene::random(n, n / 30 + 1, 0, u64::from(n));
        for tiles_per_block in [1, 3] {
            check(&scene, tiles_per_block, 0, scene.tiles());
            check_join(&scene, tiles_per_block, 2, scene.joined_tiles());
        }
        if n > 0 {
            let scene = scene.in_worlds(3, 1);
            check_join(&scene, 1, 0, scene.joined_tiles());
        }
    }
}

/// So many pieces of ground in rows, in any order, and `n` boxes all over it that have cells of their own.
pub fn on_ground(pieces: u32, n: u32, seed: u64) -> Scene {
    let mut random = Random::new(seed);
    let per_row = f64::from(pieces).sqrt().ceil() as u32;
    let mut boxes: Vec<Aabb> = (0..pieces)
        .map(|k| {
            let [x, y] = [k % per_row, k / per_row].map(|at| at as f32 * 4.0 - 50.0);
            Aabb::new([x, y, -1.0], [x + 4.0, y + 4.0, random.below(100) as f32 / 100.0])
        })
        .collect();
    for i in (1..boxes.len()).rev() {
        boxes.swap(i, random.below(i as u32 + 1) as usize);
    }
    let span = per_row * 400;
    boxes.extend((0..n).map(|_| {
        let [x, y] = [0; 2].map(|_| random.below(span) as f32 / 100.0 - 50.0);
        let z = random.below(200) as f32 / 100.0 - 0.5;
        Aabb::new([x, y, z], [x + 1.0, y + 1.0, z + 1.0])
    }));
    let cells = (0..(pieces + n) as i32)
        .map(|i| if i < pieces as i32 { [0, 0, SPAN as i32, SPAN as i32] } else { [i, 0, i, 0] });
    Scene::new(boxes, cells.collect(), 0)
}

#[test]
#[ignore = "long"]
fn common_ground_in_any_number_of_pieces_is_joined_with_the_boxes_of_worlds() {
    // Whole groups and rows, and those beside them.
    for pieces in [1, 4, 15, 16, 17, 31, 32, 33, 511, 512, 513, 1025, 2100] {
        let scene = on_ground(pieces, 700, pieces.into()).in_worlds(5, 2);
        assert_eq!(scene.giants.len() as u32, pieces);
        check_join(&scene, 1, 0, scene.joined_tiles());
    }
    let scene = on_ground(1300, 3000, 3).in_worlds(100, 3);
    for (tiles_per_block, capacity) in [(1, 0), (2, 5), (3, scene.joined_tiles() - 1), (4, scene.joined_tiles() + 3)] {
        check_join(&scene, tiles_per_block, 3, capacity);
    }
}

#[test]
fn giants_of_any_shape_are_joined() {
    let n = 1500u32;
    let cells: Vec<[i32; 4]> =
        (0..n as i32).map(|i| if i % 3 == 0 { [0, 0, SPAN as i32, SPAN as i32] } else { [i, 0, i, 0] }).collect();
    let all = |aabb: Aabb| vec![aabb; n as usize];
    let mut rods = ordinary(n, 5);
    let mut mixed = lattice(n, 6);
    for (i, (rod, own)) in rods.iter_mut().zip(&mut mixed).enumerate() {
        let axis = i / 3 % 3;
        (rod.min[axis], rod.max[axis]) = (f32::NEG_INFINITY, f32::INFINITY);
        match i % 18 {
            0 => own.min[axis] = f32::NEG_INFINITY,
            3 => own.max[axis] = f32::INFINITY,
            6 => (own.min[axis], own.max[axis]) = (-f32::MAX, f32::MAX),
            9 => (own.min[axis], own.max[axis]) = (-0.0, 1e-40),
            12 => (own.min[axis], own.max[axis]) = (0.0, 0.0),
            _ => {}
        }
    }
    let tiny = (0..n).map(|i| Aabb::new([i as f32 * 1e-42, 0.0, -(i as f32) * 1e-41], [1e-38; 3])).collect();
    for boxes in [
        all(Aabb::new([1.0; 3], [2.0; 3])),
        all(Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3])),
        rods,
        mixed,
        tiny,
    ] {
        let scene = Scene::new(boxes, cells.clone(), 0).in_worlds(4, 7);
        assert_eq!(scene.giants.len() as u32, n / 3);
        check_join(&scene, 2, 1, scene.joined_tiles());
    }
}

#[test]
fn giants_are_joined_with_few_of_the_rows_that_lie_apart() {
    let n = 20_000u32;
    // In a row, so that entries that follow each other lie side by side, and giants too.
    let mut boxes = ordinary(n, 3);
    boxes.sort_by(|a, b| a.min[0].total_cmp(&b.min[0]));
    let cells: Vec<[i32; 4]> =
        (0..n as i32).map(|i| if i % 10 == 0 { [0, 0, SPAN as i32, SPAN as i32] } else { [i, 0, i, 0] }).collect();
    let scene = Scene::new(boxes, cells, 0);
    assert_eq!(scene.giants.len(), 2000);
    let near = scene.joined().iter().map(|own| own.near.count_ones()).sum::<u32>();
    assert!(near > 0 && near < n / 32 * 2000 / 4, "{near} are near");
    // Of 256 rows together, too.
    let (near_tiles, tiles) = (scene.near_tiles(), scene.joined_tiles());
    assert!(near_tiles.iter().filter(|near| **near == 0).count() > 100);
    for (tiles_per_block, capacity) in [(3, tiles), (2, tiles / 3), (1, 0)] {
        check_join(&scene, tiles_per_block, 1, capacity);
    }
}

#[test]
fn many_giants_around_everything_are_joined_with_all_rows() {
    // Each invocation finds all that it can: a box in each place of its row, and each giant of its group.
    let (n, giants) = (9000usize, 50);
    let mut boxes = vec![Aabb::new([0.0; 3], [1.0; 3]); n];
    boxes[..giants].fill(Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]));
    let cells = (0..n).map(|i| if i < giants { mirror::bin::CELLS_OF_UNBOUNDED } else { [1; 4] }).collect();
    let scene = Scene::new(boxes, cells, 0);
    let joined = scene.joined();
    assert_eq!(joined.iter().map(|own| own.pairs.len()).max(), Some((GIANT_ROW * GIANT_GROUP) as usize));
    check_join(&scene, 1, 0, scene.joined_tiles());
}

#[test]
fn half_spaces_are_joined_with_the_rows_that_they_touch() {
    let n = 4000u32;
    let mut random = Random::new(5);
    let mut boxes = ordinary(n, 3);
    boxes.sort_by(|a, b| a.min[0].total_cmp(&b.min[0]));
    let middle = boxes[n as usize / 2].min;
    let mut cells: Vec<[i32; 4]> = (0..n as i32).map(|i| [i, 0, i, 0]).collect();
    let mut half_spaces = Vec::new();
    // Some follow each other, some are far apart, and giants are among them that are none.
    for index in (0..n).filter(|i| i % 97 < 2 || i % 503 == 7) {
        cells[index as usize] = mirror::bin::CELLS_OF_UNBOUNDED;
        boxes[index as usize] = Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]);
        let number = |random: &mut Random| random.below(2001) as f32 / 1000.0 - 1.0;
        let normal = if index % 3 == 0 { [1.0, 0.0, -0.0] } else { [0; 3].map(|_| number(&mut random)) };
        let offset = normal.iter().zip(middle).map(|(n, x)| n * x).sum::<f32>() * number(&mut random);
        if index % 97 != 1 && normal != [0.0; 3] {
            half_spaces.push(HalfSpace { index, normal, offset });
        }
    }
    let scene = Scene { half_spaces, ..Scene::new(boxes, cells, 0) };
    let in_a_world = Scene { worlds: vec![1; n as usize], ..scene.clone() };
    check_join(&in_a_world, 2, 1, in_a_world.joined_tiles());
    let joined = scene.joined();
    let near = joined.iter().map(|own| own.near.count_ones()).sum::<u32>();
    let all = scene.giants.len() as u32 * scene.rows().len() as u32;
    assert!(scene.half_spaces.len() > 40 && near > all / 10 && near < all * 9 / 10, "{near} of {all} are near");
    let tiles = scene.joined_tiles();
    for (tiles_per_block, capacity) in [(1, tiles), (2, tiles / 2)] {
        check_join(&scene, tiles_per_block, 1, capacity);
    }
}

#[test]
fn there_may_be_more_groups_of_giants_than_invocations() {
    let n = 300 * GIANT_GROUP;
    let boxes = ordinary(n, 3);
    let cells = (0..n as i32).map(|i| if i % 40 == 0 { [i, 0, i, 0] } else { [0, 0, SPAN as i32, SPAN as i32] });
    let scene = Scene::new(boxes, cells.collect(), 0);
    assert!(scene.giants.len() as u32 > 257 * GIANT_GROUP);
    check_join(&scene, 5, 0, scene.joined_tiles());
}

#[test]
fn coarser_cells_have_fewer_giants() {
    let mut giants = Vec::new();
    for level in 0..LEVELS {
        let scene = Scene::random(1234, 3, level, 6);
        check(&scene, 1, 0, scene.tiles());
        check_join(&scene, 1, 0, scene.joined_tiles());
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
        check_join(&scene, 2, 3, capacity);
    }
}

#[test]
fn boxes_that_are_all_giants_meet_each_other_once() {
    let n = 300u32;
    let boxes = vec![Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]); n as usize];
    let cells = vec![mirror::bin::CELLS_OF_UNBOUNDED; n as usize];
    let scene = Scene::new(boxes, cells, 3);
    assert_eq!(scene.giants.len(), n as usize);
    assert_eq!(mirror::emit::count(&scene.words()), u64::from(n * (n - 1) / 2));
    check(&scene, 1, 0, scene.tiles());
    assert_eq!(mirror::emit::joined(&scene.joined()).len() as u32, n * (n - 1) / 2);
    check_join(&scene, 1, 0, scene.joined_tiles());
}

proptest! {
    #![proptest_config(cases(24))]

    #[test]
    #[ignore = "long"]
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
        check_join(&scene, tiles_per_block, 1, scene.joined_tiles());
    }
}
