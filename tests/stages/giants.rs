//! `giants_test`.

use std::sync::LazyLock;

use broadsweep::filter::HalfSpace;
use broadsweep::internals::constants::*;
use broadsweep::internals::filters::lists::FilterLists;
use broadsweep::internals::grid::{Entries, GridSummary};
use broadsweep::internals::layout::{Counts, Frame, Params, dispatch_size};
use broadsweep::internals::mirror;
use broadsweep::internals::pairs::giants::GiantsStage;
use broadsweep::internals::pairs::sweep::Hits;
use broadsweep::{Aabb, Filters};
use proptest::prelude::*;

use crate::bin_scatter::{SPAN, random_cells};
use crate::grid::{searched, sorted, summary};
use crate::inputs::{Random, lattice, ordinary};
use crate::path::{TILE_WORDS, block_words, no_hits, no_path, uncounted};
use crate::*;

static GIANTS: LazyLock<GiantsStage> = LazyLock::new(|| GiantsStage::new(gpu()));

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

    /// Creates the entries and the giants of boxes with cells.
    pub fn new(boxes: Vec<Aabb>, cells: Vec<[i32; 4]>, level: u32) -> Self {
        let mirror::bin::Entries { giants, entries, .. } =
            mirror::bin::scatter(&cells, &mut vec![[0; 4]; boxes.len()], &frame(), level);
        Self { boxes, cells, level, giants, entries, half_spaces: Vec::new(), worlds: Vec::new() }
    }

    /// Creates the entries and the giants as inputs.
    pub fn sorted(&self) -> Entries {
        // Nobody reads what lies between the two.
        let mut lists = self.entries.clone();
        lists.resize(lists.len().next_multiple_of(ENTRY_ALIGNMENT as usize), u32::MAX);
        lists.extend(&self.giants);
        sorted(&[], &lists)
    }

    pub fn rows(&self) -> Vec<mirror::giants::Row> {
        mirror::giants::rows(&self.boxes, &self.entries, &self.giants)
    }

    /// Returns what groups of giants and rows have in common, in tiles.
    pub fn joined(&self) -> Vec<mirror::giants::Joined> {
        mirror::giants::join(self.many(), &self.rows())
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
        Filters::default().with_world(self.worlds.clone()).with_half_spaces(self.half_spaces.clone())
    }
}

/// Pairs of each block of tiles of joined giants.
pub fn hits_of_joined(joined: &[mirror::giants::Joined], tiles_per_block: u32) -> Vec<u32> {
    let hits_of = |block: &[mirror::giants::Joined]| block.iter().map(|own| own.pairs.len() as u32).sum();
    joined.chunks(TILE_WORDS * tiles_per_block as usize).map(hits_of).collect()
}

/// Checks that giants are tested as by the mirror.
fn check(scene: &Scene, tiles_per_block: u32) {
    let joined = scene.joined();
    let tiles = (joined.len() / TILE_WORDS) as u32;
    let blocks = tiles.div_ceil(tiles_per_block);
    let entry_capacity = scene.entries.len() as u32;
    let params = uniform(Params { box_count: scene.boxes.len() as u32, entry_capacity, ..Params::zeroed() });
    let counts = counted(Counts {
        level: scene.level,
        entry_count: scene.entries.len() as u32,
        giant_count: scene.giants.len() as u32,
        giant_tiles: tiles,
        giant_tiles_per_block: tiles_per_block,
        giant_blocks: blocks,
        ..Counts::zeroed()
    });
    let (boxes, sorted) = (upload(&scene.boxes), scene.sorted());
    let path = no_path();
    let filters = scene.filters();
    let lists = FilterLists::of(gpu(), &filters, scene.boxes.len()).unwrap();
    // The first workgroup has no block.
    for size in [dispatch_size(1 + blocks), in_columns(1 + blocks + 3)] {
        let summary = GridSummary { giant_sizes: guarded(&[size]), ..summary(&counts) };
        let hits = Hits { block_hits: uncounted(blocks), ..no_hits() };
        run(|pass| GIANTS.record(pass, &searched(&params, &boxes, &lists), &summary, &sorted, &path, &hits));
        let expected = block_words(&hits_of_joined(&joined, tiles_per_block));
        assert!(written(&hits.block_hits) == expected, "hits of {} giants differ", scene.giants.len());
    }
}

#[test]
#[ignore = "long"]
fn hits_of_giants_are_those_of_the_mirror() {
    for n in SIZES.into_iter().chain([8191, 8192, 8193, 20_000]) {
        let scene = Scene::random(n, n / 30 + 1, 0, u64::from(n));
        for tiles_per_block in [1, 3] {
            check(&scene, tiles_per_block);
        }
        if n > 0 {
            let scene = scene.in_worlds(3, 1);
            check(&scene, 1);
        }
    }
}

/// Creates this many pieces of ground in rows, in any order, and `n` boxes all over the ground with cells of their own.
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
        check(&scene, 1);
    }
    let scene = on_ground(1300, 3000, 3).in_worlds(100, 3);
    for tiles_per_block in [1, 2, 3, 4] {
        check(&scene, tiles_per_block);
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
        check(&scene, 2);
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
    for tiles_per_block in [1, 3] {
        check(&scene, tiles_per_block);
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
    check(&scene, 1);
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
    check(&in_a_world, 2);
    let joined = scene.joined();
    let near = joined.iter().map(|own| own.near.count_ones()).sum::<u32>();
    let all = scene.giants.len() as u32 * scene.rows().len() as u32;
    assert!(scene.half_spaces.len() > 40 && near > all / 10 && near < all * 9 / 10, "{near} of {all} are near");
    for tiles_per_block in [1, 2] {
        check(&scene, tiles_per_block);
    }
}

#[test]
fn there_may_be_more_groups_of_giants_than_invocations() {
    let n = 300 * GIANT_GROUP;
    let boxes = ordinary(n, 3);
    let cells = (0..n as i32).map(|i| if i % 40 == 0 { [i, 0, i, 0] } else { [0, 0, SPAN as i32, SPAN as i32] });
    let scene = Scene::new(boxes, cells.collect(), 0);
    assert!(scene.giants.len() as u32 > 257 * GIANT_GROUP);
    check(&scene, 5);
}

#[test]
fn coarser_cells_have_fewer_giants() {
    let mut giants = Vec::new();
    for level in 0..LEVELS {
        let scene = Scene::random(1234, 3, level, 6);
        check(&scene, 1);
        giants.push(scene.giants.len());
    }
    // At the coarsest level only those without bounds are left.
    assert!(giants[0] > 2 * giants[7] && giants[7] > 0, "{giants:?}");
}

#[test]
fn boxes_that_are_all_giants_meet_each_other_once() {
    let n = 300u32;
    let boxes = vec![Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]); n as usize];
    let cells = vec![mirror::bin::CELLS_OF_UNBOUNDED; n as usize];
    let scene = Scene::new(boxes, cells, 3);
    assert_eq!(scene.giants.len(), n as usize);
    let words = |&giant: &u32| mirror::giants::test(&scene.boxes, &scene.cells, &frame(), scene.level, giant);
    assert_eq!(
        scene.giants.iter().map(|giant| mirror::emit::count(&words(giant))).sum::<u64>(),
        u64::from(n * (n - 1) / 2)
    );
    assert_eq!(mirror::emit::joined(&scene.joined()).len() as u32, n * (n - 1) / 2);
    check(&scene, 1);
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
        check(&scene, tiles_per_block);
    }
}
