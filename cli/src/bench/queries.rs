//! `broadsweep bench queries`: rays, boxes and points as queries of our trees, algorithms of the literature and other
//! libraries.

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use laboratory::bench::machine::machine;
use laboratory::bench::queries::{COLUMNS, Plan, Row, figures, pool};
use laboratory::bench::results::unique;
use laboratory::bench::scene::Scene;
use laboratory::bench::stop::is_stopped;
use laboratory::engine::Engine;
use laboratory::queries::race::Effort;
use laboratory::queries::{self, GPU, Listing};

use super::files::write_figure;
use super::setup::{STOPPED, open_gpu, stop_on_ctrl_c};
use crate::output::{Output, print};
use crate::progress::Progress;
use crate::{say, text};

/// Measure queries: rays, overlaps and nearest boxes
///
/// Every engine gets the same boxes and the same batches, in turn. Answers are compared with those of the first engine.
/// Ctrl-C stops after the current batch and keeps the finished scenes.
#[derive(clap::Args)]
pub struct Args {
    /// The directory for `queries.csv` and the figures; created if there is none
    #[arg(long, value_name = "DIR", default_value = "queries-out")]
    out: PathBuf,

    /// KIND in all sizes, KIND:N, or a .npy file
    #[arg(long, value_name = "SCENE,...", value_delimiter = ',', default_value = "uniform,clusters,city")]
    scenes: Vec<String>,

    /// Box counts, for scenes without a count
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1000,10000,100000")]
    n: Vec<u32>,

    /// The engines to measure [default: all, without the GPU if there is none]
    #[arg(long, value_name = "ENGINE,...", value_delimiter = ',', value_parser = parser())]
    engines: Vec<String>,

    /// The first GPU adapter whose name contains NAME; `broadsweep adapters` lists them
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,

    /// The count of rays in a batch; kinds of queries with many answers have fewer
    #[arg(long, value_name = "N", default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(1..))]
    queries: u32,

    /// The count of measured calls of each batch, after two warm-up calls
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,

    /// The time of a call above which it is the last one; it is measured too
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0, allow_negative_numbers = true)]
    limit: f64,

    /// The thread count of our CPU engine; all others use one
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=1 << 10))]
    threads: u32,

    /// The same seed gives the same boxes and queries, on every machine
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Parses `--engines`.
fn parser() -> impl TypedValueParser<Value = String> {
    let value = |listing: &Listing| PossibleValue::new(listing.name).help(listing.description);
    PossibleValuesParser::new(queries::ALL.iter().map(value).collect::<Vec<_>>())
}

/// Runs `broadsweep bench queries`.
pub fn run(args: &Args) -> Result<ExitCode> {
    ensure!(args.limit > 0.0, "--limit is {}; it must be above 0", args.limit);
    let scenes = unique(args.scenes.iter().map(|name| Scene::parse(name)).collect::<Result<Vec<_>>>()?.into_iter());
    fs::create_dir_all(&args.out).with_context(|| format!("cannot create the directory {}", args.out.display()))?;
    // Finds out before any long work whether it can be written.
    let csv = Output::check(&args.out.join("queries.csv"))?;
    let is_chosen = |name: &str| args.engines.is_empty() || args.engines.iter().any(|engine| engine == name);
    let mut engines: Vec<&Listing> = queries::ALL.iter().filter(|listing| is_chosen(listing.name)).collect();
    let mut on_gpu: Vec<Engine> = engines.iter().filter(|engine| engine.name == GPU).map(|_| Engine::Gpu).collect();
    let gpu = open_gpu(&mut on_gpu, !args.engines.is_empty(), args.adapter.as_deref())?;
    engines.retain(|engine| engine.name != GPU || gpu.is_some());
    let plan = Plan {
        engines,
        gpu: gpu.as_ref(),
        pool: pool(args.threads as usize)?,
        rays: args.queries as usize,
        effort: Effort { runs: args.runs as usize, limit_ms: 1e3 * args.limit },
        seed: args.seed,
    };
    let machine = machine(gpu.as_ref());
    stop_on_ctrl_c()?;
    print(&format!(
        "Nanoseconds of a query, and the queries with the same answers.\n\n{:<14}{:>10}  {:<28}{:>11}{:>10}{:>8}\n",
        "scene", "boxes", "question", "", "ns", "equal",
    ))?;
    let mut rows: Vec<Row> = Vec::new();
    let mut lines = format!("{COLUMNS}\n");
    for (scene, n) in scenes.iter().flat_map(|scene| scene.sizes(&args.n).into_iter().map(move |n| (scene, n))) {
        let measured = {
            let _progress = Progress::start(format!("{} of {}", scene.title(), text::boxes(n.into())));
            plan.measure(&scene.title(), &scene.boxes(n, args.seed, 0)?, say)?
        };
        for row in &measured {
            show(row)?;
            lines += &row.line(plan.device(row.engine, &machine));
        }
        rows.extend(measured);
        csv.write(|to| Ok(to.write_all(lines.as_bytes())?))?;
        figures(&rows).iter().try_for_each(|figure| write_figure(&args.out, figure))?;
        if is_stopped() {
            break;
        }
    }
    print(&format!("\nwritten: {}, and the figures as SVG and PNG\n", args.out.join("queries.csv").display()))?;
    Ok(if is_stopped() { ExitCode::from(STOPPED) } else { ExitCode::SUCCESS })
}

fn show(row: &Row) -> Result<()> {
    let equal = row.answers.map_or(String::new(), |(_, equal)| format!("{:.1} %", 100.0 * share(equal, row.queries)));
    print(&format!(
        "{:<14}{:>10}  {:<28}{:>11}{:>10.0}{equal:>8}\n",
        row.scene,
        text::count(row.boxes as u64),
        row.question,
        row.engine,
        row.ns_each(),
    ))
}

fn share(part: u64, all: usize) -> f64 {
    part as f64 / all.max(1) as f64
}
