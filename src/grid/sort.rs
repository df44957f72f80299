//! A stable least-significant-digit radix sort of 32-bit keys with 32-bit values, four, eight or nine bits a pass: see
//! [`SortVariant`].

use std::num::NonZeroU64;

use crate::Error;
use crate::base::constants::{BALLOT_BITS, BALLOT_LANES, RADIX_BITS, SHORT_BALLOT_BITS, SORT_PASSES};
use crate::base::layout::{Counts, SortPass, sort_sections};
pub use crate::base::layout::{digit_sum_u32_count, histogram_u32_count};
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::{Kernel, Pass, Source, source};
use crate::gpu::sort_buffers::{ALIGNMENT, SortBuffers};
use crate::gpu::table::Bound;
use crate::gpu::{Gpu, SortVariant};

/// The source of `sort_count`.
pub const COUNT: Source = source!("grid/sort_count", "grid/sort_histogram", "grid/sort");
/// The source of `sort_scatter`.
pub const SCATTER: Source = source!("grid/sort_scatter", "grid/sort_places", "grid/sort");
/// The source of `sort_ballot`.
pub const BALLOT: Source = source!("grid/sort_ballot", "grid/sort_places", "grid/sort");
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: &[Source] = &[COUNT, SCATTER, BALLOT];

/// `ALIGNMENT` in u32 words.
const ALIGNED_WORDS: usize = ALIGNMENT as usize / 4;

impl SortVariant {
    /// Returns the digit bits of a pass on this device.
    fn digit_bits(self, gpu: &Gpu) -> u32 {
        match self {
            Self::Portable => RADIX_BITS,
            Self::Subgroup if gpu.adapter_info().subgroup_min_size >= BALLOT_LANES => BALLOT_BITS,
            Self::Subgroup => SHORT_BALLOT_BITS,
        }
    }

    fn scatter(self) -> &'static Source {
        match self {
            Self::Portable => &SCATTER,
            Self::Subgroup => &BALLOT,
        }
    }
}

/// The kernels of the stage `sort`.
#[derive(Debug)]
pub struct Sort {
    variant: SortVariant,
    digit_bits: u32,
    count: Kernel,
    scatter: Kernel,
    /// One [`SortPass`] per `ALIGNMENT` bytes: first the passes over entries, then the passes over pairs.
    passes: Buffer<[u32; ALIGNED_WORDS]>,
}

impl Sort {
    /// Looks up the kernels of the stage in this variant.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn with_variant(gpu: &Gpu, variant: SortVariant) -> Result<Self, Error> {
        Self::with_scatter(gpu, variant, variant.scatter())
    }

    /// Looks up the kernels of the stage in this variant, with `scatter` instead of the variant's own kernel.
    pub(super) fn with_scatter(gpu: &Gpu, variant: SortVariant, scatter: &Source) -> Result<Self, Error> {
        let bits = variant.digit_bits(gpu);
        // If subgroups have at most 32 invocations, a ballot is one word, and fewer instructions suffice. Only Vulkan
        // guarantees the largest subgroup size.
        let info = gpu.adapter_info();
        let is_one_word = info.backend == wgpu::Backend::Vulkan && (1..=32).contains(&info.subgroup_max_size);
        let switches: &[_] = if variant == SortVariant::Subgroup && !is_one_word { &["UP_TO_64"] } else { &[] };
        let passes: Vec<_> = [0, 1]
            .into_iter()
            .flat_map(|of_pairs| (0..u32::BITS.div_ceil(bits)).map(move |i| (i * bits, of_pairs)))
            .map(|(shift, of_pairs)| {
                let mut padded = [0; ALIGNED_WORDS];
                let pass = SortPass { shift, of_pairs, digit_bits: bits, unused: 0 };
                padded[..4].copy_from_slice(bytemuck::cast_slice(&[pass]));
                padded
            })
            .collect();
        Ok(Self {
            variant,
            digit_bits: bits,
            count: Kernel::new(gpu, &COUNT),
            scatter: Kernel::specialised(gpu, scatter, switches),
            passes: Buffer::uniform(gpu, "sort_passes", &passes)?,
        })
    }

    /// Returns the kernels that the stage dispatches.
    pub fn kernels(&self) -> [&Kernel; 2] {
        [&self.count, &self.scatter]
    }

    /// Returns the variant.
    pub fn variant(&self) -> SortVariant {
        self.variant
    }

    /// Returns the bits that one pass sorts by.
    pub fn digit_bits(&self) -> u32 {
        self.digit_bits
    }

    fn pass_at(&self, index: u32) -> wgpu::BindingResource<'_> {
        wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: self.passes.raw(),
            offset: u64::from(index) * ALIGNMENT,
            size: NonZeroU64::new(size_of::<SortPass>() as u64),
        })
    }

    /// Returns the count of passes that a sort by this many bits needs.
    pub fn passes(&self, bits: u32) -> u32 {
        bits.div_ceil(self.digit_bits)
    }

    /// Returns the buffers for unsorted keys and values, which [`Sort::record_entries`] reads first. The sorted result
    /// is in `keys` and `values`.
    pub fn start<'a>(&self, lists: &'a SortBuffers, bits: u32) -> (&'a Buffer<u32>, &'a Buffer<u32>) {
        if self.passes(bits).is_multiple_of(2) {
            (&lists.keys, &lists.values)
        } else {
            (&lists.other_keys, &lists.other_values)
        }
    }

    /// Records the sort of all entries, at most `capacity`, by the lowest `bits` bits of their keys.
    /// Workgroups without keys end at once.
    pub fn record_entries(
        &self,
        pass: &mut Pass,
        counts: &Buffer<Counts>,
        capacity: u32,
        lists: &SortBuffers,
        bits: u32,
    ) {
        let lists = lists.clone();
        let first = if self.passes(bits).is_multiple_of(2) { lists } else { lists.turned() };
        self.record_passes(pass, counts, capacity, first, bits, 0);
    }

    /// Records the sort of one element per written pair, at most `capacity`, by the lowest `bits` bits of their keys.
    /// Workgroups without keys end at once. Returns the same buffers, with the result in `keys` and `values`.
    pub fn record_pairs(
        &self,
        pass: &mut Pass,
        counts: &Buffer<Counts>,
        capacity: u32,
        lists: SortBuffers,
        bits: u32,
    ) -> SortBuffers {
        self.record_passes(pass, counts, capacity, lists, bits, 1)
    }

    /// Returns the buffers for a kernel of the caller that counts the digits of the first pass of
    /// [`record_pairs`](Self::record_pairs). The kernel must have one workgroup per section ([`sort_sections`]). Call
    /// this before any pass of `lists` is recorded. Pass [`SortBuffers::counted`] to the sort afterwards.
    pub fn first_count<'a>(&'a self, counts: &'a Buffer<Counts>, lists: &'a SortBuffers) -> Bound<'a> {
        debug_assert_eq!(lists.passes, 0);
        vec![
            ("sort_pass", self.pass_at(self.passes(u32::BITS))),
            ("counts", counts.all()),
            ("histograms", lists.histograms.all()),
            ("digit_sums", lists.sums_of_pass()),
        ]
    }

    /// Records the passes. Each pass sorts from the lists to the scratch and exchanges both. Returns the buffers with
    /// the result in `keys` and `values`.
    fn record_passes(
        &self,
        pass: &mut Pass,
        counts: &Buffer<Counts>,
        capacity: u32,
        mut lists: SortBuffers,
        bits: u32,
        of_pairs: u32,
    ) -> SortBuffers {
        debug_assert!(lists.passes + self.passes(bits) <= SORT_PASSES);
        let groups = sort_sections(u64::from(capacity)) as u32;
        for i in 0..self.passes(bits) {
            let buffers = [
                ("sort_pass", self.pass_at(of_pairs * self.passes(u32::BITS) + i)),
                ("counts", counts.all()),
                ("keys_in", lists.keys.all()),
                ("values_in", lists.values.all()),
                ("histograms", lists.histograms.all()),
                ("digit_sums", lists.sums_of_pass()),
                ("keys_out", lists.other_keys.all()),
                ("values_out", lists.other_values.all()),
            ];
            if !lists.is_counted {
                self.count.dispatch(pass, groups, &buffers);
            }
            self.scatter.dispatch(pass, groups, &buffers);
            lists = lists.turned();
            lists.passes += 1;
            lists.is_counted = false;
        }
        lists
    }
}
