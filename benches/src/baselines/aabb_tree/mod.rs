//! A dynamic tree of boxes: a full binary tree whose leaves are boxes and whose inner nodes are the bounds of what is
//! below them, kept up to date while boxes come, go and move.
//!
//! Sources: the tree and its cost of insertion are Chipmunk's; fat boxes, stretched along the motion, are those of
//! Box2D's and Bullet's dynamic trees; two trees for boxes at rest and boxes that move, and an active list, are what
//! an engine makes of them.
//!
//! * **Insertion** walks down from the root, each time to the child whose surface would grow less, and where both would
//!   grow alike, to the one whose centre is nearer. The leaf it arrives at becomes a node of two leaves.
//! * **Removal** puts the sibling in its parent's place.
//! * **Balance.** On the way back up, a node whose children differ in height by more than one is rotated: its taller
//!   child takes its place, keeps the taller of its own children and hands down the other. Unlike in a search tree any
//!   two children may change places, so one rotation is always enough, and heights of siblings differ by one at most,
//!   as in an AVL tree: **the height is at most 1.45 log₂ n** (n ≥ 2), in whatever order boxes come.
//! * **Fat boxes.** A leaf that was moved has bounds larger than its box, and more so in the direction of its motion.
//!   While the box stays within, the tree stays as it is. The box itself, not its bounds, is what a search tests.
//! * **Rebuilding** splits at the median of the centres on the axis on which they are spread most.
//! * **Queries** are those of the library's tree: the first box, all boxes or any box that a ray hits, and all boxes
//!   that touch a box, a ball or a convex shape. Rays and balls are tested in double precision, [which
//!   rounds](super::slabs).
//!
//! Costs are computed in double precision, with infinite bounds taken for the largest number; they decide how good a
//! tree is, never what it finds. Invalid boxes are not taken. Nothing here recurses.

mod geometry;
#[cfg(test)]
mod query_tests;
mod rebuild;
mod search;
mod shapes;
#[cfg(test)]
mod tests;
mod trees;

pub use shapes::Probe;
pub use trees::DynamicTrees;

use broadsweep::Aabb;
pub(crate) use geometry::union;
use geometry::{contains, distance, fattened, growth, surface};

/// No node.
const NONE: u32 = u32::MAX;

/// The most boxes of a tree: it has twice as many nodes, and a node's name has 32 bits, one of which values is `NONE`.
const MOST_BOXES: usize = 1 << 31;

/// The number of longest edges by which a leaf is larger than its box on each side. More means fewer insertions and
/// more tests.
const MARGIN: f32 = 0.1;

/// Updates ahead for which a leaf makes room, at the speed of the last update; Box2D has 4. More means fewer insertions
/// and more tests: with 4, scenes of fast boxes take twice as long as with 2, and those of slow ones as long.
const UPDATES_AHEAD: f32 = 2.0;

/// The largest ratio of the surface of a leaf to the surface that it would have now. Beyond it, the leaf is inserted
/// anew although its box is within: otherwise a box that shrank or slowed down would keep the bounds that it had when
/// it was large and fast.
const SLACK: f64 = 4.0;

/// Insertions since the tree was built, for each of its leaves, after which it is built anew instead. Building takes as
/// long as inserting half of the leaves, and searches in a tree that was split at medians take half as long.
const INSERTIONS_BEFORE_REBUILD: f64 = 0.5;

/// The name of a box in a tree. It may be given to another box after the removal of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LeafId(u32);

/// The effect of an update.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moved {
    /// The box is still within the bounds of its leaf, and the tree's nodes are as they were.
    Within,
    /// The leaf was taken out and inserted again.
    Reinserted,
    /// The box is invalid, or the leaf is not there. Nothing changed.
    Refused,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    bounds: Aabb,
    parent: u32,
    /// Two nodes; of a leaf, `NONE` and its place among the leaves. Where the node is free, the second is the next free
    /// node.
    children: [u32; 2],
    /// 0 for a leaf, and 1 more than the higher child.
    height: u32,
}

impl Node {
    fn is_leaf(&self) -> bool {
        self.children[0] == NONE
    }
}

#[derive(Clone, Copy, Debug)]
struct Leaf {
    /// The box itself.
    exact: Aabb,
    /// The caller's name for the box. Where the leaf is free, the next free leaf.
    data: u32,
    /// The node of the leaf; `NONE` where it is free.
    node: u32,
}

/// A dynamic tree of boxes.
///
/// ```
/// use broadsweep::{Aabb, Ray};
/// use laboratory::baselines::aabb_tree::{AabbTree, Moved};
///
/// let mut tree = AabbTree::default();
/// let unit = |x: f32| Aabb::new([x, 0.0, 0.0], [x + 1.0, 1.0, 1.0]);
/// let leaf = tree.insert(unit(0.0), 10).unwrap();
/// tree.insert(unit(1.0), 11);
/// let mut pairs = Vec::new();
/// tree.pairs(|a, b| pairs.push((a.min(b), a.max(b))));
/// assert_eq!(pairs, [(10, 11)]);
///
/// // Far away, and then a little further, for which the leaf has room.
/// assert_eq!(tree.update(leaf, unit(5.0), [0.25, 0.0, 0.0]), Moved::Reinserted);
/// assert_eq!(tree.update(leaf, unit(5.25), [0.25, 0.0, 0.0]), Moved::Within);
/// let mut found = Vec::new();
/// tree.query(&unit(6.0), |data| found.push(data));
/// assert_eq!(found, [10]);
///
/// let hit = tree.nearest_hit(&Ray::new([0.5; 3], [2.0, 0.0, 0.0])).unwrap();
/// assert_eq!((hit.index, hit.t), (11, 0.25));
/// ```
#[derive(Clone, Debug)]
pub struct AabbTree {
    nodes: Vec<Node>,
    leaves: Vec<Leaf>,
    root: u32,
    /// The first free node and the first free leaf; each free one names the next.
    free_node: u32,
    free_leaf: u32,
    len: usize,
    rotations: u64,
    /// Leaves that were put into the tree since it was built.
    linked: usize,
    /// Leaves that are still to be put into it, with their bounds.
    waiting: Vec<(LeafId, Aabb)>,
}

impl Default for AabbTree {
    fn default() -> Self {
        Self {
            nodes: Vec::new(),
            leaves: Vec::new(),
            root: NONE,
            free_node: NONE,
            free_leaf: NONE,
            len: 0,
            rotations: 0,
            linked: 0,
            waiting: Vec::new(),
        }
    }
}

impl AabbTree {
    /// Counts the boxes in the tree.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Returns whether there is no box in the tree.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of edges from the root to the farthest leaf: at most `1.45 log2(n)`; 0 for one box and for
    /// none.
    pub fn height(&self) -> u32 {
        if self.root == NONE { 0 } else { self.node(self.root).height }
    }

    /// Counts the rotations since the tree was made.
    pub fn rotations(&self) -> u64 {
        self.rotations
    }

    /// Counts the bytes of memory held.
    pub fn bytes(&self) -> u64 {
        (self.nodes.capacity() * size_of::<Node>()
            + self.leaves.capacity() * size_of::<Leaf>()
            + self.waiting.capacity() * size_of::<(LeafId, Aabb)>()) as u64
    }

    /// Inserts a box, called `data`, with bounds as tight as the box: `O(log n)`. Returns `None` for an invalid box,
    /// and where there are 2³¹ already.
    pub fn insert(&mut self, aabb: Aabb, data: u32) -> Option<LeafId> {
        let leaf = self.new_leaf(aabb, data)?;
        self.link(leaf, aabb);
        Some(leaf)
    }

    /// Inserts a box that is expected to move by `motion` with each update, with bounds that make room for the motion.
    pub fn insert_moving(&mut self, aabb: Aabb, motion: [f32; 3], data: u32) -> Option<LeafId> {
        let leaf = self.new_leaf(aabb, data)?;
        self.link(leaf, padded(&aabb, motion));
        Some(leaf)
    }

    /// Removes a box: `O(log n)`. Returns false if the leaf is not there.
    pub fn remove(&mut self, leaf: LeafId) -> bool {
        if self.node_of(leaf) == NONE {
            return false;
        }
        self.unlink(leaf);
        self.leaves[leaf.0 as usize].data = self.free_leaf;
        self.free_leaf = leaf.0;
        self.len -= 1;
        true
    }

    /// Sets where a box is now, and by how much it moved: `O(1)` while the box stays within the bounds of its leaf, and
    /// these bounds are not far too large for it.
    pub fn update(&mut self, leaf: LeafId, aabb: Aabb, motion: [f32; 3]) -> Moved {
        if self.node_of(leaf) == NONE || !aabb.is_valid() {
            return Moved::Refused;
        }
        match self.moved_bounds(leaf, aabb, motion) {
            None => Moved::Within,
            Some(bounds) => {
                self.unlink(leaf);
                self.link(leaf, bounds);
                Moved::Reinserted
            }
        }
    }

    /// Inserts a box as [`AabbTree::insert`] does, but the leaf waits for [`AabbTree::settle`].
    fn insert_later(&mut self, aabb: Aabb, data: u32) -> Option<LeafId> {
        let leaf = self.new_leaf(aabb, data)?;
        self.waiting.push((leaf, aabb));
        Some(leaf)
    }

    /// Inserts a box as [`AabbTree::insert_moving`] does, but the leaf waits for [`AabbTree::settle`].
    fn insert_moving_later(&mut self, aabb: Aabb, motion: [f32; 3], data: u32) -> Option<LeafId> {
        let leaf = self.new_leaf(aabb, data)?;
        self.waiting.push((leaf, padded(&aabb, motion)));
        Some(leaf)
    }

    /// Updates a leaf that is there to a valid box, as [`AabbTree::update`] does, but if the leaf has to be inserted
    /// again, it waits for [`AabbTree::settle`].
    fn update_later(&mut self, leaf: LeafId, aabb: Aabb, motion: [f32; 3]) {
        let bounds = self.moved_bounds(leaf, aabb, motion);
        self.waiting.extend(bounds.map(|bounds| (leaf, bounds)));
    }

    /// Puts the leaves that wait into the tree, and returns how many leaves were put into it: one by one, or, where
    /// many were put into it since it was built, all of its leaves anew. The tree may not be queried before this
    /// call.
    fn settle(&mut self) -> u64 {
        let mut waiting = std::mem::take(&mut self.waiting);
        let mut count = waiting.len();
        if count > 0 && (self.linked + count) as f64 > INSERTIONS_BEFORE_REBUILD * self.len as f64 {
            self.rebuild_with(&waiting);
            count = self.len;
        } else {
            for (leaf, bounds) in &waiting {
                if self.node_of(*leaf) != NONE {
                    self.unlink(*leaf);
                }
                self.link(*leaf, *bounds);
            }
        }
        waiting.clear();
        self.waiting = waiting;
        count as u64
    }

    /// Moves the box of a leaf, and returns the bounds that the leaf should now have, if it needs other bounds.
    fn moved_bounds(&mut self, leaf: LeafId, aabb: Aabb, motion: [f32; 3]) -> Option<Aabb> {
        self.leaves[leaf.0 as usize].exact = aabb;
        let bounds = padded(&aabb, motion);
        let is = &self.node(self.node_of(leaf)).bounds;
        let fits = contains(is, &aabb) && surface(is) <= SLACK * surface(&bounds);
        (!fits).then_some(bounds)
    }

    fn node(&self, node: u32) -> &Node {
        &self.nodes[node as usize]
    }

    /// Returns the node of a leaf; `NONE` if the leaf is not there.
    fn node_of(&self, leaf: LeafId) -> u32 {
        self.leaves.get(leaf.0 as usize).map_or(NONE, |leaf| leaf.node)
    }

    /// Returns the leaf of a node that is a leaf.
    fn leaf_of(&self, node: &Node) -> &Leaf {
        &self.leaves[node.children[1] as usize]
    }

    /// Creates a leaf that is in no node yet.
    fn new_leaf(&mut self, exact: Aabb, data: u32) -> Option<LeafId> {
        if !exact.is_valid() || self.len >= MOST_BOXES {
            return None;
        }
        let leaf = Leaf { exact, data, node: NONE };
        self.len += 1;
        if self.free_leaf == NONE {
            self.leaves.push(leaf);
            return Some(LeafId(self.leaves.len() as u32 - 1));
        }
        let at = self.free_leaf;
        self.free_leaf = std::mem::replace(&mut self.leaves[at as usize], leaf).data;
        Some(LeafId(at))
    }

    fn new_node(&mut self, node: Node) -> u32 {
        if self.free_node == NONE {
            self.nodes.push(node);
            return self.nodes.len() as u32 - 1;
        }
        let at = self.free_node;
        self.free_node = std::mem::replace(&mut self.nodes[at as usize], node).children[1];
        at
    }

    fn free(&mut self, node: u32) {
        self.nodes[node as usize].children = [NONE, self.free_node];
        self.free_node = node;
    }

    /// Puts a leaf with these bounds into the tree.
    fn link(&mut self, leaf: LeafId, bounds: Aabb) {
        self.linked += 1;
        let own = self.new_node(Node { bounds, parent: NONE, children: [NONE, leaf.0], height: 0 });
        self.leaves[leaf.0 as usize].node = own;
        if self.root == NONE {
            self.root = own;
            return;
        }
        let sibling = self.best_leaf(&bounds);
        let Node { parent, bounds: beside, .. } = *self.node(sibling);
        let inner =
            self.new_node(Node { bounds: union(&bounds, &beside), parent, children: [sibling, own], height: 1 });
        self.replace_child(parent, sibling, inner);
        self.nodes[sibling as usize].parent = inner;
        self.nodes[own as usize].parent = inner;
        self.refit(parent);
    }

    /// Finds the leaf beside which a new leaf is best put.
    fn best_leaf(&self, bounds: &Aabb) -> u32 {
        let mut at = self.root;
        while !self.node(at).is_leaf() {
            let children = self.node(at).children;
            let [a, b] = children.map(|child| self.node(child).bounds);
            let [first, second] = [growth(&a, bounds), growth(&b, bounds)];
            let is_second = second < first || second == first && distance(&b, bounds) < distance(&a, bounds);
            at = children[usize::from(is_second)];
        }
        at
    }

    /// Takes a leaf out of the tree.
    fn unlink(&mut self, leaf: LeafId) {
        let own = std::mem::replace(&mut self.leaves[leaf.0 as usize].node, NONE);
        let parent = self.node(own).parent;
        self.free(own);
        if parent == NONE {
            self.root = NONE;
            return;
        }
        let Node { parent: above, children, .. } = *self.node(parent);
        let sibling = if children[0] == own { children[1] } else { children[0] };
        self.replace_child(above, parent, sibling);
        self.nodes[sibling as usize].parent = above;
        self.free(parent);
        self.refit(above);
    }

    /// Creates `new` what `old` is to its parent; without a parent, the root.
    fn replace_child(&mut self, parent: u32, old: u32, new: u32) {
        if parent == NONE {
            self.root = new;
        } else {
            let children = &mut self.nodes[parent as usize].children;
            children[usize::from(children[1] == old)] = new;
        }
    }

    /// Balances and refits from here up, as far as anything changes.
    fn refit(&mut self, from: u32) {
        let mut at = from;
        while at != NONE {
            let Node { bounds, height, children, .. } = *self.node(at);
            let [a, b] = children.map(|child| self.node(child).height);
            if a.abs_diff(b) > 1 {
                at = self.rotate(at);
            } else {
                self.fit(at);
            }
            let node = self.node(at);
            if node.bounds == bounds && node.height == height {
                return;
            }
            at = node.parent;
        }
    }

    /// Computes bounds and height from the children.
    fn fit(&mut self, at: u32) {
        let [a, b] = self.node(at).children.map(|child| *self.node(child));
        let node = &mut self.nodes[at as usize];
        node.bounds = union(&a.bounds, &b.bounds);
        node.height = 1 + a.height.max(b.height);
    }

    /// Puts the taller child of `low` in the place of `low`, and returns that child.
    fn rotate(&mut self, low: u32) -> u32 {
        self.rotations += 1;
        let Node { parent, children, .. } = *self.node(low);
        let [a, b] = children.map(|child| self.node(child).height);
        let [high, short] = if a > b { children } else { [children[1], children[0]] };
        let [first, second] = self.node(high).children;
        let [one, other] = [first, second].map(|child| *self.node(child));
        // Of two as tall, the one that fits better beside `short` goes down.
        let beside = self.node(short).bounds;
        let first_fits = || surface(&union(&beside, &one.bounds)) <= surface(&union(&beside, &other.bounds));
        let first_goes = one.height < other.height || one.height == other.height && first_fits();
        let [down, kept] = if first_goes { [first, second] } else { [second, first] };

        self.replace_child(parent, low, high);
        self.nodes[high as usize].parent = parent;
        self.nodes[high as usize].children = [low, kept];
        self.nodes[low as usize].parent = high;
        self.nodes[low as usize].children = [short, down];
        self.nodes[down as usize].parent = low;
        self.fit(low);
        self.fit(high);
        high
    }
}

/// Returns the bounds of a leaf whose box moves by `motion` in each update.
fn padded(aabb: &Aabb, motion: [f32; 3]) -> Aabb {
    fattened(aabb, MARGIN, motion.map(|d| d * UPDATES_AHEAD))
}
