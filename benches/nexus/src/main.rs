//! Compares broadsweep with the broad phase of nexus (`nexus_rbd3d`), on the same device and the same boxes, and prints
//! CSV.
//!
//! ```text
//! scripts/nexus.sh [OPTION ...] [KIND:N ...]
//!   --rounds R   timed rounds of each scene, in each of which both are timed, after two that are not counted [15]
//!   --calls C    calls of a timed submission [1]
//!   --runs R     calls whose lists are compared with each other [5]
//! ```
//! Without scenes: uniform, clusters and a city of 1,000, 10,000 and 100,000 boxes.
//!
//! **nexus** is driven as its pipeline drives it, without the simulation:
//! [`Lbvh::update_tree`](nexus_rbd3d::broad_phase::Lbvh), then `find_pairs`, with one cuboid per box. Its broad phase
//! computes each box as position minus and plus half extents. Both libraries get the resulting boxes, so they are equal
//! bit for bit. **broadsweep** records a search with a `Recorder`, in the order of the sweep. Both have boxes and pairs
//! on the device, and lists of the same capacity.
//!
//! - *missing*, *extra*, *doubled*: the list of nexus against the exact pairs of the CPU engine.
//! - *largest gap*: between the boxes of an extra pair, along an axis.
//! - *orders*: the count of different lists in all runs.
//! - *lost*: pairs that cannot be read after a call whose list has half the capacity.
//! - *bytes per box*: buffers of a library, with its input and its list.
//! - *ratio*: the time of broadsweep divided by that of nexus, for a submission and the wait for it, with its quartiles
//!   over the rounds.

mod lists;
mod ours;
mod theirs;

use std::time::Instant;

use anyhow::{Context, Result, bail, ensure};
use broadsweep::{Aabb, Gpu, Options, PairOrder, cpu, wgpu};
use laboratory::measure::time::Time;
use laboratory::scenes::SceneName;

use crate::lists::{Difference, largest_gap, orders};
use crate::ours::Ours;
use crate::theirs::{Theirs, cuboids};

const HEAD: &str = "scene,boxes,pairs,missing,extra,largest gap,doubled,nexus orders,broadsweep orders,nexus lost,broadsweep lost,\
    nexus bytes per box,broadsweep bytes per box,nexus ms,broadsweep ms,ratio,ratio q1,ratio q3";
const WARM_UP: usize = 2;

struct Plan {
    gpu: Gpu,
    /// The backend of nexus, on the device of `gpu`.
    backend: khal::backend::GpuBackend,
    rounds: usize,
    calls: usize,
    runs: usize,
}

fn main() -> Result<()> {
    let (gpu, backend) = devices()?;
    let mut plan = Plan { gpu, backend, rounds: 15, calls: 1, runs: 5 };
    let mut scenes: Vec<SceneName> = Vec::new();
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        let mut value = || -> Result<usize> {
            let value = arguments.next().with_context(|| format!("{argument} needs a value"))?;
            Ok(value.parse::<usize>().with_context(|| format!("{argument} {value}"))?.max(1))
        };
        match argument.as_str() {
            "--rounds" => plan.rounds = value()?,
            "--calls" => plan.calls = value()?,
            "--runs" => plan.runs = value()?,
            _ if argument.starts_with('-') => bail!("there is no option {argument}"),
            _ => scenes.push(argument.parse()?),
        }
    }
    if scenes.is_empty() {
        for n in [1000, 10_000, 100_000] {
            for kind in ["uniform", "clusters", "city"] {
                scenes.push(format!("{kind}:{n}").parse()?);
            }
        }
    }
    let info = plan.gpu.adapter_info();
    println!("# device: {}, {} {}; nexus_rbd3d 0.7.0", info.name, info.driver, info.driver_info);
    let given: Vec<String> = std::env::args().skip(1).collect();
    println!("# command: scripts/nexus.sh {}", given.join(" "));
    println!("{HEAD}");
    scenes.iter().try_for_each(|scene| plan.compare(scene))
}

/// Returns the same device twice: for broadsweep, and as a backend of nexus.
fn devices() -> Result<(Gpu, khal::backend::GpuBackend)> {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        backends: wgpu::Backends::PRIMARY.with_env(),
        // Without the validation of indirect calls, which would add a dispatch to each.
        flags: wgpu::InstanceFlags::empty().with_env(),
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    let adapter = pollster::block_on(wgpu::util::initialize_adapter_from_env_or_default(&instance, None))?;
    let gpu = pollster::block_on(Gpu::request_on(adapter.clone()))?;
    let mut backend = khal::backend::WebGpu::from_device(instance, adapter, gpu.device().clone(), gpu.queue().clone());
    backend.force_buffer_copy_src = true;
    Ok((gpu, khal::backend::GpuBackend::WebGpu(backend)))
}

impl Plan {
    /// Compares the libraries on a scene, and prints its row.
    fn compare(&self, scene: &SceneName) -> Result<()> {
        let (poses, shapes, boxes) = cuboids(&scene.boxes(1)?);
        let exact = exact_pairs(&boxes)?;
        let mut theirs = Theirs::new(&self.backend)?;
        // The first call counts the pairs, and a list for all of them follows.
        let count = theirs.load(&self.backend, &poses, &shapes, 1)?.count(&self.backend)?;
        drop(theirs);

        let (mut theirs, their_bytes) = self.measured(|| {
            let mut theirs = Theirs::new(&self.backend)?;
            let counted = theirs.load(&self.backend, &poses, &shapes, count.max(1))?.count(&self.backend)?;
            ensure!(counted == count, "nexus counts {count} pairs, then {counted}");
            Ok(theirs)
        })?;
        let (mut ours, our_bytes) = self.measured(|| {
            let mut ours = Ours::new(&self.gpu, &boxes, count.max(1))?;
            ours.run(&self.gpu, 1)?;
            Ok(ours)
        })?;

        let mut their_lists = Vec::new();
        let mut our_lists = Vec::new();
        for _ in 0..self.runs {
            their_lists.push(theirs.pairs(&self.backend)?);
            our_lists.push(ours.pairs(&self.gpu)?);
        }
        let found = Difference::of(&exact, &their_lists[0]);
        let own = Difference::of(&exact, &our_lists[0]);
        ensure!(own == Difference::default(), "{scene}: broadsweep differs from the CPU engine: {own:?}");
        let times = self.race(&mut theirs, &mut ours)?;

        let half = (count / 2).max(1);
        theirs.load(&self.backend, &poses, &shapes, half)?;
        let kept = theirs.pairs(&self.backend)?.len() as u32;
        let all = Ours::new(&self.gpu, &boxes, half)?.pairs(&self.gpu)?;
        let lost = [u64::from(count - kept), Difference::of(&exact, &all).missing];

        let counts = [found.doubled, orders(&their_lists), orders(&our_lists)];
        let per_box = [their_bytes, our_bytes].map(|bytes| bytes / boxes.len() as u64);
        print!("{},{},{}", scene.to_string().split(':').next().unwrap_or_default(), boxes.len(), exact.len());
        print!(",{},{},{:.6}", found.missing, found.extra, largest_gap(&boxes, &their_lists[0]));
        counts.iter().chain(&lost).chain(&per_box).for_each(|number| print!(",{number}"));
        let [theirs, ours, ratio] = &times;
        let (nexus, broadsweep) = (theirs.median_ms, ours.median_ms);
        println!(",{nexus:.4},{broadsweep:.4},{:.4},{:.4},{:.4}", ratio.median_ms, ratio.q1_ms, ratio.q3_ms);
        Ok(())
    }

    /// Creates a value, and returns the bytes of the buffers that the device got with it.
    fn measured<T>(&self, create: impl FnOnce() -> Result<T>) -> Result<(T, u64)> {
        let bytes = || self.gpu.device().get_internal_counters().hal.buffer_memory.read();
        self.gpu.device().poll(wgpu::PollType::wait_indefinitely())?;
        let before = bytes();
        let value = create()?;
        self.gpu.device().poll(wgpu::PollType::wait_indefinitely())?;
        Ok((value, u64::try_from(bytes() - before)?))
    }

    /// Times both in turn: milliseconds of a call of nexus and of broadsweep, and the ratio of the two in each round.
    fn race(&self, theirs: &mut Theirs, ours: &mut Ours) -> Result<[Time; 3]> {
        let mut times = [const { Vec::new() }; 3];
        for round in 0..self.rounds + WARM_UP {
            let start = Instant::now();
            theirs.run(&self.backend, self.calls)?;
            let nexus = self.wait(start)?;
            let start = Instant::now();
            ours.run(&self.gpu, self.calls)?;
            let broadsweep = self.wait(start)?;
            if round >= WARM_UP {
                let row = [nexus, broadsweep, broadsweep / nexus];
                times.iter_mut().zip(row).for_each(|(times, time)| times.push(time));
            }
        }
        let times = times.map(Time::of);
        let [Some(nexus), Some(broadsweep), Some(ratio)] = times else { bail!("there are no rounds") };
        Ok([nexus, broadsweep, ratio])
    }

    /// Waits for the device, and returns the milliseconds of a call.
    fn wait(&self, start: Instant) -> Result<f64> {
        self.gpu.device().poll(wgpu::PollType::wait_indefinitely())?;
        Ok(1e3 * start.elapsed().as_secs_f64() / self.calls as f64)
    }
}

/// Returns the exact pairs, in canonical order.
fn exact_pairs(boxes: &[Aabb]) -> Result<Vec<[u32; 2]>> {
    let mut engine = cpu::BroadPhase::new(Options::default().with_order(PairOrder::Canonical))?;
    Ok(engine.find_pairs(boxes)?.pairs.iter().map(|pair| [pair.a, pair.b]).collect())
}
