//! `broadsweep bench usscd`: the three experiments of Li, Lu and He 2003, "USSCD: A Fast Collision Detection Algorithm
//! Based on Uniform Spatial Subdivision", section 3, with our engines beside the paper's three algorithms.
//!
//! Spheres of nearly equal size, uniform in a cube, fly in random directions at one speed. The paper gives neither
//! its densities nor its speeds; here the largest diameter is the unit of length, and each experiment covers
//! both sides of what the paper reports.

mod race;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, Result};
use laboratory::scenes::Particles;

use super::STOPPED;
use super::measure::{is_stopped, stop_on_ctrl_c};
use super::plot::{Axis, Chart, Series};
use crate::engine::Engine;
use crate::output::{Output, print};
use crate::progress::Progress;
use crate::text;
use race::{Lap, Race};

/// Reproduce the three experiments of USSCD: frames per second against the number of objects, the size of
/// their space, and their speed
///
/// Every engine gets the same frames, in turn, and the pairs of those that measure a frame are compared. Ctrl-C stops after the
/// frame that it is in and keeps what was measured.
#[derive(clap::Args)]
pub struct Args {
    /// Where `usscd.csv` and the figures go; made where there is none
    #[arg(long, value_name = "DIR", default_value = "usscd-out")]
    out: PathBuf,

    /// Who takes part [default: usscd,scd,i_collide,cpu,gpu, without the GPU where there is none]
    #[arg(long, value_name = "ENGINE,...", value_delimiter = ',', value_parser = Engine::parser())]
    engines: Vec<Engine>,

    /// The GPU adapter whose name contains this; `broadsweep adapters` lists them
    #[arg(long, value_name = "NAME")]
    adapter: Option<String>,

    /// Frames measured of each setting, after one that is not
    #[arg(long, default_value_t = 50, value_parser = clap::value_parser!(u32).range(1..))]
    frames: u32,

    /// Seconds after which an engine has measured enough frames of a setting, once it has three
    #[arg(long, default_value_t = 1.0, allow_negative_numbers = true)]
    seconds: f64,

    /// The same seed gives the same scenes, on every machine
    #[arg(long, default_value_t = 1)]
    seed: u64,

    /// Few and small settings, to see that it works
    #[arg(long)]
    quick: bool,
}

/// Objects per cube of the largest diameter, where that is not what varies: 0.3 to 0.4 pairs per object.
const DENSITY: f64 = 0.1;
/// Largest diameters per frame, where that is not what varies.
const SPEED: f64 = 0.1;
/// Where that is not what varies. More than the engines test without a grid.
const OBJECTS: usize = 5000;

/// What all engines are given.
struct Setting {
    n: usize,
    space: Particles,
}

impl Setting {
    fn new(n: usize, side: f64, speed: f64) -> Self {
        Self { n, space: Particles { side, diameter: 1.0, speed } }
    }

    fn density(&self) -> f64 {
        self.n as f64 / self.space.side.powi(3)
    }
}

/// What varies, and how.
struct Experiment {
    name: &'static str,
    title: String,
    /// With the unit.
    label: &'static str,
    of: fn(&Setting) -> f64,
    settings: Vec<Setting>,
    /// Name and title of each, and which of the paper's algorithms are not in it.
    figures: &'static [(&'static str, &'static str, &'static [&'static str])],
}

fn experiments(quick: bool) -> [Experiment; 3] {
    let side = |n: usize| (n as f64 / DENSITY).cbrt();
    let (objects, numbers, sides, speeds) = if quick {
        (400, &[100, 400][..], &[8.0, 40.0][..], &[0.1, 1.0][..])
    } else {
        (
            OBJECTS,
            &[100, 200, 500, 1000, 2000, 5000, 10_000, 20_000, 50_000, 100_000][..],
            // From where the formula has its second branch, to where there are as many cells as there may be.
            &[13.0, 18.0, 26.0, 37.0, 52.0, 74.0, 104.0, 147.0, 208.0, 294.0, 416.0, 512.0][..],
            &[0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0][..],
        )
    };
    let count = text::count(objects as u64);
    [
        Experiment {
            name: "objects",
            title: format!("{DENSITY} objects per cubic diameter, {SPEED} diameters per frame"),
            label: "objects",
            of: |setting| setting.n as f64,
            settings: numbers.iter().map(|&n| Setting::new(n, side(n), SPEED)).collect(),
            figures: &[("figure-3a", "USSCD and SCD", &["i_collide"]), ("figure-3b", "USSCD and I-COLLIDE", &["scd"])],
        },
        Experiment {
            name: "space",
            title: format!("{count} objects, {SPEED} diameters per frame"),
            label: "side of the space, in diameters",
            of: |setting| setting.space.side,
            settings: sides.iter().map(|&side| Setting::new(objects, side, SPEED)).collect(),
            figures: &[("figure-4a", "Density", &[])],
        },
        Experiment {
            name: "speed",
            title: format!("{count} objects, {DENSITY} per cubic diameter"),
            label: "speed, in diameters per frame",
            of: |setting| setting.space.speed,
            settings: speeds.iter().map(|&speed| Setting::new(objects, side(objects), speed)).collect(),
            figures: &[("figure-4b", "Speed", &[])],
        },
    ]
}

/// Of `usscd.csv`. A row is an engine in a setting; pairs, candidates, updates and bytes are those of the last frame.
/// What an engine does not count is empty.
const COLUMNS: &str = "experiment,n,side,density,speed,engine,device,frames,median_ms,q1_ms,q3_ms,fps,pairs,\
                       candidates,updates,bytes";

/// Runs `broadsweep bench usscd`.
pub fn run(args: &Args) -> Result<ExitCode> {
    fs::create_dir_all(&args.out).with_context(|| format!("cannot make the directory {}", args.out.display()))?;
    // Finds out before any long work whether it can be written.
    let csv = Output::check(&args.out.join("usscd.csv"))?;
    let race = Race::new(&args.engines, args.adapter.as_deref(), args.seed, args.frames, args.seconds)?;
    stop_on_ctrl_c()?;
    print(&format!("Frames per second, the median of up to {} frames.\n\n", args.frames))?;
    for &engine in race.engines() {
        print(&format!("{:>16}  {}\n", title(engine), race.device(engine)))?;
    }
    let mut rows = format!("{COLUMNS}\n");
    let mut is_written = false;
    for (number, experiment) in (1..).zip(experiments(args.quick)) {
        print(&format!("\n{number}. {}\n{:>10}", experiment.title, experiment.name))?;
        print(&(race.engines().iter().map(|engine| format!("{:>18}", title(*engine))).collect::<String>() + "\n"))?;
        let mut measured = Vec::new();
        for (at, setting) in (1..).zip(&experiment.settings) {
            let what = (experiment.of)(setting);
            let laps = {
                let of = experiment.settings.len();
                let name = experiment.name;
                let _progress =
                    Progress::start(format!("experiment {number} of 3, setting {at} of {of}: {name} = {what}"));
                race.run(setting.n, setting.space)?
            };
            if is_stopped() && laps.is_empty() {
                break;
            }
            let mut line = format!("{what:>10}");
            for lap in &laps {
                write!(line, "{:>18}", rounded(frames_per_second(lap)))?;
                row(&mut rows, &experiment, setting, lap, &race.device(lap.engine))?;
            }
            print(&format!("{line}\n"))?;
            measured.push((what, laps));
            csv.write(|to| Ok(to.write_all(rows.as_bytes())?))?;
        }
        if !measured.is_empty() {
            draw(&args.out, &experiment, race.engines(), &measured)?;
            is_written = true;
        }
        if is_stopped() {
            break;
        }
    }
    if is_written {
        print(&format!("\nwritten: {}, and the figures as SVG and PNG\n", args.out.join("usscd.csv").display()))?;
    } else {
        print("\nnothing was measured, and nothing written\n")?;
    }
    Ok(if is_stopped() { ExitCode::from(STOPPED) } else { ExitCode::SUCCESS })
}

fn row(rows: &mut String, experiment: &Experiment, setting: &Setting, lap: &Lap, device: &str) -> Result<()> {
    let Setting { n, space: Particles { side, speed, .. } } = *setting;
    let known = |number: Option<u64>| number.map_or_else(String::new, |number| number.to_string());
    writeln!(
        rows,
        "{},{n},{side:.3},{:.3e},{speed},{},\"{}\",{},{:.4},{:.4},{:.4},{:.2},{},{},{},{}",
        experiment.name,
        setting.density(),
        lap.engine.name(),
        device.replace('"', "'"),
        lap.time.calls,
        lap.time.median_ms,
        lap.time.q1_ms,
        lap.time.q3_ms,
        frames_per_second(lap),
        lap.pair_count,
        known(lap.call.candidates),
        known(lap.call.updates),
        known(lap.call.bytes),
    )?;
    Ok(())
}

fn draw(out: &Path, experiment: &Experiment, engines: &[Engine], measured: &[(f64, Vec<Lap>)]) -> Result<()> {
    for (name, what, without) in experiment.figures {
        // One without points keeps its colour for the other figures.
        let series = engines.iter().map(|engine| {
            let is_in = !without.contains(&engine.name());
            let of = |laps: &[Lap]| laps.iter().find(|lap| lap.engine == *engine).map(frames_per_second);
            let points = measured.iter().filter_map(|(x, laps)| Some((*x, of(laps)?)));
            Series { name: title(*engine).to_owned(), points: points.filter(|_| is_in).collect() }
        });
        let chart = Chart {
            title: format!("{what}: {}", experiment.title),
            x: Axis { label: experiment.label.to_owned(), log: true },
            y: Axis { label: "frames per second".to_owned(), log: true },
            series: series.collect(),
        };
        chart.write(out, name)?;
    }
    Ok(())
}

fn frames_per_second(lap: &Lap) -> f64 {
    1e3 / lap.time.median_ms
}

/// As in the paper.
fn title(engine: Engine) -> &'static str {
    match engine.name() {
        "usscd" => "USSCD",
        "scd" => "SCD",
        "i_collide" => "I-COLLIDE",
        "cpu" => "broadsweep, CPU",
        "gpu" => "broadsweep, GPU",
        other => other,
    }
}

/// With three digits or so.
fn rounded(number: f64) -> String {
    if number < 100.0 { format!("{number:.1}") } else { text::count(number.round() as u64) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_experiment_varies_one_thing() {
        for quick in [false, true] {
            let [objects, space, speed] = experiments(quick);
            for experiment in [&objects, &space, &speed] {
                assert!(experiment.settings.is_sorted_by(|a, b| (experiment.of)(a) < (experiment.of)(b)));
            }
            let is_dense = |setting: &Setting| (setting.density() - DENSITY).abs() < 1e-9;
            assert!(objects.settings.iter().all(|s| is_dense(s) && s.space.speed == SPEED));
            assert!(space.settings.iter().all(|s| s.n == space.settings[0].n && s.space.speed == SPEED));
            assert!(speed.settings.iter().all(|s| s.n == speed.settings[0].n && is_dense(s)));
        }
    }
}
