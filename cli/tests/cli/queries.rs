//! `broadsweep rays`, `overlaps` and `nearest`: from files to files.

use std::io::Read;

use broadsweep::filter::HalfSpace;
use broadsweep::query::{Batch, NearestQuery, QueryFilters, Sphere};
use broadsweep::{Aabb, Filters, Ray, cpu};
use laboratory::scenes::Kind;
use laboratory::scenes::npy::{self, Array, Number};
use laboratory::scenes::queries::{RayKind, cubes, points};
use rawzip::ZipArchive;
use serde_json::{Value, json};

use crate::npz::stored as npz;
use crate::place::Place;

pub fn array<T: npy::Written>(shape: &[u64], numbers: &[T]) -> Vec<u8> {
    let mut bytes = Vec::new();
    npy::write_array(&mut bytes, shape, numbers).unwrap();
    bytes
}

/// Reads one array of an .npz: its shape and its bytes as `.npy`.
pub fn named(bytes: &[u8], name: &str) -> Vec<u8> {
    let archive = ZipArchive::from_slice(bytes).unwrap();
    for entry in archive.entries() {
        let entry = entry.unwrap();
        if entry.file_path().as_bytes() == format!("{name}.npy").as_bytes() {
            let mut found = Vec::new();
            let own = archive.get_entry(entry.wayfinder()).unwrap();
            own.verifying_reader(own.data()).read_to_end(&mut found).unwrap();
            return found;
        }
    }
    panic!("there is no {name}");
}

pub fn numbers<T: Number>(bytes: &[u8], name: &str, shape: &[u64]) -> Vec<T> {
    let own = named(bytes, name);
    let array = Array::open(&own[..], None).unwrap();
    assert_eq!(array.shape(), shape, "{name}");
    array.read().unwrap()
}

/// Reads u8, which scenes have nothing of.
fn offsets(bytes: &[u8], count: usize) -> Vec<u64> {
    let own = named(bytes, "offsets");
    let array = Array::open(&own[..], None).unwrap();
    assert_eq!((array.dtype(), array.shape()), ("<u8", &[count as u64][..]));
    own[own.len() - 8 * count..].chunks_exact(8).map(|x| u64::from_le_bytes(x.try_into().unwrap())).collect()
}

fn tree() -> (Vec<Aabb>, cpu::Tree) {
    let boxes = Kind::Uniform.generate(2000, 1);
    let mut tree = cpu::Tree::new();
    tree.build(&boxes).unwrap();
    (boxes, tree)
}

#[test]
#[ignore = "long"]
fn rays_give_the_hits_that_are_wanted() {
    let (place, (boxes, tree)) = (Place::new(), tree());
    let rays = RayKind::Incoherent.generate(50, 1, &boxes);
    let rows: Vec<f32> =
        rays.iter().flat_map(|ray| ray.origin.into_iter().chain(ray.direction).chain([ray.limit])).collect();
    let endless: Vec<f32> = rays.iter().flat_map(|ray| ray.origin.into_iter().chain(ray.direction)).collect();
    place.write("seven.npy", &array(&[50, 7], &rows));
    place.write("six.npy", &array(&[50, 6], &endless));
    place.write("rays.npz", &npz(&[("rays", array(&[50, 7], &rows))]));
    let expected = tree.nearest_hits(&rays).unwrap().answers;
    for rays in ["incoherent:50", "seven.npy", "six.npy", "rays.npz"] {
        for engine in ["gpu", "cpu", "brute"] {
            let text = place.run(&format!("rays uniform:2000 {rays} --engine {engine} --verify --out hits.npz --json"));
            let report: Value = serde_json::from_str(&text).unwrap();
            assert_eq!((&report["queries"], &report["boxes"]), (&json!(50), &json!(2000)));
            assert_eq!(report["verified"], json!(50));
            assert_eq!((&report["engine"], report["adapter"].is_null()), (&json!(engine), engine != "gpu"));
            let hits = place.read("hits.npz");
            assert!(numbers::<u32>(&hits, "index", &[50]).iter().eq(expected.iter().map(|hit| &hit.index)));
            assert!(numbers::<f32>(&hits, "t", &[50]).iter().eq(expected.iter().map(|hit| &hit.t)));
        }
    }
    place.run("rays uniform:2000 seven.npy --hits 3 --out hits.npz --engine cpu");
    let first = tree.first_hits(&rays, 3).unwrap();
    let index = numbers::<u32>(&place.read("hits.npz"), "index", &[50, 3]);
    for (row, hits) in index.chunks(3).zip(first.iter()) {
        assert!(row.iter().take(hits.len()).eq(hits.iter().map(|hit| &hit.index)));
        assert!(row[hits.len()..].iter().all(|&index| index == u32::MAX));
    }
    place.run("rays uniform:2000 seven.npy --hits all --out hits.npz --engine cpu");
    let all = tree.all_hits(&rays).unwrap();
    let hits = place.read("hits.npz");
    assert_eq!(offsets(&hits, 51), all.offsets);
    let count = all.answers.len() as u64;
    assert!(numbers::<u32>(&hits, "index", &[count]).iter().eq(all.answers.iter().map(|hit| &hit.index)));
    place.run("rays uniform:2000 seven.npy --hits any --out hits.npz --engine cpu");
    let any = numbers::<bool>(&place.read("hits.npz"), "hit", &[50]);
    assert_eq!(any, tree.any_hits(&rays).unwrap().answers);
}

/// Checks that all engines write the same bytes for 20 queries of 2,000 boxes, and what they report.
fn assert_engines_agree(place: &Place, question: &str) {
    for engine in ["gpu", "cpu", "brute"] {
        let text = place.run(&format!("{question} --engine {engine} --verify --out {engine}.npz --json"));
        let report: Value = serde_json::from_str(&text).unwrap();
        assert_eq!(
            (&report["queries"], &report["boxes"], &report["engine"]),
            (&json!(20), &json!(2000), &json!(engine))
        );
        assert_eq!(report["verified"], json!(20));
        assert_eq!(place.read(&format!("{engine}.npz")), place.read("gpu.npz"), "{engine}");
    }
}

#[test]
fn shapes_with_a_sphere_meet_boxes_by_theirs() {
    let place = Place::new();
    let spheres = |rows: &[f32]| ("sphere", array(&[rows.len() as u64 / 4, 4], rows));
    let boxes = [0.0f32, 0.0, 0.0, 1.0, 1.0, 1.0].repeat(3);
    let of_boxes = [0.5, 0.5, 0.5, 0.5, 9.0, 0.5, 0.5, 0.5, 0.5, 0.5, 0.5, f32::INFINITY];
    place.write("scene.npz", &npz(&[("boxes", array(&[3, 6], &boxes)), spheres(&of_boxes)]));
    let points = ("points", array(&[2, 3], &[0.5f32; 6]));
    place.write("points.npz", &npz(&[points, spheres(&[9.0, 0.5, 2.0, 1.0, 0.5, 0.5, 0.5, f32::INFINITY])]));
    for engine in ["gpu", "cpu", "brute"] {
        place.run(&format!("overlaps scene.npz points.npz --engine {engine} --verify --out touching.npz"));
        let touching = place.read("touching.npz");
        assert_eq!(offsets(&touching, 3), [0, 2, 5]);
        assert_eq!(numbers::<u32>(&touching, "index", &[5]), [1, 2, 0, 1, 2]);
    }
}

#[test]
fn shapes_give_the_boxes_that_touch_them() {
    let (place, (boxes, tree)) = (Place::new(), tree());
    let spheres: Vec<Sphere> =
        points(20, 1, &boxes).iter().map(|query| Sphere { center: query.point, radius: 0.1 }).collect();
    let rows: Vec<f32> = spheres.iter().flat_map(|sphere| sphere.center.into_iter().chain([sphere.radius])).collect();
    let ignored: Vec<u32> = (0..20).collect();
    place.write("spheres.npz", &npz(&[("spheres", array(&[20, 4], &rows)), ("ignore", array(&[20], &ignored))]));
    assert_engines_agree(&place, "overlaps uniform:2000 spheres.npz");
    let text = place.run("overlaps uniform:2000 spheres.npz --verify --out touching.npz --engine cpu");
    assert!(text.contains("20 spheres") && text.contains("all 20 spheres have the answers of brute force"), "{text}");
    let mut expected = tree.overlaps(&spheres).unwrap();
    assert!(expected.len() == 20 && expected.report.answer_count > 100);
    let touching = place.read("touching.npz");
    let ends = offsets(&touching, 21);
    let index = numbers::<u32>(&touching, "index", &[ends[20]]);
    for i in 0..20 {
        let row: Vec<u32> = expected[i].iter().copied().filter(|&j| j as usize != i).collect();
        assert_eq!(index[ends[i] as usize..ends[i + 1] as usize], row);
    }
    place.run("overlaps uniform:2000 cubes:30 --verify --out touching.npz --engine cpu");
    expected = tree.overlaps(&cubes(30, 1, &boxes, 10.0)).unwrap();
    assert_eq!(offsets(&place.read("touching.npz"), 31), expected.offsets);
    for (name, row) in [
        ("points", vec![0.5; 3]),
        ("boxes", vec![0.4, 0.4, 0.4, 0.6, 0.6, 0.6]),
        ("capsules", vec![0.4, 0.4, 0.4, 0.6, 0.6, 0.6, 0.1]),
        ("oriented", [[0.5; 6].to_vec(), vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 1.0]].concat()),
    ] {
        let row: Vec<f32> = row;
        place.write("shapes.npz", &npz(&[(name, array(&[1, row.len() as u64], &row))]));
        assert!(place.run("overlaps uniform:2000 shapes.npz --verify --engine cpu").contains("all 1 "), "{name}");
    }
    let planes = [1.0f32, 0.0, 0.0, 0.5, 0.0, 1.0, 1.0, 0.7];
    let convex = |offsets: &[u32]| {
        let offsets = array(&[offsets.len() as u64], offsets);
        npz(&[("convex", array(&[2, 4], &planes)), ("convex_offsets", offsets)])
    };
    place.write("shapes.npz", &convex(&[0, 2, 2]));
    let text = place.run("overlaps uniform:2000 shapes.npz --verify --engine cpu");
    assert!(text.contains("all 2 convex shapes"), "{text}");
    for wrong in [&[0, 1][..], &[1, 2], &[0, 2, 1], &[]] {
        place.write("shapes.npz", &convex(wrong));
        assert!(
            place
                .fail("overlaps uniform:2000 shapes.npz --engine cpu")
                .contains("`convex_offsets` must ascend from 0 to 2")
        );
    }
}

#[test]
fn points_give_the_nearest_boxes() {
    let (place, (boxes, tree)) = (Place::new(), tree());
    let asked = points(20, 1, &boxes);
    let near = tree.nearest(&asked, 2).unwrap();
    for k in [2, 2001] {
        place.run(&format!("nearest uniform:2000 points:20 --k {k} --verify --out near.npz --engine cpu"));
        let file = place.read("near.npz");
        let index = numbers::<u32>(&file, "index", &[20, k]);
        let square = numbers::<f32>(&file, "squared_distance", &[20, k]);
        for (i, row) in near.iter().enumerate() {
            let at = i * k as usize;
            assert_eq!((index[at], square[at + 1]), (row[0].index, row[1].squared_distance));
            assert!(k == 2 || index[at + 2000] == u32::MAX && square[at + 2000] == f32::INFINITY);
        }
    }
    let rows: Vec<f32> = asked.iter().flat_map(|query| query.point.into_iter().chain([0.01])).collect();
    place.write("points.npy", &array(&[20, 4], &rows));
    assert_engines_agree(&place, "nearest uniform:2000 points.npy --k 3");
    place.run("nearest uniform:2000 points.npy --verify --out near.npz --engine cpu");
    let within: Vec<_> = asked.iter().map(|query| NearestQuery { radius: 0.01, ..*query }).collect();
    let found = tree.nearest(&within, 1).unwrap().report.answer_count;
    let index = numbers::<u32>(&place.read("near.npz"), "index", &[20, 1]);
    assert_eq!(index.iter().filter(|&&index| index != u32::MAX).count() as u64, found);
}

#[test]
fn half_spaces_of_a_scene_are_answered_as_boxes() {
    let (place, boxes) = (Place::new(), Kind::Uniform.generate(2000, 1));
    let half_space = |index, normal, offset| HalfSpace { index, normal, offset };
    let (floor, slope) = (half_space(3, [0.0, 0.0, 1.0], 0.125), half_space(1500, [1.0, 0.5, 0.0], 0.25));
    let rows: Vec<f32> = boxes.iter().flat_map(|aabb| aabb.min.into_iter().chain(aabb.max)).collect();
    let planes: Vec<f32> =
        [floor, slope].iter().flat_map(|plane| plane.normal.into_iter().chain([plane.offset])).collect();
    place.write(
        "scene.npz",
        &npz(&[
            ("boxes", array(&[2000, 6], &rows)),
            ("half_space", array(&[2, 4], &planes)),
            ("half_space_box", array(&[2], &[3u32, 1500])),
        ]),
    );
    for question in [
        "rays scene.npz incoherent:20",
        "rays scene.npz incoherent:20 --hits any",
        "rays scene.npz incoherent:20 --hits 3",
        "rays scene.npz incoherent:20 --hits all",
        "overlaps scene.npz cubes:20",
        "nearest scene.npz points:20 --k 3",
    ] {
        assert_engines_agree(&place, question);
    }
    let mut tree = cpu::Tree::new();
    tree.set_filters(Filters::default().with_half_spaces(vec![floor, slope])).unwrap();
    tree.build(&boxes).unwrap();
    let expected = tree.all_hits(&RayKind::Incoherent.generate(20, 1, &boxes)).unwrap();
    let hit_counts = [3, 1500].map(|index| expected.answers.iter().filter(|hit| hit.index == index).count());
    assert!(hit_counts.iter().all(|&count| 0 < count && count < 20), "{hit_counts:?}");
    place.run("rays scene.npz incoherent:20 --hits all --engine cpu --out hits.npz");
    let hits = place.read("hits.npz");
    assert_eq!(offsets(&hits, 21), expected.offsets);
    let index = numbers::<u32>(&hits, "index", &[expected.answers.len() as u64]);
    assert!(index.iter().eq(expected.answers.iter().map(|hit| &hit.index)));
}

#[test]
fn rays_leave_out_the_boxes_that_they_separate_from_at_the_start() {
    let (place, (boxes, tree)) = (Place::new(), tree());
    let rays: Vec<Ray> = boxes.iter().step_by(100).map(|aabb| Ray::new(aabb.max, [1.0, 0.5, 0.25])).collect();
    let rows: Vec<f32> = rays.iter().flat_map(|ray| ray.origin.into_iter().chain(ray.direction)).collect();
    place.write("rays.npy", &array(&[20, 6], &rows));
    place.write("rays.npz", &npz(&[("rays", array(&[20, 6], &rows)), ("ignore", array(&[20], &[7u32; 20]))]));
    let filters = QueryFilters::default().with_skips_separating(true);
    let expected = tree.all_hits(Batch::new(&rays).with_filters(&filters)).unwrap();
    let with_start = tree.all_hits(&rays).unwrap();
    assert!(
        expected.iter().zip(with_start.iter()).all(|(own, all)| own.len() < all.len()) && !expected.answers.is_empty()
    );
    for question in ["rays.npz", "rays.npy --hits any", "rays.npy --hits 3", "rays.npz --hits all"] {
        assert_engines_agree(&place, &format!("rays uniform:2000 --skips-separating {question}"));
    }
    place.run("rays uniform:2000 rays.npy --skips-separating --hits all --engine cpu --out hits.npz");
    let hits = place.read("hits.npz");
    assert_eq!(offsets(&hits, 21), expected.offsets);
    let index = numbers::<u32>(&hits, "index", &[expected.answers.len() as u64]);
    assert!(index.iter().eq(expected.answers.iter().map(|hit| &hit.index)));
}

#[test]
fn queries_and_boxes_without_meaning_are_named() {
    let place = Place::new();
    let mut rays = [Ray::new([0.0; 3], [1.0; 3]); 4];
    rays[2].direction[1] = f32::NAN;
    let rows: Vec<f32> = rays.iter().flat_map(|ray| ray.origin.into_iter().chain(ray.direction)).collect();
    place.write("rays.npy", &array(&[4, 6], &rows));
    let text = place.run("rays invalid:100 rays.npy --verify --engine cpu");
    assert!(text.contains("1 rays are invalid: 2"), "{text}");
    assert!(text.lines().any(|line| line.starts_with("invalid")), "{text}");
    let empty = place.run("rays uniform:0 rays.npy --verify --engine cpu");
    assert!(empty.contains("answers     0"), "{empty}");
}

#[test]
fn invalid_queries_are_refused_in_a_line() {
    let place = Place::new();
    place.write("rows.npy", &array(&[2, 3], &[0.0f32; 6]));
    place.write("truths.npy", &array(&[2, 6], &[true; 12]));
    place.write("boxes.npy", &array(&[2, 6], &[0.0f32; 12]));
    place
        .write("two.npz", &npz(&[("points", array(&[1, 3], &[0.0f32; 3])), ("spheres", array(&[1, 4], &[0.0f32; 4]))]));
    place.write("rays.npz", &npz(&[("rays", array(&[2, 6], &[0.0f32; 12])), ("world", array(&[1], &[0u32]))]));
    let tile = [("boxes", array(&[2, 6], &[0.0f32; 12])), ("owner", array(&[2, 3], &[0.0f32; 6]))];
    place.write("tile.npz", &npz(&tile));
    for (arguments, part) in [
        ("rays boxes.npy rows.npy --engine cpu", "its shape is (2, 3); (m, 4) or (m, 5) or (m, 6) or (m, 7) is needed"),
        ("rays boxes.npy truths.npy --engine cpu", "its dtype is \"|b1\"; floats or integers are needed"),
        ("rays boxes.npy missing.npy --engine cpu", "missing.npy"),
        ("rays boxes.npy rays.npz --engine cpu", "`world`: its shape is (1,); (2,) is needed, a number for each query"),
        ("rays boxes.npy lasers:10 --engine cpu", "there are no rays `lasers`"),
        ("rays tile.npz camera:10 --engine cpu", "owner region"),
        ("rays boxes.npy boxes.npy --out boxes.npy --engine cpu", "--out is the scene itself"),
        ("rays boxes.npy camera:4611686018427387904 --engine cpu", "there is no memory for 4,611,686,018,427,387,904"),
        ("rays boxes.npy boxes.npy --hits 18446744073709551615 --out hits.npz --engine cpu", "there is no memory"),
        ("nearest boxes.npy points:2 --k 9223372036854775807 --out near.npz --engine cpu", "there is no memory"),
        ("nearest boxes.npy points:2 --k 0 --engine cpu", "k is 0; it must be at least 1"),
        ("overlaps boxes.npy two.npz --engine cpu", "it needs exactly one of points, boxes, spheres"),
        ("overlaps boxes.npy rays.npz --engine cpu", "unknown array, \"rays\""),
        ("nearest boxes.npy boxes.npy --engine cpu", "(m, 2) or (m, 3) or (m, 4) is needed"),
    ] {
        let line = place.fail(arguments);
        assert!(line.contains(part), "{arguments}: {line}");
    }
    let wrong = place.command("rays boxes.npy camera:10 --hits most --engine cpu").output().unwrap();
    assert_eq!(wrong.status.code(), Some(2));
}

#[test]
fn both_engines_write_the_same_bytes() {
    let place = Place::new();
    for asked in [
        "rays clusters:3000 incoherent:2000 --hits nearest",
        "rays clusters:3000 short:2000 --hits all",
        "rays clusters:3000 camera:2000 --hits any",
        "rays clusters:3000 incoherent:200 --hits 4",
        "overlaps clusters:3000 cubes:500",
        "nearest clusters:3000 points:500 --k 7",
    ] {
        let written = ["gpu", "cpu"].map(|engine| {
            place.run(&format!("{asked} --engine {engine} --out answers.npz"));
            place.read("answers.npz")
        });
        assert!(written[0] == written[1], "{asked}");
    }
}

#[test]
#[ignore = "long"]
fn real_scenes_answer_as_by_brute_force() {
    let place = Place::new();
    // Some of the recording; others may stand beside the project.
    let recorded = ["humanoid_CMU", "humanoids-10", "pairs", "pile-300", "sleepers"]
        .map(|name| format!("tests/data/mujoco/{name}.npz"));
    let others = [
        "cloth-ball.faces.npy",
        "cloth-funnel.edges.npy",
        "mujoco-100-humanoids.npz",
        "mujoco-dog.npz",
        "mujoco-pile-10000.npz",
    ];
    let scenes = recorded.into_iter().chain(others.map(|name| format!("../../shared/data/{name}")));
    let scenes = scenes.map(|name| format!("{}/{name}", env!("CARGO_MANIFEST_DIR")));
    let mut answered = 0;
    for scene in scenes.filter(|scene| std::path::Path::new(scene).exists()) {
        for question in [
            format!("rays {scene} incoherent:60 --hits all"),
            format!("rays {scene} camera:60"),
            format!("overlaps {scene} cubes:60"),
            format!("nearest {scene} points:60 --k 5"),
        ] {
            for engine in ["gpu", "cpu"] {
                let text = place.run(&format!("{question} --engine {engine} --verify --json"));
                let report: Value = serde_json::from_str(&text).unwrap();
                assert_eq!(report["verified"], json!(60), "{question}");
                answered += 1;
            }
        }
    }
    assert!(answered >= 40, "{answered}");
}
