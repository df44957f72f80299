//! Filters to try, generated for their boxes.

use std::ops::Range;

use broadsweep::filter::{Attribute, GroupRule, HalfSpace};
use broadsweep::{Aabb, Filters, Pair};

use crate::common::Random;

/// Ids from a set so small that boxes have the same ones all the time; the largest means something for some lists and
/// nothing for others.
pub const IDS: [u32; 5] = [0, 1, 2, u32::MAX - 1, u32::MAX];
/// Groups and masks, none among them.
pub const BITS: [u32; 7] = [0, 1, 2, 3, 4, 0x8000_0000, u32::MAX];

/// A list by box: what tests do with each of them alike.
pub struct ByBox {
    /// The name of the field.
    pub list: &'static str,
    /// Fills the list for these boxes.
    pub fill: fn(&mut Filters, &mut Random, &[Aabb]),
    /// Returns values of the list as a change.
    pub change: fn(&Filters, Range<usize>) -> Attribute<'_>,
    /// Copies values of the list from other filters, as that change should.
    pub copy: fn(&mut Filters, &Filters, Range<usize>),
}

macro_rules! by_box {
    ($list:ident, $variant:ident, $values:expr) => {
        ByBox {
            list: stringify!($list),
            fill: |filters, random, boxes| filters.$list = $values(random, boxes),
            change: |filters, range| Attribute::$variant(&filters.$list[range]),
            copy: |filters, other, range| filters.$list[range.clone()].copy_from_slice(&other.$list[range]),
        }
    };
}

/// The lists by box, in the order of the fields.
pub const BY_BOX: &[ByBox] = &[
    by_box!(group, Group, bits),
    by_box!(mask, Mask, bits),
    by_box!(body, Body, ids),
    by_box!(parent, Parent, ids),
    by_box!(fixed, Fixed, flags),
    by_box!(sleeping, Sleeping, flags),
    by_box!(second, Second, flags),
    by_box!(world, World, ids),
    by_box!(sphere, Sphere, spheres),
    by_box!(margin, Margin, margins),
];

type Make = fn(&mut Random, &[Aabb]) -> Filters;

/// Each filter alone, with its name.
pub const ALONE: &[(&str, Make)] = &[
    ("none", |_, _| Filters::default()),
    ("group", |random, boxes| Filters::default().with_group(bits(random, boxes))),
    ("group, both", |random, boxes| Filters::default().with_group(bits(random, boxes)).with_rule(GroupRule::Both)),
    ("mask", |random, boxes| Filters::default().with_mask(bits(random, boxes))),
    ("mask, both", |random, boxes| Filters::default().with_mask(bits(random, boxes)).with_rule(GroupRule::Both)),
    ("group and mask, any", |random, boxes| {
        Filters::default().with_group(bits(random, boxes)).with_mask(bits(random, boxes)).with_rule(GroupRule::Any)
    }),
    ("group and mask, both", |random, boxes| {
        Filters::default().with_group(bits(random, boxes)).with_mask(bits(random, boxes)).with_rule(GroupRule::Both)
    }),
    ("body", |random, boxes| Filters::default().with_body(ids(random, boxes))),
    ("parent", |random, boxes| Filters::default().with_parent(parents(random, boxes))),
    ("body and parent", |random, boxes| {
        Filters::default().with_body(ids(random, boxes)).with_parent(ids(random, boxes))
    }),
    ("fixed", |random, boxes| Filters::default().with_fixed(flags(random, boxes))),
    ("sleeping", |random, boxes| Filters::default().with_sleeping(flags(random, boxes))),
    ("two sets", |random, boxes| Filters::default().with_second(flags(random, boxes))),
    ("world", |random, boxes| Filters::default().with_world(worlds(random, boxes, false))),
    ("world and global", |random, boxes| Filters::default().with_world(worlds(random, boxes, true))),
    ("only global", |_, boxes| Filters::default().with_world(vec![Filters::GLOBAL; boxes.len()])),
    ("margin", |random, boxes| Filters::default().with_margin(margins(random, boxes))),
    ("sphere", |random, boxes| Filters::default().with_sphere(spheres(random, boxes))),
    ("sphere, margin and half-spaces", |random, boxes| {
        let filters = Filters::default().with_sphere(spheres(random, boxes)).with_margin(margins(random, boxes));
        filters.with_half_spaces(half_spaces(random, boxes))
    }),
    ("exclude", |random, boxes| Filters::default().with_exclude(exclude(random, boxes))),
    ("include", |random, boxes| Filters::default().with_include(some_pairs(random, boxes.len(), 60))),
    ("half-spaces", |random, boxes| Filters::default().with_half_spaces(half_spaces(random, boxes))),
    ("owner", |random, boxes| Filters::default().with_owner(Some(owner(random, boxes)))),
    ("owner and half-spaces", |random, boxes| {
        Filters::default().with_half_spaces(half_spaces(random, boxes)).with_owner(Some(owner(random, boxes)))
    }),
];

/// Creates all filters at once, each so that many pairs are left.
pub fn all(random: &mut Random, boxes: &[Aabb]) -> Filters {
    let mostly = |random: &mut Random, other: &[u32], most: u32| {
        let one = |random: &mut Random| if random.below(4) == 0 { pick(random, other) } else { most };
        boxes.iter().map(|_| one(random)).collect::<Vec<u32>>()
    };
    let exclude = exclude(random, boxes);
    let mut include = some_pairs(random, boxes.len(), 40);
    include.extend(exclude.iter().step_by(7));
    let body = (0..boxes.len() as u32).map(|i| if i.is_multiple_of(3) { i } else { pick(random, &IDS) }).collect();
    Filters::default()
        .with_rule(if random.below(2) == 0 { GroupRule::Any } else { GroupRule::Both })
        .with_group(mostly(random, &BITS, u32::MAX))
        .with_mask(mostly(random, &BITS, u32::MAX))
        .with_body(body)
        .with_parent(mostly(random, &IDS, Filters::NO_PARENT))
        .with_fixed(boxes.iter().map(|_| random.below(4) == 0).collect())
        .with_sleeping(boxes.iter().map(|_| random.below(4) == 0).collect())
        .with_second(boxes.iter().map(|_| random.below(4) == 0).collect())
        .with_world(mostly(random, &IDS, 7))
        .with_sphere(spheres(random, boxes))
        .with_margin(margins(random, boxes))
        .with_exclude(exclude)
        .with_exclude_at_most(random.below(3) as u32 * 500)
        .with_include(include)
        .with_half_spaces(half_spaces(random, boxes))
        .with_owner(Some(owner(random, boxes)))
}

fn pick(random: &mut Random, from: &[u32]) -> u32 {
    from[random.below(from.len())]
}

fn bits(random: &mut Random, boxes: &[Aabb]) -> Vec<u32> {
    boxes.iter().map(|_| pick(random, &BITS)).collect()
}

fn ids(random: &mut Random, boxes: &[Aabb]) -> Vec<u32> {
    boxes.iter().map(|_| pick(random, &IDS)).collect()
}

fn flags(random: &mut Random, boxes: &[Aabb]) -> Vec<bool> {
    boxes.iter().map(|_| random.below(2) == 0).collect()
}

/// Boxes as parents of boxes: neighbours in the input, which in many scenes are neighbours in space, and any others.
fn parents(random: &mut Random, boxes: &[Aabb]) -> Vec<u32> {
    let parent = |i: usize| match random.below(4) {
        0 => Filters::NO_PARENT,
        1 => random.below(boxes.len()) as u32,
        // Before box 0, this is no parent or a body without boxes.
        _ => (i as u32).wrapping_sub(1 + random.below(3) as u32),
    };
    (0..boxes.len()).map(parent).collect()
}

/// Creates a few worlds or many, by their ids or in a row, now and then a global box.
pub fn worlds(random: &mut Random, boxes: &[Aabb], with_global: bool) -> Vec<u32> {
    let spread = [1, 0x9e37_79b9][random.below(2)];
    let count = [2, 5, boxes.len() / 20 + 1][random.below(3)];
    let is_global = |random: &mut Random| with_global && random.below(16) == 0;
    let world = |i: usize| match random.below(2) {
        0 => random.below(count),
        _ => i * count / boxes.len(),
    };
    let mut worlds: Vec<u32> = (0..boxes.len()).map(world).map(|world| (world as u32).wrapping_mul(spread)).collect();
    for world in &mut worlds {
        if is_global(random) {
            *world = Filters::GLOBAL;
        }
    }
    worlds
}

/// Creates margins: none, hardly any, as much as an edge, and now and then enough to reach everything.
pub fn margins(random: &mut Random, boxes: &[Aabb]) -> Vec<f32> {
    let edge = |aabb: &Aabb| (0..3).map(|k| aabb.max[k] - aabb.min[k]).find(|edge| edge.is_finite()).unwrap_or(1.0);
    let margin = |aabb: &Aabb| match random.below(64) {
        0 => f32::MAX,
        1 => 1e20,
        2..16 => 0.0,
        16..24 => -0.0,
        24..32 => f32::from_bits(1),
        32..40 => f32::MIN_POSITIVE,
        _ => random.unit() * edge(aabb).abs(),
    };
    boxes.iter().map(margin).collect()
}

/// Generates spheres near the boxes: through a corner, within the box, with numbers of few bits, none, a point, and
/// extreme ones.
pub fn spheres(random: &mut Random, boxes: &[Aabb]) -> Vec<[f32; 4]> {
    let finite = |x: f32| if x.is_finite() { x } else { 0.0 };
    let few_bits = |random: &mut Random| random.below(33) as f32 * 0.25 - 4.0;
    let mut sphere = |aabb: &Aabb| {
        let center = [0, 1, 2].map(|k| finite(0.5 * aabb.min[k] + 0.5 * aabb.max[k]));
        let half = [0, 1, 2].map(|k| finite(aabb.max[k] - center[k]).abs());
        let through = half.map(|h| h * h).iter().sum::<f32>().sqrt();
        let (center, radius) = match random.below(16) {
            0 => (center, f32::INFINITY),
            1 => (center, 0.0),
            2 => (center, f32::MAX),
            3 => (center.map(|c| c * 1e30).map(finite), 1e-45),
            4..7 => ([(); 3].map(|()| few_bits(random)), few_bits(random).abs()),
            7..10 => (center, half[random.below(3)]),
            _ => (center, through),
        };
        [center[0], center[1], center[2], radius.min(f32::INFINITY)]
    };
    boxes.iter().map(&mut sphere).collect()
}

/// Picks about half of the pairs that there are, either way round, some of them twice, and some that are none.
pub fn exclude(random: &mut Random, boxes: &[Aabb]) -> Vec<Pair> {
    let mut pairs = some_pairs(random, boxes.len(), 50);
    for Pair { a, b } in crate::rule::find_pairs(boxes, &Filters::default()) {
        match random.below(8) {
            0 | 1 => pairs.push(Pair { a, b }),
            2 => pairs.push(Pair { a: b, b: a }),
            3 => pairs.extend([Pair { a, b }, Pair { a: b, b: a }, Pair { a, b }]),
            _ => {}
        }
    }
    for i in (1..pairs.len()).rev() {
        pairs.swap(i, random.below(i + 1));
    }
    pairs
}

/// Pairs of any two boxes, either way round, some of them twice; none where there are not two.
pub fn some_pairs(random: &mut Random, n: usize, count: usize) -> Vec<Pair> {
    if n < 2 {
        return Vec::new();
    }
    let mut pairs: Vec<Pair> = Vec::new();
    for _ in 0..count {
        let (a, b) = (random.below(n) as u32, random.below(n - 1) as u32);
        let b = b + u32::from(b >= a);
        pairs.push(Pair { a, b });
        if random.below(4) == 0 {
            pairs.push(Pair { a: b, b: a });
        }
    }
    pairs
}

/// Creates a region that is cut along an axis or two where boxes begin or end; now and then one that is flat.
pub fn owner(random: &mut Random, boxes: &[Aabb]) -> Aabb {
    let mut region = Aabb::new([f32::NEG_INFINITY; 3], [f32::INFINITY; 3]);
    let bound = |random: &mut Random, k: usize| {
        let Some(aabb) = boxes.get(random.below(boxes.len().max(1))) else { return 0.0 };
        let bound = if random.below(4) == 0 { aabb.max[k] } else { aabb.min[k] };
        if bound.is_nan() { 0.0 } else { bound }
    };
    for _ in 0..1 + random.below(2) {
        let k = random.below(3);
        let (one, other) = (bound(random, k), bound(random, k));
        match random.below(8) {
            0..3 => region.max[k] = one,
            3..6 => region.min[k] = one,
            _ => (region.min[k], region.max[k]) = (one.min(other), one.max(other)),
        }
    }
    for k in 0..3 {
        if region.min[k] > region.max[k] {
            (region.min[k], region.max[k]) = (region.max[k], region.min[k]);
        }
    }
    region
}

/// Turns some boxes into half-spaces whose faces go through corners of others, straight and oblique.
pub fn half_spaces(random: &mut Random, boxes: &[Aabb]) -> Vec<HalfSpace> {
    let mut half_spaces: Vec<HalfSpace> = Vec::new();
    if boxes.is_empty() {
        return half_spaces;
    }
    for _ in 0..5 {
        let index = random.below(boxes.len()) as u32;
        let mut normal = [0.0; 3];
        while normal == [0.0; 3] {
            normal = std::array::from_fn(|_| [0.0, 1.0, -1.0, 0.1, -1e-3, 3e7][random.below(6)]);
        }
        let through = boxes[random.below(boxes.len())];
        let at: f32 = (0..3).filter(|&k| normal[k] != 0.0).map(|k| normal[k] * through.min[k]).sum();
        let offset = if at.is_finite() { at } else { 0.0 };
        if half_spaces.iter().all(|other| other.index != index) {
            half_spaces.push(HalfSpace { index, normal, offset });
        }
    }
    half_spaces
}
