//! Time of recorded calls on buffers of the device, where boxes, queries and answers stay there: the cost for a program
//! that has its boxes on the GPU.
//!
//! ```text
//! cargo bench -p broadsweep-laboratory --bench recorded -- [OPTION ...] [KIND:N | FILE.npy ...]
//!   --runs R       measured runs of each row, after two that are not counted [9]
//!   --calls C      calls in each run, one after the other in one submission [20]
//!   --queries N    rays in a batch; fewer of what has many answers [1000000]
//!   --only A,B     rows whose name contains one of these
//! ```
//!
//! The device's time is that of a submission with all the calls of a run, less that of one with nothing, by the number
//! of calls. The host's time is that of recording a call, or of a call of the CPU engine. Medians, with the quartiles
//! of the device's. A batch of which not all queries were answered is an error, not a row. Without a scene there are
//! 1,000 to a million uniform boxes.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use broadsweep::query::NearestQuery;
use broadsweep::record::{GpuBatch, GpuIdentity, QueryHeader};
use broadsweep::wgpu::{self, util::DeviceExt};
use broadsweep::{Aabb, BroadPhase, Gpu, Options, PairOrder, Ray, Recorder, TreeRecorder, cpu};
use laboratory::measure::time::Time;
use laboratory::queries::{QueryBatch, QueryKind};
use laboratory::scenes::SceneName;

/// The header of a batch of queries.
type Header = Option<wgpu::Buffer>;

fn of_header(header: &wgpu::Buffer) -> Header {
    Some(header.clone())
}

struct Plan {
    gpu: Gpu,
    runs: usize,
    calls: usize,
    queries: usize,
    only: Vec<String>,
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let mut plan = Plan { gpu: Gpu::headless()?, runs: 9, calls: 20, queries: 1_000_000, only: Vec::new() };
    let mut scenes = Vec::new();
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().with_context(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--runs" => plan.runs = value()?.parse::<usize>()?.max(1),
            "--calls" => plan.calls = value()?.parse::<usize>()?.max(1),
            "--queries" => plan.queries = value()?.parse()?,
            "--only" => plan.only = value()?.split(',').map(str::to_owned).collect(),
            _ if argument.starts_with('-') => bail!("there is no option {argument}"),
            _ => scenes.push(argument),
        }
    }
    if scenes.is_empty() {
        scenes.extend([1_000, 10_000, 100_000, 1_000_000].map(|n| format!("uniform:{n}")));
    }
    let info = plan.gpu.adapter_info();
    println!("{} ({:?}, {} {})", info.name, info.backend, info.driver, info.driver_info);
    println!("{:52} {:>12} {:>23} {:>12}", "", "device, ms", "quartiles", "host, ms");
    scenes.iter().try_for_each(|scene| plan.measure(&scene.parse()?))
}

impl Plan {
    fn measure(&self, scene: &SceneName) -> Result<()> {
        let boxes = scene.boxes(1)?;
        println!("{scene}: {} boxes", boxes.len());
        self.measure_pairs(&boxes)?;
        self.measure_static(&boxes)?;
        self.measure_queries(&boxes)
    }

    fn measure_pairs(&self, boxes: &[Aabb]) -> Result<()> {
        let (given, n) = (self.upload(boxes), boxes.len() as u32);
        for (name, order) in [("pairs", PairOrder::Sweep), ("pairs in canonical order", PairOrder::Canonical)] {
            let options = Options::default().with_order(order);
            let pairs = BroadPhase::new(&self.gpu, options)?.find_pairs(boxes)?.report.pair_count;
            let pairs = u32::try_from(pairs.max(1)).context("more pairs than a list on the device holds")?;
            let mut recorder = Recorder::new(&self.gpu, options)?;
            recorder.reserve(boxes.len(), pairs)?;
            self.row(name, |encoder| Ok(recorder.record(encoder, given.slice(..), n).map(|_| None)?))?;
            if order == PairOrder::Canonical {
                let same = |encoder: &mut wgpu::CommandEncoder| {
                    Ok(recorder.record_events(encoder, given.slice(..), n, GpuIdentity::Index).map(|_| None)?)
                };
                self.row("events of a step in which nothing moves", same)?;
            }
        }
        Ok(())
    }

    /// One box in a hundred moves; all stay in a tree.
    fn measure_static(&self, boxes: &[Aabb]) -> Result<()> {
        let movers: Vec<Aabb> = boxes.iter().step_by(100).copied().collect();
        let (given, n) = (self.upload(&movers), movers.len() as u32);
        let mut tree = TreeRecorder::new(&self.gpu)?;
        tree.tree_mut().build(boxes)?;
        let most = u32::try_from(tree.tree_mut().overlaps(&movers)?.answers.len())?;
        let mut recorder = Recorder::new(&self.gpu, Options::default().with_order(PairOrder::Canonical))?;
        recorder.reserve(movers.len(), 8 * n + 1024)?;
        self.row(&format!("events of {n} that move in a static world"), |encoder| {
            recorder.record_events(encoder, given.slice(..), n, GpuIdentity::Index)?;
            let with = tree.record_overlap_events(encoder, of::<Aabb>(&given, n as usize), most, GpuIdentity::Index)?;
            Ok(of_header(with.pairs.header))
        })?;
        let (mut engine, mut tree) = (cpu::BroadPhase::new(Options::default())?, cpu::Tree::new());
        tree.build(boxes)?;
        self.host_row(&format!("pairs of {n} that move in a static world, CPU"), || {
            engine.find_pairs(&movers)?;
            tree.overlaps(&movers)?;
            Ok(())
        })?;
        self.host_row("pairs, CPU", || {
            engine.find_pairs(boxes)?;
            Ok(())
        })
    }

    fn measure_queries(&self, boxes: &[Aabb]) -> Result<()> {
        let (given, n) = (self.upload(boxes), boxes.len() as u32);
        let mut tree = TreeRecorder::new(&self.gpu)?;
        self.row("build", |encoder| Ok(tree.record_build(encoder, given.slice(..), n).map(|()| None)?))?;
        self.row("refit", |encoder| Ok(tree.record_refit(encoder, given.slice(..), n).map(|()| None)?))?;
        tree.tree_mut().build(boxes)?;
        for question in QueryKind::ALL {
            let count = question.as_many_as(self.queries);
            let name = format!("{count} {question}");
            if !self.is_wanted(&name) {
                continue;
            }
            match question.generate(count, 1, boxes) {
                QueryBatch::NearestHits(rays) => {
                    let batch = self.upload(&rays);
                    self.row(&name, |encoder| {
                        Ok(of_header(tree.record_nearest_hits(encoder, of::<Ray>(&batch, count))?.header))
                    })?;
                    let name = format!("{name}, in order");
                    self.row(&name, |encoder| {
                        Ok(of_header(tree.record_nearest_hits(encoder, of::<Ray>(&batch, count).in_order())?.header))
                    })?;
                }
                QueryBatch::AnyHits(rays) => {
                    let batch = self.upload(&rays);
                    self.row(&name, |encoder| {
                        Ok(of_header(tree.record_any_hits(encoder, of::<Ray>(&batch, count))?.header))
                    })?;
                }
                QueryBatch::AllHits(rays) => {
                    let batch = self.upload(&rays);
                    let most = tree.tree_mut().all_hits(&rays)?.answers.len() as u32;
                    self.row(&name, |encoder| {
                        Ok(of_header(tree.record_all_hits(encoder, of::<Ray>(&batch, count), 0, most)?.header))
                    })?;
                }
                QueryBatch::Overlaps(boxes) => {
                    let batch = self.upload(&boxes);
                    let most = tree.tree_mut().overlaps(&boxes)?.answers.len() as u32;
                    self.row(&name, |encoder| {
                        Ok(of_header(tree.record_overlaps(encoder, of::<Aabb>(&batch, count), 0, most)?.header))
                    })?;
                }
                QueryBatch::Nearest(points, k) => {
                    let batch = self.upload(&points);
                    self.row(&name, |encoder| {
                        Ok(of_header(tree.record_nearest(encoder, of::<NearestQuery>(&batch, count), k as u32)?.header))
                    })?;
                }
            }
        }
        Ok(())
    }

    /// Measures a call and prints its row.
    fn row(&self, name: &str, mut record: impl FnMut(&mut wgpu::CommandEncoder) -> Result<Header>) -> Result<()> {
        if !self.is_wanted(name) {
            return Ok(());
        }
        let mut encoder = self.encoder();
        if let Some(header) = record(&mut encoder)? {
            self.check(name, encoder, &header)?;
        }
        let (mut on_device, mut on_host) = (Vec::new(), Vec::new());
        for run in 0..self.runs + 2 {
            let nothing = self.submit(self.encoder())?;
            let mut encoder = self.encoder();
            let start = Instant::now();
            for _ in 0..self.calls {
                record(&mut encoder)?;
            }
            let recorded = start.elapsed();
            let taken = self.submit(encoder)?.saturating_sub(nothing);
            if run >= 2 {
                on_device.push(1e3 * taken.as_secs_f64() / self.calls as f64);
                on_host.push(1e3 * recorded.as_secs_f64() / self.calls as f64);
            }
        }
        let (device, host) = Time::of(on_device).zip(Time::of(on_host)).context("no runs")?;
        let quartiles = format!("{:.4} to {:.4}", device.q1_ms, device.q3_ms);
        println!("{name:52} {:>12.4} {quartiles:>23} {:>12.4}", device.median_ms, host.median_ms);
        Ok(())
    }

    /// Measures a call of the CPU engine and prints its row.
    fn host_row(&self, name: &str, mut call: impl FnMut() -> Result<()>) -> Result<()> {
        if !self.is_wanted(name) {
            return Ok(());
        }
        let mut times = Vec::new();
        for run in 0..self.runs + 2 {
            let start = Instant::now();
            call()?;
            if run >= 2 {
                times.push(1e3 * start.elapsed().as_secs_f64());
            }
        }
        let host = Time::of(times).context("no runs")?;
        println!("{name:52} {:>12} {:>23} {:>12.4}", "", "", host.median_ms);
        Ok(())
    }

    /// Submits a batch, and fails where its header says that not all is there.
    fn check(&self, name: &str, mut encoder: wgpu::CommandEncoder, header: &wgpu::Buffer) -> Result<()> {
        let staging = self.gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: Some("staging"),
            size: header.size(),
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        encoder.copy_buffer_to_buffer(header, 0, &staging, 0, header.size());
        self.submit(encoder)?;
        staging.map_async(wgpu::MapMode::Read, .., |_| ());
        self.submit(self.encoder())?;
        let said: QueryHeader =
            bytemuck::pod_read_unaligned(&staging.get_mapped_range(..)?[..size_of::<QueryHeader>()]);
        if said.unfinished > 0 || said.overflow > 0 {
            bail!("{name}: {} queries are not done, and overflow is {}", said.unfinished, said.overflow);
        }
        Ok(())
    }

    fn is_wanted(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| name.contains(part))
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

    fn upload<T: bytemuck::Pod>(&self, values: &[T]) -> wgpu::Buffer {
        self.gpu.device().create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: Some("given"),
            contents: bytemuck::cast_slice(values),
            usage: wgpu::BufferUsages::STORAGE,
        })
    }
}

/// Takes as many queries as there are in a buffer.
fn of<Q: broadsweep::record::GpuQuery>(batch: &wgpu::Buffer, count: usize) -> GpuBatch<'_, Q> {
    GpuBatch::new(batch.slice(..), count as u32)
}
