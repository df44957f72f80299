//! The filters of a [`BroadPhase`], and what of them lies on the GPU.
//!
//! They are uploaded by the first call that needs them, since its number of boxes is known then, and stay until they are
//! replaced. What is changed afterwards is written where it lies.

use super::{BroadPhase, Contents, Stages};
use crate::filters::Compiled;
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::stages::filter::{FilterLists, Uses};
use crate::{Aabb, Attribute, Error, Filters, Pair};

#[derive(Debug)]
pub(super) struct Filtering {
    pub compiled: Compiled,
    /// For so many boxes they lie on the GPU. A frame in flight may be searched again for fewer.
    uploaded: Option<usize>,
    pub lists: FilterLists,
    /// `[world_count]` the range of cells of each world.
    pub world_cells: Buffer<[u32; 4]>,
    /// `[include_count]` ascending; `None` where there are none.
    pub included: Option<Buffer<Pair>>,
    pub shapes: Option<Shapes>,
}

/// What boxes are prepared with, where they are not searched as they are.
#[derive(Debug)]
pub(super) struct Shapes {
    /// `[box_count]`, or empty.
    pub margins: Buffer<f32>,
    /// `[box_count]` bits, or empty: whether the box stands for a half-space.
    pub half_space_bits: Buffer<u32>,
    /// `[box_count]` what is searched.
    pub prepared: Buffer<Aabb>,
}

/// Bytes that filters take on the GPU, buffer by buffer.
pub(crate) type FilterBytes = [(&'static str, u64); 6];

/// All of them.
pub(crate) fn sum(bytes: &FilterBytes) -> u64 {
    bytes.iter().map(|(_, bytes)| bytes).sum()
}

impl Filtering {
    pub fn new(gpu: &Gpu, compiled: Compiled) -> Result<Self, Error> {
        let lists = FilterLists::none(gpu)?;
        let world_cells = Buffer::storage(gpu, "world_cells", 0)?;
        Ok(Self { compiled, uploaded: None, lists, world_cells, included: None, shapes: None })
    }

    /// What these filters take for so many boxes.
    pub fn bytes_for(compiled: &Compiled, box_count: usize) -> FilterBytes {
        let boxes = box_count as u64;
        let filters = compiled.filters();
        let per_box = |is_used: bool, bytes: u64| if is_used { bytes } else { 0 };
        let include = compiled.include().len() as u64;
        [
            ("filters", 4 * FilterLists::words_for(compiled, boxes)),
            ("world_cells", u64::from(compiled.world_count()) * 16),
            ("included", include * size_of::<Pair>() as u64),
            ("margins", per_box(!filters.margin.is_empty(), 4 * boxes)),
            ("half_space_bits", per_box(!filters.half_spaces.is_empty(), 4 * boxes.div_ceil(32))),
            ("prepared_boxes", per_box(!filters.leaves_boxes(), boxes * size_of::<Aabb>() as u64)),
        ]
    }

    /// Whether the filters fit so many boxes.
    pub fn check(&mut self, box_count: usize) -> Result<(), Error> {
        self.compiled.fit(box_count)
    }

    /// Gives the memory on the GPU back; what is needed is uploaded again.
    pub fn unload(&mut self, gpu: &Gpu) -> Result<(), Error> {
        if self.uploaded.take().is_some() {
            (self.included, self.shapes) = (None, None);
            self.lists = FilterLists::none(gpu)?;
        }
        Ok(())
    }

    /// Uploads what is not there yet for so many boxes.
    fn upload(&mut self, gpu: &Gpu, box_count: usize) -> Result<(), Error> {
        if self.compiled.filters().is_empty() || self.uploaded.is_some_and(|uploaded| uploaded >= box_count) {
            return Ok(());
        }
        let filters = self.compiled.filters();
        self.lists = FilterLists::new(gpu, &self.compiled, box_count)?;
        self.world_cells = Buffer::storage(gpu, "world_cells", u64::from(self.compiled.world_count()))?;
        let include = self.compiled.include();
        self.included = match include.len() {
            0 => None,
            length => {
                let included = Buffer::storage(gpu, "included", length as u64)?;
                included.write(gpu, include);
                Some(included)
            }
        };
        self.shapes = if filters.leaves_boxes() {
            None
        } else {
            let bits = self.compiled.half_space_bits(box_count);
            let shapes = Shapes {
                margins: Buffer::storage(gpu, "margins", filters.margin.len() as u64)?,
                half_space_bits: Buffer::storage(gpu, "half_space_bits", bits.len() as u64)?,
                prepared: Buffer::storage(gpu, "prepared_boxes", box_count as u64)?,
            };
            shapes.margins.write(gpu, &filters.margin);
            shapes.half_space_bits.write(gpu, &bits);
            Some(shapes)
        };
        self.uploaded = Some(box_count);
        Ok(())
    }

    fn change(&mut self, gpu: &Gpu, first: usize, values: Attribute<'_>) -> Result<(), Error> {
        self.compiled.change(first, values)?;
        if u64::from(self.compiled.world_count()) > self.world_cells.len() {
            // There are new worlds.
            self.uploaded = None;
        }
        if self.uploaded.is_some() {
            self.lists.change(gpu, &self.compiled, first, values);
            if let (Attribute::Margin(values), Some(shapes)) = (values, &self.shapes) {
                gpu.queue().write_buffer(shapes.margins.raw(), first as u64 * 4, bytemuck::cast_slice(values));
            }
        }
        Ok(())
    }
}

impl BroadPhase {
    /// Which pairs are not wanted, or always are, from the next call on, until they are replaced;
    /// `Filters::default()` wants every pair of boxes that overlap.
    ///
    /// They are uploaded once, by the next call. Kernels are compiled for the lists there are, by the first call on the
    /// device that needs them: for a moment, or seconds on a software adapter, and never again.
    ///
    /// # Errors
    /// [`Error::BadFilter`] for what has no meaning with any boxes; [`Error::Busy`] while a result is to be taken;
    /// [`Error::OutOfMemory`], [`Error::DeviceLost`]. The filters stay as they were. Whether they fit the
    /// boxes is said by each call: [`Filters::check`].
    pub fn set_filters(&mut self, filters: Filters) -> Result<(), Error> {
        self.check_idle()?;
        let compiled = Compiled::new(filters)?;
        let stages = Stages::new(&self.gpu, Uses::of(compiled.filters()))?;
        self.filtering = Filtering::new(&self.gpu, compiled)?;
        self.whole_filtering = None;
        self.stages = stages;
        self.contents = Contents::Nothing;
        if self.options.memory_budget.is_some() {
            // The buffers may leave no room for them.
            self.release();
        }
        Ok(())
    }

    /// Compiles the kernels that a call for `box_count` boxes needs for the filters, now rather than in that call. Nothing
    /// is left to compile without filters, or where it was done before on this device.
    ///
    /// # Errors
    /// [`Error::Gpu`] where the driver rejects a kernel; [`Error::DeviceLost`].
    pub fn compile(&self, box_count: usize) -> Result<(), Error> {
        let tests_all_pairs = u32::try_from(box_count).is_ok_and(|n| self.tests_all_pairs(n));
        self.stages.compile(&self.gpu, tests_all_pairs)
    }

    /// The filters in use.
    pub fn filters(&self) -> &Filters {
        self.whole_filtering.as_ref().unwrap_or(&self.filtering).compiled.filters()
    }

    /// Changes one list of the filters from box `first` on, and uploads no more than that (of the worlds, all): for
    /// what sleeps and wakes, or leaves and enters, from frame to frame. What was [recorded](Self::record) and is submitted
    /// later searches with the list as it is then.
    ///
    /// # Errors
    /// [`Error::BadFilter`] where the list is shorter, or not in use, or a margin is negative or not finite;
    /// [`Error::Busy`] while a result is to be taken. Nothing is changed then.
    pub fn change_filters(&mut self, first: usize, values: Attribute<'_>) -> Result<(), Error> {
        self.check_idle()?;
        self.restore_filters();
        self.filtering.change(&self.gpu, first, values)?;
        self.contents = Contents::Nothing;
        Ok(())
    }

    /// A call for so many boxes begins: the filters are those of the caller, and fit.
    pub(super) fn begin(&mut self, box_count: usize) -> Result<(), Error> {
        self.restore_filters();
        self.filtering.check(box_count)
    }

    /// The filters of the whole scene, which are put aside where slabs are searched; also where the search of one ended in
    /// a panic of the caller's.
    pub(super) fn restore_filters(&mut self) {
        if let Some(whole) = self.whole_filtering.take() {
            self.filtering = whole;
        }
    }

    /// Bytes of GPU memory that the filters hold.
    pub(super) fn held_filter_bytes(&self) -> u64 {
        self.filtering.uploaded.map_or(0, |box_count| sum(&self.filter_bytes(box_count)))
    }

    /// Bytes that they hold once they are there for so many boxes, or for as many as they are there already.
    pub(super) fn coming_filter_bytes(&self, box_count: usize) -> u64 {
        sum(&self.filter_bytes(box_count.max(self.filtering.uploaded.unwrap_or(0))))
    }

    /// Makes the filters be there for so many boxes.
    pub(super) fn upload_filters(&mut self, box_count: usize) -> Result<(), Error> {
        if self.check_idle().is_ok() && self.filtering.uploaded.is_some_and(|uploaded| uploaded < box_count) {
            // The old ones go first: both at once might not fit.
            self.filtering.unload(&self.gpu)?;
        }
        self.filtering.upload(&self.gpu, box_count)
    }

    /// The most that they take for a slab of so many boxes: [`Compiled::part`] numbers the bodies there are by index.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn slab_filter_bytes(&self, box_count: usize) -> FilterBytes {
        let filters = self.filtering.compiled.filters();
        let mut bytes = self.filter_bytes(box_count);
        if filters.body.is_empty() && !filters.parent.is_empty() {
            bytes[0].1 += 4 * box_count as u64;
        }
        bytes
    }

    /// What the filters take for so many boxes.
    pub(super) fn filter_bytes(&self, box_count: usize) -> FilterBytes {
        Filtering::bytes_for(&self.filtering.compiled, box_count)
    }
}
