//! Queries in buffers of the device, whose answers stay there: these are the answers to the same queries in host
//! memory.

use broadsweep::query::{
    Batch, BoxCast, Capsule, CapsuleCast, Cast, Convex, Near, NearestQuery, OrientedBox, QueryFilter, QueryFilters,
    QueryReport, Shape, Sphere, SphereCast,
};
use broadsweep::record::{GpuAnswers, GpuBatch, GpuConvex, GpuLists, GpuPairs, GpuQuery, GpuShape, QueryHeader};
use broadsweep::{Aabb, Error, Filters, Gpu, Hit, Lists, Ray, TreeRecorder, cpu, wgpu};
use bytemuck::Pod;
use laboratory::scenes::Kind;
use laboratory::scenes::queries::{RayKind, cubes, points};

use super::both::GPU;
use super::cases::sphere_of;
use super::numbers::{Like, Numbers};

/// Returns a buffer of these values.
pub fn upload<T: Pod>(values: &[T]) -> wgpu::Buffer {
    let bytes: &[u8] = bytemuck::cast_slice(values);
    let buffer = GPU.device().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: (bytes.len() as u64).next_multiple_of(16).max(16),
        usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
        mapped_at_creation: true,
    });
    buffer.slice(..).get_mapped_range_mut().unwrap().slice(..bytes.len()).copy_from_slice(bytes);
    buffer.unmap();
    buffer
}

pub fn encoder() -> wgpu::CommandEncoder {
    GPU.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
}

/// A copy of the first values of a buffer, as they are at this place among the commands.
pub struct Copied(wgpu::Buffer, u64);

impl Copied {
    pub fn of<T>(encoder: &mut wgpu::CommandEncoder, buffer: &wgpu::Buffer, count: usize) -> Self {
        let bytes = (count * size_of::<T>()) as u64;
        let copy = GPU.device().create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: bytes.max(4),
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        if bytes > 0 {
            encoder.copy_buffer_to_buffer(buffer, 0, &copy, 0, bytes);
        }
        Self(copy, bytes)
    }

    pub fn read<T: Pod>(&self) -> Vec<T> {
        self.0.slice(..).map_async(wgpu::MapMode::Read, Result::unwrap);
        GPU.device().poll(wgpu::PollType::wait_indefinitely()).unwrap();
        let bytes = self.0.slice(..self.1.max(4)).get_mapped_range().unwrap().to_vec();
        self.0.unmap();
        bytemuck::pod_collect_to_vec(&bytes[..self.1 as usize])
    }
}

/// The output of rows of answers on the device.
struct Rows {
    answers: Copied,
    status: Copied,
    header: Copied,
}

impl Rows {
    fn of<T>(encoder: &mut wgpu::CommandEncoder, left: &GpuAnswers, queries: usize, k: usize) -> Self {
        Self {
            answers: Copied::of::<T>(encoder, left.answers, queries * k),
            status: Copied::of::<u32>(encoder, left.status, queries),
            header: Copied::of::<QueryHeader>(encoder, left.header, 1),
        }
    }

    fn header(&self) -> QueryHeader {
        self.header.read()[0]
    }
}

/// The output of lists of answers on the device.
struct Listed {
    offsets: Copied,
    answers: Copied,
    status: Copied,
    header: Copied,
    arguments: Copied,
}

impl Listed {
    fn of(encoder: &mut wgpu::CommandEncoder, left: &GpuLists, queries: usize) -> Self {
        let words = GpuPairs::DISPATCH_OFFSET as usize / 4 + 3;
        Self {
            offsets: Copied::of::<u64>(encoder, left.offsets, queries + 1),
            answers: Copied::of::<[u32; 2]>(encoder, left.answers, left.capacity as usize),
            status: Copied::of::<u32>(encoder, left.status, queries),
            header: Copied::of::<QueryHeader>(encoder, left.header, 1),
            arguments: Copied::of::<u32>(encoder, left.arguments, words),
        }
    }

    fn header(&self) -> QueryHeader {
        self.header.read()[0]
    }
}

/// Checks that every query is marked as answered but the invalid ones.
fn assert_marked(status: &[u32], header: &QueryHeader, report: &QueryReport) {
    assert_eq!((header.unfinished, u64::from(header.invalid)), (0, report.invalid_count));
    let invalid: Vec<u64> =
        (0..).zip(status).filter(|(_, status)| **status == GpuAnswers::INVALID).map(|(i, _)| i).collect();
    assert_eq!(invalid.len() as u64, report.invalid_count);
    assert_eq!(invalid[..report.first_invalid.len()], report.first_invalid);
    assert!(status.iter().all(|&status| status != GpuAnswers::UNFINISHED));
}

/// Checks rows of `k` answers against lists, bit for bit; behind the last, there is `none`.
fn assert_rows<T: Pod>(found: &Rows, expected: &Lists<T>, k: usize, none: [u32; 2]) {
    let rows: Vec<[u32; 2]> = found.answers.read();
    for (i, row) in expected.iter().enumerate() {
        let row: &[[u32; 2]] = bytemuck::cast_slice(row);
        let (there, behind) = rows[i * k..(i + 1) * k].split_at(row.len());
        assert_eq!(there, row, "query {i}");
        assert!(behind.iter().all(|answer| *answer == none), "query {i}: {behind:?}");
    }
    assert_marked(&found.status.read(), &found.header(), &expected.report);
}

/// Checks lists that fit against those of the host.
fn assert_lists<T: Pod>(found: &Listed, expected: &Lists<T>, answer: impl Fn(usize, &T) -> [u32; 2]) {
    let header = found.header();
    let count = expected.answers.len() as u32;
    assert_eq!([header.count, header.count_high, header.overflow, header.written], [count, 0, 0, count]);
    assert_eq!(found.offsets.read::<u64>(), expected.offsets);
    let pairs: Vec<[u32; 2]> = expected
        .iter()
        .enumerate()
        .flat_map(|(i, row)| row.iter().map(move |a| (i, a)))
        .map(|(i, a)| answer(i, a))
        .collect();
    assert_eq!(found.answers.read::<[u32; 2]>()[..pairs.len()], pairs);
    assert_marked(&found.status.read(), &header, &expected.report);
    let arguments: Vec<u32> = found.arguments.read();
    assert_eq!(arguments[arguments.len() - 3..], [count.div_ceil(256), 1, 1]);
}

fn hit_words(_: usize, hit: &Hit) -> [u32; 2] {
    [hit.index, hit.t.to_bits()]
}

fn touch_words(query: usize, index: &u32) -> [u32; 2] {
    [query as u32, *index]
}

const MISS: [u32; 2] = [u32::MAX, 0x7f80_0000];

/// The filters of queries, as lists and as the device reads them.
fn upload_filters(filters: &QueryFilters, count: usize) -> Option<wgpu::Buffer> {
    let of = |list: &[u32], i: usize| list.get(i).copied().unwrap_or(u32::MAX);
    let QueryFilters { group, mask, body, world, ignore, .. } = filters;
    let query_filters: Vec<QueryFilter> = (0..count)
        .map(|i| QueryFilter {
            group: of(group, i),
            mask: of(mask, i),
            body: of(body, i),
            world: of(world, i),
            ignore: of(ignore, i),
        })
        .collect();
    let mut bytes: Vec<u32> = bytemuck::cast_slice(&query_filters).to_vec();
    bytes.extend_from_slice(bytemuck::cast_slice(&filters.sphere));
    (filters != QueryFilters::NONE).then(|| upload(&bytes))
}

/// Adds uploaded filters to a batch.
fn filtered<'a, Q: GpuQuery>(
    batch: GpuBatch<'a, Q>,
    uploaded: &'a Option<wgpu::Buffer>,
    filters: &QueryFilters,
) -> GpuBatch<'a, Q> {
    match uploaded {
        None => batch,
        Some(uploaded) if filters.sphere.is_empty() => batch.with_filters(uploaded.slice(..)),
        Some(uploaded) => batch.with_filters_and_spheres(uploaded.slice(..)),
    }
}

/// Answers paths on the host, then with every kind of query in one encoder, and compares.
fn compare_casts<C: Cast + GpuQuery>(tree: &mut TreeRecorder, casts: &[C], filters: &QueryFilters) {
    let batch = broadsweep::query::Batch::new(casts).with_filters(filters);
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
    let expected = tree.tree_mut().overlaps(broadsweep::query::Batch::new(shapes).with_filters(filters)).unwrap();
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
    let expected = tree.tree_mut().nearest(broadsweep::query::Batch::new(points).with_filters(filters), k).unwrap();
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

/// Filters of boxes and of queries, in worlds whose ids are far apart.
fn filters(boxes: usize, queries: usize) -> [(Filters, QueryFilters); 4] {
    let worlds = [7, 4_000_000_000, 19, Filters::GLOBAL, 100];
    let of_boxes = Filters::default()
        .with_group((0..boxes).map(|i| 1 << (i % 3)).collect())
        .with_world((0..boxes).map(|i| worlds[i % 4]).collect());
    let by_group = QueryFilters::default()
        .with_group(vec![u32::MAX; queries])
        .with_mask((0..queries).map(|i| 1 + i as u32 % 7).collect())
        .with_body((0..queries).map(|i| i as u32 % 50).collect())
        .with_ignore((0..queries).map(|i| i as u32 % 40).collect())
        .with_skips_separating(true);
    let by_world = by_group.clone().with_world((0..queries).map(|i| worlds[i / 3 % 5]).collect());
    let spheres = |n: usize, step: usize| -> Vec<[f32; 4]> {
        let at = |i: usize| [i % 5, i / 5 % 5, i / step % 5].map(|x| x as f32 - 2.0);
        let sphere =
            |i: usize| [at(i)[0], at(i)[1], at(i)[2], if i.is_multiple_of(6) { f32::INFINITY } else { (i % 4) as f32 }];
        (0..n).map(sphere).collect()
    };
    let (of_both, by_both) =
        (of_boxes.clone().with_sphere(spheres(boxes, 7)), by_world.clone().with_sphere(spheres(queries, 3)));
    [
        (Filters::default(), QueryFilters::default()),
        (of_boxes.clone().with_world(Vec::new()), by_group),
        (of_boxes, by_world),
        (of_both, by_both),
    ]
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
        let axes =
            if i % 2 == 0 { [[0.6, 0.8, 0.0], [-0.8, 0.6, 0.0], [0.0, 0.0, 1.0]] } else { [axis(), axis(), axis()] };
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
    let mut tree = TreeRecorder::new(&GPU).unwrap();
    tree.tree_mut().build(&boxes).unwrap();
    let rays: Vec<Ray> = RayKind::ALL.iter().flat_map(|kind| kind.generate(400, 7, &boxes)).collect();
    compare_casts(&mut tree, &rays, QueryFilters::NONE);
    compare_shapes(&mut tree, &cubes(1_100, 7, &boxes, 20.0), QueryFilters::NONE);
    compare_points(&mut tree, &points(1_100, 7, &boxes), QueryFilters::NONE, 10);
    let some = || boxes.iter().step_by(4);
    let axes = [[0.6, 0.8, 0.0], [-0.8, 0.6, 0.0], [0.0, 0.0, 1.0]];
    let turned =
        |aabb: &Aabb| OrientedBox { center: aabb.max, half: [0, 1, 2].map(|k| aabb.max[k] - aabb.min[k]), axes };
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
    let mut tree = TreeRecorder::new(&GPU).unwrap();
    tree.tree_mut().build(&boxes).unwrap();
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
        let mut tree = TreeRecorder::new(&gpu).unwrap();
        tree.tree_mut().build(&boxes).unwrap();
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
    let mut tree = TreeRecorder::new(&gpu).unwrap();
    tree.tree_mut().build(&boxes).unwrap();
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
    let mut tree = TreeRecorder::new(&GPU).unwrap();
    tree.tree_mut().build(&boxes).unwrap();
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
    let mut tree = TreeRecorder::new(&GPU).unwrap();
    tree.tree_mut().build(&boxes).unwrap();
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
    let mut tree = TreeRecorder::new(&GPU).unwrap();
    tree.tree_mut().build(&boxes).unwrap();
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
    let mut tree = TreeRecorder::new(&GPU).unwrap();
    tree.tree_mut().build(&boxes).unwrap();
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
        let batch = broadsweep::query::Batch::new(&rays[..]).with_filters(&of_queries);
        expected.push(from_host.tree_mut().first_hits(batch, 3).unwrap());
    }
    GPU.queue().submit([encoder.finish()]);
    for (found, expected) in found.iter().zip(&expected) {
        assert_rows(found, expected, 3, MISS);
    }
}

#[test]
fn a_tree_that_is_not_built_is_refused_in_recordings_too() {
    let mut tree = TreeRecorder::new(&GPU).unwrap();
    let rays = upload(&[Ray::new([0.0; 3], [1.0; 3])]);
    let batch = GpuBatch::<Ray>::new(rays.slice(..), 1);
    let mut encoder = encoder();
    assert_eq!(tree.record_nearest_hits(&mut encoder, batch).unwrap_err(), Error::NotBuilt);
    let boxes = upload(&[Aabb::new([1.0; 3], [2.0; 3])]);
    for box_count in [0, 1] {
        let refused = tree.record_refit(&mut encoder, boxes.slice(..), box_count).unwrap_err();
        assert_eq!(refused, Error::NotBuilt);
        let mut tree = tree.tree_mut().asynchronous();
        let refused = pollster::block_on(tree.refit((boxes.slice(..), box_count))).map(|_| ()).unwrap_err();
        assert_eq!(refused, Error::NotBuilt);
    }
    tree.record_build(&mut encoder, boxes.slice(..), 1).unwrap();
    tree.record_any_hits(&mut encoder, batch).unwrap();
    tree.tree_mut().set_filters(Filters::default().with_margin(vec![1.0])).unwrap();
    assert_eq!(tree.record_any_hits(&mut encoder, batch).unwrap_err(), Error::NotBuilt);
    tree.tree_mut().build(&[]).unwrap_err();
    assert_eq!(tree.record_any_hits(&mut encoder, batch).unwrap_err(), Error::NotBuilt);
    tree.tree_mut().set_filters(Filters::default()).unwrap();
    tree.record_build(&mut encoder, boxes.slice(..), 0).unwrap();
    tree.record_all_hits(&mut encoder, batch, 0, 1).unwrap();
}

#[test]
fn a_tree_of_no_boxes_and_a_batch_of_no_queries_answer_nothing() {
    let mut tree = TreeRecorder::new(&GPU).unwrap();
    let queries = upload(&[Ray::new([0.0; 3], [1.0; 3]), Ray::new([f32::NAN; 3], [1.0; 3])]);
    let boxes = Kind::Uniform.generate(20, 3);
    for of_boxes in [&boxes[..0], &boxes] {
        tree.tree_mut().build(of_boxes).unwrap();
        for count in [0, 2] {
            if count > 0 && !of_boxes.is_empty() {
                continue;
            }
            let mut encoder = encoder();
            let batch = GpuBatch::<Ray>::new(queries.slice(..), count as u32);
            let left = tree.record_nearest_hits(&mut encoder, batch).unwrap();
            let rows = Rows::of::<Hit>(&mut encoder, &left, count, 1);
            let left = tree.record_all_hits(&mut encoder, batch, 0, 0).unwrap();
            let lists = Listed::of(&mut encoder, &left, count);
            GPU.queue().submit([encoder.finish()]);
            assert_eq!(rows.answers.read::<[u32; 2]>(), vec![MISS; count]);
            let marks = [GpuAnswers::ANSWERED, GpuAnswers::INVALID];
            assert_eq!(rows.status.read::<u32>(), marks[..count]);
            assert_eq!(lists.status.read::<u32>(), marks[..count]);
            assert_eq!(lists.offsets.read::<u64>(), vec![0; count + 1]);
            let header = lists.header();
            assert_eq!([header.count, header.written, header.overflow, header.unfinished], [0; 4]);
        }
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

#[test]
fn what_cannot_be_recorded_is_refused() {
    let boxes = Kind::Uniform.generate(20, 3);
    let mut tree = TreeRecorder::new(&GPU).unwrap();
    tree.tree_mut().build(&boxes).unwrap();
    let rays = upload(&RayKind::Camera.generate(20, 7, &boxes));
    let points = upload(&points(20, 7, &boxes));
    let mut encoder = encoder();
    let error = tree.record_nearest_hits(&mut encoder, GpuBatch::<Ray>::new(rays.slice(..), 21)).unwrap_err();
    assert_eq!(error.to_string(), "the query buffer holds 560 bytes, and 21 queries take 588");
    let batch = GpuBatch::<Ray>::new(rays.slice(..), 20);
    let error = tree.record_any_hits(&mut encoder, batch.with_filters(points.slice(..256))).unwrap_err();
    assert_eq!(error.to_string(), "the query filter buffer holds 256 bytes, and 20 query filters take 400");
    for k in [0, 65] {
        let error = tree.record_first_hits(&mut encoder, batch, k).unwrap_err();
        assert_eq!(error.to_string(), format!("k is {k}; it must be between 1 and 64"));
        let near = GpuBatch::new(points.slice(..), 20);
        assert!(matches!(tree.record_nearest(&mut encoder, near, k), Err(Error::BadOption { option: "k", .. })));
    }
    for rounds in [0, 5_000] {
        let refused = tree.record_nearest_hits(&mut encoder, batch.with_rounds(rounds));
        assert!(matches!(refused, Err(Error::BadOption { option: "rounds", .. })));
    }
    let many = GPU.device().create_buffer(&wgpu::BufferDescriptor {
        label: None,
        size: 40 * 4_000_000,
        usage: wgpu::BufferUsages::STORAGE,
        mapped_at_creation: false,
    });
    if GPU.device().limits().max_storage_buffer_binding_size <= 1 << 27 {
        let points = GpuBatch::<[f32; 3]>::new(many.slice(..), 9_000_000);
        let refused = tree.record_overlaps(&mut encoder, points, 0, 9);
        assert!(matches!(refused, Err(Error::TooManyQueries { query_count: 9_000_000, .. })), "{refused:?}");
        let casts = GpuBatch::<BoxCast>::new(many.slice(..), 4_000_000);
        let refused = tree.record_nearest_hits(&mut encoder, casts);
        assert!(matches!(refused, Err(Error::TooManyQueries { buffer: "queries", .. })), "{refused:?}");
        let turned = GpuBatch::<OrientedBox>::new(many.slice(..), 400_000);
        let refused = tree.record_overlaps(&mut encoder, turned, 0, 9);
        assert!(matches!(refused, Err(Error::TooManyQueries { buffer: "queries", .. })), "{refused:?}");
        let points = GpuBatch::<[f32; 3]>::new(many.slice(..), 7_000_000).with_filters(many.slice(..));
        let refused = tree.record_overlaps(&mut encoder, points, 0, 9);
        assert!(matches!(refused, Err(Error::TooManyQueries { buffer: "query_filters", .. })), "{refused:?}");
        let refused = tree.record_all_hits(&mut encoder, batch, 0, 1 << 25);
        assert!(matches!(refused, Err(Error::TooManyQueries { buffer: "answers", .. })), "{refused:?}");
    }
    // A refused recording leaves the tree as it was.
    let left = tree.record_nearest_hits(&mut encoder, batch).unwrap();
    let rows = Rows::of::<Hit>(&mut encoder, &left, 20, 1);
    GPU.queue().submit([encoder.finish()]);
    let expected = tree.tree_mut().first_hits(&RayKind::Camera.generate(20, 7, &boxes), 1).unwrap();
    assert_rows(&rows, &expected, 1, MISS);
}

#[test]
fn a_lost_device_is_an_error_of_every_recording() {
    let gpu = Gpu::headless().unwrap();
    let boxes = Kind::Uniform.generate(2_000, 1);
    let mut tree = TreeRecorder::new(&gpu).unwrap();
    tree.tree_mut().build(&boxes).unwrap();
    let size = 28 * 100;
    let usage = wgpu::BufferUsages::STORAGE;
    let descriptor = wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false };
    let buffer = gpu.device().create_buffer(&descriptor);
    let mut encoder = gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    gpu.device().destroy();
    let lost = |result: Result<(), Error>| assert!(matches!(result, Err(Error::DeviceLost { .. })), "{result:?}");
    let rays = GpuBatch::<Ray>::new(buffer.slice(..), 100);
    lost(tree.record_nearest_hits(&mut encoder, rays).map(drop));
    lost(tree.record_all_hits(&mut encoder, rays, 0, 100).map(drop));
    lost(tree.record_nearest(&mut encoder, GpuBatch::new(buffer.slice(..), 100), 3).map(drop));
    let boxes = gpu.device().create_buffer(&wgpu::BufferDescriptor { size: 24 * 2_000, ..descriptor });
    lost(tree.record_refit(&mut encoder, boxes.slice(..), 2_000));
    lost(tree.record_build(&mut encoder, boxes.slice(..), 2_000));
}
