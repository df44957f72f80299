//! Predicts the GPU memory of a call before anything is allocated. Calls that do not fit are refused.

use super::limits::{check_boxes, check_filters, longest_list, most_entries};
use super::submission_buffers::{Staging, SubmissionBoxes};
use crate::base::constants::*;
use crate::filters::device::sum;
use crate::gpu::limits::largest_binding;
use crate::gpu::table::Row;
use crate::grid::{Grid, GridCapacity};
use crate::pairs::PairBuffers;
use crate::pairs::list::{ListCapacity, PairList};
use crate::pairs::sweep::SearchCapacity;
use crate::{Error, Options, Pair, PairOrder};

/// The GPU memory that a [`BroadPhase`](crate::BroadPhase) allocates for a box count.
///
/// ```
/// # fn main() -> Result<(), broadsweep::Error> {
/// use broadsweep::device::MemoryPlan;
/// use broadsweep::{Options, wgpu};
///
/// let plan = MemoryPlan::new(1_500_000, &Options::default(), &wgpu::Limits::defaults())?;
/// assert!(plan.total() < 1 << 30);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryPlan {
    /// The capacity for boxes.
    pub box_count: u32,
    /// The capacity for entries: (box, cell) incidences. The grid is coarsened until its entries fit.
    pub entry_capacity: u32,
    /// The capacity for results of tiles of the sweep, of up to 8,192 candidates each. The results of further tiles are
    /// computed again when the list is written.
    pub tile_capacity: u32,
    /// The capacity for tiles of 8,192 tests, for scenes in which all pairs are tested.
    pub all_pairs_tile_capacity: u32,
    /// The capacity of the list of pairs. A longer list is written in pieces of this length.
    pub pair_capacity: u32,
    /// `true` if every box is tested against every other box ([`Options::all_pairs_up_to`]). Then some buffers of the
    /// plan are not used.
    pub all_pairs: bool,
    order: PairOrder,
    /// The buffers of the filters.
    filters: Vec<Row>,
}

/// The additional capacity that a call requests because of the results of earlier calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct RequestedCapacity {
    pub pairs: u64,
    pub tiles: u64,
}

impl RequestedCapacity {
    /// Returns `true` if `plan`, which was created without these requests, has enough capacity for them.
    pub fn fit(&self, plan: &MemoryPlan) -> bool {
        self.pairs <= plan.pair_capacity.into() && self.tiles <= plan.tile_capacity.into()
    }
}

/// The capacity of a plan, in 64 bits.
#[derive(Clone, Copy, Debug)]
struct PlanCapacity {
    boxes: u64,
    entries: u64,
    tiles: u64,
    all_pairs_tiles: u64,
    pairs: u64,
}

/// Bytes per entry of all buffers with an element per entry. With a budget, this value determines the level of
/// coarsening, and so the order of the pairs.
const ENTRY_BYTES: u64 = 25;
/// The least capacities, with any budget.
const LEAST_PAIRS: u64 = 4096;
const LEAST_TILES: u64 = 16;

impl MemoryPlan {
    /// Creates the plan for `box_count` boxes, without filters, on a device with these limits. Pass the options that an
    /// engine [uses](crate::BroadPhase::options). In other options, `None` for `all_pairs_up_to` means 2,560, since the
    /// device is unknown.
    ///
    /// # Errors
    /// [`Error::TooManyBoxes`] if a required buffer exceeds a limit; [`Error::OverBudget`] if
    /// the least memory exceeds `options.memory_budget`.
    pub fn new(box_count: usize, options: &Options, limits: &wgpu::Limits) -> Result<Self, Error> {
        Self::with_filters(box_count, options, limits, Vec::new())
    }

    /// Creates the plan with these filters, without requests of earlier calls.
    pub(crate) fn with_filters(
        box_count: usize,
        options: &Options,
        limits: &wgpu::Limits,
        filters: Vec<Row>,
    ) -> Result<Self, Error> {
        Self::with_request(box_count, options, limits, RequestedCapacity::default(), filters)
    }

    /// Creates the plan with these filters and, as far as possible, the requested capacity.
    pub(crate) fn with_request(
        box_count: usize,
        options: &Options,
        limits: &wgpu::Limits,
        requested: RequestedCapacity,
        filters: Vec<Row>,
    ) -> Result<Self, Error> {
        let boxes = box_count as u64;
        check_boxes(boxes, limits)?;
        check_filters(boxes, limits, &filters)?;
        let beside = sum(&filters);
        let whole_budget = options.memory_budget.unwrap_or(u64::MAX);
        let budget = whole_budget.saturating_sub(beside);
        let most = PlanCapacity::unlimited(boxes, options, limits, requested, budget);

        // The count of tiles must not depend on earlier calls, since the order of the pairs depends on it.
        let all_pairs_tiles = all_pairs_tiles(boxes).max(LEAST_TILES);
        let few = PlanCapacity { boxes, entries: boxes, tiles: LEAST_TILES, all_pairs_tiles, pairs: LEAST_PAIRS };
        let all_pairs = options.tests_all_pairs(boxes as u32)
            && all_pairs_tiles <= most.all_pairs_tiles
            && few.bytes(options.order) <= budget;
        let least = PlanCapacity { all_pairs_tiles: if all_pairs { all_pairs_tiles } else { LEAST_TILES }, ..few };

        let capacity = most.shrunk(least, budget, options.order).ok_or_else(|| Error::OverBudget {
            box_count: boxes,
            required: least.bytes(options.order) + beside,
            budget: whole_budget,
        })?;
        Ok(Self {
            box_count: capacity.boxes as u32,
            entry_capacity: capacity.entries as u32,
            tile_capacity: capacity.tiles as u32,
            all_pairs_tile_capacity: capacity.all_pairs_tiles as u32,
            pair_capacity: capacity.pairs as u32,
            all_pairs,
            order: options.order,
            filters,
        })
    }

    fn capacity(&self) -> PlanCapacity {
        PlanCapacity {
            boxes: self.box_count.into(),
            entries: self.entry_capacity.into(),
            tiles: self.tile_capacity.into(),
            all_pairs_tiles: self.all_pairs_tile_capacity.into(),
            pairs: self.pair_capacity.into(),
        }
    }

    /// Returns the capacity of the grid.
    pub(crate) fn grid_capacity(&self) -> GridCapacity {
        self.capacity().of_grid()
    }

    /// Returns the capacity of a search.
    pub(crate) fn search_capacity(&self) -> SearchCapacity {
        self.capacity().of_search()
    }

    /// Returns the capacity of the list of pairs.
    pub(crate) fn list_capacity(&self) -> ListCapacity {
        self.capacity().of_list()
    }

    /// Lists every buffer with its size in bytes, buffers of filters last.
    pub fn buffers(&self) -> Vec<(&'static str, u64)> {
        self.capacity().rows(self.order).chain(self.filters.iter().copied()).collect()
    }

    /// Sums the bytes of all buffers.
    pub fn total(&self) -> u64 {
        self.own_bytes() + sum(&self.filters)
    }

    /// Sums the bytes of all buffers except buffers of filters.
    pub(crate) fn own_bytes(&self) -> u64 {
        self.capacity().bytes(self.order)
    }

    /// Sums the bytes of the buffers that all submissions share: all buffers except boxes, staging and filters.
    pub(crate) fn shared_bytes(&self) -> u64 {
        self.own_bytes() - SubmissionBoxes::bytes(&self.box_count.into()) - Staging::bytes(self.pair_capacity)
    }

    /// Returns `true` if the buffers of this plan, except the list, are large enough for `other`, a plan with the same
    /// options. With a budget, a plan for more boxes may have fewer tiles. They suffice, since further tiles are
    /// computed again.
    pub(crate) fn covers(&self, other: &Self, options: &Options) -> bool {
        let needed = if other.all_pairs { all_pairs_tiles(u64::from(other.box_count)) } else { 0 };
        let has_tiles = if options.memory_budget.is_some() {
            u64::from(self.all_pairs_tile_capacity) >= needed
        } else {
            self.all_pairs_tile_capacity >= other.all_pairs_tile_capacity && self.tile_capacity >= other.tile_capacity
        };
        self.box_count >= other.box_count && self.entry_capacity >= other.entry_capacity && has_tiles
    }

    /// Returns the same plan with a list of `requested` pairs, or of the most pairs that limits and budget allow. The
    /// list is not shortened. `others` bytes are allocated in addition to the plan. The budget includes a second
    /// staging buffer, for lists in several pieces.
    pub(crate) fn with_longer_list(
        &self,
        requested: u64,
        others: u64,
        options: &Options,
        limits: &wgpu::Limits,
    ) -> Self {
        let boxes = u64::from(self.box_count);
        let list =
            |pairs: u64| list_rows(ListCapacity { boxes, pairs }, options.order).map(|(_, bytes)| bytes).sum::<u64>();
        let others = self.own_bytes() - list(u64::from(self.pair_capacity)) + others;
        let available = options.memory_budget.unwrap_or(u64::MAX).saturating_sub(others);
        let per_thousand = list(1_001_000) - list(1_000_000) + 1000 * size_of::<Pair>() as u64;
        let about = (available / (per_thousand + 1)).saturating_mul(1000).saturating_sub(4096);
        // `about` can be too large, since some buffers have one element per group of pairs, and the count of groups is
        // rounded up.
        let bytes = |pairs: u64| list(pairs).saturating_add(pairs * size_of::<Pair>() as u64);
        let mut affordable = about.min(longest_list(limits));
        while affordable > 0 && bytes(affordable) > available {
            affordable -= affordable / 64 + 1;
        }
        let pairs = requested.min(longest_list(limits)).min(affordable).max(u64::from(self.pair_capacity));
        Self { pair_capacity: pairs as u32, ..self.clone() }
    }
}

impl PlanCapacity {
    /// Returns the capacity without a budget. Only the entry count depends on `budget`.
    fn unlimited(
        boxes: u64,
        options: &Options,
        limits: &wgpu::Limits,
        requested: RequestedCapacity,
        budget: u64,
    ) -> Self {
        let binding = largest_binding(limits);
        // Four entries per box, or the most that fit half of the budget. The count must not depend on earlier calls: it
        // determines the level of coarsening, and so the order of the pairs.
        let entries = (4 * boxes + 1024).min(most_entries(limits)).min((budget / 2 / ENTRY_BYTES).max(boxes));
        // A larger scene also requests the tiles of the largest scene that tests all pairs. Otherwise buffers are
        // reallocated whenever a scene crosses this size.
        let all_pairs_tiles = all_pairs_tiles(boxes.min(u64::from(options.most_in_all_pairs())))
            .max(LEAST_TILES)
            .min(binding / (256 * 4));
        // Ten quads per box.
        let tiles = (10 * boxes / u64::from(TILE_QUADS) + LEAST_TILES)
            .max(requested.tiles)
            .min(binding / (256 * 4 * u64::from(RUN_U32_COUNT)))
            .min(u64::from(u32::MAX / 256));
        let pairs = (4 * boxes + LEAST_PAIRS).max(requested.pairs).min(longest_list(limits));
        Self { boxes, entries, tiles, all_pairs_tiles, pairs }
    }

    /// Returns the capacity reduced towards `least` by a common factor until it fits the budget. If necessary, the
    /// entries are reduced to one per box too. Returns `None` if even this exceeds the budget.
    fn shrunk(self, least: Self, budget: u64, order: PairOrder) -> Option<Self> {
        let mut share = 1.0;
        loop {
            let part = |least: u64, most: u64| least.min(most) + (most.saturating_sub(least) as f64 * share) as u64;
            let capacity = Self {
                tiles: part(least.tiles, self.tiles),
                all_pairs_tiles: part(least.all_pairs_tiles, self.all_pairs_tiles),
                pairs: part(least.pairs, self.pairs),
                ..self
            };
            if capacity.bytes(order) <= budget {
                return Some(capacity);
            }
            if share == 0.0 {
                return (least.bytes(order) <= budget).then_some(least);
            }
            share = if share > 0.01 { share * 0.7 } else { 0.0 };
        }
    }

    fn of_grid(&self) -> GridCapacity {
        GridCapacity { boxes: self.boxes, entries: self.entries }
    }

    fn of_list(&self) -> ListCapacity {
        ListCapacity { boxes: self.boxes, pairs: self.pairs }
    }

    fn of_search(&self) -> SearchCapacity {
        SearchCapacity { entries: self.entries, tiles: self.tiles, all_pairs_tiles: self.all_pairs_tiles }
    }

    /// Lists all buffers except the buffers of filters.
    fn rows(&self, order: PairOrder) -> impl Iterator<Item = Row> + use<> {
        let grid = SubmissionBoxes::rows(&self.boxes).chain(Grid::rows(&self.of_grid()));
        grid.chain(PairBuffers::rows(&self.of_search())).chain(list_rows(self.of_list(), order))
    }

    fn bytes(&self, order: PairOrder) -> u64 {
        self.rows(order).map(|(_, bytes)| bytes).sum()
    }
}

/// Returns the tiles of a test of all pairs of `boxes` boxes, or of `SMALL_MOST` boxes if these are fewer.
fn all_pairs_tiles(boxes: u64) -> u64 {
    u64::from(small_tiles(boxes.min(u64::from(SMALL_MOST)) as u32) * SMALL_LINES)
}

/// Lists the buffers of a list of pairs and its staging buffer.
fn list_rows(capacity: ListCapacity, order: PairOrder) -> impl Iterator<Item = Row> {
    PairList::rows(&capacity, order).chain(Staging::rows(capacity.pairs))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_has_the_bytes_of_the_tables() {
        // Round up to whole tiles of the sort and whole sections of the path, since some buffers have a few words per
        // tile or section.
        let bytes = |entries| {
            let capacity = PlanCapacity { boxes: 0, entries, tiles: 0, all_pairs_tiles: 0, pairs: 0 };
            let per_entry = |(name, bytes): Row| match name {
                "histograms" | "digit_sums" => 0,
                // Exclude the words of sections and their groups.
                "path_bases" => {
                    let groups = entries.div_ceil(u64::from(PATH_SECTION * PATH_GROUP));
                    bytes - entries.div_ceil(u64::from(PATH_SECTION)) * 8 - groups * 16
                }
                _ => bytes,
            };
            capacity.rows(PairOrder::Sweep).map(per_entry).sum::<u64>()
        };
        assert_eq!(bytes(3 << 20) - bytes(2 << 20), ENTRY_BYTES << 20);
    }
}
