//! A tree that shares the filters of a broad phase reads the same lists on the device, and never with old ones.

use broadsweep::filter::Attribute;
use broadsweep::query::{Batch, QueryFilters};
use broadsweep::record::GpuAttribute;
use broadsweep::{Aabb, BroadPhase, Error, Filters, Gpu, Lists, Options, Pair, Recorder, Tree, cpu};

use super::numbers::{Like, Numbers};
use crate::common::GPU;
use crate::common::device::{encoder, upload};

const BOXES: usize = 300;

/// Filters of every kind that queries know, with pairs that they do not look at.
fn filters(numbers: &mut Numbers) -> Filters {
    let mut list = |values: u64| -> Vec<u32> { (0..BOXES).map(|_| numbers.below(values) as u32).collect() };
    let (group, mask, body) = (list(4), list(4), list(40));
    let world = list(4).iter().map(|&world| if world == 3 { Filters::GLOBAL } else { world }).collect();
    let margin = list(3).iter().map(|&margin| margin as f32 * 0.25).collect();
    let fixed = list(2).iter().map(|&is_fixed| is_fixed == 1).collect();
    Filters::default()
        .with_group(group)
        .with_mask(mask)
        .with_body(body)
        .with_world(world)
        .with_margin(margin)
        .with_fixed(fixed)
        .with_exclude(vec![Pair::new(0, 1)])
}

/// Regions and their query filters.
struct Regions {
    shapes: Vec<Aabb>,
    filters: QueryFilters,
}

fn regions(numbers: &mut Numbers, boxes: &[Aabb]) -> Regions {
    let shapes: Vec<Aabb> = (0..200).map(|_| numbers.region(boxes, Like::Whole)).collect();
    let mut list = |values: u64| -> Vec<u32> { (0..shapes.len()).map(|_| numbers.below(values) as u32).collect() };
    let filters =
        QueryFilters::default().with_group(list(4)).with_mask(list(4)).with_body(list(40)).with_world(list(3));
    Regions { shapes, filters }
}

impl Regions {
    fn of(&self, tree: &mut Tree) -> Result<Lists<u32>, Error> {
        tree.overlaps(Batch::new(&self.shapes[..]).with_filters(&self.filters))
    }

    /// Returns the answers of a tree on the CPU that has these filters.
    fn expected(&self, boxes: &[Aabb], filters: &Filters) -> Lists<u32> {
        let mut tree = cpu::Tree::new();
        tree.set_filters(filters.clone()).unwrap();
        tree.build(boxes).unwrap();
        tree.overlaps(Batch::new(&self.shapes[..]).with_filters(&self.filters)).unwrap()
    }
}

/// Boxes, and a broad phase that shares its filters with a tree of them.
struct Scene {
    boxes: Vec<Aabb>,
    filters: Filters,
    regions: Regions,
    broad_phase: BroadPhase,
    tree: Tree,
}

impl Scene {
    fn new(seed: u64) -> Self {
        let numbers = &mut Numbers::new(seed);
        let boxes = numbers.boxes(BOXES, Like::Whole);
        let filters = filters(numbers);
        let regions = regions(numbers, &boxes);
        let mut broad_phase = BroadPhase::new(&GPU, Options::default()).unwrap();
        broad_phase.set_filters(filters.clone()).unwrap();
        let mut tree = Tree::new(&GPU).unwrap();
        tree.share_filters(&mut broad_phase, BOXES).unwrap();
        tree.build(&boxes).unwrap();
        Self { boxes, filters, regions, broad_phase, tree }
    }
}

#[test]
fn the_lists_of_a_broad_phase_serve_its_tree() {
    let numbers = &mut Numbers::new(1);
    let boxes = numbers.boxes(BOXES, Like::Whole);
    let filters = filters(numbers);
    let regions = regions(numbers, &boxes);
    let expected = regions.expected(&boxes, &filters);
    assert!(expected.answers.len() > 50, "{} answers", expected.answers.len());
    // True if the broad phase has uploaded them before or not.
    for is_searched in [false, true] {
        let mut broad_phase = BroadPhase::new(&GPU, Options::default()).unwrap();
        broad_phase.set_filters(filters.clone()).unwrap();
        if is_searched {
            broad_phase.find_pairs(&boxes).unwrap();
        }
        let mut tree = Tree::new(&GPU).unwrap();
        tree.share_filters(&mut broad_phase, BOXES).unwrap();
        assert_eq!(tree.filters().group, filters.group);
        tree.build(&boxes).unwrap();
        assert_eq!(regions.of(&mut tree).unwrap(), expected);

        // It holds no lists of its own: boxes as they are searched are all that filters take.
        let mut other = Tree::new(&GPU).unwrap();
        other.set_filters(filters.clone()).unwrap();
        let (own, shared) = (other.memory_plan(BOXES).unwrap(), tree.memory_plan(BOXES).unwrap());
        let lists = ["filters", "world_cells", "included", "margins", "half_space_bits"];
        let of_lists: u64 = own.buffers().iter().filter(|(name, _)| lists.contains(name)).map(|(_, bytes)| bytes).sum();
        assert!(of_lists > 16 * BOXES as u64);
        assert_eq!(shared.total(), own.total() - of_lists);
        let before = tree.memory_bytes();
        tree.build(&boxes).unwrap();
        assert_eq!(tree.memory_bytes(), before);

        // Nor does either of them get into the other's way.
        let pairs = broad_phase.find_pairs(&boxes).unwrap().pairs.to_vec();
        assert_eq!(regions.of(&mut tree).unwrap(), expected);
        tree.refit(&boxes).unwrap();
        assert_eq!(broad_phase.find_pairs(&boxes).unwrap().pairs, pairs);
        // Lists on the device stay as long as one of them needs them, and then count for that one.
        drop(broad_phase);
        let with_lists = tree.memory_bytes();
        assert!(with_lists > before + 8 * BOXES as u64, "{before} and {with_lists}");
        tree.refit(&boxes).unwrap();
        assert_eq!(regions.of(&mut tree).unwrap(), expected);
    }
}

#[test]
fn filters_that_were_changed_are_taken_again() {
    let Scene { boxes, mut filters, regions, mut broad_phase, mut tree } = Scene::new(2);

    // A list that has to do with the nodes, and ones that have not.
    for list in ["group", "world", "mask", "margin"] {
        let few: Vec<u32> = (0..20).map(|i| i % 3).collect();
        let margins = [1.0; 20];
        let values = match list {
            "group" => Attribute::Group(&few),
            "mask" => Attribute::Mask(&few),
            "world" => Attribute::World(&few),
            _ => Attribute::Margin(&margins),
        };
        broad_phase.change_filters(30, values).unwrap();
        match list {
            "group" => filters.group[30..50].copy_from_slice(&few),
            "mask" => filters.mask[30..50].copy_from_slice(&few),
            "world" => filters.world[30..50].copy_from_slice(&few),
            _ => filters.margin[30..50].copy_from_slice(&margins),
        }
        assert_eq!(regions.of(&mut tree).unwrap_err(), Error::FiltersChanged, "{list}");
        assert_eq!(tree.refit(&boxes).unwrap_err(), Error::FiltersChanged, "{list}");
        tree.share_filters(&mut broad_phase, BOXES).unwrap();
        if ["world", "margin"].contains(&list) {
            assert!(matches!(tree.refit(&boxes), Err(Error::NotBuilt)), "{list}");
            tree.build(&boxes).unwrap();
        }
        assert_eq!(regions.of(&mut tree).unwrap(), regions.expected(&boxes, &filters), "{list}");
    }
    // A refused change changes nothing, nor does a list that queries do not read.
    let now = regions.of(&mut tree).unwrap();
    assert!(broad_phase.change_filters(0, Attribute::Parent(&[0])).is_err());
    broad_phase.change_filters(0, Attribute::Fixed(&[true; 9])).unwrap();
    broad_phase.change_filters(0, Attribute::Group(&[])).unwrap();
    assert_eq!(regions.of(&mut tree).unwrap(), now);
    // A change of the tree's own that is refused leaves the lists shared.
    assert!(matches!(tree.change_filters(0, Attribute::Parent(&[0])), Err(Error::BadFilter { .. })));
    broad_phase.change_filters(0, Attribute::Group(&[0; 200])).unwrap();
    assert_eq!(tree.change_filters(0, Attribute::World(&[0])).unwrap_err(), Error::FiltersChanged);
    tree.share_filters(&mut broad_phase, BOXES).unwrap();
    filters.group[..200].fill(0);
    let expected = regions.expected(&boxes, &filters);
    assert_ne!(expected, now);
    assert_eq!(regions.of(&mut tree).unwrap(), expected);
    // Nor do other filters pass unnoticed, and an empty tree reports it too.
    broad_phase.set_filters(Filters::default().with_group(vec![1; BOXES])).unwrap();
    assert_eq!(regions.of(&mut tree).unwrap_err(), Error::FiltersChanged);
    assert_eq!(tree.build(&boxes).unwrap_err(), Error::FiltersChanged);
    assert_eq!(regions.of(&mut tree).unwrap_err(), Error::FiltersChanged);
    assert_eq!(tree.nearest(&[], 0).unwrap_err(), Error::FiltersChanged);
}

#[test]
#[ignore = "long"]
fn filters_that_change_during_a_call_give_no_answers() {
    let Scene { regions, mut broad_phase, mut tree, .. } = Scene::new(6);
    regions.of(&mut tree).unwrap();
    // Enough that the device is still busy at the first poll.
    let shapes = regions.shapes.repeat(200);
    let all = QueryFilters::default().with_mask(vec![3; shapes.len()]);
    let batch = Batch::new(&shapes[..]).with_filters(&all);
    let mut calls = tree.asynchronous();
    let mut call = std::pin::pin!(calls.overlaps(batch));
    let mut context = std::task::Context::from_waker(std::task::Waker::noop());
    assert!(call.as_mut().poll(&mut context).is_pending());
    broad_phase.change_filters(0, Attribute::Mask(&[0; BOXES])).unwrap();
    assert_eq!(pollster::block_on(call).unwrap_err(), Error::FiltersChanged);
}

#[test]
fn pairs_that_a_broad_phase_leaves_out_take_no_memory_in_a_tree() {
    let numbers = &mut Numbers::new(7);
    let boxes = numbers.boxes(BOXES, Like::Whole);
    let mut broad_phase = BroadPhase::new(&GPU, Options::default()).unwrap();
    broad_phase.set_filters(Filters::default().with_exclude_at_most(1 << 20)).unwrap();
    let mut tree = Tree::new(&GPU).unwrap();
    for most in [1 << 40, usize::MAX] {
        let refused = tree.share_filters(&mut broad_phase, most);
        assert!(matches!(refused, Err(Error::TooManyBoxes { .. })), "{refused:?}");
    }
    broad_phase.set_filters(Filters::default().with_exclude_at_most(1 << 20).with_group(vec![1; BOXES])).unwrap();
    tree.share_filters(&mut broad_phase, BOXES).unwrap();
    tree.build(&boxes).unwrap();
    tree.change_filters(0, Attribute::Group(&[2; 5])).unwrap();
    let mut elsewhere = Tree::new(&Gpu::headless().unwrap()).unwrap();
    elsewhere.share_filters(&mut broad_phase, BOXES).unwrap();
    for tree in [&mut tree, &mut elsewhere] {
        tree.build(&boxes).unwrap();
        tree.nearest(&[], 1).unwrap();
        assert!(tree.memory_bytes() < 1 << 20, "{}", tree.memory_bytes());
    }
}

#[test]
fn lists_that_are_shared_within_a_budget_take_their_part_of_it() {
    let numbers = &mut Numbers::new(8);
    let boxes = numbers.boxes(BOXES, Like::Whole);
    let filters = filters(numbers);
    let regions = regions(numbers, &boxes);
    let mut broad_phase = BroadPhase::new(&GPU, Options::default()).unwrap();
    broad_phase.set_filters(filters.clone()).unwrap();
    let pairs = broad_phase.find_pairs(&boxes).unwrap().pairs.to_vec();
    let needs = broad_phase.memory_bytes();
    let options = Options::default().with_memory_budget(Some(2 * needs));
    let mut broad_phase = BroadPhase::new(&GPU, options).unwrap();
    broad_phase.set_filters(filters.clone()).unwrap();
    let mut tree = Tree::new(&GPU).unwrap();
    tree.share_filters(&mut broad_phase, BOXES).unwrap();
    // Beside the buffers of a search.
    let held = broad_phase.memory_bytes();
    assert!((needs / 2..=2 * needs).contains(&held), "{held} of {needs}");
    tree.build(&boxes).unwrap();
    assert_eq!(broad_phase.find_pairs(&boxes).unwrap().pairs, pairs);
    assert_eq!(regions.of(&mut tree).unwrap(), regions.expected(&boxes, &filters));
    assert!(broad_phase.memory_bytes() <= 2 * needs);
    // Too little for all boxes at once.
    broad_phase.set_options(Options::default().with_memory_budget(Some(needs / 8))).unwrap();
    broad_phase.set_filters(filters.clone()).unwrap();
    let refused = tree.share_filters(&mut broad_phase, BOXES);
    assert!(matches!(refused, Err(Error::OverBudget { .. })), "{refused:?}");
}

#[test]
fn margins_that_were_others_meanwhile_are_those_of_another_tree() {
    let numbers = &mut Numbers::new(9);
    let boxes = numbers.boxes(BOXES, Like::Whole);
    let margin = vec![0.0; BOXES];
    let mut broad_phase = BroadPhase::new(&GPU, Options::default()).unwrap();
    broad_phase.set_filters(Filters::default().with_margin(margin.clone())).unwrap();
    let mut tree = Tree::new(&GPU).unwrap();
    tree.share_filters(&mut broad_phase, BOXES).unwrap();
    tree.build(&boxes).unwrap();
    tree.share_filters(&mut broad_phase, BOXES).unwrap();
    tree.refit(&boxes).unwrap();
    // The recording may have run with the margins between.
    broad_phase.change_filters(0, Attribute::Margin(&[5.0; BOXES])).unwrap();
    broad_phase.change_filters(0, Attribute::Margin(&margin)).unwrap();
    tree.share_filters(&mut broad_phase, BOXES).unwrap();
    assert!(matches!(tree.refit(&boxes), Err(Error::NotBuilt)));
    tree.build(&boxes).unwrap();
    // And so it may with those of filters that are set anew.
    broad_phase.set_filters(Filters::default().with_margin(margin.clone())).unwrap();
    assert_eq!(tree.refit(&boxes).unwrap_err(), Error::FiltersChanged);
    tree.set_filters(Filters::default().with_margin(margin)).unwrap();
    assert!(matches!(tree.refit(&boxes), Err(Error::NotBuilt)));
}

#[test]
fn lists_that_nobody_else_counts_count_to_the_trees() {
    let numbers = &mut Numbers::new(10);
    let boxes = numbers.boxes(BOXES, Like::Whole);
    let mut broad_phase = BroadPhase::new(&GPU, Options::default()).unwrap();
    broad_phase.set_filters(Filters::default().with_group(vec![1; BOXES])).unwrap();
    let mut trees = [(); 2].map(|()| Tree::new(&GPU).unwrap());
    let shared = trees.each_mut().map(|tree| {
        tree.share_filters(&mut broad_phase, BOXES).unwrap();
        tree.build(&boxes).unwrap();
        tree.memory_bytes()
    });
    broad_phase.set_filters(Filters::default()).unwrap();
    for (tree, shared) in trees.iter().zip(shared) {
        assert!(tree.memory_bytes() >= shared + 4 * BOXES as u64);
    }
}

#[test]
fn filters_of_its_own_leave_the_broad_phase_as_it_is() {
    let Scene { boxes, mut filters, regions, mut broad_phase, mut tree } = Scene::new(3);
    let pairs = broad_phase.find_pairs(&boxes).unwrap().pairs.to_vec();
    tree.change_filters(0, Attribute::Group(&[0; 100])).unwrap();
    assert_eq!(broad_phase.find_pairs(&boxes).unwrap().pairs, pairs);
    filters.group[..100].fill(0);
    let expected = regions.expected(&boxes, &filters);
    assert_eq!(regions.of(&mut tree).unwrap(), expected);
    broad_phase.change_filters(0, Attribute::Mask(&[0; 100])).unwrap();
    assert_eq!(regions.of(&mut tree).unwrap(), expected);
}

#[test]
fn values_of_the_device_are_shared_too() {
    let Scene { boxes, mut filters, regions, mut tree, .. } = Scene::new(4);
    let mut recorder = Recorder::new(&GPU, Options::default()).unwrap();
    recorder.set_filters(filters.clone()).unwrap();
    tree.share_filters(&mut recorder, BOXES).unwrap();
    tree.build(&boxes).unwrap();

    let (groups, margins) = (vec![3_u32; 100], vec![0.75_f32; 100]);
    let (given, given_margins) = (upload(&groups), upload(&margins));
    let mut recorded = encoder();
    recorder.record_filters(&mut recorded, 50..150, GpuAttribute::Group(given.slice(..))).unwrap();
    GPU.queue().submit([recorded.finish()]);
    assert_eq!(regions.of(&mut tree).unwrap_err(), Error::FiltersChanged);
    tree.share_filters(&mut recorder, BOXES).unwrap();
    filters.group[50..150].copy_from_slice(&groups);
    assert_eq!(regions.of(&mut tree).unwrap(), regions.expected(&boxes, &filters));

    // Margins are those of another tree.
    let mut recorded = encoder();
    recorder.record_filters(&mut recorded, 0..100, GpuAttribute::Margin(given_margins.slice(..))).unwrap();
    GPU.queue().submit([recorded.finish()]);
    tree.share_filters(&mut recorder, BOXES).unwrap();
    assert!(matches!(tree.refit(&boxes), Err(Error::NotBuilt)));
    tree.build(&boxes).unwrap();
    filters.margin[..100].copy_from_slice(&margins);
    assert_eq!(regions.of(&mut tree).unwrap(), regions.expected(&boxes, &filters));

    // The host does not know them: the tree cannot have them for itself, nor another device.
    assert!(matches!(tree.change_filters(0, Attribute::Mask(&[0])), Err(Error::BadFilter { list: "group", .. })));
    let mut elsewhere = Tree::new(&Gpu::headless().unwrap()).unwrap();
    let refused = elsewhere.share_filters(&mut recorder, BOXES);
    assert!(matches!(refused, Err(Error::BadFilter { list: "group", .. })), "{refused:?}");
    // Worlds are places among the leaves.
    let mut recorded = encoder();
    recorder.record_filters(&mut recorded, 0..100, GpuAttribute::World(given.slice(..))).unwrap();
    let refused = tree.share_filters(&mut recorder, BOXES);
    assert!(matches!(refused, Err(Error::BadFilter { list: "world", .. })), "{refused:?}");
}

#[test]
#[ignore = "long"]
fn filters_that_do_not_fit_are_refused_and_those_of_another_device_are_uploaded() {
    let numbers = &mut Numbers::new(5);
    let boxes = numbers.boxes(BOXES, Like::Whole);
    let filters = filters(numbers);
    let regions = regions(numbers, &boxes);
    let mut broad_phase = BroadPhase::new(&GPU, Options::default()).unwrap();
    broad_phase.set_filters(filters.clone()).unwrap();
    let mut tree = Tree::new(&GPU).unwrap();
    let refused = tree.share_filters(&mut broad_phase, BOXES + 1);
    assert!(matches!(refused, Err(Error::FilterLength { .. })), "{refused:?}");
    assert!(tree.filters().is_empty());
    tree.build(&boxes[..10]).unwrap();
    broad_phase.set_filters(Filters::default().with_group(vec![1; 11])).unwrap();
    assert!(matches!(tree.share_filters(&mut broad_phase, 11), Err(Error::FilterLength { box_count: 10, .. })));
    broad_phase.set_filters(Filters::default().with_owner(Some(Aabb::new([0.0; 3], [1.0; 3])))).unwrap();
    assert!(matches!(tree.share_filters(&mut broad_phase, BOXES), Err(Error::BadFilter { list: "owner", .. })));
    // Filters of nothing are filters.
    broad_phase.set_filters(Filters::default()).unwrap();
    tree.share_filters(&mut broad_phase, 10).unwrap();
    let valid = boxes[..10].iter().filter(|aabb| aabb.is_valid()).count();
    assert!(valid > 5);
    assert_eq!(tree.overlaps(&[Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3])]).unwrap().answers.len(), valid);

    broad_phase.set_filters(filters.clone()).unwrap();
    let mut elsewhere = Tree::new(&Gpu::headless().unwrap()).unwrap();
    elsewhere.share_filters(&mut broad_phase, BOXES).unwrap();
    elsewhere.build(&boxes).unwrap();
    assert_eq!(regions.of(&mut elsewhere).unwrap(), regions.expected(&boxes, &filters));
    broad_phase.change_filters(0, Attribute::Group(&[1])).unwrap();
    assert_eq!(regions.of(&mut elsewhere).unwrap_err(), Error::FiltersChanged);
}
