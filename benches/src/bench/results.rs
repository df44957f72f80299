//! The results of a benchmark, as they are kept: `results.json`, which can be compared with later results, and
//! `results.csv`.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde::{Deserialize, Serialize};

use super::scene::Scene;
use crate::engine::Engine;
use crate::measure::csv::{self, or_empty};
use crate::measure::time::Time;
use crate::text;

/// The format of the files that are written. It grows by one with each change that older programs would misread; new
/// fields have defaults.
pub const FORMAT: u32 = 1;

/// The results of one benchmark.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Results {
    /// The format of this file; 0 where there was none yet.
    #[serde(default)]
    pub format: u32,
    /// Where it ran.
    pub machine: Machine,
    /// The versions of this program and of the libraries in it, by name.
    pub versions: BTreeMap<String, String>,
    /// The time when the benchmark ended, in seconds since 1970.
    pub unix_time: u64,
    /// The request.
    pub settings: Settings,
    /// True if the benchmark was stopped before the last row.
    pub interrupted: bool,
    /// The rows, in the order of scenes, sizes and engines.
    pub rows: Vec<Row>,
}

/// Where it ran.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor, as the system names it.
    pub cpu: String,
    /// Threads that run at a time.
    pub cores: usize,
    /// The operating system and the architecture.
    pub system: String,
    /// The name of the GPU's adapter, where one took part.
    pub adapter: Option<String>,
    /// The driver of the GPU.
    pub driver: Option<String>,
}

/// The request.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Settings {
    /// The scenes, as they are typed.
    pub scenes: Vec<String>,
    /// Numbers of boxes.
    pub n: Vec<u32>,
    /// The engines; those that were not there have no rows.
    pub engines: Vec<String>,
    /// Calls that count of scenes that move.
    // The name in files of all formats.
    #[serde(rename = "frames")]
    pub steps: u32,
    /// Calls that count of all other scenes.
    pub runs: u32,
    /// The limit of a call in seconds.
    pub limit: f64,
    /// The seed of the scenes.
    pub seed: u64,
}

/// One engine with one scene of one size.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Row {
    /// The scene, without the number of boxes.
    pub scene: String,
    /// The number of boxes.
    pub boxes: u64,
    /// The name of the engine.
    pub engine: String,
    /// True if each time is that of another step of an animation.
    pub moving: bool,
    /// True if the row was measured.
    pub outcome: Outcome,
    /// The reason why the row, or a part of it, is not measured; empty where all is.
    pub note: String,
    /// The first call, which is not among the others.
    pub first_ms: Option<f64>,
    /// The predicted time of a call, where no call was made since it would take too long.
    pub predicted_ms: Option<f64>,
    /// The times of the calls that count.
    pub time: Option<Time>,
    /// The pairs of the first call; the candidates are those of the first call too.
    pub pairs: Option<u64>,
    /// Tests made; `null` where the engine does not tell.
    pub candidates: Option<u64>,
    /// Operations that kept a structure up to date, in the last call; `null` where the engine has none, or does not
    /// tell.
    pub updates: Option<u64>,
    /// Memory held, without boxes and pairs; `null` where the engine does not tell.
    pub bytes: Option<u64>,
    /// The hash of the sets of pairs of the first call and the `runs` or `steps` after it, one after another, whatever
    /// the order in each. Without motion, it is the hash of one set, unless the sets differ.
    pub hash: Option<String>,
    /// Calls whose pairs the hash covers.
    #[serde(default)]
    pub hashed_calls: u32,
    /// Milliseconds of each stage on the GPU, in the order of the flow.
    pub stages_ms: Vec<(String, f64)>,
    /// The kernels on the GPU, in the order of the flow.
    #[serde(default)]
    pub kernels: Vec<KernelRow>,
    /// The GPU that kernels are predicted for, where it is known.
    #[serde(default)]
    pub predicted_for: Option<String>,
    /// The engine with whose pairs these were compared, after every call; `null` for the engine that all others are
    /// compared with.
    pub compared_with: Option<String>,
    /// How the pairs differ from the expected ones, where they do.
    pub difference: Option<Difference>,
}

/// A kernel of one call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct KernelRow {
    /// The name.
    pub kernel: String,
    /// The number of dispatches.
    pub dispatches: u32,
    /// Milliseconds of all of them.
    pub ms: f64,
    /// The least and the most milliseconds that are predicted; `null` for kernels whose costs were not counted.
    pub predicted_ms: Option<[f64; 2]>,
}

/// Returns whether a row was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The row was measured.
    Measured,
    /// A call takes longer than it may.
    OverLimit,
    /// The engine refuses the scene.
    Refused,
}

/// How an answer differs from the expected one, over all calls together.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Difference {
    /// Calls whose pairs differ.
    pub calls: u64,
    /// Pairs that were not found.
    pub missing: u64,
    /// Listed pairs that are no pairs.
    pub extra: u64,
    /// Pairs that were listed again.
    pub repeated: u64,
    /// The common property of the pairs of the first call that differs.
    pub why: String,
}

impl Results {
    /// Reads what [`json`](Self::json) wrote.
    pub fn read(path: &Path) -> Result<Self> {
        let text = std::fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
        let results: Self = serde_json::from_slice(&text).with_context(|| {
            format!("{} is no result of a benchmark; give the results.json of an earlier run", path.display())
        })?;
        let (format, path) = (results.format, path.display());
        ensure!(format <= FORMAT, "{path} has format {format}, and this program knows those up to {FORMAT}");
        Ok(results)
    }

    /// Writes the text of `results.json`.
    pub fn json(&self) -> Result<String> {
        Ok(serde_json::to_string_pretty(self)? + "\n")
    }

    /// Writes the text of `results.csv`: a line for each row.
    pub fn csv(&self) -> String {
        let mut text = String::from(
            "scene,boxes,engine,moving,outcome,calls,median_ms,min_ms,q1_ms,q3_ms,max_ms,first_ms,pairs,candidates,\
             updates,bytes,hash,missing,extra,repeated,note\n",
        );
        for row in &self.rows {
            let time =
                |value: fn(&Time) -> f64| row.time.as_ref().map_or(String::new(), |time| value(time).to_string());
            let differing = |value: fn(&Difference) -> u64| match (&row.difference, row.pairs) {
                (Some(difference), _) => value(difference).to_string(),
                (None, Some(_)) => "0".to_owned(),
                (None, None) => String::new(),
            };
            let fields = [
                row.scene.clone(),
                row.boxes.to_string(),
                row.engine.clone(),
                row.moving.to_string(),
                row.outcome.name().to_owned(),
                row.time.as_ref().map_or(0, |time| time.calls).to_string(),
                time(|time| time.median_ms),
                time(|time| time.min_ms),
                time(|time| time.q1_ms),
                time(|time| time.q3_ms),
                time(|time| time.max_ms),
                or_empty(row.first_ms),
                or_empty(row.pairs),
                or_empty(row.candidates),
                or_empty(row.updates),
                or_empty(row.bytes),
                or_empty(row.hash.as_ref()),
                differing(|difference| difference.missing),
                differing(|difference| difference.extra),
                differing(|difference| difference.repeated),
                row.note.clone(),
            ];
            text += &csv::line(fields);
        }
        text
    }

    /// Fails where an engine of ours, or an algorithm of the literature, found other pairs.
    ///
    /// # Errors
    /// Names the first row. The files tell more than this line can.
    pub fn check_exact(&self) -> Result<()> {
        let exact: Vec<&str> = Engine::all().into_iter().filter(|engine| engine.is_exact()).map(Engine::name).collect();
        if let Some(row) = self.rows.iter().find(|row| row.difference.is_some() && exact.contains(&&*row.engine)) {
            let other = row.compared_with.as_deref().unwrap_or_default();
            let (engine, scene, boxes) = (&row.engine, &row.scene, text::boxes(row.boxes));
            bail!("the pairs of {engine} and {other} differ, first for {scene} with {boxes}");
        }
        Ok(())
    }

    /// Lists the scenes in their order, each once.
    pub fn scenes(&self) -> Vec<&str> {
        unique(self.rows.iter().map(|row| row.scene.as_str()))
    }

    /// Lists the engines in their order, each once.
    pub fn engines(&self) -> Vec<&str> {
        unique(self.rows.iter().map(|row| row.engine.as_str()))
    }

    /// Lists the sizes of a scene, ascending.
    pub fn sizes(&self, scene: &str) -> Vec<u64> {
        let mut sizes = unique(self.rows.iter().filter(|row| row.scene == scene).map(|row| row.boxes));
        sizes.sort_unstable();
        sizes
    }

    /// Returns the number of pairs, from an engine that agrees with the expected answer.
    pub fn pairs(&self, scene: &str, boxes: u64) -> Option<u64> {
        let mut rows = self.rows.iter().filter(|row| row.scene == scene && row.boxes == boxes);
        rows.find_map(|row| row.pairs.filter(|_| row.difference.is_none()))
    }

    /// Finds the row of an engine with a scene of this size.
    pub fn row(&self, scene: &str, boxes: u64, engine: &str) -> Option<&Row> {
        self.rows.iter().find(|row| row.scene == scene && row.boxes == boxes && row.engine == engine)
    }
}

impl Settings {
    /// Returns whether such a row was requested.
    pub fn ask_for(&self, row: &Row) -> bool {
        let mut scenes = self.scenes.iter().flat_map(|name| Scene::parse(name));
        self.engines.contains(&row.engine) && scenes.any(|scene| scene.is(&row.scene, row.boxes, &self.n))
    }
}

impl Row {
    /// Creates the row of an engine that nothing was measured of yet.
    pub fn new(scene: &Scene, boxes: usize, engine: Engine) -> Self {
        Self {
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
            kernels: Vec::new(),
            predicted_for: None,
            compared_with: None,
            difference: None,
        }
    }

    /// Returns whether the other row is of the same engine with the same boxes.
    pub fn is_same(&self, other: &Self) -> bool {
        (&self.scene, self.boxes, &self.engine) == (&other.scene, other.boxes, &other.engine)
    }

    /// Gives the median of the calls that count.
    pub fn median_ms(&self) -> Option<f64> {
        self.time.as_ref().map(|time| time.median_ms)
    }
}

impl Outcome {
    /// Names the outcome in a table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Measured => "measured",
            Self::OverLimit => "over the limit",
            Self::Refused => "refused",
        }
    }
}

/// Returns each value once, in the order of first appearance.
pub fn unique<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for one in all {
        if !seen.contains(&one) {
            seen.push(one);
        }
    }
    seen
}
