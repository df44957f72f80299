//! Chooses the variant of the sort for a device. The variant with subgroups is used only after a successful trial.

use super::sort::BALLOT;
#[cfg(not(target_arch = "wasm32"))]
use super::sort::Sort;
use crate::Error;
use crate::gpu::kernel::Source;
use crate::gpu::{Gpu, SortVariant};
#[cfg(not(target_arch = "wasm32"))]
use {
    crate::base::constants::{BALLOT_BITS, SORT_TILE},
    crate::base::layout::Counts,
    crate::gpu::buffers::Buffer,
    crate::gpu::kernel::Pass,
    crate::gpu::readback::Readback,
    crate::gpu::sort_buffers::SortBuffers,
    bytemuck::Zeroable,
};

/// Returns the variant of the sort for this device: the requested variant, or else the [best](choose) one. The best
/// variant is determined once for all clones of the [`Gpu`]. The first call **blocks** for a trial if the device has
/// subgroups.
///
/// # Errors
/// [`Error::OutOfMemory`], [`Error::DeviceLost`], [`Error::Gpu`].
pub fn sort_variant(gpu: &Gpu) -> Result<SortVariant, Error> {
    if let Some(variant) = gpu.requested_sort() {
        return Ok(variant);
    }
    let mut best = gpu.best_sort();
    if let Some(variant) = *best {
        return Ok(variant);
    }
    let variant = choose(gpu, &BALLOT)?;
    *best = Some(variant);
    Ok(variant)
}

/// Chooses the variant for a device, with `ballot` as the kernel that uses subgroups.
///
/// The choice is [`SortVariant::Subgroup`] if the device meets its requirements and `ballot` sorts a few thousand keys
/// correctly. Otherwise it is [`SortVariant::Portable`]. Nothing is timed, so a device always gets the same variant.
///
/// # Errors
/// [`Error::OutOfMemory`], [`Error::DeviceLost`].
pub fn choose(gpu: &Gpu, ballot: &Source) -> Result<SortVariant, Error> {
    if !gpu.has_subgroups() {
        return Ok(SortVariant::Portable);
    }
    match sorts_as_it_should(gpu, ballot) {
        Ok(true) => Ok(SortVariant::Subgroup),
        // If the driver rejects the kernel, use the portable variant.
        Ok(false) | Err(Error::Gpu { .. }) => Ok(SortVariant::Portable),
        Err(error) => Err(error),
    }
}

/// Sorts a few thousand keys with `ballot` and returns `true` if the result is correct. Blocks.
#[cfg(not(target_arch = "wasm32"))]
fn sorts_as_it_should(gpu: &Gpu, ballot: &Source) -> Result<bool, Error> {
    // Keys have two digits of the largest size. Each of their bits varies within a subgroup.
    let bits = 2 * BALLOT_BITS;
    let random = |i: u32| {
        let scattered = i.wrapping_mul(0x9e37_79b9);
        (scattered ^ scattered >> 15).wrapping_mul(0x85eb_ca6b) >> (32 - bits)
    };
    // Two tiles, of which the second is not full. A third of the keys are random, a third have few distinct digits, a
    // third descend.
    let n = SORT_TILE + 1234;
    let keys: Vec<u32> = (0..n)
        .map(|i| match i / 64 % 3 {
            0 => random(i),
            1 => i.wrapping_mul(0x85eb_ca6b) >> 31,
            _ => n - i,
        })
        .collect();
    let mut values: Vec<u32> = (0..n).collect();
    let scopes = gpu.open_scopes();
    let sort = Sort::with_scatter(gpu, SortVariant::Subgroup, ballot)?;
    let lists = SortBuffers::new(gpu, "trial", u64::from(n))?;
    lists.keys.write(gpu, &keys);
    lists.values.write(gpu, &values);
    let counts = Buffer::storage(gpu, "trial", 1)?;
    counts.write(gpu, &[Counts { written: n, ..Counts::zeroed() }]);

    let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    lists.record_clear(&mut encoder);
    let mut pass = Pass::begin(gpu, &mut encoder);
    let sorted = sort.record_pairs(&mut pass, &counts, n, lists.clone(), bits);
    pass.finish()?;
    drop(pass);
    let bytes = u64::from(n) * size_of::<u32>() as u64;
    let staging = Readback::staging(gpu, "trial", 2 * bytes)?;
    encoder.copy_buffer_to_buffer(sorted.keys.raw(), 0, &staging, 0, bytes);
    encoder.copy_buffer_to_buffer(sorted.values.raw(), 0, &staging, bytes, bytes);
    gpu.queue().submit([encoder.finish()]);
    let mut readback = Readback::begin(gpu, &staging, 2 * bytes);
    scopes.close_with("trial of sort_ballot", &mut readback)?;
    gpu.device()
        .poll(wgpu::PollType::wait_indefinitely())
        .map_err(|error| gpu.lost(&error.to_string(), Some(crate::Cause::of(error))))?;
    values.sort_by_key(|&i| keys[i as usize]);
    let expected = [values.iter().map(|&i| keys[i as usize]).collect(), values].concat();
    readback.read(0, expected.len(), |found: &[u32]| found == expected)
}

#[cfg(target_arch = "wasm32")]
fn sorts_as_it_should(_: &Gpu, _: &Source) -> Result<bool, Error> {
    Ok(false)
}
