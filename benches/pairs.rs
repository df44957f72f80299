//! Time of the CPU engine's pairs in both orders, for comparisons with programs in other languages.
//!
//! ```text
//! cargo bench -p broadsweep-laboratory --bench pairs -- [OPTION ...] KIND:N | FILE.npy
//!   --runs R       measured calls, after one that is not counted [5]
//!   --threads N    threads of the engine [1]
//!   --out DIR      also `boxes.npy` and `pairs.npy`: f4 (n, 6), and u4 (m, 2) in canonical order
//! ```
//!
//! Prints `time|pairs|ours|MS` for the order of the sweep and `time|canonical pairs|ours|MS`: medians of calls in turn.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use broadsweep::{Aabb, Options, Pair, PairOrder, cpu};
use laboratory::engine::timed;
use laboratory::measure::time::Time;
use laboratory::scenes::{SceneName, npy};

fn main() -> Result<()> {
    let mut arguments = std::env::args().skip(1).filter(|argument| argument != "--bench");
    let (mut runs, mut threads, mut out, mut scene) = (5usize, 1, None, None);
    while let Some(argument) = arguments.next() {
        let mut value = || arguments.next().with_context(|| format!("{argument} needs a value"));
        match argument.as_str() {
            "--runs" => runs = value()?.parse()?,
            "--threads" => threads = value()?.parse()?,
            "--out" => out = Some(PathBuf::from(value()?)),
            _ if argument.starts_with('-') => bail!("there is no option {argument}"),
            _ => scene = Some(argument),
        }
    }
    let boxes = scene.context("name a scene")?.parse::<SceneName>()?.boxes(1)?;
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build()?;
    let pairs = pool.install(|| measure(&boxes, runs))?;
    out.map_or(Ok(()), |out| write(&out, &boxes, &pairs))
}

/// Times both orders in turn, and returns the pairs in canonical order.
fn measure(boxes: &[Aabb], runs: usize) -> Result<Vec<Pair>> {
    let orders = [("pairs", PairOrder::Sweep), ("canonical pairs", PairOrder::Canonical)];
    let engine = |(name, order)| Ok((name, cpu::BroadPhase::new(Options::default().with_order(order))?, Vec::new()));
    let mut engines = orders.map(engine).into_iter().collect::<Result<Vec<_>>>()?;
    for run in 0..=runs {
        for (_, engine, times) in &mut engines {
            let (found, seconds) = timed(|| engine.find_pairs(boxes).map(|_| ()));
            found?;
            if run > 0 {
                times.push(1e3 * seconds);
            }
        }
    }
    let mut pairs = Vec::new();
    for (name, mut engine, times) in engines {
        println!("time|{name}|ours|{:.4}", Time::of(times).context("there were no runs")?.median_ms);
        pairs = engine.take_overlaps().pairs;
    }
    Ok(pairs)
}

fn write(out: &Path, boxes: &[Aabb], pairs: &[Pair]) -> Result<()> {
    let create = |name: &str| File::create(out.join(name)).map(BufWriter::new);
    let mut to = create("boxes.npy")?;
    npy::write_boxes(&mut to, boxes)?;
    to.flush()?;
    let mut to = create("pairs.npy")?;
    npy::write_pairs_header(&mut to, pairs.len() as u64)?;
    npy::write_pairs(&mut to, pairs)?;
    to.flush()?;
    Ok(())
}
