//! Former errors, in the smallest cases that show them.

use crate::common::*;
use broadsweep::cpu;
use broadsweep::internals::brute_force;
use broadsweep::{Aabb, CellSize, Options, SweepAxis};
use laboratory::scenes::Kind;

/// The last quantum of a segment of more than 24 bits rounded up to the first of the next, so that positions did
/// not ascend and pairs were lost. An oblique scene in one cell has keys of 30 position bits.
#[test]
fn positions_of_more_than_24_bits_per_segment_ascend() {
    let boxes = Kind::Diagonal.generate(700, 7);
    let expected = brute_force::find_pairs(&boxes);
    assert_finds(&boxes, &expected, CANONICAL.with_cell_size(CellSize::Fixed(1e20)));
}

/// Key bits followed the bounds of the scene, and one box around everything took those of the positions: twice
/// the candidates for a million other boxes.
#[test]
fn one_box_around_everything_adds_no_more_than_its_own_candidates() {
    let boxes = Kind::Uniform.generate(50_000, 1);
    let mut around = boxes.clone();
    around.push(Aabb::new([-3.0; 3], [4.0; 3]));
    let without = on_gpu(&boxes, CANONICAL).report;
    let with = on_gpu(&around, CANONICAL).report;
    let own = u64::from(with.entry_count) + 50_000;
    assert!(with.candidate_count < without.candidate_count * 11 / 10 + own, "{with:?} instead of {without:?}");
}

/// Cells along a line use few of the ids that a plane of cells has; the position needs the bits.
#[test]
fn an_oblique_rod_has_few_candidates_per_pair() {
    let report = on_gpu(&Kind::Diagonal.generate(100_000, 1), CANONICAL).report;
    assert!(report.candidate_count < 6 * (100_000 + report.pair_count), "{report:?}");
}

/// Eigenvalues of a lattice are equal but for rounding, and so are the scores of its axes: which way the plane was
/// turned, and with it the number of entries, was up to the last bits of sums.
#[test]
#[ignore = "long"]
fn engines_report_alike_where_eigenvalues_tie() {
    let sides = [[2, 2, 2], [3, 3, 1], [3, 2, 3], [1, 1, 6], [2, 3, 1], [4, 4, 4], [5, 2, 5], [1, 1, 1]];
    let lines = [[1.0, 1.0, 1.0], [1.0, -1.0, 1.0], [0.0, 1.0, -1.0], [-1.0, 1.0, 0.0]];
    let hexagon =
        [[0.0, 1.0, 2.0], [1.0, 2.0, 0.0], [2.0, 0.0, 1.0], [0.0, 2.0, 1.0], [2.0, 1.0, 0.0], [1.0, 0.0, 2.0]];
    // Boxes that overlap and boxes that touch, or boxes apart.
    for (round, (edge, steps)) in [
        (1.0, [0.5, 1.0]),
        (0.7, [1.0, 2.0]),
        (1e-3, [1.5, 1.0]),
        (1e7, [2.0, 0.5]),
        (1e7, [1.5, 1.0]),
        (1e30, [1.0, 1.5]),
    ]
    .into_iter()
    .enumerate()
    {
        for step in steps.map(|step| step * edge) {
            let cube = |at: [f32; 3]| Aabb::new(at.map(|x| x * step), at.map(|x| x * step + edge));
            let lattices = sides.map(|[x, y, z]| {
                let places = (0..x * y * z).map(|i| [i % x, i / x % y, i / x / y].map(|k| k as f32));
                places.map(cube).collect::<Vec<_>>()
            });
            let rods = lines.map(|d| (0..30).map(|i| cube(d.map(|d| d * i as f32))).collect::<Vec<_>>());
            let sizes = [CellSize::Auto, CellSize::Usscd, CellSize::Fixed(2.0 * edge)];
            let scenes = lattices.into_iter().chain(rods).chain([hexagon.map(cube).to_vec()]);
            for (boxes, cell_size) in scenes.zip(sizes.into_iter().cycle().skip(round)) {
                for axis in [SweepAxis::Auto, SweepAxis::Principal] {
                    assert_reports_alike(&boxes, SWEEP.with_axis(axis).with_cell_size(cell_size));
                }
            }
        }
    }
}

fn assert_reports_alike(boxes: &[Aabb], options: Options) {
    let mut gpu = on_gpu(boxes, options);
    let mut cpu = cpu::find_pairs(boxes, &options).unwrap();
    gpu.pairs.sort_unstable();
    cpu.pairs.sort_unstable();
    let context = format!("{options:?}, {boxes:?}: {:?}", gpu.report);
    assert_eq!(gpu.pairs, cpu.pairs, "{context}");
    let (gpu, cpu) = (gpu.report, cpu.report);
    let near = |a: f32, b: f32| (a - b).abs() <= 1e-3 * a.abs().max(1.0) || a == b;
    assert!((0..3).all(|k| near(gpu.direction[k], cpu.direction[k])), "{:?}, {context}", cpu.direction);
    assert!(near(gpu.cell_size / cpu.cell_size, 1.0), "{}, {context}", cpu.cell_size);
    assert_eq!(gpu.axis, cpu.axis, "{context}");
    assert_eq!((gpu.giant_count, gpu.entry_count), (cpu.giant_count, cpu.entry_count), "{context}");
}

/// In the units of the input, the edge of a cell was zero or infinite where it is too small or too large for a float.
#[test]
fn cells_have_a_size_that_is_positive_and_finite_however_small_or_large_the_boxes_are() {
    for unit in [1e-44, 1e-38, 1.0, 1e30, 3e37] {
        for edge in [0.0, 1.0] {
            let places = (0..64).map(|i| [i % 4, i / 4 % 4, i / 16].map(|k| k as f32));
            let boxes: Vec<Aabb> =
                places.map(|at| Aabb::new(at.map(|x| x * unit), at.map(|x| (x + edge) * unit))).collect();
            for cell_size in [CellSize::Auto, CellSize::Usscd, CellSize::Fixed(1e-45), CellSize::Fixed(f32::MAX)] {
                let options = CANONICAL.with_cell_size(cell_size);
                let sizes = [on_gpu(&boxes, options), cpu::find_pairs(&boxes, &options).unwrap()]
                    .map(|found| found.report.cell_size);
                // Infinite stands for a grid of one cell, which no adapter takes here.
                assert!(
                    sizes.iter().all(|size| *size > 0.0 && size.is_finite()),
                    "{sizes:?}: {unit}, {edge}, {options:?}"
                );
            }
        }
    }
}
