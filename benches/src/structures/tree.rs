//! Trees of every kind, and the one way through all of them.

use broadsweep::Aabb;

use super::search::Search;
use super::{BOX_BYTES, Structure};
use crate::baselines::aabb_tree::union;

/// What a child of a node is.
#[derive(Clone, Copy, Debug)]
pub enum To {
    /// A node, by its number.
    Node(u32),
    /// A box of the scene, by its index.
    Box(u32),
}

/// A child of a node.
#[derive(Clone, Copy, Debug)]
pub struct Child {
    /// The box, or the bounds of the node.
    pub bounds: Aabb,
    /// What the child is.
    pub to: To,
}

/// A tree of boxes. The last node is the topmost.
#[derive(Clone, Debug)]
pub struct Tree {
    node_bytes: u64,
    children: Vec<Child>,
    /// `[nodes + 1]` where the children of each node begin.
    starts: Vec<u32>,
    /// `[nodes]` the levels of nodes below each, and its own.
    heights: Vec<u32>,
}

impl Tree {
    /// Makes a tree without nodes. Each node will take its children's bounds, and what else is said.
    pub fn new(width: usize, other_bytes: u64) -> Self {
        let node_bytes = width as u64 * BOX_BYTES + other_bytes;
        Self { node_bytes, children: Vec::new(), starts: vec![0], heights: Vec::new() }
    }

    /// Adds a node above these children, and returns it as a child of another.
    pub fn add(&mut self, children: &[Child]) -> Child {
        let height = |child: &Child| if let To::Node(node) = child.to { self.heights[node as usize] } else { 0 };
        self.heights.push(children.iter().map(height).max().unwrap_or(0) + 1);
        self.children.extend_from_slice(children);
        self.starts.push(self.children.len() as u32);
        let bounds = children.iter().map(|child| child.bounds).reduce(|a, b| union(&a, &b));
        let to = To::Node(self.heights.len() as u32 - 1);
        Child { bounds: bounds.unwrap_or(Aabb::new([0.0; 3], [0.0; 3])), to }
    }

    /// Returns the children of a node.
    pub fn node(&self, node: u32) -> &[Child] {
        let [first, end] = [node, node + 1].map(|at| self.starts[at as usize] as usize);
        &self.children[first..end]
    }

    /// Returns the topmost node, if there is one.
    pub fn top(&self) -> Option<u32> {
        self.heights.len().checked_sub(1).map(|node| node as u32)
    }
}

impl Structure for Tree {
    /// Looks at the nearest nodes first where only the nearest boxes are wanted, and leaves out what is beyond them.
    fn search(&self, search: &mut Search) {
        let mut waiting: Vec<(f64, u32)> = self.top().map(|top| (0.0, top)).into_iter().collect();
        while let Some((near, node)) = waiting.pop() {
            if near > search.limit() {
                continue;
            }
            search.fetch(self.node_bytes);
            let before = waiting.len();
            for child in self.node(node) {
                match (search.test(&child.bounds), child.to) {
                    (Some(near), To::Box(id)) => search.take(near, id),
                    (Some(near), To::Node(below)) => waiting.push((near, below)),
                    (None, _) => {}
                }
            }
            if search.most.is_some() {
                waiting[before..].sort_by(|a, b| b.0.total_cmp(&a.0));
            }
        }
    }

    fn height(&self) -> Option<u32> {
        self.heights.last().copied()
    }

    fn bytes(&self) -> u64 {
        self.heights.len() as u64 * self.node_bytes
    }
}
