//! The measurement: scenes × sizes × engines, interleaved.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Error, Result, anyhow, ensure};
use broadsweep::scenes::{Kind, Source, npy};
use broadsweep::{Aabb, Gpu, Options, Pair, cpu};
use indicatif::{ProgressBar, ProgressStyle};

use super::contestant::{Call, Contestant};
use super::difference::{difference, fold, hash};
use super::results::{Difference, Outcome, Row, Time};
use crate::engine::Engine;
use crate::text;

/// A list of more pairs is given back after each call, so that those of all engines do not fill the memory.
const KEPT_PAIRS: usize = 1 << 24;
/// How many times the limit a prediction or a first call has to take before it is believed: both are noisy.
const SLACK: f64 = 3.0;
/// A row goes on until its calls have taken so many milliseconds altogether, or are so many: a few short ones are noise.
const LEAST_MS: f64 = 50.0;
const MOST_CALLS: u32 = 200;
/// Boxes of the calls that predict where there are no smaller scenes.
const PREFIXES: [usize; 5] = [1000, 10_000, 100_000, 1_000_000, 10_000_000];

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

    /// Whether this is that scene, in a size that it is measured in.
    pub fn is(&self, title: &str, boxes: u64, sizes: &[u32]) -> bool {
        let has_size = match self {
            Self::Kind(_) => sizes.iter().any(|n| u64::from(*n) == boxes),
            Self::Source(Source::Kind { n, .. }) => u64::from(*n) == boxes,
            Self::Source(Source::File(_)) => true,
        };
        has_size && self.title() == title
    }

    /// Finds out, before any long work, whether a file has boxes. What is no file can be read but once.
    fn check(&self) -> Result<()> {
        match self {
            Self::Source(Source::File(path)) if !path.exists() || path.is_file() => {
                npy::read_boxes(path)?;
            }
            _ => {}
        }
        Ok(())
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
    /// Refuses what could not be measured.
    pub fn check(&self) -> Result<()> {
        ensure!(
            self.limit > 0.0 && self.limit.is_finite(),
            "--limit is {}; it must be positive and finite",
            self.limit
        );
        ensure!(self.frames > 0, "--frames is 0; at least one has to be measured");
        ensure!(self.runs > 0, "--runs is 0; at least one has to be measured");
        self.scenes.iter().try_for_each(Scene::check)
    }

    /// Measures until the end or Ctrl-C. After each scene of each size, `each` gets all rows that there are.
    pub fn measure(&self, gpu: Option<&Gpu>, mut each: impl FnMut(&[Row])) -> Measured {
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
                Ok(rows) => {
                    measured.rows.extend(rows);
                    each(&measured.rows);
                }
                Err(error) => {
                    measured.failure.get_or_insert(error);
                }
            }
            if is_stopped() {
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
            if is_stopped() {
                break;
            }
            progress.say(&format!("{}: {} gets ready", scene.name(), engine.name()));
            lanes.push(self.lane(cell, &boxes, engine, gpu, known));
        }
        // The first step is for caches, buffers and branch predictors, and does not count.
        let mut expected = None;
        for step in 0..=steps.max(MOST_CALLS) {
            if is_stopped() || lanes.iter().all(|lane| !lane.goes_on()) {
                break;
            }
            if step > 0 && scene.moves() {
                boxes = scene.boxes(n, self.seed, frame(step, steps))?;
                expected = None;
            }
            take_step(cell, step, &boxes, &mut lanes, &mut expected, progress)?;
        }
        for lane in &mut lanes {
            if !is_stopped() {
                progress.say(&format!("{}: stages on the GPU", scene.title()));
                lane.time_stages(&boxes);
            }
        }
        let rows: Vec<Row> = lanes.into_iter().filter_map(Lane::finish).collect();
        rows.iter().for_each(|row| known.add(row));
        Ok(rows)
    }

    /// An engine at its start, unless it is seen to take too long.
    fn lane(&self, cell: &Cell, boxes: &[Aabb], engine: Engine, gpu: Option<&Gpu>, known: &Known) -> Lane {
        let enough = Enough { calls: cell.steps, limit_ms: self.limit * 1e3 };
        let mut lane = Lane::new(cell.scene, boxes.len(), engine, enough);
        // What is refused is refused at once, and says why.
        let is_refused = engine.most_boxes().is_some_and(|most| boxes.len() > most);
        let mut predicted = known.predict(&lane.row, engine).filter(|_| !is_refused);
        if predicted.is_none_or(|seconds| seconds <= SLACK * self.limit) {
            match Contestant::new(engine, gpu) {
                Ok(mut contestant) => {
                    if predicted.is_none() && !is_refused {
                        predicted = calibrate(engine, &mut contestant, boxes, self.limit);
                    }
                    lane.contestant = Some(contestant);
                }
                Err(error) => lane.refuse(&error),
            }
        }
        if let Some(seconds) = predicted.filter(|seconds| *seconds > SLACK * self.limit) {
            lane.contestant = None;
            lane.row.outcome = Outcome::OverLimit;
            lane.row.predicted_ms = Some(seconds * 1e3);
            lane.row.note = format!("not run: fewer boxes predict {} a call", text::seconds(seconds));
        }
        lane
    }
}

/// The frame of a step: forward to the last, back to the first and so on, so that no motion is larger than that of a
/// frame, and more calls do not see other frames.
fn frame(step: u32, last: u32) -> u32 {
    let (round, at) = (step / last, step % last);
    if round.is_multiple_of(2) { at } else { last - at }
}

/// One call of each engine that goes on, and the comparison of their pairs; `expected` is an earlier answer for these
/// boxes, if there is one.
fn take_step(
    cell: &Cell,
    step: u32,
    boxes: &[Aabb],
    lanes: &mut [Lane],
    expected: &mut Option<Expected>,
    progress: &Progress,
) -> Result<()> {
    // Not the GPU: a driver that is wrong must not make all others look wrong.
    let is_reference = |lane: &Lane| lane.goes_on() && lane.engine.is_exact() && lane.engine != Engine::Gpu;
    let reference = lanes.iter().position(is_reference);
    match reference {
        Some(_) => *expected = None,
        None if expected.is_none() => *expected = Some(Expected::by_cpu(boxes)?),
        None => {}
    }
    // Another one begins each time, so that none always has the caches as another left them. Long lists are
    // compared and given back at once, which needs the reference first.
    let are_long = lanes.iter().any(|lane| lane.row.pairs > Some(KEPT_PAIRS as u64));
    let first = reference.unwrap_or(0) + if are_long { 0 } else { step as usize };
    let count = lanes.len();
    for i in (0..count).map(|i| (first + i) % count) {
        if is_stopped() {
            break;
        }
        if !lanes[i].goes_on() {
            continue;
        }
        let (title, count) = (cell.scene.title(), text::boxes(boxes.len() as u64));
        progress.say(&format!("{title} with {count}: {}", lanes[i].engine.name()));
        if step <= cell.steps {
            progress.bar.inc(cell.weight());
        }
        lanes[i].call(step, boxes);
        if reference == Some(i) {
            *expected = lanes[i].answer();
        }
        if let Some(expected) = expected {
            lanes.iter_mut().for_each(|lane| lane.compare(boxes, expected));
        }
    }
    // The reference had no answer.
    if expected.is_none() && lanes.iter().any(|lane| lane.hash.is_some()) {
        let expected = expected.insert(Expected::by_cpu(boxes)?);
        lanes.iter_mut().for_each(|lane| lane.compare(boxes, expected));
    }
    Ok(())
}

/// What came of it.
pub struct Measured {
    /// In the order of scenes, sizes and engines.
    pub rows: Vec<Row>,
    /// By Ctrl-C.
    pub interrupted: bool,
    /// Why the first of the scenes that could not be measured could not.
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

/// The boxes and the least seconds of a call, by scene and engine.
#[derive(Default)]
struct Known(HashMap<(String, String), Vec<(f64, f64)>>);

impl Known {
    fn add(&mut self, row: &Row) {
        let seen = row.time.as_ref().map(|time| time.min_ms).into_iter().chain(row.first_ms);
        if let Some(ms) = seen.min_by(f64::total_cmp) {
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

/// What an engine will take for `boxes`, in seconds, from calls with the first of them, off the clock; `None` where
/// they are few.
fn calibrate(engine: Engine, contestant: &mut Contestant, boxes: &[Aabb], limit: f64) -> Option<f64> {
    let mut known = Vec::new();
    let mut pairs = Vec::new();
    for n in PREFIXES.into_iter().filter(|n| *n < boxes.len()) {
        if is_stopped() || predict(engine, &known, n as f64).is_some_and(|seconds| seconds > SLACK * limit) {
            break;
        }
        let mut call = || {
            contestant.forget();
            Some(contestant.find_pairs(&boxes[..n], &mut pairs).ok()?.ms / 1e3)
        };
        // The first of two grows buffers, which is nothing where it takes long.
        let mut least = call()?;
        if least < limit {
            least = least.min(call()?);
        }
        known.push((n as f64, least));
    }
    contestant.forget();
    predict(engine, &known, boxes.len() as f64)
}

/// When a row has had its calls.
#[derive(Clone, Copy)]
struct Enough {
    calls: u32,
    /// Of a call, and of all together.
    limit_ms: f64,
}

impl Enough {
    fn is_reached(&self, times: &[f64]) -> bool {
        let (calls, ms) = (times.len(), times.iter().sum::<f64>());
        let is_long = ms >= LEAST_MS || calls >= MOST_CALLS as usize;
        ms > self.limit_ms || is_long && calls >= self.calls as usize
    }
}

/// An engine on its way through one cell.
struct Lane {
    engine: Engine,
    contestant: Option<Contestant>,
    enough: Enough,
    /// Takes part in no more steps.
    is_done: bool,
    /// Of the last answer, until it is compared.
    hash: Option<u64>,
    /// Of the last answer that is in the row's hash, and of all those.
    folded: Option<(u64, u64)>,
    /// A buffer of its own, or some would find room where others have to ask for it.
    pairs: Vec<Pair>,
    times: Vec<f64>,
    row: Row,
}

impl Lane {
    fn new(scene: &Scene, boxes: usize, engine: Engine, enough: Enough) -> Self {
        Self {
            engine,
            contestant: None,
            enough,
            is_done: false,
            hash: None,
            folded: None,
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
                predicted_ms: None,
                time: None,
                pairs: None,
                candidates: None,
                updates: None,
                bytes: None,
                hash: None,
                hashed_calls: 0,
                stages_ms: Vec::new(),
                compared_with: None,
                difference: None,
            },
        }
    }

    fn goes_on(&self) -> bool {
        self.contestant.is_some() && !self.is_done
    }

    fn refuse(&mut self, error: &Error) {
        self.row.outcome = Outcome::Refused;
        self.row.note = format!("refused: {error:#}");
        self.is_done = true;
    }

    fn call(&mut self, step: u32, boxes: &[Aabb]) {
        let Some(contestant) = &mut self.contestant else {
            return;
        };
        if !self.row.moving {
            contestant.forget();
        }
        match contestant.find_pairs(boxes, &mut self.pairs) {
            Ok(call) => self.add(step, &call),
            Err(error) => self.refuse(&error),
        }
    }

    fn add(&mut self, step: u32, call: &Call) {
        let hash = hash(&self.pairs);
        self.hash = Some(hash);
        if step <= self.enough.calls {
            self.fold(hash);
        }
        self.row.bytes = self.row.bytes.max(call.bytes);
        self.row.updates = call.updates;
        let limit_ms = self.enough.limit_ms;
        let first_ms = *self.row.first_ms.get_or_insert(call.ms);
        let is_over = match step {
            0 => call.ms > SLACK * limit_ms,
            // The first call is the slowest, so one that is not far over the limit gets another.
            1 => first_ms > limit_ms && call.ms > limit_ms,
            _ => false,
        };
        if is_over {
            self.row.outcome = Outcome::OverLimit;
            self.row.note = format!("over the limit: one call took {}", text::seconds(call.ms / 1e3));
            self.is_done = true;
        } else if step > 0 {
            self.times.push(call.ms);
            self.is_done = self.enough.is_reached(&self.times);
        }
        if step == 0 {
            self.row.candidates = call.candidates;
            self.row.pairs = Some(self.pairs.len() as u64);
        }
    }

    /// Takes an answer into the hash of the row. Without motion all answers are one, however many calls there are.
    fn fold(&mut self, hash: u64) {
        self.folded = match self.folded {
            Some((last, all)) if last == hash && !self.row.moving => Some((last, all)),
            Some((_, all)) => Some((hash, fold(all, hash))),
            None => Some((hash, hash)),
        };
        self.row.hashed_calls += 1;
    }

    /// The last answer, as the one that others are compared with.
    fn answer(&mut self) -> Option<Expected> {
        let hash = self.hash.take()?;
        Some(Expected { engine: self.engine.name(), hash, pairs: self.pairs.clone() })
    }

    /// The last answer with the expected one, if it is not yet compared.
    fn compare(&mut self, boxes: &[Aabb], expected: &mut Expected) {
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
        if self.pairs.len() > KEPT_PAIRS {
            self.pairs = Vec::new();
        }
    }

    /// A note where that fails: the calls are measured all the same.
    fn time_stages(&mut self, boxes: &[Aabb]) {
        let is_measured = self.row.outcome == Outcome::Measured && !self.times.is_empty();
        let Some(contestant) = self.contestant.as_mut().filter(|_| is_measured) else {
            return;
        };
        match contestant.stages(boxes) {
            Ok(stages) => self.row.stages_ms = stages,
            Err(error) => self.row.note = format!("without the times of its stages: {error:#}"),
        }
    }

    /// `None` where it was stopped before there was anything to tell.
    fn finish(mut self) -> Option<Row> {
        self.row.time = Time::of(self.times);
        self.row.hash = self.folded.map(|(_, all)| format!("{all:016x}"));
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

impl Expected {
    /// Off the clock.
    fn by_cpu(boxes: &[Aabb]) -> Result<Self> {
        let pairs = cpu::find_pairs(boxes, &Options::default())?.pairs;
        Ok(Self { engine: Engine::Cpu.name(), hash: hash(&pairs), pairs })
    }
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
    fn a_first_call_that_is_a_little_over_the_limit_gets_another() {
        let row = |times: &[f64]| {
            let enough = Enough { calls: 1, limit_ms: 10.0 };
            let mut lane = Lane::new(&Scene::Kind(Kind::Uniform), 9, Engine::Cpu, enough);
            for (step, &ms) in times.iter().enumerate() {
                assert!(!lane.is_done, "{times:?}");
                lane.add(step as u32, &Call { ms, candidates: None, updates: None, bytes: None });
            }
            (lane.is_done, lane.finish().map(|row| (row.outcome, row.time.is_some())))
        };
        assert_eq!(row(&[31.0]), (true, Some((Outcome::OverLimit, false))));
        assert_eq!(row(&[29.0]), (false, None));
        assert_eq!(row(&[29.0, 11.0]), (true, Some((Outcome::OverLimit, false))));
        assert_eq!(row(&[29.0, 9.0, 2.0]), (true, Some((Outcome::Measured, true))));
        // A later frame may take what it takes.
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

    #[test]
    fn frames_go_forward_and_back() {
        assert_eq!((0..10).map(|step| frame(step, 3)).collect::<Vec<_>>(), [0, 1, 2, 3, 2, 1, 0, 1, 2, 3]);
        assert_eq!((0..4).map(|step| frame(step, 1)).collect::<Vec<_>>(), [0, 1, 0, 1]);
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
