//! `bin_count`, with the frame of the mirror: cells and positions cover every box, and not much more.

use broadsweep::Aabb;
use broadsweep::internals::constants::*;
use broadsweep::internals::grid::bin::Bins;
use broadsweep::internals::layout::{Frame, Params, cells_from, packed_cells};
use broadsweep::internals::mirror;
use laboratory::scenes::Kind;
use proptest::prelude::*;

use crate::bin_level::{grouped, uncounted_bins};
use crate::grid::{BIN, searched};
use crate::inputs::{Random, any_box, lattice, mixed, ordinary};
use crate::*;

/// Returns the mirror's frame.
pub fn frame_of(boxes: &[Aabb], axis: u32, cell: Option<f32>) -> Frame {
    let (cell_mode, cell_size) = cell.map_or((CELL_AUTO, 0.0), |size| (CELL_FIXED, size));
    let params =
        Params { box_count: boxes.len() as u32, axis, cell_mode, cell_size, key_bits: KEY_BITS, ..Params::zeroed() };
    let bounds = mirror::pca::bounds(boxes);
    mirror::frame::choose(&params, boxes, &bounds)
}

/// Returns what `bin_count` leaves of cells and positions of the mirror: `cells`, and `box_ends`.
pub fn packed(cells: &[[i32; 4]], positions: &[[u32; 4]]) -> (Vec<[u32; 4]>, Vec<[u32; 2]>) {
    (cells.iter().zip(positions).map(|(&cells, at)| packed_cells(cells, at[0])).collect(), ends_of(positions))
}

/// Returns what `rank_ends` wants of positions of the mirror.
pub fn ends_of(positions: &[[u32; 4]]) -> Vec<[u32; 2]> {
    positions.iter().map(|&[_, end, footprint, _]| [end, footprint]).collect()
}

/// Returns cells and positions, as the mirror has them, from what a kernel wrote.
pub fn unpacked(bins: &Bins) -> (Vec<[i32; 4]>, Vec<[u32; 4]>) {
    let (words, ends) = (written(&bins.cells), written(&bins.box_ends));
    assert!(!words.iter().any(is_poison) && !ends.iter().any(is_poison));
    let positions = words.iter().zip(&ends).map(|(words, &[end, footprint])| [words[3], end, footprint, 0]).collect();
    (words.into_iter().map(cells_from).collect(), positions)
}

#[derive(Debug, PartialEq)]
struct Counted {
    cells: Vec<[i32; 4]>,
    positions: Vec<[u32; 4]>,
    block_counts: Vec<u32>,
}

fn count(boxes: &[Aabb], frame: &Frame) -> Counted {
    let blocks = boxes.len().div_ceil(BIN_BLOCK as usize);
    let bins =
        Bins { cells: poisoned(boxes.len()), box_ends: poisoned(boxes.len()), block_counts: uncounted_bins(blocks) };
    let n = boxes.len() as u32;
    let params = uniform(Params { box_count: n, ..Params::zeroed() });
    let (input, frame) = (upload(boxes), uniform(*frame));
    let searched = searched(&params, &input, no_filters());
    run(|pass| BIN.record_count(pass, &searched, &frame, &upload(&[[0; 4]]), &bins));
    let (cells, positions) = unpacked(&bins);
    let mut words = written(&bins.block_counts);
    let block_counts = words.split_off(blocks.div_ceil(BIN_GROUP as usize) * BIN_COUNTS as usize);
    assert_eq!(words, grouped(block_counts.as_chunks().0).as_flattened());
    Counted { cells, positions, block_counts }
}

/// Returns the interval of a box on a direction in double precision, where nothing is lost.
fn project(direction: [f32; 3], scale: f32, aabb: &Aabb) -> [f64; 2] {
    let mut interval = [0.0; 2];
    for (k, d) in direction.into_iter().map(f64::from).enumerate() {
        let (low, high) = (f64::from(aabb.min[k] * scale), f64::from(aabb.max[k] * scale));
        interval[0] += d * if d > 0.0 { low } else { high };
        interval[1] += d * if d > 0.0 { high } else { low };
    }
    interval
}

/// Cells and fractions as one number each that ascends with the coordinate: first u, first v, last u, last v.
fn places(cells: [i32; 4], footprint: u32) -> [i64; 4] {
    let [u0, u1, v0, v1] = footprint.to_le_bytes().map(|byte| i64::from(byte & 0x7f));
    let fractions = [u0, v0, u1, v1];
    std::array::from_fn(|k| i64::from(cells[k]) * 128 + fractions[k])
}

/// Checks that first and last cell with their fractions contain the exact interval, and are at most by the slop and as
/// much rounding wider.
fn check_places(frame: &Frame, aabb: &Aabb, found: [i64; 4]) {
    for k in 0..2 {
        let direction = [frame.plane_u, frame.plane_v][k];
        let [low, high] = project(direction, frame.scale, aabb)
            .map(|x| (x - f64::from(frame.origin[k])) * f64::from(frame.inverse_cell));
        // The first step of the first cell and the last of the last one stand for all that is beyond.
        let [least, most] = [i64::from(frame.cell_min[k]) * 128, i64::from(frame.cell_max[k]) * 128 + 127];
        let place = |at: f64| {
            let reach = f64::from(CELL_REACH);
            ((at.clamp(-reach, reach) * 128.0).floor() as i64).clamp(least, most)
        };
        let wider = |at: f64| 2.0 * f64::from(frame.plane_slop) + at.abs() * 2.0 * f64::from(RELATIVE_SLOP);
        let (first, last) = (found[k], found[k + 2]);
        assert!((place(low - wider(low))..=place(low)).contains(&first), "first place {first} of {low}: {aabb:?}");
        assert!((place(high)..=place(high + wider(high))).contains(&last), "last place {last} of {high}: {aabb:?}");
    }
}

/// Checks that start and end contain the exact interval, and are at most by the slop, as much rounding, and a quantum
/// wider.
fn check_positions(frame: &Frame, aabb: &Aabb, [start, end]: [u32; 2]) {
    let [from, to] = project(frame.sweep, frame.scale, aabb);
    let at = |x: f64| mirror::bin::position(frame, x as f32);
    let slop = 2.0 * f64::from(frame.sweep_slop);
    let last = (1 << frame.position_bits) - 1;
    assert!(start <= at(from) && start >= at(from - slop).saturating_sub(1), "start {start} of {from}: {aabb:?}");
    assert!(end >= at(to) && end <= (at(to + slop) + 1).min(last), "end {end} of {to}: {aabb:?}");
}

fn check(boxes: &[Aabb], frame: &Frame) -> Counted {
    let counted = count(boxes, frame);
    let mut cells = vec![[0; 4]; boxes.len()];
    let mut positions = vec![[0; 4]; boxes.len()];
    mirror::bin::count(boxes, &[], &[], frame, &mut cells, &mut positions);
    let straight = frame.sweep_slop == 0.0;
    for (i, aabb) in boxes.iter().enumerate() {
        let (found, mirror) = (counted.cells[i], cells[i]);
        if mirror::bin::is_binned(mirror) {
            let [start, end, footprint, _] = counted.positions[i];
            check_places(frame, aabb, places(found, footprint));
            check_positions(frame, aabb, [start, end]);
            let is_plain = mirror::bin::is_plain(aabb, frame, found, counted.positions[i]);
            let flags = if is_plain { FOOTPRINT_PLAIN } else { 0 };
            assert_eq!(footprint & !0x7f7f_7f7f, flags, "{aabb:?}");
            if straight {
                // Where an interval is widened or scaled, a driver may fuse or distribute a multiplication.
                assert!((0..4).all(|k| found[k].abs_diff(mirror[k]) <= 1), "{found:?} for {mirror:?}: {aabb:?}");
                let (own, others) = (places(found, footprint), places(mirror, positions[i][2]));
                // An ulp of a cell coordinate beyond 2^16 is a step of a fraction or more.
                let near = |k: usize| own[k].abs_diff(others[k]) <= 1 + u64::from(mirror[k].unsigned_abs() >> 14);
                assert!((0..4).all(near), "{own:?} for {others:?}: {aabb:?}");
                let apart = start.abs_diff(positions[i][0]).max(end.abs_diff(positions[i][1]));
                assert!(apart <= 1, "{:?} for {:?}: {aabb:?}", counted.positions[i], positions[i]);
            }
        } else {
            assert_eq!((found, counted.positions[i]), (mirror, [0; 4]), "{aabb:?}");
        }
    }
    // The counts are those of the kernel's own cells.
    let mut block_counts = Vec::new();
    for block in counted.cells.chunks(BIN_BLOCK as usize) {
        let binned = || block.iter().filter(|&&cells| mirror::bin::is_binned(cells));
        for level in 0..LEVELS {
            block_counts.push(binned().map(|&cells| mirror::bin::cell_count(cells, level, frame)).sum());
        }
        for level in 0..LEVELS {
            let giant = |cells: &&[i32; 4]| mirror::bin::is_giant(**cells, level, frame);
            block_counts.push(block.iter().filter(giant).count() as u32);
        }
        block_counts.push(block.iter().filter(|&&cells| cells == mirror::bin::CELLS_OF_INVALID).count() as u32);
    }
    assert_eq!(counted.block_counts, block_counts);
    counted
}

/// Boxes that overlap share a cell, neither starts after the other's end, and in the cell to which the pair belongs
/// their footprints let them pass: at every level of coarsening.
fn check_coverage(boxes: &[Aabb], frame: &Frame, counted: &Counted) {
    let mut pairs = broadsweep::internals::brute_force::find_pairs(boxes);
    pairs.retain(|pair| [pair.a, pair.b].iter().all(|&i| mirror::bin::is_binned(counted.cells[i as usize])));
    for pair in &pairs {
        let (a, b) = (pair.a as usize, pair.b as usize);
        let (cells_a, cells_b) = (counted.cells[a], counted.cells[b]);
        let meet = (0..2).all(|k| cells_a[k] <= cells_b[k + 2] && cells_b[k] <= cells_a[k + 2]);
        assert!(meet, "{:?} in {cells_a:?} and {:?} in {cells_b:?}", boxes[a], boxes[b]);
        let ([start_a, end_a, ..], [start_b, end_b, ..]) = (counted.positions[a], counted.positions[b]);
        assert!(start_a <= end_b && start_b <= end_a, "{:?} and {:?} miss each other", boxes[a], boxes[b]);
    }
    for level in 0..LEVELS {
        let mut positions = counted.positions.clone();
        mirror::bin::scatter(&counted.cells, &mut positions, frame, level);
        let is_entered = |&i: &u32| !mirror::bin::is_giant(counted.cells[i as usize], level, frame);
        for pair in pairs.iter().filter(|pair| is_entered(&pair.a) && is_entered(&pair.b)) {
            let footprints = [[pair.a, pair.b], [pair.b, pair.a]].map(|[i, other]| {
                let [own, others] = [i, other].map(|i| mirror::bin::coarse(counted.cells[i as usize], level));
                let owner = [0, 1].map(|k| own[k].max(others[k]));
                let is = |held: bool, flag: u32| if held { flag } else { 0 };
                let entry = is(own[0] == owner[0], ENTRY_FIRST_U)
                    | is(own[1] == owner[1], ENTRY_FIRST_V)
                    | is(own[2] == owner[0], ENTRY_LAST_U)
                    | is(own[3] == owner[1], ENTRY_LAST_V);
                mirror::rank::footprints(&[entry], &[positions[i as usize]])[0]
            });
            let [a, b] = [pair.a, pair.b].map(|i| boxes[i as usize]);
            assert!(
                mirror::sweep::survives(footprints[0], footprints[1]),
                "{a:?} and {b:?} at level {level}: {footprints:x?}"
            );
            assert!(
                mirror::sweep::survives(footprints[1], footprints[0]),
                "{b:?} and {a:?} at level {level}: {footprints:x?}"
            );
        }
    }
}

/// Checks that the later a coordinate, the later its place: no first place is after the last place of a box whose end
/// is not before that start, in any frame along the axes.
fn check_order(boxes: &[Aabb], frame: &Frame, counted: &Counted) {
    let binned: Vec<_> = (0..boxes.len()).filter(|&i| mirror::bin::is_binned(counted.cells[i])).collect();
    for (k, direction) in [frame.plane_u, frame.plane_v].into_iter().enumerate() {
        let axis = direction.iter().position(|&x| x == 1.0).expect("an axis");
        let place = |i: usize| places(counted.cells[i], counted.positions[i][2]);
        let mut ends: Vec<_> = binned.iter().map(|&i| (boxes[i].max[axis], place(i)[k + 2])).collect();
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        // The least last place from here on.
        for at in (1..ends.len()).rev() {
            ends[at - 1].1 = ends[at - 1].1.min(ends[at].1);
        }
        for &i in &binned {
            let start = boxes[i].min[axis];
            if let Some(end) = ends.get(ends.partition_point(|end| end.0 < start)) {
                assert!(place(i)[k] <= end.1, "{:?} begins at {} and others end at {end:?}", boxes[i], place(i)[k]);
            }
        }
    }
}

#[test]
fn a_level_that_the_finest_counts_decide_is_the_level_of_all_counts() {
    let n = 2000;
    let mut decided = [0; 2];
    for kind in Kind::ALL {
        let boxes = kind.generate(n as usize, 1);
        for cell in [None, Some(0.3), Some(3.0)] {
            let frame = frame_of(&boxes, AXIS_X, cell);
            let (mut cells, mut positions) = (vec![[0; 4]; boxes.len()], vec![[0; 4]; boxes.len()]);
            let totals = mirror::bin::count(&boxes, &[], &[], &frame, &mut cells, &mut positions);
            for capacity in [1, 3 * n, 5 * n, u32::MAX] {
                let level = mirror::bin::level(&totals, n, capacity);
                let is_finest = totals.is_finest(n, capacity);
                assert!(level == 0 || !is_finest, "level {level} of {kind:?} in cells of {cell:?} for {capacity}");
                decided[usize::from(is_finest)] += 1;
            }
        }
    }
    assert!(decided.iter().all(|&count| count > 10), "{decided:?}");
}

#[test]
fn cells_and_positions_are_those_of_the_mirror() {
    for n in SIZES.into_iter().chain([1023, 1024, 1025, 10_000]) {
        for boxes in [ordinary(n, 1), mixed(n, 2)] {
            for (axis, cell) in [(AXIS_X, None), (AXIS_X + 1, Some(0.3)), (AXIS_PRINCIPAL, None)] {
                check(&boxes, &frame_of(&boxes, axis, cell));
            }
        }
    }
}

#[test]
#[ignore = "long"]
fn boxes_that_overlap_share_a_cell_and_a_position_in_every_scene() {
    for kind in Kind::ALL {
        let boxes = kind.generate(600, 11);
        for (axis, cell) in [
            (AXIS_AUTO, None),
            (AXIS_PRINCIPAL, None),
            (AXIS_PRINCIPAL, Some(1e-3)),
            (AXIS_X + 2, Some(1e-3)),
            (AXIS_AUTO, Some(f32::MIN_POSITIVE)),
        ] {
            let frame = frame_of(&boxes, axis, cell);
            // A driver may round denormals, as long as no pair is lost.
            let counted = if kind == Kind::Denormal { count(&boxes, &frame) } else { check(&boxes, &frame) };
            check_coverage(&boxes, &frame, &counted);
            if frame.sweep_slop == 0.0 {
                check_order(&boxes, &frame, &counted);
            }
        }
    }
}

#[test]
fn boxes_that_touch_share_a_cell_and_a_position_in_oblique_frames() {
    // A lattice sheared so that its principal axis is no axis of its own: corners, edges and faces meet.
    for seed in 0..8 {
        let mut boxes = lattice(500, seed);
        boxes.extend((0..100).map(|i| {
            let t = (i - 50) as f32;
            Aabb::new([t, 2.0 * t, 3.0 * t], [t + 1.0, 2.0 * t + 2.0, 3.0 * t + 3.0])
        }));
        for cell in [None, Some(1.0), Some(0.01)] {
            let frame = frame_of(&boxes, AXIS_PRINCIPAL, cell);
            assert!(frame.sweep_slop > 0.0, "the frame should be oblique");
            check_coverage(&boxes, &frame, &check(&boxes, &frame));
        }
    }
}

#[test]
fn places_ascend_with_the_coordinate_far_out_below_zero_and_in_cells_that_stand_for_all_beyond() {
    let mut random = Random::new(1);
    // Steps of an ulp and of a power of two around places of every magnitude, on both sides of zero.
    let mut coordinates = vec![0.0, -0.0, 1e-30, -1e-30];
    for exponent in -30..30 {
        for sign in [1.0f32, -1.0] {
            let at = sign * 2f32.powi(exponent) * random.between(1.0, 2.0);
            coordinates.extend([at, at.next_up(), at.next_down(), sign * 2f32.powi(exponent)]);
        }
    }
    // The frame is that of boxes around zero; others lie beyond its first and last cells.
    let inner = ordinary(200, 2);
    for (axis, boxes_of_frame) in [(AXIS_X, &inner[..]), (AXIS_X + 1, &inner[..20]), (AXIS_X + 2, &inner[..])] {
        for cell in [None, Some(1e-6), Some(0.013), Some(1.0), Some(1e5)] {
            let frame = frame_of(boxes_of_frame, axis, cell);
            let boxes: Vec<_> = coordinates
                .iter()
                .map(|&low| {
                    let high = low + [0.0, low.abs() * 1e-6, 0.01, 3.0][random.below(4) as usize];
                    Aabb::new([low; 3], [high; 3])
                })
                .collect();
            let counted = check(&boxes, &frame);
            check_order(&boxes, &frame, &counted);
            check_coverage(&boxes, &frame, &counted);
        }
    }
}

#[test]
fn boxes_that_touch_at_differences_of_denormals_pass_each_others_footprints() {
    // Coordinates that differ by the smallest of all numbers, in scenes so small that this is not nothing to them.
    let unit = f32::MIN_POSITIVE;
    let mut random = Random::new(5);
    for edge in [1u32 << 10, 1 << 20, 1 << 23] {
        let boxes: Vec<_> = (0..400)
            .map(|_| {
                let low = [0; 3].map(|_| random.between(-100.0, 100.0) * unit);
                let high = low.map(|x| x + f32::from_bits(random.below(edge)));
                Aabb::new(low, high)
            })
            .collect();
        for (axis, cell) in [(AXIS_AUTO, None), (AXIS_X, Some(unit)), (AXIS_PRINCIPAL, Some(3.0 * unit))] {
            let frame = frame_of(&boxes, axis, cell);
            // A driver may round denormals, as long as no pair is lost.
            check_coverage(&boxes, &frame, &count(&boxes, &frame));
        }
    }
}

proptest! {
    #![proptest_config(cases(32))]

    #[test]
    fn any_boxes_that_overlap_share_a_cell_and_a_position(
        boxes in prop::collection::vec(any_box(), 0..400),
        axis in prop::sample::select(vec![AXIS_AUTO, AXIS_PRINCIPAL, AXIS_X + 1]),
        cell in prop::option::of((-6.0f32..6.0).prop_map(|e| 10f32.powf(e))),
    ) {
        let frame = frame_of(&boxes, axis, cell);
        let counted = check(&boxes, &frame);
        check_coverage(&boxes, &frame, &counted);
        if frame.sweep_slop == 0.0 {
            check_order(&boxes, &frame, &counted);
        }
    }
}
