//! Records filters and points from external buffers on the device.

use std::ops::Range;

use super::device::{ExcludeBuffers, FilterSet};
use super::lists::SearchKind;
use super::points::{PointBuffers, PointCapacity, PointLists};
use super::prepare::Prepare;
use super::{Filters, GpuAttribute, ValueFormat};
use crate::Error;
use crate::base::layout::{ExcludeChange, FilterChange};
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::external::{bind, bytes, check};
use crate::gpu::kernel::Pass;
use crate::gpu::limits::check_rows;
use crate::gpu::table::{Row, STORAGE};

/// The target of a recorded change of filters.
#[derive(Debug)]
pub struct Change<'a> {
    /// The device.
    pub gpu: &'a Gpu,
    /// The command encoder.
    pub encoder: &'a mut wgpu::CommandEncoder,
    /// The kernels.
    pub prepare: &'a Prepare,
}

impl FilterSet {
    // ---- one list by box ----

    /// Checks a change of one list by box to external values on the device. Returns the box count of the list, or
    /// `None` if the change is empty.
    ///
    /// # Errors
    /// [`Error::BadFilter`], [`Error::BadBuffer`]; the errors of [`Filters::check`]; [`Error::OutOfMemory`].
    pub fn check_change(
        &mut self,
        gpu: &Gpu,
        boxes: &Range<u32>,
        values: GpuAttribute<'_>,
    ) -> Result<Option<usize>, Error> {
        let (list, format, external) = values.list();
        let count = length_of(list, boxes)?;
        let length = self.filters().check_places(list, boxes.start as usize, count as usize)?;
        if count == 0 {
            return Ok(None);
        }
        if format == ValueFormat::Margins && !self.filters().sphere.is_empty() {
            let problem =
                "cannot change in a recording: margins change the radii of spheres, which the host pads. Use \
                           `change_filters`"
                    .to_owned();
            return Err(Error::BadFilter { list, index: None, problem });
        }
        check(gpu, external, bytes_of(format, count), list, || format!("{count} values"))?;
        self.fit(length)?;
        // Set this before the memory plan, so that the budget includes the world ids.
        self.numbers_worlds |= list == WORLD;
        Ok(Some(length))
    }

    /// Uploads the filters for the `length` boxes of a list, and records the change of the list to external values. The
    /// change must be [checked](Self::check_change).
    ///
    /// # Errors
    /// The errors of [`upload`](Self::upload); [`Error::Gpu`] if the kernel is rejected.
    pub fn record_change(
        &mut self,
        to: Change<'_>,
        length: usize,
        boxes: &Range<u32>,
        values: GpuAttribute<'_>,
    ) -> Result<(), Error> {
        let (list, format, external) = values.list();
        let (first, count) = (boxes.start, boxes.end - boxes.start);
        let Some(external) = bind(external, bytes_of(format, count)) else { return Ok(()) };
        let Change { gpu, encoder, prepare } = to;
        self.upload(gpu, length, false)?;
        self.note_change(list);
        let place = if format == ValueFormat::Margins { Some(0) } else { self.lists.place_of(self.checked(), list) };
        let place = place.ok_or_else(|| super::table::no_list(list))?;
        if list == WORLD && self.world_ids.is_none() {
            self.world_ids = Some(Buffer::of(gpu, "world_ids", &self.checked().world_ids(), STORAGE)?);
        }
        let scopes = gpu.open_scopes();
        let world_ids = self.world_ids.as_ref().filter(|_| list == WORLD);
        let world_count = world_ids.map_or(0, |ids| ids.len() as u32);
        let change = FilterChange { place, first, count, world_count, format: 0, radius: 0 };
        let mut pass = Pass::begin(gpu, encoder);
        let words = &self.lists.words;
        if let Some(ids) = world_ids {
            if world_count == 0 && !self.on_device.contains(&WORLD) {
                // If all boxes are global, the host stores the number of one world for them. Store the global world
                // instead.
                words.write_at(gpu, place.into(), &vec![Filters::GLOBAL; length]);
            }
            prepare.record_worlds(gpu, &mut pass, change, external, ids, words)?;
        } else if format == ValueFormat::Spheres {
            prepare.record_spheres(gpu, &mut pass, change, external, &self.buffers.margins, words)?;
        } else if format == ValueFormat::Margins {
            prepare.record_filter(gpu, &mut pass, format, change, external, &self.buffers.margins)?;
        } else {
            prepare.record_filter(gpu, &mut pass, format, change, external, words)?;
        }
        pass.finish()?;
        drop(pass);
        scopes.close("filters")?;
        self.note_on_device(list);
        Ok(())
    }

    /// Reverts the preparation of a change of worlds that was not recorded.
    pub fn forget_change(&mut self) {
        if !self.on_device.contains(&WORLD) {
            (self.numbers_worlds, self.world_ids) = (false, None);
        }
    }

    /// Marks a list whose values exist only on the device.
    pub fn note_on_device(&mut self, list: &'static str) {
        if !self.on_device.contains(&list) {
            self.on_device.push(list);
        }
    }

    // ---- half-spaces ----

    /// Checks a change of half-spaces to external half-spaces. Returns `true` if the change is not empty.
    ///
    /// # Errors
    /// [`Error::BadFilter`], [`Error::BadBuffer`]; the errors of [`Filters::check`]; [`Error::OutOfMemory`].
    pub fn check_half_spaces(
        &mut self,
        gpu: &Gpu,
        box_count: u32,
        which: &Range<u32>,
        external: wgpu::BufferSlice<'_>,
    ) -> Result<bool, Error> {
        const LIST: &str = "half_spaces";
        let count = length_of(LIST, which)?;
        let half_space_count = self.checked().half_spaces().len();
        if which.end as usize > half_space_count {
            let problem =
                format!("is the end of a range; it must be at most the count of half-spaces, {half_space_count}");
            return Err(Error::BadFilter { list: LIST, index: Some(which.end.into()), problem });
        }
        check(gpu, external, bytes::<[f32; 4]>(count), LIST, || format!("{count} half-spaces"))?;
        self.fit(box_count as usize)?;
        Ok(count > 0)
    }

    /// Uploads the filters for this many boxes, and records the change of half-spaces to external half-spaces. The
    /// change must be [checked](Self::check_half_spaces).
    ///
    /// # Errors
    /// The errors of [`upload`](Self::upload); [`Error::Gpu`] if the kernel is rejected.
    pub fn record_half_spaces(
        &mut self,
        to: Change<'_>,
        box_count: u32,
        which: &Range<u32>,
        external: wgpu::BufferSlice<'_>,
    ) -> Result<(), Error> {
        let (first, count) = (which.start, which.end - which.start);
        let Some(external) = bind(external, bytes::<[f32; 4]>(count)) else { return Ok(()) };
        let Change { gpu, encoder, prepare } = to;
        self.upload(gpu, box_count as usize, false)?;
        let place = self.lists.place_of_half_spaces();
        let change = FilterChange { place, first, count, world_count: 0, format: 0, radius: 0 };
        let scopes = gpu.open_scopes();
        let mut pass = Pass::begin(gpu, encoder);
        prepare.record_planes(gpu, &mut pass, change, external, &self.lists.words)?;
        pass.finish()?;
        drop(pass);
        scopes.close("filters")?;
        self.note_on_device("half_spaces");
        Ok(())
    }

    // ---- points ----

    /// Checks that no filter specifies shapes.
    ///
    /// # Errors
    /// [`Error::BadFilter`].
    pub fn check_points(&self) -> Result<(), Error> {
        let filters = self.filters();
        let lists = [
            ("margin", filters.margin.is_empty()),
            ("half_spaces", filters.half_spaces.is_empty()),
            ("sphere", filters.sphere.is_empty()),
        ];
        match lists.into_iter().find(|(_, is_empty)| !is_empty) {
            None => Ok(()),
            Some((list, _)) => {
                let problem = "is set; it must be empty, since the input is points or spheres".to_owned();
                Err(Error::BadFilter { list, index: None, problem })
            }
        }
    }

    /// Returns the boxes of the recorded points; `None` if a search of this kind has no points.
    pub fn boxes_of(&self, kind: SearchKind) -> Option<wgpu::BindingResource<'_>> {
        self.points.as_ref().filter(|_| kind == SearchKind::Points).map(|points| points.buffers.boxes.all())
    }

    /// Returns the bytes of the buffers for points.
    pub fn point_bytes(&self) -> u64 {
        self.points.as_ref().map_or(0, |points| PointBuffers::bytes(&points.capacity))
    }

    /// Returns the capacity to allocate for this many points; `None` if the current capacity suffices.
    fn missing_point_capacity(&self, point_count: u32) -> Option<PointCapacity> {
        let required = PointCapacity { points: point_count.into(), filter_u32_count: self.lists.words.len() };
        let has_capacity = |points: &PointLists| {
            let has = points.capacity;
            has.points >= required.points && has.filter_u32_count == required.filter_u32_count
        };
        (!self.points.as_ref().is_some_and(has_capacity)).then_some(required)
    }

    /// Returns the additional bytes of buffers that this many points need. The filters must be uploaded.
    ///
    /// # Errors
    /// [`Error::TooManyBoxes`].
    pub fn missing_point_bytes(&self, gpu: &Gpu, point_count: u32) -> Result<u64, Error> {
        let Some(capacity) = self.missing_point_capacity(point_count) else { return Ok(0) };
        let rows: Vec<Row> = PointBuffers::rows(&capacity).collect();
        check_rows(point_count.into(), &gpu.device().limits(), &rows)?;
        Ok(PointBuffers::bytes(&capacity).saturating_sub(self.point_bytes()))
    }

    /// Ensures the buffers for this many points, and records their boxes and spheres. The filters must be uploaded.
    /// `radius` is the radius of all points; `None` if each point has its own.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`]; [`Error::Gpu`] if the kernel is rejected.
    pub fn record_points(
        &mut self,
        to: Change<'_>,
        point_count: u32,
        external: wgpu::BindingResource<'_>,
        radius: Option<f32>,
    ) -> Result<(), Error> {
        let Change { gpu, encoder, prepare } = to;
        if let Some(capacity) = self.missing_point_capacity(point_count) {
            // Old and new buffers together may exceed the memory.
            self.points = None;
            let buffers = PointBuffers::new(gpu, &capacity)?;
            let lists = self.lists.of_points(gpu, buffers.words.clone())?;
            self.points = Some(PointLists { lists, buffers, capacity });
        }
        let Some(PointLists { buffers: PointBuffers { boxes, words }, .. }) = &self.points else { return Ok(()) };
        let filters = &self.lists.words;
        let change = FilterChange {
            place: filters.len() as u32,
            first: 0,
            count: point_count,
            world_count: 0,
            format: 0,
            radius: radius.unwrap_or(f32::NAN).to_bits(),
        };
        let scopes = gpu.open_scopes();
        // Copy on the device, since commands may have changed the lists.
        encoder.copy_buffer_to_buffer(filters.raw(), 0, words.raw(), 0, 4 * filters.len());
        let mut pass = Pass::begin(gpu, encoder);
        prepare.record_points(gpu, &mut pass, change, external, boxes, words)?;
        pass.finish()?;
        drop(pass);
        scopes.close("points")
    }

    // ---- pairs to exclude ----

    /// Checks that the capacity allows `at_most` excluded pairs from a buffer, and fits the filters to this many boxes.
    ///
    /// # Errors
    /// [`Error::BadFilter`]; the errors of [`Filters::check`]; [`Error::OutOfMemory`].
    pub fn check_exclude(&mut self, box_count: u32, at_most: u32) -> Result<(), Error> {
        let capacity = self.filters().exclude_at_most;
        if capacity == 0 || at_most > capacity {
            let problem = format!("has up to {at_most} pairs; it must have at most `exclude_at_most`, {capacity}");
            return Err(Error::BadFilter { list: "exclude", index: None, problem });
        }
        self.fit(box_count as usize)
    }

    /// Uploads the filters for this many boxes, and returns the places of external excluded pairs. The caller must
    /// record them, and then call [`note_on_device`](Self::note_on_device).
    ///
    /// # Errors
    /// The errors of [`upload`](Self::upload).
    pub fn begin_exclude(
        &mut self,
        gpu: &Gpu,
        box_count: u32,
        at_most: u32,
        is_stored: bool,
    ) -> Result<ExcludeChange, Error> {
        self.upload(gpu, box_count as usize, false)?;
        let (rows, others) = self.lists.places_of_listed();
        Ok(ExcludeChange {
            rows,
            others,
            box_count: self.uploaded.unwrap_or(0) as u32,
            at_most,
            include_count: self.checked().include().len() as u32,
            is_stored: u32::from(is_stored),
        })
    }

    /// Returns the buffers of the sort of excluded pairs, and the included pairs.
    ///
    /// # Errors
    /// [`Error::NothingRecorded`] if no buffers for external pairs are allocated.
    pub fn excluding(&self) -> Result<(&ExcludeBuffers, &Buffer<crate::Pair>), Error> {
        let buffers = self.excluding.as_ref().ok_or(Error::NothingRecorded)?;
        Ok((buffers, &self.buffers.included))
    }

    /// Returns the flag that commands set if excluded pairs exceed the capacity; `None` if `exclude_at_most` is 0.
    /// Every search reads the flag, even a search that was recorded before the list of pairs, since the search may be
    /// submitted after the list.
    pub fn refused(&self) -> Option<&Buffer<u32>> {
        self.excluding.as_ref().map(|buffers| &buffers.refused)
    }
}

/// The list of worlds.
pub(super) const WORLD: &str = "world";

/// Returns the bytes of the values of this many boxes in an external buffer.
fn bytes_of(format: ValueFormat, count: u32) -> u64 {
    match format {
        ValueFormat::Spheres => bytes::<[f32; 4]>(count),
        _ => bytes::<u32>(count),
    }
}

/// Returns the length of a range of a list.
///
/// # Errors
/// [`Error::BadFilter`] if the range ends before it begins.
fn length_of(list: &'static str, range: &Range<u32>) -> Result<u32, Error> {
    range.end.checked_sub(range.start).ok_or_else(|| {
        let problem = "is the begin of a range; the end must not be smaller".to_owned();
        Error::BadFilter { list, index: Some(range.start.into()), problem }
    })
}
