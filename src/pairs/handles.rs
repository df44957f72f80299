//! The result buffers of recordings. The caller borrows them until the next recording.

use std::mem::offset_of;

use crate::base::constants::EVENT_CREATED;
use crate::base::layout::PairArguments;

/// Pairs on the GPU, written by [`Recorder::record`](crate::Recorder::record). The recorder is borrowed while they are
/// in use, since the next recording overwrites them.
///
/// ```compile_fail,E0499
/// # fn frame(recorder: &mut broadsweep::Recorder, encoder: &mut broadsweep::wgpu::CommandEncoder, boxes: &broadsweep::wgpu::Buffer) {
/// let first = recorder.record(encoder, boxes.slice(..), 100).unwrap();
/// let second = recorder.record(encoder, boxes.slice(..), 100).unwrap(); // overwrites the list of `first`
/// encoder.clear_buffer(first.pairs, 0, None);
/// # }
/// ```
/// To store a list, or to read [`statistics`](crate::Recorder::statistics) while using one, clone the buffers:
/// `pairs.pairs.clone()`. A clone is cheap. The compiler does not check clones: read them only in commands that are
/// submitted before the commands of the next recording.
///
/// **Buffers can change.** A recording returns new buffers if it exceeds the capacity in boxes or pairs, or if an
/// earlier list was too short. It also does so after [`set_options`](crate::Recorder::set_options) with another order
/// or budget. Within the [reserved](crate::Recorder::reserve) capacity, the buffers stay the same. Compare buffers with
/// `==`, and recreate bind groups that use a replaced buffer.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GpuPairs<'a> {
    /// `[capacity]` pairs `(a, b)`, two `u32` each. The first [`PairHeader::written`](crate::PairHeader::written) pairs
    /// are valid. The buffer can be used as storage, as vertex (instance) buffer and to copy from.
    pub pairs: &'a wgpu::Buffer,
    /// The pair count: a [`PairHeader`](crate::PairHeader). The buffer can be used as storage and to copy from.
    pub header: &'a wgpu::Buffer,
    /// The arguments of an indirect dispatch and of indirect draws: [`PairArguments`]. The buffer can be used for
    /// indirect calls, as storage and to copy from. The arguments are not part of the header, so that a pass can
    /// bind the header and dispatch by the arguments.
    pub arguments: &'a wgpu::Buffer,
    /// The capacity, in pairs.
    pub capacity: u32,
}

impl GpuPairs<'_> {
    /// The offset of the arguments of an indirect dispatch in [`arguments`](Self::arguments): workgroups of 256
    /// invocations, in x and y, that cover the list. The index of a pair is `id.y * num_workgroups.x * 256 + id.x`;
    /// skip indices from [`written`](crate::PairHeader::written) on.
    pub const DISPATCH_OFFSET: u64 = offset_of!(PairArguments, dispatch) as u64;
    /// The offset of the arguments of an indirect draw in [`arguments`](Self::arguments): one instance per written
    /// pair, with [`Options::vertices_per_pair`](crate::Options::vertices_per_pair) vertices.
    pub const DRAW_OFFSET: u64 = offset_of!(PairArguments, draw) as u64;
    /// The offset of the arguments of an indirect draw of all pairs as one instance in [`arguments`](Self::arguments).
    /// Vertex `v` belongs to pair `v / vertices_per_pair`. The shader reads this pair from the list, bound as storage.
    pub const DRAW_LIST_OFFSET: u64 = offset_of!(PairArguments, draw_list) as u64;
}

/// Events on the GPU, written by [`Recorder::record_events`](crate::Recorder::record_events) or
/// [`TreeRecorder::record_overlap_events`](crate::TreeRecorder::record_overlap_events). The buffers are borrowed and
/// can change as in [`GpuPairs`]. All lists are in canonical order.
///
/// A step is discarded if its pairs do not fit the list, or if the search has too many candidates. Then its lists of
/// events are empty, and [`PairHeader::overflow`](crate::PairHeader::overflow) of each list has the reason. The next
/// step is compared with the last step that was not discarded.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GpuEvents<'a> {
    /// All pairs of the step.
    pub pairs: GpuPairs<'a>,
    /// `[pairs]` the index of each pair in the list of the last step, a `u32`; or [`CREATED`](Self::CREATED). A solver
    /// can use it as the key for a warm start. The buffer can be used as storage and to copy from.
    pub before: &'a wgpu::Buffer,
    /// The pairs that the last step did not have.
    pub created: GpuPairs<'a>,
    /// The pairs of the last step that this step does not have, with the box indices of the last step.
    pub lost: GpuPairs<'a>,
    /// The pairs of both steps, except pairs of two boxes that [sleep](crate::Filters::sleeping) or are
    /// [fixed](crate::Filters::fixed).
    pub persisting: GpuPairs<'a>,
}

impl GpuEvents<'_> {
    /// The value of [`before`](Self::before) for a pair that the last step did not have.
    pub const CREATED: u32 = EVENT_CREATED;
}

/// Maps boxes of a recorded step to boxes of the last recorded step. Buffers must be buffers of the device with
/// `BufferUsages::STORAGE`.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum GpuIdentity<'a> {
    /// Maps each box to the box with the same index. Boxes beyond the last step's count are new; boxes beyond this
    /// step's count are removed.
    #[default]
    Index,
    /// `[box_count]` generations, one `u32` each. Maps a box to the box with the same index if both have the same
    /// generation. If they differ, the box is new, and the earlier box is removed. The comparison uses the last step
    /// that had generations. A box beyond the box count of that step has no generation to compare with:
    /// it is the box with the same index in the last step.
    Generations(wgpu::BufferSlice<'a>),
    /// `[box_count]` distinct indices, one `u32` each: the index that each box had in the last step, or
    /// [`Step::NEW`](crate::Step::NEW). An index that the last step did not have also means a new box. Boxes of the
    /// last step whose indices are not in the list are removed. If two boxes have the same index, the device refuses
    /// the step, since a pair of the last step could match two pairs.
    Was(wgpu::BufferSlice<'a>),
}
