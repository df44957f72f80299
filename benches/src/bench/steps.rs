//! `broadsweep bench frames`: boxes in motion, shown step by step to engines that reuse the last step and to engines
//! that do not.

use std::mem::take;

use anyhow::{Result, bail, ensure};
use broadsweep::{Aabb, BroadPhase, Events, Gpu, Options, Pair, PairOrder, Step, cpu};
use rayon::ThreadPool;

use super::charts::Figure;
use super::plot::{Axis, Chart, Series};
use super::recorded::Recorded;
use super::results::{Machine, unique};
use super::stop::is_stopped;
use crate::engine::{Engine, timed};
use crate::measure::contestant::{Contestant, Refusal};
use crate::measure::csv::{self, or_empty};
use crate::measure::time::Time;
use crate::scenes::Motion;

/// The first line of `frames.csv`. A row is an engine that gets the steps of a motion in order. `mean_ms` averages all
/// steps except the first two. Pairs, created and lost are those of the last step, by the first engine. `wrong` counts
/// the pairs of all steps that only one of this engine and the first engine has, and the same for events if the engine
/// reports them.
pub const COLUMNS: &str =
    "motion,boxes,engine,device,steps,median_ms,q1_ms,q3_ms,max_ms,mean_ms,pairs,created,lost,wrong";

/// Steps that do not count: in the first all is new, and in the second an engine may begin to keep something.
const FIRST_STEPS: u32 = 2;

/// Who takes part.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Stepper {
    /// The events of our engine on the CPU.
    CpuEvents,
    /// The events of our engine on the GPU.
    GpuEvents,
    /// Its events, recorded: they stay on the GPU.
    RecordedEvents,
    /// Its pairs, recorded.
    Recorded,
    /// An engine that finds the pairs of each step. Ours list them in canonical order, as events are.
    Pairs(Engine),
}

impl Stepper {
    /// Lists all, our events first.
    pub fn all() -> Vec<Self> {
        let mut all = vec![Self::CpuEvents, Self::GpuEvents, Self::RecordedEvents, Self::Recorded];
        all.extend(Engine::all().into_iter().map(Self::Pairs));
        all
    }

    /// Lists the steppers that are measured by default: our CPU engine, and all that reuse the last step.
    pub fn usual() -> Vec<Self> {
        let names = ["cpu", "aabb_tree", "i_collide", "parry", "parry_refit", "rapier"];
        let is_usual = |stepper: &Self| *stepper == Self::CpuEvents || names.contains(&stepper.name());
        Self::all().into_iter().filter(is_usual).collect()
    }

    /// Returns the name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::CpuEvents => "cpu_events",
            Self::GpuEvents => "gpu_events",
            Self::RecordedEvents => "recorded_events",
            Self::Recorded => "recorded",
            Self::Pairs(engine) => engine.name(),
        }
    }

    /// Describes it, in a line.
    pub fn description(self) -> &'static str {
        match self {
            Self::CpuEvents => "our engine on the CPU: what began, what ended and what persists",
            Self::GpuEvents => "the same of our engine on the GPU",
            Self::RecordedEvents => "the same, recorded: boxes are there, and events stay there",
            Self::Recorded => "our engine on the GPU, recorded: boxes are there, and pairs stay there",
            Self::Pairs(engine) => engine.description(),
        }
    }

    /// Returns whether it takes a GPU.
    pub fn is_on_gpu(self) -> bool {
        !matches!(self, Self::CpuEvents | Self::Pairs(_)) || self == Self::Pairs(Engine::Gpu)
    }
}

/// An engine that is shown steps.
enum Lane {
    CpuEvents(Box<cpu::BroadPhase>),
    GpuEvents(Box<BroadPhase>),
    Recorded(Box<Recorded>),
    Pairs(Box<Contestant>),
}

impl Lane {
    fn new(stepper: Stepper, gpu: Option<&Gpu>, margin: Option<f32>) -> Result<Self> {
        let options = Options::default().with_order(PairOrder::Canonical).with_step_margin(margin);
        Ok(match (stepper, gpu) {
            (Stepper::CpuEvents, _) => Self::CpuEvents(Box::new(cpu::BroadPhase::new(options).map_err(Refusal)?)),
            (Stepper::GpuEvents, Some(gpu)) => {
                Self::GpuEvents(Box::new(BroadPhase::new(gpu, options).map_err(Refusal)?))
            }
            (Stepper::RecordedEvents | Stepper::Recorded, Some(gpu)) => {
                Self::Recorded(Box::new(Recorded::new(gpu, options, stepper == Stepper::RecordedEvents)?))
            }
            (Stepper::GpuEvents | Stepper::RecordedEvents | Stepper::Recorded, None) => bail!("there is no GPU"),
            (Stepper::Pairs(engine), gpu) => Self::Pairs(Box::new(Contestant::new(engine, gpu, options)?)),
        })
    }

    /// Shows the next step, and returns the milliseconds that it took. `found` becomes what was found.
    fn show(&mut self, boxes: &[Aabb], found: &mut StepLists) -> Result<f64> {
        let list = |(events, seconds): (Result<&Events, broadsweep::Error>, f64), found: &mut StepLists| {
            let Events { pairs, created, lost, .. } = events.map_err(Refusal)?;
            found.pairs.clone_from(pairs);
            found.add_events(created, lost);
            Ok(1e3 * seconds)
        };
        found.has_events = false;
        match self {
            Self::CpuEvents(engine) => list(timed(|| engine.find_events(Step::new(boxes))), found),
            Self::GpuEvents(engine) => list(timed(|| engine.find_events(Step::new(boxes))), found),
            Self::Recorded(recorded) => recorded.show(boxes, &mut found.pairs),
            Self::Pairs(contestant) => {
                let call = contestant.find_pairs(boxes, &mut found.pairs)?;
                found.pairs.sort_unstable();
                if let Some(changes) = contestant.events() {
                    found.add_events(changes.created, changes.lost);
                }
                Ok(call.ms)
            }
        }
    }
}

/// The result of an engine in a step. All lists are ascending.
#[derive(Default)]
struct StepLists {
    pairs: Vec<Pair>,
    created: Vec<Pair>,
    lost: Vec<Pair>,
    /// True if the engine told of events.
    has_events: bool,
}

impl StepLists {
    fn add_events(&mut self, created: &[Pair], lost: &[Pair]) {
        for (own, told) in [(&mut self.created, created), (&mut self.lost, lost)] {
            own.clear();
            own.extend_from_slice(told);
            own.sort_unstable();
        }
        self.has_events = true;
    }

    /// Replaces the events by the difference to the last step. Returns the count of reported events that are wrong or
    /// missing.
    fn compare_with(&mut self, last: &[Pair]) -> usize {
        let told = self.has_events.then(|| [take(&mut self.created), take(&mut self.lost)]);
        self.created = difference(&self.pairs, last);
        self.lost = difference(last, &self.pairs);
        told.map_or(0, |[created, lost]| differing(&created, &self.created) + differing(&lost, &self.lost))
    }

    /// Counts what is not the same.
    fn differs_from(&self, other: &Self) -> usize {
        let events = if self.has_events {
            differing(&self.created, &other.created) + differing(&self.lost, &other.lost)
        } else {
            0
        };
        differing(&self.pairs, &other.pairs) + events
    }
}

/// The time of an engine for the steps of a motion.
pub struct Row {
    /// The motion.
    pub motion: Motion,
    /// The boxes.
    pub boxes: usize,
    /// The engine.
    pub stepper: Stepper,
    /// The times of the steps that count.
    pub time: Time,
    /// Their mean, in milliseconds.
    pub mean_ms: f64,
    /// Pairs, created and lost ones, of the last step.
    pub counts: [usize; 3],
    /// Pairs of all steps that are not those of the first engine; none of that engine itself.
    pub wrong: Option<usize>,
}

/// The measurements to make.
pub struct Plan<'a> {
    /// The engines, each once. What the others find is compared with what the first one finds.
    pub steppers: Vec<Stepper>,
    /// The device, where an engine takes one.
    pub gpu: Option<&'a Gpu>,
    /// The threads of our engine on the CPU.
    pub pool: ThreadPool,
    /// How far our engines grow boxes whose pairs they keep; `None` as they choose.
    pub margin: Option<f32>,
    /// Boxes to a cube of the largest diameter.
    pub density: f64,
    /// Steps that count.
    pub steps: u32,
    /// The milliseconds that an engine may take for all steps of a motion. A slower engine gets no further step.
    pub limit_ms: f64,
    /// The seed of the scenes.
    pub seed: u64,
}

/// An engine that takes part, and what it took.
struct Racer {
    stepper: Stepper,
    lane: Lane,
    times: Vec<f64>,
    /// Milliseconds of all steps, those that do not count among them.
    spent: f64,
    wrong: usize,
    is_out: bool,
}

impl Plan<'_> {
    /// Shows the steps of a motion to all engines, until it is [stopped](super::stop::stop). `left_out` receives an
    /// engine that refuses a step.
    ///
    /// # Errors
    /// If an engine cannot be made.
    pub fn measure(&self, motion: Motion, n: usize, left_out: impl Fn(&str) + Sync) -> Result<Vec<Row>> {
        self.pool.install(|| self.run(motion, n, &left_out))
    }

    fn run(&self, motion: Motion, n: usize, left_out: &impl Fn(&str)) -> Result<Vec<Row>> {
        let racer = |&stepper: &Stepper| -> Result<Racer> {
            let lane = Lane::new(stepper, self.gpu, self.margin)?;
            Ok(Racer { stepper, lane, times: Vec::new(), spent: 0.0, wrong: 0, is_out: false })
        };
        let mut racers = self.steppers.iter().map(racer).collect::<Result<Vec<_>>>()?;
        let (mut last, mut first, mut own) = (Vec::new(), StepLists::default(), StepLists::default());
        let mut counts = [0; 3];
        for step in 0..self.steps + FIRST_STEPS {
            if is_stopped() {
                break;
            }
            let boxes = motion.boxes(n, self.density, self.seed, step);
            for (at, racer) in racers.iter_mut().enumerate().filter(|(_, racer)| !racer.is_out) {
                let found = if at == 0 { &mut first } else { &mut own };
                match racer.lane.show(&boxes, found) {
                    Ok(ms) => {
                        racer.spent += ms;
                        racer.times.extend((step >= FIRST_STEPS).then_some(ms));
                    }
                    Err(error) => {
                        left_out(&format!("{}: {motion}: {error:#}", racer.stepper.name()));
                        racer.is_out = true;
                        continue;
                    }
                }
                racer.is_out = racer.spent > self.limit_ms;
                if racer.is_out && racer.times.is_empty() {
                    left_out(&format!("{}: {motion}: it takes too long", racer.stepper.name()));
                }
                if at == 0 {
                    // The events of the first engine are checked too, since all others are compared with them.
                    ensure!(first.compare_with(&last) == 0, "{}: {motion}: wrong events", racer.stepper.name());
                    counts = [&first.pairs, &first.created, &first.lost].map(Vec::len);
                    last.clone_from(&first.pairs);
                } else {
                    racer.wrong += own.differs_from(&first);
                }
            }
            // Without the first there is nothing to compare with.
            if racers[0].is_out {
                break;
            }
        }
        let row = |(at, racer): (usize, Racer)| {
            let mean_ms = racer.times.iter().sum::<f64>() / racer.times.len().max(1) as f64;
            let time = Time::of(racer.times)?;
            let wrong = (at > 0).then_some(racer.wrong);
            Some(Row { motion, boxes: n, stepper: racer.stepper, time, mean_ms, counts, wrong })
        };
        Ok(racers.into_iter().enumerate().filter_map(row).collect())
    }

    /// Says what an engine runs on. All but ours have one thread.
    pub fn device(&self, stepper: Stepper, machine: &Machine) -> String {
        match (stepper, &machine.adapter) {
            (_, Some(adapter)) if stepper.is_on_gpu() => adapter.clone(),
            (Stepper::CpuEvents | Stepper::Pairs(Engine::Cpu), _) if self.pool.current_num_threads() > 1 => {
                format!("{}, {} threads", machine.cpu, self.pool.current_num_threads())
            }
            _ => format!("{}, 1 thread", machine.cpu),
        }
    }
}

/// Lists the pairs of one ascending list that another does not have.
fn difference(some: &[Pair], others: &[Pair]) -> Vec<Pair> {
    let mut others = others.iter().peekable();
    let is_new = |pair: &Pair| {
        while others.next_if(|other| *other < pair).is_some() {}
        others.peek() != Some(&pair)
    };
    some.iter().copied().filter(is_new).collect()
}

/// Counts the pairs that one of two ascending lists has more often than the other.
fn differing(some: &[Pair], others: &[Pair]) -> usize {
    if some == others {
        return 0;
    }
    // One that is there twice differs too.
    let apart = difference(some, others).len() + difference(others, some).len();
    apart.max(some.len().abs_diff(others.len()))
}

impl Row {
    /// Writes a line of `frames.csv`.
    pub fn line(&self, device: String) -> String {
        let Self { time, counts, .. } = self;
        csv::line([
            self.motion.name().to_owned(),
            self.boxes.to_string(),
            self.stepper.name().to_owned(),
            device,
            time.calls.to_string(),
            format!("{:.4}", time.median_ms),
            format!("{:.4}", time.q1_ms),
            format!("{:.4}", time.q3_ms),
            format!("{:.4}", time.max_ms),
            format!("{:.4}", self.mean_ms),
            counts[0].to_string(),
            counts[1].to_string(),
            counts[2].to_string(),
            or_empty(self.wrong.map(|wrong| wrong as u64)),
        ])
    }
}

/// Draws the mean time of a step over the number of boxes, a figure for each motion.
pub fn figures(rows: &[Row]) -> Vec<Figure> {
    let steppers = unique(rows.iter().map(|row| row.stepper.name()));
    let figure = |motion: Motion| {
        let series = steppers.iter().map(|&name| {
            let own = rows.iter().filter(|row| row.motion == motion && row.stepper.name() == name);
            Series { name: name.to_owned(), points: own.map(|row| (row.boxes as f64, row.mean_ms)).collect() }
        });
        let chart = Chart {
            title: format!("{motion}: {}", motion.description()),
            x: Axis { label: "boxes".to_owned(), log: true },
            y: Axis { label: "milliseconds of a step".to_owned(), log: true },
            series: series.collect(),
        };
        Figure::of_chart(motion.name(), chart)
    };
    unique(rows.iter().map(|row| row.motion)).into_iter().map(figure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(pairs: &[u32]) -> Vec<Pair> {
        pairs.iter().map(|&b| Pair { a: 0, b }).collect()
    }

    #[test]
    fn pairs_that_another_list_does_not_have_are_listed() {
        let (some, others) = (list(&[1, 3, 5, 9]), list(&[2, 3, 4, 9, 10]));
        assert_eq!((difference(&some, &others), difference(&others, &some)), (list(&[1, 5]), list(&[2, 4, 10])));
        assert_eq!((differing(&some, &others), differing(&some, &some), differing(&some, &[])), (5, 0, 4));
        assert_eq!(differing(&list(&[1, 1, 2]), &list(&[1, 2])), 1);
    }

    #[test]
    fn events_that_are_not_those_of_the_lists_are_counted() {
        let last = list(&[1, 2, 3]);
        let mut found = StepLists { pairs: list(&[2, 3, 4, 5]), ..StepLists::default() };
        found.add_events(&list(&[5, 4]), &list(&[1]));
        assert_eq!(found.compare_with(&last), 0);
        let mut other = StepLists { pairs: found.pairs.clone(), ..StepLists::default() };
        assert_eq!(other.differs_from(&found), 0, "it tells of none");
        other.add_events(&list(&[4]), &list(&[1, 2]));
        assert_eq!((other.differs_from(&found), other.compare_with(&last)), (2, 2));
        assert_eq!((other.created, other.lost), (found.created, found.lost));
    }

    #[test]
    fn all_engines_find_the_pairs_of_our_events() {
        let names = ["cpu_events", "cpu", "brute", "aabb_tree", "i_collide", "rapier"];
        let has_peers = Stepper::all().iter().any(|stepper| stepper.name() == "rapier");
        let plan = Plan {
            steppers: names
                .iter()
                .filter_map(|name| Stepper::all().into_iter().find(|stepper| stepper.name() == *name))
                .collect(),
            gpu: None,
            pool: super::super::queries::pool(1).unwrap(),
            margin: None,
            density: Motion::DENSITY,
            steps: 4,
            limit_ms: 1e6,
            seed: 1,
        };
        for motion in Motion::ALL {
            let rows = plan.measure(motion, 1200, |message| panic!("{message}")).unwrap();
            assert_eq!(rows.len(), 5 + usize::from(has_peers));
            assert!(rows.iter().all(|row| row.wrong.unwrap_or(0) == 0 && row.time.calls == 4), "{motion}");
            let [pairs, created, lost] = rows[0].counts;
            assert!(
                pairs > 500 && (created > 0) == (motion != Motion::Still) || motion == Motion::Few,
                "{created} {lost}"
            );
        }
    }
}
