//! `broadsweep bench queries`, from its arguments to its files.

use crate::place::Place;

#[test]
fn every_engine_leaves_its_rows_and_every_scene_its_figures() {
    let place = Place::new();
    place.run("scene city --n 200 --out mine.npy");
    let said = place.run("bench queries --scenes uniform,mine.npy --n 100,300 --queries 60 --runs 1 --out a/b");
    assert!(said.contains("100.0 %") && said.contains("written: "), "{said}");
    for figure in ["uniform-camera-rays-nearest-hit", "mine-npy-10-nearest"] {
        assert!(place.read(&format!("a/b/{figure}.png")).starts_with(b"\x89PNG"));
        assert!(place.text(&format!("a/b/{figure}.svg")).contains("nanoseconds of a query"));
    }
    let csv = place.text("a/b/queries.csv");
    // The device is quoted, and has commas.
    let unquoted: Vec<String> = csv.lines().map(|line| line.split('"').step_by(2).collect()).collect();
    let mut lines = unquoted.iter().map(|line| line.split(',').collect::<Vec<_>>());
    let header = lines.next().unwrap();
    let rows: Vec<_> = lines.collect();
    assert!(rows.iter().all(|row| row.len() == header.len()));
    let column = |name: &str| header.iter().position(|column| *column == name).unwrap();
    let [engine, queries, equal] = ["engine", "queries", "equal"].map(column);
    let ours = |name: &str| rows.iter().filter(|row| row[engine] == name).collect::<Vec<_>>();
    // A build and 14 questions, of three scenes; the baselines do not know all questions.
    for (name, questions) in [("cpu", 14), ("gpu", 14), ("aabb_tree", 12), ("ray_grid", 9)] {
        assert_eq!(ours(name).len(), 3 * (1 + questions), "{name}");
    }
    for row in ["cpu", "gpu"].iter().flat_map(|name| ours(name)) {
        assert!(row[column("question")] == "build" || row[equal] == row[queries], "{row:?}");
    }
    assert!(rows.iter().any(|row| row[column("answers")].parse::<u64>().is_ok_and(|count| count > 100)));
}

#[test]
fn an_engine_that_does_not_answer_queries_is_refused() {
    let output = Place::new().command("bench queries --engines usscd").output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("aabb_tree, ray_grid"), "{output:?}");
    let line = Place::new().fail("bench queries --limit 0");
    assert!(line.contains("--limit is 0"), "{line}");
}

#[cfg(unix)]
#[test]
fn ctrl_c_writes_the_measurements_and_names_the_file() {
    let place = Place::new();
    let arguments = "bench queries --scenes uniform --n 300 --queries 50 --runs 20000 --engines cpu,ray_grid --out out";
    let said = place.interrupt(place.command(arguments));
    let csv = std::path::Path::new("out").join("queries.csv");
    assert!(said.contains(&format!("written: {}", csv.display())), "{said}");
    assert!(place.text("out/queries.csv").lines().count() > 1);
}

#[cfg(feature = "peers")]
#[test]
fn other_libraries_answer_beside_us() {
    let place = Place::new();
    place.run(
        "bench queries --scenes uniform --n 300 --queries 50 --runs 1 --engines cpu,parry,bvh,obvhs,rstar --out out",
    );
    let csv = place.text("out/queries.csv");
    for engine in ["parry", "bvh", "obvhs", "rstar"] {
        assert!(csv.contains(&format!(",boxes of 10 answers,5,{engine},")), "{engine}: {csv}");
    }
}
