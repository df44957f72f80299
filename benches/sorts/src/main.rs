//! Compares the radix sort of this library with that of the crate lampshade on the same device: `u32` keys with `u32`
//! values, by all 32 bits. Prints CSV.
//!
//! ```text
//! cargo run --release --manifest-path benches/sorts/Cargo.toml -- [OPTION ...] [KEYS ...]
//!   --runs R     measured runs of each row, after two that are not counted [9]
//!   --calls C    sorts in each run, in one submission, of at most four million keys in all [20]
//! ```
//!
//! Each sort starts from the same random keys, which are copied before it. The time of a sort is that of a submission
//! with all sorts of a run, less that of a submission with the copies alone, divided by the count of sorts. Both sorts
//! take turns. *ratio*: the time of broadsweep divided by that of lampshade in the same run, with its quartiles over
//! the runs; the times are medians. *dispatches*: of lampshade, only those of its portable sort are counted. *bytes per
//! key*: buffers of a sort beyond keys and values. The result of each sort is compared with that of a stable sort on
//! the CPU. Without counts of keys, there are 10,000 to ten million.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use broadsweep::internals::gpu::buffers::Buffer;
use broadsweep::internals::gpu::kernel::Pass;
use broadsweep::internals::gpu::sort_buffers::SortBuffers;
use broadsweep::internals::grid::sort::Sort;
use broadsweep::internals::grid::sort_variant;
use broadsweep::internals::layout::Counts;
use broadsweep::{Gpu, wgpu};
use laboratory::measure::time::Time;
use lampshade::{KeyValueSoaSorter, KeyValueSorter};

const HEAD: &str = "keys,broadsweep,lampshade,broadsweep ms,lampshade ms,ratio,ratio q1,ratio q3,broadsweep dispatches,\
    lampshade dispatches,broadsweep bytes per key,lampshade bytes per key";
/// Keys that the sorts of a run have in all, at most, unless one sort has more.
const KEYS_OF_A_RUN: u32 = 4_000_000;
/// Dispatches of lampshade's portable sort beyond those of its sort of packed pairs: it packs and unpacks keys and
/// values.
const BRIDGE: usize = 2;
const WARM_UP: usize = 2;

struct Plan {
    gpu: Gpu,
    runs: usize,
    calls: usize,
}

/// The lists that both sorts take.
struct Lists {
    given: [Buffer<u32>; 2],
    sorted: SortBuffers,
}

/// Records one part of a run: the copies of the lists alone, or with a sort.
type Record<'a> = &'a mut dyn FnMut(&mut wgpu::CommandEncoder) -> Result<()>;

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1);
    let mut plan = Plan { gpu: Gpu::headless()?, runs: 9, calls: 20 };
    let mut numbers = Vec::new();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().with_context(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--runs" => plan.runs = value()?.parse::<usize>()?.max(1),
            "--calls" => plan.calls = value()?.parse::<usize>()?.max(1),
            _ if argument.starts_with('-') => bail!("there is no option {argument}"),
            _ => numbers.push(argument.parse::<u32>()?.max(1)),
        }
    }
    if numbers.is_empty() {
        numbers.extend([10_000, 100_000, 1_000_000, 10_000_000]);
    }
    let info = plan.gpu.adapter_info();
    println!("# device: {}, {} {}; lampshade 0.13.0", info.name, info.driver, info.driver_info);
    let given: Vec<String> = std::env::args().skip(1).collect();
    println!("# command: cargo run --release --manifest-path benches/sorts/Cargo.toml -- {}", given.join(" "));
    println!("{HEAD}");
    numbers.into_iter().try_for_each(|n| plan.measure(n))
}

impl Lists {
    fn new(gpu: &Gpu, keys: &[u32], values: &[u32]) -> Result<Self> {
        let n = keys.len() as u64;
        let given = [Buffer::storage(gpu, "given", n)?, Buffer::storage(gpu, "given", n)?];
        given[0].write(gpu, keys);
        given[1].write(gpu, values);
        Ok(Self { given, sorted: SortBuffers::new(gpu, "sorts", n)? })
    }

    /// Records the copies from which a sort starts.
    fn copy(&self, encoder: &mut wgpu::CommandEncoder) {
        let Self { given: [keys, values], sorted } = self;
        for (from, to) in [(keys, &sorted.keys), (values, &sorted.values)] {
            encoder.copy_buffer_to_buffer(from.raw(), 0, to.raw(), 0, from.len() * 4);
        }
    }
}

impl Plan {
    /// Compares the sorts of `n` keys, and prints their row.
    fn measure(&self, n: u32) -> Result<()> {
        let gpu = &self.gpu;
        let mut state = 1u64;
        let keys: Vec<u32> = (0..n).map(|_| random(&mut state)).collect();
        let values: Vec<u32> = (0..n).collect();
        let mut order = values.clone();
        order.sort_by_key(|&i| keys[i as usize]);
        let expected = [order.iter().map(|&i| keys[i as usize]).collect(), order];
        let before = self.bytes()?;
        let lists = Lists::new(gpu, &keys, &values)?;
        let sort = Sort::with_variant(gpu, sort_variant(gpu)?)?;
        let counts = Buffer::storage(gpu, "counts", 1)?;
        counts.write(gpu, &[Counts { written: n, ..bytemuck::Zeroable::zeroed() }]);
        // Four lists are those that are given, and those that are sorted.
        let own_bytes = self.bytes()? - before - 16 * u64::from(n);

        let before = self.bytes()?;
        let mut other = KeyValueSoaSorter::new(gpu.device(), gpu.queue());
        other.prepare_sort(lists.sorted.keys.raw(), lists.sorted.values.raw(), n)?;
        let other_bytes = self.bytes()? - before;

        let mut sorted = lists.sorted.clone();
        let mut ours = |encoder: &mut wgpu::CommandEncoder| -> Result<()> {
            lists.copy(encoder);
            lists.sorted.record_clear(encoder);
            let mut pass = Pass::begin(gpu, encoder);
            sorted = sort.record_pairs(&mut pass, &counts, n, lists.sorted.clone(), u32::BITS);
            Ok(pass.finish()?)
        };
        let mut theirs = |encoder: &mut wgpu::CommandEncoder| -> Result<()> {
            lists.copy(encoder);
            Ok(other.record_sort(encoder, lists.sorted.keys.raw(), lists.sorted.values.raw(), n)?)
        };
        let mut alone = |encoder: &mut wgpu::CommandEncoder| -> Result<()> {
            lists.copy(encoder);
            Ok(())
        };
        let calls = self.calls.min((KEYS_OF_A_RUN / n).max(1) as usize);
        let times = self.race(calls, [&mut alone, &mut ours, &mut theirs])?;
        let first = gpu.dispatch_count();
        self.run(1, &mut ours)?;
        let own_dispatches = gpu.dispatch_count().since(first).total();
        ensure!(self.sorted(&sorted)? == expected, "broadsweep sorts {n} keys wrongly");
        self.run(1, &mut theirs)?;
        ensure!(self.sorted(&lists.sorted)? == expected, "lampshade sorts {n} keys wrongly");

        let kind = if other.is_accelerated() { "accelerated" } else { "portable" };
        print!("{n},{},{kind}", format!("{:?}", sort.variant()).to_lowercase());
        times.iter().for_each(|time| print!(",{time:.4}"));
        let their_dispatches =
            if other.is_accelerated() { String::new() } else { self.portable_dispatches(n)?.to_string() };
        print!(",{own_dispatches},{their_dispatches}");
        println!(",{:.2},{:.2}", own_bytes as f64 / f64::from(n), other_bytes as f64 / f64::from(n));
        Ok(())
    }

    /// Measures the copies alone and both sorts in turn. Returns the milliseconds of our sort and of theirs, and the
    /// ratio with its quartiles.
    fn race(&self, calls: usize, mut records: [Record; 3]) -> Result<[f64; 5]> {
        let mut times = [const { Vec::new() }; 3];
        for run in 0..self.runs + WARM_UP {
            let mut taken = [0.0; 3];
            for (taken, record) in taken.iter_mut().zip(&mut records) {
                *taken = 1e3 * self.run(calls, record)?.as_secs_f64() / calls as f64;
            }
            let [copies, ours, theirs] = taken;
            let [ours, theirs] = [ours - copies, theirs - copies];
            if run >= WARM_UP {
                times.iter_mut().zip([ours, theirs, ours / theirs]).for_each(|(times, time)| times.push(time));
            }
        }
        let [ours, theirs, ratio] = times.map(|times| Time::of(times).expect("at least one run"));
        Ok([ours.median_ms, theirs.median_ms, ratio.median_ms, ratio.q1_ms, ratio.q3_ms])
    }

    /// Records this number of sorts, submits them and waits for them.
    fn run(&self, calls: usize, record: Record) -> Result<Duration> {
        let mut encoder = self.encoder();
        (0..calls).try_for_each(|_| record(&mut encoder))?;
        self.submit(encoder)
    }

    /// Returns the dispatches of lampshade's portable sort. The profile of its sort of packed pairs lists each with a
    /// time.
    fn portable_dispatches(&self, n: u32) -> Result<usize> {
        let (device, queue) = (self.gpu.device(), self.gpu.queue());
        let list = || Buffer::<[u32; 2]>::storage(&self.gpu, "profile", n.into());
        let (input, output) = (list()?, list()?);
        let count = Buffer::storage(&self.gpu, "count", 1)?;
        count.write(&self.gpu, &[n]);
        let mut sorter = KeyValueSorter::new_for_adapter(device, queue, &self.gpu.adapter_info());
        let profile = sorter.profile_sort_counted_gpu_to_gpu(input.raw(), output.raw(), count.raw(), n);
        Ok(pollster::block_on(profile)?.spans.len() + BRIDGE)
    }

    /// Returns the bytes of all buffers of the device.
    fn bytes(&self) -> Result<u64> {
        self.gpu.device().poll(wgpu::PollType::wait_indefinitely())?;
        Ok(u64::try_from(self.gpu.device().get_internal_counters().hal.buffer_memory.read())?)
    }

    fn encoder(&self) -> wgpu::CommandEncoder {
        self.gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
    }

    /// Submits the commands and waits for them. Returns the time of both.
    fn submit(&self, encoder: wgpu::CommandEncoder) -> Result<Duration> {
        let commands = encoder.finish();
        let start = Instant::now();
        self.gpu.queue().submit([commands]);
        self.gpu.device().poll(wgpu::PollType::wait_indefinitely())?;
        Ok(start.elapsed())
    }

    /// Reads the keys and the values.
    fn sorted(&self, lists: &SortBuffers) -> Result<[Vec<u32>; 2]> {
        Ok([self.read(&lists.keys)?, self.read(&lists.values)?])
    }

    fn read(&self, buffer: &Buffer<u32>) -> Result<Vec<u32>> {
        let bytes = buffer.len() * 4;
        let staging = self.gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: Some("staging"),
            size: bytes,
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut encoder = self.encoder();
        encoder.copy_buffer_to_buffer(buffer.raw(), 0, &staging, 0, bytes);
        self.submit(encoder)?;
        staging.map_async(wgpu::MapMode::Read, .., |_| ());
        self.submit(self.encoder())?;
        let values = bytemuck::pod_collect_to_vec(&staging.get_mapped_range(..)?);
        Ok(values)
    }
}

/// Numbers that are the same on every run (splitmix64).
fn random(state: &mut u64) -> u32 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    ((z ^ (z >> 31)) >> 32) as u32
}
