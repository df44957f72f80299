//! The result buffers of recordings, borrowed by the caller until the next one.

use std::mem::offset_of;

use crate::base::constants::EVENT_CREATED;
use crate::base::layout::PairArguments;

/// Pairs on the GPU, written by [`Recorder::record`](crate::Recorder::record). The recorder is borrowed while they are in use, since the next
/// recording overwrites them.
///
/// ```compile_fail,E0499
/// # fn frame(recorder: &mut broadsweep::Recorder, encoder: &mut broadsweep::wgpu::CommandEncoder, boxes: &broadsweep::wgpu::Buffer) {
/// let first = recorder.record(encoder, boxes.slice(..), 100).unwrap();
/// let second = recorder.record(encoder, boxes.slice(..), 100).unwrap(); // overwrites the list of `first`
/// encoder.clear_buffer(first.pairs, 0, None);
/// # }
/// ```
/// A program that must store a list, or reads [`statistics`](crate::Recorder::statistics) while it uses one, clones the
/// buffers, which is cheap: `pairs.pairs.clone()`. The compiler does not check clones. Read them only in commands that
/// are submitted before the commands of the next recording.
///
/// **Buffers can change.** A recording returns new buffers if it exceeds the capacity in boxes or pairs, if an earlier
/// list was too short, and after [`set_options`](crate::Recorder::set_options) with another order or budget. Within the
/// [reserved](crate::Recorder::reserve) capacity they stay the same. Compare buffers with `==`, and create bind groups
/// again that use a replaced one.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GpuPairs<'a> {
    /// `[capacity]` pairs `(a, b)`, two `u32` each. The first
    /// [`PairHeader::written`](crate::PairHeader::written) are valid. The buffer can be used as storage, as vertex
    /// (instance) buffer and to copy from.
    pub pairs: &'a wgpu::Buffer,
    /// The number of pairs: a [`PairHeader`](crate::PairHeader). The buffer can be used as storage and to copy from.
    pub header: &'a wgpu::Buffer,
    /// The arguments of an indirect dispatch and of indirect draws: [`PairArguments`]. The buffer can be used for
    /// indirect calls, as storage and to copy from. The arguments are not part of the header, so that a pass can
    /// bind the header and dispatch by the arguments.
    pub arguments: &'a wgpu::Buffer,
    /// The pairs that fit.
    pub capacity: u32,
}

impl GpuPairs<'_> {
    /// The offset of the arguments of an indirect dispatch in [`arguments`](Self::arguments): workgroups of 256 invocations, in x and y, that
    /// cover the list. The index of a pair is `id.y * num_workgroups.x * 256 + id.x`; skip those from
    /// [`written`](crate::PairHeader::written) on.
    pub const DISPATCH_OFFSET: u64 = offset_of!(PairArguments, dispatch) as u64;
    /// The offset of the arguments of an indirect draw in [`arguments`](Self::arguments): one instance for each pair that was written, of
    /// [`Options::vertices_per_pair`](crate::Options::vertices_per_pair) vertices.
    pub const DRAW_OFFSET: u64 = offset_of!(PairArguments, draw) as u64;
    /// The offset of the arguments of an indirect draw of all pairs as one instance in [`arguments`](Self::arguments): vertex
    /// `v` is of pair `v / vertices_per_pair`, which the shader reads from the list as storage.
    pub const DRAW_LIST_OFFSET: u64 = offset_of!(PairArguments, draw_list) as u64;
}

/// Events on the GPU, written by [`Recorder::record_events`](crate::Recorder::record_events) or
/// [`TreeRecorder::record_overlap_events`](crate::TreeRecorder::record_overlap_events). The buffers are borrowed and
/// can change as in [`GpuPairs`]. All lists are in canonical order.
///
/// A step is discarded if its pairs do not fit the list, or have too many candidates. The lists of its events are empty then, and
/// [`PairHeader::overflow`](crate::PairHeader::overflow) of each gives the reason. The next step is compared with the last one that was not
/// discarded.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct GpuEvents<'a> {
    /// All pairs of the step.
    pub pairs: GpuPairs<'a>,
    /// `[pairs]` the index of each pair in the list of the last step, a `u32`; or [`CREATED`](Self::CREATED). It is the key for a warm start of
    /// a solver. The buffer can be used as storage and to copy from.
    pub before: &'a wgpu::Buffer,
    /// The pairs that the last step did not have.
    pub created: GpuPairs<'a>,
    /// The pairs of the last step that this one does not have, by the indices that their boxes had there.
    pub lost: GpuPairs<'a>,
    /// The pairs of both steps, except pairs of two boxes that [sleep](crate::Filters::sleeping) or are
    /// [fixed](crate::Filters::fixed).
    pub persisting: GpuPairs<'a>,
}

impl GpuEvents<'_> {
    /// Marks a pair that the last step did not have.
    pub const CREATED: u32 = EVENT_CREATED;
}

/// Maps boxes of a recorded step to boxes of the last recorded step, by buffers of the device with `BufferUsages::STORAGE`.
#[derive(Clone, Copy, Debug, Default)]
#[non_exhaustive]
pub enum GpuIdentity<'a> {
    /// The box with the same index. Boxes beyond the last step's count are new; boxes beyond this step's count are
    /// removed.
    #[default]
    Index,
    /// `[box_count]` generations, a `u32` each. The box with the same index, if its generation is the same as in the
    /// last step with generations, or that step had no such index. Otherwise the box is new, and replaces a removed
    /// one.
    Generations(wgpu::BufferSlice<'a>),
    /// `[box_count]` indices, a `u32` each: the box with this index in the last step, no two the same; or
    /// [`Step::NEW`](crate::Step::NEW), as is any index that the last step did not have. Boxes of the last step that are not
    /// named are removed. If two boxes have the same index, the step is refused on the device if this has an effect: if a
    /// pair of the last step would be two of this one.
    Was(wgpu::BufferSlice<'a>),
}
