//! The calls that query a tree from host memory.

use bytemuck::Pod;
use rayon::prelude::*;

use super::AsyncTree;
#[cfg(not(target_arch = "wasm32"))]
use super::Tree;
use super::batch::{Phase, Wanted};
use super::host::AT_ONCE;
use super::pack::{self, Packed};
use super::query::{Listed, Ranked};
use crate::base::constants::{NO_BOX, ROW};
use crate::gpu::host_copy::extend;
use crate::queries::{Start, check_k, is_in_order, reserve};
use crate::{Answers, Batch, Cast, Convex, Error, Hit, Lists, Near, NearestQuery, Pair, QueryReport, Shape};

/// These calls **block** until the answers are complete.
#[cfg(not(target_arch = "wasm32"))]
impl Tree {
    /// Finds the first box that each path hits: by `t`, then by index.
    ///
    /// # Errors
    /// [`Error::NotBuilt`], [`Error::QueryFilterLength`], [`Error::FiltersChanged`], [`Error::OutOfMemory`],
    /// [`Error::DeviceLost`], [`Error::Gpu`]; [`Error::BadFilter`] if the sphere of a query is invalid.
    pub fn nearest_hits<'a, C: Cast + 'a>(&mut self, casts: impl Into<Batch<'a, C>>) -> Result<Answers<Hit>, Error> {
        pollster::block_on(self.blocking().nearest_hits(casts))
    }

    /// Finds the first `k` boxes that each path hits: by `t`, then by index. Cost: a path walks the tree once per 64
    /// requested boxes.
    ///
    /// # Errors
    /// The errors of [`nearest_hits`](Self::nearest_hits); [`Error::BadOption`] if `k` is 0.
    pub fn first_hits<'a, C: Cast + 'a>(
        &mut self,
        casts: impl Into<Batch<'a, C>>,
        k: usize,
    ) -> Result<Lists<Hit>, Error> {
        pollster::block_on(self.blocking().first_hits(casts, k))
    }

    /// Finds whether each path hits a box.
    ///
    /// # Errors
    /// The errors of [`nearest_hits`](Self::nearest_hits).
    pub fn any_hits<'a, C: Cast + 'a>(&mut self, casts: impl Into<Batch<'a, C>>) -> Result<Answers<bool>, Error> {
        pollster::block_on(self.blocking().any_hits(casts))
    }

    /// Finds all boxes that each path hits, ascending by index.
    ///
    /// # Errors
    /// The errors of [`nearest_hits`](Self::nearest_hits).
    pub fn all_hits<'a, C: Cast + 'a>(&mut self, casts: impl Into<Batch<'a, C>>) -> Result<Lists<Hit>, Error> {
        pollster::block_on(self.blocking().all_hits(casts))
    }

    /// Finds all boxes that each shape touches, ascending by index. For some shapes, boxes that nearly touch may be
    /// reported too; see the documentation of each shape.
    ///
    /// # Errors
    /// The errors of [`nearest_hits`](Self::nearest_hits); [`Error::TooManyHalfSpaces`] for shapes of more than
    /// [`Convex::MOST_ON_GPU`](crate::Convex::MOST_ON_GPU) half-spaces.
    pub fn overlaps<'a, S: Shape + 'a>(&mut self, shapes: impl Into<Batch<'a, S>>) -> Result<Lists<u32>, Error> {
        pollster::block_on(self.blocking().overlaps(shapes))
    }

    /// Finds the `k` boxes that are nearest to each point: by distance, then by index. A box that contains the point is
    /// at distance 0. Cost: a query walks the tree once per 64 requested boxes.
    ///
    /// # Errors
    /// The errors of [`first_hits`](Self::first_hits).
    pub fn nearest<'a>(&mut self, points: impl Into<Batch<'a, NearestQuery>>, k: usize) -> Result<Lists<Near>, Error> {
        pollster::block_on(self.blocking().nearest(points, k))
    }
}

/// Queries as futures. Answers and errors are the same as in the calls of [`Tree`] with the same names.
impl AsyncTree<'_> {
    /// Does the same as [`Tree::nearest_hits`], without blocking.
    ///
    /// # Errors
    /// The errors of the call of [`Tree`] with the same name.
    pub async fn nearest_hits<'a, C: Cast + 'a>(
        &mut self,
        casts: impl Into<Batch<'a, C>>,
    ) -> Result<Answers<Hit>, Error> {
        let batch = casts.into();
        let mut answers = self.begin_answers(&batch)?;
        if self.has_boxes() {
            let words = C::words(batch.queries);
            let ranking = self.ranking(&batch, &words, 1, Ranked::Hits);
            self.rank(&ranking, |hits| {
                extend(&mut answers, hits, |hit: &Hit| if hit.is_hit() { *hit } else { Hit::MISS });
                Ok(())
            })
            .await?;
        }
        answers.resize(batch.queries.len(), Hit::MISS);
        let count = answers.par_iter().with_min_len(AT_ONCE).filter(|hit| hit.is_hit()).count() as u64;
        let report = self.report(batch.queries, |cast| cast.path().is_some(), count)?;
        let mut answers = Answers { answers, report };
        self.merge(|half_spaces| {
            half_spaces.nearest_hits(batch, &mut answers);
            Ok(())
        })
        .await?;
        Ok(answers)
    }

    /// Does the same as [`Tree::first_hits`], without blocking.
    ///
    /// # Errors
    /// The errors of the call of [`Tree`] with the same name.
    pub async fn first_hits<'a, C: Cast + 'a>(
        &mut self,
        casts: impl Into<Batch<'a, C>>,
        k: usize,
    ) -> Result<Lists<Hit>, Error> {
        let batch = casts.into();
        let words = C::words(batch.queries);
        let is_valid = |cast: &C| cast.path().is_some();
        let mut lists = self.rank_lists(batch, &words, (k, Ranked::Hits), is_valid, |hit: &Hit| hit.index).await?;
        self.merge(|half_spaces| half_spaces.first_hits(batch, k, &mut lists)).await?;
        Ok(lists)
    }

    /// Does the same as [`Tree::any_hits`], without blocking.
    ///
    /// # Errors
    /// The errors of the call of [`Tree`] with the same name.
    pub async fn any_hits<'a, C: Cast + 'a>(&mut self, casts: impl Into<Batch<'a, C>>) -> Result<Answers<bool>, Error> {
        let batch = casts.into();
        let (count, mut answers) = (batch.queries.len(), self.begin_answers(&batch)?);
        let is_in_order = is_in_order(batch.queries, &self.tree.scene());
        let most = self.tree.most_queries(C::U32_COUNT, 1);
        let queried = if self.has_boxes() { count } else { 0 };
        for first in (0..queried).step_by(most) {
            let queries = &batch.queries[first..count.min(first + most)];
            let packed = Packed::of_words(C::words(queries), queries.len());
            let part = self.tree.begin_part(Wanted::Any, &packed, batch.filters, first, is_in_order)?;
            let counts = self.read_counts(&part).await?;
            extend(&mut answers, &counts, |&count| count > 0);
        }
        answers.resize(count, false);
        let count = answers.par_iter().with_min_len(AT_ONCE).filter(|hit| **hit).count() as u64;
        let report = self.report(batch.queries, |cast| cast.path().is_some(), count)?;
        let mut answers = Answers { answers, report };
        self.half_spaces().any_hits(batch, &mut answers);
        Ok(answers)
    }

    /// Does the same as [`Tree::all_hits`], without blocking.
    ///
    /// # Errors
    /// The errors of the call of [`Tree`] with the same name.
    pub async fn all_hits<'a, C: Cast + 'a>(&mut self, casts: impl Into<Batch<'a, C>>) -> Result<Lists<Hit>, Error> {
        let most = self.tree.most_lists(C::U32_COUNT);
        let packed = |queries: &'a [C]| {
            let queries = &queries[..queries.len().min(most)];
            (Packed::of_words(C::words(queries), queries.len()), Listed::Cross)
        };
        let is_valid = |cast: &C| cast.path().is_some();
        let hit = |pair: &Pair| Hit { index: pair.a, t: f32::from_bits(pair.b) };
        let batch = casts.into();
        let mut lists = self.list(batch, packed, is_valid, hit, |hit| hit.index).await?;
        self.half_spaces().all_hits(batch, &mut lists)?;
        Ok(lists)
    }

    /// Does the same as [`Tree::overlaps`], without blocking.
    ///
    /// # Errors
    /// The errors of the call of [`Tree`] with the same name.
    pub async fn overlaps<'a, S: Shape + 'a>(&mut self, shapes: impl Into<Batch<'a, S>>) -> Result<Lists<u32>, Error> {
        let batch = shapes.into();
        let half_space_count = |shape: &S| shape.region().map_or(0, |region| pack::half_space_count(&region));
        let too_many = |shape: &S| half_space_count(shape) > Convex::MOST_ON_GPU;
        if S::words(&[]).is_none()
            && let Some(index) = batch.queries.par_iter().with_min_len(AT_ONCE).position_first(too_many)
        {
            let count = half_space_count(&batch.queries[index]) as u64;
            return Err(Error::TooManyHalfSpaces { index: index as u64, count, most: Convex::MOST_ON_GPU as u64 });
        }
        let (most_u32s, most) = (self.tree.most_u32_count(), self.tree.most_lists(5));
        let packed = |queries: &'a [S]| pack::shapes(&queries[..queries.len().min(most)], most_u32s);
        let is_valid = |shape: &S| shape.region().is_some();
        let mut lists = self.list(batch, packed, is_valid, |pair| pair.b, |&index| index).await?;
        self.half_spaces().overlaps(batch, &mut lists)?;
        Ok(lists)
    }

    /// Does the same as [`Tree::nearest`], without blocking.
    ///
    /// # Errors
    /// The errors of the call of [`Tree`] with the same name.
    pub async fn nearest<'a>(
        &mut self,
        points: impl Into<Batch<'a, NearestQuery>>,
        k: usize,
    ) -> Result<Lists<Near>, Error> {
        let batch = points.into();
        let words = bytemuck::cast_slice(batch.queries);
        let index = |near: &Near| near.index;
        let mut lists = self.rank_lists(batch, words, (k, Ranked::Near), NearestQuery::is_valid, index).await?;
        self.merge(|half_spaces| half_spaces.nearest(batch, k, &mut lists)).await?;
        Ok(lists)
    }

    /// Finds all answers of each query of a batch.
    async fn list<'q, Q: Start + Copy + Sync, T: Copy + Send>(
        &mut self,
        batch: Batch<'q, Q>,
        packed: impl Fn(&'q [Q]) -> (Packed<'q>, Listed),
        is_valid: impl Fn(&Q) -> bool + Sync,
        answer: impl Fn(&Pair) -> T + Sync,
        key: impl Fn(&T) -> u32,
    ) -> Result<Lists<T>, Error> {
        let (count, mut lists) = (batch.queries.len(), self.begin_lists(&batch)?);
        let is_in_order = is_in_order(batch.queries, &self.tree.scene());
        let mut first = 0;
        while self.has_boxes() && first < count {
            let (packed, listed) = packed(&batch.queries[first..]);
            let mut part = self.tree.begin_part(Wanted::Lists(listed), &packed, batch.filters, first, is_in_order)?;
            let offsets = self.read_offsets(&part).await?;
            let base = lists.answers.len() as u64;
            self.read_lists(&mut part, &offsets, &mut lists.answers, &answer, &key).await?;
            extend(&mut lists.offsets, &offsets[1..], |offset| base + offset);
            first += packed.count;
        }
        self.finish_lists(lists, batch.queries, is_valid)
    }

    /// Finds the first `k` answers of each query of a batch, as lists.
    async fn rank_lists<Q: Start + Copy + Sync, T: Pod + Send + Sync>(
        &mut self,
        batch: Batch<'_, Q>,
        words: &[u32],
        (k, ranked): (usize, Ranked),
        is_valid: impl Fn(&Q) -> bool + Sync,
        index: impl Fn(&T) -> u32 + Sync,
    ) -> Result<Lists<T>, Error> {
        let mut lists = self.begin_lists(&batch)?;
        check_k(k)?;
        // No query has more answers than there are boxes.
        let k = k.min(self.tree.report.box_count as usize);
        if self.has_boxes() {
            let ranking = self.ranking(&batch, words, k, ranked);
            let width = ranking.width();
            if k == width {
                self.rank(&ranking, |rows| append_rows(&mut lists, rows, width, &index)).await?;
            } else {
                self.rank_long(&ranking, &index, |list| {
                    reserve(&mut lists.answers, list.len())?;
                    lists.answers.extend_from_slice(list);
                    lists.offsets.push(lists.answers.len() as u64);
                    Ok(())
                })
                .await?;
            }
        }
        self.finish_lists(lists, batch.queries, is_valid)
    }

    /// Ranks the answers of each query. Passes a row per query to the caller's closure, part by part.
    async fn rank<T: Pod>(
        &mut self,
        ranking: &Ranking<'_>,
        mut each: impl FnMut(&[T]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        for first in ranking.parts() {
            let (packed, wanted) = ranking.part(first);
            let part = self.tree.begin_part(wanted, &packed, ranking.filters, first, ranking.is_in_order)?;
            self.read_rows(&part, Phase::Find, ranking.width(), &mut each).await?;
        }
        Ok(())
    }

    /// Ranks more answers per query than a row has. It reads one row after the other, joins the rows, and passes a list
    /// per query to the caller's closure.
    async fn rank_long<T: Pod>(
        &mut self,
        ranking: &Ranking<'_>,
        index: impl Fn(&T) -> u32,
        mut each: impl FnMut(&[T]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let width = ranking.width();
        for first in ranking.parts() {
            let (packed, wanted) = ranking.part(first);
            let part = self.tree.begin_part(wanted, &packed, ranking.filters, first, ranking.is_in_order)?;
            let mut lists: Vec<Vec<T>> = vec![Vec::new(); packed.count];
            for done in (0..ranking.k).step_by(width) {
                let phase = if done == 0 { Phase::Find } else { Phase::NextRow };
                let mut found = false;
                self.read_rows(&part, phase, width, |rows: &[T]| {
                    lists.iter_mut().zip(rows.chunks(width)).try_for_each(|(list, row)| {
                        let row = &row[..row.partition_point(|a| index(a) != NO_BOX).min(ranking.k - done)];
                        found |= !row.is_empty();
                        reserve(list, row.len())?;
                        list.extend_from_slice(row);
                        Ok(())
                    })
                })
                .await?;
                if !found {
                    break;
                }
            }
            lists.iter().try_for_each(|list| each(list))?;
        }
        Ok(())
    }

    fn ranking<'a, Q: Start>(&self, batch: &Batch<'a, Q>, words: &'a [u32], k: usize, ranked: Ranked) -> Ranking<'a> {
        let query_count = batch.queries.len();
        let stride = words.len().checked_div(query_count).unwrap_or(0);
        let is_in_order = is_in_order(batch.queries, &self.tree.scene());
        let most = self.tree.most_queries(stride, k);
        Ranking { words, query_count, stride, most, filters: batch.filters, is_in_order, k, ranked }
    }

    fn has_boxes(&self) -> bool {
        self.tree.built.is_some()
    }

    /// Checks a batch, and allocates one answer for each query.
    fn begin_answers<Q, T>(&self, batch: &Batch<'_, Q>) -> Result<Vec<T>, Error> {
        self.tree.filters.check_source()?;
        self.tree.check_built()?;
        batch.filters.check(batch.queries.len())?;
        let mut answers = Vec::new();
        reserve(&mut answers, batch.queries.len())?;
        Ok(answers)
    }

    /// Checks a batch, and allocates the offsets of its lists.
    fn begin_lists<Q, T>(&self, batch: &Batch<'_, Q>) -> Result<Lists<T>, Error> {
        self.tree.filters.check_source()?;
        self.tree.check_built()?;
        batch.filters.check(batch.queries.len())?;
        let mut lists = Lists { offsets: Vec::new(), answers: Vec::new(), report: QueryReport::default() };
        reserve(&mut lists.offsets, batch.queries.len() + 1)?;
        lists.offsets.push(0);
        Ok(lists)
    }

    /// Completes the report and the offsets of lists. Queries that did not run have empty lists.
    fn finish_lists<Q: Sync, T>(
        &self,
        mut lists: Lists<T>,
        queries: &[Q],
        is_valid: impl Fn(&Q) -> bool + Sync,
    ) -> Result<Lists<T>, Error> {
        lists.offsets.resize(queries.len() + 1, lists.answers.len() as u64);
        lists.report = self.report(queries, is_valid, lists.answers.len() as u64)?;
        Ok(lists)
    }

    /// Returns the report of a complete batch, or an error if filters changed meanwhile.
    fn report<Q: Sync>(
        &self,
        queries: &[Q],
        is_valid: impl Fn(&Q) -> bool + Sync,
        answer_count: u64,
    ) -> Result<QueryReport, Error> {
        self.tree.filters.check_source()?;
        let numbered = queries.par_iter().enumerate().with_min_len(AT_ONCE);
        let invalid: Vec<u64> = numbered.filter(|(_, query)| !is_valid(query)).map(|(i, _)| i as u64).collect();
        Ok(QueryReport::new(queries.len(), &invalid, answer_count))
    }
}

/// Queries whose first answers are requested.
struct Ranking<'a> {
    /// The queries, as bits of `f32`.
    words: &'a [u32],
    query_count: usize,
    /// The u32 count of a query.
    stride: usize,
    /// The most queries of a part.
    most: usize,
    filters: &'a crate::QueryFilters,
    is_in_order: bool,
    /// The answers per query.
    k: usize,
    ranked: Ranked,
}

impl<'a> Ranking<'a> {
    /// Returns the length of a row.
    fn width(&self) -> usize {
        self.k.min(ROW as usize)
    }

    /// Returns the first query of each part.
    fn parts(&self) -> impl Iterator<Item = usize> + use<> {
        (0..self.query_count).step_by(self.most)
    }

    /// Returns the part that begins with a query.
    fn part(&self, first: usize) -> (Packed<'a>, Wanted) {
        let count = self.most.min(self.query_count - first);
        let words = &self.words[first * self.stride..(first + count) * self.stride];
        (Packed::of_words(words, count), Wanted::Rows(self.ranked, self.width() as u32))
    }
}

/// Appends rows of `width` answers each. Entries without a box are omitted.
fn append_rows<T: Pod + Send + Sync>(
    lists: &mut Lists<T>,
    rows: &[T],
    width: usize,
    index: impl Fn(&T) -> u32 + Sync,
) -> Result<(), Error> {
    let Lists { offsets, answers, .. } = lists;
    let of_row = |row: &[T]| row.partition_point(|answer| index(answer) != NO_BOX);
    let mut lengths = Vec::new();
    reserve(&mut lengths, rows.len() / width)?;
    lengths.par_extend(rows.par_chunks(width).with_min_len(AT_ONCE).map(of_row));
    let mut end = answers.len() as u64;
    offsets.extend(lengths.iter().map(|&length| {
        end += length as u64;
        end
    }));
    reserve(answers, end as usize - answers.len())?;
    if end as usize == answers.len() + rows.len() {
        extend(answers, rows, |answer| *answer);
    } else {
        for (row, &length) in rows.chunks(width).zip(&lengths) {
            answers.extend_from_slice(&row[..length]);
        }
    }
    Ok(())
}
