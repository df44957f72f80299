//! `broadsweep bench`.

mod usscd;
mod worlds;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Error, Result, bail, ensure};
use broadsweep::Gpu;
use indicatif::{ProgressBar, ProgressStyle};
use laboratory::bench::charts::{self, Figure};
use laboratory::bench::compare::compare;
use laboratory::bench::html;
use laboratory::bench::machine::{machine, versions};
use laboratory::bench::plan::{Measured, Plan, Watcher};
use laboratory::bench::results::{FORMAT, Results, Row, Settings, unique};
use laboratory::bench::scene::Scene;
use laboratory::bench::stop::{is_stopped, stop};
use laboratory::bench::table;
use laboratory::engine::Engine;

use crate::engine::{self, headless};
use crate::output::{Output, print};
use crate::progress::Progress;
use crate::say;

const SCENES: [&str; 4] = ["uniform", "clusters", "city", "brownian"];
const SIZES: [u32; 3] = [1000, 10_000, 100_000];
/// Where results go.
const OUT: &str = "bench-results";
/// The code with which a stopped process ends in a shell: 128 + SIGINT.
const STOPPED: u8 = 130;

/// Measure engines side by side, and compare their pairs
///
/// Every engine gets the same boxes, in turn, again and again. Of kinds of scenes that move each call sees the next
/// step, forward and back; of all others each call starts anew. The time is that of the whole call, for the GPU from
/// boxes in host memory to pairs in host memory. Ctrl-C stops after the run that it is in and keeps what was measured.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    experiment: Option<Experiment>,

    /// KIND in all sizes, KIND:N, or a .npy file [default: uniform,clusters,city,brownian]
    #[arg(long, value_name = "SCENE,...", value_delimiter = ',')]
    scenes: Vec<String>,

    /// Numbers of boxes, of scenes that are named by their kind alone [default: 1000,10000,100000]
    #[arg(long, value_name = "N,...", value_delimiter = ',')]
    n: Vec<u32>,

    /// Who takes part [default: all, without the GPU where there is none]
    #[arg(long, value_name = "ENGINE,...", value_delimiter = ',', value_parser = engine::parser())]
    engines: Vec<Engine>,

    /// Measured steps of scenes that move, after one that does not count [default: 8]
    ///
    /// Short calls go on, backward and forward through these steps, until they have taken 50 ms together or are 200.
    #[arg(long, value_name = "STEPS")]
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

/// An experiment that is measured in its own way.
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
struct Found {
    results: Results,
    /// The same results with the times of what was measured again, to be compared.
    confirmed: Option<Results>,
    /// The reason why a scene could not be measured.
    failure: Option<Error>,
}

/// Measures, writes the files and shows the table; returns `None` where the measurement was stopped before there was a
/// row.
fn measure(args: &Args, old: Option<&Results>) -> Result<Option<Found>> {
    let mut plan = plan(args, old.map(|old| &old.settings))?;
    let out = match (&args.out, old) {
        (Some(out), _) => Some(out.clone()),
        (None, None) => Some(PathBuf::from(OUT)),
        (None, Some(_)) => None,
    };
    if let Some(out) = &out {
        prepare(out)?;
    }
    let settings = settings(args, &plan, old);
    let gpu = open_gpu(&mut plan.engines, !args.engines.is_empty(), args.adapter.as_deref())?;
    ensure!(!plan.engines.is_empty(), "there is nothing else to measure");
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
    let mut screen = Screen { bar: bar(), results, out: out.as_deref() };
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
        let mut screen = Screen { bar: bar(), results: results.clone(), out: None };
        plan.confirm(gpu.as_ref(), old, args.threshold, &results, &mut screen)
    });
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

/// Returns what was asked for, and for the rest what the older results have.
fn plan(args: &Args, settings: Option<&Settings>) -> Result<Plan> {
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
    let has_sizes = |scene: &Scene| matches!(scene, Scene::Kind(_));
    if !args.n.is_empty() && !plan.scenes.iter().any(has_sizes) {
        let names: Vec<String> = plan.scenes.iter().map(Scene::name).collect();
        bail!("--n is for scenes named by their kind alone, such as uniform; {} has its own number", names.join(", "));
    }
    Ok(plan)
}

/// Returns the plan as it is kept with the results. Engines that only an older program has stay asked for.
fn settings(args: &Args, plan: &Plan, old: Option<&Results>) -> Settings {
    Settings {
        scenes: plan.scenes.iter().map(Scene::name).collect(),
        n: plan.sizes.clone(),
        engines: match old {
            Some(old) if args.engines.is_empty() => old.settings.engines.clone(),
            _ => plan.engines.iter().map(|engine| engine.name().to_owned()).collect(),
        },
        frames: plan.frames,
        runs: plan.runs,
        limit: plan.limit,
        seed: plan.seed,
    }
}

/// A bar with the time left on standard error, and the rows in files as they come.
struct Screen<'a> {
    bar: ProgressBar,
    results: Results,
    /// Where the files go.
    out: Option<&'a Path>,
}

/// Makes a bar that shows nothing where standard error is not a terminal.
fn bar() -> ProgressBar {
    let bar = ProgressBar::no_length();
    if let Ok(style) = ProgressStyle::with_template("{bar:24} {percent:>3} %, {eta} left  {msg}") {
        bar.set_style(style);
    }
    bar
}

impl Watcher for Screen<'_> {
    fn expect(&mut self, work: u64) {
        self.bar.reset();
        self.bar.set_length(work);
        self.bar.enable_steady_tick(Duration::from_millis(200));
    }

    fn begin(&mut self, what: &str) {
        self.bar.set_message(what.to_owned());
    }

    fn reach(&mut self, work: u64) {
        self.bar.set_position(work);
    }

    fn keep(&mut self, rows: &[Row]) {
        self.results.rows = rows.to_vec();
        self.results.unix_time = now();
        if let (Some(out), false) = (self.out, rows.is_empty()) {
            // What cannot be written now may be written later; if not, the error is reported then.
            let _ = write_rows(&self.results, out);
        }
    }

    fn finish(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// Returns the seconds since 1970.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
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
        ensure!(!engines.is_empty(), "none of the engines of the older results is in this program");
    }
    Ok(engines)
}

/// Opens the GPU if it is among the engines. Where they are not `named`, a machine without one goes on without it.
fn open_gpu(engines: &mut Vec<Engine>, named: bool, adapter: Option<&str>) -> Result<Option<Gpu>> {
    if !engines.contains(&Engine::Gpu) {
        ensure!(adapter.is_none(), "--adapter chooses a GPU, and --engines has no gpu");
        return Ok(None);
    }
    let _progress = Progress::start("looking for a GPU".to_owned());
    let gpu = headless(adapter).with_context(|| match adapter {
        Some(name) => format!("--adapter {name}"),
        None => "--engines gpu".to_owned(),
    });
    match gpu {
        Ok(gpu) => Ok(Some(gpu)),
        Err(error) if !named && adapter.is_none() => {
            say(&format!("note: without the GPU: {:#}", error.root_cause()));
            engines.retain(|engine| *engine != Engine::Gpu);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Makes Ctrl-C end the measurement after the run that it is in, and a second Ctrl-C at once.
fn stop_on_ctrl_c() -> Result<()> {
    let set = ctrlc::set_handler(|| {
        if stop() {
            std::process::exit(STOPPED.into());
        }
        say("stopping after this run; once more to stop at once");
    });
    Ok(set?)
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
    figures.iter().try_for_each(|figure| write_figure(out, figure))?;
    write_file(&out.join("report.html"), html::report(results, &figures)?)
}

fn write_rows(results: &Results, out: &Path) -> Result<()> {
    write_file(&out.join("results.json"), results.json()?)?;
    write_file(&out.join("results.csv"), results.csv())
}

/// Writes `DIR/NAME.svg` and `DIR/NAME.png`.
fn write_figure(dir: &Path, figure: &Figure) -> Result<()> {
    write_file(&dir.join(format!("{}.svg", figure.name)), figure.svg()?)?;
    write_file(&dir.join(format!("{}.png", figure.name)), figure.png()?)
}

fn write_file(path: &Path, contents: impl AsRef<[u8]>) -> Result<()> {
    Output::check(path)?.write(|to| Ok(to.write_all(contents.as_ref())?))
}
