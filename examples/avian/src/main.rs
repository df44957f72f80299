//! Simulates a scene with Avian's broad phase and with broadsweep's, in turn, without a window.

use std::process::ExitCode;
use std::time::Duration;

use bevy::app::TaskPoolOptions;
use broadsweep_avian::check::CheckReport;
use broadsweep_avian::scenes::{Scene, Size};
use broadsweep_avian::simulation::{Engine, Simulation};

const USAGE: &str = "broadsweep-avian SCENE [--steps N] [--check] [--small] [--threads N] [--hash]
SCENE: falling, pyramid, level, ragdolls
--check: compares the pairs of both broad phases on the same state, in every step
--small: some hundred colliders
--threads: the threads of Bevy's pools and of rayon's, in place of one per core
--hash: simulates with broadsweep alone, and prints the hash of all positions at the end";

/// The steps that one simulation takes before the other one continues.
const TURN: usize = 10;

struct Arguments {
    scene: Scene,
    size: Size,
    steps: usize,
    check: bool,
    hash: bool,
    threads: Option<usize>,
}

impl Arguments {
    fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let name = words.next().ok_or("no scene")?;
        let scene = Scene::ALL.into_iter().find(|scene| scene.name() == name);
        let scene = scene.ok_or_else(|| format!("{name} is no scene"))?;
        let mut arguments = Self { scene, size: Size::Full, steps: 300, check: false, hash: false, threads: None };
        while let Some(word) = words.next() {
            let mut number = || {
                let value = words.next().ok_or_else(|| format!("{word} has no number"))?;
                value.parse().map_err(|_| format!("{word} {value}: not a whole number"))
            };
            match word.as_str() {
                "--steps" => arguments.steps = number()?,
                "--threads" => arguments.threads = Some(number()?),
                "--small" => arguments.size = Size::Small,
                "--check" => arguments.check = true,
                "--hash" => arguments.hash = true,
                _ => return Err(format!("{word} is no option")),
            }
        }
        Ok(arguments)
    }
}

fn main() -> ExitCode {
    let arguments = match Arguments::parse(std::env::args().skip(1)) {
        Ok(arguments) => arguments,
        Err(problem) => {
            eprintln!("{problem}\n{USAGE}");
            return ExitCode::FAILURE;
        }
    };
    if let Some(threads) = arguments.threads {
        TaskPoolOptions::with_num_threads(threads).create_default_pools();
        if let Err(error) = rayon::ThreadPoolBuilder::new().num_threads(threads).build_global() {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    }
    if arguments.hash {
        let mut simulation = Simulation::new(Engine::Broadsweep, arguments.scene, arguments.size);
        (0..arguments.steps).for_each(|_| simulation.step());
        println!("{:016x}", simulation.hash());
        return ExitCode::SUCCESS;
    }
    take_turns(&arguments);
    if arguments.check { check(&arguments) } else { ExitCode::SUCCESS }
}

fn take_turns(arguments: &Arguments) {
    let engines = [Engine::Avian, Engine::Broadsweep];
    let mut simulations = engines.map(|engine| Simulation::new(engine, arguments.scene, arguments.size));
    for from in (0..arguments.steps).step_by(TURN) {
        for simulation in &mut simulations {
            (from..arguments.steps.min(from + TURN)).for_each(|_| simulation.step());
        }
    }
    println!("{}, {} steps with each, in turn", arguments.scene.name(), arguments.steps);
    println!(
        "broad phase   steps/s   pairs at the end   ms per step in the broad phase: mean (quarters of the steps) maximum"
    );
    for (name, simulation) in ["avian", "broadsweep"].into_iter().zip(&simulations) {
        let rate = arguments.steps as f64 / simulation.time.as_secs_f64();
        println!("{name:11} {rate:9.1} {:18}   {}", simulation.pair_count(), times(&simulation.broad_phase));
    }
}

/// Returns the mean time of a step, of all and of each quarter of them, and the longest one, in milliseconds.
fn times(times: &[Duration]) -> String {
    let mean = |times: &[Duration]| times.iter().sum::<Duration>().as_secs_f64() * 1e3 / times.len().max(1) as f64;
    let quarters = times.chunks(times.len().div_ceil(4).max(1)).map(|quarter| format!("{:.3}", mean(quarter)));
    let most = times.iter().max().copied().unwrap_or_default();
    format!("{:6.3} ({}) {:.3}", mean(times), quarters.collect::<Vec<_>>().join(" "), mean(&[most]))
}

fn check(arguments: &Arguments) -> ExitCode {
    let mut simulation = Simulation::new(Engine::Checked, arguments.scene, arguments.size);
    (0..arguments.steps).for_each(|_| simulation.step());
    let CheckReport { steps, pairs, added, steps_that_differ, first_difference, avian, other } =
        simulation.report().cloned().unwrap_or_default();
    println!(
        "check: {steps} steps on the same states, {pairs} pairs, {added} of them new; {steps_that_differ} steps differ"
    );
    println!("avian      {}\nbroadsweep {}", times(&avian), times(&other));
    if let Some(difference) = first_difference {
        println!("{difference}");
    }
    if steps == arguments.steps && steps_that_differ == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
