//! [`FilterSet`]: the filters of a search, with their buffers on the GPU.
//!
//! The first call that needs filters uploads them, since it knows the box count. The buffers exist until the filters
//! are replaced. Later changes overwrite the old values in place.

use std::sync::Arc;

use super::changes::{ChangeCounts, FilterSource};
use super::lists::{FilterLists, SearchKind};
use super::points::PointLists;
use super::{CheckedFilters, Filters};
use crate::base::layout::{Counts, digit_sum_u32_count, histogram_u32_count};
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::sort_buffers::SortBuffers;
use crate::gpu::table::{CONSTANT, Row, STORAGE, buffer_table};
use crate::{Aabb, Attribute, Error, Pair};

/// The filters of a search, checked, with their buffers on the GPU.
#[derive(Debug)]
pub struct FilterSet {
    /// The checked filters, shared with submissions: each submission uses the filters at the time of submission.
    checked: Arc<CheckedFilters>,
    /// The box count of the upload. A later call with fewer boxes retains the buffers, since the search of a
    /// submission in flight may be repeated with these buffers.
    pub(super) uploaded: Option<usize>,
    /// The lists that tests read.
    pub lists: FilterLists,
    /// The same lists for a step, without `sleeping`.
    step_lists: FilterLists,
    pub(super) buffers: FilterBuffers,
    /// The lists for recorded searches of points, after the first such search.
    pub(super) points: Option<PointLists>,
    /// Buffers of the sort of excluded pairs from an external buffer; `None` if `exclude_at_most` is 0.
    pub(super) excluding: Option<ExcludeBuffers>,
    /// The lists with values that exist only on the device.
    pub(super) on_device: Vec<&'static str>,
    /// True if worlds are numbered on the device.
    pub(super) numbers_worlds: bool,
    /// `[world_count]` the id and the number of each world, ascending by id, if worlds are numbered on the device.
    pub(super) world_ids: Option<Buffer<[u32; 2]>>,
    /// The change counts of these filters.
    pub(super) changes: Arc<ChangeCounts>,
    /// Alive as long as the lists on the device.
    pub(super) lists_alive: Arc<()>,
    /// The source of these filters, if they are copied or shared.
    pub(super) source: Option<FilterSource>,
}

/// The capacities of the filters' buffers, in elements.
#[derive(Clone, Copy, Debug, Default)]
pub struct FilterCapacity {
    u32_count: u64,
    worlds: u64,
    included: u64,
    margins: u64,
    half_space_u32_count: u64,
    prepared: u64,
}

buffer_table! {
    /// The buffers of filters, except for the lists that tests read.
    pub struct FilterBuffers(capacity: FilterCapacity) {
        /// `[world_count]` the range of cells of each world.
        world_cells: [[u32; 4]; capacity.worlds], STORAGE;
        /// `[include_count]` the included pairs, ascending.
        included: [Pair; capacity.included], STORAGE;
        /// `[box_count]` margins, or empty.
        margins: [f32; capacity.margins], STORAGE;
        /// `[box_count]` bits, or empty: set if the box stands for a half-space.
        half_space_bits: [u32; capacity.half_space_u32_count], STORAGE;
        /// `[box_count]` the boxes as they are searched; empty if filters do not change them.
        prepared_boxes: [Aabb; capacity.prepared], STORAGE;
    }
}

/// The capacity for excluded and included pairs.
#[derive(Clone, Copy, Debug)]
pub struct ExcludeCapacity {
    /// Pairs.
    pub pairs: u64,
}

buffer_table! {
    /// The buffers of the sort of excluded pairs.
    pub struct ExcludeBuffers(capacity: ExcludeCapacity) {
        /// `[pairs]` larger indices; after the first sort, smaller indices.
        keys as "exclude_keys": [u32; capacity.pairs], STORAGE;
        /// `[pairs]` smaller indices; after the first sort, larger indices.
        values as "exclude_values": [u32; capacity.pairs], STORAGE;
        /// `[pairs]` scratch.
        other_keys as "exclude_other_keys": [u32; capacity.pairs], STORAGE;
        /// `[pairs]` scratch.
        other_values as "exclude_other_values": [u32; capacity.pairs], STORAGE;
        /// Scratch.
        histograms as "exclude_histograms": [u32; histogram_u32_count(capacity.pairs)], STORAGE;
        /// Sums of the sort.
        digit_sums as "exclude_digit_sums": [u32; digit_sum_u32_count(capacity.pairs)], STORAGE;
        /// Not zero if the pairs exceed the capacity.
        refused as "exclude_refused": [u32; 1], STORAGE;
        /// The pair count, for the sort.
        counts as "exclude_counts": [Counts; 1], CONSTANT;
    }
}

impl ExcludeBuffers {
    /// Returns the lists as arguments of the sort.
    pub fn lists(&self) -> SortBuffers {
        let Self { keys, values, other_keys, other_values, histograms, digit_sums, .. } = self;
        SortBuffers::of([keys, values, other_keys, other_values, histograms, digit_sums])
    }
}

impl FilterSet {
    /// Checks these filters. Nothing is uploaded yet.
    ///
    /// # Errors
    /// [`Error::BadFilter`] for values that are invalid, whatever the boxes are; [`Error::OutOfMemory`].
    pub fn new(gpu: &Gpu, filters: Filters) -> Result<Self, Error> {
        Self::of(gpu, CheckedFilters::new(filters)?.into())
    }

    /// Wraps checked filters. Nothing is uploaded yet.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn of(gpu: &Gpu, checked: Arc<CheckedFilters>) -> Result<Self, Error> {
        let buffers = FilterBuffers::new(gpu, &FilterCapacity::default())?;
        let lists = FilterLists::none(gpu)?;
        Ok(Self {
            checked,
            uploaded: None,
            step_lists: lists.clone(),
            lists,
            buffers,
            points: None,
            excluding: None,
            on_device: Vec::new(),
            numbers_worlds: false,
            world_ids: None,
            changes: Arc::default(),
            lists_alive: Arc::default(),
            source: None,
        })
    }

    /// Returns the filters of the caller, with later changes.
    pub fn filters(&self) -> &Filters {
        self.checked.filters()
    }

    /// Returns the checked filters, with their tables.
    pub fn checked(&self) -> &Arc<CheckedFilters> {
        &self.checked
    }

    /// Returns `true` if the filters have not changed since a submission with `checked`.
    pub fn are_those(&self, checked: &Arc<CheckedFilters>) -> bool {
        Arc::ptr_eq(&self.checked, checked)
    }

    /// Checks that all values exist on the host.
    ///
    /// # Errors
    /// [`Error::BadFilter`].
    pub fn check_on_host(&self) -> Result<(), Error> {
        let Some(list) = self.on_device.first() else { return Ok(()) };
        Err(on_device(list, "and only recorded calls can use it; replace it with `set_filters`"))
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

    /// Returns the lists that the tests of a search read.
    pub fn lists_of(&self, kind: SearchKind) -> &FilterLists {
        match (kind, &self.points) {
            (SearchKind::Step, _) => &self.step_lists,
            (SearchKind::Points, Some(points)) => &points.lists,
            _ => &self.lists,
        }
    }

    /// Returns the range of cells of each world, `[world_count]`.
    pub fn world_cells(&self) -> &Buffer<[u32; 4]> {
        &self.buffers.world_cells
    }

    /// Returns the included pairs, ascending; `None` without included pairs.
    pub fn included(&self) -> Option<&Buffer<Pair>> {
        (self.uploaded.is_some() && !self.checked.include().is_empty()).then_some(&self.buffers.included)
    }

    /// Returns the buffers that prepare boxes; `None` if filters do not change the boxes.
    pub fn preparation(&self) -> Option<&FilterBuffers> {
        (self.uploaded.is_some() && !self.filters().leaves_boxes()).then_some(&self.buffers)
    }

    // ---- memory ----

    /// Returns the capacities of the buffers for this many boxes.
    fn capacity(&self, box_count: usize) -> FilterCapacity {
        let boxes = box_count as u64;
        let filters = self.filters();
        let boxes_if = |is_used: bool| if is_used { boxes } else { 0 };
        FilterCapacity {
            u32_count: FilterLists::u32_count(&self.checked, boxes),
            worlds: u64::from(self.checked.world_count()),
            included: self.checked.include().len() as u64,
            margins: boxes_if(!filters.margin.is_empty()),
            half_space_u32_count: boxes_if(!filters.half_spaces.is_empty()).div_ceil(32),
            prepared: boxes_if(!filters.leaves_boxes()),
        }
    }

    /// Returns the capacity for included pairs and for excluded pairs from an external buffer; `None` if
    /// `exclude_at_most` is 0.
    fn exclude_capacity(&self) -> Option<ExcludeCapacity> {
        let most = u64::from(self.filters().exclude_at_most);
        (most > 0).then(|| ExcludeCapacity { pairs: most + self.checked.include().len() as u64 })
    }

    /// Lists the nonempty buffers for this many boxes, with their bytes.
    pub fn rows(&self, box_count: usize) -> Vec<Row> {
        let capacity = self.capacity(box_count);
        if self.are_shared() && self.check_uploaded(box_count).is_ok() {
            return vec![("prepared_boxes", Buffer::<Aabb>::bytes(capacity.prepared))];
        }
        self.rows_in(&capacity)
    }

    /// Lists the buffers of the filters of a slab of this many boxes, each with the most bytes that it can need.
    /// [`CheckedFilters::part`] may add a list of bodies.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn slab_rows(&self, box_count: usize) -> Vec<Row> {
        let mut capacity = self.capacity(box_count);
        if self.checked.part_numbers_bodies() {
            capacity.u32_count = capacity.u32_count.saturating_add(box_count as u64);
        }
        self.rows_in(&capacity)
    }

    /// Lists the buffers of this capacity with their bytes. Without filters, the list is empty.
    fn rows_in(&self, capacity: &FilterCapacity) -> Vec<Row> {
        if self.filters().is_empty() {
            // Without filters, buffers have only a few bytes.
            return Vec::new();
        }
        let words = ("filters", Buffer::<u32>::bytes(capacity.u32_count));
        let excluding = self.exclude_capacity().into_iter().flat_map(|capacity| ExcludeBuffers::rows(&capacity));
        let worlds = u64::from(self.checked.world_count());
        let world_ids = self.numbers_worlds.then(|| ("world_ids", Buffer::<[u32; 2]>::bytes(worlds)));
        std::iter::once(words).chain(FilterBuffers::rows(capacity)).chain(excluding).chain(world_ids).collect()
    }

    /// Returns the bytes of GPU memory that the filters hold.
    pub fn held_bytes(&self) -> u64 {
        self.uploaded.map_or(0, |box_count| sum(&self.rows(box_count))) + self.point_bytes()
    }

    /// Returns the bytes of GPU memory after an upload for this many boxes. An upload for fewer boxes than the last
    /// upload changes nothing.
    pub fn coming_bytes(&self, box_count: usize) -> u64 {
        sum(&self.rows(box_count.max(self.uploaded.unwrap_or(0)))).saturating_add(self.point_bytes())
    }

    /// Lists the allocated buffers, with their bytes.
    pub fn allocated(&self) -> Vec<Row> {
        let points = self.points.iter().flat_map(|points| points.buffers.allocated());
        if self.uploaded.is_none() {
            return points.collect();
        }
        if self.are_shared() {
            return vec![("prepared_boxes", self.buffers.prepared_boxes.raw().size())];
        }
        let words = ("filters", self.lists.words.raw().size());
        let excluding = self.excluding.iter().flat_map(ExcludeBuffers::allocated);
        let world_ids = self.world_ids.iter().map(|ids| ("world_ids", ids.raw().size()));
        std::iter::once(words).chain(self.buffers.allocated()).chain(excluding).chain(world_ids).chain(points).collect()
    }

    /// Releases the GPU memory. The next call uploads again.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn unload(&mut self, gpu: &Gpu) -> Result<(), Error> {
        self.points = None;
        if self.uploaded.take().is_some() {
            self.source = self.source.take().map(FilterSource::without_lists);
            self.lists_alive = Arc::default();
            self.lists = FilterLists::none(gpu)?;
            self.step_lists = self.lists.clone();
            self.buffers = FilterBuffers::new(gpu, &FilterCapacity::default())?;
            (self.excluding, self.world_ids) = (None, None);
        }
        Ok(())
    }

    /// Uploads the filters for this many boxes, unless they are uploaded already. Unless a submission `is_in_flight`,
    /// the old buffers are released first.
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
                "and is lost, since its memory was released or there are more boxes; replace it with `set_filters`",
            ));
        }
        if !is_in_flight {
            // Old and new buffers together may exceed the memory.
            self.unload(gpu)?;
        }
        let lists = FilterLists::new(gpu, &self.checked, box_count)?;
        let step_lists = lists.of_step(gpu, &self.checked)?;
        let buffers = FilterBuffers::new(gpu, &self.capacity(box_count))?;
        let excluding = self.exclude_capacity().map(|capacity| ExcludeBuffers::new(gpu, &capacity)).transpose()?;
        let FilterBuffers { included, margins, half_space_bits, .. } = &buffers;
        let scopes = gpu.open_scopes();
        included.write(gpu, self.checked.include());
        margins.write_or_zero(gpu, &self.filters().margin);
        half_space_bits.write_or_zero(gpu, &self.checked.half_space_bits(box_count));
        if let Some(excluding) = &excluding {
            excluding.refused.write(gpu, &[0]);
        }
        scopes.close("filters")?;
        // Replace all buffers or none, since a submission in flight may be searched again with the old buffers.
        (self.lists, self.step_lists) = (lists, step_lists);
        (self.buffers, self.excluding, self.uploaded) = (buffers, excluding, Some(box_count));
        self.lists_alive = Arc::default();
        Ok(())
    }

    /// Returns an error if a filter is not uploaded for this many boxes, so that no search ignores it.
    ///
    /// # Errors
    /// [`Error::Gpu`].
    pub fn check_uploaded(&self, box_count: usize) -> Result<(), Error> {
        if self.filters().is_empty() || self.uploaded.is_some_and(|uploaded| uploaded >= box_count) {
            return Ok(());
        }
        Err(Error::Gpu { label: "filters".to_owned(), message: "they were not uploaded".to_owned(), cause: None })
    }

    /// Replaces the list `second`, and returns the previous list. The next call uploads the new list.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`]; the list is swapped nevertheless.
    pub fn swap_second(&mut self, gpu: &Gpu, second: &mut Vec<bool>) -> Result<(), Error> {
        *second = Arc::make_mut(&mut self.checked).set_second(std::mem::take(second));
        self.unload(gpu)
    }

    /// Replaces the values from box `first` on by `values`, and uploads `values`. For worlds, it uploads the numbers of
    /// all boxes.
    ///
    /// # Errors
    /// The errors of [`Filters::change`]; [`Error::BadFilter`] if the list was changed on the device;
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`], [`Error::Gpu`].
    pub fn change(&mut self, gpu: &Gpu, first: usize, values: Attribute<'_>) -> Result<(), Error> {
        let (list, count) = values.list();
        self.check_may_leave()?;
        if self.on_device.contains(&list) {
            // A u32 of flags also has flags of unchanged boxes, which exist only on the device.
            return Err(on_device(list, "so further changes must be recorded too; or replace it with `set_filters`"));
        }
        if list == "margin" && self.on_device.contains(&"sphere") {
            return Err(on_device(
                "sphere",
                "and a change of margins changes the radii; replace both with `set_filters`",
            ));
        }
        Arc::make_mut(&mut self.checked).change(first, values)?;
        if count > 0 {
            self.note_change(list);
        }
        if self.source.is_some() {
            return self.leave(gpu);
        }
        let worlds = u64::from(self.checked.world_count());
        if self.uploaded.is_some() && worlds > self.buffers.world_cells.len() {
            let created = Buffer::new(gpu, "world_cells", worlds, STORAGE);
            // The next call uploads all filters again.
            self.buffers.world_cells = created.inspect_err(|_| drop(self.unload(gpu)))?;
        }
        if self.uploaded.is_some() {
            let scopes = gpu.open_scopes();
            self.lists.change(gpu, &self.checked, first, values);
            if let Attribute::Margin(values) = values {
                self.buffers.margins.write_at(gpu, first as u64, values);
            }
            let written = scopes.close("filters");
            if written.is_err() {
                // The next call uploads all filters again.
                let _ = self.unload(gpu);
            }
            return written;
        }
        Ok(())
    }
}

/// Returns the error of a call that needs values that exist only on the device.
pub(super) fn on_device(list: &'static str, what: &str) -> Error {
    Error::BadFilter { list, index: None, problem: format!("was changed on the device, {what}") }
}

/// Sums the bytes of rows.
pub fn sum(rows: &[Row]) -> u64 {
    rows.iter().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
}
