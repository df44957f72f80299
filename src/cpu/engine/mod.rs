//! The flow on all cores of the CPU, with reused memory.
//!
//! The stages are the stages of [`reference`](mod@super::mirror::reference). Stages that process one box at a time use
//! the functions of the mirrors. So the frame, the cells, the keys and the candidates are the same numbers. Other parts
//! differ, since the mirrors are not fast. Boxes are processed in [chunks](chunks). A [sort](super::radix) first
//! partitions by the leading digit, so that each part fits a cache. [Boxes are gathered](sorted) in the order of the
//! sweep. Several threads fill [lists](task_lists) of pairs. Filters change a copy of the boxes before the search, and
//! remove pairs [where they are found](pair_filter). Two sets of boxes are [joined](join) by a tree, and pairs are
//! cached [from step to step](steps).

mod chunks;
mod giants;
pub(crate) mod join;
mod order;
mod pair_filter;
mod search;
mod sorted;
mod steps;
mod task_lists;

use self::search::Search;
use super::call;
use super::tree::join::Join;
use crate::base::constants::ENTRY_BOX;
use crate::base::options::ALL_PAIRS_CPU;
use crate::events::stream::Streamed;
use crate::filters::CheckedFilters;
use crate::filters::sets::TwoSets;
use crate::{Aabb, Attribute, Error, Filters, Options, Overlaps, Pair, Report};

/// The most boxes that one thread searches alone, since it ends before another thread would wake up.
const ALONE: u32 = 512;

/// The engine on the CPU, for many calls. [`find_pairs`](super::find_pairs) is a single call.
///
/// The engine uses the threads of the caller's `rayon` pool. The pairs and their order do not depend on the thread
/// count. The engine reuses its memory: a call that needs no more than earlier calls allocates nothing that grows with
/// the box or pair count.
///
/// ```
/// use broadsweep::{Aabb, Options, cpu};
///
/// let mut broad_phase = cpu::BroadPhase::new(Options::default())?;
/// let mut boxes = [Aabb::new([0.0; 3], [1.0; 3]), Aabb::new([2.0; 3], [3.0; 3])];
/// assert!(broad_phase.find_pairs(&boxes)?.pairs.is_empty());
/// boxes[1].min = [1.0; 3];
/// assert_eq!(broad_phase.find_pairs(&boxes)?.pairs.len(), 1);
/// # Ok::<(), broadsweep::Error>(())
/// ```
#[derive(Debug)]
pub struct BroadPhase {
    options: Options,
    filters: CheckedFilters,
    /// `[box_count]` the boxes as they are searched, if the filters change them.
    prepared: Vec<Aabb>,
    search: Search,
    /// The last two sets joined as one input.
    sets: TwoSets,
    /// The tree of the last tree join.
    join: Join,
    /// The boxes of two sets, padded by their margins, in a tree join.
    padded: [Vec<Aabb>; 2],
    /// The state from step to step.
    step_state: steps::StepState,
    /// The last streamed step.
    streamed: Streamed,
}

impl BroadPhase {
    /// Creates an engine with these options, without filters.
    ///
    /// # Errors
    /// [`Error::BadOption`].
    pub fn new(options: Options) -> Result<Self, Error> {
        let options = options.checked(ALL_PAIRS_CPU)?;
        Ok(Self {
            options,
            filters: CheckedFilters::default(),
            prepared: Vec::new(),
            search: Search::default(),
            sets: TwoSets::default(),
            join: Join::default(),
            padded: Default::default(),
            step_state: steps::StepState::default(),
            streamed: Streamed::default(),
        })
    }

    /// Returns the options in use.
    pub fn options(&self) -> &Options {
        &self.options
    }

    /// Replaces the options, from the next call on.
    ///
    /// # Errors
    /// [`Error::BadOption`]; the options are unchanged then.
    pub fn set_options(&mut self, options: Options) -> Result<(), Error> {
        self.options = options.checked(ALL_PAIRS_CPU)?;
        Ok(())
    }

    /// Replaces the filters, from the next call on. This call sorts the lists of pairs. [`Filters::default`] accepts
    /// every overlapping pair, and costs nothing.
    ///
    /// # Errors
    /// [`Error::BadFilter`] for an invalid value, [`Error::OutOfMemory`]; the filters are unchanged then. Each
    /// [`find_pairs`](Self::find_pairs) checks that lists and indices fit its boxes.
    pub fn set_filters(&mut self, filters: Filters) -> Result<(), Error> {
        self.filters = CheckedFilters::new(filters)?;
        self.step_state.filters_changed();
        self.streamed.filters_changed();
        Ok(())
    }

    /// Returns the filters in use.
    pub fn filters(&self) -> &Filters {
        self.filters.filters()
    }

    /// Changes one list of the filters from box `first` on. Cost: a copy of the values. For worlds, all worlds are
    /// numbered again.
    ///
    /// # Errors
    /// [`Error::BadFilter`] if the list is too short, or for a margin that is negative or not finite; nothing
    /// is changed then.
    pub fn change_filters(&mut self, first: usize, values: Attribute<'_>) -> Result<(), Error> {
        self.filters.change(first, values)?;
        self.step_state.list_changed(first, &values, !self.filters.spheres().is_empty());
        if !matches!(values, Attribute::Sleeping(_)) {
            self.streamed.filters_changed();
        }
        Ok(())
    }

    /// Finds each overlapping pair of `boxes` that the [filters](Self::set_filters) accept, once. The result remains
    /// until the next call. If the boxes are swept in [`PairOrder::Sweep`](crate::PairOrder::Sweep),
    /// [included](Filters::include) pairs come last.
    ///
    /// # Errors
    /// [`Error::FilterLength`] and [`Error::BadFilter`] if the filters do not fit the boxes; [`Error::TooManyBoxes`]
    /// beyond 2²⁵ boxes, [`Error::TooManyCandidates`], [`Error::ListTooLong`]. After an error, the engine can be used
    /// as before.
    pub fn find_pairs(&mut self, boxes: &[Aabb]) -> Result<&Overlaps, Error> {
        self.search.clear();
        self.start(boxes).map_err(|error| self.search.refuse(error))?;
        Ok(&self.search.found)
    }

    fn start(&mut self, boxes: &[Aabb]) -> Result<(), Error> {
        self.filters.fit(boxes.len())?;
        let box_count = call::checked_count(boxes.len())?;
        if box_count <= ALONE {
            return self.run(boxes, box_count);
        }
        // Enter the pool once, and not once per stage.
        rayon::join(|| self.run(boxes, box_count), || ()).0
    }

    fn run(&mut self, boxes: &[Aabb], box_count: u32) -> Result<(), Error> {
        let Self { options, filters, prepared, search, .. } = self;
        let boxes = filters.filters().prepared_boxes(boxes, prepared);
        search.run(boxes, box_count, options, filters)?;
        search.add(filters.include(), options)
    }

    /// Passes all overlapping pairs of `boxes` to `each`, as one piece. The whole list is in memory; only the engine on
    /// a GPU streams in bounded memory. For a list that does not fit, search [tiles](Filters::owner).
    ///
    /// # Errors
    /// The errors of [`find_pairs`](Self::find_pairs) and of `each`.
    pub fn stream_pairs<E: From<Error>>(
        &mut self,
        boxes: &[Aabb],
        each: impl FnMut(&Report, &[Pair]) -> Result<(), E>,
    ) -> Result<Report, E> {
        self.find_pairs(boxes)?;
        self.hand_over(each)
    }

    /// Passes the pairs to `each`, and clears them.
    fn hand_over<E>(&mut self, mut each: impl FnMut(&Report, &[Pair]) -> Result<(), E>) -> Result<Report, E> {
        let Overlaps { pairs, report } = self.last_overlaps();
        let (result, report) = (each(report, pairs), report.clone());
        self.search.clear();
        result.map(|()| report)
    }

    /// Returns the last result. It is empty before the first result, and after an error.
    pub fn last_overlaps(&self) -> &Overlaps {
        &self.search.found
    }

    /// Moves the last result out, without a copy. The next call allocates memory again. The result is empty before the
    /// first result, and after an error.
    pub fn take_overlaps(&mut self) -> Overlaps {
        std::mem::take(&mut self.search.found)
    }

    /// Returns the bytes of memory that are cached for the next call, including the last result, without the filters.
    pub fn memory_bytes(&self) -> u64 {
        let changed = self.padded.iter().chain([&self.prepared]).map(|boxes| boxes.capacity() * size_of::<Aabb>());
        let others = self.sets.bytes() + self.join.bytes() + self.step_state.bytes() + self.streamed.bytes();
        (self.search.bytes() + others + changed.sum::<usize>()) as u64
    }
}

/// Returns the box of a sorted entry.
fn box_of(entry: u64) -> u32 {
    entry as u32 & ENTRY_BOX
}
