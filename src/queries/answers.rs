//! The answers of a batch of queries.

use std::iter::FusedIterator;
use std::ops::Index;
use std::slice::Windows;

use bytemuck::{Pod, Zeroable};

use crate::{Error, Report};

/// A box that something hits, and when. 8 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Hit {
    /// The box; [`NO_BOX`](crate::QueryFilters::NO_BOX) where nothing is hit.
    pub index: u32,
    /// The least `t`, rounded down: the hit is at `origin + t * direction`. Infinite where nothing is hit.
    pub t: f32,
}

impl Hit {
    /// Stands for no hit.
    pub const MISS: Self = Self { index: u32::MAX, t: f32::INFINITY };

    /// Returns whether a box is hit.
    pub fn is_hit(&self) -> bool {
        self.index != u32::MAX
    }
}

/// A box near a point, and how far it is. 8 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Near {
    /// The box.
    pub index: u32,
    /// The square of the distance, rounded down: 0 where the point is in the box.
    pub squared_distance: f32,
}

/// One answer to each query, in the order of the queries.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Answers<T> {
    /// `[query_count]` the answers.
    pub answers: Vec<T>,
    /// Counts.
    pub report: QueryReport,
}

/// A list of answers to each query, in the order of the queries: rows that lie one after the other.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Lists<T> {
    /// `[query_count + 1]` where the list of each query begins in `answers`, and where the last one ends.
    pub offsets: Vec<u64>,
    /// All lists.
    pub answers: Vec<T>,
    /// Counts.
    pub report: QueryReport,
}

impl<T> Answers<T> {
    /// Creates the answers to a batch from their parts.
    pub const fn new(answers: Vec<T>, report: QueryReport) -> Self {
        Self { answers, report }
    }

    /// Returns the number of queries.
    pub const fn len(&self) -> usize {
        self.answers.len()
    }

    /// Returns whether there were no queries.
    pub const fn is_empty(&self) -> bool {
        self.answers.is_empty()
    }

    /// Returns the answer to each query, in the order of the queries.
    pub fn iter(&self) -> std::slice::Iter<'_, T> {
        self.answers.iter()
    }
}

impl<T> Lists<T> {
    /// Creates the lists of a batch from their parts: where each list begins in `answers`, and where the last one ends.
    pub const fn new(offsets: Vec<u64>, answers: Vec<T>, report: QueryReport) -> Self {
        Self { offsets, answers, report }
    }

    /// Returns the number of queries.
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Returns whether there were no queries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the list of each query, in the order of the queries.
    pub fn iter(&self) -> ListsIter<'_, T> {
        ListsIter { answers: &self.answers, offsets: self.offsets.windows(2) }
    }
}

/// The list of query `i`.
///
/// # Panics
/// If there is no such query.
impl<T> Index<usize> for Lists<T> {
    type Output = [T];

    fn index(&self, i: usize) -> &[T] {
        &self.answers[self.offsets[i] as usize..self.offsets[i + 1] as usize]
    }
}

impl<'a, T> IntoIterator for &'a Lists<T> {
    type Item = &'a [T];
    type IntoIter = ListsIter<'a, T>;

    fn into_iter(self) -> ListsIter<'a, T> {
        self.iter()
    }
}

/// The lists of [`Lists`], in the order of the queries.
#[derive(Clone, Debug)]
pub struct ListsIter<'a, T> {
    answers: &'a [T],
    offsets: Windows<'a, u64>,
}

impl<'a, T> Iterator for ListsIter<'a, T> {
    type Item = &'a [T];

    fn next(&mut self) -> Option<&'a [T]> {
        self.offsets.next().map(|ends| list_of(self.answers, ends))
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        self.offsets.size_hint()
    }
}

/// Returns the list between two offsets; an empty one if the caller has changed them to offsets beyond the answers.
fn list_of<'a, T>(answers: &'a [T], ends: &[u64]) -> &'a [T] {
    answers.get(ends[0] as usize..ends[1] as usize).unwrap_or_default()
}

impl<T> DoubleEndedIterator for ListsIter<'_, T> {
    fn next_back(&mut self) -> Option<Self::Item> {
        self.offsets.next_back().map(|ends| list_of(self.answers, ends))
    }
}

impl<T> ExactSizeIterator for ListsIter<'_, T> {}

impl<T> FusedIterator for ListsIter<'_, T> {}

impl<T> IntoIterator for Answers<T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;

    /// Moves the answers out, in the order of the queries.
    fn into_iter(self) -> Self::IntoIter {
        self.answers.into_iter()
    }
}

impl<'a, T> IntoIterator for &'a Answers<T> {
    type Item = &'a T;
    type IntoIter = std::slice::Iter<'a, T>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

/// The answer to query `i`.
///
/// # Panics
/// If there is no such query.
impl<T> Index<usize> for Answers<T> {
    type Output = T;

    fn index(&self, i: usize) -> &T {
        &self.answers[i]
    }
}

/// Counts of one batch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct QueryReport {
    /// Queries in the batch.
    pub query_count: u64,
    /// Queries with a NaN or another number that has no meaning; they answer nothing.
    pub invalid_count: u64,
    /// The indices of the first invalid queries, ascending, at most [`Report::INVALID_LISTED`](crate::Report::INVALID_LISTED).
    pub first_invalid: Vec<u64>,
    /// All answers: boxes that were hit, that touch or that are near.
    pub answer_count: u64,
}

/// Counts of a tree.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct TreeReport {
    /// Boxes in the tree.
    pub box_count: u32,
    /// Boxes with a NaN or with `min > max`, once they are padded by their margins; no query answers them.
    pub invalid_count: u32,
    /// The indices of the first invalid boxes, ascending, at most [`Report::INVALID_LISTED`](crate::Report::INVALID_LISTED).
    pub first_invalid: Vec<u32>,
    /// The surface of all nodes, divided by what it was when the tree was built. A query takes about as many times as long.
    /// 1 after a build; above 1.5 or 2 it pays to build again. NaN where the build was recorded.
    ///
    /// Boxes that are unbounded or have a coordinate beyond 2⁶⁰ are *vast*, and nodes above them have no surface. Infinite where more boxes
    /// are vast than when the tree was built, or where nodes had no surface and have one. Both engines give infinity
    /// for vast boxes alike. Finite values of the engine on a GPU are sums of `f32`, in which what is smaller than 10⁻³⁸ may be zero, and those of
    /// more than eight boxes differ: each engine has an order of boxes of its own.
    pub growth: f64,
    /// Bytes of memory held: on the GPU by a tree there, and else by the tree on the host.
    pub bytes: u64,
}

/// About the surface of a tree.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Surface {
    /// Of all nodes that have one, together; NaN where it is not known.
    pub sum: f64,
    /// Boxes that are unbounded or have a coordinate beyond 2⁶⁰.
    pub vast_count: u32,
}

impl Surface {
    /// Returns how many times as large the surface is now: [`TreeReport::growth`].
    pub fn growth(self, now: Self) -> f64 {
        if now.vast_count > self.vast_count {
            f64::INFINITY
        } else if self.sum == now.sum {
            1.0
        } else {
            now.sum / self.sum
        }
    }
}

impl QueryReport {
    /// Creates the report on a batch of which the queries with these indices, ascending, have no meaning.
    pub(crate) fn new(query_count: usize, invalid: &[u64], answer_count: u64) -> Self {
        Self {
            query_count: query_count as u64,
            invalid_count: invalid.len() as u64,
            first_invalid: invalid.iter().copied().take(Report::INVALID_LISTED).collect(),
            answer_count,
        }
    }
}

/// Refuses to rank no answers.
///
/// # Errors
/// [`Error::BadOption`].
pub(crate) fn check_k(k: usize) -> Result<(), Error> {
    match k {
        0 => Err(Error::BadOption { option: "k", value: k.to_string(), expected: "at least 1" }),
        _ => Ok(()),
    }
}

/// Reserves capacity for `more` answers.
///
/// # Errors
/// [`Error::OutOfMemory`].
pub(crate) fn reserve<T>(list: &mut Vec<T>, more: usize) -> Result<(), Error> {
    let bytes = (list.len().saturating_add(more) as u64).saturating_mul(size_of::<T>() as u64);
    list.try_reserve(more).map_err(|_| Error::OutOfMemory { buffer: "answers".to_owned(), bytes })
}
