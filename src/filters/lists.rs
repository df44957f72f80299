//! The lists of the [`Filters`] that exact tests read on the GPU: their layout, and the kernels that read them.

use super::owner::ordered_bounds;
use super::rows::FilterLayout;
use super::values::Tested;
use super::{Attribute, CheckedFilters, Filters, GroupRule};
use crate::Error;
use crate::base::constants::*;
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::{Kernel, Source};
use crate::gpu::table::Bound;

impl GroupRule {
    /// Returns the code of the rule in WGSL.
    pub(crate) fn code(self) -> u32 {
        match self {
            Self::Any => RULE_ANY,
            Self::Both => RULE_BOTH,
        }
    }
}

impl Filters {
    /// Returns the tests of a pair in kernels.
    pub(crate) fn pair_tests(&self, kind: SearchKind) -> PairTests {
        let is_read = |list: &Tested| !list.values.is_empty() && (kind != SearchKind::Step || list.list != "sleeping");
        let has_others = self.has_lists() || !self.half_spaces.is_empty() || self.owner.is_some();
        if kind == SearchKind::Points || !self.sphere.is_empty() {
            PairTests::Spheres
        } else if has_others || self.tested().iter().any(is_read) {
            PairTests::Lists
        } else {
            PairTests::Bounds
        }
    }
}

/// The kind of a search's input, which determines the filters in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchKind {
    /// Boxes, with all filters.
    Boxes,
    /// The boxes of a step. Sleeping flags are ignored.
    Step,
    /// Points, each with a sphere.
    Points,
}

impl From<bool> for SearchKind {
    /// Returns the kind of a search of boxes, in a step or not.
    fn from(is_step: bool) -> Self {
        if is_step { Self::Step } else { Self::Boxes }
    }
}

/// The tests of a pair in kernels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PairTests {
    /// The bounds of the boxes alone.
    Bounds,
    /// The bounds, and filters except spheres.
    Lists,
    /// The bounds, and all filters.
    Spheres,
}

/// A kernel that tests pairs: a pipeline per [`PairTests`]. A pipeline omits unused code, which saves registers and
/// compile time.
#[derive(Debug)]
pub struct FilteredKernel([Kernel; 3]);

impl FilteredKernel {
    /// Looks up the pipelines of all tests.
    pub fn new(gpu: &Gpu, source: &Source) -> Self {
        const SWITCHES: [&[&str]; 3] = [&[], &["IS_FILTERED"], &["IS_FILTERED", "HAS_SPHERES"]];
        Self(SWITCHES.map(|switches| Kernel::specialised(gpu, source, switches)))
    }

    /// Returns the pipeline with these tests.
    pub fn of(&self, tests: PairTests) -> &Kernel {
        &self.0[tests as usize]
    }
}

/// Creates the [`Source`] of a kernel that calls `passes` or `world_of`. It is `source!` with `filters.wgsl`, the files
/// that `filters.wgsl` needs, and the WGSL of the table of filters. A kernel that only reads lists by box needs only
/// `by_box.wgsl`.
macro_rules! filtered {
    ($name:literal $(, $shared:literal)*) => {
        $crate::gpu::kernel::source!(
            $name $(, $shared)*,
            "filters/filters", "filters/by_box", "filters/half_space", "filters/spheres", "filters/sphere_touch",
            "shared/exact_sum", "shared/long_add", "shared/float_parts";
            $crate::filters::rows::WGSL
        )
    };
}
pub(crate) use filtered;

/// The lists that tests read, on the GPU. Without filters, a single u32.
#[derive(Clone, Debug)]
pub struct FilterLists {
    /// The start of each list in `words`.
    pub layout: Buffer<FilterLayout>,
    /// All lists, one after the other.
    pub words: Buffer<u32>,
    /// The tests of a pair in kernels.
    pub tests: PairTests,
    places: FilterLayout,
}

impl FilterLists {
    /// Lists the buffers for kernels.
    pub fn bound(&self) -> Bound<'_> {
        vec![("filter_layout", self.layout.all()), ("filters", self.words.all())]
    }

    /// Creates the buffers without filters.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn none(gpu: &Gpu) -> Result<Self, Error> {
        Self::new(gpu, &CheckedFilters::default(), 0)
    }

    /// Checks filters and uploads their lists, for this many boxes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; the errors of [`Filters::check`].
    pub fn of(gpu: &Gpu, filters: &Filters, box_count: usize) -> Result<Self, Error> {
        let mut checked = CheckedFilters::new(filters.clone())?;
        checked.fit(box_count)?;
        Self::new(gpu, &checked, box_count)
    }

    /// Uploads the lists of these filters. The filters must fit this many boxes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`].
    pub(crate) fn new(gpu: &Gpu, filters: &CheckedFilters, box_count: usize) -> Result<Self, Error> {
        let (places, all) = lay_out(filters, box_count);
        // The buffer has capacity at its end for excluded pairs that are recorded later.
        let words = Buffer::storage(gpu, "filters", Self::u32_count(filters, box_count as u64))?;
        let scopes = gpu.open_scopes();
        words.write(gpu, &all);
        scopes.close("filters")?;
        let layout = Buffer::uniform(gpu, "filter_layout", &[places])?;
        Ok(Self { layout, words, tests: filters.filters().pair_tests(SearchKind::Boxes), places })
    }

    /// Returns the same lists for a step, without `sleeping`.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(crate) fn of_step(&self, gpu: &Gpu, filters: &CheckedFilters) -> Result<Self, Error> {
        let places = FilterLayout { sleeping: ABSENT, ..self.places };
        let layout = Buffer::uniform(gpu, "filter_layout", &[places])?;
        Ok(Self { layout, words: self.words.clone(), tests: filters.filters().pair_tests(SearchKind::Step), places })
    }

    /// Returns the same lists for a search of points: in the buffer `words`, with the spheres after the lists.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(super) fn of_points(&self, gpu: &Gpu, words: Buffer<u32>) -> Result<Self, Error> {
        let places = FilterLayout { sphere: self.words.len() as u32, ..self.places };
        let layout = Buffer::uniform(gpu, "filter_layout", &[places])?;
        Ok(Self { layout, words, tests: PairTests::Spheres, places })
    }

    /// Uploads changed values from box `first` on. For worlds, it uploads the numbers of all boxes, since all may have
    /// changed.
    pub(crate) fn change(&self, gpu: &Gpu, filters: &CheckedFilters, first: usize, values: Attribute<'_>) {
        let (changed, count) = values.list();
        for (tested, place) in filters.tested().into_iter().zip(self.places.tested()) {
            // A changed margin also changes the padded radius of spheres.
            if tested.list != changed && (tested.list, changed) != ("sphere", "margin") {
                continue;
            }
            let boxes = match values {
                Attribute::World(_) => 0..tested.values.len(),
                _ => first..first + count,
            };
            let (first_word, words) = tested.values.words_in(boxes);
            if !words.is_empty() {
                self.words.write_at(gpu, u64::from(place) + first_word as u64, &words);
            }
        }
    }

    /// Returns the start of a list by box in `words`; `None` if tests read no such list.
    pub(crate) fn place_of(&self, filters: &CheckedFilters, list: &str) -> Option<u32> {
        let places = filters.tested().into_iter().zip(self.places.tested());
        places
            .into_iter()
            .find(|(tested, _)| tested.list == list)
            .map(|(_, place)| place)
            .filter(|place| *place != ABSENT)
    }

    /// Returns the start of the half-spaces in `words`.
    pub(crate) fn place_of_half_spaces(&self) -> u32 {
        self.places.half_spaces
    }

    /// Returns the starts of the rows and of the larger indices of the listed pairs in `words`.
    pub(crate) fn places_of_listed(&self) -> (u32, u32) {
        (self.places.listed_rows, self.places.listed_others)
    }

    /// Returns the u32 count of the lists of these filters for `box_count` boxes.
    pub(crate) fn u32_count(filters: &CheckedFilters, box_count: u64) -> u64 {
        let tested = filters.tested().into_iter().filter(|tested| !tested.values.is_empty());
        let by_box = tested.fold(0, |sum: u64, tested| sum.saturating_add(tested.values.u32_count(box_count)));
        let half_spaces = filters.half_spaces().len() as u64;
        let half_space_bits = if half_spaces == 0 { 0 } else { box_count.div_ceil(32) };
        let owner = if filters.filters().owner.is_some() { 6 } else { 0 };
        let [rows, others] = filters.listed_u32_counts(box_count);
        [half_space_bits, rows, others, 5 * half_spaces, owner].into_iter().fold(by_box, u64::saturating_add)
    }
}

/// Returns the layout and the concatenated lists of these filters. The filters must fit this many boxes.
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
    let [row_count, _] = filters.listed_u32_counts(box_count as u64);
    // Boxes after the last box with listed pairs have empty rows.
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
        // This list is the last, since it may have capacity for more.
        listed_others: if rows.is_empty() { ABSENT } else { all.len() as u32 },
        ..bytemuck::Zeroable::zeroed()
    };
    all.extend_from_slice(&listed.others);
    (layout.with_tested(by_box), all)
}
