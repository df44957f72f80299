//! `bin_count`, with the frame of the mirror: cells and positions cover every box, and not much more.

use std::sync::LazyLock;

use broadsweep::constants::*;
use broadsweep::scenes::Kind;
use broadsweep::stages::bin::{Bin, Bins};
use broadsweep::stages::layout::{Frame, Params};
use broadsweep::{Aabb, cpu};
use proptest::prelude::*;

use crate::inputs::{any_box, lattice, mixed, ordinary};
use crate::*;

pub static BIN: LazyLock<Bin> = LazyLock::new(|| Bin::new(gpu()).unwrap());

/// The mirror's frame.
pub fn frame_of(boxes: &[Aabb], axis: u32, cell: Option<f32>) -> Frame {
    let (cell_mode, cell_size) = cell.map_or((CELL_AUTO, 0.0), |size| (CELL_FIXED, size));
    let params = Params { box_count: boxes.len() as u32, axis, cell_mode, cell_size, ..Params::zeroed() };
    let bounds = cpu::pca::bounds(boxes);
    cpu::frame::choose(&params, boxes, &bounds, &cpu::pca::moments(boxes, &bounds))
}

struct Counted {
    cells: Vec<[i32; 4]>,
    positions: Vec<[u32; 2]>,
    block_counts: Vec<u32>,
}

fn count(boxes: &[Aabb], frame: &Frame) -> Counted {
    let blocks = boxes.len().div_ceil(BIN_BLOCK as usize);
    let bins = Bins {
        cells: poisoned(boxes.len()),
        positions: poisoned(boxes.len()),
        block_counts: poisoned(blocks * BIN_COUNTS as usize),
        block_offsets: poisoned(blocks),
    };
    let n = boxes.len() as u32;
    let params = uniform(Params { box_count: n, ..Params::zeroed() });
    let (input, frame) = (upload(boxes), upload(&[*frame]));
    run(|pass| BIN.record_count(pass, n, &params, input.all(), &frame, &bins));
    assert!(written(&bins.block_offsets).iter().all(is_poison));
    let counted = Counted {
        cells: written(&bins.cells),
        positions: written(&bins.positions),
        block_counts: written(&bins.block_counts),
    };
    assert!(!counted.positions.iter().any(is_poison));
    counted
}

/// The interval of a box on a direction in double precision, where nothing is lost.
fn project(direction: [f32; 3], scale: f32, aabb: &Aabb) -> [f64; 2] {
    let mut interval = [0.0; 2];
    for (k, d) in direction.into_iter().map(f64::from).enumerate() {
        let (low, high) = (f64::from(aabb.min[k] * scale), f64::from(aabb.max[k] * scale));
        interval[0] += d * if d > 0.0 { low } else { high };
        interval[1] += d * if d > 0.0 { high } else { low };
    }
    interval
}

/// First and last cell contain those of the exact interval, and are at most by the slop and as much rounding
/// wider.
fn check_cells(frame: &Frame, aabb: &Aabb, cells: [i32; 4]) {
    for k in 0..2 {
        let direction = [frame.plane_u, frame.plane_v][k];
        let [low, high] = project(direction, frame.scale, aabb)
            .map(|x| (x - f64::from(frame.origin[k])) * f64::from(frame.inverse_cell));
        let cell = |at: f64| {
            let reach = f64::from(CELL_REACH);
            (at.clamp(-reach, reach).floor() as i32).clamp(frame.cell_min[k], frame.cell_max[k])
        };
        let wider = |at: f64| 2.0 * f64::from(frame.plane_slop) + at.abs() * 2.0 * f64::from(RELATIVE_SLOP);
        let (first, last) = (cells[k], cells[k + 2]);
        assert!((cell(low - wider(low))..=cell(low)).contains(&first), "first cell {first} of {low}: {aabb:?}");
        assert!((cell(high)..=cell(high + wider(high))).contains(&last), "last cell {last} of {high}: {aabb:?}");
    }
}

/// Start and end contain the exact interval, and are at most by the slop, as much rounding, and a quantum wider.
fn check_positions(frame: &Frame, aabb: &Aabb, [start, end]: [u32; 2]) {
    let [from, to] = project(frame.sweep, frame.scale, aabb);
    let at = |x: f64| cpu::bin::position(frame, x as f32);
    let slop = 2.0 * f64::from(frame.sweep_slop);
    let last = (1 << frame.position_bits) - 1;
    assert!(start <= at(from) && start >= at(from - slop).saturating_sub(1), "start {start} of {from}: {aabb:?}");
    assert!(end >= at(to) && end <= (at(to + slop) + 1).min(last), "end {end} of {to}: {aabb:?}");
}

fn check(boxes: &[Aabb], frame: &Frame) -> Counted {
    let counted = count(boxes, frame);
    let mut cells = vec![[0; 4]; boxes.len()];
    let mut positions = vec![[0; 2]; boxes.len()];
    cpu::bin::count(boxes, frame, &mut cells, &mut positions);
    let straight = frame.sweep_slop == 0.0;
    for (i, aabb) in boxes.iter().enumerate() {
        let (found, mirror) = (counted.cells[i], cells[i]);
        if cpu::bin::is_binned(mirror) {
            check_cells(frame, aabb, found);
            check_positions(frame, aabb, counted.positions[i]);
            if straight {
                // Where an interval is widened or scaled, a driver may fuse or distribute a multiplication.
                assert!((0..4).all(|k| found[k].abs_diff(mirror[k]) <= 1), "{found:?} for {mirror:?}: {aabb:?}");
                let [start, end] = counted.positions[i];
                let apart = start.abs_diff(positions[i][0]).max(end.abs_diff(positions[i][1]));
                assert!(apart <= 1, "{:?} for {:?}: {aabb:?}", counted.positions[i], positions[i]);
            }
        } else {
            assert_eq!((found, counted.positions[i]), (mirror, [0, 0]), "{aabb:?}");
        }
    }
    // The counts are those of the kernel's own cells.
    let mut block_counts = Vec::new();
    for block in counted.cells.chunks(BIN_BLOCK as usize) {
        let binned = || block.iter().filter(|&&cells| cpu::bin::is_binned(cells));
        for level in 0..LEVELS {
            block_counts.push(binned().map(|&cells| cpu::bin::cell_count(cells, level, frame)).sum());
        }
        for level in 0..LEVELS {
            let giant = |cells: &&[i32; 4]| cpu::bin::is_giant(**cells, level, frame);
            block_counts.push(block.iter().filter(giant).count() as u32);
        }
        block_counts.push(block.iter().filter(|&&cells| cells == cpu::bin::CELLS_OF_INVALID).count() as u32);
    }
    assert_eq!(counted.block_counts, block_counts);
    counted
}

/// Boxes that overlap share a cell, and neither starts after the other's end.
fn check_coverage(boxes: &[Aabb], counted: &Counted) {
    for pair in cpu::brute_force::find_pairs(boxes) {
        let (a, b) = (pair.a as usize, pair.b as usize);
        let (cells_a, cells_b) = (counted.cells[a], counted.cells[b]);
        if cpu::bin::is_binned(cells_a) && cpu::bin::is_binned(cells_b) {
            let meet = (0..2).all(|k| cells_a[k] <= cells_b[k + 2] && cells_b[k] <= cells_a[k + 2]);
            assert!(meet, "{:?} in {cells_a:?} and {:?} in {cells_b:?}", boxes[a], boxes[b]);
            let ([start_a, end_a], [start_b, end_b]) = (counted.positions[a], counted.positions[b]);
            assert!(start_a <= end_b && start_b <= end_a, "{:?} and {:?} miss each other", boxes[a], boxes[b]);
        }
    }
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
fn boxes_that_overlap_share_a_cell_and_a_position_in_every_scene() {
    for kind in Kind::ALL {
        let boxes = kind.generate(600, 11);
        for axis in [AXIS_AUTO, AXIS_PRINCIPAL, AXIS_X + 2] {
            for cell in [None, Some(1e-3), Some(f32::MIN_POSITIVE)] {
                let frame = frame_of(&boxes, axis, cell);
                // What a driver makes of denormals is its own affair, as long as no pair is lost.
                let counted = if kind == Kind::Denormal { count(&boxes, &frame) } else { check(&boxes, &frame) };
                check_coverage(&boxes, &counted);
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
            check_coverage(&boxes, &check(&boxes, &frame));
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
        check_coverage(&boxes, &check(&boxes, &frame));
    }
}
