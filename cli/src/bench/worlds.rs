//! `broadsweep bench worlds`: what thousands of worlds in one place cost, against one world of as many boxes.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use broadsweep::{Aabb, BroadPhase, Error, Filters, Gpu, Options, Overlaps, Pair, Report, cpu};
use laboratory::scenes;

use super::STOPPED;
use super::machine::machine;
use super::measure::{is_stopped, stop_on_ctrl_c};
use super::plot::{Axis, Chart, Series};
use super::results::{Machine, Time};
use crate::engine::{headless, timed};
use crate::output::{Output, print};
use crate::progress::Progress;
use crate::{say, text};

/// Measure what worlds cost: the same number of boxes in one world and in thousands, all in the same place
///
/// The density within a world is that of one world of all boxes. Both engines find every scene in turn, beside the one
/// world without filters that it is compared with. Ctrl-C stops after the call that it is in and keeps what was
/// measured.
#[derive(clap::Args)]
pub struct Args {
    /// Where `worlds.csv` and the figures go; made where there is none
    #[arg(long, value_name = "DIR", default_value = "worlds-out")]
    out: PathBuf,

    /// The GPU adapter whose name contains this; `broadsweep adapters` lists them
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,

    /// Boxes of all worlds together
    #[arg(long, default_value_t = 409_600, value_parser = clap::value_parser!(u32).range(1..=1 << 24))]
    boxes: u32,

    /// Numbers of worlds
    #[arg(long, value_name = "N,...", value_delimiter = ',', default_value = "1,16,64,256,1024,4096,16384")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..))]
    worlds: Vec<u32>,

    /// Calls measured of each scene, after one that is not
    #[arg(long, default_value_t = 7, value_parser = clap::value_parser!(u32).range(1..))]
    runs: u32,

    /// The same seed gives the same scenes, on every machine
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Of `worlds.csv`. A row is an engine with a scene; `ratio` is its median to that of the one world without filters that
/// was measured in turn with it, `per_box_and_pair` its candidates to boxes and pairs together.
const COLUMNS: &str = "scene,worlds,boxes,engine,device,calls,median_ms,q1_ms,q3_ms,ratio,pairs,candidates,\
                       per_box_and_pair,giants,entries";

/// A scene with more candidates is left out, and said to be: its calls would take longer than all others together.
const MOST_CANDIDATES: u64 = 1 << 28;

/// What is compared, and with what.
#[derive(Clone, Copy, PartialEq)]
enum Variant {
    /// One world, without filters.
    One,
    Worlds,
    /// With a floor for each world, unbounded but for its top.
    Planes,
    /// With one such floor for all.
    GlobalPlane,
}

impl Variant {
    const ALL: [Self; 4] = [Self::One, Self::Worlds, Self::Planes, Self::GlobalPlane];

    fn name(self) -> &'static str {
        match self {
            Self::One => "one world",
            Self::Worlds => "worlds",
            Self::Planes => "plane per world",
            Self::GlobalPlane => "global plane",
        }
    }

    /// Boxes and filters. The side of a world's region shrinks with the cube root of its boxes.
    fn scene(self, boxes: u32, worlds: u32, seed: u64) -> (Vec<Aabb>, Filters) {
        let worlds = if self == Self::One { 1 } else { worlds };
        let side = (1.0 / f64::from(worlds)).cbrt() as f32;
        let (mut all, mut world) = (Vec::new(), Vec::new());
        for id in 0..worlds {
            // As evenly as it goes.
            let first = u64::from(boxes) * u64::from(id) / u64::from(worlds);
            let end = u64::from(boxes) * u64::from(id + 1) / u64::from(worlds);
            let own = scenes::uniform((end - first) as usize, seed.wrapping_add(u64::from(id)), None);
            all.extend(own.iter().map(|aabb| Aabb::new(aabb.min.map(|x| x * side), aabb.max.map(|x| x * side))));
            if self == Self::Planes {
                all.push(floor(boxes));
            }
            world.resize(all.len(), id);
        }
        if self == Self::GlobalPlane {
            all.push(floor(boxes));
            world.push(Filters::GLOBAL);
        }
        let filters = if self == Self::One { Filters::default() } else { Filters { world, ..Filters::default() } };
        (all, filters)
    }
}

/// Up to a quarter of the spacing of boxes, so that some boxes of each world touch it.
fn floor(boxes: u32) -> Aabb {
    let inf = f32::INFINITY;
    Aabb::new([-inf; 3], [inf, inf, 0.25 * (1.0 / f64::from(boxes)).cbrt() as f32])
}

/// An engine with the filters of one scene.
enum Engine {
    Cpu(Box<cpu::BroadPhase>),
    Gpu(Box<BroadPhase>),
}

impl Engine {
    fn name(&self) -> &'static str {
        match self {
            Self::Cpu(_) => "cpu",
            Self::Gpu(_) => "gpu",
        }
    }

    /// The answer, and the milliseconds until it was there.
    fn find_pairs(&mut self, boxes: &[Aabb]) -> Result<(Overlaps, f64)> {
        Ok(match self {
            Self::Cpu(engine) => {
                // The list stays in the engine: a copy of it is no part of the time.
                let (overlaps, seconds) = timed(|| engine.find_pairs(boxes));
                (overlaps?.clone(), 1e3 * seconds)
            }
            Self::Gpu(engine) => {
                let (overlaps, seconds) = timed(|| engine.find_pairs(boxes));
                (overlaps?, 1e3 * seconds)
            }
        })
    }
}

/// An engine with a scene of its own.
struct Lane {
    engine: Engine,
    times: Vec<f64>,
    report: Option<Report>,
}

/// A scene, and the engines that find its pairs.
struct Field {
    variant: Variant,
    boxes: Vec<Aabb>,
    lanes: Vec<Lane>,
}

/// What an engine took for a scene.
struct Row {
    variant: Variant,
    worlds: u32,
    engine: &'static str,
    time: Time,
    /// Its median to that of one world without filters.
    ratio: f64,
    report: Report,
}

/// Runs `broadsweep bench worlds`.
pub fn run(args: &Args) -> Result<ExitCode> {
    let most = args.worlds.iter().copied().max().unwrap_or(0);
    ensure!(most <= args.boxes, "--worlds {most} is more than --boxes {}: each world needs a box", args.boxes);
    fs::create_dir_all(&args.out).with_context(|| format!("cannot make the directory {}", args.out.display()))?;
    // Finds out before any long work whether it can be written.
    let csv = Output::check(&args.out.join("worlds.csv"))?;
    let gpu = match (headless(args.adapter.as_deref()), &args.adapter) {
        (Ok(gpu), _) => Some(gpu),
        (Err(error), Some(name)) => return Err(error.context(format!("--adapter {name}"))),
        (Err(error), None) => {
            say(&format!("note: without the GPU: {:#}", error.root_cause()));
            None
        }
    };
    let machine = machine(gpu.as_ref());
    stop_on_ctrl_c()?;
    print(&format!(
        "{} in all. Milliseconds, the median of {}, and how many times one world without filters.\n\n\
         {:>8}  {:<18}{:>5}{:>10}{:>8}{:>12}{:>14}\n",
        text::boxes(args.boxes.into()),
        if args.runs == 1 { "1 call".to_owned() } else { format!("{} calls", args.runs) },
        "worlds",
        "scene",
        "",
        "ms",
        "times",
        "pairs",
        "candidates",
    ))?;
    let mut rows: Vec<Row> = Vec::new();
    let mut lines = format!("{COLUMNS}\n");
    for &worlds in &args.worlds {
        let measured = {
            let _progress = Progress::start(format!("{worlds} worlds"));
            measure(args, worlds, gpu.as_ref())?
        };
        for row in &measured {
            show(row)?;
            write_row(&mut lines, row, &machine)?;
        }
        rows.extend(measured);
        if !rows.is_empty() {
            csv.write(|to| Ok(to.write_all(lines.as_bytes())?))?;
            draw(&args.out, &rows, args.boxes)?;
        }
        if is_stopped() {
            break;
        }
    }
    if rows.is_empty() {
        print("\nnothing was measured, and nothing written\n")?;
    } else {
        print(&format!("\nwritten: {}, and the figures as SVG and PNG\n", args.out.join("worlds.csv").display()))?;
    }
    Ok(if is_stopped() { ExitCode::from(STOPPED) } else { ExitCode::SUCCESS })
}

/// Every scene by every engine, in turn, and once more what is not measured at first; what there is of it on Ctrl-C.
fn measure(args: &Args, worlds: u32, gpu: Option<&Gpu>) -> Result<Vec<Row>> {
    let mut fields = Vec::new();
    let options = Options { candidate_limit: MOST_CANDIDATES, ..Options::default() };
    for variant in Variant::ALL {
        let (boxes, filters) = variant.scene(args.boxes, worlds, args.seed);
        let mut cpu = Box::new(cpu::BroadPhase::new(options)?);
        cpu.set_filters(filters.clone())?;
        let mut engines = vec![Engine::Cpu(cpu)];
        if let Some(gpu) = gpu {
            let mut gpu = Box::new(BroadPhase::new(gpu, options)?);
            gpu.set_filters(filters)?;
            engines.push(Engine::Gpu(gpu));
        }
        let lanes = engines.into_iter().map(|engine| Lane { engine, times: Vec::new(), report: None }).collect();
        fields.push(Field { variant, boxes, lanes });
    }
    'runs: for run in 0..=args.runs {
        for field in &mut fields {
            let mut first: Option<Vec<Pair>> = None;
            for lane in &mut field.lanes {
                if is_stopped() {
                    break 'runs;
                }
                let (Overlaps { mut pairs, report }, ms) = match lane.engine.find_pairs(&field.boxes) {
                    Ok(found) => found,
                    Err(error) => match error.downcast_ref() {
                        Some(Error::TooManyCandidates { candidate_count, .. }) if run == 0 => {
                            let (scene, count) = (field.variant.name(), text::count(*candidate_count));
                            say(&format!("left out: {worlds} worlds, {scene}: {count} candidates"));
                            field.lanes.clear();
                            break;
                        }
                        _ => return Err(error),
                    },
                };
                if run > 0 {
                    lane.times.push(ms);
                    continue;
                }
                lane.report = Some(report);
                pairs.sort_unstable();
                let is_same = first.as_ref().is_none_or(|first| *first == pairs);
                ensure!(is_same, "the engines differ: {worlds} worlds, {}", field.variant.name());
                first = Some(pairs);
            }
        }
    }
    Ok(rows(fields, worlds))
}

fn rows(fields: Vec<Field>, worlds: u32) -> Vec<Row> {
    let mut rows: Vec<Row> = Vec::new();
    for Field { variant, lanes, .. } in fields {
        for Lane { engine, times, report } in lanes {
            let (Some(time), Some(report)) = (Time::of(times), report) else {
                continue;
            };
            let one = rows.iter().find(|row| row.variant == Variant::One && row.engine == engine.name());
            let ratio = one.map_or(1.0, |one| time.median_ms / one.time.median_ms);
            rows.push(Row { variant, worlds, engine: engine.name(), time, ratio, report });
        }
    }
    rows
}

fn show(row: &Row) -> Result<()> {
    let Row { variant, worlds, engine, time, ratio, report } = row;
    print(&format!(
        "{worlds:>8}  {:<18}{engine:>5}{:>10.1}{ratio:>8.2}{:>12}{:>14}\n",
        variant.name(),
        time.median_ms,
        text::count(report.pair_count),
        text::count(report.candidate_count),
    ))
}

fn write_row(lines: &mut String, row: &Row, machine: &Machine) -> Result<()> {
    let Row { variant, worlds, engine, time, ratio, report } = row;
    let device = match &machine.adapter {
        Some(adapter) if *engine == "gpu" => adapter.clone(),
        _ => format!("{}, {} threads", machine.cpu, machine.cores),
    };
    let tested = report.candidate_count as f64 / (f64::from(report.box_count) + report.pair_count as f64);
    writeln!(
        lines,
        "{},{worlds},{},{engine},\"{}\",{},{:.4},{:.4},{:.4},{ratio:.4},{},{},{tested:.3},{},{}",
        variant.name(),
        report.box_count,
        device.replace('"', "'"),
        time.calls,
        time.median_ms,
        time.q1_ms,
        time.q3_ms,
        report.pair_count,
        report.candidate_count,
        report.giant_count,
        report.entry_count,
    )?;
    Ok(())
}

/// Times of one world without filters, a line for each engine and scene, and candidates.
fn draw(out: &Path, rows: &[Row], boxes: u32) -> Result<()> {
    let chart = |title: &str, label: &str, value: &dyn Fn(&Row) -> f64| {
        let mut series: Vec<Series> = Vec::new();
        for row in rows.iter().filter(|row| row.variant != Variant::One) {
            let name = format!("{}, {}", row.engine, row.variant.name());
            let point = (f64::from(row.worlds), value(row));
            match series.iter_mut().find(|line| line.name == name) {
                Some(line) => line.points.push(point),
                None => series.push(Series { name, points: vec![point] }),
            }
        }
        Chart {
            title: format!("{} in all: {title}", text::boxes(boxes.into())),
            x: Axis { label: "worlds in one place".to_owned(), log: true },
            y: Axis { label: label.to_owned(), log: false },
            series,
        }
    };
    chart("time of a call", "time / time of one world without filters", &|row| row.ratio).write(out, "ratio")?;
    chart("tests made", "candidates / (boxes + pairs)", &|row| {
        row.report.candidate_count as f64 / (f64::from(row.report.box_count) + row.report.pair_count as f64)
    })
    .write(out, "candidates")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_world_has_its_share_of_the_boxes_at_the_same_density() {
        let edge = |boxes: &[Aabb]| f64::from(boxes[0].max[0] - boxes[0].min[0]);
        let (one, none) = Variant::One.scene(1000, 7, 1);
        assert!(one.len() == 1000 && none.is_empty());
        let (boxes, filters) = Variant::Worlds.scene(1000, 7, 1);
        assert_eq!((boxes.len(), filters.world.len()), (1000, 1000));
        assert!((0..7).all(|id| (142..=143).contains(&filters.world.iter().filter(|&&world| world == id).count())));
        assert!((edge(&boxes) / edge(&one) - 1.0).abs() < 0.01, "{} and {}", edge(&boxes), edge(&one));
        assert_eq!(Variant::Planes.scene(1000, 7, 1).0.len(), 1007);
        let (boxes, filters) = Variant::GlobalPlane.scene(1000, 7, 1);
        assert_eq!((boxes.len(), filters.world.last()), (1001, Some(&Filters::GLOBAL)));
    }
}
