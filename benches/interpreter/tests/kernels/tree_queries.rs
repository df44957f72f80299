//! A tree that gets queries of every kind.

use broadsweep::query::{
    Batch, BoxCast, Capsule, CapsuleCast, Cast, Convex, NearestQuery, OrientedBox, QueryFilter, QueryFilters,
    QueryReport, Sphere, SphereCast,
};
use broadsweep::record::{GpuAnswers, GpuBatch, GpuConvex, GpuLists, GpuQuery, GpuShape, QueryHeader};
use broadsweep::{Aabb, Error, Filters, Gpu, Hit, Lists, QueryEngine, Ray, Tree, TreeRecorder, cpu, wgpu};
use bytemuck::Pod;

use crate::inputs;
use crate::numbers::{Like, Numbers};

/// Creates boxes on a grid, where many queries are undecided, with some that are invalid, enormous or unbounded.
pub fn boxes(n: usize) -> Vec<Aabb> {
    let mut boxes: Vec<Aabb> = (0..n)
        .map(|i| {
            let low = [i % 11, i / 11 % 11, i / 121].map(|x| x as f32);
            Aabb::new(low, low.map(|x| x + [0.5, 1.0, 1.5][i % 3]))
        })
        .collect();
    for (i, aabb) in boxes.iter_mut().enumerate().filter(|(i, _)| i % 31 == 7) {
        match i % 4 {
            0 => aabb.min[0] = f32::NAN,
            1 => aabb.max[1] = f32::INFINITY,
            2 => *aabb = Aabb::new([1e30; 3], [2e30; 3]),
            _ => aabb.max = aabb.min,
        }
    }
    boxes
}

/// Creates filters that trees support.
pub fn filters(n: usize) -> Filters {
    let all = inputs::filters(n).with_include(Vec::new()).with_exclude(Vec::new()).with_owner(None);
    all.with_sphere(spheres(n, [1.5, f32::INFINITY, 2.5, 0.5]))
}

/// Radii of queries: spheres overlap, or fail to touch, by a last bit.
const NEARLY_TOUCHING: [f32; 4] = [0.5f32.next_up(), 1.5f32.next_up(), f32::INFINITY, 2.5f32.next_down()];

/// Generates spheres about points that lie in a grid, of which many touch exactly.
fn spheres(n: usize, radii: [f32; 4]) -> Vec<[f32; 4]> {
    let sphere = |i: usize| [(i % 7) as f32, (i % 5) as f32, (i % 3) as f32, radii[i / 2 % 4]];
    (0..n).map(sphere).collect()
}

fn of_queries(n: usize) -> QueryFilters {
    let list = |of: &dyn Fn(usize) -> usize| (0..n).map(|i| of(i) as u32).collect::<Vec<u32>>();
    QueryFilters::default()
        .with_group(list(&|i| 1 << (i % 3)))
        .with_mask(list(&|i| 7 ^ (i % 2)))
        .with_body(list(&|i| i % 9))
        .with_world((0..n).map(|i| if i % 3 == 0 { Filters::GLOBAL } else { (i % 5) as u32 }).collect())
        .with_ignore(list(&|i| i))
}

/// A tree that also answers recorded queries, if it has a device.
pub trait RecordedQueries: QueryEngine {
    /// Returns the output of queries with these filters: rows of hits, lists of hits and of boxes, whether there are
    /// any, and rows of the nearest boxes; each with its marks.
    fn left(&mut self, rays: &[Ray], spheres: &[Sphere], filters: &QueryFilters) -> Result<Vec<u64>, Error>;

    /// Returns the output of many rays: the nearest hits, whether there are any, and the offsets of the lists of all
    /// hits, few of which are written; each with its marks.
    fn left_of_many(&mut self, rays: &[Ray]) -> Result<Vec<u64>, Error>;
}

/// Half-spaces, three in a row of which make a shape.
const PARTS: [[f32; 4]; 6] = [
    [1.0, 0.0, 0.0, 4.0],
    [-1.0, 2.0, 0.5, 3.0],
    [0.0, -1.0, -1.0, -2.0],
    [0.3, 0.0, -1.0, 1.5],
    [-2.0, -1.0, 0.0, -5.0],
    [1.0, 1.0, 1.0, 12.0],
];

/// Convex shapes as a tree reads them, with their half-spaces behind them. The seventh refers to a missing half-space.
fn convex(n: u32) -> Vec<u32> {
    let bounds = Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]);
    let shape = |i| GpuConvex { bounds, first: if i == 7 { 4 } else { i % 4 }, count: 3 };
    let mut words: Vec<u32> = (0..n).flat_map(|i| bytemuck::cast::<_, [u32; 8]>(shape(i))).collect();
    words.extend(bytemuck::cast::<_, [u32; 4 * PARTS.len()]>(PARTS));
    words
}

/// Queries from which kernels derive others, if they lie in buffers.
struct Round {
    capsules: Vec<Capsule>,
    turned: Vec<OrientedBox>,
    spheres: Vec<SphereCast>,
    casts: Vec<CapsuleCast>,
}

impl Round {
    fn of(rays: &[Ray], spheres: &[Sphere]) -> Self {
        let both = || rays.iter().zip(spheres);
        let cast = |(ray, sphere): (&Ray, &Sphere)| CapsuleCast {
            from: sphere.center,
            to: sphere.center.map(|x| 0.5 * x),
            radius: sphere.radius,
            direction: ray.direction,
            limit: ray.limit,
        };
        let casts: Vec<CapsuleCast> = both().map(cast).collect();
        let turned = |(i, (ray, sphere)): (usize, (&Ray, &Sphere))| {
            let mut axes = [[0.6, 0.8, 0.0], [-0.8, 0.6, 0.0], [0.0, 0.0, 1.0]];
            // Some in a plane, some of no length.
            axes[i % 3] = [axes[i % 3], ray.direction, axes[(i + 1) % 3]][i % 5 % 3];
            OrientedBox { center: sphere.center, half: [0.5, sphere.radius, 1.0], axes }
        };
        Self {
            capsules: casts.iter().map(|&CapsuleCast { from, to, radius, .. }| Capsule { from, to, radius }).collect(),
            turned: both().enumerate().map(turned).collect(),
            spheres: casts
                .iter()
                .map(|&CapsuleCast { from: center, radius, direction, limit, .. }| SphereCast {
                    center,
                    radius,
                    direction,
                    limit,
                })
                .collect(),
            casts,
        }
    }
}

/// Answers in a row.
const ROW: usize = 3;
/// Answers of a list that has more.
const FEW: usize = 40;
/// Dispatches after the first that continue a query: enough if each takes few turns.
const ROUNDS: u32 = 16;

fn wide([low, high]: [u32; 2]) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

fn marks(report: &QueryReport) -> impl Iterator<Item = u64> + '_ {
    (0..report.query_count).map(|i| u64::from(report.first_invalid.contains(&i)))
}

fn points_of(spheres: &[Sphere]) -> Vec<NearestQuery> {
    spheres.iter().map(|sphere| NearestQuery { point: sphere.center, radius: sphere.radius }).collect()
}

impl RecordedQueries for cpu::Tree {
    fn left(&mut self, rays: &[Ray], spheres: &[Sphere], filters: &QueryFilters) -> Result<Vec<u64>, Error> {
        fn rows<T: Pod>(lists: &Lists<T>) -> Vec<u64> {
            let mut words: Vec<u64> = Vec::new();
            for row in lists {
                let row: &[[u32; 2]] = bytemuck::cast_slice(row);
                let miss = [u32::MAX, f32::INFINITY.to_bits()];
                words.extend(row.iter().copied().chain([miss; ROW]).take(ROW).map(wide));
            }
            words.extend(marks(&lists.report));
            words
        }
        let of_rays = Batch::new(rays).with_filters(filters);
        let mut all = rows(&self.first_hits(of_rays, ROW)?);
        let hits = self.all_hits(of_rays)?;
        all.extend(hits.offsets.iter().copied().chain(hits.answers.iter().map(|&hit| wide(bytemuck::cast(hit)))));
        all.extend(marks(&hits.report));
        let mut shapes: Vec<Convex> =
            (0..rays.len()).map(|i| Convex { half_spaces: &PARTS[i % 4..i % 4 + 3] }).collect();
        shapes[7].half_spaces = &[[0.0; 4]];
        let round = Round::of(rays, spheres);
        let touching = [
            self.overlaps(Batch::new(spheres).with_filters(filters))?,
            self.overlaps(Batch::new(&shapes).with_filters(filters))?,
            self.overlaps(Batch::new(&round.capsules).with_filters(filters))?,
            self.overlaps(Batch::new(&round.turned).with_filters(filters))?,
        ];
        for touching in touching {
            all.extend(&touching.offsets);
            for (i, row) in touching.iter().enumerate() {
                all.extend(row.iter().map(|&index| wide([i as u32, index])));
            }
            all.extend(marks(&touching.report));
        }
        let any = self.any_hits(of_rays)?;
        all.extend(any.answers.iter().map(|&hit| u64::from(hit)));
        all.extend(marks(&any.report));
        all.extend(rows(&self.nearest(Batch::new(&points_of(spheres)).with_filters(filters), ROW)?));
        all.extend(rows(&self.first_hits(Batch::new(&round.spheres).with_filters(filters), ROW)?));
        all.extend(rows(&self.first_hits(Batch::new(&round.casts).with_filters(filters), ROW)?));
        Ok(all)
    }

    fn left_of_many(&mut self, rays: &[Ray]) -> Result<Vec<u64>, Error> {
        let hits = self.nearest_hits(rays)?;
        let answers = hits.answers.iter().map(|&hit| wide(bytemuck::cast(hit)));
        let mut all: Vec<u64> = answers.chain(marks(&hits.report)).collect();
        let any = self.any_hits(rays)?;
        all.extend(any.answers.iter().map(|&hit| u64::from(hit)).chain(marks(&any.report)));
        let hits = self.all_hits(rays)?;
        let (count, written) = (hits.answers.len(), hits.answers.len().min(FEW));
        all.extend(hits.offsets.iter().copied().chain(marks(&hits.report)));
        all.extend([count, written, usize::from(count > written)].map(|word| word as u64));
        Ok(all)
    }
}

/// Uploads bytes for kernels to read.
fn upload(gpu: &Gpu, bytes: &[u8]) -> wgpu::Buffer {
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
    let descriptor = wgpu::BufferDescriptor { label: None, size: bytes.len() as u64, usage, mapped_at_creation: false };
    let buffer = gpu.device().create_buffer(&descriptor);
    gpu.queue().write_buffer(&buffer, 0, bytes);
    buffer
}

/// Begins what is submitted.
pub fn encoder(gpu: &Gpu) -> wgpu::CommandEncoder {
    gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
}

/// Submits, and reads the first words of some buffers.
pub fn read(gpu: &Gpu, mut encoder: wgpu::CommandEncoder, parts: &[(&wgpu::Buffer, usize)]) -> Vec<u32> {
    let bytes = parts.iter().map(|(_, words)| 4 * *words as u64).sum();
    let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
    let descriptor = wgpu::BufferDescriptor { label: None, size: bytes, usage, mapped_at_creation: false };
    let copy = gpu.device().create_buffer(&descriptor);
    let mut to = 0;
    for &(buffer, words) in parts {
        encoder.copy_buffer_to_buffer(buffer, 0, &copy, to, 4 * words as u64);
        to += 4 * words as u64;
    }
    gpu.queue().submit([encoder.finish()]);
    copy.slice(..).map_async(wgpu::MapMode::Read, |_| {});
    let _ = gpu.device().poll(wgpu::PollType::wait_indefinitely());
    let view = copy.slice(..).get_mapped_range().expect("a buffer that is mapped");
    bytemuck::pod_collect_to_vec(&view)
}

fn wide_all(words: &[u32]) -> Vec<u64> {
    words.chunks(2).map(|two| wide([two[0], two[1]])).collect()
}

/// Rows of answers, which are read before the next recording.
struct Rows {
    answers: wgpu::Buffer,
    status: wgpu::Buffer,
}

impl From<GpuAnswers<'_>> for Rows {
    fn from(left: GpuAnswers<'_>) -> Self {
        Self { answers: left.answers.clone(), status: left.status.clone() }
    }
}

/// Lists of answers, which are read before the next recording.
struct Listed {
    /// Offsets, answers, status and header.
    buffers: [wgpu::Buffer; 4],
    capacity: u32,
}

impl From<GpuLists<'_>> for Listed {
    fn from(left: GpuLists<'_>) -> Self {
        let buffers = [left.offsets, left.answers, left.status, left.header].map(Clone::clone);
        Self { buffers, capacity: left.capacity }
    }
}

/// Records one kind of queries after the other, and returns the output of each.
struct Recorder<'a> {
    tree: &'a mut TreeRecorder,
    gpu: Gpu,
    /// The filters and spheres of queries, or paths; and the query count.
    said: wgpu::Buffer,
    n: usize,
}

impl Recorder<'_> {
    /// Uploads queries and the data behind them, and records.
    fn record<Q: GpuQuery, T>(
        &mut self,
        queries: &[u8],
        record: impl FnOnce(&mut TreeRecorder, &mut wgpu::CommandEncoder, GpuBatch<'_, Q>) -> Result<T, Error>,
    ) -> Result<(wgpu::CommandEncoder, T), Error> {
        let queries = upload(&self.gpu, queries);
        let batch = GpuBatch::<Q>::new(queries.slice(..), self.n as u32);
        let mut encoder = encoder(&self.gpu);
        let left =
            record(self.tree, &mut encoder, batch.with_filters_and_spheres(self.said.slice(..)).with_rounds(ROUNDS))?;
        Ok((encoder, left))
    }

    /// Uploads rays, and records their queries alone.
    fn record_alone<T>(
        &mut self,
        rays: &[Ray],
        record: impl FnOnce(&mut TreeRecorder, &mut wgpu::CommandEncoder, GpuBatch<'_, Ray>) -> Result<T, Error>,
    ) -> Result<(wgpu::CommandEncoder, T), Error> {
        let paths = upload(&self.gpu, bytemuck::cast_slice(rays));
        let mut encoder = encoder(&self.gpu);
        let batch = GpuBatch::<Ray>::new(paths.slice(..), rays.len() as u32).with_rounds(ROUNDS);
        let left = record(self.tree, &mut encoder, batch)?;
        Ok((encoder, left))
    }

    fn any(&self, encoder: wgpu::CommandEncoder, left: &Rows) -> Vec<u64> {
        let words = read(&self.gpu, encoder, &[(&left.answers, self.n), (&left.status, self.n)]);
        words.iter().map(|&word| u64::from(word)).collect()
    }

    fn rows(&self, (encoder, left): (wgpu::CommandEncoder, Rows)) -> Vec<u64> {
        let words = read(&self.gpu, encoder, &[(&left.answers, 2 * ROW * self.n), (&left.status, self.n)]);
        let (answers, marks) = words.split_at(2 * ROW * self.n);
        [wide_all(answers), marks.iter().map(|&mark| u64::from(mark)).collect()].concat()
    }

    fn lists(&self, (encoder, left): (wgpu::CommandEncoder, Listed)) -> Vec<u64> {
        let (most, n) = (left.capacity as usize, self.n);
        let header = size_of::<QueryHeader>() / 4;
        let [offsets, answers, status, headers] = &left.buffers;
        let parts = [(offsets, 2 * (n + 1)), (answers, 2 * most), (status, n), (headers, header)];
        let words = read(&self.gpu, encoder, &parts);
        let (offsets, words) = words.split_at(2 * (n + 1));
        let (answers, words) = words.split_at(2 * most);
        let (marks, header) = words.split_at(n);
        let header: QueryHeader = bytemuck::pod_read_unaligned(bytemuck::cast_slice(header));
        let written = 2 * (header.written as usize).min(most);
        let marks = marks.iter().map(|&mark| u64::from(mark)).collect();
        [wide_all(offsets), wide_all(&answers[..written]), marks].concat()
    }

    fn first_hits<C: Cast + GpuQuery>(&mut self, casts: &[C]) -> Result<Vec<u64>, Error> {
        let left = self.record::<C, _>(bytemuck::cast_slice(casts), |tree, encoder, batch| {
            tree.record_first_hits(encoder, batch, ROW as u32).map(Rows::from)
        })?;
        Ok(self.rows(left))
    }

    fn overlaps<S: GpuShape>(&mut self, shapes: &[S]) -> Result<Vec<u64>, Error> {
        let left = self.record::<S, _>(bytemuck::cast_slice(shapes), |tree, encoder, batch| {
            tree.record_overlaps(encoder, batch, 0, 4000).map(Listed::from)
        })?;
        Ok(self.lists(left))
    }
}

impl RecordedQueries for Tree {
    fn left(&mut self, rays: &[Ray], spheres: &[Sphere], filters: &QueryFilters) -> Result<Vec<u64>, Error> {
        with_recorder(self, |recorder| left_of(recorder, rays, spheres, filters))
    }

    fn left_of_many(&mut self, rays: &[Ray]) -> Result<Vec<u64>, Error> {
        with_recorder(self, |recorder| left_of_many(recorder, rays))
    }
}

/// Records with a tree.
fn with_recorder<T>(tree: &mut Tree, record: impl FnOnce(&mut TreeRecorder) -> Result<T, Error>) -> Result<T, Error> {
    let empty = Tree::new(tree.gpu())?;
    let mut recorder = TreeRecorder::from(std::mem::replace(tree, empty));
    let recorded = record(&mut recorder);
    *tree = recorder.into();
    recorded
}

fn left_of(
    recorder: &mut TreeRecorder,
    rays: &[Ray],
    spheres: &[Sphere],
    filters: &QueryFilters,
) -> Result<Vec<u64>, Error> {
    let (gpu, n) = (recorder.tree().gpu().clone(), rays.len());
    let query_filters: Vec<QueryFilter> = (0..n)
        .map(|i| QueryFilter {
            group: filters.group[i],
            mask: filters.mask[i],
            body: filters.body[i],
            world: filters.world[i],
            ignore: filters.ignore[i],
        })
        .collect();
    let mut words: Vec<u32> = bytemuck::cast_slice(&query_filters).to_vec();
    words.extend_from_slice(bytemuck::cast_slice(&filters.sphere));
    let said = upload(&gpu, bytemuck::cast_slice(&words));
    let mut own = Recorder { tree: recorder, gpu, said, n };
    let round = Round::of(rays, spheres);
    let mut all = own.first_hits(rays)?;
    let hits = own.record::<Ray, _>(bytemuck::cast_slice(rays), |tree, encoder, batch| {
        tree.record_all_hits(encoder, batch, 0, 4000).map(Listed::from)
    })?;
    all.extend(own.lists(hits));
    all.extend(own.overlaps(spheres)?);
    let shapes = convex(n as u32);
    let touching = own.record::<GpuConvex, _>(bytemuck::cast_slice(&shapes), |tree, encoder, batch| {
        tree.record_overlaps(encoder, batch.with_half_spaces(PARTS.len() as u32), 0, 24_000).map(Listed::from)
    })?;
    all.extend(own.lists(touching));
    all.extend(own.overlaps(&round.capsules)?);
    all.extend(own.overlaps(&round.turned)?);
    let (encoder, left) = own.record::<Ray, _>(bytemuck::cast_slice(rays), |tree, encoder, batch| {
        tree.record_any_hits(encoder, batch).map(Rows::from)
    })?;
    all.extend(own.any(encoder, &left));
    let points = points_of(spheres);
    let near = own.record::<NearestQuery, _>(bytemuck::cast_slice(&points), |tree, encoder, batch| {
        tree.record_nearest(encoder, batch, ROW as u32).map(Rows::from)
    })?;
    all.extend(own.rows(near));
    all.extend(own.first_hits(&round.spheres)?);
    all.extend(own.first_hits(&round.casts)?);
    Ok(all)
}

fn left_of_many(recorder: &mut TreeRecorder, rays: &[Ray]) -> Result<Vec<u64>, Error> {
    let gpu = recorder.tree().gpu().clone();
    let paths = upload(&gpu, bytemuck::cast_slice(rays));
    let mut encoder = encoder(&gpu);
    let batch = GpuBatch::<Ray>::new(paths.slice(..), rays.len() as u32).with_rounds(ROUNDS);
    let left = recorder.record_nearest_hits(&mut encoder, batch)?;
    let n = rays.len();
    let words = read(&gpu, encoder, &[(left.answers, 2 * n), (left.status, n)]);
    let (answers, marks) = words.split_at(2 * n);
    let mut all: Vec<u64> = wide_all(answers).into_iter().chain(marks.iter().map(|&mark| u64::from(mark))).collect();
    let mut own = Recorder { said: paths, tree: recorder, gpu, n };
    let (encoder, left) =
        own.record_alone(rays, |tree, encoder, batch| tree.record_any_hits(encoder, batch).map(Rows::from))?;
    all.extend(own.any(encoder, &left));
    let (encoder, left) = own.record_alone(rays, |tree, encoder, batch| {
        tree.record_all_hits(encoder, batch, 0, FEW as u32).map(Listed::from)
    })?;
    // A truncated list may have any of the answers.
    let [offsets, _, status, header] = &left.buffers;
    let parts = [(offsets, 2 * (n + 1)), (status, n), (header, size_of::<QueryHeader>() / 4)];
    let words = read(&own.gpu, encoder, &parts);
    let (offsets, words) = words.split_at(2 * (n + 1));
    let (marks, header) = words.split_at(n);
    let header: QueryHeader = bytemuck::pod_read_unaligned(bytemuck::cast_slice(header));
    all.extend(wide_all(offsets).into_iter().chain(marks.iter().map(|&mark| u64::from(mark))));
    all.extend([header.count, header.written, u32::from(header.overflow != 0)].map(u64::from));
    Ok(all)
}

fn at(i: usize) -> [f32; 3] {
    [(i * 7 % 23) as f32 * 0.5, (i * 5 % 21) as f32 * 0.5, (i * 3 % 19) as f32 * 0.5]
}

fn way(i: usize) -> [f32; 3] {
    [(i % 3) as f32 - 1.0, (i / 3 % 3) as f32 - 1.0, (i / 9 % 3) as f32 - 1.0]
}

/// The answers to queries of every kind, in bits.
fn answers(tree: &mut impl RecordedQueries, boxes: &[Aabb]) -> Result<Vec<u64>, Error> {
    let n = 70;
    let rays: Vec<Ray> = (0..n).map(|i| Ray::new(at(i), way(i))).collect();
    let casts: Vec<BoxCast> = (0..n)
        .map(|i| BoxCast { aabb: Aabb::new(at(i), at(i).map(|x| x + 0.5)), direction: way(i + 5), limit: 3.0 })
        .collect();
    let mut points: Vec<NearestQuery> =
        (0..n).map(|i| NearestQuery { point: at(i), radius: [1.0, f32::INFINITY][i % 2] }).collect();
    // The square of a distance a little less than a half is so near to an f32 that 64 bits do not round it.
    for (i, point) in points.iter_mut().enumerate().filter(|(i, _)| i % 2 == 1) {
        point.point[i / 2 % 3] = 1e-9;
    }
    let spheres: Vec<Sphere> = (0..n).map(|i| Sphere { center: at(i), radius: (i % 4) as f32 * 0.5 }).collect();
    let capsules: Vec<Capsule> = (0..n).map(|i| Capsule { from: at(i), to: at(i + 1), radius: 0.25 }).collect();
    let axes = [[0.6, 0.8, 0.0], [-0.8, 0.6, 0.0], [0.0, 0.0, 1.0]];
    let turned: Vec<OrientedBox> = (0..n).map(|i| OrientedBox { center: at(i), half: [0.5, 1.0, 0.2], axes }).collect();
    let of_points: Vec<[f32; 3]> = (0..n).map(at).collect();
    let filters = &of_queries(n);
    // Enough for a sort.
    let many: Vec<Ray> = rays.iter().copied().cycle().take(1100).collect();
    let mut all: Vec<u64> = Vec::new();
    let mut hits = |hits: &[Hit]| {
        all.extend(hits.iter().map(|hit| u64::from(hit.index) << 32 | u64::from(hit.t.to_bits())));
    };
    hits(&tree.nearest_hits(&many)?.answers);
    hits(&tree.nearest_hits(Batch::new(&casts).with_filters(filters))?.answers);
    hits(&tree.first_hits(&rays, 5)?.answers);
    hits(&tree.all_hits(Batch::new(&rays).with_filters(filters))?.answers);
    all.extend(tree.any_hits(&casts)?.answers.iter().map(|&hit| u64::from(hit)));
    for k in [1, 3] {
        let near = tree.nearest(Batch::new(&points).with_filters(filters), k)?;
        all.extend(
            near.answers.iter().map(|near| u64::from(near.index) << 32 | u64::from(near.squared_distance.to_bits())),
        );
    }
    let lists = [
        tree.overlaps(&spheres)?,
        tree.overlaps(&capsules)?,
        tree.overlaps(&turned)?,
        tree.overlaps(&of_points)?,
        tree.overlaps(Batch::new(&boxes[..n]).with_filters(filters))?,
    ];
    for list in lists {
        all.extend(list.offsets.iter().copied().chain(list.answers.iter().map(|&index| u64::from(index))));
    }
    Ok(all)
}

/// The answers to recorded queries of every kind, in bits.
fn left(tree: &mut impl RecordedQueries) -> Result<Vec<u64>, Error> {
    let mut rays: Vec<Ray> = (0..20).map(|i| Ray::new(at(i), way(i))).collect();
    let mut spheres: Vec<Sphere> = (0..20).map(|i| Sphere { center: at(i), radius: (i % 4) as f32 * 0.5 }).collect();
    (rays[7].limit, spheres[7].radius) = (f32::NAN, -1.0);
    let filters = of_queries(20).with_sphere(self::spheres(20, NEARLY_TOUCHING));
    let mut all = tree.left(&rays, &spheres, &filters)?;
    // More than two workgroups count. Each has several pending queries and several without a meaning.
    let mut many: Vec<Ray> = (0..600).map(|i| Ray { limit: 0.25, ..Ray::new(at(i % 70), way(i % 70)) }).collect();
    for i in [4, 9, 260, 270] {
        many[i].origin[1] = f32::NAN;
    }
    all.extend(tree.left_of_many(&many)?);
    Ok(all)
}

/// The answers to queries of numbers of this kind, in bits: with filters and without.
fn answers_of_numbers(tree: &mut impl RecordedQueries, boxes: &[Aabb], like: Like) -> Result<Vec<u64>, Error> {
    let (n, mut numbers) = (60, Numbers::new(3));
    let mut rays: Vec<Ray> = (0..n).map(|_| numbers.ray(boxes, like)).collect();
    let mut casts: Vec<BoxCast> = (0..n).map(|_| numbers.cast(boxes, like)).collect();
    // Along one axis, the last one that is tested.
    for (i, (ray, cast)) in rays.iter_mut().zip(&mut casts).enumerate().filter(|(i, _)| i % 5 == 0) {
        ray.direction = [0.0, 0.0, [1.0, -0.3][i % 2]];
        (cast.direction, cast.limit) = (ray.direction, f32::INFINITY);
    }
    let spheres: Vec<Sphere> = (0..n).map(|_| numbers.sphere(boxes, like)).collect();
    let points: Vec<NearestQuery> = (0..n).map(|_| numbers.nearest(boxes, like)).collect();
    let regions: Vec<Aabb> = (0..n).map(|_| numbers.region(boxes, like)).collect();
    let round = Round::of(&rays, &spheres);
    let mut all: Vec<u64> = Vec::new();
    let with_spheres = of_queries(n).with_sphere(self::spheres(n, NEARLY_TOUCHING));
    for filters in [&QueryFilters::default(), &of_queries(n).with_skips_separating(true), &with_spheres] {
        fn batch<'a, Q>(queries: &'a [Q], filters: &'a QueryFilters) -> Batch<'a, Q> {
            Batch::new(queries).with_filters(filters)
        }
        let nearest = [tree.nearest_hits(batch(&rays, filters))?, tree.nearest_hits(batch(&casts, filters))?];
        all.extend(nearest.iter().flat_map(|hits| &hits.answers).map(|&hit| wide(bytemuck::cast(hit))));
        let rows = [
            tree.first_hits(batch(&rays, filters), ROW)?,
            tree.first_hits(batch(&casts, filters), ROW)?,
            tree.first_hits(batch(&round.spheres, filters), ROW)?,
            tree.first_hits(batch(&round.casts, filters), ROW)?,
            tree.all_hits(batch(&rays, filters))?,
            tree.all_hits(batch(&casts, filters))?,
        ];
        for list in rows {
            all.extend(list.offsets.iter().copied().chain(list.answers.iter().map(|&hit| wide(bytemuck::cast(hit)))));
        }
        for any in [tree.any_hits(batch(&rays, filters))?, tree.any_hits(batch(&casts, filters))?] {
            all.extend(any.answers.iter().map(|&hit| u64::from(hit)).chain(marks(&any.report)));
        }
        for k in [1, 4] {
            let near = tree.nearest(batch(&points, filters), k)?;
            all.extend(near.offsets.iter().copied().chain(near.answers.iter().map(|&near| wide(bytemuck::cast(near)))));
        }
        let touching = [
            tree.overlaps(batch(&spheres, filters))?,
            tree.overlaps(batch(&regions, filters))?,
            tree.overlaps(batch(&round.capsules, filters))?,
            tree.overlaps(batch(&round.turned, filters))?,
        ];
        for list in touching {
            all.extend(list.offsets.iter().copied().chain(list.answers.iter().map(|&index| u64::from(index))));
        }
    }
    Ok(all)
}

/// The source of the queries of a tree.
#[derive(Clone, Copy, Debug)]
pub enum QueriedFrom {
    /// From host memory, with numbers of this kind.
    Numbers(Like),
    /// From host memory; the tree is built and refitted.
    Host,
    /// From buffers of its device, where the answers stay; the tree is built.
    Device,
}

impl QueriedFrom {
    /// Creates a tree, and returns its answers.
    ///
    /// # Errors
    /// The errors of the tree.
    pub fn answer(self, tree: &mut impl RecordedQueries, boxes: &[Aabb], filters: &Filters) -> Result<Vec<u64>, Error> {
        let mut filters = filters.clone();
        if matches!(self, Self::Device) {
            // Recorded queries refuse them.
            filters.half_spaces.clear();
        }
        tree.set_filters(filters)?;
        tree.build(boxes)?;
        match self {
            Self::Device => return left(tree),
            Self::Numbers(like) => return answers_of_numbers(tree, boxes, like),
            Self::Host => {}
        }
        let moved: Vec<Aabb> =
            boxes.iter().map(|aabb| Aabb { min: aabb.min.map(|x| x - 0.5), max: aabb.max.map(|x| x + 0.5) }).collect();
        let report = tree.refit(&moved)?;
        let mut all = vec![u64::from(report.invalid_count)];
        all.extend(report.first_invalid.iter().map(|&i| u64::from(i)));
        tree.refit(boxes)?;
        all.extend(answers(tree, boxes)?);
        Ok(all)
    }
}
