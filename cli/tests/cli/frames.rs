//! `broadsweep frames`: what begins and what ends.

use broadsweep::internals::brute_force;
use broadsweep::{Aabb, Pair};
use laboratory::scenes::{Kind, Motion, npy};
use serde_json::Value;

use crate::place::Place;
use crate::queries::{array, named, numbers};

/// Frames that begin with boxes that nothing moves.
const FRAMES: usize = 4;
const BOXES: usize = 300;

fn frames() -> Vec<Vec<Aabb>> {
    (0..FRAMES as u32).map(|step| Kind::Brownian.generate_step(BOXES, 1, 30 + 5 * step.saturating_sub(1))).collect()
}

/// Returns the pairs of each of some lists that the other list does not have, and where those of each begin.
fn differences<'a>(lists: impl IntoIterator<Item = (&'a [Pair], &'a [Pair])>) -> (Vec<u64>, Vec<u32>) {
    let (mut offsets, mut pairs) = (vec![0], Vec::new());
    for (own, others) in lists {
        pairs.extend(own.iter().filter(|pair| !others.contains(pair)).flat_map(|pair| [pair.a, pair.b]));
        offsets.push(pairs.len() as u64 / 2);
    }
    (offsets, pairs)
}

#[test]
fn every_engine_writes_the_events_of_every_frame() {
    let place = Place::new();
    let frames = frames();
    let bounds = |aabb: &Aabb| aabb.min.into_iter().chain(aabb.max).collect::<Vec<f32>>();
    let all: Vec<f32> = frames.iter().flatten().flat_map(bounds).collect();
    let shape = [FRAMES as u64, BOXES as u64, 6];
    place.write("frames.npy", &array(&shape, &all));
    place.write("nested.npy", &array(&[shape[0], shape[1], 2, 3], &all));
    let lists: Vec<Vec<Pair>> = frames.iter().map(|boxes| brute_force::find_pairs(boxes)).collect();
    let of = |at: Option<usize>| at.map_or(&[][..], |at| &lists[at]);
    let (created_offsets, created) = differences((0..FRAMES).map(|at| (of(Some(at)), of(at.checked_sub(1)))));
    let (lost_offsets, lost) = differences((0..FRAMES).map(|at| (of(at.checked_sub(1)), of(Some(at)))));
    assert!(created_offsets[2] == created_offsets[1] && created.len() > 100 && lost.len() > 100);
    for engine in ["cpu", "gpu", "brute"] {
        for (file, verify) in [("frames.npy", "--verify"), ("nested.npy", "")] {
            let report = place.run(&format!("frames {file} --engine {engine} {verify} --out events.npz"));
            let words = format!("{} pairs created, {} lost\n", created.len() / 2, lost.len() / 2);
            assert!(report.contains(&words), "{report}");
            assert_eq!(report.contains("all frames equal the differences of independent searches"), !verify.is_empty());
            let bytes = place.read("events.npz");
            let offsets = |name| {
                let bytes = named(&bytes, name);
                bytes[bytes.len() - 8 * (FRAMES + 1)..]
                    .chunks(8)
                    .map(|x| u64::from_le_bytes(x.try_into().unwrap()))
                    .collect()
            };
            assert_eq!(
                (created_offsets.clone(), lost_offsets.clone()),
                (offsets("created_offsets"), offsets("lost_offsets"))
            );
            assert_eq!(numbers::<u32>(&bytes, "created", &[created.len() as u64 / 2, 2]), created, "{engine}");
            assert_eq!(numbers::<u32>(&bytes, "lost", &[lost.len() as u64 / 2, 2]), lost, "{engine}");
        }
    }
    let object: Value = serde_json::from_str(&place.run("frames frames.npy --engine cpu --count 2 --json")).unwrap();
    let second = &object["frames"][1];
    assert_eq!(
        (object["frames"].as_array().unwrap().len(), &second["created"], &second["lost"]),
        (2, &0.into(), &0.into())
    );
    assert_eq!((&second["pairs"], &object["verified"]), (&lists[1].len().into(), &false.into()));
}

#[test]
fn a_scene_moves_by_itself_and_rest_is_not_searched() {
    let place = Place::new();
    let object: Value =
        serde_json::from_str(&place.run("frames sediment:3000 --engine cpu --count 3 --verify --json")).unwrap();
    assert_eq!((&object["frames"][0]["moved"], &object["verified"]), (&Value::Null, &true.into()));
    assert!(object["lost"].as_u64() > Some(50));
    let report = place.run("frames uniform:3000 --engine cpu --count 3");
    let rows: Vec<&str> = report.lines().skip(1).take(3).map(|row| row.split_whitespace().nth(6).unwrap()).collect();
    assert_eq!(rows, ["all", "epoch", "0"], "{report}");
    assert!(report.contains("3 of uniform:3000"), "{report}");
    let object: Value = serde_json::from_str(&place.run("frames uniform:3000 --engine cpu --count 3 --json")).unwrap();
    let last = &object["frames"][2];
    assert_eq!((&last["moved"], &last["left"], &last["searched"]), (&0.into(), &0.into(), &false.into()));
}

#[test]
fn boxes_in_every_motion_are_a_scene() {
    let place = Place::new();
    for motion in Motion::ALL {
        let arguments = format!("frames {motion}:1500 --engine cpu --count 4 --verify --json");
        let object: Value = serde_json::from_str(&place.run(&arguments)).unwrap();
        let (frames, pairs) = (object["frames"].as_array().unwrap(), object["frames"][3]["pairs"].as_u64());
        assert!(frames.len() == 4 && pairs > Some(1000) && object["verified"] == true, "{motion}: {object}");
        let boxes = motion.boxes(1500, Motion::DENSITY, 1, 3);
        assert_eq!(pairs, Some(brute_force::find_pairs(&boxes).len() as u64), "{motion}");
    }
}

#[test]
fn what_are_no_frames_is_refused_in_a_line() {
    let place = Place::new();
    place.write("flat.npy", &array(&[2, 6], &[0.0f32; 12]));
    place.write("none.npy", &array::<f32>(&[9, 0, 6], &[]));
    let mut short = array(&[2, 1, 6], &[0.0f32; 12]);
    short.truncate(short.len() - 4);
    place.write("short.npy", &short);
    let fortran = crate::commands::header("<f4", "True", "(2, 1, 6)");
    place.write("fortran.npy", &crate::commands::npy(&fortran, &[0; 48]));
    for (arguments, message) in [
        ("frames flat.npy", "its shape is (2, 6); frames of boxes are (f, n, 6) or (f, n, 2, 3)"),
        ("frames none.npy", "with n > 0"),
        ("frames short.npy", "cannot read short.npy: it is truncated"),
        ("frames fortran.npy", "np.ascontiguousarray"),
        ("frames missing.npy", "cannot read missing.npy"),
        ("frames Slow:7", "and the motions still, few"),
        ("frames slow:many", "\"many\" is no number of boxes"),
        ("frames clouds:7", "there is no scene called \"clouds\""),
        ("frames flat.npy --out flat.npy", "--out is the file of the frames itself"),
        ("frames flat.npy --engine cpu --adapter x", "--adapter selects a GPU"),
    ] {
        let arguments =
            if arguments.contains("--engine") { arguments.to_owned() } else { format!("{arguments} --engine cpu") };
        let error = place.fail(&arguments);
        assert!(error.contains(message), "{arguments}: {error}");
    }
    npy::read_boxes_from(&place.read("flat.npy")[..], None).unwrap();
}
