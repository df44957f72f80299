//! Compares the radix sort of this library with that of the crate lampshade: `u32` keys with `u32` values, by all 32 bits, on the same
//! device.
//!
//! ```text
//! cargo run --release --manifest-path benches/sorts/Cargo.toml -- [OPTION ...] [KEYS ...]
//!   --runs R     measured runs of each row, after two that are not counted [9]
//!   --calls C    sorts in each run, one after the other in one submission [20]
//! ```
//!
//! Each sort starts from the same random keys, which are copied before it. The time is that of a submission with all the sorts of a run, less
//! that of one with the copies alone, by the number of sorts; medians with quartiles. Before that the result of each sort is compared
//! with that of a stable sort on the CPU. Without numbers of keys there are 10,000 to four million.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use broadsweep::internals::gpu::buffers::Buffer;
use broadsweep::internals::gpu::kernel::Pass;
use broadsweep::internals::gpu::sort_buffers::SortBuffers;
use broadsweep::internals::grid::sort::Sort;
use broadsweep::internals::grid::sort_variant;
use broadsweep::internals::layout::Counts;
use broadsweep::{Gpu, wgpu};
use lampshade::KeyValueSoaSorter;

struct Plan {
    gpu: Gpu,
    runs: usize,
    calls: usize,
}

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
            _ => numbers.push(argument.parse::<u32>()?),
        }
    }
    if numbers.is_empty() {
        numbers.extend([10_000, 100_000, 1_000_000, 4_000_000]);
    }
    let info = plan.gpu.adapter_info();
    println!("{} ({:?}, {} {})", info.name, info.backend, info.driver, info.driver_info);
    println!("{:40} {:>12} {:>23}", "", "device, ms", "quartiles");
    numbers.into_iter().try_for_each(|n| plan.measure(n))
}

impl Plan {
    fn measure(&self, n: u32) -> Result<()> {
        let gpu = self.gpu.clone();
        let mut state = 1u64;
        let keys: Vec<u32> = (0..n).map(|_| random(&mut state)).collect();
        let values: Vec<u32> = (0..n).collect();
        let mut expected = values.clone();
        expected.sort_by_key(|&i| keys[i as usize]);

        let lists = SortBuffers::new(&gpu, "sorts", n.into())?;
        let [given_keys, given_values] = [&keys, &values].map(|list| -> Result<Buffer<u32>> {
            let given = Buffer::storage(&gpu, "given", n.into())?;
            given.write(&gpu, list);
            Ok(given)
        });
        let (given_keys, given_values) = (given_keys?, given_values?);
        let copy = |encoder: &mut wgpu::CommandEncoder| {
            for (from, to) in [(&given_keys, &lists.keys), (&given_values, &lists.values)] {
                encoder.copy_buffer_to_buffer(from.raw(), 0, to.raw(), 0, u64::from(n) * 4);
            }
        };

        let sort = Sort::with_variant(&gpu, sort_variant(&gpu)?)?;
        let counts = Buffer::storage(&gpu, "counts", 1)?;
        counts.write(&gpu, &[Counts { written: n, ..bytemuck::Zeroable::zeroed() }]);
        let mut sorted = lists.clone();
        let mut ours = |encoder: &mut wgpu::CommandEncoder| -> Result<()> {
            copy(encoder);
            lists.record_clear(encoder);
            let mut pass = Pass::begin(&gpu, encoder);
            sorted = sort.record_pairs(&mut pass, &counts, n, lists.clone(), u32::BITS);
            Ok(pass.finish()?)
        };
        self.row(&format!("{n} keys, broadsweep {:?}", sort.variant()), &copy, &mut ours)?;
        ensure!(self.read(&sorted.values)? == expected, "broadsweep sorts {n} keys wrongly");

        let mut other = KeyValueSoaSorter::new(gpu.device(), gpu.queue());
        other.prepare_sort(lists.keys.raw(), lists.values.raw(), n)?;
        let kind = if other.is_accelerated() { "accelerated" } else { "portable" };
        let mut theirs = |encoder: &mut wgpu::CommandEncoder| -> Result<()> {
            copy(encoder);
            Ok(other.record_sort(encoder, lists.keys.raw(), lists.values.raw(), n)?)
        };
        self.row(&format!("{n} keys, lampshade {kind}"), &copy, &mut theirs)?;
        ensure!(self.read(&lists.values)? == expected, "lampshade sorts {n} keys wrongly");
        Ok(())
    }

    /// Measures a sort and prints its row.
    fn row(
        &self,
        name: &str,
        copy: &dyn Fn(&mut wgpu::CommandEncoder),
        record: &mut dyn FnMut(&mut wgpu::CommandEncoder) -> Result<()>,
    ) -> Result<()> {
        let mut times = Vec::new();
        for run in 0..self.runs + 2 {
            let mut encoder = self.encoder();
            (0..self.calls).for_each(|_| copy(&mut encoder));
            let copies = self.submit(encoder)?;
            let mut encoder = self.encoder();
            (0..self.calls).try_for_each(|_| record(&mut encoder))?;
            let taken = self.submit(encoder)?.saturating_sub(copies);
            if run >= 2 {
                times.push(1e3 * taken.as_secs_f64() / self.calls as f64);
            }
        }
        times.sort_by(f64::total_cmp);
        let [q1, median, q3] = [1, 2, 3].map(|quarter| times[quarter * (times.len() - 1) / 4]);
        println!("{name:40} {median:>12.4} {:>23}", format!("{q1:.4} to {q3:.4}"));
        Ok(())
    }

    fn encoder(&self) -> wgpu::CommandEncoder {
        self.gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
    }

    /// Submits what was recorded and waits for it; returns how long that took.
    fn submit(&self, encoder: wgpu::CommandEncoder) -> Result<Duration> {
        let commands = encoder.finish();
        let start = Instant::now();
        self.gpu.queue().submit([commands]);
        self.gpu.device().poll(wgpu::PollType::wait_indefinitely())?;
        Ok(start.elapsed())
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
