//! `broadsweep pairs --engine NAME`, by the algorithms of the literature.

#[cfg(target_os = "linux")]
use std::process::Command;

#[cfg(target_os = "linux")]
use broadsweep::SweepAxis;
use laboratory::baselines;
#[cfg(target_os = "linux")]
use laboratory::engine::Engine;
use serde_json::Value;

use crate::place::Place;
#[cfg(target_os = "linux")]
use crate::place::one_line;

#[test]
fn pairs_takes_every_algorithm_of_the_literature() {
    let place = Place::new();
    place.run("scene spread --n 700 --out scene.npy");
    place.run("pairs scene.npy --engine brute --out brute.npy");
    let bytes = |name: &str| place.read(name);
    let help = place.run("pairs --help");
    for entry in baselines::ALL {
        let name = entry.name;
        assert!(help.contains(name) && help.contains(entry.description), "{name}");
        let report = place.run(&format!("pairs scene.npy --engine {name} --verify --out pairs.npy"));
        assert!(report.contains("all pairs equal those of the CPU engine"), "{report}");
        assert!(report.contains("candidates ") && report.contains(entry.description), "{report}");
        assert!(bytes("pairs.npy") == bytes("brute.npy"), "{name}");
        let json: Value =
            serde_json::from_str(&place.run(&format!("pairs scene.npy --engine {name} --order sweep --json"))).unwrap();
        assert_eq!(json["engine"], name);
        assert!(json["report"].is_null() && json["work"]["candidates"].as_u64().unwrap() > 0, "{json}");
    }
    for axis in ["x", "y", "z"] {
        place.run(&format!("pairs scene.npy --engine mj_sap --axis {axis} --out pairs.npy"));
        assert!(bytes("pairs.npy") == bytes("brute.npy"), "{axis}");
    }
}

#[test]
fn what_an_algorithm_of_the_literature_does_not_have_is_refused() {
    let place = Place::new();
    for (arguments, expected) in [
        ("uniform:9 --engine pruning --adapter x", "--adapter selects a GPU"),
        ("uniform:9 --engine pruning --memory-budget 1G", "--memory-budget is for GPU memory"),
        ("uniform:9 --engine pruning --candidate-limit 9", "--candidate-limit needs --engine gpu or cpu"),
        ("uniform:9 --engine pruning --all-pairs-up-to 9", "--all-pairs-up-to needs --engine gpu or cpu"),
        ("uniform:9 --engine pruning --axis y", "x, y or z with mj_sap"),
        ("uniform:9 --engine mj_sap --axis principal", "x, y or z with mj_sap"),
        ("uniform:9 --engine pruning --cell-size 1", "--cell-size needs --engine gpu or cpu"),
        ("uniform:65536 --engine mj_sap", "mj_sap takes at most 65535 boxes"),
    ] {
        let line = place.fail(&format!("pairs {arguments}"));
        assert!(line.contains(expected), "{arguments}: {line}");
    }
}

/// Checks that a list that needs more memory than the process may have is refused in one line, and that the process
/// does not abort.
#[cfg(target_os = "linux")]
#[test]
#[ignore = "long"]
fn a_list_that_is_too_long_for_memory_is_an_error() {
    let others = Engine::all().into_iter().filter(|engine| engine.baseline(SweepAxis::Auto).is_some());
    // rapier makes a list of events before there are pairs, which ends the process.
    for name in others.map(Engine::name).filter(|name| *name != "rapier") {
        // 18 million pairs are 137 MiB, in a list that grows from 128 to 256 MiB.
        let arguments = format!("pairs identical:6000 --engine {name}");
        let binary = Place::new().command(&arguments);
        let mut limited = Command::new("sh");
        limited
            .args(["-c", "ulimit -v 180000 && exec \"$0\" \"$@\""])
            .arg(binary.get_program())
            .args(binary.get_args());
        let line = one_line(&limited.output().unwrap(), &arguments);
        assert!(line.contains(" pairs or more, and there is no memory for a list of them"), "{name}: {line}");
    }
}
