//! `broadsweep bench worlds`: what thousands of worlds in one place cost, against one world of as many boxes.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use laboratory::bench::machine::machine;
use laboratory::bench::stop::is_stopped;
use laboratory::bench::worlds::{COLUMNS, Plan, Row, figures};
use laboratory::engine::Engine;

use super::files::write_figure;
use super::setup::{STOPPED, open_gpu, stop_on_ctrl_c};
use crate::output::{Output, print};
use crate::progress::Progress;
use crate::{say, text};

/// Measure the cost of worlds: the same count of boxes in one world and in thousands, in the same place
///
/// The density within each world is the same. Both engines search every scene in turn, and for comparison one world
/// without filters. Ctrl-C stops after the current call and keeps the finished measurements.
#[derive(clap::Args)]
pub struct Args {
    /// The directory for `worlds.csv` and the figures; created if there is none
    #[arg(long, value_name = "DIR", default_value = "worlds-out")]
    out: PathBuf,

    /// The first GPU adapter whose name contains NAME; `broadsweep adapters` lists them
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,

    /// The count of boxes in all worlds together
    #[arg(long, default_value_t = 409_600, value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    boxes: u32,

    /// Counts of worlds
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,16,64,256,1024,4096,16384")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    worlds: Vec<u32>,

    /// The count of measured calls of each scene, after one warm-up call
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,

    /// The same seed gives the same scenes, on every machine
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Runs `broadsweep bench worlds`.
pub fn run(args: &Args) -> Result<ExitCode> {
    let most = args.worlds.iter().copied().max().unwrap_or(0);
    ensure!(most <= args.boxes, "--worlds {most} is more than --boxes {}: each world needs a box", args.boxes);
    fs::create_dir_all(&args.out).with_context(|| format!("cannot create the directory {}", args.out.display()))?;
    // Finds out before any long work whether it can be written.
    let csv = Output::check(&args.out.join("worlds.csv"))?;
    let mut engines = vec![Engine::Cpu, Engine::Gpu];
    let gpu = open_gpu(&mut engines, false, args.adapter.as_deref())?;
    let plan = Plan { boxes: args.boxes, runs: args.runs, seed: args.seed, engines: &engines, gpu: gpu.as_ref() };
    let machine = machine(gpu.as_ref());
    stop_on_ctrl_c()?;
    print(&format!(
        "{} in all. Milliseconds, the median of {}, and how many times one world without filters.\n\n\
         {:>8}  {:<18}{:>5}{:>10}{:>8}{:>12}{:>14}\n",
        text::boxes(args.boxes.into()),
        if args.runs == 1 { "1 call".to_owned() } else { format!("{} calls", args.runs) },
        "worlds",
        "scene",
        "",
        "ms",
        "times",
        "pairs",
        "candidates",
    ))?;
    let mut rows: Vec<Row> = Vec::new();
    let mut lines = format!("{COLUMNS}\n");
    for &worlds in &args.worlds {
        let measured = {
            let _progress = Progress::start(format!("{worlds} worlds"));
            plan.measure(worlds, say)?
        };
        for row in &measured {
            show(row)?;
            lines += &row.line(&machine);
        }
        rows.extend(measured);
        if !rows.is_empty() {
            csv.write(|to| Ok(to.write_all(lines.as_bytes())?))?;
            figures(&rows, args.boxes).iter().try_for_each(|figure| write_figure(&args.out, figure))?;
        }
        if is_stopped() {
            break;
        }
    }
    if rows.is_empty() {
        print("\nnothing was measured, and nothing written\n")?;
    } else {
        print(&format!("\nwritten: {}, and the figures as SVG and PNG\n", args.out.join("worlds.csv").display()))?;
    }
    Ok(if is_stopped() { ExitCode::from(STOPPED) } else { ExitCode::SUCCESS })
}

fn show(row: &Row) -> Result<()> {
    let Row { variant, worlds, engine, time, ratio, report } = row;
    print(&format!(
        "{worlds:>8}  {:<18}{engine:>5}{:>10.1}{ratio:>8.2}{:>12}{:>14}\n",
        variant.name(),
        time.median_ms,
        text::count(report.pair_count),
        text::count(report.candidate_count),
    ))
}
