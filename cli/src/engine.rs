//! Which engine answers, and its answer.

use std::time::Instant;

use anyhow::{Context, Result};
use broadsweep::cpu::{self, brute_force};
use broadsweep::wgpu::AdapterInfo;
use broadsweep::{Aabb, BroadPhase, Gpu, Options, Overlaps, Pair, Report};

use crate::progress::Progress;
use crate::{adapters, say, text};

/// What can find pairs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Engine {
    /// The GPU
    Gpu,
    /// The same method on the CPU
    Cpu,
    /// Every box against every other, whatever the options: slow, and right by definition
    Brute,
}

impl Engine {
    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Gpu => "gpu",
            Self::Cpu => "cpu",
            Self::Brute => "brute",
        }
    }

    /// The name in a sentence.
    pub fn title(self) -> &'static str {
        match self {
            Self::Gpu => "the GPU engine",
            Self::Cpu => "the CPU engine",
            Self::Brute => "brute force",
        }
    }
}

/// An engine that is there and can start.
pub enum Ready {
    /// With its device.
    Gpu(Gpu),
    /// Needs nothing.
    Cpu,
    /// Needs nothing.
    Brute,
}

impl Ready {
    /// The engine asked for. Without one, the GPU if it gives a device, and otherwise the CPU, after a line
    /// on standard error that says why. Whoever names an adapter means that one.
    pub fn choose(engine: Option<Engine>, adapter: Option<&str>) -> Result<Self> {
        let _progress = Progress::start("looking for a GPU".to_owned());
        match (engine, adapter) {
            (Some(Engine::Cpu), _) => Ok(Self::Cpu),
            (Some(Engine::Brute), _) => Ok(Self::Brute),
            (_, Some(name)) => {
                let gpu = Gpu::headless_named(name).with_context(|| format!("--adapter {name}"))?;
                Ok(Self::Gpu(gpu))
            }
            (Some(Engine::Gpu), None) => Ok(Self::Gpu(Gpu::headless().context("--engine gpu")?)),
            (None, None) => Ok(Gpu::headless().map_or_else(
                |reason| {
                    say(&format!("note: using the CPU engine: {reason}"));
                    Self::Cpu
                },
                Self::Gpu,
            )),
        }
    }

    /// In one line, with the adapter.
    pub fn describe(&self) -> String {
        match self {
            Self::Gpu(gpu) => format!("GPU: {}", adapters::line(&gpu.adapter_info())),
            Self::Cpu => "CPU".to_owned(),
            Self::Brute => "brute force".to_owned(),
        }
    }

    /// Every pair among `boxes`. Brute force takes no options and lists in canonical order.
    pub fn find_pairs(&self, boxes: &[Aabb], options: Options) -> Result<Answer> {
        let mut setup_seconds = 0.0;
        let work = || Progress::start(format!("finding the pairs of {}", text::boxes(boxes.len() as u64)));
        let (overlaps, seconds) = match self {
            Self::Gpu(gpu) => {
                let (broad_phase, time) = {
                    let _progress = Progress::start("compiling the kernels".to_owned());
                    timed(|| BroadPhase::new(gpu, options))
                };
                setup_seconds = time;
                let (mut broad_phase, _progress) = (broad_phase?, work());
                timed(|| broad_phase.find_pairs(boxes))
            }
            Self::Cpu => {
                let _progress = work();
                timed(|| cpu::find_pairs(boxes, &options))
            }
            Self::Brute => {
                let _progress = work();
                let (pairs, seconds) = timed(|| brute_force::find_pairs(boxes));
                return Ok(Answer {
                    engine: Engine::Brute,
                    adapter: None,
                    pair_count: pairs.len() as u64,
                    pairs,
                    report: None,
                    setup_seconds,
                    seconds,
                });
            }
        };
        let Overlaps { pairs, report } = overlaps?;
        let adapter = match self {
            Self::Gpu(gpu) => Some(gpu.adapter_info()),
            Self::Cpu | Self::Brute => None,
        };
        let engine = if adapter.is_some() { Engine::Gpu } else { Engine::Cpu };
        let pair_count = report.pair_count;
        Ok(Answer { engine, adapter, pairs, pair_count, report: Some(report), setup_seconds, seconds })
    }

    /// Hands every pair among `boxes` to `each`, piece by piece, and keeps none; `None` where the engine has to hold
    /// all of them in memory anyway.
    pub fn stream_pairs(
        &self,
        boxes: &[Aabb],
        options: Options,
        mut each: impl FnMut(&Report, &[Pair]) -> Result<()>,
    ) -> Option<Result<Answer>> {
        let Self::Gpu(gpu) = self else {
            return None;
        };
        let mut stream = || {
            let (broad_phase, setup_seconds) = {
                let _progress = Progress::start("compiling the kernels".to_owned());
                timed(|| BroadPhase::new(gpu, options))
            };
            let mut broad_phase = broad_phase?;
            let _progress = Progress::start(format!("finding the pairs of {}", text::boxes(boxes.len() as u64)));
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
                engine: Engine::Gpu,
                adapter: Some(gpu.adapter_info()),
                pairs: Vec::new(),
                pair_count: report.pair_count,
                report: Some(report),
                setup_seconds,
                seconds: seconds - elsewhere,
            })
        };
        Some(stream())
    }
}

/// What an engine found.
pub struct Answer {
    /// Who found it.
    pub engine: Engine,
    /// The GPU's adapter.
    pub adapter: Option<AdapterInfo>,
    /// Every overlapping pair, unless they went elsewhere.
    pub pairs: Vec<Pair>,
    /// How many there are.
    pub pair_count: u64,
    /// Counts and choices; brute force has none.
    pub report: Option<Report>,
    /// What compiling the kernels took.
    pub setup_seconds: f64,
    /// What the call took, with the transfers to and from the GPU, but without what was done with the pieces.
    pub seconds: f64,
}

/// The result of `work`, and the seconds that it took.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed().as_secs_f64())
}
