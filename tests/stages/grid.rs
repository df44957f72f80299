//! `Grid`: a consumer's view of a whole build, and which build it holds.

use std::sync::LazyLock;

use broadsweep::internals::constants::{ENTRY_ALIGNMENT, KEY_BITS};
use broadsweep::internals::filters::device::FilterSet;
use broadsweep::internals::filters::lists::FilterLists;
use broadsweep::internals::grid::bin::Bin;
use broadsweep::internals::grid::{BoxBuffers, Entries, Grid, GridBuild, GridCapacity, GridKernels, GridSummary};
use broadsweep::internals::layout::{Counts, Frame, Params};
use broadsweep::internals::mirror;
use broadsweep::{Aabb, Filters};
use laboratory::scenes::Kind;

use crate::*;

pub static BIN: LazyLock<Bin> = LazyLock::new(|| Bin::new(gpu()));

/// Returns boxes as stages read them.
pub fn searched<'a>(params: &'a Buffer<Params>, boxes: &'a Buffer<Aabb>, filters: &'a FilterLists) -> BoxBuffers<'a> {
    BoxBuffers { box_count: boxes.len() as u32, block_sizes: None, params, boxes: boxes.all(), filters }
}

/// Creates a summary with these counts, and nothing else that anyone has written.
pub fn summary(counts: &Buffer<Counts>) -> GridSummary {
    GridSummary {
        bounds: poisoned(0),
        frame: uniform(Frame::zeroed()),
        counts: counts.clone(),
        dispatches: poisoned(1),
        giant_sizes: poisoned(1),
    }
}

/// Creates sorted entries with these keys. Giants may be among the entries.
pub fn sorted(keys: &[u32], entries: &[u32]) -> Entries {
    Entries {
        keys: upload(keys),
        entries: upload(entries),
        other_keys: poisoned(0),
        other_entries: poisoned(0),
        histograms: poisoned(0),
        digit_sums: poisoned(0),
    }
}

/// Records and runs a build.
fn build(grid: &mut Grid, kernels: &GridKernels, boxes: &[Aabb]) -> GridBuild {
    let _turn = turn();
    let filters = FilterSet::new(gpu(), Filters::default()).unwrap();
    let n = boxes.len() as u32;
    let params = uniform(Params {
        box_count: n,
        entry_capacity: grid.entries.keys.len() as u32,
        key_bits: KEY_BITS,
        ..Params::zeroed()
    });
    let input = upload(boxes);
    let mut encoder = gpu().device().create_command_encoder(&CommandEncoderDescriptor::default());
    grid.record_clear(&mut encoder, n, &filters);
    let mut pass = Pass::begin(gpu(), &mut encoder);
    let capacity = grid.entries.keys.len() as u32;
    let build = grid
        .record_build(&mut pass, kernels, &searched(&params, &input, &filters.lists), capacity, KEY_BITS, &filters)
        .unwrap();
    pass.finish().unwrap();
    drop(pass);
    gpu().queue().submit([encoder.finish()]);
    build
}

/// Checks what lies in the grid against the mirrors, from the frame on, which the GPU chose.
fn assert_holds(grid: &Grid, boxes: &[Aabb]) {
    let frame: Frame = download(&grid.summary.frame)[0];
    let counts: Counts = download(&grid.summary.counts)[0];
    let n = boxes.len();
    let (mut cells, mut positions) = (vec![[0; 4]; n], vec![[0; 4]; n]);
    let totals = mirror::bin::count(boxes, &[], &[], &frame, &mut cells, &mut positions);
    assert_eq!(counts.level, mirror::bin::level(&totals, n as u32, grid.entries.keys.len() as u32));
    let mut expected = mirror::bin::scatter(&cells, &mut positions, &frame, counts.level);
    mirror::sort::sort(&mut expected.keys, &mut expected.entries, frame.key_bits);
    let first = |buffer: &Buffer<u32>, count: u32| download(buffer)[..count as usize].to_vec();
    assert_eq!(first(&grid.entries.keys, counts.entry_count), expected.keys);
    assert_eq!(first(&grid.entries.entries, counts.entry_count), expected.entries);
    let capacity = grid.entries.keys.len().next_multiple_of(ENTRY_ALIGNMENT.into()) as usize;
    let giants = &download(&grid.entries.entries)[capacity..];
    assert_eq!(giants[..counts.giant_count as usize], expected.giants);
}

#[test]
fn a_grid_can_be_built_and_read_without_pairs() {
    let kernels = GridKernels::new(gpu());
    for kind in [Kind::Uniform, Kind::Clusters, Kind::Infinite] {
        let boxes = kind.generate(3000, 1);
        let mut grid = Grid::new(gpu(), &GridCapacity { boxes: 3000, entries: 13_000 }).unwrap();
        build(&mut grid, &kernels, &boxes);
        assert_holds(&grid, &boxes);
    }
}

#[test]
fn a_grid_holds_its_last_build_only() {
    let kernels = GridKernels::new(gpu());
    let capacity = GridCapacity { boxes: 1000, entries: 5000 };
    let boxes = Kind::Uniform.generate(1000, 1);
    let mut grid = Grid::new(gpu(), &capacity).unwrap();
    let first = build(&mut grid, &kernels, &boxes);
    assert!(grid.holds(first));
    let second = build(&mut grid, &kernels, &boxes[..500]);
    assert!(!grid.holds(first) && grid.holds(second));
    assert_holds(&grid, &boxes[..500]);
    // In other buffers, builds have other numbers.
    let mut other = Grid::new(gpu(), &capacity).unwrap();
    assert!(!other.holds(second));
    let third = build(&mut other, &kernels, &boxes);
    assert!(other.holds(third) && !grid.holds(third) && ![first, second].contains(&third));
    grid.forget();
    assert!(!grid.holds(second) && other.holds(third));
}
