//! The flow on all cores of the CPU, with memory that is kept.
//!
//! The stages are those of [`reference`](mod@super::reference) and use its functions where a stage looks at one box at
//! a time; the frame, the cells, the keys and the candidates are the same numbers. What has another shape here, since
//! the mirrors' is not fast: boxes in [chunks](chunks), a [sort](radix) that first deals out by the leading digit, so
//! that the rest stays in a cache, [boxes gathered](sorted) in the order of the sweep, and pairs in
//! [lists](lists) that several threads fill.

mod chunks;
mod giants;
mod lists;
mod order;
mod radix;
mod sorted;

use self::chunks::Chunks;
use self::lists::Lists;
use self::sorted::Sorted;
use super::{bin, frame, reference, small};
use crate::constants::{ENTRY_BOX, SMALL_MOST};
use crate::{Aabb, Error, Options, Overlaps, Pair, PairOrder, Report};

/// Boxes that a thread tests against all others at a time.
const ROWS: u32 = 128;
/// Up to so many boxes, all is done before another thread would be awake.
const ALONE: u32 = 512;

/// The broad phase on the CPU: [`find_pairs`](super::find_pairs) for one frame after another.
///
/// It takes the threads of the `rayon` pool that it is called from, and finds the same pairs in the same order with any
/// number of them. Its memory is kept: a frame that needs no more than those before it allocates nothing that grows
/// with the number of boxes or pairs.
///
/// ```
/// use broadsweep::{Aabb, Options, cpu};
///
/// let mut broad_phase = cpu::BroadPhase::new(Options::default())?;
/// let mut boxes = [Aabb::new([0.0; 3], [1.0; 3]), Aabb::new([2.0; 3], [3.0; 3])];
/// assert!(broad_phase.find_pairs(&boxes)?.pairs.is_empty());
/// boxes[1].min = [1.0; 3];
/// assert_eq!(broad_phase.find_pairs(&boxes)?.pairs.len(), 1);
/// # Ok::<(), broadsweep::Error>(())
/// ```
#[derive(Debug)]
pub struct BroadPhase {
    options: Options,
    found: Overlaps,
    columns: small::Columns,
    chunks: Chunks,
    /// `[entry_count]` key and entry, ascending by key once sorted; equal keys by box.
    entries: Vec<u64>,
    /// As long, for the sort.
    other_entries: Vec<u64>,
    sorted: Sorted,
    giants: Vec<u32>,
    lists: Lists,
    /// `[pair_count]` for the order.
    other_pairs: Vec<Pair>,
}

impl BroadPhase {
    /// An engine with these options.
    ///
    /// # Errors
    /// [`Error::BadOption`].
    pub fn new(options: Options) -> Result<Self, Error> {
        options.check()?;
        Ok(Self {
            options,
            found: Overlaps { pairs: Vec::new(), report: reference::of_all_pairs(0) },
            columns: small::Columns::default(),
            chunks: Chunks::default(),
            entries: Vec::new(),
            other_entries: Vec::new(),
            sorted: Sorted::default(),
            giants: Vec::new(),
            lists: Lists::default(),
            other_pairs: Vec::new(),
        })
    }

    /// What it was made with, or given since.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Other options from the next frame on.
    ///
    /// # Errors
    /// [`Error::BadOption`]; the old options then stay.
    pub fn set_options(&mut self, options: Options) -> Result<(), Error> {
        options.check()?;
        self.options = options;
        Ok(())
    }

    /// Every pair of `boxes` that overlaps, each once. The answer stays until the next call.
    ///
    /// # Errors
    /// [`Error::TooManyBoxes`] beyond 2²⁵ boxes, [`Error::TooManyCandidates`], [`Error::ListTooLong`]. The next call
    /// is as good as any.
    pub fn find_pairs(&mut self, boxes: &[Aabb]) -> Result<&Overlaps, Error> {
        if let Err(error) = self.start(boxes) {
            self.clear();
            return Err(error);
        }
        Ok(&self.found)
    }

    fn start(&mut self, boxes: &[Aabb]) -> Result<(), Error> {
        self.clear();
        let box_count = reference::checked_count(boxes.len())?;
        if box_count <= ALONE {
            return self.search(boxes, box_count);
        }
        // One visit to the pool, and not one for each stage.
        rayon::join(|| self.search(boxes, box_count), || ()).0
    }

    /// The answer for no boxes, in the same memory.
    fn clear(&mut self) {
        self.found.pairs.clear();
        let mut first_invalid = std::mem::take(&mut self.found.report.first_invalid);
        first_invalid.clear();
        self.found.report = Report { first_invalid, ..reference::of_all_pairs(0) };
    }

    /// The last answer, without a copy; no pairs of no boxes before the first, and after an error.
    pub fn into_overlaps(self) -> Overlaps {
        self.found
    }

    /// Bytes of memory that are kept for the next frame, the last answer among them.
    pub fn memory_bytes(&self) -> u64 {
        let entries = (self.entries.capacity() + self.other_entries.capacity()) * size_of::<u64>();
        let pairs = (self.found.pairs.capacity() + self.other_pairs.capacity()) * size_of::<Pair>();
        let giants = self.giants.capacity() * size_of::<u32>();
        let parts = self.columns.bytes() + self.chunks.bytes() + self.sorted.bytes() + self.lists.bytes();
        (entries + pairs + giants + parts) as u64
    }

    fn search(&mut self, boxes: &[Aabb], box_count: u32) -> Result<(), Error> {
        if self.options.tests_all_pairs(box_count) {
            return self.test_all_pairs(boxes, box_count);
        }
        let params = reference::params(box_count, &self.options);
        let (bounds, moments) = self.chunks.statistics(boxes);
        let frame = frame::choose(&params, boxes, &bounds, &moments);
        let totals = self.chunks.count(boxes, &[], &frame);
        let level = bin::scan(&totals, box_count, params.entry_capacity);
        self.chunks.scatter(&frame, level, &mut self.entries);
        self.chunks.list(&frame, level, &mut self.giants, &mut self.found.report.first_invalid);
        radix::sort(&mut self.entries, &mut self.other_entries, frame.key_bits);
        let swept = self.sorted.gather(boxes, &self.entries, &self.chunks.positions, &frame);

        let candidate_count = swept + self.giants.len() as u64 * u64::from(box_count);
        let limit = self.options.effective_candidate_limit();
        if candidate_count > limit {
            return Err(Error::TooManyCandidates { candidate_count, limit });
        }
        let pairs = &mut self.found.pairs;
        self.sorted.sweep(&self.entries, &mut self.lists, pairs)?;
        giants::test(boxes, &self.giants, &self.chunks.cells, &frame, level, &mut self.lists, pairs)?;
        if self.options.order == PairOrder::Canonical {
            order::canonical(pairs, &mut self.other_pairs, box_count);
        }
        self.found.report = Report {
            invalid_count: totals.invalid,
            first_invalid: std::mem::take(&mut self.found.report.first_invalid),
            giant_count: self.giants.len() as u32,
            entry_count: self.entries.len() as u32,
            candidate_count,
            pair_count: self.found.pairs.len() as u64,
            ..reference::of_frame(&frame, level, box_count)
        };
        Ok(())
    }

    fn test_all_pairs(&mut self, boxes: &[Aabb], box_count: u32) -> Result<(), Error> {
        self.columns.fill(boxes);
        let columns = &self.columns;
        let at_once = if box_count <= ALONE { ALONE } else { ROWS };
        let rows = (0..box_count).step_by(at_once as usize);
        self.lists.fill(rows, &mut self.found.pairs, |&first, list| {
            let mut words = [0; SMALL_MOST as usize / 32];
            for a in first..box_count.min(first + at_once) {
                let words = &mut words[..boxes.len().div_ceil(32)];
                words.fill(0);
                small::test_into(columns, a, words);
                reference::make_room(list, super::emit::scan(words))?;
                small::emit(words, a, list);
            }
            Ok(())
        })?;
        let (invalid_count, first_invalid) = small::invalid(boxes);
        self.found.report = Report {
            invalid_count,
            first_invalid,
            pair_count: self.found.pairs.len() as u64,
            ..reference::of_all_pairs(box_count)
        };
        Ok(())
    }
}

/// The box of a sorted entry.
fn box_of(entry: u64) -> u32 {
    entry as u32 & ENTRY_BOX
}
