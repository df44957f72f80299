//! A tree made of all its boxes at once.

use super::geometry::doubled_centre;
use super::{AabbTree, LeafId, NONE, Node};
use broadsweep::Aabb;

/// A leaf and its bounds.
type BoundedLeaf = (u32, Aabb);

impl AabbTree {
    /// Builds a tree of all valid boxes, each named by its index, and returns the leaf of each box too: `O(n log n)`.
    pub fn build(boxes: &[Aabb]) -> (Self, Vec<Option<LeafId>>) {
        let mut tree = Self::default();
        let ids = boxes.iter().zip(0..).map(|(aabb, data)| tree.new_leaf(*aabb, data)).collect();
        let parts = (0..).zip(&tree.leaves).map(|(leaf, own)| (leaf, own.exact)).collect();
        tree.build_from(parts);
        (tree, ids)
    }

    /// Builds the tree anew: `O(n log n)`. Leaves keep their names, and the room for motion that their bounds have.
    ///
    /// Each half of a split has as many boxes as the other, or one more, so the height is the least there is.
    pub fn rebuild(&mut self) {
        self.rebuild_with(&[]);
    }

    /// Builds the tree anew with these further leaves, which have these bounds.
    pub(super) fn rebuild_with(&mut self, others: &[(LeafId, Aabb)]) {
        let mut parts: Vec<BoundedLeaf> = Vec::with_capacity(self.len);
        for (leaf, bounds) in others {
            match self.node_of(*leaf) {
                NONE => parts.push((leaf.0, *bounds)),
                node => self.nodes[node as usize].bounds = *bounds,
            }
        }
        let linked = (0..).zip(&self.leaves).filter(|(_, leaf)| leaf.node != NONE);
        parts.extend(linked.map(|(leaf, own)| (leaf, self.node(own.node).bounds)));
        self.build_from(parts);
    }

    fn build_from(&mut self, mut leaves: Vec<BoundedLeaf>) {
        self.nodes.clear();
        self.nodes.reserve(2 * leaves.len());
        self.free_node = NONE;
        self.linked = 0;
        self.root = if leaves.is_empty() { NONE } else { 0 };
        // Parts that are still to become nodes, each with its parent and the number of the child.
        let mut open = vec![(leaves.as_mut_slice(), NONE, 0)];
        while let Some((part, parent, side)) = open.pop() {
            let own = self.nodes.len() as u32;
            if parent != NONE {
                self.nodes[parent as usize].children[side] = own;
            }
            match *part {
                [] => {}
                [(leaf, bounds)] => {
                    self.leaves[leaf as usize].node = own;
                    self.nodes.push(Node { bounds, parent, children: [NONE, leaf], height: 0 });
                }
                // Bounds, children and height follow.
                [(_, bounds), ..] => {
                    self.nodes.push(Node { bounds, parent, children: [NONE; 2], height: 0 });
                    let middle = part.len() / 2;
                    let axis = widest_axis(part);
                    let place = |(_, bounds): &BoundedLeaf| doubled_centre(bounds)[axis];
                    part.select_nth_unstable_by(middle, |a, b| place(a).total_cmp(&place(b)));
                    let (first, second) = part.split_at_mut(middle);
                    open.extend([(second, own, 1), (first, own, 0)]);
                }
            }
        }
        // Children come after their parent.
        for node in (0..self.nodes.len() as u32).rev() {
            if !self.node(node).is_leaf() {
                self.fit(node);
            }
        }
    }
}

/// Returns the axis on which centres are spread most.
fn widest_axis(part: &[BoundedLeaf]) -> usize {
    let mut low = [f64::INFINITY; 3];
    let mut high = [f64::NEG_INFINITY; 3];
    for (_, bounds) in part {
        let centre = doubled_centre(bounds);
        for k in 0..3 {
            low[k] = low[k].min(centre[k]);
            high[k] = high[k].max(centre[k]);
        }
    }
    let spread = |k: usize| high[k] - low[k];
    (1..3).fold(0, |best, k| if spread(k) > spread(best) { k } else { best })
}
