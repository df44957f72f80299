//! Filters whose values lie in buffers of the device.

use std::ops::Range;

use broadsweep::{
    Attribute, BroadPhase, Error, Filters, GpuAttribute, GpuIdentity, GroupRule, Options, Pair, PairOrder, wgpu,
};
use laboratory::scenes::Kind;
use wgpu::BufferUsages as U;

use crate::common::{ALL_PAIRS, CANONICAL, GPU, Random, SWEEP, assert_pairs, least_budget};
use crate::engines::gpu;
use crate::inputs::{BY_BOX, all};
use crate::rule;
use crate::submissions::{encoder, run, upload};

/// Makes a buffer of values, of which it begins with some that nobody looks at.
fn given(values: &[u32]) -> wgpu::Buffer {
    let size = 256 + 4 * values.len() as u64;
    let usage = U::STORAGE | U::COPY_DST;
    let buffer = GPU.device().create_buffer(&wgpu::BufferDescriptor {
        label: Some("values of the caller"),
        size,
        usage,
        mapped_at_creation: false,
    });
    GPU.queue().write_buffer(&buffer, 256, bytemuck::cast_slice(values));
    buffer
}

/// Returns the values of a list as a kernel of the caller's may have them.
fn words(filters: &Filters, list: &str, range: Range<usize>) -> Vec<u32> {
    // Any number but 0 is a flag that is set.
    let flags = |flags: &[bool]| flags.iter().zip(7..).map(|(&flag, k)| if flag { k } else { 0 }).collect();
    match list {
        "group" => filters.group[range].to_vec(),
        "mask" => filters.mask[range].to_vec(),
        "body" => filters.body[range].to_vec(),
        "parent" => filters.parent[range].to_vec(),
        "fixed" => flags(&filters.fixed[range]),
        "sleeping" => flags(&filters.sleeping[range]),
        "second" => flags(&filters.second[range]),
        "margin" => filters.margin[range].iter().map(|margin| margin.to_bits()).collect(),
        _ => panic!("no list is called {list}"),
    }
}

fn attribute<'a>(list: &str, values: wgpu::BufferSlice<'a>) -> GpuAttribute<'a> {
    match list {
        "group" => GpuAttribute::Group(values),
        "mask" => GpuAttribute::Mask(values),
        "body" => GpuAttribute::Body(values),
        "parent" => GpuAttribute::Parent(values),
        "fixed" => GpuAttribute::Fixed(values),
        "sleeping" => GpuAttribute::Sleeping(values),
        "second" => GpuAttribute::Second(values),
        "margin" => GpuAttribute::Margin(values),
        _ => GpuAttribute::World(values),
    }
}

/// Records a change of a range of a list to the values of other filters, and makes `same` have them.
fn change(
    broad_phase: &mut BroadPhase,
    encoder: &mut wgpu::CommandEncoder,
    list: &str,
    (same, other): (&mut Filters, &Filters),
    range: Range<usize>,
) {
    let values = given(&words(other, list, range.clone()));
    let boxes = range.start as u32..range.end as u32;
    broad_phase.record_filters(encoder, boxes, attribute(list, values.slice(256..))).unwrap();
    let by_box = BY_BOX.iter().find(|by_box| by_box.list == list).unwrap();
    (by_box.copy)(same, other, range);
}

#[test]
fn changes_of_every_list_in_ranges_are_in_what_is_recorded_next() {
    for options in [CANONICAL, SWEEP, ALL_PAIRS] {
        let boxes = Kind::Clusters.generate(700, 5);
        let (buffer, n) = (upload(&boxes), boxes.len());
        let mut random = Random(5);
        let mut same = all(&mut random, &boxes);
        let mut broad_phase = gpu(options);
        broad_phase.set_filters(same.clone()).unwrap();
        broad_phase.reserve(n, 1 << 16).unwrap();
        for round in 0..6 {
            let other = all(&mut random, &boxes);
            let (first, last) = (random.below(n + 1), random.below(n + 1));
            let any = first.min(last)..first.max(last);
            // The whole, none behind the last, one box, words and not, and any range.
            let range = [0..n, n..n, n - 1..n, 32..96, 33..95, any][round].clone();
            for list in BY_BOX.iter().map(|by_box| by_box.list).filter(|list| *list != "world") {
                let mut encoder = encoder();
                change(&mut broad_phase, &mut encoder, list, (&mut same, &other), range.clone());
                let left = broad_phase.record(&mut encoder, buffer.slice(..), n as u32).unwrap();
                let mut pairs = run(encoder, left).1;
                pairs.sort_unstable();
                assert_pairs(&pairs, &rule::find_pairs(&boxes, &same), &format!("{list} of {range:?}"));
            }
        }
    }
}

#[test]
fn what_was_recorded_before_a_change_is_searched_without_it() {
    let boxes = Kind::Identical.generate(40, 1);
    let (buffer, values) = (upload(&boxes), given(&[1; 40]));
    let mut broad_phase = gpu(CANONICAL);
    broad_phase.set_filters(Filters { fixed: vec![false; 40], ..Filters::default() }).unwrap();
    broad_phase.reserve(40, 1000).unwrap();
    let mut first = encoder();
    let before = broad_phase.record(&mut first, buffer.slice(..), 40).unwrap();
    let mut second = encoder();
    broad_phase.record_filters(&mut second, 0..40, GpuAttribute::Fixed(values.slice(256..))).unwrap();
    let behind = broad_phase.record(&mut second, buffer.slice(..), 40).unwrap();
    assert_eq!(run(first, before).1.len(), 40 * 39 / 2);
    assert_eq!(run(second, behind).1, []);
    // The host has other values for the boxes around.
    assert_eq!(refused(broad_phase.change_filters(3, Attribute::Fixed(&[false; 2]))), "fixed");
    let mut third = encoder();
    let values = given(&[0; 2]);
    broad_phase.record_filters(&mut third, 3..5, GpuAttribute::Fixed(values.slice(256..))).unwrap();
    let left = broad_phase.record(&mut third, buffer.slice(..), 40).unwrap();
    let expected: Vec<Pair> =
        (0..40).flat_map(|a| (a + 1..40).map(move |b| Pair { a, b })).filter(|pair| touches(pair, [3, 4])).collect();
    assert_pairs(&run(third, left).1, &expected, "changed again");
}

fn touches(pair: &Pair, boxes: [u32; 2]) -> bool {
    boxes.contains(&pair.a) || boxes.contains(&pair.b)
}

#[test]
fn a_margin_that_is_none_makes_its_box_invalid() {
    let boxes = Kind::Identical.generate(20, 1);
    let buffer = upload(&boxes);
    let margins =
        [-0.0, 0.0, 1.5, -1.0, f32::NAN, f32::INFINITY, f32::NEG_INFINITY, -f32::NAN, f32::MAX, -1e-45, 1e-45];
    let values = given(&margins.map(f32::to_bits));
    let mut broad_phase = gpu(CANONICAL);
    broad_phase.set_filters(Filters { margin: vec![0.0; 20], ..Filters::default() }).unwrap();
    broad_phase.reserve(20, 1000).unwrap();
    let mut encoder = encoder();
    broad_phase.record_filters(&mut encoder, 2..13, GpuAttribute::Margin(values.slice(256..))).unwrap();
    let left = broad_phase.record(&mut encoder, buffer.slice(..), 20).unwrap();
    let is_valid = |i: u32| !(2..13).contains(&i) || [0, 1, 2, 8, 10].contains(&(i - 2));
    let pairs = (0..20).flat_map(|a| (a + 1..20).map(move |b| Pair { a, b }));
    let expected: Vec<Pair> = pairs.filter(|pair| is_valid(pair.a) && is_valid(pair.b)).collect();
    assert_pairs(&run(encoder, left).1, &expected, "margins of every kind");
}

/// Returns the list that a refusal names.
fn refused<T>(result: Result<T, Error>) -> &'static str {
    match result.map(|_| ()).unwrap_err() {
        Error::BadFilter { list, .. } | Error::BadBuffer { buffer: list, .. } => list,
        error => panic!("{error}"),
    }
}

#[test]
fn what_cannot_be_changed_on_the_device_is_refused_and_changes_nothing() {
    let scene = Kind::Uniform.generate(300, 1);
    let values = given(&[1; 300]);
    let own_filters = Filters { group: vec![1; 300], world: vec![0; 300], rule: GroupRule::Both, ..Filters::default() };
    let mut broad_phase = gpu(CANONICAL);
    broad_phase.set_filters(own_filters.clone()).unwrap();
    let own = || values.slice(256..);
    let descriptor = wgpu::BufferDescriptor { label: None, size: 4096, usage: U::UNIFORM, mapped_at_creation: false };
    let constant = GPU.device().create_buffer(&descriptor);
    for (boxes, attribute, list) in [
        (0..1, GpuAttribute::Mask(own()), "mask"),
        (0..0, GpuAttribute::Sleeping(own()), ""),
        (0..301, GpuAttribute::Group(own()), "group"),
        (u32::MAX - 1..u32::MAX, GpuAttribute::Group(own()), "group"),
        (Range { start: 5, end: 3 }, GpuAttribute::Group(own()), "group"),
        (0..300, GpuAttribute::World(own()), "world"),
        (0..300, GpuAttribute::Group(values.slice(512..)), "group"),
        (0..300, GpuAttribute::Group(values.slice(4..)), "group"),
        (0..300, GpuAttribute::Group(constant.slice(..)), "group"),
    ] {
        let result = broad_phase.record_filters(&mut encoder(), boxes, attribute);
        if list.is_empty() {
            // No values of a list that is not there.
            assert_eq!(result, Ok(()));
        } else {
            assert_eq!(refused(result), list);
        }
        // The host still knows all of it.
        assert!(broad_phase.find_pairs(&scene).is_ok(), "{list}");
    }
    let expected = rule::find_pairs(&scene, &own_filters);
    assert_pairs(&broad_phase.find_pairs(&scene).unwrap().pairs, &expected, "after refusals");
}

#[test]
fn calls_that_look_at_filters_on_the_host_are_refused_until_it_knows_them_again() {
    let boxes = Kind::Uniform.generate(300, 1);
    let (buffer, values) = (upload(&boxes), given(&[1; 300]));
    let mut broad_phase = gpu(CANONICAL);
    broad_phase.set_filters(Filters { sleeping: vec![false; 300], ..Filters::default() }).unwrap();
    let mut first = encoder();
    broad_phase.record_filters(&mut first, 0..300, GpuAttribute::Sleeping(values.slice(256..))).unwrap();
    assert_eq!(refused(broad_phase.find_pairs(&boxes)), "sleeping");
    assert_eq!(refused(broad_phase.submit(&boxes)), "sleeping");
    assert_eq!(refused(broad_phase.find_pairs_between(&boxes, &boxes)), "sleeping");
    assert_eq!(refused(broad_phase.find_events(&boxes)), "sleeping");
    assert_eq!(refused(broad_phase.submit_events(&boxes)), "sleeping");
    assert_eq!(refused(broad_phase.stream_pairs(&boxes, |_, _| Ok::<(), Error>(()))), "sleeping");
    assert_eq!(refused(broad_phase.time_kernels(&boxes)), "sleeping");
    // Recorded ones go on, with the values of the device.
    let left = broad_phase.record(&mut first, buffer.slice(..), 300).unwrap();
    assert_eq!(run(first, left).1, []);
    // Nothing of it is there any more.
    broad_phase.set_filters(Filters { sleeping: vec![false; 300], ..Filters::default() }).unwrap();
    let expected = rule::find_pairs(&boxes, &Filters::default());
    assert!(!expected.is_empty());
    assert_pairs(&broad_phase.find_pairs(&boxes).unwrap().pairs, &expected, "set anew");
}

#[test]
fn new_worlds_of_the_host_leave_what_the_device_has() {
    let boxes = Kind::Identical.generate(300, 1);
    let (buffer, values) = (upload(&boxes), given(&[1; 100]));
    let mut same = Filters { fixed: vec![false; 300], world: vec![4; 300], ..Filters::default() };
    let mut broad_phase = gpu(CANONICAL);
    broad_phase.set_filters(same.clone()).unwrap();
    broad_phase.reserve(300, 1 << 16).unwrap();
    let mut recorded = encoder();
    broad_phase.record_filters(&mut recorded, 50..150, GpuAttribute::Fixed(values.slice(256..))).unwrap();
    same.fixed[50..150].fill(true);
    // More than there is room for.
    same.world = (0..300).map(|i| i % 70).collect();
    broad_phase.change_filters(0, Attribute::World(&same.world)).unwrap();
    let left = broad_phase.record(&mut recorded, buffer.slice(..), 300).unwrap();
    assert_pairs(&run(recorded, left).1, &rule::find_pairs(&boxes, &same), "with new worlds");
}

#[test]
fn a_change_on_the_device_keeps_within_a_memory_budget_and_outlives_other_buffers() {
    let boxes = Kind::Clusters.generate(900, 3);
    let (buffer, n) = (upload(&boxes), boxes.len());
    let budget = 2 * least_budget(&boxes, PairOrder::Canonical) + (1 << 20);
    let options = Options { memory_budget: Some(budget), ..CANONICAL };
    let mut broad_phase = BroadPhase::new(&GPU, options).unwrap();
    let mut same = Filters { fixed: vec![false; n], group: vec![1; n], ..Filters::default() };
    broad_phase.set_filters(same.clone()).unwrap();
    let mut check = |broad_phase: &mut BroadPhase, first: usize, what: &str| {
        let values = given(&[1; 40]);
        let mut recorded = encoder();
        let range = first as u32..first as u32 + 40;
        broad_phase.record_filters(&mut recorded, range, GpuAttribute::Fixed(values.slice(256..))).expect(what);
        same.fixed[first..first + 40].fill(true);
        let left = broad_phase.record(&mut recorded, buffer.slice(..), n as u32).expect(what);
        assert_pairs(&run(recorded, left).1, &rule::find_pairs(&boxes, &same), what);
        let bytes: u64 = broad_phase.buffers().iter().map(|(_, bytes)| bytes).sum();
        assert!(what == "with longer buffers" || bytes <= budget, "{what}: {bytes} of {budget}");
    };
    check(&mut broad_phase, 0, "first");
    let mut recorded = encoder();
    broad_phase.record_events(&mut recorded, buffer.slice(..), n as u32, GpuIdentity::Index).unwrap();
    GPU.queue().submit([recorded.finish()]);
    check(&mut broad_phase, 100, "with steps");
    broad_phase.forget_steps();
    check(&mut broad_phase, 333, "without steps");
    broad_phase.set_options(Options { memory_budget: Some(budget - 1000), ..CANONICAL }).unwrap();
    check(&mut broad_phase, 500, "with another budget");
    broad_phase.set_options(CANONICAL).unwrap();
    broad_phase.reserve(5 * n, 1 << 17).unwrap();
    check(&mut broad_phase, 700, "with longer buffers");
}

#[test]
fn a_change_that_is_refused_leaves_what_was_recorded_and_another_does_not() {
    let boxes = Kind::Uniform.generate(300, 1);
    let (buffer, values) = (upload(&boxes), given(&[0; 300]));
    let mut broad_phase = gpu(CANONICAL);
    let filters = Filters { group: vec![1; 300], sleeping: vec![false; 300], ..Filters::default() };
    let expected = rule::find_pairs(&boxes, &filters);
    broad_phase.set_filters(filters).unwrap();
    let mut first = encoder();
    broad_phase.record(&mut first, buffer.slice(..), 300).unwrap();
    GPU.queue().submit([first.finish()]);
    let change = |broad_phase: &mut BroadPhase, boxes| {
        broad_phase.record_filters(&mut encoder(), boxes, GpuAttribute::Group(values.slice(256..)))
    };
    assert_eq!(refused(change(&mut broad_phase, 0..301)), "group");
    let mut again = encoder();
    let left = broad_phase.record_window(&mut again, buffer.slice(..), 300, 0, expected.len() as u32).unwrap();
    assert_pairs(&run(again, left).1, &expected, "after a refusal");
    change(&mut broad_phase, 0..300).unwrap();
    let again = broad_phase.record_window(&mut encoder(), buffer.slice(..), 300, 0, 0).map(|_| ());
    assert_eq!(again, Err(Error::NothingRecorded));
    // Those commands are dropped, so nothing has changed there; and other lists are the host's.
    broad_phase.change_filters(7, Attribute::Sleeping(&[true])).unwrap();
    let mut again = encoder();
    let left = broad_phase.record(&mut again, buffer.slice(..), 300).unwrap();
    assert_pairs(&run(again, left).1, &expected, "dropped");
}

#[test]
fn a_search_that_was_recorded_before_there_were_more_worlds_has_them() {
    let mut boxes = Kind::Uniform.generate(900, 2);
    // Boxes without an end, in worlds of which some come later.
    for i in (0..900).step_by(60) {
        boxes[i].max[i % 3] = f32::INFINITY;
    }
    let buffer = upload(&boxes);
    let mut same = Filters { world: (0..900).map(|i| i % 2).collect(), ..Filters::default() };
    let mut broad_phase = gpu(SWEEP);
    broad_phase.set_filters(same.clone()).unwrap();
    broad_phase.reserve(900, 1 << 16).unwrap();
    let mut recorded = encoder();
    let left = broad_phase.record(&mut recorded, buffer.slice(..), 900).unwrap();
    same.world = (0..900).map(|i| i % 7).collect();
    broad_phase.change_filters(0, Attribute::World(&same.world)).unwrap();
    let mut pairs = run(recorded, left).1;
    pairs.sort_unstable();
    assert_pairs(&pairs, &rule::find_pairs(&boxes, &same), "with worlds that came later");
}
