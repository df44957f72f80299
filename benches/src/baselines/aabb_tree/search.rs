//! The queries of a tree: which boxes touch a shape, which overlap each other, and which a ray hits.

use std::ops::ControlFlow;

use super::geometry::overlap;
use super::shapes::Probe;
use super::{AabbTree, NONE};
use crate::baselines::slabs::{Hit, Slabs};
use broadsweep::Ray;

impl AabbTree {
    /// Finds all boxes that touch a shape, ascending by what they are called.
    pub fn overlaps(&self, shape: &impl Probe) -> Vec<u32> {
        let mut found = Vec::new();
        self.query(shape, |data| found.push(data));
        found.sort_unstable();
        found
    }

    /// Visits every box that touches a shape, such as another box, in no particular order, and returns how many tests
    /// that took, those of nodes among them.
    pub fn query(&self, shape: &impl Probe, mut visit: impl FnMut(u32)) -> u64 {
        let mut tested = 0;
        if self.root == NONE || !shape.is_valid() {
            return tested;
        }
        let mut open = self.open_stack();
        open.push(self.root);
        while let Some(at) = open.pop() {
            let node = self.node(at);
            tested += 1;
            if !shape.touches(&node.bounds) {
                continue;
            }
            if !node.is_leaf() {
                open.extend(node.children);
                continue;
            }
            tested += 1;
            let leaf = self.leaf_of(node);
            if shape.touches(&leaf.exact) {
                visit(leaf.data);
            }
        }
        tested
    }

    /// Visits every two boxes that overlap, once, in no particular order, and returns how many tests that took, those
    /// of nodes among them.
    ///
    /// The tree is joined with itself: two nodes are opened only where their bounds overlap.
    pub fn pairs(&self, mut visit: impl FnMut(u32, u32)) -> u64 {
        let mut tested = 0;
        if self.root == NONE {
            return tested;
        }
        let mut open = vec![(self.root, self.root)];
        while let Some((a, b)) = open.pop() {
            let [one, other] = [self.node(a), self.node(b)];
            if a == b {
                if let [left, right] = one.children
                    && !one.is_leaf()
                {
                    open.extend([(left, left), (right, right), (left, right)]);
                }
                continue;
            }
            tested += 1;
            if overlap(&one.bounds, &other.bounds) {
                if one.height == 0 && other.height == 0 {
                    tested += 1;
                    let [one, other] = [one, other].map(|node| self.leaf_of(node));
                    if overlap(&one.exact, &other.exact) {
                        visit(one.data, other.data);
                    }
                } else if one.height >= other.height {
                    open.extend(one.children.map(|child| (child, b)));
                } else {
                    open.extend(other.children.map(|child| (a, child)));
                }
            }
        }
        tested
    }

    /// Finds the first box that a ray hits: by `t`, then by what the boxes are called.
    ///
    /// The nearer child is opened first, and no child that is farther than what was found.
    pub fn nearest_hit(&self, ray: &Ray) -> Option<Hit> {
        let slabs = Slabs::new(ray)?;
        let mut best: Option<Hit> = None;
        let mut open = self.open_stack();
        if self.root != NONE {
            open.extend(slabs.entry(&self.node(self.root).bounds).map(|t| (t, self.root)));
        }
        while let Some((t, at)) = open.pop() {
            if best.is_some_and(|best| t > best.t) {
                continue;
            }
            let node = self.node(at);
            if node.is_leaf() {
                let leaf = self.leaf_of(node);
                let hit = slabs.entry(&leaf.exact).map(|t| Hit { index: leaf.data, t });
                best = hit.filter(|hit| best.is_none_or(|best| hit.is_before(&best))).or(best);
                continue;
            }
            let [a, b] = node.children.map(|child| slabs.entry(&self.node(child).bounds).map(|t| (t, child)));
            // The last pushed child is opened first.
            let a_is_nearer = a.zip(b).is_some_and(|(a, b)| a.0 < b.0);
            let [far, near] = if a_is_nearer { [b, a] } else { [a, b] };
            open.extend([far, near].into_iter().flatten());
        }
        best
    }

    /// Finds all boxes that a ray hits, ascending by what they are called.
    pub fn all_hits(&self, ray: &Ray) -> Vec<Hit> {
        let mut hits = Vec::new();
        self.each_hit(ray, |hit| {
            hits.push(hit);
            ControlFlow::Continue(())
        });
        hits.sort_unstable_by_key(|hit| hit.index);
        hits
    }

    /// Finds whether a ray hits a box.
    pub fn any_hit(&self, ray: &Ray) -> bool {
        let mut is_hit = false;
        self.each_hit(ray, |_| {
            is_hit = true;
            ControlFlow::Break(())
        });
        is_hit
    }

    /// Visits the boxes that a ray hits, in no particular order, until it is told to break off.
    fn each_hit(&self, ray: &Ray, mut visit: impl FnMut(Hit) -> ControlFlow<()>) {
        let Some(slabs) = Slabs::new(ray) else { return };
        let mut open = self.open_stack();
        open.extend(Some(self.root).filter(|&root| root != NONE));
        while let Some(at) = open.pop() {
            let node = self.node(at);
            if slabs.entry(&node.bounds).is_none() {
                continue;
            }
            if !node.is_leaf() {
                open.extend(node.children);
                continue;
            }
            let leaf = self.leaf_of(node);
            let hit = slabs.entry(&leaf.exact).map(|t| Hit { index: leaf.data, t });
            if hit.is_some_and(|hit| visit(hit).is_break()) {
                return;
            }
        }
    }

    /// Creates a stack that has room for all nodes that wait on the way of one query.
    fn open_stack<T>(&self) -> Vec<T> {
        Vec::with_capacity(self.height() as usize + 1)
    }
}
