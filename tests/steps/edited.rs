//! Steps in which few boxes move, so that the list of pairs is changed in place, between others in which it is not.

use broadsweep::filter::{Attribute, HalfSpace};
use broadsweep::internals::steps::begin_epochs_from;
use broadsweep::{Aabb, Filters, Options, Step, cpu};
use laboratory::scenes::Kind;

use crate::common::Random;
use crate::oracle::{Frame, Oracle};
use crate::sequences::moved_since;

/// Boxes of which each meets some others.
fn scene(n: usize, seed: u64) -> Vec<Aabb> {
    let mut boxes = Kind::Uniform.generate(n, seed);
    // As large as a seventh of the scene.
    for aabb in &mut boxes {
        aabb.max = std::array::from_fn(|k| aabb.min[k] + 0.14);
    }
    boxes
}

/// Filters of every kind with which lists may be changed in place, or none.
fn filters(n: usize, seed: u64) -> Filters {
    let numbers = |of: u32| (0..n as u32).map(|i| i * 7 % of).collect();
    match seed % 6 {
        0 => Filters::default().with_group(numbers(8)).with_mask(numbers(5)),
        1 => Filters::default().with_world(numbers(2)),
        2 => {
            let half_space = HalfSpace { index: 3, normal: [0.3, 1.0, -0.2], offset: 0.5 };
            Filters::default().with_half_spaces(vec![half_space]).with_body(numbers(40))
        }
        3 => Filters::default()
            .with_fixed((0..n).map(|i| i % 9 == 0).collect())
            .with_sleeping((0..n).map(|i| i % 4 == 0).collect())
            .with_margin((0..n).map(|i| (i % 3) as f32 * 0.01).collect()),
        _ => Filters::default(),
    }
}

fn shifted(aabb: &Aabb, way: [f32; 3]) -> Aabb {
    let by = |corner: [f32; 3]| std::array::from_fn(|k| corner[k] + way[k]);
    Aabb::new(by(aabb.min), by(aabb.max))
}

/// Moves some boxes: most by little, some anywhere; some become invalid, infinite or valid again.
fn advance(boxes: &mut [Aabb], still: &[Aabb], random: &mut Random, most: usize) {
    for _ in 0..random.below(most + 1) {
        let i = random.below(boxes.len());
        let speed = [0.002, 0.02, 0.2][random.below(3)];
        let way = [0; 3].map(|_| (random.unit() - 0.5) * speed);
        boxes[i] = match random.below(20) {
            0 => Aabb::new([f32::NAN; 3], [0.0; 3]),
            1 => Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]),
            2 => still[random.below(still.len())],
            3 | 4 => still[i],
            _ => shifted(&boxes[i], way),
        };
    }
}

#[test]
#[ignore = "long"]
fn lists_that_are_changed_in_place_are_those_of_searches() {
    let mut engine = cpu::BroadPhase::new(Options::default()).unwrap();
    begin_epochs_from(&mut engine, 8);
    let (mut edited, mut left_padding, mut listed, mut changed, mut rested, mut stayed) = (0, 0, 0, 0, 0, 0);
    for seed in 0..120 {
        let n = [8, 60, 150, 400][seed as usize % 4];
        let mut random = Random(seed);
        let still = scene(n, seed);
        let mut frame = Frame { filters: filters(n, seed / 4), ..Frame::of(still.clone()) };
        engine.forget_steps();
        engine.set_filters(frame.filters.clone()).unwrap();
        let mut oracle = Oracle::default();
        let mut generations: Vec<u32> = vec![0; n];
        let mut last = Vec::new();
        for number in 0..40 {
            // Now and then more than one in eight.
            let most = [n / 2, 0, n / 10][random.below(10).min(2)];
            if number > 0 {
                advance(&mut frame.boxes, &still, &mut random, most);
            }
            if !frame.filters.group.is_empty() && random.below(4) == 0 {
                let i = random.below(n);
                frame.filters.group[i] = random.below(8) as u32;
                engine.change_filters(i, Attribute::Group(&frame.filters.group[i..=i])).unwrap();
            }
            if !frame.filters.sleeping.is_empty() && random.below(2) == 0 {
                let Filters { sleeping, fixed, .. } = &mut frame.filters;
                let i = random.below(n);
                sleeping[i] ^= true;
                engine.change_filters(i, Attribute::Sleeping(&sleeping[i..=i])).unwrap();
                if random.below(4) == 0 {
                    fixed[i] ^= true;
                    engine.change_filters(i, Attribute::Fixed(&fixed[i..=i])).unwrap();
                }
            }
            if seed % 5 == 0 && number % 8 == 0 {
                generations[random.below(n)] += u32::from(number % 16 == 0);
                frame.generations = Some(generations.clone());
            }
            let moved = moved_since(&last, &frame.boxes, &mut random);
            let mut step = frame.step();
            step.lists_persisting = random.below(3) == 0;
            if random.below(3) > 0 {
                step = step.moved(&moved);
            }
            let events = engine.find_events(step).unwrap();
            let work = events.report.work;
            oracle.check(&frame, events, &format!("scene {seed}, step {number}, {work:?}"));
            edited += u32::from(work.edited);
            left_padding += if work.edited { work.left_padding_count } else { 0 };
            rested += u32::from(work.edited && step.lists_persisting && !frame.filters.sleeping.is_empty());
            stayed += u32::from(!work.searched && work.moved_count == 0 && step.lists_persisting);
            listed += u32::from(!work.edited && !work.searched && work.moved_count > 0);
            changed += if work.edited { events.created.len() + events.lost.len() } else { 0 };
            last.clone_from(&frame.boxes);
        }
    }
    println!(
        "{edited} steps changed a list in place, {left_padding} boxes left, {changed} events; {listed} listed all"
    );
    println!("{rested} listed what is awake of what persists; nothing moved in {stayed}");
    assert!(edited > 1000 && left_padding > 1000 && listed > 300 && changed > 10_000 && rested > 50 && stayed > 50);
}

/// Facts that an edit does not know: who owns a pair, and included pairs.
#[test]
fn with_a_region_or_included_pairs_all_is_listed() {
    let boxes = scene(400, 1);
    let mut moved = boxes.clone();
    moved[7] = shifted(&boxes[7], [0.004; 3]);
    let owner = Some(Aabb::new([0.0; 3], [0.5; 3]));
    for (filters, edits) in [
        (Filters::default(), true),
        (Filters::default().with_owner(owner), false),
        (Filters::default().with_include(vec![broadsweep::Pair::new(0, 399)]), false),
    ] {
        let mut engine = cpu::BroadPhase::new(Options::default()).unwrap();
        begin_epochs_from(&mut engine, 8);
        engine.set_filters(filters.clone()).unwrap();
        let mut oracle = Oracle::default();
        for number in 0..8 {
            let boxes = if number % 2 == 0 { &boxes } else { &moved };
            let frame = Frame { filters: filters.clone(), ..Frame::of(boxes.clone()) };
            let events = engine.find_events(Step::new(boxes).changes_only()).unwrap();
            oracle.check(&frame, events, &format!("step {number}"));
            assert_eq!(events.report.work.edited, edits && number > 2, "step {number}: {:?}", events.report);
        }
    }
}
