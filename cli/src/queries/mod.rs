//! What queries have in common: where they come from, who answers them, and where the answers go.

pub mod nearest;
pub mod overlaps;
pub mod rays;
mod tree;

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use broadsweep::{Aabb, Batch, Filters, GroupRule, Lists, QueryFilters, QueryReport, Tree, TreeReport};
use clap::ValueEnum;
use laboratory::engine::timed;
use laboratory::scenes::npy::{self, Array};
use rawzip::{CompressionMethod, FileReader, ZipArchiveWriter};
use serde_json::json;

use self::tree::AnyTree;
use crate::choices::RuleName;
use crate::npz::{self, Arrays};
use crate::output::{Output, print_report};
use crate::progress::Progress;
use crate::ready::Ready;
use crate::{input, text};

/// The most tests that --verify makes by brute force: some seconds of work.
const BRUTE_FORCE_TESTS: usize = 1 << 29;

/// Queries that are asked for the sake of the kernels, before time is taken.
const FIRST: usize = 2048;

/// Arrays that a file of queries may have beside the queries.
const FILTERS: [&str; 5] = ["group", "mask", "body", "world", "ignore"];

/// Who answers queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// On the GPU
    Gpu,
    /// On all cores of the CPU
    Cpu,
    /// Everything against every box, on one thread
    Brute,
}

/// What all commands with queries take.
#[derive(clap::Args)]
pub struct Common {
    /// When `group` and `mask` of boxes and queries let them meet [default: any]
    #[arg(long, value_enum)]
    rule: Option<RuleName>,

    /// Who answers [default: gpu where there is a real one, otherwise cpu]
    ///
    /// All answer the same, bit for bit. A driver in software is no real GPU: the CPU engine is faster on the same cores.
    #[arg(long, value_enum)]
    engine: Option<Engine>,

    /// The GPU to use: the first whose name contains this, upper and lower case alike
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,

    /// Compare the answers with brute force
    ///
    /// Of many queries, those that take some seconds: the report says how many. Where there is a difference, nothing is
    /// written.
    #[arg(long)]
    verify: bool,

    /// Where to write the answers, as np.load reads them; `-` is stdout
    #[arg(long, value_name = "ANSWERS.npz")]
    out: Option<PathBuf>,

    /// Print the report as one JSON object
    #[arg(long)]
    json: bool,
}

/// Queries and what each of them says beside its shape.
pub struct Asked<Q> {
    pub queries: Vec<Q>,
    pub filters: QueryFilters,
}

impl Engine {
    /// Returns the engine of pairs of the same name.
    pub fn of_pairs(self) -> laboratory::engine::Engine {
        match self {
            Self::Gpu => laboratory::engine::Engine::Gpu,
            Self::Cpu => laboratory::engine::Engine::Cpu,
            Self::Brute => laboratory::engine::Engine::Brute,
        }
    }
}

impl<Q> Asked<Q> {
    /// Returns queries that say nothing more.
    pub fn plain(queries: Vec<Q>) -> Self {
        Self { queries, filters: QueryFilters::default() }
    }

    /// Returns all of them as a batch.
    pub fn batch(&self) -> Batch<'_, Q> {
        Batch { queries: &self.queries, filters: &self.filters }
    }
}

impl<Q: Clone> Asked<Q> {
    /// Returns the first queries.
    fn first(&self, count: usize) -> Self {
        let cut = |list: &Vec<u32>| list[..list.len().min(count)].to_vec();
        let QueryFilters { group, mask, body, world, ignore, skips_start } = &self.filters;
        let filters = QueryFilters {
            group: cut(group),
            mask: cut(mask),
            body: cut(body),
            world: cut(world),
            ignore: cut(ignore),
            skips_start: *skips_start,
        };
        Self { queries: self.queries[..count].to_vec(), filters }
    }
}

/// Reads rows of a `.npy` file, of one of the widths.
fn rows(path: &Path, what: &str, widths: &[u64]) -> Result<(u64, Vec<f32>)> {
    let read = || {
        let file = std::fs::File::open(path)?;
        let length = file.metadata()?;
        ensure!(!length.is_dir(), "it is a directory");
        let array = Array::open(file, length.is_file().then_some(length.len()))?;
        let width = match *array.shape() {
            [_, width] if widths.contains(&width) => width,
            _ => {
                let needed: Vec<String> = widths.iter().map(|width| format!("(m, {width})")).collect();
                bail!("its shape is {}; {} is needed for {what}", npz::shape(array.shape()), needed.join(" or "));
            }
        };
        Ok((width, array.read::<f32>()?))
    };
    read().map_err(|error| anyhow!("cannot read {}: {error:#}", text::path(path)))
}

/// Reads what queries say beside their shapes.
fn filters_of(arrays: &Arrays<FileReader>, count: usize) -> Result<QueryFilters> {
    let list = |name| -> Result<Vec<u32>> { Ok(arrays.column(name, count, "query")?.unwrap_or_default()) };
    Ok(QueryFilters {
        group: list("group")?,
        mask: list("mask")?,
        body: list("body")?,
        world: list("world")?,
        ignore: list("ignore")?,
        skips_start: false,
    })
}

/// Splits KIND:N, unless there is such a file.
fn made(path: &Path) -> Option<(&str, usize)> {
    let (kind, count) = path.to_str().filter(|_| !path.exists())?.split_once(':')?;
    Some((kind, count.parse().ok()?))
}

/// Asks for the memory of this many things before they are made.
fn reserved<T>(count: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve_exact(count)
        .map_err(|_| anyhow!("there is no memory for {} of them", text::count(count as u64)))?;
    Ok(list)
}

/// Returns rows of `k` answers each, filled up with `none`, as two columns.
fn padded<T: Copy, A, B>(lists: &Lists<T>, k: usize, none: T, split: impl Fn(T) -> (A, B)) -> Result<(Vec<A>, Vec<B>)> {
    let count = lists.len().checked_mul(k).context("there is no memory for so many answers")?;
    let (mut a, mut b) = (reserved(count)?, reserved(count)?);
    for row in lists {
        for (own, other) in row.iter().copied().chain(std::iter::repeat_n(none, k - row.len())).map(&split) {
            a.push(own);
            b.push(other);
        }
    }
    Ok((a, b))
}

/// A command with queries that is being run.
pub struct Run<'a> {
    pub common: &'a Common,
    scene: &'a Path,
    pub boxes: Vec<Aabb>,
    pub filters: Filters,
    output: Option<Output>,
    engine: Ready,
    /// The tree, unless the answers come by brute force.
    tree: Option<RefCell<AnyTree>>,
    build_seconds: f64,
}

impl<'a> Run<'a> {
    /// Reads the scene and builds its tree.
    pub fn start(scene: &'a Path, asked: &Path, common: &'a Common) -> Result<Self> {
        let output = common.out.as_deref().map(Output::check).transpose()?;
        for (what, path) in [("scene", scene), ("file of the queries", asked)] {
            let is_same = output.as_ref().is_some_and(|output| output.is_file(path));
            ensure!(!is_same, "--out is the {what} itself: {}", text::path(path));
        }
        let (boxes, mut filters) = {
            let _progress = Progress::start(format!("reading {}", text::path(scene)));
            input::read(scene)?
        };
        filters.rule = common.rule.map_or(GroupRule::Any, RuleName::rule);
        ensure!(
            filters.half_spaces.is_empty(),
            "{} has half-spaces, which queries do not know; leave `half_space` and `half_space_box` out",
            text::path(scene)
        );
        ensure!(
            filters.owner.is_none(),
            "{} has an owner region, which queries do not know; leave `owner` out",
            text::path(scene)
        );
        if let (Some(engine @ (Engine::Cpu | Engine::Brute)), Some(_)) = (common.engine, &common.adapter) {
            let name = engine.of_pairs().name();
            bail!("--adapter chooses a GPU, which --engine {name} does not use");
        }
        let engine = Ready::choose(common.engine.map(Engine::of_pairs), common.adapter.as_deref())?;
        let mut tree = match &engine {
            Ready::Gpu(gpu) => AnyTree::Gpu(Box::new(Tree::new(gpu)?)),
            Ready::Other(laboratory::engine::Engine::Brute) => {
                filters.check(boxes.len())?;
                return Ok(Self { common, scene, boxes, filters, output, engine, tree: None, build_seconds: 0.0 });
            }
            Ready::Other(_) => AnyTree::Cpu(Box::default()),
        };
        let progress = Progress::start(format!("building a tree of {}", text::boxes(boxes.len() as u64)));
        tree.set_filters(filters.clone())?;
        if matches!(engine, Ready::Gpu(_)) {
            // The first build waits for kernels to be compiled.
            tree.build(&boxes)?;
        }
        let (result, build_seconds) = timed(|| tree.build(&boxes));
        result?;
        drop(progress);
        let tree = Some(RefCell::new(tree));
        Ok(Self { common, scene, boxes, filters, output, engine, tree, build_seconds })
    }

    /// Answers with the tree or by brute force, compares the `first` answers where that was asked for, writes them and prints
    /// the report. `arrays` writes them as named arrays.
    #[allow(clippy::too_many_arguments)] // what differs from one kind of query to another
    pub fn finish<Q: Clone, T, K: PartialEq>(
        &self,
        asked: &Asked<Q>,
        kind: &str,
        by_tree: impl Fn(&mut AnyTree, &Asked<Q>) -> Result<T, broadsweep::Error>,
        by_brute_force: impl Fn(&Asked<Q>) -> T,
        first: impl Fn(&T, usize) -> K,
        arrays: impl Fn(&T) -> Result<Vec<Named>>,
        report: impl Fn(&T) -> QueryReport,
    ) -> Result<()> {
        let progress = Progress::start(format!("asking {} {kind}", text::count(asked.queries.len() as u64)));
        if let (Ready::Gpu(_), Some(tree)) = (&self.engine, &self.tree) {
            // The first queries wait for kernels to be compiled.
            by_tree(&mut tree.borrow_mut(), &asked.first(asked.queries.len().min(FIRST)))?;
        }
        let (answer, seconds) = timed(|| match &self.tree {
            Some(tree) => by_tree(&mut tree.borrow_mut(), asked),
            None => Ok(by_brute_force(asked)),
        });
        let answer = answer?;
        drop(progress);
        let mut verified = None;
        if self.common.verify {
            let _progress = Progress::start("verifying".to_owned());
            let count = (BRUTE_FORCE_TESTS / self.boxes.len().max(1)).clamp(1, asked.queries.len().max(1));
            let count = count.min(asked.queries.len());
            let expected = by_brute_force(&asked.first(count));
            ensure!(
                first(&answer, count) == first(&expected, count),
                "the answers differ from those of brute force among the first {} {kind}. Please report this",
                text::count(count as u64)
            );
            verified = Some(count);
        }
        if let Some(output) = &self.output {
            let _progress = Progress::start("writing the answers".to_owned());
            let arrays = arrays(&answer)?;
            output.write(|to| write(to, &arrays))?;
        }
        let text = self.report(&report(&answer), kind, seconds, verified);
        print_report(&text, &self.output)
    }

    fn report(&self, report: &QueryReport, kind: &str, seconds: f64, verified: Option<usize>) -> String {
        let tree: Option<TreeReport> = self.tree.as_ref().map(|tree| tree.borrow().report().clone());
        let tree = tree.as_ref();
        if self.common.json {
            let object = json!({
                "scene": self.scene.display().to_string(),
                "boxes": self.boxes.len(),
                "invalid_boxes": tree.map(|tree| tree.invalid_count),
                "engine": self.engine.engine().name(),
                "adapter": match &self.engine {
                    Ready::Gpu(gpu) => Some(gpu.adapter_info().name),
                    Ready::Other(_) => None,
                },
                "kind": kind,
                "queries": report.query_count,
                "invalid_queries": report.invalid_count,
                "first_invalid": report.first_invalid,
                "answers": report.answer_count,
                "build_seconds": self.build_seconds,
                "seconds": seconds,
                "tree_bytes": tree.map(|tree| tree.bytes),
                "verified": verified,
                "out": self.common.out.as_ref().map(|path| path.display().to_string()),
            });
            return format!("{object}\n");
        }
        let mut lines = String::new();
        let mut add = |label: &str, value: String| {
            let _ = writeln!(lines, "{label:<11} {value}");
        };
        let scene = text::printable(&self.scene.display().to_string());
        add("scene", format!("{scene}, {}", text::boxes(self.boxes.len() as u64)));
        if let Some(tree) = tree.filter(|tree| tree.invalid_count > 0) {
            add("invalid", format!("{} with NaN or min > max", text::boxes(u64::from(tree.invalid_count))));
        }
        add("engine", self.engine.describe());
        add("queries", format!("{} {kind}", text::count(report.query_count)));
        if report.invalid_count > 0 {
            let first: Vec<String> = report.first_invalid.iter().map(u64::to_string).collect();
            let more = if report.invalid_count > first.len() as u64 { ", ..." } else { "" };
            let count = text::count(report.invalid_count);
            add("no meaning", format!("{count} of the {kind}, which answer nothing: {}{more}", first.join(", ")));
        }
        let each = report.answer_count as f64 / report.query_count.max(1) as f64;
        add("answers", format!("{} ({each:.2} each)", text::count(report.answer_count)));
        if let Some(tree) = tree {
            add("tree", format!("built in {}, {}", text::seconds(self.build_seconds), text::bytes(tree.bytes)));
        }
        add("time", text::seconds(seconds));
        if let Some(count) = verified {
            let part = if count as u64 == report.query_count { "all" } else { "in part: the first" };
            add("verified", format!("{part} {} {kind} answer as by brute force", text::count(count as u64)));
        }
        if let Some(path) = &self.common.out {
            add("written", text::path(path));
        }
        lines
    }
}

/// An array with a name.
pub struct Named(pub &'static str, pub Vec<u8>);

impl Named {
    /// Makes a `.npy` of numbers.
    pub fn new<T: npy::Written>(name: &'static str, shape: &[u64], numbers: &[T]) -> Self {
        let mut bytes = Vec::new();
        // Writing to memory does not fail.
        let _ = npy::write_array(&mut bytes, shape, numbers);
        Self(name, bytes)
    }
}

/// Writes arrays as an `.npz`, not compressed, as `np.savez` does.
pub fn write(to: &mut dyn Write, arrays: &[Named]) -> Result<()> {
    let mut archive = ZipArchiveWriter::new(to);
    for Named(name, bytes) in arrays {
        let file = format!("{name}.npy");
        let (mut entry, config) = archive.new_file(&file).compression_method(CompressionMethod::STORE).start()?;
        let mut writer = config.wrap(&mut entry);
        writer.write_all(bytes)?;
        let (_, descriptor) = writer.finish()?;
        entry.finish(descriptor)?;
    }
    archive.finish()?;
    Ok(())
}
