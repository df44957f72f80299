//! What the exact tests are told of the [`Filters`]: where each list lies, and which there are.

use std::ops::Range;

use crate::constants::*;
use crate::filters::{CheckedFilters, Listed};
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::layout::FilterLayout;
use crate::{Attribute, Error, Filters, GroupRule};

/// The switches of `filters.wgsl` that are on: what a kernel has to be compiled with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Uses {
    groups: bool,
    bodies: bool,
    fixed: bool,
    sleeping: bool,
    worlds: bool,
    lists: bool,
    half_spaces: bool,
}

impl Uses {
    /// What these filters need.
    pub fn of(filters: &Filters) -> Self {
        Self {
            groups: !filters.group.is_empty() || !filters.mask.is_empty(),
            bodies: !filters.body.is_empty() || !filters.parent.is_empty(),
            fixed: !filters.fixed.is_empty(),
            sleeping: !filters.sleeping.is_empty(),
            worlds: !filters.world.is_empty(),
            lists: !filters.exclude.is_empty() || !filters.include.is_empty(),
            half_spaces: !filters.half_spaces.is_empty(),
        }
    }

    /// For kernels that test boxes.
    pub fn switches(self) -> Vec<&'static str> {
        let all = [
            (self != Self::default(), "IS_FILTERED"),
            (self.groups, "HAS_GROUPS"),
            (self.bodies, "HAS_BODIES"),
            (self.fixed, "HAS_FIXED"),
            (self.sleeping, "HAS_SLEEPING"),
            (self.worlds, "HAS_WORLDS"),
            (self.lists, "HAS_LISTS"),
            (self.half_spaces, "HAS_HALF_SPACES"),
        ];
        all.into_iter().filter(|(is_on, _)| *is_on).map(|(_, name)| name).collect()
    }

    /// For kernels that only ask for a box's world.
    pub fn world_switches(self) -> Vec<&'static str> {
        Self { worlds: self.worlds, ..Self::default() }.switches()
    }
}

/// The lists of the filters on the GPU; a word and no list where there are no filters.
#[derive(Clone, Debug)]
pub struct FilterLists {
    /// Where each begins in `words`.
    pub layout: Buffer<FilterLayout>,
    /// All of them, one after the other.
    pub words: Buffer<u32>,
    places: FilterLayout,
}

impl FilterLists {
    /// No lists.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn none(gpu: &Gpu) -> Result<Self, Error> {
        Self::with(gpu, Words::default())
    }

    /// Uploads those of these filters, for so many boxes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`]; those of [`Filters::check`].
    pub fn of(gpu: &Gpu, filters: &Filters, box_count: usize) -> Result<Self, Error> {
        let mut compiled = CheckedFilters::new(filters.clone())?;
        compiled.fit(box_count)?;
        Self::new(gpu, &compiled, box_count)
    }

    /// Uploads those of these filters, which fit so many boxes.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub(crate) fn new(gpu: &Gpu, filters: &CheckedFilters, box_count: usize) -> Result<Self, Error> {
        Self::with(gpu, Words::of(filters, box_count))
    }

    fn with(gpu: &Gpu, words: Words) -> Result<Self, Error> {
        let buffer = Buffer::storage(gpu, "filters", words.all.len() as u64)?;
        buffer.write(gpu, &words.all);
        Ok(Self {
            layout: Buffer::uniform(gpu, "filter_layout", &[words.places])?,
            words: buffer,
            places: words.places,
        })
    }

    /// Uploads what was changed from box `first` on. Numbers of worlds may have changed for all boxes.
    pub(crate) fn change(&self, gpu: &Gpu, filters: &CheckedFilters, first: usize, values: Attribute<'_>) {
        let all = filters.filters();
        let from = |length: usize| first..first + length;
        match values {
            Attribute::Group(values) => self.write(gpu, self.places.groups, first, values),
            Attribute::Mask(values) => self.write(gpu, self.places.masks, first, values),
            Attribute::Body(values) => self.write(gpu, self.places.bodies, first, values),
            Attribute::Parent(values) => self.write(gpu, self.places.parents, first, values),
            Attribute::Fixed(values) => self.write_bits(gpu, self.places.fixed, from(values.len()), &all.fixed),
            Attribute::Sleeping(values) => {
                self.write_bits(gpu, self.places.sleeping, from(values.len()), &all.sleeping);
            }
            Attribute::World(_) => self.write(gpu, self.places.worlds, 0, filters.worlds()),
            // Not one of the lists that tests read.
            Attribute::Margin(_) => {}
        }
    }

    fn write(&self, gpu: &Gpu, list: u32, first: usize, values: &[u32]) {
        if !values.is_empty() {
            let offset = (u64::from(list) + first as u64) * 4;
            gpu.queue().write_buffer(self.words.raw(), offset, bytemuck::cast_slice(values));
        }
    }

    /// The whole words that have bits of `range`.
    fn write_bits(&self, gpu: &Gpu, list: u32, range: Range<usize>, all: &[bool]) {
        let end = range.end.next_multiple_of(32).min(all.len());
        let first = range.start / 32;
        self.write(gpu, list, first, &bits(&all[(first * 32).min(end)..end]));
    }

    /// Words that the lists of these filters take for `box_count` boxes: those by box, and the others whole.
    pub(crate) fn words_for(filters: &CheckedFilters, box_count: u64) -> u64 {
        let all = filters.filters();
        let by_box = [&all.group, &all.mask, &all.body, &all.parent, &all.world];
        let words = by_box.iter().filter(|list| !list.is_empty()).count() as u64 * box_count;
        let by_bit = [all.fixed.is_empty(), all.sleeping.is_empty(), all.half_spaces.is_empty()];
        let bits = by_bit.iter().filter(|is_empty| !**is_empty).count() as u64 * box_count.div_ceil(32);
        words + bits + filters.listed_words() + 5 * all.half_spaces.len() as u64
    }
}

/// The lists before they are uploaded.
struct Words {
    places: FilterLayout,
    all: Vec<u32>,
}

impl Default for Words {
    fn default() -> Self {
        let places = FilterLayout {
            rule: RULE_ANY,
            groups: ABSENT,
            masks: ABSENT,
            bodies: ABSENT,
            parents: ABSENT,
            fixed: ABSENT,
            sleeping: ABSENT,
            worlds: ABSENT,
            rows: ABSENT,
            row_count: 0,
            others: ABSENT,
            half_space_bits: ABSENT,
            half_space_boxes: ABSENT,
            half_spaces: ABSENT,
            half_space_count: 0,
            unused: 0,
        };
        Self { places, all: Vec::new() }
    }
}

impl Words {
    fn of(filters: &CheckedFilters, box_count: usize) -> Self {
        let mut words = Self::default();
        let lists = filters.filters();
        let Listed { rows, others } = filters.listed();
        let half_spaces = filters.half_spaces();
        words.places = FilterLayout {
            rule: match lists.rule {
                GroupRule::Any => RULE_ANY,
                GroupRule::Both => RULE_BOTH,
            },
            groups: words.append(&lists.group),
            masks: words.append(&lists.mask),
            bodies: words.append(&lists.body),
            parents: words.append(&lists.parent),
            fixed: words.append(&bits(&lists.fixed)),
            sleeping: words.append(&bits(&lists.sleeping)),
            worlds: words.append(filters.worlds()),
            rows: words.append(rows),
            row_count: rows.len() as u32,
            others: words.append(others),
            half_space_bits: words.append(&filters.half_space_bits(box_count)),
            half_space_boxes: words.append(&half_spaces.iter().map(|half_space| half_space.index).collect::<Vec<_>>()),
            half_spaces: words.append(&half_spaces.iter().flat_map(|half_space| half_space.bits()).collect::<Vec<_>>()),
            half_space_count: half_spaces.len() as u32,
            unused: 0,
        };
        words
    }

    /// Where the list begins.
    fn append(&mut self, list: &[u32]) -> u32 {
        if list.is_empty() {
            return ABSENT;
        }
        let place = self.all.len() as u32;
        self.all.extend_from_slice(list);
        place
    }
}

/// 32 to a word, the first one lowest.
fn bits(all: &[bool]) -> Vec<u32> {
    let word = |bools: &[bool]| bools.iter().rev().fold(0, |word, &bit| word << 1 | u32::from(bit));
    all.chunks(32).map(word).collect()
}
