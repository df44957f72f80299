//! Buffers of the device, and recordings that are run there.

use broadsweep::Pair;
use broadsweep::record::{GpuPairs, PairArguments, PairHeader};
use broadsweep::wgpu::{self, BufferUsages as U};
use bytemuck::Pod;

use super::{GPU, wait_for};

/// Creates a buffer of these values.
pub fn upload<T: Pod>(values: &[T]) -> wgpu::Buffer {
    upload_behind(0, values, U::STORAGE | U::COPY_SRC)
}

/// Creates a buffer with this usage that has these values behind `offset` bytes.
pub fn upload_behind<T: Pod>(offset: u64, values: &[T], usage: U) -> wgpu::Buffer {
    let buffer = GPU.device().create_buffer(&wgpu::BufferDescriptor {
        label: Some("values of the caller"),
        size: (offset + size_of_val(values) as u64).max(32),
        usage: usage | U::COPY_DST,
        mapped_at_creation: false,
    });
    GPU.queue().write_buffer(&buffer, offset, bytemuck::cast_slice(values));
    buffer
}

pub fn encoder() -> wgpu::CommandEncoder {
    GPU.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
}

/// A copy of a buffer, or of its first values, as they are at this place among the commands.
pub struct Copied {
    buffer: wgpu::Buffer,
    bytes: u64,
}

impl Copied {
    pub fn of(encoder: &mut wgpu::CommandEncoder, from: &wgpu::Buffer) -> Self {
        Self::first::<u8>(encoder, from, from.size() as usize)
    }

    /// Copies the first `count` values.
    pub fn first<T>(encoder: &mut wgpu::CommandEncoder, from: &wgpu::Buffer, count: usize) -> Self {
        let bytes = (count * size_of::<T>()) as u64;
        let buffer = GPU.device().create_buffer(&wgpu::BufferDescriptor {
            label: Some("copy"),
            size: bytes.max(4),
            usage: U::MAP_READ | U::COPY_DST,
            mapped_at_creation: false,
        });
        if bytes > 0 {
            encoder.copy_buffer_to_buffer(from, 0, &buffer, 0, bytes);
        }
        Self { buffer, bytes }
    }

    /// Reads the values. The commands must have been submitted.
    pub fn read<T: Pod>(&self) -> Vec<T> {
        self.buffer.map_async(wgpu::MapMode::Read, .., Result::unwrap);
        GPU.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
        let bytes = self.buffer.get_mapped_range(..).unwrap().to_vec();
        self.buffer.unmap();
        bytemuck::pod_collect_to_vec(&bytes[..self.bytes as usize])
    }
}

/// Runs what was recorded, and returns copies of these buffers.
fn copies<const N: usize>(mut encoder: wgpu::CommandEncoder, buffers: [&wgpu::Buffer; N]) -> [Copied; N] {
    let copies = buffers.map(|buffer| Copied::of(&mut encoder, buffer));
    wait_for(&GPU, encoder);
    copies
}

/// Runs what was recorded, and reads these buffers.
pub fn read<T: Pod, const N: usize>(encoder: wgpu::CommandEncoder, buffers: [&wgpu::Buffer; N]) -> [Vec<T>; N] {
    copies(encoder, buffers).map(|copied| copied.read())
}

/// Runs what was recorded, and reads header and list.
pub fn run(encoder: wgpu::CommandEncoder, left: GpuPairs) -> (PairHeader, Vec<Pair>) {
    let (header, _, pairs) = run_with_arguments(encoder, left);
    (header, pairs)
}

/// Runs what was recorded, and reads header, arguments and list.
pub fn run_with_arguments(encoder: wgpu::CommandEncoder, left: GpuPairs) -> (PairHeader, PairArguments, Vec<Pair>) {
    run_cloned(encoder, &cloned(left))
}

/// Returns header, arguments and list of a recording that other recordings follow.
pub fn cloned(left: GpuPairs<'_>) -> [wgpu::Buffer; 3] {
    [left.header, left.arguments, left.pairs].map(Clone::clone)
}

/// Runs what was recorded before other recordings, and reads header, arguments and list.
pub fn run_cloned(
    encoder: wgpu::CommandEncoder,
    [header, arguments, pairs]: &[wgpu::Buffer; 3],
) -> (PairHeader, PairArguments, Vec<Pair>) {
    let [header, arguments, pairs] = copies(encoder, [header, arguments, pairs]);
    let (header, mut pairs): (PairHeader, Vec<Pair>) = (header.read()[0], pairs.read());
    pairs.truncate(header.written as usize);
    (header, arguments.read()[0], pairs)
}
