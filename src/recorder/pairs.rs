//! Records searches whose pairs stay on the GPU.

use super::readbacks::{Timed, unlocked};
use super::{GpuInput, Recorder};
use crate::filters::lists::SearchKind;
use crate::filters::recorded::Change;
use crate::gpu::Gpu;
use crate::gpu::external::{bind, check};
use crate::gpu::timing::Timer;
use crate::memory::{Call, Results};
use crate::{Error, GpuPairs};

/// The count of elements in a buffer, such as boxes. A `u32` converts to a known count.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum GpuCount<'a> {
    /// A count that the host knows.
    Known(u32),
    /// A `u32` in a buffer of the device, read when the commands run. So a program that generates boxes on the GPU need
    /// not read their count back. Memory, most dispatches and the lists of the filters are sized for `at_most`. Each
    /// index from the count to `at_most` costs one comparison. The slice must have `BufferUsages::STORAGE`, and begin
    /// at a multiple of the device's `min_storage_buffer_offset_alignment`.
    ///
    /// If the count exceeds `at_most`, there are no pairs, and [`PairHeader::overflow`](crate::PairHeader::overflow)
    /// reports this. A stored box count cannot be combined with [`Filters::include`](crate::Filters::include), since
    /// the host cannot check these pairs.
    Stored {
        /// The count, as a `u32` at the start of the slice.
        count: wgpu::BufferSlice<'a>,
        /// The upper limit of the count.
        at_most: u32,
    },
}

impl From<u32> for GpuCount<'_> {
    fn from(count: u32) -> Self {
        Self::Known(count)
    }
}

impl<'a> GpuCount<'a> {
    /// Returns the upper limit of the count.
    pub fn at_most(self) -> u32 {
        match self {
            Self::Known(at_most) | Self::Stored { at_most, .. } => at_most,
        }
    }

    /// Checks that the count can be read. `what` names the counted elements in error messages.
    pub(super) fn check(self, gpu: &Gpu, what: &'static str) -> Result<(), Error> {
        let Self::Stored { count, .. } = self else { return Ok(()) };
        check(gpu, count, size_of::<u32>() as u64, what, || "counts".to_owned())
    }

    /// Returns the count, to bind, if it is in a buffer.
    pub(super) fn stored(self) -> Option<wgpu::BindingResource<'a>> {
        let Self::Stored { count, .. } = self else { return None };
        bind(count, size_of::<u32>() as u64)
    }
}

impl Recorder {
    /// Records into `encoder` the search for the pairs of the first `box_count` boxes in `boxes`. `boxes` is a slice of
    /// a buffer with `BufferUsages::STORAGE`, such as `buffer.slice(..)`, with 24 bytes per box, as
    /// [`Aabb`](crate::Aabb). The input can also be points or spheres of 16 bytes ([`GpuInput`]), and the box count can
    /// be in a buffer ([`GpuCount::Stored`]). Nothing is submitted, and the host does not wait for results. The call
    /// blocks while it compiles kernels or allocates. To avoid this, call [`compile_ahead`](Self::compile_ahead) and
    /// [`reserve`](Self::reserve) first.
    ///
    /// The list has the capacity that [`reserve`](Self::reserve) requested, or four pairs per box, at least 4,096. If
    /// the list is too short, the header still has the exact count. [`record_window`](Self::record_window) writes the
    /// rest of the pairs, or all pairs to a longer list. After the GPU has completed such a recording, the next
    /// recording allocates a list for 1.5 times the counted pairs, as far as limits and budget allow. If there are more
    /// candidates than [`Options::candidate_limit`](crate::Options::candidate_limit), the list is empty, and
    /// [`PairHeader::overflow`](crate::PairHeader::overflow) reports this.
    ///
    /// # Errors
    /// [`Error::BadBuffer`] if the slice is too short, does not begin at a multiple of the device's
    /// `min_storage_buffer_offset_alignment`, or cannot be bound as storage; for points [`Error::BadOption`] if the
    /// distance is invalid, and [`Error::BadFilter`] if filters have shapes; the errors of [`reserve`](Self::reserve).
    /// For more boxes than fit, use [`BroadPhase::find_pairs`](crate::BroadPhase::find_pairs).
    pub fn record<'a>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        boxes: impl Into<GpuInput<'a>>,
        box_count: impl Into<GpuCount<'a>>,
    ) -> Result<GpuPairs<'_>, Error> {
        let (input, box_count) = (boxes.into(), box_count.into());
        self.check_external(input, box_count)?;
        let call = self.ensure_capacity(box_count.at_most(), input.kind())?;
        let readbacks = unlocked(&mut self.readbacks);
        let timer = readbacks.lease_timer(&self.core.gpu, Timed::Search)?;
        self.record_search(encoder, &call, input, box_count, timer.as_ref().map(|leased| &leased.copy))?;
        let Self { core, readbacks, .. } = self;
        let readbacks = unlocked(readbacks);
        let pairs = core.workspace.shared()?.pairs.list.borrowed();
        readbacks.record_times(encoder, Timed::Search, timer);
        readbacks.record_header(&core.gpu, encoder, pairs.header, None);
        readbacks.record_report(core, encoder)?;
        Ok(pairs)
    }

    /// Checks the external buffers, and that the filters fit their boxes.
    pub(super) fn check_external(&mut self, input: GpuInput<'_>, box_count: GpuCount<'_>) -> Result<(), Error> {
        input.check(&self.core.gpu, box_count.at_most())?;
        if input.kind() == SearchKind::Points {
            self.filters.check_points()?;
        }
        box_count.check(&self.core.gpu, "box count")?;
        if matches!(box_count, GpuCount::Stored { .. }) && !self.filters.filters().include.is_empty() {
            let problem = "has pairs; it must be empty if the box count is in a buffer".to_owned();
            return Err(Error::BadFilter { list: "include", index: None, problem });
        }
        self.filters.fit(box_count.at_most() as usize)
    }

    /// Records the search of this call. The boxes must be checked, and the buffers allocated.
    pub(super) fn record_search(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        call: &Call,
        input: GpuInput<'_>,
        box_count: GpuCount<'_>,
        timer: Option<&Timer>,
    ) -> Result<(), Error> {
        let at_most = box_count.at_most();
        let Self { core, filters, .. } = self;
        // Discard the results of the last recording, even if this recording fails.
        core.workspace.forget_results();
        filters.upload(&core.gpu, at_most as usize, false)?;
        let own = core.workspace.lease_boxes(&core.options, filters)?.ok_or(Error::Busy)?;
        if let Some((points, radius)) = input.points(at_most) {
            core.workspace.check_points(&core.options, filters, at_most)?;
            let to = Change { gpu: &core.gpu, encoder, prepare: core.pipeline.prepare() };
            filters.record_points(to, at_most, points, radius)?;
        }
        let filters = &*filters;
        let boxes = input.boxes(at_most).or(filters.boxes_of(call.kind)).unwrap_or_else(|| own.boxes.all());
        let scopes = core.gpu.open_scopes();
        let stored = box_count.stored();
        if stored.is_some() || filters.refused().is_some() {
            core.record_counted(encoder, call, stored, boxes, filters, timer)?;
        } else {
            core.record_flow(encoder, call, boxes, filters, None, timer)?;
        }
        scopes.close("recording").inspect_err(|_| core.workspace.forget_results())
    }

    /// Records into `encoder` commands that write another part of the list of the last [`record`](Self::record): the
    /// pairs from index `first` on. The part has up to `pair_capacity` pairs, or up to the capacity of the list if this
    /// is larger. `boxes` and `box_count` must be the arguments of that recording; for a count in a buffer, pass its
    /// upper limit. In canonical order, each part is sorted separately.
    ///
    /// # Errors
    /// The errors of [`record`](Self::record). [`Error::NothingRecorded`] if the results of the last recording are no
    /// longer valid. These calls invalidate them: [`record_events`](Self::record_events); a [`record`](Self::record)
    /// that failed; [`set_filters`](Self::set_filters), [`change_filters`](Self::change_filters),
    /// [`record_filters`](Self::record_filters) or another recorded change of filters; a
    /// [`set_options`](Self::set_options) that changes order or budget; and [`reserve`](Self::reserve) for more boxes.
    pub fn record_window<'a>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        boxes: impl Into<GpuInput<'a>>,
        box_count: u32,
        first: u64,
        pair_capacity: u32,
    ) -> Result<GpuPairs<'_>, Error> {
        let input = boxes.into();
        input.check(&self.core.gpu, box_count)?;
        let Self { core, filters, readbacks, .. } = self;
        let readbacks = unlocked(readbacks);
        let results = core.workspace.shared().ok().and_then(|shared| shared.results());
        let call = match results {
            Some(Results { call, has_windows: true, .. })
                if (call.box_count, call.kind) == (box_count, input.kind()) =>
            {
                call.clone()
            }
            _ => return Err(Error::NothingRecorded),
        };
        core.workspace.lengthen_list(pair_capacity.into(), &core.options, filters)?;
        let scopes = core.gpu.open_scopes();
        let own = core.workspace.any_boxes()?;
        let boxes = input.boxes(box_count).or(filters.boxes_of(call.kind)).unwrap_or_else(|| own.boxes.all());
        let timer = readbacks.lease_timer(&core.gpu, Timed::Window)?;
        core.record_window(encoder, &call, boxes, filters, first, timer.as_ref().map(|leased| &leased.copy))?;
        readbacks.record_times(encoder, Timed::Window, timer);
        if let Some(results) = &mut core.workspace.shared_mut()?.results {
            results.has_list = true;
        }
        scopes.close("recording")?;
        Ok(core.workspace.shared()?.pairs.list.borrowed())
    }
}
