//! `broadsweep bench worlds`: the cost of thousands of worlds in one place, against one world of as many boxes.

use anyhow::{Result, ensure};
use broadsweep::{Aabb, Error, Filters, Gpu, Options, Pair, Report};

use super::charts::Figure;
use super::plot::{Axis, Chart, Series};
use super::results::Machine;
use super::stop::is_stopped;
use crate::engine::Engine;
use crate::measure::contestant::{Contestant, Refusal};
use crate::measure::csv;
use crate::measure::time::Time;
use crate::{scenes, text};

/// The first line of `worlds.csv`. A row is an engine with a scene; `ratio` is its median to that of the one world
/// without filters that was measured in turn with it, `per_box_and_pair` its candidates to boxes and pairs together.
pub const COLUMNS: &str = "scene,worlds,boxes,engine,device,calls,median_ms,q1_ms,q3_ms,ratio,pairs,candidates,\
                       per_box_and_pair,giants,entries";

/// The most candidates of a scene. A scene with more is left out, with a message: its calls would take longer than all
/// others together.
const MOST_CANDIDATES: u64 = 1 << 28;

/// The scenes that are compared.
#[derive(Clone, Copy, PartialEq)]
pub enum Variant {
    /// One world, without filters.
    One,
    /// Thousands of worlds.
    Worlds,
    /// Thousands of worlds with a floor for each, unbounded except for its top.
    Planes,
    /// Thousands of worlds with one such floor for all.
    GlobalPlane,
}

impl Variant {
    const ALL: [Self; 4] = [Self::One, Self::Worlds, Self::Planes, Self::GlobalPlane];

    /// Names the scene in a table.
    pub fn name(self) -> &'static str {
        match self {
            Self::One => "one world",
            Self::Worlds => "worlds",
            Self::Planes => "plane per world",
            Self::GlobalPlane => "global plane",
        }
    }

    /// Creates boxes and filters. The side of a world's region shrinks with the cube root of its boxes.
    fn scene(self, boxes: u32, worlds: u32, seed: u64) -> (Vec<Aabb>, Filters) {
        let worlds = if self == Self::One { 1 } else { worlds };
        let side = (1.0 / f64::from(worlds)).cbrt() as f32;
        let (mut all, mut world) = (Vec::new(), Vec::new());
        for id in 0..worlds {
            // As evenly as it goes.
            let first = u64::from(boxes) * u64::from(id) / u64::from(worlds);
            let end = u64::from(boxes) * u64::from(id + 1) / u64::from(worlds);
            let own = scenes::uniform((end - first) as usize, seed.wrapping_add(u64::from(id)), None);
            all.extend(own.iter().map(|aabb| Aabb::new(aabb.min.map(|x| x * side), aabb.max.map(|x| x * side))));
            if self == Self::Planes {
                all.push(floor(boxes));
            }
            world.resize(all.len(), id);
        }
        if self == Self::GlobalPlane {
            all.push(floor(boxes));
            world.push(Filters::GLOBAL);
        }
        let filters = if self == Self::One { Filters::default() } else { Filters::default().with_world(world) };
        (all, filters)
    }
}

/// Creates a floor up to a quarter of the spacing of boxes, so that some boxes of each world touch it.
fn floor(boxes: u32) -> Aabb {
    let inf = f32::INFINITY;
    Aabb::new([-inf; 3], [inf, inf, 0.25 * (1.0 / f64::from(boxes)).cbrt() as f32])
}

/// An engine with a scene of its own.
struct Lane {
    engine: Engine,
    contestant: Contestant,
    times: Vec<f64>,
    report: Option<Report>,
}

/// A scene, and the engines that find its pairs.
struct Field {
    variant: Variant,
    boxes: Vec<Aabb>,
    lanes: Vec<Lane>,
}

/// The times of an engine for a scene.
pub struct Row {
    /// The scene.
    pub variant: Variant,
    /// The worlds of the scene, or those of the scenes that one world is compared with.
    pub worlds: u32,
    /// The name of the engine.
    pub engine: &'static str,
    /// The time of the calls that count.
    pub time: Time,
    /// The ratio of the median to that of one world without filters.
    pub ratio: f64,
    /// The report of the first call.
    pub report: Report,
}

/// The plan: what is measured for each number of worlds.
pub struct Plan<'a> {
    /// Boxes of all worlds together.
    pub boxes: u32,
    /// Calls that count.
    pub runs: u32,
    /// The seed of the scenes.
    pub seed: u64,
    /// The CPU engine, and the GPU where there is one.
    pub engines: &'a [Engine],
    /// The device, where the GPU is among them.
    pub gpu: Option<&'a Gpu>,
}

impl Plan<'_> {
    /// Measures every scene by every engine, in turn, after a call of each that does not count, until it is
    /// [stopped](super::stop::stop). `left_out` is told of a scene that has too many candidates.
    ///
    /// # Errors
    /// If an engine refuses a scene, or two engines differ.
    pub fn measure(&self, worlds: u32, left_out: impl Fn(&str)) -> Result<Vec<Row>> {
        let mut fields =
            Variant::ALL.into_iter().map(|variant| self.field(variant, worlds)).collect::<Result<Vec<_>>>()?;
        let mut pairs = Vec::new();
        'runs: for run in 0..=self.runs {
            for field in &mut fields {
                let mut first: Option<Vec<Pair>> = None;
                for lane in &mut field.lanes {
                    if is_stopped() {
                        break 'runs;
                    }
                    let call = match lane.contestant.find_pairs(&field.boxes, &mut pairs) {
                        Ok(call) => call,
                        Err(error) => match error.downcast_ref() {
                            Some(Refusal(Error::TooManyCandidates { candidate_count, .. })) if run == 0 => {
                                let (scene, count) = (field.variant.name(), text::count(*candidate_count));
                                left_out(&format!("left out: {worlds} worlds, {scene}: {count} candidates"));
                                field.lanes.clear();
                                break;
                            }
                            _ => return Err(error),
                        },
                    };
                    if run > 0 {
                        lane.times.push(call.ms);
                        continue;
                    }
                    lane.report = call.report;
                    pairs.sort_unstable();
                    let is_same = first.as_ref().is_none_or(|first| *first == pairs);
                    ensure!(is_same, "the engines differ: {worlds} worlds, {}", field.variant.name());
                    first = Some(pairs.clone());
                }
            }
        }
        Ok(rows(fields, worlds))
    }

    fn field(&self, variant: Variant, worlds: u32) -> Result<Field> {
        let (boxes, filters) = variant.scene(self.boxes, worlds, self.seed);
        let options = Options::default().with_candidate_limit(MOST_CANDIDATES);
        let mut lanes = Vec::new();
        for &engine in self.engines {
            let mut contestant = Contestant::new(engine, self.gpu, options)?;
            contestant.set_filters(filters.clone())?;
            lanes.push(Lane { engine, contestant, times: Vec::new(), report: None });
        }
        Ok(Field { variant, boxes, lanes })
    }
}

/// Creates the rows, with each median beside that of one world.
fn rows(fields: Vec<Field>, worlds: u32) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for Field { variant, lanes, .. } in fields {
        for Lane { engine, times, report, .. } in lanes {
            let (Some(time), Some(report)) = (Time::of(times), report) else {
                continue;
            };
            let one = rows.iter().find(|row| row.variant == Variant::One && row.engine == engine.name());
            let ratio = one.map_or(1.0, |one| time.median_ms / one.time.median_ms);
            rows.push(Row { variant, worlds, engine: engine.name(), time, ratio, report });
        }
    }
    rows
}

impl Row {
    /// Writes a line of `worlds.csv`.
    pub fn line(&self, machine: &Machine) -> String {
        let Self { variant, worlds, engine, time, ratio, report } = self;
        let device = match &machine.adapter {
            Some(adapter) if *engine == Engine::Gpu.name() => adapter.clone(),
            _ => format!("{}, {} threads", machine.cpu, machine.cores),
        };
        csv::line([
            variant.name().to_owned(),
            worlds.to_string(),
            report.box_count.to_string(),
            (*engine).to_owned(),
            device,
            time.calls.to_string(),
            format!("{:.4}", time.median_ms),
            format!("{:.4}", time.q1_ms),
            format!("{:.4}", time.q3_ms),
            format!("{ratio:.4}"),
            report.pair_count.to_string(),
            report.candidate_count.to_string(),
            format!("{:.3}", self.per_box_and_pair()),
            report.giant_count.to_string(),
            report.entry_count.to_string(),
        ])
    }

    fn per_box_and_pair(&self) -> f64 {
        self.report.candidate_count as f64 / (f64::from(self.report.box_count) + self.report.pair_count as f64)
    }
}

/// Draws times of one world without filters, a line for each engine and scene, and candidates.
pub fn figures(rows: &[Row], boxes: u32) -> [Figure; 2] {
    let chart = |name: &str, title: &str, label: &str, value: &dyn Fn(&Row) -> f64| {
        let mut series: Vec<Series> = Vec::new();
        for row in rows.iter().filter(|row| row.variant != Variant::One) {
            let name = format!("{}, {}", row.engine, row.variant.name());
            let point = (f64::from(row.worlds), value(row));
            match series.iter_mut().find(|line| line.name == name) {
                Some(line) => line.points.push(point),
                None => series.push(Series { name, points: vec![point] }),
            }
        }
        let chart = Chart {
            title: format!("{} in all: {title}", text::boxes(boxes.into())),
            x: Axis { label: "worlds in one place".to_owned(), log: true },
            y: Axis { label: label.to_owned(), log: false },
            series,
        };
        Figure::of_chart(name, chart)
    };
    [
        chart("ratio", "time of a call", "time / time of one world without filters", &|row| row.ratio),
        chart("candidates", "tests made", "candidates / (boxes + pairs)", &Row::per_box_and_pair),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_world_has_its_share_of_the_boxes_at_the_same_density() {
        let edge = |boxes: &[Aabb]| f64::from(boxes[0].max[0] - boxes[0].min[0]);
        let (one, none) = Variant::One.scene(1000, 7, 1);
        assert!(one.len() == 1000 && none.is_empty());
        let (boxes, filters) = Variant::Worlds.scene(1000, 7, 1);
        assert_eq!((boxes.len(), filters.world.len()), (1000, 1000));
        assert!((0..7).all(|id| (142..=143).contains(&filters.world.iter().filter(|&&world| world == id).count())));
        assert!((edge(&boxes) / edge(&one) - 1.0).abs() < 0.01, "{} and {}", edge(&boxes), edge(&one));
        assert_eq!(Variant::Planes.scene(1000, 7, 1).0.len(), 1007);
        let (boxes, filters) = Variant::GlobalPlane.scene(1000, 7, 1);
        assert_eq!((boxes.len(), filters.world.last()), (1001, Some(&Filters::GLOBAL)));
    }
}
