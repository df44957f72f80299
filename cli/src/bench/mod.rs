//! `broadsweep bench`.

mod charts;
mod compare;
mod contestant;
mod difference;
mod html;
mod lane;
mod machine;
mod measure;
mod plot;
mod predict;
mod results;
mod scene;
mod table;
mod usscd;
mod worlds;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Error, Result, bail, ensure};
use broadsweep::Gpu;

use crate::engine::{Engine, headless};
use crate::output::{Output, print};
use crate::progress::Progress;
use crate::{say, text};
use measure::{Measured, Plan};
use results::{FORMAT, Results, Row, Settings, unique};
use scene::Scene;

const SCENES: [&str; 4] = ["uniform", "clusters", "city", "brownian"];
const SIZES: [u32; 3] = [1000, 10_000, 100_000];
/// Where results go.
const OUT: &str = "bench-results";
/// How often what seems slower or faster than before is measured again: with the first time, one is in the middle.
const CONFIRMATIONS: usize = 2;
/// What a stopped process ends with in a shell: 128 + SIGINT.
const STOPPED: u8 = 130;

/// Measure engines side by side, and compare their pairs
///
/// Every engine gets the same boxes, in turn, again and again. Of kinds of scenes that move each call sees the next
/// frame, forward and back; of all others each call starts anew. The time is that of the whole call, for the GPU from boxes in host
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
    ///
    /// Short calls go on, backward and forward through these frames, until they have taken 50 ms together or are 200.
    #[arg(long, value_name = "FRAMES")]
    frames: Option<u32>,

    /// Measured runs of all other scenes, after one that does not count [default: 5]
    ///
    /// Short calls go on as with --frames.
    #[arg(long, value_name = "RUNS")]
    runs: Option<u32>,

    /// The most time for a call, and about the most for all calls of one engine with one scene [default: 1]
    ///
    /// An engine that takes longer is listed as over the limit. One that would take more than three times as long,
    /// judged by what it took for fewer boxes, is not run.
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
    /// Fails where something became slower, by more than the threshold and more than the noise, where an answer changed
    /// or is wrong, and where something that was asked for is missing. What seems slower or faster is measured twice
    /// more, and the time in the middle counts; files keep the first.
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
    Worlds(worlds::Args),
}

/// Runs `broadsweep bench`.
pub fn run(args: &Args) -> Result<ExitCode> {
    match &args.experiment {
        Some(Experiment::Usscd(args)) => return usscd::run(args),
        Some(Experiment::Worlds(args)) => return worlds::run(args),
        None => {}
    }
    ensure!(args.threshold >= 1.0, "--threshold is {}; it must be at least 1", args.threshold);
    let old = args.compare.as_deref().map(Results::read).transpose()?;
    let found = match &args.against {
        Some(path) => Found { results: Results::read(path)?, confirmed: None, failure: None },
        None => match measure(args, old.as_ref())? {
            Some(found) => found,
            None => {
                say("stopped before anything was measured: nothing is written");
                return Ok(ExitCode::from(STOPPED));
            }
        },
    };
    let Found { results, confirmed, failure } = found;
    let comparison =
        old.as_ref().map(|old| compare::compare(old, confirmed.as_ref().unwrap_or(&results), args.threshold));
    if let Some(comparison) = &comparison {
        print(&comparison.lines())?;
    }
    if let Some(error) = failure {
        return Err(error);
    }
    check_exact(&results)?;
    if let Some(comparison) = &comparison {
        comparison.check()?;
    }
    if measure::is_stopped() {
        return Ok(ExitCode::from(STOPPED));
    }
    Ok(ExitCode::SUCCESS)
}

/// What a benchmark gave.
struct Found {
    results: Results,
    /// The same with the times of what was measured again, to be compared.
    confirmed: Option<Results>,
    /// Why a scene could not be measured.
    failure: Option<Error>,
}

/// Measures, writes the files and shows the table; `None` where it was stopped before there was a row.
fn measure(args: &Args, old: Option<&Results>) -> Result<Option<Found>> {
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
    let settings = Settings {
        scenes: plan.scenes.iter().map(Scene::name).collect(),
        n: plan.sizes.clone(),
        engines: match settings {
            Some(settings) if args.engines.is_empty() => settings.engines.clone(),
            _ => plan.engines.iter().map(|engine| engine.name().to_owned()).collect(),
        },
        frames: plan.frames,
        runs: plan.runs,
        limit: plan.limit,
        seed: plan.seed,
    };
    let (plan, gpu) = with_gpu(plan, args)?;
    measure::stop_on_ctrl_c()?;
    let mut results = Results {
        format: FORMAT,
        machine: machine::machine(gpu.as_ref()),
        versions: machine::versions(),
        unix_time: 0,
        settings,
        // Until the last row is there.
        interrupted: true,
        rows: Vec::new(),
    };
    let Measured { rows, interrupted, failure } = plan.measure(gpu.as_ref(), |rows| {
        results.rows = rows.to_vec();
        results.unix_time = now();
        if let (Some(out), false) = (&out, rows.is_empty()) {
            // What cannot be written now may be later; if not, that is said then.
            let _ = write_rows(&results, out);
        }
    });
    if rows.is_empty() {
        return match failure {
            Some(error) if !interrupted => Err(error),
            _ => Ok(None),
        };
    }
    (results.rows, results.interrupted) = (rows, interrupted);
    let confirmed = old.map(|old| confirm(&plan, gpu.as_ref(), old, args.threshold, &results));
    results.unix_time = now();
    let written = out.as_deref().map(|out| {
        let _progress = Progress::start("writing".to_owned());
        write(&results, out)
    });
    print(&table::lines(&results))?;
    written.transpose()?;
    if let Some(out) = &out {
        print(&format!("\nwritten: {}\n", out.join("report.html").display()))?;
    }
    Ok(Some(Found { results, confirmed, failure }))
}

/// In seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// The results, with what seems slower or faster than before measured again: two runs of one program differ by more
/// than calls that follow one another do. Of all times of a row, the one in the middle counts.
fn confirm(plan: &Plan, gpu: Option<&Gpu>, old: &Results, threshold: f64, results: &Results) -> Results {
    let mut confirmed = results.clone();
    let comparison = compare::compare(old, results, threshold);
    let changed: Vec<&Row> = results.rows.iter().filter(|row| comparison.is_changed(row)).collect();
    if changed.is_empty() || results.interrupted {
        return confirmed;
    }
    // All of them once, and then all once more: what disturbs one time is gone by the next.
    let mut again = Vec::new();
    for _ in 0..CONFIRMATIONS {
        for (title, boxes) in unique(changed.iter().map(|row| (&row.scene, row.boxes))) {
            let mut part = plan.clone();
            part.scenes.retain(|scene| scene.is(title, boxes, &plan.sizes));
            part.sizes.retain(|n| u64::from(*n) == boxes);
            part.engines.retain(|engine| {
                changed.iter().any(|row| (&row.scene, row.boxes) == (title, boxes) && row.engine == engine.name())
            });
            again.extend(part.measure(gpu, |_| ()).rows);
        }
    }
    for row in confirmed.rows.iter_mut().filter(|row| comparison.is_changed(row)) {
        let same = again.iter().filter(|other| other.is_same(row)).cloned();
        let mut all: Vec<Row> = same.chain([row.clone()]).collect();
        let ms = |row: &Row| row.median_ms().or(row.first_ms).unwrap_or(f64::INFINITY);
        all.sort_by(|a, b| ms(a).total_cmp(&ms(b)));
        *row = all.swap_remove(all.len() / 2);
    }
    confirmed
}

/// Fails where an engine of ours, or an algorithm of the literature, found other pairs.
fn check_exact(results: &Results) -> Result<()> {
    // The files tell more than this line can.
    if let Some(row) = results.rows.iter().find(|row| row.difference.is_some() && must_be_exact(&row.engine)) {
        let other = row.compared_with.as_deref().unwrap_or_default();
        let (engine, scene, boxes) = (&row.engine, &row.scene, text::boxes(row.boxes));
        bail!("the pairs of {engine} and {other} differ, first for {scene} with {boxes}");
    }
    Ok(())
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
    let gpu = headless(args.adapter.as_deref()).with_context(|| match &args.adapter {
        Some(name) => format!("--adapter {name}"),
        None => "--engines gpu".to_owned(),
    });
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
    write_rows(results, out)?;
    let figures = charts::figures(results);
    for figure in &figures {
        figure.write(out)?;
    }
    write_file(&out.join("report.html"), &html::report(results, &figures)?)
}

fn write_rows(results: &Results, out: &Path) -> Result<()> {
    write_file(&out.join("results.json"), &results.json()?)?;
    write_file(&out.join("results.csv"), &results.csv())
}

fn write_file(path: &Path, text: &str) -> Result<()> {
    Output::check(path)?.write(|to| Ok(to.write_all(text.as_bytes())?))
}
