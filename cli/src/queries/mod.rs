//! The common part of all queries: their files, engines and answers.

pub mod nearest;
pub mod overlaps;
pub mod rays;
mod tree;

use std::cell::RefCell;
use std::fmt::Write as _;
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, anyhow, bail, ensure};
use broadsweep::filter::GroupRule;
use broadsweep::query::{Batch, QueryFilters, QueryReport, TreeReport};
use broadsweep::{Aabb, Answers, Filters, Lists, Tree};
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

/// Queries of the call that compiles the kernels, before the measured one.
const FIRST: usize = 2048;

/// Arrays that a file of queries may have beside the queries.
const FILTERS: [&str; 6] = ["group", "mask", "body", "world", "ignore", "sphere"];

/// The engine that answers queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Engine {
    /// On the GPU
    Gpu,
    /// On all cores of the CPU
    Cpu,
    /// By brute force, on one thread
    Brute,
}

/// The options of all commands with queries.
#[derive(clap::Args)]
pub struct Common {
    /// The rule by which `group` and `mask` let a query meet a box [default: any]
    #[arg(long, value_enum)]
    rule: Option<RuleName>,

    /// The engine that answers [default: gpu if there is a GPU, otherwise cpu]
    ///
    /// The answers are the same, bit for bit. A software driver does not count as a GPU: the CPU engine is faster on
    /// the same cores.
    #[arg(long, value_enum)]
    engine: Option<Engine>,

    /// The first GPU adapter whose name contains NAME; `broadsweep adapters` lists them
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,

    /// Compare the answers with brute force
    ///
    /// Compares at most the first queries of a large batch, in some seconds; the report prints their count. A
    /// difference is an error, and nothing is written.
    #[arg(long)]
    verify: bool,

    /// The file for the answers, which np.load reads; `-` is stdout
    #[arg(long, value_name = "ANSWERS.npz")]
    out: Option<PathBuf>,

    /// Print the report as one JSON object
    #[arg(long)]
    json: bool,
}

/// Queries and their filters.
pub struct QueryBatch<Q> {
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

impl<Q> QueryBatch<Q> {
    /// Returns queries without filters.
    pub fn plain(queries: Vec<Q>) -> Self {
        Self { queries, filters: QueryFilters::default() }
    }

    /// Returns all of them as a batch.
    pub fn batch(&self) -> Batch<'_, Q> {
        Batch::new(&self.queries).with_filters(&self.filters)
    }
}

impl<Q: Clone> QueryBatch<Q> {
    /// Returns the first queries.
    fn first(&self, count: usize) -> Self {
        fn cut<T: Copy>(list: &[T], count: usize) -> Vec<T> {
            list[..list.len().min(count)].to_vec()
        }
        let QueryFilters { group, mask, body, world, ignore, sphere, skips_separating, .. } = &self.filters;
        let filters = QueryFilters::default()
            .with_group(cut(group, count))
            .with_mask(cut(mask, count))
            .with_body(cut(body, count))
            .with_world(cut(world, count))
            .with_ignore(cut(ignore, count))
            .with_sphere(cut(sphere, count))
            .with_skips_separating(*skips_separating);
        Self { queries: self.queries[..count].to_vec(), filters }
    }
}

/// Reads queries from rows of one of these widths: the array of a `.npy` file, or the array `name` of a `.npz` file
/// with query filters beside it.
fn read<Q>(path: &Path, name: &'static str, widths: &[u64], query: impl Fn(&[f32]) -> Q) -> Result<QueryBatch<Q>> {
    let queries = |(width, numbers): (usize, Vec<f32>)| numbers.chunks_exact(width).map(&query).collect::<Vec<Q>>();
    if input::has_extension(path, "npz") {
        return npz::open(path, &[&[name], &FILTERS[..]].concat(), |arrays| {
            let queries = queries(arrays.rows(name, widths)?);
            Ok(QueryBatch { filters: filters_of(arrays, queries.len())?, queries })
        });
    }
    let rows = npy::open_file(path).and_then(|(file, length)| Array::open(file, length)?.read_rows(widths));
    let rows = rows.map_err(|error| anyhow!("cannot read {}: {error}", text::path(path)))?;
    Ok(QueryBatch::plain(queries(rows)))
}

/// Returns a point or a direction of 2 or 3 numbers; in 2D, z is 0.
fn in_space(numbers: &[f32]) -> [f32; 3] {
    std::array::from_fn(|axis| numbers.get(axis).copied().unwrap_or(0.0))
}

/// Reads the filters of queries.
fn filters_of(arrays: &Arrays<FileReader>, count: usize) -> Result<QueryFilters> {
    let list = |name| -> Result<Vec<u32>> { Ok(arrays.column(name, count, "query")?.unwrap_or_default()) };
    Ok(QueryFilters::default()
        .with_group(list("group")?)
        .with_mask(list("mask")?)
        .with_body(list("body")?)
        .with_world(list("world")?)
        .with_ignore(list("ignore")?)
        .with_sphere(arrays.spheres(&[3, 4])?))
}

/// Splits KIND:N, unless there is such a file or it is the name of one.
fn generated(path: &Path) -> Result<Option<(&str, usize)>> {
    let is_file = path.exists() || ["npy", "npz"].iter().any(|extension| input::has_extension(path, extension));
    let text = path.to_str().filter(|text| !is_file && !text.contains(['/', '\\']));
    let Some((kind, count)) = text.and_then(|text| text.split_once(':')) else { return Ok(None) };
    let most = usize::MAX;
    let is_number = !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit());
    ensure!(is_number, "{count:?} is no number of queries; write KIND:N, such as {kind}:1000");
    let count = count
        .parse()
        .map_err(|_| anyhow!("{count} queries are too many: the limit is {most}; give a smaller N in KIND:N"))?;
    Ok(Some((kind, count)))
}

/// Reserves the memory of generated queries or of answers.
fn reserved<T>(count: usize) -> Result<Vec<T>> {
    let mut list = Vec::new();
    list.try_reserve_exact(count)
        .map_err(|_| anyhow!("there is no memory for {}; give a smaller number", text::count(count as u64)))?;
    Ok(list)
}

/// Returns rows of `k` answers each, filled up with `none`, as two columns.
fn padded<T: Copy, A, B>(lists: &Lists<T>, k: usize, none: T, split: impl Fn(T) -> (A, B)) -> Result<(Vec<A>, Vec<B>)> {
    let count = lists.len().checked_mul(k).context("there is no memory for the answers; give a smaller K")?;
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
    /// The tree; `None` for brute force.
    tree: Option<RefCell<AnyTree>>,
    build_seconds: f64,
}

impl<'a> Run<'a> {
    /// Reads the scene and builds its tree.
    pub fn start(scene: &'a Path, queries: &Path, common: &'a Common) -> Result<Self> {
        let output = common.out.as_deref().map(Output::check).transpose()?;
        for (what, path) in [("scene", scene), ("file of the queries", queries)] {
            let is_same = output.as_ref().is_some_and(|output| output.is_file(path));
            ensure!(!is_same, "--out is the {what} itself: {}; give another file", text::path(path));
        }
        let (boxes, mut filters) = {
            let _progress = Progress::start(format!("reading {}", text::path(scene)));
            input::read(scene)?
        };
        filters.rule = common.rule.map_or(GroupRule::Any, RuleName::rule);
        ensure!(
            filters.owner.is_none(),
            "{} has an owner region, which queries do not support; remove `owner`",
            text::path(scene)
        );
        if let (Some(engine @ (Engine::Cpu | Engine::Brute)), Some(_)) = (common.engine, &common.adapter) {
            let name = engine.of_pairs().name();
            bail!("--adapter selects a GPU, which --engine {name} does not use");
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

    /// Answers with the tree or by brute force, compares the first answers if --verify is set, writes them and prints
    /// the report. `arrays` converts them to named arrays.
    pub fn finish<Q: Clone, T: Found>(
        &self,
        batch: &QueryBatch<Q>,
        kind: &str,
        by_tree: impl Fn(&mut AnyTree, &QueryBatch<Q>) -> Result<T, broadsweep::Error>,
        by_brute_force: impl Fn(&QueryBatch<Q>) -> Result<T, broadsweep::Error>,
        arrays: impl Fn(&T) -> Result<Vec<Named>>,
    ) -> Result<()> {
        let progress = Progress::start(format!("answering {} {kind}", text::count(batch.queries.len() as u64)));
        if let (Ready::Gpu(_), Some(tree)) = (&self.engine, &self.tree) {
            // The first queries wait for kernels to be compiled.
            by_tree(&mut tree.borrow_mut(), &batch.first(batch.queries.len().min(FIRST)))?;
        }
        let (answer, seconds) = timed(|| match &self.tree {
            Some(tree) => by_tree(&mut tree.borrow_mut(), batch),
            None => by_brute_force(batch),
        });
        let answer = answer?;
        drop(progress);
        let mut verified = None;
        if self.common.verify {
            let _progress = Progress::start("verifying".to_owned());
            let count = (BRUTE_FORCE_TESTS / self.boxes.len().max(1)).clamp(1, batch.queries.len().max(1));
            let count = count.min(batch.queries.len());
            let expected = by_brute_force(&batch.first(count))?;
            ensure!(
                answer.first(count) == expected.first(count),
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
        let text = self.report(answer.report(), kind, seconds, verified);
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
            add("no answer", format!("{count} {kind} are invalid: {}{more}", first.join(", ")));
        }
        let each = report.answer_count as f64 / report.query_count.max(1) as f64;
        add("answers", format!("{} ({each:.2} each)", text::count(report.answer_count)));
        if let Some(tree) = tree {
            add("tree", format!("built in {}, {}", text::seconds(self.build_seconds), text::bytes(tree.bytes)));
        }
        add("time", text::seconds(seconds));
        if let Some(count) = verified {
            let part = if count as u64 == report.query_count { "all" } else { "in part: the first" };
            add("verified", format!("{part} {} {kind} have the answers of brute force", text::count(count as u64)));
        }
        if let Some(path) = &self.common.out {
            add("written", text::path(path));
        }
        lines
    }
}

/// The answers to a batch.
pub trait Found {
    /// The answers to the first queries.
    type First<'a>: PartialEq
    where
        Self: 'a;

    /// Returns the answers to the first queries.
    fn first(&self, count: usize) -> Self::First<'_>;

    /// Returns the report on the batch.
    fn report(&self) -> &QueryReport;
}

impl<T: PartialEq> Found for Answers<T> {
    type First<'a>
        = &'a [T]
    where
        T: 'a;

    fn first(&self, count: usize) -> &[T] {
        &self.answers[..count]
    }

    fn report(&self) -> &QueryReport {
        &self.report
    }
}

impl<T: PartialEq> Found for Lists<T> {
    type First<'a>
        = (&'a [u64], &'a [T])
    where
        T: 'a;

    fn first(&self, count: usize) -> (&[u64], &[T]) {
        (&self.offsets[..=count], &self.answers[..self.offsets[count] as usize])
    }

    fn report(&self) -> &QueryReport {
        &self.report
    }
}

/// An array with a name.
pub struct Named(pub &'static str, pub Vec<u8>);

impl Named {
    /// Creates a `.npy` of numbers.
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
