//! `broadsweep bench worlds`, from its arguments to its files.

use crate::place::Place;

#[test]
fn every_scene_leaves_its_rows_and_figures() {
    let place = Place::new();
    let said = place.run("bench worlds --boxes 300 --worlds 1,4 --runs 1 --out a/b");
    assert!(said.contains("300 boxes in all. Milliseconds, the median of 1 call,"), "{said}");
    for figure in ["ratio", "candidates"] {
        assert!(place.read(&format!("a/b/{figure}.png")).starts_with(b"\x89PNG"));
        assert!(place.text(&format!("a/b/{figure}.svg")).contains("cpu, plane per world"));
    }
    let csv = place.text("a/b/worlds.csv");
    // The device is quoted, and has commas.
    let unquoted = |line: &str| line.split('"').step_by(2).collect::<String>();
    let rows: Vec<String> = csv.lines().map(unquoted).collect();
    assert!(rows.iter().all(|row| row.split(',').count() == rows[0].split(',').count()));
    for engine in ["cpu", "gpu"] {
        for scene in [
            "one world,1,300",
            "worlds,1,300",
            "plane per world,1,301",
            "global plane,1,301",
            "one world,4,300",
            "worlds,4,300",
            "plane per world,4,304",
            "global plane,4,301",
        ] {
            assert!(rows.iter().any(|row| row.starts_with(&format!("{scene},{engine},"))), "{scene}, {engine}: {csv}");
        }
    }
    assert_eq!(rows.len(), 1 + 16);
}

#[test]
fn worlds_without_boxes_are_refused() {
    let line = Place::new().fail("bench worlds --boxes 10 --worlds 4294967295,1");
    assert!(line.contains("--worlds 4294967295 is more than --boxes 10"), "{line}");
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_writes_the_measurements_and_names_the_file() {
    let place = Place::new();
    let arguments = "bench worlds --boxes 300 --worlds 4 --runs 4000000000 --out out";
    // Without a GPU, no kernels have to be compiled before the first call.
    let mut command = place.command(arguments);
    command.env("VK_DRIVER_FILES", "nowhere.json");
    // Some calls of each scene.
    let said = place.interrupt(command);
    let csv = std::path::Path::new("out").join("worlds.csv");
    assert!(said.contains(&format!("written: {}", csv.display())), "{said}");
    assert_eq!(place.text("out/worlds.csv").lines().count(), 1 + 4);
    assert_eq!(place.names(), ["out"]);
}
