//! `broadsweep join`.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use broadsweep::{Aabb, Filters, Options};

use crate::choices::Order;
use crate::output::Output;
use crate::pairs::{Outputs, Search, find_and_write};
use crate::progress::Progress;
use crate::queries::Engine;
use crate::ready::Ready;
use crate::report::Run;
use crate::{input, text};

/// Find every overlapping pair of a box of A and a box of B
///
/// Box counts in the report include both sets. Indices of invalid boxes continue from A to B.
#[derive(clap::Args)]
pub struct Args {
    /// The boxes of the first set, as `broadsweep pairs` takes them, without filters; `-` is stdin
    #[arg(value_name = "A.npy")]
    first: PathBuf,

    /// The boxes of the second set, in the same format
    #[arg(value_name = "B.npy")]
    second: PathBuf,

    /// The engine that finds the pairs [default: gpu if there is a GPU, otherwise cpu]
    #[arg(long, value_enum)]
    engine: Option<Engine>,

    /// The first GPU adapter whose name contains NAME; `broadsweep adapters` lists them
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,

    /// The order of the pairs: ascending, or as the sweep finds them, which saves a sort
    #[arg(long, value_enum, default_value = "canonical")]
    order: Order,

    /// The limit of GPU memory, such as 512M or 2G
    #[arg(long, value_name = "SIZE", value_parser = text::parse_bytes)]
    memory_budget: Option<u64>,

    /// Compare the pairs with those of another engine, as `broadsweep pairs` does
    #[arg(long)]
    verify: bool,

    /// The file for the pairs: an (m, 2) array of u4, an index in A and an index in B; `-` is stdout
    #[arg(long, value_name = "PAIRS.npy")]
    out: Option<PathBuf>,

    /// Print the report as one JSON object
    #[arg(long)]
    json: bool,
}

/// Reads the boxes of one set.
fn read(path: &Path) -> Result<Vec<Aabb>> {
    let _progress = Progress::start(format!("reading {}", text::path(path)));
    let (boxes, filters) = input::read(path)?;
    ensure!(
        filters.is_empty(),
        "{} has filters, which a join does not take; use `broadsweep pairs` with the filter `second`",
        text::path(path)
    );
    Ok(boxes)
}

/// Runs `broadsweep join`.
pub fn run(args: &Args) -> Result<()> {
    let pairs = args.out.as_deref().map(Output::check).transpose()?;
    for path in [&args.first, &args.second] {
        let is_input = pairs.as_ref().is_some_and(|output| output.is_file(path));
        ensure!(!is_input, "--out is one of the sets itself: {}; give another file", text::path(path));
    }
    ensure!(
        args.first != Path::new("-") || args.second != Path::new("-"),
        "A and B are both `-`; only one of the sets can be stdin"
    );
    if let Some(engine @ (Engine::Cpu | Engine::Brute)) = args.engine {
        let name = engine.of_pairs().name();
        ensure!(args.adapter.is_none(), "--adapter selects a GPU, which --engine {name} does not use");
        ensure!(args.memory_budget.is_none(), "--memory-budget is for GPU memory, which --engine {name} does not use");
    }
    let outputs = Outputs { pairs, worlds: None };
    let mut boxes = read(&args.first)?;
    let first_set = u32::try_from(boxes.len()).context("A has too many boxes: the limit is 2^32 - 1")?;
    boxes.append(&mut read(&args.second)?);
    let second = (0..boxes.len()).map(|i| i >= first_set as usize).collect();
    let filters = Filters::default().with_second(second);
    let engine = Ready::choose(args.engine.map(Engine::of_pairs), args.adapter.as_deref())?;
    let (order, memory_budget) = (args.order.pair_order(), args.memory_budget);
    let options = Options::default().with_order(order).with_memory_budget(memory_budget);
    let search = Search { boxes: &boxes, filters: &filters, options, verify: args.verify, first_set: Some(first_set) };
    let (answer, verified) = find_and_write(&engine, &search, &outputs)?;
    let run = Run {
        scene: format!("{}, {}", args.first.display(), args.second.display()),
        box_count: boxes.len(),
        filters: &filters,
        engine: engine.describe(),
        answer: &answer,
        verified: verified.as_ref(),
        written: args.out.as_deref(),
        by_world: None,
    };
    outputs.print_report(&if args.json { format!("{}\n", run.json()) } else { run.lines() })
}
