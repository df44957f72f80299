//! The charts of a benchmark.

use anyhow::Result;

use super::plot::{Axis, Bars, Chart, Series};
use super::results::{Results, Row};
use crate::text;

/// The engines against which all others are measured.
const OURS: [&str; 2] = ["gpu", "cpu"];

/// A chart and its place.
pub struct Figure {
    /// The name of the files, without their extensions.
    pub name: String,
    /// The scene; `None` for all scenes together.
    pub scene: Option<String>,
    drawing: Drawing,
}

enum Drawing {
    Chart(Chart),
    Bars(Bars),
}

impl Figure {
    /// Creates a figure of one chart, apart from any scene.
    pub fn of_chart(name: &str, chart: Chart) -> Self {
        Self { name: name.to_owned(), scene: None, drawing: Drawing::Chart(chart) }
    }

    /// Gives the text of an SVG file.
    ///
    /// # Errors
    /// If the chart cannot be drawn.
    pub fn svg(&self) -> Result<String> {
        match &self.drawing {
            Drawing::Chart(chart) => chart.svg(),
            Drawing::Bars(bars) => bars.svg(),
        }
    }

    /// Gives the bytes of a PNG file.
    ///
    /// # Errors
    /// If the chart cannot be drawn.
    pub fn png(&self) -> Result<Vec<u8>> {
        match &self.drawing {
            Drawing::Chart(chart) => chart.png(),
            Drawing::Bars(bars) => bars.png(),
        }
    }
}

/// Creates the charts that have something to show.
pub fn figures(results: &Results) -> Vec<Figure> {
    let mut figures = Vec::new();
    let mut names: Vec<String> = Vec::new();
    for scene in results.scenes() {
        let mut name = file_name(scene);
        // As of files of one name in two directories.
        while names.contains(&name) {
            name += "-";
        }
        names.push(name.clone());
        let mut add = |what: &str, title: &str, label: &str, value: &dyn Fn(&Row) -> Option<f64>| {
            let series = lines(results, scene, value);
            if series.iter().all(|line| line.points.is_empty()) {
                return;
            }
            let axis = |label: &str| Axis { label: label.to_owned(), log: true };
            let chart = Chart { title: format!("{scene}: {title}"), x: axis("boxes"), y: axis(label), series };
            figures.push(Figure {
                name: format!("{what}-{name}"),
                scene: Some(scene.to_owned()),
                drawing: Drawing::Chart(chart),
            });
        };
        add("time", "time of a call", "milliseconds", &Row::median_ms);
        for ours in OURS {
            let title = format!("{ours} and how many times as long the others take");
            add(&format!("speed-up-{ours}"), &title, &format!("time / time of {ours}"), &|row| {
                Some(row.median_ms()? / results.row(scene, row.boxes, ours)?.median_ms()?)
            });
        }
        add("candidates", "tests made for each pair", "tests / pair", &|row| {
            Some(row.candidates? as f64 / row.pairs.filter(|pairs| *pairs > 0)? as f64)
        });
        add("memory", "memory, without boxes and pairs", "MiB", &|row| Some(row.bytes? as f64 / f64::from(1 << 20)));
    }
    figures.extend(stages(results));
    figures
}

/// Creates a line for each engine, in the order of the results, so that each engine has its colour in every chart.
fn lines(results: &Results, scene: &str, value: &dyn Fn(&Row) -> Option<f64>) -> Vec<Series> {
    let line = |engine: &str| {
        let points = results.sizes(scene).into_iter().filter_map(|boxes| {
            let row = results.row(scene, boxes, engine)?;
            Some((boxes as f64, value(row).filter(|y| *y > 0.0)?))
        });
        Series { name: engine.to_owned(), points: points.filter(|(boxes, _)| *boxes > 0.0).collect() }
    };
    results.engines().into_iter().map(line).collect()
}

fn stages(results: &Results) -> Option<Figure> {
    // The largest of each scene: beside it the bars of all others vanish.
    let rows: Vec<&Row> =
        results.scenes().into_iter().filter_map(|scene| largest_with_stages(results, scene)).collect();
    // In the order of the flow: a row that lacks a stage must not move it behind others.
    let mut names: Vec<&str> = Vec::new();
    for row in &rows {
        let mut at = 0;
        for (name, _) in &row.stages_ms {
            match names.iter().position(|other| other == name) {
                Some(found) => at = found + 1,
                None => {
                    names.insert(at, name);
                    at += 1;
                }
            }
        }
    }
    let time =
        |row: &Row, stage: &str| row.stages_ms.iter().find(|(name, _)| name == stage).map_or(0.0, |found| found.1);
    let bars = Bars {
        title: "Stages on the GPU, in runs apart from the calls (largest sizes)".to_owned(),
        label: "milliseconds, by timestamps of the GPU".to_owned(),
        groups: rows.iter().map(|row| format!("{} {}", row.scene, text::count(row.boxes))).collect(),
        series: names
            .into_iter()
            .map(|name| (name.to_owned(), rows.iter().map(|row| time(row, name)).collect()))
            .collect(),
    };
    (!rows.is_empty()).then(|| Figure { name: "stages".to_owned(), scene: None, drawing: Drawing::Bars(bars) })
}

fn largest_with_stages<'a>(results: &'a Results, scene: &str) -> Option<&'a Row> {
    let rows = results.rows.iter().filter(|row| row.scene == scene && !row.stages_ms.is_empty());
    rows.max_by_key(|row| row.boxes)
}

/// Returns the title of a scene without the characters that only a path has.
fn file_name(scene: &str) -> String {
    let name = scene.rsplit(['/', '\\']).next().unwrap_or(scene).trim_end_matches(".npy");
    name.chars().map(|c| if c.is_alphanumeric() || "-_".contains(c) { c } else { '-' }).collect()
}
