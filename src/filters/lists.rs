//! What the exact tests are told of the [`Filters`]: which lists there are, and where each lies.

use super::owner::ordered_bounds;
use super::rows::FilterLayout;
use super::{Attribute, CheckedFilters, Filters, GroupRule};
use crate::Error;
use crate::constants::*;
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;

impl GroupRule {
    /// Returns the number of the rule in kernels.
    pub(crate) fn code(self) -> u32 {
        match self {
            Self::Any => RULE_ANY,
            Self::Both => RULE_BOTH,
        }
    }
}

/// The switch of the list of boxes that are fixed.
const FIXED: &str = "HAS_FIXED";
/// The switch of the list of boxes that sleep.
const SLEEPING: &str = "HAS_SLEEPING";

/// The switches of `filters.wgsl` that are on: what kernels that read filters are compiled for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    all: Vec<&'static str>,
    of_bins: Vec<&'static str>,
}

impl Switches {
    /// Returns the switches that these filters need.
    pub fn of(filters: &Filters) -> Self {
        Self::of_lists(filters, |_| true)
    }

    /// Returns the switches that these filters need if nobody slept.
    pub fn as_if_awake(filters: &Filters) -> Self {
        Self::of_lists(filters, |switch| switch != SLEEPING)
    }

    fn of_lists(filters: &Filters, counts: impl Fn(&str) -> bool) -> Self {
        let tested = filters.tested();
        let by_box =
            tested.iter().filter(|list| !list.values.is_empty() && counts(list.switch)).map(|list| list.switch);
        let others = [
            (filters.has_lists(), "HAS_LISTS"),
            (!filters.half_spaces.is_empty(), "HAS_HALF_SPACES"),
            (filters.owner.is_some(), "HAS_OWNER"),
        ];
        let others = others.into_iter().filter(|(is_on, _)| *is_on).map(|(_, name)| name);
        let mut names: Vec<_> = by_box.chain(others).collect();
        names.dedup();
        if !names.is_empty() {
            names.push("IS_FILTERED");
        }
        let of_bins = names.iter().copied().filter(|name| ["HAS_SETS", "HAS_WORLDS"].contains(name)).collect();
        Self { all: names, of_bins }
    }

    /// Returns the names of the switches, for kernels that ask `keeps`.
    pub fn names(&self) -> &[&'static str] {
        &self.all
    }

    /// Returns the names of the switches for kernels that only ask `world_of`.
    pub fn world_names(&self) -> &[&'static str] {
        const WORLDS: &[&str] = &["HAS_WORLDS"];
        if self.all.contains(&WORLDS[0]) { WORLDS } else { &[] }
    }

    /// Returns the names of the switches for kernels that only ask about half-spaces.
    pub fn half_space_names(&self) -> &[&'static str] {
        const HALF_SPACES: &[&str] = &["HAS_HALF_SPACES"];
        if self.all.contains(&HALF_SPACES[0]) { HALF_SPACES } else { &[] }
    }

    /// Returns the names of the switches for kernels that ask which boxes rest.
    pub fn rest_names(&self) -> Vec<&'static str> {
        self.all.iter().copied().filter(|name| [FIXED, SLEEPING].contains(name)).collect()
    }

    /// Returns the names of the switches for kernels that ask for the worlds and sets of boxes.
    pub fn bin_names(&self) -> &[&'static str] {
        &self.of_bins
    }
}

/// Makes the [`Source`](crate::gpu::kernel::Source) of a kernel that asks `keeps` or `world_of`: `source!` with
/// `filters.wgsl`, what that calls, and what follows from the table of filters. A kernel that asks for one list by box takes
/// `by_box.wgsl` alone.
macro_rules! filtered {
    ($name:literal $(, $shared:literal)*) => {
        $crate::gpu::kernel::source!(
            $name $(, $shared)*,
            "filters/filters", "filters/by_box", "filters/half_space", "shared/exact_sum", "shared/float_parts";
            $crate::filters::rows::WGSL
        )
    };
}
pub(crate) use filtered;

/// The lists that tests read, on the GPU; a word and no list where there are no filters.
#[derive(Clone, Debug)]
pub struct FilterLists {
    /// Where each list begins in `words`.
    pub layout: Buffer<FilterLayout>,
    /// All lists, one after the other.
    pub words: Buffer<u32>,
    places: FilterLayout,
}

impl FilterLists {
    /// Uploads no lists.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn none(gpu: &Gpu) -> Result<Self, Error> {
        Self::new(gpu, &CheckedFilters::default(), 0)
    }

    /// Checks filters and uploads their lists, for this many boxes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; those of [`Filters::check`].
    pub fn of(gpu: &Gpu, filters: &Filters, box_count: usize) -> Result<Self, Error> {
        let mut checked = CheckedFilters::new(filters.clone())?;
        checked.fit(box_count)?;
        Self::new(gpu, &checked, box_count)
    }

    /// Uploads the lists of these filters, which fit this many boxes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`].
    pub(crate) fn new(gpu: &Gpu, filters: &CheckedFilters, box_count: usize) -> Result<Self, Error> {
        let (places, all) = lay_out(filters, box_count);
        // Pairs that are still to come take room at the end.
        let words = Buffer::storage(gpu, "filters", Self::words_for(filters, box_count as u64))?;
        let scopes = gpu.open_scopes();
        words.write(gpu, &all);
        scopes.close("filters")?;
        Ok(Self { layout: Buffer::uniform(gpu, "filter_layout", &[places])?, words, places })
    }

    /// Uploads the values of this many boxes from box `first` on that were changed. Numbers of worlds may have changed
    /// for all boxes.
    pub(crate) fn change(&self, gpu: &Gpu, filters: &CheckedFilters, first: usize, values: Attribute<'_>) {
        let (changed, count) = values.list();
        for (tested, place) in filters.tested().into_iter().zip(self.places.tested()) {
            if tested.list != changed {
                continue;
            }
            let boxes = match values {
                Attribute::World(_) => 0..tested.values.len(),
                _ => first..first + count,
            };
            let (first_word, words) = tested.values.words_of(boxes);
            if !words.is_empty() {
                self.words.write_at(gpu, u64::from(place) + first_word as u64, &words);
            }
        }
    }

    /// Returns where a list by box that tests read begins in `words`; `None` where there is none.
    pub(crate) fn place_of(&self, filters: &CheckedFilters, list: &str) -> Option<u32> {
        let places = filters.tested().into_iter().zip(self.places.tested());
        places
            .into_iter()
            .find(|(tested, _)| tested.list == list)
            .map(|(_, place)| place)
            .filter(|place| *place != ABSENT)
    }

    /// Returns where the half-spaces begin in `words`.
    pub(crate) fn place_of_half_spaces(&self) -> u32 {
        self.places.half_spaces
    }

    /// Returns where the rows of the listed pairs begin in `words`, and where their larger indices do.
    pub(crate) fn places_of_listed(&self) -> (u32, u32) {
        (self.places.listed_rows, self.places.listed_others)
    }

    /// Returns the number of words that the lists of these filters take for `box_count` boxes.
    pub(crate) fn words_for(filters: &CheckedFilters, box_count: u64) -> u64 {
        let tested = filters.tested().into_iter().filter(|tested| !tested.values.is_empty());
        let by_box = tested.fold(0, |sum: u64, tested| sum.saturating_add(tested.values.word_count(box_count)));
        let half_spaces = filters.half_spaces().len() as u64;
        let half_space_bits = if half_spaces == 0 { 0 } else { box_count.div_ceil(32) };
        let owner = if filters.filters().owner.is_some() { 6 } else { 0 };
        let [rows, others] = filters.listed_words(box_count);
        [half_space_bits, rows, others, 5 * half_spaces, owner].into_iter().fold(by_box, u64::saturating_add)
    }
}

/// Lays out the lists of these filters, which fit this many boxes, one after the other.
fn lay_out(filters: &CheckedFilters, box_count: usize) -> (FilterLayout, Vec<u32>) {
    let mut all = Vec::new();
    let mut append = |list: &[u32]| {
        let place = if list.is_empty() { ABSENT } else { all.len() as u32 };
        all.extend_from_slice(list);
        place
    };
    let by_box = filters.tested().map(|tested| append(&tested.values.words()));
    let (listed, half_spaces) = (filters.listed(), filters.half_spaces());
    let mut rows = listed.rows.clone();
    let [row_count, _] = filters.listed_words(box_count as u64);
    // Boxes behind the last one that has any.
    rows.resize(row_count as usize, listed.others.len() as u32);
    let layout = FilterLayout {
        rule: filters.filters().rule.code(),
        listed_rows: append(&rows),
        listed_row_count: rows.len() as u32,
        half_space_bits: append(&filters.half_space_bits(box_count)),
        half_space_boxes: append(&half_spaces.iter().map(|half_space| half_space.index).collect::<Vec<_>>()),
        half_spaces: append(&half_spaces.iter().flat_map(|half_space| half_space.bits()).collect::<Vec<_>>()),
        half_space_count: half_spaces.len() as u32,
        owner: append(&filters.filters().owner.iter().flat_map(ordered_bounds).collect::<Vec<_>>()),
        // Last, since there may be room for more.
        listed_others: if rows.is_empty() { ABSENT } else { all.len() as u32 },
        ..bytemuck::Zeroable::zeroed()
    };
    all.extend_from_slice(&listed.others);
    (layout.with_tested(by_box), all)
}
