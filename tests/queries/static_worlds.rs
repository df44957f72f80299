//! Moving shapes among boxes that stay: their pairs with the boxes of a tree, and what changed since the last step.

use broadsweep::query::Sphere;
use broadsweep::record::{GpuBatch, GpuEvents, GpuIdentity, GpuPairs, PairArguments, PairHeader};
use broadsweep::{Aabb, BroadPhase, Error, Options, Pair, PairOrder, Recorder, Step, TreeRecorder};
use laboratory::scenes::Kind;

use crate::common::GPU;
use crate::common::device::{Copied, encoder, upload};

const CAPACITY: u32 = 20_000;

/// The pairs of movers and static boxes by brute force, ascending.
fn pairs_of(movers: &[Aabb], statics: &[Aabb]) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (a, mover) in (0..).zip(movers) {
        pairs.extend((0..).zip(statics).filter(|(_, stays)| mover.overlaps(stays)).map(|(b, _)| Pair { a, b }));
    }
    pairs
}

/// Boxes that moved by `by` along x.
fn moved(boxes: &[Aabb], by: f32) -> Vec<Aabb> {
    let along = |[x, y, z]: [f32; 3]| [x + by, y, z];
    boxes.iter().map(|aabb| Aabb::new(along(aabb.min), along(aabb.max))).collect()
}

/// A list and its header, as they are at this place among the commands.
struct List(Copied, Copied, Copied);

impl List {
    fn of(encoder: &mut wgpu::CommandEncoder, left: &GpuPairs) -> Self {
        Self(
            Copied::first::<Pair>(encoder, left.pairs, left.capacity as usize),
            Copied::first::<PairHeader>(encoder, left.header, 1),
            Copied::first::<PairArguments>(encoder, left.arguments, 1),
        )
    }

    fn header(&self) -> PairHeader {
        self.1.read()[0]
    }

    fn read(&self) -> Vec<Pair> {
        let header = self.header();
        let arguments: PairArguments = self.2.read()[0];
        assert_eq!(arguments.draw, [24, header.written, 0, 0]);
        assert_eq!(arguments.dispatch, [header.written.div_ceil(256), 1, 1]);
        self.0.read()[..header.written as usize].to_vec()
    }
}

/// Pairs, their places in the last list, and events of a step.
struct StepBuffers {
    lists: [List; 4],
    before: Copied,
}

impl StepBuffers {
    fn of(encoder: &mut wgpu::CommandEncoder, left: &GpuEvents) -> Self {
        let lists = [&left.pairs, &left.created, &left.lost, &left.persisting].map(|list| List::of(encoder, list));
        Self { lists, before: Copied::first::<u32>(encoder, left.before, left.pairs.capacity as usize) }
    }
}

fn record(
    tree: &mut TreeRecorder,
    movers: &[Aabb],
    capacity: u32,
    identity: GpuIdentity<'_>,
) -> Result<StepBuffers, Error> {
    let (mut encoder, buffer) = (encoder(), upload(movers));
    let batch = GpuBatch::<Aabb>::new(buffer.slice(..), movers.len() as u32);
    let left = tree.record_overlap_events(&mut encoder, batch, capacity, identity)?;
    let found = StepBuffers::of(&mut encoder, &left);
    GPU.queue().submit([encoder.finish()]);
    Ok(found)
}

/// Checks a step against brute force: `name` returns the index of a mover in the last step.
fn check(found: &StepBuffers, pairs: &[Pair], last: &[Pair], name: impl Fn(u32) -> Option<u32>) {
    let [all, created, lost, persisting] = [0, 1, 2, 3].map(|k| found.lists[k].read());
    assert!(all == pairs);
    let place = |pair: &Pair| {
        let named = Pair { a: name(pair.a)?, b: pair.b };
        last.binary_search(&named).ok()
    };
    let places: Vec<Option<usize>> = pairs.iter().map(place).collect();
    let before: Vec<u32> = found.before.read::<u32>()[..pairs.len()].to_vec();
    let expected = places.iter().map(|place| place.map_or(GpuEvents::CREATED, |place| place as u32));
    assert!(before.iter().copied().eq(expected));
    let retained: Vec<Pair> =
        pairs.iter().zip(&places).filter(|(_, place)| place.is_some()).map(|(pair, _)| *pair).collect();
    let new: Vec<Pair> =
        pairs.iter().zip(&places).filter(|(_, place)| place.is_none()).map(|(pair, _)| *pair).collect();
    let gone: Vec<Pair> =
        last.iter().enumerate().filter(|(k, _)| !places.contains(&Some(*k))).map(|(_, pair)| *pair).collect();
    assert!(created == new && persisting == retained && lost == gone);
}

#[test]
fn pairs_with_a_static_world_and_their_events_are_those_of_brute_force() {
    let statics = Kind::City.generate(3000, 1);
    let start = Kind::Uniform.generate(700, 2);
    let mut tree = TreeRecorder::new(&GPU).unwrap();
    tree.tree_mut().build(&statics).unwrap();
    let mut last = Vec::new();
    for by in [0.0, 0.0, 0.01, 0.3, 0.3] {
        let movers = moved(&start, by);
        let pairs = pairs_of(&movers, &statics);
        assert!(pairs.len() > 100, "{} pairs", pairs.len());
        let found = record(&mut tree, &movers, CAPACITY, GpuIdentity::Index).unwrap();
        check(&found, &pairs, &last, Some);
        last = pairs;
    }
    tree.forget_steps();
    let found = record(&mut tree, &start, CAPACITY, GpuIdentity::Index).unwrap();
    check(&found, &pairs_of(&start, &statics), &[], Some);
}

#[test]
fn movers_that_are_renamed_or_replaced_are_followed_and_static_boxes_keep_their_names() {
    let statics = Kind::Uniform.generate(900, 1);
    let start = Kind::Uniform.generate(300, 2);
    let mut tree = TreeRecorder::new(&GPU).unwrap();
    tree.tree_mut().build(&statics).unwrap();
    let first = pairs_of(&start, &statics);
    check(&record(&mut tree, &start, CAPACITY, GpuIdentity::Index).unwrap(), &first, &[], Some);

    // They swap places, and one in ten is new.
    let was: Vec<u32> = (0..300).map(|i| if i % 10 == 3 { Step::NEW } else { 299 - i }).collect();
    let turned: Vec<Aabb> = (0..300).map(|i| start[299 - i]).collect();
    let (pairs, names) = (pairs_of(&turned, &statics), upload(&was));
    let found = record(&mut tree, &turned, CAPACITY, GpuIdentity::Was(names.slice(..))).unwrap();
    check(&found, &pairs, &first, |i| Some(was[i as usize]).filter(|was| *was != Step::NEW));

    let [then, now] = [0, 1].map(|k| (0..300).map(|i: u32| if i % 7 == 2 { k } else { 5 }).collect::<Vec<u32>>());
    for (generations, replaced) in [(&then, false), (&now, true)] {
        let names = upload(generations);
        let found = record(&mut tree, &turned, CAPACITY, GpuIdentity::Generations(names.slice(..))).unwrap();
        check(&found, &pairs, &pairs, |i| Some(i).filter(|i| !(replaced && i % 7 == 2)));
    }
}

#[test]
fn a_step_that_does_not_fit_does_not_count() {
    let statics = Kind::Uniform.generate(900, 1);
    let start = Kind::Uniform.generate(300, 2);
    let mut tree = TreeRecorder::new(&GPU).unwrap();
    tree.tree_mut().build(&statics).unwrap();
    let pairs = pairs_of(&start, &statics);
    let count = pairs.len() as u32;
    check(&record(&mut tree, &start, count, GpuIdentity::Index).unwrap(), &pairs, &[], Some);
    let short = record(&mut tree, &moved(&start, 0.1), count / 2, GpuIdentity::Index).unwrap();
    let [all, created, lost, persisting] = [0, 1, 2, 3].map(|k| short.lists[k].header());
    assert_eq!((all.overflow, all.count > all.written), (1, true));
    for events in [created, lost, persisting] {
        assert_eq!((events.count, events.written, events.overflow), (0, 0, 1));
    }
    // Compared with the step before.
    check(&record(&mut tree, &start, count, GpuIdentity::Index).unwrap(), &pairs, &pairs, Some);
}

#[test]
fn a_step_with_an_unfinished_query_does_not_count() {
    let mut statics = vec![Aabb::new([1.0; 3], [2.0; 3]); 8_000];
    statics[0] = Aabb::new([-9.0; 3], [-8.0; 3]);
    let [few, many] = [0, 1].map(|i| [statics[i]]);
    let mut tree = TreeRecorder::new(&GPU.clone().with_turns(150)).unwrap();
    tree.tree_mut().build(&statics).unwrap();
    let pairs = [Pair { a: 0, b: 0 }];
    check(&record(&mut tree, &few, CAPACITY, GpuIdentity::Index).unwrap(), &pairs, &[], Some);
    let (mut encoder, buffer) = (encoder(), upload(&many));
    let batch = GpuBatch::<Aabb>::new(buffer.slice(..), 1).with_rounds(1);
    let left = tree.record_overlap_events(&mut encoder, batch, CAPACITY, GpuIdentity::Index).unwrap();
    let found = StepBuffers::of(&mut encoder, &left);
    GPU.queue().submit([encoder.finish()]);
    let [created, lost, persisting] = [1, 2, 3].map(|k| found.lists[k].header());
    for events in [created, lost, persisting] {
        assert_eq!((events.count, events.written, events.overflow), (0, 0, 3));
    }
    // Compared with the step before.
    check(&record(&mut tree, &few, CAPACITY, GpuIdentity::Index).unwrap(), &pairs, &pairs, Some);
}

#[test]
fn pairs_with_a_static_world_can_be_drawn() {
    let mut tree = TreeRecorder::new(&GPU).unwrap();
    tree.tree_mut().build(&Kind::Uniform.generate(100, 1)).unwrap();
    let (mut encoder, buffer) = (encoder(), upload(&Kind::Uniform.generate(10, 2)));
    let batch = GpuBatch::<Aabb>::new(buffer.slice(..), 10);
    let left = tree.record_overlap_events(&mut encoder, batch, CAPACITY, GpuIdentity::Index).unwrap();
    for list in [&left.pairs, &left.created, &left.lost, &left.persisting] {
        assert!(list.pairs.usage().contains(wgpu::BufferUsages::VERTEX | wgpu::BufferUsages::STORAGE));
        assert!(list.arguments.usage().contains(wgpu::BufferUsages::INDIRECT));
    }
}

#[test]
fn overlaps_are_pairs_in_canonical_order_with_arguments_to_draw_them() {
    let statics = Kind::Uniform.generate(900, 1);
    let spheres: Vec<Sphere> = (0..50).map(|i| Sphere { center: [i as f32 / 50.0, 0.5, 0.5], radius: 0.1 }).collect();
    let mut tree = TreeRecorder::new(&GPU).unwrap();
    tree.tree_mut().build(&statics).unwrap();
    let (mut encoder, buffer) = (encoder(), upload(&spheres));
    let batch = GpuBatch::<Sphere>::new(buffer.slice(..), 50).with_vertices_per_pair(24);
    let left = tree.record_overlaps(&mut encoder, batch, 0, CAPACITY).unwrap().pairs();
    let list = List::of(&mut encoder, &left);
    GPU.queue().submit([encoder.finish()]);
    let expected = tree.tree_mut().overlaps(&spheres[..]).unwrap();
    let pairs: Vec<Pair> =
        (0..50).flat_map(|query| expected[query].iter().map(move |&b| Pair { a: query as u32, b })).collect();
    assert!(!pairs.is_empty() && list.read() == pairs);
}

#[test]
fn movers_among_themselves_and_with_the_static_world_are_the_pairs_of_one_search() {
    let statics = Kind::City.generate(4000, 1);
    let movers = Kind::Uniform.generate(400, 2);
    let mut tree = TreeRecorder::new(&GPU).unwrap();
    tree.tree_mut().build(&statics).unwrap();
    let options = Options::default().with_order(PairOrder::Canonical);
    let mut recorder = Recorder::new(&GPU, options).unwrap();
    let (mut encoder, buffer) = (encoder(), upload(&movers));
    let among = recorder.record_events(&mut encoder, buffer.slice(..), 400, GpuIdentity::Index).unwrap();
    let batch = GpuBatch::<Aabb>::new(buffer.slice(..), 400);
    let with = tree.record_overlap_events(&mut encoder, batch, CAPACITY, GpuIdentity::Index).unwrap();
    let [among, with] = [&among, &with].map(|events| List::of(&mut encoder, &events.created));
    GPU.queue().submit([encoder.finish()]);
    let mut found = among.read();
    found.extend(with.read().iter().map(|pair| Pair { a: pair.a, b: 400 + pair.b }));
    found.sort_unstable();
    // Both sets in one list; pairs of two static boxes are left out.
    let all = [&movers[..], &statics].concat();
    let mut one = BroadPhase::new(&GPU, options).unwrap();
    let expected: Vec<Pair> = one.find_pairs(&all).unwrap().pairs.iter().copied().filter(|pair| pair.a < 400).collect();
    assert!(found == expected);
}
