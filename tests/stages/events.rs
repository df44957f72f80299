//! `events`: the list of a step against the one before.

use std::mem::offset_of;

use broadsweep::internals::constants::{
    EVENT_BLOCK, EVENT_CREATED, EVENT_SPAN, EVENT_TILE, NAMING_GENERATIONS, NAMING_INDEX, NAMING_WAS,
};
use broadsweep::internals::filters::lists::FilterLists;
use broadsweep::internals::gpu::kernel::Kernel;
use broadsweep::internals::layout::{
    PairArguments, PairHeader, Params, StepCounts, StepParams, StepSizes, dispatch_size,
};
use broadsweep::internals::mirror;
use broadsweep::internals::pairs::events;
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
    for n in SIZES.into_iter().chain([EVENT_TILE - 1, EVENT_TILE, EVENT_TILE + 1, 5000, EVENT_BLOCK + 300]) {
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

/// What boxes were called, in each way of saying so.
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
    let resting = Filters {
        sleeping: (0..BOXES).map(|i| i % 3 == 0).collect(),
        fixed: (0..BOXES).map(|i| i % 4 == 1).collect(),
        ..Filters::default()
    };
    [Filters::default(), resting].map(|filters| {
        let lists = FilterLists::of(gpu(), &filters, BOXES as usize).unwrap();
        (filters, lists)
    })
}

fn rests(filters: &Filters, i: u32) -> bool {
    let is = |list: &[bool]| list.get(i as usize) == Some(&true);
    is(&filters.sleeping) || is(&filters.fixed)
}

fn words(count: usize) -> usize {
    count.div_ceil(32)
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
    let sizes = guarded(&[StepSizes { find: size, ..StepSizes::zeroed() }]);
    run(|pass| kernel.dispatch_indirect(pass, sizes.raw(), offset_of!(StepSizes, find), buffers));
}

#[test]
fn spans_of_a_step_begin_in_the_last_list_where_they_do_in_the_mirror() {
    let kernel = Kernel::new(gpu(), &events::ENDS);
    for (number, Lists { pairs, last }) in lists().iter().enumerate() {
        let expected = mirror::events::ends(pairs, last);
        let (pair_count, last_count) = (pairs.len() as u32, last.len() as u32);
        let counts = upload(&[StepCounts { pair_count, last_count, ..StepCounts::zeroed() }]);
        let (list, last_list, ends) = (upload(pairs), upload(last), poisoned::<u32>(expected.len()));
        let buffers = [
            ("step_counts", counts.all()),
            ("pairs", list.all()),
            ("last_pairs", last_list.all()),
            ("event_ends", ends.all()),
        ];
        dispatch(&kernel, sizes(expected.len().div_ceil(256))[number % 2], &buffers);
        assert_eq!(written(&ends), expected, "lists {number}");
    }
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
    for (naming, names, then) in names() {
        let kernel = Kernel::new(gpu(), &events::FIND);
        let (names_now, generations) = (upload(&names), upload(&then));
        let params = uniform(StepParams { naming, is_join: is_join.into(), ..StepParams::zeroed() });
        for (number, Lists { pairs, last }) in lists.iter().enumerate() {
            let expected = mirror::events::find(pairs, last, is_join, |i| name(naming, &names, &then, i));
            let counts = StepCounts {
                pair_count: pairs.len() as u32,
                last_count: last.len() as u32,
                generation_count: then.len() as u32,
                ..StepCounts::zeroed()
            };
            let size = sizes(tiles(pairs.len()))[number % 2];
            let before = poisoned::<u32>(pairs.len().next_multiple_of(4));
            let found = guarded(&vec![0u32; words(last.len())]);
            let (counts, list, last_list) = (upload(&[counts]), upload(pairs), upload(last));
            let ends = upload(&mirror::events::ends(pairs, last));
            let buffers = [
                ("step_params", params.all()),
                ("step_counts", counts.all()),
                ("pairs", list.all()),
                ("last_pairs", last_list.all()),
                ("names", names_now.all()),
                ("last_generations", generations.all()),
                ("event_ends", ends.all()),
                ("before", before.all()),
                ("found", found.all()),
            ];
            dispatch(&kernel, size, &buffers);
            let (mut places, bits) = expected;
            places.resize(pairs.len().next_multiple_of(4), EVENT_CREATED);
            assert!((written(&before), written(&found)) == (places, bits), "lists {number}, naming {naming}");
        }
    }
}

/// Sums the counts of tiles, and returns what is left of them, of what is known of the step, and the sizes of dispatches.
fn scanned(naming: u32, tiles: &[[u32; 4]], counts: StepCounts) -> (Vec<[u32; 4]>, StepCounts, StepSizes) {
    let kernel = Kernel::new(gpu(), &events::SCAN);
    let params = uniform(Params { box_count: 5 * BOXES, ..Params::zeroed() });
    let step_params = uniform(StepParams { naming, ..StepParams::zeroed() });
    let (event_tiles, step_counts, sizes) = (guarded(tiles), guarded(&[counts]), poisoned::<StepSizes>(1));
    let buffers = [
        ("params", params.all()),
        ("step_params", step_params.all()),
        ("event_tiles", event_tiles.all()),
        ("step_counts", step_counts.all()),
        ("step_sizes", sizes.all()),
    ];
    run(|pass| kernel.dispatch(pass, 1, &buffers));
    (written(&event_tiles), written(&step_counts)[0], written(&sizes)[0])
}

/// Checks what is known of a step with so many events of each kind, and the sizes of what follows.
fn check_totals(before: StepCounts, total: [u32; 4], found: StepCounts, sizes: StepSizes) {
    let [created, persisting, lost, _] = total;
    assert_eq!(found, StepCounts { created, persisting, lost, ..before });
    let groups = |count: u32| dispatch_size(count.div_ceil(EVENT_TILE));
    let last_count = if lost == 0 { 0 } else { before.last_count };
    assert_eq!(sizes.list, groups(before.pair_count.max(last_count)));
    let is_same = (created, lost) == (0, 0);
    assert_eq!(sizes.keep, groups(if is_same { 1 } else { before.pair_count.max(1) }));
}

#[test]
#[ignore = "long"]
fn events_are_counted_summed_and_listed_as_by_the_mirror() {
    for (filters, lists_of_filters) in filters() {
        let [count, list] = [&events::COUNT, &events::LIST].map(|source| Kernel::new(gpu(), source));
        for (number, Lists { pairs, last }) in lists().iter().enumerate() {
            let (before, found) = mirror::events::find(pairs, last, false, Some);
            let (pair_count, last_count) = (pairs.len() as u32, last.len() as u32);
            let counts_in = StepCounts { pair_count, last_count, ..StepCounts::zeroed() };
            let length = pairs.len().max(last.len());
            let side = number % 2;

            let (counts, list_now, last_list) = (upload(&[counts_in]), upload(pairs), upload(last));
            let mut in_fours = before.clone();
            in_fours.resize(before.len().next_multiple_of(4), 5);
            let (before_now, found_now) = (upload(&in_fours), upload(&found));
            let (event_words, event_tiles) =
                (poisoned::<[[u32; 4]; 2]>(words(length)), poisoned::<[u32; 4]>(length.div_ceil(EVENT_BLOCK as usize)));
            let buffers = |event_tiles| {
                [
                    ("step_counts", counts.all()),
                    ("pairs", list_now.all()),
                    ("last_pairs", last_list.all()),
                    ("before", before_now.all()),
                    ("found", found_now.all()),
                    ("filter_layout", lists_of_filters.layout.all()),
                    ("filters", lists_of_filters.words.all()),
                    ("event_words", event_words.all()),
                    ("event_tiles", event_tiles),
                ]
            };
            dispatch(&count, sizes(length.div_ceil(EVENT_BLOCK as usize))[side], &buffers(event_tiles.all()));
            let (words, expected) = mirror::events::count(pairs, &before, last_count, &found, |i| rests(&filters, i));
            assert_eq!(written(&event_words), words, "lists {number}");
            assert_eq!(written(&event_tiles), expected, "lists {number}");

            let (tiles_found, counts_found, sizes_found) = scanned(NAMING_INDEX, &expected, counts_in);
            let (sums, total) = mirror::events::scan(&expected);
            assert_eq!(tiles_found, sums, "lists {number}");
            let event_tiles = upload(&sums);
            check_totals(counts_in, total, counts_found, sizes_found);

            let (created, persisting) = mirror::events::list(pairs, &before, |i| rests(&filters, i));
            let lost_pairs = mirror::events::lost(last, &found);
            assert_eq!([created.len(), persisting.len(), lost_pairs.len()], [0, 1, 2].map(|k| total[k] as usize));
            let out = [&created, &persisting, &lost_pairs].map(|pairs: &Vec<Pair>| poisoned::<Pair>(pairs.len()));
            let mut buffers = buffers(event_tiles.all()).to_vec();
            buffers.extend([("created", out[0].all()), ("persisting", out[1].all()), ("lost", out[2].all())]);
            dispatch(&list, sizes(tiles(length))[side], &buffers);
            assert!(written(&out[0]) == created && written(&out[1]) == persisting, "lists {number}");
            assert!(written(&out[2]) == lost_pairs, "lists {number}");
        }
    }
}

#[test]
fn a_step_begins_with_its_list_and_one_that_is_not_whole_is_refused() {
    let kernel = Kernel::new(gpu(), &events::BEGIN);
    let params = uniform(StepParams { capacity: 5000, ..StepParams::zeroed() });
    let last_count = 3 * EVENT_BLOCK + 1;
    for (overflow, written_pairs, refused) in [(0, 0, 0), (0, 5000, 0), (0, 5001, 1), (1, 10, 1), (2, 0, 2)] {
        let header = PairHeader { overflow, written: written_pairs, ..PairHeader::zeroed() };
        let counts = guarded(&[StepCounts { last_count, refused: 7, pair_count: 9, ..StepCounts::zeroed() }]);
        let (header, sizes) = (upload(&[header]), poisoned::<StepSizes>(1));
        let buffers = [
            ("step_params", params.all()),
            ("header", header.all()),
            ("step_counts", counts.all()),
            ("step_sizes", sizes.all()),
        ];
        run(|pass| kernel.dispatch(pass, 1, &buffers));
        let pair_count = if refused == 0 { written_pairs } else { 0 };
        assert_eq!(written(&counts), [StepCounts { last_count, refused, pair_count, ..StepCounts::zeroed() }]);
        let sizes = written(&sizes)[0];
        assert_eq!(sizes.ends, dispatch_size((pair_count.div_ceil(EVENT_SPAN) + 1).div_ceil(256)));
        assert_eq!(sizes.find, dispatch_size(pair_count.div_ceil(EVENT_TILE)));
        let both = if refused == 0 { pair_count.max(last_count) } else { 0 };
        assert_eq!(sizes.count, dispatch_size(both.div_ceil(EVENT_BLOCK)));
    }
}

#[test]
fn headers_tell_how_long_each_list_is() {
    let kernel = Kernel::new(gpu(), &events::HEADERS);
    let params = uniform(StepParams { capacity: 5000, vertices_per_pair: 24, ..StepParams::zeroed() });
    // The last one has more vertices than can be counted.
    for (refused, persisting, vertices) in [(0, 257, 24 * 257), (2, 257, 24 * 257), (0, 178_956_971, 4_294_967_280)] {
        let counts = StepCounts { created: 1, lost: 256, persisting, verdict: refused, ..StepCounts::zeroed() };
        let counts_now = upload(&[counts]);
        let headers = [(); 3].map(|()| poisoned::<PairHeader>(1));
        let arguments = [(); 3].map(|()| poisoned::<PairArguments>(1));
        let buffers = [
            ("step_params", params.all()),
            ("step_counts", counts_now.all()),
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
fn what_the_next_step_needs_is_kept() {
    let kernel = Kernel::new(gpu(), &events::KEEP);
    let mut random = Random::new(5);
    for (n, naming) in [(0, NAMING_INDEX), (1, NAMING_WAS), (5000, NAMING_INDEX), (500, NAMING_GENERATIONS)] {
        let pairs = random_pairs(n, &mut random);
        let names: Vec<u32> = (0..BOXES).map(|i| i * i).collect();
        let pair_count = pairs.len() as u32;
        let before = StepCounts { pair_count, last_count: 77, generation_count: 88, ..StepCounts::zeroed() };
        let params = uniform(Params { box_count: BOXES, ..Params::zeroed() });
        let step_params = uniform(StepParams { naming, ..StepParams::zeroed() });
        let (counts, list, names_now) = (guarded(&[before]), upload(&pairs), upload(&names));
        let (last, generations) = (poisoned::<Pair>(pairs.len()), poisoned::<u32>(BOXES as usize));
        let buffers = [
            ("params", params.all()),
            ("step_params", step_params.all()),
            ("pairs", list.all()),
            ("names", names_now.all()),
            ("step_counts", counts.all()),
            ("last_pairs", last.all()),
            ("last_generations", generations.all()),
        ];
        dispatch(&kernel, dispatch_size(5), &buffers);
        let has_generations = naming == NAMING_GENERATIONS;
        let generation_count = if has_generations { BOXES } else { 88 };
        assert_eq!(written(&counts), [StepCounts { last_count: pair_count, generation_count, ..before }]);
        assert_eq!(written(&last), pairs);
        let kept = written(&generations);
        assert!(if has_generations { kept == names } else { kept.iter().all(is_poison) });
    }
}

#[test]
fn tiles_of_long_lists_are_summed_as_by_the_mirror() {
    let mut random = Random::new(9);
    for tiles in [1, 15, 16, 17, 255, 256, 257, 511, 1234, 5000] {
        for naming in [NAMING_INDEX, NAMING_GENERATIONS, NAMING_WAS] {
            let counts: Vec<[u32; 4]> =
                (0..tiles).map(|_| [200 + random.below(100), random.below(500), random.below(200), 0]).collect();
            let (sums, total) = mirror::events::scan(&counts);
            let pair_count = tiles * EVENT_BLOCK - 5;
            // One pair too many is found of the last list, or none is.
            for (clash, refused) in [(0, 0), (1, 0), (0, 2)] {
                let before = StepCounts {
                    pair_count: if refused == 0 { pair_count } else { 0 },
                    last_count: pair_count - total[0] + total[2] - clash,
                    refused,
                    ..StepCounts::zeroed()
                };
                let (tiles_found, after, sizes) = scanned(naming, &counts, before);
                if clash > 0 || refused > 0 {
                    let verdict = if refused > 0 { refused } else { 4 };
                    assert_eq!(after, StepCounts { verdict, ..before });
                    assert_eq!([sizes.list, sizes.keep], [[0, 1, 1]; 2]);
                    continue;
                }
                assert_eq!(tiles_found, sums, "{tiles} tiles");
                let [created, persisting, lost, _] = total;
                assert_eq!(after, StepCounts { created, persisting, lost, ..before });
                let groups = |count: u32| dispatch_size(count.div_ceil(EVENT_TILE));
                assert_eq!(sizes.list, groups(pair_count.max(before.last_count)));
                let names = if naming == NAMING_GENERATIONS { 5 * BOXES } else { 0 };
                assert_eq!(sizes.keep, groups(pair_count.max(names)));
            }
        }
    }
    // Nothing has changed: the pairs are kept already, unless boxes have other names now, and so are not the generations.
    for (naming, kept) in [(NAMING_INDEX, 1), (NAMING_GENERATIONS, 5 * BOXES), (NAMING_WAS, 99 * EVENT_BLOCK)] {
        let same = StepCounts { pair_count: 99 * EVENT_BLOCK, last_count: 99 * EVENT_BLOCK, ..StepCounts::zeroed() };
        let (_, after, sizes) = scanned(naming, &vec![[0, EVENT_BLOCK, 0, 0]; 99], same);
        let groups = |count: u32| dispatch_size(count.div_ceil(EVENT_TILE));
        assert_eq!((sizes.keep, sizes.list), (groups(kept), groups(99 * EVENT_BLOCK)));
        assert_eq!(after.persisting, 99 * EVENT_BLOCK);
    }
}
