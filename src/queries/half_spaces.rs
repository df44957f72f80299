//! Finds the half-spaces that queries meet, exactly, and merges them into the answers of a tree.
//!
//! Half-spaces are few and not in the tree. Each query from the host is tested against all of them here, so both
//! engines give the same answers. Exact numbers are compared only if two answers have the same rounded number.

use std::cmp::Ordering;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use rayon::prelude::*;

use super::fraction::Fraction;
use super::path::sure_order;
use super::round::Touch;
use super::{Distance, Path, reserve};
use crate::base::exact::{RELATIVE_ERROR, product, round_down_with, sign_of_sum, sum_of, two_product};
use crate::filters::CheckedFilters;
use crate::{Aabb, Answers, Batch, Cast, Error, HalfSpace, Hit, Lists, Near, NearestQuery, Shape};

/// Queries per task of a thread.
const CHUNK: usize = 1 << 10;

// ---- tests of one half-space ----

impl HalfSpace {
    /// Returns numbers whose exact sum is `normal · point - offset`. Coordinates along which the normal is zero are
    /// ignored; the others must be finite.
    fn above(&self, point: &[f32; 3]) -> [f64; 4] {
        let along = |k: usize| if self.normal[k] == 0.0 { 0.0 } else { product(self.normal[k], point[k]) };
        [along(0), along(1), along(2), -f64::from(self.offset)]
    }

    /// Returns whether a finite point is at most `radius` away; `radius` is at least zero and may be infinite.
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
        // Undecided: compare exact squares, if the point is above the plane.
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

    /// Returns when a path first touches the half-space, rounded down; `None` if the path does not touch it, or skips
    /// it.
    fn enter(&self, path: &Path) -> Option<f32> {
        path.enter_half_space(self, self.reach(path)?)
    }

    /// Returns when the box of a path first touches the half-space.
    fn reach(&self, path: &Path) -> Option<Touch> {
        if path.is_everywhere() || self.touches(&Aabb { min: path.low, max: path.high }) {
            return Some(Touch { t: 0.0, is_at_start: true, separates: None });
        }
        let (above, speeds) = self.approach(path);
        let toward = sum_of(speeds);
        if above.iter().any(|term| term.is_infinite()) || toward <= 0.0 {
            return None;
        }
        let time = sum_of(above) / toward;
        let compare = |number: f32| {
            let moved = speeds.map(|speed| two_product(-speed, f64::from(number)));
            let [[a, b], [c, d], [e, f]] = moved;
            sign_of_sum([above[0], above[1], above[2], above[3], a, b, c, d, e, f])
        };
        let is_late = path.limit.is_finite()
            && sure_order(time, f64::from(path.limit)).unwrap_or_else(|| compare(path.limit)).is_gt();
        let t = || round_down_with(time, |number| compare(number).is_ge());
        (!is_late).then(|| Touch { t: t(), is_at_start: false, separates: None })
    }

    /// Returns two lists of numbers. The exact sum of the first list is the height of the path's deepest corner above
    /// the half-space at the start; it may be infinite. The exact sum of the second list is the speed downward. Both
    /// are multiplied by the length of the normal.
    fn approach(&self, path: &Path) -> ([f64; 4], [f64; 3]) {
        let corner: [f32; 3] = std::array::from_fn(|k| if self.normal[k] > 0.0 { path.low[k] } else { path.high[k] });
        (self.above(&corner), [0, 1, 2].map(|k| -product(self.normal[k], path.direction[k])))
    }

    /// Returns the exact time at which a path first touches the half-space. The path must touch it.
    fn exact_time(&self, path: &Path) -> Fraction {
        if path.is_everywhere() || self.touches(&Aabb { min: path.low, max: path.high }) {
            return Fraction::ZERO;
        }
        let (above, speeds) = self.approach(path);
        Fraction::new(&above, &speeds)
    }

    /// Returns the squared distance of a finite point.
    fn exact_square(&self, point: &[f32; 3]) -> Fraction {
        let above = self.above(point);
        if sign_of_sum(above).is_le() {
            return Fraction::ZERO;
        }
        Fraction::new(&square_of(&above), &self.normal.map(|n| product(n, n)))
    }

    /// Returns whether two half-spaces have a point in common. Only opposite half-spaces may have none.
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

    /// Compares the square of a sum of [`above`](Self::above) with `number` times the squared length of the normal.
    /// `number` has at most 48 bits.
    fn compare_squares(&self, above: &[f64; 4], number: f64) -> Ordering {
        let mut terms = [0.0; 26];
        let (square, others) = terms.split_at_mut(20);
        square.copy_from_slice(&square_of(above));
        for (pair, &n) in others.chunks_exact_mut(2).zip(&self.normal) {
            pair.copy_from_slice(&two_product(-number, product(n, n)));
        }
        sign_of_sum(terms)
    }
}

/// Returns numbers whose exact sum is the square of a sum of [`HalfSpace::above`].
fn square_of(above: &[f64; 4]) -> [f64; 20] {
    let mut terms = [0.0; 20];
    let pairs = (0..4).flat_map(|i| (0..=i).map(move |j| (i, j)));
    for (term, (i, j)) in terms.chunks_exact_mut(2).zip(pairs) {
        let factor = if i == j { above[i] } else { 2.0 * above[i] };
        term.copy_from_slice(&two_product(factor, above[j]));
    }
    terms
}

// ---- answers of a batch ----

/// The half-spaces of a tree, with its filters and its boxes.
#[derive(Debug)]
pub(crate) struct HalfSpaces<'a> {
    filters: &'a CheckedFilters,
    /// `[box_count]` the prepared boxes; empty if the host has not read them.
    boxes: &'a [Aabb],
    lacks_boxes: AtomicBool,
}

impl<'a> HalfSpaces<'a> {
    /// Wraps the half-spaces of these filters, and the `[box_count]` prepared boxes. `boxes` is empty if the host has
    /// not read them.
    pub fn new(filters: &'a CheckedFilters, boxes: &'a [Aabb]) -> Self {
        Self { filters, boxes, lacks_boxes: AtomicBool::new(false) }
    }

    /// Returns whether a merge needed boxes that the host has not read. Then repeat the merge with the boxes.
    pub fn lacks_boxes(&self) -> bool {
        self.lacks_boxes.load(Relaxed)
    }

    fn is_empty(&self) -> bool {
        self.filters.half_spaces().is_empty()
    }

    /// Lists the half-spaces that the filters of query `i` accept, ascending.
    fn met<'b, Q>(&'b self, batch: Batch<'_, Q>, i: usize) -> impl Iterator<Item = &'b HalfSpace> + use<'b, Q> {
        let meeting = batch.filters.meeting_of(i, self.filters);
        self.filters.half_spaces().iter().filter(move |half_space| meeting.meets(half_space.index))
    }

    /// Lists the hits of query `i`, ascending by index.
    fn hits<'b, C: Cast>(&'b self, batch: Batch<'_, C>, i: usize, cast: &C) -> impl Iterator<Item = Hit> + use<'b, C> {
        let path = cast.path().map(|path| path.skipping_separating(batch.filters.skips_separating));
        let hit =
            move |half_space: &HalfSpace| Some(Hit { index: half_space.index, t: half_space.enter(path.as_ref()?)? });
        self.met(batch, i).filter_map(hit)
    }

    /// Compares two answers, each a rounded number and an index, by exact number, then by index. `exact` returns the
    /// exact number of an index, or `None` if the boxes are missing. Without boxes, the order is provisional: `b`,
    /// which is a box, comes first, and the merge must be repeated with the boxes.
    fn order(&self, a: (f32, u32), b: (f32, u32), exact: impl Fn(u32) -> Option<Fraction>) -> Ordering {
        let by_exact = || match (exact(a.1), exact(b.1)) {
            (Some(a), Some(b)) => a.compare(&b),
            _ => {
                self.lacks_boxes.store(true, Relaxed);
                Ordering::Greater
            }
        };
        // Rounded numbers have the order of the exact numbers, unless they are equal.
        a.0.total_cmp(&b.0).then_with(by_exact).then(a.1.cmp(&b.1))
    }

    /// Orders hits of one path.
    fn in_time<C: Cast>(&self, cast: &C, a: &Hit, b: &Hit) -> Ordering {
        self.order((a.t, a.index), (b.t, b.index), |index| {
            let path = cast.path().filter(|path| !path.is_round());
            // Times of round shapes are compared by their reported values.
            let Some(path) = path else { return Some(Fraction::ZERO) };
            if let Some(half_space) = self.filters.half_space(index) {
                return Some(half_space.exact_time(&path));
            }
            let time = path.exact_time(self.boxes.get(index as usize)?);
            Some(time.map_or(Fraction::ZERO, |(over, under)| Fraction::new(&over, &[under])))
        })
    }

    /// Compares two boxes near a point.
    fn by_distance(&self, point: &[f32; 3], a: &Near, b: &Near) -> Ordering {
        self.order((a.squared_distance, a.index), (b.squared_distance, b.index), |index| {
            if let Some(half_space) = self.filters.half_space(index) {
                return Some(half_space.exact_square(point));
            }
            let distance = Distance::between(point, self.boxes.get(index as usize)?)?;
            Some(Fraction::new(&distance.terms(point), &[1.0]))
        })
    }

    /// Merges hits of half-spaces into the first hits.
    pub fn nearest_hits<C: Cast>(&self, batch: Batch<'_, C>, answers: &mut Answers<Hit>) {
        let is_hit = |hit: &Hit| hit.is_hit();
        self.answers(batch, answers, is_hit, |i, cast, best| {
            for hit in self.hits(batch, i, cast) {
                if self.in_time(cast, &hit, best).is_lt() {
                    *best = hit;
                }
            }
        });
    }

    /// Merges hits of half-spaces into the flags.
    pub fn any_hits<C: Cast>(&self, batch: Batch<'_, C>, answers: &mut Answers<bool>) {
        self.answers(batch, answers, |&any| any, |i, cast, any| *any |= self.hits(batch, i, cast).next().is_some());
    }

    /// Merges hits of half-spaces into the first `k` hits.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn first_hits<C: Cast>(&self, batch: Batch<'_, C>, k: usize, lists: &mut Lists<Hit>) -> Result<(), Error> {
        let order = |cast: &C, a: &Hit, b: &Hit| self.in_time(cast, a, b);
        self.lists(batch, (k, order), lists, |i, cast, found| {
            found.extend(self.hits(batch, i, cast));
        })
    }

    /// Merges hits of half-spaces into all hits.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn all_hits<C: Cast>(&self, batch: Batch<'_, C>, lists: &mut Lists<Hit>) -> Result<(), Error> {
        let by_index = |_: &C, a: &Hit, b: &Hit| a.index.cmp(&b.index);
        self.lists(batch, (usize::MAX, by_index), lists, |i, cast, found| {
            found.extend(self.hits(batch, i, cast));
        })
    }

    /// Merges touched half-spaces into the lists.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn overlaps<S: Shape>(&self, batch: Batch<'_, S>, lists: &mut Lists<u32>) -> Result<(), Error> {
        self.lists(batch, (usize::MAX, |_: &S, a: &u32, b: &u32| a.cmp(b)), lists, |i, shape, found| {
            if shape.region().is_some() {
                let touched = self.met(batch, i).filter(|half_space| shape.touches_half_space(half_space));
                found.extend(touched.map(|half_space| half_space.index));
            }
        })
    }

    /// Merges near half-spaces into the nearest `k`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn nearest(&self, batch: Batch<'_, NearestQuery>, k: usize, lists: &mut Lists<Near>) -> Result<(), Error> {
        let order = |query: &NearestQuery, a: &Near, b: &Near| self.by_distance(&query.point, a, b);
        self.lists(batch, (k, order), lists, |i, query, found| {
            if query.is_valid() {
                let near = self.met(batch, i).filter(|half_space| half_space.is_within(&query.point, query.radius));
                found.extend(near.map(|half_space| Near {
                    index: half_space.index,
                    squared_distance: half_space.square(&query.point),
                }));
            }
        })
    }

    /// Changes the answer to each query, and counts the hits.
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

    /// Merges the answers that `find` appends for a query into the list of the query, sorted by `order`, and truncates
    /// each list to `most` answers. If boxes are missing, lists do not change.
    fn lists<Q: Sync, T: Copy + Send + Sync>(
        &self,
        batch: Batch<'_, Q>,
        (most, order): (usize, impl Fn(&Q, &T, &T) -> Ordering + Sync),
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
                let query = &batch.queries[i];
                let order = |a: &T, b: &T| order(query, a, b);
                find(i, query, &mut found);
                found.sort_unstable_by(order);
                let first = answers.len();
                reserve(&mut answers, lists[i].len() + found.len())?;
                append_merged(&mut answers, &lists[i], &found, order);
                answers.truncate(first.saturating_add(most));
                ends.push(answers.len() as u64);
            }
            Ok((answers, ends))
        };
        let parts: Vec<(Vec<T>, Vec<u64>)> =
            (0..count.div_ceil(CHUNK)).into_par_iter().map(merged).collect::<Result<_, Error>>()?;
        if self.lacks_boxes() {
            return Ok(());
        }
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

/// Appends the merge of two sorted lists.
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
