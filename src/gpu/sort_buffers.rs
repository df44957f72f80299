//! The buffers of a sort.

use std::num::NonZeroU64;

use super::Gpu;
use super::buffers::Buffer;
use super::table::Bound;
use crate::Error;
use crate::base::constants::SORT_PASSES;
use crate::base::layout::{digit_sum_u32_count, histogram_u32_count};

/// The alignment of offsets of bindings, in bytes.
pub const ALIGNMENT: u64 = 256;

/// Keys and values, with scratch memory of the same size. A pass reads the lists and writes the scratch; then both are
/// exchanged. Kernels read four elements at a time; a [`Buffer`] is long enough for that.
#[derive(Clone, Debug)]
pub struct SortBuffers {
    /// `[n]` keys; sorted afterwards.
    pub keys: Buffer<u32>,
    /// `[n]` values; afterwards in the order of the keys. Values of equal keys retain their order.
    pub values: Buffer<u32>,
    /// `[n]` scratch.
    pub other_keys: Buffer<u32>,
    /// `[n]` scratch.
    pub other_values: Buffer<u32>,
    /// `[histogram_u32_count(n)]` scratch.
    pub histograms: Buffer<u32>,
    /// `[digit_sum_u32_count(n)]` zeros: see [`record_clear`](Self::record_clear).
    pub digit_sums: Buffer<u32>,
    /// Count of passes recorded since the sums were cleared. Each pass uses a separate part of the sums.
    pub passes: u32,
    /// True if a kernel has counted the digits of the next pass.
    pub is_counted: bool,
}

impl SortBuffers {
    /// Allocates buffers for `n` elements.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(gpu: &Gpu, label: &str, n: u64) -> Result<Self, Error> {
        let list = || Buffer::storage(gpu, label, n);
        let histograms = Buffer::storage(gpu, label, histogram_u32_count(n))?;
        let sums = Buffer::storage(gpu, label, digit_sum_u32_count(n))?;
        Ok(Self::of([&list()?, &list()?, &list()?, &list()?, &histograms, &sums]))
    }

    /// Creates the struct from buffers in the order of its fields.
    pub fn of(buffers: [&Buffer<u32>; 6]) -> Self {
        let [keys, values, other_keys, other_values, histograms, digit_sums] = buffers.map(Clone::clone);
        Self { keys, values, other_keys, other_values, histograms, digit_sums, passes: 0, is_counted: false }
    }

    /// Records the clearing of the sums. Record it before the compute pass of the sort.
    pub fn record_clear(&self, encoder: &mut wgpu::CommandEncoder) {
        encoder.clear_buffer(self.digit_sums.raw(), 0, None);
    }

    /// Lists the keys and the values for kernels.
    pub fn bound(&self) -> Bound<'_> {
        vec![("keys", self.keys.all()), ("values", self.values.all())]
    }

    /// Returns the same buffers with keys and values exchanged.
    pub fn swapped(self) -> Self {
        let Self { keys, values, other_keys, other_values, .. } = self;
        Self { keys: values, values: keys, other_keys: other_values, other_values: other_keys, ..self }
    }

    /// Returns the same buffers, marked as counted: a kernel has counted the first digits into the buffers of
    /// [`Sort::first_count`](crate::grid::sort::Sort::first_count).
    pub fn counted(self) -> Self {
        Self { is_counted: true, ..self }
    }

    /// Returns the same buffers with lists and scratch exchanged.
    pub fn turned(self) -> Self {
        let Self { keys, values, other_keys, other_values, .. } = self;
        Self { keys: other_keys, values: other_values, other_keys: keys, other_values: values, ..self }
    }

    /// Returns the sums of the next pass.
    pub fn sums_of_pass(&self) -> wgpu::BindingResource<'_> {
        let bytes = self.digit_sums.raw().size() / u64::from(SORT_PASSES) / ALIGNMENT * ALIGNMENT;
        wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: self.digit_sums.raw(),
            offset: u64::from(self.passes) * bytes,
            size: NonZeroU64::new(bytes),
        })
    }
}
