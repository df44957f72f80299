//! Records changes of filters from external buffers.

use std::ops::Range;

use super::Recorder;
use super::pairs::GpuCount;
use crate::filters::lists::SearchKind;
use crate::filters::recorded::Change;
use crate::gpu::external::{bind, bytes, check};
use crate::{Error, GpuAttribute, Pair};

impl Recorder {
    /// Records into `encoder` a change of one list of the filters, for the boxes in `boxes`, to values in a buffer of
    /// the device. Use it instead of [`change_filters`](Self::change_filters) for values that a kernel computes, such
    /// as sleeping flags. Only later searches in the queue use the new values.
    ///
    /// The list must be in use ([`set_filters`](Self::set_filters)). The first recorded change allocates as
    /// [`record`](Self::record) does, and uploads the list. The values of other boxes do not change. The slice must
    /// begin with the value of the first box in `boxes`, at a multiple of the device's
    /// `min_storage_buffer_offset_alignment`.
    ///
    /// Values: a negative or non-finite margin makes a box invalid, unless the box stands for a half-space. Any
    /// [world](crate::Filters::world) is allowed. If the host does not know a world, its unbounded boxes cost more:
    /// they are tested against the boxes of all worlds. Cost: a dispatch and 8 bytes of traffic per box; for worlds
    /// also a bisection per box.
    ///
    /// An invalid sphere has no points, so its box has no pairs. With spheres in use, a change of margins is refused,
    /// since the host pads the radii.
    ///
    /// Afterwards, the host has no copy of the list. Until the next [`set_filters`](Self::set_filters),
    /// [`change_filters`](Self::change_filters) refuses this list, and the filters cannot be shared with a
    /// [tree](crate::Tree::share_filters) on another device.
    ///
    /// ```no_run
    /// # use broadsweep::record::GpuAttribute;
    /// # use broadsweep::{Recorder, Error, wgpu};
    /// # fn frame(
    /// #     recorder: &mut Recorder, encoder: &mut wgpu::CommandEncoder, boxes: &wgpu::Buffer, sleeping: &wgpu::Buffer, count: u32,
    /// # ) -> Result<(), Error> {
    /// recorder.record_filters(encoder, 0..count, GpuAttribute::Sleeping(sleeping.slice(..)))?;
    /// let pairs = recorder.record(encoder, boxes.slice(..), count)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::BadFilter`] if the list is empty or too short, or the range ends before it begins; [`Error::BadBuffer`]
    /// if the slice is too short or cannot be bound as storage; [`Error::FilterLength`] if lists have different
    /// lengths; the errors of [`reserve`](Self::reserve). After an error, no value is changed.
    pub fn record_filters(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        boxes: Range<u32>,
        values: GpuAttribute<'_>,
    ) -> Result<(), Error> {
        let Some(length) = self.filters.check_change(&self.core.gpu, &boxes, values)? else { return Ok(()) };
        let recorded = self.record_change(encoder, length, &boxes, values);
        recorded.inspect_err(|_| self.filters.forget_change())
    }

    /// Records the checked change of a list for `box_count` boxes.
    fn record_change(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        length: usize,
        boxes: &Range<u32>,
        values: GpuAttribute<'_>,
    ) -> Result<(), Error> {
        self.begin_change(length)?;
        let Self { core, filters, .. } = self;
        let to = Change { gpu: &core.gpu, encoder, prepare: core.pipeline.prepare() };
        filters.record_change(to, length, boxes, values)
    }

    /// Records into `encoder` a change of the [half-spaces](crate::Filters::half_spaces) in the range `which` to values
    /// in a buffer of the device. A half-space is four `f32`: x, y and z of the normal, and the offset. Half-spaces are
    /// numbered in the ascending order of their boxes; [`set_filters`](Self::set_filters) determines these boxes. A
    /// half-space with a number that is not finite, or with a zero normal, overlaps nothing. Later searches in the
    /// queue, of at most `box_count` boxes, use the new values.
    ///
    /// In other respects, this call works like [`record_filters`](Self::record_filters). Cost: 32 bytes of traffic per
    /// half-space.
    ///
    /// # Errors
    /// [`Error::BadFilter`] if there are fewer half-spaces, or the range ends before it begins; [`Error::BadBuffer`] if
    /// the slice is too short or cannot be bound as storage; [`Error::FilterLength`] or [`Error::BadFilter`] if the
    /// filters do not fit this many boxes; the errors of [`reserve`](Self::reserve). After an error, nothing is
    /// changed.
    pub fn record_half_spaces(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        box_count: u32,
        which: Range<u32>,
        half_spaces: wgpu::BufferSlice<'_>,
    ) -> Result<(), Error> {
        if !self.filters.check_half_spaces(&self.core.gpu, box_count, &which, half_spaces)? {
            return Ok(());
        }
        self.begin_change(box_count as usize)?;
        let Self { core, filters, .. } = self;
        let to = Change { gpu: &core.gpu, encoder, prepare: core.pipeline.prepare() };
        filters.record_half_spaces(to, box_count, &which, half_spaces)
    }

    /// Records into `encoder` a replacement of the [excluded pairs](crate::Filters::exclude) by pairs in a buffer of
    /// the device: two `u32` each, as [`Pair`]. The pairs can have any order and can repeat; the two indices of a pair
    /// can have any order. A pair of a box with itself, or with an index beyond the boxes, excludes nothing. Later
    /// searches in the queue, of at most `box_count` boxes, use this list.
    ///
    /// [`Filters::exclude_at_most`](crate::Filters::exclude_at_most) is the capacity. The pair count may be in a buffer
    /// ([`GpuCount::Stored`]), for example in the header of the pairs of another recorder. This header begins with the
    /// count, or with 0 if the search was refused. If the count exceeds `at_most`, searches have no pairs until another
    /// list is recorded, and [`PairHeader::overflow`](crate::PairHeader::overflow) reports this.
    ///
    /// In other respects, this call works like [`record_filters`](Self::record_filters). Cost: a sort of the pairs, and
    /// a bisection per box.
    ///
    /// ```no_run
    /// # use broadsweep::record::GpuCount;
    /// # use broadsweep::{Recorder, Error, Filters, wgpu};
    /// # fn frame(
    /// #     recorder: &mut Recorder, encoder: &mut wgpu::CommandEncoder, boxes: &wgpu::Buffer, box_count: u32,
    /// #     joints: &wgpu::Buffer, joint_count: &wgpu::Buffer,
    /// # ) -> Result<(), Error> {
    /// // Once.
    /// recorder.set_filters(Filters::default().with_exclude_at_most(10_000))?;
    /// // After a kernel has listed the joined boxes.
    /// let count = GpuCount::Stored { count: joint_count.slice(..), at_most: 10_000 };
    /// recorder.record_exclude(encoder, box_count, joints.slice(..), count)?;
    /// let pairs = recorder.record(encoder, boxes.slice(..), box_count)?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// [`Error::BadFilter`] if there may be more than `exclude_at_most` pairs; [`Error::BadBuffer`] if a slice is too
    /// short, or cannot be bound as storage; [`Error::FilterLength`] or [`Error::BadFilter`] if the filters do not fit
    /// this many boxes; the errors of [`reserve`](Self::reserve). After an error, nothing is changed.
    pub fn record_exclude<'a>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        box_count: u32,
        pairs: wgpu::BufferSlice<'_>,
        count: impl Into<GpuCount<'a>>,
    ) -> Result<(), Error> {
        let count = count.into();
        let at_most = count.at_most();
        let pair_bytes = bytes::<Pair>(at_most);
        check(&self.core.gpu, pairs, pair_bytes, "exclude", || format!("{at_most} pairs"))?;
        count.check(&self.core.gpu, "exclude count")?;
        self.filters.check_exclude(box_count, at_most)?;
        self.begin_change(box_count as usize)?;
        let Self { core, filters, .. } = self;
        let stored = count.stored();
        let change = filters.begin_exclude(&core.gpu, box_count, at_most, stored.is_some())?;
        core.pipeline.record_exclude(encoder, filters, change, bind(pairs, pair_bytes), stored)?;
        filters.note_on_device("exclude");
        Ok(())
    }

    /// Ensures the buffers for a change of the filters of `box_count` boxes.
    fn begin_change(&mut self, box_count: usize) -> Result<(), Error> {
        // Allocate the search buffers too, since the budget is checked for filters and search buffers together.
        self.core.ensure_capacity(&mut self.filters, box_count, 0, SearchKind::Boxes)?;
        self.core.workspace.forget_results();
        Ok(())
    }
}
