//! The answer to a call: the pairs, and how they were found.

use std::ops::Index;

use crate::layout::Frame;
use crate::{Pair, SweepAxis};

/// The pairs of one call, and what was found on the way.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct Overlaps {
    /// Every overlapping pair that the [`Filters`](crate::Filters) leave, each once.
    pub pairs: Vec<Pair>,
    /// Counts and choices.
    pub report: Report,
}

/// Counts and choices of one call. Where it took several [`passes`](Self::passes), what they counted is added up, and a
/// box counts in each pass that it was searched in, except in `box_count`, `invalid_count` and `pair_count`; axis,
/// directions, corner and cell size are those of the first.
///
/// To compare answers, compare pairs in [`PairOrder::Canonical`](crate::PairOrder::Canonical), not reports. With the same
/// [`all_pairs_up_to`](Self::all_pairs_up_to), whose default depends on the device, reports of different adapters, and of the GPU and the CPU
/// engine, are the same but for rounding and `gpu_bytes`: the last bits of
/// `direction`, `across`, `corner` and `cell_size` may differ, and where the axis is oblique, so that projections are rounded, some
/// thousandths of the entries, candidates and giants; more only where a number that decides the grid lies within
/// rounding of its limit, or where cells are hardly larger than rounding. Where one engine [asked a
/// tree](Self::tree_join) and the other swept, numbers of boxes and pairs are the same, and no others. The pairs are always
/// the same.
#[derive(Clone, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct Report {
    /// Boxes in the input.
    pub box_count: u32,
    /// Boxes with a NaN or with `min > max`, once they are grown by their margins; such boxes pair with nothing.
    pub invalid_count: u32,
    /// The indices of the first invalid boxes, ascending, at most [`Report::INVALID_LISTED`].
    pub first_invalid: Vec<u32>,
    /// Boxes that are unbounded or touch too many cells, and were tested against all boxes instead, or many of them against those
    /// near them; 0 where every box
    /// was tested so ([`tested_all_pairs`](Self::tested_all_pairs)), or where a tree was asked.
    pub giant_count: u32,
    /// Incidences of a box in a cell; 0 where there were no cells, since every box was tested against every other, or a
    /// tree was asked. 2³²
    /// − 1 where all passes together have more.
    pub entry_count: u32,
    /// Tests made: entries of one cell whose intervals meet on the sweep axis, and giants × boxes, of which many are left out where
    /// there are many giants; or all the
    /// `n (n - 1) / 2` there are; or those of a box that asked a tree against the boxes of the leaves that it came to.
    pub candidate_count: u64,
    /// Overlapping pairs that the [`Filters`](crate::Filters) leave, and the pairs that the filters include. During
    /// several passes of [`stream_pairs`](crate::BroadPhase::stream_pairs), it counts the pairs handed over so far.
    pub pair_count: u64,
    /// The axis that was taken; [`SweepAxis::Auto`] only where none was taken, since every box was tested against every
    /// other, or a tree was asked. Where slabs were needed and the first was searched without an axis, the axis along which the slabs were
    /// cut.
    pub axis: SweepAxis,
    /// The direction of the axis, of unit length; zeros where no axis was taken.
    pub direction: [f32; 3],
    /// The two directions along which the edges of cells lie, of unit length, at right angles to [`direction`](Self::direction) and to
    /// each other; zeros where no axis was taken.
    pub across: [[f32; 3]; 2],
    /// How far along each of [`across`](Self::across) from the origin the cells have a corner; all corners are whole multiples of
    /// [`cell_size`](Self::cell_size) from there.
    pub corner: [f32; 2],
    /// The edge of a cell, in the units of the input; infinite where the grid was a single cell or there was
    /// none, and otherwise positive and finite: the nearest such `f32`, where the edge itself is too small or too large
    /// for one.
    pub cell_size: f32,
    /// How many times boxes were searched: 1, or the number of slabs of a scene with more boxes than fit
    /// ([`BroadPhase::find_pairs`](crate::BroadPhase::find_pairs)). Invalid boxes are in no slab: where one slab holds
    /// all valid boxes, the number is 1 too.
    pub passes: u32,
    /// The number of boxes up to which every box is tested against every other, in this call
    /// ([`Options::all_pairs_up_to`](crate::Options::all_pairs_up_to)).
    pub all_pairs_up_to: u32,
    /// Whether a tree of one of two sets was asked with the boxes of the other: what the CPU engine does for most joins
    /// ([`cpu::BroadPhase::find_pairs_between`](crate::cpu::BroadPhase::find_pairs_between)). There is then neither axis nor
    /// grid.
    pub tree_join: bool,
    /// Bytes of GPU memory held; 0 for the CPU engine.
    pub gpu_bytes: u64,
}

impl Overlaps {
    /// Creates an answer from its parts.
    pub const fn new(pairs: Vec<Pair>, report: Report) -> Self {
        Self { pairs, report }
    }

    /// Returns the number of pairs.
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

    /// Clears the answer, and keeps its memory.
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

/// Pair `i`.
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
    /// Returns the report on no boxes.
    fn default() -> Self {
        Self::of_all_pairs(0)
    }
}

impl Report {
    /// The most invalid boxes that are listed by index.
    pub const INVALID_LISTED: usize = crate::constants::INVALID_LISTED as usize;

    /// Returns whether every box was tested against every other, without axis and grid
    /// ([`Options::all_pairs_up_to`](crate::Options::all_pairs_up_to)). Never where the scene was cut into slabs, whatever was done within them.
    pub fn tested_all_pairs(&self) -> bool {
        self.axis == SweepAxis::Auto && !self.tree_join
    }

    /// Makes the report on a test of every box against every other, before the pairs are counted.
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
            tree_join: false,
            gpu_bytes: 0,
        }
    }

    /// Makes the report on a join by a tree, before anything is counted.
    pub(crate) fn of_tree(box_count: u32) -> Self {
        Self { candidate_count: 0, tree_join: true, ..Self::of_all_pairs(box_count) }
    }

    /// Makes the report on a sweep in this frame, before anything is counted.
    pub(crate) fn of_sweep(frame: &Frame, level: u32, box_count: u32) -> Self {
        Self {
            axis: SweepAxis::from_code(frame.axis),
            direction: frame.sweep,
            across: [frame.plane_u, frame.plane_v],
            corner: frame.corner(),
            cell_size: frame.cell_size_at(level),
            candidate_count: 0,
            ..Self::of_all_pairs(box_count)
        }
    }
}
