//! `broadsweep bench usscd`: the three experiments of Li, Lu and He 2003, with our engines beside the paper's three
//! algorithms.

use std::fmt::Write as _;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use laboratory::bench::machine::machine;
use laboratory::bench::results::unique;
use laboratory::bench::stop::is_stopped;
use laboratory::bench::usscd::race::{ENGINES, Race};
use laboratory::bench::usscd::{COLUMNS, experiments, frames_per_second, title};
use laboratory::engine::Engine;

use super::files::write_figure;
use super::setup::{STOPPED, open_gpu, stop_on_ctrl_c};
use crate::engine;
use crate::output::{Output, print};
use crate::progress::Progress;
use crate::text;

/// Reproduce the three experiments of USSCD: frames per second against the number of objects, the size of
/// their space, and their speed
///
/// Every engine gets the same steps, in turn, and their pairs are compared. Ctrl-C stops after the current step and
/// keeps the finished measurements.
#[derive(clap::Args)]
pub struct Args {
    /// The directory for `usscd.csv` and the figures; created if there is none
    #[arg(long, value_name = "DIR", default_value = "usscd-out")]
    out: PathBuf,

    /// The engines to measure [default: usscd,scd,i_collide,cpu,gpu, without the GPU if there is none]
    #[arg(long, value_name = "ENGINE,...", value_delimiter = ',', value_parser = engine::parser())]
    engines: Vec<Engine>,

    /// The first GPU adapter whose name contains NAME; `broadsweep adapters` lists them
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,

    /// The count of measured steps of each setting, after one warm-up step
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    steps: u32,

    /// The time after which an engine gets no further step of a setting, but at least three
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    seconds: f64,

    /// The same seed gives the same scenes, on every machine
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Measure few and small settings, as a trial
    #[arg(long)]
    quick: bool,
}

/// Runs `broadsweep bench usscd`.
pub fn run(args: &Args) -> Result<ExitCode> {
    fs::create_dir_all(&args.out).with_context(|| format!("cannot create the directory {}", args.out.display()))?;
    // Finds out before any long work whether it can be written.
    let csv = Output::check(&args.out.join("usscd.csv"))?;
    let race = race(args)?;
    stop_on_ctrl_c()?;
    print(&format!("Frames per second, the median of up to {} steps.\n\n", args.steps))?;
    for &engine in &race.engines {
        print(&format!("{:>16}  {}\n", title(engine), race.device(engine)))?;
    }
    let mut rows = format!("{COLUMNS}\n");
    let mut is_written = false;
    for (number, experiment) in (1..).zip(experiments(args.quick)) {
        print(&format!("\n{number}. {}\n{:>10}", experiment.title, experiment.name))?;
        print(&(race.engines.iter().map(|engine| format!("{:>18}", title(*engine))).collect::<String>() + "\n"))?;
        let mut measured = Vec::new();
        for (at, setting) in (1..).zip(&experiment.settings) {
            let what = experiment.value(setting);
            let laps = {
                let of = experiment.settings.len();
                let name = experiment.name;
                let _progress =
                    Progress::start(format!("experiment {number} of 3, setting {at} of {of}: {name} = {what}"));
                race.run(setting.n, setting.space)?
            };
            if is_stopped() && laps.is_empty() {
                break;
            }
            let mut line = format!("{what:>10}");
            for lap in &laps {
                write!(line, "{:>18}", rounded(frames_per_second(lap)))?;
                rows += &experiment.row(setting, lap, race.device(lap.engine));
            }
            print(&format!("{line}\n"))?;
            measured.push((what, laps));
            csv.write(|to| Ok(to.write_all(rows.as_bytes())?))?;
        }
        if !measured.is_empty() {
            let figures = experiment.figures(&race.engines, &measured);
            figures.iter().try_for_each(|figure| write_figure(&args.out, figure))?;
            is_written = true;
        }
        if is_stopped() {
            break;
        }
    }
    if is_written {
        print(&format!("\nwritten: {}, and the figures as SVG and PNG\n", args.out.join("usscd.csv").display()))?;
    } else {
        print("\nnothing was measured, and nothing written\n")?;
    }
    Ok(if is_stopped() { ExitCode::from(STOPPED) } else { ExitCode::SUCCESS })
}

/// Creates the race of the requested engines. Without names, these are the engines of the paper and ours; the GPU
/// engine only if there is a GPU.
fn race(args: &Args) -> Result<Race> {
    ensure!(args.seconds >= 0.0, "--seconds is {}; it must not be negative", args.seconds);
    let mut engines = unique(args.engines.iter().copied());
    if engines.is_empty() {
        let all = Engine::all();
        engines.extend(ENGINES.iter().filter_map(|name| all.iter().find(|engine| engine.name() == *name)));
    }
    if let Some(engine) = engines.iter().find(|engine| !engine.is_exact()) {
        bail!("`bench usscd` takes exact engines only, and {} is another library", engine.name());
    }
    let gpu = open_gpu(&mut engines, !args.engines.is_empty(), args.adapter.as_deref())?;
    let machine = machine(gpu.as_ref());
    Ok(Race { engines, gpu, machine, seed: args.seed, steps: args.steps, enough_ms: 1e3 * args.seconds })
}

/// Rounds a number to about three digits.
fn rounded(number: f64) -> String {
    if number < 100.0 { format!("{number:.1}") } else { text::count(number.round() as u64) }
}
