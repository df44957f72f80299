//! Runs the mirrors one after the other on one thread, in the order of the flow. Tests compare the engine with it.

use super::{bin, emit, frame, giants, order, pca, rank, small, sort, sweep};
use crate::base::options::ALL_PAIRS_CPU;
use crate::base::reserve::reserve;
use crate::cpu::call::{checked_count, params};
use crate::filters::CheckedFilters;
use crate::{Aabb, Error, Filters, Options, Overlaps, Pair, PairOrder, Report};

/// The candidates to test before more capacity for pairs is allocated.
const BATCH: u64 = 1 << 20;

/// Returns the report and the pairs of [`cpu::find_pairs`](crate::cpu::find_pairs). The order of the pairs is the same
/// only if it is canonical.
///
/// # Errors
/// The errors of [`cpu::find_pairs`](crate::cpu::find_pairs).
pub fn find_pairs(boxes: &[Aabb], options: &Options) -> Result<Overlaps, Error> {
    find_filtered_pairs(boxes, &Filters::default(), options)
}

/// Returns the report and the pairs of a [`cpu::BroadPhase`](crate::cpu::BroadPhase) with these filters.
///
/// # Errors
/// The errors of [`cpu::find_pairs`](crate::cpu::find_pairs), and of [`Filters::check`].
pub fn find_filtered_pairs(boxes: &[Aabb], filters: &Filters, options: &Options) -> Result<Overlaps, Error> {
    let options = &options.checked(ALL_PAIRS_CPU)?;
    let mut filters = CheckedFilters::new(filters.clone())?;
    filters.fit(boxes.len())?;
    checked_count(boxes.len())?;
    let mut prepared = boxes.to_vec();
    filters.filters().prepare(&mut prepared);
    let Overlaps { mut pairs, mut report } = search(&prepared, &filters, options)?;
    // The search omits included pairs, so that no pair is listed twice.
    reserve(&mut pairs, filters.include().len() as u64)?;
    pairs.extend_from_slice(filters.include());
    if options.order == PairOrder::Canonical || report.tested_all_pairs {
        order::canonical(&mut pairs);
    }
    report.pair_count = pairs.len() as u64;
    Ok(Overlaps { pairs, report })
}

/// Finds all pairs except the included pairs, in any order.
fn search(boxes: &[Aabb], filters: &CheckedFilters, options: &Options) -> Result<Overlaps, Error> {
    let box_count = boxes.len() as u32;
    if options.tests_all_pairs(box_count) {
        return all_pairs(boxes, filters, options);
    }
    let params = params(box_count, options, filters);

    let bounds = pca::bounds(boxes);
    let frame = frame::choose(&params, boxes, &bounds);
    let mut cells = vec![[0; 4]; boxes.len()];
    let mut positions = vec![[0; 4]; boxes.len()];
    let mut world_cells = vec![[0; 4]; filters.world_count() as usize];
    bin::worlds(boxes, filters.worlds(), &frame, &mut world_cells);
    let totals = bin::count(boxes, filters.worlds(), &world_cells, &frame, &mut cells, &mut positions);
    let level = bin::level(&totals, box_count, params.entry_capacity);
    let bin::Entries { mut keys, mut entries, giants, first_invalid } =
        bin::scatter(&cells, &mut positions, &frame, level);
    sort::sort(&mut keys, &mut entries, frame.key_bits);
    let ends = rank::ends(&frame, &keys, &entries, &positions);
    let footprints = rank::footprints(&entries, &positions);

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
        reserve(&mut pairs, most)?;
        let before = pairs.len();
        sweep::test(boxes, &entries, &footprints, &ends, first..rank, &mut pairs);
        retain(&mut pairs, before, filters, boxes);
    }
    for &giant in &giants {
        let words = giants::test(boxes, &cells, &frame, level, giant);
        reserve(&mut pairs, emit::count(&words))?;
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
        all_pairs_up_to: options.most_in_all_pairs(),
        ..Report::of_sweep(&frame, level, box_count)
    };
    Ok(Overlaps { pairs, report })
}

/// Tests every box against every other box. [`search`] uses it for few boxes.
fn all_pairs(boxes: &[Aabb], filters: &CheckedFilters, options: &Options) -> Result<Overlaps, Error> {
    let box_count = boxes.len() as u32;
    let columns = small::Columns::new(boxes);
    let mut pairs = Vec::new();
    for a in 0..box_count {
        let words = small::test(&columns, a);
        reserve(&mut pairs, emit::count(&words))?;
        let before = pairs.len();
        small::emit(&words, a, &mut pairs);
        retain(&mut pairs, before, filters, boxes);
    }
    let (invalid_count, first_invalid) = small::invalid(boxes);
    let all_pairs_up_to = options.most_in_all_pairs();
    let report = Report { invalid_count, first_invalid, all_pairs_up_to, ..Report::of_all_pairs(box_count) };
    Ok(Overlaps { pairs, report })
}

/// Removes the pairs, from `first` on, that `filters` reject.
fn retain(pairs: &mut Vec<Pair>, first: usize, filters: &CheckedFilters, boxes: &[Aabb]) {
    pairs.extract_if(first.., |pair| !filters.passes(boxes.into(), pair.a, pair.b)).for_each(drop);
}
