//! The list of pairs on the GPU.

use crate::gpu::Gpu;
use crate::gpu::table::{Row, SIZES, STORAGE, buffer_table};
use crate::grid::sort::{SortBuffers, digit_sum_words, histogram_words};
use crate::layout::{PairArguments, PairHeader};
use crate::{Error, Pair, PairOrder};

buffer_table! {
    /// A list of pairs, with its header and arguments for a consumer on the GPU.
    pub struct List(capacity: u64) {
        /// `[capacity]` pairs (a, b), a < b.
        pairs: [Pair; *capacity], STORAGE | wgpu::BufferUsages::VERTEX;
        /// The header: how many pairs there are.
        header: [PairHeader; 1], STORAGE;
        /// Arguments of an indirect dispatch and of an indirect draw, in a buffer of their own: a header that is bound
        /// as storage could not be read for the dispatch in the same pass.
        arguments: [PairArguments; 1], SIZES;
    }
}

buffer_table! {
    /// The scratch that sorting the list takes.
    pub struct Scratch(capacity: u64) {
        /// `[capacity]`.
        pair_keys: [u32; *capacity], STORAGE;
        /// `[capacity]`.
        pair_values: [u32; *capacity], STORAGE;
        /// `[capacity]`.
        other_pair_keys: [u32; *capacity], STORAGE;
        /// `[capacity]`.
        other_pair_values: [u32; *capacity], STORAGE;
        /// u32 count of each section and digit.
        pair_histograms: [u32; histogram_words(*capacity)], STORAGE;
        /// Sums of these.
        pair_digit_sums: [u32; digit_sum_words(*capacity)], STORAGE;
    }
}

/// A list of pairs on the GPU, in the order that was asked for. A clone is the same list.
#[derive(Clone, Debug)]
pub struct PairList {
    /// The list.
    pub list: List,
    /// The scratch of the sort, where the order is canonical.
    scratch: Option<Scratch>,
    /// The pairs that fit.
    pub capacity: u32,
}

impl PairList {
    /// Allocates a list for this many pairs.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(gpu: &Gpu, capacity: u32, order: PairOrder) -> Result<Self, Error> {
        let room = u64::from(capacity);
        let scratch = match order {
            PairOrder::Sweep => None,
            PairOrder::Canonical => Some(Scratch::new(gpu, &room)?),
        };
        Ok(Self { list: List::new(gpu, &room)?, scratch, capacity })
    }

    /// Returns the order that the list is made for.
    pub fn order(&self) -> PairOrder {
        if self.scratch.is_some() { PairOrder::Canonical } else { PairOrder::Sweep }
    }

    /// Returns what sorting the list takes; `None` where the list is not sorted.
    pub fn sort_buffers(&self) -> Option<SortBuffers> {
        let scratch = self.scratch.as_ref()?;
        let Scratch { pair_keys, pair_values, other_pair_keys, other_pair_values, .. } = scratch;
        let (histograms, sums) = (&scratch.pair_histograms, &scratch.pair_digit_sums);
        Some(SortBuffers::of([pair_keys, pair_values, other_pair_keys, other_pair_values, histograms, sums]))
    }

    /// Records the clearing of what the sort adds to, before the pass in which the list is sorted.
    pub fn record_clear(&self, encoder: &mut wgpu::CommandEncoder) {
        if let Some(buffers) = self.sort_buffers() {
            buffers.record_clear(encoder);
        }
    }

    /// Lists the buffers of a list with the bytes that they take for this many pairs.
    pub fn rows(capacity: u64, order: PairOrder) -> impl Iterator<Item = Row> {
        let scratch = (order == PairOrder::Canonical).then(|| Scratch::rows(&capacity));
        List::rows(&capacity).chain(scratch.into_iter().flatten())
    }

    /// Lists the buffers of the list with the bytes that the device gave them.
    pub fn made(&self) -> impl Iterator<Item = Row> {
        self.list.made().chain(self.scratch.iter().flat_map(Scratch::made))
    }
}
