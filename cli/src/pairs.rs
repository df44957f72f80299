//! `broadsweep pairs`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use broadsweep::scenes::{Source, npy};
use broadsweep::{Aabb, CellSize, Options, PairOrder, SweepAxis};

use crate::engine::{Answer, Engine, MJ_SAP, Ready};
use crate::output::{Output, print};
use crate::progress::Progress;
use crate::report::Run;
use crate::stream::PairWriter;
use crate::text;
use crate::verify::verify;

/// The most boxes that --verify compares by brute force: some seconds of work.
const BRUTE_FORCE_BOXES: usize = 50_000;

/// Find every overlapping pair among the boxes of a .npy file, or of a scene
#[derive(clap::Args)]
pub struct Args {
    /// Boxes: an (n, 6) or (n, 2, 3) array of f4 or f8, minimum corners first; `-` is stdin
    ///
    /// Either byte order and either of C and Fortran order will do. f8 is rounded outward. KIND:N, such as
    /// clusters:1000000, is a scene that `broadsweep scene` would make with its seed 1.
    #[arg(value_name = "SCENE.npy")]
    scene: PathBuf,

    /// Who finds the pairs [default: the GPU if there is one, otherwise the CPU]
    ///
    /// After the first three, to compare with, on one thread: algorithms of the literature and, in a build with the
    /// feature `peers`, other libraries.
    #[arg(long, value_name = "ENGINE", value_parser = Engine::parser())]
    engine: Option<Engine>,

    /// The GPU adapter whose name contains this; `broadsweep adapters` lists them
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,

    /// The direction to sweep along; mj_sap takes x, y or z
    #[arg(long, value_enum, default_value = "auto")]
    axis: Axis,

    /// The edge of a grid cell: auto, usscd (the cost model of Li, Lu and He) or a number
    #[arg(long, value_name = "auto|usscd|NUMBER", default_value = "auto", value_parser = parse_cell_size)]
    #[arg(allow_negative_numbers = true)]
    cell_size: CellSize,

    /// Up to so many boxes, test every box against every other instead of sweeping [default: 2560]
    ///
    /// At most 32768. 0 always sweeps, and so does naming an axis or a cell size without this.
    #[arg(long, value_name = "N")]
    all_pairs_up_to: Option<u32>,

    /// The order of the pairs: ascending, or as the sweep meets them, which saves a sort
    #[arg(long, value_enum, default_value = "canonical")]
    order: Order,

    /// The most GPU memory to use, such as 512M or 2G
    #[arg(long, value_name = "SIZE", value_parser = text::parse_bytes)]
    memory_budget: Option<u64>,

    /// The most candidates to test; a scene with more is refused [default: 2^40]
    #[arg(long, value_name = "N")]
    candidate_limit: Option<u64>,

    /// Compare the pairs with those of the CPU engine
    ///
    /// The CPU engine's own are compared with brute force; of more than 50,000 boxes, those among the first
    /// 50,000. The report says what was compared. Where there is a difference, nothing is written.
    #[arg(long)]
    verify: bool,

    /// Where to write the pairs: an (m, 2) array of u4. `-` is stdout
    ///
    /// The GPU's pairs are written as they come, however many there are; with --verify, and by the other engines,
    /// they are held in memory first. In ascending order, a list of more than 16,777,216 pairs waits in a temporary
    /// file of its size, beside the result, to be merged.
    #[arg(long, value_name = "PAIRS.npy")]
    out: Option<PathBuf>,

    /// Print the report as one JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Axis {
    /// Whichever of the others separates the boxes best
    Auto,
    /// The principal axis of the centroids
    Principal,
    X,
    Y,
    Z,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Order {
    /// Ascending: the same file for every engine and option
    Canonical,
    /// As the sweep meets them
    Sweep,
}

fn parse_cell_size(text: &str) -> Result<CellSize, String> {
    match text {
        "auto" => Ok(CellSize::Auto),
        "usscd" => Ok(CellSize::Usscd),
        _ => match text.parse() {
            Ok(edge) if edge > 0.0 && edge < f32::INFINITY => Ok(CellSize::Fixed(edge)),
            _ => Err("it must be auto, usscd or a positive, finite number".to_owned()),
        },
    }
}

impl Args {
    fn options(&self) -> Options {
        let chose_sweep = !matches!((self.axis, self.cell_size), (Axis::Auto, CellSize::Auto));
        let all_pairs_up_to = if chose_sweep { 0 } else { Options::default().all_pairs_up_to };
        Options {
            all_pairs_up_to: self.all_pairs_up_to.unwrap_or(all_pairs_up_to),
            axis: match self.axis {
                Axis::Auto => SweepAxis::Auto,
                Axis::Principal => SweepAxis::Principal,
                Axis::X => SweepAxis::X,
                Axis::Y => SweepAxis::Y,
                Axis::Z => SweepAxis::Z,
            },
            cell_size: self.cell_size,
            order: match self.order {
                Order::Canonical => PairOrder::Canonical,
                Order::Sweep => PairOrder::Sweep,
            },
            memory_budget: self.memory_budget,
            candidate_limit: self.candidate_limit.unwrap_or(Options::default().candidate_limit),
            ..Options::default()
        }
    }

    /// Refuses what would be ignored.
    fn check(&self) -> Result<()> {
        let Some(engine) = self.engine.filter(|engine| *engine != Engine::Gpu) else {
            return Ok(());
        };
        let name = engine.name();
        ensure!(self.adapter.is_none(), "--adapter chooses a GPU, which --engine {name} does not use");
        ensure!(self.memory_budget.is_none(), "--memory-budget is for GPU memory, which --engine {name} does not use");
        if engine == Engine::Cpu {
            return Ok(());
        }
        ensure!(self.candidate_limit.is_none(), "--candidate-limit is for gpu and cpu, and --engine {name} has none");
        ensure!(
            self.all_pairs_up_to.is_none(),
            "--all-pairs-up-to is for engines that can do otherwise, which --engine {name} does not"
        );
        ensure!(
            self.axis == Axis::Auto || name == MJ_SAP && self.axis != Axis::Principal,
            "--axis is for gpu and cpu, and x, y or z for {MJ_SAP}, but --engine is {name}"
        );
        ensure!(self.cell_size == CellSize::Auto, "--cell-size is for gpu and cpu, but --engine is {name}");
        Ok(())
    }
}

/// Boxes from a file, from standard input (`-`), or of a scene (`KIND:N`).
fn read(scene: &Path) -> Result<Vec<Aabb>> {
    if scene == "-" {
        return npy::read_boxes_from(io::stdin().lock(), None)
            .map_err(|error| npy::FileError { path: scene.to_owned(), error }.into());
    }
    let source = match scene.to_str() {
        // A file that is there is that file, whatever its name.
        Some(text) if !scene.exists() => text.parse()?,
        _ => Source::File(scene.to_owned()),
    };
    Ok(source.boxes(1)?)
}

/// The pairs on their way to the output without being held in memory; `None` where the engine cannot.
fn stream(engine: &Ready, boxes: &[Aabb], options: Options, output: Option<&Output>) -> Option<Result<Answer>> {
    let Ready::Gpu(_) = engine else {
        return None;
    };
    let Some(output) = output else {
        return engine.stream_pairs(boxes, options, |_, _| Ok(()));
    };
    let written = output.write(|to| {
        let mut writer = PairWriter::new(to, options.order, output.directory());
        let answer = engine.stream_pairs(boxes, options, |report, piece| writer.add(report, piece)).transpose()?;
        writer.finish()?;
        Ok(answer)
    });
    written.transpose()
}

/// Runs `broadsweep pairs`.
pub fn run(args: &Args) -> Result<()> {
    args.check()?;
    let output = args.out.as_deref().map(Output::check).transpose()?;
    if let Some(output) = &output {
        ensure!(!output.is_file(&args.scene), "--out is the scene itself: {}", args.scene.display());
    }
    let boxes = {
        let _progress = Progress::start(format!("reading {}", args.scene.display()));
        read(&args.scene)?
    };
    let engine = Ready::choose(args.engine, args.adapter.as_deref())?;
    let streamed = if args.verify { None } else { stream(&engine, &boxes, args.options(), output.as_ref()) };
    let is_written = streamed.is_some();
    let answer = streamed.unwrap_or_else(|| engine.find_pairs(&boxes, args.options()))?;
    let verified = args.verify.then(|| verify(&answer, &boxes, args.options(), BRUTE_FORCE_BOXES)).transpose()?;
    if let Some(output) = output.as_ref().filter(|_| !is_written) {
        let _progress = Progress::start(format!("writing {} pairs", text::count(answer.pair_count)));
        output.write(|to| {
            npy::write_pairs_header(&mut *to, answer.pair_count)?;
            Ok(npy::write_pairs(to, &answer.pairs)?)
        })?;
    }
    let run = Run {
        scene: args.scene.display().to_string(),
        box_count: boxes.len(),
        engine: engine.describe(),
        answer: &answer,
        verified: verified.as_ref(),
        written: args.out.as_deref(),
    };
    let report = if args.json { format!("{}\n", run.json()) } else { run.lines() };
    if output.is_some_and(|output| output.is_stdout()) {
        io::stderr().write_all(report.as_bytes()).context("cannot write to standard error")
    } else {
        print(&report)
    }
}
