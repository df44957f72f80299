//! Collects the pieces of a list of pairs that is read back, until the list is complete.

use std::mem::take;

use super::merge::merge_runs;
use crate::gpu::host_copy::extend;
use crate::{Error, Overlaps, Pair, PairOrder, Report};

/// The pairs of the next result that were read back so far, in the memory of the last result.
#[derive(Debug, Default)]
pub(super) struct PartialAnswer {
    pairs: Vec<Pair>,
    pieces: u32,
}

impl PartialAnswer {
    /// Begins a result in the memory of the last result, and clears the last result.
    pub fn begin(&mut self, last: &mut Overlaps) {
        last.clear();
        *self = Self { pairs: take(&mut last.pairs), pieces: 0 };
    }

    /// Returns `true` before the first piece.
    pub fn is_empty(&self) -> bool {
        self.pieces == 0
    }

    /// Appends a piece of a list of known length.
    ///
    /// # Errors
    /// [`Error::ListTooLong`].
    pub fn append(&mut self, report: &Report, piece: &[Pair]) -> Result<(), Error> {
        if self.is_empty() {
            allocate_empty(&mut self.pairs, report.pair_count)?;
        }
        extend(&mut self.pairs, piece, Pair::clone);
        self.pieces += 1;
        Ok(())
    }

    /// Appends a piece of a list of unknown length.
    ///
    /// # Errors
    /// [`Error::ListTooLong`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn append_slab(&mut self, piece: &[Pair]) -> Result<(), Error> {
        let pair_count = (self.pairs.len() + piece.len()) as u64;
        self.pairs.try_reserve(piece.len()).map_err(|_| Error::list_too_long(pair_count))?;
        extend(&mut self.pairs, piece, Pair::clone);
        // A piece of a slab can consist of several runs, so it counts as more than one.
        self.pieces += 2;
        Ok(())
    }

    /// Returns the complete result with this report. In canonical order, it first merges the pieces.
    pub fn finish(&mut self, report: Report, order: PairOrder) -> Overlaps {
        let Self { mut pairs, pieces } = take(self);
        if order == PairOrder::Canonical && pieces > 1 {
            merge_runs(&mut pairs);
        }
        Overlaps { report, pairs }
    }
}

/// Ensures that an empty list has capacity for this many pairs. If the list must grow, it gets a reserve, since the
/// next list may be longer.
fn allocate_empty(pairs: &mut Vec<Pair>, pair_count: u64) -> Result<(), Error> {
    let count = usize::try_from(pair_count).map_err(|_| Error::list_too_long(pair_count))?;
    if pairs.capacity() >= count {
        return Ok(());
    }
    // Release the old list first, since both together may exceed the memory.
    *pairs = Vec::new();
    let ample = count.saturating_add(count / 8);
    let reserved = pairs.try_reserve_exact(ample).or_else(|_| pairs.try_reserve_exact(count));
    reserved.map_err(|_| Error::list_too_long(pair_count))
}
