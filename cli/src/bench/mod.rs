//! `broadsweep bench`.

mod charts;
mod compare;
mod contestant;
mod difference;
mod html;
mod machine;
mod measure;
mod plot;
mod results;
mod table;
mod usscd;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail, ensure};
use broadsweep::Gpu;

use crate::engine::Engine;
use crate::output::{Output, print};
use crate::progress::Progress;
use crate::{say, text};
use measure::{Measured, Plan, Scene};
use results::{Results, Row, Settings, unique};

const SCENES: [&str; 4] = ["uniform", "clusters", "city", "brownian"];
const SIZES: [u32; 3] = [1000, 10_000, 100_000];
/// Where results go.
const OUT: &str = "bench-results";
/// How often what seems slower than before is measured again.
const CONFIRMATIONS: usize = 3;
/// What a stopped process ends with in a shell: 128 + SIGINT.
const STOPPED: u8 = 130;

/// Measure engines side by side, and compare their pairs
///
/// Every engine gets the same boxes, in turn, again and again. Of kinds of scenes that move each call sees the next
/// frame; of all others each call starts anew. The time is that of the whole call, for the GPU from boxes in host
/// memory to pairs in host memory. Ctrl-C stops after the run that it is in and keeps what was measured.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    experiment: Option<Experiment>,

    /// KIND in all sizes, KIND:N, or a .npy file [default: uniform,clusters,city,brownian]
    #[arg(long, value_name = "SCENE,...", value_delimiter = ',')]
    scenes: Vec<String>,

    /// Numbers of boxes [default: 1000,10000,100000]
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    n: Vec<u32>,

    /// Who takes part [default: all, without the GPU where there is none]
    #[arg(long, value_name = "ENGINE,...", value_delimiter = ',', value_parser = Engine::parser())]
    engines: Vec<Engine>,

    /// Measured frames of scenes that move, after one that does not count [default: 8]
    #[arg(long, value_name = "FRAMES")]
    frames: Option<u32>,

    /// Measured runs of all other scenes, after one that does not count [default: 5]
    #[arg(long, value_name = "RUNS")]
    runs: Option<u32>,

    /// The most time for a call, and about the most for all calls of one engine with one scene [default: 1]
    ///
    /// An engine that takes longer, or is seen to from what it took for fewer boxes, is listed as over the limit.
    #[arg(long, value_name = "SECONDS", allow_negative_numbers = true)]
    limit: Option<f64>,

    /// The same seed gives the same boxes, on every machine [default: 1]
    #[arg(long)]
    seed: Option<u64>,

    /// The GPU adapter whose name contains this; `broadsweep adapters` lists them
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,

    /// Where report.html, results.csv, results.json and the charts go [default: bench-results, or nowhere
    /// with --compare]
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Measure what these results have, unless told otherwise, and show what became slower or faster
    ///
    /// Fails where something became slower, by more than the threshold and more than the noise, and where an answer changed.
    /// What seems slower is measured again before it is said.
    #[arg(long, value_name = "OLD.json")]
    compare: Option<PathBuf>,

    /// With --compare: measure nothing, and compare with these results instead
    #[arg(long, value_name = "NEW.json", requires = "compare")]
    #[arg(conflicts_with_all = ["scenes", "n", "engines", "frames", "runs", "limit", "seed", "adapter", "out"])]
    against: Option<PathBuf>,

    /// With --compare: how many times as long a call may take
    #[arg(long, value_name = "FACTOR", default_value_t = 1.1, requires = "compare", allow_negative_numbers = true)]
    threshold: f64,
}

/// What is measured in its own way.
#[derive(clap::Subcommand)]
enum Experiment {
    Usscd(usscd::Args),
}

/// Runs `broadsweep bench`.
pub fn run(args: &Args) -> Result<ExitCode> {
    if let Some(Experiment::Usscd(args)) = &args.experiment {
        return usscd::run(args);
    }
    ensure!(args.threshold >= 1.0, "--threshold is {}; it must be at least 1", args.threshold);
    let old = args.compare.as_deref().map(Results::read).transpose()?;
    let new = match &args.against {
        Some(path) => Results::read(path)?,
        None => measure(args, old.as_ref())?,
    };
    if let Some(old) = &old {
        let comparison = compare::compare(old, &new, args.threshold);
        print(&comparison.lines())?;
        comparison.check()?;
    }
    if new.interrupted && args.against.is_none() {
        return Ok(ExitCode::from(STOPPED));
    }
    Ok(ExitCode::SUCCESS)
}

/// Measures, shows the table and writes the files.
fn measure(args: &Args, old: Option<&Results>) -> Result<Results> {
    let settings = old.map(|old| &old.settings);
    let plan = Plan {
        scenes: scenes(args, settings)?,
        sizes: match (&args.n[..], settings) {
            ([], Some(settings)) => settings.n.clone(),
            ([], None) => SIZES.to_vec(),
            (sizes, _) => unique(sizes.iter().copied()),
        },
        engines: engines(args, settings)?,
        frames: args.frames.or(settings.map(|settings| settings.frames)).unwrap_or(8),
        runs: args.runs.or(settings.map(|settings| settings.runs)).unwrap_or(5),
        limit: args.limit.or(settings.map(|settings| settings.limit)).unwrap_or(1.0),
        seed: args.seed.or(settings.map(|settings| settings.seed)).unwrap_or(1),
    };
    plan.check()?;
    let out = match (&args.out, old) {
        (Some(out), _) => Some(out.clone()),
        (None, None) => Some(PathBuf::from(OUT)),
        (None, Some(_)) => None,
    };
    if let Some(out) = &out {
        prepare(out)?;
    }
    let (plan, gpu) = with_gpu(plan, args)?;
    measure::stop_on_ctrl_c()?;
    let Measured { rows, interrupted, failure } = plan.measure(gpu.as_ref());
    let failure = match failure {
        Some(error) if rows.is_empty() => return Err(error),
        failure => failure,
    };
    let mut results = Results {
        machine: machine::machine(gpu.as_ref()),
        versions: machine::versions(),
        unix_time: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs()),
        settings: Settings {
            scenes: plan.scenes.iter().map(Scene::name).collect(),
            n: plan.sizes.clone(),
            engines: plan.engines.iter().map(|engine| engine.name().to_owned()).collect(),
            frames: plan.frames,
            runs: plan.runs,
            limit: plan.limit,
            seed: plan.seed,
        },
        interrupted,
        rows,
    };
    if let Some(old) = old {
        confirm(&plan, gpu.as_ref(), old, args.threshold, &mut results);
    }
    print(&table::lines(&results))?;
    if let Some(out) = &out {
        {
            let _progress = Progress::start("writing".to_owned());
            write(&results, out)?;
        }
        print(&format!("\nwritten: {}\n", out.join("report.html").display()))?;
    }
    if let Some(error) = failure {
        return Err(error);
    }
    // The files tell more than this line can.
    if let Some(row) = results.rows.iter().find(|row| row.difference.is_some() && must_be_exact(&row.engine)) {
        let other = row.compared_with.as_deref().unwrap_or_default();
        let (engine, scene, boxes) = (&row.engine, &row.scene, text::boxes(row.boxes));
        bail!("the pairs of {engine} and {other} differ, first for {scene} with {boxes}");
    }
    Ok(results)
}

/// Measures again what seems slower than before, and keeps the better: two runs of one program differ by more than
/// calls that follow one another do.
fn confirm(plan: &Plan, gpu: Option<&Gpu>, old: &Results, threshold: f64, results: &mut Results) {
    for _ in 0..CONFIRMATIONS {
        let comparison = compare::compare(old, results, threshold);
        let slower: Vec<&Row> = results.rows.iter().filter(|row| comparison.is_slower(row)).collect();
        if slower.is_empty() || results.interrupted {
            return;
        }
        let mut again = plan.clone();
        again.scenes.retain(|scene| slower.iter().any(|row| row.scene == scene.title()));
        again.sizes.retain(|n| slower.iter().any(|row| row.boxes == u64::from(*n)));
        again.engines.retain(|engine| slower.iter().any(|row| row.engine == engine.name()));
        let measured = again.measure(gpu);
        results.interrupted = measured.interrupted;
        for row in &mut results.rows {
            let is_same =
                |other: &&Row| other.scene == row.scene && other.boxes == row.boxes && other.engine == row.engine;
            let better = measured.rows.iter().find(is_same).and_then(|row| row.time.clone());
            if let (true, Some(better), Some(time)) = (comparison.is_slower(row), better, &mut row.time)
                && better.median_ms < time.median_ms
            {
                *time = better;
            }
        }
    }
}

fn must_be_exact(engine: &str) -> bool {
    Engine::all().iter().any(|other| other.name() == engine && other.is_exact())
}

fn scenes(args: &Args, settings: Option<&Settings>) -> Result<Vec<Scene>> {
    let names: Vec<&str> = match (&args.scenes[..], settings) {
        ([], Some(settings)) => settings.scenes.iter().map(String::as_str).collect(),
        ([], None) => SCENES.to_vec(),
        (scenes, _) => scenes.iter().map(String::as_str).collect(),
    };
    Ok(unique(names.into_iter().map(Scene::parse).collect::<Result<Vec<_>>>()?.into_iter()))
}

/// In the order of [`Engine::all`], each once.
fn engines(args: &Args, settings: Option<&Settings>) -> Result<Vec<Engine>> {
    let mut engines = Engine::all();
    if !args.engines.is_empty() {
        engines.retain(|engine| args.engines.contains(engine));
    } else if let Some(settings) = settings {
        engines.retain(|engine| settings.engines.iter().any(|name| name == engine.name()));
        ensure!(!engines.is_empty(), "none of the engines of the older results is in this program");
    }
    Ok(engines)
}

/// The device, if one takes part. Without `--engines`, a machine without one goes on without.
fn with_gpu(mut plan: Plan, args: &Args) -> Result<(Plan, Option<Gpu>)> {
    if !plan.engines.contains(&Engine::Gpu) {
        ensure!(args.adapter.is_none(), "--adapter chooses a GPU, and --engines has no gpu");
        return Ok((plan, None));
    }
    let _progress = Progress::start("looking for a GPU".to_owned());
    let gpu = match &args.adapter {
        Some(name) => Gpu::headless_named(name).with_context(|| format!("--adapter {name}")),
        None => Gpu::headless().context("--engines gpu"),
    };
    match gpu {
        Ok(gpu) => Ok((plan, Some(gpu))),
        Err(error) if args.engines.is_empty() && args.adapter.is_none() => {
            say(&format!("note: without the GPU: {:#}", error.root_cause()));
            plan.engines.retain(|engine| *engine != Engine::Gpu);
            ensure!(!plan.engines.is_empty(), "there is nothing else to measure");
            Ok((plan, None))
        }
        Err(error) => Err(error),
    }
}

/// Finds out, before any long work, whether files can be written there.
fn prepare(out: &Path) -> Result<()> {
    fs::create_dir_all(out).with_context(|| format!("cannot make the directory {}", out.display()))?;
    for name in ["report.html", "results.csv", "results.json"] {
        Output::check(&out.join(name))?;
    }
    Ok(())
}

fn write(results: &Results, out: &Path) -> Result<()> {
    let file = |name: &str, text: &str| -> Result<()> {
        Output::check(&out.join(name))?.write(|to| Ok(to.write_all(text.as_bytes())?))
    };
    file("results.json", &results.json()?)?;
    file("results.csv", &results.csv())?;
    let figures = charts::figures(results);
    for figure in &figures {
        figure.write(out)?;
    }
    file("report.html", &html::report(results, &figures)?)
}
