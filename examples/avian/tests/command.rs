//! The command: the same bits in every run, and errors as text.

use std::process::{Command, Output};

use avian3d::collider_tree::MovedProxies;
use broadsweep_avian::scenes::{Scene, Size};
use broadsweep_avian::simulation::{Engine, Simulation};

fn run(arguments: &str) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_broadsweep-avian"));
    command.args(arguments.split(' ')).output().expect("the command starts")
}

#[test]
fn positions_have_the_same_bits_in_ten_runs_with_one_and_with_two_threads() {
    for scene in ["falling", "pyramid", "level", "ragdolls"] {
        assert_same_bits(&format!("{scene} --small --steps 90"), 20);
    }
}

#[test]
fn positions_have_the_same_bits_in_the_full_scenes_whose_searches_are_parallel() {
    for (scene, least) in [(Scene::Falling, 1_000), (Scene::Level, 256)] {
        let mut simulation = Simulation::new(Engine::Broadsweep, scene, Size::Full);
        let moved = (0..45).map(|_| {
            simulation.step();
            simulation.app.world().resource::<MovedProxies>().proxies().len()
        });
        let most = moved.max().unwrap_or_default();
        assert!(most > least, "{}: at most {most} moved in a step", scene.name());
        assert_same_bits(&format!("{} --steps 45", scene.name()), 6);
    }
}

/// Asserts that the positions after a command's steps are equal in all runs, of which every other one has two threads.
fn assert_same_bits(command: &str, runs: usize) {
    let runs = (0..runs).map(|i| run(&format!("{command} --hash --threads {}", 1 + i % 2)));
    let mut outputs: Vec<_> = runs.map(|output| (output.status.success(), output.stdout)).collect();
    outputs.dedup();
    assert_eq!(outputs.len(), 1, "{command}: {outputs:?}");
    assert!(outputs[0].0 && outputs[0].1.len() == 17, "{outputs:?}");
}

#[test]
fn both_broad_phases_are_timed_and_compared_in_one_run() {
    let output = run("ragdolls --small --steps 25 --check");
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{text}");
    for part in ["\navian ", "\nbroadsweep ", "check: 25 steps on the same states", "0 steps differ"] {
        assert!(text.contains(part), "{text}");
    }
}

#[test]
fn an_unknown_scene_is_an_error() {
    let output = run("moon");
    assert!(!output.status.success());
    assert!(String::from_utf8_lossy(&output.stderr).starts_with("moon is no scene\n"));
}
