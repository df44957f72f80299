//! `report.html`: one file without links to others, readable in light and dark.

use std::fmt::Write as _;

use anyhow::Result;

use super::charts::Figure;
use super::results::{Outcome, Results, Row};
use super::table::{ms, noise, untimed};
use crate::engine::Engine;
use crate::scenes::Kind;
use crate::text;

/// Writes the whole page.
pub fn report(results: &Results, figures: &[Figure]) -> Result<String> {
    let mut page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>broadsweep bench</title>\n\
         <style>\n{}</style>\n</head>\n<body>\n<h1>Broad phases side by side</h1>\n",
        include_str!("report.css")
    );
    head(results, &mut page);
    agreement(results, &mut page);
    for scene in results.scenes() {
        let _ = writeln!(page, "<h2>{}</h2>", escape(scene));
        if let Ok(kind) = scene.parse::<Kind>() {
            let moving = if kind.moves() { ". It moves: each call sees the next step" } else { "" };
            let _ = writeln!(page, "<p>{}{moving}.</p>", escape(&capital(kind.description())));
        }
        times(results, scene, &mut page);
        draw(figures.iter().filter(|figure| figure.scene.as_deref() == Some(scene)), &mut page)?;
    }
    if figures.iter().any(|figure| figure.scene.is_none()) {
        page += "<h2>Stages on the GPU</h2>\n\
                 <p>The largest of each scene, by timestamps of the GPU, without upload and reading back. These runs are \
                 apart from the calls above, so the two need not add up.</p>\n";
        draw(figures.iter().filter(|figure| figure.scene.is_none()), &mut page)?;
    }
    engines(results, &mut page);
    every_row(results, &mut page);
    page += "</body>\n</html>\n";
    Ok(page)
}

fn head(results: &Results, page: &mut String) {
    let machine = &results.machine;
    let settings = &results.settings;
    if results.interrupted {
        page.push_str("<p class=\"bad\">Stopped before the end: what is missing was not measured.</p>\n");
    }
    let versions: Vec<String> = results.versions.iter().map(|(name, version)| format!("{name} {version}")).collect();
    let cores = format!("{}, {} threads", machine.cpu, machine.cores);
    page.push_str("<dl>\n");
    for (name, value) in [
        ("CPU", Some(&cores)),
        ("GPU", machine.adapter.as_ref()),
        ("driver", machine.driver.as_ref()),
        ("system", Some(&machine.system)),
        ("versions", Some(&versions.join(", "))),
        ("seed", Some(&settings.seed.to_string())),
        ("ended", Some(&date(results.unix_time))),
    ] {
        if let Some(value) = value {
            let _ = writeln!(page, "<dt>{name}</dt><dd>{}</dd>", escape(value));
        }
    }
    let _ = writeln!(
        page,
        "</dl>\n<p>All engines get the same boxes, in turn. After one call that does not count, {} runs of each \
         scene count, or {} steps of a scene that moves; those without motion start anew each time. Short calls go on, \
         through the same steps, until they have taken 50 ms together or are 200, and long ones end at the limit. The time is that \
         of the whole call, for the GPU from boxes in host memory to pairs in host memory. Shown is the median, with \
         the quartiles as noise. A call may take {} s.</p>",
        settings.runs, settings.steps, settings.limit
    );
}

/// Writes which engines found other pairs, and why.
fn agreement(results: &Results, page: &mut String) {
    page.push_str("<h2>Do they find the same pairs?</h2>\n");
    let compared = results.rows.iter().filter(|row| row.compared_with.is_some()).count();
    let differing: Vec<&Row> = results.rows.iter().filter(|row| row.difference.is_some()).collect();
    if compared == 0 {
        page.push_str(match results.engines().len() {
            1 => "<p>There was a single engine, and nothing to compare it with.</p>\n",
            _ => "<p>Nothing was compared: no two engines answered.</p>\n",
        });
    } else if differing.is_empty() {
        let _ = writeln!(page, "<p>Yes: after every call, in all {compared} rows that were compared.</p>");
    }
    if differing.is_empty() {
        return;
    }
    let _ = writeln!(
        page,
        "<p>Not all: {} of {compared} rows that were compared differ from the exact answer. Pairs are counted over all \
         calls that differ; the reason is that of the first.</p>\n<div class=\"wide\"><table>\n<tr><th>engine</th>\
         <th class=\"text\">scene</th><th>boxes</th><th>calls</th><th>missing</th><th>extra</th><th>repeated</th>\
         <th class=\"text\">why</th></tr>",
        differing.len()
    );
    for row in differing {
        let Some(difference) = &row.difference else { continue };
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td class=\"text\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td class=\"why\">{}</td></tr>",
            escape(&row.engine),
            escape(&row.scene),
            text::count(row.boxes),
            difference.calls,
            text::count(difference.missing),
            text::count(difference.extra),
            text::count(difference.repeated),
            escape(&difference.why)
        );
    }
    page.push_str("</table></div>\n");
}

/// Writes a table of times, engines down, sizes across; the fastest of each size is marked.
fn times(results: &Results, scene: &str, page: &mut String) {
    let sizes = results.sizes(scene);
    let heads: String = sizes.iter().map(|boxes| format!("<th>{} boxes</th>", text::count(*boxes))).collect();
    let _ = writeln!(page, "<div class=\"wide\"><table>\n<tr><th>engine</th>{heads}</tr>");
    let pairs = |boxes: &u64| {
        results.pairs(scene, *boxes).map_or(String::new(), |pairs| format!("{} pairs", text::count(pairs)))
    };
    let pairs: String = sizes.iter().map(|boxes| format!("<td><small>{}</small></td>", pairs(boxes))).collect();
    let _ = writeln!(page, "<tr><td></td>{pairs}</tr>");
    let least = |boxes: u64| {
        let rows = results.rows.iter().filter(|row| row.scene == scene && row.boxes == boxes);
        rows.filter_map(Row::median_ms).fold(f64::INFINITY, f64::min)
    };
    for engine in results.engines() {
        let _ = write!(page, "<tr><td>{}</td>", escape(engine));
        for boxes in &sizes {
            let Some(row) = results.row(scene, *boxes, engine) else {
                page.push_str("<td></td>");
                continue;
            };
            let _ = match (&row.time, row.outcome) {
                (Some(time), Outcome::Measured) => {
                    let class = if time.median_ms <= least(*boxes) { " class=\"best\"" } else { "" };
                    let noise = noise(time, "&thinsp;–&thinsp;");
                    write!(page, "<td{class}>{} <small>({noise})</small></td>", ms(time.median_ms))
                }
                _ => write!(page, "<td title=\"{}\"><small>{}</small></td>", escape(&row.note), untimed(row)),
            };
        }
        page.push_str("</tr>\n");
    }
    page.push_str("</table></div>\n");
    let noted = |row: &&Row| row.scene == scene && row.outcome != Outcome::OverLimit && !row.note.is_empty();
    for row in results.rows.iter().filter(noted) {
        let _ = writeln!(page, "<p><small>{} {}</small></p>", escape(&row.engine), escape(&row.note));
    }
}

fn draw<'a>(figures: impl Iterator<Item = &'a Figure>, page: &mut String) -> Result<()> {
    page.push_str("<div class=\"charts\">\n");
    for figure in figures {
        let _ = writeln!(page, "<figure id=\"{}\">\n{}</figure>", escape(&figure.name), figure.svg()?);
    }
    page.push_str("</div>\n");
    Ok(())
}

fn engines(results: &Results, page: &mut String) {
    page.push_str("<h2>Engines</h2>\n<dl>\n");
    let all = Engine::all();
    for name in results.engines() {
        let description = all.iter().find(|engine| engine.name() == name).map_or("", |engine| engine.description());
        let _ = writeln!(page, "<dt>{}</dt><dd>{}</dd>", escape(name), escape(description));
    }
    page.push_str("</dl>\n");
}

/// Writes what `results.csv` has, in short.
fn every_row(results: &Results, page: &mut String) {
    page.push_str(
        "<h2>Every row</h2>\n<details><summary>All that was counted</summary>\n<div class=\"wide\"><table>\n\
         <tr><th>scene</th><th>boxes</th><th class=\"text\">engine</th><th>median</th><th>least</th><th>most</th>\
         <th>calls</th><th>first call</th><th>pairs</th><th>tests</th><th>memory</th><th>hash of the pairs</th></tr>\n",
    );
    for row in &results.rows {
        let time = |value: Option<f64>| value.map_or(String::new(), ms);
        let number = |value: Option<u64>| value.map_or(String::new(), text::count);
        let class = if row.difference.is_some() { " class=\"bad\"" } else { "" };
        let _ = writeln!(
            page,
            "<tr><td>{}</td><td>{}</td><td class=\"text\">{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>\
             <td>{}</td><td>{}</td><td>{}</td><td>{}</td><td{class}><code>{}</code></td></tr>",
            escape(&row.scene),
            text::count(row.boxes),
            escape(&row.engine),
            row.median_ms().map_or_else(|| untimed(row), ms),
            time(row.time.as_ref().map(|time| time.min_ms)),
            time(row.time.as_ref().map(|time| time.max_ms)),
            row.time.as_ref().map_or(String::new(), |time| time.calls.to_string()),
            time(row.first_ms),
            number(row.pairs),
            number(row.candidates),
            row.bytes.map_or(String::new(), text::bytes),
            row.hash.as_deref().unwrap_or_default()
        );
    }
    page.push_str("</table></div>\n</details>\n");
}

/// Writes a date as in ISO 8601, in the time zone of Greenwich.
fn date(unix_time: u64) -> String {
    let is_leap = |year: u64| year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let (mut day, second) = (unix_time / 86_400, unix_time % 86_400);
    // A file from elsewhere may have any year; 400 years have 146,097 days.
    let mut year = 1970 + 400 * (day / 146_097);
    day %= 146_097;
    while day >= 365 + u64::from(is_leap(year)) {
        day -= 365 + u64::from(is_leap(year));
        year += 1;
    }
    let february = 28 + u64::from(is_leap(year));
    let mut month = 1;
    for days in [31, february, 31, 30, 31, 30, 31, 31, 30, 31, 30] {
        if day < days {
            break;
        }
        day -= days;
        month += 1;
    }
    format!("{year}-{month:02}-{:02} {:02}:{:02} UTC", day + 1, second / 3600, second / 60 % 60)
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_uppercase().chain(letters).collect())
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::bench::results::{Difference, Machine, Settings};
    use crate::bench::scene::Scene;
    use crate::engine::Engine;
    use crate::measure::time::Time;
    use crate::scenes::Kind;

    fn row(engine: &str, difference: Option<Difference>) -> Row {
        Row {
            scene: "<a & b>.npy".to_owned(),
            engine: engine.to_owned(),
            first_ms: Some(3.0),
            time: Time::of(vec![1500.0, 2500.0]),
            pairs: Some(7),
            compared_with: (engine != "cpu").then(|| "cpu".to_owned()),
            difference,
            ..Row::new(&Scene::Kind(Kind::Uniform), 2000, Engine::Cpu)
        }
    }

    #[test]
    fn a_date_is_that_of_the_calendar() {
        for (unix_time, expected) in [
            (0, "1970-01-01 00:00 UTC"),
            (951_782_400, "2000-02-29 00:00 UTC"),
            (951_868_800, "2000-03-01 00:00 UTC"),
            (1_767_225_599, "2025-12-31 23:59 UTC"),
            (1_767_225_600, "2026-01-01 00:00 UTC"),
            (4_107_542_400, "2100-03-01 00:00 UTC"),
        ] {
            assert_eq!(date(unix_time), expected);
        }
        assert!(date(u64::MAX).ends_with("UTC"));
    }

    #[test]
    fn other_pairs_are_counted_and_explained_and_never_hidden() {
        let why = "3 extra: within rounding of touching".to_owned();
        let difference = Difference { calls: 2, missing: 1234, extra: 3, repeated: 0, why };
        let mut results = Results {
            format: 0,
            machine: Machine {
                cpu: "a CPU".to_owned(),
                cores: 2,
                system: "a system".to_owned(),
                adapter: None,
                driver: None,
            },
            versions: BTreeMap::new(),
            unix_time: 0,
            settings: Settings {
                scenes: Vec::new(),
                n: Vec::new(),
                engines: Vec::new(),
                steps: 1,
                runs: 1,
                limit: 1.0,
                seed: 1,
            },
            interrupted: false,
            rows: vec![row("cpu", None), row("other", Some(difference))],
        };
        let page = report(&results, &[]).unwrap();
        for part in ["Not all: 1 of 1 rows", "<td>1,234</td><td>3</td>", "within rounding", "&lt;a &amp; b&gt;.npy"] {
            assert!(page.contains(part), "{part}: {page}");
        }
        assert!(page.contains("2.00 s <small>(1.75&thinsp;–&thinsp;2.25)</small>") && !page.contains("<a &"), "{page}");
        // An engine that finds other pairs does not tell how many there are.
        results.rows[1].pairs = Some(1238);
        results.rows.swap(0, 1);
        assert_eq!(results.pairs("<a & b>.npy", 2000), Some(7));
        results.rows.remove(0);
        assert!(report(&results, &[]).unwrap().contains("nothing to compare it with"));
        results.rows.clear();
        assert!(report(&results, &[]).unwrap().ends_with("</html>\n"));
    }
}
