//! Time of a whole call (upload, search, pairs in host memory) per scene, number of boxes and engine, and of each
//! stage on the GPU.
//!
//! ```text
//! cargo bench --bench broad_phase [--features peers] -- [OPTION ...] [KIND:N | FILE.npy ...]
//!   --runs R                  measured runs of each row, after one that is not counted [5]
//!   --engines gpu,cpu,parry   who finds the pairs [gpu,cpu, and parry with the feature `peers`, which has others]
//!   --axis AXIS               auto, principal, x, y or z [auto]
//!   --cell SIZE               auto, usscd or a number [auto]
//!   --all-pairs-up-to N       test each box against each up to so many boxes
//!   --sort VARIANT            auto, portable, wide or subgroup [auto]
//!   --csv FILE                the rows as CSV, with a column for each stage
//!   --kernels                 also the time of each kernel
//!   --search-cells            instead: how far CellSize::Auto is from the best fixed size
//!   --compare-axes            instead: candidates per (box + pair) along each axis
//! ```
//!
//! Runs are interleaved, so that a machine whose speed drifts treats all rows alike. Every row's pairs are hashed, and
//! those of all engines compared. Stages are timed by timestamps on the GPU, where the adapter has them, in runs of
//! their own. `floor` is the time that the bytes which a stage has to read and write at least once would take at the
//! speed of a copy on the same device.

use std::collections::hash_map::DefaultHasher;
use std::error::Error;
use std::fmt::Write as _;
use std::hash::Hasher;
use std::time::{Duration, Instant};

use broadsweep::internals::constants::{RADIX_BITS, RUN_QUADS, WIDE_BITS};
use broadsweep::internals::gpu::timing::KernelTime;
use broadsweep::{Aabb, BroadPhase, CellSize, Gpu, Options, Overlaps, Pair, Report, SortVariant, SweepAxis, cpu, wgpu};
use laboratory::scenes::Source;

/// The stages of the flow, which the names of their kernels begin with.
const STAGES: [&str; 10] = ["small", "pca", "frame", "bin", "sort", "rank", "sweep", "giants", "emit", "order"];

struct Row {
    scene: String,
    engine: String,
    boxes: usize,
    /// Of the whole call; one list per kernel.
    calls: Vec<Duration>,
    kernels: Vec<Vec<KernelTime>>,
    last: Option<Overlaps>,
    hash: u64,
}

struct Arguments {
    runs: usize,
    engines: Vec<String>,
    options: Options,
    sort: Option<SortVariant>,
    csv: Option<String>,
    kernels: bool,
    mode: Mode,
    scenes: Vec<String>,
}

#[derive(Clone, Copy, PartialEq)]
enum Mode {
    Measure,
    SearchCells,
    CompareAxes,
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments = parse(std::env::args().skip(1).filter(|arg| arg != "--bench"))?;
    let gpu = Gpu::headless()?.with_sort(arguments.sort)?;
    let info = gpu.adapter_info();
    println!("{} ({:?}, {} {})", info.name, info.backend, info.driver, info.driver_info);
    println!("sort: {:?}", gpu.sort_variant()?);
    let copy = copy_speed(&gpu)?;
    println!("copy: {:.1} GB/s read and written", copy / 1e9);

    match arguments.mode {
        Mode::SearchCells => return search_cells(&mut BroadPhase::new(&gpu, arguments.options)?, &arguments),
        Mode::CompareAxes => return compare_axes(&mut BroadPhase::new(&gpu, arguments.options)?, &arguments),
        Mode::Measure => {}
    }
    let mut rows: Vec<Row> = Vec::new();
    for scene in &arguments.scenes {
        // Buffers of its own, or a row would show the memory of larger scenes before it.
        let mut broad_phase = BroadPhase::new(&gpu, arguments.options)?;
        let mut on_cpu = cpu::BroadPhase::new(arguments.options)?;
        let boxes = scene.parse::<Source>()?.boxes(1)?;
        let first = rows.len();
        for engine in &arguments.engines {
            rows.push(Row {
                scene: scene.split(':').next().unwrap_or(scene).rsplit('/').next().unwrap_or(scene).to_owned(),
                engine: engine.clone(),
                boxes: boxes.len(),
                calls: Vec::new(),
                kernels: Vec::new(),
                last: None,
                hash: 0,
            });
        }
        // Rows of one scene are interleaved; all scenes at once might not fit the memory.
        for run in 0..=arguments.runs {
            for row in &mut rows[first..] {
                let start = Instant::now();
                let (overlaps, time) = match row.engine.as_str() {
                    "gpu" => (broad_phase.find_pairs(&boxes)?, start.elapsed()),
                    "cpu" => {
                        let overlaps = on_cpu.find_pairs(&boxes)?;
                        // What it found stays with it: no caller has to copy it.
                        let time = start.elapsed();
                        (overlaps.clone(), time)
                    }
                    peer => (with_peer(peer, &boxes)?, start.elapsed()),
                };
                if run > 0 {
                    row.calls.push(time);
                }
                row.last = Some(overlaps);
                if row.engine == "gpu"
                    && let Some(kernels) = broad_phase.time_kernels(&boxes)?
                    && run > 0
                {
                    row.kernels.push(kernels);
                }
            }
        }
        for row in &mut rows[first..] {
            row.calls.sort();
            if let Some(overlaps) = &mut row.last {
                row.hash = hash(&mut overlaps.pairs);
                overlaps.pairs = Vec::new();
            }
        }
        if rows[first..].iter().any(|row| row.hash != rows[first].hash) {
            return Err(format!("{scene}: the engines disagree").into());
        }
        for row in &rows[first..] {
            print!("{}", lines(row, copy, arguments.kernels));
        }
    }
    if let Some(file) = arguments.csv {
        std::fs::write(file, table(&info.name, &rows))?;
    }
    Ok(())
}

fn parse(mut args: impl Iterator<Item = String>) -> Result<Arguments, Box<dyn Error>> {
    let peers = if cfg!(feature = "peers") { "gpu,cpu,parry" } else { "gpu,cpu" };
    let list = |text: &str| text.split(',').map(str::to_owned).collect();
    let mut arguments = Arguments {
        runs: 5,
        engines: list(peers),
        options: Options::default(),
        sort: None,
        csv: None,
        kernels: false,
        mode: Mode::Measure,
        scenes: Vec::new(),
    };
    while let Some(arg) = args.next() {
        let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
        match arg.as_str() {
            "--runs" => arguments.runs = value()?.parse::<usize>()?.max(1),
            "--engines" => arguments.engines = list(&value()?),
            "--csv" => arguments.csv = Some(value()?),
            "--kernels" => arguments.kernels = true,
            "--search-cells" => arguments.mode = Mode::SearchCells,
            "--compare-axes" => arguments.mode = Mode::CompareAxes,
            "--sort" => {
                arguments.sort = match value()?.as_str() {
                    "auto" => None,
                    "portable" => Some(SortVariant::Portable),
                    "wide" => Some(SortVariant::Wide),
                    "subgroup" => Some(SortVariant::Subgroup),
                    other => return Err(format!("there is no sort '{other}'").into()),
                }
            }
            "--axis" => {
                arguments.options.axis = match value()?.as_str() {
                    "auto" => SweepAxis::Auto,
                    "principal" => SweepAxis::Principal,
                    "x" => SweepAxis::X,
                    "y" => SweepAxis::Y,
                    "z" => SweepAxis::Z,
                    other => return Err(format!("there is no axis '{other}'").into()),
                }
            }
            "--cell" => {
                arguments.options.cell_size = match value()?.as_str() {
                    "auto" => CellSize::Auto,
                    "usscd" => CellSize::Usscd,
                    edge => CellSize::Fixed(edge.parse()?),
                }
            }
            "--all-pairs-up-to" => arguments.options.all_pairs_up_to = value()?.parse()?,
            option if option.starts_with("--") => return Err(format!("there is no option '{option}'").into()),
            _ => arguments.scenes.push(arg),
        }
    }
    if arguments.scenes.is_empty() {
        let everyday = ["giant", "spread", "pile", "diagonal"].map(|kind| format!("{kind}:1000000"));
        arguments.scenes =
            [10_000, 100_000, 1_000_000].map(|n| format!("uniform:{n}")).into_iter().chain(everyday).collect();
    }
    Ok(arguments)
}

/// For each scene the time with `CellSize::Auto` against fixed sizes from a quarter of its cell to eight times.
fn search_cells(broad_phase: &mut BroadPhase, arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    println!("scene,boxes,auto_cell,auto_ms,best_cell,best_ms,auto_to_best,best_to_auto_cell");
    for scene in &arguments.scenes {
        let boxes = scene.parse::<Source>()?.boxes(1)?;
        broad_phase.set_options(arguments.options)?;
        let cell = broad_phase.find_pairs(&boxes)?.report.cell_size;
        let mut sizes = vec![CellSize::Auto];
        if cell.is_finite() {
            sizes.extend((-4..=6).map(|k| CellSize::Fixed(cell * 2f32.powf(k as f32 / 2.0))));
        }
        let mut times = vec![Vec::new(); sizes.len()];
        for run in 0..=arguments.runs {
            for (&cell_size, times) in sizes.iter().zip(&mut times) {
                broad_phase.set_options(Options { cell_size, ..arguments.options })?;
                let start = Instant::now();
                broad_phase.find_pairs(&boxes)?;
                if run > 0 {
                    times.push(start.elapsed());
                }
            }
        }
        times.iter_mut().for_each(|times| times.sort());
        let medians: Vec<f64> = times.iter().map(|times| median(times).as_secs_f64() * 1e3).collect();
        let best = (1..sizes.len()).min_by(|&a, &b| medians[a].total_cmp(&medians[b])).unwrap_or(0);
        let CellSize::Fixed(best_cell) = sizes[best] else { continue };
        let ratios = [medians[0] / medians[best], f64::from(best_cell / cell)];
        println!(
            "{scene},{},{cell:e},{:.2},{best_cell:e},{:.2},{:.3},{:.2}",
            boxes.len(),
            medians[0],
            medians[best],
            ratios[0],
            ratios[1]
        );
    }
    Ok(())
}

/// For each scene the candidates per (box + pair) along each axis.
fn compare_axes(broad_phase: &mut BroadPhase, arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    println!("scene,boxes,pairs,auto,auto_is,principal,x,y,z");
    for scene in &arguments.scenes {
        let boxes = scene.parse::<Source>()?.boxes(1)?;
        let mut line = String::new();
        for axis in [SweepAxis::Auto, SweepAxis::Principal, SweepAxis::X, SweepAxis::Y, SweepAxis::Z] {
            broad_phase.set_options(Options { axis, ..arguments.options })?;
            let report = broad_phase.find_pairs(&boxes)?.report;
            let all = report.box_count as f64 + report.pair_count as f64;
            if axis == SweepAxis::Auto {
                line = format!("{scene},{},{}", boxes.len(), report.pair_count);
            }
            let _ = write!(line, ",{:.3}", report.candidate_count as f64 / all);
            if axis == SweepAxis::Auto {
                let _ = write!(line, ",{:?}", report.axis);
            }
        }
        println!("{line}");
    }
    Ok(())
}

/// Every pair as another library finds it, into a list as ours.
#[cfg(feature = "peers")]
fn with_peer(name: &str, boxes: &[Aabb]) -> Result<Overlaps, Box<dyn Error>> {
    let peer = laboratory::peers::by_name(name).ok_or_else(|| format!("there is no engine '{name}'"))?;
    let mut pairs = Vec::new();
    peer.entry.make().find_pairs(boxes, &mut pairs)?;
    Ok(Overlaps { report: Report { box_count: boxes.len() as u32, pair_count: pairs.len() as u64, ..EMPTY }, pairs })
}

#[cfg(not(feature = "peers"))]
fn with_peer(name: &str, _: &[Aabb]) -> Result<Overlaps, Box<dyn Error>> {
    Err(format!("engine '{name}': other libraries are behind `--features peers`").into())
}

#[cfg(feature = "peers")]
const EMPTY: Report = Report {
    box_count: 0,
    invalid_count: 0,
    first_invalid: Vec::new(),
    giant_count: 0,
    entry_count: 0,
    candidate_count: 0,
    pair_count: 0,
    axis: SweepAxis::Auto,
    direction: [0.0; 3],
    cell_size: 0.0,
    passes: 1,
    gpu_bytes: 0,
};

/// Of the pairs in canonical order, into which they are brought.
fn hash(pairs: &mut [Pair]) -> u64 {
    pairs.sort_unstable();
    let mut hasher = DefaultHasher::new();
    pairs.iter().for_each(|pair| hasher.write_u64(u64::from(pair.a) << 32 | u64::from(pair.b)));
    hasher.finish()
}

/// Bytes per second that a copy of 64 MiB reads and writes together; the best of several.
fn copy_speed(gpu: &Gpu) -> Result<f64, Box<dyn Error>> {
    const BYTES: u64 = 64 << 20;
    let [from, to] = [0, 1].map(|_| {
        gpu.device().create_buffer(&wgpu::BufferDescriptor {
            label: Some("copy"),
            size: BYTES,
            usage: wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        })
    });
    let mut best = f64::INFINITY;
    for _ in 0..6 {
        let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        for _ in 0..8 {
            encoder.copy_buffer_to_buffer(&from, 0, &to, 0, BYTES);
        }
        let start = Instant::now();
        gpu.queue().submit([encoder.finish()]);
        gpu.device().poll(wgpu::PollType::wait_indefinitely())?;
        best = best.min(start.elapsed().as_secs_f64());
    }
    Ok(8.0 * 2.0 * BYTES as f64 / best)
}

fn ms(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

fn median(sorted: &[Duration]) -> Duration {
    sorted.get(sorted.len() / 2).copied().unwrap_or_default()
}

/// The median time of the kernels whose names begin with `stage`, all together.
fn stage_time(row: &Row, stage: &str) -> Duration {
    let mut times: Vec<Duration> = row
        .kernels
        .iter()
        .map(|run| run.iter().filter(|time| time.kernel.starts_with(stage)).map(|time| time.time).sum())
        .collect();
    times.sort();
    median(&times)
}

/// The bytes that a stage has to read and write, each at least once.
fn floor_bytes(stage: &str, report: &Report, kernels: &[KernelTime]) -> f64 {
    let boxes = f64::from(report.box_count);
    let entries = f64::from(report.entry_count);
    let pairs = report.pair_count as f64;
    // An entry has a quad at least, and a quad four candidates at most.
    let runs = (report.candidate_count as f64 / 4.0 + entries) / f64::from(RUN_QUADS);
    // Passes beyond the key are recorded, and empty: the key is taken to be that of boxes that fill space.
    let key_bits = if boxes > 3e5 { 32 } else { 24 };
    let is_portable = kernels.iter().any(|time| time.kernel == "sort_scatter");
    let passes = key_bits / if is_portable { RADIX_BITS } else { WIDE_BITS };
    match stage {
        "pca_" => 2.0 * 24.0 * boxes,
        "bin_" => (24.0 + 32.0) * boxes + 32.0 * boxes + 8.0 * entries,
        // Of keys for the counts; of keys and values to and fro.
        "sort_" => f64::from(passes) * 20.0 * entries,
        "rank_" => 20.0 * entries + 16.0 * boxes,
        // The path to and fro, extents, entries and boxes once, and what runs there are.
        "sweep_" => (16.0 + 8.0) * entries + 24.0 * boxes + 16.0 * runs,
        "giants_" => f64::from(report.giant_count) / 64.0 * 40.0 * boxes,
        "emit_" => (2.0 * 16.0 + 8.0) * runs + 4.0 * entries + 8.0 * pairs,
        _ => 0.0,
    }
}

/// What a row looks like on a terminal.
fn lines(row: &Row, copy: f64, kernels: bool) -> String {
    let mut text = format!(
        "{:>14} {:>9}  {:>6} {:>9.2} ms ({:.2} to {:.2})",
        row.scene,
        row.boxes,
        row.engine,
        ms(median(&row.calls)),
        ms(row.calls[0]),
        ms(row.calls[row.calls.len() - 1]),
    );
    let Some(Overlaps { report, .. }) = &row.last else { return text + "\n" };
    let _ = write!(text, ", {} pairs", report.pair_count);
    if report.candidate_count > 0 {
        let _ = write!(
            text,
            ", {:.2} entries per box, {:.2} candidates per (box + pair)",
            f64::from(report.entry_count) / row.boxes.max(1) as f64,
            report.candidate_count as f64 / (row.boxes as f64 + report.pair_count as f64)
        );
    }
    text += "\n";
    if row.kernels.is_empty() {
        return text;
    }
    for stage in STAGES {
        let stage = format!("{stage}_");
        let time = stage_time(row, &stage);
        let floor = floor_bytes(&stage, report, &row.kernels[0]) / copy;
        let ratio = if floor > 0.0 { format!("{:8.1} x floor", time.as_secs_f64() / floor) } else { String::new() };
        if !time.is_zero() {
            let _ = writeln!(text, "{:>32} {:>9.3} ms {ratio}", stage.trim_end_matches('_'), ms(time));
        }
    }
    if kernels {
        for time in &row.kernels[0] {
            let dispatches = time.dispatches;
            let _ = writeln!(text, "{:>46} {:>9.3} ms ({dispatches}x)", time.kernel, ms(stage_time(row, time.kernel)));
        }
    }
    text
}

fn table(adapter: &str, rows: &[Row]) -> String {
    let mut text = String::from(
        "adapter,scene,boxes,engine,median_ms,min_ms,max_ms,entries,candidates,giants,pairs,gpu_bytes,hash",
    );
    STAGES.iter().for_each(|stage| text.extend([",", stage, "_ms"]));
    text += "\n";
    for row in rows {
        let Some(Overlaps { report, .. }) = &row.last else { continue };
        let _ = write!(
            text,
            "{},{},{},{},{:.3},{:.3},{:.3},{},{},{},{},{},{:016x}",
            adapter.replace(',', ";"),
            row.scene,
            row.boxes,
            row.engine,
            ms(median(&row.calls)),
            ms(row.calls[0]),
            ms(row.calls[row.calls.len() - 1]),
            report.entry_count,
            report.candidate_count,
            report.giant_count,
            report.pair_count,
            report.gpu_bytes,
            row.hash
        );
        for stage in STAGES {
            match row.kernels.is_empty() {
                true => text += ",",
                false => {
                    let _ = write!(text, ",{:.3}", ms(stage_time(row, &format!("{stage}_"))));
                }
            }
        }
        text += "\n";
    }
    text
}
