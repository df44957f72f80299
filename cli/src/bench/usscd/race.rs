//! Engines side by side over the same frames.

use std::time::Instant;

use anyhow::{Context, Result, anyhow, ensure};
use broadsweep::baselines::{self, Baseline, Work};
use broadsweep::scenes::{Particles, particles};
use broadsweep::{Aabb, BroadPhase, Gpu, Options, Pair, cpu};

use crate::{adapters, say};

/// Who takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Engine {
    /// Uniform cells, sweep and prune inside each
    Usscd,
    /// Sweep and prune with balanced trees
    Scd,
    /// Sweep and prune with insertion sort
    #[value(name = "i_collide")]
    ICollide,
    /// Our engine on the CPU
    Cpu,
    /// Our engine on the GPU
    Gpu,
}

impl Engine {
    pub const ALL: [Self; 5] = [Self::Usscd, Self::Scd, Self::ICollide, Self::Cpu, Self::Gpu];

    /// As in the CSV, and among the baselines.
    pub fn name(self) -> &'static str {
        match self {
            Self::Usscd => "usscd",
            Self::Scd => "scd",
            Self::ICollide => "i_collide",
            Self::Cpu => "cpu",
            Self::Gpu => "gpu",
        }
    }

    /// As in a figure.
    pub fn title(self) -> &'static str {
        match self {
            Self::Usscd => "USSCD",
            Self::Scd => "SCD",
            Self::ICollide => "I-COLLIDE",
            Self::Cpu => "broadsweep, CPU",
            Self::Gpu => "broadsweep, GPU",
        }
    }

    pub fn is_ours(self) -> bool {
        matches!(self, Self::Cpu | Self::Gpu)
    }
}

/// What one engine took for the frames of a setting.
pub struct Time {
    pub engine: Engine,
    /// One for each frame, ascending; never empty.
    pub seconds: Vec<f64>,
    /// In the last frame that it was in.
    pub pair_count: usize,
    /// For the last frame that it was in. Our engines have no updates, and the one on the CPU does not count bytes.
    pub work: Work,
}

impl Time {
    pub fn median(&self) -> f64 {
        let middle = self.seconds.len() / 2;
        if self.seconds.len() % 2 == 1 {
            self.seconds[middle]
        } else {
            0.5 * (self.seconds[middle - 1] + self.seconds[middle])
        }
    }

    pub fn frames_per_second(&self) -> f64 {
        1.0 / self.median()
    }
}

/// The engines, and how much they are measured.
pub struct Race {
    engines: Vec<Engine>,
    /// Compiled once, and its adapter in words.
    gpu: Option<(BroadPhase, String)>,
    seed: u64,
    frames: u32,
    enough_seconds: f64,
}

/// Frames that are measured even if they take longer than is enough.
const LEAST_FRAMES: usize = 3;

impl Race {
    /// Of these engines, or of all that there are where none is named.
    pub fn new(named: &[Engine], seed: u64, frames: u32, enough_seconds: f64) -> Result<Self> {
        ensure!(enough_seconds >= 0.0, "--seconds is {enough_seconds}; it must not be negative");
        let mut engines = Engine::ALL.to_vec();
        engines.retain(|engine| named.is_empty() || named.contains(engine));
        let mut gpu = None;
        if engines.contains(&Engine::Gpu) {
            match Gpu::headless() {
                Ok(there) => {
                    let adapter = adapters::line(&there.adapter_info());
                    gpu = Some((BroadPhase::new(&there, Options::default())?, adapter));
                }
                Err(reason) if named.is_empty() => {
                    say(&format!("note: without the GPU engine: {reason}"));
                    engines.retain(|&engine| engine != Engine::Gpu);
                }
                Err(reason) => return Err(reason).context("--engines gpu"),
            }
        }
        Ok(Self { engines, gpu, seed, frames, enough_seconds })
    }

    pub fn engines(&self) -> impl Iterator<Item = Engine> {
        self.engines.iter().copied()
    }

    /// What an engine runs on, in words. The paper's algorithms have one thread.
    pub fn device(&self, engine: Engine) -> String {
        match (engine, &self.gpu) {
            (Engine::Cpu, _) => format!("{} CPU threads", std::thread::available_parallelism().map_or(1, usize::from)),
            (Engine::Gpu, Some((_, adapter))) => adapter.clone(),
            _ => "1 CPU thread".to_owned(),
        }
    }

    /// Every engine over the same frames, one frame at a time, so that whatever disturbs one disturbs all. Before
    /// what is measured, one frame builds what they keep. Pairs are compared outside the times, in every frame.
    pub fn run(&mut self, n: usize, space: Particles) -> Result<Vec<Time>> {
        let mut racers: Vec<Racer> = self.engines.iter().map(|&engine| Racer::new(engine)).collect::<Result<_>>()?;
        let mut expected = Vec::new();
        let mut pairs = Vec::new();
        for frame in 0..=self.frames {
            let boxes = particles(n, self.seed, frame, space);
            let mut first: Option<&'static str> = None;
            let count = racers.len();
            for turn in 0..count {
                // Another one begins each time.
                let racer = &mut racers[(turn + frame as usize) % count];
                if racer.seconds.len() >= LEAST_FRAMES && racer.seconds.iter().sum::<f64>() > self.enough_seconds {
                    continue;
                }
                racer.step(&boxes, self.gpu.as_mut().map(|(gpu, _)| gpu), &mut pairs, frame > 0)?;
                pairs.sort_unstable();
                match first {
                    None => {
                        std::mem::swap(&mut expected, &mut pairs);
                        first = Some(racer.engine.name());
                    }
                    Some(first) => ensure!(
                        pairs == expected,
                        "{} and {first} differ in frame {frame} of {n} objects in {space:?}: {} and {} pairs",
                        racer.engine.name(),
                        pairs.len(),
                        expected.len()
                    ),
                }
            }
            if first.is_none() {
                break;
            }
        }
        Ok(racers.into_iter().map(Racer::time).collect())
    }
}

/// An engine, and what it took so far.
struct Racer {
    engine: Engine,
    /// None for the GPU, which all settings share.
    keeps: Option<Keeps>,
    seconds: Vec<f64>,
    pair_count: usize,
    work: Work,
}

/// An engine with what it keeps from frame to frame.
enum Keeps {
    Baseline(Box<dyn Baseline>),
    Cpu(Box<cpu::BroadPhase>),
}

impl Racer {
    fn new(engine: Engine) -> Result<Self> {
        let keeps = match engine {
            Engine::Gpu => None,
            Engine::Cpu => Some(Keeps::Cpu(Box::new(cpu::BroadPhase::new(Options::default())?))),
            _ => {
                let entry = baselines::by_name(engine.name());
                let entry = entry.ok_or_else(|| anyhow!("there is no algorithm {}", engine.name()))?;
                Some(Keeps::Baseline(entry.make()))
            }
        };
        Ok(Self { engine, keeps, seconds: Vec::new(), pair_count: 0, work: Work::default() })
    }

    /// One frame, into `pairs`. Only what the engine does counts, and only if it `is_measured`.
    fn step(
        &mut self,
        boxes: &[Aabb],
        gpu: Option<&mut BroadPhase>,
        pairs: &mut Vec<Pair>,
        is_measured: bool,
    ) -> Result<()> {
        let work = |candidates, bytes| Work { candidates, bytes, ..Work::default() };
        let start = Instant::now();
        let seconds = match &mut self.keeps {
            Some(Keeps::Baseline(baseline)) => {
                self.work = baseline.find_pairs(boxes, pairs)?;
                start.elapsed()
            }
            Some(Keeps::Cpu(broad_phase)) => {
                let found = broad_phase.find_pairs(boxes)?;
                let seconds = start.elapsed();
                self.work = work(found.report.candidate_count, 0);
                pairs.clone_from(&found.pairs);
                seconds
            }
            None => {
                let gpu = gpu.context("there is no GPU")?;
                let found = gpu.find_pairs(boxes)?;
                let seconds = start.elapsed();
                self.work = work(found.report.candidate_count, found.report.gpu_bytes);
                *pairs = found.pairs;
                seconds
            }
        };
        self.pair_count = pairs.len();
        if is_measured {
            self.seconds.push(seconds.as_secs_f64());
        }
        Ok(())
    }

    fn time(mut self) -> Time {
        self.seconds.sort_by(f64::total_cmp);
        Time { engine: self.engine, seconds: self.seconds, pair_count: self.pair_count, work: self.work }
    }
}
