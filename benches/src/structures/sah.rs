//! A binary tree that is split from the top where boxes and surfaces promise the fewest tests, and the same with wider nodes.
//!
//! Sources: Wald 2007, "On fast construction of SAH-based bounding volume hierarchies", for splits between bins of centres;
//! Wald, Benthin and Boulos 2008, "Getting rid of packets", for wider nodes. A node is split until each box is alone: what a
//! larger leaf would test is what a node tests.

use broadsweep::Aabb;

use super::tree::{Child, To, Tree};
use super::{center, valid};
use crate::baselines::aabb_tree::union;

/// Bins of centres along each axis.
const BINS: usize = 16;
/// Bytes of what says where a child is.
const POINTER_BYTES: u64 = 4;

/// A box that is sorted into the tree.
#[derive(Clone, Copy, Debug)]
struct Item {
    bounds: Aabb,
    center: [f64; 3],
    id: u32,
}

/// The boxes of a bin, or of several.
#[derive(Clone, Copy, Debug, Default)]
struct Bin {
    bounds: Option<Aabb>,
    count: usize,
}

impl Bin {
    fn with(self, other: Self) -> Self {
        let bounds = match (self.bounds, other.bounds) {
            (Some(a), Some(b)) => Some(union(&a, &b)),
            (a, b) => a.or(b),
        };
        Self { bounds, count: self.count + other.count }
    }

    /// Returns the tests that a random ray is expected to make here, but for a factor that is common to all.
    fn cost(&self) -> f64 {
        self.bounds.map_or(0.0, |bounds| half_surface(&bounds) * self.count as f64)
    }
}

/// Builds the binary tree.
pub fn build(boxes: &[Aabb]) -> Tree {
    let item = |id: u32| Item { bounds: boxes[id as usize], center: center(&boxes[id as usize]), id };
    let mut items: Vec<Item> = valid(boxes).map(item).collect();
    let mut tree = Tree::new(2, 2 * POINTER_BYTES);
    if let [alone] = items[..] {
        tree.add(&[Child { bounds: alone.bounds, to: To::Box(alone.id) }]);
    } else if !items.is_empty() {
        add(&mut tree, &mut items);
    }
    tree
}

fn add(tree: &mut Tree, items: &mut [Item]) -> Child {
    if let [alone] = items {
        return Child { bounds: alone.bounds, to: To::Box(alone.id) };
    }
    let (left, right) = split(items);
    let children = [add(tree, left), add(tree, right)];
    tree.add(&children)
}

/// Divides items where it is cheapest; in the middle if all centres are in one place.
fn split(items: &mut [Item]) -> (&mut [Item], &mut [Item]) {
    let mut best: Option<(f64, usize, usize)> = None;
    let ranges: [[f64; 2]; 3] = std::array::from_fn(|k| {
        let along = items.iter().map(|item| item.center[k]);
        along.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], x| [low.min(x), high.max(x)])
    });
    let bin = |item: &Item, k: usize| {
        let [low, high] = ranges[k];
        (((item.center[k] - low) / (high - low) * BINS as f64) as usize).min(BINS - 1)
    };
    for k in (0..3).filter(|&k| ranges[k][0] < ranges[k][1]) {
        let mut bins = [Bin::default(); BINS];
        for item in &*items {
            let own = &mut bins[bin(item, k)];
            *own = own.with(Bin { bounds: Some(item.bounds), count: 1 });
        }
        let mut behind = [Bin::default(); BINS + 1];
        for at in (0..BINS).rev() {
            behind[at] = behind[at + 1].with(bins[at]);
        }
        let mut before = Bin::default();
        for at in 1..BINS {
            before = before.with(bins[at - 1]);
            let cost = before.cost() + behind[at].cost();
            if before.count > 0 && behind[at].count > 0 && best.is_none_or(|(least, ..)| cost < least) {
                best = Some((cost, k, at));
            }
        }
    }
    let middle = if let Some((_, k, at)) = best {
        items.sort_unstable_by_key(|item| bin(item, k) >= at);
        items.partition_point(|item| bin(item, k) < at)
    } else {
        items.len() / 2
    };
    items.split_at_mut(middle)
}

/// Makes wider nodes of a binary tree: of the children of a node, the one with the largest surface is replaced by its own
/// children, until there are as many as a node holds.
pub fn collapse(binary: &Tree, width: usize) -> Tree {
    let mut wide = Tree::new(width, width as u64 * POINTER_BYTES);
    if let Some(top) = binary.top() {
        add_wide(&mut wide, binary, top, width);
    }
    wide
}

fn add_wide(wide: &mut Tree, binary: &Tree, node: u32, width: usize) -> Child {
    let mut children = binary.node(node).to_vec();
    while children.len() < width {
        let nodes = children.iter().enumerate().filter_map(|(at, child)| match child.to {
            To::Node(node) => Some((half_surface(&child.bounds), at, node)),
            To::Box(_) => None,
        });
        let Some((_, at, node)) = nodes.max_by(|a, b| a.0.total_cmp(&b.0)) else { break };
        children.swap_remove(at);
        children.extend_from_slice(binary.node(node));
    }
    for child in &mut children {
        if let To::Node(node) = child.to {
            *child = add_wide(wide, binary, node, width);
        }
    }
    wide.add(&children)
}

fn half_surface(aabb: &Aabb) -> f64 {
    let [x, y, z] = std::array::from_fn(|k| f64::from(aabb.max[k]) - f64::from(aabb.min[k]));
    x * y + y * z + z * x
}
