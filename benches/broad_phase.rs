//! Time of a whole call (upload, search, pairs in host memory) per scene, number of boxes and engine, and of each
//! stage on the GPU.
//!
//! ```text
//! cargo bench -p broadsweep-laboratory --bench broad_phase [--features peers] -- [OPTION ...] [KIND:N | FILE.npy ...]
//!   --runs R                  measured runs of each row, after one that is not counted [5]
//!   --engines gpu,cpu,parry   who finds the pairs [gpu,cpu, and parry with the feature `peers`, which has others]
//!   --axis AXIS               auto, principal, x, y or z [auto]
//!   --cell SIZE               auto, usscd or a number [auto]
//!   --all-pairs-up-to N       test each box against each up to this many boxes
//!   --sort VARIANT            auto, portable or subgroup [auto]
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

use std::error::Error;
use std::fmt::Write as _;
use std::time::Instant;

use broadsweep::device::SortVariant;
use broadsweep::internals::constants::{BALLOT_BITS, KEY_BITS, KEY_BOXES, LONG_KEY_BITS, RADIX_BITS, RUN_QUADS};
use broadsweep::internals::gpu::timing::KernelTime;
use broadsweep::{Aabb, BroadPhase, CellSize, Gpu, Options, Pair, Report, SweepAxis, wgpu};
use laboratory::engine::{Engine, timed};
use laboratory::measure::contestant::Contestant;
use laboratory::measure::csv;
use laboratory::measure::hash::hash;
use laboratory::measure::kernels::{KernelTimes, stage};
use laboratory::measure::time::Time;
use laboratory::scenes::SceneName;

/// The stages of the flow, which the names of their kernels begin with.
const STAGES: [&str; 10] = ["small", "pca", "frame", "bin", "sort", "rank", "sweep", "giants", "emit", "order"];

/// An engine with a scene.
struct Row {
    scene: String,
    engine: Engine,
    boxes: usize,
    /// The time of the whole call.
    time: Time,
    kernels: KernelTimes,
    pairs: u64,
    hash: u64,
    /// Of an engine of broadsweep.
    report: Option<Report>,
}

struct Arguments {
    runs: usize,
    engines: Vec<Engine>,
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
    println!("sort: {:?}", broadsweep::internals::grid::sort_variant(&gpu)?);
    let copy = copy_speed(&gpu)?;
    println!("copy: {:.1} GB/s read and written", copy / 1e9);

    match arguments.mode {
        Mode::SearchCells => return search_cells(&mut BroadPhase::new(&gpu, arguments.options)?, &arguments),
        Mode::CompareAxes => return compare_axes(&mut BroadPhase::new(&gpu, arguments.options)?, &arguments),
        Mode::Measure => {}
    }
    let mut all: Vec<Row> = Vec::new();
    for scene in &arguments.scenes {
        let rows = measure(scene, &gpu, &arguments)?;
        rows.iter().for_each(|row| print!("{}", lines(row, copy, arguments.kernels)));
        all.extend(rows);
    }
    if let Some(file) = arguments.csv {
        std::fs::write(file, table(&info.name, &all))?;
    }
    Ok(())
}

fn parse(mut args: impl Iterator<Item = String>) -> Result<Arguments, Box<dyn Error>> {
    let mut arguments = Arguments {
        runs: 5,
        engines: engines(if cfg!(feature = "peers") { "gpu,cpu,parry" } else { "gpu,cpu" })?,
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
            "--engines" => arguments.engines = engines(&value()?)?,
            "--csv" => arguments.csv = Some(value()?),
            "--kernels" => arguments.kernels = true,
            "--search-cells" => arguments.mode = Mode::SearchCells,
            "--compare-axes" => arguments.mode = Mode::CompareAxes,
            "--sort" => {
                arguments.sort = match value()?.as_str() {
                    "auto" => None,
                    "portable" => Some(SortVariant::Portable),
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
            "--all-pairs-up-to" => arguments.options.all_pairs_up_to = Some(value()?.parse()?),
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

fn engines(names: &str) -> Result<Vec<Engine>, Box<dyn Error>> {
    let find = |name: &str| Engine::all().into_iter().find(|engine| engine.name() == name);
    let hint = if cfg!(feature = "peers") { "" } else { " (other libraries are behind `--features peers`)" };
    names.split(',').map(|name| find(name).ok_or_else(|| format!("there is no engine '{name}'{hint}").into())).collect()
}

/// Measures every engine with one scene, in turn; all scenes at once might not fit the memory.
fn measure(scene: &str, gpu: &Gpu, arguments: &Arguments) -> Result<Vec<Row>, Box<dyn Error>> {
    struct Lane {
        contestant: Contestant,
        times: Vec<f64>,
        kernels: KernelTimes,
        pairs: Vec<Pair>,
        report: Option<Report>,
    }
    let boxes = scene.parse::<SceneName>()?.boxes(1)?;
    let mut lanes = Vec::new();
    for &engine in &arguments.engines {
        // Buffers of its own, or a row would show the memory of larger scenes before it.
        let contestant = Contestant::new(engine, Some(gpu), arguments.options)?;
        let (times, kernels) = (Vec::new(), KernelTimes::default());
        lanes.push(Lane { contestant, times, kernels, pairs: Vec::new(), report: None });
    }
    for run in 0..=arguments.runs {
        for lane in &mut lanes {
            // Every run has boxes that the engine has not seen.
            lane.contestant.forget();
            let call = lane.contestant.find_pairs(&boxes, &mut lane.pairs)?;
            let mut first = KernelTimes::default();
            lane.contestant.time_kernels(&boxes, if run > 0 { &mut lane.kernels } else { &mut first })?;
            if run > 0 {
                lane.times.push(call.ms);
            }
            lane.report = call.report;
        }
    }
    let name = scene.split(':').next().unwrap_or(scene).rsplit('/').next().unwrap_or(scene);
    let mut rows = Vec::new();
    for (&engine, Lane { times, kernels, pairs, report, .. }) in arguments.engines.iter().zip(lanes) {
        rows.push(Row {
            scene: name.to_owned(),
            engine,
            boxes: boxes.len(),
            time: Time::of(times).ok_or("there were no runs")?,
            kernels,
            pairs: pairs.len() as u64,
            hash: hash(&pairs),
            report,
        });
    }
    if rows.iter().any(|row| row.hash != rows[0].hash) {
        return Err(format!("{scene}: the engines disagree").into());
    }
    Ok(rows)
}

/// Prints for each scene the time with `CellSize::Auto`, and with fixed sizes from a quarter of its cell to eight
/// times.
fn search_cells(broad_phase: &mut BroadPhase, arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    println!("scene,boxes,auto_cell,auto_ms,best_cell,best_ms,auto_to_best,best_to_auto_cell");
    for scene in &arguments.scenes {
        let boxes = scene.parse::<SceneName>()?.boxes(1)?;
        broad_phase.set_options(arguments.options)?;
        let cell = broad_phase.find_pairs(&boxes)?.report.cell_size;
        let mut sizes = vec![CellSize::Auto];
        if cell.is_finite() {
            sizes.extend((-4..=6).map(|k| CellSize::Fixed(cell * 2f32.powf(k as f32 / 2.0))));
        }
        let mut times = vec![Vec::new(); sizes.len()];
        for run in 0..=arguments.runs {
            for (&cell_size, times) in sizes.iter().zip(&mut times) {
                broad_phase.set_options(arguments.options.with_cell_size(cell_size))?;
                let (found, seconds) = timed(|| broad_phase.find_pairs(&boxes));
                found?;
                if run > 0 {
                    times.push(1e3 * seconds);
                }
            }
        }
        let medians: Vec<f64> = times.into_iter().flat_map(Time::of).map(|time| time.median_ms).collect();
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

/// Prints for each scene the candidates per (box + pair) along each axis.
fn compare_axes(broad_phase: &mut BroadPhase, arguments: &Arguments) -> Result<(), Box<dyn Error>> {
    println!("scene,boxes,pairs,auto,auto_is,principal,x,y,z");
    for scene in &arguments.scenes {
        let boxes = scene.parse::<SceneName>()?.boxes(1)?;
        let mut line = String::new();
        for axis in [SweepAxis::Auto, SweepAxis::Principal, SweepAxis::X, SweepAxis::Y, SweepAxis::Z] {
            broad_phase.set_options(arguments.options.with_axis(axis))?;
            let report = broad_phase.find_pairs(&boxes)?.report.clone();
            if axis == SweepAxis::Auto {
                line = format!("{scene},{},{}", boxes.len(), report.pair_count);
            }
            let _ = write!(line, ",{:.3}", per_box_and_pair(&boxes, &report));
            if axis == SweepAxis::Auto {
                let _ = write!(line, ",{:?}", report.axis);
            }
        }
        println!("{line}");
    }
    Ok(())
}

fn per_box_and_pair(boxes: &[Aabb], report: &Report) -> f64 {
    report.candidate_count as f64 / (boxes.len() as f64 + report.pair_count as f64)
}

/// Measures the bytes per second that a copy of 64 MiB reads and writes together; the best of several.
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

/// Returns the bytes that a stage has to read and write, each at least once.
fn floor_bytes(stage: &str, report: &Report, kernels: &[KernelTime]) -> f64 {
    let boxes = f64::from(report.box_count);
    let entries = f64::from(report.entry_count);
    let pairs = report.pair_count as f64;
    // An entry has a quad at least, and a quad four candidates at most.
    let runs = (report.candidate_count as f64 / 4.0 + entries) / f64::from(RUN_QUADS);
    let has = |kernel| kernels.iter().any(|time| time.kernel == kernel);
    let key_bits = if report.box_count > KEY_BOXES { LONG_KEY_BITS } else { KEY_BITS };
    let passes = key_bits.div_ceil(if has("sort_scatter") { RADIX_BITS } else { BALLOT_BITS });
    match stage {
        "pca" => 24.0 * boxes,
        "bin" => (24.0 + 24.0) * boxes + 16.0 * boxes + 8.0 * entries,
        // Of keys for the counts; of keys and values to and fro.
        "sort" => f64::from(passes) * 20.0 * entries,
        "rank" => 16.0 * entries + 8.0 * boxes,
        // The stretches are read twice; footprints, entries and boxes once. A byte of bases for each entry is written
        // and read. The runs come last.
        "sweep" => (8.0 + 8.0 + 2.0) * entries + 24.0 * boxes + 12.0 * runs,
        "giants" => f64::from(report.giant_count) / 64.0 * 40.0 * boxes,
        "emit" => (4.0 + 12.0) * runs + 4.0 * entries + 8.0 * pairs,
        _ => 0.0,
    }
}

/// Writes a row for a terminal.
fn lines(row: &Row, copy: f64, with_kernels: bool) -> String {
    let Row { scene, engine, boxes, time, kernels, pairs, report, .. } = row;
    let mut text = format!(
        "{scene:>14} {boxes:>9}  {:>6} {:>9.2} ms ({:.2} to {:.2}), {pairs} pairs",
        engine.name(),
        time.median_ms,
        time.min_ms,
        time.max_ms,
    );
    let Some(report) = report else { return text + "\n" };
    if report.candidate_count > 0 {
        let _ = write!(
            text,
            ", {:.2} entries per box, {:.2} candidates per (box + pair)",
            f64::from(report.entry_count) / (*boxes).max(1) as f64,
            report.candidate_count as f64 / (*boxes as f64 + *pairs as f64)
        );
    }
    text += "\n";
    for name in STAGES {
        let ms = kernels.median_ms(|kernel| stage(kernel) == name);
        let floor = floor_bytes(name, report, kernels.kernels()) / copy;
        let ratio = if floor > 0.0 { format!("{:8.1} x floor", ms / 1e3 / floor) } else { String::new() };
        if ms > 0.0 {
            let _ = writeln!(text, "{name:>32} {ms:>9.3} ms {ratio}");
        }
    }
    for &KernelTime { kernel, dispatches, .. } in kernels.kernels().iter().filter(|_| with_kernels) {
        let ms = kernels.median_ms(|other| other.kernel == kernel);
        let _ = writeln!(text, "{kernel:>46} {ms:>9.3} ms ({dispatches}x)");
    }
    text
}

fn table(adapter: &str, rows: &[Row]) -> String {
    let columns = "adapter,scene,boxes,engine,median_ms,min_ms,max_ms,entries,candidates,giants,pairs,gpu_bytes,hash";
    let stages = STAGES.map(|stage| format!("{stage}_ms"));
    let mut text = csv::line(columns.split(',').map(str::to_owned).chain(stages));
    for Row { scene, engine, boxes, time, kernels, pairs, hash, report } in rows {
        // Other engines do not count these.
        let count = |of: fn(&Report) -> u64| report.as_ref().map_or(0, of).to_string();
        let fields = [
            adapter.replace(',', ";"),
            scene.clone(),
            boxes.to_string(),
            engine.name().to_owned(),
            format!("{:.3}", time.median_ms),
            format!("{:.3}", time.min_ms),
            format!("{:.3}", time.max_ms),
            count(|report| report.entry_count.into()),
            count(|report| report.candidate_count),
            count(|report| report.giant_count.into()),
            pairs.to_string(),
            count(|report| report.gpu_bytes),
            format!("{hash:016x}"),
        ];
        let stages = STAGES.map(|name| match kernels.kernels().is_empty() {
            true => String::new(),
            false => format!("{:.3}", kernels.median_ms(|kernel| stage(kernel) == name)),
        });
        text += &csv::line(fields.into_iter().chain(stages));
    }
    text
}
