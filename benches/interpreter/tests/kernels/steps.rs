//! Recorded steps.

use broadsweep::filter::HalfSpace;
use broadsweep::internals::mirror;
use broadsweep::record::{GpuAttribute, GpuCount, GpuEvents, GpuIdentity, GpuNeighbours, GpuPairs};
use broadsweep::{Aabb, Error, Events, Filters, Gpu, Options, Pair, Recorder, Step, cpu, wgpu};
use bytemuck::Pod;

use crate::tree_queries::read;

/// A step, and the declared facts about its boxes.
struct Frame {
    boxes: Vec<Aabb>,
    generations: Option<Vec<u32>>,
    was: Option<Vec<u32>>,
    /// The number in the headers of its events.
    refused: u32,
}

/// Creates steps of these boxes: with generations, without, and with boxes that are elsewhere in the array.
fn frames(boxes: &[Aabb], owner: Option<&Aabb>) -> Vec<Frame> {
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
    // All pairs overlap and are owned by the region: more pairs than the capacity.
    let owned =
        boxes.iter().find(|aabb| owner.is_none_or(|owner| owner.owns(aabb, aabb))).expect("a box of the region");
    let together = vec![*owned; boxes.len()];
    let doubled = (0..n).map(|i| i / 2).collect();
    vec![
        Frame { boxes: boxes.to_vec(), generations: generations(50), was: None, refused: 0 },
        Frame { boxes: moved(1), generations: generations(7), was: None, refused: 0 },
        Frame { boxes: together, generations: None, was: None, refused: 1 },
        Frame { boxes: moved(1), generations: None, was: None, refused: 0 },
        Frame { boxes: moved(1), generations: None, was: Some(doubled), refused: 4 },
        Frame { boxes: moved(2), generations: None, was: None, refused: 0 },
        Frame { boxes: moved(3), generations: None, was: Some((0..n).map(elsewhere).collect()), refused: 0 },
    ]
}

/// Creates steps of these boxes. Few boxes move, and the count of boxes changes only if it lies in a buffer.
fn few_moving(boxes: &[Aabb], is_counted: bool) -> Vec<Frame> {
    let elsewhere = |parts: &[usize]| -> Vec<Aabb> {
        let place = |i: usize| if parts.contains(&(i % 50)) { (i + 10 * (i % 50)) % boxes.len() } else { i };
        (0..boxes.len()).map(|i| boxes[place(i)]).collect()
    };
    let mut vast = elsewhere(&[2]);
    vast[20] = Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]);
    vast[21] = Aabb::new([f32::NAN; 3], [0.0; 3]);
    vast[22] = vast[20];
    let fewer = if is_counted { boxes.len() - 5 } else { boxes.len() };
    let steps = [boxes.to_vec(), boxes.to_vec(), elsewhere(&[1, 3]), vast, elsewhere(&[2])[..fewer].to_vec()];
    steps.into_iter().map(|boxes| Frame { boxes, generations: None, was: None, refused: 0 }).collect()
}

/// Adds half-spaces through the middle of the boxes. Boxes at any place represent them.
pub fn with_half_spaces(mut boxes: Vec<Aabb>, filters: Filters) -> (Vec<Aabb>, Filters) {
    let all = boxes
        .iter()
        .fold([f32::INFINITY, f32::NEG_INFINITY], |[low, high], aabb| [low.min(aabb.min[0]), high.max(aabb.max[0])]);
    let middle = (all[0] + all[1]) / 2.0;
    let normals = [[0.6, -0.64, 0.48], [0.0, 0.0, -1.0], [1e-3, 0.7, 0.1]];
    let half_spaces = normals.into_iter().zip([6, 9, 13]).map(|(normal, index)| {
        boxes[index as usize] = Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]);
        HalfSpace { index, normal, offset: middle * (normal[0] + normal[1] + normal[2]) }
    });
    let half_spaces = half_spaces.collect();
    (boxes, filters.with_half_spaces(half_spaces))
}

/// The kind of steps.
#[derive(Clone, Copy)]
pub enum Kind {
    /// With boxes that have generations, and are elsewhere in the array, and steps that are refused.
    Compared,
    /// Few boxes move. The values of the filters come with the first step, on the device.
    Filtered,
}

impl Kind {
    fn frames(self, boxes: &[Aabb], filters: &Filters) -> Vec<Frame> {
        match self {
            Self::Compared => frames(boxes, filters.owner.as_ref()),
            Self::Filtered => few_moving(boxes, *filters == Filters::default()),
        }
    }
}

pub fn upload<T: Pod>(gpu: &Gpu, values: &[T]) -> wgpu::Buffer {
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST;
    let size = (size_of_val(values) as u64).max(32);
    let buffer =
        gpu.device().create_buffer(&wgpu::BufferDescriptor { label: None, size, usage, mapped_at_creation: false });
    gpu.queue().write_buffer(&buffer, 0, bytemuck::cast_slice(values));
    buffer
}

pub fn encoder(gpu: &Gpu) -> wgpu::CommandEncoder {
    gpu.device().create_command_encoder(&wgpu::CommandEncoderDescriptor::default())
}

/// Reads a list: its pairs, and behind them the values of its header and its arguments.
pub fn list(gpu: &Gpu, list: &GpuPairs) -> Vec<Pair> {
    let read = |parts: &[(&wgpu::Buffer, usize)]| read(gpu, encoder(gpu), parts);
    let words = read(&[(list.header, 8), (list.arguments, 8)]);
    let (header, arguments) = words.split_at(8);
    let (written, overflow) = (header[4].min(list.capacity), header[3]);
    // A list that is too short may end at any pair.
    let count = if overflow == 1 { 0 } else { written };
    let words = if count == 0 { Vec::new() } else { read(&[(list.pairs, 2 * count as usize)]) };
    let mut pairs: Vec<Pair> = words.chunks(2).map(|two| Pair { a: two[0], b: two[1] }).collect();
    let is_whole = overflow != 1;
    let (of_dispatch, of_draw) = if is_whole { (arguments[0], arguments[5]) } else { (0, 0) };
    pairs.extend([Pair { a: count, b: overflow }, Pair { a: of_dispatch, b: of_draw }]);
    pairs
}

/// Returns the expected values of a list.
pub fn list_of(pairs: &[Pair], overflow: u32) -> Vec<Pair> {
    let count = pairs.len() as u32;
    let mut pairs = pairs.to_vec();
    pairs.extend([Pair { a: count, b: overflow }, Pair { a: count.div_ceil(256), b: count }]);
    pairs
}

/// Returns the expected values of neighbours.
fn by_box(pairs: &[Pair], n: usize, overflow: u32) -> Vec<Pair> {
    let (offsets, neighbours) = mirror::neighbours::neighbours(pairs, n as u32);
    let offsets = offsets.into_iter().map(|a| Pair { a, b: overflow });
    offsets.chain(neighbours.into_iter().map(|a| Pair { a, b: 1 })).collect()
}

/// Creates the new value of a list of filters from a part of a buffer.
type Of = for<'a> fn(wgpu::BufferSlice<'a>) -> GpuAttribute<'a>;

/// Uploads the values of some lists, and returns their counts.
fn values(gpu: &Gpu, filters: &Filters) -> Vec<(Of, u32, wgpu::Buffer)> {
    let flags = |flags: &[bool]| flags.iter().map(|&flag| 3 * u32::from(flag)).collect();
    let margins = filters.margin.iter().map(|margin| margin.to_bits()).collect();
    let spheres = filters.sphere.as_flattened().iter().map(|number| number.to_bits()).collect();
    let lists: [(Of, Vec<u32>); 7] = [
        (|values| GpuAttribute::Group(values), filters.group.clone()),
        (|values| GpuAttribute::Mask(values), filters.mask.clone()),
        (|values| GpuAttribute::Fixed(values), flags(&filters.fixed)),
        (|values| GpuAttribute::Sleeping(values), flags(&filters.sleeping)),
        (|values| GpuAttribute::Sphere(values), spheres),
        (|values| GpuAttribute::Margin(values), margins),
        (|values| GpuAttribute::World(values), filters.world.clone()),
    ];
    let there = lists.into_iter().filter(|(_, list)| !list.is_empty());
    there.map(|(of, list)| (of, (list.len() / words_of(of, gpu)) as u32, upload(gpu, &list))).collect()
}

/// Returns the u32 count of a value of a list.
fn words_of(of: Of, gpu: &Gpu) -> usize {
    if matches!(of(upload(gpu, &[0]).slice(..)), GpuAttribute::Sphere(_)) { 4 } else { 1 }
}

/// Returns filters with other values in these lists.
fn without_values(filters: &Filters) -> Filters {
    let mut filters = filters.clone();
    filters.group.fill(0);
    filters.mask.fill(0);
    filters.fixed.fill(true);
    filters.sleeping.fill(true);
    filters.margin.fill(0.0);
    filters.sphere.fill([0.0, 0.0, 0.0, 1e-3]);
    // The host knows one of the worlds 0, 1 and 2, and another world.
    for (i, world) in filters.world.iter_mut().enumerate() {
        *world = [4, 2][i % 2];
    }
    for half_space in &mut filters.half_spaces {
        (half_space.normal, half_space.offset) = ([0.0, 1.0, 0.0], -1e30);
    }
    filters.exclude_at_most = 2 * filters.exclude.len() as u32;
    filters.exclude.clear();
    filters
}

/// Records these half-spaces and excluded pairs, in place of others that the host has. Some pairs are listed twice, in
/// the other direction, and followed by entries that are no pairs.
fn record_lists(
    gpu: &Gpu,
    recorder: &mut Recorder,
    recorded: &mut wgpu::CommandEncoder,
    filters: &Filters,
    n: u32,
) -> Result<(), Error> {
    let mut half_spaces = filters.half_spaces.clone();
    half_spaces.sort_by_key(|half_space| half_space.index);
    let planes: Vec<[f32; 4]> =
        half_spaces.iter().map(|HalfSpace { normal: [x, y, z], offset, .. }| [*x, *y, *z, *offset]).collect();
    recorder.record_half_spaces(recorded, n, 0..planes.len() as u32, upload(gpu, &planes).slice(..))?;
    if filters.exclude.is_empty() {
        return Ok(());
    }
    let mut pairs = filters.exclude.clone();
    pairs.extend(filters.exclude.iter().map(|pair| Pair { a: pair.b, b: pair.a }).take(filters.exclude.len() - 2));
    pairs.extend([Pair { a: 5, b: 5 }, Pair { a: n, b: 3 }]);
    let count = upload(gpu, &[pairs.len() as u32]);
    let count = GpuCount::Stored { count: count.slice(..), at_most: pairs.len() as u32 };
    recorder.record_exclude(recorded, n, upload(gpu, &pairs).slice(..), count)
}

/// Records steps, and returns the output of each: all lists, one after the other, and places as pairs. Without filters,
/// the count of boxes lies in a buffer, and other boxes follow the boxes.
pub fn record(gpu: &Gpu, options: Options, boxes: &[Aabb], filters: &Filters, kind: Kind) -> Result<Vec<Pair>, Error> {
    let mut recorder = Recorder::new(gpu, options)?;
    recorder.set_filters(filters.clone())?;
    let mut given = Vec::new();
    let mut lists = None;
    if let Kind::Filtered = kind {
        lists = Some(filters);
        given = values(gpu, filters);
        recorder.set_filters(without_values(filters))?;
        recorder.reserve(boxes.len(), 30 * boxes.len() as u32)?;
    }
    let at_most = boxes.len() + 300;
    let mut all = Vec::new();
    for frame in kind.frames(boxes, filters) {
        let n = frame.boxes.len() as u32;
        let mut boxes = frame.boxes.clone();
        let is_counted = *filters == Filters::default();
        if is_counted {
            boxes.resize(at_most, Aabb::new([-1e30; 3], [1e30; 3]));
        }
        let count = upload(gpu, &[n]);
        let box_count = if is_counted {
            GpuCount::Stored { count: count.slice(..), at_most: boxes.len() as u32 }
        } else {
            GpuCount::Known(n)
        };
        let at_most = boxes.len();
        let boxes = upload(gpu, &boxes);
        let numbers = frame.generations.as_ref().or(frame.was.as_ref()).map(|numbers| {
            let mut numbers = numbers.clone();
            numbers.resize(at_most, 77);
            upload(gpu, &numbers)
        });
        let identity = match &numbers {
            Some(numbers) if frame.was.is_some() => GpuIdentity::Was(numbers.slice(..)),
            Some(numbers) => GpuIdentity::Generations(numbers.slice(..)),
            None => GpuIdentity::Index,
        };
        let mut recorded = encoder(gpu);
        for (of, count, values) in given.drain(..) {
            recorder.record_filters(&mut recorded, 0..count, of(values.slice(..)))?;
            // Some again. The last ones share a word of flags with others.
            recorder.record_filters(&mut recorded, 0..count / 2 - 9, of(values.slice(..)))?;
        }
        if let Some(filters) = lists.take() {
            record_lists(gpu, &mut recorder, &mut recorded, filters, n)?;
        }
        let events = recorder.record_events(&mut recorded, boxes.slice(..), box_count, identity)?;
        gpu.queue().submit([recorded.finish()]);
        let events = left(gpu, &events, frame.refused);
        let mut recorded = encoder(gpu);
        let by_box = recorder.record_neighbours(&mut recorded)?;
        gpu.queue().submit([recorded.finish()]);
        all.extend(left_by_box(gpu, n, &by_box));
        all.extend(events);
    }
    Ok(all)
}

/// Returns the neighbours of `n` boxes.
fn left_by_box(gpu: &Gpu, n: u32, by_box: &GpuNeighbours) -> Vec<Pair> {
    let mut all = Vec::new();
    let words = read(gpu, encoder(gpu), &[(by_box.header, 8), (by_box.offsets, n as usize + 1)]);
    let (count, overflow) = (words[4].min(by_box.capacity), words[3]);
    all.extend(words[8..].iter().map(|&offset| Pair { a: offset, b: overflow }));
    let words = if count == 0 { Vec::new() } else { read(gpu, encoder(gpu), &[(by_box.neighbours, count as usize)]) };
    all.extend(words.into_iter().map(|neighbour| Pair { a: neighbour, b: 1 }));
    all
}

/// Returns the output of a step.
fn left(gpu: &Gpu, events: &GpuEvents, refused: u32) -> Vec<Pair> {
    let mut all = Vec::new();
    let GpuEvents { pairs, before, created, lost, persisting, .. } = events;
    all.extend([pairs, created, lost, persisting].into_iter().flat_map(|left| list(gpu, left)));
    if refused > 0 {
        return all;
    }
    let count = read(gpu, encoder(gpu), &[(pairs.header, 8)])[4].min(pairs.capacity) as usize;
    let places = if count == 0 { Vec::new() } else { read(gpu, encoder(gpu), &[(before, count)]) };
    all.extend(places.into_iter().map(|place| Pair { a: place, b: 0 }));
    all
}

/// Returns the expected result.
pub fn expected(boxes: &[Aabb], filters: &Filters, kind: Kind) -> Vec<Pair> {
    let mut engine = cpu::BroadPhase::new(Options::default()).expect("an engine");
    engine.set_filters(filters.clone()).expect("filters");
    let mut all = Vec::new();
    for Frame { boxes, generations, was, refused } in &kind.frames(boxes, filters) {
        if *refused > 0 {
            // Events ignore this step. Its list is too short, or is complete and only the declared facts about its
            // boxes are wrong.
            let found = match refused {
                1 => Vec::new(),
                _ => engine.events().pairs.clone(),
            };
            let overflow = if *refused == 1 { 1 } else { 0 };
            all.extend(by_box(&found, boxes.len(), overflow));
            all.extend(list_of(&found, overflow));
            all.extend((0..3).flat_map(|_| list_of(&[], *refused)));
            continue;
        }
        let step = Step::new(boxes);
        let step = generations.as_ref().map_or(step, |generations| step.with_generations(generations));
        let step = was.as_ref().map_or(step, |was| step.rebased(was));
        let Events { pairs, before, created, lost, persisting, .. } = engine.find_events(step).expect("events");
        all.extend(by_box(pairs, boxes.len(), 0));
        for list in [pairs, created, lost, persisting] {
            all.extend(list_of(list, 0));
        }
        let place = |place: Option<u64>| place.map_or(GpuEvents::CREATED, |place| place as u32);
        all.extend(before.iter().map(|before| Pair { a: place(before), b: 0 }));
    }
    all
}
