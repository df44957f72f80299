//! `broadsweep bench frames`, from its arguments to its files.

use crate::place::Place;

#[test]
fn every_engine_leaves_its_rows_and_every_motion_its_figure() {
    let place = Place::new();
    let engines = "cpu_events,gpu_events,cpu,gpu,brute,aabb_tree,i_collide";
    let arguments = "bench frames --motions still,brisk,teleports --n 300,1100 --steps 3 --out a/b";
    let said = place.run(&format!("{arguments} --engines {engines}"));
    assert!(said.contains("cpu_events") && said.contains("written: "), "{said}");
    for figure in ["still", "brisk", "teleports"] {
        assert!(place.read(&format!("a/b/{figure}.png")).starts_with(b"\x89PNG"));
        assert!(place.text(&format!("a/b/{figure}.svg")).contains("milliseconds of a step"));
    }
    let csv = place.text("a/b/frames.csv");
    // The device is quoted, and has commas.
    let unquoted: Vec<String> = csv.lines().map(|line| line.split('"').step_by(2).collect()).collect();
    let mut lines = unquoted.iter().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let rows: Vec<_> = lines.collect();
    let column = |name: &str| header.iter().position(|column| *column == name).unwrap();
    assert_eq!(rows.len(), 3 * 2 * 7);
    for row in &rows {
        assert_eq!(row.len(), header.len());
        assert!(["", "0"].contains(&row[column("wrong")]) && row[column("steps")] == "3", "{row:?}");
        let has_events = row[column("created")] != "0" && row[column("lost")] != "0";
        assert!(row[column("motion")] == "teleports" || has_events == (row[column("motion")] == "brisk"), "{row:?}");
    }
}

#[test]
fn what_is_no_motion_and_no_measure_is_refused() {
    let output = Place::new().command("bench frames --motions dance").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("still, few"), "{output:?}");
    for (arguments, message) in [
        ("bench frames --limit 0", "--limit is 0"),
        ("bench frames --density 0", "--density is 0"),
        ("bench frames --margin -1", "--margin is -1"),
        ("bench frames --engines cpu --adapter x", "--adapter selects a GPU"),
    ] {
        let line = Place::new().fail(arguments);
        assert!(line.contains(message), "{line}");
    }
}
