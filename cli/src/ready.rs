//! An engine that is there and can start, and its answer.

use std::thread;

use anyhow::{Context, Result};
use broadsweep::cpu;
use broadsweep::device::DispatchCount;
use broadsweep::wgpu::{AdapterInfo, DeviceType};
use broadsweep::{Aabb, BroadPhase, Error, Filters, Gpu, Options, Overlaps, Pair, PairOrder, Report};
use laboratory::adapter;
use laboratory::baselines::Work;
use laboratory::engine::{Engine, timed};

use crate::engine::headless;
use crate::output::say;
use crate::progress::Progress;
use crate::{advice, text};

/// An engine that is there and can start.
pub enum Ready {
    /// The GPU, with its device.
    Gpu(Gpu),
    /// Any other engine, which needs nothing.
    Other(Engine),
}

impl Ready {
    /// Chooses the requested engine. Without one, chooses the GPU engine if a real GPU gives a device; otherwise the
    /// CPU engine, after a line on standard error with the reason. A named adapter is used in any case.
    pub fn choose(engine: Option<Engine>, adapter: Option<&str>) -> Result<Self> {
        let _progress = Progress::start("looking for a GPU".to_owned());
        match (engine, adapter) {
            (None | Some(Engine::Gpu), Some(name)) => {
                let gpu = headless(Some(name)).with_context(|| format!("--adapter {name}"))?;
                Ok(Self::Gpu(gpu))
            }
            (Some(Engine::Gpu), None) => Ok(Self::Gpu(headless(None).context("--engine gpu")?)),
            (Some(engine), _) => Ok(Self::Other(engine)),
            (None, None) => {
                let (ready, reason) = Self::preferred();
                if let Some(reason) = reason {
                    say(&format!("note: using the CPU engine: {reason}"));
                }
                Ok(ready)
            }
        }
    }

    /// Chooses an engine where none was requested. Where that is not the GPU, it also returns the reason.
    pub fn preferred() -> (Self, Option<String>) {
        let reason = match headless(None) {
            Ok(gpu) if gpu.adapter_info().device_type != DeviceType::Cpu => return (Self::Gpu(gpu), None),
            Ok(gpu) => format!(
                "{} is a software driver, which is slower on the same cores; --engine gpu selects it",
                adapter::line(&gpu.adapter_info())
            ),
            Err(error) => advice::line(&error),
        };
        (Self::Other(Engine::Cpu), Some(reason))
    }

    /// Describes the engine in one line, with the adapter.
    pub fn describe(&self) -> String {
        match self {
            Self::Gpu(gpu) => format!("GPU: {}", adapter::line(&gpu.adapter_info())),
            Self::Other(Engine::Cpu) => {
                let threads = thread::available_parallelism().map_or(1, usize::from);
                format!("CPU, {threads} {}", if threads == 1 { "thread" } else { "threads" })
            }
            Self::Other(Engine::Brute) => "brute force".to_owned(),
            Self::Other(engine) => format!("{}: {}", engine.name(), engine.description()),
        }
    }

    /// Returns which engine it is.
    pub fn engine(&self) -> Engine {
        match self {
            Self::Gpu(_) => Engine::Gpu,
            Self::Other(engine) => *engine,
        }
    }

    /// Finds every pair among `boxes` that the filters leave. Brute force takes no options and lists in canonical
    /// order; of the options, baselines look at the order, and at the axis where they can; they do not look at filters.
    pub fn find_pairs(&self, boxes: &[Aabb], filters: &Filters, options: Options) -> Result<Answer> {
        match self {
            Self::Gpu(gpu) => find_on_gpu(gpu, boxes, filters, options),
            Self::Other(Engine::Cpu) => find_on_cpu(boxes, filters, options),
            Self::Other(engine) => find_to_compare(*engine, boxes, filters, options),
        }
    }

    /// Joins two sets, which the filters tell apart: finds every pair of a box of the first set and a box of the
    /// second. The boxes of a pair are given by their indices among all boxes.
    pub fn find_pairs_between(
        &self,
        boxes: &[Aabb],
        first_set: u32,
        filters: &Filters,
        options: Options,
    ) -> Result<Answer> {
        match self {
            Self::Other(Engine::Cpu) => join_on_cpu(boxes, first_set, filters, options),
            _ => self.find_pairs(boxes, filters, options),
        }
    }

    /// Hands every pair among `boxes` that the filters leave to `each`, piece by piece, and keeps none; `None` where
    /// the engine has to hold all of them in memory anyway.
    pub fn stream_pairs(
        &self,
        boxes: &[Aabb],
        filters: &Filters,
        options: Options,
        each: impl FnMut(&Report, &[Pair]) -> Result<()>,
    ) -> Option<Result<Answer>> {
        match self {
            Self::Gpu(gpu) => Some(stream_from_gpu(gpu, boxes, filters, options, each)),
            Self::Other(_) => None,
        }
    }
}

fn find_on_gpu(gpu: &Gpu, boxes: &[Aabb], filters: &Filters, options: Options) -> Result<Answer> {
    let (mut broad_phase, setup_seconds) = compiled(gpu, boxes.len(), filters, options)?;
    let before = gpu.dispatch_count();
    let answer = found_by(&mut broad_phase, boxes, Engine::Gpu)?;
    let dispatches = gpu.dispatch_count().since(before);
    Ok(Answer { adapter: Some(gpu.adapter_info()), dispatches, setup_seconds, ..answer })
}

/// Finds the pairs with an engine of ours that has its options and filters.
fn found_by(broad_phase: &mut impl broadsweep::Engine, boxes: &[Aabb], engine: Engine) -> Result<Answer> {
    let _progress = finding(boxes);
    let (found, seconds) = timed(|| broad_phase.find_pairs(boxes).map(drop));
    found?;
    let Overlaps { pairs, report, .. } = broad_phase.take_overlaps();
    Ok(Answer { report: Some(report), seconds, ..Answer::of(engine, pairs) })
}

fn stream_from_gpu(
    gpu: &Gpu,
    boxes: &[Aabb],
    filters: &Filters,
    options: Options,
    mut each: impl FnMut(&Report, &[Pair]) -> Result<()>,
) -> Result<Answer> {
    let (mut broad_phase, setup_seconds) = compiled(gpu, boxes.len(), filters, options)?;
    let _progress = finding(boxes);
    let before = gpu.dispatch_count();
    let mut elsewhere = 0.0;
    let (report, seconds) = timed(|| {
        broad_phase.stream_pairs(boxes, |report, piece| {
            let (result, seconds) = timed(|| each(report, piece));
            elsewhere += seconds;
            result
        })
    });
    let report = report?;
    Ok(Answer {
        adapter: Some(gpu.adapter_info()),
        pair_count: report.pair_count,
        report: Some(report),
        dispatches: gpu.dispatch_count().since(before),
        setup_seconds,
        seconds: (seconds - elsewhere).max(0.0),
        ..Answer::of(Engine::Gpu, Vec::new())
    })
}

fn find_on_cpu(boxes: &[Aabb], filters: &Filters, options: Options) -> Result<Answer> {
    found_by(&mut on_cpu(filters, options)?, boxes, Engine::Cpu)
}

fn join_on_cpu(boxes: &[Aabb], first_set: u32, filters: &Filters, options: Options) -> Result<Answer> {
    let mut broad_phase = on_cpu(filters, options)?;
    let (first, second) = boxes.split_at(boxes.len().min(first_set as usize));
    let _progress = finding(boxes);
    let (found, seconds) = timed(|| broad_phase.find_pairs_between(first, second).map(drop));
    found?;
    let Overlaps { mut pairs, report, .. } = broad_phase.take_overlaps();
    pairs.iter_mut().for_each(|pair| pair.b += first_set);
    Ok(Answer { report: Some(report), seconds, ..Answer::of(Engine::Cpu, pairs) })
}

/// Finds pairs by brute force or with a baseline.
fn find_to_compare(engine: Engine, boxes: &[Aabb], filters: &Filters, options: Options) -> Result<Answer> {
    let _progress = finding(boxes);
    let mut pairs = Vec::new();
    let (work, seconds) = match engine.baseline(options.axis) {
        Some(mut baseline) => timed(|| Ok(Some(baseline.find_pairs(boxes, &mut pairs)?))),
        None => timed(|| {
            pairs = cpu::brute_force::find_pairs(boxes, filters)?;
            anyhow::Ok(None)
        }),
    };
    let work = work?;
    if options.order == PairOrder::Canonical {
        pairs.sort_unstable();
    }
    Ok(Answer { work, seconds, ..Answer::of(engine, pairs) })
}

fn finding(boxes: &[Aabb]) -> Progress {
    Progress::start(format!("finding the pairs of {}", text::boxes(boxes.len() as u64)))
}

/// Makes the GPU engine with these filters, compiled for this many boxes, and returns the seconds that it took.
fn compiled(gpu: &Gpu, box_count: usize, filters: &Filters, options: Options) -> Result<(BroadPhase, f64)> {
    let _progress = Progress::start("compiling the kernels".to_owned());
    let (broad_phase, seconds) = timed(|| -> Result<BroadPhase, Error> {
        let mut broad_phase = BroadPhase::new(gpu, options)?;
        broad_phase.set_filters(filters.clone())?;
        broad_phase.compile_ahead(box_count).wait()?;
        Ok(broad_phase)
    });
    Ok((broad_phase?, seconds))
}

/// Makes the CPU engine with these filters.
pub fn on_cpu(filters: &Filters, options: Options) -> Result<cpu::BroadPhase, Error> {
    let mut broad_phase = cpu::BroadPhase::new(options)?;
    broad_phase.set_filters(filters.clone())?;
    Ok(broad_phase)
}

/// The answer of an engine.
pub struct Answer {
    /// The engine that found it.
    pub engine: Engine,
    /// The GPU's adapter.
    pub adapter: Option<AdapterInfo>,
    /// Every overlapping pair, unless they went elsewhere.
    pub pairs: Vec<Pair>,
    /// The number of pairs.
    pub pair_count: u64,
    /// Counts and choices of the GPU and the CPU engine.
    pub report: Option<Report>,
    /// Dispatches of the GPU engine; none of other engines.
    pub dispatches: DispatchCount,
    /// Counts of a baseline.
    pub work: Option<Work>,
    /// The seconds that compiling the kernels took.
    pub setup_seconds: f64,
    /// The seconds that the call took, with the transfers to and from the GPU, but without what was done with the
    /// pieces.
    pub seconds: f64,
}

impl Answer {
    /// Wraps pairs of which nothing else is known.
    pub fn of(engine: Engine, pairs: Vec<Pair>) -> Self {
        let pair_count = pairs.len() as u64;
        Self {
            engine,
            adapter: None,
            pairs,
            pair_count,
            report: None,
            dispatches: DispatchCount::default(),
            work: None,
            setup_seconds: 0.0,
            seconds: 0.0,
        }
    }
}
