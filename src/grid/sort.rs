//! A stable least-significant-digit radix sort of 32-bit keys with 32-bit values, four, eight or nine bits a pass: see
//! [`SortVariant`].

use std::num::NonZeroU64;

use crate::Error;
use crate::constants::{
    BALLOT_BITS, BALLOT_LANES, RADIX_BITS, SCAN_DIGITS, SCAN_RUN, SORT_STEPS, SORT_TILE, STEP_BITS,
};
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::{Kernel, Pass, Source, source};
use crate::gpu::table::Bound;
use crate::gpu::{Gpu, SortVariant};
pub use crate::layout::histogram_words;
use crate::layout::{Counts, SortPass};

/// The source of `sort_count`.
pub const COUNT: Source = source!("grid/sort_count", "grid/sort");
/// The source of `sort_scan`.
pub const SCAN: Source = source!("grid/sort_scan", "grid/sort");
/// The source of `sort_scatter`.
pub const SCATTER: Source = source!("grid/sort_scatter", "grid/sort");
/// The source of `sort_ballot`.
pub const BALLOT: Source = source!("grid/sort_ballot", "grid/sort");
/// The kernels of the stage, in the order in which they run.
pub const KERNELS: &[Source] = &[COUNT, SCAN, SCATTER, BALLOT];

/// Uniform buffers may be bound at multiples of this number of bytes.
const UNIFORM_ALIGNMENT: usize = 256;

/// Returns the workgroups of `sort_scan` for at most this many tiles: enough for every digit.
pub fn scan_groups(tiles: u32, digit_bits: u32) -> u32 {
    let runs = tiles.div_ceil(SCAN_RUN).next_power_of_two().clamp(256 >> digit_bits, 256 / SCAN_DIGITS);
    (runs << digit_bits).div_ceil(256)
}

impl SortVariant {
    /// Returns the bits of a pass on this device.
    fn digit_bits(self, gpu: &Gpu) -> u32 {
        match self {
            Self::Portable => RADIX_BITS,
            Self::Subgroup if gpu.adapter_info().subgroup_min_size >= BALLOT_LANES => BALLOT_BITS,
            Self::Subgroup => STEP_BITS,
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
    scan: Kernel,
    scatter: Kernel,
    /// A [`SortPass`] every `UNIFORM_ALIGNMENT` bytes: the passes over entries, then those over pairs.
    passes: Buffer<[u32; UNIFORM_ALIGNMENT / 4]>,
}

/// Keys and values, and scratch of the same size to sort them to and fro. Kernels read four of a list at a time; a
/// [`Buffer`] is long enough.
#[derive(Clone, Debug)]
pub struct SortBuffers {
    /// `[n]` keys; sorted afterwards.
    pub keys: Buffer<u32>,
    /// `[n]` values; in the order of the keys afterwards, those of equal keys as they were.
    pub values: Buffer<u32>,
    /// `[n]` scratch.
    pub other_keys: Buffer<u32>,
    /// `[n]` scratch.
    pub other_values: Buffer<u32>,
    /// `[histogram_words(n)]` scratch.
    pub histograms: Buffer<u32>,
}

/// Returns how many passes of so many bits the longest key takes: `SORT_STEPS`, or twice as many of small digits.
fn passes_of(digit_bits: u32) -> u32 {
    if digit_bits < STEP_BITS { SORT_STEPS * STEP_BITS / digit_bits } else { SORT_STEPS }
}

impl SortBuffers {
    /// Allocates buffers for `n` elements.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn new(gpu: &Gpu, label: &str, n: u64) -> Result<Self, Error> {
        let list = || Buffer::storage(gpu, label, n);
        let histograms = Buffer::storage(gpu, label, histogram_words(n))?;
        Ok(Self::of([&list()?, &list()?, &list()?, &list()?, &histograms]))
    }

    /// Collects buffers in the order of the fields.
    pub fn of(buffers: [&Buffer<u32>; 5]) -> Self {
        let [keys, values, other_keys, other_values, histograms] = buffers.map(Clone::clone);
        Self { keys, values, other_keys, other_values, histograms }
    }

    /// Lists the keys and the values for kernels.
    pub fn bound(&self) -> Bound<'_> {
        vec![("keys", self.keys.all()), ("values", self.values.all())]
    }

    /// Returns the same buffers with keys as values and values as keys.
    pub fn swapped(&self) -> Self {
        Self::of([&self.values, &self.keys, &self.other_values, &self.other_keys, &self.histograms])
    }

    /// Returns the same buffers with scratch and lists exchanged.
    fn turned(&self) -> Self {
        Self::of([&self.other_keys, &self.other_values, &self.keys, &self.values, &self.histograms])
    }
}

impl Sort {
    /// Looks up the kernels of the stage in this variant.
    ///
    /// # Errors
    /// [`Error::OutOfMemory`].
    pub fn with_variant(gpu: &Gpu, variant: SortVariant) -> Result<Self, Error> {
        Self::with_scatter(gpu, variant, variant.scatter())
    }

    /// Looks up the kernels of the stage in this variant, with `scatter` in place of the variant's own kernel.
    pub(super) fn with_scatter(gpu: &Gpu, variant: SortVariant, scatter: &Source) -> Result<Self, Error> {
        let bits = variant.digit_bits(gpu);
        // Fewer instructions where a subgroup's ballot is one word. Only Vulkan promises the largest size.
        let info = gpu.adapter_info();
        let is_one_word = info.backend == wgpu::Backend::Vulkan && (1..=32).contains(&info.subgroup_max_size);
        let switches: &[_] = if variant == SortVariant::Subgroup && !is_one_word { &["UP_TO_64"] } else { &[] };
        let passes: Vec<_> = [0, 1]
            .into_iter()
            .flat_map(|of_pairs| (0..passes_of(bits)).map(move |i| (i * bits, of_pairs)))
            .map(|(shift, of_pairs)| {
                let mut padded = [0; UNIFORM_ALIGNMENT / 4];
                let pass = SortPass { shift, of_pairs, digit_bits: bits, unused: 0 };
                padded[..4].copy_from_slice(bytemuck::cast_slice(&[pass]));
                padded
            })
            .collect();
        Ok(Self {
            variant,
            digit_bits: bits,
            count: Kernel::new(gpu, &COUNT),
            scan: Kernel::new(gpu, &SCAN),
            scatter: Kernel::specialised(gpu, scatter, switches),
            passes: Buffer::uniform(gpu, "sort_passes", &passes)?,
        })
    }

    /// Returns the kernels that the stage dispatches.
    pub fn kernels(&self) -> [&Kernel; 3] {
        [&self.count, &self.scan, &self.scatter]
    }

    /// Returns the variant.
    pub fn variant(&self) -> SortVariant {
        self.variant
    }

    /// Returns the bits that one pass sorts by.
    pub fn digit_bits(&self) -> u32 {
        self.digit_bits
    }

    /// Returns a [`SortPass`], for kernels that need to know the size of digits.
    pub fn a_pass(&self) -> wgpu::BindingResource<'_> {
        self.pass_at(0)
    }

    fn pass_at(&self, index: usize) -> wgpu::BindingResource<'_> {
        wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: self.passes.raw(),
            offset: (index * UNIFORM_ALIGNMENT) as u64,
            size: NonZeroU64::new(size_of::<SortPass>() as u64),
        })
    }

    /// Returns the keys and values from which [`Sort::record_entries`] starts: first for an even number of the steps that
    /// the key needs, then for an odd number. The sort ends in `keys` and `values` in either case.
    pub fn starts<'a>(&self, lists: &'a SortBuffers) -> [(&'a Buffer<u32>, &'a Buffer<u32>); 2] {
        let even = (&lists.keys, &lists.values);
        let odd = (&lists.other_keys, &lists.other_values);
        if self.variant == SortVariant::Portable { [even, even] } else { [even, odd] }
    }

    /// Records the sort of at most `capacity` entries by as many key bits as `bin_scan` found to be needed. Workgroups without
    /// keys, and all of a pass that the key does not need, end at once.
    pub fn record_entries(&self, pass: &mut Pass, counts: &Buffer<Counts>, capacity: u32, lists: &SortBuffers) {
        let turned = &lists.turned();
        let passes = passes_of(self.digit_bits) as usize;
        for i in 0..passes {
            let is_back = (passes - i) % 2 == 1;
            self.record_pass(pass, counts, capacity, if is_back { turned } else { lists }, i);
        }
    }

    /// Records the sort of as many elements as there are written pairs, at most `capacity`, by the lowest `bits` bits of their keys.
    /// Workgroups without keys end at once. Returns the same buffers, with the result in front.
    pub fn record_pairs(
        &self,
        pass: &mut Pass,
        counts: &Buffer<Counts>,
        capacity: u32,
        lists: &SortBuffers,
        bits: u32,
    ) -> SortBuffers {
        let mut lists = lists.clone();
        for i in 0..bits.div_ceil(self.digit_bits) {
            let index = (passes_of(self.digit_bits) + i) as usize;
            self.record_pass(pass, counts, capacity, &lists, index);
            lists = lists.turned();
        }
        lists
    }

    /// Records one pass, from the lists to the scratch.
    fn record_pass(&self, pass: &mut Pass, counts: &Buffer<Counts>, capacity: u32, lists: &SortBuffers, index: usize) {
        let buffers = [
            ("sort_pass", self.pass_at(index)),
            ("counts", counts.all()),
            ("keys_in", lists.keys.all()),
            ("values_in", lists.values.all()),
            ("histograms", lists.histograms.all()),
            ("keys_out", lists.other_keys.all()),
            ("values_out", lists.other_values.all()),
        ];
        let tiles = capacity.div_ceil(SORT_TILE);
        self.count.dispatch(pass, tiles, &buffers);
        let most_tiles = lists.keys.len().div_ceil(u64::from(SORT_TILE)) as u32;
        self.scan.dispatch(pass, scan_groups(most_tiles, self.digit_bits), &buffers);
        self.scatter.dispatch(pass, tiles, &buffers);
    }
}
