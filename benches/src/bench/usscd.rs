//! `broadsweep bench usscd`: the three experiments of Li, Lu and He 2003, "USSCD: A Fast Collision Detection Algorithm
//! Based on Uniform Spatial Subdivision", section 3, with our engines beside the paper's three algorithms.
//!
//! Spheres of nearly equal size, uniform in a cube, fly in random directions at one speed. The paper gives neither
//! its densities nor its speeds; here the largest diameter is the unit of length, and each experiment covers
//! both sides of what the paper reports.

pub mod race;

use super::charts::Figure;
use super::plot::{Axis, Chart, Series};
use crate::engine::Engine;
use crate::measure::csv::{self, or_empty};
use crate::scenes::Particles;
use crate::text;
use race::Lap;

/// Objects per cube of the largest diameter, where the density is not what varies: 0.3 to 0.4 pairs per object.
const DENSITY: f64 = 0.1;
/// Largest diameters per step, where the speed is not what varies.
const SPEED: f64 = 0.1;
/// Objects, where their number is not what varies: more than the engines test without a grid.
const OBJECTS: usize = 5000;

/// The setting that all engines get.
pub struct Setting {
    /// Objects.
    pub n: usize,
    /// The space in which the objects fly, and their speed.
    pub space: Particles,
}

impl Setting {
    fn new(n: usize, side: f64, speed: f64) -> Self {
        Self { n, space: Particles { side, diameter: 1.0, speed } }
    }

    fn density(&self) -> f64 {
        self.n as f64 / self.space.side.powi(3)
    }
}

/// An experiment: what varies, and how.
pub struct Experiment {
    /// The name of the property that varies.
    pub name: &'static str,
    /// The properties that do not vary.
    pub title: String,
    /// The label of the axis, with the unit.
    label: &'static str,
    of: fn(&Setting) -> f64,
    /// The settings, from the smallest to the largest value.
    pub settings: Vec<Setting>,
    /// The name and the title of each figure, and which of the paper's algorithms are not in it.
    figures: &'static [(&'static str, &'static str, &'static [&'static str])],
}

/// Returns the experiments, with few and small settings where they are to be `quick`.
pub fn experiments(quick: bool) -> [Experiment; 3] {
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

/// The first line of `usscd.csv`. A row is an engine in a setting; pairs, candidates, updates and bytes are those of
/// the last call. A number that an engine does not count is empty.
pub const COLUMNS: &str = "experiment,n,side,density,speed,engine,device,steps,median_ms,q1_ms,q3_ms,fps,pairs,\
                           candidates,updates,bytes";

impl Experiment {
    /// Returns the value that varies.
    pub fn value(&self, setting: &Setting) -> f64 {
        (self.of)(setting)
    }

    /// Writes a line of `usscd.csv`.
    pub fn row(&self, setting: &Setting, lap: &Lap, device: String) -> String {
        let Setting { n, space: Particles { side, speed, .. } } = *setting;
        csv::line([
            self.name.to_owned(),
            n.to_string(),
            format!("{side:.3}"),
            format!("{:.3e}", setting.density()),
            speed.to_string(),
            lap.engine.name().to_owned(),
            device,
            lap.time.calls.to_string(),
            format!("{:.4}", lap.time.median_ms),
            format!("{:.4}", lap.time.q1_ms),
            format!("{:.4}", lap.time.q3_ms),
            format!("{:.2}", frames_per_second(lap)),
            lap.pair_count.to_string(),
            or_empty(lap.call.candidates),
            or_empty(lap.call.updates),
            or_empty(lap.call.bytes),
        ])
    }

    /// Draws frames per second over what varies; these are the figures of the paper, with its names.
    pub fn figures(&self, engines: &[Engine], measured: &[(f64, Vec<Lap>)]) -> Vec<Figure> {
        let figure = |&(name, what, without): &(&str, &str, &[&str])| {
            // A series without points keeps its colour for the other figures.
            let series = engines.iter().map(|engine| {
                let is_in = !without.contains(&engine.name());
                let of = |laps: &[Lap]| laps.iter().find(|lap| lap.engine == *engine).map(frames_per_second);
                let points = measured.iter().filter_map(|(x, laps)| Some((*x, of(laps)?)));
                Series { name: title(*engine).to_owned(), points: points.filter(|_| is_in).collect() }
            });
            let chart = Chart {
                title: format!("{what}: {}", self.title),
                x: Axis { label: self.label.to_owned(), log: true },
                y: Axis { label: "frames per second".to_owned(), log: true },
                series: series.collect(),
            };
            Figure::of_chart(name, chart)
        };
        self.figures.iter().map(figure).collect()
    }
}

/// Returns the frames per second of the paper: calls per second, by the median call.
pub fn frames_per_second(lap: &Lap) -> f64 {
    1e3 / lap.time.median_ms
}

/// Names an engine as the paper does.
pub fn title(engine: Engine) -> &'static str {
    match engine.name() {
        "usscd" => "USSCD",
        "scd" => "SCD",
        "i_collide" => "I-COLLIDE",
        "cpu" => "broadsweep, CPU",
        "gpu" => "broadsweep, GPU",
        other => other,
    }
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
