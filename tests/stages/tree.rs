//! `tree`: the order of the leaves, and the bounds of all nodes.

use std::sync::LazyLock;

use broadsweep::internals::constants::{BOTTOM_BOXES, CURVE_SIDE};
use broadsweep::internals::gpu::kernel::Kernel;
use broadsweep::internals::layout::{Cube, TreeSummary};
use broadsweep::internals::mirror;
use broadsweep::internals::tree::build::{Build, BuildInput, RANGES, TreeBuffers, TreeCapacity};
use broadsweep::{Aabb, Filters};

use crate::inputs::Random;
use crate::sort::SORT;
use crate::*;

static BUILD: LazyLock<Build> = LazyLock::new(|| Build::new(gpu()));

fn boxes(n: u32, seed: u64) -> Vec<Aabb> {
    let mut random = Random::new(seed);
    let mut number = || random.below(1 << 20) as f32 / 1024.0 - 512.0;
    let mut boxes: Vec<Aabb> = (0..n)
        .map(|_| {
            let low = [number(), number(), number()];
            Aabb::new(low, low.map(|x| x + 1.0))
        })
        .collect();
    for (i, aabb) in boxes.iter_mut().enumerate() {
        match i % 37 {
            3 => aabb.min[1] = f32::NAN,
            5 => aabb.max[2] = aabb.min[2] - 1.0,
            7 => aabb.max[0] = f32::INFINITY,
            9 => aabb.max = [1e30; 3],
            11 => *aabb = Aabb::new([-0.0; 3], [0.0; 3]),
            _ => {}
        }
    }
    boxes
}

/// Checks that the bounds of children in nodes contain all boxes below.
fn assert_bounds(levels: &[Vec<mirror::tree::Node>], leaves: &[Aabb]) {
    for (level, nodes) in (0..).zip(levels) {
        let below = 8usize.pow(level);
        let bounds = nodes.iter().flat_map(mirror::tree::children);
        for (bounds, boxes) in bounds.zip(leaves.chunks(below)) {
            for aabb in boxes.iter().filter(|aabb| aabb.min[0] <= aabb.max[0]) {
                let holds = (0..3).all(|k| bounds.min[k] <= aabb.min[k] && aabb.max[k] <= bounds.max[k]);
                assert!(holds, "level {level}: {bounds:?} {aabb:?}");
            }
            let is_empty = boxes.iter().all(|aabb| aabb.min[0] > aabb.max[0]);
            assert!(!is_empty || bounds.min[0] > bounds.max[0], "level {level}: {bounds:?}");
        }
    }
}

/// A tree that was built on the device.
struct Tree {
    capacity: TreeCapacity,
    buffers: TreeBuffers,
    order: Vec<u32>,
    numbers: broadsweep::internals::filters::CheckedFilters,
}

fn build(boxes: &[Aabb], world_of: &[u32]) -> Tree {
    let n = boxes.len() as u32;
    let filters = Filters::default().with_world(world_of.to_vec());
    let lists = FilterLists::of(gpu(), &filters, boxes.len()).unwrap();
    let numbers = broadsweep::internals::filters::CheckedFilters::new(filters).unwrap();
    let worlds = if world_of.is_empty() { 0 } else { numbers.world_count() };
    let capacity = TreeCapacity { boxes: u64::from(n), worlds: u64::from(worlds) };
    let buffers = TreeBuffers::new(gpu(), &capacity).unwrap();
    let shape = uniform(capacity.shape());
    let own = upload(boxes);
    let mut encoder = gpu().device().create_command_encoder(&Default::default());
    buffers.record_counts(gpu(), &mut encoder, n).unwrap();
    buffers.record_no_invalid(&mut encoder);
    gpu().queue().submit([encoder.finish()]);
    let input = BuildInput { capacity, shape: &shape, boxes: own.all(), tree: &buffers, filters: &lists };
    run(|pass| BUILD.record_order(pass, &SORT, &input));
    run(|pass| BUILD.record_bounds(pass, &input));
    let of_leaves = &download(&buffers.nodes)[capacity.shape().first_id as usize..];
    let order: Vec<u32> = bytemuck::cast_slice(of_leaves)[..boxes.len()].to_vec();
    let mut sorted = order.clone();
    sorted.sort_unstable();
    assert!(sorted.iter().copied().eq(0..n), "not every box is there once");
    Tree { capacity, buffers, order, numbers }
}

fn check(boxes: &[Aabb], world_of: &[u32], seed: u64) {
    let tree = build(boxes, world_of);
    check_order(&tree, boxes, seed);
    check_nodes(&tree, boxes);
}

/// Checks the cube, but for rounding, and the order along the curve through it.
fn check_order(tree: &Tree, boxes: &[Aabb], seed: u64) {
    let Tree { capacity, buffers: tree, order, numbers } = tree;
    let (n, worlds) = (boxes.len(), capacity.worlds as u32);
    let cube: Cube = download(&tree.cube)[0];
    let expected = mirror::tree::cube(boxes);
    let size = CURVE_SIDE as f32 / expected.scale.max(1e-30);
    assert!((cube.scale - expected.scale).abs() <= 1e-5 * expected.scale, "{cube:?}, {expected:?}");
    assert!((0..3).all(|k| (cube.low[k] - expected.low[k]).abs() <= 1e-5 * size), "{cube:?}, {expected:?}");
    let keys = mirror::tree::keys(boxes, &cube);
    let number = |id: u32| if worlds == 0 { 0 } else { mirror::tree::worlds(&[id], numbers.worlds(), worlds)[0] };
    let in_order = |pair: &[u32]| {
        let key = |id: u32| (number(id), keys[id as usize], id);
        key(pair[0]) < key(pair[1])
    };
    // A box at the border of two places may be rounded into either.
    let wrong = order.windows(2).filter(|pair| !in_order(pair)).count();
    assert!(wrong * 100 <= boxes.len(), "{wrong} of {n} are not in the order of the curve");
    let class = |id: u32| (number(id), mirror::tree::class_of_key(keys[id as usize]));
    assert!(order.windows(2).all(|pair| class(pair[0]) <= class(pair[1])), "seed {seed}: not by world and class");
    if worlds > 0 {
        let of_leaves: Vec<u32> = order.iter().map(|&id| number(id)).collect();
        assert_eq!(download(&tree.ranges), mirror::tree::ranges(&of_leaves, worlds));
    }
}

/// Checks everything after the order, exactly.
fn check_nodes(tree: &Tree, boxes: &[Aabb]) {
    let Tree { capacity, buffers: tree, order, .. } = tree;
    let n = boxes.len();
    let (filled, places) = mirror::tree::places(order);
    let leaves = mirror::tree::leaves(boxes, &places);
    let nodes = download(&tree.nodes);
    let (first_box, first_id) = (capacity.shape().first_box as usize, capacity.shape().first_id as usize);
    let expected = mirror::tree::levels(&leaves);
    let found: &[mirror::tree::Node] = bytemuck::cast_slice(&nodes[..first_box]);
    assert_eq!(found, expected.concat(), "{n} boxes");
    let bits = |boxes: &[Aabb]| {
        boxes.iter().map(|aabb| [aabb.min, aabb.max]).map(|c| c.map(|c| c.map(|x| x + 0.0))).collect::<Vec<_>>()
    };
    assert_eq!(bits(bytemuck::cast_slice(&nodes[first_box..first_id])), bits(&leaves));
    assert_eq!(bytemuck::cast_slice::<_, u32>(&nodes[first_id..]), filled);
    assert_bounds(&expected, &leaves);
    assert_eq!(download(&tree.places)[..boxes.len()], places);
    let mut invalid = mirror::tree::invalid(boxes);
    invalid.push(invalid.iter().any(|&count| count > 0).into());
    assert_eq!(download(&tree.invalid)[..invalid.len()], invalid);
    let summary: TreeSummary = download(&tree.summary)[0];
    let expected = mirror::tree::summary(boxes);
    let listed = summary.invalid_count.min(8) as usize;
    assert_eq!((summary.invalid_count, summary.vast_count), (expected.invalid_count, expected.vast_count));
    assert_eq!(summary.first_invalid[..listed], expected.first_invalid[..listed]);
    let surface = mirror::tree::surface(&leaves, &download(&tree.cube)[0]);
    let found = f64::from(summary.surface);
    // `f32` may flush what is so small to zero.
    let is_tiny = found.max(surface) < 1e-30;
    assert!(is_tiny || (found - surface).abs() <= 1e-3 * surface, "{found}, {surface}");
}

#[test]
fn a_tree_has_every_box_once_and_bounds_all_of_them() {
    for (seed, n) in
        (0..).zip([1, 7, 8, 9, 64, 65, 255, 256, 257, 511, 512, 513, 2048, 2049, 4097, 16_384, 16_385, 40_000])
    {
        check(&boxes(n, seed), &[], seed);
    }
}

#[test]
fn a_tree_with_more_nodes_above_its_bottom_than_one_round_builds_bounds_all_boxes() {
    let one_round = BOTTOM_BOXES * 8 * 256;
    let boxes = boxes(one_round + 1_000, 70);
    check_nodes(&build(&boxes, &[]), &boxes);
}

#[test]
fn nodes_bound_numbers_of_every_size() {
    for seed in 40..60 {
        let mut random = Random::new(seed);
        let mut number = || match random.below(8) {
            0 => f32::from_bits(random.below(1 << 31) * 2),
            1 => f32::from_bits(random.below(1 << 24)),
            2 => [0.0, -0.0, f32::MAX, f32::MIN, f32::INFINITY, f32::NEG_INFINITY][random.below(6) as usize],
            3 => -f32::from_bits(random.below(1 << 24)),
            4 => 1e6 + random.below(100) as f32,
            // Where a bound counts as infinite, and where it does not yet.
            5 => f32::from_bits((246 + random.below(3)) << 23 | random.below(1 << 23)),
            6 => -f32::from_bits((246 + random.below(3)) << 23 | random.below(1 << 23)),
            _ => random.below(100) as f32,
        };
        let boxes: Vec<Aabb> = (0..900)
            .map(|_| {
                let [a, b] = [(); 2].map(|()| [number(), number(), number()]);
                Aabb::new([0, 1, 2].map(|k| a[k].min(b[k])), [0, 1, 2].map(|k| a[k].max(b[k])))
            })
            .collect();
        // In which order they are is another matter: some processors flush such numbers to zero, and some do not.
        check_nodes(&build(&boxes, &[]), &boxes);
    }
}

#[test]
fn worlds_are_ranges_of_leaves() {
    for (seed, n) in (20..).zip([1, 9, 300, 5_000]) {
        let mut random = Random::new(seed);
        let worlds: Vec<u32> =
            (0..n).map(|_| [0, 3, 7, Filters::GLOBAL, u32::MAX - 1][random.below(5) as usize]).collect();
        if worlds.iter().any(|&world| world != Filters::GLOBAL) {
            check(&boxes(n, seed), &worlds, seed);
        }
    }
}

#[test]
fn very_many_worlds_without_leaves_have_empty_ranges() {
    // More empty worlds in a row than the turns that an invocation may take on Mesa's software drivers. A change on the
    // device can leave so many.
    let world_count = 100_000u32;
    for keys in [vec![world_count; 300], vec![world_count - 1; 300], vec![0; 300], vec![70_000; 1]] {
        let capacity = TreeCapacity { boxes: keys.len() as u64, worlds: u64::from(world_count) };
        let ranges = poisoned::<u32>(world_count as usize + 2);
        let (shape, sorted) = (uniform(capacity.shape()), upload(&keys));
        let buffers = [("tree", shape.all()), ("keys", sorted.all()), ("ranges", ranges.all())];
        run(|pass| Kernel::new(gpu(), &RANGES).dispatch(pass, (world_count + 2).div_ceil(256), &buffers));
        assert_eq!(written(&ranges), mirror::tree::ranges(&keys, world_count));
    }
}

#[test]
fn boxes_in_one_point_and_boxes_that_are_all_enormous_or_invalid_have_a_tree() {
    check(&[Aabb::new([3.0; 3], [3.0; 3]); 700], &[], 0);
    check(&[Aabb::new([f32::MIN; 3], [f32::MAX; 3]); 100], &[], 0);
    check(&[Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]); 100], &[], 0);
    check(&[Aabb::new([f32::NAN; 3], [0.0; 3]); 1000], &[], 0);
}
