//! `broadsweep frames`.

use std::fmt::Write as _;
use std::ops::ControlFlow;
use std::path::PathBuf;

use anyhow::{Context, Result, ensure};
use broadsweep::step::StepReport;
use broadsweep::{Aabb, BroadPhase, Events, Filters, Options, Pair, PairOrder, Step, cpu};
use laboratory::adapter;
use laboratory::engine::timed;
use laboratory::scenes::{Motion, SceneName, SceneNameError, npy, parse_count};
use serde_json::{Value, json};

use crate::output::{Output, print_report};
use crate::progress::Progress;
use crate::queries::{Engine, Named, write};
use crate::ready::Ready;
use crate::{input, text};

/// Find the events from frame to frame: the pairs that are created, and the pairs that are lost
///
/// In the first frame, all pairs are created.
#[derive(clap::Args)]
pub struct Args {
    /// Frames: an (f, n, 6) or (f, n, 2, 3) array, in 2D (f, n, 4) or (f, n, 2, 2), minimum corners first; `-` is stdin
    ///
    /// The array is in C order; `broadsweep pairs --help` describes its numbers. Box i of a frame is box i of the next.
    /// KIND:N is a moving scene, such as brownian:100000, or a motion of `bench frames`, such as slow:100000; see
    /// --count.
    #[arg(value_name = "FRAMES.npy|KIND:N")]
    frames: PathBuf,

    /// The count of frames to search, from the first [default: all of a file, 100 of a scene]
    #[arg(long, value_name = "F")]
    count: Option<u32>,

    /// The engine that finds the pairs [default: gpu if there is a GPU, otherwise cpu]
    #[arg(long, value_enum)]
    engine: Option<Engine>,

    /// The first GPU adapter whose name contains NAME; `broadsweep adapters` lists them
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,

    /// Compare each frame with independent searches by the CPU engine, and with the differences of their pairs
    ///
    /// A difference is an error, and nothing is written.
    #[arg(long)]
    verify: bool,

    /// The file for the events, which np.load reads; `-` is stdout
    ///
    /// u4 (k, 2) `created` and `lost` have the pairs of one frame after the other, ascending within each. u8 (f + 1,)
    /// `created_offsets` and `lost_offsets` have the index of the first pair of each frame.
    #[arg(long, value_name = "EVENTS.npz")]
    out: Option<PathBuf>,

    /// Print the report as one JSON object
    #[arg(long)]
    json: bool,
}

/// The source of the events.
enum Finder {
    Gpu(Box<BroadPhase>),
    Cpu(Box<cpu::BroadPhase>),
    Brute(Differences),
}

/// The events of searches from nothing: the differences of what one finds and the next.
#[derive(Default)]
pub struct Differences {
    /// The pairs of the last frame, ascending.
    pub pairs: Vec<Pair>,
    /// The pairs that begin in the last frame.
    pub created: Vec<Pair>,
    /// The pairs that end in it.
    pub lost: Vec<Pair>,
}

impl Differences {
    /// Takes the pairs of the next frame, ascending.
    pub fn advance(&mut self, pairs: Vec<Pair>) {
        let without = |some: &[Pair], others: &[Pair]| -> Vec<Pair> {
            some.iter().copied().filter(|pair| others.binary_search(pair).is_err()).collect()
        };
        self.created = without(&pairs, &self.pairs);
        self.lost = without(&self.pairs, &pairs);
        self.pairs = pairs;
    }
}

/// The counts of a frame.
struct Row {
    boxes: usize,
    pairs: u64,
    created: u64,
    lost: u64,
    /// The reports of our engines.
    report: Option<StepReport>,
    seconds: f64,
}

/// The events so far, and how they came.
struct Run<'a> {
    args: &'a Args,
    finder: Finder,
    /// The reference of `--verify`.
    from_nothing: Option<(cpu::BroadPhase, Differences)>,
    rows: Vec<Row>,
    created: Vec<u32>,
    lost: Vec<u32>,
    offsets: [Vec<u64>; 2],
}

impl Run<'_> {
    /// Finds the events of the next frame.
    fn advance(&mut self, boxes: &[Aabb]) -> Result<()> {
        let number = self.rows.len();
        let none = Filters::default();
        let (found, seconds) = match &mut self.finder {
            Finder::Gpu(engine) => timed(|| engine.find_events(Step::new(boxes).changes_only()).map(|_| ())),
            Finder::Cpu(engine) => timed(|| engine.find_events(Step::new(boxes).changes_only()).map(|_| ())),
            Finder::Brute(differences) => {
                timed(|| cpu::brute_force::find_pairs(boxes, &none).map(|pairs| differences.advance(pairs)))
            }
        };
        found.with_context(|| format!("frame {number}"))?;
        let (pairs, created, lost, report) = match &self.finder {
            Finder::Gpu(engine) => parts(engine.events()),
            Finder::Cpu(engine) => parts(engine.events()),
            Finder::Brute(own) => (own.pairs.len(), &own.created[..], &own.lost[..], None),
        };
        if let Some((engine, differences)) = &mut self.from_nothing {
            engine.find_pairs(boxes)?;
            differences.advance(engine.take_overlaps().pairs);
            ensure!(
                differences.pairs.len() == pairs && differences.created == created && differences.lost == lost,
                "verification failed: the events of frame {number} differ from those of independent searches. Nothing was \
                 written. Please report this"
            );
        }
        for (list, pairs) in [(&mut self.created, created), (&mut self.lost, lost)] {
            let out_of_memory = |_| {
                anyhow::anyhow!("there is no memory for the events of {} frames; give a smaller --count", number + 1)
            };
            list.try_reserve(2 * pairs.len()).map_err(out_of_memory)?;
            list.extend(pairs.iter().flat_map(|pair| [pair.a, pair.b]));
        }
        let [pairs, created, lost] = [pairs, created.len(), lost.len()].map(|count| count as u64);
        self.rows.push(Row { boxes: boxes.len(), pairs, created, lost, report, seconds });
        self.offsets[0].push(self.created.len() as u64 / 2);
        self.offsets[1].push(self.lost.len() as u64 / 2);
        Ok(())
    }

    fn arrays(&self) -> Vec<Named> {
        let pairs = |name, list: &[u32]| Named::new(name, &[list.len() as u64 / 2, 2], list);
        let offsets = |name, list: &[u64]| Named::new(name, &[list.len() as u64], list);
        vec![
            offsets("created_offsets", &self.offsets[0]),
            offsets("lost_offsets", &self.offsets[1]),
            pairs("created", &self.created),
            pairs("lost", &self.lost),
        ]
    }

    /// Returns the seconds of all frames, and the median.
    fn times(&self) -> [f64; 2] {
        let mut seconds: Vec<f64> = self.rows.iter().map(|row| row.seconds).collect();
        seconds.sort_unstable_by(f64::total_cmp);
        // A sum of no times would be -0.
        [seconds.iter().sum::<f64>() + 0.0, seconds.get(seconds.len() / 2).copied().unwrap_or(0.0)]
    }

    fn lines(&self, engine: &Ready) -> String {
        let mut lines = format!(
            "{:>6} {:>11} {:>11} {:>11} {:>11} {:>11} {:>9}  {:>10}\n",
            "frame", "boxes", "pairs", "created", "lost", "moved", "left", "time"
        );
        for (number, row) in self.rows.iter().enumerate() {
            let count = |of: fn(&StepReport) -> u32| match &row.report {
                Some(report) if !report.work.searched => text::count(u64::from(of(report))),
                // Not looked at.
                _ => "-".to_owned(),
            };
            let [boxes, pairs, created, lost] = [row.boxes as u64, row.pairs, row.created, row.lost].map(text::count);
            let moved = count(|report| report.work.moved_count);
            let left = match row.report.as_ref().map(|report| report.work) {
                Some(work) if work.began_epoch => "epoch".to_owned(),
                Some(work) if work.searched => "all".to_owned(),
                _ => count(|report| report.work.left_padding_count),
            };
            let time = text::seconds(row.seconds);
            let _ = writeln!(
                lines,
                "{number:>6} {boxes:>11} {pairs:>11} {created:>11} {lost:>11} {moved:>11} {left:>9}  {time:>10}"
            );
        }
        let [all, median] = self.times().map(text::seconds);
        let mut add = |label: &str, value: String| {
            let _ = writeln!(lines, "{label:<11} {value}");
        };
        add("frames", format!("{} of {}", text::count(self.rows.len() as u64), self.scene()));
        add("engine", engine.describe());
        let [created, lost] = [&self.created, &self.lost].map(|list| text::count(list.len() as u64 / 2));
        add("events", format!("{created} pairs created, {lost} lost"));
        add("time", format!("{all}, median of a frame {median}"));
        if self.from_nothing.is_some() {
            add("verified", "all frames equal the differences of independent searches".to_owned());
        }
        if let Some(path) = &self.args.out {
            add("written", text::path(path));
        }
        lines
    }

    fn scene(&self) -> String {
        text::printable(&self.args.frames.display().to_string())
    }

    fn json(&self, engine: &Ready) -> Value {
        // Where all boxes were searched, nobody looked at what moved.
        let incremental = |row: &Row| row.report.as_ref().map(|report| report.work).filter(|work| !work.searched);
        let frame = |row: &Row| {
            json!({
                "boxes": row.boxes,
                "pairs": row.pairs,
                "created": row.created,
                "lost": row.lost,
                "invalid": row.report.as_ref().map(|report| report.invalid_count),
                "searched": row.report.as_ref().map(|report| report.work.searched),
                "began_epoch": row.report.as_ref().map(|report| report.work.began_epoch),
                "moved": incremental(row).map(|work| work.moved_count),
                "left": incremental(row).map(|work| work.left_padding_count),
                "seconds": row.seconds,
            })
        };
        let [seconds, median] = self.times();
        json!({
            "scene": self.args.frames.display().to_string(),
            "engine": engine.engine().name(),
            "adapter": match engine {
                Ready::Gpu(gpu) => Some(adapter::line(&gpu.adapter_info())),
                Ready::Other(_) => None,
            },
            "frames": self.rows.iter().map(frame).collect::<Vec<Value>>(),
            "created": self.created.len() / 2,
            "lost": self.lost.len() / 2,
            "seconds": seconds,
            "median_seconds": median,
            "verified": self.from_nothing.is_some(),
            "out": self.args.out.as_ref().map(|path| path.display().to_string()),
        })
    }
}

/// Returns how many pairs there are, the created and the lost ones, and the report.
fn parts(events: &Events) -> (usize, &[Pair], &[Pair], Option<StepReport>) {
    (events.pairs.len(), &events.created, &events.lost, Some(events.report.clone()))
}

/// Makes the boxes of a step.
type BoxesOf = Box<dyn Fn(u32) -> Vec<Aabb>>;

/// Returns what makes the boxes of each step of a scene, or of boxes in a motion; `None` for the name of a file.
fn moving(text: &str) -> Result<Option<BoxesOf>> {
    if let Some((name, count)) = text.split_once(':')
        && let Ok(motion) = name.parse::<Motion>()
    {
        let n = parse_count(count)? as usize;
        return Ok(Some(Box::new(move |step| motion.boxes(n, Motion::DENSITY, 1, step))));
    }
    let named = text.parse().map_err(|error: SceneNameError| match error {
        SceneNameError::UnknownKind(error) => {
            anyhow::anyhow!("{error}, and the motions {}", Motion::ALL.map(Motion::name).join(", "))
        }
        other => other.into(),
    });
    let SceneName::Kind { kind, n } = named? else { return Ok(None) };
    let n = n as usize;
    Ok(Some(match kind.moves() {
        true => Box::new(move |step| kind.generate_step(n, 1, step)),
        false => Box::new(move |_| kind.generate(n, 1)),
    }))
}

/// Reads or makes the frames, and hands each over.
fn each_frame(args: &Args, mut each: impl FnMut(&[Aabb]) -> Result<()>) -> Result<()> {
    /// Steps of a scene, if none are requested.
    const COUNT: u32 = 100;
    let path = &args.frames;
    if let Some(text) = path.to_str().filter(|_| !path.exists() && !input::has_extension(path, "npy"))
        && let Some(boxes_of) = moving(text)?
    {
        return (0..args.count.unwrap_or(COUNT)).try_for_each(|step| each(&boxes_of(step)));
    }
    let mut remaining = args.count.unwrap_or(u32::MAX);
    let hand_over = |_, boxes: &[Aabb]| -> Result<ControlFlow<()>> {
        if remaining == 0 {
            return Ok(ControlFlow::Break(()));
        }
        remaining -= 1;
        each(boxes)?;
        Ok(if remaining == 0 { ControlFlow::Break(()) } else { ControlFlow::Continue(()) })
    };
    let name = || format!("cannot read {}", text::path(path));
    let read = if path.as_os_str() == "-" {
        npy::read_frames(std::io::stdin().lock(), None, hand_over)
    } else {
        let opened = npy::open_file(path).map_err(Into::into);
        opened.and_then(|(file, length)| npy::read_frames(file, length, hand_over))
    };
    // An error of a frame is not an error of the file.
    read.map_err(|error| if error.is::<npy::Error>() { error.context(name()) } else { error })
}

/// Runs `broadsweep frames`.
pub fn run(args: &Args) -> Result<()> {
    let output = args.out.as_deref().map(Output::check).transpose()?;
    let is_input = output.as_ref().is_some_and(|output| output.is_file(&args.frames));
    ensure!(!is_input, "--out is the file of the frames itself: {}; give another file", text::path(&args.frames));
    if let Some(engine @ (Engine::Cpu | Engine::Brute)) = args.engine {
        let name = engine.of_pairs().name();
        ensure!(args.adapter.is_none(), "--adapter selects a GPU, which --engine {name} does not use");
    }
    let engine = Ready::choose(args.engine.map(Engine::of_pairs), args.adapter.as_deref())?;
    let options = Options::default().with_order(PairOrder::Canonical);
    let finder = match &engine {
        Ready::Gpu(gpu) => Finder::Gpu(Box::new(BroadPhase::new(gpu, options)?)),
        Ready::Other(laboratory::engine::Engine::Brute) => Finder::Brute(Differences::default()),
        Ready::Other(_) => Finder::Cpu(Box::new(cpu::BroadPhase::new(options)?)),
    };
    let from_nothing = args.verify.then(|| cpu::BroadPhase::new(options)).transpose()?;
    let mut run = Run {
        args,
        finder,
        from_nothing: from_nothing.map(|engine| (engine, Differences::default())),
        rows: Vec::new(),
        created: Vec::new(),
        lost: Vec::new(),
        offsets: [vec![0], vec![0]],
    };
    {
        let _progress = Progress::start("finding the events".to_owned());
        each_frame(args, |boxes| run.advance(boxes))?;
    }
    if let Some(output) = &output {
        output.write(|to| write(to, &run.arrays()))?;
    }
    let report = if args.json { format!("{}\n", run.json(&engine)) } else { run.lines(&engine) };
    print_report(&report, &output)
}
