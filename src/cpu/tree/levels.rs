//! The nodes of the tree, level by level. A node has the bounds of eight consecutive nodes of the level below, or of
//! eight boxes. There are no pointers: child `c` of node `i` is node `8 i + c` of the level below.
//! If the first leaf has giants, it is no child.

use rayon::prelude::*;

use super::node::{Node, ORDINARY, WIDTH};
use crate::Aabb;
use crate::queries::Surface;

/// Nodes that a thread builds at a time.
const CHUNK: usize = 1 << 8;

/// Holds the nodes.
#[derive(Debug, Default)]
pub struct Levels {
    /// From the leaves to the root.
    pub levels: Vec<Vec<Node>>,
    /// Spare levels of a larger tree, for the next tree of that size.
    spare: Vec<Vec<Node>>,
    /// Half of the surface of each chunk of nodes, for one level.
    surfaces: Vec<f64>,
    /// True if the first leaf has giants. No node is above it.
    has_giants: bool,
    /// Half of the surface of all nodes, and the count of vast boxes.
    pub surface: Surface,
    /// True if all finite bounds are at most [`ORDINARY`].
    pub is_ordinary: bool,
    /// True if a box is invalid.
    pub has_invalid: bool,
}

/// A summary of the boxes of some leaves.
#[derive(Clone, Copy)]
struct LeafSummary {
    is_ordinary: bool,
    has_invalid: bool,
    vast_count: u32,
}

impl LeafSummary {
    const USUAL: Self = Self { is_ordinary: true, has_invalid: false, vast_count: 0 };

    fn and(self, other: Self) -> Self {
        Self {
            is_ordinary: self.is_ordinary & other.is_ordinary,
            has_invalid: self.has_invalid | other.has_invalid,
            vast_count: self.vast_count + other.vast_count,
        }
    }
}

impl Levels {
    /// Builds all nodes over the boxes in the order of `ids`. If the first leaf has giants, no node is above it.
    pub fn fill(&mut self, boxes: &[Aabb], ids: &[u32], has_giants: bool) {
        self.has_giants = has_giants;
        self.refill(boxes, ids);
    }

    /// Builds all nodes again, for moved boxes. `ids` must be the order of the last [`fill`](Self::fill).
    pub fn refill(&mut self, boxes: &[Aabb], ids: &[u32]) {
        let level_count = level_count(ids.len());
        while self.levels.len() > level_count {
            self.spare.extend(self.levels.pop());
        }
        while self.levels.len() < level_count {
            self.levels.push(self.spare.pop().unwrap_or_default());
        }
        (self.surface, self.is_ordinary, self.has_invalid) = (Surface::default(), true, false);
        let Some((leaves, above)) = self.levels.split_first_mut() else { return };
        leaves.resize(ids.len().div_ceil(WIDTH), Node::EMPTY);
        let summary = leaves
            .par_chunks_mut(CHUNK)
            .zip(ids.par_chunks(CHUNK * WIDTH))
            .map(|(leaves, ids)| fill_leaves(leaves, ids, boxes));
        let summary = summary.reduce(|| LeafSummary::USUAL, LeafSummary::and);
        (self.is_ordinary, self.has_invalid) = (summary.is_ordinary, summary.has_invalid);
        self.surface.vast_count = summary.vast_count;
        let mut below = &*leaves;
        for (i, level) in above.iter_mut().enumerate() {
            level.resize(below.len().div_ceil(WIDTH), Node::EMPTY);
            let nodes = level.par_chunks_mut(CHUNK).zip(below.par_chunks(CHUNK * WIDTH));
            nodes.map(|(to, from)| unite(to, from)).collect_into_vec(&mut self.surfaces);
            // Add in a fixed order, so that the sum does not depend on the thread count.
            self.surface.sum += self.surfaces.iter().sum::<f64>();
            if i == 0 && self.has_giants {
                level[0].set(0, &Node::EMPTY.get(0));
            }
            below = level;
        }
        self.surface.sum += half_surface(&below[0].bounds());
    }

    /// Returns the bounds of all boxes.
    pub fn bounds(&self) -> Aabb {
        let giants = self.levels.first().filter(|_| self.has_giants);
        let mut top = Node::EMPTY;
        for (child, level) in self.levels.last().into_iter().chain(giants).enumerate() {
            top.set(child, &level[0].bounds());
        }
        top.bounds()
    }

    /// Counts the invalid boxes for which `is_box` returns `true`, and lists the first of them, ascending, at most
    /// `most`.
    pub fn invalid(&self, ids: &[u32], is_box: impl Fn(u32) -> bool + Sync, most: usize) -> (u32, Vec<u32>) {
        if !self.has_invalid {
            return (0, Vec::new());
        }
        let leaves = self.levels.first().map_or(&[][..], |leaves| leaves);
        let of_leaf = |(leaf, ids): (&Node, &[u32])| -> Vec<u32> {
            let invalid = ids.iter().enumerate().filter(|&(child, &id)| !leaf.get(child).is_valid() && is_box(id));
            invalid.map(|(_, &id)| id).collect()
        };
        let mut all: Vec<u32> = leaves.par_iter().zip(ids.par_chunks(WIDTH)).flat_map_iter(of_leaf).collect();
        all.sort_unstable();
        let count = all.len() as u32;
        all.truncate(most);
        (count, all)
    }

    /// Returns the bytes of allocated memory.
    pub fn bytes(&self) -> usize {
        let nodes: usize =
            self.levels.iter().chain(&self.spare).map(|level| level.capacity() * size_of::<Node>()).sum();
        nodes + self.surfaces.capacity() * size_of::<f64>()
    }
}

/// Returns the count of levels of a tree of this many boxes.
pub fn level_count(box_count: usize) -> usize {
    let mut levels = usize::from(box_count > 0);
    let mut nodes = box_count.div_ceil(WIDTH);
    while nodes > 1 {
        nodes = nodes.div_ceil(WIDTH);
        levels += 1;
    }
    levels
}

/// Copies boxes to leaves. `ids` has the index of each box of these leaves.
fn fill_leaves(leaves: &mut [Node], ids: &[u32], boxes: &[Aabb]) -> LeafSummary {
    for (leaf, ids) in leaves.iter_mut().zip(ids.chunks(WIDTH)) {
        // Boxes are scattered in memory. Issue all loads first, so that they overlap.
        let mut own = [Aabb::new([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]); WIDTH];
        for (aabb, &id) in own.iter_mut().zip(ids) {
            *aabb = boxes[id as usize];
        }
        for (child, aabb) in own.iter().enumerate() {
            leaf.set(child, aabb);
        }
    }
    // A separate loop: vector loads stall right after scalar stores to the same memory.
    let summaries = leaves.iter().zip(ids.chunks(WIDTH)).map(|(leaf, ids)| {
        if leaf.largest() <= ORDINARY {
            return LeafSummary::USUAL;
        }
        let numbers = leaf.faces.as_flattened().iter();
        LeafSummary {
            is_ordinary: numbers.fold(true, |all, x| all & (x.abs() <= ORDINARY || x.is_infinite())),
            has_invalid: (0..ids.len()).any(|child| !leaf.get(child).is_valid()),
            vast_count: vast_count(leaf),
        }
    });
    summaries.fold(LeafSummary::USUAL, LeafSummary::and)
}

/// Counts the boxes of a leaf that are unbounded or have a coordinate beyond [`ORDINARY`].
fn vast_count(leaf: &Node) -> u32 {
    let mut largest = [0.0f32; WIDTH];
    for face in &leaf.faces {
        for (largest, x) in largest.iter_mut().zip(face) {
            *largest = largest.max(x.abs());
        }
    }
    // Invalid and absent boxes have bounds of no points.
    let is_vast = |child: usize| (largest[child] > ORDINARY) & (leaf.faces[0][child] <= leaf.faces[3][child]);
    (0..WIDTH).fold(0, |count, child| count + u32::from(is_vast(child)))
}

/// Returns half of the surface of these bounds; 0 for empty bounds, and for bounds beyond [`ORDINARY`].
pub fn half_surface(bounds: &Aabb) -> f64 {
    let [x, y, z] = std::array::from_fn(|k| f64::from(bounds.max[k]) - f64::from(bounds.min[k]));
    let is_ordinary = bounds.min.iter().chain(&bounds.max).fold(true, |all, x| all & (x.abs() <= ORDINARY));
    if is_ordinary { x * y + y * z + z * x } else { 0.0 }
}

/// Stores the bounds of nodes in the nodes above them. Returns half of the surface of these bounds.
fn unite(above: &mut [Node], below: &[Node]) -> f64 {
    let mut surface = 0.0;
    for (node, below) in above.iter_mut().zip(below.chunks(WIDTH)) {
        for child in 0..WIDTH {
            let bounds = below.get(child).map_or(Node::EMPTY.get(0), Node::bounds);
            node.set(child, &bounds);
            surface += half_surface(&bounds);
        }
    }
    surface
}
