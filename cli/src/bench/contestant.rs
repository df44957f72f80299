//! An engine that is shown one frame after another.

use anyhow::Result;
use broadsweep::internals::cpu::brute_force;
use broadsweep::{Aabb, BroadPhase, Gpu, Options, Pair, SweepAxis, cpu};
use laboratory::baselines::Baseline;

use super::results::Time;
use crate::engine::{Engine, timed};

/// Measured runs of the stages on the GPU.
const STAGE_RUNS: usize = 3;

pub enum Contestant {
    Gpu(Box<BroadPhase>),
    Cpu(Box<cpu::BroadPhase>),
    Brute,
    Other(Box<dyn Baseline>),
}

/// One call.
pub struct Call {
    pub ms: f64,
    pub candidates: Option<u64>,
    /// Of what baselines keep from frame to frame.
    pub updates: Option<u64>,
    pub bytes: Option<u64>,
}

impl Contestant {
    /// With buffers of its own: what larger scenes needed is none of its memory.
    pub fn new(engine: Engine, gpu: Option<&Gpu>) -> Result<Self> {
        Ok(match (engine, gpu) {
            (Engine::Gpu, Some(gpu)) => Self::Gpu(Box::new(BroadPhase::new(gpu, Options::default())?)),
            (Engine::Brute, _) => Self::Brute,
            (engine, _) => match engine.baseline(SweepAxis::Auto) {
                Some(baseline) => Self::Other(baseline),
                None => Self::Cpu(Box::new(cpu::BroadPhase::new(Options::default())?)),
            },
        })
    }

    /// What it keeps of frames it has seen is gone; its memory stays.
    pub fn forget(&mut self) {
        if let Self::Other(baseline) = self {
            // Another number of boxes starts anew, and none cannot fail.
            let _ = baseline.find_pairs(&[], &mut Vec::new());
        }
    }

    /// Replaces `pairs`. The time is that of the whole call: for the GPU with upload and the pairs back in host memory.
    pub fn find_pairs(&mut self, boxes: &[Aabb], pairs: &mut Vec<Pair>) -> Result<Call> {
        Ok(match self {
            Self::Gpu(broad_phase) => {
                let (overlaps, seconds) = timed(|| broad_phase.find_pairs(boxes));
                let overlaps = overlaps?;
                *pairs = overlaps.pairs;
                Call {
                    ms: seconds * 1e3,
                    candidates: Some(overlaps.report.candidate_count),
                    updates: None,
                    bytes: Some(overlaps.report.gpu_bytes),
                }
            }
            Self::Cpu(broad_phase) => {
                let (overlaps, seconds) = timed(|| broad_phase.find_pairs(boxes));
                let overlaps = overlaps?;
                pairs.clone_from(&overlaps.pairs);
                let candidates = Some(overlaps.report.candidate_count);
                let answer = (overlaps.pairs.capacity() * size_of::<Pair>()) as u64;
                Call { ms: seconds * 1e3, candidates, updates: None, bytes: Some(broad_phase.memory_bytes() - answer) }
            }
            Self::Brute => {
                let (found, seconds) = timed(|| brute_force::find_pairs(boxes));
                *pairs = found;
                let n = boxes.len() as u64;
                Call { ms: seconds * 1e3, candidates: Some(n * n.saturating_sub(1) / 2), updates: None, bytes: Some(0) }
            }
            Self::Other(baseline) => {
                let (work, seconds) = timed(|| baseline.find_pairs(boxes, pairs));
                let work = work?;
                // What it does not count is 0.
                let known = |number: u64| (number > 0).then_some(number);
                Call {
                    ms: seconds * 1e3,
                    candidates: known(work.candidates),
                    updates: known(work.updates),
                    bytes: known(work.bytes),
                }
            }
        })
    }

    /// Milliseconds of each stage on the GPU, in the order of the flow; empty where there are no timestamps.
    pub fn stages(&mut self, boxes: &[Aabb]) -> Result<Vec<(String, f64)>> {
        let Self::Gpu(broad_phase) = self else {
            return Ok(Vec::new());
        };
        let mut stages: Vec<(String, Vec<f64>)> = Vec::new();
        for run in 0..=STAGE_RUNS {
            let kernels = broad_phase.time_kernels(boxes)?.unwrap_or_default();
            // The first one includes what a driver compiles late.
            for kernel in kernels.iter().filter(|_| run > 0) {
                let stage = kernel.kernel.split('_').next().unwrap_or(kernel.kernel);
                let ms = kernel.time.as_secs_f64() * 1e3;
                let at = stages.iter().position(|(name, _)| name == stage).unwrap_or_else(|| {
                    stages.push((stage.to_owned(), Vec::new()));
                    stages.len() - 1
                });
                let times = &mut stages[at].1;
                times.resize(run, 0.0);
                times[run - 1] += ms;
            }
        }
        let median = |times| Time::of(times).map_or(0.0, |time| time.median_ms);
        Ok(stages.into_iter().map(|(stage, times)| (stage, median(times))).collect())
    }
}
