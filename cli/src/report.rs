//! The report on a run, for a person or as JSON.

use std::fmt::Write as _;
use std::path::Path;

use broadsweep::device::DispatchCount;
use broadsweep::{Filters, Report};
use laboratory::baselines::Work;
use serde_json::{Value, json};

use crate::ready::Answer;
use crate::verify::Verified;
use crate::{adapters, filters, text};

/// The facts to report about one run.
pub struct Run<'a> {
    /// The file's name or the kind of scene.
    pub scene: String,
    /// The number of boxes in the scene.
    pub box_count: usize,
    /// The filters of the boxes.
    pub filters: &'a Filters,
    /// The engine, in one line.
    pub engine: String,
    /// The result of the engine.
    pub answer: &'a Answer,
    /// The comparison, if one was made.
    pub verified: Option<&'a Verified>,
    /// The file of the pairs, if they were written.
    pub written: Option<&'a Path>,
    /// The file of the table of worlds, if it was written.
    pub by_world: Option<&'a Path>,
}

impl Run<'_> {
    /// Writes lines for a person.
    pub fn lines(&self) -> String {
        let Self { answer, .. } = self;
        let pair_count = answer.pair_count;
        let per_box = pair_count as f64 / self.box_count.max(1) as f64;
        let mut lines = Lines(String::new());
        lines.add("scene", &format!("{}, {}", text::printable(&self.scene), text::boxes(self.box_count as u64)));
        if let Some(filters) = filters::describe(self.filters) {
            lines.add("filters", &filters);
        }
        lines.add("engine", &self.engine);
        lines.add("pairs", &format!("{} ({per_box:.2} per box)", text::count(pair_count)));
        if let Some(report) = &answer.report {
            lines.add_report(report);
        }
        if let Some(work) = &answer.work {
            lines.add_work(work, pair_count);
        }
        let setup = match answer.setup_seconds {
            0.0 => String::new(),
            time => format!(", and {} to compile the kernels", text::seconds(time)),
        };
        lines.add("time", &format!("{}{setup}", text::seconds(answer.seconds)));
        if let Some(verified) = self.verified {
            lines.add("verified", &verified.describe());
        }
        if let Some(path) = self.written {
            lines.add("written", &text::path(path));
        }
        if let Some(path) = self.by_world {
            lines.add("by world", &text::path(path));
        }
        lines.0
    }

    /// Writes one object. A field that does not apply is `null`: the filters of a scene that has none, the report of
    /// brute force and of baselines, the work of engines that are no baselines, a comparison that was not made, the
    /// cell size where the grid was a single cell, and the axis too where every box was tested against every other or a
    /// tree was queried.
    pub fn json(&self) -> Value {
        let Self { answer, .. } = self;
        json!({
            "scene": self.scene,
            "boxes": self.box_count,
            "filters": filters::json(self.filters),
            "engine": answer.engine.name(),
            "adapter": answer.adapter.as_ref().map(adapters::json),
            "pairs": answer.pair_count,
            "report": answer.report.as_ref().map(|report| report_json(report, answer.dispatches)),
            "work": answer.work.map(|work| json!({
                "candidates": work.candidates,
                "updates": work.updates,
                "bytes": work.bytes,
            })),
            "seconds": answer.seconds,
            "setup_seconds": answer.setup_seconds,
            "verified": self.verified.map(|verified| json!({
                "against": verified.against.name(),
                "boxes": verified.boxes,
                "complete": verified.boxes == verified.of,
                "seconds": verified.seconds,
            })),
            "out": self.written.map(|path| path.display().to_string()),
            "by_world": self.by_world.map(|path| path.display().to_string()),
        })
    }
}

/// Lines with labels on the left and values on the right.
struct Lines(String);

impl Lines {
    fn add(&mut self, label: &str, value: &str) {
        let _ = writeln!(self.0, "{label:<11} {value}");
    }

    fn add_candidates(&mut self, candidates: u64, pairs: u64) {
        let per_pair = candidates as f64 / pairs.max(1) as f64;
        self.add("candidates", &format!("{} tested ({per_pair:.2} per pair)", text::count(candidates)));
    }

    /// Adds the counts of a baseline; a number that it does not count is 0.
    fn add_work(&mut self, work: &Work, pairs: u64) {
        if work.candidates > 0 {
            self.add_candidates(work.candidates, pairs);
        }
        if work.bytes > 0 {
            self.add("memory", &text::bytes(work.bytes));
        }
    }

    fn add_report(&mut self, report: &Report) {
        self.add_candidates(report.candidate_count, report.pair_count);
        if report.invalid_count > 0 {
            let mut first: Vec<String> = report.first_invalid.iter().map(u32::to_string).collect();
            if report.invalid_count as usize > first.len() {
                first.push("...".to_owned());
            }
            let count = text::boxes(u64::from(report.invalid_count));
            self.add("invalid", &format!("{count} with NaN or min > max: {}", first.join(", ")));
        }
        if report.giant_count > 0 {
            let count = text::boxes(u64::from(report.giant_count));
            self.add("giants", &format!("{count}, tested against all others"));
        }
        if report.tested_all_pairs {
            let most = text::count(u64::from(report.all_pairs_up_to));
            self.add("method", &format!("all pairs tested, as with up to {most} boxes"));
        } else if report.tree_join {
            self.add("method", "tree join: a tree of one set, queried with the boxes of the other");
        } else {
            let [x, y, z] = report.direction.map(|x| text::decimals(x.into(), 3));
            self.add("axis", &format!("{}, direction ({x}, {y}, {z})", report.axis.name()));
            let entries = text::count(u64::from(report.entry_count));
            self.add(
                "cell size",
                &match report.cell_size {
                    size if size.is_finite() => format!("{size}, {entries} entries"),
                    _ => format!("one cell for all, {entries} entries"),
                },
            );
        }
        if report.passes > 1 {
            self.add("passes", &format!("{}, one for each slab of the scene", report.passes));
        }
        if report.gpu_bytes > 0 {
            self.add("memory", &format!("{} on the GPU", text::bytes(report.gpu_bytes)));
        }
    }
}

fn report_json(report: &Report, dispatches: DispatchCount) -> Value {
    let swept = !report.tested_all_pairs && !report.tree_join;
    json!({
        "invalid": report.invalid_count,
        "first_invalid": report.first_invalid,
        "giants": report.giant_count,
        "entries": report.entry_count,
        "candidates": report.candidate_count,
        "axis": swept.then(|| report.axis.name()),
        "direction": swept.then(|| report.direction.map(text::shortest)),
        "cell_size": text::shortest(report.cell_size),
        "all_pairs_up_to": report.all_pairs_up_to,
        "tree_join": report.tree_join,
        "passes": report.passes,
        "dispatches": { "direct": dispatches.direct, "indirect": dispatches.indirect },
        "gpu_bytes": report.gpu_bytes,
    })
}
