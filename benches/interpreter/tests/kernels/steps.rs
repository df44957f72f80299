//! Steps that are recorded.

use broadsweep::{
    Aabb, BroadPhase, Error, Events, Filters, Gpu, GpuEvents, GpuIdentity, GpuPairs, Options, Pair, Step, cpu, wgpu,
};
use bytemuck::Pod;

use crate::asks::read;

/// A step, and what is said of its boxes.
struct Frame {
    boxes: Vec<Aabb>,
    generations: Option<Vec<u32>>,
    was: Option<Vec<u32>>,
}

/// Makes steps of these boxes: with generations, without, and with boxes that are elsewhere in the array.
fn frames(boxes: &[Aabb]) -> Vec<Frame> {
    let n = boxes.len() as u32;
    let moved = |part: usize| -> Vec<Aabb> {
        let mut boxes = boxes.to_vec();
        for (i, aabb) in boxes.iter_mut().enumerate().filter(|(i, _)| i % 5 == part) {
            let way = 0.3 * (aabb.max[i % 3] - aabb.min[i % 3]);
            aabb.min[i % 3] += way;
            aabb.max[i % 3] += way;
        }
        boxes
    };
    let generations = |of: u32| Some((0..n).map(|i| u32::from(i % 40 == of)).collect());
    let elsewhere = |i: u32| if i % 30 == 4 { Step::NEW } else { (i + n / 3) % n };
    vec![
        Frame { boxes: boxes.to_vec(), generations: generations(50), was: None },
        Frame { boxes: moved(1), generations: generations(7), was: None },
        Frame { boxes: moved(1), generations: None, was: None },
        Frame { boxes: moved(2), generations: None, was: None },
        Frame { boxes: moved(3), generations: None, was: Some((0..n).map(elsewhere).collect()) },
    ]
}

fn upload<T: Pod>(gpu: &Gpu, values: &[T]) -> wgpu::Buffer {
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
    let size = (size_of_val(values) as u64).max(32);
    let buffer =
        gpu.device().create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
    gpu.queue().write_buffer(&buffer, 0, bytemuck::cast_slice(values));
    buffer
}

fn encoder(gpu: &Gpu) -> wgpu::CommandEncoder {
    gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
}

/// Reads a list that was left, and behind its pairs how many there are.
fn list(gpu: &Gpu, list: &GpuPairs) -> Vec<Pair> {
    let count = read(gpu, encoder(gpu), &[(&list.header, 8)])[4].min(list.capacity);
    let words = if count == 0 { Vec::new() } else { read(gpu, encoder(gpu), &[(&list.pairs, 2 * count as usize)]) };
    let mut pairs: Vec<Pair> = words.chunks(2).map(|two| Pair { a: two[0], b: two[1] }).collect();
    pairs.push(Pair { a: count, b: u32::MAX });
    pairs
}

/// Records steps, and returns what each leaves: all lists, one after the other, and places as pairs.
pub fn record(gpu: &Gpu, options: Options, boxes: &[Aabb], filters: &Filters) -> Result<Vec<Pair>, Error> {
    let mut broad_phase = BroadPhase::new(gpu, options)?;
    broad_phase.set_filters(filters.clone())?;
    let mut all = Vec::new();
    for frame in frames(boxes) {
        let n = frame.boxes.len() as u32;
        let boxes = upload(gpu, &frame.boxes);
        let numbers = frame.generations.as_ref().or(frame.was.as_ref()).map(|numbers| upload(gpu, numbers));
        let identity = match &numbers {
            Some(numbers) if frame.was.is_some() => GpuIdentity::Was(numbers.slice(..)),
            Some(numbers) => GpuIdentity::Generations(numbers.slice(..)),
            None => GpuIdentity::Index,
        };
        let mut recorded = encoder(gpu);
        let events = broad_phase.record_events(&mut recorded, boxes.slice(..), n, identity)?;
        gpu.queue().submit([recorded.finish()]);
        let GpuEvents { pairs, before, created, lost, persisting, .. } = &events;
        all.extend([pairs, created, lost, persisting].into_iter().flat_map(|left| list(gpu, left)));
        let count = read(gpu, encoder(gpu), &[(&pairs.header, 8)])[4].min(pairs.capacity) as usize;
        let places = if count == 0 { Vec::new() } else { read(gpu, encoder(gpu), &[(before, count)]) };
        all.extend(places.into_iter().map(|place| Pair { a: place, b: 0 }));
    }
    Ok(all)
}

/// Returns what is right.
pub fn expected(boxes: &[Aabb], filters: &Filters) -> Vec<Pair> {
    let mut engine = cpu::BroadPhase::new(Options::default()).expect("an engine");
    engine.set_filters(filters.clone()).expect("filters");
    let mut all = Vec::new();
    for Frame { boxes, generations, was } in &frames(boxes) {
        let step = Step::new(boxes);
        let step = generations.as_ref().map_or(step, |generations| step.with_generations(generations));
        let step = was.as_ref().map_or(step, |was| step.rebased(was));
        let Events { pairs, before, created, lost, persisting, .. } = engine.find_events(step).expect("events");
        for list in [pairs, created, lost, persisting] {
            all.extend(list);
            all.push(Pair { a: list.len() as u32, b: u32::MAX });
        }
        let place = |&place: &u64| if place == Events::CREATED { GpuEvents::CREATED } else { place as u32 };
        all.extend(before.iter().map(|before| Pair { a: place(before), b: 0 }));
    }
    all
}
