//! `events`: the list of a step against the one before.

use std::mem::offset_of;

use broadsweep::internals::constants::{
    EVENT_CREATED, EVENT_GENERATIONS, EVENT_GROUP, EVENT_TILE, EVENT_TOTALS, NAMING_GENERATIONS, NAMING_INDEX,
    NAMING_WAS,
};
use broadsweep::internals::filters::lists::FilterLists;
use broadsweep::internals::gpu::kernel::Kernel;
use broadsweep::internals::layout::{Dispatches, PairArguments, PairHeader, Params, StepParams, dispatch_size};
use broadsweep::internals::mirror;
use broadsweep::internals::pairs::events;
use broadsweep::record::QueryHeader;
use broadsweep::{Filters, Pair};

use crate::inputs::Random;
use crate::*;

/// Boxes of the lists here.
const BOXES: u32 = 3000;

/// A step and the one before.
struct Lists {
    pairs: Vec<Pair>,
    last: Vec<Pair>,
}

pub fn random_pairs(count: u32, random: &mut Random) -> Vec<Pair> {
    let mut pairs: Vec<Pair> = (0..count)
        .map(|_| {
            let a = random.below(BOXES - 1);
            Pair { a, b: a + 1 + random.below(BOXES - 1 - a) }
        })
        .collect();
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

/// Lists of all lengths: alike, equal, with nothing in common, of one pair that is before or behind all others.
fn lists() -> Vec<Lists> {
    let mut random = Random::new(7);
    let mut all = Vec::new();
    for n in SIZES.into_iter().chain([EVENT_TILE - 1, EVENT_TILE, EVENT_TILE + 1, 5000, 8500]) {
        let last = random_pairs(n, &mut random);
        let some = random_pairs(n / 8, &mut random);
        let mut alike: Vec<Pair> = last.iter().copied().filter(|_| random.below(8) > 0).chain(some).collect();
        alike.sort_unstable();
        alike.dedup();
        let other = random_pairs(n, &mut random);
        let ends = [Pair { a: 0, b: 1 }, Pair { a: BOXES - 2, b: BOXES - 1 }];
        for pairs in [last.clone(), alike, other, Vec::new(), ends[..1].to_vec(), ends[1..].to_vec()] {
            all.push(Lists { pairs: last.clone(), last: pairs.clone() });
            all.push(Lists { pairs, last: last.clone() });
        }
    }
    all
}

/// The old names of boxes, in each form.
fn names() -> [(u32, Vec<u32>, Vec<u32>); 3] {
    let mut random = Random::new(3);
    let own: Vec<u32> = (0..BOXES).map(|i| i % 5).collect();
    // Fewer than there are boxes now.
    let then = (0..BOXES - 100).map(|i| if i % 40 == 7 { 9 } else { i % 5 }).collect();
    let mut was: Vec<u32> = (0..BOXES).collect();
    for i in (1..BOXES).rev() {
        was.swap(i as usize, random.below(i + 1) as usize);
    }
    for was in was.iter_mut().filter(|was| **was % 50 == 3) {
        *was = EVENT_CREATED;
    }
    [(NAMING_INDEX, vec![0], vec![0]), (NAMING_GENERATIONS, own, then), (NAMING_WAS, was, vec![0])]
}

fn name(naming: u32, names: &[u32], then: &[u32], i: u32) -> Option<u32> {
    match naming {
        NAMING_GENERATIONS => then.get(i as usize).is_none_or(|then| *then == names[i as usize]).then_some(i),
        NAMING_WAS => Some(names[i as usize]).filter(|was| *was != EVENT_CREATED),
        _ => Some(i),
    }
}

fn filters() -> [(Filters, FilterLists); 2] {
    let resting = Filters::default()
        .with_sleeping((0..BOXES).map(|i| i % 3 == 0).collect())
        .with_fixed((0..BOXES).map(|i| i % 4 == 1).collect());
    [Filters::default(), resting].map(|filters| {
        let lists = FilterLists::of(gpu(), &filters, BOXES as usize).unwrap();
        (filters, lists)
    })
}

fn rests(filters: &Filters, i: u32) -> bool {
    let is = |list: &[bool]| list.get(i as usize) == Some(&true);
    is(&filters.sleeping) || is(&filters.fixed)
}

/// Dispatch sizes, in rows and in columns.
fn sizes(groups: usize) -> [[u32; 3]; 2] {
    [dispatch_size(groups as u32), in_columns(groups as u32)]
}

fn tiles(count: usize) -> usize {
    count.div_ceil(EVENT_TILE as usize)
}

/// Dispatches a kernel by sizes of the caller's.
fn dispatch(kernel: &Kernel, size: [u32; 3], buffers: &[(&str, broadsweep::wgpu::BindingResource)]) {
    let sizes = dispatches(|sizes| sizes.sweep_test = size);
    run(|pass| kernel.dispatch_indirect(pass, sizes.raw(), offset_of!(Dispatches, sweep_test), buffers));
}

/// Returns the marks that `events_find` leaves for `capacity` pairs, with these totals.
fn marks_of(
    capacity: usize,
    totals: [u32; EVENT_TOTALS as usize],
    found: &[u32],
    bits: &[Vec<u32>; 2],
    tiles: &[[u32; 3]],
) -> Vec<u32> {
    let words = capacity.div_ceil(32);
    let mut marks = totals.to_vec();
    for bits in [found, &bits[0], &bits[1]] {
        marks.extend(bits.iter().copied().chain(std::iter::repeat(0)).take(words));
    }
    let mut tiles = tiles.to_vec();
    tiles.resize(capacity.div_ceil(EVENT_TILE as usize), [0; 3]);
    marks.extend(tiles.iter().flatten());
    for group in tiles.chunks(EVENT_GROUP as usize) {
        marks.extend((0..3).map(|k| group.iter().map(|tile| tile[k]).sum::<u32>()));
    }
    assert_eq!(marks.len() as u64, events::mark_words(capacity as u64));
    marks
}

/// Returns the header of a list of this many pairs.
fn header_of(pairs: usize) -> Buffer<QueryHeader> {
    upload(&[QueryHeader { written: pairs as u32, count: pairs as u32, ..QueryHeader::zeroed() }])
}

/// Returns what is known of the last step.
fn last_step(pair_count: usize, generations: &[u32]) -> Vec<u32> {
    [&[pair_count as u32, generations.len() as u32], generations].concat()
}

/// The same lists as pairs of two sets: the first box may have the larger index, or the same.
fn joins() -> Vec<Lists> {
    let turned = |pairs: &[Pair]| {
        let mut turned: Vec<Pair> = pairs
            .iter()
            .map(|pair| match pair.b % 3 {
                0 => Pair { a: pair.b, b: pair.a },
                1 => *pair,
                _ => Pair { a: pair.a, b: pair.a },
            })
            .collect();
        turned.sort_unstable();
        turned.dedup();
        turned
    };
    lists().iter().map(|Lists { pairs, last }| Lists { pairs: turned(pairs), last: turned(last) }).collect()
}

#[test]
fn pairs_are_found_in_the_last_list_by_any_names_as_by_the_mirror() {
    check_find(false, &lists());
}

#[test]
fn in_a_join_the_first_box_alone_is_named() {
    check_find(true, &joins());
}

fn check_find(is_join: bool, lists: &[Lists]) {
    for ((naming, names, then), (filters, lists_of_filters)) in names().into_iter().zip(filters().into_iter().cycle()) {
        let kernel = Kernel::new(gpu(), &events::FIND);
        let names_now = upload(&names);
        for (number, Lists { pairs, last }) in lists.iter().enumerate() {
            let (places, found) = mirror::events::find(pairs, last, is_join, |i| name(naming, &names, &then, i));
            let (bits, counts) = mirror::events::marks(pairs, &places, &found, |i| rests(&filters, i));
            // Some more than there are.
            let capacity = pairs.len().max(last.len()) + number % 40;
            let params = uniform(StepParams {
                naming,
                is_join: is_join.into(),
                capacity: capacity as u32,
                ..StepParams::zeroed()
            });
            let size = sizes(tiles(pairs.len()))[number % 2];
            let (before, marks) =
                (poisoned::<u32>(pairs.len()), guarded(&vec![0; events::mark_words(capacity as u64) as usize]));
            let (header, list, last_list) = (header_of(pairs.len()), upload(pairs), upload(last));
            let last_step = upload(&last_step(last.len(), &then));
            let buffers = [
                ("step_params", params.all()),
                ("header", header.all()),
                ("last_step", last_step.all()),
                ("pairs", list.all()),
                ("last_pairs", last_list.all()),
                ("names", names_now.all()),
                ("filter_layout", lists_of_filters.layout.all()),
                ("filters", lists_of_filters.words.all()),
                ("before", before.all()),
                ("event_marks", marks.all()),
            ];
            dispatch(&kernel, size, &buffers);
            assert!(written(&before) == places, "lists {number}, naming {naming}");
            assert!(
                written(&marks) == marks_of(capacity, [0; 4], &found, &bits, &counts),
                "lists {number}, naming {naming}"
            );
        }
    }
}

#[test]
fn two_boxes_that_were_one_find_one_place_that_is_counted_once() {
    // Boxes 0 and 1 are both declared to have been box 0.
    let (pairs, last) = ([Pair { a: 0, b: 2 }, Pair { a: 1, b: 2 }], [Pair { a: 0, b: 2 }]);
    let kernel = Kernel::new(gpu(), &events::FIND);
    let params = uniform(StepParams { naming: NAMING_WAS, capacity: 2, ..StepParams::zeroed() });
    let marks = guarded(&vec![0; events::mark_words(2) as usize]);
    let (header, list, last_list) = (header_of(2), upload(&pairs), upload(&last));
    let (last_step, names, before) = (upload(&last_step(1, &[])), upload(&[0, 0, 2]), poisoned::<u32>(2));
    let no_filters = no_filters();
    let buffers = [
        ("step_params", params.all()),
        ("header", header.all()),
        ("last_step", last_step.all()),
        ("pairs", list.all()),
        ("last_pairs", last_list.all()),
        ("names", names.all()),
        ("filter_layout", no_filters.layout.all()),
        ("filters", no_filters.words.all()),
        ("before", before.all()),
        ("event_marks", marks.all()),
    ];
    run(|pass| kernel.dispatch(pass, 1, &buffers));
    assert_eq!(written(&before), [0, 0]);
    assert_eq!(written(&marks), marks_of(2, [0; 4], &[1], &[vec![0], vec![3]], &[[0, 2, 1]]));
}

/// The input of `events_list`, and its output: totals, and the three lists.
struct Listed {
    totals: [u32; 4],
    lists: [Vec<Pair>; 3],
}

/// Lists events. `lengths` are those of the three lists.
fn listed(
    header: QueryHeader,
    is_join: bool,
    (pairs, last): (&[Pair], &[Pair]),
    (capacity, marks): (usize, &[u32]),
    lengths: [usize; 3],
    is_in_columns: bool,
) -> Listed {
    let kernel = Kernel::new(gpu(), &events::LIST);
    let params = uniform(StepParams { is_join: is_join.into(), capacity: capacity as u32, ..StepParams::zeroed() });
    let (header, last_step) = (upload(&[header]), upload(&last_step(last.len(), &[])));
    let (list, last_list, event_marks) = (upload(pairs), upload(last), guarded(marks));
    let out = lengths.map(poisoned::<Pair>);
    let buffers = [
        ("step_params", params.all()),
        ("header", header.all()),
        ("last_step", last_step.all()),
        ("pairs", list.all()),
        ("last_pairs", last_list.all()),
        ("event_marks", event_marks.all()),
        ("created", out[0].all()),
        ("persisting", out[1].all()),
        ("lost", out[2].all()),
    ];
    dispatch(&kernel, sizes(tiles(capacity).max(1))[usize::from(is_in_columns)], &buffers);
    let left = written(&event_marks);
    let (totals, rest) = left.split_at(EVENT_TOTALS as usize);
    assert!(rest == &marks[EVENT_TOTALS as usize..]);
    Listed { totals: totals.try_into().unwrap(), lists: out.each_ref().map(written) }
}

#[test]
fn events_are_listed_as_by_the_mirror() {
    for (filters, _) in filters() {
        for (number, Lists { pairs, last }) in lists().iter().enumerate() {
            let (before, found) = mirror::events::find(pairs, last, false, Some);
            let (bits, counts) = mirror::events::marks(pairs, &before, &found, |i| rests(&filters, i));
            let capacity = pairs.len().max(last.len()) + number % 70;
            let marks = marks_of(capacity, [0; 4], &found, &bits, &counts);
            let (created, persisting) = mirror::events::list(pairs, &before, |i| rests(&filters, i));
            let expected = [created, persisting, mirror::events::lost(last, &found)];
            let lengths = expected.each_ref().map(Vec::len);
            let header = QueryHeader { written: pairs.len() as u32, ..QueryHeader::zeroed() };
            let Listed { totals, lists } =
                listed(header, false, (pairs, last), (capacity, &marks), lengths, number % 2 == 1);
            assert_eq!(totals[..3], lengths.map(|length| length as u32), "lists {number}");
            assert!(totals[3] == 0 && lists == expected, "lists {number}");
        }
    }
}

#[test]
fn places_follow_from_more_groups_of_tiles_than_one() {
    // Every fifth pair is new, every seventh is gone; of the others, half are at rest.
    let n = 3 * EVENT_GROUP * EVENT_TILE + 777;
    let all = |is_there: fn(u32) -> bool| -> Vec<Pair> {
        (0..n).filter(|i| is_there(*i)).map(|i| Pair { a: i, b: i + 1 }).collect()
    };
    let (pairs, last) = (all(|i| i % 7 != 0), all(|i| i % 5 != 0));
    let (before, found) = mirror::events::find(&pairs, &last, false, Some);
    let rests = |i: u32| i % 4 < 2;
    let (bits, counts) = mirror::events::marks(&pairs, &before, &found, rests);
    let capacity = n as usize;
    let marks = marks_of(capacity, [0; 4], &found, &bits, &counts);
    let (created, persisting) = mirror::events::list(&pairs, &before, rests);
    let expected = [created, persisting, mirror::events::lost(&last, &found)];
    let header = QueryHeader { written: pairs.len() as u32, ..QueryHeader::zeroed() };
    let lengths = expected.each_ref().map(Vec::len);
    let Listed { totals, lists } = listed(header, false, (&pairs, &last), (capacity, &marks), lengths, false);
    assert!(lists == expected);
    assert_eq!(totals[..3], lengths.map(|length| length as u32));
}

#[test]
fn a_step_whose_list_is_not_whole_or_whose_names_clash_does_not_count() {
    let pairs = random_pairs(2000, &mut Random::new(4));
    let (n, last) = (pairs.len(), &pairs[..1500]);
    let (before, found) = mirror::events::find(&pairs, last, false, Some);
    let (bits, mut counts) = mirror::events::marks(&pairs, &before, &found, |_| false);
    let nothing = || marks_of(n, [0; 4], &[], &[vec![], vec![]], &[]);
    let whole = QueryHeader { written: n as u32, ..QueryHeader::zeroed() };
    for (header, is_join, capacity, verdict) in [
        (QueryHeader { overflow: 1, ..whole }, false, n, 1),
        (QueryHeader { overflow: 2, written: 0, ..whole }, false, n, 2),
        (QueryHeader { written: n as u32 + 1, ..whole }, false, n, 1),
        (QueryHeader { unfinished: 1, written: 0, ..whole }, true, n, 3),
    ] {
        let Listed { totals, .. } = listed(header, is_join, (&pairs, last), (capacity, &nothing()), [0; 3], false);
        assert_eq!(totals, [0, 0, 0, verdict], "{header:?}");
    }
    // One place of the last list too few was found.
    counts[0][2] -= 1;
    let marks = marks_of(n, [0; 4], &found, &bits, &counts);
    let Listed { totals, .. } = listed(whole, false, (&pairs, last), (n, &marks), [0; 3], false);
    assert_eq!(totals, [0, 0, 0, 4]);
    // Lists of pairs have no word for queries that are unfinished.
    let empty = QueryHeader { unfinished: 1, ..QueryHeader::zeroed() };
    assert_eq!(listed(empty, false, (&[], &[]), (n, &nothing()), [0; 3], false).totals, [0; 4]);
}

#[test]
fn headers_tell_how_long_each_list_is() {
    let kernel = Kernel::new(gpu(), &events::HEADERS);
    let params = uniform(StepParams { capacity: 5000, vertices_per_pair: 24, ..StepParams::zeroed() });
    // The last one has more vertices than can be counted.
    for (refused, persisting, vertices) in [(0, 257, 24 * 257), (2, 257, 24 * 257), (0, 178_956_971, 4_294_967_280)] {
        let totals = upload(&[1, persisting, 256, refused]);
        let headers = [(); 3].map(|()| poisoned::<PairHeader>(1));
        let arguments = [(); 3].map(|()| poisoned::<PairArguments>(1));
        let buffers = [
            ("step_params", params.all()),
            ("event_marks", totals.all()),
            ("created_header", headers[0].all()),
            ("lost_header", headers[1].all()),
            ("persisting_header", headers[2].all()),
            ("created_arguments", arguments[0].all()),
            ("lost_arguments", arguments[1].all()),
            ("persisting_arguments", arguments[2].all()),
        ];
        run(|pass| kernel.dispatch(pass, 1, &buffers));
        let expected = [(1, 24), (256, 24 * 256), (persisting, vertices)];
        for (k, (count, vertices)) in expected.into_iter().enumerate() {
            let header =
                PairHeader { count, written: count, capacity: 5000, overflow: refused, ..PairHeader::zeroed() };
            assert_eq!(written(&headers[k]), [header]);
            let arguments_now = PairArguments {
                dispatch: dispatch_size(count.div_ceil(256)),
                draw: [24, count, 0, 0],
                draw_list: [vertices, 1, 0, 0],
                ..PairArguments::zeroed()
            };
            assert_eq!(written(&arguments[k]), [arguments_now]);
        }
    }
}

#[test]
fn data_of_the_next_step_is_retained() {
    let kernel = Kernel::new(gpu(), &events::STORE);
    let mut random = Random::new(5);
    // As events created, persisting and lost, and why the step does not count.
    let (changed, same, refused) = ([1, 3, 0, 0], [0, 3, 0, 0], [0, 0, 0, 1]);
    for (n, naming, totals) in [
        (0, NAMING_INDEX, [0, 0, 9, 0]),
        (1, NAMING_WAS, same),
        (5000, NAMING_INDEX, changed),
        (5000, NAMING_INDEX, same),
        (500, NAMING_GENERATIONS, changed),
        (500, NAMING_GENERATIONS, same),
        (500, NAMING_GENERATIONS, refused),
    ] {
        let pairs = random_pairs(n, &mut random);
        let names: Vec<u32> = (0..BOXES).map(|i| i * i).collect();
        let params = uniform(Params { box_count: BOXES, ..Params::zeroed() });
        let step_params = uniform(StepParams { naming, ..StepParams::zeroed() });
        let (header, list, names_now) = (header_of(pairs.len()), upload(&pairs), upload(&names));
        let marks = upload(&totals);
        let before = last_step(77, &vec![88; BOXES as usize]);
        let (last, step) = (poisoned::<Pair>(pairs.len()), guarded(&before));
        let buffers = [
            ("params", params.all()),
            ("step_params", step_params.all()),
            ("header", header.all()),
            ("pairs", list.all()),
            ("names", names_now.all()),
            ("event_marks", marks.all()),
            ("last_pairs", last.all()),
            ("last_step", step.all()),
        ];
        dispatch(&kernel, dispatch_size(5), &buffers);
        let mut expected = before;
        if totals != refused {
            expected[0] = pairs.len() as u32;
        }
        if naming == NAMING_GENERATIONS && totals != refused {
            expected[1] = BOXES;
            expected[EVENT_GENERATIONS as usize..].copy_from_slice(&names);
        }
        assert_eq!(written(&step), expected);
        let is_retained = totals != refused && (totals != same || naming == NAMING_WAS);
        let stored = written(&last);
        assert!(if is_retained { stored == pairs } else { stored.iter().all(is_poison) });
    }
}
