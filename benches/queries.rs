//! Time of building a tree and of batches of queries, for our engines, algorithms of the literature and other
//! libraries, in one run.
//!
//! ```text
//! cargo bench -p broadsweep-laboratory --features peers --bench queries -- [OPTION ...] [KIND:N | FILE.npy ...]
//!   --runs R       measured runs of each row, after one that is not counted [5]
//!   --queries N    rays in a batch; fewer of what has many answers [1000000; with --each, 10000 of every kind]
//!   --only A,B     rows whose name contains one of these
//!   --engines A,B  who takes part [all but the GPU]
//!   --threads N    threads of our engine; the others have one [1]
//!   --out DIR      boxes, rays and their nearest hits as .npy files, for what cannot take part here
//!   --each         each query alone: the slowest and the median one, of our engine unless --engines names others
//! ```
//!
//! Runs are interleaved. All engines answer the same queries. The last columns count the answers, and the queries with
//! answers that differ from ours: such an engine rounds or breaks ties in another way. Without a scene, there are a
//! million uniform boxes; with `--each`, 100,000 boxes of every kind.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use broadsweep::{Aabb, Options, Ray, cpu};
use laboratory::queries::each::{self, Spread};
use laboratory::queries::race::{Call, Effort, Lane, in_turn, race};
use laboratory::queries::{self, Answers, GPU, Listing, QueryBatch, QueryKind};
use laboratory::scenes::{Kind, SceneName, npy};

/// The measurements to make.
#[derive(Default)]
struct Plan {
    runs: usize,
    count: Option<usize>,
    only: Vec<String>,
    engines: Vec<&'static Listing>,
    out: Option<PathBuf>,
    is_each: bool,
}

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let mut plan = Plan { runs: 5, ..Plan::default() };
    let (mut threads, mut scenes) = (1, Vec::new());
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().with_context(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--runs" => plan.runs = value()?.parse()?,
            "--queries" => plan.count = Some(value()?.parse()?),
            "--only" => plan.only = value()?.split(',').map(str::to_owned).collect(),
            "--threads" => threads = value()?.parse()?,
            "--engines" => plan.engines = value()?.split(',').map(listing).collect::<Result<_>>()?,
            "--out" => plan.out = Some(value()?.into()),
            "--each" => plan.is_each = true,
            _ if argument.starts_with('-') => bail!("there is no option {argument}"),
            _ => scenes.push(argument),
        }
    }
    if plan.engines.is_empty() {
        plan.engines = queries::ALL.iter().filter(|listing| !plan.is_each || listing.name == "cpu").collect();
        plan.engines.retain(|listing| listing.name != GPU);
    }
    if scenes.is_empty() && plan.is_each {
        scenes.extend(Kind::ALL.iter().map(|kind| format!("{kind}:100000")));
    } else if scenes.is_empty() {
        scenes.push("uniform:1000000".to_owned());
    }
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    pool.install(|| scenes.iter().try_for_each(|scene| plan.measure(&scene.parse()?)))
}

fn listing(name: &str) -> Result<&'static Listing> {
    let found = queries::by_name(name).filter(|listing| listing.name != GPU);
    found.with_context(|| format!("{name} takes no part here"))
}

impl Plan {
    fn measure(&self, scene: &SceneName) -> Result<()> {
        let boxes = scene.boxes(1)?;
        if self.is_each {
            return self.measure_each(scene, &boxes);
        }
        println!("{scene}: {} boxes", boxes.len());
        let mut lanes = Vec::new();
        for listing in &self.engines {
            let mut answerer = listing.make(None)?.context("the GPU takes no part here")?;
            match answerer.build(&boxes) {
                Ok(()) => lanes.push(Lane { name: listing.name, answerer }),
                Err(error) => println!("{:>26} {error}", listing.name),
            }
        }
        self.write("boxes", |to| npy::write_boxes(to, &boxes))?;
        if self.is_wanted("build") {
            self.measure_builds(&boxes, &mut lanes)?;
        }
        for question in self.questions() {
            let count = question.as_many_as(self.count.unwrap_or(1_000_000));
            let batch = question.generate(count, 1, &boxes);
            self.write_rays(question, &batch, &mut lanes)?;
            let laps = race(self.effort(), &mut lanes, &batch)?;
            let fastest = laps.first().map_or(1.0, |lap| lap.time.median_ms);
            for lap in &laps {
                row(&question.to_string(), lap.name, count, lap.time.median_ms, fastest);
                println!(" {:>11} {:>7}", lap.answer_count, count as u64 - lap.equal_count);
            }
        }
        Ok(())
    }

    fn effort(&self) -> Effort {
        Effort { runs: self.runs, limit_ms: 20e3 }
    }

    fn is_wanted(&self, name: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|part| name.contains(part))
    }

    fn questions(&self) -> impl Iterator<Item = QueryKind> {
        QueryKind::ALL.into_iter().filter(|question| self.is_wanted(&question.to_string()))
    }

    /// Writes the rays of nearest hits, and the boxes that they hit by the first engine.
    fn write_rays(&self, question: QueryKind, batch: &QueryBatch, lanes: &mut [Lane]) -> Result<()> {
        let (Some(_), QueryKind::Rays(kind, _), QueryBatch::NearestHits(rays), [first, ..]) =
            (&self.out, question, batch, lanes)
        else {
            return Ok(());
        };
        let row = |ray: &Ray| [&ray.origin[..], &ray.direction, &[ray.limit]].concat();
        let numbers: Vec<f32> = rays.iter().flat_map(row).collect();
        self.write(kind.name(), |to| npy::write_array(to, &[rays.len() as u64, 7], &numbers))?;
        let Some(Answers::Hits(hits)) = first.answerer.answer(batch)? else { return Ok(()) };
        let nearest: Vec<u32> = hits.iter().map(|hit| hit.index).collect();
        self.write(&format!("{kind}-nearest"), |to| npy::write_array(to, &[nearest.len() as u64], &nearest))
    }

    /// Writes a file of this name where files are wanted.
    fn write(&self, name: &str, array: impl FnOnce(&mut BufWriter<File>) -> io::Result<()>) -> Result<()> {
        let Some(out) = &self.out else { return Ok(()) };
        let path = out.join(format!("{name}.npy"));
        let write = || {
            let mut to = BufWriter::new(File::create(&path)?);
            array(&mut to)?;
            to.flush()
        };
        write().with_context(|| format!("cannot write {}", path.display()))
    }

    fn measure_builds(&self, boxes: &[Aabb], lanes: &mut [Lane]) -> Result<()> {
        let mut refitted = cpu::Tree::new();
        refitted.build(boxes)?;
        let mut pairs = cpu::BroadPhase::new(Options::default())?;
        let mut names: Vec<String> = lanes.iter().map(|lane| format!("{} build", lane.name)).collect();
        names.extend(["cpu refit", "cpu pairs"].map(str::to_owned));
        let mut calls: Vec<Call> =
            lanes.iter_mut().map(|lane| Box::new(|| lane.answerer.build(boxes)) as Call).collect();
        calls.push(Box::new(|| Ok(refitted.refit(boxes).map(|_| ())?)));
        calls.push(Box::new(|| Ok(pairs.find_pairs(boxes).map(|_| ())?)));
        let times = in_turn(self.effort(), &mut calls)?;
        for (name, time) in names.iter().zip(&times) {
            row("build", name, boxes.len(), time.median_ms, times[0].median_ms);
            println!();
        }
        Ok(())
    }

    fn measure_each(&self, scene: &SceneName, boxes: &[Aabb]) -> Result<()> {
        let effort = each::Effort { passes: 3, enough: Duration::from_secs(3) };
        for listing in &self.engines {
            let make = || listing.make(None)?.context("the GPU takes no part here");
            let (mut full, mut empty) = (make()?, make()?);
            if let Err(error) = full.build(boxes) {
                println!("{scene:<22} {:<10} {error}", listing.name);
                continue;
            }
            empty.build(&[])?;
            for question in self.questions() {
                let batch = question.generate(self.count.unwrap_or(10_000), 1, boxes);
                let Some(spread) = Spread::measure(effort, &mut *full, &batch)? else { continue };
                let call_ns = Spread::measure(effort, &mut *empty, &batch)?.map_or(0.0, |call| call.median_ns);
                show_spread(&format!("{scene:<22} {:<10} {question:<27}", listing.name), &spread, call_ns);
            }
        }
        Ok(())
    }
}

/// Prints the beginning of a row: the time, and how many times that of the first it is.
fn row(what: &str, name: &str, count: usize, median_ms: f64, first_ms: f64) {
    let rate = count as f64 / median_ms / 1e3;
    print!("{what:>27} {name:>15} {median_ms:>10.2} ms  {rate:>8.3} M/s  x{:<6.2}", median_ms / first_ms);
}

/// Prints the median and the slowest query, their ratio, the same without what a call on an empty tree takes, and the
/// answers to the slowest.
fn show_spread(what: &str, spread: &Spread, call_ns: f64) {
    let Spread { query_count, median_ns, worst_ns, answer_count, .. } = *spread;
    let ratio = worst_ns / median_ns;
    let own = (worst_ns - call_ns) / (median_ns - call_ns).max(10.0);
    println!(
        "{what} {query_count:>6} {median_ns:>9.0} ns {worst_ns:>11.0} ns  x{ratio:<7.1} call {call_ns:>4.0} x{own:<8.1} \
         {answer_count:>7}"
    );
}
