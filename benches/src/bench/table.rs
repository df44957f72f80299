//! The results on a terminal.

use std::fmt::Write as _;

use super::results::{Outcome, Results, Row, unique};
use crate::measure::time::Time;
use crate::text;

/// Writes a table for each scene: engines down, sizes across.
pub fn lines(results: &Results) -> String {
    let mut lines = String::new();
    let width = results.engines().iter().map(|engine| engine.len()).max().unwrap_or(0).max(6);
    for scene in results.scenes() {
        let sizes = results.sizes(scene);
        let _ = write!(lines, "\n{scene}\n{:width$}", "boxes");
        for size in &sizes {
            let _ = write!(lines, "  {:>23}", text::count(*size));
        }
        let _ = write!(lines, "\n{:width$}", "pairs");
        for size in &sizes {
            let pairs = results.pairs(scene, *size).map_or(String::new(), text::count);
            let _ = write!(lines, "  {pairs:>23}");
        }
        lines += "\n";
        for engine in results.engines() {
            let _ = write!(lines, "{engine:width$}");
            for size in &sizes {
                let cell = results.row(scene, *size, engine).map_or(String::new(), cell);
                let _ = write!(lines, "  {cell:>23}");
            }
            lines = lines.trim_end().to_owned() + "\n";
        }
    }
    results.rows.iter().for_each(|row| predictions(&mut lines, row));
    for row in &results.rows {
        if let Some(difference) = &row.difference {
            let (engine, scene, boxes) = (&row.engine, &row.scene, text::boxes(row.boxes));
            let other = row.compared_with.as_deref().unwrap_or_default();
            let _ = writeln!(
                lines,
                "\n{engine} differs from {other} for {scene} with {boxes}: {} missing, {} extra, {} repeated ({})",
                difference.missing, difference.extra, difference.repeated, difference.why
            );
        }
    }
    // An engine refuses for the same reason in one scene after another.
    let noted = results.rows.iter().filter(|row| row.outcome != Outcome::OverLimit && !row.note.is_empty());
    for (engine, note) in unique(noted.map(|row| (&row.engine, &row.note))) {
        let _ = writeln!(lines, "\n{engine} {note}");
    }
    if results.interrupted {
        lines += "\nstopped before the end: what is missing was not measured\n";
    }
    lines
}

/// Writes what was predicted for the kernels beside what was measured.
fn predictions(lines: &mut String, row: &Row) {
    let Some(gpu) = &row.predicted_for else { return };
    let _ =
        writeln!(lines, "\n{} with {}: kernels, measured and predicted for {gpu}", row.scene, text::boxes(row.boxes));
    let mut sums = [0.0; 3];
    for kernel in &row.kernels {
        let Some([least, most]) = kernel.predicted_ms else {
            let _ = writeln!(lines, "{:16} {:>10}", kernel.kernel, ms(kernel.ms));
            continue;
        };
        let _ = writeln!(lines, "{:16} {:>10}  {:>10} to {:>10}", kernel.kernel, ms(kernel.ms), ms(least), ms(most));
        sums.iter_mut().zip([kernel.ms, least, most]).for_each(|(sum, ms)| *sum += ms);
    }
    let [measured, least, most] = sums.map(ms);
    let _ = writeln!(lines, "{:16} {measured:>10}  {least:>10} to {most:>10}", "all predicted");
}

fn cell(row: &Row) -> String {
    match (&row.time, row.outcome) {
        (Some(time), Outcome::Measured) => {
            format!("{} ({})", ms(time.median_ms), noise(time, "-"))
        }
        _ => untimed(row),
    }
}

/// Writes the text that stands in place of a time.
pub fn untimed(row: &Row) -> String {
    match (row.outcome, row.predicted_ms, row.first_ms) {
        (Outcome::OverLimit, Some(predicted), _) => format!("not run, about {}", ms(predicted)),
        (Outcome::OverLimit, None, Some(first)) => format!("{}, over the limit", ms(first)),
        (outcome, ..) => outcome.name().to_owned(),
    }
}

/// Writes a time with about three digits: `0.0123 ms`, `45.6 ms`, `7.89 s`.
pub fn ms(ms: f64) -> String {
    if ms < 1e3 { format!("{} ms", digits(ms)) } else { format!("{} s", digits(ms / 1e3)) }
}

/// Writes the quartiles in the unit of the median.
pub fn noise(time: &Time, dash: &str) -> String {
    let unit = if time.median_ms < 1e3 { 1.0 } else { 1e3 };
    match time.calls {
        1 => "1 call".to_owned(),
        _ => format!("{}{dash}{}", digits(time.q1_ms / unit), digits(time.q3_ms / unit)),
    }
}

/// Writes a number with about three digits.
fn digits(number: f64) -> String {
    let decimals = match number {
        _ if number >= 100.0 => 0,
        _ if number >= 10.0 => 1,
        _ if number >= 1.0 => 2,
        _ if number >= 0.1 => 3,
        _ => 4,
    };
    format!("{number:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::results::KernelRow;
    use crate::bench::scene::Scene;
    use crate::engine::Engine;
    use crate::scenes::Kind;

    #[test]
    fn times_have_three_digits() {
        assert_eq!(
            [0.01234, 0.1234, 1.234, 45.67, 456.7, 7890.0].map(ms),
            ["0.0123 ms", "0.123 ms", "1.23 ms", "45.7 ms", "457 ms", "7.89 s"]
        );
    }

    #[test]
    fn predictions_stand_beside_what_was_measured() {
        let kernel =
            |kernel: &str, ms, predicted_ms| KernelRow { kernel: kernel.to_owned(), dispatches: 1, ms, predicted_ms };
        let mut row = Row::new(&Scene::Kind(Kind::Uniform), 2000, Engine::Gpu);
        row.kernels = vec![kernel("bin_count", 0.03, Some([0.01, 0.05])), kernel("order_sort", 0.5, None)];
        let mut lines = String::new();
        predictions(&mut lines, &row);
        assert_eq!(lines, "", "nothing is predicted for a GPU that is not known");
        row.predicted_for = Some("H100".to_owned());
        predictions(&mut lines, &row);
        let words: Vec<Vec<&str>> = lines.lines().skip(2).map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(words[0], ["bin_count", "0.0300", "ms", "0.0100", "ms", "to", "0.0500", "ms"]);
        assert_eq!(words[1], ["order_sort", "0.500", "ms"]);
        assert_eq!(words[2][2..], ["0.0300", "ms", "0.0100", "ms", "to", "0.0500", "ms"]);
    }
}
