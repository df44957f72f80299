//! Engines side by side over the same steps.

use anyhow::{Result, ensure};
use broadsweep::{Aabb, Gpu, Options, Pair};

use crate::bench::results::Machine;
use crate::bench::stop::is_stopped;
use crate::engine::Engine;
use crate::measure::contestant::{Call, Contestant};
use crate::measure::time::Time;
use crate::scenes::{Particles, particles};

/// The engines of the paper, and ours.
pub const ENGINES: [&str; 5] = ["usscd", "scd", "i_collide", "cpu", "gpu"];

/// Steps that are measured even if they take longer than is enough.
const LEAST_STEPS: usize = 3;

/// The engines, and how much they are measured.
pub struct Race {
    /// The engines, all exact, each once.
    pub engines: Vec<Engine>,
    /// The device, where the GPU is among them.
    pub gpu: Option<Gpu>,
    /// The machine that the race runs on.
    pub machine: Machine,
    /// The seed of the scenes.
    pub seed: u64,
    /// The most steps of a setting.
    pub steps: u32,
    /// Milliseconds after which an engine has measured enough steps of a setting.
    pub enough_ms: f64,
}

/// The times of one engine for the steps of a setting.
pub struct Lap {
    /// The engine.
    pub engine: Engine,
    /// The time of the calls that count.
    pub time: Time,
    /// The number of pairs in the last step that the engine measured.
    pub pair_count: usize,
    /// The last call that the engine made.
    pub call: Call,
}

impl Race {
    /// Says what an engine runs on. The algorithms of the literature have one thread.
    pub fn device(&self, engine: Engine) -> String {
        match (engine, &self.machine.adapter) {
            (Engine::Gpu, Some(adapter)) => adapter.clone(),
            (Engine::Cpu, _) => format!("{}, {} threads", self.machine.cpu, self.machine.cores),
            _ => format!("{}, 1 thread", self.machine.cpu),
        }
    }

    /// Runs every engine, made anew, over the same steps, one step at a time, so that whatever disturbs one disturbs
    /// all. One step before the measured ones builds what engines keep. Pairs are compared outside the times, in every
    /// step that an engine measures. Returns an empty list where the race was stopped before all engines had measured
    /// something.
    pub fn run(&self, n: usize, space: Particles) -> Result<Vec<Lap>> {
        let mut racers = Vec::new();
        for &engine in &self.engines {
            // Kernels are compiled here, outside the times.
            let contestant = Contestant::new(engine, self.gpu.as_ref(), Options::default())?;
            racers.push(Racer { engine, contestant, times: Vec::new(), pairs: Vec::new(), call: None });
        }
        for step in 0..=self.steps {
            if is_stopped() {
                break;
            }
            let boxes = particles(n, self.seed, step, space);
            let count = racers.len();
            let mut called = Vec::new();
            for turn in 0..count {
                // Another engine begins each time.
                let at = (turn + step as usize) % count;
                let racer = &mut racers[at];
                if racer.times.len() < LEAST_STEPS || racer.times.iter().sum::<f64>() < self.enough_ms {
                    racer.call(&boxes, step > 0)?;
                    called.push(at);
                }
            }
            for &at in called.iter().skip(1) {
                let (first, other) = (&racers[called[0]], &racers[at]);
                ensure!(
                    first.pairs == other.pairs,
                    "{} and {} differ in step {step} of {n} objects in {space:?}: {} and {} pairs",
                    first.engine.name(),
                    other.engine.name(),
                    first.pairs.len(),
                    other.pairs.len()
                );
            }
        }
        let mut laps = Vec::new();
        for racer in racers {
            let (pair_count, engine) = (racer.pairs.len(), racer.engine);
            if let (Some(time), Some(call)) = (Time::of(racer.times), racer.call) {
                laps.push(Lap { engine, time, pair_count, call });
            }
        }
        if laps.len() < self.engines.len() {
            laps.clear();
        }
        Ok(laps)
    }
}

/// An engine, and what it took so far.
struct Racer {
    engine: Engine,
    contestant: Contestant,
    /// Milliseconds, one for each step that counts.
    times: Vec<f64>,
    /// The pairs of the last step, sorted.
    pairs: Vec<Pair>,
    call: Option<Call>,
}

impl Racer {
    fn call(&mut self, boxes: &[Aabb], counts: bool) -> Result<()> {
        let call = self.contestant.find_pairs(boxes, &mut self.pairs)?;
        self.pairs.sort_unstable();
        if counts {
            self.times.push(call.ms);
        }
        self.call = Some(call);
        Ok(())
    }
}
