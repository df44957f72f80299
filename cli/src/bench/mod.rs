//! `broadsweep bench`.

mod files;
mod frames;
mod queries;
mod screen;
mod setup;
mod usscd;
mod worlds;

use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Error, Result, bail, ensure};
use laboratory::bench::compare::compare;
use laboratory::bench::machine::{machine, versions};
use laboratory::bench::plan::{Measured, Plan};
use laboratory::bench::results::{FORMAT, Results, Settings, unique};
use laboratory::bench::scene::Scene;
use laboratory::bench::stop::is_stopped;
use laboratory::bench::table;
use laboratory::engine::Engine;

use crate::output::print;
use crate::progress::Progress;
use crate::{engine, say};
use screen::Screen;
use setup::{STOPPED, open_gpu, stop_on_ctrl_c};

const SCENES: [&str; 4] = ["uniform", "clusters", "city", "brownian"];
const SIZES: [u32; 3] = [1000, 10_000, 100_000];
/// Where results go.
const OUT: &str = "bench-results";

/// Measure engines side by side, and compare their pairs
///
/// Every engine gets the same boxes, in turn. In scenes that move, each call gets the next step, forward and backward;
/// in all others, each call is independent. The measured time is that of the whole call, on the GPU from boxes in host
/// memory to pairs in host memory. Ctrl-C stops after the current run and keeps the finished measurements.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    experiment: Option<Experiment>,

    /// KIND in all sizes, KIND:N, or a .npy file [default: uniform,clusters,city,brownian]
    #[arg(long, value_name = "SCENE,...", value_delimiter = ',')]
    scenes: Vec<String>,

    /// Box counts, for scenes without a count [default: 1000,10000,100000]
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    n: Vec<u32>,

    /// The engines to measure [default: all, without the GPU if there is none]
    #[arg(long, value_name = "ENGINE,...", value_delimiter = ',', value_parser = engine::parser())]
    engines: Vec<Engine>,

    /// The count of measured steps of scenes that move, after one warm-up step [default: 8]
    ///
    /// Short calls are repeated, backward and forward through these steps, for 50 ms or 200 calls.
    #[arg(long, value_name = "STEPS")]
    steps: Option<u32>,

    /// The count of measured runs of all other scenes, after one warm-up run [default: 5]
    ///
    /// Short calls are repeated as with --steps.
    #[arg(long, value_name = "RUNS")]
    runs: Option<u32>,

    /// The time limit of a call, and approximately of all calls of one engine with one scene [default: 1]
    ///
    /// An engine that takes longer is listed as over the limit. An engine whose time is predicted from fewer boxes to
    /// exceed three times the limit is not run.
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    limit: Option<f64>,

    /// The same seed gives the same boxes, on every machine [default: 1]
    #[arg(long)]
    seed: Option<u64>,

    /// The first GPU adapter whose name contains NAME; `broadsweep adapters` lists them
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,

    /// The directory for report.html, results.csv, results.json and the charts [default: bench-results, or none
    /// with --compare]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Measure the rows of these results again, and show which became slower or faster
    ///
    /// Other options replace the settings of the results. Fails if a row became slower, by more than the threshold and
    /// more than the noise, if an answer changed or is wrong, and if a requested row is missing. Rows that seem slower
    /// or faster are measured twice more, and the median of the three times is compared; files have the first.
    #[arg(long, value_name = "OLD.json")]
    compare: Option<PathBuf>,

    /// With --compare: compare with these results instead of measuring
    #[arg(long, value_name = "NEW.json", requires = "compare")]
    #[arg(conflicts_with_all = ["scenes", "n", "engines", "steps", "runs", "limit", "seed", "adapter", "out"])]
    against: Option<PathBuf>,

    /// With --compare: the largest ratio of new to old time that passes
    #[arg(long, value_name = "FACTOR", default_value_t = 1.1, requires = "compare", allow_negative_numbers = true)]
    threshold: f64,
}

/// An experiment that is measured in its own way.
#[derive(clap::Subcommand)]
enum Experiment {
    Frames(Box<frames::Args>),
    Queries(Box<queries::Args>),
    Usscd(usscd::Args),
    Worlds(worlds::Args),
}

/// Runs `broadsweep bench`.
pub fn run(args: &Args) -> Result<ExitCode> {
    match &args.experiment {
        Some(Experiment::Frames(args)) => return frames::run(args),
        Some(Experiment::Queries(args)) => return queries::run(args),
        Some(Experiment::Usscd(args)) => return usscd::run(args),
        Some(Experiment::Worlds(args)) => return worlds::run(args),
        None => {}
    }
    ensure!(args.threshold >= 1.0, "--threshold is {}; it must be at least 1", args.threshold);
    let old = args.compare.as_deref().map(Results::read).transpose()?;
    let outcome = match &args.against {
        Some(path) => Outcome { results: Results::read(path)?, confirmed: None, failure: None },
        None => match measure(args, old.as_ref())? {
            Some(found) => found,
            None => {
                say("stopped before the first measurement: nothing is written");
                return Ok(ExitCode::from(STOPPED));
            }
        },
    };
    let Outcome { results, confirmed, failure } = outcome;
    let comparison = old.as_ref().map(|old| compare(old, confirmed.as_ref().unwrap_or(&results), args.threshold));
    if let Some(comparison) = &comparison {
        print(&comparison.lines())?;
    }
    if let Some(error) = failure {
        return Err(error);
    }
    results.check_exact()?;
    if let Some(comparison) = &comparison {
        comparison.check()?;
    }
    if is_stopped() {
        return Ok(ExitCode::from(STOPPED));
    }
    Ok(ExitCode::SUCCESS)
}

/// The outcome of a benchmark.
struct Outcome {
    results: Results,
    /// The same results with the times of what was measured again, to be compared.
    confirmed: Option<Results>,
    /// The reason why a scene could not be measured.
    failure: Option<Error>,
}

/// Measures, writes the files and shows the table; returns `None` where the measurement was stopped before there was a
/// row.
fn measure(args: &Args, old: Option<&Results>) -> Result<Option<Outcome>> {
    let mut plan = plan(args, old.map(|old| &old.settings))?;
    let out = match (&args.out, old) {
        (Some(out), _) => Some(out.clone()),
        (None, None) => Some(PathBuf::from(OUT)),
        (None, Some(_)) => None,
    };
    if let Some(out) = &out {
        files::prepare(out)?;
    }
    let settings = settings(args, &plan, old);
    let gpu = open_gpu(&mut plan.engines, !args.engines.is_empty(), args.adapter.as_deref())?;
    ensure!(!plan.engines.is_empty(), "without the GPU, no engine is left to measure; name others with --engines");
    stop_on_ctrl_c()?;
    let results = Results {
        format: FORMAT,
        machine: machine(gpu.as_ref()),
        versions: versions(),
        unix_time: 0,
        settings,
        // Until the last row is there.
        interrupted: true,
        rows: Vec::new(),
    };
    let mut screen = Screen::new(results, out.as_deref());
    let Measured { rows, interrupted, failure } = plan.measure(gpu.as_ref(), &mut screen);
    if rows.is_empty() {
        return match failure {
            Some(error) if !interrupted => Err(error),
            _ => Ok(None),
        };
    }
    let mut results = screen.results;
    (results.rows, results.interrupted) = (rows, interrupted);
    let confirmed = old.map(|old| {
        let mut screen = Screen::new(results.clone(), None);
        plan.confirm(gpu.as_ref(), old, args.threshold, &results, &mut screen)
    });
    results.unix_time = screen::now();
    let written = out.as_deref().map(|out| {
        let _progress = Progress::start("writing".to_owned());
        files::write(&results, out)
    });
    print(&table::lines(&results))?;
    written.transpose()?;
    if let Some(out) = &out {
        print(&format!("\nwritten: {}\n", out.join("report.html").display()))?;
    }
    Ok(Some(Outcome { results, confirmed, failure }))
}

/// Returns the requested values, and for the rest those of the older results.
fn plan(args: &Args, settings: Option<&Settings>) -> Result<Plan> {
    let plan = Plan {
        scenes: scenes(args, settings)?,
        sizes: match (&args.n[..], settings) {
            ([], Some(settings)) => settings.n.clone(),
            ([], None) => SIZES.to_vec(),
            (sizes, _) => unique(sizes.iter().copied()),
        },
        engines: engines(args, settings)?,
        steps: args.steps.or(settings.map(|settings| settings.steps)).unwrap_or(8),
        runs: args.runs.or(settings.map(|settings| settings.runs)).unwrap_or(5),
        limit: args.limit.or(settings.map(|settings| settings.limit)).unwrap_or(1.0),
        seed: args.seed.or(settings.map(|settings| settings.seed)).unwrap_or(1),
    };
    plan.check()?;
    let has_sizes = |scene: &Scene| matches!(scene, Scene::Kind(_));
    if !args.n.is_empty() && !plan.scenes.iter().any(has_sizes) {
        let names: Vec<String> = plan.scenes.iter().map(Scene::name).collect();
        bail!(
            "--n applies to scenes without a count, such as uniform, and {} has one; leave --n out",
            names.join(", ")
        );
    }
    Ok(plan)
}

/// Returns the plan as it is stored with the results. Engines that only an older program has stay requested.
fn settings(args: &Args, plan: &Plan, old: Option<&Results>) -> Settings {
    Settings {
        scenes: plan.scenes.iter().map(Scene::name).collect(),
        n: plan.sizes.clone(),
        engines: match old {
            Some(old) if args.engines.is_empty() => old.settings.engines.clone(),
            _ => plan.engines.iter().map(|engine| engine.name().to_owned()).collect(),
        },
        steps: plan.steps,
        runs: plan.runs,
        limit: plan.limit,
        seed: plan.seed,
    }
}

fn scenes(args: &Args, settings: Option<&Settings>) -> Result<Vec<Scene>> {
    let names: Vec<&str> = match (&args.scenes[..], settings) {
        ([], Some(settings)) => settings.scenes.iter().map(String::as_str).collect(),
        ([], None) => SCENES.to_vec(),
        (scenes, _) => scenes.iter().map(String::as_str).collect(),
    };
    Ok(unique(names.into_iter().map(Scene::parse).collect::<Result<Vec<_>>>()?.into_iter()))
}

/// Returns the engines in the order of [`Engine::all`], each once.
fn engines(args: &Args, settings: Option<&Settings>) -> Result<Vec<Engine>> {
    let mut engines = Engine::all();
    if !args.engines.is_empty() {
        engines.retain(|engine| args.engines.contains(engine));
    } else if let Some(settings) = settings {
        engines.retain(|engine| settings.engines.iter().any(|name| name == engine.name()));
        ensure!(!engines.is_empty(), "this build has no engine of the older results; name others with --engines");
    }
    Ok(engines)
}
