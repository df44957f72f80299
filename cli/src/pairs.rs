//! `broadsweep pairs`.

use std::fmt::Write as _;
use std::path::PathBuf;

use anyhow::{Result, ensure};
use broadsweep::filter::{ByWorld, GroupRule};
use broadsweep::{Aabb, CellSize, Filters, Options, Overlaps, Pair};
use laboratory::engine::{Engine, MJ_SAP};
use laboratory::scenes::npy;

use crate::choices::{Axis, Order, RuleName, parse_cell_size};
use crate::engine;
use crate::output::{Output, print_report};
use crate::progress::Progress;
use crate::ready::{Answer, Ready};
use crate::report::Run;
use crate::stream::PairWriter;
use crate::verify::{Verified, verify};
use crate::{input, text};

/// The most boxes that --verify compares by brute force: some seconds of work.
const BRUTE_FORCE_BOXES: usize = 50_000;

/// Find every overlapping pair among the boxes of a .npy or .npz file, or of a scene
#[derive(clap::Args)]
pub struct Args {
    /// Boxes: an (n, 6) or (n, 2, 3) array, in 2D (n, 4) or (n, 2, 2), minimum corners first; `-` is stdin
    ///
    /// The array has floats or integers, in either byte order and in C or Fortran order. Numbers that float32 does not
    /// represent are rounded outward. 2D boxes have z = 0. KIND:N, such as clusters:1000000, is the scene that
    /// `broadsweep scene` generates with seed 1.
    ///
    /// An .npz file of np.savez or np.savez_compressed has this array as `boxes`, and optional filters. One value per
    /// box: u4 `group` and `mask` (see --rule); u4 `body` (boxes of one body never pair); u4 `parent` (a box never
    /// pairs with boxes of its body's parent; 2^32 - 1 is none); u4 `world` (boxes of different worlds never pair;
    /// 2^32 - 1 is all worlds); `margin` (pads the box and its sphere); (n, 4) `sphere`, in 2D (n, 3), the centre and
    /// the radius of a sphere for each box, with an infinite radius for none (the spheres must touch too); b1 or u1
    /// `fixed` and `sleeping` (two such boxes never pair); b1 or u1 `second` (the box is in the second of two sets;
    /// boxes of one set never pair). Pairs of boxes, u4 (m, 2): `exclude` (never reported) and `include` (always
    /// reported). Half-spaces, x n_x + y n_y + z n_z <= d: (h, 4) `half_space`, rows of n_x, n_y, n_z, d, and u4 (h,)
    /// `half_space_box`, the box that represents each. (2, 3) `owner`, a region: reports only pairs whose intersection
    /// has its lower corner in it.
    #[arg(value_name = "SCENE.npy|SCENE.npz")]
    scene: PathBuf,

    /// The rule by which `group` and `mask` of an .npz file let two boxes pair [default: any]
    #[arg(long, value_enum)]
    rule: Option<RuleName>,

    /// The engine that finds the pairs [default: gpu if there is a GPU, otherwise cpu]
    ///
    /// A software driver does not count as a GPU: the CPU engine is faster on the same cores. The engines after the
    /// first three are for comparison and use one thread: algorithms of the literature and, in a build with the feature
    /// `peers`, other libraries.
    #[arg(long, value_name = "ENGINE", value_parser = engine::parser())]
    engine: Option<Engine>,

    /// The first GPU adapter whose name contains NAME; `broadsweep adapters` lists them
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,

    /// The direction of the sweep; mj_sap takes x, y or z
    #[arg(long, value_enum, default_value = "auto")]
    axis: Axis,

    /// The edge length of a grid cell: auto, usscd (the cost model of Li, Lu and He) or a number
    #[arg(long, value_name = "auto|usscd|NUMBER", default_value = "auto", value_parser = parse_cell_size)]
    #[arg(allow_negative_numbers = true)]
    cell_size: CellSize,

    /// Up to N boxes, test all pairs instead of sweeping [default: by the kind of device]
    ///
    /// The default is 12288 on a discrete GPU, 4096 on an integrated or virtual one, 2560 on any other adapter and 1024
    /// for the CPU engine; the report prints it. The maximum is 32768. 0 always sweeps, and so do --axis and
    /// --cell-size without this option.
    #[arg(long, value_name = "N")]
    all_pairs_up_to: Option<u32>,

    /// The order of the pairs: ascending, or as the sweep finds them, which saves a sort
    #[arg(long, value_enum, default_value = "canonical")]
    order: Order,

    /// The limit of GPU memory, such as 512M or 2G
    #[arg(long, value_name = "SIZE", value_parser = text::parse_bytes)]
    memory_budget: Option<u64>,

    /// The limit of candidates to test; more are an error [default: 2^40]
    #[arg(long, value_name = "N")]
    candidate_limit: Option<u64>,

    /// Compare the pairs with those of the CPU engine
    ///
    /// The pairs of the CPU engine itself are compared with brute force, up to the first 50,000 boxes. The report
    /// prints the compared part. A difference is an error, and nothing is written.
    #[arg(long)]
    verify: bool,

    /// The file for the pairs: an (m, 2) array of u4; `-` is stdout
    ///
    /// The GPU engine streams a list of any length to the file. With --verify or another engine, memory holds the whole
    /// list. A temporary file of the list's size, beside the result or in the directory for temporary files, holds the
    /// pairs of several passes, and in ascending order a list of more than 16,777,216 pairs.
    #[arg(long, value_name = "PAIRS.npy")]
    out: Option<PathBuf>,

    /// The file for the worlds: CSV with the columns world,boxes,pairs,first_pair, ascending; `-` is stdout
    ///
    /// The pairs of --out are then sorted by world; first_pair is the index of the first pair of each world. A pair
    /// with a box that is in all worlds belongs to the other box's world. Memory holds the whole list.
    #[arg(long, value_name = "WORLDS.csv")]
    by_world: Option<PathBuf>,

    /// Print the report as one JSON object
    #[arg(long)]
    json: bool,
}

impl Args {
    fn options(&self) -> Options {
        let chose_sweep = !matches!((self.axis, self.cell_size), (Axis::Auto, CellSize::Auto));
        Options::default()
            .with_all_pairs_up_to(self.all_pairs_up_to.or(chose_sweep.then_some(0)))
            .with_axis(self.axis.sweep_axis())
            .with_cell_size(self.cell_size)
            .with_order(self.order.pair_order())
            .with_memory_budget(self.memory_budget)
            .with_candidate_limit(self.candidate_limit.unwrap_or(Options::default().candidate_limit))
    }

    /// Refuses options that would be ignored.
    fn check(&self) -> Result<()> {
        let Some(engine) = self.engine.filter(|engine| *engine != Engine::Gpu) else {
            return Ok(());
        };
        let name = engine.name();
        ensure!(self.adapter.is_none(), "--adapter selects a GPU, which --engine {name} does not use");
        ensure!(self.memory_budget.is_none(), "--memory-budget is for GPU memory, which --engine {name} does not use");
        if engine == Engine::Cpu {
            return Ok(());
        }
        ensure!(self.by_world.is_none(), "--by-world needs --engine gpu or cpu, and --engine is {name}");
        ensure!(self.candidate_limit.is_none(), "--candidate-limit needs --engine gpu or cpu, and --engine is {name}");
        ensure!(self.all_pairs_up_to.is_none(), "--all-pairs-up-to needs --engine gpu or cpu, and --engine is {name}");
        ensure!(
            self.axis == Axis::Auto || name == MJ_SAP && self.axis != Axis::Principal,
            "--axis needs --engine gpu or cpu, or x, y or z with {MJ_SAP}, and --engine is {name}"
        );
        ensure!(self.cell_size == CellSize::Auto, "--cell-size needs --engine gpu or cpu, and --engine is {name}");
        Ok(())
    }
}

/// The boxes to search, and how to process the pairs.
pub struct Search<'a> {
    pub boxes: &'a [Aabb],
    pub filters: &'a Filters,
    pub options: Options,
    pub verify: bool,
    /// How many boxes are of the first of two sets, if the second box of a pair is numbered within the second.
    pub first_set: Option<u32>,
}

/// Numbers the second box of each pair within the set behind the first one.
fn number_second(pairs: &mut [Pair], first_set: u32) {
    for pair in pairs {
        pair.b -= first_set;
    }
}

/// Writes the pairs to the output without holding them in memory; `None` where the engine cannot.
fn stream(engine: &Ready, search: &Search<'_>, output: Option<&Output>) -> Option<Result<Answer>> {
    let &Search { boxes, filters, options, first_set, .. } = search;
    let Ready::Gpu(_) = engine else {
        return None;
    };
    let Some(output) = output else {
        return engine.stream_pairs(boxes, filters, options, |_, _| Ok(()));
    };
    let written = output.write(|to| {
        let mut writer = PairWriter::new(to, options.order, output.directory());
        let mut numbered = Vec::new();
        let answer = engine.stream_pairs(boxes, filters, options, |report, piece| {
            let Some(first_set) = first_set else { return writer.add(report, piece) };
            numbered.clear();
            numbered.extend_from_slice(piece);
            number_second(&mut numbered, first_set);
            writer.add(report, &numbered)
        });
        let answer = answer.transpose()?;
        writer.finish()?;
        Ok(answer)
    });
    written.transpose()
}

/// Puts the pairs of the answer in the order of their worlds, and returns what is known of each world.
fn split(answer: &mut Answer, filters: &Filters) -> Result<Option<ByWorld>> {
    let Some(report) = answer.report.clone() else {
        return Ok(None);
    };
    if report.box_count == 0 {
        return Ok(Some(ByWorld::default()));
    }
    let overlaps = Overlaps::new(std::mem::take(&mut answer.pairs), report);
    let mut by_world = overlaps.by_world(filters)?;
    answer.pairs = std::mem::take(&mut by_world.pairs);
    Ok(Some(by_world))
}

/// Writes worlds as CSV.
fn table(by_world: &ByWorld) -> String {
    let mut table = "world,boxes,pairs,first_pair\n".to_owned();
    for ((world, boxes), ends) in by_world.worlds.iter().zip(&by_world.box_counts).zip(by_world.offsets.windows(2)) {
        let _ = writeln!(table, "{world},{boxes},{},{}", ends[1] - ends[0], ends[0]);
    }
    table
}

/// The files that a run writes.
pub struct Outputs {
    pub pairs: Option<Output>,
    pub worlds: Option<Output>,
}

impl Outputs {
    /// Finds out, before any long work, whether they can be written.
    fn check(args: &Args) -> Result<Self> {
        let pairs = args.out.as_deref().map(Output::check).transpose()?;
        let worlds = args.by_world.as_deref().map(Output::check).transpose()?;
        for (option, output) in [("--out", &pairs), ("--by-world", &worlds)] {
            let is_scene = output.as_ref().is_some_and(|output| output.is_file(&args.scene));
            ensure!(!is_scene, "{option} is the scene itself: {}; give another file", text::path(&args.scene));
        }
        let is_same = pairs.as_ref().zip(worlds.as_ref()).is_some_and(|(pairs, worlds)| pairs == worlds);
        ensure!(!is_same, "--out and --by-world are the same file; give one of them another file");
        Ok(Self { pairs, worlds })
    }

    /// Prints a report where it does not spoil an array.
    pub fn print_report(&self, report: &str) -> Result<()> {
        print_report(report, [&self.pairs, &self.worlds].into_iter().flatten())
    }
}

/// Reads the scene, with the requested rule.
fn read_scene(args: &Args) -> Result<(Vec<Aabb>, Filters)> {
    let _progress = Progress::start(format!("reading {}", text::path(&args.scene)));
    let (boxes, mut filters) = input::read(&args.scene)?;
    // Lists of no boxes are empty, whether they are there or not.
    ensure!(
        args.rule.is_none() || boxes.is_empty() || !(filters.group.is_empty() && filters.mask.is_empty()),
        "--rule applies to `group` and `mask` of an .npz file, and the scene has neither; leave --rule out"
    );
    filters.rule = args.rule.map_or(GroupRule::Any, RuleName::rule);
    let has_worlds = boxes.is_empty() || !filters.world.is_empty();
    ensure!(
        args.by_world.is_none() || has_worlds,
        "--by-world needs a scene with `world`, and this one has none; add it to the .npz file"
    );
    Ok((boxes, filters))
}

/// Finds the pairs, compares them if requested, and writes them.
pub fn find_and_write(engine: &Ready, search: &Search<'_>, outputs: &Outputs) -> Result<(Answer, Option<Verified>)> {
    let is_held = search.verify || outputs.worlds.is_some();
    if !is_held && let Some(answer) = stream(engine, search, outputs.pairs.as_ref()) {
        return Ok((answer?, None));
    }
    let &Search { boxes, filters, options, first_set, .. } = search;
    let mut answer = match first_set {
        Some(first_set) => engine.find_pairs_between(boxes, first_set, filters, options)?,
        None => engine.find_pairs(boxes, filters, options)?,
    };
    let verify = || verify(&answer, boxes, filters, options, BRUTE_FORCE_BOXES);
    let verified = search.verify.then(verify).transpose()?;
    if let Some(first_set) = first_set {
        number_second(&mut answer.pairs, first_set);
    }
    let by_world = if outputs.worlds.is_some() { split(&mut answer, filters)? } else { None };
    if let Some(output) = &outputs.pairs {
        let _progress = Progress::start(format!("writing {} pairs", text::count(answer.pair_count)));
        output.write(|to| {
            npy::write_pairs_header(&mut *to, answer.pair_count)?;
            Ok(npy::write_pairs(to, &answer.pairs)?)
        })?;
    }
    if let (Some(output), Some(by_world)) = (&outputs.worlds, &by_world) {
        output.write(|to| Ok(to.write_all(table(by_world).as_bytes())?))?;
    }
    Ok((answer, verified))
}

/// Runs `broadsweep pairs`.
pub fn run(args: &Args) -> Result<()> {
    args.check()?;
    let outputs = Outputs::check(args)?;
    let (boxes, filters) = read_scene(args)?;
    let engine = Ready::choose(args.engine, args.adapter.as_deref())?;
    ensure!(
        filters.is_empty() || engine.engine().takes_filters(),
        "--engine {} takes no filters, and {} has filters; take --engine gpu, cpu or brute",
        engine.engine().name(),
        text::path(&args.scene)
    );
    let (boxes, filters) = (&boxes[..], &filters);
    let search = Search { boxes, filters, options: args.options(), verify: args.verify, first_set: None };
    let (answer, verified) = find_and_write(&engine, &search, &outputs)?;
    let run = Run {
        scene: args.scene.display().to_string(),
        box_count: boxes.len(),
        filters,
        engine: engine.describe(),
        answer: &answer,
        verified: verified.as_ref(),
        written: args.out.as_deref(),
        by_world: args.by_world.as_deref(),
    };
    outputs.print_report(&if args.json { format!("{}\n", run.json()) } else { run.lines() })
}
