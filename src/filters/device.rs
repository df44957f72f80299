//! The filters of a search, with their buffers on the GPU: [`FilterSet`].
//!
//! The first call that needs filters uploads them, since the number of boxes is known then, and they stay until they are
//! replaced. A change afterwards is written where the old values lie.

use std::sync::Arc;

use super::changes::{ChangeCounts, Taken};
use super::lists::FilterLists;
use super::{CheckedFilters, Filters};
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::sort_buffers::SortBuffers;
use crate::gpu::table::{CONSTANT, Row, STORAGE, buffer_table};
use crate::layout::{Counts, digit_sum_words, histogram_words};
use crate::{Aabb, Attribute, Error, Pair};

/// The filters of a search, checked, with their buffers on the GPU.
#[derive(Debug)]
pub struct FilterSet {
    /// Shared with submissions, which are searched with these whatever is changed meanwhile.
    checked: Arc<CheckedFilters>,
    /// The number of boxes that the buffers were filled for. A submission in flight may be searched again for fewer.
    pub(super) uploaded: Option<usize>,
    /// The lists that tests read.
    pub lists: FilterLists,
    /// The same for a step, which is searched as if nobody slept.
    step_lists: FilterLists,
    pub(super) buffers: FilterBuffers,
    /// What pairs to exclude are taken with that lie in a buffer of the caller's, where some may.
    pub(super) excluding: Option<ExcludeBuffers>,
    /// The lists that have values which only the device knows.
    pub(super) on_device: Vec<&'static str>,
    /// Whether worlds are numbered on the device.
    pub(super) numbers_worlds: bool,
    /// `[world_count]` the id and the number of each world, ascending by id, once some are.
    pub(super) world_ids: Option<Buffer<[u32; 2]>>,
    /// How often these filters were changed.
    pub(super) changes: Arc<ChangeCounts>,
    /// There as long as the lists on the device are.
    pub(super) lists_held: Arc<()>,
    /// The filters from which these were taken, if they were.
    pub(super) taken: Option<Taken>,
}

/// How many elements the filters' buffers have.
#[derive(Clone, Copy, Debug, Default)]
pub struct FilterRoom {
    words: u64,
    worlds: u64,
    included: u64,
    margins: u64,
    half_space_words: u64,
    prepared: u64,
}

buffer_table! {
    /// The buffers of filters beside the lists that tests read.
    pub struct FilterBuffers(room: FilterRoom) {
        /// `[world_count]` the range of cells of each world.
        world_cells: [[u32; 4]; room.worlds], STORAGE;
        /// `[include_count]` the included pairs, ascending.
        included: [Pair; room.included], STORAGE;
        /// `[box_count]`, or empty.
        margins: [f32; room.margins], STORAGE;
        /// `[box_count]` bits, or empty: whether the box stands for a half-space.
        half_space_bits: [u32; room.half_space_words], STORAGE;
        /// `[box_count]` the boxes as they are searched, or empty where that is as they come.
        prepared_boxes: [Aabb; room.prepared], STORAGE;
    }
}

/// How many pairs there is room for: to exclude, and the included ones.
#[derive(Clone, Copy, Debug)]
pub struct ExcludeRoom {
    /// The pairs.
    pub pairs: u64,
}

buffer_table! {
    /// What pairs to exclude are sorted with.
    pub struct ExcludeBuffers(room: ExcludeRoom) {
        /// `[pairs]` larger indices; then smaller ones.
        keys as "exclude_keys": [u32; room.pairs], STORAGE;
        /// `[pairs]` smaller indices; then larger ones.
        values as "exclude_values": [u32; room.pairs], STORAGE;
        /// `[pairs]` scratch.
        other_keys as "exclude_other_keys": [u32; room.pairs], STORAGE;
        /// `[pairs]` scratch.
        other_values as "exclude_other_values": [u32; room.pairs], STORAGE;
        /// Scratch.
        histograms as "exclude_histograms": [u32; histogram_words(room.pairs)], STORAGE;
        /// Sums of the sort.
        digit_sums as "exclude_digit_sums": [u32; digit_sum_words(room.pairs)], STORAGE;
        /// Not zero where there are more pairs than there is room for.
        refused as "exclude_refused": [u32; 1], STORAGE;
        /// For the sort: how many pairs there are.
        counts as "exclude_counts": [Counts; 1], CONSTANT;
    }
}

impl ExcludeBuffers {
    /// Returns the lists as the sort takes them.
    pub fn lists(&self) -> SortBuffers {
        let Self { keys, values, other_keys, other_values, histograms, digit_sums, .. } = self;
        SortBuffers::of([keys, values, other_keys, other_values, histograms, digit_sums])
    }
}

impl FilterSet {
    /// Checks these filters. Nothing is uploaded yet.
    ///
    /// # Errors
    /// [`Error::BadFilter`] for what is wrong whatever the boxes are; [`Error::OutOfMemory`].
    pub fn new(gpu: &Gpu, filters: Filters) -> Result<Self, Error> {
        Self::of(gpu, CheckedFilters::new(filters)?.into())
    }

    /// Takes filters that were checked. Nothing is uploaded yet.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn of(gpu: &Gpu, checked: Arc<CheckedFilters>) -> Result<Self, Error> {
        let buffers = FilterBuffers::new(gpu, &FilterRoom::default())?;
        let lists = FilterLists::none(gpu)?;
        Ok(Self {
            checked,
            uploaded: None,
            step_lists: lists.clone(),
            lists,
            buffers,
            excluding: None,
            on_device: Vec::new(),
            numbers_worlds: false,
            world_ids: None,
            changes: Arc::default(),
            lists_held: Arc::default(),
            taken: None,
        })
    }

    /// Returns the filters as the caller gave and changed them.
    pub fn filters(&self) -> &Filters {
        self.checked.filters()
    }

    /// Returns the checked filters, with what searches look up.
    pub fn checked(&self) -> &Arc<CheckedFilters> {
        &self.checked
    }

    /// Returns whether these are still those that a submission was made with.
    pub fn are_those(&self, checked: &Arc<CheckedFilters>) -> bool {
        Arc::ptr_eq(&self.checked, checked)
    }

    /// Checks that the host knows all values.
    ///
    /// # Errors
    /// [`Error::BadFilter`].
    pub fn check_on_host(&self) -> Result<(), Error> {
        let Some(list) = self.on_device.first() else { return Ok(()) };
        Err(on_device(list, "and only recorded calls know it until set_filters sets it anew"))
    }

    /// Checks that the filters fit this many boxes.
    ///
    /// # Errors
    /// The errors of [`Filters::check`]; [`Error::OutOfMemory`].
    pub fn fit(&mut self, box_count: usize) -> Result<(), Error> {
        if !self.checked.fits(box_count)? {
            Arc::make_mut(&mut self.checked).fit(box_count)?;
        }
        Ok(())
    }

    /// Returns the lists that the tests of a search read, or those of a step.
    pub fn lists_of(&self, is_of_step: bool) -> &FilterLists {
        if is_of_step { &self.step_lists } else { &self.lists }
    }

    /// Returns the range of cells of each world, `[world_count]`.
    pub fn world_cells(&self) -> &Buffer<[u32; 4]> {
        &self.buffers.world_cells
    }

    /// Returns the included pairs, ascending; `None` where there are none.
    pub fn included(&self) -> Option<&Buffer<Pair>> {
        (self.uploaded.is_some() && !self.checked.include().is_empty()).then_some(&self.buffers.included)
    }

    /// Returns the buffers that boxes are prepared with; `None` where they are searched as they come.
    pub fn preparation(&self) -> Option<&FilterBuffers> {
        (self.uploaded.is_some() && !self.filters().leaves_boxes()).then_some(&self.buffers)
    }

    // ---- memory ----

    /// Returns how long the buffers are for this many boxes.
    fn room(&self, box_count: usize) -> FilterRoom {
        let boxes = box_count as u64;
        let filters = self.filters();
        let boxes_if = |is_used: bool| if is_used { boxes } else { 0 };
        FilterRoom {
            words: FilterLists::words_for(&self.checked, boxes),
            worlds: u64::from(self.checked.world_count()),
            included: self.checked.include().len() as u64,
            margins: boxes_if(!filters.margin.is_empty()),
            half_space_words: boxes_if(!filters.half_spaces.is_empty()).div_ceil(32),
            prepared: boxes_if(!filters.leaves_boxes()),
        }
    }

    /// Returns for how many pairs lists of the caller's are taken, with the included ones; `None` where none are.
    fn exclude_room(&self) -> Option<ExcludeRoom> {
        let most = u64::from(self.filters().exclude_at_most);
        (most > 0).then(|| ExcludeRoom { pairs: most + self.checked.include().len() as u64 })
    }

    /// Lists the buffers that hold anything for this many boxes, with their bytes.
    pub fn rows(&self, box_count: usize) -> Vec<Row> {
        let room = self.room(box_count);
        if self.are_shared() && self.check_uploaded(box_count).is_ok() {
            return vec![("prepared_boxes", Buffer::<Aabb>::bytes(room.prepared))];
        }
        self.rows_in(&room)
    }

    /// Lists the buffers that the filters of a slab of this many boxes have at most: [`CheckedFilters::part`] numbers
    /// the bodies there by index. What is there for all slabs has room for what may come in place of their pairs.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn slab_rows(&self, box_count: usize) -> Vec<Row> {
        let mut room = self.room(box_count);
        if self.checked.part_numbers_bodies() {
            room.words = room.words.saturating_add(box_count as u64);
        }
        self.rows_in(&room)
    }

    /// Lists the buffers of these lengths, if there are any filters, with their bytes.
    fn rows_in(&self, room: &FilterRoom) -> Vec<Row> {
        if self.filters().is_empty() {
            // What is always there is no more than a few bytes.
            return Vec::new();
        }
        let words = ("filters", Buffer::<u32>::bytes(room.words));
        let excluding = self.exclude_room().into_iter().flat_map(|room| ExcludeBuffers::rows(&room));
        let worlds = u64::from(self.checked.world_count());
        let world_ids = self.numbers_worlds.then(|| ("world_ids", Buffer::<[u32; 2]>::bytes(worlds)));
        std::iter::once(words).chain(FilterBuffers::rows(room)).chain(excluding).chain(world_ids).collect()
    }

    /// Returns the bytes of GPU memory that the filters hold.
    pub fn held_bytes(&self) -> u64 {
        self.uploaded.map_or(0, |box_count| sum(&self.rows(box_count)))
    }

    /// Returns the bytes that the filters hold after an upload for this many boxes. An upload for fewer boxes than the
    /// last one changes nothing.
    pub fn coming_bytes(&self, box_count: usize) -> u64 {
        sum(&self.rows(box_count.max(self.uploaded.unwrap_or(0))))
    }

    /// Lists the buffers that the filters hold, with the bytes that the device gave them.
    pub fn made(&self) -> Vec<Row> {
        if self.uploaded.is_none() {
            return Vec::new();
        }
        if self.are_shared() {
            return vec![("prepared_boxes", self.buffers.prepared_boxes.raw().size())];
        }
        let words = ("filters", self.lists.words.raw().size());
        let excluding = self.excluding.iter().flat_map(ExcludeBuffers::allocated);
        let world_ids = self.world_ids.iter().map(|ids| ("world_ids", ids.raw().size()));
        std::iter::once(words).chain(self.buffers.allocated()).chain(excluding).chain(world_ids).collect()
    }

    /// Gives the memory on the GPU back; what is needed is uploaded again.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn unload(&mut self, gpu: &Gpu) -> Result<(), Error> {
        if self.uploaded.take().is_some() {
            self.taken = self.taken.take().map(Taken::without_lists);
            self.lists_held = Arc::default();
            self.lists = FilterLists::none(gpu)?;
            self.step_lists = self.lists.clone();
            self.buffers = FilterBuffers::new(gpu, &FilterRoom::default())?;
            (self.excluding, self.world_ids) = (None, None);
        }
        Ok(())
    }

    /// Uploads what is not there yet for this many boxes. Where nothing `is_in_flight`, the old buffers go first.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn upload(&mut self, gpu: &Gpu, box_count: usize, is_in_flight: bool) -> Result<(), Error> {
        if self.check_uploaded(box_count).is_ok() {
            return Ok(());
        }
        if let Some(list) = self.on_device.first() {
            return Err(on_device(
                list,
                "and is lost, since its memory was given back or there are more boxes: set_filters sets it anew",
            ));
        }
        if !is_in_flight {
            // Both at once might not fit.
            self.unload(gpu)?;
        }
        let lists = FilterLists::new(gpu, &self.checked, box_count)?;
        let step_lists = lists.of_step(gpu, &self.checked)?;
        let buffers = FilterBuffers::new(gpu, &self.room(box_count))?;
        let excluding = self.exclude_room().map(|room| ExcludeBuffers::new(gpu, &room)).transpose()?;
        let FilterBuffers { included, margins, half_space_bits, .. } = &buffers;
        let scopes = gpu.open_scopes();
        included.write(gpu, self.checked.include());
        margins.write_or_zero(gpu, &self.filters().margin);
        half_space_bits.write_or_zero(gpu, &self.checked.half_space_bits(box_count));
        if let Some(excluding) = &excluding {
            excluding.refused.write(gpu, &[0]);
        }
        scopes.close("filters")?;
        // All of them or none: a submission in flight may be searched again with the old ones.
        (self.lists, self.step_lists) = (lists, step_lists);
        (self.buffers, self.excluding, self.uploaded) = (buffers, excluding, Some(box_count));
        self.lists_held = Arc::default();
        Ok(())
    }

    /// Returns an error if a filter is missing on the GPU for this many boxes, so that no search ignores it.
    ///
    /// # Errors
    /// [`Error::Gpu`].
    pub fn check_uploaded(&self, box_count: usize) -> Result<(), Error> {
        if self.filters().is_empty() || self.uploaded.is_some_and(|uploaded| uploaded >= box_count) {
            return Ok(());
        }
        Err(Error::Gpu { label: "filters".to_owned(), message: "they were not uploaded".to_owned() })
    }

    /// Sets which boxes are in the second of two sets, and swaps that with what was said before. The next call uploads it.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`]; it is set nevertheless.
    pub fn swap_second(&mut self, gpu: &Gpu, second: &mut Vec<bool>) -> Result<(), Error> {
        *second = Arc::make_mut(&mut self.checked).set_second(std::mem::take(second));
        self.unload(gpu)
    }

    /// Puts `values` in place of those from box `first` on, and uploads no more than that; of worlds, the numbers of all
    /// boxes.
    ///
    /// # Errors
    /// The errors of [`Filters::change`]; [`Error::BadFilter`] where the device has others; [`Error::OutOfMemory`],
    /// [`Error::DeviceLost`], [`Error::Gpu`].
    pub fn change(&mut self, gpu: &Gpu, first: usize, values: Attribute<'_>) -> Result<(), Error> {
        let (list, count) = values.list();
        self.check_may_leave()?;
        if self.on_device.contains(&list) {
            // Flags share words with those of other boxes, which the host does not know.
            return Err(on_device(list, "where further changes are recorded too, until set_filters sets it anew"));
        }
        Arc::make_mut(&mut self.checked).change(first, values)?;
        if count > 0 {
            self.note_change(list);
        }
        if self.taken.is_some() {
            return self.leave(gpu);
        }
        let worlds = u64::from(self.checked.world_count());
        if self.uploaded.is_some() && worlds > self.buffers.world_cells.len() {
            let made = Buffer::new(gpu, "world_cells", worlds, STORAGE);
            // The next call uploads all of them.
            self.buffers.world_cells = made.inspect_err(|_| drop(self.unload(gpu)))?;
        }
        if self.uploaded.is_some() {
            let scopes = gpu.open_scopes();
            self.lists.change(gpu, &self.checked, first, values);
            if let Attribute::Margin(values) = values {
                self.buffers.margins.write_at(gpu, first as u64, values);
            }
            let written = scopes.close("filters");
            if written.is_err() {
                // The next call uploads all of them.
                let _ = self.unload(gpu);
            }
            return written;
        }
        Ok(())
    }
}

/// Returns the error of a call that needs a list on the host which has values that only the device knows.
pub(super) fn on_device(list: &'static str, what: &str) -> Error {
    Error::BadFilter { list, index: 0, problem: format!("was changed on the device, {what}") }
}

/// Sums the bytes of rows.
pub fn sum(rows: &[Row]) -> u64 {
    rows.iter().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
}
