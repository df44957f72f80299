//! Building and refitting a tree, of boxes of the host or of the device.

use super::ask::{self, Recording};
#[cfg(not(target_arch = "wasm32"))]
use super::block_on;
use super::build::{TreeBuffers, TreeRoom};
use super::{Built, Tree, Waiting};
use crate::constants::INVALID_LISTED;
use crate::gpu::buffers::Buffer;
use crate::gpu::given::{bind_boxes, check_boxes};
use crate::gpu::kernel::Pass;
use crate::gpu::readback::Readback;
use crate::gpu::table::STORAGE;
use crate::grid::sort::Sort;
use crate::grid::sort_variant;
use crate::layout::{Cube, Params, TreeShape, TreeSummary};
use crate::queries::Surface;
use crate::{Aabb, Error, Filters, TreeReport};

/// Boxes that a tree is built of.
#[derive(Clone, Copy)]
enum Boxes<'a> {
    /// In host memory.
    Host(&'a [Aabb]),
    /// In a buffer of the caller's, at the start of the slice.
    Device(wgpu::BufferSlice<'a>, u32),
}

impl Boxes<'_> {
    fn len(&self) -> usize {
        match *self {
            Self::Host(boxes) => boxes.len(),
            Self::Device(_, box_count) => box_count as usize,
        }
    }
}

impl Tree {
    /// Builds the tree of these boxes. Queries answer with their indices. **Blocks** until it is built.
    ///
    /// # Errors
    /// [`Error::FilterLength`] and [`Error::BadFilter`] where the filters do not fit the boxes; [`Error::TooManyBoxes`] where
    /// one binding of the device has no room for the tree; [`Error::FiltersChanged`] where they are [shared](Self::share_filters);
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`], [`Error::Gpu`]. The tree is not built then.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn build(&mut self, boxes: &[Aabb]) -> Result<&TreeReport, Error> {
        block_on(self.build_waiting(Boxes::Host(boxes), Waiting::Blocking))?;
        Ok(&self.report)
    }

    /// Builds the tree as [`build`](Self::build) does, without blocking the thread.
    ///
    /// # Errors
    /// As there.
    pub async fn build_async(&mut self, boxes: &[Aabb]) -> Result<&TreeReport, Error> {
        self.build_waiting(Boxes::Host(boxes), Waiting::Polling).await?;
        Ok(&self.report)
    }

    /// Fits the tree to boxes that have moved; as [`cpu::Tree::refit`](crate::cpu::Tree::refit). **Blocks**.
    ///
    /// # Errors
    /// As there, [`Error::FiltersChanged`], after which the tree stays as it is, or is not built if they changed meanwhile, and
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`], [`Error::Gpu`], after which the tree is not built.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn refit(&mut self, boxes: &[Aabb]) -> Result<&TreeReport, Error> {
        block_on(self.refit_waiting(Boxes::Host(boxes), Waiting::Blocking))?;
        Ok(&self.report)
    }

    /// Fits the tree as [`refit`](Self::refit) does, without blocking the thread.
    ///
    /// # Errors
    /// As there.
    pub async fn refit_async(&mut self, boxes: &[Aabb]) -> Result<&TreeReport, Error> {
        self.refit_waiting(Boxes::Host(boxes), Waiting::Polling).await?;
        Ok(&self.report)
    }

    /// Builds the tree of `box_count` boxes of 24 bytes (as [`Aabb`]) at the start of `boxes`, a buffer of the device or a part
    /// of one: `buffer.slice(..)`. They are read as they are once all that was submitted before is done, and not kept: nothing
    /// is uploaded, and the same buffer serves [`Recorder::record`](crate::Recorder::record). **Blocks** until the tree is
    /// built.
    ///
    /// # Errors
    /// [`Error::BadBuffer`] where the slice has no room for the boxes, begins at no multiple of the device's
    /// `min_storage_buffer_offset_alignment`, or cannot be bound as storage; and as [`build`](Self::build).
    #[cfg(not(target_arch = "wasm32"))]
    pub fn build_from(&mut self, boxes: wgpu::BufferSlice<'_>, box_count: u32) -> Result<&TreeReport, Error> {
        block_on(self.build_waiting(Boxes::Device(boxes, box_count), Waiting::Blocking))?;
        Ok(&self.report)
    }

    /// Builds the tree as [`build_from`](Self::build_from) does, without blocking the thread.
    ///
    /// # Errors
    /// As there.
    pub async fn build_from_async(
        &mut self,
        boxes: wgpu::BufferSlice<'_>,
        box_count: u32,
    ) -> Result<&TreeReport, Error> {
        self.build_waiting(Boxes::Device(boxes, box_count), Waiting::Polling).await?;
        Ok(&self.report)
    }

    /// Fits the tree to boxes that have moved, in a buffer as that of [`build_from`](Self::build_from). The tree may have been
    /// built of boxes in host memory. **Blocks**.
    ///
    /// # Errors
    /// [`Error::BadBuffer`]; and as [`refit`](Self::refit).
    #[cfg(not(target_arch = "wasm32"))]
    pub fn refit_from(&mut self, boxes: wgpu::BufferSlice<'_>, box_count: u32) -> Result<&TreeReport, Error> {
        block_on(self.refit_waiting(Boxes::Device(boxes, box_count), Waiting::Blocking))?;
        Ok(&self.report)
    }

    /// Fits the tree as [`refit_from`](Self::refit_from) does, without blocking the thread.
    ///
    /// # Errors
    /// As there.
    pub async fn refit_from_async(
        &mut self,
        boxes: wgpu::BufferSlice<'_>,
        box_count: u32,
    ) -> Result<&TreeReport, Error> {
        self.refit_waiting(Boxes::Device(boxes, box_count), Waiting::Polling).await?;
        Ok(&self.report)
    }

    /// Records into `encoder` the build of the tree of boxes in a buffer as that of [`build_from`](Self::build_from). Nothing is
    /// submitted or read back: the report knows the number of boxes alone, and a later refit knows no growth (NaN). Queries
    /// that are recorded behind it ask this tree; submit before any other call that builds, refits or asks. Where the encoder is never
    /// submitted, the tree has no meaning until it is built again.
    ///
    /// # Errors
    /// As [`build_from`](Self::build_from).
    pub fn record_build(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        boxes: wgpu::BufferSlice<'_>,
        box_count: u32,
    ) -> Result<(), Error> {
        let boxes = Boxes::Device(boxes, box_count);
        self.check_device()?;
        let Some((room, shape)) = self.begin_build(boxes)? else { return Ok(()) };
        let scopes = self.gpu.open_scopes();
        self.record_all(encoder, room, &shape, boxes)?;
        scopes.close("recording")?;
        let cube = Cube { low: [0.0; 3], scale: 0.0 };
        let surface = Surface { sum: f64::NAN, vast_count: u32::MAX };
        self.built = Some(Built { room, shape, cube, surface });
        self.is_built = true;
        self.report = TreeReport { box_count, growth: f64::NAN, ..TreeReport::default() };
        self.report.bytes = self.memory_bytes();
        Ok(())
    }

    /// Records into `encoder` the fit of the tree to boxes that have moved, in a buffer as that of
    /// [`build_from`](Self::build_from). Nothing is submitted or read back, and the report stays as it was. For what is recorded
    /// behind it the same holds as for [`record_build`](Self::record_build).
    ///
    /// # Errors
    /// As [`refit_from`](Self::refit_from).
    pub fn record_refit(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        boxes: wgpu::BufferSlice<'_>,
        box_count: u32,
    ) -> Result<(), Error> {
        let boxes = Boxes::Device(boxes, box_count);
        self.check_device()?;
        self.begin_refit(boxes)?;
        let Some(built) = self.built.clone() else { return Ok(()) };
        let scopes = self.gpu.open_scopes();
        let recorded = self.record_moved(encoder, &built, boxes).and_then(|()| scopes.close("recording"));
        if recorded.is_err() {
            // Half of it may be in the encoder.
            self.clear();
        }
        recorded
    }

    /// Returns the report on the last build or refit.
    pub fn report(&self) -> &TreeReport {
        &self.report
    }

    async fn build_waiting(&mut self, boxes: Boxes<'_>, waiting: Waiting) -> Result<(), Error> {
        let Some((room, shape)) = self.begin_build(boxes)? else { return Ok(()) };
        let ((), readback) = self.submit(|tree, encoder| tree.record_all(encoder, room, &shape, boxes))?;
        let (summary, cube) = summary_of(&ask::wait(&self.gpu, readback, waiting).await?)?;
        self.filters.check_taken()?;
        self.built = Some(Built { room, shape, cube, surface: surface_of(&summary) });
        self.is_built = true;
        self.report_on(&summary);
        Ok(())
    }

    /// Makes room for a tree of these boxes, and uploads filters; returns nothing where there are no boxes. The tree is empty
    /// then.
    fn begin_build(&mut self, boxes: Boxes<'_>) -> Result<Option<(TreeRoom, Buffer<TreeShape>)>, Error> {
        self.clear();
        self.check(boxes)?;
        self.filters.check_taken()?;
        self.filters.fit_for_queries(boxes.len())?;
        self.memory_plan(boxes.len())?;
        let room = self.room(boxes.len());
        if room.boxes == 0 {
            self.report = TreeReport { growth: 1.0, bytes: self.memory_bytes(), ..TreeReport::default() };
            self.is_built = true;
            return Ok(None);
        }
        if room.worlds > 0 {
            let filters = self.filters.filters();
            self.worlds = filters.world.iter().copied().zip(self.filters.checked().worlds().iter().copied()).collect();
            self.worlds.remove(&Filters::GLOBAL);
        }
        self.make_room(room)?;
        self.make_room_for(boxes)?;
        self.filters.upload(&self.gpu, boxes.len(), false)?;
        Ok(Some((room, self.shapes.get(&self.gpu, room.shape())?)))
    }

    /// Records a build.
    fn record_all(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        room: TreeRoom,
        shape: &Buffer<TreeShape>,
        boxes: Boxes<'_>,
    ) -> Result<(), Error> {
        let sort = Sort::with_variant(&self.gpu, sort_variant(&self.gpu)?)?;
        let Some((_, tree)) = &self.made else { return Err(Error::NothingSubmitted) };
        tree.record_counts(&self.gpu, encoder, room.boxes as u32)?;
        tree.record_no_invalid(encoder);
        let mut pass = Pass::begin(&self.gpu, encoder);
        let searched = self.record_prepared(&mut pass, boxes)?;
        let filters = &self.filters.lists;
        self.build.record_order(&mut pass, &sort, room, shape, searched.clone(), filters, tree);
        self.build.record_bounds(&mut pass, room, shape, searched, filters, tree);
        pass.finish()
    }

    async fn refit_waiting(&mut self, boxes: Boxes<'_>, waiting: Waiting) -> Result<(), Error> {
        self.begin_refit(boxes)?;
        // Until the end there is no tree.
        let Some(built) = self.built.take() else { return Ok(()) };
        self.is_built = false;
        self.report = TreeReport::default();
        let ((), readback) = self.submit(|tree, encoder| tree.record_moved(encoder, &built, boxes))?;
        let (summary, _) = summary_of(&ask::wait(&self.gpu, readback, waiting).await?)?;
        self.filters.check_taken()?;
        self.built = Some(built);
        self.is_built = true;
        self.report_on(&summary);
        Ok(())
    }

    /// Checks that the tree can be fitted to these boxes, and uploads filters.
    fn begin_refit(&mut self, boxes: Boxes<'_>) -> Result<(), Error> {
        self.check(boxes)?;
        self.filters.check_taken()?;
        let built_of = self.built.as_ref().map_or(0, |built| built.room.boxes);
        if boxes.len() as u64 != built_of {
            return Err(Error::OtherTree { built: built_of, box_count: boxes.len() as u64 });
        }
        self.filters.fit_for_queries(boxes.len())?;
        self.filters.upload(&self.gpu, boxes.len(), false)?;
        self.make_room_for(boxes)
    }

    /// Records a refit.
    fn record_moved(&self, encoder: &mut wgpu::CommandEncoder, built: &Built, boxes: Boxes<'_>) -> Result<(), Error> {
        let Some((_, tree)) = &self.made else { return Err(Error::NothingSubmitted) };
        tree.record_no_invalid(encoder);
        let mut pass = Pass::begin(&self.gpu, encoder);
        let searched = self.record_prepared(&mut pass, boxes)?;
        let filters = &self.filters.lists;
        self.build.record_bounds(&mut pass, built.room, &built.shape, searched, filters, tree);
        pass.finish()
    }

    /// Makes the buffers of a tree, unless there is room already.
    fn make_room(&mut self, room: TreeRoom) -> Result<(), Error> {
        let covers =
            |made: &TreeRoom| made.boxes >= room.boxes && made.worlds >= room.worlds && made.boxes / 4 <= room.boxes;
        if self.made.as_ref().is_some_and(|(made, _)| covers(made)) {
            return Ok(());
        }
        // The old buffers go first: old and new at once might not fit.
        self.made = None;
        self.boxes = None;
        self.made = Some((room, TreeBuffers::new(&self.gpu, &room)?));
        Ok(())
    }

    /// Makes the buffer for boxes of the host, as long as those of the tree, unless it is there.
    fn make_room_for(&mut self, boxes: Boxes<'_>) -> Result<(), Error> {
        if let (Boxes::Host(_), None, Some((room, _))) = (boxes, &self.boxes, &self.made) {
            self.boxes = Some(Buffer::new(&self.gpu, "boxes", room.boxes, STORAGE)?);
        }
        Ok(())
    }

    /// Refuses a buffer of the caller's that has no room for the boxes or cannot be bound.
    fn check(&self, boxes: Boxes<'_>) -> Result<(), Error> {
        match boxes {
            Boxes::Host(_) => Ok(()),
            Boxes::Device(slice, box_count) => check_boxes(&self.gpu, slice, box_count),
        }
    }

    /// Uploads boxes of the host and records what filters do to them, and returns where they lie as they are searched.
    fn record_prepared<'a>(&'a self, pass: &mut Pass, boxes: Boxes<'a>) -> Result<wgpu::BindingResource<'a>, Error> {
        let given = match (boxes, &self.boxes) {
            (Boxes::Host(boxes), Some(own)) => {
                own.write(&self.gpu, boxes);
                Some(own.all())
            }
            (Boxes::Host(_), None) => None,
            (Boxes::Device(slice, box_count), _) => bind_boxes(slice, box_count),
        };
        let Some(given) = given else { return Err(Error::NothingSubmitted) };
        let Some(buffers) = self.filters.preparation() else { return Ok(given) };
        let box_count = boxes.len() as u32;
        let params = self.prepare_params.get(&self.gpu, Params { box_count, ..bytemuck::Zeroable::zeroed() })?;
        let prepared = &buffers.prepared_boxes;
        self.prepare.record(pass, box_count, &params, given, &buffers.margins, &buffers.half_space_bits, prepared);
        Ok(prepared.all())
    }

    /// Submits what `record` records, and begins to read the summary of the tree.
    fn submit<T>(
        &mut self,
        record: impl FnOnce(&Self, &mut wgpu::CommandEncoder) -> Result<T, Error>,
    ) -> Result<(T, Readback), Error> {
        let mut recording = Recording::begin(&self.gpu);
        let recorded = record(self, &mut recording.encoder)?;
        let Some((_, tree)) = &self.made else { return Err(Error::NothingSubmitted) };
        let (of_summary, of_cube) = (size_of::<TreeSummary>() as u64, size_of::<Cube>() as u64);
        let staging = self.memory.staging(&self.gpu, of_summary + of_cube)?;
        recording.encoder.copy_buffer_to_buffer(tree.summary.raw(), 0, &staging, 0, of_summary);
        recording.encoder.copy_buffer_to_buffer(tree.cube.raw(), 0, &staging, of_summary, of_cube);
        Ok((recorded, recording.read(&self.gpu, &staging, of_summary + of_cube)?))
    }

    fn report_on(&mut self, summary: &TreeSummary) {
        let Some(built) = &self.built else { return };
        let listed = summary.invalid_count.min(INVALID_LISTED) as usize;
        self.report = TreeReport {
            box_count: built.room.boxes as u32,
            invalid_count: summary.invalid_count,
            first_invalid: summary.first_invalid[..listed].iter().map(|first| first[0]).collect(),
            growth: built.surface.growth(surface_of(summary)),
            bytes: 0,
        };
        self.report.bytes = self.memory_bytes();
    }
}

fn surface_of(summary: &TreeSummary) -> Surface {
    Surface { sum: f64::from(summary.surface), vast_count: summary.vast_count }
}

/// Returns what the host reads of a tree.
fn summary_of(readback: &Readback) -> Result<(TreeSummary, Cube), Error> {
    Ok((readback.value(0)?, readback.value(size_of::<TreeSummary>() as u64)?))
}
