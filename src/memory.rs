//! How much GPU memory a call takes: predicted before anything is allocated, refused if it does not fit.

use crate::broad_phase::{FilterBytes, sum};
use crate::constants::*;
use crate::stages::layout::{BoundsPartial, Counts, Dispatches, Frame, Moments, PairHeader, Run, Step};
use crate::{Aabb, Error, Options, Pair, PairOrder};

/// The buffers that a [`BroadPhase`](crate::BroadPhase) allocates for a number of boxes, in bytes.
///
/// ```
/// # fn main() -> Result<(), broadsweep::Error> {
/// use broadsweep::{MemoryPlan, Options, wgpu};
///
/// let plan = MemoryPlan::new(1_500_000, &Options::default(), &wgpu::Limits::defaults())?;
/// assert!(plan.total() < 1 << 30);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemoryPlan {
    /// Boxes that fit.
    pub box_count: u32,
    /// (box, cell) incidences that fit; the grid is coarsened until they do.
    pub entry_capacity: u32,
    /// Tiles of the sweep, of up to 8,192 candidates, whose results are kept; those of further ones are found again for
    /// the list.
    pub tile_capacity: u32,
    /// Tiles of 8,192 tests of giants whose results are kept.
    pub giant_tile_capacity: u32,
    /// Pairs that fit the list; a longer one is produced in pieces of this length.
    pub pair_capacity: u32,
    /// Whether every box is tested against every other ([`Options::all_pairs_up_to`]); not all that is in the plan is
    /// needed then.
    pub all_pairs: bool,
    /// Every buffer with its size.
    pub buffers: Vec<(&'static str, u64)>,
}

/// What a call would like to have room for, from what earlier calls needed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Wishes {
    pub pairs: u64,
    pub tiles: u64,
    pub giant_tiles: u64,
}

/// Bytes of all buffers that have an element per entry.
const ENTRY_BYTES: u64 = 28;
/// What stands before the pairs in a staging buffer: `Counts`, then `Frame`.
pub(crate) const SUMMARY_BYTES: u64 = ((size_of::<Counts>() + size_of::<Frame>()) as u64).next_multiple_of(16);
/// Room that is always there, however small the budget.
const LEAST_PAIRS: u64 = 4096;
const LEAST_TILES: u64 = 16;

impl MemoryPlan {
    /// The plan for `box_count` boxes on a device with these limits.
    ///
    /// # Errors
    /// [`Error::TooManyBoxes`] where a buffer that has to be there exceeds a limit; [`Error::OverBudget`] where
    /// the least that works exceeds `options.memory_budget`.
    pub fn new(box_count: usize, options: &Options, limits: &wgpu::Limits) -> Result<Self, Error> {
        Self::with_wishes(box_count, options, limits, Wishes::default(), &[("", 0); 6])
    }

    /// Beside it there is room for the filters, which take `filters` bytes.
    pub(crate) fn with_wishes(
        box_count: usize,
        options: &Options,
        limits: &wgpu::Limits,
        wishes: Wishes,
        filters: &FilterBytes,
    ) -> Result<Self, Error> {
        let boxes = box_count as u64;
        let binding = largest_binding(limits);
        let most_entries = u64::from(MAX_ENTRIES).min(binding / size_of::<Step>() as u64);
        let most_boxes = (binding / size_of::<Aabb>() as u64).min(most_entries);
        if boxes > most_boxes {
            // Either the boxes themselves are too many bytes, or one entry for each of them.
            let (buffer, each) = if boxes.saturating_mul(24) > binding {
                ("boxes", size_of::<Aabb>() as u64)
            } else {
                ("steps", size_of::<Step>() as u64)
            };
            let required = boxes.saturating_mul(each);
            let (limit, available) = if required > binding {
                limit_name(limits)
            } else {
                ("the number of entries, times their 8 bytes,", u64::from(MAX_ENTRIES) * 8)
            };
            return Err(Error::TooManyBoxes {
                box_count: boxes,
                buffer,
                required,
                limit,
                available,
                max_boxes: most_boxes,
            });
        }

        if let Some(&(buffer, required)) = filters.iter().find(|(_, bytes)| *bytes > binding) {
            let (limit, available) = limit_name(limits);
            if buffer == "included" {
                // No fewer boxes would help.
                let (each, most) = (size_of::<Pair>() as u64, available / size_of::<Pair>() as u64);
                let problem = format!("is one of {}, and {limit} of {available} has room for {most}", required / each);
                return Err(Error::BadFilter { list: "include", index: most, problem });
            }
            // Lists of pairs aside, as many words for each box.
            let max_boxes = (u128::from(boxes) * u128::from(available) / u128::from(required)) as u64;
            return Err(Error::TooManyBoxes { box_count: boxes, buffer, required, limit, available, max_boxes });
        }

        // Four entries per box, or what half of the budget holds. This does not depend on what earlier calls
        // needed, since the level of coarsening, and with it the order of the pairs, depends on it.
        let beside = sum(filters);
        let whole_budget = options.memory_budget.unwrap_or(u64::MAX);
        let budget = whole_budget.saturating_sub(beside);
        let entries = (4 * boxes + 1024).min(most_entries).min((budget / 2 / ENTRY_BYTES).max(boxes));
        let giant_tiles = (8 * boxes / u64::from(HIT_TILE) + LEAST_TILES).max(wishes.giant_tiles);
        // A larger scene never wishes for fewer tiles than one that tests all pairs, or the buffers would be laid out anew
        // whenever a scene grows and shrinks past that size.
        let giant_tiles =
            giant_tiles.max(all_pairs_tiles(boxes.min(u64::from(options.most_in_all_pairs())))).min(binding / 1024);
        let pairs = (4 * boxes + LEAST_PAIRS).max(wishes.pairs).min(longest_list(limits));
        // Ten quads per box.
        let tiles = (10 * boxes / u64::from(TILE_QUADS) + LEAST_TILES).max(wishes.tiles);
        let tiles = tiles.min(binding / (256 * size_of::<Run>() as u64)).min(u64::from(u32::MAX / 256));
        // This does not depend on earlier calls either: the order of the pairs depends on it.
        let needed = all_pairs_tiles(boxes).max(LEAST_TILES);
        let all_pairs = options.tests_all_pairs(boxes as u32)
            && needed <= giant_tiles
            && Self::of(boxes, boxes, [LEAST_TILES, needed], LEAST_PAIRS, options.order).total() <= budget;
        let least = [LEAST_TILES, if all_pairs { needed } else { LEAST_TILES }];
        // The rest shrinks by one factor until the budget is met, and at last the entries to one per box.
        let mut share = 1.0;
        loop {
            let part = |least: u64, wish: u64| least.min(wish) + (wish.saturating_sub(least) as f64 * share) as u64;
            let kept = [part(least[0], tiles), part(least[1], giant_tiles)];
            let list = part(LEAST_PAIRS, pairs);
            let plan = Self { all_pairs, ..Self::of(boxes, entries, kept, list, options.order) };
            if plan.total() <= budget {
                return Ok(plan);
            }
            if share == 0.0 {
                break;
            }
            share = if share > 0.01 { share * 0.7 } else { 0.0 };
        }
        let least = Self { all_pairs, ..Self::of(boxes, boxes, least, LEAST_PAIRS, options.order) };
        if least.total() <= budget {
            return Ok(least);
        }
        Err(Error::OverBudget { box_count: boxes, required: least.total() + beside, budget: whole_budget })
    }

    fn of(boxes: u64, entries: u64, [tiles, giant_tiles]: [u64; 2], pairs: u64, order: PairOrder) -> Self {
        let bin_blocks = boxes.div_ceil(u64::from(BIN_BLOCK));
        let path_blocks = entries.div_ceil(u64::from(PATH_BLOCK));
        let hit_blocks = 2 * u64::from(HIT_BLOCKS);
        let histograms = |n: u64| u64::from(WIDE_RADIX) * n.div_ceil(u64::from(SORT_TILE));
        let mut buffers = vec![
            ("boxes", bytes::<Aabb>(boxes)),
            ("bounds", bytes::<BoundsPartial>(u64::from(PCA_GROUPS))),
            ("moments", bytes::<Moments>(u64::from(PCA_GROUPS))),
            ("frame", bytes::<Frame>(1)),
            ("counts", bytes::<Counts>(1)),
            ("dispatches", bytes::<Dispatches>(1)),
            ("cells", bytes::<[i32; 4]>(boxes)),
            ("positions", bytes::<[u32; 4]>(boxes)),
            ("block_counts", bytes::<u32>(bin_blocks * u64::from(BIN_COUNTS))),
            ("bin_offsets", bytes::<[u32; 4]>(bin_blocks)),
            ("giants", bytes::<u32>(boxes)),
            ("keys", bytes::<u32>(entries)),
            ("entries", bytes::<u32>(entries)),
            ("other_keys", bytes::<u32>(entries)),
            ("other_entries", bytes::<u32>(entries)),
            ("histograms", bytes::<u32>(histograms(entries))),
            ("steps", bytes::<Step>(entries)),
            ("extents", bytes::<u32>(whole_quads(entries))),
            ("path_sums", bytes::<[u32; 2]>(path_blocks)),
            ("path_bases", bytes::<[u32; 2]>(path_blocks + 1)),
            ("runs", bytes::<Run>(tiles * 256)),
            ("run_offsets", bytes::<u32>(tiles * 256)),
            ("hit_words", bytes::<u32>(giant_tiles * 256)),
            ("block_hits", bytes::<u32>(hit_blocks)),
            ("hit_offsets", bytes::<[u32; 2]>(hit_blocks + 1)),
        ];
        buffers.extend(list_buffers(pairs, order));
        Self {
            box_count: boxes as u32,
            entry_capacity: entries as u32,
            tile_capacity: tiles as u32,
            giant_tile_capacity: giant_tiles as u32,
            pair_capacity: pairs as u32,
            all_pairs: false,
            buffers,
        }
    }

    /// All of it, in bytes.
    pub fn total(&self) -> u64 {
        self.buffers.iter().map(|(_, bytes)| bytes).sum()
    }

    /// Whether buffers of this plan do for `other`, made for the same options, its list aside. More boxes may mean
    /// fewer tiles where a budget binds, and those are still enough.
    pub(crate) fn covers(&self, other: &Self, options: &Options) -> bool {
        let needed = if other.all_pairs { all_pairs_tiles(u64::from(other.box_count)) } else { 0 };
        let has_tiles = if options.memory_budget.is_some() {
            u64::from(self.giant_tile_capacity) >= needed
        } else {
            self.giant_tile_capacity >= other.giant_tile_capacity && self.tile_capacity >= other.tile_capacity
        };
        self.box_count >= other.box_count && self.entry_capacity >= other.entry_capacity && has_tiles
    }

    /// The same plan with room for `wish` pairs, or as many as limits and budget allow, but not fewer than now.
    /// `others` bytes are held beside the plan. A second staging buffer, for lists in more than one piece, shall find
    /// room too.
    pub(crate) fn with_longer_list(&self, wish: u64, others: u64, options: &Options, limits: &wgpu::Limits) -> Self {
        let list = |pairs: u64| list_buffers(pairs, options.order).iter().map(|(_, bytes)| bytes).sum::<u64>();
        let others = self.total() - list(u64::from(self.pair_capacity)) + others;
        let room = options.memory_budget.unwrap_or(u64::MAX).saturating_sub(others);
        let per_thousand = list(1_001_000) - list(1_000_000) + bytes::<Pair>(1000);
        let affordable = (room / (per_thousand + 1)).saturating_mul(1000).saturating_sub(4096);
        let pairs = wish.min(longest_list(limits)).min(affordable).max(u64::from(self.pair_capacity));
        let names: Vec<_> = list_buffers(0, options.order).iter().map(|(name, _)| *name).collect();
        let mut buffers = self.buffers.clone();
        buffers.retain(|(name, _)| !names.contains(name));
        buffers.extend(list_buffers(pairs, options.order));
        Self { pair_capacity: pairs as u32, buffers, ..self.clone() }
    }

    /// What a second frame in flight takes beside the plan.
    pub(crate) fn frame_bytes(&self) -> u64 {
        boxes_bytes(self.box_count) + staging_bytes(self.pair_capacity)
    }
}

/// Bytes of a buffer of boxes.
pub(crate) fn boxes_bytes(box_count: u32) -> u64 {
    bytes::<Aabb>(u64::from(box_count))
}

/// Bytes of a staging buffer for the summary and `pairs` pairs.
pub(crate) fn staging_bytes(pairs: u32) -> u64 {
    SUMMARY_BYTES + bytes::<Pair>(u64::from(pairs))
}

/// Tiles of bits for a test of every two boxes; the most there may be where that is not done with so many.
fn all_pairs_tiles(boxes: u64) -> u64 {
    u64::from(small_tiles(boxes.min(u64::from(SMALL_MOST)) as u32) * SMALL_LINES)
}

/// The buffers of a list of pairs.
fn list_buffers(pairs: u64, order: PairOrder) -> Vec<(&'static str, u64)> {
    let mut buffers = vec![
        ("pairs", bytes::<Pair>(pairs)),
        ("header", bytes::<PairHeader>(1)),
        ("staging", SUMMARY_BYTES + bytes::<Pair>(pairs)),
    ];
    if order == PairOrder::Canonical {
        let tiles = pairs.div_ceil(u64::from(SORT_TILE));
        for name in ["pair_keys", "pair_values", "other_pair_keys", "other_pair_values"] {
            buffers.push((name, bytes::<u32>(pairs)));
        }
        buffers.push(("pair_histograms", bytes::<u32>(u64::from(WIDE_RADIX) * tiles)));
    }
    buffers
}

fn bytes<T: bytemuck::Pod>(len: u64) -> u64 {
    crate::gpu::buffers::Buffer::<T>::bytes(len)
}

/// Room for `entries` extents that are read four at a time, also behind the last one.
pub(crate) fn whole_quads(entries: u64) -> u64 {
    (entries + 1).next_multiple_of(4)
}

/// The most bytes that one binding of a storage buffer may have.
fn largest_binding(limits: &wgpu::Limits) -> u64 {
    limit_name(limits).1
}

fn limit_name(limits: &wgpu::Limits) -> (&'static str, u64) {
    let binding = limits.max_storage_buffer_binding_size;
    if binding <= limits.max_buffer_size {
        ("max_storage_buffer_binding_size", binding)
    } else {
        ("max_buffer_size", limits.max_buffer_size)
    }
}

/// The most pairs in one binding, and in a staging buffer behind the summary; counted in 32 bits too.
fn longest_list(limits: &wgpu::Limits) -> u64 {
    let bytes = largest_binding(limits).min(limits.max_buffer_size - SUMMARY_BYTES);
    (bytes / size_of::<Pair>() as u64).min(u64::from(MAX_GROUPS_X) * 65_535)
}
