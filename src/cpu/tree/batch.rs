//! Answers the queries of a batch on all threads.
//!
//! Queries are answered in the order of their starts along the tree's curve. So consecutive queries visit the same
//! nodes, which are then in a cache. Answers are returned in the order of the queries.

use std::ops::Range;

use rayon::prelude::*;

use super::Tree;
use super::node::{self, Center, Node, ORDINARY, Sight};
use super::point_packet::POINTS;
use super::ray_packet::{Packet, RAYS};
use super::scratch::{Scratch, Stacked};
use super::visit::{self, AllHits, First, Met, OneHit, Touching};
use super::walk::{Stack, Visitor, walk};
use crate::cpu::radix;
use crate::queries::{Distance, Entry, Path, Region, Start, is_in_order, reserve};
use crate::{Aabb, Answers, Batch, Cast, Error, Hit, Lists, Near, NearestQuery, QueryReport};

/// Queries that a thread answers at a time.
const CHUNK: usize = 1 << 8;
/// Queries are sorted if there are at least this many queries and this many boxes.
const SORTED: usize = 1 << 10;

/// A batch of queries and its tree.
pub struct TreeBatch<'a, Q> {
    tree: &'a Tree,
    batch: Batch<'a, Q>,
    /// The order of answering: the query index is in the lower half of each element. Empty if queries are answered in
    /// their own order.
    order: Vec<u64>,
    /// True if worlds are the only filters of the queries.
    passes_all: bool,
}

/// The answers to consecutive queries of the order.
struct ChunkAnswers<T> {
    answers: Vec<T>,
    /// The end of each query's answers.
    ends: Vec<usize>,
    invalid: Vec<u64>,
}

impl<'a, Q: Start + Copy + Sync> TreeBatch<'a, Q> {
    /// Checks a batch, and sorts its queries.
    ///
    /// # Errors
    /// [`Error::NotBuilt`], [`Error::QueryFilterLength`], [`Error::OutOfMemory`].
    pub fn new(tree: &'a Tree, batch: Batch<'a, Q>) -> Result<Self, Error> {
        if !tree.is_built {
            return Err(Error::NotBuilt);
        }
        batch.filters.check(batch.queries.len())?;
        let filters = tree.filters();
        let passes_all = batch.filters.passes_all() && !filters.has_groups();
        let mut order = Vec::new();
        let scene = tree.levels.bounds();
        let fits_u32 = u32::try_from(batch.queries.len()).is_ok();
        if fits_u32 && batch.queries.len().min(tree.ids.len()) >= SORTED && !is_in_order(batch.queries, &scene) {
            let mut other = Vec::new();
            reserve(&mut order, batch.queries.len())?;
            reserve(&mut other, batch.queries.len())?;
            order.resize(batch.queries.len(), 0);
            order.par_iter_mut().zip(batch.queries.par_iter()).enumerate().with_min_len(CHUNK).for_each(
                |(i, (item, query))| {
                    *item = u64::from(tree.cube.place(query.start(&scene))) << 32 | i as u64;
                },
            );
            radix::sort(&mut order, &mut other, 32);
        }
        Ok(Self { tree, batch, order, passes_all })
    }

    /// Loads the queries of these turns, with their indices. A turn is a place in the order of answering. Queries are
    /// scattered in memory, so all are loaded before the first is answered.
    fn load(&self, turns: Range<usize>, queries: &mut Vec<(usize, Q)>) {
        queries.clear();
        if self.order.is_empty() {
            queries.extend(turns.clone().zip(self.batch.queries[turns].iter().copied()));
        } else {
            let number = |&item: &u64| item as u32 as usize;
            queries.extend(self.order[turns].iter().map(number).map(|i| (i, self.batch.queries[i])));
        }
    }

    /// Finds one answer to each query. A call of `answer` gets at most `some` queries, with their indices, and lists
    /// the invalid queries.
    fn answers_of_some<T: Copy + PartialEq + Send + Sync, K>(
        &self,
        none: T,
        some: usize,
        answer: impl Fn(&mut Scratch<K>, &[(usize, Q)], &mut [T], &mut Vec<u64>) + Sync,
    ) -> Result<Answers<T>, Error> {
        let count = self.batch.queries.len();
        let mut answers = Vec::new();
        reserve(&mut answers, count)?;
        answers.resize(count, none);
        let invalid: Vec<Vec<u64>> = answers
            .par_chunks_mut(CHUNK)
            .enumerate()
            .map_init(
                || (Scratch::new(1), Vec::new()),
                |(scratch, queries), (chunk, answers)| {
                    let mut invalid = Vec::new();
                    self.load(chunk * CHUNK..chunk * CHUNK + answers.len(), queries);
                    for (queries, out) in queries.chunks(some).zip(answers.chunks_mut(some)) {
                        answer(scratch, queries, out, &mut invalid);
                    }
                    invalid
                },
            )
            .collect();
        let answer_count = answers.iter().filter(|&&answer| answer != none).count() as u64;
        if !self.order.is_empty() {
            let mut in_order = Vec::new();
            reserve(&mut in_order, count)?;
            in_order.resize(count, none);
            for (&item, answer) in self.order.iter().zip(answers) {
                in_order[item as u32 as usize] = answer;
            }
            answers = in_order;
        }
        Ok(Answers { answers, report: self.report(invalid.concat(), answer_count) })
    }

    /// Finds a list of answers to each query. `answer` appends to the list, and returns whether the query is valid.
    /// Rankings have at most `most` answers.
    pub fn lists<T: Copy + Send + Sync, K>(
        &self,
        most: usize,
        answer: impl Fn(&Self, &mut Scratch<K>, usize, &Q, &mut Vec<T>) -> Result<bool, Error> + Sync,
    ) -> Result<Lists<T>, Error> {
        self.lists_of_some(most, CHUNK, |scratch, queries, part| {
            for (i, query) in queries {
                if !answer(self, scratch, *i, query, &mut part.answers)? {
                    part.invalid.push(*i as u64);
                }
                part.ends.push(part.answers.len());
            }
            Ok(())
        })
    }

    /// Finds a list of answers to each query. A call of `answer` gets at most `some` queries, with their indices.
    /// Rankings have at most `most` answers.
    fn lists_of_some<T: Copy + Send + Sync, K>(
        &self,
        most: usize,
        some: usize,
        answer: impl Fn(&mut Scratch<K>, &[(usize, Q)], &mut ChunkAnswers<T>) -> Result<(), Error> + Sync,
    ) -> Result<Lists<T>, Error> {
        let count = self.batch.queries.len();
        let parts: Vec<ChunkAnswers<T>> = (0..count.div_ceil(CHUNK))
            .into_par_iter()
            .map_init(
                || (Scratch::new(most), Vec::new()),
                |(scratch, queries), chunk| {
                    let turns = chunk * CHUNK..count.min((chunk + 1) * CHUNK);
                    let mut part = ChunkAnswers {
                        answers: Vec::new(),
                        ends: Vec::with_capacity(turns.len()),
                        invalid: Vec::new(),
                    };
                    self.load(turns, queries);
                    queries.chunks(some).try_for_each(|queries| answer(scratch, queries, &mut part))?;
                    Ok(part)
                },
            )
            .collect::<Result<_, Error>>()?;
        let mut lists = Lists { offsets: Vec::new(), answers: Vec::new(), report: QueryReport::default() };
        reserve(&mut lists.offsets, count + 1)?;
        reserve(&mut lists.answers, parts.iter().map(|part| part.answers.len()).sum())?;
        lists.offsets.push(0);
        // The turn of each query.
        let mut turns: Vec<u32> = Vec::new();
        if !self.order.is_empty() {
            reserve(&mut turns, count)?;
            turns.resize(count, 0);
            (0..).zip(&self.order).for_each(|(turn, &item)| turns[item as u32 as usize] = turn);
        }
        for i in 0..count {
            let turn = turns.get(i).map_or(i, |&turn| turn as usize);
            let ChunkAnswers { answers, ends, .. } = &parts[turn / CHUNK];
            let within = turn % CHUNK;
            let first = if within == 0 { 0 } else { ends[within - 1] };
            lists.answers.extend_from_slice(&answers[first..ends[within]]);
            lists.offsets.push(lists.answers.len() as u64);
        }
        let invalid = parts.into_iter().flat_map(|part| part.invalid).collect();
        lists.report = self.report(invalid, lists.answers.len() as u64);
        Ok(lists)
    }

    fn report(&self, mut invalid: Vec<u64>, answer_count: u64) -> QueryReport {
        invalid.sort_unstable();
        QueryReport::new(self.batch.queries.len(), &invalid, answer_count)
    }
}

impl<Q: Cast> TreeBatch<'_, Q> {
    /// Returns the path of a cast; `None` if a number is invalid.
    #[inline]
    pub fn path(&self, cast: &Q) -> Option<Path> {
        cast.path().map(|path| path.skipping_separating(self.batch.filters.skips_separating))
    }

    /// Finds the first box that each path hits.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn nearest_hits(&self) -> Result<Answers<Hit>, Error> {
        self.hits::<false, _>(Hit::MISS, |path, (entry, index)| Hit { index: *index, t: path.time(entry) })
    }

    /// Finds whether each path hits a box.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn any_hits(&self) -> Result<Answers<bool>, Error> {
        self.hits::<true, _>(false, |_, _| true)
    }

    /// Finds the first box that each path hits, or any.
    fn hits<const IS_ANY: bool, T: Copy + PartialEq + Send + Sync>(
        &self,
        none: T,
        answer: impl Fn(&Path, &(Entry, u32)) -> T + Sync,
    ) -> Result<Answers<T>, Error> {
        self.answers_of_some(none, RAYS, |scratch, queries, out, invalid| {
            let mut valid = 0u32;
            let paths: [Path; RAYS] = std::array::from_fn(|at| {
                let path = queries.get(at).and_then(|(_, cast)| self.path(cast));
                valid |= u32::from(path.is_some()) << at;
                path.unwrap_or(Path::STILL)
            });
            let mut best = [None; RAYS];
            let is_packet =
                valid == (1 << RAYS) - 1 && self.hits_of_packet::<IS_ANY>(scratch, queries, &paths, &mut best);
            for (at, ((i, _), out)) in queries.iter().zip(out).enumerate() {
                if valid >> at & 1 == 0 {
                    invalid.push(*i as u64);
                    continue;
                }
                if !is_packet {
                    best[at] = self.hit::<IS_ANY>(*i, &paths[at], scratch);
                }
                if let Some(hit) = &best[at] {
                    *out = answer(&paths[at], hit);
                }
            }
        })
    }

    /// Finds the box that each path hits by one walk of all paths. Returns `false` if separate walks are faster; then
    /// `best` is invalid.
    #[inline(never)]
    fn hits_of_packet<const IS_ANY: bool>(
        &self,
        scratch: &mut Scratch<()>,
        queries: &[(usize, Q)],
        paths: &[Path; RAYS],
        best: &mut [Option<(Entry, u32)>; RAYS],
    ) -> bool {
        let filters = self.batch.filters;
        let world_of = |(i, _): &(usize, Q)| filters.query_filter(*i).world;
        let world = world_of(&queries[0]);
        let is_one_world = filters.world.is_empty() || queries.iter().all(|query| world_of(query) == world);
        if !(self.passes_all & self.tree.levels.is_ordinary & is_one_world) || scratch.pauses.is_pause() {
            return false;
        }
        let is_done = Packet::<IS_ANY>::new(paths, best).is_some_and(|mut packet| {
            let Tree { levels, ids, worlds, .. } = self.tree;
            packet.walk(levels, ids, &worlds.of(world), &mut scratch.single)
        });
        if is_done {
            scratch.pauses.forget();
        } else {
            scratch.pauses.begin();
        }
        is_done
    }

    /// Finds the box that the path of query `i` hits.
    #[inline(never)]
    fn hit<const IS_ANY: bool>(&self, i: usize, path: &Path, scratch: &mut Scratch<()>) -> Option<(Entry, u32)> {
        if self.is_ordinary(path) {
            self.hit_in::<f32, IS_ANY>(i, *path, scratch)
        } else {
            self.hit_in::<f64, IS_ANY>(i, *path, scratch)
        }
    }

    #[inline(always)]
    fn hit_in<F: Stacked, const IS_ANY: bool>(
        &self,
        i: usize,
        path: Path,
        scratch: &mut Scratch<()>,
    ) -> Option<(Entry, u32)> {
        let (sight, limit) = (Sight::<F>::new(&path), F::limit(f64::from(path.limit)));
        let mut visitor = OneHit::<F, IS_ANY> { path, sight, limit, best: None };
        self.walk(i, F::stack(scratch).1, &mut visitor);
        visitor.best
    }
}

impl TreeBatch<'_, NearestQuery> {
    /// Finds the `k` boxes that are nearest to each point.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn nearest(&self, k: usize) -> Result<Lists<Near>, Error> {
        self.lists_of_some(k, POINTS, |scratch, queries, part| {
            let is_gathered = self.gather(scratch, queries);
            let (mut looked, mut missing) = (0.0f64, 0);
            for (i, query) in queries {
                if !query.is_valid() {
                    part.invalid.push(*i as u64);
                } else if !scratch.ranking.wants_none() {
                    missing += usize::from(!self.rank_nearest(*i, query, is_gathered, scratch));
                    let near = |(distance, index): &(Distance, u32)| Near {
                        index: *index,
                        squared_distance: distance.square(&query.point),
                    };
                    visit::extend(&mut part.answers, scratch.ranking.first.iter().map(near))?;
                    looked = looked.max(scratch.ranking.last().unwrap_or(query.radius_square()));
                }
                part.ends.push(part.answers.len());
            }
            scratch.looked = looked;
            if is_gathered {
                scratch.around.judge(missing);
            }
            Ok(())
        })
    }

    /// Gathers the boxes around the points of these queries. Returns whether it did.
    fn gather(&self, scratch: &mut Scratch<Distance>, queries: &[(usize, NearestQuery)]) -> bool {
        let world = self.batch.filters.query_filter(queries[0].0).world;
        let fits =
            |(i, query): &(usize, NearestQuery)| query.is_valid() && self.batch.filters.query_filter(*i).world == world;
        let Scratch { ranking, around, looked, single, .. } = scratch;
        if ranking.wants_none() || !self.passes_all || !self.tree.levels.is_ordinary || !queries.iter().all(fits) {
            return false;
        }
        let Tree { levels, ids, worlds, .. } = self.tree;
        let points = queries.iter().map(|(_, query)| query.point);
        around.gather((levels, ids), &worlds.of(world), points, (*looked, ranking.most()), single)
    }

    /// Ranks the boxes near the point of query `i`. Returns whether the gathered boxes sufficed.
    fn rank_nearest(&self, i: usize, query: &NearestQuery, is_gathered: bool, scratch: &mut Scratch<Distance>) -> bool {
        let Scratch { around, ranking, last, .. } = scratch;
        if is_gathered {
            let is_complete = around.rank(query, ranking);
            if let Some(square) = ranking.last() {
                *last = Some((query.point, self.batch.filters.query_filter(i).world, square));
            }
            if is_complete {
                return true;
            }
        }
        ranking.clear();
        if self.tree.levels.is_ordinary && query.point.iter().all(|x| x.abs() <= ORDINARY) {
            self.nearest_in::<f32>(i, query, scratch);
        } else {
            self.nearest_in::<f64>(i, query, scratch);
        }
        scratch.ranking.finish(|a, b| a.compare(b, &query.point));
        false
    }
}

impl<Q> TreeBatch<'_, Q> {
    /// Ranks the boxes that the path of query `i` hits.
    pub fn first_hits(&self, i: usize, path: &Path, scratch: &mut Scratch<Entry>) {
        scratch.ranking.clear();
        if scratch.ranking.wants_none() {
            return;
        }
        if self.is_ordinary(path) {
            self.first_hits_in::<f32>(i, path, scratch);
        } else {
            self.first_hits_in::<f64>(i, path, scratch);
        }
        scratch.ranking.finish(|a, b| path.compare_entries(a, b));
    }

    fn first_hits_in<F: Stacked>(&self, i: usize, path: &Path, scratch: &mut Scratch<Entry>) {
        let (ranking, stack) = F::stack(scratch);
        let (path, sight) = (*path, Sight::<F>::new(path));
        let mut visitor = First {
            limit: F::limit(f64::from(path.limit)),
            ranking,
            look: move |node: &Node, limit| sight.through(node, limit),
            key: move |aabb: &Aabb| path.enter(aabb).map(|entry| (entry, entry.approximate)),
            compare: move |a: &Entry, b: &Entry| path.compare_entries(a, b),
        };
        self.walk(i, stack, &mut visitor);
    }

    /// Calls `hit` with each box that the path of query `i` hits, until `hit` returns that no more are needed.
    pub fn each_hit(&self, i: usize, path: &Path, scratch: &mut Scratch<()>, mut hit: impl FnMut(&Entry, u32) -> bool) {
        if self.is_ordinary(path) {
            self.each_hit_in::<f32>(i, path, scratch, &mut hit);
        } else {
            self.each_hit_in::<f64>(i, path, scratch, &mut hit);
        }
    }

    fn each_hit_in<F: Stacked>(
        &self,
        i: usize,
        path: &Path,
        scratch: &mut Scratch<()>,
        hit: &mut impl FnMut(&Entry, u32) -> bool,
    ) {
        let (_, stack) = F::stack(scratch);
        let (path, sight, limit) = (*path, Sight::<F>::new(path), F::limit(f64::from(path.limit)));
        self.walk(i, stack, &mut AllHits { path, sight, limit, hit, is_done: false });
    }

    /// Appends the boxes that touch the shape of query `i`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn touching<R: Region>(
        &self,
        i: usize,
        region: R,
        scratch: &mut Scratch<()>,
        out: &mut Vec<u32>,
    ) -> Result<(), Error> {
        let bounds = region.bounds();
        let mut visitor = Touching { region, bounds, out, result: Ok(()) };
        self.walk(i, &mut scratch.single, &mut visitor);
        visitor.result
    }

    fn nearest_in<F: Stacked>(&self, i: usize, query: &NearestQuery, scratch: &mut Scratch<Distance>) {
        let NearestQuery { point, radius } = *query;
        let world = self.batch.filters.query_filter(i).world;
        let mut limit = query.radius_square();
        if let Some((last, last_world, square)) = scratch.last
            && self.passes_all
            && last_world == world
        {
            // The previous query found the requested count of boxes within a distance. From this point, these boxes
            // are farther by at most the distance between both points.
            let way: f64 = (0..3).map(|k| (f64::from(point[k]) - f64::from(last[k])).powi(2)).sum();
            let reach = square.sqrt() + way.sqrt();
            limit = limit.min(reach * reach * (1.0 + 1e-12));
        }
        let center = Center::<F>::new(&point);
        let (ranking, stack) = F::stack(scratch);
        let key = move |aabb: &Aabb| {
            let distance = Distance::between(&point, aabb)?;
            distance.compare_radius(radius, &point).is_le().then_some((distance, distance.approximate))
        };
        let mut visitor = First {
            limit: F::limit(limit),
            ranking,
            look: move |node: &Node, limit| center.around(node, limit),
            key,
            compare: move |a: &Distance, b: &Distance| a.compare(b, &point),
        };
        self.walk(i, stack, &mut visitor);
        scratch.last = scratch.ranking.last().map(|square| (point, world, square));
    }

    fn is_ordinary(&self, path: &Path) -> bool {
        self.tree.levels.is_ordinary && node::is_ordinary(path)
    }

    /// Walks the tree with the visitor of query `i`, which gets only boxes that the filters accept.
    fn walk<V: Visitor>(&self, i: usize, stack: &mut Stack<V::Known>, visitor: &mut V) {
        let meeting = self.batch.filters.meeting_of(i, &self.tree.filters);
        let (levels, ids, ranges) = (&self.tree.levels, &self.tree.ids, self.tree.worlds.of(meeting.world()));
        if self.passes_all {
            walk(levels, ids, &ranges, stack, visitor);
        } else {
            let meets = |id| meeting.meets(id);
            walk(levels, ids, &ranges, stack, &mut Met { visitor, meets });
        }
    }
}
