//! `broadsweep bench`, from arguments to files and exit codes.

use std::fs;
use std::process::Stdio;
#[cfg(target_os = "linux")]
use std::process::{Child, Command};
#[cfg(target_os = "linux")]
use std::time::Duration;

use laboratory::baselines;
use serde_json::{Value, json};

use crate::place::{Place, last_line};

/// Three rows for each of two scenes, one of which moves.
const TINY: &str = "bench --scenes uniform,brownian --n 300 --engines cpu,brute,pruning --steps 3 --runs 2 --seed 5";

fn rows(results: &Value) -> &Vec<Value> {
    results["rows"].as_array().unwrap()
}

#[test]
fn a_benchmark_writes_every_file_and_all_engines_have_one_answer() {
    let place = Place::new();
    let table = place.run(&format!("{TINY} --out out"));
    for part in ["uniform", "brownian", "cpu", "brute", "pruning", " ms (", "report.html"] {
        assert!(table.contains(part), "{part}: {table}");
    }
    let results = place.json("out/results.json");
    assert_eq!(rows(&results).len(), 6);
    for row in rows(&results) {
        let same = rows(&results).iter().filter(|other| other["scene"] == row["scene"]);
        assert!(same.clone().count() == 3 && same.clone().all(|other| other["hash"] == row["hash"]), "{row}");
        assert_eq!((&row["outcome"], &row["boxes"]), (&json!("measured"), &json!(300)));
        assert_eq!(row["moving"], json!(row["scene"] == "brownian"));
        let time = &row["time"];
        let calls = time["calls"].as_u64().unwrap();
        // Short calls are many.
        assert!(calls == 200 || calls >= 2 && calls as f64 * time["max_ms"].as_f64().unwrap() >= 50.0, "{row}");
        assert!(row["time"]["min_ms"].as_f64().unwrap() > 0.0 && row["difference"].is_null());
        assert_eq!(row["compared_with"], if row["engine"] == "cpu" { Value::Null } else { json!("cpu") });
    }
    assert_eq!((&results["settings"]["seed"], &results["interrupted"]), (&json!(5), &json!(false)));
    for key in ["cpu", "cores", "system"] {
        assert!(!results["machine"][key].is_null(), "{key}");
    }
    assert!(results["versions"]["wgpu"].is_string() && results["versions"]["broadsweep"].is_string());

    let csv = place.text("out/results.csv");
    assert_eq!(csv.lines().count(), 7);
    let columns = csv.lines().next().unwrap().split(',').count();
    assert!(csv.lines().all(|line| line.split(',').count() == columns), "{csv}");

    let html = place.text("out/report.html");
    assert!(html.contains("Yes: after every call, in all 4 rows"), "{html}");
    for scene in ["uniform", "brownian"] {
        for chart in ["time", "speed-up-cpu", "candidates", "memory"] {
            let svg = place.text(&format!("out/{chart}-{scene}.svg"));
            assert!(html.contains(&svg), "{chart}");
            assert!(place.read(&format!("out/{chart}-{scene}.png")).starts_with(b"\x89PNG"));
        }
    }
    // One file that needs no other. The name space of SVG is a name and no link.
    let links = html.replace("http://www.w3.org/2000/svg", "");
    assert!(!links.contains("http") && !links.contains("src=") && !links.contains("@import"), "{links}");
    assert_eq!(html.matches("<svg ").count(), html.matches("</svg>").count());
}

#[test]
fn the_gpu_takes_part_and_tells_its_stages() {
    let place = Place::new();
    let arguments = "bench --scenes clusters --n 100,4000 --engines gpu,cpu --runs 1 --limit 100 --out out";
    let output = place.command(arguments).output().unwrap();
    // Drivers write to standard error what they like.
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "this test needs a GPU adapter, a software one will do: {stderr}");
    let results = place.json("out/results.json");
    assert!(results["machine"]["adapter"].is_string() && results["machine"]["driver"].is_string());
    for n in [100, 4000] {
        let row =
            |engine: &str| rows(&results).iter().find(|row| row["engine"] == engine && row["boxes"] == n).unwrap();
        assert_eq!(row("gpu")["hash"], row("cpu")["hash"]);
        // Never the other way round: a driver that is wrong must not make all others look wrong.
        assert_eq!((&row("gpu")["compared_with"], &row("cpu")["compared_with"]), (&json!("cpu"), &Value::Null));
        assert_eq!(row("gpu")["candidates"], row("cpu")["candidates"]);
        assert!(row("gpu")["bytes"].as_u64().unwrap() > 0);
        // Not every adapter has timestamps.
        let stages: Vec<&str> =
            row("gpu")["stages_ms"].as_array().unwrap().iter().map(|stage| stage[0].as_str().unwrap()).collect();
        let expected = if n == 100 { "small" } else { "sort" };
        assert!(stages.is_empty() || stages.contains(&expected), "{stages:?}");
        assert_eq!(stages.is_empty(), !place.path("out/stages.svg").exists());
    }

    let arguments = "bench --scenes clusters --n 100 --engines gpu --runs 1 --limit 1e-9 --out alone";
    assert!(place.command(arguments).output().unwrap().status.success());
    let results = place.json("alone/results.json");
    let row = &rows(&results)[0];
    assert_eq!((&row["outcome"], &row["compared_with"]), (&json!("over_limit"), &json!("cpu")));
    // Of each scene, the stages of the largest size alone.
    let chart = fs::read_to_string(place.path("out/stages.svg")).unwrap_or_default();
    assert!(!chart.contains("clusters 100"), "{chart}");
    assert_eq!(row["stages_ms"], json!([]), "the stages of a call that takes too long take too long too");
}

#[test]
fn files_and_numbers_of_boxes_are_scenes_too() {
    let place = Place::new();
    place.run("scene city --n 200 --out city.npy");
    place.run("bench --scenes city.npy,city:200,city --n 50,200 --engines cpu --runs 1 --out out");
    let results = place.json("out/results.json");
    let hash = |scene: &str, boxes: u64| {
        rows(&results).iter().find(|row| row["scene"] == scene && row["boxes"] == boxes).unwrap()["hash"].clone()
    };
    assert_eq!(rows(&results).len(), 3);
    assert_eq!(hash("city.npy", 200), hash("city", 200));
    assert_ne!(hash("city", 50), hash("city", 200));
    // A file and a kind of one name have charts of their own.
    assert!(place.path("out/time-city.svg").exists() && place.path("out/time-city-.svg").exists());
}

#[test]
fn a_file_without_boxes_is_refused_before_anything_is_measured() {
    let place = Place::new();
    place.write("bad.npy", b"no boxes");
    let line = place.fail("bench --scenes uniform,bad.npy --n 50 --engines cpu --runs 1 --out out");
    assert!(line.contains("bad.npy: it is not a .npy file"), "{line}");
    assert!(!place.path("out/results.json").exists());
}

#[cfg(unix)]
#[test]
fn a_scene_that_cannot_be_had_later_leaves_all_others() {
    let place = Place::new();
    let line = place.fail_late("bench --scenes uniform,/dev/null,city --n 50 --engines cpu --runs 1 --out out");
    assert!(line.contains("/dev/null: it is not a .npy file"), "{line}");
    let results = place.json("out/results.json");
    assert_eq!((&results["interrupted"], rows(&results).len()), (&json!(false), 2));
    assert!(place.path("out/report.html").exists());
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_standard_output_costs_no_file() {
    let place = Place::new();
    let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = place.command("bench --scenes uniform --n 50 --engines cpu --runs 1 --out out");
    assert_eq!(command.stdout(full).output().unwrap().status.code(), Some(1));
    assert_eq!(rows(&place.json("out/results.json")).len(), 1);
    assert!(place.path("out/report.html").exists() && place.path("out/results.csv").exists());
}

#[test]
fn no_boxes_and_one_box_are_measured_like_any() {
    let place = Place::new();
    let engines: Vec<&str> =
        ["cpu", "brute"].into_iter().chain(baselines::ALL.iter().map(|entry| entry.name)).collect();
    place.run(&format!("bench --scenes uniform,gravity --n 0,1,2 --engines {} --runs 1 --out out", engines.join(",")));
    let results = place.json("out/results.json");
    assert_eq!(rows(&results).len(), 6 * engines.len());
    assert!(rows(&results).iter().all(|row| row["outcome"] == "measured" && row["difference"].is_null()));
}

#[test]
fn what_takes_too_long_is_listed_as_such_and_what_is_refused_too() {
    let place = Place::new();
    // No engine ends within a nanosecond; the second size is predicted from the first.
    let arguments = "bench --scenes uniform --n 500,2000 --engines cpu,brute --limit 1e-9 --out out";
    let table = place.run(arguments);
    assert_eq!(table.matches(" ms, over the limit").count(), 2, "{table}");
    assert_eq!(table.matches("not run, about ").count(), 2, "{table}");
    let results = place.json("out/results.json");
    assert!(rows(&results).iter().all(|row| row["outcome"] == "over_limit" && row["time"].is_null()));
    let note = |i: usize| rows(&results)[i]["note"].as_str().unwrap();
    assert!(note(0).contains("one call took") && note(2).contains("fewer boxes predict"), "{note:?}", note = note(2));
    assert!(place.text("out/report.html").contains("over the limit"));

    // Nor are smaller scenes needed to tell.
    let table = place.run("bench --scenes uniform:300000 --engines brute --runs 1 --limit 0.01 --out large");
    assert!(table.contains("not run, about "), "{table}");
    let results = place.json("large/results.json");
    assert!(rows(&results)[0]["predicted_ms"].as_f64().unwrap() > 30.0 && rows(&results)[0]["first_ms"].is_null());

    // A refused scene gets no prediction instead.
    place.run("bench --scenes uniform --n 2000,65536 --engines mj_sap --runs 1 --limit 1e-9 --out refused");
    let results = place.json("refused/results.json");
    let row = rows(&results).iter().find(|row| row["boxes"] == 65536).unwrap();
    assert_eq!(row["outcome"], "refused");
    assert!(row["note"].as_str().unwrap().contains("65535"), "{row}");
    assert!(place.text("refused/report.html").contains("refused: "));
}

#[cfg(target_os = "linux")]
fn until(condition: impl Fn() -> bool) {
    while !condition() {
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[cfg(target_os = "linux")]
fn catches_ctrl_c(child: &Child) -> bool {
    // Bit 1 of the signals that it catches is SIGINT.
    let status = fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).unwrap().trim();
    u64::from_str_radix(mask, 16).unwrap() & 2 != 0
}

#[cfg(target_os = "linux")]
fn press_ctrl_c(child: &Child) {
    let killed = Command::new("sh").arg("-c").arg(format!("kill -INT {}", child.id())).status().unwrap();
    assert!(killed.success());
}

/// Creates a scene that is waited for until somebody writes it.
#[cfg(target_os = "linux")]
fn make_pipe(place: &Place, name: &str) {
    assert!(Command::new("mkfifo").arg(place.path(name)).status().unwrap().success());
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_before_the_first_row_leaves_older_results_as_they_are() {
    let place = Place::new();
    fs::create_dir(place.path("out")).unwrap();
    place.write("out/results.json", b"older");
    make_pipe(&place, "pipe.npy");
    let mut command = place.command("bench --scenes pipe.npy --engines cpu --out out");
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until(|| catches_ctrl_c(&child));
    press_ctrl_c(&child);
    std::thread::sleep(Duration::from_millis(200));
    fs::write(place.path("pipe.npy"), b"no boxes").unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(130));
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(stderr.ends_with("stopped before the first measurement: nothing is written\n"), "{stderr}");
    assert_eq!((place.text("out/results.json").as_str(), &output.stdout[..]), ("older", &b""[..]));
}

#[cfg(target_os = "linux")]
#[test]
fn a_second_ctrl_c_keeps_the_scenes_that_are_done() {
    let place = Place::new();
    make_pipe(&place, "pipe.npy");
    let arguments = "bench --scenes uniform,pipe.npy --n 300 --engines cpu --runs 1 --out out";
    let mut child = place.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until(|| place.path("out/results.csv").exists());
    press_ctrl_c(&child);
    std::thread::sleep(Duration::from_millis(200));
    press_ctrl_c(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let results = place.json("out/results.json");
    assert_eq!((&results["interrupted"], rows(&results).len()), (&json!(true), 1));
    assert_eq!(place.text("out/results.csv").lines().count(), 2);
}

#[cfg(target_os = "linux")]
#[test]
fn ctrl_c_ends_it_and_writes_the_measurements() {
    let place = Place::new();
    let arguments = "bench --scenes uniform,city --n 300 --engines cpu --runs 4000000000 --limit 1e6 --out out";
    let mut child = place.command(arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until(|| catches_ctrl_c(&child));
    // Some runs of the first scene.
    std::thread::sleep(Duration::from_secs(1));
    press_ctrl_c(&child);
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    let results = place.json("out/results.json");
    assert_eq!((&results["interrupted"], rows(&results).len()), (&json!(true), 1));
    assert!(rows(&results)[0]["time"]["calls"].as_u64().unwrap() > 0);
    assert!(place.text("out/report.html").contains("Stopped before the end"));
    assert_eq!(place.text("out/results.csv").lines().count(), 2);
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of changes, each with what is said of it")]
fn a_comparison_fails_for_what_became_slower_or_wrong_and_for_nothing_else() {
    let place = Place::new();
    place.run(&format!("{TINY} --out out"));
    let old = place.json("out/results.json");
    place.write("old.json", old.to_string().as_bytes());
    let compare = "bench --compare old.json --against new.json";
    let scale = |factor: f64| {
        let mut new = old.clone();
        for key in ["median_ms", "min_ms", "q1_ms", "q3_ms", "max_ms"] {
            let time = &mut new["rows"][1]["time"][key];
            *time = json!(time.as_f64().unwrap() * factor);
        }
        new
    };

    place.write("new.json", old.to_string().as_bytes());
    assert!(place.run(compare).contains("6 rows as before"));
    place.write("new.json", scale(0.001).to_string().as_bytes());
    let lines = place.run(compare);
    assert!(lines.contains("faster") && lines.contains("uniform 300 brute"), "{lines}");

    place.write("new.json", scale(1000.0).to_string().as_bytes());
    let output = place.command(compare).output().unwrap();
    assert!(last_line(&output, compare).contains("1 row slower than before by more than 1.10x"));
    let lines = String::from_utf8(output.stdout).unwrap();
    assert!(lines.contains("slower") && lines.contains("1000.00x uniform 300 brute"), "{lines}");
    place.run(&format!("{compare} --threshold 2000"));

    // As slow, but with a quarter of the calls as fast as before.
    let mut noisy = scale(1000.0);
    noisy["rows"][1]["time"]["q1_ms"] = old["rows"][1]["time"]["q1_ms"].clone();
    place.write("new.json", noisy.to_string().as_bytes());
    place.run(compare);

    let mut wrong = old.clone();
    wrong["rows"][2]["hash"] = json!("0123456789abcdef");
    place.write("new.json", wrong.to_string().as_bytes());
    assert!(place.fail_late(compare).contains("1 row with other pairs"));

    let mut lost = old.clone();
    lost["rows"][0]["time"] = Value::Null;
    lost["rows"][0]["outcome"] = json!("over_limit");
    lost["rows"][0]["first_ms"] = json!(1e9);
    place.write("new.json", lost.to_string().as_bytes());
    assert!(place.fail_late(compare).contains("1 row slower"));
    // A lower limit is no slower program.
    lost["rows"][0]["first_ms"] = old["rows"][0]["time"]["median_ms"].clone();
    place.write("new.json", lost.to_string().as_bytes());
    assert!(place.run(compare).contains("6 rows as before"));
    lost["rows"][0]["outcome"] = json!("refused");
    place.write("new.json", lost.to_string().as_bytes());
    assert!(place.fail_late(compare).contains("1 row refused now, and measured before"));

    let mut differing = old.clone();
    differing["rows"][1]["difference"] = json!({"calls": 1, "missing": 1, "extra": 0, "repeated": 0, "why": "why"});
    place.write("new.json", differing.to_string().as_bytes());
    assert!(place.fail_late(compare).contains("the pairs of brute and cpu differ"));

    // Rows that were requested and are not there, and rows that were not requested.
    let mut fewer = old.clone();
    fewer["rows"].as_array_mut().unwrap().truncate(4);
    place.write("new.json", fewer.to_string().as_bytes());
    let output = place.command(compare).output().unwrap();
    assert!(last_line(&output, compare).contains("2 rows missing"));
    assert!(String::from_utf8(output.stdout).unwrap().contains("missing      brownian 300 brute"));
    fewer["settings"]["scenes"] = json!(["uniform", "brownian:7"]);
    fewer["rows"].as_array_mut().unwrap().truncate(3);
    place.write("new.json", fewer.to_string().as_bytes());
    assert!(place.run(compare).contains("3 rows not compared: measured in one of the two only"));
    fewer["settings"]["scenes"] = json!([]);
    fewer["rows"] = json!([]);
    place.write("new.json", fewer.to_string().as_bytes());
    assert!(place.fail_late(compare).contains("no measured row in common"));

    // Other changes are reported, and a time of 0 is no divisor.
    let mut other = scale(1.0);
    other["settings"]["runs"] = json!(3);
    other["machine"]["cores"] = json!(1000);
    other["versions"].as_object_mut().unwrap().remove("wgpu");
    place.write("new.json", scale(0.0).to_string().as_bytes());
    place.write("older.json", other.to_string().as_bytes());
    let lines = place.run("bench --compare new.json --against older.json");
    for part in ["runs: 2 before, 3 now", " before, 1000 now", " before, none now"] {
        assert!(lines.contains(part), "{part}: {lines}");
    }
    assert!(lines.contains("1 row not compared: took no time that could be told before"), "{lines}");
}

#[test]
fn results_of_older_programs_are_read_and_those_of_newer_ones_are_not() {
    let place = Place::new();
    place.run(&format!("{TINY} --out out"));
    let new = place.json("out/results.json");
    let mut old = new.clone();
    old.as_object_mut().unwrap().remove("format");
    for row in old["rows"].as_array_mut().unwrap() {
        row.as_object_mut().unwrap().retain(|key, _| !["hashed_calls", "predicted_ms"].contains(&key.as_str()));
        if row["moving"] == true {
            // Then, of the first step alone.
            row["hash"] = json!("0123456789abcdef");
        }
    }
    place.write("old.json", old.to_string().as_bytes());
    assert!(place.run("bench --compare old.json --against out/results.json").contains("6 rows as before"));
    old["format"] = json!(1000);
    place.write("old.json", old.to_string().as_bytes());
    assert!(place.fail("bench --compare old.json").contains("old.json has format 1000"));
}

#[test]
fn the_hash_covers_every_step() {
    let place = Place::new();
    let row = |steps: u32, scene: &str| {
        place.run(&format!("bench --scenes {scene} --n 2000 --engines cpu --steps {steps} --runs {steps} --out out"));
        rows(&place.json("out/results.json"))[0].clone()
    };
    let [one, other] = [row(1, "brownian"), row(2, "brownian")];
    assert_eq!((&one["hashed_calls"], &other["hashed_calls"]), (&json!(2), &json!(3)));
    assert_eq!(one["pairs"], other["pairs"]);
    assert_ne!(one["hash"], other["hash"]);
    assert_eq!(row(1, "uniform")["hash"], row(2, "uniform")["hash"]);
}

#[test]
fn a_comparison_measures_what_the_older_results_have() {
    let place = Place::new();
    place.run(&format!("{TINY} --out out"));
    let lines = place.run("bench --compare out/results.json --threshold 1e9");
    assert!(lines.contains("brownian") && lines.contains("6 rows as before"), "{lines}");
    assert!(!lines.contains("not compared") && !lines.contains("written"), "{lines}");
    assert!(!place.path("bench-results").exists());

    // As if everything had been a million times as fast before: again and again it is not.
    let mut old = place.json("out/results.json");
    for row in old["rows"].as_array_mut().unwrap() {
        for key in ["median_ms", "min_ms", "q1_ms", "q3_ms", "max_ms"] {
            let time = &mut row["time"][key];
            *time = json!(time.as_f64().unwrap() * 1e-6);
        }
    }
    // An engine that only another program has.
    old["settings"]["engines"].as_array_mut().unwrap().push(json!("other"));
    let mut row = old["rows"][0].clone();
    row["engine"] = json!("other");
    old["rows"].as_array_mut().unwrap().push(row);
    place.write("old.json", old.to_string().as_bytes());
    assert!(place.fail_late("bench --compare old.json").contains("1 row missing"));
    old["rows"].as_array_mut().unwrap().pop();
    place.write("old.json", old.to_string().as_bytes());
    assert!(place.fail_late("bench --compare old.json --out again").contains("6 rows slower"));
    // The measured rows are written nevertheless.
    assert_eq!(rows(&place.json("again/results.json")).len(), 6);
}

#[test]
fn what_cannot_be_measured_gets_one_clear_line() {
    let place = Place::new();
    place.write("file", b"{}");
    place.run("scene uniform --n 9 --out boxes.npy");
    for (arguments, expected) in [
        ("--scenes cloud", "there is no scene called \"cloud\""),
        ("--scenes uniform:many", "\"many\" is no number of boxes"),
        ("--scenes nowhere.npy --engines cpu", "cannot read nowhere.npy"),
        ("--limit 0", "--limit is 0"),
        ("--limit nan", "--limit is NaN"),
        ("--steps 0", "--steps is 0"),
        ("--runs 0", "--runs is 0"),
        ("--out file", "cannot create the directory file"),
        ("--engines cpu --adapter x", "--adapter selects a GPU"),
        ("--compare nowhere.json", "cannot read nowhere.json"),
        ("--compare file", "file is no result of a benchmark; give the results.json of an earlier run"),
        ("--compare boxes.npy", "boxes.npy is no result of a benchmark; give the results.json of an earlier run"),
        ("--scenes uniform:5 --n 3", "--n applies to scenes without a count, such as uniform, and uniform:5 has one"),
        ("--scenes boxes.npy,city:7 --n 3 --engines cpu", "boxes.npy, city:7 has one; leave --n out"),
        ("--scenes scene.npz --engines cpu", "give the boxes as .npy"),
        ("--compare file --threshold 0.5", "--threshold is 0.5"),
    ] {
        let line = place.fail(&format!("bench {arguments}"));
        assert!(line.contains(expected), "{arguments}: {line}");
    }
    for arguments in ["--engines fpga", "--n -1", "--n many", "--threshold 2", "--against file", "later"] {
        let output = place.command(&format!("bench {arguments}")).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {}", String::from_utf8_lossy(&output.stderr));
    }
}

#[cfg(feature = "peers")]
#[test]
fn other_libraries_are_engines_whose_pairs_are_compared_with_ours() {
    let place = Place::new();
    let peers: Vec<&str> = laboratory::peers::ALL.iter().map(|peer| peer.listing.name).collect();
    let engines = peers.join(",");
    place.run(&format!("bench --scenes uniform,gravity --n 500 --steps 2 --runs 1 --engines {engines} --out out"));
    let results = place.json("out/results.json");
    assert_eq!(rows(&results).len(), 2 * peers.len());
    // Without an engine of ours among them.
    assert!(rows(&results).iter().all(|row| row["outcome"] == "measured" && row["compared_with"] == "cpu"));
    for peer in laboratory::peers::ALL {
        assert_eq!(results["versions"][peer.library], peer.version);
        let report = place.run(&format!("pairs uniform:500 --engine {} --verify", peer.listing.name));
        assert!(report.contains("all pairs equal those of the CPU engine"), "{report}");
    }
}
