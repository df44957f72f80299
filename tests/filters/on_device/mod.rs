//! Filters whose values lie in buffers of the device.

mod exclude;
mod half_spaces;

use std::ops::Range;

use broadsweep::filter::{Attribute, GroupRule};
use broadsweep::record::{GpuAttribute, GpuIdentity};
use broadsweep::{Aabb, Error, Filters, Pair, PairOrder, Recorder, wgpu};
use laboratory::scenes::Kind;
use wgpu::BufferUsages as U;

use crate::common::device::{cloned, encoder, run, run_cloned, upload, upload_behind};
use crate::common::{ALL_PAIRS, CANONICAL, GPU, Random, SWEEP, assert_pairs, least_budget, recorder, sorted};
use crate::inputs::{BY_BOX, all};
use crate::rule;

/// Creates a buffer of these values, behind others that nobody reads.
fn given(values: &[u32]) -> wgpu::Buffer {
    upload_behind(256, values, U::STORAGE)
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
        "world" => filters.world[range].to_vec(),
        "sphere" => bytemuck::cast_slice(&filters.sphere[range]).to_vec(),
        "margin" => filters.margin[range].iter().map(|margin| margin.to_bits()).collect(),
        _ => panic!("no list is called {list}"),
    }
}

/// Records a search, submits it, and returns its pairs in ascending order.
fn pairs_of(recorder: &mut Recorder, boxes: &[Aabb]) -> Vec<Pair> {
    pairs_behind(encoder(), recorder, &upload(boxes), boxes.len())
}

/// Records a search behind other commands, submits all, and returns its pairs in ascending order.
fn pairs_behind(
    mut encoder: wgpu::CommandEncoder,
    recorder: &mut Recorder,
    boxes: &wgpu::Buffer,
    box_count: usize,
) -> Vec<Pair> {
    let left = recorder.record(&mut encoder, boxes.slice(..), box_count as u32).unwrap();
    sorted(&run(encoder, left).1)
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
        "sphere" => GpuAttribute::Sphere(values),
        "margin" => GpuAttribute::Margin(values),
        _ => GpuAttribute::World(values),
    }
}

/// Records a change of a range of a list to the values of other filters, and makes `same` have them.
fn change(
    recorder: &mut Recorder,
    encoder: &mut wgpu::CommandEncoder,
    list: &str,
    (same, other): (&mut Filters, &Filters),
    range: Range<usize>,
) {
    let values = given(&words(other, list, range.clone()));
    let boxes = range.start as u32..range.end as u32;
    recorder.record_filters(encoder, boxes, attribute(list, values.slice(256..))).unwrap();
    let by_box = BY_BOX.iter().find(|by_box| by_box.list == list).unwrap();
    (by_box.copy)(same, other, range);
}

/// Returns the list that a refusal names.
fn refused<T>(result: Result<T, Error>) -> &'static str {
    match result.map(|_| ()).unwrap_err() {
        Error::BadFilter { list, .. } | Error::BadBuffer { buffer: list, .. } => list,
        error => panic!("{error}"),
    }
}

#[test]
#[ignore = "long"]
fn changes_of_every_list_in_ranges_are_in_what_is_recorded_next() {
    for options in [CANONICAL, SWEEP, ALL_PAIRS] {
        let boxes = Kind::Clusters.generate(700, 5);
        let (buffer, n) = (upload(&boxes), boxes.len());
        let mut random = Random(5);
        // With spheres, margins do not change on the device.
        let has_spheres = options == SWEEP;
        let mut same = all(&mut random, &boxes);
        same.sphere = if has_spheres { same.sphere } else { Vec::new() };
        let lists: Vec<&str> = BY_BOX
            .iter()
            .map(|by_box| by_box.list)
            .filter(|list| *list != if has_spheres { "margin" } else { "sphere" })
            .collect();
        let mut recorder = recorder(options);
        recorder.set_filters(same.clone()).unwrap();
        recorder.reserve(n, 1 << 16).unwrap();
        for round in 0..6 {
            let other = all(&mut random, &boxes);
            let (first, last) = (random.below(n + 1), random.below(n + 1));
            let any = first.min(last)..first.max(last);
            // The whole, none behind the last, one box, words and not, and any range.
            let range = [0..n, n..n, n - 1..n, 32..96, 33..95, any][round].clone();
            for &list in &lists {
                let mut encoder = encoder();
                change(&mut recorder, &mut encoder, list, (&mut same, &other), range.clone());
                let pairs = pairs_behind(encoder, &mut recorder, &buffer, n);
                assert_pairs(&pairs, &rule::find_pairs(&boxes, &same), &format!("{list} of {range:?}"));
            }
        }
    }
}

#[test]
fn what_was_recorded_before_a_change_is_searched_without_it() {
    let boxes = Kind::Identical.generate(40, 1);
    let (buffer, values) = (upload(&boxes), given(&[1; 40]));
    let mut recorder = recorder(CANONICAL);
    recorder.set_filters(Filters::default().with_fixed(vec![false; 40])).unwrap();
    recorder.reserve(40, 1000).unwrap();
    let mut first = encoder();
    let before = cloned(recorder.record(&mut first, buffer.slice(..), 40).unwrap());
    let mut second = encoder();
    recorder.record_filters(&mut second, 0..40, GpuAttribute::Fixed(values.slice(256..))).unwrap();
    let behind = recorder.record(&mut second, buffer.slice(..), 40).unwrap();
    assert_eq!(run_cloned(first, &before).2.len(), 40 * 39 / 2);
    assert_eq!(run(second, behind).1, []);
    // The host has other values for the boxes around.
    assert_eq!(refused(recorder.change_filters(3, Attribute::Fixed(&[false; 2]))), "fixed");
    let mut third = encoder();
    let values = given(&[0; 2]);
    recorder.record_filters(&mut third, 3..5, GpuAttribute::Fixed(values.slice(256..))).unwrap();
    let left = recorder.record(&mut third, buffer.slice(..), 40).unwrap();
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
    let mut recorder = recorder(CANONICAL);
    recorder.set_filters(Filters::default().with_margin(vec![0.0; 20])).unwrap();
    recorder.reserve(20, 1000).unwrap();
    let mut encoder = encoder();
    recorder.record_filters(&mut encoder, 2..13, GpuAttribute::Margin(values.slice(256..))).unwrap();
    let left = recorder.record(&mut encoder, buffer.slice(..), 20).unwrap();
    let is_valid = |i: u32| !(2..13).contains(&i) || [0, 1, 2, 8, 10].contains(&(i - 2));
    let pairs = (0..20).flat_map(|a| (a + 1..20).map(move |b| Pair { a, b }));
    let expected: Vec<Pair> = pairs.filter(|pair| is_valid(pair.a) && is_valid(pair.b)).collect();
    assert_pairs(&run(encoder, left).1, &expected, "margins of every kind");
}

#[test]
fn what_cannot_be_changed_on_the_device_is_refused_and_changes_nothing() {
    let scene = Kind::Uniform.generate(300, 1);
    let values = given(&[1; 300]);
    let own_filters = Filters::default().with_group(vec![1; 300]).with_world(vec![0; 300]).with_rule(GroupRule::Both);
    let mut recorder = recorder(CANONICAL);
    recorder.set_filters(own_filters.clone()).unwrap();
    let own = || values.slice(256..);
    let constant = upload_behind(256, &[0; 400], U::UNIFORM);
    for (boxes, attribute, list) in [
        (0..1, GpuAttribute::Mask(own()), "mask"),
        (0..0, GpuAttribute::Sleeping(own()), ""),
        (0..301, GpuAttribute::Group(own()), "group"),
        (u32::MAX - 1..u32::MAX, GpuAttribute::Group(own()), "group"),
        (Range { start: 5, end: 3 }, GpuAttribute::Group(own()), "group"),
        (0..300, GpuAttribute::World(values.slice(512..)), "world"),
        (0..300, GpuAttribute::Parent(own()), "parent"),
        (0..300, GpuAttribute::Group(values.slice(512..)), "group"),
        (0..300, GpuAttribute::Group(values.slice(4..)), "group"),
        (0..300, GpuAttribute::Group(constant.slice(..)), "group"),
    ] {
        let result = recorder.record_filters(&mut encoder(), boxes, attribute);
        if list.is_empty() {
            // No values of a list that is not there.
            assert_eq!(result, Ok(()));
        } else {
            assert_eq!(refused(result), list);
        }
        // The host still knows all of it.
        assert_eq!(recorder.change_filters(0, Attribute::Group(&[1])), Ok(()), "{list}");
    }
    let expected = rule::find_pairs(&scene, &own_filters);
    assert_pairs(&pairs_of(&mut recorder, &scene), &expected, "after refusals");
}

#[test]
fn a_list_that_lies_on_the_device_cannot_be_changed_on_the_host_until_all_filters_are_set_anew() {
    let boxes = Kind::Uniform.generate(300, 1);
    let (buffer, values) = (upload(&boxes), given(&[1; 300]));
    let mut recorder = recorder(CANONICAL);
    recorder.set_filters(Filters::default().with_sleeping(vec![false; 300])).unwrap();
    let mut first = encoder();
    recorder.record_filters(&mut first, 0..300, GpuAttribute::Sleeping(values.slice(256..))).unwrap();
    assert_eq!(refused(recorder.change_filters(0, Attribute::Sleeping(&[false]))), "sleeping");
    // Recorded ones go on, with the values of the device.
    let left = recorder.record(&mut first, buffer.slice(..), 300).unwrap();
    assert_eq!(run(first, left).1, []);
    // Nothing of it is there any more.
    recorder.set_filters(Filters::default().with_sleeping(vec![false; 300])).unwrap();
    let expected = rule::find_pairs(&boxes, &Filters::default());
    assert!(!expected.is_empty());
    assert_pairs(&pairs_of(&mut recorder, &boxes), &expected, "set anew");
    assert_eq!(recorder.change_filters(0, Attribute::Sleeping(&[false])), Ok(()));
}

#[test]
fn new_worlds_of_the_host_leave_what_the_device_has() {
    let boxes = Kind::Identical.generate(300, 1);
    let (buffer, values) = (upload(&boxes), given(&[1; 100]));
    let mut same = Filters::default().with_fixed(vec![false; 300]).with_world(vec![4; 300]);
    let mut recorder = recorder(CANONICAL);
    recorder.set_filters(same.clone()).unwrap();
    recorder.reserve(300, 1 << 16).unwrap();
    let mut recorded = encoder();
    recorder.record_filters(&mut recorded, 50..150, GpuAttribute::Fixed(values.slice(256..))).unwrap();
    same.fixed[50..150].fill(true);
    // More than the capacity.
    same.world = (0..300).map(|i| i % 70).collect();
    recorder.change_filters(0, Attribute::World(&same.world)).unwrap();
    let left = recorder.record(&mut recorded, buffer.slice(..), 300).unwrap();
    assert_pairs(&run(recorded, left).1, &rule::find_pairs(&boxes, &same), "with new worlds");
}

#[test]
fn a_change_on_the_device_keeps_within_a_memory_budget_and_outlives_other_buffers() {
    let boxes = Kind::Clusters.generate(900, 3);
    let (buffer, n) = (upload(&boxes), boxes.len());
    let budget = 2 * least_budget(&boxes, PairOrder::Canonical) + (1 << 20);
    let options = CANONICAL.with_memory_budget(Some(budget));
    let mut recorder = Recorder::new(&GPU, options).unwrap();
    let mut same = Filters::default()
        .with_fixed(vec![false; n])
        .with_group(vec![1; n])
        .with_world((0..n as u32).map(|i| i % 300).collect())
        .with_exclude_at_most(5000);
    let all_pairs = rule::find_pairs(&boxes, &same);
    recorder.set_filters(same.clone()).unwrap();
    let mut check = |recorder: &mut Recorder, first: usize, what: &str| {
        let values = given(&[1; 40]);
        let mut recorded = encoder();
        let range = first as u32..first as u32 + 40;
        recorder.record_filters(&mut recorded, range, GpuAttribute::Fixed(values.slice(256..))).expect(what);
        same.fixed[first..first + 40].fill(true);
        let worlds = given(&[8; 60]);
        let range = first as u32 + 20..first as u32 + 80;
        recorder.record_filters(&mut recorded, range, GpuAttribute::World(worlds.slice(256..))).expect(what);
        same.world[first + 20..first + 80].fill(8);
        same.exclude = all_pairs.iter().skip(first).step_by(3).take(1666).copied().collect();
        let pairs = given(bytemuck::cast_slice(&same.exclude));
        let count = same.exclude.len() as u32;
        recorder.record_exclude(&mut recorded, n as u32, pairs.slice(256..), count).expect(what);
        let left = recorder.record(&mut recorded, buffer.slice(..), n as u32).expect(what);
        assert_pairs(&run(recorded, left).1, &rule::find_pairs(&boxes, &same), what);
        let bytes: u64 = recorder.buffers().iter().map(|(_, bytes)| bytes).sum();
        assert!(what == "with longer buffers" || bytes <= budget, "{what}: {bytes} of {budget}");
    };
    check(&mut recorder, 0, "first");
    let mut recorded = encoder();
    recorder.record_events(&mut recorded, buffer.slice(..), n as u32, GpuIdentity::Index).unwrap();
    GPU.queue().submit([recorded.finish()]);
    check(&mut recorder, 100, "with steps");
    recorder.forget_steps();
    check(&mut recorder, 333, "without steps");
    recorder.set_options(CANONICAL.with_memory_budget(Some(budget - 1000))).unwrap();
    check(&mut recorder, 500, "with another budget");
    recorder.set_options(CANONICAL).unwrap();
    recorder.reserve(5 * n, 1 << 17).unwrap();
    check(&mut recorder, 700, "with longer buffers");
}

#[test]
fn a_change_that_is_refused_leaves_what_was_recorded_and_another_does_not() {
    let boxes = Kind::Uniform.generate(300, 1);
    let (buffer, values) = (upload(&boxes), given(&[0; 300]));
    let mut recorder = recorder(CANONICAL);
    let filters = Filters::default().with_group(vec![1; 300]).with_sleeping(vec![false; 300]);
    let expected = rule::find_pairs(&boxes, &filters);
    recorder.set_filters(filters).unwrap();
    let mut first = encoder();
    recorder.record(&mut first, buffer.slice(..), 300).unwrap();
    GPU.queue().submit([first.finish()]);
    let change = |recorder: &mut Recorder, boxes| {
        recorder.record_filters(&mut encoder(), boxes, GpuAttribute::Group(values.slice(256..)))
    };
    assert_eq!(refused(change(&mut recorder, 0..301)), "group");
    let mut again = encoder();
    let left = recorder.record_window(&mut again, buffer.slice(..), 300, 0, expected.len() as u32).unwrap();
    assert_pairs(&run(again, left).1, &expected, "after a refusal");
    change(&mut recorder, 0..300).unwrap();
    let again = recorder.record_window(&mut encoder(), buffer.slice(..), 300, 0, 0).map(|_| ());
    assert_eq!(again, Err(Error::NothingRecorded));
    // The commands of the change are dropped, so no list on the device changed. The host still has the other lists.
    recorder.change_filters(7, Attribute::Sleeping(&[true])).unwrap();
    let mut again = encoder();
    let left = recorder.record(&mut again, buffer.slice(..), 300).unwrap();
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
    let mut same = Filters::default().with_world((0..900).map(|i| i % 2).collect());
    let mut recorder = recorder(SWEEP);
    recorder.set_filters(same.clone()).unwrap();
    recorder.reserve(900, 1 << 16).unwrap();
    let mut recorded = encoder();
    let left = cloned(recorder.record(&mut recorded, buffer.slice(..), 900).unwrap());
    same.world = (0..900).map(|i| i % 7).collect();
    recorder.change_filters(0, Attribute::World(&same.world)).unwrap();
    let pairs = sorted(&run_cloned(recorded, &left).2);
    assert_pairs(&pairs, &rule::find_pairs(&boxes, &same), "with worlds that came later");
}

#[test]
fn any_worlds_may_come_from_the_device() {
    let n = 600;
    let mut boxes = Kind::Clusters.generate(n, 2);
    for i in (0..n).step_by(40) {
        boxes[i].max[i % 3] = f32::INFINITY;
    }
    let buffer = upload(&boxes);
    let mut random = Random(3);
    // Worlds of the host: all global; few worlds; many, with ids below their number and far beyond it.
    let ids = [0, 1, 2, 3, 5, 8, 100, 101, 4_000_000_000, u32::MAX - 1];
    let global = vec![Filters::GLOBAL; n];
    let few: Vec<u32> = (0..n).map(|i| [7, 9, Filters::GLOBAL][i % 3]).collect();
    let many: Vec<u32> = (0..n).map(|i| ids[i % 10]).collect();
    for (options, known) in
        [SWEEP, CANONICAL, ALL_PAIRS].into_iter().flat_map(|o| [(o, &global), (o, &few), (o, &many)])
    {
        let mut same = Filters::default().with_world(known.clone());
        let mut recorder = recorder(options);
        recorder.set_filters(same.clone()).unwrap();
        recorder.reserve(n, 1 << 17).unwrap();
        // Worlds that boxes have already, all, and any ids in some of them.
        for round in 0..4 {
            let range = if round == 1 { 0..n } else { random.below(n / 2)..n / 2 + random.below(n / 2) };
            let other = Filters::default().with_world(
                (0..n)
                    .map(|_| match round {
                        0 => known[random.below(n)],
                        1 => random.below(12) as u32,
                        2 => [Filters::GLOBAL, 11, 4, u32::MAX - 2, 6][random.below(5)],
                        _ => ids[random.below(10)],
                    })
                    .collect(),
            );
            let mut encoder = encoder();
            change(&mut recorder, &mut encoder, "world", (&mut same, &other), range.clone());
            let pairs = pairs_behind(encoder, &mut recorder, &buffer, n);
            assert_pairs(&pairs, &rule::find_pairs(&boxes, &same), &format!("{round}: {range:?} of {:?}", &known[..3]));
        }
        assert_eq!(refused(recorder.change_filters(0, Attribute::World(&[1]))), "world");
    }
}
