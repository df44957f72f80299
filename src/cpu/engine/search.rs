//! The flow of a search on the CPU, with its reused memory.

use super::chunks::Chunks;
use super::giants::GiantSearch;
use super::pair_filter::{All, Filtered, PairFilter};
use super::sorted::Sorted;
use super::task_lists::TaskLists;
use super::{ALONE, order};
use crate::base::constants::SMALL_MOST;
use crate::base::reserve::reserve;
use crate::cpu::call;
use crate::cpu::mirror::{bin, emit, frame, small};
use crate::cpu::radix;
use crate::filters::CheckedFilters;
use crate::{Aabb, Error, Options, Overlaps, Pair, PairOrder, Report};

/// The boxes that a thread tests against all others at a time.
const ROWS: u32 = 128;

/// The last result, and scratch memory.
#[derive(Debug)]
pub struct Search {
    pub found: Overlaps,
    columns: small::Columns,
    chunks: Chunks,
    /// `[entry_count]` key and entry. After the sort, ascending by key, then by box.
    entries: Vec<u64>,
    /// `[entry_count]` scratch of the sort.
    other_entries: Vec<u64>,
    sorted: Sorted,
    giants: GiantSearch,
    pub lists: TaskLists,
    /// `[pair_count]` scratch memory of the sort into canonical order.
    pub other_pairs: Vec<Pair>,
}

impl Default for Search {
    fn default() -> Self {
        Self {
            found: Overlaps { pairs: Vec::new(), report: Report::of_all_pairs(0) },
            columns: small::Columns::default(),
            chunks: Chunks::default(),
            entries: Vec::new(),
            other_entries: Vec::new(),
            sorted: Sorted::default(),
            giants: GiantSearch::default(),
            lists: TaskLists::default(),
            other_pairs: Vec::new(),
        }
    }
}

impl Search {
    /// Resets the result to the result for no boxes, in the same memory.
    pub fn clear(&mut self) {
        self.found.clear();
    }

    /// Resets the result after an error, and returns the error.
    pub fn refuse(&mut self, error: Error) -> Error {
        match error {
            // Release the memory, since the code that handles the error needs memory too.
            Error::ListTooLong { .. } => *self = Self::default(),
            _ => self.clear(),
        }
        error
    }

    /// Finds the pairs among prepared boxes, without the included pairs.
    pub fn run(
        &mut self,
        boxes: &[Aabb],
        box_count: u32,
        options: &Options,
        filters: &CheckedFilters,
    ) -> Result<(), Error> {
        if filters.passes_all() {
            self.run_with(boxes, box_count, options, filters, All)
        } else {
            self.run_with(boxes, box_count, options, filters, Filtered::new(filters, boxes))
        }
    }

    fn run_with(
        &mut self,
        boxes: &[Aabb],
        box_count: u32,
        options: &Options,
        filters: &CheckedFilters,
        filter: impl PairFilter,
    ) -> Result<(), Error> {
        if options.tests_all_pairs(box_count) {
            return self.test_all_pairs(boxes, box_count, options, filter);
        }
        let params = call::params(box_count, options, filters);
        let bounds = self.chunks.bounds(boxes);
        let frame = frame::choose(&params, boxes, &bounds);
        let (totals, level) = self.chunks.count(boxes, filters, &frame, params.entry_capacity);
        self.chunks.scatter(&frame, level, &filters.filters().second, &mut self.entries);
        self.chunks.list(&frame, level, &mut self.giants.ids, &mut self.found.report.first_invalid);
        radix::sort(&mut self.entries, &mut self.other_entries, frame.key_bits);
        let swept = self.sorted.gather(&self.entries, &self.chunks.placed, &frame);

        let candidate_count = swept + self.giants.ids.len() as u64 * u64::from(box_count);
        let limit = options.effective_candidate_limit();
        if candidate_count > limit {
            return Err(Error::TooManyCandidates { candidate_count, limit });
        }
        let pairs = &mut self.found.pairs;
        self.sorted.sweep(filter, &mut self.lists, pairs)?;
        let is_giant = |i: u32| bin::is_giant(self.chunks.cells[i as usize], level, &frame);
        self.giants.test(boxes, is_giant, filter, &mut self.lists, pairs)?;
        if options.order == PairOrder::Canonical {
            order::canonical(pairs, &mut self.other_pairs, box_count);
        }
        self.found.report = Report {
            invalid_count: totals.invalid,
            first_invalid: std::mem::take(&mut self.found.report.first_invalid),
            giant_count: self.giants.ids.len() as u32,
            entry_count: self.entries.len() as u32,
            candidate_count,
            pair_count: self.found.pairs.len() as u64,
            all_pairs_up_to: options.most_in_all_pairs(),
            ..Report::of_sweep(&frame, level, box_count)
        };
        Ok(())
    }

    fn test_all_pairs(
        &mut self,
        boxes: &[Aabb],
        box_count: u32,
        options: &Options,
        filter: impl PairFilter,
    ) -> Result<(), Error> {
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
                reserve(list, emit::count(words))?;
                let before = list.len();
                small::emit(words, a, list);
                filter.retain_last(list, before);
            }
            Ok(())
        })?;
        let (invalid_count, first_invalid) = small::invalid(boxes);
        self.found.report = Report {
            invalid_count,
            first_invalid,
            pair_count: self.found.pairs.len() as u64,
            all_pairs_up_to: options.most_in_all_pairs(),
            ..Report::of_all_pairs(box_count)
        };
        Ok(())
    }

    /// Adds the included pairs, which are ascending: after all other pairs, or at their places in canonical order. The
    /// search must not have found them.
    pub fn add(&mut self, included: &[Pair], options: &Options) -> Result<(), Error> {
        let Overlaps { pairs, report } = &mut self.found;
        reserve(pairs, included.len() as u64)?;
        if options.order == PairOrder::Canonical || report.tested_all_pairs {
            order::merge(pairs, included);
        } else {
            pairs.extend_from_slice(included);
        }
        report.pair_count = pairs.len() as u64;
        Ok(())
    }

    /// Returns the bytes of allocated memory.
    pub fn bytes(&self) -> usize {
        let entries = (self.entries.capacity() + self.other_entries.capacity()) * size_of::<u64>();
        let pairs = (self.found.pairs.capacity() + self.other_pairs.capacity()) * size_of::<Pair>();
        let giants = self.giants.bytes();
        let parts = self.columns.bytes() + self.chunks.bytes() + self.sorted.bytes() + self.lists.bytes();
        entries + pairs + giants + parts
    }
}
