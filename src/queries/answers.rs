//! The answers of a batch of queries.

use std::iter::FusedIterator;
use std::ops::Index;
use std::slice::Windows;

use bytemuck::{Pod, Zeroable};

use crate::{Error, Report};

/// The hit of a box by a path. 8 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Hit {
    /// The box; [`NO_BOX`](crate::QueryFilters::NO_BOX) for a miss.
    pub index: u32,
    /// The least `t`, rounded down: the hit is at `origin + t * direction`. Infinite for a miss.
    pub t: f32,
}

impl Hit {
    /// A miss.
    pub const MISS: Self = Self { index: u32::MAX, t: f32::INFINITY };

    /// Returns whether a box is hit.
    pub fn is_hit(&self) -> bool {
        self.index != u32::MAX
    }
}

/// A box near a point, and its distance. 8 bytes.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Near {
    /// The box.
    pub index: u32,
    /// The squared distance, rounded down; 0 if the box contains the point.
    pub squared_distance: f32,
}

/// One answer to each query, in the order of the queries.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Answers<T> {
    /// `[query_count]` the answers.
    pub answers: Vec<T>,
    /// Counts of the batch.
    pub report: QueryReport,
}

/// A list of answers per query, one list after the other in the order of the queries.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Lists<T> {
    /// `[query_count + 1]` the begin of each query's list in `answers`, and the end of the last list.
    pub offsets: Vec<u64>,
    /// All lists.
    pub answers: Vec<T>,
    /// Counts of the batch.
    pub report: QueryReport,
}

impl<T> Answers<T> {
    /// Creates the answers to a batch from their parts.
    pub const fn new(answers: Vec<T>, report: QueryReport) -> Self {
        Self { answers, report }
    }

    /// Returns the query count.
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
    /// Creates the lists of a batch. `offsets` has the begin of each list in `answers`, and the end of the last.
    pub const fn new(offsets: Vec<u64>, answers: Vec<T>, report: QueryReport) -> Self {
        Self { offsets, answers, report }
    }

    /// Returns the query count.
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

/// Returns the list between two offsets. The caller can change the offsets: the list is empty if they are beyond the
/// answers.
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
    /// Queries with a NaN or another invalid number. They have no answers.
    pub invalid_count: u64,
    /// The indices of the first invalid queries, ascending, at most
    /// [`Report::INVALID_LISTED`](crate::Report::INVALID_LISTED).
    pub first_invalid: Vec<u64>,
    /// All answers: boxes that are hit, that touch or that are near.
    pub answer_count: u64,
}

/// Counts of a tree.
#[derive(Clone, Debug, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(default))]
#[non_exhaustive]
pub struct TreeReport {
    /// Boxes in the tree.
    pub box_count: u32,
    /// Boxes with a NaN or with `min > max`, after padding by their margins. No query finds them.
    pub invalid_count: u32,
    /// The indices of the first invalid boxes, ascending, at most
    /// [`Report::INVALID_LISTED`](crate::Report::INVALID_LISTED).
    pub first_invalid: Vec<u32>,
    /// The surface of all nodes, divided by the surface after the build. The time of queries grows by about this
    /// factor. Above 1.5 or 2, a rebuild saves time. The value is 1 after a build, and NaN if the build was recorded.
    ///
    /// *Vast* boxes are unbounded or have a coordinate beyond 2⁶⁰; nodes above them have no surface. The value is
    /// infinite if there are more vast boxes than after the build. It is also infinite if the surface was zero after
    /// the build, and is not zero any more. Finite values of a GPU tree are sums of `f32`, which may flush numbers
    /// below 10⁻³⁸ to zero. The values differ between engines for more than eight boxes, since each engine orders boxes
    /// differently.
    pub growth: f64,
    /// Bytes of allocated memory: GPU memory for a tree on a GPU, otherwise host memory.
    pub bytes: u64,
}

/// The approximate surface of a tree.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Surface {
    /// The sum over all nodes that have a surface; NaN if unknown.
    pub sum: f64,
    /// Boxes that are unbounded or have a coordinate beyond 2⁶⁰.
    pub vast_count: u32,
}

impl Surface {
    /// Returns the ratio of the surface `now` to this one: [`TreeReport::growth`].
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
    /// Creates the report of a batch. The queries with these ascending indices are invalid.
    pub(crate) fn new(query_count: usize, invalid: &[u64], answer_count: u64) -> Self {
        Self {
            query_count: query_count as u64,
            invalid_count: invalid.len() as u64,
            first_invalid: invalid.iter().copied().take(Report::INVALID_LISTED).collect(),
            answer_count,
        }
    }
}

/// Checks that `k` is at least 1.
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
