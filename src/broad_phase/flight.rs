//! Submissions whose results were not taken.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use crate::filters::CheckedFilters;
use crate::filters::device::FilterSet;
use crate::gpu::Gpu;
use crate::gpu::readback::Readback;
use crate::memory::{Call, Lease, Staging, SubmissionBoxes};
use crate::{Error, Report};

/// The most pairs that the first submission copies, before the pair count is known: 8 MiB.
const FIRST_COPY: u64 = 1 << 20;
/// The least count of pairs that a submission copies, if the list has this capacity.
const LEAST_COPY: u64 = 64;

/// Pairs per piece of a streamed list, unless the list on the GPU is longer: 32 MiB. Smaller pieces need more
/// submissions. Larger pieces take more memory and are not faster.
#[cfg(not(target_arch = "wasm32"))]
pub(super) const STREAMED_PIECE: u64 = 1 << 22;

/// Submissions whose results were not taken.
#[derive(Debug, Default)]
pub(super) struct Flight {
    /// Submissions in their order, oldest first.
    pub queue: VecDeque<Submission>,
    /// The list of the oldest submission, while the pairs beyond its first copy are read back. This submission is not
    /// in the queue.
    pub collection: Option<Collection>,
    /// Pairs and boxes of the last submission whose counts were read back.
    pub last: Option<(u64, u32)>,
    submitted: u64,
}

/// A search whose counts are being read back.
#[derive(Debug)]
pub(super) struct Submission {
    pub number: u64,
    pub call: Call,
    pub boxes: Lease<SubmissionBoxes>,
    pub summary: Mapping,
    /// The filters at the time of submission.
    pub filters: Arc<CheckedFilters>,
    /// Count of pairs copied after the summary.
    pub copied: u32,
}

/// A list that is being read back in pieces.
#[derive(Debug)]
pub(super) struct Collection {
    pub number: u64,
    pub call: Call,
    pub boxes: Lease<SubmissionBoxes>,
    /// The filters of the submission.
    pub filters: Arc<CheckedFilters>,
    /// Separate buffers of these filters, if the shared filters have changed and the search runs again.
    pub own: Option<Box<FilterSet>>,
    pub report: Report,
    /// The range of pairs in the list on the GPU.
    pub window: Range<u64>,
    /// Count of pairs passed to the caller.
    pub delivered: u64,
    pub requested: u64,
    /// Pieces in the order of the list.
    pub pieces: VecDeque<Piece>,
    pub free: Vec<Lease<Staging>>,
}

/// A part of a list that is being read back.
#[derive(Debug)]
pub(super) struct Piece {
    pub mapping: Mapping,
    /// Offset in the staging buffer, in bytes.
    pub offset: u64,
    /// Length in pairs.
    pub length: u64,
}

/// A leased staging buffer, with its readback.
#[derive(Debug)]
pub(super) struct Mapping {
    pub readback: Readback,
    pub staging: Lease<Staging>,
    #[cfg(not(target_arch = "wasm32"))]
    pub submission: wgpu::SubmissionIndex,
}

impl Mapping {
    /// Submits the recorded commands, and begins to map the first `bytes` bytes of `staging`.
    pub fn begin(gpu: &Gpu, encoder: wgpu::CommandEncoder, staging: Lease<Staging>, bytes: u64) -> Self {
        let _submission = gpu.queue().submit([encoder.finish()]);
        Self {
            readback: Readback::begin(gpu, staging.raw(), bytes),
            staging,
            #[cfg(not(target_arch = "wasm32"))]
            submission: _submission,
        }
    }
}

impl Flight {
    /// Returns `true` if nothing is in flight.
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.collection.is_none()
    }

    /// Checks that nothing is in flight.
    ///
    /// # Errors
    /// [`Error::Busy`].
    pub fn check_idle(&self) -> Result<(), Error> {
        if self.is_empty() { Ok(()) } else { Err(Error::Busy) }
    }

    /// Drops everything in flight.
    pub fn clear(&mut self) {
        self.queue.clear();
        self.collection = None;
    }

    /// Returns the number of the next submission.
    pub fn next_number(&mut self) -> u64 {
        self.submitted += 1;
        self.submitted
    }

    /// Returns the next readback.
    pub fn awaited(&self) -> Option<&Mapping> {
        match &self.collection {
            Some(collection) => collection.pieces.front().map(|piece| &piece.mapping),
            None => self.queue.front().map(|submission| &submission.summary),
        }
    }

    /// Returns the count of pairs to copy with the counts, for `box_count` boxes. A wrong estimate only costs time.
    pub fn expected_pairs(&self, box_count: u32) -> u64 {
        let n = u64::from(box_count);
        let expected = match self.last {
            // Assume the pairs per box of the last submission, plus an eighth.
            Some((pairs, boxes)) => {
                let scaled = u128::from(pairs) * u128::from(n) / u128::from(boxes.max(1));
                u64::try_from(scaled + scaled / 8).unwrap_or(u64::MAX)
            }
            None => (4 * n).min(FIRST_COPY),
        };
        expected.max(LEAST_COPY).min(n * n.saturating_sub(1) / 2)
    }
}

impl Collection {
    /// Discards the pairs that were copied with the counts.
    pub fn start_again(&mut self) {
        self.pieces.clear();
        self.free.clear();
        self.requested = 0;
    }
}
