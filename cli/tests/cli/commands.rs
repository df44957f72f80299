//! `broadsweep`, `pairs`, `scene` and `adapters`.

use std::fs;

use broadsweep::internals::brute_force;
use broadsweep::{Aabb, Pair};
use laboratory::scenes::{self, Kind};
use serde_json::Value;

use crate::place::{Place, one_line};

/// Creates a `.npy` file with this version and header, padded as NumPy pads it.
fn npy_with(version: u8, header: &str, data: &[u8]) -> Vec<u8> {
    let prefix = if version == 1 { 10 } else { 12 };
    let mut header = header.to_owned();
    while !(prefix + header.len() + 1).is_multiple_of(64) {
        header.push(' ');
    }
    header.push('\n');
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    match version {
        1 => bytes.extend((header.len() as u16).to_le_bytes()),
        _ => bytes.extend((header.len() as u32).to_le_bytes()),
    }
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

pub fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    npy_with(1, header, data)
}

pub fn header(descr: &str, fortran: &str, shape: &str) -> String {
    format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}")
}

/// Rows of six numbers in little-endian doubles.
fn doubles(rows: &[[f64; 6]]) -> Vec<u8> {
    let data: Vec<u8> = rows.iter().flatten().flat_map(|x| x.to_le_bytes()).collect();
    npy(&header("<f8", "False", &format!("({}, 6)", rows.len())), &data)
}

/// Reads the pairs of an `(m, 2)` file, whose header must be what NumPy itself would write.
pub fn pairs_in(bytes: &[u8]) -> Vec<Pair> {
    let pairs: Vec<Pair> = bytes[128..]
        .chunks_exact(8)
        .map(|pair| Pair {
            a: u32::from_le_bytes(pair[..4].try_into().unwrap()),
            b: u32::from_le_bytes(pair[4..].try_into().unwrap()),
        })
        .collect();
    let header = header("<u4", "False", &format!("({}, 2)", pairs.len()));
    let data = &bytes[128..];
    assert!(bytes == npy(&header, data), "{}", String::from_utf8_lossy(&bytes[..128]));
    pairs
}

#[test]
fn a_scene_is_written_and_its_pairs_come_out() {
    let place = Place::new();
    let said = place.run("scene uniform --n 500 --seed 7 --out scene.npy");
    assert_eq!(said, "scene.npy: 500 boxes, uniform, seed 7\n");
    let boxes = scenes::uniform(500, 7, None);
    let data: Vec<u8> = boxes.iter().flat_map(|b| b.min.into_iter().chain(b.max)).flat_map(f32::to_le_bytes).collect();
    assert_eq!(place.read("scene.npy"), npy(&header("<f4", "False", "(500, 6)"), &data));

    let report = place.run("pairs scene.npy --engine cpu --out pairs.npy");
    let expected = brute_force::find_pairs(&boxes);
    assert_eq!(pairs_in(&place.read("pairs.npy")), expected);
    assert!(report.contains("CPU") && report.contains("written     pairs.npy"), "{report}");
    assert!(report.contains("scene.npy, 500 boxes"), "{report}");
    assert_eq!(place.names(), ["pairs.npy", "scene.npy"]);
}

#[test]
fn a_kind_and_a_number_stand_for_a_scene() {
    let place = Place::new();
    let report = place.run("pairs clusters:500 --engine cpu --out pairs.npy");
    assert_eq!(pairs_in(&place.read("pairs.npy")), brute_force::find_pairs(&scenes::clusters(500, 1)));
    assert!(report.contains("clusters:500, 500 boxes"), "{report}");
    assert!(place.fail("pairs cloud:500 --engine cpu").contains("there is no scene called \"cloud\""));
    assert!(place.fail("pairs clusters:many --engine cpu").contains("\"many\" is no number of boxes"));
    // A file that is there is that file.
    place.run("scene uniform --n 77 --out uniform:5");
    assert!(place.run("pairs uniform:5 --engine cpu").contains("77 boxes"));
}

#[test]
fn times_are_predicted_as_ranges_for_every_known_gpu() {
    let place = Place::new();
    let micros = |line: &str| -> Vec<f64> {
        let words: Vec<&str> = line.split_whitespace().collect();
        words.windows(2).filter(|two| two[1] == "µs").map(|two| two[0].parse().unwrap()).collect()
    };
    for scene in ["uniform:1000", "uniform:20000"] {
        let said = place.run(&format!("predict {scene}"));
        let gpus: Vec<&str> = said.lines().skip(3).collect();
        assert!(said.contains("predicted, not measured") && gpus.len() > 4, "{said}");
        for gpu in gpus {
            let range = micros(gpu);
            assert!(range.len() == 2 && 0.0 < range[0] && range[0] < range[1], "{gpu}");
        }
    }
    // The kernels of one GPU add up to its time.
    let said = place.run("predict uniform:20000 --gpu M2");
    let lines: Vec<Vec<f64>> = said.lines().skip(3).map(micros).collect();
    let (all, kernels) = (&lines[lines.len() - 2], &lines[..lines.len() - 2]);
    assert!(kernels.len() > 10 && said.contains("sort_ballot"), "{said}");
    assert!((kernels.iter().map(|range| range[1]).sum::<f64>() - all[1]).abs() < 20.0, "{said}");
    let dispatches =
        |said: &str| said.lines().find_map(|line| line.strip_prefix("M2")?.split_whitespace().next()?.parse().ok());
    assert_eq!(dispatches(&said), Some(15));
    let portable = place.run("predict uniform:20000 --gpu M2 --portable");
    assert!(portable.contains("sort_scatter") && dispatches(&portable) == Some(23), "{portable}");
    let canonical = place.run("predict uniform:20000 --gpu M2 --canonical");
    assert!(canonical.contains("order_scatter") && dispatches(&canonical) == Some(20), "{canonical}");
    assert!(place.fail("predict uniform:0").contains("the scene has no boxes"));
    assert!(place.command("predict uniform:9 --gpu none").output().unwrap().status.code() != Some(0));
}

#[test]
#[ignore = "long"]
fn brute_force_and_the_cpu_engine_write_the_same_file_for_every_kind() {
    let place = Place::new();
    for kind in Kind::ALL {
        place.run(&format!("scene {kind} --n 300 --out scene.npy"));
        place.run("pairs scene.npy --engine brute --out brute.npy");
        for options in ["--all-pairs-up-to 0", ""] {
            place.run(&format!("pairs scene.npy --engine cpu --out cpu.npy {options}"));
            assert_eq!(place.read("brute.npy"), place.read("cpu.npy"), "{kind} {options}");
        }
        let boxes = kind.generate(300, 1);
        assert_eq!(pairs_in(&place.read("cpu.npy")), brute_force::find_pairs(&boxes), "{kind}");
    }
}

#[test]
#[ignore = "long"]
fn the_gpu_engine_gives_the_same_file_as_the_cpu_engine() {
    let place = Place::new();
    for kind in ["uniform", "clusters"] {
        place.run(&format!("scene {kind} --n 5000 --out scene.npy"));
        place.run("pairs scene.npy --engine cpu --out cpu.npy");
        let output = place.command("pairs scene.npy --engine gpu --verify --out gpu.npy").output().unwrap();
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "this test needs a GPU adapter, a software one will do: {stderr}");
        let stdout = String::from_utf8(output.stdout).unwrap();
        assert!(stdout.contains("all pairs equal those of the CPU engine"), "{stdout}");
        assert!(place.read("gpu.npy") == place.read("cpu.npy"), "{kind}");
        // Written as they come, and not held for a comparison.
        place.run("pairs scene.npy --engine gpu --out streamed.npy");
        assert!(place.read("streamed.npy") == place.read("cpu.npy"), "{kind}");
        // In several passes, after which the length is known.
        for order in ["canonical", "sweep"] {
            let command =
                format!("pairs scene.npy --engine gpu --memory-budget 300K --order {order} --json --out passes.npy");
            let report: Value = serde_json::from_str(&place.run(&command)).unwrap();
            assert!(report["report"]["passes"].as_u64() > Some(1), "{report}");
            let mut pairs = pairs_in(&place.read("passes.npy"));
            let command = format!("pairs scene.npy --engine gpu --memory-budget 300K --order {order} --out -");
            assert!(place.command(&command).output().unwrap().stdout == place.read("passes.npy"), "{kind} {order}");
            assert_eq!(report["pairs"], pairs.len());
            if order == "sweep" {
                pairs.sort_unstable();
            }
            assert!(pairs == pairs_in(&place.read("cpu.npy")), "{kind}");
        }
    }
}

#[test]
fn every_layout_of_the_same_boxes_gives_the_same_pairs() {
    let place = Place::new();
    let boxes = scenes::uniform(77, 3, Some(0.3));
    let expected = brute_force::find_pairs(&boxes);
    assert!(!expected.is_empty());
    let bound = |row: usize, column: usize| -> f32 {
        let Aabb { min, max } = boxes[row];
        if column < 3 { min[column] } else { max[column - 3] }
    };
    // Indices (row, corner, axis) in the order of the file.
    let c_order: Vec<[usize; 2]> = (0..77).flat_map(|i| (0..6).map(move |c| [i, c])).collect();
    let fortran_2: Vec<[usize; 2]> = (0..6).flat_map(|c| (0..77).map(move |i| [i, c])).collect();
    let fortran_3: Vec<[usize; 2]> =
        (0..3).flat_map(|axis| (0..2).flat_map(move |corner| (0..77).map(move |i| [i, corner * 3 + axis]))).collect();
    for (shape, is_fortran, indices) in [
        ("(77, 6)", "False", &c_order),
        ("(77, 2, 3)", "False", &c_order),
        ("(77, 6)", "True", &fortran_2),
        ("(77, 2, 3)", "True", &fortran_3),
    ] {
        for dtype in ["<f4", ">f4", "<f8", ">f8"] {
            let data: Vec<u8> = indices
                .iter()
                .flat_map(|&[row, column]| {
                    let single = bound(row, column);
                    let double = f64::from(single);
                    match dtype {
                        "<f4" => single.to_le_bytes().to_vec(),
                        ">f4" => single.to_be_bytes().to_vec(),
                        "<f8" => double.to_le_bytes().to_vec(),
                        _ => double.to_be_bytes().to_vec(),
                    }
                })
                .collect();
            let bytes = npy(&header(dtype, is_fortran, shape), &data);
            place.write("scene.npy", &bytes);
            place.run("pairs scene.npy --engine brute --out pairs.npy");
            assert_eq!(pairs_in(&place.read("pairs.npy")), expected, "{shape} {is_fortran} {dtype}");
            // A pipe has no length to look at.
            let output = place.pipe("pairs - --engine brute --out -", &bytes);
            assert!(output.status.success());
            assert_eq!(pairs_in(&output.stdout), expected, "{shape} {is_fortran} {dtype}");
        }
    }
}

#[test]
fn headers_of_other_writers_are_read() {
    let place = Place::new();
    let data: Vec<u8> = [0f32, 0., 0., 1., 1., 1.].repeat(2).iter().flat_map(|x| x.to_le_bytes()).collect();
    for (version, header) in [
        (1, "{\"shape\": (2, 6), \"descr\": \"<f4\", \"fortran_order\": False}"),
        (1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2L, 6L), }"),
        (1, "  { 'fortran_order' :False,'shape':( 2 ,6 , ) , 'descr' : '=f4' }  "),
        (2, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 6), }"),
        (3, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 6), }"),
    ] {
        place.write("scene.npy", &npy_with(version, header, &data));
        place.run("pairs scene.npy --engine brute --out pairs.npy");
        assert_eq!(pairs_in(&place.read("pairs.npy")), [Pair { a: 0, b: 1 }], "{header}");
    }
}

#[test]
fn doubles_are_rounded_outward_and_lose_no_pair() {
    let place = Place::new();
    place.write(
        "scene.npy",
        &doubles(&[
            [0.0, 0.0, 0.0, 0.1, 1.0, 1.0],
            [0.1, 0.0, 0.0, 1.0, 1.0, 1.0],
            // Closer to the first than a float can tell.
            [0.1 + 1e-12, 0.0, 0.0, 1.0, 1.0, 1.0],
            [f64::NAN, 0.0, 0.0, 1.0, 1.0, 1.0],
            [0.2, 0.2, 0.2, 1e300, 1e300, 1e300],
        ]),
    );
    place.run("pairs scene.npy --engine cpu --out pairs.npy");
    let pairs = pairs_in(&place.read("pairs.npy"));
    let expected = [(0, 1), (0, 2), (1, 2), (1, 4), (2, 4)].map(|(a, b)| Pair { a, b });
    assert_eq!(pairs, expected);
}

#[test]
fn no_boxes_and_one_box_have_no_pairs() {
    let place = Place::new();
    for n in [0, 1] {
        place.run(&format!("scene uniform --n {n} --out scene.npy"));
        for engine in ["cpu", "brute"] {
            place.run(&format!("pairs scene.npy --engine {engine} --verify --out pairs.npy"));
            assert_eq!(pairs_in(&place.read("pairs.npy")), []);
        }
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of files, each with what is said of it")]
fn a_bad_file_gets_one_clear_line_and_no_result() {
    let place = Place::new();
    let plain = |shape: &str| npy(&header("<f4", "False", shape), &[0; 48]);
    let long_header = |length: u32| {
        let mut bytes = b"\x93NUMPY\x02\x00".to_vec();
        bytes.extend(length.to_le_bytes());
        bytes.extend(b"{'descr': '<f4', ");
        bytes
    };
    let good = plain("(2, 6)");
    let mut not_text = good.clone();
    not_text[20] = 0xff;
    let files: Vec<(Vec<u8>, &str)> = vec![
        (vec![], "not a .npy file"),
        (b"\x93NUM".to_vec(), "not a .npy file"),
        (b"x,y,z\n1,2,3\n".to_vec(), "not a .npy file"),
        (b"PK\x03\x04 an .npz file".to_vec(), "not a .npy file"),
        (b"\x93NUMPY\x07\x00\x10\x00".to_vec(), "its .npy version is 7.0"),
        (good[..8].to_vec(), "ends within its .npy header"),
        (good[..9].to_vec(), "ends within its .npy header"),
        (good[..60].to_vec(), "ends within its .npy header"),
        (good[..128].to_vec(), "truncated"),
        (good[..good.len() - 1].to_vec(), "truncated"),
        ([&good[..], &[0]].concat(), "1 bytes follow the array"),
        (long_header(u32::MAX), "claims 4294967295 bytes"),
        (long_header(60_000), "ends within its .npy header"),
        (not_text, "not text"),
        (plain("(12,)"), "its shape is (12,)"),
        (plain("()"), "its shape is ()"),
        (plain("(4, 3)"), "its shape is (4, 3)"),
        (plain("(6, 2)"), "its shape is (6, 2)"),
        (plain("(2, 3, 2)"), "its shape is (2, 3, 2)"),
        (plain(&format!("({})", "1, ".repeat(1000))), "its shape is (1, 1, 1, 1, 1, ...)"),
        (plain("(-2, 6)"), "a length expected"),
        (plain("(2.0, 6)"), "malformed"),
        (plain("(2 6)"), "malformed"),
        (plain("[2, 6]"), "malformed"),
        (plain("(2, 6"), "malformed"),
        (plain("(3, 6)"), "truncated"),
        (plain("(16777216, 6)"), "truncated"),
        (plain("(33554433, 6)"), "claims 33554433 boxes"),
        (plain("(4294967295, 6)"), "claims 4294967295 boxes"),
        (plain("(4294967296, 6)"), "claims 4294967296 boxes"),
        (plain("(18446744073709551615, 6)"), "claims 18446744073709551615 boxes"),
        (plain("(9223372036854775808, 2, 3)"), "claims 9223372036854775808 boxes"),
        (plain("(99999999999999999999999, 6)"), "does not fit 64 bits"),
        (npy(&header("|O", "False", "(2, 6)"), b"\x80\x04cos\nsystem\n"), "pickled Python objects"),
        (npy(&header("<c8", "False", "(2, 6)"), &[0; 96]), "its dtype is \"<c8\"; boxes are floats or integers"),
        (npy(&header("<f16", "False", "(2, 6)"), &[0; 192]), "its dtype is \"<f16\""),
        (npy(&header("|b1", "False", "(2, 6)"), &[0; 12]), "its dtype is \"|b1\""),
        (npy(&header("é4", "False", "(2, 6)"), &[0; 12]), "its dtype is"),
        (npy(&header("", "False", "(2, 6)"), &[0; 48]), "its dtype is \"\""),
        (npy(&header(&"x".repeat(5000), "False", "(2, 6)"), &[0; 48]), "its dtype is"),
        (npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2, 6)}", &[0; 48]), "records"),
        (npy(&header("<f4", "Perhaps", "(2, 6)"), &[0; 48]), "True or False expected before 'P'"),
        (npy("{'descr': '<f4', 'shape': (2, 6)}", &[0; 48]), "lacks the key 'fortran_order'"),
        (npy("{'fortran_order': False, 'shape': (2, 6)}", &[0; 48]), "lacks the key 'descr'"),
        (npy("{'fortran_order': False, 'descr': '<f4'}", &[0; 48]), "lacks the key 'shape'"),
        (npy("{'shape': (2, 6), 'shape': (2, 6)}", &[0; 48]), "twice"),
        (npy("{'shape': (2, 6), 'size': 3}", &[0; 48]), "unknown key \"size\""),
        (npy("{'shape': (2, 6)} and more", &[0; 48]), "goes on after its end"),
        (npy("{'shape", &[0; 48]), "a string does not end"),
        (npy("", &[0; 48]), "'{' expected at its end"),
        (npy(&"(".repeat(60_000), &[]), "'{' expected"),
        (npy(&"{".repeat(60_000), &[]), "malformed"),
        (npy(&format!("{{'shape': {}", "(".repeat(60_000)), &[]), "a length expected"),
    ];
    for (bytes, expected) in files {
        place.write("bad.npy", &bytes);
        let line = place.fail("pairs bad.npy --engine cpu --out pairs.npy");
        assert!(line.contains("cannot read bad.npy: ") && line.contains(expected), "{expected}: {line}");
        let output = place.pipe("pairs - --engine cpu --out pairs.npy", &bytes);
        let line = one_line(&output, expected);
        assert!(line.contains("cannot read -: "), "{line}");
        assert_eq!(place.names(), ["bad.npy"], "{expected}");
    }
}

#[test]
fn a_scene_that_is_not_there_or_no_file_gets_one_clear_line() {
    let place = Place::new();
    assert!(place.fail("pairs nowhere.npy --engine cpu").contains("cannot read nowhere.npy: No such file"));
    assert!(place.fail("pairs . --engine cpu").contains("cannot read .: it is a directory"));
}

#[test]
fn a_place_that_cannot_be_written_is_refused_before_any_work() {
    let place = Place::new();
    // The scene does not exist either: the output is looked at first.
    for (out, expected) in [
        ("no/where.npy", "there is no directory"),
        (".", "it is a directory"),
        ("file/pairs.npy", "cannot write file/pairs.npy"),
    ] {
        place.write("file", b"");
        let line = place.fail(&format!("pairs nowhere.npy --engine cpu --out {out}"));
        assert!(line.contains(expected), "{line}");
        let line = place.fail(&format!("scene uniform --n 10 --out {out}"));
        assert!(line.contains(expected), "{line}");
    }
    place.run("scene uniform --n 10 --out scene.npy");
    let line = place.fail("pairs scene.npy --engine cpu --out ./scene.npy");
    assert!(line.contains("--out is the scene itself"), "{line}");
    assert_eq!(place.names(), ["file", "scene.npy"]);
}

#[test]
fn an_older_result_survives_a_failed_run() {
    let place = Place::new();
    place.write("pairs.npy", b"older");
    place.write("bad.npy", b"bad");
    place.fail("pairs bad.npy --engine cpu --out pairs.npy");
    assert_eq!(place.read("pairs.npy"), b"older");
    place.run("scene uniform --n 10 --out scene.npy");
    place.run("pairs scene.npy --engine cpu --out pairs.npy");
    assert!(place.read("pairs.npy").starts_with(b"\x93NUMPY"));
    assert_eq!(place.names(), ["bad.npy", "pairs.npy", "scene.npy"]);
}

#[cfg(unix)]
#[test]
fn a_result_has_the_permissions_of_any_file_and_a_replaced_one_keeps_its_own() {
    use std::os::unix::fs::{PermissionsExt, symlink};
    let place = Place::new();
    let mode = |name: &str| fs::metadata(place.path(name)).unwrap().permissions().mode() & 0o777;
    place.write("any", b"");
    place.run("scene uniform --n 10 --out scene.npy");
    assert_eq!(mode("scene.npy"), mode("any"));
    fs::set_permissions(place.path("scene.npy"), fs::Permissions::from_mode(0o640)).unwrap();
    symlink("scene.npy", place.path("link.npy")).unwrap();
    place.run("scene uniform --n 11 --out link.npy");
    assert_eq!(mode("scene.npy"), 0o640);
    assert!(fs::symlink_metadata(place.path("link.npy")).unwrap().is_symlink());
    assert_eq!(place.read("scene.npy").len(), 128 + 11 * 24);
}

#[cfg(target_os = "linux")]
#[test]
fn a_full_disk_gets_one_clear_line() {
    let place = Place::new();
    place.run("scene uniform --n 1000 --out scene.npy");
    for arguments in ["scene uniform --n 1000 --out /dev/full", "pairs scene.npy --engine cpu --out /dev/full"] {
        let line = place.fail(arguments);
        assert!(line.contains("cannot write /dev/full: No space left"), "{line}");
    }
    let full = || fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    for arguments in [
        "pairs scene.npy --engine cpu",
        "pairs scene.npy --engine cpu --json",
        "pairs scene.npy --engine cpu --out -",
        "scene uniform --n 1000 --out -",
        "scene uniform --n 1000 --out /dev/stdout",
        "--help",
        "",
    ] {
        let output = place.command(arguments).stdout(full()).output().unwrap();
        let line = one_line(&output, arguments);
        assert!(line.contains("No space left"), "{arguments}: {line}");
    }
    // Standard error is full too, and still there is no panic (101).
    let status = place.command("pairs nowhere.npy").stderr(full()).status().unwrap();
    assert_eq!(status.code(), Some(1));
}

#[test]
fn a_closed_pipe_ends_it_quietly_and_leaves_the_result_whole() {
    let place = Place::new();
    place.run("scene uniform --n 1000 --out scene.npy");
    for arguments in [
        "",
        "--help",
        "scene uniform --n 100000 --out -",
        "pairs scene.npy --engine cpu --out -",
        "pairs scene.npy --engine cpu --json",
        "pairs scene.npy --engine cpu --out pairs.npy",
    ] {
        let (reader, writer) = std::io::pipe().unwrap();
        drop(reader);
        let output = place.command(arguments).stdout(writer).output().unwrap();
        assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{arguments}");
        assert_eq!(output.status.code(), Some(141), "{arguments}");
    }
    let expected = brute_force::find_pairs(&scenes::uniform(1000, 1, None));
    assert_eq!(pairs_in(&place.read("pairs.npy")), expected);
}

#[test]
fn pipes_take_a_scene_and_its_pairs() {
    let place = Place::new();
    let scene = place.command("scene clusters --n 2000 --seed 5 --out -").output().unwrap();
    assert_eq!(String::from_utf8_lossy(&scene.stderr), "-: 2,000 boxes, clusters, seed 5\n");
    let pairs = place.pipe("pairs - --engine cpu --json --out /dev/stdout", &scene.stdout);
    let expected = brute_force::find_pairs(&scenes::clusters(2000, 5));
    assert_eq!(pairs_in(&pairs.stdout), expected);
    // The report makes way for the array.
    let report: Value = serde_json::from_slice(&pairs.stderr).unwrap();
    assert_eq!(report["pairs"], expected.len());
}

#[test]
fn json_is_one_object_with_the_counts() {
    let place = Place::new();
    place.run("scene invalid --n 400 --seed 2 --out scene.npy");
    let pair_count = brute_force::find_pairs(&scenes::invalid(400, 2)).len();
    for engine in ["cpu", "brute"] {
        let stdout = place.run(&format!("pairs scene.npy --engine {engine} --json --out pairs.npy"));
        assert_eq!(stdout.lines().count(), 1);
        let object: Value = serde_json::from_str(&stdout).unwrap();
        assert_eq!(object["engine"], engine);
        assert_eq!(object["scene"], "scene.npy");
        assert_eq!(object["boxes"], 400);
        assert_eq!(object["pairs"], pair_count);
        assert_eq!(object["out"], "pairs.npy");
        assert!(object["adapter"].is_null() && object["verified"].is_null());
        assert!(object["seconds"].as_f64().unwrap() >= 0.0);
        assert_eq!(object["report"].is_object(), engine == "cpu");
    }
}

#[test]
fn verification_tells_what_was_compared() {
    let place = Place::new();
    place.run("scene spread --n 600 --out scene.npy");
    for (engine, other) in [("cpu", "brute force"), ("brute", "the CPU engine")] {
        let report = place.run(&format!("pairs scene.npy --engine {engine} --order sweep --verify"));
        assert!(report.contains(&format!("verified    all pairs equal those of {other}")), "{report}");
        let json = place.run(&format!("pairs scene.npy --engine {engine} --verify --json"));
        let object: Value = serde_json::from_str(&json).unwrap();
        assert_eq!(object["verified"]["complete"], true);
        assert_eq!(object["verified"]["boxes"], 600);
    }
    let report = place.run("pairs scene.npy --engine cpu");
    assert!(!report.contains("verified"), "{report}");
}

#[test]
fn no_choice_of_options_changes_the_pairs() {
    let place = Place::new();
    place.run("scene pile --n 800 --out scene.npy");
    let expected = brute_force::find_pairs(&scenes::pile(800, 1));
    for axis in ["auto", "principal", "x", "y", "z"] {
        for cell_size in ["auto", "usscd", "0.07", "1e30"] {
            let options = format!("--engine cpu --axis {axis} --cell-size {cell_size}");
            place.run(&format!("pairs scene.npy {options} --out pairs.npy"));
            assert_eq!(pairs_in(&place.read("pairs.npy")), expected, "{options}");
        }
    }
}

#[test]
#[ignore = "long"]
fn the_report_names_what_was_done_with_few_boxes() {
    let place = Place::new();
    place.run("scene uniform --n 500 --out scene.npy");
    let report = place.run("pairs scene.npy --engine cpu");
    assert!(report.contains("method      all pairs tested"), "{report}");
    assert!(!report.contains("cell size") && report.contains("124,750 tested"), "{report}");
    let json = |options: &str| -> Value {
        serde_json::from_str(&place.run(&format!("pairs scene.npy --engine cpu --json {options}"))).unwrap()
    };
    let all = &json("--axis x --all-pairs-up-to 500")["report"];
    assert!(all["axis"].is_null() && all["direction"].is_null() && all["cell_size"].is_null(), "{all}");
    assert_eq!((&all["candidates"], &all["entries"]), (&124_750.into(), &0.into()));
    // Whoever names an axis or a cell size wants to see them used.
    for options in ["--all-pairs-up-to 0", "--all-pairs-up-to 499", "--axis y", "--cell-size 0.1"] {
        let swept = &json(options)["report"];
        assert!(
            swept["axis"].is_string() && swept["direction"].is_array() && swept["cell_size"].is_number(),
            "{swept}"
        );
    }
    let dispatches = |options: &str| {
        let report = place.run(&format!("pairs scene.npy --engine gpu --json {options}"));
        let dispatches = &serde_json::from_str::<Value>(&report).unwrap()["report"]["dispatches"];
        ["direct", "indirect"].map(|kind| dispatches[kind].as_u64().unwrap())
    };
    assert_eq!(dispatches(""), [2, 0]);
    let [direct, indirect] = dispatches("--all-pairs-up-to 0");
    assert!(direct > 2 && indirect > 0, "{direct} and {indirect}");
    let none = &json("")["report"]["dispatches"];
    assert_eq!((&none["direct"], &none["indirect"]), (&0.into(), &0.into()));
    let report = place.run("pairs scene.npy --engine cpu --all-pairs-up-to 0");
    assert!(report.contains("axis ") && report.contains("cell size") && !report.contains("method"), "{report}");
    for (option, expected) in [
        ("--all-pairs-up-to 9", "--all-pairs-up-to needs --engine gpu or cpu"),
        ("--axis y", "--axis needs --engine gpu or cpu"),
        ("--cell-size 0.1", "--cell-size needs --engine gpu or cpu"),
    ] {
        let line = place.fail(&format!("pairs scene.npy --engine brute {option}"));
        assert!(line.contains(expected), "{line}");
    }
}

#[test]
fn values_without_a_meaning_are_refused() {
    let place = Place::new();
    place.run("scene uniform --n 10 --out scene.npy");
    for arguments in [
        "pairs scene.npy --engine fpga",
        "pairs scene.npy --axis w",
        "pairs scene.npy --order random",
        "pairs scene.npy --cell-size 0",
        "pairs scene.npy --cell-size -1",
        "pairs scene.npy --cell-size inf",
        "pairs scene.npy --cell-size nan",
        "pairs scene.npy --cell-size 1e-60",
        "pairs scene.npy --memory-budget much",
        "pairs scene.npy --all-pairs-up-to -1",
        "pairs",
        "pairs scene.npy scene.npy",
        "scene cloud --n 10 --out x.npy",
        "scene uniform --n -1 --out x.npy",
        "scene uniform --n 4294967296 --out x.npy",
        "scene uniform --n 10",
        "sort",
        "--fast",
    ] {
        let output = place.command(arguments).output().unwrap();
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments}: {stderr}");
        assert!(stderr.starts_with("error: "), "{arguments}: {stderr}");
    }
    for (arguments, expected) in [
        ("pairs scene.npy --engine cpu --adapter x", "--adapter selects a GPU"),
        ("pairs scene.npy --engine brute --memory-budget 1G", "--memory-budget is for GPU memory"),
        ("scene clusters --n 10 --edge 0.5 --out x.npy", "--edge applies to uniform only"),
        ("scene uniform --n 10 --edge -0.5 --out x.npy", "--edge is -0.5"),
        ("scene uniform --n 10 --edge nan --out x.npy", "--edge is NaN"),
    ] {
        let line = place.fail(arguments);
        assert!(line.contains(expected), "{line}");
    }
    assert_eq!(place.names(), ["scene.npy"]);
}

#[cfg(not(feature = "peers"))]
#[test]
fn whoever_names_another_library_is_told_where_they_are() {
    let output = Place::new().command("pairs uniform:10 --engine parry").output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("'parry'") && stderr.contains("--features peers"), "{stderr}");
}

#[test]
fn a_machine_without_a_gpu_is_told_what_to_install_and_nothing_of_the_library() {
    let place = Place::new();
    let run = |arguments: &str| {
        // Where Vulkan is what finds adapters, it finds none.
        let output = place.command(arguments).env("VK_DRIVER_FILES", "nowhere.json").output().unwrap();
        (output.status.success(), String::from_utf8(output.stderr).unwrap())
    };
    let (is_found, _) = run("pairs uniform:10 --engine gpu");
    if is_found {
        return;
    }
    for (arguments, goes_on) in [("pairs uniform:10", true), ("pairs uniform:10 --engine gpu", false)] {
        let (succeeded, stderr) = run(arguments);
        assert_eq!(succeeded, goes_on, "{stderr}");
        assert!(stderr.contains("no GPU adapter found") && stderr.contains("apt-get install"), "{stderr}");
        assert!(!stderr.contains("find_pairs"), "{stderr}");
    }
}

#[test]
fn without_an_engine_a_real_gpu_is_chosen_or_else_the_cpu_engine_with_the_reason() {
    let place = Place::new();
    let adapters: Value = serde_json::from_slice(&place.command("adapters --json").output().unwrap().stdout).unwrap();
    let adapters = adapters.as_array().unwrap();
    let has_gpu = adapters.iter().any(|adapter| adapter["type"] != "software");
    let output = place.command("pairs uniform:3000 --verify --json").output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    if has_gpu {
        assert_eq!((&report["engine"], stderr.as_str()), (&"gpu".into(), ""));
        return;
    }
    assert_eq!((&report["engine"], &report["verified"]["against"]), (&"cpu".into(), &"brute".into()));
    assert!(report["adapter"].is_null());
    assert!(stderr.starts_with("note: using the CPU engine: ") && stderr.lines().count() == 1, "{stderr}");
    let reason = if adapters.is_empty() { "no GPU adapter found" } else { "software driver" };
    assert!(stderr.contains(reason) && stderr.contains("--engine "), "{stderr}");
}

#[test]
fn errors_of_the_library_name_flags() {
    let place = Place::new();
    for (arguments, expected) in [
        ("pairs uniform:5000 --engine gpu --memory-budget 1000", "--memory-budget is 1000"),
        ("pairs uniform:5000 --engine gpu --candidate-limit 10", "raise --candidate-limit"),
        ("pairs uniform:5000 --engine cpu --candidate-limit 10", "raise --candidate-limit"),
        ("pairs uniform:5000 --adapter nobody-has-this-one", "--adapter nobody-has-this-one: no GPU adapter found"),
    ] {
        let line = place.fail(arguments);
        assert!(line.contains(expected), "{line}");
        assert!(!line.contains("::"), "{line}");
    }
}

#[test]
fn files_are_known_by_their_extension_in_upper_case_too() {
    let place = Place::new();
    for name in ["uniform:5.NPY", "uniform:5.Npy", "uniform:5.NPZ"] {
        let line = place.fail(&format!("pairs {name} --engine cpu"));
        assert!(line.contains(&format!("cannot read {name}: No such file")), "{line}");
    }
    place.run("scene uniform --n 50 --out SCENE.NPY");
    assert!(place.run("pairs SCENE.NPY --engine cpu").contains("50 boxes"));
    fs::rename(place.path("SCENE.NPY"), place.path("SCENE.NpZ")).unwrap();
    assert!(place.fail("pairs SCENE.NpZ --engine cpu").contains("it is no .npz file"));
}

#[test]
fn an_edge_is_taken_for_uniform() {
    let place = Place::new();
    place.run("scene uniform --n 50 --seed 9 --edge 0.25 --out scene.npy");
    place.run("pairs scene.npy --engine cpu --out pairs.npy");
    let expected = brute_force::find_pairs(&scenes::uniform(50, 9, Some(0.25)));
    assert_eq!(pairs_in(&place.read("pairs.npy")), expected);
}

#[test]
fn adapters_are_listed_and_none_is_a_failure() {
    let place = Place::new();
    let output = place.command("adapters --json").output().unwrap();
    let list: Value = serde_json::from_slice(&output.stdout).unwrap();
    let list = list.as_array().unwrap();
    assert_eq!(output.status.success(), !list.is_empty());
    assert!(list.iter().all(|adapter| adapter["name"].is_string()));
}

#[test]
fn without_a_command_a_sample_is_generated_and_verified() {
    let output = Place::new().command("").output().unwrap();
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for part in ["uniform, seed 1, 100,000 boxes", "engine", "pairs", "verified", "broadsweep pairs scene.npy"] {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    // The same scene on the GPU, where the sample took the CPU engine.
    let report = Place::new().run("pairs uniform:100000 --engine gpu --verify");
    assert!(report.contains("all pairs equal those of the CPU engine"), "{report}");
    let pairs = |report: &str| report.lines().find(|line| line.starts_with("pairs ")).map(str::to_owned);
    assert_eq!(pairs(&report), pairs(&stdout));
}

#[test]
fn help_names_every_kind_of_scene() {
    let help = Place::new().run("scene --help");
    for kind in Kind::ALL {
        assert!(help.contains(kind.name()) && help.contains(kind.description()), "{kind}");
    }
    assert!(help.ends_with('\n'));
}
