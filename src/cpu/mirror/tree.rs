//! Mirror of `tree`: the order of the leaves, and the bounds of all nodes.

use crate::Aabb;
use crate::base::constants::{BOTTOM_LEVELS, CURVE_SIDE, INVALID_LISTED, NO_BOX, PLACE_BITS, USUAL_BITS};
use crate::base::layout::{Cube, TreeSummary};

/// Places of the curve along each axis.
const SIDE: f32 = CURVE_SIDE as f32;
/// Bits for the place of a box of unusual size.
const OTHER_BITS: u32 = 13;
/// The first key of a box of unusual size.
const FIRST_OTHER: u32 = (1 << PLACE_BITS) - (3 << OTHER_BITS);
/// Of every 2^`SQUEEZE` consecutive places, two share a key. This frees keys for boxes of unusual size.
const SQUEEZE: u32 = 12;
/// The largest distance by which the curve extends beyond most boxes, in units of the extent of these boxes.
const MARGIN: f32 = 8.0;
/// Boxes in the sample of [`cube`].
const SAMPLE: u32 = 256;
/// The bounds of no points.
const NOTHING: Aabb = Aabb { min: [f32::INFINITY; 3], max: [f32::NEG_INFINITY; 3] };

/// Returns the class of a box: 0 for usual size, 1 for finite and enormous, 2 for unbounded, 3 for invalid.
fn class(aabb: &Aabb) -> u32 {
    let reach = aabb.min.iter().chain(&aabb.max).fold(0.0f32, |reach, x| reach.max(x.abs()));
    match reach {
        _ if !aabb.is_valid() => 3,
        _ if reach.is_infinite() => 2,
        _ => u32::from(reach > f32::from_bits(USUAL_BITS)),
    }
}

/// Returns the centre of a box, divided by 64, as in the kernel.
fn center(aabb: &Aabb) -> [f32; 3] {
    std::array::from_fn(|k| aabb.min[k] / 128.0 + aabb.max[k] / 128.0)
}

/// Chooses the cube that the curve fills.
pub fn cube(boxes: &[Aabb]) -> Cube {
    let n = boxes.len() as u32;
    let step = n.div_ceil(SAMPLE).max(1);
    let picked = (0..SAMPLE).map(|i| i * step + (i.wrapping_mul(0x9e37_79b1) >> 8) % step);
    let sample: Vec<&Aabb> = picked.filter(|&i| i < n).map(|i| &boxes[i as usize]).collect();
    let count = |most: u32| sample.iter().filter(|aabb| class(aabb) <= most).count();
    let last_class = u32::from(2 * count(0) < count(1));
    let centers: Vec<[f32; 3]> =
        sample.iter().filter(|aabb| class(aabb) <= last_class).map(|aabb| center(aabb)).collect();
    let (mut low, mut extent) = ([0.0; 3], 0.0f32);
    if !centers.is_empty() {
        let outer = centers.len() / 64;
        for (k, low) in low.iter_mut().enumerate() {
            let mut along: Vec<f32> = centers.iter().map(|center| center[k]).collect();
            along.sort_by(f32::total_cmp);
            let last = along.len() - 1;
            let margin = MARGIN * (along[last - outer] - along[outer]);
            let first = along[0].max(along[outer] - margin);
            extent = extent.max(along[last].min(along[last - outer] + margin) - first);
            *low = first;
        }
    }
    let border = extent / 64.0;
    let scale = if extent > 1e-34 { SIDE / (extent + 2.0 * border) } else { 0.0 };
    Cube { low: low.map(|x| x - border), scale }
}

/// Returns the class of each box and its place along the curve, as one number.
pub fn keys(boxes: &[Aabb], cube: &Cube) -> Vec<u32> {
    let key = |aabb: &Aabb| {
        let center = center(aabb);
        let coordinate = |k: usize| ((center[k] - cube.low[k]) * cube.scale).clamp(0.0, SIDE - 1.0) as u32;
        let place = if class(aabb) < 2 { hilbert([0, 1, 2].map(coordinate), PLACE_BITS / 3) as u32 } else { 0 };
        match class(aabb) {
            0 => place - (place >> SQUEEZE),
            class => FIRST_OTHER + ((class - 1) << OTHER_BITS) + (place >> (PLACE_BITS - OTHER_BITS)),
        }
    };
    boxes.iter().map(key).collect()
}

/// Returns the class of a key.
pub fn class_of_key(key: u32) -> u32 {
    key.checked_sub(FIRST_OTHER).map_or(0, |key| 1 + (key >> OTHER_BITS))
}

/// Returns the place of a grid cube along the Hilbert curve; coordinates have `bits` bits (Skilling 2004).
pub fn hilbert(mut x: [u32; 3], bits: u32) -> u64 {
    let levels = || (1..bits).rev().map(|k| 1 << k);
    for bit in levels() {
        for k in 0..3 {
            if x[k] & bit != 0 {
                x[0] ^= bit - 1;
            } else {
                let swapped = (x[0] ^ x[k]) & (bit - 1);
                x[0] ^= swapped;
                x[k] ^= swapped;
            }
        }
    }
    x[1] ^= x[0];
    x[2] ^= x[1];
    let turned = levels().filter(|bit| x[2] & bit != 0).fold(0, |turned, bit| turned ^ (bit - 1));
    (0..bits).rev().fold(0, |place, k| x.iter().fold(place, |place, x| place << 1 | u64::from((x ^ turned) >> k & 1)))
}

/// Returns the world number of each box, in the current order.
pub fn worlds(values: &[u32], worlds: &[u32], world_count: u32) -> Vec<u32> {
    values.iter().map(|&i| worlds[i as usize].min(world_count)).collect()
}

/// Returns the first leaf of each world, and the end of the last world's leaves.
pub fn ranges(keys: &[u32], world_count: u32) -> Vec<u32> {
    (0..world_count + 2).map(|world| keys.partition_point(|&key| key < world) as u32).collect()
}

/// Returns the box at each place among the leaves, filled up to a multiple of eight, and the place of each box.
pub fn places(ids: &[u32]) -> (Vec<u32>, Vec<u32>) {
    let mut places = vec![0; ids.len()];
    for (place, &id) in (0..).zip(ids) {
        places[id as usize] = place;
    }
    let mut filled = ids.to_vec();
    filled.resize(ids.len().next_multiple_of(8), NO_BOX);
    (filled, places)
}

/// Returns the boxes at their places among the leaves, eight to a leaf.
pub fn leaves(boxes: &[Aabb], places: &[u32]) -> Vec<Aabb> {
    let mut leaves = vec![NOTHING; boxes.len().next_multiple_of(8)];
    for (aabb, &place) in boxes.iter().zip(places).filter(|(aabb, _)| aabb.is_valid()) {
        leaves[place as usize] = *aabb;
    }
    leaves
}

/// The words of a node: three for its origin, one for the exponents of its steps and a bit per vast child, and twelve
/// for the bounds of its children, a byte each.
pub type Node = [u32; 16];

/// The largest finite bound in a node. Larger numbers count as infinite.
const LARGEST: f32 = f32::from_bits((127 + 120) << 23);
/// The most steps between the bounds of a node.
const STEPS: f64 = 250.0;

/// Returns the nodes of all levels, the lowest first, over the boxes of leaves.
pub fn levels(leaves: &[Aabb]) -> Vec<Vec<Node>> {
    let (levels, below) = bottom(leaves);
    [levels, top(below)].concat()
}

/// Returns the nodes of the lowest levels, and the bounds of the nodes of the highest of these.
pub fn bottom(leaves: &[Aabb]) -> (Vec<Vec<Node>>, Vec<Aabb>) {
    above(leaves.to_vec(), BOTTOM_LEVELS as usize)
}

/// Returns the nodes of all levels above nodes with these bounds.
pub fn top(below: Vec<Aabb>) -> Vec<Vec<Node>> {
    above(below, usize::MAX).0
}

/// Returns the nodes of at most `most` levels above these bounds, and the bounds of the highest level's nodes.
fn above(mut below: Vec<Aabb>, most: usize) -> (Vec<Vec<Node>>, Vec<Aabb>) {
    let mut levels = Vec::new();
    while below.len() > 1 && levels.len() < most {
        let (nodes, bounds) = level(&below);
        levels.push(nodes);
        below = bounds;
    }
    (levels, below)
}

/// Returns the nodes of one level, and their bounds.
fn level(below: &[Aabb]) -> (Vec<Node>, Vec<Aabb>) {
    let mut children = below.to_vec();
    children.resize(below.len().next_multiple_of(8), NOTHING);
    children.chunks(8).map(|children| (node(children), union(children))).unzip()
}

fn is_nothing(aabb: &Aabb) -> bool {
    (0..3).any(|k| aabb.min[k] > aabb.max[k])
}

fn union(boxes: &[Aabb]) -> Aabb {
    let mut sum = NOTHING;
    for aabb in boxes.iter().filter(|aabb| !is_nothing(aabb)) {
        for k in 0..3 {
            sum.min[k] = if aabb.min[k] < sum.min[k] { aabb.min[k] } else { sum.min[k] };
            sum.max[k] = if aabb.max[k] > sum.max[k] { aabb.max[k] } else { sum.max[k] };
        }
    }
    sum
}

/// Moves a subnormal bound outward, since some processors flush it to zero.
fn outward(bound: f32, is_upper: bool) -> f32 {
    match bound {
        _ if !bound.is_subnormal() => bound,
        _ if is_upper && bound > 0.0 => f32::MIN_POSITIVE,
        _ if !is_upper && bound < 0.0 => -f32::MIN_POSITIVE,
        _ => 0.0,
    }
}

/// Returns the node of eight children.
fn node(children: &[Aabb]) -> Node {
    let mut node = [0; 16];
    let there = || children.iter().filter(|aabb| !is_nothing(aabb));
    let is_large = |aabb: &Aabb| aabb.min.iter().chain(&aabb.max).any(|bound| bound.abs() > LARGEST);
    let vast_children = (0..).zip(children).filter(|(_, own)| !is_nothing(own) && is_large(own));
    let mut vast = vast_children.map(|(child, _)| 1 << child).sum();
    for k in 0..3 {
        let bounds = there().flat_map(|aabb| [outward(aabb.min[k], false), outward(aabb.max[k], true)]);
        let finite: Vec<f32> = bounds.filter(|bound| bound.abs() <= LARGEST).collect();
        let first = finite.iter().copied().reduce(f32::min).unwrap_or(0.0);
        let last = finite.iter().copied().reduce(f32::max).unwrap_or(0.0);
        let exponent = |x: f32| (x.to_bits() >> 23) as i32;
        let of_extent = exponent((last - first) * (1.0 / STEPS) as f32) + 1;
        let biased = of_extent.max(exponent(first.abs().max(last.abs())) - 22).max(1);
        let size = 2f64.powi(biased - 127);
        let origin = (f64::from(first) / size).floor() - 1.0;
        node[k] = ((origin * size) as f32 + 0.0).to_bits();
        node[3] |= (biased as u32) << (8 * k);
        if origin.abs().max((origin + 255.0).abs()) * size > f64::from(f32::from_bits(USUAL_BITS)) {
            vast = 0xff;
        }
        let steps = |x: f64| (x - origin).clamp(1.0, 254.0) as u32;
        for (child, aabb) in children.iter().enumerate() {
            let (min, max) = (outward(aabb.min[k], false), outward(aabb.max[k], true));
            let low = match min {
                _ if is_nothing(aabb) => 255,
                _ if min < -LARGEST => 0,
                _ if min > LARGEST => 1,
                _ => steps((f64::from(min) / size).floor()),
            };
            let high = match max {
                _ if is_nothing(aabb) => 0,
                _ if max > LARGEST => 255,
                _ if max < -LARGEST => 1,
                _ => steps((f64::from(max) / size).ceil()),
            };
            node[4 + 4 * k + child / 4] |= low << (8 * (child % 4));
            node[6 + 4 * k + child / 4] |= high << (8 * (child % 4));
        }
    }
    node[3] |= vast << 24;
    node
}

/// Returns the bounds of the eight children of a node.
pub fn children(node: &Node) -> [Aabb; 8] {
    std::array::from_fn(|child| {
        let step = |word: usize| node[word + child / 4] >> (8 * (child % 4)) & 255;
        let place = |k: usize, step: u32| {
            let size = f32::from_bits((node[3] >> (8 * k) & 255) << 23);
            f32::from_bits(node[k]) + step as f32 * size
        };
        let min = std::array::from_fn(|k| match step(4 + 4 * k) {
            0 => f32::NEG_INFINITY,
            step => place(k, step),
        });
        let max = std::array::from_fn(|k| match step(6 + 4 * k) {
            255 => f32::INFINITY,
            step => place(k, step),
        });
        Aabb { min, max }
    })
}

/// Returns the approximate sum of the surfaces of all nodes over these leaves, in places of the curve.
pub fn surface(leaves: &[Aabb], cube: &Cube) -> f64 {
    let unit = if cube.scale > 0.0 { f64::from(cube.scale) / 64.0 } else { 1.0 };
    let (mut sum, mut below) = (0.0, leaves.to_vec());
    while below.len() > 1 {
        below = level(&below).1;
        for aabb in below.iter().filter(|aabb| class(aabb) == 0) {
            let [x, y, z] = [0, 1, 2].map(|k| (f64::from(aabb.max[k] - aabb.min[k]) * unit).min(1e15));
            sum += x * y + y * z + z * x;
        }
    }
    sum
}

/// Counts the invalid boxes of each 256 consecutive boxes.
pub fn invalid(boxes: &[Aabb]) -> Vec<u32> {
    boxes.chunks(256).map(|some| some.iter().filter(|aabb| !aabb.is_valid()).count() as u32).collect()
}

/// Returns the summary that the host reads back, without the surface.
pub fn summary(boxes: &[Aabb]) -> TreeSummary {
    let invalid = || (0..).zip(boxes).filter(|(_, aabb)| !aabb.is_valid()).map(|(i, _): (u32, _)| i);
    let mut summary: TreeSummary = bytemuck::Zeroable::zeroed();
    summary.invalid_count = invalid().count() as u32;
    summary.vast_count = boxes.iter().filter(|aabb| [1, 2].contains(&class(aabb))).count() as u32;
    for (first, i) in summary.first_invalid.iter_mut().zip(invalid().take(INVALID_LISTED as usize)) {
        first[0] = i;
    }
    summary
}
