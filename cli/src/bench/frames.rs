//! `broadsweep bench frames`: boxes in motion, shown step by step to engines that reuse the last step and to engines
//! that do not.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, bail, ensure};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use laboratory::bench::machine::machine;
use laboratory::bench::queries::pool;
use laboratory::bench::results::unique;
use laboratory::bench::steps::{COLUMNS, Plan, Row, Stepper, figures};
use laboratory::bench::stop::is_stopped;
use laboratory::scenes::Motion;

use super::files::write_figure;
use super::setup::{STOPPED, stop_on_ctrl_c};
use crate::engine::headless;
use crate::output::{Output, print};
use crate::progress::Progress;
use crate::{say, text};

/// Measure steps: boxes that move by little, by much, or not at all
///
/// Every engine gets the same steps, in turn. Its pairs are compared with those of the first engine, which is not
/// timed. Ctrl-C stops after the current step and keeps the finished measurements.
#[derive(clap::Args)]
pub struct Args {
    /// The directory for `frames.csv` and the figures; created if there is none
    #[arg(long, value_name = "DIR", default_value = "frames-out")]
    out: PathBuf,

    /// The motions of the boxes [default: all]
    #[arg(long, value_name = "MOTION,...", value_delimiter = ',', value_parser = motion_parser())]
    motions: Vec<Motion>,

    /// Box counts
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "2000,20000,200000")]
    n: Vec<u32>,

    /// The count of boxes in a cube of the largest diameter; the experiments of USSCD have 0.1
    #[arg(long, value_name = "DENSITY", default_value_t = Motion::DENSITY, allow_negative_numbers = true)]
    density: f64,

    /// The padding of boxes in our CPU engine, in largest diameters [default: by their speed]
    #[arg(long, value_name = "MARGIN", allow_negative_numbers = true)]
    margin: Option<f32>,

    /// The engines to measure [default: our events and pairs on the CPU, and all engines that reuse the last step]
    #[arg(long, value_name = "ENGINE,...", value_delimiter = ',', value_parser = parser())]
    engines: Vec<String>,

    /// The first GPU adapter whose name contains NAME; `broadsweep adapters` lists them
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,

    /// The count of measured steps, after two warm-up steps
    #[arg(long, default_value_t = 30, value_parser = clap::value_parser!(u32).range(1..))]
    steps: u32,

    /// The time after which an engine gets no further step of a motion
    #[arg(long, value_name = "SECONDS", default_value_t = 10.0, allow_negative_numbers = true)]
    limit: f64,

    /// The thread count of our CPU engine; all others use one
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1 << 10))]
    threads: u32,

    /// The same seed gives the same boxes, on every machine
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Parses `--engines`.
fn parser() -> impl TypedValueParser<Value = String> {
    let value = |stepper: Stepper| PossibleValue::new(stepper.name()).help(stepper.description());
    PossibleValuesParser::new(Stepper::all().into_iter().map(value).collect::<Vec<_>>())
}

/// Parses `--motions`.
fn motion_parser() -> impl TypedValueParser<Value = Motion> {
    let value = |motion: Motion| PossibleValue::new(motion.name()).help(motion.description());
    // Unknown motions were refused earlier.
    PossibleValuesParser::new(Motion::ALL.map(value)).map(|name| name.parse().unwrap_or(Motion::Still))
}

/// Runs `broadsweep bench frames`.
pub fn run(args: &Args) -> Result<ExitCode> {
    ensure!(args.limit > 0.0, "--limit is {}; it must be above 0", args.limit);
    let is_margin = args.margin.is_none_or(|margin| margin > 0.0 && margin.is_finite());
    ensure!(is_margin, "--margin is {}; it must be positive and finite", args.margin.unwrap_or_default());
    ensure!(args.density > 0.0, "--density is {}; it must be above 0", args.density);
    fs::create_dir_all(&args.out).with_context(|| format!("cannot create the directory {}", args.out.display()))?;
    // Finds out before any long work whether it can be written.
    let csv = Output::check(&args.out.join("frames.csv"))?;
    let is_chosen = |stepper: &Stepper| args.engines.iter().any(|name| name == stepper.name());
    let steppers: Vec<Stepper> = match args.engines.is_empty() {
        true => Stepper::usual(),
        false => Stepper::all().into_iter().filter(is_chosen).collect(),
    };
    let wants_gpu = steppers.iter().any(|stepper| stepper.is_on_gpu());
    if args.adapter.is_some() && !wants_gpu {
        bail!("--adapter selects a GPU, which none of the engines uses");
    }
    let gpu = wants_gpu.then(|| headless(args.adapter.as_deref())).transpose()?;
    let plan = Plan {
        steppers,
        gpu: gpu.as_ref(),
        pool: pool(args.threads as usize)?,
        margin: args.margin,
        density: args.density,
        steps: args.steps,
        limit_ms: 1e3 * args.limit,
        seed: args.seed,
    };
    let machine = machine(gpu.as_ref());
    stop_on_ctrl_c()?;
    print(&format!(
        "Milliseconds of a step, mean and median.\n\n{:<11}{:>10}  {:<16}{:>10}{:>10}{:>11}{:>10}{:>10}{:>7}\n",
        "motion", "boxes", "", "mean", "median", "pairs", "created", "lost", "wrong",
    ))?;
    let motions = if args.motions.is_empty() { Motion::ALL.to_vec() } else { args.motions.clone() };
    let mut rows: Vec<Row> = Vec::new();
    let mut lines = format!("{COLUMNS}\n");
    let all = unique(motions.into_iter()).into_iter().flat_map(|motion| args.n.iter().map(move |&n| (motion, n)));
    for (motion, n) in all {
        let measured = {
            let _progress = Progress::start(format!("{motion}, {}", text::boxes(n.into())));
            plan.measure(motion, n as usize, say)?
        };
        for row in &measured {
            show(row)?;
            lines += &row.line(plan.device(row.stepper, &machine));
        }
        rows.extend(measured);
        csv.write(|to| Ok(to.write_all(lines.as_bytes())?))?;
        figures(&rows).iter().try_for_each(|figure| write_figure(&args.out, figure))?;
        if is_stopped() {
            break;
        }
    }
    print(&format!("\nwritten: {}, and the figures as SVG and PNG\n", args.out.join("frames.csv").display()))?;
    Ok(if is_stopped() { ExitCode::from(STOPPED) } else { ExitCode::SUCCESS })
}

fn show(row: &Row) -> Result<()> {
    let [pairs, created, lost] = row.counts.map(|count| text::count(count as u64));
    print(&format!(
        "{:<11}{:>10}  {:<16}{:>10.3}{:>10.3}{pairs:>11}{created:>10}{lost:>10}{:>7}\n",
        row.motion.name(),
        text::count(row.boxes as u64),
        row.stepper.name(),
        row.mean_ms,
        row.time.median_ms,
        row.wrong.map_or(String::new(), |wrong| wrong.to_string()),
    ))
}
