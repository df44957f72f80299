//! Recorded searches of points and spheres, against integers of any length.

use crate::common::device::{encoder, read, run, upload};
use crate::common::*;
use broadsweep::filter::HalfSpace;
use broadsweep::internals::mirror;
use broadsweep::record::{GpuAttribute, GpuCount, GpuInput};
use broadsweep::wgpu;
use broadsweep::{Aabb, Error, Filters, Options, Pair, PairOrder, Recorder};
use num_bigint::BigInt;

/// Returns a finite number in units of 2⁻¹⁴⁹.
fn exact(x: f32) -> BigInt {
    let (bits, stored) = (x.to_bits(), x.to_bits() >> 23 & 0xff);
    let fraction = bits & 0x7f_ffff;
    let magnitude = if stored == 0 { BigInt::from(fraction) } else { BigInt::from(fraction | 1 << 23) << (stored - 1) };
    if x < 0.0 { -magnitude } else { magnitude }
}

/// Finds the pairs by the definition: within a distance, or by the radii of the points.
fn brute_force(points: &[[f32; 4]], distance: Option<f32>) -> Vec<Pair> {
    let is_valid = |&[x, y, z, radius]: &[f32; 4]| {
        [x, y, z].iter().all(|c| c.is_finite()) && (distance.is_some() || radius >= 0.0 && radius.is_finite())
    };
    let touch = |a: &[f32; 4], b: &[f32; 4]| {
        let square: BigInt = (0..3).map(|k| exact(a[k]) - exact(b[k])).map(|along| &along * &along).sum();
        let reach = distance.map_or_else(|| exact(a[3]) + exact(b[3]), exact);
        square <= &reach * &reach
    };
    let valid: Vec<usize> = (0..points.len()).filter(|&i| is_valid(&points[i])).collect();
    let pairs = valid.iter().enumerate().flat_map(|(at, &a)| valid[at + 1..].iter().map(move |&b| (a, b)));
    pairs.filter(|&(a, b)| touch(&points[a], &points[b])).map(|(a, b)| Pair::new(a as u32, b as u32)).collect()
}

/// Binds points or spheres.
fn input(buffer: &wgpu::Buffer, distance: Option<f32>) -> GpuInput<'_> {
    match distance {
        Some(distance) => GpuInput::Points { points: buffer.slice(..), distance },
        None => GpuInput::Spheres(buffer.slice(..)),
    }
}

/// Records a search, and checks its pairs.
fn check(recorder: &mut Recorder, points: &[[f32; 4]], distance: Option<f32>) -> usize {
    let buffer = upload(points);
    let mut encoder = encoder();
    let left = recorder.record(&mut encoder, input(&buffer, distance), points.len() as u32).unwrap();
    let (header, pairs) = run(encoder, left);
    assert_eq!(header.overflow, 0);
    let expected = brute_force(points, distance);
    assert_pairs(&sorted(&pairs), &expected, &format!("{distance:?} of {points:?}"));
    expected.len()
}

/// Generates points on a lattice, many of which touch, some by a unit in the last place more or less.
fn lattice(random: &mut Random, n: usize, offset: f32, scale: f32) -> Vec<[f32; 4]> {
    let nudged = |x: f32, random: &mut Random| match random.below(6) {
        0 => x.next_up(),
        1 => x.next_down(),
        _ => x,
    };
    let point = |random: &mut Random| {
        let [x, y, z] = [(); 3].map(|()| scale * (offset + random.below(7) as f32));
        let radius = scale * [0.0, 0.5, 1.0, 1.5, 2.0][random.below(5)];
        [x, y, nudged(z, random), nudged(radius, random).abs()]
    };
    (0..n).map(|_| point(random)).collect()
}

/// Every two points, and the whole flow in both orders.
const WAYS: [Options; 3] = [ALL_PAIRS, CANONICAL, SWEEP];

#[test]
fn recorded_points_and_spheres_have_the_pairs_of_exact_arithmetic() {
    let mut random = Random(5);
    let mut pair_count = 0;
    for options in WAYS {
        let mut recorder = recorder(options);
        recorder.reserve(64, 4096).unwrap();
        // About the origin, far from it, among subnormal numbers, and where squares overflow.
        for (offset, scale) in [(-3.0, 1.0), (4_194_304.0, 1.0), (-2.0, 1e-44), (1.0, 1e37), (-3.0, 0.1)] {
            for n in [0, 1, 2, 60] {
                let mut points = lattice(&mut random, n, offset, scale);
                pair_count += check(&mut recorder, &points, None);
                for distance in [0.0, -0.0, scale, 3.0 * scale, 5.0 * scale] {
                    // Half of it is one too.
                    pair_count += check(&mut recorder, &points, Some(2.0 * (0.5 * distance)));
                }
                for (i, bad) in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -1.0].into_iter().enumerate() {
                    if let Some(point) = points.get_mut(7 * i) {
                        point[if i == 3 { 3 } else { i }] = bad;
                    }
                    if let Some(point) = points.get_mut(7 * i + 1) {
                        point[3] = bad;
                    }
                }
                pair_count += check(&mut recorder, &points, None);
                // Their radius does not count.
                pair_count += check(&mut recorder, &points, Some(2.0 * scale));
                pair_count += check(&mut recorder, &points, Some(-0.0));
            }
        }
    }
    assert!(pair_count > 10_000, "{pair_count}");
}

#[test]
fn neighbours_of_recorded_points_have_both_directions() {
    let points = lattice(&mut Random(6), 300, 0.0, 1.0);
    let buffer = upload(&points);
    for options in [CANONICAL, SWEEP] {
        let mut recorder = recorder(options);
        recorder.reserve(300, 50_000).unwrap();
        let mut encoder = encoder();
        recorder.record(&mut encoder, input(&buffer, Some(2.0)), 300).unwrap();
        let left = recorder.record_neighbours(&mut encoder).unwrap();
        let [offsets, neighbours] = read::<u32, 2>(encoder, [left.offsets, left.neighbours]);
        let pairs = brute_force(&points, Some(2.0));
        let (expected_offsets, expected) = mirror::neighbours::neighbours(&pairs, 300);
        assert_eq!(offsets[..301], expected_offsets);
        assert!(neighbours[..expected.len()] == expected && !expected.is_empty());
    }
}

#[test]
fn filters_select_pairs_of_points_also_where_they_come_from_the_device() {
    let n = 200;
    let points = lattice(&mut Random(7), n, 0.0, 1.0);
    let buffer = upload(&points);
    let all = brute_force(&points, None);
    let world = |i: u32| i % 3;
    let other = |i: u32| i % 4;
    for options in WAYS {
        let mut recorder = recorder(options);
        recorder.reserve(n, 20_000).unwrap();
        let find = |recorder: &mut Recorder, changed: Option<&wgpu::Buffer>| {
            let mut encoder = encoder();
            if let Some(worlds) = changed {
                recorder.record_filters(&mut encoder, 0..n as u32, GpuAttribute::World(worlds.slice(..))).unwrap();
            }
            let left = recorder.record(&mut encoder, input(&buffer, None), n as u32).unwrap();
            sorted(&run(encoder, left).1)
        };
        let of = |keeps: &dyn Fn(&Pair) -> bool| all.iter().copied().filter(keeps).collect::<Vec<_>>();
        assert_pairs(&find(&mut recorder, None), &all, "no filters");
        let filters = Filters::default()
            .with_world((0..n as u32).map(world).collect())
            .with_sleeping((0..n).map(|i| i < 50).collect())
            .with_exclude(vec![all[3]]);
        recorder.set_filters(filters).unwrap();
        let keeps = |pair: &Pair, world: fn(u32) -> u32| {
            world(pair.a) == world(pair.b) && !(pair.a < 50 && pair.b < 50) && *pair != all[3]
        };
        assert_pairs(&find(&mut recorder, None), &of(&|pair| keeps(pair, world)), "host");
        let worlds = upload(&(0..n as u32).map(other).collect::<Vec<_>>());
        assert_pairs(&find(&mut recorder, Some(&worlds)), &of(&|pair| keeps(pair, other)), "device");
        assert_pairs(&find(&mut recorder, None), &of(&|pair| keeps(pair, other)), "still there");
    }
}

#[test]
fn points_behind_a_number_in_a_buffer_are_not_there() {
    let points = lattice(&mut Random(8), 300, 0.0, 1.0);
    let buffer = upload(&points);
    let mut recorder = recorder(CANONICAL);
    recorder.reserve(300, 50_000).unwrap();
    for n in [0, 1, 257, 300] {
        let count = upload(&[n as u32]);
        let count = GpuCount::Stored { count: count.slice(..), at_most: 300 };
        let mut encoder = encoder();
        let left = recorder.record(&mut encoder, input(&buffer, None), count).unwrap();
        assert_pairs(&run(encoder, left).1, &brute_force(&points[..n], None), "counted");
    }
}

#[test]
fn boxes_and_points_take_turns_and_a_window_needs_the_input_of_its_list() {
    let points = lattice(&mut Random(9), 400, 0.0, 1.0);
    let boxes: Vec<Aabb> = points.iter().map(|&[x, y, z, _]| Aabb::new([x, y, z], [x + 0.5; 3])).collect();
    let (point_buffer, box_buffer) = (upload(&points), upload(&boxes));
    let mut recorder = recorder(CANONICAL);
    let expected = brute_force(&points, Some(4.0));
    assert!(expected.len() > 4096);
    for _ in 0..2 {
        let mut recorded = encoder();
        let left = recorder.record(&mut recorded, box_buffer.slice(..), 400).unwrap();
        let of_boxes = broadsweep::internals::brute_force::find_pairs(&boxes);
        assert_pairs(&run(recorded, left).1, &of_boxes, "boxes");
        let points = input(&point_buffer, Some(4.0));
        assert_eq!(
            recorder.record_window(&mut encoder(), points, 400, 0, 100).unwrap_err(),
            Error::NothingRecorded,
            "the list has pairs of boxes"
        );
        recorder.record(&mut encoder(), points, 400).unwrap();
        let of_other = recorder.record_window(&mut encoder(), box_buffer.slice(..), 400, 0, 100);
        assert_eq!(of_other.unwrap_err(), Error::NothingRecorded);
        // The list is too short at first; a longer one has all.
        let mut recorded = encoder();
        recorder.record(&mut recorded, points, 400).unwrap();
        let left = recorder.record_window(&mut recorded, points, 400, 0, expected.len() as u32).unwrap();
        assert_pairs(&run(recorded, left).1, &expected, "window");
    }
}

#[test]
fn points_without_meaning_are_refused_by_name() {
    let buffer = upload(&[[0.0f32; 4]; 10]);
    let mut recorder = recorder(CANONICAL);
    for distance in [-1.0, f32::NAN, f32::INFINITY, f32::from_bits(1), f32::from_bits(0x7f_ffff)] {
        let error = recorder.record(&mut encoder(), input(&buffer, Some(distance)), 10).unwrap_err();
        assert!(matches!(error, Error::BadOption { option: "distance", .. }), "{distance}: {error}");
    }
    for distance in [0.0, -0.0, f32::from_bits(2), f32::MIN_POSITIVE, f32::MAX] {
        recorder.record(&mut encoder(), input(&buffer, Some(distance)), 10).unwrap();
    }
    for (distance, name) in [(Some(1.0), "point"), (None, "sphere")] {
        let error = recorder.record(&mut encoder(), input(&buffer, distance), 11).unwrap_err();
        assert!(matches!(error, Error::BadBuffer { buffer, .. } if buffer == name), "{error}");
    }
    let half_space = HalfSpace { index: 1, normal: [0.0, 0.0, 1.0], offset: 0.0 };
    for (filters, name) in [
        (Filters::default().with_margin(vec![0.0; 10]), "margin"),
        (Filters::default().with_sphere(vec![[0.0; 4]; 10]), "sphere"),
        (Filters::default().with_half_spaces(vec![half_space]), "half_spaces"),
    ] {
        recorder.set_filters(filters).unwrap();
        let error = recorder.record(&mut encoder(), input(&buffer, None), 10).unwrap_err();
        let text = format!("`{name}` is set; it must be empty, since the input is points or spheres");
        assert_eq!(error.to_string(), text);
    }
}

#[test]
fn buffers_for_points_keep_to_the_budget() {
    let n = 3000;
    let points = lattice(&mut Random(10), n, 0.0, 1e6);
    let boxes = vec![Aabb::new([0.0; 3], [0.0; 3]); n];
    let budget = least_budget(&boxes, PairOrder::Canonical);
    let buffer = upload(&points);
    let mut recorder = recorder(CANONICAL.with_memory_budget(Some(budget)));
    let error = recorder.record(&mut encoder(), input(&buffer, None), n as u32).unwrap_err();
    let Error::OverBudget { required, .. } = error else { panic!("{error}") };
    assert!(required > budget);
    recorder.set_options(CANONICAL.with_memory_budget(Some(required))).unwrap();
    for _ in 0..2 {
        recorder.record(&mut encoder(), input(&buffer, None), n as u32).unwrap();
        let held: u64 = recorder.buffers().iter().map(|(_, bytes)| bytes).sum();
        assert!(held <= required, "{held} of {required}");
    }
}
