//! Casts rays that each meet only some groups of boxes, and finds the nearest hit and all hits of each: first from host
//! memory, then from buffers of the device. A double loop checks both.
//!
//! `cargo run --example rays_with_groups`

use broadsweep::filter::GroupRule;
use broadsweep::query::{Batch, QueryFilter, QueryFilters};
use broadsweep::record::{GpuBatch, QueryHeader};
use broadsweep::wgpu::{self, BufferUsages, util::DeviceExt};
use broadsweep::{Aabb, Filters, Gpu, Hit, Ray, TreeRecorder};

/// Returns where a ray enters a box. Exact, because all numbers here are small integers and directions are -1, 0 or 1.
fn enter(ray: &Ray, aabb: &Aabb) -> Option<f32> {
    let (mut from, mut to) = (0.0f32, ray.limit);
    for axis in 0..3 {
        let (origin, direction) = (ray.origin[axis], ray.direction[axis]);
        let (near, far) = (aabb.min[axis] - origin, aabb.max[axis] - origin);
        match direction {
            0.0 if near > 0.0 || far < 0.0 => return None,
            0.0 => {}
            _ => {
                (from, to) =
                    (from.max((near * direction).min(far * direction)), to.min((near * direction).max(far * direction)))
            }
        }
    }
    (from <= to).then_some(from)
}

/// Reads the first elements of a buffer of the device.
fn read<T: bytemuck::Pod>(gpu: &Gpu, from: &wgpu::Buffer, count: usize) -> Result<Vec<T>, Box<dyn std::error::Error>> {
    let (size, usage) = ((count * size_of::<T>()) as u64, BufferUsages::COPY_DST | BufferUsages::MAP_READ);
    let to =
        gpu.device().create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
    let mut encoder = gpu.device().create_command_encoder(&Default::default());
    encoder.copy_buffer_to_buffer(from, 0, &to, 0, size);
    gpu.queue().submit([encoder.finish()]);
    to.map_async(wgpu::MapMode::Read, .., |result| result.unwrap());
    gpu.device().poll(wgpu::PollType::wait_indefinitely())?;
    Ok(bytemuck::pod_collect_to_vec(&to.get_mapped_range(..)?))
}

/// Finds all hits of each ray, ascending by index, and the nearest one: by `t`, then by index.
fn double_loop(boxes: &[Aabb], groups: &[u32], rays: &[Ray], masks: &[u32]) -> (Vec<Vec<Hit>>, Vec<Hit>) {
    let hits_of = |(ray, mask): (&Ray, &u32)| -> Vec<Hit> {
        let met = (0..).zip(boxes).filter(|&(index, _)| groups[index as usize] & mask != 0);
        met.filter_map(|(index, aabb)| enter(ray, aabb).map(|t| Hit { index, t })).collect()
    };
    let all: Vec<Vec<Hit>> = rays.iter().zip(masks).map(hits_of).collect();
    let nearest_of = |hits: &Vec<Hit>| hits.iter().copied().min_by(|a, b| a.t.total_cmp(&b.t)).unwrap_or(Hit::MISS);
    let nearest = all.iter().map(nearest_of).collect();
    (all, nearest)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut seed = 1u32;
    let mut random = |n: u32| {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (seed >> 16) % n
    };
    let mut vector = |n: u32| [(); 3].map(|()| random(n) as f32);
    let boxes: Vec<Aabb> = (0..2000)
        .map(|_| (vector(100), vector(5)))
        .map(|(min, size)| Aabb::new(min, [0, 1, 2].map(|i| min[i] + size[i])))
        .collect();
    let rays: Vec<Ray> = (0..1000).map(|_| Ray::segment(vector(100), vector(3).map(|x| x - 1.0), 60.0)).collect();
    let groups: Vec<u32> = boxes.iter().map(|_| 1 << random(3)).collect();
    let masks: Vec<u32> = rays.iter().map(|_| random(8)).collect(); // none, some or all of the three groups

    let (all, nearest) = double_loop(&boxes, &groups, &rays, &masks);

    // From host memory. Under `GroupRule::Both` the mask of a ray alone decides.
    let gpu = Gpu::headless()?;
    let mut recorder = TreeRecorder::new(&gpu)?;
    let tree = recorder.tree_mut();
    tree.set_filters(Filters::default().with_group(groups.clone()).with_rule(GroupRule::Both))?;
    tree.build(&boxes)?;
    let filters = QueryFilters::meeting(masks.clone(), GroupRule::Both);
    let batch = Batch::new(&rays).with_filters(&filters);
    assert_eq!(tree.nearest_hits(batch)?.answers, nearest);
    let lists = tree.all_hits(batch)?;
    assert!(lists.iter().eq(all.iter().map(Vec::as_slice)));

    // From buffers of the device. A recording overwrites the answers of the one before: each is read back before the
    // next.
    let device = gpu.device();
    let buffer = |contents| {
        device.create_buffer_init(&wgpu::util::BufferInitDescriptor {
            label: None,
            contents,
            usage: BufferUsages::STORAGE,
        })
    };
    let query_filters: Vec<QueryFilter> =
        masks.iter().map(|&mask| QueryFilter { mask, ..Default::default() }).collect();
    let (ray_buffer, filter_buffer) =
        (buffer(bytemuck::cast_slice(&rays)), buffer(bytemuck::cast_slice(&query_filters)));
    let batch = GpuBatch::<Ray>::new(ray_buffer.slice(..), rays.len() as u32).with_filters(filter_buffer.slice(..));
    let mut encoder = device.create_command_encoder(&Default::default());
    let hits = recorder.record_nearest_hits(&mut encoder, batch)?;
    gpu.queue().submit([encoder.finish()]);
    assert_eq!(read::<Hit>(&gpu, hits.answers, rays.len())?, nearest);
    assert_eq!(read::<QueryHeader>(&gpu, hits.header, 1)?[0].unfinished, 0);

    let mut encoder = device.create_command_encoder(&Default::default());
    let hits = recorder.record_all_hits(&mut encoder, batch, 0, lists.answers.len() as u32)?;
    gpu.queue().submit([encoder.finish()]);
    assert_eq!(read::<u64>(&gpu, hits.offsets, rays.len() + 1)?, lists.offsets);
    assert_eq!(read::<Hit>(&gpu, hits.answers, lists.answers.len())?, lists.answers);
    let header = read::<QueryHeader>(&gpu, hits.header, 1)?[0];
    assert_eq!((header.count as usize, header.overflow, header.unfinished), (lists.answers.len(), 0, 0));
    println!(
        "{} rays, {} hit a box, {} hits in all",
        rays.len(),
        nearest.iter().filter(|hit| hit.is_hit()).count(),
        header.count
    );
    Ok(())
}
