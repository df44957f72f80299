//! A stable least-significant-digit radix sort of 32-bit keys with 32-bit values, four or eight bits a pass: see
//! [`SortVariant`].

use std::mem::offset_of;
use std::num::NonZeroU64;

use super::layout::{Counts, Dispatches, SortPass};
use crate::Error;
use crate::constants::{RADIX_BITS, SORT_STEPS, SORT_TILE, WIDE_BITS, WIDE_RADIX};
use crate::gpu::Gpu;
use crate::gpu::buffers::Buffer;
use crate::gpu::kernel::{Kernel, Pass, Source, source};

/// `sort_count`.
pub const COUNT: Source = source!("sort_count", "count_tile", "sort");
/// `sort_tally`.
pub const TALLY: Source = source!("sort_tally", "count_tile", "sort");
/// `sort_scan`.
pub const SCAN: Source = source!("sort_scan", "sort", "scan");
/// `sort_scatter`.
pub const SCATTER: Source = source!("sort_scatter", "sort");
/// `sort_wide`.
pub const WIDE: Source = source!("sort_wide", "sort");
/// `sort_ballot`.
pub const BALLOT: Source = source!("sort_ballot", "sort");

/// What `sort_ballot` needs of a device.
pub const SUBGROUP_FEATURES: wgpu::Features = wgpu::Features::SUBGROUP.union(wgpu::Features::SUBGROUP_BARRIER);

/// Uniform buffers may be bound at multiples of this.
const UNIFORM_ALIGNMENT: usize = 256;

/// How the keys of a pass find their places. All are stable, so the result is the same, bit for bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SortVariant {
    /// Four bits a pass, 256 invocations with counts of their own: `sort_scatter`. Runs on any device.
    Portable,
    /// Eight bits a pass, eight invocations with counts of their own: `sort_tally` and `sort_wide`. Runs on any device;
    /// for processors that do not need many invocations to be busy, software adapters above all.
    Wide,
    /// Eight bits a pass, counts per subgroup and ballots inside: `sort_ballot`. Needs [`SUBGROUP_FEATURES`] and
    /// subgroups of 8 to 64.
    Subgroup,
}

impl SortVariant {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Portable, Self::Wide, Self::Subgroup];

    fn digit_bits(self) -> u32 {
        if self == Self::Portable { RADIX_BITS } else { WIDE_BITS }
    }

    fn count(self) -> &'static Source {
        if self == Self::Wide { &TALLY } else { &COUNT }
    }

    fn scatter(self) -> &'static Source {
        match self {
            Self::Portable => &SCATTER,
            Self::Wide => &WIDE,
            Self::Subgroup => &BALLOT,
        }
    }
}

/// The stage.
#[derive(Debug)]
pub struct Sort {
    variant: SortVariant,
    count: Kernel,
    scan: Kernel,
    scatter: Kernel,
    /// A [`SortPass`] every `UNIFORM_ALIGNMENT` bytes: the passes over entries, then those over pairs.
    passes: Buffer<[u32; UNIFORM_ALIGNMENT / 4]>,
}

/// Keys and values, and room to sort them to and fro. Kernels read four of a list at a time; a [`Buffer`] is long enough.
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
    /// `[WIDE_RADIX * tiles]` scratch.
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
            histograms: Buffer::storage(gpu, names[4], u64::from(WIDE_RADIX) * tiles)?,
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

impl Lists {
    /// The same with the other lists in front.
    fn turned(&self) -> Self {
        Self {
            keys: self.other_keys.clone(),
            values: self.other_values.clone(),
            other_keys: self.keys.clone(),
            other_values: self.values.clone(),
            histograms: self.histograms.clone(),
        }
    }
}

impl Sort {
    /// Compiles the stage, in the variant that is best for this device.
    ///
    /// # Errors
    /// [`Error::Gpu`] where the driver rejects a kernel, [`Error::OutOfMemory`].
    pub fn new(gpu: &Gpu) -> Result<Self, Error> {
        Self::with_variant(gpu, gpu.sort_variant()?)
    }

    /// Compiles the stage in this variant.
    ///
    /// # Errors
    /// As [`Sort::new`]; [`Error::Gpu`] also where the device has no subgroups and the variant needs them.
    pub fn with_variant(gpu: &Gpu, variant: SortVariant) -> Result<Self, Error> {
        Self::with_scatter(gpu, variant, variant.scatter())
    }

    /// With `scatter` in place of the variant's own.
    fn with_scatter(gpu: &Gpu, variant: SortVariant, scatter: &Source) -> Result<Self, Error> {
        let bits = variant.digit_bits();
        let passes: Vec<_> = [0, 1]
            .into_iter()
            .flat_map(|of_pairs| (0..32 / bits).map(move |i| (i * bits, of_pairs)))
            .map(|(shift, of_pairs)| {
                let mut padded = [0; UNIFORM_ALIGNMENT / 4];
                let pass = SortPass { shift, of_pairs, digit_bits: bits, unused: 0 };
                padded[..4].copy_from_slice(bytemuck::cast_slice(&[pass]));
                padded
            })
            .collect();
        Ok(Self {
            variant,
            count: Kernel::new(gpu, variant.count())?,
            scan: Kernel::new(gpu, &SCAN)?,
            scatter: Kernel::new(gpu, scatter)?,
            passes: Buffer::uniform(gpu, "sort_passes", &passes)?,
        })
    }

    /// The variant.
    pub fn variant(&self) -> SortVariant {
        self.variant
    }

    /// Keys and values from which [`Sort::record_entries`] starts where the steps of [`WIDE_BITS`] that the key needs
    /// are even in number, and where they are odd. It ends in `keys` and `values` in either case.
    pub fn starts<'a>(&self, lists: &'a Lists) -> [(&'a Buffer<u32>, &'a Buffer<u32>); 2] {
        let even = (&lists.keys, &lists.values);
        let odd = (&lists.other_keys, &lists.other_values);
        if self.variant == SortVariant::Portable { [even, even] } else { [even, odd] }
    }

    /// Sorts entries by as many key bits as `bin_scan` found to be needed.
    pub fn record_entries(
        &self,
        pass: &mut Pass,
        counts: &Buffer<Counts>,
        dispatches: &Buffer<Dispatches>,
        lists: &Lists,
    ) {
        let turned = &lists.turned();
        let passes = 32 / self.variant.digit_bits() as usize;
        for i in 0..passes {
            let offset = offset_of!(Dispatches, sort_passes) + i * SORT_STEPS as usize / passes * size_of::<[u32; 3]>();
            let is_back = (passes - i) % 2 == 1;
            self.record_pass(pass, counts, dispatches, offset, if is_back { turned } else { lists }, i);
        }
    }

    /// Sorts as many elements as pairs were written by the lowest `bits` bits of their keys. The lists that it returns
    /// are the same ones, with the result in front.
    pub fn record_pairs(
        &self,
        pass: &mut Pass,
        counts: &Buffer<Counts>,
        dispatches: &Buffer<Dispatches>,
        lists: &Lists,
        bits: u32,
    ) -> Lists {
        let digit_bits = self.variant.digit_bits();
        let mut lists = lists.clone();
        for i in 0..bits.div_ceil(digit_bits) {
            let index = (32 / digit_bits + i) as usize;
            self.record_pass(pass, counts, dispatches, offset_of!(Dispatches, sort_pairs), &lists, index);
            lists = lists.turned();
        }
        lists
    }

    /// One pass, to the other lists.
    fn record_pass(
        &self,
        pass: &mut Pass,
        counts: &Buffer<Counts>,
        dispatches: &Buffer<Dispatches>,
        offset: usize,
        lists: &Lists,
        index: usize,
    ) {
        let sort_pass = wgpu::BindingResource::Buffer(wgpu::BufferBinding {
            buffer: self.passes.raw(),
            offset: (index * UNIFORM_ALIGNMENT) as u64,
            size: NonZeroU64::new(size_of::<SortPass>() as u64),
        });
        let buffers = [
            ("sort_pass", sort_pass),
            ("counts", counts.all()),
            ("keys_in", lists.keys.all()),
            ("values_in", lists.values.all()),
            ("histograms", lists.histograms.all()),
            ("keys_out", lists.other_keys.all()),
            ("values_out", lists.other_values.all()),
        ];
        self.count.dispatch_indirect(pass, dispatches.raw(), offset, &buffers);
        self.scan.dispatch(pass, 1, &buffers);
        self.scatter.dispatch_indirect(pass, dispatches.raw(), offset, &buffers);
    }
}

/// The variant for a device of this kind, with `ballot` as the kernel that uses subgroups.
///
/// Software adapters sort by [`SortVariant::Wide`]. Others sort by [`SortVariant::Subgroup`] where they have what it
/// needs and it sorts a few thousand keys as it should, and else by [`SortVariant::Portable`]. Nothing is timed: the
/// choice is the same every time.
///
/// # Errors
/// [`Error::OutOfMemory`], [`Error::DeviceLost`].
pub fn choose(gpu: &Gpu, kind: wgpu::DeviceType, ballot: &Source) -> Result<SortVariant, Error> {
    if kind == wgpu::DeviceType::Cpu {
        return Ok(SortVariant::Wide);
    }
    if !has_subgroups(gpu) {
        return Ok(SortVariant::Portable);
    }
    match sorts(gpu, ballot) {
        Ok(true) => Ok(SortVariant::Subgroup),
        // A driver that rejects the kernel is a reason to do without.
        Ok(false) | Err(Error::Gpu { .. }) => Ok(SortVariant::Portable),
        Err(error) => Err(error),
    }
}

/// Whether the device has what [`SortVariant::Subgroup`] needs: the features, and subgroups of 8 to 64.
pub fn has_subgroups(gpu: &Gpu) -> bool {
    let info = gpu.adapter_info();
    gpu.device().features().contains(SUBGROUP_FEATURES)
        && info.subgroup_min_size >= 8
        && info.subgroup_max_size <= 64
        // A browser has other builtins, and no way to wait for a trial.
        && cfg!(not(target_arch = "wasm32"))
}

/// Sorts a few thousand keys with `ballot` and compares. Blocks.
#[cfg(not(target_arch = "wasm32"))]
fn sorts(gpu: &Gpu, ballot: &Source) -> Result<bool, Error> {
    use super::layout::dispatch_size;
    use crate::cpu;
    use crate::gpu::readback::Readback;
    use bytemuck::Zeroable;

    // Two tiles, the second one not full; a third of the keys have few digits, a third are in descending order.
    let n = SORT_TILE + 1234;
    let mut keys: Vec<u32> = (0..n)
        .map(|i| match i / 64 % 3 {
            0 => i.wrapping_mul(0x9e37_79b9) >> 16,
            1 => i.wrapping_mul(0x85eb_ca6b) >> 31,
            _ => n - i,
        })
        .collect();
    let mut values: Vec<u32> = (0..n).collect();
    let scopes = gpu.open_scopes();
    let sort = Sort::with_scatter(gpu, SortVariant::Subgroup, ballot)?;
    let lists = Lists::new(gpu, ["trial"; 5], u64::from(n))?;
    lists.keys.write(gpu, &keys);
    lists.values.write(gpu, &values);
    let counts = Buffer::storage(gpu, "trial", 1)?;
    counts.write(gpu, &[Counts { written: n, ..Counts::zeroed() }]);
    let usage = wgpu::BufferUsages::INDIRECT | wgpu::BufferUsages::COPY_DST;
    let dispatches = Buffer::new(gpu, "trial", 1, usage)?;
    let tiles = dispatch_size(n.div_ceil(SORT_TILE));
    dispatches.write(gpu, &[Dispatches { sort_pairs: tiles, ..Dispatches::zeroed() }]);

    let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    let mut pass = Pass::begin(gpu, &mut encoder);
    let sorted = sort.record_pairs(&mut pass, &counts, &dispatches, &lists, 16);
    pass.finish()?;
    drop(pass);
    let bytes = u64::from(n) * size_of::<u32>() as u64;
    let staging = Readback::staging(gpu, "trial", 2 * bytes)?;
    encoder.copy_buffer_to_buffer(sorted.keys.raw(), 0, &staging, 0, bytes);
    encoder.copy_buffer_to_buffer(sorted.values.raw(), 0, &staging, bytes, bytes);
    gpu.queue().submit([encoder.finish()]);
    let mut readback = Readback::begin(gpu, &staging, 2 * bytes);
    scopes.close_with("trial of sort_ballot", &mut readback)?;
    gpu.device().poll(wgpu::PollType::wait_indefinitely()).map_err(|error| gpu.lost(&error.to_string()))?;
    cpu::sort::sort(&mut keys, &mut values, 16);
    let expected = [keys, values].concat();
    readback.read(0, expected.len(), |found: &[u32]| found == expected)
}

#[cfg(target_arch = "wasm32")]
fn sorts(_: &Gpu, _: &Source) -> Result<bool, Error> {
    Ok(false)
}
