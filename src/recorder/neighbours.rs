//! Records the listing of pairs by box, on the GPU.

use super::Recorder;
use super::readbacks::{Timed, unlocked};
use crate::{Error, GpuPairs};

/// The pairs by box, on the GPU, written by [`Recorder::record_neighbours`]. The buffers are borrowed as in
/// [`GpuPairs`], and are the same until the recorder allocates new buffers. They can be used as storage and to copy
/// from.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GpuNeighbours<'a> {
    /// The list of pairs, which remains valid.
    pub pairs: GpuPairs<'a>,
    /// `[box_count + 1]` the begin of each box's neighbours, a `u32` each. The difference of two consecutive numbers is
    /// the pair count of a box.
    pub offsets: &'a wgpu::Buffer,
    /// `[2 * pairs]` the neighbours of each box, ascending, a `u32` each.
    pub neighbours: &'a wgpu::Buffer,
    /// The count of neighbours, two per pair: a [`PairHeader`](crate::PairHeader). If the list of pairs is too short or
    /// was refused, no box has neighbours, and [`overflow`](crate::PairHeader::overflow) is the same as for the list of
    /// pairs.
    pub header: &'a wgpu::Buffer,
    /// The capacity, in neighbours: twice the capacity of the list of pairs.
    pub capacity: u32,
}

impl Recorder {
    /// Records into `encoder` commands that list the neighbours of each box. These are all boxes with which the box
    /// forms a pair, with smaller and with larger indices. The pairs are the pairs of the last [`record`](Self::record)
    /// or [`record_events`](Self::record_events). Use this for algorithms that visit the neighbours of a box, such as
    /// densities of particles, islands, or the colouring of a solver. Nothing is submitted or read back. The list of
    /// pairs and the events stay valid, but this call ends their borrow. So record their use before this call, take the
    /// list from the result, or clone the buffers of the events.
    ///
    /// The neighbours of each box ascend, whatever the order of the pairs. Cost: six dispatches. Memory: 16 bytes per
    /// pair of the list's capacity and 4 per box, not part of the [`MemoryPlan`](crate::MemoryPlan) but within the
    /// memory budget.
    ///
    /// # Errors
    /// [`Error::NothingRecorded`] if the list is no longer valid: after another recorded search, after
    /// [`reserve`](Self::reserve) for more pairs, after [`set_filters`](Self::set_filters),
    /// [`change_filters`](Self::change_filters), [`record_filters`](Self::record_filters) or another recorded change of
    /// filters. [`Error::OverBudget`], [`Error::OutOfMemory`], [`Error::DeviceLost`], [`Error::Gpu`].
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
