//! Boxes that come and go in slots, against a map of bodies and brute force over its boxes alone.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Debug;

use broadsweep::filter::{Attribute, GroupRule};
use broadsweep::internals::brute_force;
use broadsweep::internals::steps::begin_epochs_from;
use broadsweep::step::{BoxFilter, Handle, HasFilters, SearchReason, Slots};
use broadsweep::{Aabb, BroadPhase, Engine, Error, Events, Filters, Options, Pair, QueryEngine, Recorder, Tree, cpu};

use crate::common::{ALL_PAIRS, CANONICAL, GPU, Random, broad_phase, recorder};
use crate::oracle::Frame;
use crate::recorded::record;

/// The bodies of a test, without slots.
type Bodies = BTreeMap<Handle, (Aabb, BoxFilter)>;
type HandlePairs = BTreeSet<[Handle; 2]>;

/// Bodies that come and go, and the slots that follow them.
struct World {
    random: Random,
    slots: Slots,
    bodies: Bodies,
    /// The handles of all bodies that are gone.
    gone: Vec<Handle>,
    last: HandlePairs,
    has_filters: bool,
    /// Bodies up to which more come than go.
    most: usize,
}

fn cube(x: f32) -> Aabb {
    Aabb::new([x, 0.0, 0.0], [x + 1.0, 1.0, 1.0])
}

fn some_box(random: &mut Random) -> Aabb {
    let min = [0; 3].map(|_| random.below(40) as f32 / 8.0);
    let aabb = Aabb::new(min, min.map(|x| x + 0.25 + random.below(8) as f32 / 8.0));
    // A body may be nowhere for a time: an invalid box is not a free slot.
    if random.below(30) == 0 { Aabb::new([f32::NAN; 3], aabb.max) } else { aabb }
}

fn some_filter(random: &mut Random) -> BoxFilter {
    let filter = BoxFilter::default();
    match random.below(12) {
        0 => filter.with_group(random.below(8) as u32),
        1 => filter.with_mask(random.below(8) as u32),
        2 => filter.with_body(Some(random.below(5) as u32)),
        3 => filter.with_parent(Some(random.below(5) as u32)).with_sleeping(random.below(2) == 0),
        4 => filter.with_fixed(true),
        5 => filter.with_world([Some(0), Some(1), None][random.below(3)]),
        6 => filter.with_margin(random.below(4) as f32 / 4.0),
        7 => filter.with_second(random.below(2) == 0),
        8 => filter.with_sphere(Some([(); 4].map(|()| random.below(5) as f32 / 2.0))),
        _ => filter,
    }
}

impl World {
    fn new(seed: u64, most: usize, has_filters: bool) -> Self {
        let (slots, bodies) = (Slots::default(), Bodies::default());
        Self { random: Random(seed), slots, bodies, gone: Vec::new(), last: HandlePairs::new(), has_filters, most }
    }

    fn filter(&mut self) -> BoxFilter {
        if self.has_filters { some_filter(&mut self.random) } else { BoxFilter::default() }
    }

    fn insert(&mut self) {
        let (aabb, filter) = (some_box(&mut self.random), self.filter());
        let lowest = (0..).find(|&index| self.slots.handle_of(index).is_none());
        let handle = self.slots.insert(aabb, filter).unwrap();
        assert_eq!(Some(handle.index), lowest);
        assert!(self.bodies.insert(handle, (aabb, filter)).is_none() && !self.gone.contains(&handle));
    }

    /// Creates the next step: bodies come, go, move and change.
    fn advance(&mut self) {
        for handle in self.bodies.keys().copied().collect::<Vec<_>>() {
            match self.random.below(40) {
                0 => {
                    let (aabb, _) = self.bodies.remove(&handle).unwrap();
                    assert!(same(&self.slots.remove(handle).unwrap(), &aabb));
                    self.gone.push(handle);
                    // Sometimes another one comes in the same step, in the same slot or in a lower one.
                    if self.random.below(2) == 0 {
                        self.insert();
                    }
                }
                1 | 2 => {
                    let aabb = some_box(&mut self.random);
                    self.slots.set(handle, aabb).unwrap();
                    self.bodies.get_mut(&handle).unwrap().0 = aabb;
                }
                3 if self.has_filters => {
                    let filter = self.filter();
                    self.slots.set_filter(handle, filter).unwrap();
                    self.bodies.get_mut(&handle).unwrap().1 = filter;
                }
                _ => {}
            }
        }
        for (handle, aabb) in self.slots.iter_mut() {
            aabb.max[0] += 0.01;
            self.bodies.get_mut(&handle).unwrap().0.max[0] += 0.01;
        }
        for _ in 0..self.random.below(if self.bodies.len() < self.most { 12 } else { 2 }) {
            self.insert();
        }
    }

    /// Checks slots against bodies.
    fn check_slots(&mut self) {
        let Self { slots, bodies, gone, .. } = self;
        assert_eq!((slots.len(), slots.is_empty()), (bodies.len(), bodies.is_empty()));
        assert!(slots.iter().map(|(handle, _)| handle).eq(bodies.keys().copied()));
        for (&handle, (aabb, filter)) in &*bodies {
            assert!(same(slots.get(handle).unwrap(), aabb) && same(&slots.boxes()[handle.index as usize], aabb));
            assert_eq!((slots.filter(handle), slots.handle_of(handle.index)), (Some(*filter), Some(handle)));
            assert_eq!(slots.generations()[handle.index as usize], handle.generation);
        }
        for &handle in &*gone {
            assert_eq!((slots.get(handle), slots.filter(handle)), (None, None));
            assert_eq!(slots.remove(handle), None);
            assert!(
                matches!(slots.set(handle, cube(0.0)), Err(Error::StaleHandle { index, .. }) if index == handle.index)
            );
            assert!(matches!(slots.set_filter(handle, BoxFilter::default()), Err(Error::StaleHandle { .. })));
        }
        let free = slots.boxes().iter().zip(0..).filter(|&(_, index)| slots.handle_of(index).is_none());
        assert!(free.clone().all(|(aabb, _)| aabb.min.iter().chain(&aabb.max).all(|x| x.is_nan())));
        assert_eq!(free.count() + slots.len(), slots.boxes().len());
    }

    /// Finds the pairs of all bodies by brute force, from their boxes alone; and the pairs with at least one body
    /// awake.
    fn pairs(&self) -> [HandlePairs; 2] {
        let (handles, boxes): (Vec<Handle>, Vec<Aabb>) =
            self.bodies.iter().map(|(handle, (aabb, _))| (*handle, *aabb)).unzip();
        let values = || self.bodies.values().map(|(_, filter)| filter);
        let own = |(filter, i): (&BoxFilter, u32)| filter.body.unwrap_or(1000 + i);
        let filters = Filters::default()
            .with_rule(GroupRule::Both)
            .with_group(values().map(|filter| filter.group).collect())
            .with_mask(values().map(|filter| filter.mask).collect())
            .with_body(values().zip(0..).map(own).collect())
            .with_parent(values().map(|filter| filter.parent.unwrap_or(Filters::NO_PARENT)).collect())
            .with_fixed(values().map(|filter| filter.fixed).collect())
            .with_world(values().map(|filter| filter.world.unwrap_or(Filters::GLOBAL)).collect())
            .with_margin(values().map(|filter| filter.margin).collect())
            .with_sphere(values().map(|filter| filter.sphere.unwrap_or([0.0, 0.0, 0.0, f32::INFINITY])).collect());
        // Where no box is in the second of two sets, there are none.
        let second: Vec<bool> = values().map(|filter| filter.second).collect();
        let filters = if self.slots_have_second() { filters.with_second(second) } else { filters };
        let pairs = brute_force::find_filtered_pairs(&boxes, &filters);
        let named = |pair: &Pair| [handles[pair.a as usize], handles[pair.b as usize]];
        let rests = |handle: &Handle| self.bodies[handle].1.fixed || self.bodies[handle].1.sleeping;
        let all: HandlePairs = pairs.iter().map(named).collect();
        let awake = all.iter().copied().filter(|[a, b]| !rests(a) || !rests(b)).collect();
        [all, awake]
    }

    /// Returns whether a box was ever in the second of two sets: from then on there are two.
    fn slots_have_second(&self) -> bool {
        let mut filters = cpu::BroadPhase::new(Options::default()).unwrap();
        self.slots.update_filters(&mut filters).unwrap();
        !filters.filters().second.is_empty()
    }

    /// Checks the events of a step that was marked.
    fn check_events(&mut self, events: &Events, what: &str) -> [usize; 2] {
        let [pairs, awake] = self.pairs();
        let Self { slots, last, .. } = self;
        let now = |pair: &Pair| [pair.a, pair.b].map(|index| slots.handle_of(index).expect("a body"));
        let then =
            |pair: &Pair| [pair.a, pair.b].map(|index| slots.last_handle_of(index).expect("a body of the last step"));
        let named = |pairs: &[Pair]| pairs.iter().map(now).collect::<HandlePairs>();
        assert_sets(&named(&events.pairs), &pairs, &format!("{what}: pairs"));
        assert_sets(&named(&events.created), &(&pairs - last), &format!("{what}: created"));
        assert_sets(&events.lost.iter().map(then).collect(), &(&*last - &pairs), &format!("{what}: lost"));
        assert_sets(&named(&events.persisting), &(&awake & last), &format!("{what}: persisting"));
        self.last = pairs;
        [events.created.len(), events.lost.len()]
    }
}

fn assert_sets(found: &HandlePairs, expected: &HandlePairs, what: &str) {
    let first = |set: HandlePairs| set.first().copied();
    assert!(
        found == expected,
        "{what}: too many: {:?}, missing: {:?}",
        first(found - expected),
        first(expected - found)
    );
}

fn same(a: &Aabb, b: &Aabb) -> bool {
    bytemuck::cast::<Aabb, [u32; 6]>(*a) == bytemuck::cast::<Aabb, [u32; 6]>(*b)
}

/// Runs sequences of steps, with and without filters.
fn run(engine: &mut impl Engine, seeds: std::ops::Range<u64>, steps: usize) {
    let mut seen = [0; 2];
    for seed in seeds {
        engine.forget_steps();
        // Filters that are not by box stay.
        engine.set_filters(Filters::default().with_rule(GroupRule::Both)).unwrap();
        let mut world = World::new(seed, 20 + 60 * (seed as usize % 4), seed % 3 > 0);
        for number in 0..steps {
            world.advance();
            world.check_slots();
            let what = format!("seed {seed}, step {number}");
            let events = world.slots.find_events(engine).unwrap().clone();
            let counts = world.check_events(&events, &what);
            (0..2).for_each(|k| seen[k] += counts[k]);
            let free = world.slots.boxes().len() - world.slots.len();
            assert!(events.report.invalid_count as usize >= free, "{what}");
            assert_eq!(engine.filters().rule, GroupRule::Both);
        }
        assert!(world.gone.len() > steps / 4, "{}", world.gone.len());
    }
    engine.set_filters(Filters::default()).unwrap();
    assert!(seen.iter().all(|count| *count > 50), "{seen:?}");
}

#[test]
fn bodies_that_come_and_go_have_the_events_of_a_map_of_bodies_on_the_cpu() {
    for fewest in [8, 1 << 10] {
        let mut engine = cpu::BroadPhase::new(Options::default()).unwrap();
        begin_epochs_from(&mut engine, fewest);
        run(&mut engine, 1..13, 30);
    }
}

#[test]
fn bodies_that_come_and_go_have_the_events_of_a_map_of_bodies_on_a_gpu() {
    for options in [ALL_PAIRS, CANONICAL] {
        run(&mut *broad_phase(options), 2..4, 16);
    }
}

#[test]
fn bodies_that_come_and_go_have_the_same_events_where_steps_are_recorded() {
    let mut recorder: Recorder = recorder(CANONICAL);
    recorder.reserve(256, 20_000).unwrap();
    recorder.set_filters(Filters::default().with_rule(GroupRule::Both)).unwrap();
    let mut world = World::new(5, 100, true);
    for number in 0..10 {
        world.advance();
        world.slots.update_filters(&mut recorder).unwrap();
        let generations = Some(world.slots.generations().to_vec());
        let frame = Frame { generations, ..Frame::of(world.slots.boxes().to_vec()) };
        let events = record(&mut recorder, &frame).unwrap();
        world.slots.mark_step();
        world.check_events(&events, &format!("recorded step {number}"));
    }
}

/// Compares what boxes touch in a tree of slots with what they touch in the map.
fn check_tree(tree: &mut (impl QueryEngine + HasFilters)) {
    let mut world = World::new(9, 100, true);
    world.has_filters = false;
    let mut refits = 0;
    for _ in 0..20 {
        world.advance();
        world.slots.update_filters(tree).unwrap();
        refits += u32::from(tree.report().box_count as usize == world.slots.boxes().len());
        match tree.refit(world.slots.boxes()) {
            Err(Error::OtherTree { .. } | Error::NotBuilt) => tree.build(world.slots.boxes()).unwrap(),
            refitted => refitted.unwrap(),
        };
        let queries: Vec<Aabb> = (0..20).map(|_| some_box(&mut world.random)).filter(Aabb::is_valid).collect();
        let answers = tree.overlaps(&queries[..]).unwrap();
        for (i, query) in queries.iter().enumerate() {
            let found: Vec<Handle> = answers[i].iter().map(|&index| world.slots.handle_of(index).unwrap()).collect();
            let touched = world.bodies.iter().filter(|(_, (aabb, _))| aabb.overlaps(query)).map(|(handle, _)| *handle);
            assert_eq!(found, touched.collect::<Vec<_>>());
        }
    }
    assert!(refits > 10, "{refits}");
}

#[test]
fn a_tree_of_slots_is_refitted_to_boxes_that_came_and_went() {
    check_tree(&mut cpu::Tree::new());
    check_tree(&mut Tree::new(&GPU).unwrap());
}

#[test]
fn all_filters_are_set_only_where_slots_are_added_or_a_list_is_new() {
    let mut engine = cpu::BroadPhase::new(Options::default()).unwrap();
    begin_epochs_from(&mut engine, 8);
    let mut slots = Slots::with_capacity(200).unwrap();
    let mut set = Vec::new();
    for number in 0..130 {
        let filter = BoxFilter::default().with_group(number + 1);
        let filter = if number >= 60 { filter.with_fixed(true) } else { filter };
        let x = 3.0 * number as f32;
        slots.insert(cube(x), filter).unwrap();
        let last = slots.insert(cube(x), filter).unwrap();
        let work = slots.find_events(&mut engine).unwrap().report.work;
        if number > 1 && matches!(work.reason, Some(SearchReason::FiltersChanged | SearchReason::BoxCountChanged)) {
            set.push((number, slots.boxes().len()));
        }
        assert_eq!(engine.filters().group[last.index as usize], number + 1);
        let has_fixed = engine.filters().fixed.get(last.index as usize);
        assert_eq!(has_fixed, (number >= 60).then_some(&true), "{number}");
    }
    // In 130 steps: at the first use of `fixed`, and where the slots double. The speeds of new slots are known one step
    // later.
    assert_eq!(set, [(60, 200), (100, 400), (101, 400)]);
}

#[test]
fn slots_double_where_all_are_in_use_and_keep_their_number_where_boxes_go() {
    let mut slots = Slots::default();
    let mut lengths = vec![0];
    let handles: Vec<Handle> = (0..300)
        .map(|_| {
            let handle = slots.insert(cube(0.0), BoxFilter::default()).unwrap();
            lengths.push(slots.boxes().len());
            handle
        })
        .collect();
    lengths.dedup();
    assert_eq!(lengths, [0, 64, 128, 256, 512]);
    handles.iter().for_each(|&handle| assert!(slots.remove(handle).is_some()));
    assert_eq!((slots.len(), slots.boxes().len(), slots.generations().len()), (0, 512, 512));
    assert_eq!(slots.insert(cube(0.0), BoxFilter::default()).unwrap().index, 0);
    assert_eq!(Slots::with_capacity(1000).unwrap().boxes().len(), 1000);
    let refused = Slots::with_capacity((1 << 25) + 1).unwrap_err();
    assert!(matches!(refused, Error::TooManyBoxes { max_boxes: 33_554_432, .. }), "{refused}");
}

/// Checks a slot that is used again in the step in which it is freed.
fn check_same_step(mut engine: impl Engine) {
    let mut slots = Slots::default();
    let stays = slots.insert(cube(0.0), BoxFilter::default()).unwrap();
    let goes = slots.insert(cube(0.5), BoxFilter::default()).unwrap();
    slots.find_events(&mut engine).unwrap();
    assert_eq!(slots.last_handle_of(0), None, "there is no step before");
    slots.remove(goes);
    let comes = slots.insert(cube(0.5), BoxFilter::default()).unwrap();
    assert_eq!(goes.index, comes.index);
    let events = slots.find_events(&mut engine).unwrap();
    assert_eq!((&events.lost[..], &events.created[..]), (&[Pair::new(0, 1)][..], &[Pair::new(0, 1)][..]));
    assert_eq!([0, 1].map(|index| slots.last_handle_of(index)), [Some(stays), Some(goes)]);
    assert_eq!([0, 1].map(|index| slots.handle_of(index)), [Some(stays), Some(comes)]);
    // A step that is refused is none.
    slots.remove(comes);
    engine.set_options(Options::default().with_candidate_limit(1)).unwrap();
    assert!((0..9).all(|_| slots.insert(cube(0.5), BoxFilter::default()).is_ok()));
    assert!(matches!(slots.find_events(&mut engine), Err(Error::TooManyCandidates { .. })));
    assert_eq!([0, 1].map(|index| slots.last_handle_of(index)), [Some(stays), Some(goes)]);
}

#[test]
fn a_removed_box_and_one_in_its_slot_in_the_same_step_lose_a_pair_and_create_one() {
    check_same_step(cpu::BroadPhase::new(Options::default()).unwrap());
    check_same_step(BroadPhase::new(&GPU, Options::default()).unwrap());
}

#[test]
fn values_without_a_meaning_are_refused_and_change_nothing() {
    fn assert_refused<T: Debug>(refused: Result<T, Error>, list: &str) {
        assert!(
            matches!(&refused, Err(Error::BadFilter { list: l, index: Some(1), .. }) if *l == list),
            "{list}: {refused:?}"
        );
    }
    let mut slots = Slots::default();
    let filter = BoxFilter::default();
    slots.insert(cube(0.0), filter).unwrap();
    let good = filter.with_body(Some((1 << 31) - 1));
    let mut handle = slots.insert(cube(0.0), good).unwrap();
    for (list, bad) in [
        ("margin", filter.with_margin(-1.0)),
        ("margin", filter.with_margin(f32::NAN)),
        ("body", filter.with_body(Some(1 << 31))),
        ("parent", filter.with_parent(Some(u32::MAX - 1))),
        ("parent", filter.with_parent(Some(u32::MAX))),
        ("world", filter.with_world(Some(u32::MAX))),
    ] {
        assert_refused(slots.set_filter(handle, bad), list);
        assert_eq!(slots.filter(handle), Some(good));
        slots.remove(handle);
        assert_refused(slots.insert(cube(0.0), bad), list);
        assert_eq!(slots.len(), 1);
        let refused = slots.set_filter(handle, good);
        assert!(matches!(refused, Err(Error::StaleHandle { .. })), "{refused:?}");
        let old = std::mem::replace(&mut handle, slots.insert(cube(0.0), good).unwrap());
        assert_eq!((handle.index, handle.generation), (old.index, old.generation + 2));
    }
    assert_eq!(slots.get(Handle { index: u32::MAX, generation: 1 }), None);
}

#[test]
fn other_lists_by_box_are_replaced_and_lists_by_pair_stay() {
    let mut engine = cpu::BroadPhase::new(Options::default()).unwrap();
    let mut slots = Slots::default();
    assert!((0..3).all(|_| slots.insert(cube(0.0), BoxFilter::default()).is_ok()));
    let exclude = vec![Pair::new(0, 1)];
    engine.set_filters(Filters::default().with_group(vec![0; 64]).with_exclude(exclude.clone())).unwrap();
    let events = slots.find_events(&mut engine).unwrap();
    assert_eq!(events.pairs, [Pair::new(0, 2), Pair::new(1, 2)]);
    assert_eq!(*engine.filters(), Filters::default().with_exclude(exclude));
    // Changes behind the slots' back are reverted.
    let handle = slots.handle_of(2).unwrap();
    slots.set_filter(handle, BoxFilter::default().with_sleeping(true)).unwrap();
    slots.update_filters(&mut engine).unwrap();
    engine.change_filters(0, Attribute::Sleeping(&[true; 2])).unwrap();
    slots.update_filters(&mut engine).unwrap();
    assert_eq!(engine.filters().sleeping[..4], [false, false, true, false]);
}
