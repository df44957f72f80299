//! Pairs by box, on the GPU.

use super::Recorder;
use super::readbacks::{Timed, unlocked};
use crate::{Error, GpuPairs};

/// The pairs by box, on the GPU, written by [`Recorder::record_neighbours`]. The buffers are borrowed as
/// those of [`GpuPairs`], and stay the same until the engine allocates others. They can be used as storage and to copy from.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GpuNeighbours<'a> {
    /// The list of the pairs, which is still there.
    pub pairs: GpuPairs<'a>,
    /// `[box_count + 1]` the begin of the neighbours of each box, a `u32` each. The difference of two in a row is the number
    /// of pairs of a box.
    pub offsets: &'a wgpu::Buffer,
    /// `[2 * pairs]` the boxes that each box pairs with, ascending, a `u32` each.
    pub neighbours: &'a wgpu::Buffer,
    /// The number of neighbours, two for each pair: a [`PairHeader`](crate::PairHeader). If the list of pairs is too short
    /// or was refused, [`overflow`](crate::PairHeader::overflow) is the same as in the list, and no box has neighbours.
    pub header: &'a wgpu::Buffer,
    /// The neighbours that fit: two for each pair of the capacity of the list.
    pub capacity: u32,
}

impl Recorder {
    /// Records into `encoder` the listing of the pairs of the last [`record`](Self::record) or
    /// [`record_events`](Self::record_events) by box: for each box the boxes that it pairs with, those before it and those
    /// behind it. It is for algorithms that go from box to box: densities of particles, islands, colours of a solver.
    /// Nothing is submitted or read back. The list of pairs and the events stay valid: record their use before this call, or take the list from
    /// the result, or clone the buffers of the events.
    ///
    /// The neighbours of each box ascend, whatever the order of the pairs. It needs six dispatches, and 16 bytes of GPU memory
    /// for each pair of the capacity of the list and 4 for each box, beside the [`MemoryPlan`](crate::MemoryPlan) but
    /// within the memory budget.
    ///
    /// # Errors
    /// [`Error::NothingRecorded`] if the list is no longer there: after another search that was recorded, after
    /// [`reserve`](Self::reserve) for more pairs, after [`set_filters`](Self::set_filters),
    /// [`change_filters`](Self::change_filters), [`record_filters`](Self::record_filters) or another recorded change of filters.
    /// [`Error::OverBudget`], [`Error::OutOfMemory`], [`Error::DeviceLost`], [`Error::Gpu`].
    pub fn record_neighbours(&mut self, encoder: &mut wgpu::CommandEncoder) -> Result<GpuNeighbours<'_>, Error> {
        let Self { core, filters, readbacks, .. } = self;
        let readbacks = unlocked(readbacks);
        let results = core.workspace.shared().ok().and_then(|shared| shared.results());
        let results = results.filter(|results| results.has_list).ok_or(Error::NothingRecorded)?;
        let box_count = results.call.box_count;
        core.workspace.ensure_neighbours(&core.options, filters)?;
        let shared = core.workspace.shared()?;
        let (list, buffers) = (&shared.pairs.list, shared.neighbours.as_ref().ok_or(Error::NothingRecorded)?);
        let scopes = core.gpu.open_scopes();
        let timer = readbacks.lease_timer(&core.gpu, Timed::Neighbours)?;
        let leased = timer.as_ref().map(|leased| &leased.copy);
        core.pipeline.record_neighbours(encoder, box_count, list, buffers, leased)?;
        readbacks.record_times(encoder, Timed::Neighbours, timer);
        scopes.close("neighbours")?;
        Ok(GpuNeighbours {
            pairs: list.borrowed(),
            offsets: buffers.rows.offsets.raw(),
            neighbours: buffers.lists.neighbours.raw(),
            header: buffers.lists.header.raw(),
            capacity: 2 * list.capacity,
        })
    }
}
