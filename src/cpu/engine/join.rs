//! Joins two sets: by a tree of one set, or by a sweep of both.

use std::sync::atomic::{AtomicU64, Ordering};

use super::BroadPhase;
use super::order;
use super::pair_filter::{All, Filtered, PairFilter};
use super::search::Search;
use crate::base::constants::INVALID_LISTED;
use crate::cpu::call;
use crate::cpu::tree::join::{self, Join, Set};
use crate::filters::SearchedBoxes;
use crate::filters::sets::{TwoSets, number_second};
use crate::{Aabb, CellSize, Error, Filters, Options, Overlaps, Pair, PairOrder, Report, SweepAxis};

/// Boxes with which a thread queries a tree at a time.
const TASK: usize = 1 << 9;
/// Boxes that query a tree before the test count is compared with its limit. The value is the same for every thread
/// count, so that the errors are the same too.
const ROUND: usize = 1 << 14;
/// The boxes whose pairs are filtered at a time, while they are in a cache.
const GROUP: usize = 1 << 3;

/// The method of a join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// Both sets are swept as one input, or all pairs are tested.
    AsOneInput,
    /// The boxes of the second set query a tree of the first.
    TreeOfFirst,
    /// The boxes of the first set query a tree of the second.
    TreeOfSecond,
}

impl Way {
    /// Chooses the method that is fastest by measurement, among the possible methods.
    fn choose(first: usize, second: usize, options: &Options, filters: &Filters) -> Self {
        let is_few = u32::try_from(first + second).is_ok_and(|box_count| options.tests_all_pairs(box_count));
        let names_a_sweep = options.axis != SweepAxis::Auto || options.cell_size != CellSize::Auto;
        // A tree join does not support half-spaces.
        if is_few || names_a_sweep || !filters.half_spaces.is_empty() {
            return Self::AsOneInput;
        }
        // If one set has few boxes, build its tree. It fits a cache, so the many queries need no sort, which would take
        // longer than the queries. With worlds, queries are sorted in any case.
        let has_few = first.min(second) <= join::FEW && filters.world.is_empty();
        if (first > second) != has_few { Self::TreeOfFirst } else { Self::TreeOfSecond }
    }
}

impl BroadPhase {
    /// Finds each overlapping pair of a box of `first` and a box of `second` once: the join of two sets. In a [`Pair`],
    /// `a` is an index in `first`, and `b` an index in `second`. In [canonical order](crate::PairOrder::Canonical) the
    /// pairs are sorted by `a`, then by `b`.
    ///
    /// The boxes of one set query a tree of the other set ([`Report::tree_join`]). The tree has the larger set, unless
    /// the smaller set has at most 256 boxes and there are no worlds. This takes 0.1 to 0.8 of the time of a sweep of
    /// both sets. If all boxes lie along one line, it takes up to 1.9 times as long as the sweep. If nearly all boxes
    /// overlap and the pairs are sorted, it takes up to 2.3 times as long. For few boxes, all pairs are tested
    /// ([`Options::all_pairs_up_to`]). Both sets are swept as one input if there are
    /// [half-spaces](Filters::half_spaces), or if the options specify an axis or a cell size.
    ///
    /// For the filters and the report, both sets are one input: the boxes of `first`, then the boxes of `second`.
    /// [`Filters::second`](crate::Filters::second) is replaced during the call. The test count is not known before the
    /// queries, so the [limit](crate::Options::candidate_limit) is checked after every 16,384 queries.
    ///
    /// ```
    /// use broadsweep::{Aabb, Options, Pair, cpu};
    ///
    /// let cube = |x: f32| Aabb::new([x, 0.0, 0.0], [x + 1.0, 1.0, 1.0]);
    /// let mut broad_phase = cpu::BroadPhase::new(Options::default())?;
    /// let found = broad_phase.find_pairs_between(&[cube(0.0), cube(0.5)], &[cube(9.0), cube(1.25)])?;
    /// assert_eq!(found.pairs, [Pair { a: 1, b: 1 }]);
    /// # Ok::<(), broadsweep::Error>(())
    /// ```
    ///
    /// # Errors
    /// The errors of [`find_pairs`](Self::find_pairs); [`Error::BadFilter`] if [`include`](Filters::include) has a pair
    /// within one of the sets; [`Error::OutOfMemory`].
    pub fn find_pairs_between(&mut self, first: &[Aabb], second: &[Aabb]) -> Result<&Overlaps, Error> {
        let way = Way::choose(first.len(), second.len(), &self.options, self.filters.filters());
        self.join_by(way, first, second)
    }

    /// Does the same as [`find_pairs_between`](Self::find_pairs_between) by this method. The filters must allow the
    /// method.
    pub(crate) fn join_by(&mut self, way: Way, first: &[Aabb], second: &[Aabb]) -> Result<&Overlaps, Error> {
        self.search.clear();
        let found = match way {
            Way::AsOneInput => self.join_as_one_input(first, second),
            Way::TreeOfFirst | Way::TreeOfSecond => self.join_by_tree(way, first, second),
        };
        found.map_err(|error| self.search.refuse(error))?;
        number_second(&mut self.search.found.pairs, first.len());
        Ok(&self.search.found)
    }

    fn join_as_one_input(&mut self, first: &[Aabb], second: &[Aabb]) -> Result<(), Error> {
        let mut sets = std::mem::take(&mut self.sets);
        let found = sets.fill(first, second, self.filters.filters()).and_then(|()| {
            let own = self.filters.set_second(std::mem::take(&mut sets.second));
            let found = self.start(&sets.boxes);
            sets.second = self.filters.set_second(own);
            found
        });
        self.sets = sets;
        found
    }

    fn join_by_tree(&mut self, way: Way, first: &[Aabb], second: &[Aabb]) -> Result<(), Error> {
        TwoSets::check(first.len(), second.len(), self.filters.filters())?;
        // A tree join compares no boxes of the same set, so the filter is not needed.
        let own = self.filters.set_second(Vec::new());
        let found = self.filters.fit(first.len() + second.len()).and_then(|()| {
            call::checked_count(first.len() + second.len())?;
            // Enter the pool once, and not once per stage.
            rayon::join(|| self.query_tree(way, first, second), || ()).0
        });
        self.filters.set_second(own);
        found
    }

    fn query_tree(&mut self, way: Way, first: &[Aabb], second: &[Aabb]) -> Result<(), Error> {
        let Self { options, filters, padded: [padded_first, padded_second], search, join, .. } = self;
        let worlds = filters.worlds();
        let worlds = worlds.split_at(first.len().min(worlds.len()));
        let boxes = filters.filters().padded_boxes(0, first, padded_first);
        let first = Set { boxes, worlds: worlds.0 };
        let boxes = filters.filters().padded_boxes(first.boxes.len(), second, padded_second);
        let second = Set { boxes, worlds: worlds.1 };
        let mut tree_join = TreeJoin { join, way, first, second, options };
        if filters.passes_all() {
            tree_join.run(search, All)?;
        } else {
            tree_join.run(search, Filtered::new(filters, SearchedBoxes::of_sets(first.boxes, second.boxes)))?;
        }
        search.add(filters.include(), options)
    }
}

/// Two sets, one of which queries a tree of the other.
struct TreeJoin<'a> {
    join: &'a mut Join,
    way: Way,
    first: Set<'a>,
    second: Set<'a>,
    options: &'a Options,
}

impl TreeJoin<'_> {
    /// Finds the pairs, without the included pairs.
    fn run(&mut self, search: &mut Search, filter: impl PairFilter) -> Result<(), Error> {
        let Self { way, first, second, options, .. } = *self;
        let (tree_set, queries) = if way == Way::TreeOfFirst { (first, second) } else { (second, first) };
        self.join.build(tree_set, queries);
        let counts = self.list(queries, search, filter)?;
        let box_count = (first.boxes.len() + second.boxes.len()) as u32;
        let Search { found, other_pairs, .. } = search;
        if options.order == PairOrder::Canonical {
            order::canonical(&mut found.pairs, other_pairs, box_count);
        }
        let mut report = Report { candidate_count: counts.tests, ..Report::of_tree(box_count) };
        report.pair_count = found.pairs.len() as u64;
        report.all_pairs_up_to = options.most_in_all_pairs();
        report.first_invalid = std::mem::take(&mut found.report.first_invalid);
        if counts.invalid > 0 || self.join.has_invalid() {
            let boxes = (0..).zip(first.boxes.iter().chain(second.boxes));
            let invalid = || boxes.clone().filter(|(_, aabb)| !aabb.is_valid()).map(|(i, _)| i);
            report.invalid_count = invalid().count() as u32;
            report.first_invalid.extend(invalid().take(INVALID_LISTED as usize));
        }
        found.report = report;
        Ok(())
    }

    /// Queries the tree, and lists the pairs in the order of the queries.
    fn list(&self, queries: Set<'_>, search: &mut Search, filter: impl PairFilter) -> Result<join::Counts, Error> {
        let (first_count, is_tree_of_first) = (self.first.boxes.len() as u32, self.way == Way::TreeOfFirst);
        let pair = |query: u32, id: u32| match is_tree_of_first {
            true => Pair { a: id, b: first_count + query },
            false => Pair { a: query, b: first_count + id },
        };
        let limit = self.options.effective_candidate_limit();
        let (tests, invalid) = (AtomicU64::new(0), AtomicU64::new(0));
        let query = |&(first, end): &(usize, usize), list: &mut Vec<Pair>| {
            for turn in (first..end).step_by(GROUP) {
                let before = list.len();
                let counts = self.join.list(queries, turn..end.min(turn + GROUP), pair, list)?;
                filter.retain_last(list, before);
                tests.fetch_add(counts.tests, Ordering::Relaxed);
                invalid.fetch_add(counts.invalid, Ordering::Relaxed);
            }
            Ok(())
        };
        let count = queries.boxes.len();
        for round in (0..count).step_by(ROUND) {
            let end = count.min(round + ROUND);
            let tasks = (round..end).step_by(TASK).map(|first| (first, end.min(first + TASK)));
            search.lists.fill(tasks, &mut search.found.pairs, query)?;
            let candidate_count = tests.load(Ordering::Relaxed);
            if candidate_count > limit {
                return Err(Error::TooManyCandidates { candidate_count, limit });
            }
        }
        Ok(join::Counts { tests: tests.into_inner(), invalid: invalid.into_inner() })
    }
}
