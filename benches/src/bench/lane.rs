//! An engine on its way through one scene of one size: its calls, and the use of their answers.

use anyhow::{Error, Result};
use broadsweep::cpu;
use broadsweep::{Aabb, Options, Pair};

use super::difference::difference;
use super::predict::SLACK;
use super::results::{Difference, KernelRow, Outcome, Row};
use super::scene::Scene;
use crate::engine::Engine;
use crate::measure::contestant::{Call, Contestant};
use crate::measure::hash::{fold, hash};
use crate::measure::kernels::KernelTimes;
use crate::measure::time::Time;
use crate::model::cost::{Sort, Work};
use crate::{model, text};
use broadsweep::internals::gpu::timing::KernelTime;

/// A list of more pairs is given back after each call, so that those of all engines do not fill the memory.
pub const CACHED_PAIRS: usize = 1 << 24;
/// A row goes on until its calls have taken this many milliseconds altogether, or are [`MOST_CALLS`]: a few short calls
/// are noise.
const LEAST_MS: f64 = 50.0;
/// The most calls of a row; see [`LEAST_MS`].
pub const MOST_CALLS: u32 = 200;
/// Measured runs of the stages on the GPU.
const STAGE_RUNS: usize = 3;

/// The calls and the time that are enough for a row.
#[derive(Clone, Copy)]
pub struct Enough {
    pub calls: u32,
    /// The most milliseconds of a call, and of all calls together.
    pub limit_ms: f64,
}

impl Enough {
    fn is_reached(&self, times: &[f64]) -> bool {
        let (calls, ms) = (times.len(), times.iter().sum::<f64>());
        let is_long = ms >= LEAST_MS || calls >= MOST_CALLS as usize;
        ms > self.limit_ms || is_long && calls >= self.calls as usize
    }
}

/// An engine on its way through one cell.
pub struct Lane {
    pub engine: Engine,
    pub contestant: Option<Contestant>,
    enough: Enough,
    /// Takes part in no more turns.
    is_done: bool,
    /// The hash of the last answer, until it is compared.
    pub hash: Option<u64>,
    /// The hash of the last answer that is in the row's hash, and the hash of all answers that are.
    folded: Option<(u64, u64)>,
    /// The pairs, in a buffer of the lane's own: otherwise some engines would find room where others have to request
    /// it.
    pairs: Vec<Pair>,
    times: Vec<f64>,
    /// The work of the first call, if the engine reports it.
    work: Option<Work>,
    pub row: Row,
}

impl Lane {
    pub fn new(scene: &Scene, boxes: usize, engine: Engine, enough: Enough) -> Self {
        Self {
            engine,
            contestant: None,
            enough,
            is_done: false,
            hash: None,
            folded: None,
            pairs: Vec::new(),
            times: Vec::new(),
            work: None,
            row: Row::new(scene, boxes, engine),
        }
    }

    pub fn goes_on(&self) -> bool {
        self.contestant.is_some() && !self.is_done
    }

    pub fn refuse(&mut self, error: &Error) {
        self.row.outcome = Outcome::Refused;
        self.row.note = format!("refused: {error:#}");
        self.is_done = true;
    }

    pub fn call(&mut self, turn: u32, boxes: &[Aabb]) {
        let Some(contestant) = &mut self.contestant else {
            return;
        };
        if !self.row.moving {
            contestant.forget();
        }
        match contestant.find_pairs(boxes, &mut self.pairs) {
            Ok(call) => self.add(turn, &call),
            Err(error) => self.refuse(&error),
        }
    }

    fn add(&mut self, turn: u32, call: &Call) {
        let hash = hash(&self.pairs);
        self.hash = Some(hash);
        if turn <= self.enough.calls {
            self.fold(hash);
        }
        self.row.bytes = self.row.bytes.max(call.bytes);
        self.row.updates = call.updates;
        self.work = self.work.or(call.report.as_ref().map(Work::of));
        let limit_ms = self.enough.limit_ms;
        let first_ms = *self.row.first_ms.get_or_insert(call.ms);
        let is_over = match turn {
            0 => call.ms > SLACK * limit_ms,
            // The first call is the slowest, so one that is not far over the limit gets another.
            1 => first_ms > limit_ms && call.ms > limit_ms,
            _ => false,
        };
        if is_over {
            self.row.outcome = Outcome::OverLimit;
            self.row.note = format!("over the limit: one call took {}", text::seconds(call.ms / 1e3));
            self.is_done = true;
        } else if turn > 0 {
            self.times.push(call.ms);
            self.is_done = self.enough.is_reached(&self.times);
        }
        if turn == 0 {
            self.row.candidates = call.candidates;
            self.row.pairs = Some(self.pairs.len() as u64);
        }
    }

    /// Takes an answer into the hash of the row. Without motion all answers are the same, however many calls there are.
    fn fold(&mut self, hash: u64) {
        self.folded = match self.folded {
            Some((last, all)) if last == hash && !self.row.moving => Some((last, all)),
            Some((_, all)) => Some((hash, fold(all, hash))),
            None => Some((hash, hash)),
        };
        self.row.hashed_calls += 1;
    }

    /// Returns the last answer, as the one that others are compared with.
    pub fn answer(&mut self) -> Option<Expected> {
        let hash = self.hash.take()?;
        Some(Expected { engine: self.engine.name(), hash, pairs: self.pairs.clone() })
    }

    /// Compares the last answer with the expected one, if it is not yet compared.
    pub fn compare(&mut self, boxes: &[Aabb], expected: &mut Expected) {
        if let Some(own) = self.hash.take() {
            self.row.compared_with = Some(expected.engine.to_owned());
            if own != expected.hash {
                let found = difference(boxes, &mut self.pairs, &mut expected.pairs);
                let new = || Difference { why: found.why, ..Difference::default() };
                let all = self.row.difference.get_or_insert_with(new);
                all.calls += 1;
                all.missing += found.missing;
                all.extra += found.extra;
                all.repeated += found.repeated;
            }
        }
        if self.pairs.len() > CACHED_PAIRS {
            self.pairs = Vec::new();
        }
    }

    /// Times the stages and kernels on the GPU, and predicts them for `gpu`. Writes a note where that fails, since the
    /// calls were measured nevertheless.
    pub fn time_stages(&mut self, boxes: &[Aabb], gpu: Option<&model::gpu::Gpu>) {
        let is_measured = self.row.outcome == Outcome::Measured && !self.times.is_empty();
        let Some(contestant) = self.contestant.as_mut().filter(|_| is_measured) else {
            return;
        };
        let mut times = KernelTimes::default();
        // The first run includes what a driver compiles late.
        let first = contestant.time_kernels(boxes, &mut KernelTimes::default());
        let runs = first.and_then(|()| (0..STAGE_RUNS).try_for_each(|_| contestant.time_kernels(boxes, &mut times)));
        match runs {
            Ok(()) => {
                self.row.stages_ms = times.stages_ms();
                self.row.kernels = times.kernels().iter().map(|kernel| self.kernel(kernel, &times, gpu)).collect();
                let is_predicted = self.row.kernels.iter().any(|kernel| kernel.predicted_ms.is_some());
                self.row.predicted_for = gpu.filter(|_| is_predicted).map(|gpu| gpu.name.to_owned());
            }
            Err(error) => self.row.note = format!("without the times of its stages: {error:#}"),
        }
    }

    fn kernel(&self, kernel: &KernelTime, times: &KernelTimes, gpu: Option<&model::gpu::Gpu>) -> KernelRow {
        // Kernels of other sorts, and the sort of pairs, have the same names and other numbers of dispatches.
        let is_portable = times.kernels().iter().any(|other| other.kernel == "sort_scatter");
        let sort = if is_portable { Sort::Portable } else { Sort::Subgroup };
        let cost = self.work.and_then(|work| model::cost::of_kernel(kernel.kernel, &work, sort));
        let cost = cost.filter(|cost| cost.dispatches == f64::from(kernel.dispatches));
        let predicted = gpu.zip(cost).map(|(gpu, cost)| model::predict_kernel(gpu, &cost));
        KernelRow {
            kernel: kernel.kernel.to_owned(),
            dispatches: kernel.dispatches,
            ms: times.median_ms(|other| other.kernel == kernel.kernel),
            predicted_ms: predicted.map(|range| [range.least / 1e6, range.most / 1e6]),
        }
    }

    /// Returns the row; `None` where the measurement was stopped before there was anything to tell.
    pub fn finish(mut self) -> Option<Row> {
        self.row.time = Time::of(self.times);
        self.row.hash = self.folded.map(|(_, all)| format!("{all:016x}"));
        let is_told = self.row.time.is_some() || self.row.outcome != Outcome::Measured;
        is_told.then_some(self.row)
    }
}

/// The answer that others are compared with.
pub struct Expected {
    engine: &'static str,
    hash: u64,
    pairs: Vec<Pair>,
}

impl Expected {
    /// Finds the expected answer with the CPU engine, outside the times.
    pub fn by_cpu(boxes: &[Aabb]) -> Result<Self> {
        let pairs = cpu::find_pairs(boxes, &Options::default())?.pairs;
        Ok(Self { engine: Engine::Cpu.name(), hash: hash(&pairs), pairs })
    }
}

#[cfg(test)]
mod tests {
    use crate::scenes::Kind;

    use super::super::predict::Known;
    use super::*;

    #[test]
    fn a_first_call_that_is_a_little_over_the_limit_gets_another() {
        let row = |times: &[f64]| {
            let enough = Enough { calls: 1, limit_ms: 10.0 };
            let mut lane = Lane::new(&Scene::Kind(Kind::Uniform), 9, Engine::Cpu, enough);
            for (turn, &ms) in times.iter().enumerate() {
                assert!(!lane.is_done, "{times:?}");
                lane.add(turn as u32, &Call { ms, candidates: None, updates: None, bytes: None, report: None });
            }
            (lane.is_done, lane.finish().map(|row| (row.outcome, row.time.is_some())))
        };
        assert_eq!(row(&[31.0]), (true, Some((Outcome::OverLimit, false))));
        assert_eq!(row(&[29.0]), (false, None));
        assert_eq!(row(&[29.0, 11.0]), (true, Some((Outcome::OverLimit, false))));
        assert_eq!(row(&[29.0, 9.0, 2.0]), (true, Some((Outcome::Measured, true))));
        // A later call may take any time.
        assert_eq!(row(&[9.0, 11.0]), (true, Some((Outcome::Measured, true))));
    }

    #[test]
    fn the_least_time_seen_is_what_predicts() {
        let mut lane = Lane::new(&Scene::Kind(Kind::Uniform), 1000, Engine::Cpu, Enough { calls: 1, limit_ms: 10.0 });
        lane.row.first_ms = Some(5.0);
        lane.times = vec![2.0, 3.0, 40.0];
        let mut known = Known::default();
        known.add(&lane.finish().unwrap());
        let larger = Lane::new(&Scene::Kind(Kind::Uniform), 2000, Engine::Cpu, Enough { calls: 1, limit_ms: 10.0 });
        assert_eq!(known.predict(&larger.row, Engine::Cpu), Some(0.004));
    }
}
