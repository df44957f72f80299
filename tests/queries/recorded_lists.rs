//! Lists of answers that stay on the device: windows of lists of any length, and queries that take more rounds.

use broadsweep::query::{Near, NearestQuery, Sphere};
use broadsweep::record::{GpuAnswers, GpuBatch, GpuLists};
use broadsweep::{Aabb, Gpu, Lists, Ray, TreeRecorder, cpu, wgpu};
use laboratory::scenes::Kind;
use laboratory::scenes::queries::{RayKind, cubes};

use super::answers::{Listed, MISS, Rows, built};
use crate::common::GPU;
use crate::common::device::{encoder, upload};

/// Returns query and index of each answer.
fn in_one_list<T>(lists: &Lists<T>, index: impl Fn(&T) -> u32) -> Vec<[u32; 2]> {
    let index = &index;
    lists.iter().enumerate().flat_map(|(i, row)| row.iter().map(move |answer| [i as u32, index(answer)])).collect()
}

#[test]
fn a_list_that_is_too_short_reports_all_lengths_and_comes_in_windows() {
    assert_windows_of(GPU.clone(), 16, 300);
    // Of queries that many dispatches go on with.
    assert_windows_of(GPU.clone().with_turns(150), 60, 300);
}

/// More queries than share invocations. Some lists are longer than those that are retained while they are counted.
const ALONE: usize = 17_000;

#[test]
#[ignore = "long"]
fn lists_of_many_queries_come_in_windows() {
    assert_windows_of(GPU.clone(), 16, ALONE);
    assert_windows_of(GPU.clone().with_turns(150), 60, ALONE);
}

#[test]
#[ignore = "long"]
fn lists_of_many_queries_are_those_of_the_cpu() {
    let boxes = Kind::Uniform.generate(3_000, 3);
    let rays = RayKind::Camera.generate(ALONE, 7, &boxes);
    let shapes = cubes(ALONE, 7, &boxes, 20.0);
    let spheres: Vec<Sphere> =
        shapes.iter().map(|aabb| Sphere { center: aabb.min, radius: aabb.max[0] - aabb.min[0] }).collect();
    let mut on_cpu = cpu::Tree::new();
    on_cpu.build(&boxes).unwrap();
    for gpu in [GPU.clone(), GPU.clone().with_turns(150)] {
        let mut tree = built(&gpu, &boxes);
        assert!(tree.tree_mut().all_hits(&rays).unwrap() == on_cpu.all_hits(&rays).unwrap());
        assert!(tree.tree_mut().overlaps(&shapes).unwrap() == on_cpu.overlaps(&shapes).unwrap());
        let found = tree.tree_mut().overlaps(&spheres).unwrap();
        assert!(found == on_cpu.overlaps(&spheres).unwrap());
        assert!(found.iter().any(|row| row.len() > 32) && found.iter().any(|row| row.len() < 32));
    }
}

fn assert_windows_of(gpu: Gpu, rounds: u32, count: usize) {
    let boxes = Kind::Uniform.generate(3_000, 3);
    let shapes = cubes(count, 7, &boxes, 20.0);
    let mut tree = built(&gpu, &boxes);
    let expected = tree.tree_mut().overlaps(&shapes).unwrap();
    let mut pairs = in_one_list(&expected, |&index| index);
    let total = pairs.len() as u64;
    assert!(total > 4_000);
    let capacity = total as u32 / 4;
    let queries = upload(&shapes);
    let batch = GpuBatch::<Aabb>::new(queries.slice(..), count as u32).with_rounds(rounds);
    let mut found: Vec<[u32; 2]> = Vec::new();
    for first in (0..total + 2 * u64::from(capacity)).step_by(capacity as usize) {
        let mut encoder = encoder();
        let left = tree.record_overlaps(&mut encoder, batch, first, capacity).unwrap();
        let listed = Listed::of(&mut encoder, &left, count);
        GPU.queue().submit([encoder.finish()]);
        let header = listed.header();
        let written = total.saturating_sub(first).min(capacity.into());
        assert_eq!([header.count, header.capacity, header.overflow], [total as u32, capacity, 1]);
        assert_eq!(u64::from(header.written), written);
        assert_eq!(listed.offsets.read::<u64>(), expected.offsets);
        let own = &listed.answers.read::<[u32; 2]>()[..written as usize];
        assert!(own.is_sorted());
        found.extend(own);
    }
    found.sort_unstable();
    pairs.sort_unstable();
    assert_eq!(found, pairs);
    // Enough capacity, and a window far behind the end.
    for (first, written) in [(0, total), (1 << 40, 0)] {
        let mut encoder = encoder();
        let left = tree.record_overlaps(&mut encoder, batch, first, 1 << 20).unwrap();
        let listed = Listed::of(&mut encoder, &left, count);
        GPU.queue().submit([encoder.finish()]);
        assert_eq!(u64::from(listed.header().written), written);
        assert_eq!(listed.header().overflow, u32::from(written < total));
    }
}

/// Records lists by windows of this many answers, and returns each window.
fn windows(
    tree: &mut TreeRecorder,
    (total, capacity, queries): (usize, usize, usize),
    record: impl for<'a> Fn(&'a mut TreeRecorder, &mut wgpu::CommandEncoder, u64, u32) -> GpuLists<'a>,
) -> Vec<Vec<[u32; 2]>> {
    let window = |first: usize| {
        let mut encoder = encoder();
        let left = record(tree, &mut encoder, first as u64, capacity as u32);
        let listed = Listed::of(&mut encoder, &left, queries);
        GPU.queue().submit([encoder.finish()]);
        assert_eq!(listed.header().written as usize, (total - first).min(capacity), "{first}");
        listed.answers.read::<[u32; 2]>()[..(total - first).min(capacity)].to_vec()
    };
    (0..total).step_by(capacity).map(window).collect()
}

/// Compares windows of lists with all answers: together they are those, and with `is_exact` each where it belongs.
fn assert_windows(windows: &[Vec<[u32; 2]>], expected: &[[u32; 2]], capacity: usize, is_exact: bool) {
    assert!(windows.iter().all(|window| window.is_sorted()));
    for (window, expected) in windows.iter().zip(expected.chunks(capacity)).filter(|_| is_exact) {
        assert_eq!(window, expected, "windows of {capacity}");
    }
    let mut all = windows.concat();
    all.sort_unstable();
    assert_eq!(all, expected, "windows of {capacity}");
}

#[test]
#[ignore = "long"]
fn lists_of_any_length_come_in_order_with_retained_answers_and_with_answers_found_again() {
    // Box `i` begins at `i`: what is at `j` and a half is in `j + 1` of them, whose numbers are mixed.
    let n = 70;
    let number = |i: usize| i * 37 % n;
    let mut boxes = vec![Aabb::new([0.0; 3], [0.0; 3]); n];
    (0..n).for_each(|i| boxes[number(i)] = Aabb::new([i as f32, 0.0, 0.0], [99.0, 1.0, 1.0]));
    let mut tree = built(&GPU, &boxes);
    // Lists of no answers to 32, which are retained; of 31 to 34; of all lengths, the long ones first.
    let queried: [Vec<usize>; 3] = [(0..=32).collect(), (31..=34).collect(), (0..=n).rev().collect()];
    for (lengths, has_long) in queried.iter().zip([false, true, true]) {
        let at = |&length: &usize| [length as f32 - 0.5, 0.5, 0.5];
        let points: Vec<[f32; 3]> = lengths.iter().map(at).collect();
        let spheres: Vec<Sphere> = lengths.iter().map(|length| Sphere { center: at(length), radius: 0.1 }).collect();
        let rays: Vec<Ray> = lengths.iter().map(|length| Ray::new(at(length), [0.0, 1.0, 0.0])).collect();
        let mut expected: Vec<[u32; 2]> = Vec::new();
        for (query, &length) in lengths.iter().enumerate() {
            let mut own: Vec<[u32; 2]> = (0..length).map(|i| [query as u32, number(i) as u32]).collect();
            own.sort_unstable();
            expected.extend(own);
        }
        assert_eq!(in_one_list(&tree.tree_mut().overlaps(&points).unwrap(), |&index| index), expected);
        assert_eq!(in_one_list(&tree.tree_mut().overlaps(&spheres).unwrap(), |&index| index), expected);
        let found = tree.tree_mut().all_hits(&rays).unwrap();
        assert!(found.answers.iter().all(|hit| hit.t == 0.0));
        assert_eq!(in_one_list(&found, |hit| hit.index), expected);

        let (queries, count) = (lengths.len(), lengths.len() as u32);
        let (of_points, of_spheres, of_rays) = (upload(&points), upload(&spheres), upload(&rays));
        // No more than some forty windows.
        for capacity in [expected.len() / 40 + 2, 33.max(expected.len() / 8), expected.len() + 5] {
            let size = (expected.len(), capacity, queries);
            let by_points = windows(&mut tree, size, |tree, encoder, first, capacity| {
                let batch = GpuBatch::<[f32; 3]>::new(of_points.slice(..), count);
                tree.record_overlaps(encoder, batch, first, capacity).unwrap()
            });
            let by_spheres = windows(&mut tree, size, |tree, encoder, first, capacity| {
                let batch = GpuBatch::<Sphere>::new(of_spheres.slice(..), count);
                tree.record_overlaps(encoder, batch, first, capacity).unwrap()
            });
            // Of boxes and times.
            let by_rays = windows(&mut tree, size, |tree, encoder, first, capacity| {
                let batch = GpuBatch::<Ray>::new(of_rays.slice(..), count);
                tree.record_all_hits(encoder, batch, first, capacity).unwrap()
            });
            // Retained answers lie where they do in the list of all, whatever the windows; so does all in one window.
            let is_exact = !has_long || expected.len() < capacity;
            assert_windows(&by_points, &expected, capacity, is_exact);
            assert_windows(&by_spheres, &expected, capacity, is_exact);
            assert!(by_rays.concat().iter().all(|hit| hit[1] == 0));
            let mut of_rays: Vec<u32> = by_rays.concat().iter().map(|hit| hit[0]).collect();
            let mut indices: Vec<u32> = expected.iter().map(|pair| pair[1]).collect();
            if !is_exact {
                of_rays.sort_unstable();
                indices.sort_unstable();
            }
            assert_eq!(of_rays, indices);
        }
    }
}

#[test]
#[ignore = "long"]
fn more_lists_than_are_retained_answer_the_same() {
    // Every third point is in a box. The host queries in two parts, and a recording looks for each list twice.
    let boxes: Vec<Aabb> = (0..100).map(|i| 3.0 * i as f32).map(|x| Aabb::new([x, 0.0, 0.0], [x + 1.0; 3])).collect();
    let count = (1 << 20) + 5u32;
    let points: Vec<[f32; 3]> = (0..count).map(|i| [(i % 300) as f32 + 0.5, 0.5, 0.5]).collect();
    let expected: Vec<[u32; 2]> = (0..count).step_by(3).map(|i| [i, i % 300 / 3]).collect();
    let mut tree = built(&GPU, &boxes);
    let found = tree.tree_mut().overlaps(&points).unwrap();
    assert!(found.answers.iter().eq(expected.iter().map(|[_, index]| index)));
    assert!(found.offsets.iter().copied().eq((0..=u64::from(count)).map(|i| i.div_ceil(3))));
    let given = upload(&points);
    let mut encoder = encoder();
    let batch = GpuBatch::<[f32; 3]>::new(given.slice(..), count);
    let left = tree.record_overlaps(&mut encoder, batch, 0, expected.len() as u32).unwrap();
    let listed = Listed::of(&mut encoder, &left, count as usize);
    GPU.queue().submit([encoder.finish()]);
    assert_eq!([listed.header().count, listed.header().overflow], [expected.len() as u32, 0]);
    assert!(listed.answers.read::<[u32; 2]>() == expected && listed.offsets.read::<u64>() == found.offsets);
}

#[test]
#[ignore = "long"]
fn a_query_that_takes_more_rounds_is_marked_and_answers_nothing() {
    // All boxes are equally near, so that each is compared without rounding.
    let n = 8_000;
    let mut boxes = vec![Aabb::new([1.0; 3], [2.0; 3]); n + 1];
    boxes[0] = Aabb::new([-9.0; 3], [-8.0; 3]);
    let mut tree = built(&GPU, &boxes);
    let queried = [NearestQuery::new([0.0, 0.1, 0.2]), NearestQuery::new([-8.5; 3]), NearestQuery::new([f32::NAN; 3])];
    let rays = [Ray::new([0.0, 1.5, 1.5], [1.0, 0.0, 0.0]), Ray::new([-8.5; 3], [0.0, 0.0, -1.0])];
    let (points, paths) = (upload(&queried), upload(&rays));
    let (answered, invalid, unfinished) = (GpuAnswers::ANSWERED, GpuAnswers::INVALID, GpuAnswers::UNFINISHED);
    // A round has few steps in software, and many on a GPU: enough for a list there, and too few for as many distances.
    let few = GPU.adapter_info().device_type == wgpu::DeviceType::Cpu;
    for (rounds, is_enough, is_enough_for_lists) in [(1, false, !few), (2_000, true, true)] {
        let mut encoder = encoder();
        let batch = GpuBatch::new(points.slice(..), 3).with_rounds(rounds);
        let left = tree.record_nearest(&mut encoder, batch, 1).unwrap();
        let near = Rows::of::<Near>(&mut encoder, &left, 3, 1);
        let batch = GpuBatch::<Ray>::new(paths.slice(..), 2).with_rounds(rounds);
        let left = tree.record_all_hits(&mut encoder, batch, 0, 2 * n as u32).unwrap();
        let all = Listed::of(&mut encoder, &left, 2);
        let left = tree.record_any_hits(&mut encoder, batch).unwrap();
        let any = Rows::of::<u32>(&mut encoder, &left, 2, 1);
        GPU.queue().submit([encoder.finish()]);
        let first = |is_enough| if is_enough { answered } else { unfinished };
        assert_eq!(near.status.read::<u32>(), [first(is_enough), answered, invalid], "{rounds} rounds");
        assert_eq!([near.header().unfinished, near.header().invalid], [u32::from(!is_enough), 1]);
        let answers: Vec<[u32; 2]> = near.answers.read();
        assert_eq!(answers[1..], [[0, 0], MISS]);
        assert_eq!(all.status.read::<u32>(), [first(is_enough_for_lists), answered], "{rounds} rounds");
        assert_eq!([all.header().unfinished, all.header().overflow], [u32::from(!is_enough_for_lists), 0]);
        if is_enough {
            let expected = tree.tree_mut().nearest(&queried[..1], 1).unwrap();
            assert_eq!(answers[..1], *bytemuck::cast_slice::<Near, [u32; 2]>(&expected.answers));
        } else {
            assert_eq!(answers[0], MISS);
        }
        let offsets: Vec<u64> = all.offsets.read();
        let listed: Vec<[u32; 2]> = all.answers.read();
        if is_enough_for_lists {
            assert_eq!(offsets, [0, n as u64, n as u64 + 1]);
            assert!((0..n).all(|i| listed[i] == [i as u32 + 1, 1f32.to_bits()]));
            assert_eq!(listed[n], [0, 0]);
        } else {
            assert_eq!(offsets, [0, 0, 1]);
            assert_eq!(listed[0], [0, 0]);
        }
        // The first hit ends a query that requests any.
        assert_eq!((any.answers.read::<u32>(), any.header().unfinished), (vec![1, 1], 0));
    }
}

#[test]
fn a_query_that_is_not_done_takes_no_answers_of_others() {
    let n = 8_000;
    let mut boxes = vec![Aabb::new([1.0; 3], [2.0; 3]); n + 1];
    boxes[0] = Aabb::new([-9.0; 3], [-8.0; 3]);
    let mut tree = built(&GPU, &boxes);
    let light = Ray::new([-8.5; 3], [0.0, 0.0, -1.0]);
    let heavy = Ray::new([0.0, 1.5, 1.5], [1.0, 0.0, 0.0]);
    let paths = upload(&[light, heavy, light, Ray { limit: f32::NAN, ..light }, light]);
    let few = GPU.adapter_info().device_type == wgpu::DeviceType::Cpu;
    for (first, expected) in [(0, vec![[0, 0]; 3]), (1, vec![[0, 0]; 2])] {
        let mut encoder = encoder();
        let batch = GpuBatch::<Ray>::new(paths.slice(..), 5).with_rounds(1);
        let left = tree.record_all_hits(&mut encoder, batch, first, 9).unwrap();
        let all = Listed::of(&mut encoder, &left, 5);
        GPU.queue().submit([encoder.finish()]);
        // On a GPU the rounds suffice.
        if few {
            let (answered, invalid) = (GpuAnswers::ANSWERED, GpuAnswers::INVALID);
            let marks = [answered, GpuAnswers::UNFINISHED, answered, invalid, answered];
            assert_eq!(all.status.read::<u32>(), marks);
            assert_eq!(all.offsets.read::<u64>(), [0, 1, 1, 2, 2, 3]);
            let header = all.header();
            assert_eq!([header.count, header.unfinished, header.invalid], [3, 1, 1]);
            assert_eq!(all.answers.read::<[u32; 2]>()[..header.written as usize], expected);
        } else {
            assert_eq!(u64::from(all.header().count), n as u64 + 3);
        }
    }
}
