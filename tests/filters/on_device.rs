//! Filters whose values lie in buffers of the device.

use std::ops::Range;

use broadsweep::filter::{Attribute, GroupRule, HalfSpace};
use broadsweep::record::{GpuAttribute, GpuCount, GpuIdentity};
use broadsweep::{Aabb, Error, Filters, Pair, PairOrder, Recorder, wgpu};
use laboratory::scenes::Kind;
use wgpu::BufferUsages as U;

use crate::common::{ALL_PAIRS, CANONICAL, GPU, Random, SWEEP, assert_pairs, least_budget, recorder};
use crate::inputs::{BY_BOX, all, some_pairs};
use crate::rule;
use crate::submissions::{cloned, encoder, run, run_cloned, upload};

/// Creates a buffer of values, of which it begins with some that nobody looks at.
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
        "world" => filters.world[range].to_vec(),
        "sphere" => bytemuck::cast_slice(&filters.sphere[range]).to_vec(),
        "margin" => filters.margin[range].iter().map(|margin| margin.to_bits()).collect(),
        _ => panic!("no list is called {list}"),
    }
}

/// Records a search, submits it, and returns its pairs in ascending order.
fn pairs_of(recorder: &mut Recorder, boxes: &[Aabb]) -> Vec<Pair> {
    let (mut encoder, buffer) = (encoder(), upload(boxes));
    let left = recorder.record(&mut encoder, buffer.slice(..), boxes.len() as u32).unwrap();
    let mut pairs = run(encoder, left).1;
    pairs.sort_unstable();
    pairs
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
                let left = recorder.record(&mut encoder, buffer.slice(..), n as u32).unwrap();
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
    let mut recorder = recorder(CANONICAL);
    recorder.set_filters(Filters::default().with_fixed(vec![false; 40])).unwrap();
    recorder.reserve(40, 1000).unwrap();
    let mut first = encoder();
    let before = cloned(recorder.record(&mut first, buffer.slice(..), 40).unwrap());
    let mut second = encoder();
    recorder.record_filters(&mut second, 0..40, GpuAttribute::Fixed(values.slice(256..))).unwrap();
    let behind = recorder.record(&mut second, buffer.slice(..), 40).unwrap();
    assert_eq!(run_cloned(first, &before).1.len(), 40 * 39 / 2);
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
    let own_filters = Filters::default().with_group(vec![1; 300]).with_world(vec![0; 300]).with_rule(GroupRule::Both);
    let mut recorder = recorder(CANONICAL);
    recorder.set_filters(own_filters.clone()).unwrap();
    let own = || values.slice(256..);
    let descriptor = wgpu::BufferDescriptor { label: None, size: 4096, usage: U::UNIFORM, mapped_at_creation: false };
    let constant = GPU.device().create_buffer(&descriptor);
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
    let mut pairs = run_cloned(recorded, &left).1;
    pairs.sort_unstable();
    assert_pairs(&pairs, &rule::find_pairs(&boxes, &same), "with worlds that came later");
}

// ---- worlds ----

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
            let left = recorder.record(&mut encoder, buffer.slice(..), n as u32).unwrap();
            let mut pairs = run(encoder, left).1;
            pairs.sort_unstable();
            assert_pairs(&pairs, &rule::find_pairs(&boxes, &same), &format!("{round}: {range:?} of {:?}", &known[..3]));
        }
        assert_eq!(refused(recorder.change_filters(0, Attribute::World(&[1]))), "world");
    }
}

// ---- half-spaces ----

#[test]
fn half_spaces_of_the_device_are_those_that_are_searched_next() {
    let n = 700;
    let boxes = Kind::Clusters.generate(n, 4);
    let buffer = upload(&boxes);
    let [nan, inf] = [f32::NAN, f32::INFINITY];
    // Some that are none come in between.
    let bad = [[0.0, -0.0, 0.0, 5.0], [nan, 1.0, 0.0, 0.0], [1.0, inf, 0.0, 0.0], [1.0, 0.0, 0.0, -inf], [0.0; 4]];
    for options in [SWEEP, CANONICAL, ALL_PAIRS] {
        // Not in the order of their boxes; more than a few, and a few.
        for count in [3, 40] {
            let mut random = Random(5);
            let half_spaces: Vec<HalfSpace> = (0..count)
                .map(|k| HalfSpace { index: (k * 37 + 300) as u32 % n as u32, normal: [0.0, 1.0, 0.0], offset: -1e9 })
                .collect();
            let mut sorted = half_spaces.clone();
            sorted.sort_by_key(|half_space| half_space.index);
            let mut recorder = recorder(options);
            recorder.set_filters(Filters::default().with_half_spaces(half_spaces)).unwrap();
            recorder.reserve(n, 1 << 17).unwrap();
            let mut is_there = vec![true; count];
            for (first, end) in [(0, count), (1, 3), (count - 1, count), (2, 2), (0, count / 2)] {
                let mut number = || (random.below(2001) as f32 - 1000.0) / 500.0;
                let mut planes = Vec::new();
                for k in first..end {
                    let mut plane = [number(), number(), number(), 3.0 * number()];
                    let is_bad = k % 4 == 1;
                    if is_bad {
                        plane = bad[k / 4 % bad.len()];
                    }
                    is_there[k] = !is_bad;
                    (sorted[k].normal, sorted[k].offset) = ([plane[0], plane[1], plane[2]], plane[3]);
                    planes.extend(plane.map(f32::to_bits));
                }
                let planes = given(&planes);
                let mut encoder = encoder();
                let which = first as u32..end as u32;
                recorder.record_half_spaces(&mut encoder, n as u32, which, planes.slice(256..)).unwrap();
                let left = recorder.record(&mut encoder, buffer.slice(..), n as u32).unwrap();
                let mut pairs = run(encoder, left).1;
                pairs.sort_unstable();
                // A half-space that meets nothing stands for a box that pairs with nothing.
                let shown = sorted.iter().zip(&is_there).filter(|(_, is_there)| **is_there);
                let shown: Vec<HalfSpace> = shown.map(|(half_space, _)| *half_space).collect();
                let mut left_out = boxes.clone();
                for (k, half_space) in sorted.iter().enumerate() {
                    if !is_there[k] {
                        left_out[half_space.index as usize] = Aabb::new([nan; 3], [nan; 3]);
                    }
                }
                let same = Filters::default().with_half_spaces(shown);
                assert_pairs(&pairs, &rule::find_pairs(&left_out, &same), &format!("{first}..{end} of {count}"));
            }
        }
    }
}

#[test]
fn half_spaces_that_are_not_there_are_refused() {
    let half_space = |index| HalfSpace { index, normal: [0.0, 1.0, 0.0], offset: 0.0 };
    let mut recorder = recorder(CANONICAL);
    recorder.set_filters(Filters::default().with_half_spaces(vec![half_space(9), half_space(3)])).unwrap();
    let planes = given(&[0; 400]);
    for (box_count, which, first) in
        [(300, 0..3, 256), (300, 2..3, 256), (300, Range { start: 1, end: 0 }, 256), (9, 0..1, 256), (300, 0..2, 4)]
    {
        let result = recorder.record_half_spaces(&mut encoder(), box_count, which.clone(), planes.slice(first..));
        assert_eq!(refused(result), "half_spaces", "{which:?} of {box_count}");
    }
    assert_eq!(refused(recorder.record_half_spaces(&mut encoder(), 300, 0..2, planes.slice(1840..))), "half_spaces");
    assert_eq!(recorder.record_half_spaces(&mut encoder(), 300, 1..1, planes.slice(4..)), Ok(()));
    // Nothing has changed.
    let boxes = Kind::Uniform.generate(300, 1);
    let expected = rule::find_pairs(&boxes, recorder.filters());
    assert_pairs(&pairs_of(&mut recorder, &boxes), &expected, "after refusals");
}

// ---- pairs to exclude ----

/// Lists pairs as a kernel of the caller may: those of `exclude` in any order, some twice, and entries that are no pair
/// of these boxes.
fn listed(random: &mut Random, exclude: &[Pair], n: usize) -> Vec<u32> {
    let mut words = Vec::new();
    for pair in exclude {
        for _ in 0..1 + random.below(5) / 4 {
            words.push(if random.below(2) == 0 { [pair.a, pair.b] } else { [pair.b, pair.a] });
        }
        if random.below(8) == 0 {
            let (any, beyond) = (random.below(n) as u32, [n as u32, u32::MAX][random.below(2)]);
            words.push([[any, any], [any, beyond], [beyond, any], [beyond, beyond]][random.below(4)]);
        }
    }
    for i in 0..words.len() {
        let other = random.below(words.len());
        words.swap(i, other);
    }
    words.concat()
}

#[test]
fn pairs_to_exclude_may_come_from_the_device() {
    let n = 900;
    let boxes = Kind::Clusters.generate(n, 5);
    let buffer = upload(&boxes);
    let mut random = Random(9);
    let all_pairs = rule::find_pairs(&boxes, &Filters::default());
    for options in [SWEEP, CANONICAL, ALL_PAIRS] {
        for include in [vec![], some_pairs(&mut random, n, 300)] {
            let at_most = 3 * all_pairs.len() as u32;
            let host = all_pairs.iter().step_by(3).copied().collect();
            let mut same =
                Filters::default().with_exclude(host).with_exclude_at_most(at_most).with_include(include.clone());
            let mut recorder = recorder(options);
            recorder.set_filters(same.clone()).unwrap();
            assert_pairs(&pairs_of(&mut recorder, &boxes), &rule::find_pairs(&boxes, &same), "the host's");
            recorder.reserve(n, 1 << 17).unwrap();
            // Half of all, one, none, all, some.
            for (round, step) in [2, all_pairs.len(), 0, 1, 7].into_iter().enumerate() {
                same.exclude = if step == 0 { Vec::new() } else { all_pairs.iter().step_by(step).copied().collect() };
                let words = listed(&mut random, &same.exclude, n);
                let (pairs, own_count) = (given(&words), words.len() as u32 / 2);
                let stored = given(&[own_count, 7]);
                let mut encoder = encoder();
                let count = match round % 2 {
                    0 => GpuCount::Known(own_count),
                    _ => GpuCount::Stored { count: stored.slice(256..), at_most: own_count },
                };
                recorder.record_exclude(&mut encoder, n as u32, pairs.slice(256..), count).unwrap();
                let left = recorder.record(&mut encoder, buffer.slice(..), n as u32).unwrap();
                let (header, pairs) = run(encoder, left);
                assert_eq!(header.overflow, 0);
                assert_pairs(&sorted(pairs), &rule::find_pairs(&boxes, &same), &format!("every {step}th is excluded"));
            }
            recorder.set_filters(same.with_exclude(vec![])).unwrap();
            let expected = rule::find_pairs(&boxes, recorder.filters());
            assert_pairs(&pairs_of(&mut recorder, &boxes), &expected, "set anew");
        }
    }
}

fn sorted(mut pairs: Vec<Pair>) -> Vec<Pair> {
    pairs.sort_unstable();
    pairs
}

#[test]
fn excluded_pairs_beyond_the_capacity_are_reported_and_nothing_is_wrong() {
    let n = 900;
    let boxes = Kind::Clusters.generate(n, 5);
    let (buffer, number) = (upload(&boxes), upload(&[Aabb::new([f32::from_bits(800); 3], [0.0; 3])]));
    let pairs = given(&[5; 2000]);
    for options in [SWEEP, CANONICAL, ALL_PAIRS] {
        let mut recorder = recorder(options);
        recorder.set_filters(Filters::default().with_exclude_at_most(1000)).unwrap();
        recorder.reserve(n, 1 << 17).unwrap();
        for (count, is_beyond) in [(900, false), (901, true), (u32::MAX, true), (0, false)] {
            let stored = given(&[count]);
            // A search that is recorded before the list, and submitted behind it.
            let mut earlier = encoder();
            let left = cloned(recorder.record(&mut earlier, buffer.slice(..), n as u32).unwrap());
            let mut commands = encoder();
            let count = GpuCount::Stored { count: stored.slice(256..), at_most: 900 };
            recorder.record_exclude(&mut commands, n as u32, pairs.slice(256..), count).unwrap();
            GPU.queue().submit([commands.finish()]);
            let (header, found) = run_cloned(earlier, &left);
            let expected = if is_beyond { Vec::new() } else { rule::find_pairs(&boxes, &Filters::default()) };
            assert_eq!((header.overflow, header.count), (if is_beyond { 6 } else { 0 }, expected.len() as u32));
            assert_pairs(&sorted(found), &expected, "of a known number");
            let mut commands = encoder();
            let box_count = GpuCount::Stored { count: number.slice(..), at_most: n as u32 };
            let left = recorder.record(&mut commands, buffer.slice(..), box_count).unwrap();
            let (header, found) = run(commands, left);
            let expected = if is_beyond { Vec::new() } else { rule::find_pairs(&boxes[..800], &Filters::default()) };
            assert_eq!((header.overflow, header.count), (if is_beyond { 6 } else { 0 }, expected.len() as u32));
            assert_pairs(&sorted(found), &expected, "of a number in a buffer");
            // A list of known length fits.
            let mut commands = encoder();
            recorder.record_exclude(&mut commands, n as u32, pairs.slice(256..), 7).unwrap();
            let left = recorder.record(&mut commands, buffer.slice(..), n as u32).unwrap();
            assert_pairs(&sorted(run(commands, left).1), &rule::find_pairs(&boxes, &Filters::default()), "of a list");
        }
    }
}

#[test]
fn pairs_to_exclude_that_cannot_come_are_refused() {
    let pairs = given(&[1; 40]);
    let descriptor = wgpu::BufferDescriptor { label: None, size: 4096, usage: U::UNIFORM, mapped_at_creation: false };
    let constant = GPU.device().create_buffer(&descriptor);
    let boxes = Kind::Uniform.generate(300, 1);
    let all_pairs = rule::find_pairs(&boxes, &Filters::default());
    let recorder = &mut recorder(CANONICAL);
    let mut exclude = |filters: &Filters, pairs: wgpu::BufferSlice<'_>, count: GpuCount<'_>| {
        recorder.set_filters(filters.clone()).unwrap();
        let result = recorder.record_exclude(&mut encoder(), 300, pairs, count);
        if filters.fixed.is_empty() && filters.exclude_at_most < 100 && result.is_err() {
            assert_pairs(&pairs_of(recorder, &boxes), &all_pairs, "nothing is excluded");
        }
        result
    };
    let own = || pairs.slice(256..);
    let ten_pairs = Filters::default().with_exclude_at_most(10);
    assert_eq!(refused(exclude(&Filters::default(), own(), 1.into())), "exclude");
    assert_eq!(refused(exclude(&Filters::default(), own(), 0.into())), "exclude");
    assert_eq!(refused(exclude(&ten_pairs, own(), 11.into())), "exclude");
    assert_eq!(refused(exclude(&ten_pairs, pairs.slice(344..), 10.into())), "exclude");
    assert_eq!(refused(exclude(&ten_pairs, pairs.slice(4..), 10.into())), "exclude");
    assert_eq!(refused(exclude(&ten_pairs, constant.slice(..), 10.into())), "exclude");
    let no_number = GpuCount::Stored { count: constant.slice(..), at_most: 5 };
    assert_eq!(refused(exclude(&ten_pairs, own(), no_number)), "exclude count");
    let fixed = ten_pairs.clone().with_fixed(vec![true; 299]);
    let length = exclude(&fixed, own(), 10.into());
    assert!(matches!(length, Err(Error::FilterLength { list: "fixed", length: 299, box_count: 300 })), "{length:?}");
    // Nothing is excluded, by nothing.
    assert_eq!(exclude(&ten_pairs, pairs.slice(4..4), 0.into()), Ok(()));
    assert_eq!(exclude(&ten_pairs, own(), 10.into()), Ok(()));
    // As many as there may be, and more.
    let most = Filters::default().with_exclude_at_most(1 << 24);
    assert_eq!(exclude(&most, own(), 10.into()), Ok(()));
    for room in [(1 << 24) + 1, u32::MAX] {
        let filters = Filters::default().with_exclude_at_most(room);
        assert_eq!(refused(recorder.set_filters(filters)), "exclude_at_most");
    }
}
