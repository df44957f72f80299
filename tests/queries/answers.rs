//! Recorded queries: filters of batches, and answers that are read back and compared with those of the host.

use broadsweep::query::{QueryFilter, QueryFilters, QueryReport};
use broadsweep::record::{GpuAnswers, GpuBatch, GpuLists, GpuPairs, GpuQuery, QueryHeader};
use broadsweep::{Aabb, Filters, Gpu, Hit, Lists, TreeRecorder, wgpu};
use bytemuck::Pod;

use crate::common::device::{Copied, upload};

/// Builds a tree of these boxes, which records queries.
pub fn built(gpu: &Gpu, boxes: &[Aabb]) -> TreeRecorder {
    let mut tree = TreeRecorder::new(gpu).unwrap();
    tree.tree_mut().build(boxes).unwrap();
    tree
}

/// The output of rows of answers on the device.
pub struct Rows {
    pub answers: Copied,
    pub status: Copied,
    pub header: Copied,
}

impl Rows {
    pub fn of<T>(encoder: &mut wgpu::CommandEncoder, left: &GpuAnswers, queries: usize, k: usize) -> Self {
        Self {
            answers: Copied::first::<T>(encoder, left.answers, queries * k),
            status: Copied::first::<u32>(encoder, left.status, queries),
            header: Copied::first::<QueryHeader>(encoder, left.header, 1),
        }
    }

    pub fn header(&self) -> QueryHeader {
        self.header.read()[0]
    }
}

/// The output of lists of answers on the device.
pub struct Listed {
    pub offsets: Copied,
    pub answers: Copied,
    pub status: Copied,
    pub header: Copied,
    pub arguments: Copied,
}

impl Listed {
    pub fn of(encoder: &mut wgpu::CommandEncoder, left: &GpuLists, queries: usize) -> Self {
        let words = GpuPairs::DISPATCH_OFFSET as usize / 4 + 3;
        Self {
            offsets: Copied::first::<u64>(encoder, left.offsets, queries + 1),
            answers: Copied::first::<[u32; 2]>(encoder, left.answers, left.capacity as usize),
            status: Copied::first::<u32>(encoder, left.status, queries),
            header: Copied::first::<QueryHeader>(encoder, left.header, 1),
            arguments: Copied::first::<u32>(encoder, left.arguments, words),
        }
    }

    pub fn header(&self) -> QueryHeader {
        self.header.read()[0]
    }
}

/// Checks that every query is marked as answered but the invalid ones.
pub fn assert_marked(status: &[u32], header: &QueryHeader, report: &QueryReport) {
    assert_eq!((header.unfinished, u64::from(header.invalid)), (0, report.invalid_count));
    let invalid: Vec<u64> =
        (0..).zip(status).filter(|(_, status)| **status == GpuAnswers::INVALID).map(|(i, _)| i).collect();
    assert_eq!(invalid.len() as u64, report.invalid_count);
    assert_eq!(invalid[..report.first_invalid.len()], report.first_invalid);
    assert!(status.iter().all(|&status| status != GpuAnswers::UNFINISHED));
}

/// Checks rows of `k` answers against lists, bit for bit; behind the last, there is `none`.
pub fn assert_rows<T: Pod>(found: &Rows, expected: &Lists<T>, k: usize, none: [u32; 2]) {
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
pub fn assert_lists<T: Pod>(found: &Listed, expected: &Lists<T>, answer: impl Fn(usize, &T) -> [u32; 2]) {
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

pub fn hit_words(_: usize, hit: &Hit) -> [u32; 2] {
    [hit.index, hit.t.to_bits()]
}

pub fn touch_words(query: usize, index: &u32) -> [u32; 2] {
    [query as u32, *index]
}

pub const MISS: [u32; 2] = [u32::MAX, 0x7f80_0000];

/// The filters of queries, as lists and as the device reads them.
pub fn upload_filters(filters: &QueryFilters, count: usize) -> Option<wgpu::Buffer> {
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
pub fn filtered<'a, Q: GpuQuery>(
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

/// Filters of boxes and of queries, in worlds whose ids are far apart.
pub fn filters(boxes: usize, queries: usize) -> [(Filters, QueryFilters); 4] {
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
