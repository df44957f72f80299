//! `broadsweep bench queries`: rays, boxes and points as queries of our trees, algorithms of the literature and other
//! libraries.

use anyhow::Result;
use broadsweep::{Aabb, Gpu};
use rayon::{ThreadPool, ThreadPoolBuilder};

use super::charts::Figure;
use super::plot::{Axis, Chart, Series};
use super::results::Machine;
use super::stop::is_stopped;
use crate::measure::csv::{self, or_empty};
use crate::measure::time::Time;
use crate::queries::race::{Call, Effort, Lane, in_turn, race};
use crate::queries::{GPU, Listing, QueryBatch, QueryKind, RayQueryKind};
use crate::scenes::queries::RayKind;

/// The first line of `queries.csv`. A row is an engine that answers a batch, or that is built: its question is then
/// `build`, without answers. `equal` counts the queries with the answers of the first engine of their batch.
pub const COLUMNS: &str =
    "scene,boxes,question,queries,engine,device,calls,median_ms,q1_ms,q3_ms,ns_each,answers,equal";

/// The question in place of which engines are built.
const BUILD: &str = "build";

/// The questions that have a figure.
const DRAWN: [QueryKind; 5] = [
    QueryKind::Rays(RayKind::Camera, RayQueryKind::Nearest),
    QueryKind::Rays(RayKind::Incoherent, RayQueryKind::Nearest),
    QueryKind::Rays(RayKind::Short, RayQueryKind::Nearest),
    QueryKind::Overlaps(100),
    QueryKind::Nearest(10),
];

/// Creates the threads of a plan.
///
/// # Errors
/// If the system gives none.
pub fn pool(threads: usize) -> Result<ThreadPool> {
    Ok(ThreadPoolBuilder::new().num_threads(threads).build()?)
}

/// The time of an engine for a batch, or to be built.
pub struct Row {
    /// The scene, without the number of its boxes.
    pub scene: String,
    /// The boxes of the scene.
    pub boxes: usize,
    /// The kind of query, or `build`.
    pub question: String,
    /// Queries of the batch; boxes of a build.
    pub queries: usize,
    /// The engine.
    pub engine: &'static str,
    /// The time of the calls that count.
    pub time: Time,
    /// The answers, and the queries with the answers of the first engine; of a build, none.
    pub answers: Option<(u64, u64)>,
}

/// The plan: what is measured of each scene.
pub struct Plan<'a> {
    /// The engines, each once. The first one's answers are what others are compared with.
    pub engines: Vec<&'static Listing>,
    /// The device, where the GPU is among the engines.
    pub gpu: Option<&'a Gpu>,
    /// The threads of our engine on the CPU.
    pub pool: ThreadPool,
    /// Rays of a batch; fewer queries of what has many answers.
    pub rays: usize,
    /// How much is measured.
    pub effort: Effort,
    /// The seed of the queries.
    pub seed: u64,
}

impl Plan<'_> {
    /// Measures everything on these boxes, until it is [stopped](super::stop::stop). `left_out` receives an engine that
    /// refuses the boxes.
    ///
    /// # Errors
    /// If an engine fails, other than by refusing the boxes.
    pub fn measure(&self, scene: &str, boxes: &[Aabb], left_out: impl Fn(&str) + Sync) -> Result<Vec<Row>> {
        self.pool.install(|| {
            let mut lanes = self.lanes(boxes, |message| left_out(&format!("left out of {scene}: {message}")))?;
            let mut rows = self.builds(scene, boxes, &mut lanes)?;
            for question in QueryKind::ALL {
                if is_stopped() {
                    break;
                }
                let batch = question.generate(question.as_many_as(self.rays), self.seed, boxes);
                rows.extend(self.answers(scene, boxes, &question.to_string(), &batch, &mut lanes)?);
            }
            Ok(rows)
        })
    }

    fn lanes(&self, boxes: &[Aabb], left_out: impl Fn(&str)) -> Result<Vec<Lane>> {
        let mut lanes = Vec::new();
        for listing in &self.engines {
            let Some(mut answerer) = listing.make(self.gpu)? else { continue };
            match answerer.build(boxes) {
                Ok(()) => lanes.push(Lane { name: listing.name, answerer }),
                Err(error) => left_out(&format!("{}: {error:#}", listing.name)),
            }
        }
        Ok(lanes)
    }

    fn builds(&self, scene: &str, boxes: &[Aabb], lanes: &mut [Lane]) -> Result<Vec<Row>> {
        let engines: Vec<&'static str> = lanes.iter().map(|lane| lane.name).collect();
        let mut calls: Vec<Call> =
            lanes.iter_mut().map(|lane| Box::new(|| lane.answerer.build(boxes)) as Call).collect();
        let times = in_turn(self.effort, &mut calls)?;
        let row = |(engine, time)| Row {
            scene: scene.to_owned(),
            boxes: boxes.len(),
            question: BUILD.to_owned(),
            queries: boxes.len(),
            engine,
            time,
            answers: None,
        };
        Ok(engines.into_iter().zip(times).map(row).collect())
    }

    fn answers(
        &self,
        scene: &str,
        boxes: &[Aabb],
        question: &str,
        batch: &QueryBatch,
        lanes: &mut [Lane],
    ) -> Result<impl Iterator<Item = Row>> {
        let (scene, boxes, question, queries) = (scene.to_owned(), boxes.len(), question.to_owned(), batch.len());
        let laps = race(self.effort, lanes, batch)?;
        Ok(laps.into_iter().map(move |lap| Row {
            scene: scene.clone(),
            boxes,
            question: question.clone(),
            queries,
            engine: lap.name,
            time: lap.time,
            answers: Some((lap.answer_count, lap.equal_count)),
        }))
    }

    /// Says what an engine runs on. All but ours have one thread.
    pub fn device(&self, engine: &str, machine: &Machine) -> String {
        match (engine, &machine.adapter) {
            (GPU, Some(adapter)) => adapter.clone(),
            ("cpu", _) if self.pool.current_num_threads() > 1 => {
                format!("{}, {} threads", machine.cpu, self.pool.current_num_threads())
            }
            _ => format!("{}, 1 thread", machine.cpu),
        }
    }
}

impl Row {
    /// Returns the nanoseconds of one query, or of a box that is built.
    pub fn ns_each(&self) -> f64 {
        self.time.median_ms * 1e6 / self.queries.max(1) as f64
    }

    /// Writes a line of `queries.csv`.
    pub fn line(&self, device: String) -> String {
        csv::line([
            self.scene.clone(),
            self.boxes.to_string(),
            self.question.clone(),
            self.queries.to_string(),
            self.engine.to_owned(),
            device,
            self.time.calls.to_string(),
            format!("{:.4}", self.time.median_ms),
            format!("{:.4}", self.time.q1_ms),
            format!("{:.4}", self.time.q3_ms),
            format!("{:.1}", self.ns_each()),
            or_empty(self.answers.map(|(count, _)| count)),
            or_empty(self.answers.map(|(_, equal)| equal)),
        ])
    }
}

/// Draws the time of a query over the number of boxes, a figure for each scene and each of the main questions.
pub fn figures(rows: &[Row]) -> Vec<Figure> {
    let scenes = super::results::unique(rows.iter().map(|row| row.scene.as_str()));
    let engines = super::results::unique(rows.iter().map(|row| row.engine));
    let figure = |scene: &str, question: &str| {
        // An engine without points keeps its colour for the other figures.
        let series = engines.iter().map(|&engine| {
            let is_in = |row: &&Row| row.scene == scene && row.question == question && row.engine == engine;
            let points = rows.iter().filter(is_in).map(|row| (row.boxes as f64, row.ns_each()));
            Series { name: engine.to_owned(), points: points.collect() }
        });
        let chart = Chart {
            title: format!("{scene}: {question}"),
            x: Axis { label: "boxes".to_owned(), log: true },
            y: Axis { label: "nanoseconds of a query".to_owned(), log: true },
            series: series.collect(),
        };
        Figure::of_chart(&file_name(&format!("{scene} {question}")), chart)
    };
    let questions = DRAWN.map(|question| question.to_string());
    scenes.iter().flat_map(|scene| questions.iter().map(|question| figure(scene, question))).collect()
}

/// Returns a name without the characters that only a path or a sentence has.
fn file_name(name: &str) -> String {
    name.chars().map(|c| if c.is_alphanumeric() || "-_".contains(c) { c } else { '-' }).collect()
}
