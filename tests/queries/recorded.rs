//! Queries in buffers of the device, whose answers stay there: these are the answers to the same queries in host
//! memory.

use broadsweep::query::{
    Batch, BoxCast, Capsule, CapsuleCast, Cast, Convex, Near, NearestQuery, OrientedBox, QueryFilters, Shape, Sphere,
    SphereCast,
};
use broadsweep::record::{GpuAnswers, GpuBatch, GpuConvex, GpuQuery, GpuShape};
use broadsweep::{Aabb, Error, Filters, Hit, Ray, TreeRecorder, wgpu};
use laboratory::scenes::Kind;
use laboratory::scenes::queries::{RayKind, cubes, points};

use super::answers::{
    Listed, MISS, Rows, assert_lists, assert_marked, assert_rows, built, filtered, filters, hit_words, touch_words,
    upload_filters,
};

use super::cases::{TURNED, rays, sphere_of};
use super::numbers::{Like, Numbers};
use crate::common::GPU;
use crate::common::device::{encoder, upload};

/// Answers paths on the host, then with every kind of query in one encoder, and compares.
fn compare_casts<C: Cast + GpuQuery>(tree: &mut TreeRecorder, casts: &[C], filters: &QueryFilters) {
    let batch = Batch::new(casts).with_filters(filters);
    let n = casts.len();
    let (queries, query_filters) = (upload(casts), upload_filters(filters, n));
    let first = tree.tree_mut().first_hits(batch, 5).unwrap();
    let nearest = tree.tree_mut().first_hits(batch, 1).unwrap();
    let all = tree.tree_mut().all_hits(batch).unwrap();
    let any = tree.tree_mut().any_hits(batch).unwrap();
    let mut encoder = encoder();
    let on_device = GpuBatch::<C>::new(queries.slice(..), n as u32);
    let on_device = filtered(on_device, &query_filters, filters);
    let on_device = if filters.skips_separating { on_device.skipping_separating() } else { on_device };
    let left = tree.record_first_hits(&mut encoder, on_device, 5).unwrap();
    let found_first = Rows::of::<Hit>(&mut encoder, &left, n, 5);
    let left = tree.record_all_hits(&mut encoder, on_device, 0, all.answers.len() as u32).unwrap();
    let found_all = Listed::of(&mut encoder, &left, n);
    let left = tree.record_nearest_hits(&mut encoder, on_device.in_order()).unwrap();
    let found_nearest = Rows::of::<Hit>(&mut encoder, &left, n, 1);
    let left = tree.record_any_hits(&mut encoder, on_device).unwrap();
    let found_any = Rows::of::<u32>(&mut encoder, &left, n, 1);
    GPU.queue().submit([encoder.finish()]);
    assert_rows(&found_first, &first, 5, MISS);
    assert_rows(&found_nearest, &nearest, 1, MISS);
    assert_lists(&found_all, &all, hit_words);
    let expected: Vec<u32> = any.answers.iter().map(|&hit| u32::from(hit)).collect();
    assert_eq!(found_any.answers.read::<u32>(), expected);
    assert_marked(&found_any.status.read(), &found_any.header(), &any.report);
}

fn compare_shapes<S: Shape + GpuShape>(tree: &mut TreeRecorder, shapes: &[S], filters: &QueryFilters) {
    let expected = tree.tree_mut().overlaps(Batch::new(shapes).with_filters(filters)).unwrap();
    let (queries, query_filters) = (upload(shapes), upload_filters(filters, shapes.len()));
    let on_device = GpuBatch::<S>::new(queries.slice(..), shapes.len() as u32);
    let on_device = filtered(on_device, &query_filters, filters);
    let mut encoder = encoder();
    let left = tree.record_overlaps(&mut encoder, on_device, 0, expected.answers.len() as u32 + 9).unwrap();
    let found = Listed::of(&mut encoder, &left, shapes.len());
    GPU.queue().submit([encoder.finish()]);
    assert_lists(&found, &expected, touch_words);
}

fn compare_points(tree: &mut TreeRecorder, points: &[NearestQuery], filters: &QueryFilters, k: usize) {
    let expected = tree.tree_mut().nearest(Batch::new(points).with_filters(filters), k).unwrap();
    let (queries, query_filters) = (upload(points), upload_filters(filters, points.len()));
    // The farthest boxes are compared without rounding, with each answer of the row.
    let on_device = GpuBatch::new(queries.slice(..), points.len() as u32).with_rounds(100);
    let on_device = filtered(on_device, &query_filters, filters);
    let mut encoder = encoder();
    let left = tree.record_nearest(&mut encoder, on_device, k as u32).unwrap();
    let found = Rows::of::<Near>(&mut encoder, &left, points.len(), k);
    GPU.queue().submit([encoder.finish()]);
    assert_rows(&found, &expected, k, MISS);
}

/// Capsules, turned boxes, and spheres and capsules that move; some have no meaning.
fn round_shapes(
    numbers: &mut Numbers,
    boxes: &[Aabb],
    like: Like,
    n: usize,
) -> (Vec<Capsule>, Vec<OrientedBox>, Vec<SphereCast>, Vec<CapsuleCast>) {
    let mut capsules = Vec::new();
    let mut turned = Vec::new();
    let mut casts = Vec::new();
    for i in 0..n {
        let Sphere { center, radius } = numbers.sphere(boxes, like);
        let Ray { origin, direction, limit } = numbers.ray(boxes, like);
        capsules.push(Capsule { from: center, to: if i % 7 == 0 { center } else { origin }, radius });
        let mut axis = || [0; 3].map(|_| numbers.finite(like));
        let axes = if i % 2 == 0 { TURNED } else { [axis(), axis(), axis()] };
        turned.push(OrientedBox { center, half: axis().map(f32::abs), axes });
        casts.push(CapsuleCast { from: center, to: origin, radius, direction, limit });
    }
    (capsules[3].radius, turned[3].half[1], casts[3].radius) = (-1.0, f32::NAN, f32::NAN);
    (capsules[n - 1].to[0], turned[n - 1].axes[0], casts[n - 1].limit) = (f32::NAN, [0.0; 3], -1.0);
    let spheres = casts.iter().map(sphere_of).collect();
    (capsules, turned, spheres, casts)
}

#[test]
#[ignore = "long"]
fn recorded_queries_answer_as_those_of_the_host_whatever_the_numbers_are() {
    let n = 40;
    let mut tree = TreeRecorder::new(&GPU).unwrap();
    for (like, seed) in Like::ALL.into_iter().zip(1..) {
        let mut numbers = Numbers::new(seed);
        let mut boxes = numbers.boxes(150, like);
        boxes[5].min[1] = f32::NAN;
        let mut rays: Vec<Ray> = (0..n).map(|_| numbers.ray(&boxes, like)).collect();
        let mut casts: Vec<BoxCast> = (0..n).map(|_| numbers.cast(&boxes, like)).collect();
        let mut spheres: Vec<Sphere> = (0..n).map(|_| numbers.sphere(&boxes, like)).collect();
        let mut near: Vec<NearestQuery> = (0..n).map(|_| numbers.nearest(&boxes, like)).collect();
        for i in [0, 3, n - 1] {
            rays[i].limit = f32::NAN;
            casts[i].aabb.min[0] = f32::NAN;
            spheres[i].radius = -1.0;
            near[i].point[2] = f32::INFINITY;
        }
        let of_points: Vec<[f32; 3]> = near.iter().map(|near| near.point).collect();
        let of_boxes: Vec<Aabb> = casts.iter().map(|cast| cast.aabb).collect();
        let round = round_shapes(&mut numbers, &boxes, like, n);
        // Two of four, in turn.
        let some =
            filters(boxes.len(), n).into_iter().enumerate().filter(|(i, _)| (i + seed as usize).is_multiple_of(2));
        for (_, (of_tree, of_queries)) in some {
            tree.tree_mut().set_filters(of_tree).unwrap();
            tree.tree_mut().build(&boxes).unwrap();
            compare_shapes(&mut tree, &round.0, &of_queries);
            compare_shapes(&mut tree, &round.1, &of_queries);
            compare_casts(&mut tree, &round.2, &of_queries);
            compare_casts(&mut tree, &round.3, &of_queries);
            compare_casts(&mut tree, &rays, &of_queries);
            compare_casts(&mut tree, &casts, &of_queries);
            compare_shapes(&mut tree, &of_points, &of_queries);
            compare_shapes(&mut tree, &of_boxes, &of_queries);
            compare_shapes(&mut tree, &spheres, &of_queries);
            compare_points(&mut tree, &near, &of_queries, 1);
            compare_points(&mut tree, &near, &of_queries, 64);
        }
    }
}

/// Half-spaces of some shapes in a row, and which of them each shape has.
fn half_spaces(numbers: &mut Numbers, like: Like, shapes: usize) -> (Vec<[f32; 4]>, Vec<std::ops::Range<usize>>) {
    let (mut parts, mut ranges) = (Vec::new(), Vec::new());
    for i in 0..shapes {
        let first = parts.len();
        for _ in 0..[0, 1, 2, 3, 5, 6, 24, Convex::MOST_ON_GPU][i % 8] {
            let mut part = [0; 4].map(|_| numbers.finite(like));
            // Some lie along an axis; none is without a normal.
            if i % 3 == 0 || part[..3].iter().all(|&x| x == 0.0) {
                (part[0], part[1], part[2]) = (if i % 2 == 0 { 1.0 } else { -1.0 }, 0.0, -0.0);
            }
            parts.push(part);
        }
        ranges.push(first..parts.len());
    }
    (parts, ranges)
}

/// Creates shapes that have these half-spaces, some within bounds; numbers 8 to 15 have no meaning.
fn convex_shapes(bounds: &[Aabb], parts: &mut Vec<[f32; 4]>, ranges: &[std::ops::Range<usize>]) -> Vec<GpuConvex> {
    let all = Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]);
    let mut shapes: Vec<GpuConvex> = ranges
        .iter()
        .zip(bounds)
        .enumerate()
        .map(|(i, (range, own))| GpuConvex {
            bounds: if i % 3 == 0 { *own } else { all },
            first: range.start as u32,
            count: range.len() as u32,
        })
        .collect();
    // Shapes without a meaning: bounds, too many, some that are not there, and two half-spaces.
    let (count, end) = (parts.len() as u32 + 2, u32::MAX);
    for (shape, first, own) in [(8, 0, 65), (9, count, 1), (10, count - 1, 2), (11, end, 2), (12, end, end)] {
        (shapes[shape].first, shapes[shape].count) = (first, own);
    }
    shapes[13].bounds.min[1] = f32::NAN;
    parts.extend([[0.0, -0.0, 0.0, 1.0], [1.0, f32::INFINITY, 0.0, 1.0]]);
    for shape in [14, 15] {
        (shapes[shape].first, shapes[shape].count) = (count - shape as u32 + 13, 1);
    }
    // One that has none may begin anywhere.
    assert_eq!(shapes[16].count, 0);
    shapes[16].first = end;
    shapes
}

#[test]
#[ignore = "long"]
fn convex_shapes_in_buffers_touch_what_those_of_the_host_touch() {
    let n = 64;
    let mut tree = TreeRecorder::new(&GPU).unwrap();
    let (mut touching, mut invalid) = (0, 0);
    for (like, seed) in Like::ALL.into_iter().zip(1..) {
        let mut numbers = Numbers::new(seed);
        let boxes = numbers.boxes(150, like);
        let (mut parts, ranges) = half_spaces(&mut numbers, like, n);
        let bounds = numbers.boxes(n, like);
        let shapes = convex_shapes(&bounds, &mut parts, &ranges);
        for (of_tree, of_queries) in filters(boxes.len(), n) {
            tree.tree_mut().set_filters(of_tree).unwrap();
            tree.tree_mut().build(&boxes).unwrap();
            let has_meaning = |i: &usize| !(8..16).contains(i) && shapes[*i].bounds.is_valid();
            let convex: Vec<Convex> =
                ranges.iter().map(|range| Convex { half_spaces: &parts[range.clone()] }).collect();
            let inside = tree.tree_mut().overlaps(Batch::new(&convex).with_filters(&of_queries)).unwrap();
            let own: Vec<Aabb> = shapes.iter().map(|shape| shape.bounds).collect();
            let near = tree.tree_mut().overlaps(Batch::new(&own).with_filters(&of_queries)).unwrap();
            let mut rows: Vec<Vec<u32>> = vec![Vec::new(); n];
            for i in (0..n).filter(has_meaning) {
                rows[i] = inside[i].iter().copied().filter(|id| near[i].contains(id)).collect();
            }
            let offsets: Vec<u64> = std::iter::once(0)
                .chain(rows.iter().scan(0, |sum, row| {
                    *sum += row.len() as u64;
                    Some(*sum)
                }))
                .collect();
            let pairs: Vec<[u32; 2]> =
                rows.iter().enumerate().flat_map(|(i, row)| row.iter().map(move |&id| [i as u32, id])).collect();

            let mut words: Vec<[f32; 4]> = bytemuck::cast_slice(&shapes).to_vec();
            words.extend(&parts);
            let (queries, query_filters) = (upload(&words), upload_filters(&of_queries, n));
            let batch = GpuBatch::<GpuConvex>::new(queries.slice(..), n as u32).with_half_spaces(parts.len() as u32);
            let batch = filtered(batch, &query_filters, &of_queries).with_rounds(100);
            let mut encoder = encoder();
            let left = tree.record_overlaps(&mut encoder, batch, 0, pairs.len() as u32).unwrap();
            let found = Listed::of(&mut encoder, &left, n);
            GPU.queue().submit([encoder.finish()]);
            assert_eq!(found.offsets.read::<u64>(), offsets, "{like:?}");
            assert_eq!(found.answers.read::<[u32; 2]>(), pairs);
            let marked: Vec<bool> = found.status.read().iter().map(|&mark: &u32| mark == GpuAnswers::INVALID).collect();
            assert_eq!(marked, (0..n).map(|i| !has_meaning(&i)).collect::<Vec<_>>());
            assert_eq!(found.header().unfinished, 0);
            touching += pairs.len();
            invalid += marked.iter().filter(|&&is_invalid| is_invalid).count();
        }
    }
    assert!(touching > 10_000 && invalid > 100, "{touching} {invalid}");
    // Behind the shapes there have to be as many half-spaces as the counts declare.
    let short = upload(&[[0.0f32; 4]; 5]);
    let batch = GpuBatch::<GpuConvex>::new(short.slice(..), 2).with_half_spaces(2);
    let refused = tree.record_overlaps(&mut encoder(), batch, 0, 9).unwrap_err();
    assert_eq!(refused.to_string(), "the query buffer holds 80 bytes, and 2 queries and 2 half-spaces take 96");
}

#[test]
fn recorded_queries_of_large_scenes_are_sorted_and_answer_the_same() {
    let boxes = Kind::Clusters.generate(4_400, 3);
    let mut tree = built(&GPU, &boxes);
    compare_casts(&mut tree, &rays(400, &boxes), QueryFilters::NONE);
    compare_shapes(&mut tree, &cubes(1_100, 7, &boxes, 20.0), QueryFilters::NONE);
    compare_points(&mut tree, &points(1_100, 7, &boxes), QueryFilters::NONE, 10);
    let some = || boxes.iter().step_by(4);
    let turned = |aabb: &Aabb| OrientedBox {
        center: aabb.max,
        half: [0, 1, 2].map(|k| aabb.max[k] - aabb.min[k]),
        axes: TURNED,
    };
    compare_shapes(&mut tree, &some().map(turned).collect::<Vec<_>>(), QueryFilters::NONE);
    let radius = boxes[0].max[0] - boxes[0].min[0];
    let capsule = |aabb: &Aabb| Capsule { from: aabb.min, to: aabb.max, radius };
    compare_shapes(&mut tree, &some().map(capsule).collect::<Vec<_>>(), QueryFilters::NONE);
    let direction = [1.0, -0.5, 0.25];
    let cast = |aabb: &Aabb| CapsuleCast { from: aabb.min, to: aabb.max, radius, direction, limit: f32::INFINITY };
    compare_casts(&mut tree, &some().map(cast).collect::<Vec<_>>(), QueryFilters::NONE);
}

#[test]
#[ignore = "long"]
fn derived_queries_share_their_memory_within_an_encoder() {
    let boxes = Kind::Uniform.generate(500, 3);
    let mut tree = built(&GPU, &boxes);
    let (capsules, turned, ..) = round_shapes(&mut Numbers::new(5), &boxes, Like::Usual, 300);
    let (of_capsules, of_turned) = (upload(&capsules), upload(&turned));
    let mut encoder = encoder();
    // None, few, and more than the capacity.
    let batch = GpuBatch::<OrientedBox>::new(of_turned.slice(..), 0);
    let none = tree.record_overlaps(&mut encoder, batch, 0, 99).unwrap();
    let none = Listed::of(&mut encoder, &none, 0);
    let batch = GpuBatch::<Capsule>::new(of_capsules.slice(..), 50);
    let few = tree.record_overlaps(&mut encoder, batch, 0, 9_000).unwrap();
    let few = Listed::of(&mut encoder, &few, 50);
    let batch = GpuBatch::<OrientedBox>::new(of_turned.slice(..), 300);
    let most = tree.record_overlaps(&mut encoder, batch, 0, 99_000).unwrap();
    let most = Listed::of(&mut encoder, &most, 300);
    GPU.queue().submit([encoder.finish()]);
    assert_lists(&none, &tree.tree_mut().overlaps(&turned[..0]).unwrap(), touch_words);
    assert_lists(&few, &tree.tree_mut().overlaps(&capsules[..50]).unwrap(), touch_words);
    assert_lists(&most, &tree.tree_mut().overlaps(&turned).unwrap(), touch_words);
}

#[test]
fn filters_that_are_set_between_recordings_hold_for_those_behind() {
    let boxes = Kind::Uniform.generate(3_000, 3);
    let on_device = upload(&boxes);
    let rays = RayKind::Incoherent.generate(300, 7, &boxes);
    let paths = upload(&rays);
    let mut tree = TreeRecorder::new(&GPU).unwrap();
    let mut from_host = TreeRecorder::new(&GPU).unwrap();
    let (mut found, mut expected) = (Vec::new(), Vec::new());
    let mut encoder = encoder();
    for (of_tree, of_queries) in filters(boxes.len(), rays.len()) {
        tree.tree_mut().set_filters(of_tree.clone()).unwrap();
        tree.record_build(&mut encoder, on_device.slice(..), 3_000).unwrap();
        let query_filters = upload_filters(&of_queries, rays.len());
        let batch = GpuBatch::<Ray>::new(paths.slice(..), 300);
        let batch = filtered(batch, &query_filters, &of_queries);
        let batch = if of_queries.skips_separating { batch.skipping_separating() } else { batch };
        let left = tree.record_first_hits(&mut encoder, batch, 3).unwrap();
        found.push(Rows::of::<Hit>(&mut encoder, &left, 300, 3));
        from_host.tree_mut().set_filters(of_tree).unwrap();
        from_host.tree_mut().build(&boxes).unwrap();
        let batch = Batch::new(&rays[..]).with_filters(&of_queries);
        expected.push(from_host.tree_mut().first_hits(batch, 3).unwrap());
    }
    GPU.queue().submit([encoder.finish()]);
    for (found, expected) in found.iter().zip(&expected) {
        assert_rows(found, expected, 3, MISS);
    }
}

#[test]
fn a_tree_is_built_refitted_and_queried_in_one_encoder() {
    let n = 3_000;
    let start = Kind::Uniform.generate(n, 3);
    let moved = |by: f32| -> Vec<Aabb> {
        start.iter().map(|aabb| Aabb::new(aabb.min.map(|x| x + by), aabb.max.map(|x| x + by))).collect()
    };
    let places = [start.clone(), moved(0.5), moved(40.0)];
    let rays = RayKind::Incoherent.generate(500, 7, &start);
    let paths = upload(&rays);
    let margins = Filters::default().with_margin(vec![0.01; n]);
    for filters in [Filters::default(), margins] {
        let (mut tree, mut from_host) = (TreeRecorder::new(&GPU).unwrap(), TreeRecorder::new(&GPU).unwrap());
        tree.tree_mut().set_filters(filters.clone()).unwrap();
        from_host.tree_mut().set_filters(filters).unwrap();
        let boxes = GPU.device().create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 24 * n as u64,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let mut encoder = encoder();
        let mut found = Vec::new();
        for (i, boxes_now) in places.iter().enumerate() {
            encoder.copy_buffer_to_buffer(&upload(boxes_now), 0, &boxes, 0, 24 * n as u64);
            if i == 0 {
                tree.record_build(&mut encoder, boxes.slice(..), n as u32).unwrap();
            } else {
                tree.record_refit(&mut encoder, boxes.slice(..), n as u32).unwrap();
            }
            let left = tree.record_nearest_hits(&mut encoder, GpuBatch::<Ray>::new(paths.slice(..), 500)).unwrap();
            found.push(Rows::of::<Hit>(&mut encoder, &left, 500, 1));
        }
        GPU.queue().submit([encoder.finish()]);
        from_host.tree_mut().build(&places[0]).unwrap();
        for (found, boxes) in found.iter().zip(&places) {
            from_host.tree_mut().refit(boxes).unwrap();
            assert_rows(found, &from_host.tree_mut().first_hits(&rays, 1).unwrap(), 1, MISS);
        }
        assert_eq!(tree.tree().report().box_count as usize, n);
        assert!(tree.tree().report().growth.is_nan());
        // The host queries the same tree.
        assert_eq!(tree.tree_mut().nearest_hits(&rays).unwrap(), from_host.tree_mut().nearest_hits(&rays).unwrap());
        assert!(tree.tree_mut().refit(&places[1]).unwrap().growth.is_nan());
        let growth = tree.tree_mut().build(&places[1]).unwrap().growth;
        assert_eq!(growth, 1.0);
        let mut encoder = self::encoder();
        let refused = tree.record_refit(&mut encoder, boxes.slice(..), 20);
        assert!(matches!(refused, Err(Error::OtherTree { built: 3_000, box_count: 20 })), "{refused:?}");
        tree.tree_mut().set_filters(Filters::default()).unwrap();
        tree.record_build(&mut encoder, boxes.slice(..), 0).unwrap();
        assert_eq!(tree.tree().report().box_count, 0);
    }
}
