//! Filters in the stages: worlds in `bin_worlds` and `bin_count`, included pairs in `small_include` and
//! `emit_include`. That every kernel keeps the right pairs is shown by whole calls (`tests/filters`).

use broadsweep::internals::constants::*;
use broadsweep::internals::filters::lists::FilterLists;
use broadsweep::internals::grid::bin::Bins;
use broadsweep::internals::layout::{Counts, Params, Window};
use broadsweep::internals::mirror;
use broadsweep::internals::pairs::emit::Emit;
use broadsweep::internals::pairs::small::Small;
use broadsweep::internals::pairs::sweep::Hits;
use broadsweep::{Aabb, Filters, Pair};

use crate::bin_count::unpacked;
use crate::bin_level::uncounted_bins;
use crate::emit::poisoned_list;
use crate::grid::{BIN, searched};
use crate::inputs::{Random, lattice, mixed};
use crate::path::no_hits;
use crate::*;

// ---- worlds ----

/// Worlds numbered from zero as their ids are, where the engines number them in another order.
fn numbered(world_count: u32, n: usize, seed: u64) -> Vec<u32> {
    let mut random = Random::new(seed);
    let mut any = |i: usize| match random.below(9) {
        0 => WORLD_GLOBAL,
        _ if i < world_count as usize => i as u32,
        _ => random.below(world_count),
    };
    (0..n).map(&mut any).collect()
}

/// Creates the lists of these worlds, with these numbers in place of those that the engine would give.
fn lists(worlds: &[u32]) -> FilterLists {
    let lists = FilterLists::of(gpu(), &Filters::default().with_world(worlds.to_vec()), worlds.len()).unwrap();
    lists.words.write(gpu(), worlds);
    lists
}

fn check_worlds(boxes: &[Aabb], world_count: u32, cell: f32) {
    let n = boxes.len() as u32;
    let worlds = numbered(world_count, boxes.len(), u64::from(n));
    let bounds = mirror::pca::bounds(boxes);
    let host = Params {
        box_count: n,
        axis: AXIS_X,
        cell_mode: CELL_FIXED,
        cell_size: cell,
        world_count,
        key_bits: KEY_BITS,
        ..Params::zeroed()
    };
    let host_frame = mirror::frame::choose(&host, boxes, &bounds);
    let (params, input, frame) = (uniform(host), upload(boxes), uniform(host_frame));
    let lists = lists(&worlds);
    let world_cells = guarded(&vec![[0; 4]; world_count as usize]);
    let searched = searched(&params, &input, &lists);
    run(|pass| BIN.record_worlds(pass, &searched, &frame, &world_cells));
    let found: Vec<[u32; 4]> = written(&world_cells);
    let mut mirror = vec![[0; 4]; world_count as usize];
    mirror::bin::worlds(boxes, &worlds, &host_frame, &mut mirror);
    // Where a coordinate is scaled and widened, a driver may fuse a multiplication.
    let near = |a: u32, b: u32| (a == 0) == (b == 0) && a.abs_diff(b) <= 1 + (b.abs_diff(CELL_BASE as u32) >> 20);
    let is_near = |(a, b): (&[u32; 4], &[u32; 4])| (0..4).all(|k| near(a[k], b[k]));
    assert!(found.iter().zip(&mirror).all(is_near), "{n} boxes in {world_count} worlds: {found:?}, {mirror:?}");

    // With the mirror's ranges, boxes without an end have the mirror's cells.
    let blocks = n.div_ceil(BIN_BLOCK) as usize;
    let bins =
        Bins { cells: poisoned(boxes.len()), box_ends: poisoned(boxes.len()), block_counts: uncounted_bins(blocks) };
    let ranges = upload(&mirror);
    run(|pass| BIN.record_count(pass, &searched, &frame, &ranges, &bins));
    let (cells, positions) = unpacked(&bins);
    let (mut own_cells, mut own_positions) = (vec![[0; 4]; boxes.len()], vec![[0; 4]; boxes.len()]);
    mirror::bin::count(boxes, &worlds, &mirror, &host_frame, &mut own_cells, &mut own_positions);
    let start_bits = (1u64 << host_frame.position_bits) as u32 - 1;
    for i in 0..boxes.len() {
        let what = format!("box {i} of world {}: {:?}", worlds[i], boxes[i]);
        let is_inside = mirror::pca::counts_within(&boxes[i], host_frame.limit);
        if is_inside && worlds[i] != WORLD_GLOBAL {
            assert_eq!(positions[i][0] & !start_bits, own_positions[i][0] & !start_bits, "tile of {what}");
            // The range of the world contains the ranges of its boxes, also after another rounding.
            for &other in worlds
                .iter()
                .zip(0..)
                .filter(|(world, _)| **world == worlds[i])
                .map(|(_, j)| j)
                .collect::<Vec<_>>()
                .iter()
            {
                let range: [i32; 4] = cells[other];
                if boxes[other].is_valid() && !mirror::pca::counts_within(&boxes[other], host_frame.limit) {
                    assert!(range[0] <= cells[i][0] && range[1] <= cells[i][1], "{range:?} for {:?}: {what}", cells[i]);
                    assert!(range[2] >= cells[i][2] && range[3] >= cells[i][3], "{range:?} for {:?}: {what}", cells[i]);
                }
            }
        } else {
            assert_eq!((cells[i], positions[i]), (own_cells[i], own_positions[i]), "{what}");
        }
    }
}

#[test]
fn boxes_without_an_end_are_in_all_cells_of_their_world() {
    for n in SIZES {
        for world_count in [1, 2, 17, 300] {
            for cell in [0.01, 1.0, 50.0] {
                check_worlds(&mixed(n, 3), world_count, cell);
            }
            check_worlds(&lattice(n, 4), world_count, 1.0);
        }
    }
}

#[test]
fn ranges_of_cells_far_out_allow_for_the_rounding_there() {
    let mut random = Random::new(5);
    let mut boxes = mixed(600, 6);
    for aabb in boxes.iter_mut().step_by(3) {
        let far = [0; 3].map(|_| random.between(-1e6, 1e6));
        *aabb = Aabb::new(far, far.map(|x| x + 1.0));
    }
    check_worlds(&boxes, 5, 0.001);
    check_worlds(&boxes, 5, 1.0);
}

// ---- included pairs ----

/// Creates ascending pairs of this many boxes, each once.
fn some_pairs(n: u32, wanted: u32) -> Vec<Pair> {
    let mut random = Random::new(u64::from(n));
    let mut pairs: Vec<Pair> = (0..wanted)
        .filter_map(|_| {
            let (a, b) = (random.below(n), random.below(n));
            (a != b).then(|| Pair::new(a, b))
        })
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

#[test]
fn included_pairs_are_bits_among_those_of_all_tests() {
    let small = Small::new(gpu());
    for n in [2, 31, 33, 255, 256, 257, 1234] {
        let blocks = (n as usize).div_ceil(256);
        let included = some_pairs(n, 700);
        let words = guarded(&vec![0u32; blocks * (blocks + 1) / 2 * 8 * 256]);
        let block_hits = guarded(&vec![0u32; blocks * (blocks + 1) / 2 * 8]);
        let params = uniform(Params {
            box_count: n,
            include_count: included.len() as u32,
            vertices_per_pair: 24,
            ..Params::zeroed()
        });
        let hits = Hits { hit_words: words, block_hits, ..no_hits() };
        run(|pass| small.record_include(pass, &params, &upload(&included), &hits));

        // The pairs written from the bits are the list, in its order.
        let boxes = upload(&vec![Aabb::new([0.0; 3], [0.0; 3]); n as usize]);
        let window = uniform(Window { first_low: 0, first_high: 0, capacity: 1000, unused: 0 });
        let (list, counts) = (poisoned_list(included.len() as u32), poisoned(1));
        let searched = searched(&params, &boxes, no_filters());
        run(|pass| small.record_emit(pass, &searched, &window, &hits, &counts, &list));
        assert_eq!(written(&list.pairs), included, "{n} boxes");
        assert_eq!(written::<Counts>(&counts)[0].pair_low, included.len() as u32);
        let _ = (written(&hits.hit_words), written(&hits.block_hits));
    }
}

#[test]
fn included_pairs_come_behind_those_that_were_found_in_any_window() {
    let emit = Emit::new(gpu());
    let included = some_pairs(1000, 700);
    let count = included.len() as u64;
    for found in [0, 5, (1 << 32) - 3, 1 << 40] {
        let [pair_low, pair_high] = halves(found + count);
        let counts = counted(Counts { pair_low, pair_high, ..Counts::zeroed() });
        let params = uniform(Params { include_count: count as u32, ..Params::zeroed() });
        for first in [0, found.saturating_sub(2), found, found + 1, found + count - 1, found + count, found + count + 1]
        {
            for capacity in [0, 1, 300, 2000] {
                let [first_low, first_high] = halves(first);
                let window = uniform(Window { first_low, first_high, capacity, unused: 0 });
                let list = poisoned::<Pair>(capacity as usize);
                run(|pass| emit.record_include(pass, &params, &window, &counts, &upload(&included), &list));
                for (place, pair) in (first..).zip(written(&list)) {
                    match place.checked_sub(found).and_then(|place| included.get(place as usize)) {
                        Some(expected) => assert_eq!(pair, *expected, "number {place} of a window from {first} on"),
                        None => assert!(is_poison(&pair), "number {place} of a window from {first} on"),
                    }
                }
            }
        }
    }
}
