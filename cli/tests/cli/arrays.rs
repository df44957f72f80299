//! Arrays as users of NumPy have them: doubles, integers and 2D.

use broadsweep::internals::brute_force;
use broadsweep::{Aabb, Filters, Pair};
use laboratory::scenes;
use serde_json::Value;

use crate::commands::{header, npy, pairs_in};
use crate::npz::{floats, stored};
use crate::place::Place;
use crate::queries::array;

/// Returns an array of integers, or of `f8`, of this dtype.
fn typed(dtype: &str, order: &str, shape: &str, values: &[i64]) -> Vec<u8> {
    let size: usize = dtype[2..].parse().unwrap();
    let bytes = |&value: &i64| {
        let mut bytes = value.to_le_bytes()[..size].to_vec();
        if &dtype[1..] == "f8" {
            bytes = (value as f64).to_le_bytes().to_vec();
        }
        if dtype.starts_with('>') {
            bytes.reverse();
        }
        bytes
    };
    npy(&header(dtype, order, shape), &values.iter().flat_map(bytes).collect::<Vec<u8>>())
}

fn doubles(shape: &str, values: &[f64]) -> Vec<u8> {
    npy(&header("<f8", "False", shape), &values.iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>())
}

#[test]
fn integers_of_every_size_are_boxes() {
    let place = Place::new();
    let boxes = [[0, 0, 0, 2, 2, 2], [2, 2, 2, 3, 3, 3], [4, 0, 0, 5, 1, 1]].concat();
    for dtype in ["|i1", "|u1", "<i2", ">u2", "<i4", ">i4", "<u4", "<i8", ">i8", ">u8", "<f8"] {
        place.write("boxes.npy", &typed(dtype, "False", "(3, 6)", &boxes));
        place.run("pairs boxes.npy --engine cpu --verify --out pairs.npy");
        assert_eq!(pairs_in(&place.read("pairs.npy")), [Pair { a: 0, b: 1 }], "{dtype}");
    }
    // Half precision: 0 and 1, 1 and 2, 3 and 4.
    let halves = [[0; 3], [0x3c00; 3], [0x3c00; 3], [0x4000; 3], [0x4200; 3], [0x4400; 3]].concat();
    let data: Vec<u8> = halves.iter().flat_map(|half: &u16| half.to_le_bytes()).collect();
    place.write("boxes.npy", &npy(&header("<f2", "False", "(3, 6)"), &data));
    place.run("pairs boxes.npy --engine cpu --out pairs.npy");
    assert_eq!(pairs_in(&place.read("pairs.npy")), [Pair { a: 0, b: 1 }]);
}

#[test]
fn integers_that_single_precision_does_not_hold_are_rounded_outward() {
    let place = Place::new();
    // The upper bound 2^24 + 1 becomes 2^24 + 2, where the second box begins; the nearest number would be 2^24.
    let end = (1 << 24) + 1;
    let boxes = [[0, 0, 0, end, 1, 1], [end + 1, 0, 0, end + 8, 1, 1]].concat();
    for dtype in ["<i4", ">u4", "<i8", "<f8"] {
        place.write("boxes.npy", &typed(dtype, "False", "(2, 6)", &boxes));
        place.run("pairs boxes.npy --engine cpu --out pairs.npy");
        assert_eq!(pairs_in(&place.read("pairs.npy")), [Pair { a: 0, b: 1 }], "{dtype}");
    }
}

#[test]
fn integers_beyond_doubles_are_an_error_with_their_index() {
    let place = Place::new();
    let large = (1 << 53) + 1;
    for (order, shape, values, index) in [
        ("False", "(1, 6)", [0, 0, 0, 1, 1, large], "[0, 5]"),
        ("True", "(2, 2, 2)", [0, 0, 0, large, 0, 0], "[1, 1, 0]"),
    ] {
        let values: Vec<i64> = values.into_iter().chain([0, 0]).take(if order == "True" { 8 } else { 6 }).collect();
        place.write("boxes.npy", &typed("<i8", order, shape, &values));
        let line = place.fail("pairs boxes.npy --engine cpu");
        let expected = format!(
            "cannot read boxes.npy: it has integers beyond 2**53, which a double does not hold: element {index} is \
             9007199254740993; .astype(np.float64) rounds them"
        );
        assert!(line.contains(&expected), "{line}");
    }
    place.write("rays.npz", &stored(&[("rays", typed("<u8", "False", "(1, 6)", &[0, 0, 0, 1, 1, i64::MAX]))]));
    let line = place.fail("rays uniform:10 rays.npz --engine cpu");
    assert!(
        line.contains("`rays`: it has integers beyond 2**53") && line.contains("element [0, 5] is 9223372"),
        "{line}"
    );
}

#[test]
fn boxes_in_2d_are_boxes_in_the_plane_z_0() {
    let place = Place::new();
    let boxes: Vec<Aabb> = scenes::uniform(77, 3, Some(0.3))
        .iter()
        .map(|Aabb { min, max }| Aabb::new([min[0], min[1], 0.0], [max[0], max[1], 0.0]))
        .collect();
    let expected = brute_force::find_pairs(&boxes);
    let bound = |row: usize, corner: usize, axis: usize| [boxes[row].min, boxes[row].max][corner][axis];
    let rows = || 0..77;
    let in_c: Vec<f32> = rows().flat_map(|i| [0, 1, 2, 3].map(|k| bound(i, k / 2, k % 2))).collect();
    let flat: Vec<f32> =
        (0..4).flat_map(|k| rows().map(move |i| (i, k))).map(|(i, k)| bound(i, k / 2, k % 2)).collect();
    let nested: Vec<f32> =
        (0..4).flat_map(|k| rows().map(move |i| (i, k))).map(|(i, k)| bound(i, k % 2, k / 2)).collect();
    for (shape, order, values) in [
        ("(77, 4)", "False", &in_c),
        ("(77, 2, 2)", "False", &in_c),
        ("(77, 4)", "True", &flat),
        ("(77, 2, 2)", "True", &nested),
    ] {
        let data: Vec<u8> = values.iter().flat_map(|x| f64::from(*x).to_le_bytes()).collect();
        place.write("boxes.npy", &npy(&header("<f8", order, shape), &data));
        place.run("pairs boxes.npy --engine brute --out pairs.npy");
        assert_eq!(pairs_in(&place.read("pairs.npy")), expected, "{shape} {order}");
    }
    // As frames: the same boxes twice, of which the second frame has no events.
    let twice = [&in_c[..], &in_c[..]].concat();
    for shape in [&[2, 77, 4][..], &[2, 77, 2, 2]] {
        place.write("frames.npy", &array(shape, &twice));
        let report: Value = serde_json::from_str(&place.run("frames frames.npy --engine cpu --json")).unwrap();
        assert_eq!((&report["created"], &report["lost"]), (&expected.len().into(), &0.into()), "{shape:?}");
    }
}

#[test]
fn queries_in_doubles_integers_and_2d_are_those_in_single_precision() {
    let place = Place::new();
    let answers = |question: &str| {
        place.run(&format!("{question} --engine cpu --verify --out answers.npz"));
        place.read("answers.npz")
    };
    let scene = "uniform:500";
    let single = [0.1f32, 0.2, 0.3, 1.0, 0.7, 0.1, 0.45, 0.4, 0.4, -1.0, 0.0, 0.5];
    let double = [0.1f64, 0.2, 0.3, 1.0, 0.7, 0.1, 0.45, 0.4, 0.4, -1.0, 0.0, 0.5];
    place.write("single.npy", &array(&[2, 6], &single));
    place.write("double.npy", &doubles("(2, 6)", &double));
    place.write("double.npz", &stored(&[("rays", doubles("(2, 6)", &double))]));
    let expected = answers(&format!("rays {scene} single.npy --hits all"));
    for rays in ["double.npy", "double.npz"] {
        assert!(answers(&format!("rays {scene} {rays} --hits all")) == expected, "{rays}");
    }
    place.write("integers.npy", &typed("<i8", "False", "(1, 7)", &[0, 0, 0, 1, 1, 1, 3]));
    place.write("single.npy", &array(&[1, 7], &[0.0f32, 0.0, 0.0, 1.0, 1.0, 1.0, 3.0]));
    assert!(answers(&format!("rays {scene} integers.npy")) == answers(&format!("rays {scene} single.npy")));
    for (flat, deep) in [(&[0.5f32, 0.5, 1.0, 0.2][..], &[0.5f32, 0.5, 0.0, 1.0, 0.2, 0.0][..])] {
        let limits: [&[f32]; 2] = [&[], &[0.3]];
        place.write("boxes.npy", &typed("<i4", "False", "(2, 4)", &[-1, 0, 0, 1, 1, 0, 2, 1]));
        for limit in limits {
            let (flat, deep) = ([flat, limit].concat(), [deep, limit].concat());
            place.write("flat.npy", &array(&[1, flat.len() as u64], &flat));
            place.write("deep.npy", &array(&[1, deep.len() as u64], &deep));
            assert!(answers("rays boxes.npy flat.npy --hits all") == answers("rays boxes.npy deep.npy --hits all"));
        }
    }
    place.write("double.npy", &doubles("(2, 3)", &double[..6]));
    place.write("single.npy", &array(&[2, 3], &single[..6]));
    let near = |points: &str| answers(&format!("nearest {scene} {points} --k 3"));
    assert!(near("double.npy") == near("single.npy"));
    place.write("points.npz", &stored(&[("points", typed("|i1", "False", "(1, 4)", &[1, 0, 1, 9]))]));
    place.write("single.npy", &array(&[1, 4], &[1.0f32, 0.0, 1.0, 9.0]));
    assert!(near("points.npz") == near("single.npy"));
}

#[test]
fn points_and_shapes_in_2d_are_those_at_z_0() {
    let place = Place::new();
    let scene: Vec<f32> = scenes::uniform(300, 3, Some(0.3))
        .iter()
        .flat_map(|Aabb { min, max }| [min[0], min[1], max[0], max[1]])
        .collect();
    place.write("scene.npy", &array(&[300, 4], &scene));
    let answers = |question: &str| {
        let report = place.run(&format!("{question} --engine cpu --verify --out answers.npz --json"));
        let report: Value = serde_json::from_str(&report).unwrap();
        assert!(report["answers"].as_u64() > Some(0) && report["verified"] == 1, "{question}: {report}");
        place.read("answers.npz")
    };
    for (name, flat, deep) in [
        ("points", &[0.5f32, 0.25][..], &[0.5f32, 0.25, 0.0][..]),
        ("spheres", &[0.5, 0.25, 0.125], &[0.5, 0.25, 0.0, 0.125]),
        ("capsules", &[0.5, 0.25, 0.75, 0.5, 0.125], &[0.5, 0.25, 0.0, 0.75, 0.5, 0.0, 0.125]),
        (
            "oriented",
            &[0.5, 0.25, 0.25, 0.125, 0.6, 0.8, -0.8, 0.6],
            &[0.5, 0.25, 0.0, 0.25, 0.125, 0.0, 0.6, 0.8, 0.0, -0.8, 0.6, 0.0, 0.0, 0.0, 1.0],
        ),
        ("convex", &[1.0, 0.5, 0.25], &[1.0, 0.5, 0.0, 0.25]),
    ] {
        let [flat, deep] = [flat, deep].map(|row| {
            let shapes = (name, array(&[1, row.len() as u64], row));
            let arrays = [shapes, ("convex_offsets", array(&[2], &[0u32, 1]))];
            place.write("shapes.npz", &stored(if name == "convex" { &arrays } else { &arrays[..1] }));
            answers("overlaps scene.npy shapes.npz")
        });
        assert!(flat == deep, "{name}");
    }
    place.write("flat.npy", &doubles("(1, 2)", &[0.5, 0.25]));
    place.write("flat.npz", &stored(&[("points", typed("<i4", "False", "(1, 2)", &[1, 0]))]));
    for (points, deep) in [("flat.npy", [0.5, 0.25, 0.0]), ("flat.npz", [1.0, 0.0, 0.0])] {
        place.write("deep.npy", &doubles("(1, 3)", &deep));
        assert!(answers(&format!("nearest scene.npy {points} --k 4")) == answers("nearest scene.npy deep.npy --k 4"));
    }
}

#[test]
fn boxes_as_queries_are_rounded_outward() {
    let place = Place::new();
    // The box ends a hair before the first box of the scene, closer than single precision tells.
    place.write("scene.npy", &array(&[1, 6], &[1.0f32, 1.0, 1.0, 2.0, 2.0, 2.0]));
    for (shape, bounds) in [("(1, 6)", &[0.0, 0.0, 0.0, 1.0 - 1e-12, 1.0, 1.0][..]), ("(1, 4)", &[0.0, 0.0, 2.0, 2.0])]
    {
        place.write("shapes.npz", &stored(&[("boxes", doubles(shape, bounds))]));
        let report = place.run("overlaps scene.npy shapes.npz --engine cpu --verify");
        let count = if bounds.len() == 6 { "answers     1 " } else { "answers     0 " };
        assert!(report.contains(count), "{report}");
    }
}

#[test]
fn margins_are_rounded_up_and_an_owner_region_is_not_rounded() {
    let place = Place::new();
    let boxes = [Aabb::new([0.0; 3], [1.0; 3]), Aabb::new([2.0, 0.0, 0.0], [3.0, 1.0, 1.0])];
    let bounds: Vec<f32> = boxes.iter().flat_map(|aabb| aabb.min.into_iter().chain(aabb.max)).collect();
    let scene = |name, values: Vec<u8>| stored(&[("boxes", floats("(2, 6)", &bounds)), (name, values)]);
    place.write("scene.npz", &scene("margin", doubles("(2,)", &[0.1, 0.7])));
    let report: Value = serde_json::from_str(&place.run("pairs scene.npz --engine cpu --json")).unwrap();
    let largest = report["filters"]["largest_margin"].as_f64().unwrap();
    assert!(largest > 0.7 && largest < 0.700_001, "{largest}");
    place.write("scene.npz", &scene("owner", doubles("(2, 3)", &[0.0, 0.0, 0.0, 1.0, 0.1, 1.0])));
    let line = place.fail("pairs scene.npz --engine cpu");
    assert!(line.contains("`owner[1]` has 0.1, which float32 does not hold; tiles must share faces exactly"), "{line}");
    place.write("scene.npz", &scene("owner", typed("<i8", "False", "(2, 3)", &[0, 0, 0, 3, 3, 3])));
    let owner = Some(Aabb::new([0.0; 3], [3.0; 3]));
    place.run("pairs scene.npz --engine cpu --out pairs.npy");
    let filters = Filters::default().with_owner(owner);
    assert_eq!(pairs_in(&place.read("pairs.npy")), brute_force::find_filtered_pairs(&boxes, &filters));
}

#[test]
fn a_count_above_the_limit_is_named_with_the_limit_and_the_remedy() {
    let place = Place::new();
    let boxes = "boxes are too many: a call takes at most 33554432; give a smaller number";
    for (arguments, expected) in [
        ("pairs uniform:33554433 --engine cpu", format!("33554433 {boxes}")),
        ("pairs uniform:5000000000 --engine cpu", format!("5000000000 {boxes}")),
        ("pairs uniform:99999999999999999999999 --engine cpu", format!("99999999999999999999999 {boxes}")),
        ("join uniform:10 city:5000000000 --engine cpu", format!("5000000000 {boxes}")),
        ("predict uniform:5000000000", format!("5000000000 {boxes}")),
        ("frames slow:5000000000 --engine cpu", format!("5000000000 {boxes}")),
        ("frames brownian:5000000000 --engine cpu", format!("5000000000 {boxes}")),
        ("rays uniform:5000000000 camera:10 --engine cpu", format!("5000000000 {boxes}")),
        (
            "rays uniform:10 camera:99999999999999999999 --engine cpu",
            "99999999999999999999 queries are too many".into(),
        ),
        ("nearest uniform:10 points:many --engine cpu", "\"many\" is no number of queries".into()),
    ] {
        let line = place.fail(arguments);
        assert!(line.contains(&expected), "{arguments}: {line}");
    }
    let output = place.command("scene uniform --n 5000000000 --out x.npy").output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.code() == Some(2) && stderr.contains(&format!("5000000000 {boxes}")), "{stderr}");
}

#[test]
fn no_output_has_minus_zero() {
    let place = Place::new();
    let report = place.run("frames uniform:10 --count 0 --engine cpu");
    assert!(report.contains("time        0.0 ms, median of a frame 0.0 ms\n"), "{report}");
    let report = place.run("frames uniform:10 --count 0 --engine cpu --json");
    assert!(report.contains("\"seconds\":0.0"), "{report}");
    let boxes = ("boxes", floats("(2, 6)", &[0.0f32; 12]));
    place.write("scene.npz", &stored(&[boxes, ("margin", floats("(2,)", &[-0.0, -0.0]))]));
    let report = place.run("pairs scene.npz --engine cpu");
    assert!(report.contains("margins up to 0\n"), "{report}");
    for arguments in [
        "pairs uniform:0 --engine gpu",
        "pairs uniform:0 --engine gpu --json",
        "pairs scene.npz --engine cpu --json",
        "pairs uniform:3000 --engine cpu --axis principal",
        "rays uniform:0 camera:0 --engine cpu",
    ] {
        let report = place.run(arguments);
        assert!(!report.contains("-0.0") && !report.contains("-0,"), "{arguments}: {report}");
    }
}

#[test]
fn spheres_in_doubles_integers_and_2d_are_rounded_outward() {
    let place = Place::new();
    let plane = doubles("(3, 4)", &[0.0, 0.0, 2.0, 1.0, 0.5, 0.0, 4.0, 1.0, 1.5, 0.0, 9.0, 1.0]);
    let space = doubles("(3, 6)", &[0.0, 0.0, 0.0, 9.0, 1.0, 1.0].repeat(3));
    let run = |boxes: &[u8], spheres: Vec<u8>| {
        place.write("scene.npz", &stored(&[("boxes", boxes.to_vec()), ("sphere", spheres)]));
        place.run("pairs scene.npz --engine cpu --verify --out pairs.npy");
        pairs_in(&place.read("pairs.npy")).iter().map(|pair| (pair.a, pair.b)).collect::<Vec<_>>()
    };
    // The two touch; the nearest numbers of single precision are apart.
    let [first, second] = [0.1f64, 0.8];
    let part = (second - first) / 4.0;
    let far = [5.0, 0.0, 0.0, 0.0];
    let rows = [[first, 0.0, 0.0, part], [second, 0.0, 0.0, second - first - part], far];
    let nearest = rows.map(|row| row.map(|x| f64::from(x as f32)));
    assert!(nearest[1][0] - nearest[0][0] > nearest[0][3] + nearest[1][3], "the test needs other numbers");
    assert_eq!(run(&space, doubles("(3, 4)", rows.as_flattened())), [(0, 1)]);
    assert_eq!(run(&space, doubles("(3, 4)", nearest.as_flattened())), []);
    assert_eq!(run(&space, typed("<i4", "False", "(3, 4)", &[0, 0, 0, 1, 2, 0, 0, 1, 5, 0, 0, 1])), [(0, 1)]);
    assert_eq!(run(&plane, typed("<i8", "True", "(3, 3)", &[0, 2, 5, 0, 0, 0, 1, 1, 2])), [(0, 1), (1, 2)]);
    place.write("scene.npz", &stored(&[("boxes", plane), ("sphere", doubles("(3, 4)", rows.as_flattened()))]));
    let line = place.fail("pairs scene.npz --engine cpu");
    assert!(line.contains("`sphere`: its shape is (3, 4); (m, 3) is needed"), "{line}");
}
