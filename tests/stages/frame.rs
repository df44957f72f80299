//! `frame`: what is chosen agrees with the mirror where the choice is clear, and is sound where it is not.

use std::sync::LazyLock;

use broadsweep::Aabb;
use broadsweep::internals::constants::*;
use broadsweep::internals::grid::frame::FrameStage;
use broadsweep::internals::grid::pca::groups;
use broadsweep::internals::layout::{BoundsPartial, Frame, Params};
use broadsweep::internals::mirror;
use broadsweep::internals::mirror::frame::Moments;
use laboratory::scenes::Kind;
use proptest::prelude::*;

use crate::inputs::{Random, any_box, lattice, mixed, ordinary};
use crate::*;

static FRAME: LazyLock<FrameStage> = LazyLock::new(|| FrameStage::new(gpu()));

/// Mode and edge of cells.
type Cell = (u32, f32);
const AUTO: Cell = (CELL_AUTO, 0.0);
const USSCD: Cell = (CELL_USSCD, 0.0);
const AXIS_Y: u32 = AXIS_X + 1;
const AXIS_Z: u32 = AXIS_X + 2;

const fn fixed(edge: f32) -> Cell {
    (CELL_FIXED, edge)
}

/// Returns bounds in as many parts as there are workgroups of `pca`: all of them have to be read.
fn bounds_of(boxes: &[Aabb]) -> Vec<BoundsPartial> {
    let parts = groups(boxes.len() as u32);
    let share = |part| -> Vec<Aabb> { boxes.iter().skip(part as usize).step_by(parts as usize).copied().collect() };
    (0..parts).map(|part| mirror::pca::bounds(&share(part))).collect()
}

/// Returns the kernel's frame and the mirror's, after checking that the first is sound.
fn frames(boxes: &[Aabb], axis: u32, cell: Cell) -> (Frame, Frame) {
    frames_of_worlds(boxes, axis, cell, 0)
}

fn frames_of_worlds(boxes: &[Aabb], axis: u32, cell: Cell, world_count: u32) -> (Frame, Frame) {
    let (cell_mode, cell_size) = cell;
    let box_count = boxes.len() as u32;
    let key_bits = if world_count > KEY_WORLDS { LONG_KEY_BITS } else { KEY_BITS };
    let host = Params { box_count, axis, cell_mode, cell_size, world_count, key_bits, ..Params::zeroed() };
    let frame = poisoned(1);
    let (params, input, bounds) = (uniform(host), upload(boxes), upload(&bounds_of(boxes)));
    run(|pass| FRAME.record(pass, &params, input.all(), &bounds, &frame));
    let frame: Frame = written(&frame)[0];
    let context = format!("axis {axis}, cells {cell:?}, {} boxes: {frame:?}", boxes.len());
    check_sound(&frame, &host, &context);
    let all = mirror::pca::bounds(boxes);
    let mirror = mirror::frame::choose(&host, boxes, &all);
    check_sound(&mirror, &host, "the mirror");
    assert_eq!((frame.scale, frame.limit), (mirror.scale, mirror.limit), "{context}");
    assert_eq!(frame.giant_cells, mirror.giant_cells, "{context}");
    assert_eq!(frame.outside_count, mirror.outside_count, "{context}");
    (frame, mirror)
}

/// Checks what the later stages count on.
fn check_sound(frame: &Frame, params: &Params, context: &str) {
    let axes = [frame.sweep, frame.plane_u, frame.plane_v];
    for (i, a) in axes.iter().enumerate() {
        for (j, b) in axes.iter().enumerate() {
            let dot: f32 = (0..3).map(|k| a[k] * b[k]).sum();
            assert!((dot - f32::from(u8::from(i == j))).abs() < 1e-4, "not orthonormal: {context}");
        }
    }
    let lengths = [frame.inverse_cell, frame.scale, frame.limit];
    assert!(lengths.iter().all(|x| x.is_finite() && *x > 0.0), "{context}");
    assert!(frame.cell_size_at(0) > 0.0 && frame.cell_size_at(LEVELS - 2).is_finite(), "{context}");
    let floats = [frame.origin[0], frame.origin[1], frame.plane_slop, frame.sweep_slop];
    assert!(floats.iter().all(|x| x.is_finite()), "{context}");
    assert!(frame.plane_slop >= PLANE_SLOP && frame.sweep_slop >= 0.0, "{context}");

    assert_eq!(frame.key_bits, params.key_bits, "{context}");
    assert_eq!(frame.cell_bits[0] + frame.cell_bits[1] + frame.position_bits, frame.key_bits, "{context}");
    assert!(
        frame.position_bits >= MIN_POSITION_BITS && frame.cell_bits.iter().all(|&bits| bits <= MAX_CELL_BITS),
        "{context}"
    );
    assert!((64..=MAX_CELLS).contains(&frame.giant_cells), "{context}");
    assert!(frame.axis != AXIS_AUTO && (params.axis == AXIS_AUTO || frame.axis == params.axis), "{context}");
    for k in 0..2 {
        assert!(frame.cell_min[k] < frame.cell_max[k], "{context}");
        // Either the ids of all cells fit the key, or the grid has no bounds and the widest box is too narrow
        // for two of its cells to have one id.
        let whole = frame.cell_min[k] == 0 && frame.cell_max[k] == (1 << frame.tile_bits[k]) - 1;
        let wraps = frame.cell_max[k] == CELL_REACH && frame.cell_min[k] == -CELL_REACH;
        let narrow = frame.cell_bits[k] >= MIN_WRAP_BITS && 2 * frame.max_span[k] <= 1 << frame.cell_bits[k];
        assert!(whole || wraps && narrow, "{context}");
        assert!(frame.max_span[k] > 0 && u64::from(frame.max_span[k]) <= 1 << MAX_CELL_BITS, "{context}");
    }
    let world_bits: u32 = (0..2).map(|k| frame.cell_bits[k] - frame.tile_bits[k]).sum();
    assert_eq!(
        world_bits,
        params.world_count.max(1).next_power_of_two().trailing_zeros().min(MAX_WORLD_BITS),
        "{context}"
    );
    for pair in frame.knots.windows(2) {
        assert!(pair[0][0] <= pair[1][0], "knots do not ascend: {context}");
    }
    for [start, quanta] in &frame.knots {
        assert!(start.is_finite() && quanta.is_finite() && *quanta >= 0.0, "{context}");
    }
}

fn close(found: f32, wanted: f32, relative: f32, what: &str) {
    assert!((found - wanted).abs() <= relative * wanted.abs().max(1e-6), "{what}: {found} instead of {wanted}");
}

/// Floats within 10⁻³, integers equal. For scenes in which nothing is close to a border.
fn check_alike(frame: &Frame, mirror: &Frame) {
    assert_eq!(frame.axis, mirror.axis);
    for (a, b) in [(frame.sweep, mirror.sweep), (frame.plane_u, mirror.plane_u), (frame.plane_v, mirror.plane_v)] {
        let dot: f32 = (0..3).map(|k| a[k] * b[k]).sum();
        close(dot.abs(), 1.0, 1e-3, "axes agree");
    }
    close(frame.cell_size, mirror.cell_size, 1e-3, "cell_size");
    close(frame.inverse_cell, mirror.inverse_cell, 1e-3, "inverse_cell");
    close(frame.plane_slop, mirror.plane_slop, 1e-3, "plane_slop");
    assert_eq!(frame.sweep_slop, mirror.sweep_slop);
    assert_eq!((frame.cell_bits, frame.key_bits), (mirror.cell_bits, mirror.key_bits));
    assert_eq!(frame.tile_bits, mirror.tile_bits);
    assert_eq!((frame.cell_min, frame.cell_max), (mirror.cell_min, mirror.cell_max));
}

/// Creates a rod along `direction`, with the boxes in no order, and three different widths: all axes are clear.
fn rod(direction: [f32; 3], n: u32) -> Vec<Aabb> {
    let mut random = Random::new(7);
    (0..n)
        .map(|_| {
            let t = random.between(-10.0, 10.0);
            let min = [0, 1, 2].map(|k| t * direction[k] + random.between(-0.1, 0.1) * (2 << k) as f32);
            Aabb::new(min, min.map(|x| x + 0.1))
        })
        .collect()
}

#[test]
fn worlds_have_bits_of_their_own_beside_those_of_cells() {
    for n in [1, 255, 257, 1234] {
        for world_count in [0, 1, 2, 3, 64, 1000, 1 << 19, (1 << 20) + 1, 1 << 25] {
            for boxes in [ordinary(n, 5), mixed(n, 6), lattice(n, 7)] {
                let (frame, mirror) = frames_of_worlds(&boxes, AXIS_X, (CELL_FIXED, 1.0), world_count);
                assert_eq!((frame.cell_bits, frame.tile_bits), (mirror.cell_bits, mirror.tile_bits), "{world_count}");
            }
        }
    }
}

#[test]
fn the_principal_axis_of_a_rod_is_its_direction() {
    for direction in [[1.0, 2.0, 3.0], [-3.0, 1.0, 0.5], [0.0, 1.0, -1.0], [1.0, 1.0, 1.0]] {
        for n in [255, 256, 257, 1234] {
            let (frame, mirror) = frames(&rod(direction, n), AXIS_PRINCIPAL, AUTO);
            check_alike(&frame, &mirror);
            let length = direction.iter().map(|d| d * d).sum::<f32>().sqrt();
            let along: f32 = (0..3).map(|k| frame.sweep[k] * direction[k] / length).sum();
            assert!(along.abs() > 0.999, "{:?} for {direction:?}", frame.sweep);
            assert_eq!(frame.sweep_slop, OBLIQUE_ERROR);
        }
    }
}

#[test]
fn forced_axes_are_exact_and_the_plane_is_the_other_two() {
    let boxes = rod([1.0, 2.0, 3.0], 1234);
    for (k, axis) in [AXIS_X, AXIS_Y, AXIS_Z].into_iter().enumerate() {
        let (frame, mirror) = frames(&boxes, axis, AUTO);
        check_alike(&frame, &mirror);
        let unit = |k: usize| std::array::from_fn(|j| f32::from(u8::from(j == k % 3)));
        assert_eq!([frame.sweep, frame.plane_u, frame.plane_v], [unit(k), unit(k + 1), unit(k + 2)]);
        assert_eq!((frame.sweep_slop, frame.plane_slop), (0.0, PLANE_SLOP));
        // Along a coordinate axis even the knots are equal, except where a driver fuses products and sums.
        for (found, wanted) in frame.knots.as_flattened().iter().zip(mirror.knots.as_flattened()) {
            close(*found, *wanted, 1e-6, "knots");
        }
        assert_eq!(frame.origin, mirror.origin);
    }
}

#[test]
fn auto_takes_the_longest_extent_and_a_principal_axis_that_is_straight_becomes_exact() {
    for (k, direction) in [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].into_iter().enumerate() {
        let mut boxes = rod(direction, 1234);
        let (frame, mirror) = frames(&boxes, AXIS_AUTO, AUTO);
        check_alike(&frame, &mirror);
        assert_eq!((frame.axis, frame.sweep), (AXIS_X + k as u32, direction));
        // Without any extent across.
        for aabb in &mut boxes {
            for j in (0..3).filter(|&j| j != k) {
                (aabb.min[j], aabb.max[j]) = (0.0, 1.0);
            }
        }
        let (frame, mirror) = frames(&boxes, AXIS_PRINCIPAL, AUTO);
        check_alike(&frame, &mirror);
        assert_eq!((frame.axis, frame.sweep, frame.sweep_slop), (AXIS_PRINCIPAL, direction, 0.0));
    }
}

#[test]
fn cells_have_the_size_of_the_mirror() {
    for cell in [AUTO, USSCD, fixed(0.7), fixed(50.0)] {
        for n in [1, 255, 256, 257, 512, 513, 1234, 20_000] {
            let (frame, mirror) = frames(&ordinary(n, 3), AXIS_Y, cell);
            check_alike(&frame, &mirror);
            if cell.0 == CELL_FIXED {
                close(frame.cell_size_at(0), cell.1, 1e-6, "fixed");
            }
        }
    }
}

#[test]
fn a_dense_scene_has_the_cells_of_usscd_at_the_larger_root() {
    // The sparse ones above take the other branch, an edge of two largest edges.
    let boxes: Vec<_> =
        rod([1.0, 1.0, 0.1], 4000).into_iter().map(|aabb| Aabb::new(aabb.min, aabb.min.map(|x| x + 3.0))).collect();
    let (frame, mirror) = frames(&boxes, AXIS_X, USSCD);
    check_alike(&frame, &mirror);
    assert!(frame.cell_size_at(0) > 6.0 * 3.0, "{}", frame.cell_size_at(0));
}

#[test]
fn small_cells_make_a_grid_without_bounds() {
    let (frame, mirror) = frames(&ordinary(1234, 3), AXIS_X, fixed(1e-3));
    check_alike(&frame, &mirror);
    assert_eq!((frame.cell_bits, frame.cell_min), ([MIN_WRAP_BITS; 2], [-CELL_REACH; 2]));
    assert_eq!(frame.max_span, [1 << (MIN_WRAP_BITS - 1); 2]);
}

#[test]
fn a_far_box_in_the_share_of_any_workgroup_of_pca_decides_the_scale() {
    // Shares beyond those of eight invocations that unite bounds, and of 128.
    for (n, share) in [(18_000, 8), (80_000, 35), (300_000, 140)] {
        let mut boxes = ordinary(n, 1);
        boxes[share + 5 * groups(n) as usize] = Aabb::new([-300.0; 3], [900.0; 3]);
        let (frame, mirror) = frames(&boxes, AXIS_Y, AUTO);
        check_alike(&frame, &mirror);
    }
}

#[test]
fn a_sample_of_boxes_in_rows_has_the_variance_of_all() {
    // Boxes whose place repeats with any period: those of the sample are not of one phase only.
    for period in [2, 3, 4, 7, 8, 16, 61, 64, 256, 1000, 4096] {
        let n = 262_156;
        let boxes: Vec<_> = (0..n).map(|i| (i % period) as f32).map(|x| Aabb::new([x; 3], [x + 1.0; 3])).collect();
        let scene = mirror::pca::scene_scale(&mirror::pca::bounds(&boxes));
        let moments =
            Moments::of(mirror::frame::sample(&boxes, &scene, &mut [Default::default(); SAMPLES as usize]), &scene);
        assert_eq!(moments.count, SAMPLES as f32);
        let variance = moments.squares.x / moments.count - (moments.sum.x / moments.count).powi(2);
        let all = ((period * period - 1) as f32 / 12.0) * scene.scale * scene.scale;
        assert!((variance / all - 1.0).abs() < 0.1, "{variance} instead of {all}: period {period}");
    }
}

#[test]
fn every_box_of_the_sample_decides() {
    // One box of the sample is far out along one axis: the spread, and so the axis, is that of this box.
    for (n, nth) in
        [(300u32, 0u32), (300, 299), (512, 255), (512, 256), (512, 511), (40_000, 0), (40_000, 300), (40_000, 511)]
    {
        for (k, axis) in [AXIS_X, AXIS_Y, AXIS_Z].into_iter().enumerate() {
            let mut boxes = ordinary(n, u64::from(nth));
            let place = if n <= SAMPLES {
                nth
            } else {
                ((u64::from((nth + 1).wrapping_mul(GOLDEN)) * u64::from(n)) >> 32) as u32
            };
            let far = &mut boxes[place as usize];
            far.min[k] += 1e5;
            far.max[k] += 1e5;
            let (frame, mirror) = frames(&boxes, AXIS_AUTO, AUTO);
            assert_eq!((frame.axis, mirror.axis), (axis, axis), "box {nth} of the sample of {n}");
        }
    }
}

#[test]
fn boxes_that_do_not_count_do_not_move_the_frame() {
    let boxes = mixed(1234, 9);
    let (frame, mirror) = frames(&boxes, AXIS_Z, AUTO);
    check_alike(&frame, &mirror);
}

#[test]
#[ignore = "long"]
fn whatever_the_boxes_the_frame_is_sound() {
    let axes = [AXIS_AUTO, AXIS_PRINCIPAL, AXIS_X, AXIS_Y, AXIS_Z];
    let cells = [AUTO, USSCD, fixed(1e-38), fixed(1.0), fixed(f32::MAX)];
    for kind in Kind::ALL {
        for n in [0, 1, 2, 255, 600] {
            let boxes = kind.generate(n, 1);
            for (k, axis) in axes.into_iter().enumerate() {
                frames(&boxes, axis, cells[(k + n) % cells.len()]);
            }
        }
    }
    let full = [f32::MAX, f32::MIN_POSITIVE, 0.0, 1e30, 1e-30];
    for x in full {
        for y in full {
            let boxes = [Aabb::new([-x, -y, 0.0], [x, y, x]), Aabb::new([-y, x.min(y), 0.0], [0.0, x, y])];
            for cell in cells {
                frames(&boxes, AXIS_PRINCIPAL, cell);
            }
        }
    }
}

proptest! {
    #![proptest_config(cases(48))]

    #[test]
    fn whatever_any_boxes_are_the_frame_is_sound(
        boxes in prop::collection::vec(any_box(), 0..600),
        axis in prop::sample::select(vec![AXIS_AUTO, AXIS_PRINCIPAL, AXIS_Z]),
        cell in prop_oneof![
            Just(AUTO),
            Just(USSCD),
            (-38.0f32..38.0).prop_map(|e| fixed(10f32.powf(e))),
        ],
    ) {
        frames(&boxes, axis, cell);
    }
}
