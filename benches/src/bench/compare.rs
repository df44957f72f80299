//! The comparison of two benchmarks: what became slower or faster.

use std::collections::BTreeMap;
use std::fmt::{self, Write as _};

use anyhow::{Result, ensure};

use super::results::{Outcome, Results, Row, unique};
use crate::measure::time::Time;
use crate::text;

/// Tells row by row what became slower or faster.
pub struct Comparison {
    threshold: f64,
    rows: Vec<(Key, Verdict)>,
    notes: Vec<String>,
}

/// The key of a row.
#[derive(Debug, Clone, PartialEq)]
struct Key {
    scene: String,
    boxes: u64,
    engine: String,
}

impl Key {
    fn of(row: &Row) -> Self {
        Self { scene: row.scene.clone(), boxes: row.boxes, engine: row.engine.clone() }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.scene, text::count(self.boxes), self.engine)
    }
}

/// The verdict on a row.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Verdict {
    /// Slower by this factor, and beyond the noise.
    Slower(f64),
    Faster(f64),
    /// Within the threshold, or within the noise.
    Same(f64),
    /// The row was measured, and is over the limit or refused now.
    Lost(Outcome),
    /// The engine found other pairs for the same boxes.
    OtherAnswer,
    /// The row was requested, and is not there.
    Missing,
    /// There is nothing that could be compared, and this is why.
    NotCompared(&'static str),
}

const IN_ONE: Verdict = Verdict::NotCompared("measured in one of the two only");
const IN_NONE: Verdict = Verdict::NotCompared("refused or over the limit in both");
const NO_TIME: Verdict = Verdict::NotCompared("took no time that could be told before");

/// Compares results row by row, by scene, size and engine.
pub fn compare(old: &Results, new: &Results, threshold: f64) -> Comparison {
    let mut rows = Vec::new();
    for row in &new.rows {
        let before = old.rows.iter().find(|before| before.is_same(row));
        let same_boxes = old.settings.seed == new.settings.seed;
        let verdict = before.map_or(IN_ONE, |before| verdict(before, row, threshold, same_boxes));
        rows.push((Key::of(row), verdict));
    }
    for row in old.rows.iter().filter(|row| !new.rows.iter().any(|after| after.is_same(row))) {
        let is_missing = new.settings.ask_for(row) && !new.interrupted;
        rows.push((Key::of(row), if is_missing { Verdict::Missing } else { IN_ONE }));
    }
    Comparison { threshold, rows, notes: notes(old, new) }
}

/// Lists what other than the program may have made a difference.
fn notes(old: &Results, new: &Results) -> Vec<String> {
    let mut notes = Vec::new();
    let mut compare = |what: &str, [was, is]: [Option<String>; 2]| {
        if was != is {
            let [was, is] = [was, is].map(|value| value.unwrap_or_else(|| "none".to_owned()));
            notes.push(format!("{what}: {was} before, {is} now"));
        }
    };
    let both = [old, new];
    compare("cpu", both.map(|results| Some(results.machine.cpu.clone())));
    compare("cores", both.map(|results| Some(results.machine.cores.to_string())));
    compare("adapter", both.map(|results| results.machine.adapter.clone()));
    compare("driver", both.map(|results| results.machine.driver.clone()));
    compare("steps", both.map(|results| Some(results.settings.steps.to_string())));
    compare("runs", both.map(|results| Some(results.settings.runs.to_string())));
    compare("limit in seconds", both.map(|results| Some(results.settings.limit.to_string())));
    for name in unique(old.versions.keys().chain(new.versions.keys())) {
        compare(name, both.map(|results| results.versions.get(name).cloned()));
    }
    if old.settings.seed != new.settings.seed {
        notes.push("other seeds, so other boxes: the answers are not compared".to_owned());
    }
    for (results, which) in [(old, "older"), (new, "newer")] {
        if results.interrupted {
            notes.push(format!("the {which} benchmark was stopped before its end"));
        }
    }
    notes
}

fn verdict(old: &Row, new: &Row, threshold: f64, same_boxes: bool) -> Verdict {
    // Where boxes move, the hash covers this many steps.
    let same_calls = !old.moving || old.hashed_calls == new.hashed_calls;
    if same_boxes && same_calls && old.hash.is_some() && new.hash.is_some() && old.hash != new.hash {
        return Verdict::OtherAnswer;
    }
    match (&old.time, &new.time, new.first_ms) {
        (Some(before), ..) if before.median_ms <= 0.0 => NO_TIME,
        (Some(before), Some(after), _) => by_time(before, after, threshold),
        (Some(before), None, Some(first)) if new.outcome == Outcome::OverLimit => {
            let factor = first / before.median_ms;
            if factor > threshold { Verdict::Lost(new.outcome) } else { Verdict::Same(factor) }
        }
        (Some(_), None, _) => Verdict::Lost(new.outcome),
        (None, Some(_), _) => IN_ONE,
        (None, None, _) => IN_NONE,
    }
}

/// Judges by time: rows differ where they are more than the threshold apart, and no value between the quartiles of one
/// is between the quartiles of the other.
fn by_time(old: &Time, new: &Time, threshold: f64) -> Verdict {
    let factor = new.median_ms / old.median_ms;
    if factor > threshold && new.q1_ms > old.q3_ms {
        Verdict::Slower(factor)
    } else if factor < 1.0 / threshold && new.q3_ms < old.q1_ms {
        Verdict::Faster(factor)
    } else {
        Verdict::Same(factor)
    }
}

impl Comparison {
    /// Returns whether this row has another time than before.
    pub fn is_changed(&self, row: &Row) -> bool {
        let key = Key::of(row);
        let is_changed =
            |verdict: &Verdict| matches!(verdict, Verdict::Slower(_) | Verdict::Faster(_) | Verdict::Lost(_));
        self.rows.iter().any(|(other, verdict)| is_changed(verdict) && *other == key)
    }

    /// Lists what changed, the worst first, and counts what did not.
    pub fn lines(&self) -> String {
        let mut lines = String::from("\n");
        for note in &self.notes {
            let _ = writeln!(lines, "note: {note}");
        }
        let mut changed: Vec<(f64, String)> = Vec::new();
        let (mut same, mut others) = (Vec::new(), BTreeMap::new());
        for (key, verdict) in &self.rows {
            match verdict {
                Verdict::OtherAnswer => changed.push((f64::INFINITY, format!("other pairs  {key}"))),
                Verdict::Lost(outcome) => changed.push((f64::MAX, format!("{:11}  {key}", outcome.name()))),
                Verdict::Slower(factor) => changed.push((*factor, format!("slower {factor:5.2}x {key}"))),
                Verdict::Faster(factor) => changed.push((*factor, format!("faster {factor:5.2}x {key}"))),
                Verdict::Same(factor) => same.push(*factor),
                Verdict::Missing => changed.push((f64::MAX, format!("missing      {key}"))),
                Verdict::NotCompared(why) => *others.entry(why).or_insert(0) += 1,
            }
        }
        changed.sort_by(|a, b| b.0.total_cmp(&a.0));
        changed.iter().for_each(|(_, line)| lines.extend([line, "\n"]));
        same.sort_by(f64::total_cmp);
        if let (Some(least), Some(most)) = (same.first(), same.last()) {
            let _ = writeln!(
                lines,
                "{} as before, within {:.2}x or the noise ({least:.2}x to {most:.2}x)",
                rows(same.len()),
                self.threshold
            );
        }
        for (why, count) in others {
            let _ = writeln!(lines, "{} not compared: {why}", rows(count));
        }
        lines
    }

    /// Fails where something became slower, or wrong, or is missing.
    pub fn check(&self) -> Result<()> {
        let count = |wanted: fn(&Verdict) -> bool| self.rows.iter().filter(|(_, verdict)| wanted(verdict)).count();
        let slower = format!("slower than before by more than {:.2}x and the noise", self.threshold);
        let wrong = [
            (count(|verdict| *verdict == Verdict::OtherAnswer), "with other pairs than before"),
            (count(|verdict| *verdict == Verdict::Missing), "missing that older results have"),
            (count(|verdict| *verdict == Verdict::Lost(Outcome::Refused)), "refused now, and measured before"),
            (
                count(|verdict| {
                    matches!(verdict, Verdict::Slower(_) | Verdict::Lost(Outcome::OverLimit | Outcome::Measured))
                }),
                &slower,
            ),
        ];
        let wrong = wrong.iter().filter(|(count, _)| *count > 0);
        let wrong: Vec<String> = wrong.map(|(count, what)| format!("{} {what}", rows(*count))).collect();
        ensure!(wrong.is_empty(), "{}", wrong.join(", "));
        let compared = count(|verdict| !matches!(verdict, Verdict::NotCompared(_)));
        ensure!(compared > 0, "the two have no measured row in common");
        Ok(())
    }
}

fn rows(count: usize) -> String {
    format!("{count} {}", if count == 1 { "row" } else { "rows" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slower_is_what_is_beyond_threshold_and_noise() {
        let time = |times: &[f64]| Time::of(times.to_vec()).unwrap();
        let old = time(&[1.0, 1.1, 1.2]);
        for (new, threshold, expected) in [
            (vec![1.0, 1.1, 1.2], 1.1, Verdict::Same(1.0)),
            (vec![2.1, 2.2, 2.3], 1.1, Verdict::Slower(2.0)),
            (vec![2.1, 2.2, 2.3], 3.0, Verdict::Same(2.0)),
            // Now and then as fast as before.
            (vec![1.0, 1.1, 2.2, 2.3, 2.4], 1.1, Verdict::Same(2.0)),
            (vec![0.54, 0.55, 0.56], 1.1, Verdict::Faster(0.5)),
        ] {
            let found = by_time(&old, &time(&new), threshold);
            let factor = |verdict| match verdict {
                Verdict::Same(factor) | Verdict::Slower(factor) | Verdict::Faster(factor) => factor,
                _ => f64::NAN,
            };
            assert_eq!(std::mem::discriminant(&found), std::mem::discriminant(&expected), "{new:?}: {found:?}");
            assert!((factor(found) - factor(expected)).abs() < 1e-9);
        }
    }
}
