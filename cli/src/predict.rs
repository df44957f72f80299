//! `broadsweep predict`: the time of a scene on GPUs that are not in this machine.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use broadsweep::{Options, PairOrder, cpu};
use clap::builder::{PossibleValuesParser, TypedValueParser};
use laboratory::model::cost::{Flow, Sort, Work};
use laboratory::model::gpu::{Gpu, KNOWN};
use laboratory::model::{Call, floor, predict};

use crate::output::print;
use crate::progress::Progress;
use crate::{input, text};

/// Predict the time of a scene on GPUs that are not in this machine
///
/// Each prediction is a range, from the time under the best assumptions about the GPU to the time under the worst
/// (docs/model.md). It excludes upload and read-back. The CPU engine counts the entries, tests and pairs of the scene.
#[derive(clap::Args)]
pub struct Args {
    /// Boxes, as `broadsweep pairs` takes them
    scene: PathBuf,

    /// Predict each kernel on this GPU [default: the sum of all kernels on each known GPU]
    #[arg(long, value_name = "NAME", value_parser = gpus())]
    gpu: Option<&'static Gpu>,

    /// Predict the sort for GPUs without subgroups
    #[arg(long)]
    portable: bool,

    /// Predict pairs in canonical order
    #[arg(long)]
    canonical: bool,
}

fn gpus() -> impl TypedValueParser<Value = &'static Gpu> {
    PossibleValuesParser::new(KNOWN.map(|gpu| gpu.name)).try_map(|name| Gpu::by_name(&name).ok_or("no such GPU"))
}

/// Runs `broadsweep predict`.
pub fn run(args: &Args) -> Result<()> {
    let (boxes, filters) = input::read(&args.scene)?;
    let report = {
        let _progress = Progress::start(format!("counting with {}", text::boxes(boxes.len() as u64)));
        let mut engine = cpu::BroadPhase::new(Options::default())?;
        engine.set_filters(filters)?;
        engine.find_pairs(&boxes)?.report.clone()
    };
    ensure!(report.box_count > 0, "the scene has no boxes; a prediction needs at least one");
    let work = Work::of(&report);
    let sort = if args.portable { Sort::Portable } else { Sort::Subgroup };
    let order = if args.canonical { PairOrder::Canonical } else { PairOrder::Sweep };
    let flow = Flow { tests_all_pairs: report.tested_all_pairs, sort, order };
    let on = |gpu| predict(gpu, &work, flow);
    let mut lines = format!(
        "{}: {}, {} entries, {} tests, {} pairs\npredicted, not measured\n\n",
        text::path(&args.scene),
        text::boxes(report.box_count.into()),
        text::count(report.entry_count.into()),
        text::count(report.candidate_count),
        text::count(report.pair_count),
    );
    match args.gpu {
        Some(gpu) => kernels(&mut lines, gpu, &work, &on(gpu))?,
        None => {
            for gpu in &KNOWN {
                let all = on(gpu).all;
                writeln!(lines, "{:<10} {:>8} to {:>8}", gpu.name, micros(all.least), micros(all.most))?;
            }
        }
    }
    print(&lines)
}

/// Writes a line for each kernel, their sum, and the least that memory allows.
fn kernels(lines: &mut String, gpu: &Gpu, work: &Work, call: &Call) -> Result<()> {
    for (kernel, dispatches, predicted) in &call.kernels {
        let (least, most) = (micros(predicted.least), micros(predicted.most));
        writeln!(lines, "{kernel:<14} {dispatches:>2} {least:>8} to {most:>8}")?;
    }
    let dispatches: f64 = call.kernels.iter().map(|(_, dispatches, _)| dispatches).sum();
    let (least, most) = (micros(call.all.least), micros(call.all.most));
    writeln!(lines, "{:<14} {dispatches:>2} {least:>8} to {most:>8}", gpu.name)?;
    writeln!(lines, "{:<17} {:>8}", "reading the boxes and writing the pairs alone", micros(floor(gpu, work)))?;
    Ok(())
}

/// Writes nanoseconds as microseconds.
fn micros(nanoseconds: f64) -> String {
    format!("{:.0} µs", nanoseconds / 1e3)
}
