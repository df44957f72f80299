//! The half-spaces that queries meet, decided without rounding, and their merge into the answers of a tree.
//!
//! A tree has no half-spaces: they are few, and each query of the host is compared with all of them here. So both engines answer the same.

use std::cmp::Ordering;

use rayon::prelude::*;

use super::path::sure_order;
use super::{Path, reserve};
use crate::base::exact::{RELATIVE_ERROR, product, round_down_with, sign_of_sum, sum_of, two_product};
use crate::filters::CheckedFilters;
use crate::{Aabb, Answers, Batch, Cast, Error, HalfSpace, Hit, Lists, Near, NearestQuery, Shape};

/// Queries that a thread takes at a time.
const CHUNK: usize = 1 << 10;

// ---- what one half-space meets ----

impl HalfSpace {
    /// Returns numbers whose exact sum is `normal · point - offset`. Coordinates along which the normal is zero do not matter; the others are
    /// finite.
    fn above(&self, point: &[f32; 3]) -> [f64; 4] {
        let along = |k: usize| if self.normal[k] == 0.0 { 0.0 } else { product(self.normal[k], point[k]) };
        [along(0), along(1), along(2), -f64::from(self.offset)]
    }

    /// Returns whether a finite point is at most this far away: at least zero, or infinite.
    pub(crate) fn is_within(&self, point: &[f32; 3], radius: f32) -> bool {
        if radius.is_infinite() {
            return true;
        }
        let above = self.above(point);
        let (sum, magnitude) = above.iter().fold((0.0, 0.0), |(sum, all), term| (sum + term, all + term.abs()));
        let (doubt, reach) = (RELATIVE_ERROR * magnitude, f64::from(radius) * self.square_of_normal().sqrt());
        if sum + doubt < reach * (1.0 - RELATIVE_ERROR) {
            return true;
        }
        if sum - doubt > reach * (1.0 + RELATIVE_ERROR) {
            return false;
        }
        // In doubt: the squares decide, of what is above the plane.
        sign_of_sum(above).is_le() || self.compare_squares(&above, product(radius, radius)).is_le()
    }

    /// Returns the squared distance of a finite point, rounded down.
    fn square(&self, point: &[f32; 3]) -> f32 {
        let above = self.above(point);
        if sign_of_sum(above).is_le() {
            return 0.0;
        }
        let height = sum_of(above);
        let approximate = height * height / self.square_of_normal();
        round_down_with(approximate, |number| self.compare_squares(&above, f64::from(number)).is_ge())
    }

    /// Returns when a path first touches the half-space, rounded down, if it does and does not leave it out.
    fn enter(&self, path: &Path) -> Option<f32> {
        if self.touches(&Aabb { min: path.low, max: path.high }) {
            return (!path.skips_start()).then_some(0.0);
        }
        let axes = || (0..3).filter(|&k| self.normal[k] != 0.0);
        // The corner that lies deepest.
        let corner: [f32; 3] = std::array::from_fn(|k| if self.normal[k] > 0.0 { path.low[k] } else { path.high[k] });
        if axes().any(|k| corner[k].is_infinite()) {
            return None;
        }
        let (above, speeds) = (self.above(&corner), [0, 1, 2].map(|k| product(self.normal[k], path.direction[k])));
        let toward = -sum_of(speeds);
        if toward <= 0.0 {
            return None;
        }
        let time = sum_of(above) / toward;
        let compare = |number: f32| {
            let moved = speeds.map(|speed| two_product(speed, f64::from(number)));
            let [[a, b], [c, d], [e, f]] = moved;
            sign_of_sum([above[0], above[1], above[2], above[3], a, b, c, d, e, f])
        };
        let is_late = path.limit.is_finite()
            && sure_order(time, f64::from(path.limit)).unwrap_or_else(|| compare(path.limit)).is_gt();
        (!is_late).then(|| round_down_with(time, |number| compare(number).is_ge()))
    }

    /// Returns whether two half-spaces have a point in common: all do that do not face away from each other.
    pub(crate) fn meets_half_space(&self, &[x, y, z, offset]: &[f32; 4]) -> bool {
        let (own, other) = (self.normal, [x, y, z]);
        let is_parallel = |[j, k]: [usize; 2]| product(own[j], other[k]) == product(own[k], other[j]);
        let Some(k) = (0..3).find(|&k| other[k] != 0.0 && own[k] != 0.0) else { return true };
        if (own[k] > 0.0) == (other[k] > 0.0) || ![[0, 1], [1, 2], [2, 0]].into_iter().all(is_parallel) {
            return true;
        }
        sign_of_sum([product(self.offset, other[k].abs()), product(offset, own[k].abs())]).is_ge()
    }

    /// Returns the square of the length of the normal, rounded.
    fn square_of_normal(&self) -> f64 {
        self.normal.iter().fold(0.0, |sum, &n| sum + product(n, n))
    }

    /// Compares the square of a sum, of [`above`](Self::above), with a number, of at most 48 bits, times the square of the length of the normal.
    fn compare_squares(&self, above: &[f64; 4], number: f64) -> Ordering {
        let mut terms = [0.0; 26];
        let mut next = terms.chunks_exact_mut(2);
        let mut put = |a: f64, b: f64| {
            if let Some(pair) = next.next() {
                pair.copy_from_slice(&two_product(a, b));
            }
        };
        for i in 0..4 {
            put(above[i], above[i]);
            above[..i].iter().for_each(|&other| put(2.0 * above[i], other));
        }
        self.normal.iter().for_each(|&n| put(-number, product(n, n)));
        sign_of_sum(terms)
    }
}

// ---- what batches answer ----

/// The half-spaces of a tree, with its filters.
#[derive(Clone, Copy)]
pub(crate) struct HalfSpaces<'a>(pub &'a CheckedFilters);

impl HalfSpaces<'_> {
    fn is_empty(self) -> bool {
        self.0.half_spaces().is_empty()
    }

    /// Lists the half-spaces that query `i` meets, were they to touch; ascending.
    fn met<'b, Q>(&'b self, batch: Batch<'_, Q>, i: usize) -> impl Iterator<Item = &'b HalfSpace> + use<'b, Q> {
        let query_filter = batch.filters.query_filter(i);
        self.0.half_spaces().iter().filter(move |half_space| query_filter.meets(self.0.filters(), half_space.index))
    }

    /// Lists the hits of query `i`, ascending by index.
    fn hits<'b, C: Cast>(&'b self, batch: Batch<'_, C>, i: usize, cast: &C) -> impl Iterator<Item = Hit> + use<'b, C> {
        let path = cast.path().map(|path| path.skipping_start(batch.filters.skips_start));
        let hit =
            move |half_space: &HalfSpace| Some(Hit { index: half_space.index, t: half_space.enter(path.as_ref()?)? });
        self.met(batch, i).filter_map(hit)
    }

    /// Merges hits of half-spaces into the first hits.
    pub fn nearest_hits<C: Cast>(&self, batch: Batch<'_, C>, answers: &mut Answers<Hit>) {
        let is_hit = |hit: &Hit| hit.is_hit();
        self.answers(batch, answers, is_hit, |i, cast, best| {
            for hit in self.hits(batch, i, cast) {
                if in_time(&hit, best).is_lt() {
                    *best = hit;
                }
            }
        });
    }

    /// Adds whether half-spaces are hit.
    pub fn any_hits<C: Cast>(&self, batch: Batch<'_, C>, answers: &mut Answers<bool>) {
        self.answers(batch, answers, |&any| any, |i, cast, any| *any |= self.hits(batch, i, cast).next().is_some());
    }

    /// Puts the half-spaces that are hit among the first `k` hits.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn first_hits<C: Cast>(&self, batch: Batch<'_, C>, k: usize, lists: &mut Lists<Hit>) -> Result<(), Error> {
        self.lists(batch, (k, in_time), lists, |i, cast, found| {
            found.extend(self.hits(batch, i, cast));
        })
    }

    /// Puts the half-spaces that are hit among all hits.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn all_hits<C: Cast>(&self, batch: Batch<'_, C>, lists: &mut Lists<Hit>) -> Result<(), Error> {
        let by_index = |a: &Hit, b: &Hit| a.index.cmp(&b.index);
        self.lists(batch, (usize::MAX, by_index), lists, |i, cast, found| {
            found.extend(self.hits(batch, i, cast));
        })
    }

    /// Puts the half-spaces that are touched among all that is touched.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn overlaps<S: Shape>(&self, batch: Batch<'_, S>, lists: &mut Lists<u32>) -> Result<(), Error> {
        self.lists(batch, (usize::MAX, u32::cmp), lists, |i, shape, found| {
            if shape.region().is_some() {
                let touched = self.met(batch, i).filter(|half_space| shape.touches_half_space(half_space));
                found.extend(touched.map(|half_space| half_space.index));
            }
        })
    }

    /// Puts the half-spaces that are near among the nearest `k`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn nearest(&self, batch: Batch<'_, NearestQuery>, k: usize, lists: &mut Lists<Near>) -> Result<(), Error> {
        let by_distance =
            |a: &Near, b: &Near| a.squared_distance.total_cmp(&b.squared_distance).then(a.index.cmp(&b.index));
        self.lists(batch, (k, by_distance), lists, |i, query, found| {
            if query.is_valid() {
                let near = self.met(batch, i).filter(|half_space| half_space.is_within(&query.point, query.radius));
                found.extend(near.map(|half_space| Near {
                    index: half_space.index,
                    squared_distance: half_space.square(&query.point),
                }));
            }
        })
    }

    /// Changes the answer to each query, and counts those that are some.
    fn answers<Q: Sync, T: Send>(
        &self,
        batch: Batch<'_, Q>,
        answers: &mut Answers<T>,
        is_some: impl Fn(&T) -> bool + Sync,
        change: impl Fn(usize, &Q, &mut T) + Sync,
    ) {
        if self.is_empty() {
            return;
        }
        let all = answers.answers.par_iter_mut().zip(batch.queries).enumerate().with_min_len(CHUNK);
        let changed = all.filter_map(|(i, (answer, query))| {
            change(i, query, answer);
            is_some(answer).then_some(())
        });
        answers.report.answer_count = changed.count() as u64;
    }

    /// Merges what `find` appends for each query into its list, in this order, and cuts lists to a length. A list of the tree that is in another
    /// order among what is equal stays as it is.
    fn lists<Q: Sync, T: Copy + Send + Sync>(
        &self,
        batch: Batch<'_, Q>,
        (most, order): (usize, impl Fn(&T, &T) -> Ordering + Sync),
        lists: &mut Lists<T>,
        find: impl Fn(usize, &Q, &mut Vec<T>) + Sync,
    ) -> Result<(), Error> {
        let count = batch.queries.len();
        if self.is_empty() || count == 0 {
            return Ok(());
        }
        let merged = |chunk: usize| {
            let (mut answers, mut ends, mut found) = (Vec::new(), Vec::new(), Vec::new());
            for i in chunk * CHUNK..count.min((chunk + 1) * CHUNK) {
                found.clear();
                find(i, &batch.queries[i], &mut found);
                found.sort_unstable_by(&order);
                let first = answers.len();
                reserve(&mut answers, lists[i].len() + found.len())?;
                append_merged(&mut answers, &lists[i], &found, &order);
                answers.truncate(first.saturating_add(most));
                ends.push(answers.len() as u64);
            }
            Ok((answers, ends))
        };
        let parts: Vec<(Vec<T>, Vec<u64>)> =
            (0..count.div_ceil(CHUNK)).into_par_iter().map(merged).collect::<Result<_, Error>>()?;
        lists.answers.clear();
        lists.offsets.truncate(1);
        for (answers, ends) in parts {
            let base = lists.answers.len() as u64;
            reserve(&mut lists.answers, answers.len())?;
            lists.answers.extend_from_slice(&answers);
            lists.offsets.extend(ends.iter().map(|end| base + end));
        }
        lists.report.answer_count = lists.answers.len() as u64;
        Ok(())
    }
}

/// Orders hits by time, then by index.
fn in_time(a: &Hit, b: &Hit) -> Ordering {
    a.t.total_cmp(&b.t).then(a.index.cmp(&b.index))
}

/// Appends two lists in one order.
fn append_merged<T: Copy>(to: &mut Vec<T>, own: &[T], others: &[T], order: impl Fn(&T, &T) -> Ordering) {
    let mut others = others.iter().copied().peekable();
    for item in own {
        while let Some(other) = others.next_if(|other| order(other, item).is_lt()) {
            to.push(other);
        }
        to.push(*item);
    }
    to.extend(others);
}
