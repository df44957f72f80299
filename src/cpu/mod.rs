//! The same stages on plain slices, one file and one function for each kernel, and [`brute_force`], the oracle.
//!
//! A mirror has the result of its kernel, not its schedule: [`sweep::test`] gives the pairs themselves, so the kernels
//! that only write what `sweep_test` found have none. [`find_pairs`] chains them: an engine for machines
//! without a GPU, with the same options, the same answer and the same report.

pub mod bin;
pub mod brute_force;
pub mod emit;
pub mod frame;
pub mod giants;
pub mod order;
pub mod pca;
pub mod rank;
pub mod small;
pub mod sort;
pub mod sweep;

use crate::constants::*;
use crate::stages::layout::Params;
use crate::{Aabb, Error, Options, Overlaps, Pair, PairOrder, Report, SweepAxis};

/// The engine for machines without a GPU: what [`find_pairs`] does, frame after frame, with memory that it keeps.
#[derive(Debug)]
pub struct BroadPhase {
    options: Options,
    found: Overlaps,
}

impl BroadPhase {
    /// An engine with these options.
    ///
    /// # Errors
    /// [`Error::BadOption`].
    pub fn new(options: Options) -> Result<Self, Error> {
        options.check()?;
        let found = find_pairs(&[], &options)?;
        Ok(Self { options, found })
    }

    /// Every pair of `boxes` that overlaps, each once. The answer stays until the next call.
    ///
    /// # Errors
    /// As [`find_pairs`].
    pub fn find_pairs(&mut self, boxes: &[Aabb]) -> Result<&Overlaps, Error> {
        self.found = find_pairs(boxes, &self.options)?;
        Ok(&self.found)
    }
}

/// Candidates that are tested before there is a look whether there is room for as many pairs again.
const BATCH: u64 = 1 << 20;

/// Every pair of `boxes` that overlaps, each once, on one thread of the CPU.
///
/// `options.memory_budget` concerns GPU memory and is not looked at. Up to `options.all_pairs_up_to` boxes it tests
/// every two of them, as the GPU does.
///
/// # Errors
/// [`Error::BadOption`], [`Error::TooManyBoxes`] beyond 2²⁵ boxes, [`Error::TooManyCandidates`],
/// [`Error::ListTooLong`].
///
/// ```
/// use broadsweep::{Aabb, Options, Pair, cpu};
///
/// let boxes = [Aabb::new([0.0; 3], [1.0; 3]), Aabb::new([1.0; 3], [2.0; 3]), Aabb::new([3.0; 3], [4.0; 3])];
/// let overlaps = cpu::find_pairs(&boxes, &Options::default()).unwrap();
/// assert_eq!(overlaps.pairs, [Pair { a: 0, b: 1 }]);
/// ```
pub fn find_pairs(boxes: &[Aabb], options: &Options) -> Result<Overlaps, Error> {
    options.check()?;
    let (cell_mode, cell_size) = options.cell_size.code();
    let most = u64::from(MAX_ENTRIES);
    if boxes.len() as u64 > most {
        return Err(Error::TooManyBoxes {
            box_count: boxes.len() as u64,
            buffer: "entries",
            required: boxes.len() as u64 * 4,
            limit: "the number of entries, times their 4 bytes,",
            available: most * 4,
            max_boxes: most,
        });
    }
    let box_count = boxes.len() as u32;
    if options.tests_all_pairs(box_count) {
        return all_pairs(boxes);
    }
    let params = Params {
        box_count,
        entry_capacity: (4 * box_count + 1024).min(MAX_ENTRIES),
        axis: options.axis.code(),
        cell_mode,
        cell_size,
        ..bytemuck::Zeroable::zeroed()
    };

    let bounds = pca::bounds(boxes);
    let moments = pca::moments(boxes, &bounds);
    let frame = frame::choose(&params, boxes, &bounds, &moments);
    let mut cells = vec![[0; 4]; boxes.len()];
    let mut positions = vec![[0; 4]; boxes.len()];
    let totals = bin::count(boxes, &frame, &mut cells, &mut positions);
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
        sweep::test(boxes, &entries, &extents, &ends, first..rank, &mut pairs);
    }
    for &giant in &giants {
        let words = giants::test(boxes, &cells, &frame, level, giant);
        make_room(&mut pairs, emit::scan(&words))?;
        emit::giants(&words, giant, &mut pairs);
    }
    if options.order == PairOrder::Canonical {
        order::canonical(&mut pairs);
    }

    let report = Report {
        box_count,
        invalid_count: totals.invalid,
        first_invalid,
        giant_count: giants.len() as u32,
        entry_count: entries.len() as u32,
        candidate_count,
        pair_count: pairs.len() as u64,
        axis: SweepAxis::from_code(frame.axis),
        direction: frame.sweep,
        cell_size: frame.cell_size_at(level),
        passes: 1,
        gpu_bytes: 0,
    };
    Ok(Overlaps { pairs, report })
}

/// What [`find_pairs`] does with few boxes.
fn all_pairs(boxes: &[Aabb]) -> Result<Overlaps, Error> {
    let box_count = boxes.len() as u32;
    let columns = small::Columns::new(boxes);
    let mut pairs = Vec::new();
    for a in 0..box_count {
        let words = small::test(&columns, a);
        make_room(&mut pairs, emit::scan(&words))?;
        small::emit(&words, a, &mut pairs);
    }
    let (invalid_count, first_invalid) = small::invalid(boxes);
    let report = Report {
        box_count,
        invalid_count,
        first_invalid,
        giant_count: 0,
        entry_count: 0,
        candidate_count: u64::from(box_count) * u64::from(box_count.saturating_sub(1)) / 2,
        pair_count: pairs.len() as u64,
        axis: SweepAxis::Auto,
        direction: [0.0; 3],
        cell_size: f32::INFINITY,
        passes: 1,
        gpu_bytes: 0,
    };
    Ok(Overlaps { pairs, report })
}

/// Room for `more` pairs, or an error instead of an abort.
fn make_room(pairs: &mut Vec<Pair>, more: u64) -> Result<(), Error> {
    let pair_count = pairs.len() as u64 + more;
    usize::try_from(more)
        .ok()
        .and_then(|more| pairs.try_reserve(more).ok())
        .ok_or(Error::ListTooLong { pair_count, required: pair_count.saturating_mul(size_of::<Pair>() as u64) })
}
