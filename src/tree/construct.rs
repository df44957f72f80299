//! Builds and refits a tree from boxes on the host or on the device.

use super::build::{BuildInput, TreeBuffers, TreeCapacity};
use super::submission::{Recording, wait};
use super::{AsyncTree, Built, Tree, TreeRecorder};
use crate::base::constants::INVALID_LISTED;
use crate::base::layout::{Cube, Params, TreeShape, TreeSummary};
use crate::gpu::buffers::Buffer;
use crate::gpu::external::{bind_boxes, check_boxes};
use crate::gpu::kernel::Pass;
use crate::gpu::readback::Readback;
use crate::gpu::table::STORAGE;
use crate::grid::sort::Sort;
use crate::grid::sort_variant;
use crate::queries::Surface;
use crate::{Aabb, Error, Filters, TreeReport};

/// The boxes of a [`Tree`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum TreeBoxes<'a> {
    /// Boxes in host memory.
    Host(&'a [Aabb]),
    /// This many boxes of 24 bytes (as [`Aabb`]) at the start of a slice of a buffer of the device. The device reads
    /// the boxes after all earlier submissions, and does not copy them.
    Device(wgpu::BufferSlice<'a>, u32),
}

impl TreeBoxes<'_> {
    fn len(&self) -> usize {
        match *self {
            Self::Host(boxes) => boxes.len(),
            Self::Device(_, box_count) => box_count as usize,
        }
    }
}

impl<'a> From<&'a [Aabb]> for TreeBoxes<'a> {
    fn from(boxes: &'a [Aabb]) -> Self {
        Self::Host(boxes)
    }
}

impl<'a> From<&'a Vec<Aabb>> for TreeBoxes<'a> {
    fn from(boxes: &'a Vec<Aabb>) -> Self {
        Self::Host(boxes)
    }
}

impl<'a, const N: usize> From<&'a [Aabb; N]> for TreeBoxes<'a> {
    fn from(boxes: &'a [Aabb; N]) -> Self {
        Self::Host(boxes)
    }
}

/// A slice of a buffer of the device, and its box count.
impl<'a> From<(wgpu::BufferSlice<'a>, u32)> for TreeBoxes<'a> {
    fn from((slice, box_count): (wgpu::BufferSlice<'a>, u32)) -> Self {
        Self::Device(slice, box_count)
    }
}

impl Tree {
    /// Builds the tree of these boxes: `&[Aabb]` in host memory, or `(buffer.slice(..), box_count)` on the device.
    /// Answers have the indices of these boxes. **Blocks** until it is built.
    ///
    /// # Errors
    /// [`Error::FilterLength`] and [`Error::BadFilter`] if the filters do not fit the boxes; [`Error::TooManyBoxes`] if
    /// the tree exceeds one binding of the device; [`Error::FiltersChanged`] if the filters are
    /// [shared](Self::share_filters) and their owner changed them; [`Error::BadBuffer`] if a slice is too short for the
    /// boxes, starts at an offset that is not a multiple of the device's `min_storage_buffer_offset_alignment`, or
    /// cannot be bound as storage; [`Error::OutOfMemory`], [`Error::DeviceLost`], [`Error::Gpu`]. After an error the
    /// tree is not built.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn build<'a>(&mut self, boxes: impl Into<TreeBoxes<'a>>) -> Result<&TreeReport, Error> {
        pollster::block_on(self.blocking().build(boxes))?;
        Ok(&self.report)
    }

    /// Fits the tree to moved boxes, like [`cpu::Tree::refit`](crate::cpu::Tree::refit). The boxes may be on the host
    /// or on the device, independently of the build. **Blocks** until it is complete.
    ///
    /// # Errors
    /// [`Error::NotBuilt`] if there was no build, the last build failed, or worlds or margins changed since. The
    /// following errors leave the tree unchanged: [`Error::OtherTree`] if it was built of another box count;
    /// [`Error::BadBuffer`] as in [`build`](Self::build); [`Error::FilterLength`] and [`Error::BadFilter`] if the
    /// filters do not fit the boxes. After [`Error::FiltersChanged`] the tree is unchanged, or not built if the filters
    /// changed during the call. After [`Error::OutOfMemory`], [`Error::DeviceLost`] or [`Error::Gpu`] the tree is not
    /// built.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn refit<'a>(&mut self, boxes: impl Into<TreeBoxes<'a>>) -> Result<&TreeReport, Error> {
        pollster::block_on(self.blocking().refit(boxes))?;
        Ok(&self.report)
    }

    /// Returns the report of the last build or refit.
    pub fn report(&self) -> &TreeReport {
        &self.report
    }
}

/// Builds and refits as futures.
impl AsyncTree<'_> {
    /// Does the same as [`Tree::build`], without blocking.
    ///
    /// # Errors
    /// The errors of the call of [`Tree`] with the same name.
    pub async fn build<'a>(&mut self, boxes: impl Into<TreeBoxes<'a>>) -> Result<&TreeReport, Error> {
        let (boxes, tree) = (boxes.into(), &mut *self.tree);
        let Some((capacity, shape)) = tree.begin_build(boxes)? else { return Ok(&tree.report) };
        let readback = tree.submit(|tree, encoder| tree.record_all(encoder, capacity, &shape, boxes))?;
        let (summary, cube) = summary_of(&wait(&tree.gpu, readback, self.waiting).await?)?;
        tree.filters.check_source()?;
        tree.built = Some(Built { capacity, shape, cube, surface: surface_of(&summary) });
        tree.report_on(&summary);
        Ok(&tree.report)
    }

    /// Does the same as [`Tree::refit`], without blocking.
    ///
    /// # Errors
    /// The errors of the call of [`Tree`] with the same name.
    pub async fn refit<'a>(&mut self, boxes: impl Into<TreeBoxes<'a>>) -> Result<&TreeReport, Error> {
        let (boxes, tree) = (boxes.into(), &mut *self.tree);
        tree.begin_refit(boxes)?;
        // The tree is not built until the refit is complete.
        let Some(built) = tree.built.take() else { return Ok(&tree.report) };
        tree.report = TreeReport::default();
        let readback = tree.submit(|tree, encoder| tree.record_moved(encoder, &built, boxes))?;
        let (summary, _) = summary_of(&wait(&tree.gpu, readback, self.waiting).await?)?;
        tree.filters.check_source()?;
        tree.built = Some(built);
        tree.report_on(&summary);
        Ok(&tree.report)
    }
}

/// Builds and refits in the encoder of the caller.
impl TreeRecorder {
    /// Records a build of the tree from the first `box_count` boxes in `boxes`. `boxes` is a slice of a buffer of the
    /// device, such as `buffer.slice(..)`, with 24 bytes per box, as [`Aabb`]. The report has only the box count, and
    /// the growth of a later refit is NaN. Queries that are recorded afterwards use this tree. If the encoder is never
    /// submitted, the tree is undefined until it is built again.
    ///
    /// # Errors
    /// The errors of [`Tree::build`].
    pub fn record_build(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        boxes: wgpu::BufferSlice<'_>,
        box_count: u32,
    ) -> Result<(), Error> {
        let (boxes, tree) = (TreeBoxes::Device(boxes, box_count), &mut self.tree);
        tree.check_device()?;
        let Some((capacity, shape)) = tree.begin_build(boxes)? else { return Ok(()) };
        let scopes = tree.gpu.open_scopes();
        tree.record_all(encoder, capacity, &shape, boxes)?;
        scopes.close("recording")?;
        let cube = Cube { low: [0.0; 3], scale: 0.0 };
        let surface = Surface { sum: f64::NAN, vast_count: u32::MAX };
        tree.built = Some(Built { capacity, shape, cube, surface });
        tree.is_recorded = true;
        tree.report = TreeReport { box_count, growth: f64::NAN, ..TreeReport::default() };
        tree.report.bytes = tree.memory_bytes();
        Ok(())
    }

    /// Records a refit of the tree to moved boxes, in a buffer as for [`record_build`](Self::record_build). The report
    /// does not change. Queries that are recorded afterwards use the fitted tree.
    ///
    /// # Errors
    /// The errors of [`Tree::refit`].
    pub fn record_refit(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        boxes: wgpu::BufferSlice<'_>,
        box_count: u32,
    ) -> Result<(), Error> {
        let (boxes, tree) = (TreeBoxes::Device(boxes, box_count), &mut self.tree);
        tree.check_device()?;
        tree.begin_refit(boxes)?;
        let Some(built) = tree.built.clone() else { return Ok(()) };
        tree.is_recorded = true;
        let scopes = tree.gpu.open_scopes();
        let recorded = tree.record_moved(encoder, &built, boxes).and_then(|()| scopes.close("recording"));
        if recorded.is_err() {
            // After an error, the encoder may have a part of the refit.
            tree.clear();
        }
        recorded
    }
}

impl Tree {
    /// Allocates a tree of these boxes, and uploads filters. Without boxes, the tree becomes empty, and the result is
    /// `None`.
    fn begin_build(&mut self, boxes: TreeBoxes<'_>) -> Result<Option<(TreeCapacity, Buffer<TreeShape>)>, Error> {
        self.clear();
        self.check(boxes)?;
        self.filters.check_source()?;
        self.filters.fit_for_queries(boxes.len())?;
        self.memory_plan(boxes.len())?;
        let capacity = self.capacity(boxes.len());
        if capacity.boxes == 0 {
            self.report = TreeReport { growth: 1.0, bytes: self.memory_bytes(), ..TreeReport::default() };
            self.is_built_of_none = true;
            return Ok(None);
        }
        if capacity.worlds > 0 {
            let filters = self.filters.filters();
            self.worlds = filters.world.iter().copied().zip(self.filters.checked().worlds().iter().copied()).collect();
            self.worlds.remove(&Filters::GLOBAL);
        }
        self.ensure_capacity(capacity)?;
        self.ensure_boxes(boxes)?;
        self.filters.upload(&self.gpu, boxes.len(), false)?;
        Ok(Some((capacity, self.shapes.get(&self.gpu, capacity.shape())?)))
    }

    /// Records a build.
    fn record_all(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        capacity: TreeCapacity,
        shape: &Buffer<TreeShape>,
        boxes: TreeBoxes<'_>,
    ) -> Result<(), Error> {
        let sort = Sort::with_variant(&self.gpu, sort_variant(&self.gpu)?)?;
        let Some((_, tree)) = &self.allocated else { return Err(Error::NothingSubmitted) };
        tree.record_counts(&self.gpu, encoder, capacity.boxes as u32)?;
        tree.record_no_invalid(encoder);
        let mut pass = Pass::begin(&self.gpu, encoder);
        let searched = self.record_prepared(&mut pass, boxes)?;
        let input = BuildInput { capacity, shape, boxes: searched, tree, filters: &self.filters.lists };
        self.build.record_order(&mut pass, &sort, &input);
        self.build.record_bounds(&mut pass, &input);
        pass.finish()
    }

    /// Checks that the tree can be fitted to these boxes, and uploads filters.
    ///
    /// # Errors
    /// The errors of [`refit`](Self::refit). After an error the tree is unchanged.
    fn begin_refit(&mut self, boxes: TreeBoxes<'_>) -> Result<(), Error> {
        self.check(boxes)?;
        self.filters.check_source()?;
        self.check_built()?;
        let built_of = self.built.as_ref().map_or(0, |built| built.capacity.boxes);
        if boxes.len() as u64 != built_of {
            return Err(Error::OtherTree { built: built_of, box_count: boxes.len() as u64 });
        }
        self.filters.fit_for_queries(boxes.len())?;
        self.filters.upload(&self.gpu, boxes.len(), false)?;
        self.boxes_on_host = Vec::new();
        self.is_recorded = false;
        self.ensure_boxes(boxes)
    }

    /// Records a refit.
    fn record_moved(
        &self,
        encoder: &mut wgpu::CommandEncoder,
        built: &Built,
        boxes: TreeBoxes<'_>,
    ) -> Result<(), Error> {
        let Some((_, tree)) = &self.allocated else { return Err(Error::NothingSubmitted) };
        tree.record_no_invalid(encoder);
        let mut pass = Pass::begin(&self.gpu, encoder);
        let searched = self.record_prepared(&mut pass, boxes)?;
        let (shape, filters) = (&built.shape, &self.filters.lists);
        let input = BuildInput { capacity: built.capacity, shape, boxes: searched, tree, filters };
        self.build.record_bounds(&mut pass, &input);
        pass.finish()
    }

    /// Allocates the buffers of a tree, unless they are large enough.
    fn ensure_capacity(&mut self, capacity: TreeCapacity) -> Result<(), Error> {
        let covers = |allocated: &TreeCapacity| {
            allocated.boxes >= capacity.boxes
                && allocated.worlds >= capacity.worlds
                && allocated.boxes / 4 <= capacity.boxes
        };
        if self.allocated.as_ref().is_some_and(|(allocated, _)| covers(allocated)) {
            return Ok(());
        }
        // Release the old buffers first, since old and new together may exceed the memory.
        self.allocated = None;
        self.boxes = None;
        self.allocated = Some((capacity, TreeBuffers::new(&self.gpu, &capacity)?));
        Ok(())
    }

    /// Allocates the buffer for boxes of the host, with the capacity of the tree, unless it exists.
    fn ensure_boxes(&mut self, boxes: TreeBoxes<'_>) -> Result<(), Error> {
        if let (TreeBoxes::Host(_), None, Some((capacity, _))) = (boxes, &self.boxes, &self.allocated) {
            self.boxes = Some(Buffer::new(&self.gpu, "boxes", capacity.boxes, STORAGE)?);
        }
        Ok(())
    }

    /// Returns an error if a buffer of the caller is too short for the boxes or cannot be bound.
    fn check(&self, boxes: TreeBoxes<'_>) -> Result<(), Error> {
        match boxes {
            TreeBoxes::Host(_) => Ok(()),
            TreeBoxes::Device(slice, box_count) => check_boxes(&self.gpu, slice, box_count),
        }
    }

    /// Uploads boxes of the host, records their preparation by filters, and returns the buffer of prepared boxes.
    fn record_prepared<'a>(
        &'a self,
        pass: &mut Pass,
        boxes: TreeBoxes<'a>,
    ) -> Result<wgpu::BindingResource<'a>, Error> {
        let given = match (boxes, &self.boxes) {
            (TreeBoxes::Host(boxes), Some(own)) => {
                own.write(&self.gpu, boxes);
                Some(own.all())
            }
            (TreeBoxes::Host(_), None) => None,
            (TreeBoxes::Device(slice, box_count), _) => bind_boxes(slice, box_count),
        };
        let Some(given) = given else { return Err(Error::NothingSubmitted) };
        let Some(buffers) = self.filters.preparation() else { return Ok(given) };
        let box_count = boxes.len() as u32;
        let params = self.prepare_params.get(&self.gpu, Params { box_count, ..bytemuck::Zeroable::zeroed() })?;
        self.prepare.record(pass, box_count, &params, given, buffers);
        Ok(buffers.prepared_boxes.all())
    }

    /// Submits what `record` records, and begins to read the summary of the tree.
    fn submit(
        &mut self,
        record: impl FnOnce(&Self, &mut wgpu::CommandEncoder) -> Result<(), Error>,
    ) -> Result<Readback, Error> {
        let mut recording = Recording::begin(&self.gpu);
        record(self, &mut recording.encoder)?;
        let Some((_, tree)) = &self.allocated else { return Err(Error::NothingSubmitted) };
        let (of_summary, of_cube) = (size_of::<TreeSummary>() as u64, size_of::<Cube>() as u64);
        let staging = self.memory.staging(&self.gpu, of_summary + of_cube)?;
        recording.encoder.copy_buffer_to_buffer(tree.summary.raw(), 0, &staging, 0, of_summary);
        recording.encoder.copy_buffer_to_buffer(tree.cube.raw(), 0, &staging, of_summary, of_cube);
        recording.read(&self.gpu, &staging, of_summary + of_cube)
    }

    fn report_on(&mut self, summary: &TreeSummary) {
        let Some(built) = &self.built else { return };
        let listed = summary.invalid_count.min(INVALID_LISTED) as usize;
        self.report = TreeReport {
            box_count: built.capacity.boxes as u32,
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

/// Reads the summary of a tree back.
fn summary_of(readback: &Readback) -> Result<(TreeSummary, Cube), Error> {
    Ok((readback.value(0)?, readback.value(size_of::<TreeSummary>() as u64)?))
}
