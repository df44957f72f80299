//! The mirrors, one after the other on one thread: the flow as it is written down, which the engine is compared with.

use super::{bin, emit, frame, giants, order, pca, rank, small, sort, sweep};
use crate::constants::*;
use crate::filters::Compiled;
use crate::stages::layout::{Frame, Params};
use crate::{Aabb, Error, Filters, Options, Overlaps, Pair, PairOrder, Report, SweepAxis};

/// Bounds the candidates that are tested before room is made for as many pairs again.
const BATCH: u64 = 1 << 20;

/// Finds what [`cpu::find_pairs`](super::find_pairs) finds: the same report and the same pairs, in canonical order in
/// the same order.
///
/// # Errors
/// Those of [`cpu::find_pairs`](super::find_pairs).
pub fn find_pairs(boxes: &[Aabb], options: &Options) -> Result<Overlaps, Error> {
    find_filtered_pairs(boxes, &Filters::default(), options)
}

/// Finds what [`cpu::BroadPhase`](super::BroadPhase) finds that has these filters.
///
/// # Errors
/// Those of [`Filters::check`] too.
pub fn find_filtered_pairs(boxes: &[Aabb], filters: &Filters, options: &Options) -> Result<Overlaps, Error> {
    options.check()?;
    let mut filters = Compiled::new(filters.clone())?;
    filters.fit(boxes.len())?;
    checked_count(boxes.len())?;
    let mut prepared = boxes.to_vec();
    filters.filters().prepare(&mut prepared);
    let Overlaps { mut pairs, mut report } = search(&prepared, &filters, options)?;
    // A search leaves out what is included, so that nothing comes twice.
    make_room(&mut pairs, filters.include().len() as u64)?;
    pairs.extend_from_slice(filters.include());
    if options.order == PairOrder::Canonical || report.tested_all_pairs() {
        order::canonical(&mut pairs);
    }
    report.pair_count = pairs.len() as u64;
    Ok(Overlaps { pairs, report })
}

/// Finds the pairs without those that are included, in any order.
fn search(boxes: &[Aabb], filters: &Compiled, options: &Options) -> Result<Overlaps, Error> {
    let box_count = boxes.len() as u32;
    if options.tests_all_pairs(box_count) {
        return all_pairs(boxes, filters);
    }
    let params = params(box_count, options, filters);

    let bounds = pca::bounds(boxes);
    let moments = pca::moments(boxes, &bounds);
    let frame = frame::choose(&params, boxes, &bounds, &moments);
    let mut cells = vec![[0; 4]; boxes.len()];
    let mut positions = vec![[0; 4]; boxes.len()];
    let mut world_cells = vec![[0; 4]; filters.world_count() as usize];
    bin::worlds(boxes, filters.worlds(), &frame, &mut world_cells);
    let totals = bin::count(boxes, filters.worlds(), &world_cells, &frame, &mut cells, &mut positions);
    let level = bin::scan(&totals, box_count, params.entry_capacity);
    let bin::Entries { mut keys, mut entries, giants, first_invalid } =
        bin::scatter(&cells, &mut positions, &frame, level);
    sort::sort(&mut keys, &mut entries, frame.key_bits);
    let ends = rank::ends(&frame, &keys, &entries, &positions);
    let extents = rank::extents(&entries, &positions);

    let candidates = |rank: usize| u64::from(ends[rank]) - rank as u64 - 1;
    let swept: u64 = (0..entries.len()).map(candidates).sum();
    let candidate_count = swept + giants.len() as u64 * boxes.len() as u64;
    if candidate_count > options.effective_candidate_limit() {
        return Err(Error::TooManyCandidates { candidate_count, limit: options.effective_candidate_limit() });
    }
    let mut pairs = Vec::new();
    let mut rank = 0;
    while rank < entries.len() {
        let (first, mut most) = (rank, 0);
        while rank < entries.len() && most < BATCH {
            most += candidates(rank);
            rank += 1;
        }
        make_room(&mut pairs, most)?;
        let before = pairs.len();
        sweep::test(boxes, &entries, &extents, &ends, first..rank, &mut pairs);
        retain(&mut pairs, before, filters, boxes);
    }
    for &giant in &giants {
        let words = giants::test(boxes, &cells, &frame, level, giant);
        make_room(&mut pairs, emit::scan(&words))?;
        let before = pairs.len();
        emit::giants(&words, giant, &mut pairs);
        retain(&mut pairs, before, filters, boxes);
    }

    let report = Report {
        invalid_count: totals.invalid,
        first_invalid,
        giant_count: giants.len() as u32,
        entry_count: entries.len() as u32,
        candidate_count,
        ..of_frame(&frame, level, box_count)
    };
    Ok(Overlaps { pairs, report })
}

/// Tests every box against every other, as [`search`] does where there are few.
fn all_pairs(boxes: &[Aabb], filters: &Compiled) -> Result<Overlaps, Error> {
    let box_count = boxes.len() as u32;
    let columns = small::Columns::new(boxes);
    let mut pairs = Vec::new();
    for a in 0..box_count {
        let words = small::test(&columns, a);
        make_room(&mut pairs, emit::scan(&words))?;
        let before = pairs.len();
        small::emit(&words, a, &mut pairs);
        retain(&mut pairs, before, filters, boxes);
    }
    let (invalid_count, first_invalid) = small::invalid(boxes);
    Ok(Overlaps { pairs, report: Report { invalid_count, first_invalid, ..of_all_pairs(box_count) } })
}

/// Drops the pairs from `first` on that `filters` do not keep.
fn retain(pairs: &mut Vec<Pair>, first: usize, filters: &Compiled, boxes: &[Aabb]) {
    pairs.extract_if(first.., |pair| !filters.keeps(boxes, pair.a, pair.b)).for_each(drop);
}

/// Returns the number of boxes, or an error where there are too many.
pub(super) fn checked_count(box_count: usize) -> Result<u32, Error> {
    let (box_count, most) = (box_count as u64, u64::from(MAX_ENTRIES));
    if box_count <= most {
        return Ok(box_count as u32);
    }
    Err(Error::TooManyBoxes {
        box_count,
        buffer: "entries",
        required: box_count * 4,
        limit: "the number of entries, times their 4 bytes,",
        available: most * 4,
        max_boxes: most,
    })
}

/// Returns what the kernels are told of this many boxes.
pub(super) fn params(box_count: u32, options: &Options, filters: &Compiled) -> Params {
    let (cell_mode, cell_size) = options.cell_size.code();
    Params {
        box_count,
        entry_capacity: (4 * box_count + 1024).min(MAX_ENTRIES),
        axis: options.axis.code(),
        cell_mode,
        cell_size,
        world_count: filters.world_count(),
        include_count: filters.include().len() as u32,
        ..bytemuck::Zeroable::zeroed()
    }
}

/// Begins the report on a sweep in this frame, before anything was counted.
pub(super) fn of_frame(frame: &Frame, level: u32, box_count: u32) -> Report {
    Report {
        axis: SweepAxis::from_code(frame.axis),
        direction: frame.sweep,
        cell_size: frame.cell_size_at(level),
        candidate_count: 0,
        ..of_all_pairs(box_count)
    }
}

/// Begins the report on every box against every other, before their pairs were counted.
pub(super) fn of_all_pairs(box_count: u32) -> Report {
    Report {
        box_count,
        invalid_count: 0,
        first_invalid: Vec::new(),
        giant_count: 0,
        entry_count: 0,
        candidate_count: u64::from(box_count) * u64::from(box_count.saturating_sub(1)) / 2,
        pair_count: 0,
        axis: SweepAxis::Auto,
        direction: [0.0; 3],
        cell_size: f32::INFINITY,
        passes: 1,
        gpu_bytes: 0,
    }
}

/// Makes room for `more` pairs, or returns an error instead of an abort.
pub(super) fn make_room(pairs: &mut Vec<Pair>, more: u64) -> Result<(), Error> {
    let pair_count = pairs.len() as u64 + more;
    usize::try_from(more).ok().and_then(|more| pairs.try_reserve(more).ok()).ok_or(too_long(pair_count))
}

/// Returns the error of this many pairs, and perhaps more, that have no room.
pub(super) fn too_long(pair_count: u64) -> Error {
    Error::ListTooLong { pair_count, required: pair_count.saturating_mul(size_of::<Pair>() as u64) }
}
