use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::baselines::Baseline;
use crate::baselines::slabs::loops;
use crate::scenes::Kind;
use broadsweep::internals::brute_force;
use broadsweep::{Pair, Ray};

/// Checks everything that must hold between two operations.
fn check(tree: &AabbTree) {
    let mut seen = vec![false; tree.nodes.len()];
    let mut leaf_count = 0;
    let mut open = Vec::new();
    if tree.root != NONE {
        assert_eq!(tree.node(tree.root).parent, NONE);
        open.push(tree.root);
    }
    while let Some(at) = open.pop() {
        assert!(!std::mem::replace(&mut seen[at as usize], true), "a node has two parents");
        let node = tree.node(at);
        if node.is_leaf() {
            leaf_count += 1;
            assert_eq!(node.height, 0);
            let leaf = tree.leaf_of(node);
            assert_eq!(leaf.node, at);
            assert!(leaf.exact.is_valid() && contains(&node.bounds, &leaf.exact));
            continue;
        }
        let [a, b] = node.children.map(|child| *tree.node(child));
        assert_eq!([a.parent, b.parent], [at; 2]);
        assert_eq!(node.height, 1 + a.height.max(b.height));
        assert!(a.height.abs_diff(b.height) <= 1, "out of balance");
        assert_eq!(node.bounds, union(&a.bounds, &b.bounds));
        open.extend(node.children);
    }
    assert_eq!(leaf_count, tree.len());
    assert_eq!(tree.is_empty(), tree.root == NONE);
    // A node is either in the tree or in the list of free nodes.
    let mut free = tree.free_node;
    while free != NONE {
        assert!(!std::mem::replace(&mut seen[free as usize], true), "free and in the tree, or free twice");
        free = tree.node(free).children[1];
    }
    assert!(seen.iter().all(|seen| *seen), "a node is lost");
    let linked = tree.leaves.iter().filter(|leaf| leaf.node != NONE).count();
    let mut free = tree.free_leaf;
    let mut free_count = 0;
    while free != NONE {
        assert_eq!(tree.leaves[free as usize].node, NONE);
        assert!(free_count < tree.leaves.len(), "the list of free leaves has a cycle");
        free_count += 1;
        free = tree.leaves[free as usize].data;
    }
    assert_eq!([linked, free_count], [tree.len(), tree.leaves.len() - tree.len()]);
}

fn pairs_of(tree: &AabbTree) -> Vec<Pair> {
    let mut pairs = Vec::new();
    tree.pairs(|a, b| pairs.push(Pair::new(a, b)));
    pairs.sort_unstable();
    pairs
}

fn inserted_in_order(boxes: &[Aabb]) -> AabbTree {
    let mut tree = AabbTree::default();
    for (aabb, data) in boxes.iter().zip(0..) {
        tree.insert(*aabb, data);
    }
    tree
}

/// Creates coordinates that often coincide, with some that overflow and some that are not numbers.
fn coordinate() -> impl Strategy<Value = f32> {
    prop_oneof![
        8 => (-8i8..8).prop_map(f32::from),
        4 => -8.0f32..8.0,
        1 => prop::sample::select(vec![-0.0, 1e-45, -1e-45, 1e30, f32::MAX, f32::MIN, f32::INFINITY, f32::NEG_INFINITY]),
        1 => Just(f32::NAN),
    ]
}

fn any_box() -> impl Strategy<Value = Aabb> {
    (prop::array::uniform3(coordinate()), prop::array::uniform3(coordinate()), prop::bool::weighted(0.95)).prop_map(
        |(a, b, in_order)| {
            if !in_order {
                return Aabb::new(a, b);
            }
            let ordered = |k: usize| if a[k] <= b[k] { (a[k], b[k]) } else { (b[k], a[k]) };
            Aabb::new([0, 1, 2].map(|k| ordered(k).0), [0, 1, 2].map(|k| ordered(k).1))
        },
    )
}

#[derive(Clone, Debug)]
enum Step {
    Insert(Aabb, Option<[f32; 3]>),
    Remove(prop::sample::Index),
    Update(prop::sample::Index, Aabb, [f32; 3]),
    Nudge(prop::sample::Index, [f32; 3]),
    Rebuild,
}

fn any_step() -> impl Strategy<Value = Step> {
    let index = any::<prop::sample::Index>;
    let motion = || prop::array::uniform3(coordinate());
    prop_oneof![
        6 => (any_box(), prop::option::of(motion())).prop_map(|(aabb, motion)| Step::Insert(aabb, motion)),
        3 => index().prop_map(Step::Remove),
        3 => (index(), any_box(), motion()).prop_map(|(leaf, aabb, motion)| Step::Update(leaf, aabb, motion)),
        3 => (index(), prop::array::uniform3(-0.5f32..0.5)).prop_map(|(leaf, motion)| Step::Nudge(leaf, motion)),
        1 => Just(Step::Rebuild),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn after_any_operation_the_tree_is_well_formed_and_finds_what_brute_force_finds(
        steps in prop::collection::vec(any_step(), 0..60),
        queried in any_box(),
        ray in (prop::array::uniform3(coordinate()), prop::array::uniform3(coordinate())),
    ) {
        let mut tree = AabbTree::default();
        // The boxes that the tree must contain, by `data`; `None` for a removed or refused box.
        let mut boxes: Vec<Option<Aabb>> = Vec::new();
        let mut leaves: BTreeMap<u32, LeafId> = BTreeMap::new();
        for step in steps {
            let chosen = |index: prop::sample::Index, leaves: &BTreeMap<u32, LeafId>| {
                (!leaves.is_empty()).then(|| leaves.iter().nth(index.index(leaves.len())).map(|(d, l)| (*d, *l)).unwrap())
            };
            match step {
                Step::Insert(aabb, motion) => {
                    let data = boxes.len() as u32;
                    let leaf = match motion {
                        Some(motion) => tree.insert_moving(aabb, motion, data),
                        None => tree.insert(aabb, data),
                    };
                    prop_assert_eq!(leaf.is_some(), aabb.is_valid());
                    boxes.push(leaf.map(|_| aabb));
                    leaves.extend(leaf.map(|leaf| (data, leaf)));
                }
                Step::Remove(index) => if let Some((data, leaf)) = chosen(index, &leaves) {
                    prop_assert!(tree.remove(leaf));
                    prop_assert!(!tree.remove(leaf));
                    prop_assert_eq!(tree.update(leaf, Aabb::new([0.0; 3], [1.0; 3]), [0.0; 3]), Moved::Refused);
                    boxes[data as usize] = None;
                    leaves.remove(&data);
                },
                Step::Update(index, aabb, motion) => if let Some((data, leaf)) = chosen(index, &leaves) {
                    prop_assert_eq!(tree.update(leaf, aabb, motion) == Moved::Refused, !aabb.is_valid());
                    if aabb.is_valid() {
                        boxes[data as usize] = Some(aabb);
                    }
                },
                Step::Nudge(index, motion) => if let Some((data, leaf)) = chosen(index, &leaves) {
                    let aabb = boxes[data as usize].unwrap();
                    let moved = Aabb::new(
                        [0, 1, 2].map(|k| aabb.min[k] + motion[k]),
                        [0, 1, 2].map(|k| aabb.max[k] + motion[k]),
                    );
                    prop_assert_ne!(tree.update(leaf, moved, motion), Moved::Refused);
                    boxes[data as usize] = Some(moved);
                },
                Step::Rebuild => tree.rebuild(),
            }
            check(&tree);
            prop_assert_eq!(tree.len(), leaves.len());
        }
        let invalid = Aabb::new([f32::NAN; 3], [f32::NAN; 3]);
        let boxes: Vec<Aabb> = boxes.into_iter().map(|aabb| aabb.unwrap_or(invalid)).collect();
        prop_assert_eq!(pairs_of(&tree), brute_force::find_pairs(&boxes));
        let mut found = Vec::new();
        tree.query(&queried, |data| found.push(data));
        found.sort_unstable();
        let expected: Vec<u32> =
            (0..).zip(&boxes).filter(|(_, aabb)| aabb.overlaps(&queried)).map(|(data, _)| data).collect();
        prop_assert_eq!(found, expected);
        for limit in [f32::INFINITY, 1.0, 0.0] {
            let ray = Ray::segment(ray.0, ray.1, limit);
            let hits = loops::all_hits(&boxes, &ray);
            prop_assert_eq!(tree.nearest_hit(&ray), loops::first(&hits));
            prop_assert_eq!(tree.any_hit(&ray), !hits.is_empty());
            prop_assert_eq!(tree.all_hits(&ray), hits);
        }
    }
}

/// Returns the height in units of log2 n.
fn factor(tree: &AabbTree) -> f64 {
    f64::from(tree.height()) / (tree.len() as f64).log2()
}

#[test]
fn the_height_is_at_most_1_45_log2_n_in_any_order_of_insertion() {
    let n = 10_000;
    let mut orders: Vec<(&str, Vec<Aabb>)> = Vec::new();
    let line = Kind::Line.generate(n, 1);
    let mut sorted = Kind::Uniform.generate(n, 1);
    sorted.sort_by(|a, b| a.min[0].total_cmp(&b.min[0]));
    let reversed = sorted.iter().rev().copied().collect();
    let doubling = (0..n).map(|i| Aabb::new([0.0; 3], [1.05f32.powi(i as i32 % 1800); 3])).collect();
    orders.extend([("line", line), ("sorted", sorted), ("reversed", reversed), ("doubling", doubling)]);
    orders.extend(Kind::ALL.into_iter().map(|kind| (kind.name(), kind.generate(n, 1))));
    for (name, boxes) in orders {
        let mut tree = inserted_in_order(&boxes);
        check(&tree);
        println!("{name}: height {}, {:.2} log2 n, {} rotations", tree.height(), factor(&tree), tree.rotations());
        assert!(factor(&tree) <= 1.45, "{name}: {}", factor(&tree));
        tree.rebuild();
        check(&tree);
        assert_eq!(tree.height(), (tree.len() as f64).log2().ceil() as u32, "{name}");
    }
}

#[test]
fn the_height_stays_low_while_boxes_go_and_come_on_one_side() {
    let mut boxes = Kind::Uniform.generate(4000, 1);
    boxes.sort_by(|a, b| a.min[0].total_cmp(&b.min[0]));
    let (mut tree, leaves) = AabbTree::build(&boxes);
    for leaf in &leaves[..3900] {
        assert!(tree.remove(leaf.unwrap()));
        assert!(factor(&tree) <= 1.45);
    }
    check(&tree);
    for (aabb, data) in boxes.iter().zip(0..3900) {
        tree.insert(*aabb, data);
    }
    check(&tree);
    assert_eq!([tree.len(), tree.nodes.len()], [4000, 7999], "what was freed is used again");
    assert_eq!(pairs_of(&tree), brute_force::find_pairs(&boxes));
}

#[test]
fn rays_through_every_scene_hit_as_brute_force_does() {
    for kind in Kind::ALL {
        let boxes = kind.generate(300, 1);
        let (built, _) = AabbTree::build(&boxes);
        let inserted = inserted_in_order(&boxes);
        let valid: Vec<&Aabb> = boxes.iter().filter(|aabb| aabb.is_valid()).collect();
        let mut hit_count = 0;
        for (i, from) in valid.iter().enumerate() {
            let to = valid[(7 * i + 3) % valid.len()];
            let along = [0, 1, 2].map(|k| if (i >> k) & 1 == 0 { 0.0 } else { to.max[k] - from.min[k] });
            let between = [0, 1, 2].map(|k| to.min[k] - from.max[k]);
            for (origin, direction) in [(from.min, along), (from.max, between), (from.min, [0.0, 0.0, -1.0])] {
                for limit in [f32::INFINITY, 0.5] {
                    let ray = Ray::segment(origin, direction, limit);
                    let expected = loops::all_hits(&boxes, &ray);
                    for tree in [&built, &inserted] {
                        assert_eq!(tree.nearest_hit(&ray), loops::first(&expected), "{kind} {ray:?}");
                        assert_eq!(tree.all_hits(&ray), expected, "{kind} {ray:?}");
                        assert_eq!(tree.any_hit(&ray), !expected.is_empty(), "{kind} {ray:?}");
                    }
                    hit_count += expected.len();
                }
            }
        }
        assert!(hit_count > 0, "{kind}");
    }
}

#[test]
fn a_tree_finds_the_pairs_of_every_scene_however_it_was_built() {
    for kind in Kind::ALL {
        let boxes = kind.generate(700, 2);
        let expected = brute_force::find_pairs(&boxes);
        assert_eq!(pairs_of(&AabbTree::build(&boxes).0), expected, "{kind}");
        assert_eq!(pairs_of(&inserted_in_order(&boxes)), expected, "{kind}");
    }
}

#[test]
fn a_leaf_is_padded_ahead_of_its_motion_and_little_behind() {
    let unit = Aabb::new([0.0; 3], [1.0; 3]);
    let bounds = fattened(&unit, MARGIN, [0.5, 0.0, -1.0]);
    assert_eq!(bounds, Aabb::new([-0.1, -0.1, -1.1], [1.6, 1.1, 1.1]));
    // Too fast.
    assert_eq!(fattened(&unit, MARGIN, [4.0; 3]), Aabb::new([-0.1; 3], [1.1; 3]));
    let endless = Aabb::new([f32::NEG_INFINITY, 0.0, 0.0], [f32::INFINITY, 1.0, 1.0]);
    let bounds = fattened(&endless, MARGIN, [f32::NAN, f32::INFINITY, 0.0]);
    assert_eq!(bounds, Aabb::new([f32::NEG_INFINITY, -0.1, -0.1], [f32::INFINITY, 1.1, 1.1]));
}

/// Runs steps, checks each against brute force, and returns the work of each.
fn follow(steps: impl IntoIterator<Item = Vec<Aabb>>) -> Vec<crate::baselines::Work> {
    let mut trees = DynamicTrees::default();
    let mut pairs = Vec::new();
    let mut works = Vec::new();
    for boxes in steps {
        works.push(trees.find_pairs(&boxes, &mut pairs).unwrap());
        pairs.sort_unstable();
        assert_eq!(pairs, brute_force::find_pairs(&boxes), "step {}", works.len());
        check(&trees.resting);
        check(&trees.moving);
    }
    works
}

#[test]
fn the_trees_follow_every_scene_that_moves_and_one_that_becomes_another() {
    for kind in Kind::ALL.into_iter().filter(|kind| kind.moves()) {
        follow((0..30).map(|i| kind.generate_step(600, 1, kind.usual_step() + i)));
    }
    follow(Kind::ALL.into_iter().flat_map(|kind| [1, 1, 2].map(|seed| kind.generate(300, seed))));
    // Another number starts anew.
    follow([10, 0, 1, 10, 9].map(|n| Kind::Uniform.generate(n, 1)));
}

#[test]
fn boxes_at_rest_cost_nothing_and_those_that_come_to_rest_change_trees() {
    let boxes = Kind::Uniform.generate(1000, 1);
    let moved = |step: usize| {
        let mut moved = boxes.clone();
        for aabb in &mut moved[..10] {
            let x = step.min(20) as f32 * 0.003;
            aabb.min[0] += x;
            aabb.max[0] += x;
        }
        moved
    };
    let works = follow((0..60).map(moved));
    let most = works[1..].iter().map(|work| work.candidates).max().unwrap();
    assert!(most < works[0].candidates / 10, "only what moved looks for others: {most}");
    assert!(works[1].updates >= 10, "into the moving tree");
    // Leaves have room for some steps.
    let during: u64 = works[2..20].iter().map(|work| work.updates).sum();
    assert!(during < 18 * 10 / 2, "{during}");
    assert!(works[21..28].iter().all(|work| work.updates == 0));
    assert!(works[28..31].iter().map(|work| work.updates).sum::<u64>() >= 10, "and back");
    let last = works.last().unwrap();
    assert_eq!([last.candidates, last.updates], [0, 0]);
}

#[test]
fn a_box_that_moves_finds_those_that_moved_a_moment_ago() {
    let mut boxes = crate::scenes::uniform(100, 1, Some(0.4));
    follow((0..200).map(|step| {
        // Two of a dozen boxes in the moving tree move.
        for i in [0, 50] {
            let aabb = &mut boxes[(i + step * 7) % 100];
            aabb.min[0] += 0.01;
            aabb.max[0] += 0.01;
        }
        boxes.clone()
    }));
}
