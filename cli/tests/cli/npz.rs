//! `broadsweep pairs` with scenes that have filters.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use broadsweep::filter::{GroupRule, HalfSpace};
use broadsweep::internals::brute_force;
use broadsweep::{Aabb, Filters, Pair};
use flate2::Compression;
use flate2::write::DeflateEncoder;
use laboratory::scenes::{self, npy};
use rawzip::{CompressionMethod, ZipArchive, ZipArchiveWriter, crc32};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::commands::{header, npy as array, pairs_in};
use crate::place::{Place, one_line};

/// The engines that support filters.
const ENGINES: [&str; 3] = ["gpu", "cpu", "brute"];

/// Names without `.npy`, and the files.
type Arrays = Vec<(&'static str, Vec<u8>)>;

fn words(shape: &str, words: &[u32]) -> Vec<u8> {
    let data: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    array(&header("<u4", "False", shape), &data)
}

fn list(list: &[u32]) -> Vec<u8> {
    words(&format!("({},)", list.len()), list)
}

pub fn floats(shape: &str, floats: &[f32]) -> Vec<u8> {
    let data: Vec<u8> = floats.iter().flat_map(|float| float.to_le_bytes()).collect();
    array(&header("<f4", "False", shape), &data)
}

fn truths(descr: &str, truths: &[bool]) -> Vec<u8> {
    let data: Vec<u8> = truths.iter().map(|&is| u8::from(is)).collect();
    array(&header(descr, "False", &format!("({},)", truths.len())), &data)
}

fn pairs(pairs: &[Pair]) -> Vec<u8> {
    let numbers: Vec<u32> = pairs.iter().flat_map(|pair| [pair.a, pair.b]).collect();
    words(&format!("({}, 2)", pairs.len()), &numbers)
}

fn boxes(boxes: &[Aabb]) -> Vec<u8> {
    let mut bytes = Vec::new();
    npy::write_boxes(&mut bytes, boxes).unwrap();
    bytes
}

/// Returns all arrays that are not empty.
fn arrays(scene: &[Aabb], filters: &Filters) -> Arrays {
    let mut arrays = vec![("boxes", boxes(scene))];
    for (name, numbers) in [
        ("group", &filters.group),
        ("mask", &filters.mask),
        ("body", &filters.body),
        ("parent", &filters.parent),
        ("world", &filters.world),
    ] {
        arrays.extend((!numbers.is_empty()).then(|| (name, list(numbers))));
    }
    for (name, descr, is) in
        [("fixed", "|b1", &filters.fixed), ("sleeping", "|u1", &filters.sleeping), ("second", "|b1", &filters.second)]
    {
        arrays.extend((!is.is_empty()).then(|| (name, truths(descr, is))));
    }
    if !filters.margin.is_empty() {
        arrays.push(("margin", floats(&format!("({},)", filters.margin.len()), &filters.margin)));
    }
    if !filters.sphere.is_empty() {
        arrays.push(("sphere", floats(&format!("({}, 4)", filters.sphere.len()), filters.sphere.as_flattened())));
    }
    for (name, listed) in [("exclude", &filters.exclude), ("include", &filters.include)] {
        arrays.extend((!listed.is_empty()).then(|| (name, pairs(listed))));
    }
    if !filters.half_spaces.is_empty() {
        let rows: Vec<f32> = filters.half_spaces.iter().flat_map(|h| h.normal.into_iter().chain([h.offset])).collect();
        arrays.push(("half_space", floats(&format!("({}, 4)", filters.half_spaces.len()), &rows)));
        arrays.push(("half_space_box", list(&filters.half_spaces.iter().map(|h| h.index).collect::<Vec<_>>())));
    }
    if let Some(region) = filters.owner {
        arrays.push(("owner", floats("(2, 3)", &[region.min, region.max].concat())));
    }
    arrays
}

/// Writes a file as `np.savez` does: stored, with the sizes in zip64 fields of the local headers alone.
pub fn stored(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let (mut file, mut directory) = (Vec::new(), Vec::new());
    for (name, data) in arrays {
        let name = format!("{name}.npy");
        let (offset, size, crc) = (file.len() as u32, data.len() as u32, crc32(data));
        let common = |bytes: &mut Vec<u8>, size: u32, extra: u16| {
            // Version, flags, method, time, date.
            [45u16, 0, 0, 0, 0x21].iter().for_each(|word| bytes.extend(word.to_le_bytes()));
            [crc, size, size].iter().for_each(|word| bytes.extend(word.to_le_bytes()));
            [name.len() as u16, extra].iter().for_each(|word| bytes.extend(word.to_le_bytes()));
        };
        file.extend(b"PK\x03\x04");
        common(&mut file, u32::MAX, 20);
        file.extend(name.as_bytes());
        file.extend([1, 0, 16, 0]);
        [size, 0, size, 0].iter().for_each(|word| file.extend(word.to_le_bytes()));
        file.extend(data);
        directory.extend(b"PK\x01\x02\x2d\x03");
        common(&mut directory, size, 0);
        // Comment, disk, attributes.
        directory.extend([0; 10]);
        directory.extend(offset.to_le_bytes());
        directory.extend(name.as_bytes());
    }
    let (start, length, count) = (file.len() as u32, directory.len() as u32, arrays.len() as u16);
    file.extend(&directory);
    file.extend(b"PK\x05\x06\0\0\0\0");
    [count, count].iter().for_each(|word| file.extend(word.to_le_bytes()));
    [length, start].iter().for_each(|word| file.extend(word.to_le_bytes()));
    file.extend([0, 0]);
    file
}

/// Writes a file as `np.savez_compressed` does.
fn deflated(arrays: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut writer = ZipArchiveWriter::new(Vec::new());
    for (name, data) in arrays {
        let name = format!("{name}.npy");
        let builder = writer.new_file(&name).compression_method(CompressionMethod::DEFLATE);
        let (mut entry, config) = builder.start().unwrap();
        let mut to = config.wrap(DeflateEncoder::new(&mut entry, Compression::default()));
        to.write_all(data).unwrap();
        let (encoder, descriptor) = to.finish().unwrap();
        encoder.finish().unwrap();
        entry.finish(descriptor).unwrap();
    }
    writer.finish().unwrap()
}

/// Boxes that overlap often, and every filter; each of them changes the answer.
fn scene() -> (Vec<Aabb>, Filters) {
    let boxes = scenes::uniform(200, 5, Some(0.3));
    let by_box = |count: u32| -> Vec<u32> { (0..200).map(|i: u32| i.wrapping_mul(0x9e37_79b9) % count).collect() };
    let sphere = |(aabb, i): (&Aabb, u32)| {
        let center = [0, 1, 2].map(|k| (aabb.min[k] + aabb.max[k]) / 2.0);
        [center[0], center[1], center[2], if i == 0 { f32::INFINITY } else { (aabb.max[0] - aabb.min[0]) / 3.0 }]
    };
    let filters = Filters::default()
        .with_rule(GroupRule::Any)
        .with_group(by_box(7).iter().map(|i| 1 << i).collect())
        .with_mask(by_box(11).iter().map(|i| 0x3b >> (i % 6)).collect())
        .with_body(by_box(60))
        .with_parent(by_box(13).iter().map(|&i| if i == 0 { Filters::NO_PARENT } else { i * 4 }).collect())
        .with_fixed(by_box(3).iter().map(|&i| i == 0).collect())
        .with_sleeping(by_box(5).iter().map(|&i| i == 1).collect())
        .with_second(by_box(10).iter().map(|&i| i > 0).collect())
        .with_world(by_box(4).iter().map(|&i| if i == 3 { Filters::GLOBAL } else { 10 * i }).collect())
        .with_margin(by_box(9).iter().map(|&i| i as f32 / 100.0).collect())
        .with_sphere(boxes.iter().zip(by_box(4)).map(sphere).collect())
        .with_exclude((0..199).map(|i| Pair { a: i + 1, b: i }).collect())
        .with_exclude_at_most(0)
        .with_include(vec![Pair { a: 17, b: 3 }, Pair { a: 3, b: 17 }, Pair { a: 198, b: 199 }])
        .with_half_spaces(vec![
            HalfSpace { index: 20, normal: [0.1, 0.2, 1.0], offset: 0.3 },
            HalfSpace { index: 4, normal: [-1.0, 0.0, 1.0], offset: -0.5 },
        ])
        .with_owner(Some(Aabb::new([f32::NEG_INFINITY, 0.1, f32::NEG_INFINITY], [f32::INFINITY, f32::INFINITY, 0.8])));
    (boxes, filters)
}

/// Returns the filters, each alone.
fn each_alone(all: &Filters) -> Vec<Filters> {
    let none = Filters::default;
    vec![
        none().with_group(all.group.clone()),
        none().with_mask(all.mask.clone()),
        none().with_body(all.body.clone()),
        none().with_parent(all.parent.clone()),
        none().with_fixed(all.fixed.clone()),
        none().with_sleeping(all.sleeping.clone()),
        none().with_second(all.second.clone()),
        none().with_world(all.world.clone()),
        none().with_margin(all.margin.clone()),
        none().with_sphere(all.sphere.clone()),
        none().with_exclude(all.exclude.clone()),
        none().with_include(all.include.clone()),
        none().with_half_spaces(all.half_spaces.clone()),
        none().with_owner(all.owner),
    ]
}

#[test]
fn every_filter_alone_and_all_together_give_the_pairs_of_the_double_loop() {
    let place = Place::new();
    let (boxes, all) = scene();
    let unfiltered = brute_force::find_pairs(&boxes);
    let mut cases = each_alone(&all);
    // A box is in its own groups where only one of both lists is given, which leaves all pairs.
    let changes = |filters: &Filters| filters.mask.is_empty() && filters.group.is_empty();
    cases.extend([all.clone(), all.with_rule(GroupRule::Both)]);
    for (case, filters) in cases.iter().enumerate() {
        let expected = brute_force::find_filtered_pairs(&boxes, filters);
        assert!(!changes(filters) || expected != unfiltered, "case {case}");
        let arrays = arrays(&boxes, filters);
        for (layout, bytes) in [("stored", stored(&arrays)), ("deflated", deflated(&arrays))] {
            place.write("scene.npz", &bytes);
            // The layout is nothing to the engine, and a GPU in software takes a second for the kernels of a new
            // filter.
            for engine in ENGINES.into_iter().filter(|engine| layout == "stored" || *engine != "gpu") {
                let rule = if filters.rule == GroupRule::Both { "--rule both" } else { "" };
                let report = place.run(&format!("pairs scene.npz {rule} --engine {engine} --verify --out pairs.npy"));
                assert_eq!(pairs_in(&place.read("pairs.npy")), expected, "case {case}, {layout}, {engine}");
                assert!(report.contains("filters     "), "{report}");
            }
        }
    }
}

#[test]
fn the_report_tells_every_filter() {
    let place = Place::new();
    let (boxes, filters) = scene();
    place.write("scene.npz", &stored(&arrays(&boxes, &filters)));
    let report = place.run("pairs scene.npz --engine cpu");
    let expected = "filters     group and mask (any), body, parent, 67 fixed, 40 sleeping, two sets, the second of 176 boxes, \
                    3 worlds and 50 boxes in all of them, margins up to 0.08, 150 spheres, 199 excluded pairs, 3 included pairs, 2 half-spaces, an owner region\n";
    assert!(report.contains(expected), "{report}");
    let object: Value = serde_json::from_str(&place.run("pairs scene.npz --engine cpu --rule both --json")).unwrap();
    let filters = &object["filters"];
    assert_eq!((&filters["rule"], &filters["worlds"], &filters["exclude"]), (&"both".into(), &3.into(), &199.into()));
    place.write("scene.npz", &stored(&arrays(&boxes, &Filters::default())));
    let object: Value = serde_json::from_str(&place.run("pairs scene.npz --engine cpu --json")).unwrap();
    assert!(object["filters"].is_null());
    let margins = Filters::default().with_margin(vec![0.1; boxes.len()]);
    place.write("scene.npz", &stored(&arrays(&boxes, &margins)));
    let object: Value = serde_json::from_str(&place.run("pairs scene.npz --engine cpu --json")).unwrap();
    assert_eq!(object["filters"]["largest_margin"].to_string(), "0.1");
}

#[test]
fn other_byte_orders_and_fortran_order_are_read_and_so_is_a_pipe() {
    let place = Place::new();
    let (scene, filters) = scene();
    let filters = Filters::default().with_body(filters.body).with_exclude(filters.exclude);
    let big = |words: Vec<u32>| words.iter().flat_map(|word| word.to_be_bytes()).collect::<Vec<u8>>();
    let columns = filters.exclude.iter().map(|pair| pair.a).chain(filters.exclude.iter().map(|pair| pair.b)).collect();
    let bytes = deflated(&[
        ("exclude", array(&header(">u4", "True", "(199, 2)"), &big(columns))),
        ("body", array(&header(">u4", "False", "(200,)"), &big(filters.body.clone()))),
        ("include", pairs(&[])),
        ("boxes", boxes(&scene)),
    ]);
    let output = place.pipe("pairs - --engine cpu --out pairs.npy", &bytes);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(pairs_in(&place.read("pairs.npy")), brute_force::find_filtered_pairs(&scene, &filters));
}

#[test]
fn pairs_come_world_after_world_with_a_table_of_the_worlds() {
    let place = Place::new();
    let cube = Aabb::new([0.0; 3], [1.0; 3]);
    let filters = Filters::default().with_world(vec![7, 3, 7, 3, Filters::GLOBAL, 5]);
    place.write("scene.npz", &deflated(&arrays(&[cube; 6], &filters)));
    for engine in ENGINES.into_iter().filter(|engine| *engine != "brute") {
        let report =
            place.run(&format!("pairs scene.npz --engine {engine} --verify --out pairs.npy --by-world worlds.csv"));
        assert!(report.contains("by world    worlds.csv"), "{report}");
        assert_eq!(
            place.text("worlds.csv"),
            "world,boxes,pairs,first_pair\n3,2,3,0\n5,1,1,3\n7,2,3,4\n4294967295,1,0,7\n"
        );
        let expected = [(1, 3), (1, 4), (3, 4), (4, 5), (0, 2), (0, 4), (2, 4)].map(|(a, b)| Pair { a, b });
        assert_eq!(pairs_in(&place.read("pairs.npy")), expected);
    }
    let output = place.command("pairs scene.npz --engine cpu --by-world -").output().unwrap();
    assert!(output.stdout.starts_with(b"world,boxes,pairs,first_pair\n3,"));
    assert!(String::from_utf8(output.stderr).unwrap().contains("6 boxes"));
    let line = place.fail("pairs scene.npz --engine brute --by-world worlds.csv");
    assert!(line.contains("--by-world needs --engine gpu or cpu, and --engine is brute"), "{line}");
    let line = place.fail("pairs uniform:10 --engine cpu --by-world worlds.csv");
    assert!(line.contains("--by-world needs a scene with `world`"), "{line}");
    for same in ["same", "./same", "../{}/same"] {
        let name = place.path("").file_name().unwrap().to_string_lossy().into_owned();
        let same = same.replace("{}", &name);
        let line = place.fail(&format!("pairs scene.npz --engine cpu --by-world same --out {same}"));
        assert!(line.contains("are the same file"), "{same}: {line}");
    }
}

#[test]
fn lists_of_no_boxes_are_used_as_those_of_many_are() {
    let place = Place::new();
    let none = [("boxes", boxes(&[])), ("group", list(&[])), ("world", list(&[])), ("exclude", pairs(&[]))];
    place.write("scene.npz", &stored(&none));
    for engine in ["gpu", "cpu"] {
        let report = place.run(&format!(
            "pairs scene.npz --engine {engine} --rule both --verify --out pairs.npy --by-world worlds.csv"
        ));
        assert!(report.contains("0 boxes"), "{report}");
        assert_eq!(pairs_in(&place.read("pairs.npy")), []);
        assert_eq!(place.text("worlds.csv"), "world,boxes,pairs,first_pair\n");
    }
}

#[test]
fn filters_are_refused_where_they_would_be_ignored() {
    let place = Place::new();
    let (boxes, filters) = scene();
    place.write("scene.npz", &stored(&arrays(&boxes, &filters)));
    for (arguments, expected) in [
        (
            "pairs scene.npz --engine scd",
            "--engine scd takes no filters, and scene.npz has filters; take --engine gpu, cpu or brute",
        ),
        (
            "pairs uniform:10 --rule both",
            "--rule applies to `group` and `mask` of an .npz file, and the scene has neither",
        ),
        ("pairs scene.npz --engine cpu --out scene.npz", "--out is the scene itself"),
        ("pairs scene.npz --engine cpu --by-world scene.npz", "--by-world is the scene itself"),
    ] {
        let line = place.fail(arguments);
        assert!(line.contains(expected), "{line}");
    }
    // Without filters, any engine will do.
    place.write("scene.npz", &stored(&arrays(&boxes, &Filters::default())));
    place.run("pairs scene.npz --engine scd --out pairs.npy");
    assert_eq!(pairs_in(&place.read("pairs.npy")), brute_force::find_pairs(&boxes));
}

#[test]
#[expect(clippy::too_many_lines, reason = "a table of files, each with what is said of it")]
fn a_bad_npz_gets_one_clear_line_and_no_result() {
    let place = Place::new();
    let cubes = boxes(&[Aabb::new([0.0; 3], [1.0; 3]); 3]);
    let with = |name: &'static str, array: Vec<u8>| stored(&[("boxes", cubes.clone()), (name, array)]);
    let typed = |descr: &str, shape: &str, size: usize| array(&header(descr, "False", shape), &vec![0; size]);
    let good = with("group", list(&[1, 2, 3]));
    let find = |bytes: &[u8], wanted: &[u8]| bytes.windows(wanted.len()).rposition(|part| part == wanted).unwrap();
    let directory = find(&good, b"PK\x01\x02");
    let patched = |at: usize, bytes: &[u8]| {
        let mut patched = good.clone();
        patched[at..at + bytes.len()].copy_from_slice(bytes);
        patched
    };
    let planes = |rows: u32| floats(&format!("({rows}, 4)"), &vec![1.0; rows as usize * 4]);
    let files: Vec<(Vec<u8>, &str)> = vec![
        (vec![], "it is no .npz file, or it is truncated"),
        (cubes.clone(), "it is no .npz file, or it is truncated"),
        (good[..good.len() / 2].to_vec(), "it is no .npz file, or it is truncated"),
        (good[30..].to_vec(), "damaged"),
        (stored(&[]), "it has no array `boxes`, which is required"),
        (stored(&[("group", list(&[]))]), "it has no array `boxes`"),
        (
            with("grup", list(&[1, 2, 3])),
            "it has an unknown array, \"grup\"; the known ones are boxes, group, mask, body, parent, fixed, sleeping, \
             second, world, margin, sphere, exclude, include, half_space_box, half_space, owner",
        ),
        (
            patched(find(&good, b"group.npy"), b"group.txt"),
            "it has an unknown array, \"group.txt\"; the known ones are",
        ),
        (with("boxes", cubes.clone()), "it has `boxes` twice"),
        (
            stored(&[("boxes", cubes.clone()), ("group", list(&[1, 2, 3])), ("group", list(&[1, 2, 3]))]),
            "it has `group` twice",
        ),
        (patched(directory + 8, &[1]), "`group` is encrypted, which is not supported"),
        (patched(directory + 10, &[14]), "`group` is compressed with "),
        (patched(directory + 16, &[0, 0, 0, 0]), "`group` is truncated or damaged: Invalid checksum"),
        (patched(good.len() - 14, &[3, 0, 3, 0]), "it has 2 arrays, and its directory has 3"),
        (patched(directory + 20, &[255, 255, 255, 127]), "damaged"),
        (
            with("group", typed("<i8", "(3,)", 24)),
            "`group`: its dtype is \"<i8\"; 'u4' is needed: convert it with .astype(np.uint32)",
        ),
        (
            with("fixed", typed("<i4", "(3,)", 12)),
            "`fixed`: its dtype is \"<i4\"; 'b1' or 'u1' is needed: convert it with .astype(bool)",
        ),
        (
            with("margin", typed("<c8", "(3,)", 24)),
            "`margin`: its dtype is \"<c8\"; floats or integers are needed: convert it with .astype(np.float64)",
        ),
        (
            with("exclude", typed("<i8", "(2, 2)", 32)),
            "`exclude`: its dtype is \"<i8\"; 'u4' is needed: convert it with .astype(np.uint32)",
        ),
        (
            stored(&[("boxes", typed("<c8", "(3, 6)", 144))]),
            "`boxes`: its dtype is \"<c8\"; boxes are floats or integers: convert it with .astype(np.float64)",
        ),
        (stored(&[("boxes", typed("<f4", "(3, 5)", 60))]), "`boxes`: its shape is (3, 5)"),
        (stored(&[("boxes", typed("<f4", "(3, 6)", 71))]), "`boxes`: it is truncated: its array is 72 bytes long"),
        (stored(&[("boxes", typed("<f4", "(4000000000, 6)", 72))]), "`boxes`: it claims 4000000000 boxes"),
        (with("group", typed("|O", "(3,)", 12)), "`group`: it holds pickled Python objects"),
        (with("group", b"no array".to_vec()), "`group`: it is not a .npy file"),
        (with("group", list(&[1, 2])), "`group`: its shape is (2,); (3,) is needed, a number for each box"),
        (with("group", words("(3, 1)", &[1, 2, 3])), "`group`: its shape is (3, 1); (3,) is needed"),
        (with("sleeping", typed("|b1", "()", 1)), "`sleeping`: its shape is (); (3,) is needed"),
        (with("exclude", list(&[1, 2])), "`exclude`: its shape is (2,); (m, 2) is needed, where m can be 0"),
        (with("include", words("(2, 3)", &[0; 6])), "`include`: its shape is (2, 3); (m, 2) is needed"),
        (with("include", typed("<u4", "(9000000000000000000, 2)", 8)), "does not fit 64 bits"),
        (with("include", typed("<u4", "(1000000000000, 2)", 8)), "`include`: it is truncated"),
        (with("include", words("(2, 2)", &[0, 1, 2, 3])), "`include[1]` is (2, 3), and there are 3 boxes"),
        (with("exclude", words("(1, 2)", &[2, 2])), "`exclude[0]` is (2, 2): a box with itself"),
        (with("margin", floats("(3,)", &[0.0, -1.0, 0.0])), "`margin[1]` is -1"),
        (
            with("sphere", floats("(3, 4)", &[0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, -1.0, 0.0, 0.0, 0.0, 0.0])),
            "`sphere[1]` is centre (0, 0, 0) and radius -1",
        ),
        (with("sphere", floats("(3, 3)", &[0.0; 9])), "`sphere`: its shape is (3, 3); (m, 4) is needed"),
        (with("sphere", floats("(2, 4)", &[0.0; 8])), "`sphere` has 2"),
        (with("half_space", planes(1)), "it has only one of `half_space` and `half_space_box`"),
        (with("half_space_box", list(&[0])), "it has only one of `half_space` and `half_space_box`"),
        (
            stored(&[("boxes", cubes.clone()), ("half_space", planes(2)), ("half_space_box", list(&[0]))]),
            "`half_space_box`: its shape is (1,); (2,) is needed, a number for each row of `half_space`",
        ),
        (
            stored(&[("boxes", cubes.clone()), ("half_space", planes(1)), ("half_space_box", list(&[3]))]),
            "`half_space[0]` is of box 3, and there are 3 boxes",
        ),
        (with("owner", floats("(1, 3)", &[0.0; 3])), "`owner`: it has 1 rows; 2 are needed, `min` and `max`"),
        (with("owner", floats("(2, 3)", &[0.0, 1.0, 0.0, 1.0, 0.5, 1.0])), "`owner[1]` reaches from 1 to 0.5"),
    ];
    for (bytes, expected) in files {
        place.write("bad.npz", &bytes);
        let line = place.fail("pairs bad.npz --engine cpu --out pairs.npy");
        assert!(line.contains("cannot read bad.npz: ") && line.contains(expected), "{expected}: {line}");
        if bytes.starts_with(b"PK") {
            let output = place.pipe("pairs - --engine cpu --out pairs.npy", &bytes);
            let line = one_line(&output, expected);
            assert!(line.contains("cannot read -: ") && line.contains(expected), "{expected}: {line}");
        }
        assert_eq!(place.names(), ["bad.npz"], "{expected}");
    }
    assert!(place.fail("pairs nowhere.npz --engine cpu").contains("cannot read nowhere.npz: No such file"));
    fs::create_dir(place.path("folder.npz")).unwrap();
    assert!(place.fail("pairs folder.npz --engine cpu").contains("cannot read folder.npz: it is a directory"));
}

/// Scenes with known answers, where they stand beside the repository or where `BROADSWEEP_DATA` says.
fn data() -> Option<PathBuf> {
    let beside = concat!(env!("CARGO_MANIFEST_DIR"), "/../../shared/data");
    let folder = std::env::var_os("BROADSWEEP_DATA").map_or_else(|| beside.into(), PathBuf::from);
    folder.join("expected.json").exists().then_some(folder)
}

/// Creates one array of an .npz.
fn extract(file: &[u8], name: &str) -> Vec<u8> {
    let archive = ZipArchive::from_slice(file).unwrap();
    let mut entries = archive.entries();
    let entry = std::iter::from_fn(|| entries.next_entry().unwrap())
        .find(|entry| entry.file_path().as_bytes() == name.as_bytes())
        .unwrap();
    let mut bytes = Vec::new();
    let found = archive.get_entry(entry.wayfinder()).unwrap();
    flate2::read::DeflateDecoder::new(found.data()).read_to_end(&mut bytes).unwrap();
    bytes
}

/// Lists the simulated scenes that are there: the name of each, what is known of its pairs, and its file.
fn simulated(data: &Path) -> Vec<(String, Value, Vec<u8>)> {
    let known: Value = serde_json::from_slice(&fs::read(data.join("expected.json")).unwrap()).unwrap();
    let scene = |(name, known): (&String, &Value)| {
        let file = fs::read(data.join(format!("{name}.npz"))).ok()?;
        Some((name.clone(), known.clone(), file))
    };
    known.as_object().unwrap().iter().filter_map(scene).collect()
}

/// Boxes with groups, masks and bodies, some of them without an end.
#[test]
#[ignore = "long"]
fn queries_of_simulated_scenes_answer_as_brute_force_does() {
    let Some(data) = data() else {
        return;
    };
    let place = Place::new();
    for (name, _, file) in simulated(&data) {
        place.write("scene.npz", &file);
        let questions = [
            "rays scene.npz incoherent:150 --hits all",
            "overlaps scene.npz cubes:150",
            "nearest scene.npz points:150 --k 5",
        ];
        for question in questions {
            let answers = ["cpu", "gpu"].map(|engine| {
                place.run(&format!("{question} --engine {engine} --verify --out answers.npz"));
                place.read("answers.npz")
            });
            assert!(answers[0] == answers[1], "{name}: {question}");
        }
    }
}

#[test]
#[ignore = "long"]
fn simulated_scenes_have_the_pairs_that_are_known() {
    let Some(data) = data() else {
        return;
    };
    let place = Place::new();
    for (name, expected, file) in simulated(&data) {
        place.write("scene.npz", &file);
        place.write("boxes.npy", &extract(&file, "boxes.npy"));
        for engine in ENGINES {
            let filtered = place.run(&format!("pairs scene.npz --engine {engine} --json --out pairs.npy"));
            let filtered: Value = serde_json::from_str(&filtered).unwrap();
            assert_eq!(filtered["boxes"], expected["boxes"], "{name}, {engine}");
            assert_eq!(filtered["pairs"], expected["pairs"], "{name}, {engine}");
            let hash = Sha256::digest(&place.read("pairs.npy")[128..]);
            let hash: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hash, expected["sha256"].as_str().unwrap(), "{name}, {engine}");
            let all: Value =
                serde_json::from_str(&place.run(&format!("pairs boxes.npy --engine {engine} --json"))).unwrap();
            assert_eq!(all["pairs"], expected["all_pairs"], "{name}, {engine}");
        }
    }
}
