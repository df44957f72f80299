//! `broadsweep join`: the pairs between two files of boxes.

use broadsweep::{Options, PairOrder, cpu};
use laboratory::scenes::Kind;
use laboratory::scenes::npy;
use serde_json::Value;

use crate::commands::pairs_in;
use crate::npz::stored;
use crate::place::Place;

#[test]
fn every_engine_finds_the_same_pairs_between_two_sets() {
    let place = Place::new();
    let (first, second) = (Kind::Uniform.generate(3000, 1), Kind::Uniform.generate(1000, 2));
    for (name, boxes) in [("a.npy", &first), ("b.npy", &second)] {
        let mut bytes = Vec::new();
        npy::write_boxes(&mut bytes, boxes).unwrap();
        place.write(name, &bytes);
    }
    let options = Options::default().with_order(PairOrder::Canonical);
    let mut engine = cpu::BroadPhase::new(options).unwrap();
    let expected = engine.find_pairs_between(&first, &second).unwrap().pairs.clone();
    assert!(expected.len() > 500 && expected.is_sorted());
    for engine in ["gpu", "cpu", "brute"] {
        for verify in if engine == "brute" { &[""][..] } else { &["", "--verify"] } {
            let report = place.run(&format!("join a.npy b.npy --engine {engine} {verify} --out pairs.npy"));
            assert_eq!(pairs_in(&place.read("pairs.npy")), expected, "{engine} {verify}");
            assert!(report.contains("filters     two sets, the second of 1,000 boxes\n"), "{report}");
            let tells =
                report.contains("method      tree join: a tree of one set, queried with the boxes of the other\n");
            assert_eq!((tells, report.contains("axis")), (engine == "cpu", engine == "gpu"), "{report}");
        }
    }
    let object: Value = serde_json::from_str(&place.run("join a.npy uniform:1000 --engine cpu --json")).unwrap();
    assert_eq!((&object["boxes"], &object["filters"]["second"]), (&4000.into(), &1000.into()));
    let report = &object["report"];
    assert_eq!((&report["tree_join"], &report["axis"], &report["entries"]), (&true.into(), &Value::Null, &0.into()));
    let object: Value = serde_json::from_str(&place.run("pairs a.npy --engine cpu --json")).unwrap();
    assert_eq!(object["report"]["tree_join"], Value::from(false));
}

#[test]
fn what_is_no_set_is_refused() {
    let place = Place::new();
    let mut boxes = Vec::new();
    npy::write_boxes(&mut boxes, &Kind::Uniform.generate(3, 1)).unwrap();
    place.write("a.npy", &boxes);
    let group = {
        let mut bytes = Vec::new();
        npy::write_array(&mut bytes, &[3], &[1u32, 2, 3]).unwrap();
        bytes
    };
    place.write("filtered.npz", &stored(&[("boxes", boxes), ("group", group)]));
    for (arguments, message) in [
        ("join a.npy filtered.npz", "filtered.npz has filters, which a join does not take"),
        ("join a.npy a.npy --out a.npy", "--out is one of the sets itself"),
        ("join - -", "only one of the sets can be stdin"),
        ("join a.npy none.npy", "none.npy"),
        ("join a.npy a.npy --engine cpu --adapter x", "--adapter selects a GPU, which --engine cpu does not use"),
        ("join a.npy a.npy --engine cpu --memory-budget 1G", "--memory-budget is for GPU memory"),
    ] {
        let error = place.fail(arguments);
        assert!(error.contains(message), "{arguments}: {error}");
    }
}
