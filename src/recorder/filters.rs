//! Filters from external buffers.

use std::ops::Range;

use super::Recorder;
use super::pairs::GpuCount;
use crate::filters::lists::SearchKind;
use crate::filters::recorded::Change;
use crate::gpu::external::{bind, bytes, check};
use crate::{Error, GpuAttribute, Pair};

impl Recorder {
    /// Records into `encoder` the change of one list of the filters, of the boxes in `boxes`, to values in a buffer of the
    /// device: like [`change_filters`](Self::change_filters), for programs in which a kernel computes values such as sleeping flags.
    /// Later searches in the queue use these values; earlier ones do not.
    ///
    /// The list is in use ([`set_filters`](Self::set_filters)), and the first recorded change allocates as [`record`](Self::record) does
    /// and uploads it. The values of other boxes stay. The slice begins at a multiple of the device's
    /// `min_storage_buffer_offset_alignment`, with the value of the first of these boxes. A box with a margin that is negative or not finite
    /// is invalid, unless it stands for a half-space. Any [world](crate::Filters::world) is allowed. Unbounded boxes of a world that no box
    /// had when the filters were set or changed on the host cost more: they are tested against the boxes of all worlds.
    /// The cost is 8 bytes of traffic for each, of a world a bisection among the worlds of the host, and a dispatch.
    ///
    /// A sphere that has no meaning has no points, so its box pairs with nothing. Margins are refused beside spheres, since the host pads the radii.
    ///
    /// From then on the host has no copy of the list: [`change_filters`](Self::change_filters) of this list, and sharing it with a
    /// [tree](crate::Tree::share_filters) on another device, are refused until the next [`set_filters`](Self::set_filters).
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
    /// [`Error::BadFilter`] if the list is shorter, or not in use, or the range ends before it begins;
    /// [`Error::BadBuffer`] if the slice is too short for the values or cannot be bound as storage; [`Error::FilterLength`] if lists
    /// are for different numbers of boxes; and as [`reserve`](Self::reserve). No value is changed then.
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

    /// Records the change of a list of this many boxes, which was checked.
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

    /// Records into `encoder` the change of the [half-spaces](crate::Filters::half_spaces) `which`, by number, in the ascending order of
    /// their boxes, to values in a buffer of the device: the x, y and z of the normal and the offset, four `f32` each. The boxes
    /// that stand for half-spaces are those that [`set_filters`](Self::set_filters) named. One with a number that is not finite, or with a normal of
    /// zero, overlaps nothing. Later searches in the queue, of at most `box_count` boxes, use them.
    ///
    /// All else is as for [`record_filters`](Self::record_filters); the cost is 32 bytes of traffic for each.
    ///
    /// # Errors
    /// [`Error::BadFilter`] if there are fewer half-spaces, or the range ends before it begins; [`Error::BadBuffer`] if the slice is
    /// too short for them or cannot be bound as storage; [`Error::FilterLength`] or [`Error::BadFilter`] if the filters do not
    /// fit this many boxes; and as [`reserve`](Self::reserve). Nothing is changed then.
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

    /// Records into `encoder` that the pairs in a buffer of the device are [excluded](crate::Filters::exclude), and no others: two `u32`
    /// each, as [`Pair`], in any order, also within a pair, and any number of times. A pair of a box with itself or with one that is not
    /// there excludes nothing. Later searches in the queue, of at most `box_count` boxes, use this list.
    ///
    /// [`Filters::exclude_at_most`](crate::Filters::exclude_at_most) is the most pairs. Their number may be in a buffer too
    /// ([`GpuCount::Stored`]), such as the header of the pairs of another engine, which begins with their number, and has 0 there
    /// if that search was refused. If it exceeds `at_most`, searches have no pairs, and
    /// [`PairHeader::overflow`](crate::PairHeader::overflow) reports it, until another list is recorded.
    ///
    /// All else is as for [`record_filters`](Self::record_filters). The cost is a sort of the pairs, and a
    /// bisection among them for each box.
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
    /// [`Error::BadFilter`] if there may be more than `exclude_at_most`; [`Error::BadBuffer`] if a slice is too short for the pairs or
    /// their number, or cannot be bound as storage; [`Error::FilterLength`] or [`Error::BadFilter`] if the filters do not fit this
    /// many boxes; and as [`reserve`](Self::reserve). Nothing is changed then.
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

    /// Ensures the buffers for a change of filters of this many boxes.
    fn begin_change(&mut self, box_count: usize) -> Result<(), Error> {
        // The budget includes filters only beside the buffers of a search.
        self.core.ensure_capacity(&mut self.filters, box_count, 0, SearchKind::Boxes)?;
        self.core.workspace.forget_results();
        Ok(())
    }
}
