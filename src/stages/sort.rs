//! A stable least-significant-digit radix sort of 32-bit keys with 32-bit values, four bits a pass.

use std::mem::offset_of;
use std::num::NonZeroU64;

use super::layout::{Counts, Dispatches, SortPass};
use crate::Error;
use crate::constants::{RADIX, RADIX_BITS, SORT_PASS_PAIRS, SORT_TILE};
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::{Kernel, Pass, Source, source};

/// `sort_count`.
pub const COUNT: Source = source!("sort_count");
/// `sort_scan`.
pub const SCAN: Source = source!("sort_scan", "scan");
/// `sort_scatter`.
pub const SCATTER: Source = source!("sort_scatter");

/// Uniform buffers may be bound at multiples of this.
const UNIFORM_ALIGNMENT: usize = 256;
const PASSES: usize = 2 * SORT_PASS_PAIRS as usize;

/// The stage.
#[derive(Debug)]
pub struct Sort {
    count: Kernel,
    scan: Kernel,
    scatter: Kernel,
    /// A [`SortPass`] every `UNIFORM_ALIGNMENT` bytes: the passes over entries, then those over pairs.
    passes: Buffer<[u32; UNIFORM_ALIGNMENT / 4]>,
}

/// Keys and values, and room to sort them to and fro.
#[derive(Clone, Debug)]
pub struct Lists {
    /// `[n]` keys; sorted afterwards.
    pub keys: Buffer<u32>,
    /// `[n]` values; in the order of the keys afterwards, those of equal keys as they were.
    pub values: Buffer<u32>,
    /// `[n]` scratch.
    pub other_keys: Buffer<u32>,
    /// `[n]` scratch.
    pub other_values: Buffer<u32>,
    /// `[RADIX * tiles]` scratch.
    pub histograms: Buffer<u32>,
}

impl Lists {
    /// Room for `n` elements; names of keys, values, the other keys, the other values, and histograms.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(gpu: &Gpu, names: [&str; 5], n: u64) -> Result<Self, Error> {
        let tiles = n.div_ceil(u64::from(SORT_TILE));
        Ok(Self {
            keys: Buffer::storage(gpu, names[0], n)?,
            values: Buffer::storage(gpu, names[1], n)?,
            other_keys: Buffer::storage(gpu, names[2], n)?,
            other_values: Buffer::storage(gpu, names[3], n)?,
            histograms: Buffer::storage(gpu, names[4], u64::from(RADIX) * tiles)?,
        })
    }

    /// The same with keys as values and values as keys.
    pub fn swapped(&self) -> Self {
        Self {
            keys: self.values.clone(),
            values: self.keys.clone(),
            other_keys: self.other_values.clone(),
            other_values: self.other_keys.clone(),
            histograms: self.histograms.clone(),
        }
    }
}

impl Sort {
    /// Compiles the stage.
    ///
    /// # Errors
    /// [`Error::Gpu`] where the driver rejects a kernel, [`Error::OutOfMemory`].
    pub fn new(gpu: &Gpu) -> Result<Self, Error> {
        let passes: Vec<_> = (0..2 * PASSES)
            .map(|i| {
                let pass = SortPass { shift: (i % PASSES) as u32 * RADIX_BITS, of_pairs: u32::from(i >= PASSES) };
                let mut padded = [0; UNIFORM_ALIGNMENT / 4];
                padded[..2].copy_from_slice(&[pass.shift, pass.of_pairs]);
                padded
            })
            .collect();
        Ok(Self {
            count: Kernel::new(gpu, &COUNT)?,
            scan: Kernel::new(gpu, &SCAN)?,
            scatter: Kernel::new(gpu, &SCATTER)?,
            passes: Buffer::uniform(gpu, "sort_passes", &passes)?,
        })
    }

    /// Sorts entries by as many key bits as `bin_scan` found to be needed.
    pub fn record_entries(
        &self,
        pass: &mut Pass,
        counts: &Buffer<Counts>,
        dispatches: &Buffer<Dispatches>,
        lists: &Lists,
    ) {
        for pair in 0..SORT_PASS_PAIRS as usize {
            let offset = offset_of!(Dispatches, sort_passes) + pair * size_of::<[u32; 3]>();
            self.record_pair(pass, counts, dispatches.raw(), offset, lists, false, 2 * pair);
        }
    }

    /// Sorts as many elements as pairs were written by the lowest `bits` bits of their keys.
    pub fn record_pairs(
        &self,
        pass: &mut Pass,
        counts: &Buffer<Counts>,
        dispatches: &Buffer<Dispatches>,
        lists: &Lists,
        bits: u32,
    ) {
        for pair in 0..bits.div_ceil(2 * RADIX_BITS) as usize {
            let offset = offset_of!(Dispatches, sort_pairs);
            self.record_pair(pass, counts, dispatches.raw(), offset, lists, true, 2 * pair);
        }
    }

    /// Two passes: to the other lists and back.
    #[allow(clippy::too_many_arguments)]
    fn record_pair(
        &self,
        pass: &mut Pass,
        counts: &Buffer<Counts>,
        dispatches: &wgpu::Buffer,
        offset: usize,
        lists: &Lists,
        of_pairs: bool,
        first: usize,
    ) {
        let there = (&lists.keys, &lists.values, &lists.other_keys, &lists.other_values);
        let back = (&lists.other_keys, &lists.other_values, &lists.keys, &lists.values);
        for (k, (keys_in, values_in, keys_out, values_out)) in [there, back].into_iter().enumerate() {
            let index = first + k + if of_pairs { PASSES } else { 0 };
            let sort_pass = wgpu::BindingResource::Buffer(wgpu::BufferBinding {
                buffer: self.passes.raw(),
                offset: (index * UNIFORM_ALIGNMENT) as u64,
                size: NonZeroU64::new(16),
            });
            let buffers = [
                ("sort_pass", sort_pass),
                ("counts", counts.all()),
                ("keys_in", keys_in.all()),
                ("values_in", values_in.all()),
                ("histograms", lists.histograms.all()),
                ("keys_out", keys_out.all()),
                ("values_out", values_out.all()),
            ];
            self.count.dispatch_indirect(pass, dispatches, offset, &buffers);
            self.scan.dispatch(pass, 1, &buffers);
            self.scatter.dispatch_indirect(pass, dispatches, offset, &buffers);
        }
    }
}
