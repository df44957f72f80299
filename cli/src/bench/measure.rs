//! The measurement: scenes × sizes × engines, interleaved.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Result, anyhow, ensure};
use broadsweep::scenes::{Kind, Source};
use broadsweep::{Aabb, Gpu, Options, Pair, cpu};
use indicatif::{ProgressBar, ProgressStyle};

use super::contestant::{Call, Contestant};
use super::difference::{difference, hash};
use super::results::{Difference, Outcome, Row, Time};
use crate::engine::Engine;
use crate::text;

/// What to measure.
pub struct Plan {
    pub scenes: Vec<Scene>,
    /// Of scenes that can have any.
    pub sizes: Vec<u32>,
    /// In the order of [`Engine::all`].
    pub engines: Vec<Engine>,
    pub frames: u32,
    pub runs: u32,
    /// Seconds that the calls of a row may take, together, before it is left at those it has.
    pub limit: f64,
    pub seed: u64,
}

/// A scene as it is typed: `KIND` in all sizes, `KIND:N` in one, or a file.
#[derive(Clone, PartialEq)]
pub enum Scene {
    Kind(Kind),
    Source(Source),
}

impl Scene {
    pub fn parse(text: &str) -> Result<Self> {
        if let Ok(kind) = text.parse() {
            return Ok(Self::Kind(kind));
        }
        match text.parse()? {
            Source::File(path) if !path.exists() && !text.contains(['.', '/', '\\']) => {
                // More likely a kind than a file; the message lists them.
                Err(text.parse::<Kind>().map_or_else(Into::into, |_| anyhow!("{text}")))
            }
            source => Ok(Self::Source(source)),
        }
    }

    /// As it is typed.
    pub fn name(&self) -> String {
        match self {
            Self::Kind(kind) => kind.to_string(),
            Self::Source(source) => source.to_string(),
        }
    }

    fn kind(&self) -> Option<Kind> {
        match self {
            Self::Kind(kind) | Self::Source(Source::Kind { kind, .. }) => Some(*kind),
            Self::Source(Source::File(_)) => None,
        }
    }

    fn moves(&self) -> bool {
        self.kind().is_some_and(Kind::moves)
    }

    /// Without the number of boxes, which is a column of its own.
    fn title(&self) -> String {
        self.kind().map_or_else(|| self.name(), |kind| kind.to_string())
    }

    /// The boxes that come `step` frames after the usual ones.
    fn boxes(&self, n: u32, seed: u64, step: u32) -> Result<Vec<Aabb>> {
        match self.kind() {
            Some(kind) if kind.moves() => {
                // Asks first whether there is the memory.
                if step == 0 {
                    return Ok(Source::Kind { kind, n }.boxes(seed)?);
                }
                Ok(kind.generate_frame(n as usize, seed, kind.usual_frame() + step))
            }
            Some(kind) => Ok(Source::Kind { kind, n }.boxes(seed)?),
            None => match self {
                Self::Source(source) => Ok(source.boxes(seed)?),
                Self::Kind(_) => Ok(Vec::new()),
            },
        }
    }
}

/// Set by Ctrl-C: what is running is the last.
static STOP: AtomicBool = AtomicBool::new(false);

/// From here on, Ctrl-C ends the measurement after the run that it is in; a second one ends it at once.
pub fn stop_on_ctrl_c() -> Result<()> {
    let set = ctrlc::set_handler(|| {
        if STOP.swap(true, Ordering::SeqCst) {
            std::process::exit(130);
        }
        crate::say("stopping after this run; once more to stop at once");
    });
    Ok(set?)
}

/// Whether it was asked to.
pub fn is_stopped() -> bool {
    STOP.load(Ordering::SeqCst)
}

impl Plan {
    /// Refuses what would measure nothing.
    pub fn check(&self) -> Result<()> {
        ensure!(
            self.limit > 0.0 && self.limit.is_finite(),
            "--limit is {}; it must be positive and finite",
            self.limit
        );
        ensure!(self.frames > 0, "--frames is 0; at least one has to be measured");
        ensure!(self.runs > 0, "--runs is 0; at least one has to be measured");
        Ok(())
    }

    /// The rows in the order of scenes, sizes and engines, and whether it was stopped before the last of them.
    pub fn measure(&self, gpu: Option<&Gpu>) -> Result<(Vec<Row>, bool)> {
        let mut cells = Vec::new();
        for scene in &self.scenes {
            match scene {
                Scene::Kind(_) => cells.extend(self.sizes.iter().map(|n| (scene, *n))),
                Scene::Source(Source::Kind { n, .. }) => cells.push((scene, *n)),
                // As many as there are.
                Scene::Source(Source::File(_)) => cells.push((scene, 0)),
            }
        }
        // Small ones first: they tell which of the large ones take too long.
        cells.sort_by_key(|(scene, n)| (self.scenes.iter().position(|other| other == *scene), *n));
        let weight = |scene: &Scene, n: u32| (1 + u64::from(self.steps(scene))) * u64::from(n.max(1));
        let all: u64 = cells.iter().map(|(scene, n)| weight(scene, *n) * self.engines.len() as u64).sum();
        let progress = Progress::new(all);
        let mut rows = Vec::new();
        let mut known = HashMap::new();
        let mut done = 0;
        for (scene, n) in cells {
            if is_stopped() {
                break;
            }
            rows.extend(self.cell(scene, n, gpu, &mut known, &progress)?);
            done += weight(scene, n) * self.engines.len() as u64;
            progress.bar.set_position(done);
        }
        progress.bar.finish_and_clear();
        Ok((rows, is_stopped()))
    }

    /// Calls that count.
    fn steps(&self, scene: &Scene) -> u32 {
        if scene.moves() { self.frames } else { self.runs }
    }

    /// One scene of one size.
    fn cell(
        &self,
        scene: &Scene,
        n: u32,
        gpu: Option<&Gpu>,
        known: &mut HashMap<(String, &'static str), Vec<(f64, f64)>>,
        progress: &Progress,
    ) -> Result<Vec<Row>> {
        progress.say(&format!("{}: making the boxes", scene.name()));
        let mut boxes = scene.boxes(n, self.seed, 0)?;
        let mut lanes = Vec::new();
        for &engine in &self.engines {
            let key = (scene.title(), engine.name());
            let mut lane = Lane::new(scene, boxes.len(), engine);
            let expected = known.get(&key).and_then(|times| predict(engine, times, boxes.len() as f64));
            match expected.filter(|seconds| *seconds > self.limit) {
                Some(seconds) => {
                    lane.row.outcome = Outcome::OverLimit;
                    lane.row.note = format!("over the limit: smaller scenes predict {} a call", text::seconds(seconds));
                }
                None => lane.contestant = Some(Contestant::new(engine, gpu)?),
            }
            lanes.push(lane);
        }
        // The first step is for caches, buffers and branch predictors, and does not count.
        for step in 0..=self.steps(scene) {
            if is_stopped() || lanes.iter().all(|lane| lane.contestant.is_none()) {
                break;
            }
            if step > 0 && scene.moves() {
                boxes = scene.boxes(n, self.seed, step)?;
            }
            let mut expected = None;
            for lane in &mut lanes {
                if is_stopped() {
                    break;
                }
                let Some(mut contestant) = lane.contestant.take() else { continue };
                let count = text::boxes(boxes.len() as u64);
                progress.say(&format!("{} with {count}: {}", scene.title(), lane.engine.name()));
                progress.bar.inc(u64::from(n.max(1)));
                if !scene.moves() {
                    contestant.forget();
                }
                match contestant.find_pairs(&boxes, &mut lane.pairs) {
                    Ok(call) => {
                        if lane.add(step, &call, self.limit) {
                            lane.contestant = Some(contestant);
                        }
                        lane.compare(&boxes, &mut expected)?;
                    }
                    Err(error) => {
                        lane.row.outcome = Outcome::Refused;
                        lane.row.note = format!("refused: {error:#}");
                    }
                }
            }
        }
        let mut rows = Vec::new();
        for mut lane in lanes {
            if let (Some(mut contestant), Engine::Gpu, false) = (lane.contestant.take(), lane.engine, is_stopped()) {
                progress.say(&format!("{}: stages on the GPU", scene.title()));
                lane.row.stages_ms = contestant.stages(&boxes)?;
            }
            if let Some(time) = lane.row.first_ms {
                let typical = Time::of(lane.times.clone()).map_or(time, |time| time.median_ms);
                known.entry((scene.title(), lane.engine.name())).or_default().push((boxes.len() as f64, typical / 1e3));
            }
            rows.extend(lane.finish());
        }
        Ok(rows)
    }
}

/// What an engine will take for `n` boxes, in seconds, from what it took for fewer.
fn predict(engine: Engine, known: &[(f64, f64)], n: f64) -> Option<f64> {
    let &(last, time) = known.last().filter(|(last, _)| *last > 0.0 && *last < n)?;
    let before = known.iter().rev().find(|(before, _)| *before > 0.0 && *before < last);
    let power = match (engine, before) {
        (Engine::Brute, _) => 2.0,
        // Of short times nothing can be told.
        (_, Some((before, earlier))) if *earlier > 1e-4 => {
            ((time / earlier).ln() / (last / before).ln()).clamp(1.0, 2.0)
        }
        _ => 1.0,
    };
    Some(time * (n / last).powf(power))
}

/// An engine on its way through one cell.
struct Lane {
    engine: Engine,
    /// Until it has had enough.
    contestant: Option<Contestant>,
    pairs: Vec<Pair>,
    times: Vec<f64>,
    row: Row,
}

impl Lane {
    fn new(scene: &Scene, boxes: usize, engine: Engine) -> Self {
        Self {
            engine,
            contestant: None,
            pairs: Vec::new(),
            times: Vec::new(),
            row: Row {
                scene: scene.title(),
                boxes: boxes as u64,
                engine: engine.name().to_owned(),
                moving: scene.moves(),
                outcome: Outcome::Measured,
                note: String::new(),
                first_ms: None,
                time: None,
                pairs: None,
                candidates: None,
                bytes: None,
                hash: None,
                stages_ms: Vec::new(),
                compared_with: None,
                difference: None,
            },
        }
    }

    /// Whether there may be more calls after this one.
    fn add(&mut self, step: u32, call: &Call, limit: f64) -> bool {
        if step == 0 {
            self.row.first_ms = Some(call.ms);
            self.row.candidates = call.candidates;
            self.row.pairs = Some(self.pairs.len() as u64);
            self.row.hash = Some(format!("{:016x}", hash(&self.pairs)));
            if call.ms > limit * 1e3 {
                self.row.outcome = Outcome::OverLimit;
                self.row.note = format!("over the limit: one call took {}", text::seconds(call.ms / 1e3));
                return false;
            }
        } else {
            self.times.push(call.ms);
        }
        self.row.bytes = self.row.bytes.max(call.bytes);
        self.times.is_empty() || self.times.iter().sum::<f64>() <= limit * 1e3
    }

    /// With the first exact answer of this step, and with the CPU engine's where there is none yet.
    fn compare(&mut self, boxes: &[Aabb], expected: &mut Option<Expected>) -> Result<()> {
        let own = hash(&self.pairs);
        let expected = match expected {
            Some(expected) => expected,
            None if self.engine.is_exact() => {
                *expected =
                    Some(Expected { engine: self.engine.name(), hash: own, pairs: std::mem::take(&mut self.pairs) });
                return Ok(());
            }
            None => {
                let pairs = cpu::BroadPhase::new(Options::default())?.find_pairs(boxes)?.pairs.clone();
                expected.insert(Expected { engine: Engine::Cpu.name(), hash: hash(&pairs), pairs })
            }
        };
        self.row.compared_with = Some(expected.engine.to_owned());
        if own != expected.hash {
            let found = difference(boxes, &mut self.pairs, &mut expected.pairs);
            let all = self.row.difference.get_or_insert_with(|| Difference { why: found.why, ..Difference::default() });
            all.calls += 1;
            all.missing += found.missing;
            all.extra += found.extra;
            all.repeated += found.repeated;
        }
        Ok(())
    }

    /// `None` where it was stopped before there was anything to tell.
    fn finish(mut self) -> Option<Row> {
        self.row.time = Time::of(self.times);
        let is_told = self.row.time.is_some() || self.row.outcome != Outcome::Measured;
        is_told.then_some(self.row)
    }
}

/// The answer that others are compared with.
struct Expected {
    engine: &'static str,
    hash: u64,
    pairs: Vec<Pair>,
}

/// A bar with the time left, on standard error; nothing where that is not a terminal.
struct Progress {
    bar: ProgressBar,
}

impl Progress {
    fn new(length: u64) -> Self {
        let bar = ProgressBar::new(length);
        if let Ok(style) = ProgressStyle::with_template("{bar:24} {percent:>3} %, {eta} left  {msg}") {
            bar.set_style(style);
        }
        bar.enable_steady_tick(std::time::Duration::from_millis(200));
        Self { bar }
    }

    fn say(&self, message: &str) {
        self.bar.set_message(message.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_longer_time_is_predicted_from_shorter_ones() {
        let linear = [(1e3, 1e-3), (1e4, 1e-2)];
        let square = [(1e3, 1e-3), (1e4, 1e-1)];
        let near = |found: Option<f64>, expected: f64| (found.unwrap() / expected - 1.0).abs() < 1e-9;
        assert!(near(predict(Engine::Cpu, &linear, 1e5), 0.1));
        assert!(near(predict(Engine::Cpu, &square, 1e5), 10.0));
        assert!(near(predict(Engine::Cpu, &[(1e4, 1e-2)], 1e5), 0.1));
        assert!(near(predict(Engine::Brute, &[(1e4, 1e-2)], 1e5), 1.0));
        assert_eq!(predict(Engine::Cpu, &[], 1e5), None);
        assert_eq!(predict(Engine::Cpu, &linear, 1e4), None);
        assert!(predict(Engine::Cpu, &[(0.0, 0.0)], 1e4).is_none());
    }

    #[test]
    fn a_scene_is_a_kind_a_kind_and_a_number_or_a_file() {
        assert!(matches!(Scene::parse("city").unwrap(), Scene::Kind(Kind::City)));
        assert!(matches!(Scene::parse("city:50").unwrap(), Scene::Source(Source::Kind { n: 50, .. })));
        assert!(matches!(Scene::parse("city.npy").unwrap(), Scene::Source(Source::File(_))));
        assert!(Scene::parse("cloud").err().unwrap().to_string().contains("there is no scene called \"cloud\""));
        assert!(Scene::parse("cloud:5").is_err());
    }
}
