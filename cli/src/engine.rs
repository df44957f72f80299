//! Which engine answers, and its answer.

use std::ffi::OsStr;
use std::thread;

use anyhow::{Context, Result, anyhow};
use broadsweep::internals::cpu::brute_force;
use broadsweep::wgpu::{AdapterInfo, DeviceType};
use broadsweep::{Aabb, BroadPhase, Error, Filters, Gpu, Options, Overlaps, Pair, PairOrder, Report, cpu};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, Command};
use laboratory::adapter;
use laboratory::baselines::Work;
use laboratory::engine::{Engine, timed};

use crate::progress::Progress;
use crate::{say, text};

/// For `--engine` and `--engines`.
pub fn parser() -> impl TypedValueParser<Value = Engine> {
    let values = Engine::all().into_iter().map(|engine| PossibleValue::new(engine.name()).help(engine.description()));
    Names(PossibleValuesParser::new(values)).map(|name| {
        // What is no name of an engine has been refused.
        Engine::all().into_iter().find(|engine| engine.name() == name).unwrap_or(Engine::Cpu)
    })
}

/// Those of engines. To whoever types another, a build without other libraries tells where they are.
#[derive(Clone)]
struct Names(PossibleValuesParser);

impl TypedValueParser for Names {
    type Value = String;

    fn parse_ref(&self, command: &Command, argument: Option<&Arg>, value: &OsStr) -> Result<String, clap::Error> {
        self.0.parse_ref(command, argument, value).map_err(|mut wrong| {
            if cfg!(not(feature = "peers")) {
                let tip = "other libraries, such as parry, are in a build with `--features peers`";
                wrong.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
            }
            wrong
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        self.0.possible_values()
    }
}

/// The GPU whose name contains `adapter`, or the one that the system prefers.
pub fn headless(adapter: Option<&str>) -> Result<Gpu> {
    let gpu = match adapter {
        Some(name) => Gpu::headless_named(name),
        None => Gpu::headless(),
    };
    gpu.map_err(|error| match error {
        Error::NoAdapter { reason } => no_adapter(&reason),
        other => other.into(),
    })
}

/// In other words than the library's, whose advice is for programmers.
pub fn no_adapter(reason: &str) -> anyhow::Error {
    anyhow!(
        "no GPU adapter found ({reason}). Install a Vulkan, Metal or Direct3D 12 driver, or a software one \
         (Debian: apt-get install mesa-vulkan-drivers)"
    )
}

/// An engine that is there and can start.
pub enum Ready {
    /// With its device.
    Gpu(Gpu),
    /// Any other needs nothing.
    Other(Engine),
}

impl Ready {
    /// The engine asked for. Without one, the GPU if it gives a device, and otherwise the CPU, after a line
    /// on standard error that says why. Whoever names an adapter means that one.
    pub fn choose(engine: Option<Engine>, adapter: Option<&str>) -> Result<Self> {
        let _progress = Progress::start("looking for a GPU".to_owned());
        match (engine, adapter) {
            (None | Some(Engine::Gpu), Some(name)) => {
                let gpu = headless(Some(name)).with_context(|| format!("--adapter {name}"))?;
                Ok(Self::Gpu(gpu))
            }
            (Some(Engine::Gpu), None) => Ok(Self::Gpu(headless(None).context("--engine gpu")?)),
            (Some(engine), _) => Ok(Self::Other(engine)),
            (None, None) => Ok(headless(None).map_or_else(
                |reason| {
                    say(&format!("note: using the CPU engine: {reason}"));
                    Self::Other(Engine::Cpu)
                },
                Self::Gpu,
            )),
        }
    }

    /// In one line, with the adapter.
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

    /// Whether this is a GPU in name only.
    pub fn is_software(&self) -> bool {
        matches!(self, Self::Gpu(gpu) if gpu.adapter_info().device_type == DeviceType::Cpu)
    }

    /// Which engine it is.
    pub fn engine(&self) -> Engine {
        match self {
            Self::Gpu(_) => Engine::Gpu,
            Self::Other(engine) => *engine,
        }
    }

    /// Every pair among `boxes` that the filters leave. Brute force takes no options and lists in canonical order; of the
    /// options, baselines look at the order, and at the axis where they can; they do not look at filters.
    pub fn find_pairs(&self, boxes: &[Aabb], filters: &Filters, options: Options) -> Result<Answer> {
        let work = || Progress::start(format!("finding the pairs of {}", text::boxes(boxes.len() as u64)));
        let mut answer = Answer {
            engine: Engine::Gpu,
            adapter: None,
            pairs: Vec::new(),
            pair_count: 0,
            report: None,
            work: None,
            setup_seconds: 0.0,
            seconds: 0.0,
        };
        match self {
            Self::Gpu(gpu) => {
                let (broad_phase, time) = {
                    let _progress = Progress::start("compiling the kernels".to_owned());
                    timed(|| on_gpu(gpu, boxes.len(), filters, options))
                };
                let (mut broad_phase, _progress) = (broad_phase?, work());
                let (overlaps, seconds) = timed(|| broad_phase.find_pairs(boxes));
                let Overlaps { pairs, report } = overlaps?;
                let adapter = Some(gpu.adapter_info());
                answer = Answer { adapter, pairs, report: Some(report), setup_seconds: time, seconds, ..answer };
            }
            Self::Other(Engine::Cpu) => {
                let mut broad_phase = on_cpu(filters, options)?;
                let _progress = work();
                let (found, seconds) = timed(|| broad_phase.find_pairs(boxes).map(drop));
                found?;
                let Overlaps { pairs, report } = broad_phase.into_overlaps();
                answer = Answer { engine: Engine::Cpu, pairs, report: Some(report), seconds, ..answer };
            }
            Self::Other(engine) => {
                let _progress = work();
                let mut pairs = Vec::new();
                let (work, seconds) = match engine.baseline(options.axis) {
                    Some(mut baseline) => timed(|| baseline.find_pairs(boxes, &mut pairs).map(Some)),
                    None => timed(|| {
                        pairs = by_brute_force(boxes, filters);
                        Ok(None)
                    }),
                };
                let work = work?;
                if options.order == PairOrder::Canonical {
                    pairs.sort_unstable();
                }
                answer = Answer { engine: *engine, pairs, work, seconds, ..answer };
            }
        }
        answer.pair_count = answer.pairs.len() as u64;
        Ok(answer)
    }

    /// Hands every pair among `boxes` that the filters leave to `each`, piece by piece, and keeps none; `None` where the engine has to hold
    /// all of them in memory anyway.
    pub fn stream_pairs(
        &self,
        boxes: &[Aabb],
        filters: &Filters,
        options: Options,
        mut each: impl FnMut(&Report, &[Pair]) -> Result<()>,
    ) -> Option<Result<Answer>> {
        let Self::Gpu(gpu) = self else {
            return None;
        };
        let mut stream = || {
            let (broad_phase, setup_seconds) = {
                let _progress = Progress::start("compiling the kernels".to_owned());
                timed(|| on_gpu(gpu, boxes.len(), filters, options))
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
                work: None,
                setup_seconds,
                seconds: seconds - elsewhere,
            })
        };
        Some(stream())
    }
}

/// The GPU engine with these filters, for so many boxes.
fn on_gpu(gpu: &Gpu, box_count: usize, filters: &Filters, options: Options) -> Result<BroadPhase> {
    let mut broad_phase = BroadPhase::new(gpu, options)?;
    broad_phase.set_filters(filters.clone())?;
    broad_phase.compile(box_count)?;
    Ok(broad_phase)
}

/// The CPU engine with these filters.
pub fn on_cpu(filters: &Filters, options: Options) -> Result<cpu::BroadPhase> {
    let mut broad_phase = cpu::BroadPhase::new(options)?;
    broad_phase.set_filters(filters.clone())?;
    Ok(broad_phase)
}

/// The double loop, each filter as it is written down.
pub fn by_brute_force(boxes: &[Aabb], filters: &Filters) -> Vec<Pair> {
    if filters.is_empty() { brute_force::find_pairs(boxes) } else { brute_force::find_filtered_pairs(boxes, filters) }
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
    /// Counts and choices of the GPU and the CPU engine.
    pub report: Option<Report>,
    /// Counts of a baseline.
    pub work: Option<Work>,
    /// What compiling the kernels took.
    pub setup_seconds: f64,
    /// What the call took, with the transfers to and from the GPU, but without what was done with the pieces.
    pub seconds: f64,
}
