//! The files of a benchmark.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};
use laboratory::bench::charts::{self, Figure};
use laboratory::bench::html;
use laboratory::bench::results::Results;

use crate::output::Output;

/// Finds out, before any long work, whether files can be written there.
pub fn prepare(out: &Path) -> Result<()> {
    fs::create_dir_all(out).with_context(|| format!("cannot create the directory {}", out.display()))?;
    for name in ["report.html", "results.csv", "results.json"] {
        Output::check(&out.join(name))?;
    }
    Ok(())
}

/// Writes all of them.
pub fn write(results: &Results, out: &Path) -> Result<()> {
    write_rows(results, out)?;
    let figures = charts::figures(results);
    figures.iter().try_for_each(|figure| write_figure(out, figure))?;
    write_file(&out.join("report.html"), html::report(results, &figures)?)
}

/// Writes those that need no charts.
pub fn write_rows(results: &Results, out: &Path) -> Result<()> {
    write_file(&out.join("results.json"), results.json()?)?;
    write_file(&out.join("results.csv"), results.csv())
}

/// Writes `DIR/NAME.svg` and `DIR/NAME.png`.
pub fn write_figure(dir: &Path, figure: &Figure) -> Result<()> {
    write_file(&dir.join(format!("{}.svg", figure.name)), figure.svg()?)?;
    write_file(&dir.join(format!("{}.png", figure.name)), figure.png()?)
}

fn write_file(path: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    Output::check(path)?.write(|to| Ok(to.write_all(contents.as_ref())?))
}
