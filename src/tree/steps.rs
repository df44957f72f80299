//! Records events of static worlds: pairs of moving shapes and the boxes of a tree, from step to step.

use bytemuck::Zeroable;

use super::recorder::{Steps, TreeRecorder};
use super::{GpuBatch, GpuLists, GpuShape};
use crate::base::layout::{Params, Window};
use crate::filters::lists::FilterLists;
use crate::pairs::events::{Compared, EventCapacity};
use crate::pairs::recorded::{RecordedSteps, check_identity};
use crate::{Error, GpuEvents, GpuIdentity};

impl TreeRecorder {
    /// Records the events of moving shapes in a static world. The commands of
    /// [`record_overlaps`](Self::record_overlaps) find the pairs; further commands compare them with the pairs of the
    /// last step. A pair is a shape of the batch and a box of the tree. The boxes must have the same indices in every
    /// step; `identity` maps each shape to its index in the last step.
    ///
    /// `capacity` is the most pairs of the step. A step with more pairs, or with an
    /// [unfinished](crate::QueryHeader::unfinished) query, is discarded. Then its lists of events are empty, and their
    /// headers have the reason in [`overflow`](crate::PairHeader::overflow). The next step is compared with the last
    /// submitted step that was not discarded. All lists are in canonical order. `persisting` has all pairs of both
    /// steps.
    ///
    /// A tree has one sequence of steps, so record one batch per step. After a build of other boxes, call
    /// [`forget_steps`](Self::forget_steps). The next recording of the tree overwrites `pairs`. The first call blocks
    /// while kernels compile. Memory: 37 bytes per pair of `capacity`, and 4 per shape. A step that needs larger
    /// buffers than all earlier steps **blocks** until submitted work completes. Use a constant `capacity` and shape
    /// count to avoid this. After [`Error::OutOfMemory`] the last step may be forgotten.
    ///
    /// ```no_run
    /// use broadsweep::record::{GpuBatch, GpuIdentity};
    /// use broadsweep::{Aabb, Error, Recorder, TreeRecorder, wgpu};
    ///
    /// /// Records the pairs of moving boxes among themselves, and with the boxes of a static tree.
    /// fn step(
    ///     (recorder, tree): (&mut Recorder, &mut TreeRecorder),
    ///     encoder: &mut wgpu::CommandEncoder,
    ///     (movers, count): (&wgpu::Buffer, u32),
    /// ) -> Result<(), Error> {
    ///     let among = recorder.record_events(encoder, movers.slice(..), count, GpuIdentity::Index)?;
    ///     let batch = GpuBatch::<Aabb>::new(movers.slice(..), count);
    ///     let with = tree.record_overlap_events(encoder, batch, 8 * count, GpuIdentity::Index)?;
    ///     // among.created.pairs: (mover, mover); with.created.pairs: (mover, box of the tree)
    /// #   let _ = (among, with);
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    /// The errors of [`record_overlaps`](Self::record_overlaps); [`Error::BadBuffer`] also for the buffer of
    /// `identity`; [`Error::NotSubmitted`] if larger buffers are needed while a recorded step is not submitted (in a
    /// browser: has not run).
    pub fn record_overlap_events<S: GpuShape>(
        &mut self,
        encoder: &mut wgpu::CommandEncoder,
        batch: GpuBatch<'_, S>,
        capacity: u32,
        identity: GpuIdentity<'_>,
    ) -> Result<GpuEvents<'_>, Error> {
        let (count, vertices_per_pair, gpu) = (batch.query_count, batch.vertices_per_pair, self.tree.gpu.clone());
        check_identity(&gpu, identity, count)?;
        let steps = match &mut self.steps {
            Some(steps) => steps,
            steps => {
                let filters = FilterLists::none(&gpu)?;
                steps.insert(Steps { recorded: RecordedSteps::default(), filters })
            }
        };
        steps.recorded.compile(&gpu)?;
        let now = steps.recorded.capacity();
        let (pairs, generations) = (u64::from(capacity).max(now.pairs), u64::from(count).max(now.generations));
        steps.recorded.ensure(&gpu, EventCapacity { pairs, generations })?;
        let list = self.record_overlap_lists(encoder, batch, Window::new(0, capacity))?.clone();
        let params = &self.tree.prepare_params.get(&gpu, Params { box_count: count, ..Params::zeroed() })?;
        let Some(Steps { recorded, filters }) = &self.steps else { return Err(Error::NothingRecorded) };
        let step = Compared { params, pairs: &list.pairs, header: list.header.all(), is_join: true, filters };
        recorded.record(&gpu, encoder, None, vertices_per_pair, step, (identity, count))?;
        let list = self.memory.buffers().ok_or(Error::NothingRecorded)?;
        recorded.events(GpuLists::of(list, capacity).pairs())
    }

    /// Forgets the last step, and releases the memory of events. In the next step every pair is created.
    pub fn forget_steps(&mut self) {
        self.steps = None;
    }
}
