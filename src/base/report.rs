//! The result of a call: the pairs, and the report of the search.

use std::ops::Index;

use crate::base::layout::Frame;
use crate::{Pair, SweepAxis};

/// The pairs of one call, and their report.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct Overlaps {
    /// Every overlapping pair that the [`Filters`](crate::Filters) accept, each once.
    pub pairs: Vec<Pair>,
    /// The report of the search.
    pub report: Report,
}

/// Counts and choices of one call. With several [`passes`](Self::passes), counts are summed over all passes, but
/// `box_count`, `invalid_count` and `pair_count` count each box and pair once. Axis, directions, corner and cell size
/// describe the first pass.
///
/// To compare results, compare pairs in [`PairOrder::Canonical`](crate::PairOrder::Canonical), not reports. The pairs
/// are the same on every adapter and on both engines. Reports can differ:
///
/// - [`gpu_bytes`](Self::gpu_bytes) depends on the device, and so does the default of
///   [`all_pairs_up_to`](Self::all_pairs_up_to).
/// - The last bits of `direction`, `across`, `corner` and `cell_size` depend on rounding.
/// - With an oblique axis, a few thousandths of the entries, candidates and giants depend on rounding. The share
///   is larger only if a decision about the grid is close to its threshold, or if cells are hardly larger than
///   rounding errors.
/// - If one engine [queried a tree](Self::tree_join) and the other engine swept, only the counts of boxes and pairs are
///   the same.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct Report {
    /// Boxes in the input.
    pub box_count: u32,
    /// Boxes with a NaN or with `min > max`, after padding by their margins. Such boxes overlap nothing.
    pub invalid_count: u32,
    /// The indices of the first invalid boxes, ascending, at most [`Report::INVALID_LISTED`].
    pub first_invalid: Vec<u32>,
    /// Giants: boxes that are unbounded or in too many cells. Each giant is tested against all boxes. If there are many
    /// giants, each is tested only against the boxes near it. The count is 0 if every box was tested against every
    /// other box ([`tested_all_pairs`](Self::tested_all_pairs)), or in a tree join.
    pub giant_count: u32,
    /// Entries: (box, cell) incidences. 0 if every box was tested against every other box, or in a tree join. The sum
    /// over all passes saturates at 2³² − 1.
    pub entry_count: u32,
    /// Candidates. In a sweep: pairs of entries of the same cell whose intervals meet on the sweep axis, plus giants ×
    /// boxes, even if some of these tests are skipped. If every box is tested against every other box: `n (n - 1) / 2`.
    /// In a tree join: the boxes of all leaves that each query visits.
    pub candidate_count: u64,
    /// Overlapping pairs that the [`Filters`](crate::Filters) accept, plus the included pairs. During several passes of
    /// [`stream_pairs`](crate::BroadPhase::stream_pairs), it counts the pairs passed to the caller so far.
    pub pair_count: u64,
    /// The axis of the sweep. [`SweepAxis::Auto`] if every box was tested against every other box, or in a tree join.
    /// With slabs, if the first slab was searched without an axis: the axis along which the slabs were cut.
    pub axis: SweepAxis,
    /// The direction of the axis, of unit length; zeros if there was no axis.
    pub direction: [f32; 3],
    /// The two directions of the edges of cells; zeros if there was no axis. Both have unit length, and are at right
    /// angles to [`direction`](Self::direction) and to each other.
    pub across: [[f32; 3]; 2],
    /// The position of a corner of a cell along each direction of [`across`](Self::across), relative to the origin. All
    /// other corners lie at whole multiples of [`cell_size`](Self::cell_size) from it, along both directions.
    pub corner: [f32; 2],
    /// The edge of a cell, in the units of the input. It is infinite if the grid was a single cell, or if there was no
    /// grid. Otherwise it is positive and finite: if the edge is too small or too large for `f32`, the nearest such
    /// value.
    pub cell_size: f32,
    /// The count of searches: 1, or the count of slabs of a scene with more boxes than fit
    /// ([`BroadPhase::find_pairs`](crate::BroadPhase::find_pairs)). Invalid boxes are in no slab, so the count is also
    /// 1 if one slab has all valid boxes.
    pub passes: u32,
    /// The largest box count for which this call tests every box against every other box
    /// ([`Options::all_pairs_up_to`](crate::Options::all_pairs_up_to)).
    pub all_pairs_up_to: u32,
    /// `true` if every box was tested against every other box, without axis and grid
    /// ([`Options::all_pairs_up_to`](crate::Options::all_pairs_up_to)). Always `false` if the scene was cut into slabs.
    pub tested_all_pairs: bool,
    /// `true` if the boxes of one of two sets queried a tree of the other set. The CPU engine does this for most joins
    /// ([`cpu::BroadPhase::find_pairs_between`](crate::cpu::BroadPhase::find_pairs_between)). Then there is no axis and
    /// no grid.
    pub tree_join: bool,
    /// Bytes of allocated GPU memory; 0 for the CPU engine.
    pub gpu_bytes: u64,
}

impl Overlaps {
    /// Creates a result from its parts.
    pub const fn new(pairs: Vec<Pair>, report: Report) -> Self {
        Self { pairs, report }
    }

    /// Returns the pair count.
    pub const fn len(&self) -> usize {
        self.pairs.len()
    }

    /// Returns whether there are no pairs.
    pub const fn is_empty(&self) -> bool {
        self.pairs.is_empty()
    }

    /// Returns the pairs, in their order.
    pub fn iter(&self) -> std::slice::Iter<'_, Pair> {
        self.pairs.iter()
    }

    /// Clears the result, without releasing its memory.
    pub(crate) fn clear(&mut self) {
        self.pairs.clear();
        let mut first_invalid = std::mem::take(&mut self.report.first_invalid);
        first_invalid.clear();
        self.report = Report { first_invalid, ..Report::default() };
    }
}

impl IntoIterator for Overlaps {
    type Item = Pair;
    type IntoIter = std::vec::IntoIter<Pair>;

    /// Moves the pairs out, in their order.
    fn into_iter(self) -> Self::IntoIter {
        self.pairs.into_iter()
    }
}

impl<'a> IntoIterator for &'a Overlaps {
    type Item = &'a Pair;
    type IntoIter = std::slice::Iter<'a, Pair>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// Returns pair `i`.
///
/// # Panics
/// If there is no such pair.
impl Index<usize> for Overlaps {
    type Output = Pair;

    fn index(&self, i: usize) -> &Pair {
        &self.pairs[i]
    }
}

impl Default for Report {
    /// Returns the report of a search of no boxes.
    fn default() -> Self {
        Self::of_all_pairs(0)
    }
}

impl Report {
    /// The most invalid boxes that are listed by index.
    pub const INVALID_LISTED: usize = crate::base::constants::INVALID_LISTED as usize;

    /// Creates the report of a test of every box against every other box, before the pairs are counted.
    pub(crate) fn of_all_pairs(box_count: u32) -> Self {
        Self {
            box_count,
            invalid_count: 0,
            first_invalid: Vec::new(),
            giant_count: 0,
            entry_count: 0,
            candidate_count: u64::from(box_count) * u64::from(box_count.saturating_sub(1)) / 2,
            pair_count: 0,
            axis: SweepAxis::Auto,
            direction: [0.0; 3],
            across: [[0.0; 3]; 2],
            corner: [0.0; 2],
            cell_size: f32::INFINITY,
            passes: 1,
            all_pairs_up_to: 0,
            tested_all_pairs: true,
            tree_join: false,
            gpu_bytes: 0,
        }
    }

    /// Creates the report of a tree join, before anything is counted.
    pub(crate) fn of_tree(box_count: u32) -> Self {
        Self { candidate_count: 0, tested_all_pairs: false, tree_join: true, ..Self::of_all_pairs(box_count) }
    }

    /// Creates the report of a sweep in this frame, before anything is counted.
    pub(crate) fn of_sweep(frame: &Frame, level: u32, box_count: u32) -> Self {
        Self {
            axis: SweepAxis::from_code(frame.axis),
            direction: frame.sweep,
            across: [frame.plane_u, frame.plane_v],
            corner: frame.corner(),
            cell_size: frame.cell_size_at(level),
            candidate_count: 0,
            tested_all_pairs: false,
            ..Self::of_all_pairs(box_count)
        }
    }
}
