//! The buffers that a submission leases.

use crate::base::layout::{Counts, Frame};
use crate::gpu::Gpu;
use crate::gpu::table::{Row, STAGING, STORAGE, buffer_table};
use crate::{Aabb, Error, Pair};

/// The offset of `Frame` in a staging buffer, after `Counts`.
pub(crate) const FRAME_OFFSET: u64 = size_of::<Counts>() as u64;
/// The bytes of the summary: `Counts` and `Frame`, before the pairs.
pub(crate) const SUMMARY_BYTES: u64 = (FRAME_OFFSET + size_of::<Frame>() as u64).next_multiple_of(16);

buffer_table! {
    /// The boxes of a submission.
    pub struct SubmissionBoxes(box_count: u64) {
        /// `[box_count]` boxes.
        boxes: [Aabb; *box_count], STORAGE;
    }
}

buffer_table! {
    /// The bytes that the host reads: `Counts` and `Frame`, then pairs; or only pairs.
    struct StagingBuffer(pairs: u64) {
        staging: [Pair; SUMMARY_BYTES / size_of::<Pair>() as u64 + (*pairs).max(1)], STAGING;
    }
}

/// A staging buffer, which the host reads.
#[derive(Debug)]
pub(crate) struct Staging {
    buffer: StagingBuffer,
    /// The capacity after the summary, in pairs.
    pub capacity: u32,
}

impl Staging {
    /// Allocates a buffer for the summary and this many pairs.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(gpu: &Gpu, capacity: u32) -> Result<Self, Error> {
        Ok(Self { buffer: StagingBuffer::new(gpu, &capacity.into())?, capacity })
    }

    /// Returns the buffer itself.
    pub fn raw(&self) -> &wgpu::Buffer {
        self.buffer.staging.raw()
    }

    /// Lists the buffer with its bytes for this many pairs.
    pub fn rows(pairs: u64) -> impl Iterator<Item = Row> {
        StagingBuffer::rows(&pairs)
    }

    /// Returns the bytes of a staging buffer for this many pairs.
    pub fn bytes(pairs: u32) -> u64 {
        StagingBuffer::bytes(&pairs.into())
    }

    /// Lists the buffer with its allocated bytes.
    pub fn allocated(&self) -> impl Iterator<Item = Row> {
        self.buffer.allocated()
    }
}

/// Returns the bytes of the boxes of a submission.
pub(super) fn box_bytes(boxes: &SubmissionBoxes) -> u64 {
    SubmissionBoxes::bytes(&boxes.boxes.len())
}

/// Returns the bytes of a staging buffer.
pub(super) fn staging_bytes(staging: &Staging) -> u64 {
    Staging::bytes(staging.capacity)
}
