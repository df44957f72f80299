//! Every stage's kernels on the GPU against their mirrors on the CPU, on the same inputs.
//!
//! The output of a kernel is poisoned first: every byte is 0xff, so "wrote 0" differs from "wrote nothing", and
//! behind the end lie [`GUARD`] elements that have to stay so. Integers compare exactly, floats with the
//! tolerance that each test states. Without an adapter the tests fail.

mod bin_count;
mod bin_level;
mod bin_scatter;
mod derived;
#[path = "../common/doubles.rs"]
mod doubles;
mod emit;
mod events;
mod exact;
mod exclude;
#[path = "../common/filter_cases.rs"]
mod filter_cases;
mod filters;
mod footprints;
mod frame;
mod giants;
mod grid;
mod half_space;
mod inputs;
mod joined;
mod neighbours;
#[path = "../common/numbers.rs"]
#[allow(dead_code)] // Boxes, spheres and casts alone are used.
mod numbers;
mod order;
mod owner;
mod path;
mod pca;
mod prepare;
mod proven;
mod rank;
mod round;
#[path = "../common/rounds.rs"]
mod rounds;
mod small;
mod sort;
#[path = "../common/sums.rs"]
mod sums;
#[path = "sums.rs"]
mod sums_of_products;
mod sweep;
mod tree;

use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};

use broadsweep::Gpu;
use broadsweep::internals::filters::lists::FilterLists;
use broadsweep::internals::gpu::buffers::Buffer;
use broadsweep::internals::gpu::kernel::Pass;
use broadsweep::internals::gpu::readback::Readback;
use broadsweep::internals::layout::{Counts, Dispatches};
use broadsweep::wgpu::{BufferUsages, CommandEncoderDescriptor, PollType};
use bytemuck::{Pod, Zeroable};
use proptest::test_runner::Config;

/// Elements behind the end of an output; more than a workgroup has invocations.
const GUARD: u64 = 300;

/// Numbers of elements that every stage is run with: none, around a workgroup, and no multiple of anything.
const SIZES: [u32; 6] = [0, 1, 255, 256, 257, 1234];

/// Returns the device of this test binary.
fn gpu() -> &'static Gpu {
    static DEVICE: LazyLock<Result<Gpu, String>> = LazyLock::new(|| Gpu::headless().map_err(|error| error.to_string()));
    DEVICE.as_ref().unwrap_or_else(|error| {
        panic!("the stages are tested on a GPU, or on a Vulkan in software such as lavapipe; here: {error}")
    })
}

/// Lets one test at a time submit and wait. Polling from several threads would let one of them see its buffer
/// before the other has run its callback.
fn turn() -> MutexGuard<'static, ()> {
    static TURN: Mutex<()> = Mutex::new(());
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Configures property-based tests: a case costs a submission, so there are fewer than usual. `PROPTEST_CASES`, of
/// which 256 are usual, makes them proportionally more.
fn cases(count: u32) -> Config {
    let usual = Config::default();
    Config { cases: (count * usual.cases / 256).max(1), failure_persistence: None, ..usual }
}

/// Returns the lists of no filters, for stages that test boxes.
fn no_filters() -> &'static FilterLists {
    static NONE: LazyLock<FilterLists> = LazyLock::new(|| FilterLists::none(gpu()).unwrap());
    &NONE
}

/// Records into a pass of its own, and submits.
fn run(record: impl FnOnce(&mut Pass)) {
    let _turn = turn();
    let mut encoder = gpu().device().create_command_encoder(&CommandEncoderDescriptor::default());
    let mut pass = Pass::begin(gpu(), &mut encoder);
    record(&mut pass);
    pass.finish().unwrap();
    drop(pass);
    gpu().queue().submit([encoder.finish()]);
}

/// Creates an input.
fn upload<T: Pod>(values: &[T]) -> Buffer<T> {
    let buffer = Buffer::storage(gpu(), "input", values.len() as u64).unwrap();
    buffer.write(gpu(), values);
    buffer
}

/// Creates an input that is a constant.
fn uniform<T: Pod>(value: T) -> Buffer<T> {
    Buffer::uniform(gpu(), "uniform", &[value]).unwrap()
}

/// Counts as an input, which some kernels bind as a constant.
fn counted(counts: Counts) -> Buffer<Counts> {
    let usage = BufferUsages::STORAGE | BufferUsages::UNIFORM | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
    let buffer = Buffer::new(gpu(), "counts", 1, usage).unwrap();
    buffer.write(gpu(), &[counts]);
    buffer
}

/// Creates an output of `len` elements, poisoned, with a guard behind it.
fn poisoned<T: Pod>(len: usize) -> Buffer<T> {
    let len = len as u64 + GUARD;
    let usage = BufferUsages::STORAGE | BufferUsages::INDIRECT | BufferUsages::COPY_DST | BufferUsages::COPY_SRC;
    let buffer = Buffer::<T>::new(gpu(), "output", len, usage).unwrap();
    let poison = vec![0xff; Buffer::<T>::bytes(len) as usize];
    gpu().queue().write_buffer(buffer.raw(), 0, &poison);
    buffer
}

/// Creates an output that is an input too, with a guard behind it.
fn guarded<T: Pod>(values: &[T]) -> Buffer<T> {
    let buffer = poisoned(values.len());
    buffer.write(gpu(), values);
    buffer
}

/// Returns what a kernel wrote, after a look at the guard.
fn written<T: Pod>(buffer: &Buffer<T>) -> Vec<T> {
    let mut values = download(buffer);
    let guard = values.split_off((buffer.len() - GUARD) as usize);
    let bytes = bytemuck::cast_slice::<T, u8>(&guard);
    if let Some(at) = bytes.iter().position(|&byte| byte != 0xff) {
        panic!("something was written {at} bytes behind the end of {} elements", values.len());
    }
    values
}

/// Returns whether nothing was written there.
fn is_poison<T: Pod>(value: &T) -> bool {
    bytemuck::bytes_of(value).iter().all(|&byte| byte == 0xff)
}

/// Returns a value of which nothing was written.
fn poison<T: Pod>() -> T {
    let mut value = T::zeroed();
    bytemuck::bytes_of_mut(&mut value).fill(0xff);
    value
}

fn download<T: Pod>(buffer: &Buffer<T>) -> Vec<T> {
    let _turn = turn();
    let bytes = Buffer::<T>::bytes(buffer.len());
    let staging = Readback::staging(gpu(), "staging", bytes).unwrap();
    let mut encoder = gpu().device().create_command_encoder(&CommandEncoderDescriptor::default());
    encoder.copy_buffer_to_buffer(buffer.raw(), 0, &staging, 0, bytes);
    gpu().queue().submit([encoder.finish()]);
    let readback = Readback::begin(gpu(), &staging, bytes);
    gpu().device().poll(PollType::wait_indefinitely()).unwrap();
    readback.read(0, buffer.len() as usize, <[T]>::to_vec).unwrap()
}

/// Sizes of indirect dispatches.
fn dispatches(set: impl FnOnce(&mut Dispatches)) -> Buffer<Dispatches> {
    let mut sizes = Dispatches::zeroed();
    set(&mut sizes);
    guarded(&[sizes])
}

/// Lays the same workgroups out in three columns, the last rows past the end: as beyond 65,535 of them, with fewer.
fn in_columns(groups: u32) -> [u32; 3] {
    if groups == 0 { [0, 1, 1] } else { [3, groups.div_ceil(3) + 1, 1] }
}

/// Returns a 64-bit count as its halves.
fn halves(count: u64) -> [u32; 2] {
    [count as u32, (count >> 32) as u32]
}
