//! Proven candidates: they are not tested exactly, so each of them must be a pair.

use std::ops::Range;

use broadsweep::internals::brute_force;
use broadsweep::internals::constants::*;
use broadsweep::internals::layout::Frame;
use broadsweep::internals::mirror::{bin, rank, sort, sweep};
use broadsweep::{Aabb, BroadPhase, CellSize, Options, PairOrder, SweepAxis};
use laboratory::scenes::Kind;

use crate::bin_count::frame_of;
use crate::gpu;
use crate::inputs::{Random, lattice};

/// Moves a number by a few units in its last place.
fn nudged(x: f32, by: i32) -> f32 {
    // Up and down in the order of the numbers, through zero.
    let ordered = if x.to_bits() >> 31 == 1 { i32::MIN.wrapping_sub(x.to_bits() as i32) } else { x.to_bits() as i32 };
    let moved = ordered + by;
    f32::from_bits(if moved < 0 { i32::MIN.wrapping_sub(moved) as u32 } else { moved as u32 })
}

/// Creates boxes with corners on a lattice, nudged so that neighbours touch, overlap or miss each other by a hair.
fn near_misses(n: u32, step: f32, offset: f32, seed: u64) -> Vec<Aabb> {
    let mut random = Random::new(seed);
    let side = (f64::from(n).cbrt() * 1.3) as u32 + 1;
    let mut corner = |k: u32| nudged(offset + step * k as f32, random.below(5) as i32 - 2);
    let mut places = Random::new(seed + 1);
    (0..n)
        .map(|_| {
            let first = [(); 3].map(|()| places.below(side));
            let min = first.map(&mut corner);
            let max = first.map(|k| corner(k + 1));
            Aabb::new(std::array::from_fn(|k| min[k].min(max[k])), std::array::from_fn(|k| min[k].max(max[k])))
        })
        .collect()
}

/// Creates small boxes, some shifted by powers of two, so that they have the same ids where ids repeat; one box is far
/// away.
fn repeated(n: u32, seed: u64) -> Vec<Aabb> {
    let mut random = Random::new(seed);
    let mut boxes: Vec<_> = (0..n)
        .map(|_| {
            let shift = [(); 3].map(|()| if random.below(3) == 0 { (1 << random.below(14)) as f32 } else { 0.0 });
            let min: [f32; 3] = std::array::from_fn(|k| random.between(-4.0, 4.0) + shift[k]);
            Aabb::new(min, min.map(|x| x + 1.0))
        })
        .collect();
    boxes.push(Aabb::new([1e6; 3], [1e6 + 1.0; 3]));
    boxes
}

/// Checks that all proven candidates overlap, with cells of this size and at these levels; returns how many were
/// proven, and how many survived.
fn check(boxes: &[Aabb], axis: u32, cell: Option<f32>, levels: Range<u32>) -> [usize; 2] {
    check_in(&frame_of(boxes, axis, cell), boxes, levels)
}

/// Does as [`check`] in a frame.
fn check_in(frame: &Frame, boxes: &[Aabb], levels: Range<u32>) -> [usize; 2] {
    let (mut cells, mut positions) = (vec![[0; 4]; boxes.len()], vec![[0; 4]; boxes.len()]);
    bin::count(boxes, &[], &[], frame, &mut cells, &mut positions);
    for ((position, &own), aabb) in positions.iter_mut().zip(&cells).zip(boxes) {
        if bin::is_binned(own) && bin::is_plain(aabb, frame, own, *position) {
            position[2] |= FOOTPRINT_PLAIN;
        }
    }
    let mut found = [0; 2];
    for level in levels {
        let mut positions = positions.clone();
        let bin::Entries { mut keys, mut entries, .. } = bin::scatter(&cells, &mut positions, frame, level);
        sort::sort(&mut keys, &mut entries, frame.key_bits);
        let ends = rank::ends(frame, &keys, &entries, &positions);
        let unproven = rank::unproven(frame, &keys, &entries, &positions, &ends);
        let footprints = rank::footprints(&entries, &positions);
        for a in 0..entries.len() {
            let candidates = a + 1..ends[a] as usize;
            let proven_end = if unproven[a] == ALL_UNPROVEN { 0 } else { ends[a] - unproven[a] };
            for b in candidates.filter(|&b| sweep::survives(footprints[a], footprints[b])) {
                let is_proven = (b as u32) < proven_end && sweep::is_proven(footprints[a], footprints[b]);
                let [one, other] = [a, b].map(|rank| &boxes[(entries[rank] & ENTRY_BOX) as usize]);
                assert!(!is_proven || one.overlaps(other), "level {level}: {one:?} and {other:?} in {frame:?}");
                found[0] += usize::from(is_proven);
                found[1] += 1;
            }
        }
    }
    found
}

/// Checks a scene with every axis and cells of several sizes, and the GPU's pairs against brute force.
fn check_all(name: &str, boxes: &[Aabb]) -> [usize; 2] {
    let mut all = [0; 2];
    let extent = boxes.iter().map(|aabb| aabb.max[0] - aabb.min[0]).filter(|edge| edge.is_finite()).fold(0.0, f32::max);
    for axis in [AXIS_AUTO, AXIS_PRINCIPAL, AXIS_X, AXIS_X + 1, AXIS_X + 2] {
        for cell in [None, Some(1.0), Some(0.3 * extent), Some(7.0 * extent)] {
            let cell = cell.filter(|&size| size > 0.0 && size < f32::MAX);
            let found = check(boxes, axis, cell, 0..LEVELS);
            all = [all[0] + found[0], all[1] + found[1]];
        }
    }
    let expected = brute_force::find_pairs(boxes);
    for axis in [SweepAxis::Auto, SweepAxis::X, SweepAxis::Z] {
        for cell_size in [CellSize::Auto, CellSize::Fixed(1.0)] {
            let options = Options::default()
                .with_axis(axis)
                .with_cell_size(cell_size)
                .with_order(PairOrder::Canonical)
                .with_all_pairs_up_to(Some(0));
            let _turn = crate::turn();
            let mut broad_phase = BroadPhase::new(gpu(), options).unwrap();
            let pairs = &broad_phase.find_pairs(boxes).unwrap().pairs;
            assert!(*pairs == expected, "{name}: {} pairs instead of {}", pairs.len(), expected.len());
        }
    }
    all
}

#[test]
fn neighbours_that_miss_each_other_by_a_hair_are_not_proven() {
    for (step, offset) in [(1.0, 0.0), (1.0, -7.0), (0.1, 0.0), (0.1, 1000.0), (1.0, 1e6), (1e-3, 0.0), (3.0, -1e5)] {
        let boxes = near_misses(700, step, offset, 1);
        let found = check_all(&format!("{step} from {offset}"), &boxes);
        // All touch or miss: next to nothing is shared.
        assert!(found[1] > 1000, "{found:?}");
    }
}

#[test]
#[ignore = "long"]
fn the_largest_and_smallest_numbers_are_never_proven_and_wrong() {
    for scale in [1e-38, 1e-40, 1e-30, 1e30, 1e37] {
        let scaled = |aabb: &Aabb| Aabb::new(aabb.min.map(|x| x * scale), aabb.max.map(|x| x * scale));
        for boxes in [Kind::Uniform.generate(400, 2), lattice(400, 3), near_misses(300, 1.0, -3.0, 4)] {
            check_all(&format!("times {scale}"), &boxes.iter().map(scaled).collect::<Vec<_>>());
        }
    }
}

#[test]
fn boxes_of_one_id_that_are_far_apart_are_not_proven() {
    for seed in 0..3 {
        let found = check_all("repeated", &repeated(900, seed));
        assert!(found[0] > 0 && found[1] > found[0], "{found:?}");
    }
}

#[test]
#[ignore = "long"]
fn proven_candidates_are_pairs_in_every_kind_of_scene() {
    for kind in Kind::ALL {
        check_all(kind.name(), &kind.generate(300, 5));
    }
}

#[test]
fn the_slop_of_the_outermost_cells_is_less_than_proven_candidates_share() {
    // 4,096 cells along u and v, more than so few boxes would get, and boxes in the last hundreds of them.
    let mut random = Random::new(7);
    let mut boxes: Vec<_> = (0..3000)
        .map(|i| {
            // Every second box begins where the one before it ends, or misses it by a hair.
            let place = 3900.0 + (i / 2) as f32 * 0.0617;
            let low = if i % 2 == 0 { place - 5.0 } else { nudged(place, random.below(4) as i32 - 1) };
            let wide = |low: f32| (low, low + 5.0);
            let (y, z) = if i % 4 < 2 { (wide(low), (3990.3, 4000.3)) } else { ((3990.3, 4000.3), wide(low)) };
            let x = (i % 7) as f32 * 0.1;
            Aabb::new([x, y.0, z.0], [x + 1.0, y.1, z.1])
        })
        .collect();
    boxes.push(Aabb::new([0.0; 3], [1.0; 3]));
    boxes.push(Aabb::new([0.0, 4094.0, 4094.0], [1.0, 4095.0, 4095.0]));
    let mut frame = frame_of(&boxes, AXIS_X, Some(1.0));
    let finer = 2f32.powi(8 - frame.position_bits as i32);
    frame.knots.iter_mut().for_each(|knot| knot[1] *= finer);
    let frame = Frame {
        origin: [0.0; 2],
        cell_min: [0; 2],
        cell_max: [4095; 2],
        max_span: [4096; 2],
        cell_bits: [12; 2],
        tile_bits: [12; 2],
        position_bits: 8,
        key_bits: 32,
        ..frame
    };
    let [proven, survivors] = check_in(&frame, &boxes, 0..LEVELS);
    assert!(0 < proven && proven < survivors, "{proven} of {survivors}");
}

#[test]
fn most_pairs_of_ordinary_boxes_are_proven() {
    let boxes = Kind::Uniform.generate(20_000, 1);
    let [proven, survivors] = check(&boxes, AXIS_AUTO, None, 0..1);
    assert!(proven * 10 > survivors * 7, "{proven} of {survivors}");
}
