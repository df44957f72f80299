//! The measurement: scenes × sizes × engines, interleaved.

use anyhow::{Error, Result, ensure};
use broadsweep::{Aabb, Gpu, Options};

use super::compare::compare;
use super::lane::{CACHED_PAIRS, Enough, Expected, Lane, MOST_CALLS};
use super::predict::{Known, SLACK, calibrate};
use super::results::{Outcome, Results, Row, unique};
use super::scene::Scene;
use super::stop::is_stopped;
use crate::engine::Engine;
use crate::measure::contestant::Contestant;
use crate::{model, text};

/// The plan: what to measure.
#[derive(Clone)]
pub struct Plan {
    /// The scenes, each once.
    pub scenes: Vec<Scene>,
    /// The sizes of scenes that can have any.
    pub sizes: Vec<u32>,
    /// The engines, in the order of [`Engine::all`].
    pub engines: Vec<Engine>,
    /// Calls that count of scenes that move.
    pub steps: u32,
    /// Calls that count of all other scenes.
    pub runs: u32,
    /// Seconds after which a row gets no more calls.
    pub limit: f64,
    /// The seed of the scenes.
    pub seed: u64,
}

/// How often a row that seems slower or faster than before is measured again: with the first time, there is a time in
/// the middle.
const CONFIRMATIONS: usize = 2;

/// A watcher, which is told how a measurement goes on.
pub trait Watcher {
    /// Takes the amount of all work.
    fn expect(&mut self, work: u64);
    /// Takes the name of what begins now.
    fn begin(&mut self, what: &str);
    /// Takes the amount of work that is done so far.
    fn reach(&mut self, work: u64);
    /// Takes all rows that there are, after each scene of each size.
    fn keep(&mut self, rows: &[Row]);
    /// Comes after the last row.
    fn finish(&mut self);
}

impl Plan {
    /// Refuses what could not be measured.
    pub fn check(&self) -> Result<()> {
        ensure!(
            self.limit > 0.0 && self.limit.is_finite(),
            "--limit is {}; it must be positive and finite",
            self.limit
        );
        ensure!(self.steps > 0, "--steps is 0; at least one has to be measured");
        ensure!(self.runs > 0, "--runs is 0; at least one has to be measured");
        self.scenes.iter().try_for_each(Scene::check)
    }

    /// Measures until the end, or until it is [stopped](super::stop::stop).
    pub fn measure(&self, gpu: Option<&Gpu>, watcher: &mut dyn Watcher) -> Measured {
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
            .map(|(scene, n)| Cell { scene, n, turns: if scene.moves() { self.steps } else { self.runs } })
            .collect();
        let weight = |cell: &Cell| (1 + u64::from(cell.turns)) * cell.weight() * self.engines.len() as u64;
        watcher.expect(cells.iter().map(weight).sum());
        let mut progress = Progress { watcher, done: 0 };
        let mut measured = Measured { rows: Vec::new(), interrupted: false, failure: None };
        let mut known = Known::default();
        let mut done = 0;
        for cell in cells {
            match self.cell(&cell, gpu, &mut known, &mut progress) {
                Ok(rows) => {
                    measured.rows.extend(rows);
                    progress.watcher.keep(&measured.rows);
                }
                Err(error) => {
                    measured.failure.get_or_insert(error);
                }
            }
            if is_stopped() {
                break;
            }
            done += weight(&cell);
            progress.set(done);
        }
        progress.watcher.finish();
        measured.interrupted = is_stopped();
        measured
    }

    /// Returns the results, with the rows that seem slower or faster than before measured again: two runs of one
    /// program differ by more than calls that follow one another do. Of all times of a row, the one in the middle
    /// counts.
    pub fn confirm(
        &self,
        gpu: Option<&Gpu>,
        old: &Results,
        threshold: f64,
        results: &Results,
        watcher: &mut dyn Watcher,
    ) -> Results {
        let mut confirmed = results.clone();
        let comparison = compare(old, results, threshold);
        let changed: Vec<&Row> = results.rows.iter().filter(|row| comparison.is_changed(row)).collect();
        if changed.is_empty() || results.interrupted {
            return confirmed;
        }
        // All rows are measured once, and then all once more: what disturbs one time is gone by the next.
        let mut again = Vec::new();
        for _ in 0..CONFIRMATIONS {
            for (title, boxes) in unique(changed.iter().map(|row| (&row.scene, row.boxes))) {
                let mut part = self.clone();
                part.scenes.retain(|scene| scene.is(title, boxes, &self.sizes));
                part.sizes.retain(|n| u64::from(*n) == boxes);
                part.engines.retain(|engine| {
                    changed.iter().any(|row| (&row.scene, row.boxes) == (title, boxes) && row.engine == engine.name())
                });
                again.extend(part.measure(gpu, watcher).rows);
            }
        }
        for row in confirmed.rows.iter_mut().filter(|row| comparison.is_changed(row)) {
            let same = again.iter().filter(|other| other.is_same(row)).cloned();
            let mut all: Vec<Row> = same.chain([row.clone()]).collect();
            let ms = |row: &Row| row.median_ms().or(row.first_ms).unwrap_or(f64::INFINITY);
            all.sort_by(|a, b| ms(a).total_cmp(&ms(b)));
            *row = all.swap_remove(all.len() / 2);
        }
        confirmed
    }

    /// Measures one scene of one size.
    fn cell(&self, cell: &Cell, gpu: Option<&Gpu>, known: &mut Known, progress: &mut Progress) -> Result<Vec<Row>> {
        let Cell { scene, n, turns } = *cell;
        progress.watcher.begin(&format!("{}: making the boxes", scene.name()));
        let mut boxes = scene.boxes(n, self.seed, 0)?;
        let mut lanes = Vec::new();
        for &engine in &self.engines {
            if is_stopped() {
                break;
            }
            progress.watcher.begin(&format!("{}: {} gets ready", scene.name(), engine.name()));
            lanes.push(self.lane(cell, &boxes, engine, gpu, known));
        }
        // The first turn is for caches, buffers and branch predictors, and does not count.
        let mut expected = None;
        for turn in 0..=turns.max(MOST_CALLS) {
            if is_stopped() || lanes.iter().all(|lane| !lane.goes_on()) {
                break;
            }
            if turn > 0 && scene.moves() {
                boxes = scene.boxes(n, self.seed, step_of(turn, turns))?;
                expected = None;
            }
            take_turn(cell, turn, &boxes, &mut lanes, &mut expected, progress)?;
        }
        let known_gpu = gpu.and_then(|gpu| model::gpu::Gpu::of_adapter(&gpu.adapter_info().name));
        for lane in &mut lanes {
            if !is_stopped() {
                progress.watcher.begin(&format!("{}: stages on the GPU", scene.title()));
                lane.time_stages(&boxes, known_gpu);
            }
        }
        let rows: Vec<Row> = lanes.into_iter().filter_map(Lane::finish).collect();
        rows.iter().for_each(|row| known.add(row));
        Ok(rows)
    }

    /// Creates the lane of an engine, which does not take part where the engine is seen to take too long.
    fn lane(&self, cell: &Cell, boxes: &[Aabb], engine: Engine, gpu: Option<&Gpu>, known: &Known) -> Lane {
        let enough = Enough { calls: cell.turns, limit_ms: self.limit * 1e3 };
        let mut lane = Lane::new(cell.scene, boxes.len(), engine, enough);
        // A scene that the engine refuses is not predicted: the call returns the refusal and its reason at once.
        let is_refused = engine.most_boxes().is_some_and(|most| boxes.len() > most);
        let mut predicted = known.predict(&lane.row, engine).filter(|_| !is_refused);
        if predicted.is_none_or(|seconds| seconds <= SLACK * self.limit) {
            match Contestant::new(engine, gpu, Options::default()) {
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

/// Returns the step of the animation that a turn shows: forward to the last, back to the first and so on, so that no
/// motion is larger than that of one step, and more calls do not see other steps.
fn step_of(turn: u32, last: u32) -> u32 {
    let (round, at) = (turn / last, turn % last);
    if round.is_multiple_of(2) { at } else { last - at }
}

/// Creates one call of each engine that goes on, and compares their pairs; `expected` is an earlier answer for these
/// boxes, if there is one.
fn take_turn(
    cell: &Cell,
    turn: u32,
    boxes: &[Aabb],
    lanes: &mut [Lane],
    expected: &mut Option<Expected>,
    progress: &mut Progress,
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
    let are_long = lanes.iter().any(|lane| lane.row.pairs > Some(CACHED_PAIRS as u64));
    let first = reference.unwrap_or(0) + if are_long { 0 } else { turn as usize };
    let count = lanes.len();
    for i in (0..count).map(|i| (first + i) % count) {
        if is_stopped() {
            break;
        }
        if !lanes[i].goes_on() {
            continue;
        }
        let (title, count) = (cell.scene.title(), text::boxes(boxes.len() as u64));
        progress.watcher.begin(&format!("{title} with {count}: {}", lanes[i].engine.name()));
        if turn <= cell.turns {
            progress.set(progress.done + cell.weight());
        }
        lanes[i].call(turn, boxes);
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

/// The outcome of a measurement.
pub struct Measured {
    /// The rows, in the order of scenes, sizes and engines.
    pub rows: Vec<Row>,
    /// True if Ctrl-C stopped the measurement.
    pub interrupted: bool,
    /// The error of the first scene that could not be measured.
    pub failure: Option<Error>,
}

/// One scene of one size.
struct Cell<'a> {
    scene: &'a Scene,
    n: u32,
    /// Calls that count.
    turns: u32,
}

impl Cell<'_> {
    /// Returns the weight of a call in the estimate of the time left.
    fn weight(&self) -> u64 {
        u64::from(self.n.max(1))
    }
}

/// A watcher, and the work that it was told to be done.
struct Progress<'a> {
    watcher: &'a mut dyn Watcher,
    done: u64,
}

impl Progress<'_> {
    fn set(&mut self, done: u64) {
        self.done = done;
        self.watcher.reach(done);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_go_forward_and_back() {
        assert_eq!((0..10).map(|turn| step_of(turn, 3)).collect::<Vec<_>>(), [0, 1, 2, 3, 2, 1, 0, 1, 2, 3]);
        assert_eq!((0..4).map(|turn| step_of(turn, 1)).collect::<Vec<_>>(), [0, 1, 0, 1]);
    }
}
