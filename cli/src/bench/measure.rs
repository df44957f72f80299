//! The measurement: scenes × sizes × engines, interleaved.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Error, Result, anyhow, ensure};
use broadsweep::scenes::{Kind, Source};
use broadsweep::{Aabb, Gpu, Options, Pair, cpu};
use indicatif::{ProgressBar, ProgressStyle};

use super::contestant::{Call, Contestant};
use super::difference::{difference, hash};
use super::results::{Difference, Outcome, Row, Time};
use crate::engine::Engine;
use crate::text;

/// A list of more pairs is given back after each call, so that those of all engines do not fill the memory.
const KEPT_PAIRS: usize = 1 << 24;

/// What to measure.
#[derive(Clone)]
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
    pub fn title(&self) -> String {
        self.kind().map_or_else(|| self.name(), |kind| kind.to_string())
    }

    /// The boxes that come `step` frames after the usual ones.
    fn boxes(&self, n: u32, seed: u64, step: u32) -> Result<Vec<Aabb>> {
        match self {
            // What is asked for the usual ones is whether there is the memory.
            Self::Kind(kind) | Self::Source(Source::Kind { kind, .. }) if step > 0 => {
                Ok(kind.generate_frame(n as usize, seed, kind.usual_frame() + step))
            }
            Self::Kind(kind) => Ok(Source::Kind { kind: *kind, n }.boxes(seed)?),
            Self::Source(source) => Ok(source.boxes(seed)?),
        }
    }

    /// So many boxes, or about so many where a file has to be read first.
    fn sizes(&self, sizes: &[u32]) -> Vec<u32> {
        match self {
            Self::Kind(_) => sizes.to_vec(),
            Self::Source(Source::Kind { n, .. }) => vec![*n],
            Self::Source(Source::File(path)) => {
                let bytes = std::fs::metadata(path).map_or(0, |file| file.len());
                vec![u32::try_from(bytes / size_of::<Aabb>() as u64).unwrap_or(u32::MAX)]
            }
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

    /// Measures until the end, Ctrl-C, or a scene that cannot be had.
    pub fn measure(&self, gpu: Option<&Gpu>) -> Measured {
        // Small ones first: they tell which of the large ones take too long.
        let sizes = |scene: &Scene| {
            let mut sizes = scene.sizes(&self.sizes);
            sizes.sort_unstable();
            sizes
        };
        let cells = self.scenes.iter().flat_map(|scene| sizes(scene).into_iter().map(move |n| (scene, n)));
        let mut titles = Vec::new();
        let cells: Vec<Cell> = cells
            .filter(|(scene, n)| {
                // As of `city` and `city:1000`.
                let is_new = !titles.contains(&(scene.title(), *n));
                titles.push((scene.title(), *n));
                is_new
            })
            .map(|(scene, n)| Cell { scene, n, steps: if scene.moves() { self.frames } else { self.runs } })
            .collect();
        let weight = |cell: &Cell| (1 + u64::from(cell.steps)) * cell.weight() * self.engines.len() as u64;
        let progress = Progress::new(cells.iter().map(weight).sum());
        let mut measured = Measured { rows: Vec::new(), interrupted: false, failure: None };
        let mut known = Known::default();
        let mut done = 0;
        for cell in cells {
            match self.cell(&cell, gpu, &mut known, &progress) {
                Ok(rows) => measured.rows.extend(rows),
                Err(error) => measured.failure = Some(error),
            }
            if is_stopped() || measured.failure.is_some() {
                break;
            }
            done += weight(&cell);
            progress.bar.set_position(done);
        }
        progress.bar.finish_and_clear();
        measured.interrupted = is_stopped();
        measured
    }

    /// One scene of one size.
    fn cell(&self, cell: &Cell, gpu: Option<&Gpu>, known: &mut Known, progress: &Progress) -> Result<Vec<Row>> {
        let Cell { scene, n, steps } = *cell;
        progress.say(&format!("{}: making the boxes", scene.name()));
        let mut boxes = scene.boxes(n, self.seed, 0)?;
        let mut lanes = Vec::new();
        for &engine in &self.engines {
            let mut lane = Lane::new(scene, boxes.len(), engine);
            match known.predict(&lane.row, engine).filter(|seconds| *seconds > self.limit) {
                Some(seconds) => {
                    lane.row.outcome = Outcome::OverLimit;
                    lane.row.note = format!("over the limit: smaller scenes predict {} a call", text::seconds(seconds));
                }
                None => lane.contestant = Some(Contestant::new(engine, gpu)?),
            }
            lanes.push(lane);
        }
        // The first step is for caches, buffers and branch predictors, and does not count.
        for step in 0..=steps {
            if is_stopped() || lanes.iter().all(|lane| !lane.goes_on()) {
                break;
            }
            if step > 0 && scene.moves() {
                boxes = scene.boxes(n, self.seed, step)?;
            }
            let mut expected = None;
            for lane in lanes.iter_mut().filter(|lane| lane.goes_on()) {
                if is_stopped() {
                    break;
                }
                let (title, count) = (scene.title(), text::boxes(boxes.len() as u64));
                progress.say(&format!("{title} with {count}: {}", lane.engine.name()));
                progress.bar.inc(cell.weight());
                lane.step(step, &boxes, self.limit, &mut expected)?;
            }
        }
        for lane in &mut lanes {
            if let (Some(contestant), Engine::Gpu, false) = (&mut lane.contestant, lane.engine, is_stopped()) {
                progress.say(&format!("{}: stages on the GPU", scene.title()));
                lane.row.stages_ms = contestant.stages(&boxes)?;
            }
        }
        let rows: Vec<Row> = lanes.into_iter().filter_map(Lane::finish).collect();
        rows.iter().for_each(|row| known.add(row));
        Ok(rows)
    }
}

/// What came of it.
pub struct Measured {
    /// In the order of scenes, sizes and engines.
    pub rows: Vec<Row>,
    /// By Ctrl-C.
    pub interrupted: bool,
    /// What ended it before all rows were measured.
    pub failure: Option<Error>,
}

/// One scene of one size.
struct Cell<'a> {
    scene: &'a Scene,
    n: u32,
    /// Calls that count.
    steps: u32,
}

impl Cell<'_> {
    /// Of a call, in the time left.
    fn weight(&self) -> u64 {
        u64::from(self.n.max(1))
    }
}

/// The boxes and seconds of calls, by scene and engine.
#[derive(Default)]
struct Known(HashMap<(String, String), Vec<(f64, f64)>>);

impl Known {
    fn add(&mut self, row: &Row) {
        if let Some(ms) = row.median_ms().or(row.first_ms) {
            self.0.entry((row.scene.clone(), row.engine.clone())).or_default().push((row.boxes as f64, ms / 1e3));
        }
    }

    /// Seconds of a call.
    fn predict(&self, row: &Row, engine: Engine) -> Option<f64> {
        predict(engine, self.0.get(&(row.scene.clone(), row.engine.clone()))?, row.boxes as f64)
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
    contestant: Option<Contestant>,
    /// Takes part in no more steps.
    is_done: bool,
    /// A buffer of its own, or some would find room where others have to ask for it.
    pairs: Vec<Pair>,
    times: Vec<f64>,
    row: Row,
}

impl Lane {
    fn new(scene: &Scene, boxes: usize, engine: Engine) -> Self {
        Self {
            engine,
            contestant: None,
            is_done: false,
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
                updates: None,
                bytes: None,
                hash: None,
                stages_ms: Vec::new(),
                compared_with: None,
                difference: None,
            },
        }
    }

    fn goes_on(&self) -> bool {
        self.contestant.is_some() && !self.is_done
    }

    /// One call, and the comparison of its pairs.
    fn step(&mut self, step: u32, boxes: &[Aabb], limit: f64, expected: &mut Option<Expected>) -> Result<()> {
        let Some(contestant) = &mut self.contestant else {
            return Ok(());
        };
        if !self.row.moving {
            contestant.forget();
        }
        match contestant.find_pairs(boxes, &mut self.pairs) {
            Ok(call) => {
                self.add(step, &call, limit);
                self.compare(boxes, expected)?;
            }
            Err(error) => {
                self.row.outcome = Outcome::Refused;
                self.row.note = format!("refused: {error:#}");
                self.is_done = true;
            }
        }
        if self.pairs.len() > KEPT_PAIRS {
            self.pairs = Vec::new();
        }
        Ok(())
    }

    fn add(&mut self, step: u32, call: &Call, limit: f64) {
        self.row.bytes = self.row.bytes.max(call.bytes);
        self.row.updates = call.updates;
        if step > 0 {
            self.times.push(call.ms);
            self.is_done = self.times.iter().sum::<f64>() > limit * 1e3;
            return;
        }
        self.row.first_ms = Some(call.ms);
        self.row.candidates = call.candidates;
        self.row.pairs = Some(self.pairs.len() as u64);
        self.row.hash = Some(format!("{:016x}", hash(&self.pairs)));
        if call.ms > limit * 1e3 {
            self.row.outcome = Outcome::OverLimit;
            self.row.note = format!("over the limit: one call took {}", text::seconds(call.ms / 1e3));
            self.is_done = true;
        }
    }

    /// With the first exact answer of this step, and with the CPU engine's where there is none yet.
    fn compare(&mut self, boxes: &[Aabb], expected: &mut Option<Expected>) -> Result<()> {
        let own = hash(&self.pairs);
        let expected = match expected {
            Some(expected) => expected,
            None if self.engine.is_exact() => {
                let pairs = self.pairs.clone();
                *expected = Some(Expected { engine: self.engine.name(), hash: own, pairs });
                return Ok(());
            }
            None => {
                let pairs = cpu::find_pairs(boxes, &Options::default())?.pairs;
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
