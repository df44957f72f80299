//! `epoch`: boxes against their grown boxes, and what becomes of the pairs that are kept.

use std::mem::offset_of;

use broadsweep::internals::constants::*;
use broadsweep::internals::epoch;
use broadsweep::internals::filters::CheckedFilters;
use broadsweep::internals::filters::lists::{FilterLists, Switches};
use broadsweep::internals::gpu::kernel::{Kernel, Source};
use broadsweep::internals::layout::{Epoch, EpochParams, EpochSizes, PairArguments, PairHeader, Params, dispatch_size};
use broadsweep::internals::mirror;
use broadsweep::wgpu::BindingResource;
use broadsweep::{Aabb, Filters, Pair};

use crate::events::random_pairs;
use crate::inputs::{Random, SPECIAL, ordinary};
use crate::*;

const NO_BOX: Aabb = Aabb::new([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]);
const VERSION: u32 = 7;
/// Of the boxes here.
const EDGE: u32 = 127;

/// A step of some boxes in more slots, and what is known of the last one.
struct Scene {
    boxes: Vec<Aabb>,
    last: Vec<Aabb>,
    fat: Vec<Aabb>,
    states: Vec<[u32; 4]>,
}

/// Makes scenes in which some boxes moved, by little or by much, or are no longer boxes.
fn scenes() -> Vec<Scene> {
    let mut random = Random::new(17);
    let special = |random: &mut Random| SPECIAL[random.below(16) as usize];
    let make = |n: u32| {
        let mut last = ordinary(n, u64::from(n));
        for aabb in last.iter_mut().step_by(9) {
            *aabb = Aabb::new([0; 3].map(|_| special(&mut random)), [0; 3].map(|_| special(&mut random)));
        }
        let fat_of = |aabb: &Aabb| if aabb.is_valid() { grown(aabb, 0.25) } else { NO_BOX };
        let mut fat: Vec<Aabb> = last.iter().map(fat_of).collect();
        let mut boxes = last.clone();
        for (i, aabb) in boxes.iter_mut().enumerate() {
            let way = [0.0, 0.0, 0.1, 0.3, 30.0][random.below(5) as usize];
            *aabb = match i % 13 {
                0 => Aabb::new([0; 3].map(|_| special(&mut random)), [0; 3].map(|_| special(&mut random))),
                _ => Aabb::new(aabb.min.map(|x| x + way), aabb.max.map(|x| x + way)),
            };
        }
        // Some are gone, and some places never had a box.
        boxes.truncate(boxes.len() - boxes.len() / 20);
        last.extend([Aabb::new([f32::from_bits(0x7fc0_0000); 3], [f32::from_bits(0x7fc0_0000); 3]); 40]);
        fat.extend([NO_BOX; 40]);
        let slots = fat.len();
        // No bits of slots that are not there.
        let mask = |word: usize| u32::MAX >> (32 - (slots - 32 * word).min(32));
        let word = |word| [0; 4].map(|_| random.next() as u32 & random.next() as u32 & mask(word));
        let states = (0..slots.div_ceil(32)).map(word).collect();
        Scene { boxes, last, fat, states }
    };
    SIZES.into_iter().chain([5000]).map(make).collect()
}

fn grown(aabb: &Aabb, margin: f32) -> Aabb {
    Aabb::new(aabb.min.map(|x| x - margin), aabb.max.map(|x| x + margin))
}

fn bits(boxes: &[Aabb]) -> Vec<[u32; 6]> {
    boxes.iter().map(|aabb| bytemuck::cast(*aabb)).collect()
}

fn params(slots: usize, words: u32) -> Buffer<EpochParams> {
    uniform(params_of(slots as u32, words))
}

fn params_of(slots: u32, words: u32) -> EpochParams {
    EpochParams {
        slots,
        version: VERSION,
        capacity: 5000,
        cell_mask: 32 * words - 1,
        list_capacity: 6000,
        vertices_per_pair: 24,
        ..EpochParams::zeroed()
    }
}

fn counted_boxes(count: usize) -> Buffer<Params> {
    uniform(Params { box_count: count as u32, ..Params::zeroed() })
}

/// Dispatches a kernel by sizes of the caller's.
fn dispatch(kernel: &Kernel, size: [u32; 3], buffers: &[(&str, BindingResource)]) {
    let sizes = guarded(&[EpochSizes { mark: size, ..EpochSizes::zeroed() }]);
    run(|pass| kernel.dispatch_indirect(pass, sizes.raw(), offset_of!(EpochSizes, mark), buffers));
}

/// Dispatch sizes, in rows or in columns.
fn size(count: usize, per_group: usize, side: usize) -> [u32; 3] {
    let groups = count.div_ceil(per_group) as u32;
    if side == 0 { dispatch_size(groups) } else { in_columns(groups) }
}

fn kernel(source: &Source, switches: &[&'static str]) -> Kernel {
    Kernel::specialised(gpu(), source, switches)
}

/// What kernels leave that look for boxes that moved.
struct Moved {
    moves: Vec<[u32; 4]>,
    last: Vec<Aabb>,
    fat: Vec<Aabb>,
}

/// Dispatches a kernel that looks for boxes that moved in a scene, and compares what it leaves.
fn check_moved(
    kernel: &Kernel,
    size: [u32; 3],
    input: (&str, BindingResource),
    known: &Epoch,
    scene: &Scene,
    expected: &Moved,
) {
    let slots = scene.fat.len();
    let (params, count, known) = (params(slots, 1), counted_boxes(scene.boxes.len()), upload(&[*known]));
    let (last, fat, changes) = (guarded(&scene.last), guarded(&scene.fat), upload(&[3u32, 1]));
    let moves = guarded(&vec![[0u32; 4]; scene.states.len()]);
    let buffers = [
        ("params", count.all()),
        ("epoch_params", params.all()),
        input,
        ("epoch", known.all()),
        ("last", last.all()),
        ("fat", fat.all()),
        ("moves", moves.all()),
        ("filter_changes", changes.all()),
    ];
    dispatch(kernel, size, &buffers);
    assert_eq!(written(&moves), expected.moves, "{slots} slots");
    assert_eq!(bits(&written(&last)), bits(&expected.last), "{slots} slots");
    assert_eq!(bits(&written(&fat)), bits(&expected.fat), "{slots} slots");
}

/// Lists boxes that moved as they are uploaded, with room for more.
fn words_of(moved: &[(u32, Aabb)]) -> Vec<u32> {
    let mut words = vec![moved.len() as u32];
    for (i, aabb) in moved {
        words.push(*i);
        words.extend(bytemuck::cast::<Aabb, [u32; 6]>(*aabb));
    }
    words.resize(words.len() + 70, poison());
    words
}

#[test]
fn boxes_that_moved_and_left_are_those_of_the_mirror() {
    let check = kernel(&epoch::CHECK, &[]);
    for scene in scenes() {
        let Scene { boxes, last, fat, states } = &scene;
        for (version, changes, age, moved) in [
            (VERSION, 4, 0, 0),
            (VERSION + 1, 4, 1, 0),
            (VERSION, 5, 1, 0),
            (VERSION, 4, 1, boxes.len() as u32 / EPOCH_MOST_EARLY),
            (VERSION, 4, 1 + EPOCH_PERIOD, boxes.len() as u32 / EPOCH_MOST_EARLY + 1),
            (VERSION, 4, 1 + EPOCH_PERIOD, 0),
        ] {
            let slots = fat.len();
            let known = Epoch { version, slots: slots as u32, edge: EDGE, changes, age, moved, ..Epoch::zeroed() };
            let (mut last_after, mut fat_after) = (last.clone(), fat.clone());
            // Where there is no epoch, nothing is written.
            let mut moves = vec![[0; 4]; states.len()];
            if (version, changes) == (VERSION, 4) {
                moves = mirror::epoch::check(boxes, &mut last_after, &mut fat_after, &known);
            }
            let (input, size) = (upload(boxes), size(slots, EPOCH_BLOCK as usize, slots % 2));
            let expected = Moved { moves, last: last_after, fat: fat_after };
            check_moved(&check, size, ("boxes", input.all()), &known, &scene, &expected);
        }
    }
}

#[test]
fn boxes_of_which_the_caller_says_that_they_moved_are_looked_at_alone() {
    let look = kernel(&epoch::LOOK, &[]);
    let mut random = Random::new(29);
    let mut left = 0;
    for scene in scenes() {
        let Scene { boxes, last, fat, states } = &scene;
        for (version, age, moved) in [(VERSION, 0, 0), (VERSION + 1, 1, 0), (VERSION, 1 + EPOCH_PERIOD, 0)] {
            let slots = fat.len();
            let known = Epoch { version, slots: slots as u32, edge: EDGE, changes: 4, age, moved, ..Epoch::zeroed() };
            // Two thirds of them, in any order, some of which did not move. Others may have moved as far as they like.
            let mut list: Vec<u32> = (0..boxes.len() as u32).filter(|_| random.below(3) > 0).collect();
            list.reverse();
            let list: Vec<(u32, Aabb)> = list.into_iter().map(|i| (i, boxes[i as usize])).collect();
            let (mut last_after, mut fat_after) = (last.clone(), fat.clone());
            let mut moves = vec![[0; 4]; states.len()];
            if version == VERSION {
                moves = mirror::epoch::look(&list, boxes.len(), &mut last_after, &mut fat_after, &known);
                left += moves.iter().map(|word| word[1].count_ones()).sum::<u32>();
            }
            let (input, size) = (upload(&words_of(&list)), size(list.len(), 256, slots % 2));
            let expected = Moved { moves, last: last_after, fat: fat_after };
            check_moved(&look, size, ("moved_boxes", input.all()), &known, &scene, &expected);
        }
    }
    assert!(left > 1000, "{left}");
}

#[test]
fn what_boxes_did_is_added_to_what_they_did_before_and_counted() {
    let tally = kernel(&epoch::TALLY, &[]);
    let mut random = Random::new(19);
    for slots in SIZES.into_iter().filter(|n| *n > 0).chain([EPOCH_TILE, 3 * EPOCH_TILE + 1]) {
        for (version, changes) in [(VERSION, 4), (VERSION + 1, 4), (VERSION, 5)] {
            let mut words =
                || (0..slots.div_ceil(32)).map(|_| [0; 4].map(|_| random.next() as u32)).collect::<Vec<_>>();
            let (mut moves, states) = (words(), words());
            moves.iter_mut().for_each(|word| word[3] = 0);
            let mut states_after = states.clone();
            // Where there is no epoch, nothing is written.
            let mut tiles = vec![poison(); slots.div_ceil(EPOCH_TILE) as usize];
            if (version, changes) == (VERSION, 4) {
                tiles = mirror::epoch::tally(&moves, &mut states_after);
            }
            let known = upload(&[Epoch { version, slots, changes, ..Epoch::zeroed() }]);
            let (params_now, changes_now, moves_now) = (params(slots as usize, 1), upload(&[3u32, 1]), upload(&moves));
            let (states_now, tiles_now) = (guarded(&states), poisoned::<[u32; 4]>(tiles.len()));
            let buffers = [
                ("epoch_params", params_now.all()),
                ("epoch", known.all()),
                ("filter_changes", changes_now.all()),
                ("moves", moves_now.all()),
                ("states", states_now.all()),
                ("escape_tiles", tiles_now.all()),
            ];
            dispatch(&tally, size(slots as usize, EPOCH_TILE as usize, slots as usize % 2), &buffers);
            assert_eq!(written(&tiles_now), tiles, "{slots} slots");
            assert_eq!(written(&states_now), states_after, "{slots} slots");
        }
    }
}

#[test]
fn boxes_that_moved_are_put_in_their_places() {
    let put = kernel(&epoch::PUT, &[]);
    for n in SIZES.into_iter().filter(|n| *n > 0) {
        for rarity in [1, 3, 40] {
            let moved: Vec<(u32, Aabb)> = ordinary(n, 4).into_iter().zip(0..).map(|(aabb, i)| (i, aabb)).collect();
            let mut moved: Vec<_> = moved.into_iter().filter(|(i, _)| i % rarity == 0).collect();
            // In any order, and with room for more.
            moved.reverse();
            let words = words_of(&moved);
            let mut boxes = ordinary(n, 5);
            let (moved_boxes, own_boxes) = (upload(&words), guarded(&boxes));
            let buffers = [("moved_boxes", moved_boxes.all()), ("own_boxes", own_boxes.all())];
            run(|pass| put.dispatch(pass, (moved.len() as u32).div_ceil(256), &buffers));
            mirror::epoch::put(&moved, &mut boxes);
            assert_eq!(bits(&written(&own_boxes)), bits(&boxes), "{n} boxes");
        }
    }
}

/// What the decision depends on beside the boxes.
fn known(slots: u32) -> Vec<Epoch> {
    let base = Epoch { version: VERSION, slots, sampled: slots, kept: 1000, apart: 10, result: 5, ..Epoch::zeroed() };
    vec![
        base,
        Epoch { version: 0, ..base },
        Epoch { version: 0, sampled: slots + 1, ..base },
        Epoch { slots: slots + 1, wait: 3, ..base },
        Epoch { age: 2, next_wait: 8, ..base },
        Epoch { age: 9, next_wait: 64, wait: 1, ..base },
        Epoch { version: VERSION + 1, is_tight: 1, ..base },
    ]
}

#[test]
fn what_a_step_does_is_decided_as_by_the_mirror() {
    let decide = kernel(&epoch::DECIDE, &[]);
    let mut random = Random::new(3);
    let mut modes = [0; 4];
    let mut chosen = 0;
    for (boxes, way) in [(3000, 0.0), (3000, 0.001), (3000, 0.02), (3000, 0.6), (1, 0.0), (40, 0.01), (20_000, 0.01)] {
        let before: Vec<Aabb> = ordinary(boxes, 5);
        let slots = boxes + 100;
        for (known, tiles) in known(slots).into_iter().flat_map(|known| [0, 3, 90, 2000].map(|left| (known, left))) {
            let now: Vec<Aabb> = before
                .iter()
                .enumerate()
                .map(|(i, aabb)| grown(aabb, if i % 8 == 0 { 0.0 } else { way * random.between(0.5, 1.0) }))
                .collect();
            let mut sample = vec![NO_BOX; EPOCH_SAMPLE as usize];
            let nothing = Epoch::zeroed();
            let unknown = EpochParams { slots, ..EpochParams::zeroed() };
            mirror::epoch::decide(&before, &unknown, [0; 3], &mut sample, &nothing);
            // A third of them with a margin that the caller chose.
            let margin = [0, 0, 124][random.next() as usize % 3];
            let own = EpochParams { margin, ..params_of(slots, 1) };
            let counts: Vec<[u32; 4]> =
                (0..slots.div_ceil(EPOCH_TILE)).map(|k| [u32::from(k == 0) * tiles, tiles / 2, k, 0]).collect();
            // They are of no use where there is no epoch.
            let has_epoch = known.version == VERSION && known.slots == slots;
            let sum = |k: usize| if has_epoch { counts.iter().map(|tile| tile[k]).sum() } else { 0 };
            let (sample_now, known_now) = (guarded(&sample), guarded(&[known]));
            let expected = mirror::epoch::decide(&now, &own, [sum(0), sum(1), sum(2)], &mut sample, &known);
            let (params_now, count) = (uniform(own), counted_boxes(now.len()));
            let (boxes_now, tiles_now, changes) = (upload(&now), upload(&counts), upload(&[0u32, 0]));
            let (sizes, grown_count) = (poisoned::<EpochSizes>(1), poisoned::<u32>(1));
            let buffers = [
                ("params", count.all()),
                ("epoch_params", params_now.all()),
                ("boxes", boxes_now.all()),
                ("escape_tiles", tiles_now.all()),
                ("sample", sample_now.all()),
                ("epoch", known_now.all()),
                ("epoch_sizes", sizes.all()),
                ("grown_count", grown_count.all()),
                ("filter_changes", changes.all()),
            ];
            run(|pass| decide.dispatch(pass, 1, &buffers));
            assert_eq!(written(&known_now), [expected], "{boxes} boxes go by {way}, {tiles} left, {known:?}");
            assert_eq!(bits(&written(&sample_now)), bits(&sample));
            modes[expected.mode as usize] += 1;
            chosen += u32::from(expected.mode == EPOCH_BEGIN && margin != 0 && expected.margin == margin);
            let is_searched = [EPOCH_BEGIN, EPOCH_PART].contains(&expected.mode);
            assert_eq!(written(&grown_count), [if is_searched { boxes } else { 0 }]);
            let groups =
                |mode: u32, each: u32| dispatch_size(if expected.mode == mode { slots.div_ceil(each) } else { 0 });
            let sizes = written(&sizes)[0];
            assert_eq!((sizes.mark, sizes.grow), (groups(EPOCH_PART, 256), groups(EPOCH_BEGIN, 256)));
            assert_eq!(sizes.select, groups(EPOCH_PART, EVENT_TILE));
        }
    }
    assert!(modes.iter().all(|count| *count > 4) && chosen > 4, "{modes:?}, {chosen}");
}

/// Boxes of which one in `rarity` left, grown by little; some are there no longer, or reach far away. Those that left are in one world
/// alone, and reach nowhere.
struct Grown {
    fat: Vec<Aabb>,
    states: Vec<[u32; 4]>,
    tiles: Vec<[u32; 4]>,
}

impl Grown {
    fn new(n: u32, rarity: usize, world: impl Fn(u32) -> u32) -> Self {
        let mut fat: Vec<Aabb> = ordinary(n, 9).iter().map(|aabb| grown(aabb, 0.01)).collect();
        for (i, fat) in fat.iter_mut().enumerate().filter(|(i, _)| i % 11 == 3) {
            let far = [1e-30, -1e-42, 3e38, f32::INFINITY, 1e9][i % 5];
            *fat = if i % 2 == 0 { NO_BOX } else { Aabb::new(fat.min, fat.max.map(|x| x.max(far))) };
        }
        let is_vast = |i: usize| i % 11 == 3 || world(i as u32) == WORLD_GLOBAL;
        let word = |word: usize| {
            let left = |k: &usize| (32 * word + k) % rarity == 1 && !is_vast(32 * word + k);
            [0, (0..32).filter(left).map(|k| 1 << k).sum(), 0, 0]
        };
        let states: Vec<[u32; 4]> = (0..n.div_ceil(32) as usize).map(word).collect();
        let tile = |words: &[[u32; 4]]| [words.iter().map(|word| word[1].count_ones()).sum(), 0, 0, 0];
        let tiles = states.chunks(EPOCH_TILE as usize / 32).map(tile).collect();
        Self { fat, states, tiles }
    }
}

/// Checks which boxes are searched, of so many, some of which left.
fn check_selection(filters: &Filters, rarity: usize, edge: u32) {
    // More than a tile of those that escaped.
    let n = EPOCH_TILE + 900;
    let lists = FilterLists::of(gpu(), filters, n as usize).unwrap();
    let switches = Switches::of(filters);
    let [mark, select] = [&epoch::MARK, &epoch::SELECT].map(|source| kernel(source, switches.world_names()));
    let checked = CheckedFilters::new(filters.clone()).unwrap();
    let world = |i: u32| checked.worlds().get(i as usize).copied().unwrap_or(0);
    let Grown { fat, states, tiles: escaped } = Grown::new(n, rarity, world);
    let what = format!("one in {rarity}, edge {edge}");
    let words = 2048;
    let known = Epoch { mode: EPOCH_PART, edge, ..Epoch::zeroed() };
    let (params_now, known_now) = (params(n as usize, words), upload(&[known]));
    let (escaped_now, states_now, fat_now) = (upload(&escaped), upload(&states), upload(&fat));
    let marks = guarded(&vec![0u32; words as usize + 1]);
    let expected = mirror::epoch::mark(&fat, &states, edge, 32 * words - 1, world);
    let is_searched = mirror::epoch::select(&fat, &states, &expected, edge, world);
    let (bits_now, tiles_now) = (poisoned::<u32>(32 * tiles(n as usize)), poisoned::<u32>(tiles(n as usize)));
    let buffers = [
        ("epoch_params", params_now.all()),
        ("epoch", known_now.all()),
        ("states", states_now.all()),
        ("escape_tiles", escaped_now.all()),
        ("fat", fat_now.all()),
        ("marks", marks.all()),
        ("stays", bits_now.all()),
        ("kept_tiles", tiles_now.all()),
        ("filter_layout", lists.layout.all()),
        ("filters", lists.words.all()),
    ];
    dispatch(&mark, size(n as usize, 256, rarity % 2), &buffers);
    assert!(written(&marks) == expected, "{what}: marks");
    dispatch(&select, size(n as usize, EVENT_TILE as usize, rarity % 2), &buffers);
    assert_eq!((written(&bits_now), written(&tiles_now)), noted(&is_searched), "{what}");
    let part = is_searched.iter().filter(|is| **is).count();
    assert!(part > 100 && part < n as usize - 100, "{what}: {part} of {n}");
}

#[test]
fn boxes_that_may_meet_those_that_left_are_those_of_the_mirror() {
    let mut random = Random::new(23);
    let world = (0..EPOCH_TILE + 900).map(|i| if i % 50 == 0 { Filters::GLOBAL } else { random.below(4) }).collect();
    for filters in [Filters::default(), Filters { world, ..Filters::default() }] {
        for (rarity, edge) in [(100, EDGE), (40, 123), (7, 134)] {
            check_selection(&filters, rarity, edge);
        }
    }
}

#[test]
fn boxes_are_grown_as_an_epoch_begins() {
    let grow = kernel(&epoch::GROW, &[]);
    for (number, Scene { boxes, fat, states, .. }) in scenes().into_iter().enumerate() {
        for margin in [122, 3] {
            let slots = fat.len();
            let known = upload(&[Epoch { mode: EPOCH_BEGIN, margin, ..Epoch::zeroed() }]);
            let (params_now, count, boxes_now) = (params(slots, 1), counted_boxes(boxes.len()), upload(&boxes));
            let [last, fat_now, searched] = [(); 3].map(|()| poisoned::<Aabb>(slots));
            let states_now = poisoned::<[u32; 4]>(states.len());
            let buffers = [
                ("params", count.all()),
                ("epoch_params", params_now.all()),
                ("epoch", known.all()),
                ("boxes", boxes_now.all()),
                ("fat", fat_now.all()),
                ("last", last.all()),
                ("states", states_now.all()),
                ("searched", searched.all()),
            ];
            dispatch(&grow, size(slots, 256, number % 2), &buffers);
            let expected = mirror::epoch::grow(&boxes, slots, margin);
            assert_eq!(bits(&written(&fat_now)), bits(&expected), "{slots} slots");
            let is_there: Vec<bool> = expected.iter().map(Aabb::is_valid).collect();
            assert_eq!(valid(&written(&searched)), in_slots(&expected, &is_there), "{slots} slots");
            let last = written(&last);
            assert_eq!(bits(&last[..boxes.len()]), bits(&boxes), "{slots} slots");
            assert!(last[boxes.len()..].iter().all(|aabb| !aabb.is_valid()), "{slots} slots");
            assert_eq!(written(&states_now), vec![[0; 4]; states.len()], "{slots} slots");
        }
    }
}

/// Returns the boxes that are valid, and `None` in place of others.
fn valid(boxes: &[Aabb]) -> Vec<Option<Aabb>> {
    boxes.iter().map(|aabb| Some(*aabb).filter(Aabb::is_valid)).collect()
}

/// Returns some boxes, each in its slot, and `None` in place of others.
fn in_slots(boxes: &[Aabb], is_there: &[bool]) -> Vec<Option<Aabb>> {
    boxes.iter().zip(is_there).map(|(aabb, is_there)| Some(*aabb).filter(|_| *is_there)).collect()
}

#[test]
fn boxes_that_are_searched_lie_one_behind_the_other_or_in_their_slots() {
    let [packed, in_place] = [&["IS_PACKED"][..], &[]].map(|switches| kernel(&epoch::GATHER, switches));
    let mut random = Random::new(29);
    for (number, n) in lengths().enumerate() {
        let fat = ordinary(n, u64::from(n));
        for rarity in [1, 2, 40] {
            let is_searched: Vec<bool> = fat.iter().map(|_| random.below(rarity) == 0).collect();
            let (words, counts) = noted(&is_searched);
            let (expected, expected_ids) = mirror::epoch::gather(&fat, &is_searched);
            let (params_now, fat_now) = (params(fat.len(), 1), upload(&fat));
            let (words_now, sums_now) = (upload(&words), upload(&sums(&counts)));
            let (searched, ids) = (poisoned::<Aabb>(expected.len()), poisoned::<u32>(expected.len()));
            let own_slots = poisoned::<Aabb>(fat.len());
            for (kernel, to) in [(&packed, &searched), (&in_place, &own_slots)] {
                let buffers = [
                    ("epoch_params", params_now.all()),
                    ("fat", fat_now.all()),
                    ("stays", words_now.all()),
                    ("kept_tiles", sums_now.all()),
                    ("searched", to.all()),
                    ("searched_ids", ids.all()),
                ];
                dispatch(kernel, size(fat.len(), EVENT_TILE as usize, number % 2), &buffers);
            }
            assert_eq!(bits(&written(&searched)), bits(&expected), "{n} slots, one in {rarity}");
            assert_eq!(written(&ids), expected_ids, "{n} slots, one in {rarity}");
            assert_eq!(valid(&written(&own_slots)), in_slots(&fat, &is_searched), "{n} slots, one in {rarity}");
        }
    }
}

fn tiles(count: usize) -> usize {
    count.div_ceil(EVENT_TILE as usize)
}

/// Returns flags as bits, in whole tiles, and how many each tile has.
fn noted(flags: &[bool]) -> (Vec<u32>, Vec<u32>) {
    let mut words = vec![0u32; 32 * tiles(flags.len())];
    for (i, _) in flags.iter().enumerate().filter(|(_, flag)| **flag) {
        words[i / 32] |= 1 << (i % 32);
    }
    let counts = words.chunks(32).map(|words| words.iter().map(|word| word.count_ones()).sum()).collect();
    (words, counts)
}

fn sums(counts: &[u32]) -> Vec<u32> {
    counts.iter().scan(0, |sum, count| Some(std::mem::replace(sum, *sum + count))).collect()
}

/// Numbers of pairs.
fn lengths() -> impl Iterator<Item = u32> {
    SIZES.into_iter().chain([EVENT_TILE - 1, EVENT_TILE, EVENT_TILE + 1, 5000])
}

fn flipped(words: &[u32], flips: &[u32]) -> Vec<u32> {
    words.iter().zip(flips).map(|(word, flips)| word ^ flips).collect()
}

#[test]
fn pairs_are_parted_and_tested_as_by_the_mirror() {
    let mut random = Random::new(31);
    let n = 3000;
    let boxes: Vec<Aabb> = ordinary(n, 4).into_iter().map(|aabb| grown(&aabb, 3.0)).collect();
    let states: Vec<[u32; 4]> = (0..n.div_ceil(32))
        .map(|_| {
            let mut word = || random.next() as u32 & random.next() as u32 & random.next() as u32;
            let (moved, left, fresh) = (word(), word(), word());
            [moved | fresh, fresh, left | fresh, moved | left | fresh]
        })
        .collect();
    let states_now = upload(&states);
    let part = [&[][..], &["IS_FRESH"], &["IS_FRESH", "IS_PACKED"]].map(|switches| kernel(&epoch::PART, switches));
    // Of other slots.
    let ids: Vec<u32> = (0..n).map(|i| i / 2 + random.below(2) + n / 3).collect();
    let ids_now = upload(&ids);
    let [test, test_apart] = [&epoch::TEST, &epoch::APART].map(|source| kernel(source, &[]));
    for (number, length) in lengths().enumerate() {
        let pairs = random_pairs(length, &mut random);
        let count = pairs.len() as u32;
        let (pairs_now, boxes_now, box_count) = (upload(&pairs), upload(&boxes), counted_boxes(boxes.len() - 9));
        let lists = no_filters();
        let run_one = |kernel: &Kernel, known: Epoch, before: &[u32]| {
            let (known, stays) = (upload(&[known]), guarded(before));
            let (kept_tiles, flips) = (poisoned::<u32>(tiles(pairs.len())), guarded(&vec![0u32; before.len()]));
            let buffers = [
                ("params", box_count.all()),
                ("epoch", known.all()),
                ("states", states_now.all()),
                ("pairs", pairs_now.all()),
                ("boxes", boxes_now.all()),
                ("stays", stays.all()),
                ("flips", flips.all()),
                ("kept_tiles", kept_tiles.all()),
                ("searched_ids", ids_now.all()),
                ("filter_layout", lists.layout.all()),
                ("filters", lists.words.all()),
            ];
            dispatch(kernel, size(pairs.len(), EVENT_TILE as usize, number % 2), &buffers);
            (flipped(&written(&stays), &written(&flips)), written(&kept_tiles))
        };
        let words = 32 * tiles(pairs.len());
        let of_slots = mirror::epoch::of_slots(&pairs, &ids);
        for (part, pairs, is_fresh) in
            [(&part[0], &pairs, false), (&part[1], &pairs, true), (&part[2], &of_slots, true)]
        {
            let known = Epoch { found: count, apart: count, mode: EPOCH_PART, ..Epoch::zeroed() };
            let expected = noted(&mirror::epoch::part(pairs, &states, is_fresh));
            assert_eq!(run_one(part, known, &vec![u32::MAX; words]), expected, "{length} pairs");
        }
        let last: Vec<bool> = pairs.iter().map(|_| random.below(2) == 0).collect();
        let own = &boxes[..boxes.len() - 9];
        let known = |mode: u32| Epoch { kept: count, apart: count, mode, ..Epoch::zeroed() };
        let expected = noted(&mirror::epoch::apart(&pairs, own));
        assert_eq!(run_one(&test_apart, known(EPOCH_PART), &vec![u32::MAX; words]), expected, "{length} pairs");
        // None has a bit as an epoch begins, where no box has left.
        let none = vec![false; pairs.len()];
        for (mode, last) in [(EPOCH_BEGIN, &none), (EPOCH_STAY, &last)] {
            let expected = mirror::epoch::test(&pairs, own, last, &states, mode == EPOCH_BEGIN);
            let (found, _) = run_one(&test, known(mode), &noted(last).0);
            assert_eq!(found, noted(&expected).0, "{length} pairs, {mode}");
        }
    }
}

/// Pairs that are kept, some of which stay, and others that come between them, or are among them and do not stay there.
struct TwoLists {
    pairs: Vec<Pair>,
    stays: Vec<bool>,
    apart: Vec<Pair>,
    known: Epoch,
}

/// Lists of all lengths.
fn two_lists() -> Vec<TwoLists> {
    let mut random = Random::new(37);
    let make = |(length, other): (u32, u32)| {
        let pairs = random_pairs(length, &mut random);
        let apart = random_pairs(other, &mut random);
        let stays: Vec<bool> =
            pairs.iter().map(|pair| random.below(3) > 0 && apart.binary_search(pair).is_err()).collect();
        let result = stays.iter().filter(|stays| **stays).count() + apart.len();
        let known = Epoch {
            found: pairs.len() as u32,
            kept: pairs.len() as u32,
            rest: pairs.len() as u32,
            fresh: apart.len() as u32,
            tiles: tiles(pairs.len()) as u32,
            result: result as u32,
            result_apart: apart.len() as u32,
            ..Epoch::zeroed()
        };
        TwoLists { pairs, stays, apart, known }
    };
    // The last one has more tiles than a workgroup counts.
    let all = lengths().flat_map(|length| [0, 1, 30, 6000].map(|other| (length, other)));
    all.chain([(257 * EVENT_TILE, 30)]).map(make).collect()
}

#[test]
fn pairs_are_listed_and_merged_as_by_the_mirror() {
    let [list, merge, begin] = [&epoch::LIST, &epoch::MERGE, &epoch::BEGIN].map(|source| kernel(source, &[]));
    for (number, TwoLists { pairs, stays, apart, known }) in two_lists().into_iter().enumerate() {
        let (words, counts) = noted(&stays);
        // Here none is in both lists.
        let apart: Vec<Pair> = apart.into_iter().filter(|pair| pairs.binary_search(pair).is_err()).collect();
        let known = upload(&[Epoch { fresh: apart.len() as u32, ..known }]);
        let (pairs_now, apart_now, words_now, sums_now) =
            (upload(&pairs), upload(&apart), upload(&words), upload(&sums(&counts)));
        let expected = mirror::epoch::list(&pairs, &stays);
        let (listed, kept) = (poisoned::<Pair>(expected.len()), poisoned::<Pair>(pairs.len()));
        let merged = poisoned::<Pair>(pairs.len() + apart.len());
        let buffers = [
            ("epoch", known.all()),
            ("pairs", pairs_now.all()),
            ("kept_tiles", sums_now.all()),
            ("rest", pairs_now.all()),
            ("fresh", apart_now.all()),
            ("searched_ids", pairs_now.all()),
            ("listed", listed.all()),
            ("apart", merged.all()),
            ("kept", kept.all()),
        ];
        let begun = poisoned::<u32>(words.len());
        for (kernel, count, stays) in [
            (&list, pairs.len(), &words_now),
            (&merge, pairs.len() + apart.len(), &words_now),
            (&begin, pairs.len(), &begun),
        ] {
            let all = [&[("stays", stays.all())][..], &buffers].concat();
            dispatch(kernel, size(count, EVENT_TILE as usize, number % 2), &all);
        }
        let what = format!("{} and {} pairs", pairs.len(), apart.len());
        assert!(written(&listed) == expected, "{what}: listed");
        assert!(written(&merged) == mirror::epoch::merge(&pairs, &apart), "{what}: merged");
        assert!(written(&kept) == pairs, "{what}: kept");
        assert_eq!(written(&begun), vec![0; words.len()], "{what}");
    }
}

#[test]
fn pairs_that_are_kept_are_counted_and_placed_among_others_as_by_the_mirror() {
    let [between, count] = [&epoch::BETWEEN, &epoch::COUNT].map(|source| kernel(source, &[]));
    let [place, join] = [&epoch::PLACE, &epoch::JOIN].map(|source| kernel(source, &[]));
    for (number, TwoLists { pairs, stays, apart, known }) in two_lists().into_iter().enumerate() {
        let (words, counts) = noted(&stays);
        // Some of them were others in the last step.
        let flips: Vec<u32> = words.iter().map(|word| word & 0x8421_1248).collect();
        // The list has room for all of some results, and for a part of others.
        let (params_now, known) = (params(0, 1), upload(&[known]));
        let (pairs_now, apart_now) = (upload(&pairs), upload(&apart));
        let (words_now, flips_now) = (guarded(&flipped(&words, &flips)), upload(&flips));
        let come_between = mirror::epoch::between(&pairs, &apart);
        let (ranks, both) = mirror::epoch::count(&words, &come_between);
        let (between_now, ranks_now) = (guarded(&vec![0u32; words.len()]), poisoned::<[u32; 4]>(words.len()));
        let [stay_counts, between_counts] = [(); 2].map(|()| poisoned::<u32>(counts.len()));
        let result = mirror::epoch::merge(&mirror::epoch::list(&pairs, &stays), &apart);
        let placed = poisoned::<Pair>(result.len().min(6000));
        let buffers = [
            ("epoch_params", params_now.all()),
            ("epoch", known.all()),
            ("pairs", pairs_now.all()),
            ("stays", words_now.all()),
            ("flips", flips_now.all()),
            ("apart_result", apart_now.all()),
            ("between", between_now.all()),
            ("ranks", ranks_now.all()),
            ("listed", placed.all()),
        ];
        let [stay_sums, between_sums] =
            [0, 1].map(|k| upload(&sums(&both.iter().map(|tile| tile[k]).collect::<Vec<_>>())));
        let side = number % 2;
        for (kernel, groups, kept_tiles, between_tiles) in [
            (&between, size(apart.len(), 256, side), &stay_counts, &between_counts),
            (&count, size(counts.len(), 256, side), &stay_counts, &between_counts),
            (&place, size(pairs.len(), EVENT_TILE as usize, side), &stay_sums, &between_sums),
            (&join, size(apart.len(), 256, side), &stay_sums, &between_sums),
        ] {
            let of_tiles = [("kept_tiles", kept_tiles.all()), ("between_tiles", between_tiles.all())];
            dispatch(kernel, groups, &[&of_tiles[..], &buffers].concat());
        }
        let what = format!("{} and {} pairs", pairs.len(), apart.len());
        assert_eq!(written(&between_now), come_between, "{what}");
        assert_eq!(written(&words_now), words, "{what}");
        assert_eq!(written(&ranks_now), ranks, "{what}");
        let tiles: Vec<[u32; 2]> =
            written(&stay_counts).into_iter().zip(written(&between_counts)).map(<[u32; 2]>::from).collect();
        assert_eq!(tiles, both, "{what}");
        assert!(written(&placed) == result[..result.len().min(6000)], "{what}: placed");
    }
}

#[test]
fn pairs_of_boxes_one_behind_the_other_are_listed_by_slot() {
    let list = kernel(&epoch::LIST, &["IS_PACKED"]);
    let mut random = Random::new(43);
    let ids: Vec<u32> = (0..3000).map(|i| 3 * i + random.below(3)).collect();
    let ids_now = upload(&ids);
    for length in lengths() {
        let pairs = random_pairs(length, &mut random);
        let stays: Vec<bool> = pairs.iter().map(|_| random.below(3) > 0).collect();
        let (words, counts) = noted(&stays);
        let expected = mirror::epoch::of_slots(&mirror::epoch::list(&pairs, &stays), &ids);
        let known = upload(&[Epoch { tiles: tiles(pairs.len()) as u32, ..Epoch::zeroed() }]);
        let (pairs_now, words_now, sums_now) = (upload(&pairs), upload(&words), upload(&sums(&counts)));
        let listed = poisoned::<Pair>(expected.len());
        let buffers = [
            ("epoch", known.all()),
            ("pairs", pairs_now.all()),
            ("stays", words_now.all()),
            ("kept_tiles", sums_now.all()),
            ("searched_ids", ids_now.all()),
            ("listed", listed.all()),
        ];
        dispatch(&list, size(pairs.len(), EVENT_TILE as usize, 0), &buffers);
        assert!(written(&listed) == expected, "{length} pairs");
    }
}

/// What a sum over tiles leaves.
struct Scanned {
    sums: Vec<u32>,
    between: Vec<u32>,
    known: Epoch,
    sizes: EpochSizes,
    grown_count: u32,
}

/// Sums the counts of tiles in a role, and returns them with what is known then and the sizes of dispatches.
fn scanned(role: &'static str, known: Epoch, counts: &[u32], between: &[u32]) -> Scanned {
    let scan = kernel(&epoch::SCAN, &[role]);
    let (params_now, tiles_now) = (params(counts.len() * EVENT_TILE as usize, 1), guarded(counts));
    let between_now = guarded(between);
    let (known_now, sizes, grown_count) = (guarded(&[known]), poisoned::<EpochSizes>(1), guarded(&[77u32]));
    let buffers = [
        ("epoch_params", params_now.all()),
        ("kept_tiles", tiles_now.all()),
        ("epoch", known_now.all()),
        ("epoch_sizes", sizes.all()),
        ("grown_count", grown_count.all()),
        ("between_tiles", between_now.all()),
    ];
    run(|pass| scan.dispatch(pass, 1, &buffers));
    Scanned {
        sums: written(&tiles_now),
        between: written(&between_now),
        known: written(&known_now)[0],
        sizes: written(&sizes)[0],
        grown_count: written(&grown_count)[0],
    }
}

/// Checks the sizes of what follows `total` pairs of some tiles, and returns what is right to know then.
fn after(role: &str, known: Epoch, tiles: u32, total: u32, sizes: &EpochSizes) -> Epoch {
    let is_part = known.mode == EPOCH_PART;
    let is_same = (known.mode, known.moved) == (EPOCH_STAY, 0);
    let groups = |is: bool| dispatch_size(if is { tiles } else { 0 });
    let tiled = |count: u32| dispatch_size(count.div_ceil(EVENT_TILE));
    match role {
        "IS_SEARCHED" => known,
        "IS_FRESH" => {
            assert_eq!(sizes.list_fresh, groups(is_part));
            Epoch { fresh: total, ..known }
        }
        "IS_REST" if is_part && total + known.fresh > 5000 => {
            assert_eq!((sizes.merge, sizes.test_kept, sizes.test_apart), (tiled(0), tiled(0), tiled(0)));
            let ended = Epoch { mode: EPOCH_NONE, version: 0, kept: 0, apart: 0, is_tight: 1, ..known };
            Epoch { next_wait: 8, wait: 8, ..ended }
        }
        "IS_REST" => {
            let apart = if is_part { total + known.fresh } else { known.apart };
            assert_eq!(sizes.list_rest, groups(is_part));
            assert_eq!(sizes.merge, tiled(if is_part { apart } else { 0 }));
            assert_eq!(sizes.test_apart, tiled(apart));
            let kept = if is_same { 0 } else { known.kept };
            assert_eq!((sizes.test_kept, sizes.count), (tiled(kept), dispatch_size(kept.div_ceil(256 * EVENT_TILE))));
            Epoch { rest: if is_part { total } else { 0 }, apart, ..known }
        }
        "IS_APART" => {
            assert_eq!((sizes.list_apart, sizes.join), (groups(true), dispatch_size(total.div_ceil(256))));
            assert_eq!(sizes.between, if is_same { dispatch_size(0) } else { sizes.join });
            Epoch { result: 500 + total, result_apart: total, ..known }
        }
        _ => {
            assert_eq!(sizes.place, groups(true));
            Epoch { result: if is_same { 700 } else { total + 200 }, ..known }
        }
    }
}

#[test]
fn tiles_are_summed_and_an_epoch_without_room_ends() {
    let mut random = Random::new(41);
    let roles = [
        ("IS_SEARCHED", EPOCH_PART, 3),
        ("IS_SEARCHED", EPOCH_BEGIN, 3),
        ("IS_SEARCHED", EPOCH_STAY, 0),
        ("IS_FRESH", EPOCH_PART, 3),
        ("IS_FRESH", EPOCH_BEGIN, 3),
        ("IS_REST", EPOCH_PART, 3),
        ("IS_REST", EPOCH_STAY, 0),
        ("IS_REST", EPOCH_NONE, 9),
        ("IS_APART", EPOCH_PART, 3),
        ("IS_APART", EPOCH_STAY, 0),
        ("IS_KEPT", EPOCH_PART, 3),
        ("IS_KEPT", EPOCH_STAY, 0),
    ];
    for tiles in [0u32, 1, 4, 255, 256, 257, 1234] {
        let counts: Vec<u32> = (0..tiles).map(|_| random.below(if tiles > 4 { 1025 } else { 1000 })).collect();
        let pairs = tiles * EVENT_TILE;
        for (role, mode, moved) in roles {
            let there = if mode == EPOCH_NONE { 0 } else { pairs };
            let base = Epoch { mode, moved, found: pairs, apart: there, kept: there, ..Epoch::zeroed() };
            let known = Epoch { fresh: 1000, next_wait: 4, result: 700, result_apart: 200, version: 5, ..base };
            let between: Vec<u32> = (0..tiles).map(|_| random.below(50)).collect();
            let after_scan = scanned(role, known, &counts, &between);
            let Scanned { sums: summed, known: found, sizes, grown_count: searched, .. } = after_scan;
            let is_part = mode == EPOCH_PART;
            let is_summed = match role {
                "IS_SEARCHED" | "IS_FRESH" | "IS_REST" => is_part,
                "IS_KEPT" => (mode, moved) != (EPOCH_STAY, 0),
                _ => true,
            };
            let total = if is_summed { counts.iter().sum() } else { 0 };
            assert_eq!(summed, if is_summed { sums(&counts) } else { counts.clone() }, "{role} {mode}");
            let is_kept = role == "IS_KEPT" && is_summed;
            assert_eq!(after_scan.between, if is_kept { sums(&between) } else { between }, "{role} {mode}");
            assert_eq!(searched, if role == "IS_SEARCHED" && is_part { total } else { 77 }, "{role} {mode}");
            let is_scanned = matches!(role, "IS_APART" | "IS_KEPT") || is_part && role != "IS_SEARCHED";
            let expected = after(role, known, tiles, total, &sizes);
            let expected = Epoch { tiles: if is_scanned { tiles } else { 0 }, ..expected };
            assert_eq!(found, expected, "{role} {mode}, {tiles} tiles");
        }
    }
}

#[test]
fn what_was_found_is_taken_if_it_is_whole() {
    let take = kernel(&epoch::TAKE, &[]);
    for (mode, overflow, written_pairs) in [
        (EPOCH_BEGIN, 0, 5000),
        (EPOCH_BEGIN, 0, 5001),
        (EPOCH_BEGIN, 2, 0),
        (EPOCH_PART, 0, 3000),
        (EPOCH_PART, 1, 3000),
        (EPOCH_STAY, 0, 0),
        (EPOCH_NONE, 0, 0),
    ] {
        let known = Epoch { mode, kept: 2000, apart: 1500, version: 3, next_wait: 64, ..Epoch::zeroed() };
        let header = upload(&[PairHeader { overflow, written: written_pairs, ..PairHeader::zeroed() }]);
        let (params_now, known_now, sizes) = (params(0, 1), guarded(&[known]), poisoned::<EpochSizes>(1));
        let buffers = [
            ("epoch_params", params_now.all()),
            ("header", header.all()),
            ("epoch", known_now.all()),
            ("epoch_sizes", sizes.all()),
        ];
        run(|pass| take.dispatch(pass, 1, &buffers));
        let is_searched = [EPOCH_BEGIN, EPOCH_PART].contains(&mode);
        let fails = is_searched && (overflow != 0 || written_pairs > 5000);
        let ended = Epoch { mode: EPOCH_NONE, version: 0, kept: 0, apart: 0, is_tight: 1, wait: 64, ..known };
        let (begins, is_part) = (mode == EPOCH_BEGIN && !fails, mode == EPOCH_PART && !fails);
        let expected = match (fails, begins) {
            (true, _) => ended,
            (false, true) => Epoch { kept: written_pairs, found: written_pairs, ..known },
            _ => Epoch { found: if is_part { written_pairs } else { 0 }, ..known },
        };
        assert_eq!(written(&known_now), [expected], "{mode} {overflow} {written_pairs}");
        let groups = |is: bool, count: u32| dispatch_size(if is { count.div_ceil(EVENT_TILE) } else { 0 });
        let sizes = written(&sizes)[0];
        assert_eq!(sizes.begin, groups(begins, written_pairs));
        assert_eq!(sizes.part_fresh, groups(is_part, written_pairs));
        assert_eq!(sizes.part_rest, groups(is_part, 1500));
    }
}

#[test]
fn boxes_are_searched_as_they_are_where_there_is_no_epoch_and_the_header_is_left_alone() {
    let [turn, header] = [&epoch::TURN, &epoch::HEADER].map(|source| kernel(source, &[]));
    for mode in [EPOCH_NONE, EPOCH_BEGIN, EPOCH_PART, EPOCH_STAY] {
        for (is_beyond, result) in [(0, 0), (0, 257), (1, 6001)] {
            let known = upload(&[Epoch { mode, result, ..Epoch::zeroed() }]);
            let params_now = uniform(Params { box_count: 99, is_beyond, ..Params::zeroed() });
            let (epoch_params, count) = (params(5000, 1), poisoned::<u32>(1));
            let left = (
                PairHeader { count: 5, ..PairHeader::zeroed() },
                PairArguments { unused: 9, ..PairArguments::zeroed() },
            );
            let (header_now, arguments, sizes) = (guarded(&[left.0]), guarded(&[left.1]), poisoned::<EpochSizes>(1));
            let buffers = [
                ("params", params_now.all()),
                ("epoch_params", epoch_params.all()),
                ("epoch", known.all()),
                ("direct_count", count.all()),
                ("header", header_now.all()),
                ("arguments", arguments.all()),
                ("epoch_sizes", sizes.all()),
            ];
            run(|pass| turn.dispatch(pass, 1, &buffers));
            run(|pass| header.dispatch(pass, 1, &buffers));
            let direct = if is_beyond == 1 { u32::MAX } else { 99 };
            let is_none = mode == EPOCH_NONE;
            assert_eq!(written(&count), [if is_none { direct } else { 0 }]);
            let of_slots = |each: u32| dispatch_size(if is_none { 0 } else { 5000u32.div_ceil(each) });
            let sizes = written(&sizes)[0];
            assert_eq!((sizes.check, sizes.tally), (of_slots(EPOCH_BLOCK), of_slots(EPOCH_TILE)));
            let whole = result.min(6000);
            let overflow = u32::from(result > 6000);
            let own = PairHeader { count: result, capacity: 6000, overflow, written: whole, ..PairHeader::zeroed() };
            let dispatch = dispatch_size(whole.div_ceil(256));
            let draw_list = [24 * whole.min(u32::MAX / 24), 1, 0, 0];
            let own_arguments =
                PairArguments { dispatch, draw: [24, whole, 0, 0], draw_list, ..PairArguments::zeroed() };
            assert_eq!(written(&header_now), [if is_none { left.0 } else { own }]);
            assert_eq!(written(&arguments), [if is_none { left.1 } else { own_arguments }]);
        }
    }
}
